//! Explanations say nothing that is false: what is called an interleaving is one, a reason names what is really missing,
//! a race names two accesses that conflict. Each test is a case where a likely sentence would be wrong.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::check;
use fencepost_check::{Models, Options, load};
use fencepost_syntax::Source;
use fencepost_tell::explain;

fn explained(text: &str, model: &str) -> String {
    let (mut tests, diagnostics) = load(&Source::new("test.litmus", text));
    assert!(tests.len() == 1, "{diagnostics:?}");
    let test = tests.remove(0);
    let model = Models::shipped(model).unwrap();
    explain::explain(&test, &model, &check(&test, &model, &Options::default()))
}

fn ptx(text: &str) -> String {
    explained(text, "ptx-7.5")
}

const INTERLEAVING: &str = "it is an interleaving of the threads";
const NONE: &str = "No interleaving of the threads gives this result";

fn no_interleaving(text: &str, marked: &str) {
    let story = ptx(text);
    assert!(!story.contains(INTERLEAVING) && story.contains(NONE), "{story}");
    assert!(story.contains(marked), "{story}");
}

#[test]
fn two_readers_that_disagree_are_no_interleaving() {
    no_interleaving(
        "PTX q\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 0,gpu 0 | P3@cta 0,gpu 0 ;\n\
         st.relaxed.cta x, 1 | st.relaxed.gpu x, 2 | ld.relaxed.gpu r1, x | ld.relaxed.gpu r1, x ;\n\
         | | ld.relaxed.gpu r2, x | ld.relaxed.gpu r2, x ;\n\
         exists (P2:r1=1 /\\ P2:r2=2 /\\ P3:r1=2 /\\ P3:r2=1)\n",
        "- it returns 1 although, as told here, P1's `st.relaxed.gpu x, 2` wrote 2 since",
    );
}

#[test]
fn a_final_value_that_was_not_written_last_is_no_interleaving() {
    no_interleaving(
        "PTX q\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\nld.weak r1, x | st.weak x, 2 ;\nst.weak x, 1 | ;\n\
         exists (P0:r1=2 /\\ x=2)\n",
        "- P0's `st.weak x, 1` is told last, but x ends as 2: coherence order does not say which write is the last",
    );
    no_interleaving(
        "PTX q\n{ x=0; y @ generic aliases x; }\nP0@cta 0,gpu 0 ;\nst.weak x, 1 ;\nst.weak y, 2 ;\nexists (x=1)\n",
        "- P0's `st.weak y, 2` is told last, but x ends as 1",
    );
}

#[test]
fn a_read_modify_write_that_is_cut_in_two_is_no_interleaving() {
    no_interleaving(
        "PTX q\n{ x=0; y @ generic aliases x; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n\
         atom.relaxed.gpu.add r1, x, 1 | atom.relaxed.gpu.add r1, y, 1 ;\nexists (x=1)\n",
        "is told between the two halves of this read-modify-write",
    );
}

#[test]
fn an_interleaving_is_found_where_the_first_order_that_comes_to_mind_is_none() {
    // Unordered writes: told in the order of the threads, the read would miss the second.
    let story = ptx(
        "PTX q\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 2,gpu 0 ;\nst.weak x, 1 | st.weak x, 2 | ld.weak r1, x ;\n\
         exists (P2:r1=1 /\\ x=2)\n",
    );
    assert!(story.contains(INTERLEAVING), "{story}");
    let at = |what: &str| story.find(what).unwrap_or_else(|| panic!("{what}: {story}"));
    assert!(at("`st.weak x, 1` writes") < at("`ld.weak r1, x` reads"), "{story}");
    assert!(at("`ld.weak r1, x` reads") < at("`st.weak x, 2` writes"), "{story}");
}

#[test]
fn a_red_is_no_read_operation_whatever_fence_follows() {
    let story = ptx(
        "PTX q\n{ x=0; y=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\nst.weak.u32 [x], 1 | red.relaxed.gpu.global.add.u32 [y], 1 ;\n\
         st.release.gpu.u32 [y], 1 | fence.acq_rel.gpu ;\n | ld.weak.u32 %r2, [x] ;\nexists (y=2 /\\ P1:%r2=0)\n",
    );
    assert!(story.contains("starts no acquire pattern: it returns no value, so it is no read operation"), "{story}");
    assert!(!story.contains("no acquire fence"), "{story}");
}

#[test]
fn a_weak_write_ends_no_release_pattern_whatever_fence_precedes() {
    let story = ptx("PTX q\n{ x=0; y=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\nst.weak x, 1 | ld.acquire.gpu r1, y ;\n\
         fence.acq_rel.gpu | ld.weak r2, x ;\nst.weak y, 1 | ;\nexists (P1:r1=1 /\\ P1:r2=0)\n");
    assert!(story.contains("P0's `st.weak y, 1` ends no release pattern: it is weak (8.8)"), "{story}");
    assert!(!story.contains("no release fence"), "{story}");
}

