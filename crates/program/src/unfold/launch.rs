//! Kernels that may never end, and what that keeps from starting or from going on: only where it can happen are there
//! traces for it (see `crate::launch`). A kernel may stay if its code has a loop or waits at a barrier, or if it waits for
//! one that may.

use std::collections::BTreeSet;

use crate::expression::Expression;
use crate::ids::{KernelId, ThreadId, TraceId};
use crate::program::{BarrierKind, HostCall, Initial, Instruction, Operation, Program, Thread};
use crate::tag::{Tag, Tags};
use crate::unfold::UnfoldError;
use crate::unfold::run::{Deps, Runner};
use crate::unfold::state::{Reads, State};
use crate::unfolding::{EventKind, Trace, TraceEnd, Unfolding};

/// Kernels that may not end, and those that may not start.
#[derive(Default)]
pub(crate) struct Staying {
    kernels: BTreeSet<KernelId>,
    unstarted: BTreeSet<KernelId>,
}

impl Staying {
    pub(crate) fn new(program: &Program) -> Staying {
        let mut staying = Staying::default();
        if program.threads.iter().all(|thread| thread.kernel.is_none()) {
            return staying;
        }
        loop {
            let size = (staying.kernels.len(), staying.unstarted.len());
            for &(before, after) in program.kernel_order.iter().chain(&program.dependent_launches) {
                if staying.kernels.contains(&before) {
                    staying.unstarted.insert(after);
                }
            }
            for thread in &program.threads {
                let stays = staying.stays(program, thread);
                match thread.kernel {
                    Some(kernel) if stays || staying.unstarted.contains(&kernel) => {
                        staying.kernels.insert(kernel);
                    }
                    None if stays || thread.code.iter().any(decides) => {
                        let launched = thread.code.iter().filter_map(|code| match code.operation {
                            Operation::Mark { call: Some(HostCall::Launch(kernel)), .. } => Some(kernel),
                            _ => None,
                        });
                        staying.unstarted.extend(launched);
                    }
                    _ => {}
                }
            }
            if size == (staying.kernels.len(), staying.unstarted.len()) {
                return staying;
            }
        }
    }

    /// Whether the code has a place where the thread may stay for good.
    fn stays(&self, program: &Program, thread: &Thread) -> bool {
        thread.code.iter().enumerate().any(|(index, code)| match &code.operation {
            Operation::Branch { target } | Operation::BranchIf { target, .. } => target.0 as usize <= index,
            Operation::Barrier(barrier) => barrier.kind != BarrierKind::Arrive,
            Operation::Mark { tags, call } => self.may_block(program, thread, *tags, *call),
            _ => false,
        })
    }

    /// Whether a wait for kernels may never be over.
    fn may_block(&self, program: &Program, thread: &Thread, tags: Tags, call: Option<HostCall>) -> bool {
        match call {
            Some(HostCall::Sync(kernel)) => self.kernels.contains(&kernel),
            Some(HostCall::Launch(_)) => false,
            None if tags.has(Tag::GridWait) => (program.dependent_launches.iter())
                .any(|(first, second)| Some(*second) == thread.kernel && self.kernels.contains(first)),
            None => false,
        }
    }

    /// The trace of a thread whose kernel never starts, if that can be.
    pub(crate) fn unstarted(&self, program: &Program, id: ThreadId, unfolding: &mut Unfolding) {
        let thread = &program.threads[id.index()];
        if !thread.kernel.is_some_and(|kernel| self.unstarted.contains(&kernel)) {
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
        self.marked(state, tags, call, guard)
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
