//! Which names a cat model uses that it does not define itself.

use std::collections::BTreeSet;

use fencepost_axiom::model::language::{self, Construct};
use fencepost_axiom::model::shipped;
use fencepost_syntax::cat::{self, Binding, BindingPattern, CatInstruction, ConditionExpression, Expression, Pattern};
use fencepost_syntax::{Spanned, cat::Check};

/// What one model uses.
pub(crate) struct Uses {
    pub(crate) model: &'static str,
    /// Names of sets, relations, functions and procedures, and files that are included.
    pub(crate) names: BTreeSet<String>,
    /// The examples of the instructions.
    pub(crate) instructions: BTreeSet<&'static str>,
}

/// What each shipped model uses.
pub(crate) fn shipped_models() -> Vec<Uses> {
    let uses = |model: &'static str| {
        let text = shipped::shipped(model).expect("a shipped model");
        let (tree, problems) = cat::parse(text);
        assert!(problems.is_empty(), "{model}: {problems:?}");
        let mut finder = Finder::default();
        finder.instructions(&tree.instructions);
        Uses { model, names: finder.used, instructions: finder.rows }
    };
    shipped::names().map(uses).collect()
}

#[derive(Default)]
struct Finder {
    used: BTreeSet<String>,
    rows: BTreeSet<&'static str>,
    /// Names that the model has defined so far, parameters included; the innermost last.
    own: Vec<String>,
}

impl Finder {
    fn instructions(&mut self, body: &[Spanned<CatInstruction>]) {
        for instruction in body {
            let row: &Construct = language::instruction(&instruction.node);
            self.rows.insert(row.example);
            self.instruction(&instruction.node);
        }
    }

    fn instruction(&mut self, instruction: &CatInstruction) {
        match instruction {
            CatInstruction::Let { recursive, bindings, when } => {
                self.bindings(*recursive, bindings);
                when.iter().for_each(|check| self.check(check));
            }
            CatInstruction::Check(check) => self.check(check),
            CatInstruction::Show { items } => items.iter().for_each(|item| self.expression(&item.expression)),
            CatInstruction::Procedure { name, parameters, body, .. } => {
                let outside = self.own.len();
                self.parameters(parameters);
                self.instructions(body);
                self.own.truncate(outside);
                self.own.push(name.node.clone());
            }
            CatInstruction::Call { name, arguments, .. } => {
                self.name(&name.node);
                arguments.iter().for_each(|argument| self.expression(argument));
            }
            CatInstruction::WithFrom { from, .. } => self.expression(from),
            CatInstruction::If { then, otherwise, .. } => {
                self.instructions(then);
                self.instructions(otherwise);
            }
            CatInstruction::Include { file } => {
                self.used.insert(file.node.clone());
            }
            CatInstruction::Debug(expression) => self.expression(expression),
            CatInstruction::Forall { .. }
            | CatInstruction::Match { .. }
            | CatInstruction::Unshow { .. }
            | CatInstruction::Enum { .. }
            | CatInstruction::Bell { .. } => {}
        }
    }

    fn check(&mut self, check: &Check) {
        self.expression(&check.expression);
    }

    fn name(&mut self, name: &str) {
        if !self.own.iter().any(|own| own == name) {
            self.used.insert(name.to_owned());
        }
    }

    fn parameters(&mut self, parameters: &[Pattern]) {
        self.own.extend(parameters.iter().filter_map(|pattern| match pattern {
            Pattern::Name(name) => Some(name.node.clone()),
            Pattern::Ignore => None,
        }));
    }

    /// `let co = co+` uses the relation that it hides; `let rec` does not.
    fn bindings(&mut self, recursive: bool, bindings: &[Binding]) {
        let mut bound = Vec::new();
        for binding in bindings {
            match &binding.pattern {
                BindingPattern::Name(name) | BindingPattern::Function { name, .. } => bound.push(name.node.clone()),
                BindingPattern::Tuple(patterns) => bound.extend(patterns.iter().filter_map(|pattern| match pattern {
                    Pattern::Name(name) => Some(name.node.clone()),
                    Pattern::Ignore => None,
                })),
            }
        }
        if recursive {
            self.own.extend(bound.iter().cloned());
        }
        for binding in bindings {
            let outside = self.own.len();
            if let BindingPattern::Function { parameters, .. } = &binding.pattern {
                self.parameters(parameters);
            }
            self.expression(&binding.value);
            self.own.truncate(outside);
        }
        if !recursive {
            self.own.extend(bound);
        }
    }

    fn expression(&mut self, expression: &Spanned<Expression>) {
        match &expression.node {
            Expression::Empty | Expression::Tag(_) => {}
            Expression::Universe => self.name("_"),
            Expression::Name(name) => self.name(name),
            Expression::Set(members) | Expression::Tuple(members) => {
                members.iter().for_each(|member| self.expression(member));
            }
            Expression::Identity(inner) | Expression::Unary(_, inner) => self.expression(inner),
            Expression::Function { parameters, body } => {
                let outside = self.own.len();
                self.parameters(parameters);
                self.expression(body);
                self.own.truncate(outside);
            }
            Expression::Binary(_, operands) => {
                let [left, right] = &**operands;
                self.expression(left);
                self.expression(right);
            }
            Expression::Apply { function: left, argument: right } | Expression::Try { body: left, fallback: right } => {
                self.expression(left);
                self.expression(right);
            }
            Expression::Let { recursive, bindings, body } => {
                let outside = self.own.len();
                self.bindings(*recursive, bindings);
                self.expression(body);
                self.own.truncate(outside);
            }
            Expression::If { condition, then, otherwise } => {
                if let ConditionExpression::Equal(left, right)
                | ConditionExpression::Subset(left, right)
                | ConditionExpression::In(left, right) = &condition.node
                {
                    self.expression(left);
                    self.expression(right);
                }
                self.expression(then);
                self.expression(otherwise);
            }
            Expression::MatchTags { .. } | Expression::MatchSet { .. } => {
                unreachable!("no shipped model matches; say here what it uses")
            }
        }
    }
}
