//! The cheapest set of options with which one version of the program is right: as it stands, or with changes of paths.
//!
//! What is wrong with a set is wrong with all its subsets, so most sets need not be asked about. A repair is found first, by
//! leaving out of everything what is not needed, half by half (Junker's QuickXplain, cheap options kept before dear ones). Its cost
//! bounds what is worth asking: mostly one question, all that is cheaper together, proves that there is nothing cheaper. Else
//! demands are learned and met (`hit`) until none is left.

use fencepost_report::why::Why;
use fencepost_syntax::sorted::SharedSort as _;

use super::hit;
use super::oracle::{Judged, Oracle};
use super::paths::Path;
use super::space::Space;
use crate::edit::{Change, Edit};
use crate::scene::anchor::instruction_at;

/// A set of options that is a repair, and its cost with that of the path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Chosen {
    pub(super) choices: Vec<usize>,
    pub(super) cost: u32,
}

/// Sets of equal cost that are looked at for a repair, for one further up and for alternatives.
const MOST_ALIKE: usize = 24;

/// How often the known bad executions are ruled out before a search for all of them takes over, and by how many options: where
/// it takes more, something else than order is missing.
const MOST_QUICK: usize = 4;
const MOST_AT_ONCE: usize = 6;

/// How it is known that a set is no repair.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum By {
    /// By the bad executions that are known.
    Known,
    Search,
}

pub(super) struct Search<'s> {
    pub(super) space: &'s Space,
    pub(super) path: &'s Path,
    number: usize,
    oracle: &'s Oracle<'s>,
    demands: Vec<Vec<usize>>,
    /// Sets that are wrong, and sets that are not: their subsets and supersets are neither.
    wrong: Vec<Vec<usize>>,
    not_wrong: Vec<Vec<usize>>,
    /// Repairs that were not confirmed.
    refuted: Vec<Vec<usize>>,
    /// Why a set was not decided, if one was not.
    pub(super) open: Option<Why>,
}

