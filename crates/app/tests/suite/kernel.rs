//! `fencepost kernel` on the command line: proofs, findings, doubts, launches, bad input, JSON and SARIF.

use crate::common::schema::{schema, validate};
use crate::common::{Folder, Run, fencepost};
use crate::docs::root;
use crate::launches::told;

fn double() -> String {
    std::fs::read_to_string(root().join("examples/kernel/double.ptx")).expect("the example")
}

fn launch(name: &str) -> String {
    std::fs::read_to_string(root().join("examples/kernel").join(name)).expect("the launch")
}

/// Runs the module with the launch of the example.
fn run(ptx: &str, arguments: &[&str]) -> Run {
    let folder = Folder::new();
    folder.write("k.ptx", ptx);
    folder.write("k.toml", launch("double.toml"));
    folder.write("unfenced.toml", launch("double-unfenced.toml"));
    let all: Vec<&str> = ["kernel", "k.ptx"].iter().chain(arguments).copied().collect();
    fencepost(&folder, &all)
}

/// A kernel of one CTA with the body, and two buffers of 4 KiB.
fn small(body: &str, threads: u32, arguments: &[&str]) -> Run {
    let folder = Folder::new();
    let ptx = format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 .ptr .global .align 16 a, .param .u64 \
         .ptr .global .align 16 b)\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .f32 %f<4>;\n.reg .b64 %rd<9>;\n.shared .align 128 .b8 \
         s[1024];\n.shared .align 8 .b64 m;\nld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nmov.u32 %r1, %tid.x;\nshl.b32 \
         %r2, %r1, 2;\nmov.u32 %r3, s;\nadd.s32 %r4, %r3, %r2;\ncvt.u64.u32 %rd3, %r2;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, \
         %rd2, %rd3;\nsetp.ne.u32 %p1, %r1, 0;\nmov.u32 %r5, m;\n{body}\nret;\n}}\n"
    );
    folder.write("k.ptx", ptx);
    folder.write(
        "k.toml",
        format!(
            "entry = \"k\"\nblock = [{threads}]\n[[buffer]]\nname = \"a\"\nbytes = 4096\n[[buffer]]\nname = \"b\"\nbytes = \
             4096\n[[parameter]]\nbuffer = \"a\"\n[[parameter]]\nbuffer = \"b\"\n"
        ),
    );
    let all: Vec<&str> = ["kernel", "k.ptx", "--launch", "k.toml"].iter().chain(arguments).copied().collect();
    fencepost(&folder, &all)
}

fn says(run: &Run, code: i32, text: &str) {
    assert!(
        run.code == code && run.out.contains(text),
        "expected {code} and {text:?}:\n{}\n{}{}",
        run.code,
        run.out,
        run.err
    );
}

/// The neighbour's number, with what stands between the store and the load.
fn neighbour(between: &str) -> String {
    format!(
        "st.shared.u32 [%r4], %r1;\n{between}\nxor.b32 %r6, %r2, 4;\nadd.s32 %r7, %r3, %r6;\nld.shared.u32 %r8, [%r7];\nst.global.u32 [%rd5], \
         %r8;"
    )
}

#[test]
fn a_launch_of_a_module_with_an_error_is_not_told_that_its_entry_is_missing() {
    let broken = double().replace("%r2, 1024;", "%r2, 1024 1024;");
    let run_of = |ptx: &str, entry: &str| {
        let folder = Folder::new();
        folder.write("k.ptx", ptx);
        folder.write("k.toml", launch("double.toml").replace("\"double\"", &format!("\"{entry}\"")));
        fencepost(&folder, &["kernel", "k.ptx", "--launch", "k.toml"])
    };
    let run = run_of(&broken, "double");
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
    assert!(run.err.contains("k.ptx:") && !run.err.contains("no module has an entry"), "{}", run.err);
    // A wrong name follows from nothing else.
    assert!(run_of(&broken, "triple").err.contains("no module has an entry `triple`"));
    assert!(run_of(&double(), "triple").err.contains("there is no entry `triple`"));
}

