//! `fencepost fix` on the command line: the repair, its proof, diffs, files that are written, exit codes.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{Folder, Run, fencepost, fencepost_with_input};
use crate::docs::root;

const MP: &str = "PTX MP // message passing\n{ x = 0; y = 0; }\nP0@cta 0, gpu 0 {\n  st.relaxed.gpu.u32 [x], 1;   // \
                  data\n  st.relaxed.gpu.u32 [y], 1;\n}\nP1@cta 1, gpu 0 {\n  ld.relaxed.gpu.u32 %r0, [y];\n  \
                  ld.relaxed.gpu.u32 %r1, [x];\n}\nexists (P1:%r0 = 1 /\\ P1:%r1 = 0)\n";

/// Copies and arrivals of two threads whose executions are too many for the enumeration alone.
const UNCONFIRMED: &str = r"PTX t
{ .version 8.7; .target sm_90a; .shared .b64 m; .shared .b32 x; .shared .b32 y; }
P0@cta 0, cluster 0 {
  mbarrier.init.shared::cta.b64 [m], 1;
  bar.sync 0;
  fence.acquire.cta;
  mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, [m], 8;
  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [m], 8;
  L0: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [m], 0;
  @!%p1 bra L0;
  ld.weak.shared::cta.u32 %r1, [x];
  st.weak.shared::cta.u32 [y], 1;
  mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, [m], 8;
  mbarrier.complete_tx.shared::cta.b64 [m], 8;
  L1: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [m], 1;
  @!%p1 bra L1;
  ld.weak.shared::cta.u32 %r2, [y];
}
P1@cta 0, cluster 0 {
  bar.sync 0;
  st.weak.shared::cta.u32 [x], 1;
  fence.acq_rel.cta;
  mbarrier.complete_tx.relaxed.cluster.shared::cta.b64 [m], 8;
  fence.acq_rel.cluster;
  mbarrier.expect_tx.shared::cta.b64 [m], 8;
  mbarrier.expect_tx.shared::cta.b64 [m], 8;
  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [m], 8;
}
forall (true)
";

fn fixed(text: &str, arguments: &[&str]) -> Run {
    let folder = Folder::new();
    folder.write("t.litmus", text);
    let all: Vec<&str> = ["fix", "t.litmus"].iter().chain(arguments).copied().collect();
    fencepost(&folder, &all)
}

/// The threads of the recovery program are not those of the test.
#[test]
fn a_test_with_a_recovery_program_is_written() {
    let text = std::fs::read_to_string(root().join("examples/log.litmus")).expect("readable");
    let diff = fixed(&text, &["--diff"]);
    assert_eq!(diff.code, 0, "{}{}", diff.out, diff.err);
    assert!(diff.out.contains("+  st.global.u32 [valid], 1;\n   st.global.u32 [value], 7;"), "{}", diff.out);
}

/// A row without its semicolon has no place for another one.
#[test]
fn what_cannot_be_written_is_not_called_repaired() {
    let text = "PTX t\n{ .shared .u32 s = 0; .shared .mbarrier m = 1; }\nP0@cta 0 {\n\
                mbarrier.arrive.shared::cta.b64 _, [m]   // early\nst.shared.u32 [s], 1\n}\nP1@cta 0 {\n\
                ld.shared.u32 %r, [s]\n}\nforall (P1:%r = 1)\n";
    for (arguments, code) in [(&[][..], 0), (&["--write"][..], 3)] {
        let run = fixed(text, arguments);
        assert!(run.code == code && run.out.contains("has no place for the changes"), "{}{}", run.out, run.err);
    }
    let piped = fencepost_with_input(&Folder::new(), &["fix", "-", "--write"], MP.as_bytes());
    assert_eq!(piped.code, 2, "{}{}", piped.out, piped.err);
}

