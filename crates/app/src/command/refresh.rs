//! Expectations rewritten beside tests. What was expected and could not be decided again stays: a run under a limit, or
//! one that is stopped, takes no answer away.

use std::path::PathBuf;

use fencepost_check::expect::expectation::{Expectations, NewUnknown};

use super::file::File;
use crate::exit::Exit;
use crate::inputs::Input;
use crate::replace::replace;

/// What became of the expectations of a file.
#[derive(Default)]
pub(crate) struct Refreshed {
    /// The file that was written, if something changed.
    pub(crate) written: Option<PathBuf>,
    /// Lines that stay, whole or in part, because there is no answer.
    pub(crate) kept: u64,
}

/// Writes what was found beside the test. A file that could not be read completely keeps its expectations.
pub(crate) fn refresh(input: &Input, file: &File, unknown: NewUnknown, exit: &mut Exit) -> Refreshed {
    let Some(path) = input.expectation_path() else { return Refreshed::default() };
    if file.broken.is_some() || file.skipped || file.results.is_empty() {
        return Refreshed::default();
    }
    let mut expectations: Expectations = file.expectations.clone();
    let kept = expectations.refresh(file.results.iter().map(|result| &result.checked.report), unknown);
    let written = expectations != file.expectations && replace(&path, &expectations.print(), exit);
    Refreshed { written: written.then_some(path), kept }
}

/// That lines stay, for people.
pub(crate) fn kept(number: u64) -> String {
    let lines = if number == 1 { "line" } else { "lines" };
    format!("{number} {lines} of expectations kept, whole or in part: there is no answer to replace what they say")
}

/// What a new line says where there is no answer: nothing, unless the command line names the models.
pub(crate) fn new_unknown(named: &[String]) -> NewUnknown {
    if named.is_empty() { NewUnknown::Left } else { NewUnknown::Written }
}
