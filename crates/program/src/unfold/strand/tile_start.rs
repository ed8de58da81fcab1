//! Where tiles of asynchronous operations begin (see `tile`).

use fencepost_syntax::sorted::SortedSet;

use crate::ids::AddressId;
use crate::program::Space;
use crate::program::asynchronous::{Accumulator, Base, Effect, Product, RegionId, Start};

/// Operands that do not overlap with others of their kind.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Role {
    /// A matrix in shared memory.
    Matrix,
    Accumulator,
    /// A matrix, scales or metadata in tensor memory.
    Columns,
    /// The shared memory of a tensor copy.
    Box,
}

/// Where tiles begin.
pub(crate) type Starts = SortedSet<(Role, AddressId)>;

/// Whether some kind of operand begins at two places.
pub(crate) fn matter(starts: &Starts) -> bool {
    starts.iter().zip(starts.iter().skip(1)).any(|(one, next)| one.0 == next.0)
}

pub(crate) fn role(start: &Start, index: usize) -> Role {
    let region = &start.regions[index];
    let is_accumulator = match &start.effect {
        Effect::Product(Product { accumulator: Accumulator::Memory(RegionId(own)), .. }) => *own == index,
        Effect::Rewrite { .. } => true,
        _ => false,
    };
    match (&region.base, region.space) {
        _ if is_accumulator => Role::Accumulator,
        (_, Some(Space::TensorMemory)) => Role::Columns,
        (Base::Descriptor(_), _) => Role::Matrix,
        _ => Role::Box,
    }
}
