//! Which addresses a register may hold: every value it may have, while those are few, else the variables they may lie in.
//!
//! A register's values at an instruction are those of the definitions that reach it. The result only decides how fine memory
//! is cut, and the unfolding refuses an access that does not fit the cut, so that missing a value costs an answer and never
//! makes a wrong one.

use fencepost_syntax::limits;
use fencepost_syntax::sorted::SortedSet;

use crate::ids::RegisterId;
use crate::lower::builder::ThreadBuilder;
use crate::lower::cut::definitions::Definitions;
use crate::lower::cut::growing_set::{Operands, add, ascending};
use crate::lower::cut::touch::touches;
use crate::lower::names::{Names, VariableId};
use crate::program::def_use::{defined, used};
use crate::program::{AddressOperand, Initial, Instruction, LocalValue, Operand, Operation, Space, Update};
use crate::value::Value;
use crate::value::expression::BinaryOperator;

/// More values than this are not listed.
const MOST_VALUES: usize = 64;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// Ascending.
    Values(Vec<i128>),
    /// Some address in these variables, or no address.
    Within(SortedSet<VariableId>),
}

impl Reach {
    fn nothing() -> Reach {
        Reach::Values(Vec::new())
    }

    fn one(value: i128) -> Reach {
        Reach::Values(vec![value])
    }

    fn variables(&self, areas: &Areas) -> SortedSet<VariableId> {
        match self {
            Reach::Values(values) => values.iter().filter_map(|value| areas.at(*value)).collect(),
            Reach::Within(variables) => variables.clone(),
        }
    }

    /// Whether it is more then.
    fn join(&mut self, other: &Reach, areas: &Areas) -> bool {
        if let (Reach::Values(values), Reach::Values(others)) = (&mut *self, other) {
            let grown = add(values, others);
            self.bound(areas);
            return grown;
        }
        let joined = self.variables(areas).union(&other.variables(areas)).copied().collect();
        let joined = Reach::Within(joined);
        let grown = *self != joined;
        *self = joined;
        grown
    }

    fn bound(&mut self, areas: &Areas) {
        if matches!(self, Reach::Values(values) if values.len() > MOST_VALUES) {
            *self = Reach::Within(self.variables(areas));
        }
    }
}

/// Where the variables lie, in their order.
#[derive(Clone, Debug, Default)]
struct Areas(Vec<(i128, i128)>);

impl Areas {
    fn new(names: &Names) -> Areas {
        Areas(names.areas().collect())
    }

    /// The variable with this address.
    fn at(&self, value: i128) -> Option<VariableId> {
        self.0.iter().position(|(start, end)| (*start..*end).contains(&value)).map(VariableId)
    }
}

/// The values of every register of every thread.
pub(crate) struct Reaches {
    threads: Vec<Registers>,
    areas: Areas,
    /// The variables whose addresses may lie in memory.
    held: SortedSet<VariableId>,
}

/// An instruction: of which thread, and where in its code.
#[derive(Copy, Clone, Debug)]
pub(crate) struct At {
    pub(crate) thread: usize,
    pub(crate) code: usize,
}

/// What each definition of each register of a thread may be.
#[derive(Clone, Debug)]
struct Registers {
    definitions: Definitions,
    values: Vec<Vec<Reach>>,
    /// When each register last got something new.
    changed: Vec<u64>,
}

impl Registers {
    fn new(names: &Names, thread: &ThreadBuilder) -> Registers {
        let definitions = Definitions::new(&thread.code);
        let of = |(index, first): (usize, Reach)| {
            let count = definitions.count(RegisterId::new(index));
            std::iter::once(first).chain((1..count).map(|_| Reach::nothing())).collect()
        };
        let values: Vec<Vec<Reach>> = initial(names, thread).into_iter().enumerate().map(of).collect();
        let changed = vec![1; values.len()];
        Registers { definitions, values, changed }
    }

    fn at(&self, areas: &Areas, register: RegisterId, code: usize) -> Reach {
        let reaching = (0..).zip(&self.values[register.index()]);
        let mut reaching = reaching.filter(|(number, _)| self.definitions.reaches(register, *number, code));
        let mut all = reaching.next().map_or_else(Reach::nothing, |(_, value)| value.clone());
        for (_, value) in reaching {
            all.join(value, areas);
        }
        all
    }

