//! Programs on a machine with one memory: every interleaving, one instruction at a time, straight from
//! [`Program`]. Shares nothing with the unfolding (no events, no traces, no folding, no loop rules) nor with its
//! arithmetic, so that what it finds can be held against the outcomes the engines find under sequential consistency.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_program::RegisterId;
use fencepost_program::expression::{BinaryOperator as Op, UnaryOperator};
use fencepost_program::program::{
    AddressOperand, Barrier, BarrierKind, FailedCas, Initial, LocalValue, Operand, Operation, Place, Polarity, Program,
    ReductionOperation, Update,
};
use fencepost_program::unfolding::FinalState;
use fencepost_program::value::{Type, Value};
use fencepost_syntax::litmus::Comparison;

/// More states than this are not explored.
const MOST_STATES: usize = 60_000;

/// One thread's arrival at a barrier.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Arrival {
    thread: usize,
    waits: bool,
    count: Option<i128>,
    /// What it contributes to a reduction.
    given: Option<i128>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct State {
    at: Vec<usize>,
    registers: Vec<Vec<i128>>,
    memory: Vec<i128>,
    waiting: Vec<bool>,
    arrived: BTreeMap<(Place, i128), Vec<Arrival>>,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct Outcomes {
    pub(crate) terminating: BTreeSet<FinalState>,
    /// Nobody can move, and not everybody ended.
    pub(crate) blocked: BTreeSet<FinalState>,
}

/// None if there are too many states, or an access goes to no location.
pub(crate) fn outcomes(program: &Program) -> Option<Outcomes> {
    let start = start(program);
    let mut seen = BTreeSet::from([start.clone()]);
    let mut work = vec![start];
    let mut found = Outcomes::default();
    while let Some(state) = work.pop() {
        let mut moved = false;
        for thread in 0..program.threads.len() {
            if state.waiting[thread] || has_ended(program, &state, thread) {
                continue;
            }
            moved = true;
            let mut next = state.clone();
            step(program, &mut next, thread)?;
            complete(program, &mut next);
            if seen.insert(next.clone()) {
                work.push(next);
            }
        }
        if seen.len() > MOST_STATES {
            return None;
        }
        if !moved {
            let ended = !state.waiting.contains(&true);
            let set = if ended { &mut found.terminating } else { &mut found.blocked };
            set.insert(last(&state));
        }
    }
    Some(found)
}

fn has_ended(program: &Program, state: &State, thread: usize) -> bool {
    state.at[thread] >= program.threads[thread].code.len()
}

fn last(state: &State) -> FinalState {
    let values = |values: &Vec<i128>| values.iter().map(|value| Value(*value)).collect();
    FinalState { registers: state.registers.iter().map(values).collect(), memory: values(&state.memory) }
}

fn start(program: &Program) -> State {
    let count = program.threads.len();
    let initial = |register: &fencepost_program::program::Register| {
        let value = match register.initial {
            Initial::Value(value) => value.0,
            Initial::Address(address) => program.addresses[address.index()].value.0,
        };
        wrap(register.ty, value)
    };
    State {
        at: vec![0; count],
        registers: program.threads.iter().map(|thread| thread.registers.iter().map(initial).collect()).collect(),
        memory: program.locations.iter().map(|location| wrap(location.ty, location.initial.0)).collect(),
        waiting: vec![false; count],
        arrived: BTreeMap::new(),
    }
}

/// The number with the same low bits that the type has.
pub(super) fn wrap(ty: Type, value: i128) -> i128 {
    if ty.bits == 0 {
        return value;
    }
    let mask = (1i128 << ty.bits) - 1;
    let low = value & mask;
    let negative = ty.signed && (low >> (ty.bits - 1)) & 1 == 1;
    if negative { low - (mask + 1) } else { low }
}

pub(super) fn compute(operator: Op, ty: Type, left: i128, right: i128) -> i128 {
    let (a, b) = (wrap(ty, left), wrap(ty, right));
    let amount = wrap(Type::U32, right);
    let result = match operator {
        Op::Add => a + b,
        Op::Subtract => a - b,
        Op::Multiply => a * b,
        Op::Divide => a.checked_div(b).unwrap_or(-1),
        Op::Remainder => a.checked_rem(b).unwrap_or(-1),
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::ShiftLeft if amount >= i128::from(ty.bits) => 0,
        Op::ShiftLeft => a << amount,
        Op::ShiftRight => a >> amount.min(64),
        Op::Minimum => a.min(b),
        Op::Maximum => a.max(b),
        Op::Equal => return i128::from(a == b),
        Op::NotEqual => return i128::from(a != b),
        Op::Less => return i128::from(a < b),
        Op::LessEqual => return i128::from(a <= b),
        Op::Greater => return i128::from(a > b),
        Op::GreaterEqual => return i128::from(a >= b),
        Op::MultiplyHigh | Op::FloatAdd | Op::Opaque => unreachable!("no random program has them"),
        Op::Mbarrier(_) => unreachable!("the machine has no mbarriers"),
    };
    wrap(ty, result)
}

/// What an instruction computes from registers.
pub(super) fn local(ty: Type, value: &LocalValue, of: &dyn Fn(Operand) -> i128) -> i128 {
    match value {
        LocalValue::Operand(source) => wrap(ty, of(*source)),
        LocalValue::Unary(UnaryOperator::Negate, source) => wrap(ty, -of(*source)),
        LocalValue::Unary(UnaryOperator::Not, source) => wrap(ty, -1 - of(*source)),
        LocalValue::Unary(UnaryOperator::Convert, source) => wrap(ty, of(*source)),
        LocalValue::Unary(other, _) => unreachable!("the machine has no {other:?}"),
        LocalValue::Binary(operator, left, right) => compute(*operator, ty, of(*left), of(*right)),
        LocalValue::Select { condition, then, otherwise } => {
            let chosen = if of(*condition) != 0 { then } else { otherwise };
            wrap(ty, of(*chosen))
        }
    }
}

struct Cursor<'p, 's> {
    program: &'p Program,
    state: &'s mut State,
    thread: usize,
}

/// One instruction of one thread. None for an access to nowhere.
fn step(program: &Program, state: &mut State, thread: usize) -> Option<()> {
    let instruction = &program.threads[thread].code[state.at[thread]];
    let mut cursor = Cursor { program, state, thread };
    let allowed = instruction.guard.is_none_or(|(register, polarity)| {
        let value = cursor.register(register);
        (value != 0) == (polarity == Polarity::NonZero)
    });
    cursor.state.at[thread] += 1;
    if !allowed {
        return Some(());
    }
    match &instruction.operation {
        Operation::Load { destination, address, ty, .. } => {
            let at = cursor.place(address)?;
            let value = wrap(*ty, cursor.state.memory[at]);
            cursor.set(*destination, value);
        }
        Operation::Store { address, value, .. } => {
            let at = cursor.place(address)?;
            let value = cursor.value(*value);
            cursor.store(at, value);
        }
        Operation::ReadModifyWrite { destination, address, update, ty, .. } => {
            let at = cursor.place(address)?;
            cursor.modify(*destination, at, update, *ty);
        }
        Operation::Local { destination, ty, value } => {
            let value = local(*ty, value, &|operand| cursor.value(operand));
            cursor.set(Some(*destination), value);
        }
        Operation::Branch { target } => cursor.state.at[thread] = target.0 as usize,
        Operation::BranchIf { comparison, ty, left, right, target } => {
            let (left, right) = (cursor.value(*left), cursor.value(*right));
            if compute(operator(*comparison), *ty, left, right) != 0 {
                cursor.state.at[thread] = target.0 as usize;
            }
        }
        Operation::Exit => cursor.state.at[thread] = program.threads[thread].code.len(),
        Operation::Barrier(barrier) => cursor.arrive(barrier),
        Operation::Async(_) => unreachable!("the generated programs have no asynchronous operations"),
        Operation::Fence { .. } | Operation::Nothing => {}
        Operation::Mark { .. } => unreachable!("the machine has no launches"),
        Operation::MbarrierWait(_) => unreachable!("the machine has no mbarriers"),
        Operation::VectorLoad { .. } | Operation::VectorStore { .. } | Operation::VectorUpdate(_) => {
            unreachable!("the machine has no vectors")
        }
        Operation::Trap => unreachable!("the generated programs do not trap"),
        Operation::Multimem(_) => unreachable!("the machine has no replicas"),
        Operation::Fill { .. } => unreachable!("the machine fills nothing"),
    }
    Some(())
}

pub(super) fn operator(comparison: Comparison) -> Op {
    match comparison {
        Comparison::Equal => Op::Equal,
        Comparison::NotEqual => Op::NotEqual,
        Comparison::Less => Op::Less,
        Comparison::LessEqual => Op::LessEqual,
        Comparison::Greater => Op::Greater,
        Comparison::GreaterEqual => Op::GreaterEqual,
    }
}

impl Cursor<'_, '_> {
    fn register(&self, register: RegisterId) -> i128 {
        self.state.registers[self.thread][register.index()]
    }

    fn value(&self, operand: Operand) -> i128 {
        match operand {
            Operand::Register(register) => self.register(register),
            Operand::Constant(value) => value.0,
            Operand::Address(address) => self.program.addresses[address.index()].value.0,
        }
    }

    fn set(&mut self, register: Option<RegisterId>, value: i128) {
        if let Some(register) = register {
            self.state.registers[self.thread][register.index()] = value;
        }
    }

    fn place(&self, address: &AddressOperand) -> Option<usize> {
        let address = match address {
            AddressOperand::Static(address) => &self.program.addresses[address.index()],
            AddressOperand::Register(register) => {
                let value = self.register(*register);
                self.program.addresses.iter().find(|address| address.value.0 == value)?
            }
        };
        Some(address.location.index())
    }

    fn store(&mut self, at: usize, value: i128) {
        self.state.memory[at] = wrap(self.program.locations[at].ty, value);
    }

    /// PTX ISA 9.7.15.5 `atom`.
    fn modify(&mut self, destination: Option<RegisterId>, at: usize, update: &Update, ty: Type) {
        let old = wrap(ty, self.state.memory[at]);
        let new = match update {
            Update::Exchange(operand) => Some(self.value(*operand)),
            Update::Apply(operator, operand) => Some(compute(*operator, ty, old, self.value(*operand))),
            Update::Increment(limit) => Some(if old >= wrap(ty, self.value(*limit)) { 0 } else { old + 1 }),
            Update::Decrement(limit) => {
                let limit = wrap(ty, self.value(*limit));
                Some(if old == 0 || old > limit { limit } else { old - 1 })
            }
            Update::CompareAndSwap { expected, new, on_failure } => {
                let equal = old == wrap(ty, self.value(*expected));
                match (equal, on_failure) {
                    (true, _) => Some(self.value(*new)),
                    (false, FailedCas::NoWrite | FailedCas::Ordered { .. }) => None,
                    (false, FailedCas::WritesOldValue) => Some(old),
                }
            }
        };
        if let Some(new) = new {
            self.store(at, new);
        }
        self.set(destination, old);
    }

    /// The thread stays at the barrier while it waits.
    fn arrive(&mut self, barrier: &Barrier) {
        let id = barrier.id.map_or(0, |id| self.value(id));
        let count = barrier.count.map(|count| self.value(count));
        let given = barrier.reduction.as_ref().map(|reduction| self.value(reduction.predicate));
        let waits = barrier.kind != BarrierKind::Arrive;
        let key = (self.program.threads[self.thread].place, id);
        let arrivals = self.state.arrived.entry(key).or_default();
        arrivals.push(Arrival { thread: self.thread, waits, count, given });
        arrivals.sort();
        if waits {
            self.state.waiting[self.thread] = true;
            self.state.at[self.thread] -= 1;
        }
    }
}

/// Completes what is full: all threads of the CTA that have not ended, or the count (PTX ISA 9.7.15.1, 9.7.14.7).
fn complete(program: &Program, state: &mut State) {
    let is_full = |state: &State, place: Place, arrivals: &[Arrival]| {
        let here = |thread: &usize| program.threads[*thread].place == place && !has_ended(program, state, *thread);
        let has_arrived = |thread: usize| arrivals.iter().any(|arrival| arrival.thread == thread);
        let count = arrivals.iter().filter_map(|arrival| arrival.count).max();
        let all = || (0..program.threads.len()).filter(here).all(has_arrived);
        count.map_or_else(all, |count| arrivals.len() as i128 >= count)
    };
    loop {
        let full = state.arrived.iter().find(|(key, arrivals)| is_full(state, key.0, arrivals));
        let Some(key) = full.map(|(key, _)| *key) else { return };
        let arrivals = state.arrived.remove(&key).unwrap_or_default();
        let given: Vec<bool> = arrivals.iter().filter_map(|arrival| arrival.given).map(|given| given != 0).collect();
        let votes = given.iter().filter(|given| **given).count();
        // An arrival that did not wait is past its barrier, and may wait at another.
        for Arrival { thread, .. } in arrivals.into_iter().filter(|arrival| arrival.waits) {
            state.waiting[thread] = false;
            if let Operation::Barrier(Barrier { reduction: Some(reduction), .. }) =
                &program.threads[thread].code[state.at[thread]].operation
            {
                let result = match reduction.operation {
                    ReductionOperation::PopCount => votes as i128,
                    ReductionOperation::And => i128::from(votes == given.len()),
                    ReductionOperation::Or => i128::from(votes > 0),
                };
                state.registers[thread][reduction.destination.index()] = result;
            }
            state.at[thread] += 1;
        }
    }
}
