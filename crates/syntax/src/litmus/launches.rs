//! How kernels follow each other: edges (`.launch 0 -> 1, 0 => 2`), streams (`.stream a: 0 -> 1 => 2`) and events between
//! streams (`.event e: 1 -> 4`).

use super::declarations::Declarations;
use super::parser::Parser;
use super::tree::{Declaration, LaunchOrder};
use crate::span::{Span, Spanned};

impl Parser<'_> {
    /// `.launch 0 -> 1`, `.launch 0 => 1`, chains and lists of such, after `.launch`.
    pub(super) fn launches(&mut self, start: Span, declarations: &mut Declarations) -> Option<()> {
        loop {
            let mut first = self.kernel()?;
            let chain = self.chain()?;
            if chain.is_empty() {
                self.cursor.unexpected("`->` or `=>` between two kernels");
                return None;
            }
            for (order, second) in chain {
                let span = start.to(second.span);
                let launch = Declaration::Launch { first, order, second: second.clone() };
                declarations.push(Spanned::new(launch, span));
                first = second;
            }
            if self.cursor.eat(",").is_none() {
                return Some(());
            }
        }
    }

    /// `.stream a: 0 -> 1 => 2`, after `.stream`.
    pub(super) fn stream(&mut self, start: Span, declarations: &mut Declarations) -> Option<()> {
        let name = self.cursor.word("the name of a stream")?;
        self.cursor.expect(":", "after the name of the stream")?;
        let first = self.kernel()?;
        let then = self.chain()?;
        let span = start.to(then.last().map_or(first.span, |(_, last)| last.span));
        declarations.push(Spanned::new(Declaration::Stream { name, first, then }, span));
        Some(())
    }

    /// `.event e: 1 -> 4, 5`, after `.event`.
    pub(super) fn event(&mut self, start: Span, declarations: &mut Declarations) -> Option<()> {
        let name = self.cursor.word("the name of an event")?;
        self.cursor.expect(":", "after the name of the event")?;
        let after = self.kernel()?;
        let mut before = Vec::new();
        if self.cursor.eat("-").is_some() {
            self.cursor.expect(">", "to complete the arrow")?;
            before.push(self.kernel()?);
            while self.cursor.eat(",").is_some() {
                before.push(self.kernel()?);
            }
        }
        let span = start.to(before.last().map_or(after.span, |last| last.span));
        declarations.push(Spanned::new(Declaration::Event { name, after, before }, span));
        Some(())
    }

    /// `-> 1 => 2`: as many steps as there are.
    fn chain(&mut self) -> Option<Vec<(LaunchOrder, Spanned<u32>)>> {
        let mut chain = Vec::new();
        loop {
            let order = match () {
                () if self.cursor.eat("-").is_some() => LaunchOrder::Stream,
                () if self.cursor.eat("=").is_some() => LaunchOrder::Dependent,
                () => return Some(chain),
            };
            self.cursor.expect(">", "to complete the arrow")?;
            chain.push((order, self.kernel()?));
        }
    }

    fn kernel(&mut self) -> Option<Spanned<u32>> {
        let number = self.integer()?;
        Some(Spanned::new(self.small(&number)?, number.span))
    }
}
