//! Memory operations: which location, which events, what is written.

use crate::ids::{AddressId, EventId};
use crate::program::def_use;
use crate::program::{AddressOperand, FailedCas, Instruction, LocationRole, Operand, Operation, Scope, Space, Update};
use crate::reduce::silent_updates::{self, Effect, Write};
use crate::tag::{Tag, Tags};
use crate::unfold::UnfoldError;
use crate::unfold::run::dependency::{Deps, Reads};
use crate::unfold::run::fold;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::{Boxed, Decision, Forks, Slot, State};
use crate::unfolding::EventKind;
use crate::value::expression::{BinaryOperator, Expression};
use crate::value::{Type, Value};

/// The address and the size of an access.
pub(crate) fn accessed(operation: &Operation) -> Option<(&AddressOperand, i128)> {
    let (address, ty, count) = match operation {
        Operation::Load { address, ty, .. }
        | Operation::Store { address, ty, .. }
        | Operation::ReadModifyWrite { address, ty, .. } => (address, ty, 1),
        Operation::VectorLoad { address, ty, destinations, .. } => (address, ty, destinations.len()),
        Operation::VectorStore { address, ty, values, .. } => (address, ty, values.len()),
        Operation::VectorUpdate(update) => (&update.address, &update.ty, update.values.len()),
        _ => return None,
    };
    Some((address, i128::from(ty.bits / 8) * count as i128))
}

