//! A derivation as sentences. The steps of a path are followed down through names that only sum others up (`causality`)
//! to those that mean something by themselves (a release pattern observed by an acquire pattern), and one line is
//! written for each.

use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::sections;
use fencepost_program::unfolding::EventKind;

use crate::explain::asynchronous;
use crate::explain::derivation::steps::Step;
use crate::explain::name::capitalised;
use crate::explain::vocabulary::{Family, Kept, Telling};
use crate::explain::{Context, Line};

/// The steps that are told, in order: names resolved, steps that stay on an event left out.
pub(crate) fn tellable<'p>(context: &Context<'_>, steps: &'p [Step], found: &mut Vec<&'p Step>) {
    for step in steps {
        let telling = context.telling(&step.name);
        let through = !step.through.is_empty();
        match telling {
            // Only synchronisation by patterns is one sentence; the other kinds have names of their own below it.
            Some(Telling::Pattern) if through && pattern(context, step).is_none() => {
                tellable(context, &step.through, found)
            }
            // A proxy fence of the access's own thread is worth a sentence of its own.
            Some(Telling::Proxy) if step.from != step.to && context.thread(step.from) == context.thread(step.to) => {
                found.push(step);
            }
            Some(Telling::Through | Telling::Proxy) | None if through => tellable(context, &step.through, found),
            Some(Telling::Proxy | Telling::Through) if step.from == step.to => {}
            None if step.from == step.to => {}
            _ => found.push(step),
        }
    }
}

/// The step that has release pattern, observation and acquire pattern below it.
fn pattern<'s>(context: &Context<'_>, step: &'s Step) -> Option<&'s Step> {
    if step.through.iter().any(|inner| observes(context, inner)) {
        return Some(step);
    }
    match step.through.as_slice() {
        [only] => pattern(context, only),
        _ => None,
    }
}

fn observes(context: &Context<'_>, step: &Step) -> bool {
    context.telling(&step.name) == Some(Telling::Observation)
}

/// One sentence per step. Neighbouring steps of program order become one.
pub(crate) fn lines(context: &Context<'_>, execution: &Execution, steps: &[&Step]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut index = 0;
    while index < steps.len() {
        let mut last = index;
        while last + 1 < steps.len() && both_po(context, execution, steps[last], steps[last + 1]) {
            last += 1;
        }
        let (from, to) = (steps[index].from, steps[last].to);
        lines.push(sentence(context, execution, steps[index], from, to));
        index = last + 1;
    }
    lines
}

fn both_po(context: &Context<'_>, execution: &Execution, a: &Step, b: &Step) -> bool {
    let po = |step: &Step| !step.inverse && told(context, execution, step).0 == Some(Telling::ProgramOrder);
    // A gate between proxies is worth a sentence of its own, and so is a fence of C, which is why the order counts.
    let is_worth = asynchronous::gate(context, a.to).is_some()
        || context.family() == Family::C && context.is_fence(a.to)
        || context.orders_persists(a.to);
    po(a) && po(b) && a.to == b.from && !is_worth
}

/// What follows in the thread of the first, with the iteration where that is another.
fn after(context: &Context<'_>, first: EventId, second: EventId) -> String {
    let (own, other) = (context.rounds.name(first), context.rounds.name(second));
    let iteration = other.filter(|other| own.as_ref() != Some(other));
    let iteration = iteration.map_or(String::new(), |iteration| format!(" ({iteration})"));
    format!("`{}`{iteration}", context.instruction(second))
}

