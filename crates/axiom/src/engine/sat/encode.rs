//! The propositional skeleton: which trace each thread takes, which events occur, reads-from, coherence and Fence-SC
//! orientations. The model's axioms are no part of it; they come as clauses, one violation at a time.

use std::collections::BTreeMap;

use fencepost_program::expression::Expression;
use fencepost_program::unfolding::{BarrierMatching, EventKind, TraceEnd, Traces, Unfolding};
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId};
use fencepost_syntax::sorted::SortedMap;

use crate::base::{is_in_sync_order, location_of, sync_orders};
use crate::engine::Ends;
use crate::hash;
use crate::model::{Coherence, FenceOrder, Model};

use super::solver::{Lit, Solver};
use super::thin_air;

/// Beyond this many writes of one location, transitivity is added where a candidate lacks it.
const EAGER_WRITES: usize = 40;

/// As many `fence.sc` with every cycle of three cut at the start; beyond, cycles are cut where a candidate has them.
const EAGER_FENCES: usize = 100;
/// Bytes of a choice in the maps of literals.
const ENTRY: u64 = 32;

/// The part of the search space that one SAT problem covers.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// The traces each thread may take.
    pub(super) traces: Vec<Traces>,
    pub(super) matching: BarrierMatching,
    /// The values the matching takes barrier operands to have.
    pub(super) operands: Vec<(Expression, Value)>,
    pub(super) ending: Ends,
}

pub(super) struct Encoding<'a> {
    pub(super) unfolding: &'a Unfolding,
    pub(super) space: &'a Space,
    /// No consistent execution has a value that depends on itself.
    pub(super) is_grounded: bool,
    pub(super) solver: Solver<'a>,
    /// Literal of each trace of the unfolding; false for those outside the space.
    pub(super) taken: Vec<Lit>,
    /// Literal of each event; false for those that cannot occur.
    pub(super) executed: Vec<Lit>,
    /// Events that can occur.
    pub(super) possible: Vec<EventId>,
    /// The allowed traces of each event; empty for init writes.
    traces_of: Vec<Traces>,
    /// Writes of each location that can occur, init first.
    pub(super) writes: SortedMap<LocationId, Vec<EventId>>,
    pub(super) sources: SortedMap<EventId, Vec<(EventId, Lit)>>,
    rf: hash::Map<(EventId, EventId), Lit>,
    co: hash::Map<(EventId, EventId), Lit>,
    pub(super) sync_fence: BTreeMap<(EventId, EventId), Lit>,
}

