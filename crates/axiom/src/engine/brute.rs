//! The oracle: every candidate of the definitions, judged by `replay`. For tests, not for users.
//!
//! An execution is a choice of traces, reads-from, barrier matching, an orientation of the mutual-scope `fence.sc`
//! pairs, and coherence. All of them are enumerated. The only short cut is that a violated axiom that looks at none of
//! the inner choices rules out all of them at once. Where coherence is partial, all transitive orders with the init
//! write first are tried, smallest first, and one that contains another satisfying one is no execution.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Instant;

use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{BarrierMatching, EventKind, TraceEnd, Unfolding};
use fencepost_program::{EventId, LocationId, TraceId, barrier};
use fencepost_syntax::{Span, cat};

use super::{Ends, Engine, Exploration, Goal, Limits, Stop, Visitor};
use crate::execution::Execution;
use crate::model::{Coherence, Model};
use crate::replay::{self, Candidate, Depends, Includes, Judge, Valuation};

type Pair = (EventId, EventId);

/// Judges by the cat tree; of the compiled model it uses only whether coherence is total.
#[derive(Clone, Debug)]
pub struct Brute<'a> {
    pub cat: &'a cat::Model,
    pub includes: &'a Includes,
    /// How many candidates it may look at before it gives up.
    pub candidates: u64,
}

impl Engine for Brute<'_> {
    fn name(&self) -> &'static str {
        "brute"
    }

    fn explore(
        &self,
        unfolding: &Unfolding,
        model: &Model,
        goal: &Goal<'_>,
        limits: &Limits<'_>,
        visit: &mut Visitor<'_>,
    ) -> Exploration {
        let judge = match Judge::new(self.cat, self.includes, unfolding) {
            Ok(judge) => judge,
            Err(error) => {
                return Exploration::Incomplete(Stop::Unsupported { span: error.span, what: error.to_string() });
            }
        };
        let mut search = Search {
            unfolding,
            judge: &judge,
            coherence: &model.coherence,
            goal,
            limits,
            visit,
            left: self.candidates,
            doubt: None,
        };
        match search.all_traces() {
            Err(end) => end,
            Ok(()) => search.doubt.map_or(Exploration::Complete, Exploration::Incomplete),
        }
    }
}

struct Search<'s, 't> {
    unfolding: &'t Unfolding,
    judge: &'s Judge<'t>,
    coherence: &'s Coherence,
    goal: &'s Goal<'s>,
    limits: &'s Limits<'s>,
    visit: &'s mut Visitor<'s>,
    left: u64,
    /// A consistent candidate that is no execution: cut at the bound, or out of thin air.
    doubt: Option<Stop>,
}

/// What is chosen so far. `sync_fence` and `co` are given to the judge as they are chosen.
struct Choice<'c> {
    traces: &'c [TraceId],
    events: &'c [EventId],
    rf: &'c [Pair],
    barriers: &'c BarrierMatching,
    sync_fence: &'c [Pair],
    values: &'c Valuation,
}

