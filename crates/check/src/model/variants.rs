//! The variants of a model (`if "name"`): which ones its text asks about, and which of them are on.

use fencepost_program::program::Version;
use fencepost_syntax::cat::{Binding, CatInstruction, ConditionExpression, Expression, Model, VariantCondition};
use fencepost_syntax::sorted::SortedMap;
use fencepost_syntax::{Span, Spanned};

use crate::model::readings::{Point, Settings};

/// The variants a text asks about, and where it does so first.
pub(crate) type Mentioned = SortedMap<String, Span>;

pub(crate) fn mentioned(model: &Model) -> Mentioned {
    let mut finder = Finder::default();
    finder.instructions(&model.instructions);
    finder.found
}

/// Whether a variant is on: `name=value` by the settings, else the point's default; `9.3` from that version on. Any other
/// is off.
pub(crate) fn is_on(name: &str, points: &[Point], settings: &Settings, version: Version) -> bool {
    match name.split_once('=') {
        Some((name, value)) => {
            let default = || points.iter().find(|point| point.name == name).map(|point| point.default.as_str());
            settings.get(name).or_else(default) == Some(value)
        }
        None => since(name).is_some_and(|since| since <= version),
    }
}

/// `9.3` as a version.
fn since(name: &str) -> Option<Version> {
    let (major, minor) = name.split_once('.')?;
    Some(Version { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

#[derive(Default)]
struct Finder {
    found: Mentioned,
}

impl Finder {
    fn condition(&mut self, condition: &VariantCondition, span: Span) {
        match condition {
            VariantCondition::Name(name) => {
                self.found.entry(name.clone()).or_insert(span);
            }
            VariantCondition::Not(inner) => self.condition(inner, span),
            VariantCondition::And(left, right) | VariantCondition::Or(left, right) => {
                self.condition(left, span);
                self.condition(right, span);
            }
        }
    }

    fn instructions(&mut self, body: &[Spanned<CatInstruction>]) {
        body.iter().for_each(|instruction| self.instruction(&instruction.node));
    }

    fn instruction(&mut self, instruction: &CatInstruction) {
        match instruction {
            CatInstruction::Let { bindings, when, .. } => {
                self.bindings(bindings);
                when.iter().for_each(|check| self.expression(&check.expression));
            }
            CatInstruction::Check(check) => self.expression(&check.expression),
            CatInstruction::Show { items } => items.iter().for_each(|item| self.expression(&item.expression)),
            CatInstruction::Procedure { body, .. } => self.instructions(body),
            CatInstruction::Call { arguments, .. } => self.expressions(arguments),
            CatInstruction::WithFrom { from, .. } => self.expression(from),
            CatInstruction::Forall { over, body, .. } => {
                self.expression(over);
                self.instructions(body);
            }
            CatInstruction::If { condition, then, otherwise } => {
                self.condition(&condition.node, condition.span);
                self.instructions(then);
                self.instructions(otherwise);
            }
            CatInstruction::Match { scrutinee, clauses } => {
                self.expression(scrutinee);
                clauses.iter().for_each(|clause| self.instructions(&clause.body));
            }
            CatInstruction::Debug(expression) => self.expression(expression),
            CatInstruction::Unshow { .. }
            | CatInstruction::Include { .. }
            | CatInstruction::Enum { .. }
            | CatInstruction::Bell { .. } => {}
        }
    }

    fn bindings(&mut self, bindings: &[Binding]) {
        bindings.iter().for_each(|binding| self.expression(&binding.value));
    }

    fn expressions(&mut self, expressions: &[Spanned<Expression>]) {
        expressions.iter().for_each(|expression| self.expression(expression));
    }

    /// Recursion depth is the tree's, which the parser limits.
    fn expression(&mut self, expression: &Spanned<Expression>) {
        match &expression.node {
            Expression::Empty | Expression::Universe | Expression::Name(_) | Expression::Tag(_) => {}
            Expression::Set(members) | Expression::Tuple(members) => self.expressions(members),
            Expression::Identity(inner) | Expression::Unary(_, inner) => self.expression(inner),
            Expression::Function { body, .. } => self.expression(body),
            Expression::Binary(_, operands) => {
                let [left, right] = &**operands;
                self.expression(left);
                self.expression(right);
            }
            Expression::Apply { function: left, argument: right } | Expression::Try { body: left, fallback: right } => {
                self.expression(left);
                self.expression(right);
            }
            Expression::Let { bindings, body, .. } => {
                self.bindings(bindings);
                self.expression(body);
            }
            Expression::If { condition, then, otherwise } => {
                match &condition.node {
                    ConditionExpression::Variant(variant) => self.condition(variant, condition.span),
                    ConditionExpression::Equal(left, right)
                    | ConditionExpression::Subset(left, right)
                    | ConditionExpression::In(left, right) => {
                        self.expression(left);
                        self.expression(right);
                    }
                }
                self.expression(then);
                self.expression(otherwise);
            }
            Expression::MatchTags { scrutinee, clauses } => {
                self.expression(scrutinee);
                clauses.iter().for_each(|clause| self.expression(&clause.value));
            }
            Expression::MatchSet { scrutinee, clauses } => {
                self.expression(scrutinee);
                self.expression(&clauses.empty);
                self.expression(&clauses.step);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_syntax::cat;

    #[test]
    fn every_question_is_found_also_in_a_branch_not_taken() {
        let text = "PTX\nlet a = po; (if \"x=1\" && not \"9.3\" then rf else (if \"9.4\" then co else 0))\n\
                    if \"x=2\"\nacyclic a\nelse\nacyclic a | rf\nend\n";
        let (tree, diagnostics) = cat::parse(text);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let names: Vec<String> = mentioned(&tree).into_keys().collect();
        assert_eq!(names, ["9.3", "9.4", "x=1", "x=2"]);
    }

    #[test]
    fn versions_and_readings_switch_variants_on() {
        let points = crate::model::readings::table();
        let is_on = |name: &str, minor: u8| {
            let settings = Settings::default().with("async-cta", "any-in-cluster");
            super::is_on(name, &points, &settings, Version { major: 9, minor })
        };
        assert!(is_on("8.6", 0) && is_on("9.3", 3) && !is_on("9.3", 1));
        assert!(is_on("async-fence=both", 0) && !is_on("async-fence=on-path", 0));
        assert!(is_on("async-cta=any-in-cluster", 0) && !is_on("async-cta=issuing", 0));
        assert!(!is_on("memtag", 4));
    }
}