impl Runner<'_> {
    pub(crate) fn access(
        &mut self,
        state: Box<State>,
        instruction: &Instruction,
        guard: Reads,
    ) -> Result<(), UnfoldError> {
        let Some((address, bytes)) = accessed(&instruction.operation) else { return Ok(()) };
        // An address that the text names is one address, and rests on no read.
        if let AddressOperand::Static(address) = address {
            let targets = self.locations_of(self.start_of(*address), bytes, state.at)?;
            return self.access_at(state, instruction, (&targets, bytes), (Reads::new(), guard));
        }
        let elsewhere = self.elsewhere(&state, (address, bytes), &instruction.operation);
        let (mut alternatives, reads) = self.range(state, address, bytes)?;
        self.omit_elsewhere(&mut alternatives, &elsewhere);
        for (state, targets) in alternatives {
            self.access_at(state, instruction, (&targets, bytes), (reads.clone(), guard.clone()))?;
        }
        Ok(())
    }

    /// The same where the locations are known, and the reads behind the address and the guard.
    fn access_at(
        &mut self,
        state: Box<State>,
        instruction: &Instruction,
        (targets, bytes): (&[AddressId], i128),
        (address, guard): (Reads, Reads),
    ) -> Result<(), UnfoldError> {
        self.check_alignment(targets, bytes, state.at)?;
        let deps = Deps { address, data: Reads::new(), guard };
        match &instruction.operation {
            Operation::Load { .. } => self.load(state, &instruction.operation, targets, deps),
            Operation::Store { .. } => self.store(state, &instruction.operation, targets, deps),
            Operation::VectorLoad { .. } => self.vector_load(state, &instruction.operation, targets, deps),
            Operation::VectorStore { .. } => self.vector_store(state, &instruction.operation, targets, deps),
            Operation::VectorUpdate(update) => self.vector_update(state, update, targets, deps),
            _ => self.modify(state, &instruction.operation, targets, deps),
        }
    }

    /// The address that stands for one: of several names of a place, the first.
    fn start_of(&self, address: AddressId) -> AddressId {
        let found = &self.program.addresses[address.index()];
        if found.within == 0 { found.canonical } else { address }
    }

    /// The addresses an operand may be, each with the run in which it is that one. A value that is no address at all ends
    /// the run: what happens after a wild access is nobody's to say, so nothing may be concluded from it.
    pub(crate) fn targets(
        &mut self,
        state: Box<State>,
        address: &AddressOperand,
    ) -> Result<(Forks, Reads), UnfoldError> {
        self.targets_where(state, address, None, |_, _| true)
    }

    /// As `targets`, of those that `fits` only where others are possible: the run that takes none of them ends. So does one
    /// that takes an address in another state space than the instruction has it in.
    pub(crate) fn targets_where(
        &mut self,
        state: Box<State>,
        address: &AddressOperand,
        space: Option<Space>,
        fits: impl Fn(&Self, AddressId) -> bool,
    ) -> Result<(Forks, Reads), UnfoldError> {
        let register = match address {
            AddressOperand::Static(address) => {
                return Ok((vec![(state, self.start_of(*address))], Reads::new()));
            }
            AddressOperand::Register(register) => *register,
        };
        let slot = state.registers[register.index()].clone();
        let value = fold::substitute(&slot.value, &state.known);
        let said: Vec<Space> = self.said(state.at, register).into_iter().chain(space).collect();
        // Of another space, only an address that is a value of the program is worth a sentence of its own.
        let (alternatives, wild) = self.alternatives(state, &value, |runner, target| {
            fits(runner, target)
                && (runner.lies_in(target, &said) || runner.named.contains(&runner.location_of(target)))
        });
        if let Some(wild) = wild {
            self.end_nowhere(wild, &value, &slot.reads)?;
        }
        let (found, elsewhere): (Vec<_>, Vec<_>) =
            alternatives.into_iter().partition(|(_, target)| self.lies_in(*target, &said));
        for (state, target) in elsewhere {
            self.end_in_another_space(state, target, &slot.reads)?;
        }
        Ok((found, slot.reads))
    }

    /// The addresses that a value may be, each with its run, and the run in which it is none of them.
    pub(crate) fn alternatives(
        &self,
        state: Box<State>,
        value: &Expression,
        fits: impl Fn(&Self, AddressId) -> bool,
    ) -> (Forks, Option<Boxed>) {
        let mut alternatives = Vec::new();
        let mut wild = Some(state);
        // A pointer chosen between names (`selp`) cannot be anything else, also where the constraints do not show it.
        let mut possible = fold::possible(value);
        for (index, candidate) in self.program.addresses.iter().enumerate() {
            let Some(rest) = wild.as_mut() else { break };
            if candidate.within == 0 && candidate.canonical.index() != index {
                continue;
            }
            if let Some(possible) = possible.as_mut() {
                if !possible.remove(&candidate.value) {
                    continue;
                }
                if possible.is_empty() {
                    alternatives.extend(wild.take().map(|state| (state, AddressId::new(index))));
                    break;
                }
            }
            let here = Expression::Constant(candidate.value);
            let condition = fold::binary(BinaryOperator::Equal, Type::UNTYPED, value.clone(), here);
            match rest.decide(&condition) {
                Decision::Never => {}
                Decision::Always => alternatives.extend(wild.take().map(|state| (state, AddressId::new(index)))),
                // Still possible: what remains of the run is not sure to be the last of the others.
                Decision::Open(..) if !fits(self, AddressId::new(index)) => {
                    possible.iter_mut().for_each(|possible| {
                        possible.insert(candidate.value);
                    });
                }
                Decision::Open(yes, no) => {
                    let mut chosen = rest.clone();
                    self.constrain(&mut chosen, yes);
                    alternatives.push((chosen, AddressId::new(index)));
                    self.constrain(rest, no);
                }
            }
        }
        (alternatives, wild)
    }

    /// An access is aligned to its size, all elements of a vector together (PTX ISA 6.4.1).
    pub(crate) fn check_alignment(&self, targets: &[AddressId], bytes: i128, at: usize) -> Result<(), UnfoldError> {
        let Some(first) = targets.first() else { return Ok(()) };
        let address = &self.program.addresses[first.index()];
        let is_object = self.program.locations[address.location.index()].role != LocationRole::Data;
        if bytes > 0 && !is_object && address.value.0 % bytes != 0 {
            let (spelling, name) = (self.spelling(at), &address.name);
            let what = format!("{spelling} at `{name}`, an address that is no multiple of its size, {bytes} bytes");
            return Err(UnfoldError::Misaligned { span: self.span_at(at), what });
        }
        Ok(())
    }

    pub(crate) fn read_event(
        &mut self,
        state: &mut State,
        target: AddressId,
        half: Half,
        deps: Deps,
    ) -> Result<(EventId, Expression), UnfoldError> {
        let address = &self.program.addresses[target.index()];
        // The event returns what memory holds, a value of the location's type; the register gets it in the access's.
        let ty = self.program.locations[address.location.index()].ty;
        let kind = EventKind::Read { address: target, generic: address.generic, location: address.location, ty };
        let location = address.location;
        let event = self.event(state, kind, half.tags, half.scope, deps)?;
        if self.constants.contains(location) {
            state.known.insert(event, self.program.locations[location.index()].initial);
        }
        self.note_own_read(state, target, event);
        let value = self.convert(half.ty, Expression::Read(event));
        Ok((event, value))
    }

    pub(crate) fn write_event(
        &mut self,
        state: &mut State,
        target: AddressId,
        value: Expression,
        half: Half,
        deps: Deps,
    ) -> Result<EventId, UnfoldError> {
        let address = &self.program.addresses[target.index()];
        // Memory holds values of the location's type: `st.u32` of a 64-bit register keeps the low half.
        let info = &self.program.locations[address.location.index()];
        let ty = info.ty;
        // The state of an mbarrier is wider than its bytes.
        let is_data = info.role == LocationRole::Mbarrier && !half.tags.has(Tag::Mbarrier);
        let value = self.convert(if is_data { Type::U64 } else { ty }, value);
        let (generic, location) = (address.generic, address.location);
        let kind = EventKind::Write { address: target, generic, location, value, ty };
        let event = self.event(state, kind, half.tags, half.scope, deps)?;
        self.note_own_write(state, target, event);
        Ok(event)
    }

    fn load(
        &mut self,
        mut state: Box<State>,
        operation: &Operation,
        targets: &[AddressId],
        deps: Deps,
    ) -> Result<(), UnfoldError> {
        let Operation::Load { destination, ty, tags, scope, assume, .. } = operation else { return Ok(()) };
        let half = Half { ty: *ty, tags: *tags, scope: *scope };
        let (events, value) = self.read_events(&mut state, targets, half, &deps, &mut None)?;
        assume_value(&mut state, value.clone(), *assume);
        self.deliver(&mut state, *destination, value, &events, &deps.guard)?;
        self.proceed(state);
        Ok(())
    }

    fn store(
        &mut self,
        mut state: Box<State>,
        operation: &Operation,
        targets: &[AddressId],
        deps: Deps,
    ) -> Result<(), UnfoldError> {
        let Operation::Store { value, ty, tags, scope, .. } = operation else { return Ok(()) };
        let slot = self.operand(&state, *value);
        let deps = Deps { data: slot.reads, ..deps };
        let half = Half { ty: *ty, tags: *tags, scope: *scope };
        self.write_events(&mut state, targets, slot.value, half, &deps, &mut None)?;
        state.effects += u32::from(!self.is_own(targets));
        state.excused += u32::from(self.is_board(state.at, targets));
        self.proceed(state);
        Ok(())
    }

    fn vector_load(
        &mut self,
        mut state: Box<State>,
        operation: &Operation,
        targets: &[AddressId],
        deps: Deps,
    ) -> Result<(), UnfoldError> {
        let Operation::VectorLoad { destinations, ty, tags, scope, .. } = operation else { return Ok(()) };
        let half = Half { ty: *ty, tags: *tags, scope: *scope };
        let elements = self.elements(&state, targets, *ty)?;
        let mut group = None;
        for (targets, destination) in elements.iter().zip(destinations) {
            let (events, value) = self.read_events(&mut state, targets, half, &deps, &mut group)?;
            group = group.or(events.first().copied());
            self.deliver(&mut state, *destination, value, &events, &deps.guard)?;
        }
        self.join(&state, group);
        self.proceed(state);
        Ok(())
    }

    fn vector_store(
        &mut self,
        mut state: Box<State>,
        operation: &Operation,
        targets: &[AddressId],
        deps: Deps,
    ) -> Result<(), UnfoldError> {
        let Operation::VectorStore { values, ty, tags, scope, .. } = operation else { return Ok(()) };
        let half = Half { ty: *ty, tags: *tags, scope: *scope };
        let elements = self.elements(&state, targets, *ty)?;
        let mut group = None;
        for (targets, value) in elements.iter().zip(values) {
            let slot = self.operand(&state, *value);
            let deps = Deps { data: slot.reads, ..deps.clone() };
            let events = self.write_events(&mut state, targets, slot.value, half, &deps, &mut group)?;
            group = group.or(events.first().copied());
        }
        self.join(&state, group);
        state.effects += 1;
        self.proceed(state);
        Ok(())
    }

    pub(crate) fn proceed(&mut self, mut state: Box<State>) {
        state.at += 1;
        self.stack.push(state);
    }

    fn modify(
        &mut self,
        state: Box<State>,
        operation: &Operation,
        targets: &[AddressId],
        deps: Deps,
    ) -> Result<(), UnfoldError> {
        let Operation::ReadModifyWrite { update, .. } = operation else { return Ok(()) };
        let Update::CompareAndSwap { expected, new, on_failure } = update else {
            return self.unconditional(state, operation, targets, deps);
        };
        let compare = self.operand(&state, *expected);
        let mut data = compare.reads.clone();
        data.extend(self.operand(&state, *new).reads);
        let outcome = |on| Outcome { expected: compare.clone(), on, data: data.clone() };
        let new = self.operand(&state, *new).value;
        if new == compare.value && self.follows_rewrites(&state, targets) {
            self.swap(self.without_write(&state), operation, targets, &deps, outcome(Swap::Unchanged(Write::LeftOut)))?;
            self.swap(state.clone(), operation, targets, &deps, outcome(Swap::Unchanged(Write::Kept)))?;
        } else {
            self.swap(state.clone(), operation, targets, &deps, outcome(Swap::Success(new)))?;
        }
        match on_failure {
            FailedCas::NoWrite | FailedCas::Ordered { failed: None, .. } => {
                self.swap(state, operation, targets, &deps, outcome(Swap::Failure))
            }
            FailedCas::Ordered { failed: Some(_), .. } => {
                self.swap(state.clone(), operation, targets, &deps, outcome(Swap::Failure))?;
                self.swap(state, operation, targets, &deps, outcome(Swap::SpuriousFailure))
            }
            FailedCas::WritesOldValue => {
                if self.is_in_loop(&state) {
                    self.swap(self.without_write(&state), operation, targets, &deps, outcome(Swap::Failure))?;
                }
                self.swap(state, operation, targets, &deps, outcome(Swap::WriteBack))
            }
        }
    }

    /// One outcome of a compare-and-swap. Each has its own read event: only a read that is followed by its write has a
    /// partner.
    fn swap(
        &mut self,
        mut state: Box<State>,
        operation: &Operation,
        targets: &[AddressId],
        deps: &Deps,
        outcome: Outcome,
    ) -> Result<(), UnfoldError> {
        let Operation::ReadModifyWrite { destination, update, ty, read_tags, write_tags, scope, assume, .. } =
            operation
        else {
            return Ok(());
        };
        let copy = |data: Reads| Deps { address: deps.address.clone(), data, guard: deps.guard.clone() };
        let success = matches!(outcome.on, Swap::Success(_) | Swap::Unchanged(_));
        let tags = match update {
            Update::CompareAndSwap { on_failure: FailedCas::Ordered { tags, .. }, .. } if !success => *tags,
            _ => *read_tags,
        };
        let half = Half { ty: *ty, tags, scope: *scope };
        let (events, mut old) = self.read_events(&mut state, targets, half, &copy(Reads::new()), &mut None)?;
        let equal = fold::binary(BinaryOperator::Equal, *ty, old.clone(), outcome.expected.value.clone());
        let is_equal = success || matches!(outcome.on, Swap::SpuriousFailure);
        self.constrain(&mut state, if is_equal { equal } else { fold::is_false(equal) });
        if matches!(outcome.on, Swap::SpuriousFailure) {
            // The same value: a loop that tries again with it is where it was.
            old = outcome.expected.value;
            state.spurious = Some(state.path.len());
        }
        if let Some(failed) = def_use::spurious(update) {
            let reads = events.iter().copied().chain(deps.guard.iter().copied()).collect();
            self.set(&mut state, failed, Slot { value: Expression::constant(i128::from(!success)), reads })?;
        }
        assume_value(&mut state, old.clone(), *assume);
        if matches!(outcome.on, Swap::Failure) {
            self.omit_swap(&mut state, targets, &outcome.expected.reads);
        }
        let written = match outcome.on {
            Swap::Success(new) => {
                state.effects += 1;
                Some(new)
            }
            Swap::WriteBack | Swap::Unchanged(Write::Kept) => Some(old.clone()),
            Swap::Failure | Swap::SpuriousFailure | Swap::Unchanged(Write::LeftOut) => None,
        };
        if let Some(written) = written {
            let data = outcome.data.into_iter().chain(events.iter().copied()).collect();
            let half = Half { tags: *write_tags, ..half };
            let writes = self.write_events(&mut state, targets, written, half, &copy(data), &mut None)?;
            events.iter().zip(&writes).for_each(|(read, write)| self.pair(*read, *write));
        }
        self.deliver(&mut state, *destination, old, &events, &deps.guard)?;
        self.proceed(state);
        Ok(())
    }

    fn unconditional(
        &mut self,
        state: Box<State>,
        operation: &Operation,
        targets: &[AddressId],
        deps: Deps,
    ) -> Result<(), UnfoldError> {
        let Operation::ReadModifyWrite { update, .. } = operation else { return Ok(()) };
        if !silent_updates::may_rewrite(update) || !self.follows_rewrites(&state, targets) {
            return self.update(state, operation, targets, &deps, None);
        }
        self.update(self.without_write(&state), operation, targets, &deps, Some(Effect::Same(Write::LeftOut)))?;
        self.update(state.clone(), operation, targets, &deps, Some(Effect::Same(Write::Kept)))?;
        self.update(state, operation, targets, &deps, Some(Effect::Another))
    }

    /// A read-modify-write that always writes; of those inside a loop, one that writes what it read or another value.
    fn update(
        &mut self,
        mut state: Box<State>,
        operation: &Operation,
        targets: &[AddressId],
        deps: &Deps,
        effect: Option<Effect>,
    ) -> Result<(), UnfoldError> {
        let Operation::ReadModifyWrite { destination, update, ty, read_tags, write_tags, scope, assume, .. } =
            operation
        else {
            return Ok(());
        };
        let copy = |data: Reads| Deps { address: deps.address.clone(), data, guard: deps.guard.clone() };
        let half = Half { ty: *ty, tags: *read_tags, scope: *scope };
        let (events, old) = self.read_events(&mut state, targets, half, &copy(Reads::new()), &mut None)?;
        assume_value(&mut state, old.clone(), *assume);
        let operand = self.operand(&state, operand_of(update));
        let mut data = operand.reads;
        if !matches!(update, Update::Exchange(_)) {
            data.extend(&events);
        }
        let value = updated(update, *ty, old.clone(), operand.value);
        if let Some(effect) = effect
            && !self.has_effect(&mut state, *ty, (&old, &value), effect)
        {
            return Ok(());
        }
        if effect != Some(Effect::Same(Write::LeftOut)) {
            let half = Half { tags: *write_tags, ..half };
            let writes = self.write_events(&mut state, targets, value, half, &copy(data), &mut None)?;
            events.iter().zip(&writes).for_each(|(read, write)| self.pair(*read, *write));
        }
        if !matches!(effect, Some(Effect::Same(_))) {
            state.effects += 1;
        }
        self.deliver(&mut state, *destination, old, &events, &deps.guard)?;
        self.proceed(state);
        Ok(())
    }

    pub(crate) fn pair(&mut self, read: EventId, write: EventId) {
        self.unfolding.events[read.index()].rmw_partner = Some(write);
        self.unfolding.events[write.index()].rmw_partner = Some(read);
    }

    pub(crate) fn deliver(
        &mut self,
        state: &mut State,
        destination: Option<crate::ids::RegisterId>,
        value: Expression,
        events: &[EventId],
        guard: &Reads,
    ) -> Result<(), UnfoldError> {
        match destination {
            None => Ok(()),
            Some(destination) => {
                let reads = guard.iter().chain(events).copied().collect();
                self.set(state, destination, Slot { value, reads })
            }
        }
    }
}

