//! Every axiom earns its place: without it, or without an ingredient of moral strength or causality, at least three tests
//! of the corpus get another verdict. `fence-sc` is the exception: it is redundant (docs/models/ptx-7.5.md has the proof).

use std::ops::ControlFlow;

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity};
use fencepost_axiom::model::{self, Model, compile};
use fencepost_check::{Models, Test};
use fencepost_program::program::{Condition, Feature};
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::Source;
use fencepost_syntax::litmus::{Arch, QuestionKind};

use crate::corpus;

/// A test that a model speaks about, with its answer. It is unfolded once, for the model and all its mutants.
struct Asked {
    test: &'static Test,
    unfolding: Unfolding,
    answer: Option<bool>,
}

/// Whether the condition (for `forall` and `assert`: its negation) is reachable; None where the search cannot say.
fn reachable(test: &Test, unfolding: &Unfolding, model: &Model) -> Option<bool> {
    let question = test.program.questions.first()?;
    let condition = match question.kind {
        QuestionKind::Forall | QuestionKind::Assert => Condition::Not(Box::new(question.condition.clone())),
        _ => question.condition.clone(),
    };
    let filter = test.program.filter.as_ref().map(|filter| &filter.node);
    let goal =
        Goal { filter, condition: Some(&condition), multiplicity: Multiplicity::First, ..Goal::new(Ends::Terminating) };
    let limits = Limits { deadline: None, memory: None, cancelled: None, work: None };
    let mut found = false;
    let mut visit = |_: &_| {
        found = true;
        ControlFlow::Break(())
    };
    let exploration = Enumerate.explore(unfolding, model, &goal, &limits, &mut visit);
    match exploration {
        _ if found => Some(true),
        Exploration::Complete => Some(false),
        Exploration::Stopped | Exploration::Incomplete(_) => None,
    }
}

/// The tests that get another answer under the mutant.
fn killed_by(asked: &[Asked], mutant: &Model) -> Vec<&'static str> {
    let other = asked.iter().filter(|asked| reachable(asked.test, &asked.unfolding, mutant) != asked.answer);
    other.map(|asked| asked.test.name()).collect()
}

/// The tests a model speaks about, with its answers.
fn answers(name: &str) -> (Model, Vec<Asked>) {
    let loaded = Models::shipped(name).expect("shipped model");
    let is_known = |test: &&Test| {
        let mut features = test.program.features.iter().map(|feature| feature.node);
        let is_known = features.all(|feature: Feature| loaded.knows(feature));
        test.program.arch == Arch::Ptx && is_known && test.program.unsupported.is_empty()
    };
    let asked = corpus::tests().iter().filter(is_known).filter_map(|test| {
        // What `discard` leaves behind is undefined: a question about it has no answer under any model.
        let unfolding = unfold(&test.program, &UnfoldOptions { bound: 2, ..UnfoldOptions::default() }).ok()?;
        let answer = reachable(test, &unfolding, &loaded.model);
        Some(Asked { test, unfolding, answer })
    });
    let asked = asked.collect();
    (loaded.model, asked)
}

/// The model with one definition replaced.
fn replaced(name: &str, definition: &str, expression: &str) -> Model {
    let text = model::shipped(name).expect("shipped model");
    let replace = vec![compile::Replacement { name: definition.into(), expression: expression.into() }];
    let options = compile::Options { replace, ..compile::Options::default() };
    compile::compile(Source::new(name, text), &options, &mut |_| None).model.expect("the mutant compiles")
}

/// What an engine alone does not decide: loops, which the check folds, asks the model about (for models that are known to be
/// sound for it; a mutant is none) or unrolls further; a pointer to nothing, one to
/// another state space, and a trap that is reached.
const UNDECIDED: [&str; 24] = [
    "parameter-null",
    "Cta-lock",
    "Cta-poll-inner-spin",
    "Cta-poll-nobody",
    "Cta-poll-told-first",
    "Cta-poll-vote-one-asks",
    "Cta-poll-vote",
    "Cta-poll",
    "Exchange-lock-bystander",
    "Exchange-lock-counted",
    "Exchange-lock-kept",
    "Exchange-lock",
    "Exchange-poll-weak",
    "Poll-by-addition",
    "Poll-by-swap",
    "Retry-add-unlucky",
    "Retry-add",
    "Retry-beyond",
    "Retry-deepened",
    "Retry-push",
    "Spinlock-told-through-shared",
    "chosen",
    "Spin-own-memory-read",
    "trap-reached",
];

fn check_mutants(name: &str) {
    let (model, tests) = answers(name);
    let undecided: Vec<&str> =
        tests.iter().filter(|asked| asked.answer.is_none()).map(|asked| asked.test.name()).collect();
    assert_eq!(undecided, UNDECIDED, "other tests than these are left undecided by the model itself");
    let mut survivors = Vec::new();
    for axiom in ["coherence", "atomicity", "no-thin-air", "sc-per-location", "causality"] {
        let killed = killed_by(&tests, &model.without_check(axiom));
        if killed.len() < 3 {
            survivors.push(format!("{name} without {axiom}: only {killed:?} notice"));
        }
    }
    for (definition, expression) in [
        ("fence-sc-order", "0"),
        ("exit-dependency", "0"),
        ("result-dependency", "0"),
        ("related-by-scope", "[strong-operation]; ext; [strong-operation]"),
        ("observation", "morally-strong & rf"),
        ("release-fence", "memory-fence & (REL | ACQ_REL)"),
        ("barrier-synchronizes", "0"),
    ] {
        let killed = killed_by(&tests, &replaced(name, definition, expression));
        if killed.len() < 3 {
            survivors.push(format!("{name} with {definition} = {expression}: only {killed:?} notice"));
        }
    }
    assert!(survivors.is_empty(), "{survivors:#?}");
    let killed = killed_by(&tests, &model.without_check("fence-sc"));
    assert!(killed.is_empty(), "fence-sc is redundant, but {killed:?} notice");
}

#[test]
fn dropping_any_part_of_ptx_6_0_changes_verdicts() {
    check_mutants("ptx-6.0");
}

#[test]
fn dropping_any_part_of_ptx_7_5_changes_verdicts() {
    check_mutants("ptx-7.5");
}