impl<'t> Search<'_, 't> {
    fn all_traces(&mut self) -> Result<(), Exploration> {
        let choices: Vec<&[TraceId]> = self.unfolding.threads.iter().map(|thread| thread.traces.as_slice()).collect();
        let mut product = Product::new(choices.iter().map(|traces| traces.len()).collect());
        while let Some(digits) = product.next() {
            let traces: Vec<TraceId> = digits.iter().zip(&choices).map(|(&digit, traces)| traces[digit]).collect();
            if self.may_end(&traces) {
                self.all_reads_from(&traces)?;
            }
        }
        Ok(())
    }

    fn end(&self, trace: TraceId) -> &'t TraceEnd {
        &self.unfolding.traces[trace.index()].end
    }

    /// Whether an execution of these traces can meet the goal, or be cut at the bound.
    fn may_end(&self, traces: &[TraceId]) -> bool {
        let any = |test: fn(&TraceEnd) -> bool| traces.iter().any(|trace| test(self.end(*trace)));
        let stuck = any(|end| matches!(end, TraceEnd::Spin { .. } | TraceEnd::Blocked { .. }));
        let cut = any(|end| matches!(end, TraceEnd::Bound { .. }));
        match self.goal.ends {
            Ends::Terminating => !stuck,
            Ends::Stuck => stuck || cut,
        }
    }

    fn all_reads_from(&mut self, traces: &[TraceId]) -> Result<(), Exploration> {
        let unfolding = self.unfolding;
        let events = replay::occurring(unfolding, traces);
        self.candidate().set_traces(traces);
        let at = |id: &EventId| replay::location(&unfolding.events[id.index()]);
        let has = |id: &EventId, tag| replay::has(&unfolding.events[id.index()], tag);
        let reads: Vec<EventId> = events.iter().copied().filter(|id| has(id, Tag::Read)).collect();
        let writes: Vec<EventId> = events.iter().copied().filter(|id| has(id, Tag::Write)).collect();
        let sources: Vec<Vec<EventId>> =
            (reads.iter()).map(|read| writes.iter().copied().filter(|write| at(write) == at(read)).collect()).collect();
        let mut product = Product::new(sources.iter().map(Vec::len).collect());
        while let Some(digits) = product.next() {
            self.tick()?;
            let rf: Vec<Pair> = (0..reads.len()).map(|index| (sources[index][digits[index]], reads[index])).collect();
            if !self.contradicted(traces, &Valuation::new(unfolding, &events, &rf, None)) {
                self.candidate().set_rf(&rf);
                if self.all_barriers(traces, &events, &rf)? < Depends::RF {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Each level answers which choices would have to change for anything to be consistent: the outermost choice that
    /// the violated axiom looks at, `Depends::ALL` where nothing is known.
    fn all_barriers(&mut self, traces: &[TraceId], events: &[EventId], rf: &[Pair]) -> Result<Depends, Exploration> {
        let unfolding = self.unfolding;
        let early = Valuation::new(unfolding, events, rf, None);
        for barriers in barrier::matchings(unfolding, traces, &mut |operand| early.evaluate(operand)) {
            let values = Valuation::new(unfolding, events, rf, Some(&barriers));
            if self.contradicted(traces, &values) {
                continue;
            }
            self.candidate().set_barriers(&barriers);
            let depends = self.all_fence_orders(traces, events, rf, &barriers, &values)?;
            if depends < Depends::BARRIERS {
                return Ok(depends);
            }
        }
        Ok(Depends::ALL)
    }

    fn all_fence_orders(
        &mut self,
        traces: &[TraceId],
        events: &[EventId],
        rf: &[Pair],
        barriers: &BarrierMatching,
        values: &Valuation,
    ) -> Result<Depends, Exploration> {
        let pairs = replay::fence_sc_pairs(self.unfolding, events);
        let mut product = Product::new(vec![2; pairs.len()]);
        while let Some(digits) = product.next() {
            self.tick()?;
            let orient = |(&(x, y), &digit): (&Pair, &usize)| if digit == 0 { (x, y) } else { (y, x) };
            let mut sync_fence: Vec<Pair> = pairs.iter().zip(digits).map(orient).collect();
            sync_fence.sort();
            if !replay::is_acyclic(&sync_fence) {
                continue;
            }
            self.candidate().set_sync_fence(&sync_fence);
            let choice = Choice { traces, events, rf, barriers, sync_fence: &sync_fence, values };
            let depends = self.all_coherence(&choice)?;
            if depends < Depends::SYNC_FENCE {
                return Ok(depends);
            }
        }
        Ok(Depends::ALL)
    }

    fn all_coherence(&mut self, choice: &Choice<'_>) -> Result<Depends, Exploration> {
        let orders: Vec<Vec<Vec<Pair>>> = (0..self.unfolding.locations.len())
            .map(|index| self.orders_at(LocationId::new(index), choice.events))
            .collect();
        let mut all = Vec::new();
        let mut product = Product::new(orders.iter().map(Vec::len).collect());
        while let Some(digits) = product.next() {
            self.tick()?;
            let mut co: Vec<Pair> = digits.iter().zip(&orders).flat_map(|(&digit, at)| at[digit].clone()).collect();
            co.sort();
            all.push(co);
        }
        // Smallest first: whatever contains an accepted one is not minimal. Total orders have one size.
        all.sort_by_key(Vec::len);
        let mut accepted: Vec<Vec<Pair>> = Vec::new();
        for co in all {
            self.tick()?;
            if accepted.iter().any(|smaller| smaller.iter().all(|pair| co.contains(pair))) {
                continue;
            }
            self.candidate().set_co(&co);
            match self.judge.rejection() {
                Err(error) => {
                    let what = error.to_string();
                    return Err(Exploration::Incomplete(Stop::Unsupported { span: error.span, what }));
                }
                Ok(Some(depends)) if depends < Depends::CO => return Ok(depends),
                Ok(Some(_)) => {}
                Ok(None) => {
                    self.report(choice, &co)?;
                    accepted.push(co);
                }
            }
        }
        Ok(Depends::ALL)
    }

    /// Every coherence of one location.
    fn orders_at(&self, location: LocationId, events: &[EventId]) -> Vec<Vec<Pair>> {
        let init = self.unfolding.locations[location.index()].init;
        let writes: Vec<EventId> = (events.iter().copied())
            .filter(|id| match &self.unfolding.events[id.index()].kind {
                EventKind::Write { location: at, .. } => *at == location && *id != init,
                _ => false,
            })
            .collect();
        let orders = match self.coherence {
            Coherence::Total => total_orders(&writes),
            Coherence::Partial => partial_orders(&writes),
        };
        let first = |order: Vec<Pair>| writes.iter().map(|write| (init, *write)).chain(order).collect();
        orders.into_iter().map(first).collect()
    }

    /// A consistent candidate: an execution if it has values and meets the goal.
    fn report(&mut self, choice: &Choice<'_>, co: &[Pair]) -> Result<(), Exploration> {
        let cut = choice.traces.iter().find_map(|trace| match self.end(*trace) {
            TraceEnd::Bound { span } => Some(*span),
            _ => None,
        });
        if let Some(span) = cut {
            self.doubt = Some(Stop::Bound(span));
            return Ok(());
        }
        if !choice.values.is_complete(self.unfolding, choice.events) {
            self.doubt = Some(Stop::ThinAir);
            return Ok(());
        }
        let execution = Execution {
            traces: choice.traces.to_vec(),
            events: choice.events.to_vec(),
            rf: choice.rf.to_vec(),
            co: co.to_vec(),
            sync_fence: choice.sync_fence.to_vec(),
            barriers: choice.barriers.clone(),
            values: choice.events.iter().map(|event| choice.values.of(*event)).collect(),
            weight: 1,
        };
        if !replay::meets_goal(self.unfolding, &execution, self.goal) {
            return Ok(());
        }
        match (self.visit)(&execution) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Exploration::Stopped),
        }
    }

    /// Whether the known values already take another way than the traces do.
    fn contradicted(&self, traces: &[TraceId], values: &Valuation) -> bool {
        let trace = |id: &TraceId| &self.unfolding.traces[id.index()];
        traces.iter().any(|id| replay::decided(trace(id), values) == Some(false))
    }

    fn candidate(&self) -> &Candidate<'t> {
        self.judge.candidate()
    }

    fn tick(&mut self) -> Result<(), Exploration> {
        if self.left == 0 {
            let what = "more candidates than the oracle may look at".to_string();
            return Err(Exploration::Incomplete(Stop::Unsupported { span: Span::default(), what }));
        }
        self.left -= 1;
        if self.limits.cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Exploration::Incomplete(Stop::Cancelled));
        }
        if self.left.is_multiple_of(64) && self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Exploration::Incomplete(Stop::Time));
        }
        Ok(())
    }
}

