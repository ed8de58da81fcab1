//! The SAT engine against the oracle, on unfoldings built by hand: small random programs under every shipped model, and
//! the question "which executions are there" rather than one verdict.

#![expect(clippy::panic, clippy::print_stdout, reason = "helpers of tests report and fail")]

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fencepost_axiom::engine::brute::Brute;
use fencepost_axiom::engine::sat::Sat;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::{Model, compile::compile_text, shipped};
use fencepost_axiom::replay::Includes;
use fencepost_program::expression::{BinaryOperator, Expression};
use fencepost_program::program::{BarrierRule, Condition, Place, Scope, Term};
use fencepost_program::tag::{Tag, Tags};
use fencepost_program::unfolding::{Event, EventKind, LocationInfo, ThreadUnfolding, Trace, TraceEnd, Unfolding};
use fencepost_program::value::{Type, Value};
use fencepost_program::{AddressId, EventId, LocationId, RegisterId, ThreadId, TraceId};
use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::{Span, cat};

#[derive(Copy, Clone, Debug)]
enum Op {
    Read(u32, Strength),
    Write(u32, i128, Strength),
    /// Writes what the thread's last read returned, plus a constant.
    Copy(u32, i128, Strength),
    /// Adds to a location.
    Add(u32, i128, Strength),
    /// Exchange.
    Swap(u32, i128, Strength),
    Fence,
    /// Reads, and goes on only if it read this value.
    Guard(u32, i128),
}

#[derive(Copy, Clone, Debug)]
enum Strength {
    Weak,
    Relaxed,
    /// Acquire on reads, release on writes.
    Sync,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Machine {
    Gpu,
    X86,
}

struct Builder {
    machine: Machine,
    unfolding: Unfolding,
}

const UNTYPED: Type = Type::UNTYPED;

fn is_equal(left: Expression, right: i128) -> Expression {
    Expression::Binary(BinaryOperator::Equal, UNTYPED, Box::new(left), Box::new(Expression::constant(right)))
}

impl Builder {
    fn new(machine: Machine, locations: u32) -> Builder {
        let mut events = Vec::new();
        let mut infos = Vec::new();
        for index in 0..locations {
            let init = EventId(index);
            infos.push(LocationInfo {
                name: format!("x{index}").into(),
                initial: Value(0),
                ty: UNTYPED,
                init,
                ..LocationInfo::default()
            });
            let kind = Builder::write(index, Expression::constant(0));
            events.push(Builder::event(None, kind, [Tag::Write, Tag::Init].into_iter().collect(), None));
        }
        let unfolding = Unfolding {
            barrier_rule: BarrierRule::Ptx,
            events,
            threads: Vec::new(),
            traces: Vec::new(),
            locations: infos,
            ..Unfolding::default()
        };
        Builder { machine, unfolding }
    }

    fn write(location: u32, value: Expression) -> EventKind {
        let address = AddressId(location);
        EventKind::Write { address, generic: address, location: LocationId(location), value, ty: UNTYPED }
    }

    fn read(location: u32) -> EventKind {
        let address = AddressId(location);
        EventKind::Read { address, generic: address, location: LocationId(location), ty: UNTYPED }
    }

