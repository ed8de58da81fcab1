//! The C of litmus tests: what `<stdatomic.h>` has with an order and, after it, a scope as in OpenCL, and plain accesses.
//!
//! A small language on purpose: `int` variables, pointers that are only the names of locations and arrays, `if`, `while`,
//! `do` and `for`.
//! Everything else of C is refused where it stands.

mod parser;
mod print;

pub(crate) use parser::CReader;
pub use print::statement as print;

use crate::span::Spanned;

/// What a thread takes: `atomic_int* x`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// `atomic_int`, `int`.
    pub ty: Spanned<String>,
    pub name: Spanned<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// `int r0 = e;`
    Declare {
        ty: Spanned<String>,
        name: Spanned<String>,
        value: Option<Spanned<Expression>>,
    },
    /// `r0 = e;`, `*x = e;`
    Assign {
        target: Spanned<Expression>,
        value: Spanned<Expression>,
    },
    /// A call for its effect.
    Call(Spanned<Expression>),
    If {
        condition: Spanned<Expression>,
        then: Vec<Spanned<Statement>>,
        otherwise: Vec<Spanned<Statement>>,
    },
    While {
        condition: Spanned<Expression>,
        body: Vec<Spanned<Statement>>,
    },
    DoWhile {
        body: Vec<Spanned<Statement>>,
        condition: Spanned<Expression>,
    },
    /// `for (int i = 0; i < 2; i++) { … }`; what is declared in its head is known to its end.
    For {
        first: Option<Box<Spanned<Statement>>>,
        /// None is true.
        condition: Option<Spanned<Expression>>,
        step: Option<Box<Spanned<Statement>>>,
        body: Vec<Spanned<Statement>>,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expression {
    Integer(i128),
    /// A variable, a location as a pointer, or a constant of the library (`memory_order_relaxed`).
    Name(String),
    /// `*x`
    Dereference(Box<Spanned<Expression>>),
    /// `&r0`, `&x[1]`
    AddressOf(Box<Spanned<Expression>>),
    /// `x[1]`
    Index(Box<Spanned<Expression>>, Box<Spanned<Expression>>),
    Unary(Unary, Box<Spanned<Expression>>),
    Binary(Binary, Box<Spanned<Expression>>, Box<Spanned<Expression>>),
    Call {
        function: Spanned<String>,
        arguments: Vec<Spanned<Expression>>,
    },
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Unary {
    /// `!`
    IsZero,
    Negate,
    /// `~`
    Not,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Binary {
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
}

impl Binary {
    /// As written, and how tightly it binds (C11 6.5): higher binds tighter.
    pub(crate) const TABLE: &'static [(&'static str, Binary, u8)] = &[
        ("||", Binary::Or, 1),
        ("&&", Binary::And, 2),
        ("|", Binary::BitOr, 3),
        ("^", Binary::BitXor, 4),
        ("&", Binary::BitAnd, 5),
        ("==", Binary::Equal, 6),
        ("!=", Binary::NotEqual, 6),
        ("<=", Binary::LessEqual, 7),
        (">=", Binary::GreaterEqual, 7),
        ("<", Binary::Less, 7),
        (">", Binary::Greater, 7),
        ("<<", Binary::ShiftLeft, 8),
        (">>", Binary::ShiftRight, 8),
        ("+", Binary::Add, 9),
        ("-", Binary::Subtract, 9),
        ("*", Binary::Multiply, 10),
    ];

    pub(crate) fn row(self) -> (&'static str, u8) {
        let row = Binary::TABLE.iter().find(|(_, operator, _)| *operator == self);
        row.map_or(("?", 0), |(text, _, binds)| (*text, *binds))
    }
}
