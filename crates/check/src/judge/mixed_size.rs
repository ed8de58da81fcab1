//! Accesses of different sizes that overlap in part. If two of them race in some execution, the axioms of the memory model
//! do not apply to the program (PTX ISA 8.7.2): an answer that rests on them is no answer. All that is left is that
//! overlapping atomics in each other's scope do not interleave.
//!
//! An execution that the axioms allow is allowed without them too: what was found stands. What was not found is looked for
//! in the variant of the model's text that has only what is left, and where that does not find it either it cannot happen.

use fencepost_axiom::engine::written_values;
use fencepost_program::access::overlap_completely;
use fencepost_program::program::LocationRole;
use fencepost_program::unfolding::Unfolding;
use fencepost_program::{EventId, LocationId};
use fencepost_report::answer::Answer;
use fencepost_report::finding::FindingKind;
use fencepost_report::why::{Undecided, Why};
use fencepost_syntax::sorted::SortedMap;

use crate::judge::found::{Answers, Ask, Reached};
use crate::judge::varying_bytes::varying_bytes;
use crate::model::load::LoadedModel;
use crate::model::role::Variant;
use crate::options::{Options, Outcomes, Wanted};
use crate::test::Test;

/// Takes back what the axioms do not support.
pub(crate) fn apply(
    (test, model, options): (&Test, &LoadedModel, &Options),
    unfolding: &Unfolding,
    ask: Ask<'_>,
    answers: &mut Answers,
) {
    let raced = answers.flagged().find(|key| key.kind == FindingKind::MixedSizeRace);
    let why = match raced {
        Some(key) => {
            let text = |span| format!("`{}`", test.instruction_text(span));
            Why::MixedSize { span: key.first, what: format!("{} and {}", text(key.first), text(key.second)) }
        }
        None if answers.race.is_unknown() && may_be_mixed(unfolding) => Why::Size(Undecided::MixedSizes),
        None => return,
    };
    let impossible = if answers.findings.iter().any(Answer::is_no) && !tears(unfolding) {
        impossible(test, model, options, ask)
    } else {
        Vec::new()
    };
    for (at, finding) in answers.findings.iter_mut().enumerate() {
        let stands = match finding {
            Answer::Yes(Reached::Shown(_)) => true,
            Answer::No => impossible.get(at) == Some(&true),
            _ => false,
        };
        if !stands {
            *finding = Answer::Unknown(why.clone());
        }
    }
    answers.hang.leave_open(&why);
    // A test that asks nothing is not known to be fine either.
    if answers.findings.iter().all(Answer::is_unknown) {
        answers.refused = Some(why);
    }
}

/// Per question, whether what it looks for does not happen either where the axioms do not apply.
fn impossible(test: &Test, model: &LoadedModel, options: &Options, ask: Ask<'_>) -> Vec<bool> {
    let mut variants = model.vocabulary.variants.names(Variant::MixedSize).into_iter();
    let Some(left) = variants.find_map(|name| model.with_variant(name)) else { return Vec::new() };
    let options = Options { races: Wanted::No, termination: Wanted::No, outcomes: Outcomes::Skip, ..options.clone() };
    ask(test, &left, &options).findings.iter().map(Answer::is_no).collect()
}

/// Whether a mixture of the bytes of two values of a location is a third, or may be: nothing keeps an access whole.
fn tears(unfolding: &Unfolding) -> bool {
    let values = written_values(unfolding);
    unfolding.locations.iter().enumerate().any(|(at, location)| {
        location.role == LocationRole::Data
            && location.ty.bits > 8
            && values
                .get(at)
                .and_then(|values| values.as_ref())
                .is_none_or(|values| varying_bytes(values, location.ty.bits).len() > 1)
    })
}

/// Whether two accesses of different threads overlap in part, one of them a write.
fn may_be_mixed(unfolding: &Unfolding) -> bool {
    if unfolding.events.iter().all(|event| event.extent.is_none()) {
        return false;
    }
    let mut accesses: SortedMap<LocationId, Vec<EventId>> = SortedMap::new();
    for (at, event) in unfolding.events.iter().enumerate().filter(|(_, event)| !event.is_init()) {
        if let Some(location) = event.location() {
            accesses.entry(location).or_default().push(EventId(at as u32));
        }
    }
    let mixed = |a: EventId, b: EventId| {
        let (first, second) = (unfolding.event(a), unfolding.event(b));
        first.thread != second.thread && (first.is_write() || second.is_write()) && !overlap_completely(unfolding, a, b)
    };
    accesses.values().any(|events| events.iter().any(|&a| events.iter().any(|&b| mixed(a, b))))
}
