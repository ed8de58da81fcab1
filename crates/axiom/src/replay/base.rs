//! Base sets and relations of one candidate, each from the definition of its name (see `model::BaseRelation` for the
//! definitions; the code is this module's own).

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fencepost_program::program::{Place, Scope};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{BarrierMatching, Event, EventKind, Unfolding};
use fencepost_program::{AddressId, EventId, LocationId, ThreadId, TraceId};
use fencepost_syntax::sorted::SharedSort as _;

use super::blocks::Row;
use super::event::{has, location, place, target};
use super::operators::{Events, Pairs, acyclic};
use super::prelude;
use super::strand_relations::{self, Definition, in_one_cluster};
use crate::execution::Execution;

/// Which choices a value was computed from. The choice of traces is in all. The order is that of the oracle's loops,
/// so that `depends < CO` says that no choice of coherence changes it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Depends(u8);

impl Depends {
    pub(crate) const TRACES: Depends = Depends(0);
    pub(crate) const RF: Depends = Depends(1);
    pub(crate) const BARRIERS: Depends = Depends(2);
    pub(crate) const SYNC_FENCE: Depends = Depends(4);
    pub(crate) const CO: Depends = Depends(8);
    /// More than any value depends on.
    pub(crate) const ALL: Depends = Depends(15);
    const EACH: [Depends; 4] = [Depends::RF, Depends::BARRIERS, Depends::SYNC_FENCE, Depends::CO];

    pub(super) fn includes(self, other: Depends) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn and(self, other: Depends) -> Depends {
        Depends(self.0 | other.0)
    }
}

/// How often each choice has changed: a value is current while those it depends on have not.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Versions {
    traces: u64,
    each: [u64; 4],
}

impl Versions {
    pub(super) fn agree(&self, other: &Versions, on: Depends) -> bool {
        let pairs = Depends::EACH.iter().zip(self.each.iter().zip(&other.each));
        self.traces == other.traces && pairs.into_iter().all(|(bit, (a, b))| on.0 & bit.0 == 0 || a == b)
    }
}

/// The first bytes of a name, and its length.
pub(super) fn beginning(name: &str) -> u64 {
    let bytes = name.bytes().take(7).fold(0, |all, byte| all << 8 | u64::from(byte));
    bytes | (name.len() as u64) << 56
}

#[derive(Clone, Debug)]
pub(super) enum BaseValue {
    Events(Rc<Events>),
    Pairs(Rc<Pairs>),
}

/// What the traces fix of one name.
struct Fixed<'t> {
    /// [`beginning`] of the name: most comparisons of names end here.
    begins: u64,
    name: &'t str,
    value: Option<BaseValue>,
    /// Whether `prelude` gives the name another meaning, for models that do not hide it.
    is_in_prelude: bool,
}

/// The choices of one candidate, replaced one at a time.
pub(crate) struct Candidate<'t> {
    unfolding: &'t Unfolding,
    traces: RefCell<Vec<TraceId>>,
    events: RefCell<Vec<EventId>>,
    rf: RefCell<Rc<Pairs>>,
    co: RefCell<Rc<Pairs>>,
    sync_fence: RefCell<Rc<Pairs>>,
    syncbar: RefCell<Rc<Pairs>>,
    exitbar: RefCell<Rc<Pairs>>,
    generations: RefCell<Rc<Pairs>>,
    versions: Cell<Versions>,
    /// What the traces fix, by name.
    fixed: RefCell<Vec<Fixed<'t>>>,
}

impl<'t> Candidate<'t> {
    pub(super) fn new(unfolding: &'t Unfolding) -> Candidate<'t> {
        Candidate {
            unfolding,
            traces: RefCell::default(),
            events: RefCell::default(),
            rf: RefCell::default(),
            co: RefCell::default(),
            sync_fence: RefCell::default(),
            syncbar: RefCell::default(),
            exitbar: RefCell::default(),
            generations: RefCell::default(),
            versions: Cell::default(),
            fixed: RefCell::default(),
        }
    }

    pub(super) fn unfolding(&self) -> &'t Unfolding {
        self.unfolding
    }

