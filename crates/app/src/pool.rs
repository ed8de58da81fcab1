//! Work on several threads, results in order. The receiver sees result `i` as soon as results `0..=i` are there, so
//! output streams and is still deterministic.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Applies `work` to every item and hands the results to `receive`, in the order of the items.
pub(crate) fn in_order<T: Sync, R: Send>(
    items: &[T],
    jobs: NonZeroUsize,
    work: impl Fn(&T) -> R + Sync,
    mut receive: impl FnMut(usize, R),
) {
    let jobs = jobs.get().min(items.len());
    if jobs <= 1 {
        items.iter().enumerate().for_each(|(at, item)| receive(at, work(item)));
        return;
    }
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let sender = sender.clone();
            scope.spawn(|| {
                let sender = sender;
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { return };
                    if sender.send((at, work(item))).is_err() {
                        return;
                    }
                }
            });
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
        for jobs in [1, 2, 7] {
            let mut seen = Vec::new();
            let jobs = NonZeroUsize::new(jobs).expect("invariant: positive");
            in_order(&items, jobs, |item| item * item, |at, square| seen.push((at as u64, square)));
            assert_eq!(seen, items.iter().map(|&item| (item, item * item)).collect::<Vec<_>>());
        }
    }
}