impl<'a> Encoding<'a> {
    pub(super) fn new(
        unfolding: &'a Unfolding,
        model: &Model,
        space: &'a Space,
        mut solver: Solver<'a>,
    ) -> Encoding<'a> {
        let no = solver.no();
        let yes = solver.yes();
        let mut taken = vec![no; unfolding.traces.len()];
        for traces in &space.traces {
            if let [only] = **traces {
                taken[only.index()] = yes;
                continue;
            }
            let literals: Vec<Lit> = traces.iter().map(|_| solver.fresh()).collect();
            solver.clause(&literals);
            solver.at_most_one(&literals);
            traces.iter().zip(&literals).for_each(|(trace, literal)| taken[trace.index()] = *literal);
        }
        let mut encoding = Encoding {
            unfolding,
            space,
            is_grounded: thin_air::is_forbidden(unfolding, model),
            solver,
            taken,
            executed: vec![no; unfolding.events.len()],
            possible: Vec::new(),
            traces_of: vec![Traces::new(); unfolding.events.len()],
            writes: SortedMap::new(),
            sources: SortedMap::new(),
            rf: hash::Map::default(),
            co: hash::Map::default(),
            sync_fence: BTreeMap::new(),
        };
        encoding.events();
        encoding.reads_from();
        encoding.coherence(&model.coherence);
        if model.fence_order() == FenceOrder::Ordered {
            encoding.fence_order();
        }
        encoding.endings();
        encoding
    }

    /// Bytes held, roughly.
    pub(super) fn bytes(&self) -> u64 {
        self.solver.bytes() + self.beside_solver()
    }

    fn beside_solver(&self) -> u64 {
        (2 * self.rf.len() + self.co.len() + self.sync_fence.len()) as u64 * ENTRY
    }

    /// Whether to leave the problem half written. Nothing may be concluded from it then.
    pub(super) fn gives_up(&self) -> bool {
        self.solver.gives_up(self.beside_solver())
    }

    /// An event occurs iff one of the traces that have it is taken.
    fn events(&mut self) {
        for traces in &self.space.traces {
            for trace in traces {
                for event in &self.unfolding.traces[trace.index()].events {
                    self.traces_of[event.index()].push(*trace);
                }
            }
        }
        for index in 0..self.unfolding.events.len() {
            let event = &self.unfolding.events[index];
            let traces = &self.traces_of[index];
            let is_possible = event.thread.is_none() || !traces.is_empty();
            self.executed[index] = match event.thread {
                None => self.solver.yes(),
                Some(thread) if traces.len() == self.space.traces[thread.index()].len() && !traces.is_empty() => {
                    self.solver.yes()
                }
                Some(_) => {
                    let literals: Vec<Lit> = traces.iter().map(|trace| self.taken[trace.index()]).collect();
                    self.solver.any(&literals)
                }
            };
            if !is_possible {
                continue;
            }
            let id = EventId::new(index);
            self.possible.push(id);
            if let EventKind::Write { location, .. } = event.kind {
                self.writes.entry(location).or_default().push(id);
            }
        }
    }

    /// Whether some allowed choice of traces has both.
    pub(super) fn together(&self, a: EventId, b: EventId) -> bool {
        let thread = |event: EventId| self.unfolding.events[event.index()].thread;
        if thread(a).is_none() || thread(a) != thread(b) {
            return true;
        }
        let (first, second) = (&self.traces_of[a.index()], &self.traces_of[b.index()]);
        first.iter().any(|trace| second.contains(trace))
    }

    /// Each read that occurs reads from exactly one write of its location that occurs.
    fn reads_from(&mut self) {
        let writes = std::mem::take(&mut self.writes);
        self.choose_sources(&writes);
        self.writes = writes;
    }

    fn choose_sources(&mut self, writes: &SortedMap<LocationId, Vec<EventId>>) {
        for at in 0..self.possible.len() {
            let read = self.possible[at];
            let EventKind::Read { location, .. } = self.unfolding.events[read.index()].kind else { continue };
            if self.gives_up() {
                return;
            }
            let occurs = self.executed[read.index()];
            let writes = writes.get(&location).map_or(&[][..], Vec::as_slice);
            let mut sources = Vec::with_capacity(writes.len());
            for &write in writes {
                if !self.together(write, read) {
                    continue;
                }
                let literal = self.solver.fresh();
                self.solver.implies(literal, self.executed[write.index()]);
                self.solver.implies(literal, occurs);
                sources.push((write, literal));
                self.rf.insert((write, read), literal);
            }
            let mut literals: Vec<Lit> = Vec::with_capacity(sources.len() + 1);
            literals.extend(sources.iter().map(|(_, literal)| *literal));
            self.solver.at_most_one(&literals);
            literals.push(!occurs);
            self.solver.clause(&literals);
            self.sources.insert(read, sources);
        }
    }

    /// Init writes come first. Total: one variable per pair. Partial: one per direction, at most one of them true.
    /// Transitive either way; the clauses are few for the sizes that occur (n³/3 for n writes of a location).
    fn coherence(&mut self, coherence: &Coherence) {
        let writes = std::mem::take(&mut self.writes);
        self.order_writes(&writes, coherence);
        self.writes = writes;
    }

    fn order_writes(&mut self, writes: &SortedMap<LocationId, Vec<EventId>>, coherence: &Coherence) {
        for writes in writes.values() {
            // Init writes are the first events.
            let is_init = |write: &EventId| self.unfolding.events[write.index()].thread.is_none();
            let (inits, others) = writes.split_at(writes.partition_point(is_init));
            for init in inits {
                for other in others {
                    let occurs = self.executed[other.index()];
                    self.co.insert((*init, *other), occurs);
                }
            }
            for (index, a) in others.iter().enumerate() {
                if self.gives_up() {
                    return;
                }
                for b in &others[index + 1..] {
                    self.orient(*a, *b, coherence);
                }
            }
            if others.len() <= EAGER_WRITES {
                self.transitive(others, coherence);
            }
        }
    }

    fn orient(&mut self, a: EventId, b: EventId, coherence: &Coherence) {
        if !self.together(a, b) {
            return;
        }
        let forward = self.solver.fresh();
        let backward = match coherence {
            Coherence::Total => !forward,
            Coherence::Partial => self.solver.fresh(),
        };
        if *coherence == Coherence::Partial {
            self.solver.clause(&[!forward, !backward]);
            for literal in [forward, backward] {
                self.solver.implies(literal, self.executed[a.index()]);
                self.solver.implies(literal, self.executed[b.index()]);
            }
        }
        self.co.insert((a, b), forward);
        self.co.insert((b, a), backward);
    }

    fn transitive(&mut self, writes: &[EventId], coherence: &Coherence) {
        for a in writes {
            for b in writes {
                let Some(&first) = self.co.get(&(*a, *b)) else { continue };
                for c in writes {
                    // Of a total order, each of the two cycles of a triangle is one clause.
                    if *coherence == Coherence::Total && (a > b || a > c) {
                        continue;
                    }
                    let (Some(&second), Some(&whole)) = (self.co.get(&(*b, *c)), self.co.get(&(*a, *c))) else {
                        continue;
                    };
                    self.solver.clause(&[!first, !second, whole]);
                }
            }
        }
    }

    /// One orientation of every pair of `fence.sc` in mutual scope. Three fences that are pairwise in scope get their
    /// acyclicity at once, unless they are very many; longer cycles are cut when they show up.
    fn fence_order(&mut self) {
        let fences: Vec<EventId> = self
            .possible
            .iter()
            .copied()
            .filter(|event| is_in_sync_order(&self.unfolding.events[event.index()]))
            .collect();
        for (index, a) in fences.iter().enumerate() {
            if self.gives_up() {
                return;
            }
            for b in &fences[index + 1..] {
                let (first, second) = (&self.unfolding.events[a.index()], &self.unfolding.events[b.index()]);
                if !sync_orders(self.unfolding, first, second) || !self.together(*a, *b) {
                    continue;
                }
                let forward = self.solver.fresh();
                self.sync_fence.insert((*a, *b), forward);
                self.sync_fence.insert((*b, *a), !forward);
            }
        }
        for a in fences.iter().filter(|_| fences.len() <= EAGER_FENCES) {
            for b in fences.iter().filter(|b| *b > a) {
                for c in fences.iter().filter(|c| *c > a && *c != b) {
                    let edges = [(*a, *b), (*b, *c), (*c, *a)].map(|pair| self.sync_fence.get(&pair).copied());
                    if let [Some(first), Some(second), Some(third)] = edges {
                        self.solver.clause(&[!first, !second, !third]);
                    }
                }
            }
        }
    }

    /// Stuck executions: some thread is stuck, and a spinning one sees only co-maximal writes. Cut ones: some thread is cut.
    fn endings(&mut self) {
        if self.space.ending == Ends::Terminating {
            return;
        }
        let cut = self.space.ending == Ends::Cut;
        let mut special = Vec::new();
        for trace in self.space.traces.iter().flatten() {
            let literal = self.taken[trace.index()];
            match &self.unfolding.traces[trace.index()].end {
                TraceEnd::Bound { .. } | TraceEnd::Wild { .. } => special.push(literal),
                TraceEnd::Spin { .. } | TraceEnd::Blocked { .. } if cut => {}
                TraceEnd::Blocked { .. } => special.push(literal),
                TraceEnd::Spin { reads, .. } => {
                    for read in reads {
                        for (write, source) in self.sources.get(read).cloned().unwrap_or_default() {
                            self.maximal(&[literal, source], write);
                        }
                    }
                    special.push(literal);
                }
                TraceEnd::Exit | TraceEnd::NotStarted => {}
            }
        }
        self.solver.clause(&special);
    }

    /// Under the premises, no write that occurs is after `write`.
    pub(super) fn maximal(&mut self, premises: &[Lit], write: EventId) {
        let Some(location) = location_of(&self.unfolding.events[write.index()]) else { return };
        if self.gives_up() {
            return;
        }
        for other in self.writes.get(&location).cloned().unwrap_or_default() {
            if other == write {
                continue;
            }
            let mut clause: Vec<Lit> = premises.iter().map(|premise| !*premise).collect();
            clause.extend([!self.co(write, other), !self.executed[other.index()], !self.executed[write.index()]]);
            self.solver.clause(&clause);
        }
    }

    pub(super) fn rf(&self, write: EventId, read: EventId) -> Lit {
        self.rf.get(&(write, read)).copied().unwrap_or(self.solver.no())
    }

    /// Meaningful where both occur.
    pub(super) fn co(&self, a: EventId, b: EventId) -> Lit {
        self.co.get(&(a, b)).copied().unwrap_or(self.solver.no())
    }

    pub(super) fn fence_edge(&self, a: EventId, b: EventId) -> Lit {
        self.sync_fence.get(&(a, b)).copied().unwrap_or(self.solver.no())
    }
}
