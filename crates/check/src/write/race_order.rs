//! Which races a report lists, and in which order: one finding per cause, and the cause of what is asked first.
//!
//! A race of accesses that overlap in part is a data race too, of the same two accesses: it is told once, as the graver of
//! the two (PTX ISA 8.7.2). A reader starts at the top, so the races come first through which the value of the witness came
//! about: those of the reads that the condition asks for, then those of what these have read, and so on. The others follow
//! in the order of the text.

use std::collections::VecDeque;

use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::expression::{Expression, Leaf};
use fencepost_program::program::{Condition, Term};
use fencepost_program::unfolding::{EventKind, Unfolding};
use fencepost_report::finding::FindingKind;
use fencepost_report::{Access, Race};
use fencepost_syntax::Span;
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::SortedMap;

use crate::judge::found::Checked;
use crate::test::Test;

/// Leaves out data races that are told as races of accesses that overlap in part.
pub fn leave_out_told(checked: &mut Checked) {
    let races = &checked.report.races.pairs;
    if races.len() < 2 || races.len() != checked.evidence.races.len() {
        return;
    }
    let mixed: Vec<(Access, Access)> = (races.iter().filter(|race| race.kind == FindingKind::MixedSizeRace))
        .map(|race| (race.first.clone(), race.second.clone()))
        .collect();
    let is_told = |race: &Race| {
        race.kind == FindingKind::DataRace
            && mixed.iter().any(|(first, second)| (first, second) == (&race.first, &race.second))
    };
    let evidence = std::mem::take(&mut checked.evidence.races);
    let pairs = std::mem::take(&mut checked.report.races.pairs);
    let listed = pairs.into_iter().zip(evidence).filter(|(race, _)| !is_told(race));
    (checked.report.races.pairs, checked.evidence.races) = listed.unzip();
}

/// Puts the races first through which what is asked came about.
pub fn put_causes_first(test: &Test, checked: &mut Checked) {
    let races = &checked.report.races.pairs;
    if races.len() < 2 || races.len() != checked.evidence.races.len() {
        return;
    }
    let causes = Causes::new(test, checked);
    let evidence = std::mem::take(&mut checked.evidence.races);
    let pairs = std::mem::take(&mut checked.report.races.pairs);
    let unfolding = checked.evidence.accesses.as_ref().or(checked.evidence.unfolding.as_ref());
    let undefined = checked.report.undefined.as_ref();
    let mut listed: Vec<_> = pairs.into_iter().zip(evidence).collect();
    listed.shared_sort_by_key(|(race, (pair, _))| match undefined {
        Some(undefined) if undefined.flags.contains(&race.flag) => 0,
        _ => unfolding.map_or(usize::MAX, |unfolding| causes.distance(unfolding, *pair)),
    });
    (checked.report.races.pairs, checked.evidence.races) = listed.into_iter().unzip();
}

/// The instructions whose reads and writes a witness has its values from, by how many steps lie between.
struct Causes(SortedMap<Span, usize>);

impl Causes {
    fn new(test: &Test, checked: &Checked) -> Causes {
        let mut causes = Causes(SortedMap::new());
        let test = checked.test.as_deref().unwrap_or(test);
        let Some(unfolding) = &checked.evidence.unfolding else { return causes };
        let witnesses = test.program.questions.iter().zip(&checked.evidence.witnesses);
        for (question, execution) in witnesses {
            if let Some(execution) = execution {
                causes.follow(unfolding, execution, &question.condition);
            }
        }
        causes
    }

    /// Back from the terms of a condition: to the reads that a register was computed from, the writes that these read from,
    /// and the reads that those were computed from.
    fn follow(&mut self, unfolding: &Unfolding, execution: &Execution, condition: &Condition) {
        let mut next: VecDeque<(EventId, usize)> = asked(unfolding, execution, condition).map(|id| (id, 0)).collect();
        let mut seen = vec![false; unfolding.events.len()];
        while let Some((id, steps)) = next.pop_front() {
            let Some(event) = unfolding.events.get(id.index()) else { continue };
            if std::mem::replace(&mut seen[id.index()], true) || event.thread.is_none() {
                continue;
            }
            let known = self.0.entry(event.span).or_insert(steps);
            *known = steps.min(*known);
            match &event.kind {
                EventKind::Read { .. } => {
                    let sources = execution.rf.iter().filter(|(_, to)| *to == id);
                    next.extend(sources.map(|(from, _)| (*from, steps + 1)));
                }
                EventKind::Write { value, .. } => next.extend(read(value).into_iter().map(|id| (id, steps + 1))),
                _ => {}
            }
        }
    }

    fn distance(&self, unfolding: &Unfolding, pair: (EventId, EventId)) -> usize {
        let steps = |id: EventId| unfolding.events.get(id.index()).and_then(|event| self.0.get(&event.span));
        [pair.0, pair.1].into_iter().filter_map(steps).min().copied().unwrap_or(usize::MAX)
    }
}

/// The events that give a condition's terms their values.
fn asked<'a>(
    unfolding: &'a Unfolding,
    execution: &'a Execution,
    condition: &Condition,
) -> impl Iterator<Item = EventId> + use<'a> {
    let terms = condition.terms();
    terms.into_iter().flat_map(move |term| match term {
        Term::Constant(_) => Vec::new(),
        Term::Register(thread, register) => {
            let trace = execution.traces.get(thread.index()).and_then(|trace| unfolding.traces.get(trace.index()));
            trace.and_then(|trace| trace.registers.get(register.index())).map(read).unwrap_or_default()
        }
        Term::Memory(location) => {
            let is_write = |id: &&EventId| {
                let event = unfolding.events.get(id.index());
                event.is_some_and(|event| event.is_write() && event.location() == Some(location))
            };
            execution.events.iter().filter(is_write).copied().collect()
        }
    })
}

/// The reads in an expression.
fn read(value: &Expression) -> Vec<EventId> {
    let mut leaves = Vec::new();
    value.leaves(&mut leaves);
    let event = |leaf| match leaf {
        Leaf::Read(event) | Leaf::BarrierResult(event) => event,
    };
    leaves.into_iter().map(event).collect()
}
