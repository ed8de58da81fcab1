//! A place that may be weakened, and its options: how strong each is, and what it saves.

use fencepost_program::ThreadId;
use fencepost_syntax::Span;

use crate::edit::{Change, Edit};
use crate::fix::space::plain;

/// What may be weakened as one.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Its instructions; the first is the one that is named.
    pub(super) at: Vec<(ThreadId, Span)>,
    /// What it costs as it is.
    pub(super) cost: u32,
    pub(super) options: Vec<Weaker>,
    pub(super) effect: Effect,
}

/// What taking a place away does to the ways through the program.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// Executions are added and none is lost.
    OrdersLess,
    /// A thread does not wait any more: what happens elsewhere while it waited may be another phase, or an end.
    ChangesPaths,
}

/// What may stand at a place instead.
#[derive(Clone, Debug)]
pub(super) struct Weaker {
    pub(super) edits: Vec<Edit>,
    pub(super) level: Level,
    pub(super) saves: u32,
}

/// How strong an option is among those of its place: what it does, and how far it reaches. What is gone does nothing.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Level {
    pub(super) kinds: u8,
    pub(super) reach: u8,
}

impl Level {
    pub(super) const GONE: Level = Level { kinds: 0, reach: 0 };

    fn is_below(self, other: Level) -> bool {
        self.kinds & !other.kinds == 0 && self.reach <= other.reach
    }
}

impl Place {
    /// Whether a choice allows all that another does.
    pub(super) fn is_weaker(&self, one: usize, other: usize) -> bool {
        match (one.checked_sub(1), other.checked_sub(1)) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(one), Some(other)) => self.options[one].level.is_below(self.options[other].level),
        }
    }

    pub(super) fn saves(&self, choice: usize) -> u32 {
        choice.checked_sub(1).map_or(0, |option| self.options[option].saves)
    }

    pub(super) fn edits(&self, choice: usize) -> &[Edit] {
        choice.checked_sub(1).map_or(&[], |option| &self.options[option].edits)
    }

    /// Whether its instructions are all gone with this choice.
    pub(super) fn is_removed(&self, choice: usize) -> bool {
        let edits = self.edits(choice);
        !edits.is_empty() && edits.iter().all(|edit| matches!(edit.change, Change::Remove { .. }))
    }
}

/// A place of one instruction.
pub(super) fn place(thread: ThreadId, span: Span, cost: u32, options: Vec<Weaker>) -> Place {
    Place { at: vec![(thread, span)], cost, options, effect: Effect::OrdersLess }
}

/// What an option saves; None where it costs as much as what is there.
pub(super) fn saving(now: u32, then: u32) -> Option<u32> {
    now.checked_sub(then).filter(|saves| *saves > 0)
}

/// Its instruction goes.
pub(super) fn gone(thread: ThreadId, span: Span, cost: u32) -> Weaker {
    Weaker { edits: vec![plain(Change::Remove { thread, span })], level: Level::GONE, saves: cost.max(1) }
}
