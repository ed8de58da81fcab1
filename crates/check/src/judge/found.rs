//! What a check knows: answers with their evidence, before they are written down and after.
//!
//! Every layer of the judgement takes answers from the one below and gives answers to the one above; a report is written
//! from them once, at the end ([`crate::write::report`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use fencepost_axiom::crash::literal::Crash;
use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::program::{Program, Term};
use fencepost_program::unfolding::{Hazard, Unfolding};
use fencepost_report::answer::Answer;
use fencepost_report::finding::FindingKind;
use fencepost_report::warning::Torn;
use fencepost_report::why::Why;
use fencepost_report::{Count, Report, UsedReading};
use fencepost_syntax::Span;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::judge::whole::Whole;
use crate::look::classes::Classes;
use crate::look::crash::CrashState;
use crate::look::executions::EngineName;
use crate::look::histogram::Histogram;
use crate::look::outcome;
use crate::look::protocol::ProtocolSet;
use crate::look::race::{RaceKey, RaceSet};
use crate::look::race_search::Met;
use crate::model::load::LoadedModel;
use crate::options::Options;
use crate::test::Test;

/// What is known of crashes.
#[derive(Clone, Default)]
pub struct CrashAnswers {
    /// The terms of the states, in their order.
    pub terms: Vec<Term>,
    /// Each with the number of executions that may leave it.
    pub states: BTreeMap<CrashState, u64>,
    /// The executions that were looked at: those that end, and those that never do.
    pub executions: Option<Count>,
    /// The limit that may have kept more states from being found.
    pub stopped: Option<Why>,
    /// What persistent memory may hold, where a recovery program wants to know; each with a crash that leaves it.
    pub images: BTreeMap<CrashState, Crashed>,
    /// Per question about crashes.
    pub findings: Vec<Answer<Crashed>>,
    pub recovery: Option<RecoveryAnswers>,
    /// Crashes by their definition, in the executions of a second engine, leave nothing that was not found.
    pub cross_checked: bool,
}

/// A crash of an execution, and the state that it leaves.
#[derive(Clone, Debug)]
pub struct Crashed {
    pub shown: Shown,
    pub crash: Crash,
    pub state: CrashState,
}

/// What becomes of the states that crashes leave.
#[derive(Clone, Default)]
pub struct RecoveryAnswers {
    /// Per question about recovery: how what it looks for comes about.
    pub findings: Vec<Answer<Recovered>>,
    /// A recovery that never ends.
    pub hang: Answer<Recovered>,
    /// How many states of persistent memory it was run from.
    pub states: u64,
}

/// A run of the recovery program, and the crashes before it: that of the program first, then those of recoveries.
#[derive(Clone, Debug)]
pub struct Recovered {
    pub crashes: Vec<Crashed>,
    /// What persistent memory held when the last recovery began.
    pub image: CrashState,
    pub run: Shown,
}

/// How a layer asks the one below: a test under a model.
pub type Ask<'a> = &'a dyn Fn(&Test, &LoadedModel, &Options) -> Answers;

/// A report, and what it was written from.
#[derive(Clone, Debug)]
pub struct Checked {
    pub report: Report,
    pub evidence: Evidence,
    /// What the evidence is evidence under, where that is not the model as it was given: other readings, or an older
    /// version of the ISA. Explanations and pictures need it.
    pub model: Option<Arc<LoadedModel>>,
    /// What the evidence is evidence of, where that is not the test as it was given: its locations are cut, because their
    /// values may be torn. The report speaks of the test as it was given.
    pub test: Option<Arc<Test>>,
}

/// The executions behind a report, for explanations and pictures.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// None where the test was refused before it was unfolded.
    pub unfolding: Option<Arc<Unfolding>>,
    /// Per question: an execution that satisfies its condition (`forall`, `assert`: that breaks it), if one was found.
    pub witnesses: Vec<Option<Execution>>,
    /// A fair execution that never ends, if one was found.
    pub stuck: Option<Execution>,
    /// For each race of the report, the two events and an execution they race in.
    pub races: Vec<((EventId, EventId), Arc<Execution>)>,
    /// What the executions of `races` are executions of, where that is not `unfolding`: failing iterations of spin loops
    /// are in it.
    pub accesses: Option<Arc<Unfolding>>,
    /// None where nothing about crashes is asked.
    pub crash: Option<CrashEvidence>,
}

/// The crashes behind a report.
#[derive(Clone, Debug, Default)]
pub struct CrashEvidence {
    /// What their states are told by.
    pub terms: Vec<Term>,
    /// Per question about crashes.
    pub crashes: Vec<Option<Crashed>>,
    /// Per question about recovery.
    pub recoveries: Vec<Option<Recovered>>,
    /// Some execution of the program.
    pub any: Option<Execution>,
}

/// An execution, and what it is an execution of.
#[derive(Clone, Debug)]
pub struct Shown {
    pub execution: Arc<Execution>,
    pub of: Arc<Unfolding>,
}

/// How what a question looks for is possible.
#[derive(Clone, Debug)]
pub enum Reached {
    Shown(Shown),
    /// No execution shows it: the behaviour is undefined.
    Undefined,
}

