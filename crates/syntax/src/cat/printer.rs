//! Trees to text that parses to the same tree. Brackets stand where precedence needs them, and also around the
//! operands of `~`, `*` and the postfix operators, where the dialects differ and readers guess.

use super::expression::{groups_left, level};
use super::tree::{
    BinaryOperator, Binding, BindingPattern, CatInstruction, Check, CheckKind, CheckRole, ConditionExpression,
    Expression, Model, Pattern, SetClauses, UnaryOperator, VariantCondition,
};
use crate::span::Spanned;

/// The model's text, one instruction a line. The brackets it adds for the reader count against
/// [`MAX_NESTING`](super::MAX_NESTING): only a text at that very limit could print as one beyond it.
pub fn print(model: &Model) -> String {
    let mut out = String::new();
    let header: Vec<String> = model.header.iter().map(|word| format!("\"{}\"", word.node)).collect();
    if !header.is_empty() {
        out.push_str(&header.join(" "));
        out.push('\n');
    }
    body(&mut out, &model.instructions, 0);
    out
}

/// An expression's text.
pub fn print_expression(expression: &Expression) -> String {
    let mut out = String::new();
    any(&mut out, expression);
    out
}

fn body(out: &mut String, instructions: &[Spanned<CatInstruction>], indent: usize) {
    for instruction in instructions {
        out.push_str(&"  ".repeat(indent));
        print_instruction(out, &instruction.node, indent);
        out.push('\n');
    }
}

fn close(out: &mut String, indent: usize) {
    out.push_str(&"  ".repeat(indent));
    out.push_str("end");
}

fn print_instruction(out: &mut String, instruction: &CatInstruction, indent: usize) {
    match instruction {
        CatInstruction::Let { recursive, bindings, when } => {
            print_bindings(out, *recursive, bindings);
            if let Some(check) = when {
                out.push_str(" when ");
                print_check(out, check);
            }
        }
        CatInstruction::Check(check) => print_check(out, check),
        CatInstruction::Show { items } => {
            let items: Vec<String> = items
                .iter()
                .map(|item| {
                    let text = operand(&item.expression.node, 1);
                    if print_expression(&item.expression.node) == item.name.node {
                        text
                    } else {
                        format!("{text} as {}", item.name.node)
                    }
                })
                .collect();
            out.push_str(&format!("show {}", items.join(", ")));
        }
        CatInstruction::Unshow { names } => {
            let names: Vec<&str> = names.iter().map(|name| name.node.as_str()).collect();
            out.push_str(&format!("unshow {}", names.join(", ")));
        }
        CatInstruction::Include { file } => out.push_str(&format!("include \"{}\"", file.node)),
        CatInstruction::Call { name, arguments, label } => {
            let arguments: Vec<String> =
                arguments.iter().map(|argument| item(&argument.node, arguments.len())).collect();
            out.push_str(&format!("call {}({})", name.node, arguments.join(", ")));
            print_label(out, label.as_ref());
        }
        CatInstruction::WithFrom { name, from } => {
            out.push_str(&format!("with {} from {}", name.node, print_expression(&from.node)));
        }
        CatInstruction::Enum { name, tags } => {
            let tags: Vec<String> = tags.iter().map(|tag| format!("'{}", tag.node)).collect();
            out.push_str(&format!("enum {} = {}", name.node, tags.join(" || ")));
        }
        CatInstruction::Debug(expression) => out.push_str(&format!("debug {}", print_expression(&expression.node))),
        CatInstruction::Bell { text } => out.push_str(text),
        block => print_block(out, block, indent),
    }
}

/// The instructions that hold instructions.
fn print_block(out: &mut String, instruction: &CatInstruction, indent: usize) {
    match instruction {
        CatInstruction::Procedure { recursive, name, parameters, body: inner } => {
            let rec = if *recursive { "rec " } else { "" };
            out.push_str(&format!("procedure {rec}{}({}) =\n", name.node, patterns(parameters)));
            body(out, inner, indent + 1);
            close(out, indent);
        }
        CatInstruction::Forall { name, over, body: inner } => {
            out.push_str(&format!("forall {} in {} do\n", name.node, print_expression(&over.node)));
            body(out, inner, indent + 1);
            close(out, indent);
        }
        CatInstruction::If { condition, then, otherwise } => {
            out.push_str(&format!("if {}\n", variant(&condition.node)));
            body(out, then, indent + 1);
            if !otherwise.is_empty() {
                out.push_str(&"  ".repeat(indent));
                out.push_str("else\n");
                body(out, otherwise, indent + 1);
            }
            close(out, indent);
        }
        CatInstruction::Match { scrutinee, clauses } => {
            out.push_str(&format!("match {} with\n", print_expression(&scrutinee.node)));
            for clause in clauses {
                out.push_str(&format!("{}|| {} ->\n", "  ".repeat(indent), tag(clause.tag.as_ref())));
                body(out, &clause.body, indent + 1);
            }
            close(out, indent);
        }
        // Every other instruction is one line and is printed by the caller.
        _ => {}
    }
}

