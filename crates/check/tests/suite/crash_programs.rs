//! Random programs over persistent memory, as data that tests can change, and their litmus text.
//!
//! Two or three threads in one or two CTAs. Threads meet at flags: on straight-line code an acquire may always read the initial
//! value, so most consumers wait in a loop. `x`, `y` and `z` are persistent; the flags `f` and `g` are or are not.

// Used by tests and by an example, each of which leaves some of it out.
#![allow(dead_code, unreachable_pub)]

use std::fmt::Write;

/// splitmix64: the same numbers on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }

    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Scope {
    Cta,
    Cluster,
    Gpu,
    Sys,
}

pub const SCOPES: [Scope; 4] = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys];

impl Scope {
    pub fn word(self) -> &'static str {
        ["cta", "cluster", "gpu", "sys"][self as usize]
    }
}

/// What an access says of order.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Order {
    Weak,
    Relaxed(Scope),
    /// `st.release`, `ld.acquire`.
    Synchronizing(Scope),
    /// `prel`, `pacq`.
    Persist(Scope),
}

/// Of [`NAMES`].
pub type Place = usize;
/// The last ones are spare: random programs do not use them, and changes of programs do.
pub const NAMES: [&str; 8] = ["x", "y", "z", "f", "g", "t", "u", "v"];
pub const SPARE: std::ops::Range<Place> = 5..8;
const DATA: [Place; 3] = [0, 1, 2];
const FLAGS: [Place; 2] = [3, 4];

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Update {
    Add,
    Exchange,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Fence {
    AcquireRelease,
    Sequential,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    Store {
        to: Place,
        value: u8,
        order: Order,
    },
    Load {
        from: Place,
        order: Order,
    },
    /// A store of what the step of this number read, if it stands before.
    Copy {
        to: Place,
        of: usize,
    },
    /// A loop until the value is read.
    Wait {
        from: Place,
        value: u8,
        order: Order,
    },
    /// The same without a loop: if another value is read, the thread ends.
    Try {
        from: Place,
        value: u8,
        order: Order,
    },
    Atomic {
        on: Place,
        update: Update,
        value: u8,
        scope: Scope,
    },
    OrderFence,
    DurabilityFence,
    Fence(Fence, Scope),
    Barrier,
}

/// An operation, with the number that its register and its label have whatever is dropped around it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Step {
    pub number: usize,
    pub operation: Operation,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    pub cta: u8,
    pub steps: Vec<Step>,
}

