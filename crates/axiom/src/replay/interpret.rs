//! Interprets cat expressions. Bindings of instructions are lazy, as in herd (an unused `let a = unknown` is accepted),
//! and keep their value while no choice it was computed from changes: which ones that were is recorded during the
//! evaluation itself, so that nothing has to be said about the syntax.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use fencepost_syntax::Spanned;
use fencepost_syntax::cat::{
    BinaryOperator, Binding, BindingPattern, ConditionExpression, Expression, Late, Pattern, UnaryOperator,
};
use fencepost_syntax::span::Span;

use super::base::{BaseValue, Candidate, Depends, Versions, beginning};
use super::blocks::{Blocks, Events, Pairs};
use super::operators;
use super::prelude;
use super::variants::Variants;
use super::{ReplayError, ReplayErrorKind};
use crate::engine::Stop;
use crate::watch::Watch;

pub(super) type Answer<T> = Result<T, ReplayError>;
type Tree = Spanned<Expression>;

/// Calls of recursive functions nest at most this deeply.
const MAX_DEPTH: u32 = 120;
/// Each round of a fixpoint adds a pair or is the last, so no litmus test comes near.
const MAX_ROUNDS: usize = 100_000;

#[derive(Clone)]
pub(super) enum Value<'t> {
    /// `0`, `{}`: the empty set or the empty relation, as the context has it.
    Empty,
    Events(Rc<Events>),
    Pairs(Rc<Pairs>),
    Tuple(Rc<Vec<Value<'t>>>),
    Function(Rc<Closure<'t>>),
    Primitive(Primitive),
}

impl From<BaseValue> for Value<'_> {
    fn from(value: BaseValue) -> Self {
        match value {
            BaseValue::Events(events) => Value::Events(events),
            BaseValue::Pairs(pairs) => Value::Pairs(pairs),
        }
    }
}

#[derive(Copy, Clone)]
pub(super) enum Primitive {
    Domain,
    Range,
}

/// An expression: one that is there, or that of a definition, which may not be read yet.
#[derive(Copy, Clone)]
pub(super) enum Text<'t> {
    Tree(&'t Tree),
    Defined(&'t Late<Tree>),
}

impl<'t> Text<'t> {
    fn tree(self) -> &'t Tree {
        match self {
            Text::Tree(tree) => tree,
            Text::Defined(late) => late,
        }
    }
}

pub(super) struct Closure<'t> {
    parameters: &'t [Pattern],
    body: Text<'t>,
    environment: Environment<'t>,
    /// The recursive group it belongs to: its names are bound again at each call.
    group: &'t [Binding],
}

/// What a name stands for, innermost first.
#[derive(Clone, Default)]
pub(super) struct Environment<'t>(Option<Rc<Frame<'t>>>);

struct Frame<'t> {
    name: &'t str,
    /// [`beginning`] of the name: most comparisons of names end here.
    begins: u64,
    slot: Slot<'t>,
    outer: Environment<'t>,
    /// How many frames there are from this one to the end of its block, itself among them.
    count: u32,
    /// The [`mark`]s of their names, and what comes after them: a model binds hundreds of names, and most of those that are
    /// looked up are predefined.
    marks: u64,
    beyond: Environment<'t>,
    /// All names beyond the block of this frame: those of its block have marks.
    names: Rc<Names>,
}

/// Names that were bound, as bits: a name whose bit is not there was not, which is so of most predefined ones.
#[derive(Copy, Clone)]
struct Names([u64; 32]);

impl Names {
    fn place(begins: u64) -> (usize, u64) {
        let bit = begins.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 53;
        (bit as usize / 64, 1 << (bit % 64))
    }

    fn with(mut self, begins: u64) -> Names {
        let (word, bit) = Names::place(begins);
        self.0[word] |= bit;
        self
    }

    fn may_have(&self, begins: u64) -> bool {
        let (word, bit) = Names::place(begins);
        self.0[word] & bit != 0
    }
}

/// So many frames are skipped at once, where none of them can have the name.
const BLOCK: u32 = 8;

