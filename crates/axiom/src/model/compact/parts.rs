//! Nodes and checks as bytes; see [`super`].

use fencepost_program::tag::Tag;
use fencepost_syntax::Span;

use super::bytes::{Reader, Writer};
use super::tree::{KINDS, ROLES};
use crate::model::compile::graph::operands;
use crate::model::ir::{BaseRelation, BaseSet, Check, Dynamic, FileId, Node, NodeId, NodeKind, Operator};

/// The sets that are no tags; these follow.
const SETS: [BaseSet; 4] = [BaseSet::Universe, BaseSet::Memory, BaseSet::FinalWrites, BaseSet::Deciding];

fn relation_number(relation: BaseRelation) -> Option<u32> {
    BaseRelation::ALL.iter().position(|known| *known == relation).map(|at| at as u32)
}

fn set_number(set: BaseSet) -> Option<u32> {
    let number = match set {
        BaseSet::Tagged(tag) => SETS.len() + Tag::ALL.iter().position(|known| *known == tag)?,
        set => SETS.iter().position(|known| *known == set)?,
    };
    Some(number as u32)
}

fn set_of(number: u32) -> Option<BaseSet> {
    let number = number as usize;
    match number.checked_sub(SETS.len()) {
        Some(tag) => Tag::ALL.get(tag).map(|tag| BaseSet::Tagged(*tag)),
        None => SETS.get(number).copied(),
    }
}

fn operator_number(operator: &Operator) -> u32 {
    match operator {
        Operator::Base(_) => 0,
        Operator::EmptySet => 1,
        Operator::SetUnion(..) => 2,
        Operator::SetIntersection(..) => 3,
        Operator::SetDifference(..) => 4,
        Operator::SetComplement(_) => 5,
        Operator::Domain(_) => 6,
        Operator::Range(_) => 7,
        Operator::BaseRelation(_) => 8,
        Operator::EmptyRelation => 9,
        Operator::Union(..) => 10,
        Operator::Intersection(..) => 11,
        Operator::Difference(..) => 12,
        Operator::Complement(_) => 13,
        Operator::Sequence(..) => 14,
        Operator::Inverse(_) => 15,
        Operator::Plus(_) => 16,
        Operator::Star(_) => 17,
        Operator::Optional(_) => 18,
        Operator::Identity(_) => 19,
        Operator::Product(..) => 20,
        Operator::Variable => 21,
    }
}

/// None if the operator is of a kind that came after this format.
fn write_operator(writer: &mut Writer, operator: &Operator) -> Option<()> {
    writer.number(operator_number(operator));
    match operator {
        Operator::Base(set) => writer.number(set_number(*set)?),
        Operator::BaseRelation(relation) => writer.number(relation_number(*relation)?),
        other => operands(other).for_each(|operand| writer.number(operand.0)),
    }
    Some(())
}

fn read_operator(reader: &mut Reader<'_>) -> Option<Operator> {
    let number = reader.number()?;
    let mut node = || reader.number().map(NodeId);
    Some(match number {
        0 => Operator::Base(set_of(reader.number()?)?),
        1 => Operator::EmptySet,
        2 => Operator::SetUnion(node()?, node()?),
        3 => Operator::SetIntersection(node()?, node()?),
        4 => Operator::SetDifference(node()?, node()?),
        5 => Operator::SetComplement(node()?),
        6 => Operator::Domain(node()?),
        7 => Operator::Range(node()?),
        8 => Operator::BaseRelation(*BaseRelation::ALL.get(reader.number()? as usize)?),
        9 => Operator::EmptyRelation,
        10 => Operator::Union(node()?, node()?),
        11 => Operator::Intersection(node()?, node()?),
        12 => Operator::Difference(node()?, node()?),
        13 => Operator::Complement(node()?),
        14 => Operator::Sequence(node()?, node()?),
        15 => Operator::Inverse(node()?),
        16 => Operator::Plus(node()?),
        17 => Operator::Star(node()?),
        18 => Operator::Optional(node()?),
        19 => Operator::Identity(node()?),
        20 => Operator::Product(node()?, node()?),
        21 => Operator::Variable,
        _ => return None,
    })
}

fn write_place(writer: &mut Writer, file: FileId, span: Span) {
    writer.number(file.0);
    writer.place(span.start);
    writer.number(span.end.wrapping_sub(span.start));
}

fn read_place(reader: &mut Reader<'_>) -> Option<(FileId, Span)> {
    let (file, start) = (FileId(reader.number()?), reader.place()?);
    Some((file, Span::new(start, start.wrapping_add(reader.number()?))))
}

pub(super) fn write_node(writer: &mut Writer, node: &Node) -> Option<()> {
    let Dynamic { rf, co, sync_fence, syncbar } = node.depends;
    let bits = [node.name.is_some(), node.kind == NodeKind::Set, rf, co, sync_fence, syncbar];
    writer.number(bits.iter().enumerate().fold(0, |all, (at, bit)| all | u32::from(*bit) << at));
    write_operator(writer, &node.operator)?;
    write_place(writer, node.file, node.span);
    if let Some(name) = &node.name {
        writer.word(name);
    }
    Some(())
}

pub(super) fn read_node(reader: &mut Reader<'_>) -> Option<Node> {
    let bits = reader.number()?;
    let bit = |at: u32| bits >> at & 1 == 1;
    let operator = read_operator(reader)?;
    let (file, span) = read_place(reader)?;
    let name = if bit(0) { Some(reader.word_text()?.into()) } else { None };
    let kind = if bit(1) { NodeKind::Set } else { NodeKind::Relation };
    let depends = Dynamic { rf: bit(2), co: bit(3), sync_fence: bit(4), syncbar: bit(5) };
    Some(Node { operator, kind, name, file, span, depends })
}

/// What stands for a node that could not be read.
pub(super) fn no_node() -> Node {
    let (kind, depends) = (NodeKind::Relation, Dynamic::default());
    Node { operator: Operator::EmptyRelation, kind, name: None, file: FileId(0), span: Span::default(), depends }
}

pub(super) fn write_check(writer: &mut Writer, check: &Check) -> Option<()> {
    writer.number(ROLES.iter().position(|role| *role == check.role)? as u32);
    writer.number(KINDS.iter().position(|kind| *kind == check.kind)? as u32);
    writer.number(u32::from(check.negated));
    writer.number(check.node.0);
    writer.text(&check.name);
    write_place(writer, check.file, check.span);
    Some(())
}

pub(super) fn read_check(reader: &mut Reader<'_>) -> Option<Check> {
    let role = *ROLES.get(reader.number()? as usize)?;
    let kind = *KINDS.get(reader.number()? as usize)?;
    let negated = reader.number()? == 1;
    let node = NodeId(reader.number()?);
    let name = reader.text()?.to_owned();
    let (file, span) = read_place(reader)?;
    Some(Check { role, negated, kind, node, name, file, span })
}
