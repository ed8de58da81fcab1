//! Why a crash may leave a state, as a story; and why none can, by the order that makes one persist durable with another.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fencepost_axiom::base::Candidate;
use fencepost_axiom::crash::Role;
use fencepost_axiom::engine::{Ends, Goal, Limits};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::NodeId;
use fencepost_axiom::reason::{Explainer, Fact, Matrices, Valuation};
use fencepost_check::judge::found::Crashed;
use fencepost_check::look::crash::is_persist;
use fencepost_check::model::facts;
use fencepost_check::session::{EngineName, Executions};
use fencepost_program::EventId;
use fencepost_program::program::{Condition, Term};
use fencepost_program::tag::Tag;
use fencepost_program::value::Value;
use fencepost_program::value::expression::Leaf;
use fencepost_report::Missing;
use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::sorted::SortedSet;

use super::derivation::chain;
use super::derivation::steps::of_derivation;
use super::name::{capitalised, value};
use super::{Context, Explanation, Line};

/// So many executions are looked at for an order that rules a state out.
const MOST_EXECUTIONS: u32 = 256;
/// A safety net only.
const PATIENCE: Duration = Duration::from_secs(5);

fn explanation(summary: String, lines: Vec<Line>) -> Explanation {
    Explanation { summary, lines, rejected: Vec::new(), remark: None }
}

/// How a crash leaves a state: what had happened, what was durable, what was lost, and which order is missing.
pub(crate) fn story(context: &Context<'_>, crashed: &Crashed, state: &str, missing: &[Missing]) -> Explanation {
    let (execution, crash) = (&*crashed.shown.execution, &crashed.crash);
    let mut lines = Vec::new();
    for thread in &context.unfolding.threads {
        let own = |event: &&EventId| context.thread(**event) == Some(thread.name.as_str());
        let Some(last) = crash.happened.iter().rfind(own) else { continue };
        let text = format!("when the power fails, {} has come as far as `{}`", thread.name, context.instruction(*last));
        lines.push(context.line(*last, capitalised(&text)));
    }
    let read = |(write, read): &&(EventId, EventId)| {
        crash.happened.contains(read) && context.thread(*write) != context.thread(*read) && !context.is_init(*write)
    };
    for (write, read) in execution.rf.iter().filter(read) {
        let text = format!(
            "{} has read {}, which {} wrote",
            context.called(*read),
            context.value_text(execution, *read),
            context.called(*write)
        );
        lines.push(context.line(*read, capitalised(&text)));
    }
    for durable in &crash.durable {
        lines.push(context.line(*durable, format!("{} is durable", persist(context, execution, *durable))));
    }
    let lost = crash.happened.iter().filter(|event| is_persist(context.unfolding, **event));
    let lost: Vec<EventId> = lost.filter(|event| !crash.durable.contains(event)).copied().collect();
    for event in &lost {
        lines.push(context.line(*event, format!("{} is not, and is lost", persist(context, execution, *event))));
    }
    lines.extend(unordered(context, execution, &lost, &crash.durable));
    lines.push(Line { text: format!("So memory holds {state}"), ..Line::default() });
    lines.extend(missing.iter().map(|piece| Line { text: format!("missing: {}", piece.text), ..Line::default() }));
    if !missing.is_empty() {
        let with = if missing.len() == 1 { "it" } else { "these" };
        let text = format!("with {with} the promise is kept: the changed test was checked");
        lines.push(Line { text, ..Line::default() });
    }
    explanation(format!("A crash may leave {state}."), lines)
}

/// `x = 1 (P0 line 4)`.
fn persist(context: &Context<'_>, execution: &Execution, event: EventId) -> String {
    let written = value(execution, event).map_or(String::new(), |value| format!(" = {value}"));
    let thread = context.thread(event).unwrap_or_default();
    let line = context.line_number(event).map_or(String::new(), |line| format!(" line {line}"));
    format!("{}{written} ({thread}{line})", context.location_name(event))
}

