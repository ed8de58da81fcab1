//! What would order the pairs of a critical cycle: a release or an acquire on one of the two, a fence between them, a wider or
//! a stronger one where one stands (PTX ISA 8.8, 8.9.3).

use fencepost_program::EventId;
use fencepost_program::program::Scope;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_report::reason::{Scoping, Strength};
use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::sorted::SharedSort as _;

use crate::edit::{self, Change, Edit, SCOPES, Semantics, scope_word};
use crate::outcome::cycle::{Cycle, Step, is_flag};
use crate::propose::way::message::returning;
use crate::scene::Scene;
use crate::scene::anchor::Side;

const COST: u32 = 0;
/// Of the PTX ISA: scopes.
const NARROW: &str = sections::SCOPE;
/// Sets that are tried for one cycle.
const MOST: usize = 100;

/// Sets of changes, one or none for each pair, the smallest first.
pub(crate) fn sets(scene: &Scene<'_>, cycle: &Cycle) -> Vec<Vec<Edit>> {
    let scope = scope(scene, cycle);
    let mut found: Vec<Vec<Edit>> = vec![Vec::new()];
    for pair in cycle.delays(scene) {
        let options = options(scene, pair, scope);
        let with = |set: &Vec<Edit>| {
            let more = options.iter().map(|edit| set.iter().cloned().chain([edit.clone()]).collect());
            [set.clone()].into_iter().chain(more).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(with).collect();
        found.sort_by_cached_key(|set| rank(scene, set));
        found.truncate(MOST * 8);
    }
    found.retain(|set| !set.is_empty());
    found.truncate(MOST);
    found
}

/// The smallest first, a fence that is there and too narrow before anything else, and of those as large the ones about flags.
pub(crate) fn rank(scene: &Scene<'_>, set: &[Edit]) -> (u32, usize) {
    let narrow = set.iter().filter(|edit| edit.section == NARROW).count() as u32;
    let beside = set.iter().filter(|edit| !is_of_flag(scene, edit)).count();
    (edit::size(set).saturating_sub(2 * narrow), beside)
}

/// The same for every pair at once.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Measure {
    /// Releases and acquires, and fences where there is nothing that could have them.
    Messages,
    /// `fence.sc` between the two: there is nothing stronger.
    Sequential,
}

pub(crate) fn all(scene: &Scene<'_>, cycle: &Cycle, strength: Measure) -> Vec<Edit> {
    let scope = scope(scene, cycle);
    let one = |pair: (EventId, EventId)| match strength {
        Measure::Messages if is_ordered(scene, pair) => Vec::new(),
        // Too many rather than too few: what is not needed is left out again, words on data first.
        Measure::Messages => {
            let mut words = words(scene, cycle, pair, scope);
            words.shared_sort_by_key(|edit| !is_of_flag(scene, edit));
            if words.is_empty() {
                put(scene, pair, Side::Before, (Fence::Both, scope)).into_iter().collect()
            } else {
                words
            }
        }
        Measure::Sequential => {
            let there = standing(scene, pair, scope).into_iter().rev().find(|edit| edit.section != NARROW);
            let fence = there.or_else(|| put(scene, pair, Side::Before, (Fence::Sequential, scope)));
            fence.into_iter().collect()
        }
    };
    let mut found: Vec<Edit> = cycle.delays(scene).into_iter().flat_map(one).collect();
    found.sort_by_cached_key(|edit| !is_of_flag(scene, edit));
    found
}

/// A release on what another thread sees, an acquire on what sees it.
fn words(scene: &Scene<'_>, cycle: &Cycle, (first, second): (EventId, EventId), scope: Scope) -> Vec<Edit> {
    let mut found = Vec::new();
    found.extend(returning(scene, first));
    let seen = |edge: &&crate::outcome::cycle::Edge| edge.step == Step::Seen;
    if scene.has(first, Tag::Read) && cycle.edges.iter().filter(seen).any(|edge| edge.to == first) {
        found.extend(word(scene, first, Semantics::Acquire, scope));
    }
    if scene.has(second, Tag::Write) && cycle.edges.iter().filter(seen).any(|edge| edge.from == second) {
        found.extend(word(scene, second, Semantics::Release, scope));
    }
    found
}

