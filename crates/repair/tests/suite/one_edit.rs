//! Kernels with one mistake: a line that is missing, a word or a number that is wrong. Each has the line named that mends it, in
//! the thread and at the place where it belongs, in its races and in its waits that never end.

use super::check;
use fencepost_check::{Models, Options, load};
use fencepost_report::{Report, TerminationAnswer};
use fencepost_syntax::Source;

use crate::one_edit_kernels;
use one_edit_kernels::{
    ACCUMULATOR, ALLOCATED, GRID, GROUPS, MADE, MAILBOX, MAP, MULTICAST, PRODUCT, REDUCTION, REFILL, RING, SEMAPHORE,
    SPLIT, TICKET,
};

/// The kernel, what is mistaken in it and how, and what is missing then.
struct Mistake {
    kernel: &'static str,
    right: &'static str,
    wrong: &'static str,
    missing: &'static [&'static str],
}

const fn mistake(
    kernel: &'static str,
    right: &'static str,
    wrong: &'static str,
    missing: &'static [&'static str],
) -> Mistake {
    Mistake { kernel, right, wrong, missing }
}

const MISTAKES: &[Mistake] = &[
    mistake(ACCUMULATOR, "@!%p bra E;", "//", &["`@!%p bra E` in P0 between lines 8 and 10"]),
    mistake(ACCUMULATOR, "@!%p bra B;", "//", &["`@!%p bra B` in P1 between lines 24 and 26"]),
    mistake(
        ACCUMULATOR,
        "[accempty], 0",
        "[accempty], 1",
        &["`mbarrier.try_wait.parity.shared::cta.b64 %p, [accempty], 0` in P0 instead of"],
    ),
    mistake(PRODUCT, "@!%p bra L;", "//", &["`@!%p bra L` in P1 between lines 11 and 13"]),
    mistake(
        PRODUCT,
        "[full], 32",
        "[full], 16",
        &["`mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 32` in P0 instead of"],
    ),
    mistake(REFILL, "@!%p bra CW;", "//", &["`@!%p bra CW` in P1 between lines 14 and 16"]),
    mistake(REFILL, "@!%p bra PW;", "//", &["`@!%p bra PW` in P0 between lines 7 and 9"]),
    mistake(
        SEMAPHORE,
        "setp.ne.u32 %p, %c, 1;\n    @%p bra S;\n    bar",
        "bar",
        &[
            "a loop around `ld.acquire.gpu.global.u32 %c, [sem]` (line 13): `setp.ne.u32 %again, %c, 1; @%again bra S` in P2",
        ],
    ),
    mistake(
        SEMAPHORE,
        "setp.ne.u32 %p, %c, 1;\n    @%p bra S;\n    fence",
        "fence",
        &[
            "a loop around `ld.relaxed.gpu.global.u32 %c, [ready]` (line 27): `setp.ne.u32 %again, %c, 1; @%again bra S` in P4",
        ],
    ),
    mistake(
        SEMAPHORE,
        "S:\n    ld.relaxed.gpu.global.u32 %c, [ready];\n    setp.ne.u32 %p, %c, 1;\n    @%p bra S;\n    fence.acq_rel.gpu;\n",
        "ld.global.u32 %c, [ready];\n",
        &[
            "a loop around `ld.global.u32 %c, [ready]` (line 26): `setp.ne.u32 %again, %c, 1; @%again bra` back to it in P4",
            "`.acquire.gpu` on P4's `ld.global.u32 %c, [ready]`",
        ],
    ),
    mistake(
        SEMAPHORE,
        "red.release.gpu.global.add.u32 [sem], 1;",
        "//",
        &["`st.release.gpu.global.u32 [sem], 1` in P"],
    ),
    mistake(
        TICKET,
        "    st.release.gpu.global.u32 [serving], %n;\n}\nP1",
        "}\nP1",
        &["`st.release.gpu.global.u32 [serving], %n` in P0 after line 12"],
    ),
    mistake(MAILBOX, "@!%p bra W;\n    st.async", "st.async", &["`@!%p bra W` in P0 between lines 8 and 9"]),
    mistake(
        MAILBOX,
        "[bx], 4",
        "[bx], 8",
        &["`mbarrier.arrive.expect_tx.shared::cta.b64 _, [bx], 4` in P1 instead of"],
    ),
    mistake(
        MAP,
        "release.gpu.sync",
        "release.cta.sync",
        &[
            "`tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [m], [sm], 128` in P0 instead of",
        ],
    ),
    mistake(
        MULTICAST,
        "[f], 3",
        "[f], 1",
        &[
            "`cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g], 16, [f], 3` in P0 instead of",
        ],
    ),
    mistake(
        REDUCTION,
        "cp.async.bulk.wait_group 0;",
        "//",
        &["`cp.async.bulk.wait_group 0` in P1 between lines 11 and 13"],
    ),
    mistake(REDUCTION, "st.release.gpu.global.u32 [fl], 1;", "//", &["`st.release.gpu.global.u32 [fl], 1` in P"]),
    mistake(
        ALLOCATED,
        "tcgen05.wait::ld.sync.aligned;",
        "//",
        &["`tcgen05.wait::ld.sync.aligned` in P1 between lines 20 and 22"],
    ),
    mistake(
        ALLOCATED,
        "tcgen05.wait::ld.sync.aligned;",
        "tcgen05.wait::st.sync.aligned;",
        &["`tcgen05.wait::ld.sync.aligned` in P1 instead of `tcgen05.wait::st.sync.aligned`"],
    ),
    mistake(
        GROUPS,
        "[s+16], [b], 16;\n    cp.async.commit_group;",
        "[s+16], [b], 16;",
        &["`cp.async.commit_group` in P0 between lines 6 and 7"],
    ),
    mistake(
        RING,
        "mov.u32 %par, 1",
        "mov.u32 %par, 0",
        &["`mov.u32 %par, 1` in P0 instead of `mov.u32 %par, 0` (line 5)"],
    ),
    mistake(RING, "xor.b32 %par, %par, %st;", "//", &["`xor.b32 %par, %par, %st` in P0 between lines 21 and 22"]),
    mistake(RING, "empty[2] = 1", "empty[2] = 2", &["an initial count of 1 for the mbarrier empty"]),
    mistake(
        SPLIT,
        "mbarrier.arrive.shared::cta.b64 %t, [m];",
        "//",
        &["`mbarrier.arrive.shared::cta.b64 %t, [m]` in P0 between lines 4 and 6"],
    ),
    mistake(
        MADE,
        "mbarrier.init.shared::cta.b64 [m], 1;",
        "//",
        &["`mbarrier.init.shared::cta.b64 [m], 1` in P0 before line 5"],
    ),
    mistake(
        GRID,
        "fence.acq_rel.gpu;\n    atom",
        "fence.acq_rel.cta;\n    atom",
        &["`.gpu` on P1's `fence.acq_rel.cta` (line 9)"],
    ),
];

