//! Judging a condition on a final state, or on as much of it as is known.

use fencepost_syntax::litmus::Comparison;

use crate::program::{Condition, Term};
use crate::value::Value;

/// Up to so many terms are compared one by one.
const FEW: usize = 8;

impl Condition {
    /// Kleene logic: None while the answer depends on a term that `term` does not know.
    pub fn evaluate(&self, term: &mut dyn FnMut(&Term) -> Option<Value>) -> Option<bool> {
        match self {
            Condition::True => Some(true),
            Condition::False => Some(false),
            Condition::Compare { op, left, right } => compare(*op, left, right, term),
            Condition::Not(inner) => inner.evaluate(term).map(|holds| !holds),
            Condition::And(parts) => decide(parts, term, false),
            Condition::Or(parts) => decide(parts, term, true),
        }
    }

    /// With two truth values: a comparison with a term that has no value is false. So are conditions on what a crash leaves, where
    /// a register may not have been computed yet.
    pub fn holds_of_defined(&self, term: &mut dyn FnMut(&Term) -> Option<Value>) -> bool {
        match self {
            Condition::True => true,
            Condition::False => false,
            Condition::Compare { op, left, right } => match (left.value(term), right.value(term)) {
                (Some(left), Some(right)) => op.holds(left, right),
                _ => false,
            },
            Condition::Not(inner) => !inner.holds_of_defined(term),
            Condition::And(parts) => parts.iter().all(|part| part.holds_of_defined(term)),
            Condition::Or(parts) => parts.iter().any(|part| part.holds_of_defined(term)),
        }
    }

    /// Every register and location it mentions, ascending and without repetition.
    pub fn terms(&self) -> Vec<Term> {
        let mut found = Vec::with_capacity(FEW);
        self.add_terms(&mut found);
        found
    }

    /// The same, behind what is in the list.
    pub fn add_terms(&self, found: &mut Vec<Term>) {
        self.collect_terms(found, found.len());
    }

    /// Every register and location it mentions, as often as it does.
    pub(crate) fn for_each_term(&self, visit: &mut dyn FnMut(&Term)) {
        match self {
            Condition::True | Condition::False => {}
            Condition::Compare { left, right, .. } => {
                [left, right].into_iter().filter(|term| !matches!(term, Term::Constant(_))).for_each(visit);
            }
            Condition::Not(inner) => inner.for_each_term(visit),
            Condition::And(parts) | Condition::Or(parts) => parts.iter().for_each(|part| part.for_each_term(visit)),
        }
    }

    /// Keeps them sorted, from there on.
    fn collect_terms(&self, found: &mut Vec<Term>, from: usize) {
        match self {
            Condition::True | Condition::False => {}
            Condition::Compare { left, right, .. } => {
                for term in [left, right] {
                    // Most are among the few that were met before.
                    let is_constant = matches!(term, Term::Constant(_));
                    let own = &found[from..];
                    if is_constant || own.len() <= FEW && own.contains(term) {
                        continue;
                    }
                    if let Err(at) = own.binary_search(term) {
                        found.insert(from + at, *term);
                    }
                }
            }
            Condition::Not(inner) => inner.collect_terms(found, from),
            Condition::And(parts) | Condition::Or(parts) => {
                parts.iter().for_each(|part| part.collect_terms(found, from))
            }
        }
    }
}

/// One part equal to `decisive` settles an `And` (false) or an `Or` (true), whatever the unknown parts are.
fn decide(parts: &[Condition], term: &mut dyn FnMut(&Term) -> Option<Value>, decisive: bool) -> Option<bool> {
    let mut unknown = false;
    for part in parts {
        // Most parts are comparisons, and a list of outcomes has many: they are judged here.
        let holds = match part {
            Condition::Compare { op, left, right } => compare(*op, left, right, term),
            other => other.evaluate(term),
        };
        match holds {
            Some(holds) if holds == decisive => return Some(decisive),
            Some(_) => {}
            None => unknown = true,
        }
    }
    if unknown { None } else { Some(!decisive) }
}

#[inline(always)]
fn compare(op: Comparison, left: &Term, right: &Term, term: &mut dyn FnMut(&Term) -> Option<Value>) -> Option<bool> {
    Some(op.holds(left.value(term)?, right.value(term)?))
}

impl Term {
    #[inline(always)]
    fn value(&self, term: &mut dyn FnMut(&Term) -> Option<Value>) -> Option<Value> {
        match self {
            Term::Constant(value) => Some(*value),
            other => term(other),
        }
    }
}

/// Comparisons of final values are of the integers they stand for.
pub trait Holds {
    fn holds(self, left: Value, right: Value) -> bool;
}

impl Holds for Comparison {
    #[inline]
    fn holds(self, left: Value, right: Value) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Less => left < right,
            Comparison::LessEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterEqual => left >= right,
        }
    }
}
