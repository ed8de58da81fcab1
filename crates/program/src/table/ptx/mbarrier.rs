//! The mbarrier instructions (PTX ISA 9.7.15.16). An arrive, `expect_tx` and `complete_tx` are read-modify-writes of the
//! packed state (`crate::value::mbarrier`); a wait is a read whose answer forks; `init` and `inval` are plain writes.
//!
//! Defaults: an arrive is `.release.cta`, a wait `.acquire.cta`, `expect_tx` and `complete_tx` are relaxed.

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::short::ShortText;
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::{Diagnostic, Spanned};

use crate::ids::RegisterId;
use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::lower::memory::spaces::window;
use crate::program::{
    AddressOperand, CodeIndex, Feature, LocalValue, MbarrierWait, Operand, Operation, Patience, Scope, Space, Update,
};
use crate::sections;
use crate::table::compute::{binary, constant};
use crate::table::form::{self, Form, Slot, Words, version};
use crate::table::ptx::address::in_cta;
use crate::table::ptx::memory::access::{note_scope, scope_tag};
use crate::table::{modifier::spelled, operands};
use crate::tag::{Tag, Tags};
use crate::value::expression::{BinaryOperator, UnaryOperator};
use crate::value::mbarrier::{Completing, GREATEST_COUNT, Layout, Operator};
use crate::value::{Type, Value};

#[derive(Copy, Clone, Debug)]
pub(crate) enum Kind {
    Init,
    Inval,
    /// Result or none, address, count or none.
    Arrive(Counted),
    /// Result or none, address, bytes.
    ArriveBytes(Operator),
    /// Address, bytes.
    Bytes(Operator),
    Wait(Operator, Patience),
    PendingCount,
}

/// The operand of an arrive that may be left out.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Counted {
    operator: Operator,
    /// `.noComplete` must say its count.
    needs_count: bool,
}

const OWN: &[&str] = &["shared", "shared::cta"];
const ANY: &[&str] = &["shared", "shared::cta", "shared::cluster"];
const SCOPES: &[&str] = &["cta", "cluster"];
const TYPE: Slot = Slot::Maybe(&["b64"]);
/// On the mbarrier at the same offset in each CTA of a mask.
const EVERYWHERE: &str = "multicast::cluster::32b";
const MULTICAST: Slot = Slot::Maybe(&[EVERYWHERE]);
const ARRIVE: &[Slot] = &[Slot::Maybe(&["release", "relaxed"]), Slot::Maybe(SCOPES), Slot::Maybe(ANY), MULTICAST, TYPE];
const QUIET: &[Slot] = &[Slot::Maybe(&["release"]), Slot::Maybe(&["cta"]), Slot::Maybe(OWN), TYPE];
const BYTES: &[Slot] = &[Slot::Maybe(&["relaxed"]), Slot::Maybe(SCOPES), Slot::Maybe(ANY), MULTICAST, TYPE];
/// The primary phase is the one that all mbarriers have: the default may be said.
const PHASE: Slot = Slot::Maybe(&["phase_type::primary"]);
const WAIT: &[Slot] = &[PHASE, Slot::Maybe(&["acquire", "relaxed"]), Slot::Maybe(SCOPES), Slot::Maybe(OWN), TYPE];
const INIT: &[Slot] = &[Slot::Maybe(&["layout::v0", "layout::v1"]), Slot::Maybe(OWN), TYPE];
const PLAIN: &[Slot] = &[Slot::Maybe(OWN), TYPE];

const fn row(head: &'static [&'static str], slots: &'static [Slot], since: (u8, u8), kind: Kind) -> Form<Kind> {
    Form { head, slots, section: sections::MBARRIER, since: version(since.0, since.1), kind }
}

const fn counted(operator: Operator) -> Kind {
    Kind::Arrive(Counted { operator, needs_count: false })
}

const fn quiet(operator: Operator) -> Kind {
    Kind::Arrive(Counted { operator, needs_count: true })
}

