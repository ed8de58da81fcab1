//! Reasons as sentences: strength, scopes, proxies, waits, barriers, order.

use fencepost_report::reason::{
    FenceRemark, Fencing, Meeting, Ordering, Outcome, Position, Reason, Scoping, Strength, Waiting,
};
use fencepost_report::site::{Proxy, Site};

use super::place::{access, both, called, memory, operation, place, shared};
use super::{outcome, phase};

/// All of them, each once.
pub(super) fn joined(reasons: &[Reason]) -> String {
    let mut told: Vec<String> = Vec::new();
    let (mut text, mut between, mut named) = (String::new(), "", None);
    for reason in reasons {
        let sentence = sentence(reason, named);
        if told.contains(&sentence) {
            continue;
        }
        text.push_str(between);
        text.push_str(&sentence);
        if let Reason::Ordering(Ordering::ComesFirst { first, proxy }) = reason {
            named = Some((first, *proxy));
        }
        between = separator(reason);
        told.push(sentence);
    }
    text
}

/// What stands between a reason and the next.
fn separator(reason: &Reason) -> &'static str {
    match reason {
        Reason::Ordering(Ordering::ComesFirst { .. }) => ", but ",
        Reason::Outcome(Outcome::Misses { .. } | Outcome::CriticalCycle { .. }) => ": ",
        _ => "; ",
    }
}

/// An access that was named right before is "its".
type Named<'r> = Option<(&'r Site, Proxy)>;

fn sentence(reason: &Reason, named: Named<'_>) -> String {
    match reason {
        Reason::Strength(reason) => strength(reason),
        Reason::Scoping(reason) => scoping(reason),
        Reason::Fencing(reason) => fencing(reason, named),
        Reason::Waiting(reason) => waiting(reason),
        Reason::Arriving(reason) => phase::arriving(reason),
        Reason::Announcing(reason) => phase::announcing(reason),
        Reason::Parity(reason) => phase::parity(reason),
        Reason::Position(reason) => position(reason),
        Reason::Meeting(reason) => meeting(reason),
        Reason::Ordering(reason) => ordering(reason),
        Reason::Lifetime(reason) => outcome::lifetime(reason),
        Reason::Outcome(reason) => outcome::outcome(reason),
    }
}

fn strength(reason: &Strength) -> String {
    match reason {
        Strength::Relaxed { at } => format!("{} is relaxed", called(at)),
        Strength::RelaxedBarrier { at } => format!("{} is relaxed, so the barrier orders no memory", called(at)),
        Strength::Weak { at } => format!("{} is weak", called(at)),
        Strength::WeakMeanwhile { at } => format!("{} is weak, and may happen while the other does", called(at)),
        Strength::OnlyVolatile { at } => format!("{} is only volatile", called(at)),
        Strength::AcquiresNothing { at } => format!("{} only releases: it acquires nothing", called(at)),
        Strength::ReleasesNothing { at } => format!("{} only acquires: it releases nothing", called(at)),
        Strength::ReturnsNothing { at } => format!("{} returns nothing and acquires nothing", called(at)),
        Strength::OrdersNothing { at } => format!("{} orders nothing by itself", called(at)),
        Strength::NotSequentiallyConsistent { at } => format!("{} is not sequentially consistent", called(at)),
        Strength::ReadOnly { at } => {
            format!("{} is for memory that nothing writes while the kernel runs", called(at))
        }
        Strength::WritesThenReads { at } => {
            format!("{} orders no write before a later read: only fence.sc orders such a pair", called(at))
        }
        Strength::NothingKeeps { first, second } => {
            format!("nothing keeps {} before {}", called(first), called(second))
        }
        Strength::NoFenceScBetween { first, second } => {
            format!("no fence.sc stands between {} and {}", called(first), called(second))
        }
    }
}

fn scoping(reason: &Scoping) -> String {
    match reason {
        Scoping::ScopeTooNarrow { at, scope, shared: common } => {
            let own = scope.map_or("no scope", |scope| scope.word());
            format!("the scope of {} is .{own}, and the two threads share only {}", called(at), shared(*common))
        }
        Scoping::ScopeNarrow { at } => format!("the scope of {} is too narrow", called(at)),
    }
}

