//! Conditions that no values satisfy, whatever a program does: `d = 1 /\ d = 2`. Not even undefined behaviour reaches them.
//!
//! Decided only as far as it is easy. The condition is taken apart into alternatives of comparisons, up to a limit; an
//! alternative is impossible if the constants that one register or location is compared with leave it no integer. What is
//! not seen to be impossible counts as possible, which is what undefined behaviour means.

use fencepost_program::condition::Holds;
use fencepost_program::program::{Condition, Question, Term};
use fencepost_program::value::Value;
use fencepost_syntax::litmus::{Comparison, QuestionKind};
use fencepost_syntax::sorted::SortedMap;

/// More alternatives are not looked at.
const MOST: usize = 256;

type Literal<'c> = (Comparison, &'c Term, &'c Term);

#[derive(Copy, Clone, PartialEq, Eq)]
enum Wanted {
    True,
    False,
}

/// Whether no final state, of whatever execution, answers the question: satisfies what `exists` asks for, breaks what
/// `forall` promises.
pub(crate) fn is_unanswerable(question: &Question) -> bool {
    let wanted = match question.kind {
        QuestionKind::Forall | QuestionKind::Assert => Wanted::False,
        QuestionKind::Exists | QuestionKind::NotExists | QuestionKind::Permit | QuestionKind::Check => Wanted::True,
    };
    alternatives(&question.condition, wanted).is_some_and(|all| all.iter().all(|literals| is_impossible(literals)))
}

/// The condition, or its negation, as alternatives; None if they are too many.
fn alternatives(condition: &Condition, wanted: Wanted) -> Option<Vec<Vec<Literal<'_>>>> {
    let is_wanted = wanted == Wanted::True;
    match condition {
        Condition::True => Some(if is_wanted { vec![Vec::new()] } else { Vec::new() }),
        Condition::False => Some(if is_wanted { Vec::new() } else { vec![Vec::new()] }),
        Condition::Compare { op, left, right } => {
            Some(vec![vec![(if is_wanted { *op } else { op.negated() }, left, right)]])
        }
        Condition::Not(inner) => alternatives(inner, if is_wanted { Wanted::False } else { Wanted::True }),
        Condition::And(parts) if is_wanted => all_of(parts, wanted),
        Condition::Or(parts) if !is_wanted => all_of(parts, wanted),
        Condition::And(parts) | Condition::Or(parts) => {
            let mut all = Vec::new();
            for part in parts.iter() {
                all.extend(alternatives(part, wanted)?);
            }
            (all.len() <= MOST).then_some(all)
        }
    }
}

fn all_of(parts: &[Condition], wanted: Wanted) -> Option<Vec<Vec<Literal<'_>>>> {
    let mut all = vec![Vec::new()];
    for part in parts {
        let own = alternatives(part, wanted)?;
        if all.len().saturating_mul(own.len()) > MOST {
            return None;
        }
        let mut longer = Vec::new();
        for before in &all {
            longer.extend(own.iter().map(|own| [before.as_slice(), own].concat()));
        }
        all = longer;
    }
    Some(all)
}

fn is_impossible(literals: &[Literal<'_>]) -> bool {
    let mut known: SortedMap<&Term, Vec<(Comparison, Value)>> = SortedMap::new();
    for (op, left, right) in literals {
        match (left, right) {
            (Term::Constant(one), Term::Constant(other)) if !op.holds(*one, *other) => return true,
            (Term::Constant(_), Term::Constant(_)) => {}
            (term, Term::Constant(value)) => known.entry(term).or_default().push((*op, *value)),
            // A constant on the left, or two terms: taken as possible.
            _ => {}
        }
    }
    known.values().any(|bounds| !has_value(bounds))
}

/// Whether some integer satisfies all of them, or that is not seen.
fn has_value(bounds: &[(Comparison, Value)]) -> bool {
    let satisfies = |value: Value| bounds.iter().all(|(op, bound)| op.holds(value, *bound));
    let exact = bounds.iter().find(|(op, _)| *op == Comparison::Equal);
    if let Some((_, value)) = exact {
        return satisfies(*value);
    }
    let least = bounds.iter().filter_map(|(op, bound)| match op {
        Comparison::Greater => Some(bound.0.saturating_add(1)),
        Comparison::GreaterEqual => Some(bound.0),
        _ => None,
    });
    let most = bounds.iter().filter_map(|(op, bound)| match op {
        Comparison::Less => Some(bound.0.saturating_sub(1)),
        Comparison::LessEqual => Some(bound.0),
        _ => None,
    });
    least.max().unwrap_or(i128::MIN) <= most.min().unwrap_or(i128::MAX)
}
