//! Rules about mbarriers, barriers, fences and launches that the text alone shows broken, or probably so: no exploration is
//! needed. A lint changes no verdict.

pub(crate) mod barriers;
mod divergence;
mod groups;
mod places;
pub(crate) mod unwritten;

use fencepost_syntax::Span;
use fencepost_syntax::litmus::{Declaration, Dialect, Litmus, Statement};
use fencepost_syntax::sorted::SharedSort as _;

use crate::ids::LocationId;
use crate::lower::builder::ThreadBuilder;
use crate::lower::findings::Findings;
use crate::lower::launch::Launches;
use crate::lower::names::Names;
use crate::program::asynchronous::{Action, Family};
use crate::program::lint::{Lint, LintKind};
use crate::program::{
    AddressOperand, Cover, FenceCover, Instruction, LocationRole, Operation, Place, Scope, Space, Version,
};
use crate::sections;
use crate::table::modifier::spelled;
use crate::table::target::{Target, lacks};
use crate::tag::{Tag, Tags};

const MBARRIER: &str = sections::MBARRIER;
const FENCE: &str = sections::FENCE;

/// What the lints look at.
pub(crate) struct Text<'a> {
    pub(crate) names: &'a Names,
    pub(crate) threads: &'a [Box<ThreadBuilder>],
    pub(crate) launches: &'a Launches,
    pub(crate) version: Version,
    pub(crate) litmus: &'a Litmus,
}

pub(crate) fn collect(text: &Text<'_>, findings: &mut Findings) -> Vec<Lint> {
    let mut floors = std::mem::take(&mut findings.floors);
    // Of an instruction whose form and words came with several versions, the newest.
    floors.shared_sort_by_key(|floor| (floor.span.start, std::cmp::Reverse(floor.since)));
    floors.dedup_by_key(|floor| floor.span.start);
    for floor in floors.iter().filter(|floor| floor.since > text.version) {
        let what = LintKind::Newer { form: floor.what.clone(), since: floor.since, stated: text.version };
        findings.lint(floor.span, what, floor.section);
    }
    for thread in text.threads {
        for (at, code) in thread.code.iter().enumerate() {
            text.remote_scope(thread, code, findings);
            relaxed_wait(thread, at, code, findings);
            text.empty_cover(thread, code, findings);
            text.places(thread, code, findings);
        }
        growing_allocations(thread, findings);
        groups::collect(thread, findings);
    }
    text.unawaited(findings);
    text.targets(findings);
    for thread in text.litmus.threads.iter().filter(|thread| text.litmus.dialect_of(thread) == Dialect::Ptx) {
        divergence::collect(&thread.body, findings);
    }
    let mut lints = std::mem::take(&mut findings.lints);
    lints.shared_sort_by_key(|lint| (lint.span.start, lint.span.end));
    lints.dedup();
    lints
}

/// A CTA that has allocated columns of tensor memory asks for no more columns at once later (PTX ISA 9.7.18.7.1).
fn growing_allocations(thread: &ThreadBuilder, findings: &mut Findings) {
    let mut least: Option<u32> = None;
    for code in &thread.code {
        let Operation::Async(operation) = &code.operation else { continue };
        let Action::Allocate { count: Some(count), .. } = operation.action else { continue };
        if let Some(before) = least.filter(|before| *before < count) {
            findings.lint(code.span, LintKind::GrowingAllocation { count, before }, sections::TCGEN05_ALLOC);
        }
        least = Some(least.map_or(count, |before| before.min(count)));
    }
}

