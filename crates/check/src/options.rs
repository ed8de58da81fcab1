//! How to check: which engine, which limits, which answers are wanted.

use std::num::NonZeroU32;

use crate::budget::Budget;
use crate::model::readings::Settings;

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum EngineChoice {
    /// By an estimate of the search space, with a fall-over to the other engine.
    #[default]
    Auto,
    Enumerate,
    Sat,
}

/// How much of the outcome histogram is computed.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Outcomes {
    /// None: each question is searched for on its own, and the search ends at the first witness.
    Skip,
    /// The questions are answered first; then executions are counted up to [`MOST_COUNTED`] of them, and up to
    /// [`MOST_WORK`].
    #[default]
    Capped,
    /// All executions, whatever it costs.
    All,
}

/// Whether an answer beyond the verdict is wanted.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Wanted {
    #[default]
    Yes,
    No,
}

impl Wanted {
    pub fn is_yes(self) -> bool {
        self == Wanted::Yes
    }
}

/// What is done about an answer that a cut loop leaves open.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Deepening {
    /// It is left open.
    #[default]
    Off,
    /// Loops are unrolled further, step by step (see [`crate::judge::deepen`]).
    On,
}

/// Whether a second engine confirms that something is unreachable.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum CrossCheck {
    Off,
    /// On tests whose estimate is below [`crate::options::CROSS_CHECK_BITS`].
    #[default]
    WhenSmall,
}

/// Search spaces up to two to the power of this are checked by both engines.
pub const CROSS_CHECK_BITS: f64 = 12.0;

/// In search spaces up to two to the power of this, counting comes first and the answers are read off it.
pub const SMALL_BITS: f64 = 12.0;

/// No person reads more outcomes than this; the command line lists no more unless it is asked to.
pub const MOST_OUTCOMES: usize = 100_000;

/// By default no more executions are counted than this.
pub const MOST_COUNTED: u64 = 10_000;

/// Nor is more work done for counting: some hundredths of a second. No time is measured, so that the same check gives
/// the same counts.
pub const MOST_WORK: u64 = 20_000;

/// And of a search space of more than two to the power of this only a first few are, once the questions are answered.
pub const MOST_COUNTED_BITS: f64 = 14.0;
pub const LITTLE_WORK: u64 = 2_000;

/// With asynchronous operations or mbarriers more is worth it: one count answers every question, and what is wrong with
/// them can only be seen execution by execution. Some seconds.
pub const MOST_STRAND_WORK: u64 = 1_000_000;

/// And no more for each race that is looked for after that.
pub const MOST_RACE_WORK: u64 = 400_000;

/// With `--all`, outcomes are listed one by one for so much work before it is asked how many there are: a second or two.
pub const LISTING_WORK: u64 = 300_000;

/// If they are more than this, those that are alike are counted together: to list them takes many minutes, and gigabytes.
pub const MOST_LISTED: u64 = 10_000_000;

/// Up to so many are listed from their classes.
pub const MOST_FROM_CLASSES: u64 = 1_000_000;

/// And no more for counting them so.
pub const CLASS_WORK: u64 = 2_000_000;

/// A SAT solver has no such measure, and an execution costs it far more.
pub const MOST_COUNTED_BY_SAT: u64 = 100;

/// The unrolling bound of loops that are no spin loops.
pub const DEFAULT_BOUND: u32 = 2;

#[derive(Clone, Debug)]
pub struct Options {
    pub engine: EngineChoice,
    /// How often a loop body is unrolled; spin loops need no unrolling.
    pub bound: u32,
    pub deepening: Deepening,
    pub budget: Budget,
    pub outcomes: Outcomes,
    /// How many outcomes a report lists; all are counted.
    pub most_outcomes: usize,
    /// Where all outcomes are wanted and are too many to list, those that are alike are counted together.
    pub classes: Wanted,
    pub races: Wanted,
    pub termination: Wanted,
    /// The condition's own questions; off for a check of termination only.
    pub questions: Wanted,
    /// What is missing where something is wrong: a search of its own, often longer than that for the answer.
    pub advice: Wanted,
    /// The fingerprint of the test, which only JSON and herd's logs have.
    pub fingerprint: Wanted,
    pub cross_check: CrossCheck,
    /// The most bytes of a persist that become durable together; None: each access of a location as a whole.
    pub persist_granularity: Option<NonZeroU32>,
    /// Contested points that somebody decided; of the others that matter, both ends are tried.
    pub readings: Settings,
}

impl Options {
    /// The same, with the clock running.
    pub fn begun(&self) -> Options {
        Options { budget: self.budget.begun(), ..self.clone() }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            engine: EngineChoice::default(),
            bound: DEFAULT_BOUND,
            deepening: Deepening::default(),
            budget: Budget::default(),
            outcomes: Outcomes::default(),
            most_outcomes: usize::MAX,
            classes: Wanted::No,
            races: Wanted::Yes,
            termination: Wanted::Yes,
            questions: Wanted::Yes,
            advice: Wanted::Yes,
            fingerprint: Wanted::Yes,
            cross_check: CrossCheck::default(),
            persist_granularity: None,
            readings: Settings::default(),
        }
    }
}
