//! Groups of asynchronous operations (PTX ISA 9.7.10.28.3, 9.7.10.28.6, 9.7.17.7) that the text alone shows to be waited for
//! in vain. Groups are counted per thread: a wait is about what its own thread has started and committed.

use crate::lower::builder::ThreadBuilder;
use crate::lower::findings::Findings;
use crate::program::asynchronous::{Action, Completion, Covered, Family};
use crate::program::lint::{GroupKind, LintKind};
use crate::program::{Instruction, Operation, Scope};
use crate::sections;
use crate::tag::Tag;

struct Counted {
    family: Family,
    kind: GroupKind,
    section: &'static str,
}

const FAMILIES: &[Counted] = &[
    Counted { family: Family::CpAsync, kind: GroupKind::CpAsync, section: sections::CP_ASYNC_WAIT_GROUP },
    Counted { family: Family::Bulk, kind: GroupKind::Bulk, section: sections::CP_ASYNC_BULK_WAIT_GROUP },
    Counted { family: Family::Wgmma, kind: GroupKind::Wgmma, section: sections::WGMMA_SYNCHRONIZATION },
];

pub(crate) fn collect(thread: &ThreadBuilder, findings: &mut Findings) {
    if !thread.code.iter().any(|code| matches!(code.operation, Operation::Async(_))) {
        return;
    }
    for counted in FAMILIES {
        waits(thread, counted, findings);
    }
    read_wait(thread, findings);
}

fn action(code: &Instruction, family: Family) -> Option<&Action> {
    match &code.operation {
        Operation::Async(operation) if operation.family == family => Some(&operation.action),
        _ => None,
    }
}

/// Whether the thread jumps back: the text then does not show how often something was done before.
fn loops(thread: &ThreadBuilder) -> bool {
    thread.code.iter().enumerate().any(|(at, code)| match &code.operation {
        Operation::Branch { target } | Operation::BranchIf { target, .. } => target.0 as usize <= at,
        _ => false,
    })
}

fn waits(thread: &ThreadBuilder, counted: &Counted, findings: &mut Findings) {
    let actions = || thread.code.iter().map(|code| action(code, counted.family));
    let is_commit = |action: &Option<&Action>| matches!(action, Some(Action::Commit));
    let is_start = |action: &Option<&Action>| matches!(action, Some(Action::Start(_)));
    let is_wait = |action: &Option<&Action>| matches!(action, Some(Action::WaitGroup { .. }));
    let wide = loops(thread);
    for (at, code) in thread.code.iter().enumerate() {
        let Some(Action::WaitGroup { newest, .. }) = action(code, counted.family) else { continue };
        // The first rounds of an unrolled pipeline wait for nothing, and later ones do.
        // In a loop everything may have come before.
        let seen = if wide { thread.code.len() } else { at };
        let groups = actions().take(seen).filter(is_commit).count();
        let Counted { kind, section, .. } = counted;
        if !actions().take(seen).any(|action| is_start(&action)) {
            findings.lint(code.span, LintKind::NothingStarted(*kind), section);
        } else if groups == 0 {
            findings.lint(code.span, LintKind::NothingCommitted(*kind), section);
        } else if !wide
            && *newest > 0
            && *newest as usize >= groups
            && !actions().skip(at + 1).any(|later| is_wait(&later))
        {
            findings.lint(code.span, LintKind::AllLeftInFlight { committed: groups, left: *newest }, section);
        }
    }
    uncommitted(thread, counted, findings);
}

/// An operation in front of a wait that no commit follows at all.
fn uncommitted(thread: &ThreadBuilder, counted: &Counted, findings: &mut Findings) {
    if loops(thread) {
        return;
    }
    let place = |wanted: fn(&Action) -> bool| {
        thread.code.iter().rposition(|code| action(code, counted.family).is_some_and(wanted))
    };
    let start = place(|action| matches!(action, Action::Start(start) if matches!(start.completion, Completion::Group)));
    let commit = place(|action| matches!(action, Action::Commit));
    let wait = place(|action| matches!(action, Action::WaitGroup { .. }));
    let covered = place(|action| matches!(action, Action::WaitAll | Action::Arrive(_)));
    let (Some(start), Some(commit), Some(wait)) = (start, commit, wait) else { return };
    if commit < start && start < wait && covered.is_none_or(|covered| covered < start) {
        findings.lint(thread.code[start].span, LintKind::Uncommitted(counted.kind), counted.section);
    }
}

/// `wait_group.read` and then a release to the GPU: the source may be reused, but what was written is not complete.
fn read_wait(thread: &ThreadBuilder, findings: &mut Findings) {
    let wide = |scope: &Option<Scope>| matches!(scope, Some(Scope::Gpu | Scope::Sys));
    let publishes = |code: &Instruction| match &code.operation {
        Operation::Store { tags, scope, .. } | Operation::ReadModifyWrite { write_tags: tags, scope, .. } => {
            tags.has(Tag::Release) && !tags.has(Tag::Mbarrier) && wide(scope)
        }
        Operation::Fence { tags, scope, .. } => {
            !tags.has(Tag::ProxyFence)
                && wide(scope)
                && [Tag::Release, Tag::AcqRel, Tag::Sc].into_iter().any(|tag| tags.has(tag))
        }
        _ => false,
    };
    for (at, code) in thread.code.iter().enumerate() {
        let Some(Action::WaitGroup { covered: Covered::Reads, .. }) = action(code, Family::Bulk) else { continue };
        let completes = |code: &&Instruction| {
            matches!(action(code, Family::Bulk), Some(Action::WaitGroup { covered: Covered::Everything, .. }))
        };
        if thread.code[at..].iter().take_while(|code| !completes(code)).any(publishes) {
            findings.lint(code.span, LintKind::ReadWaitPublishes, sections::CP_ASYNC_BULK_WAIT_GROUP);
        }
    }
}
