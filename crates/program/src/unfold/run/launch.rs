//! Kernels that may never end, and what that keeps from starting or from going on: only where it can happen are there
//! traces for it (see `crate::unfolding::launch`). What is known is which kernels surely start and end: those whose code has no loop
//! and no barrier, and which wait only for what surely ends. All others may stay, so that kernels and hosts that wait for
//! each other in a circle do.
//!
//! A host's wait waits for what was launched before it. Where another host thread launches the kernel, nothing says by
//! itself that it has: a run goes on without waiting, and the model says when that can be.

use crate::ids::KernelId;
use crate::program::{HostCall, Instruction, Operation, Thread};
use crate::tag::{Tag, Tags};
use crate::unfold::UnfoldError;
use crate::unfold::run::dependency::{Deps, Reads};
use crate::unfold::run::kernel_ends::is_launch;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::State;
use crate::unfolding::{EventKind, TraceEnd};

impl Runner<'_> {
    /// `griddepcontrol`, and a host's calls: an event, and for a wait the run that waits there for good.
    pub(crate) fn grid_or_host(
        &mut self,
        state: Box<State>,
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
        mut state: Box<State>,
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
