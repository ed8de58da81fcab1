//! Bad input: a clear diagnostic with the place, exit 2, no panic, and the other files of the run are still checked.

use crate::common;
use crate::mutants;

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
fn a_test_with_an_error_is_not_called_no_test() {
    let folder = Folder::new();
    folder.write("typo.litmus", "PTX typo\n{ x = 0; }\nP0@cta 0 {\n  st.weak.u32 [x, 1;\n}\nexists (x = 1)\n");
    folder.write("nothing.litmus", "");
    for command in ["fix", "slim"] {
        let run = fencepost(&folder, &[command, "typo.litmus"]);
        assert_eq!(run.code, 2, "{}{}", run.out, run.err);
        assert!(run.err.contains("to close the address") && !run.err.contains("holds no test"), "{}", run.err);
        assert_eq!(fencepost(&folder, &[command, "nothing.litmus"]).code, 2);
    }
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
    refused(&folder, &["mp.litmus"], "mp.expect:1:10");
    // Which model was meant is not known, so none is tried, unless one is named.
    let run = fencepost(&folder, &["check", "mp.litmus"]);
    assert_eq!((run.code, run.out.as_str()), (2, "0 checks: 1 file with errors\n"), "{}", run.err);
    let run = fencepost(&folder, &["check", "mp.litmus", "--model", "sc"]);
    assert!(run.code == 2 && run.out.contains("Holds"), "{}{}", run.out, run.err);
    folder.write("mp.expect", "ptx-7.5: Holds\nsc row 2: Holds\n");
    refused(&folder, &["mp.litmus"], "`mp.expect` expects `sc row 2: Holds`, and there is no such row");
    folder.write("mp.expect", b"\xff\xfe");
    refused(&folder, &["mp.litmus"], "cannot read `mp.expect`");
}

#[test]
fn a_ptx_module_is_called_one_and_the_next_step_is_told() {
    let folder = Folder::new();
    let module = "//\n// Generated by a compiler\n//\n.version 9.0\n.target sm_90\n.address_size 64\n\n.visible .entry k()\n{\n  ret;\n}\n";
    folder.write("k.ptx", module);
    refused(&folder, &["k.ptx"], "this is a PTX module, not a litmus test");
    let run = fencepost(&folder, &["check", "k.ptx"]);
    assert!(run.err.contains("k.ptx:4:1") && run.err.contains("`fencepost kernel FILE.ptx` checks"), "{}", run.err);
    assert_eq!(run.err.matches("error:").count(), 1, "{}", run.err);
}

#[test]
fn a_binary_file_gets_one_message() {
    let folder = Folder::new();
    folder.write("a.out", b"\x7fELF\x02\x01\x01\0\0\0PTX\0{ x = 0; }\0");
    folder.write("utf16.litmus", b"\xff\xfeP\0T\0X\0 \0a\0");
    folder.write("noise.test", [0xf0, 0x9f, 0x92, 0x01, 0xc3].repeat(200));
    for file in ["a.out", "utf16.litmus", "noise.test"] {
        refused(&folder, &[file], "this is a binary file, not a litmus test");
        let run = fencepost(&folder, &["check", file]);
        assert_eq!(run.err.matches("error:").count(), 1, "{}", run.err);
    }
}

#[test]
fn an_empty_folder_has_nothing_to_conform_to_and_that_is_said_once() {
    let folder = Folder::new();
    folder.write("empty/readme.txt", "nothing");
    let run = fencepost(&folder, &["conform", "empty"]);
    assert_eq!(
        (run.code, run.err.as_str()),
        (2, "error: `empty` holds neither expected.csv nor tests.json nor a .test file\n")
    );
}

