//! What random programs have shown, one program each: answers that were wrong once.

use fencepost_kernel::check::{Limits, check};
use fencepost_kernel::launch::Launch;
use fencepost_kernel::report::Finding;

use crate::compare::compare;
use crate::patterns::{BAR, FENCE, arrive, arrive_expecting, bulk_load, init, load, store, wait};
use crate::program::{Cover, Item, Layout, Program, Scope, place};
use crate::sides::{self, Kernel, Readings};

fn runs(threads: Vec<(u32, Vec<Item>)>, layout: Layout) -> [Kernel; 2] {
    let program = Program::new(threads);
    [Readings::Weakest, Readings::Strongest].map(|readings| sides::kernel(&program, layout, readings, 0))
}

fn races(threads: Vec<(u32, Vec<Item>)>, layout: Layout) -> [Vec<(u32, u32)>; 2] {
    runs(threads, layout).map(|kernel| kernel.races.into_iter().collect())
}

pub(crate) const WARP: Item = Item::WarpSync { mask: 3 };
pub(crate) const MEET: [Item; 2] = [Item::ClusterArrive { relaxed: false }, Item::ClusterWait];

#[test]
fn a_weak_store_races_in_spite_of_a_strong_one_behind_it() {
    let x = place("ga", 0);
    let (strong, asked) =
        (Item::Store { to: x, scope: Some(Scope::Gpu) }, Item::Load { from: x, scope: Some(Scope::Gpu) });
    let found = races(vec![(0, vec![store(x), strong]), (0, vec![asked])], Layout::Warps);
    assert_eq!(found, [vec![(0, 2)], vec![(0, 2)]]);
}

#[test]
fn a_wait_that_may_come_first_races_with_the_initialisation() {
    let found = races(vec![(0, vec![init("ma", 1), arrive("ma")]), (0, vec![wait("ma", 0)])], Layout::Warps);
    assert_eq!(found, [vec![(0, 2)], vec![(0, 2)]]);
}

#[test]
fn bytes_are_shown_to_a_relaxed_wait_by_the_fence_behind_it() {
    let asked = Item::Wait { at: "ma", parity: 0, acquire: false, scope: Scope::Cta };
    let copy = vec![init("ma", 1), BAR, arrive_expecting("ma", 16), bulk_load()];
    let reader = |fence: &[Item]| [&[BAR, asked], fence, &[load(place("sa", 0))]].concat();
    let found = races(vec![(0, copy.clone()), (0, reader(&[]))], Layout::Warps);
    assert_eq!(found, [vec![(3, 6)], vec![(3, 6)]]);
    let fence = Item::Fence { sc: false, scope: Scope::Cta };
    assert!(runs(vec![(0, copy), (0, reader(&[fence]))], Layout::Warps).iter().all(Kernel::is_proved));
}

#[test]
fn a_cluster_barrier_waits_for_those_that_live() {
    let y = place("ga", 0);
    let [here, over] = MEET;
    let threads = vec![(0, vec![store(y), here]), (1, vec![here, over, load(y)])];
    assert!(runs(threads, Layout::Warps).iter().all(Kernel::is_proved));
}

#[test]
fn an_mbarrier_ends_after_what_it_counts() {
    let inval = Item::Inval { at: "ma" };
    let alone = |end: &[Item]| vec![(0, [&[init("ma", 1), arrive_expecting("ma", 16), bulk_load()], end].concat())];
    assert_eq!(races(alone(&[inval]), Layout::Warps), [vec![(2, 3)], vec![(2, 3)]]);
    assert!(runs(alone(&[wait("ma", 0), inval]), Layout::Warps).iter().all(Kernel::is_proved));
}

#[test]
fn a_lane_that_ends_late_is_not_waited_for() {
    let threads = vec![(0, vec![BAR, load(place("ga", 0))]), (0, vec![])];
    assert!(runs(threads, Layout::Lanes).iter().all(Kernel::is_proved));
}