/// One of 64 bits for each beginning of a name.
fn mark(begins: u64) -> u64 {
    1 << (begins.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
}

#[derive(Clone)]
pub(super) enum Slot<'t> {
    Value(Answer<Value<'t>>),
    Lazy(Rc<Lazy<'t>>),
    /// The predefined name itself (`with co from …`).
    Base,
}

/// A binding of an instruction.
pub(super) struct Lazy<'t> {
    rule: Rule<'t>,
    environment: Environment<'t>,
    known: RefCell<Option<(Answer<Value<'t>>, Depends, Versions)>>,
}

pub(super) enum Rule<'t> {
    /// Taken apart when it is first asked for: most of the prelude never is.
    Expression(Text<'t>, OnceCell<Parts<'t>>),
    /// All values of a recursive group, as a tuple in the order of its bindings.
    Group(&'t [Binding]),
    Element(Rc<Lazy<'t>>, usize, Span),
}

/// Operators keep their operands apart, so that an operand that looks at fewer choices is computed less often.
pub(super) enum Parts<'t> {
    Whole,
    /// A name that stands for another binding: what it stands for where it is does not change.
    Same(Rc<Lazy<'t>>),
    Identity(Rc<Lazy<'t>>, Span),
    Unary(UnaryOperator, Rc<Lazy<'t>>, Span),
    Binary(BinaryOperator, [(Rc<Lazy<'t>>, Span); 2]),
}

impl<'t> Environment<'t> {
    pub(super) fn with(&self, name: &'t str, slot: Slot<'t>) -> Environment<'t> {
        let begins = beginning(name);
        let (count, marks, beyond, names) = match &self.0 {
            Some(frame) if frame.count < BLOCK => {
                (frame.count + 1, frame.marks | mark(begins), frame.beyond.clone(), Rc::clone(&frame.names))
            }
            _ => (1, mark(begins), self.clone(), Rc::new(self.names())),
        };
        Environment(Some(Rc::new(Frame { name, begins, slot, outer: self.clone(), count, marks, beyond, names })))
    }

    /// All names that are bound.
    fn names(&self) -> Names {
        let Some(frame) = &self.0 else { return Names([0; 32]) };
        let (mut names, mut at) = (*frame.names, Some(frame));
        for _ in 0..frame.count {
            let Some(frame) = at else { break };
            names = names.with(frame.begins);
            at = frame.outer.0.as_ref();
        }
        names
    }

    fn find(&self, name: &str) -> Option<&Slot<'t>> {
        let begins = beginning(name);
        let first = self.0.as_ref()?;
        if first.marks & mark(begins) == 0 && !first.names.may_have(begins) {
            return None;
        }
        let mark = mark(begins);
        let mut at = &self.0;
        while let Some(frame) = at {
            if frame.marks & mark == 0 {
                at = &frame.beyond.0;
                continue;
            }
            if frame.begins == begins && frame.name == name {
                return Some(&frame.slot);
            }
            at = &frame.outer.0;
        }
        None
    }
}

impl<'t> Lazy<'t> {
    pub(super) fn new(rule: Rule<'t>, environment: &Environment<'t>) -> Rc<Lazy<'t>> {
        Rc::new(Lazy { rule, environment: environment.clone(), known: RefCell::default() })
    }

    /// The value of an expression, each operator of it kept by itself.
    pub(super) fn expression(tree: &'t Tree, environment: &Environment<'t>) -> Rc<Lazy<'t>> {
        Lazy::new(Rule::Expression(Text::Tree(tree), OnceCell::new()), environment)
    }

    /// The same of a definition, which is read when its value is asked for.
    pub(super) fn definition(late: &'t Late<Tree>, environment: &Environment<'t>) -> Rc<Lazy<'t>> {
        Lazy::new(Rule::Expression(Text::Defined(late), OnceCell::new()), environment)
    }
}

impl<'t> Parts<'t> {
    fn new(tree: &'t Tree, environment: &Environment<'t>) -> Parts<'t> {
        let part = |tree: &'t Tree| (Lazy::expression(tree, environment), tree.span);
        match &tree.node {
            Expression::Name(name) => match environment.find(name) {
                Some(Slot::Lazy(lazy)) => Parts::Same(Rc::clone(lazy)),
                Some(Slot::Value(_) | Slot::Base) | None => Parts::Whole,
            },
            Expression::Identity(inner) => Parts::Identity(part(inner).0, inner.span),
            Expression::Unary(operator, inner) => Parts::Unary(*operator, part(inner).0, inner.span),
            Expression::Binary(operator, operands) if *operator != BinaryOperator::Insert => {
                Parts::Binary(*operator, operands.each_ref().map(part))
            }
            _ => Parts::Whole,
        }
    }
}

pub(super) fn error(span: Span, kind: ReplayErrorKind) -> ReplayError {
    ReplayError { kind, span }
}

fn unsupported<T>(span: Span, what: &str) -> Answer<T> {
    Err(error(span, ReplayErrorKind::Unsupported(what.to_string())))
}

/// Which values are kept for the next execution.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// Those of names: little is kept, for a few executions.
    Names,
    /// Those of all operators too, for the oracle's thousands.
    Operators,
}

/// Which operands of an operator are looked at.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Operands {
    All,
    /// Not the second where the first is empty and decides. What a check looks at is then another matter in each execution.
    Needed,
}

