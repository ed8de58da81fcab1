//! Rules about mbarriers that some execution breaks, each with the life of the mbarrier.

use super::check;
use fencepost_check::expect::expectation::{Comparison, Expectation};
use fencepost_check::{Models, Options, load};
use fencepost_report::{ProtocolAnswer, Report, TerminationAnswer};
use fencepost_syntax::Source;
use fencepost_tell::output::{Row, table};

/// Two threads of one CTA; the first initialises `b` before the second starts.
fn report(first: &[&str], second: &[&str]) -> Report {
    let first = first.join("\n");
    let second = second.join("\n");
    let text = format!(
        "PTX t\n{{ .shared .b64 b; }}\nP0@cta 0, gpu 0 {{\n{first}\n}}\nP1@cta 0, gpu 0 {{\nbar.sync 0;\n{second}\n}}\n"
    );
    let (tests, diagnostics) = load(&Source::new("t.litmus", text));
    assert!(tests.len() == 1, "{diagnostics:?}");
    check(&tests[0], &Models::shipped("ptx").expect("a model"), &Options::default()).report
}

const INIT: &str = "mbarrier.init.shared.b64 [b], 1;";
const MEET: &str = "bar.sync 0;";
const ARRIVE: &str = "mbarrier.arrive.shared.b64 _, [b];";

fn wait(parity: u32) -> String {
    format!("L{parity}: mbarrier.try_wait.parity.shared.b64 %p1, [b], {parity}; @!%p1 bra L{parity};")
}

fn kinds(report: &Report) -> Vec<&str> {
    report.protocol.errors.iter().map(|error| error.kind.as_str()).collect()
}

#[test]
fn a_barrier_used_as_it_is_meant_to_be_is_clean() {
    let found = report(&[INIT, MEET, ARRIVE], &[&wait(0)]);
    assert_eq!((found.protocol.answer, kinds(&found)), (ProtocolAnswer::None, vec![]), "{found:?}");
    assert_eq!(found.termination.answer, TerminationAnswer::Terminates);
    assert!(Expectation::of(&found).print().contains(", protocol kept"));
    // Two phases: the second arrival comes after a wait for the first.
    let found = report(&[INIT, MEET, ARRIVE, &wait(0), ARRIVE, &wait(1)], &[]);
    assert_eq!((found.protocol.answer, kinds(&found)), (ProtocolAnswer::None, vec![]));
}

#[test]
fn what_the_state_remembers() {
    assert_eq!(kinds(&report(&[MEET, ARRIVE], &[])), ["uninitialised"]);
    assert_eq!(kinds(&report(&[INIT, MEET, "mbarrier.arrive.shared.b64 _, [b], 2;"], &[])), ["too-many-arrivals"]);
    assert_eq!(kinds(&report(&[INIT, MEET, INIT], &[])), ["init-of-live"]);
    assert_eq!(kinds(&report(&[INIT, "mbarrier.inval.shared.b64 [b];", INIT, MEET], &[])), [""; 0]);
    let found = report(&[MEET], &[&wait(0)]);
    assert!(kinds(&found).contains(&"uninitialised"), "{found:?}");
}

/// Some readings of the specification were not looked at, and those that were have broken rules.
#[test]
fn broken_rules_of_what_was_not_decided_are_not_all() {
    let mut found = report(&[MEET, ARRIVE], &[]);
    let said = |report: &Report| {
        let row = Row { report, comparison: &Comparison::NothingExpected, required: &[] };
        table::paragraph(&row, table::Histogram::Hide, table::Colour::Plain)
    };
    found.protocol.answer = ProtocolAnswer::Unknown;
    let text = said(&found);
    assert!(
        text.contains("protocol: there may be more broken rules: the use of the mbarriers was not decided"),
        "{text}"
    );
    found.protocol.errors.clear();
    assert!(said(&found).contains("  protocol: the use of the mbarriers was not decided"), "nothing was found");
}

