//! Waits for an asynchronous operation that are missing or cover too little (PTX ISA 9.7.10.28.1, 9.7.15.16, 9.7.17.7,
//! 9.7.18.6.4).

use fencepost_program::EventId;
use fencepost_program::mbarrier::State;
use fencepost_program::program::asynchronous::TensorKind;
use fencepost_program::program::{Place, Scope};
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::EventKind;
use fencepost_report::reason::{Arriving, Waiting};
use fencepost_syntax::instruction::{Instruction, Operand};

use crate::edit::{Change, Edit, Polled, Whole, scope_word};
use crate::propose::phase;
use crate::propose::way::issue_order;
use crate::propose::way::link::{Kind, Link, Node, end};
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side};
use crate::scene::site::number as number_of;

const COUNT: u32 = 1500;
const WAIT: u32 = 2000;
const COMMIT: u32 = 2100;
/// More than fences around relaxed synchronisation cost.
const PIPELINED: u32 = 2000;
const MBARRIER: u32 = 2200;

/// What groups of a family are called.
pub(crate) struct Group {
    tag: Tag,
    pub(crate) commit: &'static str,
    pub(crate) wait: &'static str,
    pub(crate) section: &'static str,
}

impl Group {
    /// The wait without its number: of copies that only read what is raced for, until they have read.
    pub(crate) fn waits_until(&self, has_written: bool) -> String {
        let wait = self.wait.trim_end_matches('0').trim();
        match self.tag == Tag::Bulk && !has_written {
            true => wait.replace("wait_group", "wait_group.read"),
            false => wait.to_owned(),
        }
    }
}

const GROUPS: &[Group] = &[
    Group {
        tag: Tag::CpAsync,
        commit: "cp.async.commit_group",
        wait: "cp.async.wait_group 0",
        section: sections::CP_ASYNC_WAIT_GROUP,
    },
    Group {
        tag: Tag::Bulk,
        commit: "cp.async.bulk.commit_group",
        wait: "cp.async.bulk.wait_group 0",
        section: sections::CP_ASYNC_BULK_WAIT_GROUP,
    },
    Group {
        tag: Tag::Wgmma,
        commit: "wgmma.commit_group.sync.aligned",
        wait: "wgmma.wait_group.sync.aligned 0",
        section: sections::WGMMA_SYNCHRONIZATION,
    },
];

/// The groups that an instruction starts an operation of, if it does.
pub(crate) fn group_of(instruction: &Instruction) -> Option<&'static Group> {
    let has = |word: &str| instruction.modifiers.iter().any(|found| found.node == word);
    let starts = instruction.operands.len() > 1;
    let tag = match instruction.opcode.node.as_str() {
        "cp" if starts && has("bulk") && has("bulk_group") => Tag::Bulk,
        "cp" if starts && has("async") && !has("bulk") && !has("mbarrier") => Tag::CpAsync,
        "wgmma" if has("mma_async") => Tag::Wgmma,
        _ => return None,
    };
    GROUPS.iter().find(|group| group.tag == tag)
}

/// Ways out of the strand of this event that a change would open.
pub(crate) fn links(scene: &Scene<'_>, from: EventId, to: EventId) -> Vec<Link> {
    let Some(strand) = &scene.event(from).strand else { return Vec::new() };
    let mut links = Vec::new();
    if let Some(group) = GROUPS.iter().find(|group| scene.has(from, group.tag)).filter(|_| in_groups(scene, from)) {
        links.extend(counts(scene, from, group));
        links.extend(inserted(scene, from, |before| group_wait(scene, from, group, before), group.section));
    }
    match strand.tensor.map(|tensor| tensor.kind) {
        Some(kind @ (TensorKind::Ld | TensorKind::St)) => {
            let wait = if kind == TensorKind::Ld {
                "tcgen05.wait::ld.sync.aligned;"
            } else {
                "tcgen05.wait::st.sync.aligned;"
            };
            links.extend(inserted(scene, from, |_| wait.to_owned(), sections::TCGEN05_PATTERNS));
        }
        // Where the order of issue may be enough, nobody need wait: that is tried first.
        Some(_) => {
            let is_apart = issue_order::links(scene, from, to).is_empty();
            links.extend(commits(scene, from, if is_apart { COMMIT } else { COMMIT + PIPELINED }));
        }
        None => {}
    }
    links.extend(mbarrier_waits(scene, from));
    links
}