#[test]
fn a_generation_hands_over_what_came_before_it() {
    let x = place("sa", 0);
    let again = |arrive| Item::Bar { id: 0, warps: Some(2), arrive };
    // The first thread meets itself before the second goes on.
    let threads = vec![(0, vec![again(false), load(x), again(true), again(false)]), (0, vec![again(false), store(x)])];
    for seed in [0, 0x9e37_79b9, 0x1234_5678_9abc] {
        let kernel = sides::kernel(&Program::new(threads.clone()), Layout::Warps, Readings::Weakest, seed);
        assert!(kernel.races.contains(&(1, 5)), "{kernel:?}");
    }
}

#[test]
fn a_fence_of_shared_cta_is_about_mapped_addresses_at_most() {
    let [here, over] = MEET;
    let fence = Item::FenceAsync(Cover::SharedCta);
    let copy = Item::BulkPeer { to: "sb", from: "sa", at: "ma", rank: 1 };
    let threads = vec![(0, vec![here, over, fence, copy]), (1, vec![init("ma", 1), load(place("sb", 0)), here])];
    assert_eq!(races(threads, Layout::Warps), [vec![(3, 5)], vec![(3, 5)]]);
}

#[test]
fn a_barrier_of_a_warp_orders_accesses_and_perhaps_copies() {
    let x = place("sa", 0);
    let proved = |threads| runs(threads, Layout::Lanes).map(|kernel| kernel.is_proved());
    assert_eq!(proved(vec![(0, vec![store(x), WARP]), (0, vec![WARP, load(x)])]), [true, true]);
    let copy = vec![Item::Copy { to: x, from: place("ga", 0) }, Item::CopyWait { pending: None }, WARP];
    assert_eq!(proved(vec![(0, copy.clone()), (0, vec![WARP, load(x)])]), [false, true]);
    assert_eq!(proved(vec![(0, [copy, vec![BAR]].concat()), (0, vec![WARP, BAR, load(x)])]), [true, true]);
    let out = vec![WARP, Item::BulkStore { to: "ga", from: "sa" }];
    assert_eq!(proved(vec![(0, vec![store(x), FENCE, WARP]), (0, out)]), [false, true]);
}

/// What the run and the axioms say under the weakest and the strongest readings: proved or not, and alike.
pub(crate) fn agree(threads: Vec<(u32, Vec<Item>)>) -> [bool; 2] {
    let program = Program::new(threads);
    [Readings::Weakest, Readings::Strongest].map(|readings| {
        let compared = compare(&program, readings);
        assert!(compared.kinds.is_empty(), "{:?} {:?} {:?}", compared.kinds, compared.kernel, compared.model);
        let right = compared.model.is_clean();
        assert_eq!(compared.kernel.is_proved(), right, "{:?} {:?}", compared.kernel, compared.model);
        right
    })
}

pub(crate) const OUT: [Item; 3] =
    [Item::BulkStore { to: "gb", from: "sa" }, Item::BulkCommit, Item::BulkWait { pending: 0, reads: false }];

#[test]
fn what_a_lane_hands_to_itself_is_not_handed_over() {
    let x = place("sa", 0);
    let writer = |end: &[Item]| (0, [&[store(x), FENCE, WARP], end].concat());
    let copier = |between: &[Item]| (0, [&[WARP], between, &OUT].concat());
    let own = [init("ma", 1), arrive("ma"), wait("ma", 0)];
    assert_eq!(agree(vec![writer(&[]), copier(&own)]), [false, true]);
    // Through another that waits as well, it is.
    assert_eq!(agree(vec![writer(&[]), copier(&[BAR]), (0, vec![BAR])]), [true, true]);
    // For others it is handed over.
    let told = (0, vec![init("ma", 1), BAR, WARP, arrive("ma")]);
    let first = (0, vec![BAR, store(x), FENCE, WARP]);
    let other = (0, [&[BAR, wait("ma", 0)], &OUT[..]].concat());
    assert_eq!(agree(vec![told, first, other]), [true, true]);
    // Whoever waits at the barrier of the cluster does not arrive there again.
    let [_, over] = MEET;
    let relaxed = Item::ClusterArrive { relaxed: true };
    assert_eq!(agree(vec![writer(&[relaxed, over]), copier(&MEET), (0, MEET.to_vec())]), [false, true]);
}

