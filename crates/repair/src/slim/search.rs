//! What can be weakened alone, and the set that saves most together.
//!
//! What orders less adds executions and takes none away. So if a set changes an answer, every larger one does: a set that does is
//! made as small as it can be, and what is found next must leave out one of its members. The set that saves most among those
//! that keep all these rules (`most`) is tried next; the first that changes nothing saves most, because whatever saves more
//! breaks a rule. This is the search of `fix` upside down.
//!
//! A wait that goes is no such change for everybody: a thread that runs ahead may make another wait miss its phase, which does not
//! matter if that wait goes too. A rule that was learned from a hang or a broken rule of mbarriers can therefore be kept by
//! one more wait that goes as well.

use fencepost_check::judge::found::Aspect;
use fencepost_check::options::EngineChoice;
use fencepost_report::why::Why;
use fencepost_syntax::sorted::SharedSort as _;

use super::most::{Fitting, Rule, most};
use super::oracle::{Difference, Judged, Oracle, Way};
use super::space::{Choices, Space};
use crate::engines;
use crate::scene::loops;

/// More rounds of loops than the answers were found with, for which they must stay too.
const MORE_ROUNDS: u32 = 2;

/// How an offer is checked again: under every reading, by each engine alone, with more rounds of its loops.
const WAYS: [Way; 4] =
    [(EngineChoice::Auto, 0), (EngineChoice::Sat, 0), (EngineChoice::Enumerate, 0), (EngineChoice::Auto, MORE_ROUNDS)];

/// What the search found.
pub(super) struct Found {
    /// Per place.
    pub(super) alone: Vec<Alone>,
    pub(super) together: Option<Together>,
    /// Why a set was not decided, if one was not.
    pub(super) open: Option<Why>,
}

pub(super) fn search(space: &Space, oracle: &Oracle<'_>) -> Found {
    let mut search = Search::new(space, oracle);
    let mut alone: Vec<Alone> = (0..space.places.len()).map(|place| search.alone(place)).collect();
    let together = search.together();
    for (at, found) in alone.iter_mut().enumerate().filter(|(_, found)| found.choice > 0) {
        // What changes nothing together with others changes nothing alone, unless a wait went too.
        let place = &space.places[at];
        let waits = |set: &Together| (0..space.places.len()).any(|at| set.choices[at] > 0 && space.changes_paths(at));
        let covers = |set: &Together| place.is_weaker(set.choices[at], found.choice) && !waits(set);
        if !together.as_ref().is_some_and(covers) && search.confirmed(&space.alone(at, found.choice)).is_none() {
            found.choice = 0;
        }
    }
    Found { alone, together, open: search.open }
}

pub(super) struct Search<'s> {
    space: &'s Space,
    oracle: &'s Oracle<'s>,
    rules: Vec<Rule>,
    /// Why a set was not decided, if one was not.
    open: Option<Why>,
}

/// What was found of one place by itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Alone {
    /// What saves most with every answer unchanged; 0 where nothing does.
    pub(super) choice: usize,
    /// A choice that changes an answer, and which one: what the place is needed for.
    pub(super) needed: Option<(usize, Difference)>,
}

/// A set, and what kept it from being confirmed in each of two ways.
pub(super) struct Together {
    pub(super) choices: Choices,
    pub(super) second_engine: Option<Why>,
    pub(super) more_rounds: Option<Why>,
    /// How often loops were unrolled for these; None where there is no loop.
    pub(super) unrolled: Option<u32>,
}

