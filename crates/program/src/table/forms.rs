//! All tables of instruction forms at once: which version brought an instruction, and which words it may have.

use fencepost_syntax::instruction::Instruction;

use crate::program::Version;
use crate::sections;
use crate::table::form::{Form, Slot, version};
use crate::table::modifier;
use crate::table::ptx;
use crate::table::ptx::arithmetic::{bits, integer};
use crate::table::ptx::asynchronous::{copy, store, tensor_copy, tensormap};
use crate::table::ptx::memory::{multimem, surface, vector};
use crate::table::ptx::tensor::{tcgen05, tcgen05_mma, wgmma};
use crate::table::ptx::{address, barrier, fence, launch, mbarrier, warp};

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

/// What may stand in an instruction where its words leave the forms there are.
pub(crate) struct Expected {
    /// How many modifiers the forms below have in common with the instruction.
    pub(crate) agreed: usize,
    /// Their other words.
    pub(crate) words: Vec<&'static str>,
    /// Types, shapes and hints, of which there are too many to list.
    pub(crate) slots: Vec<&'static Slot>,
}

/// The words of the forms that begin as the instruction does, as far as any form does; None for an unknown opcode.
pub(crate) fn expected(tree: &Instruction) -> Option<Expected> {
    let rows = all();
    let opcode = tree.opcode.node.as_str();
    let longest = rows.iter().map(|row| common(row, tree)).max().unwrap_or(0);
    let classes = || ptx::rows().filter(|row| row.opcode == opcode).map(|row| modifier::candidates(row.classes));
    if longest == 0 && classes().next().is_none() {
        return None;
    }
    let close = || rows.iter().filter(|row| longest > 0 && common(row, tree) == longest);
    let mut found: Vec<&'static str> = close().flat_map(|row| &row.head[longest..]).copied().collect();
    found.extend(close().flat_map(|row| row.slots).flat_map(words));
    if longest <= 1 {
        found.extend(classes().flatten());
    }
    let slots = close().flat_map(|row| row.slots).collect();
    Some(Expected { agreed: longest.saturating_sub(1), words: found, slots })
}

/// The instructions that have a model.
pub(crate) fn opcodes() -> Vec<&'static str> {
    all().iter().filter_map(|row| row.head.first().copied()).chain(ptx::rows().map(|row| row.opcode)).collect()
}

/// Whether any form of any instruction has the word.
pub(crate) fn is_known(word: &str) -> bool {
    let rows = all();
    let in_row = |row: &Row| row.head.contains(&word) || row.slots.iter().any(|slot| words(slot).contains(&word));
    rows.iter().any(in_row) || ptx::rows().any(|row| modifier::candidates(row.classes).contains(&word))
}

fn words(slot: &'static Slot) -> &'static [&'static str] {
    match slot {
        Slot::One(words) | Slot::Maybe(words) | Slot::Early(words) => words,
        Slot::Type | Slot::Like { .. } | Slot::Hints => &[],
    }
}
