//! A race that was seen is told, whatever limit ends the search; and a wait that answers no may be what races.

use std::time::Duration;

use fencepost_check::options::EngineChoice;
use fencepost_check::{Models, Options, check, load};
use fencepost_report::{RaceAnswer, Report};
use fencepost_syntax::Source;

fn checked(text: &str, options: &Options) -> Report {
    let (tests, diagnostics) = load(&Source::new("t.litmus", text.to_owned()));
    assert!(tests.len() == 1, "{diagnostics:?}");
    check(&tests[0], &Models::shipped("ptx").expect("a model"), options).report
}

/// A ring of two stages that is refilled without a proxy fence, for so many tiles.
fn ring(tiles: u32) -> String {
    let head = |phase: u32| format!("bar.sync 0;\nmov.u32 %k, 0;\nmov.u32 %st, 0;\nmov.u32 %ph, {phase};\n");
    let place = "LP:\nshl.b32 %o, %st, 3;\nmov.u32 %e, empty;\nadd.u32 %e, %e, %o;\nmov.u32 %f, full;\nadd.u32 %f, %f, %o;\n\
                 shl.b32 %o, %st, 4;\nmov.u32 %a, s;\nadd.u32 %a, %a, %o;\n";
    let wait = |at: &str| format!("W: mbarrier.try_wait.parity.shared::cta.b64 %p, [{at}], %ph;\n@!%p bra W;\n");
    let next = format!(
        "add.u32 %st, %st, 1;\nsetp.eq.u32 %q, %st, 2;\n@%q mov.u32 %st, 0;\n@%q xor.b32 %ph, %ph, 1;\nadd.u32 %k, %k, 1;\n\
         setp.lt.u32 %r, %k, {tiles};\n@%r bra LP;\n"
    );
    let mut init = String::new();
    for stage in [0, 8] {
        init += &format!("mbarrier.init.shared::cta.b64 [full+{stage}], 1;\n");
        init += &format!("mbarrier.init.shared::cta.b64 [empty+{stage}], 2;\n");
    }
    let fill = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%f], 16;\n\
                cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [g], 16, [%f];\n";
    let producer = format!("{init}{}{place}{}{fill}{next}", head(1), wait("%e"));
    let consumer = |at: u32| {
        let read = format!("ld.shared.u64 %v, [%a+{at}];\nmbarrier.arrive.shared::cta.b64 _, [%e];\n");
        format!("{}{place}{}{read}{next}", head(0), wait("%f"))
    };
    let declarations = ".global .b64 g[2] = 1; .shared .b64 s[2][2] = 0; .shared .b64 full[2]; .shared .b64 empty[2];";
    format!(
        "PTX ring\n{{ {declarations} }}\nP0@cta 0 {{\n{producer}}}\nP1@cta 0 {{\n{}}}\nP2@cta 0 {{\n{}}}\nforall (P1:%v = 1)\n",
        consumer(0),
        consumer(8)
    )
}

#[test]
fn a_race_that_was_seen_before_the_time_was_up_is_told() {
    // An engine that is chosen lists executions; one run would show the race at once.
    let engine = EngineChoice::Enumerate;
    let budget = fencepost_check::Budget::of_time(Duration::from_secs(4));
    let report = checked(&ring(7), &Options { budget, engine, ..Options::default() });
    assert_eq!(report.races.answer, RaceAnswer::Found, "{:?}", report.executions);
    assert!(!report.races.pairs.is_empty());
    assert_eq!(report.races.rest.as_ref().map(|rest| rest.kind.as_str()), Some("time"));
    let whole = checked(&ring(3), &Options::default());
    assert_eq!((whole.races.answer, whole.races.rest), (RaceAnswer::Found, None));
}

/// Weak writes that race leave the last value of each location open: 2^40 final states, of which one location is asked.
#[test]
fn a_witness_is_replayed_for_what_is_asked_only() {
    let stores = |value: u32| (0..40).map(|at| format!("st.weak.global.u32 [x{at}], {value};\n")).collect::<String>();
    let text =
        format!("PTX many\n{{ }}\nP0@cta 0 {{\n{}}}\nP1@cta 1 {{\n{}}}\nexists (x0 = 1)\n", stores(1), stores(2));
    let report = checked(&text, &Options::default());
    assert_eq!(report.verdict.word(), "Holds", "{:?}", report.why);
}

/// The wait that answers yes acquires what the arrival releases, the initialisation too. The one before it does not.
#[test]
fn a_wait_that_answers_no_races_with_the_initialisation() {
    let text = |sync: &str| {
        format!(
            "PTX t\n{{ .shared .b64 b; .shared .b64 c; }}\nP0@cta 0 {{\nmbarrier.init.shared::cta.b64 [b], 1;\n\
             mbarrier.init.shared::cta.b64 [c], 1;\n{sync}\nmbarrier.arrive.shared::cta.b64 _, [b];\n\
             mbarrier.arrive.shared::cta.b64 _, [c];\n}}\nP1@cta 0 {{\n{sync}\n\
             L: mbarrier.try_wait.parity.shared::cta.b64 %p, [b], 0;\n@!%p bra L;\n\
             M: mbarrier.try_wait.parity.shared::cta.b64 %p, [c], 0;\n@!%p bra M;\n}}\nforall (true)\n"
        )
    };
    let racy = checked(&text(""), &Options::default());
    assert_eq!(racy.races.answer, RaceAnswer::Found);
    let lines: Vec<(u32, u32)> = racy.races.pairs.iter().map(|pair| (pair.first.line, pair.second.line)).collect();
    assert_eq!(lines, [(4, 12)], "behind the first wait the other object is known");
    assert_eq!(racy.kinds(), ["uninitialised"]);
    let right = checked(&text("bar.sync 0;"), &Options::default());
    assert_eq!((right.races.answer, right.kinds().len()), (RaceAnswer::None, 0));
}
