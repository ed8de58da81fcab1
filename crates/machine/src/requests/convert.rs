//! Unfoldings to requests. What no machine can run is refused by name, at its place.

use fencepost_program::expression::{Expression, Leaf};
use fencepost_program::program::{Cover, LocationRole, Place, Program, Scope, Thread, Unsupported};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind, TraceEnd, Unfolding};
use fencepost_program::{EventId, ThreadId};
use fencepost_syntax::Span;
use fencepost_syntax::litmus::Arch;
use fencepost_syntax::sorted::SharedSort as _;

use crate::requests::scopes::{GpuScope, ScopeTree, ThreadScope};
use crate::requests::{
    Architecture, AtomicHalf, Fork, MOST_REQUESTS, PersistOperation, Request, RequestKind, RequestLocation,
    RequestThread, RequestTrace, Requests, Semantics, Slot, tree,
};

/// Whose instructions each thread executes, and where it runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    pub threads: Vec<(Architecture, Place)>,
}

impl Placement {
    /// What a program says of its threads.
    pub fn of(program: &Program) -> Result<Placement, Unsupported> {
        // A case of the initial values (`fencepost_program::initial`) names the values that stand for unknown ones.
        if program.locations.iter().any(|location| location.is_unknown) && program.unknown_values.is_empty() {
            let what = "unknown initial values in an operational model".to_owned();
            return Err(Unsupported { span: Span::default(), what });
        }
        let architecture = |arch: Arch| match arch {
            Arch::Ptx => Ok(Architecture::Ptx),
            Arch::X86 | Arch::X86_64 => Ok(Architecture::X86),
            Arch::C => {
                let what = "C in an operational model, which runs instructions".to_owned();
                Err(Unsupported { span: Span::default(), what })
            }
        };
        let thread = |thread: &Thread| Ok((architecture(thread.arch)?, thread.place));
        Ok(Placement { threads: program.threads.iter().map(thread).collect::<Result<_, _>>()? })
    }

    /// The same threads as if all were of one architecture, such as [`Architecture::Sc`].
    pub fn all(self, architecture: Architecture) -> Placement {
        Placement { threads: self.threads.into_iter().map(|(_, place)| (architecture, place)).collect() }
    }

    /// The same with PTX threads as threads of another GPU ([`Architecture::Xc`]).
    pub fn gpus(self, architecture: Architecture) -> Placement {
        let change = |(old, place)| (if old == Architecture::Ptx { architecture } else { old }, place);
        Placement { threads: self.threads.into_iter().map(change).collect() }
    }
}

impl Requests {
    /// The requests of an unfolded program.
    pub fn of(unfolding: &Unfolding, placement: &Placement) -> Result<Requests, Unsupported> {
        refuse(unfolding)?;
        if placement.threads.len() != unfolding.threads.len() {
            let what = "a placement of other threads than the program's".to_owned();
            return Err(Unsupported { span: Span::default(), what });
        }
        let slots = Slots::new(unfolding)?;
        let mut requests = Vec::with_capacity(unfolding.events.len());
        for id in (0..unfolding.events.len()).map(EventId::new) {
            requests.push(request(unfolding, id, placement, &slots)?);
        }
        let thread = |(index, thread): (usize, &fencepost_program::unfolding::ThreadUnfolding)| {
            let id = ThreadId::new(index);
            let (architecture, place) = placement.threads[index];
            let root = tree::grow(unfolding, id, &mut requests);
            let (first, length) = slots.threads[index];
            RequestThread { name: thread.name.to_string(), architecture, place, first, length, root }
        };
        let threads = unfolding.threads.iter().enumerate().map(thread).collect();
        let location = |location: &fencepost_program::unfolding::LocationInfo| RequestLocation {
            name: location.name.to_string(),
            initial: location.initial,
            is_persistent: unfolding.event(location.init).has(Tag::Persistent),
        };
        let trace = |trace: &fencepost_program::unfolding::Trace| RequestTrace {
            constraints: trace.constraints.clone(),
            assumptions: trace.assumptions.clone(),
            end: trace.end.clone(),
            registers: trace.registers.clone(),
        };
        let places: Vec<Place> = placement.threads.iter().map(|(_, place)| *place).collect();
        Ok(Requests {
            threads,
            locations: unfolding.locations.iter().map(location).collect(),
            requests,
            traces: unfolding.traces.iter().map(trace).collect(),
            scopes: ScopeTree::new(&places, GpuScope::Device, ThreadScope::None),
            slots: slots.count,
        })
    }
}