pub(crate) const FORMS: &[Form<Kind>] = &[
    row(&["mbarrier", "init"], INIT, (7, 0), Kind::Init),
    row(&["mbarrier", "inval"], PLAIN, (7, 0), Kind::Inval),
    row(&["mbarrier", "arrive"], ARRIVE, (7, 0), counted(Operator::Arrive(Completing::Allowed))),
    row(&["mbarrier", "arrive", "expect_tx"], ARRIVE, (8, 0), Kind::ArriveBytes(Operator::ArriveExpectTx)),
    row(&["mbarrier", "arrive", "noComplete"], QUIET, (7, 0), quiet(Operator::Arrive(Completing::Undefined))),
    row(&["mbarrier", "arrive_drop"], ARRIVE, (7, 0), counted(Operator::ArriveDrop(Completing::Allowed))),
    row(&["mbarrier", "arrive_drop", "expect_tx"], ARRIVE, (8, 0), Kind::ArriveBytes(Operator::ArriveDropExpectTx)),
    row(&["mbarrier", "arrive_drop", "noComplete"], QUIET, (7, 0), quiet(Operator::ArriveDrop(Completing::Undefined))),
    row(&["mbarrier", "expect_tx"], BYTES, (8, 0), Kind::Bytes(Operator::ExpectTx)),
    row(&["mbarrier", "complete_tx"], BYTES, (8, 0), Kind::Bytes(Operator::CompleteTx)),
    row(&["mbarrier", "test_wait"], WAIT, (7, 0), Kind::Wait(Operator::IsCompleteToken, Patience::None)),
    row(&["mbarrier", "test_wait", "parity"], WAIT, (7, 1), Kind::Wait(Operator::IsComplete, Patience::None)),
    row(&["mbarrier", "try_wait"], WAIT, (7, 8), Kind::Wait(Operator::IsCompleteToken, Patience::TimeLimit)),
    row(&["mbarrier", "try_wait", "parity"], WAIT, (7, 8), Kind::Wait(Operator::IsComplete, Patience::TimeLimit)),
    row(&["mbarrier", "pending_count"], &[TYPE], (7, 0), Kind::PendingCount),
];

/// Words that came later than the forms they may stand in.
const FLOORS: &[(&str, (u8, u8))] = &[
    ("relaxed", (8, 6)),
    ("acquire", (8, 0)),
    ("release", (8, 0)),
    ("cluster", (8, 0)),
    ("shared::cluster", (8, 0)),
    ("layout::v0", (9, 3)),
    ("layout::v1", (9, 3)),
    ("phase_type::primary", (9, 3)),
    (EVERYWHERE, (9, 4)),
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let tree = &hoisted(tree);
    let Some(form) = form::select(FORMS, tree) else {
        return Err(Refusal::Unsupported(tree.span(), spelled(tree)));
    };
    refuse_remote_wait(form, tree)?;
    let words = form::words(form, tree)?;
    refuse_half(tree, &words)?;
    // `expect_tx` and `complete_tx` had their semantics and scope from the start.
    let is_later = |word: &str| word == EVERYWHERE || !matches!(form.kind, Kind::Bytes(_));
    let floors = FLOORS.iter().filter(|(word, _)| words.has(word) && is_later(word));
    let since = floors.map(|(_, floor)| version(floor.0, floor.1)).fold(form.since, Ord::max);
    context.findings.floor(tree.span(), spelled(tree), since, form.section);
    if !matches!(form.kind, Kind::PendingCount) {
        context.findings.feature(Feature::Async, tree.opcode.span);
    }
    match form.kind {
        Kind::Init => init(context, tree, &words),
        Kind::Inval => inval(context, tree, &words),
        Kind::Arrive(counted) => arrive(context, tree, &words, counted),
        Kind::ArriveBytes(operator) => {
            let (result, address, rest) = with_result(tree)?;
            let ([bytes], mask) = masked(tree, &words, rest)? else { return Err(wrong(tree)) };
            let operand = context.value(bytes)?;
            modify(context, tree, &words, Rmw { result, address, operator, operand, mask })
        }
        Kind::Bytes(operator) => {
            let [address, rest @ ..] = tree.operands.as_slice() else { return Err(wrong(tree)) };
            let ([bytes], mask) = masked(tree, &words, rest)? else { return Err(wrong(tree)) };
            let operand = context.value(bytes)?;
            modify(context, tree, &words, Rmw { result: None, address, operator, operand, mask })
        }
        Kind::Wait(question, patience) => wait(context, tree, &words, question, patience),
        Kind::PendingCount => pending_count(context, tree),
    }
}

/// The words that are part of an instruction's name come first, wherever they stand.
fn hoisted(tree: &Instruction) -> Instruction {
    let mut tree = tree.clone();
    let is_name = |word: &Spanned<ShortText>| matches!(word.node.as_str(), "expect_tx" | "noComplete" | "parity");
    if let Some((_, rest)) = tree.modifiers.split_first_mut() {
        rest.shared_sort_by_key(|word| !is_name(word));
    }
    tree
}

