//! The orders: Fence-SC and coherence, searched pair by pair.
//!
//! Coherence starts from the init writes and is kept transitively closed. A model with total coherence decides every
//! pair of writes to a location. A model with partial coherence gets the smallest coherence it accepts (rules of the
//! Dartagnan dialect, PTX ISA 8.9.6): the edges its axioms demand, and one way for each pair they want related either
//! way. Two branches differ in the direction of a pair, so no execution is found twice. Fence-SC orders every pair of
//! `fence.sc` in mutual scope, acyclically, and is not closed; a model that never looks at it gets none.

use fencepost_program::LocationId;
use fencepost_program::program::Term;
use fencepost_program::unfolding::{BarrierMatching, EventKind, TraceEnd};

use super::budget::Flow;
use super::symmetry;
use super::values::Consistent;
use super::{Progress, Search};
use crate::base::{is_in_sync_order, sync_orders};
use crate::bits::{Relation, Shape, kernel};
use crate::engine::Ends;
use crate::evaluate::{Adjoint, Chosen, Pruning, Stage};
use crate::model::{BaseRelation, Coherence, Demand, DemandedRelation, Direction, FenceOrder, NodeId};

/// With more undecided pairs than this, each is tried both ways before branching.
pub(super) const PROBE_ABOVE: usize = 4;
/// With more than this, one way to order all of them is tried first.
pub(super) const GUESS_ABOVE: usize = 16;

/// A pair of events, by local number, smaller first where the direction is open.
pub(super) type Pair = (usize, usize);

/// What a propagation step found.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Nothing,
    /// New coherence edges only.
    Coherence,
    Fences,
}

/// The part of the orders that one choice of traces (and of reads-from) fixes, and the stack of the search.
#[derive(Debug, Default)]
pub(super) struct Orders {
    pub(super) nothing: Relation,
    /// Coherence that holds in every execution of these traces.
    pub(super) root: Relation,
    /// Writes by location, the init write first.
    writes: Vec<Vec<usize>>,
    /// Location of each local write, `usize::MAX` for other events.
    location: Vec<usize>,
    /// The other writes to the location of each local write, where rows have one word.
    others: Vec<u64>,
    /// Pairs of writes to one location that `root` leaves open.
    open: Vec<Pair>,
    pub(super) fence_pairs: Vec<Pair>,
    /// Threads that may be interchangeable.
    classes: Vec<Vec<usize>>,
    pub(super) has_barriers: bool,
    pub(super) matching: BarrierMatching,
    pub(super) syncbar: Relation,
    pub(super) exitbar: Relation,
    pub(super) generations: Relation,
    /// Whether the traces alone decide which barriers meet: `matching` and `syncbar` are set then ([`super::barriers`]).
    pub(super) is_matched: bool,
    /// Of `syncbar`, what is in every execution of these traces.
    pub(super) met: Relation,
    /// The same of `exitbar`.
    pub(super) left: Relation,
    /// The same of `generations`.
    pub(super) succeeded: Relation,
    pub(super) weight: u64,
    /// Writes that spinning reads observe: nothing may be coherence-after them.
    pub(super) maximal: Vec<usize>,
    /// Parts of the condition about the final value of one location.
    pub(super) memory_parts: Vec<(usize, LocationId)>,
    /// By level. Who works on one has it meanwhile.
    states: Vec<Option<Box<State>>>,
    pub(super) closure: Relation,
    /// Pairs of `open` that every execution of these traces relates.
    pub(super) ordered_pairs: Vec<Pair>,
    pub(super) adjoint: Adjoint,
}

impl Orders {
    /// Every two writes of a location but its first, which is before all.
    fn open_pairs(&mut self) {
        self.open.clear();
        for writes in &self.writes {
            for (at, &a) in writes.iter().enumerate().skip(1) {
                self.open.extend(writes[at + 1..].iter().map(|&b| (a, b)));
            }
        }
    }

    /// The writes to a location, the init write first.
    pub(super) fn writes(&self, location: usize) -> &[usize] {
        self.writes.get(location).map_or(&[], Vec::as_slice)
    }

    /// The location that an event writes.
    pub(super) fn written(&self, event: usize) -> Option<usize> {
        self.location.get(event).copied().filter(|location| *location != usize::MAX)
    }

    /// The events that a coherence edge from this one could lead to, where rows have one word.
    pub(super) fn others(&self, event: usize) -> u64 {
        self.others[event]
    }

