//! Which reads decide that a write is not made.
//!
//! A trace leaves a write out that other traces of its thread make. Each of those is taken under constraints; of the reads
//! that both have, one *decides* if another value of it alone, among those that it may return, satisfies the constraints of
//! a trace with the write. Of two conditions that each leave the write out (`a || b`, or one branch after the other) neither
//! decides where both hold. Which hold is known of a trace only if its constraints say so; else the trace is taken apart
//! into cases, one for each way they can be ([`cases`]).

use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::ids::EventId;
use crate::unfold::omission::possible::Possible;
use crate::unfold::run::fold;
use crate::value::expression::{BinaryOperator, Expression, Leaf, UnaryOperator};
use crate::value::may::{May, leaves_of};
use crate::value::{Type, Value};

/// A trace is taken apart by so many conditions at the most. What more would decide counts as undecided by any read.
const MOST_CONDITIONS: usize = 4;

/// Choices inside a larger expression are not taken apart.
const LARGEST: u32 = 64;

/// A boolean combination of conditions on values.
#[derive(Clone, Debug)]
enum Formula {
    Known(bool),
    Condition(usize),
    Not(Box<Formula>),
    All(Vec<Formula>),
    Any(Vec<Formula>),
}

impl Formula {
    fn negated(self) -> Formula {
        match self {
            Formula::Not(inner) => *inner,
            Formula::Known(truth) => Formula::Known(!truth),
            other => Formula::Not(Box::new(other)),
        }
    }

    fn all(parts: Vec<Formula>) -> Formula {
        Formula::joined(parts, false, Formula::All)
    }

    fn any(parts: Vec<Formula>) -> Formula {
        Formula::joined(parts, true, Formula::Any)
    }

    /// Without parts that are known: one with the `decisive` truth is all there is, others do not matter.
    fn joined(mut parts: Vec<Formula>, decisive: bool, join: fn(Vec<Formula>) -> Formula) -> Formula {
        if parts.iter().any(|part| matches!(part, Formula::Known(truth) if *truth == decisive)) {
            return Formula::Known(decisive);
        }
        parts.retain(|part| !matches!(part, Formula::Known(_)));
        match parts.len() {
            0 => Formula::Known(!decisive),
            1 => parts.remove(0),
            _ => join(parts),
        }
    }

    /// None where it rests on what is not known.
    fn truth(&self, of: &dyn Fn(usize) -> Option<bool>) -> Option<bool> {
        match self {
            Formula::Known(truth) => Some(*truth),
            Formula::Condition(at) => of(*at),
            Formula::Not(inner) => inner.truth(of).map(|truth| !truth),
            Formula::All(parts) => fold_truth(parts, of, false),
            Formula::Any(parts) => fold_truth(parts, of, true),
        }
    }

    /// Notes the conditions that follow from its being so.
    fn assume(&self, truth: bool, known: &mut SortedMap<usize, bool>) {
        match (self, truth) {
            (Formula::Condition(at), _) => {
                known.insert(*at, truth);
            }
            (Formula::Not(inner), _) => inner.assume(!truth, known),
            (Formula::All(parts), true) | (Formula::Any(parts), false) => {
                parts.iter().for_each(|part| part.assume(truth, known));
            }
            (Formula::All(_), false) | (Formula::Any(_), true) | (Formula::Known(_), _) => {}
        }
    }

    fn conditions(&self, found: &mut SortedSet<usize>) {
        match self {
            Formula::Known(_) => {}
            Formula::Condition(at) => {
                found.insert(*at);
            }
            Formula::Not(inner) => inner.conditions(found),
            Formula::All(parts) | Formula::Any(parts) => parts.iter().for_each(|part| part.conditions(found)),
        }
    }
}

/// The `decisive` value if a part has it, the other if all have that.
fn fold_truth(parts: &[Formula], of: &dyn Fn(usize) -> Option<bool>, decisive: bool) -> Option<bool> {
    let mut is_open = false;
    for part in parts {
        match part.truth(of) {
            Some(truth) if truth == decisive => return Some(decisive),
            Some(_) => {}
            None => is_open = true,
        }
    }
    (!is_open).then_some(!decisive)
}

