//! All tables of instruction forms at once: which version brought an instruction, and what a misspelt one was meant to be.

use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::suggest::nearest;

use crate::program::Version;
use crate::sections;
use crate::table::form::{Form, Slot, version};
use crate::table::ptx::arithmetic::{bits, integer};
use crate::table::ptx::asynchronous::{copy, store, tensor_copy, tensormap};
use crate::table::ptx::memory::{multimem, surface, vector};
use crate::table::ptx::tensor::{tcgen05, tcgen05_mma, wgmma};
use crate::table::ptx::{address, barrier, fence, launch, mbarrier, warp};
use crate::table::typo;

/// A form without what its table does with it.
struct Row {
    head: &'static [&'static str],
    slots: &'static [Slot],
    section: &'static str,
    since: Version,
}

fn add<K>(rows: &mut Vec<Row>, forms: &'static [Form<K>]) {
    let row =
        |form: &'static Form<K>| Row { head: form.head, slots: form.slots, section: form.section, since: form.since };
    rows.extend(forms.iter().map(row));
}

/// The tables that do not look at the version themselves.
fn unversioned() -> Vec<Row> {
    let mut rows = Vec::new();
    add(&mut rows, copy::FORMS);
    add(&mut rows, tensor_copy::FORMS);
    add(&mut rows, store::FORMS);
    add(&mut rows, tensormap::FORMS);
    add(&mut rows, wgmma::FORMS);
    add(&mut rows, tcgen05_mma::FORMS);
    add(&mut rows, tcgen05::FORMS);
    add(&mut rows, warp::FORMS);
    add(&mut rows, bits::FORMS);
    add(&mut rows, integer::FORMS);
    add(&mut rows, surface::FORMS);
    add(&mut rows, multimem::FORMS);
    rows
}

fn all() -> Vec<Row> {
    let mut rows = unversioned();
    add(&mut rows, mbarrier::FORMS);
    add(&mut rows, fence::FORMS);
    add(&mut rows, barrier::FORMS);
    add(&mut rows, launch::FORMS);
    add(&mut rows, address::FORMS);
    add(&mut rows, vector::FORMS);
    rows
}

/// How many words of the head the instruction starts with.
fn common(row: &Row, tree: &Instruction) -> usize {
    let words = std::iter::once(tree.opcode.node.as_str()).chain(tree.modifiers.iter().map(|word| word.node.as_str()));
    row.head.iter().zip(words).take_while(|(head, word)| *head == word).count()
}

/// Opcodes, a word of theirs, the version that brought it, and its section.
type Word = (&'static [&'static str], &'static str, (u8, u8), &'static str);

/// Words that came later than the instruction they stand in (PTX ISA 9.7.10.8, 9.7.15.4 and their own sections).
const WORDS: &[Word] = &[
    (&["fence"], "acquire", (8, 6), sections::FENCE),
    (&["fence"], "release", (8, 6), sections::FENCE),
    (&["fence", "ld", "st", "atom", "red"], "cluster", (7, 8), sections::SCOPE),
    (&["ld", "st", "atom", "red"], "shared::cluster", (7, 8), sections::SHARED_SPACE),
    (&["ld", "st"], "mmio", (8, 2), sections::MMIO_OPERATION),
    (&["cp"], "b128", (9, 3), sections::CP_ASYNC_BULK),
    (&["cp"], "cp_mask", (8, 6), sections::CP_ASYNC_BULK),
    (&["cp"], "cta_group::1", (8, 6), sections::CP_ASYNC_BULK_TENSOR),
    (&["cp"], "cta_group::2", (8, 6), sections::CP_ASYNC_BULK_TENSOR),
    (&["prefetch"], "tensormap", (8, 0), sections::PREFETCH),
    (&["isspacep"], "shared::cluster", (7, 8), sections::ISSPACEP),
];

/// The version that brought this instruction, and its section, where its own table does not say so.
pub(crate) fn since(tree: &Instruction) -> Option<(Version, &'static str)> {
    let opcode = tree.opcode.node.as_str();
    let has = |wanted: &str| tree.modifiers.iter().any(|word| word.node == wanted);
    let proxy = has("proxy") || has("mbarrier_init");
    let words = WORDS.iter().filter(|(opcodes, word, ..)| opcodes.contains(&opcode) && has(word) && !proxy);
    let words = words.map(|(_, _, since, section)| (version(since.0, since.1), *section)).max();
    let rows = unversioned();
    let row = rows.iter().filter(|row| common(row, tree) == row.head.len()).max_by_key(|row| row.head.len());
    words.max(row.map(|row| (row.since, row.section)))
}

/// What the first word that no form has was probably meant to be: `.arrive` for `mbarrier.arive`.
pub(crate) fn meant(tree: &Instruction) -> Option<String> {
    let rows = all();
    let longest = rows.iter().map(|row| common(row, tree)).max().filter(|longest| *longest > 0)?;
    let close = || rows.iter().filter(|row| common(row, tree) == longest);
    let heads = close().filter_map(|row| row.head.get(longest).copied());
    let slots = close().filter(|row| row.head.len() == longest).flat_map(|row| row.slots).flat_map(words).copied();
    let known: Vec<&'static str> = heads.chain(slots).collect();
    let unknown = tree.modifiers.iter().skip(longest - 1).find(|word| !known.contains(&word.node.as_str()))?;
    let plain = unknown.node.len() > 2 && !typo::is_word(&unknown.node);
    let found = nearest(&unknown.node, &known).filter(|_| plain)?;
    Some(format!(".{found}"))
}

fn words(slot: &'static Slot) -> &'static [&'static str] {
    match slot {
        Slot::One(words) | Slot::Maybe(words) | Slot::Early(words) => words,
        Slot::Type | Slot::Like { .. } | Slot::Hints => &[],
    }
}
