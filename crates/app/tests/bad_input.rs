//! Bad input: a clear diagnostic with the place, exit 2, no panic, and the other files of the run are still checked.

mod common;

use common::{Folder, STALE, fencepost, fencepost_with_input, strong_message_passing};

fn good(folder: &Folder) {
    folder.write("zz-good.litmus", strong_message_passing(&format!("~exists {STALE}")));
}

/// The run must fail with 2, say something, and still check the good file.
fn refused(folder: &Folder, arguments: &[&str], message: &str) {
    good(folder);
    let run = fencepost(folder, &[&["check"], arguments, &["zz-good.litmus"]].concat());
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
    assert!(run.err.contains(message), "{message}: {}", run.err);
    assert!(!run.err.contains("panicked"), "{}", run.err);
    assert!(run.out.contains("zz-good.litmus") && run.out.contains("Holds"), "{}", run.out);
}

#[test]
fn a_missing_file() {
    refused(&Folder::new(), &["nowhere.litmus"], "cannot read `nowhere.litmus`: there is no such file");
}

#[test]
fn an_empty_folder() {
    let folder = Folder::new();
    folder.write("empty/readme.txt", "nothing");
    refused(&folder, &["empty"], "`empty` holds no .litmus or .test file");
}

#[test]
fn an_empty_file() {
    let folder = Folder::new();
    folder.write("empty.litmus", "");
    refused(&folder, &["empty.litmus"], "empty.litmus");
}

#[test]
fn ten_megabytes_of_noise() {
    let folder = Folder::new();
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut noise = Vec::with_capacity(10 << 20);
    while noise.len() < 10 << 20 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        noise.extend_from_slice(&state.to_le_bytes());
    }
    folder.write("noise.litmus", &noise);
    folder.write("noise.test", &noise);
    refused(&folder, &["noise.litmus", "noise.test"], "noise.litmus:");
    folder.write("line.litmus", "PTX a\n{ x = 0; }\n".to_owned() + &"ld.weak r0, x | ".repeat(600_000));
    refused(&folder, &["line.litmus"], "line.litmus:3:");
}

#[test]
fn deep_nesting() {
    let folder = Folder::new();
    let depth = 100_000;
    let condition = format!("exists {}P1:r0 == 1{}", "(".repeat(depth), ")".repeat(depth));
    folder.write("deep.litmus", strong_message_passing(&condition));
    refused(&folder, &["deep.litmus"], "deep.litmus:6:");
    folder.write("deep.cat", format!("let r = {}po{}\nacyclic r\n", "(".repeat(depth), ")".repeat(depth)));
    let run = fencepost(&folder, &["check", "zz-good.litmus", "--model", "deep.cat"]);
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
    assert!(run.err.contains("deep.cat:1:"), "{}", run.err);
}

#[test]
fn an_unknown_model_gets_a_suggestion() {
    let folder = Folder::new();
    good(&folder);
    let run = fencepost(&folder, &["check", "zz-good.litmus", "--model", "ptx-7.6"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("there is no model `ptx-7.6`: did you mean `ptx-7.5`?"), "{}", run.err);
    let run = fencepost(&folder, &["check", "zz-good.litmus", "--model", "nowhere.cat"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("cannot read the model `nowhere.cat`"), "{}", run.err);
}

#[test]
fn a_cyclic_include() {
    let folder = Folder::new();
    good(&folder);
    folder.write("a.cat", "include \"b.cat\"\nacyclic po | rf | co\n");
    folder.write("b.cat", "include \"a.cat\"\n");
    let run = fencepost(&folder, &["check", "zz-good.litmus", "--model", "a.cat"]);
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
    assert!(run.err.contains("b.cat:1:") || run.err.contains("a.cat:1:"), "{}", run.err);
}

#[test]
fn a_model_with_an_unknown_name() {
    let folder = Folder::new();
    good(&folder);
    folder.write("m.cat", "acyclic po | rf | cow\n");
    let run = fencepost(&folder, &["check", "zz-good.litmus", "--model", "m.cat"]);
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
    assert!(run.err.contains("m.cat:1:19"), "{}", run.err);
}

#[test]
fn a_broken_expectation_file() {
    let folder = Folder::new();
    folder.write("mp.litmus", strong_message_passing(&format!("~exists {STALE}")));
    folder.write("mp.expect", "ptx-7.5: Maybe\n");
    refused(&folder, &["mp.litmus"], "mp.expect:1:1");
}

#[test]
fn noise_on_standard_input() {
    let run = fencepost_with_input(&Folder::new(), &["check", "-"], b"\xff\xfe\x00 hello");
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
    assert!(run.err.contains("<stdin>:1:"), "{}", run.err);
}

#[test]
fn an_unknown_option_or_no_path_is_bad_input() {
    let folder = Folder::new();
    assert_eq!(fencepost(&folder, &["check"]).code, 2);
    assert_eq!(fencepost(&folder, &["check", "--colour"]).code, 2);
    assert_eq!(fencepost(&folder, &["conform", "nowhere"]).code, 2);
}
