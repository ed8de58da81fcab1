//! What a thread knows of the end of accesses to shared memory of other CTAs: `over-before` in models/ptx/undefined.cat.
//!
//! Base causality order is not enough: a relaxed barrier of the cluster and a relaxed read of a flag put what comes behind
//! them after operations on mbarriers, and after loads and stores of which something shows that they are over. So there are
//! two clocks besides base causality order: whose instructions lie before in steps of this kind (`over-step`), and whose
//! loads and stores are over because a release that reaches out of their CTA was observed (`released`). Both are kept for
//! what is certain, and for what was so in this run but need not be in another.

use std::rc::Rc;

use super::clock::{View, join};

/// Whether every execution has a step, or this run has it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Certainty {
    Certain,
    Seen,
}

/// What lies before, beyond base causality order.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    /// By `over-step`.
    pub(super) steps: View,
    /// Loads and stores that are over, by `released`.
    pub(super) released: View,
}

/// What is known besides base causality order. Nothing is known where there is none.
#[derive(Clone, Debug, Default)]
pub struct Over {
    pub(super) certain: Before,
    /// What this run has seen in addition.
    pub(super) seen: Before,
    /// It depends on something that is not followed: anything may be over.
    pub(super) unclear: bool,
}

pub(super) type OverView = Option<Rc<Over>>;

impl Before {
    fn include(&mut self, from: &Before) {
        join(&mut self.steps, &from.steps);
        join(&mut self.released, &from.released);
    }

    fn covers(&self, other: &Before) -> bool {
        let covers = |own: &View, other: &View| Rc::ptr_eq(own, other) || own.covers(other);
        covers(&self.steps, &other.steps) && covers(&self.released, &other.released)
    }
}

impl Over {
    pub(super) fn at(&mut self, certainty: Certainty) -> &mut Before {
        match certainty {
            Certainty::Certain => &mut self.certain,
            Certainty::Seen => &mut self.seen,
        }
    }

    pub(super) fn include(&mut self, from: &Over, certainty: Certainty) {
        self.at(certainty).include(&from.certain);
        self.seen.include(&from.seen);
        self.unclear |= from.unclear;
    }

    fn covers(&self, other: &Over) -> bool {
        self.certain.covers(&other.certain) && self.seen.covers(&other.seen) && self.unclear >= other.unclear
    }
}

/// What one knows who comes after both.
pub(super) fn include(own: &mut OverView, from: &OverView) {
    let Some(from) = from else { return };
    match own {
        Some(known) if Rc::ptr_eq(known, from) || known.covers(from) => {}
        Some(known) if !from.covers(known) => Rc::make_mut(known).include(from, Certainty::Certain),
        _ => *own = Some(Rc::clone(from)),
    }
}

pub(super) fn same(one: &OverView, other: &OverView) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Rc::ptr_eq(one, other),
        _ => false,
    }
}
