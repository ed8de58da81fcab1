//! Reads-from by propagation, for many reads: after every choice, the model itself says which other choices are left.
//!
//! With part of reads-from chosen, the model is evaluated once, forwards and backwards ([`Adjoint`]). Forwards it gives
//! the coherence edges its axioms demand already; backwards the reads-from and coherence edges that would violate a
//! check. Sources that are ruled out, or whose known value fails a test of the read, are dropped; a read with one source
//! left is assigned, a pair of writes with one order left is ordered; until nothing changes. Then the read with the
//! fewest sources is chosen. Chains of read-modify-writes with computed values (mbarriers) are found in the order of
//! causality this way, and values become known along them.
//!
//! A thread that is stuck for good reads writes that nothing is coherence-after. Where one is looked for, its reads lose the
//! sources that are overtaken already, and of reads that are as good to choose the one at its location is chosen: whether it
//! can be stuck there is mostly decided by that location alone, and in whatever order the arrivals at another mbarrier come.
//!
//! Tried and rejected: trying each source by itself (failed literals), which finds a little more and costs an
//! evaluation each.

use fencepost_program::unfolding::TraceEnd;

use super::budget::Flow;
use super::values::Consistent;
use super::{Progress, Search};
use crate::bits::{Relation, kernel, ones_of};
use crate::engine::Ends;
use crate::evaluate::Chosen;
use crate::model::{BaseRelation, DemandedRelation, Direction};

/// What is left to choose, at one level of the search. What a round looks at is found by words and not pair by pair: a hundred
/// exchanges have ten thousand choices and five thousand pairs of writes, and most are decided by the time a round begins.
#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    /// From each write to the reads that may still read from it and have no source yet.
    may: Relation,
    /// By open read: how many sources it has there.
    left: Vec<usize>,
    co: Relation,
    /// Both ways of each pair of writes that every execution relates, but for some that are related in `co`.
    undecided: Relation,
    /// The reads assigned at this level, in order.
    assigned: Vec<usize>,
}

impl Level {
    /// Bytes held.
    fn memory(&self) -> u64 {
        let words = self.may.bits().len() + self.co.bits().len() + self.undecided.bits().len();
        ((self.left.len() + words) * size_of::<u64>()) as u64
    }

    /// An open read does not read from this write.
    fn forget(&mut self, open: usize, (write, read): (usize, usize)) {
        self.may.remove(write, read);
        self.left[open] -= 1;
    }
}

impl Search<'_, '_> {
    /// Searches the open reads; those that are pinned are assigned.
    pub(super) fn narrow_reads(&mut self) -> Flow {
        self.find_spinning();
        let mut level = self.first_level();
        // Beside the choices: what the evaluation backwards needs.
        let held = level.memory() + 2 * self.evaluator.memory();
        self.budget.enter(held)?;
        let mark = self.work.values.mark();
        let flow = match self.narrow(&mut level) {
            Consistent::Yes => self.narrow_next(&level),
            Consistent::No => self.budget.ended(),
        };
        self.take_back(&level);
        self.work.values.undo(mark);
        self.budget.leave(held);
        flow
    }

    fn first_level(&self) -> Level {
        let mut may = Relation::empty(self.work.candidate.shape);
        for (read, sources) in &self.work.reads.open {
            sources.iter().for_each(|&write| may.insert(write, *read));
        }
        let mut undecided = Relation::empty(self.work.candidate.shape);
        for &(a, b) in &self.work.orders.ordered_pairs {
            undecided.insert(a, b);
            undecided.insert(b, a);
        }
        let left = self.work.reads.open.iter().map(|(_, sources)| sources.len()).collect();
        Level { may, left, co: self.work.orders.root.clone(), undecided, assigned: Vec::new() }
    }

    /// What an open read may still read from, ascending.
    fn sources(&self, level: &Level, open: usize) -> Vec<usize> {
        let (read, sources) = &self.work.reads.open[open];
        sources.iter().copied().filter(|&write| level.may.contains(write, *read)).collect()
    }

    /// The reads that a stuck thread repeats, of those that are open or pinned.
    pub(super) fn find_spinning(&mut self) {
        self.work.reads.spinning.clear();
        if self.ends != Ends::Stuck {
            return;
        }
        for trace in &self.work.candidate.traces {
            if let TraceEnd::Spin { reads, .. } = &self.unfolding.traces[trace.index()].end {
                self.work.reads.spinning.extend(reads.iter().filter_map(|read| self.work.candidate.local(*read)));
            }
        }
    }

    /// Whether a stuck thread waits for something at the location of this read.
    fn is_awaited(&self, read: usize) -> bool {
        let location = self.work.reads.location[read];
        self.work.reads.spinning.iter().any(|&spinning| self.work.reads.location[spinning] == location)
    }

