//! The machine-readable outputs of `fencepost check`.

use crate::common;

use common::schema::{schema, validate};
use common::{Folder, STALE, fencepost, message_passing, strong_message_passing};
use serde_json::Value;

#[test]
fn every_report_follows_the_documented_schema() {
    let folder = Folder::new();
    folder.write("reachable.litmus", message_passing(&format!("exists {STALE}"), "weak", "weak"));
    folder.write("unreachable.litmus", strong_message_passing(&format!("exists {STALE}")));
    folder.write("nothing.litmus", strong_message_passing("locations [x; flag;]"));
    folder.write(
        "hangs.litmus",
        "PTX hangs\n{ x = 0; }\n P0@cta 0,gpu 0 ;\n LC00: ;\n ld.relaxed.gpu r0, x ;\n bne r0, 1, LC00 ;\nexists (P0:r0 == 1)\n",
    );
    folder.write(
        "unknown.litmus",
        "PTX U\n{ x = 0; }\n P0@cta 0,gpu 0 ;\n fnce.sc.gpu ;\n shfl.up r0, x ;\nexists (x == 1)\n",
    );
    folder.write(
        "broken.litmus",
        "PTX B\n{ .shared .b64 b; }\nP0@cta 0, gpu 0 {\nmbarrier.init.shared.b64 [b], 1;\n\
         mbarrier.arrive.shared.b64 _, [b];\nmbarrier.arrive.shared.b64 _, [b];\n\
         mbarrier.try_wait.parity.relaxed.cta.shared.b64 %p1, [b], 0;\n}\n",
    );
    folder.write(
        "depends.litmus",
        "PTX D\n{ .shared .b32 s[4]; .global .b32 g[4]; }\nP0@cta 0, gpu 0 {\nst.shared.b32 [s], 1;\nbar.sync 0;\n}\n\
         P1@cta 0, gpu 0 {\nbar.sync 0;\nfence.proxy.async;\n\
         cp.async.bulk.global.shared::cta.bulk_group [g], [s], 16;\n}\nexists (g[0]=0)\n",
    );
    let run = fencepost(&folder, &["check", ".", "--models", "--json"]);
    let explained = fencepost(&folder, &["check", ".", "--models", "--json", "--explain"]);
    let schema = schema("report");
    let lines = run.out.lines().chain(explained.out.lines());
    let reports: Vec<Value> = lines.map(|line| serde_json::from_str(line).expect("JSON Lines")).collect();
    assert_eq!(reports.len(), 56, "{}{}", run.out, run.err);
    for report in &reports {
        let known = schema["properties"].as_object().expect("properties");
        for name in report.as_object().expect("an object").keys() {
            assert!(known.contains_key(name), "{name} is not documented");
        }
        validate(&schema, &schema, report, "");
    }
}

/// A report that is read back and written again is the same, byte for byte.
fn is_read_back(line: &str) {
    let report: fencepost_report::Report = serde_json::from_str(line).expect("a report");
    let again = serde_json::to_string(&report).expect("JSON");
    let fields = again.strip_suffix('}').expect("an object");
    assert!(line.starts_with(fields), "read:\n{line}\nwritten:\n{again}");
}

