//! Which addresses a register may hold: every value it may have, while those are few, else the variables they may lie in.
//!
//! A register's values at an instruction are those of the definitions that reach it. The result only decides how fine memory
//! is cut, and the unfolding refuses an access that does not fit the cut, so that missing a value costs an answer and never
//! makes a wrong one.

use std::collections::BTreeSet;

use crate::expression::BinaryOperator;
use crate::ids::RegisterId;
use crate::lower::ThreadBuilder;
use crate::lower::definitions::Definitions;
use crate::lower::names::{Names, VariableId};
use crate::lower::touch::touches;
use crate::program::{AddressOperand, Initial, LocalValue, Operand, Operation, Space, Update};
use crate::unfold::{defined, used};
use crate::value::Value;

/// More values than this are not listed.
const MOST_VALUES: usize = 64;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    Values(BTreeSet<i128>),
    /// Some address in these variables, or no address.
    Within(BTreeSet<VariableId>),
}

impl Reach {
    fn nothing() -> Reach {
        Reach::Values(BTreeSet::new())
    }

    fn one(value: i128) -> Reach {
        Reach::Values(BTreeSet::from([value]))
    }

    fn variables(&self, names: &Names) -> BTreeSet<VariableId> {
        match self {
            Reach::Values(values) => values.iter().filter_map(|value| names.at(*value)).map(|(id, _)| id).collect(),
            Reach::Within(variables) => variables.clone(),
        }
    }

    fn join(self, other: Reach, names: &Names) -> Reach {
        match (self, other) {
            (Reach::Values(mut values), Reach::Values(others)) => {
                values.extend(others);
                Reach::Values(values).bounded(names)
            }
            (one, other) => Reach::Within(one.variables(names).union(&other.variables(names)).copied().collect()),
        }
    }

    fn bounded(self, names: &Names) -> Reach {
        match &self {
            Reach::Values(values) if values.len() > MOST_VALUES => Reach::Within(self.variables(names)),
            _ => self,
        }
    }
}

/// The values of every register of every thread.
pub(crate) struct Reaches {
    threads: Vec<Registers>,
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
}

impl Registers {
    fn new(names: &Names, thread: &ThreadBuilder) -> Registers {
        let definitions = Definitions::new(&thread.code);
        let of = |(index, first): (usize, Reach)| {
            let count = definitions.count(RegisterId::new(index));
            std::iter::once(first).chain((1..count).map(|_| Reach::nothing())).collect()
        };
        let values = initial(names, thread).into_iter().enumerate().map(of).collect();
        Registers { definitions, values }
    }

    fn at(&self, names: &Names, register: RegisterId, code: usize) -> Reach {
        let reaching = (0..).zip(&self.values[register.index()]);
        let reaching = reaching.filter(|(number, _)| self.definitions.reaches(register, *number, code));
        reaching.fold(Reach::nothing(), |all, (_, value)| all.join(value.clone(), names))
    }
}

impl Reaches {
    /// Of no register: where nobody will ask.
    pub(crate) fn of_none() -> Reaches {
        Reaches { threads: Vec::new() }
    }

    pub(crate) fn new(names: &Names, threads: &[ThreadBuilder]) -> Reaches {
        let mut reaches = Reaches { threads: threads.iter().map(|thread| Registers::new(names, thread)).collect() };
        let pointers = names.by_name.values().filter(|name| name.is_pointer);
        let held = pointers.flat_map(|name| name.elements.iter().chain([&name.initial]));
        let mut memory: BTreeSet<VariableId> =
            held.filter_map(|value| names.at(value.0)).map(|(variable, _)| variable).collect();
        loop {
            let (size, mut changed) = (memory.len(), false);
            let written = reaches.written(names, threads);
            for (thread, own) in threads.iter().enumerate() {
                for (code, instruction) in own.code.iter().enumerate() {
                    let (at, operation) = (At { thread, code }, &instruction.operation);
                    memory.extend(reaches.stored(names, at, operation));
                    let held = reaches.held(names, at, operation, &written);
                    let value = held.unwrap_or_else(|| reaches.result(names, at, operation, &memory));
                    for register in defined(operation) {
                        changed |= reaches.define(names, at, register, &value);
                    }
                }
            }
            if !changed && memory.len() == size {
                return reaches;
            }
        }
    }

    /// Whether the definition may be something new.
    fn define(&mut self, names: &Names, at: At, register: RegisterId, value: &Reach) -> bool {
        let own = &mut self.threads[at.thread];
        let number = own.definitions.number(register, at.code);
        let slot = &mut own.values[register.index()][number];
        let joined = slot.clone().join(value.clone(), names);
        let changed = *slot != joined;
        *slot = joined;
        changed
    }

    pub(crate) fn address(&self, names: &Names, at: At, address: &AddressOperand) -> Reach {
        match address {
            AddressOperand::Static(address) => Reach::one(names.value(*address)),
            AddressOperand::Register(register) => self.threads[at.thread].at(names, *register, at.code),
        }
    }

    pub(crate) fn operand(&self, names: &Names, at: At, operand: Operand) -> Reach {
        match operand {
            Operand::Register(register) => self.threads[at.thread].at(names, register, at.code),
            Operand::Constant(Value(value)) => Reach::one(value),
            Operand::Address(address) => Reach::one(names.value(address)),
        }
    }

