//! An outcome that must not be, where nothing races: the read that misses a write, why it may, and what rules the outcome out.
//!
//! Either no interleaving of the threads has the outcome: then the execution has a critical cycle (`cycle`), and the engine of
//! `fix` finds the cheapest orders that rule it out; of a test that is too much for it, fences between the accesses of the cycle
//! do (`orders`). Or an interleaving has it: then no fence helps, and several accesses have to be one (`atomic`). Which it is,
//! is found by putting fences in until the outcome is gone or is that of an interleaving. What is told was checked again, in
//! fewer and in more rounds of the test's loops too.

mod atomic;
mod cycle;
mod orders;

use std::cell::OnceCell;

use fencepost_check::judge::found::Checked;
use fencepost_check::judge::layers::check_as_read;
use fencepost_check::model::facts::Watched;
use fencepost_check::model::load::{LoadedModel, Models};
use fencepost_check::model::purpose::Purpose;
use fencepost_check::options::Options;
use fencepost_check::test::Test;
use fencepost_check::write::report;
use fencepost_program::EventId;
use fencepost_report::CauseKind;
use fencepost_report::piece::Piece;
use fencepost_report::reason::{Communication, CycleStep, NamedBy, NamedSite, Outcome, Reason};
use fencepost_report::verdict::Verdict;
use fencepost_report::{Cause, Diagnosis, Missing};
use fencepost_syntax::litmus::QuestionKind;
use fencepost_syntax::sorted::SharedSort as _;

use crate::edit::{self, Edit};
use crate::fix::Orders;
use crate::lacking;
use crate::outcome::cycle::{Cycle, Step};
use crate::propose::catalogue::{WAYS, offered};
use crate::scene::Scene;
use crate::scene::statement;
use crate::search;
use crate::verify::rounds;
use crate::verify::{Shown, Verifier};
use crate::whole::{self, Engine};

/// Questions of one test that are diagnosed, and how often fences are put in.
pub const MOST_QUESTIONS: usize = 4;
const ROUNDS: usize = 8;
/// Missed writes that are looked at as races are.
const MOST_PAIRS: usize = 3;

/// For a test without races: those say themselves what is missing.
pub(crate) fn apply(
    test: &Test,
    model: &LoadedModel,
    options: &Options,
    checked: &mut Checked,
    engine: Engine,
) -> Vec<Vec<Edit>> {
    let asked = whole::Asked::new(checked);
    let (orders, ask) = (OnceCell::new(), || asked.orders(test, model, options, engine));
    let evidence = &checked.evidence;
    let Some(unfolding) = evidence.unfolding.as_ref() else { return Vec::new() };
    let verifier = Verifier::new(test, model, options, Vec::new(), (unfolding, checked.report.executions)).of_outcome();
    let watching = Watched::new(&model.model, &model.vocabulary);
    // What every execution does comes from nothing that another would do otherwise.
    let report = &checked.report;
    let questions = report.questions.iter().enumerate();
    let always: Vec<usize> =
        questions.filter(|(_, answer)| report.is_always_broken(answer)).map(|(question, _)| question).collect();
    let kinds = test.program.questions.iter().map(|question| question.kind);
    let broken = checked.report.questions.iter_mut().zip(kinds).zip(&evidence.witnesses).enumerate();
    let broken = broken.filter(|(_, ((answer, kind), _))| answer.verdict == Verdict::Violated && forbids(*kind));
    let broken = broken.filter(|(question, _)| !always.contains(question));
    for (question, ((answer, _), witness)) in broken.take(MOST_QUESTIONS) {
        let Some(execution) = witness else { continue };
        let scene = Scene::new(test, unfolding, execution, &watching);
        let search = Search { test, options, verifier: &verifier, question, orders: &orders, ask: &ask };
        answer.cause = search.cause(&scene).map(Box::new);
    }
    verifier.into_cures()
}

/// Whether the question is about what must not be.
fn forbids(kind: QuestionKind) -> bool {
    matches!(kind, QuestionKind::Forall | QuestionKind::Assert | QuestionKind::NotExists)
}

/// What was found: two accesses, why the outcome may be, what is missing, and whether that was checked.
struct Told {
    kind: CauseKind,
    pair: (EventId, EventId),
    reasons: Vec<Reason>,
    missing: Vec<Missing>,
    confirmed: bool,
}

