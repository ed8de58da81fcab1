//! Rules of the ISA that a program breaks on its own, whatever memory does, and what is probably a mistake: what lowering,
//! unfolding and the examination of mbarriers noticed. Each kind has a name that stays (`docs/findings.md`).

use fencepost_program::program::lint::{GroupKind, LintKind};
use fencepost_program::program::{Space, Version};
use fencepost_program::sections;
use fencepost_program::unfolding::HazardKind;
use fencepost_report::finding::FindingKind;
use fencepost_report::misuse::Misuse;
use fencepost_report::site::{Memory, ThreadName};
use fencepost_report::warning::{self, RunRule, TextRule, Warned};
use fencepost_report::{Place, Warning};
use fencepost_syntax::Span;
use fencepost_syntax::sorted::SharedSort as _;

use crate::judge::found::Answers;
use crate::look::race::RaceKey;
use crate::test::Test;

/// In the order of the text, each once.
pub(crate) fn gather(test: &Test, answers: &Answers) -> Vec<Warning> {
    let place = |span: Span| {
        let position = test.source.position(span.start);
        Place { start: span.start, end: span.end, line: position.line, column: position.column }
    };
    let warning = |name: &str, (first, second): (Span, Span), what: Warned, section: &str| {
        let Place { start, end, line, column } = place(first);
        let other = Some(place(second)).filter(|other| (other.line, other.column) != (line, column));
        let (name, section) = (name.to_owned(), section.to_owned());
        Warning { name, message: String::new(), what: Some(what), section, start, end, line, column, other }
    };
    let mut warnings = Vec::new();
    for lint in &test.program.lints {
        let what = Warned::Text(text_rule(&lint.what));
        warnings.push(warning(lint.what.name(), (lint.span, lint.span), what, lint.section));
    }
    for hazard in &answers.hazards {
        let (name, what, section) = run_rule(test, hazard.kind);
        warnings.push(warning(name, (hazard.first, hazard.second), what, section));
    }
    for key in answers.flagged().filter(|key| !key.is_pair()) {
        let what = Warned::Flag { flag: key.flag.clone(), kind: key.kind };
        warnings.push(warning(&key.flag, (key.first, key.second), what, section_of_flag(key)));
    }
    let errors = answers.broken.iter().flat_map(|broken| &broken.set.errors);
    for (key, example) in errors.filter(|(key, _)| !key.kind.is_error()) {
        let name = test.program.locations.get(key.location.index()).map_or("an mbarrier", |found| found.name.as_str());
        // The only one that is no error.
        let Misuse::BytesUnexpected { phase, bytes } = example.misuse else { continue };
        let what = Warned::BytesUnexpected { mbarrier: name.to_owned(), phase, bytes };
        warnings.push(warning(key.kind.name(), (key.span, key.span), what, key.kind.section()));
    }
    for torn in &answers.torn {
        let what = Warned::Torn(torn.what.clone());
        warnings.push(warning(torn.name, (torn.span, torn.span), what, sections::ATOMICITY_AXIOM));
    }
    let mut each: Vec<Warning> = Vec::new();
    for warning in warnings {
        if !each.contains(&warning) {
            each.push(warning);
        }
    }
    each.shared_sort_by_key(|warning| (warning.line, warning.column));
    each
}

/// The section of the PTX ISA that a flag is about.
fn section_of_flag(key: &RaceKey) -> &'static str {
    match key.kind {
        FindingKind::AllocAfterRelinquish => sections::TCGEN05_ALLOC,
        _ => "",
    }
}

