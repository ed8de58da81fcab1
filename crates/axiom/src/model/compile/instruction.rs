//! Instructions: definitions extend the environment, checks become axioms and flags, procedures are expanded.

use std::rc::Rc;

use fencepost_syntax::cat::{self, BindingPattern, CatInstruction, CheckKind, CheckRole, Expression, Pattern};
use fencepost_syntax::{Source, Span, Spanned};

use crate::model::compile::Compiler;
use crate::model::compile::graph::Place;
use crate::model::compile::layout::DraftCheck;
use crate::model::compile::value::{Environment, Evaluated, Procedure, Value};
use crate::model::ir::{BaseRelation, FileId, NodeId, NodeKind, Operator};
use crate::model::vocabulary::library;

/// How deep procedures may call each other.
const MAX_CALLS: u32 = 100;
/// How deep includes may nest, and how many there may be.
const MAX_INCLUDES: usize = 200;

impl Compiler<'_> {
    pub(crate) fn run(
        &mut self,
        instructions: &[Spanned<CatInstruction>],
        mut environment: Environment,
    ) -> Environment {
        for instruction in instructions {
            match self.step(instruction, environment) {
                Ok(next) => environment = next,
                Err(trouble) => {
                    self.report(&trouble);
                    // The names it would have bound exist, without a value: using them is no second error.
                    for name in bound_names(&instruction.node) {
                        environment = self.bindings.bind(environment, name, Err(Rc::clone(&trouble)));
                    }
                }
            }
        }
        environment
    }

    fn step(&mut self, instruction: &Spanned<CatInstruction>, environment: Environment) -> Evaluated<Environment> {
        let span = instruction.span;
        match &instruction.node {
            CatInstruction::Let { when: Some(_), .. } => self.refuse(span, "`let rec … when`"),
            CatInstruction::Let { recursive, bindings, when: None } => {
                self.define(*recursive, bindings, span, environment)
            }
            CatInstruction::Check(check) => self.check(check, span, environment).map(|()| environment),
            CatInstruction::Show { items } => {
                self.show(items, environment);
                Ok(environment)
            }
            CatInstruction::Unshow { names } => {
                self.shown.retain(|(shown, _)| !names.iter().any(|name| name.node == *shown));
                Ok(environment)
            }
            CatInstruction::Include { file } => self.include(file, environment),
            CatInstruction::Procedure { name, parameters, body, recursive } => {
                Ok(self.procedure(name, parameters, body, *recursive, environment))
            }
            CatInstruction::Call { name, arguments, label } => {
                self.call(name, arguments, label.as_ref(), environment).map(|()| environment)
            }
            CatInstruction::WithFrom { name, from } => self.with_from(name, from, environment),
            CatInstruction::If { condition, then, otherwise } => {
                let body = if self.holds(&condition.node) { then } else { otherwise };
                Ok(self.run(body, environment))
            }
            CatInstruction::Forall { .. } => self.refuse(span, "`forall … in … do`"),
            CatInstruction::Match { .. } => self.refuse(span, "`match` as an instruction"),
            CatInstruction::Enum { name, .. } => self.refuse(span, &format!("the enumeration `enum {}`", name.node)),
            CatInstruction::Bell { text } => {
                let word = text.split_whitespace().next().unwrap_or("bell");
                self.refuse(span, &format!("the bell instruction `{word}`"))
            }
            CatInstruction::Debug(_) => {
                self.warn(self.place(span), "`debug` is ignored");
                Ok(environment)
            }
        }
    }

    fn check(&mut self, check: &cat::Check, span: Span, environment: Environment) -> Evaluated<()> {
        let value = self.evaluate(&check.expression, environment)?;
        let at = check.expression.span;
        let node = match check.kind {
            CheckKind::Acyclic => self.as_relation(value, at, "`acyclic` is of a relation")?,
            CheckKind::Irreflexive => self.as_relation(value, at, "`irreflexive` is of a relation")?,
            CheckKind::Empty => match value {
                Value::Set(node) => node,
                Value::Full => self.coerce(value, NodeKind::Set, at),
                other => self.as_relation(other, at, "`empty` is of a set or a relation")?,
            },
        };
        let (kind, node) = match (check.role, check.negated) {
            (CheckRole::Axiom, _) => (check.kind, node),
            (CheckRole::Flag, true) | (CheckRole::UndefinedUnless, false) => {
                (CheckKind::Empty, self.culprits(check.kind, node))
            }
            (CheckRole::Flag, false) => {
                return self.refuse(span, "`flag` without `~`, which no pair of events raises,");
            }
            (CheckRole::UndefinedUnless, true) => return self.refuse(span, "`undefined_unless` with `~`"),
            (CheckRole::Assert, _) => return self.refuse(span, "`assert`"),
        };
        let name = check.name.as_ref().map(|name| name.node.clone()).or_else(|| self.label.clone());
        if check.role == CheckRole::Flag && name.is_none() {
            self.warn(self.place(span), "a flag without a name cannot be told apart: give it one with `as`");
        }
        self.checks.push(DraftCheck {
            role: check.role,
            negated: check.negated,
            kind,
            node,
            name,
            place: self.place(span),
        });
        Ok(())
    }

    /// The pairs that make a check fail: a report can name them. An event is a pair with itself.
    fn culprits(&mut self, kind: CheckKind, node: NodeId) -> NodeId {
        let place = self.graph.node(node).place;
        match (kind, self.graph.kind(node)) {
            (_, NodeKind::Set) => self.graph.add(Operator::Identity(node), place),
            (CheckKind::Empty, NodeKind::Relation) => node,
            (CheckKind::Irreflexive | CheckKind::Acyclic, NodeKind::Relation) => {
                let paths = if kind == CheckKind::Acyclic { self.graph.add(Operator::Plus(node), place) } else { node };
                let id = self.graph.add(Operator::BaseRelation(BaseRelation::Id), place);
                self.graph.add(Operator::Intersection(paths, id), place)
            }
        }
    }

    /// A picture can do without a relation that does not exist here: herd's library shows some that only other
    /// architectures have.
    fn show(&mut self, items: &[cat::Show], environment: Environment) {
        for item in items {
            match self.evaluate(&item.expression, environment) {
                Ok(Value::Relation(node) | Value::Set(node)) => {
                    self.shown.retain(|(shown, _)| *shown != item.name.node);
                    self.shown.push((item.name.node.clone(), node));
                }
                Ok(Value::Empty | Value::Full) => {}
                Ok(other) => {
                    let message = format!("`{}` is {} and cannot be shown", item.name.node, other.type_name());
                    self.warn(self.place(item.expression.span), &message);
                }
                Err(trouble) => {
                    let message = format!("`{}` is not shown: {}", item.name.node, trouble.message);
                    self.warn(trouble.place, &message);
                }
            }
        }
    }

    fn include(&mut self, file: &Spanned<String>, environment: Environment) -> Evaluated<Environment> {
        let Some((name, source, is_library)) = self.find_include(file)? else { return Ok(environment) };
        self.included.insert(name.clone());
        if self.included.len() > MAX_INCLUDES {
            return self.refuse(file.span, &format!("more than {MAX_INCLUDES} included files"));
        }
        let outside = (self.file, std::mem::replace(&mut self.in_library, is_library));
        let tree = self.open(source);
        self.included_as.insert(self.file, name);
        let inner = self.run(&tree.instructions, environment);
        (self.file, self.in_library) = outside;
        Ok(inner)
    }

    /// The file, its name, and whether it is the built-in library's. None if it is in already: a file is read once
    /// only, as in herd, which also ends a cycle of includes.
    fn find_include(&mut self, file: &Spanned<String>) -> Evaluated<Option<(String, Source, bool)>> {
        let from = self.included_as.get(&self.file).map(String::as_str);
        for name in cat::include_names(from, &file.node) {
            if self.included.contains(&name) {
                return Ok(None);
            }
            if let Some(source) = (self.includes)(&name) {
                return Ok(Some((name, source, self.in_library)));
            }
        }
        let Some(text) = library::file(&file.node) else {
            let message = format!("the included file `{}` was not found", file.node);
            return self.trouble(file.span, message, "not found");
        };
        let name = format!("<library>/{}", file.node);
        let found = Source::new(name.clone(), text);
        Ok((!self.included.contains(&name)).then_some((name, found, true)))
    }

    /// Parses a text and makes it the current file.
    pub(crate) fn open(&mut self, source: Source) -> cat::Model {
        let (tree, diagnostics) = cat::parse(&source.text);
        self.enter(source, diagnostics);
        tree
    }

    /// Makes a parsed text the current file.
    pub(crate) fn enter(&mut self, source: Source, diagnostics: Vec<fencepost_syntax::Diagnostic>) {
        self.file = FileId(self.files.len() as u32);
        self.files.push(source);
        for diagnostic in diagnostics {
            self.diagnostics.push(crate::model::compile::FileDiagnostic { file: self.file, diagnostic });
        }
    }

    fn procedure(
        &mut self,
        name: &Spanned<String>,
        parameters: &[Pattern],
        body: &[Spanned<CatInstruction>],
        recursive: bool,
        environment: Environment,
    ) -> Environment {
        let slot = self.bindings.bind(environment, &name.node, Ok(Value::Empty));
        let procedure = Procedure {
            parameters: parameters.to_vec(),
            body: body.to_vec(),
            environment: if recursive { slot } else { environment },
            file: self.file,
        };
        self.bindings.set(slot, Ok(Value::Procedure(Rc::new(procedure))));
        slot
    }

    fn call(
        &mut self,
        name: &Spanned<String>,
        arguments: &[Spanned<Expression>],
        label: Option<&Spanned<String>>,
        environment: Environment,
    ) -> Evaluated<()> {
        let procedure = match self.bindings.get(environment, &name.node) {
            Some(Ok(Value::Procedure(procedure))) => Rc::clone(procedure),
            Some(Ok(other)) => {
                let message = format!("`{}` is {}, not a procedure", name.node, other.type_name());
                return self.trouble(name.span, message, "cannot be called");
            }
            Some(Err(trouble)) => return Err(Rc::clone(trouble)),
            None => return self.trouble(name.span, format!("unknown procedure `{}`", name.node), "not defined here"),
        };
        if self.calls >= MAX_CALLS {
            return self.trouble(name.span, "procedures call each other without end", "too deep");
        }
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.evaluate(argument, environment)?);
        }
        let argument = match <[Value; 1]>::try_from(values) {
            Ok([only]) => only,
            Err(values) => Value::Tuple(values),
        };
        let on = procedure.environment;
        let inner = self.bind_parameters(on, &name.node, &procedure.parameters, argument, name.span)?;
        let label = label.map(|label| label.node.clone()).or_else(|| self.label.clone());
        let outside = (self.file, std::mem::replace(&mut self.label, label));
        self.file = procedure.file;
        self.calls += 1;
        self.nesting += 1;
        self.run(&procedure.body, inner);
        self.nesting -= 1;
        self.calls -= 1;
        (self.file, self.label) = outside;
        Ok(())
    }

    pub(crate) fn warn(&mut self, place: Place, message: &str) {
        let diagnostic = fencepost_syntax::Diagnostic::warning(place.span, message);
        self.diagnostics.push(crate::model::compile::FileDiagnostic { file: place.file, diagnostic });
    }
}

fn bound_names(instruction: &CatInstruction) -> Vec<&str> {
    let bindings = match instruction {
        CatInstruction::Let { bindings, .. } => bindings,
        CatInstruction::WithFrom { name, .. } => return vec![&name.node],
        _ => return Vec::new(),
    };
    let names = bindings.iter().flat_map(|binding| match &binding.pattern {
        BindingPattern::Name(name) | BindingPattern::Function { name, .. } => vec![name.node.as_str()],
        BindingPattern::Tuple(patterns) => {
            let names = patterns.iter().filter_map(|pattern| match pattern {
                Pattern::Name(name) => Some(name.node.as_str()),
                Pattern::Ignore => None,
            });
            names.collect()
        }
    });
    names.collect()
}