fn unsupported<T>(event: &Event, what: &str) -> Result<T, Unsupported> {
    Err(Unsupported { span: event.span, what: what.to_owned() })
}

/// What no machine runs.
fn refuse(unfolding: &Unfolding) -> Result<(), Unsupported> {
    for event in &unfolding.events {
        if event.call.is_some() || event.has(Tag::LaunchDependents) || event.has(Tag::GridWait) {
            return unsupported(event, "kernel launches in an operational model");
        }
        if event.strand.is_some() || !event.completes.is_empty() || matches!(event.kind, EventKind::Issue) {
            return unsupported(event, "asynchronous operations in an operational model");
        }
        if event.is_barrier() {
            return unsupported(event, "barriers in an operational model");
        }
        if event.has(Tag::ProxyFence) || event.has(Tag::Alias) {
            return unsupported(event, "proxy fences in an operational model");
        }
        if [Tag::Surface, Tag::Texture, Tag::Constant].iter().any(|tag| event.has(*tag)) {
            return unsupported(event, "proxies in an operational model");
        }
        if event.has(Tag::Mmio) {
            return unsupported(event, "`.mmio` accesses in an operational model");
        }
        if event.extent.is_some() {
            return unsupported(event, "accesses of several locations in an operational model");
        }
        if event.group.is_some() {
            return unsupported(event, "vector accesses in an operational model");
        }
        if event.cover != Cover::Everything || event.has(Tag::Restricted) {
            return unsupported(event, "fences about a part of memory in an operational model");
        }
        if let Some(location) = event.location()
            && unfolding.locations[location.index()].role != LocationRole::Data
        {
            return unsupported(event, "mbarriers and tensor maps in an operational model");
        }
    }
    refuse_aliases(unfolding)?;
    let never_starts = unfolding.traces.iter().any(|trace| trace.end == TraceEnd::NotStarted);
    let launch = never_starts || !unfolding.kernel_order.is_empty() || !unfolding.dependent_launches.is_empty();
    match unfolding.events.iter().find(|event| !event.is_init()) {
        Some(event) if launch => unsupported(event, "kernel launches in an operational model"),
        _ => Ok(()),
    }
}

/// Two virtual addresses of one location: machines know locations only.
fn refuse_aliases(unfolding: &Unfolding) -> Result<(), Unsupported> {
    let mut known = vec![None; unfolding.locations.len()];
    for event in unfolding.events.iter().filter(|event| !event.is_init()) {
        if let (Some(location), Some(generic)) = (event.location(), event.generic()) {
            let before = known[location.index()].get_or_insert(generic);
            if *before != generic {
                return unsupported(event, "virtual aliases in an operational model");
            }
        }
    }
    Ok(())
}

struct Slots {
    /// By event.
    of: Vec<Slot>,
    /// Per thread: its first slot, and how many it has.
    threads: Vec<(Slot, u32)>,
    count: u32,
}

impl Slots {
    fn new(unfolding: &Unfolding) -> Result<Slots, Unsupported> {
        let mut next = unfolding.locations.len();
        let mut threads = Vec::new();
        let mut of = vec![0; unfolding.events.len()];
        (0..next).for_each(|location| of[unfolding.locations[location].init.index()] = location);
        for thread in &unfolding.threads {
            let traces = || thread.traces.iter().map(|trace| &unfolding.traces[trace.index()].events);
            let length = traces().map(Vec::len).max().unwrap_or(0);
            for events in traces() {
                events.iter().enumerate().for_each(|(at, event)| of[event.index()] = next + at);
            }
            threads.push((next, length));
            next += length;
        }
        let span = unfolding.events.last().map(|event| event.span).unwrap_or_default();
        if next > MOST_REQUESTS as usize || unfolding.threads.len() > 64 {
            let what = format!("more than {MOST_REQUESTS} memory operations in one run of an operational model");
            return Err(Unsupported { span, what });
        }
        let slot = |at: usize| Slot(at as u8);
        let threads = threads.into_iter().map(|(first, length)| (slot(first), length as u32)).collect();
        Ok(Slots { of: of.into_iter().map(slot).collect(), threads, count: next as u32 })
    }
}

