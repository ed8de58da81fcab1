//! Values that depend on themselves in the SAT engine: searched for under models that do not mind, and left out under those
//! with an axiom against them.

use crate::enumerate_programs;

use std::ops::ControlFlow;

use enumerate_programs::*;
use fencepost_axiom::engine::sat::Sat;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity, Stop};
use fencepost_axiom::model::compile::compile_text;
use fencepost_program::unfolding::Unfolding;

const NO_LIMITS: Limits<'static> = Limits { deadline: None, memory: None, cancelled: None, work: None };

fn explore(unfolding: &Unfolding, text: &str, goal: &Goal<'_>, limits: &Limits<'_>) -> (Exploration, usize) {
    let model = compile_text("test", text).model.expect("the model compiles");
    let mut found = 0;
    let end = Sat.explore(unfolding, &model, goal, limits, &mut |_| {
        found += 1;
        ControlFlow::Continue(())
    });
    (end, found)
}

#[test]
fn only_an_axiom_over_reads_from_and_dependencies_rules_it_out() {
    // The write may be read by the read that it is computed from, and no value fits.
    let circle = Builder::new(1).thread(&[Op::Read(0), Op::WriteNext(0, 0)]).build();
    let goal = Goal::new(Ends::Terminating);
    for (text, expected) in [
        ("acyclic rf | data as no-thin-air\n", Exploration::Complete),
        ("acyclic co | (addr | (data | ctrl)) | rf as no-thin-air\n", Exploration::Complete),
        ("let nothing = 0\n", Exploration::Incomplete(Stop::ThinAir)),
        ("acyclic rf as reads\n", Exploration::Incomplete(Stop::ThinAir)),
        ("acyclic rf | addr as other-dependencies\n", Exploration::Incomplete(Stop::ThinAir)),
        ("acyclic data as no-reads\n", Exploration::Incomplete(Stop::ThinAir)),
        ("acyclic (rf & ext) | data as some-reads\n", Exploration::Incomplete(Stop::ThinAir)),
        ("flag ~acyclic rf | data as warned-of\n", Exploration::Incomplete(Stop::ThinAir)),
        ("irreflexive rf | data as no-axiom-of-cycles\n", Exploration::Incomplete(Stop::ThinAir)),
    ] {
        assert_eq!(explore(&circle, text, &goal, &NO_LIMITS), (expected, 1), "{text}");
    }
}

#[test]
fn increments_that_are_no_atomic_operations_reach_no_more_than_their_number() {
    let ops = [Op::Read(0), Op::WriteNext(0, 0), Op::Read(0), Op::WriteNext(0, 1), Op::Read(0), Op::WriteNext(0, 2)];
    let unfolding = (0..5).fold(Builder::new(1), |builder, _| builder.thread(&ops)).build();
    let text = "acyclic rf | data as no-thin-air\nacyclic po-loc | rf | co | fr as coherence\n";
    let limits = Limits { work: Some(20_000), ..NO_LIMITS };
    let beyond = memory(0, 16);
    let goal = Goal { condition: Some(&beyond), multiplicity: Multiplicity::First, ..Goal::new(Ends::Terminating) };
    assert_eq!(explore(&unfolding, text, &goal, &limits), (Exploration::Complete, 0));
}
