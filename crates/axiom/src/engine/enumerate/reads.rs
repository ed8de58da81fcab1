//! Reads-from: every read picks a same-location write of the chosen traces, the init write included.

use std::collections::BTreeMap;

use fencepost_program::EventId;
use fencepost_program::unfolding::EventKind;
use fencepost_syntax::few::Few;

use super::budget::Flow;
use super::pairs::Pairs;
use super::traces::{Test, register, tests_of};
use super::values::Consistent;
use super::{Among, Progress, Search};
use crate::base::location_of;
use crate::bits::Relation;
use crate::engine::may::MayValues;
use crate::evaluate::{Chosen, Pruning, Stage};
use crate::model::{BaseRelation, CheckId};

/// From this many combinations on, pairs of choices are tried against each other: early where read-modify-writes are among
/// them, of which no two read from one write, and later where most pairs go together.
const PAIRWISE_UPDATES_FROM: u64 = 64;
const PAIRWISE_FROM: u64 = 4096;
/// Checking the model on a partial choice costs as much as on a complete one: not for the last few.
const CHECK_FROM: u64 = 16;

/// The writes that a read may read from, ascending.
pub(super) type Sources = Few<usize, 4>;

/// What one choice of traces leaves to choose.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// Every read, ascending.
    pub(super) all: Vec<usize>,
    /// The write each local event reads from, `usize::MAX` while it has none.
    pub(super) source: Vec<usize>,
    pub(super) relation: Relation,
    /// Reads with more than one candidate, with the candidates.
    pub(super) open: Vec<(usize, Sources)>,
    pub(super) pinned: Vec<(usize, usize)>,
    /// How many ways the open reads from this one on can be chosen.
    remaining: Vec<u64>,
    /// Which choices go together, where that is tabulated.
    pub(super) pairs: Pairs,
    /// The location of each local event, by number.
    pub(super) location: Vec<usize>,
    /// The write half of each read half of a read-modify-write, `usize::MAX` for other events.
    pub(super) partner: Vec<usize>,
    /// The reads that stuck threads repeat; see [`super::narrow`].
    pub(super) spinning: Vec<usize>,
    /// By write and two reads: whether not both can read from it. Filled on demand.
    pub(super) exclusive: BTreeMap<(usize, usize, usize), bool>,
    may: MayValues,
}

impl Search<'_, '_> {
    /// The candidates of each read that its may-values allow; false if a read has none.
    pub(super) fn find_reads(&mut self) -> bool {
        let (unfolding, candidate) = (self.unfolding, &self.work.candidate);
        let tests = tests_of(unfolding, &self.question, &candidate.traces);
        let (question, traces) = (&self.question, &candidate.traces);
        let mut passes = |read: EventId, value| {
            let from = tests.partition_point(|(event, _)| *event < read);
            tests[from..].iter().take_while(|(event, _)| *event == read).all(|(_, test)| match test {
                Test::NonZero(expression) => expression.evaluate(&mut |_| Some(value)).is_none_or(|value| value.0 != 0),
                Test::Conjunct(index) => {
                    let term = &mut |term: &_| register(unfolding, traces, term)?.evaluate(&mut |_| Some(value));
                    question.conjuncts[*index].holds(term) != Some(false)
                }
            })
        };
        let ways = match self.among {
            Among::Ways(ways) => Some(ways),
            Among::All | Among::Classes(_) => None,
        };
        let reads = &mut self.work.reads;
        reads.may.begin(unfolding, &candidate.events, &mut passes);
        let location = |event: &EventId| location_of(&unfolding.events[event.index()]);
        reads.location.clear();
        reads.location.extend(candidate.events.iter().map(|id| location(id).map_or(usize::MAX, |at| at.index())));
        let partner = |id: &EventId| {
            let event = &unfolding.events[id.index()];
            event.rmw_partner.filter(|_| event.is_read()).and_then(|partner| candidate.local(partner))
        };
        reads.partner.clear();
        reads.partner.extend(candidate.events.iter().map(|id| partner(id).unwrap_or(usize::MAX)));
        reads.exclusive.clear();
        reads.all.clear();
        reads.open.clear();
        reads.pinned.clear();
        for (read, id) in candidate.events.iter().enumerate() {
            let EventKind::Read { ty, .. } = &unfolding.events[id.index()].kind else { continue };
            reads.all.push(read);
            let mut sources = Sources::new();
            for (write, source) in candidate.events.iter().enumerate() {
                let is_write = matches!(unfolding.events[source.index()].kind, EventKind::Write { .. });
                if is_write
                    && ways.is_none_or(|ways| ways.admit(*source, *id))
                    && reads.location[write] == reads.location[read]
                    && reads.may.of(*source).any(|value| passes(*id, ty.wrap(value)))
                {
                    sources.push(write);
                }
            }
            match &*sources {
                [] => return false,
                [only] => reads.pinned.push((*only, read)),
                _ => reads.open.push((read, sources)),
            }
        }
        reads.source.clear();
        reads.source.resize(candidate.events.len(), usize::MAX);
        reads.relation.reset(candidate.shape);
        true
    }

