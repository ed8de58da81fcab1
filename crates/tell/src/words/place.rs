//! Places and accesses in words: "P0's line 8", "P1's bulk copy of line 16".

use fencepost_report::piece::{Gap, Side, Spot};
use fencepost_report::site::{AccessSite, Act, Memory, Operation, Scope, Site};

/// "P0's `ld.shared.u32 %r1, [s]` (line 8)".
pub(super) fn called(site: &Site) -> String {
    format!("{}'s `{}` (line {})", site.thread.0, site.text, site.line)
}

/// "P1's bulk copy of line 16".
pub(super) fn operation(site: &Site) -> String {
    let name = site.operation.unwrap_or(Operation::Other).name();
    format!("{}'s {name} of line {}", site.thread.0, site.line)
}

/// "P0's line 8", "P1's bulk copy of line 16".
pub(super) fn place(site: &Site) -> String {
    match site.operation {
        Some(_) => operation(site),
        None => format!("{}'s line {}", site.thread.0, site.line),
    }
}

/// "P1's bulk copy of line 16 writes s", "P0 reads s in line 8".
pub(super) fn access(access: &AccessSite) -> String {
    let (at, act) = (&access.at, act(&access.act));
    match at.operation {
        Some(_) => format!("{} {act}", operation(at)),
        None => format!("{} {act} in line {}", at.thread.0, at.line),
    }
}

/// "writes s".
pub(super) fn act(act: &Act) -> String {
    match act {
        Act::Reads { location } => format!("reads {location}"),
        Act::Writes { location } => format!("writes {location}"),
        Act::Updates { location } => format!("updates {location}"),
        Act::Exits => "exits, and the shared memory of its CTA may go with it".to_owned(),
        Act::ClusterBarrier => "is at the barrier of its cluster".to_owned(),
        Act::AsksToCancel => "asks to cancel a launch".to_owned(),
        Act::StartsAsynchronous => "starts an asynchronous operation".to_owned(),
        Act::StartsProduct => "starts a product".to_owned(),
        Act::StartsProductInFlight => "starts a product that has its registers until a wait covers it".to_owned(),
        Act::StartsFirstProduct => "starts the first product, with no wgmma.fence before it".to_owned(),
        Act::UsesRegister => "uses one of these registers".to_owned(),
        Act::AccessesRegister => "accesses a register that the product uses, with no wgmma.fence between".to_owned(),
    }
}

/// Two accesses, or one of two rounds.
pub(super) fn both(first: &Site, second: &Site) -> String {
    let [one, other] = [first, second].map(place);
    if one == other { format!("{one} in one round and in another") } else { format!("{one} and {other}") }
}

/// "in P0 between lines 8 and 9", "in P0 after line 9", "in P0 after the label `L` of line 5".
pub(super) fn spot(spot: &Spot) -> String {
    let thread = &spot.thread;
    match &spot.at {
        Gap::Between { above, below } => format!("in {thread} between lines {above} and {below}"),
        Gap::BehindLabel { label, line } => format!("in {thread} after the label `{label}` of line {line}"),
        Gap::Beside { side: at, text, line } => format!("in {thread} {} `{text}` of line {line}", side(*at)),
        Gap::Line { side: at, line } => format!("in {thread} {} line {line}", side(*at)),
        Gap::Anywhere => format!("in {thread}"),
    }
}

pub(super) fn side(side: Side) -> &'static str {
    match side {
        Side::Before => "before",
        Side::Behind => "after",
    }
}

/// What two threads share that have this scope in common.
pub(super) fn shared(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "a CTA",
        Scope::Cluster => "a cluster",
        Scope::Gpu => "a GPU",
        Scope::Sys => "the system",
    }
}

pub(super) fn memory(memory: Memory) -> &'static str {
    match memory {
        Memory::Shared => "shared memory",
        Memory::Global => "global memory",
    }
}
