//! The oracle: every candidate of the definitions, judged by `replay`. For tests, not for users.
//!
//! An execution is a choice of traces, reads-from, barrier matching, an orientation of the mutual-scope `fence.sc`
//! pairs (where the model looks at it), and coherence. All of them are enumerated. The only short cut is that a violated axiom that looks at none of
//! the inner choices rules out all of them at once. Where coherence is partial, all transitive orders with the init
//! write first are tried, smallest first, and one that contains another satisfying one is no execution.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Instant;

use fencepost_program::barrier::Matchings;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{BarrierMatching, EventKind, TraceEnd, Unfolding};
use fencepost_program::{EventId, LocationId, TraceId, launch};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::{Span, cat};

use super::{Ends, Engine, Exploration, Goal, Limits, Stop, Visitor, cut};
use crate::execution::Execution;
use crate::model::{Coherence, FenceOrder, Model};
use crate::replay::{self, Candidate, Depends, Includes, Judge, Kept, Valuation};

type Pair = (EventId, EventId);

/// Judges by the cat tree; of the compiled model it uses only whether coherence is total, and the name of a flag.
#[derive(Clone, Debug)]
pub struct Brute<'a> {
    pub cat: &'a cat::Model,
    pub includes: &'a Includes,
    /// Those that are on, for `if "name"`.
    pub variants: &'a BTreeSet<String>,
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
        let judge = match Judge::new(self.cat, self.includes, self.variants, unfolding, Kept::Operators) {
            Ok(judge) => judge,
            Err(error) => {
                return Exploration::Incomplete(Stop::Unsupported { span: error.span, what: error.to_string() });
            }
        };
        let mut search = Search {
            unfolding,
            judge: &judge,
            coherence: &model.coherence,
            fences: judge.fence_order(),
            goal,
            model,
            limits,
            visit,
            left: self.candidates,
            doubt: None,
        };
        match search.all_traces() {
            Err(end) => end,
            Ok(()) => {
                let doubt = search.doubt.or_else(|| cut::doubt(unfolding, goal.ends));
                doubt.map_or(Exploration::Complete, Exploration::Incomplete)
            }
        }
    }
}

struct Search<'s, 't> {
    unfolding: &'t Unfolding,
    judge: &'s Judge<'t>,
    coherence: &'s Coherence,
    fences: FenceOrder,
    goal: &'s Goal<'s>,
    model: &'s Model,
    limits: &'s Limits<'s>,
    visit: &'s mut Visitor<'s>,
    left: u64,
    /// A consistent candidate that is no execution: out of thin air.
    doubt: Option<Stop>,
}

/// What one choice of traces fixes.
struct Fixed {
    traces: Vec<TraceId>,
    events: Vec<EventId>,
    reads: Vec<EventId>,
    /// The writes each read may read from.
    sources: Vec<Vec<EventId>>,
    fences: Vec<Pair>,
    /// Every coherence, smallest first; filled when first needed.
    orders: Vec<Vec<Pair>>,
    has_barriers: bool,
}

/// What is chosen so far, besides coherence.
struct Choice<'c> {
    rf: &'c [Pair],
    barriers: &'c BarrierMatching,
    sync_fence: &'c [Pair],
    values: &'c Valuation,
}

