//! Whether a program that shows a behaviour can be free of races.
//!
//! Of all programs with this behaviour the *fully guarded* one has the fewest executions: behind each read a thread goes on
//! only with the value it reads in the behaviour. Each consistent execution Y of the guarded program is a prefix, thread by
//! thread, of an execution of any other program P that has the behaviour: up to the first read with another value P's threads do
//! the same. And a consistent prefix of RC11 can be completed: an event added at the end of its thread that reads the
//! co-last write, or writes co-last, has no successor in any of hb, eco and psc, so that it closes no cycle, and leaves
//! hb between the other events as it was. So a race in Y is one in P: if any program with the behaviour is free of
//! races, the guarded one is.
//!
//! A read-modify-write that finds another value either fails (a compare-and-exchange) or writes another value (a
//! fetch-and-add). Neither has fewer races than the other in general, so both are tried for each.
//!
//! Guards are dependencies, and a target may forbid a cycle of dependencies and reads-from. Behaviours without such a cycle
//! are not concerned; for the others a program may leave guards out.

use fencepost_axiom::engine::decide::Decider;

use crate::bounded::behaviour::Behaviour;
use crate::bounded::graph::{Extent, Graph, Placement};
use crate::bounded::shape::Shape;
use crate::label::{Kind, Label};

/// A program with given behaviour: what stands behind its reads.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Guards {
    /// By operation: a thread goes on only if it has read what the behaviour says.
    pub guarded: Vec<bool>,
    /// By operation: a read-modify-write that does not write unless it finds what the behaviour says.
    pub compares: Vec<bool>,
}

/// Everything a race is looked for in.
pub(crate) struct Races<'r, 'm> {
    pub(crate) decider: &'r mut Decider<'m>,
    pub(crate) graph: &'r mut Graph,
    pub(crate) shape: &'r Shape,
    pub(crate) labels: &'r [Label],
    pub(crate) placement: &'r Placement,
    pub(crate) behaviour: &'r Behaviour,
}

impl Races<'_, '_> {
    /// The guards of a program without a race, if there is one with these reads guarded.
    pub(crate) fn free(&mut self, guarded: &[bool]) -> Option<Guards> {
        let is_rmw = |kind: Kind| kind == Kind::ReadModifyWrite;
        let rmws: Vec<usize> = (self.shape.operations().enumerate())
            .filter(|(at, operation)| is_rmw(operation.kind) && guarded[*at])
            .map(|(at, _)| at)
            .collect();
        (0..1usize << rmws.len()).find_map(|choice| {
            let mut compares = vec![false; self.shape.count()];
            rmws.iter().enumerate().for_each(|(bit, at)| compares[*at] = choice >> bit & 1 == 1);
            let guards = Guards { guarded: guarded.to_vec(), compares };
            (!self.has_race(&guards)).then_some(guards)
        })
    }

    fn has_race(&mut self, guards: &Guards) -> bool {
        self.stops(guards, &mut Vec::new())
    }

    /// Every choice of where threads stop: at their end, or at a guarded read that finds another value.
    fn stops(&mut self, guards: &Guards, stops: &mut Vec<Option<usize>>) -> bool {
        let thread = stops.len();
        if thread == self.shape.threads.len() {
            return self.extents(guards, stops);
        }
        let first = self.shape.first(thread);
        let reads = (0..self.shape.threads[thread].len())
            .filter(|at| self.shape.threads[thread][*at].kind.reads() && guards.guarded[first + at]);
        let choices: Vec<Option<usize>> = std::iter::once(None).chain(reads.map(Some)).collect();
        for stop in choices {
            stops.push(stop);
            let found = self.stops(guards, stops);
            stops.pop();
            if found {
                return true;
            }
        }
        false
    }

    fn extents(&mut self, guards: &Guards, stops: &[Option<usize>]) -> bool {
        let mut extents = Vec::with_capacity(stops.len());
        let mut stopped = vec![false; self.shape.count()];
        for (thread, stop) in stops.iter().enumerate() {
            let first = self.shape.first(thread);
            extents.push(match stop {
                Some(at) => {
                    stopped[first + at] = true;
                    Extent { operations: at + 1, fails: guards.compares[first + at] }
                }
                None => Extent { operations: self.shape.threads[thread].len(), fails: false },
            });
        }
        self.graph.source(self.shape, self.labels, self.placement, &extents);
        self.graph.rf.clear();
        let present: Vec<bool> = (extents.iter().zip(&self.shape.threads))
            .flat_map(|(extent, operations)| (0..operations.len()).map(|at| at < extent.operations))
            .collect();
        self.sources(guards, &stopped, &present, 0)
    }

    /// Every choice of what the reads from `number` on read.
    fn sources(&mut self, guards: &Guards, stopped: &[bool], present: &[bool], number: usize) -> bool {
        if number == present.len() {
            return self.decider.decide(&self.graph.unfolding, &self.graph.rf, &[]).is_some();
        }
        let Some(operation) = self.shape.operations().nth(number).copied() else { return false };
        if !present[number] || !operation.kind.reads() {
            return self.sources(guards, stopped, present, number + 1);
        }
        let expected = self.behaviour.source[number];
        // A read-modify-write that stopped wrote something else.
        let fits = |source: Option<usize>| source == expected && !source.is_some_and(|write| stopped[write]);
        let writes = (self.shape.operations().enumerate())
            .filter(|(at, other)| *at != number && other.kind.writes() && other.location == operation.location)
            .map(|(at, _)| Some(at));
        let choices: Vec<Option<usize>> = std::iter::once(None).chain(writes).collect();
        for source in choices {
            if source.is_some_and(|write| !self.graph.has_write(write)) {
                continue;
            }
            let allowed = match (guards.guarded[number], stopped[number]) {
                (false, _) => true,
                (true, true) => !fits(source),
                (true, false) => fits(source),
            };
            if !allowed {
                continue;
            }
            let before = self.graph.rf.len();
            self.graph.read_from(self.shape, number, source);
            let found = self.sources(guards, stopped, present, number + 1);
            self.graph.rf.truncate(before);
            if found {
                return true;
            }
        }
        false
    }
}
