//! A launch file with several launches: they run on the same memory, in the order of the host.

use std::sync::atomic::Ordering;

use fencepost_kernel::check::ALONE;
use fencepost_kernel::code::Module;
use fencepost_kernel::code::op::{Op, Scope};
use fencepost_kernel::launch::program::{Program, Step};
use fencepost_kernel::launch::{Contents, Launch};
use fencepost_kernel::report::Doubt;
use fencepost_kernel::run::Outcome;
use fencepost_kernel::sequence::{Between, Footprint, Start, between, run, with_variables};
use fencepost_tell::output::kernel::between::conflict;
use fencepost_tell::output::kernel::{Answer, Told, add_doubt};

use super::launches::{Answered, Target, Work, limits_of};
use crate::signals::CANCELLED;

/// A launch that has run.
struct Done<'m> {
    target: Target<'m>,
    told: Told,
    /// The run that gave the memory came to its end.
    is_whole: bool,
    all: Footprint,
    dependent: Option<Dependent>,
    /// The launches before it that have ended when it starts, and those of them that only a launch between has waited for.
    ended: Vec<bool>,
    handed_on: Vec<bool>,
}

/// What is known of a launch that may start before the one before it has ended.
struct Dependent {
    /// What it did before it waited.
    early: Footprint,
    waited: bool,
    /// Launches that depend on it start when it has waited.
    holds_back: bool,
}

/// Printed where the order of two launches rests on it: the ISA says of `launch_dependents` only that a fence before it
/// tells the dependent launch of what comes before the fence (9.7.15.14). CUB's radix sort has none.
const HANDED_ON: &str = "launches that the one before a dependent launch has waited for are over for the dependent one too, \
                         without a fence before griddepcontrol.launch_dependents";

pub(super) fn check(work: &Work, program: &Program, targets: Vec<(Target, &Step)>, answered: &mut Answered) {
    let ended = program.ended_before();
    let mut memory: Vec<Contents> = Vec::new();
    // The variables of a module last from launch to launch.
    let mut variables: Variables = Vec::new();
    let mut done: Vec<Done> = Vec::new();
    for (mut target, step) in targets {
        if CANCELLED.load(Ordering::Relaxed) {
            answered.skipped.push(format!("{} in {}", target.entry.name, target.text.source.name));
            continue;
        }
        leave(&memory, &mut target.launch);
        let key = std::ptr::from_ref(target.module);
        let left = variables.iter().find(|(module, _)| *module == key).map(|(_, contents)| contents.as_slice());
        let changed = left.and_then(|left| with_variables(target.module, left));
        let module = changed.as_ref().map_or(target.module, |(module, _)| module);
        let now = Target { text: target.text, module, entry: target.entry, launch: target.launch.clone() };
        if work.options.mutate {
            work.answer_mutants(&now, answered);
        }
        let mut told = work.told(&now);
        // Those around it are checked here.
        told.assumptions.retain(|text| text != ALONE);
        let start = if step.pdl { Start::Dependent } else { Start::AfterTheLast };
        let outcome = work.limited(|| run(module, now.entry, &now.launch, &limits_of(work.options), start));
        let is_known = |other: &Done| other.is_whole && other.told.answer == Answer::Proved;
        if !done.iter().all(is_known) || changed.is_some_and(|(_, unknown)| unknown) {
            add_doubt(&mut told, &Doubt::Before);
        }
        let all = Footprint::of(&outcome.order, objects(&target));
        let dependent = outcome.early.as_ref().map(|early| Dependent {
            early: Footprint::of_early(early, objects(&target)),
            waited: early.waited(),
            holds_back: early.holds_back(),
        });
        let now_buffers = target.launch.buffers.len();
        let is_whole = outcome.findings.is_empty() && outcome.doubts.is_empty();
        let (ended, handed_on) = ended_before(&ended[done.len()], step, &done, program);
        let own = Done { target, told, is_whole, all, dependent, ended, handed_on };
        let own = compare(own, &mut done, program);
        (memory, variables) = carry(outcome, now_buffers, key, variables);
        done.push(own);
    }
    for (index, own) in done.into_iter().enumerate() {
        if work.options.mutate {
            continue;
        }
        let mut told = own.told;
        told.launch = Some(program.steps[index].name.clone().unwrap_or_else(|| (index + 1).to_string()));
        told.judge();
        let picture = work.picture(&own.target);
        answered.told.push((told, picture));
    }
}

/// Buffers, and the variables of the module behind them.
fn objects(target: &Target) -> u32 {
    let variables = target.module.variables.iter().filter(|variable| variable.address != 0).count();
    (target.launch.buffers.len() + variables) as u32
}

