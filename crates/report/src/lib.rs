//! The report: plain data with a versioned schema (`docs/schema/report.schema.json`). No times, no addresses, no hash-map
//! order: the same check gives the same bytes. Fields are only ever added within a schema version.

pub mod answer;
mod count;
pub mod crash;
pub mod finding;
pub mod fix;
pub mod misuse;
pub mod piece;
pub mod reason;
pub mod site;
pub mod slim;
pub mod verdict;
pub mod warning;
pub mod why;

use std::fmt;
use std::sync::Arc;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use fencepost_syntax::Source;
use fencepost_syntax::sorted::SharedSort as _;

use finding::FindingKind;
use misuse::Misuse;
use piece::Piece;
use reason::Reason;
use site::{Act, Proxy};
use verdict::{Dependence, Verdict, Why};
use warning::Warned;

pub use count::Count;

/// The version of the schema.
pub const SCHEMA: u32 = 3;

/// The engine of a report whose executions are one up to the order in which threads arrive at mbarriers.
pub const ONE_RUN: &str = "one-run";

/// The answers to one test under one model.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Report {
    pub schema: u32,
    pub test: String,
    pub file: String,
    /// Which row of a template, counted from 1; None for a test that is no template.
    pub row: Option<u32>,
    pub arch: String,
    pub model: String,
    /// A fingerprint of the test without its name and comments.
    pub hash: String,
    /// The worst verdict of the questions that can be broken. Where nothing is asked it
    /// is `Holds`, or `Unknown` if a limit or a request ended the work.
    #[serde(serialize_with = "verdict_word", deserialize_with = "verdict_of_word")]
    pub verdict: Verdict,
    /// Why the verdict is `Unknown`.
    pub why: Option<WhyUnknown>,
    /// What the verdict depends on, where it is `Depends`.
    pub depends: Option<Dependence>,
    /// There where the program has no defined behaviour.
    pub undefined: Option<Undefined>,
    /// The readings of the model that were chosen, and the contested ones that the program touches.
    pub readings: Vec<UsedReading>,
    /// Every instruction form of the test that has no model, each once, in the text's order.
    pub unsupported: Vec<Form>,
    pub questions: Vec<QuestionAnswer>,
    /// None where the executions were not counted.
    pub executions: Option<Count>,
    /// The distinct final states, ascending; those that were met, where the executions were not all counted.
    pub outcomes: Vec<Outcome>,
    /// How many more there are than are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unlisted: u64,
    /// Outcomes that are alike, counted together: there where all are too many to list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alike: Option<Alike>,
    pub races: Races,
    pub protocol: Protocol,
    pub termination: Termination,
    /// None where nothing about crashes is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crashes: Option<crash::Crashes>,
    /// Rules of the ISA that the program breaks whatever memory does, or is likely to break; in the text's order.
    pub warnings: Vec<Warning>,
    /// The engine that answered.
    pub engine: String,
    /// Whether a second engine confirmed every unreachable question.
    pub cross_checked: bool,
    /// How often loops were unrolled, where that is more often than was asked for: an answer that a cut loop left open was
    /// looked for with more.
    pub deepened: Option<u32>,
}