fn fencing(reason: &Fencing, named: Named<'_>) -> String {
    match reason {
        Fencing::NoProxyFence { from, from_proxy, to, to_proxy, remark } => {
            let is_named = named.is_some_and(|(site, own)| place(site) == place(from) && own == *from_proxy);
            let from = match is_named {
                true => format!("its {}", from_proxy.name()),
                false => format!("the {} of {}", from_proxy.name(), place(from)),
            };
            let remark = remark.as_ref().map_or(String::new(), self::remark);
            format!("no fence leads from {from} to the {} of {}{remark}", to_proxy.name(), place(to))
        }
        Fencing::FenceOfAliases { fence } => {
            format!("{} is about virtual aliases, not about the async proxy", called(fence))
        }
        Fencing::FenceOfOtherMemory { fence, memory: of } => {
            format!("{} is not about this access to {}", called(fence), memory(*of))
        }
        Fencing::FenceOfOtherProxy { fence } => format!("{} is about another proxy", called(fence)),
        Fencing::HalfFence { fence, lacking } => {
            format!("{} is one half of a proxy fence, and {} lacks the other", called(fence), lacking.0)
        }
        Fencing::AsyncProxiesOfTwoCtas => "the async proxies of two CTAs are two proxies".to_owned(),
        Fencing::TwoVirtualAddresses => "they use two virtual addresses of one location".to_owned(),
        Fencing::FenceInCtaToo { other, access } => format!(
            "for {}, of another CTA, a fence in the CTA of {} is needed too (`async-fence=non-generic-cta`)",
            other.0, access.0
        ),
        Fencing::CopiesArriveUnfenced { arrival } => format!(
            "`cp.async.mbarrier.arrive.noinc` (line {}) tells of it without a fence to the async proxy",
            arrival.line
        ),
        Fencing::NotOrderedBeforeSynchronisation { thread } => {
            format!("{}'s tcgen05 operations are not ordered before its synchronisation", thread.0)
        }
        Fencing::NotOrderedAfterSynchronisation { thread } => {
            format!("{}'s tcgen05 operations are not ordered after its synchronisation", thread.0)
        }
    }
}

/// What is the matter with a fence that is there.
fn remark(remark: &FenceRemark) -> String {
    let at = |fence: &Site| format!("the `{}` of line {}", fence.text, fence.line);
    match remark {
        FenceRemark::OfAliases { fence } => {
            format!("; {} is about virtual aliases, not about the async proxy", at(fence))
        }
        FenceRemark::OfOtherMemory { fence, memory: of } => {
            format!("; {} is not about this access to {}", at(fence), memory(*of))
        }
        FenceRemark::AfterSynchronisation { fence, thread, line } => {
            format!("; {} comes after {} has synchronised (line {line})", at(fence), thread.0)
        }
        FenceRemark::OfOtherThread { fence, thread } => {
            format!("; {} orders the accesses of {}, not those of {}", at(fence), fence.thread.0, thread.0)
        }
        FenceRemark::BeforeAccess { fence } => format!("; {} comes before the access", at(fence)),
        FenceRemark::OfMixedProxyModel => {
            " (the mixed-proxy model has one; in the ISA itself only the end of a kernel is)".to_owned()
        }
        FenceRemark::KernelEndOnly => " (PTX has no such fence: only the end of a kernel orders the two)".to_owned(),
    }
}

