//! The smallest changes there are, whatever way they open: one word of an instruction, or one instruction of
//! synchronisation that stands a little too early or too late. They are tried wherever the ways through the
//! synchronisation have led to something larger, because an author forgets a word more often than a barrier.

use fencepost_program::program::Scope;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::reason::{Arriving, Fencing, Meeting, Parity, Position, Reason, Scoping, Strength, Waiting};
use fencepost_report::site::Proxy;
use fencepost_syntax::Span;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::edit::{Change, Edit, Moved, SCOPES, Semantics, scope_word};
use crate::propose::{proxy_fence, tcgen05};
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, instruction};
use crate::scene::site;
use crate::scene::slots::{self, Stop, course};
use crate::scene::statement::{Here, Role, instructions, role, section, spelled};

/// Changes of each kind that are tried for one race.
const MOST: usize = 32;
/// How far an instruction may stand from where it belongs.
const FAR: usize = 4;
const COST: u32 = 0;
/// By how much less an mbarrier may wait for less than it should.
const MOST_MORE: usize = 4;

/// One word each.
pub(crate) fn words(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Edit> {
    let common = scene.common(pair.0, pair.1);
    let mut found = counts(scene);
    let is_connected = scene.is_connected(pair);
    let is_racing = |here: &Here<'_>| [pair.0, pair.1].iter().any(|id| scene.event(*id).span == here.span());
    for here in instructions(scene) {
        found.extend(read_only(scene, here));
        if is_connected || is_racing(&here) {
            found.extend(scope(scene, here, common));
            found.extend(semantics(scene, here));
        }
        found.extend(proxy(scene, here, pair));
        found.extend(tensor_wait(scene, here));
        found.extend(tcgen05::restricted(scene, here));
        found.extend(parity(scene, here));
    }
    found.truncate(MOST);
    found
}

/// The threads that arrive on each mbarrier, themselves or by their operations.
pub(crate) fn arriving<'s>(scene: &Scene<'s>) -> SortedMap<&'s str, SortedSet<ThreadId>> {
    let mut arriving: SortedMap<&str, SortedSet<ThreadId>> = SortedMap::new();
    for id in &scene.execution.events {
        let arrives = scene.has(*id, Tag::Mbarrier) && scene.has(*id, Tag::Write) && !scene.has(*id, Tag::MbarrierInit);
        if let (true, Some(thread), Some(location)) = (arrives, scene.thread(*id), scene.location(*id)) {
            let name = location.name.split('@').next().unwrap_or_default();
            arriving.entry(name).or_default().insert(thread);
        }
    }
    arriving
}

/// An mbarrier that several threads arrive on, and that waits for fewer arrivals.
fn counts(scene: &Scene<'_>) -> Vec<Edit> {
    let edits = |(name, threads): (&str, SortedSet<ThreadId>)| {
        let arriving = threads.iter().map(|thread| scene.thread_named(*thread)).collect();
        let reason = Arriving::PhaseOverWithoutArrival { threads: arriving, mbarrier: name.to_owned() };
        let one = |by: usize| {
            let change = Change::Count { name: name.to_owned(), by: by as i128, inits: inits(scene, name) };
            Edit::new(change, reason.clone(), sections::MBARRIER, COST)
        };
        (1..threads.len().min(MOST_MORE)).map(one).collect::<Vec<_>>()
    };
    arriving(scene).into_iter().flat_map(edits).collect()
}

/// Where the mbarrier of this name is initialised.
pub(crate) fn inits(scene: &Scene<'_>, name: &str) -> Vec<(ThreadId, Span)> {
    let mut found = Vec::new();
    for id in scene.execution.events.iter().filter(|id| scene.has(**id, Tag::MbarrierInit)) {
        let own = scene.location(*id).is_some_and(|location| location.name.split('@').next() == Some(name));
        let at = scene.thread(*id).map(|thread| (thread, scene.event(*id).span));
        found.extend(at.filter(|at| own && !found.contains(at)));
    }
    found
}

