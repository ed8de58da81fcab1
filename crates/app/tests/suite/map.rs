//! `fencepost map`: what it prints, writes and refuses.

use crate::common;

use common::schema::{is_documented, schema, validate};
use common::{Folder, fencepost};
use serde_json::Value;

/// Store buffering; the arguments of the accesses are `orders`.
fn store_buffering(name: &str, place: [&str; 2], orders: &str) -> String {
    let store = |location: &str| format!("atomic_store_explicit({location}, 1, {orders});");
    let load = |location: &str| format!("int r0 = atomic_load_explicit({location}, {orders});");
    format!(
        "C {name}\n{{ x = 0; y = 0; }}\nP0{} (atomic_int* x, atomic_int* y) {{ {} {} }}\n\
         P1{} (atomic_int* x, atomic_int* y) {{ {} {} }}\nexists (0:r0 = 0 /\\ 1:r0 = 0)\n",
        place[0],
        store("x"),
        load("y"),
        place[1],
        store("y"),
        load("x")
    )
}

const NOWHERE: [&str; 2] = ["", ""];

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON Lines")).collect()
}

#[test]
fn json_is_as_the_schema_says() {
    let folder = Folder::new();
    folder.write("sb.litmus", store_buffering("sb", NOWHERE, "memory_order_seq_cst"));
    folder.write(
        "racy.litmus",
        "C racy\n{ x = 0; }\nP0 (int* x) { *x = 1; }\nP1 (int* x) { int r = *x; }\nexists (x = 1)\n",
    );
    folder.write(
        "lb.litmus",
        "C lb\n{ x = 0; y = 0; }\nP0 (atomic_int* x, atomic_int* y) { int r = atomic_load_explicit(x, memory_order_relaxed); \
         atomic_store_explicit(y, 1, memory_order_relaxed); }\nP1 (atomic_int* x, atomic_int* y) { \
         int r = atomic_load_explicit(y, memory_order_relaxed); atomic_store_explicit(x, 1, memory_order_relaxed); }\n\
         exists (0:r = 1 /\\ 1:r = 1)\n",
    );
    folder.write("ptx.litmus", "PTX P\n{ x = 0; }\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\nexists (x == 1)\n");
    let cmm = ["--to", "cmm", "--scheme", "trailing", "--json"];
    let given = fencepost(&folder, &[&["map", "."], &cmm[..]].concat());
    // A host that fences loads only, and a device that fences stores.
    let broken = fencepost(&folder, &["map", "sb.litmus", "--to", "cmm", "--scheme", "leading", "--json"]);
    let bounded =
        fencepost(&folder, &["map", "--to", "ptx-6.0", "--scheme", "printed,leading", "--json", "--bound", "4"]);
    let kept = fencepost(&folder, &[&["map", "--bound", "2", "--sc-system-only"], &cmm[..]].concat());
    assert_eq!((given.code, broken.code, bounded.code, kept.code), (3, 0, 1, 0), "{}{}", given.err, bounded.err);
    let all: Vec<Value> = [&given, &broken, &bounded, &kept].iter().flat_map(|run| objects(&run.out)).collect();
    let document = schema("map");
    let mut answers: Vec<&str> = Vec::new();
    for object in &all {
        let kind = object["kind"].as_str().expect("a kind");
        let definition = &document["$defs"][kind];
        validate(definition, &document, object, "");
        is_documented(definition, object);
        for found in object["counterexamples"].as_array().into_iter().flatten() {
            is_documented(&document["$defs"]["counterexample"], found);
            assert_eq!(found["confirmed"], true);
        }
        answers.extend(object["answer"].as_str().or(object["conclusion"].as_str()));
    }
    answers.sort_unstable();
    answers.dedup();
    assert_eq!(answers, ["broken", "kept", "kept-but-thin-air", "racy", "unknown"]);
}

