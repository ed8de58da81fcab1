//! What the nodes of a model depend on: the operands of an operator, and the recursive group that a node belongs to.

use crate::model::{Model, NodeId, Operator};

pub(super) fn operands(operator: &Operator) -> [Option<NodeId>; 2] {
    match operator {
        Operator::Base(_)
        | Operator::EmptySet
        | Operator::BaseRelation(_)
        | Operator::EmptyRelation
        | Operator::Variable => [None, None],
        Operator::SetComplement(a)
        | Operator::Domain(a)
        | Operator::Range(a)
        | Operator::Complement(a)
        | Operator::Inverse(a)
        | Operator::Plus(a)
        | Operator::Star(a)
        | Operator::Optional(a)
        | Operator::Identity(a) => [Some(*a), None],
        Operator::SetUnion(a, b)
        | Operator::SetIntersection(a, b)
        | Operator::SetDifference(a, b)
        | Operator::Union(a, b)
        | Operator::Intersection(a, b)
        | Operator::Difference(a, b)
        | Operator::Sequence(a, b)
        | Operator::Product(a, b) => [Some(*a), Some(*b)],
    }
}

/// For each node that depends on variables of its group: the group.
pub(super) fn group_members(model: &Model) -> Vec<Option<usize>> {
    let mut member = vec![None; model.nodes.len()];
    for (number, group) in model.groups.iter().enumerate() {
        for (variable, _) in &group.variables {
            member[variable.index()] = Some(number);
        }
        for index in group.first.index()..=group.last.index() {
            let uses = operands(&model.nodes[index].operator).into_iter().flatten();
            if uses.into_iter().any(|node| member[node.index()] == Some(number)) {
                member[index] = Some(number);
            }
        }
    }
    member
}
