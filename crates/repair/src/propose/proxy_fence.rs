//! The fences that the proxies of two accesses need on a way from one to the other (PTX ISA 8.6, 8.9.5, 9.7.15.4), and
//! what is the matter with a fence that is there.

use fencepost_check::look::proxy::proxy_of;
use fencepost_check::model::role::Relation;
use fencepost_program::EventId;
use fencepost_program::access::covers;
use fencepost_program::program::Space;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_report::reason::{FenceRemark, Fencing};
use fencepost_report::site::Proxy;
use fencepost_syntax::instruction::{Instruction, Operand};

use crate::edit::{Change, Edit, scope_word};
use crate::propose::way::link::{Kind, Link, Node, Plan, end};
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, instruction};

const FENCE: u32 = 1000;
/// It takes the place of an arrival that is counted already (PTX ISA 9.7.15.16); without `.noinc` it would be one more.
const COPIES_ARRIVE: &str = "cp.async.mbarrier.arrive.noinc";

/// Fences in the thread of the first access behind it, and in that of the second before it.
#[derive(Default)]
pub(crate) struct Gates {
    pub(crate) leaving: Vec<Edit>,
    pub(crate) entering: Vec<Edit>,
}

pub(crate) fn proxy(scene: &Scene<'_>, id: EventId) -> Proxy {
    proxy_of(scene.event(id))
}

pub(crate) fn needed(scene: &Scene<'_>, from: EventId, to: EventId, links: &[Link]) -> Gates {
    let mut gates = Gates::default();
    let leave = leaving(scene, from, to, links);
    let enter = scene.anchor(scene.at(to), Side::Before);
    let (Some(leave), Some(enter)) = (leave, enter) else { return gates };
    let apart = |remark: Option<FenceRemark>| apart(scene, (from, to), remark);
    let put = |anchor: Anchor, text: &str, reason: Fencing, section: &'static str| {
        Edit::insert(anchor, text, reason, section, FENCE)
    };
    match (proxy(scene, from), proxy(scene, to)) {
        (Proxy::Generic, Proxy::Async) if told_by_copies(scene, from).is_some() => {
            gates.leaving.extend(told_by_copies(scene, from));
        }
        (Proxy::Generic, Proxy::Async) => {
            let text = async_fence(scene, from, leave);
            let reason = apart(beside(scene, from, leave));
            gates.leaving.push(put(leave, &text, reason, "9.7.15.4, 9.7.10.28.2"));
            gates.entering.extend(in_cta(scene, from, to, enter));
        }
        // The completion of bulk operations and of `wgmma` carries the fence.
        (Proxy::Async, Proxy::Generic) if !scene.has(from, Tag::Tcgen05) => {}
        (Proxy::Async, Proxy::Generic) => {
            gates.leaving.extend(in_cta(scene, from, to, leave));
            gates.entering.push(put(enter, &async_fence(scene, to, enter), apart(None), sections::FENCE));
        }
        (Proxy::Async, Proxy::Async) if scene.place(from) != scene.place(to) => {
            let reason = Fencing::AsyncProxiesOfTwoCtas;
            if scene.has(from, Tag::Tcgen05) && is_in(scene, leave, from) {
                gates.leaving.push(put(leave, &async_fence(scene, from, leave), reason.clone(), "9.7.15.4, 8.6"));
            }
            gates.entering.push(put(enter, &async_fence(scene, to, enter), reason, "9.7.15.4, 8.6"));
        }
        (Proxy::Generic | Proxy::Async, Proxy::TensorMap) => {
            let scope = scope_word(scene.common(from, to));
            let release = format!("fence.proxy.tensormap::generic.release.{scope}");
            gates.leaving.push(put(leave, &release, apart(None), sections::FENCE));
            let acquire = format!("fence.proxy.tensormap::generic.acquire.{scope} [{}], 128", map_operand(scene, to));
            gates.entering.push(put(enter, &acquire, apart(None), "9.7.15.4, 8.9.4"));
        }
        (Proxy::TensorMemory, Proxy::TensorMemory) => tensor(scene, from, to, (leave, enter), &mut gates),
        (Proxy::Generic, Proxy::Generic) if !scene.same_address(from, to) => {
            gates.entering.push(put(enter, "fence.proxy.alias", Fencing::TwoVirtualAddresses, "9.7.15.4, 8.6"));
        }
        // The mixed-proxy model has fences of these proxies; the ISA does not (8.6).
        _ => {
            let reason = apart(Some(FenceRemark::OfMixedProxyModel));
            if let Some(kind) = fenced_kind(scene, from) {
                gates.leaving.push(put(leave, &format!("fence.proxy.{kind}"), reason.clone(), sections::PROXIES));
            }
            if let Some(kind) = fenced_kind(scene, to) {
                gates.entering.push(put(enter, &format!("fence.proxy.{kind}"), reason, sections::PROXIES));
            }
        }
    }
    gates
}

