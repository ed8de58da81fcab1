//! What looks wrong without any exploration.

use crate::common;

use common::{program, ptx};
use fencepost_program::program::lint::LintKind;
use fencepost_program::program::{Space, Version};
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_program::unfolding::HazardKind;

/// The lints of a text: where, and what about.
fn lints(text: &str) -> Vec<(String, LintKind)> {
    let at = |span: fencepost_syntax::Span| text[span.start as usize..span.end as usize].to_string();
    program(text).lints.into_iter().map(|lint| (at(lint.span), lint.what)).collect()
}

fn only(text: &str, place: &str, what: LintKind) {
    assert_eq!(lints(text), [(place.to_string(), what)], "{text}");
}

fn none(text: &str) {
    assert_eq!(lints(text), [], "{text}");
}

#[test]
fn a_relaxed_wait_wants_a_fence() {
    let wait = "mbarrier.try_wait.parity.relaxed.cta.shared.b64 %p1, [b], 0;";
    let declarations = ".shared .b64 b; .shared .u32 x;";
    let (read, place) = ("ld.shared.u32 %r1, [x];", wait.trim_end_matches(';'));
    only(&ptx(declarations, &[wait, read]), place, LintKind::RelaxedWait);
    only(&ptx(declarations, &["fence.acquire.cta;", wait, read]), place, LintKind::RelaxedWait);
    only(&ptx(declarations, &[wait, "fence.release.cta;", read]), place, LintKind::RelaxedWait);
    for fence in ["fence.acquire.cta;", "fence.acq_rel.gpu;", "fence.sc.cta;"] {
        none(&ptx(declarations, &[wait, fence, read]));
    }
    // Nothing is accessed, or only through the fences of tcgen05.
    none(&ptx(declarations, &[wait]));
    none(&ptx(declarations, &[wait, "tcgen05.fence::after_thread_sync;", "mbarrier.arrive.shared.b64 _, [b];"]));
    none(&ptx(declarations, &["mbarrier.try_wait.parity.shared.b64 %p1, [b], 0;", read]));
}

#[test]
fn barriers() {
    let cta = |first: &str, second: &str| {
        format!(
            "PTX t\n{{ x = 0; }}\nP0@cta 0, gpu 0 {{\nmov.u32 %r0, 0;\n{first}\n}}\nP1@cta 0, gpu 0 {{\n{second}\n}}\n"
        )
    };
    let differ = LintKind::BarriersDiffer { what: "barrier 0 of one CTA with counts of 2 and 3 threads".to_string() };
    only(&cta("bar.sync 0, 2;", "bar.sync 0, 3;"), "bar.sync 0, 3", differ);
    none(&cta("bar.sync 0, 2;", "bar.sync 0, 2;"));
}

#[test]
fn a_dependent_kernel_waits() {
    let test = |second: &str| {
        format!(
            "PTX t\n{{ x = 0; .launch 0 => 1; }}\nP0@cta 0, gpu 0, kernel 0 {{\nst.u32 [x], 1;\n\
             griddepcontrol.launch_dependents;\n}}\nP1@cta 1, gpu 0, kernel 1 {{\n{second}\nld.u32 %r1, [x];\n}}\n"
        )
    };
    only(&test(""), "griddepcontrol.launch_dependents", LintKind::Unawaited { kernel: 1 });
    none(&test("griddepcontrol.wait;"));
}

/// P0 in CTA 0 arrives on the mbarrier of CTA 1, where P1 waits.
fn across(arrive: &str, wait: &str) -> String {
    format!(
        "PTX t\n{{ .shared .mbarrier b = 1; }}\nP0@cta 0, cluster 0, gpu 0 {{\nmbarrier.arrive.{arrive}.b64 _, [b@1];\n}}\n\
         P1@cta 1, cluster 0, gpu 0 {{\nmbarrier.try_wait.parity.{wait}.b64 %p1, [b], 0;\n}}\n"
    )
}

