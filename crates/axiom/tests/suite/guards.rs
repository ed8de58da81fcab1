//! An instruction under a guard does what it does behind a branch around it, and instructions under a predicate and its
//! negation, one after the other, do what they do on the two ways of a branch: random programs in both forms have the same
//! outcomes under every model, of the executions that end and of those that are stuck.

use crate::support;

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

/// The predicate and whether it is negated, and the instruction, of a line under a guard that is no jump.
fn guarded(line: &str) -> Option<(&str, bool, &str)> {
    let (guard, rest) = line.strip_prefix('@')?.split_once(' ')?;
    let (predicate, is_negated) = guard.strip_prefix('!').map_or((guard, false), |predicate| (predicate, true));
    (!rest.starts_with("bra ") && !rest.starts_with("exit")).then_some((predicate, is_negated, rest))
}

/// The program with a branch for what stands under guards on one predicate, one after the other; how many there were with two
/// ways.
fn as_branches(test: &Test) -> (Test, usize) {
    let mut made = test.clone();
    let mut count = 0;
    for thread in &mut made.threads {
        let lines: Vec<String> = thread.code.iter().flat_map(|step| step.lines.clone()).collect();
        let mut written = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let Some((predicate, ..)) = guarded(&lines[at]) else {
                written.push(lines[at].clone());
                at += 1;
                continue;
            };
            let mut run: Vec<(&str, bool, &str)> =
                lines[at..].iter().map_while(|line| guarded(line)).take_while(|(of, ..)| *of == predicate).collect();
            // Behind what sets the predicate it is another one.
            let last = run.iter().position(|block| block.2.starts_with("setp")).map_or(run.len(), |last| last + 1);
            run.truncate(last);
            at += run.len();
            let way =
                |negated: bool| run.iter().filter(move |block| block.1 == negated).map(|block| block.2.to_string());
            count += usize::from(way(true).next().is_some() && way(false).next().is_some());
            let name = format!("{count}_{at}");
            written.push(format!("@!{predicate} bra E{name};"));
            written.extend(way(false));
            written.extend([format!("bra F{name};"), format!("E{name}:")]);
            written.extend(way(true));
            written.push(format!("F{name}:"));
        }
        thread.code = vec![Step::new(1, &written)];
    }
    (made, count)
}

/// How a program is written in another form, and whether there was anything to rewrite.
type Form = fn(&Test) -> (Test, usize);

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
        if !matches!(end, Exploration::Complete | Exploration::Incomplete(Stop::Bound(_) | Stop::Outside { .. })) {
            return Ok(None);
        }
    }
    Ok(Some(found))
}

fn check(test: &Test, form: Form, subject: &Subject, dependencies: Dependencies) -> Result<bool, Failure> {
    let (other, count) = form(test);
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
fn buffering(random: &mut Random, most: usize) -> Test {
    let declare = |text: &str| Entry { thread: None, text: text.to_string() };
    let declarations = [".shared .u32 x = 0", ".shared .u32 y = 0", ".shared .u32 z = 1"].map(declare).to_vec();
    let mut threads = Vec::new();
    for (from, to) in [("x", "y"), ("y", "x")] {
        let line = |text: String| Step::new(1, &[text]);
        let mut code = vec![line(format!("ld.relaxed.cta.shared.u32 %r1, [{from}];"))];
        code.push(line(format!("setp.eq.u32 %p1, %r1, {};", random.pick(&["0", "1"]))));
        for _ in 0..random.below(most) {
            let place = random.pick(&["x", "y", "z", "z", "z"]);
            let what = match random.below(12) {
                0..3 => format!("st.relaxed.cta.shared.u32 [{place}], {};", random.pick(&["0", "1", "%r2"])),
                3..5 => format!("ld.relaxed.cta.shared.u32 %r2, [{place}];"),
                5 => format!("red.relaxed.cta.shared.add.u32 [{place}], 1;"),
                6 => format!("atom.relaxed.cta.shared.exch.b32 %r2, [{place}], 1;"),
                7 => format!("atom.relaxed.cta.shared.cas.b32 _, [{place}], 1, 0;"),
                8 => random.pick(&["mov.u32 %r2, 1;", "mov.u32 %r2, 1;", "setp.eq.u32 %p1, %r2, 1;"]).to_string(),
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
fn run(name: &str, make: &dyn Fn(&mut Random) -> Test, form: Form) {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (first, count) = (number("SEED", 0), number("PROGRAMS", 300));
    let ptx = Subject::ptx();
    let mut subjects = vec![(ptx, Dependencies::Real)];
    subjects.extend(["ptx-6.0", "ptx-7.5", "sc"].map(|name| (Subject::shipped(name), Dependencies::Syntactic)));
    for (subject, dependencies) in &subjects {
        let mut compared = 0;
        for seed in first..first + count {
            let mut test = make(&mut Random::new(seed));
            // Without a question every register is looked at.
            test.condition.clear();
            test.filter.clear();
            match check(&test, form, subject, *dependencies) {
                Ok(is_compared) => compared += u64::from(is_compared),
                Err(failure) => {
                    let again = &mut |candidate: &Test| check(candidate, form, subject, *dependencies).err();
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
    run("buffering", &|random| buffering(random, 4), written_out);
}

#[test]
fn guards_on_a_predicate_and_its_negation_are_the_ways_of_a_branch() {
    run("converted", &|random| buffering(random, 6), as_branches);
}

#[test]
fn guards_on_ways_are_branches() {
    run("ways", &ways::test, written_out);
}

#[test]
fn guards_of_random_programs_are_branches() {
    for barriers in [Barriers::Never, Barriers::Always] {
        run(&format!("random, barriers {barriers:?}"), &|random| generate(random, Style::Ptx, barriers), written_out);
    }
}