impl<'t> Search<'_, 't> {
    fn all_traces(&mut self) -> Result<(), Exploration> {
        let choices: Vec<&[TraceId]> = self.unfolding.threads.iter().map(|thread| &*thread.traces).collect();
        let mut product = Product::new(choices.iter().map(|traces| traces.len()).collect());
        while let Some(digits) = product.next() {
            let traces: Vec<TraceId> = digits.iter().zip(&choices).map(|(&digit, traces)| traces[digit]).collect();
            if self.may_end(&traces) {
                let mut fixed = self.fix(traces);
                self.all_reads_from(&mut fixed)?;
            }
        }
        Ok(())
    }

    fn end(&self, trace: TraceId) -> &'t TraceEnd {
        &self.unfolding.traces[trace.index()].end
    }

    /// Whether an execution of these traces can meet the goal.
    fn may_end(&self, traces: &[TraceId]) -> bool {
        let any = |test: fn(&TraceEnd) -> bool| traces.iter().any(|trace| test(self.end(*trace)));
        let stuck = any(|end| matches!(end, TraceEnd::Spin { .. } | TraceEnd::Blocked { .. }));
        let cut = any(|end| matches!(end, TraceEnd::Bound { .. } | TraceEnd::Wild { .. }));
        let wanted = match self.goal.ends {
            Ends::Terminating => !cut && !stuck,
            Ends::Stuck => !cut && stuck,
            Ends::Cut => cut,
        };
        wanted && launch::admits(self.unfolding, traces)
    }

    fn fix(&self, traces: Vec<TraceId>) -> Fixed {
        let unfolding = self.unfolding;
        let event = |id: &EventId| &unfolding.events[id.index()];
        let events = replay::occurring(unfolding, &traces);
        let having =
            |tag| -> Vec<EventId> { events.iter().copied().filter(|id| replay::has(event(id), tag)).collect() };
        let (reads, writes) = (having(Tag::Read), having(Tag::Write));
        let at = |id: &EventId| replay::location(event(id));
        let sources =
            (reads.iter()).map(|read| writes.iter().copied().filter(|write| at(write) == at(read)).collect()).collect();
        let fences = match self.fences {
            FenceOrder::Ordered => replay::fence_sc_pairs(unfolding, &events),
            FenceOrder::Unordered => Vec::new(),
        };
        let has_barriers = !having(Tag::Barrier).is_empty();
        Fixed { traces, events, reads, sources, fences, orders: Vec::new(), has_barriers }
    }

    fn all_reads_from(&mut self, fixed: &mut Fixed) -> Result<(), Exploration> {
        self.candidate().set_traces(&fixed.traces);
        let mut product = Product::new(fixed.sources.iter().map(Vec::len).collect());
        while let Some(digits) = product.next() {
            self.tick()?;
            let choose = |((sources, &digit), &read): ((&Vec<EventId>, &usize), &EventId)| (sources[digit], read);
            let rf: Vec<Pair> = fixed.sources.iter().zip(digits).zip(&fixed.reads).map(choose).collect();
            let values = Valuation::new(self.unfolding, &fixed.events, &rf, None);
            if !self.contradicted(&fixed.traces, &values) {
                self.candidate().set_rf(&rf);
                if self.all_barriers(fixed, &rf, &values)? < Depends::RF {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Each level answers which choices would have to change for anything to be consistent: the outermost choice that
    /// the violated axiom looks at, `Depends::ALL` where nothing is known.
    fn all_barriers(&mut self, fixed: &mut Fixed, rf: &[Pair], early: &Valuation) -> Result<Depends, Exploration> {
        let unfolding = self.unfolding;
        let order = self.model.generation_order();
        let mut matchings = Matchings::new(unfolding, &fixed.traces, order, &mut |operand| early.evaluate(operand));
        while let Some(barriers) = self.next_matching(&mut matchings)? {
            self.candidate().set_barriers(&barriers);
            let depends = if fixed.has_barriers {
                let values = Valuation::new(unfolding, &fixed.events, rf, Some(&barriers));
                if self.contradicted(&fixed.traces, &values) {
                    continue;
                }
                self.all_fence_orders(fixed, rf, &barriers, &values)?
            } else {
                self.all_fence_orders(fixed, rf, &barriers, early)?
            };
            if depends < Depends::BARRIERS {
                return Ok(depends);
            }
        }
        Ok(Depends::ALL)
    }

    fn next_matching(&mut self, matchings: &mut Matchings<'_>) -> Result<Option<BarrierMatching>, Exploration> {
        let mut limit = Ok(());
        let found = matchings.next_while(&mut |_| {
            limit = self.tick();
            limit.is_ok()
        });
        limit.map(|()| found)
    }

    fn all_fence_orders(
        &mut self,
        fixed: &mut Fixed,
        rf: &[Pair],
        barriers: &BarrierMatching,
        values: &Valuation,
    ) -> Result<Depends, Exploration> {
        let mut product = Product::new(vec![2; fixed.fences.len()]);
        while let Some(digits) = product.next() {
            self.tick()?;
            let orient = |(&(x, y), &digit): (&Pair, &usize)| if digit == 0 { (x, y) } else { (y, x) };
            let mut sync_fence: Vec<Pair> = fixed.fences.iter().zip(digits).map(orient).collect();
            sync_fence.shared_sort();
            if !replay::is_acyclic(&sync_fence) {
                continue;
            }
            self.candidate().set_sync_fence(&sync_fence);
            let choice = Choice { rf, barriers, sync_fence: &sync_fence, values };
            let depends = self.all_coherence(fixed, &choice)?;
            if depends < Depends::SYNC_FENCE {
                return Ok(depends);
            }
        }
        Ok(Depends::ALL)
    }

    fn all_coherence(&mut self, fixed: &mut Fixed, choice: &Choice<'_>) -> Result<Depends, Exploration> {
        if fixed.orders.is_empty() {
            fixed.orders = self.all_orders(&fixed.events)?;
        }
        let mut accepted: Vec<&Vec<Pair>> = Vec::new();
        for co in &fixed.orders {
            self.tick()?;
            // Smallest first: whatever contains an accepted one is not minimal. Total orders have one size.
            if accepted.iter().any(|smaller| smaller.iter().all(|pair| co.binary_search(pair).is_ok())) {
                continue;
            }
            self.candidate().set_co(co);
            match self.judge.rejection() {
                Err(error) => {
                    let what = error.to_string();
                    return Err(Exploration::Incomplete(Stop::Unsupported { span: error.span, what }));
                }
                Ok(Some(depends)) if depends < Depends::CO => return Ok(depends),
                Ok(Some(_)) => {}
                Ok(None) => {
                    self.report(fixed, choice, co)?;
                    accepted.push(co);
                }
            }
        }
        Ok(Depends::ALL)
    }

    /// Every coherence of all locations, smallest first.
    fn all_orders(&mut self, events: &[EventId]) -> Result<Vec<Vec<Pair>>, Exploration> {
        let locations = 0..self.unfolding.locations.len();
        let at: Result<Vec<Vec<Vec<Pair>>>, Exploration> =
            locations.map(|index| self.orders_at(LocationId::new(index), events)).collect();
        let at = at?;
        let mut all = Vec::new();
        let mut product = Product::new(at.iter().map(Vec::len).collect());
        while let Some(digits) = product.next() {
            self.tick()?;
            let mut co: Vec<Pair> = digits.iter().zip(&at).flat_map(|(&digit, at)| at[digit].clone()).collect();
            co.shared_sort();
            all.push(co);
        }
        all.shared_sort_by_key(Vec::len);
        Ok(all)
    }

    /// Every coherence of one location.
    fn orders_at(&self, location: LocationId, events: &[EventId]) -> Result<Vec<Vec<Pair>>, Exploration> {
        let init = self.unfolding.locations[location.index()].init;
        let writes: Vec<EventId> = (events.iter().copied())
            .filter(|id| match &self.unfolding.events[id.index()].kind {
                EventKind::Write { location: at, .. } => *at == location && *id != init,
                _ => false,
            })
            .collect();
        let orders = match self.coherence {
            Coherence::Total => total_orders(&writes, self.left),
            Coherence::Partial => partial_orders(&writes, self.left),
        };
        let orders = orders.ok_or_else(too_many)?;
        let first = |order: Vec<Pair>| writes.iter().map(|write| (init, *write)).chain(order).collect();
        Ok(orders.into_iter().map(first).collect())
    }

    /// A consistent candidate: an execution if it has values and meets the goal.
    fn report(&mut self, fixed: &Fixed, choice: &Choice<'_>, co: &[Pair]) -> Result<(), Exploration> {
        if !choice.values.is_complete(self.unfolding, &fixed.events) {
            self.doubt = Some(Stop::ThinAir);
            return Ok(());
        }
        let execution = Execution {
            traces: fixed.traces.clone(),
            events: fixed.events.clone(),
            rf: choice.rf.to_vec(),
            co: co.to_vec(),
            sync_fence: choice.sync_fence.to_vec(),
            barriers: choice.barriers.clone(),
            values: fixed.events.iter().map(|event| choice.values.of(*event)).collect(),
            weight: 1,
        };
        if !replay::meets_goal(self.unfolding, &execution, self.goal) || !self.raises() {
            return Ok(());
        }
        match (self.visit)(&execution) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Exploration::Stopped),
        }
    }

    /// Whether the candidate raises the flag that the goal wants.
    fn raises(&self) -> bool {
        let Some(raised) = self.goal.raised else { return true };
        let Some(name) = self.model.checks.get(raised.flag.index()).map(|check| &check.name) else { return false };
        let Ok(judgement) = self.judge.judgement() else { return false };
        let mut pairs = judgement.flags.iter().filter(|(flag, _)| flag == name).flat_map(|(_, pairs)| pairs);
        pairs.any(|&(from, to)| !raised.beyond.contains(&(EventId(from), EventId(to))))
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
            return Err(too_many());
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

fn too_many() -> Exploration {
    let what = "more candidates than the oracle may look at".to_string();
    Exploration::Incomplete(Stop::Unsupported { span: Span::default(), what })
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

/// All total orders, each as its pairs, or None if there are more than `limit`.
fn total_orders(writes: &[EventId], limit: u64) -> Option<Vec<Vec<Pair>>> {
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
        if sequences.len() as u64 > limit {
            return None;
        }
    }
    let pairs = |sequence: &Vec<EventId>| {
        let after = |(at, from): (usize, &EventId)| {
            let from = *from;
            sequence[at + 1..].iter().map(move |to| (from, *to)).collect::<Vec<Pair>>()
        };
        sequence.iter().enumerate().flat_map(after).collect()
    };
    Some(sequences.iter().map(pairs).collect())
}

/// All partial orders, or None if there are more than `limit`. One write after the other: unrelated to, before or after
/// each of the earlier ones, kept if the result is transitive and acyclic (restrictions of partial orders are such).
fn partial_orders(writes: &[EventId], limit: u64) -> Option<Vec<Vec<Pair>>> {
    let mut orders: Vec<Vec<Pair>> = vec![Vec::new()];
    for (index, &new) in writes.iter().enumerate() {
        let mut longer = Vec::new();
        for order in &orders {
            let mut product = Product::new(vec![3; index]);
            while let Some(digits) = product.next() {
                let choose = |(&old, &digit): (&EventId, &usize)| match digit {
                    0 => None,
                    1 => Some((old, new)),
                    _ => Some((new, old)),
                };
                let added = writes.iter().zip(digits).filter_map(choose);
                let candidate: Vec<Pair> = order.iter().copied().chain(added).collect();
                if is_transitive(&candidate) {
                    longer.push(candidate);
                }
            }
            if longer.len() as u64 > limit {
                return None;
            }
        }
        orders = longer;
    }
    Some(orders)
}

/// Transitive, and without a pair of writes that are each before the other.
fn is_transitive(order: &[Pair]) -> bool {
    order
        .iter()
        .all(|&(x, y)| order.iter().filter(|(from, _)| *from == y).all(|&(_, z)| x != z && order.contains(&(x, z))))
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
        let total: Vec<usize> =
            (0..5).map(|count| total_orders(&events(count), 1000).map_or(0, |orders| orders.len())).collect();
        assert_eq!(total, [1, 1, 2, 6, 24]);
        let partial: Vec<usize> =
            (0..5).map(|count| partial_orders(&events(count), 1000).map_or(0, |orders| orders.len())).collect();
        assert_eq!(partial, [1, 1, 3, 19, 219]);
        assert_eq!(partial_orders(&events(5), 1000), None);
    }

    #[test]
    fn a_product_with_an_empty_factor_is_empty() {
        assert!(Product::new(vec![2, 0]).next().is_none());
        let mut none = Product::new(Vec::new());
        assert_eq!(none.next(), Some(&[][..]));
        assert!(none.next().is_none());
    }
}
