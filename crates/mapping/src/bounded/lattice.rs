//! The search for labels under which a behaviour is a counterexample: the target shows it, the source forbids it, and the
//! program is free of races.
//!
//! In the order of strength the labels that the source forbids and those of race-free programs are closed upwards, the
//! images that the target shows downwards: all sets of the models grow with the labels, and the relations with the sets. So
//! one answer speaks for many labels. The search keeps a set of options for each operation (a box) and cuts it:
//! - the source allows the strongest labels of the box: nothing in it is forbidden;
//! - the target forbids the weakest images: nothing in it is shown;
//! - a minimal forbidden labelling `m` whose weakest image the target forbids: nothing above `m`;
//! - a maximal shown labelling `M` that has a race: nothing below `M`.

use fencepost_syntax::sorted::SharedSort as _;

use crate::label::Label;
use crate::scheme::Image;

/// A way to label one operation, and what it becomes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    pub label: Label,
    pub image: Image,
}

/// The three questions, about one behaviour.
pub trait Oracle {
    fn source_allows(&mut self, labels: &[Label]) -> bool;
    fn target_allows(&mut self, images: &[Image]) -> bool;
    /// Whether some program with these labels has no race.
    fn race_free(&mut self, labels: &[Label]) -> bool;
}

/// Sets of options, one per operation, as bits.
type Cells = Vec<u32>;

/// Labels that make the behaviour a counterexample, if there are any.
pub fn counterexample(options: &[Vec<Choice>], oracle: &mut dyn Oracle) -> Option<Vec<Choice>> {
    let all = options.iter().map(|choices| (1u32 << choices.len()) - 1).collect();
    Search { options, oracle }.solve(all)
}

struct Search<'s> {
    options: &'s [Vec<Choice>],
    oracle: &'s mut dyn Oracle,
}

impl Search<'_> {
    fn members(&self, at: usize, cell: u32) -> impl Iterator<Item = (usize, Choice)> + '_ {
        self.options[at].iter().copied().enumerate().filter(move |(bit, _)| cell >> bit & 1 == 1)
    }

    fn filter(&self, cells: &Cells, keep: impl Fn(usize, Choice) -> bool) -> Cells {
        let bits = |at: usize| {
            let kept = self.members(at, cells[at]).filter(|(_, choice)| keep(at, *choice));
            kept.map(|(bit, _)| 1 << bit).sum()
        };
        (0..cells.len()).map(bits).collect()
    }

    fn images(&self, cells: &Cells) -> Vec<Image> {
        let meet = |at: usize| self.members(at, cells[at]).map(|(_, choice)| choice.image).reduce(Image::meet);
        (0..cells.len()).map(|at| meet(at).unwrap_or_default()).collect()
    }

    fn labels(&self, cells: &Cells) -> Vec<Label> {
        let join = |at: usize| self.members(at, cells[at]).map(|(_, choice)| choice.label).reduce(Label::join);
        (0..cells.len()).map(|at| join(at).unwrap_or_default()).collect()
    }

    fn solve(&mut self, cells: Cells) -> Option<Vec<Choice>> {
        if cells.contains(&0) {
            return None;
        }
        let strongest = self.labels(&cells);
        if self.oracle.source_allows(&strongest) {
            return None;
        }
        let weakest = self.images(&cells);
        if !self.oracle.target_allows(&weakest) {
            return None;
        }
        let least = self.minimal(&cells, strongest);
        let above = self.filter(&cells, |at, choice| least[at].is_at_most(choice.label));
        if let Some(at) = above.iter().position(|cell| *cell == 0) {
            return self.split(&cells, at);
        }
        let images = self.images(&above);
        if images != weakest && !self.oracle.target_allows(&images) {
            return self.outside(&cells, &above);
        }
        let attained = |at: usize| self.members(at, above[at]).find(|(_, choice)| choice.image == images[at]);
        let Some(chosen) = (0..above.len()).map(|at| attained(at).map(|(_, choice)| choice)).collect() else {
            let open = (0..above.len()).find(|at| attained(*at).is_none()).unwrap_or(0);
            return self.split(&cells, open);
        };
        let most = self.maximal(&above, chosen);
        let labels: Vec<Label> = most.iter().map(|choice| choice.label).collect();
        if self.oracle.race_free(&labels) {
            return Some(most);
        }
        let below = self.filter(&cells, |at, choice| choice.label.is_at_most(labels[at]));
        self.outside(&cells, &below)
    }

    /// Labels as weak as can be that the source still forbids.
    fn minimal(&mut self, cells: &Cells, strongest: Vec<Label>) -> Vec<Label> {
        let mut least = strongest;
        for at in 0..least.len() {
            let mut weaker: Vec<Label> = self.members(at, cells[at]).map(|(_, choice)| choice.label).collect();
            weaker.retain(|label| label.is_at_most(least[at]) && *label != least[at]);
            weaker.shared_sort_by_key(|label| label.weight());
            weaker.dedup();
            for label in weaker {
                let kept = std::mem::replace(&mut least[at], label);
                if !self.oracle.source_allows(&least) {
                    break;
                }
                least[at] = kept;
            }
        }
        least
    }

    /// As strong as can be while the target still shows the behaviour.
    fn maximal(&mut self, cells: &Cells, chosen: Vec<Choice>) -> Vec<Choice> {
        let mut most = chosen;
        for at in 0..most.len() {
            let current = most[at];
            let mut stronger: Vec<Choice> = (self.members(at, cells[at]))
                .map(|(_, choice)| choice)
                .filter(|choice| current.label.is_at_most(choice.label) && *choice != current)
                .collect();
            stronger.shared_sort_by_key(|choice| std::cmp::Reverse(choice.label.weight()));
            for choice in stronger {
                most[at] = choice;
                let images: Vec<Image> = most.iter().map(|choice| choice.image).collect();
                if self.oracle.target_allows(&images) {
                    break;
                }
                most[at] = current;
            }
        }
        most
    }

    /// The part of a box that is not in a smaller one, in disjoint boxes.
    fn outside(&mut self, cells: &Cells, inner: &Cells) -> Option<Vec<Choice>> {
        for at in 0..cells.len() {
            let rest = cells[at] & !inner[at];
            if rest != 0 {
                let mut part: Cells = inner[..at].to_vec();
                part.push(rest);
                part.extend_from_slice(&cells[at + 1..]);
                if let Some(found) = self.solve(part) {
                    return Some(found);
                }
            }
        }
        None
    }

    /// One box for each option of an operation.
    fn split(&mut self, cells: &Cells, at: usize) -> Option<Vec<Choice>> {
        let bits: Vec<usize> = self.members(at, cells[at]).map(|(bit, _)| bit).collect();
        bits.into_iter().find_map(|bit| {
            let mut part = cells.clone();
            part[at] = 1 << bit;
            // A cell of one option that is split again would not end.
            if part == *cells { None } else { self.solve(part) }
        })
    }
}
