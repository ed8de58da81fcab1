//! A piece that may be missing, as a change of the test's tree: an instruction that is put in, one that is moved, one
//! with stronger words. `apply` makes it, `describe` puts it into words.

pub(crate) mod apply;
pub(crate) mod describe;
pub(crate) mod text;

use fencepost_program::ThreadId;
use fencepost_program::program::Scope;
use fencepost_report::reason::Reason;
use fencepost_syntax::Span;
use fencepost_syntax::litmus::{Declaration, Litmus};

use crate::scene::anchor::Anchor;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Edit {
    pub(crate) change: Change,
    /// Why it is needed; None where the diagnosis says so by itself.
    pub(crate) reason: Option<Reason>,
    /// Of the PTX ISA.
    pub(crate) section: &'static str,
    pub(crate) cost: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// Instructions, each with its semicolon.
    Insert {
        at: Vec<(Anchor, String)>,
    },
    /// An entry of the declarations: an order of kernels.
    Declare {
        text: String,
    },
    /// Instructions at an end of threads, which may have no others.
    Append {
        to: Vec<ThreadId>,
        end: End,
        text: String,
    },
    /// A loop that waits for a phase of an mbarrier: the wait, and the label it is known by.
    Poll {
        at: Anchor,
        wait: String,
        label: String,
        polled: Polled,
    },
    /// A wait whose parity changes with the rounds of a loop.
    Alternate(Alternate),
    /// An access that is made again until it returns what is waited for.
    Again(Again),
    /// Another value of a register at the start.
    Start {
        thread: ThreadId,
        register: String,
        value: i128,
    },
    /// An instruction or a label.
    Remove {
        thread: ThreadId,
        span: Span,
    },
    /// Other semantics or a wider scope.
    Strengthen {
        thread: ThreadId,
        span: Span,
        semantics: Option<Semantics>,
        scope: Option<Scope>,
    },
    /// Another count of groups, or all of their accesses.
    Wait {
        thread: ThreadId,
        span: Span,
        newest: i128,
        whole: Whole,
    },
    Replace {
        thread: ThreadId,
        span: Span,
        by: String,
    },
    /// Another opcode and other words, with the operands that are there.
    Reword {
        thread: ThreadId,
        span: Span,
        opcode: String,
        modifiers: Vec<String>,
    },
    /// A `red` becomes an `atom`.
    Return {
        thread: ThreadId,
        span: Span,
    },
    /// The instruction goes to another place of its thread.
    Move {
        span: Span,
        to: Anchor,
        what: Moved,
    },
    /// An mbarrier waits for more arrivals: where its count stands, in its declaration or in what initialises it.
    Count {
        name: String,
        by: i128,
        inits: Vec<(ThreadId, Span)>,
    },
    /// The instruction is another thread's to execute.
    Hand {
        thread: ThreadId,
        span: Span,
        to: Anchor,
    },
}

/// A wait for the phase of each round.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Alternate {
    pub(crate) place: Placed,
    pub(crate) own: Option<Own>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Placed {
    /// Lines that compute the parity, and the wait.
    New { at: Anchor, before: String, wait: String, label: String },
    /// Lines that compute the parity, and the wait that is there with it.
    Instead { at: Anchor, before: String, by: String },
}

/// A register of its own for the parity: set before the loop, turned over at the end of each round.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Own {
    pub(crate) register: String,
    pub(crate) first: u32,
    /// The statement of the thread before which it is set.
    pub(crate) head: usize,
    pub(crate) tail: Anchor,
}

/// The branch that makes an access a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Again {
    pub(crate) thread: ThreadId,
    /// What is tried again.
    pub(crate) access: Span,
    /// The comparison of what it returned, or the access where there is none.
    pub(crate) compared: Span,
    /// The comparison that is missing too.
    pub(crate) compares: Option<String>,
    /// `@%p` or `@!%p`.
    pub(crate) guard: String,
}

/// Where in a thread that is appended to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    First,
    Last,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Semantics {
    Release,
    Acquire,
    /// Strong, and no more.
    Relaxed,
}

/// Whether a wait that is put in waits for more than the thread was to wait for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Polled {
    Once,
    /// The thread has just waited on the same mbarrier and not used what it waited for: it would wait for what comes after.
    Again,
    /// It stands in a loop: with one parity it is right in one of two rounds.
    EveryRound,
}

/// What is moved: an author moves an access less gladly.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Moved {
    Synchronisation,
    Access,
}

/// Whether a wait covers more than the reads of its groups.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Whole {
    AsIs,
    /// `.read` goes.
    Everything,
}

pub(crate) const SCOPES: &[&str] = &["cta", "cluster", "gpu", "sys"];

impl Edit {
    pub(crate) fn insert(
        anchor: Anchor,
        text: &str,
        reason: impl Into<Reason>,
        section: &'static str,
        cost: u32,
    ) -> Edit {
        Edit::new(Change::Insert { at: vec![(anchor, format!("{text};"))] }, reason, section, cost)
    }