#[test]
fn a_kernel_that_is_right_is_proved_and_one_without_its_fence_is_not() {
    says(&run(&double(), &["--launch", "k.toml"]), 0, "proved for this launch");
    let broken = run(&double(), &["--launch", "unfenced.toml"]);
    says(&broken, 1, "they are ordered, but no proxy fence stands between them, at tile + 0 of CTA 0");
    assert!(broken.out.contains("line 92: st.shared.u32 [%r6], %r8;"), "{}", broken.out);
}

#[test]
fn lanes_of_a_warp_are_threads_of_their_own() {
    says(&small(&neighbour(""), 32, &[]), 1, "no synchronisation leads from the one to the other");
    says(&small(&neighbour("bar.warp.sync -1;"), 32, &[]), 0, "proved");
    says(&small(&neighbour("bar.warp.sync 3;"), 2, &[]), 0, "proved");
    // Values are exchanged, and nothing is ordered.
    says(&small(&neighbour("shfl.sync.idx.b32 %r9, %r1, 0, 31, -1;"), 32, &[]), 1, "race");
    says(&small(&neighbour("bar.sync 0;"), 64, &[]), 0, "64 lanes of 2 warps in 1 CTA");
}

#[test]
fn what_waits_for_ever_is_named() {
    let waits = "@%p1 bra DONE;\nmbarrier.init.shared::cta.b64 [%r5], 2;\nmbarrier.arrive.shared::cta.b64 _, [%r5];\nWAIT:\n\
                 mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], 0;\n@!%p2 bra WAIT;\nDONE:";
    let hang = small(waits, 32, &[]);
    says(&hang, 1, "waits for phase 0 of the mbarrier");
    assert!(hang.out.contains("the mbarrier at m + 0 of CTA 0: 1 arrival and 0 bytes are pending"), "{}", hang.out);
    let partial = "setp.lt.u32 %p2, %r1, 32;\n@%p2 bra DONE;\nbar.sync 1, 64;\nDONE:\nbar.sync 0;";
    says(&small(partial, 64, &[]), 1, "waits at barrier 1: 32 of 64 threads are there");
}

#[test]
fn protocols_and_bounds_are_checked() {
    let arrivals =
        "@%p1 bra DONE;\nmbarrier.init.shared::cta.b64 [%r5], 1;\nmbarrier.arrive.shared::cta.b64 _, [%r5], 2;\nDONE:";
    says(&small(arrivals, 32, &[]), 1, "more arrivals than the phase has pending");
    let twice = "mbarrier.init.shared::cta.b64 [%r5], 1;\nmbarrier.init.shared::cta.b64 [%r5], 1;";
    says(&small(twice, 1, &[]), 1, "initialised where one is in use");
    says(&small("mbarrier.arrive.shared::cta.b64 _, [%r5];", 1, &[]), 1, "not that of an initialised mbarrier");
    says(&small("st.global.u32 [%rd4+4096], %r1;", 1, &[]), 1, "4 bytes at a + 4096, which has 4096 bytes");
    says(&small("st.shared.u32 [%r4+8192], %r1;", 1, &[]), 1, "out-of-bounds");
    says(&small("ld.global.u64 %rd6, [%rd4+4];", 1, &[]), 1, "is not a multiple of 8");
    says(&small("trap;", 1, &[]), 1, "a trap is executed");
}

#[test]
fn a_value_that_is_not_determined_proves_nothing() {
    let atomic = "atom.global.add.u32 %r6, [%rd1], 1;\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 st.global.u32 [%rd2], %r1;";
    says(&small(atomic, 64, &[]), 3, "decided by a value that depends on which thread is faster");
    // Nobody looks at what the others added.
    says(&small("red.global.add.u32 [%rd1], 1;", 64, &[]), 0, "proved");
    let clock = "mov.u32 %r6, %clock;\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 st.global.u32 [%rd2], %r1;";
    says(&small(clock, 1, &[]), 3, "decided by a clock");
    let uninitialised = "ld.shared.u32 %r6, [%r4];\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 st.global.u32 [%rd5], %r1;";
    says(&small(uninitialised, 1, &[]), 3, "data that nobody has written and the launch does not give");
    says(&small("vshr.u32.u32.u32.clamp %r6, %r1, %r1;", 1, &[]), 3, "has no model here");
}

