//! Accesses to the shared memory of a CTA that may have exited, or may not have started: the pair, what is missing, and what
//! is clean.

use super::check;
use fencepost_check::expect::expectation::{Comparison, parse};
use fencepost_check::model::readings::Settings;
use fencepost_check::{Models, Options, Test, load};
use fencepost_report::{Race, RaceAnswer, Report};
use fencepost_syntax::Source;
use fencepost_tell::output::{Row, Status, herd, table};
use fencepost_tell::words;

fn test(text: &str) -> Test {
    let (mut tests, diagnostics) = load(&Source::new("t.litmus", text));
    assert!(tests.len() == 1, "{diagnostics:?}");
    tests.remove(0)
}

fn report(text: &str) -> Report {
    check(&test(text), &Models::shipped("ptx").expect("a model"), &Options::default()).report
}

/// Two CTAs of a cluster; `rs` is the first one's `s`, `rb` its mbarrier.
fn pair(first: &str, second: &str) -> String {
    format!(
        "PTX t\n{{ .shared .u32 s = 0; .shared .mbarrier b = 1; P1:%rs = s@0; P1:%rb = b@0; }}\n\
         P0@cta 0, cluster 0 {{\n{first}\n}}\nP1@cta 1, cluster 0 {{\n{second}\n}}\nforall (true)\n"
    )
}

/// Shows that every CTA has started, and keeps them for operations on mbarriers.
const MEET: &str = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;";
/// Waits for loads and stores as well (9.7.15.3).
const KEEP: &str = "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;";
const READ: &str = "ld.shared::cluster.u32 %r1, [%rs];";

fn only(report: &Report) -> &Race {
    assert_eq!(report.races.pairs.len(), 1, "{:?}", report.races.pairs);
    &report.races.pairs[0]
}

#[test]
fn a_read_of_a_peer_that_may_be_gone() {
    let found = report(&pair("", READ));
    let race = only(&found);
    assert_eq!((race.flag.as_str(), race.location.as_deref()), ("exit-before-access", Some("s@0")));
    // It is undefined, and no data race.
    assert_eq!(found.races.answer, RaceAnswer::None);
    let row = Row { report: &found, comparison: &Comparison::NothingExpected, required: &[] };
    assert_eq!(row.status(), Status::Good, "the condition decides, as with a race");
    let diagnosis = race.diagnosis.as_ref().expect("a diagnosis");
    assert!(diagnosis.confirmed && diagnosis.why.contains("nothing keeps CTA 0 from exiting"), "{diagnosis:?}");
    let missing = &diagnosis.missing[0];
    let text = "`barrier.cluster.arrive.release; barrier.cluster.wait.acquire` at the end of P0 and P1";
    assert_eq!((missing.text.as_str(), missing.section.as_str()), (text, "9.7.15.3"));
    assert!(herd::log(&test(&pair("", READ)), &found).contains("Flag exit-before-access\n"));
}

#[test]
fn what_keeps_a_cta_there() {
    for (first, second) in [
        (MEET.to_owned(), format!("{READ} {KEEP}")),
        (MEET.to_owned(), format!("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%rb]; {MEET}")),
        // It waits for what comes.
        (
            "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [b], 0; @!%p1 bra W;".to_owned(),
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%rb];".to_owned(),
        ),
    ] {
        let found = report(&pair(&first, &second));
        assert!(found.races.pairs.is_empty(), "{:?}", found.races.pairs);
    }
    // An arrive that nobody waits for keeps nothing, and a barrier before the access neither.
    for (first, second) in
        [("barrier.cluster.arrive.relaxed;", format!("{READ} {KEEP}")), (MEET, format!("{KEEP} {READ}"))]
    {
        assert_eq!(only(&report(&pair(first, &second))).flag, "exit-before-access");
    }
}

