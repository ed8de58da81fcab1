//! Characters to words. Names may hold `-` and `.` and end in `'`, so `po-loc` is one name and `a->b` is not:
//! herd would read `a-` there, which helps no one. Comments: `//`, `#`, nested `(* *)`, and Dartagnan's `/* */`.

use super::keyword::keyword;
use crate::diagnostic::Diagnostic;
use crate::span::Span;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind<'a> {
    Name(&'a str),
    /// `'tag`, without its quote.
    Tag(&'a str),
    /// `"text"`, without its quotes.
    Text(&'a str),
    Word(&'static str),
    Symbol(&'static str),
    Zero,
    /// Any other number: no part of the language, refused where it stands.
    Number(&'a str),
    End,
}

#[derive(Copy, Clone, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) span: Span,
    /// Nothing but blanks and comments stands before it on its line.
    pub(super) first: bool,
    /// Bytes from the start of its line.
    pub(super) column: u32,
}

impl Token<'_> {
    /// The end of a text of which nothing is read.
    fn end(text: &str) -> Token<'_> {
        let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
        Token { kind: Kind::End, span: Span::new(end, end), first: true, column: 0 }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line_start: usize,
    first: bool,
    comments: Comments,
    /// Where a `(*` opens that is not closed.
    unclosed: Option<Span>,
    /// Comments that hold a `(*` and, read as [`Comments::Flat`], perhaps an instruction: the opening, the word.
    swallowed: Vec<(Span, Span)>,
    tokens: Vec<Token<'a>>,
    diagnostics: Vec<Diagnostic>,
}

/// How `(*` inside `(* … *)` is read: herd counts it, Dartagnan ends the comment at the first `*)`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Comments {
    Nested,
    Flat,
}

/// The words of a text, ending in [`Kind::End`], and what could not be read.
///
/// A text whose nested comments do not close is one that herd refuses, so Dartagnan's reading is tried: its `vmm.cat`
/// has a `(*` of C inside a comment.
pub(super) fn lex(text: &str) -> (Vec<Token<'_>>, Vec<Diagnostic>) {
    let mut nested = run(text, Comments::Nested);
    let Some(opening) = nested.unclosed else { return (nested.tokens, nested.diagnostics) };
    let mut flat = run(text, Comments::Flat);
    if flat.unclosed.is_some() {
        return (std::mem::take(&mut nested.tokens), nested.diagnostics);
    }
    if let Some(&(comment, word)) = flat.swallowed.first() {
        return (Vec::from([Token::end(text)]), vec![ambiguous(text, comment, word)]);
    }
    flat.diagnostics.push(
        Diagnostic::warning(
            opening,
            "a `(*` from here on has no `*)` of its own; each comment is ended at its first `*)`",
        )
        .label("herd, which nests comments, would read none of the text after this")
        .help("close every `(*` or write it otherwise"),
    );
    (flat.tokens, flat.diagnostics)
}

/// Either the `(*` inside is text of the comment, or the comment was to end before it and an axiom is lost: only the
/// author knows, and a model without one of its axioms answers wrongly.
fn ambiguous(text: &str, comment: Span, word: Span) -> Diagnostic {
    let word = text.get(word.start as usize..word.end as usize).unwrap_or("");
    Diagnostic::error(comment, format!("this comment is not closed before the next `(*`, and holds the word `{word}`"))
        .label("it is not clear where the comment that opens here is to end")
        .help("close every `(*` with its own `*)`, so that no instruction is taken for a part of a comment")
}

/// A word in a comment that could be the beginning of an instruction. Words that are also plain English count where
/// an instruction would have them, at the beginning of a line and with what must follow.
fn instruction_word(comment: &str) -> Option<(usize, usize)> {
    const ALWAYS: &[&str] =
        &["acyclic", "assert", "empty", "flag", "include", "irreflexive", "let", "procedure", "undefined_unless"];
    let mut start = 0;
    for line in comment.split_inclusive('\n') {
        let mut rest = line;
        let mut begins = true;
        while let Some(skip) = rest.find(|next: char| next.is_ascii_alphanumeric() || next == '_') {
            begins &= rest.get(..skip).unwrap_or("").trim().is_empty();
            rest = rest.get(skip..).unwrap_or("");
            let length = name_length(rest).max(1);
            let (word, after) = (rest.get(..length).unwrap_or(""), rest.get(length..).unwrap_or(""));
            let follows = match word {
                "call" => after.contains('('),
                "with" => after.contains(" from "),
                "if" => after.trim_start().starts_with('"'),
                _ => false,
            };
            if ALWAYS.contains(&word) || (begins && follows) {
                let at = start + line.len() - rest.len();
                return Some((at, at + length));
            }
            begins = false;
            rest = after;
        }
        start += line.len();
    }
    None
}

fn run(text: &str, comments: Comments) -> Lexer<'_> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lexer = Lexer {
        text,
        at: start,
        line_start: start,
        first: true,
        comments,
        unclosed: None,
        swallowed: Vec::new(),
        // A word and a blank take some six bytes; growing the list would copy it again and again.
        tokens: Vec::with_capacity(text.len() / 6 + 1),
        diagnostics: Vec::new(),
    };
    loop {
        lexer.blanks();
        let Some(next) = lexer.rest().chars().next() else { break };
        lexer.step(next);
    }
    lexer.push(Kind::End, 0);
    lexer
}

