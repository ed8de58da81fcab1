//! `fencepost slim` on the command line: what can be saved, what is needed, diffs, files that are written, exit codes.

use crate::common::{Folder, Run, fencepost};
use crate::docs::root;

const MP: &str = "PTX MP // message passing\n{ x = 0; y = 0; }\nP0@cta 0, gpu 0 {\n  st.relaxed.gpu.u32 [x], 1;   // \
                  data\n  fence.sc.sys;\n  st.release.gpu.u32 [y], 1;\n}\nP1@cta 1, gpu 0 {\n  ld.acquire.gpu.u32 %r0, \
                  [y];\n  fence.acq_rel.gpu;\n  ld.relaxed.gpu.u32 %r1, [x];\n}\n~exists (P1:%r0 = 1 /\\ P1:%r1 = 0)\n";

fn slimmed(text: &str, arguments: &[&str]) -> Run {
    let folder = Folder::new();
    folder.write("t.litmus", text);
    let all: Vec<&str> = ["slim", "t.litmus"].iter().chain(arguments).copied().collect();
    fencepost(&folder, &all)
}

#[test]
fn a_release_and_an_acquire_make_two_fences_redundant() {
    let run = slimmed(MP, &[]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    for line in [
        "under ptx-7.5: 92 of 114 can be saved, the most",
        "P0 line 6: `st.release.gpu.u32 [y], 1` becomes `st.relaxed.gpu.u32 [y], 1` (saves 5)",
        "  together:\n    P0 line 5: remove `fence.sc.sys` (saves 72)\n    P1 line 10: remove `fence.acq_rel.gpu` (saves 20)\n",
        "no set of",
        "confirmed by the other engine",
        "P0 line 4: `st.relaxed.gpu.u32 [x], 1`; as `st.relaxed.cta.u32 [x], 1`, lines 4 and 11 race",
    ] {
        assert!(run.out.contains(line), "{line}: {}", run.out);
    }
}

#[test]
fn more_rounds_are_two_more_than_the_answers_needed_and_only_where_there_are_loops() {
    let unrolled = |text: &str| {
        let run = slimmed(text, &["--json"]);
        let report: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
        (report["together"]["unrolled"].clone(), report["together"]["more_rounds"].clone())
    };
    let null = serde_json::Value::Null;
    assert_eq!(unrolled(MP), (null.clone(), null.clone()));
    assert!(!slimmed(MP, &[]).out.contains("rounds"));
    // Each of three threads may fail twice, so the answer is known with three rounds and not with two.
    let path = root().join("corpus/loops/Retry-deepened.litmus");
    let text = std::fs::read_to_string(path).expect("the test").replacen("atom.relaxed", "atom.acq_rel", 1);
    assert_eq!(unrolled(&text), (5.into(), null), "and it is decided");
}

#[test]
fn the_best_set_is_written_into_the_file_and_leaves_the_rest() {
    let folder = Folder::new();
    folder.write("t.litmus", MP);
    let run = fencepost(&folder, &["slim", "t.litmus", "--write"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let written = std::fs::read_to_string(folder.path().join("t.litmus")).expect("the file");
    assert_eq!(written, MP.replace("  fence.sc.sys;\n", "").replace("  fence.acq_rel.gpu;\n", ""));
    let again = fencepost(&folder, &["slim", "t.litmus", "--write"]);
    assert!(again.out.contains("nothing can be saved of 22") && again.code == 0, "{}", again.out);
}

#[test]
fn a_membar_is_narrowed_as_the_fence_that_it_is() {
    let text = "PTX t\n{ x = 0; y = 0; }\nP0@cta 0, gpu 0 {\n  st.relaxed.gpu.u32 [x], 1;\n  membar.sys;\n  \
                ld.relaxed.gpu.u32 %r0, [y];\n}\nP1@cta 1, gpu 0 {\n  st.relaxed.gpu.u32 [y], 1;\n  fence.sc.sys;\n  \
                ld.relaxed.gpu.u32 %r0, [x];\n}\n~exists (P0:%r0 = 0 /\\ P1:%r0 = 0)\n";
    let run = slimmed(text, &[]);
    assert!(run.out.contains("64 of 156 can be saved, the most"), "{}{}", run.out, run.err);
    assert!(run.out.contains("P0 line 5: `membar.sys` becomes `membar.gl` (saves 32)"), "{}", run.out);
}

#[test]
fn lines_that_are_kept_and_costs_of_ones_own_change_the_set() {
    let run = slimmed(MP, &["--keep-lines", "5", "--diff"]);
    assert!(run.out.contains("-  fence.acq_rel.gpu;\n") && !run.out.contains("-  fence.sc.sys;\n"), "{}", run.out);
    let folder = Folder::new();
    folder.write("t.litmus", MP);
    folder.write("costs.tsv", "fence.sc\tsys\t1\tfree\nrelease\tgpu\t50\tdear here\n");
    let run = fencepost(&folder, &["slim", "t.litmus", "--costs", "costs.tsv"]);
    assert!(run.out.contains("together:\n    P0 line 6: `st.release.gpu.u32 [y], 1` becomes"), "{}", run.out);
}

#[test]
fn what_is_not_right_is_left_to_fix_and_nothing_is_written() {
    let wrong = MP.replace("~exists (P1:%r0 = 1 /\\ P1:%r1 = 0)", "~exists (P1:%r0 = 1 /\\ P1:%r1 = 1)");
    let folder = Folder::new();
    folder.write("t.litmus", &wrong);
    let run = fencepost(&folder, &["slim", "t.litmus", "--write"]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("not right yet: repair it first (`fencepost fix`)"), "{}", run.out);
    assert_eq!(std::fs::read_to_string(folder.path().join("t.litmus")).expect("the file"), wrong);
    let race = slimmed(&MP.replace("st.relaxed.gpu.u32 [x]", "st.weak.u32 [x]"), &[]);
    assert!(race.code == 1 && race.out.contains("  lines 4 and 11 race\n"), "{}", race.out);
    let c = "C t\n{ x = 0; }\nP0 (atomic_int* x) { atomic_store(x, 1); }\nforall (x = 1)\n";
    let run = slimmed(c, &[]);
    assert!(run.code == 2 && run.err.contains("written in C"), "{}{}", run.out, run.err);
    let run = slimmed(MP, &["--time-limit", "0.000001"]);
    assert!(run.code == 3 && run.out.contains("undecided"), "{}{}", run.out, run.err);
}

#[test]
fn a_second_fence_of_x86_is_redundant() {
    let text = "X86 SB\n{ x=0; y=0; }\n P0          | P1          ;\n MOV [x],$1  | MOV [y],$1  ;\n MFENCE      | MFENCE      \
                ;\n MFENCE      |             ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n";
    let run = slimmed(text, &[]);
    assert!(run.out.contains("under x86-tso: 30 of 90 can be saved, the most"), "{}{}", run.out, run.err);
    assert!(run.out.contains("without `MFENCE`, the answer to exists"), "{}", run.out);
}

/// A loop goes with its label, a barrier in both threads, and no empty line is left.
#[test]
fn waits_and_barriers_go_as_a_whole() {
    let text = "PTX twice\n{ x = 0; .shared .mbarrier b = 1; }\nP0@cta 0 {\n  st.weak.u32 [x], 1;\n  \
                mbarrier.arrive.shared::cta.b64 _, [b];\n  bar.sync 0;\n}\nP1@cta 0 {\nW: mbarrier.try_wait.parity.shared::cta.b64 \
                %p, [b], 0;\n  @!%p bra W;\n  bar.sync 0;\n  ld.weak.u32 %r1, [x];\n}\nforall (P1:%r1 = 1)\n";
    let run = slimmed(text, &["--diff"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let gone: Vec<&str> = run.out.lines().filter(|line| line.starts_with('-') && !line.starts_with("---")).collect();
    assert_eq!(gone, ["-  bar.sync 0;", "-  bar.sync 0;"], "{}", run.out);
    let kept = slimmed(text, &["--diff", "--keep-lines", "6"]);
    let told = "-W: mbarrier.try_wait.parity.shared::cta.b64 %p, [b], 0;\n-  @!%p bra W;\n   bar.sync 0;\n";
    assert!(kept.out.contains(told), "{}", kept.out);
}

#[test]
fn persistency_fences_are_weakened_too() {
    let text = "PTX durable\n{ nvm x = 0; nvm y = 0; }\nP0@cta 0 {\n  st.relaxed.gpu.u32 [x], 1;\n  dfence;\n  \
                st.relaxed.gpu.u32 [y], 1;\n}\ncrash forall (y = 0 \\/ x = 1)\n";
    let run = slimmed(text, &[]);
    assert!(run.out.contains("`dfence` becomes `ofence` (saves 30)"), "{}{}", run.out, run.err);
}

#[test]
fn json_is_as_the_schema_says() {
    let run = slimmed(MP, &["--json"]);
    let line: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    let schema = std::fs::read_to_string(root().join("docs/schema/slim.schema.json")).expect("the schema");
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    let names = |value: &serde_json::Value| -> Vec<String> {
        let mut names: Vec<String> = value.as_object().expect("an object").keys().cloned().collect();
        names.sort();
        names
    };
    assert_eq!(names(&line), names(&schema["properties"]));
    let together = &schema["properties"]["together"]["anyOf"][1]["properties"];
    assert_eq!(names(&line["together"]), names(together));
    for (list, own) in [
        (&line["together"]["changes"], &together["changes"]),
        (&line["alone"], &schema["properties"]["alone"]),
        (&line["needed"], &schema["properties"]["needed"]),
    ] {
        let kinds = own["items"]["oneOf"].as_array().expect("the kinds");
        for change in list.as_array().expect("a list") {
            let own = kinds.iter().find(|it| it["properties"]["kind"]["const"] == change["kind"]).expect("its kind");
            assert_eq!(names(change), names(&own["properties"]));
        }
    }
    assert_eq!(line["needed"][0]["breaks"]["answer"], "race");
}