#[test]
fn an_arrival_before_anybody_waited_for_the_phase_before() {
    let found = report(&[INIT, MEET, ARRIVE, ARRIVE], &[]);
    assert_eq!(kinds(&found), ["missing-wait"]);
    let error = &found.protocol.errors[0];
    assert_eq!((error.mbarrier.as_str(), error.access.line, error.section.as_str()), ("b", 7, "9.7.15.16.5.1"));
    let timeline: Vec<(u32, u32, bool)> =
        error.timeline.iter().map(|step| (step.phase, step.pending, step.here)).collect();
    assert_eq!(timeline, [(0, 1, false), (1, 1, false), (2, 1, true)]);
    // Another thread's wait will do, if the arrival comes after it.
    let found = report(&[INIT, MEET, ARRIVE, "bar.sync 1;", ARRIVE], &[&wait(0), "bar.sync 1;"]);
    assert_eq!(kinds(&found), [""; 0]);
}

#[test]
fn a_wait_that_never_succeeds_says_what_it_lacks() {
    let found = report(&["mbarrier.init.shared.b64 [b], 2;", MEET, ARRIVE], &[&wait(0)]);
    assert_eq!((kinds(&found), found.termination.answer), (vec!["missing-arrivals"], TerminationAnswer::MayHang));
    assert!(found.protocol.errors[0].message.contains("phase 0 lacks 1 of 2 arrivals"), "{found:?}");
    let found = report(&[INIT, MEET, "mbarrier.arrive.expect_tx.shared.b64 _, [b], 16;"], &[&wait(0)]);
    assert_eq!(kinds(&found), ["missing-bytes"]);
    assert!(found.protocol.errors[0].message.contains("expects 16 bytes more than arrive"), "{found:?}");
}

#[test]
fn a_parity_that_means_another_phase() {
    let phases = [INIT, MEET, ARRIVE, &wait(0), ARRIVE, &wait(1), "bar.sync 1;"];
    let found = report(&phases, &["bar.sync 1;", &wait(0)]);
    assert_eq!((kinds(&found), found.termination.answer), (vec!["parity-aliasing"], TerminationAnswer::MayHang));
    assert!(
        found.protocol.errors[0].message.contains("waited on for phase 0 too late: the parity stands for phase"),
        "{found:?}"
    );
    let row = Row { report: &found, comparison: &Comparison::NothingExpected, required: &[] };
    let text = table::paragraph(&row, table::Histogram::Hide, table::Colour::Plain);
    assert!(text.contains("  protocol: b is waited on for phase 0"), "{text}");
    assert!(text.contains("phase 2, pending 1 of 1, tx 0"), "{text}");
    // Fresh barriers pass the parity before the first phase, as producers rely on.
    let found = report(&[INIT, MEET, &wait(1)], &[]);
    assert_eq!((kinds(&found), found.protocol.answer), (vec![], ProtocolAnswer::None));
}

#[test]
fn a_first_wait_means_the_phase_that_a_barrier_has_told_of() {
    let over = [INIT, MEET, ARRIVE, &wait(0), ARRIVE, &wait(1), "bar.sync 1;", ARRIVE];
    let found = report(&over, &["bar.sync 1;", &wait(0)]);
    assert_eq!((kinds(&found), found.termination.answer), (vec![], TerminationAnswer::Terminates));
    // Nothing tells of them.
    let over = [INIT, MEET, ARRIVE, &wait(0), ARRIVE, &wait(1), ARRIVE];
    assert_eq!(kinds(&report(&over, &[&wait(0)])), ["parity-aliasing"]);
    // Another mbarrier at the same place had three phases, this one has had none: nobody was told of phase 0.
    let end = "mbarrier.inval.shared.b64 [b];";
    let first = [INIT, MEET, ARRIVE, &wait(0), ARRIVE, &wait(1), end, INIT, "bar.sync 1;"];
    let waits = [wait(0).replace('L', "M"), wait(1).replace('L', "M")];
    let again = [first.as_slice(), &[ARRIVE, &waits[0], ARRIVE, &waits[1], ARRIVE]].concat();
    assert_eq!(kinds(&report(&again, &["bar.sync 1;", &wait(0)])), ["parity-aliasing"]);
}