/// How one access is made.
#[derive(Copy, Clone)]
pub(crate) struct Half {
    pub(crate) ty: Type,
    pub(crate) tags: Tags,
    pub(crate) scope: Option<Scope>,
}

struct Outcome {
    expected: Slot,
    on: Swap,
    /// Reads behind the operands.
    data: Reads,
}

enum Swap {
    Success(Expression),
    /// Success that writes the value that was there.
    Unchanged(Write),
    Failure,
    /// Failure of a weak one though the values are equal.
    SpuriousFailure,
    /// Failure in a dialect where the old value is written back.
    WriteBack,
}

fn assume_value(state: &mut State, value: Expression, assumed: Option<Value>) {
    if let Some(assumed) = assumed {
        let equal = fold::binary(BinaryOperator::Equal, Type::UNTYPED, value, Expression::Constant(assumed));
        state.assumptions.push(equal);
    }
}

fn operand_of(update: &Update) -> Operand {
    match update {
        Update::Exchange(operand)
        | Update::Apply(_, operand)
        | Update::Increment(operand)
        | Update::Decrement(operand)
        | Update::CompareAndSwap { new: operand, .. } => *operand,
    }
}

/// What an RMW writes (PTX ISA 9.7.15.5 atom).
fn updated(update: &Update, ty: Type, old: Expression, operand: Expression) -> Expression {
    use BinaryOperator as Op;
    let constant = Expression::constant;
    match update {
        Update::Exchange(_) | Update::CompareAndSwap { .. } => operand,
        Update::Apply(operator, _) => fold::binary(*operator, ty, old, operand),
        Update::Increment(_) => {
            let wraps = fold::binary(Op::GreaterEqual, ty, old.clone(), operand);
            fold::select(wraps, constant(0), fold::binary(Op::Add, ty, old, constant(1)))
        }
        Update::Decrement(_) => {
            let is_zero = fold::binary(Op::Equal, ty, old.clone(), constant(0));
            let is_above = fold::binary(Op::Greater, ty, old.clone(), operand.clone());
            let wraps = fold::binary(Op::Or, Type::UNTYPED, is_zero, is_above);
            fold::select(wraps, fold::convert(ty, operand), fold::binary(Op::Subtract, ty, old, constant(1)))
        }
    }
}
