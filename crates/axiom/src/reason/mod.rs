//! Why a candidate is ruled out: a smallest violation of a check, a derivation tree down to base edges for people, and
//! the engine's choices it rests on for the solver.
//!
//! The second product is the core of the lazy SAT engine: "not all of these choices together" is a clause that every
//! consistent execution satisfies (the idea of Haas, Meyer, Ponce de León, "CAAT: consistency as a theory", OOPSLA
//! 2022). Both products come from the same steps ([`explain`]), so what people read is what the solver learnt.

pub mod explain;
mod matrices;
mod rank;
mod valuation;

use fencepost_program::EventId;
use fencepost_syntax::cat::{CheckKind, CheckRole};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::SortedSet;

use crate::hash;
use crate::model::{BaseRelation, BaseSet, Check, CheckId, Model, NodeId, Operator};

use explain::FACTS;
pub use explain::{Explainer, Fact, Sign};
pub use matrices::{Chosen, Matrices};
pub use valuation::Valuation;

/// One of the engine's choices.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Choice {
    /// The event occurs.
    Executed(EventId),
    Rf(EventId, EventId),
    Co(EventId, EventId),
    SyncFence(EventId, EventId),
    /// Barriers meet as they do, or complete as they do without who has exited.
    Syncbar(EventId, EventId),
    /// The write is co-maximal.
    Final(EventId),
    /// Each thread takes the trace it takes: the reason quantifies over all events.
    Traces,
}

/// A set of choices that together imply a fact, whatever else is chosen.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Reason {
    pub present: SortedSet<Choice>,
    pub absent: SortedSet<Choice>,
}

/// How a check fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// `acyclic`: the events of the cycle, each once.
    Cycle(Vec<EventId>),
    /// `irreflexive`, or `empty` of a relation.
    Pair(EventId, EventId),
    /// `empty` of a set.
    Member(EventId),
    /// A negated check: nothing is there that should be.
    Nothing,
}

/// One way a check fails, and the facts about its node that make it fail.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Index into the model's checks.
    pub check: CheckId,
    pub shape: Shape,
    pub facts: Vec<Fact>,
}

/// Why a pair is in a node, down to base edges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Derivation {
    pub node: NodeId,
    /// The name a `let` gave the node, or a base relation's.
    pub name: Option<String>,
    pub sign: Sign,
    /// Equal for members of a set.
    pub pair: (EventId, EventId),
    pub children: Vec<Derivation>,
}

/// A violated check with the smallest violation found and the derivation of each of its facts.
#[derive(Clone, Debug)]
pub struct Explanation {
    pub check: CheckId,
    pub check_name: String,
    pub shape: Shape,
    /// One per edge of the cycle, or a single one.
    pub derivations: Vec<Derivation>,
    pub reason: Reason,
}

/// The cheapest violation of each violated axiom; empty if the candidate is consistent. `events` lists the candidate's
/// events in the order of the valuation's positions.
pub fn explain(model: &Model, values: &dyn Valuation, events: &[EventId]) -> Vec<Explanation> {
    let mut explainer = Explainer::new(model, values);
    let mut found = Vec::new();
    for (index, check) in model.checks.iter().enumerate() {
        if check.role != CheckRole::Axiom {
            continue;
        }
        let index = CheckId(u32::try_from(index).expect("invariant: few checks"));
        let violations = explainer.violations(index, events, Amount::Cheapest);
        let Some(violation) = violations.into_iter().next() else { continue };
        let derivations = violation.facts.iter().map(|fact| explainer.derivation(*fact, events)).collect();
        let reason = explainer.reason(&violation.facts, events);
        let check_name = check.name.clone();
        found.push(Explanation { check: index, check_name, shape: violation.shape, derivations, reason });
    }
    found
}

/// How many violations of a check to look for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Amount {
    Cheapest,
    /// At most this many, through different events.
    UpTo(usize),
}

