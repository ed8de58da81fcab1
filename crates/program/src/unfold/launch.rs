//! Kernels that may never end, and what that keeps from starting or from going on: only where it can happen are there
//! traces for it (see `crate::launch`). What is known is which kernels surely start and end: those whose code has no loop
//! and no barrier, and which wait only for what surely ends. All others may stay, so that kernels and hosts that wait for
//! each other in a circle do.
//!
//! A host's wait waits for what was launched before it. Where another host thread launches the kernel, nothing says by
//! itself that it has: a run goes on without waiting, and the model says when that can be.

use std::collections::BTreeSet;

use crate::expression::Expression;
use crate::ids::{KernelId, ThreadId, TraceId};
use crate::program::{BarrierKind, HostCall, Initial, Instruction, Operation, Program, Thread};
use crate::tag::{Tag, Tags};
use crate::unfold::UnfoldError;
use crate::unfold::run::{Deps, Runner};
use crate::unfold::state::{Reads, State};
use crate::unfolding::{EventKind, Trace, TraceEnd, Unfolding};

/// The kernels that surely end, and those that surely start.
#[derive(Default)]
pub(crate) struct Staying {
    ending: BTreeSet<KernelId>,
    starting: BTreeSet<KernelId>,
}

impl Staying {
    pub(crate) fn new(program: &Program) -> Staying {
        let mut staying = Staying::default();
        let kernels: BTreeSet<KernelId> = program.threads.iter().filter_map(|thread| thread.kernel).collect();
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
    fn may_block(&self, program: &Program, thread: &Thread, tags: Tags, call: Option<HostCall>) -> bool {
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

fn is_launch(code: &Instruction, kernel: KernelId) -> bool {
    matches!(code.operation, Operation::Mark { call: Some(HostCall::Launch(launched)), .. } if launched == kernel)
}

/// Whether what comes after it may be left out.
fn decides(code: &Instruction) -> bool {
    let jumps = matches!(code.operation, Operation::Branch { .. } | Operation::BranchIf { .. } | Operation::Exit);
    jumps || code.guard.is_some()
}

impl Runner<'_> {
    /// `griddepcontrol`, and a host's calls: an event, and for a wait the run that waits there for good.
    pub(crate) fn grid_or_host(
        &mut self,
        state: State,
        tags: Tags,
        call: Option<HostCall>,
        guard: Reads,
    ) -> Result<(), UnfoldError> {
        if tags.has(Tag::LaunchDependents) && !self.has_triggered(&state) {
            if self.is_alone_in_triggering() {
                return self.marked(state, tags.with(Tag::Trigger), call, guard);
            }
            // Of the threads of the CTA one is first.
            self.marked(state.clone(), tags.with(Tag::Trigger), call, guard.clone())?;
            return self.marked(state, tags, call, guard);
        }
        if let Some(HostCall::Sync(kernel)) = call
            && self.may_miss(kernel)
        {
            self.marked(state.clone(), tags, Some(HostCall::Missed(kernel)), guard.clone())?;
        }
        self.marked(state, tags, call, guard)
    }

    /// Whether a wait for the kernel may come before its launch: another thread launches it.
    fn may_miss(&self, kernel: KernelId) -> bool {
        let launches = |thread: &Thread| thread.code.iter().any(|code| is_launch(code, kernel));
        !launches(self.thread) && self.program.threads.iter().any(launches)
    }

    fn marked(
        &mut self,
        mut state: State,
        tags: Tags,
        call: Option<HostCall>,
        guard: Reads,
    ) -> Result<(), UnfoldError> {
        let deps = Deps { guard, ..Deps::default() };
        let event = self.event(&mut state, EventKind::Issue, tags, None, deps)?;
        self.unfolding.events[event.index()].call = call;
        state.effects += 1;
        if self.staying.may_block(self.program, self.thread, tags, call) {
            self.finish(state.clone(), TraceEnd::Blocked { barrier: event })?;
        }
        state.at += 1;
        self.stack.push(state);
        Ok(())
    }

    /// Whether this run has issued `griddepcontrol.launch_dependents`: only the first counts (PTX ISA 9.7.15.14).
    fn has_triggered(&self, state: &State) -> bool {
        state.path.iter().any(|event| self.unfolding.event(*event).has(Tag::LaunchDependents))
    }

    /// No other thread of the CTA can trigger.
    fn is_alone_in_triggering(&self) -> bool {
        let triggers = |thread: &Thread| {
            let is_trigger = |code: &Instruction| matches!(code.operation, Operation::Mark { tags, .. } if tags.has(Tag::LaunchDependents));
            thread.place == self.thread.place && thread.code.iter().any(is_trigger)
        };
        self.program.threads.iter().filter(|thread| triggers(thread)).count() == 1
    }
}
