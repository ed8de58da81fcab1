//! The flags of a model: properties of an execution that do not rule it out, above all `flag ~empty race as data-race`.
//!
//! Evaluated with the engines' bit matrices on every execution, because most have none; the example that is reported is
//! judged again by `replay`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fencepost_axiom::base::Candidate;
use fencepost_axiom::bits::{kernel, ones};
use fencepost_axiom::evaluate::{Chosen, Evaluator, Stage};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::{BaseRelation, Check, CheckId, Model, NodeId};
use fencepost_program::EventId;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, Hazard, HazardKind, Trace, Unfolding};
use fencepost_syntax::cat::{CheckKind, CheckRole};
use fencepost_syntax::{Diagnostic, Source, Span};

/// A race without its executions: the flag, and the two instructions in source order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RaceKey {
    pub flag: String,
    pub first: Span,
    pub second: Span,
    pub meaning: Meaning,
}

/// What a flag means for the program.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Meaning {
    /// `flag`: something to warn of.
    Noted,
    /// A `flag` that the model declares a race ([`is_race`], [`declared`]): its executions stay what they are.
    Race,
    /// `undefined_unless`, [`REGISTERS`] and [`CLUSTER`]: the program has no defined behaviour.
    Undefined,
}

/// An example: the pair of events and the execution it races in.
#[derive(Clone, Debug)]
pub struct Example {
    pub pair: (EventId, EventId),
    /// Shared by all races that it is the first to have.
    pub execution: Arc<Execution>,
}

#[derive(Default)]
pub struct RaceSet {
    pub races: BTreeMap<RaceKey, Example>,
    /// How many of each flag, and whether there are more than were kept.
    kept: BTreeMap<String, Kept>,
}

#[derive(Default)]
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
        self.is_race() || is_of_lifetime(&self.flag)
    }

    fn is_race(&self) -> bool {
        self.meaning != Meaning::Noted
    }
}

/// The flag of an access that the memory may not outlive. It is no data race, and it is undefined.
pub const EXIT: &str = "exit-before-access";

/// The flag of an access to the shared memory of a CTA that may not have started. It is no data race, and it is undefined.
/// Both events of the pair are the access.
pub const START: &str = "access-before-start";

/// Whether a flag of this name is about memory that is not there at the time of an access.
pub fn is_of_lifetime(flag: &str) -> bool {
    [EXIT, START].contains(&flag)
}

/// Whether both events of a pair under this flag may be one, which is told once.
pub fn may_be_alone(flag: &str) -> bool {
    is_of_one_thread(flag) || flag == START
}

/// The flag of a register of a `wgmma` that is used before it is there. The behaviour is undefined (PTX ISA 9.7.17.5.2). In a
/// shipped model it is no `undefined_unless`, because the unfolding tells which programs it can be about at all.
pub const IN_FLIGHT: &str = "wgmma-register-in-flight";

/// The flag of a register of a `wgmma` without a `wgmma.fence` between it and another access (PTX ISA 9.7.17.7.1): undefined
/// in the same way.
pub const NO_FENCE: &str = "wgmma-no-fence";

/// The flags about registers.
pub const REGISTERS: [&str; 2] = [IN_FLIGHT, NO_FENCE];

/// The flags of a thread that does not arrive and wait in turn at the barrier of its cluster (PTX ISA 9.7.15.3): undefined
/// too, and told by the unfolding in the same way.
pub const CLUSTER: [&str; 2] = [ARRIVE_TWICE, WAIT_ALONE];
pub const ARRIVE_TWICE: &str = "cluster-arrive-twice";
pub const WAIT_ALONE: &str = "cluster-wait-alone";

/// The flag of an asynchronous operation whose destination or mbarrier lies in a CTA where it must not (PTX ISA 9.7.10.13,
/// 9.7.15.8, 9.7.10.28.4.1, 9.7.10.28.5.2): undefined in the same way.
pub const MISPLACED: &str = "misplaced-operand";

/// The flag of an access that says `.shared::cta` and goes to the memory of another CTA (PTX ISA 5.1.7): undefined in the
/// same way.
pub const WINDOW: &str = "outside-window";

/// The flags of tensor memory that is accessed through something that is no address of it, or deallocated twice (PTX ISA
/// 9.7.18.7.1): undefined in the same way. What such an access hits is not known; the model's executions have it hit the
/// columns that the CTA has.
pub const TENSOR_MEMORY: [&str; 2] = [UNALLOCATED, DEALLOCATED_TWICE];
pub const UNALLOCATED: &str = "unallocated-access-race";
pub const DEALLOCATED_TWICE: &str = "deallocated-twice-race";

/// The flag of a request to cancel a launch behind a refusal (PTX ISA 9.7.15.18.1): undefined in the same way.
pub const CANCEL_AGAIN: &str = "cancel-after-refusal";

/// Whether a flag of this name is about what one thread does, which makes the behaviour undefined.
pub fn is_of_one_thread(flag: &str) -> bool {
    is_of_registers(flag)
        || CLUSTER.contains(&flag)
        || TENSOR_MEMORY.contains(&flag)
        || [MISPLACED, WINDOW, CANCEL_AGAIN].contains(&flag)
}

