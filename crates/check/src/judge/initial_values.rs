//! Tests with unknown initial values (`x = ?`): one check per case of them ([`fencepost_program::initial`]), one report.
//!
//! What some case shows is there for some initial value. What no case shows is absent if the cases stand for all values;
//! if something is computed from an unknown one they do not, and such an absence is unknown.

use std::sync::Arc;

use fencepost_program::initial::{self, Exactness};
use fencepost_program::unfolding::Hazard;
use fencepost_report::Count;
use fencepost_report::why::Why;

use crate::judge::found::{Answers, Ask, Broken, Left, Raced, Subject, joined};
use crate::judge::refusal::refused;
use crate::look::protocol::Key;
use crate::model::load::LoadedModel;
use crate::options::Options;
use crate::session::Session;
use crate::test::Test;

pub(crate) fn check(test: &Test, model: &LoadedModel, options: &Options, ask: Ask<'_>) -> Answers {
    // A test that cannot be unfolded is refused with the values it has.
    let unfolding = Session::new(&test.program, model, options).unroll();
    let Ok(unfolding) = unfolding else { return ask(test, model, options) };
    let cases = initial::cases(&test.program, &unfolding);
    let answered = cases.cases.iter().map(|case| {
        let program = initial::with_case(&test.program, case, &cases.names);
        let test = Arc::new(test.with_program(program));
        let answers = ask(&test, model, options);
        Answers { subject: Subject::Case(test), ..answers }
    });
    let mut answered = answered.collect::<Vec<_>>();
    // A case that no execution is left of, because a filter leaves none, says nothing.
    let is_empty = |answers: &Answers| answers.executions == Some(Count { count: 0, complete: true });
    if test.program.filter.is_some() && answered.iter().any(|answers| !is_empty(answers)) {
        answered.retain(|answers| !(is_empty(answers) && answers.hang.is_no()));
    }
    let Some(mut merged) = answered.into_iter().reduce(merge) else {
        let what = format!("more than {} combinations of unknown initial values", initial::MOST_CASES);
        return refused(test, model, options, Why::Unsupported { span: test.litmus.span(), what });
    };
    if let Exactness::Examples { span, location } = cases.exactness {
        let what = format!("something computed from the unknown initial value of `{location}`");
        // Where no value decides what runs, values do not matter to races and ends.
        let straight = unfolding.threads.iter().all(|thread| thread.traces.len() == 1);
        merged.leave_open(&Why::Unsupported { span, what }, if straight { Left::Questions } else { Left::All });
    }
    merged
}

/// What either shows.
fn merge(first: Answers, second: Answers) -> Answers {
    let races = new_races(&first, second.races);
    let broken = new_errors(&first, second.broken);
    let hazards = second.hazards.into_iter().filter(|hazard| !first.hazards.contains(hazard));
    let hazards: Vec<Hazard> = hazards.collect();
    let mut merged = first;
    merged.is_merged = true;
    merged.findings = joined(merged.findings, second.findings);
    merged.counts = merged.counts.into_iter().zip(second.counts).map(|(own, other)| added(own?, other?)).collect();
    merged.executions = merged.executions.zip(second.executions).map(|(own, other)| own.plus(other));
    merged.outcomes.extend(&second.outcomes);
    merged.race = merged.race.join(second.race);
    merged.race_rest = merged.race_rest.or(second.race_rest);
    merged.races.extend(races);
    merged.protocol = merged.protocol.join(second.protocol);
    merged.broken.extend(broken);
    merged.hang = merged.hang.join(second.hang);
    merged.never_ends &= second.never_ends;
    merged.hazards.extend(hazards);
    merged.undefined.extend(second.undefined);
    merged.cross_checked &= second.cross_checked;
    merged.refused = merged.refused.or(second.refused);
    merged.stopped = merged.stopped.or(second.stopped);
    merged.crash = match (merged.crash, second.crash) {
        (Some(own), Some(other)) => Some(own.join(other)),
        (own, other) => own.or(other),
    };
    merged
}

fn added(own: (u64, u64), other: (u64, u64)) -> Option<(u64, u64)> {
    Some((own.0.checked_add(other.0)?, own.1.checked_add(other.1)?))
}

/// The other's races that are not known yet.
fn new_races(known: &Answers, mut other: Vec<Raced>) -> Vec<Raced> {
    for raced in &mut other {
        raced.set.races.retain(|key, _| !known.flagged().any(|known| known == key));
    }
    other
}

/// The same of broken rules.
fn new_errors(known: &Answers, mut other: Vec<Broken>) -> Vec<Broken> {
    let is_known = |key: &Key| known.broken.iter().any(|broken| broken.set.errors.contains_key(key));
    for broken in &mut other {
        broken.set.errors.retain(|key, _| !is_known(key));
    }
    other
}