#[test]
fn a_misspelt_instruction_of_a_model_is_what_the_message_points_at() {
    let folder = Folder::new();
    folder.write("mp.litmus", strong_message_passing(&format!("~exists {STALE}")));
    for (text, place) in [("let a = po | rf\nacyclc a as sc\n", "m.cat:2:1"), ("let a = po\nacyclc a\n", "m.cat:2:1")] {
        folder.write("m.cat", text);
        let run = fencepost(&folder, &["check", "mp.litmus", "--model", "m.cat"]);
        assert_eq!(run.code, 2, "{}{}", run.out, run.err);
        assert!(run.err.contains(place) && run.err.contains("did you mean `acyclic`"), "{}", run.err);
    }
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

/// What a newcomer writes, and what the message must tell: the place is in the snippet, the way out in the help.
#[test]
fn a_message_says_what_to_write_instead() {
    let c = |body: &str| format!("C t\n{{ x = 0; }}\nP0 (atomic_int* x) {{ {body} }}\nexists (x = 1)\n");
    let cell = |head: &str, body: &str| format!("{head} t\n{{ x = 0; }}\n {body} ;\nexists (x = 1)\n");
    let cases = [
        (c("for (int i = 0, i < 2; i++) { *x = 1; }"), "after the first part of the head"),
        (c("*x += 1;"), "write `atomic_fetch_add(x, …)` if `x` is atomic"),
        (c("x++;"), "`x` is a pointer to a location"),
        (c("int i = 1 << 32;"), "a shift of 32 bits by 32 is undefined (C11 6.5.7)"),
        (c("*x <<= 1;"), "`<<=` is not read here"),
        (c("x[atomic_load(x)] = atomic_load(x);"), "C does not say which comes first"),
        (c("int i = 4; int r = i / 2;"), "the operator `/` is not read here"),
        (c("x.store(1);"), "write `atomic_store(x, 1)`"),
        (c("int r = x->load();"), "write `atomic_load(x)`"),
        (c("").replace("atomic_int*", "std::atomic<int>*"), "write `atomic_int`"),
        (c("atomic_store_explict(x, 1, memory_order_relaxed);"), "did you mean `atomic_store_explicit`?"),
        (c("atomic_compare_exchange_stong(x, 1, 2);"), "did you mean `atomic_compare_exchange_strong`?"),
        (c("atomic_store_explicit(x, 1, memory_order_relase);"), "did you mean `memory_order_release`?"),
        (
            c("atomic_store_explicit(x, 1, memory_order_relaxed, thread_scope_blok);"),
            "did you mean `thread_scope_block`?",
        ),
        (c("atomic_fetch_add(x, 1); intt r = 1;"), "did you mean `int`?"),
        (cell("PTX", "P0@cta 0, gpu 0 ;\n mov [x], $1"), "placed with `P0@x86`"),
        (cell("PTX", "P0@x86 ;\n st.weak.u32 [x], 1"), "this looks like PTX"),
        (cell("X86", "P0 ;\n st.weak.u32 [x], 1"), "this looks like PTX"),
        (cell("X86", "P0 ;\n mov EAX, QWORD PTR [x]"), "not that of the register `EAX`"),
        (cell("PTX", "P0@cta 0, gpu 0 ;\n ld.weak.u32 [%0], 1"), "an operand of inline assembly"),
        (cell("PTX", "P0@cta 0, gpu 0 ;\n st.weak.u32 [x], 1").replace("(x = 1)", "(P3:%r1 = 1)"), "one thread, P0"),
    ];
    let folder = Folder::new();
    for (text, help) in cases {
        folder.write("t.litmus", text.clone());
        let run = fencepost(&folder, &["check", "t.litmus"]);
        assert!(run.code == 2 && run.err.contains(help), "{help}\n{text}{}{}", run.out, run.err);
    }
}

/// What is wrong with a parameter is said once, at the parameter, and not again wherever it is used.
#[test]
fn a_bad_parameter_is_one_error() {
    let folder = Folder::new();
    for parameters in ["atomic_in* x, atomic_int* y", "atomic_int x, atomic_int* y", "char* x, atomic_int* y"] {
        let text = format!(
            "C t\n{{ }}\nP0 ({parameters}) {{ atomic_store(x, 1); atomic_store(y, 1); }}\n\
             P1 (atomic_int* y) {{ int r = atomic_load(y); }}\nexists (1:r = 1)\n"
        );
        folder.write("t.litmus", text);
        let run = fencepost(&folder, &["check", "t.litmus"]);
        assert_eq!((run.code, run.err.matches("error:").count()), (2, 1), "{parameters}: {}", run.err);
    }
}

/// `volatile` is no word that makes an access atomic, and is not taken for one in silence.
#[test]
fn volatile_is_warned_of_and_stays_plain() {
    let folder = Folder::new();
    for (parameter, variable) in
        [("volatile int* x", "int r"), ("int volatile* x", "int r"), ("int* x", "volatile int r")]
    {
        let text = format!(
            "C t\n{{ x = 0; }}\nP0 ({parameter}) {{ *x = 1; }}\nP1 (int* x) {{ {variable} = *x; }}\nexists (1:r = 1)\n"
        );
        folder.write("t.litmus", text);
        let run = fencepost(&folder, &["check", "t.litmus"]);
        assert!(run.err.contains("warning: `volatile` changes nothing here"), "{}", run.err);
        assert!(run.out.contains("behaviour is undefined") && run.code == 0, "{}", run.out);
    }
}

/// An index beyond the array is no access that has a model, whether it is known from the text or only when it runs.
#[test]
fn an_element_that_is_not_there_is_unknown() {
    let folder = Folder::new();
    for body in ["x[2] = 1;", "int i = 2; x[i] = 1;", "for (int i = 0; i < 3; i++) { x[i] = 1; }"] {
        folder.write("t.litmus", format!("C t\n{{ int x[2] = 0; }}\nP0 (int* x) {{ {body} }}\nexists (x[0] = 1)\n"));
        let run = fencepost(&folder, &["check", "t.litmus"]);
        assert_eq!(run.code, 3, "{body}: {}{}", run.out, run.err);
    }
}

/// These are read, and have no answer: the reason tells what to do.
#[test]
fn an_unknown_answer_says_what_to_write_instead() {
    let folder = Folder::new();
    let copy = "PTX t\n{ .shared .b32 s[2]; .global .b32 g[4]; .shared .mbarrier b = 1; }\nP0@cta 0, gpu 0 {\n\
                cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [b];\n}\nexists (s[0] = 0)\n";
    folder.write("copy.litmus", copy);
    let run = fencepost(&folder, &["check", "copy.litmus"]);
    assert!(run.code == 3 && run.out.contains("16 bytes from `s[0]` on, where there are only 8"), "{}", run.out);
}

/// A misspelt word is an error that shows it in its line, with the word that was meant.
#[test]
fn a_misspelt_word_has_a_mark_below_it() {
    let folder = Folder::new();
    let text =
        "PTX t\n{ .global .u32 x = 0; }\nP0@cta 0, gpu 0 {\n  ld.acquire.gup.u32 %r1, [x];\n}\nexists (P0:%r1 = 0)\n";
    folder.write("t.litmus", text);
    let run = fencepost(&folder, &["check", "t.litmus"]);
    assert!(run.code == 2 && run.err.contains("              ^^^ not PTX"), "{}", run.err);
    assert!(run.err.contains("did you mean `.gpu`?"), "{}", run.err);
}

/// A failure says which condition, and which accesses race.
#[test]
fn a_failure_of_junit_names_what_failed() {
    let folder = Folder::new();
    let text = "PTX t\n{ x = 0; }\nP0@cta 0, gpu 0 {\n  st.weak.u32 [x], 1;\n}\nP1@cta 1, gpu 0 {\n  \
                ld.weak.u32 %r1, [x];\n}\nforall (P1:%r1 = 1)\n";
    folder.write("t.litmus", text);
    let run = fencepost(&folder, &["check", "t.litmus", "--junit", "-"]);
    assert!(run.out.contains("line 9: forall (P1:%r1=1); data-race on x of lines 4 and 7"), "{}", run.out);
}

/// A folder that leads to itself, a pipe that nobody writes into, a device without an end.
#[cfg(unix)]
#[test]
fn a_hostile_tree_is_listed_once() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    folder.write("tree/deep/good.litmus", strong_message_passing(&format!("~exists {STALE}")));
    let path = |name: &str| folder.path().join(name);
    for number in 0..12 {
        symlink("..", path(&format!("tree/deep/up{number}"))).expect("a link");
        symlink(".", path(&format!("tree/round{number}"))).expect("a link");
    }
    symlink("/dev/zero", path("tree/zero.litmus")).expect("a link");
    symlink("loop.litmus", path("tree/loop.litmus")).expect("a link");
    let made = std::process::Command::new("mkfifo").arg(path("tree/pipe.litmus")).status().expect("coreutils has it");
    assert!(made.success());
    let start = std::time::Instant::now();
    let run = fencepost(&folder, &["check", "tree", "--json"]);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    assert_eq!((run.code, run.out.lines().count()), (0, 1), "{}{}", run.out, run.err);
    for skipped in ["pipe.litmus` is skipped: it is a FIFO", "zero.litmus` is skipped: it is a device"] {
        assert_eq!(run.err.matches(skipped).count(), 1, "{}", run.err);
    }
    assert_eq!(run.err.matches("loop.litmus` is skipped: too many levels of symbolic links").count(), 1, "{}", run.err);
    assert_eq!(run.err.matches("it leads to a folder that is listed already").count(), 24, "{}", run.err);
    // Nor is what belongs to a test read from a pipe.
    let made = std::process::Command::new("mkfifo").arg(path("tree/deep/good.expect")).status().expect("as before");
    assert!(made.success());
    let run = fencepost(&folder, &["check", "tree/deep/good.litmus"]);
    assert!(run.code == 2 && run.err.contains("good.expect`: it is not a regular file"), "{}", run.err);
    let run = fencepost(&folder, &["check", "/dev/zero"]);
    assert!(run.code == 2 && run.err.contains("it is longer than 256 MiB"), "{}", run.err);
}