    /// Assigns the pinned reads, then searches the others.
    pub(super) fn choose_reads(&mut self) -> Flow {
        for index in 0..self.work.reads.pinned.len() {
            let (write, read) = self.work.reads.pinned[index];
            if self.assign(write, read) == Consistent::No {
                return Flow::Continue(());
            }
        }
        // What is known of pairs is about the events of one choice of traces: the next one numbers others.
        self.work.reads.pairs.clear();
        let open = &self.work.reads.open;
        let remaining = &mut self.work.reads.remaining;
        remaining.clear();
        remaining.resize(open.len() + 1, 1);
        for (index, (_, sources)) in open.iter().enumerate().rev() {
            remaining[index] = remaining[index + 1].saturating_mul(sources.len() as u64);
        }
        let prunes = self.prunes();
        if prunes && self.work.reads.remaining[0] >= CHECK_FROM && self.ruled_out() {
            return Flow::Continue(());
        }
        if prunes && self.work.reads.remaining[0] >= self.foresight.narrow_from {
            return self.narrow_reads();
        }
        let updates = self.work.reads.open.iter().any(|(read, _)| self.work.reads.partner[*read] != usize::MAX);
        let from = if updates { PAIRWISE_UPDATES_FROM } else { PAIRWISE_FROM };
        if prunes && self.work.reads.remaining[0] >= from {
            self.drop_impossible()?;
            self.prepare_pairs();
        }
        self.choose_read(0)
    }

    /// Whether a partial choice can be ruled out.
    pub(super) fn prunes(&self) -> bool {
        let flag = self.wanted.as_ref().is_some_and(|wanted| wanted.shrinks);
        flag || self.evaluator.plan().prunes_reads_from() == Pruning::Some
    }

    pub(super) fn assign(&mut self, write: usize, read: usize) -> Consistent {
        self.work.reads.source[read] = write;
        self.work.reads.relation.insert(write, read);
        self.work.values.assign(self.unfolding, &self.work.candidate, &self.question, write, read)
    }

    fn choose_read(&mut self, depth: usize) -> Flow {
        self.budget.tick(1)?;
        if depth == self.work.reads.open.len() {
            return self.reads_chosen();
        }
        let read = self.work.reads.open[depth].0;
        let check = self.prunes() && self.work.reads.remaining[depth + 1] >= CHECK_FROM;
        for index in 0..self.work.reads.open[depth].1.len() {
            if !self.compatible_with_chosen(depth, index) {
                continue;
            }
            let write = self.work.reads.open[depth].1[index];
            let mark = self.work.values.mark();
            let viable = self.assign(write, read) == Consistent::Yes && !(check && self.ruled_out());
            let flow = if viable { self.choose_read(depth + 1) } else { self.budget.ended() };
            self.work.values.undo(mark);
            self.work.values.unassign(write);
            self.work.reads.relation.remove(write, read);
            self.work.reads.source[read] = usize::MAX;
            flow?;
        }
        Flow::Continue(())
    }

    /// Whether a check rules the reads chosen so far out, with the orders as far as the traces fix them.
    pub(super) fn ruled_out(&mut self) -> bool {
        let root = std::mem::take(&mut self.work.orders.root);
        let violated = self.check_partly(&root);
        self.work.orders.root = root;
        violated.is_some() || !self.can_raise(Progress::Partial)
    }

    /// The checks that count on a partial choice.
    pub(super) fn check_partly(&mut self, co: &Relation) -> Option<CheckId> {
        self.evaluator.set(BaseRelation::Rf, self.work.reads.relation.bits());
        self.evaluator.set(BaseRelation::Syncbar, self.work.orders.met.bits());
        self.evaluator.set(BaseRelation::Exitbar, self.work.orders.left.bits());
        self.evaluator.set(BaseRelation::Generations, self.work.orders.succeeded.bits());
        self.evaluator.set(BaseRelation::SyncFence, self.work.orders.nothing.bits());
        self.evaluator.set(BaseRelation::Co, co.bits());
        self.evaluator.run(Stage::ReadsFrom, Stage::Coherence, Chosen::Partly)
    }

    /// Drops candidates that the model rules out by themselves.
    fn drop_impossible(&mut self) -> Flow {
        for depth in 0..self.work.reads.open.len() {
            let read = self.work.reads.open[depth].0;
            let mut kept = Sources::new();
            for index in 0..self.work.reads.open[depth].1.len() {
                self.budget.tick(1)?;
                let write = self.work.reads.open[depth].1[index];
                self.work.reads.relation.insert(write, read);
                let possible = !self.ruled_out() && self.goes_with_pinned(write, read);
                self.work.reads.relation.remove(write, read);
                if possible {
                    kept.push(write);
                }
            }
            self.work.reads.open[depth].1 = kept;
        }
        for depth in (0..self.work.reads.open.len()).rev() {
            let ways = self.work.reads.open[depth].1.len() as u64;
            self.work.reads.remaining[depth] = self.work.reads.remaining[depth + 1].saturating_mul(ways);
        }
        Flow::Continue(())
    }

    fn goes_with_pinned(&mut self, write: usize, read: usize) -> bool {
        (0..self.work.reads.pinned.len()).all(|index| {
            let pinned = self.work.reads.pinned[index];
            self.work.reads.location[pinned.1] != self.work.reads.location[read]
                || self.writes_can_be_ordered(pinned, (write, read))
        })
    }
}