fn text_rule(lint: &LintKind) -> TextRule {
    match lint.clone() {
        LintKind::BarriersDiffer { what } => TextRule::BarriersDiffer { what },
        LintKind::Divergent { form } => TextRule::Divergent { form },
        LintKind::NothingStarted(kind) => TextRule::NothingStarted(group(kind)),
        LintKind::NothingCommitted(kind) => TextRule::NothingCommitted(group(kind)),
        LintKind::AllLeftInFlight { committed, left } => {
            TextRule::AllLeftInFlight { committed: committed as u64, left }
        }
        LintKind::Uncommitted(kind) => TextRule::Uncommitted(group(kind)),
        LintKind::ReadWaitPublishes => TextRule::ReadWaitPublishes,
        LintKind::Newer { form, since, stated } => {
            TextRule::Newer { form, since: version(since), stated: version(stated) }
        }
        LintKind::GrowingAllocation { count, before } => TextRule::GrowingAllocation { count, before },
        LintKind::TargetLacks { form, needed, target } => TextRule::TargetLacks { form, needed, target },
        LintKind::RemoteArriveScope => TextRule::RemoteArriveScope,
        LintKind::RemoteWaitScope => TextRule::RemoteWaitScope,
        LintKind::MapNotGlobal => TextRule::MapNotGlobal,
        LintKind::FenceOfNothing { space } => {
            let memory = if space == Space::Shared { Memory::Shared } else { Memory::Global };
            TextRule::FenceOfNothing { memory }
        }
        LintKind::Unawaited { kernel } => TextRule::Unawaited { kernel },
        LintKind::RelaxedWait => TextRule::RelaxedWait,
        LintKind::MisalignedMbarrier { address } => TextRule::MisalignedMbarrier { address },
        LintKind::MisalignedCopy { address, wanted } => TextRule::MisalignedCopy { address, wanted },
        LintKind::Unrecorded { event, recorded_behind, waits } => {
            TextRule::Unrecorded { event, recorded_behind, waits }
        }
        LintKind::OtherQuarter { warp, quarter } => TextRule::OtherQuarter { warp, quarter },
        LintKind::TwoQuarters { thread, quarter, other } => {
            TextRule::TwoQuarters { thread: ThreadName(thread), quarter, other }
        }
        LintKind::TensorMapSize { bytes } => TextRule::TensorMapSize { bytes },
        LintKind::ColumnCount => TextRule::ColumnCount,
    }
}

fn group(kind: GroupKind) -> warning::GroupKind {
    match kind {
        GroupKind::CpAsync => warning::GroupKind::CpAsync,
        GroupKind::Bulk => warning::GroupKind::Bulk,
        GroupKind::Wgmma => warning::GroupKind::Wgmma,
    }
}

fn version(version: Version) -> warning::Version {
    warning::Version { major: version.major, minor: version.minor }
}

/// Its name, what it is about, and the section of the PTX ISA.
fn run_rule(test: &Test, kind: HazardKind) -> (&'static str, Warned, &'static str) {
    let (name, rule, section) = match kind {
        HazardKind::Misaligned { address, wanted } => {
            let address = test.program.addresses.get(address.index());
            let address = address.map_or("an address", |address| address.name.as_str()).to_owned();
            let lint = LintKind::MisalignedCopy { address, wanted: wanted.into() };
            return (lint.name(), Warned::Text(text_rule(&lint)), sections::ASYNC_COPY);
        }
        HazardKind::RegisterInFlight => {
            (FindingKind::WgmmaRegisterInFlight.word(), RunRule::RegisterInFlight, sections::WGMMA_MMA_ASYNC)
        }
        HazardKind::NoRegisterFence => {
            (FindingKind::WgmmaNoFence.word(), RunRule::NoRegisterFence, sections::WGMMA_FENCE)
        }
        HazardKind::ClusterArriveTwice => {
            (FindingKind::ClusterArriveTwice.word(), RunRule::ClusterArriveTwice, sections::BARRIER_CLUSTER)
        }
        HazardKind::ClusterWaitAlone => {
            (FindingKind::ClusterWaitAlone.word(), RunRule::ClusterWaitAlone, sections::BARRIER_CLUSTER)
        }
        HazardKind::Misplaced => (FindingKind::MisplacedOperand.word(), RunRule::Misplaced, sections::ASYNC_COPY),
        HazardKind::OutsideWindow => {
            (FindingKind::OutsideWindow.word(), RunRule::OutsideWindow, sections::SHARED_SPACE)
        }
        HazardKind::MbarrierElsewhere => ("mbarrier-elsewhere", RunRule::MbarrierElsewhere, sections::CP_ASYNC_BULK),
        HazardKind::UnpairedCollective => {
            ("unpaired-collective", RunRule::UnpairedCollective, sections::TCGEN05_ISSUE_GRANULARITY)
        }
        HazardKind::AllocAfterRelinquish => {
            (FindingKind::AllocAfterRelinquish.word(), RunRule::AllocAfterRelinquish, sections::TCGEN05_ALLOC)
        }
        HazardKind::DeallocatedCount => ("deallocated-count", RunRule::DeallocatedCount, sections::TCGEN05_ALLOC),
        HazardKind::NeverDeallocated => ("never-deallocated", RunRule::NeverDeallocated, sections::TCGEN05_ALLOC),
        HazardKind::MixedCtaGroup => ("mixed-cta-group", RunRule::MixedCtaGroup, sections::TCGEN05_ISSUE_GRANULARITY),
    };
    (name, Warned::Run(rule), section)
}
