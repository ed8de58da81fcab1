//! Repairs of several pieces, for races that no single way through the synchronisation cures: an order of kernels, wider scopes
//! or stronger semantics on everything that two threads say to each other, strong accesses to data that is meant to be read
//! while it is written. Each is checked as a whole, and what is not needed is left out again.

use fencepost_program::program::{Place, Scope};
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::{EventId, KernelId, ThreadId};
use fencepost_report::reason::{Announcing, Reason, Scoping, Strength, Waiting};
use fencepost_report::site::ThreadName;
use fencepost_syntax::sorted::SortedSet;

use crate::edit::{Change, Edit, Semantics, scope_word};
use crate::propose::adjust;
use crate::propose::way::link::Plan;
use crate::scene::anchor::Side;
use crate::scene::{Scene, statement};

pub(crate) const COST: u32 = 5000;
/// Of a change that takes the race away and may leave the mistake: it counts only if every question has its answer then.
const DOUBTFUL: u32 = COST + 1;

/// What fits the case best first.
pub(crate) fn plans(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Plan> {
    let plan = |edits: Vec<Edit>| Plan { from: pair.0, to: pair.1, edits, cost: COST };
    let doubtful = Plan { cost: DOUBTFUL, ..plan(data(scene, pair)) };
    let mut found = vec![announced(scene), awaited(scene, pair)];
    found.extend(kernels(scene, pair));
    found.push(wider(scene, pair));
    if scene.is_connected(pair) {
        found.extend([fences(scene, pair), fences(scene, (pair.1, pair.0)), stronger(scene, pair)]);
    }
    let all = found.into_iter().map(plan).chain([doubtful]);
    all.filter(|plan| !plan.edits.is_empty()).collect()
}

fn edit(change: Change, reason: impl Into<Reason>, section: &'static str) -> Edit {
    Edit::new(change, reason, section, COST)
}

/// Bytes that are announced by a thread that does not arrive: the phase may be over before they are (PTX ISA 9.7.15.16). Who
/// announces them arrives with them, and is one more to wait for.
fn announced(scene: &Scene<'_>) -> Vec<Edit> {
    let announces = |here: &statement::Here<'_>| {
        here.opcode() == "mbarrier" && here.has("expect_tx") && !here.has("arrive") && here.instruction.guard.is_none()
    };
    let one = |here: statement::Here<'_>| {
        let event = scene.main_events(here.thread).into_iter().find(|id| scene.event(*id).span == here.span())?;
        let name = scene.location(event)?.name.split('@').next()?.to_owned();
        let text = statement::spelled(scene, here);
        let (_, operands) = text.split_once(' ')?;
        let by = format!("mbarrier.arrive.expect_tx.shared::cta.b64 _, {};", operands.trim());
        let inits = adjust::inits(scene, &name);
        let reason = Announcing::OverBeforeAnnounced { at: here.site(scene), mbarrier: name.clone() };
        let change = Change::Replace { thread: here.thread, span: here.span(), by };
        let count = Change::Count { name, by: 1, inits };
        Some([edit(change, reason.clone(), sections::MBARRIER), edit(count, reason, sections::MBARRIER)])
    };
    statement::instructions(scene).into_iter().filter(announces).find_map(one).map(Vec::from).unwrap_or_default()
}

fn kernel(scene: &Scene<'_>, id: EventId) -> Option<KernelId> {
    scene.unfolding.threads.get(scene.thread(id)?.index())?.kernel
}

