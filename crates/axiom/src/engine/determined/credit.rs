//! Credited order: the model's causality order over what every execution has that agrees with the run.

use fencepost_program::unfolding::Unfolding;

use super::run::Run;
use super::{Orders, set_barriers};
use crate::bits::{Relation, Shape, kernel};
use crate::evaluate::Evaluator;
use crate::model::BaseRelation;

/// Evaluates the model with this for reads-from. What the axioms say of it is no matter: it is a part of many executions and
/// none itself.
pub(super) fn evaluate(run: &Run, observed: &Relation, evaluator: &mut Evaluator<'_>) {
    set_barriers(run, evaluator);
    let nothing = Relation::empty(run.candidate.shape);
    evaluator.set(BaseRelation::Rf, observed.bits());
    evaluator.set(BaseRelation::SyncFence, nothing.bits());
    evaluator.set(BaseRelation::Co, nothing.bits());
    evaluator.recompute();
}

pub(super) struct Credited<'r> {
    shape: Shape,
    causality: &'r [u64],
    base: &'r [u64],
    /// By event: the main event before it in its thread, or the one that started it.
    start: Vec<Option<usize>>,
    is_main: Vec<bool>,
}

impl<'r> Credited<'r> {
    pub(super) fn new(unfolding: &Unfolding, run: &Run, orders: Orders, evaluator: &'r Evaluator<'_>) -> Credited<'r> {
        let candidate = &run.candidate;
        let mut start = vec![None; candidate.events.len()];
        let is_main: Vec<bool> =
            (0..candidate.events.len()).map(|local| run.event(unfolding, local).is_main()).collect();
        for thread in 0..candidate.threads() {
            let mut last = None;
            for local in candidate.thread_events(thread) {
                let event = run.event(unfolding, local);
                start[local] = match &event.strand {
                    Some(strand) => candidate.local(strand.issue),
                    None => last,
                };
                // The two halves of a read-modify-write start at the same place.
                if is_main[local] && event.rmw_partner.is_none_or(|partner| partner < candidate.events[local]) {
                    last = Some(local);
                }
            }
        }
        Credited {
            shape: candidate.shape,
            causality: evaluator.relation(orders.causality),
            base: evaluator.relation(orders.base),
            start,
            is_main,
        }
    }

    pub(super) fn is_main(&self, event: usize) -> bool {
        self.is_main[event]
    }

    /// Whether causality order has one access before another.
    pub(super) fn orders(&self, one: usize, other: usize) -> bool {
        kernel::contains(self.shape, self.causality, one, other)
    }

    /// Whether something had happened before an event started.
    pub(super) fn knows_at(&self, event: usize, earlier: usize) -> bool {
        self.start[event]
            .is_some_and(|start| start == earlier || kernel::contains(self.shape, self.base, earlier, start))
    }

    /// Whether an access of an mbarrier comes before another whatever the other observes: it had happened, and memory has
    /// them in this order.
    pub(super) fn comes_before(&self, one: usize, other: usize) -> bool {
        self.knows_at(other, one) && self.orders(one, other)
    }
}
