//! The one door to executions: a program, a model and what a check may take. It knows how the program is unrolled for the
//! model, unrolls it once, and gives out searches and the independent judge.
//!
//! Who has an unfolding already, of evidence or of a part of one, looks at its [`Executions`]. Machines unroll a program in
//! their own way ([`crate::operational`]).

use std::cell::OnceCell;
use std::sync::Arc;

use fencepost_axiom::engine::Goal;
use fencepost_axiom::execution::Execution;
use fencepost_axiom::replay::Judgement;
use fencepost_program::program::Program;
use fencepost_program::unfold::{UnfoldError, UnfoldOptions, unfold, unfold_accesses};
use fencepost_program::unfolding::Unfolding;

pub use crate::look::executions::{EngineName, Executions};
use crate::look::joint_rounds;
use crate::look::race_search;
use crate::look::replayer::{NotConfirmed, Replayer};
use crate::look::search::{Found, Searcher};
use crate::model::load::LoadedModel;
use crate::options::Options;

/// One program under one model.
pub struct Session<'a> {
    pub program: &'a Program,
    pub model: &'a LoadedModel,
    pub options: &'a Options,
    unfolded: OnceCell<Result<(Arc<Unfolding>, UnfoldOptions), UnfoldError>>,
    accesses: OnceCell<Result<Arc<Unfolding>, UnfoldError>>,
}

impl<'a> Session<'a> {
    pub fn new(program: &'a Program, model: &'a LoadedModel, options: &'a Options) -> Session<'a> {
        Session { program, model, options, unfolded: OnceCell::new(), accesses: OnceCell::new() }
    }

    fn unfolded(&self) -> Result<&(Arc<Unfolding>, UnfoldOptions), UnfoldError> {
        let unfolded = self.unfolded.get_or_init(|| {
            let (unfolding, limits) = joint_rounds::unfold(self.program, self.model, self.options)?;
            Ok((Arc::new(unfolding), limits))
        });
        unfolded.as_ref().map_err(Clone::clone)
    }

    /// The program, unrolled.
    pub fn unfolding(&self) -> Result<&Arc<Unfolding>, UnfoldError> {
        self.unfolded().map(|(unfolding, _)| unfolding)
    }

    /// The same with what races need too: a failing iteration of each spin loop. The unfolding itself where no thread can wait,
    /// or where there is nothing more in it.
    pub fn accesses(&self) -> Result<&Arc<Unfolding>, UnfoldError> {
        let accesses = self.accesses.get_or_init(|| {
            let (unfolding, limits) = self.unfolded()?;
            if !race_search::can_wait(unfolding) {
                return Ok(Arc::clone(unfolding));
            }
            let accesses = unfold_accesses(self.program, limits)?;
            let is_same = accesses.events.len() == unfolding.events.len();
            Ok(if is_same { Arc::clone(unfolding) } else { Arc::new(accesses) })
        });
        accesses.as_ref().map_err(Clone::clone)
    }

    /// The program with its loops unrolled and nothing searched: which values it compares is seen in that.
    pub fn unroll(&self) -> Result<Unfolding, UnfoldError> {
        unfold(self.program, &self.model.unfolding(self.options.bound))
    }

    /// Searches by the engine that fits.
    pub fn searcher(&self) -> Result<Searcher<'_>, UnfoldError> {
        Ok(Searcher::new(self.unfolding()?, self.model, self.options))
    }

    /// The first execution that the goal asks for.
    pub fn explore(&self, goal: &Goal<'_>) -> Result<Found<Option<Execution>>, UnfoldError> {
        Ok(self.searcher()?.first_of(goal))
    }

    /// Judges an execution of the unfolding with the evaluator that shares no code with the engines.
    pub fn replay(&self, execution: &Execution, goal: &Goal<'_>) -> Result<Judgement, NotConfirmed> {
        let unfolding = self.unfolding().map_err(|_| NotConfirmed::NoUnfolding)?;
        Replayer::new(self.model, unfolding)?.judge(execution, goal)
    }
}

#[cfg(test)]
mod tests {
    use fencepost_axiom::engine::{Ends, Exploration};
    use fencepost_syntax::Source;

    use super::*;
    use crate::{Models, load};

    #[test]
    fn what_a_session_finds_its_judge_accepts() {
        let text = "PTX t\n{ .global .u32 x = 0; }\nP0@cta 0 { st.global.u32 [x], 1; }\nexists (x = 1)\n";
        let test = load(&Source::new("t.litmus", text)).0.remove(0);
        let (model, options) = (Models::shipped("ptx").expect("shipped"), Options::default());
        let session = Session::new(&test.program, &model, &options);
        assert!(Arc::ptr_eq(session.unfolding().expect("small"), session.accesses().expect("small")));
        let goal = Goal::new(Ends::Terminating);
        let found = session.explore(&goal).expect("small");
        assert_eq!(found.exploration, Exploration::Stopped);
        let judged = session.replay(&found.results.expect("an execution"), &goal).expect("an execution");
        assert!(judged.violated.is_empty(), "{:?}", judged.violated);
    }
}
