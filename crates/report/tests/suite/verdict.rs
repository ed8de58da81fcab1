//! The worst of several verdicts.

use fencepost_report::verdict::{Verdict, Why};

#[test]
fn a_violation_outweighs_an_unknown_answer() {
    let verdicts = [Verdict::Holds, Verdict::Unknown(Why::Time), Verdict::Violated];
    assert_eq!(Verdict::worst(&verdicts), Verdict::Violated);
    assert_eq!(Verdict::worst(&verdicts[..2]), Verdict::Unknown(Why::Time));
    assert_eq!(Verdict::worst(&[]), Verdict::Holds);
}
