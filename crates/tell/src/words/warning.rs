//! Warnings as sentences.

use fencepost_check::phrase::listed;
use fencepost_report::Warning;
use fencepost_report::finding::FindingKind;
use fencepost_report::site::Memory;
use fencepost_report::warning::{GroupKind, NotCut, Racing, RunRule, TakenBytes, TextRule, Torn, Warned};
use fencepost_syntax::sorted::SharedSort as _;

use super::unknown;

/// Fills the messages where there is data to make them from. Warnings of one place are sorted by what they say.
pub(super) fn fill(warnings: &mut [Warning]) {
    for warning in warnings.iter_mut() {
        if let Some(what) = &warning.what {
            warning.message = text(what);
        }
    }
    warnings.shared_sort_by(|a, b| (a.line, a.column, &a.message).cmp(&(b.line, b.column, &b.message)));
}

fn text(what: &Warned) -> String {
    match what {
        Warned::Text(rule) => text_rule(rule),
        Warned::Run(rule) => run_rule(rule).to_owned(),
        Warned::Flag { kind: FindingKind::AllocAfterRelinquish, .. } => {
            "tcgen05.alloc comes after another thread's tcgen05.relinquish_alloc_permit".to_owned()
        }
        Warned::Flag { flag, .. } => format!("the model flags `{flag}`"),
        Warned::BytesUnexpected { mbarrier, phase, bytes } => {
            format!("{mbarrier} gets {bytes} bytes in phase {phase}, which nobody expects or waits for")
        }
        Warned::Torn(torn) => torn_value(torn),
    }
}

fn text_rule(rule: &TextRule) -> String {
    match rule {
        TextRule::BarriersDiffer { what } => what.clone(),
        TextRule::Divergent { form } => format!(
            "{form} is `.aligned`, for all threads of a warp together, and only some lanes of the warp come here"
        ),
        TextRule::NothingStarted(kind) => format!(
            "this thread has started no {}: groups are counted per thread, so it waits for nothing",
            operation(*kind)
        ),
        TextRule::NothingCommitted(kind) => {
            format!("nothing was committed with {} before this wait, so it waits for nothing", commit(*kind))
        }
        TextRule::AllLeftInFlight { committed, left } => format!(
            "no more than {committed} groups are committed here, and the wait leaves {left} in flight: it waits for nothing"
        ),
        TextRule::Uncommitted(kind) => format!("no {} follows, so no wait covers this operation", commit(*kind)),
        TextRule::ReadWaitPublishes => {
            "`.read` waits until the sources are read; what follows releases to the GPU, and the destinations may not be \
             written yet"
                .to_owned()
        }
        TextRule::Newer { form, since, stated } => format!(
            "{form} came with PTX {}.{}, and the text says `.version {}.{}`",
            since.major, since.minor, stated.major, stated.minor
        ),
        TextRule::GrowingAllocation { count, before } => {
            format!("{count} columns of tensor memory are allocated after {before}: the number must not increase")
        }
        TextRule::TargetLacks { form, needed, target } => {
            format!("{form} needs {needed}, and the text says `.target {target}`")
        }
        TextRule::RemoteArriveScope => {
            "an arrive on the mbarrier of another CTA orders nothing with scope `.cta`: write `.release.cluster`".to_owned()
        }
        TextRule::RemoteWaitScope => {
            "another CTA arrives on this mbarrier, and a wait with scope `.cta` acquires nothing from it: write \
             `.acquire.cluster`"
                .to_owned()
        }
        TextRule::MapNotGlobal => "a tensor map that is acquired must be in global memory".to_owned(),
        TextRule::FenceOfNothing { memory } => {
            let space = match memory {
                Memory::Shared => "shared",
                Memory::Global => "global",
            };
            format!("this fence is about {space} memory, of which the test accesses none")
        }
        TextRule::Unawaited { kernel } => {
            format!("kernel {kernel} may start here, and has no `griddepcontrol.wait` for what follows")
        }
        TextRule::RelaxedWait => {
            "a relaxed wait acquires nothing, and memory is accessed after it without an acquire fence".to_owned()
        }
        TextRule::MisalignedMbarrier { address } => {
            format!("`{address}` is not aligned: the address of an mbarrier is a multiple of 8 bytes")
        }
        TextRule::MisalignedCopy { address, wanted } => {
            format!("`{address}` is not aligned: this copy wants addresses that are multiples of {wanted} bytes")
        }
        TextRule::Unrecorded { event, recorded_behind: first, waits } => format!(
            "kernel {waits} waits for event `{event}` before it is recorded (after kernel {first}, which is launched later), \
             and so for nothing: launch kernel {first} first"
        ),
        TextRule::OtherQuarter { warp, quarter } => format!(
            "warp {warp} reaches {} of tensor memory, and this address is of {}",
            lanes(warp % 4),
            lanes(i128::from(*quarter))
        ),
        TextRule::TwoQuarters { thread, quarter, other } => format!(
            "a warp reaches one quarter of the lanes of tensor memory, that of its number modulo 4: this address is of {}, \
             another that {} uses of {}",
            lanes(i128::from(*quarter)),
            thread.0,
            lanes(i128::from(*other))
        ),
        TextRule::TensorMapSize { bytes } => format!("a tensor map has 128 bytes, not {bytes}"),
        TextRule::ColumnCount => "columns of tensor memory are given in powers of two from 32 to 512".to_owned(),
    }
}

