//! Composition, closure and converse of matrices whose rows are a few words: with the number of words known to the compiler a
//! row is kept in registers. Candidates of whole kernels have 65 to 384 events, and nearly all of their time is spent here.

/// `a ; b`.
pub(super) fn sequence<const WORDS: usize>(out: &mut [u64], a: &[u64], b: &[u64]) {
    let (b, _) = b.as_chunks::<WORDS>();
    for (out, row) in out.as_chunks_mut::<WORDS>().0.iter_mut().zip(a.as_chunks::<WORDS>().0) {
        let mut union = [0; WORDS];
        for (word, &bits) in row.iter().enumerate() {
            let mut rest = bits;
            while rest != 0 {
                let source = &b[word * 64 + rest.trailing_zeros() as usize];
                union.iter_mut().zip(source).for_each(|(union, source)| *union |= source);
                rest &= rest - 1;
            }
        }
        *out = union;
    }
}

/// Warshall, on rows.
pub(super) fn close<const WORDS: usize>(relation: &mut [u64]) {
    let (rows, _) = relation.as_chunks_mut::<WORDS>();
    for middle in 0..rows.len() {
        let through = rows[middle];
        if through.iter().all(|word| *word == 0) {
            continue;
        }
        for row in rows.iter_mut().filter(|row| row[middle / 64] >> (middle % 64) & 1 != 0) {
            row.iter_mut().zip(&through).for_each(|(row, through)| *row |= through);
        }
    }
}

/// Blocks with more pairs than this are turned as a whole.
const DENSE: u32 = 96;

/// The converse, block by block of 64 events.
pub(super) fn inverse(words: usize, out: &mut [u64], a: &[u64]) {
    let events = a.len() / words;
    out.fill(0);
    for (across, rows) in a.chunks(64 * words).enumerate() {
        for down in 0..words {
            let column = || rows.iter().skip(down).step_by(words);
            let pairs: u32 = column().map(|row| row.count_ones()).sum();
            if pairs <= DENSE {
                column()
                    .enumerate()
                    .for_each(|(at, row)| turn(*row, |to| out[(down * 64 + to) * words + across] |= 1 << at));
                continue;
            }
            let mut block = [0; 64];
            block.iter_mut().zip(column()).for_each(|(to, from)| *to = *from);
            transpose(&mut block);
            let width = (events - down * 64).min(64);
            for (at, row) in block[..width].iter().enumerate() {
                out[(down * 64 + at) * words + across] = *row;
            }
        }
    }
}

/// Each event of a row.
fn turn(row: u64, mut each: impl FnMut(usize)) {
    let mut rest = row;
    while rest != 0 {
        each(rest.trailing_zeros() as usize);
        rest &= rest - 1;
    }
}

/// Halves of the block are exchanged across the diagonal, then halves of those, and so on (Hacker's Delight 7-3).
fn transpose(block: &mut [u64; 64]) {
    let mut distance = 32;
    let mut mask: u64 = 0x0000_0000_ffff_ffff;
    while distance != 0 {
        let mut at = 0;
        while at < 64 {
            let moved = (block[at] >> distance ^ block[at + distance]) & mask;
            block[at] ^= moved << distance;
            block[at + distance] ^= moved;
            at = (at + distance + 1) & !distance;
        }
        distance >>= 1;
        mask ^= mask << distance;
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel;
    use super::super::{Relation, Shape, ones};
    use super::*;

    /// Of two words per row to seven: one more than these functions are for.
    fn relations(density: u64) -> Vec<(Shape, Relation)> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64 ^ density;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let sizes = [65, 96, 127, 128, 129, 190, 192, 193, 250, 256, 257, 300, 321, 385];
        let one = |events: usize| {
            let shape = Shape::new(events);
            let pairs = (0..events).flat_map(|from| (0..events).map(move |to| (from, to)));
            (shape, Relation::from_pairs(shape, pairs.filter(|_| next() % 1000 < density)))
        };
        sizes.map(one).into()
    }

    /// Pair by pair, from the definition.
    #[test]
    fn composition_and_converse_are_what_they_are() {
        for density in [1, 20, 300, 990] {
            let (some, others) = (relations(density), relations(density + 1));
            for ((shape, a), (_, b)) in some.iter().zip(&others) {
                let (mut composed, mut converse) = (vec![7; shape.matrix()], vec![7; shape.matrix()]);
                kernel::sequence(*shape, &mut composed, a.bits(), b.bits());
                kernel::inverse(*shape, &mut converse, a.bits());
                for from in 0..shape.events() {
                    for to in 0..shape.events() {
                        let over = (0..shape.events()).any(|over| a.contains(from, over) && b.contains(over, to));
                        assert_eq!(kernel::contains(*shape, &composed, from, to), over, "{shape:?} {from} {to}");
                        assert_eq!(kernel::contains(*shape, &converse, to, from), a.contains(from, to), "{shape:?}");
                    }
                }
                let past =
                    |bits: &[u64]| bits.chunks(shape.words()).any(|row| ones(row).any(|at| at >= shape.events()));
                assert!(!past(&composed) && !past(&converse), "bits past the last event: {shape:?}");
            }
        }
    }

    #[test]
    fn a_closure_is_the_smallest_transitive_relation_around() {
        for density in [1, 8, 40] {
            for (shape, relation) in relations(density) {
                let mut closed = relation.bits().to_vec();
                kernel::close(shape, &mut closed);
                let mut squared = vec![0; shape.matrix()];
                let mut grown = relation.bits().to_vec();
                loop {
                    kernel::sequence(shape, &mut squared, &grown, &grown);
                    let before = grown.clone();
                    kernel::add(&mut grown, &squared);
                    if grown == before {
                        break;
                    }
                }
                assert_eq!(closed, grown, "{shape:?}");
            }
        }
    }

    #[test]
    fn a_block_is_turned_as_its_pairs_are() {
        for density in [5, 500] {
            for (_, relation) in relations(density) {
                let (mut block, mut plain) = ([0; 64], [0u64; 64]);
                block.iter_mut().zip(relation.bits()).for_each(|(to, from)| *to = *from);
                block.iter().enumerate().for_each(|(from, row)| turn(*row, |to| plain[to] |= 1 << from));
                transpose(&mut block);
                assert_eq!(block, plain);
            }
        }
    }
}
