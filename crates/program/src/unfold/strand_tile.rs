//! How far an operand of a tensor operation reaches: its *tile*. An array of several dimensions says it: what one index of
//! the first selects. In an array of one dimension a tile ends where another operand of the same kind begins, in any thread
//! and on any run: the stages of a pipeline, two accumulators, the boxes of two copies. Else it ends with the variable.
//!
//! Where operands begin is known when every thread has been followed; so a program in which it matters is unfolded twice.

use std::collections::BTreeSet;

use crate::ids::AddressId;
use crate::program::Space;
use crate::program::asynchronous::{Accumulator, Base, Effect, Product, RegionId, Start};
use crate::unfold::run::Runner;

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
pub(crate) type Starts = BTreeSet<(Role, AddressId)>;

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

impl Runner<'_> {
    /// The locations from this one to the end of its tile.
    pub(crate) fn tile(&mut self, base: AddressId, role: Role) -> Vec<AddressId> {
        self.met.insert((role, base));
        let mut variable = self.variable(base);
        let ends = |address: &AddressId| self.program.locations[self.location_of(*address).index()].ends_tile;
        let begins = |address: &AddressId| self.starts.contains(&(role, *address));
        let end = match variable.iter().position(ends) {
            Some(last) => last + 1,
            None => variable.iter().skip(1).position(begins).map_or(variable.len(), |next| next + 1),
        };
        variable.truncate(end);
        variable
    }
}