#[test]
fn a_branch_over_computation_decides_only_values() {
    let text = "cvt.rn.f32.u32 %f1, %r1;\nex2.approx.f32 %f2, %f1;\nsetp.gt.f32 %p2, %f2, 0f3F800000;\n@%p2 bra SKIP;\nadd.f32 %f2, %f2, %f1;\n\
                SKIP:\nst.global.f32 [%rd5], %f2;";
    says(&small(text, 32, &[]), 0, "proved");
    let text = text.replace("add.f32 %f2, %f2, %f1;", "st.global.f32 [%rd4], %f1;");
    says(&small(&text, 32, &[]), 3, "decided by a value that is not computed here");
}

#[test]
fn the_same_value_twice_is_no_race_and_another_value_is_one() {
    says(&small("mov.u32 %r6, 7;\nst.global.u32 [%rd2], %r6;", 64, &[]), 0, "proved");
    says(&small("st.global.u32 [%rd2], %r1;", 64, &[]), 1, "race");
    // The first value may come last.
    says(&small("@!%p1 st.global.u32 [%rd2], 3;\nst.global.u32 [%rd2], 7;", 64, &[]), 1, "race");
}

#[test]
fn a_phase_that_may_be_overtaken_proves_nothing() {
    // One waiter, and an arriver that does not wait for it.
    let text = "@%p1 bra SECOND;\nmbarrier.init.shared::cta.b64 [%r5], 1;\nSECOND:\nbar.sync 0;\n@!%p1 bra WAIT;\nsetp.ne.u32 %p2, %r1, 32;\n\
                @%p2 bra DONE;\nmbarrier.arrive.shared::cta.b64 _, [%r5];\nmbarrier.arrive.shared::cta.b64 _, [%r5];\nbra DONE;\nWAIT:\n\
                mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r5], 0;\n@!%p3 bra WAIT;\nDONE:";
    let overtaken = small(text, 64, &[]);
    assert_ne!(overtaken.code, 0, "{}", overtaken.out);
    let once = text.replacen("mbarrier.arrive.shared::cta.b64 _, [%r5];\n", "", 1);
    says(&small(&once, 64, &[]), 0, "proved");
}

#[test]
fn templates_and_inventories_need_no_launch() {
    let template = run(&double(), &["--template", "--entry", "double"]);
    says(&template, 0, "entry = \"double\"");
    let folder = Folder::new();
    folder.write("k.ptx", double());
    folder.write("t.toml", &template.out);
    let from_template = fencepost(&folder, &["kernel", "k.ptx", "--launch", "t.toml"]);
    says(&from_template, 0, "proved");
    let inventory = run(&double(), &["--inventory"]);
    says(&inventory, 0, "uses: barriers (2), bulk copies (2), mbarriers (3), proxy fences (2)");
    let listed = run(&double(), &["--inventory", "--json"]);
    let (document, line) = (schema("kernel-inventory"), serde_json::from_str(&listed.out).expect("JSON"));
    validate(&document, &document, &line, "");
    assert_eq!((listed.code, &line["entries"][0]["uses"]["bulk copies"]), (0, &2.into()), "{}", listed.out);
    let mutants = run(&double(), &["--entry", "double_unfenced", "--mutate", "--json"]);
    let (document, line) = (schema("kernel-mutants"), serde_json::from_str(&mutants.out).expect("JSON"));
    validate(&document, &document, &line, "");
    assert_eq!((mutants.code, &line["compared_with"]), (0, &"findings".into()), "{}", mutants.out);
    let mut fates = line["mutants"].as_array().expect("mutants").iter().map(|mutant| mutant["fate"].to_string());
    assert!(fates.any(|fate| fate == "\"noticed\""), "{}", mutants.out);
    let by_flags = run(&double(), &["--entry", "double", "--grid", "4"]);
    says(&by_flags, 0, "in 4 CTAs");
    says(&by_flags, 0, "  guessed: 2 pointers: a buffer of 1048576 zeros each\n");
    let part = run(&double(), &["--entry", "unfenced", "--template"]);
    says(&part, 0, "entry = \"double_unfenced\"");
    let several = run(&double(), &["--template"]);
    assert!(several.code == 2 && several.err.contains("name it with --entry; there are double, double_unfenced"));
    let unclear = run(&double(), &["--entry", "oub"]);
    assert!(unclear.code == 2 && unclear.err.contains("several entries have `oub` in their names"), "{}", unclear.err);
}

