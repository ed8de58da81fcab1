//! Work on several threads, results in order. The receiver sees result `i` as soon as results `0..=i` are there, so
//! output streams and is still deterministic.
//!
//! Work runs on threads with large stacks, also that of one job: the first thread's stack is what the system gives. The
//! first thread watches meanwhile: it measures the memory of the process, and in [`supervised`] gives up work that does
//! not end by itself at its limits. Threads cannot be ended from outside; such work goes on beside the rest, and the end
//! of the process ends it.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fencepost_syntax::limits::{self, Ended};

use crate::memory;
use crate::signals::{CANCELLED, cancel_on_interrupt};

/// Address space for each worker's stack; only what is used is memory. Searches descend once per thread, read and pair of
/// writes of a test, and one with thousands of them must not take the run of a whole folder with it. Where the system has
/// less to give, less is taken, and fewer workers are started.
const STACKS: [usize; 4] = [512 << 20, 128 << 20, 32 << 20, 8 << 20];

/// How long the first thread sleeps: a small test is done before it looks at the memory for the first time.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const NEXT_LOOK: Duration = Duration::from_millis(4);

/// How long after Ctrl-C work is waited for that should end by itself.
const PATIENCE: Duration = Duration::from_millis(600);

/// The shares of the memory limit, in percent, at which who works is not waited for any more, and at which nothing more is
/// begun: what was given up goes on until it notices that it was.
const FAR_TOO_MUCH: u64 = 112;
const HOPELESS: u64 = 122;

/// How long a worker waits for memory that others give back.
const FOR_MEMORY: Duration = Duration::from_secs(1);

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

/// Results on their way from the workers to the first thread. The channel only says that one is there: a channel of results
/// would be compiled once for each type of them.
struct Sender<R> {
    results: Arc<Mutex<VecDeque<R>>>,
    bell: mpsc::Sender<()>,
}

struct Receiver<R> {
    results: Arc<Mutex<VecDeque<R>>>,
    bell: mpsc::Receiver<()>,
}

fn channel<R>() -> (Sender<R>, Receiver<R>) {
    let (results, (ring, bell)) = (Arc::new(Mutex::new(VecDeque::new())), mpsc::channel());
    (Sender { results: Arc::clone(&results), bell: ring }, Receiver { results, bell })
}

impl<R> Clone for Sender<R> {
    fn clone(&self) -> Sender<R> {
        Sender { results: Arc::clone(&self.results), bell: self.bell.clone() }
    }
}

impl<R> Sender<R> {
    /// Whether somebody still waits for it.
    fn send(&self, result: R) -> bool {
        self.results.lock().unwrap_or_else(PoisonError::into_inner).push_back(result);
        self.bell.send(()).is_ok()
    }
}

impl<R> Receiver<R> {
    fn recv_timeout(&self, timeout: Duration) -> Result<R, RecvTimeoutError> {
        self.bell.recv_timeout(timeout)?;
        // Each ring follows a result.
        self.results.lock().unwrap_or_else(PoisonError::into_inner).pop_front().ok_or(RecvTimeoutError::Timeout)
    }
}

/// What is left to do, shared by the workers.
struct Queue {
    order: Vec<usize>,
    next: AtomicUsize,
}

impl Queue {
    fn new(order: Vec<usize>) -> Queue {
        Queue { order, next: AtomicUsize::new(0) }
    }

    fn take(&self) -> Option<usize> {
        self.order.get(self.next.fetch_add(1, Ordering::Relaxed)).copied()
    }

    /// One item after the other until there is none left, or nobody wants the results.
    fn work<R>(&self, sender: &Sender<(usize, R)>, work: impl Fn(usize) -> R) {
        let _limits = limits::enter(None, Some(memory::signals()));
        let _end = EndWithPanic;
        while let Some(at) = self.take() {
            wait_for_memory();
            if !sender.send((at, work(at))) {
                return;
            }
        }
    }
}

/// What begins while memory is short would be ended by what others hold.
fn wait_for_memory() {
    let start = Instant::now();
    while memory::is_full() && start.elapsed() < FOR_MEMORY && !CANCELLED.load(Ordering::Relaxed) {
        std::thread::sleep(NEXT_LOOK);
    }
}

/// A worker that panics would be waited for: its panic ends the process, as that of the first thread does.
struct EndWithPanic;

impl Drop for EndWithPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::exit(101);
        }
    }
}

/// Results that came before their turn.
struct Delivery<R> {
    waiting: BTreeMap<usize, R>,
    due: usize,
}

