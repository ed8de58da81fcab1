//! A data race in words (PTX ISA 8.7.1): which two accesses, why they are not morally strong, why nothing orders them. In
//! C: which is plain or has too narrow a scope, and that the behaviour is undefined.
//! Another flag of a model is named and no reason given: only the model knows what it means.

use fencepost_axiom::base::narrowest_common;
use fencepost_axiom::execution::Execution;
use fencepost_check::model::facts::{Facts, Watched};
use fencepost_check::model::role::Relation;
use fencepost_program::EventId;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Event;
use fencepost_report::finding::FindingKind;
use fencepost_report::site::Proxy;
use fencepost_report::{Diagnosis, RacingAccess};
use fencepost_syntax::litmus::Arch;

use super::name::capitalised;
use super::{Context, Explanation, Line, Rounds};
use crate::explain::derivation::unordered::Apart;
use crate::explain::vocabulary::Family;

/// Two events and an execution in which they raise a flag.
#[derive(Copy, Clone, Debug)]
pub struct Example<'a> {
    /// The flag, `data-race`.
    pub flag: &'a str,
    /// What it means.
    pub kind: FindingKind,
    pub execution: &'a Execution,
    pub pair: (EventId, EventId),
}

/// Other reads of the two threads that are named, to say which execution it is.
const READS: usize = 3;

pub fn race(context: &Context<'_>, example: &Example<'_>) -> Explanation {
    let rounds = Rounds::new(context.unfolding, example.execution);
    let context = &Context { rounds: &rounds, ..*context };
    let (first, second) = example.pair;
    let mut lines = vec![access(context, first), access(context, second)];
    let location = context.location_name(first);
    let summary = match (example.kind, context.program.arch) {
        (FindingKind::DataRace | FindingKind::ScopedRace, Arch::C) => {
            lines.extend(reasons_by_scope(context, example.pair));
            let is_plain = example.kind == FindingKind::DataRace;
            let kind = if is_plain { "a data race" } else { "a race of atomics, by their scopes" };
            format!("The location {location} has {kind}, so behaviour is undefined and every outcome is possible:")
        }
        (FindingKind::DataRace, _) => {
            lines.extend(match context.family() {
                Family::Compound => reasons_by_scope(context, example.pair),
                _ => reasons(context, example),
            });
            format!("The location {location} has a data race:")
        }
        _ => format!("These raise the flag `{}` of the model:", example.flag),
    };
    let threads = [context.thread(first), context.thread(second)];
    let reads = example.execution.events.iter().copied().filter(|event| {
        context.is_read(*event) && ![first, second].contains(event) && threads.contains(&context.thread(*event))
    });
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for event in reads.take(READS) {
        let (called, value) = (context.called(event), context.value_text(example.execution, event));
        match told.last_mut().filter(|(last, _)| *last == called) {
            // Iterations of a loop.
            Some((_, values)) => values.push(value),
            None => told.push((called, vec![value])),
        }
    }
    let reads: Vec<String> =
        told.iter().map(|(called, values)| format!("{called} reads {}", values.join(", then "))).collect();
    if !reads.is_empty() {
        lines.push(Line { text: format!("seen in an execution where {}", reads.join(" and ")), ..Line::default() });
    }
    Explanation { summary, lines, rejected: Vec::new(), remark: None }
}

/// The same with what is missing, and whether the diagnosis alone says as much: only rounds of loops are more.
pub(crate) fn diagnosed(context: &Context<'_>, example: &Example<'_>, diagnosis: &Diagnosis) -> (Explanation, bool) {
    let rounds = Rounds::new(context.unfolding, example.execution);
    let accesses = [(example.pair.0, &diagnosis.first), (example.pair.1, &diagnosis.second)];
    let told = |(id, access): (EventId, &RacingAccess)| {
        let (how, what) = (if access.asynchronous { "asynchronously " } else { "" }, &access.what);
        let through = match access.proxy {
            None => return context.line(id, format!("{} {what}", context.thread(id).unwrap_or("the thread"))),
            Some(Proxy::TensorMemory) => format!(" ({})", Proxy::TensorMemory.name()),
            Some(proxy) => format!(" through the {}", proxy.name()),
        };
        let iteration = rounds.name(id).map_or(String::new(), |iteration| format!(" in {iteration}"));
        context.line(id, format!("`{}` {how}{what}{through}{iteration}", context.instruction(id)))
    };
    // What one instruction does alone is told once.
    let is_one = example.kind.may_be_alone() && example.pair.0 == example.pair.1;
    let mut lines: Vec<Line> = accesses.into_iter().skip(usize::from(is_one)).map(told).collect();
    lines.push(Line { text: diagnosis.why.clone(), ..Line::default() });
    let word = if diagnosis.confirmed { "missing" } else { "probably missing" };
    for missing in &diagnosis.missing {
        let section = context.section(&missing.section);
        lines.push(Line { text: format!("{word}: {}", missing.text), section, ..Line::default() });
    }
    if diagnosis.confirmed {
        let with = if diagnosis.missing.len() == 1 { "it" } else { "these" };
        let text = format!("with {with} this race is gone: the changed test was checked");
        lines.push(Line { text, ..Line::default() });
    }
    let location = context.location_name(example.pair.0);
    let summary = match example.kind {
        FindingKind::DataRace => capitalised(&format!("the location {location} has a data race:")),
        FindingKind::WgmmaRegisterInFlight => {
            "A register is used before the product it belongs to is complete, so behaviour is undefined:".to_owned()
        }
        FindingKind::WgmmaNoFence => {
            "A product uses registers without a `wgmma.fence` before it, so behaviour is undefined:".to_owned()
        }
        kind if kind.is_of_cluster_barrier() => {
            "A thread does not arrive and wait in turn at the barrier of its cluster, so behaviour is undefined:"
                .to_owned()
        }
        FindingKind::MisplacedOperand => {
            "An operand of an asynchronous operation lies in a CTA where it must not, so behaviour is undefined:"
                .to_owned()
        }
        FindingKind::OutsideWindow => {
            "An access that says `.shared::cta` goes to the memory of another CTA, so behaviour is undefined:"
                .to_owned()
        }
        kind if kind.is_of_tensor_memory() => {
            "Tensor memory is used through no address of it, or given back twice, so behaviour is undefined:".to_owned()
        }
        FindingKind::CancelAfterRefusal => {
            "A launch is asked to be cancelled after a refusal was seen, so behaviour is undefined:".to_owned()
        }
        FindingKind::ExitBeforeAccess => "Shared memory may be gone when it is accessed:".to_owned(),
        FindingKind::AccessBeforeStart => "Shared memory may not be there yet when it is accessed:".to_owned(),
        _ => format!("These raise the flag `{}` of the model:", example.flag),
    };
    let is_told = rounds.name(example.pair.0).is_none() && rounds.name(example.pair.1).is_none();
    (Explanation { summary, lines, rejected: Vec::new(), remark: None }, is_told)
}

