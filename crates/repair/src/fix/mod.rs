//! The cheapest change of a test with which it is right, and a proof that nothing cheaper is.
//!
//! Most changes that may be made (`space`) only take executions away. So if a set of them is no repair, none of its subsets
//! is, and a repair must have something that a largest such set has not: that is a demand. The cheapest set that meets all
//! demands so far (`hit`) is tried next; if it is a repair, nothing cheaper is one, because whatever is cheaper fails a demand
//! (`search`). Other changes (`paths`, and what the proposers of `check` find: `proposed`) are tried one by one, with what the
//! space adds to each (`run`). Whether a set is a repair is asked of the search that answers tests (`oracle`); the repair is
//! then confirmed under every reading, by the other engine and with more rounds of the loops.

#[cfg(test)]
mod compare;
pub mod costs;
mod counterexamples;
pub mod difference;
mod effort;
#[cfg(test)]
mod followed;
mod hit;
mod oracle;
pub(crate) mod paths;
mod proposed;
mod run;
mod search;
pub(crate) mod space;
pub(crate) mod states;
pub(crate) mod strength;
mod swapped;
mod told;
pub mod want;

use fencepost_check::judge::found::Aspect;
use fencepost_check::judge::readings;
use fencepost_check::look::race::RaceKey;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::options::{EngineChoice, Options};
use fencepost_check::test::Test;
use fencepost_report::WhyUnknown;
use fencepost_report::finding::FindingKind;
pub use fencepost_report::fix::{Because, FixAnswer, FixReport};
use fencepost_report::fix::{Left, SCHEMA};
use fencepost_report::why::Why;
use fencepost_syntax::Span;

use self::costs::Costs;
use self::effort::Effort;
use self::oracle::{Judged, Lifetimes, Oracle};
use self::proposed::Proposed;
use self::run::{Outcome, Run};
use self::space::Space;
use self::want::{Said, Want};
use crate::edit::Edit;

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

/// The share of the time that is kept for what confirms a repair.
const CONFIRMING: u32 = 6;

fn searching(options: &Options) -> Options {
    let budget = match options.budget.left() {
        Some(left) => options.budget.within(left - left / CONFIRMING),
        None => options.budget.clone(),
    };
    Options { budget, ..options.clone() }
}

/// Who says what the proposers find that cures something in a test.
pub(crate) type Cures = fn(&Test, &LoadedModel, &Options) -> Vec<Vec<Edit>>;

/// The cheapest repair of a test under a model.
pub(crate) fn cheapest(test: &Test, model: &LoadedModel, fixing: &Fixing<'_>, cures: Cures) -> Fixed {
    let options = &fixing.options.begun();
    let _entered = readings::enter(options);
    let wants = want::wants(test, options, fixing.said);
    let searching = searching(options);
    let attempt = |lifetimes| {
        let oracle = Oracle::new(test, model, (&searching, options), &wants);
        attempt(&oracle.within(Effort::new(options)).taking(lifetimes), fixing, cures)
    };
    let found = attempt(Lifetimes::MayStay);
    // Memory that may not be there: best there is a repair of that too. Else it is named.
    let is_left = matches!(found.outcome, Outcome::AlreadyRight | Outcome::Repaired(_)) && !found.left.is_empty();
    let Joined { found, left, mut undecided } = match is_left {
        true => joined(found, attempt(Lifetimes::AreWrong)),
        false => Joined { found: Attempt { left: Vec::new(), ..found }, left: Vec::new(), undecided: None },
    };
    let (mut repair, mut text, mut refused) = (None, None, None);
    let answer = match found.outcome {
        Outcome::AlreadyRight => FixAnswer::Right,
        Outcome::Repaired(found) => {
            (repair, text) = (Some(found.repair), found.text);
            FixAnswer::Repaired
        }
        Outcome::NoRepair(would) => {
            refused = would;
            FixAnswer::NoRepair
        }
        Outcome::Open(open) => {
            undecided = Some(open);
            FixAnswer::Undecided
        }
    };
    let report = FixReport {
        schema: SCHEMA,
        test: test.name().to_owned(),
        file: test.source.name.clone(),
        model: model.name.clone(),
        answer,
        wants: wants.iter().map(|want| want.told(test)).collect(),
        repair,
        refused,
        why: undecided.map(|why| WhyUnknown::new(&why, &test.source)),
        left: lasting(test, &left),
        options: found.choices,
        asked: found.asked,
    };
    Fixed { report, text }
}