    pub(super) fn set_execution(&self, execution: &Execution) {
        // Executions of the same traces share what the traces fix.
        if *self.traces.borrow() != execution.traces || *self.events.borrow() != execution.events {
            self.set_events(&execution.traces, execution.events.clone());
        }
        self.set_rf(&execution.rf);
        self.set_barriers(&execution.barriers);
        self.set_sync_fence(&execution.sync_fence);
        self.set_co(&execution.co);
    }

    pub(crate) fn set_traces(&self, traces: &[TraceId]) {
        self.set_events(traces, occurring(self.unfolding, traces));
    }

    fn set_events(&self, traces: &[TraceId], events: Vec<EventId>) {
        self.traces.replace(traces.to_vec());
        self.events.replace(events);
        self.fixed.borrow_mut().clear();
        let mut versions = self.versions.get();
        versions.traces += 1;
        self.versions.set(versions);
    }

    pub(crate) fn set_rf(&self, rf: &[(EventId, EventId)]) {
        self.replace(&self.rf, pairs(rf), 0);
    }

    pub(crate) fn set_barriers(&self, barriers: &BarrierMatching) {
        self.replace(&self.syncbar, pairs(&barriers.synchronises), 1);
        self.replace(&self.exitbar, pairs(&barriers.exits), 1);
        self.replace(&self.generations, pairs(&barriers.generations), 1);
    }

    pub(crate) fn set_sync_fence(&self, sync_fence: &[(EventId, EventId)]) {
        self.replace(&self.sync_fence, pairs(sync_fence), 2);
    }

    pub(crate) fn set_co(&self, co: &[(EventId, EventId)]) {
        self.replace(&self.co, pairs(co), 3);
    }

    /// The same choice again is no change: races of one execution are judged one by one.
    fn replace(&self, chosen: &RefCell<Rc<Pairs>>, new: Rc<Pairs>, which: usize) {
        if *chosen.borrow() == new {
            return;
        }
        chosen.replace(new);
        let mut versions = self.versions.get();
        versions.each[which] += 1;
        self.versions.set(versions);
    }

    pub(super) fn versions(&self) -> Versions {
        self.versions.get()
    }

    pub(super) fn universe(&self) -> Rc<Events> {
        match self.fixed("_") {
            Some(BaseValue::Events(events)) => events,
            _ => unreachable!("invariant: `_` is a set"),
        }
    }

    /// How many events it has.
    pub(super) fn size(&self) -> usize {
        self.events.borrow().len()
    }

    /// The value of a predefined name.
    pub(super) fn lookup(&self, name: &'t str) -> Option<(BaseValue, Depends)> {
        let chosen = |relation: &RefCell<Rc<Pairs>>| BaseValue::Pairs(relation.borrow().clone());
        match name {
            "rf" => Some((chosen(&self.rf), Depends::RF)),
            "co" => Some((chosen(&self.co), Depends::CO)),
            "sync_fence" => Some((chosen(&self.sync_fence), Depends::SYNC_FENCE)),
            "syncbar" => Some((chosen(&self.syncbar), Depends::BARRIERS)),
            "exitbar" => Some((chosen(&self.exitbar), Depends::BARRIERS)),
            "generations" => Some((chosen(&self.generations), Depends::BARRIERS)),
            "FW" => Some((BaseValue::Events(Rc::new(self.final_writes())), Depends::CO)),
            _ => self.fixed(name).map(|value| (value, Depends::TRACES)),
        }
    }