pub(super) struct Interpreter<'t> {
    pub(super) candidate: Candidate<'t>,
    variants: Rc<Variants>,
    kept: Kept,
    /// Which operands are looked at.
    operands: Cell<Operands>,
    /// The names of `prelude` that were used.
    predefined: RefCell<Vec<(&'t str, Slot<'t>)>>,
    /// What the evaluation in progress has looked at.
    touched: Cell<Depends>,
    depth: Cell<u32>,
    /// Evaluations until the watch is asked again.
    patience: Cell<u32>,
    pub(super) watch: Watch<'t>,
}

impl<'t> Interpreter<'t> {
    pub(super) fn new(candidate: Candidate<'t>, variants: Rc<Variants>, kept: Kept) -> Interpreter<'t> {
        let predefined = RefCell::default();
        let (touched, depth, patience, watch) = (Cell::default(), Cell::new(0), Cell::new(0), Watch::default());
        let operands = Cell::new(Operands::All);
        Interpreter { candidate, variants, kept, operands, predefined, touched, depth, patience, watch }
    }

    pub(super) fn look_at(&self, operands: Operands) {
        self.operands.set(operands);
    }

    /// A name that every model can use; it stands for the same wherever it is used.
    fn predefined(&self, name: &str) -> Option<Slot<'t>> {
        let known = |(known, _): &&(&'t str, Slot<'t>)| *known == name;
        if let Some((_, slot)) = self.predefined.borrow().iter().find(known) {
            return Some(slot.clone());
        }
        let bindings = prelude::bindings(name)?;
        let (name, slot) = match bindings.first()? {
            Binding { pattern: BindingPattern::Function { name, parameters }, value } => {
                let closure =
                    Closure { parameters, body: Text::Defined(value), environment: Environment::default(), group: &[] };
                (name, Slot::Value(Ok(Value::Function(Rc::new(closure)))))
            }
            Binding { pattern: BindingPattern::Name(name), value } => {
                (name, Slot::Lazy(Lazy::definition(value, &Environment::default())))
            }
            Binding { pattern: BindingPattern::Tuple(_), .. } => return None,
        };
        self.predefined.borrow_mut().push((&name.node, slot.clone()));
        Some(slot)
    }