/// A load through the read-only path of what the kernel writes.
fn read_only(scene: &Scene<'_>, here: Here<'_>) -> Option<Edit> {
    let path = ["nc", "proxy::readonly"].into_iter().find(|word| here.opcode() == "ld" && here.has(word))?;
    let text = scene.test.instruction_text(here.span());
    let by = format!("{};", text.trim_end_matches(';').trim().replacen(&format!(".{path}"), "", 1));
    let reason = Strength::ReadOnly { at: here.site(scene) };
    let change = Change::Replace { thread: here.thread, span: here.span(), by };
    Some(Edit::new(change, reason, sections::LD_GLOBAL_NC, COST))
}

fn speaks(here: Here<'_>) -> bool {
    match here.opcode() {
        "ld" | "st" | "atom" | "red" => !here.has("async") && !here.has("weak"),
        "prel" | "pacq" => true,
        "fence" => !here.has("proxy"),
        "mbarrier" => ["arrive", "arrive_drop", "try_wait", "test_wait"].into_iter().any(|word| here.has(word)),
        _ => false,
    }
}

/// A scope that leaves one of the two threads out.
fn scope(scene: &Scene<'_>, here: Here<'_>, common: Scope) -> Option<Edit> {
    let is_half = here.opcode() == "fence" && here.has("proxy") || here.has("cp_fenceproxy");
    // What an asynchronous operation tells has the scope of its instruction.
    let is_strand = matches!(here.opcode(), "st" | "red") && here.has("async");
    let is_rewritten = is_half || is_strand || here.opcode() == "multimem";
    if !speaks(here) && !is_rewritten {
        return None;
    }
    let own = here.instruction.modifiers.iter().find(|word| SCOPES.contains(&word.node.as_str()))?;
    let narrow = [Scope::Cta, Scope::Cluster, Scope::Gpu].into_iter().find(|scope| scope_word(*scope) == own.node)?;
    if narrow >= common {
        return None;
    }
    // The next scope that these have.
    let is_persist = matches!(here.opcode(), "prel" | "pacq");
    let common = if is_persist && common == Scope::Cluster { Scope::Gpu } else { common };
    let (reason, section) = too_narrow(scene, here, common)?;
    let (thread, span) = (here.thread, here.span());
    let change = match is_rewritten {
        true => Change::Replace { thread, span, by: widened(&scene.test.instruction_text(span), &own.node, common) },
        false => Change::Strengthen { thread, span, semantics: None, scope: Some(common) },
    };
    Some(Edit::new(change, reason, if is_half { "9.7.15.4, 8.5" } else { section }, COST))
}

/// The instruction with another scope.
fn widened(text: &str, own: &str, scope: Scope) -> String {
    let text = text.trim_end_matches(';').trim();
    let (opcode, operands) = text.split_once(' ').unwrap_or((text, ""));
    let words = opcode.split('.').map(|word| if word == own { scope_word(scope) } else { word });
    let opcode = words.collect::<Vec<_>>().join(".");
    format!("{};", format!("{opcode} {operands}").trim_end())
}

/// What is said of a scope that is too narrow.
pub(crate) fn too_narrow(scene: &Scene<'_>, here: Here<'_>, common: Scope) -> Option<(Reason, &'static str)> {
    let own = here.instruction.modifiers.iter().find(|word| SCOPES.contains(&word.node.as_str()))?;
    let scope = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys].into_iter().find(|it| scope_word(*it) == own.node);
    let reason =
        Scoping::ScopeTooNarrow { at: here.site(scene), scope: scope.map(site::scope), shared: site::scope(common) };
    let section = if here.opcode() == "mbarrier" { "9.7.15.16, 8.5" } else { sections::SCOPE };
    Some((reason.into(), section))
}

