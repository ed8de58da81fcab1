//! What random programs have shown, one program each: answers that were wrong once.

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

const WARP: Item = Item::WarpSync { mask: 3 };
const MEET: [Item; 2] = [Item::ClusterArrive { relaxed: false }, Item::ClusterWait];

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
