//! The PTX instruction table (PTX ISA 9.7), for real PTX, Dartagnan's dialect and NVLitmus. Each row names an opcode, the
//! classes of modifiers it takes and what it does; a word outside them is an error or unsupported, never ignored.
//!
//! This file has the opcodes whose rows the three spellings share. Forms that only real PTX has are tables of their own, by
//! what they are about: [`memory`], [`asynchronous`], [`tensor`], [`mbarrier`], [`barrier`], [`fence`], [`arithmetic`].

pub(crate) mod address;
pub(crate) mod arithmetic;
pub(crate) mod asynchronous;
pub(crate) mod barrier;
pub(crate) mod fence;
pub(crate) mod launch;
pub(crate) mod mbarrier;
pub(crate) mod memory;
pub(crate) mod register;
mod row;
pub(crate) mod tensor;
pub(crate) mod warp;

use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::litmus::{Comparison, Dialect};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{HostCall, Operation};
use crate::table::modifier::{self, Class, Modifiers, Sem};
use crate::table::ptx::arithmetic::{bits, float, integer};
use crate::table::ptx::asynchronous::{copy, store, tensor_copy, tensormap};
use crate::table::ptx::memory::{access, cache, multimem, surface, vector};
use crate::table::ptx::row::Kind;
use crate::table::ptx::tensor::{tcgen05, tcgen05_mma, wgmma};
use crate::table::typo;
use crate::tag::Tag;
use crate::value::Value;
use crate::value::expression::{BinaryOperator, UnaryOperator};

/// Which spellings have the row.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum In {
    All,
    /// Real PTX.
    Ptx,
    /// Dartagnan's dialect.
    Dartagnan,
}

pub(crate) struct Row {
    pub(crate) opcode: &'static str,
    place: In,
    kind: Kind,
    /// The proxy of a memory operation.
    proxy: Tag,
    pub(crate) classes: &'static [Class],
}

impl Row {
    /// The semantics that the instruction can have.
    pub(crate) fn semantics(&self) -> &'static [Sem] {
        match self.kind {
            Kind::Load { legal } | Kind::Store { legal } | Kind::Atom { legal } | Kind::Red { legal } => legal,
            Kind::Fence => fence::SEMANTICS,
            _ => &[],
        }
    }
}

const LD: &[Sem] = &[Sem::Weak, Sem::Relaxed, Sem::Acquire, Sem::Volatile, Sem::Mmio];
const ST: &[Sem] = &[Sem::Weak, Sem::Relaxed, Sem::Release, Sem::Volatile, Sem::Mmio];
const ATOM: &[Sem] = &[Sem::Relaxed, Sem::Acquire, Sem::Release, Sem::AcqRel];
/// PTX ISA 9.7.15.6 `red`; Dartagnan also takes the acquiring ones.
const RED: &[Sem] = &[Sem::Relaxed, Sem::Release];

/// `pacq`, `prel`: no other word of a semantics.
const PERSIST: &[Sem] = &[Sem::Persist];

/// Of scoped buffered release persistency and of no ISA: a scope, and what an access says.
const PERSISTED: &[Class] = &[Class::Scope, Class::Space, Class::Bits, Class::Hint];
const ACCESS: &[Class] = &[Class::Sem, Class::Scope, Class::Space, Class::Vector, Class::Bits, Class::Hint];
/// Opcodes of the mixed-proxy model and of no ISA.
const PROXIED: &[Class] = &[Class::Sem, Class::Scope, Class::Space, Class::Type, Class::Hint];
const ATOMIC: &[Class] = &[
    Class::Sem,
    Class::Scope,
    Class::Space,
    Class::Type,
    Class::Float,
    Class::Wide,
    Class::Update,
    Class::Vector,
    Class::Word("noftz"),
    Class::Hint,
];
/// Through the texture path, which no write of the kernel reaches (PTX ISA 8.1, 9.7.10.9). The readonly proxy of 9.4 has the
/// same rule.
const CACHED: &[Class] =
    &[Class::Word("nc"), Class::Word("proxy::readonly"), Class::Space, Class::Vector, Class::Bits, Class::Hint];
