//! Tables 1 and 2 of the paper: the model's cells by LOST-POP, the observed ones by the coherence protocol.
//!
//! Threads run on different multiprocessors, as the captions say. Fences are where the captions put them; the Lean tests
//! have some more on the CPU side, with the same verdicts.

use fencepost_machine::coherence::Swmr;
use fencepost_machine::explore::{Aim, Extent, Limits};
use fencepost_machine::lostpop::rules::Rules;
use fencepost_machine::model::{Model, Wanted};
use fencepost_machine::requests::{Architecture, Straight};
use fencepost_program::program::{Place, Scope};

use crate::random::{self, Ingredients, Random, shrink};
use crate::support::Verdict::{self, Allowed, Forbidden};
use crate::support::{ask, corpus, json, outcomes, parse};

/// Table 1: name, program (A is the architecture), x86, XC. None where the table has no cell.
const TABLE_1: [(&str, &str, Option<Verdict>, Verdict); 8] = [
    ("MP-sys", "A@0: W x=1; W y=1 || A@1: R y // 1; R x // 0", Some(Forbidden), Allowed),
    ("SB-sys", "A@0: W x=1; R y // 0 || A@1: W y=1; R x // 0", Some(Allowed), Allowed),
    ("SB-sys-F", "A@0: W x=1; F; R y // 0 || A@1: W y=1; F; R x // 0", Some(Forbidden), Forbidden),
    (
        "IRIW-sys",
        "A@0: W x=1 || A@1: R x // 1; R y // 0 || A@2: R y // 1; R x // 0 || A@3: W y=1",
        Some(Forbidden),
        Allowed,
    ),
    ("LB-sys", "A@0: R x // 1; W y=1 || A@1: R y // 1; W x=1", Some(Forbidden), Forbidden),
    ("MP-sys-F", "A@0: W x=1; F; W y=1 || A@1: R y // 1; F; R x // 0", None, Forbidden),
    ("MP-cta-F", "A@0: W x=1; F.cta; W y=1 || A@1: R y // 1; F.cta; R x // 0", None, Allowed),
    (
        "IRIW-sys-F",
        "A@0: W x=1 || A@1: R x // 1; F; R y // 0 || A@2: R y // 1; F; R x // 0 || A@3: W y=1",
        None,
        Forbidden,
    ),
];

/// Table 2: name, program, with SWMR (and in the model), without SWMR in gem5.
const TABLE_2: [(&str, &str, Verdict, Verdict); 11] = [
    ("MP1-sys", "XC: W x=1; W y=1 || x86: R y // 1; R x // 0", Allowed, Allowed),
    ("MP1-sys-F", "XC: W x=1; F; W y=1 || x86: R y // 1; R x // 0", Forbidden, Allowed),
    ("MP1-cta-F", "XC: W x=1; F.cta; W y=1 || x86: R y // 1; R x // 0", Allowed, Allowed),
    ("MP2-sys", "x86: W x=1; W y=1 || XC: R y // 1; R x // 0", Allowed, Allowed),
    ("MP2-sys-F", "x86: W x=1; W y=1 || XC: R y // 1; F; R x // 0", Forbidden, Forbidden),
    ("SB-sys", "x86: W x=1; R y // 0 || XC: W y=1; R x // 0", Allowed, Allowed),
    ("SB-sys-F", "x86: W x=1; MFENCE; R y // 0 || XC: W y=1; F; R x // 0", Forbidden, Forbidden),
    (
        "IRIW1-sys",
        "XC@0: W x=1 || x86: R x // 1; R y // 0 || x86: R y // 1; R x // 0 || XC@1: W y=1",
        Forbidden,
        Forbidden,
    ),
    ("IRIW2-sys", "x86: W x=1 || XC@0: R x // 1; R y // 0 || XC@1: R y // 1; R x // 0 || x86: W y=1", Allowed, Allowed),
    (
        "IRIW2-sys-F",
        "x86: W x=1 || XC@0: R x // 1; F; R y // 0 || XC@1: R y // 1; F; R x // 0 || x86: W y=1",
        Forbidden,
        Forbidden,
    ),
    ("LB-sys", "x86: R x // 1; W y=1 || XC: R y // 1; W x=1", Forbidden, Forbidden),
];

fn verdict(model: Model, text: &str) -> Verdict {
    let (program, condition) = parse(text);
    ask(model, &program.requests().expect("small"), &condition).0
}

const MODEL: fn() -> Model = || Model::LostPop(Rules::default());
const SWMR: Model = Model::Coherence(Swmr::Kept);
const EARLY: Model = Model::Coherence(Swmr::EarlyAcknowledge);