/// Two files with one name for their tests, and two schemes: everything is there in the end.
#[test]
fn emitted_files_have_names_of_their_own() {
    let folder = Folder::new();
    for (path, orders) in [
        ("a/sb.litmus", "memory_order_seq_cst"),
        ("b/sb.litmus", "memory_order_relaxed"),
        ("b/other.litmus", "memory_order_acq_rel"),
    ] {
        folder.write(path, store_buffering("sb", NOWHERE, &orders.replace("acq_rel", "seq_cst")));
    }
    for scheme in ["leading", "trailing"] {
        let run = fencepost(&folder, &["map", "a", "b", "--to", "ptx", "--scheme", scheme, "--emit", "out"]);
        assert_eq!(run.code, 0, "{}", run.err);
    }
    let mut names: Vec<String> = std::fs::read_dir(folder.path().join("out"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "other-sb-ptx-leading.litmus",
            "other-sb-ptx-trailing.litmus",
            "sb-ptx-leading-2.litmus",
            "sb-ptx-leading.litmus",
            "sb-ptx-trailing-2.litmus",
            "sb-ptx-trailing.litmus",
        ]
    );
    assert!(folder.read("out/sb-ptx-trailing.litmus").contains("fence.sc"));
    assert!(!folder.read("out/sb-ptx-trailing-2.litmus").contains("fence.sc"));
}

#[test]
fn nothing_is_overwritten_that_differs() {
    let folder = Folder::new();
    folder.write("sb.litmus", store_buffering("sb", NOWHERE, "memory_order_seq_cst"));
    let arguments = ["map", "sb.litmus", "--to", "x86", "--scheme", "trailing", "--emit", "out"];
    assert_eq!(fencepost(&folder, &arguments).code, 0);
    let again = fencepost(&folder, &arguments);
    assert_eq!((again.code, again.err.as_str()), (0, ""), "the same text is no loss");
    folder.write("out/sb-x86-trailing.litmus", "mine");
    let refused = fencepost(&folder, &arguments);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("it is there already, with another text"), "{}", refused.err);
    assert_eq!(folder.read("out/sb-x86-trailing.litmus"), "mine");
}

#[test]
fn an_unknown_answer_has_its_cause() {
    let folder = Folder::new();
    let counting = "C loop\n{ x = 0; }\nP0 (atomic_int* x) { int i = 0; while (i < 6) { i = i + atomic_load(x); } }\n\
                    P1 (atomic_int* x) { atomic_store(x, 1); }\nexists (x = 1)\n";
    folder.write("loop.litmus", counting);
    let run = fencepost(&folder, &["map", "loop.litmus", "--to", "ptx", "--scheme", "leading"]);
    assert_eq!(run.code, 3, "{}", run.out);
    assert!(run.out.contains("a loop was cut (line 3); --unroll N follows it further"), "{}", run.out);
}

/// A placed test is compiled as it is placed; help says so.
#[test]
fn a_location_that_nobody_accesses_needs_no_instruction() {
    let folder = Folder::new();
    let text = store_buffering("sb", NOWHERE, "memory_order_relaxed").replacen("x = 0;", "x = 0; unused = 0;", 1);
    assert!(text.contains("unused"), "{text}");
    folder.write("sb.litmus", text);
    for to in ["ptx", "x86", "cmm"] {
        let run = fencepost(&folder, &["map", "--to", to, "--scheme", "leading", "sb.litmus"]);
        assert!(!run.out.contains("no instruction") && !run.err.contains("no instruction"), "{}{}", run.out, run.err);
    }
}

#[test]
fn a_placed_test_is_compiled_in_one_way() {
    let folder = Folder::new();
    folder.write("sb.litmus", store_buffering("sb", ["@cta 0, gpu 0", ""], "memory_order_seq_cst"));
    let run = fencepost(&folder, &["map", "sb.litmus", "--to", "cmm", "--scheme", "trailing", "--json"]);
    let all = objects(&run.out);
    assert_eq!(all.len(), 1, "{}", run.out);
    assert_eq!(all[0]["threads"], serde_json::json!(["P0 PTX, trailing fences", "P1 x86, trailing fences"]));
    let help = fencepost(&folder, &["map", "--help"]).out;
    assert!(help.contains("A test without placements is compiled for every assignment"), "{help}");
}

