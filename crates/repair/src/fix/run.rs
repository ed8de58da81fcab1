//! All versions of a program, one after the other: as it stands, with what the proposers found, with each change of paths. The
//! best repair so far bounds what is worth looking at in the next.

use fencepost_check::options::EngineChoice;
use fencepost_report::WhyUnknown;
use fencepost_report::fix::{FixChange, Refused, Repair};
use fencepost_report::why::{Undecided, Why};
use fencepost_syntax::Span;
use fencepost_syntax::limits;
use fencepost_syntax::sorted::SharedSort as _;

use super::oracle::{Judged, Oracle};
use super::paths::Path;
use super::proposed::{Proposed, only_orders};
use super::search::{Chosen, Search};
use super::space::{Space, changed_program};
use super::states::Kept;
use super::told;
use crate::edit::{Change, Edit, text};
use crate::scene::loops;

/// More rounds of loops than a repair was found with, for which it must be one too.
pub(super) const MORE_ROUNDS: u32 = 2;
/// Repairs of equal cost that are told.
const MOST_ALTERNATIVES: usize = 3;
/// What costs more than this may cost less with a change of paths, of which there are many.
const LITTLE: u32 = 12;

pub(super) enum Outcome {
    AlreadyRight,
    Repaired(Box<Found>),
    /// Not even all changes together make it right; with what does, but for what the program computes.
    NoRepair(Option<Refused>),
    /// What kept the search from an answer.
    Open(Why),
}

/// A repair as it is reported, and the text of the test with it.
pub(super) struct Found {
    pub(super) repair: Repair,
    pub(super) text: Option<String>,
}

/// Why the other engine, and more rounds, did not decide a repair, and how often its loops were unrolled for these.
struct Confirmed {
    second_engine: Option<WhyUnknown>,
    more_rounds: Option<WhyUnknown>,
    unrolled: Option<u32>,
}

/// A version of the program, and the repair that was found for it.
struct Best {
    version: usize,
    chosen: Chosen,
}

pub(super) struct Run<'r> {
    space: &'r Space,
    oracle: &'r Oracle<'r>,
    /// The first has no change of paths, those behind it are guesses.
    versions: Vec<Path>,
    guesses: usize,
    /// Those of them that the proposers found.
    proposed: usize,
}

/// What is known so far.
struct State<'s> {
    searches: Vec<Search<'s>>,
    /// Per version: whether it computes what the program does.
    keeps: Vec<Option<bool>>,
    kept: Option<Option<Kept>>,
    best: Option<Best>,
    /// What leaves nothing wrong and makes the program compute something else.
    refused: Option<Best>,
    open: Option<Why>,
    /// Per version: how many bad executions of the test are about threads that it leaves as they are.
    left_alone: Vec<usize>,
}

impl<'r> Run<'r> {
    pub(super) fn new(space: &'r Space, proposed: Proposed, own: Vec<Path>, oracle: &'r Oracle<'r>) -> Run<'r> {
        let (guesses, number) = (proposed.guesses.len(), proposed.paths.len());
        let proposed = proposed.guesses.into_iter().chain(proposed.paths);
        let versions = std::iter::once(Path::none()).chain(proposed).chain(own).collect();
        Run { space, oracle, versions, guesses, proposed: number }
    }

    fn state(&self) -> State<'_> {
        let searches = self.versions.iter().enumerate();
        let searches = searches.map(|(number, path)| Search::new(self.space, path, number, self.oracle)).collect();
        let keeps = vec![None; self.versions.len()];
        let left_alone = |path: &Path| match path.threads() {
            threads if threads.is_empty() => 0,
            threads => self.oracle.left_alone(&threads),
        };
        let left_alone = self.versions.iter().map(left_alone).collect();
        State { searches, keeps, kept: None, best: None, refused: None, open: None, left_alone }
    }

    /// A repair for `check`, as cheap as the limits of the oracle allow, and right with more rounds of the loops too. A repair
    /// that costs much is compared with each change of paths by itself.
    pub(super) fn edits(&self) -> Option<Vec<Edit>> {
        let mut state = self.state();
        let orders = &mut state.searches[0];
        let found = match orders.quick(u32::MAX) {
            Some(quick) => orders.cheapest(quick.cost).or(Some(quick)),
            None => orders.cheapest(u32::MAX),
        };
        self.take(&mut state, 0, found);
        if state.below() > LITTLE && self.versions.len() > 1 {
            self.oracle.begin_advice();
            self.cheapest_alone(&mut state);
        }
        let Best { version, chosen } = state.best.take()?;
        let edits = state.searches[version].edits(&chosen.choices);
        let is_right = self.oracle.confirm(&edits, EngineChoice::Auto, MORE_ROUNDS) == Judged::Right;
        is_right.then(|| edits.into_iter().cloned().collect())
    }

