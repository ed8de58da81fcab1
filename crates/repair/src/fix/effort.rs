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
/// For enumeration alone. It answers soon or not at all: of the repairs of `corpus/pairs.tsv` none took it more than 10,000.
const ENUMERATING: u64 = 500_000;
/// For what the proposers of `check` know.
const PROPOSING: u64 = 2_500_000;

/// For changes of paths in what `check` says is missing: less than half a second.
const ADVICE: u64 = 200_000;

/// For each event of a changed test in which a bad execution is followed, and of one that is searched.
const FOLLOWED: u64 = 1;
const SEARCHED: u64 = 16;

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

    /// The limits of one question.
    pub(super) fn question(&self) -> Option<Entered> {
        let end = self.end.get()?;
        Some(limits::enter_work(end.saturating_sub(limits::work()).min(ONE)))
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
    limits::count(unfolding.events.len() as u64 * SEARCHED);
}

/// The same for a bad execution that is followed.
pub(super) fn followed(unfolding: &Unfolding) {
    limits::count(unfolding.events.len() as u64 * FOLLOWED);
}