#[test]
fn scopes_between_ctas() {
    none(&across("release.cluster.shared::cluster", "acquire.cluster.shared"));
    let arrive = across("shared::cluster", "acquire.cluster.shared");
    only(&arrive, "mbarrier.arrive.shared::cluster.b64 _, [b@1]", LintKind::RemoteArriveScope);
    let wait = across("release.cluster.shared::cluster", "shared");
    only(&wait, "mbarrier.try_wait.parity.shared.b64 %p1, [b], 0", LintKind::RemoteWaitScope);
    none(&ptx(".shared .mbarrier b = 1;", &["mbarrier.arrive.shared::cluster.b64 _, [b];"]));
}

#[test]
fn fences_about_nothing() {
    let shared = ptx(".global .u32 x;", &["ld.u32 %r1, [x];", "fence.proxy.async.shared::cta;"]);
    only(&shared, "fence.proxy.async.shared::cta", LintKind::FenceOfNothing { space: Space::Shared });
    let global = ptx(".shared .u32 x;", &["ld.u32 %r1, [x];", "fence.proxy.async.global;"]);
    only(&global, "fence.proxy.async.global", LintKind::FenceOfNothing { space: Space::Global });
    none(&ptx(".global .u32 x;", &["ld.u32 %r1, [x];", "fence.proxy.async.global;", "fence.proxy.async;"]));
    let map = "fence.proxy.tensormap::generic.acquire.gpu [x], 128;";
    only(&ptx(".shared .u32 x;", &[map]), map.trim_end_matches(';'), LintKind::MapNotGlobal);
}

#[test]
fn forms_newer_than_the_version() {
    let text = |version: &str| {
        ptx(&format!(".version {version}; .shared .b64 b;"), &["mbarrier.arrive.relaxed.cta.shared.b64 _, [b];"])
    };
    let [since, stated] = [6, 5].map(|minor| Version { major: 8, minor });
    let newer = LintKind::Newer { form: "`mbarrier.arrive.relaxed.cta.shared.b64`".to_string(), since, stated };
    only(&text("8.5"), "mbarrier.arrive.relaxed.cta.shared.b64 _, [b]", newer);
    none(&text("8.6"));
}

/// Names and places.
fn named(text: &str) -> Vec<(&'static str, String)> {
    let at = |span: fencepost_syntax::Span| text[span.start as usize..span.end as usize].to_string();
    program(text).lints.into_iter().map(|lint| (lint.what.name(), at(lint.span))).collect()
}

fn names(declarations: &str, code: &[&str]) -> Vec<&'static str> {
    named(&ptx(declarations, code)).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn waits_for_groups_that_are_not_there() {
    let memory = ".global .b64 g[2]; .shared .b64 s[2];";
    let store = "cp.async.bulk.global.shared::cta.bulk_group [g], [s], 16;";
    let (commit, wait) = ("cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;");
    assert_eq!(names(memory, &[store, commit, wait]), [""; 0]);
    assert_eq!(names(memory, &[wait]), ["wait-of-nothing"]);
    assert_eq!(names(memory, &[store, wait]), ["missing-commit"]);
    assert_eq!(names(memory, &[store, commit, store, wait]), ["missing-commit"]);
    assert_eq!(names(memory, &[store, commit, "cp.async.bulk.wait_group 1;"]), ["wait-of-nothing"]);
    assert_eq!(names(memory, &[store, commit, store, commit, "cp.async.bulk.wait_group 1;"]), [""; 0]);
    // A loop may have been there before.
    let round = ["L: cp.async.bulk.wait_group 1;", store, commit, "@%p1 bra L;"];
    assert_eq!(names(".global .b64 g[2]; .shared .b64 s[2]; P0:%p1 = 0;", &round), [""; 0]);
    let small = ["cp.async.ca.shared.global [s], [g], 8;", "cp.async.wait_all;"];
    assert_eq!(names(memory, &small), [""; 0]);
    let text = ptx(memory, &["wgmma.wait_group.sync.aligned 0;"]);
    assert_eq!(named(&text), [("wait-of-nothing", "wgmma.wait_group.sync.aligned 0".to_string())]);
}

