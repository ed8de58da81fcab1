//! A sample of [`super::crash_laws`].

use fencepost_axiom::model::shipped;

use super::crash_compare::{MODELS, Subject};
use super::crash_laws::{Asked, LAWS, Law};
use super::crash_programs::program;

const PROGRAMS: u64 = 150;
/// Of the places where a fence may stand, one of so many is tried.
const ONE_OF: usize = 9;

#[test]
fn crash_states_obey_the_laws() {
    let subjects = MODELS.map(Subject::shipped);
    for law in LAWS {
        let mut asked = Asked::default();
        for number in 0..PROGRAMS {
            let (program, subject) = (program(number), &subjects[number as usize % subjects.len()]);
            if law.broken(&program, subject, ONE_OF, &mut asked).is_some() {
                panic!("program {number}: {}", law.shrunk(&program, subject));
            }
        }
        println!("{law:?}: {asked:?}");
        assert!(asked.programs == PROGRAMS && asked.compared > 30, "{law:?}: too little: {asked:?}");
        // A law about stronger programs says nothing where they are none.
        assert!(law != Law::Fence || asked.fewer > 10, "{law:?}: {asked:?}");
    }
}

/// Models that break a law are found out. The laws about the start and the end hold under every model: what they test is how
/// states are computed.
#[test]
fn the_laws_notice_wrong_models() {
    let (order, prefix) = ("show persists-before as persists-before", "show prefix as crash-prefix");
    let wrong = [
        // Fences that take order away.
        (Law::Fence, order, "show (persists-before \\ (po; [OFENCE | DFENCE]; po)) as persists-before"),
        // Wide scopes that do.
        (Law::Scope, order, "show (persists-before \\ (po; [PREL & SYS]; rf; po)) as persists-before"),
        // A thread does all it does at once.
        (Law::Wait, prefix, "show (prefix | po^-1) as crash-prefix"),
    ];
    let text = shipped("sbrp").expect("a shipped model");
    for (law, own, instead) in wrong {
        assert_eq!(text.matches(own).count(), 1, "`{own}` has another form");
        let subject = Subject::of_text("wrong", &text.replace(own, instead));
        let is_broken = |number: &u64| law.broken(&program(*number), &subject, 1, &mut Asked::default()).is_some();
        let found = (0..PROGRAMS).find(is_broken);
        println!("{law:?}: program {found:?}");
        assert!(found.is_some(), "{law:?} holds under a model with `{instead}`");
    }
}
