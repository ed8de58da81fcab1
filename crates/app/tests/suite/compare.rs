//! `fencepost compare`, and what it must find: the three x86 models are one, and every test on which LOST-POP and the
//! axioms differ is explained in `docs/models/machines.md`, whose table is the expectation here.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use common::{Folder, fencepost};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels below the root").to_path_buf()
}

fn corpus(path: &str) -> String {
    root().join("corpus").join(path).display().to_string()
}

#[test]
fn a_difference_is_shown_with_the_inclusion_that_holds() {
    let run = fencepost(&Folder::new(), &["compare", "sc", "x86-tso", &corpus("x86/SB+po+po.litmus")]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("P0:EAX=0; P1:EAX=0"), "{}", run.out);
    assert!(run.out.ends_with("sc ⊆ x86-tso: 1 test compared, 1 different, 0 skipped\n"), "{}", run.out);
    let run = fencepost(&Folder::new(), &["compare", "x86-tso", "sc", &corpus("x86/LB.litmus")]);
    assert_eq!((run.code, run.out.as_str()), (0, "x86-tso = sc: 1 test compared, 0 different, 0 skipped\n"));
}

/// A trace where a machine is alone, an execution where axioms are.
#[test]
fn an_outcome_that_one_side_has_alone_has_a_witness() {
    let files = [corpus("compound/fig10.litmus"), corpus("compound/fig11b.litmus")];
    let run = fencepost(&Folder::new(), &["compare", "lost-pop", "cmm", &files[0], &files[1], "--explain"]);
    assert!(run.out.contains("lost-pop alone has P1:%r1=1; P2:EAX=1; P2:EBX=0\n    1  "), "{}", run.out);
    assert!(run.out.contains("is satisfied by the initial W x=0 and returns 0"), "{}", run.out);
    assert!(run.out.contains("cmm alone has "), "{}", run.out);
    assert!(run.out.contains("neither of lost-pop and cmm is within the other"), "{}", run.out);
}

#[test]
fn what_cannot_be_compared_is_counted_with_its_reason() {
    let files = [corpus("compound/fig2a.litmus"), corpus("x86/MP.litmus"), corpus("barriers")];
    let run = fencepost(&Folder::new(), &["compare", "store-buffer", "x86-tso", &files[0], &files[1], &files[2]]);
    assert!(run.out.contains("skipped 1 test: store-buffer: unsupported: ptx threads"), "{}", run.out);
    assert!(run.out.contains("barriers in an operational model"), "{}", run.out);
    assert!(run.out.contains("store-buffer = x86-tso: 1 test compared, 0 different, "), "{}", run.out);
    // A limit is no agreement, nor is nothing.
    let run =
        fencepost(&Folder::new(), &["compare", "lost-pop", "cmm", &corpus("compound/fig9.litmus"), "--states", "10"]);
    assert!(run.code == 3 && run.out.contains("the limit of states was reached"), "{}", run.out);
    for (machine, said) in [("store", "there is no model `store`"), ("coherence:swmr=3", "`swmr` is on or off")] {
        let run = fencepost(&Folder::new(), &["compare", machine, "sc", &files[1]]);
        assert!(run.code == 2 && run.err.contains(said), "{}", run.err);
    }
    let run = fencepost(&Folder::new(), &["compare", "cmm", "cmm:program-order=sideways", &files[1]]);
    assert!(run.code == 2 && run.err.contains("program-order"), "{}", run.err);
}

const RACE: &str = "C race\n{ x = 0; }\nP0 (int* x) { *x = 1; }\nP1 (int* x) { int r0 = *x; }\nexists (1:r0 = 1)\n";

