//! Locations whose initial bytes are not known (`x = ?`): an unknown constant, the same for every read (PTX ISA 8.2.6).
//!
//! What such a value is matters only where it is compared. So it ranges over the constants that it can meet there, and one
//! that it can meet nowhere: every other value behaves like that one. Where more is done with it than copying and comparing
//! (arithmetic, parts of it), these values are examples and no proof ([`Exactness::Examples`]).

use fencepost_syntax::Span;
use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::sorted::SortedSet;

use crate::ids::{EventId, LocationId};
use crate::program::{Condition, Program, Term};
use crate::unfolding::{EventKind, Unfolding};
use crate::value::expression::{BinaryOperator, Expression, Leaf, UnaryOperator};
use crate::value::{Type, Value};

/// More combinations of initial values than this are refused.
pub const MOST_CASES: usize = 512;

/// Whether the cases stand for all initial values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Exactness {
    Exact,
    /// Here something is computed from the unknown value of this location.
    Examples {
        span: Span,
        location: String,
    },
}

/// One initial value per location that has an unknown one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Case {
    pub values: Vec<(LocationId, Value)>,
}

#[derive(Clone, Debug)]
pub struct Cases {
    /// The first has a value of its own for each location. Empty if there are too many.
    pub cases: Vec<Case>,
    pub exactness: Exactness,
    /// The values that stand for unknown ones, and their names: `?x`.
    pub names: Vec<(Value, String)>,
}

/// The locations with an unknown initial value of their own.
pub fn unknowns(program: &Program) -> Vec<LocationId> {
    let all = program.locations.iter().enumerate();
    all.filter(|(_, location)| location.is_unknown && location.copy_of.is_none())
        .map(|(index, _)| LocationId::new(index))
        .collect()
}

/// The program with these initial values.
pub fn with_case(program: &Program, case: &Case, names: &[(Value, String)]) -> Program {
    let mut program = program.clone();
    for &(location, value) in &case.values {
        program.locations[location.index()].initial = value;
        let copies = program.locations.iter_mut().filter(|copy| copy.copy_of == Some(location));
        copies.for_each(|copy| copy.initial = copy.ty.wrap(value));
    }
    program.unknown_values = names.to_vec();
    program
}

/// Initial values that together show everything that the program may do.
pub fn cases(program: &Program, unfolding: &Unfolding) -> Cases {
    let constants = constants(program, unfolding);
    let unknowns = unknowns(program);
    let mut exactness = Exactness::Exact;
    let mut taken = constants.clone();
    taken.extend(program.addresses.iter().map(|address| address.value));
    let mut names = Vec::new();
    let mut met: Vec<(LocationId, Type, Met)> = Vec::new();
    for &location in &unknowns {
        let ty = program.locations[location.index()].ty;
        let found = Scan::new(program, unfolding, location).run();
        if let (Exactness::Exact, Some(span)) = (&exactness, found.computed) {
            exactness = Exactness::Examples { span, location: program.locations[location.index()].name.to_string() };
        }
        met.push((location, ty, found));
    }
    let mut choices: Vec<(LocationId, Vec<Value>)> = Vec::new();
    for (location, ty, _) in &met {
        let own = fresh(*ty, &taken);
        if let Some(own) = own {
            taken.insert(own);
            names.push((own, format!("?{}", program.locations[location.index()].name)));
        }
        choices.push((*location, own.into_iter().collect()));
    }
    let others: Vec<Value> = names.iter().map(|(value, _)| *value).collect();
    for ((_, values), (_, ty, met)) in choices.iter_mut().zip(&met) {
        let mut known: SortedSet<Value> = met.constants.clone();
        if met.is_compared_with_values {
            known.extend(&constants);
            known.extend(&others);
        }
        if met.is_ordered {
            let beside: Vec<Value> = known.iter().flat_map(|value| [Value(value.0 - 1), Value(value.0 + 1)]).collect();
            known.extend(beside);
            let range = Type { bits: ty.bits, signed: ty.signed };
            known.extend([range.wrap(Value(0)), range.wrap(Value(-1))]);
            if let Some((least, _)) = range.range() {
                known.extend([range.wrap(Value(least)), range.wrap(Value(least - 1))]);
            }
        }
        let wrapped: SortedSet<Value> =
            known.into_iter().filter(|value| ty.fits(*value)).map(|value| ty.wrap(value)).collect();
        let new: Vec<Value> = wrapped.into_iter().filter(|value| !values.contains(value)).collect();
        values.extend(new);
        if values.is_empty() {
            values.push(Value(0));
        }
    }
    Cases { cases: product(&choices), exactness, names }
}

fn product(choices: &[(LocationId, Vec<Value>)]) -> Vec<Case> {
    let total = choices.iter().fold(1usize, |total, (_, values)| total.saturating_mul(values.len()));
    if total > MOST_CASES {
        return Vec::new();
    }
    let mut cases = vec![Case::default()];
    for (location, values) in choices {
        let extend = |case: &Case| {
            let with = |value: &Value| Case { values: [case.values.clone(), vec![(*location, *value)]].concat() };
            values.iter().map(with).collect::<Vec<_>>()
        };
        cases = cases.iter().flat_map(extend).collect();
    }
    cases
}

