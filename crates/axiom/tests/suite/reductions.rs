//! Every reduction of the unfolder (`program::reduce`) off against on: the same questions have the same answers.
//!
//! Over random programs and a part of the corpus. An answer is known if an execution is found, or if none is and the search
//! was complete; with one of the two unknown (a loop is cut at the bound, time is up) there is nothing to compare. Loops made
//! for one rule are in `rewrite`, the rounds that all threads of a CTA go through together in the tests of `check`, which
//! decides whether they may be left out.

use crate::support;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity, Reach, Stop, reaches_cut};
use fencepost_axiom::model::Model;
use fencepost_program::lower::lower;
use fencepost_program::program::Program;
use fencepost_program::unfold::{ConstantMemory, Elements, Joint, Rewriting, UnfoldOptions, unfold};
use fencepost_syntax::litmus::{Dialect, parse};

use support::Subject;

/// Random programs per kind.
const PROGRAMS: u64 = 600;
/// Folders of the corpus with programs that the reductions are for.
const FOLDERS: &[&str] = &[
    "async",
    "atomicity",
    "barriers",
    "blocks",
    "launch",
    "loops",
    "mp",
    "races",
    "spaces",
    "tcgen05",
    "termination",
    "wild",
];
/// Files of each folder.
const FILES: usize = 80;
/// Events of what is searched.
const LARGEST: usize = 150;
const PATIENCE: Duration = Duration::from_millis(300);

/// Everything as the program says it.
const OFF: UnfoldOptions = UnfoldOptions {
    bound: 2,
    max_events: 2_000,
    rewriting: Rewriting::Unrolled,
    joint: Joint::Unrolled,
    elements: Elements::All,
    constants: ConstantMemory::Read,
    dependencies: fencepost_program::unfold::Dependencies::Syntactic,
    unmodelled: fencepost_program::unfold::Unmodelled::Refused,
};

/// Each reduction alone, and those that need no further check together.
const REDUCTIONS: &[(&str, UnfoldOptions)] = &[
    ("silent updates and private memory", UnfoldOptions { rewriting: Rewriting::Spins, ..OFF }),
    ("joint rounds", UnfoldOptions { joint: Joint::Spins, ..OFF }),
    ("alike elements", UnfoldOptions { elements: Elements::OneOfAlike, ..OFF }),
    ("constant memory", UnfoldOptions { constants: ConstantMemory::Known, ..OFF }),
    (
        "all",
        UnfoldOptions {
            rewriting: Rewriting::Spins,
            elements: Elements::OneOfAlike,
            constants: ConstantMemory::Known,
            ..OFF
        },
    ),
];

/// Whether an execution meets the condition of each question.
fn answers(program: &Program, options: &UnfoldOptions, model: &Model) -> Option<Vec<Option<bool>>> {
    let unfolding = unfold(program, options).ok()?;
    // Whether rounds may be left out is decided in `check`.
    if unfolding.events.len() > LARGEST || !unfolding.joint.is_empty() {
        return None;
    }
    let ask = |question: &fencepost_program::program::Question| {
        let limits = Limits { deadline: Some(Instant::now() + PATIENCE), memory: None, cancelled: None, work: None };
        let goal = Goal {
            filter: program.filter.as_ref().map(|filter| &filter.node),
            condition: Some(&question.condition),
            multiplicity: Multiplicity::First,
            ..Goal::new(Ends::Terminating)
        };
        let mut is_found = false;
        let end = Enumerate.explore(&unfolding, model, &goal, &limits, &mut |_| {
            is_found = true;
            ControlFlow::Break(())
        });
        match end {
            _ if is_found => Some(true),
            Exploration::Complete => Some(false),
            Exploration::Incomplete(Stop::Bound(_))
                if reaches_cut(&Enumerate, &unfolding, model, &limits) == Reach::Never =>
            {
                Some(false)
            }
            _ => None,
        }
    };
    Some(program.questions.iter().map(ask).collect())
}

/// How many answers were compared, and how many unfoldings differed, by reduction.
#[derive(Default, Debug)]
struct Tally {
    compared: [u32; REDUCTIONS.len()],
    smaller: [u32; REDUCTIONS.len()],
}

fn compare(text: &str, model: &Model, tally: &mut Tally) {
    let Some(litmus) = parse(text).0.filter(|litmus| litmus.dialect == Dialect::Ptx) else { return };
    let Some(program) = lower(&litmus).0.filter(|program| program.unsupported.is_empty()) else { return };
    let Some(plain) = answers(&program, &OFF, model) else { return };
    let events = |options: &UnfoldOptions| unfold(&program, options).map_or(0, |it| it.events.len() + it.traces.len());
    for (at, (name, options)) in REDUCTIONS.iter().enumerate() {
        let Some(reduced) = answers(&program, options, model) else { continue };
        for pair in plain.iter().zip(&reduced) {
            if let (Some(off), Some(on)) = pair {
                assert_eq!(off, on, "{name} changes an answer:\n{text}");
                tally.compared[at] += 1;
            }
        }
        tally.smaller[at] += u32::from(events(options) != events(&OFF));
    }
}

fn corpus() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut found = Vec::new();
    for folder in FOLDERS {
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|it| it == "litmus"));
        files.sort();
        let step = files.len().div_ceil(FILES).max(1);
        found.extend(files.into_iter().step_by(step));
    }
    found
}

#[test]
fn no_reduction_changes_an_answer() {
    let subject = Subject::ptx();
    let mut tally = Tally::default();
    for seed in 0..PROGRAMS {
        compare(&support::text(seed), subject.model(), &mut tally);
        compare(&support::strands_text(seed), subject.model(), &mut tally);
    }
    for path in corpus() {
        compare(&std::fs::read_to_string(&path).expect("readable"), subject.model(), &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.compared.iter().all(|count| *count > 100), "{tally:?}");
    let (names, counts) = (REDUCTIONS.iter().map(|(name, _)| *name), tally.smaller);
    for (name, count) in names.zip(counts).filter(|(name, _)| *name != "joint rounds") {
        assert!(count > 0, "{name} reduces nothing: {tally:?}");
    }
}
