//! An allowed execution told line by line: what each instruction did, where each read got its value from, and why a read
//! that missed a newer write was allowed to. It is called an interleaving only if one was found.

use fencepost_axiom::execution::Execution;
use fencepost_check::look::outcome;
use fencepost_check::look::proxy::proxy_of;
use fencepost_check::model::facts::{Facts, Watched};
use fencepost_check::phrase::{self, Notation};
use fencepost_program::program::{Condition, Term};
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::EventKind;
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId};
use fencepost_report::site::Proxy;
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::SortedMap;

use super::name::value;
use super::{Context, Explanation, Line, Rounds};
use crate::explain::asynchronous;
use crate::explain::derivation::unordered::{Apart, Because};
use crate::explain::order::happened::Happened;
use crate::explain::order::interleave::{Finals, Interleaving, interleaving};
use crate::explain::order::{Moment, Odd, by_communication, overwriting, told};

/// Tells the execution. `wanted` is what it is a witness of.
pub fn allowed(context: &Context<'_>, execution: &Execution, wanted: Option<&Condition>) -> Explanation {
    let rounds = Rounds::new(context.unfolding, execution);
    let context = &Context { rounds: &rounds, ..*context };
    let ending = wanted.and_then(|wanted| Ending::new(context, execution, wanted));
    let finals = ending.as_ref().map(Ending::finals).unwrap_or_default();
    let model = Watched::new(context.model, context.vocabulary);
    let facts = Facts::of(context.unfolding, &model, execution);
    let happened = Happened::new(&facts, execution);
    let (summary, order) = match interleaving(context, execution, &finals, &happened) {
        Interleaving::Found(order) => ("This execution is allowed, and it is an interleaving of the threads:", order),
        Interleaving::Impossible if !asynchronous::has_elements(context, execution) => (
            "This execution is allowed. No interleaving of the threads gives this result; steps out of order are marked.",
            by_communication(context, execution, &happened),
        ),
        // The elements of one asynchronous operation were kept together, which they need not be.
        Interleaving::Impossible | Interleaving::NotFound => (
            "This execution is allowed. Steps out of order are marked.",
            by_communication(context, execution, &happened),
        ),
    };
    let (order, moments) = worth_telling(context, execution, &order, &happened);
    let apart = Apart { context, facts: &facts, execution };
    let mut lines = Vec::new();
    let partner = |moment: &Moment| context.event(moment.event).and_then(|event| event.rmw_partner);
    let mut rest = moments.iter().peekable();
    let mut iterations = Iterations::default();
    while let Some(moment) = rest.next() {
        if is_plain_strand(context, moment.event) {
            let issue = context.issue(moment.event);
            let mut run = vec![moment];
            let same = |next: &&Moment| context.issue(next.event) == issue && is_plain_strand(context, next.event);
            while let Some(next) = rest.next_if(same) {
                run.push(next);
            }
            let text = asynchronous::accesses(context, execution, &run);
            let events = run.iter().map(|moment| moment.event.0).collect();
            lines.push(Line { events, ..context.line(moment.event, text) });
            let mut told = Vec::new();
            run.iter().for_each(|moment| asides(&apart, moment, None, &mut told));
            told.dedup_by(|next, line| next.text == line.text);
            lines.extend(told);
            continue;
        }
        lines.extend(iterations.next(context, moment.event));
        // The two halves of a read-modify-write are one line where they are one step.
        let written = rest.next_if(|next| partner(moment) == Some(next.event));
        tell(&apart, moment, written, &mut lines);
    }
    if let Some(ending) = &ending {
        lines.extend(ending.not_last(context, execution, &order));
        lines.push(ending.line(context));
    }
    Explanation { summary: summary.to_owned(), lines, rejected: Vec::new(), remark: None }
}

