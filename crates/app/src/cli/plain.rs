//! The command lines that are written most, read without the grammar: `check`, paths, and the options that take no grammar
//! to understand. Of a small test, describing the command line takes as long as half of the check. What is not recognised
//! here in every word is left to the grammar, which alone knows help, errors and the rest; a test holds the two together.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Check, Limits};

/// The options of a plain `check`, from the arguments after the program's name.
pub(crate) fn check(arguments: impl IntoIterator<Item = OsString>) -> Option<Check> {
    let mut arguments = arguments.into_iter();
    if arguments.next()? != "check" {
        return None;
    }
    let mut options = empty();
    while let Some(argument) = arguments.next() {
        let flag = match argument.to_str()? {
            "--model" => {
                let name = arguments.next()?.into_string().ok()?;
                options.model.push(Some(name).filter(|name| is_plain(name))?);
                continue;
            }
            "--all" => &mut options.all,
            "--json" => &mut options.json,
            "--explain" => &mut options.explain,
            path if is_plain(path) => {
                options.paths.push(PathBuf::from(argument));
                continue;
            }
            _ => return None,
        };
        // A flag that is given twice is an error.
        if std::mem::replace(flag, true) {
            return None;
        }
    }
    (!options.paths.is_empty()).then_some(options)
}

/// Whether a word can only be a value.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && !word.starts_with('-')
}

fn empty() -> Check {
    Check {
        paths: Vec::new(),
        model: Vec::new(),
        models: false,
        reading: Vec::new(),
        require: Vec::new(),
        json: false,
        herd: false,
        junit: None,
        explain: false,
        list: false,
        graph: None,
        all: false,
        outcomes: None,
        refresh: false,
        limits: Limits {
            time_limit: None,
            memory_limit: None,
            jobs: None,
            seed: None,
            bound: None,
            persist_granularity: None,
            engine: Default::default(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Arguments, Command};
    use clap::Parser;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn what_is_read_without_the_grammar_is_what_the_grammar_reads() {
        let lines = [
            "check a.litmus",
            "check a.litmus --all",
            "check --json a.litmus b --all c",
            "check a.litmus --model x86-tso --all --json",
            "check --model ptx --explain a.litmus --model sc",
            "check check help",
        ];
        for line in lines {
            let plain = check(words(line)).expect("invariant: the line is a plain one");
            let full = Arguments::try_parse_from([OsString::from("fencepost")].into_iter().chain(words(line)));
            let Ok(Arguments { command: Command::Check(full) }) = full else { panic!("{line}") };
            assert_eq!(format!("{plain:?}"), format!("{:?}", *full), "{line}");
        }
    }

    #[test]
    fn the_rest_is_left_to_the_grammar() {
        let lines = [
            "",
            "check",
            "check --all",
            "check a.litmus --help",
            "check a.litmus -",
            "check a.litmus -- --all",
            "check a.litmus --model",
            "check a.litmus --model --all",
            "check a.litmus --model=sc",
            "check a.litmus --json --json",
            "check a.litmus --json --herd",
            "check a.litmus --models",
            "check a.litmus  --all",
            "models a",
            "--version",
        ];
        for line in lines {
            assert!(check(words(line)).is_none(), "{line}");
        }
    }
}
