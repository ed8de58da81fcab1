//! Engines against the brute-force oracle on random programs. `cargo run --release -p fencepost-axiom --example
//! differential` runs as many as wanted.

use crate::support;

const PROGRAMS: u64 = 2000;
/// Programs on which two models of PTX are compared.
const VERSIONS: u64 = 600;

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
        assert!(counts.declined * 50 < counts.compared, "{name}: the engines decline too often: {counts:?}");
    }
}

/// What `ptx-7.5` knows `ptx` says too. `--kind versions` of the example compares as many programs as wanted.
#[test]
fn the_newest_ptx_agrees_with_an_older_one_on_random_programs() {
    use support::versions;
    let models = versions::subjects();
    let mut compared = versions::Compared::default();
    for seed in 0..VERSIONS {
        if let Err(message) = versions::run(seed, &models, &mut compared) {
            panic!("{message}");
        }
    }
    println!("{compared:?}");
    assert!(compared.chains > VERSIONS / 3 && compared.programs > VERSIONS / 2, "{compared:?}");
    assert!(compared.racy > VERSIONS / 10 && compared.executions > 4 * VERSIONS, "{compared:?}");
}

/// A rule that asks for the scopes of the ends of a chain of read-modify-writes, and not of its links, is found out.
#[test]
fn a_rule_on_the_ends_of_a_chain_is_found() {
    use support::versions;
    let text = fencepost_axiom::model::shipped("ptx").expect("a shipped model");
    let changed = text.replace("let seen = strong-observation | (observation & ", "let seen = (observation & ");
    assert_ne!(text, changed, "the rule has another form");
    let [older, _] = versions::subjects();
    let models = [older, support::Subject::with_variants("ptx", &changed, &["9.4"])];
    let found = (0..VERSIONS).find_map(|seed| versions::run(seed, &models, &mut versions::Compared::default()).err());
    assert!(found.expect("the difference is found").contains("PTX chain"));
}

/// Programs on which the engines once differed, shrunk.
#[test]
fn what_once_differed_agrees() {
    const PROGRAMS: &[&str] = &[
        // The SAT engine gave values to the operands of barriers on the chosen traces only; Dartagnan's rule also asks
        // for those not reached.
        "PTX barrier-not-reached\n{ y=0; }\nP0@cta 0,gpu 0 ;\nld.weak r0, y ;\nbar.cta.sync 1, 0 ;\nbar.cta.sync 1, r0 ;\nexists (P0:r0 == 0)\n",
        // Both engines took one operation for the whole group; each thread gets the result of its own.
        "PTX red\n{ }\nP0@cta 0, gpu 0 {\nbar.red.and.pred %p1, 0, %p0;\nselp.u32 %r1, 1, 0, %p1;\n}\nP1@cta 0, gpu 0 {\nsetp.eq.u32 %p0, 0, 0;\nbar.red.popc.u32 %r2, 0, %p0;\n}\nfilter (P0:%r1 != 1)\nexists (P1:%r2 = 1)\n",
        // Declined by name: an operand that rests on a reduction. It was taken for a value out of thin air.
        "PTX red-to-id\n{ x = 0; }\nP0@cta 0, gpu 0 {\nbar.red.or.pred %p1, 0, %p0;\nselp.u32 %r1, 1, 0, %p1;\nst.weak.u32 [x], %r1;\nld.weak.u32 %r2, [x];\nbar.sync %r2;\n}\nexists (P0:%r2 = 0)\n",
    ];
    for program in PROGRAMS {
        support::run_text(program).expect("the engines agree");
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

/// What is not generated is not checked: each of these occurs in some of the programs.
#[rustfmt::skip]
const FORMS: &[&str] = &[
    ".volatile", "membar.gl", "membar.sys", "fence.sc.", "fence.acquire.", "fence.release.", "fence.proxy.alias",
    "fence.proxy.texture", "tld.", "suld.", "sust.", "cold.", ".s32", ".u8", ".u16", ".u64", ".min.s32", ".max.u32",
    ".inc.u32", ".dec.u32", ".and.b32", ".or.b32", ".xor.b32", ".exch.b32", ".cas.b32", ".cas.b64", "red.",
    ".sub r", "[%rd_x]", "selp.u64", "cvt.u64.u32", "@%p1 st", "@!%p1 ld", "@%p1 exit", "@%p1 bra", "@%p2 bra",
    "@%p3 bra", "@%p4 bra", ".sync 0;", ".sync 0, 2", "bar.arrive", "bar.red.popc", "bar.red.and", "bar.red.or",
    "%r7;", "bar.cta.sync 1, 0, ", "bar.cta.arrive", "r7 ", "goto", "filter", "\\/", "LOCK CMPXCHG", "LOCK INC",
    "LOCK XADD", " INC [", " CMPXCHG [", "SFENCE", "LFENCE", "XCHG", "[EBP]", "JNE", "cta 1, gpu 0", "cta 0, gpu 1",
];

#[test]
fn every_form_is_generated() {
    let texts: Vec<String> = (0..PROGRAMS).map(support::text).collect();
    for form in FORMS {
        let count = texts.iter().filter(|text| text.contains(form)).count();
        assert!(count >= 3, "`{form}` is in {count} programs");
    }
}
