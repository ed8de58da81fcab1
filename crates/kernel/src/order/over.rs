//! What a thread knows of the end of accesses to shared memory of other CTAs: `over-before` in models/ptx/undefined.cat.
//!
//! Base causality order is not enough: a relaxed barrier of the cluster and a relaxed read of a flag put what comes behind
//! them after operations on mbarriers, and after loads and stores of which something shows that they are over. So there are
//! two clocks besides base causality order: whose instructions lie before in steps of this kind (`over-step`), and whose
//! loads and stores are over because a release that reaches out of their CTA was observed (`released`). Both are kept for
//! what is certain, and for what was so in this run but need not be in another.

use std::rc::Rc;

use super::clock::{Lane, Time, View, Warp, join};
use super::views::Known;

/// Whether every execution has a step, or this run has it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Certainty {
    Certain,
    Seen,
}

/// What lies before, beyond base causality order.
#[derive(Clone, Debug, Default)]
struct Before {
    /// By `over-step`.
    steps: View,
    /// Loads and stores that are over, by `released`.
    released: View,
}

/// What is known besides base causality order. Nothing is known where there is none.
#[derive(Clone, Debug, Default)]
pub struct Over {
    certain: Before,
    /// What this run has seen in addition.
    seen: Before,
    /// It depends on something that is not followed: anything may be over.
    unclear: bool,
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
    fn at(&mut self, certainty: Certainty) -> &mut Before {
        match certainty {
            Certainty::Certain => &mut self.certain,
            Certainty::Seen => &mut self.seen,
        }
    }

    fn include(&mut self, from: &Over, certainty: Certainty) {
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

impl Known {
    fn over_mut(&mut self) -> &mut Over {
        Rc::make_mut(self.over.get_or_insert_default())
    }

    /// A step of `over-step` from one who knew this.
    pub fn step_from(&mut self, from: &Known, certainty: Certainty) {
        let over = self.over_mut();
        join(&mut over.at(certainty).steps, &from.base.threads);
        if let Some(from) = &from.over {
            over.include(from, certainty);
        }
    }

    /// The same from an instruction of a lane.
    pub fn step_from_lane(&mut self, from: &Known, (warp, lane, time): (Warp, Lane, Time), certainty: Certainty) {
        self.step_from(from, certainty);
        Rc::make_mut(&mut self.over_mut().at(certainty).steps).raise(warp, 1 << lane, time);
    }

    /// A release in another CTA, in front of which this is known, was observed.
    pub fn released_elsewhere(&mut self, base: &View, certainty: Certainty) {
        join(&mut self.over_mut().at(certainty).released, base);
    }

    /// A wait for so many steps of an object was over, in front of this.
    pub fn has_passed(&mut self, object: super::clock::Object, steps: u32) {
        Rc::make_mut(&mut self.over_mut().certain.steps).complete(object, steps);
    }

    /// What comes here depends on something that is not followed.
    pub fn is_unclear(&mut self) {
        self.over_mut().unclear = true;
    }

    pub fn may_know_anything(&self) -> bool {
        self.over.as_ref().is_some_and(|over| over.unclear)
    }

    /// The clocks of what lies before by `over-step`.
    pub fn steps(&self, certainty: Certainty) -> impl Iterator<Item = &View> {
        let over = self.over.as_ref();
        let seen = over.filter(|_| certainty == Certainty::Seen).map(|over| &over.seen.steps);
        [Some(&self.base.threads), over.map(|over| &over.certain.steps), seen].into_iter().flatten()
    }

    /// Whether an instruction of a lane lies before by `over-step`.
    pub fn has_step(&self, (warp, lane, time): (Warp, Lane, Time), certainty: Certainty) -> bool {
        self.steps(certainty).any(|view| view.knows(warp, lane, time))
    }

    /// Whether a load or a store of a lane is over because a release behind it was observed.
    pub fn has_released(&self, (warp, lane, time): (Warp, Lane, Time), certainty: Certainty) -> bool {
        let knows = |view: &View| view.knows(warp, lane, time);
        self.over.as_ref().is_some_and(|over| {
            knows(&over.certain.released) || (certainty == Certainty::Seen && knows(&over.seen.released))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(warp: Warp, time: Time) -> Known {
        let mut known = Known::default();
        Rc::make_mut(&mut known.base.threads).raise(warp, 1, time);
        known
    }

    #[test]
    fn what_is_certain_where_it_was_seen_was_seen() {
        let (mut middle, mut last) = (Known::default(), Known::default());
        middle.step_from(&known(3, 5), Certainty::Certain);
        middle.released_elsewhere(&known(4, 2).base.threads, Certainty::Certain);
        assert!(middle.has_step((3, 0, 5), Certainty::Certain) && !middle.has_step((3, 0, 6), Certainty::Seen));
        last.step_from_lane(&middle, (7, 1, 9), Certainty::Seen);
        for (certainty, expected) in [(Certainty::Certain, false), (Certainty::Seen, true)] {
            assert_eq!(last.has_step((3, 0, 5), certainty), expected);
            assert_eq!(last.has_step((7, 1, 9), certainty), expected);
            assert_eq!(last.has_released((4, 0, 2), certainty), expected);
        }
        // A step is no release.
        assert!(!last.has_released((3, 0, 5), Certainty::Seen));
    }

    #[test]
    fn one_who_comes_after_both_knows_what_both_know() {
        let (mut one, mut other) = (Known::default(), Known::default());
        one.step_from(&known(3, 5), Certainty::Certain);
        other.step_from(&known(4, 2), Certainty::Seen);
        other.is_unclear();
        let (mut both, alone) = (one.over.clone(), one.over.clone());
        include(&mut both, &alone);
        assert!(same(&both, &alone));
        include(&mut both, &other.over);
        let both = Known { over: both, ..Known::default() };
        assert!(both.has_step((3, 0, 5), Certainty::Certain) && both.has_step((4, 0, 2), Certainty::Seen));
        assert!(!both.has_step((4, 0, 2), Certainty::Certain) && both.may_know_anything());
    }
}
