//! Racing accesses of several bytes. Only a morally strong read is promised not to mix the bytes of a write with older
//! ones (PTX ISA 8.10.3, single-copy atomicity), and a location is searched whole unless accesses of different sizes cut
//! it. So where a location races, its values differ in more than one byte, and something was not found, the answer takes
//! every access for whole, as all hardware that is known performs them; that is said.

use std::collections::BTreeSet;

use fencepost_axiom::engine::written_values;
use fencepost_program::LocationId;
use fencepost_program::program::LocationRole;
use fencepost_program::unfolding::Unfolding;
use fencepost_program::value::{Type, Value};
use fencepost_syntax::Span;

use crate::check::{Answers, Finding};
use crate::models::LoadedModel;
use crate::race::RaceKey;
use crate::test::Test;

/// The name of the warning, and the section of the PTX ISA.
pub(crate) const WARNING: &str = "may-be-torn";
pub(crate) const SECTION: &str = "8.10.3";
/// The axiom of a model that says which reads are whole. A model without it takes all for whole.
const AXIOM: &str = "single-copy-atomicity";
/// The flag of such a model for accesses that are not morally strong and not ordered.
const FLAG: &str = "data-race";

/// The first race of a location whose values may be torn, and the location, where an answer rests on none being so.
pub(crate) fn found<'u>(
    test: &Test,
    model: &LoadedModel,
    unfolding: &'u Unfolding,
    answers: &Answers,
) -> Option<(Span, &'u str)> {
    let mut questions = test.program.questions.iter().zip(&answers.findings);
    let rests = |(question, finding): (&fencepost_program::program::Question, &Option<Finding>)| {
        matches!(finding, Some(Finding::Absent)) && !question.condition.terms().is_empty()
    };
    if !questions.any(rests) || !model.model.checks.iter().any(|check| check.name == AXIOM) {
        return None;
    }
    let raced: Vec<&RaceKey> = answers.races.races.keys().filter(|key| key.flag == FLAG).collect();
    if raced.is_empty() {
        return None;
    }
    let locations = can_tear(unfolding);
    let touching = |span: Span| {
        let events = unfolding.events.iter().filter(|event| event.span == span);
        events.filter_map(|event| event.location()).find(|location| locations.contains(location))
    };
    let torn = raced.iter().find_map(|key| Some((key.first, touching(key.first).or_else(|| touching(key.second))?)));
    torn.map(|(span, location)| (span, unfolding.locations[location.index()].name.as_str()))
}

/// The locations whose values differ in more than one byte, so that a mixture of two is a third. Of values that grow without
/// a bound that is seen, counters, nothing is said.
fn can_tear(unfolding: &Unfolding) -> BTreeSet<LocationId> {
    let several = |ty: Type| ty.bits > 8;
    if !unfolding.locations.iter().any(|location| several(location.ty)) {
        return BTreeSet::new();
    }
    let values = written_values(unfolding);
    let locations = unfolding.locations.iter().zip(values).enumerate();
    let torn = locations.filter(|(_, (location, values))| {
        let is_data = location.role == LocationRole::Data && several(location.ty);
        is_data && values.as_ref().is_some_and(|values| bytes_that_vary(values) > 1)
    });
    torn.map(|(at, _)| LocationId(at as u32)).collect()
}

fn bytes_that_vary(values: &[Value]) -> usize {
    let Some(first) = values.first() else { return 0 };
    let varying = values.iter().fold(0, |varying, value| varying | (value.0 ^ first.0));
    varying.to_le_bytes().iter().filter(|byte| **byte != 0).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_byte_are_never_torn() {
        assert_eq!(bytes_that_vary(&[Value(0), Value(1), Value(255)]), 1);
        assert_eq!(bytes_that_vary(&[Value(0x100), Value(0x101)]), 1);
        assert_eq!(bytes_that_vary(&[Value(0), Value(0x101)]), 2);
        assert_eq!(bytes_that_vary(&[Value(0), Value(-1)]), 16);
        assert_eq!(bytes_that_vary(&[]), 0);
    }
}
