//! The lexer of litmus tests and PTX modules. One pass, no backtracking; comments vanish here.
//!
//! Rejected: lexing on demand. It saves memory on noise, but look-ahead over rows then lexes some text twice, and the
//! limit on lexical errors already stops noise early.

use std::cell::Cell;

use super::DIAGNOSTIC_LIMIT;
use crate::diagnostic::Diagnostic;
use crate::limits;
use crate::span::Span;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// An identifier: `x`, `%r1`, `$L__BB0_3`, `shared::cta`.
    Word,
    /// Starts with a digit; whether it is a good number is for the parser to say (`32x32b` is a PTX modifier).
    Number,
    /// `"..."`, with its quotes.
    Text,
    /// Punctuation of one or two characters.
    Mark,
    /// A character that no language here uses; already reported.
    Bad,
    End,
}

#[derive(Copy, Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// A line end stands between the token before and this one.
    pub(crate) newline: bool,
    /// White space or a comment stands between the token before and this one.
    pub(crate) spaced: bool,
    /// The first byte of the text, 0 at the end: most comparisons of words end there.
    pub(crate) first: u8,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// Which comments a language has.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Comments {
    /// herd's nested `(* *)`, its `<< >>` blocks of commands for other tools, and C's two.
    Litmus,
    /// C's two.
    C,
}

struct Lexer<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
    comments: Comments,
    diagnostics: Vec<Diagnostic>,
}

/// The tokens of `text` from byte `from` on (a character boundary), closed by [`Kind::End`].
pub(crate) fn lex(text: &str, from: usize, comments: Comments) -> (Vec<Token>, Vec<Diagnostic>) {
    // Tests have a token per two to four bytes. Noise may have none: memory that nobody touches costs nothing.
    let mut tokens = SPARE.take();
    tokens.reserve((text.len().saturating_sub(from) / 2).min(MOST_AT_ONCE) + 2);
    let mut lexer = Lexer { bytes: text.as_bytes(), text, at: from, comments, diagnostics: Vec::new() };
    if u32::try_from(text.len()).is_err() {
        lexer.diagnostics.push(Diagnostic::error(Span::default(), "the text is longer than 4 GiB"));
        tokens.push(Token::new(Kind::End, Gap::default(), 0, (from, from)));
        return (tokens, lexer.diagnostics);
    }
    // What most tokens need is at hand, and not in the lexer, which is asked for the others.
    let (bytes, mut at) = (text.as_bytes(), from);
    loop {
        let before = at;
        let mut gap = Gap::default();
        while let Some(&byte) = bytes.get(at)
            && CLASS[byte as usize] == Class::Space
        {
            gap.newline |= byte == b'\n';
            at += 1;
        }
        if let Some(b'/' | b'(' | b'<') = bytes.get(at) {
            at = lexer.skip_comments(at, &mut gap);
        }
        gap.spaced = at > before;
        let start = at;
        let is_over = || tokens.len() % SELDOM == SELDOM - 1 && limits::is_over();
        let Some(&first) = bytes.get(start).filter(|_| lexer.diagnostics.len() < DIAGNOSTIC_LIMIT && !is_over()) else {
            let end = start.min(text.len());
            tokens.push(Token::new(Kind::End, gap, 0, (end, end)));
            return (tokens, lexer.diagnostics);
        };
        // Most tokens are single marks, and words and numbers that end where their letters and digits do.
        let kind = match CLASS[first as usize] {
            Class::Mark => {
                at = start + 1;
                Kind::Mark
            }
            Class::Word | Class::Digit => {
                at = end_of_word(bytes, start + 1);
                match (CLASS[first as usize], bytes.get(at)) {
                    (Class::Word, Some(b':')) => lexer.read_from(at, Lexer::word, &mut at),
                    (Class::Digit, Some(b'.')) => lexer.read_from(start, Lexer::number, &mut at),
                    (Class::Word, _) => Kind::Word,
                    _ => Kind::Number,
                }
            }
            Class::Space | Class::Other => lexer.read_from(start, Lexer::token, &mut at),
        };
        tokens.push(Token::new(kind, gap, first, (start, at)));
    }
}

