//! Sets of events and relations over them as words of 64 bits, ascending, without those that are empty: as short as a list
//! where there is little, and as rows of bits where there is much. One thing has one form, so that equality is that of the
//! words.

use std::cmp::Ordering;

/// A set: which 64 events, and which of them.
pub(super) type Events = Blocks<u32>;
/// A relation: from which event to which 64, and to which of them.
pub(super) type Pairs = Blocks<(u32, u32)>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Blocks<K>(Vec<(K, u64)>);

impl<K> Default for Blocks<K> {
    fn default() -> Blocks<K> {
        Blocks(Vec::new())
    }
}

/// The word and the bit in it that stand for an event.
fn place(event: u32) -> (u32, u64) {
    (event / 64, 1 << (event % 64))
}

/// The events of a word.
fn members(word: u32, mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let at = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(word * 64 + at)
    })
}

impl<K: Ord + Copy> Blocks<K> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_subset(&self, other: &Blocks<K>) -> bool {
        self.minus(other).is_empty()
    }

    pub(super) fn or(&self, other: &Blocks<K>) -> Blocks<K> {
        self.merge(other, self.0.len() + other.0.len(), |a, b| a | b)
    }

    pub(super) fn and(&self, other: &Blocks<K>) -> Blocks<K> {
        self.merge(other, self.0.len().min(other.0.len()), |a, b| a & b)
    }

    pub(super) fn minus(&self, other: &Blocks<K>) -> Blocks<K> {
        self.merge(other, self.0.len(), |a, b| a & !b)
    }

    /// Walks both in ascending order; a word that one of them lacks is 0 there. At most `most` words are left.
    fn merge(&self, other: &Blocks<K>, most: usize, join: impl Fn(u64, u64) -> u64) -> Blocks<K> {
        let (mut left, mut right) = (self.0.as_slice(), other.0.as_slice());
        let mut kept = Vec::with_capacity(most);
        loop {
            let (key, a, b) = match (left.first(), right.first()) {
                (None, None) => return Blocks(kept),
                (Some(&(key, a)), None) => (key, a, 0),
                (None, Some(&(key, b))) => (key, 0, b),
                (Some(&(key, a)), Some(&(other, b))) => match key.cmp(&other) {
                    Ordering::Less => (key, a, 0),
                    Ordering::Equal => (key, a, b),
                    Ordering::Greater => (other, 0, b),
                },
            };
            left = if a == 0 { left } else { &left[1..] };
            right = if b == 0 { right } else { &right[1..] };
            let joined = join(a, b);
            if joined != 0 {
                kept.push((key, joined));
            }
        }
    }

    /// Of words in any order.
    fn of_words(mut words: Vec<(K, u64)>) -> Blocks<K> {
        if !words.is_sorted_by(|(a, _), (b, _)| a < b) {
            words.sort_unstable_by_key(|(key, _)| *key);
            words.dedup_by(|(key, bits), (kept, all)| {
                let is_same = key == kept;
                *all |= if is_same { *bits } else { 0 };
                is_same
            });
        }
        Blocks(words)
    }
}

impl FromIterator<u32> for Events {
    fn from_iter<I: IntoIterator<Item = u32>>(events: I) -> Events {
        let mut words: Vec<(u32, u64)> = Vec::new();
        for (word, bit) in events.into_iter().map(place) {
            match words.last_mut() {
                Some((last, bits)) if *last == word => *bits |= bit,
                _ => words.push((word, bit)),
            }
        }
        Blocks::of_words(words)
    }
}

impl FromIterator<(u32, u32)> for Pairs {
    fn from_iter<I: IntoIterator<Item = (u32, u32)>>(pairs: I) -> Pairs {
        let mut words: Vec<((u32, u32), u64)> = Vec::new();
        for (x, (word, bit)) in pairs.into_iter().map(|(x, y)| (x, place(y))) {
            match words.last_mut() {
                Some((last, bits)) if *last == (x, word) => *bits |= bit,
                _ => words.push(((x, word), bit)),
            }
        }
        Blocks::of_words(words)
    }
}

impl Events {
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().flat_map(|&(word, bits)| members(word, bits))
    }
}

impl Pairs {
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().flat_map(|&((x, word), bits)| members(word, bits).map(move |y| (x, y)))
    }

    /// `S * T`.
    pub(super) fn product(left: &Events, right: &Events) -> Pairs {
        Blocks(left.iter().flat_map(|x| right.0.iter().map(move |&(word, bits)| ((x, word), bits))).collect())
    }

    /// From each of these events, ascending, to those of its row.
    pub(super) fn of_rows<'r>(rows: impl Iterator<Item = (u32, &'r Events)>) -> Pairs {
        Blocks(rows.flat_map(|(x, row)| row.0.iter().map(move |&(word, bits)| ((x, word), bits))).collect())
    }

    pub(super) fn domain(&self) -> Events {
        let mut rows: Vec<u32> = self.0.iter().map(|&((x, _), _)| x).collect();
        rows.dedup();
        rows.into_iter().collect()
    }

    /// Each pair turned round. Of many pairs those that lead to one event are put side by side first: in any order, their
    /// words would have to be sorted.
    pub(super) fn inverse(&self) -> Pairs {
        let (size, count): (usize, u32) = (self.size(), self.0.iter().map(|(_, bits)| bits.count_ones()).sum());
        if (count as usize) < size {
            return self.iter().map(|(x, y)| (y, x)).collect();
        }
        // Where the sources of each event begin, and as they are entered, where the next goes.
        let mut next = vec![0u32; size + 1];
        self.iter().for_each(|(_, y)| next[y as usize + 1] += 1);
        (0..size).for_each(|y| next[y + 1] += next[y]);
        let first = next.clone();
        let mut sources = vec![0u32; count as usize];
        for (x, y) in self.iter() {
            let at = &mut next[y as usize];
            sources[*at as usize] = x;
            *at += 1;
        }
        let turned = |y: usize| sources[first[y] as usize..first[y + 1] as usize].iter().map(move |x| (y as u32, *x));
        (0..size).flat_map(turned).collect()
    }

    /// One more than the largest event.
    pub(super) fn size(&self) -> usize {
        let largest = |&((x, word), bits): &((u32, u32), u64)| x.max(word * 64 + bits.ilog2()) as usize + 1;
        self.0.iter().map(largest).max().unwrap_or(0)
    }

    pub(super) fn rows(&self) -> Rows<'_> {
        let mut first = Vec::new();
        for (at, &((x, _), _)) in self.0.iter().enumerate() {
            first.resize(first.len().max(x as usize + 1), at);
        }
        first.push(self.0.len());
        Rows { words: &self.0, first }
    }
}

