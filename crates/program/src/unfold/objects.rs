//! What only the unfolding shows where addresses are computed: memory that the thread cannot reach or write, and what
//! reaches an mbarrier (PTX ISA 9.7.15.16): mbarrier operations, and accesses to its eight bytes as data, which are
//! errors while it is live.

use crate::access::includes;
use crate::ids::ThreadId;
use crate::program::{LocationRole, Place, Scope, Space};
use crate::tag::Tag;
use crate::unfold::UnfoldError;
use crate::unfolding::Unfolding;

pub(crate) fn check(unfolding: &Unfolding) -> Result<(), UnfoldError> {
    let place_of = |thread: ThreadId| unfolding.threads[thread.index()].place;
    for event in unfolding.events.iter().filter(|event| !event.is_init()) {
        let (Some(location), Some(thread)) = (event.location(), event.thread) else { continue };
        let info = &unfolding.locations[location.index()];
        let span = event.span;
        let name = || info.name.clone();
        let reaches = |owner| includes(Scope::Cluster, place_of(thread), owner);
        let is_remote = info.space == Some(Space::Shared) && info.owner.is_some_and(|owner| !reaches(owner));
        if is_remote || info.thread.is_some_and(|owner| owner != thread) {
            return Err(UnfoldError::OutOfReach { span, location: name() });
        }
        let is_device = place_of(thread) != Place::Host;
        if is_device && event.is_write() && matches!(info.space, Some(Space::Const | Space::Param)) {
            return Err(UnfoldError::ReadOnly { span, location: name() });
        }
        let is_object = info.role == LocationRole::Mbarrier;
        if event.has(Tag::Mbarrier) && !is_object {
            return Err(UnfoldError::NoMbarrier { span, location: name() });
        }
        // A plain access to all of its bytes is one to data, if there is no mbarrier in them.
        if is_object && !event.has(Tag::Mbarrier) && event.extent.is_some() {
            return Err(UnfoldError::PlainAccess { span, location: name() });
        }
        let is_wait = event.has(Tag::Mbarrier) && event.is_read() && event.rmw_partner.is_none();
        let place = place_of(thread);
        if is_wait && info.owner.is_some_and(|owner| !includes(Scope::Cta, place, owner)) {
            return Err(UnfoldError::RemoteWait { span, location: name() });
        }
    }
    Ok(())
}
