//! `fencepost slim`: what can be weakened or left out with every answer unchanged.

use std::time::Duration;

use fencepost_check::{Options, Test};
use fencepost_repair::fix::costs::Costs;
use fencepost_repair::slim::{SlimAnswer, Slimmed, Slimming, slim};
use fencepost_syntax::Span;
use fencepost_tell::output::Status;
use fencepost_tell::output::fix::diff;
use fencepost_tell::output::slim as output;

use super::check::collect;
use super::file::Choice;
use super::fix::{Asked, begin, beyond, is_kept, model, tests, unwritten, write};
use super::library::Library;
use crate::cli;
use crate::exit::Exit;
use crate::inputs::Input;
use crate::terminal;

/// A test has so long, unless somebody says otherwise.
const TIME: Duration = Duration::from_secs(60);

pub(crate) fn run(options: &cli::Slim) -> Exit {
    let (model, patience) = (options.model.as_ref(), Some(TIME));
    let asked = Asked { limits: &options.limits, model, reading: &options.reading, patience };
    let begun = match begin(&asked, options.costs.as_deref()) {
        Ok(begun) => begun,
        Err(exit) => return exit,
    };
    let mut exit = Exit::default();
    for input in &collect(&options.paths, &mut exit) {
        file(input, options, (&begun.checking, &begun.costs), (&begun.chosen, &begun.library), &mut exit);
    }
    exit
}

fn file(
    input: &Input,
    options: &cli::Slim,
    (checking, costs): (&Options, &Costs),
    (chosen, library): (&Choice, &Library),
    exit: &mut Exit,
) {
    let Some(tests) = tests(input, "slim", options.write, exit) else { return };
    beyond(&tests, &options.keep_lines);
    for test in &tests {
        let Some(model) = model(test, checking, (chosen, library)) else { continue };
        let kept = |span: Span| is_kept(test, span, &options.keep_lines);
        let slimmed = slim(test, &model, &Slimming { options: checking, costs, is_kept: &kept });
        show(&slimmed, test, input, options, exit);
    }
}

fn show(slimmed: &Slimmed, test: &Test, input: &Input, options: &cli::Slim, exit: &mut Exit) {
    let mut report = slimmed.report.clone();
    output::put_into_words(&mut report);
    exit.status(match report.answer {
        SlimAnswer::Slimmer | SlimAnswer::Nothing => Status::Good,
        SlimAnswer::NotRight => Status::Bad,
        SlimAnswer::Undecided => Status::Unknown,
    });
    if options.json {
        terminal::out_json(&output::json(&report));
    } else if !options.diff {
        terminal::out(&output::text(&report));
    }
    let Some(text) = &slimmed.text else {
        if report.answer == SlimAnswer::Slimmer {
            exit.status(unwritten(options.write));
        }
        return;
    };
    if options.diff {
        terminal::out(&diff(&test.source.name, &test.source.text, text));
    }
    let is_confirmed = report.together.is_some_and(|set| set.second_engine.is_none() && set.more_rounds.is_none());
    if let (true, Input::File(path)) = (options.write, input) {
        write(path, text, ("changes are", is_confirmed), exit);
    }
}
