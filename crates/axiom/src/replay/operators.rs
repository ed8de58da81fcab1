//! The operators of cat on explicit sets, each as its definition reads.

use std::collections::{BTreeMap, BTreeSet};

pub(super) type Events = BTreeSet<u32>;
pub(super) type Pairs = BTreeSet<(u32, u32)>;

/// `a ; b`: x to z iff some y has x a y and y b z.
pub(super) fn sequence(left: &Pairs, right: &Pairs) -> Pairs {
    let next = successors(right);
    let mut result = Pairs::new();
    for &(x, y) in left {
        result.extend(next.get(&y).into_iter().flatten().map(|&z| (x, z)));
    }
    result
}

fn successors(relation: &Pairs) -> BTreeMap<u32, Vec<u32>> {
    let mut next: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for &(x, y) in relation {
        next.entry(x).or_default().push(y);
    }
    next
}

/// `r^-1`.
pub(super) fn inverse(relation: &Pairs) -> Pairs {
    relation.iter().map(|&(x, y)| (y, x)).collect()
}

/// `r+`: x to y iff a path of at least one step leads from x to y.
pub(super) fn plus(relation: &Pairs) -> Pairs {
    let next = successors(relation);
    let mut result = Pairs::new();
    for &start in next.keys() {
        let mut reached = Events::new();
        let mut todo = vec![start];
        while let Some(at) = todo.pop() {
            todo.extend(next.get(&at).into_iter().flatten().filter(|&&to| reached.insert(to)));
        }
        result.extend(reached.into_iter().map(|end| (start, end)));
    }
    result
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

/// No path of at least one step leads back to where it started.
pub(super) fn acyclic(relation: &Pairs) -> bool {
    irreflexive(&plus(relation))
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
    fn acyclic_sees_long_cycles_and_self_loops() {
        assert!(acyclic(&pairs(&[(1, 2), (2, 3), (1, 3)])));
        assert!(!acyclic(&pairs(&[(1, 2), (2, 3), (3, 1)])));
        assert!(!acyclic(&pairs(&[(4, 4)])));
    }

    #[test]
    fn products_and_projections() {
        let left: Events = [1, 2].into();
        let right: Events = [3].into();
        assert_eq!(product(&left, &right), pairs(&[(1, 3), (2, 3)]));
        assert_eq!(domain(&product(&left, &right)), left);
        assert_eq!(range(&product(&left, &right)), right);
        assert_eq!(identity(&left), pairs(&[(1, 1), (2, 2)]));
        assert_eq!(inverse(&pairs(&[(1, 3)])), pairs(&[(3, 1)]));
    }
}