fn waiting(reason: &Waiting) -> String {
    match reason {
        Waiting::NothingWaitsFor { operation: of } => format!("nothing waits for {}", operation(of)),
        Waiting::WaitsUntilRead { wait, operation: of } => {
            format!("{} waits only until {} has read", called(wait), operation(of))
        }
        Waiting::LeavesInFlight { wait, groups: 1, operation: of } => {
            format!("{} leaves the newest group in flight, {} among them", called(wait), operation(of))
        }
        Waiting::LeavesInFlight { wait, groups, operation: of } => {
            format!("{} leaves the {groups} newest groups in flight, {} among them", called(wait), operation(of))
        }
        Waiting::LeavesGroups { wait, groups } => {
            format!("{}'s wait in line {} leaves {groups} groups in flight", wait.thread.0, wait.line)
        }
        Waiting::WaitsForReads { wait } => {
            format!("{}'s wait in line {} waits only until its copies have read", wait.thread.0, wait.line)
        }
        Waiting::Uncommitted { copy } => format!(
            "no commit puts {}'s copy of line {} into a group that could be waited for",
            copy.thread.0, copy.line
        ),
        Waiting::CopiesNotAwaited { before } => {
            format!("{} does not wait for its copies before line {}", before.thread.0, before.line)
        }
        Waiting::ArrivesWithout { arrival, operation: of } => {
            format!("{} does not wait for {}", called(arrival), operation(of))
        }
        Waiting::WaitsForNoStores { wait } => format!("{} does not wait for stores", called(wait)),
        Waiting::WaitsForNoLoads { wait } => format!("{} does not wait for loads", called(wait)),
        Waiting::TellsOfReadsOnly { commit } => {
            format!("{} signals only that the factors have been read", called(commit))
        }
        Waiting::CommitsOwnOperations { commit, operation: of } => format!(
            "{} is about operations that {} started, not about {}",
            called(commit),
            commit.thread.0,
            operation(of)
        ),
        Waiting::DeallocatesTooEarly { deallocation } => {
            format!("{} comes before the columns are done with", called(deallocation))
        }
        Waiting::KernelMayStartEarly { dependent, before } => {
            format!("{}'s kernel may start before {}'s has ended", dependent.0, before.0)
        }
        Waiting::KernelExitOrdersNothing { dependent, before } => format!(
            "{}'s kernel starts when {}'s has exited, which orders no memory: only a wait for it does",
            dependent.0, before.0
        ),
        Waiting::KernelsUnordered { kernel, before } => {
            format!("nothing orders {}'s kernel before {}", kernel.0, before.0)
        }
        Waiting::NoWaitForKernel { thread } => format!("{} does not wait for the kernel before its own", thread.0),
    }
}

fn position(reason: &Position) -> String {
    match reason {
        Position::TellsBeforeBytes { at, other } => format!(
            "{} comes before {}, and the phase may be over before the bytes are announced",
            called(at),
            called(other)
        ),
        Position::TellsTooEarly { at, other } => {
            format!("{} comes before {} and does not publish it", called(at), called(other))
        }
        Position::AnnouncesTooLate { at, other } => format!(
            "{} comes after {}, and the phase may be over before the bytes are announced",
            called(at),
            called(other)
        ),
        Position::CoversTooEarly { at, other } => {
            format!("{} comes before {} and does not cover it", called(at), called(other))
        }
        Position::TooLate { at, other } => format!("{} comes after {}, too late for it", called(at), called(other)),
        Position::MessageTooEarly { at } => format!("{} comes before the access that it should publish", called(at)),
        Position::LineTooEarly { at } => {
            format!("{}'s line {} comes before the access that it should publish", at.thread.0, at.line)
        }
        Position::BeforeWait { access, wait } => {
            format!("{} comes before the wait for it, {}", called(access), called(wait))
        }
    }
}

fn meeting(reason: &Meeting) -> String {
    match reason {
        Meeting::NotSynchronised { thread, with, after } => {
            let with = with.as_ref().map_or("the other threads", |with| with.0.as_str());
            let after = after.as_ref().map_or("that".to_owned(), |site| format!("its line {}", site.line));
            format!("nothing synchronises {} with {with} after {after}", thread.0)
        }
        Meeting::NotBeforeNextRound { thread, with } => {
            format!("nothing synchronises {} with {} before the next round", thread.0, with.0)
        }
        Meeting::OnlyArrives { at } => {
            format!("{} only arrives: {} does not wait for the others there", called(at), at.thread.0)
        }
        Meeting::BarrierLeftOut { thread, barrier } => {
            format!("{} does not take part in the barrier of line {}", thread.0, barrier.line)
        }
        Meeting::FlagNotRead { reader, flag, write } => format!(
            "{} never reads {flag}, which {} sets when it is done (line {})",
            reader.0, write.thread.0, write.line
        ),
        Meeting::FlagReadOnce { read } => format!(
            "{} goes on whatever its `{}` (line {}) returns, and need not observe the release",
            read.thread.0, read.text, read.line
        ),
        Meeting::LockTriedOnce { attempt } => format!(
            "{} goes on whether its `{}` (line {}) has succeeded or not",
            attempt.thread.0, attempt.text, attempt.line
        ),
        Meeting::ResultNotCompared { read, register, write } => format!(
            "{} goes on whatever its `{}` (line {}) returns: nothing looks at {register} for what {} tells in line {}",
            read.thread.0, read.text, read.line, write.thread.0, write.line
        ),
        Meeting::FlagNeverSet { read, flag } => {
            format!("{} waits for {flag} in line {}, and nobody writes what it waits for", read.thread.0, read.line)
        }
        Meeting::GoesRoundForGood { branch, register } => format!(
            "{} goes back in line {} for ever: nothing in its loop computes {register}",
            branch.thread.0, branch.line
        ),
    }
}