impl QuestionAnswer {
    /// Whether what the question looks for is possible.
    pub fn is_found(&self) -> bool {
        self.witness.is_some() || self.undefined
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Report {
    /// Whether executions that differ only in the order of arrivals at mbarriers are counted as one.
    pub fn counts_classes(&self) -> bool {
        self.engine == ONE_RUN
    }

    /// How many distinct final states were met, whether they are listed or not.
    pub fn outcome_count(&self) -> u64 {
        self.outcomes.len() as u64 + self.unlisted
    }

    /// Lists no more outcomes than this: a report is there to be read.
    pub fn list_outcomes(&mut self, most: usize) {
        self.unlisted += self.outcomes.len().saturating_sub(most) as u64;
        self.outcomes.truncate(most);
        if let Some(crashes) = &mut self.crashes {
            crashes.unlisted += crashes.states.len().saturating_sub(most) as u64;
            crashes.states.truncate(most);
        }
    }

    /// Whether an answer holds only because there is no execution to break it: none terminates, or none passes the
    /// filter. Known where the executions were counted.
    pub fn is_vacuous(&self, answer: &QuestionAnswer) -> bool {
        let none = self.executions == Some(Count { count: 0, complete: true });
        let of_all = matches!(answer.kind.as_str(), "forall" | "assert" | "~exists");
        none && of_all && answer.verdict == Verdict::Holds
    }

    /// Whether every execution breaks a promise, and all were counted.
    pub fn is_always_broken(&self, answer: &QuestionAnswer) -> bool {
        let kept = if answer.kind == "~exists" { answer.negative } else { answer.positive };
        self.executions.is_some_and(|executions| executions.complete) && kept == Some(0)
    }

    /// Whether these pieces are what some race lacks.
    pub fn is_told_of_a_race(&self, missing: &[Missing]) -> bool {
        let mut told = self.races.pairs.iter().filter_map(|race| race.diagnosis.as_ref());
        !missing.is_empty() && told.any(|diagnosis| diagnosis.missing == missing)
    }

    /// What the answers depend on.
    pub fn dependences(&self) -> impl Iterator<Item = &Dependence> {
        let of_questions = self.questions.iter().filter_map(|answer| answer.depends.as_ref());
        let of_crashes = self.crashes.iter().flat_map(crash::Crashes::dependences);
        let of_questions = of_questions.chain(of_crashes);
        of_questions.chain(&self.races.depends).chain(&self.protocol.depends).chain(&self.termination.depends)
    }

    /// The readings that some answer depends on, ascending, each once.
    pub fn depends_on(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.dependences().flat_map(|dependence| dependence.readings.iter().cloned()).collect();
        names.shared_sort();
        names.dedup();
        names
    }

    /// What was found beside data races, by name, ascending and each once: broken rules of mbarriers, races of other kinds.
    pub fn kinds(&self) -> Vec<String> {
        let races = self.races.pairs.iter().filter(|race| race.kind != FindingKind::DataRace);
        let races = races.map(|race| race.flag.clone());
        let mut kinds: Vec<String> = races.chain(self.protocol.errors.iter().map(|error| error.kind.clone())).collect();
        kinds.shared_sort();
        kinds.dedup();
        kinds
    }

    /// Whether some answer is vacuous.
    pub fn vacuous(&self) -> bool {
        self.questions.iter().any(|answer| self.is_vacuous(answer))
    }
}

/// The behaviour of the program is undefined: every outcome is possible, also those that no execution of the model has.
/// Executions and outcomes are examples then.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Undefined {
    /// The flags of the model that say so, ascending: `data-race`, `scoped-race`.
    pub flags: Vec<String>,
    /// What each of them means.
    pub kinds: Vec<FindingKind>,
    /// What it means, in words; empty until the report is put into words.
    pub message: String,
}

/// The answer to one question.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct QuestionAnswer {
    /// `exists`, `~exists`, `forall`, `permit`, `assert`, `check`.
    pub kind: String,
    /// NVLitmus `as NAME`.
    pub name: Option<String>,
    pub condition: String,
    pub line: u32,
    #[serde(serialize_with = "verdict_word", deserialize_with = "verdict_of_word")]
    pub verdict: Verdict,
    pub why: Option<WhyUnknown>,
    /// What the verdict depends on, where it is `Depends`.
    pub depends: Option<Dependence>,
    /// No execution of the model is behind the verdict: the behaviour is undefined, so what is asked for may happen and what
    /// is promised may fail.
    pub undefined: bool,
    /// Executions, counted once per final state, that satisfy the condition, among those that were counted; None where
    /// none were.
    pub positive: Option<u64>,
    pub negative: Option<u64>,
    /// An execution that satisfies the condition (`forall`, `assert`: that breaks it), re-checked by an independent evaluator.
    pub witness: Option<Witness>,
    /// Of what must not be and may be, where nothing races: what it comes from.
    pub cause: Option<Box<Cause>>,
}

/// What an outcome that must not be comes from, where no race explains it.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Cause {
    pub kind: CauseKind,
    /// A read, mostly, and the write that it misses.
    pub first: Access,
    pub second: Access,
    pub location: Option<String>,
    /// Its missing pieces rule the outcome out.
    pub diagnosis: Diagnosis,
}

/// How an outcome that must not be comes about (`docs/findings.md`).
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    MissedWrite,
    EarlyRead,
    Overwritten,
    TornVector,
    NotAtomic,
    Interleaving,
}

impl CauseKind {
    /// The name in every output; stable.
    pub fn word(self) -> &'static str {
        match self {
            CauseKind::MissedWrite => "missed-write",
            CauseKind::EarlyRead => "early-read",
            CauseKind::Overwritten => "overwritten",
            CauseKind::TornVector => "torn-vector",
            CauseKind::NotAtomic => "not-atomic",
            CauseKind::Interleaving => "interleaving",
        }
    }
}

/// A reading that mattered or was asked for.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct UsedReading {
    pub name: String,
    /// What the rest of the report was found under.
    pub value: String,
    /// Somebody chose it: no answer depends on it.
    pub chosen: bool,
}

