//! Sets and relations over the events of one candidate, as bit matrices: the hot loop of the enumeration engine.
//!
//! Events are numbered 0..n within the candidate. A set is a row of `words` machine words; a relation is n such rows,
//! row `a` holding the successors of `a`. Bits past n are always zero, so equality and emptiness are word comparisons.
//! Litmus tests mostly have at most 64 events: one word per row is a fast path in the operators where it pays
//! (composition, closure, acyclicity), never an assumption.
//!
//! The operators are functions on slices ([`kernel`]) that write into a buffer the caller owns, so that the evaluator
//! can keep every node of a model in one allocation. [`EventSet`] and [`Relation`] own their buffers.

mod rows;

use std::ops::Range;

/// From this many edges on, a relation is closed once for all of them.
const MANY_EDGES: usize = 64;

/// The shape of the rows of a candidate.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    events: usize,
    words: usize,
}

impl Shape {
    pub fn new(events: usize) -> Shape {
        Shape { events, words: events.div_ceil(64) }
    }

    /// How many events there are.
    pub fn events(self) -> usize {
        self.events
    }

    /// Words of one row, which is also the size of a set.
    pub fn words(self) -> usize {
        self.words
    }

    /// Words of a relation.
    pub fn matrix(self) -> usize {
        self.events * self.words
    }

    /// The mask of word `word` of a row: ones for the events that exist.
    fn mask(self, word: usize) -> u64 {
        let rest = self.events - (word * 64).min(self.events);
        if rest >= 64 { u64::MAX } else { (1 << rest) - 1 }
    }
}

/// The set bits of a row, ascending.
pub fn ones(row: &[u64]) -> impl Iterator<Item = usize> + '_ {
    row.iter().enumerate().flat_map(|(index, &word)| ones_of(index * 64, word))
}

/// The set bits of a word whose first stands for `base`.
pub fn ones_of(base: usize, word: u64) -> impl Iterator<Item = usize> {
    let mut rest = word;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let bit = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        Some(base + bit)
    })
}

/// Two runs of events that are exchanged, one by one.
#[derive(Copy, Clone, Debug)]
pub struct Swap {
    /// The earlier one, the later one, and the events of each.
    first: usize,
    second: usize,
    length: usize,
}

impl Swap {
    /// None unless both are of one length. They do not overlap, or are the same.
    pub fn new(a: Range<usize>, b: Range<usize>) -> Option<Swap> {
        let (first, second) = (a.start.min(b.start), a.start.max(b.start));
        (a.len() == b.len()).then_some(Swap { first, second, length: a.len() })
    }

    pub fn event(&self, event: usize) -> usize {
        let apart = self.second - self.first;
        if event.wrapping_sub(self.first) < self.length {
            event + apart
        } else if event.wrapping_sub(self.second) < self.length {
            event - apart
        } else {
            event
        }
    }

    /// The events of a row of one word.
    fn word(&self, word: u64) -> u64 {
        if self.length == 0 {
            return word;
        }
        let run = 1u64.checked_shl(self.length as u32).map_or(u64::MAX, |after| after - 1);
        let (low, high) = (run << self.first, run << self.second);
        let apart = self.second - self.first;
        word & !(low | high) | (word & low) << apart | (word & high) >> apart
    }
}

/// The operators, on slices. `out` never overlaps an operand. Buffers have the sizes `shape` says.
pub mod kernel {
    use super::{Shape, Swap, ones, rows};

    /// So many rows of a long operation are computed between two questions whether to go on.
    const INTERVAL: usize = 64;

    pub fn has(row: &[u64], event: usize) -> bool {
        row[event / 64] >> (event % 64) & 1 != 0
    }

    pub fn insert(row: &mut [u64], event: usize) {
        row[event / 64] |= 1 << (event % 64);
    }

    pub fn row(shape: Shape, relation: &[u64], event: usize) -> &[u64] {
        &relation[event * shape.words..(event + 1) * shape.words]
    }

    pub fn contains(shape: Shape, relation: &[u64], from: usize, to: usize) -> bool {
        relation[from * shape.words + to / 64] >> (to % 64) & 1 != 0
    }

    pub fn relate(shape: Shape, relation: &mut [u64], from: usize, to: usize) {
        relation[from * shape.words + to / 64] |= 1 << (to % 64);
    }

