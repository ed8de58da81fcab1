//! A derivation as arrows between events, every name on the way kept: sentences need to know that an edge of `rf` was
//! reached through `observation` and that through `synchronizes-with`.

use fencepost_axiom::model::{Model, Operator};
use fencepost_axiom::reason::{self, Derivation, Sign};
use fencepost_program::EventId;

/// One arrow, and what it stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub(crate) from: EventId,
    pub(crate) to: EventId,
    pub(crate) name: String,
    /// Against the direction of the relation.
    pub(crate) inverse: bool,
    pub(crate) through: Vec<Step>,
}

/// Around the cycle, or from the first event of the pair to the second.
pub(crate) fn of_explanation(explanation: &reason::Explanation, model: &Model) -> Vec<Step> {
    let top = model.checks.get(explanation.check.index()).map(|check| check.node);
    let mut steps = Vec::new();
    for derivation in &explanation.derivations {
        // The checked relation itself is what the axiom is named after: start below it.
        if Some(derivation.node) == top {
            below(derivation, model, &mut steps)
        } else {
            add(derivation, model, &mut steps)
        }
    }
    steps
}

/// From the first event of the pair to the second, below the name of the relation itself.
pub(crate) fn of_derivation(derivation: &Derivation, model: &Model) -> Vec<Step> {
    let mut steps = Vec::new();
    below(derivation, model, &mut steps);
    steps
}

/// The depth is that of the model's definitions, which the parser limits.
fn add(derivation: &Derivation, model: &Model, steps: &mut Vec<Step>) {
    if derivation.sign == Sign::Absent {
        return;
    }
    let Some(name) = &derivation.name else { return below(derivation, model, steps) };
    let mut through = Vec::new();
    below(derivation, model, &mut through);
    let (from, to) = derivation.pair;
    steps.push(Step { from, to, name: name.clone(), inverse: false, through });
}

fn below(derivation: &Derivation, model: &Model, steps: &mut Vec<Step>) {
    let children = &derivation.children;
    let Some(node) = model.nodes.get(derivation.node.index()) else { return };
    match node.operator {
        // What only restricts is no arrow.
        Operator::Identity(_) | Operator::Product(..) | Operator::Domain(_) | Operator::Range(_) => {}
        Operator::Intersection(..) | Operator::Difference(..) => {
            let present = children.iter().filter(|child| child.sign == Sign::Present);
            if let Some(child) = present.max_by_key(|child| telling(child, model)) {
                add(child, model, steps);
            }
        }
        Operator::Inverse(_) => {
            let mut inner = Vec::new();
            children.iter().for_each(|child| add(child, model, &mut inner));
            let turned = inner.into_iter().rev().map(|step| Step {
                from: step.to,
                to: step.from,
                inverse: !step.inverse,
                ..step
            });
            steps.extend(turned);
        }
        _ => children.iter().for_each(|child| add(child, model, steps)),
    }
}

/// Of the operands of an intersection, the one to follow: what the execution decides, then the larger tree.
fn telling(derivation: &Derivation, model: &Model) -> (bool, usize) {
    let depends = model.nodes.get(derivation.node.index()).map(|node| node.depends).unwrap_or_default();
    (depends.rf || depends.co || depends.sync_fence || depends.syncbar, size(derivation))
}

fn size(derivation: &Derivation) -> usize {
    derivation.children.iter().map(size).sum::<usize>() + 1
}
