//! Tests with unknown initial values (`x = ?`): one check per case of them ([`fencepost_program::initial`]), one report.
//!
//! What some case shows is there for some initial value. What no case shows is absent if the cases stand for all values;
//! if something is computed from an unknown one they do not, and such an absence is unknown.

use std::collections::BTreeMap;

use fencepost_program::initial::{self, Exactness};
use fencepost_program::unfold::unfold;
use fencepost_report::verdict::{Verdict, Why};
use fencepost_report::{
    Answer, Count, Outcome, Protocol, ProtocolAnswer, Race, RaceAnswer, Races, Reason, Report, Termination,
    TerminationAnswer, Undefined,
};
use fencepost_syntax::litmus::QuestionKind;

use crate::judge::found::{Ask, Checked};
use crate::judge::known::refused;
use crate::judge::undefined;
use crate::look::outcome;
use crate::model::load::LoadedModel;
use crate::options::Options;
use crate::test::Test;

pub(crate) fn check(test: &Test, model: &LoadedModel, options: &Options, ask: Ask<'_>) -> Checked {
    let limits = model.unfolding(options.bound);
    // A test that cannot be unfolded is refused with the values it has.
    let Ok(unfolding) = unfold(&test.program, &limits) else { return ask(test, model, options) };
    let cases = initial::cases(&test.program, &unfolding);
    let checked = cases.cases.iter().map(|case| {
        let program = initial::with_case(&test.program, case, &cases.names);
        ask(&test.with_program(program), model, options)
    });
    let doubt = match cases.exactness {
        Exactness::Exact => None,
        Exactness::Examples { span, location } => {
            let what = format!("something computed from the unknown initial value of `{location}`");
            Some(Why::Unsupported { span, what })
        }
    };
    let mut checked = checked.collect::<Vec<_>>();
    // A case that no execution is left of, because a filter leaves none, says nothing.
    let is_empty = |checked: &Checked| checked.report.executions == Some(Count { count: 0, complete: true });
    let ends = |checked: &Checked| checked.report.termination.answer == TerminationAnswer::Terminates;
    if test.program.filter.is_some() && checked.iter().any(|checked| !is_empty(checked)) {
        checked.retain(|checked| !(is_empty(checked) && ends(checked)));
    }
    let mut checked = checked.into_iter();
    let Some(first) = checked.next() else {
        let terms = outcome::terms(&test.program);
        let what = format!("more than {} combinations of unknown initial values", initial::MOST_CASES);
        return refused(test, model, options, &terms, Why::Unsupported { span: test.litmus.span(), what });
    };
    let mut merged = checked.fold(first, merge);
    if let Some(why) = doubt {
        // Where no value decides what runs, values do not matter to races and ends.
        let straight = unfolding.threads.iter().all(|thread| thread.traces.len() == 1);
        leave_open(test, &mut merged.report, &why, if straight { Left::Questions } else { Left::All });
    }
    conclude(test, &mut merged.report);
    merged
}

/// What either shows.
fn merge(mut first: Checked, second: Checked) -> Checked {
    let Checked { report, evidence, .. } = second;
    let into = &mut first.report;
    for (at, (own, other)) in into.questions.iter_mut().zip(report.questions).enumerate() {
        let takes = !own.is_found() && (other.is_found() || is_open(&other.verdict));
        let (positive, negative) = (added(own.positive, other.positive), added(own.negative, other.negative));
        if takes {
            *own = other;
            if let (Some(own), Some(other)) = (first.evidence.witnesses.get_mut(at), evidence.witnesses.get(at)) {
                own.clone_from(other);
            }
        }
        (own.positive, own.negative) = (positive, negative);
    }
    if into.questions.is_empty() && !is_open(&into.verdict) {
        (into.verdict, into.why) = (report.verdict, report.why);
    }
    into.executions = into.executions.zip(report.executions).map(|(own, other)| own.plus(other));
    into.outcomes = outcomes(std::mem::take(&mut into.outcomes), report.outcomes);
    // All cases have the same events.
    let new = merge_races(&mut into.races, report.races);
    first.evidence.races.extend(evidence.races.into_iter().zip(new).filter(|(_, new)| *new).map(|(race, _)| race));
    merge_protocol(&mut into.protocol, report.protocol);
    if merge_termination(&mut into.termination, report.termination) {
        first.evidence.stuck = evidence.stuck;
    }
    let flags = |undefined: Option<Undefined>| -> Vec<_> {
        undefined.map_or(Vec::new(), |undefined| undefined.flags.into_iter().zip(undefined.kinds).collect())
    };
    into.undefined = undefined::of([flags(into.undefined.take()), flags(report.undefined)].concat());
    into.cross_checked &= report.cross_checked;
    for warning in report.warnings {
        if !into.warnings.contains(&warning) {
            into.warnings.push(warning);
        }
    }
    first
}

