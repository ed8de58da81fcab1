//! Questions beyond the condition, asked of every test of a run (`check --require`): a program with a race or a hang may
//! still fulfil its condition, and a pipeline that builds it should be told.

use fencepost_report::{ProtocolAnswer, RaceAnswer, Report, TerminationAnswer};

use crate::expect::expectation::Status;

/// What a program can be required to be.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Requirement {
    /// No data race, no access after the owner's exit, no undefined behaviour.
    RaceFree,
    /// Every fair execution ends.
    Terminates,
    /// The rules of mbarriers are kept.
    Protocol,
}

/// Whether a report fulfils a requirement.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Met {
    Yes,
    No,
    /// Under some readings of the specification only.
    Depends,
    Unknown,
}

impl Requirement {
    pub const ALL: [Requirement; 3] = [Requirement::RaceFree, Requirement::Terminates, Requirement::Protocol];

    pub fn name(self) -> &'static str {
        match self {
            Requirement::RaceFree => "race-free",
            Requirement::Terminates => "terminates",
            Requirement::Protocol => "protocol",
        }
    }

    /// A test without mbarriers has no protocol to break. A model without races (x86-tso, or one's own that declares no
    /// flag of a race) does not say that a program has none.
    pub fn met(self, report: &Report) -> Met {
        match self {
            Requirement::RaceFree if report.undefined.is_some() || !report.races.pairs.is_empty() => {
                if report.races.answer == RaceAnswer::Depends { Met::Depends } else { Met::No }
            }
            Requirement::RaceFree => match report.races.answer {
                RaceAnswer::None => Met::Yes,
                RaceAnswer::Found => Met::No,
                RaceAnswer::Depends => Met::Depends,
                RaceAnswer::Unknown | RaceAnswer::NotDefined | RaceAnswer::NotAsked => Met::Unknown,
            },
            Requirement::Terminates => match report.termination.answer {
                TerminationAnswer::Terminates => Met::Yes,
                TerminationAnswer::MayHang => Met::No,
                TerminationAnswer::Depends => Met::Depends,
                TerminationAnswer::Unknown | TerminationAnswer::NotAsked => Met::Unknown,
            },
            Requirement::Protocol => match report.protocol.answer {
                ProtocolAnswer::None | ProtocolAnswer::NotAsked => Met::Yes,
                ProtocolAnswer::Found => Met::No,
                ProtocolAnswer::Depends => Met::Depends,
                ProtocolAnswer::Unknown => Met::Unknown,
            },
        }
    }

    /// Whether a report cannot tell because its model declares no flag of a race.
    pub fn lacks_flags(self, report: &Report) -> bool {
        let no_races = self == Requirement::RaceFree && report.races.answer == RaceAnswer::NotDefined;
        no_races && self.met(report) == Met::Unknown
    }
}

impl Met {
    pub fn word(self) -> &'static str {
        match self {
            Met::Yes => "yes",
            Met::No => "no",
            Met::Depends => "depends",
            Met::Unknown => "unknown",
        }
    }

    pub fn status(self) -> Status {
        match self {
            Met::Yes => Status::Good,
            Met::Unknown => Status::Unknown,
            Met::No | Met::Depends => Status::Bad,
        }
    }
}
