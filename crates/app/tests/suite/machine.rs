//! `fencepost machine`: verdicts, outcomes, traces, stepping, limits, refusals.

use crate::common;

use std::path::{Path, PathBuf};

use common::{Folder, Run, fencepost, fencepost_with_input};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels below the root").to_path_buf()
}

const SB: &str = "X86 SB\n{ x=0; y=0; }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\n\
                  exists (0:EAX=0 /\\ 1:EAX=0)\n";

fn on(machine: &[&str], test: &str, rest: &[&str]) -> Run {
    let folder = Folder::new();
    folder.write("sb.litmus", test);
    let arguments: Vec<&str> = ["machine"].iter().chain(machine).chain(&["sb.litmus"]).chain(rest).copied().collect();
    fencepost(&folder, &arguments)
}

#[test]
fn a_verdict_has_the_exit_code_of_check() {
    let never = SB.replace("exists", "~exists");
    for machine in ["lost-pop", "store-buffer", "coherence"] {
        let run = on(&[machine], SB, &[]);
        assert!(run.code == 0 && run.out.contains(&format!("sb.litmus (SB) on {machine}: Holds")), "{}", run.out);
        let run = on(&[machine], &never, &[]);
        assert!(run.code == 1 && run.out.contains("Violated"), "{}", run.out);
    }
    let fenced = SB.replace(" MOV EAX,[y]", " MFENCE | MFENCE ;\n MOV EAX,[y]");
    let run = on(&["lost-pop"], &fenced, &[]);
    assert!(run.code == 1 && run.out.contains("not reachable"), "{}", run.out);
    // Without the order that Lean gives an MFENCE, and on a machine where all is ordered.
    let run = on(&["lost-pop", "--option", "mfence-kinds=appendix"], &fenced, &[]);
    assert!(run.code == 0 && run.out.contains("on lost-pop:mfence-kinds=appendix: Holds"), "{}", run.out);
    let run = on(&["lost-pop", "--arch", "sc"], SB, &[]);
    assert!(run.code == 1 && run.out.contains("on lost-pop:arch=sc: Violated"), "{}", run.out);
}

#[test]
fn every_outcome_is_counted() {
    let run = on(&["store-buffer"], SB, &["--all"]);
    let expected = "sb.litmus (SB) on store-buffer: Holds\n  exists (P0:EAX=0 /\\ P1:EAX=0): reachable\n  \
                    34 states seen, 58 transitions\n  4 outcomes\n           1  P0:EAX=0; P1:EAX=0\n           \
                    1  P0:EAX=0; P1:EAX=1\n           1  P0:EAX=1; P1:EAX=0\n           1  P0:EAX=1; P1:EAX=1\n";
    assert_eq!(run.out, expected);
    for jobs in ["1", "2", "3"] {
        assert_eq!(on(&["store-buffer"], SB, &["--all", "--jobs", jobs]).out, expected);
    }
}

#[test]
fn a_trace_is_a_shortest_way() {
    let run = on(&["store-buffer"], SB, &["--trace"]);
    assert!(run.out.contains("reachable, by 6 steps\n      1  P0 executes W x=1\n"), "{}", run.out);
    assert!(run.out.contains("leaves P0's buffer for memory"), "{}", run.out);
    // To any outcome, and to none.
    let run = on(&["store-buffer"], SB, &["--trace=0:EAX=1 /\\ x=1"]);
    assert!(run.code == 0 && run.out.contains("exists (P0:EAX=1 /\\ x=1): reachable"), "{}", run.out);
    let run = on(&["store-buffer"], SB, &["--trace=x=2"]);
    assert!(run.code == 1 && run.out.contains("not reachable"), "{}", run.out);
    let run = on(&["store-buffer"], SB, &["--trace=z=2"]);
    assert!(run.code == 2 && run.err.contains("error"), "{}", run.err);
}

