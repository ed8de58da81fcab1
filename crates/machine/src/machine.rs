//! What every machine is: states, the transitions enabled in each, and what a run that has ended shows.

use std::fmt::Debug;

use fencepost_program::program::Term;
use fencepost_program::unfolding::FinalState;
use fencepost_program::value::Value;
use fencepost_syntax::Span;

/// What a crash leaves of some terms, in their order. A term without a value is a register that was not computed yet, or
/// memory that does not survive.
pub type CrashState = Vec<Option<Value>>;

/// How a run stands in a state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It goes on.
    Running,
    /// Every thread has ended and memory is quiet.
    Final(FinalState),
    /// It can go no further, and is no run of the program.
    Stuck(Stuck),
    /// A thread left the part of the program that was unrolled: nothing may be concluded from absences.
    Cut(Cut),
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stuck {
    /// Nothing is enabled, and a thread has not ended or a read has no value.
    Deadlock,
    /// A thread is in a loop without side effects and its last read did not let it go: the loop is followed no further. Other
    /// runs show how it goes on; if there are none, it waits for ever.
    Spin,
    /// The writes to a location have no last one: their order has a cycle or is not total.
    NoLastWrite,
    /// An assumption of the test's author does not hold.
    AssumedAway,
}

impl Stuck {
    pub const ALL: [Stuck; 4] = [Stuck::Deadlock, Stuck::Spin, Stuck::NoLastWrite, Stuck::AssumedAway];
}

/// Why a run was not followed to its end.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Cut {
    /// The unrolling bound.
    Bound(Span),
    /// An access outside every location.
    Wild(Span),
}

/// A labelled transition system. States are canonical: two ways to the same situation give equal words, whatever the
/// order in which things happened, because everything is named by its place in the program and nothing by its age.
pub trait Machine: Sync {
    /// A state unpacked, for computing with.
    type State: Clone + Send;
    type Step: Copy + Eq + Debug + Send + Sync;

    fn initial(&self) -> Self::State;

    /// How many words a packed state has.
    fn words(&self) -> u32;

    fn pack(&self, state: &Self::State, words: &mut [u64]);

    fn unpack(&self, words: &[u64], state: &mut Self::State);

    /// The transitions enabled in a state, always in the same order.
    fn steps(&self, state: &Self::State, steps: &mut Vec<Self::Step>);

    /// The transitions that an exploration takes: the enabled ones, or some of them that lead to all ways a run can end
    /// (an ample set). A machine that leaves some out says in its text why that is safe. If its memory survives crashes, it
    /// also has to come to every state that a crash leaves.
    fn choices(&self, state: &Self::State, steps: &mut Vec<Self::Step>) {
        self.steps(state, steps);
    }

    /// Takes an enabled transition.
    fn take(&self, state: &mut Self::State, step: Self::Step);

    /// Whether the run has ended here, given the transitions that are enabled.
    fn ending(&self, state: &Self::State, steps: &[Self::Step]) -> Ending;

    /// The final value of a term, if the state already fixes it; for pruning.
    fn known(&self, state: &Self::State, term: &Term) -> Option<Value>;

    /// What a crash in this state leaves of a term. Nothing, on a machine without persistent memory.
    fn after_crash(&self, _state: &Self::State, _term: &Term) -> Option<Value> {
        None
    }

    /// Whether a transition may make a term known that was not; pruning looks only after those.
    fn reveals(&self, step: Self::Step) -> bool;

    /// A transition in words.
    fn describe(&self, state: &Self::State, step: Self::Step) -> String;

    /// A state in words, a line each.
    fn show(&self, state: &Self::State) -> Vec<String>;
}