/// The fence in the CTA of the async access that a generic one of another CTA needs besides its own thread's, so that every
/// reading of `async-fence` is met.
fn in_cta(scene: &Scene<'_>, from: EventId, to: EventId, at: Anchor) -> Option<Edit> {
    let (access, other) = match proxy(scene, from) {
        Proxy::Async => (from, to),
        _ => (to, from),
    };
    if scene.place(access) == scene.place(other) || !is_in(scene, at, access) {
        return None;
    }
    let reason = Fencing::FenceInCtaToo { other: scene.named(other), access: scene.named(access) };
    Some(Edit::insert(at, &async_fence(scene, access, at), reason, "9.7.15.4, 8.6", FENCE))
}

/// Whether a place is in the CTA of an access.
fn is_in(scene: &Scene<'_>, at: Anchor, access: EventId) -> bool {
    let thread = scene.unfolding.threads.get(at.thread.index());
    thread.is_some_and(|thread| thread.place == scene.place(access))
}

/// `cp.async.mbarrier.arrive` tells of copies through the generic proxy without the thread, which then has no place for the
/// fence: it waits for them, and arrives itself.
fn told_by_copies(scene: &Scene<'_>, from: EventId) -> Option<Edit> {
    let events = scene.execution.events.iter().copied();
    let told = |id: &EventId| scene.event(*id).strand.as_ref().is_some_and(|strand| strand.after.contains(&from));
    let arrival = events.filter(told).map(|id| scene.at(id)).find(|id| scene.text(*id).starts_with(COPIES_ARRIVE))?;
    let (thread, span) = (scene.thread(arrival)?, scene.event(arrival).span);
    let at = scene.anchor(arrival, Side::Before)?;
    let text = scene.text(arrival);
    let mbarrier = text.split_once('[')?.1.split(']').next()?;
    let fence = async_fence(scene, from, at);
    let by = format!("cp.async.wait_all; {fence}; mbarrier.arrive.shared::cta.b64 _, [{mbarrier}];");
    let reason = Fencing::CopiesArriveUnfenced { arrival: scene.site(arrival) };
    let change = Change::Replace { thread, span, by };
    Some(Edit::new(change, reason, "9.7.15.4, 9.7.10.28.2", FENCE))
}

/// Two accesses that are ordered, the first through the generic proxy and the second through the async one: the proxies
/// alone say which fence lies nowhere between them, without a search.
pub(crate) fn by_proxies(scene: &Scene<'_>, pair: (EventId, EventId)) -> Option<Plan> {
    let is_ordered = |(from, to): &(EventId, EventId)| {
        let proxies = (proxy(scene, *from), proxy(scene, *to));
        matches!(proxies, (Proxy::Generic, Proxy::Async)) && scene.holds(Relation::BaseCausality, *from, *to)
    };
    let (from, to) = [pair, (pair.1, pair.0)].into_iter().find(is_ordered)?;
    let at = scene.anchor(scene.at(from), Side::After)?;
    let fence = async_fence(scene, from, at);
    let edit = Edit::insert(at, &fence, apart(scene, (from, to), None), "9.7.15.4, 9.7.10.28.2", FENCE);
    let entering = scene.anchor(scene.at(to), Side::Before).and_then(|enter| in_cta(scene, from, to, enter));
    Some(Plan { from, to, edits: std::iter::once(edit).chain(entering).collect(), cost: FENCE })
}

pub(crate) fn kind(proxy: Proxy) -> Option<&'static str> {
    match proxy {
        Proxy::Texture => Some("texture"),
        Proxy::Surface => Some("surface"),
        Proxy::Constant => Some("constant"),
        _ => None,
    }
}