/// The longest first, so that `||` is not two `|`.
fn symbol(rest: &str) -> Option<&'static str> {
    Some(match rest.as_bytes() {
        [b'|', b'|', ..] => "||",
        [b'&', b'&', ..] => "&&",
        [b'+', b'+', ..] => "++",
        [b'-', b'>', ..] => "->",
        [b'-', b'1', ..] => "-1",
        [b'(', ..] => "(",
        [b')', ..] => ")",
        [b'{', ..] => "{",
        [b'}', ..] => "}",
        [b'[', ..] => "[",
        [b']', ..] => "]",
        [b'|', ..] => "|",
        [b'&', ..] => "&",
        [b'*', ..] => "*",
        [b'~', ..] => "~",
        [b'+', ..] => "+",
        [b'^', ..] => "^",
        [b'\\', ..] => "\\",
        [b'?', ..] => "?",
        [b'=', ..] => "=",
        [b';', ..] => ";",
        [b',', ..] => ",",
        [b'_', ..] => "_",
        _ => return None,
    })
}

/// Which bytes may continue a name.
const CONTINUES: [bool; 256] = {
    let mut continues = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        continues[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        byte += 1;
    }
    continues
};

fn continues_name(byte: u8) -> bool {
    CONTINUES[usize::from(byte)]
}

