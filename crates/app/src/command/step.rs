//! Stepping through a machine, on a terminal or from a script.

use std::io::{BufRead, IsTerminal};

use fencepost_check::operational;
use fencepost_check::{Test, Why};
use fencepost_machine::setup::Setup;
use fencepost_machine::step::Stepping;
use fencepost_tell::stepping::{self, Command};

use crate::cli;
use crate::exit::Exit;
use crate::terminal;

pub(crate) fn run(tests: &[Test], setup: &Setup, options: &cli::Machine, exit: Exit) -> Exit {
    let [test] = tests else {
        if exit == Exit::default() {
            terminal::complain(&format!("one test can be stepped through, and these are {}", tests.len()));
        }
        return Exit::BAD_INPUT;
    };
    let requests = match operational::requests(test, setup, options.limits.bound) {
        Ok(requests) => requests,
        Err(why) => return refused(&why),
    };
    let stepped = setup.model.step(&requests, |stepper| match &options.steps {
        Some(steps) => script(test, stepper, steps),
        None => interact(test, stepper),
    });
    match stepped {
        Ok(Exit::BAD_INPUT) => Exit::BAD_INPUT,
        Ok(_) => exit,
        Err(unsupported) => refused(&Why::Unsupported { span: unsupported.span, what: unsupported.what }),
    }
}

fn refused(why: &Why) -> Exit {
    terminal::complain(&fencepost_tell::words::why(why));
    let mut exit = Exit::default();
    exit.status(fencepost_tell::output::Status::Unknown);
    exit
}

fn script(test: &Test, run: &mut dyn Stepping, steps: &str) -> Exit {
    terminal::out(&stepping::list(test, run));
    for (at, word) in steps.split(',').map(str::trim).filter(|word| !word.is_empty()).enumerate() {
        terminal::out(&format!("> {word}\n"));
        match stepping::parse(word).and_then(|command| Ok((command, stepping::act(test, run, command)?))) {
            Ok((Command::Quit, _)) => break,
            Ok((_, said)) => terminal::out(&said),
            Err(problem) => {
                terminal::complain(&format!("step {} (`{word}`): {problem}", at + 1));
                return Exit::BAD_INPUT;
            }
        }
    }
    Exit::default()
}

fn interact(test: &Test, run: &mut dyn Stepping) -> Exit {
    let is_terminal = std::io::stdin().is_terminal();
    terminal::out(&format!("{}\n{}", stepping::HELP, stepping::list(test, run)));
    let prompt = || terminal::out("> ");
    prompt();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if !is_terminal {
            terminal::out(&format!("{line}\n"));
        }
        match stepping::parse(&line).and_then(|command| Ok((command, stepping::act(test, run, command)?))) {
            Ok((Command::Quit, _)) => return Exit::default(),
            Ok((_, said)) => terminal::out(&said),
            // A slip of the finger ends nothing.
            Err(problem) => terminal::out(&format!("{problem}\n")),
        }
        prompt();
    }
    terminal::out("\n");
    Exit::default()
}
