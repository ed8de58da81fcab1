//! One PTX instruction (ISA, "Instruction Statements"), real or in the bracket-free dialect of litmus tests:
//! `[@[!]p] opcode{.modifier} operand{, operand}`.
//!
//! The shape only: that `ld` has two operands is no business of this file.

use super::{Ends, Marks, Names, at_end_of_instruction, cuda, instance, is_numbered_register};
use crate::diagnostic::Diagnostic;
use crate::instruction::{Address, Guard, Instruction, Operand};
use crate::short::ShortText;
use crate::span::{Span, Spanned};
use crate::text::{Cursor, DEPTH_LIMIT, Kind, LeadingZero, integer, is_float};

pub(crate) struct PtxReader<'c, 'a> {
    pub(crate) cursor: &'c mut Cursor<'a>,
    pub(crate) marks: &'c mut Marks,
    pub(crate) ends: Ends,
    pub(crate) names: Names,
}

type Parsed = Option<Spanned<Operand>>;

impl PtxReader<'_, '_> {
    /// The instruction under the cursor, up to what follows its last operand. None after a report.
    pub(crate) fn instruction(&mut self) -> Option<Instruction> {
        let guard = if self.cursor.at("@") { Some(self.guard()?) } else { None };
        let word = self.cursor.word_token("an instruction")?;
        let opcode: Spanned<ShortText> = self.cursor.spanned(word);
        if opcode.node.starts_with("%") {
            let message = format!("expected an instruction, found the register `{}`", opcode.node);
            self.cursor.report(Diagnostic::error(opcode.span, message).label("no instruction starts like this"));
            return None;
        }
        if let Some(ptx) = cuda::in_ptx(&opcode.node).filter(|_| self.names == Names::Litmus) {
            let message = format!("`{}` is CUDA C++, and threads are written in PTX", opcode.node);
            self.cursor.report(Diagnostic::error(opcode.span, message).label("not PTX").help(format!("write {ptx}")));
            return None;
        }
        let opcode = Spanned::new(ShortText::lowercase(&opcode.node), opcode.span);
        let mut modifiers = Vec::new();
        while self.cursor.at(".") && !self.line_break() {
            self.cursor.bump();
            if !matches!(self.cursor.peek().kind, Kind::Word | Kind::Number) || self.cursor.peek().spaced {
                self.cursor.unexpected("a modifier directly after `.`");
                return None;
            }
            let token = self.cursor.bump();
            modifiers.push(self.cursor.spanned(token));
        }
        let operands = self.operands()?;
        Some(Instruction { guard, prefix: None, opcode, modifiers, operands })
    }

    fn line_break(&self) -> bool {
        self.ends == Ends::Line && self.cursor.peek().newline
    }

    fn guard(&mut self) -> Option<Guard> {
        let at = self.cursor.bump();
        self.marks.guard.get_or_insert(self.cursor.span(at));
        let negated = self.cursor.eat("!").is_some();
        let register = self.cursor.word_token("a predicate register after `@`")?;
        Some(Guard { negated, register: self.cursor.spanned(register) })
    }

    fn operands(&mut self) -> Option<Vec<Spanned<Operand>>> {
        let mut operands = Vec::new();
        if at_end_of_instruction(self.cursor, self.ends) {
            return Some(operands);
        }
        loop {
            let operand = self.operand(0)?;
            operands.push(self.displaced(operand)?);
            if self.line_break() || self.cursor.eat(",").is_none() {
                return Some(operands);
            }
        }
    }

    /// `table+8`, the address of a name and an offset, as `mov` and matrix descriptors take it (PTX ISA 6.4.1). In
    /// brackets the address reads the offset.
    fn displaced(&mut self, operand: Spanned<Operand>) -> Parsed {
        let signed = self.cursor.at("+") || self.cursor.at("-");
        if !signed || self.line_break() || !matches!(operand.node, Operand::Symbol(_)) {
            return Some(operand);
        }
        let (offset, end) = self.offset()?;
        let span = operand.span.to(end);
        Some(Spanned::new(Operand::Offset(Box::new(operand), offset), span))
    }

