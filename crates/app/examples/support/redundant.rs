//! What fixed twins carry and do not need: each change that `fencepost slim` offers alone, and the set that saves most where that
//! has several. `fencepost check` is asked about each changed text ([`crate::confirm`]): it must have every answer that the twin has.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use fencepost_report::TextEdit;
use fencepost_report::fix::{Because, FixWant};
use fencepost_report::slim::{SlimAnswer, SlimChange, SlimReport, Weakened};
use fencepost_report::verdict::Verdict;

use crate::confirm::{Asked, Confirmed, Confirming};
use crate::parsed;

pub(crate) const HEAD: &str = "# test\tlines\twhat\tbecomes\tsaves\tin the set that saves most";

/// What was counted.
#[derive(Default)]
struct Figures {
    answers: [usize; 4],
    rows: usize,
    confirmed: usize,
    sets: usize,
    sets_confirmed: usize,
}

/// Prints the rows, and figures and what is not confirmed to standard error.
pub(crate) fn list(confirming: &Confirming, root: &Path, twins: &BTreeSet<String>) -> std::io::Result<()> {
    println!("{HEAD}");
    let mut figures = Figures::default();
    for twin in twins {
        slimmed(confirming, root, twin, &mut figures)?;
    }
    let [slimmer, nothing, not_right, undecided] = figures.answers;
    eprintln!("{} tests: {slimmer} carry something, {nothing} nothing", twins.len());
    eprintln!("{undecided} undecided, {not_right} not right");
    eprintln!("{} of {} changes confirmed", figures.confirmed, figures.rows);
    eprintln!("{} of {} sets that save most confirmed", figures.sets_confirmed, figures.sets);
    Ok(())
}

fn slimmed(confirming: &Confirming, root: &Path, twin: &str, figures: &mut Figures) -> std::io::Result<()> {
    let file = root.join(format!("corpus/{twin}.litmus"));
    let text = std::fs::read_to_string(&file)?;
    let ran = Command::new(&confirming.program).arg("slim").arg(&file).args(["--json", "--jobs", "1"]).output()?;
    let Ok(report) = serde_json::from_slice::<SlimReport>(&ran.stdout) else {
        eprintln!("{twin}: {}", String::from_utf8_lossy(&ran.stderr).trim());
        return Ok(());
    };
    let answer = match report.answer {
        SlimAnswer::Slimmer => 0,
        SlimAnswer::Nothing => 1,
        SlimAnswer::NotRight => 2,
        SlimAnswer::Undecided => 3,
    };
    figures.answers[answer] += 1;
    if let Some(why) = &report.why {
        eprintln!("{twin}: not all was decided: {}", why.message);
    }
    if report.alone.is_empty() {
        return Ok(());
    }
    let wants = match confirming.report(&text, &report.model, &[]) {
        Ok(report) => report.questions.iter().map(want).collect(),
        Err(why) => {
            eprintln!("{twin}: {why}");
            Vec::new()
        }
    };
    let asked = Asked { model: &report.model, wants: &wants };
    let set = report.together.as_ref().map_or(&[] as &[SlimChange], |set| &set.changes);
    for change in &report.alone {
        let (lines, was, is) = words(&change.what);
        let is_in_set = if set.iter().any(|it| it.what == change.what) { "yes" } else { "" };
        println!("{twin}\t{lines}\t{was}\t{is}\t{}\t{is_in_set}", change.saves);
        figures.rows += 1;
        match confirmed(confirming, &text, &[change], &asked) {
            Ok(()) => figures.confirmed += 1,
            Err(why) => eprintln!("{twin} {lines} `{was}`: {why}"),
        }
    }
    if !set.is_empty() {
        figures.sets += 1;
        match confirmed(confirming, &text, &set.iter().collect::<Vec<_>>(), &asked) {
            Ok(()) => figures.sets_confirmed += 1,
            Err(why) => eprintln!("{twin}, the set that saves most: {why}"),
        }
    }
    Ok(())
}

/// What a question finds now it must find again, and no more.
fn want(answer: &fencepost_report::QuestionAnswer) -> FixWant {
    let is_promise = !matches!(answer.kind.as_str(), "exists" | "permit");
    FixWant {
        question: format!("{} ({})", answer.kind, answer.condition),
        line: answer.line,
        possible: !is_promise && answer.verdict == Verdict::Holds,
        because: Because::Question,
    }
}

fn confirmed(confirming: &Confirming, text: &str, changes: &[&SlimChange], asked: &Asked<'_>) -> Confirmed {
    let text = applied(text, changes.iter().flat_map(|change| &change.edits)).ok_or("the text has no place for it")?;
    let litmus = parsed(&text).ok_or("the changed text is no test")?;
    let answered = confirming.confirm(&text, &litmus, asked);
    answered.enumerate.map_err(|why| format!("enumeration: {why}"))?;
    answered.sat.map_err(|why| format!("SAT: {why}"))?;
    answered.unrolled.unwrap_or(Ok(())).map_err(|why| format!("two more rounds: {why}"))
}

/// The text with these edits, the last first. None where there are none.
fn applied<'e>(text: &str, edits: impl Iterator<Item = &'e TextEdit>) -> Option<String> {
    let mut edits: Vec<&TextEdit> = edits.collect();
    edits.sort_by_key(|edit| (edit.start, edit.end));
    edits.dedup();
    let mut changed = text.to_owned();
    for edit in edits.iter().rev() {
        let range = edit.start as usize..edit.end as usize;
        changed.get(range.clone())?;
        changed.replace_range(range, &edit.replacement);
    }
    (!edits.is_empty()).then_some(changed)
}

/// The lines, what stands there, and what it becomes.
fn words(what: &Weakened) -> (String, &str, &str) {
    match what {
        Weakened::Replaced { at, was, is } => (at.line.to_string(), was, is),
        Weakened::Removed { at, was } => {
            let lines: Vec<String> = at.iter().map(|at| at.line.to_string()).collect();
            (lines.join(", "), was, "-")
        }
    }
}
