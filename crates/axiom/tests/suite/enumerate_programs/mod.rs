//! Unfoldings made by hand, and the families whose execution counts are known: straight-line threads of reads, writes,
//! exchanges and fences.
#![allow(dead_code)]

use fencepost_program::expression::Expression;
use fencepost_program::program::{BarrierRule, Condition, Place, Scope, Term};
use fencepost_program::tag::{Tag, Tags};
use fencepost_program::unfolding::{Event, EventKind, LocationInfo, ThreadUnfolding, Trace, TraceEnd, Unfolding};
use fencepost_program::value::{Type, Value};
use fencepost_program::{AddressId, EventId, LocationId, RegisterId, ThreadId, TraceId};
use fencepost_syntax::Span;
use fencepost_syntax::few::Few;
use fencepost_syntax::litmus::Comparison;

/// One instruction; locations by number, values constant.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Write(usize, i128),
    /// Writes what the thread's n-th register holds.
    WriteRegister(usize, usize),
    /// Writes one more than that.
    WriteNext(usize, usize),
    Read(usize),
    /// Reads into a register and writes a constant, atomically.
    Exchange(usize, i128),
    /// Adds one, atomically.
    Increment(usize),
    Fence(Tag),
}

/// A program: threads of instructions, each with its tags and scope.
pub(crate) struct Builder {
    unfolding: Unfolding,
    tags: Tags,
    scope: Option<Scope>,
}

impl Builder {
    pub(crate) fn new(locations: usize) -> Builder {
        let event = |index: usize| Event {
            thread: None,
            kind: write(index, Expression::constant(0)),
            tags: [Tag::Write, Tag::Init].into_iter().collect(),
            ..blank()
        };
        let info = |index: usize| LocationInfo {
            name: format!("x{index}").into(),
            initial: Value(0),
            ty: Type::UNTYPED,
            init: EventId::new(index),
            ..LocationInfo::default()
        };
        let unfolding = Unfolding {
            barrier_rule: BarrierRule::Ptx,
            events: (0..locations).map(event).collect(),
            threads: Vec::new(),
            traces: Vec::new(),
            locations: (0..locations).map(info).collect(),
            ..Unfolding::default()
        };
        Builder { unfolding, tags: Tags::NONE, scope: None }
    }

    /// Tags and scope of all instructions that follow.
    pub(crate) fn with(mut self, tags: &[Tag], scope: Option<Scope>) -> Builder {
        self.tags = tags.iter().copied().collect();
        self.scope = scope;
        self
    }

    /// A thread in a CTA of its own. Its n-th read goes to register n.
    pub(crate) fn thread(mut self, ops: &[Op]) -> Builder {
        let thread = ThreadId::new(self.unfolding.threads.len());
        let first = self.unfolding.events.len();
        let mut reads: Vec<EventId> = Vec::new();
        for op in ops {
            match op {
                Op::Write(location, value) => self.push(thread, write(*location, Expression::constant(*value)), first),
                Op::WriteRegister(location, register) => {
                    let source = reads[*register];
                    let event = self.push(thread, write(*location, Expression::Read(source)), first);
                    self.unfolding.events[event.index()].data_deps.push(source);
                    event
                }
                Op::WriteNext(location, register) => {
                    let source = reads[*register];
                    let event = self.push(thread, write(*location, next(source)), first);
                    self.unfolding.events[event.index()].data_deps.push(source);
                    event
                }
                Op::Read(location) => {
                    let event = self.push(thread, read(*location), first);
                    reads.push(event);
                    event
                }
                Op::Exchange(location, value) => {
                    let event = self.push(thread, read(*location), first);
                    reads.push(event);
                    self.pair(thread, event, write(*location, Expression::constant(*value)), first)
                }
                Op::Increment(location) => {
                    let event = self.push(thread, read(*location), first);
                    reads.push(event);
                    self.pair(thread, event, write(*location, next(event)), first)
                }
                Op::Fence(tag) => {
                    let event = self.push(thread, EventKind::Fence, first);
                    let fence = &mut self.unfolding.events[event.index()];
                    fence.tags = fence.tags.with(Tag::Fence).with(*tag);
                    event
                }
            };
        }
        let trace = TraceId::new(self.unfolding.traces.len());
        self.unfolding.traces.push(Trace {
            thread,
            events: (first..self.unfolding.events.len()).map(EventId::new).collect(),
            constraints: Vec::new(),
            assumptions: Vec::new(),
            end: TraceEnd::Exit,
            registers: reads.into_iter().map(Expression::Read).collect(),
        });
        self.unfolding.threads.push(ThreadUnfolding {
            name: format!("P{}", thread.0).into(),
            place: Place::Gpu { gpu: 0, cluster: 0, cta: thread.0 },
            traces: Few::filled(trace, 1),
            ..ThreadUnfolding::default()
        });
        self
    }

    pub(crate) fn build(self) -> Unfolding {
        self.unfolding
    }

