//! Pairs of reads-from choices that cannot go together: two exchanges of one location that read the same write, say. They are
//! tabulated as they are met, so that few partial choices are wrong ones.
//!
//! What the model says of two choices depends on the relations alone, not on values. Where exchanging two threads leaves
//! every relation that the traces fix as it is, it also leaves the answer: the choices are renamed to the first threads of
//! their kind before they are tried, and five exchanges by five threads need a dozen answers instead of 250.

use std::collections::BTreeMap;

use fencepost_syntax::sorted::SharedSort as _;

use super::{Among, Search};
use crate::bits::{Relation, Swap};
use crate::evaluate::{Chosen, Stage};
use crate::model::BaseRelation;

/// At most this many choices in the table.
const MOST_CHOICES: usize = 1024;

/// A write and the read that reads from it.
type Choice = (usize, usize);

/// What is known of pairs of choices, for one choice of traces.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// Where the choices of each open read start in the table.
    first_choice: Vec<usize>,
    /// By two choices: whether they go together. Filled on demand.
    table: Vec<Compatible>,
    choices: usize,
    /// Threads that may be exchanged, each kind ascending; by thread, its kind. Found when they are first asked for.
    kinds: Option<Kinds>,
    /// The answers, by renamed choices.
    known: BTreeMap<(Choice, Choice), bool>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Compatible {
    Unknown,
    Yes,
    No,
}

/// Threads by kind: exchanging two of a kind maps every relation that the traces fix to itself.
#[derive(Debug, Default)]
struct Kinds {
    members: Vec<Vec<usize>>,
    of: Vec<usize>,
}

impl Pairs {
    pub(super) fn clear(&mut self) {
        self.table.clear();
        self.kinds = None;
        self.known.clear();
    }
}

impl Search<'_, '_> {
    pub(super) fn prepare_pairs(&mut self) {
        let pairs = &mut self.work.reads.pairs;
        pairs.first_choice.clear();
        pairs.choices = 0;
        for (_, sources) in &self.work.reads.open {
            pairs.first_choice.push(pairs.choices);
            pairs.choices += sources.len();
        }
        if pairs.choices <= MOST_CHOICES {
            pairs.table.resize(pairs.choices * pairs.choices, Compatible::Unknown);
        }
    }

    /// Whether a choice goes together with each earlier one at its location, taken two by two.
    pub(super) fn compatible_with_chosen(&mut self, depth: usize, index: usize) -> bool {
        if self.work.reads.pairs.table.is_empty() {
            return true;
        }
        let (read, write) = (self.work.reads.open[depth].0, self.work.reads.open[depth].1[index]);
        for earlier in 0..depth {
            let other = self.work.reads.open[earlier].0;
            if self.work.reads.location[other] != self.work.reads.location[read] {
                continue;
            }
            let source = self.work.reads.source[other];
            let Ok(at) = self.work.reads.open[earlier].1.binary_search(&source) else { continue };
            let pairs = &self.work.reads.pairs;
            let row = pairs.first_choice[earlier] + at;
            let cell = row * pairs.choices + pairs.first_choice[depth] + index;
            if pairs.table[cell] == Compatible::Unknown {
                let together = self.go_together((source, other), (write, read));
                self.work.reads.pairs.table[cell] = if together { Compatible::Yes } else { Compatible::No };
            }
            if self.work.reads.pairs.table[cell] == Compatible::No {
                return false;
            }
        }
        true
    }

    /// Whether two choices, with the pinned ones only, are neither violated at once nor by both orders of two of their writes.
    pub(super) fn go_together(&mut self, a: Choice, b: Choice) -> bool {
        // Pinned reads are choices too, and no exchange moves them; nor are ways alike that were taken by one thread.
        if !self.work.reads.pinned.is_empty() || matches!(self.among, Among::Ways(_)) {
            return self.try_pair(a, b);
        }
        let key = self.renamed(a, b);
        let known = self.work.reads.pairs.known.get(&key).copied();
        let answer = known.unwrap_or_else(|| self.try_pair(key.0, key.1));
        self.work.reads.pairs.known.insert(key, answer);
        // Every test of the workspace that gets here compares the answer with that of the choices themselves.
        debug_assert!(
            self.budget.ended().is_break() || answer == self.try_pair(a, b),
            "renamed threads answer differently: {a:?} {b:?} as {key:?}"
        );
        answer
    }

