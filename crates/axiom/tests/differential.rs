//! Engines against the brute-force oracle on random programs. `cargo run --release -p fencepost-axiom --example
//! differential` runs as many as wanted.

mod support;

const PROGRAMS: u64 = 2000;

#[test]
fn engines_agree_with_the_oracle_on_random_programs() {
    let subjects = support::subjects();
    let mut tally = support::Tally::default();
    for seed in 0..PROGRAMS {
        if let Err(message) = support::run(seed, &subjects, &mut tally) {
            panic!("{message}");
        }
    }
    println!("{}", tally.summary());
    assert!(tally.refused * 100 < tally.programs, "the generator makes what has a meaning");
    for (name, counts) in &tally.models {
        assert!(counts.compared > 100 && counts.executions > 1000, "{name}: too little compared: {counts:?}");
        assert!(counts.stuck > 10 || *name == "x86-tso", "{name}: nothing is ever stuck: {counts:?}");
        assert!(counts.too_large * 20 < counts.compared, "{name}: the oracle gives up too often: {counts:?}");
    }
}

/// The comparison itself under test: SC compiled as TSO is found out, and shrunk to a handful of accesses.
#[test]
fn a_wrong_model_is_found_and_shrunk() {
    let subjects = [support::Subject::mixed("x86-tso", "sc")];
    let found = (0..200).find_map(|seed| support::run(seed, &subjects, &mut support::Tally::default()).err());
    let message = found.expect("the difference between TSO and SC is found");
    let instructions = message.matches("MOV ").count() + message.matches("XCHG").count();
    assert!(instructions <= 6 && message.contains("enumerate finds"), "not shrunk:\n{message}");
}