/// Where each event leads to.
pub(super) struct Rows<'r> {
    words: &'r [((u32, u32), u64)],
    /// By event: its first word. One more than there are events.
    first: Vec<usize>,
}

impl<'r> Rows<'r> {
    fn words(&self, from: u32) -> &'r [((u32, u32), u64)] {
        let from = from as usize;
        match (self.first.get(from), self.first.get(from + 1)) {
            (Some(first), Some(end)) => &self.words[*first..*end],
            _ => &[],
        }
    }

    pub(super) fn of(&self, from: u32) -> impl Iterator<Item = u32> + use<'r> {
        self.words(from).iter().flat_map(|&((_, word), bits)| members(word, bits))
    }
}

/// A row in the making.
#[derive(Default)]
pub(super) struct Row {
    bits: Vec<u64>,
    /// The words that are not 0.
    used: Vec<u32>,
}

impl Row {
    pub(super) fn has(&self, event: u32) -> bool {
        let (word, bit) = place(event);
        self.bits.get(word as usize).is_some_and(|bits| bits & bit != 0)
    }

    pub(super) fn add(&mut self, event: u32) {
        let (word, bit) = place(event);
        self.add_word(word, bit);
    }

    pub(super) fn add_row(&mut self, rows: &Rows<'_>, from: u32) {
        rows.words(from).iter().for_each(|&((_, word), bits)| self.add_word(word, bits));
    }

    pub(super) fn add_done(&mut self, row: &Events) {
        row.0.iter().for_each(|&(word, bits)| self.add_word(word, bits));
    }

    fn add_word(&mut self, word: u32, bits: u64) {
        let at = word as usize;
        if at >= self.bits.len() {
            self.bits.resize(at + 1, 0);
        }
        let own = &mut self.bits[at];
        if *own == 0 {
            self.used.push(word);
        }
        *own |= bits;
    }

    /// What it has by now; it is empty then.
    pub(super) fn finish(&mut self) -> Events {
        self.used.sort_unstable();
        let bits = &mut self.bits;
        Blocks(self.used.drain(..).map(|word| (word, std::mem::take(&mut bits[word as usize]))).collect())
    }
}

/// A relation made row by row, in ascending order.
#[derive(Default)]
pub(super) struct Made(Vec<((u32, u32), u64)>);

impl Made {
    pub(super) fn row(&mut self, from: u32, row: &Events) {
        debug_assert!(self.0.last().is_none_or(|((last, _), _)| *last < from), "rows come in ascending order");
        self.0.extend(row.0.iter().map(|&(word, bits)| ((from, word), bits)));
    }

    pub(super) fn done(self) -> Pairs {
        Blocks(self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn agrees_with_the_standard_library() {
        for seed in 0u64..64 {
            let bits = |salt: u64| (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(salt * 0x1234_5679)) >> 20;
            // Elements far apart too, so that words are left out.
            let pick = |salt| -> BTreeSet<u32> {
                (0..12).filter(|bit| bits(salt) >> bit & 1 == 1).map(|bit| bit * bit).collect()
            };
            let (a, b) = (pick(1), pick(2));
            let backwards = |set: &BTreeSet<u32>| -> Events { set.iter().rev().copied().collect() };
            let (x, y) = (backwards(&a), backwards(&b));
            let same = |set: BTreeSet<u32>, mine: Events| assert!(mine.iter().eq(set.iter().copied()));
            same(&a | &b, x.or(&y));
            same(&a & &b, x.and(&y));
            same(&a - &b, x.minus(&y));
            assert_eq!(a.is_subset(&b), x.is_subset(&y));
            let product: BTreeSet<(u32, u32)> = a.iter().flat_map(|&x| b.iter().map(move |&y| (x, y))).collect();
            let mine = Pairs::product(&x, &y);
            assert!(mine.iter().eq(product.iter().copied()));
            assert_eq!(mine, product.iter().rev().copied().collect());
            // As it is, of many pairs, and of the few of one row.
            let row: Pairs = mine.iter().take(b.len()).collect();
            for relation in [&mine, &row] {
                assert_eq!(relation.inverse(), relation.iter().map(|(x, y)| (y, x)).collect());
            }
        }
    }
}
