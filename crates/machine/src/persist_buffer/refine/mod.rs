//! Does the persist buffer keep the promises of SBRP? Every program up to a bound, with every timing.
//!
//! A state is the buffers of the SMs, and a monitor that computes the persist memory order of the run so far. In each step the
//! hardware does something (the head leaves a buffer, a line is evicted, a flush is acknowledged) or a warp issues an operation,
//! any of them: so the program is chosen on the way, and all programs are explored at once. States that differ only in the
//! names of warps, lines and persists are one state.
//!
//! **What is checked** ([`monitor`]). After a crash NVM has, per line, the last store that became durable. By section 5 of the
//! paper this image must be that of a set D of persists that is closed under the persist order (C1) and has all that a completed
//! dFence promises (C2). Let A be the persists that arrived in NVM. A persist that did not arrive comes later in coherence order
//! than those of its line that did, so D is a part of A; and the larger D the better, as long as it is closed. So an image is
//! allowed if and only if everything that is ordered before the *last* arrival of each line, or that a dFence promised, has
//! arrived too. Stores that were overwritten in the same entry do not count: no image shows them.
//!
//! **Flags.** A release stores a set of persists with its flag, and an acquire that reads the flag takes the set over. The
//! buffer does not look at names of flags, and the monitor is monotone: more order can only forbid more. So it is enough that
//! each warp releases a flag of its own: the set of its latest release includes those of its earlier ones, and what an
//! overwritten flag said is said by another. Programs with other flags have no violation that these do not have.
//!
//! **Reduction** ([`reduce`]). [`Search::Full`] takes every transition by itself. [`Search::Reduced`] reaches a violation with
//! the same number of operations if the full search does, and is what the long runs use; its file says why.

mod encode;
#[cfg(test)]
mod literal;
mod monitor;
#[cfg(test)]
mod random;
mod reduce;
mod search;
#[cfg(test)]
mod simulation;
mod state;
mod trace;
mod transitions;

use super::rules::{Merge, Rules};
pub use monitor::Violation;
pub use search::refine;

/// The most warps of a question.
pub const WARPS: usize = 3;
/// The most lines of a question.
pub const LINES: u8 = 8;
/// The most operations of a question.
pub const OPERATIONS: usize = 10;
/// The most persists on their way: each is an operation.
const PERSISTS: usize = OPERATIONS;

/// Where the warps run.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Sms {
    /// All in one SM and block.
    One,
    /// The last one in an SM and block of its own.
    Two,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Scopes {
    Block,
    BlockAndDevice,
}

/// What an acquire may read.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Acquires {
    /// The initial value too, as a loop that waits for a flag does.
    Anything,
    /// Only what a release wrote.
    Released,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Stores {
    Any,
    /// Every line is written at most once in a program.
    OncePerLine,
}

/// When the hardware drains a buffer.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Timing {
    /// At any time, and any line that may be evicted is evicted at any time.
    Any,
    /// As soon as order allows; nothing is evicted. Only acknowledgements come at any time.
    Eager,
}

/// Which transitions are taken.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Search {
    Full,
    /// Where it is known to find what the full search finds, else the full one: the answer says which it was.
    Reduced,
}

/// The operations that programs are made of, besides stores.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Alphabet {
    pub order_fences: bool,
    pub durability_fences: bool,
    pub releases: bool,
    pub acquires: bool,
}

impl Alphabet {
    pub const ALL: Alphabet = Alphabet { order_fences: true, durability_fences: true, releases: true, acquires: true };
}

/// What is explored.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Question {
    pub rules: Rules,
    /// The most operations of a program; at most [`OPERATIONS`].
    pub operations: u8,
    /// At most [`WARPS`].
    pub warps: u8,
    /// The most lines that an SM has in its buffer or in flight at a time; at most [`LINES`].
    pub lines: u8,
    pub sms: Sms,
    pub scopes: Scopes,
    pub acquires: Acquires,
    pub stores: Stores,
    pub alphabet: Alphabet,
    pub timing: Timing,
    pub search: Search,
    /// How many threads search.
    pub workers: u8,
    /// The most states to be seen.
    pub states: u64,
}

impl Question {
    /// Three warps of one block and four lines, any programs of so many operations.
    pub fn new(merge: Merge, operations: u8) -> Question {
        Question {
            rules: Rules::new(merge),
            operations: operations.min(OPERATIONS as u8),
            warps: WARPS as u8,
            lines: 4,
            sms: Sms::One,
            scopes: Scopes::Block,
            acquires: Acquires::Anything,
            stores: Stores::Any,
            alphabet: Alphabet::ALL,
            timing: Timing::Any,
            search: Search::Full,
            workers: 1,
            states: u64::MAX,
        }
    }
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// No program within the bound breaks a promise.
    Refines,
    /// A run that does, with the fewest operations.
    Breaks(Counterexample),
    /// The limit on states was hit. Programs of so many operations were all seen.
    Limit { operations: u8 },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// The operations of each warp, in the order in which it issues them.
    pub program: Vec<String>,
    /// How many they are.
    pub operations: u8,
    /// What happens, a line each.
    pub run: Vec<String>,
    pub violation: Violation,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    pub outcome: Outcome,
    /// How it was searched.
    pub search: Search,
    /// Per number of operations: how many states need that many.
    pub layers: Vec<u64>,
    pub transitions: u64,
}

impl Answer {
    pub fn states(&self) -> u64 {
        self.layers.iter().sum()
    }
}
