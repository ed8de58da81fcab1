//! Named barriers of a CTA and the barrier of a cluster (9.7.15.1, 9.7.15.3).

use std::collections::VecDeque;
use std::rc::Rc;

use fencepost_syntax::sorted::SortedMap;

use crate::code::op::{Order, Pc, Reduction, Scope, Source};
use crate::memory::Taint;
use crate::order::clock::{Object, View, join};
use crate::order::{Certainty, Cta, Known};
use crate::report::{Doubt, Finding, Protocol, Rule};
use crate::run::Run;
use crate::run::warp::{Block, Fragment, lanes};
use crate::run::watch::End;

/// Of `bar.red`: how many said yes, whether all did, whether any did.
type Votes = (u32, bool, bool);

/// A barrier `bar.sync id`.
#[derive(Clone)]
pub(in crate::run) struct Named {
    object: Object,
    generation: u32,
    expected: u32,
    /// Without a number of threads: all of the CTA, as far as they are alive.
    all: bool,
    /// Of each warp that has arrived in this generation, the lanes that have not been counted as a whole warp.
    lanes: SortedMap<usize, u32>,
    arrived: u32,
    /// Of them, those that wait.
    waiters: u32,
    known: Option<Known>,
    /// Who arrived in the last generation: warp, lanes, time.
    last: Vec<(u32, u32, u32)>,
    this: Vec<(u32, u32, u32)>,
    /// The last generations, the newest at the end: what a wait for them receives, and their votes.
    finished: VecDeque<(Rc<Known>, Votes, Taint)>,
    votes: Votes,
    /// What the votes depend on.
    taint: Taint,
    /// Whether those who are there reduce.
    reduces: bool,
}

/// So many generations a thread may be behind at a barrier that others go on without.
const BEHIND: usize = 64;

impl Named {
    pub(in crate::run) fn progress(&self) -> (u32, u32) {
        (self.arrived, self.expected)
    }

    /// Whether the same threads wait, in whatever generation.
    pub(in crate::run) fn same_place(&self, other: &Named) -> bool {
        self.arrived == other.arrived
            && (self.arrived == 0 || (self.expected == other.expected && self.all == other.all))
            && self.lanes == other.lanes
    }
}

pub(in crate::run) struct Cluster {
    object: Object,
    cluster: u32,
    phase: u32,
    arrived: u32,
    known: Option<Known>,
    relaxed: Option<Known>,
    /// What came before releases, by the CTA of those who arrived.
    released: Vec<(Cta, View)>,
    finished: Vec<Rc<Finished>>,
}

/// What a wait for a phase of the cluster's barrier receives.
struct Finished {
    known: Known,
    relaxed: Known,
    released: Vec<(Cta, View)>,
}

impl Cluster {
    pub(in crate::run) fn new(object: Object, cluster: u32) -> Cluster {
        let (released, finished) = (Vec::new(), Vec::new());
        Cluster { object, cluster, phase: 0, arrived: 0, known: None, relaxed: None, released, finished }
    }
}

/// What a lane gives to `bar.red`.
#[derive(Copy, Clone)]
pub(in crate::run) struct Red {
    pub(in crate::run) from: Source,
    pub(in crate::run) negated: bool,
    /// `.red`: else the vote counts for nothing.
    pub(in crate::run) reduces: bool,
}

