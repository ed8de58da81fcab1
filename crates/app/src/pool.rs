//! Work on several threads, results in order. The receiver sees result `i` as soon as results `0..=i` are there, so
//! output streams and is still deterministic.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Address space for each worker's stack; only what is used is memory. Searches descend once per thread, read and pair of
/// writes of a test, and one with thousands of them must not take the run of a whole folder with it.
const STACK: usize = 512 << 20;

/// In which order items are started; results arrive in the items' order all the same.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Start {
    FirstToLast,
    Shuffled(u64),
}

impl Start {
    fn order(self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        if let Start::Shuffled(mut state) = self {
            // Fisher and Yates, with splitmix64 as the source.
            for at in (1..count).rev() {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                order.swap(at, ((mixed ^ mixed >> 31) % (at as u64 + 1)) as usize);
            }
        }
        order
    }
}

/// Applies `work` to every item and hands the results to `receive`, in the order of the items.
pub(crate) fn in_order<T: Sync, R: Send>(
    items: &[T],
    jobs: NonZeroUsize,
    start: Start,
    work: impl Fn(&T) -> R + Sync,
    mut receive: impl FnMut(usize, R),
) {
    let jobs = jobs.get().min(items.len());
    if jobs <= 1 && start == Start::FirstToLast {
        items.iter().enumerate().for_each(|(at, item)| receive(at, work(item)));
        return;
    }
    let order = start.order(items.len());
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let sender = sender.clone();
            let worker = || {
                let sender = sender;
                loop {
                    let Some(&at) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                    let Some(item) = items.get(at) else { return };
                    if sender.send((at, work(item))).is_err() {
                        return;
                    }
                }
            };
            let spawned = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker);
            spawned.expect("invariant: the system has a thread to give, as for `std::thread::spawn`");
        }
        drop(sender);
        let mut waiting = std::collections::BTreeMap::new();
        let mut due = 0;
        for (at, result) in receiver {
            waiting.insert(at, result);
            while let Some(result) = waiting.remove(&due) {
                receive(due, result);
                due += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_arrive_in_order_whatever_the_number_of_jobs() {
        let items: Vec<u64> = (0..100).collect();
        for (jobs, start) in [(1, Start::FirstToLast), (2, Start::FirstToLast), (7, Start::Shuffled(3))] {
            let mut seen = Vec::new();
            let jobs = NonZeroUsize::new(jobs).expect("invariant: positive");
            in_order(&items, jobs, start, |item| item * item, |at, square| seen.push((at as u64, square)));
            assert_eq!(seen, items.iter().map(|&item| (item, item * item)).collect::<Vec<_>>());
        }
    }
}
