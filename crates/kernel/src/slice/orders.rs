//! Every order in which threads may take turns at locks and queues: a run for each.
//!
//! The runs are the leaves of a tree: each run says how many threads it could have let go at each choice, and the next
//! one takes the next of them at the last choice that has one.

use std::rc::Rc;

use fencepost_syntax::sorted::{SortedMap, SortedSet};

use super::litmus;
use crate::code::{Entry, Module};
use crate::launch::Launch;
use crate::report::{Finding, Slice};
use crate::run::{Credit, Options, Outcome, Place, Run, Turn, Turns};

/// Orders that are tried: those of five threads that take one lock once.
const MOST_ORDERS: u64 = 120;

pub enum Found {
    /// Every order was run, and all is well in each.
    Every {
        outcome: Box<Outcome>,
        slices: Vec<Slice>,
        orders: u32,
    },
    /// In this one threads wait for ever.
    Hang(Box<Outcome>),
    /// A run with these options has a race or an error.
    Bad(Options),
    Open,
}

/// What happens in every order, of the places that the run before has looked after.
pub fn in_every_order(module: &Module, entry: &Entry, launch: &Launch, before: &Outcome, options: &Options) -> Found {
    let mut places = before.kinds.clone();
    // Where threads turn out to do something else, they take no turns.
    for _ in 0..before.kinds.len() {
        match orders_of(module, entry, launch, before, &places, options) {
            Err(refused) => places.retain(|place, _| !refused.contains(place)),
            Ok(found) => return found,
        }
    }
    Found::Open
}

/// The same of these places; an error has those that are none.
fn orders_of(
    module: &Module,
    entry: &Entry,
    launch: &Launch,
    before: &Outcome,
    places: &SortedMap<Place, Turn>,
    options: &Options,
) -> Result<Found, SortedSet<Place>> {
    if places.is_empty() || !may_be_combined(places) {
        return Ok(Found::Open);
    }
    let with = |credit: Credit, choices: Vec<u32>| {
        let turns = Rc::new(Turns { places: places.clone(), choices });
        Options { credit, places: Rc::clone(&before.looked_after), turns, ..options.clone() }
    };
    let run = |options: Options| Run::new(module, entry, launch, options).run();
    let (mut choices, mut orders, mut slices) = (Vec::new(), 0, litmus::Slices::new());
    loop {
        let outcome = run(with(Credit::Flags, choices));
        orders += 1;
        if !outcome.taken.refused.is_empty() {
            return Err(outcome.taken.refused);
        }
        if hangs(&outcome) {
            return Ok(Found::Hang(Box::new(outcome)));
        }
        if !outcome.findings.is_empty() {
            // Whether it is one of this execution, with all that its threads have seen.
            let seen = with(Credit::Observed, outcome.taken.choices.iter().map(|(chosen, _)| *chosen).collect());
            let is_bad = !run(seen.clone()).findings.is_empty();
            return Ok(if is_bad { Found::Bad(seen) } else { Found::Open });
        }
        let leaves: u64 = outcome.taken.choices.iter().fold(1, |all, (_, of)| all.saturating_mul(u64::from(*of)));
        if !outcome.is_clean() || leaves > MOST_ORDERS || u64::from(orders) > MOST_ORDERS {
            return Ok(Found::Open);
        }
        if fencepost_syntax::limits::is_over() || !litmus::add(&mut slices, entry, launch, places, &outcome.taken) {
            return Ok(Found::Open);
        }
        match next(&outcome.taken.choices) {
            Some(following) => choices = following,
            None => {
                let slices = litmus::named(slices, entry);
                return Ok(Found::Every { outcome: Box::new(outcome), slices, orders });
            }
        }
    }
}

/// Locks are waited for, so whatever comes behind them depends on them; two queues may see the threads in orders that no
/// interleaving has.
fn may_be_combined(places: &SortedMap<Place, Turn>) -> bool {
    places.len() == 1 || places.values().all(|kind| matches!(kind, Turn::Lock { .. }))
}

/// A run that does nothing but wait in the end.
fn hangs(outcome: &Outcome) -> bool {
    let mut findings = outcome.findings.iter();
    outcome.doubts.is_empty() && !outcome.findings.is_empty() && findings.all(|own| matches!(own, Finding::Hang { .. }))
}

/// The choices of the next run.
fn next(choices: &[(u32, u32)]) -> Option<Vec<u32>> {
    let last = choices.iter().rposition(|(chosen, of)| chosen + 1 < *of)?;
    let mut following: Vec<u32> = choices[..last].iter().map(|(chosen, _)| *chosen).collect();
    following.push(choices[last].0 + 1);
    Some(following)
}

#[cfg(test)]
mod tests {
    use super::next;

    #[test]
    fn every_leaf_of_the_tree_is_visited_once() {
        // Three threads that go once each: what is chosen is gone.
        let mut seen = Vec::new();
        let mut choices = Some(Vec::new());
        while let Some(given) = choices {
            let (mut left, mut order, mut taken) = (vec!['a', 'b', 'c'], String::new(), Vec::new());
            for number in 0..3 {
                let chosen = given.get(number).copied().unwrap_or(0);
                taken.push((chosen, left.len() as u32));
                order.push(left.remove(chosen as usize));
            }
            seen.push(order);
            choices = next(&taken);
        }
        assert_eq!(seen, ["abc", "acb", "bac", "bca", "cab", "cba"]);
    }
}
