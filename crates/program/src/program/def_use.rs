//! What an instruction does to control flow and registers: where it may jump, which registers it reads and which it writes.

use crate::ids::RegisterId;
use crate::program::{
    AddressOperand, FailedCas, FenceCover, Instruction, LocalValue, MultimemAction, Operand, Operation, Update,
};

pub(crate) fn target(operation: &Operation) -> Option<usize> {
    match operation {
        Operation::Branch { target } | Operation::BranchIf { target, .. } => Some(target.0 as usize),
        _ => None,
    }
}

/// The registers an operation writes.
pub(crate) fn defined(operation: &Operation) -> Vec<RegisterId> {
    let one = match operation {
        Operation::Load { destination, .. } => *destination,
        Operation::ReadModifyWrite { destination, update, .. } => {
            return destination.iter().copied().chain(spurious(update)).collect();
        }
        Operation::Local { destination, .. } => Some(*destination),
        Operation::MbarrierWait(wait) => wait.destination,
        Operation::Multimem(operation) => match &operation.action {
            MultimemAction::LoadReduce { destinations, .. } => return destinations.iter().flatten().copied().collect(),
            MultimemAction::Store { .. } | MultimemAction::Reduce { .. } => None,
        },
        Operation::VectorUpdate(update) => return update.destinations.iter().flatten().copied().collect(),
        Operation::Barrier(barrier) => barrier.reduction.as_ref().map(|reduction| reduction.destination),
        Operation::VectorLoad { destinations, .. } => return destinations.iter().flatten().copied().collect(),
        Operation::Async(operation) => return operation.defined(),
        _ => None,
    };
    one.into_iter().collect()
}

/// The register that says that a weak compare-and-exchange failed.
pub(crate) fn spurious(update: &Update) -> Option<RegisterId> {
    match update {
        Update::CompareAndSwap { on_failure: FailedCas::Ordered { failed, .. }, .. } => *failed,
        _ => None,
    }
}

/// The registers an instruction reads, its guard included.
pub(crate) fn used(instruction: &Instruction) -> Vec<RegisterId> {
    let mut found: Vec<RegisterId> = instruction.guard.iter().map(|(register, _)| *register).collect();
    let mut operand = |operand: &Operand| {
        if let Operand::Register(register) = operand {
            found.push(*register);
        }
    };
    match &instruction.operation {
        Operation::Load { address, .. } | Operation::VectorLoad { address, .. } => address_use(address, &mut operand),
        Operation::VectorStore { address, values, .. } => {
            address_use(address, &mut operand);
            values.iter().for_each(operand);
        }
        Operation::Store { address, value, .. } => {
            address_use(address, &mut operand);
            operand(value);
        }
        Operation::ReadModifyWrite { address, update, .. } => {
            address_use(address, &mut operand);
            update_use(update, &mut operand);
        }
        Operation::Barrier(barrier) => {
            let predicate = barrier.reduction.as_ref().map(|reduction| reduction.predicate);
            [barrier.instance, barrier.id, barrier.count, predicate].iter().flatten().for_each(operand);
        }
        Operation::Local { value, .. } => match value {
            LocalValue::Operand(value) | LocalValue::Unary(_, value) => operand(value),
            LocalValue::Binary(_, left, right) => [left, right].into_iter().for_each(operand),
            LocalValue::Select { condition, then, otherwise } => {
                [condition, then, otherwise].into_iter().for_each(operand)
            }
        },
        Operation::Async(operation) => found.extend(operation.used()),
        Operation::Multimem(operation) => match &operation.action {
            MultimemAction::Store { values } | MultimemAction::Reduce { values, .. } => values.iter().for_each(operand),
            MultimemAction::LoadReduce { .. } => {}
        },
        Operation::VectorUpdate(update) => {
            address_use(&update.address, &mut operand);
            update.values.iter().for_each(operand);
        }
        Operation::BranchIf { left, right, .. } => [left, right].into_iter().for_each(operand),
        Operation::MbarrierWait(wait) => {
            address_use(&wait.address, &mut operand);
            operand(&wait.question.1);
        }
        Operation::Fill { address, bytes, .. } => {
            address_use(address, &mut operand);
            operand(bytes);
        }
        Operation::Fence { cover: FenceCover::TensorMap(map), .. } => address_use(map, &mut operand),
        Operation::Fence { .. }
        | Operation::Mark { .. }
        | Operation::Branch { .. }
        | Operation::Exit
        | Operation::Trap
        | Operation::Nothing => {}
    }
    found
}

fn update_use(update: &Update, operand: &mut dyn FnMut(&Operand)) {
    match update {
        Update::Exchange(value) | Update::Apply(_, value) | Update::Increment(value) | Update::Decrement(value) => {
            operand(value);
        }
        Update::CompareAndSwap { expected, new, .. } => [expected, new].into_iter().for_each(operand),
    }
}

fn address_use(address: &AddressOperand, operand: &mut dyn FnMut(&Operand)) {
    if let AddressOperand::Register(register) = address {
        operand(&Operand::Register(*register));
    }
}