impl Told {
    fn cause(self, scene: &Scene<'_>) -> Option<Cause> {
        let (first, second) = self.pair;
        let diagnosis = Diagnosis {
            first: scene.access(first)?,
            second: scene.access(second)?,
            why: String::new(),
            reasons: self.reasons,
            missing: self.missing,
            confirmed: self.confirmed,
            under: None,
        };
        let access = |id: EventId| report::access(scene.test, scene.unfolding, scene.event(id), scene.event(id).span);
        let location = scene.location(first).or(scene.location(second)).map(|location| location.name.to_string());
        Some(Cause { kind: self.kind, first: access(first), second: access(second), location, diagnosis })
    }
}

struct Search<'s, 'a> {
    test: &'s Test,
    options: &'s Options,
    verifier: &'s Verifier<'a>,
    question: usize,
    /// What the engine of `fix` says of the whole test, asked for once.
    orders: &'s OnceCell<Option<Orders>>,
    ask: &'s dyn Fn() -> Option<Orders>,
}

impl Search<'_, '_> {
    fn cause(&self, scene: &Scene<'_>) -> Option<Cause> {
        let cycles = cycle::cycles(scene);
        // Threads that do not synchronise at all are not meant to: what they do to one location is to be one operation.
        if cycles.is_empty()
            && statement::instructions(scene).iter().all(|here| statement::role(here.instruction).is_none())
            && let Some(told) = self.atomic(scene).filter(|cause| cause.diagnosis.confirmed)
        {
            return Some(told);
        }
        let Some(cycle) = cycles.first() else {
            return self.as_of_races(scene).map_or_else(|| self.atomic(scene), |told| told.cause(scene));
        };
        if let Some(orders) = self.orders.get_or_init(self.ask) {
            let edits: Vec<Edit> = orders.edits.iter().map(|edit| lacking::explained(scene, None, edit)).collect();
            return told(scene, cycle, &edits)?.cause(scene);
        }
        match self.fenced(scene, cycle) {
            Some(Left::Nothing(edits)) => told(scene, cycle, &self.cut(scene, edits))?.cause(scene),
            left => match (self.as_of_races(scene), left) {
                // What orders accesses that race orders those that do not.
                (Some(told), _) => told.cause(scene),
                (None, Some(Left::Interleaving(edits, shown))) => {
                    let test = changed(scene.test, &edits)?;
                    self.atomic(&Scene::new(&test, &shown.unfolding, &shown.execution, scene.model))
                }
                (None, _) => told(scene, cycle, &[])?.cause(scene),
            },
        }
    }

    /// Fences between all pairs of a cycle, then of a cycle of what is left, and so on.
    fn fenced(&self, scene: &Scene<'_>, first: &Cycle) -> Option<Left> {
        let mut edits = orders::fences(scene, first);
        for _ in 0..ROUNDS {
            if edits.is_empty() {
                return None;
            }
            if self.mends(scene, &edits) {
                return Some(Left::Nothing(edits));
            }
            let shown = self.verifier.shown(&edits, self.question)?;
            let test = changed(scene.test, &edits)?;
            let changed = Scene::new(&test, &shown.unfolding, &shown.execution, scene.model);
            let left = cycle::cycles(&changed);
            if left.is_empty() {
                return Some(Left::Interleaving(edits, Box::new(shown)));
            }
            let more = left.iter().map(|cycle| orders::fences(&changed, cycle));
            let more = more.map(|more| more.into_iter().filter(|edit| is_new(&edits, edit)).collect::<Vec<_>>());
            let more = more.into_iter().find(|more| !more.is_empty())?;
            edits.extend(more);
        }
        None
    }

    /// The search for what a race lacks, about a read and the write that it misses.
    fn as_of_races(&self, scene: &Scene<'_>) -> Option<Told> {
        let mut pairs = cycle::missed(scene);
        // About the data rather than about the lock or the counter that guards it.
        let flag = |id: EventId| scene.event(id).location().is_some_and(|at| cycle::is_flag(scene, at));
        pairs.sort_by_cached_key(|(read, _)| flag(*read));
        pairs.truncate(MOST_PAIRS);
        let mut found: Vec<((EventId, EventId), Vec<Edit>)> = Vec::new();
        for (read, write) in pairs {
            let pair = (write, read);
            let plans = offered(WAYS, scene, pair);
            if let search::Outcome::Cured(cure) = search::search(scene, self.verifier, pair, &plans, &[]) {
                found.push(((read, write), cure.edits));
            }
        }
        let (pair, edits) = found.into_iter().min_by_key(|(_, edits)| edit::size(edits))?;
        Some(missed(scene, pair, &edits))
    }