/// Every observed cell of table 1 is the model's; the protocol machine agrees with both columns.
#[test]
fn table_1() {
    for (name, text, x86, xc) in TABLE_1 {
        if let Some(expected) = x86 {
            let text = text.replace("A@", "x86@").replace("F;", "MFENCE;");
            assert_eq!(verdict(MODEL(), &text), expected, "{name} in x86-TSO");
            assert_eq!(verdict(Model::StoreBuffers, &text), expected, "{name} with store buffers");
            assert_eq!(verdict(SWMR, &text), expected, "{name} on the CPU");
        }
        let text = text.replace("A@", "XC@");
        assert_eq!(verdict(MODEL(), &text), xc, "{name} in XC");
        assert_eq!(verdict(SWMR, &text), xc, "{name} on the GPU");
    }
}

#[test]
fn table_2() {
    let mut not_seen = Vec::new();
    for (name, text, with, without) in TABLE_2 {
        assert_eq!(verdict(MODEL(), text), with, "{name} in the model");
        assert_eq!(verdict(SWMR, text), with, "{name} with SWMR");
        match (verdict(EARLY, text), without) {
            (found, seen) if found == seen => {}
            (Allowed, Forbidden) => not_seen.push(name),
            (found, _) => panic!("{name} without SWMR: {found:?}, but gem5 showed it"),
        }
    }
    println!("allowed, not seen in gem5: {not_seen:?}");
    assert_eq!(not_seen, ["SB-sys-F", "IRIW1-sys"]);
    let half = "x86: W x=1; R y // 0 || XC: W y=1; F; R x // 0";
    assert_eq!((verdict(MODEL(), half), verdict(SWMR, half)), (Allowed, Allowed), "SB-sys-HF, unpublished");
}

/// The tables here are those of the paper.
#[test]
fn the_tables_are_the_published_ones() {
    let Some(path) = corpus("lostpop/gem5_tables.json") else { return };
    let tables = json(&path);
    let cell = |table: &str, name: &str, cell: &str| {
        let rows = tables[table].as_array().expect("rows");
        let row = rows.iter().find(|row| row["test"] == name).unwrap_or_else(|| panic!("no {name}"));
        row["cells"][cell].as_str().map(Verdict::of)
    };
    assert_eq!(tables["table1"].as_array().map(Vec::len), Some(TABLE_1.len()));
    assert_eq!(tables["table2"].as_array().map(Vec::len), Some(TABLE_2.len()));
    for (name, _, x86, xc) in TABLE_1 {
        assert_eq!((cell("table1", name, "x86TSO"), cell("table1", name, "XC-M.")), (x86, Some(xc)), "{name}");
        assert_eq!((cell("table1", name, "x86-Gem5"), cell("table1", name, "XC-Gem5")), (x86, Some(xc)), "{name}");
    }
    for (name, _, with, without) in TABLE_2 {
        assert_eq!((cell("table2", name, "Model"), cell("table2", name, "SWMR")), (Some(with), Some(with)), "{name}");
        assert_eq!(cell("table2", name, "no-SWMR"), Some(without), "{name}");
    }
}

#[test]
fn what_early_acknowledgement_breaks_has_a_trace() {
    for name in ["MP1-sys-F", "SB-sys-F", "IRIW1-sys"] {
        let text = TABLE_2.iter().find(|row| row.0 == name).expect("a row").1;
        let (program, condition) = parse(text);
        let requests = program.requests().expect("small");
        let found = EARLY
            .explore(&requests, &Aim::Reach(&condition), Wanted::Trace(&condition), &Limits::default())
            .expect("the protocol runs it");
        assert_eq!(found.extent, Extent::Found);
        let trace = found.trace.expect("a trace");
        println!("{name}:\n  {}", trace.join("\n  "));
        assert!(trace.iter().any(|step| step.contains("with invalidations still under way")), "{name}");
    }
}

/// With SWMR the protocol implements the compound of x86-TSO and scoped XC.
#[test]
fn the_protocol_with_swmr_is_contained_in_the_model() {
    let gpu = |cta| (Architecture::Xc, Place::Gpu { gpu: 0, cluster: 0, cta });
    let seats = [(Architecture::X86, Place::Host), gpu(0), gpu(1)];
    let scopes = [Scope::Sys, Scope::Cta];
    let of = Ingredients { seats: &seats, threads: 3, locations: 2, instructions: 6, atomics: 0, scopes: &scopes };
    let mut random = Random(11);
    let breaks = |program: &Straight| {
        let requests = program.requests().expect("small");
        !outcomes(SWMR, &requests).is_subset(&outcomes(MODEL(), &requests))
    };
    for number in 0..60 {
        let program = random::program(&mut random, &of);
        if breaks(&program) {
            let small = shrink(program, breaks);
            let requests = small.requests().expect("small");
            let (protocol, model) = (outcomes(SWMR, &requests), outcomes(MODEL(), &requests));
            let more: Vec<_> = protocol.difference(&model).collect();
            panic!("program {number}: {small:#?}\nonly the protocol: {more:?}");
        }
    }
}
