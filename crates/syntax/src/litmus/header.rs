//! The top of a herd-style test: `PTX name`, then strings and `Key=Value` lines, up to the `{` of the declarations.
//!
//! Scanned as raw text: names such as `cc/boehm7` or `MP+po-rmw+po` and the free lines below them obey no lexer.

use super::tree::Arch;
use crate::controls;
use crate::diagnostic::Diagnostic;
use crate::span::{Span, Spanned};
use crate::text::nearest;

pub(super) struct Header {
    pub(super) arch: Arch,
    pub(super) name: Spanned<String>,
    pub(super) comments: String,
    /// Where the `{` of the declarations stands, or the first thread if there is none.
    pub(super) end: usize,
}

/// Architectures that herd's front ends know, for a refusal by name.
const FOREIGN: [&str; 10] = ["AArch64", "ARM", "PPC", "POWER", "RISCV", "RISC-V", "MIPS", "LISA", "BPF", "VULKAN"];

/// How a PTX module starts (PTX ISA 11.1); `.global` and `.shared` start NVLitmus files too.
const MODULE: [&str; 9] =
    [".version", ".target", ".address_size", ".visible", ".entry", ".func", ".extern", ".weak", ".file"];

pub(super) enum Start {
    Header(Result<Header, Vec<Diagnostic>>),
    /// No header: NVLitmus.
    NvLitmus,
}

pub(super) fn read(text: &str) -> Start {
    let mut scan = Scan { text, at: 0, diagnostics: Vec::new() };
    scan.gap();
    if starts_nvlitmus(scan.rest()) {
        return Start::NvLitmus;
    }
    let header = scan.header();
    Start::Header(match header {
        Some(header) if scan.diagnostics.is_empty() => Ok(header),
        _ => Err(scan.diagnostics),
    })
}

/// `.global x;` or `d0.b0.t0 {`.
fn starts_nvlitmus(rest: &str) -> bool {
    let thread = rest
        .strip_prefix('d')
        .and_then(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(".b"));
    thread.is_some()
        || [".global", ".shared", ".texref", ".surfref", ".conref"].iter().any(|word| rest.starts_with(word))
}

/// A file that is no text at all gets one message, not one per broken word.
pub(super) fn not_text(text: &str) -> Option<Diagnostic> {
    /// Enough to tell noise from a text with a stray character.
    const LOOKED_AT: usize = 4096;
    let is_space = |byte: u8| (byte == b'\t') | (byte == b'\r') | (byte == b'\n') | (byte == 0x0c);
    let start = &text.as_bytes()[..text.len().min(LOOKED_AT)];
    if controls::are_all::<128>(start, |byte| matches!(byte, b' '..=b'~') | is_space(byte)) {
        return None;
    }
    let strange = |character: char| {
        character == '\u{fffd}' || character.is_control() && !matches!(character, '\t' | '\r' | '\n' | '\u{c}')
    };
    let characters = text.char_indices().take(LOOKED_AT);
    let odd: Vec<(usize, char)> = characters.clone().filter(|(_, character)| strange(*character)).collect();
    let (at, character) = *odd.first()?;
    let zero = odd.iter().any(|(_, character)| *character == '\0');
    if !zero && odd.len() * 8 < characters.count() {
        return None;
    }
    let span = Span::new(at as u32, (at + character.len_utf8()) as u32);
    let diagnostic = Diagnostic::error(span, "this is a binary file, not a litmus test").label("not text");
    Some(diagnostic.help("a litmus test is UTF-8 text (docs/litmus.md)"))
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(start as u32, end as u32)
    }

    /// White space and comments.
    fn gap(&mut self) {
        loop {
            self.at += until(self.rest(), |byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
            if self.rest().starts_with('\u{feff}') {
                self.at += '\u{feff}'.len_utf8();
                continue;
            }
            let trimmed = self.rest();
            let start = self.at;
            if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("(*") {
                match end_of_comment(trimmed) {
                    Some(length) => self.at += length,
                    None => {
                        self.at = self.text.len();
                        let span = self.span(start, start + 2);
                        self.diagnostics.push(
                            Diagnostic::error(span, "this comment is never closed")
                                .help("comments nest: each `(*` needs its own `*)`"),
                        );
                    }
                }
            } else {
                return;
            }
        }
    }

    /// Everything up to the next white space or quote.
    fn chunk(&mut self) -> Spanned<&'a str> {
        let rest = self.rest();
        let length = until(rest, |byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'{'));
        let start = self.at;
        self.at += length;
        Spanned::new(&rest[..length], self.span(start, start + length))
    }

    fn header(&mut self) -> Option<Header> {
        let arch = self.arch()?;
        let line = self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        self.at += line;
        let name = self.chunk();
        if name.node.is_empty() {
            let diagnostic = Diagnostic::error(name.span, "the test has no name").label("a name belongs here");
            self.diagnostics.push(diagnostic.help("write it after the architecture: `PTX my-test`"));
            return None;
        }
        let mut comments = String::new();
        let end = self.comments(&mut comments);
        let name = Spanned::new(name.node.to_owned(), name.span);
        Some(Header { arch, name, comments, end })
    }

    fn arch(&mut self) -> Option<Arch> {
        let word = self.chunk();
        let arch = match word.node {
            "PTX" => Arch::Ptx,
            "X86" => Arch::X86,
            "X86_64" => Arch::X86_64,
            "C" | "C11" => Arch::C,
            _ => {
                let error = match word.node.is_empty() && !self.rest().trim().is_empty() {
                    true => {
                        Diagnostic::error(word.span, "the first line, with the architecture and the name, is missing")
                            .label("it belongs in front of this")
                            .help("write `PTX name`, `X86 name` or `C name` there")
                    }
                    false => unknown_arch(&word),
                };
                self.diagnostics.push(error);
                return None;
            }
        };
        Some(arch)
    }

    fn comments(&mut self, comments: &mut String) -> usize {
        loop {
            self.gap();
            let rest = self.rest();
            if rest.is_empty() || rest.starts_with('{') || starts_thread(rest) {
                return self.at;
            }
            if let Some(inside) = rest.strip_prefix('"') {
                let Some(length) = inside.find('"') else {
                    let span = self.span(self.at, self.at + 1);
                    self.diagnostics
                        .push(Diagnostic::error(span, "this string is never closed").help("close it with `\"`"));
                    return self.at;
                };
                add(comments, &rest[..length + 2]);
                self.at += length + 2;
                continue;
            }
            let line = rest.find('\n').map_or(rest, |end| &rest[..end]);
            // Most lines are comments as a whole.
            let is_plain = controls::are_all::<16>(line.as_bytes(), |byte| (byte != b'{') & (byte != b'"'));
            let length = if is_plain { line.len() } else { until(line, |byte| matches!(byte, b'{' | b'"')) };
            let line = rest[..length].trim_end();
            if !line.is_empty() {
                add(comments, line);
            }
            self.at += length;
        }
    }
}

