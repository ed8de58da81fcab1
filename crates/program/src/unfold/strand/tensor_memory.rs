//! Tensor memory (PTX ISA 9.7.18.1, 9.7.18.7): who gets which columns, and which columns an address means.
//!
//! `tcgen05.alloc` writes the address of its columns to shared memory, and kernels load it back. What such a load returns
//! decides where the later operations go, so the run forks on it: the address of an allocation that may be there, or
//! something older. The latter is followed too, with accesses that are marked as *stray*: that they are possible at all
//! is what the model flags. Nothing is skipped, and no value makes the answer unknown.
//!
//! An address has the column in its low 16 bits and the lane above them; lanes of a column are one location.

use fencepost_syntax::Span;
use fencepost_syntax::sorted::SharedSort as _;

use crate::ids::{AddressId, EventId, LocationId, ThreadId};
use crate::lower::memory::lanes::half;
use crate::lower::memory::layout::{HALF_SHIFT, LANES, TENSOR_WINDOW, lane};
use crate::program::asynchronous::{Action, Lanes, Size};
use crate::program::{AddressOperand, Operand, Operation, Place, Space};
use crate::tag::{Tag, Tags};
use crate::unfold::UnfoldError;
use crate::unfold::run::dependency::{Deps, Reads};
use crate::unfold::run::fold;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::{Boxed, Decision, State};
use crate::unfolding::{EventKind, HazardKind};
use crate::value::Type;
use crate::value::expression::{BinaryOperator, Expression, Leaf};

/// Whether an address in tensor memory came from an allocation or a declaration.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Origin {
    #[default]
    Given,
    Stray,
}

/// A run with the columns its address means.
pub(crate) struct Aimed {
    pub(crate) state: Box<State>,
    pub(crate) target: AddressId,
    pub(crate) origin: Origin,
    /// The lane that the address is of, where it says so; those of a column that is not cut are all the same.
    pub(crate) lane: u8,
}

