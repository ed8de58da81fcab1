//! The cheapest choice that satisfies every demand. A demand lists options of which one must be taken: whatever takes none of
//! them is known to be no repair. Of the options of one place at most one is taken.
//!
//! Branch and bound: the demand with the fewest options left is branched on, and what demands without a common option cost at
//! least bounds what is left.

/// An option, by its number.
pub(super) type Choice = usize;

/// What is chosen among: each option's place and cost.
pub(super) struct Options<'o> {
    pub(super) places: &'o [usize],
    pub(super) costs: &'o [u32],
}

/// What is cheaper comes first, then what is fewer changes, then what stands further up.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Taken {
    pub(super) cost: u32,
    number: usize,
    pub(super) choices: Vec<Choice>,
}

/// The best choice that is cheaper than `below`, if there is one.
pub(super) fn cheapest(options: &Options<'_>, demands: &[Vec<Choice>], below: u32) -> Option<Taken> {
    let mut search = Search { options, demands, best: None, below };
    search.branch(&mut Vec::new(), 0);
    search.best
}

struct Search<'s> {
    options: &'s Options<'s>,
    demands: &'s [Vec<Choice>],
    best: Option<Taken>,
    below: u32,
}

impl Search<'_> {
    fn branch(&mut self, taken: &mut Vec<Choice>, cost: u32) {
        if !self.may_improve(cost.saturating_add(self.least(taken)), taken.len()) {
            return;
        }
        let free =
            |choice: &&Choice| taken.iter().all(|own| self.options.places[*own] != self.options.places[**choice]);
        let open = self.demands.iter().filter(|demand| !is_met(demand, taken));
        let open = open.map(|demand| demand.iter().filter(free).copied().collect::<Vec<Choice>>());
        let Some(mut narrowest) = open.min_by_key(Vec::len) else {
            let mut choices = taken.clone();
            choices.sort_unstable();
            let found = Taken { cost, number: choices.len(), choices };
            if self.best.as_ref().is_none_or(|best| found < *best) {
                self.best = Some(found);
            }
            return;
        };
        narrowest.sort_by_key(|choice| (self.options.costs[*choice], *choice));
        for choice in narrowest {
            taken.push(choice);
            self.branch(taken, cost + self.options.costs[choice]);
            taken.pop();
        }
    }

    fn may_improve(&self, least: u32, number: usize) -> bool {
        least < self.below && self.best.as_ref().is_none_or(|best| (least, number) <= (best.cost, best.number))
    }

    /// What the demands that are open cost at least: those that share no place with one another, each its cheapest option.
    fn least(&self, taken: &[Choice]) -> u32 {
        let mut used: Vec<usize> = Vec::new();
        let mut least = 0;
        let mut open: Vec<&Vec<Choice>> = self.demands.iter().filter(|demand| !is_met(demand, taken)).collect();
        open.sort_by_key(|demand| demand.len());
        for demand in open {
            let places = || demand.iter().map(|choice| self.options.places[*choice]);
            if places().any(|place| used.contains(&place)) {
                continue;
            }
            used.extend(places());
            // One that nothing meets is dearer than everything.
            let cheapest = demand.iter().map(|choice| self.options.costs[*choice]).min();
            least = cheapest.map_or(u32::MAX, |cheapest| cheapest.saturating_add(least));
        }
        least
    }
}

fn is_met(demand: &[Choice], taken: &[Choice]) -> bool {
    taken.iter().any(|choice| demand.contains(choice))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random demands over few options, against all sets of options.
    #[test]
    fn nothing_is_cheaper() {
        let mut state = 7u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut met = 0;
        for _ in 0..400 {
            let places: Vec<usize> = (0..8).map(|_| random(5) as usize).collect();
            let costs: Vec<u32> = (0..8).map(|_| 1 + random(6) as u32).collect();
            let demands: Vec<Vec<Choice>> =
                (0..1 + random(5)).map(|_| (0..8usize).filter(|_| random(3) == 0).collect()).collect();
            let options = Options { places: &places, costs: &costs };
            let found = cheapest(&options, &demands, 100);
            let sets = (0u32..256).map(|bits| (0..8).filter(|at| bits >> at & 1 == 1).collect::<Vec<Choice>>());
            let fits = |set: &Vec<Choice>| {
                let apart = |one: &Choice| set.iter().filter(|other| places[**other] == places[*one]).count() == 1;
                set.iter().all(apart) && demands.iter().all(|demand| is_met(demand, set))
            };
            let cost = |set: &Vec<Choice>| set.iter().map(|choice| costs[*choice]).sum::<u32>();
            let least = sets.filter(fits).map(|set| (cost(&set), set.len(), set)).min();
            assert_eq!(found.map(|taken| (taken.cost, taken.number, taken.choices)), least);
            met += usize::from(cheapest(&options, &demands, 100).is_some());
        }
        assert!(met > 100, "{met}");
    }
}