    fn fixed(&self, name: &'t str) -> Option<BaseValue> {
        let begins = beginning(name);
        let is_known = |fixed: &&Fixed<'t>| fixed.begins == begins && fixed.name == name;
        if let Some(known) = self.fixed.borrow().iter().find(is_known) {
            return known.value.clone();
        }
        let value = self.compute_fixed(name);
        let is_in_prelude = prelude::bindings(name).is_some();
        self.fixed.borrow_mut().push(Fixed { begins, name, value: value.clone(), is_in_prelude });
        value
    }

    /// The value of a name that was looked up before and can mean nothing else, where no binding hides it.
    pub(super) fn known(&self, name: &str) -> Option<BaseValue> {
        let begins = beginning(name);
        let is_known = |fixed: &&Fixed<'t>| fixed.begins == begins && fixed.name == name;
        self.fixed.borrow().iter().find(is_known).filter(|known| !known.is_in_prelude)?.value.clone()
    }

    fn compute_fixed(&self, name: &str) -> Option<BaseValue> {
        if let Some(set) = self.fixed_set(name) {
            return Some(BaseValue::Events(Rc::new(set)));
        }
        let relation = match name {
            "id" => self.events.borrow().iter().map(|id| (id.0, id.0)).collect(),
            "po" => self.program_order(),
            "loc" => self.relate_by(|_, event| target(event), |a, b| a.is_some() && a == b),
            "vloc" => self.relate_by(|_, event| generic(event), |a, b| a.is_some() && a == b),
            "int" => self.relate_by(|_, event| event.thread, |a, b| a.is_some() && a == b),
            "ext" => self.relate_by(|_, event| event.thread, |a, b| a != b),
            "rmw" | "amo" => {
                let events = self.events.borrow();
                let partner = |id: &EventId| {
                    let read = Some(&self.unfolding.events[id.index()]).filter(|event| has(event, Tag::Read))?;
                    let partner = read.rmw_partner.filter(|partner| events.binary_search(partner).is_ok())?;
                    Some((id.0, partner.0))
                };
                events.iter().filter_map(partner).collect()
            }
            "addr" => self.lead_into(|event| &event.address_deps),
            "data" => self.lead_into(|event| &event.data_deps),
            "ctrl" => self.lead_into(|event| &event.control_deps),
            "sr" => self.relate_by(|_, event| Reach::of(self.unfolding, event), mutual_scopes),
            "scta" => self.relate_by(|_, event| place(self.unfolding, event), same_cta),
            "scluster" => self.relate_by(|_, event| place(self.unfolding, event), same_cluster),
            "sgpu" => self.relate_by(|_, event| place(self.unfolding, event), same_gpu),
            "complete" => self.relate_by(|_, event| bytes(event), |a, b| a.is_some() && a == b),
            "sameop" => self.relate_by(operation, |a, b| a.is_some() && a == b),
            _ => match strand_relations::definition(name)? {
                Definition::Named(sources) => self.lead_into(sources),
                Definition::Test { from, to, holds } => {
                    let (can_be_from, can_be_to) =
                        (|a: &Event| from(self.unfolding, a), |b: &Event| to(self.unfolding, b));
                    self.relate((can_be_from, can_be_to), |x, a, y, b| holds(self.unfolding, (x, a), (y, b)))
                }
            },
        };
        Some(BaseValue::Pairs(Rc::new(relation)))
    }