/// The conditions that occur, each an expression that is not zero where it holds.
#[derive(Default)]
struct Conditions {
    expressions: Vec<Expression>,
    leaves: Vec<Vec<Leaf>>,
}

impl Conditions {
    fn of(&mut self, expression: Expression) -> Formula {
        let at = self.expressions.iter().position(|known| *known == expression).unwrap_or_else(|| {
            self.leaves.push(leaves_of(&expression));
            self.expressions.push(expression);
            self.expressions.len() - 1
        });
        Formula::Condition(at)
    }

    /// That the expression is not zero.
    fn formula(&mut self, expression: &Expression) -> Formula {
        use BinaryOperator as Op;
        let is_number = |operand: &Expression, number: i128| matches!(operand, Expression::Constant(Value(value)) if *value == number);
        match expression {
            Expression::Constant(value) => Formula::Known(*value != Value(0)),
            Expression::Unary(UnaryOperator::Not, Type::PREDICATE, operand) => self.formula(operand).negated(),
            Expression::Unary(UnaryOperator::Convert, _, operand) if is_boolean(operand) => self.formula(operand),
            Expression::Binary(Op::And, _, left, right) if is_boolean(left) && is_boolean(right) => {
                Formula::all(vec![self.formula(left), self.formula(right)])
            }
            Expression::Binary(Op::Or, _, left, right) => Formula::any(vec![self.formula(left), self.formula(right)]),
            Expression::Binary(Op::NotEqual, _, operand, zero) if is_number(zero, 0) => self.formula(operand),
            Expression::Binary(Op::Equal, _, operand, zero) if is_number(zero, 0) => self.formula(operand).negated(),
            Expression::Binary(Op::Equal, _, operand, one) if is_number(one, 1) && is_boolean(operand) => {
                self.formula(operand)
            }
            Expression::Binary(Op::NotEqual, _, operand, one) if is_number(one, 1) && is_boolean(operand) => {
                self.formula(operand).negated()
            }
            Expression::Binary(Op::NotEqual | Op::Greater | Op::GreaterEqual, ..) => {
                self.formula(&fold::is_false(expression.clone())).negated()
            }
            Expression::Select(condition, then, otherwise) => self.selected(condition, then, otherwise),
            _ => match lifted(expression).filter(|_| fold::size(expression) <= LARGEST) {
                Some((condition, then, otherwise)) => self.selected(&condition, &then, &otherwise),
                None => self.of(expression.clone()),
            },
        }
    }
}

impl Conditions {
    fn selected(&mut self, condition: &Expression, then: &Expression, otherwise: &Expression) -> Formula {
        let (holds, then, otherwise) = (self.formula(condition), self.formula(then), self.formula(otherwise));
        let one = Formula::all(vec![holds.clone(), then]);
        let other = Formula::all(vec![holds.negated(), otherwise]);
        Formula::any(vec![one, other])
    }
}

/// A choice inside an expression (a pointer that `selp` chose, compared with an address) as the choice between two.
fn lifted(expression: &Expression) -> Option<(Expression, Expression, Expression)> {
    match expression {
        Expression::Select(condition, then, otherwise) => {
            Some(((**condition).clone(), (**then).clone(), (**otherwise).clone()))
        }
        Expression::Unary(operator, ty, operand) => {
            let (condition, then, otherwise) = lifted(operand)?;
            Some((condition, fold::unary(*operator, *ty, then), fold::unary(*operator, *ty, otherwise)))
        }
        Expression::Binary(operator, ty, left, right) => {
            let with = |left: Expression, right: Expression| fold::binary(*operator, *ty, left, right);
            if let Some((condition, then, otherwise)) = lifted(left) {
                let right = || (**right).clone();
                return Some((condition, with(then, right()), with(otherwise, right())));
            }
            let (condition, then, otherwise) = lifted(right)?;
            let left = || (**left).clone();
            Some((condition, with(left(), then), with(left(), otherwise)))
        }
        Expression::Constant(_) | Expression::Read(_) | Expression::BarrierResult(_) => None,
    }
}

/// A read, or a `bar.red`, which returns what other reads decide.
fn event_of(leaf: Leaf) -> EventId {
    let (Leaf::Read(event) | Leaf::BarrierResult(event)) = leaf;
    event
}