impl<'s> Search<'s> {
    fn new(space: &'s Space, oracle: &'s Oracle<'s>) -> Search<'s> {
        let mut search = Search { space, oracle, rules: Vec::new(), open: None };
        let as_is = |place: usize| Fitting { place, choices: search.choices(place, |choice| choice == 0) };
        let apart = space.overlaps().into_iter().map(|(one, other)| vec![as_is(one), as_is(other)]);
        search.rules = apart.collect();
        search
    }

    fn choices(&self, place: usize, fits: impl Fn(usize) -> bool) -> Vec<bool> {
        (0..=self.space.places[place].options.len()).map(fits).collect()
    }

    /// The best choice of one place. The one that saves most is tried first, then the strongest ones: where those change an
    /// answer, all others do.
    fn alone(&mut self, at: usize) -> Alone {
        let place = &self.space.places[at];
        let mut order: Vec<usize> = (1..=place.options.len()).collect();
        order.shared_sort_by_key(|choice| place.saves(*choice));
        order.rotate_right(1);
        let mut found = Alone::default();
        let mut bad: Vec<(usize, Difference)> = Vec::new();
        for choice in order {
            let is_bad = bad.iter().any(|(known, _)| place.is_weaker(choice, *known));
            if is_bad || found.choice != 0 && place.saves(choice) <= place.saves(found.choice) {
                continue;
            }
            let choices = self.space.alone(at, choice);
            match self.oracle.judge(self.space, &choices) {
                Judged::Same => found.choice = choice,
                Judged::Changed(difference) => {
                    self.learn(&choices, &difference);
                    bad.push((choice, difference));
                }
                Judged::Lost => self.leave_out(&choices),
                Judged::Open(why) => {
                    self.open.get_or_insert(why);
                    self.leave_out(&choices);
                }
            }
        }
        let telling = if place.is_removed(bad.first().map_or(0, |(choice, _)| *choice)) { 0 } else { 1 };
        found.needed = bad.get(telling).or(bad.first()).cloned().filter(|_| found.choice == 0);
        found
    }

    /// The set that saves most; None where nothing can be saved.
    fn together(&mut self) -> Option<Together> {
        let saves: Vec<Vec<u32>> = self
            .space
            .places
            .iter()
            .map(|place| (0..=place.options.len()).map(|choice| place.saves(choice)).collect())
            .collect();
        loop {
            if self.oracle.options.budget.is_over() {
                self.open = Some(Why::Time);
                return None;
            }
            let choices = most(&saves, &self.rules)?;
            if choices.iter().all(|choice| *choice == 0) {
                return None;
            }
            let (space, oracle) = (self.space, self.oracle);
            match oracle.judge(space, &choices) {
                Judged::Same => {
                    if let Some(found) = self.confirmed(&choices) {
                        return Some(found);
                    }
                }
                judged => self.refuse(choices, judged, &|choices| oracle.judge(space, choices)),
            }
        }
    }

    /// Checks a set again in every way. One that another way does not leave unchanged is refused.
    fn confirmed(&mut self, choices: &Choices) -> Option<Together> {
        let (space, oracle) = (self.space, self.oracle);
        let unrolled = loops::goes_back(&oracle.test.program).then(|| oracle.unrolled(MORE_ROUNDS));
        let mut open = Vec::new();
        for (number, way) in WAYS.into_iter().enumerate() {
            if way.1 > 0 && unrolled.is_none() {
                open.push(None);
                continue;
            }
            let judged = oracle.confirm(space, choices, way);
            match judged {
                Judged::Same => open.push(None),
                // Under every reading is what was asked for.
                Judged::Open(why) if number > 0 => open.push(Some(why)),
                judged => {
                    self.refuse(choices.clone(), judged, &|choices| oracle.confirm(space, choices, way));
                    return None;
                }
            }
        }
        let (more_rounds, enumerated, sat) = (open.pop().flatten(), open.pop().flatten(), open.pop().flatten());
        let second_engine = engines::second(sat, enumerated, || oracle.is_one_run());
        Some(Together { choices: choices.clone(), second_engine, more_rounds, unrolled })
    }

    /// Learns from a set that is no answer.
    fn refuse(&mut self, mut choices: Choices, judged: Judged, judge: &dyn Fn(&Choices) -> Judged) {
        match judged {
            Judged::Changed(mut difference) => {
                // What another wait may take back says nothing of sets with other waits: these stay in the rule.
                let is_for_good = self.is_for_good(&difference);
                let may_shrink =
                    |place: &usize| choices[*place] > 0 && (is_for_good || !self.space.changes_paths(*place));
                let places: Vec<usize> = (0..choices.len()).filter(may_shrink).collect();
                let judge = |choices: &Choices| match judge(choices) {
                    Judged::Changed(other) if is_for_good && !self.is_for_good(&other) => Judged::Lost,
                    judged => judged,
                };
                self.shrink(&mut choices, &mut difference, &places, &judge);
                self.learn(&choices, &difference);
            }
            Judged::Open(why) => {
                self.open.get_or_insert(why);
                self.leave_out(&choices);
            }
            Judged::Same | Judged::Lost => self.leave_out(&choices),
        }
    }

    /// Leaves as many of these places as they are as still change an answer: all at once if that does, else half by half.
    fn shrink(
        &self,
        choices: &mut Choices,
        difference: &mut Difference,
        places: &[usize],
        judge: &dyn Fn(&Choices) -> Judged,
    ) {
        let mut fewer = choices.clone();
        places.iter().for_each(|place| fewer[*place] = 0);
        if fewer == *choices || self.oracle.options.budget.is_over() {
            return;
        }
        if let Judged::Changed(own) = judge_some(&fewer, judge) {
            (*choices, *difference) = (fewer, own);
            return;
        }
        if let [place] = places {
            return self.strengthen(choices, difference, *place, judge);
        }
        let (upper, lower) = places.split_at(places.len() / 2);
        self.shrink(choices, difference, upper, judge);
        self.shrink(choices, difference, lower, judge);
    }

    /// Takes the strongest option of one place that still changes an answer.
    fn strengthen(
        &self,
        choices: &mut Choices,
        difference: &mut Difference,
        at: usize,
        judge: &dyn Fn(&Choices) -> Judged,
    ) {
        let (place, own) = (&self.space.places[at], choices[at]);
        let mut stronger: Vec<usize> =
            (1..=place.options.len()).filter(|choice| *choice != own && place.is_weaker(own, *choice)).collect();
        stronger.shared_sort_by_key(|choice| place.saves(*choice));
        for choice in stronger {
            let mut other = choices.clone();
            other[at] = choice;
            if let Judged::Changed(own) = judge(&other) {
                (*choices, *difference) = (other, own);
                return;
            }
        }
    }

    /// Sets with all of this change the answer too, but for those that a wait more takes out of the rule.
    fn learn(&mut self, choices: &Choices, difference: &Difference) {
        let mut rule = Rule::new();
        for (place, own) in choices.iter().enumerate() {
            let found = &self.space.places[place];
            if *own > 0 {
                rule.push(Fitting { place, choices: self.choices(place, |choice| !found.is_weaker(choice, *own)) });
            } else if self.space.changes_paths(place) && !self.is_for_good(difference) {
                rule.push(Fitting { place, choices: self.choices(place, |choice| choice > 0) });
            }
        }
        self.rules.push(rule);
    }

    /// Whether a wait that goes cannot take a difference back: an outcome stays one, and so does a race of instructions that stay.
    fn is_for_good(&self, difference: &Difference) -> bool {
        let paths = self.space.places.iter().enumerate().filter(|(at, _)| self.space.changes_paths(*at));
        let waits: Vec<u32> = paths.flat_map(|(_, place)| place.at.iter().map(|(_, span)| span.start)).collect();
        match difference.aspect {
            None | Some(Aspect::Question(_) | Aspect::Crash(_) | Aspect::Recovery(_)) => true,
            Some(Aspect::Races) => difference
                .flags
                .iter()
                .any(|key| !waits.contains(&key.first.start) && !waits.contains(&key.second.start)),
            Some(Aspect::Protocol | Aspect::Termination) => false,
        }
    }

    /// This set is none, and nothing is known of others: one must differ from it.
    fn leave_out(&mut self, choices: &Choices) {
        let other = |(place, own): (usize, &usize)| Fitting { place, choices: self.choices(place, |it| it != *own) };
        let rule = choices.iter().enumerate().map(other).collect();
        self.rules.push(rule);
    }
}

/// The test itself changes nothing.
fn judge_some(choices: &Choices, judge: &dyn Fn(&Choices) -> Judged) -> Judged {
    if choices.iter().all(|choice| *choice == 0) { Judged::Same } else { judge(choices) }
}
