//! The operators of cat on explicit sets, each as its definition reads.

use super::ordered::Ordered;

pub(super) type Events = Ordered<u32>;
pub(super) type Pairs = Ordered<(u32, u32)>;

/// `a ; b`: x to z iff some y has x a y and y b z.
pub(super) fn sequence(left: &Pairs, right: &Pairs) -> Pairs {
    if right.as_slice().len() > DENSE * size(right) {
        return sequence_with_dense(left, right);
    }
    let mut result = Vec::new();
    let mut rest = left.as_slice();
    let mut is_reached = vec![false; size(right)];
    let right = Rows::new(right);
    // From one x at a time, so that what several ways lead to is held once.
    while let Some(&(x, _)) = rest.first() {
        let (own, others) = rest.split_at(rest.partition_point(|&(from, _)| from <= x));
        let first = result.len();
        for z in own.iter().flat_map(|&(_, y)| right.of(y)) {
            if !std::mem::replace(&mut is_reached[z as usize], true) {
                result.push((x, z));
            }
        }
        result[first..].iter().for_each(|&(_, z)| is_reached[z as usize] = false);
        rest = others;
    }
    result.into_iter().collect()
}

/// Pairs per event from which on rows of bits are shorter than lists.
const DENSE: usize = 64;

/// The same, with what each y leads to as bits.
fn sequence_with_dense(left: &Pairs, right: &Pairs) -> Pairs {
    let (mut result, mut rest) = (Vec::new(), left.as_slice());
    let size = size(right);
    let words = size.div_ceil(64);
    let mut rows = vec![0u64; size * words];
    right.iter().for_each(|&(y, z)| rows[y as usize * words + z as usize / 64] |= 1 << (z % 64));
    let mut reached = vec![0u64; words];
    while let Some(&(x, _)) = rest.first() {
        let (own, others) = rest.split_at(rest.partition_point(|&(from, _)| from <= x));
        reached.fill(0);
        for &(_, y) in own.iter().filter(|&&(_, y)| (y as usize) < size) {
            let row = &rows[y as usize * words..(y as usize + 1) * words];
            reached.iter_mut().zip(row).for_each(|(reached, word)| *reached |= word);
        }
        let is_reached = |z: &u32| reached[*z as usize / 64] >> (z % 64) & 1 == 1;
        result.extend((0..size as u32).filter(is_reached).map(|z| (x, z)));
        rest = others;
    }
    result.into_iter().collect()
}

/// One more than the largest event.
fn size(relation: &Pairs) -> usize {
    relation.iter().map(|&(x, y)| x.max(y) as usize + 1).max().unwrap_or(0)
}

/// Where each event leads to.
struct Rows<'r> {
    pairs: &'r [(u32, u32)],
    /// By event: its first pair. One more than there are events.
    first: Vec<usize>,
}

impl Rows<'_> {
    fn new(relation: &Pairs) -> Rows<'_> {
        let pairs = relation.as_slice();
        let mut first = Vec::new();
        for (at, &(x, _)) in pairs.iter().enumerate() {
            first.resize(first.len().max(x as usize + 1), at);
        }
        first.push(pairs.len());
        Rows { pairs, first }
    }

    fn of(&self, from: u32) -> impl Iterator<Item = u32> {
        let from = from as usize;
        let row = match (self.first.get(from), self.first.get(from + 1)) {
            (Some(first), Some(end)) => &self.pairs[*first..*end],
            _ => &[],
        };
        row.iter().map(|&(_, y)| y)
    }
}

/// `r^-1`.
pub(super) fn inverse(relation: &Pairs) -> Pairs {
    relation.iter().map(|&(x, y)| (y, x)).collect()
}

/// `r+`: x to y iff a path of at least one step leads from x to y.
pub(super) fn plus(relation: &Pairs) -> Pairs {
    let order = sources_first(relation);
    if order.len() < size(relation) {
        return plus_of_cyclic(relation);
    }
    let rows = Rows::new(relation);
    // From the last: where the next event leads to is known, and what it leads to need not be walked again.
    let mut reached: Vec<Vec<u32>> = vec![Vec::new(); order.len()];
    let mut is_reached = vec![false; order.len()];
    for &start in order.iter().rev() {
        let mut own = Vec::new();
        for next in rows.of(start) {
            if !is_reached[next as usize] {
                for end in std::iter::once(next).chain(reached[next as usize].iter().copied()) {
                    if !std::mem::replace(&mut is_reached[end as usize], true) {
                        own.push(end);
                    }
                }
            }
        }
        own.iter().for_each(|end| is_reached[*end as usize] = false);
        own.sort_unstable();
        reached[start as usize] = own;
    }
    let pairs = reached.iter().zip(0..).flat_map(|(ends, start)| ends.iter().map(move |end| (start, *end)));
    pairs.collect()
}

fn plus_of_cyclic(relation: &Pairs) -> Pairs {
    let mut result = Vec::new();
    let (size, rows) = (size(relation), Rows::new(relation));
    for start in domain(relation).iter().copied() {
        let mut reached = Vec::new();
        let mut is_reached = vec![false; size];
        let mut todo = vec![start];
        while let Some(at) = todo.pop() {
            for next in rows.of(at) {
                if !std::mem::replace(&mut is_reached[next as usize], true) {
                    reached.push(next);
                    todo.push(next);
                }
            }
        }
        result.extend(reached.into_iter().map(|end| (start, end)));
    }
    result.into_iter().collect()
}

