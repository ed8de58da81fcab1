//! What the trace of a thread that exits did with tensor memory, for the rules about all threads of a CTA or a pair of CTAs.

use fencepost_syntax::Span;

use crate::program::asynchronous::Action;

/// What one trace did with tensor memory.
pub(crate) struct Life {
    pub(crate) thread: crate::ids::ThreadId,
    pub(crate) trace: crate::ids::TraceId,
    pub(crate) allocated: Vec<(crate::ids::AddressId, Span)>,
    pub(crate) deallocated: Vec<crate::ids::AddressId>,
    pub(crate) collective: Vec<(Collective, Span)>,
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Collective {
    Allocate,
    Deallocate,
    Relinquish,
}

/// What an operation is that needs the peer.
pub(crate) fn collective(action: &Action) -> Option<Collective> {
    match action {
        Action::Allocate { group: 2, .. } => Some(Collective::Allocate),
        Action::Deallocate { group: 2, .. } => Some(Collective::Deallocate),
        Action::Relinquish { group: 2 } => Some(Collective::Relinquish),
        _ => None,
    }
}
