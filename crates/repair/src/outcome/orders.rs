//! `fence.sc` between the pairs of a critical cycle: there is nothing stronger (PTX ISA 8.9.3). Which cheaper orders do is asked of
//! the engine of `fix`; these say whether orders do at all, and mend what is too much for that engine.

use fencepost_check::test::Test;
use fencepost_program::EventId;
use fencepost_program::program::Scope;
use fencepost_report::reason::Strength;
use fencepost_syntax::instruction::Instruction;

use crate::edit::{Change, Edit, scope_word};
use crate::lacking::not_sequentially_consistent;
use crate::outcome::cycle::{Cycle, Step, cycles};
use crate::scene::Scene;
use crate::scene::anchor::Side;
use crate::verify::{Shown, Verifier, rounds};

const SECTION: &str = "8.9.3, 9.7.15.4";

/// How often fences are put in.
const ROUNDS: usize = 8;

/// What fences leave.
pub(crate) enum Left {
    Nothing(Vec<Edit>),
    /// An execution without a cycle.
    Interleaving(Vec<Edit>, Box<Shown>),
}

/// Puts fences in until a question has its answer.
pub(crate) struct Fencing<'s, 'a> {
    pub(crate) verifier: &'s Verifier<'a>,
    pub(crate) question: usize,
}

impl Fencing<'_, '_> {
    /// Fences between all pairs of a cycle, then of a cycle of what is left, and so on.
    pub(crate) fn break_cycles(&self, scene: &Scene<'_>, first: &Cycle) -> Option<Left> {
        let mut edits = fences(scene, first);
        for _ in 0..ROUNDS {
            if edits.is_empty() {
                return None;
            }
            if self.mends(scene, &edits) {
                return Some(Left::Nothing(self.cut(scene, edits)));
            }
            let shown = self.verifier.shown(&edits, self.question)?;
            let test = changed(scene.test, &edits)?;
            let changed = Scene::new(&test, &shown.unfolding, &shown.execution, scene.model);
            let left = cycles(&changed);
            if left.is_empty() {
                return Some(Left::Interleaving(edits, Box::new(shown)));
            }
            let more = left.iter().map(|cycle| fences(&changed, cycle));
            let more = more.map(|more| more.into_iter().filter(|edit| is_new(&edits, edit)).collect::<Vec<_>>());
            let more = more.into_iter().find(|more| !more.is_empty())?;
            edits.extend(more);
        }
        None
    }

    pub(crate) fn mends(&self, scene: &Scene<'_>, edits: &[Edit]) -> bool {
        self.verifier.mends(&edits.iter().collect::<Vec<_>>(), rounds::stages(scene))
    }

    /// Leaves out what is not needed.
    fn cut(&self, scene: &Scene<'_>, mut edits: Vec<Edit>) -> Vec<Edit> {
        for at in (0..edits.len()).rev() {
            let mut fewer = edits.clone();
            fewer.remove(at);
            if !fewer.is_empty() && self.mends(scene, &fewer) {
                edits = fewer;
            }
        }
        edits
    }
}

/// The test with these changes in its tree.
pub(crate) fn changed(test: &Test, edits: &[Edit]) -> Option<Test> {
    let mut changed = test.clone();
    changed.litmus = Edit::apply_all(&edits.iter().collect::<Vec<_>>(), &test.litmus)?;
    Some(changed)
}

/// Whether a change is not made already, with the same words or with others.
fn is_new(made: &[Edit], edit: &Edit) -> bool {
    !made.iter().any(|known| known.change == edit.change)
}

/// One in place of a fence between the two accesses of each pair, or right before the second.
fn fences(scene: &Scene<'_>, cycle: &Cycle) -> Vec<Edit> {
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
