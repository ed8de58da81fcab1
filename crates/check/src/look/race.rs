//! The flags of a model: properties of an execution that do not rule it out, above all `flag ~empty race as data-race`.
//!
//! Evaluated with the engines' bit matrices on every execution, because most have none; the example that is reported is
//! judged again by `replay`.

use std::sync::Arc;

use fencepost_axiom::bits::{kernel, ones};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::{Check, CheckId, Model, NodeId};
use fencepost_program::EventId;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, Hazard, HazardKind, Trace, Unfolding};
use fencepost_report::finding::FindingKind;
use fencepost_syntax::Span;
use fencepost_syntax::cat::{CheckKind, CheckRole};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::look::relations::RelationEvaluator;
use crate::model::vocabulary::Vocabulary;

/// A race without its executions: the flag, and the two instructions in source order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RaceKey {
    pub flag: String,
    pub first: Span,
    pub second: Span,
    pub meaning: Meaning,
    pub kind: FindingKind,
}

/// What a flag means for the program.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Meaning {
    /// `flag`: something to warn of.
    Noted,
    /// A `flag` that the model declares a race: its executions stay what they are.
    Race,
    /// `undefined_unless`, and what one thread does wrong by itself ([`FindingKind::is_of_one_thread`]): the program has no
    /// defined behaviour.
    Undefined,
}

/// An example: the pair of events and the execution it races in.
#[derive(Clone, Debug)]
pub struct Example {
    pub pair: (EventId, EventId),
    /// Shared by all races that it is the first to have.
    pub execution: Arc<Execution>,
}

#[derive(Clone, Default)]
pub struct RaceSet {
    pub races: SortedMap<RaceKey, Example>,
    /// How many of each flag, and whether there are more than were kept.
    kept: SortedMap<String, Kept>,
}

#[derive(Clone, Default)]
struct Kept {
    number: usize,
    more: bool,
}

/// Pairs that are kept of one flag. Their number grows with the square of the threads, an example of each is an
/// execution, and nobody reads so many.
pub const MOST_PAIRS: usize = 400;

impl RaceKey {
    /// Whether the two are reported as a pair with what is missing: a race, or an access to memory that may not be there.
    /// Any other flag marks something to warn of.
    pub fn is_pair(&self) -> bool {
        self.is_race() || self.kind.is_of_lifetime()
    }

    fn is_race(&self) -> bool {
        self.meaning != Meaning::Noted
    }
}

/// What the unfolding may have noticed of what a flag is about.
pub fn hazard_kind(hazard: HazardKind) -> Option<FindingKind> {
    match hazard {
        HazardKind::RegisterInFlight => Some(FindingKind::WgmmaRegisterInFlight),
        HazardKind::NoRegisterFence => Some(FindingKind::WgmmaNoFence),
        HazardKind::ClusterArriveTwice => Some(FindingKind::ClusterArriveTwice),
        HazardKind::ClusterWaitAlone => Some(FindingKind::ClusterWaitAlone),
        HazardKind::Misplaced => Some(FindingKind::MisplacedOperand),
        HazardKind::OutsideWindow => Some(FindingKind::OutsideWindow),
        _ => None,
    }
}

/// Whether an access goes through something that is no address of tensor memory, or a thread deallocates a column twice.
fn may_misuse_tensor_memory(unfolding: &Unfolding) -> bool {
    let is_stray = |event: &Event| event.has(Tag::TensorMemory) && event.has(Tag::Stray);
    let deallocates_twice = |trace: &Trace| {
        let events = trace.events.iter().map(|id| unfolding.event(*id));
        let mut columns: Vec<_> = events.filter(|event| event.has(Tag::Deallocation)).map(Event::location).collect();
        let all = columns.len();
        columns.shared_sort();
        columns.dedup();
        columns.len() < all
    };
    unfolding.events.iter().any(is_stray) || unfolding.traces.iter().any(deallocates_twice)
}

impl RaceSet {
    /// Nothing of this flag will be kept any more.
    pub fn is_full(&self, flag: &str) -> bool {
        self.kept.get(flag).is_some_and(|kept| kept.more)
    }