/// A value of the type that nothing else has; None if there is none.
fn fresh(ty: Type, taken: &SortedSet<Value>) -> Option<Value> {
    // Far from the small numbers of tests and from addresses.
    const FIRST: i128 = 0x5eed_0000;
    let candidates = (0..1024).map(|index| ty.wrap(Value(FIRST + 7 * index + 2)));
    candidates.chain((0..256).map(|index| ty.wrap(Value(index)))).find(|value| !taken.contains(value))
}

/// Every constant of the program: what an unknown value might be equal to.
fn constants(program: &Program, unfolding: &Unfolding) -> SortedSet<Value> {
    let known = program.locations.iter().filter(|location| !location.is_unknown);
    let mut found: SortedSet<Value> = known.map(|location| location.initial).collect();
    let written = unfolding.events.iter().filter_map(|event| match &event.kind {
        EventKind::Write { value, .. } => Some(value),
        _ => None,
    });
    let decided = unfolding.traces.iter().flat_map(|trace| trace.constraints.iter().chain(&trace.registers));
    written.chain(decided).for_each(|expression| expression_constants(expression, &mut found));
    conditions(program).for_each(|condition| condition_constants(condition, &mut found));
    found
}

fn expression_constants(expression: &Expression, found: &mut SortedSet<Value>) {
    match expression {
        Expression::Constant(value) => {
            found.insert(*value);
        }
        Expression::Read(_) | Expression::BarrierResult(_) => {}
        Expression::Unary(_, _, operand) => expression_constants(operand, found),
        Expression::Binary(_, _, left, right) => {
            [left, right].into_iter().for_each(|part| expression_constants(part, found));
        }
        Expression::Select(condition, then, otherwise) => {
            [condition, then, otherwise].into_iter().for_each(|part| expression_constants(part, found));
        }
    }
}

fn conditions(program: &Program) -> impl Iterator<Item = &Condition> {
    program.conditions()
}

fn condition_constants(condition: &Condition, found: &mut SortedSet<Value>) {
    match condition {
        Condition::True | Condition::False => {}
        Condition::Compare { left, right, .. } => {
            for term in [left, right] {
                if let Term::Constant(value) = term {
                    found.insert(*value);
                }
            }
        }
        Condition::Not(inner) => condition_constants(inner, found),
        Condition::And(parts) | Condition::Or(parts) => {
            parts.iter().for_each(|part| condition_constants(part, found));
        }
    }
}

/// What the unknown value of one location meets.
#[derive(Clone, Debug, Default)]
struct Met {
    constants: SortedSet<Value>,
    /// By `<` and the like.
    is_ordered: bool,
    /// Compared with what was read or written elsewhere.
    is_compared_with_values: bool,
    /// Where something is computed from it.
    computed: Option<Span>,
}

struct Scan<'a> {
    program: &'a Program,
    unfolding: &'a Unfolding,
    /// Locations that may hold the value.
    holding: SortedSet<LocationId>,
    met: Met,
}