    /// Strands are beside program order; it does not relate events of one group (PTX ISA 8.2.4), and of a read-modify-write
    /// of several elements it relates the read of each with its own write only.
    fn program_order(&self) -> Pairs {
        let events = self.events.borrow();
        // What a write that is not made lies behind, others lie behind too: it comes before those.
        let position = |event: EventId| (self.position(event), !self.is_omitted(event), event);
        let positions: BTreeMap<EventId, _> = events.iter().map(|&event| (event, position(event))).collect();
        // One that is told of somewhere else has no place there.
        let in_order = |event: &Event| match &event.kind {
            EventKind::Omitted(write) => write.through.is_none(),
            _ => event.strand.is_none(),
        };
        let holds = |(x, a): (EventId, &Event), (y, b): (EventId, &Event)| {
            let main = in_order(a) && in_order(b);
            let one_group = matches!((a.group, b.group), (Some(first), Some(second)) if first == second);
            main && !one_group && !self.other_element(a, y) && positions[&x] < positions[&y]
        };
        let mut threads: BTreeMap<ThreadId, Vec<(EventId, &Event)>> = BTreeMap::new();
        for (id, event) in self.with_ids() {
            event.thread.into_iter().for_each(|thread| threads.entry(thread).or_default().push((id, event)));
        }
        let of_thread = |own: &Vec<(EventId, &Event)>| -> Vec<(u32, u32)> {
            let pairs = own.iter().flat_map(|x| own.iter().map(move |y| (*x, *y)));
            pairs.filter(|(x, y)| holds(*x, *y)).map(|((x, _), (y, _))| (x.0, y.0)).collect()
        };
        threads.values().flat_map(of_thread).collect()
    }

    /// Whether the first is what an atomic of several elements reads at one of them, and the second what it writes at another.
    /// An element may be several events, and has the name of the first.
    fn other_element(&self, a: &Event, y: EventId) -> bool {
        let event = |id: EventId| &self.unfolding.events[id.index()];
        let element = |id: EventId| event(id).extent.map_or(id, |extent| extent.operation);
        let own = a.rmw_partner.filter(|_| has(a, Tag::Read));
        own.is_some_and(|own| {
            let group = event(own).group;
            group.is_some() && group == event(y).group && element(own) != element(y)
        })
    }

    fn fixed_set(&self, name: &str) -> Option<Events> {
        let all = |keep: &dyn Fn(&Event) -> bool| -> Events {
            let events = self.events.borrow();
            events.iter().filter(|id| keep(&self.unfolding.events[id.index()])).map(|id| id.0).collect()
        };
        match name {
            "_" => Some(all(&|_| true)),
            "M" => Some(all(&|event| location(event).is_some())),
            "DECIDES" => {
                let traces = self.traces.borrow();
                let exits = self.unfolding.exits.iter().filter(|(trace, _)| traces.contains(trace));
                Some(exits.flat_map(|(_, reads)| reads).map(|read| read.0).collect())
            }
            _ => {
                let tag = Tag::named(name)?;
                Some(all(&|event| has(event, tag)))
            }
        }
    }

    fn final_writes(&self) -> Events {
        let before_another: BTreeSet<u32> = self.co.borrow().iter().map(|(from, _)| from).collect();
        let events = self.events.borrow();
        let writes = events.iter().filter(|id| has(&self.unfolding.events[id.index()], Tag::Write));
        writes.map(|id| id.0).filter(|write| !before_another.contains(write)).collect()
    }

    /// The events, with their names.
    fn with_ids(&self) -> Vec<(EventId, &'t Event)> {
        self.events.borrow().iter().map(|id| (*id, &self.unfolding.events[id.index()])).collect()
    }

    /// From each event that is one of those that another names, to that one.
    fn lead_into(&self, sources: impl Fn(&Event) -> &[EventId]) -> Pairs {
        let events = self.events.borrow();
        let into = |(y, b): (EventId, &'t Event)| -> Vec<(u32, u32)> {
            let sources = sources(b).iter().filter(|x| events.binary_search(x).is_ok());
            sources.map(|x| (x.0, y.0)).collect()
        };
        self.with_ids().into_iter().flat_map(into).collect()
    }

