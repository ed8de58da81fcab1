//! How much work the search for a repair may take, as the engines count it ([`limits::work`]) and never in time: the same test
//! has the same answer on every machine, however busy that is. Where the user limits the time, that limit alone counts.

use std::cell::Cell;

use fencepost_check::options::{EngineChoice, Options};
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::limits::{self, Entered};

/// To find a repair: a quarter of a minute or so.
const FINDING: u64 = 8_000_000;
/// To find a cheaper one, or a proof that there is none, since the last that was found: a few seconds.
const PROVING: u64 = 1_000_000;
/// For one changed test, and for one way to confirm a repair.
const ONE: u64 = 2_500_000;
/// For repairs that only order what is there, before others are looked for.
const QUICK: u64 = 500_000;
/// A proof that has taken so much is not gone on with where the rest of it is expected to take more than so many times what is
/// left. Before, it may find what is cheaper, and then little is left to ask.
const HOPELESS_FROM: u64 = PROVING / 8;
const HOPELESS: u64 = 4;
/// For a change of paths by itself: of many that are tried one after the other most are soon decided.
const ALONE: u64 = 250_000;
/// For enumeration alone. It answers soon or not at all: of the repairs of `corpus/pairs.tsv` none took it more than 10,000.
const ENUMERATING: u64 = 250_000;
/// For what the proposers of `check` know.
const PROPOSING: u64 = 2_500_000;

/// For changes of paths in what `check` says is missing: less than half a second.
const ADVICE: u64 = 200_000;

/// For each event of a changed test in which a bad execution is followed, and of one that is searched.
const FOLLOWED: u64 = 1;
const SEARCHED: u64 = 16;
/// Relations are matrices: so many events more make each of them as much dearer again.
const ROWS: u64 = 256;

/// Where the search ends.
pub(super) struct Effort {
    /// None: where the time does.
    last: Option<u64>,
    end: Cell<Option<u64>>,
}

impl Effort {
    /// From now on.
    pub(super) fn new(options: &Options) -> Effort {
        let last = options.budget.time().is_none().then(|| limits::work().saturating_add(FINDING));
        Effort { last, end: Cell::new(last) }
    }

    /// As much as it takes.
    pub(super) fn unlimited() -> Effort {
        Effort { last: None, end: Cell::new(None) }
    }

    /// From now on as much as `check` has for changes of paths.
    pub(super) fn begin_advice(&self) {
        self.end.set(Some(limits::work().saturating_add(ADVICE)));
    }

    pub(super) fn is_over(&self) -> bool {
        self.end.get().is_some_and(|end| limits::work() >= end)
    }

    /// A repair is known, or one that is cheaper.
    pub(super) fn found(&self) {
        self.end.set(self.last.map(|last| last.min(limits::work().saturating_add(PROVING))));
    }

    /// The end of what is done from now on, as far as it may take; what was the end is given back.
    pub(super) fn begin_quick(&self) -> Option<u64> {
        let before = self.end.get();
        self.end.set(before.map(|end| end.min(limits::work().saturating_add(QUICK))));
        before
    }

    pub(super) fn end_quick(&self, before: Option<u64>) {
        self.end.set(before);
    }

    /// Whether so many questions more, each like those that took `spent` together, are far too many.
    pub(super) fn is_hopeless(&self, spent: u64, asked: u64, left: u64) -> bool {
        let expected = (spent / asked.max(1)).saturating_mul(left);
        spent >= HOPELESS_FROM
            && self.end.get().is_some_and(|end| expected / HOPELESS > end.saturating_sub(limits::work()))
    }

    /// The limits of one question.
    pub(super) fn question(&self) -> Option<Entered> {
        let end = self.end.get()?;
        Some(limits::enter_work(end.saturating_sub(limits::work()).min(ONE)))
    }

    /// Those of a change of paths by itself.
    pub(super) fn alone(&self) -> Option<Entered> {
        let end = self.end.get()?;
        Some(limits::enter_work(end.saturating_sub(limits::work()).min(ALONE)))
    }

    /// Those of a question about a repair, which is asked even where the search is over.
    pub(super) fn confirming(&self, engine: EngineChoice) -> Option<Entered> {
        let most = if engine == EngineChoice::Enumerate { ENUMERATING } else { ONE };
        self.last.map(|_| limits::enter_work(most))
    }

    pub(super) fn proposing(&self) -> Option<Entered> {
        self.last.map(|_| limits::enter_work(PROPOSING))
    }
}

/// Counts what engines do not before they search: the unfolding itself, and what is fixed in the model over it.
pub(super) fn searched(unfolding: &Unfolding) {
    count(unfolding, SEARCHED);
}

/// The same for a bad execution that is followed.
pub(super) fn followed(unfolding: &Unfolding) {
    count(unfolding, FOLLOWED);
}

fn count(unfolding: &Unfolding, each: u64) {
    let events = unfolding.events.len() as u64;
    limits::count(events * each * (ROWS + events) / ROWS);
}
