//! One of many drawings that differ in the names of their nodes alone, and by how many renamings a drawing is its own image.
//!
//! A drawing has nodes of several kinds with marks, and named arrows between nodes. A renaming permutes the nodes of each kind.
//! The nodes are sorted by what can be said of them without a name: their marks, the arrows at them, and again by what can be
//! said of the nodes at the other end, until nothing changes (colour refinement). Of nodes that are still alike one is set
//! apart, each in turn, and so on; the smallest drawing of all is the one that is kept, and it comes up once for each renaming
//! that leaves the drawing as it is (the leaves of that tree that give the same drawing are the images of one under exactly those).
//! Of nodes that such a renaming was found to exchange, one is tried and counts for all: the trees below them are the same.

use fencepost_syntax::sorted::SharedSort as _;

/// A name of a mark or an arrow; only the order of names matters.
pub(super) type Name = (u32, u32, i128);

#[derive(Clone, Debug, Default)]
pub(super) struct Drawing {
    /// By node.
    pub(super) kinds: Vec<usize>,
    pub(super) marks: Vec<Vec<Name>>,
    pub(super) arrows: Vec<(usize, Name, usize)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Canonical {
    /// By node, its place: places of a kind are next to each other, by kind.
    pub(super) place: Vec<usize>,
    /// How many renamings leave the drawing as it is.
    pub(super) same: u64,
}

/// More ways to set nodes apart than this are not tried.
const MOST_LEAVES: usize = 5_000;

impl Drawing {
    pub(super) fn new(kinds: Vec<usize>) -> Drawing {
        let marks = vec![Vec::new(); kinds.len()];
        Drawing { kinds, marks, arrows: Vec::new() }
    }

    /// None where it takes too long, or a number is too large.
    pub(super) fn canonical(mut self) -> Option<Canonical> {
        self.marks.iter_mut().for_each(|marks| marks.shared_sort());
        let colours = self.refined(by_rank((0..self.kinds.len()).map(|node| (self.kinds[node], &self.marks[node]))));
        let found = self.search(&colours, &mut 0)?;
        Some(Canonical { place: found.place, same: found.times })
    }

    /// The smallest drawing with these colours.
    fn search(&self, colours: &[usize], leaves: &mut usize) -> Option<Found> {
        let Some(colour) = first_shared(colours) else {
            *leaves += 1;
            let found = Found { lines: self.drawn(colours), place: colours.to_vec(), times: 1 };
            return (*leaves <= MOST_LEAVES).then_some(found);
        };
        let mut left: Vec<usize> = (0..colours.len()).filter(|node| colours[*node] == colour).collect();
        let mut smallest: Option<Found> = None;
        while let Some(&node) = left.first() {
            let before = left.len();
            left.retain(|other| *other != node && !self.exchanges(colours, node, *other));
            let mut found = self.search(&self.refined(apart(colours, node)), leaves)?;
            found.times = found.times.checked_mul((before - left.len()) as u64)?;
            match &mut smallest {
                Some(known) if known.lines == found.lines => known.times = known.times.checked_add(found.times)?,
                Some(known) if known.lines < found.lines => {}
                _ => smallest = Some(found),
            }
        }
        smallest
    }

    /// Splits colours by the colours at the other ends of arrows, until that splits none. A colour is the number of nodes with
    /// a smaller one.
    fn refined(&self, mut colours: Vec<usize>) -> Vec<usize> {
        loop {
            let mut seen: Vec<(usize, Vec<End>)> = colours.iter().map(|colour| (*colour, Vec::new())).collect();
            for &(from, name, to) in &self.arrows {
                seen[from].1.push((false, name, colours[to]));
                seen[to].1.push((true, name, colours[from]));
            }
            seen.iter_mut().for_each(|(_, ends)| ends.shared_sort());
            let finer = by_rank(seen.iter());
            if finer == colours {
                return colours;
            }
            colours = finer;
        }
    }

    /// Whether exchanging two nodes, alone or with all that hangs on them, is a renaming that leaves drawing and colours as they
    /// are.
    fn exchanges(&self, colours: &[usize], a: usize, b: usize) -> bool {
        let mut alone: Vec<usize> = (0..colours.len()).collect();
        alone.swap(a, b);
        self.is_kept_by(&alone) || self.exchanged_parts(colours, a, b).is_some_and(|map| self.is_kept_by(&map))
    }

    /// The renaming that exchanges the connected parts of two nodes, node by node of the same colour.
    fn exchanged_parts(&self, colours: &[usize], a: usize, b: usize) -> Option<Vec<usize>> {
        let (first, second) = (self.part(colours, a), self.part(colours, b));
        if first.contains(&b) || first.len() != second.len() {
            return None;
        }
        let mut map: Vec<usize> = (0..colours.len()).collect();
        for (&x, &y) in first.iter().zip(&second) {
            if colours[x] != colours[y] {
                return None;
            }
            (map[x], map[y]) = (y, x);
        }
        Some(map)
    }

    /// The nodes that arrows connect with this one, by colour.
    fn part(&self, colours: &[usize], node: usize) -> Vec<usize> {
        let mut part = vec![node];
        let mut at = 0;
        while let Some(&next) = part.get(at) {
            for &(from, _, to) in &self.arrows {
                let other = if from == next { to } else { from };
                if (from == next || to == next) && !part.contains(&other) {
                    part.push(other);
                }
            }
            at += 1;
        }
        part.shared_sort_by_key(|node| colours[*node]);
        part
    }

