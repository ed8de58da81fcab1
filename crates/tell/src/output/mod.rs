//! Reports as text: a table for people, JSON Lines, JUnit XML, herd's log. Pure functions to strings.

mod columns;
pub mod compare;
pub mod conform;
mod crashes;
mod details;
mod diagnosis;
pub mod fix;
pub mod herd;
pub mod json;
pub mod junit;
pub mod kernel;
pub mod machine;
mod races;
pub mod readings;
pub mod slim;
pub mod table;
pub mod width;

use fencepost_check::expect::expectation::Comparison;

pub use fencepost_check::expect::expectation::Status;
use fencepost_check::expect::requirement::Requirement;
use fencepost_report::Report;

/// A report and, where something was expected of it, how it compares.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    pub report: &'a Report,
    pub comparison: &'a Comparison,
    /// What every test of the run is required to be.
    pub required: &'a [Requirement],
}

impl Row<'_> {
    /// As [`Row::status`], but only an expectation can be broken.
    pub fn status_of_expectation(&self) -> Status {
        use fencepost_report::verdict::Verdict;
        match (self.comparison, &self.report.verdict) {
            (Comparison::AsExpected, _) => Status::Good,
            (Comparison::Undecided(_), _) | (_, Verdict::Unknown(_)) => Status::Unknown,
            (Comparison::NothingExpected | Comparison::Different(_), _) => Status::Bad,
        }
    }

    pub fn status(&self) -> Status {
        let required = self.required.iter().map(|requirement| requirement.met(self.report).status());
        required.chain([self.status_of_answer()]).max().unwrap_or(Status::Good)
    }

    fn status_of_answer(&self) -> Status {
        use fencepost_report::verdict::Verdict;
        match (self.comparison, &self.report.verdict) {
            (Comparison::AsExpected, _) => Status::Good,
            (Comparison::Undecided(_), _) | (Comparison::Different(_), Verdict::Unknown(_)) => Status::Unknown,
            (Comparison::Different(_), _) => Status::Bad,
            (Comparison::NothingExpected, Verdict::Holds) => Status::Good,
            (Comparison::NothingExpected, Verdict::Unknown(_)) => Status::Unknown,
            (Comparison::NothingExpected, Verdict::Violated | Verdict::Depends(_)) => Status::Bad,
        }
    }
}
