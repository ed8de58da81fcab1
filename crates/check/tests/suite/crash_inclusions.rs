//! A sample of [`super::crash_inclusion`], an exception of each class by hand, and the tests of the corpus.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::crash_compare::loaded;
use super::crash_inclusion::{CLASSES, Class, Models, Outcome, outcome, outcome_of_test, shrunk, tests};
use super::crash_programs::{Program, program};
use super::crash_shrink::shrink;

const PROGRAMS: u64 = 250;

#[test]
fn strict_is_in_epoch_and_epoch_in_sbrp_but_for_known_exceptions() {
    let models = Models::new();
    let mut tally: BTreeMap<Outcome, u64> = BTreeMap::new();
    for number in 0..PROGRAMS {
        let program = program(number);
        let found = outcome(&program, &models);
        assert!(!found.is_finding(), "program {number}: {}", shrunk(&program, &models));
        *tally.entry(found).or_default() += 1;
    }
    println!("{tally:?}");
    assert_eq!(tally.get(&Outcome::Open), None, "an answer is missing");
    // So that each class is one that random programs show, and a wrong classification has a chance to be noticed.
    let count = |class: Class| {
        let of_class = |(outcome, count): (&Outcome, &u64)| match outcome {
            Outcome::Exception(classes) if classes.contains(&class) => *count,
            _ => 0,
        };
        tally.iter().map(of_class).sum::<u64>()
    };
    for class in [Class::Fences, Class::PersistentRelease, Class::Coherence] {
        assert!(count(class) >= 2, "{class:?}: {tally:?}");
    }
}

/// A store, a fence and a store are enough for an exception of conventional fences, and shrinking finds them.
#[test]
fn an_exception_is_made_smaller() {
    let models = Models::new();
    let fences = Outcome::Exception(BTreeSet::from([Class::Fences]));
    let found = (0..PROGRAMS).map(program).find(|program| outcome(program, &models) == fences).expect("an exception");
    let is_same = |program: &Program| Some(outcome(program, &models)).filter(|other| *other == fences);
    let small = shrink(&found, &is_same);
    assert!(found.operations().count() > 4 && small.operations().count() == 3, "{}", small.text());
}

/// The smallest exceptions, and the same without what makes them one.
#[test]
fn exceptions_are_there_and_end_without_their_reason() {
    let wait = |opcode: &str, name: &str, value: u32, at: u32| {
        format!("L{at}: {opcode}.gpu.u32 %r{at}, [{name}]; setp.ne.u32 %p{at}, %r{at}, {value}; @%p{at} bra L{at};")
    };
    let acquire = wait("pacq", "f", 1, 1);
    let stale = format!("{} {}", wait("ld.acquire", "y", 1, 1), wait("ld.relaxed", "x", 1, 2));
    let stored = "st.relaxed.gpu.u32 [x], 1; st.relaxed.gpu.u32 [x], 2; ofence; st.relaxed.gpu.u32 [y], 1;";
    let cases = [
        (Class::Fences, "st.u32 [x], 1; fence.acq_rel.gpu; st.u32 [y], 1;".to_owned(), String::new(), "f"),
        (Class::PersistentRelease, "prel.gpu.u32 [f], 1;".to_owned(), format!("{acquire} st.u32 [y], 1;"), "nvm f"),
        (
            Class::Coherence,
            "st.u32 [x], 2; prel.gpu.u32 [f], 1;".to_owned(),
            format!("{acquire} st.u32 [x], 4; ofence; st.u32 [z], 1;"),
            "f",
        ),
        (Class::Read, stored.to_owned(), format!("{stale} st.u32 [z], 1;"), "f"),
    ];
    let without = [
        (Class::Fences, "fence.acq_rel.gpu;", ""),
        (Class::PersistentRelease, "nvm f", "f"),
        (Class::Coherence, "st.u32 [x], 4;", "st.u32 [y], 4;"),
        (Class::Read, "%r2, [x];", "%r2, [f];"),
    ];
    let models = Models::new();
    assert_eq!(cases.each_ref().map(|(class, ..)| *class), CLASSES);
    for (class, first, second, flag) in cases {
        let text = format!(
            "PTX t\n{{ nvm x = 0; nvm y = 0; nvm z = 0; {flag} = 0; }}\nP0@cta 0, gpu 0 {{ mov.u32 %r0, 0; {first} }}\n\
             P1@cta 0, gpu 0 {{ mov.u32 %r0, 0; {second} }}\n"
        );
        let found = outcome_of_test(&loaded(&text), &models, 64);
        assert_eq!(found, Outcome::Exception(BTreeSet::from([class])), "{text}");
        let (_, own, instead) = without.iter().find(|(of, ..)| *of == class).expect("every class has one");
        let changed = text.replace(own, instead);
        assert_ne!(changed, text, "{class:?}");
        assert_eq!(outcome_of_test(&loaded(&changed), &models, 64), Outcome::Included, "{changed}");
    }
}

#[test]
fn the_corpus_has_no_other_exceptions() {
    // The example compares larger ones too.
    const MOST_EVENTS: usize = 18;
    let models = Models::new();
    for test in tests(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/persistency")) {
        let found = outcome_of_test(&test, &models, MOST_EVENTS);
        println!("{}: {found:?}", test.source.name);
        assert!(!found.is_finding(), "{}: {found:?}", test.source.name);
    }
}
