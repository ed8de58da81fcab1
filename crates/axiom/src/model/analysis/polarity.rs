//! How a model's checks use the relations that an engine chooses: positively, negatively, or both.
//!
//! A check is monotone in a relation that occurs only positively: adding edges can only violate it, so an engine may
//! reject a partial choice and may keep coherence as small as possible. This is derived from the text, never assumed.

use fencepost_syntax::cat::CheckRole;

use crate::model::compile::graph::operands;
use crate::model::ir::{BaseRelation, BaseSet, CheckId, DemandedRelation, Dynamic, Model, NodeId, Operator};

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Occurrence {
    pub positive: bool,
    /// Under the right side of a difference or a complement, an odd number of times.
    pub negative: bool,
}

/// How an expression or a check uses each relation that varies between executions of the same traces.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Polarity {
    pub rf: Occurrence,
    pub co: Occurrence,
    pub sync_fence: Occurrence,
    pub syncbar: Occurrence,
}

impl Occurrence {
    /// Adding edges can only violate the check.
    pub fn is_monotone(self) -> bool {
        !self.negative
    }

    pub fn occurs(self) -> bool {
        self.positive || self.negative
    }

    fn flipped(self) -> Occurrence {
        Occurrence { positive: self.negative, negative: self.positive }
    }
}

impl Polarity {
    pub(crate) fn flipped(self) -> Polarity {
        Polarity {
            rf: self.rf.flipped(),
            co: self.co.flipped(),
            sync_fence: self.sync_fence.flipped(),
            syncbar: self.syncbar.flipped(),
        }
    }

    pub(crate) fn depends(self) -> Dynamic {
        Dynamic {
            rf: self.rf.occurs(),
            co: self.co.occurs(),
            sync_fence: self.sync_fence.occurs(),
            syncbar: self.syncbar.occurs(),
        }
    }
}

impl Model {
    /// Whether the beginning of a consistent execution is consistent: it has fewer edges of every kind, and no axiom
    /// wants one, but for those that want an order of two events and find it among what is kept ([`Demand`]).
    ///
    /// [`Demand`]: crate::model::ir::Demand
    pub fn is_prefix_closed(&self) -> bool {
        let axioms = self.checks.iter().enumerate().filter(|(_, check)| check.role == CheckRole::Axiom);
        axioms.map(|(index, _)| CheckId(index as u32)).all(|check| {
            let demands = |relation| self.demands.iter().any(|one| one.check == check && one.relation == relation);
            let polarity = self.polarity(check);
            polarity.rf.is_monotone()
                && polarity.syncbar.is_monotone()
                && (polarity.co.is_monotone() || demands(DemandedRelation::Co))
                && (polarity.sync_fence.is_monotone() || demands(DemandedRelation::SyncFence))
        })
    }

    /// How a check uses each dynamic relation: `~` before the check counts as a negation.
    pub fn polarity(&self, check: CheckId) -> Polarity {
        let operators: Vec<&Operator> = self.nodes.iter().map(|node| &node.operator).collect();
        let variables = self.groups.iter().flat_map(|group| group.variables.iter().copied());
        let all = polarities(&operators, &variables.collect::<Vec<_>>());
        let Some(check) = self.checks.get(check.index()) else { return Polarity::default() };
        let polarity = all.get(check.node.index()).copied().unwrap_or_default();
        if check.negated { polarity.flipped() } else { polarity }
    }
}

/// The polarity of every node, given its operands and the body of each variable. Operands come before their users, so
/// one pass is enough, and a few more where there is recursion.
pub(crate) fn polarities(operators: &[&Operator], variables: &[(NodeId, NodeId)]) -> Vec<Polarity> {
    let mut all = vec![Packed::default(); operators.len()];
    loop {
        for (index, operator) in operators.iter().enumerate() {
            all[index] = all[index].with(of_operator(operator, &all));
        }
        // Only a variable can send the next round on a different way.
        let mut changed = false;
        for (variable, body) in variables {
            let with = all[variable.index()].with(all[body.index()]);
            changed |= with != all[variable.index()];
            all[variable.index()] = with;
        }
        if !changed {
            return all.into_iter().map(Packed::unpacked).collect();
        }
    }
}

/// A polarity with a bit per relation: every node of a model is visited several times.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
struct Packed {
    positive: u8,
    negative: u8,
}

impl Packed {
    const RF: u8 = 1;
    const CO: u8 = 2;
    const SYNC_FENCE: u8 = 4;
    const SYNCBAR: u8 = 8;

    fn positive(relation: u8) -> Packed {
        Packed { positive: relation, negative: 0 }
    }

    fn flipped(self) -> Packed {
        Packed { positive: self.negative, negative: self.positive }
    }

    fn with(self, other: Packed) -> Packed {
        Packed { positive: self.positive | other.positive, negative: self.negative | other.negative }
    }

    fn unpacked(self) -> Polarity {
        let of = |relation: u8| Occurrence {
            positive: self.positive & relation != 0,
            negative: self.negative & relation != 0,
        };
        Polarity {
            rf: of(Packed::RF),
            co: of(Packed::CO),
            sync_fence: of(Packed::SYNC_FENCE),
            syncbar: of(Packed::SYNCBAR),
        }
    }
}

fn of_operator(operator: &Operator, below: &[Packed]) -> Packed {
    let mut polarity = match operator {
        Operator::BaseRelation(BaseRelation::Rf) => Packed::positive(Packed::RF),
        Operator::BaseRelation(BaseRelation::Co) => Packed::positive(Packed::CO),
        Operator::BaseRelation(BaseRelation::SyncFence) => Packed::positive(Packed::SYNC_FENCE),
        Operator::BaseRelation(BaseRelation::Syncbar | BaseRelation::Exitbar | BaseRelation::Generations) => {
            Packed::positive(Packed::SYNCBAR)
        }
        // Final writes have no successor: more coherence, fewer of them.
        Operator::Base(BaseSet::FinalWrites) => Packed::positive(Packed::CO).flipped(),
        _ => Packed::default(),
    };
    for (position, operand) in operands(operator).enumerate() {
        let flips = match operator {
            Operator::Complement(_) | Operator::SetComplement(_) => true,
            Operator::Difference(..) | Operator::SetDifference(..) => position == 1,
            _ => false,
        };
        let operand = below[operand.index()];
        polarity = polarity.with(if flips { operand.flipped() } else { operand });
    }
    polarity
}
