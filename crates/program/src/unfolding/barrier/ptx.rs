//! PTX's barriers (PTX ISA 9.7.15.1). A barrier resource of a CTA completes when all threads of the CTA have arrived, or as
//! many as the operand says, and then starts its next generation. `bar.arrive` arrives and goes on. A barrier that only
//! exited threads are missing from completes too (9.7.14.7). What the ISA leaves undefined (`.red` beside the other forms,
//! unequal counts) is refused before, in `lower::barriers`.
//!
//! `bar.warp.sync` meets the threads of its CTA that have one with the same mask, or as many as the mask has bits if those
//! are fewer: a test has a few threads where the machine has a warp. `barrier.cluster` is in [`super::cluster`].
//!
//! Where more threads than its count may arrive, which of them form a generation depends on who comes first: those orders
//! are searched. Everywhere else the order cannot matter, and one is enough.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_syntax::sorted::SharedSort as _;

use crate::ids::{EventId, ThreadId, TraceId};
use crate::program::{BarrierKind, BarrierLevel, Place};
use crate::unfolding::barrier::cluster::{self, Phase};
use crate::unfolding::barrier::{self, Evaluate, GoOn, blocks_at, complete, normalise};
use crate::unfolding::{BarrierEvent, BarrierMatching, EventKind, GenerationOrder, TraceEnd, Unfolding};
use crate::value::Value;

/// Where threads meet.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Resource {
    level: BarrierLevel,
    place: Place,
    /// The barrier's number, or the mask of `bar.warp.sync`.
    id: Option<Value>,
}

/// How many threads of a test a count stands for. PTX counts in whole warps, and a thread of a litmus test stands for one
/// thread in a warp of its own: a multiple of 32 counts warps. Any other count is no legal PTX but what authors of litmus
/// tests write, and counts their threads.
pub(crate) fn participants(count: Value) -> i128 {
    const WARP: i128 = 32;
    let Value(count) = count;
    if count > 0 && count % WARP == 0 { count / WARP } else { count }
}

struct Arrival {
    event: EventId,
    resource: Resource,
    waits: bool,
    count: Option<usize>,
    /// At cluster level: which phase it arrives in or waits for.
    phase: Option<Phase>,
}

/// The chosen traces as sequences of arrivals.
struct Run<'u> {
    unfolding: &'u Unfolding,
    traces: Vec<TraceId>,
    sequences: Vec<Vec<Arrival>>,
    places: Vec<Place>,
    /// Resources where it matters who comes first.
    contended: BTreeSet<Resource>,
    order: GenerationOrder,
}

/// Where each thread is, who stands in which unfinished generation, and which are finished.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    next: Vec<usize>,
    waiting: Vec<bool>,
    open: BTreeMap<Resource, Vec<(usize, EventId)>>,
    /// In their order, or sorted where that is not asked for or no choice.
    done: BTreeMap<Resource, Vec<Vec<EventId>>>,
}

pub(super) struct Matchings<'u> {
    run: Run<'u>,
    /// What the search is to lead to, if only that is of interest.
    wanted: Option<BarrierMatching>,
    work: Vec<Moment>,
    seen: BTreeSet<Moment>,
    found: BTreeSet<BarrierMatching>,
    held: u64,
}

impl<'u> Matchings<'u> {
    pub(super) fn new(
        unfolding: &'u Unfolding,
        traces: &[TraceId],
        order: GenerationOrder,
        value: Evaluate<'_>,
    ) -> Matchings<'u> {
        let run = Run::new(unfolding, traces, order, value);
        let count = traces.len();
        let start =
            Moment { next: vec![0; count], waiting: vec![false; count], open: BTreeMap::new(), done: BTreeMap::new() };
        Matchings { run, wanted: None, work: vec![start], seen: BTreeSet::new(), found: BTreeSet::new(), held: 0 }
    }

    pub(super) fn lead_to(&mut self, matching: &BarrierMatching) {
        self.wanted = Some(matching.clone());
    }

    pub(super) fn next_while(&mut self, go_on: GoOn<'_>) -> Option<BarrierMatching> {
        while go_on(self.held)
            && let Some(mut moment) = self.work.pop()
        {
            self.run.release(&mut moment);
            if self.wanted.as_ref().is_some_and(|wanted| !self.run.may_lead_to(&moment, wanted)) {
                continue;
            }
            let ready = self.run.ready(&moment);
            if !ready.is_empty() {
                self.go_on_from(moment, ready);
            } else if self.run.ends_as_said(&moment) {
                let matching = self.run.matching(moment);
                if self.found.insert(matching.clone()) {
                    self.held += barrier::bytes(&matching);
                    return Some(matching);
                }
            }
        }
        None
    }

    fn go_on_from(&mut self, moment: Moment, ready: Vec<usize>) {
        let run = &self.run;
        if self.seen.contains(&moment) {
            return;
        }
        let is_free =
            |thread: &&usize| !run.contended.contains(&run.sequences[**thread][moment.next[**thread]].resource);
        let movers: Vec<usize> = match ready.iter().find(is_free) {
            Some(&thread) => vec![thread],
            None => ready,
        };
        // What is still to be done is dropped sooner or later; what was seen stays.
        self.held += moment.bytes();
        self.work.extend(movers.into_iter().map(|thread| run.arrive(&moment, thread)));
        self.seen.insert(moment);
    }
}