/// The same run typed and scripted: a step, the state, a step back, two more.
#[test]
fn stepping_lists_takes_and_undoes() {
    let listed = "    1  P0 executes W x=1\n    2  P1 executes W y=1\n";
    let after =
        "    1  P0 executes R y and gets 0\n    2  W x=1 leaves P0's buffer for memory\n    3  P1 executes W y=1\n";
    let script = format!(
        "{listed}> 1\nP0 executes W x=1\n{after}> s\n      P0's buffer: W x=1\n      x = 0\n      y = 0\n> u\n\
         taken back: P0 executes W x=1\n{listed}> 1\nP0 executes W x=1\n{after}> h\n    1  P0 executes W x=1\n"
    );
    let run = on(&["store-buffer"], SB, &["--steps", "1,s,u,1,h"]);
    assert_eq!((run.code, run.out.as_str()), (0, script.as_str()), "{}", run.err);
    let run = on(&["store-buffer"], SB, &["--steps", "1,7"]);
    assert!(run.code == 2 && run.err.contains("only the transitions 1 to 3"), "{}", run.err);
    let run = on(&["store-buffer"], SB, &["--steps", "u"]);
    assert!(run.code == 2 && run.err.contains("nothing was taken yet"), "{}", run.err);
    let run = on(&["store-buffer"], SB, &["--steps", "1,1,1,1,1,1"]);
    assert!(run.out.ends_with("the run has ended after 6 steps: P0:EAX=0; P1:EAX=1\n"), "{}", run.out);

    let folder = Folder::new();
    folder.write("sb.litmus", SB);
    let typed = b"1\ns\nu\n1\nh\nwhat\nq\n";
    let run = fencepost_with_input(&folder, &["machine", "store-buffer", "sb.litmus", "--step"], typed);
    assert!(run.code == 0 && run.out.contains(script.split_once("> 1\n").map_or("", |it| it.1)), "{}", run.out);
    assert!(run.out.contains("`what` is no command"), "{}", run.out);
}

#[test]
fn a_limit_is_unknown_with_the_states_that_were_seen() {
    let test = root().join("corpus/compound/fig9.litmus").display().to_string();
    for limit in [["--states", "1000"], ["--time-limit", "0"], ["--memory-limit", "1K"]] {
        let run = fencepost(&Folder::new(), &["machine", "lost-pop", &test, limit[0], limit[1]]);
        assert_eq!(run.code, 3, "{}", run.out);
        assert!(run.out.contains(": Unknown (the ") && run.out.contains(" seen, "), "{}", run.out);
    }
    // However a small test is searched: the last state that is expanded has few successors.
    let fenced = SB.replace("exists", "~exists").replace(" MOV EAX,[y]", " MFENCE | MFENCE ;\n MOV EAX,[y]");
    for how in [&["--jobs", "1"][..], &["--jobs", "2"], &["--all"], &["--trace"]] {
        let run = on(&["lost-pop"], &fenced, &[&["--states", "5", "--json"], how].concat());
        let line: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
        assert_eq!(
            (run.code, line["verdict"].as_str(), line["why"]["kind"].as_str()),
            (3, Some("Unknown"), Some("states"))
        );
        assert!((6..=10).contains(&line["states"].as_u64().unwrap()), "{how:?}: {line}");
    }
    // Exactly as many as there are is no limit that is reached, and what was found before it counts.
    let run = on(&["store-buffer"], SB, &["--all", "--states", "34"]);
    assert!(run.code == 0 && run.out.contains("34 states seen") && !run.out.contains("at least"), "{}", run.out);
    let run = on(&["store-buffer"], SB, &["--states", "25"]);
    assert!(run.code == 0 && run.out.contains(": reachable"), "{}", run.out);
    // The same place whatever the number of threads.
    let all = |jobs: &str| {
        let arguments = ["machine", "lost-pop", &test, "--all", "--states", "20000", "--jobs", jobs];
        fencepost(&Folder::new(), &arguments).out
    };
    assert_eq!(all("1"), all("2"));
    assert!(all("1").contains("at least "), "{}", all("1"));
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    for (machine, said) in [
        (&["tso"][..], "there is no machine `tso`: there are lost-pop, store-buffer, coherence, persist-buffer"),
        (&["lost-pop", "--option", "speed=high"], "lost-pop has no option `speed`"),
        (&["lost-pop", "--swmr", "on"], "lost-pop has no option `swmr`"),
        (&["coherence", "--swmr", "maybe"], "`swmr` is on or off, not `maybe`"),
        (&["lost-pop", "--arch", "mips"], "`arch` is sc or xc or arm, not `mips`"),
        (&["lost-pop", "--option", "between"], "an option is `name=value`"),
        (
            &["coherence:swmr=on", "--swmr", "off"],
            "`swmr` is set twice, and `swmr=off` contradicts what was said before",
        ),
        (&["lost-pop:arch=sc", "--arch", "arm"], "`arch` is set twice"),
        (&["lost-pop", "--steps", "1", "--states", "9"], "cannot be used with"),
    ] {
        let run = on(machine, SB, &[]);
        assert!(run.code == 2 && run.err.contains(said), "{machine:?}: {}", run.err);
    }
    let barrier = "PTX t\n{ .global .u32 x; }\nP0@cta 0, gpu 0 {\n bar.sync 0;\n}\nexists (x=0)\n";
    let run = on(&["lost-pop"], barrier, &[]);
    assert!(run.code == 3 && run.out.contains("unsupported: barriers in an operational model"), "{}", run.out);
    let run = on(&["store-buffer"], "PTX t\n{ x=0; }\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\nexists (x=1)\n", &[]);
    assert!(run.code == 3 && run.out.contains("ptx threads"), "{}", run.out);
}

