//! Random unfoldings with asynchronous operations, mbarriers, proxy fences, kernels and groups, small enough for the
//! oracle: what each event says about itself is random, but well formed.

use fencepost_program::expression::Expression;
use fencepost_program::mbarrier::{Completing, Operator, State};
use fencepost_program::program::asynchronous::TensorKind;
use fencepost_program::program::{Condition, Cover, Place, Scope, Space, Term};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{TensorOperation, Unfolding};
use fencepost_program::value::Value;
use fencepost_program::{EventId, KernelId, LocationId, RegisterId, ThreadId};
use fencepost_syntax::litmus::Comparison;

use super::handmade::Build;
use super::random::Random;

/// x is global, s in the shared memory of CTA 0, b an mbarrier there, d tensor memory.
const LOCATIONS: [&str; 4] = ["x", "s", "b", "d"];
const X: usize = 0;
const S: usize = 1;
const B: usize = 2;
const D: usize = 3;

/// At most so many reads, which is what the oracle pays for.
const READS: usize = 6;

struct Draft<'r> {
    random: &'r mut Random,
    build: Build,
    reads: usize,
    /// Accesses of strands of the current thread that nothing waits for yet.
    pending: Vec<EventId>,
}

/// An unfolding and a condition about it.
pub(crate) fn program(random: &mut Random) -> (Unfolding, Condition) {
    let mut build = Build::new(&LOCATIONS);
    let home = Place::Gpu { gpu: 0, cluster: 0, cta: 0 };
    for (location, space) in [(S, Space::Shared), (B, Space::Shared), (D, Space::TensorMemory)] {
        build.unfolding.locations[location].space = Some(space);
        build.unfolding.locations[location].owner = Some(home);
    }
    build.initial(B, State::init(1 + random.below(2) as i128).pack());
    let mut draft = Draft { random, build, reads: 0, pending: Vec::new() };
    let threads = 2 + draft.random.below(2);
    for _ in 0..threads {
        let cta = u32::from(draft.random.percent(20));
        draft.build.thread(Place::Gpu { gpu: 0, cluster: 0, cta });
        draft.pending.clear();
        for _ in 0..1 + draft.random.below(3) {
            draft.step();
        }
    }
    draft.launches(threads as u32);
    let condition = draft.condition();
    (draft.build.unfolding, condition)
}