    fn push(&mut self, thread: ThreadId, kind: EventKind, first: usize) -> EventId {
        let id = EventId::new(self.unfolding.events.len());
        let tag = match &kind {
            EventKind::Read { .. } => Some(Tag::Read),
            EventKind::Write { .. } => Some(Tag::Write),
            EventKind::Fence | EventKind::Barrier(_) | EventKind::Issue | EventKind::Omitted(_) => None,
        };
        let tags = tag.into_iter().fold(self.tags, Tags::with);
        let parent = (id.index() > first).then(|| EventId::new(id.index() - 1));
        self.unfolding.events.push(Event { thread: Some(thread), kind, tags, scope: self.scope, parent, ..blank() });
        id
    }

    /// The write half of a read-modify-write.
    fn pair(&mut self, thread: ThreadId, read: EventId, kind: EventKind, first: usize) -> EventId {
        let write = self.push(thread, kind, first);
        for (half, other) in [(read, write), (write, read)] {
            let event = &mut self.unfolding.events[half.index()];
            event.rmw_partner = Some(other);
            event.tags = event.tags.with(Tag::Atomic);
        }
        write
    }
}

fn blank() -> Event {
    Event {
        thread: None,
        kind: EventKind::Fence,
        tags: Tags::NONE,
        scope: None,
        parent: None,
        rmw_partner: None,
        address_deps: Vec::new(),
        data_deps: Vec::new(),
        control_deps: Vec::new(),
        span: Span::default(),
        iteration: 0,
        ..Event::default()
    }
}

fn next(read: EventId) -> Expression {
    let (read, one) = (Box::new(Expression::Read(read)), Box::new(Expression::constant(1)));
    Expression::Binary(fencepost_program::expression::BinaryOperator::Add, Type::UNTYPED, read, one)
}

fn write(location: usize, value: Expression) -> EventKind {
    let address = AddressId::new(location);
    EventKind::Write { address, generic: address, location: LocationId::new(location), value, ty: Type::UNTYPED }
}

fn read(location: usize) -> EventKind {
    let address = AddressId::new(location);
    EventKind::Read { address, generic: address, location: LocationId::new(location), ty: Type::UNTYPED }
}

pub(crate) fn register(thread: u32, register: u32, value: i128) -> Condition {
    let left = Term::Register(ThreadId(thread), RegisterId(register));
    Condition::Compare { op: Comparison::Equal, left, right: Term::Constant(Value(value)) }
}

pub(crate) fn memory(location: u32, value: i128) -> Condition {
    let left = Term::Memory(LocationId(location));
    Condition::Compare { op: Comparison::Equal, left, right: Term::Constant(Value(value)) }
}

/// Thread i writes location i and reads location i + 1.
pub(crate) fn store_buffering(n: usize, fence: Option<Tag>) -> Unfolding {
    (0..n)
        .fold(Builder::new(n), |builder, i| {
            let mut ops = vec![Op::Write(i, 1)];
            ops.extend(fence.map(Op::Fence));
            ops.push(Op::Read((i + 1) % n));
            builder.thread(&ops)
        })
        .build()
}

/// Thread i reads location i and writes location i + 1.
pub(crate) fn load_buffering(n: usize) -> Unfolding {
    (0..n).fold(Builder::new(n), |builder, i| builder.thread(&[Op::Read(i), Op::Write((i + 1) % n, 1)])).build()
}

/// n writers, n readers of two neighbouring locations.
pub(crate) fn independent_reads(n: usize) -> Unfolding {
    let writers = (0..n).fold(Builder::new(n), |builder, i| builder.thread(&[Op::Write(i, 1)]));
    (0..n).fold(writers, |builder, i| builder.thread(&[Op::Read(i), Op::Read((i + 1) % n)])).build()
}

/// Thread i writes 1 to location i and 2 to location i + 1.
pub(crate) fn two_plus_two_writes(n: usize) -> Unfolding {
    (0..n).fold(Builder::new(n), |builder, i| builder.thread(&[Op::Write(i, 2), Op::Write((i + 1) % n, 1)])).build()
}

/// n exchanges of one location.
pub(crate) fn exchanges(n: usize) -> Unfolding {
    (0..n).fold(Builder::new(1), |builder, i| builder.thread(&[Op::Exchange(0, i as i128 + 1)])).build()
}

/// n writers of one location and a reader with two reads.
pub(crate) fn writers(n: usize) -> Unfolding {
    let all = (0..n).fold(Builder::new(1), |builder, i| builder.thread(&[Op::Write(0, i as i128 + 1)]));
    all.thread(&[Op::Read(0), Op::Read(0)]).build()
}

/// One thread with n writes of a location, one with n reads of it.
pub(crate) fn coherent_reads(n: usize) -> Unfolding {
    let writes: Vec<Op> = (0..n).map(|i| Op::Write(0, i as i128 + 1)).collect();
    Builder::new(1).thread(&writes).thread(&vec![Op::Read(0); n]).build()
}
