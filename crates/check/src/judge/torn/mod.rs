//! Racing accesses of several bytes. Only a morally strong read is promised not to mix the bytes of a write with older
//! ones (PTX ISA 8.10.3, single-copy atomicity); any other may be *torn*, and the ISA names no size below which it is not.
//!
//! A location is searched whole first: without a race that is all there is. Where one races whose values differ in more
//! than one byte, the program is cut before each byte that varies but the first (`cut`) and checked again: every access to
//! it is then several events, and what keeps a strong access whole is the model's axiom. Values put together of several may
//! vary in more bytes, so this is repeated until nothing new can tear. The answers of the cut program are the answers;
//! conditions, outcomes and final states are written in whole values.
//!
//! What the whole search shows stays true: a whole execution is a cut one. What it does not show is left open where the
//! cut search meets a limit, and said with a warning where memory cannot be cut.

mod cut;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use fencepost_axiom::engine::written_values;
use fencepost_program::access::same_scope;
use fencepost_program::initial::unknowns;
use fencepost_program::program::LocationRole;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Unfolding;
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId};
use fencepost_report::finding::FindingKind;
use fencepost_report::verdict::{Verdict, Why};
use fencepost_report::{RaceAnswer, Report, TerminationAnswer, Warning};
use fencepost_syntax::{Span, limits};

use crate::judge::found::{Ask, Checked};
use crate::judge::initial_values::{self, Left};
use crate::judge::varying_bytes::varying_bytes;
use crate::model::load::LoadedModel;
use crate::options::Options;
use crate::test::Test;
use cut::Cut;

/// Memory that cannot be cut, and an answer that rests on it.
const MAY_BE: &str = "may-be-torn";
/// An answer that a torn value gives.
const IS: &str = "torn-value";
const SECTION: &str = sections::ATOMICITY_AXIOM;
/// The axiom of a model that says which reads are whole. A model without it takes all for whole.
const AXIOM: &str = "single-copy-atomicity";
/// More cuts than this are not tried.
const MOST_CUTS: usize = 128;

/// A location that races and whose values vary in several bytes.
struct Torn {
    /// Of an access that races.
    span: Span,
    location: LocationId,
    values: Vec<Value>,
    /// The bytes in which they differ, ascending. None where the values are not known.
    varying: Option<Vec<u32>>,
}

/// What became of the search for torn values.
enum Searched {
    /// And what could not be cut besides, if something could not.
    Cut(Box<(Cut, Checked)>, Option<String>),
    Refused(String),
    Open(Why),
}

/// The answers with torn values, given those of a search that takes every access for whole.
pub(crate) fn settle(test: &Test, model: &LoadedModel, options: &Options, whole: Checked, ask: Ask<'_>) -> Checked {
    if !model.model.checks.iter().any(|check| check.name == AXIOM) {
        return whole;
    }
    let torn = found(&whole);
    let seen = |torn: &&Torn| is_seen(&whole, torn.location);
    let Some(first) = torn.iter().find(seen).or(torn.first()) else { return whole };
    let name = &test.program.locations[first.location.index()].name;
    // Two instructions that race may access more than what they race for.
    let races = if is_seen(&whole, first.location) { "races" } else { "may race" };
    let place = (first.span, name.clone());
    match search(test, (model, options, ask), &whole, torn) {
        Searched::Refused(why) => warned(test, whole, &place, (races, &why)),
        Searched::Open(why) => opened(test, whole, &why),
        Searched::Cut(found, rest) => {
            let (cut, checked) = *found;
            if let Some(why) = loss(&whole.report, &checked.report) {
                return opened(test, whole, &why);
            }
            let checked = told(test, &whole, cut, checked, &place);
            match rest {
                Some(why) => warned(test, checked, &place, (races, &why)),
                None => checked,
            }
        }
    }
}

