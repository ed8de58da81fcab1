//! What a report says of crashes: the states that they may leave, answers with a crash behind each, and what recovery makes
//! of them.

use crate::verdict::{Dependence, Verdict};
use crate::{Assignment, Count, Missing, Stuck, WhyUnknown, Witness, is_zero, verdict_of_word, verdict_word};

/// The answers about crashes of one test.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Crashes {
    pub questions: Vec<CrashAnswer>,
    /// The distinct states that a crash may leave, ascending; those that were met, where not all executions were seen.
    pub states: Vec<CrashState>,
    /// How many more there are than are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unlisted: u64,
    /// The executions in which crashes were looked for: those that end, and those that never do.
    pub executions: Option<Count>,
    /// Whether crashes, gone through by their definition in the executions of a second engine, leave nothing else.
    pub cross_checked: bool,
    /// None where the test has no recovery program.
    pub recovery: Option<Recovery>,
}

/// A state that a crash may leave.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct CrashState {
    /// Persistent memory, and registers that are asked for. A register that had no value yet is left out.
    pub values: Assignment,
    /// In how many executions a crash may leave it.
    pub executions: u64,
}

/// The answer to one question about crashes.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct CrashAnswer {
    /// `exists`, `~exists`, `forall`.
    pub kind: String,
    pub condition: String,
    pub line: u32,
    #[serde(serialize_with = "verdict_word", deserialize_with = "verdict_of_word")]
    pub verdict: Verdict,
    pub why: Option<WhyUnknown>,
    pub depends: Option<Dependence>,
    /// A crash that satisfies the condition (`forall`: that breaks it), re-checked by an independent evaluator.
    pub witness: Option<CrashWitness>,
    /// The weakest changes that would rule the state out, each checked again.
    pub missing: Vec<Missing>,
}

/// A crash.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct CrashWitness {
    /// The execution that it ends: all of it, as it would have gone on.
    pub execution: Witness,
    /// The events that had happened.
    pub happened: Vec<u32>,
    /// The persists among them that were durable.
    pub durable: Vec<u32>,
    /// The persists among them that were lost.
    pub lost: Vec<u32>,
    pub state: Assignment,
}

/// What the recovery program makes of every state that a crash leaves, of a recovery too.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Recovery {
    pub questions: Vec<RecoveryAnswer>,
    /// Whether it ends, from every state: as a question whether it may not.
    pub ending: RecoveryAnswer,
    /// From how many states it was run.
    pub states: u64,
}

#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct RecoveryAnswer {
    pub kind: String,
    pub condition: String,
    pub line: u32,
    #[serde(serialize_with = "verdict_word", deserialize_with = "verdict_of_word")]
    pub verdict: Verdict,
    pub why: Option<WhyUnknown>,
    pub depends: Option<Dependence>,
    /// A recovery that satisfies the condition (`forall`: that breaks it).
    pub witness: Option<RecoveryWitness>,
    /// The weakest changes with which every recovery keeps it, each checked again.
    pub missing: Vec<Missing>,
}

/// A run of the recovery program, and the crashes before it.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct RecoveryWitness {
    /// That of the program, then those of recoveries.
    pub crashes: Vec<CrashWitness>,
    /// What persistent memory held when the last recovery began.
    pub image: Assignment,
    /// The recovery.
    pub run: Witness,
    /// Whether it ends.
    pub ends: bool,
    /// The threads that are stuck in it, and where; empty where it ends.
    #[serde(default)]
    pub stuck: Vec<Stuck>,
}

impl Crashes {
    /// What the answers depend on.
    pub fn dependences(&self) -> impl Iterator<Item = &Dependence> {
        let of_recovery = self.recovery.iter().flat_map(|recovery| &recovery.questions);
        let of_recovery = of_recovery.filter_map(|answer| answer.depends.as_ref());
        self.questions.iter().filter_map(|answer| answer.depends.as_ref()).chain(of_recovery)
    }

    /// How many distinct states were met, whether they are listed or not.
    pub fn state_count(&self) -> u64 {
        self.states.len() as u64 + self.unlisted
    }
}
