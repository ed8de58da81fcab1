//! Cat instructions to a list of checks: executed once per model, since nothing about which check comes next depends on
//! the execution. Bindings become lazy ones; see `interpret`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::cat::{
    Binding, BindingPattern, CatInstruction, Check, CheckKind, CheckRole, Expression, Model, Pattern,
};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::{Span, Spanned, cat};

use super::base::{Candidate, Depends, fence_sc_pairs};
use super::interpret::{
    Answer, Environment, Interpreter, Kept, Lazy, Operands, Rule, Slot, Value, error, pairs, with_functions,
};
use super::variants::Variants;
use super::{Includes, Judgement, ReplayErrorKind};
use super::{library, operators, prelude};
use crate::execution::Execution;
use crate::model::FenceOrder;
use crate::watch::Watch;

/// Includes and calls nest at most this deeply.
const MAX_NESTING: u32 = 40;

/// As many relations with most of the pairs are held at once.
const DENSE: u64 = 16;

/// A model ready to judge candidates of one unfolding.
pub(crate) struct Judge<'t> {
    interpreter: Interpreter<'t>,
    checks: Vec<PreparedCheck<'t>>,
    shown: Vec<Shown<'t>>,
    /// Axioms in the order in which `rejection` tries them: those that depend on the outermost choices first.
    order: RefCell<Vec<usize>>,
}

struct PreparedCheck<'t> {
    check: &'t Check,
    name: String,
    value: Rc<Lazy<'t>>,
}

/// What `show … as` names.
struct Shown<'t> {
    name: &'t str,
    span: Span,
    value: Rc<Lazy<'t>>,
}

/// A procedure with the names it can see.
#[derive(Clone)]
struct Procedure<'t> {
    name: &'t str,
    parameters: &'t [Pattern],
    body: &'t [Spanned<CatInstruction>],
    environment: Environment<'t>,
    file: Option<&'t str>,
}

struct Builder<'t> {
    includes: &'t Includes,
    variants: Rc<Variants>,
    included: Vec<&'t str>,
    /// The name that a `call … as` gives to unnamed checks.
    label: Option<&'t Spanned<String>>,
    /// The included file being read.
    file: Option<&'t str>,
    environment: Environment<'t>,
    procedures: Vec<Procedure<'t>>,
    checks: Vec<PreparedCheck<'t>>,
    shown: Vec<Shown<'t>>,
    nesting: u32,
}

