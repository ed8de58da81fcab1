//! Control characters made visible. A test, a model or a file name may hold any character; one that moves the cursor,
//! changes the title of the window or turns the direction of writing must not reach a terminal.
//!
//! Twice: texts lose such characters as they are read, names as they are made, so that reports hold none; and what is
//! printed is looked at again ([`escaped`]), for the sake of what comes another way (an escape in a JSON string, an
//! argument of the command line).

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write;

use fencepost_syntax::controls;

/// How a character is written that must not be printed as it is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Notation {
    /// `\x1b`, `\u{202e}`.
    Plain,
    /// The same, but for the colours that [`fencepost_tell::output::table::Colour`] writes.
    Coloured,
    /// `\u001b`: inside a string the same character, and outside there is none.
    Json,
}

/// Whether a character does something to a terminal other than being shown. The direction of writing is among it: it can
/// make one test look like another.
fn is_unsafe(character: char) -> bool {
    let turns =
        matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || character.is_control() && !matches!(character, '\n' | '\t')
}

/// The text of a file. A byte that is no UTF-8 and a control character become a character that no language of ours knows,
/// and get their diagnostic there; a line may end with a carriage return, and a form feed is a space.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    if !controls::may_occur(&text, b'\r') {
        return text;
    }
    let shown = |character: char| match character {
        '\r' => '\r',
        '\u{b}' | '\u{c}' => ' ',
        other if is_unsafe(other) => char::REPLACEMENT_CHARACTER,
        other => other,
    };
    text.chars().map(shown).collect()
}

/// A file's name for people. A byte that is no UTF-8 is written `\xff`, and a backslash twice: two files never have the
/// same name.
pub(crate) fn name(name: &OsStr) -> String {
    if let Some(plain) = name.to_str().filter(|name| controls::is_visible(name, b'\\')) {
        return plain.to_owned();
    }
    let mut text = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\n' | '\t' => escape(&mut text, character),
                '\\' if cfg!(unix) => text.push_str("\\\\"),
                other if is_unsafe(other) => escape(&mut text, other),
                other => text.push(other),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

fn escape(text: &mut String, character: char) {
    let code = u32::from(character);
    let _ = if code < 0x100 { write!(text, "\\x{code:02x}") } else { write!(text, "\\u{{{code:x}}}") };
}

/// What may be printed.
pub(crate) fn escaped(text: &str, notation: Notation) -> Cow<'_, str> {
    if !controls::may_occur(text, b'\n') {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let colour = if notation == Notation::Coloured { colour(rest) } else { None };
        let (head, tail) = rest.split_at(colour.unwrap_or(character.len_utf8()));
        match notation {
            _ if colour.is_some() || !is_unsafe(character) => shown.push_str(head),
            // The end of a line of a file from another system.
            Notation::Plain | Notation::Coloured if character == '\r' && tail.starts_with('\n') => {}
            Notation::Plain | Notation::Coloured => escape(&mut shown, character),
            Notation::Json => {
                let _ = write!(shown, "\\u{:04x}", u32::from(character));
            }
        }
        rest = tail;
    }
    Cow::Owned(shown)
}

/// The length of the change of colour that a text begins with.
fn colour(text: &str) -> Option<usize> {
    const CODES: [&str; 8] = ["0", "1", "2", "31", "32", "33", "1;31", "1;33"];
    let code = text.strip_prefix("\u{1b}[")?;
    let code = &code[..code.find('m')?];
    CODES.contains(&code).then_some("\u{1b}[".len() + code.len() + "m".len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_is_written_out() {
        assert_eq!(escaped("a\u{1b}[2Jb\u{9b}c\n\td", Notation::Plain), "a\\x1b[2Jb\\x9bc\n\td");
        assert_eq!(escaped("\u{1b}[31mred\u{1b}[0m\u{1b}[2J", Notation::Coloured), "\u{1b}[31mred\u{1b}[0m\\x1b[2J");
        assert_eq!(escaped("\u{1b}[31mred", Notation::Plain), "\\x1b[31mred");
        assert_eq!(escaped("{\"a\":\"\u{7f}\u{202e}é\"}\n", Notation::Json), "{\"a\":\"\\u007f\\u202eé\"}\n");
        assert!(matches!(escaped("plain\n", Notation::Plain), Cow::Borrowed(_)));
        assert_eq!(escaped("«é»—ok", Notation::Plain), "«é»—ok");
    }

    #[test]
    fn texts_lose_what_no_language_knows_and_keep_their_lines() {
        assert_eq!(text(b"PTX a\x1b[31m\r\n\x0c{ }\xff".to_vec()), "PTX a\u{fffd}[31m\r\n { }\u{fffd}");
    }

    #[cfg(unix)]
    #[test]
    fn two_files_never_have_the_same_name() {
        use std::os::unix::ffi::OsStrExt;
        let names = [&b"a\xff"[..], b"a\xfe", b"a\\xff", b"a\n", b"a\x1b", b"a"];
        let shown: Vec<String> = names.iter().map(|bytes| name(OsStr::from_bytes(bytes))).collect();
        assert_eq!(shown, ["a\\xff", "a\\xfe", "a\\\\xff", "a\\x0a", "a\\x1b", "a"]);
    }
}
