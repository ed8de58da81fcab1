//! A sample of [`super::crash_recovery`].

use super::crash_compare::{MODELS, Subject};
use super::crash_recovery::{Recovered, Tally, compare};

const PROGRAMS: u64 = 50;

#[test]
fn recovery_is_that_of_the_fixpoint() {
    let subjects = MODELS.map(Subject::shipped);
    let mut tally = Tally::default();
    for number in 0..PROGRAMS {
        let recovered = Recovered::new(number);
        let subject = &subjects[number as usize % subjects.len()];
        if let Err(message) = compare(&recovered, subject, &mut tally) {
            panic!("programs {number}: {message}");
        }
    }
    println!("{tally:?}");
    let Tally { compared, holds, hangs, nested, .. } = tally;
    assert!(compared == PROGRAMS && nested > 10 && hangs > 3, "too little: {tally:?}");
    assert!(holds > 5 && holds + 5 < compared, "one answer: {tally:?}");
}
