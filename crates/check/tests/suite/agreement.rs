//! `ptx` says of programs that `ptx-6.0` or `ptx-7.5` know what those say: verdicts, races, termination and the number of
//! executions, on the corpus. The compound model says of host-only and device-only programs what the models of the parts
//! say.

use std::cell::LazyCell;

use fencepost_check::{LoadedModel, Models, Options, Test, check};
use fencepost_report::{Count, RaceAnswer, Report, TerminationAnswer};
use fencepost_syntax::litmus::Arch;

use crate::corpus;

/// Those of the corpus that have a meaning.
fn tests() -> impl Iterator<Item = &'static Test> {
    corpus::tests().iter().filter(|test| test.program.unsupported.is_empty())
}

/// `ld.global.nc` reads what the kernel does not write, and no fence is about it. The mixed-proxy model of ptx-7.5 knows
/// accesses through the texture proxy only, and orders them by fences (docs/models/ptx.md).
/// And what is a dependency in name only is none under `ptx`, where a write that is not made for its address or for what it is
/// compared with is one.
const APART: [&str; 60] = [
    "deque-cilk-ptx.litmus",
    "Non-coherent-load-fenced.litmus",
    "LB+data+datafalse@ctas.litmus",
    "LB+datafalse+ctrl@ctas.litmus",
    "LB+datafalse+datafalse@ctas.litmus",
    "LB+branch-alike.litmus",
    "LB+branch-to-next.litmus",
    "LB+branch-joined.litmus",
    "LB+branch-then-alike.litmus",
    "LB+branch-register-alike.litmus",
    "LB+branch-in-loop.litmus",
    "LB+guard-joined.litmus",
    "LB+guard-other-memory.litmus",
    "Bar-exit-same-barrier-on-both-ways.litmus",
    "Bar-exit-other-branch-decides.litmus",
    "LB+left-out-overwritten.litmus",
    "LB+left-out-unused.litmus",
    "LB+left-out-elsewhere.litmus",
    "LB+left-out-concurrent.litmus",
    "LB+left-out-flag-relaxed.litmus",
    "LB+left-out-alike-behind.litmus",
    "LB+left-out-pointer.litmus",
    "LB+left-out-pointer-barrier.litmus",
    "LB+left-out-swap.litmus",
    "LB+left-out-swap-barrier.litmus",
    "swap-and-store.litmus",
    "relaxed-on-one-way.litmus",
    "LB+left-out-loop.litmus",
    "LB+left-out-loop-alike.litmus",
    "LB+left-out-guards-flag.litmus",
    "LB+left-out-guards-fence-behind.litmus",
    "LB+left-out-guards-stronger.litmus",
    "LB+left-out-put-off.litmus",
    "LB+left-out-restored-early.litmus",
    "LB+left-out-twice.litmus",
    "LB+guard-overwritten.litmus",
    "LB+guard-known-pointer.litmus",
    "LB+guard-pointer-elsewhere.litmus",
    "LB+guard-moves-pointer-elsewhere.litmus",
    "LB+guards-alike.litmus",
    "LB+guards-alike-load.litmus",
    "LB+guards-alike-red.litmus",
    "LB+branches-alike.litmus",
    "Bar-arrive-guards-alike.litmus",
    "Bar-red-used-in-name.litmus",
    "alias-without-a-fence.litmus",
    "surface-without-a-fence.litmus",
    "dead-behind-a-load.litmus",
    "either-condition-both-hold.litmus",
    "either-condition-one-holds.litmus",
    "exchange-hands-nothing-on.litmus",
    "fence-on-both-ways.litmus",
    "narrow-beside-an-atomic.litmus",
    "no-value-makes-the-write.litmus",
    "pointer-by-either-condition-both-hold.litmus",
    "pointer-by-either-condition-one-holds.litmus",
    "two-branches-both-taken-first.litmus",
    "two-branches-one-taken-first.litmus",
    "weak-beside-a-reduction.litmus",
    "weak-beside-an-atomic.litmus",
];

/// What two models must say alike of a program.
fn answers(report: &Report) -> (Vec<&'static str>, RaceAnswer, TerminationAnswer, Option<Count>) {
    let verdicts = report.questions.iter().map(|answer| answer.verdict.word()).collect();
    (verdicts, report.races.answer, report.termination.answer, report.executions)
}

