//! Rules about proxies, asynchronous operations and what `bar.warp.sync` hands over, one at a time: programs that are wrong by
//! nothing but the rule, held to the axioms under the weakest and the strongest readings.

use fencepost_kernel::report::Finding;

use crate::found::{MEET, OUT, WARP, agree, found};
use crate::patterns::{
    BAR, FENCE, arrive, arrive_expecting, arrive_remotely, bulk_load, init, load, store, wait, wait_cluster,
};
use crate::program::{Cover, Item, Scope, place};

const COPIED: Item = Item::CopyWait { pending: None };

fn copy() -> Item {
    Item::Copy { to: place("sa", 0), from: place("ga", 0) }
}

fn mma() -> Item {
    Item::Mma { to: "ta", from: ["sa", "sb"], wide: false }
}

/// Order across proxies is not transitive: that a thread has overwritten what an operation accessed, and fenced its own write,
/// does not order the operation with a third access (8.9.5).
#[test]
fn an_operation_that_is_overwritten_may_still_race() {
    let x = place("sa", 0);
    // Written by `cp.async`, then by another thread, then read by a copy.
    let last = [&[BAR, BAR], &OUT[..]].concat();
    let threads = vec![(0, vec![copy(), COPIED, BAR, BAR]), (0, vec![BAR, store(x), FENCE, BAR]), (0, last.clone())];
    assert_eq!(agree(threads), [false, true]);
    let threads =
        vec![(0, vec![copy(), COPIED, FENCE, BAR, BAR]), (0, vec![BAR, store(x), FENCE, BAR]), (0, last.clone())];
    assert_eq!(agree(threads), [true, true]);
    // Written by a thread whose fence came before.
    let threads = vec![(0, vec![FENCE, store(x), BAR, BAR]), (0, vec![BAR, store(x), FENCE, BAR]), (0, last)];
    assert_eq!(agree(threads), [false, true]);
    // Read by a product, then written by its thread, then by another.
    let first = [init("ma", 1), BAR, mma(), Item::TensorCommit { at: "ma" }, wait("ma", 0), FENCE, store(x), BAR];
    let second = |fence: &[Item]| (0, [&[BAR, BAR], fence, &[store(x)]].concat());
    assert_eq!(agree(vec![(0, first.to_vec()), second(&[])]), [false, true]);
    assert_eq!(agree(vec![(0, first.to_vec()), second(&[FENCE])]), [true, true]);
}

/// The fence comes before the end of the copy that it is to hand over.
#[test]
fn a_fence_in_the_cta_stands_behind_the_end_of_a_copy() {
    let threads = |end: [Item; 2]| vec![(0, [&[copy()], &end[..], &[BAR]].concat()), (0, [&[BAR], &OUT[..]].concat())];
    assert_eq!(agree(threads([FENCE, COPIED])), [false, false]);
    assert_eq!(agree(threads([COPIED, Item::FenceAsync(Cover::Global)])), [false, false]);
    // Nor is a fence of another lane one of the copy's.
    assert_eq!(agree(vec![(0, vec![copy(), COPIED]), (0, [&[FENCE], &OUT[..]].concat())]), [false, false]);
    assert_eq!(agree(threads([COPIED, FENCE])), [true, true]);
}

/// Of the end of a product a lane may know by `bar.warp.sync` before it waits itself: a fence between the two does not count.
#[test]
fn a_fence_stands_behind_a_wait_that_counts() {
    let first = [init("ma", 1), BAR, mma(), Item::TensorCommit { at: "ma" }, wait("ma", 0), WARP];
    let second = |end: [Item; 2]| (0, [&[BAR, WARP], &end[..], &[store(place("sa", 0))]].concat());
    assert_eq!(agree(vec![(0, first.to_vec()), second([FENCE, wait("ma", 0)])]), [false, true]);
    assert_eq!(agree(vec![(0, first.to_vec()), second([wait("ma", 0), FENCE])]), [true, true]);
}

