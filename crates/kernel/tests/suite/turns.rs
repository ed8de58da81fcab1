//! Locks and queues: kernels whose threads take turns, right and broken.

use std::time::Duration;

use fencepost_check::options::Wanted;
use fencepost_check::{Budget, Models, Options, load};
use fencepost_kernel::check::{Limits, check};
use fencepost_kernel::code::decode;
use fencepost_kernel::launch::{Argument, BufferSpec, Contents, Launch};
use fencepost_kernel::order::record::Kind;
use fencepost_kernel::report::{Finding, Report, Slice};
use fencepost_report::{RaceAnswer, TerminationAnswer};
use fencepost_syntax::{Source, ptx};

/// A kernel with pointers to the lock, to what it protects, and to something else.
fn kernel(body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 lock, .param .u64 data, .param .u64 other)\n{{\n\
         .reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<9>;\n.shared .align 4 .u32 box;\n\
         ld.param.u64 %rd1, [lock];\nld.param.u64 %rd2, [data];\nld.param.u64 %rd3, [other];\n\
         mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nsetp.ne.u32 %p1, %r1, 0;\n{body}\nret;\n}}\n"
    )
}

fn report(body: &str, ctas: u32, threads: u32) -> Report {
    let (tree, errors) = ptx::parse(&kernel(body));
    assert!(errors.is_empty(), "{errors:?}");
    let (module, _) = decode(&tree);
    let buffer = |name: &str| BufferSpec { name: name.to_owned(), bytes: 65536, contents: Contents::Zero };
    let launch = Launch {
        grid: [ctas, 1, 1],
        block: [threads, 1, 1],
        buffers: ["lock", "data", "other"].map(buffer).to_vec(),
        arguments: (0..3).map(|buffer| Argument::Pointer { buffer, offset: 0 }).collect(),
        entry: "k".to_owned(),
        cluster: [1; 3],
        shared: 0,
        cooperative: false,
    };
    check(&module, &module.entries[0], &launch, &Limits::default())
}