    pub(super) fn outcome(&self) -> Outcome {
        let mut state = self.state();
        loop {
            self.bounds(&mut state);
            self.proof(&mut state);
            let Some(best) = state.best.take() else { break };
            let is_cheapest = state.open.is_none();
            match self.found(&mut state, &best, is_cheapest) {
                Some(found) => return Outcome::Repaired(Box::new(found)),
                None => state.searches[best.version].refute(&best.chosen),
            }
        }
        match state.open.take() {
            Some(why) => Outcome::Open(why),
            None => Outcome::NoRepair(self.refused(&state)),
        }
    }

    fn refused(&self, state: &State<'_>) -> Option<Refused> {
        let Best { version, chosen } = state.refused.as_ref()?;
        let (changes, _) = self.told(&state.searches[*version], chosen);
        Some(Refused { changes, cost: chosen.cost })
    }

    /// Some repairs, so that little is worth asking about afterwards.
    fn bounds(&self, state: &mut State<'_>) {
        let (likely, others): (Vec<usize>, Vec<usize>) =
            (1..=self.guesses).partition(|version| state.left_alone[*version] == 0);
        self.guessed(state, likely);
        let below = state.below();
        if !self.is_late(state) {
            let found = state.searches[0].quick(below);
            self.take(state, 0, found);
        }
        if state.below() > LITTLE {
            self.single(state);
        }
        if state.best.is_none() {
            self.guessed(state, others);
        }
        // What is as cheap and one of the options is told rather: others are compared with it.
        let rest = std::iter::once(0).chain(self.guesses + 1..=self.guesses + self.proposed);
        for version in rest {
            if self.is_late(state) {
                return;
            }
            let below = state.below().saturating_add(u32::from(version == 0));
            if self.versions[version].cost < below && self.may_be(state, version, below) {
                let found = state.searches[version].some(below);
                self.take(state, version, found);
            }
        }
    }

    /// The first of these that is a repair as it stands.
    fn guessed(&self, state: &mut State<'_>, versions: Vec<usize>) {
        for version in versions {
            let path = &self.versions[version];
            let found = state.searches[version].alone();
            let found = match path.edits.iter().all(only_orders) {
                true => found,
                false => self.keeping(state, version, found),
            };
            if self.take(state, version, found) || self.is_late(state) {
                return;
            }
        }
    }

    /// The cheapest change of paths that is a repair by itself. Asked about with everything else added to it, each takes longer.
    fn single(&self, state: &mut State<'_>) {
        let mut order: Vec<usize> = (self.guesses + 1..self.versions.len()).collect();
        // In a loop what is missing is mostly about the mbarrier of the round: a wait where something races, else an
        // arrival. Threads of one text share their mistakes.
        let races = self.oracle.races();
        order.sort_by_cached_key(|version| {
            let path = &self.versions[*version];
            let each = path.cost / path.threads().len().max(1) as u32;
            (!path.is_of_round(), path.waits() != races, state.left_alone[*version], each)
        });
        self.first_alone(state, order);
    }

    /// The same in the order of what they cost: `check` looks for the cheapest there is.
    fn cheapest_alone(&self, state: &mut State<'_>) {
        let mut order: Vec<usize> = (self.guesses + 1..self.versions.len()).collect();
        order.sort_by_cached_key(|version| (state.left_alone[*version], self.versions[*version].rank()));
        self.first_alone(state, order);
    }

    /// The first of these that is a repair by itself.
    fn first_alone(&self, state: &mut State<'_>, order: Vec<usize>) {
        for version in order {
            if self.is_late(state) {
                return;
            }
            if self.versions[version].cost >= state.below() {
                continue;
            }
            let found = state.searches[version].alone();
            let found = self.keeping(state, version, found);
            if self.take(state, version, found) {
                return;
            }
        }
    }

    /// What was found if the program computes what it did; else it is kept for the report.
    fn keeping(&self, state: &mut State<'_>, version: usize, found: Option<Chosen>) -> Option<Chosen> {
        let chosen = found?;
        if self.keeps(state, version) {
            return Some(chosen);
        }
        if state.refused.as_ref().is_none_or(|refused| chosen.cost < refused.chosen.cost) {
            state.refused = Some(Best { version, chosen });
        }
        None
    }

