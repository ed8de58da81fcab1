//! Engines against the brute-force oracle on random programs of asynchronous operations, written as text, under the
//! model `ptx` and its readings the other way.

use crate::support;

const PROGRAMS: u64 = 450;

#[test]
fn engines_agree_with_the_oracle_on_asynchronous_programs() {
    let subjects = support::asynchronous_subjects();
    let mut tally = support::Tally::default();
    for seed in 0..PROGRAMS {
        let subject = &subjects[seed as usize % subjects.len()];
        if let Err(message) = support::run_strands(seed, subject, &mut tally) {
            panic!("{message}");
        }
    }
    println!("{}", tally.summary());
    let counts = tally.models["ptx"];
    assert!(tally.refused * 10 < tally.programs, "the generator makes what has a meaning: {}", tally.refused);
    assert!(counts.compared > PROGRAMS && counts.executions > PROGRAMS, "too little compared: {counts:?}");
    assert!(counts.stuck > 50 && counts.races > 200, "too little happens: {counts:?}");
    assert!(counts.too_large * 4 < counts.compared, "the oracle gives up too often: {counts:?}");
}

/// The comparison itself under test: a program for which the fence of one version is compiled into another is found.
#[test]
fn a_wrong_model_is_found_and_shrunk() {
    let mut subjects = support::asynchronous_subjects();
    let (other, plain) = (subjects.pop().expect("three"), subjects.swap_remove(0));
    let subject = plain.compiled_as(other);
    let run = |seed| support::run_strands(seed, &subject, &mut support::Tally::default()).err();
    let message = (0..300).find_map(run).expect("the difference between two readings is found");
    let lines = message.lines().filter(|line| line.starts_with("  ") && line.ends_with(';')).count();
    assert!(lines <= 9, "not shrunk:\n{message}");
}

/// Atomics of vectors and of replicas, whose parts have no order among each other, beside a thread that sees the parts.
#[test]
fn engines_agree_with_the_oracle_on_atomics_of_several_parts() {
    let subjects = support::asynchronous_subjects();
    let mut tally = support::Tally::default();
    let vectors = ["relaxed", "release", "acquire", "acq_rel"]
        .map(|order| format!("atom.{order}.gpu.global.v2.f32.add {{%f1, %f2}}, [x], {{0f3F800000, 0f3F800000}};"));
    let reductions = ["relaxed", "release"]
        .map(|order| format!("red.{order}.gpu.global.add.v2.f32 [x], {{0f3F800000, 0f3F800000}};"));
    let declared = ".global .u32 d = 0; .global .f32 x[2] = 0;";
    let replicas = ["relaxed", "release"].map(|order| format!("multimem.red.{order}.sys.global.add.u32 [m], 1;"));
    let both = ".global .u32 d = 0; .global .u32 a = 0; .global .u32 b = 0; m @ multimem aliases a, b;";
    let parts = [("[x]", "[x+4]"), ("[a]", "[b]")];
    let atomics = vectors.iter().chain(&reductions).map(|code| (declared, code, parts[0]));
    for (declared, code, (one, other)) in atomics.chain(replicas.iter().map(|code| (both, code, parts[1]))) {
        for beside in [
            format!("ld.acquire.sys.global.b32 %r1, {other}; ld.global.u32 %r2, [d];"),
            format!("ld.acquire.sys.global.b32 %r1, {other}; st.relaxed.sys.global.b32 {one}, 5;"),
            format!("ld.relaxed.sys.global.b32 %r1, {other}; st.release.sys.global.b32 {one}, 5;"),
            format!("st.global.u32 [d], 2; st.release.sys.global.b32 {other}, 5;"),
        ] {
            let text = format!(
                "PTX t\n{{ {declared} }}\nP0@cta 0, gpu 0 {{ st.global.u32 [d], 1; {code} }}\n\
                 P1@cta 1, gpu 0 {{ {beside} }}\n"
            );
            if let Err(message) = support::run_text_under(&text, &subjects[1..2], &mut tally) {
                panic!("{message}");
            }
        }
    }
    let counts = tally.models["ptx"];
    assert_eq!((tally.programs, tally.refused), (32, 0));
    assert!(counts.compared > 60 && counts.executions > 90 && counts.too_large == 0, "{counts:?}");
}

/// What is not generated is not checked.
#[rustfmt::skip]
const FORMS: &[&str] = &[
    "cp.async.ca", "cp.async.wait_all", "arrive.noinc", "cp.async.mbarrier.arrive.shared", "mbarrier::complete_tx::bytes [q]",
    "bulk_group [o]", "cp.async.bulk.wait_group 0", "wait_group.read", "st.async", "red.async", "tcgen05.st", "tcgen05.ld",
    "tcgen05.commit", "tcgen05.shift", "before_thread_sync", "after_thread_sync", "fence.proxy.async.global",
    "fence.proxy.async;", "async::generic.acquire", "async::generic.release", "test_wait", "try_wait.parity.relaxed",
    "arrive.relaxed.cluster", "expect_tx.relaxed", "mbarrier.complete_tx", "arrive_drop", "bar.sync", "bar.warp.sync",
];

#[test]
fn every_form_is_generated() {
    let texts: Vec<String> = (0..PROGRAMS).map(support::strands_text).collect();
    for form in FORMS {
        let count = texts.iter().filter(|text| text.contains(form)).count();
        assert!(count >= 5, "`{form}` is in {count} programs");
    }
}