/// Whether it is 0 or 1.
fn is_boolean(expression: &Expression) -> bool {
    use BinaryOperator as Op;
    match expression {
        Expression::Constant(Value(value)) => (0..=1).contains(value),
        Expression::Unary(UnaryOperator::Not, Type::PREDICATE, _) => true,
        Expression::Unary(UnaryOperator::Convert, _, operand) => is_boolean(operand),
        Expression::Binary(
            Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual,
            ..,
        ) => true,
        Expression::Binary(Op::And | Op::Or | Op::Xor, _, left, right) => is_boolean(left) && is_boolean(right),
        Expression::Select(_, then, otherwise) => is_boolean(then) && is_boolean(otherwise),
        _ => false,
    }
}

/// What else is so in one case of a trace, and by write that it leaves out the reads that decide that.
pub(crate) struct Case {
    /// How many constraints the trace has without those.
    pub(crate) shared: usize,
    pub(crate) constraints: Vec<Expression>,
    pub(crate) deciders: Vec<Vec<EventId>>,
}

/// A write that is left out: the constraints of each trace that makes it.
pub(crate) type MadeUnder<'a> = Vec<&'a [Expression]>;

/// The cases of a trace with these events and constraints, of writes that it leaves out.
pub(crate) fn cases(
    events: &SortedSet<EventId>,
    constraints: &[Expression],
    omitted: &[MadeUnder<'_>],
    possible: &Possible,
) -> Vec<Case> {
    let mut conditions = Conditions::default();
    let facts: Vec<Formula> = constraints.iter().map(|constraint| conditions.formula(constraint)).collect();
    let mut known = SortedMap::new();
    facts.iter().for_each(|fact| fact.assume(true, &mut known));
    let is_own = |constraint: &&Expression| {
        let own = |leaf: &Leaf| events.contains(&event_of(*leaf));
        leaves_of(constraint).iter().all(own)
    };
    let made: Vec<Vec<Vec<Formula>>> = (omitted.iter())
        .map(|made| {
            let of = |constraints: &&[Expression]| {
                constraints.iter().filter(is_own).map(|constraint| conditions.formula(constraint)).collect()
            };
            made.iter().map(of).collect()
        })
        .collect();
    let mut space = Space { conditions, facts, known, possible };
    space.settle();
    let mut open = SortedSet::new();
    for made in &made {
        let own = space.open(made);
        if own.len() <= MOST_CONDITIONS && space.differ(made, &own) {
            open.extend(own);
        }
    }
    let open: Vec<usize> = if open.len() <= MOST_CONDITIONS { open.into_iter().collect() } else { Vec::new() };
    space.assignments(&space.known, &open).map(|assigned| space.case(&made, &open, &assigned)).collect()
}

struct Space<'a> {
    conditions: Conditions,
    /// What the trace is taken under, and what follows for single conditions.
    facts: Vec<Formula>,
    known: SortedMap<usize, bool>,
    possible: &'a Possible,
}