/// Arrivals behind the access for which a later thread could wait, and does not.
pub(crate) fn arrivals(scene: &Scene<'_>, from: EventId, to: EventId) -> Vec<Link> {
    let (Some(user), Some(waiter)) = (scene.thread(from), scene.thread(to)) else { return Vec::new() };
    let mut links = Vec::new();
    if user == waiter {
        return links;
    }
    let arrives = |id: &EventId| {
        let told = scene.has(*id, Tag::Mbarrier) && scene.has(*id, Tag::Read) && !scene.has(*id, Tag::MbarrierWait);
        told && scene.event(*id).rmw_partner.is_some() && *id > scene.at(from)
    };
    for arrive in scene.main_events(user).into_iter().filter(arrives) {
        let (Some(location), Some(state)) = (scene.location(arrive), value(scene, arrive)) else { continue };
        let Some(write) = scene.event(arrive).rmw_partner else { continue };
        let own = location.owner.is_none_or(|owner| scene.place(to) == owner);
        let name = location.name.split('@').next().unwrap_or_default();
        let parity = State::unpack(state).parity();
        for event in scene.main_events(waiter).into_iter().filter(|id| own && *id <= scene.at(to)) {
            let Some(anchor) = scene.anchor(event, Side::Before) else { continue };
            let wait = poll(scene, (arrive, event), name, parity);
            let (waiter, arrival) = (scene.named(event), scene.site(arrive));
            let reason = Arriving::NoWaitForArrival { waiter, arrival, mbarrier: name.to_owned() };
            let polled = phase::polled(scene, &anchor);
            let change = Change::Poll { at: anchor, wait, label: format!("WAIT{}", event.0), polled };
            let edit = Edit::new(change, reason, sections::MBARRIER, MBARRIER);
            let (start, end) = (Node::Event(write), Node::Event(event));
            links.push(Link { from: start, to: end, kind: Kind::Arrival(write), cost: MBARRIER, edits: vec![edit] });
        }
    }
    links
}

/// Whether the operation completes in a group of its thread.
fn in_groups(scene: &Scene<'_>, from: EventId) -> bool {
    let Some(statement) = scene.statement(from) else { return false };
    let has = |word: &str| statement.modifiers.iter().any(|found| found.node == word);
    !scene.has(from, Tag::Bulk)
        || has("bulk_group")
        || !statement.modifiers.iter().any(|word| word.node.starts_with("mbarrier"))
}

/// A wait put in before each later point of the thread.
fn inserted(
    scene: &Scene<'_>,
    from: EventId,
    text: impl Fn(Option<EventId>) -> String,
    section: &'static str,
) -> Vec<Link> {
    let issue = scene.at(from);
    let Some(thread) = scene.thread(issue) else { return Vec::new() };
    let later = scene.main_events(thread).into_iter().filter(|event| *event > issue);
    let points = later.map(|event| (Node::Event(event), scene.anchor(event, Side::Before), Some(event)));
    let points = points.chain([(Node::End(thread), end(scene, thread), None)]);
    let link = |(to, anchor, before): (Node, Option<Anchor>, Option<EventId>)| {
        let change = Change::Insert { at: vec![(anchor?, text(before))] };
        let edit = Edit::new(change, Waiting::NothingWaitsFor { operation: scene.site(from) }, section, WAIT);
        Some(Link { from: Node::Event(from), to, kind: Kind::Wait, cost: WAIT, edits: vec![edit] })
    };
    points.filter_map(link).collect()
}

pub(crate) fn is_commit(instruction: &Instruction, group: &Group) -> bool {
    let mut words = vec![instruction.opcode.node.as_str()];
    words.extend(instruction.modifiers.iter().map(|word| word.node.as_str()));
    let commit: Vec<&str> = group.commit.split('.').collect();
    words.starts_with(&commit[..commit.len().min(if group.tag == Tag::Wgmma { 2 } else { 4 })])
}

