//! Warp-level instructions (PTX ISA 9.7.10.6 `shfl`, 9.7.15.10 to 9.7.15.13 and 9.7.15.15). A thread of a test is alone in
//! its warp, as lane 0: it is elected, its vote is the result, and what it exchanges is its own.

use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::LocalValue;
use crate::sections;
use crate::table::compute::{assign, binary, constant};
use crate::table::form::{self, Form, Slot, version};
use crate::table::modifier;
use crate::table::ptx::register;
use crate::value::Type;
use crate::value::expression::BinaryOperator;

#[derive(Copy, Clone, Debug)]
pub(crate) enum Kind {
    Shuffle,
    /// `vote.sync.all` and `.any`.
    Vote,
    VoteUniform,
    Ballot,
    Elect,
    Match,
    ActiveMask,
    Reduce,
}

/// Which lanes a shuffle finds.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Lane {
    Own,
    Any,
}

const PREDICATE: &[Slot] = &[Slot::One(&["pred"])];
const B32: &[Slot] = &[Slot::One(&["b32"])];

const fn row(head: &'static [&'static str], slots: &'static [Slot], section: &'static str, kind: Kind) -> Form<Kind> {
    Form { head, slots, section, since: version(6, 0), kind }
}

/// A row of a later version.
const fn later(row: Form<Kind>, major: u8, minor: u8) -> Form<Kind> {
    Form { head: row.head, slots: row.slots, section: row.section, since: version(major, minor), kind: row.kind }
}

pub(crate) const FORMS: &[Form<Kind>] = &[
    row(
        &["shfl", "sync"],
        &[Slot::One(&["up", "down", "bfly", "idx"]), Slot::One(&["b32"])],
        sections::SHFL_SYNC,
        Kind::Shuffle,
    ),
    row(&["vote", "sync", "all"], PREDICATE, sections::VOTE_SYNC, Kind::Vote),
    row(&["vote", "sync", "any"], PREDICATE, sections::VOTE_SYNC, Kind::Vote),
    row(&["vote", "sync", "uni"], PREDICATE, sections::VOTE_SYNC, Kind::VoteUniform),
    row(&["vote", "sync", "ballot"], B32, sections::VOTE_SYNC, Kind::Ballot),
    row(&["match", "any", "sync"], &[Slot::One(&["b32", "b64"])], sections::MATCH_SYNC, Kind::Match),
    row(&["match", "all", "sync"], &[Slot::One(&["b32", "b64"])], sections::MATCH_SYNC, Kind::Match),
    later(row(&["activemask"], B32, sections::ACTIVEMASK, Kind::ActiveMask), 6, 2),
    later(
        row(
            &["redux", "sync"],
            &[Slot::One(&["add", "min", "max", "and", "or", "xor"]), Slot::One(&["u32", "s32", "b32"])],
            sections::REDUX_SYNC,
            Kind::Reduce,
        ),
        7,
        0,
    ),
    later(row(&["elect", "sync"], &[], sections::ELECT_SYNC, Kind::Elect), 8, 0),
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    Some(form::words(form, tree).and_then(|words| {
        let is_fixed = words.has("idx");
        emit(context, tree, form.kind, if is_fixed { Lane::Any } else { Lane::Own })
    }))
}

type Tree = Spanned<TreeOperand>;

/// `d|p`, or `d` alone.
fn pair(operand: &Tree) -> (&Tree, Option<&Tree>) {
    match &operand.node {
        TreeOperand::Pair(first, second) => (first, Some(second)),
        _ => (operand, None),
    }
}

fn emit(context: &mut Context<'_>, tree: &Instruction, kind: Kind, asked: Lane) -> Result<(), Refusal> {
    let ty = tree.modifiers.last().and_then(|word| modifier::integer_type(&word.node)).unwrap_or(Type::U32);
    let truth = || LocalValue::Operand(constant(1));
    match kind {
        Kind::Shuffle => {
            let [destination, source, lane, _, _] = context.operands(tree)?;
            let (source, lane) = (context.value(source)?, context.value(lane)?);
            let (value, found) = pair(destination);
            let is_own = binary(context, BinaryOperator::And, Type::U32, lane, constant(31));
            assign(context, value, ty, LocalValue::Operand(source))?;
            // Whether the lane asked for is there: lane 0, or with `.idx` any, as each lane stands for this thread.
            let is_own = binary(context, BinaryOperator::Equal, Type::U32, is_own, constant(0));
            let is_there = if asked == Lane::Any { truth() } else { LocalValue::Operand(is_own) };
            found.map_or(Ok(()), |found| predicate(context, found, is_there))
        }
        Kind::Vote | Kind::VoteUniform => {
            let [destination, vote, _] = context.operands(tree)?;
            let vote = register::predicate(context, vote)?;
            let value = if matches!(kind, Kind::Vote) { LocalValue::Operand(vote) } else { truth() };
            predicate(context, destination, value)
        }
        Kind::Ballot => {
            let [destination, vote, _] = context.operands(tree)?;
            let vote = register::predicate(context, vote)?;
            let value = LocalValue::Select { condition: vote, then: constant(1), otherwise: constant(0) };
            assign(context, destination, Type::U32, value)
        }
        Kind::Elect => {
            let [destination, _] = context.operands(tree)?;
            let (leader, elected) = pair(destination);
            assign(context, leader, Type::U32, LocalValue::Operand(constant(0)))?;
            elected.map_or(Ok(()), |elected| predicate(context, elected, truth()))
        }
        Kind::Match => {
            let [destination, _, _] = context.operands(tree)?;
            let (mask, all) = pair(destination);
            assign(context, mask, Type::U32, truth())?;
            all.map_or(Ok(()), |all| predicate(context, all, truth()))
        }
        Kind::ActiveMask => {
            let [destination] = context.operands(tree)?;
            assign(context, destination, Type::U32, truth())
        }
        Kind::Reduce => {
            let [destination, source, _] = context.operands(tree)?;
            let value = LocalValue::Operand(context.value(source)?);
            assign(context, destination, ty, value)
        }
    }
}

fn predicate(context: &mut Context<'_>, destination: &Tree, value: LocalValue) -> Result<(), Refusal> {
    assign(context, destination, Type::PREDICATE, value)
}
