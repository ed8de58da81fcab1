//! Findings of two launches that may run at the same time.

use fencepost_kernel::order::Region;
use fencepost_kernel::sequence::{Access, Conflict};
use fencepost_program::sections;

use super::{About, Place, ToldFinding, words};

/// Two accesses of two launches, with the launch that the report is about second.
pub fn conflict(conflict: &Conflict, first: &About, second: &About) -> ToldFinding {
    let place = second.memory(Region::Global(conflict.buffer), conflict.at);
    ToldFinding {
        kind: "race",
        message: format!("the kernels may run at the same time, and nothing orders the accesses, at {place}"),
        section: sections::CAUSALITY_ORDER,
        places: vec![of(&conflict.first, first, second), of(&conflict.second, second, second)],
        not_under: Vec::new(),
        pairs: 1,
        missing: None,
    }
}

fn of(access: &Access, about: &About, told: &About) -> Place {
    let note =
        format!("`{}` {}, {}", about.entry.name, words::access(&access.record), about.who(&access.record, access.lane));
    let mut place = about.place(access.record.pc, note);
    if about.source.name != told.source.name {
        place.file = Some(about.source.name.clone());
    }
    place
}
