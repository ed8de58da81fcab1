//! Asynchronous operations as events (PTX ISA 8.9.1.1): an issue event in program order, and beside it a strand of the
//! operation's accesses and of the event that tells of its end. Waits for groups are events in program order that list the
//! strand events they find complete.

pub(crate) mod allocation;
pub(crate) mod cta_pair;
pub(crate) mod effect;
pub(crate) mod group;
pub(crate) mod hazard;
pub(crate) mod region;
pub(crate) mod register;
pub(crate) mod tensor_map;
pub(crate) mod tensor_memory;
pub(crate) mod tile;
pub(crate) mod tile_start;

use crate::ids::{AddressId, EventId};
use crate::program::asynchronous::{
    Accumulator, Action, Arrive, Async, Base, Completion, Counting, Covered, Effect, Family, Product, RegionId, Size,
    Start, Tensor, Told, Valid,
};
use crate::program::{Operand, Scope, Space};
use crate::tag::{Tag, Tags};
use crate::unfold::UnfoldError;
use crate::unfold::run::dependency::{Deps, Reads};
use crate::unfold::run::fold;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::{Decision, State};
use crate::unfold::strand::region::Located;
use crate::unfold::strand::tensor_map::Wanted;
use crate::unfold::strand::tensor_memory::Origin;
use crate::unfolding::{EventKind, Strand, TensorOperation};
use crate::value::Type;
use crate::value::expression::{BinaryOperator, Expression};
use crate::value::mbarrier;

/// A strand while its events are made.
pub(crate) struct Opened {
    pub(crate) issue: EventId,
    pub(crate) family: Family,
    pub(crate) tensor: Option<TensorOperation>,
    guard: Reads,
    address: Reads,
    /// Of its accesses to tensor memory.
    origin: Origin,
    /// Its accesses, completion aside.
    pub(crate) events: Vec<EventId>,
    /// Of those, the reads of a product's left factor in shared memory.
    pub(crate) left: Vec<EventId>,
}

/// How one access of a strand is made.
#[derive(Copy, Clone)]
pub(crate) struct How {
    pub(crate) target: AddressId,
    pub(crate) tags: Tags,
    pub(crate) scope: Option<Scope>,
}