impl Run<'_> {
    /// Some lanes of a warp arrive.
    #[allow(clippy::too_many_arguments)]
    pub(in crate::run) fn barrier(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        id: Source,
        threads: Option<Source>,
        arrive_only: bool,
        red: Red,
    ) {
        let first = active.trailing_zeros();
        let number = self.warps[warp].get(id, first) as u32;
        let cta = self.warps[warp].cta;
        for operand in [Some(id), threads].into_iter().flatten() {
            self.decide(warp, pc, active, operand);
            self.check_uniform(warp, pc, active, operand);
        }
        if number > 15 {
            let thread = self.thread(warp, first);
            self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::BarrierNumber(number) });
            return;
        }
        let given = threads.map(|source| self.warps[warp].get(source, first) as u32);
        if let Some(count) = given.filter(|count| *count == 0 || !count.is_multiple_of(32)) {
            let thread = self.thread(warp, first);
            let why = format!("{count} threads are expected; it must be a multiple of 32");
            self.find(2, pc, Finding::BadOperand { pc, thread, why });
        }
        if !self.barriers.contains_key(&(cta, number)) {
            let object = self.order.new_object();
            self.barriers.insert(
                (cta, number),
                Named {
                    object,
                    generation: 0,
                    expected: 0,
                    all: false,
                    lanes: SortedMap::new(),
                    arrived: 0,
                    waiters: 0,
                    known: None,
                    last: Vec::new(),
                    this: Vec::new(),
                    finished: VecDeque::new(),
                    votes: (0, true, false),
                    taint: 0,
                    reduces: false,
                },
            );
        }
        let expected = given.unwrap_or(self.warps_per_cta * 32);
        self.effect(warp, pc, active);
        let sent = self.order.sent(warp as u32, active);
        self.check_generation(warp, pc, active, cta, number);
        let time = self.order.time(warp as u32);
        let mut votes = (0, true, false);
        for lane in lanes(active) {
            let value = (self.warps[warp].get(red.from, lane) & 1 != 0) != red.negated;
            votes = (votes.0 + u32::from(value), votes.1 && value, votes.2 || value);
        }
        let thread = self.thread(warp, first);
        let voted = self.taint_of_all(warp, &[red.from], active);
        let before = self.barriers.get(&(cta, number)).map_or(0, |named| named.taint);
        let voted = self.union(voted, before);
        let Some(named) = self.barriers.get_mut(&(cta, number)) else { return };
        named.taint = voted;
        if named.arrived == 0 {
            named.expected = expected;
            named.all = given.is_none();
            named.reduces = red.reduces;
        } else if named.expected != expected {
            let what = Protocol::BarrierCount { id: number, given: expected, expected: named.expected };
            self.find(3, pc, Finding::Protocol { pc, thread, what });
            return;
        }
        if named.reduces != red.reduces {
            // `.red` is not to meet other forms at a barrier in use (9.7.15.1).
            let what = Protocol::BarrierMixed { id: number };
            self.find(3, pc, Finding::Protocol { pc, thread, what });
            return;
        }
        let generation = named.generation;
        *named.lanes.entry(warp).or_insert(0) |= active;
        named.arrived += active.count_ones();
        named.votes = (named.votes.0 + votes.0, named.votes.1 && votes.1, named.votes.2 || votes.2);
        named.this.push((warp as u32, active, time));
        if !arrive_only {
            named.waiters += active.count_ones();
        }
        match &mut named.known {
            Some(known) => known.collect(&sent),
            None => named.known = Some(sent),
        }
        self.settle_barrier(cta, number);
        if arrive_only {
            return;
        }
        let fragment = Fragment { pc, mask: active, blocked: None };
        if !self.leave_barrier(warp, &fragment, number, generation) {
            self.blocking = Some((active, Block::Barrier { id: number, generation }));
        }
    }

    /// H2: whoever arrives knows that the generation before is over.
    fn check_generation(&mut self, warp: usize, pc: Pc, active: u32, cta: u32, number: u32) {
        let Some(named) = self.barriers.get(&(cta, number)) else { return };
        if named.generation == 0 {
            return;
        }
        for (group, views) in self.order.groups(warp as u32, active) {
            let base = &views.known.execution;
            let knows_step = base.steps(named.object) >= named.generation;
            let knows_all = || {
                named.last.iter().all(|(other, mask, time)| {
                    let others = if *other == warp as u32 { mask & !group } else { *mask };
                    base.knows_all(*other, others, *time)
                })
            };
            if !knows_step && !knows_all() {
                self.doubt(Doubt::Matching { pc, rule: Rule::BarrierGeneration });
                return;
            }
        }
    }

    /// Completes the barrier if everybody is there.
    pub(in crate::run) fn settle_barrier(&mut self, cta: u32, number: u32) {
        let exited = self.exited_lanes(cta, number);
        let Some(named) = self.barriers.get_mut(&(cta, number)) else { return };
        if named.arrived == 0 {
            return;
        }
        // Lanes that are at their end arrive with the rest of their warp, whoever came first.
        for (warp, own) in &mut named.lanes {
            let alive = self.warps[*warp].alive();
            if *own != 0 && *own & alive == alive {
                named.arrived += 32 - own.count_ones();
                *own = 0;
            }
        }
        let there = named.arrived + if named.all { exited } else { 0 };
        if there < named.expected {
            return;
        }
        let mut known = named.known.take().unwrap_or_default();
        named.generation += 1;
        known.complete(named.object, named.generation, 0);
        // Two that wait synchronise with each other, and each through the other with itself.
        if std::mem::take(&mut named.waiters) > 1 {
            known.hand_over_all();
        }
        let votes = std::mem::replace(&mut named.votes, (0, true, false));
        let taint = std::mem::take(&mut named.taint);
        named.finished.push_back((Rc::new(known), votes, taint));
        if named.finished.len() > BEHIND {
            named.finished.pop_front();
        }
        named.arrived = 0;
        named.lanes.clear();
        named.last = std::mem::take(&mut named.this);
        self.covered.barriers += 1;
        self.watch_end(cta, End::Barrier { id: number });
    }

    /// Lanes of warps that have ended and are not counted yet.
    fn exited_lanes(&self, cta: u32, number: u32) -> u32 {
        let Some(named) = self.barriers.get(&(cta, number)) else { return 0 };
        let first = (cta * self.warps_per_cta) as usize;
        let warps = first..first + self.warps_per_cta as usize;
        warps.filter(|warp| self.warps[*warp].alive() == 0 && !named.lanes.contains_key(warp)).count() as u32 * 32
    }

    /// True if the generation is over: then the lanes know what all who arrived know.
    pub(in crate::run) fn leave_barrier(&mut self, warp: usize, fragment: &Fragment, id: u32, generation: u32) -> bool {
        let cta = self.warps[warp].cta;
        let Some(named) = self.barriers.get(&(cta, id)) else { return false };
        if named.generation <= generation {
            return false;
        }
        // Others may have met again since: what they know by then is not handed over here.
        let back = (named.generation - generation) as usize;
        let at = named.finished.len().saturating_sub(back);
        let Some((known, result, taint)) = named.finished.get(at).cloned() else { return false };
        self.order.receive(warp as u32, fragment.mask, &known);
        let code = Rc::clone(&self.code);
        if let crate::code::op::Op::Barrier { reduction, to: Some(to), .. } = &code[fragment.pc as usize].op {
            let value = match reduction {
                Reduction::PopulationCount => u64::from(result.0),
                Reduction::And => u64::from(result.1),
                Reduction::Or | Reduction::None => u64::from(result.2),
            };
            for lane in lanes(fragment.mask) {
                self.warps[warp].set(*to, lane, value);
            }
            self.set_taint(warp, *to, fragment.mask, taint);
        }
        true
    }

    pub(in crate::run) fn cluster_arrive(&mut self, warp: usize, pc: Pc, active: u32, order: Order) {
        let thread = self.thread(warp, active.trailing_zeros());
        if self.warps[warp].cluster_arrived & active != 0 {
            self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::ClusterTwice });
            return;
        }
        self.effect(warp, pc, active);
        let cta = self.warps[warp].cta;
        let cluster = self.order.cluster_of(cta) as usize;
        let sent = self.order.sent(warp as u32, active);
        let fenced = if order.releases() { None } else { self.released_known(warp, active, Scope::Cluster) };
        let phase = self.clusters[cluster].phase;
        self.warps[warp].cluster_arrived |= active;
        for lane in lanes(active) {
            self.warps[warp].cluster_phase[lane as usize] = phase;
        }
        let own = &mut self.clusters[cluster];
        own.arrived += active.count_ones();
        if let Some(known) = if order.releases() { Some(&sent) } else { fenced.as_ref() } {
            own.known.get_or_insert_default().collect(known);
            match own.released.iter_mut().find(|(of, _)| *of == cta) {
                Some((_, view)) => join(view, &known.base.threads),
                None => own.released.push((cta, Rc::clone(&known.base.threads))),
            }
        }
        own.relaxed.get_or_insert_default().collect(&sent);
        self.settle_cluster(cluster);
    }

    pub(in crate::run) fn settle_cluster(&mut self, cluster: usize) {
        let per = self.launch.ctas_per_cluster().max(1);
        let first = (self.clusters[cluster].cluster * per * self.warps_per_cta) as usize;
        let warps = first..first + (per * self.warps_per_cta) as usize;
        // Every lane has arrived in this phase or is at its end, whether or not it arrived before that.
        let phase = self.clusters[cluster].phase;
        let is_there = |warp: &crate::run::warp::Warp| {
            lanes(warp.alive())
                .all(|lane| warp.cluster_arrived & (1 << lane) != 0 && warp.cluster_phase[lane as usize] == phase)
        };
        let all = warps.filter_map(|warp| self.warps.get(warp)).all(is_there);
        let own = &mut self.clusters[cluster];
        if own.arrived == 0 || !all {
            return;
        }
        own.phase += 1;
        own.arrived = 0;
        let (object, phase) = (own.object, own.phase);
        let mut known = own.known.take().unwrap_or_default();
        known.complete(object, phase, 0);
        let relaxed = own.relaxed.take().unwrap_or_default();
        let released = std::mem::take(&mut own.released);
        own.finished.push(Rc::new(Finished { known, relaxed, released }));
    }

    pub(in crate::run) fn cluster_wait(&mut self, warp: usize, pc: Pc, active: u32) {
        let thread = self.thread(warp, active.trailing_zeros());
        if self.warps[warp].cluster_arrived & active != active {
            self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::ClusterAlone });
            return;
        }
        let phase = self.warps[warp].cluster_phase[active.trailing_zeros() as usize];
        let fragment = Fragment { pc, mask: active, blocked: None };
        if !self.leave_cluster(warp, &fragment, phase) {
            self.blocking = Some((active, Block::Cluster { phase }));
        }
    }

    pub(in crate::run) fn leave_cluster(&mut self, warp: usize, fragment: &Fragment, phase: u32) -> bool {
        let cta = self.warps[warp].cta;
        let cluster = self.order.cluster_of(cta) as usize;
        let Some(finished) = self.clusters[cluster].finished.get(phase as usize).cloned() else { return false };
        self.warps[warp].cluster_arrived &= !fragment.mask;
        self.order.receive(warp as u32, fragment.mask, &finished.known);
        self.order.receive_relaxed(warp as u32, fragment.mask, &finished.relaxed);
        self.order.change(warp as u32, fragment.mask, |views, _| {
            for (_, view) in finished.released.iter().filter(|(of, _)| *of != cta) {
                Rc::make_mut(&mut views.known).released_elsewhere(view, Certainty::Certain);
            }
        });
        true
    }
}