/// Where a thread ends says nothing of memory, unless it lets another kernel start.
fn worth_telling(
    context: &Context<'_>,
    execution: &Execution,
    order: &[EventId],
    happened: &Happened,
) -> (Vec<EventId>, Vec<Moment>) {
    let exits = |id: EventId| context.event(id).is_some_and(|event| event.tags.has(Tag::Exit));
    let lets_start = |id: EventId| execution.events.iter().any(|other| happened.before(id, *other));
    let order: Vec<EventId> = order.iter().copied().filter(|id| !exits(*id) || lets_start(*id)).collect();
    let moments = told(context, execution, &order);
    (order, moments)
}

/// Where each thread is in its loops, as told.
#[derive(Default)]
struct Iterations<'a>(SortedMap<Option<&'a str>, Option<String>>);

impl<'a> Iterations<'a> {
    /// "iteration 2 of the loop, lines 20–30", where it begins.
    fn next(&mut self, context: &Context<'a>, id: EventId) -> Option<Line> {
        let thread = context.thread(id);
        if context.issue(id).is_some() {
            return None;
        }
        let name = context.rounds.name(id);
        let before = self.0.insert(thread, name.clone()).flatten();
        let (round, name) = (context.rounds.of(id).last()?, name.filter(|name| before.as_ref() != Some(name))?);
        let line = |at: u32| context.source.position(at).line;
        let text = match (line(round.first), line(round.last)) {
            (first, last) if first == last => format!("{name} of the loop, line {first}:"),
            (first, last) => format!("{name} of the loop, lines {first}–{last}:"),
        };
        Some(Line { text, thread: thread.map(str::to_owned), ..Line::default() })
    }
}

/// An access of an asynchronous operation to what is no mbarrier.
fn is_plain_strand(context: &Context<'_>, id: EventId) -> bool {
    context.issue(id).is_some() && !context.is_mbarrier(id) && context.location_of(id).is_some()
}

/// The event, then the reasons for what is odd about it, a line each.
fn tell(apart: &Apart<'_>, moment: &Moment, written: Option<&Moment>, lines: &mut Vec<Line>) {
    let (context, execution) = (apart.context, apart.execution);
    let id = moment.event;
    let instruction = context.instruction(id);
    let value = context.value_text(execution, id);
    let location = context.location_name(id);
    let mut text = match context.event(id).map(|event| &event.kind) {
        _ if context.is_mbarrier(id) => {
            asynchronous::mbarrier(context, execution, id, written.map(|written| written.event))
        }
        _ if context.event(id).is_some_and(|event| event.call.is_some()) => asynchronous::host_call(context, id),
        _ if context.event(id).is_some_and(|event| event.tags.has(Tag::Exit)) => {
            "exits, which lets the next kernel start".to_owned()
        }
        Some(EventKind::Issue) => asynchronous::start(context, execution, id),
        Some(EventKind::Read { .. }) => {
            let (through, source) = (through(context, id), source(context, execution, id));
            format!("`{instruction}` reads {location} = {value}{through}, {source}")
        }
        Some(EventKind::Write { .. }) => {
            format!("`{instruction}` writes {location} = {value}{}", through(context, id))
        }
        _ => format!("`{instruction}`"),
    };
    if let Some(written) = written.filter(|_| !context.is_mbarrier(id)) {
        text.push_str(&format!(", and writes {} in the same step", context.value_text(execution, written.event)));
    }
    let exits = context.event(id).is_some_and(|event| event.tags.has(Tag::Exit));
    let line = context.line(id, text);
    lines.push(Line { line: line.line.filter(|_| !exits), ..line });
    asides(apart, moment, written, lines);
}

/// " through the texture proxy"; of the generic one nothing is said.
fn through(context: &Context<'_>, id: EventId) -> String {
    match context.event(id).map(proxy_of) {
        None | Some(Proxy::Generic | Proxy::TensorMemory) => String::new(),
        Some(proxy) => format!(" through the {}", proxy.name()),
    }
}

