//! The crash states of random programs are those of the definition, under each model of persistent memory and under random
//! readings; and the comparison notices when a rule of the definition is missing.
//! `cargo run --release -p fencepost-check --example crash_campaign` compares as many programs as wanted.

use std::collections::BTreeMap;

use fencepost_axiom::model::shipped;

use super::crash_compare::{MODELS, Subject, Tally, compare, executions, reported};
use super::crash_literal::{RULES, Rule};
use super::crash_programs::{Program, Random, program};

/// Programs that are compared, each under one model.
const PROGRAMS: u64 = 300;

/// The programs, each with the model that it is compared under.
fn sample() -> impl Iterator<Item = (u64, Program, Subject)> {
    let subjects = MODELS.map(Subject::shipped);
    // A set of readings is compiled once: few of them save most of the time.
    let mut random = Random::new(1);
    let others: Vec<Subject> =
        (0..10).map(|at| subjects[at % subjects.len()].with_random_readings(&mut random)).collect();
    let all: Vec<Subject> = subjects.into_iter().chain(others).collect();
    (0..PROGRAMS).map(move |number| (number, program(number), all[random.below(all.len())].clone()))
}

#[test]
fn crash_states_are_those_of_the_definition() {
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    for (number, program, subject) in sample() {
        let tally = tallies.entry(subject.name).or_default();
        if let Err(message) = compare(&program, &subject, tally) {
            panic!("program {number}: {message}");
        }
    }
    for (name, tally) in &tallies {
        println!("{name}: {tally}");
        assert!(tally.compared > 40 && tally.states > 300 && tally.stuck > 10, "{name}: too little: {tally}");
        assert!(tally.held * 10 > tally.compared && tally.held < tally.compared, "{name}: one answer: {tally}");
        let too_large: u64 = tally.too_large.values().sum();
        assert!(too_large * 20 < tally.compared, "{name}: too much is left out: {tally}");
    }
    assert_eq!(tallies.len(), MODELS.len());
}

/// Without any one of the rules, at least three programs of the sample would differ.
#[test]
fn the_comparison_notices_when_a_rule_is_missing() {
    let mut noticed: BTreeMap<Rule, u64> = RULES.iter().map(|rule| (*rule, 0)).collect();
    for (_, program, subject) in sample() {
        let Ok(executions) = executions(&program, &subject) else { continue };
        let Ok(states) = executions.states(&program, None) else { continue };
        for (rule, count) in noticed.iter_mut().filter(|(_, count)| **count < 3) {
            let differs = executions.states(&program, Some(*rule)).is_ok_and(|without| without != states);
            *count += u64::from(differs);
        }
        if noticed.values().all(|count| *count >= 3) {
            return;
        }
    }
    panic!("rules that hardly matter: {noticed:?}");
}

/// Parts of the relations that the models show, as their texts have them.
const PARTS: [(&str, &str, &str); 8] = [
    ("sbrp", "let prefix = in-thread | rf |", "let prefix = rf |"),
    ("sbrp", "let prefix = in-thread | rf |", "let prefix = in-thread |"),
    ("sbrp", "done | syncbar | exitbar", "done | exitbar"),
    ("sbrp", "else [persist]; po; [DFENCE]\n", "else 0\n"),
    ("epoch", "show ([persist]; po; [epoch-barrier]) as durable-at", "show ([persist]; po; [DFENCE]) as durable-at"),
    ("epoch-buffered", "([M]; across-epochs; [M]) | communication", "[M]; across-epochs; [M]"),
    ("strict", "show (po | rf |", "show (po |"),
    ("strict", " | communication)+\n", ")+\n"),
];

/// What the models show of crashes matters to programs of the sample, part by part.
#[test]
fn every_part_of_what_models_show_of_crashes_matters() {
    for (name, own, instead) in PARTS {
        let text = shipped(name).expect("a shipped model");
        assert_eq!(text.matches(own).count(), 1, "`{own}` of {name} has another form");
        let (whole, changed) = (Subject::shipped(name), Subject::of_text("changed", &text.replace(own, instead)));
        let states = |program: &Program, subject| reported(&program.text(), subject).map(|reported| reported.states);
        let differs = |program: &Program| states(program, &whole) != states(program, &changed);
        let found = (0..PROGRAMS).find(|number| differs(&program(*number)));
        println!("{name} with `{instead}`: {found:?}");
        assert!(found.is_some(), "{name} with `{instead}` leaves the same states");
    }
}

/// What is not generated is not compared: each of these occurs in some of the programs.
#[test]
fn every_form_is_generated() {
    const FORMS: [&str; 34] = [
        "prel.cta",
        "prel.cluster",
        "prel.gpu",
        "prel.sys",
        "pacq.cta",
        "pacq.cluster",
        "pacq.gpu",
        "pacq.sys",
        ": pacq",
        ": ld.weak",
        ": ld.acquire",
        "ofence",
        "dfence",
        "fence.acq_rel.cta",
        "fence.acq_rel.gpu",
        "fence.acq_rel.sys",
        "fence.sc.cta",
        "fence.sc.gpu",
        "st.release",
        "ld.acquire",
        "st.weak",
        "st.relaxed.gpu",
        "ld.relaxed.gpu",
        "bar.sync",
        "add.u32",
        "exch.b32",
        "], %r",
        "nvm f",
        "nvm g",
        "cta 1",
        "P2@",
        "crash exists (P",
        "crash ~exists (x",
        "crash forall",
    ];
    let texts: Vec<String> = (0..PROGRAMS).map(|number| program(number).text()).collect();
    for form in FORMS {
        let count = texts.iter().filter(|text| text.contains(form)).count();
        assert!(count >= 3, "`{form}` is in {count} programs");
    }
}