impl<'a> Scan<'a> {
    fn new(program: &'a Program, unfolding: &'a Unfolding, location: LocationId) -> Scan<'a> {
        let copies = program.locations.iter().enumerate().filter(|(_, copy)| copy.copy_of == Some(location));
        let copies = copies.map(|(index, _)| LocationId::new(index));
        let holding = copies.chain([location]).collect();
        let mut scan = Scan { program, unfolding, holding, met: Met::default() };
        loop {
            let carried = unfolding.events.iter().filter_map(|event| match &event.kind {
                EventKind::Write { value, location, .. } if scan.may_be(value) => Some(*location),
                _ => None,
            });
            let carried: SortedSet<LocationId> = carried.collect();
            if carried.is_subset(&scan.holding) {
                return scan;
            }
            scan.holding.extend(carried);
        }
    }

    fn holds(&self, event: EventId) -> bool {
        self.unfolding.event(event).location().is_some_and(|location| self.holding.contains(&location))
    }

    /// Whether the expression rests on the unknown value.
    fn may_be(&self, expression: &Expression) -> bool {
        let mut leaves = Vec::new();
        expression.leaves(&mut leaves);
        leaves.iter().any(|leaf| matches!(leaf, Leaf::Read(event) if self.holds(*event)))
    }

    fn run(mut self) -> Met {
        let unfolding = self.unfolding;
        for event in &unfolding.events {
            match &event.kind {
                EventKind::Write { value, .. } => self.expression(value, event.span),
                EventKind::Barrier(barrier) => {
                    let operands = [&barrier.instance, &barrier.id, &barrier.count].into_iter().flatten();
                    let operands = operands.chain(barrier.reduction.as_ref().map(|(_, predicate)| predicate));
                    operands.for_each(|operand| self.expression(operand, event.span));
                }
                EventKind::Read { .. } | EventKind::Fence | EventKind::Issue | EventKind::Omitted(_) => {}
            }
        }
        for trace in &unfolding.traces {
            let here = trace.events.last().map_or(Span::default(), |last| unfolding.event(*last).span);
            for constraint in trace.constraints.iter().chain(&trace.assumptions) {
                self.expression(constraint, self.place(constraint).unwrap_or(here));
            }
        }
        let program = self.program;
        for condition in conditions(program) {
            self.condition(condition);
        }
        self.met
    }

    /// Where the first read of an expression stands.
    fn place(&self, expression: &Expression) -> Option<Span> {
        let mut leaves = Vec::new();
        expression.leaves(&mut leaves);
        leaves.iter().find_map(|leaf| match leaf {
            Leaf::Read(event) if self.holds(*event) => Some(self.unfolding.event(*event).span),
            _ => None,
        })
    }

    fn condition(&mut self, condition: &Condition) {
        match condition {
            Condition::True | Condition::False => {}
            Condition::Compare { op, left, right } => self.comparison(*op, left, right),
            Condition::Not(inner) => self.condition(inner),
            Condition::And(parts) | Condition::Or(parts) => parts.iter().for_each(|part| self.condition(part)),
        }
    }

    fn comparison(&mut self, op: Comparison, left: &Term, right: &Term) {
        let rests = [left, right].map(|term| self.term(term));
        if rests == [false, false] {
            return;
        }
        let is_ordered = !matches!(op, Comparison::Equal | Comparison::NotEqual);
        self.met.is_ordered |= is_ordered;
        match (left, right) {
            (Term::Constant(value), _) | (_, Term::Constant(value)) => {
                self.met.constants.insert(*value);
            }
            _ => {
                self.met.is_compared_with_values = true;
                if is_ordered {
                    self.met.computed.get_or_insert(Span::default());
                }
            }
        }
    }

    /// Whether a term may be the unknown value; what a register is computed from it is looked at too.
    fn term(&mut self, term: &Term) -> bool {
        match term {
            Term::Constant(_) => false,
            Term::Memory(location) => self.holding.contains(location),
            Term::Register(thread, register) => {
                let unfolding = self.unfolding;
                let traces = unfolding.threads.get(thread.index()).into_iter().flat_map(|thread| &thread.traces);
                let mut rests = false;
                for trace in traces {
                    let Some(value) = unfolding.traces[trace.index()].registers.get(register.index()) else { continue };
                    rests |= self.may_be(value);
                    self.expression(value, self.place(value).unwrap_or_default());
                }
                rests
            }
        }
    }

    /// Gathers what the value is compared with, and whether anything else is done with it.
    fn expression(&mut self, expression: &Expression, span: Span) {
        if !self.may_be(expression) {
            return;
        }
        match expression {
            Expression::Constant(_) | Expression::Read(_) | Expression::BarrierResult(_) => {}
            Expression::Unary(UnaryOperator::Convert, ty, operand) if self.is_copy(*ty, operand) => {
                self.expression(operand, span);
            }
            Expression::Unary(UnaryOperator::Not, Type::PREDICATE, operand) => self.expression(operand, span),
            Expression::Select(condition, then, otherwise) => {
                [condition, then, otherwise].into_iter().for_each(|part| self.expression(part, span));
            }
            Expression::Binary(operator, ty, left, right) => self.binary(*operator, *ty, (left, right), span),
            Expression::Unary(..) => {
                self.met.computed.get_or_insert(span);
            }
        }
    }

    fn binary(&mut self, operator: BinaryOperator, ty: Type, (left, right): (&Expression, &Expression), span: Span) {
        use BinaryOperator as Op;
        let is_ordering = matches!(operator, Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual);
        let is_equality = matches!(operator, Op::Equal | Op::NotEqual);
        let is_truth = |part: &Expression| {
            matches!(part, Expression::Constant(_))
                || matches!(
                    part,
                    Expression::Binary(
                        Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual,
                        ..
                    )
                )
        };
        let joins = matches!(operator, Op::And | Op::Or | Op::Xor)
            && (ty == Type::PREDICATE || (is_truth(left) && is_truth(right)));
        [left, right].into_iter().for_each(|part| self.expression(part, span));
        if joins {
            return;
        }
        if !(is_equality || is_ordering) || ![left, right].into_iter().all(|part| self.is_copy(ty, part)) {
            self.met.computed.get_or_insert(span);
            return;
        }
        self.met.is_ordered |= is_ordering;
        match (left, right) {
            (Expression::Constant(value), _) | (_, Expression::Constant(value)) => {
                self.met.constants.insert(*value);
            }
            _ if is_ordering => {
                self.met.computed.get_or_insert(span);
            }
            _ => self.met.is_compared_with_values = true,
        }
    }

    /// Whether reading a value in this type keeps all of its bits.
    fn is_copy(&self, ty: Type, operand: &Expression) -> bool {
        let width = match operand {
            Expression::Read(event) => match self.unfolding.event(*event).kind {
                EventKind::Read { ty, .. } => ty.bits,
                _ => 0,
            },
            Expression::Unary(_, ty, _) | Expression::Binary(_, ty, ..) => ty.bits,
            _ => return true,
        };
        ty.bits == 0 || (width != 0 && width <= ty.bits)
    }
}
