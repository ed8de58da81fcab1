//! One run. Reads return the last write. In the first that is tried, threads go on as far as they can, and only when none can
//! does the next asynchronous operation do something, so that whoever does not wait for it is ahead of it. If that comes to
//! nothing, all take turns.

use fencepost_program::barrier::Matchings;
use fencepost_program::expression::{Expression, Leaf};
use fencepost_program::program::BarrierKind;
use fencepost_program::unfolding::{BarrierMatching, Event, EventKind, GenerationOrder, TraceEnd, Unfolding};
use fencepost_program::value::Value;
use fencepost_program::{EventId, TraceId};
use fencepost_syntax::sorted::SharedSort as _;

use super::Obstacle;
use crate::base::{Candidate, is_in_sync_order, sync_orders};
use crate::execution::Execution;

/// What takes more steps of the search for ways to meet does not count as decided by the traces.
const MATCHING_STEPS: u32 = 4096;

/// How a run ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    Exit,
    /// Nobody can go on.
    Stuck,
}

/// A run as far as it goes. Events by their local number.
pub(super) struct Run {
    pub(super) ending: Ending,
    pub(super) candidate: Candidate,
    pub(super) matching: BarrierMatching,
    /// All events in the order in which they happened; the init writes come first.
    pub(super) order: Vec<usize>,
    /// By read: the write that it returned.
    pub(super) source: Vec<usize>,
    pub(super) values: Vec<Option<Value>>,
}

impl Run {
    pub(super) fn event<'u>(&self, unfolding: &'u Unfolding, local: usize) -> &'u Event {
        &unfolding.events[self.candidate.events[local].index()]
    }

    /// The run as an execution: coherence and the order of fences are the order of the run.
    pub(super) fn execution(&self, unfolding: &Unfolding) -> Execution {
        let name = |local: usize| self.candidate.events[local];
        let mut rf: Vec<(EventId, EventId)> = Vec::new();
        let mut sync_fence = Vec::new();
        let mut fences: Vec<usize> = Vec::new();
        for &local in &self.order {
            let event = self.event(unfolding, local);
            if matches!(event.kind, EventKind::Read { .. }) {
                rf.push((name(self.source[local]), name(local)));
            }
            if is_in_sync_order(event) {
                let earlier =
                    fences.iter().filter(|fence| sync_orders(unfolding, self.event(unfolding, **fence), event));
                sync_fence.extend(earlier.map(|fence| (name(*fence), name(local))));
                fences.push(local);
            }
        }
        rf.shared_sort_by_key(|(write, read)| (*read, *write));
        sync_fence.shared_sort();
        Execution {
            traces: self.candidate.traces.clone(),
            events: self.candidate.events.clone(),
            rf,
            co: self.coherence(unfolding),
            sync_fence,
            barriers: self.matching.clone(),
            values: self.values.clone(),
            weight: 1,
        }
    }

    /// The pairs of writes to one location in the order of the run, ascending: events are numbered as their names ascend, so
    /// that the pairs need no sorting.
    fn coherence(&self, unfolding: &Unfolding) -> Vec<(EventId, EventId)> {
        let mut happened: Vec<Option<usize>> = vec![None; self.candidate.events.len()];
        self.order.iter().enumerate().for_each(|(at, &local)| happened[local] = Some(at));
        let mut writes: Vec<Vec<(usize, EventId)>> = vec![Vec::new(); unfolding.locations.len()];
        let write = |local: usize| match &self.event(unfolding, local).kind {
            EventKind::Write { location, .. } => Some((location.index(), happened[local]?)),
            _ => None,
        };
        let all = || (0..happened.len()).filter_map(|local| Some((write(local)?, self.candidate.events[local])));
        all().for_each(|((location, at), name)| writes[location].push((at, name)));
        let mut co = Vec::new();
        for ((location, at), name) in all() {
            let later = writes[location].iter().filter(|(other, _)| *other > at);
            co.extend(later.map(|(_, other)| (name, *other)));
        }
        co
    }
}

