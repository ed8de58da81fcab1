//! Expanding the frontier, a batch at a time.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use fencepost_program::unfolding::FinalState;
use fencepost_syntax::limits::{self, Ended};
use fencepost_syntax::sorted::{SharedSort as _, SortedMap};

use crate::explore::store::{Arrivals, SHARDS, Shard, Store, hash, shard_of};
use crate::explore::{Aim, Extent, Limits, StateId, Stop, Tally};
use crate::machine::{CrashState, Cut, Ending, Machine, Stuck};

/// States per batch. Whatever the number of threads, so that a limit on states ends every run of a machine at the same place.
const BATCH: usize = 1 << 13;
/// Below this, threads cost more than they bring.
const WORTH_THREADS: usize = 1 << 10;

pub(super) struct Explorer<'e, 'm, M: Machine> {
    machine: &'m M,
    aim: &'e Aim<'e>,
    limits: &'e Limits<'e>,
    pub(super) store: Store,
    pub(super) outcomes: BTreeMap<FinalState, Tally>,
    pub(super) stuck: SortedMap<Stuck, Tally>,
    pub(super) crashes: BTreeMap<CrashState, Tally>,
    pub(super) crash: Option<StateId>,
    pub(super) transitions: u64,
    pub(super) depth: u32,
    cut: Option<Cut>,
    workers: Vec<Worker<M>>,
}

/// What one worker brings home from its part of a batch, and what it computes with.
struct Worker<M: Machine> {
    arrivals: Vec<Arrivals>,
    ends: Vec<(Ending, StateId)>,
    crashes: BTreeMap<CrashState, Tally>,
    crash: Option<StateId>,
    transitions: u64,
    state: M::State,
    after: M::State,
    steps: Vec<M::Step>,
    words: Vec<u64>,
}

impl<M: Machine> Worker<M> {
    fn new(machine: &M) -> Worker<M> {
        let state = machine.initial();
        Worker {
            arrivals: vec![Arrivals::default(); SHARDS],
            ends: Vec::new(),
            crashes: BTreeMap::new(),
            crash: None,
            transitions: 0,
            after: state.clone(),
            state,
            steps: Vec::new(),
            words: vec![0; machine.words() as usize],
        }
    }

    fn clear(&mut self) {
        self.arrivals.iter_mut().for_each(Arrivals::clear);
        self.ends.clear();
        self.crashes.clear();
        self.crash = None;
        self.transitions = 0;
    }
}

impl<'e, 'm, M: Machine> Explorer<'e, 'm, M> {
    pub(super) fn new(machine: &'m M, aim: &'e Aim<'e>, limits: &'e Limits<'e>) -> Explorer<'e, 'm, M> {
        Explorer {
            machine,
            aim,
            limits,
            store: Store::new(machine.words() as usize),
            outcomes: BTreeMap::new(),
            stuck: SortedMap::new(),
            crashes: BTreeMap::new(),
            crash: None,
            transitions: 0,
            depth: 0,
            cut: None,
            workers: vec![Worker::new(machine)],
        }
    }

    pub(super) fn run(&mut self) -> Extent {
        let mut words = vec![0; self.machine.words() as usize];
        self.machine.pack(&self.machine.initial(), &mut words);
        let initial = self.store.insert_initial(&words);
        if matches!(self.aim, Aim::Decide(_)) {
            return self.dive(initial);
        }
        let mut frontier = vec![initial];
        while !frontier.is_empty() {
            let mut next = Vec::new();
            let mut rest = &frontier[..];
            while !rest.is_empty() {
                if let Some(stop) = self.limit() {
                    return Extent::Incomplete(stop);
                }
                let batch;
                (batch, rest) = rest.split_at(self.batch().min(rest.len()));
                self.expand(batch);
                if self.gather() {
                    return Extent::Found;
                }
                self.absorb(&mut next);
            }
            self.depth += u32::from(!next.is_empty());
            frontier = next;
        }
        self.cut.map_or(Extent::Complete, |cut| Extent::Incomplete(Stop::Cut(cut)))
    }