impl Space<'_> {
    /// Notes the conditions on one read that come out alike for all values which the trace leaves to it: that a pointer is none
    /// of the locations it cannot be.
    fn settle(&mut self) {
        let only = |at: usize| match self.conditions.leaves[at].as_slice() {
            [leaf] => Some(event_of(*leaf)),
            _ => None,
        };
        let mut by_read = SortedMap::<EventId, Vec<usize>>::new();
        let of_one = (0..self.conditions.expressions.len()).filter_map(|at| Some((only(at)?, at)));
        of_one.for_each(|(read, at)| by_read.entry(read).or_default().push(at));
        for (read, conditions) in by_read {
            let holds = |at: usize, value: Value| {
                let condition = &self.conditions.expressions[at];
                condition.evaluate(&mut |_| Some(value)).map(|value| value != Value(0))
            };
            let is_left = |value: &Value| {
                let of = |at: usize| match only(at) {
                    Some(its) if its == read => holds(at, *value),
                    _ => self.known.get(&at).copied(),
                };
                self.facts.iter().all(|fact| fact.truth(&of) != Some(false))
            };
            let May::Values(values) = self.possible.of(read) else { continue };
            let left: Vec<Value> = values.iter().copied().filter(is_left).collect();
            let settled = conditions.iter().filter_map(|at| {
                let mut truths = left.iter().map(|value| holds(*at, *value));
                let first = truths.next()??;
                truths.all(|truth| truth == Some(first)).then_some((*at, first))
            });
            let settled: Vec<(usize, bool)> = settled.collect();
            self.known.extend(settled);
        }
    }

    /// The conditions of a write's makers that the trace does not tell.
    fn open(&self, made: &[Vec<Formula>]) -> Vec<usize> {
        let mut found = SortedSet::new();
        made.iter().flatten().for_each(|formula| formula.conditions(&mut found));
        found.into_iter().filter(|at| !self.known.contains_key(at)).collect()
    }

    /// Every way these conditions can be that does not contradict the trace.
    fn assignments<'s>(
        &'s self,
        known: &'s SortedMap<usize, bool>,
        open: &'s [usize],
    ) -> impl Iterator<Item = SortedMap<usize, bool>> + 's {
        (0..1usize << open.len()).filter_map(move |number| {
            let mut assigned = known.clone();
            assigned.extend(open.iter().enumerate().map(|(bit, at)| (*at, number & 1 << bit != 0)));
            let of = |at: usize| assigned.get(&at).copied();
            self.facts.iter().all(|fact| fact.truth(&of) != Some(false)).then_some(assigned)
        })
    }

    fn differ(&self, made: &[Vec<Formula>], open: &[usize]) -> bool {
        let mut deciders = self.assignments(&self.known, open).map(|assigned| self.deciders(made, &assigned));
        let Some(first) = deciders.next() else { return false };
        deciders.any(|other| other != first)
    }

    fn case(&self, made: &[Vec<Vec<Formula>>], open: &[usize], assigned: &SortedMap<usize, bool>) -> Case {
        let constraints = open.iter().map(|at| {
            let condition = self.conditions.expressions[*at].clone();
            if assigned[at] { fold::is_true(condition) } else { fold::is_false(condition) }
        });
        let deciders = made.iter().map(|made| {
            let rest: Vec<usize> = self.open(made).into_iter().filter(|at| !assigned.contains_key(at)).collect();
            if rest.len() > MOST_CONDITIONS {
                return Vec::new();
            }
            // The same for all, or too many to take apart: then those that decide in each.
            let all = self.assignments(assigned, &rest).map(|assigned| self.deciders(made, &assigned));
            let common = all.reduce(|one, other| one.intersection(&other).copied().collect());
            common.into_iter().flatten().collect()
        });
        Case { shared: self.facts.len(), constraints: constraints.collect(), deciders: deciders.collect() }
    }

    /// The reads of which another value alone would have the write made.
    fn deciders(&self, made: &[Vec<Formula>], assigned: &SortedMap<usize, bool>) -> SortedSet<EventId> {
        let is_left_out = |formulas: &&Vec<Formula>| {
            formulas.iter().any(|formula| formula.truth(&|at| assigned.get(&at).copied()) == Some(false))
        };
        let mut found = SortedSet::new();
        for formulas in made.iter().filter(is_left_out) {
            let mut used = SortedSet::new();
            formulas.iter().for_each(|formula| formula.conditions(&mut used));
            let leaves = used.iter().flat_map(|at| &self.conditions.leaves[*at]);
            let reads: SortedSet<EventId> = leaves.map(|leaf| event_of(*leaf)).collect();
            found.extend(reads.into_iter().filter(|read| self.decides(*read, formulas, assigned)));
        }
        found
    }

    fn decides(&self, read: EventId, formulas: &[Formula], assigned: &SortedMap<usize, bool>) -> bool {
        let with = |value: Option<Value>| {
            let of = |at: usize| match self.conditions.leaves[at].as_slice() {
                [only] if event_of(*only) == read => {
                    let value = value?;
                    let condition = &self.conditions.expressions[at];
                    condition.evaluate(&mut |_| Some(value)).map(|value| value != Value(0))
                }
                leaves if leaves.iter().any(|leaf| event_of(*leaf) == read) => None,
                _ => assigned.get(&at).copied(),
            };
            formulas.iter().all(|formula| formula.truth(&of) != Some(false))
        };
        match self.possible.of(read) {
            May::Any => with(None),
            May::Values(values) => values.iter().any(|value| with(Some(*value))),
        }
    }
}