    /// The value of a lazy binding and what it depends on.
    pub(super) fn force(&self, lazy: &Lazy<'t>) -> (Answer<Value<'t>>, Depends) {
        let now = self.candidate.versions();
        if let Some((value, depends, then)) = &*lazy.known.borrow()
            && then.agree(&now, *depends)
        {
            self.touch(*depends);
            return (value.clone(), *depends);
        }
        let outside = self.touched.replace(Depends::default());
        let value = match &lazy.rule {
            Rule::Expression(text, _) if self.kept == Kept::Names => self.evaluate(text.tree(), &lazy.environment),
            Rule::Expression(text, parts) => match parts.get_or_init(|| Parts::new(text.tree(), &lazy.environment)) {
                Parts::Whole => self.evaluate(text.tree(), &lazy.environment),
                Parts::Same(lazy) => self.force(lazy).0,
                Parts::Identity(inner, span) => self.force(inner).0.and_then(|value| identity(value, *span)),
                Parts::Unary(operator, inner, span) => {
                    self.force(inner).0.and_then(|value| self.unary(*operator, value, *span))
                }
                Parts::Binary(operator, [(left, at), (right, to)]) => {
                    self.force(left).0.and_then(|a| binary(*operator, (a, *at), (self.force(right).0?, *to)))
                }
            },
            Rule::Group(bindings) => self.fixpoint(bindings, &lazy.environment).map(|all| Value::Tuple(Rc::new(all))),
            Rule::Element(tuple, index, span) => self.force(tuple).0.and_then(|value| element(&value, *index, *span)),
        };
        let depends = self.touched.replace(outside);
        self.touch(depends);
        lazy.known.replace(Some((value.clone(), depends, now)));
        (value, depends)
    }

    fn touch(&self, depends: Depends) {
        self.touched.set(self.touched.get().and(depends));
    }