fn asides(apart: &Apart<'_>, moment: &Moment, written: Option<&Moment>, lines: &mut Vec<Line>) {
    let context = apart.context;
    let id = moment.event;
    let aside = |text: String, section: &str| Line {
        text: format!("- {text}"),
        section: context.section_about(&[id], section),
        events: vec![id.0],
        ..Line::default()
    };
    let ahead = moment.ahead_of.iter().filter(|other| written.is_none_or(|written| written.event != **other));
    let ahead: Vec<EventId> = ahead.copied().collect();
    if let Some(first) = ahead.first() {
        let others = match ahead.len() {
            1 => String::new(),
            more => format!(" and {} more", more - 1),
        };
        lines.push(aside(format!("out of program order: ahead of `{}`{others}", context.instruction(*first)), ""));
    }
    let missed = missed(apart, moment);
    let is_said = |odd: &Odd| missed.is_some() && matches!(odd, Odd::Older(_));
    let odd = [Some(moment), written].into_iter().flatten().filter_map(|moment| Some((moment, moment.odd?)));
    let odd = odd.filter(|(_, odd)| !is_said(odd)).map(|(moment, odd)| oddity(apart, moment.event, odd));
    let odd: Vec<Because> = odd.collect();
    lines.extend(missed.iter().chain(&odd).map(|because| aside(because.text.clone(), because.section)));
}

/// What does not fit the order of the telling.
fn oddity(apart: &Apart<'_>, event: EventId, odd: Odd) -> Because {
    let (context, execution) = (apart.context, apart.execution);
    let value = |id: EventId| context.value_text(execution, id);
    let related = |a: EventId, b: EventId| execution.co.contains(&(a, b)) || execution.co.contains(&(b, a));
    // Told in the model's order, two that nothing joins may have come the other way round.
    let against = |text: String, first: EventId, second: EventId| match apart.not_ordered(first, second) {
        Some(because) => Because { text: format!("{text}: {}", because.text), section: because.section },
        None => Because { text, section: "" },
    };
    match odd {
        Odd::Older(latest) => {
            let source = execution.rf.iter().find(|(_, to)| *to == event).map(|(from, _)| *from);
            let unrelated = source.is_some_and(|source| !related(source, latest));
            let why = if unrelated { ": coherence order does not relate the two writes" } else { "" };
            let text = format!(
                "it returns {} although, as told here, {} wrote {} since{why}",
                value(event),
                context.called(latest),
                value(latest)
            );
            Because { text, section: "" }
        }
        Odd::Early(source) => {
            let text = format!("it returns a write that is told later, of {}", context.placed(source, event));
            against(text, event, source)
        }
        Odd::Late(later) => {
            let later_name = context.placed(later, event);
            let text = format!("in coherence order it comes before {later_name}, which is told before it");
            against(text, later, event)
        }
        Odd::Split(between) => {
            let text = format!("{} is told between the two halves of this read-modify-write", context.called(between));
            Because { text, section: "" }
        }
    }
}

fn source(context: &Context<'_>, execution: &Execution, read: EventId) -> String {
    let source = execution.rf.iter().find(|(_, to)| *to == read).map(|(from, _)| *from);
    match source {
        Some(source) if context.is_init(source) => "the initial value".to_owned(),
        Some(source) if context.thread(source) == context.thread(read) => "its own thread's write".to_owned(),
        Some(source) => {
            let line = context.line_number(source).map_or(String::new(), |line| format!(" in line {line}"));
            let iteration = context.rounds.name(source).map_or(String::new(), |name| format!(", {name}"));
            format!("from {}'s write{line}{iteration}", context.thread(source).unwrap_or("the"))
        }
        None => "from nowhere".to_owned(),
    }
}

