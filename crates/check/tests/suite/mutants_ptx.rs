//! Every rule of the model `ptx` earns its place: without it the tests of the corpus named beside it, three of them, get
//! another answer, a value that was impossible or a race that was none (or the other way round).

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity, Raised};
use fencepost_axiom::model::{self, CheckId, Model, compile};
use fencepost_check::{Test, load};
use fencepost_program::program::Condition;
use fencepost_program::unfold::{Dependencies, UnfoldOptions, unfold};
use fencepost_syntax::Source;
use fencepost_syntax::litmus::QuestionKind;

/// A definition, what it becomes, and tests that notice.
type Mutant = (&'static str, &'static str, &'static [&'static str]);

const MUTANTS: &[Mutant] = &[
    (
        "generic-to-async",
        "0",
        &["wild/a2-store-tcgen05-fixed", "async/bulk/bulk-load-overwrite", "async/bulk/bulk-over-inval"],
    ),
    (
        "generic-to-async",
        "[M & GEN]; (to-main & int & is-about); [async-gate]; from-gate; [M & ASYNC]",
        &[
            "async/fences/ctas-fence-at-writer",
            "async/fences/peer-refill-fence-at-reader",
            "async/fences/ctas-fence-at-both-one-narrow",
        ],
    ),
    (
        "generic-to-async",
        "[M & GEN]; (to-gate & is-about); [async-gate]; (from-gate & same-block); [M & ASYNC]",
        &[
            "async/fences/ctas-fence-at-reader",
            "async/fences/peer-refill-fence-at-copy",
            "async/fences/cta-fence-of-third-thread",
        ],
    ),
    (
        "generic-to-async",
        "[M & GEN]; (to-main & int & is-about); [async-gate]; (from-gate & same-block); [M & ASYNC]",
        &[
            "async/fences/ctas-fence-at-both",
            "async/fences/peer-refill-fence-at-both",
            "wild/c1-flag-then-tma-fixed-both",
        ],
    ),
    (
        "async-to-generic",
        "0",
        &["wild/b9-two-stages-fixed", "launch/host-between-kernels", "launch/host-data-to-bulk-copy"],
    ),
    (
        "async-to-async",
        "0",
        &[
            "async/bulk/multicast-wgmma-fenced",
            "async/bulk/multicast-refill-fenced",
            "async/bulk/multicast-store-fenced",
        ],
    ),
    (
        "async-to-generic",
        "([M & fenced-at-completion]; (base-causality | restricted-order); [M & GEN]) \
         | ([M & ASYNC]; to-gate; [async-gate]; ((po | issue-order) & int & about); [M & GEN]) \
         | ([M & ASYNC]; (to-gate & same-block); [async-gate]; (from-gate & about); [M & GEN])",
        &[
            "async/fences/peer-operand-fence-at-writer",
            "async/fences/peer-operand-fence-at-product",
            "async/fences/peer-operand-fence-of-other-thread",
        ],
    ),
    (
        "async-to-generic",
        "[M & fenced-at-completion]; (base-causality | restricted-order); [M & GEN]",
        &[
            "async/fences/peer-operand-fence-at-both",
            "async/fences/factor-then-store",
            "async/fences/factor-then-store-of-other",
        ],
    ),
    (
        "async-to-async",
        "(([M & fenced-at-completion]; to-gate) \
         | ([M & ASYNC]; (to-gate & same-block); [async-gate]; base-to-issue?)); \
         [async-gate]; (from-gate & same-block & about); [M & ASYNC]",
        &[
            "async/fences/factor-then-peer-refill-global-fence",
            "async/fences/factor-then-peer-refill-cluster-barrier-global-fence",
            "async/fences/tile-then-peer-refill-global-fence",
        ],
    ),
    (
        "generic-to-async-halves",
        "0",
        &["async/fences/async-halves-reads-only", "async/fences/async-halves-write", "async/fences/async-halves"],
    ),
    (
        "generic-to-tensormap",
        "0",
        &["launch/map-behind-event-acquired", "async/tensormap/map-across-ctas", "async/tensormap/map-copy"],
    ),
    (
        "alias-halves",
        "0",
        &["async/fences/alias-halves", "async/fences/alias-halves-barrier", "async/fences/alias-halves-read-first"],
    ),
    (
        "gates-synchronize",
        "0",
        &["wild/b8-clc-response-slot", "async/fences/async-halves", "async/tensormap/map-across-ctas"],
    ),
    (
        "preserved-by-gates-and-alias",
        "0",
        &["async/fences/alias-and-async-fixed", "async/bulk/multimem-reduce", "async/bulk/multimem"],
    ),
    (
        "preserved-by-launch",
        "loc & launch & ((M \\ TMAP) * (M \\ TMAP))",
        &["async/launch/pdl-wait-then-tensor-load", "launch/host-between-kernels", "launch/host-sync-alias"],
    ),
    (
        "about",
        "F * M",
        &["wild/a5-narrow-fence", "async/bulk/bulk-load-source-shared-fence", "async/fences/remote-object"],
    ),
    (
        "initialisation-order",
        "0",
        &["wild/h7-init-cluster-fixed", "async/cluster/init-fence-flag", "algorithms/06-multicast/multicast-init"],
    ),
    (
        "restricted-order",
        "0",
        &["async/fences/restricted", "async/fences/restricted-barrier", "async/fences/restricted-read-first"],
    ),
    (
        "acquired-restricted",
        "morally-strong & (release-pattern; seen; restricted-acquire-pattern)",
        &[
            "async/fences/restricted-async-release",
            "async/fences/restricted-async-release-red",
            "async/fences/restricted-async-release-read-first",
        ],
    ),
    (
        "to-acquired-async",
        "0",
        &[
            "async/fences/async-halves-restricted-chain",
            "async/fences/async-halves-restricted-chain-full",
            "async/fences/async-halves-restricted-chain-write",
        ],
    ),
    (
        "barrier-synchronizes",
        "0",
        &["wild/b5-read-barrier-refill-fixed", "launch/trigger-ordered-first", "async/cluster/barrier-cluster"],
    ),
    (
        "warp-synchronizes",
        "0",
        &["async/warp/warp-sync", "async/warp/warp-sync-read-first", "async/warp/warp-sync-then-flag"],
    ),
    (
        "grid-synchronizes",
        "0",
        &["wild/j1-trigger-once-per-cta-fixed-by-fence", "launch/pdl-chain", "launch/empty-kernel-release"],
    ),
    (
        "trigger-release",
        "0",
        &["launch/empty-kernel-branch", "launch/empty-kernel-release", "launch/trigger-behind-flag"],
    ),
    (
        "read-only",
        "0",
        &["launch/nc-behind-pdl-wait", "launch/nc-behind-pdl-wait-unfenced", "launch/nc-behind-pdl-chain"],
    ),
    (
        "before-start",
        "0",
        &["launch/nc-behind-kernel", "launch/nc-behind-pdl-wait-fenced", "launch/nc-behind-stream-and-pdl"],
    ),
    (
        "preserved-by-launch",
        "0",
        &["async/launch/stream-order-to-async", "launch/host-between-kernels", "launch/host-sync-alias"],
    ),
    (
        "preserved-same-proxy",
        "0",
        &["wild/m7-wgmma-then-refill", "async/bulk/store-then-load", "wild/d9-gemm-wait-fixed"],
    ),
    ("completion-shown", "0", &["async/bulk/bulk-peer", "async/store/red-async", "async/store/st-async"]),
    (
        "completion-shown",
        "COMPLETION * (MBAR_WAIT & ACQ)",
        &[
            "async/bulk/bulk-peer-relaxed-wait-fence",
            "async/bulk/bulk-peer-relaxed-wait-acquire-fence",
            "async/bulk/bulk-peer-relaxed-wait-sc-fence",
        ],
    ),
    (
        "seen",
        "observation & (sr | int | (COMPLETION * MBAR_WAIT))",
        &[
            "mp/MP+rmw-chain-narrow-write@ctas",
            "mp/MP+rmw-chain-narrow-read@ctas",
            "mp/MP+rmw-chain-release-then-narrow@ctas",
            "mp/MP+two-rmws-narrow-ends@ctas",
        ],
    ),
    (
        "seen",
        "strong-observation",
        &["async/bulk/bulk-peer", "async/store/red-async", "async/bulk/bulk-peer-relaxed-wait-fence"],
    ),
    (
        "strong-observation",
        "rf | (rf; rmw; rf)",
        &[
            "mp/MP+rmw-chain-first-link-apart@ctas",
            "mp/MP+rmw-chain-second-link-apart@ctas",
            "async/cluster/relaxed-wait-too-narrow",
        ],
    ),
    (
        "seen",
        "observation",
        &[
            "async/cluster/relaxed-wait-too-narrow",
            "async/cluster/relaxed-arrive-too-narrow",
            "async/cluster/both-too-narrow",
        ],
    ),
    (
        "asynchronous-release",
        "0",
        &["async/store/st-async-release", "async/store/red-async-release", "async/store/st-async-release-of-others"],
    ),
    (
        "asynchronous-strong-write",
        "0",
        &[
            "async/store/red-async-after-fence",
            "async/store/red-async-after-release-fence",
            "async/store/red-async-after-fence-9.1",
        ],
    ),
    (
        "issue-order",
        "0",
        &["wild/a2-store-tcgen05-fixed", "launch/map-of-host-acquired", "async/bulk/bulk-load-overwrite"],
    ),
    (
        "leaves-strand",
        "0",
        &["wild/b9-two-stages-fixed", "launch/host-between-kernels", "async/bulk/bulk-load-cluster-form"],
    ),
    (
        "through-strands",
        "id",
        &[
            "algorithms/07-tcgen05-gemm/tcgen05-gemm",
            "tcgen05/gemm-two-stages-of-one-array",
            "tcgen05/gemm-two-stages-of-one-dimension",
        ],
    ),
    (
        "tensor-pipeline",
        "0",
        &["tcgen05/1-same-thread-pipelined", "tcgen05/3-threads-pipelined", "tcgen05/mma-scales-pipelined"],
    ),
    (
        "tensor-allocation",
        "0",
        &["wild/i2-dealloc-before-load-done-fixed", "tcgen05/alloc-address", "tcgen05/alloc-two"],
    ),
    (
        "tensor-allocation",
        "[TMEM & main]; base-to-issue?; po?; [tensor-issue]; issue; tensor-access",
        &["tcgen05/alloc-use-after-dealloc", "tcgen05/alloc-address", "tcgen05/alloc-address-offset"],
    ),
    (
        "hands-on",
        "po",
        &["tcgen05/relay-independent", "tcgen05/relay-tensor-fences", "tcgen05/relay-independent-arrive"],
    ),
    (
        "hands-on",
        "0",
        &[
            "tcgen05/relay-fence",
            "tcgen05/relay-data",
            "tcgen05/relay-branch",
            "tcgen05/relay-acquire",
            "tcgen05/relay-release",
        ],
    ),
    (
        "thread-to-thread",
        "synchronizes-with | syncbar | observation",
        &["tcgen05/arrive-behind-commit", "tcgen05/arrive-behind-handover", "tcgen05/red-behind-handover"],
    ),
    ("thread-to-thread", "0", &["tcgen05/4-threads-st", "tcgen05/4-threads-commit", "tcgen05/relay-fence"]),
    ("column-life", "0", &["tcgen05/alloc-again", "tcgen05/alloc-address", "tcgen05/alloc-two"]),
    ("completes-before", "0", &["tcgen05/4-threads-st", "tcgen05/2-same-thread-commit", "tcgen05/2-same-thread-wait"]),
    (
        "execution-dependency",
        "0",
        &["async/cluster/relaxed-barrier-deadlock", "launch/empty-kernel-behind-pdl", "launch/no-trigger-spin"],
    ),
    (
        "execution-dependency",
        "([B & BAR_CLUSTER]; (syncbar | po)) | barrier-dependency | exit-dependency | result-dependency | issue | so \
         | kernel-order",
        &["lb/LB+bulk+data", "lb/LB+bulk-of-other+data", "lb/LB+cp-async-mbarrier+data"],
    ),
    (
        "barrier-dependency",
        "0",
        &[
            "barriers/Bar-thin-air-arrival",
            "barriers/Bar-thin-air-two-arrivals",
            "barriers/Bar-exit-thin-air-two-meetings",
        ],
    ),
    (
        "exit-dependency",
        "0",
        &["barriers/Bar-exit-thin-air", "barriers/Bar-exit-thin-air-guarded", "barriers/Bar-exit-thin-air-memory"],
    ),
    ("result-dependency", "0", &["barriers/Bar-red-used", "barriers/Bar-red-and-used", "barriers/Bar-red-exit"]),
    ("overlooked", "0", &["lb/LB+left-out-barrier", "lb/LB+left-out-flag", "lb/LB+left-out-mbarrier"]),
    (
        "overlooked",
        "decides; misses",
        &["lb/LB+left-out-flag-relaxed", "lb/LB+left-out-behind", "lb/LB+left-out-concurrent"],
    ),
    (
        "overlooked",
        "decides; (misses & base-causality & (older^-1; rf))",
        &["omission/alias-without-a-fence", "omission/bulk-copy-without-a-fence", "omission/surface-without-a-fence"],
    ),
    (
        "serialised-with-omitted",
        "0",
        &["omission/strong-beside-an-atomic", "omission/strong-beside-a-reduction", "omission/release-beside-an-or"],
    ),
    (
        "serialised-with-omitted",
        "W * OMITTED",
        &["omission/weak-beside-an-atomic", "omission/weak-beside-a-reduction", "omission/narrow-beside-an-atomic"],
    ),
    (
        "preserved-if-told",
        "0",
        &["lb/LB+left-out-bulk", "lb/LB+left-out-bulk-pointer", "lb/LB+left-out-bulk-pointer-chosen"],
    ),
    (
        "kernel-order",
        "0",
        &["launch/wait-through-third-kernel", "launch/empty-kernel-behind-pdl", "launch/no-trigger-spin"],
    ),
    ("grid-start", "0", &["launch/trigger-after-spin", "launch/empty-kernel-behind-pdl", "launch/trigger-of-one-cta"]),
    (
        "wait-missed",
        "0",
        &[
            "launch/host-sync-of-other-launch-barrier",
            "launch/host-sync-of-other-launch-relaxed",
            "launch/host-sync-of-other-launch-release",
        ],
    ),
    (
        "trigger-met",
        "0",
        &[
            "launch/read-of-dependent-before-barrier-trigger",
            "launch/read-of-dependent-before-two-barriers",
            "launch/read-of-dependent-before-arrival-trigger",
        ],
    ),
    (
        "untriggered",
        "_ \\ _",
        &["launch/no-trigger-spin", "launch/empty-kernel-behind-pdl", "launch/empty-kernel-behind-pdl-spin"],
    ),
    (
        "before-trigger",
        "po",
        &[
            "algorithms/14-dependent-launch/dependent-launch-no-wait",
            "launch/trigger-behind-flag",
            "launch/trigger-of-met-thread",
        ],
    ),
    (
        "kernel-boundary",
        "launch",
        &["launch/map-of-host-acquired", "launch/host-data-to-bulk-copy", "launch/host-launch-alias-other-host"],
    ),
    (
        "across-kernels",
        "launch",
        &["launch/host-data-to-bulk-copy", "launch/host-sync-alias", "launch/host-sync-multimem"],
    ),
    (
        "across-kernels",
        "po?; launch; po?",
        &["launch/host-between-kernels", "launch/host-launch-alias-other-host", "launch/host-sync-alias-other-host"],
    ),
    (
        "kinds-fenced",
        "0",
        &[
            "proxies/message-passing/MP.cta+sx+nofence+surface+x",
            "proxies/message-passing/MP.cta+sx+nofence+surface-texture+tx",
            "proxies/message-passing/MP.cta+x+constant+nofence+cx",
        ],
    ),
    (
        "kinds-fenced",
        "([main]; to-generic-point; enters-kind; [main]) | ([main]; leaves-kind; from-generic-point; [main])",
        &[
            "async/fences/surface-then-cp-async",
            "async/fences/surface-then-cp-async-barrier",
            "async/fences/cp-async-then-surface",
        ],
    ),
    (
        "aliases-fenced",
        "0",
        &["async/fences/alias", "multimem/unicast-own-fenced", "proxies/message-passing/MP.cta+sx+surface+alias+y"],
    ),
    (
        "pattern-synchronizes",
        "0",
        &["launch/host-between-kernels", "launch/host-launch-alias-other-host", "launch/host-sync-alias-other-host"],
    ),
];