fn refuse_remote_wait(form: &Form<Kind>, tree: &Instruction) -> Result<(), Refusal> {
    let remote = tree.modifiers.iter().find(|word| word.node == "shared::cluster");
    match (form.kind, remote) {
        (Kind::Wait(..), Some(word)) => {
            let error = Diagnostic::error(word.span, "an mbarrier of another CTA cannot be waited on");
            let help = "wait on an mbarrier of the thread's own CTA, and let the other CTA arrive there";
            Err(Refusal::Error(error.label("no such wait").help(help)))
        }
        _ => Ok(()),
    }
}

/// `.sem` and `.scope` come together, or neither does (PTX ISA 9.7.15.16.14 to 9.7.15.16.19).
fn refuse_half(tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    const SEMANTICS: &[(&str, ())] = &[("release", ()), ("acquire", ()), ("relaxed", ())];
    let scope = words.find(&[("cta", ()), ("cluster", ())]);
    match (words.find(SEMANTICS), scope) {
        (Some(sem), None) => {
            let error = Diagnostic::error(sem.span, format!("{} says its semantics without a scope", spelled(tree)));
            Err(Refusal::Error(error.label("no scope").help("add `.cta` or `.cluster` behind it")))
        }
        (None, Some(scope)) => {
            let error = Diagnostic::error(scope.span, format!("{} says a scope without semantics", spelled(tree)));
            Err(Refusal::Error(error.label("no semantics").help("add `.release`, `.acquire` or `.relaxed` before it")))
        }
        _ => Ok(()),
    }
}

fn wrong(tree: &Instruction) -> Refusal {
    let message = format!("{} has the wrong number of operands", spelled(tree));
    operands::wrong_number(tree, message)
}

type TreeRef<'t> = &'t Spanned<TreeOperand>;
/// The result or none, the address, and what follows.
type Arrival<'t> = (Option<TreeRef<'t>>, TreeRef<'t>, &'t [Spanned<TreeOperand>]);

/// `state, [addr], …`, `_, [addr], …` or `[addr], …`.
fn with_result(tree: &Instruction) -> Result<Arrival<'_>, Refusal> {
    match tree.operands.as_slice() {
        [address, rest @ ..] if matches!(address.node, TreeOperand::Address(_)) => Ok((None, address, rest)),
        [result, address, rest @ ..] => Ok((Some(result), address, rest)),
        _ => Err(wrong(tree)),
    }
}

/// The CTA mask of a multicast comes last.
fn masked<'t>(
    tree: &Instruction,
    words: &Words,
    rest: &'t [Spanned<TreeOperand>],
) -> Result<(&'t [Spanned<TreeOperand>], Option<TreeRef<'t>>), Refusal> {
    match rest.split_last() {
        _ if !words.has(EVERYWHERE) => Ok((rest, None)),
        Some((mask, others)) => Ok((others, Some(mask))),
        None => Err(wrong(tree)),
    }
}

/// The address of an mbarrier; its state space is noted.
fn object(context: &mut Context<'_>, tree: &Instruction, operand: TreeRef<'_>) -> Result<AddressOperand, Refusal> {
    let address = context.address(operand)?;
    let space = tree.modifiers.iter().find(|word| ANY.contains(&word.node.as_str()));
    context.qualify(tree, space, &address)?;
    if space.is_none() {
        context.imply(Some(Space::Shared), &address);
    }
    Ok(address)
}

/// The tags of an operation that is for mbarriers of the own CTA only, or says that this one is.
fn windowed(tree: &Instruction, is_own: bool, tags: Tags) -> Tags {
    let space = tree.modifiers.iter().find(|word| ANY.contains(&word.node.as_str()));
    if is_own { tags.with(Tag::OwnWindow) } else { window(space, tags) }
}

fn init(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let [address, count] = context.operands(tree)?;
    let address = object(context, tree, address)?;
    // A count out of range breaks a rule when it is executed.
    let count = context.value(count)?;
    let state = context.thread.temporary(Type::UNTYPED);
    let layout = if words.has("layout::v1") { Layout::V1 } else { Layout::V0 };
    let value =
        LocalValue::Binary(BinaryOperator::Mbarrier(Operator::Init(layout)), Operand::Constant(Value(0)), count);
    context.thread.emit(Operation::Local { destination: state, ty: Type::UNTYPED, value });
    put(context, address, Operand::Register(state), Tags::NONE.with(Tag::MbarrierInit));
    Ok(())
}

