//! From a propositional model to a candidate, from a candidate to clauses: the model's axioms as a lazy theory.

use std::collections::BTreeSet;

use fencepost_program::unfolding::EventKind;
use fencepost_program::value::Value;
use fencepost_program::{EventId, TraceId};
use fencepost_syntax::cat::CheckRole;

use crate::base::Candidate;
use crate::bits::{Relation, Shape, ones};
use crate::engine::raised::Wanted;
use crate::execution::Execution;
use crate::model::{CheckId, Coherence, DemandedRelation, Direction, Model, NodeId};
use crate::reason::{Amount, Chosen, Explainer, Matrices, Reason, Valuation as _};
use crate::watch::Watch;

use super::clause::clause;
use super::encode::Encoding;
use super::raised::{Raising, Verdict};
use super::solver::Lit;
use super::values;

/// Violations taken from one check in one round.
const PER_CHECK: usize = 128;
/// Reading off the order of more writes than this takes long enough to be interrupted.
const LONG: usize = 256;
/// Missing transitive edges added in one round.
const MISSING_EDGES: usize = 4096;

pub(super) struct Theory<'m> {
    model: &'m Model,
    matrices: Matrices<'m>,
    candidate: Candidate,
    chosen: Chosen,
    raising: Option<Raising>,
    watch: Watch<'m>,
}

/// How many propositional models there are left.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Models {
    /// This one follows from the clauses: what rules it out leaves none, and need not be explained.
    Last,
    Many,
}

/// What became of a propositional model.
pub(super) enum Outcome {
    /// It breaks an axiom: clauses were added that exclude it, unless it is the last one.
    Refuted,
    /// A value depends on itself and no axiom minds: excluded too.
    ThinAir,
    Consistent(Box<Execution>),
    /// The smallest coherence breaks an axiom that a larger one satisfies.
    NotMonotone(CheckId),
}

