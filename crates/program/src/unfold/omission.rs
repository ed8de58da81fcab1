//! Writes that are not made.
//!
//! A write on the way of a branch that was not taken is no event, and yet who reads another value there for want of it
//! depends on what decided the branch. So it is noted, with its location and its place in program order
//! ([`crate::unfolding::Omission`]). So are the places that a store through a register may be to where it is to another,
//! and the write of a compare-and-swap that fails.

use std::collections::{BTreeMap, BTreeSet};

use crate::expression::Expression;
use crate::ids::{AddressId, EventId, LocationId, TraceId};
use crate::program::{Address, AddressOperand, Operation};
use crate::tag::Tag;
use crate::unfold::access::accessed;
use crate::unfold::control::{self, Accesses};
use crate::unfold::run::Runner;
use crate::unfold::state::{Reads, State};
use crate::unfold::{Dependencies, fold, place};
use crate::unfolding::{Event, Omission, Readers, Unfolding};

/// See the head of the file. As [`Omission`], before the trace has a number.
#[derive(Clone)]
pub(crate) struct Omitted {
    location: LocationId,
    after: Option<EventId>,
    reads: Reads,
}

impl Runner<'_> {
    /// A branch is taken or not, or an instruction under a guard done or not, by a value that depends on these reads.
    pub(crate) fn decided(&self, state: &mut State, reads: &Reads) {
        let join = self.flow.joins.events.get(&state.at);
        let mut apart = join.into_iter().flat_map(|join| join.apart.iter().flatten());
        let is_known = apart.all(|at| match accessed(&self.thread.code[*at].operation) {
            Some((AddressOperand::Register(_), _)) => self.places(state, *at).is_some(),
            _ => true,
        });
        let accesses = if is_known { Accesses::Known } else { Accesses::Anywhere };
        state.control.decide(state.at, reads, &self.flow.joins, accesses);
        self.note_parted(state, reads);
    }

    /// Where a store through a register would be to, had the thread read other values, whatever it has found out about them.
    pub(crate) fn elsewhere(
        &self,
        state: &State,
        (address, bytes): (&AddressOperand, i128),
        operation: &Operation,
    ) -> BTreeSet<LocationId> {
        let AddressOperand::Register(register) = address else { return BTreeSet::new() };
        let slot = &state.registers[register.index()];
        let is_constant = |read: &EventId| self.is_constant(*read);
        let is_syntactic = self.options.dependencies == Dependencies::Syntactic;
        if is_syntactic || slot.reads.iter().all(is_constant) || !control::may_write(operation) {
            return BTreeSet::new();
        }
        let known = state.known.iter().filter(|(read, _)| is_constant(read)).map(|(read, value)| (*read, *value));
        let free = State { known: known.collect(), ..State::new(self.program, self.thread) };
        let value = fold::substitute(&slot.value, &free.known);
        let fits = |runner: &Self, target| runner.locations_from(target, bytes).is_some();
        let (alternatives, _) = self.alternatives(free, &value, fits);
        let places = alternatives.iter().filter_map(|(_, target)| self.locations_from(*target, bytes)).flatten();
        places.map(|place| self.program.addresses[place.index()].location).collect()
    }

    /// Whether a read returns what nothing writes.
    fn is_constant(&self, read: EventId) -> bool {
        let location = self.unfolding.events[read.index()].location();
        location.is_some_and(|location| self.constants.contains(location))
    }

    /// Of runs in which a store through a register is to different places: each leaves out those to the others.
    pub(crate) fn omit_elsewhere(
        &self,
        alternatives: &mut [(State, Vec<AddressId>)],
        elsewhere: &BTreeSet<LocationId>,
        reads: &Reads,
    ) {
        for (state, targets) in alternatives {
            let own = self.locations(targets);
            elsewhere.iter().filter(|other| !own.contains(other)).for_each(|other| omit(state, *other, reads));
        }
    }

    /// A compare-and-swap has failed that compared with what depends on these reads.
    pub(crate) fn omit_swap(&self, state: &mut State, targets: &[AddressId], reads: &Reads) {
        if self.options.dependencies == Dependencies::Real && !reads.is_empty() {
            self.locations(targets).into_iter().for_each(|location| omit(state, location, reads));
        }
    }

    fn locations(&self, places: &[AddressId]) -> Vec<LocationId> {
        places.iter().map(|place| self.program.addresses[place.index()].location).collect()
    }

    pub(crate) fn record_omissions(&mut self, omitted: &[Omitted], trace: TraceId) {
        self.unfolding.omissions.extend(omitted.iter().map(|Omitted { location, after, reads }| Omission {
            trace,
            location: *location,
            after: *after,
            through: None,
            readers: Readers::All,
            reads: reads.iter().copied().collect(),
        }));
    }

    /// What it accesses, where that is known here already.
    fn places(&self, state: &State, at: usize) -> Option<Vec<AddressId>> {
        let (address, bytes) = accessed(&self.thread.code[at].operation)?;
        let first = match address {
            AddressOperand::Static(address) => *address,
            AddressOperand::Register(register) => {
                let slot = &state.registers[register.index()];
                let Expression::Constant(value) = fold::substitute(&slot.value, &state.known) else { return None };
                let is_known = slot.reads.iter().all(|read| self.is_constant(*read));
                let is_there = |address: &Address| address.value == value && address.within == 0;
                AddressId::new(self.program.addresses.iter().position(is_there).filter(|_| is_known)?)
            }
        };
        self.locations_from(first, bytes)
    }
}