/// A flag, a definition that it rests on, what that becomes, and tests in which the flag is raised with one and not with the
/// other.
type FlagMutant = (&'static str, &'static str, &'static str, &'static [&'static str]);

const FLAGS: &[FlagMutant] = &[
    (
        "outside-window",
        "outside",
        "_ \\ _",
        &[
            "async/placement/window-store-remote",
            "async/placement/window-load-default",
            "async/placement/window-atom-remote",
            "async/placement/window-arrive-remote",
            "async/placement/window-arrive-result",
            "async/placement/window-copy-source-remote",
        ],
    ),
    (
        "outside-window",
        "outside",
        "M & REMOTE",
        &[
            "async/placement/window-store-cluster",
            "async/placement/window-load-generic",
            "async/placement/window-arrive-cluster",
            "async/placement/window-arrive-generic",
        ],
    ),
    (
        "outside-window",
        "outside",
        "M & OWN_WINDOW",
        &[
            "async/placement/window-store-own-rank",
            "async/placement/window-store-cluster",
            "async/placement/window-arrive-cluster",
        ],
    ),
    (
        "access-before-start",
        "started",
        "_ \\ _",
        &[
            "async/cluster/start-remote-store-met",
            "async/cluster/start-message-acquired",
            "async/cluster/start-multicast-met",
        ],
    ),
    (
        "access-before-start",
        "start-told",
        "0",
        &[
            "async/cluster/start-message-depended-on",
            "async/cluster/start-message-polled",
            "async/cluster/start-message-relayed",
        ],
    ),
    (
        "mixed-size-race",
        "of-no-size",
        "_ \\ _",
        &[
            "async/bulk/bulk-weak-wide-atomic",
            "async/bulk/bulk-weak-under-strong",
            "async/fences/bulk-read-acquires-weak",
        ],
    ),
];

/// An axiom, and tests that notice that it is gone. Not here: `fence-sc`, which is redundant (docs/models/ptx-7.5.md), and
/// `first-trigger`, without which a later trigger may stand for the first: such executions end like those in which the
/// dependent grid starts late.
const AXIOMS: &[(&str, &[&str])] = &[
    ("coherence", &["2+2w/2+2W+sc.cta+sc.cta@cta", "async/bulk/bulk-load-overwrite", "async/bulk/bulk-over-inval"]),
    ("atomicity", &["atomicity/Add+add.cta@cta", "atomicity/Add+add.gpu@ctas", "atomicity/Add+add.sys@gpus"]),
    (
        "single-copy-atomicity",
        &[
            "axioms/single-copy/single-copy-low",
            "axioms/single-copy/single-copy-high",
            "axioms/single-copy/single-copy-atomic",
        ],
    ),
    ("no-thin-air", &["lb/LB+ctrl+ctrl@ctas", "lb/LB+data+ctrl@ctas", "launch/empty-kernel-behind-pdl"]),
    (
        "sc-per-location",
        &[
            "axioms/sc-per-location/ScPerLoc+two-writers",
            "axioms/sc-per-location/ScPerLoc+two-writers-sys",
            "axioms/sc-per-location/ScPerLoc+two-writers-volatile",
        ],
    ),
    ("causality", &["coherence/CoRR+relaxed.gpu+weak@ctas", "launch/empty-kernel-branch", "launch/graph-diamond"]),
];

/// Every rule has so many tests that notice.
const ENOUGH: usize = 3;

fn compiled(text: String, replace: Vec<compile::Replacement>) -> Model {
    let variants: BTreeSet<String> = ["7.8", "8.0", "8.6", "9.0", "9.1", "9.3", "9.4"].map(str::to_owned).into();
    let options = compile::Options { variants, replace };
    compile::compile(Source::new("ptx", text), &options, &mut |_| None).model.expect("the mutant compiles")
}

fn shipped() -> String {
    model::shipped("ptx").expect("shipped model").to_owned()
}

/// The model without an axiom; each is on a line of its own.
fn without(axiom: &str) -> Model {
    let end = format!(" as {axiom}");
    let is_kept = |line: &&str| line.starts_with("flag") || !line.ends_with(&end);
    let text = shipped();
    let kept: Vec<&str> = text.lines().filter(is_kept).collect();
    assert_ne!(kept.len(), text.lines().count(), "{axiom} is no axiom");
    compiled(kept.join("\n"), Vec::new())
}

fn test(path: &str) -> Test {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(format!("{path}.litmus"));
    let text = fs::read_to_string(&file).expect("a test of the corpus");
    load(&Source::new(path, text)).0.into_iter().next().expect("a test")
}

/// Whether an execution meets the goal.
fn found(test: &Test, model: &Model, goal: &Goal<'_>) -> bool {
    let options = UnfoldOptions { dependencies: Dependencies::Real, ..UnfoldOptions::default() };
    let unfolding = unfold(&test.program, &options).expect("an unfolding");
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
    let reached = found(test, model, &Goal { condition: Some(&condition), ..one });
    (reached, raises(test, model, "data-race"))
}

/// Whether an execution raises a flag.
fn raises(test: &Test, model: &Model, flag: &str) -> bool {
    let flag = model.checks.iter().position(|check| check.name == flag).expect("the flag");
    let flag = CheckId(u32::try_from(flag).expect("few checks"));
    let one = Goal { multiplicity: Multiplicity::First, ..Goal::new(Ends::Terminating) };
    found(test, model, &Goal { raised: Some(Raised { flag, beyond: &[] }), ..one })
}

/// The tests that do not notice.
fn survivors(rule: &str, paths: &[&str], whole: &Model, mutant: &Model) -> Vec<String> {
    let is_blind = |path: &&&str| {
        let test = test(path);
        answer(&test, whole) == answer(&test, mutant)
    };
    paths.iter().filter(is_blind).map(|path| format!("{rule}: {path} does not notice")).collect()
}

#[test]
fn dropping_any_rule_of_ptx_changes_answers() {
    let whole = compiled(shipped(), Vec::new());
    let mut blind = Vec::new();
    for (definition, expression, paths) in MUTANTS {
        let replace = compile::Replacement { name: (*definition).into(), expression: (*expression).into() };
        let rule = format!("{definition} = {expression}");
        assert!(paths.len() >= ENOUGH, "{rule} has too few tests");
        blind.extend(survivors(&rule, paths, &whole, &compiled(shipped(), vec![replace])));
    }
    assert!(blind.is_empty(), "{blind:#?}");
}

#[test]
fn dropping_any_axiom_of_ptx_changes_answers() {
    let whole = compiled(shipped(), Vec::new());
    let mut blind = Vec::new();
    for (axiom, paths) in AXIOMS {
        assert!(paths.len() >= ENOUGH, "{axiom} has too few tests");
        blind.extend(survivors(axiom, paths, &whole, &without(axiom)));
    }
    assert!(blind.is_empty(), "{blind:#?}");
}

#[test]
fn changing_what_a_flag_rests_on_changes_whether_it_is_raised() {
    let whole = compiled(shipped(), Vec::new());
    let mut blind = Vec::new();
    for (flag, definition, expression, paths) in FLAGS {
        let replace = compile::Replacement { name: (*definition).into(), expression: (*expression).into() };
        let mutant = compiled(shipped(), vec![replace]);
        assert!(paths.len() >= ENOUGH, "{flag} has too few tests");
        for path in *paths {
            let test = test(path);
            if raises(&test, &whole, flag) == raises(&test, &mutant, flag) {
                blind.push(format!("{flag} with {definition} = {expression}: {path} does not notice"));
            }
        }
    }
    assert!(blind.is_empty(), "{blind:#?}");
}
