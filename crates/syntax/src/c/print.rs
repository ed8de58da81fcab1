//! C statements back to text.

use super::{Expression, Statement, Unary};
use crate::span::Spanned;

/// The lines of a statement, indented by `depth` steps.
pub fn statement(statement: &Statement, depth: usize, text: &mut String) {
    let indent = "    ".repeat(depth);
    match statement {
        Statement::Declare { ty, name, value: Some(value) } => {
            text.push_str(&format!("{indent}{} {} = {};\n", ty.node, name.node, expression(&value.node, 0)));
        }
        Statement::Declare { ty, name, value: None } => {
            text.push_str(&format!("{indent}{} {};\n", ty.node, name.node));
        }
        Statement::Assign { target, value } => {
            text.push_str(&format!("{indent}{} = {};\n", expression(&target.node, 0), expression(&value.node, 0)));
        }
        Statement::Call(call) => text.push_str(&format!("{indent}{};\n", expression(&call.node, 0))),
        Statement::If { condition, then, otherwise } => {
            text.push_str(&format!("{indent}if ({}) {{\n", expression(&condition.node, 0)));
            block(then, depth, text);
            if !otherwise.is_empty() {
                text.push_str(&format!("{indent}}} else {{\n"));
                block(otherwise, depth, text);
            }
            text.push_str(&format!("{indent}}}\n"));
        }
        Statement::While { condition, body } => {
            text.push_str(&format!("{indent}while ({}) {{\n", expression(&condition.node, 0)));
            block(body, depth, text);
            text.push_str(&format!("{indent}}}\n"));
        }
        Statement::For { first, condition, step, body } => {
            let part = |statement: &Option<Box<Spanned<Statement>>>| {
                let mut text = String::new();
                if let Some(inner) = statement {
                    self::statement(&inner.node, 0, &mut text);
                }
                text.trim_end().trim_end_matches(';').to_owned()
            };
            let condition = condition.as_ref().map_or(String::new(), |it| format!(" {}", expression(&it.node, 0)));
            let step =
                Some(part(step)).filter(|step| !step.is_empty()).map_or(String::new(), |step| format!(" {step}"));
            text.push_str(&format!("{indent}for ({};{condition};{step}) {{\n", part(first)));
            block(body, depth, text);
            text.push_str(&format!("{indent}}}\n"));
        }
        Statement::DoWhile { body, condition } => {
            text.push_str(&format!("{indent}do {{\n"));
            block(body, depth, text);
            text.push_str(&format!("{indent}}} while ({});\n", expression(&condition.node, 0)));
        }
    }
}

fn block(body: &[Spanned<Statement>], depth: usize, text: &mut String) {
    for inner in body {
        statement(&inner.node, depth + 1, text);
    }
}

/// In parentheses where the context binds tighter.
fn expression(item: &Expression, context: u8) -> String {
    /// Tighter than every binary operator.
    const PREFIX: u8 = 11;
    match item {
        Expression::Integer(value) if *value < 0 && context > 0 => format!("({value})"),
        Expression::Integer(value) => value.to_string(),
        Expression::Name(name) => name.clone(),
        Expression::Dereference(inner) => format!("*{}", expression(&inner.node, PREFIX)),
        Expression::Index(array, index) => {
            format!("{}[{}]", expression(&array.node, PREFIX), expression(&index.node, 0))
        }
        Expression::AddressOf(inner) => format!("&{}", expression(&inner.node, PREFIX)),
        Expression::Unary(operator, inner) => {
            let mark = match operator {
                Unary::IsZero => "!",
                Unary::Negate => "-",
                Unary::Not => "~",
            };
            format!("{mark}{}", parenthesised_number(&inner.node, PREFIX))
        }
        Expression::Binary(operator, left, right) => {
            let (mark, binds) = operator.row();
            let text = format!("{} {mark} {}", expression(&left.node, binds), expression(&right.node, binds + 1));
            if binds < context { format!("({text})") } else { text }
        }
        Expression::Call { function, arguments } => {
            let arguments: Vec<String> = arguments.iter().map(|argument| expression(&argument.node, 0)).collect();
            format!("{}({})", function.node, arguments.join(", "))
        }
    }
}

/// `-(1)`: without the parentheses it would read as the integer -1.
fn parenthesised_number(item: &Expression, context: u8) -> String {
    match item {
        Expression::Integer(value) => format!("({value})"),
        _ => expression(item, context),
    }
}
