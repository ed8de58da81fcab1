//! The independent judge of executions: [`fencepost_axiom::replay`], made ready for one unfolding under one model.

use fencepost_axiom::crash::literal::Pairs;
use fencepost_axiom::engine::Goal;
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::Model;
use fencepost_axiom::replay::{self, Judgement, Replay, ReplayError, ReplayErrorKind};
use fencepost_axiom::watch::Watch;
use fencepost_program::unfolding::Unfolding;
use fencepost_report::why::Why;

use crate::look::search::why_open;
use crate::look::second_checks::SecondChecks;
use crate::model::load::LoadedModel;

/// Why a witness was not confirmed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotConfirmed {
    Execution(replay::Mismatch),
    Model(ReplayError),
    /// There is nothing that it could be an execution of.
    NoUnfolding,
}

impl std::fmt::Display for NotConfirmed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NotConfirmed::Execution(mismatch) => write!(f, "{mismatch}"),
            NotConfirmed::Model(error) => write!(f, "{error}"),
            NotConfirmed::NoUnfolding => write!(f, "the program was not unrolled"),
        }
    }
}

impl std::error::Error for NotConfirmed {}

impl NotConfirmed {
    /// Why the answer that the witness was for is open: a limit ended the judging, or something is wrong with one of the two.
    pub fn why(&self) -> Why {
        match self {
            NotConfirmed::Model(ReplayError { kind: ReplayErrorKind::Limit(stop), .. }) => why_open(stop.clone()),
            _ => Why::Internal(format!("a witness cannot be replayed: {self}")),
        }
    }
}

/// Executions of unfoldings with no more events than this are judged in no time.
const LARGE: usize = 256;

/// Judges executions of one unfolding under one model; with the evaluator that shares no code with the
/// engines.
pub struct Replayer<'t> {
    model: &'t Model,
    unfolding: &'t Unfolding,
    replay: Replay<'t>,
}

impl<'t> Replayer<'t> {
    pub fn new(model: &'t LoadedModel, unfolding: &'t Unfolding) -> Result<Replayer<'t>, NotConfirmed> {
        let replay = Replay::with_variants(model.tree(), &model.includes, model.variants(), unfolding)
            .map_err(NotConfirmed::Model)?;
        Ok(Replayer { model: &model.model, unfolding, replay })
    }

    /// Large executions are judged within limits: they may take long, and a great deal of memory.
    pub fn watched(self, watch: impl FnOnce() -> Watch<'t>) -> Replayer<'t> {
        if self.unfolding.events.len() <= LARGE {
            return self;
        }
        Replayer { replay: self.replay.watched(watch()), ..self }
    }

    /// What a crash looks at in an execution; None if the model does not show all of it.
    pub fn crash(&self, execution: &Execution) -> Result<Option<Pairs>, NotConfirmed> {
        self.replay.crash(execution).map_err(NotConfirmed::Model)
    }

    pub fn judge(&self, execution: &Execution, goal: &Goal<'_>) -> Result<Judgement, NotConfirmed> {
        let judgement = self.replay.judge(execution).map_err(NotConfirmed::Model)?;
        replay::check_execution(self.unfolding, execution, goal, &self.model.coherence, judgement.fences)
            .map_err(NotConfirmed::Execution)?;
        SecondChecks::count_replay();
        Ok(judgement)
    }
}
