//! Crashes on the command line: questions, witnesses, stories, pictures, repairs, recovery, comparisons, and what is refused.

use crate::common::{Folder, Run, fencepost};

/// A log that may be lost though what it guards is durable.
fn unordered(question: &str) -> String {
    format!(
        "PTX log\n{{ nvm .global .u32 log = 0; nvm .global .u32 data = 0; }}\nP0@cta 0, gpu 0 {{\n  st.global.u32 [log], 1;\n  \
         st.global.u32 [data], 1;\n}}\n{question}\n"
    )
}

fn checked(text: &str, arguments: &[&str]) -> Run {
    let folder = Folder::new();
    folder.write("t.litmus", text);
    let all: Vec<&str> = ["check", "t.litmus"].iter().chain(arguments).copied().collect();
    fencepost(&folder, &all)
}

const LOST: &str = "crash ~exists (data = 1 /\\ log = 0)";

#[test]
fn a_crash_says_what_was_durable_what_was_lost_and_what_is_missing() {
    let run = checked(&unordered(LOST), &[]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    for line in [
        "under sbrp: Violated",
        "the power fails after P0 line 5 `st.global.u32 [data], 1`",
        "durable: data=1 (P0 line 5)",
        "lost: log=1 (P0 line 4)",
        "left: log=0; data=1",
        "missing: `ofence` in P0 between lines 4 and 5; with it no crash leaves this state",
        "4 states after a crash, in 1 execution",
    ] {
        assert!(run.out.contains(line), "{line}: {}", run.out);
    }
}

#[test]
fn models_are_chosen_by_persistent_memory() {
    let run = checked(&unordered(LOST), &["--models"]);
    for (model, verdict) in [
        ("epoch ", "Violated"),
        ("epoch-buffered", "Violated"),
        ("gpm", "Violated"),
        ("sbrp", "Violated"),
        ("strict", "Holds"),
    ] {
        let row = run.out.lines().find(|line| line.contains(model)).unwrap_or_default();
        assert!(row.contains(verdict), "{model}: {}", run.out);
    }
    assert!(!run.out.contains("ptx-7.5"), "{}", run.out);
    let run = checked(&unordered(LOST), &["--model", "ptx"]);
    assert!(run.code == 3 && run.out.contains("the model ptx has no rules for persistent memory"), "{}", run.out);
}

#[test]
fn questions_about_the_end_and_about_crashes_stand_in_one_file() {
    let text = unordered(&format!("forall (log = 1 /\\ data = 1)\ncrash exists (data = 1)\n{LOST}"));
    let run = checked(&text, &[]);
    assert!(run.out.contains("forall (log=1 /\\ data=1): true in every execution"), "{}", run.out);
    assert!(run.out.contains("crash exists (data=1): possible"), "{}", run.out);
    assert!(run.out.contains("possible, but the test says it must not be"), "{}", run.out);
}

#[test]
fn a_crash_is_explained_and_drawn() {
    let folder = Folder::new();
    folder.write("t.litmus", unordered(LOST));
    let run = fencepost(&folder, &["check", "t.litmus", "--explain", "--graph", "t.svg"]);
    assert!(run.out.contains("A crash may leave log=0; data=1."), "{}", run.out);
    assert!(run.out.contains("no `ofence` or `dfence` stands between them"), "{}", run.out);
    let svg = folder.read("t.svg");
    assert!(svg.contains(">durable</text>") && svg.contains(">lost</text>"), "{svg}");
    assert!(svg.contains("The crash leaves log = 0, data = 1"), "{svg}");
    let fenced = unordered(LOST).replace("1;\n  st.global.u32 [data]", "1;\n  ofence;\n  st.global.u32 [data]");
    let run = checked(&fenced, &["--explain"]);
    assert_eq!(run.code, 0, "{}", run.out);
    assert!(run.out.contains("So log = 1 (P0 line 4) is durable whenever data = 1 (P0 line 6) is"), "{}", run.out);
}

/// Undo logging; recovery puts the old value back where the log is valid.
fn undo(recovery: &str) -> String {
    format!(
        "PTX undo\n{{ nvm .global .u32 kv = 5; nvm .global .u32 valid = 0; }}\nP0@cta 0, gpu 0 {{\n  st.global.u32 [valid], 1;\n  ofence;\n  \
         st.global.u32 [kv], 7;\n}}\nrecover {{\n  P0@cta 0, gpu 0 {{\n    ld.global.u32 %r1, [valid];\n    setp.eq.u32 %p1, \
         %r1, 0;\n    @%p1 bra DONE;\n{recovery}  DONE:\n    ret;\n  }}\n}}\nrecover forall (kv = 5)\n"
    )
}

#[test]
fn recovery_that_crashes_itself_is_run_again() {
    let right = undo("    st.global.u32 [kv], 5;\n    ofence;\n    st.global.u32 [valid], 0;\n");
    let run = checked(&right, &[]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("recover forall (kv=5): recoverable from every crash"), "{}", run.out);
    // Without a fence the log may be cleared durably, and what it restored be lost: only a second crash shows it.
    let run = checked(&undo("    st.global.u32 [kv], 5;\n    st.global.u32 [valid], 0;\n"), &[]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("it fails again during recovery"), "{}", run.out);
    assert!(run.out.contains("recovery from kv=7; valid=0 ends with nothing written"), "{}", run.out);
    assert!(
        run.out.contains("missing: `ofence` in P0 of the recovery program between lines 13 and 14; with it every crash is recovered from"),
        "{}",
        run.out
    );
}

#[test]
fn a_recovery_that_may_wait_for_ever_recovers_nothing() {
    let waits = "  W: ld.relaxed.gpu.u32 %r2, [kv];\n    setp.ne.u32 %p2, %r2, 7;\n    @%p2 bra W;\n";
    let run = checked(&undo(waits).replace("(kv = 5)", "(kv = 5 \\/ kv = 7)"), &[]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    let waits =
        "recovery from kv=5; valid=1 never ends\n      P0 line 13: waits for ever at `ld.relaxed.gpu.u32 %r2, [kv]`\n";
    assert!(run.out.contains(waits), "{}", run.out);
    assert!(run.out.contains("every fair execution of the program ends"), "{}", run.out);
}

#[test]
fn persists_are_torn_where_the_hardware_keeps_fewer_bytes_together() {
    let text = "PTX torn\n{ nvm .global .u64 x = 0; }\nP0@cta 0, gpu 0 {\n  st.global.u64 [x], 0x100000001;\n}\ncrash forall (x \
                = 0 \\/ x = 0x100000001)\n";
    assert_eq!(checked(text, &[]).code, 0);
    let run = checked(text, &["--persist-granularity", "4"]);
    assert_eq!(run.code, 1, "{}", run.out);
    assert!(run.out.contains("lost: x+0=1 (P0 line 4)") && run.out.contains("4 states after a crash"), "{}", run.out);
    assert!(!run.out.contains("missing:"), "no single change mends it: {}", run.out);
}

/// A message through a flag, with these ends.
fn message(release: &str, acquire: &str) -> String {
    format!(
        "PTX t\n{{ nvm .global .u32 x = 0; nvm .global .u32 y = 0; .global .u32 f = 0; }}\nP0@cta 0, gpu 0 {{\n  st.global.u32 \
         [x], 1;\n  {release} [f], 1;\n}}\nP1@cta 1, gpu 0 {{\nL: {acquire} %r1, [f];\n  setp.ne.u32 %p1, %r1, 1;\n  @%p1 bra \
         L;\n  st.global.u32 [y], 1;\n}}\ncrash ~exists (y = 1 /\\ x = 0)\n"
    )
}

#[test]
fn a_repair_never_narrows_a_scope() {
    let run = checked(&message("prel.gpu.u32", "ld.relaxed.gpu.u32"), &["--model", "epoch-buffered"]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("missing: `pacq.gpu.u32 %r1, [f]`"), "{}", run.out);
}

#[test]
fn a_fence_is_missing_at_the_end_of_a_kernel() {
    let text = "PTX t\n{ nvm .global .u32 x = 0; nvm .global .u32 y = 0; .launch 0 -> 1; }\nP0@cta 0, gpu 0, kernel 0 {\n  \
                st.global.u32 [x], 1;\n}\nP1@cta 1, gpu 0, kernel 1 {\n  st.global.u32 [y], 1;\n}\ncrash ~exists (y = 1 /\\ x = \
                0)\n";
    let run = checked(text, &[]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("missing: `dfence` in P0"), "{}", run.out);
}

#[test]
fn a_race_over_a_narrow_release_of_persists_is_mended_by_its_scope() {
    let run = checked(&message("prel.cta.u32", "pacq.gpu.u32"), &[]);
    assert!(run.out.contains("data-race on f"), "{}", run.out);
    let race = run.out.split("data-race on f").nth(1).unwrap_or_default();
    assert!(race.contains("missing: `.gpu` on P0's `prel.cta.u32 [f], 1`"), "{}", run.out);
}

#[test]
fn a_granularity_is_a_power_of_two() {
    let run = checked(&unordered(LOST), &["--persist-granularity", "3"]);
    assert!(run.code == 2 && run.err.contains("a power of two"), "{}{}", run.out, run.err);
}

#[test]
fn models_are_compared_by_what_crashes_leave() {
    let folder = Folder::new();
    folder.write("t.litmus", unordered(LOST));
    let run = fencepost(&folder, &["compare", "strict", "sbrp", "t.litmus", "--observe", "crash", "--explain"]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("sbrp alone has log=0; data=1"), "{}", run.out);
    assert!(run.out.contains("A crash may leave log=0; data=1."), "{}", run.out);
    folder.write("v.litmus", "PTX v\n{ x = 0; }\nP0@cta 0, gpu 0 { st.relaxed.gpu.u32 [x], 1; }\nexists (x = 1)\n");
    let run = fencepost(&folder, &["compare", "strict", "sbrp", "v.litmus", "--observe", "crash"]);
    assert!(run.out.contains("no location is declared `nvm`"), "{}{}", run.out, run.err);
}

#[test]
fn what_is_wrong_about_crashes_is_said_at_its_place() {
    let head = "PTX t\n{ nvm .global .u32 x = 0; .global .u32 v = 0; }\nP0@cta 0, gpu 0 { st.global.u32 [x], 1; }\n";
    let cases = [
        ("PTX t\n{ nvm .shared .u32 s = 0; }\nP0@cta 0, gpu 0 { st.shared.u32 [s], 1; }\ncrash exists (s = 1)\n".to_owned(), "`s` is shared memory", "2:3"),
        ("PTX t\n{ nvm .const .u32 c = 0; }\nP0@cta 0, gpu 0 { ld.const.u32 %r1, [c]; }\ncrash exists (c = 1)\n".to_owned(), "`c` is constant memory", "2:3"),
        ("PTX t\n{ x = 0; }\nP0@cta 0, gpu 0 { st.relaxed.gpu.u32 [x], 1; }\ncrash exists (x = 1)\n".to_owned(), "no location is declared `nvm`", "4:1"),
        ("PTX t\n{ nvm x = 0; }\nP0@cta 0, gpu 0 { st.relaxed.gpu.u32 [x], 1; }\nP1@x86 { ofence; }\ncrash exists (x = 1)\n".to_owned(), "`ofence` is an operation of GPU threads", "4:10"),
        ("C t\n{ nvm x = 0; }\nP0 (int* x) { *x = 1; }\ncrash exists (x = 1)\n".to_owned(), "`nvm` stands in a test that is not PTX", "2:3"),
        ("X86 t\n{ nvm x = 0; }\n P0 ;\n mov [x], $1 ;\ncrash exists (x = 1)\n".to_owned(), "`nvm` stands in a test that is not PTX", "2:3"),
        (format!("{head}crash exists (v = 1)\n"), "a crash leaves nothing of `v`", "4:15"),
        (format!("{head}recover forall (x = 1)\n"), "there is no recovery program", "4:1"),
        (format!("{head}recover {{ P0@cta 0 {{ L: bra L; }} }}\n"), "P0 of the recovery program never ends", "4:25"),
        (format!("{head}recover {{ P0@cta 0 {{ ret; }} }}\nrecover forall (P0:%r9 = 1)\n"), "P0 has no register `%r9`", "5:17"),
        (format!("{head}recover {{ }}\n"), "the recovery program has no threads", "4:1"),
        ("PTX t\n{ nvm .global .u32 x = 0; }\nP0@cta 0, gpu 0 { prel.u32 [x], 1; }\ncrash exists (x = 1)\n".to_owned(), "`prel` with these semantics needs a scope", "3:19"),
    ];
    for (text, message, place) in cases {
        let run = checked(&text, &[]);
        assert_eq!(run.code, 2, "{text}{}{}", run.out, run.err);
        assert!(run.err.contains(message), "{message}: {}", run.err);
        assert!(run.err.contains(&format!("t.litmus:{place}")), "{place}: {}", run.err);
    }
    let copy = "PTX t\n{ nvm .global .u32 x[4] = 0; .shared .u32 s[4]; }\nP0@cta 0, gpu 0 {\n  cp.async.bulk.global.shared::cta.bulk_group \
                [x], [s], 16;\n}\ncrash exists (x[0] = 1)\n";
    let run = checked(copy, &[]);
    assert_eq!(run.code, 3, "{}{}", run.out, run.err);
    assert!(
        run.out.contains("an asynchronous write to `x[0]`, which is persistent") && run.out.contains("line 4"),
        "{}",
        run.out
    );
}

/// The table of the folder, row by row, against the expectations beside the tests.
#[test]
fn the_table_of_the_corpus_is_what_its_tests_expect() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/persistency");
    let read = |path: String| std::fs::read_to_string(folder.join(path)).expect("a file of the corpus");
    let page = read("README.md".to_owned());
    let head = page.lines().position(|line| line.starts_with("| row | test")).expect("the table");
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let models = cells(page.lines().nth(head).expect("its head"))[4..9].to_vec();
    let rows: Vec<Vec<String>> =
        page.lines().skip(head + 2).take_while(|line| line.starts_with('|')).map(cells).collect();
    assert!(rows.len() >= 50, "{}", rows.len());
    for row in rows {
        let name = row[2].trim_matches('`');
        let (test, expected) = (read(format!("litmus/{name}.litmus")), read(format!("litmus/{name}.expect")));
        let is_negated = test.lines().any(|line| line.contains("~exists"));
        for (model, letter) in models.iter().zip(&row[4..9]) {
            let wanted = if (letter == "A") == is_negated { "Violated" } else { "Holds" };
            let lines = expected.lines().filter(|line| line.split([' ', ':']).next() == Some(model.as_str()));
            // An answer that depends on a contested reading is told under its default.
            let is_default = |line: &&str| {
                let subject = line.split(':').next().unwrap_or_default();
                let default = ["by-value", "none", "fences-only"].iter().any(|value| subject.ends_with(value));
                default || subject == model.as_str() && !line.contains("Depends")
            };
            let lines: Vec<&str> = lines.filter(is_default).collect();
            assert!(!lines.is_empty(), "{name} under {model}: {expected}");
            for line in lines {
                assert!(line.contains(&format!(": {wanted},")), "{name} under {model}: {letter}, and {line}");
            }
        }
    }
}

/// `tail <= head` is about values: an order of addresses would say nothing.
#[test]
fn an_order_compares_the_values_of_two_locations() {
    let text = |question: &str| {
        format!(
            "PTX log\n{{ nvm .global .u32 a = 0; nvm .global .u32 b = 0; }}\n\
             P0@cta 0, gpu 0 {{ st.global.u32 [b], 1; st.global.u32 [a], 1; }}\n{question}\n"
        )
    };
    for (question, code) in [("crash ~exists (b > a)", 1), ("crash forall (b <= a)", 1), ("crash exists (b > a)", 0)] {
        let run = checked(&text(question), &[]);
        assert_eq!(run.code, code, "{question}: {}", run.out);
    }
}

/// A counter of boots has a new state for every crash of its recovery.
#[test]
fn a_recovery_that_reaches_new_states_for_ever_is_cut() {
    let text = "PTX boots\n{ nvm .global .u32 x = 0; }\nP0@cta 0, gpu 0 { st.global.u32 [x], 1; }\n\
                recover {\n  P0@cta 0, gpu 0 {\n    ld.global.u32 %r1, [x];\n    add.u32 %r1, %r1, 1;\n    \
                st.global.u32 [x], %r1;\n  }\n}\nrecover forall (x >= 1)\n";
    let run = checked(text, &[]);
    let why = "recovery was run from 5000 states, and crashes of recovery leave more";
    assert!(run.code == 3 && run.out.contains(why), "{}", run.out);
}
