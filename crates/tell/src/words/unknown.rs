//! Why an answer is not known, and that a program has no defined behaviour, as sentences.

use fencepost_report::why::{Undecided, Why};
use fencepost_report::{Undefined, WhyUnknown};

/// Fills the message where there is data to make it from: a report that was read back has it already.
pub(super) fn fill(why: &mut WhyUnknown) {
    if let Some(data) = &why.why {
        why.message = text(data);
    }
}

pub(super) fn undefined(undefined: &Undefined) -> String {
    let races = undefined.kinds.iter().all(|kind| kind.is_race());
    let what = if races { "race".to_owned() } else { undefined.flags.join(", ") };
    format!("{what}: behaviour is undefined, every outcome is possible")
}

/// "the time limit was reached".
pub(super) fn text(why: &Why) -> String {
    match why {
        Why::Time => "the time limit was reached".to_owned(),
        Why::Memory => "the memory limit was reached".to_owned(),
        Why::States => "the limit of states was reached".to_owned(),
        Why::Bound(_) => "a loop was cut at the unrolling bound; --bound N unrolls more".to_owned(),
        Why::Unsupported { what, .. } => format!("unsupported: {what}"),
        Why::MixedSize { what, .. } => format!(
            "{what} race with different sizes, so the axioms do not apply; all that is left is that overlapping atomics \
             in each other's scope do not interleave"
        ),
        Why::Size(what) => format!("too large: {}", undecided(what)),
        Why::Undefined => "the behaviour is undefined".to_owned(),
        Why::ThinAir => "a value depends on itself and the model does not forbid it".to_owned(),
        Why::Cancelled => "stopped on request".to_owned(),
        Why::Internal(what) => format!("internal check failed: {what}"),
    }
}

fn undecided(what: &Undecided) -> String {
    match what {
        Undecided::Search => "the search was cut".to_owned(),
        Undecided::Executions => "not every execution was seen".to_owned(),
        Undecided::Recoveries(most) => {
            format!("recovery was run from {most} states, and crashes of recovery leave more")
        }
        Undecided::Races => "whether a race makes its behaviour undefined was not decided".to_owned(),
        Undecided::MixedSizes => "whether accesses of different sizes race was not decided".to_owned(),
        Undecided::Readings(_) => "not decided under every reading of the specification".to_owned(),
        Undecided::TornPlaces => "values may be torn in too many places".to_owned(),
        Undecided::TornRaces => "races with torn values were not decided".to_owned(),
        Undecided::TornHangs => "executions that never end with torn values were not decided".to_owned(),
        Undecided::TornValue(location) => format!("a torn value of {location} was not looked for"),
        Undecided::Unrolling { what, line: Some(line) } => format!("{what} (line {line})"),
        Undecided::Unrolling { what, line: None } => what.clone(),
    }
}
