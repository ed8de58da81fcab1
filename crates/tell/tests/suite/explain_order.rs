//! The order in which an execution is told. What the model orders is told in that order, whatever a proxy hides; an issue,
//! a barrier or an arrival stays where it stands; a kernel starts after the one that lets it; loops have iterations.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use super::check;
use fencepost_check::model::readings::Settings;
use fencepost_check::{Checked, LoadedModel, Models, Options, Test, load};
use fencepost_syntax::Source;
use fencepost_tell::explain;
use fencepost_tell::render::{self, Format};

fn test(text: &str) -> Test {
    let (mut tests, diagnostics) = load(&Source::new("test.litmus", text));
    assert!(tests.len() == 1, "{diagnostics:?}");
    tests.remove(0)
}

fn corpus(file: &str) -> Test {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    test(&std::fs::read_to_string(root.join("corpus").join(file)).unwrap())
}

fn checked(test: &Test) -> (LoadedModel, Checked) {
    let model = Models::shipped("ptx").unwrap();
    let checked = check(test, &model, &Options::default());
    (model, checked)
}

fn told(test: &Test) -> String {
    let (model, checked) = checked(test);
    explain::explain(test, &model, &checked)
}

fn picture(test: &Test) -> String {
    let (model, checked) = checked(test);
    render::picture(test, &model, &checked, Format::Svg).unwrap()
}

/// Each stands behind the one before it.
fn in_order(story: &str, parts: &[&str]) {
    let mut rest = story;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("`{part}` is missing or too early in:\n{story}"));
        rest = &rest[at + part.len()..];
    }
}

const NO_FENCE: &str = "PTX q\n{ .shared .b64 s[2]; .global .b64 out[2]; }\nP0@cta 0, gpu 0 {\n st.shared.u64 [s], 1;\n \
    cp.async.bulk.global.shared::cta.bulk_group [out], [s], 16;\n cp.async.bulk.commit_group;\n \
    cp.async.bulk.wait_group 0;\n}\nforall (out[0] = 1)\n";

#[test]
fn a_write_that_a_proxy_hides_is_told_before_the_read_that_misses_it() {
    let story = told(&test(NO_FENCE));
    assert!(!story.contains("out of program order"), "{story}");
    in_order(
        &story,
        &[
            "`st.shared.u64 [s], 1` writes s[0] = 1\n",
            "starts the bulk copy\n",
            "the bulk copy reads s = 0 (2 elements)",
            "- it need not see s[0] = 1 of P0's `st.shared.u64 [s], 1` (line 4, generic proxy): no `fence.proxy.async` lies \
             between (8.9.5, 9.7.15.4)\n",
        ],
    );
}

#[test]
fn a_fence_of_another_thread_or_about_other_memory_is_named() {
    let story = told(&corpus("wild/w04-b4-fence-after-barrier.litmus"));
    assert!(!story.contains("out of program order"), "{story}");
    in_order(&story, &["writes s[1] = 2", "`bar.sync 0`\n", "`bar.sync 0`\n", "starts the bulk copy"]);
    assert!(story.contains("no `fence.proxy.async` of P1 lies between: the `fence.proxy.async"), "{story}");
    let narrow = told(&corpus("wild/a5-narrow-fence.litmus"));
    assert!(narrow.contains("between them is not about this memory (8.9.5, 9.7.15.4)"), "{narrow}");
    let map = told(&corpus("async/tensormap/map-life-no-acquire.litmus"));
    assert!(map.contains("no `fence.proxy.tensormap::generic.acquire` lies between"), "{map}");
    let map = told(&corpus("async/tensormap/map-life-no-release.litmus"));
    assert!(map.contains("no `fence.proxy.tensormap::generic.release` lies between"), "{map}");
}

#[test]
fn a_copy_that_overtakes_a_read_is_told_behind_it() {
    let story = told(&corpus("wild/b1-read-then-refill.litmus"));
    assert!(!story.contains("out of program order"), "{story}");
    in_order(
        &story,
        &[
            "`ld.shared.u64 %r1, [s]` reads s[0] = 2",
            "- it returns a write that is told later, of P0's bulk copy of line 8 (async proxy): no `fence.proxy.async` lies \
             between (8.9.5, 9.7.15.4)\n",
            "starts the bulk copy",
        ],
    );
}

