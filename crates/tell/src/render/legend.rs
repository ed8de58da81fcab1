//! What the picture uses, below it: relations, then proxies, then the shapes of gates. Only what occurs.

use super::geometry::Point;
use super::layout::{Layout, MARGIN, characters};
use super::marks::{Gate, Mark};
use super::palette::Relation;
use super::scene::Scene;

pub(super) struct Entry<'a> {
    pub(super) at: Point,
    pub(super) text: String,
    pub(super) sample: Sample<'a>,
}

pub(super) enum Sample<'a> {
    Relation(&'a Relation),
    Mark(Mark),
    Gate(Gate),
}

/// In as many rows as the width allows.
pub(super) fn entries<'a>(scene: &'a Scene, layout: &Layout) -> Vec<Entry<'a>> {
    let relations = scene.relations().into_iter().map(|relation| {
        let text = match relation.words() {
            "" => relation.name().to_owned(),
            words => format!("{}: {words}", relation.name()),
        };
        (Sample::Relation(relation), text)
    });
    let marks = scene.marks().into_iter().map(|mark| (Sample::Mark(mark), mark.words().to_owned()));
    let gates = scene.gates().into_iter().map(|gate| (Sample::Gate(gate), gate.words().to_owned()));
    let mut at = Point { x: MARGIN, y: layout.footer + scene.caption.len() as f64 * 18.0 + 14.0 };
    let mut entries = Vec::new();
    for (sample, text) in relations.chain(marks).chain(gates) {
        let width = characters(&text) as f64 * 6.6 + 48.0;
        if at.x > MARGIN && at.x + width > layout.width - MARGIN {
            at = Point { x: MARGIN, y: at.y + 18.0 };
        }
        entries.push(Entry { at, text, sample });
        at.x += width;
    }
    entries
}