/// Whether an access goes through something that is no address of tensor memory, or a thread deallocates a column twice.
fn may_misuse_tensor_memory(unfolding: &Unfolding) -> bool {
    let is_stray = |event: &Event| event.has(Tag::TensorMemory) && event.has(Tag::Stray);
    let deallocates_twice = |trace: &Trace| {
        let events = trace.events.iter().map(|id| unfolding.event(*id));
        let mut columns: Vec<_> = events.filter(|event| event.has(Tag::Deallocation)).map(Event::location).collect();
        let all = columns.len();
        columns.sort();
        columns.dedup();
        columns.len() < all
    };
    unfolding.events.iter().any(is_stray) || unfolding.traces.iter().any(deallocates_twice)
}

/// Whether a flag of this name is about registers.
pub fn is_of_registers(flag: &str) -> bool {
    REGISTERS.contains(&flag)
}

/// The flags that a model's text declares races: the words of its `// races:` lines; None where it has no such line, and
/// names tell ([`is_race`]).
pub fn declared(text: &str) -> Option<Vec<&str>> {
    let mut lines = text.lines().filter_map(|line| line.trim().strip_prefix(RACES_LINE)).peekable();
    lines.peek()?;
    let words = lines.flat_map(|line| line.split([',', ' ', '\t']));
    Some(words.filter(|word| !word.is_empty()).collect())
}

const RACES_LINE: &str = "// races:";

/// A flag that a model's text declares a race, and that it does not have.
pub fn undeclared(source: &Source, model: &Model) -> Option<Diagnostic> {
    let marks = |check: &Check| matches!(check.role, CheckRole::Flag | CheckRole::UndefinedUnless);
    let is_known = |name: &str| model.checks.iter().any(|check| marks(check) && check.name == name);
    let name = declared(&source.text)?.into_iter().find(|name| !is_known(name))?;
    // A word of the text itself.
    let at = (name.as_ptr() as usize).saturating_sub(source.text.as_ptr() as usize) as u32;
    let help =
        "`// races:` names flags of the model that are races; without the line these are the flags named after one";
    let span = Span::new(at, at + name.len() as u32);
    Some(Diagnostic::error(span, format!("this model has no flag `{name}`")).help(help))
}

/// Whether a flag is about races by its name: some word of it is `race`, `races` or `racy` (`data-race`, `race_on_locks`,
/// `unseqRace`). A model that calls its races something else names those flags in a `// races:` line.
pub fn is_race(flag: &str) -> bool {
    let is_capital = |character: char| character.is_ascii_uppercase();
    let words = flag.split(|character: char| !character.is_ascii_alphanumeric());
    words.into_iter().any(|word| {
        let last = word.rfind(is_capital).map_or(word, |at| word.get(at..).unwrap_or(word));
        [word, last].iter().any(|part| matches!(part.to_ascii_lowercase().as_str(), "race" | "races" | "racy"))
    })
}

impl RaceSet {
    /// Nothing of this flag will be kept any more.
    pub fn is_full(&self, flag: &str) -> bool {
        self.kept.get(flag).is_some_and(|kept| kept.more)
    }

