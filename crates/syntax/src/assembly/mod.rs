//! Text of one instruction to [`Instruction`](crate::instruction::Instruction) and back, for PTX-like and x86 syntax.

mod cuda;
pub(crate) mod print;
pub(crate) mod ptx;
pub(crate) mod x86;

use crate::span::Span;
use crate::text::{Cursor, Kind};

/// What may follow an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ends {
    /// A cell of a row: `|` or `;`.
    Cell,
    /// A thread block: a line end, `;` or `}`.
    Line,
    /// A PTX module: `;`.
    Semicolon,
}

/// Which bare names are registers.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Names {
    /// Only `%` names: a module declares the others with `.reg`, in scopes that this crate does not track.
    Module,
    /// `%` names and `r1`.
    Litmus,
}

/// Notations seen on the way, with the first place of each: they tell PTX from Dartagnan's dialect, and AT&T from Intel.
#[derive(Copy, Clone, Default, Debug)]
pub(crate) struct Marks {
    pub(crate) percent: Option<Span>,
    pub(crate) bracket: Option<Span>,
    pub(crate) paren: Option<Span>,
    pub(crate) guard: Option<Span>,
    /// Of x86: a constant before other operands.
    pub(crate) constant_first: Option<Span>,
    /// Of x86: a name in no brackets and without `$`, where no jump leads.
    pub(crate) bare_symbol: Option<Span>,
}

/// Whether the cursor stands where an instruction may end.
pub(crate) fn at_end_of_instruction(cursor: &Cursor, ends: Ends) -> bool {
    if cursor.at_kind(Kind::End) || cursor.at(";") {
        return true;
    }
    match ends {
        Ends::Cell => cursor.at("|"),
        Ends::Line => cursor.at("}") || cursor.peek().newline,
        Ends::Semicolon => cursor.at("}"),
    }
}

/// After an error: to the end of the instruction, brackets and all.
pub(crate) fn skip_instruction(cursor: &mut Cursor, ends: Ends) {
    while !at_end_of_instruction(cursor, ends) {
        cursor.bump();
    }
}

/// The `1` of `s@1`, directly after the name.
pub(crate) fn instance(cursor: &mut Cursor) -> Option<(String, Span)> {
    let number = cursor.ahead(1);
    let is_instance = cursor.at("@") && !cursor.peek().spaced && number.kind == Kind::Number && !number.spaced;
    if !is_instance {
        return None;
    }
    cursor.bump();
    cursor.bump();
    Some((cursor.str(number).to_owned(), cursor.span(number)))
}

/// `r1`, the register names of Dartagnan's dialect and of NVLitmus.
pub(crate) fn is_numbered_register(name: &str) -> bool {
    name.strip_prefix('r').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}