impl Explainer<'_> {
    /// Violations of a check, cheapest first.
    pub fn violations(&mut self, index: CheckId, events: &[EventId], amount: Amount) -> Vec<Violation> {
        let check = &self.model.checks[index.index()];
        // To see that it holds takes one look at the bits.
        if !self.values.violates(check) {
            return Vec::new();
        }
        let found = if check.negated { self.lacking(check) } else { self.failing(check, amount) };
        let mut priced: Vec<(u32, Vec<Fact>)> = Vec::new();
        for facts in found {
            let cost = facts.iter().fold(0u32, |sum, fact| sum.saturating_add(self.cost(*fact)));
            priced.push((cost, facts));
        }
        priced.shared_sort();
        priced.dedup();
        let keep = match amount {
            Amount::Cheapest => 1,
            Amount::UpTo(limit) => limit,
        };
        priced.truncate(keep);
        let shaped = priced.into_iter().map(|(_, facts)| Violation {
            check: index,
            shape: shape(check, &facts, self, events),
            facts,
        });
        shaped.collect()
    }

    fn failing(&mut self, check: &Check, amount: Amount) -> Vec<Vec<Fact>> {
        let node = check.node;
        let size = self.values.size();
        // Pricing a violation costs more than finding it: look at few more than are wanted.
        let most = match amount {
            Amount::Cheapest => usize::MAX,
            Amount::UpTo(limit) => limit.saturating_mul(2),
        };
        match check.kind {
            CheckKind::Empty if self.is_set(node) => {
                let members = (0..size).filter(|event| self.values.member(node, *event));
                members.take(most).map(|event| vec![Fact::present(node, event, event)]).collect()
            }
            CheckKind::Empty => {
                let pairs =
                    (0..size).flat_map(|from| self.values.row(node, from).into_iter().map(move |to| (from, to)));
                pairs.take(most).map(|(from, to)| vec![Fact::present(node, from, to)]).collect()
            }
            CheckKind::Irreflexive => {
                let loops = (0..size).filter(|event| self.values.pair(node, *event, *event));
                loops.take(most).map(|event| vec![Fact::present(node, event, event)]).collect()
            }
            CheckKind::Acyclic => self.cycles(node, amount),
        }
    }

    /// A cheapest cycle through each event of a non-trivial strongly connected component. Events already on a found
    /// cycle are not asked again: the cycles of one call are spread over the graph.
    fn cycles(&mut self, node: NodeId, amount: Amount) -> Vec<Vec<Fact>> {
        let components = components(self.values, node);
        let mut on_cycle = vec![false; self.values.size()];
        let mut found: Vec<Vec<Fact>> = Vec::new();
        for component in components {
            for start in component {
                if self.gives_up() {
                    return found;
                }
                if amount != Amount::Cheapest && on_cycle[start] {
                    continue;
                }
                let Some(path) = self.path(node, start, start, None, None) else { continue };
                let path = simple_cycle(path);
                path.iter().for_each(|event| on_cycle[*event] = true);
                found.push(explain::edges(node, &path));
            }
        }
        found
    }

    /// A negated check fails because everything that could have made it hold is absent.
    fn lacking(&mut self, check: &Check) -> Vec<Vec<Fact>> {
        let size = self.values.size();
        let pairs = (0..size).flat_map(|from| (0..size).map(move |to| (from, to)));
        let diagonal = check.kind == CheckKind::Irreflexive || self.is_set(check.node);
        let relevant = pairs.filter(|(from, to)| !diagonal || from == to);
        let lacking = relevant.filter(|(from, to)| !self.holds(check.node, *from, *to));
        vec![lacking.map(|(from, to)| Fact::absent(check.node, from, to)).collect()]
    }

    /// The choices that the facts rest on.
    pub fn reason(&mut self, facts: &[Fact], events: &[EventId]) -> Reason {
        let mut reason = Reason::default();
        let mut seen: hash::Set<Fact> = hash::Set::with_capacity_and_hasher(FACTS, Default::default());
        let mut todo: Vec<Fact> = facts.to_vec();
        // Absence everywhere is a statement about which events there are.
        if facts.is_empty() || facts.iter().all(|fact| fact.sign == Sign::Absent) {
            reason.present.insert(Choice::Traces);
        }
        while let Some(fact) = todo.pop() {
            if !seen.insert(fact) {
                continue;
            }
            let step = self.step(fact);
            if step.over_all_events {
                reason.present.insert(Choice::Traces);
            }
            if step.children.is_empty() {
                self.leaf_choices(fact, events, &mut reason);
            }
            todo.extend(step.children.iter());
        }
        reason
    }

    fn leaf_choices(&self, fact: Fact, events: &[EventId], reason: &mut Reason) {
        let (from, to) = (events[fact.from], events[fact.to]);
        let choice = match *self.operator(fact.node) {
            Operator::BaseRelation(BaseRelation::Rf) => Some(Choice::Rf(from, to)),
            Operator::BaseRelation(BaseRelation::Co) => Some(Choice::Co(from, to)),
            Operator::BaseRelation(BaseRelation::SyncFence) => Some(Choice::SyncFence(from, to)),
            Operator::BaseRelation(BaseRelation::Syncbar | BaseRelation::Exitbar | BaseRelation::Generations) => {
                Some(Choice::Syncbar(from, to))
            }
            Operator::Base(BaseSet::FinalWrites) => Some(Choice::Final(from)),
            _ => None,
        };
        match (fact.sign, choice) {
            (Sign::Present, Some(choice)) => {
                reason.present.insert(choice);
            }
            (Sign::Absent, Some(choice)) => {
                reason.absent.insert(choice);
            }
            (_, None) => {}
        }
        reason.present.extend([Choice::Executed(from), Choice::Executed(to)]);
    }

    /// The whole tree under a fact. Absences are not unfolded: for people "no such edge" is the end of the matter.
    pub fn derivation(&mut self, fact: Fact, events: &[EventId]) -> Derivation {
        let children = match fact.sign {
            Sign::Present => self.step(fact).children.to_vec(),
            Sign::Absent => Vec::new(),
        };
        let node = &self.model.nodes[fact.node.index()];
        let base = match &node.operator {
            Operator::BaseRelation(relation) => Some(relation.cat_name().to_owned()),
            Operator::Base(BaseSet::Tagged(tag)) => Some(tag.cat_name().to_owned()),
            _ => None,
        };
        Derivation {
            node: fact.node,
            name: node.name.as_ref().map(ToString::to_string).or(base),
            sign: fact.sign,
            pair: (events[fact.from], events[fact.to]),
            children: children.into_iter().map(|child| self.derivation(child, events)).collect(),
        }
    }
}

