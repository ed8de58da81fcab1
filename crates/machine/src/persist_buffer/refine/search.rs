//! Breadth first over the number of operations: all states that need no operation, then those that need one, and so on.
//!
//! Within a layer the hardware runs until nothing new is found; then every state of the layer is continued by every operation.
//! A state is explored in the first layer that has it: with fewer operations used it can do at least as much. The first
//! violation has the fewest operations, and among those a shortest way within its layer.
//!
//! A batch of states is divided among threads, and then the shards of the store are, as in
//! [`explore`](crate::explore): the answer does not depend on the number of threads.

use super::encode;
use super::monitor::Violation;
use super::state::{State, Step};
use super::trace::Run;
use super::{Answer, Counterexample, LINES, OPERATIONS, Outcome, Question, Search, WARPS, reduce};
use crate::explore::shared;
use crate::explore::store::{Arrivals, SHARDS, StateId, Store, hash, shard_of};

/// States per batch.
const BATCH: usize = 1 << 13;

/// Explores every program of the question.
pub fn refine(question: &Question) -> Answer {
    let mut question = Question {
        operations: question.operations.min(OPERATIONS as u8),
        warps: question.warps.min(WARPS as u8),
        lines: question.lines.min(LINES),
        ..*question
    };
    if !reduce::applies(&question) {
        question.search = Search::Full;
    }
    Explorer::new(&question).run()
}

/// Who continues a state.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Mover {
    Hardware,
    Warps,
}

impl Mover {
    fn steps(self, question: &Question, state: &State, steps: &mut Vec<Step>) {
        match self {
            Mover::Hardware => question.hardware_steps(state, steps),
            Mover::Warps => question.operations(state, steps),
        }
    }

    /// A number for the step at this place of the mover's steps.
    fn number(self, at: usize) -> u32 {
        (at as u32) << 1 | u32::from(self == Mover::Warps)
    }
}

/// The step that has this number.
fn numbered(question: &Question, state: &State, number: u32) -> Option<Step> {
    let mover = if number & 1 == 0 { Mover::Hardware } else { Mover::Warps };
    let mut steps = Vec::new();
    mover.steps(question, state, &mut steps);
    steps.get((number >> 1) as usize).copied()
}

/// A broken promise: in this state, or by the step of this number from it.
#[derive(Copy, Clone)]
struct Broken {
    from: StateId,
    step: Option<u32>,
    violation: Violation,
}

struct Explorer<'q> {
    question: &'q Question,
    store: Store,
    workers: Vec<Worker>,
    layers: Vec<u64>,
    transitions: u64,
}

/// What one thread brings home from its part of a batch, and what it computes with.
struct Worker {
    arrivals: Vec<Arrivals>,
    broken: Option<Broken>,
    transitions: u64,
    state: State,
    after: State,
    steps: Vec<Step>,
    words: Vec<u64>,
}

impl Worker {
    fn new(question: &Question) -> Worker {
        Worker {
            arrivals: vec![Arrivals::default(); SHARDS],
            broken: None,
            transitions: 0,
            state: question.initial(),
            after: question.initial(),
            steps: Vec::new(),
            words: vec![0; encode::words(question) as usize],
        }
    }

    fn expand(&mut self, question: &Question, store: &Store, part: &[StateId], mover: Mover) {
        self.arrivals.iter_mut().for_each(Arrivals::clear);
        self.broken = None;
        self.transitions = 0;
        for &from in part {
            encode::unpack(question, store.state(from), &mut self.state);
            self.steps.clear();
            mover.steps(question, &self.state, &mut self.steps);
            let is_stuck = mover == Mover::Hardware && self.steps.is_empty() && !self.state.is_idle();
            self.broken = is_stuck.then_some(Broken { from, step: None, violation: Violation::Stuck });
            for (at, &step) in self.steps.iter().enumerate() {
                let number = mover.number(at);
                self.after.clone_from(&self.state);
                self.transitions += 1;
                if let Err(violation) = question.take(&mut self.after, step) {
                    self.broken = Some(Broken { from, step: Some(number), violation });
                    break;
                }
                encode::pack(question, &self.after, &mut self.words);
                let hash = hash(&self.words);
                self.arrivals[shard_of(hash)].push(&self.words, hash, from, number);
            }
            if self.broken.is_some() {
                return;
            }
        }
    }
}

