//! Computing a node again after some of its operands have changed.
//!
//! Every slot knows which of its rows were changed last. Two choices of reads-from that differ in one read differ in two or
//! three rows of most relations: of a candidate with rows of one word only those are computed again, row by row where they
//! lie. Wider ones, and operators whose rows depend on all rows, are computed whole.

use std::ops::Range;

use super::Evaluator;
use super::plan::{Operation, Part, Slot};
use crate::bits::{Shape, kernel};

/// Rows of a relation, as bits; of a wide relation, or of a set, none or some.
pub(super) type Rows = u64;
pub(super) const ALL: Rows = !0;

/// When a candidate begins.
pub(super) const FIRST: u64 = 1;

/// Where the value of a slot lies, and how old it is.
#[derive(Copy, Clone, Debug)]
pub(super) struct Held {
    start: usize,
    length: usize,
    /// When its value changed last, and in which rows.
    pub(super) changed: u64,
    rows: Rows,
    /// When it changed before that.
    before: u64,
    /// When it was last computed, or written in another way; 0 is never.
    computed: u64,
}

impl Held {
    pub(super) fn new(start: usize, length: usize) -> Held {
        Held { start, length, changed: FIRST, rows: ALL, before: 0, computed: 0 }
    }

    /// Gives it a place of its own; where the next one may lie.
    pub(super) fn place(&mut self, start: usize) -> usize {
        self.start = start;
        start + self.length
    }

    /// Is about to be written without being computed by itself.
    pub(super) fn write(&mut self) {
        self.computed = self.computed.max(FIRST);
    }

    /// Whether there may be something at its place.
    pub(super) fn is_written(&self) -> bool {
        self.computed > 0 || self.changed > FIRST
    }

    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.length
    }

    /// The rows that changed after this time, and maybe others.
    #[inline(always)]
    fn since(&self, then: u64) -> Rows {
        if self.changed <= then {
            0
        } else if self.before <= then {
            self.rows
        } else {
            ALL
        }
    }
}

