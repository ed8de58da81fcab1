//! What the rules say of each pair of requests, computed once: an exploration asks millions of times.

use fencepost_program::program::Unsupported;
use fencepost_syntax::Span;

use crate::lostpop::architecture::{Face, is_mutual, is_ordered, scope_of};
use crate::lostpop::rules::Rules;
use crate::requests::{Level, ScopeTree, ThreadSet};

/// The most events over all branches of all threads.
const MOST_EVENTS: usize = 1024;

/// What the rules say of an older and a newer request.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pair {
    /// The scope at which an order between them is kept.
    pub(super) scope: ThreadSet,
    /// The older, a request of the newer's thread or a predecessor there, is ordered before the newer: the level at which,
    /// of the older's thread.
    pub(super) ordered: Option<Level>,
    /// The least levels of the two threads whose sets contain the scope.
    pub(super) around_old: Level,
    pub(super) around_new: Level,
    /// Memory operations on one location.
    pub(super) same_location: bool,
    /// And one of them a write.
    pub(super) conflict: bool,
    /// They are in each other's scope.
    pub(super) mutual: bool,
    /// The older is a write that, seen by the newer, becomes a predecessor.
    pub(super) predecessor: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    table: Vec<Pair>,
    events: usize,
}

impl Pairs {
    pub(super) fn new(faces: &[Face], rules: Rules, tree: &ScopeTree) -> Result<Pairs, Unsupported> {
        if faces.len() > MOST_EVENTS {
            let what = format!("more than {MOST_EVENTS} memory operations over all branches in an operational model");
            return Err(Unsupported { span: Span::default(), what });
        }
        let pair = |old: &Face, new: &Face| {
            let scope = scope_of(old, new, tree);
            let ordered = is_ordered(old, new, rules, tree).then(|| tree.level(old.thread, scope)).flatten();
            let (conflict, mutual) = (old.conflicts(new), is_mutual(old, new));
            Pair {
                scope,
                ordered,
                around_old: tree.containing(old.thread, scope),
                around_new: tree.containing(new.thread, scope),
                same_location: old.location.is_some() && old.location == new.location,
                conflict,
                mutual,
                predecessor: conflict && old.is_write() && new.is_read() && mutual,
            }
        };
        let table = faces.iter().flat_map(|old| faces.iter().map(move |new| pair(old, new))).collect();
        Ok(Pairs { table, events: faces.len() })
    }

    pub(super) fn of(&self, old: usize, new: usize) -> &Pair {
        &self.table[old * self.events + new]
    }
}
