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
    /// Whether values of registers alone can refute it: where each way to do so asks for final memory, it is not judged before
    /// that is known.
    pub(super) can_fail_early: bool,
}

impl<'a> Conjunct<'a> {
    /// Kleene logic: None while it depends on a term that is not known.
    pub(super) fn holds(&self, term: &mut dyn FnMut(&Term) -> Option<Value>) -> Option<bool> {
        self.condition.evaluate(term).map(|holds| holds == self.wanted)
    }
}

/// The parts of a goal.
#[derive(Clone, Debug)]
pub(super) struct Question<'a> {
    pub(super) conjuncts: Vec<Conjunct<'a>>,
    /// The registers and locations each conjunct mentions, one conjunct after the other, and where those of each end.
    terms: Vec<Term>,
    ends: Vec<usize>,
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
        let (mut terms, mut ends) = (Vec::with_capacity(2 * conjuncts.len()), Vec::with_capacity(conjuncts.len()));
        for conjunct in &conjuncts {
            conjunct.condition.add_terms(&mut terms);
            ends.push(terms.len());
        }
        let mut memory: Vec<LocationId> = terms.iter().filter_map(location).collect();
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
        Question { conjuncts, terms, ends, memory, observed }
    }

    /// The registers and locations that a conjunct mentions.
    pub(super) fn terms(&self, conjunct: usize) -> &[Term] {
        let start = conjunct.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.terms[start..self.ends[conjunct]]
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
        _ => found.push(Conjunct { condition, wanted, can_fail_early: registers_decide(condition, !wanted) }),
    }
}

/// Whether a condition may come to `truth` in Kleene logic while no final value of memory is known.
fn registers_decide(condition: &Condition, truth: bool) -> bool {
    let is_memory = |term: &Term| matches!(term, Term::Memory(_));
    match condition {
        Condition::True => truth,
        Condition::False => !truth,
        Condition::Compare { left, right, .. } => !is_memory(left) && !is_memory(right),
        Condition::Not(inner) => registers_decide(inner, !truth),
        // One part settles an `And` that is false and an `Or` that is true.
        Condition::And(parts) if truth => parts.iter().all(|part| registers_decide(part, true)),
        Condition::And(parts) => parts.iter().any(|part| registers_decide(part, false)),
        Condition::Or(parts) if truth => parts.iter().any(|part| registers_decide(part, true)),
        Condition::Or(parts) => parts.iter().all(|part| registers_decide(part, false)),
    }
}

#[cfg(test)]
mod tests {
    use fencepost_program::ThreadId;
    use fencepost_program::value::Value;
    use fencepost_program::{LocationId, RegisterId};
    use fencepost_syntax::litmus::Comparison;

    use super::{Condition, Term, registers_decide};

    fn is_one(left: Term) -> Condition {
        Condition::Compare { op: Comparison::Equal, left, right: Term::Constant(Value(1)) }
    }

    /// What `registers_decide` says is what some values of the registers show.
    #[test]
    fn registers_decide_what_some_of_their_values_decide() {
        let register = |register| is_one(Term::Register(ThreadId::new(0), RegisterId::new(register)));
        let memory = is_one(Term::Memory(LocationId::new(0)));
        let mut conditions = vec![Condition::True, Condition::False, register(0), memory];
        let last = register(1);
        for _ in 0..2 {
            let made = conditions.clone().into_iter().flat_map(|one| {
                let pair = [one.clone(), last.clone()];
                [Condition::Not(Box::new(one)), Condition::And(pair.clone().into()), Condition::Or(pair.into())]
            });
            let made: Vec<Condition> = made.collect();
            let joined = made.iter().flat_map(|one| {
                conditions.iter().map(move |other| Condition::And([one.clone(), other.clone()].into()))
            });
            let joined: Vec<Condition> = joined.collect();
            conditions.extend(made);
            conditions.extend(joined);
        }
        for condition in &conditions {
            for truth in [false, true] {
                // Three states each: 0, 1, not known.
                let decided = (0..9).any(|values: i128| {
                    condition.evaluate(&mut |term| {
                        match term {
                            Term::Register(_, register) if register.index() == 0 => Some(Value(values % 3)),
                            Term::Register(..) => Some(Value(values / 3)),
                            Term::Constant(value) => Some(*value),
                            Term::Memory(_) => None,
                        }
                        .filter(|value| value.0 < 2)
                    }) == Some(truth)
                });
                assert!(!decided || registers_decide(condition, truth), "{condition:?} is {truth}");
            }
        }
        assert!(!registers_decide(&Condition::And([conditions[3].clone(), last].into()), true));
    }
}
