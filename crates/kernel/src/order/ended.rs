//! What a thread learns of the end of accesses to shared memory of other CTAs, and what it knows of it ([`super::over`]).

use std::rc::Rc;

use super::clock::{Lane, Object, Time, View, Warp, join};
use super::over::{Certainty, Over};
use super::views::Known;

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
    pub fn has_passed(&mut self, object: Object, steps: u32) {
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
    use super::super::over::{include, same};
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