#[test]
fn bad_input_is_explained() {
    let bad = |launch: &str, text: &str| {
        let folder = Folder::new();
        folder.write("k.ptx", double());
        folder.write("k.toml", launch);
        let run = fencepost(&folder, &["kernel", "k.ptx", "--launch", "k.toml"]);
        assert!(run.code == 2 && run.err.contains(text), "{text}: {} {}{}", run.code, run.out, run.err);
    };
    let good = launch("double.toml");
    bad(&good.replace("[256, 1, 1]", "[1025]"), "a block has 1025 threads; it may have 1 to 1024");
    bad(&good.replace("[256, 1, 1]", "[128]"), "requires [256, 1, 1] (.reqntid)");
    bad(&good.replace("grid = [2, 1, 1]", "grid = [34]\ncluster = [17]"), "a cluster has 17 CTAs; it may have 1 to 16");
    bad(&good.replace("grid = [2, 1, 1]", "grid = [3]\ncluster = [2]"), "is no multiple of the cluster");
    bad(
        &good.replace("entry = \"double\"", "entry = \"triple\""),
        "there is no entry `triple`; there are double, double_unfenced",
    );
    bad(&good.replace("buffer = \"in\"", "buffer = \"inn\""), "there is no buffer `inn`");
    bad("entry = \"double\"\ngrid = 2 3\n", "k.toml:2: one value to a line");
    bad("entry = \"double\"\n", "parameter 0 (`double_param_0`) has no value");
    bad(&format!("{good}\n[other]\nx = 1\n"), "`other` is not known");
    let folder = Folder::new();
    folder.write("empty.ptx", ".version 8.7\n.target sm_90\n");
    assert_eq!(fencepost(&folder, &["kernel", "empty.ptx"]).code, 2);
    folder.write("wrong.ptx", ".version 8.7\n.target sm_90\n.entry k() { add.s32 %r1, %r2 }\n");
    let wrong = fencepost(&folder, &["kernel", "wrong.ptx"]);
    assert!(wrong.code == 2 && wrong.err.contains("wrong.ptx:3"), "{}", wrong.err);
    assert_eq!(fencepost(&folder, &["kernel", "absent.ptx"]).code, 2);
    folder.write("k.cu", "__global__ void k() {}\n");
    let source = fencepost(&folder, &["kernel", "k.cu"]);
    assert!(source.code == 2 && source.err.contains("nvcc -ptx -lineinfo -arch=sm_90a k.cu"), "{}", source.err);
    let code = "{\nfence.prxy.async;\nst.globl.u32 [%rd1], 1;\nmbarier.init.shared.b64 [%rd1], 1;\nret;\n}\n";
    folder.write("slips.ptx", format!(".version 8.7\n.target sm_90\n.entry k()\n{code}"));
    let slips = fencepost(&folder, &["kernel", "slips.ptx"]);
    for meant in ["`.proxy`", "`.global`", "`mbarrier`"] {
        assert!(slips.code == 2 && slips.err.contains(&format!("did you mean {meant}?")), "{}", slips.err);
    }
    for (name, text) in [("mp.litmus", "`fencepost check mp.litmus`"), ("k.toml", "--launch k.toml")] {
        folder.write(name, good.clone());
        let wrong_kind = fencepost(&folder, &["kernel", name]);
        assert!(wrong_kind.code == 2 && wrong_kind.err.contains(text), "{}", wrong_kind.err);
    }
    let picture = fencepost(&folder, &["kernel", "wrong.ptx", "--picture", "k.png"]);
    assert!(picture.code == 2 && picture.err.contains("pictures are SVG"), "{}", picture.err);
}