    pub(crate) fn new(change: Change, reason: impl Into<Reason>, section: &'static str, cost: u32) -> Edit {
        Edit { change, reason: Some(reason.into()), section, cost }
    }

    /// How much of the text changes: a word, an instruction that goes elsewhere, one that comes, several. Of two cures the
    /// smaller one is told.
    pub(crate) fn size(&self) -> u32 {
        match &self.change {
            Change::Strengthen { semantics: Some(_), scope: Some(_), .. }
            | Change::Replace { .. }
            | Change::Reword { .. }
            | Change::Remove { .. } => 3,
            Change::Strengthen { .. }
            | Change::Wait { .. }
            | Change::Return { .. }
            | Change::Count { .. }
            | Change::Start { .. } => 2,
            Change::Move { what: Moved::Synchronisation, .. } => 4,
            Change::Hand { .. } | Change::Again(_) => 5,
            Change::Move { what: Moved::Access, .. } => 11,
            Change::Insert { at } => {
                let instructions = at.first().map_or(0, |(_, text)| text.matches(';').count() as u32);
                // In two threads it is more than twice as much to understand.
                if at.len() == 1 { 4 + 2 * instructions } else { 6 + 4 * instructions }
            }
            Change::Poll { polled: Polled::Once, .. } => 7,
            Change::Poll { polled: Polled::Again | Polled::EveryRound, .. } => 12,
            Change::Alternate(_) => 7,
            Change::Declare { .. } => 6,
            Change::Append { to, .. } => 6 * to.len() as u32,
        }
    }
}

impl Change {
    /// Whether it changes words or operands of an instruction that stays where it is.
    fn is_of_words(&self) -> bool {
        matches!(self, Change::Strengthen { .. } | Change::Wait { .. } | Change::Reword { .. } | Change::Return { .. })
    }

    /// The threads that it changes; none where it is about what all of them share.
    pub(crate) fn threads(&self) -> Vec<ThreadId> {
        match self {
            Change::Insert { at } => at.iter().map(|(anchor, _)| anchor.thread).collect(),
            Change::Append { to, .. } => to.clone(),
            Change::Poll { at, .. } | Change::Move { to: at, .. } => vec![at.thread],
            Change::Alternate(alternate) => match &alternate.place {
                Placed::New { at, .. } | Placed::Instead { at, .. } => vec![at.thread],
            },
            Change::Again(again) => vec![again.thread],
            Change::Start { thread, .. }
            | Change::Remove { thread, .. }
            | Change::Strengthen { thread, .. }
            | Change::Wait { thread, .. }
            | Change::Replace { thread, .. }
            | Change::Reword { thread, .. }
            | Change::Return { thread, .. } => vec![*thread],
            Change::Hand { thread, to, .. } => vec![*thread, to.thread],
            Change::Declare { .. } | Change::Count { .. } => Vec::new(),
        }
    }

    /// Whether it changes an instruction or a declaration of the text that is such, or puts something in between two.
    pub(crate) fn touches(&self, litmus: &Litmus, is_such: &dyn Fn(Span) -> bool) -> bool {
        let is_inside = |anchor: &Anchor| anchor.is_inside(litmus, is_such);
        let declares = |is_own: &dyn Fn(&Declaration) -> bool| {
            litmus.declarations.iter().find(|it| is_own(&it.node)).is_some_and(|it| is_such(it.span))
        };
        match self {
            Change::Insert { at } => at.iter().any(|(anchor, _)| is_inside(anchor)),
            Change::Poll { at, .. } => is_inside(at),
            Change::Alternate(alternate) => match &alternate.place {
                Placed::New { at, .. } => is_inside(at),
                Placed::Instead { at, .. } => is_such(at.span),
            },
            Change::Again(again) => is_such(again.access),
            Change::Remove { span, .. }
            | Change::Strengthen { span, .. }
            | Change::Wait { span, .. }
            | Change::Replace { span, .. }
            | Change::Reword { span, .. }
            | Change::Return { span, .. } => is_such(*span),
            Change::Move { span, to, .. } | Change::Hand { span, to, .. } => is_such(*span) || is_inside(to),
            Change::Count { name, inits, .. } if inits.is_empty() => declares(&|it| apply::declares_count(it, name)),
            Change::Count { inits, .. } => inits.iter().any(|(_, span)| is_such(*span)),
            Change::Start { thread, register, .. } => declares(&|it| apply::declares_register(it, *thread, register)),
            Change::Declare { .. } | Change::Append { .. } => false,
        }
    }
}

pub(crate) fn scope_word(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "cta",
        Scope::Cluster => "cluster",
        Scope::Gpu => "gpu",
        Scope::Sys => "sys",
    }
}

pub(crate) fn semantics_word(semantics: Semantics) -> &'static str {
    match semantics {
        Semantics::Release => "release",
        Semantics::Acquire => "acquire",
        Semantics::Relaxed => "relaxed",
    }
}

pub(crate) fn size(edits: &[Edit]) -> u32 {
    edits.iter().map(Edit::size).sum()
}