/// Cuts the program until nothing more can tear.
fn search(
    test: &Test,
    (model, options, ask): (&LoadedModel, &Options, Ask<'_>),
    whole: &Checked,
    mut torn: Vec<Torn>,
) -> Searched {
    let mut cuts: BTreeSet<Value> = BTreeSet::new();
    let mut last: Option<(Cut, Checked)> = None;
    while !torn.is_empty() {
        let (of, checked) = last.as_ref().map_or((test, whole), |(cut, checked)| (&cut.test, checked));
        let Some(unfolding) = &checked.evidence.unfolding else { break };
        let before = cuts.len();
        for torn in &torn {
            match cut::edges(of, unfolding, torn) {
                Ok(edges) => cuts.extend(edges),
                Err(why) => return refused(last, why),
            }
        }
        if cuts.len() == before || cuts.len() > MOST_CUTS {
            return Searched::Open(Why::Size("values may be torn in too many places".to_owned()));
        }
        let cut = Cut::new(test, &cuts);
        if let Some(ended) = limits::ended() {
            return Searched::Open(ended.into());
        }
        let cut = match cut {
            Ok(cut) => cut,
            Err(why) => return refused(last, why),
        };
        if options.budget.is_late() {
            return Searched::Open(Why::Time);
        }
        let checked = ask(&cut.test, model, options);
        if let Some(ended) = limits::ended() {
            return Searched::Open(ended.into());
        }
        if checked.evidence.unfolding.is_none() {
            let why = checked.report.why.map_or_else(String::new, |why| why.message);
            return refused(last, why);
        }
        torn = found(&checked);
        last = Some((cut, checked));
    }
    match last {
        Some(found) => Searched::Cut(Box::new(found), None),
        None => Searched::Open(Why::Internal("nothing is torn".to_owned())),
    }
}

/// What was cut before is searched, and shows what it shows.
fn refused(last: Option<(Cut, Checked)>, why: String) -> Searched {
    match last {
        Some(found) => Searched::Cut(Box::new(found), Some(why)),
        None => Searched::Refused(why),
    }
}

/// What may be torn though an answer takes it for whole.
fn found(checked: &Checked) -> Vec<Torn> {
    let Some(unfolding) = &checked.evidence.unfolding else { return Vec::new() };
    let races = &checked.report.races;
    let questions = &checked.report.questions;
    // Where the axioms do not apply, an answer may be left open because of torn values alone (`crate::mixed`).
    let is_open = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(why) if !matches!(why, Why::MixedSize { .. }));
    let says_nothing = !questions.is_empty() && questions.iter().all(|answer| is_open(&answer.verdict));
    if says_nothing || matches!(races.answer, RaceAnswer::None | RaceAnswer::NotDefined) {
        return Vec::new();
    }
    let raced = raced(checked, unfolding);
    if raced.is_empty() {
        return Vec::new();
    }
    can_tear(unfolding, &raced)
}

/// Whether an example of a race is about this location.
fn is_seen(checked: &Checked, location: LocationId) -> bool {
    let evidence = &checked.evidence;
    let Some(unfolding) = evidence.accesses.as_ref().or(evidence.unfolding.as_ref()) else { return false };
    let own = |id: EventId| unfolding.events.get(id.index()).and_then(|event| event.location());
    evidence.races.iter().any(|(pair, _)| own(pair.0) == Some(location))
}

/// The locations of racing accesses: those that were found, or where not all were looked for, those that may race.
fn raced(checked: &Checked, unfolding: &Unfolding) -> BTreeMap<LocationId, Span> {
    let races = &checked.report.races;
    if races.answer != RaceAnswer::Found || races.more || races.rest.is_some() {
        return may_race(unfolding);
    }
    let events = &checked.evidence.accesses.as_ref().unwrap_or(unfolding).events;
    let touched = |span: Span| -> BTreeSet<LocationId> {
        events.iter().filter(|event| event.span == span).filter_map(|event| event.location()).collect()
    };
    let mut raced = BTreeMap::new();
    let pairs = races.pairs.iter().zip(&checked.evidence.races).filter(|(race, _)| race.kind == FindingKind::DataRace);
    for (_, (pair, _)) in pairs {
        let span = |id: EventId| events.get(id.index()).map(|event| event.span).unwrap_or_default();
        let (first, second) = (span(pair.0), span(pair.1));
        touched(first).intersection(&touched(second)).for_each(|location| {
            raced.entry(*location).or_insert(first);
        });
    }
    raced
}

