//! Which boxes there are. A thread is a column with a box per instruction (two for a read-modify-write); its asynchronous
//! operations stand in a lane beside it, each as one box for what it accesses and one per completion (PTX ISA 8.9.1.1).
//! Copies of sixteen elements are one box: the engine's events are one per element, a reader's are not.

use fencepost_axiom::execution::Execution;
use fencepost_program::program::{BarrierKind, Place};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind, ThreadUnfolding, Trace, TraceEnd};
use fencepost_program::{EventId, ThreadId};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::SortedMap;

use crate::render::Instructions;
use crate::render::scene::proxy_marks::Gate;
use crate::render::scene::text::{self, Line, Words};
use crate::render::scene::{Column, ColumnKind, Node, Role, Scene};

pub(crate) fn add(scene: &mut Scene, words: &Words<'_>, text: &Instructions<'_>, execution: &Execution) {
    for (events, text) in words.inits() {
        scene.inits.push(scene.nodes.len());
        scene.nodes.push(Node::new(events, vec![Line::plain(text)], Role::Init));
    }
    let mut letter = 0;
    for at in gathered(&words.unfolding.threads) {
        let thread = &words.unfolding.threads[at];
        let trace = execution.traces.get(at).and_then(|trace| words.unfolding.traces.get(trace.index()));
        let Some(trace) = trace else { continue };
        let mut nodes = Vec::new();
        for events in main_boxes(words, trace) {
            let Some(node) = main_node(words, text, events, &mut letter) else { continue };
            nodes.push(scene.nodes.len());
            scene.nodes.push(node);
        }
        let ending = ending(&trace.end).map(str::to_owned);
        let name = column_name(words, thread);
        let kind = ColumnKind::Thread;
        scene.columns.push(Column { name, thread: ThreadId::new(at), place: thread.place, ending, nodes, kind });
        add_lane(scene, words, at, trace);
    }
}

/// The threads in the order of their columns: those of one GPU stand together, those of one cluster and one CTA in it, so
/// that each is one frame; else as the program has them.
fn gathered(threads: &[ThreadUnfolding]) -> Vec<usize> {
    let first = |same: &dyn Fn(Place) -> bool| threads.iter().position(|thread| same(thread.place));
    let mut order: Vec<usize> = (0..threads.len()).collect();
    order.shared_sort_by_key(|at| match threads[*at].place {
        place @ Place::Host => (first(&|other| other == place), None, None, *at),
        place @ Place::Gpu { gpu, cluster, .. } => {
            let in_gpu = |other: Place| matches!(other, Place::Gpu { gpu: own, .. } if own == gpu);
            let in_cluster = |other: Place| {
                matches!(other, Place::Gpu { gpu: own, cluster: one, .. } if (own, one) == (gpu, cluster))
            };
            (first(&in_gpu), first(&in_cluster), first(&|other| other == place), *at)
        }
    });
    order
}

fn column_name(words: &Words<'_>, thread: &ThreadUnfolding) -> String {
    let kernels = words.unfolding.threads.iter().any(|other| other.kernel != thread.kernel);
    match thread.kernel.filter(|_| kernels) {
        Some(kernel) => format!("{}, kernel {}", thread.name, kernel.index()),
        None => thread.name.to_string(),
    }
}

/// The events of a trace in program order, those of one box together.
fn main_boxes(words: &Words<'_>, trace: &Trace) -> Vec<Vec<EventId>> {
    let mut boxes: Vec<Vec<EventId>> = Vec::new();
    let mut last: Option<&Event> = None;
    for id in &trace.events {
        // The end of a thread is no instruction, and drawn only where an access may come after it.
        let is_something = |event: &Event| event.is_main() && event.omitted().is_none();
        let is_drawn = |event: &&Event| is_something(event) && (!event.has(Tag::Exit) || words.is_racing(*id));
        let Some(event) = words.event(*id).filter(is_drawn) else { continue };
        let in_group = event.group.is_some() && last.is_some_and(|last| last.group == event.group);
        // An instruction that copies reads, then writes.
        let copies = event.is_write()
            && event.rmw_partner.is_none()
            && last.is_some_and(|last| last.is_read() && (last.span, last.iteration) == (event.span, event.iteration));
        // The halves of an operation on an mbarrier are one change of its state.
        let changes = event.is_write() && event.rmw_partner.is_some() && words.is_mbarrier(*id);
        // The use of a register and what else its instruction does.
        let of_register = |event: &Event| event.has(Tag::InFlight) || event.has(Tag::Unfenced);
        let uses = last.is_some_and(|last| (of_register(last) || of_register(event)) && last.span == event.span);
        match boxes.last_mut().filter(|_| in_group || changes || copies || uses) {
            Some(open) => open.push(*id),
            None => boxes.push(vec![*id]),
        }
        last = Some(event);
    }
    boxes
}

