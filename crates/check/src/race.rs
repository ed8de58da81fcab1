//! The flags of a model: properties of an execution that do not rule it out, above all `flag ~empty race as data-race`.
//!
//! Evaluated with the engines' bit matrices on every execution, because most have none; the example that is reported is
//! judged again by `replay`. A flag is turned into an axiom with the opposite answer, so that "raised" is "violated".

use std::collections::BTreeMap;

use fencepost_axiom::base::Candidate;
use fencepost_axiom::bits::kernel;
use fencepost_axiom::evaluate::{Chosen, Evaluator, Stage};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::{BaseRelation, Model};
use fencepost_program::EventId;
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::Span;
use fencepost_syntax::cat::{CheckKind, CheckRole};

/// A race without its executions: the flag, and the two instructions in source order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct RaceKey {
    pub(crate) flag: String,
    pub(crate) first: Span,
    pub(crate) second: Span,
}

/// An example: the pair of events and the execution it races in.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    pub(crate) pair: (EventId, EventId),
    pub(crate) execution: Execution,
}

#[derive(Default)]
pub(crate) struct RaceSet {
    pub(crate) races: BTreeMap<RaceKey, Example>,
}

/// The models with one flag each as their only axiom.
pub(crate) struct Flags {
    models: Vec<(String, Model)>,
}

impl Flags {
    /// Only flags of the form `~empty relation` name pairs of events.
    pub(crate) fn new(model: &Model) -> Flags {
        let is_flag = |role: CheckRole| role == CheckRole::Flag;
        let racy =
            model.checks.iter().filter(|check| is_flag(check.role) && check.kind == CheckKind::Empty && check.negated);
        let alone = |check: &fencepost_axiom::model::Check| {
            let axiom = fencepost_axiom::model::Check { role: CheckRole::Axiom, negated: false, ..check.clone() };
            let model = Model {
                name: model.name.clone(),
                nodes: model.nodes.clone(),
                groups: model.groups.clone(),
                checks: vec![axiom],
                shown: Vec::new(),
                coherence: model.coherence.clone(),
                demands: Vec::new(),
                unrecognised: Vec::new(),
                features: Vec::new(),
                files: Vec::new(),
            };
            (check.name.clone(), model)
        };
        Flags { models: racy.map(alone).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.models.is_empty()
    }

    pub(crate) fn evaluators(&self) -> Vec<FlagEvaluator<'_>> {
        self.models
            .iter()
            .map(|(name, model)| FlagEvaluator { name, model, evaluator: Evaluator::new(model) })
            .collect()
    }
}

pub(crate) struct FlagEvaluator<'a> {
    name: &'a str,
    model: &'a Model,
    evaluator: Evaluator<'a>,
}

impl FlagEvaluator<'_> {
    /// Adds the races of this execution that are new.
    pub(crate) fn add(&mut self, unfolding: &Unfolding, execution: &Execution, set: &mut RaceSet) {
        let mut candidate = Candidate::default();
        candidate.choose(unfolding, &execution.traces);
        if !self.is_raised(unfolding, &candidate, execution) {
            return;
        }
        let Some(check) = self.model.checks.first() else { return };
        let relation = self.evaluator.relation(check.node);
        for (from, &first) in candidate.events.iter().enumerate() {
            for (to, &second) in candidate.events.iter().enumerate() {
                if !kernel::contains(candidate.shape, relation, from, to) {
                    continue;
                }
                let spans =
                    |event: EventId| unfolding.events.get(event.index()).map_or(Span::default(), |event| event.span);
                // The same pair of instructions in another order or iteration is the same race to a person.
                let (pair, spans) = match (spans(first), spans(second)) {
                    (a, b) if a <= b => ((first, second), (a, b)),
                    (a, b) => ((second, first), (b, a)),
                };
                let key = RaceKey { flag: self.name.to_owned(), first: spans.0, second: spans.1 };
                set.races.entry(key).or_insert_with(|| Example { pair, execution: execution.clone() });
            }
        }
    }

    fn is_raised(&mut self, unfolding: &Unfolding, candidate: &Candidate, execution: &Execution) -> bool {
        if self.evaluator.begin(unfolding, candidate).is_some() {
            return true;
        }
        let relations = [
            (BaseRelation::Rf, &execution.rf),
            (BaseRelation::Co, &execution.co),
            (BaseRelation::SyncFence, &execution.sync_fence),
            (BaseRelation::Syncbar, &execution.barriers.synchronises),
        ];
        for (relation, pairs) in relations {
            let mut bits = vec![0; candidate.shape.matrix()];
            for &(from, to) in pairs {
                if let (Some(from), Some(to)) = (candidate.local(from), candidate.local(to)) {
                    kernel::relate(candidate.shape, &mut bits, from, to);
                }
            }
            self.evaluator.set(relation, &bits);
        }
        self.evaluator.run(Stage::ReadsFrom, Stage::Coherence, Chosen::ReadsFrom).is_some()
            || self.evaluator.run_final().is_some()
    }
}
