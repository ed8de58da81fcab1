//! Smaller programs that fail in the same way: threads, steps and claims dropped, operations and places made simpler, one at a
//! time, until nothing smaller fails.

#![allow(dead_code, unreachable_pub)]

use super::crash_programs::{Fence, Operation, Order, Program, SPARE, Scope, Term, Update};

/// The smallest failing program that this finds. `fails` says how, and a smaller one must fail with the same answer.
pub fn shrink<F: PartialEq>(program: &Program, fails: &dyn Fn(&Program) -> Option<F>) -> Program {
    let mut smallest = program.clone();
    let Some(how) = fails(&smallest) else { return smallest };
    while let Some(next) = smaller(&smallest).into_iter().find(|next| fails(next).as_ref() == Some(&how)) {
        smallest = next;
    }
    smallest
}

/// Every program one step smaller, the boldest first.
pub fn smaller(program: &Program) -> Vec<Program> {
    let mut found = Vec::new();
    for thread in 0..program.threads.len() {
        if program.threads.len() > 1 {
            found.push(without_thread(program, thread));
        }
    }
    for thread in 0..program.threads.len() {
        for step in 0..program.threads[thread].steps.len() {
            found.push(changed(program, |changed| {
                changed.threads[thread].steps.remove(step);
            }));
        }
    }
    for claim in 0..program.claims.len() {
        found.push(changed(program, |changed| {
            changed.claims.remove(claim);
        }));
    }
    for thread in 0..program.threads.len() {
        if program.threads[thread].cta != 0 {
            found.push(changed(program, |changed| changed.threads[thread].cta = 0));
        }
        for step in 0..program.threads[thread].steps.len() {
            for simpler in simpler(program.threads[thread].steps[step].operation) {
                found.push(changed(program, |changed| changed.threads[thread].steps[step].operation = simpler));
            }
        }
    }
    // `x`, `y` and `z` stay persistent: something must be.
    for place in 3..SPARE.start {
        if program.is_persistent[place] {
            found.push(changed(program, |changed| changed.is_persistent[place] = false));
        }
    }
    found
}

/// The program with this changed, and no claim about what is gone.
fn changed(program: &Program, change: impl FnOnce(&mut Program)) -> Program {
    let mut changed = program.clone();
    change(&mut changed);
    let reads = |thread: usize, number: usize| {
        let mut steps = changed.threads[thread].steps.iter();
        steps.any(|step| step.number == number && step.operation.reads().is_some())
    };
    let is_there = |term: Term| match term {
        Term::Memory(place) => changed.is_persistent[place],
        Term::Register(thread, number) => reads(thread, number),
    };
    let claims = changed.claims.iter().copied().filter(|claim| is_there(claim.term)).collect();
    Program { claims, ..changed }
}

fn without_thread(program: &Program, thread: usize) -> Program {
    let mut smaller = program.clone();
    smaller.threads.remove(thread);
    smaller.claims.retain(|claim| !matches!(claim.term, Term::Register(at, _) if at == thread));
    for claim in &mut smaller.claims {
        if let Term::Register(at, _) = &mut claim.term {
            *at -= usize::from(*at > thread);
        }
    }
    smaller
}

/// Each result is simpler in a fixed order, so that shrinking ends: loops become loads, words are dropped, scopes become
/// `.gpu`.
fn simpler(operation: Operation) -> Vec<Operation> {
    let order = |order: Order| match order {
        Order::Weak => Vec::new(),
        Order::Relaxed(Scope::Gpu) => vec![Order::Weak],
        Order::Relaxed(_) => vec![Order::Relaxed(Scope::Gpu)],
        Order::Synchronizing(Scope::Gpu) => vec![Order::Relaxed(Scope::Gpu)],
        Order::Synchronizing(_) => vec![Order::Synchronizing(Scope::Gpu)],
        Order::Persist(Scope::Gpu) => vec![Order::Relaxed(Scope::Gpu)],
        Order::Persist(_) => vec![Order::Persist(Scope::Gpu)],
    };
    match operation {
        Operation::Store { to, value, order: own } => {
            order(own).into_iter().map(|order| Operation::Store { to, value, order }).collect()
        }
        Operation::Load { from, order: own } => {
            order(own).into_iter().map(|order| Operation::Load { from, order }).collect()
        }
        Operation::Copy { to, .. } => vec![Operation::Store { to, value: 1, order: Order::Relaxed(Scope::Gpu) }],
        Operation::Try { from, order: own, .. } => vec![Operation::Load { from, order: own }],
        Operation::Wait { from, value, order: own } => {
            let load = Operation::Load { from, order: own };
            let simpler = order(own).into_iter().map(|order| Operation::Wait { from, value, order });
            [load].into_iter().chain(simpler).collect()
        }
        Operation::Atomic { on, update, value, scope } => {
            let store = Operation::Store { to: on, value, order: Order::Relaxed(scope) };
            let exchange = Operation::Atomic { on, update: Update::Exchange, value, scope };
            if update == Update::Add { vec![store, exchange] } else { vec![store] }
        }
        Operation::Fence(Fence::Sequential, scope) => vec![Operation::Fence(Fence::AcquireRelease, scope)],
        Operation::Fence(Fence::AcquireRelease, Scope::Gpu) => Vec::new(),
        Operation::Fence(Fence::AcquireRelease, _) => vec![Operation::Fence(Fence::AcquireRelease, Scope::Gpu)],
        Operation::DurabilityFence => vec![Operation::OrderFence],
        Operation::OrderFence | Operation::Barrier => Vec::new(),
    }
}
