//! Runs that the unfolding does not follow to their end, and whether they can happen. One rule for all engines.
//!
//! A trace is *cut* where a loop exceeds the unrolling bound, or where an access has an address that no location has.
//! What lies past the cut is in no execution that an engine looks at: neither what that thread does, nor what other
//! threads do because of it (leave a spin loop, pass a barrier). So if some cut can be reached, the absence of an
//! execution proves nothing, whether executions that end were looked for or ones that are stuck. That no consistent
//! execution *that ends* takes the cut trace would not show that it cannot be reached: the threads beside it may wait for
//! something past the cut. Two rules show it, a cheap one and a stronger one.
//!
//! # Values
//!
//! A cut cannot be reached if its constraints contradict *may-values*: per location, the initial value and
//! all that any write of any trace may put there, whoever reads it, to a fixed point.
//!
//! Why that is sound, where the model forbids values out of thin air (rf and dependencies have no cycle; SC, TSO and PTX
//! do). Take an execution of the whole program in which some thread goes past a cut, and suppose that the may-values
//! contradict every cut that is passed. Then some read before the cuts has a value that is none of its may-values; take
//! a first such one in the order of rf and dependencies, and the write it reads from. A write before its thread's cut has a
//! value computed from, and is decided by, reads that come before it in that order, so they have may-values, and so has
//! the write. A write past its thread's cut is control dependent on every read that decided a branch before the cut. All
//! of them come earlier and have may-values, which contradict none of the constraints on them: the cut was not
//! contradicted.
//!
//! Only constraints over reads that the later event depends on may be used for that (`rests_on`; for a write before the
//! cut, its dependencies). What follows an access outside every location need not depend on its address; but then it
//! follows the same access with any other address just as well, and is in those traces.
//!
//! Each value has passed each write at most once, so there is nothing to find after as many rounds as there are writes.
//!
//! # Beginnings
//!
//! A loop that tries again with what it read (a compare-and-swap that adds) fails once for each time that another thread
//! succeeds, and no values say so: only coherence does. So the second rule, [`reaches_cut`], asks the engine for the
//! *beginning* of an execution ([`Ends::Cut`]): some thread is at its cut, each other one has ended, is at a cut too, or
//! waits in a spin loop or at a barrier, perhaps only for what lies past the cut. If no beginning is consistent, no cut
//! can be reached.
//!
//! Why that is sound, for SC, TSO and PTX, and every model that is like them in the two points below. Take an execution of
//! the whole program in which some thread goes past a cut, and of the cuts that are passed one that is first in the order
//! of rf and dependencies, which has no cycle. Keep what comes before it in that order.
//!
//! * The rest can be left out. Fewer events have fewer edges, and axioms in which every relation that varies occurs
//!   positively (`Model::is_prefix_closed`; no other model is asked) stay true.
//! * The threads can be run on from there, each to its end, its cut or where it waits: a read that nothing kept depends on
//!   takes the newest write that must be ordered before it, which adds no order that was not there, and a write or a
//!   fence goes last. None of the three models forbids a thread to take its next step so; a read-modify-write
//!   finds the last write of its location, or for one kept without its read the write it was put behind.
//!
//! What the rule says of a bound is compared with larger bounds on random programs (`tests/suite/cut.rs`).

use std::ops::ControlFlow;

use fencepost_program::EventId;
use fencepost_program::expression::{Expression, Leaf};
use fencepost_program::unfolding::{EventKind, Trace, TraceEnd, Unfolding};
use fencepost_program::value::Value;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use super::may::{May, image, only_leaf};
use super::{Ends, Engine, Exploration, Goal, Limits, Multiplicity, Observed, Stop};
use crate::base::location_of;
use crate::model::Model;

/// After this many rounds, what still grows may be anything.
const ROUNDS: usize = 64;

/// Whether a thread can get to where its trace was cut.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Reach {
    /// What an engine left open for no other reason than a cut is complete.
    Never,
    /// It can, or the engine could not tell, or the model is not one to tell it of.
    Perhaps,
}

/// Asks an engine for the beginning of an execution that gets to a cut.
pub fn reaches_cut(engine: &dyn Engine, unfolding: &Unfolding, model: &Model, limits: &Limits<'_>) -> Reach {
    if !model.is_prefix_closed() {
        return Reach::Perhaps;
    }
    let goal = Goal { multiplicity: Multiplicity::First, observed: Observed::Terms(&[]), ..Goal::new(Ends::Cut) };
    match engine.explore(unfolding, model, &goal, limits, &mut |_| ControlFlow::Break(())) {
        Exploration::Complete => Reach::Never,
        Exploration::Stopped | Exploration::Incomplete(_) => Reach::Perhaps,
    }
}

/// Why the absence of an execution that ends so proves nothing, if a cut may be reached.
pub(super) fn doubt(unfolding: &Unfolding, ends: Ends) -> Option<Stop> {
    if ends == Ends::Cut {
        return None;
    }
    if unfolding.traces.iter().all(|trace| cut(trace).is_none()) {
        return None;
    }
    let memory = Memory::new(unfolding);
    unfolding.traces.iter().find_map(|trace| {
        let (rests_on, stop) = cut(trace)?;
        let allowed = rests_on.iter().copied().collect();
        memory.narrowed(&usable(trace, &allowed)).map(|_| stop)
    })
}