    /// A relation that looks at nothing of two events but `what` of each: events of which that is the same are related to the
    /// same ones, so one of each kind is asked. Of 2,600 events each relation would ask about seven million pairs.
    fn relate_by<K: Ord>(&self, what: impl Fn(EventId, &Event) -> K, holds: impl Fn(&K, &K) -> bool) -> Pairs {
        /// Of few events every pair is asked sooner than their kinds are listed.
        const FEW: usize = 32;
        let events = self.events.borrow();
        let mut kinds: Vec<(K, u32)> =
            events.iter().map(|&id| (what(id, &self.unfolding.events[id.index()]), id.0)).collect();
        if kinds.len() <= FEW {
            let holds = &holds;
            let related = |(a, x)| kinds.iter().filter(move |(b, _)| holds(a, b)).map(move |(_, y)| (x, *y));
            return kinds.iter().map(|(a, x)| (a, *x)).flat_map(related).collect();
        }
        kinds.shared_sort();
        let kinds: Vec<&[(K, u32)]> = kinds.chunk_by(|a, b| a.0 == b.0).collect();
        let mut row = Row::default();
        let mut rows: Vec<(u32, Rc<Events>)> = Vec::with_capacity(events.len());
        for kind in &kinds {
            let related = kinds.iter().filter(|other| holds(&kind[0].0, &other[0].0));
            related.flat_map(|other| other.iter()).for_each(|(_, id)| row.add(*id));
            let leads_to = Rc::new(row.finish());
            rows.extend(kind.iter().map(|(_, id)| (*id, leads_to.clone())));
        }
        of_rows(rows)
    }

    /// Asks the pairs of events of which the first can be first and the second can be second.
    fn relate(
        &self,
        (from, to): (impl Fn(&Event) -> bool, impl Fn(&Event) -> bool),
        holds: impl Fn(EventId, &Event, EventId, &Event) -> bool,
    ) -> Pairs {
        let events = self.with_ids();
        let to: Vec<(EventId, &'t Event)> = events.iter().copied().filter(|(_, b)| to(b)).collect();
        let related = |&(x, a): &(EventId, &'t Event)| {
            let holds = &holds;
            let leads = to.iter().filter(move |&&(y, b)| holds(x, a, y, b));
            leads.map(move |&(y, _)| (x.0, y.0))
        };
        events.iter().filter(|(_, a)| from(a)).flat_map(related).collect()
    }

    fn is_omitted(&self, event: EventId) -> bool {
        matches!(self.unfolding.events[event.index()].kind, EventKind::Omitted(_))
    }

    /// How many events of its thread come before it.
    fn position(&self, event: EventId) -> usize {
        std::iter::successors(self.unfolding.events[event.index()].parent, |at| {
            self.unfolding.events[at.index()].parent
        })
        .count()
    }
}

/// By what each event leads to.
fn of_rows(mut rows: Vec<(u32, Rc<Events>)>) -> Pairs {
    rows.sort_unstable_by_key(|(id, _)| *id);
    Pairs::of_rows(rows.iter().map(|(id, row)| (*id, &**row)))
}

fn pairs(items: &[(EventId, EventId)]) -> Rc<Pairs> {
    Rc::new(items.iter().map(|(x, y)| (x.0, y.0)).collect())
}

/// The init writes and the events of the traces, ascending.
pub(crate) fn occurring(unfolding: &Unfolding, traces: &[TraceId]) -> Vec<EventId> {
    let mut events: Vec<EventId> = unfolding.inits().collect();
    for trace in traces {
        events.extend(&unfolding.traces[trace.index()].events);
    }
    events.shared_sort();
    events
}

fn generic(event: &Event) -> Option<AddressId> {
    match &event.kind {
        EventKind::Read { generic, .. } | EventKind::Write { generic, .. } => Some(*generic),
        EventKind::Omitted(write) => Some(write.generic),
        EventKind::Fence | EventKind::Barrier(_) | EventKind::Issue => None,
    }
}

fn same_cta(a: &Option<Place>, b: &Option<Place>) -> bool {
    matches!((*a, *b),
        (Some(Place::Gpu { gpu, cluster, cta }), Some(Place::Gpu { gpu: gpu2, cluster: cluster2, cta: cta2 }))
            if gpu == gpu2 && cluster == cluster2 && cta == cta2)
}

fn same_cluster(a: &Option<Place>, b: &Option<Place>) -> bool {
    matches!((*a, *b), (Some(a), Some(b)) if in_one_cluster(a, b))
}

fn same_gpu(a: &Option<Place>, b: &Option<Place>) -> bool {
    matches!((*a, *b), (Some(Place::Gpu { gpu, .. }), Some(Place::Gpu { gpu: other, .. })) if gpu == other)
}

/// The locations an operation spans, as first and number.
fn bytes(event: &Event) -> Option<(LocationId, u32)> {
    let own = target(event)?;
    Some(match event.extent {
        Some(extent) => (extent.first, extent.count),
        None => (own, 1),
    })
}

/// The operation that an access is an element of.
fn operation(id: EventId, event: &Event) -> Option<EventId> {
    location(event).map(|_| event.extent.map_or(id, |extent| extent.operation))
}

/// What `sr` looks at of an event.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Reach {
    thread: Option<ThreadId>,
    place: Option<Place>,
    scope: Option<Scope>,
}