    /// Whether one of them got something new since then.
    fn have_changed(&self, registers: &[RegisterId], since: u64) -> bool {
        registers.iter().any(|register| self.changed[register.index()] > since)
    }
}

impl Reaches {
    /// Of no register: where nobody will ask.
    pub(crate) fn of_none() -> Reaches {
        Reaches { threads: Vec::new(), areas: Areas::default(), held: SortedSet::new() }
    }

    /// Every instruction in turn, again and again until nothing is new. One that is about nothing that changed since its last
    /// turn has nothing new to say.
    pub(crate) fn new(names: &Names, threads: &[Box<ThreadBuilder>]) -> Reaches {
        let areas = Areas::new(names);
        let registers = threads.iter().map(|thread| Registers::new(names, thread)).collect();
        let mut reaches = Reaches { threads: registers, areas, held: SortedSet::new() };
        let mut memory = Memory::new(names, &reaches.areas);
        let mut turns: Vec<Vec<Turn<'_>>> =
            threads.iter().map(|own| own.code.iter().map(Turn::new).collect()).collect();
        let mut now = 1;
        loop {
            let before = now;
            reaches.note_written(names, &mut turns, &mut memory, &mut now);
            for (thread, own) in turns.iter_mut().enumerate() {
                for (code, turn) in own.iter_mut().enumerate() {
                    if limits::tick() {
                        return reaches;
                    }
                    if reaches.is_due(thread, turn, &memory) {
                        turn.last = now;
                        reaches.take(names, At { thread, code }, turn, &mut memory, &mut now);
                    }
                }
            }
            if now == before {
                reaches.held = reaches.put_into_memory(names, &turns);
                return reaches;
            }
        }
    }

    fn is_due(&self, thread: usize, turn: &Turn<'_>, memory: &Memory) -> bool {
        let of_memory = !matches!(turn.operation, Operation::Local { .. }) && !turn.defined.is_empty();
        turn.last == 0
            || self.threads[thread].have_changed(&turn.used, turn.last)
            || of_memory && memory.changed > turn.last
    }

    fn take(&mut self, names: &Names, at: At, turn: &mut Turn<'_>, memory: &mut Memory, now: &mut u64) {
        let known = memory.held.len();
        memory.held.extend(self.stored(names, at, turn));
        if memory.held.len() > known {
            *now += 1;
            memory.changed = *now;
        }
        if turn.defined.is_empty() {
            return;
        }
        let held = self.held(names, at, turn.operation, &memory.written);
        let value = held.unwrap_or_else(|| self.result(names, at, turn, &memory.held));
        for register in turn.defined.iter().copied() {
            let own = &mut self.threads[at.thread];
            let number = own.definitions.number(register, at.code);
            if own.values[register.index()][number].join(&value, &self.areas) {
                *now += 1;
                own.changed[register.index()] = *now;
            }
        }
    }

    /// The variables that a register points to, if code alone decides it: what comes from memory may be anything.
    pub(crate) fn pointed_to(&self, at: At, register: RegisterId) -> SortedSet<VariableId> {
        let Some(own) = self.threads.get(at.thread) else { return SortedSet::new() };
        match own.at(&self.areas, register, at.code) {
            Reach::Within(variables) if !variables.is_disjoint(&self.held) => SortedSet::new(),
            reach => reach.variables(&self.areas),
        }
    }

    pub(crate) fn address(&self, names: &Names, at: At, address: &AddressOperand) -> Reach {
        match address {
            AddressOperand::Static(address) => Reach::one(names.value(*address)),
            AddressOperand::Register(register) => self.threads[at.thread].at(&self.areas, *register, at.code),
        }
    }

    pub(crate) fn operand(&self, names: &Names, at: At, operand: Operand) -> Reach {
        match operand {
            Operand::Register(register) => self.threads[at.thread].at(&self.areas, register, at.code),
            Operand::Constant(Value(value)) => Reach::one(value),
            Operand::Address(address) => Reach::one(names.value(address)),
        }
    }

    /// The variables whose addresses an operation may put into memory.
    fn stored(&self, names: &Names, at: At, turn: &Turn<'_>) -> SortedSet<VariableId> {
        let of = |operand: &Operand| self.operand(names, at, *operand).variables(&self.areas);
        match turn.operation {
            Operation::Store { value, .. } => of(value),
            Operation::VectorStore { values, .. } => values.iter().flat_map(of).collect(),
            Operation::ReadModifyWrite { update, .. } => match update {
                Update::Exchange(value)
                | Update::Apply(_, value)
                | Update::Increment(value)
                | Update::Decrement(value)
                | Update::CompareAndSwap { new: value, .. } => of(value),
            },
            Operation::Local { .. } | Operation::Load { .. } | Operation::VectorLoad { .. } => SortedSet::new(),
            _ => turn.used.iter().flat_map(|register| of(&Operand::Register(*register))).collect(),
        }
    }

