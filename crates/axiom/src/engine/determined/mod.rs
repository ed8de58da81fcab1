//! Programs of which every execution is the same one, up to the order in which threads arrive at an mbarrier.
//!
//! A pipeline that hands stages round by mbarriers has as many executions as there are orders of arrivals, and computes the
//! same in all of them. Where synchronisation leaves nothing to chance, one run decides: if conflicting accesses are ordered
//! in it by what no other execution can do otherwise, then no other execution does anything otherwise.
//!
//! *Credited* order is the model's causality order when reads-from holds only this: an operation on an mbarrier is observed
//! by the waits for its phase and for later ones. Nothing is credited that the run owes to luck: not who
//! arrived first in a phase, not what a wait saw of the next one, no order of `fence.sc`, no value of a flag.
//!
//! **Theorem.** Let each thread have one way to its end, apart from waiting for good, and the barriers one way to meet. If in
//! one run every two conflicting accesses are ordered by credited order, and the mbarriers satisfy [`mbarriers`]' conditions,
//! then every execution has the events and values of the run but for the states of mbarriers within a phase, its causality
//! order includes the credited one, and no thread waits for good.
//!
//! *Proof.* No-Thin-Air makes reads-from, dependencies and what barriers and waits make others do acyclic; call that order
//! *below*. Take an event of an execution that differs from the run in its name, its address or its value, with nothing below
//! it that does. (1) Names and addresses are functions of values below. (2) A wait for phase k reads a state that a chain of
//! operations made, all below it. Take the first that is not of the phase the chain is in. If it is of a later one, the
//! operations of the present phase come before it by credited order (D1), so coherence has them before it. If the phase was
//! completed by a part of its operations, that part contains with each operation those before it, and no such part is enough
//! (C1). So the chain completes phases one after the other. It is past phase k - 1 (D2, early) and not past phase k + 1 (D2,
//! late), and its parity says which of the two. (3) Any other read, of a location whose writes are all ordered with it: the
//! path that orders it leads over waits and barriers below what it reads or below itself, all as in the run, so the path is in
//! the execution; and the causality axiom leaves the run's source only. *Waiting for good*: of the events that an execution
//! lacks take the first of the run; all that it waits for is there.
//!
//! A flag of the model that credited order does not raise, and that more order can only lower, no execution raises.

mod credit;
mod mbarriers;
mod run;

use fencepost_program::EventId;
use fencepost_program::unfolding::{EventKind, Unfolding};
use fencepost_syntax::cat::CheckRole;

use self::credit::Credited;
use self::mbarriers::{Life, lives, observed};
use self::run::{Ending, Run};
use super::bounds::Bounds;
use super::raised::{flagged, shrinks};
use crate::bits::{Relation, kernel};
use crate::evaluate::{Chosen, Evaluator, Stage};
use crate::execution::Execution;
use crate::model::{BaseRelation, CheckId, Model, NodeId};
use crate::watch::Watch;

/// What one run says of a program.
#[derive(Clone, Debug)]
pub enum Determination {
    /// All executions are this one up to the order of arrivals; none raises a flag, and none waits for good.
    All(Box<Execution>),
    /// It is an execution, which ends or waits for good; what others do it does not say.
    One(Box<Execution>, Raised, Obstacle),
    Nothing(Obstacle),
}

/// The flags that a run raises, and by which pairs.
pub type Raised = Vec<(CheckId, Vec<(EventId, EventId)>)>;

/// Why one run does not decide. Events by their number in the run.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// A thread has several ways to its end, or none.
    SeveralWays,
    /// The run came to nothing.
    Stuck,
    /// Barriers can meet in several ways.
    Barriers,
    /// An operation that the theorem is not about.
    Foreign,
    /// A use of an mbarrier that the theorem is not about.
    Mbarrier(usize),
    /// A part of a phase may complete it.
    Phase(usize),
    /// An operation on an mbarrier may be of another phase.
    Turn(usize),
    /// Two conflicting accesses that nothing orders whatever happens.
    Unordered(usize, usize),
    /// A flag that may be raised.
    Flag(CheckId),
    /// The model does not accept the run.
    Inconsistent,
    /// A limit.
    Limit,
}