fn print_label(out: &mut String, label: Option<&Spanned<String>>) {
    if let Some(label) = label {
        out.push_str(&format!(" as {}", label.node));
    }
}

fn print_check(out: &mut String, check: &Check) {
    out.push_str(match check.role {
        CheckRole::Axiom => "",
        CheckRole::Flag => "flag ",
        CheckRole::UndefinedUnless => "undefined_unless ",
        CheckRole::Assert => "assert ",
    });
    if check.negated {
        out.push('~');
    }
    out.push_str(match check.kind {
        CheckKind::Acyclic => "acyclic ",
        CheckKind::Irreflexive => "irreflexive ",
        CheckKind::Empty => "empty ",
    });
    any(out, &check.expression.node);
    print_label(out, check.name.as_ref());
}

fn tag(tag: Option<&Spanned<String>>) -> String {
    tag.map_or("_".to_string(), |tag| format!("'{}", tag.node))
}

fn pattern(pattern: &Pattern) -> &str {
    match pattern {
        Pattern::Name(name) => &name.node,
        Pattern::Ignore => "_",
    }
}

fn patterns(items: &[Pattern]) -> String {
    items.iter().map(pattern).collect::<Vec<&str>>().join(", ")
}

fn print_bindings(out: &mut String, recursive: bool, bindings: &[Binding]) {
    out.push_str(if recursive { "let rec " } else { "let " });
    for (index, binding) in bindings.iter().enumerate() {
        if index > 0 {
            out.push_str(" and ");
        }
        match &binding.pattern {
            BindingPattern::Name(name) => out.push_str(&name.node),
            BindingPattern::Tuple(items) => out.push_str(&format!("({})", patterns(items))),
            BindingPattern::Function { name, parameters } => {
                out.push_str(&format!("{}({})", name.node, patterns(parameters)));
            }
        }
        out.push_str(" = ");
        any(out, &binding.value.node);
    }
}

fn variant(condition: &VariantCondition) -> String {
    variant_operand(condition, 0)
}

/// `||` 1, `&&` 2, `not` 3; both operators group to the right.
fn variant_operand(condition: &VariantCondition, least: u32) -> String {
    let (here, text) = match condition {
        VariantCondition::Name(name) => (4, format!("\"{name}\"")),
        VariantCondition::Not(inner) => (3, format!("not {}", variant_operand(inner, 3))),
        VariantCondition::And(left, right) => {
            (2, format!("{} && {}", variant_operand(left, 3), variant_operand(right, 2)))
        }
        VariantCondition::Or(left, right) => {
            (1, format!("{} || {}", variant_operand(left, 2), variant_operand(right, 1)))
        }
    };
    if here < least { format!("({text})") } else { text }
}

/// How tightly an expression's outermost form binds; 0 needs brackets under any operator.
fn tightness(expression: &Expression) -> u32 {
    match expression {
        Expression::Function { .. }
        | Expression::Let { .. }
        | Expression::Try { .. }
        | Expression::If { .. }
        | Expression::MatchTags { .. }
        | Expression::MatchSet { .. } => 0,
        Expression::Binary(operator, ..) => level(*operator),
        Expression::Unary(UnaryOperator::Complement, _) => 6,
        Expression::Unary(..) => 7,
        _ => ATOM,
    }
}

/// Names, applications and everything with its own brackets.
const ATOM: u32 = 8;

/// The expression where something at least as tight as `least` must stand.
fn operand(expression: &Expression, least: u32) -> String {
    let mut out = String::new();
    push_operand(&mut out, expression, least);
    out
}

fn push_operand(out: &mut String, expression: &Expression, least: u32) {
    let brackets = tightness(expression) < least;
    if brackets {
        out.push('(');
    }
    any(out, expression);
    if brackets {
        out.push(')');
    }
}

/// One of `count` things in brackets: alone it may be anything, else it must not be split at its commas.
fn item(expression: &Expression, count: usize) -> String {
    operand(expression, u32::from(count > 1))
}

fn list(items: &[Spanned<Expression>]) -> String {
    items.iter().map(|item| operand(&item.node, 1)).collect::<Vec<String>>().join(", ")
}

fn any(out: &mut String, expression: &Expression) {
    match expression {
        Expression::Empty => out.push('0'),
        Expression::Universe => out.push('_'),
        Expression::Name(name) => out.push_str(name),
        Expression::Tag(tag) => out.push_str(&format!("'{tag}")),
        Expression::Set(items) => out.push_str(&format!("{{{}}}", list(items))),
        Expression::Tuple(items) => out.push_str(&format!("({})", list(items))),
        Expression::Identity(set) => {
            out.push('[');
            any(out, &set.node);
            out.push(']');
        }
        Expression::Unary(operator, inner) => print_unary(out, *operator, &inner.node),
        Expression::Binary(operator, operands) => {
            let [left, right] = &**operands;
            print_binary(out, *operator, &left.node, &right.node);
        }
        Expression::Apply { function, argument } => {
            push_operand(out, &function.node, ATOM);
            // A tuple brings its own brackets.
            let brackets = !matches!(argument.node, Expression::Tuple(_));
            out.push_str(if brackets { "(" } else { "" });
            any(out, &argument.node);
            out.push_str(if brackets { ")" } else { "" });
        }
        _ => print_form(out, expression),
    }
}

