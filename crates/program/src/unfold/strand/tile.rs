//! How far an operand of a tensor operation reaches: its *tile*. An array of several dimensions says it: what one index of
//! the first selects. In an array of one dimension a tile ends where another operand of the same kind begins, in any thread
//! and on any run: the stages of a pipeline, two accumulators, the boxes of two copies. Else it ends with the variable.
//!
//! Where operands begin is known when every thread has been followed; so a program in which it matters is unfolded twice.

use crate::ids::AddressId;
use crate::unfold::run::runner::Runner;
use crate::unfold::strand::tile_start::Role;

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