impl<'t> Judge<'t> {
    /// With these variants on (`if "name"`).
    pub(crate) fn new(
        model: &'t Model,
        includes: &'t Includes,
        variants: &BTreeSet<String>,
        unfolding: &'t Unfolding,
        kept: Kept,
    ) -> Answer<Judge<'t>> {
        let variants = Rc::new(Variants::new(variants));
        let mut builder = Builder {
            includes,
            variants: Rc::clone(&variants),
            included: Vec::new(),
            file: None,
            label: None,
            environment: Environment::default(),
            procedures: Vec::new(),
            checks: Vec::new(),
            shown: Vec::new(),
            nesting: 0,
        };
        builder.run(&model.instructions)?;
        let axioms = builder.checks.iter().enumerate().filter(|(_, check)| check.check.role == CheckRole::Axiom);
        let order = RefCell::new(axioms.map(|(index, _)| index).collect());
        let interpreter = Interpreter::new(Candidate::new(unfolding), variants, kept);
        Ok(Judge { interpreter, checks: builder.checks, shown: builder.shown, order })
    }

    pub(crate) fn candidate(&self) -> &Candidate<'t> {
        &self.interpreter.candidate
    }

    /// What a violated axiom depends on, if there is one: only other choices of those could make it hold.
    pub(crate) fn rejection(&self) -> Answer<Option<Depends>> {
        let mut seen: Vec<(Depends, usize)> = Vec::new();
        let order = self.order.borrow().clone();
        let mut found = None;
        for &index in &order {
            let (holds, depends) = self.holds(&self.checks[index])?;
            seen.push((depends, index));
            if !holds {
                found = Some(depends);
                break;
            }
        }
        if seen.len() == order.len() {
            seen.shared_sort();
            self.order.replace(seen.into_iter().map(|(_, index)| index).collect());
        }
        Ok(found)
    }

    /// Whether a check looks at `sync_fence`. What a check looks at does not depend on the candidate (but for `if` and
    /// `try`, which are read as looking), so that of the moment will do.
    pub(crate) fn fence_order(&self) -> FenceOrder {
        let looks = |check: &PreparedCheck<'t>| self.interpreter.force(&check.value).1.includes(Depends::SYNC_FENCE);
        if self.checks.iter().any(looks) { FenceOrder::Ordered } else { FenceOrder::Unordered }
    }

    /// Lets the watch end an evaluation.
    pub(super) fn watch(&mut self, watch: Watch<'t>) {
        self.interpreter.watch = watch;
    }

    /// Whether an execution of so many events may be judged: some of a model's relations hold most pairs of them.
    pub(super) fn check_size(&self, events: u64) -> Answer<()> {
        let bytes = events * events * size_of::<(u32, u32)>() as u64 * DENSE;
        if self.interpreter.watch.is_too_much(bytes) {
            return Err(self.interpreter.out_of_limits(Span::default()));
        }
        Ok(())
    }

    /// Sets the candidate. Without two fences that Fence-SC order could relate, it is empty for every model: then it does not
    /// matter whether a check looks at it, and operands that decide nothing are left out.
    pub(super) fn set_execution(&self, execution: &Execution) {
        let candidate = self.candidate();
        candidate.set_execution(execution);
        let is_ordered = !fence_sc_pairs(candidate.unfolding(), &execution.events).is_empty();
        self.interpreter.look_at(if is_ordered { Operands::All } else { Operands::Needed });
    }

    pub(crate) fn judgement(&self) -> Answer<Judgement> {
        let mut judgement = Judgement::default();
        for check in &self.checks {
            let (holds, depends) = self.holds(check)?;
            if depends.includes(Depends::SYNC_FENCE) {
                judgement.fences = FenceOrder::Ordered;
            }
            match check.check.role {
                CheckRole::Axiom if !holds => judgement.violated.push(check.name.clone()),
                // `flag` marks the executions for which its test succeeds, `undefined_unless` those for which it fails.
                CheckRole::Flag if holds => judgement.flags.push((check.name.clone(), self.witness(check)?)),
                CheckRole::UndefinedUnless if !holds => {
                    judgement.flags.push((check.name.clone(), self.witness(check)?));
                }
                CheckRole::Assert if !holds => {
                    let kind = ReplayErrorKind::Assertion(check.name.clone());
                    return Err(error(check.check.expression.span, kind));
                }
                _ => {}
            }
        }
        Ok(judgement)
    }

    fn holds(&self, check: &PreparedCheck<'t>) -> Answer<(bool, Depends)> {
        let (value, depends) = self.interpreter.force(&check.value);
        let value = value?;
        let span = check.check.expression.span;
        let plain = match (check.check.kind, value) {
            (CheckKind::Empty, Value::Empty) => true,
            (CheckKind::Empty, Value::Events(set)) => set.is_empty(),
            (CheckKind::Empty, value) => pairs(value, span)?.is_empty(),
            (CheckKind::Irreflexive, value) => operators::irreflexive(&*pairs(value, span)?),
            (CheckKind::Acyclic, value) => operators::acyclic(&*pairs(value, span)?),
        };
        Ok((plain != check.check.negated, depends))
    }

    /// The pairs of the relation that the model last shows under this name, if it shows one.
    pub(super) fn shown(&self, name: &str) -> Answer<Option<Rc<operators::Pairs>>> {
        let Some(shown) = self.shown.iter().rfind(|shown| shown.name == name) else { return Ok(None) };
        pairs(self.interpreter.force(&shown.value).0?, shown.span).map(Some)
    }

    fn witness(&self, check: &PreparedCheck<'t>) -> Answer<Vec<(u32, u32)>> {
        match self.interpreter.force(&check.value).0? {
            Value::Pairs(relation) => Ok(relation.iter().collect()),
            _ => Ok(Vec::new()),
        }
    }
}