fn print_unary(out: &mut String, operator: UnaryOperator, inner: &Expression) {
    let (before, after) = match operator {
        UnaryOperator::Complement => ("~", ""),
        UnaryOperator::Inverse => ("", "^-1"),
        UnaryOperator::Plus => ("", "+"),
        UnaryOperator::Star => ("", "*"),
        UnaryOperator::Optional => ("", "?"),
    };
    // `(f x)+` and not `f(x)+`: the bare form is read both ways by people, though one way by the grammar.
    let least = match inner {
        Expression::Apply { .. } => ATOM + 1,
        _ if operator == UnaryOperator::Complement => tightness_of_unary(inner),
        Expression::Unary(UnaryOperator::Complement, _) => ATOM,
        Expression::Unary(..) => 7,
        _ => ATOM,
    };
    out.push_str(before);
    push_operand(out, inner, least);
    // `++` is another operator.
    out.push_str(if after == "+" && out.ends_with('+') { " +" } else { after });
}

/// `~~r` and `~r+` need no brackets; `~(A * B)` gets them, since herd needs them.
fn tightness_of_unary(inner: &Expression) -> u32 {
    if matches!(inner, Expression::Unary(..)) { 6 } else { ATOM }
}

fn print_binary(out: &mut String, operator: BinaryOperator, left: &Expression, right: &Expression) {
    let here = level(operator);
    let (least_left, least_right) = match operator {
        BinaryOperator::Product => match left {
            Expression::Binary(BinaryOperator::Product, ..) => (here, ATOM),
            _ => (ATOM, ATOM),
        },
        _ if groups_left(operator) => (here, here + 1),
        _ => (here + 1, here),
    };
    push_operand(out, left, least_left);
    out.push_str(match operator {
        BinaryOperator::Union => " | ",
        BinaryOperator::Intersection => " & ",
        BinaryOperator::Difference => " \\ ",
        BinaryOperator::Sequence => "; ",
        BinaryOperator::Product => " * ",
        BinaryOperator::Insert => " ++ ",
    });
    push_operand(out, right, least_right);
}

fn print_form(out: &mut String, expression: &Expression) {
    match expression {
        Expression::Function { parameters, body } => {
            out.push_str(&format!("fun ({}) -> ", patterns(parameters)));
            any(out, &body.node);
        }
        Expression::Let { recursive, bindings, body } => {
            print_bindings(out, *recursive, bindings);
            out.push_str(" in ");
            any(out, &body.node);
        }
        Expression::Try { body, fallback } => {
            out.push_str(&format!("try {} with ", operand(&body.node, 1)));
            any(out, &fallback.node);
        }
        Expression::If { condition, then, otherwise } => {
            out.push_str(&format!("if {} then {} else ", print_condition(&condition.node), operand(&then.node, 1)));
            any(out, &otherwise.node);
        }
        Expression::MatchTags { scrutinee, clauses } => {
            out.push_str(&format!("match {} with", operand(&scrutinee.node, 1)));
            for clause in clauses {
                out.push_str(&format!(" || {} -> ", tag(clause.tag.as_ref())));
                any(out, &clause.value.node);
            }
            out.push_str(" end");
        }
        Expression::MatchSet { scrutinee, clauses } => {
            let SetClauses { empty, before, element, rest, step } = &**clauses;
            let before = before.as_ref().map_or(String::new(), |before| format!("{} | ", pattern(before)));
            out.push_str(&format!("match {} with || {{}} -> ", operand(&scrutinee.node, 1)));
            any(out, &empty.node);
            out.push_str(&format!(" || {before}{} ++ {} -> ", pattern(element), pattern(rest)));
            any(out, &step.node);
            out.push_str(" end");
        }
        // Every other expression is printed by the caller.
        _ => {}
    }
}

fn print_condition(condition: &ConditionExpression) -> String {
    let join = |left: &Expression, word: &str, right: &Expression| {
        format!("{} {word} {}", operand(left, 1), operand(right, 1))
    };
    match condition {
        ConditionExpression::Equal(left, right) => join(&left.node, "=", &right.node),
        ConditionExpression::Subset(left, right) => join(&left.node, "subset", &right.node),
        ConditionExpression::In(left, right) => join(&left.node, "in", &right.node),
        ConditionExpression::Variant(condition) => variant(condition),
    }
}
