//! What the model's own relations say of one execution: a reason that people read is checked against them before it is
//! told, so that "there is no acquire pattern" is the model's word and not a guess from the text of an instruction.

use fencepost_axiom::base::Candidate;
use fencepost_axiom::bits::Relation;
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::{Check, Model, NodeId, NodeKind};
use fencepost_axiom::reason::{Chosen, Matrices, Valuation};
use fencepost_program::EventId;
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::cat::CheckRole;

/// The relations that reasons look at, as the shipped models name them.
const NAMES: &[&str] = &[
    "morally-strong",
    "observation",
    "release-pattern",
    "acquire-pattern",
    "base-causality",
    "causality",
    "kernel-order",
    "leaves-proxy",
    "enters-proxy",
    "synchronizes-with",
    "warp-synchronizes",
    // Those of the compound model.
    "wcord",
    "before",
    "after",
    "ms",
];

fn node(model: &Model, name: &str) -> Option<NodeId> {
    let named =
        |node: &fencepost_axiom::model::Node| node.kind == NodeKind::Relation && node.name.as_deref() == Some(name);
    let at = model.nodes.iter().rposition(named)?;
    Some(NodeId(u32::try_from(at).ok()?))
}

/// The model with the relations that reasons look at among its checks: only what a check needs is evaluated.
pub fn watching(model: &Model) -> Model {
    let mut watching = model.clone();
    let Some(pattern) = model.checks.first() else { return watching };
    let watched = NAMES.iter().filter_map(|name| node(model, name));
    watching.checks.extend(watched.map(|node| Check { node, role: CheckRole::Axiom, ..pattern.clone() }));
    watching
}

/// The execution's choices over the candidate's numbers.
pub fn chosen(candidate: &Candidate, execution: &Execution) -> Chosen {
    let relation = |pairs: &[(EventId, EventId)]| {
        let local = pairs.iter().filter_map(|(from, to)| Some((candidate.local(*from)?, candidate.local(*to)?)));
        Relation::from_pairs(candidate.shape, local)
    };
    Chosen {
        rf: relation(&execution.rf),
        co: relation(&execution.co),
        sync_fence: relation(&execution.sync_fence),
        syncbar: relation(&execution.barriers.synchronises),
        exitbar: relation(&execution.barriers.exits),
        generations: relation(&execution.barriers.generations),
    }
}

pub struct Facts<'m> {
    model: &'m Model,
    matrices: Matrices<'m>,
    candidate: Candidate,
}

impl<'m> Facts<'m> {
    /// `model` is one of [`watching`].
    pub fn of(unfolding: &Unfolding, model: &'m Model, execution: &Execution) -> Facts<'m> {
        let mut candidate = Candidate::default();
        candidate.choose(unfolding, &execution.traces);
        let mut matrices = Matrices::new(model);
        matrices.begin(unfolding, &candidate);
        matrices.choose(&chosen(&candidate, execution));
        Facts { model, matrices, candidate }
    }

    /// Whether the pair is in the relation of this name; None if the model has none.
    pub fn holds(&self, name: &str, from: EventId, to: EventId) -> Option<bool> {
        let (from, to) = (self.candidate.local(from)?, self.candidate.local(to)?);
        Some(self.matrices.pair(node(self.model, name)?, from, to))
    }

    /// What the relation leads to from the event, ascending.
    pub fn after(&self, name: &str, from: EventId) -> Option<Vec<EventId>> {
        let row = self.matrices.row(node(self.model, name)?, self.candidate.local(from)?);
        Some(row.into_iter().filter_map(|to| self.candidate.events.get(to).copied()).collect())
    }

    /// What the relation leads from to the event, ascending.
    pub fn before(&self, name: &str, to: EventId) -> Option<Vec<EventId>> {
        let (node, to) = (node(self.model, name)?, self.candidate.local(to)?);
        let events = self.candidate.events.iter().enumerate();
        Some(events.filter(|(from, _)| self.matrices.pair(node, *from, to)).map(|(_, event)| *event).collect())
    }
}
