//! Cheapest is cheapest: on random broken programs with few options, no set of options that costs less is a repair. Which sets
//! are is asked of `check` and its report, one set after the other. `FENCEPOST_FIX` says how many programs.

use fencepost_check::{LoadedModel, Models, Options, Test, Verdict, check, load};
use fencepost_report::{RaceAnswer, TerminationAnswer};
use fencepost_syntax::Source;
use fencepost_syntax::sorted::SharedSort as _;

use super::space::{Space, changed_program};
use super::{Costs, FixAnswer, Fixing};
use crate::edit::Edit;
use crate::fix;
use crate::random::Random;

/// Two or three threads of two accesses each, and an outcome.
pub(super) fn program(random: &mut Random) -> String {
    let threads = if random.below(4) == 0 { 3 } else { 2 };
    let mut text = "PTX random\n{ x = 0; y = 0; }\n".to_owned();
    let mut registers = Vec::new();
    for thread in 0..threads {
        text += &format!("P{thread}@cta 0, gpu 0 {{\n");
        for at in 0..2 {
            let location = random.of(&["x", "y"]);
            if random.below(2) == 0 {
                let word = random.of(&["weak", "relaxed.cta", "relaxed.cta", "release.cta"]);
                text += &format!("  st.{word}.u32 [{location}], {};\n", 1 + random.below(2));
            } else {
                let word = random.of(&["weak", "relaxed.cta", "relaxed.cta", "acquire.cta"]);
                text += &format!("  ld.{word}.u32 %r{at}, [{location}];\n");
                registers.push(format!("P{thread}:%r{at} = {}", random.below(2)));
            }
        }
        text += "}\n";
    }
    registers.push(format!("x = {}", 1 + random.below(2)));
    text + &format!("exists ({})\n", registers.join(" /\\ "))
}

/// Whether nothing is wrong, by the report.
fn is_right(test: &Test, model: &LoadedModel, edits: &[&Edit], is_possible: bool) -> bool {
    let Some((_, program)) = changed_program(&test.litmus, edits) else { return false };
    let report = check(&test.with_program(program), model, &Options::default()).report;
    let found = report.questions.first().map(|answer| answer.verdict.clone());
    found == Some(if is_possible { Verdict::Holds } else { Verdict::Violated })
        && report.races.answer == RaceAnswer::None
        && report.termination.answer == TerminationAnswer::Terminates
}

/// The least cost of a set of options that is a repair, by trying all that cost less than this.
fn least(test: &Test, model: &LoadedModel, space: &Space, below: u32, is_possible: bool) -> Option<u32> {
    let mut sets: Vec<(u32, Vec<usize>)> = vec![(0, Vec::new())];
    for place in 0..space.strongest.len() {
        let grown: Vec<_> = sets
            .iter()
            .flat_map(|(cost, set)| {
                space.of_place(place).map(move |option| {
                    let set: Vec<usize> = set.iter().copied().chain([option]).collect();
                    (cost + space.costs[option], set)
                })
            })
            .filter(|(cost, _)| *cost < below)
            .collect();
        sets.extend(grown);
    }
    sets.shared_sort();
    sets.iter().find(|(_, set)| is_right(test, model, &space.edits(set), is_possible)).map(|(cost, _)| *cost)
}

#[test]
fn nothing_cheaper_is_a_repair() {
    let programs = std::env::var("FENCEPOST_FIX").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let model = Models::shipped("ptx").expect("shipped");
    let (costs, options) = (Costs::default(), Options::default());
    let mut random = Random(22);
    let (mut repaired, mut without, mut tried) = (0, 0, 0);
    while repaired + without < programs && tried < 40 * programs {
        tried += 1;
        let text = program(&mut random);
        let (tests, diagnostics) = load(&Source::new("random.litmus", text.clone()));
        assert!(diagnostics.is_empty(), "{text}{diagnostics:?}");
        let fixing = Fixing { options: &options, costs: &costs, said: &|_| None, is_kept: &|_| false };
        let fixed = fix(&tests[0], &model, &fixing).report;
        let is_possible = fixed.wants.first().is_some_and(|want| want.possible);
        let space = Space::new(&tests[0], &model, &costs, &|_| false);
        match (fixed.answer, fixed.repair) {
            (FixAnswer::Right, _) => assert!(is_right(&tests[0], &model, &[], is_possible), "{text}"),
            (FixAnswer::Repaired, Some(repair)) => {
                repaired += 1;
                assert!(repair.cheapest, "{text}");
                let cheaper = least(&tests[0], &model, &space, repair.cost, is_possible);
                assert_eq!(cheaper, None, "cost {} of {:?}\n{text}", repair.cost, repair.changes);
            }
            (FixAnswer::NoRepair, _) => {
                without += 1;
                assert!(!is_right(&tests[0], &model, &space.edits(&space.strongest), is_possible), "{text}");
            }
            (answer, _) => panic!("{answer:?} of {text}"),
        }
    }
    assert!(repaired >= programs / 2, "{repaired} repaired, {without} not");
}
