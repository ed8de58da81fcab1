//! Byte positions in a source text, and the text itself with its name.

use std::borrow::Cow;
use std::sync::OnceLock;

/// A half-open byte range of a [`Source`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A value and where it stands in the text. Equality ignores the position, so that trees can be compared after printing.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    pub node: T,
    pub span: Span,
}

impl<T> Spanned<T> {
    pub fn new(node: T, span: Span) -> Spanned<T> {
        Spanned { node, span }
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Spanned<T>) -> bool {
        self.node == other.node
    }
}

impl<T: Eq> Eq for Spanned<T> {}

/// A named text. The name is what diagnostics show (a path, or `<stdin>`).
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    /// A text of the program itself is not copied: a shipped model is longer than most tests.
    pub text: Cow<'static, str>,
    /// Made when a place far behind the beginning is asked for.
    lines: OnceLock<Lines>,
}

impl PartialEq for Source {
    fn eq(&self, other: &Source) -> bool {
        (&self.name, &self.text) == (&other.name, &other.text)
    }
}

impl Eq for Source {}

/// Places up to here are found by counting lines, which is cheaper than a table for the few places of a small test.
const NEAR: usize = 1 << 14;

/// Where the lines of a text begin, for who asks of many places: counting the lines before each takes as long as the text is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lines {
    /// The ends of lines, ascending.
    ends: Vec<u32>,
}

impl Lines {
    pub fn of(text: &str) -> Lines {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at as u32);
        Lines { ends: ends.collect() }
    }

    /// As [`Source::line`].
    pub fn line(&self, offset: u32) -> u32 {
        self.ends.partition_point(|end| *end < offset) as u32 + 1
    }
}

/// A position for people: both numbers count from 1, columns in characters.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct LineColumn {
    pub line: u32,
    pub column: u32,
}

impl Source {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Source {
        Source { name: name.into(), text: Cow::Owned(text.into()), lines: OnceLock::new() }
    }

    /// A text that is part of the program.
    pub fn fixed(name: impl Into<String>, text: &'static str) -> Source {
        Source { name: name.into(), text: Cow::Borrowed(text), lines: OnceLock::new() }
    }

    /// Where a byte offset stands; an offset past the end is the end.
    pub fn position(&self, offset: u32) -> LineColumn {
        let offset = (offset as usize).min(self.text.len());
        let before = &self.text.as_bytes()[..offset];
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        LineColumn { line: self.line(offset as u32), column: column as u32 }
    }

    /// The line of [`Source::position`], which is cheaper: a line may be long.
    pub fn line(&self, offset: u32) -> u32 {
        let end = (offset as usize).min(self.text.len());
        if end > NEAR {
            return self.lines.get_or_init(|| Lines::of(&self.text)).line(end as u32);
        }
        let before = &self.text.as_bytes()[..end];
        before.iter().filter(|&&byte| byte == b'\n').count() as u32 + 1
    }

    /// The text of a span, empty if the span does not fit this source.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_text_are_those_of_its_positions() {
        for text in ["", "a", "\n", "a\nb", "\n\n a\n", "é\nb\n"] {
            let (source, lines) = (Source::new("t", text), Lines::of(text));
            for offset in 0..=text.len() as u32 + 2 {
                assert_eq!(lines.line(offset), source.line(offset), "{text:?} {offset}");
                assert_eq!(source.line(offset), source.position(offset).line, "{text:?} {offset}");
            }
        }
    }

    #[test]
    fn places_behind_many_lines_are_those_that_counting_finds() {
        let text = "a\né\n\n".repeat(NEAR / 3);
        let source = Source::new("t", text.as_str());
        for offset in
            (0..=text.len()).step_by(997).filter(|at| text.is_char_boundary(*at)).chain([NEAR, text.len() + 9])
        {
            let before = &text[..offset.min(text.len())];
            let line = before.matches('\n').count() as u32 + 1;
            let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u32 + 1;
            assert_eq!(source.position(offset as u32), LineColumn { line, column }, "{offset}");
        }
        assert_eq!(source, Source::new("t", text));
    }
}