/// What a claim is about.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Term {
    Memory(Place),
    /// Of a thread: what the step of this number read.
    Register(usize, usize),
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Claim {
    pub term: Term,
    pub value: u8,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Asked {
    Exists,
    NotExists,
    ForAll,
}

impl Asked {
    pub fn words(self) -> &'static str {
        ["exists", "~exists", "forall"][self as usize]
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// By place.
    pub is_persistent: [bool; NAMES.len()],
    pub initial: [u8; NAMES.len()],
    pub threads: Vec<Thread>,
    /// A question about crashes: a conjunction.
    pub asked: Asked,
    pub claims: Vec<Claim>,
}

impl Operation {
    /// Where it writes.
    pub fn writes(self) -> Option<Place> {
        match self {
            Operation::Store { to, .. } | Operation::Copy { to, .. } => Some(to),
            Operation::Atomic { on, .. } => Some(on),
            _ => None,
        }
    }

    /// Where it reads, into the register of its number.
    pub fn reads(self) -> Option<Place> {
        match self {
            Operation::Load { from, .. } | Operation::Wait { from, .. } | Operation::Try { from, .. } => Some(from),
            Operation::Atomic { on, .. } => Some(on),
            _ => None,
        }
    }

    fn text(self, number: usize, before: &[Step]) -> String {
        let order = |order: Order, is_store: bool| match (order, is_store) {
            (Order::Weak, true) => "st.weak".to_owned(),
            (Order::Weak, false) => "ld.weak".to_owned(),
            (Order::Relaxed(scope), true) => format!("st.relaxed.{}", scope.word()),
            (Order::Relaxed(scope), false) => format!("ld.relaxed.{}", scope.word()),
            (Order::Synchronizing(scope), true) => format!("st.release.{}", scope.word()),
            (Order::Synchronizing(scope), false) => format!("ld.acquire.{}", scope.word()),
            (Order::Persist(scope), true) => format!("prel.{}", scope.word()),
            (Order::Persist(scope), false) => format!("pacq.{}", scope.word()),
        };
        match self {
            Operation::Store { to, value, order: own } => {
                format!("{}.global.u32 [{}], {value};", order(own, true), NAMES[to])
            }
            Operation::Load { from, order: own } => {
                format!("{}.global.u32 %r{number}, [{}];", order(own, false), NAMES[from])
            }
            Operation::Copy { to, of } => {
                let is_read = |step: &Step| step.number == of && step.operation.reads().is_some();
                let value = if before.iter().any(is_read) { format!("%r{of}") } else { "1".to_owned() };
                format!("st.relaxed.gpu.global.u32 [{}], {value};", NAMES[to])
            }
            Operation::Try { from, value, order: own } => {
                let load = format!("{}.global.u32 %r{number}, [{}];", order(own, false), NAMES[from]);
                format!("{load} setp.ne.u32 %p{number}, %r{number}, {value}; @%p{number} exit;")
            }
            Operation::Wait { from, value, order: own } => {
                let load = format!("{}.global.u32 %r{number}, [{}];", order(own, false), NAMES[from]);
                format!("L{number}: {load} setp.ne.u32 %p{number}, %r{number}, {value}; @%p{number} bra L{number};")
            }
            Operation::Atomic { on, update, value, scope } => {
                let word = if update == Update::Add { "add.u32" } else { "exch.b32" };
                format!("atom.relaxed.{}.global.{word} %r{number}, [{}], {value};", scope.word(), NAMES[on])
            }
            Operation::OrderFence => "ofence;".to_owned(),
            Operation::DurabilityFence => "dfence;".to_owned(),
            Operation::Fence(Fence::AcquireRelease, scope) => format!("fence.acq_rel.{};", scope.word()),
            Operation::Fence(Fence::Sequential, scope) => format!("fence.sc.{};", scope.word()),
            Operation::Barrier => "bar.sync 0;".to_owned(),
        }
    }
}

impl Term {
    /// As reports have it.
    pub fn name(self) -> String {
        match self {
            Term::Memory(place) => NAMES[place].to_owned(),
            Term::Register(thread, number) => format!("P{thread}:%r{number}"),
        }
    }
}

impl Program {
    /// Every step with its thread.
    pub fn steps(&self) -> impl Iterator<Item = (usize, Step)> + '_ {
        let of_thread =
            |(at, thread): (usize, &Thread)| thread.steps.iter().map(|step| (at, *step)).collect::<Vec<_>>();
        self.threads.iter().enumerate().flat_map(of_thread)
    }

    pub fn operations(&self) -> impl Iterator<Item = Operation> + '_ {
        self.steps().map(|(_, step)| step.operation)
    }

    /// The registers that are asked for, and the persistent locations.
    pub fn terms(&self) -> Vec<Term> {
        let is_kept = |place: &Place| self.is_persistent[*place] && self.is_declared(*place);
        let persistent = (0..NAMES.len()).filter(is_kept).map(Term::Memory);
        let mut registers: Vec<Term> = self.claims.iter().map(|claim| claim.term).collect();
        registers.retain(|term| matches!(term, Term::Register(..)));
        registers.sort();
        registers.dedup();
        persistent.chain(registers).collect()
    }

    /// Spare locations only where they are used.
    fn is_declared(&self, place: Place) -> bool {
        let uses = |operation: Operation| operation.writes() == Some(place) || operation.reads() == Some(place);
        !SPARE.contains(&place) || self.operations().any(uses)
    }

    /// Declarations and threads.
    pub fn body(&self) -> String {
        let mut text = String::from("PTX random\n{");
        for (place, name) in NAMES.iter().enumerate().filter(|(place, _)| self.is_declared(*place)) {
            let word = if self.is_persistent[place] { "nvm " } else { "" };
            let _ = write!(text, " {word}{name} = {};", self.initial[place]);
        }
        text.push_str(" }\n");
        text.push_str(&self.blocks());
        text
    }

    pub fn blocks(&self) -> String {
        let mut text = String::new();
        for (index, thread) in self.threads.iter().enumerate() {
            let _ = writeln!(text, "P{index}@cta {}, gpu 0 {{", thread.cta);
            // The `%` of a register is what shows that the notation is real PTX, also after shrinking.
            text.push_str("  mov.u32 %r0, 0;\n");
            for (at, step) in thread.steps.iter().enumerate() {
                let _ = writeln!(text, "  {}", step.operation.text(step.number, &thread.steps[..at]));
            }
            text.push_str("}\n");
        }
        text
    }

    pub fn condition(&self) -> String {
        let claims: Vec<String> =
            self.claims.iter().map(|claim| format!("{} = {}", claim.term.name(), claim.value)).collect();
        if claims.is_empty() { "true".to_owned() } else { claims.join(" /\\ ") }
    }

    pub fn text(&self) -> String {
        format!("{}crash {} ({})\n", self.body(), self.asked.words(), self.condition())
    }

    /// A number that no step has.
    pub fn fresh(&self) -> usize {
        self.steps().map(|(_, step)| step.number + 1).max().unwrap_or(1)
    }
}

