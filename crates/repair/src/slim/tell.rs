//! What was found, as data for reports and as changes of the text.

use fencepost_check::judge::found::Aspect;
use fencepost_check::test::Test;
use fencepost_program::ThreadId;
use fencepost_report::WhyUnknown;
use fencepost_report::fix::{Because, Line};
use fencepost_report::slim::{Broken, Needed, SlimAnswer, SlimChange, SlimReport, SlimSet, Weakened};
use fencepost_syntax::Span;

use super::oracle::Difference;
use super::place::Place;
use super::search::{Found, Together};
use super::space::Space;
use crate::edit::{Edit, text};
use crate::fix::want::Want;
use crate::scene::anchor::{instruction, position};

/// Writes what was found into a report; the text with the best set is returned.
pub(super) fn found(test: &Test, space: &Space, found: &Found, report: &mut SlimReport) -> Option<String> {
    for (place, alone) in space.places.iter().zip(&found.alone) {
        if alone.choice > 0 {
            report.alone.extend(change(test, place, alone.choice));
        } else if let Some((choice, difference)) = &alone.needed
            && let Some(what) = weakened(test, place, *choice)
            && !report.needed.iter().any(|needed| is_of_one_line(&needed.what, &what))
        {
            report.needed.push(Needed { what, breaks: broken(test, difference) });
        }
    }
    let why = |why: &fencepost_report::why::Why| WhyUnknown::new(why, &test.source);
    report.why = found.open.as_ref().map(why);
    let (set, text) = found.together.as_ref().map(|set| together(test, space, set)).unzip();
    report.together = set.map(|set| SlimSet { most: found.open.is_none(), ..set });
    report.answer = match (&report.together, report.alone.is_empty(), &report.why) {
        (Some(_), ..) | (None, false, _) => SlimAnswer::Slimmer,
        (None, true, None) => SlimAnswer::Nothing,
        (None, true, Some(_)) => SlimAnswer::Undecided,
    };
    text.flatten()
}

/// A wait whose words are needed is needed as a whole.
fn is_of_one_line(one: &Weakened, other: &Weakened) -> bool {
    let first = |what: &Weakened| match what {
        Weakened::Replaced { at, was, .. } => Some((at.clone(), was.clone())),
        Weakened::Removed { at, was } => Some((at.first()?.clone(), was.clone())),
    };
    first(one) == first(other)
}

fn together(test: &Test, space: &Space, set: &Together) -> (SlimSet, Option<String>) {
    let taken: Vec<(&Place, usize)> =
        space.places.iter().zip(set.choices.iter().copied()).filter(|(_, choice)| *choice > 0).collect();
    let groups: Vec<Vec<&Edit>> = taken.iter().map(|(place, choice)| place.edits(*choice).iter().collect()).collect();
    let texts = text::of_groups(&groups, &test.litmus, &test.source);
    let text = texts.as_ref().and_then(|texts| text::applied(&test.source.text, texts.iter().flatten()));
    let texts = texts.unwrap_or_else(|| vec![Vec::new(); groups.len()]);
    let changes = taken.iter().zip(texts).filter_map(|((place, choice), edits)| {
        Some(SlimChange { what: weakened(test, place, *choice)?, saves: place.saves(*choice), edits })
    });
    let why = |why: &fencepost_report::why::Why| WhyUnknown::new(why, &test.source);
    let set = SlimSet {
        changes: changes.collect(),
        saves: space.saves(&set.choices),
        most: true,
        second_engine: set.second_engine.as_ref().map(why),
        more_rounds: set.more_rounds.as_ref().map(why),
        unrolled: set.unrolled,
        writable: text.is_some(),
    };
    (set, text)
}

fn change(test: &Test, place: &Place, choice: usize) -> Option<SlimChange> {
    let group: Vec<&Edit> = place.edits(choice).iter().collect();
    let texts = text::of_groups(&[group], &test.litmus, &test.source);
    let edits = texts.and_then(|mut texts| texts.pop()).unwrap_or_default();
    Some(SlimChange { what: weakened(test, place, choice)?, saves: place.saves(choice), edits })
}

fn weakened(test: &Test, place: &Place, choice: usize) -> Option<Weakened> {
    let name = |thread: ThreadId| {
        test.litmus.threads.get(thread.index()).map_or_else(String::new, |thread| thread.name.node.clone())
    };
    let line = |(thread, span): &(ThreadId, Span)| Line { thread: name(*thread), line: test.source.line(span.start) };
    let (thread, span) = *place.at.first()?;
    let was = test.instruction_text(span);
    if !place.is_removed(choice) {
        return Some(Weakened::Replaced { at: line(&(thread, span)), was, is: changed(test, place, choice)? });
    }
    // One line for each thread: where it waits.
    let mut at: Vec<Line> = place.at.iter().map(line).collect();
    at.dedup_by(|next, first| next.thread == first.thread);
    Some(Weakened::Removed { at, was })
}

/// The instruction with its new words and its old operands.
fn changed(test: &Test, place: &Place, choice: usize) -> Option<String> {
    let (thread, span) = *place.at.first()?;
    let changed = Edit::apply_all(&place.edits(choice).iter().collect::<Vec<_>>(), &test.litmus)?;
    let at = position(&test.litmus, thread, span)?;
    let words = |litmus: &fencepost_syntax::litmus::Litmus| {
        let found = instruction(litmus.threads.get(thread.index())?.body.get(at)?)?;
        let words = found.modifiers.iter().map(|word| word.node.as_str());
        let number = match found.operands.last().map(|operand| &operand.node) {
            Some(fencepost_syntax::instruction::Operand::Integer(number)) => Some(*number),
            _ => None,
        };
        Some(([found.opcode.node.as_str()].into_iter().chain(words).collect::<Vec<_>>().join("."), number))
    };
    let ((was, old), (is, new)) = (words(&test.litmus)?, words(&changed)?);
    let text = test.instruction_text(span).replacen(&was, &is, 1);
    match (old, new) {
        (Some(old), Some(new)) if old != new => {
            Some(format!("{}{new}", text.trim_end().strip_suffix(&old.to_string())?))
        }
        _ => Some(text),
    }
}

pub(super) fn broken(test: &Test, difference: &Difference) -> Broken {
    match difference.aspect {
        None => Broken::States,
        Some(Aspect::Protocol) => Broken::Protocol,
        Some(Aspect::Termination) => Broken::Hang,
        Some(Aspect::Races) => difference.flags.first().map_or(Broken::SomeRace, |key| Broken::Race {
            finding: key.kind,
            first: test.source.line(key.first.start),
            second: test.source.line(key.second.start),
        }),
        Some(aspect) => {
            let told = Want { aspect, possible: false, because: Because::Question }.told(test);
            Broken::Question { question: told.question, line: told.line }
        }
    }
}
