//! Vector clocks: how much of every lane, and of every object, an agent knows to lie before it.
//!
//! A component per warp (the number of the last of its instructions that is known, for all lanes or for each) and one per
//! object: how many steps of a barrier or of an mbarrier are known to be complete. Clocks are shared: lanes that know
//! the same have the same clock.

use std::rc::Rc;

pub type Warp = u32;
pub type Lane = u32;
/// The number of an instruction of a warp, from 1. 0 is before all of them.
pub type Time = u32;
pub type Object = u32;

#[derive(Clone, PartialEq, Eq, Debug)]
enum Row {
    All(Time),
    Each(Box<[Time; 32]>),
}

impl Row {
    fn get(&self, lane: Lane) -> Time {
        match self {
            Row::All(time) => *time,
            Row::Each(times) => times[lane as usize],
        }
    }

    fn covers(&self, other: &Row) -> bool {
        match (self, other) {
            (Row::All(a), Row::All(b)) => a >= b,
            (Row::All(a), Row::Each(b)) => b.iter().all(|time| a >= time),
            (Row::Each(a), Row::All(b)) => a.iter().all(|time| time >= b),
            (Row::Each(a), Row::Each(b)) => a.iter().zip(b.iter()).all(|(a, b)| a >= b),
        }
    }

    fn join(&mut self, other: &Row) {
        if self.covers(other) {
            return;
        }
        if other.covers(self) {
            *self = other.clone();
            return;
        }
        let mut times = Box::new([0; 32]);
        for (lane, time) in times.iter_mut().enumerate() {
            *time = self.get(lane as Lane).max(other.get(lane as Lane));
        }
        *self = Row::Each(times);
    }

    fn raise(&mut self, lanes: u32, time: Time) {
        if lanes == u32::MAX {
            self.join(&Row::All(time));
            return;
        }
        let mut times = Box::new([0; 32]);
        for (lane, slot) in times.iter_mut().enumerate() {
            let own = self.get(lane as Lane);
            *slot = if lanes & (1 << lane) != 0 { own.max(time) } else { own };
        }
        *self = if times.iter().all(|time| *time == times[0]) { Row::All(times[0]) } else { Row::Each(times) };
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Clock {
    warps: Vec<Row>,
    steps: Vec<u32>,
}

impl Clock {
    /// Whether the instruction of this lane is known to lie before.
    #[inline]
    pub fn knows(&self, warp: Warp, lane: Lane, time: Time) -> bool {
        self.warps.get(warp as usize).is_some_and(|row| row.get(lane) >= time)
    }

    /// Whether anything of the warp is known.
    pub fn knows_any(&self, warp: Warp) -> bool {
        self.warps.get(warp as usize).is_some_and(|row| match row {
            Row::All(time) => *time > 0,
            Row::Each(times) => times.iter().any(|time| *time > 0),
        })
    }

    /// Whether it is known for all these lanes.
    #[inline]
    pub fn knows_all(&self, warp: Warp, lanes: u32, time: Time) -> bool {
        match self.warps.get(warp as usize) {
            None => lanes == 0 || time == 0,
            Some(Row::All(known)) => *known >= time,
            Some(Row::Each(known)) => {
                let mut left = lanes;
                while left != 0 {
                    if known[left.trailing_zeros() as usize] < time {
                        return false;
                    }
                    left &= left - 1;
                }
                true
            }
        }
    }

    /// How many steps of the object are known to be complete.
    #[inline]
    pub fn steps(&self, object: Object) -> u32 {
        self.steps.get(object as usize).copied().unwrap_or(0)
    }

    pub fn raise(&mut self, warp: Warp, lanes: u32, time: Time) {
        let index = warp as usize;
        if self.warps.len() <= index {
            self.warps.resize(index + 1, Row::All(0));
        }
        self.warps[index].raise(lanes, time);
    }

    pub fn complete(&mut self, object: Object, steps: u32) {
        let index = object as usize;
        if self.steps.len() <= index {
            self.steps.resize(index + 1, 0);
        }
        self.steps[index] = self.steps[index].max(steps);
    }

    pub fn covers(&self, other: &Clock) -> bool {
        let rows = other.warps.iter().enumerate().all(|(index, row)| match self.warps.get(index) {
            Some(own) => own.covers(row),
            None => Row::All(0).covers(row),
        });
        rows && other.steps.iter().enumerate().all(|(object, steps)| self.steps(object as Object) >= *steps)
    }

    /// Takes over what the other knows of objects.
    pub fn join_steps(&mut self, other: &Clock) {
        if self.steps.len() < other.steps.len() {
            self.steps.resize(other.steps.len(), 0);
        }
        for (own, steps) in self.steps.iter_mut().zip(&other.steps) {
            *own = (*own).max(*steps);
        }
    }

    pub fn join(&mut self, other: &Clock) {
        if self.warps.len() < other.warps.len() {
            self.warps.resize(other.warps.len(), Row::All(0));
        }
        for (own, row) in self.warps.iter_mut().zip(&other.warps) {
            own.join(row);
        }
        self.join_steps(other);
    }
}

/// A clock that several agents may share.
pub type View = Rc<Clock>;

/// The join of two views; where one covers the other it is that one, shared.
pub fn join(own: &mut View, other: &View) {
    if Rc::ptr_eq(own, other) || own.covers(other) {
        return;
    }
    if other.covers(own) {
        *own = Rc::clone(other);
        return;
    }
    Rc::make_mut(own).join(other);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(entries: &[(Warp, u32, Time)]) -> Clock {
        let mut clock = Clock::default();
        for (warp, lanes, time) in entries {
            clock.raise(*warp, *lanes, *time);
        }
        clock
    }

    #[test]
    fn a_lane_is_known_up_to_its_time() {
        let clock = clock(&[(1, 0b100, 5)]);
        assert!(clock.knows(1, 2, 5));
        assert!(!clock.knows(1, 2, 6));
        assert!(!clock.knows(1, 3, 1));
        assert!(!clock.knows(2, 2, 1));
        assert!(clock.knows_all(1, 0b100, 4));
        assert!(!clock.knows_all(1, 0b110, 4));
    }

    #[test]
    fn join_is_the_least_that_covers_both() {
        let mut a = clock(&[(0, 1, 3), (1, u32::MAX, 2)]);
        let b = clock(&[(0, 2, 4), (2, u32::MAX, 1)]);
        assert!(!a.covers(&b) && !b.covers(&a));
        a.join(&b);
        assert_eq!(a, clock(&[(0, 1, 3), (0, 2, 4), (1, u32::MAX, 2), (2, u32::MAX, 1)]));
    }

    #[test]
    fn views_are_shared_where_one_covers_the_other() {
        let small: View = Rc::new(clock(&[(0, 1, 3)]));
        let large: View = Rc::new(clock(&[(0, u32::MAX, 3)]));
        let mut view = Rc::clone(&small);
        join(&mut view, &large);
        assert!(Rc::ptr_eq(&view, &large));
        join(&mut view, &small);
        assert!(Rc::ptr_eq(&view, &large));
    }
}