    fn is_kept_by(&self, map: &[usize]) -> bool {
        let mut own = self.arrows.clone();
        let mut renamed: Vec<_> = own.iter().map(|&(from, name, to)| (map[from], name, map[to])).collect();
        own.shared_sort();
        renamed.shared_sort();
        own == renamed
            && map
                .iter()
                .enumerate()
                .all(|(a, &b)| a == b || (self.kinds[a], &self.marks[a]) == (self.kinds[b], &self.marks[b]))
    }

    /// With the nodes in the places that their colours are.
    fn drawn(&self, place: &[usize]) -> Vec<Line> {
        let marks = self.marks.iter().enumerate();
        let mut lines: Vec<Line> =
            marks.flat_map(|(node, marks)| marks.iter().map(move |mark| (place[node], *mark, usize::MAX))).collect();
        lines.extend(self.arrows.iter().map(|&(from, name, to)| (place[from], name, place[to])));
        lines.shared_sort();
        lines
    }
}

/// A mark or an arrow of a drawing whose nodes are places.
type Line = (usize, Name, usize);

/// Whether an arrow leads to the node that is looked at, its name, and the colour at its other end.
type End = (bool, Name, usize);

/// The smallest of some drawings, the places of the nodes in it, and how often it came up.
struct Found {
    lines: Vec<Line>,
    place: Vec<usize>,
    times: u64,
}

/// By item: how many are smaller.
fn by_rank<T: Ord>(items: impl Iterator<Item = T>) -> Vec<usize> {
    let items: Vec<T> = items.collect();
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.shared_sort_by(|a, b| items[*a].cmp(&items[*b]));
    let mut ranks = vec![0; items.len()];
    for (at, &item) in order.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| order[before]);
        ranks[item] = before.filter(|before| items[*before] == items[item]).map_or(at, |before| ranks[before]);
    }
    ranks
}

/// The smallest colour that several nodes have.
fn first_shared(colours: &[usize]) -> Option<usize> {
    let mut sorted = colours.to_vec();
    sorted.shared_sort();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// This node first, then the others of its colour.
fn apart(colours: &[usize], node: usize) -> Vec<usize> {
    let shared = colours[node];
    let split = |(at, &colour): (usize, &usize)| if colour == shared && at != node { colour + 1 } else { colour };
    colours.iter().enumerate().map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every permutation of the nodes.
    fn permutations(count: usize) -> Vec<Vec<usize>> {
        let mut found = vec![Vec::new()];
        for _ in 0..count {
            let longer = |start: &Vec<usize>| {
                let start = start.clone();
                let free = (0..count).filter(|node| !start.contains(node)).collect::<Vec<_>>();
                free.into_iter().map(move |node| start.iter().copied().chain([node]).collect::<Vec<_>>())
            };
            found = found.iter().flat_map(longer).collect();
        }
        found
    }

    fn renamed(drawing: &Drawing, map: &[usize]) -> Drawing {
        let mut other = Drawing::new(vec![0; map.len()]);
        for (node, &to) in map.iter().enumerate() {
            other.kinds[to] = drawing.kinds[node];
            other.marks[to] = drawing.marks[node].clone();
        }
        other.arrows = drawing.arrows.iter().map(|&(from, name, to)| (map[from], name, map[to])).collect();
        other
    }

    /// As it is drawn in the places found.
    fn kept(drawing: &Drawing) -> (Vec<Line>, u64) {
        let mut sorted = drawing.clone();
        sorted.marks.iter_mut().for_each(|marks| marks.shared_sort());
        let canonical = drawing.clone().canonical().expect("small");
        (sorted.drawn(&canonical.place), canonical.same)
    }

    /// Against all renamings: each gives the same drawing, and as many leave it as it is as are said to.
    #[test]
    fn renamed_drawings_are_one() {
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for round in 0..400 {
            let count = 2 + round % 4;
            let mut drawing = Drawing::new((0..count).map(|_| random(2) as usize).collect());
            drawing.kinds.shared_sort();
            for node in 0..count {
                if random(3) == 0 {
                    drawing.marks[node].push((0, random(2) as u32, 0));
                }
            }
            for _ in 0..random(6) {
                let (from, to) = (random(count as u64) as usize, random(count as u64) as usize);
                drawing.arrows.push((from, (0, 0, random(2) as i128), to));
            }
            let (lines, same) = kept(&drawing);
            let of_kind =
                |map: &&Vec<usize>| map.iter().enumerate().all(|(a, &b)| drawing.kinds[a] == drawing.kinds[b]);
            let mut fixed = 0;
            for map in permutations(count).iter().filter(of_kind) {
                let other = renamed(&drawing, map);
                assert_eq!(kept(&other), (lines.clone(), same), "{drawing:?} {map:?}");
                fixed += u64::from(drawing.is_kept_by(map));
            }
            assert_eq!(same, fixed, "{drawing:?}");
        }
    }

    #[test]
    fn many_that_are_alike_are_few_to_try() {
        let mut chains = Drawing::new(vec![0; 16]);
        chains.arrows = (0..8).map(|at| (2 * at, (0, 0, 0), 2 * at + 1)).collect();
        assert_eq!(chains.canonical().map(|found| found.same), Some(40_320));
        assert_eq!(Drawing::new(vec![0; 20]).canonical().map(|found| found.same), Some(2_432_902_008_176_640_000));
        let mut star = Drawing::new(vec![0; 16]);
        star.arrows = (1..16).map(|node| (0, (0, 0, 0), node)).collect();
        assert_eq!(star.canonical().map(|found| found.same), Some((1..=15).product::<u64>()));
    }
}
