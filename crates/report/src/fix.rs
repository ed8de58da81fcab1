//! What `fix` says of a test: the cheapest change with which it is right, or that there is none.

use crate::finding::FindingKind;
use crate::piece::Side;
use crate::{TextEdit, WhyUnknown};

/// Raised whenever a field changes its meaning.
pub const SCHEMA: u32 = 1;

#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct FixReport {
    pub schema: u32,
    pub test: String,
    pub file: String,
    pub model: String,
    pub answer: FixAnswer,
    /// What the test is to do besides having no race, no hang and no broken rule.
    pub wants: Vec<FixWant>,
    /// Where something was repaired.
    pub repair: Option<Repair>,
    /// Without a repair: what would leave nothing wrong, and makes the program compute something else.
    #[serde(default)]
    pub refused: Option<Refused>,
    /// Where that is not known, or where it is not known whether other changes mend what is left.
    pub why: Option<WhyUnknown>,
    /// What is undefined and stays so: no change here mends it.
    #[serde(default)]
    pub left: Vec<Left>,
    /// How many changes there were to choose from, and how many changed tests were looked at.
    pub options: u64,
    pub asked: u64,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FixAnswer {
    /// Nothing is wrong with it.
    Right,
    Repaired,
    /// Not even all changes together make it right.
    NoRepair,
    Undecided,
}

/// Two instructions, by their lines, and what is wrong with them.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Left {
    pub finding: FindingKind,
    pub first: u32,
    pub second: u32,
}

/// What is wanted of one question.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct FixWant {
    /// `exists (x=1)`.
    pub question: String,
    pub line: u32,
    /// Whether what it looks for is to be possible.
    pub possible: bool,
    pub because: Because,
}

/// Where that is from.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Because {
    /// `forall`, `~exists`: the question says so.
    Question,
    /// The expectation beside the test.
    Expected,
    /// `sc` has the outcome, or has it not.
    SequentialConsistency,
    /// The command line.
    Asked,
}

/// Changes with which a final state is not reached any more that interleavings reach without a race.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Refused {
    pub changes: Vec<FixChange>,
    pub cost: u32,
}

#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Repair {
    pub changes: Vec<FixChange>,
    pub cost: u32,
    /// Nothing cheaper among all changes is a repair; else some cheaper ones were not decided.
    pub cheapest: bool,
    /// Other changes that cost as much and are repairs too, some of them.
    pub alternatives: Vec<Vec<FixChange>>,
    /// Why the second engine did not confirm it; null where it did.
    pub second_engine: Option<WhyUnknown>,
    /// Why two more rounds of its loops were not decided; null where they were, and where there is no loop.
    pub more_rounds: Option<WhyUnknown>,
    /// How often loops were unrolled for that, two more than the answers needed; null where there is no loop.
    pub unrolled: Option<u32>,
    /// Whether the changes have a place in the source text.
    pub writable: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct FixChange {
    #[serde(flatten)]
    pub what: What,
    pub cost: u32,
    /// The same as changes of the source text; none where another change of the repair has the text of both.
    pub edits: Vec<TextEdit>,
}

/// What is changed.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum What {
    /// A text comes, in one place or in several.
    Inserted {
        text: String,
        at: Vec<Spot>,
    },
    /// A loop that makes this instruction until it is true comes.
    Loop {
        wait: String,
        at: Spot,
    },
    Replaced {
        at: Line,
        was: String,
        is: String,
    },
    Moved {
        at: Line,
        was: String,
        to: Spot,
    },
    Removed {
        at: Line,
        was: String,
    },
    /// An mbarrier waits for more arrivals, or for fewer.
    Counted {
        mbarrier: String,
        by: i64,
        at: Option<Line>,
    },
    /// A declaration comes, or has another value.
    Declared {
        text: String,
    },
    /// Several lines that belong together.
    Several {
        parts: Vec<Part>,
    },
}

/// What comes at one place, and what it takes the place of.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Part {
    pub at: Spot,
    pub was: Option<String>,
    pub text: String,
}

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Line {
    pub thread: String,
    pub line: u32,
}

/// Before or behind a line.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Spot {
    pub thread: String,
    pub side: Side,
    pub line: u32,
}
