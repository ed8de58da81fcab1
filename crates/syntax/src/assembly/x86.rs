//! One x86 instruction as herd writes them: Intel's order for `X86` (`MOV [x],$1`), AT&T's for `X86_64`
//! (`movl $1,(x)`). The tree is always in Intel's order, destination first: see [`settle`].

use super::{Ends, Marks, at_end_of_instruction, ptx::bad_number};
use crate::diagnostic::Diagnostic;
use crate::instruction::{Address, Instruction, Operand};
use crate::span::{Span, Spanned};
use crate::text::{Cursor, Kind, LeadingZero, integer};

pub(crate) struct X86Reader<'c, 'a> {
    pub(crate) cursor: &'c mut Cursor<'a>,
    pub(crate) marks: &'c mut Marks,
    pub(crate) ends: Ends,
}

type Parsed = Option<Spanned<Operand>>;

impl X86Reader<'_, '_> {
    pub(crate) fn instruction(&mut self) -> Option<Instruction> {
        let mut prefix = None;
        let mut opcode = self.opcode()?;
        if opcode.node == "lock" && !at_end_of_instruction(self.cursor, self.ends) {
            prefix = Some(opcode);
            opcode = self.opcode()?;
        }
        if self.cursor.at(".") {
            let help =
                "this looks like PTX: place the thread on the device, `P1@cta 0, gpu 0`, and head the test `PTX`";
            let diagnostic = self.cursor.unexpected_diagnostic("an operand of an x86 instruction");
            self.cursor.report(diagnostic.help(help));
            return None;
        }
        let mut operands = Vec::new();
        let mut size = None;
        if !at_end_of_instruction(self.cursor, self.ends) {
            loop {
                size = self.size().or(size);
                operands.push(self.operand()?);
                if self.cursor.eat(",").is_none() {
                    break;
                }
            }
        }
        if let Some(size) = size {
            self.apply(&size, &mut opcode, &operands)?;
        }
        Some(Instruction { guard: None, prefix, opcode, modifiers: Vec::new(), operands })
    }

    /// `DWORD PTR`, `dword` and the same of `QWORD` in front of memory: the suffix that means the same.
    fn size(&mut self) -> Option<Spanned<&'static str>> {
        let token = self.cursor.peek();
        let suffix = match self.cursor.str(token).to_ascii_lowercase().as_str() {
            "dword" => "l",
            "qword" => "q",
            _ => return None,
        };
        let with_ptr = self.cursor.str(self.cursor.ahead(1)).eq_ignore_ascii_case("ptr");
        if !with_ptr && !self.cursor.is(1, "[") {
            return None;
        }
        let start = self.cursor.bump();
        let end = if with_ptr { self.cursor.bump() } else { start };
        Some(Spanned::new(suffix, self.cursor.span(start).to(self.cursor.span(end))))
    }

    /// A register says the size already, and must say the same.
    fn apply(
        &mut self,
        size: &Spanned<&str>,
        opcode: &mut Spanned<String>,
        operands: &[Spanned<Operand>],
    ) -> Option<()> {
        let register = operands.iter().find_map(|operand| match &operand.node {
            Operand::Register(name) => Some(name.as_str()),
            _ => None,
        });
        let Some(name) = register else {
            opcode.node.push_str(size.node);
            return Some(());
        };
        if is_wide(name) == (size.node == "q") {
            return Some(());
        }
        let message = format!("the size of memory is not that of the register `{name}`");
        self.cursor.report(Diagnostic::error(size.span, message).label("another size"));
        None
    }

    fn opcode(&mut self) -> Option<Spanned<String>> {
        let word = self.cursor.word("an instruction")?;
        Some(Spanned::new(word.node.to_ascii_lowercase(), word.span))
    }

    fn operand(&mut self) -> Parsed {
        let token = self.cursor.peek();
        let start = self.cursor.span(token);
        match (token.kind, self.cursor.str(token)) {
            (Kind::Word, _) => self.named(),
            (Kind::Number, _) => {
                let value = self.integer()?;
                // `8(%rax)`: the offset comes first in AT&T's notation.
                if self.cursor.at("(") { self.parenthesised(value.node, start) } else { Some(as_operand(value)) }
            }
            (Kind::Mark, "-") => {
                let value = self.integer()?;
                if self.cursor.at("(") { self.parenthesised(value.node, start) } else { Some(as_operand(value)) }
            }
            (Kind::Mark, "$") => {
                self.cursor.bump();
                let value = self.integer()?;
                Some(Spanned::new(Operand::Integer(value.node), start.to(value.span)))
            }
            (Kind::Mark, "[") => self.bracketed(),
            (Kind::Mark, "(") => self.parenthesised(0, start),
            _ => {
                self.cursor.unexpected("an operand");
                None
            }
        }
    }

    fn named(&mut self) -> Parsed {
        let token = self.cursor.bump();
        let span = self.cursor.span(token);
        let operand = self.name(self.cursor.str(token), span)?;
        // `x(%rip)`: position-independent for `x`.
        if self.cursor.at("(") && self.cursor.is(1, "%rip") && self.cursor.is(2, ")") {
            self.marks.paren.get_or_insert(span);
            for _ in 0..3 {
                self.cursor.bump();
            }
            let base = Box::new(Spanned::new(operand, span));
            return Some(Spanned::new(Operand::Address(Address { base, offset: 0, rest: Vec::new() }), span));
        }
        Some(Spanned::new(operand, span))
    }

    fn name(&mut self, name: &str, span: Span) -> Option<Operand> {
        if let Some(register) = name.strip_prefix('%') {
            self.marks.percent.get_or_insert(span);
            let upper = register.to_ascii_uppercase();
            if !is_register(&upper) {
                let message = format!("x86 has no register `{name}`");
                self.cursor.report(Diagnostic::error(span, message).label("not a register"));
                return None;
            }
            return Some(Operand::Register(upper));
        }
        if matches!(name.to_ascii_lowercase().as_str(), "byte" | "word" | "dword" | "qword" | "ptr") {
            let help = "the size follows from the register (EAX, AX, AL) or from the mnemonic (movl, movw, movb)";
            let message = format!("the size `{name}` in front of an operand is not supported");
            self.cursor.report(Diagnostic::error(span, message).label("remove this").help(help));
            return None;
        }
        let name = name.strip_prefix('$').unwrap_or(name);
        let upper = name.to_ascii_uppercase();
        Some(if is_register(&upper) { Operand::Register(upper) } else { Operand::Symbol(name.to_owned()) })
    }

    fn integer(&mut self) -> Option<Spanned<i128>> {
        let start = self.cursor.here();
        let minus = self.cursor.eat("-").is_some();
        if !self.cursor.at_kind(Kind::Number) {
            self.cursor.unexpected("an integer");
            return None;
        }
        let token = self.cursor.bump();
        let span = start.to(self.cursor.span(token));
        let value = integer(self.cursor.str(token), LeadingZero::Decimal);
        if value.is_none() {
            self.cursor.report(bad_number(self.cursor.str(token), span));
        }
        value.map(|value| Spanned::new(if minus { -value } else { value }, span))
    }

    /// `[x]`, `[x+4]`, `[rax-8]`.
    fn bracketed(&mut self) -> Parsed {
        let start = self.cursor.here();
        self.cursor.bump();
        self.marks.bracket.get_or_insert(start);
        let base = self.base()?;
        let mut offset = 0;
        if self.cursor.at("+") || self.cursor.at("-") {
            self.cursor.eat("+");
            if !self.cursor.at_kind(Kind::Number) && !self.cursor.at("-") {
                return self.indexed();
            }
            offset = self.integer()?.node;
        }
        let close = self.cursor.expect("]", "to close the address")?;
        Some(address(base, offset, start.to(close)))
    }

    /// `(x)`, `(%rax)`, after its offset.
    fn parenthesised(&mut self, offset: i128, start: Span) -> Parsed {
        let open = self.cursor.here();
        self.cursor.bump();
        self.marks.paren.get_or_insert(open);
        let base = self.base()?;
        if self.cursor.at(",") {
            return self.indexed();
        }
        let close = self.cursor.expect(")", "to close the address")?;
        Some(address(base, offset, start.to(close)))
    }

    fn base(&mut self) -> Parsed {
        if !self.cursor.at_kind(Kind::Word) {
            self.cursor.unexpected("a location or a register");
            return None;
        }
        let token = self.cursor.bump();
        let span = self.cursor.span(token);
        let name = self.name(self.cursor.str(token), span)?;
        Some(Spanned::new(name, span))
    }

    fn indexed(&mut self) -> Parsed {
        let diagnostic = Diagnostic::error(self.cursor.here(), "addresses with an index register are not supported");
        self.cursor
            .report(diagnostic.label("index register").help("add it to the base with its own instruction first"));
        None
    }
}