#[test]
fn two_arrivals_of_a_lane_hand_nothing_over_to_itself() {
    let writer = (0, vec![store(place("sa", 0)), FENCE, WARP]);
    let twice = [init("ma", 2), WARP, arrive("ma"), arrive("ma"), wait("ma", 0)];
    assert_eq!(agree(vec![writer.clone(), (0, [&twice[..], &OUT[..]].concat())]), [false, true]);
    // Between them it has learnt more.
    let more = [init("ma", 2), WARP, arrive("ma"), WARP, arrive("ma"), wait("ma", 0)];
    let writer = (0, [&writer.1[..], &[WARP]].concat());
    assert_eq!(agree(vec![writer, (0, [&more[..], &OUT[..]].concat())]), [false, true]);
}

/// Between the async proxies of two CTAs (reading async-cta) the later one has a fence.
#[test]
fn copies_of_two_ctas_take_a_fence_between_them() {
    let out = [Item::BulkStore { to: "ga", from: "sa" }, Item::BulkCommit, Item::BulkWait { pending: 0, reads: false }];
    let first = [&out[..], &MEET[..]].concat();
    let fill = [arrive_expecting("ma", 16), Item::BulkLoad { to: "sb", from: "ga", at: "ma" }, wait("ma", 0)];
    let second = |fence: &[Item]| (1, [&[init("ma", 1)], &MEET[..], fence, &fill[..]].concat());
    assert_eq!(agree(vec![(0, first.clone()), second(&[])]), [false, true]);
    assert_eq!(agree(vec![(0, first), second(&[FENCE])]), [true, true]);
}

/// An order that runs through a copy: the access comes before the copy is issued, or before it in time, and not behind it.
#[test]
fn nothing_comes_before_what_its_thread_did_earlier() {
    let x = place("ga", 0);
    // The thread writes behind the copy; the barrier is between the two. The last thread makes global memory one of two proxies.
    let threads = vec![(0, vec![copy(), COPIED, BAR, store(x)]), (0, vec![BAR, store(x)]), (0, OUT.to_vec())];
    assert_eq!(agree(threads), [false, false]);
    // Two copies out of one place: the second is told to be over, and the first is waited for behind the issue of the second.
    let seen = Item::Wait { at: "ma", parity: 0, acquire: false, scope: Scope::Cta };
    let told = Item::Arrive { at: "ma", rank: None, release: false, scope: Scope::Cta, expect: None, count: 1 };
    let [first, commit, done] = OUT;
    let second = Item::BulkPeer { to: "sb", from: "sa", at: "ma", rank: 1 };
    let threads = |copies: &[Item]| {
        let copier = [&[init("ma", 1), init("mb", 1)], &MEET[..], copies, &[told]].concat();
        let writer = [&MEET[..], &[wait_cluster("mb", 0), seen, store(place("sa", 0))]].concat();
        let fill = [arrive_expecting("ma", 16), wait("ma", 0), arrive_remotely("mb", 0)];
        vec![(0, copier), (0, writer), (1, [&[init("ma", 1)], &MEET[..], &fill[..]].concat())]
    };
    assert_eq!(agree(threads(&[first, commit, second, done])), [false, false]);
    assert_eq!(agree(threads(&[first, commit, done, second])), [true, true]);
}

#[test]
fn atomic_operations_of_two_proxies_race() {
    let red = Item::Red { to: place("gb", 0), scope: Scope::Gpu };
    let reduce =
        [Item::BulkReduce { to: "gb", from: "sa" }, Item::BulkCommit, Item::BulkWait { pending: 0, reads: false }];
    assert_eq!(agree(vec![(0, vec![red]), (0, reduce.to_vec())]), [false, false]);
    assert_eq!(agree(vec![(0, vec![red]), (0, vec![red])]), [true, true]);
    assert_eq!(agree(vec![(0, reduce.to_vec()), (0, reduce.to_vec())]), [true, true]);
    // One behind the other does not stand for it.
    assert_eq!(agree(vec![(0, [&reduce[..], &[red]].concat()), (0, vec![red])]), [false, false]);
}