    /// Whether there are more races than are listed.
    pub fn has_more(&self) -> bool {
        let pairs: SortedSet<&str> =
            self.races.keys().filter(|key| key.is_pair()).map(|key| key.flag.as_str()).collect();
        pairs.into_iter().any(|flag| self.is_full(flag))
    }

    /// Adds a race that is not known yet, unless there are enough.
    pub fn note(&mut self, key: RaceKey, example: impl FnOnce() -> Example) {
        if self.races.contains_key(&key) {
            return;
        }
        let kept = self.kept.entry(key.flag.clone()).or_default();
        if kept.number >= MOST_PAIRS {
            kept.more = true;
            return;
        }
        kept.number += 1;
        self.races.insert(key, example());
    }

    /// Adds what another search found.
    pub fn extend(&mut self, other: RaceSet) {
        let full = other.kept.into_iter().filter(|(_, kept)| kept.more).map(|(flag, _)| flag);
        let full: Vec<String> = full.collect();
        other.races.into_iter().for_each(|(key, example)| self.note(key, || example));
        full.into_iter().for_each(|flag| self.kept.entry(flag).or_default().more = true);
    }

    pub fn has_race(&self) -> bool {
        self.races.keys().any(RaceKey::is_race)
    }

    /// The flags that make the behaviour undefined, ascending, each once.
    pub fn undefined(&self) -> Vec<(String, FindingKind)> {
        let undefined = self.races.keys().filter(|key| key.meaning == Meaning::Undefined);
        let mut names: Vec<(String, FindingKind)> = undefined.map(|key| (key.flag.clone(), key.kind)).collect();
        names.dedup();
        names
    }

    /// Of an access and the exits of all threads of a CTA one pair is enough: any of them could have stayed.
    pub fn settle(&mut self, unfolding: &Unfolding) {
        let exits = |event: EventId| unfolding.events.get(event.index()).is_some_and(|event| event.has(Tag::Exit));
        let mut told = SortedSet::new();
        self.races.retain(|key, example| {
            let access = if exits(example.pair.0) { key.second } else { key.first };
            key.kind != FindingKind::ExitBeforeAccess || told.insert(access)
        });
    }
}

/// The flags of a model, and the relations that raise them.
#[derive(Debug)]
pub struct Flags {
    model: Model,
    nodes: Vec<NodeId>,
    flags: Vec<Flag>,
}

#[derive(Debug)]
pub struct Flag {
    /// In the whole model.
    pub check: CheckId,
    pub name: String,
    pub meaning: Meaning,
    pub kind: FindingKind,
    /// The pairs that raise it.
    node: NodeId,
}

impl Flag {
    /// Whether an answer about races is about it.
    pub fn is_race(&self) -> bool {
        self.meaning != Meaning::Noted
    }
}

impl Flags {
    /// The compiler has made every `flag ~…` and `undefined_unless …` a question whether a relation is empty, so that
    /// each names pairs of events.
    pub fn new(model: &Model, vocabulary: &Vocabulary) -> Flags {
        let marks = |role: CheckRole| matches!(role, CheckRole::Flag | CheckRole::UndefinedUnless);
        let racy = model.checks.iter().enumerate();
        let racy = racy.filter(|(_, check)| marks(check.role) && check.kind == CheckKind::Empty);
        let flag = |(at, check): (usize, &Check)| {
            let kind = vocabulary.kind(&check.name);
            let meaning = match check.role {
                CheckRole::UndefinedUnless => Meaning::Undefined,
                _ if kind.is_of_one_thread() => Meaning::Undefined,
                _ if kind.is_race() => Meaning::Race,
                _ => Meaning::Noted,
            };
            Flag { check: CheckId(at as u32), name: check.name.clone(), meaning, kind, node: check.node }
        };
        let flags: Vec<Flag> = racy.map(flag).collect();
        let mut nodes: Vec<NodeId> = flags.iter().map(|flag| flag.node).collect();
        nodes.shared_sort();
        nodes.dedup();
        Flags { model: model.unchecked(), nodes, flags }
    }