/// How many of them two launches share: variables only if their module is the same.
fn shared(first: &Target, second: &Target) -> u32 {
    if std::ptr::eq(first.module, second.module) { objects(first) } else { first.launch.buffers.len() as u32 }
}

/// What the launches before have left in the buffers.
fn leave(memory: &[Contents], launch: &mut Launch) {
    for (buffer, contents) in launch.buffers.iter_mut().zip(memory) {
        buffer.contents = contents.clone();
    }
}

type Variables = Vec<(*const Module, Vec<Contents>)>;

fn carry(outcome: Outcome, buffers: usize, key: *const Module, mut variables: Variables) -> (Vec<Contents>, Variables) {
    let mut memory = outcome.memory;
    let behind = memory.split_off(buffers.min(memory.len()));
    variables.retain(|(module, _)| *module != key);
    variables.push((key, behind));
    (memory, variables)
}

/// Of a launch, those that have ended before it starts by the order of the host, or since the launch that it depends on has
/// waited for them before it let others start; and which of them only the latter is true of.
fn ended_before(by_host: &[bool], step: &Step, done: &[Done], program: &Program) -> (Vec<bool>, Vec<bool>) {
    let mut ended = by_host[..done.len()].to_vec();
    let mut handed_on = vec![false; done.len()];
    let previous = (0..done.len()).rev().find(|other| program.steps[*other].stream == step.stream);
    let Some(previous) = previous.filter(|_| step.pdl) else { return (ended, handed_on) };
    let holds_back = done[previous].dependent.as_ref().is_some_and(|own| own.holds_back);
    let awaited = if holds_back { awaited(previous, done, program) } else { vec![false; previous] };
    for (other, is_over) in awaited.iter().zip(&done[previous].ended).map(|(a, b)| a | b).enumerate() {
        handed_on[other] = is_over && !ended[other];
        ended[other] |= is_over;
    }
    (ended, handed_on)
}

/// Adds the races with launches that may run at the same time; those are no longer proved either.
fn compare<'m>(mut own: Done<'m>, done: &mut [Done], program: &Program) -> Done<'m> {
    let index = done.len();
    let awaited = awaited(index, done, program);
    for other in (0..index).filter(|other| !own.ended[*other] || own.handed_on[*other]) {
        let shared = shared(&done[other].target, &own.target);
        let found = match &own.dependent {
            Some(dependent) if awaited[other] => between(&done[other].all, &dependent.early, shared),
            _ => between(&done[other].all, &own.all, shared),
        };
        if own.handed_on[other] {
            if (found.synchronise || !found.conflicts.is_empty())
                && !own.told.assumptions.iter().any(|it| it == HANDED_ON)
            {
                own.told.assumptions.push(HANDED_ON.to_owned());
            }
            continue;
        }
        own.told = with_races(own.told, &own.target, &done[other], &found);
        if !found.conflicts.is_empty() {
            add_doubt(&mut done[other].told, &Doubt::Disturbed);
        } else if found.synchronise {
            add_doubt(&mut done[other].told, &Doubt::Beside);
        }
    }
    own.told.judge();
    own
}

/// The launches that have ended behind `griddepcontrol.wait` of a dependent one: the launch before it in its stream, those
/// that had ended before that one started, and those that it has waited for itself.
fn awaited(index: usize, done: &[Done], program: &Program) -> Vec<bool> {
    let mut awaited = vec![false; index];
    let mut at = index;
    loop {
        let stream = &program.steps[at].stream;
        let Some(previous) = (0..at).rev().find(|other| program.steps[*other].stream == *stream) else { break };
        awaited[previous] = true;
        for (slot, is_over) in awaited.iter_mut().zip(&done[previous].ended) {
            *slot |= *is_over;
        }
        if !done[previous].dependent.as_ref().is_some_and(|own| own.waited) {
            break;
        }
        at = previous;
    }
    awaited
}

fn with_races(mut told: Told, target: &Target, earlier: &Done, found: &Between) -> Told {
    // A release fence before `griddepcontrol.launch_dependents` tells the dependent launch of what comes before it
    // (9.7.15.14): that is not followed here, so that such a conflict is in doubt.
    let published = found.conflicts.iter().any(|_| publishes(&earlier.target));
    if !published {
        let (first, second) = (earlier.target.about(), target.about());
        told.findings.extend(found.conflicts.iter().map(|own| conflict(own, &first, &second)));
    }
    if found.synchronise || published {
        add_doubt(&mut told, &Doubt::Beside);
    }
    told
}

fn publishes(target: &Target) -> bool {
    let has = |is: fn(&Op) -> bool| target.entry.code.iter().any(|own| is(&own.op));
    has(|op| matches!(op, Op::GridLaunchDependents))
        && has(|op| matches!(op, Op::Fence { scope: Scope::Gpu | Scope::Sys, .. }))
}
