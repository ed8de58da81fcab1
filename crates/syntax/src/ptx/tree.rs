//! The tree of a PTX module: directives, functions, blocks, labels and instructions.

use crate::instruction::Instruction;
use crate::span::Spanned;

/// A module as a compiler emits it. Nothing in it is interpreted here.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Module {
    pub items: Vec<Spanned<Item>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// `.version 8.7`, `.reg .b32 %r<5>;`, `.loc 1 2 3`, `.section ... { }`: name without the dot and the rest as written.
    Directive {
        name: String,
        text: String,
    },
    /// `.visible .entry name(params) attributes { body }`.
    Function {
        kind: FunctionKind,
        name: Spanned<String>,
        header: String,
        body: Vec<Spanned<Item>>,
    },
    /// `{ ... }` inside a function.
    Block(Vec<Spanned<Item>>),
    Label(String),
    Instruction(Instruction),
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum FunctionKind {
    Entry,
    Function,
}
