//! A position in a token list, and the list of what went wrong so far.

use super::{Comments, DIAGNOSTIC_LIMIT, Kind, SpanMap, Token, View, give_back, lex};
use crate::diagnostic::Diagnostic;
use crate::limits;
use crate::sorted::SharedSort as _;
use crate::span::{Span, Spanned};

/// After so many tokens the limits are asked.
const SELDOM: usize = 128;

pub(crate) struct Cursor<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    map: Option<(&'a SpanMap, View)>,
    diagnostics: Vec<Diagnostic>,
    given_up: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str, from: usize, comments: Comments) -> Cursor<'a> {
        let (tokens, diagnostics) = lex(text, from, comments);
        let mut cursor = Cursor { text, tokens, at: 0, map: None, diagnostics, given_up: false };
        // A template may be thousands of texts that are shorter than that.
        if limits::tick() {
            cursor.give_up();
        }
        cursor
    }

    /// A cursor over expanded text whose spans are those of the file.
    pub(crate) fn mapped(text: &'a str, comments: Comments, map: &'a SpanMap, view: View) -> Cursor<'a> {
        let mut cursor = Cursor::new(text, 0, comments);
        for diagnostic in &mut cursor.diagnostics {
            diagnostic.span = map.map(diagnostic.span, view);
        }
        cursor.map = Some((map, view));
        cursor
    }

    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        give_back(self.tokens);
        self.diagnostics
    }

    /// Records an error; at the limit, the rest of the text is given up.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        if !self.given_up {
            self.diagnostics.push(diagnostic);
        }
        if self.diagnostics.len() >= DIAGNOSTIC_LIMIT {
            self.give_up();
        }
    }

    /// How much has been reported so far.
    pub(crate) fn errors(&self) -> usize {
        self.diagnostics.len()
    }

    /// Goes to the end for good: what follows cannot be trusted, and complaints about it would be noise.
    pub(crate) fn give_up(&mut self) {
        self.given_up = true;
        self.at = self.tokens.len() - 1;
    }

    pub(crate) fn error(&mut self, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(span, message));
    }

    #[inline]
    pub(crate) fn peek(&self) -> Token {
        self.tokens[self.at]
    }

    /// The token `ahead` places on; the end repeats for ever.
    #[inline]
    pub(crate) fn ahead(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    #[inline]
    pub(crate) fn bump(&mut self) -> Token {
        let token = self.peek();
        if token.kind != Kind::End {
            self.at += 1;
            if self.at.is_multiple_of(SELDOM) && limits::is_over() {
                self.give_up();
            }
        }
        token
    }

    #[inline]
    pub(crate) fn at_end(&self) -> bool {
        self.peek().kind == Kind::End
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    #[inline]
    pub(crate) fn str(&self, token: Token) -> &'a str {
        &self.text[token.start as usize..token.end as usize]
    }

    /// The text between two raw offsets (see [`Token`]).
    pub(crate) fn raw(&self, start: u32, end: u32) -> &'a str {
        &self.text[start as usize..(end as usize).max(start as usize)]
    }

    #[inline]
    pub(crate) fn span(&self, token: Token) -> Span {
        let span = Span::new(token.start, token.end);
        self.map.map_or(span, |(map, view)| map.map(span, view))
    }

    #[inline]
    pub(crate) fn here(&self) -> Span {
        self.span(self.peek())
    }

    /// The raw end of the token before this one.
    pub(crate) fn previous(&self) -> Token {
        self.tokens[self.at.saturating_sub(1)]
    }

    #[inline(always)]
    pub(crate) fn is(&self, ahead: usize, text: &str) -> bool {
        self.spells(self.ahead(ahead), text)
    }

    /// Inlined, so that the first byte of a text that is known is compared where the question is asked: most end there.
    #[inline(always)]
    fn spells(&self, token: Token, text: &str) -> bool {
        text.as_bytes().first() == Some(&token.first) && self.is_all(token, text)
    }

    /// The same of a token that begins as it should.
    fn is_all(&self, token: Token, text: &str) -> bool {
        matches!(token.kind, Kind::Word | Kind::Mark)
            && text.len() == (token.end - token.start) as usize
            && (text.len() == 1 || self.str(token) == text)
    }

    #[inline(always)]
    pub(crate) fn at(&self, text: &str) -> bool {
        self.spells(self.peek(), text)
    }

    #[inline]
    pub(crate) fn at_kind(&self, kind: Kind) -> bool {
        self.peek().kind == kind
    }

    #[inline(always)]
    pub(crate) fn eat(&mut self, text: &str) -> Option<Span> {
        if self.at(text) { Some(self.eaten()) } else { None }
    }

    fn eaten(&mut self) -> Span {
        let token = self.bump();
        self.span(token)
    }

    pub(crate) fn spanned<T: From<&'a str>>(&self, token: Token) -> Spanned<T> {
        Spanned::new(self.str(token).into(), self.span(token))
    }

    /// How to name the token under the cursor to a person.
    pub(crate) fn found(&self) -> String {
        let token = self.peek();
        match token.kind {
            Kind::End => "the end of the file".to_owned(),
            _ => {
                let text: String = self.str(token).chars().take(40).collect();
                format!("`{}`", text.escape_debug())
            }
        }
    }

    /// "expected …, found …" at the cursor. Says nothing about a character that the lexer has reported.
    pub(crate) fn unexpected(&mut self, expected: &str) {
        let diagnostic = self.unexpected_diagnostic(expected);
        if !self.at_kind(Kind::Bad) {
            self.report(diagnostic);
        }
    }

    pub(crate) fn unexpected_diagnostic(&self, expected: &str) -> Diagnostic {
        Diagnostic::error(self.here(), format!("expected {expected}, found {}", self.found()))
            .label(format!("expected {expected}"))
    }

    /// Eats `text` or reports that it is missing.
    pub(crate) fn expect(&mut self, text: &str, why: &str) -> Option<Span> {
        let eaten = self.eat(text);
        if eaten.is_none() {
            self.unexpected(&format!("`{text}` {why}"));
        }
        eaten
    }

    pub(crate) fn word(&mut self, what: &str) -> Option<Spanned<String>> {
        self.word_token(what).map(|token| self.spanned(token))
    }

    pub(crate) fn word_token(&mut self, what: &str) -> Option<Token> {
        if self.at_kind(Kind::Word) {
            return Some(self.bump());
        }
        self.unexpected(what);
        None
    }
}

/// Diagnostics in reading order, at most [`DIAGNOSTIC_LIMIT`] of them, none twice.
pub(crate) fn finish(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.shared_sort_by_key(|diagnostic| (diagnostic.span, diagnostic.severity));
    diagnostics.dedup();
    diagnostics.truncate(DIAGNOSTIC_LIMIT);
    diagnostics
}