impl<'t> Builder<'t> {
    fn run(&mut self, instructions: &'t [Spanned<CatInstruction>]) -> Answer<()> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            let span = instructions.first().map_or(Span::default(), |instruction| instruction.span);
            return Err(error(span, ReplayErrorKind::Depth));
        }
        for instruction in instructions {
            self.step(&instruction.node, instruction.span)?;
        }
        self.nesting -= 1;
        Ok(())
    }

    fn step(&mut self, instruction: &'t CatInstruction, span: Span) -> Answer<()> {
        let unsupported = |what: &str| Err(error(span, ReplayErrorKind::Unsupported(what.to_string())));
        match instruction {
            CatInstruction::Let { recursive, bindings, when } => {
                if *recursive {
                    self.bind_group(bindings)
                } else {
                    self.bind(bindings)
                }
                when.iter().for_each(|check| self.check(check));
                Ok(())
            }
            CatInstruction::Check(check) => {
                self.check(check);
                Ok(())
            }
            CatInstruction::Show { items } => {
                for item in items {
                    let value = Lazy::expression(&item.expression, &self.environment);
                    self.shown.push(Shown { name: &item.name.node, span: item.expression.span, value });
                }
                Ok(())
            }
            CatInstruction::Unshow { .. } | CatInstruction::Debug(_) => Ok(()),
            CatInstruction::Include { file } => self.include(file),
            CatInstruction::Procedure { recursive: true, .. } => unsupported("a recursive procedure"),
            CatInstruction::Procedure { name, parameters, body, .. } => {
                let environment = self.environment.clone();
                self.procedures.push(Procedure { name: &name.node, parameters, body, environment, file: self.file });
                Ok(())
            }
            CatInstruction::Call { name, arguments, label } => self.call(name, arguments, label.as_ref(), span),
            CatInstruction::WithFrom { name, .. } if name.node == "co" => {
                // The execution has chosen one of the orders already.
                self.environment = self.environment.with("co", Slot::Base);
                Ok(())
            }
            CatInstruction::WithFrom { .. } => unsupported("`with` for anything but `co`"),
            CatInstruction::If { condition, then, otherwise } => {
                self.run(if self.variants.holds(&condition.node) { then } else { otherwise })
            }
            CatInstruction::Forall { .. } => unsupported("`forall`"),
            CatInstruction::Match { .. } | CatInstruction::Enum { .. } => unsupported("an enumeration"),
            CatInstruction::Bell { .. } => unsupported("bell"),
        }
    }

    fn bind(&mut self, bindings: &'t [Binding]) {
        let outer = self.environment.clone();
        let mut inner = with_functions(&outer, bindings, &[]);
        for binding in bindings {
            let lazy = || Lazy::definition(&binding.value, &outer);
            match &binding.pattern {
                BindingPattern::Name(name) => inner = inner.with(&name.node, Slot::Lazy(lazy())),
                BindingPattern::Tuple(patterns) => inner = bind_elements(&inner, patterns, lazy(), binding.value.span),
                BindingPattern::Function { .. } => {}
            }
        }
        self.environment = inner;
    }

    fn bind_group(&mut self, bindings: &'t [Binding]) {
        let outer = self.environment.clone();
        let group = Lazy::new(Rule::Group(bindings), &outer);
        for (index, binding) in bindings.iter().enumerate() {
            if let BindingPattern::Name(name) | BindingPattern::Function { name, .. } = &binding.pattern {
                let lazy = Lazy::new(Rule::Element(group.clone(), index, name.span), &outer);
                self.environment = self.environment.with(&name.node, Slot::Lazy(lazy));
            }
        }
    }

    fn check(&mut self, check: &'t Check) {
        let own = check.name.as_ref().or(self.label).map(|name| name.node.clone());
        let word = match check.role {
            CheckRole::Axiom => "axiom",
            CheckRole::Flag => "flag",
            CheckRole::UndefinedUnless => "undefined",
            CheckRole::Assert => "assert",
        };
        let number = 1 + self.checks.iter().filter(|other| other.check.role == check.role).count();
        let name = own.unwrap_or_else(|| format!("{word} {number}"));
        let value = Lazy::expression(&check.expression, &self.environment);
        self.checks.push(PreparedCheck { check, name, value });
    }

    fn include(&mut self, file: &'t Spanned<String>) -> Answer<()> {
        let includes = self.includes;
        let mut names = cat::include_names(self.file, &file.node).into_iter();
        let own = names.find_map(|name| includes.get_key_value(&name)).map(|(name, model)| (name.as_str(), model));
        let Some((name, model)) = own.or_else(|| library::file(&file.node).map(|model| (file.node.as_str(), model)))
        else {
            return Err(error(file.span, ReplayErrorKind::MissingFile(file.node.clone())));
        };
        if self.included.contains(&name) {
            return Ok(());
        }
        self.included.push(name);
        let outer = self.file.replace(name);
        self.run(&model.instructions)?;
        self.file = outer;
        Ok(())
    }

    fn call(
        &mut self,
        name: &'t Spanned<String>,
        arguments: &'t [Spanned<Expression>],
        label: Option<&'t Spanned<String>>,
        span: Span,
    ) -> Answer<()> {
        let own = self.procedures.iter().rev().find(|known| known.name == name.node).cloned();
        let Some(procedure) = own.or_else(|| predefined(&name.node)) else {
            return Err(error(name.span, ReplayErrorKind::Unbound(name.node.clone())));
        };
        let mut inner = procedure.environment.clone();
        let lazies = arguments.iter().map(|argument| Lazy::expression(argument, &self.environment));
        match (procedure.parameters, arguments) {
            (parameters, arguments) if parameters.len() == arguments.len() => {
                for (parameter, lazy) in parameters.iter().zip(lazies) {
                    if let Pattern::Name(name) = parameter {
                        inner = inner.with(&name.node, Slot::Lazy(lazy));
                    }
                }
            }
            (parameters, [argument]) => {
                let lazy = Lazy::expression(argument, &self.environment);
                inner = bind_elements(&inner, parameters, lazy, argument.span);
            }
            _ => return Err(error(span, ReplayErrorKind::Type("as many arguments as parameters"))),
        }
        let outer =
            (std::mem::replace(&mut self.environment, inner), std::mem::replace(&mut self.file, procedure.file));
        let outer_label = self.label;
        self.label = label.or(outer_label);
        self.run(procedure.body)?;
        (self.environment, self.file) = outer;
        self.label = outer_label;
        Ok(())
    }
}

/// A procedure that no model defines; it sees none of the model's names.
fn predefined<'t>(name: &str) -> Option<Procedure<'t>> {
    let CatInstruction::Procedure { name, parameters, body, .. } = prelude::procedure(name)? else { return None };
    Some(Procedure { name: &name.node, parameters, body, environment: Environment::default(), file: None })
}

/// One pattern takes the value itself, several take the elements of a tuple.
fn bind_elements<'t>(
    environment: &Environment<'t>,
    patterns: &'t [Pattern],
    lazy: Rc<Lazy<'t>>,
    span: Span,
) -> Environment<'t> {
    let mut inner = environment.clone();
    for (index, pattern) in patterns.iter().enumerate() {
        if let Pattern::Name(name) = pattern {
            let slot = match patterns.len() {
                1 => lazy.clone(),
                _ => Lazy::new(Rule::Element(lazy.clone(), index, span), environment),
            };
            inner = inner.with(&name.node, Slot::Lazy(slot));
        }
    }
    inner
}
