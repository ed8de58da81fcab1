//! What an answer can be. Incompleteness is a value: an answer that is not known says why, and never looks like a clean one.

use std::fmt;

pub use crate::why::{Undecided, Why};

/// The answer to one question.
///
/// | question | `Holds` | `Violated` |
/// |---|---|---|
/// | `exists`, `permit` | reachable, with a witness | unreachable |
/// | `~exists` | unreachable | reachable, with a witness |
/// | `forall`, `assert` | no counterexample | a counterexample, with a witness |
/// | `check` | as `exists`, but nobody is blamed for the answer | |
///
/// In a program whose behaviour is undefined everything is reachable, without a witness ([`crate::Undefined`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Holds,
    Violated,
    /// The answer depends on how contested points of the specification are read.
    Depends(Dependence),
    Unknown(Why),
}

/// What an answer depends on: the smallest set of contested points whose readings change it, all others at their
/// weakest, and the answer under each combination of their readings.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Dependence {
    pub readings: Vec<String>,
    pub cases: Vec<Case>,
}

/// An answer under chosen readings.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Case {
    /// One value per reading of the dependence, in its order.
    pub values: Vec<String>,
    /// `Holds`, `Violated`, `Unknown`; of races `race`, `none`, `unknown`; and so on.
    pub answer: String,
}

/// `async-cta: issuing → race, any-in-cluster → none`.
impl fmt::Display for Dependence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cases: Vec<String> =
            self.cases.iter().map(|case| format!("{} → {}", case.values.join(" and "), case.answer)).collect();
        write!(f, "{}: {}", self.readings.join(", "), cases.join(", "))
    }
}

impl Verdict {
    /// The word in every output.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Holds => "Holds",
            Verdict::Violated => "Violated",
            Verdict::Depends(_) => "Depends",
            Verdict::Unknown(_) => "Unknown",
        }
    }

    /// The answer to several questions of one test: the worst one. A broken question is the news even if another is
    /// unknown.
    pub fn worst<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> Verdict {
        let rank = |verdict: &Verdict| match verdict {
            Verdict::Violated => 3,
            Verdict::Unknown(_) => 2,
            Verdict::Depends(_) => 1,
            Verdict::Holds => 0,
        };
        let mut worst = &Verdict::Holds;
        for verdict in verdicts {
            if rank(verdict) > rank(worst) {
                worst = verdict;
            }
        }
        worst.clone()
    }
}