    /// Depth first: the last state found is expanded first, and of its successors those by the first transitions.
    fn dive(&mut self, initial: StateId) -> Extent {
        let mut stack = vec![initial];
        let mut fresh = Vec::new();
        let mut expanded = 0u32;
        while let Some(id) = stack.pop() {
            // The clock costs more than a small step.
            let stop = if expanded.is_multiple_of(1024) { self.limit() } else { self.limit_of_states() };
            if let Some(stop) = stop {
                return Extent::Incomplete(stop);
            }
            expanded = expanded.wrapping_add(1);
            self.expand(&[id]);
            if self.gather() {
                return Extent::Found;
            }
            self.absorb(&mut fresh);
            fresh.shared_sort_by_key(|id| std::cmp::Reverse(self.store.origin(*id).map(|origin| origin.step)));
            stack.append(&mut fresh);
        }
        self.cut.map_or(Extent::Complete, |cut| Extent::Incomplete(Stop::Cut(cut)))
    }

    /// No larger than what is left of the limit on states, which is overstepped by the successors of a batch at most.
    fn batch(&self) -> usize {
        let left = self.limits.states.saturating_sub(self.store.len());
        usize::try_from(left).unwrap_or(usize::MAX).clamp(1, BATCH)
    }

    /// Exactly as many states as the limit says are within it.
    fn limit_of_states(&self) -> Option<Stop> {
        (self.store.len() > self.limits.states.min(u64::from(u32::MAX))).then_some(Stop::States)
    }

    fn limit(&self) -> Option<Stop> {
        let own = self.limits;
        if own.cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            Some(Stop::Cancelled)
        } else if own.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Some(Stop::Time)
        } else if let Some(stop) = self.limit_of_states() {
            Some(stop)
        } else if limits::is_over() {
            limits::ended().map(|ended| match ended {
                Ended::Time => Stop::Time,
                Ended::Memory => Stop::Memory,
                Ended::Cancelled => Stop::Cancelled,
                Ended::Work => Stop::States,
            })
        } else if own.memory.is_some_and(|most| self.store.bytes() > most) {
            Some(Stop::Memory)
        } else {
            None
        }
    }

    fn expand(&mut self, batch: &[StateId]) {
        let count = if batch.len() < WORTH_THREADS { 1 } else { self.limits.workers.max(1) as usize };
        while self.workers.len() < count {
            self.workers.push(Worker::new(self.machine));
        }
        self.workers.iter_mut().for_each(Worker::clear);
        let (machine, aim, store) = (self.machine, self.aim, &self.store);
        if count == 1 {
            return self.workers[0].expand(machine, aim, store, batch);
        }
        let share = batch.len().div_ceil(count);
        let parts = batch.chunks(share).zip(&mut self.workers);
        shared(count, parts, |(part, worker)| worker.expand(machine, aim, store, part));
    }

    /// Counts what ended and what crashes leave, and answers whether the aim is reached.
    fn gather(&mut self) -> bool {
        let mut is_found = false;
        let ends_with_outcome = matches!(self.aim, Aim::Reach(_) | Aim::Decide(_));
        for worker in &mut self.workers {
            self.transitions += worker.transitions;
            // Workers have parts of the frontier in its order, so that the first state stays the first.
            self.crash = self.crash.or(worker.crash);
            for (left, tally) in std::mem::take(&mut worker.crashes) {
                let known = self.crashes.entry(left).or_insert(Tally { states: 0, ..tally });
                known.states += tally.states;
            }
            for (ending, id) in worker.ends.drain(..) {
                match ending {
                    Ending::Running => {}
                    Ending::Final(state) => {
                        is_found |= ends_with_outcome;
                        self.outcomes.entry(state).or_insert(none(id)).states += 1;
                    }
                    Ending::Stuck(stuck) => self.stuck.entry(stuck).or_insert(none(id)).states += 1,
                    Ending::Cut(cut) => self.cut = self.cut.or(Some(cut)),
                }
            }
        }
        is_found || self.crash.is_some()
    }

    /// Stores what is new. Each shard takes its arrivals in the order of the frontier.
    fn absorb(&mut self, next: &mut Vec<StateId>) {
        let arrivals: Vec<&[Arrivals]> = self.workers.iter().map(|worker| &worker.arrivals[..]).collect();
        let total: usize = self.workers.iter().map(|worker| worker.transitions as usize).sum();
        let count = if total < WORTH_THREADS { 1 } else { self.workers.len() };
        let absorb = |numbers: std::ops::Range<usize>, shards: &mut [Shard], fresh: &mut Vec<StateId>| {
            for (number, shard) in numbers.zip(shards) {
                arrivals.iter().for_each(|from| shard.absorb(&from[number], fresh));
            }
        };
        if count == 1 {
            return absorb(0..SHARDS, &mut self.store.shards, next);
        }
        let share = SHARDS.div_ceil(count);
        let mut parts = vec![Vec::new(); SHARDS.div_ceil(share)];
        let all = self.store.shards.chunks_mut(share).zip(&mut parts).enumerate();
        shared(count, all, |(part, (shards, fresh))| absorb(part * share..part * share + shards.len(), shards, fresh));
        parts.into_iter().for_each(|fresh| next.extend(fresh));
    }
}

