//! Rules of the ISA that a program breaks on its own, whatever memory does, and what is probably a mistake: what lowering,
//! unfolding and the examination of mbarriers noticed, in words. Each kind has a name that stays (`docs/findings.md`).

use fencepost_program::program::Lint;
use fencepost_program::sections;
use fencepost_program::unfolding::HazardKind;
use fencepost_report::finding::FindingKind;
use fencepost_report::misuse::Misuse;
use fencepost_report::{Place, Warning};
use fencepost_syntax::Span;

use crate::judge::found::Answers;
use crate::look::race::RaceKey;
use crate::test::Test;

/// In the order of the text, each once.
pub(crate) fn gather(test: &Test, answers: &Answers) -> Vec<Warning> {
    let place = |span: Span| {
        let position = test.source.position(span.start);
        Place { start: span.start, end: span.end, line: position.line, column: position.column }
    };
    let warning = |name: &str, (first, second): (Span, Span), message: String, section: &str| {
        let Place { start, end, line, column } = place(first);
        let other = Some(place(second)).filter(|other| (other.line, other.column) != (line, column));
        Warning { name: name.to_owned(), message, section: section.to_owned(), start, end, line, column, other }
    };
    let mut warnings = Vec::new();
    for lint in &test.program.lints {
        warnings.push(warning(lint.name, (lint.span, lint.span), lint.message.clone(), lint.section));
    }
    for hazard in &answers.hazards {
        let (name, message, section) = match hazard.kind {
            HazardKind::Misaligned { address, wanted } => {
                let address = test.program.addresses.get(address.index());
                Lint::misaligned(address.map_or("an address", |address| address.name.as_str()), wanted.into())
            }
            kind => {
                let (name, message, section) = describe(kind);
                (name, message.to_owned(), section)
            }
        };
        warnings.push(warning(name, (hazard.first, hazard.second), message, section));
    }
    for key in answers.flagged().filter(|key| !key.is_pair()) {
        let (message, section) = flag(key);
        warnings.push(warning(&key.flag, (key.first, key.second), message, section));
    }
    let errors = answers.broken.iter().flat_map(|broken| &broken.set.errors);
    for (key, example) in errors.filter(|(key, _)| !key.kind.is_error()) {
        let name = test.program.locations.get(key.location.index()).map_or("an mbarrier", |found| found.name.as_str());
        // The only one that is no error.
        let Misuse::BytesUnexpected { phase, bytes } = example.misuse else { continue };
        let message = format!("{name} gets {bytes} bytes in phase {phase}, which nobody expects or waits for");
        warnings.push(warning(key.kind.name(), (key.span, key.span), message, key.kind.section()));
    }
    for torn in &answers.torn {
        warnings.push(warning(torn.name, (torn.span, torn.span), torn.message.clone(), sections::ATOMICITY_AXIOM));
    }
    warnings.sort_by(|a, b| (a.line, a.column, &a.message).cmp(&(b.line, b.column, &b.message)));
    warnings.dedup();
    warnings
}

/// What a flag that is no race says, with the section of the PTX ISA if it is one of a shipped model.
fn flag(key: &RaceKey) -> (String, &'static str) {
    match key.kind {
        FindingKind::AllocAfterRelinquish => {
            let message = "tcgen05.alloc comes after another thread's tcgen05.relinquish_alloc_permit";
            (message.to_owned(), sections::TCGEN05_ALLOC)
        }
        _ => (format!("the model flags `{}`", key.flag), ""),
    }
}

/// Its name, in words, and the section of the PTX ISA.
fn describe(kind: HazardKind) -> (&'static str, &'static str, &'static str) {
    match kind {
        HazardKind::RegisterInFlight => (
            FindingKind::WgmmaRegisterInFlight.word(),
            "a register of a wgmma.mma_async is touched before a wgmma.wait_group that covers it",
            sections::WGMMA_MMA_ASYNC,
        ),
        HazardKind::NoRegisterFence => (
            FindingKind::WgmmaNoFence.word(),
            "no wgmma.fence stands before the first wgmma.mma_async, or between an access to a register and one that uses it",
            sections::WGMMA_FENCE,
        ),
        HazardKind::ClusterArriveTwice => (
            FindingKind::ClusterArriveTwice.word(),
            "a thread arrives again at the barrier of the cluster before it waited",
            sections::BARRIER_CLUSTER,
        ),
        HazardKind::ClusterWaitAlone => (
            FindingKind::ClusterWaitAlone.word(),
            "a wait at the barrier of the cluster without an arrive since the last wait",
            sections::BARRIER_CLUSTER,
        ),
        HazardKind::Misplaced => (
            FindingKind::MisplacedOperand.word(),
            "the destination or the mbarrier of an asynchronous operation lies in a CTA where it must not",
            sections::ASYNC_COPY,
        ),
        HazardKind::OutsideWindow => (
            FindingKind::OutsideWindow.word(),
            "an access that says `.shared::cta` goes to the memory of another CTA",
            sections::SHARED_SPACE,
        ),
        HazardKind::MbarrierElsewhere => (
            "mbarrier-elsewhere",
            "the mbarrier lies in another CTA than the destination, which no sentence of the ISA provides for",
            sections::CP_ASYNC_BULK,
        ),
        HazardKind::UnpairedCollective => (
            "unpaired-collective",
            "a warp of each CTA of the pair performs this together (.cta_group::2), and the peer CTA may not perform it as often: \
             it may wait for good",
            sections::TCGEN05_ISSUE_GRANULARITY,
        ),
        HazardKind::AllocAfterRelinquish => (
            FindingKind::AllocAfterRelinquish.word(),
            "tcgen05.alloc follows tcgen05.relinquish_alloc_permit",
            sections::TCGEN05_ALLOC,
        ),
        HazardKind::DeallocatedCount => (
            "deallocated-count",
            "tcgen05.dealloc returns another number of columns than tcgen05.alloc was asked for",
            sections::TCGEN05_ALLOC,
        ),
        HazardKind::NeverDeallocated => (
            "never-deallocated",
            "tensor memory is allocated and no thread of the CTA deallocates it",
            sections::TCGEN05_ALLOC,
        ),
        HazardKind::MixedCtaGroup => {
            ("mixed-cta-group", "two values of .cta_group are used in one kernel", sections::TCGEN05_ISSUE_GRANULARITY)
        }
        HazardKind::Misaligned { .. } => ("misaligned", "an address of this copy is not aligned", sections::ASYNC_COPY),
    }
}
