//! Elements of tiles that nothing tells apart.
//!
//! An asynchronous operation has an access per element: per column of an accumulator, per word of a tile. Where two of them
//! race, each element may be read before or after its write, and there are as many executions as combinations: 2^32
//! for one `tcgen05.ld.x32` that came too early. Mostly they are the same question asked again: the elements are accessed by the
//! same operations in the same way, and nobody looks at what most of them hold.
//!
//! Two locations are *alike* if their events correspond: the same instructions in the same iterations and traces, the same kinds,
//! tags and groups, the same order within strands, the same dependencies. A location is *mute* if no value read from it
//! matters: to a branch, an address, a barrier, a register or memory that is asked for, or to a value that matters. A mute
//! location is left out if another one like it stays.
//!
//! Nothing is lost. What an execution does with the element that stays, it can do with the other too: a cycle through the
//! events of both would be one through those of the first. And what only the other shows, a race or a use before completion,
//! the execution with the two exchanged shows of the first. Left out are accesses of which no value comes, and fewer events
//! have fewer edges. So verdicts, races, broken rules and hangs stay; executions are counted once, however many elements
//! are alike (`check/src/alike.rs` compares).

use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::ids::{EventId, LocationId};
use crate::program::{Condition, Cover, LocationRole, Program, Term};
use crate::unfold::control::flow;
use crate::unfolding::{Event, EventKind, Strand, TraceEnd, Unfolding};
use crate::value::expression::{Expression, Leaf};

/// Leaves the events of mute locations out that another is like.
pub(crate) fn leave_out(program: &Program, unfolding: &mut Unfolding) {
    if unfolding.events.iter().all(Event::is_main) {
        return;
    }
    let mute = mute(program, unfolding);
    let stands = stands(unfolding, &mute);
    if !stands.is_empty() {
        replace(unfolding, &stands);
    }
}

/// Per event that goes, the one that stands for it.
type Stands = SortedMap<EventId, EventId>;

fn asked(program: &Program) -> impl Iterator<Item = Term> {
    // What survives a crash is always asked for.
    let persistent = program.persistent().map(Term::Memory);
    program.conditions().flat_map(Condition::terms).chain(program.shown.iter().cloned()).chain(persistent)
}

/// The locations whose values do not matter.
fn mute(program: &Program, unfolding: &Unfolding) -> SortedSet<LocationId> {
    let is_data = |location: &LocationId| {
        let info = &unfolding.locations[location.index()];
        info.role == LocationRole::Data && !program.locations[location.index()].is_unknown
    };
    let mut mute: SortedSet<LocationId> = (0..unfolding.locations.len()).map(LocationId::new).filter(is_data).collect();
    for term in asked(program) {
        if let Term::Memory(location) = term {
            mute.remove(&location);
        }
    }
    for event in &unfolding.events {
        if let Cover::Locations(locations) = &event.cover {
            mute.retain(|location| !locations.contains(location));
        }
    }
    let mut heard = decisive(program, unfolding);
    loop {
        let before = mute.len();
        let is_heard = |event: &&Event| event.location().is_some_and(|own| !mute.contains(&own));
        for event in unfolding.events.iter().filter(is_heard) {
            if let EventKind::Write { value, .. } = &event.kind {
                heard.extend(reads_of(value));
            }
        }
        for own in heard.iter().filter_map(|read| unfolding.events[read.index()].location()) {
            mute.remove(&own);
        }
        if mute.len() == before {
            return mute;
        }
    }
}

/// Reads that decide what happens, or that somebody asks for.
fn decisive(program: &Program, unfolding: &Unfolding) -> SortedSet<EventId> {
    let mut found = SortedSet::new();
    let threads = (0..program.threads.len()).map(crate::ids::ThreadId::new);
    let observed: Vec<_> = threads.map(|thread| flow::observed(program, thread)).collect();
    for trace in &unfolding.traces {
        let conditions = trace.constraints.iter().chain(&trace.assumptions);
        let registers = observed[trace.thread.index()].iter().filter_map(|own| trace.registers.get(own.index()));
        found.extend(conditions.chain(registers).flat_map(reads_of));
        if let TraceEnd::Bound { rests_on, .. } | TraceEnd::Wild { rests_on, .. } = &trace.end {
            found.extend(rests_on);
        }
    }
    for event in &unfolding.events {
        found.extend(&event.address_deps);
        if let EventKind::Barrier(barrier) = &event.kind {
            let operands = [&barrier.instance, &barrier.id, &barrier.count].into_iter().flatten();
            let predicate = barrier.reduction.as_ref().map(|(_, predicate)| predicate);
            found.extend(operands.chain(predicate).flat_map(reads_of));
        }
    }
    found
}