/// A comment, and a line end.
fn add(comments: &mut String, comment: &str) {
    /// As much as most tests have.
    const ROOM: usize = 240;
    if comments.is_empty() {
        comments.reserve(comment.len().max(ROOM));
    }
    comments.push_str(comment);
    comments.push('\n');
}

/// How far it is to the first byte like this (an ASCII character), or to the end.
fn until(text: &str, is_end: impl Fn(u8) -> bool) -> usize {
    text.bytes().position(is_end).unwrap_or(text.len())
}

/// The length of the nested comment at the start of `text`.
fn end_of_comment(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0usize);
    while at + 1 < bytes.len() {
        match (bytes[at], bytes[at + 1]) {
            (b'(', b'*') => {
                depth += 1;
                at += 2;
            }
            (b'*', b')') => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    None
}

/// `P0 |`, `P0 ;`, `P0@cta 0`, `P0 {`: the declarations are missing.
fn starts_thread(rest: &str) -> bool {
    let Some(digits) = rest.strip_prefix('P') else { return false };
    let after = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    after.len() < digits.len() && after.trim_start_matches([' ', '\t']).starts_with(['|', ';', '@', '{', '('])
}

fn unknown_arch(word: &Spanned<&str>) -> Diagnostic {
    let supported = "supported are PTX, X86, X86_64 and C, and NVLitmus files without a header";
    let shown: String = word.node.chars().take(40).collect();
    if word.node.is_empty() {
        return Diagnostic::error(word.span, "the litmus test is empty").help(supported);
    }
    if FOREIGN.iter().any(|foreign| foreign.eq_ignore_ascii_case(word.node)) {
        let message = format!("litmus tests for {shown} are not supported");
        return Diagnostic::error(word.span, message).label("this architecture").help(supported);
    }
    if MODULE.contains(&word.node) {
        return Diagnostic::error(word.span, "this is a PTX module, not a litmus test").label("a module starts here").help(
            "`fencepost kernel FILE.ptx` checks the kernels of a module; to ask what a few of its instructions may do, start a \
             litmus test with `PTX name`, paste the module's instructions into its threads (`P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;`) \
             and ask with `exists (...)` (docs/litmus.md)",
        );
    }
    let message = format!("`{}` is not an architecture", shown.escape_debug());
    let diagnostic = Diagnostic::error(word.span, message).label("a litmus test starts with its architecture");
    match nearest(word.node, &["PTX", "X86", "X86_64"]) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic.help(supported),
    }
}