    /// The choices with each thread renamed to the first of its kind that the choice does not name yet.
    fn renamed(&mut self, a: Choice, b: Choice) -> (Choice, Choice) {
        let kinds = self.work.reads.pairs.kinds.take().unwrap_or_else(|| self.find_kinds());
        let mut named: [Option<(usize, usize)>; 4] = [None; 4];
        let mut rename = |event: usize| {
            let Some(thread) = self.work.candidate.thread_of(event) else { return event };
            let kind = kinds.of[thread];
            let known = named.iter().flatten().find(|(from, _)| *from == thread).map(|(_, to)| *to);
            let to = known.unwrap_or_else(|| {
                let before = named.iter().flatten().filter(|(from, _)| kinds.of[*from] == kind).count();
                let to = kinds.members[kind][before];
                if let Some(free) = named.iter_mut().find(|slot| slot.is_none()) {
                    *free = Some((thread, to));
                }
                to
            });
            event - self.work.candidate.thread_events(thread).start + self.work.candidate.thread_events(to).start
        };
        let key = ((rename(a.0), rename(a.1)), (rename(b.0), rename(b.1)));
        self.work.reads.pairs.kinds = Some(kinds);
        key
    }

    /// In a large candidate every thread is of its own kind: to compare them takes longer than to try the pairs.
    fn find_kinds(&self) -> Kinds {
        let mut kinds = Kinds::default();
        let compared = self.work.candidate.shape.words() <= 1;
        for thread in 0..self.work.candidate.threads() {
            let home = kinds.members.iter().position(|members| compared && self.exchangeable(members[0], thread));
            let home = home.unwrap_or_else(|| {
                kinds.members.push(Vec::new());
                kinds.members.len() - 1
            });
            kinds.members[home].push(thread);
            kinds.of.push(home);
        }
        kinds
    }

    /// Whether exchanging the events of two threads leaves all as it is that the model can see of the traces, and what
    /// [`Search::try_pair`] looks at beside the model.
    pub(super) fn exchangeable(&self, a: usize, b: usize) -> bool {
        let first = self.work.candidate.thread_events(a);
        let Some(swap) = Swap::new(first.clone(), self.work.candidate.thread_events(b)) else { return false };
        let partner = |event: usize| self.work.reads.partner[event];
        let same = |event: usize| {
            let other = partner(swap.event(event));
            self.work.reads.location[event] == self.work.reads.location[swap.event(event)]
                && if partner(event) == usize::MAX { other == usize::MAX } else { other == swap.event(partner(event)) }
        };
        first.into_iter().all(same)
            && self.work.orders.root.is_kept_by(&swap)
            && self.work.orders.met.is_kept_by(&swap)
            && self.work.orders.left.is_kept_by(&swap)
            && self.evaluator.static_is_kept_by(&swap)
    }

    fn try_pair(&mut self, a: Choice, b: Choice) -> bool {
        let saved = std::mem::take(&mut self.work.reads.relation);
        let mut two = Relation::empty(self.work.candidate.shape);
        for (write, read) in self.work.reads.pinned.iter().chain([&a, &b]) {
            two.insert(*write, *read);
        }
        self.work.reads.relation = two;
        let compatible = self.writes_can_be_ordered(a, b);
        self.work.reads.relation = saved;
        compatible
    }

    /// With the reads of `relation`: whether some check fails, or fails for both orders of two of the writes involved.
    pub(super) fn writes_can_be_ordered(&mut self, a: Choice, b: Choice) -> bool {
        let partner = |read: usize| {
            let event = self.work.candidate.events[read];
            self.unfolding.events[event.index()].rmw_partner.and_then(|partner| self.work.candidate.local(partner))
        };
        let mut writes: Vec<usize> = [Some(a.0), Some(b.0), partner(a.1), partner(b.1)].into_iter().flatten().collect();
        writes.shared_sort();
        writes.dedup();
        let mut base = self.work.orders.root.clone();
        if !self.extend_partly(&mut base) || self.check_partly(&base).is_some() {
            return false;
        }
        for (at, &first) in writes.iter().enumerate() {
            for &second in &writes[at + 1..] {
                if self.always_ordered(first, second) && !self.some_order(&base, first, second) {
                    return false;
                }
            }
        }
        true
    }

    fn some_order(&mut self, base: &Relation, first: usize, second: usize) -> bool {
        [(first, second), (second, first)].into_iter().any(|(from, to)| {
            if base.contains(to, from) {
                return false;
            }
            let mut co = base.clone();
            co.add_closed(from, to);
            self.evaluator.set(BaseRelation::Co, co.bits());
            self.evaluator.run(Stage::Coherence, Stage::Coherence, Chosen::Partly).is_none()
        })
    }
}