impl Evaluator<'_> {
    /// The value of a slot has changed in these rows.
    pub(super) fn note(&mut self, slot: Slot, rows: Rows) {
        self.clock += 1;
        let held = &mut self.slots[slot.index()];
        (held.before, held.changed, held.rows) = (held.changed, self.clock, rows);
    }

    /// One loop runs these thousands of times: they are parts of it.
    #[inline(always)]
    pub(super) fn compute(&mut self, slot: Slot, operation: Operation) {
        let rows = match operation {
            Operation::Union(a, b) => self.word_by_word(slot, a, b, |a, b| a | b),
            Operation::Intersection(a, b) => self.word_by_word(slot, a, b, |a, b| a & b),
            Operation::Difference(a, b) => self.word_by_word(slot, a, b, |a, b| a & !b),
            Operation::Unions(part) if self.shape.words() == 1 => self.unite(slot, part),
            Operation::Into(a, set) if self.shape.words() == 1 => self.into(slot, a, set),
            Operation::Sequence(a, b) if self.shape.words() == 1 => self.sequence(slot, a, b),
            _ => self.whole(slot, operation),
        };
        let held = &mut self.slots[slot.index()];
        held.computed = self.clock;
        if rows != 0 {
            self.clock += 1;
            (held.before, held.changed, held.rows) = (held.changed, self.clock, rows);
        }
    }

    /// The values of two operands and, to be written, the one of their user: values lie in the order in which they are
    /// computed, so operands come before their users.
    #[inline(always)]
    fn split(&mut self, slot: Slot, a: Slot, b: Slot) -> (&mut [u64], &[u64], &[u64]) {
        let [own, a, b] = [slot, a, b].map(|slot| &self.slots[slot.index()]);
        let (before, rest) = self.data.split_at_mut(own.start);
        (&mut rest[..own.length], &before[a.range()], &before[b.range()])
    }

    /// The rows of two operands that changed after their user was computed.
    #[inline(always)]
    fn since(&self, slot: Slot, a: Slot, b: Slot) -> (Rows, Rows) {
        let then = self.slots[slot.index()].computed;
        (self.slots[a.index()].since(then), self.slots[b.index()].since(then))
    }

    #[inline(always)]
    fn word_by_word(&mut self, slot: Slot, a: Slot, b: Slot, word: impl Fn(u64, u64) -> u64) -> Rows {
        let (first, second) = self.since(slot, a, b);
        let rows = first | second;
        if rows == 0 {
            return 0;
        }
        let narrow = self.shape.words() == 1;
        let (out, a, b) = self.split(slot, a, b);
        // The one word of a set is no row.
        if narrow && out.len() > 1 && rows != ALL {
            return row_by_row(rows, out, |row| word(a[row], b[row]));
        }
        if kernel::rewrite(out, a, b, word) { ALL } else { 0 }
    }

    #[inline(always)]
    fn unite(&mut self, slot: Slot, part: Part) -> Rows {
        let (operands, slots) = (part.of(&self.plan.united), &self.slots);
        let own = &slots[slot.index()];
        let rows = operands.iter().fold(0, |rows, operand| rows | slots[operand.index()].since(own.computed));
        let (before, rest) = self.data.split_at_mut(own.start);
        // Of a set, one row is all there is.
        let rows = if own.length == 1 && rows != 0 { ALL } else { rows };
        row_by_row(rows, &mut rest[..own.length], |row| {
            operands.iter().fold(0, |union, operand| union | before[slots[operand.index()].start + row])
        })
    }

    #[inline(always)]
    fn into(&mut self, slot: Slot, a: Slot, set: Slot) -> Rows {
        let (first, second) = self.since(slot, a, set);
        let (out, a, set) = self.split(slot, a, set);
        row_by_row(if second == 0 { first } else { ALL }, out, |row| a[row] & set[0])
    }

    #[inline(always)]
    fn sequence(&mut self, slot: Slot, a: Slot, b: Slot) -> Rows {
        let (first, second) = self.since(slot, a, b);
        if first | second == 0 {
            return 0;
        }
        let (out, a, b) = self.split(slot, a, b);
        // A row is the union of the rows of `b` that it leads to.
        let through = if second == 0 { 0 } else { kernel::meeting(a, second) };
        row_by_row(first | through, out, |row| kernel::union_of(b, a[row]))
    }

    #[inline(never)]
    fn whole(&mut self, slot: Slot, operation: Operation) -> Rows {
        let own = self.slots[slot.index()];
        let is_newer = |operand: Slot| self.slots[operand.index()].changed > own.computed;
        if own.computed > 0 && !operation.any_operand(&self.plan.united, is_newer) {
            return 0;
        }
        self.evaluate(slot, operation);
        overwrite(self.shape, &mut self.data[own.range()], &self.fresh[..own.length])
    }
}

/// Overwrites rows of one word; those that this changed.
#[inline]
fn row_by_row(rows: Rows, out: &mut [u64], value: impl Fn(usize) -> u64) -> Rows {
    let mut changed = 0;
    let mut rest = if out.len() < 64 { rows & ((1 << out.len()) - 1) } else { rows };
    while rest != 0 {
        let row = rest.trailing_zeros() as usize;
        let (new, old) = (value(row), &mut out[row]);
        changed |= u64::from(*old != new) << row;
        *old = new;
        rest &= rest - 1;
    }
    changed
}

/// Replaces a value; the rows that this changed.
pub(super) fn overwrite(shape: Shape, out: &mut [u64], new: &[u64]) -> Rows {
    if shape.words() == 1 && out.len() == shape.events() {
        let mut changed = 0;
        for (row, (out, new)) in out.iter_mut().zip(new).enumerate() {
            changed |= u64::from(*out != *new) << row;
            *out = *new;
        }
        return changed;
    }
    if *out == *new {
        return 0;
    }
    out.copy_from_slice(new);
    ALL
}
