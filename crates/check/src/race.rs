//! The flags of a model: properties of an execution that do not rule it out, above all `flag ~empty race as data-race`.
//!
//! Evaluated with the engines' bit matrices on every execution, because most have none; the example that is reported is
//! judged again by `replay`. A flag is turned into an axiom with the opposite answer, so that "raised" is "violated".

use std::collections::{BTreeMap, BTreeSet};

use fencepost_axiom::base::Candidate;
use fencepost_axiom::bits::{kernel, ones};
use fencepost_axiom::evaluate::{Chosen, Evaluator, Stage};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::{BaseRelation, CheckId, Model};
use fencepost_program::EventId;
use fencepost_program::tag::Tag;
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

impl RaceKey {
    /// Whether the two are reported as a pair with what is missing: a race, or an access and an exit. Any other flag marks
    /// something to warn of.
    pub(crate) fn is_pair(&self) -> bool {
        is_race(&self.flag) || self.flag == EXIT
    }
}

/// The flag of an access that the memory may not outlive. It is no data race, and it is undefined.
pub(crate) const EXIT: &str = "exit-before-access";

/// Whether a flag of this name is about races.
pub(crate) fn is_race(flag: &str) -> bool {
    flag.ends_with("race")
}

impl RaceSet {
    pub(crate) fn has_race(&self) -> bool {
        self.races.keys().any(|key| is_race(&key.flag))
    }

    /// Of an access and the exits of all threads of a CTA one pair is enough: any of them could have stayed.
    pub(crate) fn settle(&mut self, unfolding: &Unfolding) {
        let exits = |event: EventId| unfolding.events.get(event.index()).is_some_and(|event| event.has(Tag::Exit));
        let mut told = BTreeSet::new();
        self.races.retain(|key, example| {
            let access = if exits(example.pair.0) { key.second } else { key.first };
            key.flag != EXIT || told.insert(access)
        });
    }
}

/// The models with one flag each as their only axiom.
pub(crate) struct Flags {
    models: Vec<Alone>,
}

struct Alone {
    /// In the whole model.
    flag: CheckId,
    name: String,
    model: Model,
}

impl Flags {
    /// The compiler has made every `flag ~…` and `undefined_unless …` a question whether a relation is empty, so that
    /// each names pairs of events.
    pub(crate) fn new(model: &Model) -> Flags {
        let marks = |role: CheckRole| matches!(role, CheckRole::Flag | CheckRole::UndefinedUnless);
        let racy = model.checks.iter().enumerate();
        let racy = racy.filter(|(_, check)| marks(check.role) && check.kind == CheckKind::Empty);
        let alone = |(at, check): (usize, &fencepost_axiom::model::Check)| {
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
                readings: Vec::new(),
                files: Vec::new(),
            };
            Alone { flag: CheckId(at as u32), name: check.name.clone(), model }
        };
        Flags { models: racy.map(alone).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.models.is_empty()
    }

    pub(crate) fn evaluators(&self) -> Vec<FlagEvaluator<'_>> {
        self.models
            .iter()
            .map(|alone| FlagEvaluator {
                flag: alone.flag,
                name: &alone.name,
                model: &alone.model,
                evaluator: Evaluator::new(&alone.model),
                candidate: Candidate::default(),
                raised_by_traces: None,
                bits: Vec::new(),
            })
            .collect()
    }
}

pub(crate) struct FlagEvaluator<'a> {
    pub(crate) flag: CheckId,
    pub(crate) name: &'a str,
    model: &'a Model,
    evaluator: Evaluator<'a>,
    /// The traces of the last execution: most of what a flag looks at is theirs, and the next execution mostly has the
    /// same.
    candidate: Candidate,
    /// Whether they raise the flag whatever else is chosen; None before the first execution.
    raised_by_traces: Option<bool>,
    bits: Vec<u64>,
}

impl FlagEvaluator<'_> {
    /// Adds the races of this execution that are new.
    pub(crate) fn add(&mut self, unfolding: &Unfolding, execution: &Execution, set: &mut RaceSet) {
        if !self.is_raised(unfolding, execution) {
            return;
        }
        let Some(check) = self.model.checks.first() else { return };
        let relation = self.evaluator.relation(check.node);
        for (from, &first) in self.candidate.events.iter().enumerate() {
            for to in ones(kernel::row(self.candidate.shape, relation, from)) {
                let Some(&second) = self.candidate.events.get(to) else { continue };
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

    fn is_raised(&mut self, unfolding: &Unfolding, execution: &Execution) -> bool {
        if self.raised_by_traces.is_none() || self.candidate.traces != execution.traces {
            self.candidate.choose(unfolding, &execution.traces);
            self.raised_by_traces = Some(self.evaluator.begin(unfolding, &self.candidate).is_some());
        }
        if self.raised_by_traces == Some(true) {
            return true;
        }
        let relations = [
            (BaseRelation::Rf, &execution.rf),
            (BaseRelation::Co, &execution.co),
            (BaseRelation::SyncFence, &execution.sync_fence),
            (BaseRelation::Syncbar, &execution.barriers.synchronises),
        ];
        let shape = self.candidate.shape;
        for (relation, pairs) in relations {
            self.bits.clear();
            self.bits.resize(shape.matrix(), 0);
            for &(from, to) in pairs {
                if let (Some(from), Some(to)) = (self.candidate.local(from), self.candidate.local(to)) {
                    kernel::relate(shape, &mut self.bits, from, to);
                }
            }
            self.evaluator.set(relation, &self.bits);
        }
        self.evaluator.run(Stage::ReadsFrom, Stage::Coherence, Chosen::ReadsFrom).is_some()
            || self.evaluator.run_final().is_some()
    }
}