/// What a question is answered with.
pub type Finding = Answer<Reached>;

/// Races, and the unfolding that their executions are executions of.
#[derive(Clone)]
pub struct Raced {
    pub set: RaceSet,
    pub of: Arc<Unfolding>,
}

/// Broken rules about mbarriers in the same way.
#[derive(Clone)]
pub struct Broken {
    pub set: ProtocolSet,
    pub of: Arc<Unfolding>,
}

/// A thing that is answered.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Aspect {
    Question(usize),
    /// A question about crashes.
    Crash(usize),
    /// A question about recovery.
    Recovery(usize),
    Races,
    Protocol,
    Termination,
}

/// What was searched, where that is not the test as it was given.
#[derive(Clone, Default)]
pub enum Subject {
    #[default]
    AsGiven,
    /// With initial values that stand for unknown ones.
    Case(Arc<Test>),
    /// With locations that are cut into parts.
    Cut(Arc<Whole>),
}

/// A race by what is the same under all readings: its flag, and the places of its accesses.
pub type RacePlace = (String, Span, Span);

/// An answer that rests on whole values though some may be torn, or that needs a torn one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TornWarning {
    pub name: &'static str,
    pub span: Span,
    pub what: Torn,
}

/// The answers to a test under a model.
#[derive(Clone)]
pub struct Answers {
    pub subject: Subject,
    /// None where nothing was looked at.
    pub unfolding: Option<Arc<Unfolding>>,
    /// Per question; not asked while nothing is known.
    pub findings: Vec<Finding>,
    /// Per question: how many pairs of an execution and a final state satisfy its condition and how many do not, among
    /// those that were counted.
    pub counts: Vec<Option<(u64, u64)>>,
    pub executions: Option<Count>,
    pub outcomes: Histogram,
    /// There where the outcomes are too many to be listed there, and are counted.
    pub classes: Option<Classes>,
    /// The outcomes are those of several searches: they are sorted by name.
    pub is_merged: bool,
    /// What the counted executions show, before it is believed.
    pub met: Met,
    pub race: Answer,
    pub races: Vec<Raced>,
    /// The limit that may have kept more races from being found.
    pub race_rest: Option<Why>,
    /// Only executions of which something is assumed were looked at for races.
    pub races_assume: bool,
    pub protocol: Answer,
    pub broken: Vec<Broken>,
    /// Whether the program may hang.
    pub hang: Answer<Shown>,
    /// No execution ends at all.
    pub never_ends: bool,
    /// What the unfolding noticed and no search has decided.
    pub hazards: Vec<Hazard>,
    pub torn: Vec<TornWarning>,
    pub engine: Option<EngineName>,
    pub cross_checked: bool,
    /// The flags that make the behaviour undefined, if some do.
    pub undefined: Vec<(String, FindingKind)>,
    /// Nothing was looked at.
    pub refused: Option<Why>,
    /// The limit or request that ended the count of executions, or the search for races or for executions that never end.
    pub stopped: Option<Why>,
    /// What becomes of an answer across all readings of the specification, where that is not the answer under the weakest.
    pub across: SortedMap<Aspect, Answer>,
    /// The races under the strongest readings, where they are known: the others are contested.
    pub agreed: Option<SortedSet<RacePlace>>,
    pub readings: Vec<UsedReading>,
    /// How often loops were unrolled, if more often than was asked for.
    pub deepened: Option<u32>,
    /// None where nothing about crashes is asked.
    pub crash: Option<CrashAnswers>,
    /// What this was found under, if not the model as it was given.
    pub model: Option<Arc<LoadedModel>>,
}

impl Answers {
    /// The terms of the outcomes, in their order; `program` is what was searched.
    pub fn terms(&self, program: &Program) -> Vec<Term> {
        self.unfolding.as_ref().map_or_else(Vec::new, |unfolding| outcome::modelled(program, unfolding))
    }

    pub fn new(findings: Vec<Finding>) -> Answers {
        Answers {
            subject: Subject::AsGiven,
            unfolding: None,
            counts: vec![None; findings.len()],
            findings,
            executions: None,
            outcomes: Histogram::default(),
            classes: None,
            is_merged: false,
            met: Met { complete: false, executions: Count { count: 0, complete: false }, ..Met::nothing() },
            race: Answer::NotAsked,
            races: Vec::new(),
            race_rest: None,
            races_assume: false,
            protocol: Answer::NotAsked,
            broken: Vec::new(),
            hang: Answer::NotAsked,
            never_ends: false,
            hazards: Vec::new(),
            torn: Vec::new(),
            engine: None,
            cross_checked: false,
            undefined: Vec::new(),
            refused: None,
            stopped: None,
            across: SortedMap::new(),
            agreed: None,
            readings: Vec::new(),
            deepened: None,
            crash: None,
            model: None,
        }
    }