#[test]
fn the_older_models_are_contained() {
    let whole = Models::shipped("ptx").expect("a model");
    let older = ["ptx-6.0", "ptx-7.5"].map(|name| Models::shipped(name).expect("a model"));
    let mut compared = [0; 2];
    for test in tests().filter(|test| test.program.arch == Arch::Ptx) {
        let name = test.source.name.rsplit('/').next().unwrap_or_default();
        // Both are compared with one check.
        let checked = LazyCell::new(|| check(test, &whole, &Options::default()));
        for (older, compared) in older.iter().zip(&mut compared) {
            if !test.program.features.iter().all(|found| older.knows(found.node)) {
                continue;
            }
            let is_torn = name.starts_with("torn-") || name == "Float-sum-weak-read.litmus";
            // The search for torn values that only the whole model knows, or that it could not be made.
            let could_be = || checked.report.warnings.iter().any(|warning| warning.name == "may-be-torn");
            if is_torn && (checked.test.is_some() || could_be()) {
                // Only `ptx` says which accesses are whole; the older ones take all for it.
                continue;
            }
            let by_older = check(test, older, &Options::default()).report;
            if APART.iter().any(|name| test.source.name.ends_with(name)) {
                assert_ne!(answers(&by_older), answers(&checked.report), "no longer apart under {}", older.name);
                continue;
            }
            assert_eq!(answers(&by_older), answers(&checked.report), "{} under {}", test.source.name, older.name);
            *compared += 1;
        }
    }
    assert!(compared.iter().all(|compared| *compared > 300), "only {compared:?} tests were compared");
}

/// Loops that try again are decided by asking the model for the beginning of an execution, which is for models whose axioms
/// a beginning cannot break (`Model::is_prefix_closed`). `cmm` takes reads of a thread's own buffered writes out of rf, by
/// a difference, and is not seen to be one. That the threads of a CTA leave a loop together is asked in the same way.
const RETRIES: [&str; 20] = [
    "burns-ptx",
    "burns-x86",
    "dekker-ptx",
    "dekker-x86",
    "lamport-fast-ptx",
    "lamport-fast-x86",
    "Retry-add",
    "Retry-add-unlucky",
    "Retry-push",
    "Retry-push-lost",
    "Cta-lock",
    "Cta-lock-relaxed-unlock",
    "Cta-poll",
    "Cta-poll-inner-spin",
    "Cta-poll-nobody",
    "Cta-poll-relaxed",
    "Cta-poll-told-first",
    "Cta-poll-vote",
    "Cta-poll-vote-one-asks",
    "Cta-poll-vote-relaxed",
];

/// They have more executions than are counted, and how many outcomes were seen by then depends on the model.
const UNCOUNTED: &str = "-twice-x86.litmus";

#[test]
fn the_compound_model_is_that_of_each_part() {
    let whole = Models::shipped("cmm").expect("a model");
    for (part, least) in [("x86-tso", 20), ("ptx-6.0", 200)] {
        let part = Models::shipped(part).expect("a model");
        let mut compared = 0;
        for test in tests() {
            let knows = |model: &LoadedModel| test.program.features.iter().all(|found| model.knows(found.node));
            if !part.is_about(test.program.arch) || !knows(&part) || !knows(&whole) {
                continue;
            }
            if test.source.name.ends_with(UNCOUNTED) {
                continue;
            }
            let answers = |model| {
                let report = check(test, model, &Options::default()).report;
                let verdicts: Vec<_> = report.questions.iter().map(|answer| answer.verdict.word()).collect();
                // x86-tso has no races.
                let races = (part.name != "x86-tso").then_some(report.races.answer);
                (verdicts, report.outcomes.len(), report.termination.answer, races)
            };
            if RETRIES.iter().any(|retry| test.source.name.ends_with(&format!("{retry}.litmus"))) {
                assert_eq!(format!("{:?}", answers(&whole).2), "Unknown", "{}", test.source.name);
                continue;
            }
            assert_eq!(answers(&part), answers(&whole), "{} under {}", test.source.name, part.name);
            compared += 1;
        }
        assert!(compared > least, "only {compared} tests were compared with {}", part.name);
    }
}
