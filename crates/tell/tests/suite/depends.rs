//! Answers that depend on how a contested point of the specification is read.

use super::check;
use fencepost_check::expect::expectation::{self, Comparison, Expectation};
use fencepost_check::model::readings::Settings;
use fencepost_check::{Budget, LoadedModel, Models, Options, Test, load};
use fencepost_report::{RaceAnswer, Report};
use fencepost_syntax::Source;
use fencepost_tell::output::{Row, json, table};
use fencepost_tell::words;

const MP: &str = "PTX MP\n{ x=0; y=0; P1:r0=0; P1:r1=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n \
                  st.weak x, 1 | ld.weak r0, y ;\n st.weak y, 1 | ld.weak r1, x ;\n\
                  exists (P1:r0=1 /\\ P1:r1=0)\n";

/// Writes and reads stay in order only under their readings; nothing depends on `idle`.
const MODEL: &str = "PTX\n// readings: idle=off|on writes=free|ordered reads=free|ordered\n\
    let ww = if \"writes=ordered\" then [W]; po; [W] else 0\n\
    let rr = if \"reads=ordered\" then [R]; po; [R] else 0\n\
    let ppo = ww | rr | (if \"idle=on\" then id & rf else 0)\n\
    acyclic ppo | rf | co | (rf^-1; co) as order\n\
    flag ~empty ((loc & ext & (W * R)) \\ (IW * _)) \\ (if \"writes=ordered\" then loc else 0) as data-race\n";

fn model(text: &str) -> LoadedModel {
    Models::from_source("m.cat", Source::new("m.cat", text), &mut |_| None).expect("a model")
}

fn test(text: &str) -> Test {
    let (mut tests, diagnostics) = load(&Source::new("mp.litmus", text));
    assert!(tests.len() == 1, "{diagnostics:?}");
    tests.remove(0)
}

fn report(text: &str, model: &LoadedModel, readings: &[(&str, &str)]) -> Report {
    let settings = readings.iter().fold(Settings::default(), |settings, (name, value)| settings.with(name, value));
    check(&test(text), model, &Options { readings: settings, ..Options::default() }).report
}

#[test]
fn the_smallest_set_of_readings_that_changes_the_answer_is_named() {
    let found = report(MP, &model(MODEL), &[]);
    let depends = found.depends.expect("the verdict depends");
    assert_eq!(depends.readings, ["writes", "reads"]);
    let cases: Vec<String> =
        depends.cases.iter().map(|case| format!("{} {}", case.values.join("+"), case.answer)).collect();
    assert_eq!(cases, ["free+free Holds", "free+ordered Holds", "ordered+free Holds", "ordered+ordered Violated"]);
    assert_eq!(found.verdict.word(), "Depends");
    // The witness is that of the weakest readings.
    assert!(found.questions[0].witness.is_some());
}

#[test]
fn races_depend_on_readings_of_their_own() {
    let found = report(MP, &model(MODEL), &[]);
    assert_eq!(found.races.answer, RaceAnswer::Depends);
    let depends = found.races.depends.as_ref().expect("races depend");
    assert_eq!(depends.to_string(), "writes: free → race, ordered → none");
    assert!(!found.races.pairs.is_empty() && found.races.pairs.iter().all(|race| race.contested));
    let row = Row { report: &found, comparison: &Comparison::NothingExpected, required: &[] };
    let text = table::paragraph(&row, table::Histogram::Hide, table::Colour::Plain);
    assert!(text.contains("races: depends on writes: free → race, ordered → none"), "{text}");
    assert!(text.contains("MP) under m.cat: Depends on writes, reads"), "{text}");
    assert_eq!(row.status(), fencepost_tell::output::Status::Bad);
    let line = json::line(&row);
    assert!(line.contains("\"answer\":\"depends\"") && line.contains("\"readings\":[\"writes\",\"reads\"]"), "{line}");
}

#[test]
fn a_reading_that_somebody_decided_is_no_reason_to_depend() {
    let model = model(MODEL);
    let strict = report(MP, &model, &[("writes", "ordered")]);
    let depends = strict.depends.as_ref().expect("still depends on the other");
    assert_eq!(depends.readings, ["reads"]);
    assert_eq!(strict.races.answer, RaceAnswer::None);
    assert!(strict.readings[1].chosen && strict.readings[1].value == "ordered", "{:?}", strict.readings);
    let decided = report(MP, &model, &[("writes", "ordered"), ("reads", "ordered")]);
    assert_eq!((decided.verdict.word(), decided.depends), ("Violated", None));
    assert_eq!(report(MP, &model, &[("reads", "free"), ("writes", "free")]).verdict.word(), "Holds");
}

#[test]
fn an_answer_that_no_reading_changes_does_not_depend() {
    let other = MP.replace("P1:r1=0)", "P1:r1=1)");
    let found = report(&other, &model(MODEL), &[]);
    assert_eq!((found.verdict.word(), found.depends), ("Holds", None));
    // A point of the ISA that the program does not touch is not tried.
    let text = MODEL.replace("idle=off|on", "async-fence").replace("idle=on", "async-fence=on-path");
    let found = report(&other, &model(&text), &[]);
    assert!(found.readings.iter().all(|reading| reading.name != "async-fence"), "{:?}", found.readings);
}

