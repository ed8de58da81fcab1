//! Whether a model rules out that a value depends on itself, whatever else is chosen.
//!
//! Without an axiom against it, such a value may be anything, and the encoding of values needs a content of its own for it
//! ([`super::values`]), which satisfies every condition. It has a price: twelve increments that are no atomic operations
//! could then read any of each other, and all circles are to be refuted one by one before a final value of thirteen is.
//!
//! A value depends on itself along a circle of reads-from edges (a read has the value of its write) and of edges from a
//! read to a write that is computed from it. If each of them lies in one relation that an axiom wants to be acyclic, no
//! consistent execution has such a circle. That is read off the text, and not assumed: the relation must be a union with
//! `rf` in it, and the edges to computed writes must be dependencies that are in it too. What a barrier returned is
//! no dependency, so that nothing is known of programs that compute with it.

use fencepost_program::expression::Leaf;
use fencepost_program::unfolding::{Event, EventKind, Unfolding};
use fencepost_syntax::cat::{CheckKind, CheckRole};

use crate::model::{BaseRelation, Model, NodeId, Operator};

/// Whether no consistent execution has a value that depends on itself.
pub(super) fn is_forbidden(unfolding: &Unfolding, model: &Model) -> bool {
    let axioms = model
        .checks
        .iter()
        .filter(|check| check.role == CheckRole::Axiom && check.kind == CheckKind::Acyclic && !check.negated);
    axioms
        .map(|check| parts(model, check.node))
        .any(|parts| parts.contains(&BaseRelation::Rf) && unfolding.events.iter().all(|event| rests_on(event, &parts)))
}

/// The base relations that are part of a union.
fn parts(model: &Model, node: NodeId) -> Vec<BaseRelation> {
    let mut found = Vec::new();
    let mut todo = vec![node];
    while let Some(node) = todo.pop() {
        match &model.nodes[node.index()].operator {
            Operator::Union(a, b) => todo.extend([*a, *b]),
            Operator::BaseRelation(relation) => found.push(*relation),
            _ => {}
        }
    }
    found
}

/// Whether every read that a write is computed from leads to it by a dependency among the parts.
fn rests_on(event: &Event, parts: &[BaseRelation]) -> bool {
    let EventKind::Write { value, .. } = &event.kind else { return true };
    let mut leaves = Vec::new();
    value.leaves(&mut leaves);
    leaves.iter().all(|leaf| {
        let Leaf::Read(read) = leaf else { return false };
        let in_part = |relation, reads: &[_]| parts.contains(&relation) && reads.contains(read);
        in_part(BaseRelation::Data, &event.data_deps)
            || in_part(BaseRelation::Addr, &event.address_deps)
            || in_part(BaseRelation::Ctrl, &event.control_deps)
    })
}