impl Moment {
    fn bytes(&self) -> u64 {
        let threads = self.next.len() * (size_of::<usize>() + size_of::<bool>());
        let open: usize = self.open.values().map(|arrivals| arrivals.len() + 6).sum();
        let done: usize = self.done.values().flatten().map(|group| group.len() + 6).sum();
        (size_of::<Moment>() + threads + open * size_of::<(usize, EventId)>() + done * size_of::<EventId>()) as u64
    }
}

impl<'u> Run<'u> {
    fn new(unfolding: &'u Unfolding, traces: &[TraceId], order: GenerationOrder, value: Evaluate<'_>) -> Run<'u> {
        let place = |trace: &TraceId| {
            let thread = unfolding.traces[trace.index()].thread;
            unfolding.threads[thread.index()].place
        };
        let places: Vec<Place> = traces.iter().map(place).collect();
        let mut sequences = Vec::new();
        let mut uses = BTreeMap::<Resource, (usize, Option<usize>)>::new();
        for (&trace, &place) in traces.iter().zip(&places) {
            let mut sequence = Vec::new();
            let mut arrivals = 0;
            for (event, barrier) in barrier::operations(unfolding, trace) {
                let id = barrier.id.as_ref().and_then(&mut *value);
                let resource = Resource { level: barrier.level, place, id };
                let phase = cluster::phase(barrier, place, &mut arrivals);
                let count = barrier.count.as_ref().and_then(&mut *value);
                let count = count.map(|count| usize::try_from(participants(count)).unwrap_or(0));
                let count = count.or_else(|| lanes(unfolding, resource));
                let entry = uses.entry(resource).or_default();
                entry.0 += 1;
                entry.1 = entry.1.into_iter().chain(count).min();
                sequence.push(Arrival { event, resource, waits: barrier.kind != BarrierKind::Arrive, count, phase });
            }
            sequences.push(sequence);
        }
        // Who arrives at a barrier of one is alone there.
        let is_contended = |(_, (uses, least)): &(Resource, (usize, Option<usize>))| {
            least.is_some_and(|least| least > 1 && *uses > least)
        };
        let contended = uses.into_iter().filter(is_contended);
        let contended = contended.map(|(resource, _)| resource).collect();
        Run { unfolding, traces: traces.to_vec(), sequences, places, contended, order }
    }

    fn ready(&self, moment: &Moment) -> Vec<usize> {
        let can_move = |&thread: &usize| {
            let next = self.sequences[thread].get(moment.next[thread]);
            !moment.waiting[thread] && next.is_some_and(|next| !next.waits || self.may_pass(moment, next))
        };
        (0..self.sequences.len()).filter(can_move).collect()
    }

    fn arrive(&self, moment: &Moment, thread: usize) -> Moment {
        let mut after = moment.clone();
        let arrival = &self.sequences[thread][moment.next[thread]];
        if arrival.phase.is_some() {
            after.next[thread] += 1;
            return after;
        }
        let arrivals = after.open.entry(arrival.resource).or_default();
        arrivals.push((thread, arrival.event));
        arrivals.shared_sort();
        // A waiting thread moves on when its generation completes.
        after.waiting[thread] = arrival.waits;
        if !arrival.waits {
            after.next[thread] += 1;
        }
        after
    }

    /// Completes every generation that can. One may let a thread exit, and that may complete another.
    fn release(&self, moment: &mut Moment) {
        let full = |moment: &Moment| {
            let mut open = moment.open.iter();
            open.find(|(resource, arrivals)| self.is_full(moment, resource, arrivals)).map(|(resource, _)| *resource)
        };
        while let Some(resource) = full(moment) {
            let arrivals = moment.open.remove(&resource).unwrap_or_default();
            for &(thread, event) in &arrivals {
                let here = self.sequences[thread].get(moment.next[thread]).map(|arrival| arrival.event);
                if moment.waiting[thread] && here == Some(event) {
                    moment.waiting[thread] = false;
                    moment.next[thread] += 1;
                }
            }
            let mut group: Vec<EventId> = arrivals.into_iter().map(|(_, event)| event).collect();
            group.shared_sort();
            let done = moment.done.entry(resource).or_default();
            done.push(group);
            if self.order == GenerationOrder::Unordered || !self.contended.contains(&resource) {
                done.shared_sort();
            }
        }
    }

    fn is_full(&self, moment: &Moment, resource: &Resource, arrivals: &[(usize, EventId)]) -> bool {
        let count = arrivals.iter().filter_map(|(thread, event)| self.count_of(*thread, *event)).max();
        if let Some(count) = count {
            return arrivals.len() >= count;
        }
        let has_arrived = |thread: usize| arrivals.iter().any(|(other, _)| *other == thread);
        let mut members = (0..self.places.len()).filter(|&thread| self.is_member(thread, resource));
        members.all(|thread| has_arrived(thread) || self.has_exited(moment, thread))
    }

    /// A wait of a cluster is passed when its phase is complete; every other barrier is arrived at first.
    fn may_pass(&self, moment: &Moment, arrival: &Arrival) -> bool {
        arrival.phase.is_none_or(|phase| self.is_complete(moment, phase))
    }

    /// All threads of the cluster have arrived in the phase, or exited.
    fn is_complete(&self, moment: &Moment, phase: Phase) -> bool {
        let arrives = |thread: usize| {
            let done = &self.sequences[thread][..moment.next[thread]];
            done.iter().any(|arrival| arrival.phase == Some(phase) && !arrival.waits)
        };
        let mut members = (0..self.places.len()).filter(|&thread| phase.includes(self.places[thread]));
        members.all(|thread| arrives(thread) || self.has_exited(moment, thread))
    }

    fn count_of(&self, thread: usize, event: EventId) -> Option<usize> {
        self.sequences[thread].iter().find(|arrival| arrival.event == event)?.count
    }

    fn has_exited(&self, moment: &Moment, thread: usize) -> bool {
        let end = &self.unfolding.traces[self.traces[thread].index()].end;
        *end == TraceEnd::Exit && moment.next[thread] == self.sequences[thread].len()
    }

    /// Threads whose trace ends blocked wait at their last barrier; all others are past theirs.
    fn ends_as_said(&self, moment: &Moment) -> bool {
        self.traces.iter().enumerate().all(|(thread, &trace)| {
            let sequence = &self.sequences[thread];
            match sequence.last() {
                Some(last) if blocks_at(self.unfolding, trace, last.event) => moment.next[thread] + 1 == sequence.len(),
                _ => moment.next[thread] == sequence.len(),
            }
        })
    }

    fn is_member(&self, thread: usize, resource: &Resource) -> bool {
        let id = self.unfolding.traces[self.traces[thread].index()].thread;
        match resource.level {
            BarrierLevel::Warp => has_mask(self.unfolding, id, *resource),
            BarrierLevel::Cta | BarrierLevel::Cluster => self.places[thread] == resource.place,
        }
    }

    /// Whether what is complete and who stands together is so in the matching, and in its order.
    fn may_lead_to(&self, moment: &Moment, wanted: &BarrierMatching) -> bool {
        let is_wanted = |group: &Vec<EventId>| wanted.groups.binary_search(group).is_ok();
        let may_meet = |arrivals: &Vec<(usize, EventId)>| {
            let events = || arrivals.iter().map(|(_, event)| event);
            let group = wanted.groups.iter().find(|group| events().any(|event| group.contains(event)));
            group.is_none_or(|group| events().all(|event| group.contains(event)))
        };
        let in_order = |(resource, generations): (&Resource, &Vec<Vec<EventId>>)| {
            let is_choice = self.order == GenerationOrder::Ordered && self.contended.contains(resource);
            let follows = |pair: &[Vec<EventId>]| wanted.generations.binary_search(&(pair[0][0], pair[1][0])).is_ok();
            !is_choice || generations.windows(2).all(follows)
        };
        moment.done.values().flatten().all(is_wanted)
            && moment.open.values().all(may_meet)
            && moment.done.iter().all(in_order)
    }

    fn matching(&self, moment: Moment) -> BarrierMatching {
        let mut matching = BarrierMatching::default();
        self.add_phases(&moment, &mut matching);
        self.add_generations(&moment, &mut matching);
        for group in moment.done.into_values().flatten() {
            self.add_exits(&group, &mut matching);
            let released = group.clone();
            complete(self.unfolding, &mut matching, group, &released);
        }
        normalise(matching)
    }

    /// The generations of a barrier one after the other, and what stands at it for good after all of them. Where nobody can come
    /// first, program order says as much.
    fn add_generations(&self, moment: &Moment, matching: &mut BarrierMatching) {
        if self.order == GenerationOrder::Unordered {
            return;
        }
        for (resource, generations) in moment.done.iter().filter(|(resource, _)| self.contended.contains(resource)) {
            let open = moment.open.get(resource).into_iter().flatten().map(|(_, event)| *event).collect();
            let all: Vec<&Vec<EventId>> = generations.iter().chain([&open]).collect();
            for (at, earlier) in all.iter().enumerate() {
                let later = || all[at + 1..].iter().copied().flatten();
                matching.generations.extend(earlier.iter().flat_map(|from| later().map(move |to| (*from, *to))));
            }
        }
    }

    /// A generation without a count completed without the members that are not in it because they had exited.
    fn add_exits(&self, group: &[EventId], matching: &mut BarrierMatching) {
        let arrival = |event: &EventId| self.sequences.iter().flatten().find(|arrival| arrival.event == *event);
        let Some(resource) = group.first().and_then(arrival).map(|arrival| arrival.resource) else { return };
        if group.iter().filter_map(arrival).any(|arrival| arrival.count.is_some()) {
            return;
        }
        let takes_part = |thread: usize| self.sequences[thread].iter().any(|arrival| group.contains(&arrival.event));
        let members = (0..self.places.len()).filter(|&thread| self.is_member(thread, &resource));
        let waits: Vec<EventId> =
            group.iter().filter(|event| arrival(event).is_some_and(|it| it.waits)).copied().collect();
        for thread in members.filter(|&thread| !takes_part(thread)) {
            self.add_exit(thread, &waits, matching);
        }
    }

    /// These waits were over because the thread had exited.
    fn add_exit(&self, thread: usize, waits: &[EventId], matching: &mut BarrierMatching) {
        let events = &self.unfolding.traces[self.traces[thread].index()].events;
        let events = events.iter().filter(|event| self.unfolding.events[event.index()].is_main());
        matching.exits.extend(events.flat_map(|from| waits.iter().map(move |to| (*from, *to))));
    }

    /// The phases of clusters that were completed: each arrive synchronises with each wait.
    fn add_phases(&self, moment: &Moment, matching: &mut BarrierMatching) {
        let mut phases = BTreeMap::<Phase, (Vec<EventId>, Vec<EventId>)>::new();
        for (sequence, next) in self.sequences.iter().zip(&moment.next) {
            for arrival in &sequence[..*next] {
                let Some(phase) = arrival.phase else { continue };
                let (arrives, waits) = phases.entry(phase).or_default();
                if arrival.waits { waits.push(arrival.event) } else { arrives.push(arrival.event) }
            }
        }
        for (phase, (arrives, waits)) in phases.into_iter().filter(|(phase, _)| self.is_complete(moment, *phase)) {
            let arrives_in = |thread: usize| {
                let mut arrivals = self.sequences[thread].iter().filter(|arrival| arrives.contains(&arrival.event));
                arrivals.next().is_some()
            };
            let members = (0..self.places.len()).filter(|&thread| phase.includes(self.places[thread]));
            for thread in members.filter(|&thread| !arrives_in(thread)) {
                self.add_exit(thread, &waits, matching);
            }
            let pairs = arrives.iter().flat_map(|from| waits.iter().map(move |to| (*from, *to)));
            matching.synchronises.extend(pairs);
            let mut group = [arrives, waits].concat();
            group.shared_sort();
            matching.groups.push(group);
        }
    }
}