    fn mends(&self, scene: &Scene<'_>, edits: &[Edit]) -> bool {
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

    fn atomic(&self, scene: &Scene<'_>) -> Option<Cause> {
        let mends = |edits: &[Edit]| self.mends(scene, edits);
        atomic::told(scene, &mends, &|| self.is_interleaving())?.cause(scene)
    }

    /// Whether a run of the threads that take turns has the outcome too, as the model of interleavings says.
    fn is_interleaving(&self) -> bool {
        let Some(sc) = Models::shipped(Models::default_for(Purpose::Interleaving)) else { return false };
        let report = check_as_read(self.test, &sc, self.options).report;
        report.questions.get(self.question).is_some_and(|answer| answer.verdict == Verdict::Violated)
    }
}

/// What fences leave.
enum Left {
    Nothing(Vec<Edit>),
    /// An execution without a cycle.
    Interleaving(Vec<Edit>, Box<Shown>),
}

/// The test with these changes in its tree.
fn changed(test: &Test, edits: &[Edit]) -> Option<Test> {
    let mut changed = test.clone();
    changed.litmus = Edit::apply_all(&edits.iter().collect::<Vec<_>>(), &test.litmus)?;
    Some(changed)
}

/// Whether a change is not made already, with the same words or with others.
fn is_new(made: &[Edit], edit: &Edit) -> bool {
    !made.iter().any(|known| known.change == edit.change)
}

/// A read and a write that it misses, with what the search for races has found.
fn missed(scene: &Scene<'_>, pair: (EventId, EventId), edits: &[Edit]) -> Told {
    let story = Outcome::Misses { read: scene.site(pair.0), write: scene.site(pair.1) };
    let reasons = [story.into()].into_iter().chain(Edit::reasons(edits)).collect();
    Told { kind: CauseKind::MissedWrite, pair, reasons, missing: pieces(scene, edits), confirmed: true }
}

fn pieces(scene: &Scene<'_>, edits: &[Edit]) -> Vec<Missing> {
    let mut missing = Edit::all_missing(edits, scene);
    missing.shared_sort_by_key(|missing| missing.line);
    missing
}

/// The story of a cycle and the pieces that break it.
fn told(scene: &Scene<'_>, cycle: &Cycle, edits: &[Edit]) -> Option<Told> {
    let (kind, pair) = cycle.pair(scene)?;
    let step = |edge: &cycle::Edge| {
        let step = match edge.step {
            Step::Misses => Communication::Misses,
            Step::Overwritten => Communication::Overwritten,
            Step::Seen => Communication::Seen,
            Step::Synchronizes | Step::Program => return None,
        };
        Some(CycleStep { step, from: named(scene, cycle, edge.from), to: named(scene, cycle, edge.to) })
    };
    let mut steps: Vec<&cycle::Edge> = cycle.communication().collect();
    steps.shared_sort_by_key(|edge| edge.step);
    let steps = steps.into_iter().filter_map(step).collect();
    let mut reasons = vec![Outcome::CriticalCycle { steps }.into()];
    if edits.is_empty() {
        reasons.push(Outcome::NothingRulesOut.into());
        let (ordered, open): (Vec<_>, Vec<_>) =
            cycle.delays(scene).into_iter().partition(|pair| orders::is_ordered(scene, *pair));
        let between = if open.is_empty() { ordered } else { open };
        let between = between.into_iter().map(|pair| unordered(scene, pair)).collect();
        return Some(Told { kind, pair, reasons, missing: between, confirmed: false });
    }
    reasons.extend(Edit::reasons(edits));
    Some(Told { kind, pair, reasons, missing: pieces(scene, edits), confirmed: true })
}

/// By its line, where nothing else of the cycle stands in it.
fn named(scene: &Scene<'_>, cycle: &Cycle, id: EventId) -> NamedSite {
    let beside = |other: EventId| {
        let same = scene.thread(other) == scene.thread(id) && scene.line(other) == scene.line(id);
        same && scene.event(other).span != scene.event(id).span
    };
    let by = if cycle.edges.iter().any(|edge| beside(edge.from)) { NamedBy::Text } else { NamedBy::Line };
    NamedSite { at: scene.site(id), by }
}

/// What is missing where no change is known that brings it.
fn unordered(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Missing {
    let what = Piece::OrderOfLines { first: scene.site(first), second: scene.site(second) };
    scene.missing(first, what, "8.8, 8.9.3")
}
