//! What `fix` says, for people: the changes, what they cost, what was proved of them; and a unified diff.

use std::fmt::Write;

use fencepost_check::phrase;
use fencepost_report::fix::{Because, FixAnswer, FixReport, Line, Part, Repair, Spot, What};
use fencepost_report::piece::Side;

/// Puts what is not known into words.
pub fn put_into_words(report: &mut FixReport) {
    let repair = report.repair.iter_mut().flat_map(|repair| [&mut repair.second_engine, &mut repair.more_rounds]);
    for why in repair.chain([&mut report.why]).flatten() {
        if let Some(data) = &why.why {
            why.message = crate::words::why(data);
        }
    }
}

/// One line of JSON (`docs/schema/fix.schema.json`).
pub fn json(report: &FixReport) -> String {
    serde_json::to_string(report).map_or_else(|error| format!("{{\"error\":\"{error}\"}}\n"), |line| line + "\n")
}

pub fn text(report: &FixReport) -> String {
    let mut text = format!("{} ({}) under {}: ", report.file, report.test, report.model);
    text += &match (&report.answer, &report.repair) {
        (FixAnswer::Right, _) => "nothing is wrong with it\n".to_owned(),
        (FixAnswer::NoRepair, _) => "no repair\n".to_owned(),
        (FixAnswer::Undecided, _) | (FixAnswer::Repaired, None) => {
            format!("undecided{}\n", reason(report.why.as_ref()))
        }
        (FixAnswer::Repaired, Some(repair)) if report.why.is_some() => {
            format!("repaired in part (cost {})\n", repair.cost)
        }
        (FixAnswer::Repaired, Some(repair)) => {
            let word = if repair.cheapest { "cheapest" } else { "best found" };
            let whole = if report.left.is_empty() { "repaired" } else { "repaired in part" };
            format!("{whole}, {word} (cost {})\n", repair.cost)
        }
    };
    for want in &report.wants {
        let possible = if want.possible { "possible" } else { "impossible" };
        let because = match want.because {
            Because::Question => continue,
            Because::Expected => "as expected beside the test",
            Because::SequentialConsistency => "as under sc",
            Because::Asked => "as asked for",
        };
        let _ = writeln!(text, "  {} is to be {possible}, {because}", want.question);
    }
    if report.wants.is_empty() && report.answer == FixAnswer::Repaired {
        text.push_str(
            "  no condition says what it is to do (of an `exists` that sc does not answer, `--keep` and `--forbid` do): \
             only races, hangs and broken rules were looked for\n",
        );
    }
    if let Some(repair) = &report.repair {
        repaired(&mut text, report, repair);
    }
    for left in &report.left {
        let lines = match left.first == left.second {
            true => format!("line {}", left.first),
            false => format!("lines {} and {}", left.first, left.second),
        };
        let _ = writeln!(text, "  left: {} of {lines}, which is undefined", left.finding.word());
    }
    if report.answer == FixAnswer::Repaired && report.why.is_some() {
        let why = reason(report.why.as_ref());
        let _ = writeln!(text, "  whether other changes mend that too was not decided{why}");
    }
    if report.answer == FixAnswer::NoRepair {
        let all = phrase::count(report.options, "change");
        let _ = writeln!(text, "  none of {all} makes it right, with everything that orders more added to it");
    }
    if let Some(refused) = &report.refused {
        let sentences: Vec<String> = refused.changes.iter().map(|change| sentence(&change.what)).collect();
        let _ = writeln!(text, "  nothing would be wrong with this, but the test could not end as it can now:");
        let _ = writeln!(text, "    {} (cost {})", sentences.join("; "), refused.cost);
        let _ = writeln!(text, "  if that end is a mistake too, say so with a `forall` or a `~exists`");
    }
    text
}

