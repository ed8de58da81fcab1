//! Instructions that are no PTX (PTX ISA 9.7), told from those that are and have no model here: the first are mistakes in the
//! text, the second make the answer unknown.
//!
//! What PTX has beyond our tables is listed by word ([`typo`]). So a word is a mistake only if no instruction has it, and
//! its own either takes few words or has one like it; or if its instruction has the word with something behind it
//! (`.shared` for `.shared::cta`). A legal word in a place where it is none stays a form without a model.

use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::short::ShortText;
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::suggest::nearest;
use fencepost_syntax::{Diagnostic, Spanned};

use crate::table::form::Slot;
use crate::table::forms::{self, Expected};
use crate::table::modifier::{self, spelled};
use crate::table::typo;

/// Instructions whose words are all known here.
const COMPLETE: &[&str] =
    &["fence", "membar", "mbarrier", "ld", "st", "atom", "red", "bar", "barrier", "griddepcontrol"];

/// What CUDA, OpenCL and older PTX call a scope, and its name in PTX.
const SCOPES: &[(&str, &str)] = &[
    ("block", "cta"),
    ("device", "gpu"),
    ("gl", "gpu"),
    ("system", "sys"),
    ("workgroup", "cta"),
    ("work_group", "cta"),
];

/// What is wrong with the words of an instruction, if it is not PTX.
pub(crate) fn judge(tree: &Instruction) -> Option<Diagnostic> {
    let opcode = tree.opcode.node.as_str();
    let Some(expected) = forms::expected(tree) else {
        return (!typo::is_opcode(opcode)).then(|| unknown_opcode(tree));
    };
    tree.modifiers.iter().skip(expected.agreed).find_map(|word| stray(tree, word, &expected))
}

fn unknown_opcode(tree: &Instruction) -> Diagnostic {
    let opcode = tree.opcode.node.as_str();
    // Words of two letters are a slip from too many others, but for a letter that is missing at the end.
    let with_a_model = match opcode.len() {
        0..=2 => begun(opcode),
        _ => nearest(opcode, &forms::opcodes()),
    };
    let help = match with_a_model.or_else(|| typo::nearest_opcode(opcode)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "docs/instructions.md lists the instructions that have a model".to_owned(),
    };
    let message = format!("`{opcode}` is not a PTX instruction");
    Diagnostic::error(tree.opcode.span, message).label("not PTX").help(help)
}

/// The only opcode that is a word and one more letter.
fn begun(word: &str) -> Option<&'static str> {
    let mut found = forms::opcodes();
    found.retain(|opcode| opcode.len() == word.len() + 1 && opcode.starts_with(word));
    found.dedup();
    match found.as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// How an asynchronous copy completes (PTX ISA 9.7.10.28.1): its direction decides which of these it says.
const COMPLETIONS: &[(&str, &str, &str)] = &[
    (TX, "bulk_group", "a copy in this direction completes in a bulk group and takes no mbarrier: write `.bulk_group`"),
    ("bulk_group", TX, "a copy in this direction completes on an mbarrier: write `.mbarrier::complete_tx::bytes`"),
];
const TX: &str = "mbarrier::complete_tx::bytes";

/// A word of the other direction.
fn wrong_direction(tree: &Instruction, word: &Spanned<ShortText>, expected: &Expected) -> Option<Diagnostic> {
    let is_meant = |own: &&(&str, &str, &str)| own.0 == word.node && expected.words.contains(&own.1);
    let (.., help) = COMPLETIONS.iter().find(is_meant)?;
    let message = format!("{} is not PTX: `{}` has no `.{}`", spelled(tree), head(tree, expected), word.node);
    Some(Diagnostic::error(word.span, message).label("not PTX").help(*help))
}

/// A word that the instruction cannot have.
fn stray(tree: &Instruction, word: &Spanned<ShortText>, expected: &Expected) -> Option<Diagnostic> {
    let text = word.node.as_str();
    if expected.words.contains(&text) || expected.slots.iter().any(|slot| takes(slot, text)) || is_type(text) {
        return None;
    }
    if let Some(error) = wrong_direction(tree, word, expected) {
        return Some(error);
    }
    // PTX tells capital letters from small ones.
    if let Some(meant) = expected.words.iter().copied().find(|known| known.eq_ignore_ascii_case(text)) {
        return Some(wrong_word(tree, word, expected, &[meant]));
    }
    let longer = format!("{text}::");
    let mut meant: Vec<&str> = expected.words.iter().copied().filter(|known| known.starts_with(&longer)).collect();
    meant.shared_sort();
    meant.dedup();
    if meant.is_empty() {
        if text.len() <= 2 || forms::is_known(text) || typo::is_word(text) {
            return None;
        }
        let scope = SCOPES.iter().find(|(name, scope)| *name == text && expected.words.contains(scope));
        meant.extend(scope.map(|(_, scope)| *scope).or_else(|| nearest(text, &expected.words)));
        // Shapes and hints are of many kinds.
        let is_plain = !text.contains("::") && !text.starts_with(|it: char| it.is_ascii_digit());
        if meant.is_empty() && !(is_plain && COMPLETE.contains(&tree.opcode.node.as_str())) {
            return None;
        }
    }
    Some(wrong_word(tree, word, expected, &meant))
}

fn wrong_word(tree: &Instruction, word: &Spanned<ShortText>, expected: &Expected, meant: &[&str]) -> Diagnostic {
    let message = format!("{} is not PTX: `{}` has no `.{}`", spelled(tree), head(tree, expected), word.node);
    let diagnostic = Diagnostic::error(word.span, message).label("not PTX");
    match meant {
        [] => diagnostic.help("docs/instructions.md lists the forms that have a model"),
        words => {
            let words: Vec<String> = words.iter().map(|word| format!("`.{word}`")).collect();
            diagnostic.help(format!("did you mean {}?", words.join(" or ")))
        }
    }
}

/// The words before the one that is wrong, as far as forms agree with them: `fence.proxy.async`.
fn head(tree: &Instruction, expected: &Expected) -> String {
    let agreed = tree.modifiers.iter().take(expected.agreed).map(|word| word.node.as_str());
    std::iter::once(tree.opcode.node.as_str()).chain(agreed).collect::<Vec<_>>().join(".")
}

fn takes(slot: &Slot, word: &str) -> bool {
    match slot {
        Slot::One(words) | Slot::Maybe(words) | Slot::Early(words) => words.contains(&word),
        Slot::Type => is_type(word),
        Slot::Like { accepts, .. } => accepts(word),
        Slot::Hints => modifier::is_hint(word),
    }
}

fn is_type(word: &str) -> bool {
    modifier::bits_type(word).is_some() || modifier::is_hint(word)
}
