//! What would remove a race: an instruction put into the text of the module, and checked by running the changed kernel.

use crate::check::{Limits, check};
use crate::code::op::{Op, Pc};
use crate::code::{self, Entry};
use crate::launch::Launch;
use crate::order::record::Path;
use crate::order::{Domain, Race, Why};
use crate::report::Finding;

/// A line to be put in before the instruction at this place of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Insertion {
    /// Byte offset of the start of a line.
    pub at: usize,
    /// Before this instruction.
    pub pc: Pc,
    pub text: String,
}

/// An insertion with which the race is gone and nothing else is wrong that was not wrong before.
pub fn mend(
    text: &str,
    entry: &Entry,
    launch: &Launch,
    limits: &Limits,
    all: &[Finding],
    race: &Race,
) -> Option<Insertion> {
    for candidate in candidates(text, entry, race) {
        let mut changed = text.to_owned();
        changed.insert_str(candidate.at, &candidate.text);
        let (tree, diagnostics) = fencepost_syntax::ptx::parse(&changed);
        if !diagnostics.is_empty() {
            continue;
        }
        let (module, _) = code::decode(&tree);
        let Some(mended) = module.entries.iter().find(|own| own.name == entry.name) else { continue };
        let report = check(&module, mended, launch, limits);
        let still = report.findings.iter().any(|finding| is_same(finding, race, &candidate));
        if !still && report.findings.len() < all.len() {
            return Some(candidate);
        }
    }
    None
}

/// Whether a finding of the changed kernel is the race, whose instructions may have moved by one.
fn is_same(finding: &Finding, race: &Race, candidate: &Insertion) -> bool {
    let moved = |pc: Pc| if pc >= candidate.pc { pc + 1 } else { pc };
    match finding {
        Finding::Race { race: other, .. } => {
            other.first.pc == moved(race.first.pc) && other.second.pc == moved(race.second.pc)
        }
        Finding::Hang { .. } => true,
        _ => false,
    }
}

fn candidates(text: &str, entry: &Entry, race: &Race) -> Vec<Insertion> {
    let about = match race.region.domain() {
        Domain::Global => ".global",
        Domain::Shared(_) => ".shared::cta",
        Domain::Mapped(_) => ".shared::cluster",
    };
    let same_cta = race.first.cta == race.second.cta;
    let mut places: Vec<(Pc, String)> = Vec::new();
    match race.why {
        Why::ProxyFence => {
            let fence = format!("fence.proxy.async{about};");
            // Before the synchronisation that hands the access over; else right behind it.
            if let Some(pc) = next_release(entry, race.first.pc) {
                places.push((pc, fence.clone()));
            }
            places.push((race.first.pc + 1, fence.clone()));
            places.push((race.second.pc, fence));
        }
        Why::NotOrdered if same_cta && race.first.warp == race.second.warp => {
            places.push((race.second.pc, "bar.warp.sync -1;".to_owned()));
            places.push((race.second.pc, "bar.sync 0;".to_owned()));
        }
        Why::NotOrdered if same_cta => places.push((race.second.pc, "bar.sync 0;".to_owned())),
        Why::NotComplete => {
            let wait = match race.first.path {
                Path::GenericStrand(_) => Some("cp.async.wait_all;"),
                Path::Async(_) => Some("cp.async.bulk.wait_group 0;"),
                _ => None,
            };
            if let Some(wait) = wait {
                places.push((race.second.pc, wait.to_owned()));
                if let Some(pc) = previous_barrier(entry, race.second.pc) {
                    places.push((pc, wait.to_owned()));
                }
            }
        }
        _ => {}
    }
    places.into_iter().filter_map(|(pc, line)| insertion(text, entry, pc, &line)).collect()
}

/// The next barrier or arrival in the text behind an instruction.
fn next_release(entry: &Entry, after: Pc) -> Option<Pc> {
    let is_release = |op: &Op| {
        matches!(op, Op::Barrier { .. } | Op::MbarrierArrive { .. } | Op::ClusterArrive { .. } | Op::SyncWarp { .. })
    };
    let found = entry.code.iter().enumerate().skip(after as usize + 1).find(|(_, own)| is_release(&own.op));
    found.map(|(pc, _)| pc as Pc)
}

/// The barrier in the text before an instruction.
fn previous_barrier(entry: &Entry, before: Pc) -> Option<Pc> {
    let code = &entry.code[..before as usize];
    code.iter().rposition(|own| matches!(own.op, Op::Barrier { .. })).map(|pc| pc as Pc)
}

/// At the start of the line of an instruction.
fn insertion(text: &str, entry: &Entry, pc: Pc, line: &str) -> Option<Insertion> {
    let start = entry.code.get(pc as usize)?.span.start as usize;
    if pc as usize + 1 == entry.code.len() {
        return None;
    }
    let at = text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
    // A label or another instruction on the same line would come before it.
    if !text.get(at..start)?.trim().is_empty() {
        return None;
    }
    let indent = &text[at..start];
    Some(Insertion { at, pc, text: format!("{indent}{line}\n") })
}