#[cfg(unix)]
#[test]
fn two_names_that_are_no_utf8_are_two_tests() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    for name in [&b"tree/a\xff.litmus"[..], b"tree/a\xfe.litmus"] {
        let path = folder.path().join(std::ffi::OsStr::from_bytes(name));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, strong_message_passing(&format!("~exists {STALE}"))).expect("a file");
    }
    let run = fencepost(&folder, &["check", "tree", "--json", "--refresh"]);
    assert_eq!((run.code, run.out.lines().count()), (0, 2), "{}{}", run.out, run.err);
    assert!(run.out.contains("tree/a\\\\xfe.litmus") && run.out.contains("tree/a\\\\xff.litmus"), "{}", run.out);
    let entries = std::fs::read_dir(folder.path().join("tree")).expect("the folder");
    assert_eq!(entries.count(), 4, "an expectation beside each");
}

/// Whatever a test or a file is called, nothing that moves the cursor is printed.
#[cfg(unix)]
#[test]
fn control_characters_never_reach_the_terminal() {
    let folder = Folder::new();
    let hostile = "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{7f}";
    let text = strong_message_passing(&format!("~exists {STALE}"));
    let name = format!("h{hostile}.litmus");
    folder.write(&name, text.replace("PTX MP", &format!("PTX MP{hostile}")));
    folder.write("bad.litmus", text.replace("ld.weak", &format!("ld.weak{hostile}")));
    folder.write("m.cat", format!("{hostile}\nacyclic po | rf{hostile}\n"));
    folder.write("n.json", format!("{{\"tests\": [{{\"id\": \"a\\u001b[2J\\u009b\", \"x{hostile}\": 1}}]}}"));
    let unsafe_character = |text: &str| {
        let is_unsafe =
            |it: &char| it.is_control() && !matches!(it, '\n' | '\t') || ('\u{202a}'..='\u{202e}').contains(it);
        text.chars().find(is_unsafe)
    };
    let both = [name.as_str(), "bad.litmus"];
    for more in
        [&[][..], &["--json"], &["--herd"], &["--junit", "-"], &["--all"], &["--explain"], &["--model", "m.cat"]]
    {
        let run = fencepost(&folder, &[&["check"], &both[..], more].concat());
        assert_eq!(unsafe_character(&run.out), None, "{more:?}: {:?}", run.out);
        assert_eq!(unsafe_character(&run.err), None, "{more:?}: {:?}", run.err);
        assert!(run.code == 2 && !run.err.is_empty(), "{more:?}: {}", run.err);
    }
    let others = [["print", &name], ["check", "n.json"], ["check", hostile], ["expect", &name], ["conform", hostile]];
    for arguments in others {
        let run = fencepost(&folder, &arguments);
        assert_eq!(unsafe_character(&(run.out.clone() + &run.err)), None, "{arguments:?}: {:?} {:?}", run.out, run.err);
    }
    let json = fencepost(&folder, &["check", &name, "--json"]).out;
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
}

/// A few mutants of every notation; `cargo run --release -p fencepost --example mutants` makes as many as wanted.
#[test]
fn mutants_of_every_notation_are_read_or_refused() {
    let seeds = mutants::Seeds::new();
    for number in 0..900 {
        let mutant = mutants::Mutant::new(&seeds, number);
        let read = mutants::read(&mutant);
        assert_eq!(read, Ok(()), "{number}: {}", String::from_utf8_lossy(&mutant.bytes));
    }
    let folder = Folder::new();
    let runner = mutants::Runner {
        binary: env!("CARGO_BIN_EXE_fencepost").into(),
        folder: folder.path().to_owned(),
        patience: std::time::Duration::from_secs(60),
    };
    for number in 0..27 {
        let mutant = mutants::Mutant::new(&seeds, number);
        let code = runner.run(&mutant, number);
        assert!(code.is_ok(), "{number}: {code:?}\n{}", String::from_utf8_lossy(&mutant.bytes));
    }
}