/// The kind of the fence for an access in the notation of the mixed-proxy model. A program in instructions of the ISA is not
/// told to use a fence that the ISA does not have.
fn fenced_kind(scene: &Scene<'_>, access: EventId) -> Option<&'static str> {
    kind(proxy(scene, access)).filter(|_| !is_of_isa(scene, access))
}

/// How compilers write accesses through these proxies (PTX ISA 8.6): the opcode, any where there is none, and a word, any
/// where there is none.
const COMPILED: [(Option<&str>, Option<&str>); 6] = [
    (Some("tex"), None),
    (None, Some("b")),
    (None, Some("p")),
    (None, Some("nc")),
    (None, Some("proxy::readonly")),
    (None, Some("const")),
];

/// Whether an access is written as compilers write it, in a test without the fences of the mixed-proxy model.
fn is_of_isa(scene: &Scene<'_>, access: EventId) -> bool {
    let has = |own: &Instruction, word: &str| own.modifiers.iter().any(|it| it.node == word);
    let is_compiled = |own: &Instruction| {
        COMPILED.iter().any(|(opcode, word)| {
            opcode.is_none_or(|opcode| own.opcode.node == opcode) && word.is_none_or(|word| has(own, word))
        })
    };
    let fences = [Proxy::Texture, Proxy::Surface, Proxy::Constant].into_iter().filter_map(kind);
    let is_of_model = |own: &Instruction| own.opcode.node == "fence" && fences.clone().any(|proxy| has(own, proxy));
    let mut all = scene.test.litmus.threads.iter().flat_map(|thread| &thread.body).filter_map(instruction);
    scene.statement(scene.at(access)).is_some_and(is_compiled) && !all.any(is_of_model)
}

/// Two accesses of which one goes through a proxy that no fence of the ISA is about.
pub(crate) fn kernel_end_only(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Option<Fencing> {
    let is_beyond = |access: EventId| kind(proxy(scene, access)).is_some() && is_of_isa(scene, access);
    if proxy(scene, first) == proxy(scene, second) || !(is_beyond(first) || is_beyond(second)) {
        return None;
    }
    let is_second_first = scene.holds(Relation::BaseCausality, second, first);
    let way = if is_second_first { (second, first) } else { (first, second) };
    Some(apart(scene, way, Some(FenceRemark::KernelEndOnly)))
}

pub(crate) fn apart(scene: &Scene<'_>, (from, to): (EventId, EventId), remark: Option<FenceRemark>) -> Fencing {
    let (from_proxy, to_proxy) = (scene.proxy(from), scene.proxy(to));
    Fencing::NoProxyFence { from: scene.site(from), from_proxy, to: scene.site(to), to_proxy, remark }
}

/// Tensor memory: a thread hands over between two fences (PTX ISA 9.7.18.6.4).
fn tensor(scene: &Scene<'_>, from: EventId, to: EventId, (leave, enter): (Anchor, Anchor), gates: &mut Gates) {
    let section = sections::TCGEN05_PATTERNS;
    // A commit that tells of the end of the operation implies it: then there is no place for it in the thread.
    if scene.thread(from) != scene.thread(to) && scene.thread(from) == Some(leave.thread) {
        let reason = Fencing::NotOrderedBeforeSynchronisation { thread: scene.named(from) };
        gates.leaving.push(Edit::insert(leave, "tcgen05.fence::before_thread_sync", reason, section, FENCE));
    }
    if !scene.is_main(to) {
        let reason = Fencing::NotOrderedAfterSynchronisation { thread: scene.named(to) };
        gates.entering.push(Edit::insert(enter, "tcgen05.fence::after_thread_sync", reason, section, FENCE));
    }
}

/// Behind the access (or the wait for it) in its own thread, before what tells others.
fn leaving(scene: &Scene<'_>, from: EventId, to: EventId, links: &[Link]) -> Option<Anchor> {
    let own = scene.thread(from);
    let thread = |node: Node| match node {
        Node::Event(event) => scene.thread(event),
        Node::End(thread) => Some(thread),
    };
    let out = links.iter().find(|link| thread(link.to) != own || link.to == Node::Event(to));
    let Some(out) = out else { return scene.anchor(scene.at(from), Side::After) };
    if scene.thread(to) == own && links.iter().all(|link| thread(link.to) == own) {
        return within(scene, from, to, links);
    }
    match out.from {
        Node::End(thread) => end(scene, thread),
        // The strand itself tells of its end.
        Node::Event(event) if !scene.is_main(event) => scene.anchor(scene.at(to), Side::Before),
        Node::Event(event) if matches!(out.kind, Kind::Barrier | Kind::Move(_)) || event == from => {
            scene.anchor(event, Side::After)
        }
        Node::Event(event) => scene.anchor(event, Side::Before),
    }
}

/// In one thread: before the first thing that may tell others, else before the second access.
fn within(scene: &Scene<'_>, from: EventId, to: EventId, links: &[Link]) -> Option<Anchor> {
    let passed = links.iter().filter(|link| link.kind == Kind::Program).filter_map(|link| match link.to {
        Node::Event(event) => Some(event),
        Node::End(_) => None,
    });
    let tells = |id: &EventId| {
        let released = scene.has(*id, Tag::Write) && scene.has(*id, Tag::Release);
        scene.has(*id, Tag::Barrier) || released
    };
    // The write of an arrive; its read is the instruction's first event.
    let first = passed.filter(|id| *id > scene.at(from)).find(tells).unwrap_or(scene.at(to));
    scene.anchor(first, Side::Before)
}

/// The smallest fence that covers the access from a thread.
pub(crate) fn async_fence(scene: &Scene<'_>, access: EventId, at: Anchor) -> String {
    let place = scene.home(at.thread);
    let owner = scene.location(access).and_then(|location| location.owner);
    let space = match scene.space(access) {
        Space::Shared if owner.is_none_or(|owner| owner == place) => ".shared::cta",
        Space::Shared => ".shared::cluster",
        _ => ".global",
    };
    format!("fence.proxy.async{space}")
}

/// How the copy names its map.
fn map_operand(scene: &Scene<'_>, read: EventId) -> String {
    let operand = scene.statement(scene.at(read)).and_then(|statement| {
        statement.operands.iter().find_map(|operand| match &operand.node {
            Operand::Address(address) if !address.rest.is_empty() => Some(operand.span),
            _ => None,
        })
    });
    let named = operand.and_then(|span| {
        let text = scene.test.source.slice(span).split([',', ']']).next()?.trim_start_matches('[').trim().to_owned();
        (!text.is_empty()).then_some(text)
    });
    named.unwrap_or_else(|| scene.variable(read))
}

/// What is the matter with a fence that is there but does not do it.
fn beside(scene: &Scene<'_>, access: EventId, leave: Anchor) -> Option<FenceRemark> {
    let events = scene.execution.events.iter().copied();
    let fences: Vec<EventId> = events.filter(|id| scene.has(*id, Tag::ProxyFence) && !halves(scene, *id)).collect();
    let own = |id: &&EventId| scene.thread(**id) == scene.thread(access);
    let start = scene.at(access);
    if let Some(alias) = fences.iter().filter(own).find(|id| scene.has(**id, Tag::Alias) && **id > start) {
        return Some(FenceRemark::OfAliases { fence: scene.site(*alias) });
    }
    let gates: Vec<EventId> = fences.into_iter().filter(|id| scene.has(*id, Tag::Async)).collect();
    if let Some(gate) = gates.iter().filter(own).find(|id| **id > start && !covers(scene.unfolding, **id, access)) {
        return Some(FenceRemark::OfOtherMemory { fence: scene.site(*gate), memory: scene.memory(access) });
    }
    if let Some(gate) = gates.iter().filter(own).find(|id| **id > start) {
        let line = scene.test.source.position(leave.span.start).line;
        let (fence, thread) = (scene.site(*gate), scene.named(access));
        return Some(FenceRemark::AfterSynchronisation { fence, thread, line });
    }
    if let Some(gate) = gates.iter().find(|id| scene.thread(**id) != scene.thread(access)) {
        return Some(FenceRemark::OfOtherThread { fence: scene.site(*gate), thread: scene.named(access) });
    }
    gates.iter().find(own).map(|gate| FenceRemark::BeforeAccess { fence: scene.site(*gate) })
}

fn halves(scene: &Scene<'_>, id: EventId) -> bool {
    scene.has(id, Tag::Release) || scene.has(id, Tag::Acquire)
}