    /// The answer across all readings, without its evidence. Of a question, whether what it looks for is possible.
    pub fn answer(&self, aspect: Aspect) -> Answer {
        if let Some(answer) = self.across.get(&aspect) {
            return answer.clone();
        }
        match aspect {
            Aspect::Question(at) => self.findings.get(at).map_or(Answer::NotAsked, Answer::plain),
            Aspect::Crash(at) => {
                let findings = self.crash.as_ref().map(|crash| &crash.findings);
                findings.and_then(|findings| findings.get(at)).map_or(Answer::NotAsked, Answer::plain)
            }
            Aspect::Recovery(at) => {
                let recovery = self.crash.as_ref().and_then(|crash| crash.recovery.as_ref());
                recovery.and_then(|found| found.findings.get(at)).map_or(Answer::NotAsked, Answer::plain)
            }
            Aspect::Races => self.race.clone(),
            Aspect::Protocol => self.protocol.clone(),
            Aspect::Termination => self.hang.plain(),
        }
    }

    pub fn aspects(&self) -> impl Iterator<Item = Aspect> + use<> {
        let questions = (0..self.findings.len()).map(Aspect::Question);
        let crash = self.crash.as_ref();
        let crashes = (0..crash.map_or(0, |crash| crash.findings.len())).map(Aspect::Crash);
        let recovery = crash.and_then(|crash| crash.recovery.as_ref());
        let recoveries = (0..recovery.map_or(0, |recovery| recovery.findings.len())).map(Aspect::Recovery);
        let questions = questions.chain(crashes).chain(recoveries);
        questions.chain([Aspect::Races, Aspect::Protocol, Aspect::Termination])
    }

    /// The execution that answers a question.
    pub fn witness(&self, question: usize) -> Option<&Shown> {
        match self.findings.get(question)?.yes()? {
            Reached::Shown(shown) => Some(shown),
            Reached::Undefined => None,
        }
    }

    /// Every race, and whatever else a flag marks.
    pub fn flagged(&self) -> impl Iterator<Item = &RaceKey> {
        self.races.iter().flat_map(|raced| raced.set.races.keys())
    }

    /// Those that are reported as pairs, in the order of reports.
    pub fn race_places(&self) -> impl Iterator<Item = RacePlace> {
        self.flagged().filter(|key| key.is_pair()).map(|key| (key.flag.clone(), key.first, key.second))
    }

    /// Whether there are more races than are listed.
    pub fn has_more_races(&self) -> bool {
        self.races.iter().any(|raced| raced.set.has_more())
    }

    /// Nothing is said of what was not found. With `Left::Questions`, races and ends do not rest on what was left out.
    pub fn leave_open(&mut self, why: &Why, left: Left) {
        self.findings.iter_mut().for_each(|finding| finding.leave_open(why));
        if let Some(crash) = &mut self.crash {
            crash.leave_open(why);
        }
        if self.findings.is_empty() && why.is_limit() {
            self.stopped.get_or_insert_with(|| why.clone());
        }
        if let Some(count) = &mut self.executions {
            count.complete = false;
        }
        if left == Left::All {
            self.race.leave_open(why);
            self.protocol.leave_open(why);
            self.hang.leave_open(why);
        }
    }
}

impl CrashAnswers {
    /// Whether a question about crashes or about recovery has a witness, or a recovery never ends.
    pub fn shows_any(&self) -> bool {
        let recovers_wrongly =
            |found: &RecoveryAnswers| found.hang.is_yes() || found.findings.iter().any(Answer::is_yes);
        self.findings.iter().any(Answer::is_yes) || self.recovery.as_ref().is_some_and(recovers_wrongly)
    }

    /// What either shows, of two cases of one test.
    #[must_use]
    pub fn join(mut self, other: CrashAnswers) -> CrashAnswers {
        for (state, count) in other.states {
            let own = self.states.entry(state).or_default();
            *own = own.saturating_add(count);
        }
        self.executions = self.executions.zip(other.executions).map(|(own, other)| own.plus(other));
        self.stopped = self.stopped.or(other.stopped);
        self.findings = joined(self.findings, other.findings);
        self.cross_checked &= other.cross_checked;
        self.recovery = match (self.recovery, other.recovery) {
            (Some(own), Some(other)) => Some(RecoveryAnswers {
                findings: joined(own.findings, other.findings),
                hang: own.hang.join(other.hang),
                states: own.states.saturating_add(other.states),
            }),
            (own, other) => own.or(other),
        };
        self
    }

    /// Nothing is said of what was not found.
    pub fn leave_open(&mut self, why: &Why) {
        self.findings.iter_mut().for_each(|finding| finding.leave_open(why));
        if let Some(recovery) = &mut self.recovery {
            recovery.findings.iter_mut().for_each(|finding| finding.leave_open(why));
            recovery.hang.leave_open(why);
        }
        if let Some(executions) = &mut self.executions {
            executions.complete = false;
        }
    }
}

/// What either shows, question by question.
pub(crate) fn joined<E>(own: Vec<Answer<E>>, other: Vec<Answer<E>>) -> Vec<Answer<E>> {
    own.into_iter().zip(other).map(|(own, other)| own.join(other)).collect()
}

/// What is not known.
#[derive(Copy, Clone, PartialEq, Eq)]
pub enum Left {
    Questions,
    All,
}
