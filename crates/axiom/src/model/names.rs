//! The names a model may use without defining them: base sets, base relations and primitives.
//!
//! The union of what herd7 and Dartagnan predefine for the architectures we have, with the tags of our own events.
//! What can be said in cat itself (`fr`, `po-loc`, `rfe`, `fencerel`) is in [`super::library`].

use fencepost_program::tag::Tag;

use super::ir::{BaseRelation, BaseSet, Coherence, Operator};

pub(super) fn base(name: &str) -> Option<Operator> {
    set(name).map(Operator::Base).or_else(|| relation(name).map(Operator::BaseRelation))
}

fn set(name: &str) -> Option<BaseSet> {
    match name {
        // Every event here is executed and explicit, in herd's words.
        "Exp" | "EXEC" => Some(BaseSet::Universe),
        "M" => Some(BaseSet::Memory),
        "FW" => Some(BaseSet::FinalWrites),
        "DECIDES" => Some(BaseSet::Deciding),
        // herd's name of the locked accesses of x86.
        "X" => Some(BaseSet::Tagged(Tag::Atomic)),
        // Dartagnan's spelling; in herd it is the relation that the include makes of the set.
        "mfence" => Some(BaseSet::Tagged(Tag::Mfence)),
        _ => Tag::ALL.iter().find(|tag| tag.cat_name() == name).map(|&tag| BaseSet::Tagged(tag)),
    }
}

fn relation(name: &str) -> Option<BaseRelation> {
    Some(match name {
        "id" => BaseRelation::Id,
        "po" => BaseRelation::Po,
        "loc" => BaseRelation::Loc,
        "vloc" => BaseRelation::Vloc,
        "int" => BaseRelation::Int,
        "ext" => BaseRelation::Ext,
        "rf" => BaseRelation::Rf,
        "co" => BaseRelation::Co,
        "rmw" => BaseRelation::Rmw,
        "amo" => BaseRelation::Amo,
        "addr" => BaseRelation::Addr,
        "data" => BaseRelation::Data,
        "ctrl" => BaseRelation::Ctrl,
        "sr" => BaseRelation::Sr,
        "scta" => BaseRelation::Scta,
        "scluster" => BaseRelation::Scluster,
        "sgpu" => BaseRelation::Sgpu,
        "issue" => BaseRelation::Issue,
        "so" => BaseRelation::So,
        "done" => BaseRelation::Done,
        "pipelined" => BaseRelation::Pipelined,
        "covers" => BaseRelation::Covers,
        "complete" => BaseRelation::Complete,
        "sameop" => BaseRelation::Sameop,
        "launch" => BaseRelation::Launch,
        "gridwait" => BaseRelation::Gridwait,
        "gridstart" => BaseRelation::Gridstart,
        "home" => BaseRelation::Home,
        "decides" => BaseRelation::Decides,
        "told" => BaseRelation::Told,
        "misses" => BaseRelation::Misses,
        "contributed" => BaseRelation::Contributed,
        "syncbar" => BaseRelation::Syncbar,
        "exitbar" => BaseRelation::Exitbar,
        "generations" => BaseRelation::Generations,
        "sync_fence" => BaseRelation::SyncFence,
        _ => return None,
    })
}

/// How a base relation is written, for messages.
pub fn relation_name(relation: BaseRelation) -> &'static str {
    match relation {
        BaseRelation::Id => "id",
        BaseRelation::Po => "po",
        BaseRelation::Loc => "loc",
        BaseRelation::Vloc => "vloc",
        BaseRelation::Int => "int",
        BaseRelation::Ext => "ext",
        BaseRelation::Rf => "rf",
        BaseRelation::Co => "co",
        BaseRelation::Rmw => "rmw",
        BaseRelation::Amo => "amo",
        BaseRelation::Addr => "addr",
        BaseRelation::Data => "data",
        BaseRelation::Ctrl => "ctrl",
        BaseRelation::Sr => "sr",
        BaseRelation::Scta => "scta",
        BaseRelation::Scluster => "scluster",
        BaseRelation::Sgpu => "sgpu",
        BaseRelation::Issue => "issue",
        BaseRelation::So => "so",
        BaseRelation::Done => "done",
        BaseRelation::Pipelined => "pipelined",
        BaseRelation::Covers => "covers",
        BaseRelation::Complete => "complete",
        BaseRelation::Sameop => "sameop",
        BaseRelation::Launch => "launch",
        BaseRelation::Gridwait => "gridwait",
        BaseRelation::Gridstart => "gridstart",
        BaseRelation::Home => "home",
        BaseRelation::Decides => "decides",
        BaseRelation::Told => "told",
        BaseRelation::Misses => "misses",
        BaseRelation::Contributed => "contributed",
        BaseRelation::Syncbar => "syncbar",
        BaseRelation::Exitbar => "exitbar",
        BaseRelation::Generations => "generations",
        BaseRelation::SyncFence => "sync_fence",
    }
}

