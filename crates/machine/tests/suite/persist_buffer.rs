//! The refinement check of the persist buffer at small bounds: the paper's rules keep the persist order, the artifact's merge rule
//! breaks it, and so does every rule that is switched off, but for three that promise nothing. The long runs are
//! `cargo run --release -p fencepost-machine --example refine_persist_buffer`.

use fencepost_machine::persist_buffer::refine::{
    Acquires, Alphabet, Counterexample, Outcome, Question, Scopes, Search, Sms, Stores, Timing, Violation, refine,
};
use fencepost_machine::persist_buffer::{Line, Merge, PersistBuffer, Point, Rule, Rules, Scope, Warp};

fn block(merge: Merge, operations: u8) -> Question {
    Question::new(merge, operations)
}

fn device(merge: Merge, operations: u8) -> Question {
    Question { sms: Sms::Two, scopes: Scopes::BlockAndDevice, ..block(merge, operations) }
}

/// Every acquire reads from a release, and every line is written at most once.
fn once(question: Question) -> Question {
    Question { acquires: Acquires::Released, stores: Stores::OncePerLine, ..question }
}

fn reduced(question: Question) -> Question {
    Question { search: Search::Reduced, ..question }
}

fn broken(question: &Question) -> Option<Counterexample> {
    match refine(question).outcome {
        Outcome::Refines => None,
        Outcome::Breaks(found) => Some(found),
        Outcome::Limit { .. } => panic!("there is no limit"),
    }
}

#[test]
fn the_papers_buffer_keeps_the_persist_order() {
    let paper = Merge::Paper;
    for (question, states) in [
        (block(paper, 4), 15_837),
        (device(paper, 3), 4_203),
        (once(block(paper, 4)), 8_284),
        (once(device(paper, 3)), 3_070),
        (reduced(block(paper, 6)), 35_686),
        (reduced(device(paper, 6)), 40_758),
        (reduced(once(block(paper, 6))), 22_650),
        (reduced(once(device(paper, 6))), 35_523),
    ] {
        let answer = refine(&question);
        assert_eq!((answer.outcome.clone(), answer.search), (Outcome::Refines, question.search));
        assert_eq!(answer.states(), states, "{question:?}");
    }
}

/// A buffer with limits does less, and must still get on.
#[test]
fn limits_break_nothing_and_stop_nothing() {
    let paper = Rules::new(Merge::Paper);
    for rules in [
        paper.with_capacity(1),
        paper.with_capacity(2).with_window(1),
        paper.with_capacity(3).with_window(2),
        paper.with_window(1),
    ] {
        for question in [block(Merge::Paper, 4), device(Merge::Paper, 3)] {
            assert_eq!(broken(&Question { rules, ..question }), None, "{rules:?}");
        }
    }
}

/// An acquire joins an entry that is ahead of the release that it reads from. If the head may stay in the buffer for a while,
/// five operations are enough: an acquire that reads the initial value, as a loop that waits does, and a message.
#[test]
fn the_artifacts_merge_rule_breaks_the_order_of_a_message() {
    assert_eq!(broken(&block(Merge::Artifact, 4)), None);
    let found = broken(&block(Merge::Artifact, 5)).expect("a violation");
    assert_eq!((found.operations, found.violation), (5, Violation::Order));
    let program = ["w0: pAcq.block (initial value); store L0; pRel.block f0", "w1: pAcq.block f0; store L1"];
    assert_eq!(found.program, program);
    let run = [
        "w0: pAcq.block (initial value)",
        "w0: store L0",
        "w0: pRel.block f0",
        "w1: pAcq.block f0",
        "SM0: pAcq.block leaves the head of the buffer",
        "SM0: L0 is flushed",
        "SM0: pRel.block leaves the head of the buffer",
        "w1: store L1",
        "SM0: L1 is flushed",
        "SM0: L1 is durable",
        "broken: L0 is ordered before the store to L1, and can be lost alone",
    ];
    assert_eq!(found.run, run);
}

/// With acquires that read from releases it takes six operations.
#[test]
fn the_artifacts_merge_rule_breaks_programs_whose_acquires_read_from_releases() {
    let question = Question { warps: 2, ..once(block(Merge::Artifact, 6)) };
    assert_eq!(broken(&Question { operations: 5, ..question }), None);
    let found = broken(&question).expect("a violation");
    assert_eq!((found.operations, found.violation), (6, Violation::Order));
}

/// A buffer that drains as early as it can needs a persist that holds up the head: eight operations.
#[test]
fn the_artifacts_merge_rule_breaks_a_buffer_that_drains_early() {
    let question = Question { warps: 2, timing: Timing::Eager, ..once(block(Merge::Artifact, 8)) };
    assert_eq!(broken(&Question { operations: 7, ..question }), None);
    let found = broken(&question).expect("a violation");
    assert_eq!((found.operations, found.violation), (8, Violation::Order));
    let program = [
        "w0: store L0; pAcq.block f1; store L2; pRel.block f0",
        "w1: pRel.block f1; store L1; pAcq.block f0; store L3",
    ];
    assert_eq!(found.program, program);
    assert_eq!(broken(&Question { rules: Rules::new(Merge::Paper), ..question }), None);
}

