//! What a wait lacks that never ends, one mbarrier at a time (PTX ISA 9.7.15.16): the announcement of a copy that tells it of
//! its bytes, a commit of what the tensor core does, an arrival of a thread, which may be one of another CTA.
//!
//! Where it belongs is a matter of the text: a copy is announced before it by the thread that starts it, a commit stands behind
//! the last operation it speaks for, an arrival behind what the thread has used.

use fencepost_axiom::base::narrowest_common;
use fencepost_program::expression::{BinaryOperator, Expression};
use fencepost_program::mbarrier::Operator;
use fencepost_program::program::asynchronous::TensorKind;
use fencepost_program::program::{Place, Scope};
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{EventKind, TraceEnd};
use fencepost_program::{EventId, LocationId, ThreadId};
use fencepost_report::reason::{Announcing, Arriving};
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Declaration, InitialValue, Statement};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::SortedSet;

use crate::edit::Edit;
use crate::propose::phase::buffer_release;
use crate::scene::anchor::{Anchor, Side, instruction, position};
use crate::scene::mbarrier_uses::{address, is_wait};
use crate::scene::site::number;
use crate::scene::slots::{Unit, UnitKind, units};
use crate::scene::statement::{Role, role};
use crate::scene::{Scene, loops};

const SECTION: &str = sections::MBARRIER;
const COST: u32 = 0;
/// Places that are tried for an arrival on one mbarrier.
const MOST: usize = 24;

/// What is told of operations of the tensor core behind them.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Told {
    Nowhere,
    /// By another commit, or by the thread, which has a fence before its own arrival.
    Elsewhere,
}

/// An mbarrier that a thread waits on for good.
struct Awaited {
    location: LocationId,
    wait: EventId,
    waiter: ThreadId,
}

fn awaited(scene: &Scene<'_>) -> Vec<Awaited> {
    let mut found: Vec<Awaited> = Vec::new();
    for trace in scene.execution.traces.iter().filter_map(|it| scene.unfolding.traces.get(it.index())) {
        let TraceEnd::Spin { reads, .. } = &trace.end else { continue };
        for wait in reads.iter().copied().filter(|read| is_wait(scene, *read)) {
            let (Some(location), Some(waiter)) = (scene.event(wait).location(), scene.thread(wait)) else { continue };
            if found.iter().all(|known| known.location != location) {
                found.push(Awaited { location, wait, waiter });
            }
        }
    }
    found
}

/// Copies that nobody announces, and operations of the tensor core that nobody commits: without them nothing that a thread
/// does itself can stand for their end.
pub(crate) fn asynchronous(scene: &Scene<'_>) -> Vec<Edit> {
    let all = awaited(scene);
    let copies = all.iter().flat_map(|own| announcements(scene, own));
    copies.chain(all.iter().flat_map(|own| commits(scene, own, Told::Nowhere))).collect()
}

/// Arrivals of other threads than the one that waits, and commits that are less likely than they are.
pub(crate) fn arrivals(scene: &Scene<'_>) -> Vec<Edit> {
    let all = awaited(scene);
    let threads = all.iter().flat_map(|own| arrives(scene, own));
    threads.chain(all.iter().flat_map(|own| commits(scene, own, Told::Elsewhere))).collect()
}

fn name<'s>(scene: &Scene<'s>, location: LocationId) -> &'s str {
    let name = scene.unfolding.locations.get(location.index()).map_or("", |own| own.name.as_str());
    name.split('@').next().unwrap_or(name)
}

fn owner(scene: &Scene<'_>, location: LocationId) -> Option<Place> {
    scene.unfolding.locations.get(location.index())?.owner
}

/// Statements one after the other that are all executed if the first is, without a wait between them.
fn stretches(body: &[Statement]) -> Vec<Vec<Unit>> {
    let mut found = vec![Vec::new()];
    for unit in units(body) {
        match unit.kind {
            UnitKind::Instruction => found.last_mut().into_iter().for_each(|own| own.push(unit.clone())),
            UnitKind::Loop | UnitKind::Wall => found.push(Vec::new()),
        }
    }
    found.retain(|stretch| !stretch.is_empty());
    found
}