impl<R> Delivery<R> {
    fn new() -> Delivery<R> {
        Delivery { waiting: BTreeMap::new(), due: 0 }
    }

    /// How many have come.
    fn here(&self) -> usize {
        self.due + self.waiting.len()
    }

    fn is_here(&self, at: usize) -> bool {
        at < self.due || self.waiting.contains_key(&at)
    }

    fn deliver(&mut self, at: usize, result: R, receive: &mut impl FnMut(usize, R)) {
        // Most come in their turn.
        if at != self.due {
            self.waiting.insert(at, result);
            return;
        }
        receive(at, result);
        self.due += 1;
        while let Some(result) = self.waiting.remove(&self.due) {
            receive(self.due, result);
            self.due += 1;
        }
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
    let queue = Queue::new(start.order(items.len()));
    let (sender, receiver) = channel();
    let work = |at: usize| work(&items[at]);
    std::thread::scope(|scope| {
        let mut workers = 0;
        for _ in 0..jobs.get().min(items.len()) {
            let spawn = |stack: &usize| {
                let (sender, queue, work) = (sender.clone(), &queue, &work);
                let worker = move || queue.work(&sender, work);
                std::thread::Builder::new().stack_size(*stack).spawn_scoped(scope, worker).is_ok()
            };
            if !STACKS.iter().any(spawn) {
                break;
            }
            workers += 1;
        }
        if workers == 0 {
            queue.work(&sender, work);
        }
        drop(sender);
        let mut delivery = Delivery::new();
        let mut looks = Looks::new();
        loop {
            match receiver.recv_timeout(looks.next) {
                Ok((at, result)) => delivery.deliver(at, result, &mut receive),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if looks.is_due() {
                memory::measure();
            }
        }
    });
}

/// When the first thread looks at the memory and at who is overdue, also while results keep coming.
struct Looks {
    next: Duration,
    last: Instant,
    /// Since when the user waits for the end.
    cancelled: Option<Instant>,
}

impl Looks {
    fn new() -> Looks {
        Looks { next: FIRST_LOOK, last: Instant::now(), cancelled: None }
    }

    fn is_due(&mut self) -> bool {
        let is_due = self.last.elapsed() >= self.next;
        if is_due {
            self.next = NEXT_LOOK;
            self.last = Instant::now();
        }
        is_due
    }

    /// Whether the user asked to stop so long ago that nobody is waited for.
    fn is_cancelled(&mut self) -> bool {
        if self.cancelled.is_none() && CANCELLED.load(Ordering::Relaxed) {
            self.cancelled = Some(self.last);
        }
        self.cancelled.is_some_and(|since| since.elapsed() > PATIENCE)
    }
}

/// One piece of work on a thread with a large stack; which limit it was given up for, if it does not end.
pub(crate) fn alone<R: Send + 'static>(
    limit: Option<Duration>,
    work: impl Fn() -> R + Send + Clone + 'static,
) -> Result<R, Ended> {
    let start = Instant::now();
    let (sender, receiver) = channel();
    let spawn = |stack: &usize| {
        let (sender, work) = (sender.clone(), work.clone());
        let worker = move || {
            let _end = EndWithPanic;
            // Nobody may want it any more.
            sender.send(work());
        };
        std::thread::Builder::new().stack_size(*stack).spawn(worker).is_ok()
    };
    if !STACKS.iter().any(spawn) {
        return Ok(work());
    }
    let mut looks = Looks::new();
    loop {
        if let Ok(result) = receiver.recv_timeout(looks.next) {
            return Ok(result);
        }
        if looks.is_due() && memory::measure() > FAR_TOO_MUCH {
            return Err(Ended::Memory);
        }
        if looks.is_cancelled() {
            return Err(Ended::Cancelled);
        }
        if limit.is_some_and(|limit| start.elapsed() >= limit) {
            return Err(Ended::Time);
        }
    }
}

/// What [`supervised`] asks about an item.
pub(crate) trait Supervised<R>: Sync {
    fn work(&self, at: usize) -> R;

    /// Whether the item is being worked on.
    fn is_begun(&self, at: usize) -> bool;

    /// Whether it should have ended by itself by now.
    fn is_overdue(&self, at: usize) -> bool;