fn repaired(text: &mut String, report: &FixReport, repair: &Repair) {
    for change in &repair.changes {
        let _ = writeln!(text, "  {} (cost {})", sentence(&change.what), change.cost);
    }
    for other in &repair.alternatives {
        let sentences: Vec<String> = other.iter().map(|change| sentence(&change.what)).collect();
        let _ = writeln!(text, "  or, as cheap: {}", sentences.join("; "));
    }
    let changes = phrase::count(report.options, "change");
    let asked = phrase::count(report.asked, "changed test");
    let _ = match repair.cheapest {
        true => writeln!(text, "  nothing cheaper among {changes} is a repair ({asked} checked)"),
        false => writeln!(text, "  cheaper ones among {changes} were not decided ({asked} checked)"),
    };
    confirmed(text, "the other engine", repair.second_engine.as_ref());
    if repair.unrolled.is_some() {
        confirmed(text, "two more rounds of its loops", repair.more_rounds.as_ref());
    }
    if !repair.writable {
        let _ = writeln!(
            text,
            "  the notation of this test has no place for the changes: `--write` and `--diff` cannot show them"
        );
    }
}

/// Whether somebody else finds the same, and why not.
pub(super) fn confirmed(text: &mut String, who: &str, why: Option<&fencepost_report::WhyUnknown>) {
    let _ = match why {
        None => writeln!(text, "  confirmed by {who}"),
        Some(_) => writeln!(text, "  not confirmed by {who}{}", reason(why)),
    };
}

/// "P0 line 5: `st.relaxed.gpu.u32 [y], 1` becomes `st.release.gpu.u32 [y], 1`".
fn sentence(what: &What) -> String {
    let line = |at: &Line| format!("{} line {}", at.thread, at.line);
    let spot = |at: &Spot| format!("{} {} line {}", at.thread, side(at.side), at.line);
    match what {
        What::Inserted { text, at } => {
            let places: Vec<String> = at.iter().map(spot).collect();
            format!("{}: insert `{text}`", places.join(", "))
        }
        What::Loop { wait, at } => format!("{}: insert a loop with `{wait}`", spot(at)),
        What::Replaced { at, was, is } => format!("{}: `{was}` becomes `{is}`", line(at)),
        What::Moved { at, was, to } => format!("{}: move `{was}` {} line {}", line(at), side(to.side), to.line),
        What::Removed { at, was } => format!("{}: remove `{was}`", line(at)),
        What::Counted { mbarrier, by, at } => {
            let place = at.as_ref().map_or_else(|| format!("the declaration of {mbarrier}"), line);
            let number = phrase::count(by.unsigned_abs(), "arrival");
            format!("{place}: the mbarrier waits for {number} {}", if *by > 0 { "more" } else { "fewer" })
        }
        What::Declared { text } => format!("declare `{text}`"),
        What::Several { parts } => {
            let part = |part: &Part| match &part.was {
                Some(was) => format!("{}: `{}` in place of `{was}`", spot(&part.at), part.text),
                None => format!("{}: insert `{}`", spot(&part.at), part.text),
            };
            parts.iter().map(part).collect::<Vec<_>>().join(", ")
        }
    }
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Before => "before",
        Side::Behind => "after",
    }
}

fn reason(why: Option<&fencepost_report::WhyUnknown>) -> String {
    why.map_or_else(String::new, |why| format!(": {}", why.message))
}

/// Lines around a change that a diff shows.
const AROUND: usize = 3;

/// The unified diff of two texts.
pub fn diff(name: &str, old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let steps = steps(&old, &new);
    let is_change = |step: &Step| !matches!(step, Step::Both(..));
    let mut text = format!("--- {name}\n+++ {name}\n");
    let mut at = 0;
    while let Some(first) = steps.iter().skip(at).position(is_change).map(|found| found + at) {
        let start = first.saturating_sub(AROUND).max(at);
        let mut end = first + 1;
        while let Some(next) = steps.iter().skip(end).take(2 * AROUND).position(is_change) {
            end += next + 1;
        }
        let end = (end + AROUND).min(steps.len());
        hunk(&mut text, &steps[start..end], &old, &new);
        at = end;
    }
    text
}

#[derive(Copy, Clone)]
enum Step {
    Both(usize, usize),
    Old(usize, usize),
    New(usize, usize),
}