impl<'s> Search<'s> {
    pub(super) fn new(space: &'s Space, path: &'s Path, number: usize, oracle: &'s Oracle<'s>) -> Search<'s> {
        let (wrong, not_wrong, refuted) = (Vec::new(), Vec::new(), Vec::new());
        Search { space, path, number, oracle, demands: Vec::new(), wrong, not_wrong, refuted, open: None }
    }

    /// Whether all options that cost less than this together leave nothing wrong.
    pub(super) fn may_repair(&mut self, below: u32) -> bool {
        if below <= self.path.cost {
            return false;
        }
        self.not_wrong_below(below - self.path.cost).is_some()
    }

    /// All options that cost less than this, if they leave nothing wrong. Without fences that take part in one order of all of
    /// them first: those multiply executions, and are seldom needed.
    fn not_wrong_below(&mut self, below: u32) -> Option<Vec<usize>> {
        let all = self.everything(below);
        let mild: Vec<usize> = all.iter().filter_map(|at| self.space.mild(*at)).collect();
        if mild != all && self.is_wrong(&mild) == Some(false) {
            return Some(mild);
        }
        (self.is_wrong(&all) == Some(false)).then_some(all)
    }

    /// The change of paths alone, if that is a repair.
    pub(super) fn alone(&mut self) -> Option<Chosen> {
        let _entered = self.oracle.effort.alone();
        let is_one = !self.refuted.contains(&Vec::new()) && self.judge(&[]) == Judged::Right;
        is_one.then(|| self.chosen(Vec::new()))
    }

    /// Some repair that costs less than this: the smallest set that rules out the bad executions that are known, asked about,
    /// and the same again with the bad execution that it has. Only the last asks for a search.
    pub(super) fn quick(&mut self, below: u32) -> Option<Chosen> {
        let (end, open) = (self.oracle.effort.begin_quick(), self.open.take());
        let found = self.ruling_out(below);
        self.oracle.effort.end_quick(end);
        // What was not decided in little time is asked about again.
        self.open = open;
        found
    }

    fn ruling_out(&mut self, below: u32) -> Option<Chosen> {
        let left = below.checked_sub(self.path.cost)?;
        let mut all = self.everything(left);
        all.shared_sort_by_key(|at| self.space.rank(*at));
        let mut last = None;
        for _ in 0..MOST_QUICK {
            if self.is_shown_wrong(&self.with(&[], all.iter().copied())) {
                return None;
            }
            let mut choices = self.needed(&[], &all, true, By::Known)?;
            choices.shared_sort();
            for at in 0..choices.len() {
                self.weaken(&mut choices, at, By::Known);
            }
            let choices = self.exchanged(choices, By::Known)?;
            let chosen = self.chosen(choices);
            if chosen.cost >= below || chosen.choices.len() > MOST_AT_ONCE || last.as_ref() == Some(&chosen) {
                return None;
            }
            match self.judge(&chosen.choices) {
                Judged::Right if !self.refuted.contains(&chosen.choices) => return Some(chosen),
                Judged::Wrong => last = Some(chosen),
                Judged::Right | Judged::Lost | Judged::Open(_) => return None,
            }
        }
        None
    }

    /// Some repair that costs less than this, with nothing in it that is not needed.
    pub(super) fn some(&mut self, below: u32) -> Option<Chosen> {
        let left = below.checked_sub(self.path.cost)?;
        let mut all = self.not_wrong_below(left)?;
        all.shared_sort_by_key(|at| (self.space.least(self.space.places[*at]), *at));
        let needed =
            if self.is_wrong(&[]) == Some(false) { Vec::new() } else { self.needed(&[], &all, false, By::Search)? };
        let mut choices = needed;
        choices.shared_sort();
        for at in 0..choices.len() {
            self.weaken(&mut choices, at, By::Search);
        }
        let choices = self.exchanged(choices, By::Search)?;
        let chosen = self.chosen(choices);
        (chosen.cost < below && !self.refuted.contains(&chosen.choices) && self.is_right(&chosen.choices))
            .then_some(chosen)
    }

    /// The cheapest repair that costs less than this.
    pub(super) fn cheapest(&mut self, mut below: u32) -> Option<Chosen> {
        let mut best = None;
        loop {
            let left = below.checked_sub(self.path.cost).filter(|left| *left > 0)?;
            let options = hit::Options { places: &self.space.places, costs: &self.space.costs };
            let taken = {
                let _entered = self.oracle.effort.question();
                hit::cheapest(&options, &self.demands, left)
            };
            let taken = match taken {
                Ok(None) => return best,
                Ok(Some(taken)) if !self.oracle.is_over() => taken,
                Ok(Some(_)) | Err(hit::CutShort) => {
                    self.open.get_or_insert_with(|| self.oracle.why_over());
                    return best;
                }
            };
            match self.judge(&taken.choices) {
                Judged::Right if !self.refuted.contains(&taken.choices) => return Some(self.chosen(taken.choices)),
                Judged::Wrong => {
                    self.learn(taken.choices, left);
                    // A repair that is cheaper makes less worth asking about.
                    if best.is_none()
                        && let Some(better) = self.some(below)
                    {
                        below = better.cost;
                        best = Some(better);
                    }
                }
                Judged::Right | Judged::Lost => self.leave_out(&taken.choices),
                Judged::Open(why) => {
                    self.open.get_or_insert(why);
                    self.leave_out(&taken.choices);
                }
            }
        }
    }

    /// A repair that something refuted: another one must differ from it.
    pub(super) fn refute(&mut self, chosen: &Chosen) {
        self.leave_out(&chosen.choices);
        self.refuted.push(chosen.choices.clone());
    }

    /// Repairs that cost as much, with one option in place of another, those further up first.
    pub(super) fn alike(&mut self, chosen: &Chosen) -> Vec<Chosen> {
        let mut found = Vec::new();
        let mut asked = 0;
        for own in &chosen.choices {
            let rest: Vec<usize> = chosen.choices.iter().copied().filter(|at| at != own).collect();
            let places: Vec<usize> = chosen.choices.iter().map(|at| self.space.places[*at]).collect();
            let others = (0..self.space.options.len()).filter(|at| {
                self.space.costs[*at] == self.space.costs[*own] && !places.contains(&self.space.places[*at])
            });
            let mut others: Vec<usize> = others.collect();
            others.shared_sort_by_key(|at| at.abs_diff(*own));
            for other in others {
                if asked >= MOST_ALIKE / chosen.choices.len() || self.oracle.is_over() {
                    break;
                }
                asked += 1;
                let set = self.with(&rest, [other]);
                if self.is_wrong(&set) == Some(false) && self.is_right(&set) {
                    found.push(self.chosen(set));
                }
            }
            asked = 0;
        }
        found.shared_sort_by(|one, other| one.choices.cmp(&other.choices));
        found.dedup();
        found
    }

    /// Without words for an instruction that the path puts something else in the place of.
    pub(super) fn edits(&self, choices: &[usize]) -> Vec<&'s Edit> {
        let others = self.space.edits(choices).into_iter().filter(|edit| self.has_place(edit));
        self.path.edits.iter().chain(others).collect()
    }

    fn has_place(&self, edit: &Edit) -> bool {
        let (thread, span, is_strength) = match edit.change {
            Change::Strengthen { thread, span, .. } => (thread, span, true),
            Change::Replace { thread, span, .. }
            | Change::Wait { thread, span, .. }
            | Change::Reword { thread, span, .. }
            | Change::Return { thread, span } => (thread, span, false),
            _ => return true,
        };
        let by = self.path.edits.iter().find_map(|own| match &own.change {
            Change::Replace { thread: its, span: at, by } if (*its, *at) == (thread, span) => Some(by),
            _ => None,
        });
        let Some(by) = by else { return true };
        // Corrected numbers and names leave an instruction that takes the same words.
        let own = instruction_at(&self.oracle.test.litmus, thread, span).map(|(_, own)| own.opcode.node.as_str());
        is_strength && own != Some("fence") && own == by.split('.').next()
    }

    fn chosen(&self, choices: Vec<usize>) -> Chosen {
        let cost = self.path.cost + choices.iter().map(|at| self.space.costs[*at]).sum::<u32>();
        Chosen { choices, cost }
    }

    fn judge(&self, choices: &[usize]) -> Judged {
        self.oracle.judge(&self.name(choices), &self.edits(choices))
    }

    /// The number of the path, and those of the choices.
    fn name(&self, choices: &[usize]) -> Vec<usize> {
        [self.number].into_iter().chain(choices.iter().copied()).collect()
    }

    pub(super) fn is_right(&mut self, choices: &[usize]) -> bool {
        match self.judge(choices) {
            Judged::Right => true,
            Judged::Open(why) => {
                self.open.get_or_insert(why);
                false
            }
            Judged::Wrong | Judged::Lost => false,
        }
    }

    /// Whether something that must not be is possible with these; None where that is not known.
    fn is_wrong(&mut self, choices: &[usize]) -> Option<bool> {
        let covers = |large: &[usize], small: &[usize]| {
            small.iter().all(|one| large.iter().any(|other| self.space.is_below(*one, *other)))
        };
        if self.wrong.iter().any(|known| covers(known, choices)) {
            return Some(true);
        }
        if self.not_wrong.iter().any(|known| covers(choices, known)) {
            return Some(false);
        }
        match self.judge(choices) {
            Judged::Wrong => {
                self.wrong.push(choices.to_vec());
                Some(true)
            }
            Judged::Right | Judged::Lost => {
                self.not_wrong.push(choices.to_vec());
                Some(false)
            }
            Judged::Open(why) => {
                self.open.get_or_insert(why);
                None
            }
        }
    }

    /// Of every place that has an option below this cost the strongest of those; where none is, the strongest of all.
    fn everything(&self, below: u32) -> Vec<usize> {
        (0..self.space.strongest.len()).filter_map(|place| self.strongest(place, below)).collect()
    }

    fn strongest(&self, place: usize, below: u32) -> Option<usize> {
        let top = self.space.strongest[place];
        if self.space.costs[top] < below {
            return Some(top);
        }
        let cheap: Vec<usize> = self.space.of_place(place).filter(|at| self.space.costs[*at] < below).collect();
        let is_top = |at: &&usize| cheap.iter().all(|other| self.space.is_below(*other, **at));
        match cheap.iter().find(is_top) {
            Some(own) => Some(*own),
            None => (!cheap.is_empty()).then_some(top),
        }
    }

    /// What of these is needed beside the first: nothing of it may be left out. The earlier ones are kept rather.
    fn needed(&mut self, base: &[usize], rest: &[usize], has_grown: bool, by: By) -> Option<Vec<usize>> {
        if self.oracle.is_over() {
            self.open.get_or_insert_with(|| self.oracle.why_over());
            return None;
        }
        if has_grown && !self.stays(&self.with(base, []), by)? {
            return Some(Vec::new());
        }
        if rest.len() <= 1 {
            return Some(rest.to_vec());
        }
        let (kept, dear) = rest.split_at(rest.len() / 2);
        let of_dear = self.needed(&self.with(base, kept.iter().copied()), dear, true, by)?;
        let of_kept = self.needed(&self.with(base, of_dear.iter().copied()), kept, !of_dear.is_empty(), by)?;
        Some(of_kept.into_iter().chain(of_dear).collect())
    }

    /// The cheapest option in place of one of these with which they are a repair.
    fn weaken(&mut self, choices: &mut [usize], at: usize, by: By) {
        let own = choices[at];
        let mut options: Vec<usize> = self.space.of_place(self.space.places[own]).collect();
        options.shared_sort_by_key(|at| self.space.costs[*at]);
        for option in options.into_iter().take_while(|at| self.space.costs[*at] < self.space.costs[own]) {
            choices[at] = option;
            if self.stays(choices, by) == Some(false) {
                return;
            }
            choices[at] = own;
        }
    }

    /// The same with cheaper options of other places in place of each, where those do as well: instead of a fence that is put in, a
    /// word on one that stands there.
    fn exchanged(&mut self, mut choices: Vec<usize>, by: By) -> Option<Vec<usize>> {
        for own in choices.clone() {
            if !choices.contains(&own) {
                continue;
            }
            let cost = self.space.costs[own];
            let rest: Vec<usize> = choices.iter().copied().filter(|at| *at != own).collect();
            let is_free = |at: &usize| rest.iter().all(|other| self.space.places[*other] != self.space.places[*at]);
            let cheaper = self.everything(cost).into_iter().filter(|at| self.space.costs[*at] < cost && is_free(at));
            let mut cheaper: Vec<usize> = cheaper.collect();
            if self.stays(&self.with(&rest, cheaper.iter().copied()), by) != Some(false) {
                continue;
            }
            cheaper.shared_sort_by_key(|at| self.space.rank(*at));
            let mut others = self.needed(&rest, &cheaper, true, by)?;
            others.extend(rest);
            others.shared_sort();
            for at in 0..others.len() {
                self.weaken(&mut others, at, by);
            }
            let cost = |choices: &[usize]| choices.iter().map(|at| self.space.costs[*at]).sum::<u32>();
            if cost(&others) < cost(&choices) {
                choices = others;
            }
        }
        Some(choices)
    }

    /// This set is none, and nothing is known of others: one must differ from it.
    fn leave_out(&mut self, choices: &[usize]) {
        let others = (0..self.space.options.len()).filter(|at| !choices.contains(at));
        self.demands.push(others.collect());
    }

    /// A set that is no repair, made larger with what costs less than this as long as it is none: what is not below it is the
    /// next demand. Where a bad execution is known, the set grows as long as one that is known stays: that asks for no search.
    fn learn(&mut self, mut choices: Vec<usize>, below: u32) {
        let by = if self.is_shown_wrong(&choices) { By::Known } else { By::Search };
        let tops = self.everything(below);
        self.grow(&mut choices, &tops, (below, by));
        let is_covered = |at: &usize| choices.iter().any(|own| self.space.is_below(*at, *own));
        let demand = (0..self.space.options.len()).filter(|at| !is_covered(at) && self.space.costs[*at] < below);
        self.demands.push(demand.collect());
    }

    /// Raises as many places to these options as leave it wrong: all at once if that does, else half by half.
    fn grow(&mut self, choices: &mut Vec<usize>, tops: &[usize], (below, by): (u32, By)) {
        let raised = self.with(choices, tops.iter().copied());
        if raised == *choices {
            return;
        }
        if self.stays(&raised, by) == Some(true) {
            *choices = raised;
            return;
        }
        if let [top] = tops {
            return self.raise(choices, self.space.places[*top], (below, by));
        }
        let (upper, lower) = tops.split_at(tops.len() / 2);
        self.grow(choices, upper, (below, by));
        self.grow(choices, lower, (below, by));
    }

    /// Raises one place as far as leaves it wrong, whose strongest option does not.
    fn raise(&mut self, choices: &mut Vec<usize>, place: usize, (below, by): (u32, By)) {
        let mut options: Vec<usize> = self.space.of_place(place).filter(|at| self.space.costs[*at] < below).collect();
        options.shared_sort_by_key(|at| std::cmp::Reverse(self.space.costs[*at]));
        for option in options {
            let own = choices.iter().find(|at| self.space.places[**at] == place);
            let is_higher = own.is_none_or(|own| *own != option && self.space.is_below(*own, option));
            let raised = self.with(choices, [option]);
            if is_higher && self.stays(&raised, by) == Some(true) {
                *choices = raised;
                return;
            }
        }
    }

    /// Whether these are known to be wrong; None where that is not decided.
    fn stays(&mut self, choices: &[usize], by: By) -> Option<bool> {
        match by {
            By::Known => Some(self.is_shown_wrong(choices)),
            By::Search => self.is_wrong(choices),
        }
    }

    /// Whether a bad execution that is known stays.
    fn is_shown_wrong(&self, choices: &[usize]) -> bool {
        self.oracle.is_shown_wrong(&self.name(choices), &self.edits(choices))
    }

    /// The choices with others in place of those of the same places.
    fn with(&self, choices: &[usize], others: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut raised = choices.to_vec();
        for other in others {
            raised.retain(|own| self.space.places[*own] != self.space.places[other]);
            raised.push(other);
        }
        raised.shared_sort();
        raised
    }
}
