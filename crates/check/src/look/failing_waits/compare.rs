//! Random programs that wait, decided thread by thread ([`super`]), in one, and with loops unrolled in the text: the same
//! races, and the same broken rules of mbarriers.
//!
//! The whole unfolding with failing iterations shares with the parts what the unfolding rules say (one failing iteration per
//! thread, none where `wait::only_waits` says so); the unrolled text shares nothing with either, but has no execution that
//! never ends.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;

use fencepost_axiom::engine::Ends;
use fencepost_program::unfold::unfold_accesses;
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::sorted::SortedSet;
use fencepost_syntax::{Source, Span};

use super::draft::{Draft, Loops, Random, Site, Written};
use super::{Part, is_quiet, parts, parts_by};
use crate::look::race_search::{Effort, Met, RaceSearch, SearchedPart};
use crate::look::search::Searcher;
use crate::options::{DEFAULT_BOUND, Options};
use crate::{LoadedModel, Models, load};

/// Programs in `cargo test`; those with too many executions to list are not counted.
const PROGRAMS: u64 = 100;

/// What was found, by the instructions it is about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Faults {
    races: BTreeSet<(String, BTreeSet<Site>)>,
    broken: BTreeSet<(u32, &'static str, Site)>,
}

type Splitting = for<'a> fn(&'a Unfolding) -> Vec<Part<'a>>;

fn in_one(unfolding: &Unfolding) -> Vec<Part<'_>> {
    vec![Part { unfolding: Cow::Borrowed(unfolding), about: SortedSet::new() }]
}

/// None where there are too many executions.
fn faults(written: &Written, model: &LoadedModel, split: Splitting, ends: Ends) -> Option<Faults> {
    let (tests, diagnostics) = load(&Source::new("t.litmus", written.text.clone()));
    assert!(tests.len() == 1 && !diagnostics.iter().any(|found| found.is_error()), "{diagnostics:?}\n{}", written.text);
    let program = &tests[0].program;
    let unfolding = unfold_accesses(program, &model.unfolding(DEFAULT_BOUND)).expect("an unfolding");
    let options = Options::default();
    let searcher = Searcher::new(&unfolding, model, &options);
    let filter = program.filter.as_ref().map(|filter| &filter.node);
    let (parts, replayer) = (split(&unfolding), OnceCell::new());
    let parts = SearchedPart::all(&parts, &searcher);
    let search = RaceSearch { unfolding: &unfolding, model, filter, searcher, parts, replayer: &replayer };
    let mut met = Met::nothing();
    search.look(model.flags(), ends, Effort::Capped, &mut met);
    let site = |span: Span| {
        let line = written.text[..span.start as usize].matches('\n').count();
        *written.sites.get(&line).unwrap_or(&(usize::MAX, 0, 0))
    };
    let races = met.races.races.keys().filter(|key| key.is_pair());
    let races = races.map(|key| (key.flag.clone(), BTreeSet::from([site(key.first), site(key.second)])));
    let broken = met.protocol.errors.keys().map(|key| (key.location.0, key.kind.name(), site(key.span)));
    met.complete.then(|| Faults { races: races.collect(), broken: broken.collect() })
}

/// What two ways to decide a program differ in.
fn difference(draft: &Draft, model: &LoadedModel, split: Splitting) -> Option<String> {
    let (loops, unrolled) = (draft.written(Loops::Loops), draft.written(Loops::Attempts(3)));
    for ends in [Ends::Terminating, Ends::Stuck] {
        let (few, whole) = (faults(&loops, model, split, ends)?, faults(&loops, model, in_one, ends)?);
        if few != whole {
            return Some(format!("{}\n{ends:?} in parts {few:?}\nin one {whole:?}", loops.text));
        }
    }
    let mut few = faults(&loops, model, split, Ends::Terminating)?;
    let mut many = faults(&unrolled, model, in_one, Ends::Terminating)?;
    // Of a thread that comes too early to an mbarrier, the first access is promised, and found.
    few.races.retain(|race| !follows(draft, race, &many));
    many.races = many.races.iter().filter(|race| !follows(draft, race, &many)).cloned().collect();
    // An mbarrier that is raced for may be found broken in more places: `wait::only_waits` promises the races only.
    if few.races == many.races
        && few.races.iter().flat_map(|(_, sites)| sites).any(|site| draft.object(*site).is_some())
    {
        assert!(few.broken.is_subset(&many.broken), "{}\nmore is broken than can be", loops.text);
        (few.broken, many.broken) = Default::default();
    }
    (few != many).then(|| format!("{}\n{}\nwith loops {few:?}\nunrolled {many:?}", loops.text, unrolled.text))
}

/// Whether another race is of the same other access and an earlier one of this thread to the same mbarrier.
fn follows(draft: &Draft, (flag, sites): &(String, BTreeSet<Site>), all: &Faults) -> bool {
    let earlier = |site: &Site, other: &Site| {
        let is_same = draft.object(*site).is_some() && draft.object(*site) == draft.object(*other);
        is_same && other.0 == site.0 && other.1 < site.1
    };
    sites.iter().any(|site| {
        let rest: BTreeSet<Site> = sites.iter().filter(|other| *other != site).copied().collect();
        let same = all.races.iter().filter(|(other, _)| other == flag);
        same.into_iter().any(|(_, others)| {
            rest.is_subset(others) && others.len() == 2 && others.iter().any(|other| earlier(site, other))
        })
    })
}

/// The smallest program that shows a difference.
fn shrunk(draft: &Draft, model: &LoadedModel, split: Splitting) -> Option<String> {
    let mut found = difference(draft, model, split)?;
    let mut draft = draft.clone();
    while let Some((next, told)) = draft.smaller().into_iter().find_map(|small| {
        let told = difference(&small, model, split)?;
        Some((small, told))
    }) {
        (draft, found) = (next, told);
    }
    Some(found)
}

fn programs(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Draft)> {
    seeds.map(|seed| (seed, Draft::new(&mut Random(seed))))
}

#[test]
fn waits_decided_thread_by_thread_are_those_decided_at_once() {
    let model = Models::shipped("ptx").expect("shipped");
    let (mut racy, mut broken) = (0, 0);
    let seeds = std::env::var("FENCEPOST_WAITS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(PROGRAMS);
    for (seed, draft) in programs(0..seeds) {
        if let Some(told) = shrunk(&draft, &model, parts) {
            panic!("seed {seed}\n{told}");
        }
        let found = faults(&draft.written(Loops::Loops), &model, parts, Ends::Terminating).unwrap_or_default();
        racy += u64::from(!found.races.is_empty());
        broken += u64::from(!found.broken.is_empty());
    }
    assert!(racy > seeds / 8 && broken > seeds / 10 && racy < seeds, "{racy} racy, {broken} broken of {seeds}");
}

/// Without the parts of single threads, or with that of one thread only, races of waits that answer no are lost.
#[test]
fn a_wrong_idea_of_what_is_quiet_is_noticed() {
    let model = Models::shipped("ptx").expect("shipped");
    let without_threads: Splitting = |unfolding| parts_by(unfolding, is_quiet).into_iter().take(1).collect();
    let one_thread: Splitting = |unfolding| parts_by(unfolding, is_quiet).into_iter().take(2).collect();
    for (name, wrong) in [("without threads", without_threads), ("one thread", one_thread)] {
        let noticed = programs(0..4 * PROGRAMS).find(|(_, draft)| difference(draft, &model, wrong).is_some());
        assert!(noticed.is_some(), "{name}");
    }
}
