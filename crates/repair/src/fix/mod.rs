//! The cheapest change of a test with which it is right, and a proof that nothing cheaper is.
//!
//! The changes that may be made (`space`) only take executions away. So if a set of them is no repair, none of its subsets
//! is, and a repair must have something that a largest such set has not: that is a demand. The cheapest set that meets all
//! demands so far (`hit`) is tried next; if it is a repair, nothing cheaper is one, because whatever is cheaper fails a demand.
//! If it is none, it is made larger as long as a bad execution that is known stays (`counterexamples`), and what is left is the
//! next demand. Whether a set is a repair is asked of the search that answers tests (`oracle`); the repair is then confirmed under
//! every reading, by the other engine and with more rounds of the loops.

#[cfg(test)]
mod compare;
pub mod costs;
mod counterexamples;
mod hit;
mod oracle;
pub(crate) mod paths;
pub(crate) mod space;
pub(crate) mod states;
mod told;
pub mod want;

use fencepost_check::judge::readings;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::options::{EngineChoice, Options};
use fencepost_check::test::Test;
use fencepost_report::WhyUnknown;
pub use fencepost_report::fix::{Because, FixAnswer, FixReport};
use fencepost_report::fix::{FixChange, Repair, SCHEMA};
use fencepost_report::why::{Undecided, Why};
use fencepost_syntax::Span;

use self::costs::Costs;
use self::hit::Taken;
use self::oracle::{Judged, Oracle};
use self::paths::Path;
use self::space::Space;
use self::states::Kept;
use self::want::Said;
use crate::edit::{Edit, text};

/// More rounds of loops than a repair was found with, for which it must be one too.
const MORE_ROUNDS: u32 = 2;

/// How to look for a repair.
pub struct Fixing<'f> {
    pub options: &'f Options,
    pub costs: &'f Costs,
    /// What is known of an `exists`.
    pub said: Said<'f>,
    /// Whether what stands there may not be changed.
    pub is_kept: &'f dyn Fn(Span) -> bool,
}

/// A report, and the text of the test with the repair in it, where its notation has a place for that.
pub struct Fixed {
    pub report: FixReport,
    pub text: Option<String>,
}

enum Outcome {
    AlreadyRight,
    Repaired(Box<Found>),
    /// Not even all changes together make it right.
    NoRepair,
    /// What kept the search from an answer.
    Open(Why),
}

/// The cheapest repair of a test under a model.
pub fn fix(test: &Test, model: &LoadedModel, fixing: &Fixing<'_>) -> Fixed {
    let options = &fixing.options.begun();
    let _entered = readings::enter(options);
    let wants = want::wants(test, options, fixing.said);
    let oracle = Oracle::new(test, model, options, &wants);
    let mut choices = 0;
    let outcome = match oracle.judge(&[0], &[]) {
        Judged::Right => Outcome::AlreadyRight,
        Judged::Open(why) => Outcome::Open(why),
        // What only takes executions away brings nothing back.
        Judged::Lost => Outcome::NoRepair,
        Judged::Wrong => {
            let space = Space::new(test, model, fixing.costs, fixing.is_kept);
            let paths = paths::paths(test, fixing.costs, fixing.is_kept);
            choices = (space.options.len() + paths.len()) as u64;
            run(&space, &paths, &oracle)
        }
    };
    let (answer, repair, text, why) = match outcome {
        Outcome::AlreadyRight => (FixAnswer::Right, None, None, None),
        Outcome::Repaired(found) => (FixAnswer::Repaired, Some(found.repair), found.text, None),
        Outcome::NoRepair => (FixAnswer::NoRepair, None, None, None),
        Outcome::Open(why) => (FixAnswer::Undecided, None, None, Some(WhyUnknown::new(&why, &test.source))),
    };
    let report = FixReport {
        schema: SCHEMA,
        test: test.name().to_owned(),
        file: test.source.name.clone(),
        model: model.name.clone(),
        answer,
        wants: wants.iter().map(|want| want.told(test)).collect(),
        repair,
        why,
        options: choices,
        asked: oracle.asked.get(),
    };
    Fixed { report, text }
}

/// What one search found.
struct Found {
    repair: Repair,
    text: Option<String>,
}

