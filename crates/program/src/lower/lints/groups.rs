//! Groups of asynchronous operations (PTX ISA 9.7.10.28.3, 9.7.10.28.6, 9.7.17.7) that the text alone shows to be waited for
//! in vain. Groups are counted per thread: a wait is about what its own thread has started and committed.

use crate::lower::builder::ThreadBuilder;
use crate::lower::findings::Findings;
use crate::program::asynchronous::{Action, Completion, Covered, Family};
use crate::program::{Instruction, Operation, Scope};
use crate::sections;
use crate::tag::Tag;

struct Words {
    family: Family,
    operation: &'static str,
    commit: &'static str,
    section: &'static str,
}

const FAMILIES: &[Words] = &[
    Words {
        family: Family::CpAsync,
        operation: "`cp.async`",
        commit: "`cp.async.commit_group`",
        section: sections::CP_ASYNC_WAIT_GROUP,
    },
    Words {
        family: Family::Bulk,
        operation: "bulk copy",
        commit: "`cp.async.bulk.commit_group`",
        section: sections::CP_ASYNC_BULK_WAIT_GROUP,
    },
    Words {
        family: Family::Wgmma,
        operation: "`wgmma`",
        commit: "`wgmma.commit_group`",
        section: sections::WGMMA_SYNCHRONIZATION,
    },
];

pub(crate) fn collect(thread: &ThreadBuilder, findings: &mut Findings) {
    for words in FAMILIES {
        waits(thread, words, findings);
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

fn waits(thread: &ThreadBuilder, words: &Words, findings: &mut Findings) {
    let actions = || thread.code.iter().map(|code| action(code, words.family));
    let is_commit = |action: &Option<&Action>| matches!(action, Some(Action::Commit));
    let is_start = |action: &Option<&Action>| matches!(action, Some(Action::Start(_)));
    let is_wait = |action: &Option<&Action>| matches!(action, Some(Action::WaitGroup { .. }));
    let wide = loops(thread);
    for (at, code) in thread.code.iter().enumerate() {
        let Some(Action::WaitGroup { newest, .. }) = action(code, words.family) else { continue };
        // The first rounds of an unrolled pipeline wait for nothing, and later ones do.
        // In a loop everything may have come before.
        let seen = if wide { thread.code.len() } else { at };
        let groups = actions().take(seen).filter(is_commit).count();
        let Words { operation, commit, section, .. } = words;
        if !actions().take(seen).any(|action| is_start(&action)) {
            let message = format!(
                "this thread has started no {operation}: groups are counted per thread, so it waits for nothing"
            );
            findings.lint("wait-of-nothing", code.span, message, section);
        } else if groups == 0 {
            let message = format!("nothing was committed with {commit} before this wait, so it waits for nothing");
            findings.lint("missing-commit", code.span, message, section);
        } else if !wide
            && *newest > 0
            && *newest as usize >= groups
            && !actions().skip(at + 1).any(|later| is_wait(&later))
        {
            let message = format!(
                "no more than {groups} groups are committed here, and the wait leaves {newest} in flight: it waits for nothing"
            );
            findings.lint("wait-of-nothing", code.span, message, section);
        }
    }
    uncommitted(thread, words, findings);
}

/// An operation in front of a wait that no commit follows at all.
fn uncommitted(thread: &ThreadBuilder, words: &Words, findings: &mut Findings) {
    if loops(thread) {
        return;
    }
    let place = |wanted: fn(&Action) -> bool| {
        thread.code.iter().rposition(|code| action(code, words.family).is_some_and(wanted))
    };
    let start = place(|action| matches!(action, Action::Start(start) if matches!(start.completion, Completion::Group)));
    let commit = place(|action| matches!(action, Action::Commit));
    let wait = place(|action| matches!(action, Action::WaitGroup { .. }));
    let covered = place(|action| matches!(action, Action::WaitAll | Action::Arrive(_)));
    let (Some(start), Some(commit), Some(wait)) = (start, commit, wait) else { return };
    if commit < start && start < wait && covered.is_none_or(|covered| covered < start) {
        let message = format!("no {} follows, so no wait covers this operation", words.commit);
        findings.lint("missing-commit", thread.code[start].span, message, words.section);
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
            let message = "`.read` waits until the sources are read; what follows releases to the GPU, and the destinations \
                           may not be written yet";
            findings.lint("read-wait-publishes", code.span, message.to_string(), sections::CP_ASYNC_BULK_WAIT_GROUP);
        }
    }
}
