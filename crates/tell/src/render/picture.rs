//! Which execution of a checked test the picture shows: a witness of the first question that has one, one with a race, one
//! that never ends, or for an unreachable outcome the candidate that comes closest; any execution where none of these is.
//! Pairs that race in it are marked.

use std::ops::ControlFlow;

use fencepost_axiom::engine::{Ends, Goal, Limits};
use fencepost_axiom::execution::Execution;
use fencepost_check::judge::found::{Checked, Crashed};
use fencepost_check::look::crash::is_persist;
use fencepost_check::look::race::RaceSet;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::session::{EngineName, Executions};
use fencepost_check::test::Test;
use fencepost_program::program::Question;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{EventKind, Unfolding};
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId};
use fencepost_report::Assignment;
use fencepost_report::finding::FindingKind;
use fencepost_syntax::litmus::QuestionKind;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use super::{Fate, Options, RacingPair};
use crate::render::scene::proxy_marks;
use crate::render::scene::text;

/// More racing pairs than these are in the report, not in the picture, which would show nothing but them.
const MOST_RACES: usize = 12;
/// So many of them are told in words under it.
const MOST_TOLD: usize = 3;
/// The search for any execution ends after a few seconds.
const WORK_FOR_ANY: u64 = 1_000_000;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Format {
    Svg,
    Dot,
}

/// The picture of the first execution behind a report; None if there is none.
pub fn picture(test: &Test, model: &LoadedModel, checked: &Checked, format: Format) -> Option<String> {
    let test = checked.test.as_deref().unwrap_or(test);
    let Chosen { unfolding, execution, mut options } = chosen(test, model, checked)?;
    let under = crate::explain::told_under(&checked.report, &checked.report.depends_on());
    options.title = format!("{} under {}", test.program.name, under.unwrap_or_else(|| model.name.clone()));
    options.lines = lines(test, unfolding, &execution);
    options.addresses = addresses(test);
    options.vocabulary.clone_from(&model.vocabulary);
    let text = |span| test.instruction_text(span);
    Some(match format {
        Format::Svg => super::svg(unfolding, &text, &execution, &options),
        Format::Dot => super::dot(unfolding, &text, &execution, &options),
    })
}

fn lines(test: &Test, unfolding: &Unfolding, execution: &Execution) -> SortedMap<EventId, u32> {
    let event = |id: &EventId| unfolding.events.get(id.index()).filter(|event| event.thread.is_some());
    let line = |id: &EventId| Some((*id, test.source.position(event(id)?.span.start).line));
    execution.events.iter().filter_map(line).collect()
}

/// "In the end P1:r1 = 2, x = 1".
fn final_state(state: &Assignment) -> Option<String> {
    let values: Vec<String> = state.0.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    (!values.is_empty()).then(|| format!("In the end {}", values.join(", ")))
}

/// Racing writes have no arrow between them: that is said, because a missing arrow is easily taken for a forgotten one.
fn unordered(unfolding: &Unfolding, execution: &Execution) -> Option<String> {
    let location = |event: &EventId| match unfolding.events.get(event.index()).map(|event| &event.kind) {
        Some(EventKind::Write { location, .. }) => Some(*location),
        _ => None,
    };
    let related = |a: EventId, b: EventId| execution.co.contains(&(a, b)) || execution.co.contains(&(b, a));
    let writes: Vec<(EventId, LocationId)> =
        execution.events.iter().filter_map(|event| Some((*event, location(event)?))).collect();
    let mut open = SortedSet::new();
    for (at, (first, place)) in writes.iter().enumerate() {
        let others = writes.iter().skip(at + 1).filter(|(_, other)| other == place);
        if others.into_iter().any(|(second, _)| !related(*first, *second)) {
            open.insert(unfolding.locations.get(place.index())?.name.as_str());
        }
    }
    let names: Vec<&str> = open.into_iter().collect();
    (!names.is_empty())
        .then(|| format!("Coherence order leaves writes of {} unordered: any last one may be final", names.join(", ")))
}

struct Chosen<'a> {
    unfolding: &'a Unfolding,
    execution: Execution,
    options: Options,
}

