//! Why an answer is not known. `tell::words` makes the sentences.

use fencepost_syntax::Span;
use fencepost_syntax::limits::Ended;

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
    /// More is needed than the engines are meant for.
    Size(Undecided),
    /// The behaviour of the program is undefined.
    Undefined,
    /// A value depends on itself and the model has no axiom against it.
    ThinAir,
    /// The user asked to stop.
    Cancelled,
    /// Two independent computations disagreed: a defect of this tool, never reported as a verdict.
    Internal(String),
}

/// What took more than the engines are meant for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Undecided {
    /// A search took all the work that it may take.
    Search,
    /// Some executions were not seen.
    Executions,
    /// Whether something races.
    Races,
    /// Whether accesses of different sizes race.
    MixedSizes,
    /// Not under every reading of the specification; the answer under one of them is not known for this reason.
    Readings(Option<Box<Why>>),
    /// Recovery may start from more states than this.
    Recoveries(u64),
    /// Values may be torn in too many places.
    TornPlaces,
    TornRaces,
    /// Executions with torn values that never end.
    TornHangs,
    /// A torn value of this location.
    TornValue(String),
    /// The program was not unrolled: what it has too much of, and the line.
    Unrolling {
        what: String,
        line: Option<u32>,
    },
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

    /// What a report tells: of an answer that is open under some reading, why it is open there.
    pub fn told(&self) -> Option<&Why> {
        match self {
            Why::Size(Undecided::Readings(why)) => why.as_deref(),
            why => Some(why),
        }
    }
}

impl From<Ended> for Why {
    fn from(ended: Ended) -> Why {
        match ended {
            Ended::Time => Why::Time,
            Ended::Memory => Why::Memory,
            Ended::Cancelled => Why::Cancelled,
            Ended::Work => Why::Size(Undecided::Search),
        }
    }
}
