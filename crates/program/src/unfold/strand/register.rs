//! Registers that asynchronous products of matrices read and write until they are complete.

use fencepost_syntax::Span;
use fencepost_syntax::sorted::SortedMap;

use crate::ids::{EventId, RegisterId};
use crate::program::asynchronous::{Accumulator, Factor, Family, Product};

/// What `wgmma` and the rest of a thread do to its registers.
#[derive(Clone, Default)]
pub(crate) struct RegisterUse {
    /// Whether a `wgmma.fence` came yet, or was missed: that it is missing before the first product is said once.
    pub(crate) is_fenced: bool,
    /// Accesses since the last fence: where, and by a product of which shape.
    pub(crate) touched: SortedMap<RegisterId, (Span, Option<Role>)>,
    /// Products in flight, group by group, newest last; the last group is open.
    pub(crate) flying: Vec<Vec<Flying>>,
}

/// A register of a product that is not waited for yet.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) struct Flying {
    pub(crate) register: RegisterId,
    pub(crate) role: Role,
    pub(crate) product: Span,
    pub(crate) issue: EventId,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// With the shape of its product.
    Accumulator(u64),
    Fragment,
}

impl RegisterUse {
    pub(crate) fn fence(&mut self) {
        self.is_fenced = true;
        self.touched.clear();
    }

    pub(crate) fn commit(&mut self, family: Family) {
        if family == Family::Wgmma {
            if self.flying.is_empty() {
                self.flying.push(Vec::new());
            }
            self.flying.push(Vec::new());
        }
    }

    /// All groups but the newest and what is not yet in a group have landed.
    pub(crate) fn wait(&mut self, family: Family, newest: usize) {
        if family == Family::Wgmma {
            let committed = self.flying.len().saturating_sub(1);
            self.flying.drain(..committed.saturating_sub(newest));
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        !self.is_fenced && self.touched.is_empty() && self.flying.is_empty()
    }
}

/// Two products of one shape may follow each other on one accumulator, and both may read a fragment.
pub(crate) fn is_exempt(before: Option<Role>, now: Role) -> bool {
    before == Some(now)
}

pub(crate) fn roles(product: &Product) -> Vec<(RegisterId, Role)> {
    let mut roles = Vec::new();
    if let Factor::Registers(registers) = &product.left {
        roles.extend(registers.iter().map(|register| (*register, Role::Fragment)));
    }
    if let Accumulator::Registers(registers) = &product.accumulator {
        roles.extend(registers.iter().map(|register| (*register, Role::Accumulator(product.shape))));
    }
    roles
}
