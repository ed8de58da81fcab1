//! Contested points of the specification, from the command line.

use crate::common;

use common::{Folder, fencepost};

/// A generic write, a barrier, and a bulk store by another thread behind a fence of its own.
const STORE: &str = "PTX store
{ .shared .b32 s[4] = 0; .global .b32 g[4] = 0; }
P0@cta 0, gpu 0 {
  st.shared.b32 [s], 1;
  bar.sync 0;
}
P1@cta 0, gpu 0 {
  bar.sync 0;
  fence.proxy.async;
  cp.async.bulk.global.shared::cta.bulk_group [g], [s], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
}
~exists (g[0]=0)
";

#[test]
fn an_answer_that_depends_names_the_reading_and_exits_with_1() {
    let folder = Folder::new();
    folder.write("store.litmus", STORE);
    let run = fencepost(&folder, &["check", "store.litmus"]);
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.out.contains("under ptx: Depends on async-fence"), "{}", run.out);
    assert!(
        run.out.contains(
            "depends on async-fence: both → Violated, per-thread → Violated, non-generic-cta → Holds, on-path → Holds"
        ),
        "{}",
        run.out
    );
    assert!(
        run.out.contains(
            "races: depends on async-fence: both → race, per-thread → race, non-generic-cta → none, on-path → none"
        ),
        "{}",
        run.out
    );
    let strict = fencepost(&folder, &["check", "store.litmus", "--reading", "async-fence=per-thread"]);
    assert_eq!(strict.code, 1);
    assert!(strict.out.contains("under ptx async-fence=per-thread: Violated"), "{}", strict.out);
    let lenient = fencepost(&folder, &["check", "store.litmus", "--reading", "async-fence=on-path"]);
    assert_eq!((lenient.code, lenient.out.contains("no data race")), (0, true), "{}", lenient.out);
}

#[test]
fn an_expected_dependence_is_as_expected() {
    let folder = Folder::new();
    folder.write("store.litmus", STORE);
    let run = fencepost(&folder, &["check", "store.litmus", "--refresh"]);
    assert_eq!(run.code, 1);
    let line = folder.read("store.expect");
    assert!(line.starts_with("ptx: Depends, ") && line.ends_with("depends async-fence\n"), "{line}");
    let run = fencepost(&folder, &["check", "store.litmus", "--reading", "async-fence=on-path", "--refresh"]);
    assert_eq!(run.code, 0, "{}", run.out);
    let lines = folder.read("store.expect");
    assert!(lines.contains("ptx async-fence=on-path: Holds, "), "{lines}");
    // Both lines are checked, each under its own readings.
    let run = fencepost(&folder, &["check", "store.litmus"]);
    assert_eq!((run.code, run.out.contains("2 checks: 2 as expected")), (0, true), "{}", run.out);
    folder.write("store.expect", "ptx: Violated\n");
    assert_eq!(fencepost(&folder, &["check", "store.litmus"]).code, 1);
    folder.write("store.expect", "ptx async-fense=on-path: Holds\n");
    let run = fencepost(&folder, &["check", "store.litmus"]);
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
}

#[test]
fn a_reading_that_cannot_be_chosen_is_refused() {
    let folder = Folder::new();
    folder.write("store.litmus", STORE);
    let refused = |arguments: &[&str]| {
        let run = fencepost(&folder, &[&["check", "store.litmus"], arguments].concat());
        assert_eq!(run.code, 2, "{}", run.out);
        run.err
    };
    assert!(refused(&["--reading", "async-fense=on-path"]).contains("did you mean `async-fence`?"));
    assert!(refused(&["--reading", "async-fence=on-paht"]).contains("did you mean `on-path`?"));
    assert!(refused(&["--reading", "on-path"]).contains("NAME=VALUE"));
    assert!(refused(&["--reading", "async-fence=on-path", "--model", "ptx-7.5"]).contains("has no reading"));
}

#[test]
fn readings_are_listed_for_people_and_programs() {
    let folder = Folder::new();
    let run = fencepost(&folder, &["readings"]);
    assert!(
        run.out.contains("async-fence = both | per-thread | non-generic-cta | on-path  (default both, contested)"),
        "{}",
        run.out
    );
    let json: serde_json::Value = serde_json::from_str(&fencepost(&folder, &["readings", "--json"]).out).expect("JSON");
    let rows = json.as_array().expect("an array");
    assert_eq!((rows.len(), &rows[0]["name"], &rows[0]["id"]), (44, &"async-fence".into(), &"S1".into()));
    assert_eq!((&rows[0]["model"], &rows[33]["model"]), (&"ptx".into(), &"rc11-scoped".into()));
    assert!(run.out.contains("model cmm: Goens") && run.out.contains("xhb = through-all | through-x86 | untyped"));
    assert!(run.out.contains("S1 to S15 number them"), "{}", run.out);
    assert_eq!(rows[0]["standing"], "contested");
    let run = fencepost(&folder, &["models", "show", "ptx"]);
    assert!(run.out.contains("//   async-fence = both | per-thread | non-generic-cta | on-path"), "{}", run.out);
    // What is printed is still a model.
    folder.write("copy.cat", &run.out);
    folder.write("store.litmus", STORE);
    let run = fencepost(&folder, &["check", "store.litmus", "--model", "copy.cat"]);
    assert!(run.out.contains("under copy.cat: Depends on async-fence"), "{}{}", run.out, run.err);
}