/// Why the read need not see a newer write, where somebody might expect it to: the write is told before it, a message that
/// should have told it of the write was received, or it is out of program order.
fn missed(apart: &Apart<'_>, moment: &Moment) -> Option<Because> {
    let (context, execution) = (apart.context, apart.execution);
    let read = moment.event;
    let own = context.event(read)?.rmw_partner;
    let mut newer: Vec<EventId> =
        overwriting(execution, read).into_iter().filter(|write| Some(*write) != own).collect();
    let stale = match moment.odd {
        Some(Odd::Older(latest)) => newer.iter().position(|write| *write == latest),
        _ => None,
    };
    if let Some(at) = stale {
        newer.swap(0, at);
    }
    let need_not = |write: EventId, why: &str| {
        let (location, value) = (context.location_name(write), context.value_text(execution, write));
        format!("it need not see {location} = {value} of {}: {why}", context.placed(write, read))
    };
    let because = newer.iter().find_map(|write| Some((*write, apart.not_ordered(*write, read)?)));
    if let Some((write, because)) = because {
        return Some(Because { text: need_not(write, &because.text), section: because.section });
    }
    let is_early = moment.ahead_of.iter().any(|other| Some(*other) != own);
    // What follows its own write is no news that it could have had.
    let follows = |write: &EventId| own.is_some_and(|own| execution.co.contains(&(own, *write)));
    let mut others = newer.iter().filter(|write| stale.is_some() || context.thread(**write) != context.thread(read));
    let write = *others.find(|write| !follows(write)).filter(|_| is_early || stale.is_some())?;
    let why = if context.is_x86(read) {
        "that write need not have reached memory yet"
    } else {
        "nothing orders that write before this read"
    };
    Some(Because { text: need_not(write, why), section: "" })
}

/// The final state the execution is a witness with.
struct Ending<'a> {
    condition: &'a Condition,
    terms: Vec<Term>,
    state: outcome::State,
    /// How many final states the execution has, seen through these terms.
    states: usize,
}

impl<'a> Ending<'a> {
    /// A state that satisfies the condition and the filter.
    fn new(context: &Context<'_>, execution: &Execution, condition: &'a Condition) -> Option<Ending<'a>> {
        let filter = context.program.filter.as_ref().map(|filter| &filter.node);
        let mut terms: Vec<Term> = condition.terms();
        terms.extend(filter.into_iter().flat_map(Condition::terms));
        terms.shared_sort();
        terms.dedup();
        let states = outcome::Reader::new(context.unfolding, execution).states(&terms);
        let wanted = |state: &&outcome::State| {
            outcome::holds(condition, &terms, state)
                && filter.is_none_or(|filter| outcome::holds(filter, &terms, state))
        };
        let state = states.iter().find(wanted)?.clone();
        Some(Ending { condition, terms, state, states: states.len() })
    }

    fn finals(&self) -> Finals {
        let memory = self.terms.iter().zip(&self.state).filter_map(|(term, value)| match term {
            Term::Memory(location) => Some((*location, *value)),
            _ => None,
        });
        memory.collect()
    }

    fn line(&self, context: &Context<'_>) -> Line {
        let named = |term: &Term| phrase::term(context.program, term, Notation::Named);
        let values = self.terms.iter().zip(&self.state).filter(|(term, _)| !matches!(term, Term::Constant(_)));
        let values: Vec<String> = values.map(|(term, value)| format!("{} = {value}", named(term))).collect();
        let asked = phrase::condition(context.program, self.condition, Notation::Named);
        let choice = match self.states {
            1 => "",
            _ => " (some writes are unordered: the final memory could also be another)",
        };
        let text = if values.is_empty() {
            format!("In the end {asked} holds.")
        } else {
            format!("In the end {}{choice}, so {asked} holds.", values.join(", "))
        };
        Line { text, ..Line::default() }
    }

    /// Where the last write that was told is not the one that remains.
    fn not_last(&self, context: &Context<'_>, execution: &Execution, order: &[EventId]) -> Vec<Line> {
        let line = |(location, remains): (LocationId, Value)| {
            let last =
                order.iter().rfind(|id| context.is_write(**id) && context.location_of(**id) == Some(location))?;
            if value(execution, *last) == Some(remains) {
                return None;
            }
            let overwritten = execution.co.iter().any(|(from, _)| from == last);
            let why = if overwritten { "" } else { ": coherence order does not say which write is the last" };
            let text = format!(
                "- {} is told last, but {} ends as {remains}{why}",
                context.called(*last),
                context.location_name(*last)
            );
            Some(Line {
                text,
                section: context.section_about(&[*last], sections::COHERENCE_ORDER),
                events: vec![last.0],
                ..Line::default()
            })
        };
        self.finals().into_iter().filter_map(line).collect()
    }
}