    pub fn unrelate(shape: Shape, relation: &mut [u64], from: usize, to: usize) {
        relation[from * shape.words + to / 64] &= !(1 << (to % 64));
    }

    pub fn row_mut(shape: Shape, relation: &mut [u64], event: usize) -> &mut [u64] {
        &mut relation[event * shape.words..(event + 1) * shape.words]
    }

    pub fn insert_all(row: &mut [u64], events: std::ops::Range<usize>) {
        if events.is_empty() {
            return;
        }
        let (first, last) = (events.start / 64, (events.end - 1) / 64);
        let from = u64::MAX << (events.start % 64);
        let to = u64::MAX >> (63 - (events.end - 1) % 64);
        if first == last {
            row[first] |= from & to;
            return;
        }
        row[first] |= from;
        row[first + 1..last].fill(u64::MAX);
        row[last] |= to;
    }

    pub fn union(out: &mut [u64], a: &[u64], b: &[u64]) {
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            *out = a | b;
        }
    }

    /// Adds what is in `a`.
    pub fn add(out: &mut [u64], a: &[u64]) {
        for (out, a) in out.iter_mut().zip(a) {
            *out |= a;
        }
    }

    pub fn intersection(out: &mut [u64], a: &[u64], b: &[u64]) {
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            *out = a & b;
        }
    }

    pub fn difference(out: &mut [u64], a: &[u64], b: &[u64]) {
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            *out = a & !b;
        }
    }

    /// Overwrites a value word by word; whether that changed it.
    pub fn rewrite(out: &mut [u64], a: &[u64], b: &[u64], word: impl Fn(u64, u64) -> u64) -> bool {
        let mut differences = 0;
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            let new = word(a, b);
            differences |= *out ^ new;
            *out = new;
        }
        differences != 0
    }

    /// Of rows of one word: the union of those that the bits of `which` say.
    pub fn union_of(rows: &[u64], which: u64) -> u64 {
        let (mut rest, mut union) = (which, 0);
        while rest != 0 {
            union |= rows[rest.trailing_zeros() as usize];
            rest &= rest - 1;
        }
        union
    }

    /// Of rows of one word: those that share a bit with `which`.
    pub fn meeting(rows: &[u64], which: u64) -> u64 {
        rows.iter().enumerate().fold(0, |meeting, (at, row)| meeting | u64::from(row & which != 0) << at)
    }

    /// Of rows of one word: what can be reached from an event in one step or more.
    pub fn reached(rows: &[u64], from: usize) -> u64 {
        let (mut seen, mut rest) = (rows[from], rows[from]);
        while rest != 0 {
            let new = rows[rest.trailing_zeros() as usize] & !seen;
            rest = rest & (rest - 1) | new;
            seen |= new;
        }
        seen
    }

    /// Of a set or of a relation: every row is complemented within the events of the candidate.
    pub fn complement(shape: Shape, out: &mut [u64], a: &[u64]) {
        if shape.words == 0 {
            return;
        }
        for (out, a) in out.chunks_exact_mut(shape.words).zip(a.chunks_exact(shape.words)) {
            for (index, (out, a)) in out.iter_mut().zip(a).enumerate() {
                *out = !a & shape.mask(index);
            }
        }
    }

    pub fn universe(shape: Shape, out: &mut [u64]) {
        for (index, word) in out.iter_mut().enumerate() {
            *word = shape.mask(index);
        }
    }

    /// `a ; b`: row x of the result is the union of the rows of `b` at x's successors in `a`.
    pub fn sequence(shape: Shape, out: &mut [u64], a: &[u64], b: &[u64]) {
        sequence_while(shape, out, a, b, &mut || true);
    }

    /// The same, unless `go_on` says to leave it unfinished, see [`close_while`].
    pub fn sequence_while(shape: Shape, out: &mut [u64], a: &[u64], b: &[u64], go_on: &mut dyn FnMut() -> bool) {
        if shape.words == 1 {
            for (out, &row) in out.iter_mut().zip(a) {
                *out = union_of(b, row);
            }
            return;
        }
        match shape.words {
            2 => return rows::sequence::<2>(out, a, b),
            3 => return rows::sequence::<3>(out, a, b),
            4 => return rows::sequence::<4>(out, a, b),
            5 => return rows::sequence::<5>(out, a, b),
            6 => return rows::sequence::<6>(out, a, b),
            _ => out.fill(0),
        }
        // Most relations have few rows, and neighbours often the same.
        let mut leads_on = vec![0; shape.words];
        for middle in (0..shape.events).filter(|middle| !is_empty(row(shape, b, *middle))) {
            insert(&mut leads_on, middle);
        }
        for from in 0..shape.events {
            if from % INTERVAL == INTERVAL - 1 && !go_on() {
                return;
            }
            if from > 0 && row(shape, a, from) == row(shape, a, from - 1) {
                out.copy_within((from - 1) * shape.words..from * shape.words, from * shape.words);
                continue;
            }
            let target = &mut out[from * shape.words..(from + 1) * shape.words];
            for (at, (word, leads_on)) in row(shape, a, from).iter().zip(&leads_on).enumerate() {
                let mut rest = word & leads_on;
                while rest != 0 {
                    let middle = at * 64 + rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    add(target, row(shape, b, middle));
                }
            }
        }
    }

    pub fn inverse(shape: Shape, out: &mut [u64], a: &[u64]) {
        if shape.words == 1 {
            out.fill(0);
            for (from, &row) in a.iter().enumerate() {
                let mut rest = row;
                while rest != 0 {
                    out[rest.trailing_zeros() as usize] |= 1 << from;
                    rest &= rest - 1;
                }
            }
            return;
        }
        rows::inverse(shape.words.max(1), out, a);
    }

    /// Adds row `source` to row `target` of the same matrix.
    fn or_row(relation: &mut [u64], words: usize, target: usize, source: usize) {
        let (first, second) = relation.split_at_mut(target.max(source));
        let (target, source) = if target < source {
            (&mut first[target..target + words], &second[..words])
        } else {
            (&mut second[..words], &first[source..source + words])
        };
        for (target, source) in target.iter_mut().zip(source) {
            *target |= source;
        }
    }

    /// Transitive closure in place (Warshall, on rows).
    pub fn close(shape: Shape, relation: &mut [u64]) {
        close_while(shape, relation, &mut || true);
    }

    /// The same, unless `go_on` says to leave it unfinished. It is asked now and then, and never for short rows.
    pub fn close_while(shape: Shape, relation: &mut [u64], go_on: &mut dyn FnMut() -> bool) {
        if shape.words == 1 {
            for middle in 0..relation.len() {
                let through = relation[middle];
                if through == 0 {
                    continue;
                }
                for row in relation.iter_mut() {
                    // Without a branch: adds the row iff the bit is set.
                    *row |= through & (*row >> middle & 1).wrapping_neg();
                }
            }
            return;
        }
        match shape.words {
            2 => return rows::close::<2>(relation),
            3 => return rows::close::<3>(relation),
            4 => return rows::close::<4>(relation),
            5 => return rows::close::<5>(relation),
            6 => return rows::close::<6>(relation),
            _ => {}
        }
        let mut through = vec![0; shape.words];
        for middle in 0..shape.events {
            if middle % INTERVAL == INTERVAL - 1 && !go_on() {
                return;
            }
            through.copy_from_slice(row(shape, relation, middle));
            if is_empty(&through) {
                continue;
            }
            for row in relation.chunks_exact_mut(shape.words) {
                if row[middle / 64] >> (middle % 64) & 1 != 0 {
                    add(row, &through);
                }
            }
        }
    }

    /// Adds the edge to a relation that is transitively closed, and closes it again. Events that reach `from` now
    /// reach all that `to` reaches.
    pub fn add_closed(shape: Shape, relation: &mut [u64], from: usize, to: usize) {
        if contains(shape, relation, from, to) {
            return;
        }
        if shape.words == 1 {
            let reached = relation[to] | 1 << to;
            for (index, row) in relation.iter_mut().enumerate() {
                if index == from || *row >> from & 1 != 0 {
                    *row |= reached;
                }
            }
            return;
        }
        for source in 0..shape.events {
            if source == from || contains(shape, relation, source, from) {
                relate(shape, relation, source, to);
                if source != to {
                    or_row(relation, shape.words, source * shape.words, to * shape.words);
                }
            }
        }
    }

    pub fn add_identity(shape: Shape, relation: &mut [u64]) {
        for event in 0..shape.events {
            relate(shape, relation, event, event);
        }
    }

    /// `[set]`.
    pub fn identity(shape: Shape, out: &mut [u64], set: &[u64]) {
        out.fill(0);
        for event in ones(set) {
            relate(shape, out, event, event);
        }
    }

    /// `a * b`.
    pub fn product(shape: Shape, out: &mut [u64], a: &[u64], b: &[u64]) {
        out.fill(0);
        for event in ones(a) {
            out[event * shape.words..(event + 1) * shape.words].copy_from_slice(b);
        }
    }

    pub fn domain(shape: Shape, out: &mut [u64], relation: &[u64]) {
        out.fill(0);
        for event in 0..shape.events {
            if row(shape, relation, event).iter().any(|&word| word != 0) {
                insert(out, event);
            }
        }
    }

    pub fn range(shape: Shape, out: &mut [u64], relation: &[u64]) {
        out.fill(0);
        for event in 0..shape.events {
            for (out, word) in out.iter_mut().zip(row(shape, relation, event)) {
                *out |= word;
            }
        }
    }

    /// Whether the relation stays as it is when events are exchanged.
    pub fn is_kept_by(shape: Shape, relation: &[u64], swap: &Swap) -> bool {
        if shape.words == 1 {
            let is_kept = |(from, row): (usize, &u64)| relation[swap.event(from)] == swap.word(*row);
            return relation.iter().enumerate().all(is_kept);
        }
        let rename = |event: usize| swap.event(event);
        (0..shape.events()).all(|from| {
            let renamed = row(shape, relation, rename(from));
            ones(row(shape, relation, from)).all(|to| has(renamed, rename(to)))
        })
    }

    pub fn is_empty(bits: &[u64]) -> bool {
        bits.iter().all(|&word| word == 0)
    }

    pub fn has_reflexive(shape: Shape, relation: &[u64]) -> bool {
        (0..shape.events).any(|event| contains(shape, relation, event, event))
    }

    /// Depth first: there is a cycle iff an event has a successor among those that led to it. A row is looked at once for
    /// that, and once for each event that is found from it, so that the time is that of reading the matrix twice. `left`,
    /// the events not yet seen, is scratch of one row.
    pub fn is_acyclic(shape: Shape, relation: &[u64], left: &mut [u64]) -> bool {
        if shape.words == 1 {
            return is_acyclic_narrow(shape, relation);
        }
        universe(shape, left);
        let mut path: Vec<usize> = Vec::new();
        let mut on_path = vec![0; shape.words];
        let meet = |a: &[u64], b: &[u64]| {
            let at = a.iter().zip(b).position(|(a, b)| a & b != 0)?;
            Some(at * 64 + (a[at] & b[at]).trailing_zeros() as usize)
        };
        for root in 0..shape.events {
            let mut next = has(left, root).then_some(root);
            loop {
                if let Some(event) = next {
                    left[event / 64] &= !(1 << (event % 64));
                    insert(&mut on_path, event);
                    path.push(event);
                    if meet(row(shape, relation, event), &on_path).is_some() {
                        return false;
                    }
                }
                let Some(&event) = path.last() else { break };
                next = meet(row(shape, relation, event), left);
                if next.is_none() {
                    path.pop();
                    on_path[event / 64] &= !(1 << (event % 64));
                }
            }
        }
        true
    }

    fn is_acyclic_narrow(shape: Shape, relation: &[u64]) -> bool {
        let mut left = shape.mask(0);
        loop {
            let before = left;
            let mut rest = left;
            while rest != 0 {
                let event = 63 - rest.leading_zeros() as usize;
                rest ^= 1 << event;
                if relation[event] & left == 0 {
                    left ^= 1 << event;
                }
            }
            if left == 0 {
                return true;
            }
            if left == before {
                return false;
            }
        }
    }
}