/// The one trace of each thread that ends; the others wait for something for good.
fn ending_traces(unfolding: &Unfolding) -> Result<Vec<TraceId>, Obstacle> {
    let mut chosen = Vec::with_capacity(unfolding.threads.len());
    for thread in &unfolding.threads {
        let mut ending = None;
        for trace in &thread.traces {
            match (&unfolding.traces[trace.index()].end, ending) {
                (TraceEnd::Spin { .. } | TraceEnd::Blocked { .. }, _) => {}
                (TraceEnd::Exit, None) => ending = Some(*trace),
                _ => return Err(Obstacle::SeveralWays),
            }
        }
        chosen.push(ending.ok_or(Obstacle::Stuck)?);
    }
    Ok(chosen)
}

/// The one way in which the barriers of these traces meet.
fn only_matching(unfolding: &Unfolding, traces: &[TraceId]) -> Result<BarrierMatching, Obstacle> {
    let mut is_known = true;
    let mut value = |operand: &Expression| {
        let value = operand.evaluate(&mut |_| None);
        is_known &= value.is_some();
        value
    };
    let mut matchings = Matchings::new(unfolding, traces, GenerationOrder::Unordered, &mut value);
    if !is_known {
        return Err(Obstacle::Barriers);
    }
    let mut steps = 0;
    let mut go_on = |_| {
        steps += 1;
        steps < MATCHING_STEPS
    };
    let (first, second) = (matchings.next_while(&mut go_on), matchings.next_while(&mut go_on));
    match (first, second) {
        (Some(matching), None) if steps < MATCHING_STEPS => Ok(matching),
        (None, _) if steps < MATCHING_STEPS => Err(Obstacle::Stuck),
        _ => Err(Obstacle::Barriers),
    }
}

/// A run of the program, if each thread has one way to its end and one schedule leads there.
pub(super) fn run(unfolding: &Unfolding) -> Result<Run, Obstacle> {
    let traces = ending_traces(unfolding)?;
    let matching = only_matching(unfolding, &traces)?;
    let mut candidate = Candidate::default();
    candidate.choose(unfolding, &traces);
    if candidate.events.iter().any(|id| is_foreign(&unfolding.events[id.index()])) || !unfolding.kernel_order.is_empty()
    {
        return Err(Obstacle::Foreign);
    }
    let begin = || Run {
        ending: Ending::Exit,
        order: Vec::with_capacity(candidate.events.len()),
        source: vec![usize::MAX; candidate.events.len()],
        values: vec![None; candidate.events.len()],
        candidate: candidate.clone(),
        matching: matching.clone(),
    };
    let mut stuck = None;
    for turns in [Turns::Long, Turns::Short] {
        let mut runner = Runner::new(unfolding, begin());
        if runner.run_on(turns) == Ending::Exit {
            return Ok(runner.run);
        }
        stuck = stuck.or_else(|| runner.stuck());
    }
    stuck.ok_or(Obstacle::Stuck)
}

/// Who goes on when several can.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Turns {
    /// A thread as long as it can, asynchronous operations when no thread can.
    Long,
    /// Each thread for one event, then all asynchronous operations that can.
    Short,
}

/// Launches, results of barriers, and writes that are left out: not here.
fn is_foreign(event: &Event) -> bool {
    event.call.is_some()
        || event.omitted().is_some()
        || matches!(&event.kind, EventKind::Barrier(barrier) if barrier.reduction.is_some())
}

fn local_or_none(source: usize, local: &dyn Fn(usize) -> Option<usize>) -> Option<usize> {
    if source == usize::MAX { None } else { local(source) }
}

struct Runner<'u> {
    unfolding: &'u Unfolding,
    run: Run,
    done: Vec<bool>,
    /// By barrier: those that must have arrived before it is over, and whether it has arrived itself.
    meets: Vec<Vec<usize>>,
    arrived: Vec<bool>,
    /// By location: the last write.
    memory: Vec<usize>,
    /// By read: the constraints that rest on it.
    constraints: Vec<Vec<&'u Expression>>,
    /// By thread: its main events, and how many of them are done.
    main: Vec<(Vec<usize>, usize)>,
    /// Events of strands that are not done, in the order of the traces.
    strands: Vec<usize>,
}

