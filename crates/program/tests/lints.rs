//! What looks wrong without any exploration.

mod common;

use common::{program, ptx};

/// The lints of a text: where, and what about.
fn lints(text: &str) -> Vec<(String, String)> {
    let at = |span: fencepost_syntax::Span| text[span.start as usize..span.end as usize].to_string();
    program(text).lints.into_iter().map(|lint| (at(lint.span), lint.message)).collect()
}

fn only(text: &str, place: &str, words: &str) {
    let found = lints(text);
    assert_eq!(found.len(), 1, "{found:?}\n{text}");
    assert_eq!(found[0].0, place);
    assert!(found[0].1.contains(words), "{}", found[0].1);
}

fn none(text: &str) {
    assert_eq!(lints(text), [], "{text}");
}

#[test]
fn a_relaxed_wait_wants_a_fence() {
    let wait = "mbarrier.try_wait.parity.relaxed.cta.shared.b64 %p1, [b], 0;";
    let declarations = ".shared .b64 b;";
    only(&ptx(declarations, &[wait]), wait.trim_end_matches(';'), "no acquire fence follows");
    only(&ptx(declarations, &["fence.acquire.cta;", wait]), wait.trim_end_matches(';'), "no acquire fence follows");
    only(&ptx(declarations, &[wait, "fence.release.cta;"]), wait.trim_end_matches(';'), "no acquire fence follows");
    for fence in ["fence.acquire.cta;", "fence.acq_rel.gpu;", "fence.sc.cta;"] {
        none(&ptx(declarations, &[wait, fence]));
    }
    none(&ptx(declarations, &["mbarrier.try_wait.parity.shared.b64 %p1, [b], 0;"]));
}

#[test]
fn barriers() {
    let cta = |first: &str, second: &str| {
        format!(
            "PTX t\n{{ x = 0; }}\nP0@cta 0, gpu 0 {{\nmov.u32 %r0, 0;\n{first}\n}}\nP1@cta 0, gpu 0 {{\n{second}\n}}\n"
        )
    };
    only(&cta("bar.sync 0, 2;", "bar.sync 0, 3;"), "bar.sync 0, 3", "counts of 2 and 3 threads");
    none(&cta("bar.sync 0, 2;", "bar.sync 0, 2;"));
    only(&cta("barrier.cluster.wait;", ""), "barrier.cluster.wait", "without an arrive");
    none(&cta("barrier.cluster.arrive; barrier.cluster.wait;", ""));
}

#[test]
fn a_dependent_kernel_waits() {
    let test = |second: &str| {
        format!(
            "PTX t\n{{ x = 0; .launch 0 => 1; }}\nP0@cta 0, gpu 0, kernel 0 {{\nst.u32 [x], 1;\n\
             griddepcontrol.launch_dependents;\n}}\nP1@cta 1, gpu 0, kernel 1 {{\n{second}\nld.u32 %r1, [x];\n}}\n"
        )
    };
    only(&test(""), "griddepcontrol.launch_dependents", "kernel 1 may start here");
    none(&test("griddepcontrol.wait;"));
}