#[test]
fn a_missing_barrier_is_put_where_all_threads_pass() {
    // Thread 0 alone reads: a barrier right before that would not be everybody's.
    let apart =
        "st.shared.u32 [%r4], %r1;\n@%p1 bra END;\nld.shared.u32 %r8, [%r4+128];\nst.global.u32 [%rd5], %r8;\nEND:";
    let found = small(apart, 64, &[]);
    says(&found, 1, "missing: `bar.sync 0;` before line 24 (checked)");
    // Two loads of one line of the source race: what orders the first leaves the second.
    let twice = "st.shared.u32 [%r4], %r1;\n.loc 1 7 0\nxor.b32 %r6, %r2, 128;\nadd.s32 %r7, %r3, %r6;\nld.shared.u32 %r8, \
                 [%r7];\nld.shared.u32 %r9, [%r7];\nst.global.u32 [%rd5], %r8;";
    let twice = format!("{twice}\nret;\n}}\n.file 1 \"k.cu\"\n.visible .entry other()\n{{");
    let twice = small(&twice, 64, &[]);
    says(
        &twice,
        1,
        "missing: `bar.sync 0;` before line 27 (checked)\n    in the source: `__syncthreads();` at k.cu:7\n",
    );
}

#[test]
fn a_barrier_is_not_offered_beside_a_wait_that_hangs() {
    // The parity is wrong: the wait passes too early, or for ever waits.
    let wait = |parity: u32| {
        format!(
            "@%p1 bra READY;\nmbarrier.init.shared::cta.b64 [%r5], 64;\nREADY:\nbar.sync 0;\nst.shared.u32 [%r4], %r1;\n\
             mbarrier.arrive.shared::cta.b64 _, [%r5];\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r5], {parity};\n\
             @!%p3 bra WAIT;\nld.shared.u32 %r8, [%r3+200];"
        )
    };
    says(&small(&wait(0), 64, &[]), 0, "proved");
    let found = small(&wait(1), 64, &[]);
    says(&found, 1, "hang: no thread can go on");
    assert!(found.out.contains("race:") && !found.out.contains("missing:"), "{}", found.out);
}

#[test]
fn findings_with_one_cause_are_told_once() {
    let beside = small(
        "st.global.u32 [%rd1+4096], %r1;\nst.global.u32 [%rd1+8192], %r1;\nld.global.u32 %r6, [%rd1+4100];",
        1,
        &[],
    );
    says(&beside, 1, "1 finding\nout-of-bounds: 4 bytes at a + 4096, which has 4096 bytes\n");
    assert_eq!(beside.out.matches("  line ").count(), 3, "{}", beside.out);
    let doubts = "mov.u32 %r6, %clock;\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 st.global.u32 [%rd5], %r1;\n@%p2 st.global.u32 [%rd4], %r1;";
    let doubted = small(doubts, 1, &[]);
    says(&doubted, 3, "this is decided by a clock");
    assert_eq!(doubted.out.matches("this is decided by a clock").count(), 1, "{}", doubted.out);
}

#[test]
fn an_endless_loop_is_a_hang_or_ends_at_the_limit() {
    says(&small("LOOP:\nbra LOOP;", 32, &[]), 1, "in a loop that never ends: nothing that it reads changes any more");
    let endless = small("LOOP:\nadd.s32 %r6, %r6, 1;\nbra LOOP;", 32, &["--steps", "100000"]);
    says(&endless, 3, "the limit of instructions was reached");
    let timed = small("LOOP:\nadd.s32 %r6, %r6, 1;\nbra LOOP;", 32, &["--time-limit", "200ms"]);
    says(&timed, 3, "the time was over");
}

#[test]
fn json_and_sarif_are_as_their_schemas_say() {
    let folder = Folder::new();
    folder.write("k.ptx", double());
    folder.write("a.toml", launch("double.toml"));
    folder.write("b.toml", launch("double-unfenced.toml"));
    let arguments = ["kernel", "k.ptx", "--launch", "a.toml", "--launch", "b.toml", "--json", "--sarif", "out.sarif"];
    let run = fencepost(&folder, &arguments);
    assert_eq!(run.code, 1, "{}", run.err);
    let document = schema("kernel");
    let lines: Vec<serde_json::Value> = run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        validate(&document, &document, line, "");
    }
    assert_eq!((&lines[0]["answer"], &lines[1]["answer"]), (&"proved".into(), &"found".into()));
    assert_eq!(lines[1]["findings"][0]["places"][1]["line"], 95);
    let sarif: serde_json::Value = serde_json::from_str(&folder.read("out.sarif")).expect("JSON");
    assert_eq!(sarif["version"], "2.1.0");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], sarif["runs"][0]["tool"]["driver"]["rules"][0]["id"]);
    assert_eq!(result["level"], "error");
    assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "k.ptx");
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 95);
}

