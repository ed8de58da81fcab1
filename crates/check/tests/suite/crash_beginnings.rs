//! Crashes in runs that the unrolling bound cuts: what they leave, a larger bound finds in whole executions.

use std::collections::BTreeSet;

use fencepost_check::options::Deepening;
use fencepost_check::{LoadedModel, Models, Options, check, load};
use fencepost_report::Report;
use fencepost_syntax::Source;

use super::crash_compare::MODELS;
use super::crash_programs::Random;

const PROGRAMS: usize = 40;
/// How often the loop goes round.
const ROUNDS: u32 = 3;

const OPERATIONS: [&str; 11] = [
    "st.relaxed.gpu.u32 [y], 1;",
    "st.relaxed.gpu.u32 [y], 2;",
    "st.relaxed.gpu.u32 [y], %r1;",
    "st.relaxed.gpu.u32 [z], 1;",
    "ofence;",
    "dfence;",
    "prel.gpu.u32 [f], 1;",
    "prel.cta.u32 [z], 2;",
    "pacq.gpu.u32 %r3, [f];",
    "fence.acq_rel.gpu;",
    "ld.relaxed.gpu.u32 %r3, [y];",
];

/// A thread that goes round until it has read a value, and another.
fn program(random: &mut Random) -> String {
    let mut operations =
        |most: usize| (0..random.below(most + 1)).map(|_| random.pick(&OPERATIONS)).collect::<String>();
    let (before, behind, after, other) = (operations(1), operations(2), operations(1), operations(3));
    let cta = random.below(2);
    let last = ROUNDS - 1;
    format!(
        "PTX t\n{{ nvm x = 0; nvm y = 0; nvm z = 0; f = 0; }}\nP0@cta 0 {{\n mov.u32 %r1, 0;\nL: {before}\n \
         atom.relaxed.gpu.global.add.u32 %r1, [x], 1;\n {behind}\n setp.ne.u32 %p1, %r1, {last};\n @%p1 bra L;\n {after}\n}}\n\
         P1@cta {cta} {{\n mov.u32 %r1, 0;\n {other}\n}}\n"
    )
}

fn report(text: &str, model: &LoadedModel, bound: u32) -> Report {
    let test = load(&Source::new("t.litmus", text)).0.remove(0);
    check(&test, model, &Options { bound, deepening: Deepening::Off, ..Options::default() }).report
}

#[test]
fn what_a_beginning_leaves_a_larger_bound_finds() {
    let mut random = Random::new(20);
    let models: Vec<LoadedModel> = MODELS.iter().map(|name| Models::shipped(name).expect("shipped")).collect();
    let (mut found, mut open) = (vec![0; models.len()], 0);
    for number in 0..PROGRAMS {
        let (text, at) = (program(&mut random), number % models.len());
        let whole = report(&text, &models[at], ROUNDS + 1).crashes.expect("nothing else is asked");
        assert!(whole.executions.is_some_and(|executions| executions.complete), "{text}");
        let states: BTreeSet<String> = whole.states.iter().map(|state| state.values.to_string()).collect();
        let all = (0..=ROUNDS).flat_map(|x| (0..3).flat_map(move |y| (0..3).map(move |z| [x, y, z])));
        let asked = all.map(|[x, y, z]| format!("crash exists (x = {x} /\\ y = {y} /\\ z = {z})\n"));
        let text = format!("{text}{}", asked.collect::<String>());
        for bound in [1, 2] {
            for answer in report(&text, &models[at], bound).crashes.expect("they are asked").questions {
                let state = answer.witness.map(|witness| witness.state.to_string());
                match (answer.verdict.word(), state) {
                    ("Holds" | "Depends", Some(state)) => {
                        assert!(states.contains(&state), "{state} under {} with bound {bound}:\n{text}", MODELS[at]);
                        found[at] += 1;
                    }
                    ("Unknown", None) => open += 1,
                    other => panic!("{other:?} under {} with bound {bound}:\n{text}", MODELS[at]),
                }
            }
        }
    }
    println!("found {found:?}, open {open}");
    assert!(found.iter().all(|found| *found > 30) && open > 30, "found {found:?}, open {open}");
}
