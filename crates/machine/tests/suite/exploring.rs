//! The explorer: the same whatever the number of threads, honest at its limits, and its traces are shortest.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use fencepost_machine::explore::{Aim, Extent, Limits, Stop, Tally, explore};
use fencepost_machine::lostpop::rules::Rules;
use fencepost_machine::lostpop::{Detail, LostPop, Reduction};
use fencepost_machine::model::{Model, Wanted};
use fencepost_machine::requests::{Architecture, Straight};
use fencepost_machine::store_buffer::StoreBuffers;
use fencepost_program::program::{Place, Scope};
use fencepost_program::unfolding::FinalState;

use crate::random::{self, Ingredients, Random};
use crate::support::parse;

const IRIW: &str =
    "PTX: W x=1 || PTX@1: R x // 1; F.sc.sys; R y // 0 || PTX@2: R y // 1; F.sc.sys; R x // 0 || PTX: W y=1";
const SMALL: &str = "PTX: W x=1; W y=1 || PTX@1: R x // 1; F.sc.sys; R y // 0 || PTX@2: R y // 1; R x // 0";

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    // Unreduced and with a limit, because all of it is half a million states; it is reached at the same place.
    let (program, _) = parse(IRIW);
    let requests = program.requests().expect("small");
    let machine = LostPop::with_detail(&requests, Rules::default(), Detail::Everything).expect("PTX");
    let limits = Limits { states: 120_000, ..Limits::default() };
    let run = |workers| explore(&machine, &Aim::Everything, &Limits { workers, ..limits });
    let (one, three) = (run(1), run(3));
    assert!(one.states() >= 120_000, "{}", one.states());
    assert_eq!((one.states(), one.transitions, one.depth), (three.states(), three.transitions, three.depth));
    assert_eq!(one.outcomes, three.outcomes);
    let traces = |explored: &fencepost_machine::explore::Explored<'_, LostPop<'_>>| {
        explored.outcomes.values().map(|tally| explored.trace(tally.first)).collect::<Vec<_>>()
    };
    assert_eq!(traces(&one), traces(&three));
    let (program, _) = parse(SMALL);
    let requests = program.requests().expect("small");
    let machine = LostPop::new(&requests, Rules::default()).expect("PTX");
    let run = |workers| explore(&machine, &Aim::Everything, &Limits { workers, ..Limits::default() });
    let (one, three) = (run(1), run(3));
    assert_eq!((one.extent, one.states()), (Extent::Complete, three.states()));
    assert!(one.outcomes.len() > 5 && one.outcomes == three.outcomes);
    assert_eq!(traces(&one), traces(&three));
}

#[test]
fn a_limit_on_states_is_said_and_ends_at_the_same_place() {
    let (program, condition) = parse(IRIW);
    let requests = program.requests().expect("small");
    let machine = LostPop::new(&requests, Rules::default()).expect("PTX");
    let run =
        |workers| explore(&machine, &Aim::Reach(&condition), &Limits { states: 5_000, workers, ..Limits::default() });
    let (one, two) = (run(1), run(2));
    assert_eq!(one.extent, Extent::Incomplete(Stop::States));
    assert!(one.states() >= 5_000 && one.states() == two.states());
}

#[test]
fn time_memory_and_a_flag_from_outside_stop_it() {
    let (program, _) = parse(IRIW);
    let requests = program.requests().expect("small");
    let machine = LostPop::new(&requests, Rules::default()).expect("PTX");
    let stopped = |limits: &Limits<'_>| explore(&machine, &Aim::Everything, limits).extent;
    let flag = AtomicBool::new(true);
    let limits = Limits::default();
    assert_eq!(stopped(&Limits { deadline: Some(Instant::now()), ..limits }), Extent::Incomplete(Stop::Time));
    assert_eq!(stopped(&Limits { memory: Some(100_000), ..limits }), Extent::Incomplete(Stop::Memory));
    assert_eq!(stopped(&Limits { cancelled: Some(&flag), ..limits }), Extent::Incomplete(Stop::Cancelled));
}

#[test]
fn a_trace_is_shortest_and_says_what_happens() {
    let (program, condition) = parse("x86: W x=1; R y // 0 || x86: W y=1; R x // 0");
    let requests = program.requests().expect("small");
    let machine = StoreBuffers::new(&requests).expect("x86");
    let explored = explore(&machine, &Aim::Reach(&condition), &Limits::default());
    assert_eq!(explored.extent, Extent::Found);
    let (_, tally) = explored.outcomes.first_key_value().expect("an outcome");
    let mut trace = explored.trace(tally.first);
    assert_eq!(trace.len(), 6, "four instructions and two stores that leave their buffers");
    trace.sort();
    assert!(trace.contains(&"P0 executes R y and gets 0".to_owned()), "{trace:#?}");
    assert!(trace.contains(&"W x=1 leaves P0's buffer for memory".to_owned()), "{trace:#?}");
}