    /// What follows from stuck threads reading writes that nothing is coherence-after ([`crate::engine::Ends::Stuck`]):
    /// a source with a successor is none, and what must be ordered with the source that is read comes before it. The
    /// edges of a level are in every execution below it, so nothing is lost. Whether something is new, None if a read
    /// has no source left.
    fn settle_spinning(&self, level: &mut Level) -> Option<bool> {
        let mut found = false;
        for &read in &self.work.reads.spinning {
            let source = self.work.reads.source[read];
            if source == usize::MAX {
                let Some(open) = self.work.reads.open.iter().position(|(open, _)| *open == read) else { continue };
                let before = level.left[open];
                for write in self.sources(level, open) {
                    if level.co.has_successor(write) {
                        level.forget(open, (write, read));
                    }
                }
                found |= level.left[open] < before;
                if level.left[open] == 0 {
                    return None;
                }
                continue;
            }
            if level.co.has_successor(source) {
                return None;
            }
            for &(a, b) in &self.work.orders.ordered_pairs {
                let other = if a == source { b } else { a };
                if (a == source || b == source) && !level.co.contains(other, source) {
                    level.co.add_closed(other, source);
                    found = true;
                }
            }
        }
        Some(found)
    }

    fn narrow_next(&mut self, level: &Level) -> Flow {
        self.budget.tick(1)?;
        if !self.is_new_class(None)? {
            return Flow::Continue(());
        }
        let Some(open) = self.next_read(level) else {
            let root = self.work.orders.root.clone();
            self.work.orders.root.assign(&level.co);
            let flow = self.reads_chosen();
            self.work.orders.root = root;
            return flow;
        };
        let read = self.work.reads.open[open].0;
        let held = level.memory();
        self.budget.enter(held)?;
        let sources = self.sources(level, open);
        for &write in &sources {
            if self.shares_source(write, read) || !self.is_new_class(Some((write, read)))? {
                continue;
            }
            let mut next = level.clone();
            next.assigned.clear();
            sources.iter().filter(|other| **other != write).for_each(|&other| next.forget(open, (other, read)));
            let mark = self.work.values.mark();
            let flow = match self.narrow(&mut next) {
                Consistent::Yes => self.narrow_next(&next),
                Consistent::No => self.budget.ended(),
            };
            self.take_back(&next);
            self.work.values.undo(mark);
            flow?;
        }
        self.budget.leave(held);
        Flow::Continue(())
    }

    /// The open read with the fewest sources, where one counts twice whose value is not known: that no value rules it out
    /// yet says little. In a ring of one stage, what the arrivals of the next round find is known only after the waits at the
    /// other mbarrier have ordered the rounds; chosen before, each order of all arrivals is searched (six rounds: 0.1 s
    /// against half a minute and more). Reads that only look come after those that decide something: whatever they see, the
    /// rest stays possible. The order of choices is no part of what is found.
    fn next_read(&self, level: &Level) -> Option<usize> {
        let open =
            (0..level.left.len()).filter(|&open| self.work.reads.source[self.work.reads.open[open].0] == usize::MAX);
        let is_unknown =
            |event: &usize| self.work.orders.written(*event).is_some() && self.work.values.of(*event).is_none();
        let unknown: Vec<usize> = (0..self.work.candidate.shape.events()).filter(is_unknown).collect();
        open.min_by_key(|&open| {
            let read = self.work.reads.open[open].0;
            let sources = level.left[open];
            let unknown = unknown.iter().filter(|write| level.may.contains(**write, read)).count();
            let decides = self.work.reads.partner[read] != usize::MAX || self.work.values.decides(read);
            (!decides, sources + unknown, !self.is_awaited(read), sources)
        })
    }

    /// Whether another read-modify-write reads from the write already, and the two cannot both.
    fn shares_source(&mut self, write: usize, read: usize) -> bool {
        if self.work.reads.partner[read] == usize::MAX {
            return false;
        }
        let rival = |&other: &usize| {
            other != read && self.work.reads.source[other] == write && self.work.reads.partner[other] != usize::MAX
        };
        let rivals: Vec<usize> = self.work.reads.all.iter().copied().filter(rival).collect();
        rivals.into_iter().any(|other| self.exclusive(write, other, read))
    }

    /// Whether two reads cannot read from one write; kept, since it does not depend on the other choices.
    fn exclusive(&mut self, write: usize, a: usize, b: usize) -> bool {
        let key = (write, a.min(b), a.max(b));
        if let Some(known) = self.work.reads.exclusive.get(&key) {
            return *known;
        }
        let answer = !self.go_together((write, a), (write, b));
        self.work.reads.exclusive.insert(key, answer);
        answer
    }

    fn take_back(&mut self, level: &Level) {
        for &read in level.assigned.iter().rev() {
            let write = self.work.reads.source[read];
            self.work.values.unassign(write);
            self.work.reads.relation.remove(write, read);
            self.work.reads.source[read] = usize::MAX;
        }
    }

