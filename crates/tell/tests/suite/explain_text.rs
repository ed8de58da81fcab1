//! Explanations of small tests, word for word: what a kernel engineer reads is reviewed like code.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::check;
use fencepost_axiom::engine::{Ends, Goal, Limits};
use fencepost_check::{Models, Options, Test, load};
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_syntax::Source;
use fencepost_tell::explain::{self, Context, Search, Subject};
use fencepost_tell::render::{self, Format};

use crate::render_support;
use render_support::{snapshot, well_formed};

fn test(text: &str) -> Test {
    let (mut tests, diagnostics) = load(&Source::new("test.litmus", text));
    assert!(tests.len() == 1, "{diagnostics:?}");
    tests.remove(0)
}

fn explained(text: &str, model: &str) -> String {
    let test = test(text);
    let model = Models::shipped(model).unwrap();
    explain::explain(&test, &model, &check(&test, &model, &Options::default()))
}

fn picture(text: &str, model: &str) -> Option<String> {
    let test = test(text);
    let model = Models::shipped(model).unwrap();
    render::picture(&test, &model, &check(&test, &model, &Options::default()), Format::Svg)
}

fn message_passing(read: &str) -> String {
    format!(
        "PTX MP\n{{ data=0; flag=0; P1:r0=0; P1:r1=0; }}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n \
         st.weak data, 1 | {read} r0, flag ;\n st.release.gpu flag, 1 | ld.weak r1, data ;\n\
         exists (P1:r0 == 1 /\\ P1:r1 == 0)\n"
    )
}

const STORE_BUFFERING: &str = "PTX SB\n{ x=0; y=0; P0:r0=0; P1:r0=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n \
    st.relaxed.gpu x, 1 | st.relaxed.gpu y, 1 ;\n fence.sc.gpu | fence.sc.gpu ;\n \
    ld.relaxed.gpu r0, y | ld.relaxed.gpu r0, x ;\nexists (P0:r0 == 0 /\\ P1:r0 == 0)\n";

const WRITES: &str = "PTX 2+2W\n{ x=0; y=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n \
    st.relaxed.gpu x, 1 | st.relaxed.gpu y, 1 ;\n fence.sc.gpu | fence.sc.gpu ;\n \
    st.relaxed.gpu y, 2 | st.relaxed.gpu x, 2 ;\nexists (x == 1 /\\ y == 1)\n";

const THIN_AIR: &str = "PTX LB\n{ x=0; y=0; P0:r0=0; P1:r0=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n \
    ld.relaxed.gpu r0, x | ld.relaxed.gpu r0, y ;\n st.relaxed.gpu y, r0 | st.relaxed.gpu x, r0 ;\n\
    exists (P0:r0 == 1 /\\ P1:r0 == 1)\n";

const X86: &str = "X86 SB\n{ x=0; y=0; }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\n\
    exists (0:EAX=0 /\\ 1:EAX=0)\n";

#[test]
fn a_stale_read_behind_release_and_acquire_is_forbidden_by_causality() {
    snapshot("mp-forbidden.txt", &explained(&message_passing("ld.acquire.gpu"), "ptx-7.5"));
}

#[test]
fn a_stale_read_behind_a_relaxed_read_is_told_as_a_story() {
    snapshot("mp-allowed.txt", &explained(&message_passing("ld.relaxed.gpu"), "ptx-7.5"));
}

#[test]
fn a_scope_that_leaves_the_other_thread_out_is_named() {
    let text = explained(&message_passing("ld.acquire.cta"), "ptx-7.5");
    assert!(text.contains("the scope of P1's `ld.acquire.cta r0, flag` is too narrow: .cta"), "{text}");
}

#[test]
fn both_fence_orders_rule_store_buffering_out() {
    let text = explained(STORE_BUFFERING, "ptx-6.0");
    assert!(text.contains("Fence-SC order"), "{text}");
    assert_eq!(text.matches("Causality (PTX ISA 8.10.6)").count(), 2, "{text}");
}

/// The order of fences is guessed too, and a guess against program order is a short cycle that says nothing of the reads.
#[test]
fn what_was_asked_comes_before_a_shorter_cycle() {
    let text = explained(
        "PTX SB\n{ x=0; y=0; }\nP0@x86 {\n mov [x], $1\n mfence\n mov EAX, [y]\n}\n\
         P1@cta 0, gpu 0 {\n st.relaxed.sys.u32 [y], 1;\n fence.sc.sys;\n ld.relaxed.sys.u32 %r1, [x];\n}\n\
         ~exists (P0:EAX=0 /\\ P1:%r1=0)\n",
        "cmm",
    );
    let reasons: Vec<&str> = text.split(" violate").skip(1).collect();
    assert!(reasons.len() > 2, "{text}");
    let (last, first) = reasons.split_last().unwrap();
    assert!(first.iter().all(|reason| reason.contains("returns 0, the initial value, which")), "{text}");
    assert!(first.iter().all(|reason| reason.contains("may not return 0: it must see")), "{text}");
    assert!(last.contains("precedes P0's `mfence` in the order of SC fences"), "{text}");
}

