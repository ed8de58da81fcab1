//! The operators of cat on explicit sets, each as its definition reads.

pub(super) use super::blocks::{Events, Pairs};
use super::blocks::{Made, Row};

/// `a ; b`: x to z iff some y has x a y and y b z.
pub(super) fn sequence(left: &Pairs, right: &Pairs) -> Pairs {
    let (left_rows, right_rows) = (left.rows(), right.rows());
    let (mut row, mut result) = (Row::default(), Made::default());
    for x in domain(left).iter() {
        left_rows.of(x).for_each(|y| row.add_row(&right_rows, y));
        result.row(x, &row.finish());
    }
    result.done()
}

/// `r^-1`.
pub(super) fn inverse(relation: &Pairs) -> Pairs {
    relation.inverse()
}

/// `r+`: x to y iff a path of at least one step leads from x to y.
pub(super) fn plus(relation: &Pairs) -> Pairs {
    let order = sources_first(relation);
    if order.len() < relation.size() {
        return plus_of_cyclic(relation);
    }
    let rows = relation.rows();
    // From the last: where the next event leads to is known, and what it leads to need not be walked again.
    let mut reached = vec![Events::default(); order.len()];
    let mut row = Row::default();
    for &start in order.iter().rev() {
        for next in rows.of(start) {
            if !row.has(next) {
                row.add(next);
                row.add_done(&reached[next as usize]);
            }
        }
        reached[start as usize] = row.finish();
    }
    let mut result = Made::default();
    (0..).zip(&reached).for_each(|(start, ends)| result.row(start, ends));
    result.done()
}

fn plus_of_cyclic(relation: &Pairs) -> Pairs {
    let rows = relation.rows();
    let (mut row, mut result) = (Row::default(), Made::default());
    for start in domain(relation).iter() {
        let mut todo = vec![start];
        while let Some(at) = todo.pop() {
            for next in rows.of(at) {
                if !row.has(next) {
                    row.add(next);
                    todo.push(next);
                }
            }
        }
        result.row(start, &row.finish());
    }
    result.done()
}

/// `[S]`.
pub(super) fn identity(set: &Events) -> Pairs {
    set.iter().map(|event| (event, event)).collect()
}

/// `S * T`.
pub(super) fn product(left: &Events, right: &Events) -> Pairs {
    Pairs::product(left, right)
}

pub(super) fn domain(relation: &Pairs) -> Events {
    relation.domain()
}

pub(super) fn range(relation: &Pairs) -> Events {
    let mut row = Row::default();
    relation.iter().for_each(|(_, y)| row.add(y));
    row.finish()
}

pub(super) fn irreflexive(relation: &Pairs) -> bool {
    relation.iter().all(|(x, y)| x != y)
}

/// No path of at least one step leads back to where it started: a pair whose source nothing leads to is on no cycle,
/// and without such pairs what is left, if anything, has one.
pub(super) fn acyclic(relation: &Pairs) -> bool {
    sources_first(relation).len() == relation.size()
}

/// Events up to the largest, each after all that lead to it; those on a cycle, or behind one, are left out.
fn sources_first(relation: &Pairs) -> Vec<u32> {
    let mut leading_to = vec![0usize; relation.size()];
    relation.iter().for_each(|(_, y)| leading_to[y as usize] += 1);
    let mut order: Vec<u32> = (0..).zip(&leading_to).filter(|(_, count)| **count == 0).map(|(x, _)| x).collect();
    let rows = relation.rows();
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
    fn sequence_is_as_its_definition_reads() {
        for seed in 0u64..200 {
            let bit = |salt: u64, x: u32, y: u32| {
                let mixed =
                    (seed * 7 + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(u64::from(x * 16 + y) + 1);
                mixed >> 62 == 0
            };
            // Numbers far apart, so that a row has several words.
            let all = || (0..12).flat_map(|x| (0..12).map(move |y| (x, y)));
            let chosen = |salt| -> Vec<(u32, u32)> {
                all().filter(|&(x, y)| bit(salt, x, y)).map(|(x, y)| (x * 13, y * 13)).collect()
            };
            let (left, right) = (chosen(1), chosen(2));
            let joined = left
                .iter()
                .flat_map(|&(x, y)| right.iter().filter(move |(from, _)| *from == y).map(move |&(_, z)| (x, z)));
            assert_eq!(sequence(&pairs(&left), &pairs(&right)), joined.collect());
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
