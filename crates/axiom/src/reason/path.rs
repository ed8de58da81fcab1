//! A derivation as a path of named steps: `e3 --fr--> e1 --causality[po; synchronizes-with; po]--> e3`.

use std::fmt::Write as _;

use fencepost_program::EventId;

use crate::model::{Model, Operator};

use super::explain::Sign;
use super::{Derivation, Explanation};

/// One arrow between two events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathStep {
    pub from: EventId,
    pub to: EventId,
    /// The nearest name on the way from the check to the base edges.
    pub name: String,
    /// What the name stands for here, one level of names down; empty for base edges.
    pub through: Vec<PathStep>,
}

impl Explanation {
    /// The violation as a path: around the cycle, or from the first event of the pair to the second.
    pub fn path(&self, model: &Model) -> Vec<PathStep> {
        let top = model.checks[self.check.index()].node;
        let mut steps = Vec::new();
        for derivation in &self.derivations {
            // The checked node itself is what the check is named after: start below it.
            if derivation.node == top {
                below(derivation, model, &mut steps)
            } else {
                flatten(derivation, model, &mut steps)
            }
        }
        steps
    }
}

/// The named steps of a derivation. Steps that stay on one event (`[W]`) or only restrict (`& loc`) are left out.
pub fn flatten(derivation: &Derivation, model: &Model, steps: &mut Vec<PathStep>) {
    if derivation.sign == Sign::Absent {
        return;
    }
    let Some(name) = &derivation.name else {
        return below(derivation, model, steps);
    };
    let (from, to) = derivation.pair;
    let mut through = Vec::new();
    if !derivation.children.is_empty() {
        below(derivation, model, &mut through);
    }
    // `let a = b`: one arrow is enough.
    if let [only] = through.as_slice()
        && only.through.is_empty()
        && (only.from, only.to) == (from, to)
    {
        through.clear();
    }
    steps.push(PathStep { from, to, name: name.clone(), through });
}

fn below(derivation: &Derivation, model: &Model, steps: &mut Vec<PathStep>) {
    let children = &derivation.children;
    match &model.nodes[derivation.node.index()].operator {
        Operator::Identity(_) | Operator::Product(..) | Operator::Domain(_) | Operator::Range(_) => {}
        Operator::Intersection(..) | Operator::Difference(..) => {
            // Follow the operand that says most: the one with the larger tree that depends on the execution.
            let telling = children.iter().filter(|child| child.sign == Sign::Present);
            if let Some(child) = telling.max_by_key(|child| weight(child, model)) {
                flatten(child, model, steps);
            }
        }
        Operator::Inverse(_) => {
            let mut inner = Vec::new();
            children.iter().for_each(|child| flatten(child, model, &mut inner));
            inner.reverse();
            steps.extend(inner.into_iter().map(inverted));
        }
        _ => children.iter().for_each(|child| flatten(child, model, steps)),
    }
}

fn inverted(step: PathStep) -> PathStep {
    let name = step.name.strip_suffix("^-1").map_or_else(|| format!("{}^-1", step.name), str::to_owned);
    PathStep { from: step.to, to: step.from, name, through: step.through }
}

fn weight(derivation: &Derivation, model: &Model) -> (usize, usize) {
    let depends = model.nodes[derivation.node.index()].depends;
    let choices = [depends.rf, depends.co, depends.sync_fence, depends.syncbar].into_iter().filter(|on| *on).count();
    (choices.min(1), size(derivation))
}

fn size(derivation: &Derivation) -> usize {
    derivation.children.iter().map(size).sum::<usize>() + 1
}

/// `e3 --fr[rf^-1; co]--> e1 --po--> e3`, with `label` naming the events.
pub fn render_path(steps: &[PathStep], label: &dyn Fn(EventId) -> String) -> String {
    let mut text = String::new();
    for (index, step) in steps.iter().enumerate() {
        if index == 0 || steps[index - 1].to != step.from {
            let _ = write!(text, "{}{}", if index == 0 { "" } else { ", " }, label(step.from));
        }
        let (name, through) = arrow(step);
        let inner: Vec<&str> = through.iter().map(|inner| inner.name.as_str()).collect();
        let detail = if inner.is_empty() { String::new() } else { format!("[{}]", inner.join("; ")) };
        let _ = write!(text, " --{name}{detail}--> {}", label(step.to));
    }
    text
}

/// What is written on one arrow. A union that is one of its parts here shows the part: under its own name where it is
/// made of base edges (`fr`), as the content of the outer name where it is a longer chain (`causality`).
fn arrow(step: &PathStep) -> (&str, &[PathStep]) {
    let [only] = step.through.as_slice() else { return (&step.name, &step.through) };
    if (only.from, only.to) != (step.from, step.to) {
        return (&step.name, &step.through);
    }
    let (name, through) = arrow(only);
    if through.iter().all(|inner| inner.through.is_empty()) { (name, through) } else { (&step.name, through) }
}
