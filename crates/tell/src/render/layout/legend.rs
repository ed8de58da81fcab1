//! What the picture uses, below it: relations, then proxies, then the shapes of gates. Only what occurs.

use crate::render::layout::geometry::Point;
use crate::render::layout::{Layout, MARGIN, characters};
use crate::render::scene::Scene;
use crate::render::scene::palette::Relation;
use crate::render::scene::proxy_marks::{Gate, Mark};

pub(crate) struct Entry<'a> {
    pub(crate) at: Point,
    pub(crate) text: String,
    pub(crate) sample: Sample<'a>,
}

pub(crate) enum Sample<'a> {
    Relation(&'a Relation),
    Mark(Mark),
    Gate(Gate),
}

/// In as many rows as the width allows.
pub(crate) fn entries<'a>(scene: &'a Scene, layout: &Layout) -> Vec<Entry<'a>> {
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
