//! The tree of a cat file.

use std::sync::Arc;

use super::late::Late;
use crate::span::{Span, Spanned};

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Model {
    /// The leading architecture name and model name, where present (`X86 TSO`, `PTX`, `"Generate co's"`).
    pub header: Vec<Spanned<String>>,
    pub instructions: Vec<Spanned<CatInstruction>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CatInstruction {
    Let {
        recursive: bool,
        bindings: Vec<Binding>,
        /// `let rec … when test`: an execution whose fixpoint fails the test is dropped.
        when: Option<Check>,
    },
    Check(Check),
    /// `show e as name`, `show a, b`.
    Show {
        items: Vec<Show>,
    },
    Unshow {
        names: Vec<Spanned<String>>,
    },
    Include {
        file: Spanned<String>,
    },
    Procedure {
        recursive: bool,
        name: Spanned<String>,
        parameters: Vec<Pattern>,
        body: Vec<Spanned<CatInstruction>>,
    },
    Call {
        name: Spanned<String>,
        arguments: Vec<Spanned<Expression>>,
        label: Option<Spanned<String>>,
    },
    /// `with co from generate_cos(co0)`.
    WithFrom {
        name: Spanned<String>,
        from: Spanned<Expression>,
    },
    Forall {
        name: Spanned<String>,
        over: Spanned<Expression>,
        body: Vec<Spanned<CatInstruction>>,
    },
    /// `if "variant" … else … end`.
    If {
        condition: Spanned<VariantCondition>,
        then: Vec<Spanned<CatInstruction>>,
        otherwise: Vec<Spanned<CatInstruction>>,
    },
    Match {
        scrutinee: Spanned<Expression>,
        clauses: Vec<InstructionClause>,
    },
    Enum {
        name: Spanned<String>,
        tags: Vec<Spanned<String>>,
    },
    Debug(Spanned<Expression>),
    /// bell's `instructions ID[...]` / `default ID[...]`: kept as text, refused by name when a model uses it.
    Bell {
        text: String,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstructionClause {
    /// None is `_`.
    pub tag: Option<Spanned<String>>,
    pub body: Vec<Spanned<CatInstruction>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binding {
    pub pattern: BindingPattern,
    pub value: Late<Spanned<Expression>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BindingPattern {
    Name(Spanned<String>),
    /// `let (a, b) = …`. One element stands for the value itself: `let _ = e` is `Tuple([Ignore])`.
    Tuple(Vec<Pattern>),
    /// `let f x = …`, `let f (x, y) = …`.
    Function {
        name: Spanned<String>,
        parameters: Vec<Pattern>,
    },
}

/// A parameter: a name, or `_`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pattern {
    Name(Spanned<String>),
    Ignore,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Show {
    pub expression: Spanned<Expression>,
    pub name: Spanned<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    pub role: CheckRole,
    pub negated: bool,
    pub kind: CheckKind,
    pub expression: Spanned<Expression>,
    pub name: Option<Spanned<String>>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum CheckRole {
    /// A violated axiom rules the execution out.
    Axiom,
    /// `flag`: the execution stays, marked.
    Flag,
    /// `undefined_unless`: the execution stays, marked undefined.
    UndefinedUnless,
    /// `assert`: a violation is an error of the model.
    Assert,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum CheckKind {
    Acyclic,
    Irreflexive,
    Empty,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expression {
    /// `0` or `{}`.
    Empty,
    /// `_`: the set of all events.
    Universe,
    /// Shared by all places of a compiled model that name the same.
    Name(Arc<str>),
    /// `'tag`.
    Tag(String),
    /// `{e, f}`.
    Set(Vec<Spanned<Expression>>),
    Tuple(Vec<Spanned<Expression>>),
    /// `[S]`.
    Identity(Box<Spanned<Expression>>),
    Unary(UnaryOperator, Box<Spanned<Expression>>),
    /// The operands lie together: most of a compiled model that is read is such.
    Binary(BinaryOperator, Box<[Spanned<Expression>; 2]>),
    Apply {
        function: Box<Spanned<Expression>>,
        argument: Box<Spanned<Expression>>,
    },
    Function {
        parameters: Vec<Pattern>,
        body: Box<Spanned<Expression>>,
    },
    Let {
        recursive: bool,
        bindings: Vec<Binding>,
        body: Box<Spanned<Expression>>,
    },
    Try {
        body: Box<Spanned<Expression>>,
        fallback: Box<Spanned<Expression>>,
    },
    If {
        condition: Box<Spanned<ConditionExpression>>,
        then: Box<Spanned<Expression>>,
        otherwise: Box<Spanned<Expression>>,
    },
    MatchTags {
        scrutinee: Box<Spanned<Expression>>,
        clauses: Vec<ExpressionClause>,
    },
    /// `match S with || {} -> e || x ++ xs -> f end`.
    MatchSet {
        scrutinee: Box<Spanned<Expression>>,
        clauses: Box<SetClauses>,
    },
}

/// The two clauses of a match on a set, on their own because they would make every expression three times as large.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetClauses {
    pub empty: Spanned<Expression>,
    /// The `p` of `p | x ++ xs`.
    pub before: Option<Pattern>,
    pub element: Pattern,
    pub rest: Pattern,
    pub step: Spanned<Expression>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpressionClause {
    pub tag: Option<Spanned<String>>,
    pub value: Spanned<Expression>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConditionExpression {
    Equal(Spanned<Expression>, Spanned<Expression>),
    Subset(Spanned<Expression>, Spanned<Expression>),
    In(Spanned<Expression>, Spanned<Expression>),
    Variant(VariantCondition),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VariantCondition {
    Name(String),
    Not(Box<VariantCondition>),
    And(Box<VariantCondition>, Box<VariantCondition>),
    Or(Box<VariantCondition>, Box<VariantCondition>),
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum UnaryOperator {
    /// `~e`.
    Complement,
    /// `e^-1`.
    Inverse,
    /// `e+`.
    Plus,
    /// `e*`.
    Star,
    /// `e?`.
    Optional,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BinaryOperator {
    /// `a | b`.
    Union,
    /// `a & b`.
    Intersection,
    /// `a \ b`.
    Difference,
    /// `a ; b`.
    Sequence,
    /// `S * T`.
    Product,
    /// `e ++ S`.
    Insert,
}

impl Model {
    /// The whole file's place, for diagnostics about the model as such.
    pub fn span(&self) -> Span {
        self.header.first().map_or(Span::default(), |name| name.span)
    }
}
