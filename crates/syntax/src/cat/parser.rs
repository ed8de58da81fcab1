//! The parser's state, its moves over the words, and recovery. An error abandons one instruction: the words up to the
//! next line that begins an instruction at the same indentation (or further left) are skipped, so each broken
//! instruction gets one message and its neighbours are still read.

use super::keyword::{Certainty, STARTS, nearest};
use super::lexer::{Kind, Token, lex};
use super::tree::{BinaryOperator, CatInstruction, Expression, Model};
use crate::diagnostic::Diagnostic;
use crate::sorted::SharedSort as _;
use crate::span::{Span, Spanned};

/// Levels of recursion the parser takes: brackets, bodies, functions. Published models stay below 12.
pub const MAX_NESTING: u32 = 100;

/// Operators on the longest path of one expression. The recursive functions over trees rely on it.
pub const MAX_HEIGHT: u32 = 500;

pub(super) type Tree = Spanned<Expression>;

/// The diagnostic has been recorded; the caller gives up on its instruction.
#[derive(Debug)]
pub(super) struct Failed;

pub(super) type Parse<T> = Result<T, Failed>;

/// More messages than a person reads.
const MAX_DIAGNOSTICS: usize = 100;
/// An architecture, a name, and herd's options (`catdep`, and `withco` and its like in old models).
const MAX_HEADER: usize = 6;

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    tokens: Vec<Token<'a>>,
    pub(super) at: usize,
    /// How deep the recursion is.
    nesting: u32,
    /// The tallest expression finished in the present context; see [`Parser::link`].
    pub(super) tallest: u32,
    /// How many `end`s are outstanding.
    pub(super) bodies: u32,
    /// Indentation of the instruction being read.
    pub(super) column: u32,
    /// Left operands and their operators, of all expressions under way; see [`Parser::base`].
    pub(super) stack: Vec<(Tree, BinaryOperator)>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Parser<'a> {
        let (tokens, diagnostics) = lex(text);
        Parser { text, tokens, at: 0, nesting: 0, tallest: 0, bodies: 0, column: 0, stack: Vec::new(), diagnostics }
    }

    pub(super) fn model(mut self) -> (Model, Vec<Diagnostic>) {
        let header = self.header();
        let instructions = self.instructions();
        self.diagnostics.shared_sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.severity));
        if self.diagnostics.len() > MAX_DIAGNOSTICS {
            let more = self.diagnostics.len() - MAX_DIAGNOSTICS;
            // Warnings never crowd out the errors that make the tree unusable.
            self.diagnostics.shared_sort_by_key(|diagnostic| (diagnostic.severity, diagnostic.span.start));
            self.diagnostics.truncate(MAX_DIAGNOSTICS);
            let span = self.diagnostics.last().map_or(Span::default(), |last| last.span);
            let message = format!("{more} more messages are not shown");
            self.diagnostics.push(Diagnostic::warning(span, message).help("mend the first ones and run again"));
        }
        (Model { header, instructions }, self.diagnostics)
    }

    fn header(&mut self) -> Vec<Spanned<String>> {
        let mut words = Vec::new();
        while words.len() < MAX_HEADER && !self.starts_instruction() {
            let token = self.token();
            match token.kind {
                Kind::Name(word) => {
                    let assigned = matches!(self.kind_after(1), Kind::Symbol("=" | "("));
                    let certainty = if assigned { Certainty::WordExpected } else { Certainty::NamePossible };
                    if assigned || nearest(word, certainty).is_some() {
                        break;
                    }
                    words.push(Spanned::new(word.to_string(), token.span));
                }
                Kind::Text(text) => words.push(Spanned::new(text.to_string(), token.span)),
                _ => break,
            }
            self.at += 1;
        }
        words
    }

    /// Instructions up to the end of the text, or, in a body, up to `end`, `else` or `||`.
    pub(super) fn instructions(&mut self) -> Vec<Spanned<CatInstruction>> {
        let mut instructions = Vec::new();
        let outer = self.column;
        loop {
            let token = self.token();
            if token.kind == Kind::End || (self.bodies > 0 && self.closes_body()) {
                break;
            }
            let start = self.at;
            self.column = token.column;
            self.tallest = 0;
            match self.instruction() {
                Ok(Some(instruction)) => {
                    instructions.push(Spanned::new(instruction, token.span.to(self.last_span())));
                }
                Ok(None) => {}
                Err(Failed) => self.recover(start),
            }
        }
        self.column = outer;
        instructions
    }

    fn closes_body(&self) -> bool {
        matches!(self.kind(), Kind::Word("end" | "else") | Kind::Symbol("||"))
    }

    fn recover(&mut self, start: usize) {
        self.at = self.at.max(start + 1).min(self.tokens.len() - 1);
        loop {
            let token = self.token();
            let next = token.first && token.column <= self.column && self.starts_instruction();
            if token.kind == Kind::End || next || (self.bodies > 0 && self.closes_body()) {
                return;
            }
            self.at += 1;
        }
    }

    pub(super) fn token(&self) -> Token<'a> {
        let end = self.tokens.len() - 1;
        self.tokens[self.at.min(end)]
    }

    pub(super) fn kind(&self) -> Kind<'a> {
        self.token().kind
    }

    pub(super) fn kind_after(&self, distance: usize) -> Kind<'a> {
        self.tokens.get(self.at + distance).map_or(Kind::End, |token| token.kind)
    }

    pub(super) fn span(&self) -> Span {
        self.token().span
    }

    /// The place of the word just taken.
    pub(super) fn last_span(&self) -> Span {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(Span::default(), |token| token.span)
    }

    pub(super) fn advance(&mut self) -> Token<'a> {
        let token = self.token();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn take(&mut self, kind: Kind<'_>) -> Option<Span> {
        (self.kind() == kind).then(|| self.advance().span)
    }

    pub(super) fn expect(&mut self, kind: Kind<'_>, where_: &str, help: &str) -> Parse<Span> {
        match self.take(kind) {
            Some(span) => Ok(span),
            None => {
                let wanted = describe(kind);
                Err(self.unexpected(&format!("{wanted} {where_}"), help))
            }
        }
    }

    pub(super) fn name(&mut self, what: &str) -> Parse<Spanned<String>> {
        let token = self.token();
        match token.kind {
            Kind::Name(name) => {
                self.at += 1;
                Ok(Spanned::new(name.to_string(), token.span))
            }
            Kind::Word(word) => {
                let help = format!("`{word}` is a word of the language; choose another name");
                Err(self.unexpected(what, &help))
            }
            _ => Err(self.unexpected(what, "a name is letters, digits, `_`, `-` and `.`, beginning with a letter")),
        }
    }

    pub(super) fn unexpected(&mut self, wanted: &str, help: &str) -> Failed {
        let message = format!("expected {wanted}, found {}", describe(self.kind()));
        let span = self.span();
        self.fail(Diagnostic::error(span, message).help(help))
    }

    pub(super) fn fail(&mut self, diagnostic: Diagnostic) -> Failed {
        self.diagnostics.push(diagnostic);
        Failed
    }

    pub(super) fn warn(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.diagnostics.push(Diagnostic::warning(span, message).help(help));
    }

    /// Whether an instruction begins here. `~` begins one only before a check word: `r* ~empty x` is a closure and
    /// then a check, `R * ~W` a product.
    pub(super) fn starts_instruction(&self) -> bool {
        match self.kind() {
            Kind::Word(word) => STARTS.contains(&word),
            Kind::Symbol("~") => self.negated_check(0),
            Kind::Name(_) => self.bell_or_cut_after(0),
            _ => false,
        }
    }

    /// `~acyclic`, `~irreflexive` or `~empty`, `distance` words ahead.
    pub(super) fn negated_check(&self, distance: usize) -> bool {
        self.kind_after(distance) == Kind::Symbol("~")
            && matches!(self.kind_after(distance + 1), Kind::Word("acyclic" | "irreflexive" | "empty"))
    }

    /// bell's `instructions R[…]` and `default R[…]`; the words are names elsewhere.
    pub(super) fn bell_after(&self, distance: usize) -> bool {
        self.first_after(distance)
            && matches!(self.kind_after(distance), Kind::Name("instructions" | "default"))
            && matches!(self.kind_after(distance + 1), Kind::Name(_))
            && self.kind_after(distance + 2) == Kind::Symbol("[")
    }

    /// Dartagnan's solver hint `cut r`; a name `cut` elsewhere is a name.
    pub(super) fn cut_after(&self, distance: usize) -> bool {
        self.first_after(distance)
            && self.kind_after(distance) == Kind::Name("cut")
            && matches!(self.kind_after(distance + 1), Kind::Name(_))
    }

    pub(super) fn bell_or_cut_after(&self, distance: usize) -> bool {
        self.bell_after(distance) || self.cut_after(distance)
    }

    fn first_after(&self, distance: usize) -> bool {
        self.tokens.get(self.at + distance).is_some_and(|token| token.first)
    }

    /// Runs one level of recursion, refused where the stack could run out.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.nesting >= MAX_NESTING {
            let message = format!("this is nested more than {MAX_NESTING} levels deep");
            let span = self.span();
            return Err(
                self.fail(Diagnostic::error(span, message).help("name a part of it with `let` and use the name"))
            );
        }
        let outside = std::mem::take(&mut self.tallest);
        self.nesting += 1;
        let result = parse(self);
        self.nesting -= 1;
        self.tallest = outside.max(self.tallest + 1);
        result
    }

    /// Accounts for one operator on top of what is finished, so that no tree is too tall for the recursive functions
    /// that later drop, compare or compile it.
    pub(super) fn link(&mut self, span: Span) -> Parse<()> {
        self.tallest += 1;
        if self.tallest > MAX_HEIGHT {
            let message = format!("this expression chains more than {MAX_HEIGHT} operators");
            return Err(
                self.fail(Diagnostic::error(span, message).help("name a part of it with `let` and use the name"))
            );
        }
        Ok(())
    }
}

/// A word as a message shows it.
pub(super) fn describe(kind: Kind<'_>) -> String {
    match kind {
        Kind::Name(name) => format!("the name `{}`", shorten(name)),
        Kind::Tag(tag) => format!("the tag `'{}`", shorten(tag)),
        Kind::Text(text) => format!("the string `\"{}\"`", shorten(text)),
        Kind::Word(word) => format!("`{word}`"),
        Kind::Symbol(symbol) => format!("`{symbol}`"),
        Kind::Zero => "`0`".to_string(),
        Kind::Number(number) => format!("the number `{}`", shorten(number)),
        Kind::End => "the end of the file".to_string(),
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or("")),
        None => text.to_string(),
    }
}