#[test]
fn a_model_of_your_own_says_what_its_readings_ask() {
    let folder = Folder::new();
    let axiom = "acyclic (if \"order=strong\" then po | rf else rf) as order\n";
    let head = "PTX\n// Mine.\n// readings: async-fence order=weak|strong\n";
    folder.write(
        "mine.cat",
        format!("{head}// question: order Is program order kept?\n// questions-from: two papers\n{axiom}"),
    );
    let run = fencepost(&folder, &["readings", "mine.cat"]);
    let own = "model mine.cat: two papers\n  order = weak | strong  (default weak, contested)\n      Is program order kept?\n";
    assert!(run.out.contains("S1, PTX ISA 8.6, 9.7.15.4\n") && run.out.ends_with(own), "{}{}", run.out, run.err);
    let json = fencepost(&folder, &["readings", "mine.cat", "--json"]).out;
    let rows: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&rows[1]["question"], &rows[1]["model"]), (&"Is program order kept?".into(), &"mine.cat".into()));
    folder.write("silent.cat", format!("{head}{axiom}"));
    let silent = fencepost(&folder, &["readings", "silent.cat"]).out;
    assert!(silent.ends_with("model silent.cat\n  order = weak | strong  (default weak, contested)\n"), "{silent}");
    for (line, wrong) in [
        ("ordr Is it?", "`ordr` is not among the readings of this model"),
        ("order", "the question of `order` is missing"),
        ("async-fence Where?", "`async-fence` is a point of PTX"),
    ] {
        folder.write("wrong.cat", format!("{head}// question: {line}\n{axiom}"));
        let run = fencepost(&folder, &["readings", "wrong.cat"]);
        assert!(run.code == 2 && run.err.contains(wrong) && run.err.contains("wrong.cat:4"), "{}", run.err);
    }
    let run = fencepost(&folder, &["readings", "ptx9"]);
    assert_eq!((run.code, run.err.contains("did you mean `ptx`?")), (2, true), "{}", run.err);
}

#[test]
fn the_default_model_is_the_one_that_knows_the_program() {
    let folder = Folder::new();
    let plain = "PTX t\n{ x=0; }\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\nexists (x=1)\n";
    folder.write("plain.litmus", plain);
    folder.write("store.litmus", STORE);
    folder.write(
        "new.litmus",
        "PTX t\n{ .version 8.0; .global .b32 x; }\nP0@cta 0, gpu 0 {\n st.global.b32 [x], 1;\n}\nexists (x=1)\n",
    );
    let model = |file: &str| fencepost(&folder, &["check", file]).out;
    assert!(model("plain.litmus").contains("under ptx-7.5"));
    assert!(model("store.litmus").contains("under ptx:"));
    assert!(model("new.litmus").contains("under ptx:"), "{}", model("new.litmus"));
}

#[test]
fn the_readings_of_a_tests_default_model_need_no_model_to_be_named() {
    let folder = Folder::new();
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/");
    let copy = |from: &str, to: &str| {
        folder.write(to, std::fs::read_to_string(format!("{corpus}{from}")).expect("the corpus is there"));
    };
    copy("c11/lb.litmus", "lb.litmus");
    copy("compound/sb-host-third-read.litmus", "mixed.litmus");
    let run = |arguments: &[&str]| fencepost(&folder, &[&["check"], arguments].concat());
    assert_eq!(run(&["lb.litmus"]).code, 0);
    let allowed = run(&["lb.litmus", "--reading", "thin-air=allowed"]);
    assert!(
        allowed.code == 1 && allowed.out.contains("under rc11-scoped thin-air=allowed: Violated"),
        "{}{}",
        allowed.out,
        allowed.err
    );
    assert_eq!(run(&["mixed.litmus"]).code, 0);
    let immediate = run(&["mixed.litmus", "--reading", "program-order=immediate"]);
    let told = immediate.out.contains("under cmm program-order=immediate: Violated");
    assert!(immediate.code == 1 && told, "{}{}", immediate.out, immediate.err);
    // A reading of another model is not ignored.
    let other = run(&["lb.litmus", "--reading", "xhb=untyped"]);
    assert_eq!((other.code, other.err.contains("it is one of cmm (`--model cmm`)")), (2, true), "{}", other.err);
    // Of several tests, one whose model has it is enough.
    let both = run(&["lb.litmus", "mixed.litmus", "--reading", "thin-air=allowed"]);
    assert_eq!((both.code, both.err.as_str()), (1, ""), "{}", both.out);
}