/// The wait, with a commit before it if the operation is in no group yet. Reads are waited for as reads.
fn group_wait(scene: &Scene<'_>, from: EventId, group: &Group, before: Option<EventId>) -> String {
    let committed = scene.between(scene.at(from), before).into_iter().any(|found| is_commit(found, group));
    let commit = if committed { String::new() } else { format!("{};\n", group.commit) };
    let wait = if group.tag == Tag::Bulk && scene.has(from, Tag::Read) {
        group.wait.replace("wait_group", "wait_group.read")
    } else {
        group.wait.to_owned()
    };
    format!("{commit}{wait};")
}

/// Waits of the thread that leave the operation in flight.
fn counts(scene: &Scene<'_>, from: EventId, group: &Group) -> Vec<Link> {
    let issue = scene.at(from);
    let Some(thread) = scene.thread(issue) else { return Vec::new() };
    let mut links = Vec::new();
    for wait in scene.main_events(thread).into_iter().filter(|event| *event > issue) {
        let event = scene.event(wait);
        let waits = matches!(event.kind, EventKind::Issue) && event.tags.has(group.tag) && !event.tags.has(Tag::Issue);
        let Some(statement) = scene.statement(wait).filter(|_| waits) else { continue };
        let Some(Operand::Integer(newest)) = statement.operands.last().map(|operand| &operand.node) else { continue };
        let later = scene.between(issue, Some(wait)).into_iter().filter(|found| is_commit(found, group)).count();
        let enough = later.saturating_sub(1) as i128;
        let reads_only = statement.modifiers.iter().any(|word| word.node == "read") && !scene.has(from, Tag::Read);
        let whole = if reads_only { Whole::Everything } else { Whole::AsIs };
        let mut tried = vec![enough.min(*newest)];
        tried.extend((enough > 0).then_some(0));
        for number in tried {
            if number == *newest && whole == Whole::AsIs {
                continue;
            }
            let (operation, at) = (scene.site(from), scene.site(wait));
            let reason = match reads_only {
                true => Waiting::WaitsUntilRead { wait: at, operation },
                false => Waiting::LeavesInFlight { wait: at, groups: number_of(*newest), operation },
            };
            let change = Change::Wait { thread, span: event.span, newest: number, whole };
            let edit = Edit::new(change, reason, group.section, COUNT);
            let (start, end) = (Node::Event(from), Node::Event(wait));
            links.push(Link { from: start, to: end, kind: Kind::Message(from, wait), cost: COUNT, edits: vec![edit] });
        }
    }
    links
}

/// The source text of the operand that is an mbarrier.
fn mbarrier_operand(scene: &Scene<'_>, id: EventId) -> Option<String> {
    let statement = scene.statement(id)?;
    let address = statement.operands.iter().rev().find(|operand| matches!(operand.node, Operand::Address(_)))?;
    Some(scene.test.source.slice(address.span).to_owned())
}

/// A plain arrive does not wait for `tcgen05` operations; `tcgen05.commit` arrives when they are done.
fn commits(scene: &Scene<'_>, from: EventId, cost: u32) -> Vec<Link> {
    let issue = scene.at(from);
    let Some(thread) = scene.thread(issue) else { return Vec::new() };
    let group =
        scene.event(from).strand.as_ref().and_then(|strand| strand.tensor).map_or(1, |tensor| tensor.group.max(1));
    let mut links = Vec::new();
    for read in scene.execution.events.iter().copied().filter(|id| scene.has(*id, Tag::MbarrierWait)) {
        for write in scene.sources(read) {
            let event = scene.event(write);
            let arrives = scene.is_main(write) && event.thread == Some(thread) && write > issue;
            let Some(operand) = mbarrier_operand(scene, write).filter(|_| arrives) else { continue };
            let text = scene.text(write);
            let guard =
                text.split_once(' ').filter(|_| text.starts_with('@')).map_or(String::new(), |it| format!("{} ", it.0));
            let commit =
                format!("tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster.b64 {operand};");
            let by = format!("{guard}{commit}");
            let reason = Waiting::ArrivesWithout { arrival: scene.site(write), operation: scene.site(from) };
            let change = Change::Replace { thread, span: event.span, by };
            let edit = Edit::new(change, reason, sections::TCGEN05_PATTERNS, cost);
            let (start, end) = (Node::Event(from), Node::Event(read));
            links.push(Link { from: start, to: end, kind: Kind::Move(write), cost, edits: vec![edit] });
        }
    }
    links
}

