//! How strong an instruction is: what it orders by its words alone, how far, and what it may become.

use fencepost_program::ThreadId;
use fencepost_program::program::Scope;
use fencepost_syntax::Span;
use fencepost_syntax::instruction::Instruction;

use super::costs::Costs;
use crate::edit::{Change, Semantics, scope_word};

pub(crate) const SCOPES: [Scope; 4] = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys];

/// The words of an instruction that say what it orders.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Strength {
    pub(crate) what: What,
    /// A bit each: strong, acquire, release; of a fence: acq_rel, sc.
    pub(crate) kinds: u8,
    pub(crate) scope: Option<Scope>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Load,
    Store,
    Atomic,
    Fence,
    /// The old spelling of `fence.sc`, which has no cluster scope.
    Membar,
    Arrive,
    Wait,
    /// The arrival at the barrier of a cluster.
    Meet,
}

pub(crate) const STRONG: u8 = 1;
pub(crate) const ACQUIRES: u8 = 2;
pub(crate) const RELEASES: u8 = 4;
/// Of a fence.
pub(crate) const SC: u8 = 2;

impl Strength {
    pub(crate) fn of(found: &Instruction) -> Option<Strength> {
        let has = |word: &str| found.modifiers.iter().any(|own| own.node == word);
        let what = match found.opcode.node.as_str() {
            "ld" if has("nc") || has("async") => return None,
            "ld" => What::Load,
            "st" if has("async") || has("bulk") => return None,
            "st" => What::Store,
            "atom" => What::Atomic,
            "red" if has("async") => return None,
            "red" => What::Atomic,
            "fence" if has("acq_rel") || has("sc") => What::Fence,
            "membar" if !has("proxy") => What::Membar,
            "mbarrier" if has("arrive") || has("arrive_drop") => What::Arrive,
            "mbarrier" if has("try_wait") || has("test_wait") => What::Wait,
            "barrier" if has("cluster") && has("arrive") => What::Meet,
            _ => return None,
        };
        if has("mmio") {
            return None;
        }
        // Strong at the widest scope.
        let is_volatile = has("volatile").then_some(Scope::Sys);
        let scope = SCOPES.into_iter().find(|scope| has(scope_word(*scope))).or(is_volatile);
        let acquires = if has("acquire") || has("acq_rel") { ACQUIRES } else { 0 };
        let releases = if has("release") || has("acq_rel") { RELEASES } else { 0 };
        let kinds = match what {
            What::Fence => STRONG | if has("sc") { SC } else { 0 },
            What::Membar => STRONG | SC,
            What::Arrive | What::Meet => STRONG | if has("relaxed") { 0 } else { RELEASES },
            What::Wait => STRONG | if has("relaxed") { 0 } else { ACQUIRES },
            What::Atomic => STRONG | acquires | releases,
            What::Load | What::Store if has("relaxed") || has("volatile") || acquires | releases != 0 => {
                STRONG | acquires | releases
            }
            What::Load | What::Store => 0,
        };
        let default = match what {
            What::Arrive | What::Wait => Some(Scope::Cta),
            What::Meet => Some(Scope::Cluster),
            What::Atomic | What::Membar => Some(Scope::Gpu),
            _ => None,
        };
        Some(Strength { what, kinds, scope: scope.or(default) })
    }

    /// What it may be as well.
    pub(crate) fn reachable(self) -> Vec<u8> {
        let all: &[u8] = match self.what {
            What::Load => &[STRONG, STRONG | ACQUIRES],
            What::Store => &[STRONG, STRONG | RELEASES],
            What::Atomic => &[STRONG, STRONG | ACQUIRES, STRONG | RELEASES, STRONG | ACQUIRES | RELEASES],
            What::Fence => &[STRONG, STRONG | SC],
            What::Membar => &[STRONG | SC],
            What::Arrive | What::Meet => &[STRONG | RELEASES],
            What::Wait => &[STRONG | ACQUIRES],
        };
        all.iter().copied().filter(|kinds| self.kinds & !kinds == 0).collect()
    }

    /// Whether one may become the other by its words alone.
    pub(crate) fn is_like(self, other: Strength) -> bool {
        self.what == other.what
    }

    pub(crate) fn row(self) -> &'static str {
        match (self.what, self.kinds) {
            (What::Membar, kinds) if kinds & SC != 0 && self.scope != Some(Scope::Cluster) => "membar",
            (What::Fence | What::Membar, kinds) if kinds & SC != 0 => "fence.sc",
            (What::Fence | What::Membar, _) => "fence.acq_rel",
            (_, 0) => "weak",
            (_, STRONG) => "relaxed",
            (_, kinds) if kinds & ACQUIRES == 0 => "release",
            (_, kinds) if kinds & RELEASES == 0 => "acquire",
            _ => "acq_rel",
        }
    }

    pub(crate) fn changes(self, thread: ThreadId, span: Span, kinds: u8, scope: Scope) -> Vec<Change> {
        let strengthen = |semantics| Change::Strengthen { thread, span, semantics, scope: Some(scope) };
        if self.what == What::Fence {
            if kinds == self.kinds {
                return vec![strengthen(None)];
            }
            return vec![Change::Replace { thread, span, by: format!("fence.sc.{};", scope_word(scope)) }];
        }
        if self.what == What::Membar {
            let (opcode, modifiers) = membar(kinds, scope);
            return vec![Change::Reword { thread, span, opcode, modifiers }];
        }
        let mut changes = Vec::new();
        if kinds & RELEASES != 0 {
            changes.push(strengthen(Some(Semantics::Release)));
        }
        if kinds & ACQUIRES != 0 {
            changes.push(strengthen(Some(Semantics::Acquire)));
        }
        if changes.is_empty() {
            changes.push(strengthen(Some(Semantics::Relaxed)));
        }
        changes
    }

    pub(crate) fn cost(self, costs: &Costs) -> u32 {
        costs.of(self.row(), self.scope.map_or("-", scope_word))
    }
}

/// A `membar` with these words: by that name where there is one, else as the fence that it is.
pub(crate) fn membar(kinds: u8, scope: Scope) -> (String, Vec<String>) {
    let level = match scope {
        Scope::Cta => Some("cta"),
        Scope::Gpu => Some("gl"),
        Scope::Sys => Some("sys"),
        _ => None,
    };
    match level.filter(|_| kinds & SC != 0) {
        Some(level) => ("membar".to_owned(), vec![level.to_owned()]),
        None => {
            let semantics = if kinds & SC == 0 { "acq_rel" } else { "sc" };
            ("fence".to_owned(), [semantics, scope_word(scope)].map(str::to_owned).to_vec())
        }
    }
}
