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
mod mixture;

use std::sync::Arc;

use fencepost_axiom::engine::written_values;
use fencepost_program::access::same_scope;
use fencepost_program::initial::unknowns;
use fencepost_program::program::LocationRole;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Unfolding;
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId};
use fencepost_report::answer::Answer;
use fencepost_report::finding::FindingKind;
use fencepost_report::warning::{NotCut, Racing, Torn};
use fencepost_report::why::{Undecided, Why};
use fencepost_syntax::sorted::{SortedMap, SortedSet};
use fencepost_syntax::{Span, limits};

use crate::judge::found::{Answers, Ask, Finding, Left, Raced, Subject, TornWarning};
use crate::judge::varying_bytes::varying_bytes;
use crate::model::load::LoadedModel;
use crate::model::role::Axiom;
use crate::options::Options;
use crate::test::Test;
use cut::Cut;

/// Memory that cannot be cut, and an answer that rests on it.
const MAY_BE: &str = "may-be-torn";
/// An answer that a torn value gives.
const IS: &str = "torn-value";
/// More cuts than this are not tried.
const MOST_CUTS: usize = 128;

/// A location that races and whose values vary in several bytes.
struct Varying {
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
    Cut(Box<(Cut, Answers)>, Option<NotCut>),
    Refused(NotCut),
    Open(Why),
}

/// The answers with torn values, given those of a search that takes every access for whole.
pub(crate) fn settle(test: &Test, model: &LoadedModel, options: &Options, whole: Answers, ask: Ask<'_>) -> Answers {
    let axioms = &model.vocabulary.axioms;
    if !model.model.checks.iter().any(|check| axioms.of(&check.name) == Some(Axiom::SingleCopyAtomicity)) {
        return whole;
    }
    let torn = found(&whole);
    let seen = |torn: &&Varying| is_seen(&whole, torn.location);
    let Some(first) = torn.iter().find(seen).or(torn.first()) else { return whole };
    let name = &test.program.locations[first.location.index()].name;
    // Two instructions that race may access more than what they race for.
    let race = if is_seen(&whole, first.location) { Racing::Shown } else { Racing::Possible };
    let place = (first.span, name.to_string());
    match search(test, (model, options, ask), &whole, torn) {
        Searched::Refused(why) => warned(test, whole, &place, (race, why)),
        Searched::Open(why) => opened(whole, &why),
        Searched::Cut(found, rest) => {
            let (cut, answers) = *found;
            if let Some(why) = loss(&whole, &answers) {
                return opened(whole, &why);
            }
            let answers = told(test, &whole, cut, answers, &place);
            match rest {
                Some(why) => warned(test, answers, &place, (race, why)),
                None => answers,
            }
        }
    }
}