/// Only plain accesses are told out of program order; what else there is happens where it stands.
#[test]
fn no_issue_barrier_or_arrival_is_told_out_of_program_order() {
    for file in [
        "algorithms/06-multicast/multicast-cta-scope.litmus",
        "algorithms/02-tma-store/tma-store-no-fence.litmus",
        "async/fences/async-halves-no-acquire.litmus",
        "launch/read-of-dependent-before-trigger.litmus",
        "tcgen05/4-threads-ld-no-after.litmus",
    ] {
        let story = told(&corpus(file));
        assert!(story.contains("This execution is allowed"), "{file}: {story}");
        assert!(!story.contains("out of program order"), "{file}: {story}");
    }
    let weak = told(&corpus("algorithms/12-look-back/look-back-flag-relaxed-load.litmus"));
    assert!(weak.contains("- out of program order: ahead of `ld.relaxed.gpu.global.u32 %r9, [status]`"), "{weak}");
}

#[test]
fn a_kernel_that_starts_later_is_told_later() {
    let story = told(&test(
        "PTX q\n{ x = 0; .stream a: 0 => 1; }\nP0@cta 0, gpu 0, kernel 0 { st.u32 [x], 1; }\n\
         P1@cta 1, gpu 0, kernel 1 { ld.u32 %r1, [x]; }\nforall (P1:%r1 = 1)\n",
    ));
    assert!(!story.contains("is an interleaving"), "{story}");
    in_order(
        &story,
        &[
            "writes x = 1\n",
            "exits, which lets the next kernel start\n",
            "reads x = 0, the initial value\n",
            "(line 3): P1's kernel starts when P0's has exited, which orders no memory: only a wait for it does (9.7.15.14)\n",
        ],
    );
}

#[test]
fn a_wait_that_waits_for_nothing_is_told_before_the_launch() {
    let story = told(&corpus("launch/host-sync-of-other-launch.litmus"));
    in_order(
        &story,
        &["waits for nothing: the kernel is not launched yet\n", "reads x = 0", "starts the kernel\n", "writes x = 1"],
    );
}

fn waiting(bytes: u32, count: u32) -> Test {
    test(&format!(
        "PTX q\n{{ .global .b64 g[2] = 5; .shared .b64 s[2]; .shared .mbarrier full = {count}; }}\nP0@cta 0, gpu 0 {{\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], {bytes};\n\
         cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [full];\n}}\n\
         P1@cta 0, gpu 0 {{\nW: mbarrier.try_wait.parity.shared::cta.b64 %p1, [full], 0;\n@!%p1 bra W;\n\
         ld.shared.u64 %r1, [s];\n}}\nforall (P1:%r1 = 5)\n"
    ))
}

#[test]
fn where_no_execution_ends_the_bytes_or_arrivals_that_are_missing_are_named() {
    let none = "is impossible: no execution ends, so there is no final state.\n";
    let story = told(&waiting(32, 1));
    assert!(story.contains(none) && !story.contains("thin air"), "{story}");
    assert!(story.contains("spins for ever: phase 0 of full is never over: 16 bytes are missing\n"), "{story}");
    let story = told(&waiting(16, 2));
    assert!(story.contains(none), "{story}");
    assert!(story.contains("phase 0 of full is never over: 1 of 2 arrivals is missing\n"), "{story}");
    let story = told(&waiting(8, 1));
    assert!(!story.contains("thin air"), "{story}");
}

#[test]
fn the_phase_before_the_first_is_called_so() {
    let story = told(&test(
        "PTX q\n{ .shared .mbarrier empty = 1; .shared .u32 s = 0; }\nP0@cta 0, gpu 0 {\n\
         W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [empty], 1;\n@!%p1 bra W;\nst.shared.u32 [s], 1;\n}\n\
         exists (s = 1)\n",
    ));
    assert!(story.contains("is true: empty is in phase 0, the phase before the first is over\n"), "{story}");
    assert!(!story.contains("4294967295"), "{story}");
}

/// Two iterations of a producer, with a wait in each that may fail.
const LOOP: &str = "PTX q\n{ .global .b64 g[2] = 5; .shared .b64 s[2]; .shared .mbarrier full = 1; }\nP0@cta 0, gpu 0 {\n\
    mov.u32 %i, 0;\nL:  mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16;\n\
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [full];\n\
    W:  mbarrier.try_wait.parity.shared::cta.b64 %p1, [full], %i;\n@!%p1 bra W;\nld.shared.u64 %r1, [s];\n\
    add.u32 %i, %i, 1;\nsetp.lt.u32 %p2, %i, 2;\n@%p2 bra L;\n}\nexists (P0:%r1 = 5)\n";

