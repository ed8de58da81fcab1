//! Final states, and how many executions end in each. There are thousands of either: a state is a row of one table, found by
//! its hash, and the rows are sorted once, when all are counted.

use fencepost_program::value::Value;
use fencepost_syntax::sorted::SharedSort as _;

#[derive(Clone, Default)]
pub struct Histogram {
    /// The values of every state, one state after the other, as they were met.
    values: Vec<Value>,
    /// By state: how often it was met.
    counts: Vec<u64>,
    /// Places of states by hash, with linear probing: one more than the number of the state, 0 where there is none. A
    /// power of two, and at most half full.
    table: Vec<u32>,
    /// How many values a state has.
    width: usize,
}

const LEAST: usize = 64;

impl Histogram {
    /// Counts a state so many times more; whether it is a new one. All have the same number of values.
    pub fn add(&mut self, state: &[Value], times: u64) -> bool {
        self.width = state.len();
        if self.table.len() < 2 * (self.counts.len() + 1) {
            self.grow();
        }
        let mut at = self.start(state);
        while let Some(number) = self.table[at].checked_sub(1) {
            if self.state(number) == state {
                let count = &mut self.counts[number as usize];
                // At least so many, if it is too large a number: whoever adds up all states notices.
                *count = count.checked_add(times).unwrap_or(*count);
                return false;
            }
            at = (at + 1) & (self.table.len() - 1);
        }
        self.values.extend_from_slice(state);
        self.counts.push(times);
        self.table[at] = self.counts.len() as u32;
        true
    }

    /// Counts what another search has met too.
    pub fn extend(&mut self, other: &Histogram) {
        other.unsorted().for_each(|(state, count)| {
            self.add(state, count);
        });
    }

    pub fn contains(&self, state: &[Value]) -> bool {
        if self.table.is_empty() {
            return false;
        }
        let mut at = self.start(state);
        while let Some(number) = self.table[at].checked_sub(1) {
            if self.state(number) == state {
                return true;
            }
            at = (at + 1) & (self.table.len() - 1);
        }
        false
    }

    /// Every state with its count, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (&[Value], u64)> {
        let mut order: Vec<u32> = (0..self.counts.len() as u32).collect();
        order.shared_sort_by(|a, b| self.state(*a).cmp(self.state(*b)));
        order.into_iter().map(|number| (self.state(number), self.counts[number as usize]))
    }

    /// The same, in the order they were met.
    pub fn unsorted(&self) -> impl Iterator<Item = (&[Value], u64)> {
        (0..self.counts.len() as u32).map(|number| (self.state(number), self.counts[number as usize]))
    }

    fn state(&self, number: u32) -> &[Value] {
        let from = number as usize * self.width;
        &self.values[from..from + self.width]
    }

    /// Where the search for a state begins.
    fn start(&self, state: &[Value]) -> usize {
        // Odd, and its bits are those of no small number: the golden ratio.
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let mix = |hash: u64, part: u64| (hash ^ part).wrapping_mul(FACTOR).rotate_left(29);
        let hash = state.iter().fold(0, |hash, value| mix(mix(hash, value.0 as u64), (value.0 >> 64) as u64));
        (hash.wrapping_mul(FACTOR) >> 32) as usize & (self.table.len() - 1)
    }

    fn grow(&mut self) {
        let size = (2 * self.table.len()).max(LEAST);
        self.table.clear();
        self.table.resize(size, 0);
        for number in 0..self.counts.len() as u32 {
            let mut at = self.start(self.state(number));
            while self.table[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.table[at] = number + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_counted_and_sorted() {
        let mut histogram = Histogram::default();
        let state = |number: i128| [Value(number % 40 - 20), Value(number % 25)];
        for number in 0..1000 {
            assert_eq!(histogram.add(&state(number), 3), number < 200);
        }
        let all: Vec<(&[Value], u64)> = histogram.iter().collect();
        assert_eq!(all.len(), 200);
        assert!(all.iter().all(|(_, count)| *count == 15));
        assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn a_state_without_values_is_one() {
        let mut histogram = Histogram::default();
        assert!(histogram.add(&[], 2));
        assert!(!histogram.add(&[], 1));
        assert_eq!(histogram.iter().collect::<Vec<_>>(), vec![(&[][..], 3)]);
    }
}
