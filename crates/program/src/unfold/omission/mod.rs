//! Writes that are not made.
//!
//! A write on the way of a branch that was not taken is no access, and yet who reads another value there for want of it
//! depends on what decided the branch (PTX ISA 8.10.4; docs/models/omission.md has the definition and its reasons). So it
//! becomes an event of its own kind, [`crate::unfolding::EventKind::Omitted`], which the model orders as it would order the
//! write. So do the places that a store through a register may be to where it is to another, and the write of a
//! compare-and-swap that fails.
//!
//! It is one only if some trace that can occur makes the write (`possible`), and of the reads that decide it (`deciding`).
//! Where it lies in program order is for `place` to say, of what was left out at a branch (`untaken`).

mod deciding;
mod insert;
mod place;
mod possible;
mod untaken;
pub(crate) mod way;

use fencepost_syntax::limits;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::few::Few;
use crate::ids::{AddressId, EventId, LocationId, TraceId};
use crate::program::{Address, AddressOperand, Operation, Scope};
use crate::tag::Tag;
use crate::unfold::Dependencies;
use crate::unfold::control::dependency::{self, Accesses};
use crate::unfold::memory::access::accessed;
use crate::unfold::omission::way::{Instruction, Noted, Omitted};
use crate::unfold::run::dependency::Reads;
use crate::unfold::run::fold;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::State;
use crate::unfolding::{Event, FailingIteration, Readers, Trace, Unfolding};
use crate::value::expression::Expression;

use insert::Omission;
use place::Place;
use possible::Possible;
pub(crate) use untaken::{meet, went};

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
    ) -> SortedSet<LocationId> {
        let AddressOperand::Register(register) = address else { return SortedSet::new() };
        let slot = &state.registers[register.index()];
        let is_constant = |read: &EventId| self.is_constant(*read);
        let is_syntactic = self.options.dependencies == Dependencies::Syntactic;
        if is_syntactic || slot.reads.iter().all(is_constant) || !dependency::may_write(operation) {
            return SortedSet::new();
        }
        let known = state.known.iter().filter(|(read, _)| is_constant(read)).map(|(read, value)| (*read, *value));
        let free = Box::new(State { known: known.collect(), ..State::new(self.program, self.thread) });
        let value = fold::substitute(&slot.value, &free.known);
        let fits = |runner: &Self, target| runner.locations_from(target, bytes).is_some();
        let (alternatives, _) = self.alternatives(free, &value, fits);
        let places = alternatives.iter().filter_map(|(_, target)| self.locations_from(*target, bytes));
        places.flat_map(|places| places.to_vec()).map(|place| self.program.addresses[place.index()].location).collect()
    }

    /// Whether a read returns what nothing writes.
    fn is_constant(&self, read: EventId) -> bool {
        let location = self.unfolding.events[read.index()].location();
        location.is_some_and(|location| self.constants.contains(location))
    }

    /// Of runs in which a store through a register is to different places: each leaves out those to the others.
    pub(crate) fn omit_elsewhere(
        &self,
        alternatives: &mut [(Box<State>, Few<AddressId>)],
        elsewhere: &SortedSet<LocationId>,
    ) {
        for (state, targets) in alternatives {
            let own = self.locations(targets);
            let others = elsewhere.iter().filter(|other| !own.contains(other));
            others.for_each(|other| self.omit(state, *other, None));
        }
    }

    /// A compare-and-swap has failed that compared with what depends on these reads.
    pub(crate) fn omit_swap(&self, state: &mut State, targets: &[AddressId], reads: &Reads) {
        if self.options.dependencies == Dependencies::Real && !reads.is_empty() {
            self.locations(targets).into_iter().for_each(|location| self.omit(state, location, Some(reads)));
        }
    }

    fn locations(&self, places: &[AddressId]) -> Vec<LocationId> {
        places.iter().map(|place| self.program.addresses[place.index()].location).collect()
    }

    fn omit(&self, state: &mut State, location: LocationId, compared: Option<&Reads>) {
        let iteration = state.runs.get(state.at).map_or(0, |runs| runs.saturating_sub(1));
        let instruction = (self.id, self.span_at(state.at).start, iteration);
        let after = state.path.last().copied();
        state.omitted.push(Omitted { location, instruction, after, compared: compared.cloned() });
    }

    /// What it accesses, where that is known here already.
    fn places(&self, state: &State, at: usize) -> Option<Few<AddressId>> {
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

/// Gives every trace the writes that it leaves out, as events.
pub(crate) fn settle(unfolding: &mut Unfolding, noted: &Noted, dependencies: Dependencies) {
    let is_asked = !noted.parted.is_empty() || !noted.omitted.is_empty() || unfolding.events.iter().any(is_chosen);
    if dependencies == Dependencies::Syntactic || !is_asked {
        return;
    }
    let possible = Possible::new(unfolding);
    let instances = Instances::new(unfolding, &possible);
    let mut left_out = untaken::left_out(unfolding, &noted.parted, &possible);
    let compared = instances.noted(&noted.omitted, &mut left_out);
    of_other_traces(unfolding, &instances, &mut left_out);
    let left_out = by_form(unfolding, left_out);
    let found = decided(unfolding, &left_out, compared, &possible);
    insert::insert(unfolding, found);
}

/// By trace and place what it leaves out, and the traces that make that write.
type LeftOut = SortedMap<(TraceId, Place), SortedSet<TraceId>>;

/// Of the traces that make a write, so many are looked at.
const MOST_MAKERS: usize = 32;

/// The writes that traces which can occur make, by instruction and location.
struct Instances(SortedMap<(Instruction, LocationId), Vec<(TraceId, EventId)>>);

impl Instances {
    fn new(unfolding: &Unfolding, possible: &Possible) -> Instances {
        let mut found = SortedMap::<_, Vec<_>>::new();
        for (index, trace) in unfolding.traces.iter().enumerate() {
            for id in trace.events.iter().filter(|_| possible.has(TraceId::new(index))) {
                let event = &unfolding.events[id.index()];
                let key = event.location().filter(|_| event.is_write()).and_then(|at| Some((instruction(event)?, at)));
                let Some(key) = key else { continue };
                let instances = found.entry(key).or_default();
                if instances.len() < MOST_MAKERS {
                    instances.push((TraceId::new(index), *id));
                }
            }
        }
        Instances(found)
    }

    /// Adds stores that go elsewhere; those whose comparison fails are decided already.
    fn noted(&self, noted: &[(TraceId, Omitted)], left_out: &mut LeftOut) -> Vec<Omission> {
        let mut compared = Vec::new();
        for (trace, omitted) in noted {
            let instances = self.0.get(&(omitted.instruction, omitted.location));
            let Some(((_, write), after)) = instances.and_then(|found| found.first()).zip(omitted.after) else {
                continue;
            };
            let place = Place { write: *write, after: Some(after), through: None, readers: Readers::All };
            match &omitted.compared {
                Some(reads) => compared.push(place.omission(*trace, reads.iter().copied().collect())),
                None => {
                    let makers = instances.into_iter().flatten().map(|(maker, _)| *maker);
                    left_out.entry((*trace, place)).or_default().extend(makers);
                }
            }
        }
        compared.into_iter().flatten().collect()
    }

    /// Where an instruction may write, and in which traces.
    fn of(&self, instruction: Instruction) -> impl Iterator<Item = (LocationId, &[(TraceId, EventId)])> + '_ {
        let all = (instruction, LocationId(0))..=(instruction, LocationId(u32::MAX));
        self.0.range(all).map(|((_, location), writes)| (*location, writes.as_slice()))
    }
}

