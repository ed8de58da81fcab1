//! An outcome that must not be, where nothing races: the read that misses a write, why it may, and what rules the outcome out.
//!
//! Either no interleaving of the threads has the outcome: then the execution has a critical cycle (`cycle`), and a piece of
//! synchronisation is missing between accesses of it (`orders`). Or an interleaving has it: then no fence helps, and several
//! accesses have to be one (`atomic`). Which it is, is found by putting fences in until the outcome is gone or is that of an
//! interleaving. What is told was checked again, in fewer and in more rounds of the test's loops too.

mod atomic;
mod cycle;
mod orders;

use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::litmus::QuestionKind;

use crate::check::Checked;
use crate::models::LoadedModel;
use crate::options::Options;
use crate::report::{Cause, Diagnosis, Missing};
use crate::test::Test;
use crate::verdict::Verdict;
use crate::witness;

use super::edit::Edit;
use super::phases;
use super::scene::{self, Scene};
use super::search;
use super::verify::Verifier;
use super::words;

use cycle::{Cycle, Step};

/// Questions of one test that are diagnosed, cycles of one execution that are looked at, and how often fences are put in.
const MOST_QUESTIONS: usize = 4;
const MOST_CYCLES: usize = 4;
const ROUNDS: usize = 4;

/// For a test without races: those say themselves what is missing.
pub(super) fn apply(test: &Test, model: &LoadedModel, options: &Options<'_>, checked: &mut Checked) {
    let evidence = &checked.evidence;
    let Some(unfolding) = evidence.unfolding.as_ref() else { return };
    let verifier = Verifier::new(test, model, options, Vec::new(), (unfolding, checked.report.executions));
    let watching = scene::watching(&model.model);
    let kinds = test.program.questions.iter().map(|question| question.kind);
    let broken = checked.report.questions.iter_mut().zip(kinds).zip(&evidence.witnesses).enumerate();
    let broken = broken.filter(|(_, ((answer, kind), _))| answer.verdict == Verdict::Violated && forbids(*kind));
    for (question, ((answer, _), witness)) in broken.take(MOST_QUESTIONS) {
        let Some(execution) = witness else { continue };
        let scene = Scene::new(test, unfolding, execution, &watching);
        answer.cause = Search { verifier: &verifier, question }.cause(&scene).map(Box::new);
    }
}

/// Whether the question is about what must not be.
fn forbids(kind: QuestionKind) -> bool {
    matches!(kind, QuestionKind::Forall | QuestionKind::Assert | QuestionKind::NotExists)
}

/// What was found: two accesses, why the outcome may be, what is missing, and whether that was checked.
struct Told {
    kind: &'static str,
    pair: (EventId, EventId),
    why: String,
    missing: Vec<Missing>,
    confirmed: bool,
}

impl Told {
    fn cause(self, scene: &Scene<'_>) -> Option<Cause> {
        let (first, second) = self.pair;
        let diagnosis = Diagnosis {
            first: scene.access(first)?,
            second: scene.access(second)?,
            why: self.why,
            missing: self.missing,
            confirmed: self.confirmed,
            under: None,
        };
        let access = |id: EventId| witness::access(scene.test, scene.unfolding, scene.event(id), scene.event(id).span);
        let location = scene.location(first).or(scene.location(second)).map(|location| location.name.clone());
        Some(Cause { kind: self.kind.to_owned(), first: access(first), second: access(second), location, diagnosis })
    }
}

struct Search<'s, 'a> {
    verifier: &'s Verifier<'a>,
    question: usize,
}

/// An execution of a changed test that answers the question as it should not be answered.
pub(super) struct Shown {
    pub(super) unfolding: Unfolding,
    pub(super) execution: Execution,
}