/// The locations that two threads, or a thread and what it started, access and one writes, not both strongly and in each
/// other's scope.
fn may_race(unfolding: &Unfolding) -> BTreeMap<LocationId, Span> {
    const STRONG: [Tag; 5] = [Tag::Relaxed, Tag::Acquire, Tag::Release, Tag::Volatile, Tag::Mmio];
    let mut accesses: BTreeMap<LocationId, Vec<EventId>> = BTreeMap::new();
    for (at, event) in unfolding.events.iter().enumerate().filter(|(_, event)| !event.is_init()) {
        if let Some(location) = event.location() {
            accesses.entry(location).or_default().push(EventId::new(at));
        }
    }
    let is_strong = |id: EventId| STRONG.iter().any(|tag| unfolding.event(id).has(*tag));
    let may_race = |a: EventId, b: EventId| {
        let (first, second) = (unfolding.event(a), unfolding.event(b));
        let is_apart = first.thread != second.thread || !first.is_main() || !second.is_main();
        let is_strong = is_strong(a) && is_strong(b) && same_scope(unfolding, a, b);
        is_apart && (first.is_write() || second.is_write()) && !is_strong
    };
    let mut found = BTreeMap::new();
    for (location, events) in accesses {
        let pairs = |a: &EventId| events.iter().any(|b| a < b && may_race(*a, *b));
        found.extend(events.iter().find(|a| pairs(a)).map(|a| (location, unfolding.event(*a).span)));
    }
    found
}

/// Of these locations those whose values differ in more than one byte, so that a mixture of two is a third, or may.
fn can_tear(unfolding: &Unfolding, raced: &BTreeMap<LocationId, Span>) -> Vec<Torn> {
    let is_wide = |id: &LocationId| {
        let location = &unfolding.locations[id.index()];
        location.role == LocationRole::Data && location.ty.bits > 8
    };
    if !raced.keys().any(is_wide) {
        return Vec::new();
    }
    let all = written_values(unfolding);
    let wide = raced.iter().filter(|(id, _)| is_wide(id));
    let torn = wide.filter_map(|(&location, &span)| {
        let Some(values) = all.get(location.index()).cloned().flatten() else {
            return Some(Torn { span, location, values: Vec::new(), varying: None });
        };
        let varying = varying_bytes(&values, unfolding.locations[location.index()].ty.bits);
        (varying.len() > 1).then_some(Torn { span, location, values, varying: Some(varying) })
    });
    torn.collect()
}

/// Why the cut search knows less than the whole one, if it does.
fn loss(whole: &Report, cut: &Report) -> Option<Why> {
    let is_open = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(_));
    let lost = whole.questions.iter().zip(&cut.questions).find_map(|(whole, cut)| match &cut.verdict {
        Verdict::Unknown(why) if !is_open(&whole.verdict) && whole.is_found() => Some(why.clone()),
        _ => None,
    });
    let size = |what: &str| Some(Why::Size(format!("{what} with torn values were not decided")));
    match () {
        () if lost.is_some() => lost,
        () if whole.races.answer == RaceAnswer::Found && cut.races.answer != RaceAnswer::Found => size("races"),
        () if whole.termination.answer == TerminationAnswer::MayHang
            && cut.termination.answer == TerminationAnswer::Unknown =>
        {
            size("executions that never end")
        }
        () => None,
    }
}

/// Nothing is said of what was not found.
fn opened(test: &Test, mut whole: Checked, why: &Why) -> Checked {
    initial_values::leave_open(test, &mut whole.report, why, Left::All);
    initial_values::conclude(test, &mut whole.report);
    whole
}

/// What was found stands; what was not may need a torn value, and is not known.
fn warned(test: &Test, mut whole: Checked, (span, location): &(Span, String), (races, why): (&str, &str)) -> Checked {
    let rests = test.program.questions.iter().zip(&whole.report.questions).any(|(question, answer)| {
        let is_open = matches!(answer.verdict, Verdict::Unknown(_));
        !is_open && !answer.is_found() && !question.condition.terms().is_empty()
    });
    if rests {
        let message = format!(
            "{location} {races}, and only a morally strong read is promised a whole value: mixtures of the bytes of several \
             were not searched ({why})"
        );
        warn(test, &mut whole.report, MAY_BE, *span, message);
        // Unknown initial values vary in every byte: nothing would be left that is known. Their tests keep the whole answer.
        if unknowns(&test.program).is_empty() {
            let why = Why::Size(format!("a torn value of {location} was not looked for"));
            initial_values::leave_open(test, &mut whole.report, &why, Left::Questions);
            initial_values::conclude(test, &mut whole.report);
        }
    }
    whole
}