impl Text<'_> {
    /// Instructions that the named target does not have.
    fn targets(&self, findings: &mut Findings) {
        let named = self.litmus.declarations.iter().find_map(|declaration| match &declaration.node {
            Declaration::Target { targets } => {
                targets.iter().find_map(|name| Some((Target::parse(&name.node)?, &name.node)))
            }
            _ => None,
        });
        let Some((target, name)) = named else { return };
        let threads = self.litmus.threads.iter().filter(|thread| self.litmus.dialect_of(thread) == Dialect::Ptx);
        for statement in threads.flat_map(|thread| &thread.body) {
            let Statement::Instruction { instruction, .. } = statement else { continue };
            if let Some((needed, section)) = lacks(instruction, target) {
                let what = LintKind::TargetLacks { form: spelled(instruction), needed, target: name.clone() };
                findings.lint(instruction.span(), what, section);
            }
        }
    }

    /// The location an operand names, where the text shows it.
    fn location(&self, thread: &ThreadBuilder, address: &AddressOperand) -> Option<LocationId> {
        let address = match address {
            AddressOperand::Static(address) => *address,
            AddressOperand::Register(register) => thread.fixed_address(*register)?,
        };
        Some(self.names.addresses[address.index()].location)
    }

    fn owner(&self, location: LocationId) -> Option<Place> {
        self.names.locations[location.index()].owner
    }

    /// An arrive that another CTA waits for, or a wait for one, needs `.cluster` on both sides (PTX ISA 8.5): the counting
    /// works without, the ordering does not.
    fn remote_scope(&self, thread: &ThreadBuilder, code: &Instruction, findings: &mut Findings) {
        match &code.operation {
            Operation::ReadModifyWrite { address, write_tags, scope: Some(Scope::Cta), .. }
                if publishes(*write_tags) =>
            {
                let owner = self.location(thread, address).and_then(|location| self.owner(location));
                if owner.is_some_and(|owner| owner != thread.place) {
                    findings.lint(code.span, LintKind::RemoteArriveScope, MBARRIER);
                }
            }
            Operation::MbarrierWait(wait) if wait.scope == Some(Scope::Cta) && wait.answered_yes.has(Tag::Acquire) => {
                let location = self.location(thread, &wait.address);
                if location.is_some_and(|location| self.is_reached_from_elsewhere(thread.place, location)) {
                    findings.lint(code.span, LintKind::RemoteWaitScope, MBARRIER);
                }
            }
            _ => {}
        }
    }

    fn is_reached_from_elsewhere(&self, place: Place, location: LocationId) -> bool {
        let mut others = self.threads.iter().filter(|other| other.place != place);
        others.any(|other| {
            other.code.iter().any(|code| match &code.operation {
                Operation::ReadModifyWrite { address, write_tags, .. } if publishes(*write_tags) => {
                    self.location(other, address) == Some(location)
                }
                _ => false,
            })
        })
    }

    /// A proxy fence about a state space in which the test has nothing, and the acquire of a map that is not global.
    fn empty_cover(&self, thread: &ThreadBuilder, code: &Instruction, findings: &mut Findings) {
        let Operation::Fence { cover, tags, .. } = &code.operation else { return };
        let is_in = |wanted: fn(Option<Space>) -> bool| {
            self.names
                .locations
                .iter()
                .any(|location| location.role != LocationRole::Mbarrier && wanted(location.space))
        };
        let missing = match cover {
            FenceCover::Fixed(Cover::Global) => {
                (!is_in(|space| space.is_none_or(|space| space == Space::Global))).then_some(Space::Global)
            }
            FenceCover::Fixed(Cover::SharedCta | Cover::SharedCluster) => {
                (!is_in(|space| space == Some(Space::Shared))).then_some(Space::Shared)
            }
            FenceCover::Fixed(Cover::Everything | Cover::Locations(_)) => None,
            FenceCover::TensorMap(map) => {
                let space =
                    self.location(thread, map).and_then(|location| self.names.locations[location.index()].space);
                if space.is_some_and(|space| space != Space::Global) {
                    findings.lint(code.span, LintKind::MapNotGlobal, FENCE);
                }
                None
            }
        };
        if let Some(space) = missing.filter(|_| tags.has(Tag::ProxyFence)) {
            findings.lint(code.span, LintKind::FenceOfNothing { space }, FENCE);
        }
    }

    /// A kernel that lets its dependents start early is one they must wait for (PTX ISA 9.7.15.14).
    fn unawaited(&self, findings: &mut Findings) {
        let marked = |kernel, tag: Tag| -> Option<Span> {
            let own = self.threads.iter().zip(&self.launches.kernels).filter(|(_, own)| **own == Some(kernel));
            let mut code = own.flat_map(|(thread, _)| &thread.code);
            code.find_map(|code| match code.operation {
                Operation::Mark { tags, .. } if tags.has(tag) => Some(code.span),
                _ => None,
            })
        };
        for &(first, second) in &self.launches.dependents {
            let trigger = marked(first, Tag::LaunchDependents);
            if let Some(span) = trigger.filter(|_| marked(second, Tag::GridWait).is_none()) {
                findings.lint(span, LintKind::Unawaited { kernel: second.0 }, sections::GRIDDEPCONTROL);
            }
        }
    }
}

/// A releasing operation on an mbarrier.
fn publishes(tags: Tags) -> bool {
    tags.has(Tag::Mbarrier) && tags.has(Tag::Release)
}

/// A relaxed wait orders nothing by itself; an acquire fence behind it does, and the fences of `tcgen05` do for its
/// operations.
fn relaxed_wait(thread: &ThreadBuilder, at: usize, code: &Instruction, findings: &mut Findings) {
    let Operation::MbarrierWait(wait) = &code.operation else { return };
    if !wait.answered_yes.has(Tag::Relaxed) {
        return;
    }
    let acquires = |later: &Instruction| match &later.operation {
        Operation::Fence { tags, .. } => [Tag::Acquire, Tag::AcqRel, Tag::Sc].into_iter().any(|tag| tags.has(tag)),
        _ => false,
    };
    let later = thread.code[at..].iter().take_while(|later| !acquires(later));
    if later.into_iter().any(is_data_access) {
        findings.lint(code.span, LintKind::RelaxedWait, MBARRIER);
    }
}

/// An access to memory that is neither to an mbarrier nor one of `tcgen05`.
fn is_data_access(code: &Instruction) -> bool {
    match &code.operation {
        Operation::Load { tags, .. }
        | Operation::Store { tags, .. }
        | Operation::VectorLoad { tags, .. }
        | Operation::VectorStore { tags, .. }
        | Operation::ReadModifyWrite { write_tags: tags, .. } => !tags.has(Tag::Mbarrier),
        Operation::VectorUpdate(_) => true,
        Operation::Async(operation) => {
            operation.family != Family::Tcgen05 && matches!(operation.action, Action::Start(_))
        }
        _ => false,
    }
}
