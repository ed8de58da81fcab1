//! Event graphs without text: the events of a labelled shape, and of what it is compiled to, as an unfolding with one trace
//! per thread.
//!
//! The tags are those that the front ends give. What is found on graphs is confirmed as text, and tests send a sample of what is
//! not through text too.

use fencepost_program::expression::Expression;
use fencepost_program::program::{Place, Scope};
use fencepost_program::tag::{Tag, Tags};
use fencepost_program::unfolding::{
    Event, EventKind, LocationInfo, ThreadUnfolding, Trace, TraceEnd, Traces, Unfolding,
};
use fencepost_program::value::{Type, Value};
use fencepost_program::{AddressId, EventId, LocationId, ThreadId, TraceId};

use crate::bounded::behaviour::Behaviour;
use crate::bounded::shape::Shape;
use crate::label::{Kind, Label, Level, Order};
use crate::scheme::{Device, Image};

/// Where each thread runs: on the host, or in a CTA.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Placement(pub Vec<Option<u32>>);

impl Placement {
    fn place(&self, thread: usize) -> Place {
        match self.0.get(thread).copied().flatten() {
            Some(cta) => Place::Gpu { gpu: 0, cluster: cta, cta },
            None => Place::Host,
        }
    }
}

/// How much of a thread is there: operations, and of the last one perhaps only the read.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Extent {
    pub operations: usize,
    /// The last operation is a read-modify-write that does not write.
    pub fails: bool,
}

/// A graph; keeps its memory from one to the next.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub unfolding: Unfolding,
    /// The events of each operation.
    reads: Vec<Option<EventId>>,
    writes: Vec<Option<EventId>>,
    pub rf: Vec<(EventId, EventId)>,
    pub last: Vec<EventId>,
}

fn scope(label: Label) -> Option<Scope> {
    match (label.is_nothing(), label.level()) {
        (true, _) => None,
        (false, Level::Cta) => Some(Scope::Cta),
        (false, Level::System) => Some(Scope::Sys),
    }
}

impl Graph {
    /// The program itself, each thread as far as `extents` says.
    pub fn source(&mut self, shape: &Shape, labels: &[Label], placement: &Placement, extents: &[Extent]) {
        self.begin(shape, placement);
        let mut number = 0;
        for (thread, operations) in shape.threads.iter().enumerate() {
            let extent = extents[thread];
            for (at, operation) in operations.iter().enumerate() {
                let label = labels[number];
                let fails = extent.fails && at + 1 == extent.operations;
                if at < extent.operations {
                    let tags = |half: Kind| source_tags(operation.kind, half, label);
                    self.operation(number, thread, (operation.kind, operation.location), (&tags, scope(label)), fails);
                }
                number += 1;
            }
            self.end_thread(thread);
        }
    }

    /// What it is compiled to.
    pub fn target(&mut self, shape: &Shape, images: &[Image], devices: &[Device], placement: &Placement) {
        self.begin(shape, placement);
        let mut number = 0;
        for (thread, operations) in shape.threads.iter().enumerate() {
            let device = devices[thread];
            for operation in operations {
                let image = images[number];
                self.fence(thread, device, image.before);
                let access = image.access;
                match operation.kind {
                    // A fence is its own access.
                    Kind::Fence => {}
                    kind => {
                        let tags = |half: Kind| target_tags(device, kind, half, access);
                        let scope = if device == Device::X86 { Some(Scope::Sys) } else { scope(access) };
                        self.operation(number, thread, (kind, operation.location), (&tags, scope), false);
                    }
                }
                self.fence(thread, device, image.after);
                number += 1;
            }
            self.end_thread(thread);
        }
    }

    /// What is read and what memory ends with.
    pub fn observe(&mut self, shape: &Shape, behaviour: &Behaviour) {
        self.rf.clear();
        for number in 0..shape.count() {
            self.read_from(shape, number, behaviour.source[number]);
        }
        self.last.clear();
        self.last.extend(behaviour.last.iter().flatten().filter_map(|write| self.writes[*write]));
    }

    /// Adds one reads-from edge, if both ends are there; false if the read is and the write is not.
    pub fn read_from(&mut self, shape: &Shape, reader: usize, source: Option<usize>) -> bool {
        let Some(read) = self.reads[reader] else { return true };
        let write = match source {
            Some(writer) => self.writes[writer],
            None => shape.operations().nth(reader).and_then(|operation| operation.location).map(EventId::new),
        };
        if let Some(write) = write {
            self.rf.push((write, read));
        }
        write.is_some()
    }

    pub fn has_write(&self, operation: usize) -> bool {
        self.writes[operation].is_some()
    }

    /// Makes everything behind these reads depend on them, as a branch does.
    pub fn guard(&mut self, shape: &Shape, guards: &[bool]) {
        for (thread, trace) in self.unfolding.traces.iter().enumerate() {
            let first = shape.first(thread);
            let mut seen: Vec<EventId> = Vec::new();
            for event in &trace.events {
                self.unfolding.events[event.index()].control_deps.clone_from(&seen);
                let numbers = first..first + shape.threads[thread].len();
                let read = numbers.clone().find(|number| self.reads[*number] == Some(*event));
                if read.is_some_and(|number| guards[number]) {
                    seen.push(*event);
                }
            }
        }
    }