fn omit(state: &mut State, location: LocationId, reads: &Reads) {
    let after = state.path.last().copied();
    state.omitted.push(Omitted { location, after, reads: reads.clone() });
}

/// A store whose address depends on which way a branch went has other places in other traces of its thread: each trace
/// leaves out those of the others. So it is with an asynchronous operation, whatever its address depends on.
pub(crate) fn of_other_traces(unfolding: &mut Unfolding, dependencies: Dependencies) {
    let is_chosen = |event: &Event| {
        let is_thing = event.is_write() && !event.has(Tag::Completion);
        is_thing && !event.address_deps.is_empty()
    };
    if dependencies == Dependencies::Syntactic || !unfolding.events.iter().any(is_chosen) {
        return;
    }
    let mut places = BTreeMap::<_, BTreeSet<LocationId>>::new();
    let instruction = |event: &Event| (event.thread, event.span.start, event.iteration);
    for event in unfolding.events.iter().filter(|event| is_chosen(event)) {
        places.entry(instruction(event)).or_default().extend(event.location());
    }
    places.retain(|_, places| places.len() > 1);
    let mut found = Vec::new();
    for (index, trace) in unfolding.traces.iter().enumerate() {
        let mut own = BTreeMap::<_, (usize, BTreeSet<LocationId>)>::new();
        for (at, id) in trace.events.iter().enumerate() {
            let event = &unfolding.events[id.index()];
            if is_chosen(event) && places.contains_key(&instruction(event)) {
                own.entry(instruction(event)).or_insert((at, BTreeSet::new())).1.extend(event.location());
            }
        }
        for (instruction, (at, own)) in own {
            for location in places[&instruction].difference(&own) {
                found.extend(not_there(unfolding, TraceId::new(index), (at, *location)));
            }
        }
    }
    unfolding.omissions.extend(found);
    unfolding.omissions.sort_by_key(|omission| omission.trace);
}

/// The write of a trace is not to this place. What an asynchronous one writes is there when it is complete.
fn not_there(unfolding: &Unfolding, id: TraceId, (at, location): (usize, LocationId)) -> Vec<Omission> {
    let trace = &unfolding.traces[id.index()];
    let event = trace.events[at];
    let before = |at: usize| at.checked_sub(1).map(|before| trace.events[before]);
    let reads = &unfolding.events[event.index()].address_deps;
    let omission =
        |after, through| Omission { trace: id, location, after, through, readers: Readers::All, reads: reads.clone() };
    let Some(strand) = &unfolding.events[event.index()].strand else { return vec![omission(before(at), None)] };
    let issue = trace.events.iter().position(|event| *event == strand.issue).and_then(before);
    let told = place::signals(unfolding, trace, event).into_iter().map(|through| omission(issue, Some(through)));
    let waited = place::waited_for(unfolding, trace, event).map(|at| omission(Some(trace.events[at]), None));
    told.chain(waited).collect()
}