    /// The variables whose addresses an operation may put into memory.
    fn stored(&self, names: &Names, at: At, operation: &Operation) -> BTreeSet<VariableId> {
        let of = |operand: &Operand| self.operand(names, at, *operand).variables(names);
        match operation {
            Operation::Store { value, .. } => of(value),
            Operation::VectorStore { values, .. } => values.iter().flat_map(of).collect(),
            Operation::ReadModifyWrite { update, .. } => match update {
                Update::Exchange(value)
                | Update::Apply(_, value)
                | Update::Increment(value)
                | Update::Decrement(value)
                | Update::CompareAndSwap { new: value, .. } => of(value),
            },
            Operation::Local { .. } | Operation::Load { .. } | Operation::VectorLoad { .. } => BTreeSet::new(),
            other => registers(other).iter().flat_map(|register| of(&Operand::Register(*register))).collect(),
        }
    }

    /// The variables that some operation may write.
    fn written(&self, names: &Names, threads: &[ThreadBuilder]) -> BTreeSet<VariableId> {
        let mut written = BTreeSet::new();
        for (thread, own) in threads.iter().enumerate() {
            for (code, instruction) in own.code.iter().enumerate() {
                if matches!(instruction.operation, Operation::Load { .. } | Operation::VectorLoad { .. }) {
                    continue;
                }
                let at = At { thread, code };
                let touched = touches(&instruction.operation).all;
                written
                    .extend(touched.iter().flat_map(|touch| self.address(names, at, touch.address).variables(names)));
            }
        }
        written
    }

    /// What a load returns of memory that keeps its initial values: parameters, and pointers that nothing writes.
    fn held(&self, names: &Names, at: At, operation: &Operation, written: &BTreeSet<VariableId>) -> Option<Reach> {
        let (address, ty, count) = match operation {
            Operation::Load { address, ty, .. } => (address, *ty, 1),
            Operation::VectorLoad { address, ty, destinations, .. } => (address, *ty, destinations.len() as i128),
            _ => return None,
        };
        let Reach::Values(values) = self.address(names, at, address) else { return None };
        let mut found = BTreeSet::new();
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
        Some(Reach::Values(found).bounded(names))
    }

    /// What an operation may put into the registers it writes.
    fn result(&self, names: &Names, at: At, operation: &Operation, memory: &BTreeSet<VariableId>) -> Reach {
        let Operation::Local { ty, value, .. } = operation else { return Reach::Within(memory.clone()) };
        let of = |operand: &Operand| self.operand(names, at, *operand);
        match value {
            LocalValue::Operand(operand) => map(of(operand), |value| ty.wrap(value)),
            LocalValue::Unary(operator, operand) => map(of(operand), |value| operator.apply(*ty, value)),
            LocalValue::Binary(operator, left, right) => match (of(left), of(right)) {
                (Reach::Values(left), Reach::Values(right)) if left.len() * right.len() <= MOST_VALUES * 4 => {
                    let pairs = left.iter().flat_map(|left| right.iter().map(move |right| (*left, *right)));
                    let values = pairs.filter_map(|(left, right)| {
                        let sum = operator.apply(*ty, Value(left), Value(right)).0;
                        stays(names, *operator, (left, right), sum).then_some(sum)
                    });
                    Reach::Values(values.collect()).bounded(names)
                }
                (left, right) => Reach::Within(left.variables(names).union(&right.variables(names)).copied().collect()),
            },
            LocalValue::Select { then, otherwise, .. } => {
                map(of(then), |value| ty.wrap(value)).join(map(of(otherwise), |value| ty.wrap(value)), names)
            }
        }
    }
}

/// A pointer that is moved stays in its variable: what lies beyond its end is not meant, though a register that is
/// counted up, followed without its loop, would get there.
fn stays(names: &Names, operator: BinaryOperator, (left, right): (i128, i128), sum: i128) -> bool {
    let of = |value: i128| names.at(value).map(|(variable, _)| variable);
    match (operator, of(left), of(right)) {
        (BinaryOperator::Add | BinaryOperator::Subtract, Some(variable), None)
        | (BinaryOperator::Add, None, Some(variable)) => of(sum) == Some(variable),
        _ => true,
    }
}

fn map(reach: Reach, change: impl Fn(Value) -> Value) -> Reach {
    match reach {
        Reach::Values(values) => Reach::Values(values.into_iter().map(|value| change(Value(value)).0).collect()),
        within => within,
    }
}

/// What registers hold before any instruction. One that code writes first holds nothing else worth knowing.
fn initial(names: &Names, thread: &ThreadBuilder) -> Vec<Reach> {
    let written: BTreeSet<RegisterId> = thread.code.iter().flat_map(|code| defined(&code.operation)).collect();
    let start = |id: RegisterId| match thread.initial(id) {
        Initial::Address(address) => Reach::one(names.value(address)),
        Initial::Value(_) if written.contains(&id) && !thread.is_initialised(id) => Reach::nothing(),
        Initial::Value(Value(value)) => Reach::one(value),
    };
    (0..thread.register_count()).map(|index| start(RegisterId::new(index))).collect()
}

/// The registers an operation reads.
fn registers(operation: &Operation) -> Vec<RegisterId> {
    used(&crate::program::Instruction {
        operation: operation.clone(),
        span: fencepost_syntax::Span::default(),
        guard: None,
    })
}