fn as_operand(value: Spanned<i128>) -> Spanned<Operand> {
    Spanned::new(Operand::Integer(value.node), value.span)
}

fn address(base: Spanned<Operand>, offset: i128, span: Span) -> Spanned<Operand> {
    Spanned::new(Operand::Address(Address { base: Box::new(base), offset, rest: Vec::new() }), span)
}

/// Whether a file's instructions are in AT&T's order: `%` registers or `(x)` memory say so. A file that also has `[x]`
/// is refused, because its operand order would be a guess.
pub(crate) fn settle(marks: &Marks) -> Result<Order, Diagnostic> {
    match (marks.percent.or(marks.paren), marks.bracket) {
        (Some(span), Some(_)) => Err(Diagnostic::error(span, "this test mixes AT&T's and Intel's notation")
            .label("AT&T's notation, source operand first")
            .help("write memory as `[x]` and registers without `%` (Intel), or `(x)` and `%eax` (AT&T) throughout")),
        (Some(_), None) => Ok(Order::AttReversed),
        (None, _) => Ok(Order::Intel),
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Intel,
    AttReversed,
}

/// Whether a general-purpose register has 64 bits.
fn is_wide(upper: &str) -> bool {
    upper.starts_with('R') && !upper.ends_with(['D', 'W', 'B'])
}

/// General-purpose registers of every width, and the vector registers.
pub(crate) fn is_register(upper: &str) -> bool {
    const LEGACY: [&str; 8] = ["AX", "BX", "CX", "DX", "SI", "DI", "BP", "SP"];
    const BYTES: [&str; 12] = ["AL", "BL", "CL", "DL", "AH", "BH", "CH", "DH", "SIL", "DIL", "BPL", "SPL"];
    let number = |digits: &str, from: u32, to: u32| digits.parse::<u32>().is_ok_and(|n| (from..to).contains(&n));
    if LEGACY.contains(&upper) || BYTES.contains(&upper) || matches!(upper, "RIP" | "EIP" | "RFLAGS" | "EFLAGS") {
        return true;
    }
    if let Some(rest) = upper.strip_prefix("XMM") {
        return number(rest, 0, 16);
    }
    match upper.as_bytes() {
        [b'E' | b'R', ..] if LEGACY.contains(&&upper[1..]) => true,
        [b'R', ..] => number(upper[1..].trim_end_matches(['D', 'W', 'B']), 8, 16),
        _ => false,
    }
}
