//! The reserved words of cat, and the nearest one to a misspelt word.
//!
//! `instructions`, `default`, `cut`, `not`, `variant` and `catdep` are words by position only, because models use them
//! (or could use them) as names.

use crate::suggest::distance;

pub(super) const KEYWORDS: &[&str] = &[
    "acyclic",
    "and",
    "as",
    "assert",
    "begin",
    "call",
    "debug",
    "do",
    "else",
    "empty",
    "end",
    "enum",
    "flag",
    "forall",
    "from",
    "fun",
    "if",
    "in",
    "include",
    "irreflexive",
    "let",
    "match",
    "procedure",
    "rec",
    "show",
    "subset",
    "then",
    "try",
    "undefined_unless",
    "unshow",
    "when",
    "with",
];

/// The words that begin an instruction.
pub(super) const STARTS: &[&str] = &[
    "acyclic",
    "assert",
    "call",
    "debug",
    "empty",
    "enum",
    "flag",
    "forall",
    "if",
    "include",
    "irreflexive",
    "let",
    "match",
    "procedure",
    "show",
    "undefined_unless",
    "unshow",
    "with",
];

/// Where in [`KEYWORDS`] the words with each first letter begin, and where those of `z` end: most words of a model are
/// names, and are told from reserved words by one or two comparisons.
const BY_LETTER: [u8; 27] = by_letter();

const fn by_letter() -> [u8; 27] {
    let mut starts = [0; 27];
    let mut letter = 0;
    while letter < 27 {
        let mut at = 0;
        while at < KEYWORDS.len() && KEYWORDS[at].as_bytes()[0] < b'a' + letter as u8 {
            at += 1;
        }
        starts[letter] = at as u8;
        letter += 1;
    }
    starts
}

pub(super) fn keyword(word: &str) -> Option<&'static str> {
    let letter = usize::from(word.bytes().next()?.wrapping_sub(b'a'));
    let (&start, &end) = (BY_LETTER.get(letter)?, BY_LETTER.get(letter + 1)?);
    let words = KEYWORDS.get(usize::from(start)..usize::from(end))?;
    words.iter().find(|keyword| **keyword == word).copied()
}

/// Words that other tools and habits use for an instruction that cat spells differently.
const SYNONYMS: &[(&str, &str)] = &[
    ("def", "let"),
    ("define", "let"),
    ("import", "include"),
    ("proc", "procedure"),
    ("requires", "undefined_unless"),
];

/// The instruction word that `word` was probably meant to be. Words of three letters or fewer are one slip from too
/// many honest names, so they are only matched where the caller knows that an instruction word must stand there.
pub(super) fn nearest(word: &str, certainty: Certainty) -> Option<&'static str> {
    if word.len() > 24 {
        return None;
    }
    if certainty == Certainty::WordExpected
        && let Some((_, meant)) = SYNONYMS.iter().find(|(from, _)| *from == word)
    {
        return Some(meant);
    }
    if certainty == Certainty::NamePossible && word.len() < 4 {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    // An upper-case word is a set's name unless nothing but an instruction can stand there.
    let word = if certainty == Certainty::WordExpected { lower.as_str() } else { word };
    STARTS
        .iter()
        .map(|start| (distance(word, start), *start))
        .filter(|(distance, start)| *distance <= if start.len() >= 6 { 2 } else { 1 } && *distance < word.len())
        .min()
        .map(|(_, start)| start)
}

/// Whether a name could stand where the word stands.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Certainty {
    WordExpected,
    NamePossible,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_list_is_sorted_so_that_it_can_be_searched() {
        assert!(KEYWORDS.is_sorted());
        assert!(STARTS.iter().all(|start| keyword(start).is_some()));
    }

    #[test]
    fn misspelt_words_find_their_keyword_and_names_do_not() {
        assert_eq!(nearest("acylic", Certainty::NamePossible), Some("acyclic"));
        assert_eq!(nearest("emtpy", Certainty::NamePossible), Some("empty"));
        assert_eq!(nearest("irreflexiv", Certainty::NamePossible), Some("irreflexive"));
        assert_eq!(nearest("enmu", Certainty::WordExpected), Some("enum"));
        assert_eq!(nearest("LET", Certainty::WordExpected), Some("let"));
        assert_eq!(nearest("po", Certainty::WordExpected), None);
        assert_eq!(nearest("rfe", Certainty::NamePossible), None);
        assert_eq!(nearest("LL", Certainty::NamePossible), None);
    }
}