/// The program of a number.
pub fn program(number: u64) -> Program {
    let mut random = Random::new(number);
    loop {
        let drawn = Generator::new(&mut random).draw();
        if is_small(&drawn) {
            return drawn;
        }
    }
}

/// What a brute-force search can go through.
fn is_small(program: &Program) -> bool {
    let count = |test: &dyn Fn(Operation) -> bool| program.operations().filter(|operation| test(*operation)).count();
    let writes = |place: Place| count(&|operation| operation.writes() == Some(place));
    let reads = count(&|operation| operation.reads().is_some());
    let sequential = count(&|operation| matches!(operation, Operation::Fence(Fence::Sequential, _)));
    let most = (0..NAMES.len()).map(writes).max().unwrap_or(0);
    let several = (0..NAMES.len()).filter(|place| writes(*place) > 2).count();
    reads <= 5 && most <= 3 && several <= 1 && sequential <= 2 && program.operations().count() <= 16
}

struct Generator<'r> {
    random: &'r mut Random,
    program: Program,
    number: usize,
    values: [u8; NAMES.len()],
    /// The persistent locations that it uses: the fewer, the more often threads write the same.
    data: &'static [Place],
    /// Of twenty operations, how many are conventional fences.
    fences: usize,
}

impl<'r> Generator<'r> {
    fn new(random: &'r mut Random) -> Generator<'r> {
        let flags = FLAGS.map(|_| random.percent(15));
        let threads = 2 + usize::from(random.percent(45));
        let is_spread = random.percent(60);
        let cta = |at: usize, random: &mut Random| u8::from(at > 0 && is_spread && random.percent(60));
        let threads = (0..threads).map(|at| Thread { cta: cta(at, random), steps: Vec::new() }).collect();
        let program = Program {
            is_persistent: [true, true, true, flags[0], flags[1], true, true, true],
            initial: [0; NAMES.len()],
            threads,
            asked: Asked::Exists,
            claims: Vec::new(),
        };
        let data = &DATA[..if random.percent(50) { 2 } else { 3 }];
        let fences = if random.percent(30) { 5 } else { 0 };
        Generator { random, program, number: 0, values: [0; NAMES.len()], data, fences }
    }

    fn draw(mut self) -> Program {
        let threads = self.program.threads.len();
        for thread in 0..threads {
            for _ in 0..2 + self.random.below(3) {
                let operation = self.operation();
                self.add(thread, operation);
            }
        }
        for _ in 0..1 + self.random.below(threads) {
            self.handshake();
        }
        if self.random.percent(25) {
            self.barrier();
        }
        if self.random.percent(6) {
            // Threads that can be exchanged.
            self.program.threads[threads - 1] = self.program.threads[threads - 2].clone();
        }
        for thread in 0..threads {
            self.program.threads[thread].steps.truncate(6);
            while self.program.threads[thread].steps.len() < 2 {
                let operation = self.operation();
                self.add(thread, operation);
            }
        }
        self.copy();
        self.ask();
        self.program
    }

    /// Some stores store what was read.
    fn copy(&mut self) {
        for thread in &mut self.program.threads {
            let mut read = None;
            for step in &mut thread.steps {
                match (step.operation, read) {
                    (Operation::Store { to, order: Order::Weak, .. }, Some(of)) if self.random.percent(30) => {
                        step.operation = Operation::Copy { to, of };
                    }
                    _ => {}
                }
                read = if step.operation.reads().is_some() { Some(step.number) } else { read };
            }
        }
    }

    fn add(&mut self, thread: usize, operation: Operation) {
        let at = self.random.below(self.program.threads[thread].steps.len() + 1);
        self.add_at(thread, at, operation);
    }

    fn add_at(&mut self, thread: usize, at: usize, operation: Operation) {
        self.number += 1;
        self.program.threads[thread].steps.insert(at, Step { number: self.number, operation });
    }

    fn scope(&mut self) -> Scope {
        self.random.pick(&[Scope::Cta, Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Gpu, Scope::Gpu, Scope::Sys])
    }

    /// The next value for a location, so that writes can be told apart.
    fn value(&mut self, place: Place) -> u8 {
        self.values[place] += 1;
        self.values[place]
    }

    fn plain(&mut self) -> Order {
        if self.random.percent(50) { Order::Weak } else { Order::Relaxed(Scope::Gpu) }
    }

    fn operation(&mut self) -> Operation {
        let (data, scope) = (self.random.pick(self.data), self.scope());
        if self.random.below(20) < self.fences {
            let kind = self.random.pick(&[Fence::AcquireRelease, Fence::AcquireRelease, Fence::Sequential]);
            return Operation::Fence(kind, scope);
        }
        match self.random.below(20) {
            0..=8 => Operation::Store { to: data, value: self.value(data), order: self.plain() },
            9 => Operation::Load { from: data, order: self.plain() },
            10 => {
                let from = self.random.below(SPARE.start);
                Operation::Load { from, order: self.random.pick(&[Order::Persist(scope), Order::Synchronizing(scope)]) }
            }
            11 => {
                let to = self.random.below(SPARE.start);
                let order = self.random.pick(&[Order::Persist(scope), Order::Synchronizing(scope)]);
                Operation::Store { to, value: self.value(to), order }
            }
            12..=14 => Operation::OrderFence,
            15 => Operation::DurabilityFence,
            16 | 17 => {
                let update = self.random.pick(&[Update::Add, Update::Exchange]);
                Operation::Atomic { on: data, update, value: self.value(data), scope }
            }
            18 => Operation::Store { to: self.random.pick(&FLAGS), value: 1, order: Order::Relaxed(scope) },
            _ => {
                let from = self.random.below(SPARE.start);
                let value = self.values[from].max(1);
                Operation::Wait { from, value, order: self.plain() }
            }
        }
    }

    /// One thread writes a flag, and another waits for it or looks at it.
    fn handshake(&mut self) {
        let threads = self.program.threads.len();
        let from = self.random.below(threads);
        let to = (from + 1 + self.random.below(threads - 1)) % threads;
        let flag = if self.random.percent(85) { self.random.pick(&FLAGS) } else { self.random.pick(self.data) };
        let (value, scopes) = (self.value(flag), [self.scope(), self.scope()]);
        let scopes = if self.random.percent(70) { [scopes[0]; 2] } else { scopes };
        let kinds: [fn(Scope) -> Order; 3] = [Order::Persist, Order::Synchronizing, Order::Relaxed];
        let kind = |random: &mut Random| if random.percent(65) { kinds[0] } else { kinds[random.below(3)] };
        let store = Operation::Store { to: flag, value, order: kind(self.random)(scopes[0]) };
        let order = kind(self.random)(scopes[1]);
        let is_loop = self.random.percent(80);
        let read =
            if is_loop { Operation::Wait { from: flag, value, order } } else { Operation::Load { from: flag, order } };
        let after = (1 + self.random.below(2)).min(self.program.threads[from].steps.len());
        self.add_at(from, after, store);
        let before = self.random.below(2).min(self.program.threads[to].steps.len());
        self.add_at(to, before, read);
    }

    /// In every thread of a CTA; now and then one is missing, and the others wait for good or for its exit.
    fn barrier(&mut self) {
        let cta = self.program.threads[self.random.below(self.program.threads.len())].cta;
        for thread in 0..self.program.threads.len() {
            if self.program.threads[thread].cta == cta && self.random.percent(92) {
                self.add(thread, Operation::Barrier);
            }
        }
    }

    fn ask(&mut self) {
        let readable: Vec<(usize, Step)> =
            self.program.steps().filter(|(_, step)| step.operation.reads().is_some()).collect();
        self.program.asked = self.random.pick(&[Asked::Exists, Asked::NotExists, Asked::ForAll]);
        for _ in 0..self.random.below(3) {
            let place = self.random.pick(self.data);
            let value = self.random.below(usize::from(self.values[place]) + 1) as u8;
            self.program.claims.push(Claim { term: Term::Memory(place), value });
        }
        for _ in 0..self.random.below(3).min(readable.len()) {
            let (thread, step) = self.random.pick(&readable);
            let most = step.operation.reads().map_or(0, |place| self.values[place]);
            let value = self.random.below(usize::from(most) + 1) as u8;
            self.program.claims.push(Claim { term: Term::Register(thread, step.number), value });
        }
    }
}
