//! Which traces are worth choosing: those that end as the goal wants and whose constraints, assumptions and share of the
//! condition some may-value of their reads can satisfy. Dropping a trace drops its writes, so this is repeated.

use fencepost_program::expression::Expression;
use fencepost_program::program::Term;
use fencepost_program::unfolding::{Trace, TraceEnd, Traces, Unfolding};
use fencepost_program::value::Value;
use fencepost_program::{EventId, ThreadId, TraceId};
use fencepost_syntax::sorted::SharedSort as _;

use super::question::Question;
use crate::engine::Ends;
use crate::engine::may::{May, MayValues, only_leaf};

/// The traces to combine, per thread.
pub(super) fn choices(unfolding: &Unfolding, question: &Question<'_>, ends: Ends) -> Vec<Traces> {
    let fits = |trace: &TraceId| match (&unfolding.traces[trace.index()].end, ends) {
        (_, Ends::Cut)
        | (TraceEnd::Exit | TraceEnd::NotStarted, _)
        | (TraceEnd::Spin { .. } | TraceEnd::Blocked { .. }, Ends::Stuck) => true,
        (TraceEnd::Spin { .. } | TraceEnd::Blocked { .. }, Ends::Terminating) => false,
        (TraceEnd::Bound { .. } | TraceEnd::Wild { .. }, Ends::Terminating | Ends::Stuck) => false,
    };
    let fitting = |traces: &[TraceId]| traces.iter().copied().filter(fits).collect();
    let mut alive: Vec<Traces> = unfolding.threads.iter().map(|thread| fitting(&thread.traces)).collect();
    // With one trace per thread the analysis of the candidate does the same work.
    if alive.iter().any(|traces| traces.len() > 1) {
        while drop_infeasible(unfolding, question, &mut alive) {}
    }
    alive
}

/// Whether a trace was dropped.
fn drop_infeasible(unfolding: &Unfolding, question: &Question<'_>, alive: &mut [Traces]) -> bool {
    let mut events: Vec<EventId> = unfolding.inits().collect();
    for trace in alive.iter().flatten() {
        events.extend(&unfolding.traces[trace.index()].events);
    }
    events.shared_sort();
    events.dedup();
    let mut may = MayValues::default();
    may.begin(unfolding, &events, &mut |_, _| true);
    let mut dropped = false;
    for (thread, traces) in alive.iter_mut().enumerate() {
        let before = traces.len();
        traces.retain(|trace| feasible(&unfolding.traces[trace.index()], ThreadId::new(thread), question, &may));
        dropped |= traces.len() < before;
    }
    dropped
}

fn feasible(trace: &Trace, thread: ThreadId, question: &Question<'_>, may: &MayValues) -> bool {
    let mut required = trace.constraints.iter().chain(&trace.assumptions);
    required.all(|expression| may.image(expression).any(|value| value != Value(0)))
        && (0..question.conjuncts.len()).all(|index| conjunct_feasible(trace, thread, question, index, may))
}

/// Whether a part of the condition about one register of this thread can hold.
fn conjunct_feasible(trace: &Trace, thread: ThreadId, question: &Question<'_>, index: usize, may: &MayValues) -> bool {
    let [Term::Register(owner, register)] = question.terms(index) else { return true };
    let Some(expression) = trace.registers.get(register.index()) else { return true };
    if *owner != thread {
        return true;
    }
    match may.image(expression) {
        May::Any => true,
        image => image.any(|value| question.conjuncts[index].holds(&mut |_| Some(value)) != Some(false)),
    }
}

/// A test a read's value must pass, in one choice of traces: an expression over that read alone must not be zero, or a
/// part of the condition over that read alone must hold.
#[derive(Copy, Clone, Debug)]
pub(super) enum Test<'a> {
    NonZero(&'a Expression),
    Conjunct(usize),
}

/// The tests on single reads that one choice of traces gives, sorted by read.
pub(super) fn tests_of<'a>(
    unfolding: &'a Unfolding,
    question: &Question<'_>,
    traces: &[TraceId],
) -> Vec<(EventId, Test<'a>)> {
    let mut found = Vec::new();
    let mut leaves = Vec::new();
    for trace in traces {
        let trace = &unfolding.traces[trace.index()];
        for expression in trace.constraints.iter().chain(&trace.assumptions) {
            leaves.clear();
            expression.leaves(&mut leaves);
            if let Some(read) = only_leaf(&mut leaves) {
                found.push((read, Test::NonZero(expression)));
            }
        }
    }
    for index in 0..question.conjuncts.len() {
        leaves.clear();
        let mut registers_only = true;
        for term in question.terms(index) {
            match register(unfolding, traces, term) {
                Some(expression) => expression.leaves(&mut leaves),
                None => registers_only = false,
            }
        }
        if registers_only && let Some(read) = only_leaf(&mut leaves) {
            found.push((read, Test::Conjunct(index)));
        }
    }
    found.shared_sort_by_key(|(read, _)| *read);
    found
}

/// The final value of a register, as an expression.
pub(super) fn register<'a>(unfolding: &'a Unfolding, traces: &[TraceId], term: &Term) -> Option<&'a Expression> {
    let Term::Register(thread, register) = term else { return None };
    let trace = traces.get(thread.index())?;
    unfolding.traces[trace.index()].registers.get(register.index())
}