/// The operation tells an mbarrier of its end, and nobody looks.
fn mbarrier_waits(scene: &Scene<'_>, from: EventId) -> Vec<Link> {
    let events = scene.execution.events.iter().copied();
    let completion = events.clone().find(|id| {
        let speaks = scene.event(*id).strand.as_ref().is_some_and(|strand| strand.after.contains(&from));
        speaks && scene.has(*id, Tag::Completion) && scene.has(*id, Tag::Read)
    });
    let Some(completion) = completion else { return Vec::new() };
    let (Some(location), Some(value)) = (scene.location(completion), value(scene, completion)) else {
        return Vec::new();
    };
    let name = location.name.split('@').next().unwrap_or_default();
    let parity = State::unpack(value).parity();
    let near = |id: EventId| {
        let own = location.owner.is_none_or(|owner| scene.place(id) == owner) && scene.place(id) != Place::Host;
        // A thread that waits before it starts what tells would wait for ever.
        let started = scene.at(completion);
        own && !scene.has(id, Tag::Exit) && (scene.thread(id) != scene.thread(started) || id > started)
    };
    let mut links = Vec::new();
    for event in events.filter(|id| scene.is_main(*id) && scene.thread(*id).is_some() && near(*id)) {
        let Some(anchor) = scene.anchor(event, Side::Before) else { continue };
        let label = format!("WAIT{}", event.0);
        let wait = poll(scene, (completion, event), name, parity);
        let (waiter, operation) = (scene.named(event), scene.site(from));
        let reason = Arriving::NoWaitForCompletion { waiter, operation, mbarrier: name.to_owned() };
        let polled = polled(scene, from, (event, &anchor), completion);
        let change = Change::Poll { at: anchor, wait, label, polled };
        let edit = Edit::new(change, reason, sections::MBARRIER, MBARRIER);
        let (start, end) = (Node::Event(from), Node::Event(event));
        links.push(Link { from: start, to: end, kind: Kind::Wait, cost: MBARRIER, edits: vec![edit] });
    }
    links
}

/// A wait for what one event tells, before another: acquire in the scope of the CTA is what a wait is without words.
pub(crate) fn poll(scene: &Scene<'_>, (told, before): (EventId, EventId), name: &str, parity: u32) -> String {
    format!("{} %waited, [{name}], {parity}", asks(scene, told, before))
}

pub(crate) fn asks(scene: &Scene<'_>, told: EventId, before: EventId) -> String {
    let words = match scene.common(told, before) {
        Scope::Cta => String::new(),
        scope => format!(".acquire.{}", scope_word(scope)),
    };
    format!("mbarrier.try_wait.parity{words}.shared::cta.b64")
}

/// Whether the thread has waited on the mbarrier, and not used what the operation accesses since.
fn polled(scene: &Scene<'_>, from: EventId, (event, anchor): (EventId, &Anchor), completion: EventId) -> Polled {
    let own = |id: EventId| scene.event(id).location();
    let Some(thread) = scene.thread(event) else { return Polled::Once };
    let before = scene.main_events(thread).into_iter().filter(|id| *id < event);
    let waits = |id: EventId| scene.has(id, Tag::MbarrierWait) && own(id) == own(completion);
    let last = before.rev().find(|id| waits(*id) || own(*id) == own(from));
    if last.is_some_and(waits) { Polled::Again } else { phase::polled(scene, anchor) }
}

pub(crate) fn value(scene: &Scene<'_>, id: EventId) -> Option<fencepost_program::value::Value> {
    let at = scene.execution.events.binary_search(&id).ok()?;
    scene.execution.values.get(at).copied().flatten()
}