/// A set of events of one candidate.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EventSet {
    shape: Shape,
    bits: Vec<u64>,
}

impl EventSet {
    pub fn empty(shape: Shape) -> EventSet {
        EventSet { shape, bits: vec![0; shape.words()] }
    }

    pub fn from_events(shape: Shape, events: impl IntoIterator<Item = usize>) -> EventSet {
        let mut set = EventSet::empty(shape);
        events.into_iter().for_each(|event| set.insert(event));
        set
    }

    /// Empties it and gives it a new shape, keeping the allocation.
    pub fn reset(&mut self, shape: Shape) {
        self.shape = shape;
        self.bits.clear();
        self.bits.resize(shape.words(), 0);
    }

    pub fn insert(&mut self, event: usize) {
        kernel::insert(&mut self.bits, event);
    }

    pub fn contains(&self, event: usize) -> bool {
        kernel::has(&self.bits, event)
    }

    pub fn is_empty(&self) -> bool {
        kernel::is_empty(&self.bits)
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        ones(&self.bits)
    }

    pub fn bits(&self) -> &[u64] {
        &self.bits
    }
}

/// A relation over the events of one candidate.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Relation {
    shape: Shape,
    bits: Vec<u64>,
}

impl Relation {
    pub fn empty(shape: Shape) -> Relation {
        Relation { shape, bits: vec![0; shape.matrix()] }
    }