/// The answers of the cut program in whole values, and which of them need a torn one.
fn told(test: &Test, whole: &Checked, cut: Cut, mut checked: Checked, place: &(Span, String)) -> Checked {
    let news = whole.report.questions.iter().zip(&checked.report.questions).map(|(whole, cut)| {
        let is_decided = !matches!(whole.verdict, Verdict::Unknown(_));
        is_decided && !whole.is_found() && cut.is_found() && !cut.undefined
    });
    let news: Vec<bool> = news.collect();
    for (_, witness) in news.into_iter().zip(&checked.evidence.witnesses).filter(|(is_news, _)| *is_news) {
        let mixture = witness.as_ref().zip(checked.evidence.unfolding.as_ref());
        let mixture = mixture.and_then(|(execution, unfolding)| words::mixture(&cut.test, unfolding, execution));
        let (span, how) = mixture.unwrap_or_else(|| {
            (place.0, format!("the final value of {} is put together of the bytes of several writes", place.1))
        });
        let message = format!("the outcome needs a torn value: {how}; only morally strong accesses are whole");
        warn(test, &mut checked.report, IS, span, message);
    }
    cut.restore(test, &whole.report, &mut checked.report);
    Checked { test: Some(std::sync::Arc::new(cut.test)), ..checked }
}

fn warn(test: &Test, report: &mut Report, name: &str, span: Span, message: String) {
    let position = test.source.position(span.start);
    let warning = Warning {
        name: name.to_owned(),
        message,
        section: SECTION.to_owned(),
        line: position.line,
        column: position.column,
        other: None,
    };
    report.warnings.push(warning);
    report.warnings.sort_by(|a, b| (a.line, a.column, &a.message).cmp(&(b.line, b.column, &b.message)));
    report.warnings.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Models;
    use fencepost_syntax::Source;
    use std::time::Duration;

    /// The answers where no time is left for torn values.
    fn without_time(question: &str) -> Report {
        let threads = "P0@cta 0 { st.global.u32 [x], 257; }\nP1@cta 1 { ld.global.u32 %a, [x]; }";
        let text = format!("PTX t\n{{ .global .u32 x = 0; }}\n{threads}\n{question}\n");
        let (tests, diagnostics) = crate::load(&Source::new("t.litmus", text));
        assert!(tests.len() == 1, "{diagnostics:?}");
        let model = Models::shipped("ptx").expect("a model");
        let whole = crate::judge::known::check_known(&tests[0], &model, &Options::default());
        let options = Options { budget: crate::Budget::of_time(Duration::ZERO), ..Options::default() };
        settle(&tests[0], &model, &options, whole, &crate::judge::known::check_known).report
    }

    #[test]
    fn a_limit_leaves_open_what_the_whole_search_does_not_show() {
        let open = without_time("exists (P1:%a = 1)");
        assert!(matches!(open.verdict, Verdict::Unknown(Why::Time)), "{open:?}");
        assert!(open.executions.is_some_and(|count| !count.complete), "{open:?}");
        assert_eq!(open.termination.answer, TerminationAnswer::Unknown);
        let found = without_time("exists (P1:%a = 257)");
        assert_eq!((found.verdict.word(), found.races.answer), ("Holds", RaceAnswer::Found), "{found:?}");
    }

    #[test]
    fn values_of_one_byte_are_never_torn() {
        let vary = |values: &[i128]| {
            let values: Vec<Value> = values.iter().copied().map(Value).collect();
            varying_bytes(&values, 64)
        };
        assert_eq!(vary(&[0, 1, 255]), [0]);
        assert_eq!(vary(&[0x100, 0x101]), [0]);
        assert_eq!(vary(&[0, 0x101]), [0, 1]);
        assert_eq!(vary(&[0, 0x1_0000_0001]), [0, 4]);
        assert_eq!(vary(&[0, -1]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(vary(&[]).is_empty());
        assert_eq!(varying_bytes(&[Value(0), Value(-1)], 128).len(), 16);
    }
}