/// Why something is unknown, and where.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct WhyUnknown {
    /// `time`, `memory`, `bound`, `unsupported`, `mixed-size`, `size`, `undefined`, `thin-air`, `cancelled`, `internal`.
    pub kind: String,
    /// In words; empty until the report is put into words.
    pub message: String,
    pub line: Option<u32>,
    pub column: Option<u32>,
    /// The same as data; None in a report that was read back.
    #[serde(skip)]
    pub why: Option<Why>,
}

impl WhyUnknown {
    pub fn new(why: &Why, source: &Source) -> WhyUnknown {
        let position = why.span().map(|span| source.position(span.start));
        WhyUnknown {
            kind: why.kind().to_owned(),
            message: String::new(),
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
            why: Some(why.clone()),
        }
    }
}

/// An instruction form without a model, and where it stands.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Form {
    /// The form, and what was probably meant if it looks misspelt.
    pub what: String,
    pub places: Vec<Place>,
}

/// A piece of the source; lines and columns are counted from 1.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Place {
    /// Bytes of the source.
    pub start: u32,
    pub end: u32,
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Outcome {
    pub values: Assignment,
    /// How many executions end in it. An execution whose final memory is not unique (partial coherence) counts in each
    /// of its final states.
    pub executions: u64,
}

/// All outcomes in classes: with some threads exchanged, and with them the constants that they write, each outcome of a class
/// is another of it.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Alike {
    /// The threads that can be exchanged, with those of the same text.
    pub threads: Vec<Vec<String>>,
    /// Ascending.
    pub classes: Vec<OutcomeClass>,
}

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct OutcomeClass {
    /// One of them.
    pub values: Assignment,
    /// How many there are.
    pub outcomes: u64,
    /// How many executions end in each.
    pub executions: u64,
}

/// Terms with their values, in the report's order of terms; a JSON object. The names are shared: thousands of outcomes have
/// the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Assignment(pub Vec<(Arc<str>, Number)>);

/// `P0:r0=1; x=2`.
impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "; " })?;
            f.write_str(name)?;
            f.write_str("=")?;
            fmt::Display::fmt(value, f)?;
        }
        Ok(())
    }
}

impl Serialize for Assignment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(&**name, value)?;
        }
        map.end()
    }
}

/// A value: a JSON number where every reader can hold it exactly, else its decimal digits as a string. An unknown initial
/// value is a string, its name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Number {
    Known(i128),
    /// `?x`.
    Unknown(String),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Numbers of 128 bits take several times as long to print.
            Number::Known(value) => match i64::try_from(*value) {
                Ok(small) => fmt::Display::fmt(&small, f),
                Err(_) => fmt::Display::fmt(value, f),
            },
            Number::Unknown(name) => f.write_str(name),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const EXACT: i64 = 1 << 53;
        let value = match self {
            Number::Known(value) => *value,
            Number::Unknown(name) => return serializer.serialize_str(name),
        };
        match i64::try_from(value) {
            Ok(small) if (-EXACT..=EXACT).contains(&small) => serializer.serialize_i64(small),
            _ => serializer.collect_str(&value),
        }
    }
}

#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Races {
    pub answer: RaceAnswer,
    /// Only the executions that pass the filter and in which assumed reads (NVLitmus `== n`) return what is assumed were
    /// looked at.
    pub assuming: bool,
    /// One per pair of instructions: those first through which what is asked came about, the others ascending by source
    /// position. Accesses that the shared memory of an exited CTA may not
    /// outlive are here too, though they are no data races: `answer` is not about them.
    pub pairs: Vec<Race>,
    /// There are more pairs than are listed.
    pub more: bool,
    /// Of so many pairs, the last ones, nobody looked for what is missing.
    pub undiagnosed: u64,
    /// Where the answer is `depends`; `pairs` are then those under the weakest readings.
    pub depends: Option<Dependence>,
    /// Where the answer is `found`: the limit that kept the search from looking for more, if one did.
    pub rest: Option<WhyUnknown>,
    /// Where the answer is `unknown`: what kept the search from seeing everything, if that is known.
    #[serde(skip)]
    pub why: Option<Why>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RaceAnswer {
    /// Every execution was looked at, those that never end too; there is one, and none has a race.
    None,
    Found,
    /// There are races under some readings of the specification only.
    Depends,
    /// Not every execution was looked at, and no race was met.
    Unknown,
    /// The model has no notion of a data race.
    NotDefined,
    NotAsked,
}

