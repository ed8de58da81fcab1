//! A compiled model as bytes, so that a program need not compile the models it ships each time it starts.
//!
//! Numbers are written in groups of seven bits, least first; a text is its length and its bytes. The bytes begin with a
//! digest of all they were made from that is not in this file: the texts, and the names of the tags. Bytes whose digest is
//! another, or that are damaged, are no model: [`decode`] answers None, and the caller compiles the text.

mod bytes;
mod parts;
pub mod tree;

use fencepost_program::tag::Tag;
use fencepost_syntax::Source;

use crate::evaluate::Plans;
use crate::model::compile::graph::operands;
use crate::model::ir::{
    CheckId, Coherence, Demand, DemandedRelation, Direction, Model, NodeId, Operator, Reading, RecursiveGroup,
};
use crate::model::shipped;
use crate::model::vocabulary::library;

pub use bytes::{Reader, Writer};

/// Changes whenever the same model would be written in other bytes.
const FORMAT: u64 = 4;

/// Writes a model for [`decode`]. None if it is one that the format has no place for.
pub fn encode(writer: &mut Writer, model: &Model) -> Option<()> {
    if !model.unrecognised.is_empty() {
        return None;
    }
    writer.list(&model.files, |writer, file| writer.text(&file.name));
    writer.wide(digest(&model.files));
    writer.text(&model.name);
    let mut known = Some(());
    writer.with_words(|writer| {
        writer.list(&model.nodes, |writer, node| known = known.and(parts::write_node(writer, node)));
    });
    writer.list(&model.groups, |writer, group| {
        writer.number(group.first.0);
        writer.number(group.last.0);
        writer.list(&group.variables, |writer, (variable, body)| {
            writer.number(variable.0);
            writer.number(body.0);
        });
    });
    writer.list(&model.checks, |writer, check| known = known.and(parts::write_check(writer, check)));
    writer.list(&model.shown, |writer, (name, node)| {
        writer.text(name);
        writer.number(node.0);
    });
    writer.number(u32::from(model.coherence == Coherence::Partial));
    writer.list(&model.demands, |writer, demand| {
        writer.number(demand.check.0);
        writer.number(demand.wanted.0);
        let either = u32::from(demand.direction == Direction::EitherWay);
        writer.number(either | u32::from(demand.relation == DemandedRelation::SyncFence) << 1);
    });
    writer.list(&model.features, |writer, feature| writer.text(feature));
    writer.list(&model.readings, |writer, reading| {
        writer.text(&reading.name);
        writer.list(&reading.values, |writer, value| writer.text(value));
    });
    known
}

/// The model of these bytes, compiled from this source; None if they were not made from it.
pub fn decode(reader: &mut Reader<'_>, source: &Source) -> Option<Model> {
    let file = |reader: &mut Reader<'_>| {
        let name = reader.text()?;
        let text = match name {
            name if name == source.name => return Some(source.clone()),
            library::PRELUDE_NAME => library::PRELUDE,
            name => library::file(name)?,
        };
        Some(Source::fixed(name, text))
    };
    let files = reader.list(file)?;
    if reader.wide()? != digest(&files) {
        return None;
    }
    let name = reader.text()?.to_owned();
    let words = reader.words()?;
    let mut named = reader.with_words(&words);
    let nodes = named.shared_list(&parts::no_node(), parts::read_node)?;
    reader.skip(reader.rest().len() - named.rest().len())?;
    let model = Model {
        name,
        nodes,
        groups: reader.list(|reader| {
            let (first, last) = (NodeId(reader.number()?), NodeId(reader.number()?));
            let variables = reader.list(|reader| Some((NodeId(reader.number()?), NodeId(reader.number()?))))?;
            Some(RecursiveGroup { first, last, variables })
        })?,
        checks: reader.list(parts::read_check)?,
        shown: reader.list(|reader| Some((reader.text()?.to_owned(), NodeId(reader.number()?))))?,
        coherence: if reader.number()? == 1 { Coherence::Partial } else { Coherence::Total },
        demands: reader.list(|reader| {
            let (check, wanted, how) = (CheckId(reader.number()?), NodeId(reader.number()?), reader.number()?);
            let direction = if how & 1 == 1 { Direction::EitherWay } else { Direction::Forward };
            let relation = if how & 2 == 2 { DemandedRelation::SyncFence } else { DemandedRelation::Co };
            Some(Demand { check, wanted, direction, relation })
        })?,
        unrecognised: Vec::new(),
        features: reader.list(|reader| Some(reader.text()?.to_owned()))?,
        readings: reader.list(|reader| {
            let name = reader.text()?.to_owned();
            Some(Reading { name, values: reader.list(|reader| Some(reader.text()?.to_owned()))? })
        })?,
        files,
        plans: Plans::default(),
    };
    is_sound(&model).then_some(model)
}

/// Every index is one: engines do not ask again.
fn is_sound(model: &Model) -> bool {
    let is_node = |node: NodeId| node.index() < model.nodes.len();
    let is_variable = |&(variable, body): &(NodeId, NodeId)| {
        is_node(body) && model.nodes.get(variable.index()).is_some_and(|node| node.operator == Operator::Variable)
    };
    let group =
        |group: &RecursiveGroup| is_node(group.first) && is_node(group.last) && group.variables.iter().all(is_variable);
    let node = |(at, node): (usize, &crate::model::ir::Node)| {
        node.file.index() < model.files.len() && operands(&node.operator).all(|operand| operand.index() < at)
    };
    model.nodes.iter().enumerate().all(node)
        && model.groups.iter().all(group)
        && model.checks.iter().all(|check| is_node(check.node) && check.file.index() < model.files.len())
        && model.shown.iter().all(|(_, node)| is_node(*node))
        && model.demands.iter().all(|demand| is_node(demand.wanted) && demand.check.index() < model.checks.len())
}

/// Of the texts of a model and of all that is written by number.
fn digest(files: &[Source]) -> u64 {
    let known = |file: &Source| shipped::known_digest(&file.text).or_else(|| library::known_digest(&file.text));
    let of = |file: &Source| known(file).unwrap_or_else(|| shipped::digest(&file.text));
    files.iter().fold(TAGS, |hash, file| shipped::mixed(hash, of(file)))
}

/// Of the format and the tags.
const TAGS: u64 = {
    let (mut hash, mut at) = (FORMAT, 0);
    while at < Tag::ALL.len() {
        hash = shipped::mixed(hash, shipped::digest(Tag::ALL[at].cat_name()));
        at += 1;
    }
    hash
};