#[test]
fn what_a_lane_has_waited_for_itself_is_not_handed_over() {
    let x = place("sa", 0);
    let fill = [arrive_expecting("ma", 16), bulk_load()];
    let start = [init("ma", 1), init("mb", 1), BAR];
    let own = |end: &[Item]| (0, [&start, &fill[..], end].concat());
    assert_eq!(agree(vec![own(&[wait("ma", 0), WARP]), (0, vec![BAR, WARP, load(x)])]), [false, true]);
    // Another has waited, or has been told.
    let meet = Item::WarpSync { mask: 6 };
    let waits = (0, vec![BAR, wait("ma", 0), meet]);
    assert_eq!(agree(vec![own(&[]), waits, (0, vec![BAR, meet, load(x)])]), [true, true]);
    let told = (0, vec![BAR, wait("mb", 0), meet]);
    assert_eq!(agree(vec![own(&[wait("ma", 0), arrive("mb")]), told, (0, vec![BAR, meet, load(x)])]), [true, true]);
    // A message to itself does not do.
    let alone = [&OUT[..], &[init("ma", 1), arrive("ma"), wait("ma", 0), WARP]].concat();
    assert_eq!(agree(vec![(0, alone), (0, vec![WARP, store(x)])]), [false, true]);
}

#[test]
fn two_halves_of_an_order_are_none() {
    // From the wait to the copy lead one way that begins with `bar.warp.sync`, and one that ends with it.
    let (first, last) = (Item::WarpSync { mask: 3 }, Item::WarpSync { mask: 12 });
    let [copy, commit, done] = OUT;
    let threads = vec![
        (0, vec![init("ma", 1), init("mb", 1), BAR, copy, commit, done, arrive("ma"), first]),
        (0, vec![BAR, first, arrive("mb")]),
        (0, vec![BAR, wait("ma", 0), last]),
        (0, vec![BAR, wait("mb", 0), last, Item::BulkStore { to: "gb", from: "sb" }, commit, done]),
    ];
    let proved = races(threads.clone(), Layout::Lanes).map(|found| found.is_empty());
    assert_eq!(proved, [false, true]);
    let program = Program::new(threads);
    let model = sides::model(&program, Readings::Weakest);
    assert!(!model.races.is_empty(), "{model:?}");
}

#[test]
fn a_wait_counts_for_what_comes_behind_it() {
    let product = [Item::WgmmaFence, Item::Wgmma { from: "sa" }, Item::WgmmaCommit, Item::WgmmaWait { pending: 0 }];
    let copy = Item::TensorIn { to: "sa", at: "ma" };
    let fill = [arrive_expecting("ma", 16), copy];
    let first = [&[init("ma", 1), init("mb", 1), BAR], &fill[..], &[wait("mb", 0)], &fill[..]].concat();
    let second = [&[BAR, wait("ma", 0)], &product[..], &[arrive("mb")], &product[..], &[wait("ma", 1)]].concat();
    assert_eq!(agree(vec![(0, first), (0, second)]), [false, false]);
}

#[test]
fn a_product_needs_a_fence_behind_its_registers() {
    let product = [Item::Wgmma { from: "sa" }, Item::WgmmaCommit, Item::WgmmaWait { pending: 0 }];
    let fenced = [&[Item::WgmmaFence], &product[..]].concat();
    let then = |between: &[Item]| vec![(0, [&fenced[..], between, &product[..]].concat())];
    assert_eq!(agree(vec![(0, product.to_vec())]), [false, false]);
    assert_eq!(agree(then(&[])), [true, true]);
    assert_eq!(agree(then(&[Item::WgmmaWrite])), [false, false]);
    assert_eq!(agree(then(&[Item::WgmmaRead])), [false, false]);
    assert_eq!(agree(then(&[Item::WgmmaWrite, Item::WgmmaFence])), [true, true]);
    assert_eq!(agree(vec![(0, [&fenced[..2], &[Item::WgmmaRead], &fenced[2..]].concat())]), [false, false]);
}

#[test]
fn bytes_that_never_come_are_missed_at_the_end() {
    let expect = Item::Expect { at: "ma", bytes: 16 };
    assert_eq!(agree(vec![(0, vec![init("ma", 1), expect])]), [false, false]);
    assert_eq!(agree(vec![(0, vec![init("ma", 1), expect, bulk_load()])]), [true, true]);
    assert_eq!(agree(vec![(0, vec![init("ma", 1), expect, Item::Inval { at: "ma" }])]), [false, false]);
}

