//! Engines against the brute-force oracle on random events beside program order: strands, mbarriers, proxy fences,
//! kernels, groups, under the model `ptx` and several of its readings.

use crate::support;

const PROGRAMS: u64 = 360;

#[test]
fn engines_agree_with_the_oracle_on_strands() {
    let mut tally = support::Tally::default();
    let subjects = support::asynchronous_subjects();
    for seed in 0..PROGRAMS {
        let subject = &subjects[seed as usize % subjects.len()];
        if let Err(message) = support::run_asynchronous(seed, subject, &mut tally) {
            panic!("{message}");
        }
    }
    println!("{}", tally.summary());
    let counts = tally.models["ptx"];
    assert!(counts.compared > 100 && counts.executions > 500 && counts.races > 100, "too little compared: {counts:?}");
    assert!(counts.too_large * 3 < counts.compared, "the oracle gives up too often: {counts:?}");
    assert!(counts.declined * 20 < counts.compared, "the engines decline too often: {counts:?}");
}