    pub fn from_pairs(shape: Shape, pairs: impl IntoIterator<Item = (usize, usize)>) -> Relation {
        let mut relation = Relation::empty(shape);
        pairs.into_iter().for_each(|(from, to)| relation.insert(from, to));
        relation
    }

    /// Empties it and gives it a new shape, keeping the allocation.
    pub fn reset(&mut self, shape: Shape) {
        self.shape = shape;
        self.bits.clear();
        self.bits.resize(shape.matrix(), 0);
    }

    /// Becomes a copy of `other`, keeping the allocation.
    pub fn assign(&mut self, other: &Relation) {
        self.shape = other.shape;
        self.bits.clone_from(&other.bits);
    }

    pub fn shape(&self) -> Shape {
        self.shape
    }

    pub fn insert(&mut self, from: usize, to: usize) {
        kernel::relate(self.shape, &mut self.bits, from, to);
    }

    pub fn remove(&mut self, from: usize, to: usize) {
        self.bits[from * self.shape.words() + to / 64] &= !(1 << (to % 64));
    }

    pub fn contains(&self, from: usize, to: usize) -> bool {
        kernel::contains(self.shape, &self.bits, from, to)
    }

    /// Whether it stays as it is when events are exchanged.
    pub fn is_kept_by(&self, swap: &Swap) -> bool {
        kernel::is_kept_by(self.shape, &self.bits, swap)
    }