/// Without a change of paths, then with each, as long as one may be cheaper than the best so far.
fn run(space: &Space, paths: &[Path], oracle: &Oracle<'_>) -> Outcome {
    let mut best: Option<Found> = None;
    let mut open = None;
    let mut kept = None;
    let none = Path { edits: Vec::new(), cost: 0 };
    for (number, path) in std::iter::once(&none).chain(paths).enumerate() {
        let below = best.as_ref().map_or(u32::MAX, |best| best.repair.cost);
        if path.cost >= below {
            break;
        }
        if oracle.options.budget.is_over() {
            open.get_or_insert(Why::Time);
            break;
        }
        let mut search = Search { space, path, number, oracle, demands: Vec::new(), open: None };
        if number > 0 {
            if search.is_hopeless(below - path.cost) {
                open = open.or(search.open);
                continue;
            }
            let kept = kept.get_or_insert_with(|| Kept::new(oracle.test, oracle.model, oracle.options));
            let edits: Vec<&Edit> = path.edits.iter().collect();
            let Some((_, program)) = space::changed_program(&oracle.test.litmus, &edits) else { continue };
            let keeps = kept.as_ref().and_then(|kept| kept.are_in(&program, oracle.options));
            match keeps {
                Some(true) => {}
                Some(false) => continue,
                // What the program computes is not known: nor is whether this is a repair.
                None => {
                    if search.cheapest(below - path.cost).is_some() {
                        open.get_or_insert(Why::Size(Undecided::Search));
                    }
                    open = open.or(search.open);
                    continue;
                }
            }
        }
        let found = search.cheapest(below - path.cost);
        open = open.or(search.open);
        best = found.or(best);
    }
    match (best, open) {
        (Some(mut found), open) => {
            found.repair.cheapest = open.is_none();
            Outcome::Repaired(Box::new(found))
        }
        (None, Some(why)) => Outcome::Open(why),
        (None, None) => Outcome::NoRepair,
    }
}

/// For repairs with one change of paths, or with none.
struct Search<'s> {
    space: &'s Space,
    path: &'s Path,
    number: usize,
    oracle: &'s Oracle<'s>,
    demands: Vec<Vec<usize>>,
    /// Why a set was not decided, if one was not.
    open: Option<Why>,
}

/// What is asked whether a set is no repair.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Asked {
    /// The bad executions that are known.
    Known,
    /// A search for all.
    Searched,
}