/// Of no outcome everything is true, and it is said.
#[test]
fn what_holds_of_no_outcome_is_called_vacuous() {
    let spin =
        "X86 spin\n{ x=0; y=0; }\n P0 | P1 ;\n L: | MOV [y],$1 ;\n MOV EAX,[x] | ;\n CMP EAX,$0 | ;\n JE L | ;\n";
    let filtered = SB.replace("exists (", "filter (0:EAX=9)\nforall (");
    for test in [format!("{spin}forall (false)\n"), format!("{spin}~exists (x=1)\n"), filtered] {
        for rest in [&[][..], &["--all"], &["--trace"], &["--jobs", "2"]] {
            let run = on(&["store-buffer"], &test, rest);
            assert!(run.code == 0 && run.out.contains("so this holds vacuously"), "{rest:?}: {}", run.out);
            let hangs = run.out.contains("a loop is cut where a thread waits in it for another value");
            assert_eq!(hangs, test.contains("spin"), "{rest:?}: {}", run.out);
        }
        let run = on(&["lost-pop"], &test, &["--json"]);
        assert!(run.out.contains(r#""vacuous":true"#) && !run.out.contains(r#""vacuous":false"#), "{}", run.out);
    }
    let run = on(&["store-buffer"], &format!("{spin}exists (x=1)\n"), &["--json"]);
    assert!(run.code == 1 && !run.out.contains(r#""vacuous":true"#), "{}", run.out);
    let run = on(&["store-buffer"], &SB.replace("exists (", "forall (true \\/ "), &["--json"]);
    assert!(run.code == 0 && !run.out.contains(r#""vacuous":true"#), "{}", run.out);
}

#[test]
fn a_test_that_asks_nothing_gets_its_outcomes() {
    let (test, _) = SB.split_once("exists").expect("the question");
    let run = on(&["store-buffer"], test, &[]);
    assert!(run.code == 0 && run.out.contains("  the test asks nothing\n  34 states seen"), "{}", run.out);
    assert!(run.out.contains("  4 outcomes\n           1  P0:EAX=0; P1:EAX=0; x=1; y=1\n"), "{}", run.out);
    let run = on(&["store-buffer"], test, &["--states", "9"]);
    assert!(run.code == 3 && run.out.contains("Unknown (the limit of states was reached)"), "{}", run.out);
}

/// Where a run has ended nothing is taken any more, though caches could still move lines; the step is named.
#[test]
fn a_run_that_has_ended_takes_no_steps() {
    let read = "X86 R\n{ x=0; }\n P0 ;\n MOV EAX,[x] ;\nexists (0:EAX=0)\n";
    let run = on(&["coherence"], read, &["--steps", "1,1"]);
    assert!(run.code == 0 && run.out.ends_with("the run has ended after 2 steps: P0:EAX=0\n"), "{}", run.out);
    let run = on(&["coherence"], read, &["--steps", "1,1,1"]);
    assert!(run.code == 2 && run.err.contains("step 3 (`1`): the run has ended after 2 steps"), "{}", run.err);
    let run = on(&["store-buffer"], SB, &["--steps", "1,u,1,9"]);
    assert!(run.code == 2 && run.err.contains("step 4 (`9`): there are only the transitions 1 to 3"), "{}", run.err);
}

/// Values that are computed, and the halves of read-modify-writes.
#[test]
fn a_trace_shows_values_and_explains_its_signs() {
    let add = "X86 add\n{ x=4; }\n P0 | P1 ;\n MOV EAX,$1 | MOV EBX,[x] ;\n LOCK XADD [x],EAX | ;\nexists (1:EBX=5)\n";
    let legend = "R* and W* are the read and the write of an atomic read-modify-write";
    for (machine, said) in [
        ("lost-pop", "P0's R* x is satisfied by the initial W x=4 and returns 4; P0 accepts W* x=5\n"),
        ("lost-pop", "P0's W* x=5 propagates to P1\n"),
        ("store-buffer", "P0 executes R* x and gets 4, and writes 5\n"),
        ("coherence", "P0 executes R* x and gets 4, and writes 5\n"),
    ] {
        let run = on(&[machine], add, &["--trace"]);
        assert!(run.out.contains(said) && run.out.contains(legend), "{machine}: {}", run.out);
    }
    assert!(!on(&["lost-pop"], SB, &["--trace"]).out.contains(legend));
}

/// What nobody looked at is not empty.
#[test]
fn stuck_is_null_where_it_was_not_computed() {
    let stuck = |rest: &[&str]| {
        let run = on(&["store-buffer"], SB, &[&["--json"], rest].concat());
        serde_json::from_str::<serde_json::Value>(&run.out).expect("JSON")["stuck"].clone()
    };
    assert_eq!(stuck(&[]), serde_json::Value::Null);
    assert_eq!(stuck(&["--all"]), serde_json::json!([]));
}

/// The fields are those of the schema.
#[test]
fn json_is_as_the_schema_says() {
    let run = on(&["lost-pop"], SB, &["--json", "--all", "--trace"]);
    let line: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    let schema = std::fs::read_to_string(root().join("docs/schema/machine.schema.json")).expect("the schema");
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    let names = |value: &serde_json::Value| -> Vec<String> {
        let mut names: Vec<String> = value.as_object().expect("an object").keys().cloned().collect();
        names.sort();
        names
    };
    assert_eq!(names(&line), names(&schema["properties"]));
    assert_eq!(names(&line["questions"][0]), names(&schema["properties"]["questions"]["items"]["properties"]));
    assert_eq!(line["verdict"], "Holds");
    assert_eq!(line["outcomes"].as_array().map(Vec::len), Some(4));
    assert!(line["questions"][0]["trace"].as_array().is_some_and(|trace| trace.len() > 4), "{line}");
}

#[test]
fn a_folder_is_a_table() {
    let folder = root().join("corpus/compound").display().to_string();
    let run = fencepost(&Folder::new(), &["machine", "lost-pop", &folder, "--jobs", "2"]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("fig10.litmus") && run.out.ends_with(" hold, 6 violated\n"), "{}", run.out);
}

/// A log that guards data; `fence` may order them.
fn log(fence: &str, question: &str) -> String {
    format!(
        "PTX log\n{{ nvm .global .u32 log = 0; nvm .global .u32 data = 0; }}\nP0@cta 0, gpu 0 {{\n  st.global.u32 [log], 1;\n  \
         {fence}st.global.u32 [data], 1;\n}}\n{question}\n"
    )
}

const LOST: &str = "crash ~exists (data = 1 /\\ log = 0)";

#[test]
fn a_crash_on_a_machine_is_found_traced_and_counted() {
    let run = on(&["persist-buffer"], &log("", LOST), &["--trace"]);
    let expected = "sb.litmus (log) on persist-buffer: Violated\n  crash ~exists (data=1 /\\ log=0): possible, by 4 steps\n      \
                    1  P0 executes W.weak log=1\n      2  P0 executes W.weak data=1\n      \
                    3  SM 0 evicts data=1 out of its turn\n      4  data=1 from SM 0 becomes durable\n";
    assert!(run.code == 1 && run.out.starts_with(expected), "{}", run.out);
    let run = on(&["persist-buffer"], &log("ofence; ", LOST), &[]);
    assert!(
        run.code == 0 && run.out.contains("crash ~exists (data=1 /\\ log=0): no crash leaves this state"),
        "{}",
        run.out
    );
    // The same test without the rule behind the fence.
    let run = on(&["persist-buffer", "--option", "fence-holds-back=off"], &log("ofence; ", LOST), &[]);
    assert!(run.code == 1 && run.out.contains("on persist-buffer:fence-holds-back=off: Violated"), "{}", run.out);
    let both =
        log("ofence; ", "forall (log = 1 /\\ data = 1)\ncrash forall (data = 0 \\/ log = 1)\ncrash exists (data = 1)");
    for jobs in ["1", "3"] {
        let run = on(&["persist-buffer"], &both, &["--all", "--jobs", jobs]);
        assert_eq!(run.code, 0, "{}", run.out);
        for line in [
            "  forall (log=1 /\\ data=1): true in every reachable final state\n",
            "  crash forall (data=0 \\/ log=1): true after every crash\n  crash exists (data=1): possible\n",
            "  1 outcome\n           1  log=1; data=1\n  3 states after a crash\n",
            "  log=0; data=0\n",
            "  log=1; data=0\n",
        ] {
            assert!(run.out.contains(line), "{line}: {}", run.out);
        }
    }
    let run = on(&["persist-buffer"], &both, &["--trace=crash log = 1"]);
    assert!(run.code == 0 && run.out.contains("crash exists (log=1): possible, by 3 steps\n"), "{}", run.out);
    let run = on(&["persist-buffer"], &log("", ""), &[]);
    assert!(
        run.code == 0 && run.out.contains("the test asks nothing") && run.out.contains("4 states after a crash"),
        "{}",
        run.out
    );
}

#[test]
fn persist_buffers_are_stepped_through_and_shown() {
    let run = on(&["persist-buffer"], &log("dfence; ", LOST), &["--steps", "1,1,1,s,1"]);
    let shown = "> s\n      the buffer of SM 0, head first: dfence (P0)\n      in flight from SM 0: log=1\n      order delay (ODM) of \
                 SM 0: P0\n      log = 0, durable 0\n      data = 0, durable 0\n> 1\nthe dfence of P0 leaves the buffer of SM 0\n    \
                 1  log=1 from SM 0 becomes durable\n";
    assert!(run.code == 0 && run.out.ends_with(shown), "{}{}", run.out, run.err);
    assert!(run.out.contains("P0 executes dfence and waits\n"), "{}", run.out);
}

/// A thread has not done a `dfence` that waits, and a register without a value compares with nothing.
#[test]
fn registers_after_a_crash_are_those_of_the_model() {
    let text = |question: &str| {
        format!(
            "PTX t\n{{ nvm .global .u32 x = 0; nvm .global .u32 y = 0; .global .u32 f = 0; }}\nP0@cta 0, gpu 0 {{\n  mov.u32 %r3, 1;\n  st.global.u32 [x], 1;\n  \
             dfence;\n}}\nP1@cta 1, gpu 0 {{\n  ld.relaxed.gpu.u32 %r1, [x];\n  ld.relaxed.gpu.u32 %r2, [f];\n  setp.eq.u32 %p1, %r2, 0;\n  \
             @%p1 bra DONE;\n  ld.relaxed.gpu.u32 %r1, [y];\nDONE:\n  st.global.u32 [y], 1;\n}}\n{question}\n"
        )
    };
    for (question, code) in [
        ("crash exists (P0:%r3 = 1 /\\ x = 0)", 1),
        ("crash exists (P0:%r3 = 1 /\\ x = 1)", 0),
        ("crash exists (P1:%r2 = 0 /\\ y = 0)", 0),
        ("crash exists (y = 1 /\\ ~(P1:%r2 = 0))", 1),
        // What the second read of the flag decides is not known after the first.
        ("crash exists (P1:%r1 = 1)", 3),
    ] {
        for rest in [&[][..], &["--all"], &["--trace"]] {
            let run = on(&["persist-buffer"], &text(question), rest);
            assert_eq!(run.code, code, "{question}: {}{}", run.out, run.err);
        }
    }
    let run = on(&["persist-buffer"], &text("crash exists (P1:%r1 = 1)"), &[]);
    assert!(run.out.contains("because it depends on how the thread would have gone on, line "), "{}", run.out);
}

#[test]
fn what_a_persist_buffer_does_not_run_is_refused_at_its_place() {
    let atomic = log("atom.add.global.u32 %r1, [data], 1; ", LOST);
    let recovery = log(
        "",
        &format!(
            "recover {{\n  P0@cta 0, gpu 0 {{\n    st.global.u32 [log], 0;\n  }}\n}}\n{LOST}\nrecover forall (log = 0)"
        ),
    );
    let volatile = log("", "exists (log = 1)").replace("nvm ", "");
    for (text, code, said) in [
        (atomic.as_str(), 3, "read-modify-writes of persistent memory on SMs with persist buffers, line 5)"),
        (&volatile, 3, "no location is declared `nvm`"),
        (SB, 3, "no location is declared `nvm`"),
        (
            &recovery,
            1,
            "recovery was not run (unsupported: recovery programs on the machine persist-buffer, which does not decide whether they end, line 7)",
        ),
    ] {
        let run = on(&["persist-buffer"], text, &[]);
        assert!(run.code == code && run.out.contains(said), "{said}: {}{}", run.out, run.err);
    }
    let run = on(&["persist-buffer"], &recovery.replace(LOST, "crash exists (log = 1)"), &["--json"]);
    let line: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!((run.code, &line["why"]["kind"], &line["why"]["line"]), (3, &"unsupported".into(), &7.into()), "{line}");
    let run = on(&["lost-pop"], &log("", LOST), &[]);
    assert!(run.code == 3 && run.out.contains("persistent memory on the machine lost-pop, line 2"), "{}", run.out);
    let run = on(&["persist-buffer"], &log("ofence; ", LOST), &["--states", "3"]);
    assert!(run.code == 3 && run.out.contains("the limit of states was reached"), "{}", run.out);
}

#[test]
fn json_about_crashes_is_as_the_schema_says() {
    let run = on(&["persist-buffer"], &log("", LOST), &["--json", "--all", "--trace"]);
    let line: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    let schema = std::fs::read_to_string(root().join("docs/schema/machine.schema.json")).expect("the schema");
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    let crashes = schema["properties"]["crashes"]["properties"].as_object().expect("the fields");
    let own = line["crashes"].as_object().expect("an object");
    assert_eq!(own.keys().collect::<Vec<_>>(), crashes.keys().collect::<Vec<_>>());
    assert_eq!(own["states"].as_array().map(Vec::len), Some(4), "{line}");
    assert_eq!(
        (&own["questions"][0]["reached"], own["questions"][0]["trace"].as_array().map(Vec::len)),
        (&true.into(), Some(4))
    );
    let none: serde_json::Value = serde_json::from_str(&on(&["store-buffer"], SB, &["--json"]).out).expect("JSON");
    assert_eq!(none["crashes"], serde_json::Value::Null);
}