#[test]
fn a_read_wait_publishes_nothing() {
    let memory = ".global .b64 g[2]; .global .u32 flag; .shared .b64 s[2];";
    let store = "cp.async.bulk.global.shared::cta.bulk_group [g], [s], 16;";
    let commit = "cp.async.bulk.commit_group;";
    let (read, whole) = ("cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group 0;");
    let release = "st.release.gpu.u32 [flag], 1;";
    assert_eq!(names(memory, &[store, commit, read, release]), ["read-wait-publishes"]);
    assert_eq!(names(memory, &[store, commit, read, whole, release]), [""; 0]);
    assert_eq!(names(memory, &[store, commit, read, "st.release.cta.u32 [flag], 1;"]), [""; 0]);
}

#[test]
fn addresses_of_bulk_copies_are_aligned() {
    let memory = ".global .b64 g[4]; .shared .b64 s[4]; .shared .mbarrier b = 1;";
    let copy = |to: &str, from: &str| {
        format!("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [{to}], [{from}], 16, [b];")
    };
    assert_eq!(names(memory, &[&copy("s", "g+16")]), [""; 0]);
    assert_eq!(names(memory, &[&copy("s+8", "g")]), ["misaligned"]);
    assert_eq!(names(memory, &[&copy("s", "g+8")]), ["misaligned"]);
    let memory = ".global .b64 g[32]; .global .tensormap m = g; .shared .b64 s[32]; .shared .mbarrier b = 1;";
    let tensor = |to: &str| {
        format!("cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [{to}], [m, {{0}}], [b];")
    };
    assert_eq!(names(memory, &[&tensor("s+128")]), [""; 0]);
    assert_eq!(names(memory, &[&tensor("s+16")]), ["misaligned"]);
}

/// A register holds the address: the unfolding finds what the text does not show.
#[test]
fn a_computed_address_of_a_copy_is_aligned_too() {
    let memory = ".global .b32 g[64]; .global .tensormap m = g; .shared .b32 s[128]; .shared .mbarrier b = 1;";
    let bulk = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%a], [g], 16, [b];";
    let tensor = "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%a], [m, {0}], [b];";
    let small = "cp.async.ca.shared.global [%a], [g], 8;";
    for (copy, offset, wanted) in [
        (bulk, 16, None),
        (bulk, 8, Some(16)),
        (tensor, 128, None),
        (tensor, 16, Some(128)),
        (small, 8, None),
        (small, 4, Some(8)),
    ] {
        let text = ptx(memory, &[&format!("mov.u64 %a, s; add.u64 %a, %a, {offset}; {copy}")]);
        let unfolding = unfold(&program(&text), &UnfoldOptions::default()).expect("an unfolding");
        let found = unfolding.hazards.iter().find_map(|hazard| match hazard.kind {
            HazardKind::Misaligned { wanted, .. } => Some(wanted),
            _ => None,
        });
        assert_eq!(found, wanted, "{copy} at {offset}");
    }
}

#[test]
fn every_form_has_its_version() {
    let memory =
        |version: &str| format!(".version {version}; .global .b64 g[2]; .shared .b64 s[2]; .shared .mbarrier b = 1;");
    let code = [
        "fence.acquire.gpu;",
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [b];",
        "ld.relaxed.cluster.global.u64 %r1, [g];",
    ];
    assert_eq!(names(&memory("8.6"), &code), [""; 0]);
    assert_eq!(names(&memory("8.0"), &code), ["newer-version"; 2]);
    assert_eq!(names(&memory("7.5"), &code), ["newer-version"; 3]);
}