impl<'q> Explorer<'q> {
    fn new(question: &'q Question) -> Explorer<'q> {
        let workers = (0..question.workers.max(1)).map(|_| Worker::new(question)).collect();
        let store = Store::new(encode::words(question) as usize);
        Explorer { question, store, workers, layers: Vec::new(), transitions: 0 }
    }

    fn run(mut self) -> Answer {
        let mut words = vec![0; encode::words(self.question) as usize];
        encode::pack(self.question, &self.question.initial(), &mut words);
        let mut layer = vec![self.store.insert_initial(&words)];
        for operations in 0..=self.question.operations {
            if let Some(outcome) = self.close(&mut layer, operations) {
                return self.answer(outcome);
            }
            self.layers.push(layer.len() as u64);
            if operations == self.question.operations {
                break;
            }
            let mut next = Vec::new();
            for batch in layer.chunks(BATCH) {
                if let Some(outcome) = self.expand(batch, Mover::Warps, &mut next, operations) {
                    return self.answer(outcome);
                }
            }
            layer = next;
        }
        self.answer(Outcome::Refines)
    }

    fn answer(self, outcome: Outcome) -> Answer {
        Answer { outcome, search: self.question.search, layers: self.layers, transitions: self.transitions }
    }

    /// Lets the hardware run.
    fn close(&mut self, layer: &mut Vec<StateId>, operations: u8) -> Option<Outcome> {
        let mut done = 0;
        let mut fresh = Vec::new();
        while done < layer.len() {
            let end = layer.len().min(done + BATCH);
            if let Some(outcome) = self.expand(&layer[done..end], Mover::Hardware, &mut fresh, operations) {
                return Some(outcome);
            }
            done = end;
            layer.append(&mut fresh);
        }
        None
    }

    fn expand(&mut self, batch: &[StateId], mover: Mover, fresh: &mut Vec<StateId>, operations: u8) -> Option<Outcome> {
        if self.store.len() > self.question.states {
            return Some(Outcome::Limit { operations: operations.saturating_sub(u8::from(mover == Mover::Hardware)) });
        }
        let (question, store, threads) = (self.question, &self.store, self.workers.len());
        let share = batch.len().div_ceil(threads).max(1);
        let mut chunks = batch.chunks(share);
        let parts = self.workers.iter_mut().map(|worker| (chunks.next().unwrap_or_default(), worker));
        shared(threads, parts, |(part, worker)| worker.expand(question, store, part, mover));
        self.transitions += self.workers.iter().map(|worker| worker.transitions).sum::<u64>();
        if let Some(broken) = self.workers.iter().find_map(|worker| worker.broken) {
            return Some(Outcome::Breaks(self.counterexample(broken)));
        }
        let arrivals: Vec<&[Arrivals]> = self.workers.iter().map(|worker| &worker.arrivals[..]).collect();
        let mut found: Vec<Vec<StateId>> = vec![Vec::new(); SHARDS];
        let shards = self.store.shards.iter_mut().zip(&mut found).enumerate();
        shared(threads, shards, |(number, (shard, found))| {
            arrivals.iter().for_each(|from| shard.absorb(&from[number], found));
        });
        found.iter_mut().for_each(|found| fresh.append(found));
        None
    }

    /// Goes back to the initial state, and then through the run again.
    fn counterexample(&self, broken: Broken) -> Counterexample {
        let mut way = vec![(broken.from, broken.step)];
        while let Some(origin) = way.last().and_then(|(id, _)| self.store.origin(*id)) {
            way.push((origin.parent, Some(origin.step)));
        }
        let mut run = Run::new(self.question);
        let mut state = self.question.initial();
        for (id, number) in way.into_iter().rev() {
            encode::unpack(self.question, self.store.state(id), &mut state);
            let step = number.and_then(|number| numbered(self.question, &state, number));
            step.into_iter().for_each(|step| run.take(&state, step));
        }
        run.counterexample(&state, broken.violation)
    }
}

#[cfg(test)]
mod tests {
    use super::{Explorer, refine};
    use crate::persist_buffer::refine::{
        Acquires, Alphabet, Outcome, Question, Scopes, Search, Sms, Stores, Violation,
    };
    use crate::persist_buffer::rules::{Merge, Rule};

    /// What a search finds, whether or not the reduced one is known to be as good.
    fn found(question: &Question, search: Search) -> Option<(u8, Violation)> {
        match Explorer::new(&Question { search, ..*question }).run().outcome {
            Outcome::Breaks(found) => Some((found.operations, found.violation)),
            Outcome::Refines => None,
            Outcome::Limit { .. } => panic!("there is no limit"),
        }
    }

    fn questions() -> Vec<Question> {
        let block = Question::new(Merge::Paper, 4);
        let device = Question { sms: Sms::Two, scopes: Scopes::BlockAndDevice, ..block };
        let once = Question { acquires: Acquires::Released, stores: Stores::OncePerLine, ..device };
        let alphabet = Alphabet { durability_fences: false, ..Alphabet::ALL };
        vec![block, device, once, Question { alphabet, ..block }, Question { alphabet, ..device }]
    }

    /// A reduction that drops too much would miss what a broken buffer does.
    #[test]
    fn the_reduced_search_finds_what_the_full_one_finds() {
        let broken = [
            vec![],
            vec![Rule::FlushStatusAtHead, Rule::FlushStatusAtEviction],
            vec![Rule::OrderAheadOfEviction],
            vec![Rule::EvictionDelay],
            vec![Rule::OrderBehindHit],
            vec![Rule::CoalescedWarp],
            vec![Rule::FenceHoldsBack],
            vec![Rule::AcquireHoldsBack],
            vec![Rule::ReleaseHoldsBack],
            vec![Rule::ReleaseBehindHit],
            vec![Rule::AcquireDelay],
        ];
        for question in questions() {
            let mut caught = 0;
            for off in &broken {
                let rules = off.iter().fold(question.rules, |rules, rule| rules.without(*rule));
                let question = Question { rules, ..question };
                let full = found(&question, Search::Full);
                assert_eq!(found(&question, Search::Reduced), full, "{off:?} {question:?}");
                caught += usize::from(full.is_some());
            }
            assert!(caught >= 4, "{question:?}");
        }
    }

    /// The counterexample too.
    #[test]
    fn the_answer_does_not_depend_on_the_number_of_threads() {
        let artifact = Question { warps: 2, ..Question::new(Merge::Artifact, 5) };
        assert!(found(&artifact, Search::Full).is_some());
        for question in questions().into_iter().chain([artifact]) {
            let answer = refine(&question);
            for workers in [2, 3] {
                let same = refine(&Question { workers, ..question });
                assert_eq!((&same.outcome, &same.layers), (&answer.outcome, &answer.layers));
            }
        }
    }
}
