//! The neutral form on the command line: agreement with published verdicts, tests as litmus text, refusals by name.

use crate::common;

use std::path::{Path, PathBuf};

use common::{Folder, fencepost};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels below the root").to_path_buf()
}

fn ours() -> String {
    root().join("corpus/neutral/tests.json").display().to_string()
}

#[test]
fn our_tests_have_the_verdicts_they_must() {
    let run = fencepost(&Folder::new(), &["conform", &ours()]);
    assert_eq!((run.code, run.out.as_str()), (0, "45 of 45 agree\n"), "{}", run.err);
}

/// Axiomatic and operational verdicts of the public part of the artifact of "Compound Memory Models".
#[test]
fn the_public_tests_have_the_published_verdicts() {
    let base = std::env::var_os("FENCEPOST_CORPORA").map_or_else(|| root().join("../shared/corpora"), PathBuf::from);
    let folder = base.join("lostpop");
    if !folder.join("tests.json").exists() {
        println!("note: {} is not there; nothing is compared", folder.display());
        return;
    }
    let run =
        fencepost(&Folder::new(), &["conform", &folder.display().to_string(), "--time-limit", "120", "--jobs", "2"]);
    assert_eq!((run.code, run.out.as_str()), (0, "250 of 250 agree\n"), "{}", run.err);
}

/// A test as litmus text is the test.
#[test]
fn a_printed_test_has_the_same_verdict() {
    let folder = Folder::new();
    for (test, model, verdict) in [("host-sb", "x86-tso", "Holds"), ("both-mp-to-device", "cmm", "Violated")] {
        let printed = fencepost(&folder, &["print", &ours(), "--test", test]);
        assert_eq!(printed.code, 0, "{}", printed.err);
        folder.write("one.litmus", &printed.out);
        let run = fencepost(&folder, &["check", "one.litmus", "--model", model]);
        assert!(run.out.contains(verdict), "{test}: {}", run.out);
    }
    let run = fencepost(&folder, &["print", &ours(), "--test", "nothing"]);
    assert!(run.code == 2 && run.err.contains("no test `nothing`"), "{}", run.err);
}

/// A folder of such tests, and standard input.
#[test]
fn every_command_reads_the_form() {
    let folder = root().join("corpus/neutral").display().to_string();
    let run = fencepost(&Folder::new(), &["machine", "lost-pop", &folder]);
    assert!(run.out.ends_with("21 tests: 6 hold, 15 violated\n"), "{}", run.out);
    let run = fencepost(&Folder::new(), &["compare", "lost-pop", "cmm", &folder]);
    assert!(run.out.contains("device-wrc-dep") && run.out.contains("axioms of xc"), "{}", run.out);
    let text = std::fs::read(ours()).expect("our tests");
    let run = common::fencepost_with_input(&Folder::new(), &["print", "-", "--test", "host-mp"], &text);
    assert!(run.out.starts_with("X86 host-mp\n"), "{}", run.err);
}

/// Fields that describe are read over, with a warning; tests without verdicts agree with nothing.
#[test]
fn descriptions_and_missing_verdicts() {
    let ours = std::fs::read_to_string(ours()).expect("our tests");
    let folder = Folder::new();
    folder.write("told.json", ours.replacen("\"suite\": \"x86\"", "\"description\": \"of a figure\"", 1));
    let run = fencepost(&folder, &["conform", "told.json"]);
    assert_eq!((run.code, run.out.as_str()), (0, "45 of 45 agree\n"), "{}", run.err);
    assert!(run.err.contains("the field `description` is not looked at"), "{}", run.err);
    folder.write("none.json", ours.replace("\"expected\"", "\"notes\""));
    let run = fencepost(&folder, &["conform", "none.json"]);
    assert_eq!((run.code, run.out.as_str()), (2, "0 of 0 agree\n"), "{}", run.err);
    assert!(run.err.contains("`none.json` has nothing to compare with"), "{}", run.err);
}