/// What a message between host and device lacks is said of either direction, and of a scope that does not reach the host.
#[test]
fn a_stale_read_across_host_and_device_has_its_reason() {
    let from_device = |write: &str| {
        let text = format!(
            "PTX MP\n{{ x=0; y=0; }}\nP0@cta 0, gpu 0 {{\n st.relaxed.sys.u32 [x], 1;\n {write} [y], 1;\n}}\n\
             P1@x86 {{\n mov EAX, [y]\n mov EBX, [x]\n}}\nexists (P1:EAX=1 /\\ P1:EBX=0)\n"
        );
        explained(&text, "cmm")
    };
    let relaxed = from_device("st.relaxed.sys.u32");
    assert!(relaxed.contains("it need not see x = 1 of P0's `st.relaxed.sys.u32 [x], 1`"), "{relaxed}");
    assert!(relaxed.contains("ends no release pattern: it is relaxed, and no release fence lies between"), "{relaxed}");
    let narrow = from_device("st.release.gpu.u32");
    assert!(narrow.contains("is too narrow: .gpu, but the threads share only the system (.sys)"), "{narrow}");
    let from_host = explained(
        "PTX MP\n{ x=0; y=0; }\nP0@x86 {\n mov [x], $1\n mov [y], $1\n}\nP1@cta 0, gpu 0 {\n\
         ld.relaxed.sys.u32 %r1, [y];\n ld.relaxed.sys.u32 %r2, [x];\n}\nexists (P1:%r1=1 /\\ P1:%r2=0)\n",
        "cmm",
    );
    assert!(from_host.contains("starts no acquire pattern: it is relaxed, and no acquire fence lies"), "{from_host}");
}

#[test]
fn a_final_value_that_coherence_overwrites_is_named() {
    let text = explained(WRITES, "ptx-7.5");
    assert!(text.contains("overwrites P0's `st.relaxed.gpu x, 1`, and x cannot end as 1 (8.10.1)"), "{text}");
}

#[test]
fn values_out_of_thin_air_are_called_that() {
    let text = explained(THIN_AIR, "ptx-7.5");
    assert!(text.contains("thin air") && text.contains("8.10.4"), "{text}");
}

#[test]
fn x86_and_sc_cite_no_section_of_the_ptx_isa() {
    let story = explained(X86, "x86-tso");
    assert!(story.contains("out of program order: ahead of `MOV [x],$1`"), "{story}");
    let reason = explained(X86, "sc");
    assert!(reason.contains("would come before itself"), "{reason}");
    assert!(!story.contains("ISA") && !reason.contains("ISA") && !reason.contains("(8."), "{reason}");
}

#[test]
fn an_impossible_value_is_not_blamed_on_an_axiom() {
    let text = explained(&message_passing("ld.acquire.gpu").replace("r1 == 0", "r1 == 7"), "ptx-7.5");
    assert!(text.contains("no choice of which write each read returns gives these values"), "{text}");
}

#[test]
fn a_forbidden_outcome_has_a_picture_of_its_cycle() {
    let svg = picture(&message_passing("ld.acquire.gpu"), "ptx-7.5").unwrap();
    well_formed(&svg).unwrap();
    assert!(svg.contains("Forbidden by Causality (PTX ISA 8.10.6)"));
    assert!(svg.contains("stroke=\"#fdd663\""), "the cycle is highlighted");
    assert_eq!(Some(svg), picture(&message_passing("ld.acquire.gpu"), "ptx-7.5"));
}