fn sentence(context: &Context<'_>, execution: &Execution, step: &Step, from: EventId, to: EventId) -> Line {
    let (a, b) = (context.called(from), context.called(to));
    let after = after(context, from, to);
    let (telling, mut section) = told(context, execution, step);
    let text = match telling {
        _ if step.inverse => format!("{a} comes after {b} in `{}`", &step.name),
        Some(Telling::ProgramOrder) if context.is_init(from) => format!("{a} is before every thread"),
        Some(Telling::ProgramOrder) => match asynchronous::gate(context, to) {
            Some(gate) => format!("{a} comes before {after}, {gate}"),
            None => format!("{a} comes before {after} in program order"),
        },
        Some(Telling::Kept(why)) => {
            format!("{a} comes before {after} in program order, {}", kept(context, why, (from, to)))
        }
        Some(Telling::ReadsFrom) => {
            format!("{b} returns {}, the value of {a}", context.value_text(execution, to))
        }
        Some(Telling::Coherence) if context.is_init(from) => format!("{b} overwrites the initial value"),
        Some(Telling::Coherence) => format!("{a} is before {b} in coherence order"),
        Some(Telling::FromRead) => from_read(context, execution, from, to),
        Some(Telling::Observation) => observation(context, execution, step),
        Some(Telling::Pattern) => {
            let (text, cited) = synchronises(context, execution, step);
            section = cited;
            text
        }
        Some(Telling::FenceSc) if context.family() == Family::Compound => {
            format!("{a} precedes {b} in the order of SC fences, `mfence` and reads of the host")
        }
        Some(Telling::FenceSc) => format!("{a} precedes {b} in Fence-SC order and synchronises with it"),
        Some(Telling::Barrier) => format!("{a} synchronises with {b} at the barrier"),
        Some(Telling::Generation) => format!("the barrier of {a} completes before {b} arrives there again"),
        Some(Telling::Exited) => {
            format!("the barrier of {b} completes because the thread of {a} has exited, which depends on {a}")
        }
        Some(Telling::Dependency(what)) => format!("the {what} of {b} depends on {a}, by the text of the program"),
        Some(Telling::Omission) => format!("{b} finds a write missing that is not made for what {a} returned"),
        Some(Telling::Atomic) => format!("{a} and {b} are one atomic operation"),
        Some(Telling::Proxy) if context.is_proxy_fence(to) => {
            format!("{a} is followed by {after}, which orders it with the generic proxy")
        }
        Some(Telling::Proxy) if context.is_proxy_fence(from) => {
            format!("{a} comes before {after} and orders the generic proxy with it")
        }
        Some(Telling::Issue) => format!("`{}` starts {b}", context.instruction(from)),
        Some(Telling::Strand) => asynchronous::strand_order(context, from, to),
        Some(Telling::Done) => {
            section = asynchronous::completion_section(context, from);
            format!("{b} waits for {a}")
        }
        Some(Telling::PersistMessage) => {
            format!("{b} reads {a}, and the scope of each includes the other's thread")
        }
        Some(Telling::Persist) => format!("{a} is before {b} in persist memory order, which visibility follows"),
        Some(Telling::Launch) => format!("the kernel of {a} ends before {b}"),
        Some(Telling::Proxy | Telling::Through) | None => format!("{a} is before {b} in `{}`", step.name),
    };
    let mut line = context.line(if context.is_init(from) { to } else { from }, capitalised(&text));
    line.events = vec![from.0, to.0];
    line.section = context.section_about(&[from, to], section);
    line
}

