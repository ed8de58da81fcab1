//! The PTX instruction table (PTX ISA 9.7), for real PTX, Dartagnan's dialect and NVLitmus. Each row names an opcode, the
//! classes of modifiers it takes and what it does; a word outside them is an error or unsupported, never ignored.

use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::litmus::{Comparison, Dialect};

use crate::expression::{BinaryOperator, UnaryOperator};
use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{HostCall, Operation};
use crate::table::modifier::{self, Class, Modifiers, Sem};
use crate::table::ptx_kind::Kind;
use crate::table::{ptx_address, ptx_bits, ptx_surface, ptx_vector, ptx_warp};
use crate::table::{
    ptx_async, ptx_async_store, ptx_async_tensor, ptx_float, ptx_hint, ptx_integer, ptx_launch, ptx_multimem,
    ptx_tensor, ptx_tensor_memory, ptx_tensor_product, ptx_tensormap,
};
use crate::table::{ptx_barrier, ptx_fence, ptx_local, ptx_mbarrier, ptx_memory, typo};
use crate::tag::Tag;
use crate::value::Value;

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

const LD: &[Sem] = &[Sem::Weak, Sem::Relaxed, Sem::Acquire, Sem::Volatile, Sem::Mmio];
const ST: &[Sem] = &[Sem::Weak, Sem::Relaxed, Sem::Release, Sem::Volatile, Sem::Mmio];
const ATOM: &[Sem] = &[Sem::Relaxed, Sem::Acquire, Sem::Release, Sem::AcqRel];
/// PTX ISA 9.7.15.7 `red`; Dartagnan also takes the acquiring ones.
const RED: &[Sem] = &[Sem::Relaxed, Sem::Release];

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
        return ptx_local::lower(context, tree, Kind::Move, &Modifiers::default());
    }
    match row.kind {
        Kind::Mbarrier => return ptx_mbarrier::lower(context, tree),
        Kind::Grid => return ptx_launch::grid(context, tree),
        Kind::Host(call) => return ptx_launch::host(context, tree, call),
        _ => {}
    }
    if matches!(row.kind, Kind::Barrier)
        && let Some(result) = ptx_barrier::beyond(context, tree)
    {
        return result;
    }
    if matches!(row.kind, Kind::Fence | Kind::Membar)
        && let Some(result) = ptx_fence::real(context, tree)
    {
        return result;
    }
    let modifiers = modifier::parse(tree, row.classes)?;
    match row.kind {
        Kind::Load { legal } => ptx_memory::load(context, tree, &modifiers, legal, row.proxy, assume),
        Kind::Store { legal } => ptx_memory::store(context, tree, &modifiers, legal, row.proxy),
        Kind::Atom { legal } => ptx_memory::atom(context, tree, &modifiers, legal, row.proxy, assume),
        Kind::Red { legal } => ptx_memory::red(context, tree, &modifiers, legal, row.proxy),
        Kind::Fence => ptx_fence::fence(context, tree, &modifiers),
        Kind::Membar => ptx_fence::membar(context, tree, &modifiers),
        Kind::Barrier => ptx_barrier::lower(context, tree, &modifiers),
        Kind::Nothing => {
            context.thread.emit(Operation::Nothing);
            Ok(())
        }
        kind => ptx_local::lower(context, tree, kind, &modifiers),
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
    ptx_async_tensor::lower(context, tree)
        .or_else(|| ptx_hint::lower(context, tree))
        .or_else(|| ptx_async_store::lower(context, tree))
        .or_else(|| ptx_async::lower(context, tree))
        .or_else(|| ptx_tensor::lower(context, tree))
        .or_else(|| ptx_tensor_product::lower(context, tree))
        .or_else(|| ptx_tensor_memory::lower(context, tree))
        .or_else(|| ptx_tensormap::lower(context, tree))
        .or_else(|| ptx_address::lower(context, tree))
        .or_else(|| ptx_bits::lower(context, tree))
        .or_else(|| ptx_integer::lower(context, tree))
        .or_else(|| ptx_surface::lower(context, tree))
        .or_else(|| ptx_warp::lower(context, tree))
        .or_else(|| ptx_vector::lower(context, tree))
        .or_else(|| ptx_multimem::lower(context, tree))
        .or_else(|| ptx_float::lower(context, tree))
}
