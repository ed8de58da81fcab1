//! The state that the parsers of the parts of a litmus test share, and the look ahead at its layout.

use std::borrow::Cow;
use std::sync::Arc;

use super::tree::{Arch, Layout};
use crate::assembly::Marks;
use crate::span::Span;
use crate::text::{Cursor, Kind};

/// State shared by the parsers of the parts.
pub(super) struct Parser<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) arch: Arch,
    /// What the PTX threads show of their notation, and what the x86 threads show of theirs.
    pub(super) marks: Marks,
    pub(super) x86_marks: Marks,
    /// NVLitmus: conditions name registers without their threads.
    pub(super) registers_are_unique: bool,
    /// Names that conditions have used.
    pub(super) shared: Shared<'a>,
    /// The last `=>` of the condition at hand that stands in no parentheses.
    pub(super) bare_implication: Option<Span>,
}

/// One copy of each name, of the first few: conditions repeat them.
#[derive(Default)]
pub(super) struct Shared<'a> {
    names: Vec<(Cow<'a, str>, Arc<str>)>,
    /// Where the last one stands that was asked for.
    last: usize,
}

impl<'a> Shared<'a> {
    pub(super) fn name(&mut self, name: Cow<'a, str>) -> Arc<str> {
        const FEW: usize = 16;
        // The same again, or what followed it before.
        let near = [self.last, self.last + 1].into_iter().find(|at| self.is_known(*at, &name));
        if let Some(at) = near.or_else(|| (0..self.names.len()).find(|at| self.is_known(*at, &name))) {
            self.last = at;
            return Arc::clone(&self.names[at].1);
        }
        let made: Arc<str> = Arc::from(&*name);
        if self.names.len() < FEW {
            self.names.push((name, Arc::clone(&made)));
        }
        made
    }

    fn is_known(&self, at: usize, name: &str) -> bool {
        self.names.get(at).is_some_and(|(known, _)| known == name)
    }
}

impl<'a> Parser<'a> {
    pub(super) fn new(cursor: Cursor<'a>, arch: Arch) -> Parser<'a> {
        Parser {
            cursor,
            arch,
            marks: Marks::default(),
            x86_marks: Marks::default(),
            registers_are_unique: false,
            shared: Shared::default(),
            bare_implication: None,
        }
    }

    /// The layout that the first thread shows: `{` opens a block.
    pub(super) fn layout(&self) -> Layout {
        let mut ahead = 0;
        loop {
            let token = self.cursor.ahead(ahead);
            if token.kind == Kind::End || self.cursor.is(ahead, "|") || self.cursor.is(ahead, ";") {
                return Layout::Columns;
            }
            if self.cursor.is(ahead, "{") {
                return Layout::Blocks;
            }
            ahead += 1;
        }
    }
}