/// Whether a change is about what threads ask for, not about what they hand over: something that is compared, updated, or an
/// mbarrier. An author puts the words there.
pub(crate) fn is_of_flag(scene: &Scene<'_>, edit: &Edit) -> bool {
    let Change::Strengthen { thread, span, .. } = &edit.change else { return true };
    let at = |id: &&EventId| scene.thread(**id) == Some(*thread) && scene.event(**id).span == *span;
    let Some(location) = scene.execution.events.iter().find(at).and_then(|id| scene.event(*id).location()) else {
        return true;
    };
    is_flag(scene, location)
}

/// What the threads of the cycle have in common.
fn scope(scene: &Scene<'_>, cycle: &Cycle) -> Scope {
    let apart = cycle.edges.iter().filter(|edge| edge.step != Step::Program);
    apart.map(|edge| scene.common(edge.from, edge.to)).max().unwrap_or(Scope::Sys)
}

fn options(scene: &Scene<'_>, pair: (EventId, EventId), scope: Scope) -> Vec<Edit> {
    let mut found = standing(scene, pair, scope);
    found.extend(returning(scene, pair.0));
    if scene.has(pair.0, Tag::Read) {
        found.extend(word(scene, pair.0, Semantics::Acquire, scope));
    }
    if scene.has(pair.1, Tag::Write) {
        found.extend(word(scene, pair.1, Semantics::Release, scope));
    }
    for fence in [Fence::Both, Fence::Sequential] {
        found.extend(put(scene, pair, Side::Before, (fence, scope)));
        found.extend(put(scene, pair, Side::After, (fence, scope)));
    }
    found
}

fn reason(scene: &Scene<'_>, (first, second): (EventId, EventId), fence: Fence) -> Strength {
    let (first, second) = (scene.site(first), scene.site(second));
    match fence {
        Fence::Both => Strength::NothingKeeps { first, second },
        Fence::Sequential => Strength::NoFenceScBetween { first, second },
    }
}