#[derive(Copy, Clone, Default)]
struct Gap {
    newline: bool,
    spaced: bool,
}

impl Token {
    /// A number of one digit, as most are.
    #[inline]
    pub(crate) fn digit(self) -> Option<u32> {
        let is_digit = self.kind == Kind::Number && self.end - self.start == 1;
        is_digit.then(|| u32::from(self.first - b'0'))
    }

    #[inline]
    fn new(kind: Kind, gap: Gap, first: u8, (start, end): (usize, usize)) -> Token {
        let Gap { newline, spaced } = gap;
        Token { kind, newline, spaced, first, start: start as u32, end: end as u32 }
    }
}

impl Lexer<'_> {
    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn starts(&self, what: &str) -> bool {
        self.bytes[self.at..].starts_with(what.as_bytes())
    }

    fn error(&mut self, start: usize, end: usize, message: &str, help: &str) {
        let span = Span::new(start as u32, end as u32);
        self.diagnostics.push(Diagnostic::error(span, message).help(help));
    }

    /// A token, or the rest of it, that is read from there on; `end` becomes its end.
    fn read_from(&mut self, from: usize, read: fn(&mut Self) -> Kind, end: &mut usize) -> Kind {
        self.at = from;
        let kind = read(self);
        *end = self.at;
        kind
    }

    /// White space and comments from what may be a comment on; where they end.
    fn skip_comments(&mut self, from: usize, gap: &mut Gap) -> usize {
        self.at = from;
        while self.at < self.bytes.len() {
            let start = self.at;
            match (self.byte(0), self.comments) {
                (b'\n', _) => {
                    self.at += 1;
                    gap.newline = true;
                }
                (b' ' | b'\t' | b'\r' | 0x0b | 0x0c, _) => self.at += 1,
                (b'/', _) if self.byte(1) == b'/' => self.line_comment(),
                (b'/', _) if self.byte(1) == b'*' => {
                    self.until("*/", "this comment is never closed", "close it with `*/`");
                    gap.newline |= self.bytes[start..self.at].contains(&b'\n');
                }
                (b'(', Comments::Litmus) if self.byte(1) == b'*' => {
                    self.nested_comment();
                    gap.newline |= self.bytes[start..self.at].contains(&b'\n');
                }
                (b'<', Comments::Litmus) if self.byte(1) == b'<' => {
                    self.until(">>", "this `<<` block is never closed", "close it with `>>`");
                    gap.newline |= self.bytes[start..self.at].contains(&b'\n');
                }
                _ => break,
            }
        }
        self.at
    }

    fn line_comment(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
    }

    fn until(&mut self, close: &str, message: &str, help: &str) {
        let start = self.at;
        match self.text[start + 2..].find(close) {
            Some(length) => self.at = start + 2 + length + close.len(),
            None => {
                self.at = self.bytes.len();
                self.error(start, start + 2, message, help);
            }
        }
    }

    fn nested_comment(&mut self) {
        let start = self.at;
        let mut depth = 0usize;
        while self.at < self.bytes.len() {
            if self.starts("(*") {
                depth += 1;
                self.at += 2;
            } else if self.starts("*)") {
                depth -= 1;
                self.at += 2;
                if depth == 0 {
                    return;
                }
            } else {
                self.at += 1;
            }
        }
        self.error(start, start + 2, "this comment is never closed", "comments nest: each `(*` needs its own `*)`");
    }

    /// A token that its first byte does not decide.
    fn token(&mut self) -> Kind {
        let first = self.byte(0);
        let second = self.byte(1);
        match first {
            b'%' | b'$' if is_word_start(second) => {
                self.at += 1;
                self.word()
            }
            b'"' => self.string(),
            b'/' if second == b'\\' => self.mark(2),
            b'\\' if second == b'/' => self.mark(2),
            b'&' if second == b'&' => self.mark(2),
            b'=' | b'!' | b'<' | b'>' if second == b'=' => self.mark(2),
            b'!' | b'=' | b'<' | b'>' | b'/' | b'\\' | b'$' | b'&' | b'%' => self.mark(1),
            _ => self.bad(),
        }
    }

    fn mark(&mut self, length: usize) -> Kind {
        self.at += length;
        Kind::Mark
    }

    /// `shared::cta` is one word: nothing else here uses `::`.
    fn word(&mut self) -> Kind {
        loop {
            self.rest_of_word();
            if self.byte(0) == b':' && self.byte(1) == b':' && is_word(self.byte(2)) {
                self.at += 2;
            } else {
                return Kind::Word;
            }
        }
    }

    fn rest_of_word(&mut self) {
        self.at = end_of_word(self.bytes, self.at);
    }

    fn number(&mut self) -> Kind {
        let start = self.at;
        // After a dot a number is a modifier (`.2d`), and the next dot starts another one.
        let modifier = start > 0 && self.bytes[start - 1] == b'.';
        self.rest_of_word();
        let decimal = self.bytes[start..self.at].iter().all(u8::is_ascii_digit);
        if !modifier && decimal && self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
            self.at += 1;
            self.rest_of_word();
            let exponent = matches!(self.bytes[self.at - 1], b'e' | b'E');
            if exponent && matches!(self.byte(0), b'+' | b'-') && self.byte(1).is_ascii_digit() {
                self.at += 1;
                self.rest_of_word();
            }
        }
        Kind::Number
    }

    /// A string ends at its line's end at the latest, so that one missing quote does not swallow the file.
    fn string(&mut self) -> Kind {
        let start = self.at;
        self.at += 1;
        while self.at < self.bytes.len() {
            match self.byte(0) {
                b'"' => {
                    self.at += 1;
                    return Kind::Text;
                }
                b'\n' => break,
                b'\\' if matches!(self.byte(1), b'"' | b'\\') => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.error(start, start + 1, "this string is never closed", "close it with `\"` on the same line");
        Kind::Bad
    }

    fn bad(&mut self) -> Kind {
        let start = self.at;
        let character = self.text[start..].chars().next().unwrap_or('\0');
        self.at += character.len_utf8();
        let end = self.at;
        let message = format!("the character {character:?} has no meaning here");
        self.error(start, end, &message, "remove it, or put it into a comment");
        Kind::Bad
    }
}

/// After so many tokens the limits are asked.
const SELDOM: usize = 128;

/// Tokens for which room is made in advance.
const MOST_AT_ONCE: usize = 1 << 16;

thread_local! {
    /// The room of the last text, empty: files of a folder are read one after the other.
    static SPARE: Cell<Vec<Token>> = const { Cell::new(Vec::new()) };
}

/// Gives tokens back when they are read.
pub(crate) fn give_back(mut tokens: Vec<Token>) {
    if tokens.capacity() <= MOST_AT_ONCE {
        tokens.clear();
        SPARE.set(tokens);
    }
}

/// The first byte from here on that no word goes on with.
#[inline]
fn end_of_word(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while bytes.get(at).is_some_and(|byte| is_word(*byte)) {
        at += 1;
    }
    at
}

fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

fn is_word(byte: u8) -> bool {
    WORD[byte as usize]
}

/// The bytes that words go on with.
const WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
        byte += 1;
    }
    table
};

/// What a byte begins.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Class {
    Space,
    Word,
    Digit,
    /// A mark, whatever follows.
    Mark,
    Other,
}

const CLASS: [Class; 256] = {
    let mut table = [Class::Other; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c => Class::Space,
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => Class::Word,
            b'0'..=b'9' => Class::Digit,
            // `?` is an unknown initial value.
            b'{' | b'}' | b'[' | b']' | b'(' | b')' | b'|' | b';' | b',' | b':' | b'@' | b'~' | b'+' | b'-' | b'*'
            | b'.' | b'^' | b'?' => Class::Mark,
            _ => Class::Other,
        };
        byte += 1;
    }
    table
};
