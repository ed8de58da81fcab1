//! Where a piece of an expanded template came from. NVLitmus instances are built text; people look at the file.

use crate::span::Span;

/// A run of expanded text.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Piece {
    /// Where it starts in the expanded text; pieces are sorted by it and cover the text.
    pub(crate) start: u32,
    /// Where it starts in the file.
    pub(crate) source: u32,
    /// For a substituted field: the `$n` that it replaced.
    pub(crate) placeholder: Option<Span>,
}

/// How to read a substituted field's position.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum View {
    /// As the `$n` in the template: spans of one instruction then stay together.
    Template,
    /// As the field in its row: what a person must mend.
    Row,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SpanMap {
    pub(crate) pieces: Vec<Piece>,
}

impl SpanMap {
    pub(crate) fn map(&self, span: Span, view: View) -> Span {
        let index = self.pieces.partition_point(|piece| piece.start <= span.start).saturating_sub(1);
        let Some(piece) = self.pieces.get(index) else { return span };
        if let (Some(placeholder), View::Template) = (piece.placeholder, view) {
            return placeholder;
        }
        let limit = self.pieces.get(index + 1).map_or(span.end, |next| next.start);
        let start = piece.source + (span.start - piece.start);
        Span::new(start, start + span.end.min(limit).saturating_sub(span.start))
    }
}