/// Kernels that nothing orders, and a host that does not wait for one.
fn kernels(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Vec<Edit>> {
    let mut found = Vec::new();
    for (from, to) in [pair, (pair.1, pair.0)] {
        let reason = Waiting::KernelsUnordered { kernel: scene.named(from), before: scene.named(to) };
        match (kernel(scene, from), kernel(scene, to)) {
            (Some(KernelId(first)), Some(KernelId(second))) if first != second => {
                let text = format!(".launch {first} -> {second}");
                found.push(vec![edit(Change::Declare { text }, reason, sections::MEMORY_SYNCHRONIZATION)]);
            }
            (Some(KernelId(kernel)), None) if scene.place(to) == Place::Host => {
                let anchor = scene.anchor(scene.at(to), Side::Before);
                let sync = |anchor| {
                    Edit::insert(
                        anchor,
                        &format!("sync {kernel}"),
                        reason.clone(),
                        sections::MEMORY_SYNCHRONIZATION,
                        COST,
                    )
                };
                found.push(anchor.map(sync).into_iter().collect());
            }
            _ => {}
        }
    }
    found
}

/// Dependent grids on the way that do not wait for the one before them.
fn awaited(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Edit> {
    if kernel(scene, pair.0) == kernel(scene, pair.1) {
        return Vec::new();
    }
    let mut edits = Vec::new();
    for (at, thread) in scene.unfolding.threads.iter().enumerate() {
        let main = scene.main_events(ThreadId(at as u32));
        let dependent = thread.kernel.filter(|own| scene.unfolding.dependent_launches.iter().any(|(_, to)| to == own));
        let waits = main.iter().any(|id| scene.has(*id, Tag::GridWait));
        let anchor = main.first().filter(|_| dependent.is_some() && !waits);
        let anchor = anchor.and_then(|first| scene.anchor(*first, Side::Before));
        let reason = Waiting::NoWaitForKernel { thread: ThreadName(thread.name.to_string()) };
        edits.extend(anchor.map(|at| Edit::insert(at, "griddepcontrol.wait", reason, sections::GRIDDEPCONTROL, COST)));
    }
    edits
}

/// The events of both threads, one per instruction.
fn told(scene: &Scene<'_>, pair: (EventId, EventId), wanted: impl Fn(EventId) -> bool) -> Vec<(EventId, ThreadId)> {
    let threads: SortedSet<ThreadId> = [pair.0, pair.1].into_iter().filter_map(|id| scene.thread(id)).collect();
    let mut spans = SortedSet::new();
    let mut found = Vec::new();
    for thread in threads {
        for id in scene.main_events(thread) {
            if wanted(id) && scene.statement(id).is_some() && spans.insert(scene.event(id).span) {
                found.push((id, thread));
            }
        }
    }
    found
}

fn is_strong(scene: &Scene<'_>, id: EventId) -> bool {
    let access = scene.has(id, Tag::Read) || scene.has(id, Tag::Write);
    access && !scene.has(id, Tag::Weak) && !scene.has(id, Tag::Mbarrier)
}

fn is_fence(scene: &Scene<'_>, id: EventId) -> bool {
    scene.has(id, Tag::Fence) && !scene.has(id, Tag::ProxyFence)
}

/// Every scope that is too narrow for the two threads.
pub(crate) fn wider(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Edit> {
    let common = scene.common(pair.0, pair.1);
    let narrow = |id: EventId| {
        let strong = is_strong(scene, id) || is_fence(scene, id) || scene.has(id, Tag::Mbarrier);
        strong && scene.event(id).scope.is_some_and(|own| own < common)
    };
    let one = |(id, thread): (EventId, ThreadId)| {
        let reason = Scoping::ScopeNarrow { at: scene.site(id) };
        // An operation on an mbarrier that spells no scope spells no semantics either.
        let own = statement::starting_at(scene, thread, scene.event(id).span);
        let spelled = own.and_then(|own| adjust::too_narrow(scene, own, common));
        let own = if scene.has(id, Tag::MbarrierWait) { Semantics::Acquire } else { Semantics::Release };
        let semantics = (scene.has(id, Tag::Mbarrier) && spelled.is_none()).then_some(own);
        let change = Change::Strengthen { thread, span: scene.event(id).span, semantics, scope: Some(common) };
        match spelled {
            Some((reason, section)) => edit(change, reason, section),
            None => edit(change, reason, "9.7.15.16, 8.5"),
        }
    };
    let spoken = told(scene, pair, narrow).into_iter().map(one);
    // Of an asynchronous operation the instruction itself tells nothing.
    spoken.filter(|edit| !is_async(scene, edit)).collect()
}

fn is_async(scene: &Scene<'_>, edit: &Edit) -> bool {
    match edit.change {
        Change::Strengthen { span, .. } => scene.test.instruction_text(span).contains(".async."),
        _ => false,
    }
}

/// Release and acquire on everything strong that is relaxed.
pub(crate) fn stronger(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Edit> {
    let common = scene.common(pair.0, pair.1);
    let relaxed = |id: EventId| is_strong(scene, id) && scene.has(id, Tag::Relaxed);
    let mut edits = Vec::new();
    for (id, thread) in told(scene, pair, relaxed) {
        let event = scene.event(id);
        let halves: &[Semantics] = match (event.rmw_partner.is_some(), event.is_write()) {
            (true, _) => &[Semantics::Release, Semantics::Acquire],
            (false, true) => &[Semantics::Release],
            (false, false) => &[Semantics::Acquire],
        };
        let scope = event.scope.filter(|own: &Scope| *own < common).map(|_| common);
        for half in halves {
            let reason = Strength::Relaxed { at: scene.site(id) };
            let change = Change::Strengthen { thread, span: event.span, semantics: Some(*half), scope };
            edits.push(edit(change, reason, "8.8, 8.9.4"));
        }
    }
    edits
}

/// A fence before what the first thread tells and one behind what the second is told, for operations that have no release
/// or acquire of their own.
fn fences(scene: &Scene<'_>, (from, to): (EventId, EventId)) -> Vec<Edit> {
    let text = format!("fence.acq_rel.{}", scope_word(scene.common(from, to)));
    let (Some(first), Some(second)) = (scene.thread(from), scene.thread(to)) else { return Vec::new() };
    if first == second {
        return Vec::new();
    }
    let put = |id: EventId, side: Side| {
        let reason = Strength::OrdersNothing { at: scene.site(id) };
        scene.anchor(id, side).map(|at| Edit::insert(at, &text, reason, "8.8, 9.7.15.4", COST))
    };
    let main = |thread| scene.main_events(thread).into_iter().filter(|id| is_strong(scene, *id));
    let tells = main(first).filter(|id| *id > scene.at(from) && scene.has(*id, Tag::Write));
    let hears = main(second).filter(|id| *id < scene.at(to) && scene.has(*id, Tag::Read));
    tells.filter_map(|id| put(id, Side::Before)).chain(hears.filter_map(|id| put(id, Side::After))).collect()
}

/// Data that is read while it may be written, as under a sequence lock: both accesses strong.
fn data(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Edit> {
    let is_plain = |id: EventId| scene.is_main(id) && scene.has(id, Tag::Generic) && scene.has(id, Tag::Weak);
    let speaks =
        |thread: ThreadId| scene.main_events(thread).into_iter().any(|id| is_strong(scene, id) || is_fence(scene, id));
    let both = [pair.0, pair.1];
    let spoken = both.iter().all(|id| scene.thread(*id).is_some_and(speaks));
    if !spoken || !both.iter().all(|id| is_plain(*id)) || !scene.same_address(pair.0, pair.1) {
        return Vec::new();
    }
    let scope = Some(scene.common(pair.0, pair.1));
    let one = |(id, thread): (EventId, ThreadId)| {
        let semantics = Some(Semantics::Relaxed);
        let change = Change::Strengthen { thread, span: scene.event(id).span, semantics, scope };
        edit(change, Strength::WeakMeanwhile { at: scene.site(id) }, sections::MORALLY_STRONG)
    };
    // All that the two threads share in this way: one alone may leave the rest torn.
    let accesses = told(scene, pair, is_plain);
    let location = |id: EventId| scene.event(id).location();
    let shared = |(id, thread): &(EventId, ThreadId)| {
        accesses.iter().any(|(other, its)| its != thread && location(*other) == location(*id))
    };
    accesses.iter().filter(|access| shared(access)).map(|access| one(*access)).collect()
}
