//! One test under a model as it is compiled. Each layer asks the one below, several times if need be: values that are torn,
//! initial values that are not known, and in the end a program with all its initial values.

use crate::judge::found::{Answers, Checked};
use crate::judge::known::check_known;
use crate::judge::{initial_values, torn};
use crate::model::load::LoadedModel;
use crate::options::Options;
use crate::test::Test;
use crate::write;

/// Whatever the options say of readings.
pub fn answers_as_read(test: &Test, model: &LoadedModel, options: &Options) -> Answers {
    let whole = match fencepost_program::initial::unknowns(&test.program).is_empty() {
        true => check_known(test, model, options),
        false => initial_values::check(test, model, options, &check_known),
    };
    torn::settle(test, model, options, whole, &check_known)
}

/// The same, written down.
pub fn check_as_read(test: &Test, model: &LoadedModel, options: &Options) -> Checked {
    write::report::checked(test, model, options, answers_as_read(test, model, options))
}
