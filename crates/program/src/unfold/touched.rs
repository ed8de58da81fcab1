//! Locations that nothing is about.
//!
//! A program may declare an array of thousands of elements and touch three. Init writes of the others are in no execution: no
//! relation has anything to say of them, and matrices of events grow with the square of their number.

use crate::LocationId;
use crate::program::{LocationRole, Program, Term};
use crate::unfolding::{Event, Unfolding};

/// Marks the locations that no event of a thread and no condition is about. A crash looks at all that is persistent.
pub(super) fn mark(program: &Program, unfolding: &mut Unfolding) {
    let Unfolding { events, locations, .. } = unfolding;
    for (info, location) in locations.iter_mut().zip(&program.locations) {
        info.is_untouched = info.role == LocationRole::Data && !location.is_persistent;
    }
    let mut touch = |location: LocationId| {
        if let Some(info) = locations.get_mut(location.index()) {
            info.is_untouched = false;
        }
    };
    for event in events.iter().filter(|event| !event.is_init()) {
        touched_by(event).for_each(&mut touch);
    }
    let mut touch_term = |term: &Term| {
        if let Term::Memory(location) = term {
            touch(*location);
        }
    };
    program.conditions().for_each(|condition| condition.for_each_term(&mut touch_term));
    program.shown.iter().for_each(&mut touch_term);
}

fn touched_by(event: &Event) -> impl Iterator<Item = LocationId> {
    let through = event.omitted().and_then(|write| write.through);
    let spanned = event.extent.map(|extent| {
        let first = extent.first.index();
        (first..first + extent.count as usize).map(LocationId::new)
    });
    event.target().into_iter().chain(through).chain(spanned.into_iter().flatten())
}