fn is_open(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Unknown(_))
}

fn added(own: Option<u64>, other: Option<u64>) -> Option<u64> {
    own.zip(other).and_then(|(own, other)| own.checked_add(other))
}

fn outcomes(own: Vec<Outcome>, other: Vec<Outcome>) -> Vec<Outcome> {
    let mut all = BTreeMap::new();
    for outcome in own.into_iter().chain(other) {
        let count: &mut u64 = all.entry(outcome.values).or_default();
        *count = count.checked_add(outcome.executions).unwrap_or(*count);
    }
    all.into_iter().map(|(values, executions)| Outcome { values, executions }).collect()
}

/// Which of the other's races are new.
fn merge_races(own: &mut Races, other: Races) -> Vec<bool> {
    own.answer = match (own.answer, other.answer) {
        (RaceAnswer::Found, _) | (_, RaceAnswer::Found) => RaceAnswer::Found,
        (RaceAnswer::Unknown, _) | (_, RaceAnswer::Unknown) => RaceAnswer::Unknown,
        (own, _) => own,
    };
    let place = |race: &Race| (race.flag.clone(), race.first.clone(), race.second.clone());
    let known: Vec<_> = own.pairs.iter().map(place).collect();
    let is_new: Vec<bool> = other.pairs.iter().map(|race| !known.contains(&place(race))).collect();
    own.pairs.extend(other.pairs.into_iter().zip(&is_new).filter(|(_, new)| **new).map(|(race, _)| race));
    is_new
}

fn merge_protocol(own: &mut Protocol, other: Protocol) {
    own.answer = match (own.answer, other.answer) {
        (ProtocolAnswer::Found, _) | (_, ProtocolAnswer::Found) => ProtocolAnswer::Found,
        (ProtocolAnswer::Unknown, _) | (_, ProtocolAnswer::Unknown) => ProtocolAnswer::Unknown,
        (own, _) => own,
    };
    for error in other.errors {
        let is_same = |known: &fencepost_report::ProtocolError| {
            (&known.kind, &known.mbarrier, &known.access) == (&error.kind, &error.mbarrier, &error.access)
        };
        if !own.errors.iter().any(is_same) {
            own.errors.push(error);
        }
    }
}

/// Whether the other's answer takes the place of this one's.
fn merge_termination(own: &mut Termination, other: Termination) -> bool {
    let never_ends = own.never_ends && other.never_ends;
    let rank = |answer: TerminationAnswer| match answer {
        TerminationAnswer::MayHang => 2,
        TerminationAnswer::Unknown => 1,
        _ => 0,
    };
    let replaces = rank(other.answer) > rank(own.answer);
    if replaces {
        *own = other;
    }
    own.never_ends = never_ends;
    replaces
}

/// What is not known.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Left {
    Questions,
    All,
}

/// Nothing is said of what was not found.
pub(crate) fn leave_open(test: &Test, report: &mut Report, why: &Why, left: Left) {
    let reason = || Some(Reason::new(why, &test.source));
    let open = |answer: &&mut Answer| !answer.is_found() && !is_open(&answer.verdict);
    for answer in report.questions.iter_mut().filter(open) {
        answer.verdict = Verdict::Unknown(why.clone());
        answer.why = reason();
    }
    if report.questions.is_empty() && why.is_limit() && !is_open(&report.verdict) {
        (report.verdict, report.why) = (Verdict::Unknown(why.clone()), reason());
    }
    if let Some(count) = &mut report.executions {
        count.complete = false;
    }
    if left == Left::Questions {
        return;
    }
    if report.races.answer == RaceAnswer::None {
        report.races.answer = RaceAnswer::Unknown;
    }
    if report.protocol.answer == ProtocolAnswer::None {
        report.protocol.answer = ProtocolAnswer::Unknown;
    }
    if report.termination.answer == TerminationAnswer::Terminates {
        report.termination.answer = TerminationAnswer::Unknown;
        report.termination.why = reason();
    }
}

/// The verdict of all questions. Where there is none it stays.
pub(crate) fn conclude(test: &Test, report: &mut Report) {
    if test.program.questions.is_empty() {
        return;
    }
    let enforced = test.program.questions.iter().zip(&report.questions);
    let enforced = enforced.filter(|(question, _)| question.kind != QuestionKind::Check);
    report.verdict = Verdict::worst(enforced.map(|(_, answer)| &answer.verdict));
    report.why = match &report.verdict {
        Verdict::Unknown(why) => Some(Reason::new(why, &test.source)),
        _ => None,
    };
}