fn instruction(event: &Event) -> Option<Instruction> {
    event.thread.map(|thread| (thread, event.span.start, event.iteration))
}

/// A write whose address depends on what was read.
fn is_chosen(event: &Event) -> bool {
    event.is_write() && !event.has(Tag::Completion) && !event.address_deps.is_empty()
}

/// A store whose address depends on which way a branch went has other places in other traces of its thread: each trace
/// leaves out those of the others. So it is with an asynchronous operation, whatever its address depends on.
fn of_other_traces(unfolding: &Unfolding, instances: &Instances, left_out: &mut LeftOut) {
    for (index, trace) in unfolding.traces.iter().enumerate() {
        let mut own = SortedMap::<Instruction, (usize, SortedSet<LocationId>)>::new();
        for (at, id) in trace.events.iter().enumerate() {
            let event = &unfolding.events[id.index()];
            if let Some(instruction) = instruction(event).filter(|_| is_chosen(event)) {
                own.entry(instruction).or_insert((at, SortedSet::new())).1.extend(event.location());
            }
        }
        for (instruction, (at, own)) in own {
            for (_, writes) in instances.of(instruction).filter(|(location, _)| !own.contains(location)) {
                let chosen = writes.iter().filter(|(_, write)| is_chosen(&unfolding.events[write.index()]));
                let makers: SortedSet<TraceId> = chosen.clone().map(|(maker, _)| *maker).collect();
                let Some((_, write)) = chosen.clone().next() else { continue };
                for place in not_there(unfolding, trace, at, *write) {
                    left_out.entry((TraceId::new(index), place)).or_default().extend(&makers);
                }
            }
        }
    }
}