    pub fn converse(&self) -> Relation {
        let mut converse = Relation::empty(self.shape);
        kernel::inverse(self.shape, &mut converse.bits, &self.bits);
        converse
    }

    pub fn has_successor(&self, from: usize) -> bool {
        !kernel::is_empty(self.successors(from))
    }

    /// The row of an event.
    pub fn successors(&self, from: usize) -> &[u64] {
        kernel::row(self.shape, &self.bits, from)
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.shape.events()).flat_map(|from| ones(self.successors(from)).map(move |to| (from, to)))
    }

    /// Every pair, as [`Relation::iter`] has them: a loop where the iterator's own state would cost more than the pairs.
    pub fn for_each(&self, mut pair: impl FnMut(usize, usize)) {
        for (at, &word) in self.bits.iter().enumerate() {
            let mut left = word;
            while left != 0 {
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                pair(at / self.shape.words(), at % self.shape.words() * 64 + bit);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        kernel::is_empty(&self.bits)
    }

    /// Transitive closure, in place.
    pub fn close(&mut self) {
        kernel::close(self.shape, &mut self.bits);
    }

    /// Adds an edge to a transitively closed relation and closes it again.
    pub fn add_closed(&mut self, from: usize, to: usize) {
        kernel::add_closed(self.shape, &mut self.bits, from, to);
    }

    /// Adds edges to a transitively closed relation without cycles and closes it again; whether it still has none. Where
    /// the edges are many, once for all of them: that costs as much as some edges one by one.
    pub fn add_all_closed(&mut self, edges: &[(usize, usize)]) -> bool {
        if edges.len() < MANY_EDGES {
            return edges.iter().all(|&(from, to)| {
                let fits = from != to && !self.contains(to, from);
                if fits {
                    self.add_closed(from, to);
                }
                fits
            });
        }
        edges.iter().for_each(|&(from, to)| self.insert(from, to));
        self.close();
        !kernel::has_reflexive(self.shape, &self.bits)
    }

    pub fn bits(&self) -> &[u64] {
        &self.bits
    }

    pub fn bits_mut(&mut self) -> &mut [u64] {
        &mut self.bits
    }
}