    fn operand(&mut self, depth: u32) -> Parsed {
        if depth > DEPTH_LIMIT {
            let span = self.cursor.here();
            self.cursor.error(span, format!("operands nest deeper than {DEPTH_LIMIT} levels"));
            self.cursor.give_up();
            return None;
        }
        let token = self.cursor.peek();
        let start = self.cursor.span(token);
        match token.kind {
            Kind::Word => self.named(),
            Kind::Number => self.number(start, Sign::Plus),
            Kind::Text => {
                self.cursor.bump();
                let text = self.cursor.str(token);
                let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
                Some(Spanned::new(Operand::Text(inner.to_owned()), start))
            }
            Kind::Mark => match self.cursor.str(token) {
                "[" => self.address(depth),
                "{" => self.list(depth, "}").map(|list| list.map_into(Operand::Vector)),
                "(" => self.list(depth, ")").map(|list| list.map_into(Operand::List)),
                "!" => {
                    self.cursor.bump();
                    self.negated(start, depth)
                }
                "-" => {
                    self.cursor.bump();
                    if self.cursor.at_kind(Kind::Number) {
                        self.number(start, Sign::Minus)
                    } else {
                        self.negated(start, depth)
                    }
                }
                _ => self.no_operand(),
            },
            Kind::Bad | Kind::End => self.no_operand(),
        }
    }

    fn no_operand(&mut self) -> Parsed {
        let next = self.cursor.ahead(1);
        let is_number = next.kind == Kind::Number && !next.spaced;
        let help = match () {
            () if self.cursor.at("%") && is_number => {
                "this is an operand of inline assembly: write the register or the location that it stands for"
            }
            () if self.cursor.at("$") => "this looks like x86: a thread of the host is placed with `P0@x86`",
            () => {
                self.cursor.unexpected("an operand");
                return None;
            }
        };
        let diagnostic = self.cursor.unexpected_diagnostic("an operand");
        self.cursor.report(diagnostic.help(help));
        None
    }

    fn negated(&mut self, start: Span, depth: u32) -> Parsed {
        let inner = self.operand(depth + 1)?;
        let span = start.to(inner.span);
        Some(Spanned::new(Operand::Negated(Box::new(inner)), span))
    }

    /// A register (with a vector element or a special register's part), `_`, a symbol, or a pair of destinations.
    fn named(&mut self) -> Parsed {
        let first = self.name();
        let pair = self.cursor.at("|") && {
            let next = self.cursor.ahead(1);
            // In a row `|` also parts cells; no instruction starts with `%`.
            next.kind == Kind::Word && (self.ends != Ends::Cell || self.cursor.str(next).starts_with('%'))
        };
        if !pair {
            return Some(first);
        }
        self.cursor.bump();
        let second = self.name();
        let span = first.span.to(second.span);
        Some(Spanned::new(Operand::Pair(Box::new(first), Box::new(second)), span))
    }

    fn name(&mut self) -> Spanned<Operand> {
        let token = self.cursor.bump();
        let span = self.cursor.span(token);
        let name = self.cursor.str(token);
        if name == "_" {
            return Spanned::new(Operand::Sink, span);
        }
        if !name.starts_with('%') {
            let register = self.names == Names::Litmus && is_numbered_register(name);
            if register {
                return Spanned::new(Operand::Register(name.into()), span);
            }
            if self.names == Names::Litmus
                && let Some((cta, end)) = instance(self.cursor)
            {
                return Spanned::new(Operand::Symbol(format!("{name}@{cta}").into()), span.to(end));
            }
            return Spanned::new(Operand::Symbol(name.into()), span);
        }
        self.marks.percent.get_or_insert(span);
        let part = self.cursor.ahead(1);
        if self.cursor.at(".") && !self.cursor.peek().spaced && part.kind == Kind::Word && !part.spaced {
            self.cursor.bump();
            self.cursor.bump();
            let name = ShortText::joined(&[name, ".", self.cursor.str(part)]);
            return Spanned::new(Operand::Register(name), span.to(self.cursor.span(part)));
        }
        Spanned::new(Operand::Register(name.into()), span)
    }

