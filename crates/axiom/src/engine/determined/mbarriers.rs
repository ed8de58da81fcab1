//! What a run did to its mbarriers, phase by phase, and whether every run does the same up to the order within a phase.
//!
//! The conditions are about *credited* order: what every execution has that agrees with the run (see [`super`]). They ask what
//! was known *before* an operation or a wait, so that nothing is concluded from what it observed itself.

use fencepost_program::expression::{BinaryOperator, Expression, Leaf};
use fencepost_program::mbarrier::{Completing, GREATEST_COUNT, Operator, State};
use fencepost_program::program::LocationRole;
use fencepost_program::unfolding::{EventKind, Unfolding};
use fencepost_program::value::Value;

use super::Obstacle;
use super::credit::Credited;
use super::run::Run;
use crate::bits::{Relation, Shape};

/// What an operation brings to its phase.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
struct Share {
    arrivals: i128,
    expected: i128,
    completed: i128,
}

/// A read-modify-write of an mbarrier: one of the operations of a phase.
#[derive(Copy, Clone, Debug)]
pub(super) struct Operation {
    pub(super) read: usize,
    pub(super) write: usize,
    share: Share,
}

#[derive(Clone, Default, Debug)]
pub(super) struct Phase {
    pub(super) operations: Vec<Operation>,
    is_complete: bool,
}

/// The life of one mbarrier in the run.
#[derive(Clone, Default, Debug)]
pub(super) struct Life {
    /// The `mbarrier.init`, if the program has it.
    pub(super) init: Option<usize>,
    pub(super) phases: Vec<Phase>,
    /// The reads that waited, each with the number of phases that were over: one more than that of the phase it waited for.
    pub(super) waits: Vec<(usize, usize)>,
    /// The arrivals that the phase which is not over still waits for.
    pending: u32,
}

/// The lives of all mbarriers of a run; `Err` if something is done to one that the conditions do not cover.
pub(super) fn lives(unfolding: &Unfolding, run: &Run) -> Result<Vec<Life>, Obstacle> {
    let mut lives: Vec<Option<Life>> = vec![None; unfolding.locations.len()];
    let uses = Uses::of(unfolding, run)?;
    for &local in &run.order {
        let event = run.event(unfolding, local);
        let Some(location) = event.location() else { continue };
        if unfolding.locations[location.index()].role != LocationRole::Mbarrier {
            continue;
        }
        let life = lives[location.index()].get_or_insert_with(Life::default);
        match (&event.kind, event.rmw_partner) {
            _ if event.is_init() => life.note(run, local),
            (EventKind::Write { value, .. }, Some(read)) => {
                let read = run.candidate.local(read).ok_or(Obstacle::Foreign)?;
                life.operate(run, value, (read, local))?;
            }
            (EventKind::Read { .. }, Some(_)) => {}
            (EventKind::Write { value, .. }, None) => {
                let is_init = matches!(value, Expression::Binary(BinaryOperator::Mbarrier(Operator::Init(_)), ..));
                if !is_init || life.init.is_some() || !life.phases.is_empty() || !life.waits.is_empty() {
                    return Err(Obstacle::Mbarrier(local));
                }
                life.init = Some(local);
                life.note(run, local);
            }
            (EventKind::Read { .. }, None) => {
                if !uses.is_wait[local] {
                    return Err(Obstacle::Mbarrier(local));
                }
                let state = run.values[local].map(State::unpack).ok_or(Obstacle::Foreign)?;
                life.waits.push((local, state.phase as usize));
            }
            _ => return Err(Obstacle::Foreign),
        }
    }
    Ok(lives.into_iter().flatten().collect())
}

/// A wait for a phase observes all its operations, and those of the phases before.
pub(super) fn observed(lives: &[Life], shape: Shape) -> Relation {
    let mut observed = Relation::empty(shape);
    for life in lives {
        for (wait, over) in &life.waits {
            let operations = life.phases.iter().take(*over).flat_map(|phase| &phase.operations);
            let writes = operations.map(|operation| operation.write).chain(life.init);
            writes.for_each(|write| observed.insert(write, *wait));
        }
    }
    observed
}

impl Life {
    fn note(&mut self, run: &Run, write: usize) {
        let state = run.values[write].map(State::unpack).unwrap_or_default();
        self.pending = state.pending;
    }

    fn phase(&mut self, number: usize) -> &mut Phase {
        if self.phases.len() <= number {
            self.phases.resize(number + 1, Phase::default());
        }
        &mut self.phases[number]
    }