fn within<'s>(body: &'s [Statement], stretch: &[Unit]) -> Vec<&'s Instruction> {
    stretch.iter().filter_map(|unit| instruction(body.get(unit.first)?)).collect()
}

/// An asynchronous operation by its instruction.
struct Operation {
    thread: ThreadId,
    at: usize,
    /// That it tells the mbarrier of.
    bytes: i128,
    group: u8,
}

/// Of all traces, for a thread that is stuck has not come to everything; each instruction once.
fn operations(scene: &Scene<'_>, of: impl Fn(EventId) -> Option<(i128, u8)>) -> Vec<Operation> {
    let mut found: Vec<Operation> = Vec::new();
    for id in (0..scene.unfolding.events.len() as u32).map(EventId) {
        let Some((bytes, group)) = of(id) else { continue };
        let issue = scene.at(id);
        let Some(thread) = scene.thread(issue) else { continue };
        let Some(at) = position(&scene.test.litmus, thread, scene.event(issue).span) else { continue };
        if found.iter().all(|known| (known.thread, known.at) != (thread, at)) {
            found.push(Operation { thread, at, bytes, group });
        }
    }
    found.shared_sort_by_key(|own| (own.thread, own.at));
    found
}

/// The bytes that a completion tells this mbarrier of.
fn told(scene: &Scene<'_>, id: EventId, location: LocationId) -> Option<i128> {
    let event = scene.event(id);
    let own = event.strand.is_some() && event.location() == Some(location);
    match &event.kind {
        EventKind::Write {
            value: Expression::Binary(BinaryOperator::Mbarrier(Operator::CompleteTx), _, _, bytes),
            ..
        } if own => match **bytes {
            Expression::Constant(bytes) => Some(bytes.0),
            _ => None,
        },
        _ => None,
    }
}

/// Before the first copy of a stretch, all its bytes; those that another CTA copies are announced where they are waited for.
fn announcements(scene: &Scene<'_>, own: &Awaited) -> Vec<Edit> {
    let copies = operations(scene, |id| told(scene, id, own.location).map(|bytes| (bytes, 0)));
    let is_near = |copy: &&Operation| owner(scene, own.location).is_none_or(|it| it == scene.home(copy.thread));
    let mut found = Vec::new();
    for thread in copies.iter().filter(is_near).map(|copy| copy.thread).collect::<SortedSet<_>>() {
        let body = scene.body(thread);
        for stretch in stretches(body) {
            let inside = |copy: &&Operation| copy.thread == thread && stretch.iter().any(|unit| unit.first == copy.at);
            let here: Vec<&Operation> = copies.iter().filter(inside).collect();
            let Some(first) = here.first().and_then(|copy| instruction(body.get(copy.at)?)) else { continue };
            let Some(operand) = address(scene, first) else { continue };
            let announces = |it: &&Instruction| {
                it.modifiers.iter().any(|word| word.node == "expect_tx")
                    && address(scene, it).as_ref() == Some(&operand)
            };
            if !within(body, &stretch).iter().any(announces) {
                let bytes = here.iter().map(|copy| copy.bytes).sum();
                let at = Anchor { thread, span: first.span(), side: Side::Before };
                found.push(announced(scene, at, (&operand, bytes), (thread, first)));
            }
        }
    }
    let remote = copies.iter().find(|copy| !is_near(copy));
    if let (Some(copy), Some(wait)) = (remote, scene.statement(own.wait))
        && let (Some(at), Some(operand)) = (scene.anchor(own.wait, Side::Before), address(scene, wait))
        && let Some(first) = scene.body(copy.thread).get(copy.at).and_then(instruction)
    {
        let bytes = copies.iter().filter(|it| it.thread == copy.thread).map(|it| it.bytes).sum();
        let bare = Instruction { guard: None, ..first.clone() };
        found.push(announced(scene, at, (&operand, bytes), (copy.thread, &bare)));
    }
    found
}