const FENCE: &[Class] = &[Class::Sem, Class::Scope, Class::Word("proxy"), Class::Proxy];
const MEMBAR: &[Class] = &[Class::Scope, Class::Word("proxy"), Class::Proxy];
const BARRIER: &[Class] = &[Class::Word("cta"), Class::Barrier, Class::Word("aligned"), Class::Reduction, Class::Type];
const TYPED: &[Class] = &[Class::Type];
const MOVED: &[Class] = &[Class::Bits];
const PRODUCT: &[Class] = &[Class::Part, Class::Type];
const SETP: &[Class] = &[Class::Comparison, Class::Boolean, Class::Type];
const CVTA: &[Class] = &[Class::Word("to"), Class::Space, Class::Type];
const UNIFORM: &[Class] = &[Class::Word("uni")];
const NONE: &[Class] = &[];

const fn row(opcode: &'static str, place: In, kind: Kind, proxy: Tag, classes: &'static [Class]) -> Row {
    Row { opcode, place, kind, proxy, classes }
}

const fn local(opcode: &'static str, place: In, kind: Kind, classes: &'static [Class]) -> Row {
    Row { opcode, place, kind, proxy: Tag::Generic, classes }
}

const TABLE: &[Row] = &[
    // Memory. The opcodes of non-generic proxies are those of the mixed-proxy model. `ld` without modifiers is a move in Dartagnan's dialect; see `lower`.
    row("ld", In::All, Kind::Load { legal: LD }, Tag::Generic, ACCESS),
    row("ld", In::Ptx, Kind::Load { legal: &[Sem::Weak] }, Tag::Texture, CACHED),
    row("tld", In::All, Kind::Load { legal: LD }, Tag::Texture, PROXIED),
    row("suld", In::All, Kind::Load { legal: LD }, Tag::Surface, PROXIED),
    row("cold", In::All, Kind::Load { legal: LD }, Tag::Constant, PROXIED),
    row("ldc", In::All, Kind::Load { legal: LD }, Tag::Constant, PROXIED),
    row("st", In::All, Kind::Store { legal: ST }, Tag::Generic, ACCESS),
    row("sust", In::All, Kind::Store { legal: ST }, Tag::Surface, PROXIED),
    row("pacq", In::All, Kind::Load { legal: PERSIST }, Tag::Generic, PERSISTED),
    row("prel", In::All, Kind::Store { legal: PERSIST }, Tag::Generic, PERSISTED),
    row("ofence", In::All, Kind::PersistFence(Tag::OrderFence), Tag::Generic, NONE),
    row("dfence", In::All, Kind::PersistFence(Tag::DurabilityFence), Tag::Generic, NONE),
    row("atom", In::All, Kind::Atom { legal: ATOM }, Tag::Generic, ATOMIC),
    row("suatom", In::All, Kind::Atom { legal: ATOM }, Tag::Surface, ATOMIC),
    row("red", In::Dartagnan, Kind::Red { legal: ATOM }, Tag::Generic, ATOMIC),
    row("red", In::All, Kind::Red { legal: RED }, Tag::Generic, ATOMIC),
    row("sured", In::Dartagnan, Kind::Red { legal: ATOM }, Tag::Surface, ATOMIC),
    row("sured", In::All, Kind::Red { legal: RED }, Tag::Surface, ATOMIC),
    row("fence", In::All, Kind::Fence, Tag::Generic, FENCE),
    row("membar", In::All, Kind::Membar, Tag::Generic, MEMBAR),
    row("bar", In::All, Kind::Barrier, Tag::Generic, BARRIER),
    row("barrier", In::Ptx, Kind::Barrier, Tag::Generic, BARRIER),
    row("griddepcontrol", In::Ptx, Kind::Grid, Tag::Generic, NONE),
    row("launch", In::Ptx, Kind::Host(HostCall::Launch), Tag::Generic, NONE),
    row("sync", In::Ptx, Kind::Host(HostCall::Sync), Tag::Generic, NONE),
    row("mbarrier", In::Ptx, Kind::Mbarrier, Tag::Generic, NONE),
    // Registers.
    local("mov", In::All, Kind::Move, MOVED),
    local("add", In::All, Kind::Binary(BinaryOperator::Add), TYPED),
    local("sub", In::All, Kind::Binary(BinaryOperator::Subtract), TYPED),
    local("mul", In::Dartagnan, Kind::Binary(BinaryOperator::Multiply), NONE),
    local("mul", In::All, Kind::Product, PRODUCT),
    local("div", In::All, Kind::Binary(BinaryOperator::Divide), TYPED),
    local("rem", In::All, Kind::Binary(BinaryOperator::Remainder), TYPED),
    local("and", In::All, Kind::Binary(BinaryOperator::And), TYPED),
    local("or", In::All, Kind::Binary(BinaryOperator::Or), TYPED),
    local("xor", In::All, Kind::Binary(BinaryOperator::Xor), TYPED),
    local("shl", In::All, Kind::Binary(BinaryOperator::ShiftLeft), TYPED),
    local("shr", In::All, Kind::Binary(BinaryOperator::ShiftRight), TYPED),
    local("min", In::All, Kind::Binary(BinaryOperator::Minimum), TYPED),
    local("max", In::All, Kind::Binary(BinaryOperator::Maximum), TYPED),
    local("not", In::All, Kind::Unary(UnaryOperator::Not), TYPED),
    local("neg", In::All, Kind::Unary(UnaryOperator::Negate), TYPED),
    local("mad", In::Ptx, Kind::MultiplyAdd, PRODUCT),
    local("setp", In::Ptx, Kind::SetPredicate, SETP),
    local("selp", In::Ptx, Kind::Select, MOVED),
    local("cvt", In::Ptx, Kind::Convert, TYPED),
    local("cvta", In::Ptx, Kind::Move, CVTA),
    // Control.
    // `bra` alone does not show which dialect a test is in; it means the same in each.
    local("bra", In::All, Kind::Jump, UNIFORM),
    local("goto", In::Dartagnan, Kind::Jump, NONE),
    local("beq", In::Dartagnan, Kind::CompareAndJump(Comparison::Equal), NONE),
    local("bne", In::Dartagnan, Kind::CompareAndJump(Comparison::NotEqual), NONE),
    local("blt", In::Dartagnan, Kind::CompareAndJump(Comparison::Less), NONE),
    local("ble", In::Dartagnan, Kind::CompareAndJump(Comparison::LessEqual), NONE),
    local("bgt", In::Dartagnan, Kind::CompareAndJump(Comparison::Greater), NONE),
    local("bge", In::Dartagnan, Kind::CompareAndJump(Comparison::GreaterEqual), NONE),
    local("ret", In::Ptx, Kind::Exit, UNIFORM),
    local("exit", In::Ptx, Kind::Exit, NONE),
    local("trap", In::Ptx, Kind::Trap, NONE),
    local("pmevent", In::Ptx, Kind::Nothing, NONE),
    local("nanosleep", In::Ptx, Kind::Nothing, TYPED),
];