    fn operate(&mut self, run: &Run, value: &Expression, (read, write): (usize, usize)) -> Result<(), Obstacle> {
        let (Some(before), Some(after)) = (run.values[read], run.values[write]) else { return Err(Obstacle::Foreign) };
        let (before, after) = (State::unpack(before), State::unpack(after));
        let share = share(run, value, read).ok_or(Obstacle::Mbarrier(write))?;
        if !before.is_live() || !after.errors.is_empty() {
            return Err(Obstacle::Mbarrier(write));
        }
        let phase = self.phase(before.phase as usize);
        phase.operations.push(Operation { read, write, share });
        phase.is_complete = after.phase != before.phase;
        self.note(run, write);
        Ok(())
    }

    /// C1: no part of a phase completes it. Every arrival is needed, so such a part has all; each `expect_tx` comes before an
    /// arrival, so it has all of those; and each completion brings bytes, so it has all of those too. A phase that is not over
    /// lacks arrivals, so that no part of it is enough. And no order of a phase leaves the range of the tx-count.
    pub(super) fn completes_as_a_whole(&self, credited: &Credited<'_>) -> Result<(), Obstacle> {
        for phase in &self.phases {
            let operations = &phase.operations;
            let arrivals = || operations.iter().filter(|operation| operation.share.arrivals > 0);
            for operation in operations {
                let Share { arrivals: brought, expected, completed } = operation.share;
                let is_nothing = brought == 0 && expected == 0 && completed == 0;
                let comes_first = |arrival: &Operation| credited.knows_at(arrival.write, operation.write);
                let is_bound = brought > 0 || expected == 0 || arrivals().any(comes_first);
                if is_nothing || !is_bound {
                    return Err(Obstacle::Phase(operation.write));
                }
            }
            let most = i128::from(GREATEST_COUNT);
            let sum =
                |part: fn(&Share) -> i128| operations.iter().map(|operation| part(&operation.share)).sum::<i128>();
            let in_range = sum(|share| share.expected) <= most && sum(|share| share.completed) <= most;
            if !in_range || !(phase.is_complete || self.pending > 0) {
                return Err(Obstacle::Phase(operations.first().map_or(0, |operation| operation.write)));
            }
        }
        Ok(())
    }

    /// Whether an operation (by its two halves) or a wait comes after all operations of a phase, or after a wait for it or for a
    /// later one. What an asynchronous operation did to the mbarrier counts only where somebody waited for it.
    fn knows(&self, number: usize, at: &[usize], credited: &Credited<'_>) -> bool {
        let comes_before = |earlier: usize| at.iter().any(|event| credited.comes_before(earlier, *event));
        let waited = self.waits.iter().any(|(wait, over)| *over > number && !at.contains(wait) && comes_before(*wait));
        let is_seen = |operation: &Operation| credited.is_main(operation.write) && comes_before(operation.write);
        waited || self.phases.get(number).is_some_and(|phase| phase.operations.iter().all(is_seen))
    }

    /// D1: an operation comes after the phase before its own. D2: a wait comes after the phase before the one it waits for, and
    /// before something that the next one needs. And `init` comes before everything.
    pub(super) fn takes_turns(&self, credited: &Credited<'_>) -> Result<(), Obstacle> {
        for (number, phase) in self.phases.iter().enumerate() {
            for operation in &phase.operations {
                let halves = [operation.read, operation.write];
                let is_later = number == 0 || self.knows(number - 1, &halves, credited);
                let is_live = self.init.is_none_or(|init| credited.comes_before(init, operation.write));
                if !is_later || !is_live {
                    return Err(Obstacle::Turn(operation.write));
                }
            }
        }
        for (wait, over) in &self.waits {
            // It waits for phase `over - 1`.
            let is_early = *over < 2 || self.knows(over - 2, &[*wait], credited);
            let is_needed = |operation: &Operation| credited.comes_before(*wait, operation.write);
            let next = self.phases.get(*over);
            let is_late = next.is_none_or(|next| !next.is_complete || next.operations.iter().any(is_needed));
            let is_live = self.init.is_none_or(|init| credited.comes_before(init, *wait));
            if !is_early || !is_late || !is_live {
                return Err(Obstacle::Turn(*wait));
            }
        }
        Ok(())
    }
}