/// Arm's full barrier by its other name, and another barrier, which it is not.
#[test]
fn the_full_barrier_of_arm_has_two_names() {
    let folder = Folder::new();
    let ours = std::fs::read_to_string(ours()).expect("our tests");
    folder.write("tests.json", ours.replace("\"dmb\"", "\"dmb_sy\""));
    let run = fencepost(&folder, &["conform", "."]);
    assert_eq!((run.code, run.out.as_str()), (0, "45 of 45 agree\n"), "{}", run.err);
    folder.write("tests.json", ours.replace("\"dmb\"", "\"dmb_st\""));
    let run = fencepost(&folder, &["conform", "."]);
    assert!(run.code == 2 && run.err.contains("`F` with the semantics `dmb_st` in a thread of ARM"), "{}", run.err);
}

/// A line break in a name would go on as the text of the test.
#[test]
fn a_name_is_no_text() {
    let folder = Folder::new();
    let ours = std::fs::read_to_string(ours()).expect("our tests");
    folder.write("tests.json", ours.replacen("\"id\": \"arm-sb-dmb\"", "\"id\": \"arm\\n{ x = 1; }\"", 1));
    let run = fencepost(&folder, &["conform", "."]);
    assert!(run.code == 2 && run.err.contains("a name has no control characters"), "{}{}", run.out, run.err);
}

#[test]
fn a_wrong_verdict_is_a_disagreement() {
    let folder = Folder::new();
    let ours = std::fs::read_to_string(ours()).expect("our tests");
    folder.write("tests.json", ours.replacen("\"operational\": \"forbidden\"", "\"operational\": \"allowed\"", 1));
    let run = fencepost(&folder, &["conform", "."]);
    assert_eq!(run.out, "host-mp,lost-pop: expected allowed, found forbidden\n44 of 45 agree\n", "{}", run.err);
    assert_eq!(run.code, 1);
}

/// Each edit makes one test something the form does not have; the others are compared all the same.
#[test]
fn what_the_form_does_not_have_is_refused_by_name() {
    let ours = std::fs::read_to_string(ours()).expect("our tests");
    for (from, to, said) in [
        ("\"suite\": \"x86\"", "\"warp\": 1", "unknown field `warp`"),
        ("\"arch\": \"x86\"", "\"arch\": \"RISC-V\"", "the architecture `RISC-V`"),
        ("\"device\": \"cpu\"", "\"device\": \"dpu\"", "x86 on the device `dpu`"),
        ("\"op\": \"W\"", "\"op\": \"U\"", "the operation `U`"),
        ("\"sem\": \"plain\"", "\"sem\": \"rel\"", "`W` with the semantics `rel` in a thread of x86"),
        ("\"scope\": \"sys\"", "\"scope\": \"wave\"", "the scope `wave`"),
        ("\"dep_from\": 0", "\"dep_from\": 1", "`dep_from` 1 is no earlier read"),
        ("1:r0=1", "1:r7=1", "`1:r7` in the condition, which names no read"),
        ("1:r0=1", "1:r0=3", "`asked_value` 1 of `1:r0`"),
        ("\"x86-tso\":", "\"power_als\":", "the model `power_als`"),
        ("\"operational\": \"forbidden\"", "\"operational\": \"maybe\"", "the verdict `maybe`"),
        ("\"scope_tree\": [[0, 1]]", "\"scope_tree\": [[0], [1]]", "`scope_tree` and the `cta`"),
        ("\"scope_tree\": [[0, 1]]", "\"scope_tree\": [[0, [1]]]", "invalid type: sequence"),
    ] {
        let folder = Folder::new();
        assert!(ours.contains(from), "{from}");
        folder.write("odd.json", ours.replacen(from, to, 1));
        let run = fencepost(&folder, &["conform", "odd.json"]);
        assert!(run.code == 2 && run.err.contains(said), "{to}: {}", run.err);
        assert!(run.out.ends_with(" agree\n") && !run.out.starts_with("0 of"), "{to}: {}", run.out);
    }
    let folder = Folder::new();
    folder.write("bad.json", "{ \"tests\": [");
    folder.write("other.json", "[1, 2]");
    assert!(fencepost(&folder, &["conform", "bad.json"]).err.contains("no JSON"));
    assert!(fencepost(&folder, &["check", "other.json"]).err.contains("{ \"tests\": [ … ] }"));
}
