//! An access to the shared memory of a CTA that may have exited, or may not have started (PTX ISA 9.7.15.3 and the sections of
//! what reaches a peer's memory). What keeps the CTA there is a cluster barrier before its end, or that it waits for the
//! operation itself; that it is there is known behind a cluster barrier, or from something that one of its threads did.
//! A relaxed arrival does not wait for the loads and stores before it: one that stands there needs `.release`.

use fencepost_check::look::outcome::Reader;
use fencepost_program::mbarrier::State;
use fencepost_program::program::{LocationRole, Place};
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::finding::FindingKind;
use fencepost_report::piece::Piece;
use fencepost_report::reason::{Lifetime, Strength};
use fencepost_report::{Diagnosis, Missing};

use crate::edit::{Change, Edit, End, Semantics};
use crate::propose::way::link::Plan;
use crate::scene::Scene;
use crate::scene::anchor::{Side, instruction};
use crate::scene::statement::has;

/// Enough for operations on mbarriers and for what waits for its own completion.
const RELAXED: &str = "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;";
/// Waits for loads and stores as well.
const RELEASING: &str = "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;";
const SECTION: &str = sections::BARRIER_CLUSTER;
const COST: u32 = 1000;

pub(crate) fn diagnose(scene: &Scene<'_>, pair: (EventId, EventId), diagnosis: &mut Diagnosis) -> Vec<Plan> {
    let access = if scene.has(pair.0, Tag::Exit) { pair.1 } else { pair.0 };
    let owner = scene.location(access).and_then(|location| location.owner);
    let Some(owner @ Place::Gpu { cta, .. }) = owner else { return Vec::new() };
    let at = scene.access_site(access);
    let reason = match scene.place(access) == owner {
        true => Lifetime::OwnCtaMayExit { access: at },
        false => Lifetime::CtaMayExit { access: at, cta },
    };
    diagnosis.reasons = vec![reason.into()];
    let plan = |edits: Vec<Edit>| Plan { from: pair.0, to: pair.1, edits, cost: COST };
    plans(scene, access, owner).into_iter().map(plan).collect()
}

/// The same for an access to the memory of a CTA that may not have started.
pub(crate) fn before_start(scene: &Scene<'_>, pair: (EventId, EventId), diagnosis: &mut Diagnosis) -> Vec<Plan> {
    let access = pair.0;
    let owner = scene.location(access).and_then(|location| location.owner);
    let Some(owner @ Place::Gpu { cta, .. }) = owner else { return Vec::new() };
    diagnosis.reasons = vec![Lifetime::CtaMayNotHaveStarted { access: scene.access_site(access), cta }.into()];
    let threads = scene.unfolding.threads.iter().enumerate().filter(|(_, thread)| same_cluster(thread.place, owner));
    let to = threads.map(|(at, _)| ThreadId(at as u32)).collect();
    let change = Change::Append { to, end: End::First, text: RELAXED.to_owned() };
    let edits = vec![Edit { change, reason: None, section: SECTION, cost: COST }];
    vec![Plan { from: pair.0, to: pair.1, edits, cost: COST }]
}

/// What is missing where no change is known that brings it.
pub(crate) fn general(scene: &Scene<'_>, kind: FindingKind, pair: (EventId, EventId)) -> Option<Missing> {
    let access = if scene.has(pair.0, Tag::Exit) { pair.1 } else { pair.0 };
    let at = scene.site(access);
    let what = match kind {
        FindingKind::ExitBeforeAccess => Piece::CtaKept { access: at },
        FindingKind::AccessBeforeStart => Piece::CtaStarted { access: at },
        _ => return None,
    };
    Some(scene.missing(access, what, SECTION))
}

/// The smallest first.
fn plans(scene: &Scene<'_>, access: EventId, owner: Place) -> Vec<Vec<Edit>> {
    let threads = |inside: &dyn Fn(Place) -> bool| -> Vec<ThreadId> {
        let all = scene.unfolding.threads.iter().enumerate().filter(|(_, thread)| inside(thread.place));
        all.map(|(at, _)| ThreadId(at as u32)).collect()
    };
    let put = |to: Vec<ThreadId>, text: &str, section: &'static str| Edit {
        change: Change::Append { to, end: End::Last, text: text.to_owned() },
        reason: None,
        section,
        cost: COST,
    };
    let is_data = scene.is_main(access) && !scene.has(access, Tag::Mbarrier);
    let barrier = if is_data { RELEASING } else { RELAXED };
    let members = threads(&|place| same_cluster(place, owner));
    let pending: Vec<ThreadId> = members.iter().copied().filter(|thread| is_pending(scene, *thread)).collect();
    let mut cluster = vec![put(members, barrier, SECTION)];
    if !pending.is_empty() {
        cluster.insert(0, put(pending, "barrier.cluster.wait;", SECTION));
    }
    if is_data {
        let smaller = [released_arrival(scene, access), fence_behind(scene, access)];
        return smaller.into_iter().flatten().map(|edit| vec![edit]).chain([cluster]).collect();
    }
    if scene.is_main(access) {
        return vec![cluster];
    }
    let issuer = scene.thread(access).into_iter().collect::<Vec<ThreadId>>();
    if let Some(wait) = group_wait(scene, access).filter(|_| scene.place(access) == owner) {
        return vec![vec![put(issuer, wait, sections::CP_ASYNC_BULK_WAIT_GROUP)]];
    }
    let Some((wait, home)) = completion_wait(scene, access) else { return vec![cluster] };
    let own = threads(&|place| place == owner);
    let waits = |to: &[ThreadId]| put(to.to_vec(), &wait, sections::MBARRIER);
    match (home == owner, own.first()) {
        // One thread of the CTA that waits keeps all of it there.
        (true, Some(one)) => {
            let wait = waits(&[*one]);
            vec![vec![wait.clone()], cluster.clone(), [vec![wait], cluster].concat()]
        }
        _ => vec![cluster.clone(), [vec![waits(&issuer)], cluster].concat()],
    }
}