/// How many threads a `bar.warp.sync` waits for, where its mask names fewer than have it.
fn lanes(unfolding: &Unfolding, resource: Resource) -> Option<usize> {
    let mask = resource.id.filter(|_| resource.level == BarrierLevel::Warp)?;
    let named = usize::try_from(u128::count_ones(mask.0.cast_unsigned() & u128::from(u32::MAX))).unwrap_or(0);
    let threads = (0..unfolding.threads.len()).map(ThreadId::new);
    let members = threads.filter(|thread| has_mask(unfolding, *thread, resource)).count();
    (named < members).then_some(named)
}

/// Whether the thread is in the CTA and has, on some trace, a `bar.warp.sync` with this mask. A mask that depends on what
/// was read may be this one.
fn has_mask(unfolding: &Unfolding, thread: ThreadId, resource: Resource) -> bool {
    let thread = &unfolding.threads[thread.index()];
    let meets = |event: &EventId| match &unfolding.events[event.index()].kind {
        EventKind::Barrier(BarrierEvent { level: BarrierLevel::Warp, id: Some(mask), .. }) => {
            mask.evaluate(&mut |_| None).is_none_or(|mask| Some(mask) == resource.id)
        }
        _ => false,
    };
    let traces = || thread.traces.iter().flat_map(|trace| &unfolding.traces[trace.index()].events);
    thread.place == resource.place && traces().any(meets)
}