fn is_right(slice: &Slice) -> bool {
    let (tests, diagnostics) = load(&Source::new("slice.litmus", slice.text.clone()));
    assert!(tests.len() == 1 && diagnostics.is_empty(), "{diagnostics:?}\n{}", slice.text);
    let Some(model) = Models::shipped("ptx") else { panic!("there is a model") };
    let budget = Budget::of_time(Duration::from_secs(20));
    let options = Options { budget, advice: Wanted::No, fingerprint: Wanted::No, ..Options::default() };
    let report = fencepost_check::check(&tests[0], &model, &options).report;
    report.races.answer == RaceAnswer::None && report.termination.answer == TerminationAnswer::Terminates
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Said {
    /// With so many orders.
    Proved(u32),
    Race,
    Hang,
    Open,
}

fn said(body: &str, ctas: u32, threads: u32) -> Said {
    let report = report(body, ctas, threads);
    let is = |kind: fn(&Finding) -> bool| report.findings.iter().any(kind);
    match &report.sliced {
        _ if is(|own| matches!(own, Finding::Race { .. })) => Said::Race,
        _ if is(|own| matches!(own, Finding::Hang { .. })) => Said::Hang,
        _ if !report.findings.is_empty() => panic!("{:?}", report.findings),
        Some(sliced) if sliced.slices.iter().all(is_right) => Said::Proved(sliced.report.orders),
        None if report.doubts.is_empty() => Said::Proved(report.orders),
        _ => Said::Open,
    }
}

const TAKE: &str = "TAKE: atom.global.cas.b32 %r3, [%rd1], 0, 1;\nsetp.ne.u32 %p2, %r3, 0;\n@%p2 bra TAKE;\n";
const ADD: &str = "ld.global.u32 %r4, [%rd2];\nadd.u32 %r4, %r4, 1;\nst.global.u32 [%rd2], %r4;\n";
const GIVE: &str = "atom.global.exch.b32 %r5, [%rd1], 0;\n";
const FENCE: &str = "membar.gl;\n";

/// One thread of each CTA takes the lock.
fn alone(parts: &[&str]) -> String {
    format!("@%p1 bra OUT;\n{}OUT:", parts.concat())
}

#[test]
fn a_spin_lock_is_proved_in_every_order() {
    let body = alone(&[TAKE, FENCE, ADD, FENCE, GIVE]);
    assert_eq!(said(&body, 2, 64), Said::Proved(2));
    assert_eq!(said(&body, 3, 32), Said::Proved(6));
}

#[test]
fn a_spin_lock_without_one_of_its_fences_races() {
    assert_eq!(said(&alone(&[TAKE, FENCE, ADD, GIVE]), 2, 64), Said::Race);
    assert_eq!(said(&alone(&[TAKE, ADD, FENCE, GIVE]), 2, 64), Said::Race);
}

/// The check of a slice is bounded by the size of the slice, not by a clock.
#[test]
fn a_lock_with_many_fences_is_not_written_as_a_slice() {
    let with = |fences: usize| alone(&[TAKE, &FENCE.repeat(fences), ADD, FENCE, GIVE]);
    assert_eq!(said(&with(4), 2, 64), Said::Proved(2));
    assert!(report(&with(5), 2, 64).sliced.is_none());
}

/// Thread 0 takes the lock for its CTA, whose threads each add to their own number.
fn for_all(take: &str, give: &str) -> String {
    let own = "mul.wide.u32 %rd5, %r1, 4;\nadd.u64 %rd6, %rd2, %rd5;\n\
               ld.global.u32 %r4, [%rd6];\nadd.u32 %r4, %r4, 1;\nst.global.u32 [%rd6], %r4;\n";
    format!("@%p1 bra IN;\n{take}IN: bar.sync 0;\n{own}bar.sync 0;\n@%p1 bra OUT;\n{give}OUT:")
}

#[test]
fn a_lock_that_is_taken_for_a_cta_is_proved() {
    let take = [TAKE, FENCE].concat();
    let give = [FENCE, GIVE].concat();
    assert_eq!(said(&for_all(&take, &give), 2, 64), Said::Proved(2));
    assert_eq!(said(&for_all(&take, GIVE), 2, 64), Said::Race);
    assert_eq!(said(&for_all(TAKE, &give), 2, 64), Said::Race);
    let slices = report(&for_all(&take, &give), 2, 64).sliced.map(|sliced| sliced.slices).unwrap_or_default();
    assert_eq!(slices.iter().map(|slice| slice.threads).collect::<Vec<_>>(), [4]);
}

#[test]
fn locks_of_other_forms_are_proved() {
    let acquire = "TAKE: atom.acquire.gpu.global.exch.b32 %r3, [%rd1], 7;\nsetp.eq.u32 %p2, %r3, 7;\n@%p2 bra TAKE;\n";
    for give in [
        "st.release.gpu.global.u32 [%rd1], 0;\n",
        "atom.release.gpu.global.exch.b32 %r5, [%rd1], 0;\n",
        "atom.release.gpu.global.cas.b32 %r5, [%rd1], 7, 0;\n",
    ] {
        assert_eq!(said(&alone(&[acquire, ADD, give]), 2, 64), Said::Proved(2), "{give}");
        let weak = give.replace("release", "relaxed");
        assert_eq!(said(&alone(&[acquire, ADD, &weak]), 2, 64), Said::Race, "{weak}");
    }
}

#[test]
fn a_lock_of_one_cta_at_the_scope_of_the_cta_is_proved() {
    let acquire =
        "TAKE: atom.acquire.cta.global.cas.b32 %r3, [%rd1], 0, 1;\nsetp.ne.u32 %p2, %r3, 0;\n@%p2 bra TAKE;\n";
    let give = "st.release.cta.global.u32 [%rd1], 0;\n";
    let each_warp = |body: &str| format!("and.b32 %r9, %r1, 31;\nsetp.ne.u32 %p3, %r9, 0;\n@%p3 bra OUT;\n{body}OUT:");
    assert_eq!(said(&each_warp(&[acquire, ADD, give].concat()), 1, 64), Said::Proved(2));
    assert_ne!(said(&alone(&[acquire, ADD, give]), 2, 32), Said::Proved(2));
}

#[test]
fn what_the_lock_protects_may_decide() {
    // The first to come writes, the others add: as Triton's layernorm does.
    let first = "ld.global.u32 %r6, [%rd2+4];\nsetp.ne.u32 %p3, %r6, 0;\n@%p3 bra ADDS;\nst.global.u32 [%rd2], 5;\n\
                 st.global.u32 [%rd2+4], 1;\nbra DONE;\nADDS:\n";
    let body = alone(&[TAKE, FENCE, first, ADD, "DONE:\n", FENCE, GIVE]);
    assert_eq!(said(&body, 2, 64), Said::Proved(2));
    // Who is second writes what nobody else may.
    let outside = alone(&[TAKE, FENCE, first, "st.global.u32 [%rd3], 1;\n", "DONE:\n", FENCE, GIVE]);
    assert_eq!(said(&outside, 2, 64), Said::Proved(2));
    let raced = format!("st.global.u32 [%rd3+8], %r2;\n{}", alone(&[TAKE, FENCE, first, "DONE:\n", FENCE, GIVE]));
    assert_eq!(said(&raced, 2, 1), Said::Race);
}

#[test]
fn an_access_outside_the_lock_races_in_some_order() {
    // CTA 0 writes before it takes the lock; the others read under it.
    let before = "setp.ne.u32 %p4, %r2, 0;\n@!%p4 st.global.u32 [%rd3], 1;\n";
    let reads = "@%p4 ld.global.u32 %r7, [%rd3];\n";
    assert_eq!(said(&alone(&[before, TAKE, FENCE, reads, FENCE, GIVE]), 2, 32), Said::Race);
}

#[test]
fn a_lock_that_is_tried_once_is_not_decided() {
    let once = "atom.global.cas.b32 %r3, [%rd1], 0, 1;\nsetp.ne.u32 %p2, %r3, 0;\n@%p2 bra OUT;\n";
    assert_eq!(said(&alone(&[once, FENCE, ADD, FENCE, GIVE]), 2, 32), Said::Open);
}

#[test]
fn a_loop_around_the_lock_that_does_something_is_not_decided() {
    let counted = "TAKE: atom.global.cas.b32 %r3, [%rd1], 0, 1;\nsetp.ne.u32 %p2, %r3, 0;\nadd.u32 %r8, %r8, 1;\n@%p2 bra TAKE;\n";
    // The number of attempts decides something.
    let asked = "setp.gt.u32 %p5, %r8, 1;\n@%p5 st.global.u32 [%rd3], 1;\n";
    assert_eq!(said(&alone(&["mov.u32 %r8, 0;\n", counted, FENCE, ADD, asked, FENCE, GIVE]), 2, 32), Said::Open);
    // Somebody sees that there was an attempt.
    let seen = TAKE.replace("setp", "red.global.add.u32 [%rd3], 1;\nsetp");
    assert_eq!(said(&alone(&[&seen, FENCE, ADD, FENCE, GIVE]), 2, 32), Said::Open);
}

#[test]
fn two_locks_in_two_orders_hang() {
    let other = |text: &str| text.replace("%rd1", "%rd3").replace("TAKE", "TAKE2");
    let (take, give) = ([TAKE, FENCE].concat(), [FENCE, GIVE].concat());
    let nested = |first: [&str; 2], second: [&str; 2]| [first[0], second[0], ADD, second[1], first[1]].concat();
    let (take2, give2) = (other(&take), other(&give));
    let (a, b) = ([take.as_str(), &give], [take2.as_str(), &give2]);
    assert_eq!(said(&alone(&[&nested(a, b)]), 2, 32), Said::Proved(2));
    let again = |text: &str| text.replace("TAKE", "AGAIN");
    let crossed = format!(
        "@%p1 bra OUT;\nsetp.eq.u32 %p4, %r2, 0;\n@%p4 bra FIRST;\n{}bra OUT;\nFIRST:\n{}OUT:",
        nested(a, b),
        again(&nested(b, a))
    );
    assert_eq!(said(&crossed, 2, 32), Said::Hang);
}

#[test]
fn a_lock_that_is_held_over_a_barrier_hangs() {
    // Each warp's first thread takes the lock; the barrier waits for both.
    let body = format!(
        "and.b32 %r9, %r1, 31;\nsetp.ne.u32 %p3, %r9, 0;\n@%p3 bra IN;\n{TAKE}IN: bar.sync 0;\n@%p3 bra OUT;\n{GIVE}OUT:"
    );
    assert_eq!(said(&body, 1, 64), Said::Hang);
}

#[test]
fn a_lock_that_is_never_given_back_hangs() {
    assert_eq!(said(&alone(&[TAKE, FENCE, ADD]), 2, 32), Said::Hang);
}

#[test]
fn a_loop_of_atomics_that_change_nothing_waits() {
    for asks in [
        "atom.global.add.u32 %r3, [%rd1], 0;",
        "atom.global.cas.b32 %r3, [%rd1], 1, 1;",
        "atom.global.exch.b32 %r3, [%rd1], 0;",
        "atom.global.or.b32 %r3, [%rd1], 0;",
    ] {
        let until = format!("ASK: {asks}\nsetp.eq.u32 %p2, %r3, 0;\n@%p2 bra ASK;\n");
        // Nobody sets the flag.
        assert_eq!(said(&alone(&[&until]), 2, 32), Said::Hang, "{asks}");
    }
}

#[test]
fn a_lock_that_others_give_back_is_not_decided() {
    // The other CTA gives back what it has not taken.
    let stolen = format!(
        "setp.ne.u32 %p4, %r2, 0;\n@%p1 bra OUT;\n@%p4 bra GIVES;\n{TAKE}{FENCE}{ADD}bra OUT;\nGIVES:\n{GIVE}OUT:"
    );
    assert!(!matches!(said(&stolen, 2, 32), Said::Proved(_)));
}

#[test]
fn a_ticket_lock_is_proved_in_every_order() {
    let take = "atom.add.relaxed.gpu.global.u32 %r3, [%rd1], 1;\nTAKE: ld.acquire.gpu.global.u32 %r6, [%rd1+4];\n\
                setp.ne.u32 %p2, %r6, %r3;\n@%p2 bra TAKE;\n";
    let give = "add.u32 %r7, %r3, 1;\nst.release.gpu.global.u32 [%rd1+4], %r7;\n";
    assert_eq!(said(&alone(&[take, ADD, give]), 2, 64), Said::Proved(2));
    assert_eq!(said(&alone(&[take, ADD, give]), 3, 32), Said::Proved(6));
    assert_eq!(said(&alone(&[take, ADD, &give.replace("release", "relaxed")]), 2, 64), Said::Race);
    assert_eq!(said(&alone(&[&take.replace("acquire", "relaxed"), ADD, give]), 2, 64), Said::Race);
}

#[test]
fn a_queue_of_work_is_proved_where_its_orders_are_few() {
    // Thread 0 of each CTA takes a number for all of them.
    let queue = |items: u32, fetch: &str| {
        format!(
            "LOOP: @%p1 bra IN;\n{fetch}st.shared.u32 [box], %r3;\nIN: bar.sync 0;\nld.shared.u32 %r4, [box];\n\
             setp.ge.u32 %p2, %r4, {items};\n@%p2 bra OUT;\nmad.lo.u32 %r5, %r4, 32, %r1;\nmul.wide.u32 %rd5, %r5, 4;\n\
             add.u64 %rd6, %rd2, %rd5;\nst.global.u32 [%rd6], %r2;\nbar.sync 0;\nbra LOOP;\nOUT:"
        )
    };
    let fetch = "atom.global.add.u32 %r3, [%rd1], 1;\n";
    assert!(matches!(said(&queue(3, fetch), 2, 32), Said::Proved(_)));
    assert_eq!(said(&queue(40, fetch), 2, 32), Said::Open);
    assert_eq!(said(&queue(40, fetch), 1, 64), Said::Proved(1));
    // Every number is given twice.
    let twice = "atom.global.add.u32 %r3, [%rd1], 1;\nshr.u32 %r3, %r3, 1;\n";
    assert_eq!(said(&queue(2, twice), 2, 32), Said::Race);
}

#[test]
fn two_queues_are_not_decided() {
    // Relaxed additions to two places may be seen in orders that no interleaving has.
    let both = "atom.global.add.u32 %r3, [%rd1], 1;\natom.global.add.u32 %r4, [%rd1+4], 1;\n\
                setp.ne.u32 %p2, %r3, %r4;\n@%p2 st.global.u32 [%rd2], %r2;\n";
    assert_eq!(said(&alone(&[both]), 2, 32), Said::Open);
}

#[test]
fn a_queue_to_which_a_relaxed_flag_leads_is_not_decided() {
    // CTA 1 comes to the queue when CTA 0 has set a flag behind its own operation: by nothing that the flag depends on.
    let queue = |flag: &str, wait: &str| {
        format!(
            "@%p1 bra OUT;\nsetp.ne.u32 %p4, %r2, 0;\n@%p4 bra SECOND;\natom.add.relaxed.gpu.global.u32 %r3, [%rd1], 1;\n{flag}\n\
             bra USE;\nSECOND:\nWAIT: {wait}\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 bra WAIT;\n\
             atom.add.relaxed.gpu.global.u32 %r3, [%rd1], 1;\nUSE:\nsetp.eq.u32 %p3, %r3, %r2;\n@%p3 bra OUT;\n\
             st.global.u32 [%rd2], %r2;\nOUT:"
        )
    };
    let relaxed = queue("st.relaxed.gpu.global.u32 [%rd1+4], 1;", "ld.relaxed.gpu.global.u32 %r6, [%rd1+4];");
    assert!(!matches!(said(&relaxed, 2, 32), Said::Proved(_)));
    let ordered = queue("st.release.gpu.global.u32 [%rd1+4], 1;", "ld.acquire.gpu.global.u32 %r6, [%rd1+4];");
    assert!(matches!(said(&ordered, 2, 32), Said::Proved(_)));
}

#[test]
fn a_load_of_a_lock_need_not_see_the_last_turn() {
    // CTA 1 comes behind the lock by a relaxed flag, and looks at the lock: it may see it as it was at the start.
    let looks = |load: &str| {
        format!(
            "@%p1 bra OUT;\nsetp.ne.u32 %p4, %r2, 0;\n@%p4 bra WAIT;\n{TAKE}{FENCE}{ADD}\
             st.release.gpu.global.u32 [%rd1], 0;\nst.relaxed.gpu.global.u32 [%rd1+64], 1;\nbra OUT;\n\
             WAIT: ld.relaxed.gpu.global.u32 %r6, [%rd1+64];\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 bra WAIT;\n\
             {load}\nld.global.u32 %r9, [%rd2];\nst.global.u32 [%rd3], %r9;\nOUT:"
        )
    };
    for load in ["ld.acquire.gpu.global.u32 %r7, [%rd1];", "ld.acquire.gpu.global.v2.u32 {%r7, %r8}, [%rd1];"] {
        assert!(!matches!(said(&looks(load), 2, 32), Said::Proved(_)), "{load}");
    }
}

/// An attempt that fails hears nothing: an exchange writes, and compare-and-swap reads, while another thread has the lock (8.7).
#[test]
fn attempts_that_fail_race_with_weak_accesses_of_the_holder() {
    let take = TAKE.replace("atom.global", "atom.acquire.gpu.global");
    let exchange = take.replace("cas.b32 %r3, [%rd1], 0, 1", "exch.b32 %r3, [%rd1], 1");
    let body =
        |take: &str, own: &str| format!("@%p1 bra END;\n{take}{ADD}{own}\nst.release.gpu.global.u32 [%rd1], 0;\nEND:");
    assert_eq!(said(&body(&exchange, ""), 2, 32), Said::Proved(2));
    assert_eq!(said(&body(&exchange, "ld.global.u32 %r9, [%rd1];"), 2, 32), Said::Race);
    assert_eq!(said(&body(&exchange, "ld.relaxed.gpu.global.u16 %r9, [%rd1];"), 2, 32), Said::Race);
    assert_eq!(said(&body(&take, "st.global.u32 [%rd1], 1;"), 2, 32), Said::Race);
    // Compare-and-swap that fails does not write.
    assert_eq!(said(&body(&take, "ld.global.u32 %r9, [%rd1];"), 2, 32), Said::Proved(2));
    // Nor does one that is not tried again: here the holder goes on when the other has failed.
    let once = |own: &str| {
        format!(
            "@%p1 bra END;\nsetp.ne.u32 %p3, %r2, 0;\n@%p3 bra OTHER;\natom.acquire.gpu.global.cas.b32 %r3, [%rd1], 0, 1;\n\
             setp.ne.u32 %p2, %r3, 0;\n@%p2 bra END;\nst.release.gpu.global.u32 [%rd3], 1;\n\
             HELD: ld.relaxed.gpu.global.u32 %r4, [%rd3+64];\nsetp.eq.u32 %p2, %r4, 0;\n@%p2 bra HELD;\n{own}\n\
             st.release.gpu.global.u32 [%rd1], 0;\nbra END;\nOTHER: ld.acquire.gpu.global.u32 %r4, [%rd3];\n\
             setp.eq.u32 %p2, %r4, 0;\n@%p2 bra OTHER;\natom.acquire.gpu.global.cas.b32 %r3, [%rd1], 0, 1;\n\
             st.relaxed.gpu.global.u32 [%rd3+64], 1;\nEND:"
        )
    };
    assert_eq!(said(&once("ld.global.u32 %r9, [%rd1];"), 2, 32), Said::Open);
    assert_eq!(said(&once("st.global.u32 [%rd1], 1;"), 2, 32), Said::Race);
    // One that takes the lock does: behind what it acquires, or beside it.
    let fenced = format!("{TAKE}fence.acq_rel.gpu;\n");
    assert_eq!(said(&body(&fenced, "ld.global.u32 %r9, [%rd1];"), 2, 32), Said::Race);
}

/// Release pattern (b) of 8.8: a release, and a strong write of the same thread to the same place behind it.
#[test]
fn a_relaxed_store_behind_a_release_hands_on_what_was_released() {
    let body = |stores: &str| {
        format!(
            "@%p1 bra END;\nsetp.ne.u32 %p3, %r2, 0;\n@%p3 bra WAIT;\nst.global.u32 [%rd2], 7;\n{stores}\nbra END;\n\
             WAIT: ld.acquire.gpu.global.u32 %r3, [%rd1];\nsetp.ne.u32 %p2, %r3, 2;\n@%p2 bra WAIT;\n\
             ld.global.u32 %r4, [%rd2];\nEND:"
        )
    };
    let (first, second) = ("st.release.gpu.global.u32 [%rd1], 1;", "st.relaxed.gpu.global.u32 [%rd1], 2;");
    assert_eq!(said(&body(&format!("{first}\n{second}")), 2, 1), Said::Proved(0));
    assert_eq!(
        said(&body(&format!("{first}\natom.relaxed.gpu.global.add.u32 %r5, [%rd1], 1;")), 2, 1),
        Said::Proved(0)
    );
    assert_eq!(said(&body(second), 2, 1), Said::Race);
    // To another place.
    let elsewhere = first.replace("[%rd1]", "[%rd3]");
    assert_eq!(said(&body(&format!("{elsewhere}\n{second}")), 2, 1), Said::Race);
    // What comes behind the release was not released.
    assert_eq!(said(&body(&format!("{first}\nst.global.u32 [%rd2], 8;\n{second}")), 2, 1), Said::Race);
}

/// Observation comes before base causality order (8.9.5): a flag that a relaxed read has seen may be accessed weakly behind it.
#[test]
fn who_has_seen_a_flag_may_access_it_weakly() {
    let body = |value: u32, own: &str| {
        format!(
            "@%p1 bra END;\nsetp.ne.u32 %p3, %r2, 0;\n@%p3 bra WAIT;\nst.relaxed.gpu.global.u32 [%rd1], 1;\n\
             st.relaxed.gpu.global.u32 [%rd1], 2;\nbra END;\n\
             WAIT: ld.relaxed.gpu.global.u32 %r3, [%rd1];\nsetp.lt.u32 %p2, %r3, {value};\n@%p2 bra WAIT;\n{own}\nEND:"
        )
    };
    // The first of two stores is not observed by who sees the second, and the second not for certain by who waits for the first.
    let one = |own: &str| body(2, own).replace("st.relaxed.gpu.global.u32 [%rd1], 1;\n", "");
    for own in ["st.global.u32 [%rd1], 0;", "ld.global.u32 %r4, [%rd1];"] {
        assert_eq!(said(&one(own), 2, 1), Said::Proved(0), "{own}");
        assert_eq!(said(&one(own).replace(".gpu", ".cta"), 2, 1), Said::Race, "{own}");
        assert_eq!(said(&body(1, own), 2, 1), Said::Race, "{own}");
        assert_eq!(said(&body(2, own), 2, 1), Said::Race, "{own}");
    }
}

/// An atomic operation is one operation: who has the last ticket comes after all others, reads and writes (8.4, 8.9.5).
#[test]
fn the_last_may_put_the_counter_back_weakly() {
    let body = |last: u32| {
        format!(
            "@%p1 bra END;\natom.relaxed.gpu.global.add.u32 %r3, [%rd1], 1;\nsetp.ne.u32 %p2, %r3, {last};\n@%p2 bra END;\n\
             st.global.u32 [%rd1], 0;\nEND:"
        )
    };
    assert_eq!(said(&body(2), 3, 32), Said::Proved(0));
    assert_eq!(said(&body(1), 3, 32), Said::Race);
    assert_eq!(said(&body(2).replace(".gpu", ".cta"), 3, 32), Said::Race);
    // A counter that all lanes count: one of each warp would do.
    assert_eq!(said(&body(2).replace("@%p1 bra END;\n", ""), 3, 1), Said::Proved(0));
}

/// Beside a race, the counter that the last puts back is none.
#[test]
fn what_a_schedule_has_observed_is_no_race_there() {
    let body = "@%p1 bra END;\nst.global.u32 [%rd2], %r2;\natom.relaxed.gpu.global.add.u32 %r3, [%rd1], 1;\n\
                setp.ne.u32 %p2, %r3, 1;\n@%p2 bra END;\nst.global.u32 [%rd1], 0;\nEND:";
    let report = report(body, 2, 32);
    let regions = report.findings.iter().map(|finding| match finding {
        Finding::Race { race, .. } => (race.first.kind, race.second.kind),
        other => panic!("{other:?}"),
    });
    let kinds: Vec<_> = regions.collect();
    assert_eq!(kinds, [(Kind::Write, Kind::Write)]);
}

/// Elements of a vector are operations of their own, in no order (8.2.4): who has seen one has not seen the next.
#[test]
fn elements_of_a_vector_are_observed_and_published_one_by_one() {
    let body = |stores: &str, seen: u32, own: &str| {
        format!(
            "@%p1 bra END;\nsetp.ne.u32 %p3, %r2, 0;\n@%p3 bra WAIT;\nst.global.u32 [%rd2], 7;\n{stores}\nbra END;\n\
             WAIT: ld.acquire.gpu.global.u32 %r3, [%rd1+{seen}];\nsetp.ne.u32 %p2, %r3, 2;\n@%p2 bra WAIT;\n{own}\nEND:"
        )
    };
    let load = |at: u32| format!("ld.global.u32 %r4, [%rd1+{at}];");
    for order in ["relaxed", "release"] {
        let stores = format!("mov.u32 %r5, 2;\nst.{order}.gpu.global.v2.u32 [%rd1], {{%r5, %r5}};");
        for (seen, other) in [(0, 4), (4, 0)] {
            assert_eq!(said(&body(&stores, seen, &load(seen)), 2, 1), Said::Proved(0), "{order} {seen}");
            assert_eq!(said(&body(&stores, seen, &load(other)), 2, 1), Said::Race, "{order} {seen}");
        }
    }
    // What came before a release is published with each of its elements, and a later store hands on what was released there.
    let data = "ld.global.u32 %r4, [%rd2];";
    let release = "mov.u32 %r5, 2;\nst.release.gpu.global.v2.u32 [%rd1], {%r5, %r5};";
    let first =
        "mov.u32 %r5, 2;\nst.release.gpu.global.u32 [%rd1], 1;\nst.relaxed.gpu.global.v2.u32 [%rd1], {%r5, %r5};";
    for seen in [0, 4] {
        assert_eq!(said(&body(release, seen, data), 2, 1), Said::Proved(0), "{seen}");
    }
    assert_eq!(said(&body(first, 0, data), 2, 1), Said::Proved(0));
    assert_eq!(said(&body(first, 4, data), 2, 1), Said::Race);
}