impl Reach {
    fn of(unfolding: &Unfolding, event: &Event) -> Reach {
        Reach { thread: event.thread, place: place(unfolding, event), scope: event.scope }
    }
}

/// `sr`: each one's scope includes the other's thread (PTX ISA 8.5).
fn mutual_scopes(a: &Reach, b: &Reach) -> bool {
    let includes = |from: &Reach, to: &Reach| {
        let (Some(scope), Some(here), Some(there)) = (from.scope, from.place, to.place) else {
            return false;
        };
        if from.thread == to.thread || scope == Scope::Sys {
            return true;
        }
        let (Place::Gpu { gpu, cluster, cta }, Place::Gpu { gpu: gpu2, cluster: cluster2, cta: cta2 }) = (here, there)
        else {
            return false;
        };
        match scope {
            Scope::Cta => (gpu, cluster, cta) == (gpu2, cluster2, cta2),
            Scope::Cluster => (gpu, cluster) == (gpu2, cluster2),
            Scope::Gpu => gpu == gpu2,
            Scope::Sys => true,
        }
    };
    includes(a, b) && includes(b, a)
}

/// The unordered pairs of distinct `fence.sc` whose scopes include each other, smaller event first. x86's `mfence` and
/// reads take part, but for two reads.
pub(crate) fn fence_sc_pairs(unfolding: &Unfolding, events: &[EventId]) -> Vec<(EventId, EventId)> {
    let is_read = |id: &EventId| {
        let event = &unfolding.events[id.index()];
        has(event, Tag::Read) && has(event, Tag::X86)
    };
    let is_sc = |id: &&EventId| {
        let event = &unfolding.events[id.index()];
        has(event, Tag::Fence) && (has(event, Tag::Sc) || has(event, Tag::Mfence)) || is_read(id)
    };
    let fences: Vec<EventId> = events.iter().filter(is_sc).copied().collect();
    let mut found = Vec::new();
    for (index, &a) in fences.iter().enumerate() {
        for &b in &fences[index + 1..] {
            let reach = |id: EventId| Reach::of(unfolding, &unfolding.events[id.index()]);
            let is_in_scope = mutual_scopes(&reach(a), &reach(b));
            if is_in_scope && !(is_read(&a) && is_read(&b)) {
                found.push((a, b));
            }
        }
    }
    found
}

/// Whether a relation over events is acyclic.
pub(crate) fn is_acyclic(relation: &[(EventId, EventId)]) -> bool {
    acyclic(&pairs(relation))
}

#[cfg(test)]
mod tests {
    use fencepost_program::lower::lower;
    use fencepost_program::unfold::{UnfoldOptions, unfold};
    use fencepost_syntax::litmus;

    use super::*;

