//! The names a model may use without defining them: base sets, base relations and primitives.
//!
//! The union of what herd7 and Dartagnan predefine for the architectures we have, with the tags of our own events.
//! What can be said in cat itself (`fr`, `po-loc`, `rfe`, `fencerel`) is in [`crate::model::vocabulary::library`].

use fencepost_program::tag::Tag;

use crate::model::ir::{BaseRelation, BaseSet, Coherence, Operator};

pub(crate) fn base(name: &str) -> Option<Operator> {
    set(name).map(Operator::Base).or_else(|| relation(name).map(Operator::BaseRelation))
}

/// Sets that are no tags, and other names of sets.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct NamedSet {
    pub name: &'static str,
    set: BaseSet,
    /// Which events it has, in one sentence.
    pub meaning: &'static str,
}

/// The sets beside the tags: first those that have a name of their own, then further names.
#[rustfmt::skip]
pub const SETS: &[NamedSet] = &[
    NamedSet { name: "_", set: BaseSet::Universe, meaning: "Every event." },
    NamedSet { name: "M", set: BaseSet::Memory, meaning: "Every access: `R | W`, initial writes included." },
    NamedSet { name: "FW", set: BaseSet::FinalWrites, meaning: "The final writes, which coherence puts last; only herd's `co0` uses it." },
    NamedSet { name: "DECIDES", set: BaseSet::Deciding, meaning: "The reads and `bar.red` operations that decided that their thread exits." },
    NamedSet { name: "Exp", set: BaseSet::Universe, meaning: "Every event; herd's name for explicit ones, which all events are here." },
    NamedSet { name: "EXEC", set: BaseSet::Universe, meaning: "Every event; Dartagnan's name for executed ones, which all events are here." },
    NamedSet { name: "X", set: BaseSet::Tagged(Tag::Atomic), meaning: "The same as `A`; herd's name for locked accesses of x86." },
    NamedSet { name: "mfence", set: BaseSet::Tagged(Tag::Mfence), meaning: "The same as `MFENCE`; Dartagnan's name (in herd it is a relation that `x86fences.cat` defines)." },
];

fn set(name: &str) -> Option<BaseSet> {
    let named = SETS.iter().find(|named| named.name == name).map(|named| named.set);
    named.or_else(|| Tag::named(name).map(BaseSet::Tagged))
}

fn relation(name: &str) -> Option<BaseRelation> {
    BaseRelation::ALL.iter().copied().find(|relation| relation.cat_name() == name)
}

/// What a model's first word says about coherence: for these architectures and languages it is a total order per
/// location, whatever the axioms do with it. Other words say nothing.
pub(crate) fn coherence_of(title: &str) -> Option<Coherence> {
    #[rustfmt::skip]
    const TOTAL: &[&str] = &[
        "aarch64", "arm", "armv7", "armv8", "bpf", "c", "c++11", "c11", "imm", "linux-kernel", "lisa", "lkmm", "mips",
        "opencl", "power", "ppc", "rc11", "riscv", "sc", "svcomp", "tso", "x86", "x86_64",
    ];
    let word = title.split_whitespace().next().unwrap_or("").to_ascii_lowercase();
    TOTAL.contains(&word.as_str()).then_some(Coherence::Total)
}

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

/// Names that herd or Dartagnan predefines for events that no program here has.
pub(crate) fn elsewhere(name: &str) -> Option<&'static str> {
    if HERD.contains(&name) { Some("herd") } else { DARTAGNAN.contains(&name).then_some("Dartagnan") }
}

/// A function of the language itself.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Primitive {
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

/// A function of the language, with its other spellings.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct NamedFunction {
    pub names: &'static [&'static str],
    primitive: Primitive,
    /// What it gives, in one sentence.
    pub meaning: &'static str,
}

#[rustfmt::skip]
pub const FUNCTIONS: &[NamedFunction] = &[
    NamedFunction { names: &["domain"], primitive: Primitive::Domain, meaning: "The events that a relation leads from." },
    NamedFunction { names: &["range", "codomain"], primitive: Primitive::Range, meaning: "The events that a relation leads to." },
    NamedFunction { names: &["classes-loc", "partition"], primitive: Primitive::ClassesLoc, meaning: "The events of a set, one set per location; for `with … from` only." },
    NamedFunction { names: &["linearisations", "linearizations"], primitive: Primitive::Linearisations, meaning: "The total orders of a set that extend a relation; for `with … from` only." },
];

pub(crate) fn primitive(name: &str) -> Option<Primitive> {
    let known = FUNCTIONS.iter().find(|function| function.names.contains(&name)).map(|function| function.primitive);
    known.or_else(|| UNSUPPORTED.iter().find(|known| **known == name).map(|known| Primitive::Unsupported(known)))
}

/// Names that herd or Dartagnan predefines and that are refused here: those of [`elsewhere`], and functions.
pub fn refused() -> impl Iterator<Item = &'static str> {
    HERD.iter().chain(DARTAGNAN).copied().filter(|name| base(name).is_none()).chain(UNSUPPORTED.iter().copied())
}