/// The better of two attempts.
struct Joined {
    found: Attempt,
    /// What it does not mend, and why it is not known whether anything does.
    left: Vec<RaceKey>,
    undecided: Option<Why>,
}

/// Of an attempt that lets accesses to memory stay that may not be there, and one that does not.
fn joined(part: Attempt, whole: Attempt) -> Joined {
    let asked = part.asked + whole.asked;
    match (&part.outcome, whole.outcome) {
        (_, outcome @ Outcome::Repaired(_)) => {
            Joined { found: Attempt { outcome, asked, ..whole }, left: Vec::new(), undecided: None }
        }
        (Outcome::AlreadyRight, outcome) => {
            Joined { found: Attempt { outcome, asked, ..whole }, left: part.left, undecided: None }
        }
        (_, outcome) => {
            let undecided = match outcome {
                Outcome::Open(why) => Some(why),
                _ => None,
            };
            Joined { left: part.left.clone(), found: Attempt { asked, ..part }, undecided }
        }
    }
}

/// What a search has come to.
struct Attempt {
    outcome: Outcome,
    /// Accesses to memory that may not be there, in the test if it is right otherwise, or in the repair.
    left: Vec<RaceKey>,
    choices: u64,
    asked: u64,
}

fn attempt(oracle: &Oracle<'_>, fixing: &Fixing<'_>, cures: Cures) -> Attempt {
    let Oracle { test, model, options, .. } = *oracle;
    let mut choices = 0;
    let outcome = match oracle.judge(&[0], &[]) {
        Judged::Right => Outcome::AlreadyRight,
        Judged::Open(why) => Outcome::Open(why),
        // What only takes executions away brings nothing back.
        Judged::Lost => Outcome::NoRepair(None),
        Judged::Wrong => {
            let space = Space::new(test, model, fixing.costs, fixing.is_kept);
            let proposed = {
                let _entered = oracle.effort.proposing();
                proposed::proposed(test, model, options, fixing, cures)
            };
            let paths = paths::paths(test, &space, fixing);
            choices = (space.options.len() + paths.len() + proposed.paths.len()) as u64;
            Run::new(&space, proposed, paths, oracle).outcome()
        }
    };
    Attempt { outcome, left: oracle.left(), choices, asked: oracle.asked.get() }
}