fn chosen<'a>(test: &Test, model: &LoadedModel, checked: &'a Checked) -> Option<Chosen<'a>> {
    let unfolding = checked.evidence.unfolding.as_ref()?;
    let answers = checked.report.questions.iter().zip(&checked.evidence.witnesses);
    for (answer, witness) in answers {
        if let Some(execution) = witness {
            let mut caption = vec![format!("{} {}: {}", answer.kind, answer.condition, answer.verdict.word())];
            caption.extend(answer.witness.as_ref().and_then(|witness| final_state(&witness.state)));
            caption.extend(unordered(unfolding, execution));
            let races = races_in(model, checked, unfolding, execution);
            caption.extend(races_told(test, unfolding, &races));
            caption.extend(undefined(checked));
            let races = races.into_iter().take(MOST_RACES).collect();
            let options = Options { caption, races, ..Options::default() };
            return Some(Chosen { unfolding, execution: execution.clone(), options });
        }
    }
    if let Some(chosen) = crashed(checked) {
        return Some(chosen);
    }
    // Where all is well with the outcomes, a race is the news; where an outcome was asked for, why it cannot be.
    let is_about_all = |question: &Question| matches!(question.kind, QuestionKind::Forall | QuestionKind::Assert);
    let race = || racing(test, model, checked, unfolding);
    if test.program.questions.iter().all(is_about_all)
        && let Some(chosen) = race()
    {
        return Some(chosen);
    }
    if let Some(execution) = checked.evidence.stuck.clone() {
        let caption = vec!["A fair execution that never ends".to_owned()];
        return Some(Chosen { unfolding, execution, options: Options { caption, ..Options::default() } });
    }
    let Some(rejected) = crate::explain::closest(test, model, checked) else {
        return race().or_else(|| any(model, checked, unfolding));
    };
    let caption = vec![format!("Forbidden by {}", rejected.title()), rejected.conclusion];
    let options = Options { caption, highlight: rejected.highlight, ..Options::default() };
    Some(Chosen { unfolding, execution: rejected.execution, options })
}

/// The crash of the first question about crashes or recovery that has one: what had happened, what was durable, what was lost.
fn crashed(checked: &Checked) -> Option<Chosen<'_>> {
    let (report, evidence) = (checked.report.crashes.as_ref()?, checked.evidence.crash.as_ref()?);
    let asked = report.questions.iter().zip(&evidence.crashes);
    let of_crashes = asked.filter_map(|(answer, crashed)| {
        let caption = format!("crash {} {}: {}", answer.kind, answer.condition, answer.verdict.word());
        Some((caption, crashed.as_ref()?, &answer.witness.as_ref()?.state))
    });
    let recovery = report.recovery.iter().flat_map(|recovery| &recovery.questions).zip(&evidence.recoveries);
    let of_recovery = recovery.filter_map(|(answer, recovered)| {
        let caption = format!("recover {} {}: {}", answer.kind, answer.condition, answer.verdict.word());
        let crash = answer.witness.as_ref()?.crashes.first()?;
        Some((caption, recovered.as_ref()?.crashes.first()?, &crash.state))
    });
    let (asked, crashed, state) = of_crashes.chain(of_recovery).next()?;
    let Crashed { shown, crash, .. } = crashed;
    let fate = |event: &EventId| {
        let is_persist = is_persist(&shown.of, *event);
        let fate = match (crash.happened.contains(event), crash.durable.contains(event)) {
            (_, true) => Fate::Durable,
            (true, false) if is_persist => Fate::Lost,
            (true, false) => return None,
            (false, false) if shown.of.events.get(event.index())?.thread.is_none() => return None,
            (false, false) => Fate::Ahead,
        };
        Some((*event, fate))
    };
    let fates = shown.execution.events.iter().filter_map(fate).collect();
    let left: Vec<String> = state.0.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let caption = vec![
        asked,
        format!("The crash leaves {}", left.join(", ")),
        "Green: durable. Red: lost. Faint: had not happened when the power failed".to_owned(),
    ];
    let options = Options { caption, fates, ..Options::default() };
    Some(Chosen { unfolding: &shown.of, execution: (*shown.execution).clone(), options })
}

/// Any execution, where none stands out: nothing is asked, or all is well.
fn any<'a>(model: &LoadedModel, checked: &Checked, unfolding: &'a Unfolding) -> Option<Chosen<'a>> {
    let model = checked.model.as_deref().unwrap_or(model);
    let mut found = None;
    let limits = Limits { deadline: None, memory: None, cancelled: None, work: Some(WORK_FOR_ANY) };
    let executions = Executions { unfolding, model: &model.model, limits };
    executions.explore(EngineName::Enumerate, &Goal::new(Ends::Terminating), &mut |execution| {
        found = Some(execution.clone());
        ControlFlow::Break(())
    });
    let caption = vec!["One of the executions".to_owned()];
    Some(Chosen { unfolding, execution: found?, options: Options { caption, ..Options::default() } })
}

/// What a race means where it leaves nothing defined.
fn undefined(checked: &Checked) -> Option<String> {
    let undefined = checked.report.undefined.as_ref()?;
    let is_race = undefined.kinds.iter().all(|kind| kind.is_race());
    Some(if is_race { format!("A {}", undefined.message) } else { undefined.message.clone() })
}

