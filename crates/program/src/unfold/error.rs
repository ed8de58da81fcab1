//! Why a program has no unfolding, in words and with the place in the text.

use std::fmt;

use fencepost_syntax::Span;
use fencepost_syntax::limits::Ended;

/// Why there is no unfolding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnfoldError {
    /// Time, memory or the user ended it.
    Limit(Ended),
    TooManyEvents {
        limit: u32,
    },
    TooManyTraces {
        limit: u32,
    },
    TooManySteps {
        limit: u64,
    },
    /// A register's value is a tree of more nodes than this.
    ExpressionTooLarge {
        span: Span,
        limit: u32,
    },
    /// A computed address reaches a location with an access of another size than the location's.
    MixedSize {
        span: Span,
        location: String,
    },
    /// A barrier's operands depend on what a `bar.red` returned.
    BarrierOperand {
        span: Span,
    },
    /// A size, mask or coordinate of an asynchronous operation that is no constant, or out of range.
    AsyncOperand {
        span: Span,
    },
    /// A coordinate of a tensor copy in a dimension that the tensor is not declared with, or a negative one.
    Coordinate {
        span: Span,
    },
    /// The answer rests on a value that is not modelled (the result of floating-point arithmetic).
    Opaque {
        span: Span,
    },
    /// An asynchronous operation reaches beyond the end of a variable.
    Overrun {
        span: Span,
        location: String,
        bytes: i128,
        /// So many are there, from the location on.
        room: i128,
    },
    /// An asynchronous operation reaches beyond a variable, into part of a location, or for one that a CTA lacks.
    Extent {
        span: Span,
        location: String,
    },
    /// More `tcgen05.alloc`s than tensor memory is declared.
    Allocation {
        span: Span,
    },
    /// A column that a `tcgen05.alloc` gives, and for which the test declares nothing.
    Column {
        span: Span,
        column: i128,
        count: u32,
        location: String,
    },
    /// An mbarrier operation on a location that is none.
    NoMbarrier {
        span: Span,
        location: String,
    },
    /// An asynchronous write to persistent memory: when it persists is nowhere defined.
    AsynchronousPersist {
        span: Span,
        location: String,
    },
    /// Another access to an mbarrier.
    PlainAccess {
        span: Span,
        location: String,
    },
    /// Shared memory of another cluster, or local memory of another thread.
    OutOfReach {
        span: Span,
        location: String,
    },
    /// A write to `.const` or `.param` memory.
    ReadOnly {
        span: Span,
        location: String,
    },
    /// An access that begins in a variable and ends beyond it: in words.
    Beyond {
        span: Span,
        what: String,
    },
    /// An address that is no multiple of the access's size: in words.
    Misaligned {
        span: Span,
        what: String,
    },
    /// An access through a name of another proxy than its own.
    Misnamed {
        span: Span,
        name: String,
    },
    /// A wait on the mbarrier of another CTA.
    RemoteWait {
        span: Span,
        location: String,
    },
}

impl fmt::Display for UnfoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnfoldError::Limit(_) => write!(f, "a limit was reached"),
            UnfoldError::TooManyEvents { limit } => write!(f, "the unrolled program has more than {limit} events"),
            UnfoldError::TooManyTraces { limit } => write!(f, "the threads have more than {limit} traces"),
            UnfoldError::TooManySteps { limit } => write!(f, "the threads run for more than {limit} instructions"),
            UnfoldError::ExpressionTooLarge { limit, .. } => {
                write!(f, "a register's value is an expression of more than {limit} operations")
            }
            UnfoldError::MixedSize { location, .. } => write!(f, "mixed-size accesses to `{location}`"),
            UnfoldError::AsyncOperand { .. } => {
                write!(f, "a size, mask or coordinate of an asynchronous operation that is not known in advance")
            }
            UnfoldError::Coordinate { .. } => {
                write!(f, "a coordinate in a dimension that the tensor is not declared with, or a negative one")
            }
            UnfoldError::Opaque { .. } => {
                write!(f, "a condition, a branch or an address that rests on a value without a model")
            }
            UnfoldError::Overrun { location, bytes, room, .. } => {
                write!(
                    f,
                    "an asynchronous operation on {bytes} bytes from `{location}` on, where there are only {room}"
                )
            }
            UnfoldError::Extent { location, .. } => {
                write!(f, "an asynchronous operation that does not fit `{location}`")
            }
            UnfoldError::AsynchronousPersist { location, .. } => {
                write!(
                    f,
                    "an asynchronous write to `{location}`, which is persistent: no document says when it persists"
                )
            }
            UnfoldError::Allocation { .. } => write!(f, "more `tcgen05.alloc`s at once than `.tmem` variables"),
            UnfoldError::Column { column, count, location, .. } => {
                write!(
                    f,
                    "column {column} of the {count} that `tcgen05.alloc` gives, of which `{location}` declares fewer"
                )
            }
            UnfoldError::BarrierOperand { .. } => write!(f, "a barrier operand depends on the result of a `bar.red`"),
            UnfoldError::NoMbarrier { location, .. } => {
                write!(f, "an mbarrier operation on `{location}`, which is not an mbarrier")
            }
            UnfoldError::PlainAccess { location, .. } => write!(f, "an ordinary access to the mbarrier `{location}`"),
            UnfoldError::OutOfReach { location, .. } => {
                write!(f, "an access to `{location}`, in memory of another cluster or thread")
            }
            UnfoldError::ReadOnly { location, .. } => write!(f, "a write to `{location}`, which is read-only"),
            UnfoldError::Misaligned { what, .. } | UnfoldError::Beyond { what, .. } => write!(f, "{what}"),
            UnfoldError::Misnamed { name, .. } => {
                write!(f, "an access through `{name}`, which is a name of another proxy")
            }
            UnfoldError::RemoteWait { location, .. } => {
                write!(f, "a wait on `{location}`, an mbarrier of another CTA")
            }
        }
    }
}

impl std::error::Error for UnfoldError {}

impl UnfoldError {
    /// Where in the source, if at one place.
    pub fn span(&self) -> Option<Span> {
        match self {
            UnfoldError::ExpressionTooLarge { span, .. }
            | UnfoldError::MixedSize { span, .. }
            | UnfoldError::AsyncOperand { span }
            | UnfoldError::Coordinate { span }
            | UnfoldError::Opaque { span }
            | UnfoldError::Overrun { span, .. }
            | UnfoldError::Extent { span, .. }
            | UnfoldError::Allocation { span }
            | UnfoldError::Column { span, .. }
            | UnfoldError::NoMbarrier { span, .. }
            | UnfoldError::PlainAccess { span, .. }
            | UnfoldError::AsynchronousPersist { span, .. }
            | UnfoldError::RemoteWait { span, .. }
            | UnfoldError::Misnamed { span, .. }
            | UnfoldError::OutOfReach { span, .. }
            | UnfoldError::ReadOnly { span, .. }
            | UnfoldError::Beyond { span, .. }
            | UnfoldError::Misaligned { span, .. }
            | UnfoldError::BarrierOperand { span } => Some(*span),
            _ => None,
        }
    }
}
