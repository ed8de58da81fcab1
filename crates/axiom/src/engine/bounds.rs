//! Between which events of an unfolding a relation of the model can hold, whatever is chosen: from some set of events to
//! another. Most flags are about tags that few programs have, and a search for one of the others ends before it begins.

use fencepost_program::unfolding::{Event, EventKind, Unfolding};

use crate::base::{has_tag, location_of};
use crate::model::{BaseRelation, BaseSet, Model, NodeId, Operator};

/// Events of an unfolding, as bits.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Events(Vec<u64>);

impl Events {
    fn none(count: usize) -> Events {
        Events(vec![0; count.div_ceil(64)])
    }

    fn insert(&mut self, index: usize) {
        self.0[index / 64] |= 1 << (index % 64);
    }

    fn has(&self, index: usize) -> bool {
        self.0[index / 64] >> (index % 64) & 1 == 1
    }

    fn with(&self, other: &Events) -> Events {
        Events(self.0.iter().zip(&other.0).map(|(one, other)| one | other).collect())
    }

    fn within(&self, other: &Events) -> Events {
        Events(self.0.iter().zip(&other.0).map(|(one, other)| one & other).collect())
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn all(&self) -> impl Iterator<Item = usize> {
        (0..self.0.len() * 64).filter(|index| self.has(*index))
    }
}

/// A relation holds from some of these to some of those only; a set is between itself and itself.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    from: Events,
    to: Events,
}

impl Bounds {
    /// Of a node of the model, for the traces that the threads of the unfolding have.
    pub(super) fn new(model: &Model, unfolding: &Unfolding, node: NodeId) -> Bounds {
        let count = unfolding.events.len();
        let mut there = Events::none(count);
        unfolding.inits().for_each(|init| there.insert(init.index()));
        let traces = unfolding.threads.iter().flat_map(|thread| &thread.traces);
        for event in traces.flat_map(|trace| &unfolding.traces[trace.index()].events) {
            there.insert(event.index());
        }
        Finder { model, unfolding, there, known: vec![None; model.nodes.len()] }.of(node)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.from.is_empty()
    }

    /// Whether some pair between them is such a one.
    pub(super) fn any(&self, mut holds: impl FnMut(usize, usize) -> bool) -> bool {
        let to: Vec<usize> = self.to.all().collect();
        self.from.all().any(|from| to.iter().any(|to| holds(from, *to)))
    }

    /// No pair without an event on either side.
    fn between(from: Events, to: Events) -> Bounds {
        match from.is_empty() || to.is_empty() {
            true => Bounds { from: Events::none(from.0.len() * 64), to: Events::none(to.0.len() * 64) },
            false => Bounds { from, to },
        }
    }

    fn of_set(events: Events) -> Bounds {
        Bounds { from: events.clone(), to: events }
    }
}

struct Finder<'a> {
    model: &'a Model,
    unfolding: &'a Unfolding,
    /// Every event that may occur.
    there: Events,
    known: Vec<Option<Bounds>>,
}

impl Finder<'_> {
    fn of(&mut self, node: NodeId) -> Bounds {
        if let Some(known) = &self.known[node.index()] {
            return known.clone();
        }
        let bounds = self.computed(node);
        self.known[node.index()] = Some(bounds.clone());
        bounds
    }

    fn computed(&mut self, node: NodeId) -> Bounds {
        let model = self.model;
        match &model.nodes[node.index()].operator {
            Operator::EmptySet | Operator::EmptyRelation => self.nothing(),
            Operator::SetDifference(one, other) | Operator::Difference(one, other) if one == other => self.nothing(),
            Operator::Base(set) => Bounds::of_set(self.base(*set)),
            Operator::BaseRelation(relation) => self.base_relation(*relation),
            Operator::SetUnion(one, other) | Operator::Union(one, other) => {
                let (one, other) = (self.of(*one), self.of(*other));
                Bounds { from: one.from.with(&other.from), to: one.to.with(&other.to) }
            }
            Operator::SetIntersection(one, other) | Operator::Intersection(one, other) => {
                let (one, other) = (self.of(*one), self.of(*other));
                Bounds::between(one.from.within(&other.from), one.to.within(&other.to))
            }
            Operator::SetDifference(one, _) | Operator::Difference(one, _) => self.of(*one),
            Operator::Domain(relation) => Bounds::of_set(self.of(*relation).from),
            Operator::Range(relation) => Bounds::of_set(self.of(*relation).to),
            Operator::Sequence(one, other) => {
                let (one, other) = (self.of(*one), self.of(*other));
                match one.to.within(&other.from).is_empty() {
                    true => self.nothing(),
                    false => Bounds::between(one.from, other.to),
                }
            }
            Operator::Inverse(relation) => {
                let Bounds { from, to } = self.of(*relation);
                Bounds { from: to, to: from }
            }
            Operator::Plus(inner) | Operator::Identity(inner) => self.of(*inner),
            Operator::Product(one, other) => Bounds::between(self.of(*one).from, self.of(*other).to),
            Operator::SetComplement(_)
            | Operator::Complement(_)
            | Operator::Star(_)
            | Operator::Optional(_)
            | Operator::Variable => Bounds::of_set(self.there.clone()),
        }
    }

    fn nothing(&self) -> Bounds {
        Bounds::of_set(Events::none(self.unfolding.events.len()))
    }

    fn base(&self, set: BaseSet) -> Events {
        match set {
            BaseSet::Universe | BaseSet::FinalWrites | BaseSet::Deciding => self.there.clone(),
            BaseSet::Memory => self.those(|event| location_of(event).is_some()),
            BaseSet::Tagged(tag) => self.those(|event| has_tag(event, tag)),
        }
    }

    fn base_relation(&self, relation: BaseRelation) -> Bounds {
        let reads = || self.those(|event| matches!(event.kind, EventKind::Read { .. }));
        let writes = || self.those(|event| matches!(event.kind, EventKind::Write { .. }));
        match relation {
            BaseRelation::Rf => Bounds::between(writes(), reads()),
            BaseRelation::Co => Bounds::of_set(writes()),
            _ => Bounds::of_set(self.there.clone()),
        }
    }

    fn those(&self, is_one: impl Fn(&Event) -> bool) -> Events {
        let mut found = Events::none(self.unfolding.events.len());
        let events = self.there.all().filter(|index| is_one(&self.unfolding.events[*index]));
        events.for_each(|index| found.insert(index));
        found
    }
}
