//! One candidate at a time: somebody else chose the traces and reads-from, and asks whether orders exist that make it
//! consistent.
//!
//! For checks that build event graphs themselves and ask about millions of them (compiler mappings). The orders are
//! searched as in `enumerate` (see there): Fence-SC one way for each pair, coherence total, or the smallest that a model
//! with partial coherence accepts. Nothing is reported but one pair of orders that works.

use fencepost_program::unfolding::{EventKind, Unfolding};
use fencepost_program::{EventId, TraceId};

use crate::base::{Candidate, is_in_sync_order, sync_orders};
use crate::bits::{Relation, kernel, ones};
use crate::evaluate::{Chosen, Evaluator, Stage};
use crate::model::{BaseRelation, CheckId, Coherence, DemandedRelation, Direction, FenceOrder, Model, NodeId};

type Pair = (usize, usize);

/// Orders that make a candidate consistent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FoundOrders {
    pub co: Vec<(EventId, EventId)>,
    pub sync_fence: Vec<(EventId, EventId)>,
}

/// Keeps its memory from one candidate to the next.
#[derive(Debug)]
pub struct Decider<'m> {
    model: &'m Model,
    evaluator: Evaluator<'m>,
    candidate: Candidate,
    traces: Vec<TraceId>,
    rf: Relation,
    location: Vec<usize>,
    fence_pairs: Vec<Pair>,
    last: Vec<usize>,
    /// The relations of the flags, one of which must be raised.
    raised: Vec<NodeId>,
}

#[derive(Clone, Debug, Default)]
struct State {
    co: Relation,
    fences: Relation,
    fences_closed: Relation,
    /// Pairs of writes that must be related.
    pairs: Vec<Pair>,
}

enum Next {
    Inconsistent,
    Complete,
    Fence(Pair),
    Coherence(Pair),
}

