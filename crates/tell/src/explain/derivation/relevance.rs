//! How much a reason against a candidate has to do with what was asked. Candidates include every choice of the orders that
//! models guess (Fence-SC order, the order of `mfence` and reads in the compound model): one that is turned against
//! program order is a short cycle, and tells nothing of the outcome. A reason through the reads and writes that give the
//! outcome comes first, whatever its length.

use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::expression::Leaf;
use fencepost_program::program::{Condition, Term};

use crate::explain::Context;
use crate::explain::derivation::steps::Step;
use crate::explain::vocabulary::Telling;

/// Most telling first.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Relevance {
    /// Something that was asked for is read or overwritten on the way.
    Asked,
    /// Something else is.
    Communication,
    /// Nothing is.
    None,
}

/// The events that give the final values a condition asks for.
pub(crate) struct Asked(Vec<EventId>);

impl Asked {
    pub(crate) fn new(context: &Context<'_>, execution: &Execution, condition: Option<&Condition>) -> Asked {
        let mut events = Vec::new();
        for term in condition.map(Condition::terms).unwrap_or_default() {
            match term {
                Term::Register(thread, register) => {
                    let own = execution.traces.iter().filter_map(|trace| context.unfolding.traces.get(trace.index()));
                    let values = own.filter(|trace| trace.thread == thread);
                    let mut leaves = Vec::new();
                    values
                        .filter_map(|trace| trace.registers.get(register.index()))
                        .for_each(|value| value.leaves(&mut leaves));
                    events.extend(leaves.into_iter().map(|leaf| match leaf {
                        Leaf::Read(event) | Leaf::BarrierResult(event) => event,
                    }));
                }
                Term::Memory(location) => {
                    let writes = execution.events.iter().copied().filter(|event| context.is_write(*event));
                    events.extend(writes.filter(|event| context.location_of(*event) == Some(location)));
                }
                Term::Constant(_) => {}
            }
        }
        Asked(events)
    }

    /// Of a reason through these steps.
    pub(crate) fn relevance(&self, context: &Context<'_>, steps: &[&Step]) -> Relevance {
        let communicating = steps.iter().filter(|step| {
            matches!(
                context.telling(&step.name),
                Some(
                    Telling::ReadsFrom
                        | Telling::Coherence
                        | Telling::FromRead
                        | Telling::Observation
                        | Telling::Pattern
                        | Telling::Atomic
                )
            )
        });
        let communicating: Vec<&&Step> = communicating.collect();
        let touches = |step: &&&Step| self.0.contains(&step.from) || self.0.contains(&step.to);
        match communicating.as_slice() {
            [] => Relevance::None,
            some if some.iter().any(touches) => Relevance::Asked,
            _ => Relevance::Communication,
        }
    }
}
