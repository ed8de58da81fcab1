//! The command line: `fencepost check`, `compare`, `conform`, `expect`, `fix`, `kernel`, `machine`, `models`, `print`, `readings`,
//! `slim`. Files, signals and the terminal live here and nowhere else; what the answers mean is `fencepost_check`'s.

mod cli;
mod command;
mod diagnostics;
mod exit;
mod inputs;
mod memory;
mod pool;
mod progress;
mod replace;
mod signals;
mod terminal;
mod visible;

use std::process::ExitCode;

use clap::Parser;
use fencepost_tell::output::table::Colour;

fn main() -> ExitCode {
    let code = run();
    // What did not arrive was no answer.
    match terminal::failure() {
        Some(why) => {
            terminal::complain(&format!("cannot write to standard output: {why}"));
            ExitCode::from(exit::Exit::BAD_INPUT.code())
        }
        None => ExitCode::from(code),
    }
}

fn run() -> u8 {
    if let Some(options) = cli::plain::check(std::env::args_os().skip(1)) {
        return command::check::run(&options).code();
    }
    let arguments = match cli::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(answer) => {
            // Help is our own text; what is wrong may quote an argument.
            match answer.use_stderr() {
                true => terminal::err(&answer.render().to_string()),
                false if terminal::stdout_colour() == Colour::Ansi => {
                    terminal::raw_out(&answer.render().ansi().to_string());
                }
                false => terminal::raw_out(&answer.render().to_string()),
            }
            return u8::try_from(answer.exit_code()).unwrap_or(2);
        }
    };
    let exit = match arguments.command {
        cli::Command::Check(options) => command::check::run(&options),
        cli::Command::Compare(options) => command::compare::run(&options),
        cli::Command::Conform(options) => command::conform::run(&options),
        cli::Command::Expect(options) => command::expect::run(&options),
        cli::Command::Fix(options) => command::fix::run(&options),
        cli::Command::Kernel(options) => command::kernel::run(&options),
        cli::Command::Machine(options) => command::machine::run(&options),
        cli::Command::Map(options) => command::map::run(&options),
        cli::Command::Models(options) => command::models::run(&options),
        cli::Command::Print(options) => command::print::run(&options),
        cli::Command::Readings(options) => command::readings::run(&options),
        cli::Command::Slim(options) => command::slim::run(&options),
    };
    exit.code()
}