    /// Finds [`Orders::others`].
    fn find_others(&mut self, shape: Shape) {
        self.others.clear();
        if shape.words() == 1 {
            self.others.resize(shape.events(), 0);
            for writes in &self.writes {
                let all = writes.iter().fold(0u64, |all, write| all | 1 << write);
                writes.iter().for_each(|&write| self.others[write] = all & !(1 << write));
            }
        }
    }

    /// Whether an edge could be a coherence edge.
    pub(super) fn same_location(&self, a: usize, b: usize) -> bool {
        a != b && self.location[a] != usize::MAX && self.location[a] == self.location[b]
    }
}

/// The orders chosen so far.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) co: Relation,
    pub(super) fences: Relation,
    pub(super) fences_closed: Relation,
    /// Pairs of writes that must be related and are not.
    pub(super) pairs: Vec<Pair>,
}

impl State {
    /// Bytes held.
    fn memory(&self) -> u64 {
        let words = self.co.bits().len() + self.fences.bits().len() + self.fences_closed.bits().len();
        (words * size_of::<u64>() + self.pairs.len() * size_of::<Pair>()) as u64
    }

    fn assign(&mut self, other: &State) {
        self.co.assign(&other.co);
        self.fences.assign(&other.fences);
        self.fences_closed.assign(&other.fences_closed);
        self.pairs.clone_from(&other.pairs);
    }

    pub(super) fn order(&mut self, edge: Edge) -> Consistent {
        let ((from, to), relation) = match edge {
            Edge::Coherence(from, to) => ((from, to), &mut self.co),
            Edge::Fence(from, to) => ((from, to), &mut self.fences_closed),
        };
        if from == to || relation.contains(to, from) {
            return Consistent::No;
        }
        relation.add_closed(from, to);
        if let Edge::Fence(from, to) = edge {
            self.fences.insert(from, to);
        }
        Consistent::Yes
    }

    /// Adds coherence edges.
    pub(super) fn order_all(&mut self, edges: &[Pair]) -> Consistent {
        if self.co.add_all_closed(edges) { Consistent::Yes } else { Consistent::No }
    }

    pub(super) fn fences_ordered(&self, (a, b): Pair) -> bool {
        self.fences.contains(a, b) || self.fences.contains(b, a)
    }

    pub(super) fn related(&self, (a, b): Pair) -> bool {
        self.co.contains(a, b) || self.co.contains(b, a)
    }