fn request(unfolding: &Unfolding, id: EventId, placement: &Placement, slots: &Slots) -> Result<Request, Unsupported> {
    let event = unfolding.event(id);
    let kind = match &event.kind {
        EventKind::Read { location, .. } => RequestKind::Read { location: *location },
        EventKind::Write { location, value, .. } => RequestKind::Write { location: *location, value: value.clone() },
        EventKind::Fence | EventKind::Barrier(_) | EventKind::Issue | EventKind::Omitted(_) => RequestKind::Fence,
    };
    let architecture = event.thread.map(|thread| placement.threads[thread.index()].0);
    Ok(Request {
        thread: event.thread,
        slot: slots.of[id.index()],
        kind,
        semantics: semantics(event, architecture)?,
        scope: match architecture {
            Some(Architecture::Ptx | Architecture::Xc) => event.scope.unwrap_or(Scope::Sys),
            _ => Scope::Sys,
        },
        atomic: match event.rmw_partner {
            // A compare-and-swap that fails writes nothing, and is atomic all the same.
            _ if event.is_read() && event.has(Tag::Atomic) => Some(AtomicHalf::Read),
            Some(read) if event.is_write() => Some(AtomicHalf::Write(read)),
            _ => None,
        },
        persist: persist(event),
        needs: needs(unfolding, id),
        next: Fork::default(),
        span: event.span,
    })
}

fn persist(event: &Event) -> Option<PersistOperation> {
    let table = [
        (Tag::OrderFence, PersistOperation::Order),
        (Tag::DurabilityFence, PersistOperation::Durability),
        (Tag::PersistAcquire, PersistOperation::Acquire),
        (Tag::PersistRelease, PersistOperation::Release),
    ];
    table.into_iter().find(|(tag, _)| event.has(*tag)).map(|(_, operation)| operation)
}

/// Tags to strength. A volatile access is a relaxed one of system scope (PTX ISA 8.4); LFENCE and SFENCE order nothing
/// that x86-TSO does not, and are relaxed fences, which no rule looks at.
fn semantics(event: &Event, architecture: Option<Architecture>) -> Result<Semantics, Unsupported> {
    let scoped = matches!(architecture, Some(Architecture::Ptx | Architecture::Xc | Architecture::Arm));
    if !scoped {
        return Ok(if event.has(Tag::Mfence) || event.has(Tag::Sc) { Semantics::Sc } else { Semantics::Relaxed });
    }
    let table = [
        (Tag::Sc, Semantics::Sc),
        (Tag::AcqRel, Semantics::AcqRel),
        (Tag::Acquire, Semantics::Acquire),
        (Tag::Release, Semantics::Release),
        (Tag::Volatile, Semantics::Relaxed),
        (Tag::Relaxed, Semantics::Relaxed),
        (Tag::Weak, Semantics::Weak),
        (Tag::Mfence, Semantics::Sc),
    ];
    match table.iter().find(|(tag, _)| event.has(*tag)) {
        Some((_, semantics)) => Ok(*semantics),
        None if persist(event).is_some() => Ok(Semantics::Relaxed),
        None if event.is_read() || event.is_write() => Ok(Semantics::Relaxed),
        None => unsupported(event, "this kind of fence in an operational model"),
    }
}

/// The reads a request waits for. A read-modify-write is accepted as a whole: its read waits for the operands of its write.
fn needs(unfolding: &Unfolding, id: EventId) -> Vec<EventId> {
    let of = |id: EventId, found: &mut Vec<EventId>| {
        let event = unfolding.event(id);
        let deps = [&event.address_deps, &event.data_deps, &event.control_deps];
        found.extend(deps.into_iter().flatten().copied());
        if let EventKind::Write { value, .. } = &event.kind {
            found.extend(leaves(value));
        }
    };
    let mut found = Vec::new();
    of(id, &mut found);
    let event = unfolding.event(id);
    if event.is_read() && event.has(Tag::Atomic) {
        let is_half = |other: &usize| unfolding.events[*other].rmw_partner == Some(id);
        (0..unfolding.events.len()).filter(is_half).for_each(|half| of(EventId::new(half), &mut found));
        found.retain(|read| *read != id);
    }
    found.shared_sort();
    found.dedup();
    found
}

fn leaves(value: &Expression) -> Vec<EventId> {
    let mut found = Vec::new();
    value.leaves(&mut found);
    let read = |leaf: Leaf| match leaf {
        Leaf::Read(read) => Some(read),
        Leaf::BarrierResult(_) => None,
    };
    found.into_iter().filter_map(read).collect()
}
