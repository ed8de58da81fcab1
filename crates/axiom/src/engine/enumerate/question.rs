//! The goal, taken apart: the filter and the condition as a list of parts that must all hold, so that each prunes as soon
//! as its own terms are known.

use fencepost_program::LocationId;
use fencepost_program::program::{Condition, Term};
use fencepost_program::value::Value;
use fencepost_syntax::sorted::SharedSort as _;

use crate::engine::{Goal, Multiplicity, Observed};

/// A condition that must hold, or must not.
#[derive(Copy, Clone, Debug)]
pub(super) struct Conjunct<'a> {
    condition: &'a Condition,
    wanted: bool,
}

impl<'a> Conjunct<'a> {
    /// Kleene logic: None while it depends on a term that is not known.
    pub(super) fn holds(&self, term: &mut dyn FnMut(&Term) -> Option<Value>) -> Option<bool> {
        self.condition.evaluate(term).map(|holds| holds == self.wanted)
    }

    pub(super) fn terms(&self) -> Vec<Term> {
        self.condition.terms()
    }
}

/// The parts of a goal.
#[derive(Clone, Debug)]
pub(super) struct Question<'a> {
    pub(super) conjuncts: Vec<Conjunct<'a>>,
    /// The registers and locations each conjunct mentions.
    pub(super) terms: Vec<Vec<Term>>,
    /// Locations whose final value the conjuncts mention, ascending.
    pub(super) memory: Vec<LocationId>,
    /// Locations whose final value anybody looks at; None: all, and every execution is wanted by itself.
    pub(super) observed: Option<Vec<LocationId>>,
}

impl<'a> Question<'a> {
    pub(super) fn new(goal: &Goal<'a>) -> Question<'a> {
        let mut conjuncts = Vec::new();
        for condition in [goal.filter, goal.condition].into_iter().flatten() {
            flatten(condition, true, &mut conjuncts);
        }
        let terms: Vec<Vec<Term>> = conjuncts.iter().map(Conjunct::terms).collect();
        let mut memory: Vec<LocationId> = terms.iter().flatten().filter_map(location).collect();
        memory.shared_sort();
        memory.dedup();
        let observed = match (goal.observed, goal.multiplicity) {
            // Which pairs raise a flag is not symmetric once some of them are left out.
            _ if goal.raised.is_some() => None,
            (Observed::Terms(terms), _) => Some(terms),
            (Observed::Everything, Multiplicity::First) => Some(&[][..]),
            (Observed::Everything, Multiplicity::All) => None,
        };
        let observed = observed.map(|terms| memory.iter().copied().chain(terms.iter().filter_map(location)).collect());
        Question { conjuncts, terms, memory, observed }
    }
}

fn location(term: &Term) -> Option<LocationId> {
    match term {
        Term::Memory(location) => Some(*location),
        Term::Constant(_) | Term::Register(..) => None,
    }
}

/// Splits conjunctions, through negation.
fn flatten<'a>(condition: &'a Condition, wanted: bool, found: &mut Vec<Conjunct<'a>>) {
    match (condition, wanted) {
        (Condition::Not(inner), _) => flatten(inner, !wanted, found),
        (Condition::And(parts), true) | (Condition::Or(parts), false) => {
            parts.iter().for_each(|part| flatten(part, wanted, found));
        }
        _ => found.push(Conjunct { condition, wanted }),
    }
}