fn reads_of(value: &Expression) -> Vec<EventId> {
    let mut leaves = Vec::new();
    value.leaves(&mut leaves);
    let read = |leaf: &Leaf| if let Leaf::Read(read) = leaf { Some(*read) } else { None };
    leaves.iter().filter_map(read).collect()
}

/// An event that another refers to: one of the same location, by its place there, or any other.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Reference {
    Own(usize),
    Other(EventId),
}

/// All that a model or a report can see of an event, but its location and its value.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    /// Thread, instruction, iteration, kind, tags, scope, space and owner, as a text.
    look: String,
    traces: Vec<usize>,
    references: [Vec<Reference>; 7],
}

/// The events that go, with those that stand for them.
fn stands(unfolding: &Unfolding, mute: &SortedSet<LocationId>) -> Stands {
    let mut traces: Vec<Vec<usize>> = vec![Vec::new(); unfolding.events.len()];
    for (index, trace) in unfolding.traces.iter().enumerate() {
        trace.events.iter().for_each(|event| traces[event.index()].push(index));
    }
    let mut events: SortedMap<LocationId, Vec<EventId>> = SortedMap::new();
    for (index, event) in unfolding.events.iter().enumerate() {
        // Those of runs that another trace stands for are in none.
        if let Some(location) = event.location().filter(|_| !event.is_init() && !traces[index].is_empty()) {
            events.entry(location).or_default().push(EventId::new(index));
        }
    }
    let mut found = Stands::new();
    let mut first: SortedMap<Vec<Mark>, LocationId> = SortedMap::new();
    for (location, own) in &events {
        let in_strand = |event: &EventId| !unfolding.events[event.index()].is_main();
        let in_one = |event: &EventId| unfolding.events[event.index()].extent.is_none();
        if !own.iter().any(in_strand) || !own.iter().all(in_one) {
            continue;
        }
        let marks = own.iter().map(|event| mark(unfolding, own, *event, &traces)).collect();
        let stays = *first.entry(marks).or_insert(*location);
        if stays != *location && mute.contains(location) {
            found.extend(own.iter().copied().zip(events[&stays].iter().copied()));
        }
    }
    retain_consistent(unfolding, &mut found);
    found
}

fn mark(unfolding: &Unfolding, own: &[EventId], id: EventId, traces: &[Vec<usize>]) -> Mark {
    let event = &unfolding.events[id.index()];
    let info = event.location().map(|location| &unfolding.locations[location.index()]);
    let place = info.map(|info| (info.space, info.owner, info.thread, info.ty));
    let is_write = matches!(event.kind, EventKind::Write { .. });
    let proxies = match event.kind {
        EventKind::Read { address, generic, .. } | EventKind::Write { address, generic, .. } => address == generic,
        _ => false,
    };
    let (thread, span, tags, scope, cover) = (event.thread, event.span, event.tags, event.scope, &event.cover);
    let strand = event.strand.as_ref().map(|strand| (strand.issue, &strand.tensor));
    let look = format!(
        "{:?}",
        (thread, span, event.iteration, is_write, proxies, tags, scope, cover, event.call, strand, place)
    );
    let refer = |other: &EventId| match own.iter().position(|one| one == other) {
        Some(at) => Reference::Own(at),
        None => Reference::Other(*other),
    };
    let all = |ids: &[EventId]| {
        let mut references: Vec<Reference> = ids.iter().map(refer).collect();
        references.shared_sort();
        references.dedup();
        references
    };
    let after = event.strand.as_ref().map_or(&[][..], |strand| strand.after.as_slice());
    let partner: Vec<EventId> = event.rmw_partner.into_iter().collect();
    let group: Vec<EventId> = event.group.into_iter().collect();
    let lists = [&event.address_deps, &event.data_deps, &event.control_deps, &event.completes, &partner];
    let [address, data, control, completes, partner] = lists.map(|ids| all(ids));
    // A group is named by its first event, which may be of one of the locations that are compared.
    let group = group.iter().map(|name| Reference::Other(*name)).collect();
    Mark {
        look,
        traces: traces[id.index()].clone(),
        references: [address, data, control, completes, partner, all(after), group],
    }
}