/// How a base set is written, for messages.
pub fn set_name(set: BaseSet) -> &'static str {
    match set {
        BaseSet::Universe => "_",
        BaseSet::Memory => "M",
        BaseSet::FinalWrites => "FW",
        BaseSet::Deciding => "DECIDES",
        BaseSet::Tagged(tag) => tag.cat_name(),
    }
}

/// What a model's first word says about coherence: for these architectures and languages it is a total order per
/// location, whatever the axioms do with it. Other words say nothing.
pub(super) fn coherence_of(title: &str) -> Option<Coherence> {
    #[rustfmt::skip]
    const TOTAL: &[&str] = &[
        "aarch64", "arm", "armv7", "armv8", "bpf", "c", "c++11", "c11", "imm", "linux-kernel", "lisa", "lkmm", "mips",
        "opencl", "power", "ppc", "rc11", "riscv", "sc", "svcomp", "tso", "x86", "x86_64",
    ];
    let word = title.split_whitespace().next().unwrap_or("").to_ascii_lowercase();
    TOTAL.contains(&word.as_str()).then_some(Coherence::Total)
}

/// Names that herd or Dartagnan predefines for events that no program here has.
pub(super) fn elsewhere(name: &str) -> Option<&'static str> {
    #[rustfmt::skip]
    const HERD: &[&str] = &[
        "ADDR", "B", "BCC", "DATA", "I", "LK", "LKR", "LKW", "LS", "NAL", "PRED", "RMW", "Rreg", "SPURIOUS", "UL",
        "Wreg", "aligned", "control", "depend", "equiv-spec", "iico_ctrl", "iico_data", "iico_order", "instr", "lo",
        "loc-overlap", "partial_po", "pco", "rf-reg", "same-instance", "same-instr", "same-low-order-bits",
        "same-static", "success", "tst",
    ];
    #[rustfmt::skip]
    const DARTAGNAN: &[&str] = &[
        "ALLOC", "ASYNC", "ATOM", "AV", "AVDEVICE", "CBAR", "DV", "EF", "FREE", "NONPRIV", "QF", "SC0", "SC1", "SEMAV",
        "SEMSC0", "SEMSC1", "SEMVIS", "SG", "VIS", "VISDEVICE", "WG", "WI", "XF", "allocmem", "allocptr", "async_seq",
        "rcu-rscs", "sdv", "sqf", "ssg", "ssw", "swg",
    ];
    if HERD.contains(&name) { Some("herd") } else { DARTAGNAN.contains(&name).then_some("Dartagnan") }
}

/// A function of the language itself.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Primitive {
    Domain,
    Range,
    /// `classes-loc S`: the events of S, one set per location.
    ClassesLoc,
    /// `linearisations (S, r)`: the total orders of S that extend r.
    Linearisations,
    /// herd has it, we do not: refused by its name when it is applied.
    Unsupported(&'static str),
}

const UNSUPPORTED: &[&str] = &[
    "classes",
    "lift",
    "delift",
    "deliftinter",
    "bisimulation",
    "fromto",
    "tag2scope",
    "tag2level",
    "tag2events",
    "tag2instrs",
    "tag2fenced",
    "loc2events",
    "different-values",
    "same-oa",
    "at-least-one-writable",
    "as_transitive",
    "fail",
];

pub(super) fn primitive(name: &str) -> Option<Primitive> {
    match name {
        "domain" => Some(Primitive::Domain),
        "range" | "codomain" => Some(Primitive::Range),
        "classes-loc" | "partition" => Some(Primitive::ClassesLoc),
        "linearisations" | "linearizations" => Some(Primitive::Linearisations),
        _ => UNSUPPORTED.iter().find(|known| **known == name).map(|known| Primitive::Unsupported(known)),
    }
}
