//! Accepting at once: a partial-order reduction of LOST-POP, and why it is safe.
//!
//! To accept a request as soon as possible and before anything else is *not* safe in general. Predecessors are ordered
//! with the requests of a thread whenever something propagates there: a write that arrives after a read was accepted
//! becomes a predecessor and is ordered before the fences in front of that read; one that arrives before becomes a
//! predecessor at the acceptance, and gets that order only if something else arrives.
//!
//! It is safe at a thread where predecessors never get an order that they would not have had anyway: no write of another
//! thread is ever ordered before a request of this one by the architecture, and a later write of this thread is ordered
//! before an earlier request by the architecture only where the earlier one is before it at that scope already. This
//! is decided from the table of pairs, for each thread. It holds for x86 and SC, and in PTX and XC for threads without
//! releases and fences, such as the writers of IRIW.
//!
//! There, accepting a request `r` commutes with every transition that another thread or the memory system can take:
//!
//! * A request that propagates to the thread is ordered before `r` if they conflict, be it seen by the acceptance or
//!   an observer of the arrival, and becomes a predecessor under the same condition. `r` has no outgoing edge
//!   and has propagated nowhere when it is accepted, so it neither stalls nor overtakes, nor lies between a write and a
//!   read, nor parts a read-modify-write.
//! * An earlier read of the thread that is satisfied takes its edge to `r` with it, or never gets one.
//! * Acceptances of other threads look at what has reached them, and `r` has not.
//!
//! And it stays enabled. (A thread may have more than one way on before its reads have their values: a compare-and-swap that
//! fails waits for nothing, one that succeeds waits for the value it writes. Then no acceptance is taken at once.) So the acceptances of one such thread are an ample set: every run to an end has a permutation that
//! takes one of them first, with the same transitions, and so the same end and the same length. The graph has
//! no cycles, since every transition is taken once.

use fencepost_program::{EventId, ThreadId};

use crate::lostpop::state::{State, View};
use crate::lostpop::{LostPop, Step};

impl LostPop<'_> {
    /// Per thread: whether it may accept at once.
    pub(super) fn threads_of_early_predecessors(&self) -> Vec<bool> {
        self.nodes.iter().map(|nodes| nodes.iter().all(|event| self.is_untouched(*event))).collect()
    }

    /// No predecessor gets ordered before this request later than at its acceptance.
    fn is_untouched(&self, event: EventId) -> bool {
        let thread = self.faces[event.index()].thread;
        (0..self.faces.len()).filter(|write| self.faces[*write].is_write()).all(|write| {
            let pair = self.pairs.of(write, event.index());
            if pair.ordered.is_none() {
                return true;
            }
            let back = self.pairs.of(event.index(), write);
            let is_later = self.requests.request(EventId::new(write)).slot > self.requests.request(event).slot;
            let is_own = self.faces[write].thread == thread;
            is_own && (!is_later || (back.ordered.is_some() && pair.scope.is_in(back.scope)))
        })
    }

    /// Keeps the acceptances of the first eager thread that has some; answers whether one has.
    pub(super) fn keep_eager(&self, state: &State, accepts: &mut Vec<Step>) -> bool {
        let view = View { machine: self, state };
        let thread = |step: &Step| match step {
            Step::Accept(event) => self.faces[event.index()].thread,
            Step::Propagate { .. } | Step::Satisfy { .. } => usize::MAX,
        };
        let is_eager = |thread: &usize| {
            self.predecessors_early.get(*thread) == Some(&true)
                && !self.walk(&view).has_open_branch(ThreadId::new(*thread))
        };
        let eager = accepts.iter().map(thread).find(is_eager);
        if let Some(eager) = eager {
            accepts.retain(|step| thread(step) == eager);
        }
        eager.is_some()
    }
}
