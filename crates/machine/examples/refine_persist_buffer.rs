//! The long runs of the refinement check of the persist buffer (`docs/models/persist-buffer.md`).
//!
//! ```sh
//! cargo run --release -p fencepost-machine --example refine_persist_buffer -- block paper
//! cargo run --release -p fencepost-machine --example refine_persist_buffer -- block artifact search=full timing=eager
//! ```
//!
//! The first word is the configuration, the second the merge rule; then `name=value`. Standard output is the same in every run;
//! the time goes to standard error.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use std::process::ExitCode;
use std::time::Instant;

use fencepost_machine::persist_buffer::refine::{
    Acquires, Answer, Outcome, Question, Scopes, Search, Sms, Stores, Timing, refine,
};
use fencepost_machine::persist_buffer::{Merge, Rule};

const USAGE: &str = "refine_persist_buffer block|device|once|once-device paper|artifact [operations=N] [warps=N] \
                     [lines=N] [search=full|reduced] [timing=any|eager] [acquires=anything|released] \
                     [without=RULE] [capacity=N] [window=N] [states=N] [workers=N]";

/// The configurations: where the warps are and which programs are made.
fn configuration(name: &str, merge: Merge) -> Option<Question> {
    let block = Question { search: Search::Reduced, workers: 2, ..Question::new(merge, 8) };
    let device = Question { sms: Sms::Two, scopes: Scopes::BlockAndDevice, ..block };
    let once = |question| Question { acquires: Acquires::Released, stores: Stores::OncePerLine, ..question };
    match name {
        "block" => Some(block),
        "device" => Some(Question { operations: 6, ..device }),
        "once" => Some(once(block)),
        "once-device" => Some(once(device)),
        _ => None,
    }
}

fn option(question: &mut Question, name: &str, value: &str) -> Option<()> {
    let number = || value.parse::<u32>().ok();
    match (name, value) {
        ("operations", _) => question.operations = u8::try_from(number()?).ok()?,
        ("warps", _) => question.warps = u8::try_from(number()?).ok()?,
        ("lines", _) => question.lines = u8::try_from(number()?).ok()?,
        ("workers", _) => question.workers = u8::try_from(number()?).ok()?,
        ("states", _) => question.states = number()?.into(),
        ("capacity", _) => question.rules = question.rules.with_capacity(number()?),
        ("window", _) => question.rules = question.rules.with_window(number()?),
        ("without", _) => question.rules = question.rules.without(Rule::named(value)?),
        ("search", "full") => question.search = Search::Full,
        ("search", "reduced") => question.search = Search::Reduced,
        ("timing", "any") => question.timing = Timing::Any,
        ("timing", "eager") => question.timing = Timing::Eager,
        ("acquires", "anything") => question.acquires = Acquires::Anything,
        ("acquires", "released") => question.acquires = Acquires::Released,
        _ => return None,
    }
    Some(())
}

fn question(arguments: &[String]) -> Option<Question> {
    let [name, merge, options @ ..] = arguments else { return None };
    let merge = Merge::ALL.into_iter().find(|it| it.name() == merge)?;
    let mut question = configuration(name, merge)?;
    for text in options {
        let (name, value) = text.split_once('=')?;
        option(&mut question, name, value)?;
    }
    Some(question)
}

fn print(question: &Question, answer: &Answer) {
    let search = if answer.search == Search::Full { "full" } else { "reduced" };
    println!("{search} search, at most {} operations", question.operations);
    for (operations, states) in answer.layers.iter().enumerate() {
        println!("  {states} states with {operations} operations");
    }
    println!("{} states, {} transitions", answer.states(), answer.transitions);
    match &answer.outcome {
        Outcome::Refines => println!("every program keeps the persist order"),
        Outcome::Limit { operations } => {
            println!("stopped: programs of {operations} operations keep the persist order")
        }
        Outcome::Breaks(found) => {
            println!("broken by a program of {} operations:", found.operations);
            found.program.iter().for_each(|line| println!("  {line}"));
            found.run.iter().enumerate().for_each(|(at, line)| println!("  {:3}  {line}", at + 1));
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(question) = question(&arguments) else {
        eprintln!("usage: {USAGE}");
        return ExitCode::from(2);
    };
    let start = Instant::now();
    let answer = refine(&question);
    print(&question, &answer);
    eprintln!("{:.1} s", start.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}