fn operation(kind: GroupKind) -> &'static str {
    match kind {
        GroupKind::CpAsync => "`cp.async`",
        GroupKind::Bulk => "bulk copy",
        GroupKind::Wgmma => "`wgmma`",
    }
}

fn commit(kind: GroupKind) -> &'static str {
    match kind {
        GroupKind::CpAsync => "`cp.async.commit_group`",
        GroupKind::Bulk => "`cp.async.bulk.commit_group`",
        GroupKind::Wgmma => "`wgmma.commit_group`",
    }
}

/// Of a quarter of tensor memory.
fn lanes(quarter: i128) -> String {
    format!("lanes {} to {}", 32 * quarter, 32 * quarter + 31)
}

fn run_rule(rule: &RunRule) -> &'static str {
    match rule {
        RunRule::RegisterInFlight => {
            "a register of a wgmma.mma_async is touched before a wgmma.wait_group that covers it"
        }
        RunRule::NoRegisterFence => {
            "no wgmma.fence stands before the first wgmma.mma_async, or between an access to a register and one that uses it"
        }
        RunRule::ClusterArriveTwice => "a thread arrives again at the barrier of the cluster before it waited",
        RunRule::ClusterWaitAlone => "a wait at the barrier of the cluster without an arrive since the last wait",
        RunRule::Misplaced => {
            "the destination or the mbarrier of an asynchronous operation lies in a CTA where it must not"
        }
        RunRule::OutsideWindow => "an access that says `.shared::cta` goes to the memory of another CTA",
        RunRule::MbarrierElsewhere => {
            "the mbarrier lies in another CTA than the destination, which no sentence of the ISA provides for"
        }
        RunRule::UnpairedCollective => {
            "a warp of each CTA of the pair performs this together (.cta_group::2), and the peer CTA may not perform it as \
             often: it may wait for good"
        }
        RunRule::AllocAfterRelinquish => "tcgen05.alloc follows tcgen05.relinquish_alloc_permit",
        RunRule::DeallocatedCount => {
            "tcgen05.dealloc returns another number of columns than tcgen05.alloc was asked for"
        }
        RunRule::NeverDeallocated => "tensor memory is allocated and no thread of the CTA deallocates it",
        RunRule::MixedCtaGroup => "two values of .cta_group are used in one kernel",
    }
}