#[test]
fn a_copy_into_another_cta_is_over_before_that_ends() {
    let [here, over] = MEET;
    let copy = Item::StoreAsync { to: place("sa", 0), at: "ma", rank: 1 };
    let receiver = |end: &[Item]| (1, [&[init("ma", 1), here, over, arrive_expecting("ma", 8)], end].concat());
    assert_eq!(agree(vec![(0, vec![here, over, copy]), receiver(&[])]), [false, false]);
    assert_eq!(agree(vec![(0, vec![here, over, copy]), receiver(&[wait("ma", 0)])]), [true, true]);
}

#[test]
fn copies_to_tensor_memory_follow_products_of_their_thread() {
    let mma = |wide| Item::Mma { to: "ta", from: ["sa", "sb"], wide };
    let copy = Item::TensorCopy { to: "ta", from: "sa" };
    assert_eq!(agree(vec![(0, vec![mma(false), copy])]), [true, true]);
    assert_eq!(agree(vec![(0, vec![mma(false), mma(true)])]), [false, false]);
    assert_eq!(agree(vec![(0, vec![mma(false), copy, mma(true)])]), [true, true]);
}

#[test]
fn a_message_to_itself_does_not_hand_over_its_own_copy() {
    let own = [arrive_expecting("ma", 16), bulk_load(), wait("ma", 0), arrive("mb"), wait("mb", 0), WARP];
    let first = [&[init("ma", 1), init("mb", 1), BAR], &own[..]].concat();
    assert_eq!(agree(vec![(0, first), (0, vec![BAR, WARP, load(place("sa", 0))])]), [false, true]);
}

#[test]
fn lanes_that_wait_together_receive_from_each_other() {
    let [_, over] = MEET;
    let relaxed = Item::ClusterArrive { relaxed: true };
    let threads = vec![
        (0, vec![store(place("sa", 0)), FENCE, WARP, relaxed, over]),
        (0, [&[WARP], &MEET[..]].concat()),
        (0, [&MEET[..], &OUT[..]].concat()),
    ];
    assert_eq!(agree(threads), [true, true]);
}

#[test]
fn a_phase_seen_in_the_warp_is_seen_in_execution_order() {
    let meet = Item::WarpSync { mask: 6 };
    let seen = Item::Wait { at: "ma", parity: 0, acquire: false, scope: Scope::Cta };
    let mma = Item::Mma { to: "ta", from: ["sa", "sb"], wide: false };
    let read = [Item::TensorLoad { from: "ta" }, Item::TensorWait { load: true }];
    let threads = |after: &[Item]| {
        vec![
            (0, vec![init("ma", 1), BAR, mma, Item::TensorCommit { at: "ma" }]),
            (0, vec![BAR, seen, meet]),
            (0, [&[BAR, meet], after, &read[..]].concat()),
        ]
    };
    assert_eq!(agree(threads(&[Item::TensorAfter])), [true, true]);
    assert_eq!(agree(threads(&[])), [false, false]);
}

#[test]
fn tensor_memory_is_handed_over_between_two_fences() {
    let write = [Item::TensorStore { to: "ta" }, Item::TensorWait { load: false }];
    let read = [Item::TensorLoad { from: "ta" }, Item::TensorWait { load: true }];
    let threads = |before: &[Item], after: &[Item]| {
        vec![(0, [&write[..], before, &[BAR]].concat()), (0, [&[BAR], after, &read[..]].concat())]
    };
    assert_eq!(agree(threads(&[Item::TensorBefore], &[Item::TensorAfter])), [true, true]);
    assert_eq!(agree(threads(&[], &[Item::TensorAfter])), [false, true]);
    assert_eq!(agree(threads(&[Item::TensorBefore], &[])), [false, true]);
}

#[test]
fn a_copy_of_a_thread_is_fenced_when_it_is_over() {
    let copy = [Item::Copy { to: place("sa", 0), from: place("ga", 0) }, Item::CopyWait { pending: None }];
    let threads = |fence: &[Item]| vec![(0, [&copy[..], fence, &[BAR]].concat()), (0, [&[BAR], &OUT[..]].concat())];
    assert_eq!(agree(threads(&[FENCE])), [true, true]);
    assert_eq!(agree(threads(&[])), [false, false]);
}

