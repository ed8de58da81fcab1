//! The lattice of answers.

use fencepost_report::answer::Answer;
use fencepost_report::verdict::{Dependence, Why};

/// Every answer, those with something inside twice.
fn all() -> Vec<Answer<u8>> {
    let dependence = |name: &str| Dependence { readings: vec![name.to_owned()], cases: Vec::new() };
    vec![
        Answer::NotAsked,
        Answer::NotDefined,
        Answer::No,
        Answer::Depends(dependence("a")),
        Answer::Depends(dependence("b")),
        Answer::Unknown(Why::Time),
        Answer::Unknown(Why::Memory),
        Answer::Yes(1),
        Answer::Yes(2),
    ]
}

fn join(a: &Answer<u8>, b: &Answer<u8>) -> Answer<u8> {
    a.clone().join(b.clone())
}

#[test]
fn a_join_is_the_greatest_of_its_parts_whatever_their_order() {
    for a in &all() {
        assert_eq!(join(a, a), *a);
        assert_eq!(join(a, &Answer::NotAsked), *a);
        assert_eq!(join(&Answer::NotAsked, a), *a);
        for b in &all() {
            let both = join(a, b);
            assert!(both.rank() == a.rank().max(b.rank()) && (both == *a || both == *b), "{a:?} {b:?}");
            for c in &all() {
                assert_eq!(join(&both, c), join(a, &join(b, c)), "{a:?} {b:?} {c:?}");
            }
        }
    }
}

#[test]
fn a_limit_takes_back_what_was_not_found_and_nothing_else() {
    let why = Why::Cancelled;
    for a in &all() {
        let weak = a.clone().weaken(&why);
        assert!(!weak.is_no() && weak.is_yes() == a.is_yes(), "{a:?}");
        assert_eq!(weak.clone().weaken(&Why::States), weak);
        assert!(a.why().is_none_or(|why| weak.why() == Some(why)), "{a:?}");
        for b in &all() {
            let before = join(&weak, &b.clone().weaken(&why));
            assert_eq!(before.rank(), join(a, b).weaken(&why).rank(), "{a:?} {b:?}");
        }
    }
}

#[test]
fn evidence_can_be_exchanged_or_left_out() {
    for a in &all() {
        assert_eq!(a.clone().map(|_| ()), a.plain());
        assert_eq!(a.plain().rank(), a.rank());
    }
}