impl<'u> Runner<'u> {
    fn new(unfolding: &'u Unfolding, run: Run) -> Runner<'u> {
        let count = run.candidate.events.len();
        let mut runner = Runner {
            unfolding,
            done: vec![false; count],
            meets: vec![Vec::new(); count],
            arrived: vec![false; count],
            memory: vec![usize::MAX; unfolding.locations.len()],
            constraints: vec![Vec::new(); count],
            main: Vec::new(),
            strands: Vec::new(),
            run,
        };
        runner.meet();
        runner.constrain();
        for thread in 0..runner.run.candidate.threads() {
            let events = runner.run.candidate.thread_events(thread);
            let (main, strands) = events.partition(|local| runner.event(*local).is_main());
            runner.main.push((main, 0));
            let strands: Vec<usize> = strands;
            runner.strands.extend(strands);
        }
        runner
    }

    fn event(&self, local: usize) -> &'u Event {
        &self.unfolding.events[self.run.candidate.events[local].index()]
    }

    fn meet(&mut self) {
        let local = |event: &EventId| self.run.candidate.local(*event);
        let matching = &self.run.matching;
        for (before, barrier) in matching.synchronises.iter().chain(&matching.exits) {
            if let (Some(before), Some(barrier)) = (local(before), local(barrier)) {
                self.meets[barrier].push(before);
            }
        }
    }

    fn constrain(&mut self) {
        let unfolding = self.unfolding;
        let mut leaves = Vec::new();
        for trace in &self.run.candidate.traces {
            let trace = &unfolding.traces[trace.index()];
            for constraint in trace.constraints.iter().chain(&trace.assumptions) {
                leaves.clear();
                constraint.leaves(&mut leaves);
                leaves.shared_sort();
                leaves.dedup();
                for leaf in &leaves {
                    if let Leaf::Read(read) = leaf
                        && let Some(read) = self.run.candidate.local(*read)
                    {
                        self.constraints[read].push(constraint);
                    }
                }
            }
        }
    }

    fn run_on(&mut self, turns: Turns) -> Ending {
        for init in 0..self.run.candidate.inits() {
            self.write(init);
        }
        loop {
            let mut moved = false;
            for thread in 0..self.main.len() {
                while self.advance(thread) {
                    moved = true;
                    if turns == Turns::Short {
                        break;
                    }
                }
            }
            while (turns == Turns::Short || !moved) && self.advance_strand() {
                moved = true;
            }
            if !moved {
                return if self.done.iter().all(|done| *done) { Ending::Exit } else { Ending::Stuck };
            }
        }
    }

    /// Lets an asynchronous operation do something, if one can.
    fn advance_strand(&mut self) -> bool {
        let next = (0..self.strands.len()).find(|at| self.perform(self.strands[*at]));
        let done = &self.done;
        self.strands.retain(|event| !done[*event]);
        next.is_some()
    }

    /// The run as one that ends nowhere: each thread that has not ended takes the way on which it waits here for good. None if
    /// one has no such way, or something else is left to do.
    fn stuck(&self) -> Option<Run> {
        let (unfolding, old) = (self.unfolding, &self.run.candidate);
        let is_done = |id: &EventId| old.local(*id).is_some_and(|local| self.done[local]);
        let mut traces = Vec::with_capacity(old.traces.len());
        for (thread, (events, at)) in self.main.iter().enumerate() {
            let waits_here = |trace: &&TraceId| {
                let trace = &unfolding.traces[trace.index()];
                let TraceEnd::Spin { reads, .. } = &trace.end else { return false };
                let performed = trace.events.iter().filter(|event| is_done(event)).count();
                !reads.is_empty()
                    && trace.events.iter().all(|event| is_done(event) || reads.contains(event))
                    && performed == self.done_of(thread)
            };
            match events.len() == *at {
                true => traces.push(old.traces[thread]),
                false => traces.push(*unfolding.threads[thread].traces.iter().find(waits_here)?),
            }
        }
        let mut candidate = Candidate::default();
        candidate.choose(unfolding, &traces);
        let count = candidate.events.len();
        let local = |old_local: usize| candidate.local(old.events[old_local]);
        let mut run = Run {
            ending: Ending::Stuck,
            order: self.run.order.iter().map(|event| local(*event)).collect::<Option<_>>()?,
            source: vec![usize::MAX; count],
            values: vec![None; count],
            matching: self.run.matching.clone(),
            candidate: candidate.clone(),
        };
        for &event in &self.run.order {
            let new = local(event)?;
            run.values[new] = self.run.values[event];
            run.source[new] =
                self.run.source.get(event).and_then(|&source| local_or_none(source, &local)).unwrap_or(usize::MAX);
        }
        for new in 0..count {
            if let (EventKind::Read { location, ty, .. }, None) = (&run.event(unfolding, new).kind, run.values[new]) {
                let source = local(self.memory[location.index()])?;
                run.source[new] = source;
                run.values[new] = run.values[source].map(|value| ty.wrap(value));
                run.order.push(new);
            }
        }
        (run.order.len() == count).then_some(run)
    }