/// Lanes that meet at the barrier of a cluster are told what one of them has waited for.
#[test]
fn a_wait_is_handed_over_within_a_warp_at_a_barrier_of_the_cluster() {
    let kernel = |offset: u32, meet: &str| {
        format!(
            "setp.eq.u32 %p0, %r0, 0;\nsetp.lt.u32 %p1, %r0, 2;\nsetp.eq.u32 %p2, %r0, 2;\n\
             mov.u32 %r1, sa;\nshl.b32 %r2, %r0, 3;\nadd.u32 %r1, %r1, %r2;\nmov.u64 %rd0, ga;\n\
             @%p1 cp.async.ca.shared.global [%r1], [%rd0], 8;\n@%p0 cp.async.wait_all;\n{meet}\n\
             @%p2 ld.shared.u64 %rd1, [sa+{offset}];\nexit;"
        )
    };
    // Lanes that have waited together, too.
    let both =
        |text: String| text.replace("@%p0 cp.async.wait_all", "@%p1 cp.async.wait_all").replace("@%p2 ld", "@%p0 ld");
    let meet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;";
    assert!(found(&kernel(0, meet), 32).is_empty());
    assert!(matches!(found(&kernel(8, meet), 32)[..], [Finding::Race { .. }]));
    assert!(matches!(found(&kernel(0, ""), 32)[..], [Finding::Race { .. }]));
    assert!(found(&both(kernel(8, meet)), 32).is_empty(), "{:?}", found(&both(kernel(8, meet)), 32));
}

/// Of a barrier with one waiting thread nothing comes back to it that it has brought itself (reading warp-sync-async).
#[test]
fn who_waits_alone_at_a_barrier_hears_the_others() {
    // Lane 0 stores, lane 1 copies; the second warp arrives only.
    let kernel = |meet: &str| {
        format!(
            "setp.ge.u32 %p0, %r0, 32;\n@%p0 bra SECOND;\nsetp.eq.u32 %p1, %r0, 0;\nsetp.eq.u32 %p2, %r0, 1;\n\
             @%p1 st.shared.u64 [sa], 1;\n@%p1 fence.proxy.async;\nbar.warp.sync -1;\n@!%p2 bra OUT;\n{meet}\n\
             mov.u64 %rd0, ga;\nmov.u32 %r1, sa;\ncp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 16;\n\
             cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nOUT:\nexit;\nSECOND:\nbar.arrive 1, 64;\nexit;"
        )
    };
    let alone = found(&kernel("barrier.sync 1, 64;"), 64);
    assert!(matches!(&alone[..], [Finding::Race { only, .. }] if *only == ["warp-sync-async"]), "{alone:?}");
}

/// An allocation or its end comes before what others do to the columns.
#[test]
fn columns_are_used_and_freed_behind_their_allocation() {
    let kernel = |meet: &str, second: &str| {
        format!(
            "setp.ge.u32 %p0, %r0, 32;\nmov.u32 %r1, 0;\nmov.u32 %r2, 0x200000;\n@%p0 bra SECOND;\n\
             tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;\n{meet}\nbra END;\n\
             SECOND:\n{meet}\n{second}\nEND:\nexit;"
        )
    };
    let races = |body: &str| found(body, 64).iter().any(|own| matches!(own, Finding::Race { .. }));
    let free = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;";
    let read = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r2];\ntcgen05.wait::ld.sync.aligned;";
    for use_of in [free, read] {
        assert!(races(&kernel("", use_of)), "{use_of}\n{:?}", found(&kernel("", use_of), 64));
        assert!(!races(&kernel("bar.sync 0;", use_of)), "{use_of}\n{:?}", found(&kernel("bar.sync 0;", use_of), 64));
    }
}

