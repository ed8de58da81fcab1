//! Exit codes: 0 as expected, 1 violated or disagreeing, 2 bad input, 3 unknown; over several files the first of 2, 1, 3
//! that occurs.

use fencepost_tell::output::Status;

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Exit {
    bad_input: bool,
    bad_answer: bool,
    unknown: bool,
}

impl Exit {
    pub(crate) const BAD_INPUT: Exit = Exit { bad_input: true, bad_answer: false, unknown: false };

    pub(crate) fn bad_input(&mut self) {
        self.bad_input = true;
    }

    pub(crate) fn status(&mut self, status: Status) {
        match status {
            Status::Good => {}
            Status::Unknown => self.unknown = true,
            Status::Bad => self.bad_answer = true,
        }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Exit { bad_input: true, .. } => 2,
            Exit { bad_answer: true, .. } => 1,
            Exit { unknown: true, .. } => 3,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_input_comes_before_a_violation_before_an_unknown_answer() {
        let mut exit = Exit::default();
        assert_eq!(exit.code(), 0);
        exit.status(Status::Unknown);
        assert_eq!(exit.code(), 3);
        exit.status(Status::Bad);
        assert_eq!(exit.code(), 1);
        exit.bad_input();
        assert_eq!(exit.code(), 2);
    }
}
