//! Unfoldings and executions put together by hand: one trace per thread, explicit events.

use fencepost_axiom::execution::Execution;
use fencepost_program::expression::Expression;
use fencepost_program::program::{BarrierRule, Place, Scope};
use fencepost_program::tag::{Tag, Tags};
use fencepost_program::unfolding::{
    BarrierMatching, Event, EventKind, LocationInfo, Strand, ThreadUnfolding, Trace, TraceEnd, Unfolding,
};
use fencepost_program::value::{Type, Value};
use fencepost_program::{AddressId, EventId, LocationId, ThreadId, TraceId};
use fencepost_syntax::Span;
use fencepost_syntax::few::Few;

/// The unfolding so far. Locations come first, then threads, each with its events in program order.
pub(crate) struct Build {
    pub(crate) unfolding: Unfolding,
}

impl Build {
    pub(crate) fn new(locations: &[&str]) -> Build {
        let mut build = Build {
            unfolding: Unfolding {
                barrier_rule: BarrierRule::Ptx,
                events: Vec::new(),
                threads: Vec::new(),
                traces: Vec::new(),
                locations: Vec::new(),
                ..Unfolding::default()
            },
        };
        for (index, name) in locations.iter().enumerate() {
            let init = build.push(write(index, Expression::constant(0)), &[Tag::Write, Tag::Init], None);
            build.unfolding.events[init.index()].thread = None;
            build.unfolding.locations.push(LocationInfo {
                name: (*name).into(),
                initial: Value(0),
                ty: Type::UNTYPED,
                init,
                ..LocationInfo::default()
            });
        }
        build
    }

    pub(crate) fn thread(&mut self, place: Place) -> ThreadId {
        let thread = ThreadId::new(self.unfolding.threads.len());
        let trace = TraceId::new(self.unfolding.traces.len());
        let name = format!("P{}", thread.index());
        self.unfolding.threads.push(ThreadUnfolding {
            name: name.into(),
            place,
            traces: Few::filled(trace, 1),
            ..ThreadUnfolding::default()
        });
        self.unfolding.traces.push(Trace {
            thread,
            events: Vec::new(),
            constraints: Vec::new(),
            assumptions: Vec::new(),
            end: TraceEnd::Exit,
            registers: Vec::new(),
        });
        thread
    }

    /// A read into a new register of the last thread.
    pub(crate) fn read(&mut self, location: usize, tags: &[Tag], scope: Option<Scope>) -> EventId {
        let (at, address) = (LocationId::new(location), AddressId::new(location));
        let kind = EventKind::Read { address, generic: address, location: at, ty: Type::UNTYPED };
        let event = self.step(kind, &[&[Tag::Read], tags].concat(), scope);
        self.trace().registers.push(Expression::Read(event));
        event
    }

    pub(crate) fn write(&mut self, location: usize, value: Expression, tags: &[Tag], scope: Option<Scope>) -> EventId {
        self.step(write(location, value), &[&[Tag::Write], tags].concat(), scope)
    }

    pub(crate) fn fence(&mut self, tags: &[Tag], scope: Option<Scope>) -> EventId {
        self.step(EventKind::Fence, &[&[Tag::Fence], tags].concat(), scope)
    }

    /// An asynchronous operation starts, or something waits for some.
    pub(crate) fn issue(&mut self, tags: &[Tag]) -> EventId {
        self.step(EventKind::Issue, tags, None)
    }

    /// Makes the last event part of a strand.
    pub(crate) fn in_strand(&mut self, issue: EventId, after: &[EventId]) -> EventId {
        let event = *self.trace().events.last().expect("an event");
        self.event(event).strand = Some(Strand { issue, after: after.to_vec(), tensor: None });
        self.event(event).parent = Some(issue);
        event
    }

    /// Makes the last two events, a read and a write, a read-modify-write.
    pub(crate) fn pair(&mut self) -> (EventId, EventId) {
        let [.., read, write] = self.trace().events[..] else { unreachable!("two events") };
        self.event(read).rmw_partner = Some(write);
        self.event(write).rmw_partner = Some(read);
        (read, write)
    }

    pub(crate) fn event(&mut self, event: EventId) -> &mut Event {
        &mut self.unfolding.events[event.index()]
    }

    /// The trace of the last thread.
    pub(crate) fn trace(&mut self) -> &mut Trace {
        self.unfolding.traces.last_mut().expect("a thread")
    }

    fn step(&mut self, kind: EventKind, tags: &[Tag], scope: Option<Scope>) -> EventId {
        let event = self.push(kind, tags, scope);
        let thread = ThreadId::new(self.unfolding.threads.len() - 1);
        let before = self.trace().events.clone();
        let parent = before.into_iter().rev().find(|event| self.unfolding.event(*event).is_main());
        self.trace().events.push(event);
        self.event(event).thread = Some(thread);
        self.event(event).parent = parent;
        event
    }

    fn push(&mut self, kind: EventKind, tags: &[Tag], scope: Option<Scope>) -> EventId {
        let event = EventId::new(self.unfolding.events.len());
        self.unfolding.events.push(Event {
            thread: None,
            kind,
            tags: tags.iter().copied().collect::<Tags>(),
            scope,
            parent: None,
            rmw_partner: None,
            address_deps: Vec::new(),
            data_deps: Vec::new(),
            control_deps: Vec::new(),
            span: Span::default(),
            iteration: 0,
            ..Event::default()
        });
        event
    }

    /// The execution of the only traces, with these choices and values; orders need not be sorted.
    pub(crate) fn execution(&self, rf: &[(EventId, EventId)], co: &[(EventId, EventId)], values: &[i128]) -> Execution {
        let mut co = co.to_vec();
        co.sort();
        let mut memory = values.iter();
        let value = |event: &Event| match event.kind {
            EventKind::Read { .. } | EventKind::Write { .. } => memory.next().map(|value| Value(*value)),
            _ => None,
        };
        Execution {
            traces: (0..self.unfolding.traces.len()).map(TraceId::new).collect(),
            events: (0..self.unfolding.events.len()).map(EventId::new).collect(),
            rf: rf.to_vec(),
            co,
            sync_fence: Vec::new(),
            barriers: BarrierMatching::default(),
            values: self.unfolding.events.iter().map(value).collect(),
            weight: 1,
        }
    }
}

fn write(location: usize, value: Expression) -> EventKind {
    let (at, address) = (LocationId::new(location), AddressId::new(location));
    EventKind::Write { address, generic: address, location: at, value, ty: Type::UNTYPED }
}

pub(crate) fn gpu(gpu: u32, cta: u32) -> Place {
    Place::Gpu { gpu, cluster: 0, cta }
}