    /// How many events of a thread are done.
    fn done_of(&self, thread: usize) -> usize {
        self.run.candidate.thread_events(thread).filter(|event| self.done[*event]).count()
    }

    /// Performs the next main event of a thread, if it can be.
    fn advance(&mut self, thread: usize) -> bool {
        let (events, at) = &self.main[thread];
        let Some(&event) = events.get(*at) else { return false };
        if !self.done[event] && !self.perform(event) {
            return false;
        }
        self.main[thread].1 += 1;
        true
    }

    /// Performs an event if it can be: an access with the other half of its operation.
    fn perform(&mut self, local: usize) -> bool {
        let event = self.event(local);
        let is_done = |id: &EventId| self.run.candidate.local(*id).is_none_or(|local| self.done[local]);
        let is_ready = match &event.strand {
            Some(strand) => is_done(&strand.issue) && strand.after.iter().all(is_done),
            None => event.completes.iter().all(is_done),
        };
        if !is_ready {
            return false;
        }
        match &event.kind {
            EventKind::Read { location, ty, .. } => {
                let source = self.memory[location.index()];
                let Some(value) = self.run.values.get(source).copied().flatten() else { return false };
                self.run.values[local] = Some(ty.wrap(value));
                let is_taken =
                    self.constraints[local].iter().all(|constraint| self.value(constraint) != Some(Value(0)));
                let partner = event.rmw_partner.and_then(|partner| self.run.candidate.local(partner));
                if !is_taken || partner.is_some_and(|write| !self.can_write(write)) {
                    self.run.values[local] = None;
                    return false;
                }
                self.run.source[local] = source;
                self.finish(local);
                partner.into_iter().for_each(|write| self.write(write));
                true
            }
            EventKind::Write { .. } if event.rmw_partner.is_some() => false,
            EventKind::Write { .. } => {
                let can = self.can_write(local);
                if can {
                    self.write(local);
                }
                can
            }
            EventKind::Barrier(barrier) => {
                self.arrived[local] = true;
                let is_over = barrier.kind == BarrierKind::Arrive
                    || self.meets[local].iter().all(|at| self.arrived[*at] || self.done[*at]);
                if is_over {
                    self.finish(local);
                }
                is_over
            }
            EventKind::Fence | EventKind::Issue => {
                self.finish(local);
                true
            }
            EventKind::Omitted(_) => false,
        }
    }

    fn value(&self, expression: &Expression) -> Option<Value> {
        expression.evaluate(&mut |leaf| match leaf {
            Leaf::Read(read) => self.run.values[self.run.candidate.local(read)?],
            Leaf::BarrierResult(_) => None,
        })
    }

    fn written(&self, local: usize) -> Option<Value> {
        let EventKind::Write { value, ty, .. } = &self.event(local).kind else { return None };
        self.value(value).map(|value| ty.wrap(value))
    }

    fn can_write(&self, local: usize) -> bool {
        self.written(local).is_some()
    }

    fn write(&mut self, local: usize) {
        let Some(location) = self.event(local).location() else { return };
        self.run.values[local] = self.written(local);
        self.memory[location.index()] = local;
        self.finish(local);
    }

    fn finish(&mut self, local: usize) {
        self.done[local] = true;
        self.run.order.push(local);
    }
}
