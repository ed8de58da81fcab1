//! In which round a recursive group derives each pair: the group is evaluated again from empty variables, and the first
//! round that has a pair is its rank. Explanations that never use a later round are well-founded and of least depth.

use crate::bits::{Shape, kernel, ones};
use crate::model::{Model, NodeId, NodeKind, Operator, RecursiveGroup};

use super::matrices::{blank, is_computed, operands, operate};
use super::valuation::Valuation;
use crate::watch::Watch;

pub(super) struct Ranks {
    shape: Shape,
    first: NodeId,
    /// Per node of the group: the rank of each pair, or of each member.
    ranks: Vec<Vec<u32>>,
}

impl Ranks {
    pub(super) fn compute(model: &Model, group: &RecursiveGroup, values: &dyn Valuation, watch: &Watch<'_>) -> Ranks {
        let shape = Shape::new(values.size());
        let nodes = u64::from(group.last.0 - group.first.0 + 1);
        // Four bytes for each pair, and as many bits again for the rounds.
        if watch.is_too_much(nodes * (4 * (shape.events() as u64).pow(2) + 16 * shape.matrix() as u64)) {
            return Ranks { shape, first: group.first, ranks: Vec::new() };
        }
        let mut rounds = Rounds::new(model, group, values, shape);
        let count = group.last.index() - group.first.index() + 1;
        let cells = |node: usize| {
            if is_set(model, NodeId(group.first.0 + node as u32)) {
                shape.events()
            } else {
                shape.events() * shape.events()
            }
        };
        let mut ranks: Vec<Vec<u32>> = (0..count).map(|node| vec![u32::MAX; cells(node)]).collect();
        for round in 0.. {
            if watch.is_over() {
                break;
            }
            rounds.evaluate(watch);
            for (offset, ranks) in ranks.iter_mut().enumerate() {
                rounds.record(offset, round, ranks);
            }
            if !rounds.advance() {
                break;
            }
        }
        // Rounds that were left unfinished say nothing.
        if watch.ended().is_some() {
            ranks.clear();
        }
        Ranks { shape, first: group.first, ranks }
    }

    pub(super) fn of(&self, node: NodeId, from: usize, to: usize) -> u32 {
        // None of a group that was too large, of which nothing is believed.
        let Some(ranks) = self.ranks.get(node.index() - self.first.index()) else { return u32::MAX };
        if ranks.len() == self.shape.events() { ranks[from] } else { ranks[from * self.shape.events() + to] }
    }
}

fn is_set(model: &Model, node: NodeId) -> bool {
    model.nodes[node.index()].kind == NodeKind::Set
}

/// The state of the evaluation by rounds.
struct Rounds<'a> {
    model: &'a Model,
    group: &'a RecursiveGroup,
    shape: Shape,
    /// The bits of each node: final for nodes outside the group, of this round inside.
    bits: Vec<Vec<u64>>,
}

impl<'a> Rounds<'a> {
    fn new(model: &'a Model, group: &'a RecursiveGroup, values: &dyn Valuation, shape: Shape) -> Rounds<'a> {
        let mut bits = vec![Vec::new(); model.nodes.len()];
        for node in group.first.0..=group.last.0 {
            let zero = blank(model.nodes[node as usize].kind, shape);
            bits[node as usize] = zero;
            let direct = || operands(&model.nodes[node as usize].operator);
            // `[S] ; r` is computed from S itself.
            let under = direct().flat_map(|operand| operands(&model.nodes[operand.index()].operator));
            for operand in direct().chain(under) {
                let outside = operand < group.first || operand > group.last;
                if outside && bits[operand.index()].is_empty() {
                    bits[operand.index()] = outer(model, operand, values, shape);
                }
            }
            // Base relations inside a group are the same in every round.
            if !is_computed(&model.nodes[node as usize].operator)
                && model.nodes[node as usize].operator != Operator::Variable
            {
                bits[node as usize] = outer(model, NodeId(node), values, shape);
            }
        }
        Rounds { model, group, shape, bits }
    }

    fn evaluate(&mut self, watch: &Watch<'_>) {
        for index in self.group.first.index()..=self.group.last.index() {
            let operator = &self.model.nodes[index].operator;
            if !is_computed(operator) {
                continue;
            }
            let mut out = std::mem::take(&mut self.bits[index]);
            let of = |node: NodeId| self.bits[node.index()].as_slice();
            operate((self.shape, watch), self.model, operator, of, &mut out);
            self.bits[index] = out;
        }
    }

    /// Notes the bits that are new in this round.
    fn record(&self, offset: usize, round: u32, ranks: &mut [u32]) {
        let node = self.group.first.index() + offset;
        let bits = &self.bits[node];
        let row_length = self.shape.events();
        if is_set(self.model, NodeId(node as u32)) {
            ones(bits).for_each(|event| ranks[event] = ranks[event].min(round));
            return;
        }
        for from in 0..row_length {
            for to in ones(kernel::row(self.shape, bits, from)) {
                let rank = &mut ranks[from * row_length + to];
                *rank = (*rank).min(round);
            }
        }
    }

    /// Gives the variables the values of their bodies; whether any changed.
    fn advance(&mut self) -> bool {
        let mut changed = false;
        for (variable, body) in &self.group.variables {
            if self.bits[variable.index()] != self.bits[body.index()] {
                self.bits[variable.index()] = self.bits[body.index()].clone();
                changed = true;
            }
        }
        changed
    }
}

/// The value of a node that does not change from round to round.
fn outer(model: &Model, node: NodeId, values: &dyn Valuation, shape: Shape) -> Vec<u64> {
    let mut bits = blank(model.nodes[node.index()].kind, shape);
    for from in 0..shape.events() {
        if is_set(model, node) {
            if values.member(node, from) {
                kernel::insert(&mut bits, from);
            }
            continue;
        }
        for to in values.row(node, from) {
            kernel::relate(shape, &mut bits, from, to);
        }
    }
    bits
}
