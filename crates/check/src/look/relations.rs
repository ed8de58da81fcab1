//! Relations of a model over one execution after another, by the engines' bit matrices.

use fencepost_axiom::base::Candidate;
use fencepost_axiom::bits::kernel;
use fencepost_axiom::evaluate::{Chosen, Evaluator, Stage};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::{BaseRelation, Model, NodeId};
use fencepost_axiom::watch::Watch;
use fencepost_program::unfolding::Unfolding;

pub struct RelationEvaluator<'m> {
    evaluator: Evaluator<'m>,
    /// The traces of the last execution: most of what a relation looks at is theirs, and the next execution mostly has the
    /// same.
    candidate: Candidate,
    begun: bool,
    bits: Vec<u64>,
}

impl<'m> RelationEvaluator<'m> {
    /// Of these relations of a model without axioms.
    pub fn new(model: &'m Model, roots: &[NodeId]) -> RelationEvaluator<'m> {
        let evaluator = Evaluator::with_roots(model, roots);
        RelationEvaluator { evaluator, candidate: Candidate::default(), begun: false, bits: Vec::new() }
    }

    /// Gives up when the watch says so. What was evaluated then is not to be believed.
    pub fn watched(self, watch: Watch<'m>) -> RelationEvaluator<'m> {
        RelationEvaluator { evaluator: self.evaluator.watched(watch), ..self }
    }

    /// The events of the last execution, by their places in the matrices.
    pub fn candidate(&self) -> &Candidate {
        &self.candidate
    }

    /// The relation over the last execution.
    pub fn relation(&self, node: NodeId) -> &[u64] {
        self.evaluator.relation(node)
    }

    pub fn evaluate(&mut self, unfolding: &Unfolding, execution: &Execution) {
        if !self.begun || self.candidate.traces != execution.traces {
            self.candidate.choose(unfolding, &execution.traces);
            self.evaluator.begin(unfolding, &self.candidate);
            self.begun = true;
        }
        let relations = [
            (BaseRelation::Rf, &execution.rf),
            (BaseRelation::Co, &execution.co),
            (BaseRelation::SyncFence, &execution.sync_fence),
            (BaseRelation::Syncbar, &execution.barriers.synchronises),
            (BaseRelation::Exitbar, &execution.barriers.exits),
            (BaseRelation::Generations, &execution.barriers.generations),
        ];
        let shape = self.candidate.shape;
        for (relation, pairs) in relations {
            self.bits.clear();
            self.bits.resize(shape.matrix(), 0);
            for &(from, to) in pairs {
                if let (Some(from), Some(to)) = (self.candidate.local(from), self.candidate.local(to)) {
                    kernel::relate(shape, &mut self.bits, from, to);
                }
            }
            self.evaluator.set(relation, &self.bits);
        }
        // There are no axioms to violate.
        self.evaluator.run(Stage::ReadsFrom, Stage::Coherence, Chosen::ReadsFrom);
        self.evaluator.run_final();
    }
}