/// No execution of the model has another outcome than SC; every outcome is possible all the same.
#[test]
fn undefined_behaviour_has_every_outcome() {
    let folder = Folder::new();
    folder.write("race.litmus", RACE);
    let run = fencepost(&folder, &["compare", "rc11-scoped", "sc", "race.litmus"]);
    assert_eq!(run.code, 1, "{}", run.out);
    assert!(run.out.contains("race.litmus  every        ⊃  2   undefined: every outcome  -"), "{}", run.out);
    let said = "undefined under rc11-scoped, so that every outcome is possible: 1 test\n\
                sc ⊆ rc11-scoped: 1 test compared, 1 different, 0 skipped\n";
    assert!(run.out.ends_with(said), "{}", run.out);
    let run = fencepost(&folder, &["compare", "sc", "rc11-scoped", "race.litmus", "--json"]);
    assert!(run.out.contains(r#""relation":"within","undefined":["right"]"#), "{}", run.out);
    assert!(run.out.contains(r#""undefined_left":0,"undefined_right":1"#), "{}", run.out);
    let run = fencepost(&folder, &["compare", "rc11-scoped", "rc11-scoped", "race.litmus"]);
    assert!(run.code == 0 && run.out.contains("rc11-scoped = rc11-scoped: 1 test compared"), "{}", run.out);
    folder.write("free.litmus", RACE.replace("int* x", "atomic_int* x"));
    let run = fencepost(&folder, &["compare", "rc11-scoped", "sc", "free.litmus"]);
    assert_eq!((run.code, run.out.as_str()), (0, "rc11-scoped = sc: 1 test compared, 0 different, 0 skipped\n"));
}

/// Nothing that is asked is nothing that is equal.
#[test]
fn a_test_that_mentions_nothing_is_compared_by_everything() {
    let folder = Folder::new();
    let sb = "X86 SB\n{ x=0; y=0; }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\n";
    folder.write("sb.litmus", sb);
    folder.write("bad.litmus", "X86 bad\n{ x=0 }\n P0 ;\n FROB [x ;\nexists (x=1)\n");
    let run = fencepost(&folder, &["compare", "x86-tso", "sc", "--observe", "test", "sb.litmus", "bad.litmus"]);
    assert_eq!(run.code, 2, "{}", run.out);
    let said = "sc ⊆ x86-tso: 1 test compared, 1 different, 0 skipped, 1 file with errors\n";
    assert!(run.out.contains("P0:EAX=0; P1:EAX=0") && run.out.ends_with(said), "{}", run.out);
}

/// A reading of a model is a model: the slip of the Alloy text, which takes the next event for program order.
#[test]
fn readings_can_be_compared() {
    let file = corpus("compound/sb-host-third-read.litmus");
    let run = fencepost(&Folder::new(), &["compare", "cmm", "cmm:program-order=immediate", &file]);
    assert!(
        run.out.ends_with("cmm ⊆ cmm:program-order=immediate: 1 test compared, 1 different, 0 skipped\n"),
        "{}",
        run.out
    );
}

/// The result of a comparison by file, relative to `corpus`.
fn compared(left: &str, right: &str, paths: &[String], states: &str) -> BTreeMap<String, Value> {
    let mut arguments = vec!["compare", left, right, "--json", "--jobs", "2", "--states", states];
    arguments.extend(paths.iter().map(String::as_str));
    let run = fencepost(&Folder::new(), &arguments);
    let base = format!("{}/", root().join("corpus").display());
    let mut found = BTreeMap::new();
    for line in run.out.lines() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let Some(file) = row["file"].as_str() else { continue };
        let name = file.strip_prefix(&base).unwrap_or(file).trim_end_matches(".litmus").to_owned();
        found.insert(name, row);
    }
    assert!(!found.is_empty(), "{}", run.err);
    found
}

fn relation(row: &Value) -> &str {
    row["relation"].as_str().unwrap_or_else(|| row["why"]["message"].as_str().unwrap_or("?"))
}

/// LOST-POP with reads satisfied in order, store buffers and the axioms of x86-TSO reach the same outcomes on every x86
/// test; LOST-POP as published does on all but those that show its one weakness.
#[test]
fn the_three_x86_models_are_one() {
    let mut folders = vec![corpus("x86")];
    let base = std::env::var_os("FENCEPOST_CORPORA").map_or_else(|| root().join("../shared/corpora"), PathBuf::from);
    match base.join("dat3m-x86") {
        public if public.exists() => folders.push(public.display().to_string()),
        public => println!("note: {} is not there; nothing of it is compared", public.display()),
    }
    for (name, row) in compared("store-buffer", "x86-tso", &folders, "1000000") {
        assert_eq!(relation(&row), "equal", "{name}: {row}");
    }
    for machine in ["lost-pop", "lost-pop:satisfaction=in-order"] {
        let (mut equal, mut apart) = (0, Vec::new());
        for (name, row) in compared(machine, "x86-tso", &folders, "3000000") {
            match relation(&row) {
                "equal" => equal += 1,
                "contains" => apart.push(name),
                other => panic!("{name}: {other}: {row}"),
            }
        }
        println!("{machine}: {equal} equal");
        let expected: &[&str] = match machine {
            "lost-pop" => &["x86/Own-write-early", "x86/Own-write-early+observer"],
            _ => &[],
        };
        assert_eq!(apart, expected, "{machine}");
        assert!(equal > 20);
    }
}

/// The rows of the table of differences: the test, and whether the machine has more outcomes or fewer.
fn explained() -> BTreeMap<String, String> {
    let page = std::fs::read_to_string(root().join("docs/models/machines.md")).expect("the page");
    let table = page.split("### Where LOST-POP and the axioms differ").nth(1).expect("the section");
    let table = table.split("\n#").next().expect("its text");
    let mut found = BTreeMap::new();
    for line in table.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [_, machine @ ("fewer" | "more" | "more and fewer"), tests, ..] = cells[..] else { continue };
        for test in tests.split_whitespace() {
            let test = test.trim_matches(|it| it == '`' || it == ',');
            assert!(found.insert(test.to_owned(), machine.to_owned()).is_none(), "{test} is there twice");
        }
    }
    found
}

/// Every test that LOST-POP runs, under the axioms of its architecture.
#[test]
fn every_difference_between_lost_pop_and_the_axioms_is_explained() {
    let explained = explained();
    let mut folders: Vec<String> = std::fs::read_dir(root().join("corpus"))
        .expect("the corpus")
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !["compound", "gem5", "neutral", "x86"].contains(&name.as_str()))
        .map(|name| corpus(&name))
        .collect();
    folders.sort();
    let mut found = compared("lost-pop", "ptx-6.0", &folders, "3000000");
    found.extend(compared("lost-pop", "cmm", &[corpus("compound")], "3000000"));
    // Threads of x86 alone are nothing for the axioms of PTX.
    found.retain(|name, _| !name.ends_with("-x86"));
    let mut seen = BTreeSet::new();
    for (name, row) in &found {
        let expected = explained.get(name).map(String::as_str);
        match relation(row) {
            "equal" => assert_eq!(expected, None, "{name} is explained, and does not differ"),
            "within" => assert_eq!(expected, Some("fewer"), "{name}: {row}"),
            "contains" => assert_eq!(expected, Some("more"), "{name}: {row}"),
            "incomparable" => assert_eq!(expected, Some("more and fewer"), "{name}: {row}"),
            // A loop that is cut is no limit of ours: no bound is enough for it.
            _ if row["limit"] == true && row["why"]["kind"] != "bound" => panic!("{name} is too large: {row}"),
            _ => assert_eq!(expected, None, "{name} is explained, and not compared"),
        }
        seen.insert(name.as_str());
    }
    let gone: Vec<&String> = explained.keys().filter(|name| !seen.contains(name.as_str())).collect();
    assert!(gone.is_empty(), "explained, and not there: {gone:?}");
}

/// A loop that was cut is no matter of size, on either kind of model.
#[test]
fn a_cut_loop_is_called_so() {
    let folder = Folder::new();
    folder.write(
        "loop.litmus",
        "C loop\n{ x = 0; }\nP0 (atomic_int* x) { int i = 0; while (i < 6) { i = i + atomic_load(x); } }\n\
         P1 (atomic_int* x) { atomic_store(x, 1); }\nexists (x = 1)\n",
    );
    folder.write(
        "loop-ptx.litmus",
        "PTX loop\n{ x = 0; }\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n LC00: | st.relaxed.gpu x, 1 ;\n ld.relaxed.gpu r0, x | ;\n \
         add r1, r1, r0 | ;\n bne r1, 6, LC00 | ;\nexists (x == 1)\n",
    );
    for (models, file) in [(["rc11-scoped", "sc"], "loop.litmus"), (["ptx-6.0", "lost-pop"], "loop-ptx.litmus")] {
        let run = fencepost(&folder, &["compare", models[0], models[1], file]);
        assert_eq!(run.code, 3, "{}{}", run.out, run.err);
        assert!(run.out.contains("a loop was cut at the unrolling bound; --bound N unrolls more"), "{}", run.out);
        assert!(!run.out.contains("too large"), "{}", run.out);
    }
    let help = fencepost(&folder, &["compare", "--help"]).out;
    assert!(help.contains("The one model: shipped, a .cat file, or a machine"), "{help}");
}