/// What a lane knows of a fenced initialisation by `bar.warp.sync`, its own relaxed arrival does not hand over to it.
#[test]
fn a_lane_hands_no_initialisation_over_to_itself() {
    let [_, over] = MEET;
    let relaxed = Item::ClusterArrive { relaxed: true };
    let first = [init("ma", 1), Item::FenceInit, WARP];
    let second = [WARP, relaxed, over, arrive_expecting("ma", 16), bulk_load(), wait("ma", 0)];
    assert_eq!(agree(vec![(0, first.to_vec()), (0, second.to_vec())]), [false, true]);
    let first = [&first[..], &[relaxed, over]].concat();
    assert_eq!(agree(vec![(0, first), (0, second.to_vec())]), [true, true]);
}

/// A fence and an operation on the bytes of an mbarrier are a release pattern, with the scopes of both (8.8).
#[test]
fn a_fence_before_bytes_that_complete_publishes() {
    let x = place("sa", 0);
    let fence = |scope: Scope| Item::Fence { sc: false, scope };
    let complete = |rank: u32, scope: Scope| Item::Complete { at: "ma", bytes: 8, rank, scope };
    // Within a CTA.
    let waiter = (0, vec![BAR, arrive_expecting("ma", 8), wait("ma", 0), load(x)]);
    let with = |fences: &[Item]| {
        vec![(0, [&[init("ma", 1), BAR, store(x)], fences, &[complete(0, Scope::Cta)]].concat()), waiter.clone()]
    };
    assert_eq!(agree(with(&[])), [false, false]);
    assert_eq!(agree(with(&[fence(Scope::Cta)])), [true, true]);
    // A phase that is over without them.
    let nothing = Item::Complete { at: "ma", bytes: 0, rank: 0, scope: Scope::Cta };
    let teller = (0, vec![BAR, store(x), fence(Scope::Cta), nothing]);
    let waiter = (0, vec![init("ma", 1), BAR, arrive("ma"), wait("ma", 0), load(x)]);
    assert_eq!(agree(vec![waiter.clone(), teller.clone()]), [false, false]);
    assert_eq!(agree(vec![teller, waiter]), [false, false]);
    // Of another CTA: the scopes of the fence, of the operation and of the wait have to reach so far.
    let remote = |own: Scope, bytes: Scope, seen: Scope| {
        let last = Item::Wait { at: "ma", parity: 0, acquire: true, scope: seen };
        vec![
            (0, [&[init("ma", 1), Item::FenceInit], &MEET[..], &[arrive_expecting("ma", 8), last, load(x)]].concat()),
            (1, [&MEET[..], &[Item::RemoteStore { to: x, rank: 0 }, fence(own), complete(0, bytes)]].concat()),
        ]
    };
    let (cta, cluster) = (Scope::Cta, Scope::Cluster);
    assert_eq!(agree(remote(cluster, cluster, cluster)), [true, true]);
    assert_eq!(agree(remote(cta, cluster, cluster)), [false, false]);
    assert_eq!(agree(remote(cluster, cta, cluster)), [false, false]);
    assert_eq!(agree(remote(cluster, cluster, cta)), [false, false]);
}

/// The same with bytes that are expected, where the phase cannot be over before.
#[test]
fn a_fence_before_bytes_that_are_expected_publishes() {
    let x = place("sa", 0);
    let with = |fences: &[Item]| {
        let expect = Item::Expect { at: "ma", bytes: 16 };
        let last = [expect, bulk_load(), BAR];
        vec![
            (0, [&[init("ma", 1), BAR, store(place("sb", 0))], fences, &last].concat()),
            (0, vec![BAR, BAR, arrive("ma"), wait("ma", 0), load(x)]),
            (0, vec![BAR, wait("ma", 0), load(place("sb", 0)), BAR]),
        ]
    };
    let with = |fences: &[Item]| {
        let mut threads = with(fences);
        threads[2].1.pop();
        threads[2].1.insert(1, BAR);
        threads
    };
    let answers = agree(with(&[Item::Fence { sc: false, scope: Scope::Cta }]));
    assert_eq!(answers, [true, true]);
}
