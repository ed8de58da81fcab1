//! Why a pair is (or is not) in a node: one step of explanation at a time, chosen so that the whole explanation rests
//! on few of the engine's choices.
//!
//! A *fact* says that a pair is in a node, or that it is not. A *step* reduces a fact to facts about the operands. The
//! presence of a pair has a well-founded explanation: closures and sequences pick intermediate events of least cost,
//! recursive groups only use facts of an earlier round (see [`super::rank`]). The absence of a pair from a least fixed
//! point is explained coinductively: facts may use each other in a circle, because no round can be the first to break
//! all of them. Cost counts choices (rf, co, …) first, steps second: fewer choices make a stronger clause.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fencepost_syntax::few::Few;

use crate::hash;
use crate::model::{BaseRelation, BaseSet, Dynamic, Model, NodeId, NodeKind, Operator};

use super::rank::Ranks;
use super::valuation::Valuation;
use crate::watch::Watch;

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Sign {
    Present,
    Absent,
}

/// A pair (or, for a set, an event twice) is in a node or is not.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Fact {
    pub node: NodeId,
    pub from: usize,
    pub to: usize,
    pub sign: Sign,
}

impl Fact {
    pub fn present(node: NodeId, from: usize, to: usize) -> Fact {
        Fact { node, from, to, sign: Sign::Present }
    }

    pub fn absent(node: NodeId, from: usize, to: usize) -> Fact {
        Fact { node, from, to, sign: Sign::Absent }
    }
}

impl Default for Fact {
    fn default() -> Fact {
        Fact::present(NodeId(0), 0, 0)
    }
}

/// Most facts rest on one or two others.
type Facts = Few<Fact, 2>;

/// What a fact rests on.
#[derive(Clone, Debug, Default)]
pub struct Step {
    pub cost: u32,
    pub children: Facts,
    /// The step quantifies over all events: it also rests on which events occur at all.
    pub over_all_events: bool,
}

/// A recursive group and a round of it; None outside groups.
type Rank = Option<(usize, u32)>;

/// The cost of one of the engine's choices, in steps.
const CHOICE: u32 = 256;

pub struct Explainer<'a> {
    pub(super) model: &'a Model,
    pub(super) values: &'a dyn Valuation,
    ranks: hash::Map<usize, Ranks>,
    steps: hash::Map<Fact, Step>,
    watch: Watch<'a>,
}

/// A violation in a small test rests on fewer facts than this: a table for so many is not made anew as it grows.
pub(super) const FACTS: usize = 56;

/// So many facts are explained between two looks at the clock, and so many bytes are held for each.
const INTERVAL: usize = 256;
const FACT: u64 = 160;