#[test]
fn a_race_names_halves_that_conflict() {
    let story = ptx(
        "PTX q\n{ y=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\natom.relaxed.cta.add r1, y, 1 | ld.acquire.gpu r1, y ;\n\
         exists (P1:r1=1)\n",
    );
    assert!(story.contains("`atom.relaxed.cta.add r1, y, 1` writes y\n"), "{story}");
    let races: Vec<&str> = story.split("has a data race:\n").skip(1).collect();
    assert!(!races.is_empty() && races.iter().all(|race| race.lines().take(2).any(|line| line.contains("writes"))));
}

#[test]
fn a_thread_races_with_itself_over_proxies_and_not_for_want_of_strength() {
    let alias =
        "PTX q\n{ x=0; y @ generic aliases x; }\nP0@cta 0,gpu 0 ;\nst.weak x, 1 ;\nld.weak r1, y ;\nexists (P0:r1=0)\n";
    let story = ptx(alias);
    assert!(story.contains("use different virtual addresses of one location (8.6, 8.7)"), "{story}");
    assert!(story.contains("but no `fence.proxy.alias` lies between (8.9.5)"), "{story}");
    assert!(!story.contains("is weak") && !story.contains("no synchronisation"), "{story}");

    let fences = |first: &str, second: &str| {
        ptx(&format!(
            "PTX q\n{{ x=0; s @ surface aliases x; t @ texture aliases x; }}\nP0@cta 0,gpu 0 ;\nsust.weak s, 1 ;\n{first}{second}\
             tld.weak r1, t ;\nexists (P0:r1=0)\n"
        ))
    };
    let reversed = fences("fence.proxy.texture ;\n", "fence.proxy.surface ;\n");
    assert!(reversed.contains("the proxy fences between are not in the order that joins them (8.9.5)"), "{reversed}");
    let one = fences("fence.proxy.surface ;\n", "");
    assert!(one.contains("no `fence.proxy.texture` in the thread block of `tld.weak r1, t` lies between"), "{one}");
    let right = fences("fence.proxy.surface ;\n", "fence.proxy.texture ;\n");
    assert!(right.contains("forbidden") && !right.contains("data race"), "{right}");
}

#[test]
fn without_an_execution_no_value_is_blamed() {
    let spin = "PTX q\n{ y=0; P0:r1=0; }\nP0@cta 0,gpu 0 ;\nLC00: ;\nld.relaxed.gpu r1, y ;\nbeq r1, 0, LC00 ;\nforall (P0:r1=1)\n";
    let story = ptx(spin);
    assert!(story.contains("no execution ends, so there is no final state"), "{story}");
    assert!(!story.contains("no choice of which write"), "{story}");
    let filtered = ptx("PTX q\n{ y=3; }\nP0@cta 0,gpu 0 ;\nld.weak r1, y ;\nfilter (P0:r1=7)\nforall (P0:r1=9)\n");
    assert!(filtered.contains("no execution passes the filter"), "{filtered}");
    assert!(!filtered.contains("no choice of which write"), "{filtered}");
}

#[test]
fn a_forall_that_holds_is_not_called_forbidden() {
    let story = ptx("PTX q\n{ x=0; }\nP0@cta 0,gpu 0 ;\nst.weak x, 1 ;\nld.weak r1, x ;\nforall (P0:r1=1)\n");
    assert!(story.starts_with("An outcome that breaks the condition is forbidden."), "{story}");
}

#[test]
fn a_false_dependency_is_a_cycle_and_not_a_value_that_depends_on_itself() {
    let story = ptx(
        "PTX q\n{ x=0; y=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\nld.relaxed.gpu.u32 %r1, [x] | ld.relaxed.gpu.u32 %r1, [y] ;\n\
         xor.b32 %r2, %r1, %r1 | st.relaxed.gpu.u32 [x], %r1 ;\nadd.u32 %r2, %r2, 1 | ;\nst.relaxed.gpu.u32 [y], %r2 | ;\n\
         exists (P0:%r1=1 /\\ P1:%r1=1)\n",
    );
    assert!(
        story.contains("a cycle of dependencies and reads-from (dependencies are taken syntactically) (8.10.4)"),
        "{story}"
    );
    assert!(!story.contains("depend on itself"), "{story}");
}

