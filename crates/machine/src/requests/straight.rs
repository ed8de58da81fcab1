//! Programs without branches, made by hand: the figures of the paper, imported tests, random programs.

use fencepost_program::expression::{BinaryOperator, Expression};
use fencepost_program::program::{Place, Scope, Unsupported};
use fencepost_program::unfolding::TraceEnd;
use fencepost_program::value::{Type, Value};
use fencepost_program::{EventId, LocationId, ThreadId, TraceId};
use fencepost_syntax::Span;

use crate::requests::scopes::{GpuScope, ScopeTree, ThreadScope};
use crate::requests::{
    Architecture, AtomicHalf, Branch, Fork, MOST_REQUESTS, Request, RequestKind, RequestLocation, RequestThread,
    RequestTrace, Requests, Semantics, Slot,
};

/// One instruction of a straight-line thread. Locations are named by number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Instruction {
    Read {
        location: u32,
        semantics: Semantics,
        scope: Scope,
    },
    Write {
        location: u32,
        value: i128,
        semantics: Semantics,
        scope: Scope,
    },
    /// Writes what the nth instruction of the thread read, plus `add`.
    WriteRead {
        location: u32,
        from: u32,
        add: i128,
        semantics: Semantics,
        scope: Scope,
    },
    Fence {
        semantics: Semantics,
        scope: Scope,
    },
    /// Atomically adds `add`; acquire and release go to the halves they belong to.
    FetchAdd {
        location: u32,
        add: i128,
        semantics: Semantics,
        scope: Scope,
    },
    /// Atomically writes `value`.
    Exchange {
        location: u32,
        value: i128,
        semantics: Semantics,
        scope: Scope,
    },
    /// The next instruction waits for what the nth instruction of the thread reads (`;dep`).
    Dependency {
        from: u32,
    },
}

/// A straight-line program. Register `k` of a thread is what its `k`th instruction reads, 0 if it reads nothing;
/// `Dependency` entries count as instructions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Straight {
    /// Name and initial value.
    pub locations: Vec<(String, i128)>,
    pub threads: Vec<(Architecture, Place, Vec<Instruction>)>,
}

impl Straight {
    pub fn requests(&self) -> Result<Requests, Unsupported> {
        let mut build = Build { requests: Vec::new(), slot: 0 };
        for (location, (_, initial)) in self.locations.iter().enumerate() {
            let location = LocationId::new(location);
            let value = Expression::constant(*initial);
            build.push(None, RequestKind::Write { location, value }, Semantics::Relaxed, Scope::Sys);
        }
        let (mut threads, mut traces) = (Vec::new(), Vec::new());
        for (index, (architecture, place, code)) in self.threads.iter().enumerate() {
            let first = build.requests.len();
            let (trace, length) = build.thread(ThreadId::new(index), code);
            let fork = |next: usize| match next - first < length as usize {
                true => Fork { branches: vec![Branch { to: EventId::new(next), guard: Vec::new() }], ends: Vec::new() },
                false => Fork { branches: Vec::new(), ends: vec![TraceId::new(index)] },
            };
            for at in first..first + length as usize {
                build.requests[at].next = fork(at + 1);
            }
            threads.push(RequestThread {
                name: format!("P{index}"),
                architecture: *architecture,
                place: *place,
                first: Slot(u8::try_from(first).unwrap_or(u8::MAX)),
                length,
                root: fork(first),
            });
            traces.push(trace);
        }
        if build.slot > MOST_REQUESTS || threads.len() > 64 {
            let what = format!("more than {MOST_REQUESTS} memory operations in one run of an operational model");
            return Err(Unsupported { span: Span::default(), what });
        }
        let places: Vec<Place> = self.threads.iter().map(|thread| thread.1).collect();
        let location = |(name, initial): &(String, i128)| RequestLocation {
            name: name.clone(),
            initial: Value(*initial),
            is_persistent: false,
        };
        Ok(Requests {
            threads,
            locations: self.locations.iter().map(location).collect(),
            requests: build.requests,
            traces,
            scopes: ScopeTree::new(&places, GpuScope::Device, ThreadScope::None),
            slots: build.slot,
        })
    }
}

struct Build {
    requests: Vec<Request>,
    slot: u32,
}

