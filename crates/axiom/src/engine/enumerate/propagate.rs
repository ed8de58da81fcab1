//! What follows from the orders chosen so far: the edges the model's axioms demand, those that acyclicity forces, and
//! those that what is observed of final memory needs. Every choice is followed by this, to a fixed point.

use fencepost_program::program::Term;

use super::Search;
use super::orders::{Edge, Pair, State, Step};
use super::values::Consistent;
use crate::bits::{Relation, kernel, ones_of};
use crate::evaluate::{Chosen, Occurrence, Stage};
use crate::model::{BaseRelation, Coherence, Demand, DemandedRelation, Direction, NodeId};

impl Search<'_, '_> {
    /// Adds every edge that follows, until nothing does or a check fails. Leaves the evaluator with the state's values.
    pub(super) fn propagate(&mut self, state: &mut State) -> Consistent {
        let mut fences_changed = !self.work.orders.fence_pairs.is_empty();
        loop {
            // What was left unfinished says nothing: the search ends with its next node.
            if self.budget.ended().is_break() {
                return Consistent::No;
            }
            if fences_changed {
                self.evaluator.set(BaseRelation::SyncFence, state.fences.bits());
                if self.evaluator.run(Stage::Fences, Stage::Fences, Chosen::ReadsFrom).is_some() {
                    return Consistent::No;
                }
            }
            match self.demanded(state) {
                None => return Consistent::No,
                Some(Step::Fences) => {
                    fences_changed = true;
                    continue;
                }
                Some(Step::Coherence | Step::Nothing) => {}
            }
            if self.observed(state) == Consistent::No {
                return Consistent::No;
            }
            state.retain_open();
            self.evaluator.set(BaseRelation::Co, state.co.bits());
            if self.evaluator.run(Stage::Coherence, Stage::Coherence, Chosen::ReadsFrom).is_some() {
                return Consistent::No;
            }
            match self.forced_by_acyclicity(state, Chosen::ReadsFrom) {
                None => return Consistent::No,
                Some(Step::Nothing) => return Consistent::Yes,
                Some(step) => fences_changed = step == Step::Fences,
            }
        }
    }

    /// The edges the model's axioms ask for; None if one cannot be.
    fn demanded(&mut self, state: &mut State) -> Option<Step> {
        let mut step = Step::Nothing;
        let fences_complete = self.work.orders.fence_pairs.iter().all(|pair| state.fences_ordered(*pair));
        if self.model.coherence == Coherence::Partial {
            state.pairs.clear();
        }
        let mut edges: Vec<Pair> = Vec::new();
        for demand in &self.model.demands {
            let plan = self.evaluator.plan();
            let settled = plan.stage(demand.wanted) < Stage::Fences || fences_complete;
            if !settled && !plan.grows_with_orders(demand.wanted) {
                continue;
            }
            let bits = self.evaluator.relation(demand.wanted);
            let words = self.work.candidate.shape.words();
            edges.clear();
            if demand.relation == DemandedRelation::Co && demand.direction == Direction::EitherWay {
                if words == 1 {
                    self.demand_either_of_all(state, bits)?;
                } else {
                    self.demand_either_of_long_rows(state, bits)?;
                }
                continue;
            }
            for (at, word) in bits.iter().enumerate() {
                // Coherence edges that are there ask for nothing.
                let there = if demand.relation == DemandedRelation::Co { state.co.bits()[at] } else { 0 };
                if word & !there == 0 {
                    continue;
                }
                for to in ones_of(at % words * 64, word & !there) {
                    let found = self.demand(state, demand, (at / words, to), &mut edges)?;
                    step = if found == Step::Nothing { step } else { found };
                }
            }
            if state.order_all(&edges) == Consistent::No {
                return None;
            }
        }
        Some(step)
    }

    /// Coherence edges are left to be added together.
    fn demand(&self, state: &mut State, demand: &Demand, (from, to): Pair, edges: &mut Vec<Pair>) -> Option<Step> {
        match (demand.relation, demand.direction) {
            (DemandedRelation::Co, Direction::Forward) => self.demand_coherence((from, to), edges),
            (DemandedRelation::SyncFence, Direction::Forward) => self.demand_fence(state, from, to),
            // Every pair in mutual scope is ordered anyway; the check itself judges the others. Those of coherence are
            // looked at row by row.
            (_, Direction::EitherWay) => Some(Step::Nothing),
        }
    }

    fn demand_coherence(&self, (from, to): Pair, edges: &mut Vec<Pair>) -> Option<Step> {
        if !self.work.orders.same_location(from, to) {
            return None;
        }
        edges.push((from, to));
        Some(Step::Coherence)
    }

