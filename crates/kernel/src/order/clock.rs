//! Vector clocks: how much of every lane, and of every object, an agent knows to lie before it.
//!
//! A component per warp (the number of the last of its instructions that is known, for all lanes or for each) and one per
//! object: how many steps of a barrier or of an mbarrier are known to be complete. Clocks are shared: lanes that know
//! the same have the same clock.
//!
//! Of a step it may also matter who waited for it: what a lane learns of its own copies by its own wait, no other
//! thread has handed over (reading warp-sync-async). So a step may carry the one lane whose waits tell of it.

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

/// A lane of the launch, from 1. 0 is nobody.
pub type Waiter = u32;

pub fn waiter(warp: Warp, lane: Lane) -> Waiter {
    warp * 32 + lane + 1
}

pub fn waiting_lane(waiter: Waiter) -> (Warp, Lane) {
    (waiter.saturating_sub(1) / 32, waiter.saturating_sub(1) % 32)
}

/// Whose waits tell of the last steps, and how many steps others tell of.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
struct Told {
    /// 0: whoever asks, all steps count.
    by: Waiter,
    others: u32,
}

impl Told {
    fn is_by(self, warp: Warp, lanes: u32) -> bool {
        let (of, lane) = waiting_lane(self.by);
        self.by != 0 && of == warp && lanes & (1 << lane) != 0
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Clock {
    warps: Vec<Row>,
    steps: Vec<u32>,
    /// As long as needed; what is beyond the end is nobody's.
    told: Vec<Told>,
}

impl Clock {
    /// Whether the instruction of this lane is known to lie before.
    #[inline]
    pub fn knows(&self, warp: Warp, lane: Lane, time: Time) -> bool {
        self.warps.get(warp as usize).is_some_and(|row| row.get(lane) >= time)
    }

    /// Whether it is known of one of these lanes.
    pub fn knows_any_of(&self, warp: Warp, lanes: u32, time: Time) -> bool {
        match self.warps.get(warp as usize) {
            None => false,
            Some(Row::All(known)) => lanes != 0 && *known >= time,
            Some(Row::Each(known)) => (0..32).any(|lane| lanes & (1 << lane) != 0 && known[lane] >= time),
        }
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

    /// How many of them count for an operation of the issuer, if a lane asks: what the issuer alone has waited for counts
    /// for itself only.
    #[inline]
    pub fn steps_told(&self, object: Object, issuer: Waiter, asked_by: Waiter) -> u32 {
        let told = self.told(object as usize);
        if told.by == 0 || told.by != issuer || told.by == asked_by { self.steps(object) } else { told.others }
    }

    /// Whether one who waits for so many steps learns of them, or of who tells of them.
    pub fn learns(&self, object: Object, steps: u32) -> bool {
        self.steps(object) < steps || self.told(object as usize).by != 0
    }

    pub fn complete(&mut self, object: Object, steps: u32) {
        self.complete_by(object, steps, 0);
    }

    /// The same, told by a wait of this lane.
    pub fn complete_by(&mut self, object: Object, steps: u32, by: Waiter) {
        let index = object as usize;
        if self.steps.len() <= index {
            self.steps.resize(index + 1, 0);
        }
        self.join_step(index, steps, Told { by, others: 0 });
    }

    /// What these lanes have waited for themselves counts as told by others: they hand it over.
    pub fn hand_over(&mut self, warp: Warp, lanes: u32) {
        self.told.iter_mut().filter(|told| told.is_by(warp, lanes)).for_each(|told| *told = Told::default());
    }

    /// The steps that only waits of these lanes tell of.
    pub fn told_by(&self, warp: Warp, lanes: u32) -> Vec<(Object, u32, Waiter)> {
        let own = self.told.iter().zip(&self.steps).enumerate().filter(|(_, (told, _))| told.is_by(warp, lanes));
        own.map(|(object, (told, steps))| (object as Object, *steps, told.by)).collect()
    }

    pub fn is_told_by(&self, warp: Warp, lanes: u32) -> bool {
        self.told.iter().any(|told| told.is_by(warp, lanes))
    }

    /// Whether at least as much is known, whoever told of it.
    #[cfg(debug_assertions)]
    pub fn covers_counts(&self, other: &Clock) -> bool {
        let nobody = |clock: &Clock| Clock { told: Vec::new(), ..clock.clone() };
        nobody(self).covers(&nobody(other))
    }

    fn told(&self, index: usize) -> Told {
        self.told.get(index).copied().unwrap_or_default()
    }

    /// How many steps count for an operation of this lane, if another asks.
    fn without(&self, index: usize, issuer: Waiter) -> u32 {
        let told = self.told(index);
        if told.by != 0 && told.by == issuer { told.others } else { self.steps.get(index).copied().unwrap_or(0) }
    }

    fn join_step(&mut self, index: usize, steps: u32, told: Told) {
        let (own, known) = (self.told(index), self.steps[index]);
        let others =
            |told: Told, steps: u32, by: Waiter| if told.by != 0 && told.by == by { told.others } else { steps };
        let by = if known >= steps { own.by } else { told.by };
        let most = known.max(steps);
        let second = if by == 0 { most } else { others(own, known, by).max(others(told, steps, by)) };
        self.steps[index] = most;
        let joined = if second >= most { Told::default() } else { Told { by, others: second } };
        if joined != own {
            if self.told.len() <= index {
                self.told.resize(index + 1, Told::default());
            }
            self.told[index] = joined;
        }
    }

    pub fn covers(&self, other: &Clock) -> bool {
        let rows = other.warps.iter().enumerate().all(|(index, row)| match self.warps.get(index) {
            Some(own) => own.covers(row),
            None => Row::All(0).covers(row),
        });
        let steps = || other.steps.iter().enumerate().all(|(object, steps)| self.steps(object as Object) >= *steps);
        // A step that one lane tells of counts less than one that others do.
        let told = || {
            let own = self.told.iter().enumerate().filter(|(_, told)| told.by != 0);
            own.into_iter().all(|(index, told)| told.others >= other.without(index, told.by))
        };
        rows && steps() && told()
    }

    /// Takes over what the other knows of objects.
    pub fn join_steps(&mut self, other: &Clock) {
        if self.steps.len() < other.steps.len() {
            self.steps.resize(other.steps.len(), 0);
        }
        if self.told.is_empty() && other.told.is_empty() {
            for (own, steps) in self.steps.iter_mut().zip(&other.steps) {
                *own = (*own).max(*steps);
            }
            return;
        }
        for (index, steps) in other.steps.iter().enumerate() {
            self.join_step(index, *steps, other.told(index));
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
    fn a_step_counts_for_those_whom_others_tell() {
        let told = |by: Waiter, steps: u32| {
            let mut clock = Clock::default();
            clock.complete_by(3, steps, by);
            clock
        };
        let own = told(7, 2);
        assert_eq!([own.steps_told(3, 7, 8), own.steps_told(3, 7, 7), own.steps_told(3, 9, 8)], [0, 2, 2]);
        let mut both = own.clone();
        both.join(&told(9, 1));
        assert_eq!([both.steps_told(3, 7, 8), both.steps_told(3, 9, 8)], [1, 2]);
        assert!(both.covers(&own) && both.covers(&told(9, 1)) && !own.covers(&both) && !told(9, 2).covers(&own));
        both.join(&told(9, 2));
        assert_eq!([both.steps_told(3, 7, 8), both.steps_told(3, 9, 8)], [2, 2]);
        assert!(both.covers(&told(0, 2)) && !own.covers(&told(0, 2)) && told(0, 2).covers(&own));
        let mut given = own;
        given.hand_over(0, 1 << 6);
        assert_eq!(given.steps_told(3, 7, 8), 2);
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