/// Deciding, reaching and exploring everything agree.
#[test]
fn aims_agree() {
    for text in
        [IRIW, "PTX: W x=1; W.rel.sys y=1 || PTX@1: R y // 1; R x // 0", "x86: W x=1 || x86: R x // 1; R x // 0"]
    {
        let (program, condition) = parse(text);
        let requests = program.requests().expect("small");
        let model = Model::LostPop(Rules::default());
        let run = |aim| model.explore(&requests, &aim, Wanted::Trace(&condition), &Limits::default()).expect("it runs");
        let (all, reach, decide) = (run(Aim::Everything), run(Aim::Reach(&condition)), run(Aim::Decide(&condition)));
        let found = |it: &fencepost_machine::model::Outcomes| it.trace.as_ref().map(Vec::len);
        assert_eq!(found(&all), found(&reach), "{text}");
        assert_eq!(found(&reach).is_some(), found(&decide).is_some(), "{text}");
        assert!(reach.states <= all.states);
    }
}

/// The reductions of LOST-POP, each alone and all together, on random programs of every compound: the same outcomes, by ways
/// of the same length.
#[test]
fn reduced_is_unreduced_on_random_programs() {
    let gpu = |architecture, cta| (architecture, Place::Gpu { gpu: 0, cluster: 0, cta });
    let (x86, ptx, xc) = (Architecture::X86, Architecture::Ptx, Architecture::Xc);
    let host = |architecture| (architecture, Place::Host);
    let compounds = [
        vec![host(x86)],
        vec![host(Architecture::Sc)],
        vec![host(Architecture::Arm)],
        vec![gpu(ptx, 0), gpu(ptx, 1)],
        vec![host(x86), gpu(ptx, 0), gpu(ptx, 1)],
        vec![host(x86), gpu(xc, 0), gpu(xc, 1)],
    ];
    // More by hand: FENCEPOST_RANDOM_PROGRAMS=120 took four minutes, and all agreed.
    let number = |name, default| std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default);
    let (count, instructions) = (number("FENCEPOST_RANDOM_PROGRAMS", 24), number("FENCEPOST_RANDOM_INSTRUCTIONS", 5));
    let scopes = [Scope::Sys, Scope::Gpu, Scope::Cta];
    let mut random = Random(number("FENCEPOST_RANDOM_SEED", 21));
    let mut seen = [0; 7];
    for seats in &compounds {
        for number in 0..count {
            // Without read-modify-writes, and with one location, other rules are at work.
            let (atomics, locations, threads) =
                ([0, 1, 3][number as usize % 3], 1 + number / 3 % 2, 3 + number / 6 % 2);
            let of = Ingredients { seats, threads, locations, instructions, atomics, scopes: &scopes };
            let program = random::program(&mut random, &of);
            let everything = ends(&program, Detail::Everything);
            seen[6] += everything.1;
            let details = Reduction::ALL.map(Detail::Only).into_iter().chain([Detail::Needed]);
            for (at, detail) in details.enumerate() {
                let reduced = ends(&program, detail);
                if reduced.0 != everything.0 {
                    let differs = |it: &Straight| ends(it, detail).0 != ends(it, Detail::Everything).0;
                    panic!("{detail:?}: {:#?}", random::shrink(program, differs));
                }
                seen[at] += reduced.1;
            }
        }
    }
    println!("states with each reduction, with all, with none: {seen:?}");
    assert!(seen[..6].iter().all(|reduced| *reduced < seen[6]), "{seen:?}");
    assert!(seen[..5].iter().all(|reduced| *reduced > seen[5]), "{seen:?}");
}

/// The outcomes, the lengths of the shortest ways to them, and how many states there are.
fn ends(program: &Straight, detail: Detail) -> (Vec<(FinalState, usize)>, u64) {
    let requests = program.requests().expect("small");
    let machine = LostPop::with_detail(&requests, Rules::default(), detail).expect("a known compound");
    let explored = explore(&machine, &Aim::Everything, &Limits::default());
    assert_eq!(explored.extent, Extent::Complete);
    let length = |tally: &Tally| explored.path(tally.first).len();
    let ends = explored.outcomes.iter().map(|(end, it)| (end.clone(), length(it))).collect();
    (ends, explored.states())
}