fn hunk(text: &mut String, steps: &[Step], old: &[&str], new: &[&str]) {
    let (Step::Both(from, to) | Step::Old(from, to) | Step::New(from, to)) = steps[0];
    let gone = steps.iter().filter(|step| !matches!(step, Step::New(..))).count();
    let came = steps.iter().filter(|step| !matches!(step, Step::Old(..))).count();
    let _ = writeln!(text, "@@ -{},{gone} +{},{came} @@", from + 1, to + 1);
    for step in steps {
        let _ = match *step {
            Step::Both(at, _) => writeln!(text, " {}", old[at]),
            Step::Old(at, _) => writeln!(text, "-{}", old[at]),
            Step::New(_, at) => writeln!(text, "+{}", new[at]),
        };
    }
}

/// Both texts side by side along a longest common subsequence of what lies between their common ends.
fn steps(old: &[&str], new: &[&str]) -> Vec<Step> {
    let same = |(one, other): &(&&str, &&str)| one == other;
    let head = old.iter().zip(new).take_while(same).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(same).count();
    let (own, other) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let width = other.len() + 1;
    let mut longest = vec![0usize; (own.len() + 1) * width];
    for one in (0..own.len()).rev() {
        for two in (0..other.len()).rev() {
            longest[one * width + two] = match own[one] == other[two] {
                true => longest[(one + 1) * width + two + 1] + 1,
                false => longest[(one + 1) * width + two].max(longest[one * width + two + 1]),
            };
        }
    }
    let mut steps: Vec<Step> = (0..head).map(|at| Step::Both(at, at)).collect();
    let (mut one, mut two) = (0, 0);
    while one < own.len() || two < other.len() {
        if one < own.len() && two < other.len() && own[one] == other[two] {
            steps.push(Step::Both(head + one, head + two));
            (one, two) = (one + 1, two + 1);
        } else if two == other.len()
            || one < own.len() && longest[(one + 1) * width + two] >= longest[one * width + two + 1]
        {
            steps.push(Step::Old(head + one, head + two));
            one += 1;
        } else {
            steps.push(Step::New(head + one, head + two));
            two += 1;
        }
    }
    let (one, two) = (head + own.len(), head + other.len());
    steps.extend((0..tail).map(|at| Step::Both(one + at, two + at)));
    steps
}

#[cfg(test)]
mod tests {
    use fencepost_report::fix::{FixAnswer, FixChange, FixReport, Repair, SCHEMA, What};

    use super::{diff, text};

    #[test]
    fn a_repair_that_is_not_proved_the_cheapest_is_the_best_found() {
        let what = What::Declared { text: ".launch 0 -> 1".to_owned() };
        let change = FixChange { what, cost: 3, edits: Vec::new() };
        let repair = Repair {
            changes: vec![change.clone()],
            cost: 3,
            cheapest: false,
            alternatives: vec![vec![change]],
            second_engine: None,
            more_rounds: None,
            unrolled: None,
            writable: true,
        };
        let report = FixReport {
            schema: SCHEMA,
            test: "t".to_owned(),
            file: "t.litmus".to_owned(),
            model: "ptx".to_owned(),
            answer: FixAnswer::Repaired,
            wants: Vec::new(),
            repair: Some(repair),
            refused: None,
            why: None,
            left: Vec::new(),
            options: 9,
            asked: 4,
        };
        let told = text(&report);
        assert!(told.contains("repaired, best found (cost 3)\n  no condition says what it is to do"), "{told}");
        assert!(told.contains("\n  declare `.launch 0 -> 1` (cost 3)\n"), "{told}");
        assert!(told.contains("  or, as cheap: declare `.launch 0 -> 1`\n"), "{told}");
        assert!(told.contains("cheaper ones among 9 changes were not decided (4 changed tests checked)"), "{told}");
    }

    #[test]
    fn a_diff_shows_changes_with_their_neighbours() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n";
        let new = "a\nb\nC\nd\ne\nf\ng\nh\ni\nj\nk\nx\nl\n";
        let told = "--- t\n+++ t\n@@ -1,6 +1,6 @@\n a\n b\n-c\n+C\n d\n e\n f\n@@ -9,4 +9,5 @@\n i\n j\n k\n+x\n l\n";
        assert_eq!(diff("t", old, new), told);
        assert_eq!(diff("t", "", "one\n"), "--- t\n+++ t\n@@ -1,0 +1,1 @@\n+one\n");
    }
}
