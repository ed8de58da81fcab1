//! Which barrier operations meet, chosen outside the solver: one space per choice of traces, of operand values, and of a
//! way to meet. Spaces are disjoint, so no execution is reported twice. Programs without barriers are one space.

use fencepost_program::barrier::Matchings;
use fencepost_program::expression::{Expression, Leaf};
use fencepost_program::program::BarrierRule;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{BarrierMatching, EventKind, TraceEnd, Traces};
use fencepost_program::value::Value;
use fencepost_program::{EventId, TraceId, launch};

use crate::engine::meeting::Meetings;
use crate::engine::{Exploration, Stop};

use super::Search;
use super::encode::{Encoding, Space};
use super::solver::Solver;
use super::values::Values;
use crate::engine::Ends;

/// More combinations of operand values than this are refused.
const MOST_ASSIGNMENTS: usize = 4096;

/// What is done with each space.
pub(super) type Visit<'v, 'a> = dyn FnMut(&mut Search<'a>, &Space) -> Result<(), Exploration> + 'v;

/// What is done with each choice of traces.
type Take<'t, 'a> = dyn FnMut(&mut Search<'a>, &[TraceId]) -> Result<(), Exploration> + 't;

impl<'a> Search<'a> {
    /// Visits the spaces that together are all executions with this ending.
    pub(super) fn all_spaces(&mut self, ending: Ends, visit: &mut Visit<'_, 'a>) -> Result<(), Exploration> {
        let threads = self.unfolding.threads.iter();
        let traces: Vec<Traces> = threads
            .map(|thread| thread.traces.iter().copied().filter(|trace| self.allowed(*trace, ending)).collect())
            .collect();
        if traces.iter().any(|of| of.is_empty()) {
            return Ok(());
        }
        let chosen_apart = |trace: &TraceId| self.barriers(*trace).next().is_some() || self.meets_launches(*trace);
        if !traces.iter().flatten().any(chosen_apart) {
            return visit(self, &Space { traces, matching: BarrierMatching::default(), operands: Vec::new(), ending });
        }
        self.choose_traces(&traces, &mut Meetings::new(self.unfolding), &mut Vec::new(), &mut |search, choice| {
            match launch::admits(search.unfolding, choice) {
                true => search.all_matchings(choice, ending, visit),
                false => Ok(()),
            }
        })
    }

    /// One trace per thread, of those that can meet.
    fn choose_traces(
        &mut self,
        threads: &[Traces],
        meetings: &mut Meetings<'_>,
        chosen: &mut Vec<TraceId>,
        take: &mut Take<'_, 'a>,
    ) -> Result<(), Exploration> {
        self.tick()?;
        let Some((first, rest)) = threads.split_first() else { return take(self, chosen) };
        for trace in first {
            chosen.push(*trace);
            if meetings.are_possible(chosen) {
                self.choose_traces(rest, meetings, chosen, take)?;
            }
            chosen.pop();
        }
        Ok(())
    }

    fn barriers(&self, trace: TraceId) -> impl Iterator<Item = EventId> + use<'a> {
        let unfolding = self.unfolding;
        let events = unfolding.traces[trace.index()].events.iter().copied();
        events.filter(|event| matches!(unfolding.events[event.index()].kind, EventKind::Barrier(_)))
    }

    /// Whether launches may keep a trace from going together with others: those that end in wait of a kernel, and triggers,
    /// of which one is first. Traces that all run to their end go together.
    fn meets_launches(&self, trace: TraceId) -> bool {
        let trace = &self.unfolding.traces[trace.index()];
        let has_kernels = self.unfolding.threads.iter().any(|thread| thread.kernel.is_some());
        has_kernels
            && (trace.end != TraceEnd::Exit
                || trace.events.iter().any(|event| self.unfolding.events[event.index()].has(Tag::LaunchDependents)))
    }

    fn all_matchings(
        &mut self,
        choice: &[TraceId],
        ending: Ends,
        visit: &mut Visit<'_, 'a>,
    ) -> Result<(), Exploration> {
        let traces: Vec<Traces> = choice.iter().map(|trace| Traces::filled(*trace, 1)).collect();
        for operands in self.assignments(choice, &traces, ending)? {
            let mut value = |operand: &Expression| {
                let fixed = operands.iter().find(|(known, _)| known == operand).map(|(_, value)| *value);
                fixed.or_else(|| operand.evaluate(&mut |_| None))
            };
            let mut matchings = Matchings::new(self.unfolding, choice, self.model.generation_order(), &mut value);
            while let Some(matching) = self.next_matching(&mut matchings)? {
                visit(self, &Space { traces: traces.clone(), matching, operands: operands.clone(), ending })?;
            }
        }
        Ok(())
    }

    fn next_matching(&self, matchings: &mut Matchings<'_>) -> Result<Option<BarrierMatching>, Exploration> {
        let mut limit = Ok(());
        let found = matchings.next_while(&mut |bytes| {
            self.watch.is_too_much(bytes);
            limit = self.tick();
            limit.is_ok()
        });
        limit.map(|()| found)
    }

    /// Every combination of values of the operands that are not constant.
    fn assignments(
        &self,
        choice: &[TraceId],
        traces: &[Traces],
        ending: Ends,
    ) -> Result<Vec<Vec<(Expression, Value)>>, Exploration> {
        let mut open: Vec<(Expression, EventId)> = Vec::new();
        let here = choice.iter().flat_map(|trace| self.barriers(*trace)).map(|event| (event, true));
        let elsewhere = self.barriers_not_taken(choice).into_iter().map(|event| (event, false));
        for (event, is_here) in here.chain(elsewhere) {
            let EventKind::Barrier(barrier) = &self.unfolding.events[event.index()].kind else { continue };
            let count = barrier.count.as_ref().filter(|_| is_here);
            for operand in [barrier.instance.as_ref(), barrier.id.as_ref(), count].into_iter().flatten() {
                let constant = operand.evaluate(&mut |_| None).is_some();
                if !constant && !open.iter().any(|(known, _)| known == operand) {
                    open.push((operand.clone(), event));
                }
            }
        }
        let mut assignments = vec![Vec::new()];
        if open.is_empty() {
            return Ok(assignments);
        }
        if let Some(event) = self.computes_with_barrier_results(choice) {
            return Err(self.refuse_operand(event));
        }
        let space =
            Space { traces: traces.to_vec(), matching: BarrierMatching::default(), operands: Vec::new(), ending };
        let solver = Solver::new(&self.watch, &self.work);
        let encoding = Encoding::new(self.unfolding, self.model, &space, solver);
        self.tick()?;
        for (operand, event) in open {
            let possible = Values::possible(&encoding, &operand).map_err(|too_many| self.too_many(too_many))?;
            self.tick()?;
            if possible.contains(&None) || possible.len().saturating_mul(assignments.len()) > MOST_ASSIGNMENTS {
                return Err(self.refuse_operand(event));
            }
            let values: Vec<Value> = possible.into_iter().flatten().collect();
            let extended = assignments.iter().flat_map(|known: &Vec<(Expression, Value)>| {
                values.iter().map(|value| known.iter().cloned().chain([(operand.clone(), *value)]).collect())
            });
            assignments = extended.collect();
        }
        Ok(assignments)
    }

    /// Dartagnan's barriers wait for every barrier of the program that has their operands, so those on ways not taken
    /// matter too, where their operands are values of reads that do occur.
    fn barriers_not_taken(&self, choice: &[TraceId]) -> Vec<EventId> {
        if self.unfolding.barrier_rule != BarrierRule::Dartagnan {
            return Vec::new();
        }
        let chosen = self.unfolding.events_of(choice);
        let occurs = |leaf: &Leaf| matches!(leaf, Leaf::Read(event) if chosen.binary_search(event).is_ok());
        let events = self.unfolding.events.iter().enumerate();
        let others = events.filter_map(|(index, event)| match &event.kind {
            EventKind::Barrier(barrier) if chosen.binary_search(&EventId::new(index)).is_err() => {
                let mut leaves = Vec::new();
                let operands = [&barrier.instance, &barrier.id].into_iter().flatten();
                operands.for_each(|operand| operand.leaves(&mut leaves));
                leaves.iter().all(occurs).then(|| EventId::new(index))
            }
            _ => None,
        });
        others.collect()
    }

    /// A write or a barrier whose value needs what a barrier returned: not known before the matching is.
    fn computes_with_barrier_results(&self, choice: &[TraceId]) -> Option<EventId> {
        let mut events = choice.iter().flat_map(|trace| &self.unfolding.traces[trace.index()].events).copied();
        events.find(|event| {
            let mut leaves = Vec::new();
            match &self.unfolding.events[event.index()].kind {
                EventKind::Write { value, .. } => value.leaves(&mut leaves),
                EventKind::Barrier(barrier) => {
                    let operands = [&barrier.instance, &barrier.id, &barrier.count].into_iter().flatten();
                    operands.for_each(|operand| operand.leaves(&mut leaves));
                }
                EventKind::Read { .. } | EventKind::Fence | EventKind::Issue | EventKind::Omitted(_) => {}
            }
            leaves.iter().any(|leaf| matches!(leaf, Leaf::BarrierResult(_)))
        })
    }

    fn refuse_operand(&self, event: EventId) -> Exploration {
        let what = "a barrier operand with values that cannot be listed, in the SAT engine".to_owned();
        Exploration::Incomplete(Stop::Unsupported { span: self.unfolding.events[event.index()].span, what })
    }
}
