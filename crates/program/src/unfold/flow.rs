//! Control flow of one thread: loop heads, and which registers are live where.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{RegisterId, ThreadId};
use crate::program::asynchronous::Family;
use crate::program::{
    AddressOperand, Condition, FailedCas, FenceCover, Instruction, LocalValue, MultimemAction, Operand, Operation,
    Program, Term, Thread, Update,
};
use crate::unfold::control::{self, Joins};
use crate::unfold::{Dependencies, omission};

pub(crate) struct Flow {
    /// Targets of backward jumps, each with the last jump back to it. Every cycle of the code goes through one.
    pub(crate) heads: BTreeMap<usize, usize>,
    /// Per loop head: the registers whose value there can still matter.
    pub(crate) live: BTreeMap<usize, Vec<RegisterId>>,
    /// Where the ways of branches meet.
    pub(crate) joins: Joins,
    /// Where they meet of those that need not (see `untaken`).
    pub(crate) meetings: BTreeMap<usize, usize>,
    /// Whether there are products whose registers stay in flight (`wgmma`).
    pub(crate) has_products: bool,
}

impl Flow {
    pub(crate) fn new(program: &Program, id: ThreadId, dependencies: Dependencies) -> Flow {
        let thread = &program.threads[id.index()];
        let mut heads = BTreeMap::<usize, usize>::new();
        for (at, instruction) in thread.code.iter().enumerate() {
            if let Some(target) = target(&instruction.operation)
                && target <= at
            {
                let last = heads.entry(target).or_insert(at);
                *last = at.max(*last);
            }
        }
        let mut live = BTreeMap::new();
        if !heads.is_empty() {
            let sets = liveness(thread, &observed(program, id));
            for &head in heads.keys() {
                live.insert(head, sets[head].iter().copied().collect());
            }
        }
        let meetings = match dependencies {
            Dependencies::Syntactic => BTreeMap::new(),
            Dependencies::Real => omission::meetings(&thread.code),
        };
        let has_products = thread.code.iter().any(is_product);
        Flow { heads, live, joins: control::joins(program, id, dependencies), meetings, has_products }
    }
}

fn is_product(code: &Instruction) -> bool {
    matches!(&code.operation, Operation::Async(operation) if operation.family == Family::Wgmma)
}

/// The registers a question, the filter or the histogram looks at: all if nothing is asked.
pub(crate) fn observed(program: &Program, id: ThreadId) -> BTreeSet<RegisterId> {
    let conditions = program.questions.iter().map(|question| &question.condition);
    let filter = program.filter.iter().map(|filter| &filter.node);
    let terms = conditions.chain(filter).flat_map(Condition::terms).chain(program.shown.iter().cloned());
    if program.questions.is_empty() && program.shown.is_empty() {
        return (0..program.threads[id.index()].registers.len()).map(RegisterId::new).collect();
    }
    terms
        .filter_map(
            |term| if let Term::Register(thread, register) = term { (thread == id).then_some(register) } else { None },
        )
        .collect()
}

/// Registers live before each instruction (and, last, at the end): the usual backward fixpoint. What is computed for a
/// register that is not live reads nothing: a counter of failed attempts that nobody looks at keeps no loop from spinning.
fn liveness(thread: &Thread, at_exit: &BTreeSet<RegisterId>) -> Vec<BTreeSet<RegisterId>> {
    let mut live = vec![BTreeSet::new(); thread.code.len() + 1];
    live[thread.code.len()] = at_exit.clone();
    loop {
        let mut changed = false;
        for (at, instruction) in thread.code.iter().enumerate().rev() {
            let mut set = after(instruction, at, &live, at_exit);
            let is_dead = match &instruction.operation {
                Operation::Local { destination, .. } => !set.contains(destination),
                _ => false,
            };
            if instruction.guard.is_none() {
                defined(&instruction.operation).iter().for_each(|register| {
                    set.remove(register);
                });
            }
            if !is_dead {
                set.extend(used(instruction));
            }
            if set != live[at] {
                live[at] = set;
                changed = true;
            }
        }
        if !changed {
            return live;
        }
    }
}

fn after(
    instruction: &Instruction,
    at: usize,
    live: &[BTreeSet<RegisterId>],
    at_exit: &BTreeSet<RegisterId>,
) -> BTreeSet<RegisterId> {
    let mut set = match (&instruction.operation, instruction.guard) {
        (Operation::Branch { .. } | Operation::Exit | Operation::Trap, None) => BTreeSet::new(),
        _ => live[at + 1].clone(),
    };
    if let Some(target) = target(&instruction.operation) {
        set.extend(live.get(target).into_iter().flatten());
    }
    if matches!(instruction.operation, Operation::Exit) {
        set.extend(at_exit);
    }
    set
}

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