    fn name(&self, name: &'t str, span: Span, environment: &Environment<'t>) -> Answer<Value<'t>> {
        match environment.find(name) {
            Some(Slot::Value(value)) => return value.clone(),
            Some(Slot::Lazy(lazy)) => return self.force(lazy).0,
            Some(Slot::Base) => {}
            None => {
                if let Some(value) = self.candidate.known(name) {
                    self.touch(Depends::TRACES);
                    return Ok(value.into());
                }
                match self.predefined(name) {
                    Some(Slot::Value(value)) => return value,
                    Some(Slot::Lazy(lazy)) => return self.force(&lazy).0,
                    Some(Slot::Base) | None => {}
                }
            }
        }
        match name {
            "domain" => return Ok(Value::Primitive(Primitive::Domain)),
            "range" => return Ok(Value::Primitive(Primitive::Range)),
            _ => {}
        }
        let Some((value, depends)) = self.candidate.lookup(name) else {
            return Err(error(span, ReplayErrorKind::Unbound(name.to_string())));
        };
        self.touch(depends);
        Ok(value.into())
    }

    /// Why the watch ended the evaluation.
    pub(super) fn out_of_limits(&self, span: Span) -> ReplayError {
        error(span, ReplayErrorKind::Limit(self.watch.ended().unwrap_or(Stop::Time)))
    }

    /// Whether the watch ends the evaluation: asked now and then where operators are quick, else each time.
    fn gives_up(&self) -> bool {
        const SELDOM: u32 = 64;
        const FEW_EVENTS: usize = 64;
        match self.patience.get().checked_sub(1) {
            Some(left) => {
                self.patience.set(left);
                false
            }
            None => {
                self.patience.set(if self.candidate.size() > FEW_EVENTS { 0 } else { SELDOM });
                self.watch.is_over()
            }
        }
    }

    pub(super) fn evaluate(&self, tree: &'t Tree, environment: &Environment<'t>) -> Answer<Value<'t>> {
        if self.gives_up() {
            return Err(self.out_of_limits(tree.span));
        }
        match &tree.node {
            Expression::Empty => Ok(Value::Empty),
            Expression::Universe => Ok(Value::Events(self.candidate.universe())),
            Expression::Name(name) => self.name(name, tree.span, environment),
            Expression::Set(items) if items.is_empty() => Ok(Value::Empty),
            Expression::Tuple(items) => {
                let values: Answer<Vec<_>> = items.iter().map(|item| self.evaluate(item, environment)).collect();
                values.map(|values| Value::Tuple(Rc::new(values)))
            }
            Expression::Identity(inner) => identity(self.evaluate(inner, environment)?, inner.span),
            Expression::Unary(operator, inner) => {
                let value = self.evaluate(inner, environment)?;
                self.unary(*operator, value, inner.span)
            }
            Expression::Binary(BinaryOperator::Insert, ..) => unsupported(tree.span, "`++`"),
            Expression::Binary(operator, operands) => {
                let [left, right] = &**operands;
                let a = self.evaluate(left, environment)?;
                if self.operands.get() == Operands::Needed
                    && let Some(decided) = decided_by_empty(*operator, &a)
                {
                    return Ok(decided);
                }
                let b = self.evaluate(right, environment)?;
                binary(*operator, (a, left.span), (b, right.span))
            }
            Expression::Apply { function, argument } => {
                let callee = self.evaluate(function, environment)?;
                let argument_value = self.evaluate(argument, environment)?;
                self.apply(callee, argument_value, tree.span, argument.span)
            }
            Expression::Function { parameters, body } => {
                let (body, environment) = (Text::Tree(body), environment.clone());
                Ok(Value::Function(Rc::new(Closure { parameters, body, environment, group: &[] })))
            }
            Expression::Let { recursive, bindings, body } => {
                let inner = self.bind_values(*recursive, bindings, environment)?;
                self.evaluate(body, &inner)
            }
            Expression::Try { body, fallback } => {
                self.evaluate(body, environment).or_else(|_| self.evaluate(fallback, environment))
            }
            Expression::If { condition, then, otherwise } => {
                let chosen = if self.condition(condition, environment)? { then } else { otherwise };
                self.evaluate(chosen, environment)
            }
            Expression::Tag(_) | Expression::MatchTags { .. } => unsupported(tree.span, "an enumeration"),
            Expression::Set(_) | Expression::MatchSet { .. } => unsupported(tree.span, "a set of values"),
        }
    }

    fn condition(&self, tree: &'t Spanned<ConditionExpression>, environment: &Environment<'t>) -> Answer<bool> {
        match &tree.node {
            ConditionExpression::Equal(left, right) => {
                let (left, right) = (self.evaluate(left, environment)?, self.evaluate(right, environment)?);
                same(&left, &right).ok_or_else(|| error(tree.span, ReplayErrorKind::Type("comparable values")))
            }
            ConditionExpression::Subset(left, right) => {
                let (a, b) = (self.evaluate(left, environment)?, self.evaluate(right, environment)?);
                match (a, b) {
                    (Value::Empty, _) => Ok(true),
                    (Value::Events(a), Value::Events(b)) => Ok(a.is_subset(&b)),
                    (Value::Pairs(a), Value::Pairs(b)) => Ok(a.is_subset(&b)),
                    (Value::Events(a), Value::Empty) => Ok(a.is_empty()),
                    (Value::Pairs(a), Value::Empty) => Ok(a.is_empty()),
                    _ => Err(error(tree.span, ReplayErrorKind::Type("two sets or two relations"))),
                }
            }
            ConditionExpression::In(..) => unsupported(tree.span, "`in`"),
            ConditionExpression::Variant(condition) => Ok(self.variants.holds(condition)),
        }
    }

    fn apply(&self, callee: Value<'t>, argument: Value<'t>, span: Span, at: Span) -> Answer<Value<'t>> {
        let closure = match callee {
            Value::Primitive(primitive) => {
                let relation = pairs(argument, at)?;
                let project = match primitive {
                    Primitive::Domain => operators::domain,
                    Primitive::Range => operators::range,
                };
                return Ok(Value::Events(Rc::new(project(&relation))));
            }
            Value::Function(closure) => closure,
            _ => return Err(error(span, ReplayErrorKind::Type("a function"))),
        };
        if self.depth.get() >= MAX_DEPTH {
            return Err(error(span, ReplayErrorKind::Depth));
        }
        let mut inner = with_functions(&closure.environment, closure.group, closure.group);
        inner = bind_patterns(&inner, closure.parameters, argument, at)?;
        self.depth.set(self.depth.get() + 1);
        let result = self.evaluate(closure.body.tree(), &inner);
        self.depth.set(self.depth.get() - 1);
        result
    }

    fn unary(&self, operator: UnaryOperator, value: Value<'t>, span: Span) -> Answer<Value<'t>> {
        let reflexive = || operators::identity(&self.candidate.universe());
        let relation = match (operator, value) {
            (UnaryOperator::Complement, Value::Events(set)) => {
                return Ok(Value::Events(Rc::new(self.candidate.universe().minus(&set))));
            }
            (UnaryOperator::Complement, Value::Pairs(relation)) => {
                let all = operators::product(&self.candidate.universe(), &self.candidate.universe());
                all.minus(&relation)
            }
            (UnaryOperator::Complement, _) => {
                return Err(error(span, ReplayErrorKind::Type("a set or a relation")));
            }
            (UnaryOperator::Inverse, value) => operators::inverse(&*pairs(value, span)?),
            (UnaryOperator::Plus, value) => operators::plus(&*pairs(value, span)?),
            (UnaryOperator::Star, value) => operators::plus(&*pairs(value, span)?).or(&reflexive()),
            (UnaryOperator::Optional, value) => pairs(value, span)?.or(&reflexive()),
        };
        Ok(Value::Pairs(Rc::new(relation)))
    }

    /// The bindings of a `let … in`.
    fn bind_values(
        &self,
        recursive: bool,
        bindings: &'t [Binding],
        environment: &Environment<'t>,
    ) -> Answer<Environment<'t>> {
        if recursive {
            let values = self.fixpoint(bindings, environment)?;
            let mut inner = environment.clone();
            for (binding, value) in bindings.iter().zip(values) {
                inner = bind_one(&inner, &binding.pattern, Ok(value), binding.value.span)?;
            }
            return Ok(inner);
        }
        let mut inner = with_functions(environment, bindings, &[]);
        for binding in bindings {
            if !matches!(binding.pattern, BindingPattern::Function { .. }) {
                let value = self.evaluate(&binding.value, environment);
                inner = bind_one(&inner, &binding.pattern, value, binding.value.span)?;
            }
        }
        Ok(inner)
    }

    /// The least fixed point: all variables empty, then all bodies at once, until nothing changes.
    fn fixpoint(&self, bindings: &'t [Binding], environment: &Environment<'t>) -> Answer<Vec<Value<'t>>> {
        let mut values = vec![Value::Empty; bindings.len()];
        for _ in 0..MAX_ROUNDS {
            let mut inner = environment.clone();
            for (binding, value) in bindings.iter().zip(&values) {
                if let BindingPattern::Name(name) = &binding.pattern {
                    inner = inner.with(&name.node, Slot::Value(Ok(value.clone())));
                }
            }
            let inner = with_functions(&inner, bindings, bindings);
            let mut settled = true;
            let mut next = Vec::with_capacity(bindings.len());
            for (binding, old) in bindings.iter().zip(&values) {
                next.push(match &binding.pattern {
                    BindingPattern::Function { name, .. } => self.name(&name.node, name.span, &inner)?,
                    BindingPattern::Name(_) => {
                        let new = self.evaluate(&binding.value, &inner)?;
                        settled &= same(old, &new)
                            .ok_or_else(|| error(binding.value.span, ReplayErrorKind::Type("a set or a relation")))?;
                        new
                    }
                    BindingPattern::Tuple(_) => return unsupported(binding.value.span, "a recursive tuple"),
                });
            }
            if settled {
                return Ok(next);
            }
            values = next;
        }
        let span = bindings.first().map_or(Span::default(), |binding| binding.value.span);
        Err(error(span, ReplayErrorKind::NoFixpoint))
    }
}