    /// Remembers the pairs of a relation that are to be decided. None if one cannot be.
    fn demand_either_of_long_rows(&self, state: &mut State, wanted: &[u64]) -> Option<()> {
        let State { co, pairs, .. } = state;
        let (shape, is_partial) = (co.shape(), self.model.coherence == Coherence::Partial);
        for from in 0..shape.events() {
            let rows = kernel::row(shape, wanted, from).iter().zip(co.successors(from));
            for (at, (word, after)) in rows.enumerate() {
                for to in ones_of(at * 64, word & !after) {
                    if !self.work.orders.same_location(from, to) {
                        return None;
                    }
                    // A symmetric relation lists each pair twice.
                    let is_repeated =
                        || to < from && (kernel::contains(shape, wanted, to, from) || self.model_wants((to, from)));
                    if is_partial && !is_repeated() && !co.contains(to, from) {
                        pairs.push((from.min(to), from.max(to)));
                    }
                }
            }
        }
        Some(())
    }

    /// The same of a relation with rows of one word.
    fn demand_either_of_all(&self, state: &mut State, wanted: &[u64]) -> Option<()> {
        let State { co, pairs, .. } = state;
        let (shape, co) = (co.shape(), co.bits());
        let mut before = [0; 64];
        kernel::inverse(shape, &mut before[..shape.events()], co);
        for (from, (row, after)) in wanted.iter().zip(co).enumerate() {
            let missing = row & !after;
            if missing & !self.work.orders.others(from) != 0 {
                return None;
            }
            if self.model.coherence != Coherence::Partial {
                continue;
            }
            for to in ones_of(0, missing & !before[from]) {
                // A symmetric relation lists each pair twice.
                if from < to {
                    pairs.push((from, to));
                } else if wanted[to] >> from & 1 == 0 && !self.model_wants((to, from)) {
                    pairs.push((to, from));
                }
            }
        }
        Some(())
    }

    fn model_wants(&self, (a, b): Pair) -> bool {
        self.model.demands.iter().any(|demand| {
            demand.relation == DemandedRelation::Co
                && demand.direction == Direction::EitherWay
                && self.evaluator.contains(demand.wanted, a, b)
        })
    }

    fn demand_fence(&self, state: &mut State, from: usize, to: usize) -> Option<Step> {
        if state.fences.contains(from, to) {
            return Some(Step::Nothing);
        }
        let pair = (from.min(to), from.max(to));
        if self.work.orders.fence_pairs.binary_search(&pair).is_err() {
            return None;
        }
        (state.order(Edge::Fence(from, to)) == Consistent::Yes).then_some(Step::Fences)
    }

    /// What is observed of final memory: a write that must be co-maximal comes after those it is to be ordered with.
    fn observed(&mut self, state: &mut State) -> Consistent {
        for index in 0..self.work.orders.maximal.len() {
            if self.make_maximal(state, self.work.orders.maximal[index]) == Consistent::No {
                return Consistent::No;
            }
        }
        for index in 0..self.work.orders.memory_parts.len() {
            let (part, location) = self.work.orders.memory_parts[index];
            let mut fitting = None;
            let mut count = 0;
            for &write in self.work.orders.writes(location.index()) {
                if !state.co.has_successor(write) && self.part_holds(part, write) {
                    count += 1;
                    fitting = Some(write);
                }
            }
            match (count, fitting) {
                (0, _) => return Consistent::No,
                (1, Some(write)) if self.make_maximal(state, write) == Consistent::No => return Consistent::No,
                _ => {}
            }
        }
        Consistent::Yes
    }

    /// Whether a part of the condition can hold if its location ends with what this write wrote.
    fn part_holds(&self, part: usize, write: usize) -> bool {
        let holds = self.question.conjuncts[part].holds(&mut |term| match term {
            Term::Memory(_) => self.work.values.of(write),
            other => self.work.values.term(self.unfolding, &self.work.candidate, other),
        });
        holds != Some(false)
    }

    fn make_maximal(&self, state: &mut State, write: usize) -> Consistent {
        if state.co.has_successor(write) {
            return Consistent::No;
        }
        for index in 0..state.pairs.len() {
            let (a, b) = state.pairs[index];
            let other = if a == write { b } else { a };
            if (a == write || b == write) && state.order(Edge::Coherence(other, write)) == Consistent::No {
                return Consistent::No;
            }
        }
        Consistent::Yes
    }

    /// Where a chosen order is part of a relation that must be acyclic, a path in that relation decides a pair; so does a
    /// path in Fence-SC itself. None: both ways are closed.
    pub(super) fn forced_by_acyclicity(&mut self, state: &mut State, chosen: Chosen) -> Option<Step> {
        let fences_open = chosen > Chosen::Partly && !self.work.orders.fence_pairs.is_empty();
        let mut step = if fences_open { self.close_fences(state) } else { Step::Nothing };
        if state.pairs.is_empty() && !fences_open {
            return Some(step);
        }
        let mut closed = std::mem::take(&mut self.work.orders.closure);
        let mut closed_node = None;
        let limit = if chosen == Chosen::Partly { Stage::Static } else { Stage::Barriers };
        let mut possible = true;
        for occurrence in self.evaluator.plan().occurrences() {
            let known = occurrence.masks.iter().all(|mask| self.evaluator.plan().stage(*mask) <= limit);
            let useful = occurrence.relation == BaseRelation::Co || fences_open;
            if occurrence.needs > chosen || !known || !useful {
                continue;
            }
            if closed_node != Some(occurrence.node) {
                // A closure of long rows costs more than the rest of an evaluation.
                self.budget.spend(self.work.candidate.shape.events() as u32 / 64);
                self.close(state, fences_open, occurrence.node, &mut closed);
                closed_node = Some(occurrence.node);
            }
            match self.forced_at(state, occurrence, &closed) {
                Some(Step::Nothing) => {}
                Some(found) => step = if step == Step::Fences { step } else { found },
                None => {
                    possible = false;
                    break;
                }
            }
        }
        self.work.orders.closure = closed;
        possible.then_some(step)
    }