/// The example of the first race that was found.
fn racing<'a>(test: &Test, model: &LoadedModel, checked: &'a Checked, unfolding: &'a Unfolding) -> Option<Chosen<'a>> {
    let (_, execution) = checked.evidence.races.first()?;
    let unfolding = checked.evidence.accesses.as_deref().unwrap_or(unfolding);
    let races = races_in(model, checked, unfolding, execution);
    let caption = races_told(test, unfolding, &races).into_iter().chain(undefined(checked)).collect();
    let races = races.into_iter().take(MOST_RACES).collect();
    let options = Options { caption, races, ..Options::default() };
    Some(Chosen { unfolding, execution: (**execution).clone(), options })
}

/// The pairs that race in the execution that is drawn: a race of another one would be no arrow of this picture.
fn races_in(model: &LoadedModel, checked: &Checked, unfolding: &Unfolding, execution: &Execution) -> Vec<RacingPair> {
    if checked.report.races.pairs.is_empty() {
        return Vec::new();
    }
    let model = checked.model.as_deref().unwrap_or(model);
    let flags = model.flags();
    let mut found = RaceSet::default();
    flags.evaluator().add(unfolding, execution, &mut found);
    found.settle(unfolding);
    let races = found.races.into_iter().filter(|(key, _)| key.is_pair());
    races
        .map(|(key, example)| RacingPair {
            flag: key.flag,
            kind: key.kind,
            first: example.pair.0,
            second: example.pair.1,
        })
        .collect()
}

/// The first in words, and how many others there are.
fn races_told(test: &Test, unfolding: &Unfolding, races: &[RacingPair]) -> Vec<String> {
    let mut told: Vec<String> = races.iter().take(MOST_TOLD).map(|race| race_words(test, unfolding, race)).collect();
    let (others, hidden) = (races.len().saturating_sub(MOST_TOLD), races.len().saturating_sub(MOST_RACES));
    if others > 0 {
        let drawn = if hidden > 0 { format!(", {hidden} of them not drawn") } else { String::new() };
        told.push(format!("and {}{drawn}", fencepost_check::phrase::count(others as u64, "more race")));
    }
    told
}

/// "Data race on s[0]: P0's ld.shared.u32 %r1, [s] (line 8, generic proxy) and P1's cp.async.bulk… (line 13, async proxy)".
fn race_words(test: &Test, unfolding: &Unfolding, race: &RacingPair) -> String {
    let event = |id: EventId| unfolding.events.get(id.index());
    // Where nothing goes through another proxy there is nothing to say of proxies.
    let is_generic =
        |id: EventId| event(id).is_none_or(|event| event.has(Tag::Exit) || proxy_marks::proxy(event) == "generic");
    let generic = is_generic(race.first) && is_generic(race.second);
    let side = |id: EventId| {
        let Some(event) = event(id) else { return "?".to_owned() };
        let thread = event.thread.and_then(|thread| unfolding.threads.get(thread.index()));
        let thread = thread.map_or("", |thread| thread.name.as_str());
        if event.has(Tag::Exit) {
            return format!("{thread}'s exit");
        }
        let proxy = match proxy_marks::proxy(event) {
            _ if generic => String::new(),
            name @ "tensor memory" => format!(", {name}"),
            name => format!(", {name} proxy"),
        };
        let line = test.source.position(event.span.start).line;
        format!("{thread}'s {} (line {line}{proxy})", text::shortened(&test.instruction_text(event.span)))
    };
    let location = |id: EventId| unfolding.events.get(id.index()).and_then(|event| event.location());
    let location = location(race.first).or_else(|| location(race.second));
    let place = location.map_or(String::new(), |location| format!(" on {}", text::location_name(unfolding, location)));
    let what = match race.kind {
        FindingKind::DataRace => "Data race",
        FindingKind::ScopedRace => "Race by scopes",
        FindingKind::ExitBeforeAccess => "Memory that may be gone",
        FindingKind::AccessBeforeStart => "Memory that may not be there yet",
        FindingKind::WgmmaRegisterInFlight => "Register in flight",
        FindingKind::WgmmaNoFence => "Registers without a fence",
        _ => race.flag.as_str(),
    };
    if race.first == race.second {
        return format!("{what}{place}: {}", side(race.first));
    }
    format!("{what}{place}: {} and {}", side(race.first), side(race.second))
}

/// The variable an address belongs to.
fn addresses(test: &Test) -> SortedMap<Value, String> {
    let mut names = SortedMap::new();
    for address in &test.program.addresses {
        let name = address.name.strip_suffix("[0]").unwrap_or(&address.name);
        names.entry(address.value).or_insert_with(|| name.to_owned());
    }
    names
}
