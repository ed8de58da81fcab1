//! The pieces that are missing as changes of the source: applied to the text of the test they make the race, the outcome or the
//! hang go away.

use std::path::{Path, PathBuf};

use super::check;
use fencepost_check::{Models, Options, load};
use fencepost_report::verdict::Verdict;
use fencepost_report::{Missing, Report, TerminationAnswer};
use fencepost_syntax::Source;

/// Of so many tests one is looked at; `EDITS=all` takes every one.
const EVERY: usize = 5;
/// Of a hundred confirmed repairs so many have text edits.
const MOST_HAVE: usize = 95;

fn tests() -> Vec<PathBuf> {
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the corpus") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|kind| kind == "litmus") {
                found.push(path);
            }
        }
    }
    found.sort();
    let every = if std::env::var_os("EDITS").is_some() { 1 } else { EVERY };
    found.into_iter().step_by(every).collect()
}

fn report(path: &Path, text: &str) -> Option<Report> {
    let (mut tests, _) = load(&Source::new(path.to_str().expect("a path"), text));
    let test = (tests.len() == 1).then(|| tests.remove(0))?;
    Some(check(&test, &Models::shipped("ptx").expect("a model"), &Options::default()).report)
}

fn applied(text: &str, missing: &[Missing]) -> String {
    let mut edits: Vec<_> = missing.iter().flat_map(|piece| &piece.edits).collect();
    edits.sort_by_key(|edit| (edit.start, edit.end));
    let (mut changed, mut at) = (String::new(), 0);
    for edit in edits {
        changed.push_str(&text[at..edit.start as usize]);
        changed.push_str(&edit.replacement);
        at = edit.end as usize;
    }
    changed + &text[at..]
}

/// What was repaired: a race, the answer to a question, or the end of the test.
#[derive(Copy, Clone, Debug)]
enum Repaired {
    Race,
    Question(usize),
    Hang,
}

fn repairs(report: &Report) -> Vec<(Repaired, &[Missing])> {
    let races = report.races.pairs.iter().filter_map(|race| race.diagnosis.as_ref());
    // What is right under other readings only is not checked under these.
    let races = races.filter(|diagnosis| diagnosis.confirmed && diagnosis.under.is_none());
    let races = races.map(|diagnosis| (Repaired::Race, diagnosis.missing.as_slice()));
    let questions = report.questions.iter().enumerate().filter_map(|(at, answer)| {
        let diagnosis = &answer.cause.as_ref()?.diagnosis;
        diagnosis.confirmed.then_some((Repaired::Question(at), diagnosis.missing.as_slice()))
    });
    let hang = Some((Repaired::Hang, report.termination.missing.as_slice()));
    let all = races.chain(questions).chain(hang.filter(|(_, missing)| !missing.is_empty()));
    all.filter(|(_, missing)| !missing.is_empty()).collect()
}

fn is_gone(repaired: Repaired, before: &Report, after: &Report) -> bool {
    match repaired {
        Repaired::Race => after.races.pairs.len() < before.races.pairs.len(),
        Repaired::Question(at) => after.questions.get(at).is_some_and(|answer| answer.verdict != Verdict::Violated),
        Repaired::Hang => after.termination.answer != TerminationAnswer::MayHang,
    }
}

#[test]
fn applied_to_the_source_what_is_missing_repairs_the_test() {
    let (mut all, mut without) = (0, Vec::new());
    for path in tests() {
        let text = std::fs::read_to_string(&path).expect("a test");
        let Some(before) = report(&path, &text) else { continue };
        let mut tried: Vec<String> = Vec::new();
        for (repaired, missing) in repairs(&before) {
            all += 1;
            if missing.iter().any(|piece| piece.edits.is_empty()) {
                let texts: Vec<&str> = missing.iter().map(|piece| piece.text.as_str()).collect();
                without.push(format!("{}: {}", path.display(), texts.join("; ")));
                continue;
            }
            let changed = applied(&text, missing);
            if tried.contains(&changed) {
                continue;
            }
            let after =
                report(&path, &changed).unwrap_or_else(|| panic!("{} does not load:\n{changed}", path.display()));
            assert!(is_gone(repaired, &before, &after), "{} {repaired:?}:\n{changed}", path.display());
            tried.push(changed);
        }
    }
    println!("{} of {all} repairs have text edits; without: {without:#?}", all - without.len());
    assert!(all > 50, "{all}");
    assert!(without.len() * 100 <= all * (100 - MOST_HAVE), "{} of {all} have none: {without:#?}", without.len());
}