    pub(super) fn retain_open(&mut self) {
        let co = &self.co;
        if co.shape().words() == 1 {
            let rows = co.bits();
            return self.pairs.retain(|&(a, b)| (rows[a] >> b | rows[b] >> a) & 1 == 0);
        }
        self.pairs.retain(|&(a, b)| !co.contains(a, b) && !co.contains(b, a));
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Edge {
    Coherence(usize, usize),
    Fence(usize, usize),
}

impl Edge {
    fn reversed(self) -> Edge {
        match self {
            Edge::Coherence(a, b) => Edge::Coherence(b, a),
            Edge::Fence(a, b) => Edge::Fence(b, a),
        }
    }
}

impl Search<'_, '_> {
    /// Called once per choice of traces, after the evaluator has begun; false if the traces alone are inconsistent.
    pub(super) fn prepare_orders(&mut self) -> bool {
        if self.budget.ended().is_break() {
            return false;
        }
        let (unfolding, candidate) = (self.unfolding, &self.work.candidate);
        let shape = candidate.shape;
        let orders = &mut self.work.orders;
        orders.nothing.reset(shape);
        orders.syncbar.reset(shape);
        orders.exitbar.reset(shape);
        orders.generations.reset(shape);
        orders.matching = BarrierMatching::default();
        orders.is_matched = false;
        orders.met.reset(shape);
        orders.left.reset(shape);
        orders.succeeded.reset(shape);
        orders.root.reset(shape);
        orders.writes.iter_mut().for_each(Vec::clear);
        if orders.writes.len() < unfolding.locations.len() {
            orders.writes.resize(unfolding.locations.len(), Vec::new());
        }
        orders.location.clear();
        orders.location.resize(shape.events(), usize::MAX);
        orders.fence_pairs.clear();
        orders.has_barriers = false;
        let mut fences: Vec<usize> = Vec::new();
        for (index, id) in candidate.events.iter().enumerate() {
            let event = &unfolding.events[id.index()];
            if is_in_sync_order(event) {
                fences.push(index);
            }
            match &event.kind {
                EventKind::Write { location, .. } => {
                    orders.location[index] = location.index();
                    let writes = &mut orders.writes[location.index()];
                    if let Some(&init) = writes.first() {
                        orders.root.insert(init, index);
                    }
                    writes.push(index);
                }
                EventKind::Barrier(_) => orders.has_barriers = true,
                EventKind::Read { .. } | EventKind::Fence | EventKind::Issue | EventKind::Omitted(_) => {}
            }
        }
        if self.model.fence_order() == FenceOrder::Ordered {
            self.pair_fences(&fences);
        }
        if !self.match_early() {
            return false;
        }
        self.work.orders.open_pairs();
        self.work.orders.find_others(shape);
        self.work.orders.classes = symmetry::classes(unfolding, &self.work.candidate, &self.question);
        self.find_memory_parts();
        self.find_ordered_pairs();
        self.extend_root() && self.budget.ended().is_continue()
    }

    /// Finds the open pairs that every execution relates, as far as the traces say.
    fn find_ordered_pairs(&mut self) {
        let (shape, orders) = (self.work.candidate.shape, &mut self.work.orders);
        orders.ordered_pairs.clear();
        if self.model.coherence == Coherence::Total {
            orders.ordered_pairs.extend_from_slice(&orders.open);
            return;
        }
        let (evaluator, demands) = (&self.evaluator, &self.model.demands);
        let is_known = |demand: &&Demand| {
            demand.relation == DemandedRelation::Co
                && demand.direction == Direction::EitherWay
                && evaluator.plan().stage(demand.wanted) == Stage::Static
        };
        let wanted: Vec<&[u64]> =
            demands.iter().filter(is_known).map(|demand| evaluator.relation(demand.wanted)).collect();
        let holds = |a: usize, b: usize| wanted.iter().any(|bits| kernel::contains(shape, bits, a, b));
        orders.ordered_pairs.extend(orders.open.iter().filter(|(a, b)| holds(*a, *b) || holds(*b, *a)));
    }

    fn pair_fences(&mut self, fences: &[usize]) {
        let (unfolding, candidate) = (self.unfolding, &self.work.candidate);
        let event = |index: usize| &unfolding.events[candidate.events[index].index()];
        for (at, &a) in fences.iter().enumerate() {
            let later = fences[at + 1..].iter().filter(|&&b| sync_orders(unfolding, event(a), event(b)));
            self.work.orders.fence_pairs.extend(later.map(|&b| (a, b)));
        }
    }

    fn find_memory_parts(&mut self) {
        self.work.orders.memory_parts.clear();
        for index in 0..self.question.conjuncts.len() {
            let mut locations = self.question.terms(index).iter().filter_map(|term| match term {
                Term::Memory(location) => Some(*location),
                Term::Constant(_) | Term::Register(..) => None,
            });
            if let (Some(location), None) = (locations.next(), locations.next()) {
                self.work.orders.memory_parts.push((index, location));
            }
        }
    }

    /// Adds the coherence edges that acyclicity forces whatever is read (program order of writes to one location).
    fn extend_root(&mut self) -> bool {
        let mut root = std::mem::take(&mut self.work.orders.root);
        let possible = self.extend_partly(&mut root);
        self.work.orders.root = root;
        let Orders { root, open, ordered_pairs, .. } = &mut self.work.orders;
        let is_open = |&(a, b): &Pair| !root.contains(a, b) && !root.contains(b, a);
        open.retain(is_open);
        ordered_pairs.retain(is_open);
        possible
    }

    /// Adds the coherence edges that acyclicity forces with the reads chosen so far; false if a check fails. Leaves the
    /// evaluator with the values.
    pub(super) fn extend_partly(&mut self, co: &mut Relation) -> bool {
        let mut state = State { co: std::mem::take(co), ..State::default() };
        let mut possible = true;
        if self.evaluator.plan().prunes_reads_from() == Pruning::Some {
            state.pairs.extend_from_slice(&self.work.orders.ordered_pairs);
        }
        // Edges that are missing where a limit ends this are found by nobody: the search ends with its next node.
        while !state.pairs.is_empty() && self.budget.check().is_continue() {
            state.retain_open();
            possible = self.check_partly(&state.co).is_none();
            let step = if possible { self.forced_by_acyclicity(&mut state, Chosen::Partly) } else { None };
            match step {
                Some(Step::Coherence | Step::Fences) => {}
                Some(Step::Nothing) => break,
                None => {
                    possible = false;
                    break;
                }
            }
        }
        *co = state.co;
        possible
    }

    /// Whether every execution relates these writes, as far as the traces say.
    pub(super) fn always_ordered(&self, a: usize, b: usize) -> bool {
        self.work.orders.same_location(a, b)
            && match self.model.coherence {
                Coherence::Total => true,
                Coherence::Partial => self.wants_either_way(a, b, Stage::Static),
            }
    }

    /// Whether a demand known by this stage wants the two related one way or the other.
    fn wants_either_way(&self, a: usize, b: usize, stage: Stage) -> bool {
        self.model.demands.iter().any(|demand| {
            demand.relation == DemandedRelation::Co
                && demand.direction == Direction::EitherWay
                && self.evaluator.plan().stage(demand.wanted) <= stage
                && (self.evaluator.contains(demand.wanted, a, b) || self.evaluator.contains(demand.wanted, b, a))
        })
    }

    /// Reads-from and barriers are chosen: every choice of the orders.
    pub(super) fn choose_orders(&mut self) -> Flow {
        self.evaluator.set(BaseRelation::Rf, self.work.reads.relation.bits());
        self.evaluator.set(BaseRelation::Syncbar, self.work.orders.syncbar.bits());
        self.evaluator.set(BaseRelation::Exitbar, self.work.orders.exitbar.bits());
        self.evaluator.set(BaseRelation::Generations, self.work.orders.generations.bits());
        self.evaluator.set(BaseRelation::SyncFence, self.work.orders.nothing.bits());
        if self.evaluator.run(Stage::ReadsFrom, Stage::Fences, Chosen::ReadsFrom).is_some() {
            return Flow::Continue(());
        }
        if self.flag_stage() <= Stage::Fences && !self.can_raise(Progress::Partial) {
            return Flow::Continue(());
        }
        self.find_maximal();
        let mut state = self.take_state(0);
        state.co.assign(&self.work.orders.root);
        state.fences.assign(&self.work.orders.nothing);
        state.fences_closed.assign(&self.work.orders.nothing);
        state.pairs.clear();
        if self.model.coherence == Coherence::Total {
            state.pairs.clone_from(&self.work.orders.open);
        }
        let consistent =
            self.break_symmetry(&mut state) == Consistent::Yes && self.propagate(&mut state) == Consistent::Yes;
        self.work.orders.states[0] = Some(state);
        if !consistent {
            return Flow::Continue(());
        }
        if self.undecided(0) > self.foresight.guess_above && self.look_ahead()? == Consistent::No {
            return Flow::Continue(());
        }
        if self.undecided(0) > self.foresight.probe_above && self.probe(0)? == Consistent::No {
            return Flow::Continue(());
        }
        self.choose_pair(0)
    }

    /// Before any choice: decides the pairs of which one way is ruled out, and guesses the others.
    fn look_ahead(&mut self) -> std::ops::ControlFlow<super::End, Consistent> {
        use std::ops::ControlFlow::Continue;
        let mut state = self.take_state(0);
        let consistent = self.rule_out(&mut state);
        let flow = if consistent == Consistent::Yes { self.guess(&state) } else { self.budget.ended() };
        // The evaluator has the values of this state again.
        if flow.is_continue() && consistent == Consistent::Yes {
            self.propagate(&mut state);
        }
        self.work.orders.states[0] = Some(state);
        flow?;
        Continue(consistent)
    }

    /// Orders every pair of which the model rules one way out; what trying each both ways would find, at the cost of a few
    /// evaluations. The evaluator holds the values of the state.
    fn rule_out(&mut self, state: &mut State) -> Consistent {
        loop {
            let mut adjoint = std::mem::take(&mut self.work.orders.adjoint);
            let (co, fences) = (state.co.converse(), state.fences_closed.converse());
            adjoint.run_from(&self.evaluator, Chosen::ReadsFrom, &self.against(&co, &fences));
            let edges = self.ways_left(state, &adjoint);
            self.work.orders.adjoint = adjoint;
            if self.budget.ended().is_break() || edges.is_empty() {
                return Consistent::Yes;
            }
            self.budget.spend(2);
            let ordered = edges.into_iter().all(|edge| state.order(edge) == Consistent::Yes);
            if !ordered || self.propagate(state) == Consistent::No {
                return Consistent::No;
            }
        }
    }

    /// What axioms may not demand, given the converses of the orders: an edge against them. More edges never take a demand back.
    fn against<'r>(&self, co: &'r Relation, fences: &'r Relation) -> Vec<(NodeId, &'r Relation)> {
        let grows = |demand: &&Demand| {
            demand.direction == Direction::Forward && self.evaluator.plan().grows_with_orders(demand.wanted)
        };
        let converse = |demand: &Demand| match demand.relation {
            DemandedRelation::Co => (demand.wanted, co),
            DemandedRelation::SyncFence => (demand.wanted, fences),
        };
        self.model.demands.iter().filter(grows).map(converse).collect()
    }

    /// The edges that are left where their converse is ruled out.
    fn ways_left(&self, state: &State, adjoint: &Adjoint) -> Vec<Edge> {
        let shape = self.work.candidate.shape;
        let mut edges = Vec::new();
        let ways = |(a, b): Pair| [(a, b), (b, a)];
        if let Some(bad) = adjoint.ruled_out(&self.evaluator, BaseRelation::SyncFence) {
            let open = self.work.orders.fence_pairs.iter().filter(|pair| !state.fences_ordered(**pair));
            let bad = open.flat_map(|pair| ways(*pair)).filter(|(a, b)| kernel::contains(shape, bad, *a, *b));
            edges.extend(bad.map(|(a, b)| Edge::Fence(b, a)));
        }
        if let Some(bad) = adjoint.ruled_out(&self.evaluator, BaseRelation::Co) {
            let open = state.pairs.iter().filter(|pair| !state.related(**pair));
            let bad = open.flat_map(|pair| ways(*pair)).filter(|(a, b)| kernel::contains(shape, bad, *a, *b));
            edges.extend(bad.map(|(a, b)| Edge::Coherence(b, a)));
        }
        edges
    }

    /// When the relation of the flag that must be raised is known.
    fn flag_stage(&self) -> Stage {
        self.wanted.as_ref().map_or(Stage::Static, |wanted| self.evaluator.plan().stage(wanted.node))
    }

    fn take_state(&mut self, level: usize) -> Box<State> {
        if self.work.orders.states.len() <= level {
            self.work.orders.states.resize_with(level + 1, || None);
        }
        self.work.orders.states[level].take().unwrap_or_default()
    }

    fn state(&self, level: usize) -> &State {
        self.work.orders.states[level].as_deref().expect("invariant: nobody works on it")
    }

    /// Spinning reads read co-maximal writes.
    fn find_maximal(&mut self) {
        self.work.orders.maximal.clear();
        if self.ends != Ends::Stuck {
            return;
        }
        for trace in &self.work.candidate.traces {
            if let TraceEnd::Spin { reads, .. } = &self.unfolding.traces[trace.index()].end {
                let local = reads.iter().filter_map(|read| self.work.candidate.local(*read));
                self.work.orders.maximal.extend(local.map(|read| self.work.reads.source[read]));
            }
        }
    }

    /// Sorts the first writes of interchangeable threads, where every execution orders them.
    fn break_symmetry(&mut self, state: &mut State) -> Consistent {
        self.work.orders.weight = 1;
        let groups =
            symmetry::unread(self.unfolding, &self.work.candidate, &self.work.orders.classes, &self.work.values);
        for group in groups {
            let writes = &group.first_writes;
            let ordered = |a: usize, b: usize| {
                self.work.orders.same_location(a, b)
                    && (self.model.coherence == Coherence::Total || self.wants_either_way(a, b, Stage::Barriers))
            };
            let all = writes.iter().enumerate().all(|(at, &a)| writes[at + 1..].iter().all(|&b| ordered(a, b)));
            let Some(weight) = self.work.orders.weight.checked_mul(group.weight()) else { continue };
            if !all {
                continue;
            }
            self.work.orders.weight = weight;
            for pair in writes.windows(2) {
                if state.order(Edge::Coherence(pair[0], pair[1])) == Consistent::No {
                    return Consistent::No;
                }
            }
        }
        Consistent::Yes
    }

    fn undecided(&self, level: usize) -> usize {
        let state = self.state(level);
        let fences = self.work.orders.fence_pairs.iter().filter(|pair| !state.fences_ordered(**pair)).count();
        fences + state.pairs.len()
    }

    fn next_edge(&self, level: usize) -> Option<Edge> {
        let state = self.state(level);
        let fences = self.work.orders.fence_pairs.iter().find(|pair| !state.fences_ordered(**pair));
        let fences = fences.map(|&(a, b)| Edge::Fence(a, b));
        fences.or_else(|| state.pairs.first().map(|&(a, b)| Edge::Coherence(a, b)))
    }

    /// Both ways of the next undecided pair. The evaluator holds the values of this level's state.
    fn choose_pair(&mut self, level: usize) -> Flow {
        self.budget.tick(1)?;
        let Some(edge) = self.next_edge(level) else {
            return self.all_chosen(level);
        };
        let before = self.reported;
        let held = self.state(level).memory();
        self.budget.enter(held)?;
        for (attempt, edge) in [edge, edge.reversed()].into_iter().enumerate() {
            if self.descend(level, edge) == Consistent::No {
                self.budget.ended()?;
                continue;
            }
            // The other way led nowhere: look before searching this one.
            let fruitless = attempt == 1 && self.reported == before && self.undecided(level + 1) > PROBE_ABOVE;
            if fruitless && self.probe(level + 1)? == Consistent::No {
                continue;
            }
            self.choose_pair(level + 1)?;
        }
        self.budget.leave(held);
        Flow::Continue(())
    }

    /// Copies a level's state to the next, with one more edge and what follows.
    fn descend(&mut self, level: usize, edge: Edge) -> Consistent {
        let mut next = self.take_state(level + 1);
        next.assign(self.state(level));
        let consistent = match next.order(edge) {
            Consistent::Yes => self.propagate(&mut next),
            Consistent::No => Consistent::No,
        };
        self.work.orders.states[level + 1] = Some(next);
        consistent
    }

    fn all_chosen(&mut self, level: usize) -> Flow {
        let state = self.take_state(level);
        let flow = self.accept(&state);
        self.work.orders.states[level] = Some(state);
        flow
    }

    /// Reports the execution if the model accepts it; the evaluator holds the values of this state, which leaves nothing open.
    pub(super) fn accept(&mut self, state: &State) -> Flow {
        if self.evaluator.run_final().is_some() || !self.can_raise(Progress::Complete) {
            return Flow::Continue(());
        }
        self.consistent(&state.co, &state.fences)
    }

    /// Tries each undecided pair both ways: a way that fails forces the other; if both fail, nothing is consistent.
    /// Afterwards the evaluator holds the values of this level's state again.
    fn probe(&mut self, level: usize) -> std::ops::ControlFlow<super::End, Consistent> {
        use std::ops::ControlFlow::Continue;
        loop {
            let mut learned = false;
            let state = self.state(level);
            let fences = self.work.orders.fence_pairs.iter().filter(|pair| !state.fences_ordered(**pair));
            let edges: Vec<Edge> = fences
                .map(|&(a, b)| Edge::Fence(a, b))
                .chain(state.pairs.iter().map(|&(a, b)| Edge::Coherence(a, b)))
                .collect();
            for edge in edges {
                self.budget.tick(2)?;
                if self.decided(level, edge) {
                    continue;
                }
                let forced = match (self.descend(level, edge), self.descend(level, edge.reversed())) {
                    (Consistent::No, Consistent::No) => return Continue(Consistent::No),
                    (Consistent::No, Consistent::Yes) => edge.reversed(),
                    (Consistent::Yes, Consistent::No) => edge,
                    (Consistent::Yes, Consistent::Yes) => continue,
                };
                learned = true;
                if self.descend(level, forced) == Consistent::No {
                    return Continue(Consistent::No);
                }
                self.work.orders.states.swap(level, level + 1);
            }
            if !learned {
                break;
            }
        }
        let mut state = self.take_state(level);
        let consistent = self.propagate(&mut state);
        self.work.orders.states[level] = Some(state);
        Continue(consistent)
    }

    fn decided(&self, level: usize, edge: Edge) -> bool {
        let state = self.state(level);
        match edge {
            Edge::Fence(a, b) => state.fences_ordered((a, b)),
            Edge::Coherence(a, b) => state.related((a, b)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_against_the_order_is_refused() {
        let shape = Shape::new(3);
        let empty = Relation::empty(shape);
        let mut state = State { co: empty.clone(), fences: empty.clone(), fences_closed: empty, pairs: vec![(0, 2)] };
        assert_eq!(state.order(Edge::Coherence(0, 1)), Consistent::Yes);
        assert_eq!(state.order(Edge::Coherence(1, 2)), Consistent::Yes);
        assert_eq!(state.order(Edge::Coherence(2, 0)), Consistent::No);
        state.retain_open();
        assert!(state.pairs.is_empty(), "closure decides the pair");
    }
}
