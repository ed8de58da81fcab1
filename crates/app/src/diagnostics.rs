//! Diagnostics with the line they are about. Written by hand rather than with a library because the input may be hostile:
//! a ten-megabyte line is cut to a window around the span, control characters are made visible, and a file with thousands
//! of errors prints the first twenty and a count.

use std::fmt::Write;

use fencepost_syntax::{Diagnostic, Severity, Source};
use fencepost_tell::output::table::Colour;

/// More are noise.
const SHOWN: usize = 20;
/// Characters of the line shown on each side of the span.
const BEFORE: usize = 60;
const AFTER: usize = 100;

pub(crate) fn render(source: &Source, diagnostics: &[Diagnostic], colour: Colour) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics.iter().take(SHOWN) {
        one(&mut text, source, diagnostic, colour);
    }
    if diagnostics.len() > SHOWN {
        let _ = writeln!(text, "... and {} more in {}", diagnostics.len() - SHOWN, source.name);
    }
    text
}

fn one(text: &mut String, source: &Source, diagnostic: &Diagnostic, colour: Colour) {
    let (word, code) = match diagnostic.severity {
        Severity::Error => ("error", "1;31"),
        Severity::Warning => ("warning", "1;33"),
    };
    let position = source.position(diagnostic.span.start);
    let _ = writeln!(text, "{}: {}", colour.paint(code, word), visible(&diagnostic.message));
    let number = position.line.to_string();
    let gutter = " ".repeat(number.len());
    let _ = writeln!(text, "{gutter}--> {}:{}:{}", source.name, position.line, position.column);
    let excerpt = Excerpt::new(source, diagnostic);
    let _ = writeln!(text, "{gutter} |\n{number} | {}", excerpt.line);
    let marks = colour.paint(code, &"^".repeat(excerpt.length));
    let label = if diagnostic.label.is_empty() { String::new() } else { format!(" {}", visible(&diagnostic.label)) };
    let _ = writeln!(text, "{gutter} | {}{marks}{label}", " ".repeat(excerpt.indent));
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(text, "{gutter} = help: {}", visible(help));
    }
    text.push('\n');
}

/// A window of the line the span starts in.
struct Excerpt {
    line: String,
    indent: usize,
    length: usize,
}

impl Excerpt {
    fn new(source: &Source, diagnostic: &Diagnostic) -> Excerpt {
        let text = &*source.text;
        let start = floor(text, diagnostic.span.start as usize);
        let end = floor(text, diagnostic.span.end as usize).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let window_start = floor(text, line_start.max(start.saturating_sub(BEFORE)));
        let window_end = floor(text, line_end.min(start + AFTER)).max(start);
        let mut line = visible(&text[window_start..start]);
        if window_start > line_start {
            line.insert_str(0, "...");
        }
        let indent = line.chars().count();
        let marked = visible(&text[start..end.min(window_end).max(start)]);
        let length = marked.chars().count().max(1);
        line.push_str(visible(&text[start..window_end]).trim_end());
        if window_end < line_end {
            line.push_str("...");
        }
        Excerpt { line, indent, length }
    }
}

/// The last character boundary at or before `offset`.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// One column per character: tabs become a space, other control characters the replacement character.
fn visible(text: &str) -> String {
    let show = |character: char| match character {
        '\t' | '\r' | '\n' => ' ',
        control if control.is_control() => '\u{fffd}',
        other => other,
    };
    text.chars().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_syntax::Span;

    #[test]
    fn the_span_is_underlined_and_the_help_is_shown() {
        let source = Source::new("a.litmus", "PTX a\nld.weak r0, x\n");
        let diagnostic = Diagnostic::error(Span::new(6, 13), "no such thing").label("here").help("write `ld`");
        let text = render(&source, &[diagnostic], Colour::Plain);
        assert_eq!(
            text,
            "error: no such thing\n --> a.litmus:2:1\n  |\n2 | ld.weak r0, x\n  | ^^^^^^^ here\n  = help: write `ld`\n\n"
        );
    }

    #[test]
    fn a_huge_line_is_cut_and_many_diagnostics_are_counted() {
        let source = Source::new("noise", "\u{1}é".repeat(1_000_000));
        let diagnostics: Vec<Diagnostic> =
            (0..1000).map(|at| Diagnostic::error(Span::new(1_000_000 + at, 1_000_100 + at), "noise")).collect();
        let text = render(&source, &diagnostics, Colour::Plain);
        assert!(text.len() < 20_000, "{}", text.len());
        assert!(text.ends_with("... and 980 more in noise\n"), "{text}");
    }

    #[test]
    fn a_span_past_the_end_is_the_end() {
        let source = Source::new("empty", "");
        let text = render(&source, &[Diagnostic::error(Span::new(7, 9), "nothing here")], Colour::Plain);
        assert!(text.contains("empty:1:1"), "{text}");
    }
}