#[test]
fn an_expectation_can_say_what_an_answer_depends_on() {
    let model = model(MODEL);
    let found = report(MP, &model, &[]);
    let line = Expectation::of(&found).print();
    assert!(line.contains("Depends") && line.ends_with("races depend, terminates, depends reads writes"), "{line}");
    let text = format!("{line}\nm.cat reads=ordered writes=ordered: Violated, race-free\n");
    let (expectations, diagnostics) = expectation::parse(&text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(expectations.compare(&found), Comparison::AsExpected);
    let decided = report(MP, &model, &[("writes", "ordered"), ("reads", "ordered")]);
    assert_eq!(expectations.compare(&decided), Comparison::AsExpected);
    let (other, _) = expectation::parse("m.cat: Depends, depends idle\n");
    let Comparison::Different(differences) = other.compare(&found) else { panic!("{found:?}") };
    assert_eq!(words::differences(&differences), ["expected to depend on idle, found reads and writes"]);
}

#[test]
fn a_model_must_declare_what_it_asks_for() {
    let load = |text: &str| Models::from_source("m.cat", Source::new("m.cat", text), &mut |_| None);
    let errors = load("// readings: x=a|b\nacyclic (if \"x=c\" then po else rf)\n").expect_err("no such value");
    assert!(errors[0].1.message.contains("`x` is a or b, never `c`"), "{errors:?}");
    let errors = load("acyclic (if \"x=a\" then po else rf)\n").expect_err("no such reading");
    assert!(errors[0].1.message.contains("`x` is not among the readings"), "{errors:?}");
}

#[test]
fn a_model_follows_the_version_of_the_program() {
    let model = model("PTX\nacyclic (if \"9.3\" then po else 0) | rf | co | (rf^-1; co) as order\n");
    assert_eq!(report(MP, &model, &[]).verdict.word(), "Violated");
    let mut old = test(MP);
    old.program.version = fencepost_program::program::Version { major: 8, minor: 6 };
    assert_eq!(check(&old, &model, &Options::default()).report.verdict.word(), "Holds");
}

/// Under the weakest reading no fence helps, because the barrier of the warp does not order the copy; under the other the
/// fence is all that is missing, and nothing else is proposed.
#[test]
fn what_a_contested_point_hides_is_told_under_the_stronger_reading() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/async/warp/warp-sync-refill-no-fence.litmus");
    let text = std::fs::read_to_string(path).expect("the corpus");
    let model = Models::shipped("ptx").expect("a model");
    let found = report(&text, &model, &[]);
    assert_eq!((found.races.answer, found.races.pairs.len()), (RaceAnswer::Found, 1));
    let diagnosis = found.races.pairs[0].diagnosis.as_ref().expect("diagnosed");
    assert_eq!(diagnosis.under.as_deref(), Some("warp-sync-async=orders"));
    assert!(diagnosis.confirmed && diagnosis.missing.len() == 1, "{diagnosis:?}");
    assert!(diagnosis.missing[0].text.contains("fence.proxy.async"), "{diagnosis:?}");
    let decided = report(&text, &model, &[("warp-sync-async", "orders")]);
    let decided = decided.races.pairs[0].diagnosis.as_ref().expect("diagnosed");
    assert_eq!((&decided.missing, &decided.under), (&diagnosis.missing, &None));
}

/// Under `same-address=ordered` no crash leaves this, but the memory ends before that is known.
#[test]
fn a_crash_that_was_found_under_one_reading_only_is_shown_with_it() {
    let names: Vec<String> = (0..14).map(|at| format!("y{at}")).collect();
    let declared: String = names.iter().map(|name| format!("nvm {name} = 0; ")).collect();
    let stores: String = names.iter().map(|name| format!("st.relaxed.gpu.u32 [{name}], 1; ")).collect();
    let text = format!(
        "PTX t\n{{ {declared}nvm z = 0; nvm x = 0; }}\nP0@cta 0 {{ st.relaxed.gpu.u32 [z], 1; ofence; st.relaxed.gpu.u32 [x], 1; \
         {stores}}}\nP1@cta 1 {{ L: ld.relaxed.gpu.u32 %r1, [x]; setp.ne.u32 %p1, %r1, 1; @%p1 bra L; st.relaxed.gpu.u32 [x], 2; }}\n\
         crash exists (x = 2 /\\ z = 0)\n"
    );
    let budget = Budget::new(None, Some(1 << 18));
    let options = Options { budget, ..Options::default() };
    let found = check(&test(&text), &Models::shipped("sbrp").expect("shipped"), &options).report;
    let row = Row { report: &found, comparison: &Comparison::NothingExpected, required: &[] };
    let text = table::paragraph(&row, table::Histogram::Hide, table::Colour::Plain);
    for line in [
        "  crash exists (x=2 /\\ z=0): not known",
        "    it was found under same-address=by-value, and other readings were not decided:",
        "    durable: x=2 (P1 line 4)",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