#[test]
fn what_was_not_looked_at_is_said() {
    let test = test(STORE_BUFFERING);
    let model = Models::shipped("ptx-7.5").unwrap();
    let unfolding = unfold(&test.program, &UnfoldOptions::default()).unwrap();
    let text = |span| test.instruction_text(span);
    let context = Context {
        unfolding: &unfolding,
        program: &test.program,
        model: &model.model,
        source: &test.source,
        vocabulary: &model.vocabulary,
        text: &text,
        rounds: &explain::Rounds::default(),
    };
    let goal = Goal { condition: Some(&test.program.questions[0].condition), ..Goal::new(Ends::Terminating) };
    let limits = Limits { deadline: None, memory: None, cancelled: None, work: None };
    let search = Search { limits, candidates: 1, shown: 3, subject: Subject::Condition };
    let explanation = explain::forbidden(&context, &goal, &search);
    assert_eq!(explanation.rejected.len(), 1);
    assert!(
        explanation.remark.as_ref().is_some_and(|remark| remark.contains("the first 1 candidate only")),
        "{explanation:?}"
    );
}

/// An axiom of the same name as one of the ISA's may mean something else.
#[test]
fn a_model_of_your_own_is_explained_in_its_own_words_without_sections_of_the_isa() {
    let test = test(&message_passing("ld.acquire.gpu"));
    let text = "PTX\nlet causality = po | rf\nacyclic causality | co | fr as causality\n";
    let own = Models::from_source("own.cat", Source::new("own.cat", text), &mut |_| None).expect("a model");
    let told = explain::explain(&test, &own, &check(&test, &own, &Options::default()));
    assert!(told.contains("1 candidate violates `causality`:\n"), "{told}");
    assert!(told.contains("would come before itself, which the axiom `causality` forbids\n"), "{told}");
    assert!(!told.contains("(8.") && !told.contains("PTX ISA"), "{told}");
    let shipped = Models::shipped("ptx-7.5").unwrap();
    let told = explain::explain(&test, &shipped, &check(&test, &shipped, &Options::default()));
    assert!(told.contains("Causality (PTX ISA 8.10.6)"), "{told}");
}

#[test]
fn a_picture_says_the_final_state_and_which_writes_are_unordered() {
    let race =
        "PTX WW\n{ x=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.weak x, 1 | st.weak x, 2 ;\nexists (x == 1)\n";
    let svg = picture(race, "ptx-7.5").expect("a picture");
    assert!(svg.contains("In the end x = 1"), "{svg}");
    assert!(svg.contains("Coherence order leaves writes of x unordered"), "{svg}");
    let ordered = picture(race, "sc").expect("a picture");
    assert!(ordered.contains("In the end x = 1") && !ordered.contains("unordered"), "{ordered}");
}

/// Four threads of two CTAs and the host, all of whose accesses race by their scopes.
const SCOPES: &str = "C scopes\n{ x = 0; y = 0; }\n\
    P0@cta 0, gpu 0 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_release, memory_scope_work_group); }\n\
    P1 (atomic_int* x, atomic_int* y) {\n\
    int r0 = atomic_load_explicit(x, memory_order_acquire, memory_scope_all_svm_devices);\n\
    int r1 = atomic_load_explicit(y, memory_order_acquire, memory_scope_all_svm_devices); }\n\
    P2@cta 1, gpu 0 (atomic_int* x, atomic_int* y) {\n\
    int r0 = atomic_load_explicit(y, memory_order_acquire, memory_scope_work_group);\n\
    int r1 = atomic_fetch_add_explicit(x, 1, memory_order_acq_rel, memory_scope_work_group); }\n\
    P3@cta 0, gpu 0 (atomic_int* y) { atomic_store_explicit(y, 1, memory_order_release, memory_scope_work_group); }\n\
    exists (1:r0 = 1 /\\ 1:r1 = 0 /\\ 2:r0 = 1 /\\ 2:r1 = 0)\n";

#[test]
fn a_gpu_and_a_cta_are_one_frame_wherever_their_threads_stand() {
    let svg = picture(SCOPES, "rc11-scoped").unwrap();
    well_formed(&svg).unwrap();
    for frame in ["GPU 0", "CTA 0", "CTA 1", "host"] {
        assert_eq!(svg.matches(&format!(">{frame}<")).count(), 1, "{frame}");
    }
}

#[test]
fn every_race_of_the_execution_is_drawn() {
    let svg = picture(SCOPES, "rc11-scoped").unwrap();
    assert_eq!(svg.matches("class=\"edge\" data-relation=\"scoped-race\"").count(), 5);
    assert!(svg.contains("and 2 more races"), "the others are told by their number");
}

#[test]
fn a_long_call_keeps_its_order_and_scope() {
    let svg = picture(SCOPES, "rc11-scoped").unwrap();
    assert!(svg.contains("d: int r1 = atomic_fetch_add(x, 1, acq_rel,"), "{svg}");
    assert_eq!(svg.matches(">  all_svm_devices)<").count(), 2, "{svg}");
    assert!(!svg.contains('…'), "{svg}");
}