/// A feature of one architecture is no floor: newer ones need not have it.
#[test]
fn targets_have_what_is_used() {
    let target = |name: &str| format!(".target {name}; .global .b64 g[2]; .shared .b64 s[2]; .shared .mbarrier b = 1;");
    let copy = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [b];";
    let [form, needed, target_80] =
        ["`cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes`", "`sm_90` or newer", "sm_80"]
            .map(str::to_string);
    let lacks = LintKind::TargetLacks { form, needed, target: target_80 };
    only(&ptx(&target("sm_80"), &[copy]), copy.trim_end_matches(';'), lacks);
    assert_eq!(names(&target("sm_90"), &[copy]), [""; 0]);
    assert_eq!(names(&target("sm_120"), &[copy]), [""; 0]);
    let fences = ["fence.acq_rel.gpu;", "fence.acquire.gpu;", "ld.relaxed.cluster.global.u64 %r1, [g];"];
    assert_eq!(names(&target("sm_60, debug"), &fences), ["missing-target"; 3]);
    assert_eq!(names(&target("sm_80"), &fences), ["missing-target"; 2]);
    assert_eq!(names(&target("sm_90"), &fences), [""; 0]);
    let arrive = "mbarrier.arrive.shared.b64 %rd1, [b];";
    assert_eq!(names(&target("sm_75"), &[arrive]), ["missing-target"]);
    assert_eq!(names(&target("sm_80"), &[arrive]), [""; 0]);
    let product = "wgmma.fence.sync.aligned;";
    for (name, count) in [("sm_90", 1), ("sm_90a", 0), ("sm_100a", 1)] {
        assert_eq!(names(&target(name), &[product]), vec!["missing-target"; count], "{name}");
    }
    let tensor = "tcgen05.fence::before_thread_sync;";
    for (name, count) in [("sm_90a", 1), ("sm_100", 1), ("sm_100a", 0), ("sm_103f", 0), ("sm_110a", 0), ("sm_120a", 1)]
    {
        assert_eq!(names(&target(name), &[tensor]), vec!["missing-target"; count], "{name}");
    }
}

/// Only what the text shows of the lanes of one warp counts.
#[test]
fn aligned_instructions_are_for_whole_warps() {
    let (elect, barrier) = ("elect.sync _|%p1, 0xffffffff;", "bar.sync 0;");
    let divergent: &[&[&str]] = &[
        &[elect, "@%p1 bar.sync 0;"],
        &[elect, "@!%p1 barrier.cluster.arrive.aligned;", "barrier.cluster.wait;"],
        &[elect, "@!%p1 bra L;", barrier, "L: mov.u32 %r2, 0;"],
        &[elect, "@%p1 bra L;", "bra M;", "L: bar.sync 0;", "M: mov.u32 %r2, 0;"],
        &[elect, "mov.pred %p2, %p1;", "and.pred %p3, %p2, %p4;", "@%p3 bar.sync 0;"],
        &["mov.u32 %r1, %laneid;", "setp.lt.u32 %p1, %r1, 16;", "@%p1 bar.sync 0;"],
        &[elect, "@%p1 wgmma.fence.sync.aligned;"],
        &[elect, "@!%p1 ret;", "bra L;", "L: mov.u32 %r2, 0;", "@%p1 bar.sync 0;"],
    ];
    for code in divergent {
        assert_eq!(names("P0:%p4 = 1;", code), ["divergent-aligned"], "{code:?}");
    }
    let together: &[&[&str]] = &[
        &[elect, "@!%p1 bra L;", "mov.u32 %r2, 1;", "L: bar.sync 0;"],
        &[elect, "@%p1 barrier.sync 0;"],
        &["elect.sync _|%p1, 1;", "@%p1 bar.sync 0;"],
        &[elect, "and.pred %p3, %p1, %p4;", "@!%p3 bar.sync 0;"],
        &[elect, "setp.eq.u32 %p1, 0, 0;", "@%p1 bar.sync 0;"],
        &["mov.u32 %r1, %tid.x;", "setp.eq.u32 %p1, %r1, 0;", "@%p1 bar.sync 0;"],
        &["mov.u32 %r1, %laneid;", "setp.lt.u32 %p1, %r1, 32;", "@%p1 bar.sync 0;"],
        &["mov.u32 %r1, %laneid;", "setp.eq.or.u32 %p1, %r1, 0, %p4;", "@%p1 bar.sync 0;"],
        // The other lanes come here too, another way.
        &[elect, "@%p1 bra L;", "mov.u32 %r2, 1;", "bra L;", "L: bar.sync 0;"],
    ];
    for code in together {
        assert_eq!(names("P0:%p4 = 1;", code), [""; 0], "{code:?}");
    }
}

