//! What an explanation asks of a candidate: the values of a model's nodes over it.

use fencepost_syntax::few::Few;

use crate::model::{Check, NodeId};

/// The values of a model's nodes over one candidate; events are positions in the candidate's list.
pub trait Valuation {
    /// How many events the candidate has.
    fn size(&self) -> usize;
    fn member(&self, node: NodeId, event: usize) -> bool;
    fn pair(&self, node: NodeId, from: usize, to: usize) -> bool;
    /// All `to` such that `(from, to)` is in the node, ascending.
    fn row(&self, node: NodeId, from: usize) -> Vec<usize>;
    /// Whether a check fails.
    fn violates(&self, check: &Check) -> bool;
    /// The same as `row`, where it is looked at once.
    fn leads_to(&self, node: NodeId, from: usize) -> Few<usize, 8>;
}