impl<'m> Decider<'m> {
    pub fn new(model: &'m Model) -> Decider<'m> {
        Decider::with_flags(model, Vec::new())
    }

    /// Asks for executions that raise one of these flags, which are about a relation that is not empty.
    pub fn raising(model: &'m Model, flags: &[CheckId]) -> Decider<'m> {
        Decider::with_flags(
            model,
            flags.iter().filter_map(|flag| model.checks.get(flag.index())).map(|check| check.node).collect(),
        )
    }

    fn with_flags(model: &'m Model, raised: Vec<NodeId>) -> Decider<'m> {
        Decider {
            model,
            evaluator: Evaluator::with_roots(model, &raised),
            candidate: Candidate::default(),
            traces: Vec::new(),
            rf: Relation::default(),
            location: Vec::new(),
            fence_pairs: Vec::new(),
            last: Vec::new(),
            raised,
        }
    }

    pub fn model(&self) -> &'m Model {
        self.model
    }

    /// Orders with which the candidate made of the first trace of each thread is consistent: with these reads-from edges,
    /// `(write, read)`, one per read, and these writes without a successor in coherence.
    pub fn decide(
        &mut self,
        unfolding: &Unfolding,
        rf: &[(EventId, EventId)],
        last: &[EventId],
    ) -> Option<FoundOrders> {
        let state = self.begin(unfolding, rf, last)?;
        self.search(state).map(|state| self.found(&state))
    }

    fn begin(&mut self, unfolding: &Unfolding, rf: &[(EventId, EventId)], last: &[EventId]) -> Option<State> {
        self.traces.clear();
        self.traces.extend(unfolding.threads.iter().filter_map(|thread| thread.traces.first()));
        self.candidate.choose(unfolding, &self.traces);
        if self.evaluator.begin(unfolding, &self.candidate).is_some() {
            return None;
        }
        let shape = self.candidate.shape;
        self.rf.reset(shape);
        for (write, read) in rf {
            if let (Some(write), Some(read)) = (self.candidate.local(*write), self.candidate.local(*read)) {
                self.rf.insert(write, read);
            }
        }
        self.last.clear();
        self.last.extend(last.iter().filter_map(|write| self.candidate.local(*write)));
        let mut state = State { co: Relation::empty(shape), ..State::default() };
        state.fences = Relation::empty(shape);
        state.fences_closed = Relation::empty(shape);
        self.pair_events(unfolding, &mut state);
        self.evaluator.set(BaseRelation::Rf, self.rf.bits());
        self.evaluator.set(BaseRelation::SyncFence, state.fences.bits());
        self.evaluator.set(BaseRelation::Co, state.co.bits());
        if self.evaluator.run(Stage::ReadsFrom, Stage::Barriers, Chosen::ReadsFrom).is_some() {
            return None;
        }
        Some(state)
    }

    /// Which writes and which fences can be ordered; initial and last writes are.
    fn pair_events(&mut self, unfolding: &Unfolding, state: &mut State) {
        let event = |index: usize| &unfolding.events[self.candidate.events[index].index()];
        let count = self.candidate.shape.events();
        self.location.clear();
        self.location.extend((0..count).map(|index| match &event(index).kind {
            EventKind::Write { location, .. } => location.index(),
            _ => usize::MAX,
        }));
        self.fence_pairs.clear();
        let ordered = self.model.fence_order() == FenceOrder::Ordered;
        for a in 0..count {
            for b in a + 1..count {
                if self.location[a] != usize::MAX && self.location[a] == self.location[b] {
                    // Init writes come first in a candidate.
                    if self.candidate.thread_of(a).is_none() {
                        state.co.insert(a, b);
                    } else if self.model.coherence == Coherence::Total {
                        state.pairs.push((a, b));
                    }
                }
                let both = ordered && is_in_sync_order(event(a)) && is_in_sync_order(event(b));
                if both && sync_orders(unfolding, event(a), event(b)) {
                    self.fence_pairs.push((a, b));
                }
            }
        }
    }

    fn search(&mut self, mut state: State) -> Option<State> {
        match self.propagate(&mut state) {
            Next::Inconsistent => None,
            Next::Complete => Some(state),
            Next::Fence((a, b)) => [(a, b), (b, a)].into_iter().find_map(|(from, to)| {
                let mut next = state.clone();
                order_fences(&mut next, from, to).then(|| self.search(next)).flatten()
            }),
            Next::Coherence((a, b)) => [(a, b), (b, a)].into_iter().find_map(|(from, to)| {
                let mut next = state.clone();
                order(&mut next.co, from, to).then(|| self.search(next)).flatten()
            }),
        }
    }

    /// Adds what the axioms demand, to a fixed point; what is to be decided next.
    fn propagate(&mut self, state: &mut State) -> Next {
        loop {
            self.evaluator.set(BaseRelation::SyncFence, state.fences.bits());
            if self.evaluator.run(Stage::Fences, Stage::Fences, Chosen::ReadsFrom).is_some() {
                return Next::Inconsistent;
            }
            let open = self.fence_pairs.iter().find(|(a, b)| !related(&state.fences, *a, *b)).copied();
            let changed = match self.demanded(state, open) {
                Some(changed) => changed,
                None => return Next::Inconsistent,
            };
            if !self.end_with_last(state) {
                return Next::Inconsistent;
            }
            let co = &state.co;
            state.pairs.retain(|(a, b)| !related(co, *a, *b));
            self.evaluator.set(BaseRelation::Co, state.co.bits());
            if self.evaluator.run(Stage::Coherence, Stage::Coherence, Chosen::ReadsFrom).is_some() {
                return Next::Inconsistent;
            }
            if changed {
                continue;
            }
            return match (open, state.pairs.first()) {
                (Some(pair), _) => Next::Fence(pair),
                (None, Some(pair)) => Next::Coherence(*pair),
                (None, None) => self.judge(),
            };
        }
    }

    /// Everything is chosen.
    fn judge(&mut self) -> Next {
        if self.evaluator.run_final().is_some() {
            return Next::Inconsistent;
        }
        let raises = |flag: &NodeId| !kernel::is_empty(self.evaluator.relation(*flag));
        if self.raised.is_empty() || self.raised.iter().any(raises) { Next::Complete } else { Next::Inconsistent }
    }

    /// The edges the axioms ask for; whether there were new ones, None if one cannot be.
    fn demanded(&mut self, state: &mut State, open: Option<Pair>) -> Option<bool> {
        let mut changed = false;
        if self.model.coherence == Coherence::Partial {
            state.pairs.clear();
        }
        let shape = self.candidate.shape;
        for demand in &self.model.demands {
            let plan = self.evaluator.plan();
            let settled = plan.stage(demand.wanted) < Stage::Fences || open.is_none();
            if !settled && !plan.grows_with_orders(demand.wanted) {
                continue;
            }
            let bits = self.evaluator.relation(demand.wanted);
            for from in 0..shape.events() {
                for to in ones(kernel::row(shape, bits, from)) {
                    match (demand.relation, demand.direction) {
                        (DemandedRelation::Co, Direction::Forward) => {
                            if !self.same_location(from, to) {
                                return None;
                            }
                            if !state.co.contains(from, to) {
                                changed = true;
                                if !order(&mut state.co, from, to) {
                                    return None;
                                }
                            }
                        }
                        (DemandedRelation::Co, Direction::EitherWay) => {
                            if !self.same_location(from, to) {
                                return None;
                            }
                            if self.model.coherence == Coherence::Partial {
                                state.pairs.push((from.min(to), from.max(to)));
                            }
                        }
                        (DemandedRelation::SyncFence, Direction::Forward) => {
                            if !state.fences.contains(from, to) {
                                changed = true;
                                let pair = (from.min(to), from.max(to));
                                if !self.fence_pairs.contains(&pair) || !order_fences(state, from, to) {
                                    return None;
                                }
                            }
                        }
                        (DemandedRelation::SyncFence, Direction::EitherWay) => {}
                    }
                }
            }
        }
        Some(changed)
    }

    fn same_location(&self, a: usize, b: usize) -> bool {
        a != b && self.location[a] != usize::MAX && self.location[a] == self.location[b]
    }

    /// The last writes have no successor, and come after those that they are to be ordered with.
    fn end_with_last(&self, state: &mut State) -> bool {
        for &write in &self.last {
            if state.co.has_successor(write) {
                return false;
            }
            for index in 0..state.pairs.len() {
                let (a, b) = state.pairs[index];
                if a == write || b == write {
                    let other = if a == write { b } else { a };
                    if !state.co.contains(other, write) && !order(&mut state.co, other, write) {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn found(&self, state: &State) -> FoundOrders {
        let name = |(a, b): Pair| (self.candidate.events[a], self.candidate.events[b]);
        FoundOrders { co: state.co.iter().map(name).collect(), sync_fence: state.fences.iter().map(name).collect() }
    }
}

fn related(relation: &Relation, a: usize, b: usize) -> bool {
    relation.contains(a, b) || relation.contains(b, a)
}

/// Adds an edge to a closed order, unless that goes against it.
fn order(relation: &mut Relation, from: usize, to: usize) -> bool {
    if from == to || relation.contains(to, from) {
        return false;
    }
    relation.add_closed(from, to);
    true
}

fn order_fences(state: &mut State, from: usize, to: usize) -> bool {
    let fits = order(&mut state.fences_closed, from, to);
    if fits {
        state.fences.insert(from, to);
    }
    fits
}
