//! How to check: which engine, which limits, which answers are wanted.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

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
    /// All executions if the estimate says that is cheap.
    #[default]
    WhenSmall,
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

/// Search spaces up to two to the power of this are explored completely by default.
pub const SMALL_BITS: f64 = 22.0;

/// The unrolling bound of loops that are no spin loops.
pub const DEFAULT_BOUND: u32 = 2;

#[derive(Clone, Debug)]
pub struct Options<'a> {
    pub engine: EngineChoice,
    /// How often a loop body is unrolled; spin loops need no unrolling.
    pub bound: u32,
    pub time_limit: Option<Duration>,
    /// Bytes, of one check.
    pub memory_limit: Option<u64>,
    pub cancelled: Option<&'a AtomicBool>,
    pub outcomes: Outcomes,
    pub races: Wanted,
    pub termination: Wanted,
    /// The condition's own questions; off for a check of termination only.
    pub questions: Wanted,
    pub cross_check: CrossCheck,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            engine: EngineChoice::default(),
            bound: DEFAULT_BOUND,
            time_limit: None,
            memory_limit: None,
            cancelled: None,
            outcomes: Outcomes::default(),
            races: Wanted::Yes,
            termination: Wanted::Yes,
            questions: Wanted::Yes,
            cross_check: CrossCheck::default(),
        }
    }
}
