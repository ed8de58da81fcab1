//! One x86 instruction as herd writes them: Intel's order for `X86` (`MOV [x],$1`), AT&T's for `X86_64`
//! (`movl $1,(x)`). The tree is always in Intel's order, destination first: see [`settle`].

use super::{Ends, Marks, at_end_of_instruction, ptx::bad_number};
use crate::diagnostic::Diagnostic;
use crate::instruction::{Address, Instruction, Operand};
use crate::short::ShortText;
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
        // Few have more; room for four would be more than the allocator keeps at hand.
        let mut operands = Vec::with_capacity(2);
        let mut size = None;
        if !at_end_of_instruction(self.cursor, self.ends) {
            loop {
                size = self.size().or(size);
                let is_value = self.cursor.str(self.cursor.peek()).starts_with('$') || opcode.node.starts_with("j");
                let operand = self.operand()?;
                if !is_value && matches!(operand.node, Operand::Symbol(_)) {
                    self.marks.bare_symbol.get_or_insert(operand.span);
                }
                operands.push(operand);
                if self.cursor.eat(",").is_none() {
                    break;
                }
            }
        }
        if let (Some(Operand::Integer(_)), true) = (operands.first().map(|first| &first.node), operands.len() > 1) {
            self.marks.constant_first.get_or_insert(opcode.span);
        }
        if let Some(size) = size {
            self.apply(&size, &mut opcode, &operands)?;
        }
        Some(Instruction { guard: None, prefix, opcode, modifiers: Vec::new(), operands })
    }

    /// `DWORD PTR`, `dword` and the same of `QWORD`, `WORD` and `BYTE` in front of memory: the suffix that means the same.
    fn size(&mut self) -> Option<Spanned<&'static str>> {
        let token = self.cursor.peek();
        let word = self.cursor.str(token);
        let sizes = [("byte", "b"), ("word", "w"), ("dword", "l"), ("qword", "q")];
        let (_, suffix) = sizes.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(word))?;
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
        opcode: &mut Spanned<ShortText>,
        operands: &[Spanned<Operand>],
    ) -> Option<()> {
        let register = operands.iter().find_map(|operand| match &operand.node {
            Operand::Register(name) => Some(name.as_str()),
            _ => None,
        });
        let Some(name) = register else {
            opcode.node = ShortText::joined(&[&opcode.node, size.node]);
            return Some(());
        };
        if suffix(name) == size.node {
            return Some(());
        }
        let message = format!("the size of memory is not that of the register `{name}`");
        self.cursor.report(Diagnostic::error(size.span, message).label("another size"));
        None
    }

    fn opcode(&mut self) -> Option<Spanned<ShortText>> {
        let word = self.cursor.word_token("an instruction")?;
        Some(Spanned::new(ShortText::lowercase(self.cursor.str(word)), self.cursor.span(word)))
    }

    fn operand(&mut self) -> Parsed {
        let token = self.cursor.peek();
        let start = self.cursor.span(token);
        match (token.kind, self.cursor.str(token)) {
            (Kind::Word, _) => self.named(),
            (Kind::Number, _) => {
                let value = self.integer()?;
                // `8(%rax)`: the offset comes first in AT&T's notation; herd reads `8[%rax]` too.
                let is_address = self.cursor.at("(") || (self.cursor.at("[") && !self.cursor.peek().spaced);
                if is_address { self.parenthesised(value.node, start) } else { Some(as_operand(value)) }
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
        if self.cursor.at(":") && matches!(self.cursor.str(token), "%cs" | "%ds" | "%es" | "%ss") {
            // These segments begin at 0.
            self.marks.percent.get_or_insert(span);
            self.cursor.bump();
            return self.operand();
        }
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
        // `x(,%rcx,8)`: the element of an array.
        if self.cursor.at("(") && self.cursor.is(1, ",") {
            self.marks.paren.get_or_insert(span);
            self.cursor.bump();
            let rest = self.index()?;
            let close = self.cursor.expect(")", "to close the address")?;
            let base = Box::new(Spanned::new(operand, span));
            return Some(Spanned::new(Operand::Address(Address { base, offset: 0, rest }), span.to(close)));
        }
        Some(Spanned::new(operand, span))
    }

    fn name(&mut self, name: &str, span: Span) -> Option<Operand> {
        if let Some(register) = name.strip_prefix('%') {
            // herd's symbolic registers, `%x`: some register that the test leaves open. They tell nothing of the notation.
            if !is_register(register) {
                return Some(Operand::Register(name.into()));
            }
            self.marks.percent.get_or_insert(span);
            return Some(Operand::Register(ShortText::uppercase(register)));
        }
        if ["byte", "word", "dword", "qword", "ptr"].into_iter().any(|size| size.eq_ignore_ascii_case(name)) {
            let help = "the size follows from the register (EAX, AX, AL) or from the mnemonic (movl, movw, movb)";
            let message = format!("the size `{name}` in front of an operand is not supported");
            self.cursor.report(Diagnostic::error(span, message).label("remove this").help(help));
            return None;
        }
        let name = name.strip_prefix('$').unwrap_or(name);
        Some(match is_register(name) {
            true => Operand::Register(ShortText::uppercase(name)),
            false => Operand::Symbol(name.into()),
        })
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

    /// `[x]`, `[x+4]`, `[rax-8]`, `[rax+rcx*8+4]`.
    fn bracketed(&mut self) -> Parsed {
        let start = self.cursor.here();
        self.cursor.bump();
        self.marks.bracket.get_or_insert(start);
        let base = self.base()?;
        let (mut offset, mut rest) = (0, Vec::new());
        if self.cursor.at("+") && self.cursor.ahead(1).kind == Kind::Word {
            self.cursor.bump();
            let index = self.base()?;
            let mut scale = Spanned::new(Operand::Integer(1), index.span);
            if self.cursor.eat("*").is_some() {
                scale = as_operand(self.integer()?);
            }
            rest = vec![index, scale];
        }
        if self.cursor.at("+") || self.cursor.at("-") {
            self.cursor.eat("+");
            offset = self.integer()?.node;
        }
        let close = self.cursor.expect("]", "to close the address")?;
        Some(address(base, offset, rest, start.to(close)))
    }

    /// `(x)`, `(%rax)`, after its offset.
    fn parenthesised(&mut self, offset: i128, start: Span) -> Parsed {
        let open = self.cursor.here();
        let closing = if self.cursor.at("[") { "]" } else { ")" };
        self.cursor.bump();
        self.marks.paren.get_or_insert(open);
        let base = self.base()?;
        let rest = if self.cursor.at(",") { self.index()? } else { Vec::new() };
        let close = self.cursor.expect(closing, "to close the address")?;
        Some(address(base, offset, rest, start.to(close)))
    }

    /// `,%rcx,8`: an index and what it is multiplied with.
    fn index(&mut self) -> Option<Vec<Spanned<Operand>>> {
        self.cursor.bump();
        let index = self.base()?;
        let mut scale = Spanned::new(Operand::Integer(1), index.span);
        if self.cursor.eat(",").is_some() {
            scale = as_operand(self.integer()?);
        }
        Some(vec![index, scale])
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
}

fn as_operand(value: Spanned<i128>) -> Spanned<Operand> {
    Spanned::new(Operand::Integer(value.node), value.span)
}

fn address(base: Spanned<Operand>, offset: i128, rest: Vec<Spanned<Operand>>, span: Span) -> Spanned<Operand> {
    Spanned::new(Operand::Address(Address { base: Box::new(base), offset, rest }), span)
}

/// Whether a file's instructions are in AT&T's order: `%` registers or `(x)` memory say so. A file that also has `[x]`
/// is refused, because its operand order would be a guess. Under herd's header `X86` memory is `[x]` or `(ESI)`, in Intel's
/// order both; there a constant as the first of several operands shows AT&T's.
pub(crate) fn settle(marks: &Marks, header: Header) -> Result<Order, Diagnostic> {
    let paren = marks.paren.filter(|_| header == Header::Other || marks.constant_first.is_some());
    match (marks.percent.or(paren), marks.bracket) {
        (Some(span), Some(_)) => Err(Diagnostic::error(span, "this test mixes AT&T's and Intel's notation")
            .label("AT&T's notation, source operand first")
            .help("write memory as `[x]` and registers without `%` (Intel), or `(x)` and `%eax` (AT&T) throughout")),
        (Some(_), None) => match marks.bare_symbol {
            Some(span) => {
                Err(Diagnostic::error(span, "a name alone is memory to an assembler and an address to others")
                    .label("which of the two?")
                    .help("write `(x)` for memory and `$x` for its address"))
            }
            None => Ok(Order::AttReversed),
        },
        (None, _) => Ok(Order::Intel),
    }
}

/// What heads the test.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Header {
    X86,
    Other,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Intel,
    AttReversed,
}

/// The suffix that means the width of a general-purpose register.
fn suffix(upper: &str) -> &'static str {
    match upper.as_bytes() {
        [b'R', .., b'B'] => "b",
        [b'R', .., b'W'] => "w",
        [b'R', .., b'D'] => "l",
        [b'R', ..] => "q",
        [b'E', ..] => "l",
        [.., b'L' | b'H'] => "b",
        _ => "w",
    }
}

/// General-purpose registers of every width, and the vector registers, in either case.
pub(crate) fn is_register(name: &str) -> bool {
    /// Longer than any.
    const LONGEST: usize = 16;
    let mut letters = [0; LONGEST];
    let Some(letters) = letters.get_mut(..name.len()) else { return false };
    letters.copy_from_slice(name.as_bytes());
    letters.make_ascii_uppercase();
    let legacy = |two: &[u8]| matches!(two, b"AX" | b"BX" | b"CX" | b"DX" | b"SI" | b"DI" | b"BP" | b"SP");
    match &*letters {
        b"AL" | b"BL" | b"CL" | b"DL" | b"AH" | b"BH" | b"CH" | b"DH" | b"SIL" | b"DIL" | b"BPL" | b"SPL" => true,
        b"RIP" | b"EIP" | b"RFLAGS" | b"EFLAGS" => true,
        [b'X', b'M', b'M', digits @ ..] => number(digits).is_some_and(|number| number < 16),
        [b'E' | b'R', rest @ ..] if legacy(rest) => true,
        [b'R', rest @ ..] => {
            let suffixes = rest.iter().rev().take_while(|letter| matches!(letter, b'D' | b'W' | b'B')).count();
            number(&rest[..rest.len() - suffixes]).is_some_and(|number| (8..16).contains(&number))
        }
        other => legacy(other),
    }
}

/// A number of a register, in plain digits.
fn number(digits: &[u8]) -> Option<u32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