/// Whether an opcode is one of persistency models, which PTX does not have.
pub(crate) fn is_persistency(opcode: &str) -> bool {
    let is_own = |row: &Row| matches!(row.kind, Kind::PersistFence(_)) || row.semantics() == PERSIST;
    TABLE.iter().any(|row| row.opcode == opcode && is_own(row))
}

fn serves(place: In, dialect: Dialect) -> bool {
    match place {
        In::All => true,
        In::Ptx => dialect == Dialect::Ptx,
        In::Dartagnan => dialect == Dialect::Dartagnan,
    }
}

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction, assume: Option<Value>) -> Result<(), Refusal> {
    let opcode = tree.opcode.node.as_str();
    if context.dialect == Dialect::Ptx
        && let Some(lowered) = by_form(context, tree)
    {
        return lowered;
    }
    let is_cached = opcode == "ld" && tree.modifiers.iter().any(|word| matches!(&*word.node, "nc" | "proxy::readonly"));
    let is_meant = |row: &&Row| row.opcode == opcode && row.classes.contains(&Class::Word("nc")) == is_cached;
    let found = TABLE.iter().filter(is_meant).find(|row| serves(row.place, context.dialect));
    let Some(row) = found else {
        let served = TABLE.iter().filter(|row| serves(row.place, context.dialect));
        let known: Vec<&str> = served.map(|row| row.opcode).collect();
        let what = typo::unknown_opcode(modifier::spelled(tree), &tree.opcode.node, &known);
        return Err(Refusal::Unsupported(tree.span(), what));
    };
    // `ld r1, 5` moves; `ld r1, x` would be an access without semantics, which Dartagnan's grammar does not have.
    if context.dialect == Dialect::Dartagnan && opcode == "ld" && tree.modifiers.is_empty() {
        return register::lower(context, tree, Kind::Move, &Modifiers::default());
    }
    match row.kind {
        Kind::Mbarrier => return mbarrier::lower(context, tree),
        Kind::Grid => return launch::grid(context, tree),
        Kind::Host(call) => return launch::host(context, tree, call),
        _ => {}
    }
    if matches!(row.kind, Kind::Barrier)
        && let Some(result) = barrier::beyond(context, tree)
    {
        return result;
    }
    if matches!(row.kind, Kind::Fence | Kind::Membar)
        && let Some(result) = fence::real(context, tree)
    {
        return result;
    }
    let modifiers = modifier::parse(tree, row.classes)?;
    if context.dialect == Dialect::Ptx && !matches!(row.kind, Kind::Membar) {
        modifier::no_level(tree)?;
    }
    match row.kind {
        Kind::Load { legal } => access::load(context, tree, &modifiers, legal, row.proxy, assume),
        Kind::Store { legal } => access::store(context, tree, &modifiers, legal, row.proxy),
        Kind::Atom { legal } => access::atom(context, tree, &modifiers, legal, row.proxy, assume),
        Kind::Red { legal } => access::red(context, tree, &modifiers, legal, row.proxy),
        Kind::Fence => fence::fence(context, tree, &modifiers),
        Kind::Membar => fence::membar(context, tree, &modifiers),
        Kind::Barrier => barrier::lower(context, tree, &modifiers),
        Kind::PersistFence(tag) => fence::persist(context, tree, tag),
        Kind::Nothing => {
            context.thread.emit(Operation::Nothing);
            Ok(())
        }
        kind => register::lower(context, tree, kind, &modifiers),
    }
}