impl Runner<'_> {
    /// The ways an address in tensor memory may fall, and the reads behind it.
    pub(crate) fn tensor_targets(
        &mut self,
        state: Box<State>,
        address: &AddressOperand,
    ) -> Result<(Vec<Aimed>, Reads), UnfoldError> {
        let register = match address {
            AddressOperand::Static(own) => {
                let lane = self.lane(*own);
                let (alternatives, reads) = self.targets(state, address)?;
                let given = |(state, target)| Aimed { state, target, origin: Origin::Given, lane };
                return Ok((alternatives.into_iter().map(given).collect(), reads));
            }
            AddressOperand::Register(register) => *register,
        };
        let slot = state.registers[register.index()].clone();
        let mut found = Vec::new();
        for state in self.resolve_slots(state, &slot.value) {
            if self.is_stale(&state, &slot.value) {
                found.extend(self.stray(state)?);
                continue;
            }
            let value = self.in_window(fold::substitute(&slot.value, &state.known));
            let named = if let Expression::Constant(value) = &value { Some(lane(value.0)) } else { None };
            let value = without_lane(value);
            self.refuse_undeclared(&state, &value)?;
            let is_column = |runner: &Self, target| runner.is_own_column(target);
            let (alternatives, wild) = self.alternatives(state, &value, is_column);
            for (state, target) in alternatives {
                let origin = if is_column(self, target) { Origin::Given } else { Origin::Stray };
                match origin {
                    Origin::Given => {
                        let lane = named.unwrap_or_else(|| self.lane(target));
                        let target = self.part(target, 0);
                        found.push(Aimed { state, target, origin, lane });
                    }
                    Origin::Stray => found.extend(self.stray(state)?),
                }
            }
            if let Some(wild) = wild {
                found.extend(self.stray(wild)?);
            }
        }
        Ok((found, slot.reads))
    }

    /// The column and the lane alone, without what tells one CTA's tensor memory from another's here, are an address as well.
    fn in_window(&self, value: Expression) -> Expression {
        let Expression::Constant(constant) = &value else { return value };
        let first =
            self.columns_of(self.thread.place).first().map(|first| self.program.addresses[first.index()].value.0);
        match first {
            Some(first) if (0..TENSOR_WINDOW).contains(&constant.0) => {
                Expression::constant(first - first % TENSOR_WINDOW + constant.0)
            }
            _ => value,
        }
    }

    fn lane(&self, address: AddressId) -> u8 {
        lane(self.program.addresses[address.index()].value.0)
    }

    /// The location of these 16 lanes of a column: of their quarter where that is not cut, or of all lanes where no quarter
    /// is.
    pub(crate) fn part(&self, column: AddressId, half: u8) -> AddressId {
        let exactly = self.exactly(column, half).or_else(|| self.exactly(column, half & !1));
        exactly.unwrap_or(column)
    }

    fn exactly(&self, column: AddressId, half: u8) -> Option<AddressId> {
        let value = |id: usize| self.program.addresses[id].value.0;
        let wanted = value(column.index()) & !LANES | i128::from(half) << HALF_SHIFT;
        if value(column.index()) == wanted {
            return Some(column);
        }
        let is_part = |id: &usize| value(*id) == wanted && self.program.addresses[*id].canonical.index() == *id;
        (0..self.program.addresses.len()).find(is_part).map(AddressId::new)
    }

    /// The locations of columns, part by part as far as they are cut.
    pub(crate) fn all_lanes(&self, columns: &[AddressId]) -> Vec<Vec<AddressId>> {
        self.parts(columns, 0..8)
    }

    /// Those of the lanes that a warp accesses from this one on: one half of its quarter or both.
    pub(crate) fn own_lanes(&self, columns: &[AddressId], lanes: Lanes, lane: u8) -> Vec<Vec<AddressId>> {
        let first = lane / 32 * 2;
        match half(lanes, lane) {
            Some(half) => self.parts(columns, half..half + 1),
            None => self.parts(columns, first..first + 2),
        }
    }

    fn parts(&self, columns: &[AddressId], halves: std::ops::Range<u8>) -> Vec<Vec<AddressId>> {
        let mut found: Vec<Vec<AddressId>> = Vec::new();
        for half in halves {
            let part = columns.iter().map(|column| self.part(*column, half)).collect();
            if !found.contains(&part) {
                found.push(part);
            }
        }
        found
    }

    /// A column that the thread's CTA has been given: of its own tensor memory, and of as many as were asked for.
    fn is_own_column(&self, target: AddressId) -> bool {
        let location = &self.program.locations[self.location_of(target).index()];
        let is_own = location.owner.is_none_or(|owner| owner == self.thread.place);
        let value = |id: AddressId| self.program.addresses[id.index()].value.0;
        let is_within = |(first, count, _): &(AddressId, u32, Span)| {
            let is_theirs = self.variable(*first).contains(&target);
            !is_theirs || value(target) - value(*first) < i128::from(*count)
        };
        location.space == Some(Space::TensorMemory)
            && is_own
            && self.allocations(self.thread.place).iter().all(is_within)
    }

    /// Columns that were asked for and that the test does not declare: nothing is known of them.
    fn refuse_undeclared(&self, state: &State, value: &Expression) -> Result<(), UnfoldError> {
        let Expression::Constant(value) = value else { return Ok(()) };
        for (first, count, _) in self.allocations(self.thread.place) {
            let info = &self.program.addresses[first.index()];
            let column = value.0 - info.value.0;
            let declared = self.variable(first).len() as i128;
            if declared <= column && column < i128::from(count) {
                let location = self.program.locations[info.location.index()].name.clone();
                return Err(UnfoldError::Column {
                    span: self.span_at(state.at),
                    column,
                    count,
                    location: location.to_string(),
                });
            }
        }
        Ok(())
    }

    /// The allocations of a CTA whose size the text says: the first column, how many, and where.
    fn allocations(&self, place: Place) -> Vec<(AddressId, u32, Span)> {
        let mut found = Vec::new();
        let own = self.program.threads.iter().enumerate().filter(|(_, thread)| thread.place == place);
        for (index, thread) in own {
            for (at, code) in thread.code.iter().enumerate() {
                if let Operation::Async(operation) = &code.operation
                    && let Action::Allocate { count: Some(count), .. } = &operation.action
                {
                    found.extend(self.allocation(ThreadId::new(index), at).map(|first| (first, *count, code.span)));
                }
            }
        }
        found
    }

    /// Forks on what was loaded from words that receive the addresses of allocations.
    fn resolve_slots(&self, state: Box<State>, value: &Expression) -> Vec<Boxed> {
        let mut runs = vec![state];
        for read in reads_of(value) {
            let Some(location) = self.unfolding.events[read.index()].location() else { continue };
            let allocated = self.allocated_to(location);
            if !allocated.is_empty() {
                runs = runs.into_iter().flat_map(|state| self.resolve_slot(state, read, &allocated)).collect();
            }
        }
        runs
    }

    fn resolve_slot(&self, state: Box<State>, read: EventId, allocated: &[AddressId]) -> Vec<Boxed> {
        if state.known.contains_key(&read) || state.stale.contains(&read) {
            return vec![state];
        }
        // What one load returned is decided once: a counted loop around it stays one.
        let forks = state.forks;
        let mut runs = Vec::new();
        let mut rest = state;
        for columns in allocated {
            let address = Expression::Constant(self.program.addresses[columns.index()].value);
            let condition = fold::binary(BinaryOperator::Equal, Type::UNTYPED, Expression::Read(read), address);
            match rest.decide(&condition) {
                Decision::Never => {}
                Decision::Always => return vec![rest],
                Decision::Open(yes, no) => {
                    let mut chosen = rest.clone();
                    self.constrain(&mut chosen, yes);
                    runs.push(chosen);
                    self.constrain(&mut rest, no);
                }
            }
        }
        rest.stale.insert(read);
        runs.push(rest);
        runs.iter_mut().for_each(|run| run.forks = forks);
        runs
    }

    fn is_stale(&self, state: &State, value: &Expression) -> bool {
        reads_of(value).iter().any(|read| state.stale.contains(read))
    }

    /// An access through an address that is none: the first columns of the CTA stand for whatever it hits.
    fn stray(&mut self, state: Box<State>) -> Result<Option<Aimed>, UnfoldError> {
        match self.columns_of(self.thread.place).first() {
            Some(target) => Ok(Some(Aimed { state, target: *target, origin: Origin::Stray, lane: 0 })),
            None => Err(UnfoldError::Allocation { span: self.span_at(state.at) }),
        }
    }

    /// As many columns as the size says; of a stray access, as far as there are.
    pub(crate) fn stray_extent(&self, base: AddressId, size: Size) -> Vec<AddressId> {
        let count = match size {
            Size::Locations(count) => count as usize,
            _ => usize::MAX,
        };
        self.variable(base).into_iter().take(count).collect()
    }

    /// `tcgen05.alloc`: the k-th of a CTA, in the order of the text, gets the k-th tensor memory the test declares for it.
    /// Its columns are written so that a use that does not come after is seen; their address goes to shared memory.
    pub(crate) fn allocate(
        &mut self,
        state: Box<State>,
        destination: &AddressOperand,
        guard: Reads,
    ) -> Result<(), UnfoldError> {
        let span = self.span_at(state.at);
        let Some(columns) = self.allocation(self.id, state.at) else { return Err(UnfoldError::Allocation { span }) };
        // The instruction again, in a loop, while its columns are still there: others are given, and none are declared.
        let given = state.outstanding.allocated.iter().filter(|(at, _)| *at == columns).count();
        let returned = state.outstanding.deallocated.iter().filter(|at| **at == columns).count();
        if given > returned {
            return Err(UnfoldError::Allocation { span });
        }
        let columns = self.variable(columns);
        let (alternatives, reads) = self.targets(state, destination)?;
        for (mut state, target) in alternatives {
            if let Some(relinquished) = state.outstanding.relinquished {
                state.outstanding.hazards.push((HazardKind::AllocAfterRelinquish, relinquished, span));
            }
            let deps = || Deps { address: reads.clone(), guard: guard.clone(), ..Deps::default() };
            self.rewrite_columns(&mut state, &columns, Tags::NONE, &guard)?;
            let value = Expression::Constant(self.program.addresses[columns[0].index()].value);
            let location = self.location_of(target);
            let ty = self.program.locations[location.index()].ty;
            let generic = self.program.addresses[target.index()].generic;
            let value = fold::convert(ty, value);
            let kind = EventKind::Write { address: target, generic, location, value, ty };
            let tags = self.place_tags(target, Tags::from_iter([Tag::Write, Tag::Weak, Tag::Generic, Tag::OwnWindow]));
            self.event(&mut state, kind, tags, None, deps())?;
            state.effects += 1;
            state.outstanding.allocated.push((columns[0], span));
            self.proceed(state);
        }
        Ok(())
    }

    pub(crate) fn deallocate(
        &mut self,
        state: Box<State>,
        address: &AddressOperand,
        count: Operand,
        guard: Reads,
    ) -> Result<(), UnfoldError> {
        let span = self.span_at(state.at);
        let (alternatives, _) = self.tensor_targets(state, address)?;
        for Aimed { mut state, target, origin, .. } in alternatives {
            let count = match fold::substitute(&self.operand(&state, count).value, &state.known) {
                Expression::Constant(count) => Some(count.0),
                _ => None,
            };
            let columns = self.variable(target);
            let tags = Tags::NONE.with(Tag::Deallocation);
            let tags = if origin == Origin::Stray { tags.with(Tag::Stray) } else { tags };
            self.rewrite_columns(&mut state, &columns, tags, &guard)?;
            state.effects += 1;
            state.outstanding.deallocated.push(target);
            let other = |(first, asked, _): &&(AddressId, u32, Span)| {
                *first == target && origin == Origin::Given && count.is_some_and(|count| count != i128::from(*asked))
            };
            if let Some((_, _, allocation)) = self.allocations(self.thread.place).iter().find(other) {
                state.outstanding.hazards.push((HazardKind::DeallocatedCount, *allocation, span));
            }
            self.proceed(state);
        }
        Ok(())
    }

    /// `tcgen05.relinquish_alloc_permit`: an event, for those who allocate later.
    pub(crate) fn relinquish(&mut self, mut state: Box<State>, guard: Reads) -> Result<(), UnfoldError> {
        let span = self.span_at(state.at);
        state.outstanding.relinquished.get_or_insert(span);
        let tags = Tags::NONE.with(Tag::Relinquish);
        self.event(&mut state, EventKind::Issue, tags, None, Deps { guard, ..Deps::default() })?;
        self.proceed(state);
        Ok(())
    }

    /// Weak writes in program order to columns of tensor memory: what they held is gone. The initial value stands for that.
    fn rewrite_columns(
        &mut self,
        state: &mut State,
        columns: &[AddressId],
        tags: Tags,
        guard: &Reads,
    ) -> Result<(), UnfoldError> {
        let tags = [Tag::Write, Tag::Weak, Tag::TensorMemory].into_iter().fold(tags, Tags::with);
        for column in &self.all_lanes(columns).concat() {
            let address = &self.program.addresses[column.index()];
            let (generic, location) = (address.generic, address.location);
            let info = &self.program.locations[location.index()];
            let (value, ty) = (Expression::Constant(info.initial), info.ty);
            let kind = EventKind::Write { address: *column, generic, location, value, ty };
            self.event(state, kind, tags, None, Deps { guard: guard.clone(), ..Deps::default() })?;
        }
        Ok(())
    }

    /// The first columns of the allocations whose address may go to this location.
    fn allocated_to(&self, location: LocationId) -> Vec<AddressId> {
        let mut found = Vec::new();
        for (index, thread) in self.program.threads.iter().enumerate() {
            for (at, code) in thread.code.iter().enumerate() {
                if let Operation::Async(operation) = &code.operation
                    && let Action::Allocate { slots, .. } = &operation.action
                    && slots.contains(&location)
                {
                    found.extend(self.allocation(ThreadId::new(index), at));
                }
            }
        }
        found.dedup();
        found
    }

    /// The first column that the allocation at this place of the code gets.
    fn allocation(&self, id: ThreadId, at: usize) -> Option<AddressId> {
        let is_allocation = |operation: &Operation| matches!(operation, Operation::Async(operation) if matches!(operation.action, Action::Allocate { .. }));
        let own = self.program.threads.get(id.index())?;
        let mut before = own.code.iter().take(at).filter(|code| is_allocation(&code.operation)).count();
        let near = self.program.threads.iter().take(id.index()).filter(|other| other.place == own.place);
        before += near.flat_map(|thread| &thread.code).filter(|code| is_allocation(&code.operation)).count();
        self.columns_of(own.place).get(before).copied()
    }

    /// The first column of each tensor memory of a CTA, ascending.
    fn columns_of(&self, place: Place) -> Vec<AddressId> {
        let is_own = |id: &AddressId| {
            let location = &self.program.locations[self.location_of(*id).index()];
            location.space == Some(Space::TensorMemory) && location.owner.is_none_or(|owner| owner == place)
        };
        let is_canonical = |id: &AddressId| {
            let address = &self.program.addresses[id.index()];
            address.canonical == *id && address.value.0 & LANES == 0
        };
        let all = (0..self.program.addresses.len()).map(AddressId::new);
        let mut columns: Vec<AddressId> = all.filter(|id| is_own(id) && is_canonical(id)).collect();
        columns.shared_sort_by_key(|id| self.program.addresses[id.index()].value);
        let mut found = Vec::new();
        let mut columns = columns.into_iter().peekable();
        while let Some(first) = columns.next() {
            let variable = self.variable(first);
            while columns.peek().is_some_and(|next| variable.contains(next)) {
                columns.next();
            }
            found.push(first);
        }
        found
    }
}

/// The same column, whatever the lane.
fn without_lane(value: Expression) -> Expression {
    match value {
        Expression::Constant(value) if value.0 >= 0 => Expression::constant(value.0 & !LANES),
        other => other,
    }
}

fn reads_of(value: &Expression) -> Vec<EventId> {
    let mut leaves = Vec::new();
    value.leaves(&mut leaves);
    let mut reads: Vec<EventId> = Vec::new();
    for leaf in leaves {
        if let Leaf::Read(read) = leaf
            && !reads.contains(&read)
        {
            reads.push(read);
        }
    }
    reads
}
