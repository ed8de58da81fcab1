//! In which CTAs of a cluster the destination and the mbarrier of an asynchronous operation may lie (PTX ISA 9.7.10.12,
//! 9.7.15.7, 9.7.10.28.4.1, 9.7.10.28.5.3). Elsewhere the behaviour is undefined.
//!
//! The instruction tables say what an instruction demands; where its operands lie is known when it is unfolded. The issue
//! of an operation that breaks its rule gets [`Tag::Stray`], so that a model can flag the executions that reach it. An access
//! that says `.shared::cta` has [`Tag::OwnWindow`], and a model flags those that are [`Tag::Remote`].

use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::ids::{EventId, TraceId};
use crate::program::asynchronous::{Action, Beside, Completion, Home, Placement};
use crate::program::{Operation, Place, Program, Scope};
use crate::sections;
use crate::tag::Tag;
use crate::unfolding::access::includes;
use crate::unfolding::{Event, Hazard, HazardKind, Unfolding};

/// A rule that an operation breaks.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Misplaced {
    Alone,
    NotOwn,
    Own,
    Apart,
    /// The same of a tensor copy, which `.cta_group::2` would allow.
    NoPair,
    NotOfPair,
    /// Probably a mistake, and not known to be undefined.
    Unsaid,
}

impl Misplaced {
    pub fn is_undefined(self) -> bool {
        self != Misplaced::Unsaid
    }
}

/// The rule that an asynchronous operation breaks, with the section of the PTX ISA.
pub fn misplaced(program: &Program, unfolding: &Unfolding, issue: EventId) -> Option<(Misplaced, &'static str)> {
    let placement = demanded(program, unfolding.events.get(issue.index())?)?;
    let strand = unfolding.events.iter().filter(|event| is_of(event, issue));
    broken(program, unfolding, placement, issue, strand).map(|rule| (rule, placement.section))
}

/// Marks the issues of operations that break a rule, and notes a hazard of each.
pub(crate) fn mark(program: &Program, unfolding: &mut Unfolding) {
    mark_windows(unfolding);
    let mut strands: SortedMap<EventId, Vec<&Event>> = SortedMap::new();
    for event in &unfolding.events {
        if let Some(strand) = &event.strand {
            strands.entry(strand.issue).or_default().push(event);
        }
    }
    let mut found = Vec::new();
    for (issue, strand) in strands {
        let placement = unfolding.events.get(issue.index()).and_then(|event| demanded(program, event));
        let Some(placement) = placement else { continue };
        found.extend(broken(program, unfolding, placement, issue, strand).map(|rule| (issue, rule)));
    }
    for (issue, rule) in found {
        let trace = unfolding.traces.iter().position(|trace| trace.events.contains(&issue));
        let (Some(trace), Some(event)) = (trace, unfolding.events.get_mut(issue.index())) else { continue };
        let kind = if rule.is_undefined() {
            event.tags = event.tags.with(Tag::Stray);
            HazardKind::Misplaced
        } else {
            HazardKind::MbarrierElsewhere
        };
        let hazard = Hazard { kind, first: event.span, second: event.span, trace: TraceId::new(trace) };
        unfolding.hazards.push(hazard);
    }
}

/// Notes the accesses that say `.shared::cta` and go to the memory of another CTA: no address of that lies in the window
/// (PTX ISA 5.1.7).
fn mark_windows(unfolding: &mut Unfolding) {
    let outside = |event: &Event| event.has(Tag::OwnWindow) && event.has(Tag::Remote);
    if !unfolding.events.iter().any(outside) {
        return;
    }
    let mut seen = SortedSet::new();
    for (trace, ids) in unfolding.traces.iter().enumerate() {
        for event in ids.events.iter().filter_map(|id| unfolding.events.get(id.index())).filter(|event| outside(event))
        {
            if seen.insert(event.span) {
                let (kind, trace) = (HazardKind::OutsideWindow, TraceId::new(trace));
                unfolding.hazards.push(Hazard { kind, first: event.span, second: event.span, trace });
            }
        }
    }
}

/// What the instruction of an issue demands.
fn demanded(program: &Program, issue: &Event) -> Option<Placement> {
    let code = &program.threads.get(issue.thread?.index())?.code;
    let operation = code.iter().filter(|instruction| instruction.span == issue.span);
    operation.map(|instruction| &instruction.operation).find_map(|operation| match operation {
        Operation::Async(operation) => match &operation.action {
            Action::Start(start) => match &start.completion {
                Completion::Transaction { placement, .. } => *placement,
                _ => None,
            },
            _ => None,
        },
        _ => None,
    })
}

fn is_of(event: &Event, issue: EventId) -> bool {
    event.strand.as_ref().is_some_and(|strand| strand.issue == issue)
}

fn broken<'e>(
    program: &Program,
    unfolding: &Unfolding,
    placement: Placement,
    issue: EventId,
    strand: impl IntoIterator<Item = &'e Event>,
) -> Option<Misplaced> {
    let own = program.threads.get(unfolding.events.get(issue.index())?.thread?.index())?.place;
    let (mut destinations, mut told) = (SortedSet::new(), SortedSet::new());
    for event in strand.into_iter().filter(|event| event.is_write()) {
        let owner = event.location().and_then(|location| program.locations.get(location.index())?.owner);
        let group = if event.has(Tag::Completion) { &mut told } else { &mut destinations };
        group.extend(owner);
    }
    let ctas = cluster(program, own);
    let wrong = match placement.destination {
        Home::Any => None,
        Home::OfSeveral => (ctas.len() < 2).then_some(Misplaced::Alone),
        Home::Own => destinations.iter().any(|cta| *cta != own).then_some(Misplaced::NotOwn),
        Home::Other => destinations.contains(&own).then_some(Misplaced::Own),
    };
    wrong.or_else(|| match placement.mbarrier {
        // Nothing is written of an operation that fails or copies nothing.
        _ if destinations.is_empty() || destinations == told => None,
        Beside::Same => Some(if placement.section == TENSOR { Misplaced::NoPair } else { Misplaced::Apart }),
        Beside::Unsaid => Some(Misplaced::Unsaid),
        Beside::Pair => {
            let pair = |cta: &Place| ctas.iter().position(|other| other == cta).map(|rank| rank / 2);
            let pairs: SortedSet<Option<usize>> = destinations.iter().map(pair).collect();
            (!told.iter().all(|cta| pairs.contains(&pair(cta)))).then_some(Misplaced::NotOfPair)
        }
    })
}

/// The section of tensor copies.
pub(crate) const TENSOR: &str = sections::CP_ASYNC_BULK_TENSOR;

/// The CTAs of a cluster, by rank.
pub(crate) fn cluster(program: &Program, of: Place) -> Vec<Place> {
    let places = program.threads.iter().map(|thread| thread.place);
    let owners = program.locations.iter().filter_map(|location| location.owner);
    let found: SortedSet<Place> = places.chain(owners).filter(|place| includes(Scope::Cluster, of, *place)).collect();
    found.into_iter().collect()
}
