//! Which kernels surely start and surely end (see `launch`).

use fencepost_syntax::sorted::SortedSet;

use crate::ids::{KernelId, ThreadId, TraceId};
use crate::program::{BarrierKind, HostCall, Initial, Instruction, Operation, Program, Thread};
use crate::tag::{Tag, Tags};
use crate::unfolding::{Trace, TraceEnd, Unfolding};
use crate::value::expression::Expression;

/// The kernels that surely end, and those that surely start.
#[derive(Default)]
pub(crate) struct Staying {
    ending: SortedSet<KernelId>,
    starting: SortedSet<KernelId>,
}

impl Staying {
    pub(crate) fn new(program: &Program) -> Staying {
        let mut staying = Staying::default();
        let kernels: SortedSet<KernelId> = program.threads.iter().filter_map(|thread| thread.kernel).collect();
        loop {
            let size = (staying.ending.len(), staying.starting.len());
            for &kernel in &kernels {
                if staying.surely_starts(program, kernel) {
                    staying.starting.insert(kernel);
                }
                let mut own = program.threads.iter().filter(|thread| thread.kernel == Some(kernel));
                if staying.starting.contains(&kernel)
                    && own.all(|thread| staying.surely_passes(program, thread, thread.code.len()))
                {
                    staying.ending.insert(kernel);
                }
            }
            if size == (staying.ending.len(), staying.starting.len()) {
                return staying;
            }
        }
    }

    fn surely_starts(&self, program: &Program, kernel: KernelId) -> bool {
        let mut before = program.kernel_order.iter().chain(&program.dependent_launches);
        let is_launched = |thread: &Thread| {
            let at = thread.code.iter().position(|code| is_launch(code, kernel));
            at.is_none_or(|at| !thread.code.iter().any(decides) && self.surely_passes(program, thread, at))
        };
        before.all(|(first, second)| *second != kernel || self.ending.contains(first))
            && program.threads.iter().all(is_launched)
    }

    /// Whether the thread cannot stay for good before this place of its code.
    fn surely_passes(&self, program: &Program, thread: &Thread, end: usize) -> bool {
        thread.code.iter().take(end).enumerate().all(|(index, code)| match &code.operation {
            Operation::Branch { target } | Operation::BranchIf { target, .. } => target.0 as usize > index,
            Operation::Barrier(barrier) => barrier.kind == BarrierKind::Arrive,
            Operation::Mark { tags, call } => !self.may_block(program, thread, *tags, *call),
            _ => true,
        })
    }

    /// Whether a wait for kernels may never be over.
    pub(crate) fn may_block(&self, program: &Program, thread: &Thread, tags: Tags, call: Option<HostCall>) -> bool {
        match call {
            Some(HostCall::Sync(kernel)) => !self.ending.contains(&kernel),
            Some(HostCall::Launch(_) | HostCall::Missed(_)) => false,
            None if tags.has(Tag::GridWait) => (program.dependent_launches.iter())
                .any(|(first, second)| Some(*second) == thread.kernel && !self.ending.contains(first)),
            None => false,
        }
    }

    /// The trace of a thread whose kernel never starts, if that can be.
    pub(crate) fn unstarted(&self, program: &Program, id: ThreadId, unfolding: &mut Unfolding) {
        let thread = &program.threads[id.index()];
        if thread.kernel.is_none_or(|kernel| self.starting.contains(&kernel)) {
            return;
        }
        let initial = |initial: Initial| match initial {
            Initial::Value(value) => value,
            Initial::Address(address) => program.addresses[address.index()].value,
        };
        let register = |register: &crate::program::Register| register.ty.wrap(initial(register.initial));
        let trace = TraceId::new(unfolding.traces.len());
        unfolding.threads[id.index()].traces.push(trace);
        unfolding.traces.push(Trace {
            thread: id,
            events: Vec::new(),
            constraints: Vec::new(),
            assumptions: Vec::new(),
            end: TraceEnd::NotStarted,
            registers: thread.registers.iter().map(register).map(Expression::Constant).collect(),
        });
    }
}

pub(crate) fn is_launch(code: &Instruction, kernel: KernelId) -> bool {
    matches!(code.operation, Operation::Mark { call: Some(HostCall::Launch(launched)), .. } if launched == kernel)
}

/// Whether what comes after it may be left out.
pub(crate) fn decides(code: &Instruction) -> bool {
    let jumps = matches!(code.operation, Operation::Branch { .. } | Operation::BranchIf { .. } | Operation::Exit);
    jumps || code.guard.is_some()
}