fn shape(check: &Check, facts: &[Fact], explainer: &Explainer<'_>, events: &[EventId]) -> Shape {
    match (check.negated, check.kind, facts.first()) {
        (true, ..) | (_, _, None) => Shape::Nothing,
        (_, CheckKind::Acyclic, _) => Shape::Cycle(facts.iter().map(|fact| events[fact.from]).collect()),
        (_, CheckKind::Empty, Some(fact)) if explainer.is_set(fact.node) => Shape::Member(events[fact.from]),
        (_, _, Some(fact)) => Shape::Pair(events[fact.from], events[fact.to]),
    }
}

/// Cuts a closed walk down to one simple cycle, and starts it at its least event so that equal cycles are equal.
fn simple_cycle(walk: Vec<usize>) -> Vec<usize> {
    let mut path: Vec<usize> = Vec::new();
    for event in walk {
        if let Some(at) = path.iter().position(|seen| *seen == event) {
            path.drain(..at);
            let least = path.iter().enumerate().min_by_key(|(_, event)| **event).map_or(0, |(index, _)| index);
            path.rotate_left(least);
            path.push(path[0]);
            return path;
        }
        path.push(event);
    }
    path
}

/// The strongly connected components of a relation that contain a cycle (Tarjan, without recursion).
fn components(values: &dyn Valuation, node: NodeId) -> Vec<Vec<usize>> {
    let size = values.size();
    // The rows one after the other, in half the size of what they are otherwise: there are as many as events.
    let (mut targets, mut ends): (Vec<u32>, Vec<usize>) = (Vec::with_capacity(2 * size), Vec::with_capacity(size));
    for from in 0..size {
        targets.extend(values.leads_to(node, from).iter().map(|to| *to as u32));
        ends.push(targets.len());
    }
    let row = |event: usize| &targets[if event == 0 { 0 } else { ends[event - 1] }..ends[event]];
    // Who leads nowhere is on no cycle, and where all are such nothing is looked for.
    if targets.is_empty() {
        return Vec::new();
    }
    let mut index = vec![usize::MAX; size];
    let mut low = vec![0; size];
    let mut on_stack = vec![false; size];
    let (mut stack, mut calls) = (Vec::with_capacity(size), Vec::with_capacity(size));
    let (mut next, mut found) = (0, Vec::new());
    for root in 0..size {
        if index[root] != usize::MAX || row(root).is_empty() {
            continue;
        }
        calls.push((root, 0));
        while let Some((event, edge)) = calls.pop() {
            if edge == 0 {
                (index[event], low[event]) = (next, next);
                next += 1;
                stack.push(event);
                on_stack[event] = true;
            }
            if let Some(&to) = row(event).get(edge) {
                let to = to as usize;
                calls.push((event, edge + 1));
                if index[to] == usize::MAX {
                    calls.push((to, 0));
                } else if on_stack[to] {
                    low[event] = low[event].min(index[to]);
                }
                continue;
            }
            if let Some(&(caller, _)) = calls.last() {
                low[caller] = low[caller].min(low[event]);
            }
            if low[event] == index[event] {
                let at =
                    stack.iter().rposition(|member| *member == event).expect("invariant: the root is on the stack");
                stack[at..].iter().for_each(|member| on_stack[*member] = false);
                // Most components are one event without a loop.
                if stack.len() - at > 1 || row(event).contains(&(event as u32)) {
                    let mut component = stack[at..].to_vec();
                    component.shared_sort();
                    found.push(component);
                }
                stack.truncate(at);
            }
        }
    }
    found
}
