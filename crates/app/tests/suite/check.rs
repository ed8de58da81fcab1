//! `fencepost check`: verdicts, exit codes, outputs.

use crate::common;

use common::{Folder, STALE, fencepost, fencepost_with_input, message_passing, strong_message_passing};

#[test]
fn exit_codes_follow_the_verdict() {
    let folder = Folder::new();
    folder.write("reachable.litmus", message_passing(&format!("exists {STALE}"), "weak", "weak"));
    folder.write("unreachable.litmus", strong_message_passing(&format!("exists {STALE}")));
    folder.write("never.litmus", strong_message_passing(&format!("~exists {STALE}")));
    folder.write("forall.litmus", strong_message_passing("forall (P1:r0 == 0 \\/ P1:r1 == 1)"));
    folder.write("broken-forall.litmus", strong_message_passing("forall (P1:r0 == 0)"));
    for (file, code, word) in [
        ("reachable.litmus", 0, "Holds"),
        ("unreachable.litmus", 1, "Violated"),
        ("never.litmus", 0, "Holds"),
        ("forall.litmus", 0, "Holds"),
        ("broken-forall.litmus", 1, "Violated"),
    ] {
        for engine in ["auto", "enumerate", "sat"] {
            let run = fencepost(&folder, &["check", file, "--model", "ptx-7.5", "--engine", engine]);
            assert_eq!(run.code, code, "{file} {engine}: {}{}", run.out, run.err);
            assert!(run.out.contains(&format!("under ptx-7.5: {word}")), "{file} {engine}: {}", run.out);
        }
    }
}

#[test]
fn over_several_files_bad_input_comes_before_a_violation() {
    let folder = Folder::new();
    folder.write("a.litmus", strong_message_passing(&format!("exists {STALE}")));
    folder.write("b.litmus", "PTX b\n{ x = 0; }\n P0@cta 0,gpu 0 ;\n ld.weak r0 x ;\nexists (P0:r0 == 0)\n");
    folder.write("c.litmus", strong_message_passing(&format!("~exists {STALE}")));
    let run = fencepost(&folder, &["check", "."]);
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
    assert!(run.err.contains("b.litmus:4:"), "{}", run.err);
    let rows: Vec<&str> = run.out.lines().filter(|line| line.contains("ptx-7.5")).collect();
    assert_eq!(rows.len(), 2, "the other files are still checked: {}", run.out);
    assert!(rows[0].contains("Violated") && rows[1].contains("Holds"), "{}", run.out);
    assert!(run.out.contains("2 checks: 1 holds, 1 violated, 2 with races, 1 file with errors"), "{}", run.out);
}

#[test]
fn an_unknown_answer_exits_with_3_and_says_why() {
    let folder = Folder::new();
    folder.write(
        "cluster.litmus",
        "PTX cluster\n{ x = 0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.release.cluster x, 1 | ld.acquire.cluster r0, x ;\nexists (P1:r0 == 1)\n",
    );
    let run = fencepost(&folder, &["check", "cluster.litmus", "--json", "--model", "ptx-7.5"]);
    assert_eq!(run.code, 3, "{}{}", run.out, run.err);
    let report: serde_json::Value = serde_json::from_str(&run.out).expect("one JSON object");
    assert_eq!(report["verdict"], "Unknown");
    assert_eq!(report["why"]["kind"], "unsupported");
    assert_eq!(report["why"]["line"], 4, "{report}");
}

#[test]
fn a_model_about_another_architecture_is_refused() {
    let folder = Folder::new();
    folder.write("mp.litmus", strong_message_passing(&format!("~exists {STALE}")));
    let run = fencepost(&folder, &["check", "mp.litmus", "--model", "x86-tso"]);
    assert_eq!(run.code, 3, "{}", run.out);
    assert!(run.out.contains("not about PTX programs"), "{}", run.out);
}

