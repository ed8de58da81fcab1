//! In which chosen relations a node of a model grows, and in which it shrinks: derived from the operators alone. It says at
//! which stage of the search the node is known, and which checks a partial choice can already violate.

use super::Stage;
use super::dependencies::{group_members, operands};
use crate::model::{BaseRelation, BaseSet, Model, Operator};

/// Bit masks of chosen relations.
pub(super) const RF: u8 = 1;
pub(super) const SYNCBAR: u8 = 2;
pub(super) const SYNC_FENCE: u8 = 4;
pub(super) const CO: u8 = 8;

/// In which chosen relations a node grows, and in which it shrinks.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Polarity {
    pub(super) grows: u8,
    pub(super) shrinks: u8,
}

impl Polarity {
    fn and(self, other: Polarity) -> Polarity {
        Polarity { grows: self.grows | other.grows, shrinks: self.shrinks | other.shrinks }
    }

    fn flipped(self) -> Polarity {
        Polarity { grows: self.shrinks, shrinks: self.grows }
    }

    pub(super) fn stage(self) -> Stage {
        let all = self.grows | self.shrinks;
        if all & CO != 0 {
            Stage::Coherence
        } else if all & SYNC_FENCE != 0 {
            Stage::Fences
        } else if all & SYNCBAR != 0 {
            Stage::Barriers
        } else if all & RF != 0 {
            Stage::ReadsFrom
        } else {
            Stage::Static
        }
    }
}

/// Polarities, to a fixed point over the recursive groups. All members of a group get the group's dependencies, so that
/// the group is evaluated in one stage.
pub(super) fn polarities(model: &Model) -> Vec<Polarity> {
    let mut polarity = vec![Polarity::default(); model.nodes.len()];
    let members = group_members(model);
    loop {
        for index in 0..model.nodes.len() {
            polarity[index] = polarity[index].and(polarity_of(&model.nodes[index].operator, &polarity));
        }
        // Operands come before their users: only what a group changes can change anything in another round.
        let mut changed = false;
        for (number, group) in model.groups.iter().enumerate() {
            for (variable, body) in &group.variables {
                let grown = polarity[variable.index()].and(polarity[body.index()]);
                changed |= grown != polarity[variable.index()];
                polarity[variable.index()] = grown;
            }
            let range = group.first.index()..=group.last.index();
            let inside = range.filter(|&index| members[index] == Some(number)).collect::<Vec<_>>();
            let all = inside.iter().fold(Polarity::default(), |all, &index| all.and(polarity[index]));
            for index in inside {
                changed |= polarity[index] != all;
                polarity[index] = all;
            }
        }
        if !changed {
            return polarity;
        }
    }
}

fn polarity_of(operator: &Operator, known: &[Polarity]) -> Polarity {
    match operator {
        Operator::BaseRelation(BaseRelation::Rf) => Polarity { grows: RF, shrinks: 0 },
        Operator::BaseRelation(BaseRelation::Syncbar | BaseRelation::Exitbar | BaseRelation::Generations) => {
            Polarity { grows: SYNCBAR, shrinks: 0 }
        }
        Operator::BaseRelation(BaseRelation::SyncFence) => Polarity { grows: SYNC_FENCE, shrinks: 0 },
        Operator::BaseRelation(BaseRelation::Co) => Polarity { grows: CO, shrinks: 0 },
        Operator::Base(BaseSet::FinalWrites) => Polarity { grows: 0, shrinks: CO },
        Operator::Complement(a) | Operator::SetComplement(a) => known[a.index()].flipped(),
        Operator::Difference(a, b) | Operator::SetDifference(a, b) => known[a.index()].and(known[b.index()].flipped()),
        other => {
            operands(other).into_iter().flatten().fold(Polarity::default(), |all, node| all.and(known[node.index()]))
        }
    }
}