#[test]
fn iterations_are_told_and_copies_of_one_line_told_apart() {
    let story = told(&test(LOOP));
    in_order(
        &story,
        &[
            "iteration 1 of the loop, lines 5–9:\n",
            "the bulk copy of iteration 1 reads g",
            "iteration 2 of the loop, lines 5–9:\n",
            "the bulk copy of iteration 2 reads g",
        ],
    );
    assert!(!story.contains("iteration 3"), "{story}");
}

#[test]
fn pictures_number_iterations_by_the_loop_and_not_by_the_instruction() {
    let svg = picture(&test(LOOP));
    for iteration in [1, 2] {
        for instruction in ["ld.shared.u64 %r1, [s]", "[s], [g], 16, [full]"] {
            assert!(svg.contains(&format!("{instruction} (iteration {iteration})<")), "{svg}");
        }
    }
    assert!(!svg.contains("iteration 3"), "a failed wait is no iteration: {svg}");
}

#[test]
fn pictures_have_the_numbers_of_lines_and_name_elements_one_by_one() {
    let svg = picture(&test(NO_FENCE));
    for line in [4, 5, 7] {
        assert!(svg.contains(&format!("fill=\"#80868b\">{line}</text>")), "{svg}");
    }
    assert!(svg.contains(">init s[0], s[1] = 0<") && !svg.contains("[0..2]"), "{svg}");
    assert!(svg.contains("st.shared.u64 [s], 1 (line 4, generic proxy)"), "{svg}");
}

#[test]
fn a_cluster_of_several_ctas_is_a_frame() {
    let svg = picture(&test(
        "PTX q\n{ .shared .u32 s; }\nP0@cta 0, cluster 0, gpu 0 {\n mapa.shared::cluster.u32 %r1, s, 1;\n \
         st.shared::cluster.u32 [%r1], 42;\n}\nP1@cta 1, cluster 0, gpu 0 {\n ld.shared.u32 %r2, [s];\n}\n\
         forall (P1:%r2=42)\n",
    ));
    assert_eq!(svg.matches(">cluster 0<").count(), 1, "{svg}");
    let apart = picture(&test(
        "PTX q\n{ x = 0; }\nP0@cta 0, gpu 0 {\n st.u32 [x], 1;\n}\nP1@cta 1, gpu 0 {\n ld.u32 %r2, [x];\n}\n\
         exists (P1:%r2=0)\n",
    ));
    assert!(!apart.contains(">cluster"), "{apart}");
}

#[test]
fn a_caption_is_a_sentence_of_its_own() {
    let svg = picture(&test(
        "PTX q\n{ x = 0; y = 0; }\nP0@cta 0, gpu 0 {\n st.relaxed.gpu.u32 [x], 1;\n st.release.gpu.u32 [y], 1;\n}\n\
         P1@cta 1, gpu 0 {\n ld.acquire.gpu.u32 %r1, [y];\n ld.relaxed.gpu.u32 %r2, [x];\n}\n\
         exists (P1:%r1=1 /\\ P1:%r2=0)\n",
    ));
    assert!(svg.contains("`ld.relaxed.gpu.u32 %r2, [x]` may not return 0: it must see"), "{svg}");
    assert!(!svg.contains(">so "), "{svg}");
}

#[test]
fn stories_and_pictures_say_under_which_reading_they_are_told() {
    let test = corpus("wild/w04-b4-fence-after-barrier.litmus");
    let story = told(&test);
    assert!(story.starts_with("This execution is allowed under ptx, async-fence=both. "), "{story}");
    let (own, found) = checked(&test);
    let parts = explain::explain_parts(&test, &own, &found);
    let summaries: Vec<&str> = parts.iter().map(|part| part.explanation.summary.as_str()).collect();
    assert!(summaries.iter().any(|it| it.ends_with("has a data race under ptx, async-fence=both:")), "{summaries:?}");
    assert!(picture(&test).contains("under ptx, async-fence=both<"));
    let model = Models::shipped("ptx").unwrap();
    let readings = Settings::default().with("async-fence", "on-path");
    let checked = check(&test, &model, &Options { readings, ..Options::default() });
    let story = explain::explain(&test, &model, &checked);
    assert!(story.contains("is forbidden under ptx, async-fence=on-path."), "{story}");
    assert!(told(&self::test(NO_FENCE)).starts_with("This execution is allowed. "), "nothing depends on a reading");
}