impl Draft<'_> {
    fn step(&mut self) {
        match self.random.below(100) {
            0..18 => self.write(),
            18..36 if self.reads < READS => self.read(),
            36..46 => self.fence(),
            46..66 if self.reads + 2 <= READS => self.copy(),
            66..74 if self.reads < READS => self.arrive(),
            74..86 if self.reads < READS => self.wait(),
            86..92 => self.wait_group(),
            92..97 => self.tensor(),
            97..100 if self.reads + 2 <= READS => self.vector(),
            _ => self.fence(),
        }
    }

    fn strength(&mut self, strong: &[Tag]) -> (Vec<Tag>, Option<Scope>) {
        if self.random.percent(50) {
            return (vec![Tag::Weak], None);
        }
        let scope = self.random.pick(&[Scope::Cta, Scope::Cluster, Scope::Gpu]);
        (vec![self.random.pick(strong)], Some(scope))
    }

    fn place(&mut self) -> (usize, Vec<Tag>) {
        if self.random.percent(50) { (X, vec![Tag::Generic]) } else { (S, vec![Tag::Generic, Tag::Shared]) }
    }

    fn write(&mut self) {
        let ((location, mut tags), (strong, scope)) = (self.place(), self.strength(&[Tag::Relaxed, Tag::Release]));
        tags.extend(strong);
        let value = Expression::constant(1 + self.random.below(2) as i128);
        self.build.write(location, value, &tags, scope);
    }

    fn read(&mut self) {
        let ((location, mut tags), (strong, scope)) = (self.place(), self.strength(&[Tag::Relaxed, Tag::Acquire]));
        tags.extend(strong);
        self.build.read(location, &tags, scope);
        self.reads += 1;
    }

    /// Two elements of one vector access.
    fn vector(&mut self) {
        let first = self.build.read(X, &[Tag::Weak, Tag::Generic], None);
        let second = self.build.read(S, &[Tag::Weak, Tag::Generic, Tag::Shared], None);
        for event in [first, second] {
            self.build.event(event).group = Some(first);
        }
        self.reads += 2;
    }

    fn fence(&mut self) {
        let scope = self.random.pick(&[Scope::Cta, Scope::Cluster, Scope::Gpu]);
        let (tags, scope): (Vec<Tag>, _) = match self.random.below(8) {
            0 => (vec![Tag::Sc, Tag::Generic], Some(scope)),
            1..3 => (vec![Tag::AcqRel, Tag::Generic], Some(scope)),
            3 => (vec![Tag::BeforeThreadSync], None),
            4 => (vec![Tag::AfterThreadSync], None),
            _ => (vec![Tag::ProxyFence, Tag::Async], None),
        };
        let fence = self.build.fence(&tags, scope);
        let cover = self.random.pick(&[0, 0, 1, 2, 3]);
        self.build.event(fence).cover = match cover {
            0 => Cover::Everything,
            1 => Cover::SharedCta,
            2 => Cover::Global,
            _ => Cover::Locations(vec![LocationId::new(S)]),
        };
    }

    /// A copy from x to s, or back, that ends in an mbarrier or in a group.
    fn copy(&mut self) {
        let issue = self.build.issue(&[Tag::Issue, Tag::Bulk]);
        let (from, to) = if self.random.percent(70) { (X, S) } else { (S, X) };
        let tags = |location: usize| match location {
            S => vec![Tag::Weak, Tag::Async, Tag::Bulk, Tag::Shared],
            _ => vec![Tag::Weak, Tag::Async, Tag::Bulk],
        };
        self.build.read(from, &tags(from), None);
        let read = self.build.in_strand(issue, &[]);
        self.build.write(to, Expression::Read(read), &tags(to), None);
        let write = self.build.in_strand(issue, &[read]);
        self.build.event(write).data_deps = vec![read];
        self.reads += 1;
        if self.random.percent(60) {
            self.build.completion(issue, &[read, write], B, Operator::CompleteTx, 8);
            self.reads += 1;
        } else {
            self.pending.extend([read, write]);
        }
    }

    fn arrive(&mut self) {
        let operator = self.random.pick(&[Operator::Arrive(Completing::Allowed), Operator::ArriveExpectTx]);
        let operand = if operator == Operator::ArriveExpectTx { 8 } else { 1 };
        self.build.arrive(B, operator, operand);
        self.reads += 1;
    }

    fn wait(&mut self) {
        let parity = usize::from(self.random.percent(25));
        self.build.wait(B, parity);
        self.reads += 1;
    }

    fn wait_group(&mut self) {
        let wait = self.build.issue(&[Tag::Bulk]);
        let only_reads = self.random.percent(30);
        let unfolding = &self.build.unfolding;
        let waited = self.pending.iter().copied().filter(|id| !only_reads || unfolding.event(*id).is_read()).collect();
        self.build.event(wait).completes = waited;
    }

    /// A tensor operation that accumulates in d.
    fn tensor(&mut self) {
        let issue = self.build.issue(&[Tag::Issue, Tag::Tcgen05]);
        let value = Expression::constant(3);
        self.build.write(D, value, &[Tag::Weak, Tag::TensorMemory, Tag::Tcgen05], None);
        let write = self.build.in_strand(issue, &[]);
        let kind = self.random.pick(&[TensorKind::Mma, TensorKind::Mma, TensorKind::Shift, TensorKind::St]);
        let accumulator = Some(LocationId::new(D));
        let tensor = TensorOperation { kind, group: 1, accumulator, shape: 0 };
        self.build.event(write).strand.as_mut().expect("in a strand").tensor = Some(tensor);
        if self.random.percent(40) {
            let wait = self.build.issue(&[Tag::Tcgen05]);
            self.build.event(wait).completes = vec![write];
        }
    }

    /// Sometimes the threads belong to kernels, one after the other or one dependent on the other.
    fn launches(&mut self, threads: u32) {
        if self.random.percent(75) {
            return;
        }
        for thread in 0..threads {
            self.build.unfolding.threads[thread as usize].kernel = Some(KernelId(u32::from(thread > 0)));
        }
        let pair = (KernelId(0), KernelId(1));
        if self.random.percent(60) {
            self.build.unfolding.kernel_order = vec![pair];
        } else {
            self.build.unfolding.dependent_launches = vec![pair];
        }
    }

    fn condition(&mut self) -> Condition {
        let mut terms = vec![Term::Memory(LocationId::new(X)), Term::Memory(LocationId::new(S))];
        for (thread, trace) in self.build.unfolding.traces.iter().enumerate() {
            let registers = 0..trace.registers.len();
            terms.extend(registers.map(|register| Term::Register(ThreadId::new(thread), RegisterId::new(register))));
        }
        let at = self.random.below(terms.len());
        let right = Term::Constant(Value(self.random.below(3) as i128));
        Condition::Compare { op: Comparison::Equal, left: terms.swap_remove(at), right }
    }
}