/// Binds the functions among `bindings` to closures of `environment`; `group` is what they may call recursively.
pub(super) fn with_functions<'t>(
    environment: &Environment<'t>,
    bindings: &'t [Binding],
    group: &'t [Binding],
) -> Environment<'t> {
    let mut inner = environment.clone();
    for binding in bindings {
        if let BindingPattern::Function { name, parameters } = &binding.pattern {
            let closure =
                Closure { parameters, body: Text::Defined(&binding.value), environment: environment.clone(), group };
            inner = inner.with(&name.node, Slot::Value(Ok(Value::Function(Rc::new(closure)))));
        }
    }
    inner
}

fn bind_one<'t>(
    environment: &Environment<'t>,
    pattern: &'t BindingPattern,
    value: Answer<Value<'t>>,
    span: Span,
) -> Answer<Environment<'t>> {
    match pattern {
        BindingPattern::Name(name) | BindingPattern::Function { name, .. } => {
            Ok(environment.with(&name.node, Slot::Value(value)))
        }
        BindingPattern::Tuple(patterns) => bind_patterns(environment, patterns, value?, span),
    }
}

/// One pattern takes the value itself, several take the elements of a tuple.
fn bind_patterns<'t>(
    environment: &Environment<'t>,
    patterns: &'t [Pattern],
    value: Value<'t>,
    span: Span,
) -> Answer<Environment<'t>> {
    let values = match (patterns.len(), value) {
        (1, value) => vec![value],
        (count, Value::Tuple(items)) if items.len() == count => items.to_vec(),
        _ => return Err(error(span, ReplayErrorKind::Type("a tuple with as many elements as there are names"))),
    };
    let mut inner = environment.clone();
    for (pattern, value) in patterns.iter().zip(values) {
        if let Pattern::Name(name) = pattern {
            inner = inner.with(&name.node, Slot::Value(Ok(value)));
        }
    }
    Ok(inner)
}

