//! Rules about mbarriers, barriers and fences that the text alone shows broken: no exploration is needed.

use crate::lower::{Findings, Floor};
use crate::program::{Lint, Version};

pub(crate) fn collect(findings: &mut Findings, version: Version) -> Vec<Lint> {
    let mut lints = std::mem::take(&mut findings.lints);
    lints.extend(findings.floors.iter().filter(|floor| floor.since > version).map(|floor| too_new(floor, version)));
    lints.sort_by_key(|lint| lint.span.start);
    lints
}

fn too_new(floor: &Floor, version: Version) -> Lint {
    let (since, stated) = (floor.since, version);
    let message = format!(
        "{} came with PTX {}.{}, and the text says `.version {}.{}`",
        floor.what, since.major, since.minor, stated.major, stated.minor
    );
    Lint { span: floor.span, message, section: floor.section }
}