/// Release and acquire that an operation of a flag or a lock could have.
fn semantics(scene: &Scene<'_>, here: Here<'_>) -> Vec<Edit> {
    let spoken = speaks(here) || here.opcode() == "barrier" && here.has("arrive");
    // A fence without words is sequentially consistent or both halves already.
    let strong = here.has("relaxed") || matches!(here.opcode(), "atom" | "red");
    if !spoken || !strong && !here.has("release") && !here.has("acquire") {
        return Vec::new();
    }
    let halves: &[Semantics] = match here.opcode() {
        "ld" => &[Semantics::Acquire],
        "st" | "red" | "barrier" => &[Semantics::Release],
        "atom" => &[Semantics::Release, Semantics::Acquire],
        "mbarrier" if here.has("arrive") || here.has("arrive_drop") => &[Semantics::Release],
        "mbarrier" => &[Semantics::Acquire],
        _ => &[],
    };
    let lacks = |half: &&Semantics| match half {
        Semantics::Release => !here.has("release") && !here.has("acq_rel"),
        _ => !here.has("acquire") && !here.has("acq_rel"),
    };
    let section = match here.opcode() {
        "mbarrier" => "9.7.15.16, 8.8",
        "barrier" => sections::BARRIER_CLUSTER,
        _ => sections::PATTERNS,
    };
    let one = |half: &Semantics| {
        let at = here.site(scene);
        let reason = match half {
            Semantics::Acquire if here.has("release") => Strength::AcquiresNothing { at },
            Semantics::Release if here.has("acquire") => Strength::ReleasesNothing { at },
            _ if here.opcode() == "barrier" => Strength::RelaxedBarrier { at },
            _ => Strength::Relaxed { at },
        };
        let change = Change::Strengthen { thread: here.thread, span: here.span(), semantics: Some(*half), scope: None };
        Edit::new(change, reason, section, COST)
    };
    halves.iter().filter(lacks).map(one).collect()
}

/// A proxy fence about another proxy, or about other memory.
fn proxy(scene: &Scene<'_>, here: Here<'_>, pair: (EventId, EventId)) -> Vec<Edit> {
    let halved = here.has("release") || here.has("acquire");
    if here.opcode() != "fence" || !here.has("proxy") || halved {
        return Vec::new();
    }
    let mut wanted: Vec<String> = Vec::new();
    for (one, other) in [pair, (pair.1, pair.0)] {
        let proxies = (proxy_fence::proxy(scene, one), proxy_fence::proxy(scene, other));
        match proxies {
            (Proxy::Generic, Proxy::Async) => {
                let Some(anchor) = scene.anchor(scene.at(one), Side::After) else { continue };
                let fence = proxy_fence::async_fence(scene, one, Anchor { thread: here.thread, ..anchor });
                wanted.extend([fence, "fence.proxy.async".to_owned()]);
            }
            (Proxy::Generic, Proxy::Generic) if !scene.same_address(one, other) => {
                wanted.push("fence.proxy.alias".to_owned());
            }
            (_, second) => wanted.extend(proxy_fence::kind(second).map(|kind| format!("fence.proxy.{kind}"))),
        }
    }
    wanted.dedup();
    let text = scene.test.instruction_text(here.span()).trim_end_matches(';').trim().to_owned();
    let one = |by: String| {
        let fence = here.site(scene);
        let reason = if here.has("alias") {
            Fencing::FenceOfAliases { fence }
        } else if here.has("async") {
            Fencing::FenceOfOtherMemory { fence, memory: scene.memory(pair.0) }
        } else {
            Fencing::FenceOfOtherProxy { fence }
        };
        let change = Change::Replace { thread: here.thread, span: here.span(), by: format!("{by};") };
        Edit::new(change, reason, sections::FENCE, COST)
    };
    wanted.into_iter().filter(|by| *by != text).map(one).collect()
}

/// `tcgen05.wait::ld` where stores are to be waited for, and the other way round.
fn tensor_wait(scene: &Scene<'_>, here: Here<'_>) -> Option<Edit> {
    if here.opcode() != "tcgen05" {
        return None;
    }
    let text = scene.test.instruction_text(here.span());
    let wait = here.site(scene);
    let (by, reason) = if here.has("wait::ld") {
        (text.replace("wait::ld", "wait::st"), Waiting::WaitsForNoStores { wait })
    } else if here.has("wait::st") {
        (text.replace("wait::st", "wait::ld"), Waiting::WaitsForNoLoads { wait })
    } else {
        return None;
    };
    let by = format!("{};", by.trim_end_matches(';').trim());
    let change = Change::Replace { thread: here.thread, span: here.span(), by };
    Some(Edit::new(change, reason, sections::TCGEN05_PATTERNS, COST))
}

