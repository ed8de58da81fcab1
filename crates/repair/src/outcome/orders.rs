//! `fence.sc` between the pairs of a critical cycle: there is nothing stronger (PTX ISA 8.9.3). Which cheaper orders do is asked of
//! the engine of `fix`; these say whether orders do at all, and mend what is too much for that engine.

use fencepost_program::EventId;
use fencepost_program::program::Scope;
use fencepost_program::tag::Tag;
use fencepost_report::reason::Strength;
use fencepost_syntax::instruction::Instruction;

use crate::edit::{Change, Edit, scope_word};
use crate::lacking::not_sequentially_consistent;
use crate::outcome::cycle::{Cycle, Step};
use crate::scene::Scene;
use crate::scene::anchor::Side;

const SECTION: &str = "8.9.3, 9.7.15.4";

/// One in place of a fence between the two accesses of each pair, or right before the second.
pub(crate) fn fences(scene: &Scene<'_>, cycle: &Cycle) -> Vec<Edit> {
    let apart = cycle.edges.iter().filter(|edge| edge.step != Step::Program);
    let scope = apart.map(|edge| scene.common(edge.from, edge.to)).max().unwrap_or(Scope::Sys);
    let text = format!("fence.sc.{}", scope_word(scope));
    let fence = |(first, second): (EventId, EventId)| {
        if let Some(own) = standing(scene, (first, second)) {
            let (thread, span) = (scene.thread(first)?, own.span());
            let reason = not_sequentially_consistent(scene, thread, span);
            return Some(Edit::new(Change::Replace { thread, span, by: format!("{text};") }, reason, SECTION, 0));
        }
        let anchor = scene.anchor(scene.at(second), Side::Before)?;
        let reason = Strength::NoFenceScBetween { first: scene.site(first), second: scene.site(second) };
        Some(Edit::insert(anchor, &text, reason, SECTION, 0))
    };
    cycle.delays(scene).into_iter().filter_map(fence).collect()
}

/// A fence of memory between the two that is not sequentially consistent.
fn standing<'s>(scene: &'s Scene<'_>, (first, second): (EventId, EventId)) -> Option<&'s Instruction> {
    let between = scene.between(scene.at(first), Some(scene.at(second)));
    between.into_iter().rev().find(|it| {
        let is_acq_rel = it.modifiers.first().is_some_and(|word| word.node == "acq_rel");
        it.opcode.node == "fence" && it.guard.is_none() && is_acq_rel && it.modifiers.len() == 2
    })
}

/// Whether a release, an acquire or a fence keeps the first before the second.
pub(crate) fn is_ordered(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> bool {
    let has = |id: EventId, half: Tag| scene.has(id, half) || scene.has(id, Tag::AcqRel);
    let fences = |it: &Instruction| matches!(it.opcode.node.as_str(), "fence" | "membar");
    has(first, Tag::Acquire)
        || has(second, Tag::Release)
        || scene.between(scene.at(first), Some(scene.at(second))).into_iter().any(fences)
}