impl Search<'_, '_> {
    fn cause(&self, scene: &Scene<'_>) -> Option<Cause> {
        let cycles = cycle::all(scene);
        let Some(shortest) = cycles.first() else { return self.atomic(scene) };
        if let Some((cycle, edits)) = self.single(scene, &cycles, &[]) {
            return ordered(scene, cycle, &edits, true)?.cause(scene);
        }
        let mut edits = orders::strongest(scene, shortest);
        for _ in 0..ROUNDS {
            if self.mends(scene, &edits) {
                self.cut(scene, &mut edits);
                return ordered(scene, shortest, &edits, true)?.cause(scene);
            }
            let Some(shown) = self.verifier.shown(&edits, self.question) else { break };
            let mut test = scene.test.clone();
            test.litmus = Edit::apply_all(&edits.iter().collect::<Vec<_>>(), &scene.test.litmus)?;
            let changed = Scene::new(&test, &shown.unfolding, &shown.execution, scene.model);
            let left = cycle::all(&changed);
            let Some(next) = left.first() else { return self.atomic(&changed) };
            if let Some((_, more)) = self.single(&changed, &left, &edits) {
                let mut all: Vec<Edit> = edits.into_iter().chain(more).collect();
                self.cut(scene, &mut all);
                return ordered(scene, shortest, &all, true)?.cause(scene);
            }
            let more = orders::strongest(&changed, next);
            if more.iter().all(|edit| edits.contains(edit)) {
                break;
            }
            edits.extend(more.into_iter().filter(|edit| !edits.contains(edit)).collect::<Vec<_>>());
        }
        ordered(scene, shortest, &[], false)?.cause(scene)
    }

    /// What orders one of the cycles and leaves nothing wrong, beside changes that are made already.
    fn single<'c>(&self, scene: &Scene<'_>, cycles: &'c [Cycle], made: &[Edit]) -> Option<(&'c Cycle, Vec<Edit>)> {
        let mut sets: Vec<(&Cycle, Vec<Edit>)> = Vec::new();
        for cycle in cycles.iter().take(MOST_CYCLES) {
            sets.extend(orders::sets(scene, cycle).into_iter().map(|set| (cycle, set)));
        }
        sets.sort_by_key(|(_, set)| search::size(set));
        let mends = |(_, set): &(&Cycle, Vec<Edit>)| {
            let all: Vec<Edit> = made.iter().chain(set).cloned().collect();
            self.mends(scene, &all)
        };
        sets.into_iter().find(mends)
    }

    fn mends(&self, scene: &Scene<'_>, edits: &[Edit]) -> bool {
        self.verifier.mends(&edits.iter().collect::<Vec<_>>(), phases::rounds::stages(scene))
    }

    /// Leaves out what is not needed.
    fn cut(&self, scene: &Scene<'_>, edits: &mut Vec<Edit>) {
        for at in (0..edits.len()).rev() {
            let mut fewer = edits.clone();
            fewer.remove(at);
            if !fewer.is_empty() && self.mends(scene, &fewer) {
                *edits = fewer;
            }
        }
    }

    fn atomic(&self, scene: &Scene<'_>) -> Option<Cause> {
        let mends = |edits: &[Edit]| self.mends(scene, edits);
        atomic::told(scene, &mends)?.cause(scene)
    }
}

/// The story of a cycle and the pieces that break it.
fn ordered(scene: &Scene<'_>, cycle: &Cycle, edits: &[Edit], confirmed: bool) -> Option<Told> {
    let (kind, pair) = cycle.pair()?;
    let step = |edge: &cycle::Edge| {
        let (from, to) = (scene.called(edge.from), scene.called(edge.to));
        match edge.step {
            Step::Misses => format!("{from} misses {to}"),
            Step::Overwritten => format!("{to} comes behind {from}"),
            Step::Seen => format!("{to} sees {from}"),
            Step::Synchronizes | Step::Program => String::new(),
        }
    };
    let mut steps: Vec<&cycle::Edge> = cycle.communication().collect();
    steps.sort_by_key(|edge| edge.step);
    let steps: Vec<String> = steps.into_iter().map(step).collect();
    let story = steps.join(", and ");
    let reasons = words::reasons(edits);
    if edits.is_empty() {
        let why = format!("{story}: no interleaving does that, and no small change that was tried rules it out");
        let (ordered, open): (Vec<_>, Vec<_>) =
            cycle.delays(scene).into_iter().partition(|pair| orders::is_ordered(scene, *pair));
        let between = if open.is_empty() { ordered } else { open };
        let between = between.into_iter().map(|pair| unordered(scene, pair)).collect();
        return Some(Told { kind, pair, why, missing: between, confirmed: false });
    }
    let mut missing: Vec<Missing> = edits.iter().map(|edit| edit.missing(scene)).collect();
    missing.sort_by_key(|missing| missing.line);
    Some(Told { kind, pair, why: format!("{story}: {reasons}"), missing, confirmed })
}

/// What is missing where no change is known that brings it.
fn unordered(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Missing {
    let text =
        format!("an order between lines {} and {} of {}", scene.line(first), scene.line(second), scene.name(first));
    Missing { text, thread: scene.name(first).to_owned(), line: scene.line(first), section: "8.8, 8.9.3".to_owned() }
}