impl<'m> Theory<'m> {
    pub(super) fn new(model: &'m Model, wanted: Option<Wanted>, watch: &Watch<'m>) -> Theory<'m> {
        let (candidate, chosen) = (Candidate::default(), Chosen::default());
        let roots: Vec<NodeId> = wanted.iter().map(|wanted| wanted.node).collect();
        let matrices = Matrices::with_roots(model, &roots).watched(watch.clone());
        Theory { model, matrices, candidate, chosen, raising: wanted.map(Raising::new), watch: watch.clone() }
    }

    /// Bytes needed to judge candidates of this shape: the model's values, what is chosen, and the lists of a graph in
    /// which cycles are looked for.
    pub(super) fn memory_for(&self, shape: Shape) -> u64 {
        let (matrix, pairs) = (shape.matrix() as u64 * 8, (shape.events() as u64).pow(2) * 4);
        self.matrices.memory_for(shape) + 6 * matrix + pairs
    }

    /// The size of the matrices of the last candidate.
    pub(super) fn words(&self) -> u64 {
        self.candidate.shape.matrix() as u64
    }

    /// A new problem begins.
    pub(super) fn start(&mut self) {
        self.raising.iter_mut().for_each(Raising::start);
    }

    /// Judges the solver's last model.
    pub(super) fn judge(&mut self, encoding: &mut Encoding<'_>, models: Models) -> Outcome {
        self.load(encoding);
        if self.repair_orders(encoding) {
            return Outcome::Refuted;
        }
        self.matrices.choose(&self.chosen);
        // Values that were left unfinished cannot be explained. Nothing is concluded from the answer.
        if self.watch.ended().is_some() {
            return Outcome::Refuted;
        }
        if models == Models::Last && self.axioms().any(|check| self.violates(check)) {
            return Outcome::Refuted;
        }
        let clauses = self.refutations(encoding);
        if !clauses.is_empty() {
            clauses.iter().for_each(|clause| encoding.solver.clause(clause));
            return Outcome::Refuted;
        }
        let values = match self.contents(encoding) {
            Ok(values) => values,
            Err(circle) => {
                let clause: Vec<Lit> = circle.into_iter().map(|(write, read)| !encoding.rf(write, read)).collect();
                encoding.solver.clause(&clause);
                return Outcome::ThinAir;
            }
        };
        if self.model.coherence == Coherence::Partial {
            self.reduce_coherence();
            self.matrices.choose(&self.chosen);
            if let Some(check) = self.axioms().find(|check| self.violates(*check)) {
                return Outcome::NotMonotone(check);
            }
        }
        let execution = Box::new(self.execution(encoding, values));
        let Some(raising) = &mut self.raising else { return Outcome::Consistent(execution) };
        match raising.judge(encoding, self.model, &mut self.matrices, &self.candidate, &self.chosen) {
            Verdict::Raised => Outcome::Consistent(execution),
            Verdict::Refuted => Outcome::Refuted,
            Verdict::NotRaised => {
                block(encoding, &execution);
                Outcome::Refuted
            }
        }
    }

    /// Reads the choices off the solver's model.
    fn load(&mut self, encoding: &Encoding<'_>) {
        let taken = |trace: &&TraceId| encoding.solver.is_true(encoding.taken[trace.index()]);
        let traces: Vec<TraceId> =
            encoding.space.traces.iter().filter_map(|of| of.iter().find(taken)).copied().collect();
        if traces != self.candidate.traces || self.candidate.events.is_empty() {
            self.candidate.choose(encoding.unfolding, &traces);
            self.matrices.begin(encoding.unfolding, &self.candidate);
        }
        self.chosen = Chosen::empty(self.candidate.shape);
        let local = |event: EventId| self.candidate.local(event);
        for (read, sources) in &encoding.sources {
            let Some(to) = local(*read) else { continue };
            for (write, literal) in sources {
                if let (true, Some(from)) = (encoding.solver.is_true(*literal), local(*write)) {
                    self.chosen.rf.insert(from, to);
                }
            }
        }
        for writes in encoding.writes.values() {
            let present: Vec<(EventId, usize)> =
                writes.iter().filter_map(|write| local(*write).map(|index| (*write, index))).collect();
            for (a, from) in &present {
                if present.len() > LONG && self.watch.is_over() {
                    return;
                }
                for (b, to) in &present {
                    if encoding.solver.is_true(encoding.co(*a, *b)) {
                        self.chosen.co.insert(*from, *to);
                    }
                }
            }
        }
        for ((a, b), literal) in &encoding.sync_fence {
            if let (true, Some(from), Some(to)) = (encoding.solver.is_true(*literal), local(*a), local(*b)) {
                self.chosen.sync_fence.insert(from, to);
            }
        }
        for (a, b) in &encoding.space.matching.synchronises {
            if let (Some(from), Some(to)) = (local(*a), local(*b)) {
                self.chosen.syncbar.insert(from, to);
            }
        }
        for (a, b) in &encoding.space.matching.exits {
            if let (Some(from), Some(to)) = (local(*a), local(*b)) {
                self.chosen.exitbar.insert(from, to);
            }
        }
        for (a, b) in &encoding.space.matching.generations {
            if let (Some(from), Some(to)) = (local(*a), local(*b)) {
                self.chosen.generations.insert(from, to);
            }
        }
    }

    /// Coherence must be transitive and Fence-SC order acyclic; adds the clauses that are missing for it.
    fn repair_orders(&self, encoding: &mut Encoding<'_>) -> bool {
        let events = &self.candidate.events;
        let mut clauses: Vec<Vec<Lit>> = Vec::new();
        for (a, b) in self.chosen.co.iter() {
            if clauses.len() >= MISSING_EDGES {
                break;
            }
            let (from, through) = (self.chosen.co.successors(a), self.chosen.co.successors(b));
            if through.iter().zip(from).all(|(through, from)| through & !from == 0) {
                continue;
            }
            for c in ones(through) {
                if !self.chosen.co.contains(a, c) {
                    let (a, b, c) = (events[a], events[b], events[c]);
                    let occurs = [a, b, c].map(|event| !encoding.executed[event.index()]);
                    let order = [!encoding.co(a, b), !encoding.co(b, c), encoding.co(a, c)];
                    clauses.push(order.into_iter().chain(occurs).collect());
                }
            }
        }
        for cycle in cycles(&self.chosen.sync_fence) {
            let edges = cycle.windows(2).map(|ends| (events[ends[0]], events[ends[1]]));
            let order = edges.flat_map(|(a, b)| [!encoding.fence_edge(a, b), !encoding.executed[a.index()]]);
            clauses.push(order.collect());
        }
        clauses.iter().for_each(|clause| encoding.solver.clause(clause));
        !clauses.is_empty()
    }

    fn axioms(&self) -> impl Iterator<Item = CheckId> + use<'m> {
        let model = self.model;
        let checks = (0..model.checks.len()).filter(|index| model.checks[*index].role == CheckRole::Axiom);
        checks.map(|index| CheckId(index as u32))
    }

    /// One clause per violation found.
    fn refutations(&self, encoding: &Encoding<'_>) -> BTreeSet<Vec<Lit>> {
        let mut explainer = Explainer::new(self.model, &self.matrices).watched(self.watch.clone());
        let events = &self.candidate.events;
        let mut reasons: BTreeSet<Reason> = BTreeSet::new();
        for check in self.axioms() {
            for violation in explainer.violations(check, events, Amount::UpTo(PER_CHECK)) {
                reasons.insert(explainer.reason(&violation.facts, events));
            }
        }
        reasons.iter().map(|reason| clause(encoding, &self.candidate, reason)).collect()
    }

    fn violates(&self, check: CheckId) -> bool {
        self.matrices.violates(&self.model.checks[check.index()])
    }

    /// The value of each event, or the reads-from edges of a circle of dependencies.
    fn contents(&self, encoding: &Encoding<'_>) -> Result<Vec<Option<Value>>, Vec<(EventId, EventId)>> {
        let unfolding = encoding.unfolding;
        let matching = &encoding.space.matching;
        let events = &self.candidate.events;
        let mut source = vec![usize::MAX; events.len()];
        for (write, read) in self.chosen.rf.iter() {
            source[read] = write;
        }
        let mut known: Vec<Option<Value>> = vec![None; events.len()];
        let mut left: BTreeSet<usize> = BTreeSet::new();
        left.extend((0..events.len()).filter(|index| {
            matches!(unfolding.events[events[*index].index()].kind, EventKind::Read { .. } | EventKind::Write { .. })
        }));
        loop {
            let before = left.len();
            for index in left.clone() {
                let value = match &unfolding.events[events[index].index()].kind {
                    EventKind::Read { .. } => known.get(source[index]).copied().flatten(),
                    EventKind::Write { value, .. } => values::evaluate(unfolding, matching, value, &mut |read| {
                        self.candidate.local(read).and_then(|read| known[read])
                    }),
                    EventKind::Fence | EventKind::Barrier(_) | EventKind::Issue | EventKind::Omitted(_) => None,
                };
                if value.is_some() {
                    known[index] = value;
                    left.remove(&index);
                }
            }
            if left.is_empty() {
                return Ok(known);
            }
            if left.len() == before {
                let reads =
                    left.iter().filter(|index| source[**index] != usize::MAX && left.contains(&source[**index]));
                return Err(reads.map(|index| (events[source[*index]], events[*index])).collect());
            }
        }
    }

    /// The smallest coherence for these choices: what the axioms force, and the solver's orientation of each pair that
    /// must be ordered one way or the other. Wanted pairs do not depend on coherence.
    fn reduce_coherence(&mut self) {
        let size = self.candidate.shape.events();
        let mut co = Relation::empty(self.candidate.shape);
        for init in 0..self.candidate.inits() {
            ones(self.chosen.co.successors(init)).for_each(|to| co.insert(init, to));
        }
        for demand in self.model.demands.iter().filter(|demand| demand.relation == DemandedRelation::Co) {
            for from in 0..size {
                for to in self.matrices.row(demand.wanted, from) {
                    if self.chosen.co.contains(from, to) {
                        co.insert(from, to);
                    }
                    if demand.direction == Direction::EitherWay && self.chosen.co.contains(to, from) {
                        co.insert(to, from);
                    }
                }
            }
        }
        co.close();
        self.chosen.co = co;
    }

    fn execution(&self, encoding: &Encoding<'_>, values: Vec<Option<Value>>) -> Execution {
        let events = &self.candidate.events;
        let named = |relation: &Relation| -> Vec<(EventId, EventId)> {
            let mut pairs: Vec<_> = relation.iter().map(|(from, to)| (events[from], events[to])).collect();
            pairs.sort_unstable();
            pairs
        };
        let mut rf = named(&self.chosen.rf);
        rf.sort_unstable_by_key(|(_, read)| *read);
        let mut order: Vec<usize> = (0..events.len()).collect();
        order.sort_unstable_by_key(|index| events[*index]);
        Execution {
            traces: self.candidate.traces.clone(),
            events: order.iter().map(|index| events[*index]).collect(),
            rf,
            co: named(&self.chosen.co),
            sync_fence: named(&self.chosen.sync_fence),
            barriers: encoding.space.matching.clone(),
            values: order.iter().map(|index| values[*index]).collect(),
            weight: 1,
        }
    }
}