/// A wait for the other phase than that which is meant.
pub(crate) fn parity(scene: &Scene<'_>, here: Here<'_>) -> Option<Edit> {
    let waits = here.opcode() == "mbarrier" && here.has("parity");
    let operand = here.instruction.operands.last().filter(|_| waits)?;
    let Operand::Integer(parity) = operand.node else { return None };
    let text = scene.test.instruction_text(here.span());
    let (head, _) = text.trim_end_matches(';').rsplit_once(',')?;
    let guard = here.instruction.guard.is_some();
    let reason = Parity::AsksForPhaseBefore { wait: here.site(scene) };
    let by = format!("{head}, {};", (1 - parity).rem_euclid(2));
    let change = Change::Replace { thread: here.thread, span: here.span(), by };
    (!guard).then(|| Edit::new(change, reason, sections::MBARRIER, COST))
}

/// `bar.arrive` at a barrier that nobody waits at: one of those that arrive is to wait (PTX ISA 9.7.15.1).
pub(crate) fn only_arriving(scene: &Scene<'_>) -> Vec<Edit> {
    let of_cta = |here: &Here<'_>| matches!(here.opcode(), "bar" | "barrier") && !here.has("cluster");
    let barriers: Vec<Here<'_>> = instructions(scene).into_iter().filter(of_cta).collect();
    let id = |here: &Here<'_>| here.instruction.operands.first().map(|operand| operand.node.clone());
    let awaited = |arrives: &Here<'_>| {
        let waits = |here: &Here<'_>| !here.has("arrive") && id(here) == id(arrives);
        barriers.iter().any(waits)
    };
    let one = |here: &Here<'_>| {
        let by = format!("{};", spelled(scene, *here).replacen(".arrive", ".sync", 1));
        let reason = Meeting::OnlyArrives { at: here.site(scene) };
        let change = Change::Replace { thread: here.thread, span: here.span(), by };
        Edit::new(change, reason, sections::BAR, COST)
    };
    let mut found: Vec<&Here<'_>> = barriers.iter().filter(|here| here.has("arrive")).collect();
    found.shared_sort_by_key(|here| awaited(here));
    found.into_iter().map(one).take(MOST).collect()
}

/// Whether other threads or other operations may notice that it is passed.
fn matters(instruction: &Instruction) -> bool {
    let quiet =
        ["setp", "mov", "add", "sub", "mul", "mad", "and", "or", "xor", "not", "shl", "shr", "cvt", "selp", "bra"];
    !quiet.contains(&instruction.opcode.node.as_str())
}

/// One instruction of synchronisation moved past the racing access or past other synchronisation.
pub(crate) fn moves(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Edit> {
    let mut found: Vec<((bool, bool, usize, Role), Edit)> = Vec::new();
    if !scene.is_connected(pair) {
        return Vec::new();
    }
    for here in instructions(scene) {
        let Some(role) = role(here.instruction) else { continue };
        let Some(course) = course(&scene.test.litmus, here.thread, here.at, FAR) else { continue };
        let of_pair = [pair.0, pair.1].iter().any(|id| scene.thread(*id) == Some(here.thread));
        for stop in course {
            let Some((racing, crossed)) = crossed(scene, here.thread, &stop, pair) else { continue };
            if tcgen05::is_bound(scene, here, &stop) {
                continue;
            }
            let edit = moved(scene, here, role, &stop, crossed);
            found.push(((!of_pair, !racing, stop.passed.len(), role), edit));
        }
    }
    found.shared_sort_by_key(|(rank, _)| *rank);
    found.into_iter().take(MOST).map(|(_, edit)| edit).collect()
}

/// What the move passes that counts, and whether it is one of the accesses; None where it passes nothing of the kind, or
/// its last step passes nothing that matters.
fn crossed<'s>(
    scene: &'s Scene<'_>,
    thread: ThreadId,
    stop: &Stop,
    pair: (EventId, EventId),
) -> Option<(bool, Here<'s>)> {
    let body = scene.body(thread);
    let passed: Vec<Here<'s>> = stop
        .passed
        .iter()
        .filter_map(|at| Some(Here { thread, at: *at, instruction: instruction(body.get(*at)?)? }))
        .filter(|here| matters(here.instruction))
        .collect();
    let furthest = instruction(body.get(match stop.anchor.side {
        Side::After => *stop.passed.iter().max()?,
        Side::Before => *stop.passed.iter().min()?,
    })?);
    // The branch of a loop that waits stands for the wait.
    if furthest.is_some_and(|found| !matters(found) && found.opcode.node != "bra") {
        return None;
    }
    let racing = |here: &&Here<'_>| {
        let at = |id: EventId| scene.event(scene.at(id)).span.start == here.span().start;
        at(pair.0) || at(pair.1)
    };
    let syncs = |here: &&Here<'_>| {
        let strong = ["relaxed", "acquire", "release", "acq_rel", "volatile", "mmio"].into_iter();
        let speaks = matches!(here.opcode(), "mbarrier" | "atom" | "red") || strong.clone().any(|word| here.has(word));
        let starts = matches!(here.opcode(), "tcgen05" | "wgmma" | "cp" | "clusterlaunchcontrol") || here.has("async");
        role(here.instruction).is_some() || speaks || starts
    };
    let access = passed.iter().find(racing);
    access.map(|found| (true, *found)).or(passed.iter().rev().find(syncs).map(|found| (false, *found)))
}

