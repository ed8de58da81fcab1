//! Registers in the middle of a run, as a crash finds them.
//!
//! A register of an unfolded program is the expression that its thread ends with. In the middle of a run it has its value if the
//! reads in that expression are done; one that no read gives has it when the thread has done all it does. This is what questions
//! about crashes mean for axiomatic models too. There a crash is one of an execution, which knows how each thread goes on. A machine
//! does not: where the ways that a thread may still go disagree about a register, it has no answer ([`Requests::is_settled`]).

use fencepost_program::expression::{Expression, Leaf};
use fencepost_program::unfolding::TraceEnd;
use fencepost_program::value::Value;
use fencepost_program::{EventId, RegisterId, ThreadId, TraceId};
use fencepost_syntax::sorted::SortedSet;

use crate::requests::{Fork, Requests, Sources, Walk};

impl Requests {
    /// Whether a register has one value, or none, at each point of its thread, however the thread goes on.
    pub fn is_settled(&self, thread: ThreadId, register: RegisterId) -> bool {
        let Some(thread) = self.threads.get(thread.index()) else { return false };
        self.settled_below(&thread.root, register, &mut SortedSet::new())
    }

    fn settled_below(&self, fork: &Fork, register: RegisterId, done: &mut SortedSet<EventId>) -> bool {
        let mut traces = Vec::new();
        self.traces_below(fork, &mut traces);
        let so_far = |trace: &TraceId| self.expression(*trace, register, &|read| done.contains(&read), fork);
        let mut values = traces.iter().map(so_far);
        let first = values.next();
        if values.any(|other| Some(other) != first) {
            return false;
        }
        fork.branches.iter().all(|branch| {
            done.insert(branch.to);
            let is_settled = self.settled_below(&self.request(branch.to).next, register, done);
            done.remove(&branch.to);
            is_settled
        })
    }

    fn traces_below(&self, fork: &Fork, found: &mut Vec<TraceId>) {
        found.extend(&fork.ends);
        fork.branches.iter().for_each(|branch| self.traces_below(&self.request(branch.to).next, found));
    }

    /// What a register is where a thread has come to `fork` and goes on as in the trace; None while it has no value.
    fn expression(
        &self,
        trace: TraceId,
        register: RegisterId,
        is_done: &dyn Fn(EventId) -> bool,
        fork: &Fork,
    ) -> Option<&Expression> {
        let way = &self.traces[trace.index()];
        let expression = way.registers.get(register.index())?;
        let mut leaves = Vec::new();
        expression.leaves(&mut leaves);
        let has_value = match leaves.is_empty() {
            true => way.end == TraceEnd::Exit && fork.ends.contains(&trace),
            false => leaves.iter().all(|leaf| matches!(leaf, Leaf::Read(read) if is_done(*read))),
        };
        has_value.then_some(expression)
    }
}

impl<S: Sources> Walk<'_, S> {
    /// What a settled register holds now. The effects of the last instruction of the thread `are_over`.
    pub fn so_far(&self, thread: ThreadId, register: RegisterId, are_over: bool) -> Option<Value> {
        let here = self.fork(thread);
        let mut fork = here;
        let trace = loop {
            match (fork.ends.first(), fork.branches.first()) {
                (Some(trace), _) => break *trace,
                (None, Some(branch)) => fork = &self.requests.request(branch.to).next,
                (None, None) => return None,
            }
        };
        let is_done = |read: EventId| self.sources.source(read).is_some();
        let expression = self.requests.expression(trace, register, &is_done, here)?;
        let mut leaves = Vec::new();
        expression.leaves(&mut leaves);
        if leaves.is_empty() && !are_over { None } else { self.evaluate(expression) }
    }
}
