//! Searches that one run of the program answers ([`fencepost_axiom::engine::determined`]).
//!
//! Where the run decides for all executions, they are one class: it is reported once, and nothing else has to be searched. Where
//! it does not, it may still be what a search looks for.

use std::ops::ControlFlow;

use fencepost_axiom::engine::determined::{Determination, Obstacle, Orders, Raised, determine};
use fencepost_axiom::engine::{Ends, Exploration, Goal, Multiplicity, Observed};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::{Node, NodeId, NodeKind};
use fencepost_axiom::watch::Watch;
use fencepost_program::expression::Leaf;
use fencepost_program::program::{LocationRole, Term};
use fencepost_program::unfolding::Unfolding;

use crate::look::outcome::satisfies;
use crate::model::load::LoadedModel;
use crate::model::role::Relation;
use crate::model::vocabulary::Assumption;

/// The relations that the theorem is about, of a model that it holds of.
pub(super) fn orders(model: &LoadedModel) -> Option<Orders> {
    if !model.vocabulary.assumptions.contains(&Assumption::OneRunDecides) {
        return None;
    }
    let nodes = &model.model.nodes;
    let named = |name: &str| {
        let is = |node: &Node| node.kind == NodeKind::Relation && node.name.as_deref() == Some(name);
        u32::try_from(nodes.iter().rposition(is)?).ok().map(NodeId)
    };
    let of = |role: Relation| model.vocabulary.relations.names(role).into_iter().find_map(named);
    Some(Orders { causality: of(Relation::Causality)?, base: of(Relation::BaseCausality)? })
}

/// What one run says, as far as it says anything.
pub(super) struct OneRun {
    execution: Box<Execution>,
    decides: Decides,
    ends: Ends,
    raised: Raised,
}

/// Of which executions it speaks.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Decides {
    All,
    Itself,
}

impl OneRun {
    pub(super) fn new(unfolding: &Unfolding, model: &LoadedModel, orders: Orders, watch: &Watch<'_>) -> Option<OneRun> {
        match determine(unfolding, &model.model, orders, watch) {
            Determination::All(execution) => {
                Some(OneRun { execution, decides: Decides::All, ends: Ends::Terminating, raised: Vec::new() })
            }
            Determination::One(execution, raised, obstacle) => {
                let ends = if obstacle == Obstacle::Stuck { Ends::Stuck } else { Ends::Terminating };
                Some(OneRun { execution, decides: Decides::Itself, ends, raised })
            }
            Determination::Nothing(_) => None,
        }
    }

    pub(super) fn is_all(&self) -> bool {
        self.decides == Decides::All
    }

    /// Whether it waits for good, or raises a flag of the model.
    pub(super) fn is_wrong(&self) -> bool {
        self.ends == Ends::Stuck || !self.raised.is_empty()
    }

    /// Answers the search, if the run does.
    pub(super) fn explore(
        &self,
        unfolding: &Unfolding,
        goal: &Goal<'_>,
        visit: &mut dyn FnMut(&Execution) -> ControlFlow<()>,
    ) -> Option<Exploration> {
        if self.depends_on_order(unfolding, goal) {
            return None;
        }
        let is_met = goal.ends == self.ends
            && self.is_raised(goal)
            && [goal.filter, goal.condition]
                .into_iter()
                .flatten()
                .all(|wanted| satisfies(unfolding, &self.execution, wanted));
        let is_enough = self.is_all() || goal.multiplicity == Multiplicity::First;
        let flow = if is_met && is_enough { visit(&self.execution) } else { ControlFlow::Continue(()) };
        match flow {
            ControlFlow::Break(()) => Some(Exploration::Stopped),
            ControlFlow::Continue(()) => self.is_all().then_some(Exploration::Complete),
        }
    }

    /// Whether the run raises the flag that is asked for, by a pair that counts.
    fn is_raised(&self, goal: &Goal<'_>) -> bool {
        let Some(wanted) = goal.raised else { return true };
        self.raised.iter().any(|(flag, pairs)| *flag == wanted.flag && wanted.is_by(pairs))
    }

    /// Whether a value that is looked at may depend on the order of arrivals: the state of an mbarrier, or what was computed
    /// from it.
    fn depends_on_order(&self, unfolding: &Unfolding, goal: &Goal<'_>) -> bool {
        let is_mbarrier = |at: usize| unfolding.locations[at].role == LocationRole::Mbarrier;
        let depends = |term: &Term| match term {
            Term::Constant(_) => false,
            Term::Memory(location) => is_mbarrier(location.index()),
            Term::Register(thread, register) => {
                let trace = self.execution.traces.get(thread.index());
                let trace = trace.and_then(|trace| unfolding.traces.get(trace.index()));
                let mut leaves = Vec::new();
                trace
                    .and_then(|trace| trace.registers.get(register.index()))
                    .into_iter()
                    .for_each(|it| it.leaves(&mut leaves));
                leaves.iter().any(|leaf| match leaf {
                    Leaf::Read(read) => {
                        unfolding.events[read.index()].location().is_some_and(|it| is_mbarrier(it.index()))
                    }
                    Leaf::BarrierResult(_) => true,
                })
            }
        };
        let observed = match goal.observed {
            Observed::Terms(terms) => terms,
            Observed::Everything => &[],
        };
        let conditions = [goal.filter, goal.condition].into_iter().flatten();
        observed.iter().any(depends) || conditions.flat_map(|condition| condition.terms()).any(|term| depends(&term))
    }
}
