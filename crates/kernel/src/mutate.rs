//! Each synchronisation left out or weakened in turn: what does this launch need it for?

use std::rc::Rc;

use fencepost_syntax::sorted::SortedSet;

use crate::check::{Limits, with_flags};
use crate::code::op::{Access, Function, Op, Order, Pc, Scope, Source};
use crate::code::ty::Ty;
use crate::code::{Entry, Module};
use crate::launch::Launch;
use crate::order::policy::Policy;
use crate::report::Finding;
use crate::run::{Credit, Options, Outcome, Run};
use crate::slice::orders::{Found as InOrders, in_every_order};

/// A change of one instruction.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Change {
    LeftOut,
    /// A wait lets one more group be under way.
    OneMore,
    /// `.release` or `.acquire` becomes `.relaxed`.
    Relaxed,
    /// The scope becomes `.cta`.
    NarrowScope,
}

#[derive(Clone, Debug)]
pub struct Mutant {
    pub pc: Pc,
    pub change: Change,
    pub fate: Fate,
}

/// What becomes of a changed kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    /// New races, hangs or errors: how many pairs of instructions race that did not, and what else is wrong.
    Noticed { races: usize, hang: bool, errors: usize },
    /// What happens depends on the schedule, where it did not.
    Undetermined,
    /// Everything that conflicts is ordered as before: for this launch the instruction is not needed.
    Redundant,
    /// Nothing new was found, but the unchanged kernel is not proved: that says little.
    Unknown,
}

/// The mutants of a kernel, and what they are compared with.
#[derive(Clone, Debug)]
pub struct Mutation {
    pub mutants: Vec<Mutant>,
    /// The kernel is proved under the strongest readings of the ISA only: those were taken.
    pub strongest: bool,
    /// What is wrong with the unchanged kernel: only what is new counts.
    pub findings: usize,
    pub doubts: usize,
    /// A limit was reached, or somebody stopped it: further changes were not tried.
    pub cut: bool,
}

/// What a run finds, to be compared.
#[derive(Default, PartialEq, Eq)]
struct Found {
    races: SortedSet<(Pc, Pc)>,
    hang: bool,
    errors: SortedSet<Pc>,
    doubts: usize,
}

pub fn mutate(module: &Module, entry: &Entry, launch: &Launch, limits: &Limits) -> Mutation {
    let options = |policy: Policy| Options::plain(policy, Credit::Determined, 0, limits.steps);
    let mut policy = Policy::WEAKEST;
    let mut first = run(module, entry, launch, &options(policy));
    if !first.findings.is_empty() {
        let strongest = run(module, entry, launch, &options(Policy::STRONGEST));
        if strongest.is_clean() {
            (policy, first) = (Policy::STRONGEST, strongest);
        }
    }
    // A change may make a loop endless: much more than the kernel itself needs is enough.
    let steps = limits.steps.min(first.covered.warp_instructions * 4 + 100_000);
    let options = Options { steps, ..options(policy) };
    let (findings, doubts) = (first.findings.len(), first.doubts.len());
    let mut mutation =
        Mutation { mutants: Vec::new(), strongest: policy != Policy::WEAKEST, findings, doubts, cut: false };
    let before = found(first);
    for (pc, instruction) in entry.code.iter().enumerate() {
        for (change, op) in changes(&instruction.op) {
            if fencepost_syntax::limits::is_over() {
                mutation.cut = true;
                return mutation;
            }
            let changed = with(entry, pc, op);
            let after = found(run(module, &changed, launch, &options));
            mutation.mutants.push(Mutant { pc: pc as Pc, change, fate: fate(&before, &after) });
        }
    }
    mutation
}

/// One run, with waits for flags and counters in memory where there are any.
fn run(module: &Module, entry: &Entry, launch: &Launch, options: &Options) -> Outcome {
    let first = Run::new(module, entry, launch, options.clone()).run();
    if first.is_clean() || first.flags.is_empty() {
        return first;
    }
    let flags = Options { credit: Credit::Flags, ..options.clone() };
    let Some(found) = with_flags(module, entry, launch, &first, &flags) else { return first };
    if found.is_clean() {
        return found;
    }
    match in_every_order(module, entry, launch, &found, &flags) {
        InOrders::Every { outcome, .. } | InOrders::Hang(outcome) => *outcome,
        InOrders::Bad(options) => Run::new(module, entry, launch, options).run(),
        InOrders::Open => found,
    }
}

fn found(outcome: Outcome) -> Found {
    let mut found = Found { doubts: outcome.doubts.len(), ..Found::default() };
    for finding in &outcome.findings {
        match finding {
            Finding::Race { race, .. } => {
                found.races.insert((race.first.pc, race.second.pc));
            }
            Finding::Hang { .. } => found.hang = true,
            Finding::Protocol { pc, .. }
            | Finding::OutOfBounds { pc, .. }
            | Finding::Misaligned { pc, .. }
            | Finding::Trap { pc, .. }
            | Finding::Assertion { pc, .. }
            | Finding::BadOperand { pc, .. } => {
                found.errors.insert(*pc);
            }
        }
    }
    found
}