/// The write of a trace is not to this place. What an asynchronous one writes is there when it is complete.
fn not_there(unfolding: &Unfolding, trace: &Trace, at: usize, write: EventId) -> Vec<Place> {
    let event = trace.events[at];
    let before = |at: usize| at.checked_sub(1).map(|before| trace.events[before]);
    let place = |after: Option<EventId>, through| Place { write, after, through, readers: Readers::All };
    let Some(strand) = &unfolding.events[event.index()].strand else { return vec![place(before(at), None)] };
    let issue = trace.events.iter().position(|event| *event == strand.issue).and_then(before);
    let told = place::signals(unfolding, trace, event).into_iter().map(|through| place(issue, Some(through)));
    let waited = place::waited_for(unfolding, trace, event).map(|at| place(Some(trace.events[at]), None));
    told.chain(waited).collect()
}

/// What is the same about a write wherever it is made.
type Form = (LocationId, AddressId, u128, Option<Scope>);

/// By trace, of writes of one form at one place one.
fn by_form(unfolding: &Unfolding, found: LeftOut) -> SortedMap<TraceId, Vec<(Place, SortedSet<TraceId>)>> {
    let mut grouped = SortedMap::<_, (Place, SortedSet<TraceId>)>::new();
    for ((trace, place), makers) in found {
        let event = &unfolding.events[place.write.index()];
        let form = |(location, generic)| -> Form { (location, generic, event.tags.0, event.scope) };
        let Some(form) = event.location().zip(event.generic()).map(form) else { continue };
        let group = grouped.entry((trace, place.after, place.through, place.readers, form));
        group.or_insert((place, SortedSet::new())).1.extend(makers);
    }
    let mut by_trace = SortedMap::<TraceId, Vec<_>>::new();
    for ((trace, ..), left_out) in grouped {
        by_trace.entry(trace).or_default().push(left_out);
    }
    by_trace
}

/// Finds the reads that decide each of them. A trace in which that is now one and now another becomes several, each with
/// what the others of its omissions are.
fn decided(
    unfolding: &mut Unfolding,
    left_out: &SortedMap<TraceId, Vec<(Place, SortedSet<TraceId>)>>,
    mut found: Vec<Omission>,
    possible: &Possible,
) -> Vec<Omission> {
    for (&id, left_out) in left_out {
        if limits::is_over() {
            break;
        }
        let others: Vec<Omission> = found.iter().filter(|omission| omission.trace == id).cloned().collect();
        for (number, case) in cases(unfolding, id, left_out, possible).into_iter().enumerate() {
            let trace = if number == 0 { id } else { copy(unfolding, id) };
            unfolding.traces[trace.index()].constraints.truncate(case.shared);
            unfolding.traces[trace.index()].constraints.extend(case.constraints);
            found.extend(others.iter().filter(|_| number > 0).map(|other| Omission { trace, ..other.clone() }));
            let decided = left_out.iter().zip(case.deciders).filter(|(_, reads)| !reads.is_empty());
            found.extend(decided.filter_map(|((place, _), reads)| place.omission(trace, reads)));
        }
    }
    found
}

fn cases(
    unfolding: &Unfolding,
    id: TraceId,
    left_out: &[(Place, SortedSet<TraceId>)],
    possible: &Possible,
) -> Vec<deciding::Case> {
    let trace = &unfolding.traces[id.index()];
    let events = trace.events.iter().copied().collect();
    let constraints = |maker: &TraceId| unfolding.traces[maker.index()].constraints.as_slice();
    let made: Vec<deciding::MadeUnder<'_>> =
        left_out.iter().map(|(_, makers)| makers.iter().map(constraints).collect()).collect();
    deciding::cases(&events, &trace.constraints, &made, possible)
}

/// Another trace with the same events.
fn copy(unfolding: &mut Unfolding, id: TraceId) -> TraceId {
    let copy = TraceId::new(unfolding.traces.len());
    let trace = unfolding.traces[id.index()].clone();
    unfolding.threads[trace.thread.index()].traces.push(copy);
    unfolding.traces.push(trace);
    let exit = unfolding.exits.iter().find(|(trace, _)| *trace == id).map(|(_, reads)| (copy, reads.clone()));
    unfolding.exits.extend(exit);
    let failing = unfolding.failing.iter().find(|failing| failing.trace == id);
    let failing = failing.map(|failing| FailingIteration { trace: copy, ..failing.clone() });
    unfolding.failing.extend(failing);
    if unfolding.joint.contains(&id) {
        unfolding.joint.push(copy);
    }
    copy
}