    fn number(&mut self, start: Span, sign: Sign) -> Parsed {
        let token = self.cursor.bump();
        let text = self.cursor.str(token);
        let span = start.to(self.cursor.span(token));
        if is_float(text) {
            let text = if sign == Sign::Minus { format!("-{text}") } else { text.to_owned() };
            return Some(Spanned::new(Operand::Float(text), span));
        }
        match integer(text, LeadingZero::Octal) {
            Some(value) => Some(Spanned::new(Operand::Integer(if sign == Sign::Minus { -value } else { value }), span)),
            None => {
                self.cursor.report(bad_number(text, span));
                None
            }
        }
    }

    /// `[base]`, `[base+8]`, `[base+-8]`, `[base, rest]`.
    fn address(&mut self, depth: u32) -> Parsed {
        let open = self.cursor.bump();
        let start = self.cursor.span(open);
        self.marks.bracket.get_or_insert(start);
        let base = self.operand(depth + 1)?;
        if !matches!(base.node, Operand::Register(_) | Operand::Symbol(_) | Operand::Integer(_)) {
            let diagnostic = Diagnostic::error(base.span, "an address starts with a register, a name or an integer");
            self.cursor.report(diagnostic.label("cannot be an address"));
            return None;
        }
        let mut offset = 0i128;
        while self.cursor.at("+") || self.cursor.at("-") {
            offset = offset.wrapping_add(self.offset()?.0);
        }
        let mut rest = Vec::new();
        while self.cursor.eat(",").is_some() {
            rest.push(self.operand(depth + 1)?);
        }
        let close = self.cursor.expect("]", "to close the address")?;
        Some(Spanned::new(Operand::Address(Address { base: Box::new(base), offset, rest }), start.to(close)))
    }

    /// `+8`, `-8` or `+-8`, and where it ends.
    fn offset(&mut self) -> Option<(i128, Span)> {
        let plus = self.cursor.at("+");
        self.cursor.bump();
        let minus = !plus || self.cursor.eat("-").is_some();
        if !self.cursor.at_kind(Kind::Number) {
            let diagnostic = self.cursor.unexpected_diagnostic("an integer offset");
            self.cursor.report(diagnostic.help("add registers with their own instruction first"));
            return None;
        }
        let token = self.cursor.bump();
        let span = self.cursor.span(token);
        let value = integer(self.cursor.str(token), LeadingZero::Octal);
        if value.is_none() {
            self.cursor.report(bad_number(self.cursor.str(token), span));
        }
        value.map(|value| (if minus { -value } else { value }, span))
    }

    fn list(&mut self, depth: u32, close: &str) -> Option<Spanned<Vec<Spanned<Operand>>>> {
        let open = self.cursor.bump();
        let start = self.cursor.span(open);
        let mut items = Vec::new();
        if let Some(end) = self.cursor.eat(close) {
            return Some(Spanned::new(items, start.to(end)));
        }
        loop {
            items.push(self.operand(depth + 1)?);
            if self.cursor.eat(",").is_none() {
                let end = self.cursor.expect(close, "to close the list")?;
                return Some(Spanned::new(items, start.to(end)));
            }
        }
    }
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
}

impl<T> Spanned<T> {
    fn map_into<U>(self, make: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned::new(make(self.node), self.span)
    }
}

pub(crate) fn bad_number(text: &str, span: Span) -> Diagnostic {
    let shown: String = text.chars().take(40).collect();
    let help = "integers are decimal, hexadecimal (0x1f), binary (0b101) or octal, and below 2^127";
    Diagnostic::error(span, format!("`{shown}` is not a number")).label("not a number").help(help)
}