fn torn_value(torn: &Torn) -> String {
    let how = match torn {
        Torn::NotSearched { location, race, why } => {
            let races = match race {
                Racing::Shown => "races",
                Racing::Possible => "may race",
            };
            return format!(
                "{location} {races}, and only a morally strong read is promised a whole value: mixtures of the bytes of several \
                 were not searched ({})",
                not_cut(why)
            );
        }
        Torn::Read { by, text, parts } => {
            let parts: Vec<String> = parts.iter().map(taken).collect();
            format!("{}'s `{text}` takes {}", by.0, listed(&parts.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        Torn::Final { location } => {
            format!("the final value of {location} is put together of the bytes of several writes")
        }
    };
    format!("the outcome needs a torn value: {how}; only morally strong accesses are whole")
}

/// "bytes 0-3 from P0's write in line 4".
fn taken(part: &TakenBytes) -> String {
    let TakenBytes { start, end, from } = part;
    let bytes = match end - start {
        1 => format!("byte {start}"),
        _ => format!("bytes {start}-{}", end.saturating_sub(1)),
    };
    match from {
        None => format!("{bytes} from the initial value"),
        Some(write) => format!("{bytes} from {}'s write in line {}", write.thread.0, write.line),
    }
}

fn not_cut(why: &NotCut) -> String {
    match why {
        NotCut::NoBytes { location } => format!("{location} has no bytes of its own"),
        NotCut::TensorMemory { location } => format!("{location} is tensor memory"),
        NotCut::UnknownInitialValues => "there are unknown initial values".to_owned(),
        NotCut::HoldsAddress { location } => format!("{location} holds an address"),
        NotCut::Asynchronous { location } => format!("an asynchronous operation accesses {location}"),
        NotCut::ValuesUnknown { location } => format!("the values of {location} are not known before the search"),
        NotCut::NoAddress { location } => format!("{location} has no address"),
        NotCut::NotOfText => "the program is not that of the text".to_owned(),
        NotCut::PartsDiffer => "its parts do not match".to_owned(),
        NotCut::Unsupported { what } => what.clone(),
        NotCut::NotConstant { condition } => format!("{condition} compares it with no constant"),
        NotCut::SignedOrder => "an order on memory with signed parts".to_owned(),
        NotCut::Refused(why) => why.as_deref().map_or_else(String::new, unknown::text),
    }
}

#[cfg(test)]
mod tests {
    use fencepost_report::warning::{Version, WriteLine};
    use fencepost_report::why::Why;

    use super::*;

    #[test]
    fn rules_of_the_text_have_these_words() {
        let [since, stated] = [6, 5].map(|minor| Version { major: 8, minor });
        let form = || "`x.y`".to_owned();
        let rules = [
            (TextRule::RelaxedWait, "without an acquire fence"),
            (TextRule::Unawaited { kernel: 1 }, "kernel 1 may start here"),
            (TextRule::RemoteArriveScope, "write `.release.cluster`"),
            (TextRule::RemoteWaitScope, "write `.acquire.cluster`"),
            (TextRule::FenceOfNothing { memory: Memory::Shared }, "about shared memory"),
            (TextRule::FenceOfNothing { memory: Memory::Global }, "about global memory"),
            (TextRule::MapNotGlobal, "must be in global memory"),
            (
                TextRule::Newer { form: form(), since, stated },
                "`x.y` came with PTX 8.6, and the text says `.version 8.5`",
            ),
            (
                TextRule::TargetLacks {
                    form: form(),
                    needed: "`sm_90` or newer".to_owned(),
                    target: "sm_80".to_owned(),
                },
                "`x.y` needs `sm_90` or newer, and the text says `.target sm_80`",
            ),
            (TextRule::TensorMapSize { bytes: 64 }, "a tensor map has 128 bytes, not 64"),
            (TextRule::OtherQuarter { warp: 5, quarter: 3 }, "warp 5 reaches lanes 32 to 63 of tensor memory"),
            (TextRule::NothingStarted(GroupKind::Bulk), "has started no bulk copy"),
            (TextRule::Uncommitted(GroupKind::Wgmma), "no `wgmma.commit_group` follows"),
        ];
        for (rule, words) in rules {
            let said = text(&Warned::Text(rule));
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn torn_values_have_these_words() {
        let why = NotCut::Refused(Some(Box::new(Why::Time)));
        let not_searched = Torn::NotSearched { location: "x".to_owned(), race: Racing::Possible, why };
        let said = text(&Warned::Torn(not_searched));
        assert!(said.starts_with("x may race, ") && said.ends_with("(the time limit was reached)"), "{said}");
        let [by, thread] = ["P1", "P0"].map(|name| fencepost_report::site::ThreadName(name.to_owned()));
        let parts = vec![
            TakenBytes { start: 0, end: 1, from: None },
            TakenBytes { start: 1, end: 4, from: Some(WriteLine { thread, line: 3 }) },
        ];
        let said = text(&Warned::Torn(Torn::Read { by, text: "ld.u32 %a, [x]".to_owned(), parts }));
        let taken = "P1's `ld.u32 %a, [x]` takes byte 0 from the initial value and bytes 1-3 from P0's write in line 3";
        assert_eq!(said, format!("the outcome needs a torn value: {taken}; only morally strong accesses are whole"));
    }
}