fn ordering(reason: &Ordering) -> String {
    match reason {
        Ordering::ComesFirst { first, .. } => format!("{} comes first in base causality order", place(first)),
        Ordering::NotThroughBothProxies { first } => format!(
            "{} comes first in base causality order, but not through both proxies (PTX ISA 8.9.5)",
            place(first)
        ),
        Ordering::NothingOrders { first, second } => {
            format!("nothing orders {}, and no small change that was tried does (PTX ISA 8.9.5)", both(first, second))
        }
        Ordering::NothingOrdersInTime { first, second } => format!(
            "nothing orders {} (PTX ISA 8.9.5); the time limit left no time to look for a repair",
            both(first, second)
        ),
        Ordering::LaunchMissed { wait } => format!(
            "{}'s wait in line {} may come before the launch by another host thread, and then waits for nothing",
            wait.thread.0, wait.line
        ),
        Ordering::AtomicsOfTwoProxies { first, first_proxy, second, second_proxy } => format!(
            "{} updates in the {}, {} in the {}: two atomic operations of different proxies are not atomic for each other \
             (PTX ISA 8.7)",
            place(first),
            first_proxy.name(),
            place(second),
            second_proxy.name()
        ),
        Ordering::TensorOperationNotAwaited { operation: of } => format!(
            "nothing waits for {}: `tcgen05.commit`, a wait for its mbarrier and a fence are missing (PTX ISA 9.7.18.6.4)",
            operation(of)
        ),
        Ordering::NotAwaitedBeforeOther { operation: of } => {
            format!("nothing waits for {} before the other access (PTX ISA 9.7.10.28.1)", operation(of))
        }
        Ordering::NothingOrdersTheTwo => "nothing orders the two accesses".to_owned(),
        Ordering::NoSynchronisation { first, second } => format!(
            "{} and {} do not synchronise at all: there is no flag, atomic or barrier that both use",
            first.0, second.0
        ),
        Ordering::NoBarrierOrMessage { first, second } => format!(
            "no barrier and no release and acquire leads from {} to {} or back (PTX ISA 8.9.5)",
            first.0, second.0
        ),
        Ordering::NoMessageInScope { first, second } => format!(
            "no release and acquire in each other's scope leads from {} to {} or back (PTX ISA 8.9.5)",
            first.0, second.0
        ),
        Ordering::OverlapInPart { first, second } => format!(
            "{} and {} overlap only in part: the memory model gives such a race no meaning (PTX ISA 8.7.2)",
            access(first),
            access(second)
        ),
        Ordering::OutcomeRuledOut => {
            "if they are ordered so, no execution has the outcome that the test asks for".to_owned()
        }
        Ordering::AnswerStillWrong => "a question is still answered wrongly".to_owned(),
        Ordering::WarpBarrier { lines, reading, section } => warp_barrier(lines, reading, section),
    }
}

fn warp_barrier(lines: &[u32], reading: &str, section: &str) -> String {
    let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
    let lines = fencepost_check::phrase::listed(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    format!(
        "bar.warp.sync (lines {lines}) is on the way between them; whether it orders the asynchronous operations of its lanes \
         too, and not only their accesses, is the reading {reading} (PTX ISA {section})"
    )
}
