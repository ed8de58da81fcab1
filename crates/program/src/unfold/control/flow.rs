//! Control flow of one thread: loop heads, and which registers are live where.

use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::ids::{RegisterId, ThreadId};
use crate::program::asynchronous::Family;
use crate::program::def_use::{defined, target, used};
use crate::program::{Condition, Instruction, Operation, Program, Term, Thread};
use crate::unfold::Dependencies;
use crate::unfold::control::dependency::{self, Joins};
use crate::unfold::control::postdominator;

pub(crate) struct Flow {
    /// Targets of backward jumps, each with the last jump back to it. Every cycle of the code goes through one.
    pub(crate) heads: SortedMap<usize, usize>,
    /// Per loop head: the registers whose value there can still matter.
    pub(crate) live: SortedMap<usize, Vec<RegisterId>>,
    /// Where the ways of branches meet.
    pub(crate) joins: Joins,
    /// Where they meet of those that need not (see `untaken`).
    pub(crate) meetings: SortedMap<usize, usize>,
    /// Whether there are products whose registers stay in flight (`wgmma`).
    pub(crate) has_products: bool,
}

impl Flow {
    pub(crate) fn new(program: &Program, id: ThreadId, dependencies: Dependencies) -> Flow {
        let thread = &program.threads[id.index()];
        let mut heads = SortedMap::<usize, usize>::new();
        for (at, instruction) in thread.code.iter().enumerate() {
            if let Some(target) = target(&instruction.operation)
                && target <= at
            {
                let last = heads.entry(target).or_insert(at);
                *last = at.max(*last);
            }
        }
        let mut live = SortedMap::new();
        if !heads.is_empty() {
            let sets = liveness(thread, &observed(program, id));
            for &head in heads.keys() {
                live.insert(head, sets[head].iter().copied().collect());
            }
        }
        let meetings = match dependencies {
            Dependencies::Syntactic => SortedMap::new(),
            Dependencies::Real => postdominator::meetings(&thread.code),
        };
        let has_products = thread.code.iter().any(is_product);
        Flow { heads, live, joins: dependency::joins(program, id, dependencies), meetings, has_products }
    }
}

fn is_product(code: &Instruction) -> bool {
    matches!(&code.operation, Operation::Async(operation) if operation.family == Family::Wgmma)
}

/// The registers a question, the filter or the histogram looks at: all if nothing is asked.
pub(crate) fn observed(program: &Program, id: ThreadId) -> SortedSet<RegisterId> {
    let terms = program.conditions().flat_map(Condition::terms).chain(program.shown.iter().cloned());
    if program.questions.is_empty() && program.crash.questions.is_empty() && program.shown.is_empty() {
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
fn liveness(thread: &Thread, at_exit: &SortedSet<RegisterId>) -> Vec<SortedSet<RegisterId>> {
    let mut live = vec![SortedSet::new(); thread.code.len() + 1];
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
    live: &[SortedSet<RegisterId>],
    at_exit: &SortedSet<RegisterId>,
) -> SortedSet<RegisterId> {
    let mut set = match (&instruction.operation, instruction.guard) {
        (Operation::Branch { .. } | Operation::Exit | Operation::Trap, None) => SortedSet::new(),
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
