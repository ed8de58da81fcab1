//! Sets of values that grow until nothing is new, as lists in ascending order: following what registers may hold visits each
//! instruction of a loop once for every value of its counter, and of two operands with many values only the new pairs say
//! something new.

/// The operands of an instruction as they were when it was last looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Operands {
    left: Vec<i128>,
    right: Vec<i128>,
}

impl Operands {
    /// The pairs that were not there the last time. Neither operand loses values.
    pub(crate) fn new_pairs(&mut self, left: Vec<i128>, right: Vec<i128>) -> Vec<(i128, i128)> {
        let is_old = |known: &[i128], value: &i128| known.binary_search(value).is_ok();
        let mut pairs = Vec::new();
        for first in &left {
            let was_there = is_old(&self.left, first);
            let new = right.iter().filter(|second| !was_there || !is_old(&self.right, second));
            pairs.extend(new.map(|second| (*first, *second)));
        }
        (self.left, self.right) = (left, right);
        pairs
    }
}

/// The values in ascending order, each once.
pub(crate) fn ascending(values: impl Iterator<Item = i128>) -> Vec<i128> {
    let mut found: Vec<i128> = values.collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Adds values to an ascending list; whether one is new.
pub(crate) fn add(list: &mut Vec<i128>, values: &[i128]) -> bool {
    let before = list.len();
    for value in values {
        if let Err(at) = list.binary_search(value) {
            list.insert(at, *value);
        }
    }
    list.len() > before
}

#[cfg(test)]
mod tests {
    use super::{Operands, add, ascending};

    /// All visits together give every pair once.
    #[test]
    fn only_new_pairs_are_told() {
        let mut operands = Operands::default();
        let mut seen = operands.new_pairs(vec![1, 5], vec![2]);
        seen.extend(operands.new_pairs(vec![1, 5], vec![2]));
        seen.extend(operands.new_pairs(vec![1, 3, 5], vec![2, 4]));
        let before = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!((before, seen.len()), (6, 6));
    }

    #[test]
    fn lists_stay_ascending() {
        let mut list = ascending([4, 1, 4].into_iter());
        assert!(add(&mut list, &[2, 1, 9]));
        assert!(!add(&mut list, &[9, 2]));
        assert_eq!(list, [1, 2, 4, 9]);
    }
}