#[test]
fn a_relaxed_barrier_hands_over_initialisations_that_are_fenced() {
    let [_, over] = MEET;
    let relaxed = Item::ClusterArrive { relaxed: true };
    let threads = |fence: &[Item]| {
        vec![(0, [&[init("ma", 1)], fence, &[relaxed, over]].concat()), (0, vec![relaxed, over, arrive("ma")])]
    };
    assert_eq!(agree(threads(&[Item::FenceInit])), [true, true]);
    assert_eq!(agree(threads(&[])), [false, false]);
}

/// A fence of the writer alone is right by practice, one of the reader's CTA by the paper (reading async-fence).
#[test]
fn between_two_ctas_it_takes_two_fences() {
    let threads = |early: &[Item], late: &[Item]| {
        let copy = [arrive_expecting("ma", 16), bulk_load(), wait("ma", 0)];
        vec![
            (0, [&[store(place("ga", 0))], early, &MEET[..]].concat()),
            (1, [&[init("ma", 1)], &MEET[..], late, &copy[..]].concat()),
        ]
    };
    assert_eq!(agree(threads(&[FENCE], &[FENCE])), [true, true]);
    assert_eq!(agree(threads(&[FENCE], &[])), [false, true]);
    assert_eq!(agree(threads(&[], &[FENCE])), [false, true]);
    assert_eq!(agree(threads(&[], &[])), [false, false]);
}

#[test]
fn a_fence_stands_behind_what_it_is_about() {
    let x = place("sa", 0);
    assert_eq!(agree(vec![(0, [&[store(x), FENCE], &OUT[..]].concat())]), [true, true]);
    assert_eq!(agree(vec![(0, [&[FENCE, store(x)], &OUT[..]].concat())]), [false, false]);
}

/// Whether the end of a product is a fence for its operands is the reading tcgen05-completion-fence.
#[test]
fn operands_of_a_product_are_written_again_behind_a_fence() {
    let mma = Item::Mma { to: "ta", from: ["sa", "sb"], wide: false };
    let threads = |fence: &[Item]| {
        let first = [init("ma", 1), mma, Item::TensorCommit { at: "ma" }, wait("ma", 0)];
        vec![(0, [&first[..], fence, &[store(place("sa", 0))]].concat())]
    };
    assert_eq!(agree(threads(&[FENCE])), [true, true]);
    assert_eq!(agree(threads(&[])), [false, true]);
}

/// Order across proxies is not transitive: the first store is fenced by nobody that made it.
#[test]
fn what_is_overwritten_may_still_race() {
    let x = place("sa", 0);
    let last = [&[BAR, BAR], &OUT[..]].concat();
    let threads = vec![(0, vec![store(x), BAR, BAR]), (0, vec![BAR, store(x), FENCE, BAR]), (0, last)];
    assert_eq!(agree(threads), [false, true]);
}

#[test]
fn strong_accesses_compete_within_both_scopes_and_on_the_same_bytes() {
    let x = place("ga", 0);
    let (write, read) =
        (|scope| Item::Store { to: x, scope: Some(scope) }, |scope| Item::Load { from: x, scope: Some(scope) });
    for (first, second, right) in
        [(Scope::Gpu, Scope::Gpu, true), (Scope::Cta, Scope::Gpu, false), (Scope::Gpu, Scope::Cta, false)]
    {
        let found = races(vec![(0, vec![write(first)]), (1, vec![read(second)])], Layout::Warps);
        assert_eq!(found.map(|found| found.is_empty()), [right, right], "{first:?} {second:?}");
    }
    let kernel = |read: &str| {
        format!(
            "setp.eq.u32 %p0, %r0, 0;\nmov.u64 %rd0, ga;\n@%p0 st.relaxed.gpu.global.u64 [%rd0], 1;\n\
             setp.eq.u32 %p1, %r0, 32;\n@%p1 {read};\nexit;"
        )
    };
    assert!(found(&kernel("ld.relaxed.gpu.global.u64 %rd1, [%rd0]"), 64).is_empty());
    for read in ["ld.relaxed.gpu.global.u32 %r1, [%rd0]", "ld.relaxed.gpu.global.v2.u32 {%r1, %r2}, [%rd0]"] {
        assert!(matches!(found(&kernel(read), 64)[..], [Finding::Race { .. }]), "{read}");
    }
}