    fn begin(&mut self, shape: &Shape, placement: &Placement) {
        let unfolding = &mut self.unfolding;
        unfolding.events.clear();
        unfolding.locations.resize_with(shape.locations, LocationInfo::default);
        for location in 0..shape.locations {
            unfolding.locations[location].init = EventId::new(location);
            unfolding.events.push(Event {
                kind: EventKind::Write {
                    address: AddressId::new(location),
                    generic: AddressId::new(location),
                    location: LocationId::new(location),
                    value: Expression::Constant(Value(0)),
                    ty: Type::S32,
                },
                tags: Tags::from_iter([Tag::Write, Tag::Init]),
                ..Event::default()
            });
        }
        unfolding.threads.resize_with(shape.threads.len(), ThreadUnfolding::default);
        let blank = || Trace {
            thread: ThreadId(0),
            events: Vec::new(),
            constraints: Vec::new(),
            assumptions: Vec::new(),
            end: TraceEnd::Exit,
            registers: Vec::new(),
        };
        unfolding.traces.resize_with(shape.threads.len(), blank);
        for thread in 0..shape.threads.len() {
            unfolding.threads[thread].place = placement.place(thread);
            unfolding.threads[thread].traces = Traces::filled(TraceId::new(thread), 1);
            unfolding.traces[thread].thread = ThreadId::new(thread);
            unfolding.traces[thread].events.clear();
        }
        self.reads.clear();
        self.reads.resize(shape.count(), None);
        self.writes.clear();
        self.writes.resize(shape.count(), None);
    }

    fn end_thread(&mut self, thread: usize) {
        let trace = &self.unfolding.traces[thread].events;
        for pair in trace.windows(2) {
            self.unfolding.events[pair[1].index()].parent = Some(pair[0]);
        }
    }

    fn push(&mut self, thread: usize, kind: EventKind, tags: Tags, scope: Option<Scope>) -> EventId {
        let id = EventId::new(self.unfolding.events.len());
        self.unfolding.events.push(Event {
            thread: Some(ThreadId::new(thread)),
            kind,
            tags,
            scope,
            ..Event::default()
        });
        self.unfolding.traces[thread].events.push(id);
        id
    }

    fn fence(&mut self, thread: usize, device: Device, label: Label) {
        if label.is_nothing() {
            return;
        }
        let (tags, scope) = match device {
            Device::X86 => (Tags::from_iter([Tag::Fence, Tag::Mfence, Tag::X86]), Some(Scope::Sys)),
            Device::Ptx => (fence_tags(label).with(Tag::Generic).with(scope_tag(label)), scope(label)),
        };
        self.push(thread, EventKind::Fence, tags, scope);
    }

    fn operation(
        &mut self,
        number: usize,
        thread: usize,
        (kind, location): (Kind, Option<usize>),
        (tags, scope): (&dyn Fn(Kind) -> Tags, Option<Scope>),
        fails: bool,
    ) {
        let Some(location) = location else {
            let tags = tags(Kind::Fence);
            if tags.has(Tag::Fence) {
                self.push(thread, EventKind::Fence, tags, scope);
            }
            return;
        };
        let (address, place) = (AddressId::new(location), LocationId::new(location));
        if kind.reads() {
            let event = EventKind::Read { address, generic: address, location: place, ty: Type::S32 };
            self.reads[number] = Some(self.push(thread, event, tags(Kind::Read), scope));
        }
        if kind.writes() && !fails {
            let value = Expression::Constant(Value(number as i128 + 1));
            let event = EventKind::Write { address, generic: address, location: place, value, ty: Type::S32 };
            let write = self.push(thread, event, tags(Kind::Write), scope);
            self.writes[number] = Some(write);
            if let Some(read) = self.reads[number] {
                self.unfolding.events[read.index()].rmw_partner = Some(write);
                self.unfolding.events[write.index()].rmw_partner = Some(read);
            }
        }
    }
}

fn scope_tag(label: Label) -> Tag {
    match label.level() {
        Level::Cta => Tag::ScopeCta,
        Level::System => Tag::ScopeSys,
    }
}

fn fence_tags(label: Label) -> Tags {
    let order = match label.order() {
        Order::SeqCst => Tag::Sc,
        Order::AcqRel => Tag::AcqRel,
        Order::Acquire => Tag::Acquire,
        Order::Release => Tag::Release,
        Order::Relaxed | Order::NonAtomic => return Tags::NONE,
    };
    Tags::from_iter([Tag::Fence, order])
}

/// One half of an operation of C.
fn source_tags(kind: Kind, half: Kind, label: Label) -> Tags {
    if half == Kind::Fence {
        return fence_tags(label);
    }
    let is_read = half == Kind::Read;
    let order = match label.order() {
        Order::NonAtomic => Tag::NonAtomic,
        Order::SeqCst => Tag::Sc,
        _ if is_read && label.acquires() => Tag::Acquire,
        _ if !is_read && label.releases() => Tag::Release,
        _ => Tag::Relaxed,
    };
    let tags = Tags::from_iter([if is_read { Tag::Read } else { Tag::Write }, order]);
    if kind == Kind::ReadModifyWrite { tags.with(Tag::Atomic) } else { tags }
}

/// One half of an access of the target.
fn target_tags(device: Device, kind: Kind, half: Kind, label: Label) -> Tags {
    let is_read = half == Kind::Read;
    let tags = Tags::from_iter([if is_read { Tag::Read } else { Tag::Write }]);
    let tags = if kind == Kind::ReadModifyWrite { tags.with(Tag::Atomic) } else { tags };
    if device == Device::X86 {
        return tags.with(Tag::X86);
    }
    let tags = tags.with(Tag::Generic);
    if label.is_nothing() {
        return tags.with(Tag::Weak);
    }
    let order = match is_read {
        true if label.acquires() => Tag::Acquire,
        false if label.releases() => Tag::Release,
        _ => Tag::Relaxed,
    };
    tags.with(order).with(scope_tag(label))
}