/// The table of the documentation names tests that are there and that expect the finding.
#[test]
fn every_mistake_of_the_documentation_has_a_test() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/findings.md")).expect("readable");
    let (_, section) = text.split_once("## What the text alone shows").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("another follows");
    let quoted = |cell: &str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let mut rows = 0;
    for row in section.lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [_, findings, _, tests] = cells.as_slice() else { panic!("{row}") };
        let expected: Vec<String> = quoted(tests)
            .iter()
            .map(|test| {
                let file = root.join("corpus").join(format!("{test}.expect"));
                std::fs::read_to_string(&file).unwrap_or_else(|_| panic!("no {}", file.display()))
            })
            .collect();
        for finding in quoted(findings).iter().filter(|name| name.contains('-')) {
            let is_expected = |line: &String| {
                line.contains(finding.as_str())
                    || finding == "data-race" && (line.contains("racy") || line.contains("races"))
            };
            let is_reading = finding == "async-fence";
            assert!(is_reading || expected.iter().any(is_expected), "{finding}: {expected:?}");
        }
        rows += 1;
    }
    assert!(rows >= 18, "{rows} rows");
}

/// Which registers of one thread are read before anything is written to them.
fn unwritten(body: &str) -> Vec<String> {
    let text = format!("PTX T\n{{ x = 0; }}\nP0@cta 0, gpu 0 {{\n{body}}}\nexists (x=1)\n");
    let (program, diagnostics) = common::attempt(&text);
    assert!(program.is_some(), "{diagnostics:?}");
    let of =
        |message: &str| message.split_once("` is read before anything is written").map(|(name, _)| name.to_owned());
    diagnostics.iter().filter_map(|diagnostic| of(&diagnostic.message)).collect()
}

#[test]
fn a_register_that_some_way_writes_is_written() {
    let straight = "add.u32 %r1, %r2, 1;\nadd.u32 %r3, %r1, %r4;\nst.global.u32 [x], %r3;\n";
    assert_eq!(unwritten(straight), ["`%r2", "`%r4"]);
    let looped = "LOOP:\nadd.u32 %r1, %r2, 1;\nmov.u32 %r2, %r1;\nsetp.lt.u32 %p1, %r1, 3;\n@%p1 bra LOOP;\nst.global.u32 [x], %r1;\n";
    assert_eq!(unwritten(looped), Vec::<String>::new());
    let skipped = "ld.global.u32 %r1, [x];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra END;\nmov.u32 %r2, 1;\nEND:\nst.global.u32 [x], %r2;\n";
    assert_eq!(unwritten(skipped), Vec::<String>::new());
    let unreached = "bra END;\nadd.u32 %r1, %r2, 1;\nEND:\nst.global.u32 [x], %r3;\n";
    assert_eq!(unwritten(unreached), ["`%r3"]);
}

/// The ways through these double with each of them: following each way took for ever.
#[test]
fn many_ways_through_a_thread_are_followed_together() {
    let mut body = String::new();
    for at in 0..60 {
        body += &format!(
            "ld.global.u32 %r{at}, [x];\nsetp.eq.u32 %p1, %r{at}, 0;\n@%p1 bra L{at};\nmov.u32 %s{at}, 1;\nL{at}:\n"
        );
    }
    body += "st.global.u32 [x], %s7;\n";
    assert_eq!(unwritten(&body), Vec::<String>::new());
}