    /// Threads of several CTAs and GPUs, with accesses of several scopes, a read-modify-write and dependencies: more events
    /// than are asked pair by pair.
    fn test_of_many_events() -> Unfolding {
        let scopes = ["cta", "gpu", "sys"];
        let thread = |number: usize| {
            let (scope, at) = (scopes[number % 3], number % 4);
            format!(
                "P{number}@cta {}, gpu {} {{\nld.relaxed.{scope}.u32 %r0, [x{at}];\nst.relaxed.{scope}.u32 [x{}], %r0;\n\
                 atom.relaxed.gpu.add.u32 %r1, [x{at}], 1;\nfence.sc.{scope};\nst.weak.u32 [w{number}], 1;\n}}\n",
                number % 5,
                number % 2,
                (at + 1) % 4
            )
        };
        let threads: String = (0..12).map(thread).collect();
        let text = format!("PTX many\n{{ }}\n{threads}exists (x0=0)\n");
        let (tree, diagnostics) = litmus::parse(&text);
        let (program, _) = lower(&tree.unwrap_or_else(|| panic!("{diagnostics:?}")));
        unfold(&program.expect("it is a program"), &UnfoldOptions::default()).expect("it unfolds")
    }

    #[test]
    fn relations_of_many_events_are_those_of_their_definitions() {
        let unfolding = test_of_many_events();
        let candidate = Candidate::new(&unfolding);
        let traces: Vec<TraceId> =
            unfolding.threads.iter().filter_map(|thread| thread.traces.first().copied()).collect();
        candidate.set_traces(&traces);
        assert!(candidate.size() > 64, "{} events", candidate.size());
        type Holds<'u> = Box<dyn Fn(EventId, &Event, EventId, &Event) -> bool + 'u>;
        let whole = &unfolding;
        let placed = |event: &Event| place(whole, event);
        let definitions: [(&str, Holds<'_>); 14] = [
            ("id", Box::new(|x, _, y, _| x == y)),
            ("loc", Box::new(|_, a, _, b| target(a).is_some() && target(a) == target(b))),
            ("vloc", Box::new(|_, a, _, b| generic(a).is_some() && generic(a) == generic(b))),
            ("int", Box::new(|_, a, _, b| a.thread.is_some() && a.thread == b.thread)),
            ("ext", Box::new(|_, a, _, b| a.thread != b.thread)),
            ("rmw", Box::new(|_, a, y, _| has(a, Tag::Read) && a.rmw_partner == Some(y))),
            ("data", Box::new(|x, _, _, b| b.data_deps.contains(&x))),
            ("addr", Box::new(|x, _, _, b| b.address_deps.contains(&x))),
            ("sr", Box::new(|_, a, _, b| mutual_scopes(&Reach::of(whole, a), &Reach::of(whole, b)))),
            ("scta", Box::new(|_, a, _, b| same_cta(&placed(a), &placed(b)))),
            ("scluster", Box::new(|_, a, _, b| same_cluster(&placed(a), &placed(b)))),
            ("sgpu", Box::new(|_, a, _, b| same_gpu(&placed(a), &placed(b)))),
            ("complete", Box::new(|_, a, _, b| bytes(a).is_some() && bytes(a) == bytes(b))),
            ("sameop", Box::new(|x, a, y, b| location(a).is_some() && x == y && location(b).is_some())),
        ];
        for (name, holds) in definitions {
            let Some(BaseValue::Pairs(pairs)) = candidate.compute_fixed(name) else { panic!("{name} is a relation") };
            assert!(*pairs == candidate.relate((|_: &Event| true, |_: &Event| true), holds), "{name}");
            assert!(name == "addr" || !pairs.is_empty(), "{name} holds of nothing");
        }
        let order = candidate.program_order();
        let after = |x: EventId, y: EventId| {
            std::iter::successors(whole.events[y.index()].parent, |at| whole.events[at.index()].parent)
                .any(|at| at == x)
        };
        assert!(order == candidate.relate((|_: &Event| true, |_: &Event| true), |x, _, y, _| after(x, y)), "po");
    }
}
