//! Values as functions of what strong reads return: what would a branch have done if a read had returned another value?
//!
//! Kept only for values that depend on few such reads and through few instructions; anything else has no symbol, and a
//! branch on it is not determined.

use std::collections::HashMap;

use crate::code::op::{Combine, Compare, Function, Register, Round};
use crate::code::ty::Ty;
use crate::run::compute;
use crate::run::warp::lanes;

/// The number of a strong read.
pub(in crate::run) type QuestionId = u32;
pub(in crate::run) type NodeId = u32;

/// Instructions in one symbol, and reads.
const MOST_NODES: u32 = 64;
const MOST_READS: usize = 3;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::run) enum Operand {
    Constant(u64),
    Node(NodeId),
}

#[derive(Clone, Debug)]
pub(in crate::run) enum Node {
    Read(QuestionId),
    Function {
        function: Function,
        ty: Ty,
        from: [Operand; 3],
    },
    Predicate {
        compare: Compare,
        ty: Ty,
        combine: Combine,
        from: [Operand; 3],
        with_negated: bool,
        complement: bool,
    },
    Convert {
        to_ty: Ty,
        from_ty: Ty,
        saturate: bool,
        round: Round,
        from: Operand,
    },
    /// A load of a small number: cut to its type, or filled with its sign.
    Loaded {
        ty: Ty,
        from: Operand,
    },
}

#[derive(Debug)]
struct Entry {
    node: Node,
    size: u32,
    reads: Vec<QuestionId>,
}

#[derive(Default, Debug)]
pub(in crate::run) struct Symbols {
    nodes: Vec<Entry>,
    /// Of a register of a warp, by lane: the node plus one.
    registers: HashMap<(u32, Register), Box<[NodeId; 32]>>,
    /// While changes can be undone: what was where, oldest first. (A copy of all registers took most of the time where
    /// hundreds of lanes wait: CUB's radix sort.)
    journal: Option<Vec<Old>>,
}

/// What a register of a warp and a lane had, as in `registers`.
#[derive(Debug)]
struct Old {
    register: (u32, Register),
    lane: u32,
    node: NodeId,
}

impl Symbols {
    pub(in crate::run) fn read(&mut self, question: QuestionId) -> NodeId {
        self.nodes.push(Entry { node: Node::Read(question), size: 1, reads: vec![question] });
        (self.nodes.len() - 1) as NodeId
    }

    /// A new node, or None if it would depend on too much.
    pub(in crate::run) fn make(&mut self, node: Node) -> Option<NodeId> {
        let operands: &[Operand] = match &node {
            Node::Read(_) => &[],
            Node::Function { from, .. } | Node::Predicate { from, .. } => from,
            Node::Convert { from, .. } | Node::Loaded { from, .. } => std::slice::from_ref(from),
        };
        let (mut size, mut reads) = (1, Vec::new());
        for operand in operands {
            if let Operand::Node(id) = operand {
                let entry = &self.nodes[*id as usize];
                size += entry.size;
                reads.extend_from_slice(&entry.reads);
            }
        }
        reads.sort_unstable();
        reads.dedup();
        if size > MOST_NODES || reads.len() > MOST_READS {
            return None;
        }
        self.nodes.push(Entry { node, size, reads });
        Some((self.nodes.len() - 1) as NodeId)
    }

    pub(in crate::run) fn reads(&self, node: NodeId) -> &[QuestionId] {
        &self.nodes[node as usize].reads
    }

    pub(in crate::run) fn of(&self, warp: usize, register: Register, lane: u32) -> Option<NodeId> {
        self.registers.get(&(warp as u32, register)).and_then(|lanes| lanes[lane as usize].checked_sub(1))
    }

    pub(in crate::run) fn set(&mut self, warp: usize, register: Register, lane: u32, node: NodeId) {
        let register = (warp as u32, register);
        let lanes = self.registers.entry(register).or_insert_with(|| Box::new([0; 32]));
        let old = std::mem::replace(&mut lanes[lane as usize], node + 1);
        if let Some(journal) = &mut self.journal {
            journal.push(Old { register, lane, node: old });
        }
    }

    pub(in crate::run) fn clear(&mut self, warp: usize, register: Register, mask: u32) {
        let register = (warp as u32, register);
        let Some(nodes) = self.registers.get_mut(&register) else { return };
        for lane in lanes(mask) {
            let node = std::mem::take(&mut nodes[lane as usize]);
            if let (Some(journal), true) = (&mut self.journal, node != 0) {
                journal.push(Old { register, lane, node });
            }
        }
    }

    /// From now on, what registers hold can be put back.
    pub(in crate::run) fn begin(&mut self) {
        self.journal = Some(Vec::new());
    }

    pub(in crate::run) fn undo(&mut self) {
        for old in self.journal.take().into_iter().flatten().rev() {
            if let Some(nodes) = self.registers.get_mut(&old.register) {
                nodes[old.lane as usize] = old.node;
            }
        }
    }

    /// The value if the reads return these. None where PTX leaves the result open.
    pub(in crate::run) fn value(&self, node: NodeId, read: &dyn Fn(QuestionId) -> u64) -> Option<u64> {
        let operand = |operand: &Operand| match operand {
            Operand::Constant(value) => Some(*value),
            Operand::Node(id) => self.value(*id, read),
        };
        match &self.nodes[node as usize].node {
            Node::Read(question) => Some(read(*question)),
            Node::Function { function, ty, from: [a, b, c] } => {
                compute::function(*function, *ty, operand(a)?, operand(b)?, operand(c)?)
            }
            Node::Predicate { compare, ty, combine, from: [left, right, with], with_negated, complement } => {
                let value = compute::compare(*compare, *ty, operand(left)?, operand(right)?) != *complement;
                let with = (operand(with)? & 1 != 0) != *with_negated;
                Some(u64::from(compute::combine(*combine, value, with)))
            }
            Node::Convert { to_ty, from_ty, saturate, round, from } => {
                Some(compute::convert(*to_ty, *from_ty, *saturate, *round, operand(from)?))
            }
            Node::Loaded { ty, from } => {
                let value = operand(from)?;
                Some(if ty.is_signed() && ty.bits < 64 { ty.signed(value) as u64 } else { ty.cut(value) })
            }
        }
    }
}
