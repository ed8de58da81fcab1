//! Most is most: on random programs with few changes, no set of changes that saves more leaves every answer as it is. Which sets
//! do is asked of `check` and its report, one set after the other. `FENCEPOST_SLIM` says how many programs.

use fencepost_check::{LoadedModel, Models, Options, Report, Test, check, load};
use fencepost_syntax::Source;

use super::oracle::Oracle;
use super::space::{Choices, Space};
use super::{Costs, SlimAnswer, Slimming, slim};
use crate::fix::space::changed_program;
use crate::random::Random;

/// Two threads of two accesses each, with fences between and often a barrier, and an outcome.
fn program(random: &mut Random) -> String {
    let scope = if random.below(4) == 0 { "gpu" } else { "cta" };
    let ctas = if scope == "gpu" { [0, 1] } else { [0, 0] };
    let meets = scope == "cta" && random.below(2) == 0;
    let mut text = "PTX random\n{ x = 0; y = 0; }\n".to_owned();
    let mut registers = Vec::new();
    for (thread, cta) in ctas.into_iter().enumerate() {
        text += &format!("P{thread}@cta {cta}, gpu 0 {{\n");
        let barrier = random.below(3);
        for at in 0..3 {
            if meets && at == barrier {
                text += "  bar.sync 0;\n";
            }
            let location = random.of(&["x", "y"]);
            match random.below(if at == 1 { 4 } else { 2 }) {
                0 => {
                    let word = random.of(&["relaxed", "release"]);
                    text += &format!("  st.{word}.{scope}.u32 [{location}], {};\n", 1 + random.below(2));
                }
                1 => {
                    let word = random.of(&["relaxed", "acquire"]);
                    text += &format!("  ld.{word}.{scope}.u32 %r{at}, [{location}];\n");
                    registers.push(format!("P{thread}:%r{at} = {}", random.below(2)));
                }
                _ => text += &format!("  fence.{}.{scope};\n", random.of(&["sc", "acq_rel"])),
            }
        }
        text += "}\n";
    }
    registers.push(format!("x = {}", random.below(3)));
    text + &format!("exists ({})\n", registers.join(" /\\ "))
}

/// The answers of a report.
fn answers(report: &Report) -> String {
    let questions: Vec<_> = report.questions.iter().map(|question| &question.verdict).collect();
    format!("{questions:?} {:?} {:?}", report.races.answer, report.termination.answer)
}

struct Compared<'c> {
    test: &'c Test,
    model: &'c LoadedModel,
    space: &'c Space,
    oracle: &'c Oracle<'c>,
    original: String,
}

impl Compared<'_> {
    fn is_same(&self, choices: &Choices) -> bool {
        let Some((_, program)) = changed_program(&self.test.litmus, &self.space.edits(choices)) else { return false };
        let test = self.test.with_program(program);
        let report = check(&test, self.model, &Options::default()).report;
        let changes_paths = choices.iter().enumerate().any(|(at, own)| *own > 0 && self.space.changes_paths(at));
        answers(&report) == self.original
            && (!changes_paths || self.oracle.computes_the_same(&test.program) == Some(true))
    }

    /// A set that saves more than this with every answer unchanged.
    fn saves_more(&self, than: u32) -> Option<Choices> {
        let mut sets: Vec<Choices> = vec![Vec::new()];
        for place in &self.space.places {
            let grow = |set: &Choices| {
                (0..=place.options.len())
                    .map(|choice| set.iter().copied().chain([choice]).collect::<Choices>())
                    .collect()
            };
            sets = sets.iter().flat_map(|set| -> Vec<Choices> { grow(set) }).collect();
        }
        let mut more = sets.into_iter().filter(|set| self.space.saves(set) > than);
        more.find(|set| self.is_same(set))
    }
}

#[test]
fn no_set_saves_more() {
    let programs = std::env::var("FENCEPOST_SLIM").ok().and_then(|text| text.parse().ok()).unwrap_or(30);
    let model = Models::shipped("ptx").expect("shipped");
    let (costs, options) = (Costs::default(), Options::default());
    let mut random = Random(22);
    let (mut slimmer, mut compared, mut tried) = (0, 0, 0);
    while compared < programs && tried < 40 * programs {
        tried += 1;
        let text = program(&mut random);
        let (tests, diagnostics) = load(&Source::new("random.litmus", text.clone()));
        assert!(diagnostics.is_empty(), "{text}{diagnostics:?}");
        let test = &tests[0];
        let space = Space::new(test, &model, &costs, &|_| false);
        let sets: usize = space.places.iter().map(|place| place.options.len() + 1).product();
        if sets > 1000 {
            continue;
        }
        let report = slim(test, &model, &Slimming { options: &options, costs: &costs, is_kept: &|_| false }).report;
        if report.answer == SlimAnswer::NotRight {
            continue;
        }
        compared += 1;
        let oracle = Oracle::new(test, &model, &options).expect("answered");
        let original = answers(&check(test, &model, &options).report);
        let comparison = Compared { test, model: &model, space: &space, oracle: &oracle, original };
        let saves = report.together.as_ref().map_or(0, |set| set.saves);
        assert!(report.together.as_ref().is_none_or(|set| set.most) && report.why.is_none(), "{text}{report:?}");
        assert_eq!(comparison.saves_more(saves), None, "{saves} of {:?}\n{text}", report.together);
        for change in &report.alone {
            assert!(change.saves <= saves, "{text}{change:?}");
        }
        slimmer += usize::from(saves > 0);
    }
    assert!(slimmer > programs / 3 && compared == programs, "{slimmer} slimmer of {compared}");
}
