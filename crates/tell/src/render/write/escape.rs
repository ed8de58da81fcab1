//! Text from a test (names, instructions) into the two output languages. Whatever a file calls its threads, the result
//! is well formed.

/// XML 1.0 text or attribute value: markup escaped, characters the standard does not allow replaced.
pub(crate) fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\u{FFFE}' | '\u{FFFF}' => escaped.push('\u{FFFD}'),
            control if control.is_control() => escaped.push('\u{FFFD}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A double-quoted DOT string. Graphviz knows only `\"`, `\\` and its own `\n`, `\l`, `\N`…; a backslash of the text is
/// doubled so that none of them appears by accident. Lines are left-justified.
pub(crate) fn dot<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let mut escaped = String::from("\"");
    for (index, line) in lines.into_iter().enumerate() {
        if index > 0 {
            escaped.push_str("\\n");
        }
        for character in line.chars() {
            match character {
                '"' => escaped.push_str("\\\""),
                '\\' => escaped.push_str("\\\\"),
                control if control.is_control() => escaped.push(' '),
                other => escaped.push(other),
            }
        }
    }
    escaped.push('"');
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_controls_do_not_survive() {
        assert_eq!(xml("<a b=\"c\">&'\u{0}\n"), "&lt;a b=&quot;c&quot;&gt;&amp;&apos;\u{FFFD} ");
        assert_eq!(dot(["a\"b", "\\n"]), "\"a\\\"b\\n\\\\n\"");
    }
}