/// Whoever refers to an event that goes and stays itself must refer to the one that stands for it.
fn retain_consistent(unfolding: &Unfolding, stands: &mut Stands) {
    loop {
        let mut wrong: SortedSet<LocationId> = SortedSet::new();
        for (index, event) in unfolding.events.iter().enumerate() {
            if stands.contains_key(&EventId::new(index)) {
                continue;
            }
            for list in lists(event) {
                for gone in list.iter().filter(|id| stands.get(id).is_some_and(|stays| !list.contains(stays))) {
                    wrong.extend(unfolding.events[gone.index()].location());
                }
            }
        }
        let before = stands.len();
        stands.retain(|gone, _| {
            unfolding.events[gone.index()].location().is_none_or(|location| !wrong.contains(&location))
        });
        if stands.len() == before {
            return;
        }
    }
}

fn lists(event: &Event) -> [&[EventId]; 5] {
    let after = event.strand.as_ref().map_or(&[][..], |strand: &Strand| strand.after.as_slice());
    [&event.address_deps, &event.data_deps, &event.control_deps, &event.completes, after]
}

/// Takes the events out of all traces and puts those that stand for them in every place that named them.
fn replace(unfolding: &mut Unfolding, stands: &Stands) {
    let is_gone = |event: &EventId| stands.contains_key(event);
    let parents: Vec<Option<EventId>> = unfolding.events.iter().map(|event| event.parent).collect();
    let kept_parent = |mut parent: Option<EventId>| {
        while let Some(id) = parent.filter(is_gone) {
            parent = parents[id.index()];
        }
        parent
    };
    let exchange = |ids: &mut Vec<EventId>| {
        if ids.iter().any(is_gone) {
            ids.retain(|id| !is_gone(id));
        }
    };
    for event in &mut unfolding.events {
        event.parent = kept_parent(event.parent);
        if let Some(group) = &mut event.group {
            *group = stands.get(group).copied().unwrap_or(*group);
        }
        [&mut event.address_deps, &mut event.data_deps, &mut event.control_deps, &mut event.completes]
            .into_iter()
            .for_each(exchange);
        if let Some(strand) = &mut event.strand {
            exchange(&mut strand.after);
        }
        match &mut event.kind {
            EventKind::Write { value, .. } => exchange_reads(value, stands),
            EventKind::Barrier(barrier) => exchange(&mut barrier.contributed),
            EventKind::Omitted(write) => exchange(&mut write.decided_by),
            EventKind::Read { .. } | EventKind::Fence | EventKind::Issue => {}
        }
    }
    for trace in &mut unfolding.traces {
        exchange(&mut trace.events);
        if let TraceEnd::Spin { reads, .. } = &mut trace.end {
            exchange(reads);
        }
        trace.registers.iter_mut().for_each(|value| exchange_reads(value, stands));
    }
    unfolding.failing.iter_mut().for_each(|iteration| exchange(&mut iteration.events));
    unfolding.exits.iter_mut().for_each(|(_, reads)| exchange(reads));
}

/// A value that nobody looks at may be made of any.
fn exchange_reads(value: &mut Expression, stands: &Stands) {
    match value {
        Expression::Constant(_) | Expression::BarrierResult(_) => {}
        Expression::Read(read) => *read = stands.get(read).copied().unwrap_or(*read),
        Expression::Unary(_, _, operand) => exchange_reads(operand, stands),
        Expression::Binary(_, _, left, right) => {
            exchange_reads(left, stands);
            exchange_reads(right, stands);
        }
        Expression::Select(condition, then, otherwise) => {
            [condition, then, otherwise].into_iter().for_each(|part| exchange_reads(part, stands));
        }
    }
}