/// `[S]`.
fn identity<'t>(set: Value<'t>, span: Span) -> Answer<Value<'t>> {
    Ok(Value::Pairs(Rc::new(operators::identity(&*events(set, span)?))))
}

fn element<'t>(value: &Value<'t>, index: usize, span: Span) -> Answer<Value<'t>> {
    let found = match value {
        Value::Tuple(items) => items.get(index).cloned(),
        _ => None,
    };
    found.ok_or_else(|| error(span, ReplayErrorKind::Type("a tuple with as many elements as there are names")))
}

pub(super) fn events(value: Value<'_>, span: Span) -> Answer<Rc<Events>> {
    match value {
        Value::Empty => Ok(Rc::default()),
        Value::Events(events) => Ok(events),
        _ => Err(error(span, ReplayErrorKind::Type("a set of events"))),
    }
}

pub(super) fn pairs(value: Value<'_>, span: Span) -> Answer<Rc<Pairs>> {
    match value {
        Value::Empty => Ok(Rc::default()),
        Value::Pairs(pairs) => Ok(pairs),
        _ => Err(error(span, ReplayErrorKind::Type("a relation"))),
    }
}

fn binary<'t>(operator: BinaryOperator, (a, at): (Value<'t>, Span), (b, to): (Value<'t>, Span)) -> Answer<Value<'t>> {
    if let BinaryOperator::Sequence = operator {
        let (a, b) = (pairs(a, at)?, pairs(b, to)?);
        return Ok(Value::Pairs(match (a.is_empty(), b.is_empty()) {
            (true, _) => a,
            (_, true) => b,
            _ => Rc::new(operators::sequence(&a, &b)),
        }));
    }
    if let BinaryOperator::Product = operator {
        return Ok(Value::Pairs(Rc::new(operators::product(&*events(a, at)?, &*events(b, to)?))));
    }
    match (a, b) {
        (Value::Empty, Value::Empty) => Ok(Value::Empty),
        (Value::Events(a), b) => Ok(combine(operator, a, events(b, to)?, Value::Events)),
        (a, Value::Events(b)) => Ok(combine(operator, events(a, at)?, b, Value::Events)),
        (a, b) => Ok(combine(operator, pairs(a, at)?, pairs(b, to)?, Value::Pairs)),
    }
}

/// What an operator makes of an empty first operand, whatever the second is. `0` is a set or a relation as the second has it.
fn decided_by_empty<'t>(operator: BinaryOperator, first: &Value<'t>) -> Option<Value<'t>> {
    let is_empty = match first {
        Value::Events(set) => set.is_empty(),
        Value::Pairs(relation) => relation.is_empty(),
        _ => false,
    };
    match (operator, first) {
        _ if !is_empty => None,
        (BinaryOperator::Intersection | BinaryOperator::Difference, _) => Some(first.clone()),
        (BinaryOperator::Sequence, Value::Pairs(_)) => Some(first.clone()),
        (BinaryOperator::Product, Value::Events(_)) => Some(Value::Pairs(Rc::default())),
        _ => None,
    }
}