fn moved(scene: &Scene<'_>, here: Here<'_>, role: Role, stop: &Stop, crossed: Here<'_>) -> Edit {
    let (at, other) = (here.site(scene), crossed.site(scene));
    let reason = match (role, stop.anchor.side) {
        (Role::Tells, Side::After) if crossed.has("expect_tx") => Position::TellsBeforeBytes { at, other },
        (Role::Tells, Side::After) => Position::TellsTooEarly { at, other },
        (Role::Announces, Side::Before) => Position::AnnouncesTooLate { at, other },
        (_, Side::After) => Position::CoversTooEarly { at, other },
        (_, Side::Before) => Position::TooLate { at, other },
    };
    let change = Change::Move { span: here.span(), to: stop.anchor, what: Moved::Synchronisation };
    Edit::new(change, reason, section(here.instruction), COST)
}

/// One half of the fence between the generic and the async proxy where the other stands (PTX ISA 9.7.15.4): the releasing
/// half behind one access, the acquiring before the other.
pub(crate) fn halves(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Edit> {
    let mut found = Vec::new();
    for here in instructions(scene) {
        if here.opcode() != "fence" || !here.has("async::generic") || here.instruction.guard.is_some() {
            continue;
        }
        let text = spelled(scene, here);
        let (text, side) = if here.has("release") {
            (
                text.replace(".release.", ".acquire.")
                    .replace("sync_restrict::shared::cta", "sync_restrict::shared::cluster"),
                Side::Before,
            )
        } else {
            (
                text.replace(".acquire.", ".release.")
                    .replace("sync_restrict::shared::cluster", "sync_restrict::shared::cta"),
                Side::After,
            )
        };
        for access in [pair.0, pair.1] {
            let Some(thread) = scene.thread(access).filter(|thread| *thread != here.thread) else { continue };
            let reason = Fencing::HalfFence { fence: here.site(scene), lacking: scene.thread_named(thread) };
            let Some(anchor) = scene.anchor(scene.at(access), side) else { continue };
            let places = [anchor].into_iter().chain(slots::near(&scene.test.litmus, &anchor, FAR));
            found.extend(places.map(|place| Edit::insert(place, &text, reason.clone(), sections::FENCE, COST)));
        }
    }
    found.truncate(MOST);
    found
}

/// A `tcgen05.commit` is about the operations of the thread that executes it (PTX ISA 9.7.18.6.4): one that another thread
/// executes belongs to the thread that started the operation.
pub(crate) fn handed(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Edit> {
    let mut found = Vec::new();
    for access in [pair.0, pair.1] {
        let strand = !scene.is_main(access) && scene.has(access, Tag::Tcgen05);
        let Some(thread) = scene.thread(access).filter(|_| strand) else { continue };
        let Some(to) = scene.anchor(scene.at(access), Side::After) else { continue };
        for here in instructions(scene) {
            if here.thread == thread || here.opcode() != "tcgen05" || !here.has("commit") {
                continue;
            }
            let reason = Waiting::CommitsOwnOperations { commit: here.site(scene), operation: scene.site(access) };
            let change = Change::Hand { thread: here.thread, span: here.span(), to };
            found.push(Edit::new(change, reason, sections::TCGEN05_PATTERNS, COST));
        }
    }
    found.truncate(MOST);
    found
}
