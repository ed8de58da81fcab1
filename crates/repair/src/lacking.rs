//! Why a change of the general search (`fix`) is needed: what stands there now and orders too little, or what is not there. The
//! proposers know the reason before the change; here it is read off the change and the race that it takes away.

use fencepost_program::program::Place;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::reason::{Announcing, Arriving, Fencing, Parity, Reason, Scoping, Strength, Waiting};
use fencepost_report::site::{Site, ThreadName};
use fencepost_syntax::Span;
use fencepost_syntax::instruction::{Instruction, Operand};

use crate::edit::apply::parsed;
use crate::edit::{Change, Edit, Semantics, scope_word};
use crate::propose::phase::buffer_release;
use crate::propose::{adjust, proxy_fence};
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, instruction};
use crate::scene::site::number;
use crate::scene::statement::{self, Here, has};

/// The change with its reason, where there is one, and with the section that says what it brings.
pub(crate) fn explained(scene: &Scene<'_>, pair: Option<(EventId, EventId)>, edit: &Edit) -> Edit {
    let own = |thread: ThreadId, span| statement::starting_at(scene, thread, span);
    let mut change = edit.change.clone();
    let (reason, section) = match &mut change {
        Change::Strengthen { thread, span, semantics, scope } => {
            let here = own(*thread, *span);
            let wider = scope.map(|scope| here.and_then(|here| adjust::too_narrow(scene, here, scope)));
            if semantics.is_some() {
                // A scope that the instruction has already is not told.
                *scope = scope.filter(|scope| !here.is_some_and(|own| own.has(scope_word(*scope))));
            }
            match semantics {
                Some(semantics) => here.map_or((None, sections::PATTERNS), |here| stronger(scene, here, *semantics)),
                None if is_racing(scene, pair, (*thread, *span)) => {
                    let reason = Scoping::ScopeNarrow { at: scene.site_at(*thread, *span) };
                    (Some(reason.into()), sections::MORALLY_STRONG)
                }
                None => wider.flatten().map_or((None, sections::SCOPE), |(reason, section)| (Some(reason), section)),
            }
        }
        Change::Replace { thread, span, by } if by.starts_with("fence.sc") => {
            (Some(not_sequentially_consistent(scene, *thread, *span).into()), "8.9.3, 9.7.15.4")
        }
        Change::Replace { thread, span, by } => {
            own(*thread, *span).map_or((None, sections::FENCE), |here| replaced(scene, pair, here, by))
        }
        Change::Return { thread, span } => {
            let reason = Strength::ReturnsNothing { at: scene.site_at(*thread, *span) };
            (Some(reason.into()), "8.11.1, 8.8")
        }
        Change::Count { name, by, .. } => (Some(counted(scene, name, *by)), sections::MBARRIER),
        Change::Insert { at } => match at.as_slice() {
            [(anchor, text)] => inserted(scene, pair, anchor, text),
            _ => (None, sections::FENCE),
        },
        _ => (None, sections::FENCE),
    };
    Edit { change, reason, section, cost: edit.cost }
}

/// A fence that has to be `fence.sc`: between a write and a later read no other orders them (PTX ISA 8.9.3).
pub(crate) fn not_sequentially_consistent(scene: &Scene<'_>, thread: ThreadId, span: Span) -> Strength {
    let at = scene.site_at(thread, span);
    let events = scene.main_events(thread);
    let (before, after): (Vec<EventId>, Vec<EventId>) =
        events.into_iter().partition(|id| scene.event(*id).span.start < span.start);
    let is_between =
        before.into_iter().any(|id| scene.has(id, Tag::Write)) && after.into_iter().any(|id| scene.has(id, Tag::Read));
    if is_between { Strength::WritesThenReads { at } } else { Strength::NotSequentiallyConsistent { at } }
}

fn accesses(pair: Option<(EventId, EventId)>) -> impl Iterator<Item = EventId> {
    pair.into_iter().flat_map(|(first, second)| [first, second])
}

fn is_racing(scene: &Scene<'_>, pair: Option<(EventId, EventId)>, (thread, span): (ThreadId, Span)) -> bool {
    accesses(pair).any(|id| scene.thread(id) == Some(thread) && scene.event(scene.at(id)).span == span)
}

/// An instruction whose words order too little.
fn stronger(scene: &Scene<'_>, here: Here<'_>, semantics: Semantics) -> (Option<Reason>, &'static str) {
    let at = here.site(scene);
    let is_strong = ["relaxed", "acquire", "release", "acq_rel", "mmio"].into_iter().any(|word| here.has(word));
    let is_weak = matches!(here.opcode(), "ld" | "st") && !is_strong;
    let reason = match semantics {
        Semantics::Relaxed => Strength::WeakMeanwhile { at },
        _ if here.has("volatile") => Strength::OnlyVolatile { at },
        _ if here.opcode() == "barrier" => Strength::RelaxedBarrier { at },
        Semantics::Acquire if here.has("release") => Strength::AcquiresNothing { at },
        Semantics::Release if here.has("acquire") => Strength::ReleasesNothing { at },
        _ if is_weak => Strength::Weak { at },
        _ => Strength::Relaxed { at },
    };
    let section = match (semantics, here.opcode()) {
        (Semantics::Relaxed, _) => sections::MORALLY_STRONG,
        (_, "mbarrier") => "9.7.15.16, 8.8",
        (_, "barrier") => sections::BARRIER_CLUSTER,
        _ => sections::PATTERNS,
    };
    (Some(reason.into()), section)
}