#[test]
fn without_a_condition_the_output_says_what_was_looked_for() {
    let text = MP.replace("relaxed.gpu", "weak");
    let (rest, _) = text.split_once("exists").expect("a condition");
    let run = fixed(rest, &["--keep-lines", "99"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("  no condition says what it is to do (of an `exists`"), "{}", run.out);
    assert!(run.err.contains("`t.litmus` has no line 99; it has 10 lines"), "{}", run.err);
    let folder = Folder::new();
    folder.write("t.litmus", rest);
    let check = fencepost(&folder, &["check", "t.litmus"]);
    assert!(
        check.code == 0 && check.out.contains("no condition is asked, so the verdict says nothing"),
        "{}",
        check.out
    );
}

#[test]
fn the_cheapest_repair_of_message_passing_is_a_release_and_an_acquire() {
    let run = fixed(MP, &[]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    for line in [
        "under ptx-7.5: repaired, cheapest (cost 10)",
        "exists (P1:%r0=1 /\\ P1:%r1=0) is to be impossible, as under sc",
        "P0 line 5: `st.relaxed.gpu.u32 [y], 1` becomes `st.release.gpu.u32 [y], 1` (cost 5)",
        "P1 line 8: `ld.relaxed.gpu.u32 %r0, [y]` becomes `ld.acquire.gpu.u32 %r0, [y]` (cost 5)",
        "nothing cheaper among",
        "confirmed by the other engine",
    ] {
        assert!(run.out.contains(line), "{line}: {}", run.out);
    }
}

#[test]
fn a_repair_is_confirmed_with_two_more_rounds_than_it_was_found_with() {
    let path = root().join("corpus/loops/Retry-deepened.litmus");
    let text = std::fs::read_to_string(path).expect("the test");
    // Each of three threads may fail twice, so the answer is known with three rounds and not with two.
    let broken = text.replacen("atom.relaxed.gpu", "atom.relaxed.cta", 1);
    let told = fixed(&broken, &[]);
    assert!(told.out.contains("confirmed by two more rounds of its loops"), "{}{}", told.out, told.err);
    let run = fixed(&broken, &["--json"]);
    let report: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(report["repair"]["unrolled"], 5, "{}", run.out);
    assert_eq!(report["repair"]["more_rounds"], serde_json::Value::Null, "{}", run.out);
}

#[test]
fn nothing_is_said_of_more_rounds_where_there_is_no_loop() {
    let told = fixed(MP, &[]);
    assert!(told.out.contains("repaired") && !told.out.contains("rounds"), "{}", told.out);
    let run = fixed(MP, &["--json"]);
    let report: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(report["repair"]["unrolled"], serde_json::Value::Null, "{}", run.out);
}

#[test]
fn a_repair_is_written_into_the_file_and_leaves_the_rest() {
    let folder = Folder::new();
    folder.write("t.litmus", MP);
    let run = fencepost(&folder, &["fix", "t.litmus", "--write"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let written = std::fs::read_to_string(folder.path().join("t.litmus")).expect("the file");
    let wanted = MP.replace("st.relaxed.gpu.u32 [y]", "st.release.gpu.u32 [y]");
    assert_eq!(written, wanted.replace("ld.relaxed.gpu.u32 %r0", "ld.acquire.gpu.u32 %r0"));
    let again = fencepost(&folder, &["fix", "t.litmus", "--write"]);
    assert!(again.out.contains("nothing is wrong with it") && again.code == 0, "{}", again.out);
}

#[test]
fn a_repair_that_is_not_confirmed_is_not_written() {
    let folder = Folder::new();
    folder.write("t.litmus", UNCONFIRMED);
    let run = fencepost(&folder, &["fix", "t.litmus"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("repaired") && run.out.contains("not confirmed by the other engine"), "{}", run.out);
    let run = fencepost(&folder, &["fix", "t.litmus", "--write"]);
    assert_eq!(run.code, 3, "{}{}", run.out, run.err);
    assert!(run.err.contains("`t.litmus` is not written: the repair is not confirmed"), "{}", run.err);
    assert_eq!(std::fs::read_to_string(folder.path().join("t.litmus")).expect("the file"), UNCONFIRMED);
    let run = fencepost(&folder, &["fix", "t.litmus", "--diff"]);
    assert!(run.code == 0 && run.out.starts_with("--- t.litmus"), "{}{}", run.out, run.err);
}

/// Store buffering with these fences, each between a thread's store and its load.
fn store_buffering(first: &str, second: &str) -> String {
    let thread = |number: u32, own: &str, fence: &str, other: &str| {
        format!(
            "P{number}@cta {number}, gpu 0 {{\n  st.relaxed.gpu.u32 [{own}], 1;\n  {fence};\n  ld.relaxed.gpu.u32 %r0, \
             [{other}];\n}}\n"
        )
    };
    let (one, two) = (thread(0, "x", first, "y"), thread(1, "y", second, "x"));
    format!("PTX t\n{{ x = 0; y = 0; }}\n{one}{two}~exists (P0:%r0 = 0 /\\ P1:%r0 = 0)\n")
}

#[test]
fn the_scope_of_a_fence_stands_behind_its_semantics() {
    let run = fixed(&store_buffering("fence.sc.cta", "fence.sc.gpu"), &["--diff"]);
    assert!(run.out.contains("\n-  fence.sc.cta;\n+  fence.sc.gpu;\n"), "{}{}", run.out, run.err);
    let run = fixed(&store_buffering("fence.sc.cta", "fence.sc.gpu"), &[]);
    assert!(run.out.contains("P0 line 5: `fence.sc.cta` becomes `fence.sc.gpu` (cost 24)"), "{}", run.out);
}

#[test]
fn an_access_that_becomes_strong_has_no_cache_operator_any_more() {
    let weak = MP
        .replace("st.relaxed.gpu.u32 [y]", "st.global.wt.u32 [y]")
        .replace("ld.relaxed.gpu.u32 %r0", "ld.global.cg.u32 %r0");
    let run = fixed(&weak, &["--diff", "--forbid", "--model", "ptx"]);
    for line in ["+  st.release.gpu.global.u32 [y], 1;\n", "+  ld.acquire.gpu.global.u32 %r0, [y];\n"] {
        assert!(run.out.contains(line), "{line}: {}{}", run.out, run.err);
    }
}

#[test]
fn a_membar_is_widened_as_the_fence_that_it_is() {
    let run = fixed(&store_buffering("membar.cta", "fence.sc.gpu"), &[]);
    assert!(run.out.contains("repaired, cheapest (cost 24)"), "{}{}", run.out, run.err);
    assert!(run.out.contains("P0 line 5: `membar.cta` becomes `membar.gl` (cost 24)"), "{}", run.out);
    let run = fixed(&store_buffering("membar.cta", "fence.sc.cta"), &["--diff"]);
    assert!(run.out.contains("-  membar.cta;\n+  membar.gl;\n"), "{}{}", run.out, run.err);
    assert!(run.out.contains("-  fence.sc.cta;\n+  fence.sc.gpu;\n"), "{}{}", run.out, run.err);
}

/// A load from the memory of another CTA of the cluster, which may have exited.
const EXITED: &str = "PTX t\n{ .shared .u32 x = 9; }\nP0@cta 0, cluster 0 {\n  mov.u32 %a, x;\n  mapa.shared::cluster.u32 \
                      %b, %a, 1;\n  ld.shared::cluster.u32 %r0, [%b];\n}\nP1@cta 1, cluster 0 {\n  ld.shared.u32 %r1, \
                      [x];\n}\nforall (true)\n";

#[test]
fn memory_of_a_cta_that_may_have_exited_is_wrong_too() {
    let folder = Folder::new();
    folder.write("t.litmus", EXITED);
    let before = fencepost(&folder, &["check", "t.litmus"]);
    assert!(before.out.contains("exit-before-access"), "{}{}", before.out, before.err);
    let run = fencepost(&folder, &["fix", "t.litmus", "--write"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("repaired, cheapest") && run.out.contains("barrier.cluster.arrive"), "{}", run.out);
    let after = fencepost(&folder, &["check", "t.litmus"]);
    assert!(!after.out.contains("exit-before-access"), "{}{}", after.out, after.err);
    let again = fencepost(&folder, &["fix", "t.litmus"]);
    assert!(again.out.contains("nothing is wrong with it"), "{}", again.out);
}

/// The same where no change keeps the CTA there: one thread arrives at the barrier and never waits for it.
const EXITS: &str = "PTX t\n{ .shared .u32 x = 9; f = 0; g = 0; }\nP0@cta 0, cluster 0 {\n  barrier.cluster.arrive;\n  \
                     barrier.cluster.wait;\n  mov.u32 %a, x;\n  mapa.shared::cluster.u32 %b, %a, 1;\n  \
                     ld.shared::cluster.u32 %r0, [%b];\n  st.relaxed.gpu.u32 [f], 1;\n  st.relaxed.gpu.u32 [g], \
                     1;\n}\nP1@cta 1, cluster 0 {\n  barrier.cluster.arrive;\n  ld.relaxed.gpu.u32 %r1, [g];\n  \
                     setp.eq.u32 %p, %r1, 0;\n  @%p ret;\n  ld.relaxed.gpu.u32 %r2, [f];\n}\n";

#[test]
fn what_stays_undefined_is_named() {
    let run = fixed(&format!("{EXITS}forall (P0:%r0 = 9)\n"), &[]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    let left = "  left: exit-before-access of lines 8 and 16, which is undefined\n";
    assert!(run.out.contains("no repair\n") && run.out.contains(left), "{}", run.out);
    let wrong = format!("{EXITS}~exists (P1:%r1 = 1 /\\ P1:%r2 = 0)\n");
    let run = fixed(&wrong, &[]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("repaired in part, cheapest") && run.out.contains(left), "{}", run.out);
    let run = fixed(&wrong, &["--json"]);
    let report: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    let left = serde_json::json!([{ "finding": "exit-before-access", "first": 8, "second": 16 }]);
    assert_eq!(report["left"], left, "{}", run.out);
    // Where nothing returns early, a cluster barrier at the end keeps the CTA there, behind a wait for the one before.
    let kept = EXITS.replace("  @%p ret;\n", "");
    let run = fixed(&format!("{kept}forall (P0:%r0 = 9)\n"), &[]);
    assert!(run.code == 0 && run.out.contains("P1 after line 16: insert `barrier.cluster.wait`"), "{}", run.out);
}

#[test]
fn a_diff_is_one_that_patch_reads() {
    let run = fixed(MP, &["--diff"]);
    assert!(run.out.starts_with("--- t.litmus\n+++ t.litmus\n@@ -2,10 +2,10 @@\n"), "{}", run.out);
    assert!(run.out.contains("\n-  st.relaxed.gpu.u32 [y], 1;\n+  st.release.gpu.u32 [y], 1;\n"), "{}", run.out);
}

#[test]
fn lines_that_are_kept_and_costs_of_ones_own_change_the_repair() {
    let run = fixed(MP, &["--keep-lines", "5"]);
    assert!(run.out.contains("P0 after line 4: insert `fence.acq_rel.gpu` (cost 20)"), "{}", run.out);
    let folder = Folder::new();
    folder.write("t.litmus", MP);
    folder.write("costs.tsv", "fence.acq_rel\tgpu\t1\tcheap here\n");
    let run = fencepost(&folder, &["fix", "t.litmus", "--costs", "costs.tsv"]);
    assert!(run.out.contains("repaired, cheapest (cost 2)"), "{}", run.out);
    folder.write("costs.tsv", "fence.acq_rel\tgpu\tcheap\n");
    let run = fencepost(&folder, &["fix", "t.litmus", "--costs", "costs.tsv"]);
    assert!(run.code == 2 && run.err.contains("line 1: the cost is no whole number"), "{}{}", run.out, run.err);
}

#[test]
fn something_may_be_put_in_beside_a_line_that_is_kept_but_not_between_two() {
    let run = fixed(MP, &["--keep-lines", "8"]);
    assert!(run.out.contains("P1 after line 8: insert `fence.acq_rel.gpu` (cost 20)"), "{}", run.out);
    let run = fixed(MP, &["--keep-lines", "8-9,5"]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("no repair"), "{}", run.out);
}

#[test]
fn what_would_repair_a_test_that_must_end_otherwise_is_said() {
    let take = "L:\n  atom.acquire.gpu.cas.b32 %o, [lock], 0, 1;\n  setp.ne.u32 %p, %o, 0;\n  @%p bra L;\n  \
                ld.weak.u32 %v, [n];\n  add.u32 %v, %v, 1;\n  st.weak.u32 [n], %v;\n";
    let head = "PTX kept\n{ .global .u32 lock = 0; .global .u32 n = 0; }\nP0@cta 0, gpu 0 {\n";
    let give = "  st.release.gpu.u32 [lock], 0;\n}\n";
    let text = format!("{head}{take}}}\nP1@cta 1, gpu 0 {{\n{take}{give}forall (n = 2)\n");
    let run = fixed(&text, &[]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    let said = "could not end as it can now:\n    P0 after line 10: insert `st.release.gpu.u32 [lock], 0`";
    assert!(run.out.contains("no repair") && run.out.contains(said), "{}", run.out);
    let json: serde_json::Value = serde_json::from_str(&fixed(&text, &["--json"]).out).expect("JSON");
    assert_eq!(json["refused"]["changes"][0]["kind"], "inserted");
    // What must not be is what the change takes away.
    let run = fixed(&text.replace("forall (n = 2)", "forall (n = 2 /\\ lock = 0)"), &[]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
}

#[test]
fn what_no_change_repairs_is_said_and_nothing_is_written() {
    // What the question forbids is what the program does one after the other.
    let wrong = MP.replace("exists (P1:%r0 = 1 /\\ P1:%r1 = 0)", "~exists (P1:%r0 = 1 /\\ P1:%r1 = 1)");
    let folder = Folder::new();
    folder.write("t.litmus", &wrong);
    let run = fencepost(&folder, &["fix", "t.litmus", "--write"]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("no repair"), "{}", run.out);
    let shown = "P1  9  `ld.relaxed.gpu.u32 %r1, [x]` reads x = 1, from P0's write in line 4";
    assert!(run.out.contains(shown), "the bad execution is shown: {}", run.out);
    assert_eq!(std::fs::read_to_string(folder.path().join("t.litmus")).expect("the file"), wrong);
    let kept = fixed(MP, &["--keep"]);
    assert!(kept.out.contains("nothing is wrong with it") && kept.out.contains("as asked for"), "{}", kept.out);
    let c = "C t\n{ x = 0; }\nP0 (atomic_int* x) { atomic_store(x, 1); }\nforall (x = 1)\n";
    let run = fixed(c, &[]);
    assert!(run.code == 2 && run.err.contains("written in C"), "{}{}", run.out, run.err);
}

#[test]
fn repairs_of_equal_cost_are_told_beside_the_one_further_up() {
    let text = MP.replace("  st.relaxed.gpu.u32 [y], 1;", "  st.relaxed.gpu.u32 [z], 1;\n  st.relaxed.gpu.u32 [y], 1;");
    let folder = Folder::new();
    folder.write("t.litmus", text.replace("y = 0;", "y = 0; z = 0;"));
    folder.write("costs.tsv", "fence.acq_rel\tgpu\t1\tcheap here\n");
    let run = fencepost(&folder, &["fix", "t.litmus", "--costs", "costs.tsv"]);
    assert!(run.out.contains("repaired, cheapest (cost 2)"), "{}{}", run.out, run.err);
    assert!(run.out.contains("P0 after line 4: insert `fence.acq_rel.gpu` (cost 1)"), "{}", run.out);
    let other =
        "or, as cheap: P0 after line 5: insert `fence.acq_rel.gpu`; P1 after line 9: insert `fence.acq_rel.gpu`";
    assert!(run.out.contains(other), "{}", run.out);
    let run = fencepost(&folder, &["fix", "t.litmus", "--costs", "costs.tsv", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(report["repair"]["alternatives"].as_array().map(Vec::len), Some(1), "{}", run.out);
}

#[test]
fn store_buffering_of_x86_needs_two_fences() {
    let text = "X86 SB\n{ x=0; y=0; }\n P0          | P1          ;\n MOV [x],$1  | MOV [y],$1  ;\n MOV EAX,[y] | MOV EAX,[x] \
                ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n";
    let run = fixed(text, &[]);
    assert!(run.out.contains("under x86-tso: repaired, cheapest (cost 60)"), "{}{}", run.out, run.err);
    assert_eq!(run.out.matches("insert `mfence`").count(), 2, "{}", run.out);
}

/// A ring of two stages and six rounds whose producer announces no bytes.
fn ring_without_announcement() -> String {
    let stage = "mul.lo.u32 %bo, %st, 8; mov.u32 %fa, full; add.u32 %fa, %fa, %bo; mov.u32 %ea, empty; add.u32 %ea, %ea, \
                 %bo;\n mul.lo.u32 %so, %st, 16; mov.u32 %sa, s; add.u32 %sa, %sa, %so;";
    let next = "add.u32 %st, %st, 1; setp.ne.u32 %p2, %st, 2; @%p2 bra N;\n mov.u32 %st, 0; xor.b32 %ph, %ph, 1;\nN: \
                add.u32 %k, %k, 1; setp.lt.u32 %p3, %k, 6; @%p3 bra L;";
    let values: Vec<String> = (10..16).flat_map(|value| vec![value.to_string(); 4]).collect();
    let outcome: Vec<String> = (0..6).map(|at| format!("out[{at}] = {}", 10 + at)).collect();
    format!(
        "PTX ring\n{{ .global .b32 g[6][4] = {{{}}}; .shared .b32 s[2][4] = 0; .shared .mbarrier full[2] = 1; .shared .mbarrier \
         empty[2] = 1; .global .u32 out[6] = 0; }}\nP0@cta 0, gpu 0 {{\n mov.u32 %k, 0; mov.u32 %st, 0; mov.u32 %ph, 1;\nL: \
         {stage}\n mul.wide.u32 %go, %k, 16; mov.u64 %ga, g; add.u64 %ga, %ga, %go;\nW: \
         mbarrier.try_wait.parity.shared::cta.b64 %p1, [%ea], %ph;\n @!%p1 bra W;\n mbarrier.arrive.shared::cta.b64 _, \
         [%fa];\n cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%sa], [%ga], 16, [%fa];\n {next}\n}}\nP1@cta 0, \
         gpu 0 {{\n mov.u32 %k, 0; mov.u32 %st, 0; mov.u32 %ph, 0;\nL: {stage}\nW: \
         mbarrier.try_wait.parity.shared::cta.b64 %p1, [%fa], %ph;\n @!%p1 bra W;\n ld.shared.u32 %r, [%sa];\n mul.wide.u32 \
         %oo, %k, 4; mov.u64 %oa, out; add.u64 %oa, %oa, %oo;\n st.global.u32 [%oa], %r;\n fence.proxy.async.shared::cta;\n \
         mbarrier.arrive.shared::cta.b64 _, [%ea];\n {next}\n}}\nforall ({})\n",
        values.join(", "),
        outcome.join(" /\\ ")
    )
}

#[test]
fn a_repair_that_is_not_proved_the_cheapest_is_the_best_found() {
    let run = fixed(&ring_without_announcement(), &[]);
    assert!(run.out.contains("under ptx: repaired, best found (cost 1)"), "{}{}", run.out, run.err);
    assert!(
        run.out.contains("becomes `mbarrier.arrive.expect_tx.shared::cta.b64 _, [%fa], 16` (cost 1)"),
        "{}",
        run.out
    );
    assert!(run.out.contains("were not decided"), "{}", run.out);
}

/// The limit that ends the proof is one of work: how busy the machine is changes nothing, neither the word nor the counts.
#[test]
fn a_busy_machine_has_the_same_answer() {
    let path = root().join("corpus/algorithms/13-locks/chase-lev-two-acq-rel.litmus");
    let fixed = || fencepost(&Folder::new(), &["fix", path.to_str().expect("UTF-8")]).out;
    let alone = fixed();
    assert!(alone.contains("repaired, best found"), "{alone}");
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let busy = fixed();
        is_done.store(true, Ordering::Relaxed);
        assert_eq!(busy, alone);
    });
}

#[test]
fn a_time_limit_ends_the_search_too() {
    let path = root().join("corpus/algorithms/13-locks/chase-lev-two-acq-rel.litmus");
    let run = fencepost(&Folder::new(), &["fix", path.to_str().expect("UTF-8"), "--time-limit", "1ms"]);
    assert!(run.code == 3 && run.out.contains("undecided: the time limit was reached"), "{}{}", run.out, run.err);
}

#[test]
fn barriers_parities_counts_and_places_are_repaired() {
    for (test, sentence) in [
        ("h7-init-without-barrier", "P0 after line 6, P1 before line 12: insert `bar.sync 0`"),
        ("h5-too-many-arrivals", "the declaration of b: the mbarrier waits for 1 arrival more"),
        ("j3-load-before-wait", "P1 line 11: move `griddepcontrol.wait` before line 10"),
        ("h7-two-threads-init", "remove `mbarrier.init.shared::cta.b64 [b], 1`"),
        ("i8-no-wgmma-fence", "insert `wgmma.fence.sync.aligned`"),
    ] {
        let path = root().join(format!("corpus/wild/{test}.litmus"));
        let run = fencepost(&Folder::new(), &["fix", path.to_str().expect("UTF-8")]);
        assert!(run.out.contains("repaired, cheapest") && run.out.contains(sentence), "{test}: {}{}", run.out, run.err);
    }
}

#[test]
fn json_is_as_the_schema_says() {
    let run = fixed(MP, &["--json"]);
    let line: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    let schema = std::fs::read_to_string(root().join("docs/schema/fix.schema.json")).expect("the schema");
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    let names = |value: &serde_json::Value| -> Vec<String> {
        let mut names: Vec<String> = value.as_object().expect("an object").keys().cloned().collect();
        names.sort();
        names
    };
    assert_eq!(names(&line), names(&schema["properties"]));
    let repair = &schema["properties"]["repair"]["anyOf"][1]["properties"];
    assert_eq!(names(&line["repair"]), names(repair));
    let kinds = repair["changes"]["items"]["oneOf"].as_array().expect("the kinds");
    for change in line["repair"]["changes"].as_array().expect("the changes") {
        let own = kinds.iter().find(|kind| kind["properties"]["kind"]["const"] == change["kind"]).expect("its kind");
        assert_eq!(names(change), names(&own["properties"]));
    }
    assert_eq!(line["wants"][0]["because"], "sequential-consistency");
}
