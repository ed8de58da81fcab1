//! Walking the trees: what a thread may do next, what its reads are worth, and how it ends.
//!
//! A machine keeps, per read, which write it read from; values follow. Nothing depends on itself: a request is accepted
//! only when the reads it needs have their values.

use fencepost_program::expression::{Expression, Leaf};
use fencepost_program::program::Term;
use fencepost_program::unfolding::{FinalState, TraceEnd};
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId, ThreadId, TraceId};

use crate::machine::{Cut, Ending, Stuck};
use crate::requests::{Branch, Fork, RequestKind, Requests};

/// Where reads got their values from.
pub trait Sources {
    /// The write that a read was satisfied with; None while it has no value.
    fn source(&self, read: EventId) -> Option<EventId>;

    /// The last request of a thread that was accepted (or executed).
    fn last(&self, thread: ThreadId) -> Option<EventId>;
}

/// The requests of a program with what a state knows of their values.
#[derive(Copy, Clone)]
pub struct Walk<'a, S> {
    pub requests: &'a Requests,
    pub sources: &'a S,
}

impl<'a, S: Sources> Walk<'a, S> {
    pub fn new(requests: &'a Requests, sources: &'a S) -> Walk<'a, S> {
        Walk { requests, sources }
    }

    /// The value a read returned.
    pub fn value(&self, read: EventId) -> Option<Value> {
        self.written(self.sources.source(read)?)
    }

    /// The value a write writes.
    pub fn written(&self, write: EventId) -> Option<Value> {
        match &self.requests.request(write).kind {
            RequestKind::Write { value, .. } => self.evaluate(value),
            RequestKind::Read { .. } | RequestKind::Fence => None,
        }
    }

    /// A request as people write it, with the value it writes where that is known: `W.rel.gpu x=1`.
    pub fn text(&self, id: EventId) -> String {
        self.requests.text(id, self.written(id))
    }

    /// The same with its thread before it: `P0's W x=1`.
    pub fn text_with_thread(&self, id: EventId) -> String {
        match self.requests.request(id).thread {
            Some(thread) => format!("{}'s {}", self.requests.threads[thread.index()].name, self.text(id)),
            None => format!("the initial {}", self.text(id)),
        }
    }

    /// What an instruction did that has just been executed: a read with its value, a locked one with what it wrote too.
    pub fn executed(&self, id: EventId) -> String {
        let mut text = self.text(id);
        if let Some(value) = self.value(id) {
            text += &format!(" and gets {value}");
        }
        let thread = self.requests.request(id).thread;
        let last = thread.and_then(|thread| self.sources.last(thread));
        if let Some(write) = last.filter(|last| *last != id)
            && let Some(value) = self.written(write)
        {
            text += &format!(", and writes {value}");
        }
        text
    }

    pub fn evaluate(&self, expression: &Expression) -> Option<Value> {
        expression.evaluate(&mut |leaf| match leaf {
            Leaf::Read(read) => self.value(read),
            Leaf::BarrierResult(_) => None,
        })
    }

    fn holds(&self, expression: &Expression) -> bool {
        self.evaluate(expression).is_some_and(|value| value != Value(0))
    }

    /// What may come next in a thread.
    pub(crate) fn fork(&self, thread: ThreadId) -> &'a Fork {
        match self.sources.last(thread) {
            Some(last) => &self.requests.request(last).next,
            None => &self.requests.threads[thread.index()].root,
        }
    }

    /// What a thread may do next: the branches whose guards hold and whose requests have all they need.
    pub fn next(&self, thread: ThreadId) -> impl Iterator<Item = EventId> + use<'a, '_, S> {
        let ready = |branch: &&Branch| {
            let needs = &self.requests.request(branch.to).needs;
            branch.guard.iter().all(|guard| self.holds(guard))
                && needs.iter().all(|read| self.sources.source(*read).is_some())
        };
        self.fork(thread).branches.iter().filter(ready).map(|branch| branch.to)
    }

    /// Whether a thread may do something next that only waits for values: another branch than those that are ready.
    pub fn has_open_branch(&self, thread: ThreadId) -> bool {
        let is_excluded = |guard: &Expression| self.evaluate(guard) == Some(Value(0));
        let ready: Vec<EventId> = self.next(thread).collect();
        let open = |branch: &Branch| !ready.contains(&branch.to) && !branch.guard.iter().any(is_excluded);
        self.fork(thread).branches.iter().any(open)
    }

    /// The trace that a thread took, if it has ended: all its constraints hold and nothing comes after.
    pub fn ended(&self, thread: ThreadId) -> Option<TraceId> {
        let is_taken = |trace: &&TraceId| {
            self.requests.traces[trace.index()].constraints.iter().all(|constraint| self.holds(constraint))
        };
        self.fork(thread).ends.iter().find(is_taken).copied()
    }

    /// How a run ends in which nothing more is to be done. `memory` gives the final value of each location.
    pub fn ending(&self, memory: impl Fn(LocationId) -> Option<Value>) -> Ending {
        let mut registers = Vec::with_capacity(self.requests.threads.len());
        let mut stuck = None;
        for index in 0..self.requests.threads.len() {
            let Some(trace) = self.ended(ThreadId::new(index)) else { return Ending::Stuck(Stuck::Deadlock) };
            let trace = &self.requests.traces[trace.index()];
            match &trace.end {
                TraceEnd::Exit => {}
                TraceEnd::Spin { .. } | TraceEnd::Blocked { .. } | TraceEnd::NotStarted => {
                    stuck = stuck.or(Some(Stuck::Spin));
                }
                TraceEnd::Bound { span, .. } => return Ending::Cut(Cut::Bound(*span)),
                TraceEnd::Wild { span, .. } => return Ending::Cut(Cut::Wild(*span)),
            }
            if !trace.assumptions.iter().all(|assumption| self.holds(assumption)) {
                stuck = Some(Stuck::AssumedAway);
            }
            let values: Option<Vec<Value>> = trace.registers.iter().map(|register| self.evaluate(register)).collect();
            let Some(values) = values else { return Ending::Stuck(Stuck::Deadlock) };
            registers.push(values);
        }
        if let Some(stuck) = stuck {
            return Ending::Stuck(stuck);
        }
        let memory: Option<Vec<Value>> = (0..self.requests.locations.len()).map(LocationId::new).map(memory).collect();
        match memory {
            Some(memory) => Ending::Final(FinalState { registers, memory }),
            None => Ending::Stuck(Stuck::NoLastWrite),
        }
    }

    /// What a register will hold in the end, if only one trace is left for its thread and the reads it needs are done.
    pub fn known(&self, term: &Term) -> Option<Value> {
        match term {
            Term::Constant(value) => Some(*value),
            Term::Memory(_) => None,
            Term::Register(thread, register) => {
                let mut fork = self.fork(*thread);
                while let [branch] = &fork.branches[..] {
                    fork = &self.requests.request(branch.to).next;
                }
                match (&fork.branches[..], &fork.ends[..]) {
                    ([], [trace]) => {
                        let registers = &self.requests.traces[trace.index()].registers;
                        self.evaluate(registers.get(register.index())?)
                    }
                    _ => None,
                }
            }
        }
    }
}