#[test]
fn contradictory_options_are_refused() {
    let folder = Folder::new();
    folder.write("sb.litmus", store_buffering("sb", NOWHERE, "memory_order_seq_cst"));
    for arguments in [
        &["--to", "x86", "--scheme", "printed", "--bound", "2"][..],
        &["--to", "x86", "--scheme", "trailing,printed", "sb.litmus"],
        &["--to", "x86", "--scheme", "trailing", "--host", "leading", "--bound", "2"],
        &["--to", "ptx", "--scheme", "trailing", "--host", "leading", "--bound", "2"],
        &["--to", "cmm", "--scheme", "trailing", "--host", "printed", "--bound", "2"],
        &["--to", "ptx", "--scheme", "leading", "--show", "--bound", "2"],
        &["--to", "ptx", "--scheme", "leading", "--show", "sb.litmus"],
        &["--to", "ptx", "--scheme", "leading", "--show", "--json"],
        &["--to", "ptx", "--scheme", "leading", "--bound", "2", "--unroll", "3"],
        &["--to", "ptx", "--scheme", "leading", "--sc-system-only", "sb.litmus"],
        &["--to", "ptx", "--scheme", "leading", "--no-reductions", "sb.litmus"],
        &["--to", "ptx", "--scheme", "leading", "--state", "state.json", "sb.litmus"],
        &["--to", "ptx", "--scheme", "leading", "--show", "--sc-system-only"],
    ] {
        let run = fencepost(&folder, &[&["map"], arguments].concat());
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{arguments:?}");
        assert!(run.err.starts_with("error: "), "{}", run.err);
    }
}

/// The time limit of a bounded check leaves the part that is covered.
#[test]
fn a_bounded_check_out_of_time_says_how_far_it_came() {
    let run = fencepost(
        &Folder::new(),
        &["map", "--to", "cmm", "--scheme", "trailing", "--bound", "6", "--time-limit", "0.2", "--json", "-j", "1"],
    );
    let report = &objects(&run.out)[0];
    assert_eq!((run.code, report["conclusion"].as_str()), (3, Some("unknown")), "{}", run.out);
    assert!(report["done"].as_u64() < report["parts"].as_u64(), "{report}");
}

/// A copy of a shipped model is as good as the model: its header says what it is about and what is claimed of it.
#[test]
fn a_model_of_your_own_is_a_source_and_a_target() {
    let folder = Folder::new();
    for (name, file) in [("cmm", "mine/both.cat"), ("rc11-scoped", "c.cat")] {
        folder.write(file, fencepost(&folder, &["models", "show", name]).out);
    }
    let scheme = ["--scheme", "trailing", "--bound", "2"];
    let own = fencepost(&folder, &[&["map", "--from", "c.cat", "--to", "mine/both.cat"], &scheme[..]].concat());
    let shipped = fencepost(&folder, &[&["map", "--to", "cmm"], &scheme[..]].concat());
    assert!(shipped.out.contains("rc11-scoped to cmm, trailing: kept") && shipped.out.contains("Theorem 6.1 survives"));
    assert_eq!(own.out, shipped.out.replace("rc11-scoped to cmm", "c.cat to mine/both.cat"), "{}", own.err);
    for (arguments, said) in [
        (["--to", "sc", "--from", "rc11-scoped"], "nothing is compiled for the model `sc`"),
        (["--to", "c", "--from", "rc11-scoped"], "nothing is compiled for the model `c`"),
        (["--to", "ptx", "--from", "ptx"], "the model `ptx` is not about C"),
        (["--to", "ptx9", "--from", "rc11-scoped"], "did you mean `ptx`?"),
    ] {
        let run = fencepost(&folder, &[&["map"], &arguments[..], &scheme[..]].concat());
        assert!(run.code == 2 && run.err.starts_with("error: ") && run.err.contains(said), "{}", run.err);
    }
    for (line, said) in [
        ("// without-thin-air: thin-air=never", "`thin-air` cannot be `never`"),
        ("// without-thin-air: thin-air", "write NAME=VALUE"),
        ("// mapping-claim: trailing", "who claims this is missing"),
    ] {
        let text = folder.read("c.cat").replace("// without-thin-air: thin-air=allowed", line);
        folder.write("wrong.cat", text);
        let run = fencepost(&folder, &[&["map", "--from", "wrong.cat", "--to", "ptx"], &scheme[..]].concat());
        assert!(run.code == 2 && run.err.contains(said), "{}", run.err);
    }
}