/// Whether a thread has arrived at the barrier of its cluster at last, and has not waited: it arrives no second time before
/// that (PTX ISA 9.7.15.3).
fn is_pending(scene: &Scene<'_>, thread: ThreadId) -> bool {
    let body = &scene.test.litmus.threads[thread.index()].body;
    let mut own = body.iter().rev().filter_map(instruction);
    let last = own.find(|it| it.opcode.node == "barrier" && has(it, "cluster"));
    last.is_some_and(|it| has(it, "arrive"))
}

/// `.release` on the relaxed arrival behind the access.
fn released_arrival(scene: &Scene<'_>, access: EventId) -> Option<Edit> {
    let thread = scene.thread(access)?;
    let is_relaxed = |id: &EventId| scene.has(*id, Tag::BarrierCluster) && scene.has(*id, Tag::Relaxed);
    let arrival = scene.main_events(thread).into_iter().skip_while(|id| *id != access).find(is_relaxed)?;
    let span = scene.event(arrival).span;
    let change = Change::Strengthen { thread, span, semantics: Some(Semantics::Release), scope: None };
    Some(Edit::new(change, Strength::RelaxedBarrier { at: scene.site(arrival) }, SECTION, COST))
}

/// A release of the access for what may tell the CTA of it: the next strong write or arrival of the thread.
fn fence_behind(scene: &Scene<'_>, access: EventId) -> Option<Edit> {
    let is_message = |id: &EventId| {
        let is_strong_write =
            scene.has(*id, Tag::Write) && (scene.has(*id, Tag::Relaxed) || scene.has(*id, Tag::Release));
        let is_other = scene.event(*id).span != scene.event(access).span;
        is_other && (is_strong_write || scene.has(*id, Tag::BarrierCluster))
    };
    let behind = scene.main_events(scene.thread(access)?).into_iter().skip_while(|id| *id != access);
    let message = behind.into_iter().find(is_message)?;
    let reason = Strength::NothingKeeps { first: scene.site(access), second: scene.site(message) };
    let anchor = scene.anchor(access, Side::After)?;
    Some(Edit::insert(anchor, "fence.acq_rel.cluster", reason, sections::FENCE, COST))
}

fn same_cluster(a: Place, b: Place) -> bool {
    match (a, b) {
        (Place::Gpu { gpu, cluster, .. }, Place::Gpu { gpu: other, cluster: its, .. }) => {
            (gpu, cluster) == (other, its)
        }
        _ => false,
    }
}

/// For a bulk operation that completes in a group of its thread.
fn group_wait(scene: &Scene<'_>, access: EventId) -> Option<&'static str> {
    let statement = scene.statement(access)?;
    let has = |word: &str| statement.modifiers.iter().any(|found| found.node == word);
    if !has("bulk_group") {
        return None;
    }
    let commits = |found: &&fencepost_syntax::instruction::Instruction| {
        found.modifiers.iter().any(|word| word.node == "commit_group")
    };
    let committed = scene.between(scene.at(access), None).iter().any(commits);
    let wait = "cp.async.bulk.wait_group.read 0;";
    Some(if committed { wait } else { "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" })
}

/// A loop that waits until the operation has told its mbarrier, and whose that is.
fn completion_wait(scene: &Scene<'_>, access: EventId) -> Option<(String, Place)> {
    let is_update = |id: EventId| scene.has(id, Tag::Completion) && scene.has(id, Tag::Read);
    let own = |id: &EventId| {
        let strand = scene.event(*id).strand.as_ref();
        let speaks = strand.is_some_and(|strand| strand.after.contains(&access));
        is_update(*id) && (speaks || *id == access || scene.event(*id).rmw_partner == Some(access))
    };
    let completion = scene.execution.events.iter().copied().find(own)?;
    let location = scene.location(completion).filter(|location| location.role == LocationRole::Mbarrier)?;
    let value = Reader::new(scene.unfolding, scene.execution).value(completion)?;
    let parity = State::unpack(value).parity();
    let name = location.name.split('@').next().unwrap_or_default();
    let label = format!("WAIT{}", completion.0);
    let wait = format!("mbarrier.try_wait.parity.shared::cta.b64 %waited, [{name}], {parity}");
    Some((format!("{label}: {wait};\n@!%waited bra {label};"), location.owner?))
}
