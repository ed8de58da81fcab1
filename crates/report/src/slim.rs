//! What `slim` says of a test: what can be weakened or left out with every answer unchanged, and what is needed for what.

use crate::finding::FindingKind;
use crate::fix::Line;
use crate::{TextEdit, WhyUnknown};

/// Raised whenever a field changes its meaning.
pub const SCHEMA: u32 = 1;

#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct SlimReport {
    pub schema: u32,
    pub test: String,
    pub file: String,
    pub model: String,
    pub answer: SlimAnswer,
    /// What everything that was looked at costs now.
    pub cost: u32,
    /// What can be changed by itself.
    pub alone: Vec<SlimChange>,
    /// What can be changed together.
    pub together: Option<SlimSet>,
    /// What cannot be changed at all.
    pub needed: Vec<Needed>,
    /// What is wrong with the test as it is.
    pub wrong: Vec<Broken>,
    /// What was not decided, where something was not.
    pub why: Option<WhyUnknown>,
    /// How many changes there were to choose from, and how many changed tests were looked at.
    pub options: u64,
    pub asked: u64,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SlimAnswer {
    /// Something can be saved.
    Slimmer,
    /// Every change changes an answer.
    Nothing,
    /// The test races, hangs, breaks a rule or a promise: `fix` comes first.
    NotRight,
    /// An answer of the test is not known, or nothing was found and some changes were not decided.
    Undecided,
}

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct SlimChange {
    #[serde(flatten)]
    pub what: Weakened,
    pub saves: u32,
    /// The same as changes of the source text.
    pub edits: Vec<TextEdit>,
}

#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct SlimSet {
    pub changes: Vec<SlimChange>,
    pub saves: u32,
    /// Nothing among all changes saves more; else some sets that do were not decided.
    pub most: bool,
    /// Why the second engine did not confirm it; null where it did.
    pub second_engine: Option<WhyUnknown>,
    /// Why two more rounds of its loops were not decided; null where they were, and where there is no loop.
    pub more_rounds: Option<WhyUnknown>,
    /// How often loops were unrolled for that, two more than the answers needed; null where there is no loop.
    pub unrolled: Option<u32>,
    /// Whether the changes have a place in the source text.
    pub writable: bool,
}

/// What becomes of instructions.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Weakened {
    Replaced {
        at: Line,
        was: String,
        is: String,
    },
    /// A loop that waits goes as a whole, and a barrier in all of its threads.
    Removed {
        at: Vec<Line>,
        was: String,
    },
}

/// An instruction that stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Needed {
    /// A change of it that was tried.
    #[serde(flatten)]
    pub what: Weakened,
    pub breaks: Broken,
}

/// An answer that is not what it should be.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Broken {
    /// What it looks for becomes possible; of a `forall`, what breaks it.
    Question { question: String, line: u32 },
    /// Two instructions, by their lines.
    Race { finding: FindingKind, first: u32, second: u32 },
    /// Something races, it is not known what.
    SomeRace,
    /// A rule of mbarriers.
    Protocol,
    /// A thread may wait for good.
    Hang,
    /// Interleavings end in other states.
    States,
}