impl Runner<'_> {
    pub(crate) fn asynchronous(
        &mut self,
        mut state: Box<State>,
        operation: &Async,
        guard: Reads,
    ) -> Result<(), UnfoldError> {
        let family = operation.family;
        if let Some(collective) = allocation::collective(&operation.action) {
            state.outstanding.collective.push((collective, self.span_at(state.at)));
        }
        match &operation.action {
            Action::Start(start) => return self.start(state, family, start, &guard),
            Action::Arrive(arrive) => return self.arrive_later(state, family, arrive, &guard),
            Action::Allocate { destination, .. } => return self.allocate(state, destination, guard),
            Action::Deallocate { address, count, .. } => return self.deallocate(state, address, *count, guard),
            Action::Commit => {
                state.outstanding.commit(family);
                state.outstanding.registers.commit(family);
            }
            Action::WaitGroup { newest, covered } => {
                let newest = *newest as usize;
                let events = &self.unfolding.events;
                let completes = state.outstanding.wait(family, newest, *covered, |event| events[event.index()].clone());
                if *covered == Covered::Everything {
                    state.outstanding.registers.wait(family, newest);
                }
                self.wait_event(&mut state, family, completes, guard)?;
            }
            Action::WaitAll => {
                let completes = state.outstanding.wait_all(family);
                self.wait_event(&mut state, family, completes, guard)?;
            }
            Action::WaitTensor(kind) => {
                let completes = state.outstanding.wait_tensor(*kind);
                self.wait_event(&mut state, family, completes, guard)?;
            }
            Action::RegisterFence => state.outstanding.registers.fence(),
            Action::Relinquish { .. } => return self.relinquish(state, guard),
        }
        self.proceed(state);
        Ok(())
    }

    fn wait_event(
        &mut self,
        state: &mut State,
        family: Family,
        completes: Vec<EventId>,
        guard: Reads,
    ) -> Result<(), UnfoldError> {
        let tags = Tags::NONE.with(family.tag());
        let event = self.event(state, EventKind::Issue, tags, None, Deps { guard, ..Deps::default() })?;
        self.unfolding.events[event.index()].completes = completes;
        Ok(())
    }

    fn start(&mut self, state: Box<State>, family: Family, start: &Start, guard: &Reads) -> Result<(), UnfoldError> {
        for (state, located) in self.locate(state, (family, start))? {
            for (state, mut located) in self.choose(state, &start.effect, located) {
                let mut runs = Vec::new();
                match &start.completion {
                    Completion::Transaction { mbarrier, replicas, .. } => {
                        let (alternatives, reads) = self.mbarrier_targets(state, mbarrier)?;
                        located.reads.extend(reads);
                        for (state, target) in alternatives {
                            let copies = self.replicate(&state, &[target], *replicas)?;
                            runs.push((state, Located { signals: copies.concat(), ..located.clone() }));
                        }
                    }
                    Completion::Group | Completion::Tracked | Completion::None => runs.push((state, located)),
                }
                for (state, located) in runs {
                    self.run_strand(state, family, start, located, guard)?;
                }
            }
        }
        Ok(())
    }

    /// The choice an operation makes on its own: see [`Located::chosen`].
    fn choose(&self, mut state: Box<State>, effect: &Effect, mut located: Located) -> Vec<(Box<State>, Located)> {
        let condition = match effect {
            Effect::Answer { .. } => {
                state.forks += 1;
                let refused = (state.clone(), located.clone());
                located.chosen = true;
                return vec![(state, located), refused];
            }
            Effect::Copy { valid: Valid::Unless(condition), .. } => *condition,
            Effect::Product(Product { accumulator: Accumulator::Memory(_), accumulate, .. }) => *accumulate,
            _ => return vec![(state, located)],
        };
        match state.decide(&fold::is_true(self.operand(&state, condition).value)) {
            Decision::Always => located.chosen = true,
            Decision::Never => {}
            Decision::Open(yes, no) => {
                let mut other = state.clone();
                self.constrain(&mut other, no);
                self.constrain(&mut state, yes);
                let refused = located.clone();
                located.chosen = true;
                return vec![(state, located), (other, refused)];
            }
        }
        vec![(state, located)]
    }

    fn run_strand(
        &mut self,
        mut state: Box<State>,
        family: Family,
        start: &Start,
        mut located: Located,
        guard: &Reads,
    ) -> Result<(), UnfoldError> {
        let tensor = self.tensor_operation(&state, start, &located);
        let deps = Deps { address: located.reads.clone(), guard: guard.clone(), ..Deps::default() };
        let mut tags = Tags::from_iter([Tag::Issue, family.tag()]);
        if matches!(start.effect, Effect::Answer { .. }) {
            tags = tags.with(Tag::Cancel);
        }
        let issue = self.event(&mut state, EventKind::Issue, tags, None, deps)?;
        state.effects += 1;
        let address = std::mem::take(&mut located.reads);
        let (guard, origin) = (guard.clone(), located.origin);
        let mut opened = Opened { issue, family, tensor, guard, address, origin, events: Vec::new(), left: Vec::new() };
        let by_map = start.regions.iter().enumerate().find_map(|(index, region)| match &region.base {
            Base::Tensor { map, coordinates, mode } => {
                Some((index, *map, Wanted { coordinates, mode, size: region.size }))
            }
            Base::Address(_) | Base::Descriptor(_) => None,
        });
        let Some((index, map, wanted)) = by_map else {
            return self.finish_strand(state, start, &located, opened);
        };
        // What the map holds decides where the copy goes.
        let target = located.first(map).first().copied().expect("invariant: a map is one location");
        let region = &start.regions[map.0];
        let location = self.location_of(target);
        let own = &self.program.locations[location.index()];
        let is_read_only = matches!(own.space, Some(Space::Param | Space::Const));
        let tags = if is_read_only { region.tags.with(Tag::ReadsOnly) } else { region.tags };
        // What nothing writes holds what it held at the start: no run forks on it.
        let initial = Expression::Constant(own.initial);
        let is_constant = is_read_only && self.constants.contains(location);
        let read = self.strand_read(&mut state, &mut opened, How { target, tags, scope: region.scope }, &[])?;
        opened.address.insert(read);
        let value = if is_constant { initial } else { Expression::Read(read) };
        for (state, range, bytes) in self.tensor(state, &located, &value, wanted)? {
            let mut located = located.clone();
            located.regions[index] = vec![range];
            if let Size::Like(RegionId(shared)) = wanted.size {
                self.boxed(&mut located.regions[shared], bytes);
            }
            let opened = Opened {
                guard: opened.guard.clone(),
                address: opened.address.clone(),
                events: opened.events.clone(),
                left: opened.left.clone(),
                ..opened
            };
            self.finish_strand(state, start, &located, opened)?;
        }
        Ok(())
    }

    fn tensor_operation(&self, state: &State, start: &Start, located: &Located) -> Option<TensorOperation> {
        let Tensor { kind, group, shape, descriptor, .. } = start.tensor?;
        let accumulator = match &start.effect {
            Effect::Product(Product { accumulator: Accumulator::Memory(region), .. }) => {
                located.first(*region).first().map(|address| self.location_of(*address))
            }
            _ => None,
        };
        // Two descriptors that are not the same number are not known to describe the same shape.
        let described = descriptor.map_or(0, |operand| match self.constant(state, operand) {
            Ok(value) => value.unsigned_abs() as u64,
            Err(_) => u64::MAX - state.path.len() as u64,
        });
        let shape = shape.rotate_left(17) ^ described;
        Some(TensorOperation { kind, group, accumulator, shape })
    }

    /// The accesses, the signal of the end, and the books.
    fn finish_strand(
        &mut self,
        mut state: Box<State>,
        start: &Start,
        located: &Located,
        mut opened: Opened,
    ) -> Result<(), UnfoldError> {
        let written = self.effect(&mut state, start, located, &mut opened)?;
        let family = opened.family;
        match &start.completion {
            Completion::Group => {
                state.outstanding.add(family, &opened.events);
            }
            Completion::Transaction { .. } => {
                self.complete_transaction(&mut state, &mut opened, located, &written)?;
                // A bulk group may follow such a copy too, and tells when the map has been read.
                let is_map = |event: &EventId| self.unfolding.events[event.index()].has(Tag::TensorMap);
                let maps: Vec<EventId> = opened.events.iter().copied().filter(is_map).collect();
                state.outstanding.add(family, &maps);
            }
            Completion::Tracked => {
                if let Some(tensor) = start.tensor {
                    state.outstanding.track(tensor.kind, tensor.group, &opened.events);
                    state.outstanding.read_left(tensor.group, &opened.left);
                }
            }
            Completion::None => {}
        }
        self.note_product(&mut state, (family, opened.issue), start)?;
        self.proceed(state);
        Ok(())
    }

    /// One complete-tx per destination CTA. It speaks for what was read, and for what was written there.
    fn complete_transaction(
        &mut self,
        state: &mut State,
        opened: &mut Opened,
        located: &Located,
        written: &[Vec<EventId>],
    ) -> Result<(), UnfoldError> {
        let is_read = |event: &&EventId| self.unfolding.events[event.index()].is_read();
        let reads: Vec<EventId> = opened.events.iter().filter(is_read).copied().collect();
        for (index, signal) in located.signals.iter().enumerate() {
            let empty = Vec::new();
            let own = written.get(index).unwrap_or(&empty);
            let bytes = self.written_bytes(own);
            let after: Vec<EventId> = reads.iter().chain(own).copied().collect();
            let operation = (mbarrier::Operator::CompleteTx, Expression::constant(bytes));
            self.signal(state, opened, *signal, operation, &after)?;
        }
        Ok(())
    }

    fn written_bytes(&self, written: &[EventId]) -> i128 {
        let width = |event: &EventId| match self.unfolding.events[event.index()].kind {
            EventKind::Write { address, .. } => self.width(address),
            _ => 0,
        };
        written.iter().map(width).sum()
    }

    /// A read-modify-write on an mbarrier at the end of a strand. Counting is relaxed, telling is a release at cluster
    /// scope, and both go through the generic proxy (PTX ISA 9.7.10.28.5, 9.7.15.16).
    fn signal(
        &mut self,
        state: &mut State,
        opened: &mut Opened,
        target: AddressId,
        (operator, operand): (mbarrier::Operator, Expression),
        after: &[EventId],
    ) -> Result<(), UnfoldError> {
        let common = [Tag::Atomic, Tag::NoReturn, Tag::Mbarrier, Tag::Completion, Tag::Generic, Tag::ScopeCluster];
        // `cp.async.mbarrier.arrive` is for the own CTA's.
        let window = (opened.family == Family::CpAsync).then_some(Tag::OwnWindow);
        let half = |sem| {
            let tags = common.into_iter().chain(window).chain([sem]).collect();
            How { target, tags, scope: Some(Scope::Cluster) }
        };
        let read = self.strand_read(state, opened, half(Tag::Relaxed), after)?;
        let value = fold::binary(BinaryOperator::Mbarrier(operator), Type::UNTYPED, Expression::Read(read), operand);
        let after: Vec<EventId> = after.iter().copied().chain([read]).collect();
        let write = self.strand_write(state, opened, half(Tag::Release), (value, Reads::from([read])), &after)?;
        self.pair(read, write);
        opened.events.retain(|event| *event != read && *event != write);
        Ok(())
    }

    pub(crate) fn strand_read(
        &mut self,
        state: &mut State,
        opened: &mut Opened,
        how: How,
        after: &[EventId],
    ) -> Result<EventId, UnfoldError> {
        let address = &self.program.addresses[how.target.index()];
        let ty = self.program.locations[address.location.index()].ty;
        let kind = EventKind::Read { address: how.target, generic: address.generic, location: address.location, ty };
        self.strand_event(state, opened, kind, How { tags: how.tags.with(Tag::Read), ..how }, (Reads::new(), after))
    }

    pub(crate) fn strand_write(
        &mut self,
        state: &mut State,
        opened: &mut Opened,
        how: How,
        (value, data): (Expression, Reads),
        after: &[EventId],
    ) -> Result<EventId, UnfoldError> {
        let address = &self.program.addresses[how.target.index()];
        let (generic, location) = (address.generic, address.location);
        let ty = self.program.locations[location.index()].ty;
        let value = if how.tags.has(Tag::Mbarrier) { value } else { self.convert(ty, value) };
        let kind = EventKind::Write { address: how.target, generic, location, value, ty };
        self.strand_event(state, opened, kind, How { tags: how.tags.with(Tag::Write), ..how }, (data, after))
    }

    fn strand_event(
        &mut self,
        state: &mut State,
        opened: &mut Opened,
        kind: EventKind,
        how: How,
        (data, after): (Reads, &[EventId]),
    ) -> Result<EventId, UnfoldError> {
        let tags = self.place_tags(how.target, how.tags).with(opened.family.tag());
        let location = &self.program.locations[self.location_of(how.target).index()];
        if location.is_persistent && tags.has(Tag::Write) {
            let (span, location) = (self.span_at(state.at), location.name.clone());
            return Err(UnfoldError::AsynchronousPersist { span, location: location.to_string() });
        }
        let is_stray = opened.origin == Origin::Stray && tags.has(Tag::TensorMemory);
        let tags = if is_stray { tags.with(Tag::Stray) } else { tags };
        let deps = Deps { address: opened.address.clone(), data, guard: opened.guard.clone() };
        let event = self.event(state, kind, tags, how.scope, deps)?;
        self.unfolding.events[event.index()].strand =
            Some(Strand { issue: opened.issue, after: after.to_vec(), tensor: opened.tensor });
        opened.events.push(event);
        Ok(event)
    }

    /// `cp.async.mbarrier.arrive` and `tcgen05.commit`: an arrive that comes after what the thread started before, and
    /// after nothing else.
    fn arrive_later(
        &mut self,
        state: Box<State>,
        family: Family,
        arrive: &Arrive,
        guard: &Reads,
    ) -> Result<(), UnfoldError> {
        let (alternatives, reads) = self.mbarrier_targets(state, &arrive.mbarrier)?;
        for (mut state, target) in alternatives {
            if arrive.counting == Counting::Added {
                self.increment_pending(&mut state, target, &reads, guard)?;
            }
            let after = match family {
                Family::Tcgen05 => state.outstanding.committed(arrive.group, arrive.told),
                _ => state.outstanding.copied.clone(),
            };
            let deps = Deps { address: reads.clone(), guard: guard.clone(), ..Deps::default() };
            let mut tags = Tags::from_iter([Tag::Issue, family.tag()]);
            if family == Family::Tcgen05 {
                let own = if arrive.told == Told::Everything { Tag::BeforeThreadSync } else { Tag::Restricted };
                tags = tags.with(own);
            }
            let issue = self.event(&mut state, EventKind::Issue, tags, None, deps)?;
            state.effects += 1;
            let (guard, address) = (guard.clone(), reads.clone());
            let origin = Origin::Given;
            let mut opened =
                Opened { issue, family, tensor: None, guard, address, origin, events: Vec::new(), left: Vec::new() };
            for target in self.replicate(&state, &[target], arrive.replicas)?.concat() {
                let operation = (mbarrier::Operator::Arrive(mbarrier::Completing::Allowed), Expression::constant(1));
                self.signal(&mut state, &mut opened, target, operation, &after)?;
            }
            self.proceed(state);
        }
        Ok(())
    }

    /// Without `.noinc` the pending count goes up when the instruction is issued (PTX ISA 9.7.15.16, cp.async.mbarrier.arrive).
    fn increment_pending(
        &mut self,
        state: &mut State,
        target: AddressId,
        address: &Reads,
        guard: &Reads,
    ) -> Result<(), UnfoldError> {
        let common = [Tag::Atomic, Tag::NoReturn, Tag::Mbarrier, Tag::Generic, Tag::Relaxed, Tag::ScopeCta];
        let tags = self.place_tags(target, Tags::from_iter(common).with(Tag::OwnWindow));
        let operator = BinaryOperator::Mbarrier(mbarrier::Operator::IncrementPending);
        let program = self.program;
        let (generic, location) =
            (program.addresses[target.index()].generic, program.addresses[target.index()].location);
        let ty = program.locations[location.index()].ty;
        let deps = |data: Reads| Deps { address: address.clone(), data, guard: guard.clone() };
        let kind = EventKind::Read { address: target, generic, location, ty };
        let read = self.event(state, kind, tags.with(Tag::Read), Some(Scope::Cta), deps(Reads::new()))?;
        let value = fold::binary(operator, Type::UNTYPED, Expression::Read(read), Expression::constant(1));
        let kind = EventKind::Write { address: target, generic, location, value, ty };
        let write = self.event(state, kind, tags.with(Tag::Write), Some(Scope::Cta), deps(Reads::from([read])))?;
        self.pair(read, write);
        Ok(())
    }

    /// Where the accessed location lies, as tags.
    pub(crate) fn place_tags(&self, target: AddressId, tags: Tags) -> Tags {
        let location = &self.program.locations[self.location_of(target).index()];
        if location.space != Some(crate::program::Space::Shared) {
            return tags;
        }
        let tags = tags.with(Tag::Shared);
        if location.owner.is_some_and(|owner| owner != self.thread.place) { tags.with(Tag::Remote) } else { tags }
    }

    /// The value of an operand with the reads behind it.
    pub(crate) fn read_operand(&self, state: &State, operand: Operand) -> (Expression, Reads) {
        let slot = self.operand(state, operand);
        (slot.value, slot.reads)
    }
}