/// The length of the name that `text` begins with, 0 if none does.
fn name_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let starts = match bytes {
        [first, ..] if first.is_ascii_alphanumeric() => true,
        [b'_', second, ..] => second.is_ascii_alphanumeric() || *second == b'_',
        _ => false,
    };
    if !starts {
        return 0;
    }
    let mut length = bytes.iter().position(|&byte| !continues_name(byte)).unwrap_or(bytes.len());
    if bytes.get(length) == Some(&b'>') && length > 1 && bytes.get(length - 1) == Some(&b'-') {
        length -= 1;
    }
    length + usize::from(bytes.get(length) == Some(&b'\''))
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn span(&self, length: usize) -> Span {
        let clamp = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span::new(clamp(self.at), clamp(self.at + length))
    }

    fn push(&mut self, kind: Kind<'a>, length: usize) {
        let column = u32::try_from(self.at - self.line_start).unwrap_or(u32::MAX);
        self.tokens.push(Token { kind, span: self.span(length), first: self.first, column });
        self.first = false;
        self.at += length;
    }

    /// Passes over text that makes no token, keeping count of lines.
    fn skip(&mut self, length: usize) {
        let passed = self.rest().get(..length).unwrap_or("");
        if let Some(newline) = passed.rfind('\n') {
            self.line_start = self.at + newline + 1;
            self.first = true;
        }
        self.at += length;
    }

    /// Passes over spaces, tabs and ends of lines; other blanks are rare and left to [`Lexer::step`].
    fn blanks(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\n' => {
                    self.at += 1;
                    self.line_start = self.at;
                    self.first = true;
                }
                _ => return,
            }
        }
    }

    fn step(&mut self, next: char) {
        let rest = self.rest();
        if let length @ 1.. = name_length(rest) {
            self.name(length);
        } else if next.is_whitespace() {
            self.skip(rest.find(|next: char| !next.is_whitespace()).unwrap_or(rest.len()));
        } else if rest.starts_with("//") || next == '#' {
            self.skip(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("(*") {
            self.comment();
        } else if rest.starts_with("/*") {
            match rest.get(2..).and_then(|body| body.find("*/")) {
                Some(end) => self.skip(end + 4),
                None => self.unterminated("comment", "/*", "close it with `*/`"),
            }
        } else if next == '"' {
            match rest.get(1..).and_then(|body| body.find('"')) {
                Some(end) => {
                    let text = rest.get(1..=end).unwrap_or("");
                    let line = rest.get(..end + 2).and_then(|passed| passed.rfind('\n'));
                    let start = self.at;
                    self.push(Kind::Text(text), end + 2);
                    if let Some(newline) = line {
                        self.line_start = start + newline + 1;
                    }
                }
                None => self.unterminated("string", "\"", "close it with `\"`; strings have no escapes"),
            }
        } else if next == '\'' && name_length(rest.get(1..).unwrap_or("")) > 0 {
            let length = name_length(rest.get(1..).unwrap_or(""));
            self.push(Kind::Tag(rest.get(1..=length).unwrap_or("")), length + 1);
        } else if let Some(symbol) = symbol(rest) {
            self.push(Kind::Symbol(symbol), symbol.len());
        } else {
            self.unknown(next);
        }
    }

    fn name(&mut self, length: usize) {
        let word = self.rest().get(..length).unwrap_or("");
        if word == "0" {
            return self.push(Kind::Zero, length);
        }
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            return self.push(Kind::Number(word), length);
        }
        let kind = keyword(word).map_or(Kind::Name(word), Kind::Word);
        self.push(kind, length);
    }

    fn comment(&mut self) {
        let bytes = self.rest().as_bytes();
        let mut depth = 0_usize;
        let mut at = 0;
        while let Some(pair) = bytes.get(at..at + 2) {
            // Most of a model's text is comments: a byte that begins neither sign costs one comparison.
            if pair[0] != b'(' && pair[0] != b'*' {
                at += 1;
                continue;
            }
            match pair {
                b"(*" if depth == 0 || self.comments == Comments::Nested => depth += 1,
                b"*)" => depth -= 1,
                _ => {
                    at += 1;
                    continue;
                }
            }
            at += 2;
            if depth == 0 {
                self.look_into_comment(at);
                return self.skip(at);
            }
        }
        self.unclosed = Some(self.span(2));
        self.unterminated("comment", "(*", "close it with `*)`; comments nest, so each `(*` inside needs its own `*)`");
    }

    fn look_into_comment(&mut self, length: usize) {
        let body = self.rest().get(2..length - 2).unwrap_or("");
        if self.comments == Comments::Flat
            && body.contains("(*")
            && let Some((from, to)) = instruction_word(body)
        {
            let word = Span::new(self.span(2 + from).end, self.span(2 + to).end);
            self.swallowed.push((self.span(2), word));
        }
    }

    /// Nothing after the opening can be trusted, so the text ends here: one error, not one per line.
    fn unterminated(&mut self, what: &str, opening: &str, help: &str) {
        let span = self.span(opening.len());
        self.diagnostics.push(
            Diagnostic::error(span, format!("this {what} is not closed before the end of the file"))
                .label(format!("the {what} opens here"))
                .help(help),
        );
        self.at = self.text.len();
    }

    fn unknown(&mut self, next: char) {
        let span = self.span(next.len_utf8());
        let help = match next {
            '∪' => "write union as `|`",
            '∩' => "write intersection as `&`",
            '×' => "write a product as `*`",
            '¬' | '!' => "write complement as `~`",
            '⁻' => "write the inverse as `^-1`",
            '\'' => "a tag is `'` and a name, as in `'acquire`",
            '<' | '>' => "an arrow is `->`",
            ':' => "a definition is `let name = expression`",
            '-' => "the inverse is `^-1`; difference is `\\`",
            _ => "remove it",
        };
        // A run of bad characters is one mistake.
        let adjacent = self.diagnostics.last_mut().filter(|last| last.span.end == span.start && last.label == UNKNOWN);
        match adjacent {
            Some(last) => last.span.end = span.end,
            None => self.diagnostics.push(
                Diagnostic::error(span, format!("the character `{}` is not part of cat", next.escape_debug()))
                    .label(UNKNOWN)
                    .help(help),
            ),
        }
        self.at += next.len_utf8();
    }
}

const UNKNOWN: &str = "not read";
