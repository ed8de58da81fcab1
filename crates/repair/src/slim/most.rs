//! The choice that saves most among those that nothing learned rules out.
//!
//! A *rule* lists places with the choices that satisfy it there; one of them must be taken. Branch and bound: the choices that
//! save most are taken everywhere, and a rule that they break is branched on, place by place. What is left in every place
//! bounds what may be saved.

/// Choices of one place, of which any satisfies a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fitting {
    pub(super) place: usize,
    /// Per choice.
    pub(super) choices: Vec<bool>,
}

pub(super) type Rule = Vec<Fitting>;

/// Per place what each choice saves; choice 0 saves nothing. None where the rules leave nothing.
pub(super) fn most(saves: &[Vec<u32>], rules: &[Rule]) -> Option<Vec<usize>> {
    let left = saves.iter().map(|own| vec![true; own.len()]).collect();
    let mut search = Search { saves, rules, best: None };
    search.branch(left);
    search.best.map(|(_, choices)| choices)
}

struct Search<'s> {
    saves: &'s [Vec<u32>],
    rules: &'s [Rule],
    best: Option<(u32, Vec<usize>)>,
}

impl Search<'_> {
    fn branch(&mut self, left: Vec<Vec<bool>>) {
        let Some(choices) = self.greedy(&left) else { return };
        let total: u32 = self.saves.iter().zip(&choices).map(|(own, choice)| own[*choice]).sum();
        let broken: Vec<&Rule> = self.rules.iter().filter(|rule| !is_kept(rule, &choices)).collect();
        let bound = total.saturating_sub(self.loss(&broken, &left, &choices));
        if self.best.as_ref().is_some_and(|(best, _)| bound <= *best) {
            return;
        }
        let Some(narrowest) = broken.iter().min_by_key(|rule| rule.len()) else {
            self.best = Some((total, choices));
            return;
        };
        // What an earlier branch tried, a later one leaves out.
        let mut left = left;
        let mut ways: Vec<&Fitting> = narrowest.iter().collect();
        ways.sort_by_key(|way| (self.cost(way, &left, &choices), way.place));
        for way in ways {
            let mut narrowed = left.clone();
            narrowed[way.place].iter_mut().zip(&way.choices).for_each(|(left, fits)| *left &= fits);
            self.branch(narrowed);
            left[way.place].iter_mut().zip(&way.choices).for_each(|(left, fits)| *left &= !fits);
        }
    }

    /// In every place what saves most; None where a place has nothing left.
    fn greedy(&self, left: &[Vec<bool>]) -> Option<Vec<usize>> {
        let best = |(own, left): (&Vec<u32>, &Vec<bool>)| {
            let choices = (0..own.len()).filter(|choice| left[*choice]);
            choices.max_by_key(|choice| (own[*choice], std::cmp::Reverse(*choice)))
        };
        self.saves.iter().zip(left).map(best).collect()
    }

    /// What satisfying a rule in one of its places costs; None where it cannot be.
    fn cost(&self, way: &Fitting, left: &[Vec<bool>], choices: &[usize]) -> Option<u32> {
        let own = &self.saves[way.place];
        let fits = (0..own.len()).filter(|choice| left[way.place][*choice] && way.choices[*choice]);
        fits.map(|choice| own[choices[way.place]] - own[choice]).min()
    }

    /// What broken rules without a common place cost together at least.
    fn loss(&self, broken: &[&Rule], left: &[Vec<bool>], choices: &[usize]) -> u32 {
        let mut used = vec![false; self.saves.len()];
        let mut loss = 0;
        for rule in broken {
            if rule.iter().any(|way| used[way.place]) {
                continue;
            }
            rule.iter().for_each(|way| used[way.place] = true);
            loss += rule.iter().filter_map(|way| self.cost(way, left, choices)).min().unwrap_or(u32::MAX / 4);
        }
        loss
    }
}

fn is_kept(rule: &Rule, choices: &[usize]) -> bool {
    rule.iter().any(|way| way.choices[choices[way.place]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random rules over few places, against all choices.
    #[test]
    fn nothing_that_keeps_the_rules_saves_more() {
        let mut state = 11u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut found = 0;
        for _ in 0..400 {
            let saves: Vec<Vec<u32>> =
                (0..5).map(|_| [0].into_iter().chain((0..2).map(|_| 1 + random(6) as u32)).collect()).collect();
            let rules: Vec<Rule> = (0..random(7))
                .map(|_| {
                    let mut fitting = |place| Fitting { place, choices: (0..3).map(|_| random(3) == 0).collect() };
                    (0..3).map(|at| fitting(at * 2 % 5)).collect()
                })
                .collect();
            let all = (0..243usize).map(|at| (0..5).map(|place| at / 3usize.pow(place) % 3).collect::<Vec<usize>>());
            let total = |choices: &Vec<usize>| saves.iter().zip(choices).map(|(own, at)| own[*at]).sum::<u32>();
            let fits = |choices: &Vec<usize>| rules.iter().all(|rule| is_kept(rule, choices));
            let best = all.filter(fits).map(|choices| total(&choices)).max();
            let own = most(&saves, &rules);
            assert!(own.as_ref().is_none_or(fits));
            assert_eq!(own.as_ref().map(total), best);
            found += usize::from(best.is_some());
        }
        assert!(found > 100, "{found}");
    }
}