/// A word or a number that is mistaken.
fn replaced(
    scene: &Scene<'_>,
    pair: Option<(EventId, EventId)>,
    here: Here<'_>,
    by: &str,
) -> (Option<Reason>, &'static str) {
    let new = parsed(by).and_then(|all| all.into_iter().find_map(|it| instruction(&it).cloned()));
    let (old, Some(new)) = (here.instruction, new) else { return (None, sections::FENCE) };
    let last = |it: &Instruction| match it.operands.last().map(|it| &it.node) {
        Some(Operand::Integer(value)) => Some(number(*value)),
        _ => None,
    };
    let at = here.site(scene);
    let reason: Option<Reason> = match (last(old), last(&new)) {
        (Some(old_mask), Some(mask)) if is_multicast(old) => left_out(scene, at, mask & !old_mask),
        _ if old.opcode.node != "mbarrier" => None,
        _ if new.opcode.node == "cp" => Some(Arriving::ArrivesBeforeCopies { arrival: at }.into()),
        (Some(_), Some(_)) if has(old, "parity") && pair.is_some() => {
            Some(Parity::AsksForPhaseBefore { wait: at }.into())
        }
        (Some(_), Some(_)) if has(old, "parity") => Some(Parity::PhaseNeverComes { wait: at }.into()),
        (Some(announced), Some(come)) if has(old, "expect_tx") && pair.is_none() && come < announced => {
            Some(Announcing::AnnouncesMore { at, announced, come }.into())
        }
        (Some(announced), Some(copied)) if has(old, "expect_tx") => {
            Some(Announcing::AnnouncesOther { at, announced, copied }.into())
        }
        (None, Some(copied)) if has(&new, "expect_tx") => Some(Announcing::AnnouncesNone { at, copied }.into()),
        _ => None,
    };
    (reason, statement::section(old))
}

fn is_multicast(found: &Instruction) -> bool {
    found.modifiers.iter().any(|word| word.node.starts_with("multicast"))
}

/// A multicast that leaves a CTA out, by the bit of its rank.
fn left_out(scene: &Scene<'_>, copy: Site, added: i64) -> Option<Reason> {
    let is_added =
        |cta: u32| added.checked_shr(buffer_release::rank(scene, cta) as u32).is_some_and(|bits| bits & 1 == 1);
    let named = scene.unfolding.threads.iter().find_map(|thread| match thread.place {
        Place::Gpu { cta, .. } if is_added(cta) => Some((cta, &thread.name)),
        _ => None,
    });
    let (cta, waiter) = named?;
    Some(Announcing::MulticastLeavesOut { copy, cta, waiter: ThreadName(waiter.to_string()) }.into())
}

/// An mbarrier that waits for another number of arrivals than there are.
fn counted(scene: &Scene<'_>, name: &str, by: i128) -> Reason {
    let mbarrier = name.to_owned();
    match by < 0 {
        true => Arriving::CountTooLarge { mbarrier }.into(),
        false => {
            let threads = adjust::arriving(scene).remove(name).unwrap_or_default();
            let threads = threads.iter().map(|thread| scene.thread_named(*thread)).collect();
            Arriving::PhaseOverWithoutArrival { threads, mbarrier }.into()
        }
    }
}

/// An instruction that is not there.
fn inserted(
    scene: &Scene<'_>,
    pair: Option<(EventId, EventId)>,
    anchor: &Anchor,
    text: &str,
) -> (Option<Reason>, &'static str) {
    let thread = || scene.thread_named(anchor.thread);
    let asynchronous = accesses(pair).find(|id| !scene.is_main(*id));
    if text.starts_with("fence.proxy.") {
        let apart = pair.filter(|(first, second)| scene.proxy(*first) != scene.proxy(*second));
        return (apart.map(|pair| proxy_fence::apart(scene, pair, None).into()), sections::FENCE);
    }
    if text.starts_with("tcgen05.fence::before") {
        let reason = Fencing::NotOrderedBeforeSynchronisation { thread: thread() };
        return (Some(reason.into()), sections::TCGEN05_PATTERNS);
    }
    if text.starts_with("tcgen05.fence::after") {
        let reason = Fencing::NotOrderedAfterSynchronisation { thread: thread() };
        return (Some(reason.into()), sections::TCGEN05_PATTERNS);
    }
    if text.contains(".wait") {
        let reason = asynchronous.map(|id| Waiting::NothingWaitsFor { operation: scene.site(id) }.into());
        return (reason, sections::COMPLETION_MECHANISMS);
    }
    let neighbours = neighbours(scene, anchor);
    let between = |(first, second): (EventId, EventId)| (scene.site(first), scene.site(second));
    if text.starts_with("fence.sc") {
        let reason = neighbours.map(between).map(|(first, second)| Strength::NoFenceScBetween { first, second }.into());
        return (reason, "8.9.3, 9.7.15.4");
    }
    if text.starts_with("fence.acq_rel") {
        let reason = neighbours.map(between).map(|(first, second)| Strength::NothingKeeps { first, second }.into());
        return (reason, "8.8, 9.7.15.4");
    }
    (None, sections::FENCE)
}

/// The accesses before and behind a gap.
fn neighbours(scene: &Scene<'_>, anchor: &Anchor) -> Option<(EventId, EventId)> {
    let is_access = |id: &EventId| scene.has(*id, Tag::Read) || scene.has(*id, Tag::Write);
    let is_before = |id: &EventId| {
        let start = scene.event(*id).span.start;
        start < anchor.span.start || start == anchor.span.start && anchor.side == Side::After
    };
    let own: Vec<EventId> = scene.main_events(anchor.thread).into_iter().filter(is_access).collect();
    let before = own.iter().copied().rfind(is_before)?;
    let behind = own.into_iter().find(|id| !is_before(id))?;
    Some((before, behind))
}