/// What does not order a lost persist before a durable one.
fn unordered(
    context: &Context<'_>,
    execution: &Execution,
    lost: &[EventId],
    durable: &SortedSet<EventId>,
) -> Vec<Line> {
    let mut lines = Vec::new();
    for early in lost {
        for late in durable {
            let between = |what: String| {
                let (a, b) = (persist(context, execution, *early), persist(context, execution, *late));
                context.line(*early, format!("Nothing makes {a} durable before {b}: {what}"))
            };
            if context.thread(*early) == context.thread(*late) {
                if early < late {
                    lines.push(between("no `ofence` or `dfence` stands between them".to_owned()));
                }
                continue;
            }
            lines.extend(message(context, execution, *early, *late).map(between));
        }
    }
    lines
}

/// What is wrong with the message from the thread of the one persist to that of the other.
fn message(context: &Context<'_>, execution: &Execution, early: EventId, late: EventId) -> Option<String> {
    let has = |event: EventId, tag: Tag| context.event(event).is_some_and(|event| event.has(tag));
    let passes = |(write, read): &&(EventId, EventId)| {
        context.thread(*write) == context.thread(early)
            && context.thread(*read) == context.thread(late)
            && *write > early
            && *read < late
    };
    let (write, read) = execution.rf.iter().find(passes)?;
    let (a, b) = (context.called(*write), context.called(*read));
    Some(match (has(*write, Tag::PersistRelease), has(*read, Tag::PersistAcquire)) {
        (false, false) => format!("{a} is no `prel`, and {b}, which reads it, no `pacq`"),
        (false, true) => format!("{a} is no `prel`"),
        (true, false) => format!("{b}, which reads the `prel`, is no `pacq`"),
        (true, true) => format!("the scopes of {a} and {b} do not include each other's thread"),
    })
}

