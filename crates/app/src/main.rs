//! The command line: `fencepost check`, `compare`, `conform`, `expect`, `machine`, `models`, `print`, `readings`. Files, signals and the terminal live here
//! and nowhere else; what the answers mean is `fencepost_check`'s.

mod cli;
mod command;
mod diagnostics;
mod exit;
mod inputs;
mod pool;
mod progress;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    if let Some(options) = cli::plain::check(std::env::args_os().skip(1)) {
        return ExitCode::from(command::check::run(&options).code());
    }
    let arguments = cli::Arguments::parse();
    let exit = match arguments.command {
        cli::Command::Check(options) => command::check::run(&options),
        cli::Command::Compare(options) => command::compare::run(&options),
        cli::Command::Conform(options) => command::conform::run(&options),
        cli::Command::Expect(options) => command::expect::run(&options),
        cli::Command::Machine(options) => command::machine::run(&options),
        cli::Command::Map(options) => command::map::run(&options),
        cli::Command::Models(options) => command::models::run(&options),
        cli::Command::Print(options) => command::print::run(&options),
        cli::Command::Readings(options) => command::readings::run(&options),
    };
    ExitCode::from(exit.code())
}