/// What an operation brings; None for one that the conditions do not cover.
fn share(run: &Run, value: &Expression, read: usize) -> Option<Share> {
    let Expression::Binary(BinaryOperator::Mbarrier(operator), _, state, operand) = value else { return None };
    if !matches!(&**state, Expression::Read(event) if run.candidate.local(*event) == Some(read)) {
        return None;
    }
    let Value(operand) = operand.evaluate(&mut |leaf| match leaf {
        Leaf::Read(event) => run.values[run.candidate.local(event)?],
        Leaf::BarrierResult(_) => None,
    })?;
    Some(match operator {
        Operator::Arrive(Completing::Allowed) | Operator::ArriveDrop(Completing::Allowed) => {
            Share { arrivals: operand, ..Share::default() }
        }
        Operator::ArriveExpectTx | Operator::ArriveDropExpectTx => {
            Share { arrivals: 1, expected: operand, ..Share::default() }
        }
        Operator::ExpectTx => Share { expected: operand, ..Share::default() },
        Operator::CompleteTx => Share { completed: operand, ..Share::default() },
        Operator::Arrive(Completing::Undefined)
        | Operator::ArriveDrop(Completing::Undefined)
        | Operator::Init(_)
        | Operator::IncrementPending
        | Operator::IsComplete
        | Operator::IsCompleteToken => return None,
    })
}

/// How the values that reads of mbarriers return are used.
struct Uses {
    /// By event: a read that some constraint of the run's traces asks whether its phase is over, and it is.
    is_wait: Vec<bool>,
}

impl Uses {
    /// `Err` if such a value is used for anything else: a count of arrivals depends on the order within a phase.
    fn of(unfolding: &Unfolding, run: &Run) -> Result<Uses, Obstacle> {
        let count = run.candidate.events.len();
        let mut uses = Uses { is_wait: vec![false; count] };
        let is_mbarrier = |local: usize| {
            let location = run.event(unfolding, local).location();
            location.is_some_and(|it| unfolding.locations[it.index()].role == LocationRole::Mbarrier)
        };
        let mut leaves = Vec::new();
        for local in 0..count {
            let event = run.event(unfolding, local);
            if let EventKind::Write { value, .. } = &event.kind {
                leaves.clear();
                value.leaves(&mut leaves);
                let own = event.rmw_partner;
                let is_foreign = |leaf: &Leaf| match leaf {
                    Leaf::Read(read) => Some(*read) != own && run.candidate.local(*read).is_some_and(is_mbarrier),
                    Leaf::BarrierResult(_) => true,
                };
                if leaves.iter().any(is_foreign) {
                    return Err(Obstacle::Mbarrier(local));
                }
            }
            let addressed = event.address_deps.iter().filter_map(|read| run.candidate.local(*read));
            if addressed.into_iter().any(is_mbarrier) {
                return Err(Obstacle::Mbarrier(local));
            }
        }
        for trace in &run.candidate.traces {
            for constraint in &unfolding.traces[trace.index()].constraints {
                uses.constrain(run, constraint, &is_mbarrier)?;
            }
        }
        Ok(uses)
    }

    fn constrain(
        &mut self,
        run: &Run,
        constraint: &Expression,
        is_mbarrier: &dyn Fn(usize) -> bool,
    ) -> Result<(), Obstacle> {
        match constraint {
            Expression::Constant(_) => Ok(()),
            Expression::BarrierResult(_) => Err(Obstacle::Foreign),
            Expression::Read(read) => match run.candidate.local(*read) {
                Some(read) if is_mbarrier(read) => Err(Obstacle::Mbarrier(read)),
                _ => Ok(()),
            },
            Expression::Binary(BinaryOperator::Mbarrier(Operator::IsComplete), _, state, parity) => {
                let Expression::Read(read) = &**state else { return Err(Obstacle::Foreign) };
                let read = run.candidate.local(*read).ok_or(Obstacle::Foreign)?;
                let parity = parity.evaluate(&mut |leaf| match leaf {
                    Leaf::Read(event) => run.values[run.candidate.local(event)?],
                    Leaf::BarrierResult(_) => None,
                });
                let state = run.values[read].map(State::unpack);
                let is_over = state.zip(parity).is_some_and(|(state, Value(parity))| state.is_complete(parity));
                self.is_wait[read] |= is_over;
                if is_over { Ok(()) } else { Err(Obstacle::Mbarrier(read)) }
            }
            Expression::Unary(_, _, operand) => self.constrain(run, operand, is_mbarrier),
            Expression::Binary(_, _, left, right) => {
                self.constrain(run, left, is_mbarrier)?;
                self.constrain(run, right, is_mbarrier)
            }
            Expression::Select(condition, then, otherwise) => {
                self.constrain(run, condition, is_mbarrier)?;
                self.constrain(run, then, is_mbarrier)?;
                self.constrain(run, otherwise, is_mbarrier)
            }
        }
    }
}