/// Why no crash leaves a state: one persist that it needs is durable only with another that it excludes.
pub(crate) fn impossible(context: &Context<'_>, condition: &Condition) -> Option<Explanation> {
    let mut wanted = Vec::new();
    atoms(condition, &mut wanted)?;
    let node = |role: Role| context.model.shown.iter().find(|(name, _)| name == role.name()).map(|(_, node)| *node);
    let nodes = [node(Role::Prefix)?, node(Role::Persists)?, node(Role::Durable)?];
    let deadline = Instant::now().checked_add(PATIENCE);
    let limits = Limits { deadline, memory: None, cancelled: None, work: None };
    let executions = Executions { unfolding: context.unfolding, model: context.model, limits };
    let (mut found, mut left) = (None, MOST_EXECUTIONS);
    let _ = executions.explore(EngineName::Enumerate, &Goal::new(Ends::Terminating), &mut |execution| {
        left -= 1;
        found = ruled_out(context, execution, &wanted, nodes);
        if found.is_some() || left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found.map(|lines| explanation("No crash leaves this state.".to_owned(), lines))
}

/// The terms and values of a conjunction; None of another condition.
fn atoms(condition: &Condition, found: &mut Vec<(Term, Value)>) -> Option<()> {
    match condition {
        Condition::Compare { op: Comparison::Equal, left, right: Term::Constant(value) } => {
            found.push((*left, *value));
            Some(())
        }
        Condition::And(parts) => parts.iter().try_for_each(|part| atoms(part, found)),
        _ => None,
    }
}

/// The order in one execution that rules the state out, if a direct one does.
fn ruled_out(
    context: &Context<'_>,
    execution: &Execution,
    wanted: &[(Term, Value)],
    [prefix, persists, durable]: [NodeId; 3],
) -> Option<Vec<Line>> {
    let mut candidate = Candidate::default();
    candidate.choose(context.unfolding, &execution.traces);
    let mut matrices = Matrices::with_roots(context.model, &[prefix, persists, durable]);
    matrices.begin(context.unfolding, &candidate);
    matrices.choose(&facts::chosen(&candidate, execution));
    let of = |event: &EventId, location| context.location_of(*event) == Some(location);
    let own = |event: &&EventId| is_persist(context.unfolding, **event);
    let all: Vec<EventId> = execution.events.iter().filter(own).copied().collect();
    for (term, value_wanted) in wanted {
        let Term::Memory(location) = term else { continue };
        let is_wanted = |event: &&EventId| of(event, *location) && value(execution, **event) == Some(*value_wanted);
        for late in all.iter().filter(is_wanted) {
            for (other, excluded) in wanted {
                let Term::Memory(other) = other else { continue };
                let is_excluded = |event: &&EventId| of(event, *other) && value(execution, **event) != Some(*excluded);
                for early in all.iter().filter(is_excluded) {
                    let (from, to) = (candidate.local(*early)?, candidate.local(*late)?);
                    if matrices.pair(persists, from, to) {
                        return Some(ordered(context, execution, (&matrices, &candidate), persists, (*early, *late)));
                    }
                }
            }
        }
    }
    waited(context, execution, wanted, (&matrices, &candidate), [prefix, durable])
}

/// One persist comes before the other in persist memory order.
fn ordered(
    context: &Context<'_>,
    execution: &Execution,
    (matrices, candidate): (&Matrices<'_>, &Candidate),
    persists: NodeId,
    (early, late): (EventId, EventId),
) -> Vec<Line> {
    let mut lines = Vec::new();
    if let (Some(from), Some(to)) = (candidate.local(early), candidate.local(late)) {
        let mut explainer = Explainer::new(context.model, matrices);
        let derivation = explainer.derivation(Fact::present(persists, from, to), &candidate.events);
        let steps = of_derivation(&derivation, context.model);
        let mut told = Vec::new();
        chain::tellable(context, &steps, &mut told);
        lines = chain::lines(context, execution, &told);
    }
    let (a, b) = (persist(context, execution, early), persist(context, execution, late));
    lines.push(context.line(late, format!("So {a} is durable whenever {b} is")));
    lines
}

/// A fence waits until a persist is durable, and something that the state needs happens after it.
fn waited(
    context: &Context<'_>,
    execution: &Execution,
    wanted: &[(Term, Value)],
    (matrices, candidate): (&Matrices<'_>, &Candidate),
    [prefix, durable]: [NodeId; 2],
) -> Option<Vec<Line>> {
    let needed = needed(context, execution, wanted);
    for (term, excluded) in wanted {
        let Term::Memory(location) = term else { continue };
        for (from, early) in candidate.events.iter().enumerate() {
            let is_excluded = is_persist(context.unfolding, *early)
                && context.location_of(*early) == Some(*location)
                && value(execution, *early) != Some(*excluded);
            for fence in matrices.row(durable, from).into_iter().filter(|_| is_excluded) {
                let later = after(matrices, prefix, fence);
                let is_later = |event: &&EventId| candidate.local(**event).is_some_and(|at| later.contains(&at));
                let Some(late) = needed.iter().find(is_later) else { continue };
                let fence = *candidate.events.get(fence)?;
                let (waits, is) = (context.called(fence), persist(context, execution, *early));
                let text =
                    format!("{waits} waits until {is} is durable, and {} happens after it", context.called(*late));
                return Some(vec![context.line(fence, capitalised(&text))]);
            }
        }
    }
    None
}

/// The events that give the terms of a state their values: persists, and the reads of registers.
fn needed(context: &Context<'_>, execution: &Execution, wanted: &[(Term, Value)]) -> Vec<EventId> {
    let mut needed = Vec::new();
    for (term, wanted) in wanted {
        match term {
            Term::Memory(location) => {
                let is_own = |event: &&EventId| {
                    is_persist(context.unfolding, **event)
                        && context.location_of(**event) == Some(*location)
                        && value(execution, **event) == Some(*wanted)
                };
                needed.extend(execution.events.iter().filter(is_own));
            }
            Term::Register(thread, register) => {
                let trace = execution.traces.get(thread.index());
                let trace = trace.and_then(|trace| context.unfolding.traces.get(trace.index()));
                let mut leaves = Vec::new();
                if let Some(value) = trace.and_then(|trace| trace.registers.get(register.index())) {
                    value.leaves(&mut leaves);
                }
                needed.extend(leaves.into_iter().map(|leaf| match leaf {
                    Leaf::Read(event) | Leaf::BarrierResult(event) => event,
                }));
            }
            Term::Constant(_) => {}
        }
    }
    needed
}

/// What a relation leads to from an event, over any number of steps.
fn after(matrices: &Matrices<'_>, relation: NodeId, from: usize) -> SortedSet<usize> {
    let mut found = SortedSet::from([from]);
    let mut waiting = vec![from];
    while let Some(event) = waiting.pop() {
        waiting.extend(matrices.row(relation, event).into_iter().filter(|next| found.insert(*next)));
    }
    found
}
