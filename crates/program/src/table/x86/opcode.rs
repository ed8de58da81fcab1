//! The mnemonics of x86, with their size suffixes and condition codes.

use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::short::ShortText;

use crate::table::modifier::find;
use crate::tag::Tag;
use crate::value::Type;
use crate::value::expression::{BinaryOperator, UnaryOperator};

/// What a condition code asks for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Code {
    /// Any flag setter serves, also those whose carry and overflow we do not keep.
    Equality(Comparison),
    Signed(Comparison),
    Unsigned(Comparison),
    /// The sign of the result: below 0, or not.
    Sign(Comparison),
}

/// The codes after `j`, `set` and `cmov`; `lt` and `gt` are herd's.
const CODES: &[(&str, Code)] = &[
    ("e", Code::Equality(Comparison::Equal)),
    ("z", Code::Equality(Comparison::Equal)),
    ("ne", Code::Equality(Comparison::NotEqual)),
    ("nz", Code::Equality(Comparison::NotEqual)),
    ("l", Code::Signed(Comparison::Less)),
    ("lt", Code::Signed(Comparison::Less)),
    ("nge", Code::Signed(Comparison::Less)),
    ("le", Code::Signed(Comparison::LessEqual)),
    ("ng", Code::Signed(Comparison::LessEqual)),
    ("g", Code::Signed(Comparison::Greater)),
    ("gt", Code::Signed(Comparison::Greater)),
    ("nle", Code::Signed(Comparison::Greater)),
    ("ge", Code::Signed(Comparison::GreaterEqual)),
    ("nl", Code::Signed(Comparison::GreaterEqual)),
    ("b", Code::Unsigned(Comparison::Less)),
    ("c", Code::Unsigned(Comparison::Less)),
    ("nae", Code::Unsigned(Comparison::Less)),
    ("be", Code::Unsigned(Comparison::LessEqual)),
    ("na", Code::Unsigned(Comparison::LessEqual)),
    ("a", Code::Unsigned(Comparison::Greater)),
    ("nbe", Code::Unsigned(Comparison::Greater)),
    ("ae", Code::Unsigned(Comparison::GreaterEqual)),
    ("nb", Code::Unsigned(Comparison::GreaterEqual)),
    ("nc", Code::Unsigned(Comparison::GreaterEqual)),
    ("s", Code::Sign(Comparison::Less)),
    ("ns", Code::Sign(Comparison::GreaterEqual)),
];

pub(crate) fn code(name: &str) -> Option<Code> {
    crate::table::modifier::find(CODES, name)
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Opcode {
    Move,
    Fence(Tag),
    Exchange,
    /// `op destination, source`.
    Arithmetic(BinaryOperator),
    /// `inc`, `dec`: a fixed second operand of 1.
    Step(BinaryOperator),
    Unary(UnaryOperator),
    ExchangeAdd,
    CompareExchange,
    Compare,
    Test,
    /// The operator, and how it reads what it shifts.
    Shift(BinaryOperator, Reading),
    /// `movzbl`, `movswq`: from so many bits.
    Extend(u8, Reading),
    /// `lea`.
    LoadAddress,
    Jump,
    JumpIf(Code),
    SetIf(Code),
    MoveIf(Code),
    Return,
    Nothing,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    Signed,
    Unsigned,
}

pub(crate) const TABLE: &[(&str, Opcode)] = &[
    ("mov", Opcode::Move),
    ("movabs", Opcode::Move),
    ("lea", Opcode::LoadAddress),
    ("shl", Opcode::Shift(BinaryOperator::ShiftLeft, Reading::Unsigned)),
    ("sal", Opcode::Shift(BinaryOperator::ShiftLeft, Reading::Unsigned)),
    ("shr", Opcode::Shift(BinaryOperator::ShiftRight, Reading::Unsigned)),
    ("sar", Opcode::Shift(BinaryOperator::ShiftRight, Reading::Signed)),
    ("movzbw", Opcode::Extend(8, Reading::Unsigned)),
    ("movzbl", Opcode::Extend(8, Reading::Unsigned)),
    ("movzbq", Opcode::Extend(8, Reading::Unsigned)),
    ("movzwl", Opcode::Extend(16, Reading::Unsigned)),
    ("movzwq", Opcode::Extend(16, Reading::Unsigned)),
    ("movsbw", Opcode::Extend(8, Reading::Signed)),
    ("movsbl", Opcode::Extend(8, Reading::Signed)),
    ("movsbq", Opcode::Extend(8, Reading::Signed)),
    ("movswl", Opcode::Extend(16, Reading::Signed)),
    ("movswq", Opcode::Extend(16, Reading::Signed)),
    ("movslq", Opcode::Extend(32, Reading::Signed)),
    ("mfence", Opcode::Fence(Tag::Mfence)),
    ("sfence", Opcode::Fence(Tag::Sfence)),
    ("lfence", Opcode::Fence(Tag::Lfence)),
    ("xchg", Opcode::Exchange),
    ("add", Opcode::Arithmetic(BinaryOperator::Add)),
    ("sub", Opcode::Arithmetic(BinaryOperator::Subtract)),
    ("and", Opcode::Arithmetic(BinaryOperator::And)),
    ("or", Opcode::Arithmetic(BinaryOperator::Or)),
    ("xor", Opcode::Arithmetic(BinaryOperator::Xor)),
    ("inc", Opcode::Step(BinaryOperator::Add)),
    ("dec", Opcode::Step(BinaryOperator::Subtract)),
    ("not", Opcode::Unary(UnaryOperator::Not)),
    ("neg", Opcode::Unary(UnaryOperator::Negate)),
    ("xadd", Opcode::ExchangeAdd),
    ("cmpxchg", Opcode::CompareExchange),
    ("cmp", Opcode::Compare),
    ("test", Opcode::Test),
    ("jmp", Opcode::Jump),
    ("ret", Opcode::Return),
    ("nop", Opcode::Nothing),
    ("nopw", Opcode::Nothing),
    ("nopl", Opcode::Nothing),
    ("endbr64", Opcode::Nothing),
    ("pause", Opcode::Nothing),
];

/// AT&T size suffixes are accepted: `movl`, `addq`.
pub(crate) fn opcode(name: &ShortText) -> Option<Opcode> {
    // Most are in the table, where bytes are compared.
    let known = TABLE.iter().find(|(own, _)| name == own).map(|(_, opcode)| *opcode);
    known.or_else(|| composed(name))
}

fn composed(name: &str) -> Option<Opcode> {
    let plain = || name.strip_suffix(['b', 'w', 'l', 'q']);
    let moves = |name: &str| name.strip_prefix("cmov").and_then(code).map(Opcode::MoveIf);
    let jump = name.strip_prefix('j').and_then(code).map(Opcode::JumpIf);
    jump.or_else(|| name.strip_prefix("set").and_then(code).map(Opcode::SetIf))
        .or_else(|| moves(name).or_else(|| moves(plain()?)))
        .or_else(|| find(TABLE, plain()?))
}

/// The width that the mnemonic says.
pub(crate) fn suffix(name: &str) -> Option<Type> {
    let is_whole = find(TABLE, name).is_some()
        || ["j", "set", "cmov"].iter().any(|head| name.strip_prefix(head).and_then(code).is_some());
    let bits = match name.as_bytes().last() {
        Some(b'q') => 64,
        Some(b'l') => 32,
        Some(b'w') => 16,
        Some(b'b') => 8,
        _ => return None,
    };
    (!is_whole).then_some(Type { bits, signed: true })
}