/// What a whole check of a kernel without parameters finds.
pub(crate) fn found(body: &str, threads: u32) -> Vec<Finding> {
    let text = format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.global .align 16 .b64 ga[2];\n.visible .entry k() {{\n\
         .shared .align 16 .b64 sa[2];\n.shared .align 8 .b64 ma;\n.shared .align 4 .u32 slot;\n\
         .reg .u32 %r<8>;\n.reg .u64 %rd<4>;\n.reg .pred %p<8>;\nmov.u32 %r0, %tid.x;\n{body}\n}}\n"
    );
    let module = sides::module(&text);
    let program = Program::new(vec![(0, vec![])]);
    let launch = Launch { block: [threads, 1, 1], ..sides::launch(&program, Layout::Warps) };
    check(&module, &module.entries[0], &launch, &Limits::default()).findings
}

/// Columns are freed behind a load: what its thread has waited for must be handed over (9.7.18.6.3).
#[test]
fn a_deallocation_comes_after_what_was_handed_over() {
    // The first warp loads, the fifth frees; those between are at their end.
    let kernel = |fence: &str| {
        format!(
            "setp.lt.u32 %p0, %r0, 32;\nsetp.ge.u32 %p1, %r0, 128;\nor.pred %p2, %p0, %p1;\n@!%p2 exit;\n\
             @%p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;\nbar.sync 0;\n\
             ld.shared.u32 %r1, [slot];\n@%p1 bra OTHER;\n\
             tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r2}}, [%r1];\ntcgen05.wait::ld.sync.aligned;\n{fence}\n\
             barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\nexit;\nOTHER:\n\
             barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n\
             tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;\nexit;"
        )
    };
    assert!(matches!(found(&kernel(""), 160)[..], [Finding::Race { .. }]));
    assert!(found(&kernel("tcgen05.fence::before_thread_sync;"), 160).is_empty());
}

/// Two lanes copy in one instruction, and one of them arrives or waits.
#[test]
fn an_arrival_or_a_wait_behind_copies_is_about_those_of_its_lane() {
    let waiting = |offset: u32| {
        format!(
            "setp.eq.u32 %p0, %r0, 0;\nsetp.lt.u32 %p1, %r0, 2;\nsetp.eq.u32 %p2, %r0, 2;\n\
             mov.u32 %r1, sa;\nshl.b32 %r2, %r0, 3;\nadd.u32 %r1, %r1, %r2;\nmov.u64 %rd0, ga;\n\
             @%p1 cp.async.ca.shared.global [%r1], [%rd0], 8;\n@%p0 cp.async.wait_all;\nbar.sync 0;\n\
             @%p2 ld.shared.u64 %rd1, [sa+{offset}];\nexit;"
        )
    };
    assert!(found(&waiting(0), 32).is_empty());
    assert!(matches!(found(&waiting(8), 32)[..], [Finding::Race { .. }]));
    let kernel = |offset: u32| {
        format!(
            "setp.eq.u32 %p0, %r0, 0;\nsetp.lt.u32 %p1, %r0, 2;\nsetp.eq.u32 %p2, %r0, 2;\n\
             @%p0 mbarrier.init.shared::cta.b64 [ma], 1;\nbar.sync 0;\n\
             mov.u32 %r1, sa;\nshl.b32 %r2, %r0, 3;\nadd.u32 %r1, %r1, %r2;\nmov.u64 %rd0, ga;\n\
             @%p1 cp.async.ca.shared.global [%r1], [%rd0], 8;\n\
             @%p0 cp.async.mbarrier.arrive.noinc.shared::cta.b64 [ma];\n@!%p2 exit;\n\
             W:\nmbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p3, [ma], 0;\n@!%p3 bra W;\n\
             ld.shared.u64 %rd1, [sa+{offset}];\nexit;"
        )
    };
    assert!(found(&kernel(0), 32).is_empty());
    assert!(matches!(found(&kernel(8), 32)[..], [Finding::Race { .. }]));
}