/// Findings by their lines; what a change puts in has none.
fn lasting(test: &Test, left: &[RaceKey]) -> Vec<Left> {
    let line = |span: Span| test.source.line(span.start);
    let mut found: Vec<Left> = Vec::new();
    for key in left.iter().filter(|key| key.first != Span::default() && key.second != Span::default()) {
        let one = Left { finding: key.kind, first: line(key.first), second: line(key.second) };
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// Which changes are tried for what `check` says is missing.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum EditSpace {
    Orders,
    /// And changes of paths, one by one.
    OrdersAndPaths,
}

/// What `check` says is missing.
pub(crate) struct Orders {
    pub(crate) edits: Vec<Edit>,
    /// No execution has an outcome any more that an `exists` asks for and that one had.
    pub(crate) rules_out: bool,
    /// Which accesses to memory that may not be there are left.
    pub(crate) left: Vec<FindingKind>,
}

/// The cheapest changes that only take executions away, or the cheapest change of paths, with which nothing is wrong: for what
/// `check` says is missing. What an `exists` finds is no matter: only `forall`, `assert` and `~exists` say what is wrong. `found`
/// says which questions find something in the test as it is. At most so many changed tests are looked at for changes of orders;
/// those for changes of paths have a limit of work.
pub(crate) fn orders(
    test: &Test,
    model: &LoadedModel,
    options: &Options,
    (found, edits): (&[bool], EditSpace),
    most: u64,
) -> Option<Orders> {
    let (wants, others): (Vec<Want>, Vec<Want>) =
        want::wants(test, options, &|_| Some((true, Because::Expected))).into_iter().partition(|want| !want.possible);
    let oracle = Oracle::new(test, model, (options, options), &wants).at_most(most);
    if oracle.judge(&[0], &[]) != Judged::Wrong {
        return None;
    }
    let (costs, is_kept): (Costs, &dyn Fn(Span) -> bool) = (Costs::default(), &|_| false);
    let space = Space::new(test, model, &costs, is_kept).preferring_flags(test);
    let fixing = Fixing { options, costs: &costs, said: &|_| None, is_kept };
    let paths = match edits {
        EditSpace::Orders => Vec::new(),
        EditSpace::OrdersAndPaths => paths::of_synchronisation(test, &space, &fixing),
    };
    let edits = Run::new(&space, Proposed::default(), paths, &oracle).edits()?;
    let left = oracle.left().iter().map(|key| key.kind).collect();
    let is_found = |want: &Want| matches!(want.aspect, Aspect::Question(at) if found.get(at) == Some(&true));
    let kept: Vec<Want> = others.into_iter().filter(is_found).collect();
    let oracle = Oracle::new(test, model, (options, options), &kept);
    let changed: Vec<&Edit> = edits.iter().collect();
    let rules_out = !kept.is_empty() && oracle.confirm(&changed, EngineChoice::Auto, 0) == Judged::Lost;
    Some(Orders { edits, rules_out, left })
}

#[cfg(test)]
mod tests {
    use fencepost_check::look::race::{Meaning, RaceKey};
    use fencepost_report::finding::FindingKind;
    use fencepost_report::fix::Repair;
    use fencepost_report::why::Why;
    use fencepost_syntax::Span;

    use super::run::{Found, Outcome};
    use super::{Attempt, Joined, joined};

    fn attempt(outcome: Outcome) -> Attempt {
        let key = RaceKey {
            flag: "exit".to_owned(),
            kind: FindingKind::ExitBeforeAccess,
            meaning: Meaning::Noted,
            first: Span::default(),
            second: Span::default(),
        };
        Attempt { outcome, left: vec![key], choices: 1, asked: 1 }
    }

    fn repaired(cost: u32) -> Outcome {
        let (changes, alternatives) = (Vec::new(), Vec::new());
        let (second_engine, more_rounds, unrolled) = (None, None, None);
        let repair = Repair {
            changes,
            cost,
            cheapest: true,
            alternatives,
            second_engine,
            more_rounds,
            unrolled,
            writable: true,
        };
        Outcome::Repaired(Box::new(Found { repair, text: None }))
    }

    #[test]
    fn a_limit_of_the_search_for_the_whole_repair_is_told() {
        let Joined { found, left, undecided } = joined(attempt(repaired(3)), attempt(Outcome::Open(Why::Time)));
        assert!(matches!(found.outcome, Outcome::Repaired(found) if found.repair.cost == 3));
        assert_eq!((left.len(), undecided, found.asked), (1, Some(Why::Time), 2));
        let Joined { undecided, left, .. } = joined(attempt(repaired(3)), attempt(Outcome::NoRepair(None)));
        assert_eq!((left.len(), undecided), (1, None), "that nothing mends it is known");
        let Joined { found, left, undecided } = joined(attempt(repaired(3)), attempt(repaired(15)));
        assert!(matches!(found.outcome, Outcome::Repaired(found) if found.repair.cost == 15));
        assert_eq!((left.len(), undecided), (0, None));
        let open = attempt(Outcome::Open(Why::Time));
        let Joined { found, left, .. } = joined(attempt(Outcome::AlreadyRight), open);
        assert!(matches!(found.outcome, Outcome::Open(Why::Time)) && left.len() == 1);
    }
}