fn inval(context: &mut Context<'_>, tree: &Instruction, _: &Words) -> Result<(), Refusal> {
    let [address] = context.operands(tree)?;
    let address = object(context, tree, address)?;
    put(context, address, Operand::Constant(Value(0)), Tags::NONE);
    Ok(())
}

fn put(context: &mut Context<'_>, address: AddressOperand, value: Operand, tags: Tags) {
    let common = [Tag::Write, Tag::Weak, Tag::Mbarrier, Tag::Generic, Tag::Shared, Tag::OwnWindow];
    let tags = common.into_iter().fold(tags, Tags::with);
    context.thread.emit(Operation::Store { address, value, ty: Type::UNTYPED, tags, scope: None });
}

/// A constant count that no mbarrier has is a mistake in the text.
fn check_count(operand: TreeRef<'_>) -> Result<(), Refusal> {
    match operand.node {
        TreeOperand::Integer(count) if !(1..=i128::from(GREATEST_COUNT)).contains(&count) => {
            let error = Diagnostic::error(operand.span, format!("an mbarrier cannot count {count} arrivals"));
            Err(Refusal::Error(error.label("no count").help(format!("counts are 1 to {GREATEST_COUNT}"))))
        }
        _ => Ok(()),
    }
}

struct Rmw<'t> {
    result: Option<TreeRef<'t>>,
    address: TreeRef<'t>,
    operator: Operator,
    operand: Operand,
    mask: Option<TreeRef<'t>>,
}

fn arrive(context: &mut Context<'_>, tree: &Instruction, words: &Words, counted: Counted) -> Result<(), Refusal> {
    let (result, address, rest) = with_result(tree)?;
    let (rest, mask) = masked(tree, words, rest)?;
    let operand = match rest {
        [] if !counted.needs_count => Operand::Constant(Value(1)),
        [count] => {
            check_count(count)?;
            context.value(count)?
        }
        _ => return Err(wrong(tree)),
    };
    modify(context, tree, words, Rmw { result, address, operator: counted.operator, operand, mask })
}

/// One read-modify-write; the result is the token of the state before it. With a mask, one in each CTA of it.
fn modify(context: &mut Context<'_>, tree: &Instruction, words: &Words, rmw: Rmw<'_>) -> Result<(), Refusal> {
    let address = object(context, tree, rmw.address)?;
    let is_remote = words.has("shared::cluster") || rmw.mask.is_some();
    let token = match rmw.result {
        None => None,
        Some(result) if is_remote && !matches!(result.node, TreeOperand::Sink) => {
            let error = Diagnostic::error(result.span, "an arrive on another CTA's mbarrier returns nothing");
            return Err(Refusal::Error(error.label("no result").help("write `_` in its place")));
        }
        Some(result) => context.destination(result, Type::U64)?,
    };
    let Some(mask) = rmw.mask else { return one(context, tree, words, &rmw, (address, token)) };
    context.findings.feature(Feature::Cluster, mask.span);
    let mask = context.value(mask)?;
    let place = context.thread.viewer().place;
    let start = match address {
        AddressOperand::Static(address) => Operand::Address(address),
        AddressOperand::Register(register) => Operand::Register(register),
    };
    let count = context.names.layout.cluster(place).count() as i128;
    // A bit of no CTA, like a rank of none, leads to an address outside of everything.
    for rank in 0..=count {
        let past = context.thread.fresh_label();
        let shifted = binary(context, BinaryOperator::ShiftRight, Type::U32, mask, constant(rank));
        let looked_at = constant(if rank < count { 1 } else { u32::MAX.into() });
        let bit = binary(context, BinaryOperator::And, Type::U32, shifted, looked_at);
        let operation = Operation::BranchIf {
            comparison: Comparison::Equal,
            ty: Type::U32,
            left: bit,
            right: constant(0),
            target: CodeIndex(0),
        };
        context.thread.emit_jump(operation, Spanned::new(past.as_str().into(), tree.span()));
        let address = AddressOperand::Register(in_cta(context, start, constant(rank)));
        one(context, tree, words, &rmw, (address, None))?;
        context.place(&past, tree.span());
    }
    Ok(())
}