/// Excludes an execution, and with it every one that differs only by coherence edges that nothing asks for.
pub(super) fn block(encoding: &mut Encoding<'_>, execution: &Execution) {
    let mut clause: Vec<Lit> = execution.traces.iter().map(|trace| !encoding.taken[trace.index()]).collect();
    clause.extend(execution.rf.iter().map(|(write, read)| !encoding.rf(*write, *read)));
    clause.extend(execution.co.iter().map(|(a, b)| !encoding.co(*a, *b)));
    clause.extend(execution.sync_fence.iter().map(|(a, b)| !encoding.fence_edge(*a, *b)));
    encoding.solver.clause(&clause);
}

/// A shortest cycle through each event that lies on one and on no cycle found before; first event repeated at the end.
fn cycles(relation: &Relation) -> Vec<Vec<usize>> {
    let size = relation.shape().events();
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut covered = vec![false; size];
    for start in (0..size).filter(|event| relation.has_successor(*event)) {
        if covered[start] {
            continue;
        }
        let mut before = vec![usize::MAX; size];
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(event) = queue.pop_front() {
            for next in ones(relation.successors(event)) {
                if before[next] == usize::MAX {
                    before[next] = event;
                    queue.push_back(next);
                }
            }
            if before[start] != usize::MAX {
                break;
            }
        }
        if before[start] == usize::MAX {
            continue;
        }
        let mut cycle = vec![start];
        let mut event = before[start];
        while event != start {
            cycle.push(event);
            event = before[event];
        }
        cycle.push(start);
        cycle.reverse();
        cycle.iter().for_each(|event| covered[*event] = true);
        found.push(cycle);
    }
    found
}