/// The relations of a model that the theorem is about.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Orders {
    /// Of accesses, with which their order in memory agrees (8.9.5 in PTX).
    pub causality: NodeId,
    /// Of all events, from which the other is made: what has happened before.
    pub base: NodeId,
}

/// Looks at one run of the program.
pub fn determine(unfolding: &Unfolding, model: &Model, orders: Orders, watch: &Watch<'_>) -> Determination {
    let run = match run::run(unfolding) {
        Ok(run) => run,
        Err(obstacle) => return Determination::Nothing(obstacle),
    };
    let flags = flags(model, unfolding);
    let mut roots: Vec<NodeId> = flags.iter().map(|(_, node)| *node).collect();
    roots.extend([orders.causality, orders.base]);
    let mut evaluator = Evaluator::with_roots(model, &roots).watched(watch.clone());
    if evaluator.begin(unfolding, &run.candidate).is_some() {
        return Determination::Nothing(Obstacle::Inconsistent);
    }
    if watch.is_over() {
        return Determination::Nothing(Obstacle::Limit);
    }
    let decided = decide(unfolding, (model, orders), &flags, &run, &mut evaluator);
    if !accepts(&run.execution(unfolding), &run, &mut evaluator) {
        return Determination::Nothing(Obstacle::Inconsistent);
    }
    if watch.is_over() {
        return Determination::Nothing(Obstacle::Limit);
    }
    let execution = Box::new(run.execution(unfolding));
    match decided {
        Ok(()) => Determination::All(execution),
        Err(obstacle) => Determination::One(execution, raised(&flags, &run, &evaluator), obstacle),
    }
}

/// A run of the program in which reads return the last write, if there is one that is `wanted` and that the model accepts.
pub fn sequential(
    unfolding: &Unfolding,
    model: &Model,
    watch: &Watch<'_>,
    wanted: impl FnOnce(&Execution) -> bool,
) -> Option<Execution> {
    let run = run::run(unfolding).ok().filter(|run| run.ending == Ending::Exit)?;
    let execution = run.execution(unfolding);
    if !wanted(&execution) {
        return None;
    }
    let mut evaluator = Evaluator::new(model).watched(watch.clone());
    // What a limit left unprepared has no relations to set.
    if evaluator.begin(unfolding, &run.candidate).is_some() || watch.is_over() {
        return None;
    }
    set_barriers(&run, &mut evaluator);
    (accepts(&execution, &run, &mut evaluator) && !watch.is_over()).then_some(execution)
}

/// With the values of the run itself.
fn raised(flags: &[(CheckId, NodeId)], run: &Run, evaluator: &Evaluator<'_>) -> Raised {
    let name = |local: usize| run.candidate.events[local];
    let pairs = |node: NodeId| {
        let mut relation = Relation::empty(run.candidate.shape);
        relation.bits_mut().copy_from_slice(evaluator.relation(node));
        relation.iter().map(|(from, to)| (name(from), name(to))).collect::<Vec<_>>()
    };
    flags.iter().map(|(flag, node)| (*flag, pairs(*node))).filter(|(_, pairs)| !pairs.is_empty()).collect()
}

fn all_flags(model: &Model) -> impl Iterator<Item = CheckId> {
    let checks = (0..model.checks.len()).map(|index| CheckId(index as u32));
    checks.filter(|id| matches!(model.checks[id.index()].role, CheckRole::Flag | CheckRole::UndefinedUnless))
}

/// The flags that a pair of events of the unfolding could raise.
fn flags(model: &Model, unfolding: &Unfolding) -> Vec<(CheckId, NodeId)> {
    let found = all_flags(model).filter_map(|id| Some((id, flagged(model, id).ok()?)));
    found.filter(|(_, node)| !Bounds::new(model, unfolding, *node).is_empty()).collect()
}