/// Two instructions that race in some execution.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Race {
    /// The flag of the model: `data-race`, `scoped-race` of atomics, `mixed-size-race`, `exit-before-access` of an access and the exit of a CTA, or
    /// `access-before-start` of an access to the memory of a CTA that may not have started
    /// that its memory may not outlive.
    pub flag: String,
    /// What the flag means.
    pub kind: FindingKind,
    pub first: Access,
    pub second: Access,
    pub location: Option<String>,
    /// No race under the strongest readings.
    pub contested: bool,
    /// What is missing; None where the model is none of the shipped ones of PTX, or too many races come first.
    pub diagnosis: Option<Diagnosis>,
    pub example: Witness,
}

/// What a race lacks.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Diagnosis {
    pub first: RacingAccess,
    pub second: RacingAccess,
    /// Why nothing orders the two, in words; empty until `tell` has put the report into words.
    pub why: String,
    /// The same as data.
    pub reasons: Vec<Reason>,
    /// Together they order the two accesses; empty where no small change does.
    pub missing: Vec<Missing>,
    /// The test was checked again with the missing pieces, and this race was gone and no other came.
    pub confirmed: bool,
    /// The readings it was found under, `NAME=VALUE` with commas, where under those of the report no small change helps.
    pub under: Option<String>,
}

/// An access of a race in plain words; all elements of one instruction are one access.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct RacingAccess {
    /// `reads s`, `writes s`, `updates s`; empty until the report is put into words.
    pub what: String,
    /// The same as data.
    pub act: Act,
    /// What it goes through; None of an exit and of a register.
    #[serde(with = "site::proxy_or_none")]
    pub proxy: Option<Proxy>,
    /// Part of an asynchronous operation of the thread.
    pub asynchronous: bool,
}

/// A piece of synchronisation that is not there.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Missing {
    /// What and where: "`fence.proxy.async.shared::cta` in P0 between lines 8 and 9"; empty until the report is put into words.
    pub text: String,
    /// The same as data.
    pub what: Piece,
    pub thread: String,
    /// The instruction beside which it belongs, or which is to change.
    pub line: u32,
    /// Of the PTX ISA.
    pub section: String,
    /// The same as changes of the source text, together with those of the other pieces. Empty where the piece is no change of the
    /// test, or its notation has no place for it.
    pub edits: Vec<TextEdit>,
}

/// A part of the source text that is to be replaced; nothing is replaced where start and end are one.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct TextEdit {
    /// Byte offsets in the source.
    pub start: u32,
    pub end: u32,
    /// The same as lines and columns, counted from 1.
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
    pub replacement: String,
}

impl Missing {
    /// "`fence.proxy.async.shared::cta` in P0 between lines 8 and 9 (PTX ISA 9.7.15.4)".
    pub fn sentence(&self) -> String {
        match self.section.as_str() {
            "" => self.text.clone(),
            section => format!("{} (PTX ISA {section})", self.text),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Access {
    pub thread: String,
    /// Bytes of the source.
    pub start: u32,
    pub end: u32,
    pub line: u32,
    pub column: u32,
    pub text: String,
}

/// How the program uses its mbarriers.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Protocol {
    pub answer: ProtocolAnswer,
    /// One per mbarrier, instruction and kind.
    pub errors: Vec<ProtocolError>,
    /// Where the answer is `depends`; `errors` are then those under the weakest readings.
    pub depends: Option<Dependence>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolAnswer {
    /// Every execution was looked at, and none breaks a rule.
    None,
    Found,
    /// A rule is broken under some readings of the specification only.
    Depends,
    /// Not every execution was looked at, and no broken rule was met.
    Unknown,
    /// There is no mbarrier, or nobody asked.
    NotAsked,
}

/// A rule about mbarriers that some execution breaks.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct ProtocolError {
    /// `uninitialised`, `init-of-live`, `count-range`, `too-many-arrivals`, `tx-range`, `drop-to-zero`,
    /// `no-complete-completed`, `used-after-inval`, `parity-range`, `parity-aliasing`, `missing-wait`, `missing-bytes`,
    /// `excess-bytes`, `missing-arrivals`, `used-as-data`.
    pub kind: String,
    pub mbarrier: String,
    /// What happens to the mbarrier, in words.
    pub message: String,
    pub reason: Misuse,
    /// Of the PTX ISA.
    pub section: String,
    /// The instruction that does it.
    pub access: Access,
    /// The life of the mbarrier in an execution that does it, in coherence order.
    pub timeline: Vec<Step>,
}

/// An operation on an mbarrier, and the state it leaves.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Step {
    /// None for the initial state.
    pub thread: Option<String>,
    /// Part of an asynchronous operation of the thread.
    pub asynchronous: bool,
    pub line: Option<u32>,
    pub text: String,
    /// Of a wait: whether it returned true.
    pub answer: Option<bool>,
    /// False where the memory holds no mbarrier.
    pub live: bool,
    pub phase: u32,
    pub pending: u32,
    pub expected: u32,
    pub tx: i32,
    /// The operation that the error is about.
    pub here: bool,
}

/// A rule that needs no other thread to be broken.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Warning {
    /// Stable: expectations name it (`docs/findings.md`).
    pub name: String,
    /// In words; empty until the report is put into words.
    pub message: String,
    /// The same as data; None in a report that was read back.
    #[serde(skip)]
    pub what: Option<Warned>,
    /// Of the PTX ISA.
    pub section: String,
    /// Bytes of the source.
    pub start: u32,
    pub end: u32,
    pub line: u32,
    pub column: u32,
    /// Another place it is about.
    pub other: Option<Place>,
}

