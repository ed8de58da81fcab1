//! `fencepost compare`: two models by the outcomes they allow.

use std::num::NonZeroUsize;

use fencepost_check::Budget;
use fencepost_check::compare::{self, Comparing, Result as Compared, Row, Side};
use fencepost_check::look::outcome::Observed;
use fencepost_check::model::readings::Settings;
use fencepost_check::options::{CrossCheck, Deepening, EngineChoice, Options, Outcomes, Wanted};
use fencepost_machine::model::Model;
use fencepost_machine::setup::Setup;
use fencepost_tell::explain::explain;
use fencepost_tell::output::Status;
use fencepost_tell::output::compare as output;
use fencepost_tell::words;

use super::check::collect;
use super::library::Library;
use super::machine;
use crate::cli;
use crate::exit::Exit;
use crate::memory;
use crate::pool;
use crate::progress::Progress;
use crate::signals::{CANCELLED, cancel_on_interrupt};
use crate::terminal;

pub(crate) fn run(options: &cli::Compare) -> Exit {
    let library = Library::default();
    let (Some(left), Some(right)) = (side(&options.left, &library), side(&options.right, &library)) else {
        return Exit::BAD_INPUT;
    };
    let mut exit = Exit::default();
    let inputs = collect(&options.paths, &mut exit);
    let (tests, broken) = machine::load(&inputs, None, &mut exit);
    cancel_on_interrupt();
    memory::choose(options.limits.memory_limit);
    let comparing = comparing(options);
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let jobs = options.limits.jobs.unwrap_or_else(cores);
    let mut progress = Progress::new(tests.len());
    let mut rows: Vec<Row> = Vec::with_capacity(tests.len());
    let work = |test: &_| {
        let mut row = compare::compare(test, &left, &right, &comparing);
        words::put_row_into_words(&mut row);
        row
    };
    pool::in_order(&tests, jobs, pool::Start::FirstToLast, work, |at, row| {
        if options.json {
            terminal::out_json(&output::json_row(&row));
        }
        progress.done(at + 1);
        rows.push(row);
    });
    progress.clear();
    let summary = output::Summary::new(left.name(), right.name(), &rows, broken);
    if options.json {
        terminal::out_json(&output::json_summary(&summary));
    } else {
        terminal::out(&output::text(&summary, &rows, terminal::stdout_width()));
    }
    let is_limit = |row: &Row| matches!(row.result, Compared::Skipped { limit: true, .. });
    if rows.iter().any(is_limit) || summary.compared == 0 {
        exit.status(Status::Unknown);
    }
    if summary.differing > 0 {
        exit.status(Status::Bad);
    }
    exit
}

/// A machine, a shipped model or a file, with options or readings behind it.
pub(crate) fn side(text: &str, library: &Library) -> Option<Side> {
    let (name, rest) = text.split_once(':').filter(|(_, rest)| rest.contains('=')).unwrap_or((text, ""));
    if Model::named(name).is_some() {
        return match Setup::parse(text) {
            Ok(setup) => Some(Side::Machine(setup)),
            Err(bad) => {
                terminal::complain(&bad.to_string());
                None
            }
        };
    }
    let model = match library.get(name) {
        Ok(model) => model,
        Err(refused) => {
            terminal::err(&refused.0);
            terminal::complain(&format!("nor is there a machine of that name: there are {}", Model::NAMES.join(", ")));
            return None;
        }
    };
    let mut settings = Settings::default();
    for reading in rest.split(':').filter(|reading| !reading.is_empty()) {
        if let Err(bad) = settings.add(reading) {
            terminal::complain(&bad.to_string());
            return None;
        }
    }
    if let Err(bad) = settings.check(&model.points) {
        terminal::complain(&bad.to_string());
        return None;
    }
    Some(Side::Axioms(model, settings))
}

fn comparing(options: &cli::Compare) -> Comparing {
    let limits = &options.limits;
    Comparing {
        observed: match options.observe {
            cli::Observe::Everything => Observed::Everything,
            cli::Observe::Registers => Observed::Registers,
            cli::Observe::Test => Observed::Test,
            cli::Observe::Crash => Observed::Crash,
        },
        witness: options.explain.then_some(explain),
        axioms: Options {
            persist_granularity: None,
            engine: EngineChoice::Auto,
            bound: limits.bound,
            deepening: Deepening::Off,
            budget: Budget::new(limits.time_limit, limits.memory_limit).cancelled_by(CANCELLED.clone()),
            outcomes: Outcomes::All,
            most_outcomes: usize::MAX,
            classes: Wanted::No,
            races: Wanted::No,
            termination: Wanted::No,
            questions: Wanted::Yes,
            advice: Wanted::No,
            fingerprint: Wanted::No,
            cross_check: CrossCheck::Off,
            readings: Settings::default(),
        },
        machine: machine::asking(limits, NonZeroUsize::MIN).exploring,
    }
}