fn report(kernel: &str) -> Report {
    let (mut tests, _) = load(&Source::new("kernel", kernel));
    check(&tests.remove(0), &Models::shipped("ptx").expect("a model"), &Options::default()).report
}

#[test]
fn the_kernels_are_right() {
    let mut kernels: Vec<&str> = MISTAKES.iter().map(|mistake| mistake.kernel).collect();
    kernels.dedup();
    for kernel in kernels {
        let report = report(kernel);
        let (races, ends) = (report.races.pairs.len(), report.termination.answer);
        assert_eq!((races, ends), (0, TerminationAnswer::Terminates), "{kernel}");
    }
}

#[test]
fn one_mistake_is_named() {
    for Mistake { kernel, right, wrong, missing } in MISTAKES {
        let report = report(&kernel.replacen(right, wrong, 1));
        let what = format!("{right} -> {wrong} in {kernel}");
        let hangs = report.termination.answer == TerminationAnswer::MayHang;
        assert!(!report.races.pairs.is_empty() || hangs, "{what}");
        let of_races = report.races.pairs.iter().map(|race| &race.diagnosis.as_ref().expect("a diagnosis").missing);
        let of_waits = hangs.then_some(&report.termination.missing);
        for found in of_races.chain(of_waits) {
            let found: Vec<&str> = found.iter().map(|missing| missing.text.as_str()).collect();
            let named =
                found.len() == missing.len() && found.iter().zip(*missing).all(|(it, piece)| it.starts_with(piece));
            assert!(named, "{what}: {found:#?}");
        }
    }
}

/// A question that only one order of two accesses answers as asked is no reason to say nothing of the other.
#[test]
fn what_orders_against_the_question_is_told_as_that() {
    let text = r"PTX early
{ .global .align 16 .b32 g[4] = 5; .shared .align 16 .b32 s[4] = 0; }
P0@cta 0 {
    cp.async.cg.shared.global [s], [g], 16;
    cp.async.commit_group;
    st.shared.u32 [s], 7;
    cp.async.wait_group 0;
    ld.shared.u32 %r1, [s];
}
forall (P0:%r1 = 5)
";
    let report = report(text);
    let found = report.races.pairs[0].diagnosis.as_ref().expect("a diagnosis");
    assert_eq!(found.missing[0].text, "P0's `cp.async.wait_group 0` (line 7) belongs before line 6");
    assert!(found.why.contains("no execution has the outcome that the test asks for"), "{}", found.why);
}
