//! The example of a race, and what the model's own relations say of it.

pub(crate) mod anchor;
pub(crate) mod loops;
pub(crate) mod mbarrier_uses;
pub(crate) mod site;
pub(crate) mod slots;
pub(crate) mod statement;

use fencepost_axiom::base::narrowest_common;
use fencepost_axiom::execution::Execution;
use fencepost_check::model::facts::{Facts, Watched};
use fencepost_check::model::role::Relation;
use fencepost_check::test::Test;
use fencepost_program::program::{Place, Scope, Space};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind, LocationInfo, Unfolding};
use fencepost_program::{EventId, ThreadId};
use fencepost_syntax::litmus::Statement;
use fencepost_syntax::sorted::SharedSort as _;

pub(crate) struct Scene<'a> {
    pub(crate) test: &'a Test,
    pub(crate) unfolding: &'a Unfolding,
    pub(crate) execution: &'a Execution,
    pub(crate) model: &'a Watched<'a>,
    facts: Facts<'a>,
    /// By read, ascending: the write that it returns.
    reads: Vec<(EventId, EventId)>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(
        test: &'a Test,
        unfolding: &'a Unfolding,
        execution: &'a Execution,
        model: &'a Watched<'a>,
    ) -> Self {
        let mut reads: Vec<(EventId, EventId)> = execution.rf.iter().map(|(write, read)| (*read, *write)).collect();
        reads.shared_sort();
        Scene { test, unfolding, execution, model, facts: Facts::of(unfolding, model, execution), reads }
    }

    pub(crate) fn event(&self, id: EventId) -> &'a Event {
        &self.unfolding.events[id.index()]
    }

    pub(crate) fn has(&self, id: EventId, tag: Tag) -> bool {
        self.event(id).tags.has(tag)
    }

    pub(crate) fn thread(&self, id: EventId) -> Option<ThreadId> {
        self.event(id).thread
    }

    /// The statements of a thread.
    pub(crate) fn body(&self, thread: ThreadId) -> &'a [Statement] {
        anchor::body(&self.test.litmus, thread)
    }

    /// Where a thread runs.
    pub(crate) fn home(&self, thread: ThreadId) -> Place {
        self.unfolding.threads.get(thread.index()).map_or(Place::Host, |own| own.place)
    }

    pub(crate) fn thread_name(&self, thread: ThreadId) -> &'a str {
        self.unfolding.threads.get(thread.index()).map_or("", |thread| thread.name.as_str())
    }

    pub(crate) fn name(&self, id: EventId) -> &'a str {
        self.thread(id).map_or("the host", |thread| self.thread_name(thread))
    }

    pub(crate) fn place(&self, id: EventId) -> Place {
        self.thread(id).map_or(Place::Host, |thread| self.home(thread))
    }

    pub(crate) fn is_main(&self, id: EventId) -> bool {
        self.event(id).strand.is_none()
    }

    pub(crate) fn location(&self, id: EventId) -> Option<&'a LocationInfo> {
        self.unfolding.locations.get(self.event(id).location()?.index())
    }

    pub(crate) fn space(&self, id: EventId) -> Space {
        self.location(id).and_then(|location| location.space).unwrap_or(Space::Global)
    }

    /// Where the access happens in program order: itself, or what started its strand.
    pub(crate) fn at(&self, id: EventId) -> EventId {
        self.event(id).strand.as_ref().map_or(id, |strand| strand.issue)
    }

    pub(crate) fn common(&self, a: EventId, b: EventId) -> Scope {
        narrowest_common(self.place(a), self.place(b))
    }

    /// The main events of a thread in this execution, in program order.
    pub(crate) fn main_events(&self, thread: ThreadId) -> Vec<EventId> {
        // Nothing is put behind an exit, which stands nowhere in the text.
        let own = |id: &&EventId| self.thread(**id) == Some(thread) && self.is_main(**id) && !self.has(**id, Tag::Exit);
        self.execution.events.iter().filter(own).copied().collect()
    }

    pub(crate) fn holds(&self, relation: Relation, from: EventId, to: EventId) -> bool {
        self.facts.holds(relation, from, to) == Some(true)
    }

    pub(crate) fn after(&self, relation: Relation, from: EventId) -> Vec<EventId> {
        self.facts.after(relation, from).unwrap_or_default()
    }

    pub(crate) fn before(&self, relation: Relation, to: EventId) -> Vec<EventId> {
        self.facts.before(relation, to).unwrap_or_default()
    }

    /// The write that a read returns.
    pub(crate) fn source(&self, read: EventId) -> Option<EventId> {
        let at = self.reads.binary_search_by_key(&read, |(read, _)| *read).ok()?;
        self.reads.get(at).map(|(_, write)| *write)
    }

    /// Whether an event may lie on a way from one to the other: what is ordered before the first or behind the second already
    /// leads back.
    pub(crate) fn is_between(&self, event: EventId, from: EventId, to: EventId) -> bool {
        !self.holds(Relation::BaseCausality, event, from) && !self.holds(Relation::BaseCausality, to, event)
    }

    /// Whether what the thread of one access does reaches that of the other in this execution, other than by the two accesses:
    /// by what is read, by a barrier, by two `fence.sc`, by a launch. Where nothing does, stronger words and other places of
    /// what is there order nothing: causality order has no other steps between threads (PTX ISA 8.9.4, 8.9.5).
    pub(crate) fn is_connected(&self, pair: (EventId, EventId)) -> bool {
        let kernel = |thread: ThreadId| self.unfolding.threads.get(thread.index()).and_then(|thread| thread.kernel);
        let (Some(first), Some(second)) = (self.thread(pair.0), self.thread(pair.1)) else { return true };
        if first == second || kernel(first) != kernel(second) {
            return true;
        }
        let is_other = |(from, to): &&(EventId, EventId)| ![pair, (pair.1, pair.0)].contains(&(*from, *to));
        let read = self.execution.rf.iter().filter(is_other).chain(&self.execution.barriers.synchronises);
        let mut steps: Vec<(ThreadId, ThreadId)> =
            read.filter_map(|(from, to)| Some((self.thread(*from)?, self.thread(*to)?))).collect();
        let fences = self.execution.events.iter().filter(|id| self.has(**id, Tag::Fence) && self.has(**id, Tag::Sc));
        let fences: Vec<ThreadId> = fences.filter_map(|id| self.thread(*id)).collect();
        steps.extend(fences.windows(2).map(|two| (two[0], two[1])));
        let mut reached = vec![first];
        while let Some((from, to)) = steps.iter().find(|(from, to)| reached.contains(from) != reached.contains(to)) {
            reached.push(if reached.contains(from) { *to } else { *from });
        }
        reached.contains(&second)
    }

    /// The writes that a read stands for: the one it reads, and through read-modify-writes those before.
    pub(crate) fn sources(&self, read: EventId) -> Vec<EventId> {
        let mut found = Vec::new();
        let mut next = Some(read);
        while let Some(read) = next {
            let Some(write) = self.source(read) else { break };
            if found.contains(&write) || self.event(write).is_init() {
                break;
            }
            found.push(write);
            next = self.event(write).rmw_partner;
        }
        found
    }

    pub(crate) fn line(&self, id: EventId) -> u32 {
        self.test.source.position(self.event(id).span.start).line
    }

    pub(crate) fn text(&self, id: EventId) -> String {
        self.test.instruction_text(self.event(id).span).trim_end_matches(';').trim().to_owned()
    }

    /// The variable an access is about, without the element.
    pub(crate) fn variable(&self, id: EventId) -> String {
        let name = self.location(id).map_or("memory", |location| location.name.as_str());
        name.split(['[', '+']).next().unwrap_or(name).to_owned()
    }

    /// Both are accesses of the same virtual address.
    pub(crate) fn same_address(&self, a: EventId, b: EventId) -> bool {
        let generic = |id: EventId| match self.event(id).kind {
            EventKind::Read { generic, .. } | EventKind::Write { generic, .. } => Some(generic),
            _ => None,
        };
        generic(a) == generic(b)
    }
}
