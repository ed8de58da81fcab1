//! Terms, conditions and questions as text. The notation is herd's; a register carries its thread's name.

use fencepost_program::program::{Condition, Program, Term};
use fencepost_syntax::litmus::{Arch, Comparison, QuestionKind};

/// How a condition's threads and locations are written.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Notation {
    /// `P1:r0`, `x`: for people and reports.
    Named,
    /// `1:r0`, `[x]`: herd's logs.
    Herd,
}

/// "P0", "P0 and P1", "P0, P1 and P2".
pub fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// "a", "a or b", "a, b or c".
pub fn either(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}

pub fn term(program: &Program, term: &Term, notation: Notation) -> String {
    match term {
        Term::Constant(value) => value.to_string(),
        Term::Register(thread, register) => {
            let owner = program.threads.get(thread.index());
            let name = owner.and_then(|owner| owner.registers.get(register.index()));
            let name = name.map_or("?", |register| register.name.as_str());
            match (notation, owner) {
                (Notation::Named, Some(owner)) => format!("{}:{name}", owner.name),
                _ => format!("{}:{name}", thread.index()),
            }
        }
        Term::Memory(location) => {
            let name = program.locations.get(location.index()).map_or("?", |location| location.name.as_str());
            match notation {
                Notation::Named => name.to_owned(),
                Notation::Herd => format!("[{name}]"),
            }
        }
    }
}

pub fn condition(program: &Program, what: &Condition, notation: Notation) -> String {
    let mut text = String::new();
    write(program, what, notation, Position::Top, &mut text);
    text
}

/// Where a part stands, which decides its parentheses.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Position {
    Top,
    Disjunct,
    Conjunct,
    Negated,
}

/// Recursion depth is the condition's, which the parser limits.
fn write(program: &Program, what: &Condition, notation: Notation, position: Position, text: &mut String) {
    match what {
        Condition::True => text.push_str("true"),
        Condition::False => text.push_str("false"),
        Condition::Compare { op, left, right } => {
            let open = position == Position::Negated;
            if open {
                text.push('(');
            }
            text.push_str(&term(program, left, notation));
            text.push_str(comparison(*op));
            text.push_str(&term(program, right, notation));
            if open {
                text.push(')');
            }
        }
        Condition::Not(inner) => {
            text.push('~');
            write(program, inner, notation, Position::Negated, text);
        }
        Condition::And(parts) => list(program, parts, notation, " /\\ ", (Position::Conjunct, position), text),
        Condition::Or(parts) => list(program, parts, notation, " \\/ ", (Position::Disjunct, position), text),
    }
}

fn list(
    program: &Program,
    parts: &[Condition],
    notation: Notation,
    between: &str,
    (own, outer): (Position, Position),
    text: &mut String,
) {
    let open = outer >= own;
    if open {
        text.push('(');
    }
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            text.push_str(between);
        }
        write(program, part, notation, own, text);
    }
    if open {
        text.push(')');
    }
}

fn comparison(op: Comparison) -> &'static str {
    match op {
        Comparison::Equal => "=",
        Comparison::NotEqual => "!=",
        Comparison::Less => "<",
        Comparison::LessEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterEqual => ">=",
    }
}

pub fn question_kind(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Exists => "exists",
        QuestionKind::NotExists => "~exists",
        QuestionKind::Forall => "forall",
        QuestionKind::Permit => "permit",
        QuestionKind::Assert => "assert",
        QuestionKind::Check => "check",
    }
}

pub fn arch(arch: Arch) -> &'static str {
    match arch {
        Arch::Ptx => "PTX",
        Arch::X86 => "X86",
        Arch::X86_64 => "X86_64",
        Arch::C => "C",
    }
}

/// `1 execution`, `2 executions`.
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
