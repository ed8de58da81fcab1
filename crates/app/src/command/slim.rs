//! `fencepost slim`: what can be weakened or left out with every answer unchanged.

use fencepost_check::{Budget, Options, Test};
use fencepost_repair::fix::costs::Costs;
use fencepost_repair::slim::{SlimAnswer, Slimmed, Slimming, slim};
use fencepost_syntax::Span;
use fencepost_tell::output::Status;
use fencepost_tell::output::fix::diff;
use fencepost_tell::output::slim as output;

use super::check::{choice, collect, limits};
use super::file::Choice;
use super::fix::{TIME, costs, model, tests};
use super::library::Library;
use super::readings;
use crate::cli;
use crate::exit::Exit;
use crate::inputs::Input;
use crate::memory;
use crate::replace;
use crate::signals::{CANCELLED, cancel_on_interrupt};
use crate::terminal;

pub(crate) fn run(options: &cli::Slim) -> Exit {
    memory::choose(options.limits.memory_limit);
    let library = Library::within(options.limits.time_limit);
    let names: Vec<String> = options.model.iter().cloned().collect();
    let chosen = match choice(&names, false, &library) {
        Ok(chosen) => chosen,
        Err(exit) => return exit,
    };
    let readings = match readings::chosen(&options.reading, &chosen) {
        Ok(readings) => readings,
        Err(exit) => return exit,
    };
    let Some(costs) = costs(options.costs.as_deref()) else { return Exit::BAD_INPUT };
    let mut exit = Exit::default();
    let inputs = collect(&options.paths, &mut exit);
    cancel_on_interrupt();
    let time = options.limits.time_limit.unwrap_or(TIME);
    let budget = Budget::new(Some(time), options.limits.memory_limit).cancelled_by(CANCELLED.clone());
    let checking = Options { readings, budget, ..limits(&options.limits) };
    for input in &inputs {
        file(input, options, (&checking, &costs), (&chosen, &library), &mut exit);
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
    for test in &tests {
        let Some(model) = model(test, checking, (chosen, library)) else { continue };
        let is_kept = |span: Span| {
            let line = test.source.line(span.start);
            options.keep_lines.iter().any(|(first, last)| (*first..=*last).contains(&line))
        };
        let slimmed = slim(test, &model, &Slimming { options: checking, costs, is_kept: &is_kept });
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
    let Some(text) = &slimmed.text else { return };
    if options.diff {
        terminal::out(&diff(&test.source.name, &test.source.text, text));
    }
    let is_confirmed = report.together.is_some_and(|set| set.second_engine.is_none() && set.more_rounds.is_none());
    if let (true, Input::File(path)) = (options.write, input) {
        if is_confirmed {
            replace::replace(path, text, exit);
        } else {
            terminal::complain(&format!("`{}` is not written: the changes are not confirmed", path.display()));
            exit.status(Status::Unknown);
        }
    }
}
