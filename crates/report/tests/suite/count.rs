//! Counts that may be cut.

use fencepost_report::Count;

#[test]
fn a_sum_that_does_not_fit_is_at_least_its_larger_part() {
    let exactly = |count: u64| Count { count, complete: true };
    assert_eq!(exactly(2).plus(exactly(3)), exactly(5));
    assert_eq!(exactly(u64::MAX - 1).plus(exactly(2)), Count { count: u64::MAX - 1, complete: false });
    assert!(!Count { count: 0, complete: false }.says_something() && exactly(0).says_something());
}