fn announced(
    scene: &Scene<'_>,
    at: Anchor,
    (operand, bytes): (&str, i128),
    (thread, copy): (ThreadId, &Instruction),
) -> Edit {
    let text = format!("{}mbarrier.arrive.expect_tx.shared::cta.b64 _, [{operand}], {bytes}", guard(copy));
    let (copy, mbarrier) = (scene.site_at(thread, copy.span()), operand.to_owned());
    let reason = Announcing::Unannounced { copy, bytes: number(bytes), mbarrier };
    Edit::insert(at, &text, reason, SECTION, COST)
}

/// What is done for an instruction that not every thread executes is done by the same threads.
fn guard(instruction: &Instruction) -> String {
    instruction.guard.as_ref().map_or(String::new(), |guard| {
        let not = if guard.negated { "!" } else { "" };
        format!("@{not}{} ", guard.register.node)
    })
}

/// Behind the last operation of a stretch, of those that are told so (PTX ISA 9.7.18.6.4).
fn commits(scene: &Scene<'_>, own: &Awaited, told: Told) -> Vec<Edit> {
    let started = operations(scene, |id| {
        let tensor = scene.event(id).strand.as_ref()?.tensor?;
        (!matches!(tensor.kind, TensorKind::Ld | TensorKind::St)).then_some((0, tensor.group.max(1)))
    });
    let mut found = Vec::new();
    for thread in started.iter().map(|it| it.thread).collect::<SortedSet<_>>() {
        let body = scene.body(thread);
        let Some((operand, _)) = operand(scene, own.location, thread) else { continue };
        for stretch in stretches(body) {
            let inside = |it: &&Operation| it.thread == thread && stretch.iter().any(|unit| unit.first == it.at);
            let Some(last) = started.iter().rfind(inside) else { continue };
            let Some(operation) = body.get(last.at).and_then(instruction) else { continue };
            let behind: Vec<Unit> = stretch.iter().filter(|unit| unit.first > last.at).cloned().collect();
            let is_told = |it: &&Instruction| {
                let tells = |word: &str| matches!(word, "commit" | "fence::before_thread_sync");
                it.opcode.node == "tcgen05" && it.modifiers.iter().any(|word| tells(&word.node))
            };
            let here = if within(body, &behind).iter().any(is_told) { Told::Elsewhere } else { Told::Nowhere };
            if here != told {
                continue;
            }
            let group = last.group;
            let text = format!(
                "{}tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster.b64 [{operand}]",
                guard(operation)
            );
            let reason = Arriving::NothingTells {
                operation: scene.site_at(thread, operation.span()),
                waiter: scene.thread_named(own.waiter),
                mbarrier: name(scene, own.location).to_owned(),
            };
            let at = Anchor { thread, span: operation.span(), side: Side::After };
            found.push(Edit::insert(at, &text, reason, sections::TCGEN05_PATTERNS, COST));
        }
    }
    found
}

/// How a thread writes the address of the mbarrier, and what it has to compute for it before: as it does elsewhere, by a register
/// that has it at the start, by its name, or by `mapa` where it is another CTA's.
fn operand(scene: &Scene<'_>, location: LocationId, thread: ThreadId) -> Option<(String, Option<String>)> {
    for id in (0..scene.unfolding.events.len() as u32).map(EventId) {
        let event = scene.event(id);
        let uses = event.thread == Some(thread) && event.location() == Some(location) && event.tags.has(Tag::Mbarrier);
        if uses
            && let Some(at) = position(&scene.test.litmus, thread, event.span)
            && let Some(text) = scene.body(thread).get(at).and_then(instruction).and_then(|it| address(scene, it))
        {
            return Some((text, None));
        }
    }
    let name = name(scene, location);
    let whole = scene.unfolding.locations.get(location.index()).map_or("", |own| own.name.as_str());
    for declaration in &scene.test.litmus.declarations {
        if let Declaration::Register { thread: own, register, value } = &declaration.node
            && *own as usize == thread.index()
            && matches!(&value.node, InitialValue::Name(held) if held == whole)
        {
            return Some((register.node.clone(), None));
        }
    }
    let is_plain = name.chars().all(|it| it.is_alphanumeric() || it == '_');
    match owner(scene, location) {
        _ if !is_plain => None,
        None => Some((name.to_owned(), None)),
        Some(owner) if owner == scene.home(thread) => Some((name.to_owned(), None)),
        Some(Place::Gpu { cta, .. }) => Some(match mapped(scene, thread, name) {
            Some(register) => (register, None),
            None => {
                let rank = buffer_release::rank(scene, cta);
                ("%peer".to_owned(), Some(format!("mapa.shared::cluster.u32 %peer, {name}, {rank};\n")))
            }
        }),
        Some(Place::Host) => None,
    }
}

