//! Which barrier operations meet: `program::barrier::Matchings` against a machine that takes every interleaving, on random
//! programs of barriers only, under PTX's rule and Dartagnan's. Groups, what synchronises with what, and who waits for good
//! must be the same.

use crate::support;

use std::collections::{BTreeMap, BTreeSet};

use fencepost_program::barrier::Matchings;
use fencepost_program::expression::Expression;
use fencepost_program::unfolding::{BarrierMatching, GenerationOrder, TraceEnd, Unfolding};
use fencepost_program::{EventId, TraceId};
use support::barriers::{Outcome, Rule, Site, Threads, threads};
use support::random::Random;

const PROGRAMS: u64 = 1500;

/// What the matchings of all choices of traces say.
fn matched(text: &str) -> BTreeSet<Outcome> {
    let found = support::front_end(text, 2).expect("a program");
    let (_, unfolding) = found.expect("barriers have a meaning");
    let mut outcomes = BTreeSet::new();
    for traces in choices(&unfolding) {
        let sites: BTreeMap<EventId, Site> = (traces.iter().enumerate())
            .flat_map(|(thread, trace)| {
                let events = unfolding.traces[trace.index()].events.iter().enumerate();
                events.map(move |(index, event)| (*event, (thread, index)))
            })
            .collect();
        let waits_at = |trace: &TraceId| match &unfolding.traces[trace.index()].end {
            TraceEnd::Exit => None,
            TraceEnd::Blocked { barrier } => Some(sites[barrier].1),
            other => unreachable!("straight-line code ends with {other:?}"),
        };
        let ends: Vec<Option<usize>> = traces.iter().map(waits_at).collect();
        let mut value = |operand: &Expression| operand.evaluate(&mut |_| None);
        let found: Vec<_> = Matchings::new(&unfolding, &traces, GenerationOrder::Unordered, &mut value).collect();
        asked_for(&unfolding, &traces);
        for BarrierMatching { groups, synchronises, .. } in found {
            let group = |members: Vec<EventId>| members.iter().map(|member| sites[member]).collect::<Vec<Site>>();
            let mut groups: Vec<Vec<Site>> = groups.into_iter().map(group).collect();
            groups.sort();
            let mut synchronises: Vec<(Site, Site)> =
                synchronises.iter().map(|(from, to)| (sites[from], sites[to])).collect();
            synchronises.sort();
            outcomes.insert(Outcome { waits_at: ends.clone(), groups, synchronises });
        }
    }
    outcomes
}

/// Whether a matching is one of these traces is answered by a search that is led to it: as the whole list answers it, for each
/// that is in the list, and for each with a group dropped or with two members of different groups exchanged.
fn asked_for(unfolding: &Unfolding, traces: &[TraceId]) {
    for order in [GenerationOrder::Unordered, GenerationOrder::Ordered] {
        let mut value = |operand: &Expression| operand.evaluate(&mut |_| None);
        let mut matchings = || Matchings::new(unfolding, traces, order, &mut value);
        let all: BTreeSet<BarrierMatching> = matchings().collect();
        for matching in &all {
            let mut others = vec![matching.clone()];
            if let [first, .., last] = &*matching.groups {
                let mut exchanged = matching.clone();
                let at = matching.groups.len() - 1;
                (exchanged.groups[0][0], exchanged.groups[at][0]) = (last[0], first[0]);
                exchanged.groups.iter_mut().for_each(|group| group.sort());
                exchanged.groups.sort();
                let mut dropped = matching.clone();
                dropped.groups.pop();
                others.extend([exchanged, dropped]);
            }
            for other in others {
                assert_eq!(matchings().has(&other, &mut |_| true), all.contains(&other), "{other:?} of {all:#?}");
            }
        }
    }
}

fn choices(unfolding: &Unfolding) -> Vec<Vec<TraceId>> {
    let mut found = vec![Vec::new()];
    for thread in &unfolding.threads {
        let extended = found.iter().flat_map(|chosen: &Vec<TraceId>| {
            thread.traces.iter().map(move |trace| chosen.iter().copied().chain([*trace]).collect::<Vec<_>>())
        });
        found = extended.collect();
    }
    found
}

/// The smallest program with a difference: threads and operations dropped while one is left.
fn difference(program: &Threads) -> Option<Threads> {
    if matched(&program.text()) == program.outcomes() {
        return None;
    }
    let mut smaller = Vec::new();
    for thread in 0..program.threads.len() {
        if program.threads.len() > 1 {
            let mut without = program.clone();
            without.threads.remove(thread);
            smaller.push(without);
        }
        for operation in 0..program.threads[thread].1.len() {
            let mut without = program.clone();
            without.threads[thread].1.remove(operation);
            smaller.push(without);
        }
    }
    Some(smaller.iter().find_map(difference).unwrap_or_else(|| program.clone()))
}

#[allow(clippy::panic, clippy::print_stdout, reason = "a test may panic and print")]
fn check(rule: Rule) {
    let (mut blocked, mut several) = (0, 0);
    for seed in 0..PROGRAMS {
        let program = threads(&mut Random::new(seed), rule);
        if let Some(found) = difference(&program) {
            let (ours, machine) = (matched(&found.text()), found.outcomes());
            let missing: Vec<_> = machine.difference(&ours).collect();
            let extra: Vec<_> = ours.difference(&machine).collect();
            panic!("seed {seed}\n{}\nmissing {missing:#?}\nextra {extra:#?}", found.text());
        }
        let outcomes = program.outcomes();
        blocked += u64::from(outcomes.iter().any(|outcome| outcome.waits_at.iter().any(Option::is_some)));
        several += u64::from(outcomes.len() > 1);
    }
    println!("{rule:?}: {PROGRAMS} barrier programs, {blocked} that can block, {several} with several outcomes");
    assert!(blocked > PROGRAMS / 10 && several > PROGRAMS / 20, "{blocked} blocked, {several} with a choice");
}

#[test]
fn ptx_generations_are_those_of_all_interleavings() {
    check(Rule::Ptx);
}

#[test]
fn dartagnan_instances_are_those_of_all_interleavings() {
    check(Rule::Dartagnan);
}