    /// Whether anything is cheaper, version by version, the cheapest first.
    fn proof(&self, state: &mut State<'_>) {
        let is_guess = |version: &usize| (1..=self.guesses).contains(version);
        let mut order: Vec<usize> = (0..self.versions.len()).filter(|version| !is_guess(version)).collect();
        order.shared_sort_by_key(|version| self.versions[*version].cost);
        let begun = limits::work();
        for (asked, version) in order.iter().copied().enumerate() {
            if self.versions[version].cost >= state.below() {
                break;
            }
            if self.is_late(state) {
                return;
            }
            let left =
                order[asked..].iter().take_while(|version| self.versions[**version].cost < state.below()).count();
            let spent = limits::work() - begun;
            if state.best.is_some() && self.oracle.effort.is_hopeless(spent, asked as u64, left as u64) {
                state.open.get_or_insert(Why::Size(Undecided::Search));
                return;
            }
            let below = state.below();
            if !self.may_be(state, version, below) {
                continue;
            }
            loop {
                let below = state.below();
                let Some(found) = state.searches[version].cheapest(below) else { break };
                if self.take(state, version, Some(found)) {
                    break;
                }
            }
            let open = state.searches[version].open.take();
            state.open = state.open.take().or(open);
        }
    }

    fn is_late(&self, state: &mut State<'_>) -> bool {
        let is_over = self.oracle.is_over();
        if is_over {
            state.open.get_or_insert_with(|| self.oracle.why_over());
        }
        is_over
    }

    /// Whether a version may be repaired by what is cheaper than the best so far, and computes what the program does.
    fn may_be(&self, state: &mut State<'_>, version: usize, below: u32) -> bool {
        let may_be = state.searches[version].may_repair(below);
        let open = state.searches[version].open.take();
        state.open = state.open.take().or(open);
        may_be && (version == 0 || self.keeps(state, version))
    }

    fn keeps(&self, state: &mut State<'_>, version: usize) -> bool {
        if let Some(known) = state.keeps[version] {
            return known;
        }
        let Oracle { test, model, options, wants, .. } = self.oracle;
        let edits: Vec<&Edit> = self.versions[version].edits.iter().collect();
        let _entered = self.oracle.effort.question();
        let kept = state.kept.get_or_insert_with(|| Kept::new(test, model, options, wants)).as_ref();
        let changed = changed_program(&test.litmus, &edits);
        let keeps = changed.map_or(Some(false), |(litmus, program)| {
            kept.and_then(|kept| kept.are_in((test, model), (&edits, &litmus), &program, options))
        });
        let keeps = keeps.filter(|_| limits::ended().is_none());
        if keeps.is_none() {
            // What the program computes is not known, and a change is one that was not proved the cheapest at best.
            state.open.get_or_insert(Why::Size(Undecided::Search));
        }
        let keeps = keeps.unwrap_or_else(|| edits.iter().all(|edit| self.leaves_data(edit)));
        state.keeps[version] = Some(keeps);
        keeps
    }

    /// Whether every access to data stays as it is and where it is.
    fn leaves_data(&self, edit: &Edit) -> bool {
        let is_data = |span: Span| {
            let text = self.oracle.test.instruction_text(span);
            ["ld", "st", "atom", "red", "cp.async", "cp.reduce", "wgmma.mma", "tcgen05.mma", "tcgen05.ld", "tcgen05.st"]
                .iter()
                .any(|word| text.starts_with(word))
        };
        match &edit.change {
            Change::Remove { span, .. } | Change::Replace { span, .. } | Change::Move { span, .. } => !is_data(*span),
            Change::Hand { .. } | Change::Append { .. } | Change::Start { .. } => false,
            _ => true,
        }
    }

    /// Takes what was found if it is a repair under every reading too.
    fn take(&self, state: &mut State<'_>, version: usize, found: Option<Chosen>) -> bool {
        let Some(chosen) = found else { return false };
        let search = &mut state.searches[version];
        match self.oracle.confirm(&search.edits(&chosen.choices), EngineChoice::Auto, 0) {
            Judged::Right => {
                state.best = Some(Best { version, chosen });
                self.oracle.effort.found();
                return true;
            }
            Judged::Open(why) => {
                state.open.get_or_insert(why);
            }
            Judged::Wrong | Judged::Lost => {}
        }
        search.refute(&chosen);
        false
    }