    /// What follows from the choices made, to a fixed point.
    fn narrow(&mut self, level: &mut Level) -> Consistent {
        loop {
            if self.assign_single(level) == Consistent::No {
                return Consistent::No;
            }
            self.budget.spend(1);
            let co = std::mem::take(&mut level.co);
            let violated = self.check_partly(&co);
            level.co = co;
            // What was left unfinished says nothing: the search ends with its next node.
            if self.budget.ended().is_break() || violated.is_some() || !self.can_raise(Progress::Partial) {
                return Consistent::No;
            }
            let Some(demanded) = self.demanded_partly(level) else { return Consistent::No };
            let Some(settled) = self.settle_spinning(level) else { return Consistent::No };
            if demanded || settled {
                continue;
            }
            let mut adjoint = std::mem::take(&mut self.work.orders.adjoint);
            adjoint.run(&self.evaluator, Chosen::Partly);
            let dropped = adjoint.ruled_out(&self.evaluator, BaseRelation::Rf).is_some_and(|bad| self.drop(level, bad));
            let ordered = match adjoint.ruled_out(&self.evaluator, BaseRelation::Co) {
                Some(bad) => self.order_forced(level, bad),
                None => Some(false),
            };
            self.work.orders.adjoint = adjoint;
            match ordered {
                None => return Consistent::No,
                Some(false) if !dropped => return Consistent::Yes,
                Some(_) => {}
            }
        }
    }

    /// Drops sources whose value fails, and assigns the reads that have one source left.
    fn assign_single(&mut self, level: &mut Level) -> Consistent {
        loop {
            let mut changed = false;
            for open in 0..level.left.len() {
                let read = self.work.reads.open[open].0;
                if self.work.reads.source[read] != usize::MAX {
                    continue;
                }
                if self.work.values.decides(read) {
                    for write in self.sources(level, open) {
                        if !self.value_passes(write, read) {
                            level.forget(open, (write, read));
                        }
                    }
                }
                if level.left[open] > 1 {
                    continue;
                }
                let Some(&write) = self.sources(level, open).first() else { return Consistent::No };
                level.forget(open, (write, read));
                level.assigned.push(read);
                changed = true;
                if self.assign(write, read) == Consistent::No {
                    return Consistent::No;
                }
            }
            if !changed {
                return Consistent::Yes;
            }
        }
    }

    /// Drops sources that a check rules out; whether there are any.
    fn drop(&self, level: &mut Level, bad: &[u64]) -> bool {
        let words = self.work.candidate.shape.words();
        let mut dropped = false;
        for (at, (may, bad)) in level.may.bits_mut().iter_mut().zip(bad).enumerate() {
            let gone = *may & bad;
            if gone == 0 {
                continue;
            }
            *may &= !gone;
            dropped = true;
            for read in ones_of(at % words * 64, gone) {
                if let Ok(open) = self.work.reads.open.binary_search_by_key(&read, |(read, _)| *read) {
                    level.left[open] -= 1;
                }
            }
        }
        dropped
    }

    /// Coherence edges that axioms demand whatever else is chosen; whether there are new ones, None if one cannot be.
    fn demanded_partly(&self, level: &mut Level) -> Option<bool> {
        let words = self.work.candidate.shape.words();
        let mut edges = Vec::new();
        for demand in &self.model.demands {
            let is_forward = demand.relation == DemandedRelation::Co && demand.direction == Direction::Forward;
            if !is_forward || !self.evaluator.plan().is_monotone(demand.wanted) {
                continue;
            }
            let wanted = self.evaluator.relation(demand.wanted);
            for (at, (wanted, co)) in wanted.iter().zip(level.co.bits()).enumerate() {
                let from = at / words;
                for to in ones_of(at % words * 64, wanted & !co) {
                    if !self.work.orders.same_location(from, to) || level.co.contains(to, from) {
                        return None;
                    }
                    edges.push((from, to));
                }
            }
        }
        level.co.add_all_closed(&edges).then_some(!edges.is_empty())
    }

    /// Pairs of writes that every execution orders, with one order ruled out; whether there are any, None if both are.
    fn order_forced(&self, level: &mut Level, bad: &[u64]) -> Option<bool> {
        let words = self.work.candidate.shape.words();
        let mut edges = Vec::new();
        for (at, bad_here) in bad.iter().enumerate() {
            let from = at / words;
            for to in ones_of(at % words * 64, bad_here & level.undecided.bits()[at]) {
                if level.co.contains(from, to) || level.co.contains(to, from) {
                    level.undecided.remove(from, to);
                    level.undecided.remove(to, from);
                } else if kernel::contains(self.work.candidate.shape, bad, to, from) {
                    return None;
                } else {
                    edges.push((to, from));
                }
            }
        }
        level.co.add_all_closed(&edges).then_some(!edges.is_empty())
    }

    /// With what is known of the write's value: whether the read may have it.
    fn value_passes(&self, write: usize, read: usize) -> bool {
        let Some(value) = self.work.values.of(write) else { return true };
        self.work.values.passes(self.unfolding, &self.work.candidate, &self.question, read, value)
    }
}