    fn event(thread: Option<ThreadId>, kind: EventKind, tags: Tags, scope: Option<Scope>) -> Event {
        Event {
            thread,
            kind,
            tags,
            scope,
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

    fn tags(&self, access: Tag, strength: Strength) -> Tags {
        let base = [access].into_iter().collect::<Tags>();
        match (self.machine, strength) {
            (Machine::X86, _) => base,
            (Machine::Gpu, Strength::Weak) => base.with(Tag::Weak).with(Tag::Generic),
            (Machine::Gpu, Strength::Relaxed) => base.with(Tag::Relaxed).with(Tag::Generic),
            (Machine::Gpu, Strength::Sync) => {
                base.with(Tag::Generic).with(if access == Tag::Read { Tag::Acquire } else { Tag::Release })
            }
        }
    }

    fn scope(&self, strength: Strength, scope: Scope) -> Option<Scope> {
        match (self.machine, strength) {
            (Machine::X86, _) | (_, Strength::Weak) => None,
            _ => Some(scope),
        }
    }

    /// A thread with the trace that takes every guard, and one exit trace per guard that fails. Register k is its k-th
    /// read.
    fn thread(&mut self, place: Place, scope: Scope, code: &[Op]) {
        let thread = ThreadId::new(self.unfolding.threads.len());
        let mut path: Vec<EventId> = Vec::new();
        let mut reads: Vec<EventId> = Vec::new();
        let mut guards: Vec<EventId> = Vec::new();
        let mut constraints: Vec<Expression> = Vec::new();
        let mut traces: Vec<Trace> = Vec::new();
        let total_reads = code.iter().filter(|op| !matches!(op, Op::Write(..) | Op::Copy(..) | Op::Fence)).count();
        for op in code {
            let last = reads.last().copied();
            match *op {
                Op::Read(location, strength) => {
                    let id = self.push(thread, scope, strength, Tag::Read, Builder::read(location), &mut path, &guards);
                    reads.push(id);
                }
                Op::Write(location, value, strength) => {
                    let kind = Builder::write(location, Expression::constant(value));
                    self.push(thread, scope, strength, Tag::Write, kind, &mut path, &guards);
                }
                Op::Copy(location, plus, strength) => {
                    let value = last.map_or(Expression::constant(plus), |read| sum(read, plus));
                    let kind = Builder::write(location, value);
                    let id = self.push(thread, scope, strength, Tag::Write, kind, &mut path, &guards);
                    self.unfolding.events[id.index()].data_deps = last.into_iter().collect();
                }
                Op::Add(location, value, strength) => {
                    let read =
                        self.update(thread, scope, strength, location, |read| sum(read, value), &mut path, &guards);
                    let write = path[path.len() - 1];
                    self.unfolding.events[write.index()].data_deps = vec![read];
                    reads.push(read);
                }
                Op::Swap(location, value, strength) => {
                    let constant = |_| Expression::constant(value);
                    reads.push(self.update(thread, scope, strength, location, constant, &mut path, &guards));
                }
                Op::Fence => self.fence(thread, scope, &mut path),
                Op::Guard(location, expected) => {
                    let kind = Builder::read(location);
                    let read = self.push(thread, scope, Strength::Relaxed, Tag::Read, kind, &mut path, &guards);
                    reads.push(read);
                    let equal = is_equal(Expression::Read(read), expected);
                    let differs = is_equal(equal.clone(), 0);
                    let failed = constraints.iter().cloned().chain([differs]).collect();
                    traces.push(trace(thread, &path, failed, &reads, total_reads));
                    constraints.push(equal);
                    guards.push(read);
                }
            }
        }
        traces.push(trace(thread, &path, constraints, &reads, total_reads));
        let first = self.unfolding.traces.len();
        let ids = (first..first + traces.len()).map(TraceId::new).collect();
        self.unfolding.traces.extend(traces);
        let name = format!("P{}", thread.0);
        self.unfolding.threads.push(ThreadUnfolding {
            name: name.into(),
            place,
            traces: ids,
            ..ThreadUnfolding::default()
        });
    }

    /// A read-modify-write; its read half.
    #[expect(clippy::too_many_arguments, reason = "a test helper")]
    fn update(
        &mut self,
        thread: ThreadId,
        scope: Scope,
        strength: Strength,
        location: u32,
        result: impl Fn(EventId) -> Expression,
        path: &mut Vec<EventId>,
        guards: &[EventId],
    ) -> EventId {
        let read = self.push(thread, scope, strength, Tag::Read, Builder::read(location), path, guards);
        let kind = Builder::write(location, result(read));
        let write = self.push(thread, scope, strength, Tag::Write, kind, path, guards);
        for (half, partner) in [(read, write), (write, read)] {
            let event = &mut self.unfolding.events[half.index()];
            event.rmw_partner = Some(partner);
            event.tags = event.tags.with(Tag::Atomic);
        }
        read
    }

    fn fence(&mut self, thread: ThreadId, scope: Scope, path: &mut Vec<EventId>) {
        let (tags, scope) = match self.machine {
            Machine::X86 => ([Tag::Fence, Tag::Mfence].into_iter().collect(), None),
            Machine::Gpu => ([Tag::Fence, Tag::Sc, Tag::Generic].into_iter().collect(), Some(scope)),
        };
        let id = EventId::new(self.unfolding.events.len());
        let mut event = Builder::event(Some(thread), EventKind::Fence, tags, scope);
        event.parent = path.last().copied();
        self.unfolding.events.push(event);
        path.push(id);
    }

    #[expect(clippy::too_many_arguments, reason = "a test helper")]
    fn push(
        &mut self,
        thread: ThreadId,
        scope: Scope,
        strength: Strength,
        access: Tag,
        kind: EventKind,
        path: &mut Vec<EventId>,
        guards: &[EventId],
    ) -> EventId {
        let id = EventId::new(self.unfolding.events.len());
        let scope = self.scope(strength, scope);
        let mut event = Builder::event(Some(thread), kind, self.tags(access, strength), scope);
        event.parent = path.last().copied();
        event.control_deps = guards.to_vec();
        self.unfolding.events.push(event);
        path.push(id);
        id
    }
}

fn sum(read: EventId, plus: i128) -> Expression {
    let (left, right) = (Box::new(Expression::Read(read)), Box::new(Expression::constant(plus)));
    Expression::Binary(BinaryOperator::Add, UNTYPED, left, right)
}

fn trace(thread: ThreadId, path: &[EventId], constraints: Vec<Expression>, reads: &[EventId], total: usize) -> Trace {
    let mut registers: Vec<Expression> = reads.iter().map(|read| Expression::Read(*read)).collect();
    registers.resize(total, Expression::constant(0));
    let (events, assumptions) = (path.to_vec(), Vec::new());
    Trace { thread, events, constraints, assumptions, end: TraceEnd::Exit, registers }
}

fn compiled(name: &str) -> Model {
    let compilation = compile_text(name, shipped(name).expect("a shipped model"));
    compilation.model.expect("the shipped models compile")
}

fn tree(name: &str) -> cat::Model {
    cat::parse(shipped(name).expect("a shipped model")).0
}

const LIMITS: Limits<'static> = Limits { deadline: None, memory: None, cancelled: None, work: None };

fn executions(
    engine: &dyn Engine,
    unfolding: &Unfolding,
    model: &Model,
    goal: &Goal<'_>,
) -> (Vec<Execution>, Exploration) {
    let mut found = Vec::new();
    let end = engine.explore(unfolding, model, goal, &LIMITS, &mut |execution| {
        found.push(execution.clone());
        ControlFlow::Continue(())
    });
    found.sort_by_key(key);
    (found, end)
}

fn key(execution: &Execution) -> String {
    format!("{:?}", (&execution.traces, &execution.rf, &execution.co, &execution.sync_fence, &execution.values))
}

/// A small deterministic generator (splitmix64): the failing seed is all a report needs.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

fn random(machine: Machine, seed: u64) -> Unfolding {
    let mut dice = Dice(seed);
    let locations = 1 + dice.roll(2) as u32;
    let mut builder = Builder::new(machine, locations);
    let threads = 2 + dice.roll(2);
    let mut accesses = 0;
    for _ in 0..threads {
        let mut code = Vec::new();
        for _ in 0..1 + dice.roll(3) {
            let at = dice.roll(u64::from(locations)) as u32;
            let value = 1 + dice.roll(2) as i128;
            let strength = [Strength::Weak, Strength::Relaxed, Strength::Sync][dice.roll(3) as usize];
            let atomic = if matches!(strength, Strength::Weak) { Strength::Relaxed } else { strength };
            if accesses >= 6 {
                break;
            }
            accesses += 1;
            code.push(match dice.roll(9) {
                0..=1 => Op::Read(at, strength),
                2..=3 => Op::Write(at, value, strength),
                4 => Op::Copy(at, dice.roll(2) as i128, strength),
                5 => Op::Add(at, value, atomic),
                6 => Op::Swap(at, value, atomic),
                7 => Op::Guard(at, value),
                _ => Op::Fence,
            });
        }
        let place = match machine {
            Machine::X86 => Place::Host,
            Machine::Gpu => Place::Gpu { gpu: 0, cluster: 0, cta: dice.roll(2) as u32 },
        };
        let scope = if dice.roll(3) == 0 { Scope::Cta } else { Scope::Gpu };
        builder.thread(place, scope, &code);
    }
    builder.unfolding
}

fn agrees(model_name: &str, machine: Machine, seeds: std::ops::Range<u64>) {
    let (model, cat) = (compiled(model_name), tree(model_name));
    let includes = Includes::default();
    let brute = Brute { cat: &cat, includes: &includes, variants: &BTreeSet::new(), candidates: 200_000 };
    let mut compared = 0;
    for seed in seeds {
        let unfolding = random(machine, seed);
        let goal = Goal::new(Ends::Terminating);
        let (expected, oracle_end) = executions(&brute, &unfolding, &model, &goal);
        if !matches!(oracle_end, Exploration::Complete) {
            continue;
        }
        let (found, end) = executions(&Sat, &unfolding, &model, &goal);
        assert_eq!(end, Exploration::Complete, "{model_name} seed {seed}");
        let (found, expected): (Vec<String>, Vec<String>) =
            (found.iter().map(key).collect(), expected.iter().map(key).collect());
        assert_eq!(found, expected, "{model_name} seed {seed}: {unfolding:#?}");
        compared += 1;
    }
    assert!(compared > 20, "only {compared} programs were small enough for the oracle");
}

#[test]
fn executions_under_sc_are_the_oracle_s() {
    agrees("sc", Machine::X86, 0..150);
}

#[test]
fn executions_under_x86_tso_are_the_oracle_s() {
    agrees("x86-tso", Machine::X86, 1000..1150);
}

#[test]
fn executions_under_ptx_6_0_are_the_oracle_s() {
    agrees("ptx-6.0", Machine::Gpu, 2000..2100);
}

#[test]
fn executions_under_ptx_7_5_are_the_oracle_s() {
    agrees("ptx-7.5", Machine::Gpu, 3000..3100);
}

fn register(thread: u32, register: u32, value: i128) -> Condition {
    let left = Term::Register(ThreadId(thread), RegisterId(register));
    Condition::Compare { op: Comparison::Equal, left, right: Term::Constant(Value(value)) }
}

fn memory(op: Comparison, location: u32, value: i128) -> Condition {
    Condition::Compare { op, left: Term::Memory(LocationId(location)), right: Term::Constant(Value(value)) }
}

fn reachable(unfolding: &Unfolding, model: &Model, condition: &Condition) -> bool {
    let goal = Goal { condition: Some(condition), multiplicity: Multiplicity::First, ..Goal::new(Ends::Terminating) };
    let started = std::time::Instant::now();
    let end = Sat.explore(unfolding, model, &goal, &LIMITS, &mut |_| ControlFlow::Break(()));
    println!("{:>4} events, {}: {end:?} in {:?}", unfolding.events.len(), model.name, started.elapsed());
    match end {
        Exploration::Stopped => true,
        Exploration::Complete => false,
        Exploration::Incomplete(stop) => panic!("{stop:?}"),
    }
}

fn place(machine: Machine, cta: u32) -> Place {
    match machine {
        Machine::X86 => Place::Host,
        Machine::Gpu => Place::Gpu { gpu: 0, cluster: 0, cta },
    }
}

fn model_of(machine: Machine) -> Model {
    compiled(if machine == Machine::X86 { "x86-tso" } else { "ptx-7.5" })
}

/// n threads `x_i = 1; fence; r = x_{i+1}`; `without` lacks its fence.
fn store_buffering(machine: Machine, threads: u32, without: Option<u32>) -> bool {
    let mut builder = Builder::new(machine, threads);
    let mut condition = Vec::new();
    for thread in 0..threads {
        let mut code = vec![Op::Write(thread, 1, Strength::Relaxed)];
        if without != Some(thread) {
            code.push(Op::Fence);
        }
        code.push(Op::Read((thread + 1) % threads, Strength::Relaxed));
        builder.thread(place(machine, thread), Scope::Gpu, &code);
        condition.push(register(thread, 0, 0));
    }
    reachable(&builder.unfolding, &model_of(machine), &Condition::And(condition.into()))
}

#[test]
fn a_store_buffering_ring_of_40_needs_every_fence() {
    for machine in [Machine::X86, Machine::Gpu] {
        assert!(!store_buffering(machine, 40, None));
        assert!(store_buffering(machine, 40, Some(17)));
    }
}

fn two_plus_two_writes(machine: Machine, threads: u32, without: Option<u32>) -> bool {
    let mut builder = Builder::new(machine, threads);
    let mut condition = Vec::new();
    for thread in 0..threads {
        let mut code = vec![Op::Write(thread, 2, Strength::Relaxed)];
        if without != Some(thread) {
            code.push(Op::Fence);
        }
        code.push(Op::Write((thread + 1) % threads, 1, Strength::Relaxed));
        builder.thread(place(machine, thread), Scope::Gpu, &code);
        condition.push(memory(Comparison::Equal, thread, 2));
    }
    reachable(&builder.unfolding, &model_of(machine), &Condition::And(condition.into()))
}

#[test]
fn a_ring_of_40_write_pairs_needs_every_fence() {
    assert!(!two_plus_two_writes(Machine::Gpu, 40, None));
    assert!(two_plus_two_writes(Machine::Gpu, 40, Some(3)));
    // x86 keeps writes in order without a fence.
    assert!(!two_plus_two_writes(Machine::X86, 40, Some(3)));
}

#[test]
fn twelve_equal_additions_add_up() {
    for machine in [Machine::X86, Machine::Gpu] {
        let mut builder = Builder::new(machine, 1);
        for thread in 0..12 {
            builder.thread(place(machine, thread), Scope::Gpu, &[Op::Add(0, 1, Strength::Relaxed)]);
        }
        let model = model_of(machine);
        assert!(!reachable(&builder.unfolding, &model, &memory(Comparison::NotEqual, 0, 12)));
        assert!(reachable(&builder.unfolding, &model, &memory(Comparison::Equal, 0, 12)));
    }
}

#[test]
fn of_twelve_exchanges_one_returns_the_initial_value() {
    for machine in [Machine::X86, Machine::Gpu] {
        let mut builder = Builder::new(machine, 1);
        for thread in 0..12 {
            builder.thread(
                place(machine, thread),
                Scope::Gpu,
                &[Op::Swap(0, i128::from(thread) + 1, Strength::Relaxed)],
            );
        }
        let model = model_of(machine);
        let two = Condition::And([register(3, 0, 0), register(7, 0, 0)].into());
        assert!(!reachable(&builder.unfolding, &model, &two));
        // A chain in one order of the threads: 7 first, then each returns what the one before wrote.
        let order = [7, 2, 9, 4, 11, 6, 1, 8, 3, 10, 5, 0];
        let mut parts = vec![register(7, 0, 0)];
        parts.extend(order.windows(2).map(|pair| register(pair[1], 0, i128::from(pair[0]) + 1)));
        assert!(reachable(&builder.unfolding, &model, &Condition::And(parts.into())));
    }
}

#[test]
fn sixteen_writers_and_a_reader() {
    for machine in [Machine::X86, Machine::Gpu] {
        let mut builder = Builder::new(machine, 1);
        for thread in 0..16 {
            builder.thread(
                place(machine, thread),
                Scope::Gpu,
                &[Op::Write(0, i128::from(thread) + 1, Strength::Relaxed)],
            );
        }
        let read = Op::Read(0, Strength::Relaxed);
        builder.thread(place(machine, 16), Scope::Gpu, &[read; 3]);
        builder.thread(place(machine, 17), Scope::Gpu, &[read; 3]);
        let model = model_of(machine);
        let seen = |thread, values: [i128; 3]| (0..3).map(move |index| register(thread, index, values[index as usize]));
        let both = |a, b| Condition::And(seen(16, a).chain(seen(17, b)).collect());
        assert!(reachable(&builder.unfolding, &model, &both([5, 9, 2], [5, 9, 3])));
        assert!(!reachable(&builder.unfolding, &model, &both([5, 9, 2], [2, 7, 5])));
    }
}

#[test]
fn independent_readers_of_twelve_writers_may_disagree_only_without_fences() {
    for (machine, fence) in [(Machine::Gpu, Some(Op::Fence)), (Machine::Gpu, None), (Machine::X86, None)] {
        let mut builder = Builder::new(machine, 12);
        for writer in 0..12 {
            builder.thread(place(machine, writer), Scope::Gpu, &[Op::Write(writer, 1, Strength::Relaxed)]);
        }
        let mut condition = Vec::new();
        for reader in 0..12 {
            let mut code = vec![Op::Read(reader, Strength::Relaxed)];
            code.extend(fence);
            code.extend((0..12).filter(|other| *other != reader).map(|other| Op::Read(other, Strength::Relaxed)));
            builder.thread(place(machine, 12 + reader), Scope::Gpu, &code);
            condition.extend((0..12).map(|index| register(12 + reader, index, i128::from(index == 0))));
        }
        let expected = machine == Machine::Gpu && fence.is_none();
        assert_eq!(reachable(&builder.unfolding, &model_of(machine), &Condition::And(condition.into())), expected);
    }
}