/// A register that the thread has made the address of the mbarrier in a CTA of the cluster.
fn mapped(scene: &Scene<'_>, thread: ThreadId, name: &str) -> Option<String> {
    let named = |operand: &Operand| matches!(operand, Operand::Symbol(symbol) if symbol == name);
    let mut all = scene.body(thread).iter().filter_map(instruction).filter(|it| it.opcode.node == "mapa");
    let made = all.find(|it| it.operands.iter().any(|operand| named(&operand.node)))?;
    match &made.operands.first()?.node {
        Operand::Register(register) => Some(register.to_string()),
        _ => None,
    }
}

/// An arrival of each thread that could, behind what it has used, the last place first; threads that arrive nowhere else on the
/// mbarrier come first.
fn arrives(scene: &Scene<'_>, own: &Awaited) -> Vec<Edit> {
    let mut found: Vec<(bool, Edit)> = Vec::new();
    let name = name(scene, own.location);
    let reason = Arriving::TooFewArrive { waiter: scene.thread_named(own.waiter), mbarrier: name.to_owned() };
    for thread in (0..scene.unfolding.threads.len() as u32).map(ThreadId).filter(|it| *it != own.waiter) {
        let near = owner(scene, own.location).map_or(Scope::Cta, |it| narrowest_common(it, scene.home(thread)));
        let (Some((operand, made)), true) = (operand(scene, own.location, thread), near <= Scope::Cluster) else {
            continue;
        };
        let arrive = match near {
            Scope::Cta => "mbarrier.arrive.shared::cta.b64",
            _ => "mbarrier.arrive.release.cluster.shared::cluster.b64",
        };
        let text = format!("{}{arrive} _, [{operand}]", made.unwrap_or_default());
        let arrives = |id: &EventId| {
            let event = scene.event(*id);
            let writes = event.tags.has(Tag::Write) && !event.tags.has(Tag::MbarrierInit);
            event.thread == Some(thread) && event.location() == Some(own.location) && writes
        };
        let already = (0..scene.unfolding.events.len() as u32).map(EventId).any(|id| arrives(&id));
        for at in places(scene.body(thread), thread) {
            found.push((already, Edit::insert(at, &text, reason.clone(), SECTION, COST)));
        }
    }
    found.shared_sort_by_key(|(already, _)| *already);
    found.into_iter().map(|(_, edit)| edit).take(MOST).collect()
}

/// Behind accesses and waits, the last first; then before what a round or a thread begins with. What is behind a barrier is
/// seldom meant to come before it for others.
fn places(body: &[Statement], thread: ThreadId) -> Vec<Anchor> {
    let units = units(body);
    let last = |unit: &Unit| body.get(unit.first..=unit.last)?.iter().filter_map(instruction).next_back();
    let counts = |it: &Instruction| !loops::is_quiet(it) && role(it) != Some(Role::Meets);
    let behind = units.iter().rev().filter(|unit| unit.kind != UnitKind::Wall);
    let behind = behind.filter_map(|unit| last(unit).filter(|it| unit.kind == UnitKind::Loop || counts(it)));
    let mut found: Vec<Anchor> = behind.map(|it| Anchor { thread, span: it.span(), side: Side::After }).collect();
    for (at, unit) in units.iter().enumerate().filter(|(_, unit)| unit.kind != UnitKind::Wall) {
        let begins = at.checked_sub(1).and_then(|before| units.get(before)).is_none_or(|it| it.kind == UnitKind::Wall);
        let first = body.get(unit.first..=unit.last).and_then(|own| own.iter().find_map(instruction));
        found.extend(first.filter(|_| begins).map(|it| Anchor { thread, span: it.span(), side: Side::Before }));
    }
    found
}
