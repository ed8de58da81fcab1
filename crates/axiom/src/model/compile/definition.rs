//! `let` and `let rec`: values bound to names, recursive functions, and least fixed points.
//!
//! A definition is evaluated where it stands, but if it fails the failure is kept as its value and told only where the
//! name is used: herd accepts `let a = unknown` in a model that never uses `a`, and so do we, with a warning.

use std::rc::Rc;

use fencepost_syntax::cat::{Binding, BindingPattern, Expression};
use fencepost_syntax::{Span, Spanned};

use crate::model::compile::Compiler;
use crate::model::compile::graph::{DraftGroup, Origin, operands};
use crate::model::compile::value::{Closure, Environment, Evaluated, Suspended, Trouble, TroubleKind, Value};
use crate::model::ir::{FileId, NodeId, NodeKind, Operator};

impl Compiler<'_> {
    pub(crate) fn define(
        &mut self,
        recursive: bool,
        bindings: &[Binding],
        span: Span,
        environment: Environment,
    ) -> Evaluated<Environment> {
        if !recursive {
            return self.define_each(bindings, environment);
        }
        let functions = bindings.iter().filter(|binding| as_function(binding).is_some()).count();
        if functions == bindings.len() {
            Ok(self.define_functions(bindings, environment))
        } else if functions == 0 {
            self.define_fixed_point(bindings, span, environment)
        } else {
            self.refuse(span, "a recursive definition of functions together with relations")
        }
    }

    /// `let a = … and b = …`: no binding sees another.
    fn define_each(&mut self, bindings: &[Binding], environment: Environment) -> Evaluated<Environment> {
        let mut inner = environment;
        for binding in bindings {
            let replacement = self.replacement(binding);
            let (file, expression) = chosen(&replacement, self.file, binding);
            let outside = std::mem::replace(&mut self.file, file);
            inner = self.define_one(binding, expression, environment, inner);
            self.file = outside;
        }
        Ok(inner)
    }

    fn define_one(
        &mut self,
        binding: &Binding,
        expression: &Spanned<Expression>,
        environment: Environment,
        inner: Environment,
    ) -> Environment {
        match &binding.pattern {
            BindingPattern::Function { name, parameters } => {
                let closure = Closure {
                    name: name.node.clone(),
                    parameters: parameters.clone(),
                    body: expression.clone(),
                    environment,
                    file: self.file,
                };
                self.bindings.bind(inner, &name.node, Ok(Value::Function(Rc::new(closure))))
            }
            BindingPattern::Name(name) => {
                let value = self.definition(expression, environment);
                self.name(&value, &name.node);
                self.bindings.bind(inner, &name.node, value)
            }
            BindingPattern::Tuple(patterns) => {
                let value = self.definition(expression, environment);
                let bound = value
                    .and_then(|value| self.bind_parameters(inner, "this pattern", patterns, value, expression.span));
                // A pattern that fails leaves each of its names with the failure.
                bound.unwrap_or_else(|trouble| {
                    patterns.iter().fold(inner, |inner, pattern| match pattern {
                        fencepost_syntax::cat::Pattern::Name(name) => {
                            self.bindings.bind(inner, &name.node, Err(Rc::clone(&trouble)))
                        }
                        fencepost_syntax::cat::Pattern::Ignore => inner,
                    })
                })
            }
        }
    }

    /// The value of a definition; a failure is remembered for the lint.
    fn definition(&mut self, expression: &Spanned<Expression>, environment: Environment) -> Evaluated<Value> {
        let value = self.evaluate(expression, environment);
        match value {
            Err(trouble) if trouble.kind == TroubleKind::NeedsSample => Ok(Value::Suspended(Rc::new(Suspended {
                expression: expression.clone(),
                environment,
                file: self.file,
            }))),
            Err(trouble) => {
                self.pending.push(Rc::clone(&trouble));
                Err(trouble)
            }
            value => value,
        }
    }

    fn name(&mut self, value: &Evaluated<Value>, name: &str) {
        let origin = if self.in_library {
            Origin::Library
        } else if self.nesting > 0 {
            Origin::Local
        } else {
            Origin::TopLevel
        };
        if let Ok(Value::Set(node) | Value::Relation(node)) = value {
            self.graph.name(*node, name, origin);
        }
    }

    fn define_functions(&mut self, bindings: &[Binding], environment: Environment) -> Environment {
        let parts: Vec<_> = bindings.iter().filter_map(as_function).collect();
        let mut inner = environment;
        let mut slots = Vec::new();
        for (name, _, _) in &parts {
            inner = self.bindings.bind(inner, name, Ok(Value::Empty));
            slots.push(inner);
        }
        for ((name, parameters, body), slot) in parts.into_iter().zip(slots) {
            let closure = Closure {
                name: name.to_owned(),
                parameters: parameters.to_vec(),
                body: body.clone(),
                environment: inner,
                file: self.file,
            };
            self.bindings.set(slot, Ok(Value::Function(Rc::new(closure))));
        }
        inner
    }

    /// `let rec r = … and s = …` over relations or sets. Which of the two each is, the bodies say: relations are tried
    /// first, then what the bodies turned out to be, then sets.
    fn define_fixed_point(
        &mut self,
        bindings: &[Binding],
        span: Span,
        environment: Environment,
    ) -> Evaluated<Environment> {
        let mut names = Vec::new();
        for binding in bindings {
            match &binding.pattern {
                BindingPattern::Name(name) => names.push(name.clone()),
                _ => return self.refuse(span, "a recursive definition of a tuple"),
            }
        }
        let mark = (self.graph.nodes.len(), self.graph.groups.len());
        let mut kinds = vec![NodeKind::Relation; names.len()];
        let first = self.try_fixed_point(&names, &kinds, bindings, environment);
        let mut result = first;
        let mut attempts = 0;
        while let Err(failure) = &result {
            attempts += 1;
            kinds = match failure {
                Failure::Kinds(found) if attempts < 4 && *found != kinds => found.clone(),
                Failure::Trouble(trouble) if trouble.kind == TroubleKind::Limit => break,
                Failure::Trouble(_) if attempts == 1 => vec![NodeKind::Set; names.len()],
                _ => break,
            };
            self.graph.truncate(mark.0, mark.1);
            let again = self.try_fixed_point(&names, &kinds, bindings, environment);
            match (&result, again) {
                // The first failure is the one that names the author's mistake.
                (Err(Failure::Trouble(_)), Err(Failure::Trouble(_))) => break,
                (_, again) => result = again,
            }
        }
        let bodies = match result {
            Ok(bodies) => bodies,
            Err(Failure::Kinds(_)) => {
                let message = "a recursive definition is a set on one side and a relation on the other";
                let trouble = Rc::new(Trouble::new(self.place(span), message, "type error"));
                return Ok(self.spoil(&names, trouble, environment));
            }
            Err(Failure::Trouble(trouble)) => return Ok(self.spoil(&names, trouble, environment)),
        };
        let mut inner = environment;
        for (name, body) in names.iter().zip(bodies) {
            let value = match self.graph.kind(body) {
                NodeKind::Set => Ok(Value::Set(body)),
                NodeKind::Relation => Ok(Value::Relation(body)),
            };
            self.name(&value, &name.node);
            inner = self.bindings.bind(inner, &name.node, value);
        }
        Ok(inner)
    }

    /// Binds names to a failure, told when one of them is used.
    fn spoil(&mut self, names: &[Spanned<String>], trouble: Rc<Trouble>, environment: Environment) -> Environment {
        self.pending.push(Rc::clone(&trouble));
        names.iter().fold(environment, |inner, name| self.bindings.bind(inner, &name.node, Err(Rc::clone(&trouble))))
    }

    fn try_fixed_point(
        &mut self,
        names: &[Spanned<String>],
        kinds: &[NodeKind],
        bindings: &[Binding],
        environment: Environment,
    ) -> Result<Vec<NodeId>, Failure> {
        let mut inner = environment;
        let mut variables = Vec::new();
        for (name, &kind) in names.iter().zip(kinds) {
            let place = self.place(name.span);
            let variable = self.graph.variable(kind, &name.node, place);
            variables.push(variable);
            let value = match kind {
                NodeKind::Set => Value::Set(variable),
                NodeKind::Relation => Value::Relation(variable),
            };
            inner = self.bindings.bind(inner, &name.node, Ok(value));
        }
        self.open_variables.push(variables.clone());
        let bodies = self.bodies(names, kinds, bindings, inner);
        self.open_variables.pop();
        let bodies = bodies?;
        self.check_recursion(names, &variables, &bodies)?;
        let variables = variables.into_iter().zip(bodies.iter().copied()).collect();
        self.graph.groups.push(DraftGroup { variables });
        Ok(bodies)
    }

    fn bodies(
        &mut self,
        names: &[Spanned<String>],
        kinds: &[NodeKind],
        bindings: &[Binding],
        inner: Environment,
    ) -> Result<Vec<NodeId>, Failure> {
        let mut bodies = Vec::new();
        let mut found = Vec::new();
        for ((binding, name), &kind) in bindings.iter().zip(names).zip(kinds) {
            let replacement = self.replacement(binding);
            let (file, expression) = chosen(&replacement, self.file, binding);
            let outside = std::mem::replace(&mut self.file, file);
            let value = self.evaluate(expression, inner);
            self.file = outside;
            let value = value.map_err(Failure::Trouble)?;
            found.push(match &value {
                Value::Set(_) => NodeKind::Set,
                Value::Relation(_) => NodeKind::Relation,
                Value::Empty | Value::Full => kind,
                other => {
                    let what = format!("`{}`, defined recursively as {},", name.node, other.type_name());
                    return self.refuse(name.span, &what).map_err(Failure::Trouble);
                }
            });
            bodies.push(self.coerce(value, kind, expression.span));
        }
        if found == kinds { Ok(bodies) } else { Err(Failure::Kinds(found)) }
    }

    /// A least fixed point exists only if growing a variable can only grow the bodies; and recursion does not nest.
    fn check_recursion(
        &self,
        names: &[Spanned<String>],
        variables: &[NodeId],
        bodies: &[NodeId],
    ) -> Result<(), Failure> {
        let span = names.first().map_or(Span::default(), |name| name.span);
        let own = self.occurrences(variables);
        if bodies.iter().any(|body| own.get(body.index()).is_some_and(|occurs| occurs.negative)) {
            let message = "a recursive definition must not subtract itself: it would have no least fixed point";
            return self.trouble(span, message, "occurs negatively in its own definition").map_err(Failure::Trouble);
        }
        for outer in &self.open_variables {
            let outer = self.occurrences(outer);
            let uses = |body: &NodeId| outer.get(body.index()).is_some_and(|occurs| occurs.positive || occurs.negative);
            if bodies.iter().any(uses) {
                return self.refuse(span, "a recursive definition inside another").map_err(Failure::Trouble);
            }
        }
        Ok(())
    }

    /// How each node uses any of these variables.
    fn occurrences(&self, variables: &[NodeId]) -> Vec<Occurrence> {
        let mut all = vec![Occurrence::default(); self.graph.nodes.len()];
        let first = variables.iter().map(|id| id.index()).min().unwrap_or(0);
        for index in first..all.len() {
            let operator = self.graph.operator(NodeId(index as u32));
            let mut occurs = Occurrence { positive: variables.contains(&NodeId(index as u32)), negative: false };
            for (position, operand) in operands(operator).enumerate() {
                let Some(&below) = all.get(operand.index()) else { continue };
                let flips = match operator {
                    Operator::Complement(_) | Operator::SetComplement(_) => true,
                    Operator::Difference(..) | Operator::SetDifference(..) => position == 1,
                    _ => false,
                };
                occurs.positive |= if flips { below.negative } else { below.positive };
                occurs.negative |= if flips { below.positive } else { below.negative };
            }
            all[index] = occurs;
        }
        all
    }
}

#[derive(Copy, Clone, Default)]
struct Occurrence {
    positive: bool,
    negative: bool,
}

enum Failure {
    Trouble(Rc<Trouble>),
    /// The bodies have other types than was tried.
    Kinds(Vec<NodeKind>),
}

/// What a binding means: its replacement, else its own expression in the current file.
fn chosen<'a>(
    replacement: &'a Option<(FileId, Rc<Spanned<Expression>>)>,
    here: FileId,
    binding: &'a Binding,
) -> (FileId, &'a Spanned<Expression>) {
    match replacement {
        Some((file, expression)) => (*file, expression.as_ref()),
        None => (here, &binding.value),
    }
}

/// A binding that is a function: `f x = …` or `f = fun x -> …`.
fn as_function(binding: &Binding) -> Option<(&str, &[fencepost_syntax::cat::Pattern], &Spanned<Expression>)> {
    match (&binding.pattern, &binding.value.node) {
        (BindingPattern::Function { name, parameters }, _) => Some((&name.node, parameters, &binding.value)),
        (BindingPattern::Name(name), Expression::Function { parameters, body }) => Some((&name.node, parameters, body)),
        _ => None,
    }
}