fn access(context: &Context<'_>, id: EventId) -> Line {
    let instruction = context.instruction(id);
    let text = match () {
        () if context.is_read(id) => format!("`{instruction}` reads {}", context.location_name(id)),
        () if context.is_write(id) => format!("`{instruction}` writes {}", context.location_name(id)),
        () => format!("`{instruction}`"),
    };
    context.line(id, text)
}

/// What makes the two race in C and between host and device: neither rule that allows them is kept (C11 5.1.2.4,
/// paragraph 25, with the scopes of OpenCL C; Goens et al., PLDI 2023).
fn reasons_by_scope(context: &Context<'_>, (first, second): (EventId, EventId)) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut says = |text: String| lines.push(Line { text, ..Line::default() });
    let (called, both, order) = match context.family() {
        Family::C => ("a plain access, no atomic one", "both are plain accesses, no atomic ones", "happens-before"),
        _ => ("weak", "both are weak", "the compound order"),
    };
    let is_plain = |id: EventId| {
        let weak = |event: &Event| event.has(Tag::NonAtomic) || event.has(Tag::Weak) && !context.is_x86(id);
        context.event(id).is_some_and(weak)
    };
    let plain: Vec<EventId> = [first, second].into_iter().filter(|id| is_plain(*id)).collect();
    match plain.as_slice() {
        [] => {
            let place = |id: EventId| {
                let thread = context.event(id)?.thread?;
                Some(context.unfolding.threads.get(thread.index())?.place)
            };
            let needed = place(first).zip(place(second)).map(|(one, other)| narrowest_common(one, other));
            let scope = |id: EventId| context.event(id).and_then(|event| event.scope);
            for (id, other) in [(first, second), (second, first)] {
                if needed.is_some_and(|needed| scope(id).is_none_or(|scope| scope < needed)) {
                    let thread = context.thread(other).unwrap_or("the other thread");
                    says(format!("the scope of {} does not include {thread}", context.called(id)));
                }
            }
        }
        [one] => says(format!("{} is {called}", context.called(*one))),
        _ => says(both.to_owned()),
    }
    says(format!(
        "{order} does not relate them: no release that an acquire reads, each in the other's scope, leads from one to the \
         other"
    ));
    lines
}

fn reasons(context: &Context<'_>, example: &Example<'_>) -> Vec<Line> {
    let (first, second) = example.pair;
    let model = Watched::new(context.model, context.vocabulary);
    let facts = Facts::of(context.unfolding, &model, example.execution);
    let apart = Apart { context, facts: &facts, execution: example.execution };
    let says = |text: String, section: &str| Line { text, section: context.section(section), ..Line::default() };
    let mut lines = Vec::new();
    if let Some(because) = apart.not_morally_strong(first, second) {
        lines.push(says(format!("they are not morally strong: {}", because.text), because.section));
    }
    let related = |from, to| facts.holds(Relation::BaseCausality, from, to);
    let based = related(first, second).zip(related(second, first));
    // The way that is there, if one is: what is missing is missing on it.
    let either = match based {
        Some((false, true)) => apart.not_ordered(second, first),
        _ => apart.not_ordered(first, second).or_else(|| apart.not_ordered(second, first)),
    };
    match (either, based) {
        (Some(because), _) => {
            lines.push(says(format!("causality order does not relate them: {}", because.text), because.section));
        }
        (None, Some((false, false))) => {
            let text = "causality order does not relate them: no synchronisation leads from one to the other";
            lines.push(says(text.to_owned(), sections::CAUSALITY_ORDER));
        }
        (None, _) => {}
    }
    lines
}
