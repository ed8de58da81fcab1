//! What races, hangs and broken promises lack. One test program: each of several would be linked again.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may print and panic"
)]

mod advice;
mod causes;
mod fix_keeps;
mod forgotten;
mod in_flight;
mod older_models;
mod one_edit;
mod one_edit_kernels;
mod pieces;
mod repairs;
mod tensor_life;
mod text_edits;

use fencepost_check::{Checked, LoadedModel, Options, Test};

/// A test checked, with what it lacks, in words.
fn check(test: &Test, model: &LoadedModel, options: &Options) -> Checked {
    let mut checked = fencepost_repair::advise(test, model, options);
    fencepost_tell::words::put_into_words(&mut checked.report);
    checked
}