/// The same by hand: `W0; Rel f; W1; Acq f; W2; Rel g` in one warp and `Acq g; W3` in another. W1 waits for W0 behind the
/// release, so Acq f is still in the buffer when Acq g joins it.
#[test]
fn the_artifacts_merge_rule_lets_a_persist_overtake_the_one_it_acquired() {
    let (release, acquire) = (Point::Release(Scope::Block), Point::Acquire(Scope::Block));
    for merge in Merge::ALL {
        let mut buffer: PersistBuffer<()> = PersistBuffer::new(Rules::new(merge));
        let store = |buffer: &mut PersistBuffer<()>, warp: u8, line: u32| {
            buffer.store(Warp(warp), Line(line)).expect("not stalled");
            buffer.drain_all();
        };
        let issue = |buffer: &mut PersistBuffer<()>, warp: u8, point: Point| {
            buffer.issue(Warp(warp), point).expect("not stalled");
            buffer.drain_all();
        };
        store(&mut buffer, 0, 0);
        issue(&mut buffer, 0, release);
        store(&mut buffer, 0, 1);
        issue(&mut buffer, 0, acquire);
        store(&mut buffer, 0, 2);
        issue(&mut buffer, 0, release);
        issue(&mut buffer, 1, acquire);
        store(&mut buffer, 1, 3);
        for line in [0, 1] {
            assert_eq!(buffer.acknowledge(Line(line)), Some(()));
            buffer.drain_all();
        }
        let in_flight: Vec<u32> = buffer.in_flight().iter().map(|flight| flight.line.0).collect();
        let expected: &[u32] = if merge == Merge::Paper { &[2] } else { &[2, 3] };
        assert_eq!(in_flight, expected, "{merge:?}");
    }
}

/// Which promise breaks, and with how few operations, if one rule is missing.
#[test]
fn every_rule_but_three_is_needed() {
    let order = |operations| Some((operations, Violation::Order));
    let expected = [
        (Rule::FlushStatusAtHead, order(3)),
        (Rule::FlushStatusAtEviction, order(4)),
        (Rule::OrderAheadOfEviction, order(3)),
        (Rule::AcquireDelay, None),
        (Rule::OrderDelay, Some((2, Violation::Durability))),
        (Rule::EvictionDelay, Some((2, Violation::Durability))),
        (Rule::OrderBehindHit, order(4)),
        (Rule::ReleaseBehindHit, None),
        (Rule::CoalescedWarp, order(4)),
        (Rule::ResetAtZero, order(4)),
        (Rule::FenceHoldsBack, order(3)),
        (Rule::AcquireHoldsBack, order(4)),
        (Rule::ReleaseHoldsBack, None),
    ];
    assert_eq!(expected.map(|(rule, _)| rule), Rule::ALL);
    for (rule, outcome) in expected {
        for question in [block(Merge::Paper, 4), device(Merge::Paper, 4)] {
            let found = broken(&Question { rules: question.rules.without(rule), ..question });
            assert_eq!(found.map(|it| (it.operations, it.violation)), outcome, "{rule:?} {question:?}");
        }
    }
}

/// The delay masks also keep the flag of a device-scoped release back until its persists are durable.
#[test]
fn a_flag_that_is_visible_too_early_breaks_the_order_between_blocks() {
    let alphabet = Alphabet { order_fences: false, durability_fences: false, ..Alphabet::ALL };
    let question = Question { alphabet, ..device(Merge::Paper, 4) };
    assert_eq!(broken(&question), None);
    for rule in [Rule::OrderDelay, Rule::EvictionDelay] {
        let found = broken(&Question { rules: question.rules.without(rule), ..question }).expect("a violation");
        assert_eq!((found.operations, found.violation), (4, Violation::Order), "{rule:?}");
        assert_eq!(found.program, ["w0 (SM0): store L0; pRel.device f0", "w2 (SM1): pAcq.device f0; store L1"]);
    }
}

/// What cannot be explored in the reduced way is explored in full.
#[test]
fn the_reduced_search_is_used_only_where_it_is_sound() {
    let question = reduced(block(Merge::Paper, 2));
    assert_eq!(refine(&question).search, Search::Reduced);
    let unneeded = Question { rules: question.rules.without(Rule::ReleaseHoldsBack), ..question };
    assert_eq!(refine(&unneeded).search, Search::Reduced);
    for other in [
        Question { rules: question.rules.without(Rule::ResetAtZero), ..question },
        Question { rules: question.rules.with_window(1), ..question },
        Question { rules: Rules::new(Merge::Artifact), ..question },
        Question { timing: Timing::Eager, ..question },
    ] {
        assert_eq!(refine(&other).search, Search::Full, "{other:?}");
    }
}

#[test]
fn a_limit_on_states_is_told() {
    let question = Question { states: 1000, ..block(Merge::Paper, 5) };
    assert_eq!(refine(&question).outcome, Outcome::Limit { operations: 2 });
}
