//! Smaller programs that fail in the same way: threads, steps, lines and claims dropped, words weakened, one at a time,
//! until nothing smaller fails. What no longer parses does not fail in the same way.

use super::compare::Failure;
use super::program::{Entry, Test};

/// The smallest failing test this finds, with its message.
pub(crate) fn shrink(test: Test, failure: Failure, fails: &mut dyn FnMut(&Test) -> Option<Failure>) -> (Test, Failure) {
    let (mut test, mut failure) = (test, failure);
    loop {
        let same = |candidate: Test, fails: &mut dyn FnMut(&Test) -> Option<Failure>| {
            fails(&candidate).filter(|found| found.stage == failure.stage).map(|found| (candidate, found))
        };
        match smaller(&test).into_iter().find_map(|candidate| same(candidate, fails)) {
            Some(next) => (test, failure) = next,
            None => return (test, failure),
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
            found.push(changed(test, |candidate| {
                candidate.threads[thread].code.remove(step);
            }));
        }
    }
    for claim in 0..test.condition.len() {
        found.push(changed(test, |candidate| {
            candidate.condition.remove(claim);
        }));
    }
    for claim in 0..test.filter.len() {
        found.push(changed(test, |candidate| {
            candidate.filter.remove(claim);
        }));
    }
    for entry in 0..test.declarations.len() {
        found.push(changed(test, |candidate| {
            candidate.declarations.remove(entry);
        }));
    }
    for thread in 0..test.threads.len() {
        let place = &test.threads[thread];
        if (place.cta, place.gpu) != (0, 0) {
            found.push(changed(test, |candidate| {
                (candidate.threads[thread].cta, candidate.threads[thread].gpu) = (0, 0);
            }));
        }
        for (step, current) in place.code.iter().enumerate() {
            for line in 0..current.lines.len() {
                if current.lines.len() > 1 {
                    found.push(changed(test, |candidate| {
                        candidate.threads[thread].code[step].lines.remove(line);
                    }));
                }
                for weaker in weaker(&current.lines[line]) {
                    found.push(changed(test, |candidate| {
                        candidate.threads[thread].code[step].lines[line] = weaker;
                    }));
                }
            }
        }
    }
    found
}

fn changed(test: &Test, change: impl FnOnce(&mut Test)) -> Test {
    let mut candidate = test.clone();
    change(&mut candidate);
    // A claim about a register that is gone would be an error of the text.
    let gone = |entry: &Entry, candidate: &Test| {
        let Some(thread) = entry.thread else { return false };
        let name = entry.text.split([' ', '=', '!', '<', '>']).next().unwrap_or_default();
        !candidate.threads[thread].code.iter().flat_map(|step| &step.lines).any(|line| line.contains(name))
    };
    let (condition, filter) = (candidate.condition.clone(), candidate.filter.clone());
    candidate.condition = condition.into_iter().filter(|entry| !gone(entry, &candidate)).collect();
    candidate.filter = filter.into_iter().filter(|entry| !gone(entry, &candidate)).collect();
    candidate
}

fn without_thread(test: &Test, thread: usize) -> Test {
    let mut candidate = test.clone();
    candidate.threads.remove(thread);
    let renumber = |entry: &Entry| match entry.thread {
        Some(at) if at == thread => None,
        Some(at) if at > thread => Some(Entry { thread: Some(at - 1), ..entry.clone() }),
        _ => Some(entry.clone()),
    };
    candidate.condition = test.condition.iter().filter_map(renumber).collect();
    candidate.filter = test.filter.iter().filter_map(renumber).collect();
    candidate.declarations = test.declarations.iter().filter_map(renumber).collect();
    candidate
}

/// The line with one word simpler. Each result is simpler in a fixed order, so that shrinking ends.
fn weaker(line: &str) -> Vec<String> {
    const WORDS: &[(&str, &str)] = &[
        (".acq_rel.", ".relaxed."),
        (".acquire.", ".relaxed."),
        (".release.", ".relaxed."),
        (".volatile.", ".relaxed.sys."),
        ("fence.sc.", "fence.acq_rel."),
        ("membar.gl", "fence.acq_rel.gpu"),
        (".sys", ".gpu"),
        (".cta.", ".gpu."),
        (".s32", ".u32"),
        (", 2", ", 1"),
        (", -1", ", 1"),
        ("$2", "$1"),
        ("LOCK ", ""),
        ("@!", "@"),
    ];
    let mut found: Vec<String> = (WORDS.iter())
        .filter(|(from, _)| line.contains(from) && !(line.starts_with("bar.") && *from == ".cta."))
        .map(|(from, to)| line.replacen(from, to, 1))
        .collect();
    for scope in [".cta ", ".gpu ", ".sys ", ".cta.u32", ".gpu.u32", ".sys.u32"] {
        if (line.starts_with("ld.relaxed") || line.starts_with("st.relaxed")) && line.contains(scope) {
            let end = if scope.ends_with("u32") { ".u32" } else { " " };
            found.push(line.replacen(&format!(".relaxed{scope}"), &format!(".weak{end}"), 1));
        }
    }
    found
}
