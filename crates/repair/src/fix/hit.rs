//! The cheapest choice that satisfies every demand. A demand lists options of which one must be taken: whatever takes none of
//! them is known to be no repair. Of the options of one place at most one is taken.
//!
//! Branch and bound: the demand with the fewest options left is branched on, and what demands without a common option cost at
//! least bounds what is left. Demands are sets of bits: with hundreds of them the search for their hitting set takes longer
//! than all questions together otherwise.

use fencepost_syntax::limits;

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

/// The search was cut short by the limits of this thread: nothing is known.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct CutShort;

/// The best choice that is cheaper than `below`, if there is one.
pub(super) fn cheapest(options: &Options<'_>, demands: &[Vec<Choice>], below: u32) -> Result<Option<Taken>, CutShort> {
    let mut demands: Vec<Demand> = demands.iter().map(|choices| Demand::new(options, choices)).collect();
    demands.sort_by_key(|demand| demand.choices.len());
    let mut search = Search { options, demands, best: None, below, is_cut: false };
    search.branch(&mut Vec::new(), 0);
    if search.is_cut { Err(CutShort) } else { Ok(search.best) }
}

/// Numbers up to some hundreds.
#[derive(Clone, Debug)]
struct Set(Vec<u64>);

impl Set {
    fn new(below: usize) -> Set {
        Set(vec![0; below.div_ceil(64)])
    }

    fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn contains(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    fn meets(&self, other: &Set) -> bool {
        self.0.iter().zip(&other.0).any(|(own, other)| own & other != 0)
    }

    fn extend(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }
}

/// Options of which one must be taken, their places, and what one costs at least.
struct Demand {
    choices: Vec<Choice>,
    options: Set,
    places: Set,
    /// What nothing meets is dearer than everything.
    least: u32,
}

impl Demand {
    fn new(options: &Options<'_>, choices: &[Choice]) -> Demand {
        let most = options.places.iter().max().map_or(0, |most| most + 1);
        let (mut own, mut places) = (Set::new(options.places.len()), Set::new(most));
        for choice in choices {
            own.insert(*choice);
            places.insert(options.places[*choice]);
        }
        let least = choices.iter().map(|choice| options.costs[*choice]).min().unwrap_or(u32::MAX);
        Demand { choices: choices.to_vec(), options: own, places, least }
    }

    fn is_met(&self, taken: &[Choice]) -> bool {
        taken.iter().any(|choice| self.options.contains(*choice))
    }
}

struct Search<'s> {
    options: &'s Options<'s>,
    /// Those with the fewest options first.
    demands: Vec<Demand>,
    best: Option<Taken>,
    below: u32,
    is_cut: bool,
}

/// Demands that are looked at in about a microsecond.
const MANY_DEMANDS: usize = 64;

impl Search<'_> {
    fn branch(&mut self, taken: &mut Vec<Choice>, cost: u32) {
        limits::count((self.demands.len() / MANY_DEMANDS) as u64);
        self.is_cut |= limits::is_over();
        if self.is_cut || !self.may_improve(cost.saturating_add(self.least(taken)), taken.len()) {
            return;
        }
        let free =
            |choice: &&Choice| taken.iter().all(|own| self.options.places[*own] != self.options.places[**choice]);
        let open = self.demands.iter().filter(|demand| !demand.is_met(taken));
        let open = open.map(|demand| demand.choices.iter().filter(free).copied().collect::<Vec<Choice>>());
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
        let Some(first) = self.demands.first() else { return 0 };
        let mut used = Set(vec![0; first.places.0.len()]);
        let mut least: u32 = 0;
        for demand in self.demands.iter().filter(|demand| !demand.is_met(taken)) {
            if !demand.places.meets(&used) {
                used.extend(&demand.places);
                least = least.saturating_add(demand.least);
            }
        }
        least
    }
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
            let found = cheapest(&options, &demands, 100).unwrap();
            let sets = (0u32..256).map(|bits| (0..8).filter(|at| bits >> at & 1 == 1).collect::<Vec<Choice>>());
            let fits = |set: &Vec<Choice>| {
                let apart = |one: &Choice| set.iter().filter(|other| places[**other] == places[*one]).count() == 1;
                set.iter().all(apart) && demands.iter().all(|demand| set.iter().any(|choice| demand.contains(choice)))
            };
            let cost = |set: &Vec<Choice>| set.iter().map(|choice| costs[*choice]).sum::<u32>();
            let least = sets.filter(fits).map(|set| (cost(&set), set.len(), set)).min();
            let found = found.map(|taken| (taken.cost, taken.number, taken.choices));
            assert_eq!(found, least);
            met += usize::from(found.is_some());
        }
        assert!(met > 100, "{met}");
    }

    #[test]
    fn a_search_that_is_cut_short_says_so() {
        let (places, costs): (Vec<usize>, Vec<u32>) = ((0..40).collect(), vec![1; 40]);
        let options = Options { places: &places, costs: &costs };
        let demands: Vec<Vec<Choice>> = (0..20).map(|at| (0..40).filter(|own| own % 20 != at).collect()).collect();
        let _entered = limits::enter_work(1);
        assert_eq!(cheapest(&options, &demands, 100), Err(CutShort));
    }
}