/// All digit strings of a mixed-radix counter; none if a radix is zero.
struct Product {
    radix: Vec<usize>,
    digits: Vec<usize>,
    started: bool,
}

impl Product {
    fn new(radix: Vec<usize>) -> Product {
        Product { digits: vec![0; radix.len()], radix, started: false }
    }

    fn next(&mut self) -> Option<&[usize]> {
        if !self.started {
            self.started = true;
            return if self.radix.contains(&0) { None } else { Some(&self.digits) };
        }
        for (digit, radix) in self.digits.iter_mut().zip(&self.radix) {
            *digit += 1;
            if *digit < *radix {
                return Some(&self.digits);
            }
            *digit = 0;
        }
        None
    }
}

/// All total orders, each as its pairs.
fn total_orders(writes: &[EventId]) -> Vec<Vec<Pair>> {
    let mut sequences: Vec<Vec<EventId>> = vec![Vec::new()];
    for write in writes {
        sequences = (sequences.iter())
            .flat_map(|sequence| {
                (0..=sequence.len()).map(move |at| {
                    let mut longer = sequence.clone();
                    longer.insert(at, *write);
                    longer
                })
            })
            .collect();
    }
    let pairs = |sequence: &Vec<EventId>| {
        let after = |(at, from): (usize, &EventId)| {
            let from = *from;
            sequence[at + 1..].iter().map(move |to| (from, *to)).collect::<Vec<Pair>>()
        };
        sequence.iter().enumerate().flat_map(after).collect()
    };
    sequences.iter().map(pairs).collect()
}

/// All partial orders: each pair of writes unrelated or related one way, kept if transitive and acyclic.
fn partial_orders(writes: &[EventId]) -> Vec<Vec<Pair>> {
    let mut pairs = Vec::new();
    for (index, &x) in writes.iter().enumerate() {
        pairs.extend(writes[index + 1..].iter().map(|&y| (x, y)));
    }
    let mut orders = Vec::new();
    let mut product = Product::new(vec![3; pairs.len()]);
    while let Some(digits) = product.next() {
        let choose = |(&(x, y), &digit): (&Pair, &usize)| match digit {
            0 => None,
            1 => Some((x, y)),
            _ => Some((y, x)),
        };
        let order: Vec<Pair> = pairs.iter().zip(digits).filter_map(choose).collect();
        let transitive = order.iter().all(|&(x, y)| {
            order.iter().filter(|(from, _)| *from == y).all(|&(_, z)| x != z && order.contains(&(x, z)))
        });
        if transitive {
            orders.push(order);
        }
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(count: u32) -> Vec<EventId> {
        (0..count).map(EventId).collect()
    }

    #[test]
    fn counts_of_orders_are_those_of_the_literature() {
        // n! and the number of labelled posets (OEIS A001035).
        let total: Vec<usize> = (0..5).map(|count| total_orders(&events(count)).len()).collect();
        assert_eq!(total, [1, 1, 2, 6, 24]);
        let partial: Vec<usize> = (0..5).map(|count| partial_orders(&events(count)).len()).collect();
        assert_eq!(partial, [1, 1, 3, 19, 219]);
    }

    #[test]
    fn a_product_with_an_empty_factor_is_empty() {
        assert!(Product::new(vec![2, 0]).next().is_none());
        let mut none = Product::new(Vec::new());
        assert_eq!(none.next(), Some(&[][..]));
        assert!(none.next().is_none());
    }
}