    /// The repair with what confirms it, or one like it that is; None where nothing does.
    fn found(&self, state: &mut State<'_>, best: &Best, cheapest: bool) -> Option<Found> {
        let search = &mut state.searches[best.version];
        let mut all = search.alike(&best.chosen);
        all.retain(|it| {
            !self.oracle.is_over()
                && self.oracle.confirm(&search.edits(&it.choices), EngineChoice::Auto, 0) == Judged::Right
        });
        all.push(best.chosen.clone());
        // Those further up come first.
        all.shared_sort_by(|one, other| one.choices.cmp(&other.choices));
        let mut all = all.into_iter();
        let (chosen, confirmed) = all.find_map(|chosen| {
            let confirmed = self.confirmed(&search.edits(&chosen.choices))?;
            Some((chosen, confirmed))
        })?;
        let (changes, text) = self.told(search, &chosen);
        let alternatives: Vec<Vec<FixChange>> = all.map(|it| self.told(search, &it).0).collect();
        // Two gaps of the space may be one place of the text.
        let mut alternatives: Vec<Vec<FixChange>> =
            alternatives.into_iter().filter(|other| *other != changes).collect();
        alternatives.dedup();
        alternatives.truncate(MOST_ALTERNATIVES);
        let cost = chosen.cost;
        let writable = text.is_some();
        let Confirmed { second_engine, more_rounds, unrolled } = confirmed;
        let repair = Repair { changes, cost, cheapest, alternatives, second_engine, more_rounds, unrolled, writable };
        Some(Found { repair, text })
    }

    /// What confirms it; None where something finds that it is wrong.
    fn confirmed(&self, edits: &[&Edit]) -> Option<Confirmed> {
        let open = |judged| match judged {
            Judged::Right => Some(None),
            Judged::Open(why) => Some(Some(WhyUnknown::new(&why, &self.oracle.test.source))),
            Judged::Wrong | Judged::Lost => None,
        };
        let (judged, bound) = self.oracle.confirm_by_both(edits);
        let second_engine = open(judged)?;
        let (_, program) = changed_program(&self.oracle.test.litmus, edits)?;
        // Without a loop there is nothing to unroll, and nothing to say of more rounds.
        let unrolled = loops::goes_back(&program).then_some(bound + MORE_ROUNDS);
        let more_rounds = match unrolled {
            Some(bound) => open(self.oracle.confirm_unrolled(edits, bound))?,
            None => None,
        };
        Some(Confirmed { second_engine, more_rounds, unrolled })
    }

    /// The changes as data, and the text with them.
    fn told(&self, search: &Search<'_>, chosen: &Chosen) -> (Vec<FixChange>, Option<String>) {
        let test = self.oracle.test;
        let of_path = search.path.edits.iter().zip(&search.path.each).map(|(edit, cost)| (vec![edit], *cost));
        let of_space = chosen.choices.iter().map(|at| {
            let option = &self.space.options[*at];
            (option.edits.iter().collect::<Vec<&Edit>>(), self.space.costs[*at])
        });
        let mut pieces: Vec<(Vec<&Edit>, u32)> = of_path.collect();
        for (edits, cost) in of_space {
            // A number and a word of one instruction are told as one change of it.
            match pieces.iter_mut().find(|(own, _)| told::is_of_one(own, &edits)) {
                Some((own, total)) => {
                    own.extend(edits);
                    *total += cost;
                }
                None => pieces.push((edits, cost)),
            }
        }
        let groups: Vec<Vec<&Edit>> = pieces.iter().map(|(edits, _)| edits.clone()).collect();
        let texts = text::of_groups(&groups, &test.litmus, &test.source);
        let text = texts.as_ref().and_then(|texts| text::applied(&test.source.text, texts.iter().flatten()));
        let texts = texts.unwrap_or_else(|| vec![Vec::new(); groups.len()]);
        let changes = pieces.into_iter().zip(texts);
        let changes = changes
            .filter_map(|((pieces, cost), edits)| Some(FixChange { what: told::told(test, &pieces)?, cost, edits }));
        (changes.collect(), text)
    }
}

impl State<'_> {
    /// What a repair must cost less than.
    fn below(&self) -> u32 {
        self.best.as_ref().map_or(u32::MAX, |best| best.chosen.cost)
    }
}