fn one(
    context: &mut Context<'_>,
    tree: &Instruction,
    words: &Words,
    rmw: &Rmw<'_>,
    (address, token): (AddressOperand, Option<RegisterId>),
) -> Result<(), Refusal> {
    let scope = scope(context, words);
    let is_relaxed = words.has("relaxed") || matches!(rmw.operator, Operator::ExpectTx | Operator::CompleteTx);
    let common = [Tag::Atomic, Tag::NoReturn, Tag::Mbarrier, Tag::Generic, Tag::Shared, scope_tag(scope)];
    // One that returns a state is about the own CTA's, whatever it says; so is one that must not complete the phase.
    let is_own = token.is_some() || words.has("noComplete");
    let tags = |own: [Tag; 2]| windowed(tree, is_own, common.into_iter().chain(own).collect());
    let before = token.map(|_| context.thread.temporary(Type::UNTYPED));
    context.thread.emit(Operation::ReadModifyWrite {
        destination: before,
        address,
        update: Update::Apply(BinaryOperator::Mbarrier(rmw.operator), rmw.operand),
        ty: Type::UNTYPED,
        read_tags: tags([Tag::Read, Tag::Relaxed]),
        write_tags: tags([Tag::Write, if is_relaxed { Tag::Relaxed } else { Tag::Release }]),
        scope: Some(scope),
        assume: None,
    });
    if let (Some(destination), Some(before)) = (token, before) {
        take_token(context, destination, before);
    }
    Ok(())
}

fn take_token(context: &mut Context<'_>, destination: RegisterId, before: RegisterId) {
    let value = LocalValue::Unary(UnaryOperator::MbarrierToken, Operand::Register(before));
    context.thread.emit(Operation::Local { destination, ty: Type::U64, value });
}

fn scope(context: &mut Context<'_>, words: &Words) -> Scope {
    let scope = words.find(&[("cta", Scope::Cta), ("cluster", Scope::Cluster)]);
    note_scope(context, scope.as_ref());
    scope.map_or(Scope::Cta, |scope| scope.node)
}

/// A state is what an arrival has returned (PTX ISA 9.7.15.16.19): a number there is a parity whose word was forgotten.
fn refuse_number(state: TreeRef<'_>) -> Result<(), Refusal> {
    if !matches!(state.node, TreeOperand::Integer(_)) {
        return Ok(());
    }
    let error = Diagnostic::error(state.span, "a number is no state of an mbarrier").label("no state");
    Err(Refusal::Error(error.help("name the register that an arrival wrote, or wait for a parity with `.parity`")))
}

fn wait(
    context: &mut Context<'_>,
    tree: &Instruction,
    words: &Words,
    question: Operator,
    patience: Patience,
) -> Result<(), Refusal> {
    let (destination, address, operand) = match tree.operands.as_slice() {
        [destination, address, operand] => (destination, address, operand),
        // How long it may take changes no value.
        [destination, address, operand, hint] if patience == Patience::TimeLimit => {
            context.value(hint)?;
            (destination, address, operand)
        }
        _ => return Err(wrong(tree)),
    };
    let address = object(context, tree, address)?;
    if question == Operator::IsCompleteToken {
        refuse_number(operand)?;
    }
    let operand = context.value(operand)?;
    let destination = context.destination(destination, Type::PREDICATE)?;
    let scope = scope(context, words);
    let common = [Tag::Read, Tag::Mbarrier, Tag::Generic, Tag::Shared, Tag::OwnWindow, scope_tag(scope)];
    let yes = [Tag::MbarrierWait, if words.has("relaxed") { Tag::Relaxed } else { Tag::Acquire }];
    context.thread.emit(Operation::MbarrierWait(MbarrierWait {
        destination,
        address,
        question: (question, operand),
        answered_yes: common.into_iter().chain(yes).collect(),
        answered_no: common.into_iter().chain([Tag::Relaxed]).collect(),
        scope: Some(scope),
        patience,
    }));
    Ok(())
}

fn pending_count(context: &mut Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let [destination, token] = context.operands(tree)?;
    let token = context.value(token)?;
    let Some(destination) = context.destination(destination, Type::U32)? else { return Ok(()) };
    let value = LocalValue::Unary(UnaryOperator::MbarrierPendingCount, token);
    context.thread.emit(Operation::Local { destination, ty: Type::U32, value });
    Ok(())
}
