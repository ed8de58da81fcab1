//! Going through a machine by hand, as text: what was typed in, what there is to see out. A front end reads and prints.

use std::fmt;
use std::fmt::Write;

use fencepost_check::operational::assignment;
use fencepost_check::phrase;
use fencepost_check::test::Test;
use fencepost_machine::machine::{Ending, Stuck};
use fencepost_machine::step::{Choice, Refused, Stepping};

use crate::words::machine::stuck;

/// What somebody typed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// A transition, by its number in the list, from 1.
    Take(u32),
    Undo,
    List,
    Show,
    History,
    Help,
    Quit,
}

/// Not understood, or not possible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    NoCommand(String),
    Refused(Refused),
    /// There are transitions left (caches never come to rest), but the run is over.
    Ended {
        steps: usize,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NoCommand(word) => write!(f, "`{word}` is no command: {HELP}"),
            Problem::Ended { steps } => {
                write!(f, "the run has ended after {}, and takes no more", phrase::count(*steps as u64, "step"))
            }
            Problem::Refused(Refused::AtTheStart) => write!(f, "nothing was taken yet"),
            Problem::Refused(Refused::NoSuchTransition { enabled: 0 }) => write!(f, "nothing is enabled here"),
            Problem::Refused(Refused::NoSuchTransition { enabled }) => {
                write!(f, "there are only the transitions 1 to {enabled}")
            }
        }
    }
}

impl std::error::Error for Problem {}

pub const HELP: &str = "a number takes that transition; u takes the last one back, l lists transitions, s shows the state, h the way here, q quits";

/// Reads a command.
pub fn parse(word: &str) -> Result<Command, Problem> {
    Ok(match word.trim() {
        "u" | "undo" => Command::Undo,
        "l" | "list" | "" => Command::List,
        "s" | "show" => Command::Show,
        "h" | "history" => Command::History,
        "?" | "help" => Command::Help,
        "q" | "quit" => Command::Quit,
        word => match word.parse() {
            Ok(number) => Command::Take(number),
            Err(_) => return Err(Problem::NoCommand(word.to_owned())),
        },
    })
}

/// Does what was typed, and says what happened.
pub fn act(test: &Test, run: &mut dyn Stepping, command: Command) -> Result<String, Problem> {
    Ok(match command {
        Command::Take(number) => {
            if run.ending() != Ending::Running {
                return Err(Problem::Ended { steps: run.history().len() });
            }
            // There is no transition 0.
            let choice = Choice(number.wrapping_sub(1));
            let taken = run.take(choice).map_err(Problem::Refused)?;
            format!("{taken}\n{}", list(test, run))
        }
        Command::Undo => {
            let undone = run.undo().map_err(Problem::Refused)?;
            format!("taken back: {undone}\n{}", list(test, run))
        }
        Command::List => list(test, run),
        Command::Show => lines(&run.show()),
        Command::History => numbered(&run.history()),
        Command::Help => format!("{HELP}\n"),
        Command::Quit => String::new(),
    })
}

/// What can happen next, or how the run ended.
pub fn list(test: &Test, run: &dyn Stepping) -> String {
    let steps = phrase::count(run.history().len() as u64, "step");
    match run.ending() {
        Ending::Running => numbered(&run.enabled()),
        Ending::Final(state) => format!("the run has ended after {steps}: {}\n", assignment(test, &state)),
        Ending::Stuck(why @ Stuck::Spin) => format!("the run is followed no further after {steps}: {}\n", stuck(why)),
        Ending::Stuck(why) => format!("the run ends without an outcome after {steps}: {}\n", stuck(why)),
        Ending::Cut(_) => format!("the run leaves the unrolled part of the program after {steps}\n"),
    }
}

fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("      {line}\n")).collect()
}

fn numbered(lines: &[String]) -> String {
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let _ = writeln!(text, "  {:>3}  {line}", at + 1);
    }
    text
}