fn main_node(words: &Words<'_>, text: &Instructions<'_>, events: Vec<EventId>, letter: &mut usize) -> Option<Node> {
    let first = words.event(*events.first()?)?;
    let joined = first.is_write() && first.rmw_partner.is_some();
    let mut lines = Vec::new();
    if !joined {
        let exits = first.has(Tag::Exit);
        let mut what = if exits { vec!["exit".to_owned()] } else { text::wrapped(&text(first.span)) };
        if let Some(first) = what.first_mut() {
            *first = format!("{}: {first}", text::letters(*letter));
        }
        let iteration = events.first().and_then(|event| words.iteration(*event));
        if let (Some(last), Some(iteration)) = (what.last_mut(), iteration.filter(|_| !exits)) {
            last.push_str(&format!(" ({iteration})"));
        }
        lines.extend(what.into_iter().map(Line::program));
        *letter += 1;
    }
    lines.extend(words.effects(&events));
    lines.extend(text::gate_words(words.unfolding, first).map(Line::plain));
    let value = events.first().and_then(|event| words.value(*event));
    if let (EventKind::Barrier(barrier), Some(value)) = (&first.kind, value)
        && barrier.kind == BarrierKind::Red
    {
        lines.push(Line::plain(format!("→ {value}")));
    }
    let line = events.first().and_then(|event| words.line(*event)).filter(|_| !joined && !first.has(Tag::Exit));
    Some(Node { joined, line, ..Node::new(events, lines, role(first)) })
}

/// The strands of a thread, in the order of their issue.
fn add_lane(scene: &mut Scene, words: &Words<'_>, at: usize, trace: &Trace) {
    let thread = &words.unfolding.threads[at];
    let mut strands: SortedMap<EventId, Vec<EventId>> = SortedMap::new();
    for id in &trace.events {
        let strand = words.event(*id).and_then(|event| event.strand.as_ref());
        if let Some(strand) = strand {
            strands.entry(strand.issue).or_default().push(*id);
        }
    }
    let mut nodes = Vec::new();
    for (issue, events) in strands {
        let anchor = scene.nodes.iter().position(|node| node.events.contains(&issue));
        let mut joined = false;
        for node in strand_nodes(words, &events) {
            nodes.push(scene.nodes.len());
            scene.nodes.push(Node { anchor, joined, ..node });
            joined = true;
        }
    }
    if !nodes.is_empty() {
        let name = format!("{}, asynchronous", thread.name);
        let (thread, place, kind) = (ThreadId::new(at), thread.place, ColumnKind::Strands);
        scene.columns.push(Column { name, thread, place, ending: None, nodes, kind });
    }
}

/// A box for the accesses of one operation, and one per completion.
fn strand_nodes(words: &Words<'_>, events: &[EventId]) -> Vec<Node> {
    let is_completion = |id: &EventId| words.event(*id).is_some_and(|event| event.has(Tag::Completion));
    let (completions, accesses): (Vec<EventId>, Vec<EventId>) = events.iter().copied().partition(is_completion);
    let mut nodes = Vec::new();
    if !accesses.is_empty() {
        let lines = words.effects(&accesses);
        let line = accesses.first().and_then(|event| words.line(*event));
        nodes.push(Node { line, ..Node::new(accesses, lines, Role::Strand) });
    }
    let mut rest = completions.as_slice();
    while let [first, others @ ..] = rest {
        let partner = words.event(*first).and_then(|event| event.rmw_partner);
        let (events, lines) = match (partner, others) {
            (Some(write), [next, ..]) if write == *next => (vec![*first, write], words.completion(*first, write)),
            _ => (vec![*first], words.effects(&[*first])),
        };
        rest = rest.get(events.len()..).unwrap_or_default();
        nodes.push(Node::new(events, lines, Role::Completion));
    }
    nodes
}

fn role(event: &Event) -> Role {
    match event.kind {
        EventKind::Read { .. } => Role::Read,
        EventKind::Write { .. } => Role::Write,
        EventKind::Fence => Gate::of(event).map_or(Role::Fence, Role::Gate),
        EventKind::Issue if event.has(Tag::Issue) => Role::Issue,
        EventKind::Issue => Role::Wait,
        EventKind::Barrier(_) | EventKind::Omitted(_) => Role::Barrier,
    }
}

fn ending(end: &TraceEnd) -> Option<&'static str> {
    match end {
        TraceEnd::Exit => None,
        TraceEnd::Spin { .. } => Some("spins for ever"),
        TraceEnd::Blocked { .. } => Some("waits for ever"),
        TraceEnd::NotStarted => Some("never starts"),
        TraceEnd::Bound { .. } => Some("cut at the bound"),
        TraceEnd::Wild { .. } => Some("accesses no location"),
    }
}
