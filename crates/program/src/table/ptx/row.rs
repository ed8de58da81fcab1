//! What the rows of the table of PTX do.

use fencepost_syntax::litmus::Comparison;

use crate::ids::KernelId;
use crate::program::HostCall;
use crate::table::modifier::Sem;
use crate::tag::Tag;
use crate::value::expression::{BinaryOperator, UnaryOperator};

#[derive(Copy, Clone, Debug)]
pub(crate) enum Kind {
    Load {
        legal: &'static [Sem],
    },
    Store {
        legal: &'static [Sem],
    },
    /// `atom`: returns the old value.
    Atom {
        legal: &'static [Sem],
    },
    /// `red`: returns nothing.
    Red {
        legal: &'static [Sem],
    },
    Fence,
    /// Orders persists, or waits for them: `ofence`, `dfence`.
    PersistFence(Tag),
    Membar,
    Barrier,
    /// Read by forms of its own.
    Mbarrier,
    /// `griddepcontrol`.
    Grid,
    /// What a host thread of a test does with kernels; no PTX.
    Host(fn(KernelId) -> HostCall),
    Move,
    Binary(BinaryOperator),
    Unary(UnaryOperator),
    Product,
    MultiplyAdd,
    SetPredicate,
    Select,
    Convert,
    Jump,
    CompareAndJump(Comparison),
    Exit,
    Trap,
    Nothing,
}
