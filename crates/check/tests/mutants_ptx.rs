//! Every rule of the model `ptx` earns its place: without it the test of the corpus named beside it gets another answer, a
//! value that was impossible or a race that was none (or the other way round).

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity, Raised};
use fencepost_axiom::model::{self, CheckId, Model, compile};
use fencepost_check::{Test, load};
use fencepost_program::program::Condition;
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_syntax::Source;
use fencepost_syntax::litmus::QuestionKind;

/// A definition, what it becomes, and a test that notices.
const MUTANTS: &[(&str, &str, &str)] = &[
    ("generic-to-async", "0", "wild/a2-store-tcgen05-fixed"),
    ("async-to-generic", "0", "wild/b9-two-stages-fixed"),
    ("async-to-async", "0", "async/bulk/multicast-wgmma-fenced"),
    ("generic-to-async-halves", "0", "wild/b8-clc-response-slot"),
    ("generic-to-tensormap", "0", "wild/d5-map-changed-under-load-fixed"),
    ("alias-halves", "0", "async/fences/alias-halves"),
    ("gates-synchronize", "0", "wild/b8-clc-response-slot"),
    ("preserved-by-gates-and-alias", "0", "async/fences/alias-and-async-fixed"),
    ("preserved-by-launch", "loc & launch & ((M \\ TMAP) * (M \\ TMAP))", "async/launch/pdl-wait-then-tensor-load"),
    ("about", "F * M", "wild/a5-narrow-fence"),
    ("initialisation-order", "0", "wild/h7-init-cluster-fixed"),
    ("restricted-order", "0", "async/fences/restricted"),
    ("barrier-synchronizes", "0", "wild/b5-read-barrier-refill-fixed"),
    ("warp-synchronizes", "0", "async/warp/warp-sync"),
    ("grid-synchronizes", "0", "wild/j1-trigger-once-per-cta-fixed-by-fence"),
    ("preserved-by-launch", "0", "async/launch/stream-order-to-async"),
    ("preserved-same-proxy", "0", "wild/m7-wgmma-then-refill"),
    ("completion-shown", "0", "async/bulk/bulk-peer"),
    ("seen", "observation", "async/cluster/relaxed-wait-too-narrow"),
    ("asynchronous-release", "0", "async/store/st-async-release"),
    ("asynchronous-strong-write", "0", "async/store/red-async-after-fence"),
    ("issue-order", "0", "wild/a2-store-tcgen05-fixed"),
    ("leaves-strand", "0", "wild/b9-two-stages-fixed"),
    ("through-strands", "id", "algorithms/07-tcgen05-gemm/tcgen05-gemm"),
    ("tensor-pipeline", "0", "tcgen05/1-same-thread-pipelined"),
    ("tensor-allocation", "0", "wild/i2-dealloc-before-load-done-fixed"),
    (
        "tensor-allocation",
        "[TMEM & main]; base-of-strands?; po?; [tensor-issue]; issue; tensor-access",
        "tcgen05/alloc-use-after-dealloc",
    ),
    ("column-life", "0", "tcgen05/alloc-again"),
    ("completes-before", "0", "tcgen05/4-threads-st"),
    ("execution-dependency", "0", "async/cluster/relaxed-barrier-deadlock"),
    ("kernel-order", "0", "launch/wait-through-third-kernel"),
    ("grid-start", "0", "launch/trigger-after-spin"),
    ("trigger-met", "0", "launch/read-of-dependent-before-barrier-trigger"),
    ("untriggered", "_ \\ _", "launch/no-trigger-spin"),
    ("before-trigger", "po", "algorithms/14-dependent-launch/dependent-launch-no-wait"),
    ("kernel-boundary", "launch", "launch/map-of-host-acquired"),
    ("across-kernels", "launch", "launch/host-data-to-bulk-copy"),
    ("across-kernels", "po?; launch; po?", "launch/host-between-kernels"),
];

fn ptx(replace: Vec<compile::Replacement>) -> Model {
    let text = model::shipped("ptx").expect("shipped model");
    let variants: BTreeSet<String> = ["7.8", "8.0", "8.6", "9.0", "9.1", "9.3", "9.4"].map(str::to_owned).into();
    let options = compile::Options { variants, replace };
    compile::compile(Source::new("ptx", text), &options, &mut |_| None).model.expect("the mutant compiles")
}

fn test(path: &str) -> Test {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(format!("{path}.litmus"));
    let text = fs::read_to_string(&file).expect("a test of the corpus");
    load(&Source::new(path, text)).0.into_iter().next().expect("a test")
}

/// Whether an execution meets the goal.
fn found(test: &Test, model: &Model, goal: &Goal<'_>) -> bool {
    let unfolding = unfold(&test.program, &UnfoldOptions::default()).expect("an unfolding");
    let limits = Limits { deadline: None, memory: None, cancelled: None, work: None };
    let mut found = false;
    let mut visit = |_: &_| {
        found = true;
        ControlFlow::Break(())
    };
    let exploration = Enumerate.explore(&unfolding, model, goal, &limits, &mut visit);
    assert!(found || exploration == Exploration::Complete, "{}: {exploration:?}", test.name());
    found
}

/// Whether the question has a counterexample (or a witness), and whether there is a race.
fn answer(test: &Test, model: &Model) -> (bool, bool) {
    let question = test.program.questions.first().expect("a question");
    let condition = match question.kind {
        QuestionKind::Forall | QuestionKind::Assert => Condition::Not(Box::new(question.condition.clone())),
        _ => question.condition.clone(),
    };
    let one = Goal { multiplicity: Multiplicity::First, ..Goal::new(Ends::Terminating) };
    let reached = found(test, model, &Goal { condition: Some(&condition), ..one.clone() });
    let flag = model.checks.iter().position(|check| check.name == "data-race").expect("the flag");
    let flag = CheckId(u32::try_from(flag).expect("few checks"));
    let raced = found(test, model, &Goal { raised: Some(Raised { flag, beyond: &[] }), ..one });
    (reached, raced)
}

#[test]
fn dropping_any_rule_of_ptx_changes_an_answer() {
    let whole = ptx(Vec::new());
    let mut survivors = Vec::new();
    for (definition, expression, path) in MUTANTS {
        let test = test(path);
        let replace = compile::Replacement { name: (*definition).into(), expression: (*expression).into() };
        if answer(&test, &whole) == answer(&test, &ptx(vec![replace])) {
            survivors.push(format!("{definition} = {expression}: {path} does not notice"));
        }
    }
    assert!(survivors.is_empty(), "{survivors:#?}");
}