const COPY: &str = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [b];";

/// One thread that uses an initialised mbarrier `b` and a stage `s`.
fn alone(code: &[&str]) -> Report {
    let code = code.join("\n");
    let text = format!(
        "PTX t\n{{ .global .b64 g[2] = 1; .shared .b64 s[2] = 0; .shared .mbarrier b = 1; }}\nP0@cta 0, gpu 0 {{\n{code}\n}}\n"
    );
    let (tests, diagnostics) = load(&Source::new("t.litmus", text));
    assert!(tests.len() == 1, "{diagnostics:?}");
    check(&tests[0], &Models::shipped("ptx").expect("a model"), &Options::default()).report
}

fn expects(bytes: u32) -> String {
    format!("mbarrier.arrive.expect_tx.shared.b64 _, [b], {bytes};")
}

fn warned(report: &Report) -> Vec<&str> {
    report.warnings.iter().map(|warning| warning.name.as_str()).collect()
}

#[test]
fn bytes_that_do_not_match_need_no_hang() {
    assert_eq!(kinds(&alone(&[&expects(16), COPY])), [""; 0]);
    let found = alone(&[&expects(16)]);
    assert_eq!((kinds(&found), found.termination.answer), (vec!["missing-bytes"], TerminationAnswer::Terminates));
    let error = &found.protocol.errors[0];
    assert!(error.message.contains("expects 16 bytes in all and gets 0"), "{error:?}");
    assert_eq!((error.access.line, error.timeline.last().map(|step| step.tx)), (4, Some(16)));
    let found = alone(&[&expects(16), COPY, &wait(0), &expects(8), COPY]);
    assert_eq!(kinds(&found), ["excess-bytes"]);
    assert!(found.protocol.errors[0].message.contains("expects 24 bytes in all and gets 32"), "{found:?}");
}

#[test]
fn a_phase_that_ends_without_the_bytes_of_a_copy() {
    let found = alone(&[COPY, ARRIVE, &wait(0)]);
    assert_eq!(kinds(&found), ["excess-bytes"; 2], "an early end, and a hang");
    let early = found.protocol.errors.iter().find(|error| error.message.contains("may be over without them"));
    assert!(early.is_some_and(|error| error.message.contains("phase 0 may")), "{found:?}");
    // The other order is legal: the tx-count is negative for a while.
    assert_eq!(kinds(&alone(&[COPY, &expects(16), &wait(0)])), [""; 0]);
}

#[test]
fn bytes_for_a_phase_that_nobody_uses_are_only_warned_of() {
    let found = alone(&[&expects(16), COPY, &wait(0), COPY]);
    assert_eq!((kinds(&found), warned(&found)), (vec![], vec!["unexpected-bytes"]));
}

#[test]
fn uses_after_inval_and_of_no_parity() {
    let inval = "mbarrier.inval.shared.b64 [b];";
    let wait = "mbarrier.test_wait.parity.shared.b64 %p1, [b], 0;";
    assert_eq!(kinds(&alone(&[inval, ARRIVE])), ["used-after-inval"]);
    assert_eq!(kinds(&alone(&[inval, wait])), ["used-after-inval"]);
    // What is left behind by a use of no object is still no object.
    assert_eq!(kinds(&alone(&[inval, ARRIVE, wait])), ["used-after-inval"; 2]);
    assert_eq!(kinds(&alone(&[&expects(16), inval])), ["missing-bytes"]);
    let parity = "mov.u32 %k, 2; mbarrier.test_wait.parity.shared.b64 %p1, [b], %k;";
    assert_eq!(kinds(&alone(&[parity])), [""; 0], "since 9.4 the operand has a parity, and need not be one");
    let text = format!("PTX t\n{{ .version 9.1; .shared .mbarrier b = 1; }}\nP0@cta 0, gpu 0 {{\n{parity}\n}}\n");
    let (tests, _) = load(&Source::new("t.litmus", text));
    let found = check(&tests[0], &Models::shipped("ptx").expect("a model"), &Options::default()).report;
    assert_eq!(kinds(&found), ["parity-range"]);
}