#[test]
fn each_synchronisation_says_what_it_is_needed_for() {
    let mutants = run(&double(), &["--launch", "k.toml", "--mutate"]);
    says(&mutants, 0, "line 45: fence.proxy.async.shared::cta;: left out\n    1 racing pair\n");
    says(&mutants, 0, "line 33: bar.sync 0;: left out\n    1 racing pair\n");
    says(&mutants, 0, "line 35: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 1024;: left out\n    a hang\n");
    let cut = run(&double(), &["--launch", "k.toml", "--mutate", "--time-limit", "0ms"]);
    says(&cut, 0, "0 of 0 noticed, 0 no longer determined, 0 not needed for this launch\nit was stopped");
    let broken = run(&double(), &["--launch", "unfenced.toml", "--mutate"]);
    says(&broken, 0, "the kernel itself has 1 finding: only what is new is told");
    // What a kernel needs that is not proved is not known.
    let unproved = "mov.u32 %r6, %clock;\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 st.global.u32 [%rd5], %r1;\nbar.sync 0;";
    let unproved = small(unproved, 64, &["--mutate"]);
    says(&unproved, 0, "0 of 1 noticed, 0 no longer determined, 0 not needed for this launch, 1 not decided");
    // A wait for a flag is looked at as `check` does: its acquire is needed.
    let flag = "@%p1 bra READ;\nst.shared.u32 [%r3], 7;\nst.release.cta.shared.u32 [%r3+4], 1;\nbra END;\nREAD:\n\
                setp.ne.u32 %p2, %r1, 32;\n@%p2 bra END;\nWAIT:\nld.acquire.cta.shared.u32 %r6, [%r3+4];\n\
                setp.eq.u32 %p3, %r6, 0;\n@%p3 bra WAIT;\nld.shared.u32 %r7, [%r3];\nst.global.u32 [%rd5], %r7;\nEND:";
    let flag = format!("@!%p1 st.shared.u32 [%r3+4], 0;\nbar.sync 0;\n{flag}");
    says(&small(&flag, 64, &["--mutate"]), 0, "ld.acquire.cta.shared.u32 %r6, [%r3+4];: relaxed\n    1 racing pair");
}

