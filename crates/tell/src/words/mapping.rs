//! What a bounded check of a compiler mapping found. `mapping` builds on this crate, so its findings come as plain data.

/// What was looked at.
#[derive(Copy, Clone, Debug)]
pub struct Counted {
    pub done: usize,
    pub parts: usize,
    pub shapes: u64,
    pub behaviours: u64,
    /// Questions asked of the source, of the target, and about races.
    pub source: u64,
    pub target: u64,
    pub races: u64,
}

pub fn counted(counted: Counted) -> String {
    let Counted { done, parts, shapes, behaviours, source, target, races } = counted;
    format!(
        "{done} of {parts} parts: {shapes} shapes, {behaviours} behaviours, {source} questions to the source, {target} to the target, {races} about races\n"
    )
}

/// What is not kept: something that mappings promise, or only the axiom against thin air.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum NotKept {
    Promised,
    ThinAir,
}

/// The line above the smallest programs in which it is not kept.
pub fn not_kept(what: NotKept, count: usize) -> String {
    let words = match what {
        NotKept::ThinAir => "only the axiom against thin air is not kept (expected: no mapping promises it)",
        NotKept::Promised => "coherence, atomicity or SC is not kept",
    };
    format!("{words} ({count} in all); the smallest:\n")
}

/// How many counterexamples are also found as text.
pub fn confirmed(confirmed: usize, all: usize) -> String {
    format!("{confirmed} of {all} confirmed as tests in text\n")
}

/// A mapping, who claims that it is right, and how large the programs are.
#[derive(Copy, Clone, Debug)]
pub struct Checked<'a> {
    pub from: &'a str,
    pub to: &'a str,
    pub schemes: &'a str,
    /// Only programs whose SC operations have system scope.
    pub sc_system_only: bool,
    pub claim: Option<&'a str>,
    pub bound: usize,
}

/// What follows from it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Conclusion {
    Kept,
    Broken { first: usize },
    Unknown { done: usize, parts: usize },
}

pub fn verdict(checked: &Checked<'_>, conclusion: Conclusion) -> String {
    let Checked { from, to, schemes, sc_system_only, claim, bound } = *checked;
    let only = if sc_system_only { ", SC operations of system scope" } else { "" };
    let (found, fate) = match conclusion {
        Conclusion::Kept => (format!("kept by every race-free program of up to {bound} events"), "survives this bound"),
        Conclusion::Broken { first } => (format!("broken, first at {first} events"), "does not hold"),
        Conclusion::Unknown { done, parts } => {
            let found = format!("nothing found in {done} of {parts} parts of the programs of up to {bound} events");
            (found, "survives so far")
        }
    };
    let claim = claim.map_or(String::new(), |claim| format!(" {claim} {fate}."));
    format!("{from} to {to}, {schemes}{only}: {found}.{claim}")
}