fn decide(
    unfolding: &Unfolding,
    (model, orders): (&Model, Orders),
    flags: &[(CheckId, NodeId)],
    run: &Run,
    evaluator: &mut Evaluator<'_>,
) -> Result<(), Obstacle> {
    if run.ending == Ending::Stuck {
        return Err(Obstacle::Stuck);
    }
    if unfolding.traces.iter().any(|trace| !trace.assumptions.is_empty()) || !unfolding.dependent_launches.is_empty() {
        return Err(Obstacle::Foreign);
    }
    // A flag that no pair of events raises may be raised by anything.
    if let Some(flag) = all_flags(model).find(|flag| flagged(model, *flag).is_err()) {
        return Err(Obstacle::Flag(flag));
    }
    let lives = lives(unfolding, run)?;
    credit::evaluate(run, &observed(&lives, run.candidate.shape), evaluator);
    let credited = Credited::new(unfolding, run, orders, evaluator);
    for life in &lives {
        life.completes_as_a_whole(&credited)?;
        life.takes_turns(&credited)?;
    }
    conflicts_are_ordered(unfolding, run, &lives, &credited)?;
    for (flag, node) in flags {
        if !shrinks(model, *flag) || !kernel::is_empty(evaluator.relation(*node)) {
            return Err(Obstacle::Flag(*flag));
        }
    }
    Ok(())
}

fn set_barriers(run: &Run, evaluator: &mut Evaluator<'_>) {
    let matching = &run.matching;
    let chosen = [
        (BaseRelation::Syncbar, &matching.synchronises),
        (BaseRelation::Exitbar, &matching.exits),
        (BaseRelation::Generations, &matching.generations),
    ];
    for (relation, pairs) in chosen {
        let local =
            pairs.iter().filter_map(|(from, to)| Some((run.candidate.local(*from)?, run.candidate.local(*to)?)));
        evaluator.set(relation, Relation::from_pairs(run.candidate.shape, local).bits());
    }
}

/// Whether the model accepts the run.
fn accepts(execution: &Execution, run: &Run, evaluator: &mut Evaluator<'_>) -> bool {
    let local = |event| run.candidate.local(event).unwrap_or(0);
    let relation = |pairs: &[(EventId, EventId)]| {
        Relation::from_pairs(run.candidate.shape, pairs.iter().map(|(from, to)| (local(*from), local(*to))))
    };
    evaluator.set(BaseRelation::Rf, relation(&execution.rf).bits());
    evaluator.set(BaseRelation::SyncFence, relation(&execution.sync_fence).bits());
    evaluator.set(BaseRelation::Co, relation(&execution.co).bits());
    evaluator.run(Stage::ReadsFrom, Stage::Coherence, Chosen::ReadsFrom).is_none() && evaluator.run_final().is_none()
}

/// Every two accesses of one location of which one writes are ordered, but those of mbarriers.
fn conflicts_are_ordered(
    unfolding: &Unfolding,
    run: &Run,
    lives: &[Life],
    credited: &Credited<'_>,
) -> Result<(), Obstacle> {
    let mut accesses: Vec<Vec<(usize, bool)>> = vec![Vec::new(); unfolding.locations.len()];
    let mut is_operation = vec![false; run.candidate.events.len()];
    for life in lives {
        let operations = life.phases.iter().flat_map(|phase| &phase.operations);
        operations.for_each(|operation| (is_operation[operation.read], is_operation[operation.write]) = (true, true));
        life.waits.iter().map(|(wait, _)| *wait).chain(life.init).for_each(|event| is_operation[event] = true);
    }
    for (local, is_operation) in is_operation.iter().enumerate().skip(run.candidate.inits()) {
        let event = run.event(unfolding, local);
        if let (Some(location), false) = (event.location(), is_operation) {
            accesses[location.index()].push((local, matches!(event.kind, EventKind::Write { .. })));
        }
    }
    for accesses in &accesses {
        if !accesses.iter().any(|(_, writes)| *writes) {
            continue;
        }
        for (at, &(one, writes)) in accesses.iter().enumerate() {
            let later = accesses[at + 1..].iter().filter(|(_, other)| writes || *other);
            for &(other, _) in later {
                if !credited.orders(one, other) && !credited.orders(other, one) {
                    return Err(Obstacle::Unordered(one, other));
                }
            }
        }
    }
    Ok(())
}
