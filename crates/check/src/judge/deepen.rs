//! Loops that were not unrolled far enough.
//!
//! A loop that is no spin loop is unrolled so often, and where an execution can go round once more the answer is not known.
//! Often it is with a little more: a retry that fails once for each other thread, a counter that goes to three. So a check
//! for which nobody chose the bound is repeated with 3, 4, 6 and 8 iterations while the answer is open for that reason. What
//! is known at the first bound is never looked for again: neither its verdict nor its counts change.
//!
//! Unrolling further costs more each time, so all of it together may take [`MOST_TIME`], within the user's own limit, or
//! `MOST_WORK` where work is limited and not time. What it does not decide is answered as it was.

use std::time::{Duration, Instant};

use fencepost_report::verdict::Verdict;
use fencepost_report::why::Why;
use fencepost_syntax::limits;

use crate::judge::found::{Answers, Aspect};
use crate::judge::verdict;
use crate::options::{Deepening, Options};
use crate::test::Test;

/// After the bound that was given.
const BOUNDS: [u32; 4] = [3, 4, 6, 8];

/// For all deeper checks together.
pub const MOST_TIME: Duration = Duration::from_secs(4);
const MOST_WORK: u64 = 2_000_000;

/// Whether a larger bound may give an answer.
fn is_open(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Unknown(Why::Bound(_)))
}

/// The answers, and the bound that they were found with.
pub fn check(test: &Test, options: &Options, check: impl Fn(&Options) -> Answers) -> (Answers, u32) {
    let first = check(options);
    if options.deepening == Deepening::Off || !is_open(&verdict::of_test(test, &first)) {
        return (first, options.bound);
    }
    let is_counted = limits::is_of_work();
    let _entered = is_counted.then(|| limits::enter_work(MOST_WORK));
    let begun = Instant::now();
    let mut best = (first, options.bound);
    for bound in BOUNDS.into_iter().filter(|bound| *bound > options.bound) {
        let budget = match is_counted {
            true => options.budget.clone(),
            false => options.budget.within(MOST_TIME.saturating_sub(begun.elapsed())),
        };
        if budget.is_over() || is_counted && limits::is_over() {
            break;
        }
        let deeper = Options { bound, budget, ..options.clone() };
        let answers = Answers { deepened: Some(bound), ..check(&deeper) };
        let verdict = verdict::of_test(test, &answers);
        if !matches!(verdict, Verdict::Unknown(_)) {
            return (answers, bound);
        }
        // A race is one whatever lies beyond.
        let races = |answers: &Answers| answers.answer(Aspect::Races).is_yes();
        if is_open(&verdict) && races(&answers) && !races(&best.0) {
            best = (answers, bound);
        } else if !is_open(&verdict) {
            break;
        }
    }
    best
}
