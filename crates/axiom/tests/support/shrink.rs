//! Smaller programs that fail in the same way: threads and instructions dropped, qualifiers weakened, one at a time,
//! until nothing smaller fails.

use super::program::{Claim, Operand, Step, Test};

/// The smallest failing test this finds, with its message.
pub(crate) fn shrink(test: Test, message: String, fails: &mut dyn FnMut(&Test) -> Option<String>) -> (Test, String) {
    let (mut test, mut message) = (test, message);
    loop {
        let next = smaller(&test).into_iter().find_map(|candidate| fails(&candidate).map(|why| (candidate, why)));
        match next {
            Some((candidate, why)) => (test, message) = (candidate, why),
            None => return (test, message),
        }
    }
}

/// Every test one step smaller, the boldest first.
fn smaller(test: &Test) -> Vec<Test> {
    let mut found = Vec::new();
    for thread in 0..test.threads.len() {
        if test.threads.len() > 1 {
            found.push(without_thread(test, thread));
        }
    }
    for thread in 0..test.threads.len() {
        for step in 0..test.threads[thread].code.len() {
            let mut candidate = test.clone();
            candidate.threads[thread].code.remove(step);
            found.push(candidate);
        }
    }
    for claim in 0..test.condition.len() {
        let mut candidate = test.clone();
        candidate.condition.remove(claim);
        found.push(candidate);
    }
    for thread in 0..test.threads.len() {
        let place = &test.threads[thread];
        if (place.cta, place.gpu) != (0, 0) {
            let mut candidate = test.clone();
            (candidate.threads[thread].cta, candidate.threads[thread].gpu) = (0, 0);
            found.push(candidate);
        }
        for (step, current) in place.code.iter().enumerate() {
            for weaker in weaker(*current) {
                let mut candidate = test.clone();
                candidate.threads[thread].code[step] = weaker;
                found.push(candidate);
            }
        }
    }
    found
}

fn without_thread(test: &Test, thread: usize) -> Test {
    let mut candidate = test.clone();
    candidate.threads.remove(thread);
    let renumber = |claim: Claim| match claim {
        Claim::Register(at, ..) if at == thread => None,
        Claim::Register(at, register, value) if at > thread => Some(Claim::Register(at - 1, register, value)),
        other => Some(other),
    };
    candidate.condition = candidate.condition.into_iter().filter_map(renumber).collect();
    candidate
}

/// One qualifier or operand simpler. Each result is simpler in a fixed order, so that shrinking ends.
fn weaker(step: Step) -> Vec<Step> {
    let one = Operand::Number(1);
    match step {
        Step::Load { order, scope, name, register } if !order.is_empty() => {
            let mut found = vec![Step::Load { order: "", scope: "gpu", name, register }];
            if order != "relaxed" {
                found.push(Step::Load { order: "relaxed", scope, name, register });
            }
            found
        }
        Step::Store { order, scope, name, value } => {
            let mut found = Vec::new();
            if !order.is_empty() {
                found.push(Step::Store { order: "", scope: "gpu", name, value });
            }
            if !order.is_empty() && order != "relaxed" {
                found.push(Step::Store { order: "relaxed", scope, name, value });
            }
            if value != one {
                found.push(Step::Store { order, scope, name, value: one });
            }
            found
        }
        Step::Atom { order, scope, name, register, update } => {
            let mut found = vec![
                Step::Load { order: "relaxed", scope, name, register },
                Step::Store { order: "relaxed", scope, name, value: one },
            ];
            if order != "relaxed" {
                found.push(Step::Atom { order: "relaxed", scope, name, register, update });
            }
            found
        }
        Step::Red { scope, name, value, .. } => vec![Step::Store { order: "relaxed", scope, name, value }],
        Step::Spin { order, scope, name, register, .. } => vec![Step::Load { order, scope, name, register }],
        Step::Fence { order: "sc", scope } => vec![Step::Fence { order: "acq_rel", scope }],
        _ => Vec::new(),
    }
}