#[test]
fn standard_input_is_a_test_like_any_other() {
    let folder = Folder::new();
    let text = strong_message_passing(&format!("exists {STALE}"));
    let run = fencepost_with_input(&folder, &["check", "-", "--model", "ptx-6.0"], text.as_bytes());
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("<stdin>"), "{}", run.out);
}

#[test]
fn all_outcomes_are_counted() {
    let folder = Folder::new();
    folder.write("mp.litmus", strong_message_passing(&format!("exists {STALE}")));
    let run = fencepost(&folder, &["check", "mp.litmus", "--all"]);
    assert!(run.out.contains("3 executions, 3 outcomes"), "{}", run.out);
    for line in ["1  P1:r0=0; P1:r1=0", "1  P1:r0=0; P1:r1=1", "1  P1:r0=1; P1:r1=1"] {
        assert!(run.out.contains(line), "{line}: {}", run.out);
    }
}

#[test]
fn one_test_under_all_models_is_a_table() {
    let folder = Folder::new();
    folder.write("mp.litmus", message_passing(&format!("exists {STALE}"), "weak", "weak"));
    let run = fencepost(&folder, &["check", "mp.litmus", "--models"]);
    for model in ["ptx-6.0", "ptx-7.5", "sc"] {
        let row = run.out.lines().find(|line| line.contains(&format!(" {model} "))).unwrap_or_default();
        let word = if model == "sc" { "Violated" } else { "Holds" };
        assert!(row.contains(word), "{model}: {}", run.out);
    }
    assert!(!run.out.contains("x86-tso"), "{}", run.out);
}

#[test]
fn a_data_race_names_both_lines() {
    let folder = Folder::new();
    folder.write("racy.litmus", message_passing("exists (P1:r0 == 1)", "weak", "weak"));
    folder.write("quiet.litmus", strong_message_passing("exists (P1:r0 == 1)"));
    let racy = fencepost(&folder, &["check", "racy.litmus"]);
    assert!(racy.out.contains("data-race on x:"), "{}", racy.out);
    assert!(racy.out.contains("P0 line 4: st.weak x, 1"), "{}", racy.out);
    assert!(racy.out.contains("P1 line 5: ld.weak r1, x"), "{}", racy.out);
    // Where the flag is not seen, nothing orders the accesses to x.
    let quiet = fencepost(&folder, &["check", "quiet.litmus"]);
    assert!(quiet.out.contains("data-race on x:") && !quiet.out.contains("data-race on flag"), "{}", quiet.out);
}

#[test]
fn a_spin_loop_that_nobody_ends_may_hang() {
    let folder = Folder::new();
    let spin = |store: &str| {
        format!(
            "PTX spin\n{{ x = 0; }}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n {store} | LC00: ;\n | ld.relaxed.gpu r0, x ;\n | bne r0, 1, LC00 ;\nexists (P1:r0 == 1)\n"
        )
    };
    folder.write("ends.litmus", spin("st.relaxed.gpu x, 1"));
    folder.write("hangs.litmus", spin("st.relaxed.gpu x, 2"));
    let ends = fencepost(&folder, &["check", "ends.litmus", "--json"]);
    let ends: serde_json::Value = serde_json::from_str(&ends.out).expect("JSON");
    assert_eq!(ends["termination"]["answer"], "terminates", "{ends}");
    assert_eq!(ends["verdict"], "Holds");
    let hangs = fencepost(&folder, &["check", "hangs.litmus", "--json"]);
    let hangs: serde_json::Value = serde_json::from_str(&hangs.out).expect("JSON");
    assert_eq!(hangs["termination"]["answer"], "may-hang", "{hangs}");
    assert_eq!(hangs["verdict"], "Violated");
    assert_eq!(hangs["termination"]["never_ends"], true, "{hangs}");
    let text = fencepost(&folder, &["check", "hangs.litmus", "--explain"]).out;
    assert!(text.contains("always hangs: no execution ends") && text.contains("No execution ends,"), "{text}");
    let table = fencepost(&folder, &["check", "hangs.litmus", "ends.litmus"]).out;
    assert!(table.contains("always hangs"), "{table}");
}