#[test]
fn kernels_after_public_reports_have_the_answers_that_the_rules_give() {
    let folder = root().join("corpus/kernels");
    let table = std::fs::read_to_string(folder.join("expected.tsv")).expect("the table");
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in table.lines().skip(1) {
        let [name, file, answer, kinds, _] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        count += 1;
        let own = folder.join(name);
        let (ptx, launch) = (own.join(file), own.join(format!("{name}.toml")));
        let told = told(&ptx, &launch).into_iter().next().unwrap_or_default();
        let right = told["answer"] == answer;
        let found = told["findings"].as_array().into_iter().flatten().map(|finding| finding["kind"].clone());
        let has_kind = kinds == "-" || found.clone().any(|kind| kinds.split(',').any(|own| own.trim() == kind));
        if !right || !has_kind {
            wrong.push(format!("{file}: {answer} ({kinds}), got {} {:?}", told["answer"], found.collect::<Vec<_>>()));
        }
    }
    assert!(count >= 80, "only {count} kernels");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_slices_of_a_lock_are_written_and_checked() {
    let folder = root().join("corpus/kernels/spin-lock");
    let (ptx, launch) = (folder.join("spin-lock-fixed.ptx"), folder.join("spin-lock.toml"));
    let here = Folder::new();
    let slices = here.path().join("slices");
    let (ptx, launch) = (ptx.to_string_lossy().into_owned(), launch.to_string_lossy().into_owned());
    let run = fencepost(&here, &["kernel", &ptx, "--launch", &launch, "--slices", &slices.to_string_lossy()]);
    assert!(run.out.contains("decided by enumerate: no race, every execution ends"), "{}", run.out);
    let written = slices.join("accumulate-lock-1.litmus");
    let checked = fencepost(&here, &["check", &written.to_string_lossy(), "--model", "ptx"]);
    assert!(checked.out.contains("no data race; every fair execution ends"), "{}", checked.out);
}

#[test]
fn what_a_vote_at_a_barrier_gives_depends_on_the_votes() {
    let text = |vote: &str| {
        format!("{vote}\nsetp.eq.u32 %p2, %r6, 0;\nbar.red.or.pred %p3, 0, %p2;\n@%p3 st.global.u32 [%rd5], %r1;")
    };
    says(&small(&text("mov.u32 %r6, %r1;"), 64, &[]), 0, "proved");
    says(&small(&text("mov.u32 %r6, %clock;"), 64, &[]), 3, "decided by a clock");
}

#[test]
fn a_misspelt_modifier_is_not_taken_for_another() {
    let slip = small("bar.snyc 0;", 64, &[]);
    assert!(slip.code == 2 && slip.err.contains("did you mean `.sync`?"), "{}{}", slip.out, slip.err);
    // A word of another instruction may be one that this instruction has in a later ISA.
    says(&small(&neighbour("bar.pack 0;"), 64, &[]), 1, "race");
    says(&small("bar.pack 0;", 64, &[]), 3, "`.pack` is no modifier");
}

#[test]
fn what_is_inlined_is_told_with_the_innermost_line_of_the_own_file() {
    // Lines 5 and 6 of a function that line 12 calls; the store's address comes from a header that line 5 includes.
    let body = ".loc 2 90 1, function_name $L1, inlined_at 1 5 3\n.loc 1 5 3, function_name $L0, inlined_at 1 12 1\nst.shared.u32 [%r4], \
                %r1;\n.loc 2 91 1, function_name $L1, inlined_at 1 6 3\n.loc 1 6 3, function_name $L0, inlined_at 1 12 1\n.loc 2 91 \
                1, function_name $L1, inlined_at 1 6 3\nld.shared.u32 %r8, [%r3];\nst.global.u32 [%rd5], %r8;\nret;\n}\n.file 1 \
                \"k.cu\"\n.file 2 \"library.h\"\n.visible .entry other()\n{";
    let found = small(body, 64, &["--entry", "k"]);
    says(&found, 1, "(k.cu:5, called in line 12): st.shared.u32 [%r4], %r1;");
    says(&found, 1, "(k.cu:6, called in line 12): ld.shared.u32 %r8, [%r3];");
}

#[test]
fn two_accesses_that_race_either_way_are_told_once() {
    let found = small(&neighbour("").replace("%r2, 4", "%r2, 128"), 64, &[]);
    says(&found, 1, "1 finding\n");
    says(&found, 1, "  and 1 more pair of instructions from the same lines\n  missing: `bar.sync 0;`");
}

#[test]
fn shared_memory_ends_where_its_variables_do_and_is_aligned_as_they_say() {
    // `s` and `m` are 1,032 bytes.
    says(
        &small("st.shared.u32 [%r3+1032], %r1;", 1, &[]),
        1,
        "out-of-bounds: 4 bytes at shared memory + 1032, which has 1032 bytes",
    );
    // Dynamic shared memory comes right behind an mbarrier of 8 bytes: at a multiple of 16, and no more.
    let bulk = |align: u32| {
        format!(
            ".version 8.7\n.target sm_90a\n.address_size 64\n.extern .shared .align {align} .b8 dyn[];\n.visible .entry k(.param .align 64 \
             .b8 map[128])\n{{\n.shared .align 8 .b64 m;\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\nmov.u32 %r1, dyn;\nmov.u32 \
             %r2, m;\nmov.u32 %r3, 0;\nmov.b64 %rd1, map;\ncvta.param.u64 %rd1, %rd1;\nmbarrier.init.shared::cta.b64 [%r2], 1;\n\
             fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 1024;\n\
             cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {{%r3, %r3}}], [%r2];\nWAIT:\n\
             mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;\n@!%p1 bra WAIT;\nret;\n}}\n"
        )
    };
    let launch = "entry = \"k\"\nblock = [1]\nshared = 1024\n[[buffer]]\nname = \"g\"\nbytes = 8192\n[[parameter]]\nbuffer = \"g\"\n\
                  map = { element = \"f16\", dims = [64, 64], box = [64, 8], swizzle = 128 }\n";
    for (align, code, text) in
        [(16, 1, "the shared address is 0x410; it must be a multiple of 128"), (128, 0, "proved")]
    {
        let folder = Folder::new();
        folder.write("k.ptx", bulk(align));
        folder.write("k.toml", launch);
        says(&fencepost(&folder, &["kernel", "k.ptx", "--launch", "k.toml"]), code, text);
    }
}

/// 16 pixels of 64 channels in each of a box whose corners are those of a filter of 3 x 3.
#[test]
fn a_launch_has_maps_for_im2col() {
    let module = |bytes: u32| {
        format!(
            ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .align 64 .b8 map[128])\n{{\n\
             .shared .align 128 .b8 s[2048];\n.shared .align 8 .b64 m;\n.reg .pred %p<3>;\n.reg .b16 %h<3>;\n.reg .b32 %r<9>;\n\
             .reg .b64 %rd<3>;\nmov.u32 %r1, s;\nmov.u32 %r2, m;\nmov.u32 %r3, 0;\nmov.u16 %h1, 2;\nmov.b64 %rd1, map;\n\
             cvta.param.u64 %rd1, %rd1;\nmbarrier.init.shared::cta.b64 [%r2], 1;\nfence.mbarrier_init.release.cluster;\n\
             fence.proxy.async.shared::cta;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {bytes};\n\
             cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], \
             [%rd1, {{%r3, %r3, %r3, %r3}}], [%r2], {{%h1, %h1}};\nWAIT:\n\
             mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;\n@!%p1 bra WAIT;\nret;\n}}\n"
        )
    };
    let answer = |bytes: u32, map: &str| {
        let folder = Folder::new();
        folder.write("k.ptx", module(bytes));
        let launch = format!(
            "entry = \"k\"\nblock = [1]\n[[buffer]]\nname = \"g\"\nbytes = 16384\n[[parameter]]\nbuffer = \"g\"\n\
             map = {{ element = \"f16\", dims = [64, 8, 8, 2], {map} }}\n"
        );
        folder.write("k.toml", launch);
        fencepost(&folder, &["kernel", "k.ptx", "--launch", "k.toml"])
    };
    let corners = "im2col = { lower = [-1, -1], upper = [-1, -1], channels = 64, pixels = 16 }";
    says(&answer(2048, &format!("{corners}, swizzle = 128, swizzle_atom = 32")), 0, "proved");
    says(&answer(1024, corners), 1, "bytes");
    says(&answer(2048, "box = [64, 16, 1, 1]"), 1, "im2col");
    let wrong = [
        (format!("{corners}, box = [64, 1, 1, 1]"), "a map for im2col has no `box`"),
        (corners.replace("[-1, -1]", "[-1]"), "the `lower` corner of `im2col` has 1 numbers; it has 2 here"),
        (corners.replace("pixels", "pixel"), "`pixel` is not known; `im2col` has lower, upper, channels, pixels"),
        (format!("{corners}, swizzle_atom = 8"), "`swizzle_atom` is 16, 32, \"32-flip-8\" or 64"),
        (format!("{corners}, interleave = 8"), "the interleave is 8; it may be 0, 16 or 32"),
    ];
    for (map, message) in wrong {
        let run = answer(2048, &map);
        assert!(run.code == 2 && run.err.contains(message), "{message}: {}", run.err);
    }
}

#[test]
fn where_one_run_decides_nothing_a_missing_line_is_checked_in_several() {
    let polls = "setp.lt.u32 %p2, %r1, 32;\n@%p2 bra POLL;\natom.global.add.u32 %r10, [%rd1], 1;\nbra DONE;\nPOLL:\natom.global.add.u32 \
                 %r10, [%rd1], 0;\nsetp.eq.u32 %p3, %r10, 0;\n@%p3 bra POLL;\nDONE:\n";
    let body = format!("{polls}{}", neighbour("").replace("%r2, 4", "%r2, 128"));
    let found = small(&body, 64, &[]);
    says(&found, 1, "(checked in 4 schedules)\n");
    let json = small(&body, 64, &["--json"]);
    let told: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    validate(&schema("kernel"), &schema("kernel"), &told, "");
    assert_eq!(told["findings"][0]["missing"]["schedules"], 4);
}