impl<'a> Explainer<'a> {
    pub fn new(model: &'a Model, values: &'a dyn Valuation) -> Explainer<'a> {
        let (ranks, steps) = (hash::Map::default(), hash::Map::with_capacity_and_hasher(FACTS, Default::default()));
        Explainer { model, values, ranks, steps, watch: Watch::default() }
    }

    /// Gives up when the watch says so: from then on every fact rests on nothing, and no explanation is to be believed.
    pub fn watched(self, watch: Watch<'a>) -> Explainer<'a> {
        Explainer { watch, ..self }
    }

    /// Whether to leave explanations unfinished.
    pub(super) fn gives_up(&self) -> bool {
        let looks = self.steps.len() % INTERVAL == INTERVAL - 1;
        looks && (self.watch.is_over() || self.watch.is_too_much(self.steps.len() as u64 * FACT))
            || self.watch.ended().is_some()
    }

    pub(super) fn operator(&self, node: NodeId) -> &'a Operator {
        &self.model.nodes[node.index()].operator
    }

    pub(super) fn is_set(&self, node: NodeId) -> bool {
        self.model.nodes[node.index()].kind == NodeKind::Set
    }

    pub(super) fn is_static(&self, node: NodeId) -> bool {
        self.model.nodes[node.index()].depends == Dynamic::default()
    }

    /// Whether the candidate has the pair (or member) in the node.
    pub fn holds(&self, node: NodeId, from: usize, to: usize) -> bool {
        if self.is_set(node) { from == to && self.values.member(node, from) } else { self.values.pair(node, from, to) }
    }

    /// The recursive group of a node, and the round in which the group first derives the pair.
    fn rank(&mut self, node: NodeId, from: usize, to: usize) -> Rank {
        let group = self.model.groups.iter().position(|group| group.first <= node && node <= group.last)?;
        let (model, values) = (self.model, self.values);
        let watch = &self.watch;
        let compute = || Ranks::compute(model, &model.groups[group], values, watch);
        let ranks = self.ranks.entry(group).or_insert_with(compute);
        Some((group, ranks.of(node, from, to)))
    }

    /// How much the best explanation rests on.
    pub fn cost(&mut self, fact: Fact) -> u32 {
        if self.is_static(fact.node) {
            return 1;
        }
        match self.steps.get(&fact) {
            Some(step) => step.cost,
            None => self.step(fact).cost,
        }
    }

    /// The chosen step. The fact must be true of the candidate.
    pub fn step(&mut self, fact: Fact) -> Step {
        if let Some(step) = self.steps.get(&fact) {
            return step.clone();
        }
        if self.gives_up() {
            return Step::default();
        }
        // A circle of absences meets this placeholder; presences are well-founded and never do.
        if fact.sign == Sign::Absent {
            self.steps.insert(fact, Step::default());
        }
        let step = match fact.sign {
            Sign::Present => self.present(fact),
            Sign::Absent => self.absent(fact),
        };
        self.steps.insert(fact, step.clone());
        step
    }

    fn resting_on(&mut self, children: &[Fact]) -> Step {
        let cost = children.iter().fold(1u32, |sum, child| sum.saturating_add(self.cost(*child)));
        Step { cost, children: children.iter().copied().collect(), over_all_events: false }
    }

    fn leaf(&self, node: NodeId) -> Step {
        let cost = if self.is_static(node) { 1 } else { CHOICE };
        Step { cost, ..Step::default() }
    }

    /// The cheapest of the options.
    fn cheapest(&mut self, options: &[Fact]) -> Step {
        let mut best: Option<(u32, Fact)> = None;
        for &option in options {
            let cost = self.cost(option);
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, option));
            }
        }
        let (_, option) = best.expect("invariant: a true fact has an explanation");
        self.resting_on(&[option])
    }

    /// `option` holds, and if it is of the same recursive group then no later than `limit`.
    fn usable(&mut self, option: Fact, limit: Rank) -> bool {
        if !self.holds(option.node, option.from, option.to) {
            return false;
        }
        let Some((group, latest)) = limit else { return true };
        self.rank(option.node, option.from, option.to).is_none_or(|(other, round)| other != group || round <= latest)
    }

    fn present(&mut self, fact: Fact) -> Step {
        let Fact { node, from, to, .. } = fact;
        let rank = self.rank(node, from, to);
        match *self.operator(node) {
            Operator::Base(BaseSet::FinalWrites) => {
                Step { cost: CHOICE, children: Facts::new(), over_all_events: true }
            }
            Operator::Base(_) | Operator::BaseRelation(_) => self.leaf(node),
            Operator::EmptySet | Operator::EmptyRelation => unreachable!("invariant: nothing is in the empty set"),
            Operator::SetUnion(left, right) | Operator::Union(left, right) => {
                let options = [Fact::present(left, from, to), Fact::present(right, from, to)];
                let options: Facts = options.into_iter().filter(|option| self.usable(*option, rank)).collect();
                self.cheapest(&options)
            }
            Operator::SetIntersection(left, right) | Operator::Intersection(left, right) => {
                self.resting_on(&[Fact::present(left, from, to), Fact::present(right, from, to)])
            }
            Operator::SetDifference(left, right) | Operator::Difference(left, right) => {
                self.resting_on(&[Fact::present(left, from, to), Fact::absent(right, from, to)])
            }
            Operator::SetComplement(inner) | Operator::Complement(inner) => {
                self.resting_on(&[Fact::absent(inner, from, to)])
            }
            Operator::Domain(inner) => {
                let options = self.values.row(inner, from).into_iter().map(|other| Fact::present(inner, from, other));
                let options: Facts = options.filter(|option| self.usable(*option, rank)).collect();
                self.cheapest(&options)
            }
            Operator::Range(inner) => {
                let options = (0..self.values.size()).map(|other| Fact::present(inner, other, from));
                let options: Facts = options.filter(|option| self.usable(*option, rank)).collect();
                self.cheapest(&options)
            }
            Operator::Sequence(left, right) => self.through_middle(left, right, fact, rank),
            Operator::Inverse(inner) => self.resting_on(&[Fact::present(inner, to, from)]),
            Operator::Star(_) | Operator::Optional(_) if from == to => Step { cost: 1, ..Step::default() },
            Operator::Plus(inner) | Operator::Star(inner) => {
                let path = self.path(inner, from, to, Some(node), rank);
                let path = path.expect("invariant: a pair of a closure has a path");
                self.resting_on(&edges(inner, &path))
            }
            Operator::Optional(inner) => self.resting_on(&[Fact::present(inner, from, to)]),
            Operator::Identity(set) => self.resting_on(&[Fact::present(set, from, from)]),
            Operator::Product(left, right) => {
                self.resting_on(&[Fact::present(left, from, from), Fact::present(right, to, to)])
            }
            Operator::Variable => {
                let body = self.body(node);
                self.resting_on(&[Fact::present(body, from, to)])
            }
        }
    }

    fn body(&self, variable: NodeId) -> NodeId {
        let bindings = self.model.groups.iter().flat_map(|group| &group.variables);
        let binding = bindings.into_iter().find(|(bound, _)| *bound == variable);
        binding.expect("invariant: a variable belongs to a group").1
    }

    fn through_middle(&mut self, left: NodeId, right: NodeId, fact: Fact, rank: Rank) -> Step {
        let mut best: Option<(u32, [Fact; 2])> = None;
        for &middle in self.values.leads_to(left, fact.from).iter() {
            let parts = [Fact::present(left, fact.from, middle), Fact::present(right, middle, fact.to)];
            if !self.values.pair(right, middle, fact.to) || !parts.iter().all(|part| self.usable(*part, rank)) {
                continue;
            }
            let first = self.cost(parts[0]);
            if best.is_some_and(|(least, _)| first.saturating_add(1) >= least) {
                continue;
            }
            let cost = first.saturating_add(self.cost(parts[1]));
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, parts));
            }
            // Nothing is cheaper than two static steps.
            if cost == 2 {
                break;
            }
        }
        let (_, parts) = best.expect("invariant: a pair of a sequence has a middle");
        self.resting_on(&parts)
    }

    /// A cheapest path of at least one edge (Dijkstra). `closure`, where given, tells which events still reach `to`.
    pub(super) fn path(
        &mut self,
        relation: NodeId,
        from: usize,
        to: usize,
        closure: Option<NodeId>,
        rank: Rank,
    ) -> Option<Vec<usize>> {
        let size = self.values.size();
        let mut least = vec![u32::MAX; size];
        let mut before = vec![usize::MAX; size];
        let mut heap = BinaryHeap::from([Reverse((0u32, from))]);
        let mut first = true;
        while let Some(Reverse((distance, event))) = heap.pop() {
            if event == to && !first {
                break;
            }
            if !first && distance > least[event] {
                continue;
            }
            for &next in self.values.leads_to(relation, event).iter() {
                let reaches = next == to || closure.is_none_or(|closure| self.values.pair(closure, next, to));
                let edge = Fact::present(relation, event, next);
                if !reaches || least[next] <= distance || !self.usable(edge, rank) {
                    continue;
                }
                let length = distance.saturating_add(self.cost(edge)).saturating_add(1);
                if length < least[next] {
                    least[next] = length;
                    before[next] = event;
                    heap.push(Reverse((length, next)));
                }
            }
            first = false;
        }
        if before[to] == usize::MAX {
            return None;
        }
        let mut path = vec![to];
        let mut event = before[to];
        while event != from {
            path.push(event);
            event = before[event];
        }
        path.push(from);
        path.reverse();
        Some(path)
    }

    fn absent(&mut self, fact: Fact) -> Step {
        let Fact { node, from, to, .. } = fact;
        if self.is_static(node) {
            let base = matches!(self.operator(node), Operator::Base(_) | Operator::BaseRelation(_));
            return Step { cost: 1, children: Facts::new(), over_all_events: !base };
        }
        match *self.operator(node) {
            Operator::Base(BaseSet::FinalWrites) => {
                Step { cost: CHOICE, children: Facts::new(), over_all_events: true }
            }
            Operator::Base(_) | Operator::BaseRelation(_) => self.leaf(node),
            Operator::EmptySet | Operator::EmptyRelation => Step { cost: 1, ..Step::default() },
            Operator::SetUnion(left, right) | Operator::Union(left, right) => {
                self.resting_on(&[Fact::absent(left, from, to), Fact::absent(right, from, to)])
            }
            Operator::SetIntersection(left, right) | Operator::Intersection(left, right) => {
                let options = [Fact::absent(left, from, to), Fact::absent(right, from, to)];
                self.cheapest_true(options)
            }
            Operator::SetDifference(left, right) | Operator::Difference(left, right) => {
                self.cheapest_true([Fact::absent(left, from, to), Fact::present(right, from, to)])
            }
            Operator::SetComplement(inner) | Operator::Complement(inner) => {
                self.resting_on(&[Fact::present(inner, from, to)])
            }
            Operator::Domain(inner) => {
                self.for_all((0..self.values.size()).map(|other| [Fact::absent(inner, from, other); 2]).collect())
            }
            Operator::Range(inner) => {
                self.for_all((0..self.values.size()).map(|other| [Fact::absent(inner, other, from); 2]).collect())
            }
            Operator::Sequence(left, right) => {
                let middles = 0..self.values.size();
                let both = middles.map(|middle| [Fact::absent(left, from, middle), Fact::absent(right, middle, to)]);
                self.for_all(both.collect())
            }
            Operator::Inverse(inner) => self.resting_on(&[Fact::absent(inner, to, from)]),
            Operator::Plus(inner) | Operator::Star(inner) => self.cut(inner, from, to),
            Operator::Optional(inner) => self.resting_on(&[Fact::absent(inner, from, to)]),
            Operator::Identity(_) if from != to => Step { cost: 1, ..Step::default() },
            Operator::Identity(set) => self.resting_on(&[Fact::absent(set, from, from)]),
            Operator::Product(left, right) => {
                self.cheapest_true([Fact::absent(left, from, from), Fact::absent(right, to, to)])
            }
            Operator::Variable => {
                let body = self.body(node);
                self.resting_on(&[Fact::absent(body, from, to)])
            }
        }
    }

    fn is_true(&self, fact: Fact) -> bool {
        self.holds(fact.node, fact.from, fact.to) == (fact.sign == Sign::Present)
    }

    fn cheapest_true(&mut self, options: [Fact; 2]) -> Step {
        let options: Facts = options.into_iter().filter(|option| self.is_true(*option)).collect();
        self.cheapest(&options)
    }

    /// For each pair of alternatives, the cheaper one that is true.
    fn for_all(&mut self, alternatives: Vec<[Fact; 2]>) -> Step {
        let mut children = Vec::new();
        for [left, right] in alternatives {
            let left_cost = if self.is_true(left) { self.cost(left) } else { u32::MAX };
            let right_cost = if self.is_true(right) && left_cost > 1 { self.cost(right) } else { u32::MAX };
            children.push(if left_cost <= right_cost { left } else { right });
        }
        Step { over_all_events: true, ..self.resting_on(&children) }
    }

    /// No path: no edge leaves what `from` reaches. Coherence is transitively closed by every engine, so for it the
    /// absent edge is enough.
    fn cut(&mut self, inner: NodeId, from: usize, to: usize) -> Step {
        if matches!(self.operator(inner), Operator::BaseRelation(BaseRelation::Co)) {
            return self.resting_on(&[Fact::absent(inner, from, to)]);
        }
        let mut reached = vec![false; self.values.size()];
        reached[from] = true;
        let mut todo = vec![from];
        while let Some(event) = todo.pop() {
            for next in self.values.row(inner, event) {
                if !std::mem::replace(&mut reached[next], true) {
                    todo.push(next);
                }
            }
        }
        // A closure without a loop at `from` is also cut from `from` itself.
        let inside: Vec<usize> = (0..reached.len()).filter(|event| reached[*event]).collect();
        let outside = (0..reached.len()).filter(|event| !reached[*event] || (from == to && *event == to));
        let outside: Vec<usize> = outside.collect();
        let crossing = inside.iter().flat_map(|left| outside.iter().map(|right| Fact::absent(inner, *left, *right)));
        let children: Vec<Fact> = crossing.collect();
        Step { over_all_events: true, ..self.resting_on(&children) }
    }
}

/// The facts along a path.
pub(super) fn edges(relation: NodeId, path: &[usize]) -> Vec<Fact> {
    path.windows(2).map(|ends| Fact::present(relation, ends[0], ends[1])).collect()
}