/// Why the order of two is kept.
fn kept(context: &Context<'_>, why: Kept, (from, to): (EventId, EventId)) -> &'static str {
    match why {
        Kept::Preserved if context.is_x86(from) => "which x86-TSO keeps",
        Kept::Preserved => "which the model keeps",
        Kept::Mfence => "with an mfence between them",
        Kept::Implied if context.is_fence(from) || context.is_fence(to) => "which x86-TSO keeps around an `mfence`",
        Kept::Implied => "and a locked instruction is not reordered",
    }
}

/// What to say of a step. Where a name stands for one edge of another relation (`let a = b | c`), the path keeps only
/// the outer name: the edge says what it is.
fn told(context: &Context<'_>, execution: &Execution, step: &Step) -> (Option<Telling>, &'static str) {
    let entry = context.relation(&step.name);
    let (telling, own) = (entry.map(|entry| entry.telling), entry.map_or("", |entry| entry.section));
    if !matches!(telling, Some(Telling::Through) | None) {
        return (telling, own);
    }
    let pair = (step.from, step.to);
    let in_order = context.issue(pair.0).is_none() && context.issue(pair.1).is_none();
    let same_thread = in_order && context.thread(pair.0).is_some() && context.thread(pair.0) == context.thread(pair.1);
    match () {
        () if same_thread && pair.0 < pair.1 => (Some(Telling::ProgramOrder), sections::PROGRAM_ORDER),
        () if execution.rf.contains(&pair) => (Some(Telling::ReadsFrom), sections::COMMUNICATION_ORDER),
        () if execution.sync_fence.contains(&pair) => (Some(Telling::FenceSc), sections::FENCE_SC_ORDER),
        () if execution.barriers.synchronises.contains(&pair) => {
            (Some(Telling::Barrier), sections::MEMORY_SYNCHRONIZATION)
        }
        () if execution.barriers.exits.contains(&pair) => (Some(Telling::Exited), sections::BAR),
        () if execution.co.contains(&pair) => (Some(Telling::Coherence), sections::COHERENCE_ORDER),
        () => (telling, own),
    }
}

fn from_read(context: &Context<'_>, execution: &Execution, read: EventId, write: EventId) -> String {
    let source = execution.rf.iter().find(|(_, to)| *to == read).map(|(from, _)| *from);
    let value = context.value_text(execution, read);
    let which = match source {
        Some(source) if context.is_init(source) => "the initial value".to_owned(),
        Some(source) => format!("the value of {}", context.called(source)),
        None => "a value".to_owned(),
    };
    format!("{} returns {value}, {which}, which {} overwrites", context.called(read), context.called(write))
}

fn observation(context: &Context<'_>, execution: &Execution, step: &Step) -> String {
    let (a, b) = (context.called(step.from), context.called(step.to));
    let direct = execution.rf.contains(&(step.from, step.to));
    if context.is_mbarrier(step.to) {
        let seen = asynchronous::seen(context, execution, step.to);
        format!("{b} observes {a}: it {}", seen.trim_start_matches("which "))
    } else if direct {
        format!("{b} observes {a}: it returns {}", context.value_text(execution, step.to))
    } else {
        format!("{b} observes {a} through read-modify-writes in between")
    }
}

/// Release to acquire, told with the write that was read in the middle.
fn synchronises(context: &Context<'_>, execution: &Execution, step: &Step) -> (String, &'static str) {
    let (a, b) = (context.called(step.from), context.called(step.to));
    let Some(found) = pattern(context, step) else {
        let kinds =
            (context.event(step.from).map(|event| &event.kind), context.event(step.to).map(|event| &event.kind));
        return match kinds {
            (Some(EventKind::Barrier(_)), Some(EventKind::Barrier(_))) => {
                (format!("{a} synchronises with {b} at the barrier"), sections::MEMORY_SYNCHRONIZATION)
            }
            (Some(EventKind::Fence), Some(EventKind::Fence)) => {
                (format!("{a} synchronises with {b}, which it precedes in Fence-SC order"), "8.9.3, 8.9.4")
            }
            _ => (format!("{a} synchronises with {b}"), sections::MEMORY_SYNCHRONIZATION),
        };
    };
    let observed = found.through.iter().find(|inner| observes(context, inner));
    let Some(seen) = observed else { return (format!("{a} synchronises with {b}"), sections::MEMORY_SYNCHRONIZATION) };
    let release = if seen.from == step.from {
        String::new()
    } else {
        format!(", followed by `{}`,", context.instruction(seen.from))
    };
    let acquire =
        if seen.to == step.to { String::new() } else { format!(", after `{}`", context.instruction(seen.to)) };
    let how = if execution.rf.contains(&(seen.from, seen.to)) {
        let value = context.value_text(execution, seen.to);
        if context.is_mbarrier(seen.to) {
            asynchronous::seen(context, execution, seen.to)
        } else if seen.to == step.to {
            format!("which reads its {value}")
        } else {
            format!("which read {value}")
        }
    } else {
        let mbarrier = context.is_mbarrier(seen.to).then(|| asynchronous::seen(context, execution, seen.to));
        mbarrier.unwrap_or_else(|| "which observes it through read-modify-writes".to_owned())
    };
    (format!("{a}{release} synchronises with {b}{acquire}, {how}"), "8.8, 8.9.4")
}