/// Whether a release, an acquire or a fence keeps the first before the second.
pub(crate) fn is_ordered(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> bool {
    let has = |id: EventId, half: Tag| scene.has(id, half) || scene.has(id, Tag::AcqRel);
    let fences = |it: &Instruction| matches!(it.opcode.node.as_str(), "fence" | "membar");
    has(first, Tag::Acquire)
        || has(second, Tag::Release)
        || scene.between(scene.at(first), Some(scene.at(second))).into_iter().any(fences)
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Fence {
    Both,
    Sequential,
}

/// A fence right before the second, or right behind the first.
fn put(scene: &Scene<'_>, pair: (EventId, EventId), side: Side, (fence, scope): (Fence, Scope)) -> Option<Edit> {
    let at = if side == Side::Before { pair.1 } else { pair.0 };
    let anchor = scene.anchor(scene.at(at), side)?;
    let (text, section) = match fence {
        Fence::Both => (format!("fence.acq_rel.{}", scope_word(scope)), "8.8, 9.7.15.4"),
        Fence::Sequential => (format!("fence.sc.{}", scope_word(scope)), "8.9.3, 9.7.15.4"),
    };
    Some(Edit::insert(anchor, &text, reason(scene, pair, fence), section, COST))
}

/// A fence between the two that is not wide or not strong enough.
fn standing(scene: &Scene<'_>, pair: (EventId, EventId), scope: Scope) -> Vec<Edit> {
    let Some(thread) = scene.thread(pair.0) else { return Vec::new() };
    let mut found = Vec::new();
    for fence in scene.between(scene.at(pair.0), Some(scene.at(pair.1))) {
        let has = |word: &str| fence.modifiers.iter().any(|own| own.node == word);
        if fence.opcode.node == "membar" && fence.guard.is_none() {
            found.extend(wider_membar(scene, pair.0, fence, scope));
        }
        let plain = fence.opcode.node == "fence" && fence.guard.is_none();
        if !plain || has("proxy") || has("mbarrier_init") || fence.modifiers.iter().any(restricted) {
            continue;
        }
        let span = fence.span();
        let at = scene.site_at(thread, span);
        let narrow = own_scope(fence).is_some_and(|own| own < scope);
        if narrow {
            let change = Change::Strengthen { thread, span, semantics: None, scope: Some(scope) };
            found.push(Edit::new(change, Scoping::ScopeExcludes { at: at.clone() }, NARROW, COST));
        }
        if !has("sc") {
            let by = format!("fence.sc.{};", scope_word(own_scope(fence).unwrap_or(scope).max(scope)));
            let change = Change::Replace { thread, span, by };
            found.push(Edit::new(change, Strength::NotSequentiallyConsistent { at }, "8.9.3, 9.7.15.4", COST));
        }
    }
    found
}

/// `membar.cta` where a wider one is needed.
fn wider_membar(scene: &Scene<'_>, beside: EventId, fence: &Instruction, scope: Scope) -> Option<Edit> {
    let has = |word: &str| fence.modifiers.iter().any(|own| own.node == word);
    let by = match scope {
        Scope::Gpu | Scope::Cluster if has("cta") => "membar.gl;",
        Scope::Sys if has("cta") || has("gl") => "membar.sys;",
        _ => return None,
    };
    let thread = scene.thread(beside)?;
    let reason = Scoping::ScopeExcludes { at: scene.site_at(thread, fence.span()) };
    let change = Change::Replace { thread, span: fence.span(), by: by.to_owned() };
    Some(Edit::new(change, reason, NARROW, COST))
}

fn restricted(word: &fencepost_syntax::Spanned<String>) -> bool {
    word.node.starts_with("sync_restrict")
}

fn own_scope(fence: &Instruction) -> Option<Scope> {
    let word = fence.modifiers.iter().find(|word| SCOPES.contains(&word.node.as_str()))?;
    [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys].into_iter().find(|scope| scope_word(*scope) == word.node)
}

/// A release or an acquire on the instruction itself.
fn word(scene: &Scene<'_>, id: EventId, semantics: Semantics, scope: Scope) -> Option<Edit> {
    let (event, instruction) = (scene.event(id), scene.statement(id)?);
    let has = |word: &str| instruction.modifiers.iter().any(|own| own.node == word);
    let own = if semantics == Semantics::Acquire { "acquire" } else { "release" };
    let mbarrier = instruction.opcode.node == "mbarrier";
    let waits = has("try_wait") || has("test_wait");
    let speaks = match instruction.opcode.node.as_str() {
        "ld" => semantics == Semantics::Acquire,
        "st" | "red" => semantics == Semantics::Release,
        "atom" => true,
        // Without a word it has the semantics already.
        "mbarrier" if has("relaxed") => waits == (semantics == Semantics::Acquire),
        _ => false,
    };
    if !speaks || !scene.is_main(id) || event.tags.has(Tag::Weak) || has(own) || has("acq_rel") || has("mmio") {
        return None;
    }
    let volatile = event.tags.has(Tag::Volatile);
    let at = scene.site(id);
    let reason = match () {
        () if volatile => Strength::OnlyVolatile { at },
        () if has("release") => Strength::AcquiresNothing { at },
        () if has("acquire") => Strength::ReleasesNothing { at },
        () => Strength::Relaxed { at },
    };
    let narrow = event.scope.is_some_and(|own| own < scope);
    let scope = Some(scope).filter(|_| volatile || narrow);
    let change = Change::Strengthen { thread: event.thread?, span: event.span, semantics: Some(semantics), scope };
    let section = if mbarrier { "9.7.15.16, 8.8" } else { sections::PATTERNS };
    Some(Edit::new(change, reason, section, COST))
}