/// Where an operand is empty, nothing is computed: in a small test most are.
fn combine<'t, K: Ord + Copy>(
    operator: BinaryOperator,
    left: Rc<Blocks<K>>,
    right: Rc<Blocks<K>>,
    wrap: fn(Rc<Blocks<K>>) -> Value<'t>,
) -> Value<'t> {
    wrap(match (operator, left.is_empty(), right.is_empty()) {
        (BinaryOperator::Intersection | BinaryOperator::Difference, true, _) => left,
        (BinaryOperator::Intersection, _, true) => right,
        (BinaryOperator::Intersection, ..) => Rc::new(left.and(&right)),
        (BinaryOperator::Difference, _, true) => left,
        (BinaryOperator::Difference, ..) => Rc::new(left.minus(&right)),
        (_, true, _) => right,
        (_, _, true) => left,
        _ => Rc::new(left.or(&right)),
    })
}

/// None for values that cannot be compared (functions).
fn same(left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
    match (left, right) {
        (Value::Empty, Value::Empty) => Some(true),
        (Value::Empty, Value::Events(set)) | (Value::Events(set), Value::Empty) => Some(set.is_empty()),
        (Value::Empty, Value::Pairs(relation)) | (Value::Pairs(relation), Value::Empty) => Some(relation.is_empty()),
        (Value::Events(a), Value::Events(b)) => Some(a == b),
        (Value::Pairs(a), Value::Pairs(b)) => Some(a == b),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_empty_operand_decides_is_what_the_operator_makes_of_both() {
        let (set, pairs): (Events, Pairs) = ([1, 2].into_iter().collect(), [(1, 2)].into_iter().collect());
        let (no_set, no_pairs) = (Value::Events(Rc::default()), Value::Pairs(Rc::default()));
        let (set, pairs) = (Value::Events(Rc::new(set)), Value::Pairs(Rc::new(pairs)));
        let at = Span::default();
        let mut decided = 0;
        for operator in [
            BinaryOperator::Union,
            BinaryOperator::Intersection,
            BinaryOperator::Difference,
            BinaryOperator::Sequence,
            BinaryOperator::Product,
        ] {
            for (first, second) in [(&no_set, &set), (&no_pairs, &pairs), (&set, &no_set), (&pairs, &no_pairs)] {
                let Some(early) = decided_by_empty(operator, first) else { continue };
                let Ok(both) = binary(operator, (first.clone(), at), (second.clone(), at)) else {
                    panic!("{operator:?} takes these operands");
                };
                assert_eq!(same(&early, &both), Some(true), "{operator:?}");
                assert_eq!(matches!(early, Value::Pairs(_)), matches!(both, Value::Pairs(_)), "{operator:?}");
                decided += 1;
            }
        }
        // Both of sets and of relations, and one each.
        assert_eq!(decided, 6);
        assert!(decided_by_empty(BinaryOperator::Intersection, &Value::Empty).is_none());
    }

    #[test]
    fn names_are_found_across_blocks_and_the_innermost_hides_the_others() {
        let names: Vec<String> = (0..100).map(|number| format!("relation-{number}")).collect();
        let value = || Slot::Value(Ok(Value::Empty));
        let outer = names.iter().fold(Environment::default(), |all, name| all.with(name, value()));
        let is_base = |environment: &Environment<'_>, name: &str| match environment.find(name) {
            Some(Slot::Base) => Some(true),
            Some(Slot::Value(_) | Slot::Lazy(_)) => Some(false),
            None => None,
        };
        assert!(names.iter().all(|name| is_base(&outer, name) == Some(false)));
        assert_eq!((is_base(&outer, "relation-100"), is_base(&outer, "po")), (None, None));
        for name in &names {
            let inner = outer.with(name, Slot::Base).with("po", value());
            let found = |other: &String| is_base(&inner, other) == Some(other == name);
            assert!(names.iter().all(found) && is_base(&inner, "po") == Some(false));
        }
    }
}
