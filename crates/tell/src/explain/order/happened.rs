//! What the model says has happened before what: base causality order (PTX ISA 8.9.5), which proxies do not break, and the
//! order of kernels. A story is told in this order; that a write is earlier in it does not mean that a read sees it.

use fencepost_axiom::execution::Execution;
use fencepost_check::model::facts::Facts;
use fencepost_check::model::role::Relation;
use fencepost_program::EventId;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

/// The relations that are such an order; a model need not have them.
const ORDERS: [Relation; 2] = [Relation::BaseCausality, Relation::KernelOrder];

pub(crate) struct Happened {
    before: SortedMap<EventId, SortedSet<EventId>>,
}

impl Happened {
    pub(crate) fn new(facts: &Facts<'_>, execution: &Execution) -> Happened {
        let mut before: SortedMap<EventId, SortedSet<EventId>> = SortedMap::new();
        for from in &execution.events {
            for to in ORDERS.iter().filter_map(|order| facts.after(*order, *from)).flatten() {
                before.entry(to).or_default().insert(*from);
            }
        }
        // Fence-SC order is guessed, and may run against the rest where no access depends on it: then there is no order.
        let leads = |from: EventId, to: EventId| before.get(&to).is_some_and(|earlier| earlier.contains(&from));
        let one_way = |(to, earlier): (&EventId, &SortedSet<EventId>)| {
            (*to, earlier.iter().copied().filter(|from| from != to && !leads(*to, *from)).collect())
        };
        Happened { before: before.iter().map(one_way).collect() }
    }

    pub(crate) fn before(&self, from: EventId, to: EventId) -> bool {
        self.before.get(&to).is_some_and(|earlier| earlier.contains(&from))
    }

    pub(crate) fn all_before(&self, to: EventId) -> impl Iterator<Item = EventId> {
        self.before.get(&to).into_iter().flatten().copied()
    }
}