/// A relaxed arrival is there already: `.release` on it is missing, and no second barrier. An arrival at an mbarrier needs
/// neither.
#[test]
fn a_relaxed_arrival_behind_an_access_lacks_a_release() {
    let missing = |access: &str| {
        let found = report(&pair(MEET, &format!("{access} {MEET}")));
        let race = only(&found);
        let diagnosis = race.diagnosis.as_ref().expect("a diagnosis");
        assert!(race.flag == "exit-before-access" && diagnosis.confirmed, "{diagnosis:?}");
        assert!(diagnosis.why.contains("is relaxed, so the barrier orders no memory"), "{diagnosis:?}");
        diagnosis.missing[0].text.clone()
    };
    let arrival = "`.release` on P1's `barrier.cluster.arrive.relaxed`";
    for access in [
        READ,
        "st.shared::cluster.u32 [%rs], 1;",
        "red.add.relaxed.cluster.shared::cluster.u32 [%rs], 1;",
        "st.relaxed.cluster.shared::cluster.u32 [%rs], 1; fence.acq_rel.cta;",
    ] {
        let text = missing(access);
        assert!(text.starts_with(arrival), "{access}: {text}");
    }
    let bare = report(&pair("", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%rb];"));
    let diagnosis = only(&bare).diagnosis.as_ref().expect("a diagnosis");
    let text = "`barrier.cluster.arrive.relaxed; barrier.cluster.wait` at the end of P0 and P1";
    assert_eq!(diagnosis.missing[0].text, text);
}

#[test]
fn bulk_copies_outlive_their_own_cta_unless_read_otherwise() {
    let text = "PTX t\n{ .global .b64 g[2] = 0; .shared .b64 s[2] = 1; }\nP0@cta 0 {\n\
                cp.async.bulk.global.shared::cta.bulk_group [g], [s], 16;\ncp.async.bulk.commit_group;\n}\nforall (true)\n";
    assert_eq!(report(text).races.pairs.len(), 0);
    let mut readings = Settings::default();
    readings.add("exit-with-bulk-stores=race").expect("a reading");
    let options = Options { readings, ..Options::default() };
    let found = check(&test(text), &Models::shipped("ptx").expect("a model"), &options).report;
    let diagnosis = only(&found).diagnosis.as_ref().expect("a diagnosis");
    assert!(diagnosis.why.contains("nothing keeps the CTA from exiting before that is done"), "{diagnosis:?}");
    assert!(diagnosis.confirmed && diagnosis.missing[0].text.starts_with("`cp.async.bulk.wait_group.read 0`"));
}

/// What differs from an expectation, in words.
fn different(line: &str, found: &Report) -> Vec<String> {
    match parse(line).0.compare(found) {
        Comparison::Different(differences) => words::differences(&differences),
        _ => Vec::new(),
    }
}

#[test]
fn expectations_speak_of_it_and_of_warnings() {
    let found = report(&pair("", READ));
    let differences = |line: &str| different(line, &found);
    assert_eq!(differences("ptx: Holds"), ["expected to find none, found exit-before-access"]);
    assert_eq!(differences("ptx: Holds, finds exit-before-access"), [""; 0]);
    let warned = differences("ptx: Holds, finds exit-before-access, warns relaxed-wait");
    assert_eq!(warned, ["expected the warnings relaxed-wait, found none"]);
    let wait = "mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 %p1, [b], 0; ld.shared.u32 %r1, [s];";
    let found = report(&pair(wait, ""));
    assert_eq!(different("ptx: Holds", &found), ["expected the warnings none, found relaxed-wait"]);
}

/// Two CTAs of a cluster, from their first instruction on: shared memory has no value that a test could declare.
fn from_the_start(first: &str, second: &str) -> String {
    pair(first, second).replace("s = 0;", "s;").replace("b = 1;", "b;")
}

/// CUDA programming guide, distributed shared memory: all thread blocks must have started before one accesses another's.
#[test]
fn a_read_of_a_peer_that_may_not_have_started() {
    let found = report(&from_the_start(MEET, &format!("{READ} {KEEP}")));
    let race = only(&found);
    assert_eq!((race.flag.as_str(), race.location.as_deref()), ("access-before-start", Some("s@0")));
    assert_eq!(found.races.answer, RaceAnswer::None, "it is undefined, and no data race");
    let diagnosis = race.diagnosis.as_ref().expect("a diagnosis");
    assert!(diagnosis.confirmed && diagnosis.why.contains("nothing shows that CTA 0 has started"), "{diagnosis:?}");
    let missing = &diagnosis.missing[0];
    let text = "`barrier.cluster.arrive.relaxed; barrier.cluster.wait` at the beginning of P0 and P1";
    assert_eq!((missing.text.as_str(), missing.section.as_str()), (text, "9.7.15.3"));
    let row = Row { report: &found, comparison: &Comparison::NothingExpected, required: &[] };
    let told = table::paragraph(&row, table::Histogram::Hide, table::Colour::Plain);
    assert_eq!(told.matches("ld.shared::cluster.u32").count(), 1, "the access is told once: {told}");
    assert_eq!(parse("ptx: Holds, finds access-before-start").0.compare(&found), Comparison::AsExpected);
    assert_eq!(different("ptx: Holds", &found), ["expected to find none, found access-before-start"]);
}

#[test]
fn what_shows_that_a_cta_has_started() {
    let clean = |text: &str| {
        let found = report(text);
        assert!(found.races.pairs.is_empty(), "{text}: {:?}", found.races.pairs);
    };
    clean(&from_the_start(&format!("{MEET} {MEET}"), &format!("{MEET} {READ} {KEEP}")));
    // A value in the declarations, of any of its shared memory, is a state that its threads have made.
    clean(&pair(MEET, &format!("{READ} {KEEP}")));
    let one_value = from_the_start(MEET, &format!("{READ} {KEEP}")).replace(" b;", " b = 1;");
    clean(&one_value);
    // An unknown one is what was there before.
    let unknown = from_the_start(MEET, &format!("{READ} {KEEP}")).replace("u32 s;", "u32 s = ?;");
    assert_eq!(only(&report(&unknown)).flag, "access-before-start");
    // An arrive at the barrier that nobody has waited for shows nothing.
    let early = from_the_start(
        MEET,
        "barrier.cluster.arrive.relaxed; ld.shared::cluster.u32 %r1, [%rs]; barrier.cluster.wait;",
    );
    assert!(report(&early).races.pairs.iter().any(|race| race.flag == "access-before-start"));
}
