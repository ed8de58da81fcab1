//! An instruction under a guard does what it does behind a branch around it: random programs in both forms have the same
//! outcomes under every model, of the executions that end and of those that are stuck.

mod support;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Stop};
use fencepost_axiom::replay::final_states;
use fencepost_program::unfold::{Dependencies, Rewriting, UnfoldOptions, unfold};
use fencepost_program::unfolding::FinalState;

use support::generate::{Barriers, generate};
use support::program::{Entry, Step, Style, Test, Thread};
use support::random::Random;
use support::shrink::shrink;
use support::{Failure, Stage, Subject, front_end, ways};

const NO_LIMITS: Limits<'static> = Limits { deadline: None, memory: None, cancelled: None, work: None };

/// The program with a branch around everything under a guard but the branches; how many there were.
fn written_out(test: &Test) -> (Test, usize) {
    let mut made = test.clone();
    let mut count = 0;
    for step in made.threads.iter_mut().flat_map(|thread| &mut thread.code) {
        let lines = std::mem::take(&mut step.lines);
        for line in lines {
            let guarded = line.strip_prefix('@').and_then(|rest| rest.split_once(' '));
            let Some((guard, rest)) = guarded.filter(|(_, rest)| !rest.starts_with("bra ")) else {
                step.lines.push(line);
                continue;
            };
            count += 1;
            let other = guard.strip_prefix('!').map_or_else(|| format!("!{guard}"), str::to_string);
            step.lines.extend([format!("@{other} bra G{count};"), rest.to_string(), format!("G{count}:")]);
        }
    }
    (made, count)
}

type States = [BTreeSet<FinalState>; 2];

/// None if something cannot be followed to its end, or has no meaning.
fn outcomes(test: &Test, subject: &Subject, dependencies: Dependencies) -> Result<Option<States>, Failure> {
    let wrong = |message| Failure { stage: Stage::FrontEnd, message };
    let Some((program, _)) = front_end(&test.text(), 1).map_err(wrong)? else { return Ok(None) };
    let options = UnfoldOptions { bound: 3, rewriting: Rewriting::Spins, dependencies, ..UnfoldOptions::default() };
    let unfolding = unfold(&program, &options).map_err(|error| wrong(format!("{error:?}")))?;
    let mut found = States::default();
    for (states, ends) in found.iter_mut().zip([Ends::Terminating, Ends::Stuck]) {
        let end = Enumerate.explore(&unfolding, subject.model(), &Goal::new(ends), &NO_LIMITS, &mut |execution| {
            states.extend(final_states(&unfolding, execution));
            ControlFlow::Continue(())
        });
        if !matches!(end, Exploration::Complete | Exploration::Incomplete(Stop::Bound(_) | Stop::Outside(_))) {
            return Ok(None);
        }
    }
    Ok(Some(found))
}

fn check(test: &Test, subject: &Subject, dependencies: Dependencies) -> Result<bool, Failure> {
    let (other, count) = written_out(test);
    if count == 0 {
        return Ok(false);
    }
    let (one, other) = (outcomes(test, subject, dependencies)?, outcomes(&other, subject, dependencies)?);
    let (Some(guarded), Some(branches)) = (one, other) else { return Ok(false) };
    for (guarded, branches) in guarded.iter().zip(&branches) {
        let (only_guarded, only_branches) = (guarded.difference(branches).next(), branches.difference(guarded).next());
        if only_guarded.is_some() || only_branches.is_some() {
            let message = format!("{}\nguarded {only_guarded:?}\nbranches {only_branches:?}", subject.name);
            return Err(Failure { stage: Stage::Engines, message });
        }
    }
    Ok(true)
}

/// Two threads of load buffering, with guards on the way: a value that justifies itself would show.
fn buffering(random: &mut Random) -> Test {
    let declare = |text: &str| Entry { thread: None, text: text.to_string() };
    let declarations = [".shared .u32 x = 0", ".shared .u32 y = 0", ".shared .u32 z = 1"].map(declare).to_vec();
    let mut threads = Vec::new();
    for (from, to) in [("x", "y"), ("y", "x")] {
        let line = |text: String| Step::new(1, &[text]);
        let mut code = vec![line(format!("ld.relaxed.cta.shared.u32 %r1, [{from}];"))];
        code.push(line(format!("setp.eq.u32 %p1, %r1, {};", random.pick(&["0", "1"]))));
        for _ in 0..random.below(4) {
            let place = random.pick(&["x", "y", "z", "z", "z"]);
            let what = match random.below(12) {
                0..3 => format!("st.relaxed.cta.shared.u32 [{place}], {};", random.pick(&["0", "1", "%r2"])),
                3..5 => format!("ld.relaxed.cta.shared.u32 %r2, [{place}];"),
                5 => format!("red.relaxed.cta.shared.add.u32 [{place}], 1;"),
                6 => format!("atom.relaxed.cta.shared.exch.b32 %r2, [{place}], 1;"),
                7 => format!("atom.relaxed.cta.shared.cas.b32 _, [{place}], 1, 0;"),
                8 => "mov.u32 %r2, 1;".to_string(),
                9 => "exit;".to_string(),
                10 => "bar.sync 0;".to_string(),
                _ => "fence.acq_rel.cta;".to_string(),
            };
            let guard = random.pick(&["", "@%p1 ", "@!%p1 "]);
            code.push(line(format!("{guard}{what}")));
        }
        let value = random.pick(&["1", "%r1", "%r2", "%r2"]);
        code.push(line(format!("st.relaxed.cta.shared.u32 [{to}], {value};")));
        threads.push(Thread { cta: 0, gpu: 0, code });
    }
    Test { style: Style::Ptx, declarations, threads, condition: Vec::new(), connective: "/\\", filter: Vec::new() }
}

#[allow(clippy::panic, clippy::print_stdout, reason = "a test may panic and print")]
fn run(name: &str, make: &dyn Fn(&mut Random) -> Test) {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (first, count) = (number("SEED", 0), number("PROGRAMS", 300));
    let ptx = Subject::with_variants("ptx", include_str!("../../../models/ptx.cat"), &["9.4"]);
    let mut subjects = vec![(ptx, Dependencies::Real)];
    subjects.extend(["ptx-6.0", "ptx-7.5", "sc"].map(|name| (Subject::shipped(name), Dependencies::Syntactic)));
    for (subject, dependencies) in &subjects {
        let mut compared = 0;
        for seed in first..first + count {
            let mut test = make(&mut Random::new(seed));
            // Without a question every register is looked at.
            test.condition.clear();
            test.filter.clear();
            match check(&test, subject, *dependencies) {
                Ok(is_compared) => compared += u64::from(is_compared),
                Err(failure) => {
                    let again = &mut |candidate: &Test| check(candidate, subject, *dependencies).err();
                    let (small, failure) = shrink(test, failure, again);
                    panic!("{name}, seed {seed}\n{}\n{}", small.text(), failure.message);
                }
            }
        }
        println!("{name}, {}: {compared} of {count} programs have guards", subject.name);
        assert!(compared > 0, "{compared} of {count}");
    }
}

#[test]
fn guards_in_load_buffering_are_branches() {
    run("buffering", &buffering);
}

#[test]
fn guards_on_ways_are_branches() {
    run("ways", &ways::test);
}

#[test]
fn guards_of_random_programs_are_branches() {
    for barriers in [Barriers::Never, Barriers::Always] {
        run(&format!("random, barriers {barriers:?}"), &|random| generate(random, Style::Ptx, barriers));
    }
}
