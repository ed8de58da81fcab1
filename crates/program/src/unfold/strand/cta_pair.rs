//! What the two CTAs of a pair do together: `tcgen05.alloc`, `dealloc` and `relinquish_alloc_permit` of `.cta_group::2` are
//! performed by one warp of each, and the first may block until the other comes (PTX ISA 9.7.18.5).

use fencepost_syntax::Span;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::ids::ThreadId;
use crate::program::{Place, Program};
use crate::unfold::strand::allocation::{Collective, Life};
use crate::unfolding::placement;
use crate::unfolding::{Hazard, HazardKind, Unfolding};

/// How often a CTA does each.
type Counts = SortedMap<Collective, usize>;

/// Ways for a CTA to do them beyond which nothing is said.
const MOST_WAYS: usize = 64;

/// Notes what one CTA of a pair may do more often than the other. Where both may do it as often, in some runs or in others,
/// they are taken to agree on which: what a branch of each depends on is mostly the same.
pub(crate) fn unpaired(program: &Program, unfolding: &mut Unfolding, lives: &[Life]) {
    if lives.iter().all(|life| life.collective.is_empty()) {
        return;
    }
    let places: SortedSet<Place> = program.threads.iter().map(|thread| thread.place).collect();
    let clusters: SortedSet<Vec<Place>> = places.iter().map(|place| placement::cluster(program, *place)).collect();
    for pair in clusters.iter().flat_map(|ctas| ctas.chunks(2)) {
        let (Some(first), second) = (pair.first(), pair.get(1)) else { continue };
        let (Some(ours), Some(theirs)) = (ways(program, lives, Some(*first)), ways(program, lives, second.copied()))
        else {
            continue;
        };
        for kind in [Collective::Allocate, Collective::Deallocate, Collective::Relinquish] {
            let often = |ways: &SortedSet<Counts>| -> SortedSet<usize> {
                ways.iter().map(|counts| counts.get(&kind).copied().unwrap_or(0)).collect()
            };
            let (ours, theirs) = (often(&ours), often(&theirs));
            if ours == theirs {
                continue;
            }
            let more = if ours.last() >= theirs.last() { Some(first) } else { second };
            let done = lives.iter().filter(|life| more == Some(&program.threads[life.thread.index()].place));
            let mut done = done.flat_map(|life| life.collective.iter().map(move |(of, span)| (life.trace, *of, *span)));
            if let Some((trace, _, span)) = done.find(|(_, of, _)| *of == kind) {
                unfolding.hazards.push(Hazard {
                    kind: HazardKind::UnpairedCollective,
                    first: span,
                    second: span,
                    trace,
                });
            }
        }
    }
}

/// How often the threads of a CTA may do each together; None where that is not known, because a thread never ends or there
/// are too many ways. A CTA that is not there does nothing.
fn ways(program: &Program, lives: &[Life], cta: Option<Place>) -> Option<SortedSet<Counts>> {
    let mut found = SortedSet::from([Counts::new()]);
    let threads = program.threads.iter().enumerate().filter(|(_, thread)| Some(thread.place) == cta);
    for (thread, _) in threads {
        let thread = ThreadId::new(thread);
        let own: SortedSet<Counts> =
            lives.iter().filter(|life| life.thread == thread).map(|life| counted(&life.collective)).collect();
        let sum = |before: &Counts, more: &Counts| {
            let mut sum = before.clone();
            more.iter().for_each(|(kind, count)| *sum.entry(*kind).or_default() += count);
            sum
        };
        found = found.iter().flat_map(|before| own.iter().map(move |more| sum(before, more))).collect();
        if found.is_empty() || found.len() > MOST_WAYS {
            return None;
        }
    }
    Some(found)
}

fn counted(done: &[(Collective, Span)]) -> Counts {
    let mut counts = Counts::new();
    done.iter().for_each(|(kind, _)| *counts.entry(*kind).or_default() += 1);
    counts
}
