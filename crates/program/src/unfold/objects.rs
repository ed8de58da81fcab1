//! mbarriers are reached by mbarrier operations, and by nothing else (PTX ISA 9.7.15.16). Where an address is computed only
//! the unfolding shows it.

use crate::access::includes;
use crate::program::{LocationRole, Scope};
use crate::tag::Tag;
use crate::unfold::UnfoldError;
use crate::unfolding::Unfolding;

pub(crate) fn check(unfolding: &Unfolding) -> Result<(), UnfoldError> {
    for event in unfolding.events.iter().filter(|event| !event.is_init()) {
        let (Some(location), Some(thread)) = (event.location(), event.thread) else { continue };
        let info = &unfolding.locations[location.index()];
        let span = event.span;
        let name = || info.name.clone();
        if event.has(Tag::Mbarrier) != (info.role == LocationRole::Mbarrier) {
            return Err(match info.role {
                LocationRole::Mbarrier => UnfoldError::PlainAccess { span, location: name() },
                _ => UnfoldError::NoMbarrier { span, location: name() },
            });
        }
        let is_wait = event.has(Tag::Mbarrier) && event.is_read() && event.rmw_partner.is_none();
        let place = unfolding.threads[thread.index()].place;
        if is_wait && info.owner.is_some_and(|owner| !includes(Scope::Cta, place, owner)) {
            return Err(UnfoldError::RemoteWait { span, location: name() });
        }
    }
    Ok(())
}