    /// What is known of it when it is not waited for any longer.
    fn give_up(&self, at: usize, ended: Ended) -> R;
}

/// The same as [`in_order`] for work that may not end by itself: what is overdue is given up and replaced by what is known
/// of it. If it takes the memory of the machine, so is all the rest. From the first look on, signals end the searches.
pub(crate) fn supervised<R: Send + 'static>(
    items: &'static impl Supervised<R>,
    count: usize,
    jobs: NonZeroUsize,
    start: Start,
    mut receive: impl FnMut(usize, R),
) {
    let queue: &'static Queue = Box::leak(Box::new(Queue::new(start.order(count))));
    let (sender, receiver) = channel();
    let spawn = || {
        let spawn = |stack: &usize| {
            let sender = sender.clone();
            let worker = move || {
                queue.work(&sender, |at| items.work(at));
                // Nobody waits for the end of this thread, and what it keeps for its next search goes with the process: to
                // give that back piece by piece takes as long as reading a small test.
                loop {
                    std::thread::park();
                }
            };
            std::thread::Builder::new().stack_size(*stack).spawn(worker).is_ok()
        };
        STACKS.iter().any(spawn)
    };
    let workers = (0..jobs.get().min(count)).take_while(|_| spawn()).count();
    if workers == 0 {
        queue.work(&sender, |at| items.work(at));
    }
    let supervisor = Supervisor { items, count, receiver };
    supervisor.supervise(&spawn, &mut receive);
}

struct Supervisor<'a, S, R> {
    items: &'a S,
    count: usize,
    receiver: Receiver<(usize, R)>,
}

impl<R, S: Supervised<R>> Supervisor<'_, S, R> {
    fn supervise(&self, spawn: &dyn Fn() -> bool, receive: &mut impl FnMut(usize, R)) {
        let mut delivery = Delivery::new();
        let mut looks = Looks::new();
        while delivery.due < self.count {
            match self.receiver.recv_timeout(looks.next) {
                Ok((at, result)) if !delivery.is_here(at) => delivery.deliver(at, result, receive),
                // It was given up before, or there is nothing yet.
                Ok(_) | Err(_) => {}
            }
            if !looks.is_due() {
                continue;
            }
            // What is over by now has nothing to save from a signal, and a handler with its thread takes as long to set up
            // as a small test to read.
            cancel_on_interrupt();
            let used = memory::measure();
            if used > HOPELESS {
                return self.give_up(Ended::Memory, &|_| true, &mut delivery, receive);
            }
            if looks.is_cancelled() {
                return self.give_up(Ended::Cancelled, &|_| true, &mut delivery, receive);
            }
            let before = delivery.here();
            if used > FAR_TOO_MUCH {
                self.give_up(Ended::Memory, &|at| self.items.is_begun(at), &mut delivery, receive);
            }
            let is_overdue = |at: usize| self.items.is_begun(at) && self.items.is_overdue(at);
            self.give_up(Ended::Time, &is_overdue, &mut delivery, receive);
            // Others take their place; if there are none to be had, the rest waits for those that work.
            for _ in before..delivery.here() {
                spawn();
            }
        }
    }

    fn give_up(
        &self,
        ended: Ended,
        which: &dyn Fn(usize) -> bool,
        delivery: &mut Delivery<R>,
        receive: &mut impl FnMut(usize, R),
    ) {
        for at in delivery.due..self.count {
            if !delivery.is_here(at) && which(at) {
                delivery.deliver(at, self.items.give_up(at, ended), receive);
            }
        }
    }
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

    /// Every third item never ends.
    struct Endless;

    impl Supervised<String> for Endless {
        fn work(&self, at: usize) -> String {
            if at % 3 == 1 {
                loop {
                    std::thread::sleep(Duration::from_secs(1));
                }
            }
            format!("{at} done")
        }

        fn is_begun(&self, _: usize) -> bool {
            true
        }

        fn is_overdue(&self, at: usize) -> bool {
            at % 3 == 1
        }

        fn give_up(&self, at: usize, ended: Ended) -> String {
            format!("{at} {ended:?}")
        }
    }

    #[test]
    fn work_that_never_ends_is_given_up_and_the_rest_is_done() {
        for jobs in [1, 3] {
            let mut seen = Vec::new();
            let jobs = NonZeroUsize::new(jobs).expect("invariant: positive");
            supervised(&Endless, 10, jobs, Start::FirstToLast, |at, text| seen.push((at, text)));
            let wanted = (0..10).map(|at| (at, format!("{at} {}", if at % 3 == 1 { "Time" } else { "done" })));
            assert_eq!(seen, wanted.collect::<Vec<_>>());
        }
    }
}
