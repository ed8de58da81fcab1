//! Producer and consumer skeletons with mbarriers, put together by hand: what the engines must decide exhaustively.

use fencepost_program::EventId;
use fencepost_program::expression::{BinaryOperator, Expression};
use fencepost_program::mbarrier::{Completing, Operator, State};
use fencepost_program::program::{Place, Scope, Space};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Unfolding;
use fencepost_program::value::{Type, Value};

use super::handmade::Build;

const BYTES: i128 = 16;

/// A bulk-copy pipeline of one producer and some consumers over a ring of shared buffers (`full` and `empty` barriers).
#[derive(Copy, Clone, Debug)]
pub(crate) struct Pipeline {
    pub(crate) stages: usize,
    pub(crate) iterations: usize,
    pub(crate) consumers: usize,
    /// Locations per tile.
    pub(crate) elements: usize,
    pub(crate) bug: Option<Bug>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Bug {
    /// The producer does not wait for `empty`.
    NoEmptyWait,
    /// The consumers arrive before they read.
    EarlyArrive,
}

impl Pipeline {
    pub(crate) const TMA: Pipeline = Pipeline { stages: 2, iterations: 3, consumers: 2, elements: 4, bug: None };

    fn full(&self, stage: usize) -> usize {
        stage
    }

    fn empty(&self, stage: usize) -> usize {
        self.stages + stage
    }

    fn buffer(&self, stage: usize, element: usize) -> usize {
        2 * self.stages + stage * self.elements + element
    }

    fn tile(&self, iteration: usize, element: usize) -> usize {
        2 * self.stages + (self.stages + iteration) * self.elements + element
    }

    pub(crate) fn unfolding(&self) -> Unfolding {
        let count = 2 * self.stages + (self.stages + self.iterations) * self.elements;
        let names: Vec<String> = (0..count).map(|index| format!("l{index}")).collect();
        let mut build = Build::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let here = Place::Gpu { gpu: 0, cluster: 0, cta: 0 };
        for location in 0..2 * self.stages + self.stages * self.elements {
            build.unfolding.locations[location].space = Some(Space::Shared);
            build.unfolding.locations[location].owner = Some(here);
        }
        for stage in 0..self.stages {
            build.initial(self.full(stage), State::init(1).pack());
            build.initial(self.empty(stage), State::init(self.consumers as i128).pack());
        }
        build.thread(here);
        for iteration in 0..self.iterations {
            self.produce(&mut build, iteration);
        }
        for _ in 0..self.consumers {
            build.thread(here);
            for iteration in 0..self.iterations {
                self.consume(&mut build, iteration);
            }
        }
        build.unfolding
    }

    fn produce(&self, build: &mut Build, iteration: usize) {
        let (stage, round) = (iteration % self.stages, iteration / self.stages);
        if self.bug != Some(Bug::NoEmptyWait) {
            build.wait(self.empty(stage), (round + 1) % 2);
        }
        build.arrive(self.full(stage), Operator::ArriveExpectTx, BYTES);
        let issue = build.issue(&[Tag::Issue, Tag::Bulk]);
        let mut accesses = Vec::new();
        for element in 0..self.elements {
            build.read(self.tile(iteration, element), &[Tag::Weak, Tag::Async, Tag::Bulk], None);
            let read = build.in_strand(issue, &[]);
            let tags = [Tag::Weak, Tag::Async, Tag::Bulk, Tag::Shared];
            build.write(self.buffer(stage, element), Expression::Read(read), &tags, None);
            let write = build.in_strand(issue, &[read]);
            build.event(write).data_deps = vec![read];
            accesses.extend([read, write]);
        }
        build.completion(issue, &accesses, self.full(stage), Operator::CompleteTx, BYTES);
    }

    fn consume(&self, build: &mut Build, iteration: usize) {
        let (stage, round) = (iteration % self.stages, iteration / self.stages);
        build.wait(self.full(stage), round % 2);
        let arrive = Operator::Arrive(Completing::Allowed);
        if self.bug == Some(Bug::EarlyArrive) {
            build.arrive(self.empty(stage), arrive, 1);
        }
        for element in 0..self.elements {
            build.read(self.buffer(stage, element), &[Tag::Weak, Tag::Generic, Tag::Shared], None);
        }
        if self.bug != Some(Bug::EarlyArrive) {
            build.arrive(self.empty(stage), arrive, 1);
        }
    }
}

fn applied(operator: Operator, state: Expression, operand: i128) -> Expression {
    let operand = Expression::constant(operand);
    Expression::Binary(BinaryOperator::Mbarrier(operator), Type::UNTYPED, Box::new(state), Box::new(operand))
}

impl Build {
    pub(crate) fn initial(&mut self, location: usize, value: Value) {
        let info = &mut self.unfolding.locations[location];
        info.initial = value;
        let init = info.init;
        if let fencepost_program::unfolding::EventKind::Write { value: written, .. } = &mut self.event(init).kind {
            *written = Expression::Constant(value);
        }
    }

    /// A wait that succeeds, of CTA scope.
    pub(crate) fn wait(&mut self, location: usize, parity: usize) -> EventId {
        let tags = [Tag::Mbarrier, Tag::MbarrierWait, Tag::Acquire, Tag::Generic, Tag::Shared];
        let read = self.read(location, &tags, Some(Scope::Cta));
        let passed = applied(Operator::IsComplete, Expression::Read(read), parity as i128);
        self.trace().constraints.push(passed);
        read
    }

    /// An arrive with release semantics, of CTA scope.
    pub(crate) fn arrive(&mut self, location: usize, operator: Operator, operand: i128) -> (EventId, EventId) {
        const COMMON: [Tag; 5] = [Tag::Atomic, Tag::NoReturn, Tag::Mbarrier, Tag::Generic, Tag::Shared];
        let read = self.read(location, &[&COMMON[..], &[Tag::Relaxed]].concat(), Some(Scope::Cta));
        let value = applied(operator, Expression::Read(read), operand);
        let write = self.write(location, value, &[&COMMON[..], &[Tag::Release]].concat(), Some(Scope::Cta));
        self.event(write).data_deps = vec![read];
        self.pair()
    }

    /// The completion of a strand, of cluster scope.
    pub(crate) fn completion(
        &mut self,
        issue: EventId,
        after: &[EventId],
        location: usize,
        operator: Operator,
        operand: i128,
    ) -> (EventId, EventId) {
        const COMMON: [Tag; 7] =
            [Tag::Atomic, Tag::NoReturn, Tag::Mbarrier, Tag::Completion, Tag::Generic, Tag::Shared, Tag::Bulk];
        self.read(location, &[&COMMON[..], &[Tag::Relaxed]].concat(), Some(Scope::Cluster));
        let read = self.in_strand(issue, after);
        let value = applied(operator, Expression::Read(read), operand);
        self.write(location, value, &[&COMMON[..], &[Tag::Release]].concat(), Some(Scope::Cluster));
        let write = self.in_strand(issue, &[after, &[read]].concat());
        self.event(write).data_deps = vec![read];
        self.pair()
    }
}
