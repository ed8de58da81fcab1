//! The races of a report. Races that lack the same pieces have one cause: their accesses are listed one below the other,
//! and what is missing is told once, behind the last of them.

use std::fmt::Write;

use fencepost_report::finding::FindingKind;
use fencepost_report::{Diagnosis, Missing, Race, Report};
use fencepost_syntax::sorted::SharedSort as _;

use super::diagnosis::{diagnosed, missing, through};

pub(super) fn write(text: &mut String, report: &Report) {
    for races in by_cause(&report.races.pairs) {
        races.iter().for_each(|race| accesses(text, report, race));
        let [first, others @ ..] = races.as_slice() else { continue };
        let Some(diagnosis) = &first.diagnosis else { continue };
        let is_race = races.iter().all(|race| race.kind.is_race());
        if others.is_empty() {
            diagnosed(text, diagnosis, if is_race { "this race is gone" } else { "this finding is gone" });
            continue;
        }
        let number = if races.len() == 2 { "both".to_owned() } else { format!("these {}", races.len()) };
        let _ = writeln!(text, "  {number} {} have one cause:", if is_race { "races" } else { "findings" });
        whys(text, &races);
        missing(text, diagnosis, "they are gone");
    }
}

/// Those with the same missing pieces together, in the order of their first ones.
fn by_cause(races: &[Race]) -> Vec<Vec<&Race>> {
    let mut groups: Vec<Vec<&Race>> = Vec::new();
    for race in races {
        let same = |group: &&mut Vec<&Race>| group.first().is_some_and(|first| is_one_cause(first, race));
        match groups.iter_mut().find(same) {
            Some(group) => group.push(race),
            None => groups.push(vec![race]),
        }
    }
    groups
}

fn is_one_cause(first: &Race, second: &Race) -> bool {
    let (Some(one), Some(other)) = (&first.diagnosis, &second.diagnosis) else { return false };
    let pieces = |diagnosis: &Diagnosis| {
        let mut pieces: Vec<Missing> = diagnosis.missing.clone();
        pieces.shared_sort_by(|a, b| (&a.thread, a.line, &a.text).cmp(&(&b.thread, b.line, &b.text)));
        pieces
    };
    let alike = (one.confirmed, &one.under) == (other.confirmed, &other.under);
    !one.missing.is_empty() && alike && first.contested == second.contested && pieces(one) == pieces(other)
}

/// The reasons of all, each once.
fn whys(text: &mut String, races: &[&Race]) {
    let mut told: Vec<&str> = Vec::new();
    for why in races.iter().filter_map(|race| race.diagnosis.as_ref()).map(|diagnosis| diagnosis.why.as_str()) {
        if !told.contains(&why) {
            told.push(why);
            let _ = writeln!(text, "    {why}");
        }
    }
}

fn accesses(text: &mut String, report: &Report, race: &Race) {
    let place = race.location.as_deref().map_or(String::new(), |location| format!(" on {location}"));
    let (first, second) = (&race.first, &race.second);
    let contested = if race.contested { weakest(report) } else { String::new() };
    let _ = writeln!(text, "  {}{place}{}{contested}:", race.flag, kind(race, report));
    let told = race.diagnosis.as_ref();
    let both = [(first, told.map(|told| &told.first)), (second, told.map(|told| &told.second))];
    // What one instruction does alone is told once.
    let is_one = race.kind.may_be_alone() && first == second;
    for (access, told) in both.into_iter().skip(usize::from(is_one)) {
        let how = told.map_or(String::new(), through);
        let _ = writeln!(text, "    {} line {}: {}{how}", access.thread, access.line, access.text);
    }
}

/// What a race rests on that is one under some readings only, with their names.
fn weakest(report: &Report) -> String {
    match report.races.depends.as_ref().map(|dependence| dependence.readings.as_slice()) {
        Some([reading]) => format!(" under the weakest reading of {reading} only"),
        Some(readings @ [_, ..]) => format!(" under the weakest readings of {} only", readings.join(" and ")),
        Some([]) | None => " under the weakest readings only".to_owned(),
    }
}

/// Which of the two kinds of races of C it is.
fn kind(race: &Race, report: &Report) -> &'static str {
    match race.kind {
        _ if !report.undefined.as_ref().is_some_and(|undefined| undefined.flags.contains(&race.flag)) => "",
        FindingKind::DataRace => " (not both atomic)",
        FindingKind::ScopedRace => " (atomics whose scopes do not include each other)",
        _ => "",
    }
}