/// The rows of real PTX whose words are classes. Those of whole forms have tables of their own.
pub(crate) fn rows() -> impl Iterator<Item = &'static Row> {
    let is_own = |row: &&Row| {
        matches!(row.place, In::All | In::Ptx) && !matches!(row.kind, Kind::Mbarrier | Kind::Grid | Kind::Host(_))
    };
    TABLE.iter().filter(is_own)
}

/// The tables whose rows are whole forms.
fn by_form(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    // The more specific heads first: `cp.async.bulk.tensor` before `cp.async`.
    tensor_copy::lower(context, tree)
        .or_else(|| cache::lower(context, tree))
        .or_else(|| store::lower(context, tree))
        .or_else(|| copy::lower(context, tree))
        .or_else(|| wgmma::lower(context, tree))
        .or_else(|| tcgen05_mma::lower(context, tree))
        .or_else(|| tcgen05::lower(context, tree))
        .or_else(|| tensormap::lower(context, tree))
        .or_else(|| address::lower(context, tree))
        .or_else(|| bits::lower(context, tree))
        .or_else(|| integer::lower(context, tree))
        .or_else(|| surface::lower(context, tree))
        .or_else(|| warp::lower(context, tree))
        .or_else(|| vector::lower(context, tree))
        .or_else(|| multimem::lower(context, tree))
        .or_else(|| float::lower(context, tree))
}