/// `[S]`.
pub(super) fn identity(set: &Events) -> Pairs {
    set.iter().map(|&event| (event, event)).collect()
}

/// `S * T`.
pub(super) fn product(left: &Events, right: &Events) -> Pairs {
    left.iter().flat_map(|&x| right.iter().map(move |&y| (x, y))).collect()
}

pub(super) fn domain(relation: &Pairs) -> Events {
    relation.iter().map(|&(x, _)| x).collect()
}

pub(super) fn range(relation: &Pairs) -> Events {
    relation.iter().map(|&(_, y)| y).collect()
}

pub(super) fn irreflexive(relation: &Pairs) -> bool {
    relation.iter().all(|(x, y)| x != y)
}

/// No path of at least one step leads back to where it started: a pair whose source nothing leads to is on no cycle,
/// and without such pairs what is left, if anything, has one.
pub(super) fn acyclic(relation: &Pairs) -> bool {
    sources_first(relation).len() == size(relation)
}

/// Events up to the largest, each after all that lead to it; those on a cycle, or behind one, are left out.
fn sources_first(relation: &Pairs) -> Vec<u32> {
    let mut leading_to = vec![0usize; size(relation)];
    relation.iter().for_each(|&(_, y)| leading_to[y as usize] += 1);
    let mut order: Vec<u32> = (0..).zip(&leading_to).filter(|(_, count)| **count == 0).map(|(x, _)| x).collect();
    let rows = Rows::new(relation);
    let mut at = 0;
    while let Some(&x) = order.get(at) {
        at += 1;
        for y in rows.of(x) {
            leading_to[y as usize] -= 1;
            if leading_to[y as usize] == 0 {
                order.push(y);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(items: &[(u32, u32)]) -> Pairs {
        items.iter().copied().collect()
    }

    #[test]
    fn sequence_joins_on_the_middle() {
        assert_eq!(sequence(&pairs(&[(1, 2), (1, 3)]), &pairs(&[(2, 4), (3, 4), (5, 6)])), pairs(&[(1, 4)]));
        assert_eq!(sequence(&pairs(&[(1, 2)]), &pairs(&[(3, 4)])), pairs(&[]));
    }

    #[test]
    fn plus_is_the_smallest_transitive_superset() {
        assert_eq!(plus(&pairs(&[(1, 2), (2, 3)])), pairs(&[(1, 2), (1, 3), (2, 3)]));
        assert_eq!(plus(&pairs(&[(1, 2), (2, 1)])), pairs(&[(1, 1), (1, 2), (2, 1), (2, 2)]));
    }

    #[test]
    fn rows_of_bits_say_the_same() {
        for seed in 0u64..200 {
            let bit = |salt: u64, x: u32, y: u32| {
                let mixed =
                    (seed * 7 + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(u64::from(x * 16 + y) + 1);
                mixed >> 62 == 0
            };
            let all = || (0..12).flat_map(|x| (0..12).map(move |y| (x, y)));
            let left: Pairs = all().filter(|&(x, y)| bit(1, x, y)).collect();
            let right: Pairs = all().filter(|&(x, y)| x < 9 && bit(2, x, y)).collect();
            assert_eq!(sequence(&left, &right), sequence_with_dense(&left, &right));
        }
    }

    #[test]
    fn plus_of_what_has_no_cycle_is_that_of_the_walk() {
        for seed in 0u64..200 {
            let bit = |x: u32, y: u32| {
                let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(u64::from(x * 16 + y) + 1);
                mixed >> 61 == 0
            };
            let all = (0..12).flat_map(|x| (0..12).map(move |y| (x, y)));
            // Downwards too, so that the numbers are no order.
            let relation: Pairs = all.filter(|&(x, y)| bit(x, y) && (x ^ 5) < (y ^ 5)).collect();
            assert!(acyclic(&relation));
            assert_eq!(plus(&relation), plus_of_cyclic(&relation));
        }
    }

    #[test]
    fn acyclic_sees_long_cycles_and_self_loops() {
        assert!(acyclic(&pairs(&[(1, 2), (2, 3), (1, 3)])));
        assert!(!acyclic(&pairs(&[(1, 2), (2, 3), (3, 1)])));
        assert!(!acyclic(&pairs(&[(4, 4)])));
    }

    #[test]
    fn products_and_projections() {
        let left: Events = [1, 2].into_iter().collect();
        let right: Events = [3].into_iter().collect();
        assert_eq!(product(&left, &right), pairs(&[(1, 3), (2, 3)]));
        assert_eq!(domain(&product(&left, &right)), left);
        assert_eq!(range(&product(&left, &right)), right);
        assert_eq!(identity(&left), pairs(&[(1, 1), (2, 2)]));
        assert_eq!(inverse(&pairs(&[(1, 3)])), pairs(&[(3, 1)]));
    }
}