/// `fence.mbarrier_init` is about initialisations, and a store is none.
#[test]
fn a_relaxed_barrier_hands_over_no_stores() {
    let relaxed = [Item::ClusterArrive { relaxed: true }, Item::ClusterWait];
    let x = place("ga", 0);
    let writer = [&[store(x), Item::FenceInit][..], &relaxed, &MEET].concat();
    let reader = [&relaxed[..], &[load(x)], &MEET].concat();
    assert_eq!(agree(vec![(0, writer), (1, reader)]), [false, false]);
}

#[test]
fn a_barrier_of_a_warp_may_not_order_what_is_started() {
    let x = place("ga", 0);
    let copy = [Item::Copy { to: place("sa", 0), from: x }, Item::CopyWait { pending: None }];
    assert_eq!(agree(vec![(0, vec![store(x), WARP]), (0, [&[WARP], &copy[..]].concat())]), [false, true]);
}

#[test]
fn a_proxy_fence_stands_behind_the_end_of_a_copy() {
    let (copy, end) = (Item::Copy { to: place("sa", 0), from: place("ga", 0) }, Item::CopyWait { pending: None });
    assert_eq!(agree(vec![(0, [&[copy, end, FENCE], &OUT[..]].concat())]), [true, true]);
    assert_eq!(agree(vec![(0, [&[copy, FENCE, end], &OUT[..]].concat())]), [false, false]);
}

#[test]
fn a_fence_of_the_writer_stands_behind_its_write() {
    let x = place("sa", 0);
    let copier = (0, [&[BAR, FENCE], &OUT[..]].concat());
    assert_eq!(agree(vec![(0, vec![FENCE, store(x), BAR]), copier.clone()]), [false, true]);
    assert_eq!(agree(vec![(0, vec![store(x), FENCE, BAR]), copier]), [true, true]);
}

#[test]
fn products_of_two_threads_are_no_pipeline_by_themselves() {
    let mma = Item::Mma { to: "ta", from: ["sa", "sb"], wide: false };
    assert_eq!(agree(vec![(0, vec![mma]), (0, vec![mma])]), [false, false]);
}

/// A store before an arrival at the mbarrier of another CTA, and a load behind the wait there: scopes of the arrival, of what releases,
/// of the wait and of what acquires include both ends (8.8).
#[test]
fn an_arrival_and_a_wait_include_each_other() {
    use Scope::{Cluster, Cta};
    let x = place("ga", 0);
    let fence = |scope: Scope| Item::Fence { sc: false, scope };
    let ends = |arrive: (bool, Scope), wait: (bool, Scope), fences: [Option<Scope>; 2]| {
        let told = Item::Arrive { at: "ma", rank: Some(1), release: arrive.0, scope: arrive.1, expect: None, count: 1 };
        let seen = Item::Wait { at: "ma", parity: 0, acquire: wait.0, scope: wait.1 };
        let [before, behind] = fences.map(|scope| scope.map(fence));
        let first: Vec<Item> = MEET.into_iter().chain([store(x)]).chain(before).chain([told]).chain(MEET).collect();
        let second: Vec<Item> =
            [init("ma", 1)].into_iter().chain(MEET).chain([seen]).chain(behind).chain([load(x)]).chain(MEET).collect();
        agree(vec![(0, first), (1, second)])
    };
    let none = [None, None];
    for (arrive, wait, fences, ordered) in [
        ((true, Cluster), (true, Cluster), none, true),
        ((true, Cta), (true, Cluster), none, false),
        ((true, Cluster), (true, Cta), none, false),
        ((false, Cluster), (true, Cluster), none, false),
        ((true, Cluster), (false, Cluster), none, false),
        ((false, Cluster), (true, Cluster), [Some(Cluster), None], true),
        ((false, Cluster), (true, Cluster), [Some(Cta), None], false),
        ((false, Cta), (true, Cluster), [Some(Cluster), None], false),
        ((true, Cluster), (false, Cluster), [None, Some(Cluster)], true),
        ((true, Cluster), (false, Cluster), [None, Some(Cta)], false),
    ] {
        assert_eq!(ends(arrive, wait, fences), [ordered; 2], "{arrive:?} {wait:?} {fences:?}");
    }
}
