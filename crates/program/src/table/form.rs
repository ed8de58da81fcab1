//! Instruction forms as data: the words that name an instruction, the words it may carry besides, the ISA section, and
//! the version that brought it. One row is one line of the documentation's list of what is modelled.
//!
//! The words after the head may come in any order: the ISA's own text orders them differently in different places.

use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::short::ShortText;
use fencepost_syntax::{Diagnostic, Spanned};

use crate::lower::findings::Refusal;
use crate::program::Version;
use crate::table::modifier::{self, spelled};
use crate::value::Type;

/// One form of an instruction; `kind` says what the table's own code does with it.
pub(crate) struct Form<K: 'static> {
    /// The opcode and the modifiers that follow it in this order: `["cp", "async", "bulk", "tensor"]`.
    pub(crate) head: &'static [&'static str],
    pub(crate) slots: &'static [Slot],
    /// "9.7.10.28.5".
    pub(crate) section: &'static str,
    pub(crate) since: Version,
    pub(crate) kind: K,
}

impl<K> Form<K> {
    /// What the words of an instruction are compared with: the same for the forms of all tables, so that the code that
    /// compares is compiled once and not once per table.
    fn shape(&self) -> Shape {
        Shape { head: self.head, slots: self.slots }
    }
}

/// The words of a form.
#[derive(Copy, Clone)]
struct Shape {
    head: &'static [&'static str],
    slots: &'static [Slot],
}

/// A set of words of which an instruction carries one.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Slot {
    /// Exactly one of these.
    One(&'static [&'static str]),
    /// One of these, or none.
    Maybe(&'static [&'static str]),
    /// The same, and the ISA writes it before the state spaces of the head.
    Early(&'static [&'static str]),
    /// A type, at most one.
    Type,
    /// Up to `most` words that the function takes (shapes, element types of matrices); `name` is for documentation.
    Like { name: &'static str, accepts: fn(&str) -> bool, most: u32 },
    /// Any number of performance hints (`.L2::cache_hint`, `.L1::no_allocate`).
    Hints,
}

/// The words of one instruction, checked against its form.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    words: Vec<Spanned<ShortText>>,
    pub(crate) ty: Option<Type>,
}

impl Words {
    pub(crate) fn has(&self, word: &str) -> bool {
        self.words.iter().any(|found| found.node == word)
    }

    /// The integer type among the words that are no type of the form's own.
    pub(crate) fn integer(&self) -> Option<Type> {
        self.ty.or_else(|| self.words.iter().find_map(|word| modifier::integer_type(&word.node)))
    }

    /// The entry of the table whose word is there, with its place.
    pub(crate) fn find<T: Copy>(&self, table: &[(&str, T)]) -> Option<Spanned<T>> {
        self.words.iter().find_map(|found| {
            let (_, value) = table.iter().find(|(name, _)| *name == found.node)?;
            Some(Spanned::new(*value, found.span))
        })
    }
}

pub(crate) const fn version(major: u8, minor: u8) -> Version {
    Version { major, minor }
}

/// The form with the longest head that starts this instruction.
pub(crate) fn select<'t, K>(forms: &'t [Form<K>], tree: &Instruction) -> Option<&'t Form<K>> {
    let mut found: Option<&Form<K>> = None;
    for form in forms {
        // The tables have some hundred and fifty forms, and an instruction is of few of them: the opcode is compared here.
        let begins = form.head.first().is_some_and(|head| *head == tree.opcode.node);
        let is_longer = || found.is_none_or(|found| found.head.len() <= form.head.len());
        if begins && is_longer() && beside_head(form.shape(), tree).is_some() {
            found = Some(form);
        }
    }
    found
}

