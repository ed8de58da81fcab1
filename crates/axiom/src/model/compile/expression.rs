//! Expressions to values: operators become nodes, functions are expanded, types are checked at the operator.

use std::rc::Rc;

use fencepost_syntax::cat::{
    BinaryOperator, ConditionExpression, Expression, Pattern, SetClauses, UnaryOperator, VariantCondition,
};
use fencepost_syntax::suggest::nearest;
use fencepost_syntax::{Span, Spanned};

use crate::model::compile::Compiler;
use crate::model::compile::graph::Place;
use crate::model::compile::value::{Closure, Environment, Evaluated, Trouble, TroubleKind, Value};
use crate::model::ir::{BaseRelation, BaseSet, NodeId, NodeKind, Operator};
use crate::model::vocabulary::names::{self, Primitive};

/// How deep expansion may nest, in expressions: a non-terminating recursive function ends here.
const MAX_DEPTH: u32 = 1_000;
/// How many expressions one model may evaluate: macros can double at each step.
const MAX_STEPS: u64 = 2_000_000;
/// How many nodes one model may have.
const MAX_NODES: usize = 200_000;

impl Compiler<'_> {
    pub(crate) fn place(&self, span: Span) -> Place {
        Place { file: self.file, span }
    }

    pub(crate) fn trouble<T>(&self, span: Span, message: impl Into<String>, label: &str) -> Evaluated<T> {
        Err(Rc::new(Trouble::new(self.place(span), message, label)))
    }

    pub(crate) fn refuse<T>(&self, span: Span, what: &str) -> Evaluated<T> {
        self.trouble(span, format!("{what} is not supported"), "not supported")
    }

    pub(crate) fn evaluate(&mut self, expression: &Spanned<Expression>, environment: Environment) -> Evaluated<Value> {
        self.depth += 1;
        self.steps += 1;
        let value = if self.depth > MAX_DEPTH || self.steps > MAX_STEPS || self.graph.nodes.len() > MAX_NODES {
            let place = self.place(expression.span);
            let trouble = Trouble::new(place, "the expansion of functions does not end here", "too deep or too large");
            Err(Rc::new(trouble.kind(TroubleKind::Limit)))
        } else {
            self.evaluate_inner(expression, environment)
        };
        self.depth -= 1;
        value
    }

    fn evaluate_inner(&mut self, expression: &Spanned<Expression>, environment: Environment) -> Evaluated<Value> {
        let span = expression.span;
        match &expression.node {
            Expression::Empty => Ok(Value::Empty),
            Expression::Universe => Ok(Value::Set(self.base_set(BaseSet::Universe, span))),
            Expression::Name(name) => self.lookup(name, span, environment),
            Expression::Tag(tag) => self.refuse(span, &format!("the tag `'{tag}`")),
            Expression::Set(elements) => self.set_literal(elements, span, environment),
            Expression::Tuple(elements) => {
                let values = elements.iter().map(|element| self.evaluate(element, environment));
                Ok(Value::Tuple(values.collect::<Evaluated<Vec<Value>>>()?))
            }
            Expression::Identity(set) => {
                let value = self.evaluate(set, environment)?;
                let set = self.as_set(value, set.span, "`[…]` makes a relation of a set")?;
                Ok(self.relation(Operator::Identity(set), span))
            }
            Expression::Unary(operator, operand) => {
                let value = self.evaluate(operand, environment)?;
                self.unary(*operator, value, operand.span, span)
            }
            Expression::Binary(operator, operands) => {
                let [left, right] = &**operands;
                let first = self.evaluate(left, environment)?;
                let second = self.evaluate(right, environment)?;
                self.binary(*operator, first, second, span)
            }
            Expression::Apply { function, argument } => {
                let function_value = self.evaluate(function, environment)?;
                let argument = self.evaluate(argument, environment)?;
                self.apply(function_value, argument, span)
            }
            Expression::Function { parameters, body } => Ok(Value::Function(Rc::new(Closure {
                name: "fun".to_owned(),
                parameters: parameters.clone(),
                body: (**body).clone(),
                environment,
                file: self.file,
            }))),
            Expression::Let { recursive, bindings, body } => {
                let inner = self.define(*recursive, bindings, span, environment)?;
                self.evaluate(body, inner)
            }
            other => self.evaluate_choice(other, span, environment),
        }
    }

    /// The expressions that choose between others.
    fn evaluate_choice(&mut self, expression: &Expression, span: Span, environment: Environment) -> Evaluated<Value> {
        match expression {
            Expression::Try { body, fallback } => match self.evaluate(body, environment) {
                Err(trouble) if trouble.kind != TroubleKind::Limit => self.evaluate(fallback, environment),
                value => value,
            },
            Expression::If { condition, then, otherwise } => match &condition.node {
                ConditionExpression::Variant(variant) if self.holds(variant) => self.evaluate(then, environment),
                ConditionExpression::Variant(_) => self.evaluate(otherwise, environment),
                _ => self.refuse(condition.span, "a comparison of sets or relations in `if`"),
            },
            Expression::MatchSet { scrutinee, clauses } => {
                let SetClauses { empty, before, element, rest, step } = &**clauses;
                if before.is_some() {
                    return self.refuse(span, "matching a set in three parts");
                }
                match self.evaluate(scrutinee, environment)? {
                    Value::Empty => self.evaluate(empty, environment),
                    Value::Collection(values) => match values.split_first() {
                        None => self.evaluate(empty, environment),
                        Some((first, others)) => {
                            let inner = self.bind_pattern(environment, element, first.clone());
                            let inner = self.bind_pattern(inner, rest, Value::Collection(others.to_vec()));
                            self.evaluate(step, inner)
                        }
                    },
                    value => {
                        let what = format!("matching on the elements of {}", value.type_name());
                        self.refuse(scrutinee.span, &what)
                    }
                }
            }
            _ => self.refuse(span, "matching on tags"),
        }
    }

    pub(crate) fn holds(&self, condition: &VariantCondition) -> bool {
        match condition {
            VariantCondition::Name(name) => self.options.variants.contains(name),
            VariantCondition::Not(inner) => !self.holds(inner),
            VariantCondition::And(a, b) => self.holds(a) && self.holds(b),
            VariantCondition::Or(a, b) => self.holds(a) || self.holds(b),
        }
    }

    fn lookup(&mut self, name: &str, span: Span, environment: Environment) -> Evaluated<Value> {
        match self.bindings.get(environment, name) {
            Some(Ok(Value::Suspended(suspended))) if self.sample.is_some() => {
                let suspended = Rc::clone(suspended);
                let file = std::mem::replace(&mut self.file, suspended.file);
                let value = self.evaluate(&suspended.expression, suspended.environment);
                self.file = file;
                return value;
            }
            Some(Ok(Value::Suspended(_))) => return self.needs_sample(span),
            Some(value) => return value.clone(),
            None => {}
        }
        if let Some(operator) = names::base(name) {
            return Ok(self.value(operator, span));
        }
        if let Some(primitive) = names::primitive(name) {
            return Ok(Value::Primitive(primitive));
        }
        if let Some(tool) = names::elsewhere(name) {
            let message = format!("`{name}`, which {tool} predefines, is not supported");
            let trouble = Trouble::new(self.place(span), message, "not supported");
            return Err(Rc::new(trouble.help("no instruction that can be read here makes such events")));
        }
        let mut trouble = Trouble::new(self.place(span), format!("unknown name `{name}`"), "not defined here");
        if let Some(near) = self.nearest(name, environment) {
            trouble = trouble.help(format!("did you mean `{near}`?"));
        }
        Err(Rc::new(trouble))
    }

    pub(crate) fn needs_sample<T>(&self, span: Span) -> Evaluated<T> {
        let message = "sets of sets or of orders are not supported outside `with … from`";
        let trouble = Trouble::new(self.place(span), message, "not supported");
        Err(Rc::new(trouble.kind(TroubleKind::NeedsSample)))
    }

    /// A visible name that differs in letter case or in `-` for `_` only, or else by a slip; names of one or two letters
    /// are a slip from too many others.
    fn nearest(&self, name: &str, environment: Environment) -> Option<String> {
        let plain = |name: &str| name.to_lowercase().replace(['-', '_', '.'], "");
        let wanted = plain(name);
        let respelt = self.bindings.names(environment).find(|near| plain(near) == wanted);
        let slip = || {
            let names: Vec<&str> = self.bindings.names(environment).collect();
            nearest(name, &names).filter(|_| name.len() > 2)
        };
        respelt.or_else(slip).map(str::to_owned)
    }

    fn set_literal(
        &mut self,
        elements: &[Spanned<Expression>],
        span: Span,
        environment: Environment,
    ) -> Evaluated<Value> {
        let mut collection = Vec::new();
        for element in elements.iter().rev() {
            let value = self.evaluate(element, environment)?;
            collection = self.insert(value, collection, span)?;
        }
        Ok(if collection.is_empty() { Value::Empty } else { Value::Collection(collection) })
    }

    pub(crate) fn bind_pattern(&mut self, environment: Environment, pattern: &Pattern, value: Value) -> Environment {
        match pattern {
            Pattern::Name(name) => self.bindings.bind(environment, &name.node, Ok(value)),
            Pattern::Ignore => environment,
        }
    }

    pub(crate) fn bind_parameters(
        &mut self,
        environment: Environment,
        name: &str,
        parameters: &[Pattern],
        argument: Value,
        span: Span,
    ) -> Evaluated<Environment> {
        if let [parameter] = parameters {
            return Ok(self.bind_pattern(environment, parameter, argument));
        }
        let arguments = match argument {
            Value::Tuple(arguments) => arguments,
            other => vec![other],
        };
        if arguments.len() != parameters.len() {
            let message = format!("`{name}` takes {} arguments, not {}", parameters.len(), arguments.len());
            return self.trouble(span, message, "wrong number of arguments");
        }
        let pairs = parameters.iter().zip(arguments);
        Ok(pairs.fold(environment, |inner, (parameter, value)| self.bind_pattern(inner, parameter, value)))
    }

    fn apply(&mut self, function: Value, argument: Value, span: Span) -> Evaluated<Value> {
        match function {
            Value::Function(closure) => {
                let on = closure.environment;
                let inner = self.bind_parameters(on, &closure.name, &closure.parameters, argument, span)?;
                let file = std::mem::replace(&mut self.file, closure.file);
                self.nesting += 1;
                let value = self.evaluate(&closure.body, inner);
                self.nesting -= 1;
                self.file = file;
                value
            }
            Value::Primitive(Primitive::Domain) => {
                let relation = self.as_relation(argument, span, "`domain` takes a relation")?;
                Ok(self.value(Operator::Domain(relation), span))
            }
            Value::Primitive(Primitive::Range) => {
                let relation = self.as_relation(argument, span, "`range` takes a relation")?;
                Ok(self.value(Operator::Range(relation), span))
            }
            Value::Primitive(Primitive::ClassesLoc) => self.classes(argument, span),
            Value::Primitive(Primitive::Linearisations) => self.linearisations(argument, span),
            Value::Primitive(Primitive::Unsupported(name)) => self.refuse(span, &format!("the function `{name}`")),
            other => {
                let message = format!("{} cannot be applied: only functions can", other.type_name());
                self.trouble(span, message, "no function")
            }
        }
    }

    fn unary(&mut self, operator: UnaryOperator, value: Value, operand: Span, span: Span) -> Evaluated<Value> {
        if operator == UnaryOperator::Complement {
            return match value {
                Value::Empty => Ok(Value::Full),
                Value::Full => Ok(Value::Empty),
                Value::Set(set) => Ok(self.value(Operator::SetComplement(set), span)),
                other => {
                    let relation = self.as_relation(other, operand, "`~` takes a set or a relation")?;
                    Ok(self.relation(Operator::Complement(relation), span))
                }
            };
        }
        let what = match operator {
            UnaryOperator::Inverse => "`^-1` takes a relation",
            UnaryOperator::Plus => "`+` takes a relation",
            UnaryOperator::Star => "`*` takes a relation",
            _ => "`?` takes a relation",
        };
        if matches!((&value, operator), (Value::Empty, UnaryOperator::Inverse | UnaryOperator::Plus)) {
            return Ok(Value::Empty);
        }
        let relation = self.as_relation(value, operand, what)?;
        let operator = match operator {
            UnaryOperator::Inverse => Operator::Inverse(relation),
            UnaryOperator::Plus => Operator::Plus(relation),
            UnaryOperator::Star => Operator::Star(relation),
            UnaryOperator::Optional | UnaryOperator::Complement => Operator::Optional(relation),
        };
        Ok(self.relation(operator, span))
    }

    fn binary(&mut self, operator: BinaryOperator, left: Value, right: Value, span: Span) -> Evaluated<Value> {
        match operator {
            BinaryOperator::Sequence => {
                let left = self.as_relation(left, span, "the left side of `;` is a relation")?;
                let right = self.as_relation(right, span, "the right side of `;` is a relation")?;
                Ok(self.relation(Operator::Sequence(left, right), span))
            }
            BinaryOperator::Product => {
                let left = self.as_set(left, span, "the left side of a product `*` is a set")?;
                let right = self.as_set(right, span, "the right side of a product `*` is a set")?;
                Ok(self.relation(Operator::Product(left, right), span))
            }
            BinaryOperator::Insert => match right {
                Value::Empty => Ok(Value::Collection(self.insert(left, Vec::new(), span)?)),
                Value::Collection(values) => Ok(Value::Collection(self.insert(left, values, span)?)),
                other => self.refuse(span, &format!("`++` into {}", other.type_name())),
            },
            _ => self.boolean(operator, left, right, span),
        }
    }

    /// `|`, `&` and `\`: over two sets or two relations.
    fn boolean(&mut self, operator: BinaryOperator, left: Value, right: Value, span: Span) -> Evaluated<Value> {
        use BinaryOperator::{Difference, Intersection, Union};
        match (operator, &left, &right) {
            (Union, Value::Empty, _) => return Ok(right),
            (Union | Difference, _, Value::Empty) => return Ok(left),
            (Intersection | Difference, Value::Empty, _) | (Intersection, _, Value::Empty) => return Ok(Value::Empty),
            (Union, Value::Orders(_) | Value::Collection(_), _) => return self.union_of_samples(left, right, span),
            (Union, Value::Full, Value::Full) | (Intersection, Value::Full, Value::Full) => return Ok(Value::Full),
            _ => {}
        }
        let kind = match (&left, &right) {
            (Value::Set(_), Value::Set(_) | Value::Full) | (Value::Full, Value::Set(_)) => NodeKind::Set,
            (Value::Relation(_), Value::Relation(_) | Value::Full)
            | (Value::Full, Value::Relation(_) | Value::Full) => NodeKind::Relation,
            _ => {
                let sign = match operator {
                    Union => "|",
                    Intersection => "&",
                    _ => "\\",
                };
                let (left, right) = (left.type_name(), right.type_name());
                let message =
                    format!("`{sign}` has {left} on its left and {right} on its right: both must be of one type");
                return self.trouble(span, message, "type error");
            }
        };
        let (a, b) = (self.coerce(left, kind, span), self.coerce(right, kind, span));
        let operator = match (operator, kind) {
            (Union, NodeKind::Set) => Operator::SetUnion(a, b),
            (Union, NodeKind::Relation) => Operator::Union(a, b),
            (Intersection, NodeKind::Set) => Operator::SetIntersection(a, b),
            (Intersection, NodeKind::Relation) => Operator::Intersection(a, b),
            (_, NodeKind::Set) => Operator::SetDifference(a, b),
            (_, NodeKind::Relation) => Operator::Difference(a, b),
        };
        Ok(self.value(operator, span))
    }

    /// The node of a value that is of this kind or of any kind.
    pub(crate) fn coerce(&mut self, value: Value, kind: NodeKind, span: Span) -> NodeId {
        let place = self.place(span);
        match (value, kind) {
            (Value::Set(node) | Value::Relation(node), _) => node,
            (Value::Full, NodeKind::Set) => self.base_set(BaseSet::Universe, span),
            (Value::Full, NodeKind::Relation) => {
                let empty = self.graph.add(Operator::EmptyRelation, place);
                self.graph.add(Operator::Complement(empty), place)
            }
            (_, NodeKind::Set) => self.graph.add(Operator::EmptySet, place),
            (_, NodeKind::Relation) => self.graph.add(Operator::EmptyRelation, place),
        }
    }

    pub(crate) fn as_set(&mut self, value: Value, span: Span, rule: &str) -> Evaluated<NodeId> {
        match value {
            Value::Set(_) | Value::Empty | Value::Full => Ok(self.coerce(value, NodeKind::Set, span)),
            other => {
                let message = format!("{rule}, and this is {}", other.type_name());
                self.trouble(span, message, "type error")
            }
        }
    }

    pub(crate) fn as_relation(&mut self, value: Value, span: Span, rule: &str) -> Evaluated<NodeId> {
        match value {
            Value::Relation(_) | Value::Empty | Value::Full => Ok(self.coerce(value, NodeKind::Relation, span)),
            other => {
                let trouble =
                    Trouble::new(self.place(span), format!("{rule}, and this is {}", other.type_name()), "type error");
                let is_set = matches!(other, Value::Set(_));
                Err(Rc::new(if is_set { trouble.help("write `[S]` for the identity on a set") } else { trouble }))
            }
        }
    }

    fn base_set(&mut self, set: BaseSet, span: Span) -> NodeId {
        let place = self.place(span);
        self.graph.add(Operator::Base(set), place)
    }

    pub(crate) fn base_relation(&mut self, relation: BaseRelation, span: Span) -> NodeId {
        let place = self.place(span);
        self.graph.add(Operator::BaseRelation(relation), place)
    }

    fn relation(&mut self, operator: Operator, span: Span) -> Value {
        let place = self.place(span);
        Value::Relation(self.graph.add(operator, place))
    }

    /// The value of an operator, a set or a relation as its node is.
    pub(crate) fn value(&mut self, operator: Operator, span: Span) -> Value {
        let place = self.place(span);
        let node = self.graph.add(operator, place);
        match self.graph.kind(node) {
            NodeKind::Set => Value::Set(node),
            NodeKind::Relation => Value::Relation(node),
        }
    }
}
