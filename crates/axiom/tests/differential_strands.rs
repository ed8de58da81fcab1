//! Engines against the brute-force oracle on random programs of asynchronous operations, written as text, under the
//! model `ptx` and its readings the other way.

mod support;

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
