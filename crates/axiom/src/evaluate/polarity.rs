//! In which chosen relations a node of a model grows, and in which it shrinks: derived from the operators alone. It says at
//! which stage of the search the node is known, and which checks a partial choice can already violate.

use super::Stage;
use super::dependencies::{group_members, operands};
use crate::model::{BaseRelation, BaseSet, Model, Operator, RecursiveGroup};

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

/// What is known of the nodes of a model, whichever of them a plan is for.
#[derive(Debug)]
pub(super) struct Analysis {
    pub(super) polarity: Vec<Polarity>,
    pub(super) stages: Vec<Stage>,
    /// By node: the recursive group that it depends on variables of.
    pub(super) groups: Vec<Option<usize>>,
}

impl Analysis {
    pub(super) fn new(model: &Model) -> Analysis {
        let groups = group_members(model);
        let polarity = polarities(model, &groups);
        let stages = polarity.iter().map(|polarity| polarity.stage()).collect();
        Analysis { polarity, stages, groups }
    }
}

/// Polarities, to a fixed point over the recursive groups. All members of a group get the group's dependencies, so that
/// the group is evaluated in one stage.
///
/// Operands come before their users, and what follows a group looks at what the group has come to: each group is settled where
/// it ends, and nothing is gone through twice but its nodes.
fn polarities(model: &Model, members: &[Option<usize>]) -> Vec<Polarity> {
    let mut polarity = vec![Polarity::default(); model.nodes.len()];
    let mut groups = model.groups.iter().enumerate();
    let mut next = groups.next();
    for (index, node) in model.nodes.iter().enumerate() {
        polarity[index] = polarity[index].and(polarity_of(&node.operator, &polarity));
        while let Some((number, group)) = next.filter(|(_, group)| group.last.index() <= index) {
            settle(model, (number, group), members, &mut polarity);
            next = groups.next();
        }
    }
    polarity
}

/// The polarities of one group.
fn settle(
    model: &Model,
    (number, group): (usize, &RecursiveGroup),
    members: &[Option<usize>],
    polarity: &mut [Polarity],
) {
    let range = group.first.index()..=group.last.index();
    let is_member = |index: &usize| members[*index] == Some(number);
    loop {
        let mut changed = false;
        for (variable, body) in &group.variables {
            let grown = polarity[variable.index()].and(polarity[body.index()]);
            changed |= grown != polarity[variable.index()];
            polarity[variable.index()] = grown;
        }
        let inside = || range.clone().filter(is_member);
        let all = inside().fold(Polarity::default(), |all, index| all.and(polarity[index]));
        for index in inside() {
            changed |= polarity[index] != all;
            polarity[index] = all;
        }
        if !changed {
            return;
        }
        for index in range.clone() {
            polarity[index] = polarity[index].and(polarity_of(&model.nodes[index].operator, polarity));
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
        other => match operands(other) {
            [Some(a), Some(b)] => known[a.index()].and(known[b.index()]),
            [Some(a), None] => known[a.index()],
            _ => Polarity::default(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::compile;

    /// A fixed point over the whole model, whatever the order that it was computed in.
    #[test]
    fn polarities_of_the_shipped_models_are_settled() {
        for name in crate::model::shipped::names() {
            let compiled = compile::compile_text(name, crate::model::shipped(name).expect("it is shipped"));
            let model = compiled.model.expect("it compiles");
            let Analysis { polarity, groups, .. } = Analysis::new(&model);
            for (index, node) in model.nodes.iter().enumerate() {
                let operands = polarity_of(&node.operator, &polarity);
                assert_eq!(polarity[index].and(operands), polarity[index], "{name}: node {index}");
                let is_alone = groups[index].is_none() && node.operator != Operator::Variable;
                assert!(!is_alone || operands == polarity[index], "{name}: node {index} has more than its operands");
            }
            for (number, group) in model.groups.iter().enumerate() {
                let all = group.variables.iter().map(|(variable, _)| polarity[variable.index()]);
                let all = all.fold(Polarity::default(), Polarity::and);
                let bodies = group.variables.iter().map(|(_, body)| polarity[body.index()]);
                assert_eq!(bodies.fold(all, Polarity::and), all, "{name}: group {number}");
                let members = (0..groups.len()).filter(|index| groups[*index] == Some(number));
                members.for_each(|index| assert_eq!(polarity[index], all, "{name}: node {index}"));
            }
        }
    }
}
