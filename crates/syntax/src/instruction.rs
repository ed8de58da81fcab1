//! One instruction as a tree, whatever the dialect. The grammar fixes the shape only; what an opcode means, and which
//! modifiers it may carry, is the instruction table of the `program` crate.

use crate::short::ShortText;
use crate::span::{Span, Spanned};

/// `@%p ld.acquire.gpu.u32 %r1, [x+4];` or `lock xadd [x],eax` or (Dartagnan) `ld.acquire.gpu r1, x`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// `@p` / `@!p` (PTX).
    pub guard: Option<Guard>,
    /// `lock` (x86).
    pub prefix: Option<Spanned<ShortText>>,
    /// Lower case, without modifiers: `ld`, `mov`, `fence`.
    pub opcode: Spanned<ShortText>,
    /// What follows the opcode after dots, in source order, without the dots: `acquire`, `shared::cta`, `u32`.
    pub modifiers: Vec<Spanned<ShortText>>,
    pub operands: Vec<Spanned<Operand>>,
}

impl Instruction {
    /// The span from the guard (or prefix or opcode) to the last operand.
    pub fn span(&self) -> Span {
        let first = self.guard.as_ref().map(|guard| guard.register.span);
        let first = first.or(self.prefix.as_ref().map(|prefix| prefix.span)).unwrap_or(self.opcode.span);
        let last = self.operands.last().map(|operand| operand.span);
        let last = last.or(self.modifiers.last().map(|modifier| modifier.span)).unwrap_or(self.opcode.span);
        first.to(last)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guard {
    pub negated: bool,
    pub register: Spanned<ShortText>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A register. PTX registers keep their `%`; Dartagnan's `r1` and x86's `EAX` are as written (x86 upper case).
    /// PTX vector elements and special registers (`%tid.x`) are registers too.
    Register(ShortText),
    /// A name that is no register: a location, a label, a parameter, a function.
    Symbol(ShortText),
    /// An integer immediate: decimal, hex, octal, binary, negative, `$1` in x86.
    Integer(i128),
    /// A floating-point immediate, as written (`0f3F800000`, `1.5`).
    Float(String),
    /// `[base+offset]`. NVLitmus and PTX write brackets; Dartagnan's dialect has none and uses [`Operand::Symbol`].
    Address(Address),
    /// `table+8` outside brackets: the address of a name and what lies that many bytes behind it.
    Offset(Box<Spanned<Operand>>, i128),
    /// `{%r1, %r2}`.
    Vector(Vec<Spanned<Operand>>),
    /// `%p|%q` (a pair of destinations).
    Pair(Box<Spanned<Operand>>, Box<Spanned<Operand>>),
    /// `!%p` or `-%r1`.
    Negated(Box<Spanned<Operand>>),
    /// `_`.
    Sink,
    /// `"string"`.
    Text(String),
    /// A parenthesised list, as `call` uses.
    List(Vec<Spanned<Operand>>),
}

/// `[base]`, `[base+8]`, `[base, {%r1, %r2}]` (tensor coordinates and the like in `rest`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    pub base: Box<Spanned<Operand>>,
    pub offset: i128,
    pub rest: Vec<Spanned<Operand>>,
}