fn fate(before: &Found, after: &Found) -> Fate {
    let races = after.races.difference(&before.races).count();
    let errors = after.errors.difference(&before.errors).count();
    let hang = after.hang && !before.hang;
    match () {
        () if races > 0 || errors > 0 || hang => Fate::Noticed { races, hang, errors },
        () if after.doubts > before.doubts => Fate::Undetermined,
        () if before.doubts > 0 => Fate::Unknown,
        () => Fate::Redundant,
    }
}

fn with(entry: &Entry, pc: usize, op: Op) -> Entry {
    let mut code = entry.code.to_vec();
    code[pc].op = op;
    Entry { code: Rc::from(code), ..entry.clone() }
}

/// The ways to leave out or weaken a synchronisation; none for any other instruction.
fn changes(op: &Op) -> Vec<(Change, Op)> {
    let mut changes = Vec::new();
    match op {
        Op::MbarrierWait { to, at, state, parity, order, scope } => {
            let from = [Source::Constant(1), Source::Constant(0), Source::Constant(0)];
            changes.push((Change::LeftOut, Op::Compute { function: Function::Move, ty: Ty::PRED, to: *to, from }));
            if order.acquires() {
                let (to, at, state, parity, scope) = (*to, *at, *state, *parity, *scope);
                let order = Order::Relaxed;
                changes.push((Change::Relaxed, Op::MbarrierWait { to, at, state, parity, order, scope }));
            }
        }
        Op::MbarrierArrive { order, .. } => {
            changes.push((Change::LeftOut, Op::Nothing));
            if order.releases() {
                let mut weaker = op.clone();
                if let Op::MbarrierArrive { order, .. } = &mut weaker {
                    *order = Order::Relaxed;
                }
                changes.push((Change::Relaxed, weaker));
            }
        }
        Op::Load(access, _) | Op::Store(access, _) | Op::Atomic { access, .. } | Op::AtomicVector { access, .. } => {
            if access.order.acquires() || access.order.releases() {
                changes.push((Change::Relaxed, with_access(op, |access| access.order = Order::Relaxed)));
            }
            if access.order != Order::Weak && access.scope != Scope::Cta {
                changes.push((Change::NarrowScope, with_access(op, |access| access.scope = Scope::Cta)));
            }
        }
        Op::Fence { order, scope } => {
            changes.push((Change::LeftOut, Op::Nothing));
            if *scope != Scope::Cta {
                changes.push((Change::NarrowScope, Op::Fence { order: *order, scope: Scope::Cta }));
            }
        }
        Op::CopyAsyncWait { pending: Some(pending) } => {
            changes.push((Change::LeftOut, Op::Nothing));
            changes.push((Change::OneMore, Op::CopyAsyncWait { pending: Some(pending + 1) }));
        }
        Op::BulkWait { pending, reads_only } => {
            changes.push((Change::LeftOut, Op::Nothing));
            changes.push((Change::OneMore, Op::BulkWait { pending: pending + 1, reads_only: *reads_only }));
        }
        Op::WgmmaWait { pending } => {
            changes.push((Change::LeftOut, Op::Nothing));
            changes.push((Change::OneMore, Op::WgmmaWait { pending: pending + 1 }));
        }
        Op::Barrier { to: None, .. }
        | Op::SyncWarp { .. }
        | Op::ClusterArrive { .. }
        | Op::ClusterWait { .. }
        | Op::FenceProxyAsync(_)
        | Op::FenceProxyTensormapRelease { .. }
        | Op::FenceProxyTensormapAcquire { .. }
        | Op::FenceProxyAlias
        | Op::FenceMbarrierInit
        | Op::MbarrierInit { .. }
        | Op::MbarrierExpect { .. }
        | Op::CopyAsyncCommit
        | Op::CopyAsyncWait { pending: None }
        | Op::CopyAsyncArrive { .. }
        | Op::BulkCommit
        | Op::WgmmaCommit
        | Op::Tcgen05WaitLoad
        | Op::Tcgen05WaitStore
        | Op::Tcgen05Commit { .. }
        | Op::Tcgen05Before
        | Op::Tcgen05After => changes.push((Change::LeftOut, Op::Nothing)),
        _ => {}
    }
    changes
}

/// The instruction with another order or scope.
fn with_access(op: &Op, change: impl FnOnce(&mut Access)) -> Op {
    let mut changed = op.clone();
    if let Op::Load(access, _) | Op::Store(access, _) | Op::Atomic { access, .. } | Op::AtomicVector { access, .. } =
        &mut changed
    {
        change(access);
    }
    changed
}