/// What a thread's instructions left behind.
struct Registers {
    values: Vec<Expression>,
    reads: Vec<Option<EventId>>,
    /// What the next request waits for.
    waiting: Vec<EventId>,
}

impl Build {
    fn push(&mut self, thread: Option<ThreadId>, kind: RequestKind, semantics: Semantics, scope: Scope) -> EventId {
        let id = EventId::new(self.requests.len());
        self.requests.push(Request {
            thread,
            slot: Slot(u8::try_from(self.slot).unwrap_or(u8::MAX)),
            kind,
            semantics,
            scope,
            atomic: None,
            persist: None,
            needs: Vec::new(),
            next: Fork::default(),
            span: Span::default(),
        });
        self.slot += 1;
        id
    }

    fn thread(&mut self, thread: ThreadId, code: &[Instruction]) -> (RequestTrace, u32) {
        let first = self.requests.len();
        let mut registers = Registers { values: Vec::new(), reads: Vec::new(), waiting: Vec::new() };
        for instruction in code {
            self.instruction(thread, instruction, &mut registers);
        }
        let trace = RequestTrace {
            constraints: Vec::new(),
            assumptions: Vec::new(),
            end: TraceEnd::Exit,
            registers: registers.values,
        };
        (trace, (self.requests.len() - first) as u32)
    }

    fn instruction(&mut self, thread: ThreadId, instruction: &Instruction, registers: &mut Registers) {
        let first = self.requests.len();
        let mut read = None;
        match *instruction {
            Instruction::Read { location, semantics, scope } => {
                let location = LocationId(location);
                read = Some(self.push(Some(thread), RequestKind::Read { location }, semantics, scope));
            }
            Instruction::Write { location, value, semantics, scope } => {
                let (location, value) = (LocationId(location), Expression::constant(value));
                self.push(Some(thread), RequestKind::Write { location, value }, semantics, scope);
            }
            Instruction::WriteRead { location, from, add, semantics, scope } => {
                let source = registers.reads.get(from as usize).copied().flatten();
                let value = source.map_or(Expression::constant(add), |source| plus(source, add));
                let kind = RequestKind::Write { location: LocationId(location), value };
                self.push(Some(thread), kind, semantics, scope);
                registers.waiting.extend(source);
            }
            Instruction::Fence { semantics, scope } => {
                self.push(Some(thread), RequestKind::Fence, semantics, scope);
            }
            Instruction::FetchAdd { location, add, semantics, scope } => {
                let update = |read| plus(read, add);
                read = Some(self.modify(thread, LocationId(location), (semantics, scope), update));
            }
            Instruction::Exchange { location, value, semantics, scope } => {
                let update = |_| Expression::constant(value);
                read = Some(self.modify(thread, LocationId(location), (semantics, scope), update));
            }
            Instruction::Dependency { from } => {
                registers.waiting.extend(registers.reads.get(from as usize).copied().flatten());
            }
        }
        if let Some(request) = self.requests.get_mut(first) {
            request.needs.append(&mut registers.waiting);
        }
        registers.values.push(read.map_or(Expression::constant(0), Expression::Read));
        registers.reads.push(read);
    }

    fn modify(
        &mut self,
        thread: ThreadId,
        location: LocationId,
        (semantics, scope): (Semantics, Scope),
        update: impl Fn(EventId) -> Expression,
    ) -> EventId {
        let acquire = if semantics.at_least_acquire() { Semantics::Acquire } else { Semantics::Relaxed };
        let release = if semantics.at_least_release() { Semantics::Release } else { Semantics::Relaxed };
        let read = self.push(Some(thread), RequestKind::Read { location }, acquire, scope);
        let value = update(read);
        let write = self.push(Some(thread), RequestKind::Write { location, value }, release, scope);
        self.requests[read.index()].atomic = Some(AtomicHalf::Read);
        self.requests[write.index()].atomic = Some(AtomicHalf::Write(read));
        self.requests[write.index()].needs.push(read);
        read
    }
}

fn plus(read: EventId, add: i128) -> Expression {
    let (left, right) = (Box::new(Expression::Read(read)), Box::new(Expression::constant(add)));
    Expression::Binary(BinaryOperator::Add, Type::UNTYPED, left, right)
}