/// x86 keeps its stores in order (x86-TSO): what is out of order is the device's, and the PTX ISA says nothing of the host.
#[test]
fn each_side_of_a_mixed_test_keeps_to_its_own_rules() {
    let story = explained(
        "PTX q\n{ x=0; y=0; }\nP0@x86 | P1@cta 0,gpu 0 ;\nmov [x],$1 | ld.relaxed.gpu.u32 %r1, [y] ;\n\
         mov [y],$1 | ld.weak.u32 %r2, [x] ;\nexists (P1:%r1=1 /\\ P1:%r2=0)\n",
        "cmm",
    );
    assert!(!story.contains("ahead of `mov [x],$1`"), "{story}");
    assert!(story.contains("out of program order: ahead of `ld.relaxed.gpu.u32 %r1, [y]`"), "{story}");
    assert!(story.contains("the scope of P1's `ld.relaxed.gpu.u32 %r1, [y]` does not include P0"), "{story}");
    let forbidden = explained(
        "PTX q\n{ x=0; y=0; }\nP0@cta 0,gpu 0 | P1@x86 ;\nst.relaxed.sys.u32 [x], 1 | mov EAX,[y] ;\n\
         fence.acq_rel.sys | mov EBX,[x] ;\nst.relaxed.sys.u32 [y], 1 | ;\nexists (P1:EAX=1 /\\ P1:EBX=0)\n",
        "cmm",
    );
    let cites = |line: &&str| line.contains("PTX ISA") || line.contains("(8.");
    for line in forbidden.lines().filter(cites) {
        assert!(!line.contains("mov E"), "{forbidden}");
    }
    assert!(forbidden.contains("comes before `fence.acq_rel.sys` in program order (PTX ISA 8.9.1)"), "{forbidden}");
    assert!(forbidden.contains("violates Causality of the compound model:"), "{forbidden}");
    let around = explained(
        "PTX q\n{ x=0; y=0; }\nP0@x86 | P1@cta 0,gpu 0 ;\nmov [x],$1 | st.relaxed.sys.u32 [y], 1 ;\n\
         mfence | fence.sc.sys ;\nmov EAX,[y] | ld.relaxed.sys.u32 %r1, [x] ;\n~exists (P0:EAX=0 /\\ P1:%r1=0)\n",
        "cmm",
    );
    assert!(around.contains("which x86-TSO keeps around an `mfence`"), "{around}");
    assert!(!around.contains("locked instruction"), "{around}");
}

/// RC11 shares names with PTX and means other things by them.
#[test]
fn the_rules_of_c_are_told_of_c() {
    let story = explained(
        "C q\n{ x=0; }\nP0 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }\n\
         P1 (atomic_int* x) { int r0 = atomic_load_explicit(x, memory_order_relaxed); int r1 = \
         atomic_load_explicit(x, memory_order_relaxed); }\nexists (1:r0=1 /\\ 1:r1=0)\n",
        "rc11-scoped",
    );
    assert!(story.contains("violates Coherence of RC11:"), "{story}");
    for word in ["causality", "morally", "PTX"] {
        assert!(!story.contains(word), "{word}: {story}");
    }
}

/// A tensor copy reads its map through one proxy and its data through another.
#[test]
fn each_access_of_a_tensor_copy_has_its_own_proxy() {
    let story = explained(
        "PTX q\n{ .global .b32 g[4] = 7; .global .tensormap tm = g; .shared .b32 s[4] = 0; .shared .mbarrier b = 1; }\n\
         P0@cta 0, gpu 0 {\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [b], 16;\n\
         cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [tm, {0}], [b];\n\
         W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [b], 0;\n@!%p1 bra W;\nld.shared.u32 %r1, [s];\n}\n\
         exists (P0:%r1=7)\n",
        "ptx",
    );
    assert!(
        story.contains("reads tm = a map of g (tensormap proxy), reads g = 7 (4 elements) (async proxy)"),
        "{story}"
    );
    assert!(story.contains("writes s = 7 (4 elements) (async proxy)"), "{story}");
}

/// Two fences that forbid an outcome are named, by every model of PTX: without them it is allowed.
#[test]
fn fences_that_synchronise_are_told() {
    let text = "PTX fences\n{ x = 0; y = 0; }\n P0@cta 0, gpu 0 | P1@cta 1, gpu 0 ;\n \
                st.weak.u32 [x], 1 | ld.relaxed.gpu.u32 %r1, [y] ;\n fence.acq_rel.gpu | fence.acq_rel.gpu ;\n \
                st.relaxed.gpu.u32 [y], 1 | ld.weak.u32 %r2, [x] ;\nexists (P1:%r1=1 /\\ P1:%r2=0)\n";
    for model in ["ptx-6.0", "ptx-7.5", "ptx"] {
        let story = explained(text, model);
        let told = "P0's `fence.acq_rel.gpu`, followed by `st.relaxed.gpu.u32 [y], 1`, synchronises with P1's";
        assert!(story.contains(told), "{model}: {story}");
    }
}
