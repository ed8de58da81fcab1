//! Bit matrices against sets of pairs, at the sizes where words begin and end.

use std::collections::BTreeSet;

use fencepost_axiom::bits::{EventSet, Relation, Shape, Swap, kernel};

type Pairs = BTreeSet<(usize, usize)>;

const SIZES: [usize; 6] = [0, 1, 63, 64, 65, 200];

/// A small generator of its own (xorshift), so that failures repeat.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn pairs(&mut self, n: usize, count: usize) -> Pairs {
        if n == 0 { Pairs::new() } else { (0..count).map(|_| (self.below(n), self.below(n))).collect() }
    }
}

fn relation(n: usize, pairs: &Pairs) -> Relation {
    Relation::from_pairs(Shape::new(n), pairs.iter().copied())
}

fn apply(n: usize, operation: impl Fn(Shape, &mut [u64])) -> Pairs {
    let mut out = Relation::empty(Shape::new(n));
    operation(Shape::new(n), out.bits_mut());
    out.iter().collect()
}

fn closure(pairs: &Pairs) -> Pairs {
    let mut closed = pairs.clone();
    loop {
        let step: Pairs = closed
            .iter()
            .flat_map(|&(a, b)| closed.range((b, 0)..(b + 1, 0)).map(move |&(_, c)| (a, c)))
            .filter(|pair| !closed.contains(pair))
            .collect();
        if step.is_empty() {
            return closed;
        }
        closed.extend(step);
    }
}

#[test]
fn operators_agree_with_sets_of_pairs() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for n in SIZES {
        for density in [n / 2, n, 2 * n] {
            let (a, b) = (random.pairs(n, density), random.pairs(n, density));
            let (x, y) = (relation(n, &a), relation(n, &b));
            let (p, q) = (x.bits(), y.bits());
            assert_eq!(apply(n, |_, out| kernel::union(out, p, q)), a.union(&b).copied().collect());
            assert_eq!(apply(n, |_, out| kernel::intersection(out, p, q)), a.intersection(&b).copied().collect());
            assert_eq!(apply(n, |_, out| kernel::difference(out, p, q)), a.difference(&b).copied().collect());
            let all: Pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).collect();
            assert_eq!(apply(n, |shape, out| kernel::complement(shape, out, p)), all.difference(&a).copied().collect());
            assert_eq!(apply(n, |shape, out| kernel::inverse(shape, out, p)), a.iter().map(|&(i, j)| (j, i)).collect());
            let composed: Pairs =
                a.iter().flat_map(|&(i, j)| b.range((j, 0)..(j + 1, 0)).map(move |&(_, k)| (i, k))).collect();
            assert_eq!(apply(n, |shape, out| kernel::sequence(shape, out, p, q)), composed);
            let (domain, range) = (a.iter().map(|pair| pair.0).collect(), a.iter().map(|pair| pair.1).collect());
            assert_sets(n, p, &domain, &range);
        }
    }
}

fn assert_sets(n: usize, bits: &[u64], domain: &BTreeSet<usize>, range: &BTreeSet<usize>) {
    let shape = Shape::new(n);
    let from = EventSet::from_events(shape, domain.iter().copied());
    let to = EventSet::from_events(shape, range.iter().copied());
    let mut out = vec![0; shape.words()];
    kernel::domain(shape, &mut out, bits);
    assert_eq!(out, from.bits());
    kernel::range(shape, &mut out, bits);
    assert_eq!(out, to.bits());
    assert_eq!(from.iter().collect::<BTreeSet<_>>(), *domain);
    let product: Pairs = domain.iter().flat_map(|&i| range.iter().map(move |&j| (i, j))).collect();
    assert_eq!(apply(n, |shape, out| kernel::product(shape, out, from.bits(), to.bits())), product);
    let identity: Pairs = domain.iter().map(|&i| (i, i)).collect();
    assert_eq!(apply(n, |shape, out| kernel::identity(shape, out, from.bits())), identity);
}

#[test]
fn closure_and_acyclicity_agree_with_the_definition() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for n in SIZES {
        for density in [n / 4, n / 2, n, n + n / 2] {
            let pairs = random.pairs(n, density);
            let closed = closure(&pairs);
            let mut bits = relation(n, &pairs);
            let acyclic = kernel::is_acyclic(bits.shape(), bits.bits(), &mut vec![0; bits.shape().words()]);
            assert_eq!(acyclic, closed.iter().all(|(a, b)| a != b), "{n} events, {density} pairs");
            assert_eq!(kernel::has_reflexive(bits.shape(), bits.bits()), pairs.iter().any(|(a, b)| a == b));
            bits.close();
            assert_eq!(bits.iter().collect::<Pairs>(), closed);
            // Edge by edge gives the same closure.
            let mut grown = Relation::empty(Shape::new(n));
            pairs.iter().for_each(|&(a, b)| grown.add_closed(a, b));
            assert_eq!(grown, bits);
            // So do all edges at once, unless there is a cycle.
            let edges: Vec<(usize, usize)> = pairs.iter().copied().collect();
            let mut together = Relation::empty(Shape::new(n));
            assert_eq!(together.add_all_closed(&edges), acyclic, "{n} events, {density} pairs");
            assert!(!acyclic || together == bits);
        }
        // Forward edges only: no cycle.
        let forward: Pairs = random.pairs(n, 3 * n).into_iter().filter(|(a, b)| a < b).collect();
        let bits = relation(n, &forward);
        assert!(kernel::is_acyclic(bits.shape(), bits.bits(), &mut vec![0; bits.shape().words()]));
        let edges: Vec<(usize, usize)> = forward.iter().copied().collect();
        let mut together = Relation::empty(Shape::new(n));
        assert!(together.add_all_closed(&edges));
        assert_eq!(together.iter().collect::<Pairs>(), closure(&forward));
    }
}

#[test]
fn an_exchange_of_events_keeps_what_it_maps_to_itself() {
    let mut random = Random(0x5eed_1234);
    for n in SIZES.into_iter().filter(|&n| n > 2) {
        for _ in 0..200 {
            let length = random.below(n / 2 + 1);
            let first = random.below(n - 2 * length + 1);
            let second = first + length + random.below(n - 2 * length - first + 1);
            let swap = Swap::new(second..second + length, first..first + length).expect("one length");
            let rename = |(from, to): &(usize, usize)| (swap.event(*from), swap.event(*to));
            let events: BTreeSet<usize> = (0..n).map(|event| swap.event(event)).collect();
            assert_eq!(events.len(), n, "{swap:?}");
            let count = random.below(8);
            let mut pairs = random.pairs(n, count);
            let is_kept = |pairs: &Pairs| pairs.iter().map(rename).collect::<Pairs>() == *pairs;
            assert_eq!(relation(n, &pairs).is_kept_by(&swap), is_kept(&pairs), "{swap:?} {pairs:?}");
            let images: Pairs = pairs.iter().map(rename).collect();
            pairs.extend(images);
            assert!(relation(n, &pairs).is_kept_by(&swap), "{swap:?} {pairs:?}");
        }
    }
    assert!(Swap::new(0..1, 1..3).is_none());
}
