//! What an answer can be. Incompleteness is a value: an answer that is not known says why, and never looks like a clean one.

use std::fmt;

use fencepost_syntax::Span;
use fencepost_syntax::limits::Ended;

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
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Dependence {
    pub readings: Vec<String>,
    pub cases: Vec<Case>,
}

/// An answer under chosen readings.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
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

/// Why an answer is not known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// The time limit.
    Time,
    /// The memory limit.
    Memory,
    /// The limit of states that a machine may visit.
    States,
    /// A loop was cut at the unrolling bound.
    Bound(Span),
    /// The program has something that is not modelled, or that this memory model does not know.
    Unsupported { span: Span, what: String },
    /// Accesses of different sizes race: the axioms do not apply (PTX ISA 8.7.2). Where, and which accesses.
    MixedSize { span: Span, what: String },
    /// The unrolled program is larger than anything the engines are meant for.
    Size(String),
    /// The behaviour of the program is undefined.
    Undefined,
    /// A value depends on itself and the model has no axiom against it.
    ThinAir,
    /// The user asked to stop.
    Cancelled,
    /// Two independent computations disagreed: a defect of this tool, never reported as a verdict.
    Internal(String),
}

impl Why {
    /// The name in reports; stable.
    pub fn kind(&self) -> &'static str {
        match self {
            Why::Time => "time",
            Why::Memory => "memory",
            Why::States => "states",
            Why::Bound(_) => "bound",
            Why::Unsupported { .. } => "unsupported",
            Why::MixedSize { .. } => "mixed-size",
            Why::Size(_) => "size",
            Why::Undefined => "undefined",
            Why::ThinAir => "thin-air",
            Why::Cancelled => "cancelled",
            Why::Internal(_) => "internal",
        }
    }

    /// Whether the user ended the work, with a limit or a request: more of it might have given the answer.
    pub fn is_limit(&self) -> bool {
        matches!(self, Why::Time | Why::Memory | Why::States | Why::Cancelled)
    }

    pub fn span(&self) -> Option<Span> {
        match self {
            Why::Bound(span) | Why::Unsupported { span, .. } | Why::MixedSize { span, .. } => Some(*span),
            _ => None,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Time => write!(f, "the time limit was reached"),
            Why::Memory => write!(f, "the memory limit was reached"),
            Why::States => write!(f, "the limit of states was reached"),
            Why::Bound(_) => write!(f, "a loop was cut at the unrolling bound; --bound N unrolls more"),
            Why::Unsupported { what, .. } => write!(f, "unsupported: {what}"),
            Why::MixedSize { what, .. } => write!(
                f,
                "{what} race with different sizes, so the axioms do not apply; all that is left is that overlapping atomics \
                 in each other's scope do not interleave"
            ),
            Why::Size(what) => write!(f, "too large: {what}"),
            Why::Undefined => write!(f, "the behaviour is undefined"),
            Why::ThinAir => write!(f, "a value depends on itself and the model does not forbid it"),
            Why::Cancelled => write!(f, "stopped on request"),
            Why::Internal(what) => write!(f, "internal check failed: {what}"),
        }
    }
}

impl From<Ended> for Why {
    fn from(ended: Ended) -> Why {
        match ended {
            Ended::Time => Why::Time,
            Ended::Memory => Why::Memory,
            Ended::Cancelled => Why::Cancelled,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_outweighs_an_unknown_answer() {
        let verdicts = [Verdict::Holds, Verdict::Unknown(Why::Time), Verdict::Violated];
        assert_eq!(Verdict::worst(&verdicts), Verdict::Violated);
        assert_eq!(Verdict::worst(&verdicts[..2]), Verdict::Unknown(Why::Time));
        assert_eq!(Verdict::worst(&[]), Verdict::Holds);
    }
}
