//! Numbers of executions: exact, or at least so many.

/// How many executions there are.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Count {
    pub count: u64,
    /// False: there are at least `count`.
    pub complete: bool,
}

impl Count {
    /// That there is at least none goes without saying.
    pub fn says_something(&self) -> bool {
        self.complete || self.count > 0
    }

    /// Of two parts of one whole. A number that is too large for its type is at least what it was.
    pub fn plus(self, other: Count) -> Count {
        match self.count.checked_add(other.count) {
            Some(count) => Count { count, complete: self.complete && other.complete },
            None => Count { count: self.count.max(other.count), complete: false },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_does_not_fit_is_at_least_its_larger_part() {
        let exactly = |count: u64| Count { count, complete: true };
        assert_eq!(exactly(2).plus(exactly(3)), exactly(5));
        assert_eq!(exactly(u64::MAX - 1).plus(exactly(2)), Count { count: u64::MAX - 1, complete: false });
        assert!(!Count { count: 0, complete: false }.says_something() && exactly(0).says_something());
    }
}