fn cut(trace: &Trace) -> Option<(&[EventId], Stop)> {
    match &trace.end {
        TraceEnd::Exit | TraceEnd::NotStarted | TraceEnd::Spin { .. } | TraceEnd::Blocked { .. } => None,
        TraceEnd::Bound { span, rests_on } => Some((rests_on, Stop::Bound(*span))),
        TraceEnd::Wild { span, what, rests_on } => Some((rests_on, Stop::Outside { span: *span, what: what.clone() })),
    }
}

/// The constraints of a trace over these reads only.
fn usable<'t>(trace: &'t Trace, allowed: &SortedSet<EventId>) -> Vec<&'t Expression> {
    let known = |leaf: &Leaf| matches!(leaf, Leaf::Read(read) if allowed.contains(read));
    let over_known = |constraint: &&Expression| {
        let mut leaves = Vec::new();
        constraint.leaves(&mut leaves);
        leaves.iter().all(known)
    };
    trace.constraints.iter().filter(over_known).collect()
}

/// A write, and what decides that it happens on one of its traces.
type Source<'t> = (EventId, Vec<&'t Expression>);

fn sources(unfolding: &Unfolding) -> Vec<Source<'_>> {
    let mut found: SortedMap<EventId, Vec<Vec<&Expression>>> = SortedMap::new();
    for trace in &unfolding.traces {
        for &id in &trace.events {
            let event = &unfolding.events[id.index()];
            if !matches!(event.kind, EventKind::Write { .. }) {
                continue;
            }
            let reads = event.address_deps.iter().chain(&event.data_deps).chain(&event.control_deps);
            let constraints = usable(trace, &reads.copied().collect());
            let known = found.entry(id).or_default();
            if !known.contains(&constraints) {
                known.push(constraints);
            }
        }
    }
    found.into_iter().flat_map(|(write, ways)| ways.into_iter().map(move |way| (write, way))).collect()
}

/// What each location may hold.
struct Memory<'t> {
    unfolding: &'t Unfolding,
    values: Vec<May>,
}

/// The may-values of reads under constraints; reads that are not here have all those of their location.
type Narrowed = SortedMap<EventId, May>;

impl<'t> Memory<'t> {
    fn new(unfolding: &'t Unfolding) -> Memory<'t> {
        let initial = |location: &fencepost_program::unfolding::LocationInfo| {
            let mut may = May::none();
            may.insert(location.ty.wrap(location.initial));
            may
        };
        let values = unfolding.locations.iter().map(initial).collect();
        let mut memory = Memory { unfolding, values };
        let sources = sources(unfolding);
        let enough = sources.iter().map(|(write, _)| *write).collect::<SortedSet<_>>().len();
        for round in 0..enough {
            let after = memory.round(&sources);
            let changed = memory.values.iter().zip(&after).any(|(before, after)| before != after);
            memory.values = match round < ROUNDS {
                true => after,
                false => {
                    memory.values.iter().zip(after).map(|(old, new)| if *old == new { new } else { May::Any }).collect()
                }
            };
            if !changed {
                break;
            }
        }
        memory
    }

    fn round(&self, sources: &[Source<'_>]) -> Vec<May> {
        let mut after = self.values.clone();
        for (write, constraints) in sources {
            let EventKind::Write { value, ty, location, .. } = &self.unfolding.events[write.index()].kind else {
                continue;
            };
            let (Some(narrowed), Some(slot)) = (self.narrowed(constraints), after.get_mut(location.index())) else {
                continue;
            };
            match image(value, &|read| self.of(&narrowed, read)) {
                May::Any => *slot = May::Any,
                May::Values(values) => values.iter().for_each(|value| slot.insert(ty.wrap(*value))),
            }
        }
        after
    }

    fn of<'m>(&'m self, narrowed: &'m Narrowed, read: EventId) -> &'m May {
        narrowed.get(&read).unwrap_or_else(|| self.at(read))
    }

    fn at(&self, read: EventId) -> &May {
        let location = self.unfolding.events.get(read.index()).and_then(location_of);
        location.and_then(|location| self.values.get(location.index())).unwrap_or(&May::Any)
    }

    /// The values with which the constraints can hold; None if they cannot. Constraints over one read are taken together,
    /// others one by one.
    fn narrowed(&self, constraints: &[&Expression]) -> Option<Narrowed> {
        let mut narrowed = Narrowed::new();
        let mut others = Vec::new();
        let mut leaves = Vec::new();
        for constraint in constraints {
            leaves.clear();
            constraint.leaves(&mut leaves);
            let Some(read) = only_leaf(&mut leaves) else {
                others.push(*constraint);
                continue;
            };
            let may = narrowed.entry(read).or_insert_with(|| self.at(read).clone());
            if let May::Values(values) = may {
                values.retain(|value| constraint.evaluate(&mut |_| Some(*value)) != Some(Value(0)));
                if values.is_empty() {
                    return None;
                }
            }
        }
        let holds = |constraint: &&Expression| {
            image(constraint, &|read| self.of(&narrowed, read)).any(|value| value != Value(0))
        };
        others.iter().all(holds).then_some(narrowed)
    }
}