    pub fn is_empty(&self) -> bool {
        self.flags.is_empty()
    }

    /// Whether the model says which programs have races. That none of its other flags is raised tells nothing about them.
    pub fn declare_races(&self) -> bool {
        self.flags.iter().any(|flag| flag.is_race() && !flag.kind.is_of_one_thread())
    }

    /// Whether a flag of this name is about races.
    pub fn is_race(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| flag.name == name && flag.is_race())
    }

    /// Whether the model knows programs without a defined behaviour, where races make it so.
    pub fn undefine(&self) -> bool {
        self.flags.iter().any(|flag| flag.meaning == Meaning::Undefined && !flag.kind.is_of_one_thread())
    }

    /// Whether the behaviour of this program may be undefined.
    pub fn may_undefine(&self, unfolding: &Unfolding) -> bool {
        let of_one_thread = |hazard: &Hazard| hazard_kind(hazard.kind).is_some_and(|kind| self.knows(kind));
        let knows_tensor_memory = self.flags.iter().any(|flag| flag.kind.is_of_tensor_memory());
        let is_refused = |event: &Event| event.has(Tag::Refused);
        self.undefine()
            || unfolding.hazards.iter().any(of_one_thread)
            || knows_tensor_memory && may_misuse_tensor_memory(unfolding)
            || self.knows(FindingKind::CancelAfterRefusal) && unfolding.events.iter().any(is_refused)
    }

    /// Whether the model finds such things.
    pub fn knows(&self, kind: FindingKind) -> bool {
        self.flags.iter().any(|flag| flag.kind == kind)
    }

    pub fn each(&self) -> impl Iterator<Item = &Flag> {
        self.flags.iter()
    }

    pub fn evaluator(&self) -> FlagEvaluator<'_> {
        FlagEvaluator { flags: &self.flags, evaluator: RelationEvaluator::new(&self.model, &self.nodes) }
    }
}

/// Evaluates all flags at once: they share most of what they look at.
pub struct FlagEvaluator<'a> {
    flags: &'a [Flag],
    evaluator: RelationEvaluator<'a>,
}

impl FlagEvaluator<'_> {
    /// Adds the races of this execution that are new.
    pub fn add(&mut self, unfolding: &Unfolding, execution: &Execution, set: &mut RaceSet) {
        self.evaluator.evaluate(unfolding, execution);
        self.flags.iter().for_each(|flag| self.add_raised(flag, unfolding, execution, set));
    }

    /// The same for one flag.
    pub fn add_one(&mut self, flag: &Flag, unfolding: &Unfolding, execution: &Execution, set: &mut RaceSet) {
        self.evaluator.evaluate(unfolding, execution);
        self.add_raised(flag, unfolding, execution, set);
    }

    fn add_raised(&self, flag: &Flag, unfolding: &Unfolding, execution: &Execution, set: &mut RaceSet) {
        let (relation, candidate) = (self.evaluator.relation(flag.node), self.evaluator.candidate());
        if kernel::is_empty(relation) || set.is_full(&flag.name) {
            return;
        }
        let mut shared = None;
        for (from, &first) in candidate.events.iter().enumerate() {
            for to in ones(kernel::row(candidate.shape, relation, from)) {
                let Some(&second) = candidate.events.get(to) else { continue };
                let spans =
                    |event: EventId| unfolding.events.get(event.index()).map_or(Span::default(), |event| event.span);
                // The same pair of instructions in another order or iteration is the same race to a person.
                let (pair, spans) = match (spans(first), spans(second)) {
                    (a, b) if a <= b => ((first, second), (a, b)),
                    (a, b) => ((second, first), (b, a)),
                };
                let key = RaceKey {
                    flag: flag.name.clone(),
                    first: spans.0,
                    second: spans.1,
                    meaning: flag.meaning,
                    kind: flag.kind,
                };
                let mut execution = || shared.get_or_insert_with(|| Arc::new(execution.clone())).clone();
                set.note(key, || Example { pair, execution: execution() });
            }
            if set.is_full(&flag.name) {
                return;
            }
        }
    }
}