/// Does all parts on so many threads, this one among them. Where the system has no more threads to give, fewer do it.
pub(crate) fn shared<T: Send>(threads: usize, parts: impl Iterator<Item = T> + Send, work: impl Fn(T) + Sync) {
    let parts = Mutex::new(parts);
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let all = || {
        while let Some(part) = next() {
            work(part);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            if std::thread::Builder::new().spawn_scoped(scope, all).is_err() {
                break;
            }
        }
        all();
    });
}

/// The tally of what this state is the first to have, before it is counted.
const fn none(first: StateId) -> Tally {
    Tally { states: 0, first }
}

impl<M: Machine> Worker<M> {
    fn expand(&mut self, machine: &M, aim: &Aim<'_>, store: &Store, part: &[StateId]) {
        for &id in part {
            machine.unpack(store.state(id), &mut self.state);
            self.crash_in(machine, aim, id);
            self.steps.clear();
            machine.choices(&self.state, &mut self.steps);
            let ending = machine.ending(&self.state, &self.steps);
            if !matches!(ending, Ending::Running) && is_wanted(aim, &ending) {
                self.ends.push((ending, id));
            }
            for (number, &step) in self.steps.iter().enumerate() {
                self.after.clone_from(&self.state);
                machine.take(&mut self.after, step);
                self.transitions += 1;
                if machine.reveals(step) && is_hopeless(machine, aim, &self.after) {
                    continue;
                }
                machine.pack(&self.after, &mut self.words);
                let hash = hash(&self.words);
                self.arrivals[shard_of(hash)].push(&self.words, hash, id, number as u32);
            }
        }
    }

    /// Looks at what a crash leaves here, if somebody asks.
    fn crash_in(&mut self, machine: &M, aim: &Aim<'_>, id: StateId) {
        match aim {
            Aim::Crashes(terms) => {
                let left = terms.iter().map(|term| machine.after_crash(&self.state, term)).collect();
                self.crashes.entry(left).or_insert(none(id)).states += 1;
            }
            Aim::Crash(condition) if self.crash.is_none() => {
                let holds = condition.holds_of_defined(&mut |term| machine.after_crash(&self.state, term));
                self.crash = holds.then_some(id);
            }
            Aim::Crash(_) | Aim::Everything | Aim::Reach(_) | Aim::Decide(_) => {}
        }
    }
}

fn is_wanted(aim: &Aim<'_>, ending: &Ending) -> bool {
    match (aim, ending) {
        (Aim::Reach(condition) | Aim::Decide(condition), Ending::Final(state)) => holds(condition, state),
        _ => true,
    }
}

/// Judges a condition on a final state.
pub(crate) fn holds(condition: &fencepost_program::program::Condition, state: &FinalState) -> bool {
    use fencepost_program::program::Term;
    let mut value = |term: &Term| match term {
        Term::Constant(value) => Some(*value),
        Term::Register(thread, register) => {
            state.registers.get(thread.index()).and_then(|registers| registers.get(register.index())).copied()
        }
        Term::Memory(location) => state.memory.get(location.index()).copied(),
    };
    condition.evaluate(&mut value).unwrap_or(false)
}

fn is_hopeless<M: Machine>(machine: &M, aim: &Aim<'_>, state: &M::State) -> bool {
    match aim {
        Aim::Everything | Aim::Crashes(_) | Aim::Crash(_) => false,
        Aim::Reach(condition) | Aim::Decide(condition) => {
            condition.evaluate(&mut |term| machine.known(state, term)) == Some(false)
        }
    }
}
