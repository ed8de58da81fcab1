//! What a check knows: what was found, before it is written down and after.

use std::sync::Arc;

use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::unfolding::Unfolding;
use fencepost_report::finding::FindingKind;
use fencepost_report::verdict::Why;
use fencepost_report::{Count, ProtocolAnswer, RaceAnswer, Report, TerminationAnswer};

use crate::look::histogram::Histogram;
use crate::look::protocol::ProtocolSet;
use crate::look::race::RaceSet;
use crate::look::race_search::Met;
use crate::look::search::EngineName;
use crate::model::load::LoadedModel;
use crate::options::Options;
use crate::test::Test;

/// How a layer asks the one below: a test under a model.
pub type Ask<'a> = &'a dyn Fn(&Test, &LoadedModel, &Options) -> Checked;

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
    pub unfolding: Option<Unfolding>,
    /// Per question: an execution that satisfies its condition (`forall`, `assert`: that breaks it), if one was found.
    pub witnesses: Vec<Option<Execution>>,
    /// A fair execution that never ends, if one was found.
    pub stuck: Option<Execution>,
    /// For each race of the report, the two events and an execution they race in.
    pub races: Vec<((EventId, EventId), Arc<Execution>)>,
    /// What the executions of `races` are executions of, where that is not `unfolding`: failing iterations of spin loops
    /// are in it.
    pub accesses: Option<Unfolding>,
}

/// Whether something was found, in a way that can be believed.
#[derive(Clone, Debug)]
pub enum Finding {
    Found(Box<Execution>),
    Absent,
    /// No execution shows it, and it is possible: the behaviour is undefined.
    Undefined,
    Unknown(Why),
}

/// What a check knows before it is written down.
pub struct Answers {
    /// Per question; None while nothing is known.
    pub findings: Vec<Option<Finding>>,
    pub executions: Option<Count>,
    pub outcomes: Histogram,
    /// What the counted executions show, before it is believed.
    pub met: Met,
    pub races: RaceSet,
    pub race_answer: RaceAnswer,
    /// Why it is not known.
    pub race_why: Option<Why>,
    /// The limit that may have kept more races from being found.
    pub race_rest: Option<Why>,
    /// The races are those of the executions that were counted, though others were to be looked at.
    pub races_of_counted: bool,
    pub protocol: ProtocolSet,
    pub protocol_answer: ProtocolAnswer,
    /// Its executions are those of the unfolding that keeps failing iterations.
    pub protocol_of_accesses: bool,
    pub termination: TerminationAnswer,
    pub termination_why: Option<Why>,
    pub stuck: Option<Execution>,
    pub engine: Option<EngineName>,
    pub cross_checked: bool,
    /// The flags that make the behaviour undefined, if some do.
    pub undefined: Vec<(String, FindingKind)>,
    /// Nothing was looked at.
    pub refused: Option<Why>,
    /// The limit or request that ended the count of executions, or the search for races or for executions that never end.
    pub stopped: Option<Why>,
}

impl Answers {
    pub fn new(findings: Vec<Option<Finding>>) -> Answers {
        Answers {
            findings,
            executions: None,
            outcomes: Default::default(),
            met: Met { complete: false, executions: Count { count: 0, complete: false }, ..Met::nothing() },
            races: RaceSet::default(),
            race_answer: RaceAnswer::NotAsked,
            race_why: None,
            race_rest: None,
            races_of_counted: false,
            protocol: ProtocolSet::default(),
            protocol_answer: ProtocolAnswer::NotAsked,
            protocol_of_accesses: false,
            termination: TerminationAnswer::NotAsked,
            termination_why: None,
            stuck: None,
            engine: None,
            cross_checked: false,
            undefined: Vec::new(),
            refused: None,
            stopped: None,
        }
    }
}
