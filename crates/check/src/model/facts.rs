//! What the model's own relations say of one execution: a reason that people read is checked against them before it is
//! told, so that "there is no acquire pattern" is the model's word and not a guess from the text of an instruction.

use fencepost_axiom::base::Candidate;
use fencepost_axiom::bits::Relation;
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::{Model, Node, NodeId, NodeKind};
use fencepost_axiom::reason::{Chosen, Matrices, Valuation};
use fencepost_program::EventId;
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::sorted::SortedMap;

use crate::model::role::{Relation as Role, Role as _};
use crate::model::vocabulary::Vocabulary;

/// A model, and its relations that reasons look at: beside what its checks need, only those are evaluated.
pub struct Watched<'m> {
    model: &'m Model,
    relations: SortedMap<Role, NodeId>,
}

impl<'m> Watched<'m> {
    pub fn new(model: &'m Model, vocabulary: &Vocabulary) -> Watched<'m> {
        // The last relation of a name is the one that is meant.
        let name = |(node, number): (&'m Node, u32)| {
            let name = node.name.as_deref().filter(|_| node.kind == NodeKind::Relation);
            name.map(|name| (name, NodeId(number)))
        };
        let names: Vec<(&str, NodeId)> = model.nodes.iter().zip(0..).filter_map(name).collect();
        let named = |name: &str| names.iter().rfind(|(own, _)| *own == name).map(|(_, node)| *node);
        let of = |role: Role| Some((role, vocabulary.relations.names(role).into_iter().find_map(named)?));
        Watched { model, relations: Role::all().filter_map(of).collect() }
    }
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
    relations: &'m SortedMap<Role, NodeId>,
    matrices: Matrices<'m>,
    candidate: Candidate,
}

impl<'m> Facts<'m> {
    pub fn of(unfolding: &Unfolding, watched: &'m Watched<'m>, execution: &Execution) -> Facts<'m> {
        let mut candidate = Candidate::default();
        candidate.choose(unfolding, &execution.traces);
        let mut matrices = Matrices::of(watched.model, watched.relations.values().copied());
        matrices.begin(unfolding, &candidate);
        matrices.choose(&chosen(&candidate, execution));
        Facts { relations: &watched.relations, matrices, candidate }
    }

    /// Whether the model has a relation with this role.
    pub fn has(&self, role: Role) -> bool {
        self.relations.contains_key(&role)
    }

    /// Whether the pair is in the relation with this role; None if the model has none.
    pub fn holds(&self, role: Role, from: EventId, to: EventId) -> Option<bool> {
        let (from, to) = (self.candidate.local(from)?, self.candidate.local(to)?);
        Some(self.matrices.pair(*self.relations.get(&role)?, from, to))
    }

    /// What the relation leads to from the event, ascending.
    pub fn after(&self, role: Role, from: EventId) -> Option<Vec<EventId>> {
        let row = self.matrices.row(*self.relations.get(&role)?, self.candidate.local(from)?);
        Some(row.into_iter().filter_map(|to| self.candidate.events.get(to).copied()).collect())
    }

    /// What the relation leads from to the event, ascending.
    pub fn before(&self, role: Role, to: EventId) -> Option<Vec<EventId>> {
        let (node, to) = (*self.relations.get(&role)?, self.candidate.local(to)?);
        let events = self.candidate.events.iter().enumerate();
        Some(events.filter(|(from, _)| self.matrices.pair(node, *from, to)).map(|(_, event)| *event).collect())
    }
}