    /// The transitive closure of a relation that must be acyclic; of rows of one word, those of events in open pairs.
    fn close(&self, state: &State, fences_open: bool, node: NodeId, closed: &mut Relation) {
        let shape = self.work.candidate.shape;
        let relation = self.evaluator.relation(node);
        closed.reset(shape);
        if shape.words() != 1 {
            closed.bits_mut().copy_from_slice(relation);
            let watch = &self.budget.watch;
            return kernel::close_while(shape, closed.bits_mut(), &mut || !watch.is_over());
        }
        let fences: &[Pair] = if fences_open { &self.work.orders.fence_pairs } else { &[] };
        let mut rows = state.pairs.iter().chain(fences).fold(0u64, |rows, (a, b)| rows | 1 << a | 1 << b);
        while rows != 0 {
            let event = rows.trailing_zeros() as usize;
            closed.bits_mut()[event] = kernel::reached(relation, event);
            rows &= rows - 1;
        }
    }

    /// Pairs of fences that are ordered through others.
    fn close_fences(&self, state: &mut State) -> Step {
        let mut step = Step::Nothing;
        for &(a, b) in self.work.orders.fence_pairs.iter() {
            for (from, to) in [(a, b), (b, a)] {
                if state.fences_closed.contains(from, to) && !state.fences.contains(from, to) {
                    state.fences.insert(from, to);
                    step = Step::Fences;
                }
            }
        }
        step
    }

    /// The pairs that one occurrence of an order decides, `closed` being the closure of the relation it is part of.
    fn forced_at(&self, state: &mut State, occurrence: &Occurrence, closed: &Relation) -> Option<Step> {
        let coherence = occurrence.relation == BaseRelation::Co;
        if coherence && self.work.candidate.shape.words() == 1 {
            return self.forced_coherence(state, occurrence, closed);
        }
        let pairs = if coherence { state.pairs.len() } else { self.work.orders.fence_pairs.len() };
        let mut step = Step::Nothing;
        let mut edges: Vec<Pair> = Vec::new();
        for index in 0..pairs {
            let (a, b) = if coherence { state.pairs[index] } else { self.work.orders.fence_pairs[index] };
            // Most pairs are decided neither way.
            if !closed.contains(a, b) && !closed.contains(b, a) {
                continue;
            }
            if if coherence { state.related((a, b)) } else { state.fences_ordered((a, b)) } {
                continue;
            }
            for (from, to) in [(a, b), (b, a)] {
                // The edge the other way would close a cycle, if the masks let it into the relation.
                let inside = || occurrence.masks.iter().all(|mask| self.evaluator.contains(*mask, to, from));
                if closed.contains(from, to) && inside() {
                    step = if coherence { Step::Coherence } else { Step::Fences };
                    if coherence {
                        edges.push((from, to));
                    } else if state.order(Edge::Fence(from, to)) == Consistent::No {
                        return None;
                    }
                }
            }
        }
        (state.order_all(&edges) == Consistent::Yes).then_some(step)
    }

    /// The same of coherence with rows of one word, row by row.
    fn forced_coherence(&self, state: &mut State, occurrence: &Occurrence, closed: &Relation) -> Option<Step> {
        // Under total coherence every two writes of a location that are not related yet are a pair.
        let is_total = self.model.coherence == Coherence::Total;
        let mut open = [0u64; 64];
        if !is_total {
            for &(a, b) in &state.pairs {
                open[a] |= 1 << b;
                open[b] |= 1 << a;
            }
        }
        let mut edges: Vec<Pair> = Vec::new();
        for (from, (&row, after)) in closed.bits().iter().zip(state.co.bits()).enumerate() {
            let open = if is_total { self.work.orders.others(from) & !after } else { open[from] };
            for to in ones_of(0, row & open) {
                let inside = || occurrence.masks.iter().all(|mask| self.evaluator.contains(*mask, to, from));
                if !state.related((from, to)) && inside() {
                    edges.push((from, to));
                }
            }
        }
        let step = if edges.is_empty() { Step::Nothing } else { Step::Coherence };
        (state.order_all(&edges) == Consistent::Yes).then_some(step)
    }
}
