//! Going through a run by hand.

use fencepost_machine::coherence::Swmr;
use fencepost_machine::lostpop::rules::Rules;
use fencepost_machine::machine::Ending;
use fencepost_machine::model::Model;
use fencepost_machine::step::{Choice, Refused, Stepping};

use crate::support::parse;

/// Takes the first enabled transition whose words start so.
fn take(run: &mut dyn Stepping, start: &str) {
    let enabled = run.enabled();
    let at = enabled.iter().position(|words| words.starts_with(start));
    let at = at.unwrap_or_else(|| panic!("{start}: not among {enabled:#?}"));
    run.take(Choice(at as u32)).expect("it is enabled");
}

#[test]
fn store_buffering_by_hand_and_back() {
    let (program, _) = parse("x86: W x=1; R y // 0 || x86: W y=1; R x // 0");
    let requests = program.requests().expect("small");
    Model::StoreBuffers
        .step(&requests, |run| {
            assert_eq!(run.enabled(), ["P0 executes W x=1", "P1 executes W y=1"]);
            assert_eq!(run.undo(), Err(Refused::AtTheStart));
            assert_eq!(run.take(Choice(9)), Err(Refused::NoSuchTransition { enabled: 2 }));
            for step in
                ["P0 executes W x=1", "P0 executes R y and gets 0", "P1 executes W y=1", "P1 executes R x and gets 0"]
            {
                take(run, step);
            }
            assert!(run.show().contains(&"P0's buffer: W x=1".to_owned()), "{:#?}", run.show());
            assert_eq!(run.undo().as_deref(), Ok("P1 executes R x and gets 0"));
            take(run, "W x=1 leaves P0's buffer");
            take(run, "P1 executes R x and gets 1");
            take(run, "W y=1 leaves P1's buffer");
            assert_eq!(run.history().len(), 6);
            assert!(matches!(run.ending(), Ending::Final(_)), "{:?}", run.ending());
            assert!(run.enabled().is_empty());
        })
        .expect("x86");
}

#[test]
fn figure_5_by_hand() {
    let (program, _) = parse("PTX: W x=1 || PTX@1: R x // 1");
    let requests = program.requests().expect("small");
    Model::LostPop(Rules::default())
        .step(&requests, |run| {
            take(run, "P0 accepts W x=1");
            take(run, "P1 accepts R x");
            take(run, "P0's W x=1 propagates to P1");
            assert!(run.show().contains(&"P0's W x=1 before P1's R x".to_owned()), "{:#?}", run.show());
            take(run, "P1's R x propagates to P0");
            assert_eq!(run.enabled(), ["P1's R x is satisfied by P0's W x=1 and returns 1"]);
            take(run, "P1's R x is satisfied");
            assert!(matches!(run.ending(), Ending::Final(state) if state.registers[1][0].0 == 1));
        })
        .expect("PTX");
}

#[test]
fn the_protocol_by_hand() {
    let (program, _) = parse("XC: W x=1 || x86: R x // 1");
    let requests = program.requests().expect("small");
    Model::Coherence(Swmr::Kept)
        .step(&requests, |run| {
            for step in [
                "P1's core fetches x",
                "P0 executes W x=1",
                "the L2 of GPU 0 asks the directory",
                "the invalidation of x arrives at P1's core",
                "the directory grants x to the L2 of GPU 0",
                "the L1 of SM 0 writes x back",
                "P1's core fetches x",
                "P1 executes R x and gets 1",
            ] {
                take(run, step);
            }
            assert!(matches!(run.ending(), Ending::Final(_)), "{:#?}", run.show());
        })
        .expect("a compound");
}
