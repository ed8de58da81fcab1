//! Rules of the ISA that a program breaks on its own, whatever memory does: what lowering and unfolding noticed, in words.

use fencepost_program::unfolding::{HazardKind, Unfolding};

use crate::race::RaceSet;
use crate::report::{Place, Warning};
use crate::test::Test;

/// In the order of the text, each once.
pub(crate) fn gather(test: &Test, unfolding: Option<&Unfolding>, flagged: &RaceSet) -> Vec<Warning> {
    let place = |span: fencepost_syntax::Span| {
        let position = test.source.position(span.start);
        Place { line: position.line, column: position.column }
    };
    let mut warnings = Vec::new();
    for lint in &test.program.lints {
        let Place { line, column } = place(lint.span);
        let (message, section) = (lint.message.clone(), lint.section.to_owned());
        warnings.push(Warning { message, section, line, column, other: None });
    }
    for hazard in unfolding.into_iter().flat_map(|unfolding| &unfolding.hazards) {
        let (message, section) = describe(hazard.kind);
        let Place { line, column } = place(hazard.first);
        let other = (hazard.first != hazard.second).then(|| place(hazard.second));
        warnings.push(Warning { message: message.to_owned(), section: section.to_owned(), line, column, other });
    }
    for key in flagged.races.keys().filter(|key| !key.is_race()) {
        let Place { line, column } = place(key.first);
        let (message, section) = flag(&key.flag);
        let other = Some(place(key.second)).filter(|other| (other.line, other.column) != (line, column));
        warnings.push(Warning { message, section: section.to_owned(), line, column, other });
    }
    warnings.sort_by(|a, b| (a.line, a.column, &a.message).cmp(&(b.line, b.column, &b.message)));
    warnings.dedup();
    warnings
}

/// What a flag that is no race says, with the section of the PTX ISA if it is one of a shipped model.
fn flag(name: &str) -> (String, &'static str) {
    match name {
        "exit-before-access" => {
            let message = "shared memory is accessed from outside its CTA, and nothing keeps the CTA from exiting before that: end with a cluster barrier (a relaxed arrive is enough)";
            (message.to_owned(), "9.7.15.3")
        }
        "alloc-after-relinquish" => {
            let message = "tcgen05.alloc comes after another thread's tcgen05.relinquish_alloc_permit";
            (message.to_owned(), "9.7.18.7.1")
        }
        other => (format!("the model flags `{other}`"), ""),
    }
}

/// In words, with the section of the PTX ISA.
fn describe(kind: HazardKind) -> (&'static str, &'static str) {
    match kind {
        HazardKind::RegisterInFlight => {
            ("a register of a wgmma.mma_async is touched before a wgmma.wait_group that covers it", "9.7.17.5.2")
        }
        HazardKind::NoRegisterFence => (
            "no wgmma.fence stands before the first wgmma.mma_async, or between an access to a register and one that uses it",
            "9.7.17.5.2",
        ),
        HazardKind::AllocAfterRelinquish => ("tcgen05.alloc follows tcgen05.relinquish_alloc_permit", "9.7.18.7.1"),
        HazardKind::NeverDeallocated => {
            ("tensor memory is allocated and no thread of the CTA deallocates it", "9.7.18.7.1")
        }
        HazardKind::MixedCtaGroup => ("two values of .cta_group are used in one kernel", "9.7.18.5"),
    }
}