/// What is no access to memory (an exit, a register) has no proxy.
#[test]
fn reports_of_published_bugs_follow_the_schema() {
    let schema = schema("report");
    let folder = Folder::new();
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let folders = [
        "wild",
        "async/wgmma",
        "async/mbarrier",
        "c11",
        "initial",
        "launch",
        "lints",
        "nvlitmus",
        "persistency/litmus",
        "termination",
        "x86",
    ];
    let paths = folders.map(|folder| corpus.join(folder).display().to_string());
    let arguments: Vec<&str> = ["check", "--json"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    let run = fencepost(&folder, &arguments);
    let mut proxies = std::collections::BTreeSet::new();
    let (mut strands, mut causes) = (0, 0);
    let is_strand = |event: &Value| event["started_by"].is_u64() && event["proxy"] == "async proxy";
    for line in run.out.lines() {
        let report: Value = serde_json::from_str(line).expect("JSON Lines");
        validate(&schema, &schema, &report, "");
        is_read_back(line);
        for race in report["races"]["pairs"].as_array().into_iter().flatten() {
            proxies.extend(race["diagnosis"]["first"]["proxy"].as_str().map(str::to_owned));
            strands +=
                race["example"]["events"].as_array().into_iter().flatten().filter(|event| is_strand(event)).count();
        }
        causes += report["questions"].as_array().into_iter().flatten().filter(|it| it["cause"].is_object()).count();
    }
    assert!(strands > 0 && causes > 0, "{strands} {causes}");
    assert!(proxies.contains("none") && proxies.contains("async proxy"), "{proxies:?}");
}

const HANGS: &str = "PTX hangs\n{ x = 0; y = 0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.weak y, 2 | st.weak y, 1 ;\n LC00: | ;\n \
    ld.relaxed.gpu r0, x | ;\n bne r0, 1, LC00 | ;\nforall (y == 1)\n";
const CLEAN: &str = "PTX clean\n{ x = 0; }\n P0@cta 0,gpu 0 ;\n st.relaxed.gpu x, 1 ;\nexists (x == 1)\n";

/// The condition holds of no execution at all, and there is a race.
#[test]
fn races_and_hangs_can_be_made_failures() {
    let folder = Folder::new();
    folder.write("hangs.litmus", HANGS);
    folder.write("clean.litmus", CLEAN);
    let check = |required: &[&str]| fencepost(&folder, &[&["check", "."], required].concat());
    let plain = check(&[]);
    assert_eq!(plain.code, 0, "{}{}", plain.out, plain.err);
    assert!(plain.out.contains("1 with races") && plain.out.contains("1 that may hang"), "{}", plain.out);
    for (required, said) in [
        ("race-free", "(required: race-free no)"),
        ("terminates", "(required: terminates no)"),
        ("race-free,terminates", "(required: race-free no, terminates no)"),
        ("all", "(required: race-free no, terminates no)"),
    ] {
        let run = check(&["--require", required]);
        assert_eq!(run.code, 1, "{required}: {}", run.out);
        assert_eq!(run.out.matches(said).count(), 1, "{required}: {}", run.out);
    }
    assert_eq!(check(&["--require", "protocol"]).code, 0);
    assert_eq!(check(&["--require", "fast"]).code, 2);
    let xml = check(&["--require", "terminates", "--junit", "-"]).out;
    assert!(xml.contains("failures=\"1\"") && xml.contains("required: terminates no"), "{xml}");
    let json = check(&["--require", "terminates", "--json"]).out;
    let answers: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON Lines")).collect();
    let answers: Vec<&str> = answers.iter().filter_map(|line| line["required"][0]["answer"].as_str()).collect();
    assert_eq!(answers, ["yes", "no"]);
}

/// What is required says something more, and takes no place.
#[test]
fn a_requirement_does_not_hide_why_an_answer_is_unknown() {
    let folder = Folder::new();
    let text = "PTX U\n{ x = 0; }\n P0@cta 0,gpu 0 ;\n shfl.up r0, x ;\nexists (x == 1)\n";
    folder.write("u.litmus", text);
    folder.write("v.litmus", text);
    for paths in [&["u.litmus"][..], &["u.litmus", "v.litmus"]] {
        let run = fencepost(&folder, &[&["check", "--require", "all"], paths].concat());
        assert_eq!(run.code, 3, "{}", run.out);
        let said = "unsupported: `shfl.up`";
        assert_eq!(run.out.matches(said).count(), paths.len().max(2), "{}", run.out);
        assert!(run.out.contains("; required: race-free unknown, terminates unknown)"), "{}", run.out);
    }
    folder.write("u.expect", "ptx-7.5: Holds\n");
    let run = fencepost(&folder, &["check", "u.litmus", "--require", "race-free"]);
    let said = "not decided: expected Holds (unsupported: `shfl.up`); required: race-free unknown";
    assert!(run.code == 3 && run.out.contains(said), "{}", run.out);
}

/// A model's flags may be about anything: only one that declares a race speaks of races.
#[test]
fn only_a_model_that_declares_races_answers_about_them() {
    let folder = Folder::new();
    folder.write("mp.litmus", message_passing(&format!("exists {STALE}"), "weak", "weak"));
    let raised = "flag ~empty [W]; po; [W] as two-writes\n";
    let flags = [
        // The flag that is raised, and what the report says of races.
        (raised, "not-defined", 3),
        ("flag ~empty [W]; po; [W] as bad-trace\n", "not-defined", 3),
        ("flag ~empty (loc & ext & (W * R)) \\ (IW * _) as data-race\n", "found", 1),
        ("flag ~empty loc & ext & ((W \\ IW) * (W \\ IW)) as lockRace\n", "none", 0),
        ("// races: two-writes\nflag ~empty [W]; po; [W] as two-writes\n", "found", 1),
        ("// races:\nflag ~empty [W]; po; [W] as data-race\n", "not-defined", 3),
        ("", "not-defined", 3),
    ];
    for (text, answer, code) in flags {
        folder.write("m.cat", format!("\"mine\"\n{text}acyclic po-loc | rf | co | fr as coherence\n"));
        let arguments = ["check", "mp.litmus", "--model", "m.cat", "--require", "race-free"];
        let run = fencepost(&folder, &[&arguments[..], &["--json"]].concat());
        assert_eq!(run.code, code, "{text}: {}{}", run.out, run.err);
        let report: Value = serde_json::from_str(&run.out).expect("JSON");
        assert_eq!(report["races"]["answer"], answer, "{text}: {}", run.out);
        let human = fencepost(&folder, &arguments).out;
        assert_eq!(human.contains("no data race"), answer == "none", "{text}: {human}");
        let why = "race-free unknown because the model m.cat declares no flag of a race";
        assert_eq!(human.contains(why), code == 3, "{text}: {human}");
        assert_eq!(report["required"][0]["why"].is_string(), code == 3, "{text}: {}", run.out);
    }
    folder.write("m.cat", format!("\"mine\"\n// races: two-wirtes\n{raised}acyclic po | rf | co | fr as sc\n"));
    let run = fencepost(&folder, &["check", "mp.litmus", "--model", "m.cat"]);
    assert!(run.code == 2 && run.err.contains("this model has no flag `two-wirtes`"), "{}", run.err);
    assert!(run.err.contains("m.cat:2:11"), "{}", run.err);
    folder.write("never.litmus", message_passing(&format!("~exists {STALE}"), "weak", "weak"));
    let run = fencepost(&folder, &["check", "never.litmus", "--model", "sc", "--require", "race-free"]);
    assert!(run.code == 3 && run.out.contains("the model sc declares no flag of a race"), "{}", run.out);
}

#[test]
fn a_witness_holds_what_the_condition_asks() {
    let folder = Folder::new();
    folder.write("mp.litmus", message_passing(&format!("exists {STALE}"), "weak", "weak"));
    let run = fencepost(&folder, &["check", "mp.litmus", "--json"]);
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    let witness = &report["questions"][0]["witness"];
    assert_eq!(witness["state"]["P1:r0"], 1);
    assert_eq!(witness["state"]["P1:r1"], 0);
    assert_eq!(witness["rf"].as_array().map(Vec::len), Some(2), "one write per read: {witness}");
    let read = witness["events"].as_array().into_iter().flatten().find(|event| event["text"] == "ld.weak r1, x");
    assert_eq!(read.map(|read| &read["value"]), Some(&Value::from(0)), "{witness}");
}

#[test]
fn herd_users_find_their_log() {
    let folder = Folder::new();
    folder.write("mp.litmus", strong_message_passing(&format!("~exists {STALE}")));
    let run = fencepost(&folder, &["check", "mp.litmus", "--herd"]);
    let lines: Vec<&str> = run.out.lines().collect();
    let expected = [
        "Test MP Forbidden",
        "States 3",
        "1:r0=0; 1:r1=0;",
        "1:r0=0; 1:r1=1;",
        "1:r0=1; 1:r1=1;",
        "Ok",
        "Witnesses",
        "Positive: 0 Negative: 3",
        "Flag data-race",
        "Condition ~exists (1:r0=1 /\\ 1:r1=0)",
        "Observation MP Never 0 3",
    ];
    assert_eq!(&lines[..expected.len()], &expected, "{}", run.out);
    assert!(lines[expected.len()].starts_with("Hash="), "{}", run.out);
}

#[test]
fn the_hash_ignores_the_name_and_the_spacing() {
    let folder = Folder::new();
    let text = strong_message_passing(&format!("exists {STALE}"));
    folder.write("a.litmus", &text);
    folder.write("b.litmus", text.replace("PTX MP", "PTX other \"a comment\"").replace(" | ", "   |   "));
    folder.write("c.litmus", text.replace("x, 1", "x, 2"));
    let run = fencepost(&folder, &["check", ".", "--herd"]);
    let hashes: Vec<&str> = run.out.lines().filter(|line| line.starts_with("Hash=")).collect();
    assert_eq!(hashes.len(), 3, "{}", run.out);
    assert_eq!(hashes[0], hashes[1]);
    assert_ne!(hashes[0], hashes[2]);
}

#[test]
fn junit_counts_failures_and_errors() {
    let folder = Folder::new();
    folder.write("bad.litmus", "PTX bad\n");
    folder.write("good.litmus", strong_message_passing(&format!("~exists {STALE}")));
    folder.write("violated.litmus", strong_message_passing(&format!("exists {STALE}")));
    let run = fencepost(&folder, &["check", ".", "--junit", "results.xml"]);
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
    let xml = folder.read("results.xml");
    assert!(xml.contains("<testsuites tests=\"3\" failures=\"1\" errors=\"1\">"), "{xml}");
    assert_eq!(xml.matches("<testcase").count(), 3, "{xml}");
}

#[test]
fn a_picture_is_written_for_a_reachable_outcome() {
    let folder = Folder::new();
    folder.write("mp.litmus", message_passing(&format!("exists {STALE}"), "weak", "weak"));
    for (name, start) in [("mp.svg", "<"), ("mp.dot", "digraph"), ("new/pictures/mp.svg", "<")] {
        let run = fencepost(&folder, &["check", "mp.litmus", "--graph", name]);
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(folder.read(name).starts_with(start), "{name}: {}", folder.read(name));
    }
    let run = fencepost(&folder, &["check", "mp.litmus", "--graph", "mp.png"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains(".svg or .dot"), "{}", run.err);
    assert!(run.out.is_empty(), "it is refused before anything is checked: {}", run.out);
}

#[test]
fn printing_is_stable() {
    let folder = Folder::new();
    folder.write("mp.litmus", strong_message_passing(&format!("exists {STALE}")));
    let once = fencepost(&folder, &["print", "mp.litmus"]);
    assert_eq!(once.code, 0, "{}", once.err);
    folder.write("again.litmus", &once.out);
    assert_eq!(fencepost(&folder, &["print", "again.litmus"]).out, once.out);
}

#[test]
fn json_carries_the_explanation_and_formats_without_a_place_for_it_refuse() {
    let folder = Folder::new();
    folder.write("mp.litmus", strong_message_passing(&format!("~exists {STALE}")));
    let run = fencepost(&folder, &["check", "mp.litmus", "--json", "--explain"]);
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    let explanation = &report["explanation"][0];
    assert_eq!(explanation["about"], "question", "{report}");
    assert_eq!(explanation["rejected"][0]["called"], "Causality", "{report}");
    assert_eq!(explanation["rejected"][0]["section"], "8.10.6", "{report}");
    let text = fencepost(&folder, &["check", "mp.litmus", "--explain"]).out;
    let sentences = explanation["rejected"][0]["lines"].as_array().expect("sentences");
    assert!(sentences.len() > 2, "{report}");
    for sentence in sentences {
        assert!(text.contains(sentence["text"].as_str().expect("text")), "{sentence}: {text}");
    }
    let plain: Value = serde_json::from_str(&fencepost(&folder, &["check", "mp.litmus", "--json"]).out).expect("JSON");
    assert!(plain.get("explanation").is_none(), "{plain}");
    for format in [&["--herd"][..], &["--junit", "-"]] {
        let run = fencepost(&folder, &[&["check", "mp.litmus", "--explain"], format].concat());
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{}", run.err);
        assert!(run.err.contains("cannot be combined"), "{}", run.err);
    }
    let run = fencepost(&folder, &["check", "mp.litmus", "--explain", "--junit", "out.xml"]);
    assert!(run.code == 0 && run.out.contains("Causality"), "{}{}", run.out, run.err);
}

#[test]
fn every_form_without_a_model_is_named_once_with_its_lines() {
    let folder = Folder::new();
    let text = "PTX U\n{ x = 0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n fnce.sc.gpu | st.relaxed.gpuu x, 1 ;\n shfl.up r0, x | fnce.sc.gpu ;\nexists (x == 1)\n";
    folder.write("u.litmus", text);
    let run = fencepost(&folder, &["check", "u.litmus"]);
    assert_eq!(run.code, 3, "{}{}", run.out, run.err);
    assert!(run.out.contains("unsupported: `fnce.sc.gpu` (did you mean `fence`?) and 2 more forms"), "{}", run.out);
    for line in [
        "    lines 4, 5: `fnce.sc.gpu` (did you mean `fence`?)\n",
        "    line 4: `st.relaxed.gpuu` (did you mean `.gpu`?)\n",
        "    line 5: `shfl.up`\n",
    ] {
        assert!(run.out.contains(line), "{line}{}", run.out);
    }
    let run = fencepost(&folder, &["check", "u.litmus", "--json"]);
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(report["unsupported"].as_array().map(Vec::len), Some(3), "{report}");
    assert_eq!(report["unsupported"][0]["places"][1]["line"], 5, "{report}");
}

#[test]
fn several_checks_have_a_picture_each() {
    let folder = Folder::new();
    folder.write("a.litmus", message_passing(&format!("exists {STALE}"), "weak", "weak"));
    folder.write("b.litmus", strong_message_passing(&format!("exists {STALE}")).replace("PTX MP", "PTX MP/strong"));
    folder.write("c.litmus", "PTX C\n{ x = 0; }\n P0@cta 0,gpu 0 ;\n shfl.up r0, x ;\nexists (x == 1)\n");
    let run = fencepost(&folder, &["check", "a.litmus", "b.litmus", "c.litmus", "--graph", "out.svg"]);
    assert!(folder.read("out-MP-1.svg").starts_with('<'), "{}", run.err);
    assert!(folder.read("out-MP_strong-2.svg").contains("Forbidden by Causality"), "{}", run.err);
    assert_eq!(folder.read("out.svg"), "");
    assert!(run.err.contains("note: out-MP-1.svg: a.litmus (MP) under ptx-7.5\n"), "{}", run.err);
    assert!(run.err.contains("note: 1 of 3 checks have no execution to draw\n"), "{}", run.err);
}

/// What is printed of an NVLitmus template is a template of the same tests.
#[test]
fn a_printed_template_is_read_back() {
    let folder = Folder::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/nvlitmus/MP_scopes.test");
    let first = fencepost(&folder, &["print", file]);
    assert_eq!((first.code, first.err.as_str()), (0, ""), "{}", first.out);
    folder.write("MP_scopes.test", &first.out);
    let second = fencepost(&folder, &["print", "MP_scopes.test"]);
    assert_eq!((second.code, second.out), (0, first.out), "{}", second.err);
    let verdicts =
        |file: &str| fencepost(&folder, &["check", file, "--json", "--model", "ptx-7.5"]).out.lines().count();
    assert_eq!((verdicts(file), verdicts("MP_scopes.test")), (4, 4));
    let one = fencepost(&folder, &["print", file, "--test", "MP_scopes#3"]);
    assert!(one.out.contains("st.release.cta [flag], 1;") && !one.out.contains("$$"), "{}", one.out);
}
