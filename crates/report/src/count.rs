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