#[test]
fn a_loop_that_sometimes_ends_only_may_hang() {
    let folder = Folder::new();
    let text = "PTX spin\n{ x = 0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.relaxed.gpu x, 1 | LC00: ;\n st.relaxed.gpu x, 2 | ld.relaxed.gpu r0, x ;\n | bne r0, 1, LC00 ;\n";
    folder.write("some.litmus", format!("{text}exists (P1:r0 == 1)\n"));
    let out = fencepost(&folder, &["check", "some.litmus", "--explain"]).out;
    assert!(out.contains("may hang\n") && out.contains("Some execution never ends"), "{out}");
    // A filter that nothing passes says nothing about ending.
    folder.write("filtered.litmus", format!("{text}filter (P1:r0 == 7)\nexists (P1:r0 == 1)\n"));
    let out = fencepost(&folder, &["check", "filtered.litmus"]).out;
    assert!(out.contains("  may hang"), "{out}");
}

#[test]
fn who_hangs_is_told_and_where() {
    let folder = Folder::new();
    let text = "PTX bars\n{ .shared .u32 x = 0; }\nP0@cta 0 {\nbar.sync 0;\nbar.sync 1;\n}\nP1@cta 0 {\nbar.sync 1;\nbar.sync 0;\n}\n";
    folder.write("bars.litmus", format!("{text}forall (true)\n"));
    let out = fencepost(&folder, &["check", "bars.litmus"]).out;
    let told = "    P0 line 4: waits for ever at `bar.sync 0`\n    P1 line 8: waits for ever at `bar.sync 1`\n";
    assert!(out.contains(told), "{out}");
    let json = fencepost(&folder, &["check", "bars.litmus", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(json["termination"]["stuck"][1]["line"], 8, "{json}");
    assert_eq!(json["termination"]["stuck"][1]["text"], "bar.sync 1", "{json}");
}

#[test]
fn who_goes_round_with_its_cta_does_not_wait() {
    let folder = Folder::new();
    let told = "bar.sync 0;\nld.shared.u32 %r2, [go];\nbar.sync 0;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\n}\n";
    let asks = "L:\nld.acquire.gpu.global.u32 %r1, [flag];\nst.shared.u32 [go], %r1;\n";
    let head = "PTX t\n{ .global .u32 flag = 0; .shared .u32 go = 0; }\n";
    folder.write("round.litmus", format!("{head}P0@cta 0 {{\n{asks}{told}P1@cta 0 {{\nL:\n{told}forall (true)\n"));
    let out = fencepost(&folder, &["check", "round.litmus"]).out;
    assert!(out.contains("P0 line 5: waits for ever at `ld.acquire.gpu.global.u32 %r1, [flag]`"), "{out}");
    assert!(out.contains("P1 line 15: goes round for ever with the other threads of its CTA"), "{out}");
    let json = fencepost(&folder, &["check", "round.litmus", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    let goes_round = [0, 1].map(|at| json["termination"]["stuck"][at]["goes_round"].as_bool());
    assert_eq!(goes_round, [Some(false), Some(true)], "{json}");
}

#[test]
fn a_copy_past_the_first_caches_has_16_bytes() {
    let folder = Folder::new();
    let text = "PTX t\n{ .global .b64 g[2] = 1; .shared .b64 s[2] = 0; }\nP0@cta 0 {\ncp.async.cg.shared.global [s], [g], 8;\n}\nforall (true)\n";
    folder.write("cg.litmus", text);
    let found = fencepost(&folder, &["check", "cg.litmus"]);
    assert!(found.err.contains("`cp.async.cg` copies 16 bytes"), "{}", found.err);
    folder.write("ca.litmus", text.replace(".cg", ".ca"));
    assert!(!fencepost(&folder, &["check", "ca.litmus"]).err.contains("copies"));
}

#[test]
fn a_template_is_one_test_per_row() {
    let folder = Folder::new();
    folder.write(
        "wr.test",
        ".global x;\n.surfref s virtually aliases x;\n\nd0.b0.t0 {\n  st [x], 1;\n  $0\n  suld r0, [s];\n}\n\n$1(r0 $2 1) as r0;\n\n$$\n\n | permit | !=\nfence.proxy.surface; | assert | ==\n | assert | ==\n",
    );
    let run = fencepost(&folder, &["check", "wr.test", "--json"]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    let rows: Vec<serde_json::Value> =
        run.out.lines().map(|line| serde_json::from_str(line).expect("JSON Lines")).collect();
    let summary: Vec<(u64, &str)> =
        rows.iter().map(|row| (row["row"].as_u64().unwrap_or(0), row["verdict"].as_str().unwrap_or(""))).collect();
    assert_eq!(summary, [(1, "Holds"), (2, "Holds"), (3, "Violated")]);
    let text = rows[1]["questions"].to_string() + &rows[2]["questions"].to_string();
    assert!(text.contains("suld r0, [s]"), "the witness of row 3 shows its instructions: {text}");
}

#[test]
fn a_filter_is_a_hard_assumption() {
    let folder = Folder::new();
    let text = strong_message_passing("filter (P1:r0 == 1)\nforall (P1:r1 == 1)");
    folder.write("filtered.litmus", text);
    let run = fencepost(&folder, &["check", "filtered.litmus", "--all"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("1 execution, 1 outcome"), "{}", run.out);
}

#[test]
fn a_contradictory_condition_is_simply_unreachable() {
    let folder = Folder::new();
    folder.write("never.litmus", strong_message_passing("exists (P1:r0 == 1 /\\ P1:r0 == 0)"));
    let run = fencepost(&folder, &["check", "never.litmus"]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("not reachable"), "{}", run.out);
}

#[test]
fn the_order_of_work_does_not_change_the_output() {
    let folder = Folder::new();
    for index in 0..8 {
        folder.write(&format!("t{index}.litmus"), message_passing(&format!("exists {STALE}"), "weak", "weak"));
    }
    let plain = fencepost(&folder, &["check", ".", "--json", "--jobs", "1"]);
    assert_eq!(plain.code, 0, "{}", plain.err);
    for arguments in [["--jobs", "4"], ["--seed", "7"]] {
        let other = fencepost(&folder, &[&["check", ".", "--json"], &arguments[..]].concat());
        assert_eq!(plain.out, other.out);
    }
}

#[test]
fn a_time_limit_of_zero_gives_an_unknown_answer_not_a_wrong_one() {
    let folder = Folder::new();
    let threads = 12;
    let column = |text: fn(usize) -> String| (0..threads).map(text).collect::<Vec<_>>().join(" | ");
    let text = format!(
        "PTX rmw\n{{ x = 0; }}\n {} ;\n {} ;\nexists (x == 99)\n",
        column(|thread| format!("P{thread}@cta {thread},gpu 0")),
        column(|_| "atom.relaxed.gpu.add r0, x, 1".to_owned()),
    );
    folder.write("rmw.litmus", text);
    let run = fencepost(&folder, &["check", "rmw.litmus", "--all", "--time-limit", "0", "--engine", "enumerate"]);
    assert_eq!(run.code, 3, "{}{}", run.out, run.err);
    assert!(run.out.contains("Unknown") && run.out.contains("time limit"), "{}", run.out);
}

/// herd's names for the pieces of one access, as models of x86 use them.
#[test]
fn models_with_herds_names_of_mixed_accesses_load() {
    let folder = Folder::new();
    let includes = "include \"x86fences.cat\"\ninclude \"filters.cat\"\ninclude \"cos.cat\"\n";
    let ordered = "let kept = po \\ ([W]; po; [R]) | [W]; po; ([MFENCE]; po; [R] | [R & X]) | [W & X]; po; [R]\n";
    let coherent = "acyclic po-loc | rf | fr | co as internal\nempty rmw & (fre; coe) as atomic\n";
    let seen = "show sm \\ id as pieces\nacyclic kept | ((rfe | fr | co); sm) as ghb\n";
    folder.write("sm.cat", format!("TSO\n{includes}{ordered}{coherent}{seen}"));
    let observed = "let rec ob = (rfe | fre | coe); si | kept | ob; ob\nirreflexive ob as external\n";
    folder.write(
        "si.cat",
        format!("\"x86 pieces\"\n{includes}{ordered}acyclic po-loc | rf | fr | co as internal\n{observed}"),
    );
    let buffering = |fence: &str| {
        format!(
            "X86 SB\n{{ x=0; y=0; }}\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n {fence} | {fence} ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n"
        )
    };
    folder.write("sb.litmus", buffering("NOP"));
    folder.write("sb-fenced.litmus", buffering("MFENCE"));
    let increments =
        "X86 II\n{ x=0; 0:EAX=1; 1:EAX=1; }\n P0 | P1 ;\n LOCK XADD [x],EAX | LOCK XADD [x],EAX ;\nexists (x=1)\n";
    folder.write("increments.litmus", increments);
    for model in ["sm.cat", "si.cat", "x86-tso"] {
        let verdicts = ["sb.litmus", "sb-fenced.litmus", "increments.litmus"].map(|test| {
            let run = fencepost(&folder, &["check", test, "--model", model]);
            assert!(run.code < 2, "{model}: {}{}", run.out, run.err);
            run.code
        });
        assert_eq!(verdicts, [0, 1, 1], "{model}");
    }
}

#[test]
fn a_model_is_shown_by_its_name_alone() {
    let folder = Folder::new();
    let shown = fencepost(&folder, &["models", "ptx-7.5"]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    assert!(shown.out.contains("as causality"), "{}", shown.out);
    assert_eq!(shown.out, fencepost(&folder, &["models", "show", "ptx-7.5"]).out);
    assert!(fencepost(&folder, &["models"]).out.contains("ptx-7.5  "));
    let unknown = fencepost(&folder, &["models", "ptx7.5"]);
    assert!(unknown.code == 2 && unknown.err.contains("did you mean `ptx-7.5`?"), "{}", unknown.err);
}

/// What is as expected below a folder is counted, a line for each folder in it; what is not, and what nobody expected
/// anything of, has a row. `--list` has a row for everything.
#[test]
fn a_folder_is_counted_and_what_is_news_has_a_row() {
    let folder = Folder::new();
    let test = |name: &str| strong_message_passing(&format!("~exists {STALE}")).replacen("MP", name, 1);
    for (name, expected) in [("a/one", "Holds"), ("a/two", "Holds"), ("b/three", "Violated"), ("b/four", "Holds")] {
        folder.write(&format!("{name}.litmus"), test(&name.replace('/', "-")));
        folder.write(&format!("{name}.expect"), format!("ptx-7.5: {expected}\n"));
    }
    folder.write("b/five.litmus", test("b-five"));
    let run = fencepost(&folder, &["check", "."]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    let lines: Vec<&str> = run.out.lines().collect();
    assert!(lines[0].contains("a") && lines[0].ends_with("2 checks: 2 as expected"), "{}", run.out);
    assert!(
        run.out.contains("b/three.litmus") && run.out.contains("not as expected: expected Violated"),
        "{}",
        run.out
    );
    assert!(run.out.contains("b/five.litmus"), "nothing is expected of it: {}", run.out);
    assert!(!run.out.contains("one.litmus") && !run.out.contains("four.litmus"), "{}", run.out);
    assert!(run.out.contains("3 checks: 1 as expected"), "{}", run.out);
    assert!(lines.last().is_some_and(|last| last.starts_with("5 checks: 3 as expected, 1 not as expected, 1 holds")));
    let all = fencepost(&folder, &["check", ".", "--list"]);
    assert_eq!(all.out.lines().filter(|line| line.contains(".litmus")).count(), 5, "{}", all.out);
    let named = fencepost(&folder, &["check", "a/one.litmus", "a/two.litmus"]);
    assert_eq!(named.out.lines().filter(|line| line.contains(".litmus")).count(), 2, "{}", named.out);
}