impl Search<'_> {
    /// Whether something stays wrong that nothing cheap enough beside the path takes away.
    fn is_hopeless(&mut self, below: u32) -> bool {
        match self.judge(&[]) {
            Judged::Lost => true,
            Judged::Wrong => {
                self.learn(Vec::new());
                self.next(below).is_none()
            }
            Judged::Right | Judged::Open(_) => false,
        }
    }

    fn cheapest(&mut self, below: u32) -> Option<Found> {
        loop {
            let taken = self.next(below)?;
            match self.judge(&taken.choices) {
                Judged::Right => match self.repair(&taken) {
                    Some((repair, text)) => return Some(Found { repair, text }),
                    None => self.leave_out(&taken.choices),
                },
                Judged::Wrong => self.learn(taken.choices),
                // Fewer executions bring nothing back.
                Judged::Lost if taken.choices.is_empty() => return None,
                Judged::Lost => self.leave_out(&taken.choices),
                Judged::Open(why) => {
                    self.open.get_or_insert(why);
                    if self.oracle.options.budget.is_over() {
                        return None;
                    }
                    self.leave_out(&taken.choices);
                }
            }
        }
    }

    /// The cheapest set that meets all demands.
    fn next(&self, below: u32) -> Option<Taken> {
        let options = hit::Options { places: &self.space.places, costs: &self.space.costs };
        hit::cheapest(&options, &self.demands, below)
    }

    fn judge(&self, choices: &[usize]) -> Judged {
        self.oracle.judge(&self.name(choices), &self.edits(choices))
    }

    /// The number of the path, and those of the choices.
    fn name(&self, choices: &[usize]) -> Vec<usize> {
        [self.number].into_iter().chain(choices.iter().copied()).collect()
    }

    fn edits(&self, choices: &[usize]) -> Vec<&Edit> {
        self.path.edits.iter().chain(self.space.edits(choices)).collect()
    }

    /// This set is none, and nothing is known of others: one must differ from it.
    fn leave_out(&mut self, choices: &[usize]) {
        let others = (0..self.space.options.len()).filter(|at| !choices.contains(at));
        self.demands.push(others.collect());
    }

    /// A set that is no repair, made larger as long as it is none: what is not below it is the next demand. Where a bad
    /// execution is known, the set grows as long as one that is known stays: that asks for no search.
    fn learn(&mut self, mut choices: Vec<usize>) {
        let asked = if self.is_shown_wrong(&choices) { Asked::Known } else { Asked::Searched };
        let places: Vec<usize> = (0..self.space.strongest.len()).collect();
        self.grow(&mut choices, &places, asked);
        let is_covered = |at: &usize| choices.iter().any(|own| self.space.is_below(*at, *own));
        let demand: Vec<usize> = (0..self.space.options.len()).filter(|at| !is_covered(at)).collect();
        self.demands.push(demand);
    }

    /// Raises as many of these places as leave it wrong: all at once if that does, else half by half.
    fn grow(&mut self, choices: &mut Vec<usize>, places: &[usize], asked: Asked) {
        let raised = self.with(choices, places.iter().map(|place| self.space.strongest[*place]));
        if raised == *choices {
            return;
        }
        if self.is_wrong(&raised, asked) {
            *choices = raised;
            return;
        }
        if let [place] = places {
            return self.raise(choices, *place, asked);
        }
        let (upper, lower) = places.split_at(places.len() / 2);
        self.grow(choices, upper, asked);
        self.grow(choices, lower, asked);
    }

    /// Raises one place as far as leaves it wrong, whose strongest option does not.
    fn raise(&mut self, choices: &mut Vec<usize>, place: usize, asked: Asked) {
        let mut options: Vec<usize> = self.space.of_place(place).collect();
        options.sort_by_key(|at| std::cmp::Reverse(self.space.costs[*at]));
        for option in options {
            let own = choices.iter().find(|at| self.space.places[**at] == place);
            let is_higher = own.is_none_or(|own| *own != option && self.space.is_below(*own, option));
            let raised = self.with(choices, [option]);
            if is_higher && self.is_wrong(&raised, asked) {
                *choices = raised;
                return;
            }
        }
    }

    fn is_wrong(&self, choices: &[usize], asked: Asked) -> bool {
        match asked {
            Asked::Known => self.is_shown_wrong(choices),
            Asked::Searched => self.judge(choices) == Judged::Wrong,
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
        raised.sort_unstable();
        raised
    }

    /// The repair, confirmed, and the text with it; None where the confirmation finds something wrong.
    fn repair(&mut self, taken: &Taken) -> Option<(Repair, Option<String>)> {
        let edits = self.edits(&taken.choices);
        match self.oracle.confirm(&edits, EngineChoice::Auto, 0) {
            Judged::Right => {}
            Judged::Open(why) => {
                self.open.get_or_insert(why);
                return None;
            }
            Judged::Wrong | Judged::Lost => return None,
        }
        let test = self.oracle.test;
        let open = |engine, rounds| match self.oracle.confirm(&edits, engine, rounds) {
            Judged::Right => Some(None),
            Judged::Open(why) => Some(Some(WhyUnknown::new(&why, &test.source))),
            Judged::Wrong | Judged::Lost => None,
        };
        let second_engine = open(EngineChoice::Sat, 0)?;
        let more_rounds = open(EngineChoice::Auto, MORE_ROUNDS)?;
        let path = (!self.path.edits.is_empty()).then_some((&self.path.edits, self.path.cost));
        let own = taken.choices.iter().map(|at| (&self.space.options[*at].edits, self.space.costs[*at]));
        let pieces: Vec<(&Vec<Edit>, u32)> = path.into_iter().chain(own).collect();
        let groups: Vec<Vec<&Edit>> = pieces.iter().map(|(edits, _)| edits.iter().collect()).collect();
        let texts = text::of_groups(&groups, &test.litmus, &test.source);
        let text = texts.as_ref().and_then(|texts| text::applied(&test.source.text, texts.iter().flatten()));
        let texts = texts.unwrap_or_else(|| vec![Vec::new(); groups.len()]);
        let changes = pieces.into_iter().zip(texts);
        let changes = changes
            .filter_map(|((pieces, cost), edits)| Some(FixChange { what: told::told(test, pieces)?, cost, edits }));
        let repair = Repair {
            changes: changes.collect(),
            cost: taken.cost + self.path.cost,
            cheapest: true,
            second_engine,
            more_rounds,
            writable: text.is_some(),
        };
        Some((repair, text))
    }
}
