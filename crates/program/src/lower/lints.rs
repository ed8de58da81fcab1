//! Rules about mbarriers, barriers and fences that the text alone shows broken: no exploration is needed.

use crate::lower::Floor;
use crate::program::{Lint, Version};

pub(crate) fn collect(floors: &[Floor], version: Version) -> Vec<Lint> {
    floors.iter().filter(|floor| floor.since > version).map(|floor| too_new(floor, version)).collect()
}

fn too_new(floor: &Floor, version: Version) -> Lint {
    let (since, stated) = (floor.since, version);
    let message = format!(
        "{} came with PTX {}.{}, and the text says `.version {}.{}`",
        floor.what, since.major, since.minor, stated.major, stated.minor
    );
    Lint { span: floor.span, message, section: floor.section }
}