/// The words that are not of the head, if the instruction is of this form.
#[inline(never)]
fn beside_head(form: Shape, tree: &Instruction) -> Option<Vec<&Spanned<ShortText>>> {
    let (opcode, mut rest) = form.head.split_first()?;
    if *opcode != tree.opcode.node {
        return None;
    }
    let is_early =
        |word: &str| form.slots.iter().any(|slot| matches!(slot, Slot::Early(words) if words.contains(&word)));
    let mut beside = Vec::new();
    for word in &tree.modifiers {
        match rest.split_first() {
            Some((head, others)) if *head == word.node => rest = others,
            Some(_) if !is_early(&word.node) => return None,
            _ => beside.push(word),
        }
    }
    rest.is_empty().then_some(beside)
}

/// The words after the head, each in its slot. A word without one makes the form unsupported, by name.
pub(crate) fn words<K>(form: &Form<K>, tree: &Instruction) -> Result<Words, Refusal> {
    words_of(form.shape(), tree)
}

fn words_of(form: Shape, tree: &Instruction) -> Result<Words, Refusal> {
    let mut found = Words::default();
    let mut taken = vec![0u32; form.slots.len()];
    for word in beside_head(form, tree).unwrap_or_default() {
        let takes = |slot: &Slot| match slot {
            Slot::One(words) | Slot::Maybe(words) | Slot::Early(words) => words.contains(&word.node.as_str()),
            Slot::Type => modifier::integer_type(&word.node).is_some(),
            Slot::Like { accepts, .. } => accepts(&word.node),
            Slot::Hints => modifier::is_hint(&word.node),
        };
        let Some(slot) = form.slots.iter().position(takes) else {
            return Err(Refusal::Unsupported(tree.span(), spelled(tree)));
        };
        taken[slot] += 1;
        let most = match form.slots[slot] {
            Slot::Hints => u32::MAX,
            Slot::Like { most, .. } => most,
            _ => 1,
        };
        if taken[slot] > most {
            let message = format!("{} says `.{}` beside another word of its kind", spelled(tree), word.node);
            return Err(Refusal::Error(Diagnostic::error(word.span, message).label("one too many")));
        }
        if matches!(form.slots[slot], Slot::Type) {
            found.ty = modifier::integer_type(&word.node);
        }
        found.words.push(word.clone());
    }
    for (slot, taken) in form.slots.iter().zip(taken) {
        if let (Slot::One(words), 0) = (slot, taken) {
            let list: Vec<String> = words.iter().map(|word| format!("`.{word}`")).collect();
            let message = format!("{} needs one of {}", spelled(tree), list.join(", "));
            return Err(Refusal::Error(Diagnostic::error(tree.span(), message).label("a word is missing")));
        }
    }
    Ok(found)
}

/// The form as documentation writes it: `mbarrier.arrive{.release|.relaxed}{.cta|.cluster}…`.
pub(crate) fn pattern<K>(form: &Form<K>) -> String {
    pattern_of(form.shape())
}

fn pattern_of(form: Shape) -> String {
    let list = |words: &[&str]| words.iter().map(|word| format!(".{word}")).collect::<Vec<_>>().join("|");
    let is_space = |word: &&str| word.starts_with("shared") || *word == "global";
    let spaces = form.head.iter().position(is_space).unwrap_or(form.head.len());
    let (before, after) = form.head.split_at(spaces);
    let mut text = before.join(".");
    let early = form.slots.iter().filter_map(|slot| if let Slot::Early(words) = slot { Some(*words) } else { None });
    early.for_each(|words| text += &format!("{{{}}}", list(words)));
    after.iter().for_each(|word| text += &format!(".{word}"));
    for slot in form.slots {
        text += &match slot {
            Slot::Early(_) => String::new(),
            Slot::One([word]) => format!(".{word}"),
            Slot::One(words) => format!("({})", list(words)),
            Slot::Maybe(words) => format!("{{{}}}", list(words)),
            Slot::Type => "{.type}".to_string(),
            Slot::Like { name, .. } => format!(".{name}"),
            Slot::Hints => String::new(),
        };
    }
    text
}