/// Cuts the program until nothing more can tear.
fn search(
    test: &Test,
    (model, options, ask): (&LoadedModel, &Options, Ask<'_>),
    whole: &Answers,
    mut torn: Vec<Varying>,
) -> Searched {
    let mut cuts: SortedSet<Value> = SortedSet::new();
    let mut last: Option<(Cut, Answers)> = None;
    while !torn.is_empty() {
        let (of, answers) = last.as_ref().map_or((test, whole), |(cut, answers)| (&cut.test, answers));
        let Some(unfolding) = &answers.unfolding else { break };
        let before = cuts.len();
        for torn in &torn {
            match cut::edges(of, unfolding, torn) {
                Ok(edges) => cuts.extend(edges),
                Err(why) => return refused(last, why),
            }
        }
        if cuts.len() == before || cuts.len() > MOST_CUTS {
            return Searched::Open(Why::Size(Undecided::TornPlaces));
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
        let answers = ask(&cut.test, model, options);
        if let Some(ended) = limits::ended() {
            return Searched::Open(ended.into());
        }
        if answers.unfolding.is_none() {
            return refused(last, NotCut::Refused(answers.refused.map(Box::new)));
        }
        torn = found(&answers);
        last = Some((cut, answers));
    }
    match last {
        Some(found) => Searched::Cut(Box::new(found), None),
        None => Searched::Open(Why::Internal("nothing is torn".to_owned())),
    }
}

/// What was cut before is searched, and shows what it shows.
fn refused(last: Option<(Cut, Answers)>, why: NotCut) -> Searched {
    match last {
        Some(found) => Searched::Cut(Box::new(found), Some(why)),
        None => Searched::Refused(why),
    }
}

/// What may be torn though an answer takes it for whole.
fn found(answers: &Answers) -> Vec<Varying> {
    let Some(unfolding) = &answers.unfolding else { return Vec::new() };
    // Where the axioms do not apply, an answer may be left open because of torn values alone (`crate::judge::mixed_size`).
    let is_open = |finding: &Finding| finding.why().is_some_and(|why| !matches!(why, Why::MixedSize { .. }));
    let says_nothing = !answers.findings.is_empty() && answers.findings.iter().all(is_open);
    if says_nothing || matches!(answers.race, Answer::No | Answer::NotDefined) {
        return Vec::new();
    }
    let raced = raced(answers, unfolding);
    if raced.is_empty() {
        return Vec::new();
    }
    can_tear(unfolding, &raced)
}

/// Whether an example of a race is about this location.
fn is_seen(answers: &Answers, location: LocationId) -> bool {
    answers.races.iter().any(|Raced { set, of }| {
        let own = |id: EventId| of.events.get(id.index()).and_then(|event| event.location());
        let mut pairs = set.races.iter().filter(|(key, _)| key.is_pair());
        pairs.any(|(_, example)| own(example.pair.0) == Some(location))
    })
}

/// The locations of racing accesses: those that were found, or where not all were looked for, those that may race.
fn raced(answers: &Answers, unfolding: &Unfolding) -> SortedMap<LocationId, Span> {
    if !answers.race.is_yes() || answers.has_more_races() || answers.race_rest.is_some() {
        return may_race(unfolding);
    }
    let mut raced = SortedMap::new();
    for Raced { set, of } in &answers.races {
        let touched = |span: Span| -> SortedSet<LocationId> {
            of.events.iter().filter(|event| event.span == span).filter_map(|event| event.location()).collect()
        };
        for key in set.races.keys().filter(|key| key.is_pair() && key.kind == FindingKind::DataRace) {
            touched(key.first).intersection(&touched(key.second)).for_each(|location| {
                raced.entry(*location).or_insert(key.first);
            });
        }
    }
    raced
}

/// The locations that two threads, or a thread and what it started, access and one writes, not both strongly and in each
/// other's scope.
fn may_race(unfolding: &Unfolding) -> SortedMap<LocationId, Span> {
    const STRONG: [Tag; 5] = [Tag::Relaxed, Tag::Acquire, Tag::Release, Tag::Volatile, Tag::Mmio];
    let mut accesses: SortedMap<LocationId, Vec<EventId>> = SortedMap::new();
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
    let mut found = SortedMap::new();
    for (location, events) in accesses {
        let pairs = |a: &EventId| events.iter().any(|b| a < b && may_race(*a, *b));
        found.extend(events.iter().find(|a| pairs(a)).map(|a| (location, unfolding.event(*a).span)));
    }
    found
}

/// Of these locations those whose values differ in more than one byte, so that a mixture of two is a third, or may.
fn can_tear(unfolding: &Unfolding, raced: &SortedMap<LocationId, Span>) -> Vec<Varying> {
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
            return Some(Varying { span, location, values: Vec::new(), varying: None });
        };
        let varying = varying_bytes(&values, unfolding.locations[location.index()].ty.bits);
        (varying.len() > 1).then_some(Varying { span, location, values, varying: Some(varying) })
    });
    torn.collect()
}

/// Why the cut search knows less than the whole one, if it does.
fn loss(whole: &Answers, cut: &Answers) -> Option<Why> {
    let lost = whole.findings.iter().zip(&cut.findings).find_map(|(whole, cut)| cut.why().filter(|_| whole.is_yes()));
    match lost {
        Some(why) => Some(why.clone()),
        None if whole.race.is_yes() && !cut.race.is_yes() => Some(Why::Size(Undecided::TornRaces)),
        None if whole.hang.is_yes() && cut.hang.is_unknown() => Some(Why::Size(Undecided::TornHangs)),
        None => None,
    }
}

/// Nothing is said of what was not found.
fn opened(mut whole: Answers, why: &Why) -> Answers {
    whole.leave_open(why, Left::All);
    whole
}

/// What was found stands; what was not may need a torn value, and is not known.
fn warned(
    test: &Test,
    mut whole: Answers,
    (span, location): &(Span, String),
    (race, why): (Racing, NotCut),
) -> Answers {
    let mut questions = test.program.questions.iter().zip(&whole.findings);
    if !questions.any(|(question, finding)| finding.is_no() && !question.condition.terms().is_empty()) {
        return whole;
    }
    let what = Torn::NotSearched { location: location.clone(), race, why };
    whole.torn.push(TornWarning { name: MAY_BE, span: *span, what });
    // Unknown initial values vary in every byte: nothing would be left that is known. Their tests keep the whole answer.
    if unknowns(&test.program).is_empty() {
        whole.leave_open(&Why::Size(Undecided::TornValue(location.clone())), Left::Questions);
    }
    whole
}

/// The answers of the cut program, and which of them need a torn value.
fn told(test: &Test, whole: &Answers, cut: Cut, mut answers: Answers, place: &(Span, String)) -> Answers {
    for (at, before) in whole.findings.iter().enumerate() {
        let Some(shown) = answers.witness(at).filter(|_| before.is_no()) else { continue };
        let mixture = mixture::first(&cut.test, &shown.of, &shown.execution);
        let (span, what) = mixture.unwrap_or_else(|| (place.0, Torn::Final { location: place.1.clone() }));
        answers.torn.push(TornWarning { name: IS, span, what });
    }
    Answers { subject: Subject::Cut(Arc::new(cut.whole(test))), ..answers }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Models;
    use crate::write::report::checked;
    use fencepost_report::verdict::Verdict;
    use fencepost_report::{RaceAnswer, Report, TerminationAnswer};
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
        let answers = settle(&tests[0], &model, &options, whole, &crate::judge::known::check_known);
        checked(&tests[0], &model, &options, answers).report
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
