//! Explanations, pictures and text. One test program: each of several would be linked again.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may print and panic"
)]

mod depends;
mod diagnosis;
mod exits;
mod explain_order;
mod explain_text;
mod explain_truth;
mod kernel_readings;
mod own_models;
mod protocol;
mod render_gallery;
mod render_strands;
mod render_support;
mod sizes;
mod torn;
mod undefined;

use fencepost_check::{Checked, LoadedModel, Options, Test};

/// A test checked, with what it lacks, in words.
fn check(test: &Test, model: &LoadedModel, options: &Options) -> Checked {
    let mut checked = fencepost_repair::advise(test, model, options);
    fencepost_tell::words::put_into_words(&mut checked.report);
    checked
}