    /// The variables whose addresses lie in memory: from the start, or because an operation has one among its values. That an
    /// operation goes somewhere does not put the address there.
    fn put_into_memory(&self, names: &Names, turns: &[Vec<Turn<'_>>]) -> SortedSet<VariableId> {
        let mut found = Memory::new(names, &self.areas).held;
        for (thread, own) in turns.iter().enumerate() {
            for (code, turn) in own.iter().enumerate() {
                let at = At { thread, code };
                if matches!(
                    turn.operation,
                    Operation::Load { .. }
                        | Operation::VectorLoad { .. }
                        | Operation::Local { .. }
                        | Operation::Store { .. }
                        | Operation::VectorStore { .. }
                        | Operation::ReadModifyWrite { .. }
                ) {
                    found.extend(self.stored(names, at, turn));
                    continue;
                }
                let values = turn.used.iter().filter(|register| !turn.pointers.contains(register));
                let values = values.map(|register| self.operand(names, at, Operand::Register(*register)));
                found.extend(values.flat_map(|reach| reach.variables(&self.areas)));
            }
        }
        found
    }

    /// Notes the variables that some operation may write.
    fn note_written(&self, names: &Names, turns: &mut [Vec<Turn<'_>>], memory: &mut Memory, now: &mut u64) {
        let known = memory.written.len();
        for (thread, own) in turns.iter_mut().enumerate() {
            for (code, turn) in own.iter_mut().enumerate() {
                let is_moved = self.threads[thread].have_changed(&turn.pointers, turn.last_written);
                if turn.addresses.is_empty() || turn.last_written > 0 && !is_moved {
                    continue;
                }
                turn.last_written = *now;
                let at = At { thread, code };
                let touched = turn.addresses.iter().map(|address| self.address(names, at, address));
                memory.written.extend(touched.flat_map(|reach| reach.variables(&self.areas)));
            }
        }
        if memory.written.len() > known {
            *now += 1;
            memory.changed = *now;
        }
    }

    /// What a load returns of memory that keeps its initial values: parameters, and pointers that nothing writes.
    fn held(&self, names: &Names, at: At, operation: &Operation, written: &SortedSet<VariableId>) -> Option<Reach> {
        let (address, ty, count) = match operation {
            Operation::Load { address, ty, .. } => (address, *ty, 1),
            Operation::VectorLoad { address, ty, destinations, .. } => (address, *ty, destinations.len() as i128),
            _ => return None,
        };
        let Reach::Values(values) = self.address(names, at, address) else { return None };
        let mut found = SortedSet::new();
        for value in values {
            let (variable, offset) = names.at(value)?;
            let entry = names.name_of(variable);
            let is_given = matches!(entry.space, Some((Space::Param | Space::Const, _))) || entry.is_pointer;
            let is_whole = offset % entry.step == 0 && i128::from(ty.bits / 8) == entry.step;
            if !is_given || !is_whole || entry.given.is_none() || written.contains(&variable) {
                return None;
            }
            let first = offset / entry.step;
            found.extend((first..first + count).map(|element| ty.wrap(entry.initial_at(element)).0));
        }
        let mut found = Reach::Values(found.into_iter().collect());
        found.bound(&self.areas);
        Some(found)
    }

    /// What an operation may put into the registers it writes, less what it was known to put there before.
    fn result(&self, names: &Names, at: At, turn: &mut Turn<'_>, memory: &SortedSet<VariableId>) -> Reach {
        let Operation::Local { ty, value, .. } = turn.operation else { return Reach::Within(memory.clone()) };
        let of = |operand: &Operand| self.operand(names, at, *operand);
        match value {
            LocalValue::Operand(operand) => map(of(operand), |value| ty.wrap(value)),
            LocalValue::Unary(operator, operand) => map(of(operand), |value| operator.apply(*ty, value)),
            LocalValue::Binary(operator, left, right) => match (of(left), of(right)) {
                (Reach::Values(left), Reach::Values(right)) if left.len() * right.len() <= MOST_VALUES * 4 => {
                    let values = turn.operands.new_pairs(left, right).into_iter().filter_map(|(left, right)| {
                        let sum = operator.apply(*ty, Value(left), Value(right)).0;
                        stays(&self.areas, *operator, (left, right), sum).then_some(sum)
                    });
                    let mut values = Reach::Values(ascending(values));
                    values.bound(&self.areas);
                    values
                }
                (left, right) => {
                    let (left, right) = (left.variables(&self.areas), right.variables(&self.areas));
                    Reach::Within(left.union(&right).copied().collect())
                }
            },
            LocalValue::Select { then, otherwise, .. } => {
                let mut either = map(of(then), |value| ty.wrap(value));
                either.join(&map(of(otherwise), |value| ty.wrap(value)), &self.areas);
                either
            }
        }
    }
}

/// What is known of memory.
struct Memory {
    /// The variables whose addresses may lie in it.
    held: SortedSet<VariableId>,
    /// Those that some operation may write.
    written: SortedSet<VariableId>,
    /// When that last became more.
    changed: u64,
}

impl Memory {
    fn new(names: &Names, areas: &Areas) -> Memory {
        let pointers = names.all().map(|(_, _, name)| name).filter(|name| name.is_pointer);
        let held = pointers.flat_map(|name| name.elements.iter().chain([&name.initial]));
        let held = held.filter_map(|value| areas.at(value.0)).collect();
        Memory { held, written: SortedSet::new(), changed: 1 }
    }
}

/// An instruction whose turn comes again and again.
struct Turn<'p> {
    operation: &'p Operation,
    used: Vec<RegisterId>,
    defined: Vec<RegisterId>,
    /// When it last had its turn; 0: never.
    last: u64,
    operands: Operands,
    /// What it may write, the registers that say where, and when these were last looked at.
    addresses: Vec<&'p AddressOperand>,
    pointers: Vec<RegisterId>,
    last_written: u64,
}

impl<'p> Turn<'p> {
    fn new(instruction: &'p Instruction) -> Turn<'p> {
        let operation = &instruction.operation;
        let reads = matches!(operation, Operation::Load { .. } | Operation::VectorLoad { .. });
        let touched = touches(operation).all;
        let addresses: Vec<&AddressOperand> = touched.iter().filter(|_| !reads).map(|touch| touch.address).collect();
        let pointer = |address: &&AddressOperand| match address {
            AddressOperand::Register(register) => Some(*register),
            AddressOperand::Static(_) => None,
        };
        let pointers = addresses.iter().filter_map(pointer).collect();
        let (used, defined) = (registers(operation), defined(operation));
        Turn { operation, used, defined, last: 0, operands: Operands::default(), addresses, pointers, last_written: 0 }
    }
}

/// A pointer that is moved stays in its variable: what lies beyond its end is not meant, though a register that is
/// counted up, followed without its loop, would get there.
fn stays(areas: &Areas, operator: BinaryOperator, (left, right): (i128, i128), sum: i128) -> bool {
    match (operator, areas.at(left), areas.at(right)) {
        (BinaryOperator::Add | BinaryOperator::Subtract, Some(variable), None)
        | (BinaryOperator::Add, None, Some(variable)) => areas.at(sum) == Some(variable),
        _ => true,
    }
}

fn map(reach: Reach, change: impl Fn(Value) -> Value) -> Reach {
    match reach {
        Reach::Values(values) => Reach::Values(ascending(values.into_iter().map(|value| change(Value(value)).0))),
        within => within,
    }
}

/// What registers hold before any instruction. One that code writes first holds nothing else worth knowing.
fn initial(names: &Names, thread: &ThreadBuilder) -> Vec<Reach> {
    let written: SortedSet<RegisterId> = thread.code.iter().flat_map(|code| defined(&code.operation)).collect();
    let start = |id: RegisterId| match thread.initial(id) {
        Initial::Address(address) => Reach::one(names.value(address)),
        Initial::Value(_) if written.contains(&id) && !thread.is_initialised(id) => Reach::nothing(),
        Initial::Value(Value(value)) => Reach::one(value),
    };
    (0..thread.register_count()).map(|index| start(RegisterId::new(index))).collect()
}

/// The registers an operation reads.
fn registers(operation: &Operation) -> Vec<RegisterId> {
    used(&Instruction { operation: operation.clone(), span: fencepost_syntax::Span::default(), guard: None })
}