#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Termination {
    pub answer: TerminationAnswer,
    /// No execution ends at all; false where that is not known.
    pub never_ends: bool,
    pub why: Option<WhyUnknown>,
    /// A fair execution in which a thread is stuck for good.
    pub witness: Option<Witness>,
    /// The threads that are stuck in it, and where.
    pub stuck: Vec<Stuck>,
    /// Why they wait for good, in words; empty where no small change is known that makes every fair execution end, and until the
    /// report is put into words.
    pub cause: String,
    /// The same as data.
    pub reasons: Vec<Reason>,
    /// That change: the test was checked again with it. Where the test has races too, what leaves none and makes it end.
    pub missing: Vec<Missing>,
    /// Where the answer is `depends`.
    pub depends: Option<Dependence>,
}

/// A thread that never ends.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Stuck {
    pub thread: String,
    /// None where it never starts.
    pub line: Option<u32>,
    /// The instruction it waits at; empty where it never starts.
    pub text: String,
    /// It waits nowhere: the threads of its CTA go round a loop together, and what they go round for never comes.
    pub goes_round: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TerminationAnswer {
    Terminates,
    MayHang,
    /// It may hang under some readings of the specification only.
    Depends,
    Unknown,
    NotAsked,
}

/// An execution, events named by numbers.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Witness {
    pub events: Vec<WitnessEvent>,
    /// Pairs of event ids.
    pub rf: Vec<(u32, u32)>,
    pub co: Vec<(u32, u32)>,
    pub sync_fence: Vec<(u32, u32)>,
    pub barriers: Vec<Vec<u32>>,
    /// The final state it is a witness of; empty for an execution that does not end.
    pub state: Assignment,
}

#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct WitnessEvent {
    pub id: u32,
    /// None for an initial write.
    pub thread: Option<String>,
    pub kind: EventKind,
    pub location: Option<String>,
    pub value: Option<Number>,
    /// None for an initial write.
    pub line: Option<u32>,
    /// The instruction; empty for an initial write.
    pub text: String,
    /// None for what accesses no memory.
    #[serde(with = "site::proxy_or_null")]
    pub proxy: Option<Proxy>,
    /// The event that started the asynchronous operation it is part of.
    pub started_by: Option<u32>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    Init,
    Read,
    Write,
    Fence,
    Barrier,
    Issue,
    /// The end of a thread.
    Exit,
}

impl<'de> Deserialize<'de> for Assignment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Assignment, D::Error> {
        struct Values;
        impl<'de> Visitor<'de> for Values {
            type Value = Assignment;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Assignment, A::Error> {
                let mut values = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Number>()? {
                    values.push((Arc::from(name), value));
                }
                Ok(Assignment(values))
            }
        }
        deserializer.deserialize_map(Values)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        struct Value;
        impl Visitor<'_> for Value {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, its digits, or the name of an unknown value")
            }

            fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
                Ok(Number::Known(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(Number::Known(value.into()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Number, E> {
                Ok(text.parse().map_or_else(|_| Number::Unknown(text.to_owned()), Number::Known))
            }
        }
        deserializer.deserialize_any(Value)
    }
}

/// What a verdict depends on, and why one is not known, stand in fields of their own: the word alone is read.
fn verdict_of_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Verdict, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "Holds" => Ok(Verdict::Holds),
        "Violated" => Ok(Verdict::Violated),
        "Depends" => Ok(Verdict::Depends(Dependence::default())),
        "Unknown" => Ok(Verdict::Unknown(Why::Internal(String::new()))),
        word => Err(de::Error::unknown_variant(word, &["Holds", "Violated", "Depends", "Unknown"])),
    }
}

pub fn verdict_word<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verdict.word())
}