    /// Whether there are more races than are listed.
    pub fn has_more(&self) -> bool {
        let pairs: BTreeSet<&str> =
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
    pub fn undefined(&self) -> Vec<String> {
        let undefined = self.races.keys().filter(|key| key.meaning == Meaning::Undefined);
        let mut names: Vec<String> = undefined.map(|key| key.flag.clone()).collect();
        names.dedup();
        names
    }

    /// Of an access and the exits of all threads of a CTA one pair is enough: any of them could have stayed.
    pub fn settle(&mut self, unfolding: &Unfolding) {
        let exits = |event: EventId| unfolding.events.get(event.index()).is_some_and(|event| event.has(Tag::Exit));
        let mut told = BTreeSet::new();
        self.races.retain(|key, example| {
            let access = if exits(example.pair.0) { key.second } else { key.first };
            key.flag != EXIT || told.insert(access)
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
    pub fn new(model: &Model, races: Option<&[&str]>) -> Flags {
        let marks = |role: CheckRole| matches!(role, CheckRole::Flag | CheckRole::UndefinedUnless);
        let racy = model.checks.iter().enumerate();
        let racy = racy.filter(|(_, check)| marks(check.role) && check.kind == CheckKind::Empty);
        let flag = |(at, check): (usize, &Check)| Flag {
            check: CheckId(at as u32),
            name: check.name.clone(),
            meaning: match check.role {
                CheckRole::UndefinedUnless => Meaning::Undefined,
                _ if is_of_one_thread(&check.name) => Meaning::Undefined,
                _ if races.map_or(is_race(&check.name), |races| races.contains(&check.name.as_str())) => Meaning::Race,
                _ => Meaning::Noted,
            },
            node: check.node,
        };
        let flags: Vec<Flag> = racy.map(flag).collect();
        let mut nodes: Vec<NodeId> = flags.iter().map(|flag| flag.node).collect();
        nodes.sort();
        nodes.dedup();
        Flags { model: model.unchecked(), nodes, flags }
    }

    pub fn is_empty(&self) -> bool {
        self.flags.is_empty()
    }

    /// Whether the model says which programs have races. That none of its other flags is raised tells nothing about them.
    pub fn declare_races(&self) -> bool {
        self.flags.iter().any(|flag| flag.is_race() && !is_of_one_thread(&flag.name))
    }

    /// Whether a flag of this name is about races.
    pub fn is_race(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| flag.name == name && flag.is_race())
    }

    /// Whether the model knows programs without a defined behaviour, where races make it so.
    pub fn undefine(&self) -> bool {
        self.flags.iter().any(|flag| flag.meaning == Meaning::Undefined && !is_of_one_thread(&flag.name))
    }

    /// Whether the behaviour of this program may be undefined.
    pub fn may_undefine(&self, unfolding: &Unfolding) -> bool {
        let of_one_thread = |hazard: &Hazard| {
            let flag = match hazard.kind {
                HazardKind::RegisterInFlight => IN_FLIGHT,
                HazardKind::NoRegisterFence => NO_FENCE,
                HazardKind::ClusterArriveTwice => ARRIVE_TWICE,
                HazardKind::ClusterWaitAlone => WAIT_ALONE,
                HazardKind::Misplaced => MISPLACED,
                HazardKind::OutsideWindow => WINDOW,
                _ => return false,
            };
            self.flags.iter().any(|found| found.name == flag)
        };
        let knows = |names: &[&str]| self.flags.iter().any(|flag| names.contains(&flag.name.as_str()));
        self.undefine()
            || unfolding.hazards.iter().any(of_one_thread)
            || may_misuse_tensor_memory(unfolding) && knows(&TENSOR_MEMORY)
            || unfolding.events.iter().any(|event| event.has(Tag::Refused)) && knows(&[CANCEL_AGAIN])
    }

    pub fn each(&self) -> impl Iterator<Item = &Flag> {
        self.flags.iter()
    }

    pub fn evaluator(&self) -> FlagEvaluator<'_> {
        FlagEvaluator {
            flags: &self.flags,
            evaluator: Evaluator::with_roots(&self.model, &self.nodes),
            candidate: Candidate::default(),
            begun: false,
            bits: Vec::new(),
        }
    }
}

/// Evaluates all flags at once: they share most of what they look at.
pub struct FlagEvaluator<'a> {
    flags: &'a [Flag],
    evaluator: Evaluator<'a>,
    /// The traces of the last execution: most of what a flag looks at is theirs, and the next execution mostly has the
    /// same.
    candidate: Candidate,
    begun: bool,
    bits: Vec<u64>,
}

impl FlagEvaluator<'_> {
    /// Adds the races of this execution that are new.
    pub fn add(&mut self, unfolding: &Unfolding, execution: &Execution, set: &mut RaceSet) {
        self.evaluate(unfolding, execution);
        self.flags.iter().for_each(|flag| self.add_raised(flag, unfolding, execution, set));
    }

    /// The same for one flag.
    pub fn add_one(&mut self, flag: &Flag, unfolding: &Unfolding, execution: &Execution, set: &mut RaceSet) {
        self.evaluate(unfolding, execution);
        self.add_raised(flag, unfolding, execution, set);
    }

    fn add_raised(&self, flag: &Flag, unfolding: &Unfolding, execution: &Execution, set: &mut RaceSet) {
        let relation = self.evaluator.relation(flag.node);
        if kernel::is_empty(relation) || set.is_full(&flag.name) {
            return;
        }
        let mut shared = None;
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
                let key = RaceKey { flag: flag.name.clone(), first: spans.0, second: spans.1, meaning: flag.meaning };
                let mut execution = || shared.get_or_insert_with(|| Arc::new(execution.clone())).clone();
                set.note(key, || Example { pair, execution: execution() });
            }
            if set.is_full(&flag.name) {
                return;
            }
        }
    }

    fn evaluate(&mut self, unfolding: &Unfolding, execution: &Execution) {
        if !self.begun || self.candidate.traces != execution.traces {
            self.candidate.choose(unfolding, &execution.traces);
            self.evaluator.begin(unfolding, &self.candidate);
            self.begun = true;
        }
        let relations = [
            (BaseRelation::Rf, &execution.rf),
            (BaseRelation::Co, &execution.co),
            (BaseRelation::SyncFence, &execution.sync_fence),
            (BaseRelation::Syncbar, &execution.barriers.synchronises),
            (BaseRelation::Exitbar, &execution.barriers.exits),
            (BaseRelation::Generations, &execution.barriers.generations),
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
        // There are no axioms to violate.
        self.evaluator.run(Stage::ReadsFrom, Stage::Coherence, Chosen::ReadsFrom);
        self.evaluator.run_final();
    }
}
