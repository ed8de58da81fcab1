//! `fencepost conform`: agreement with published answers. No histogram, no races, and no second engine: the published
//! answer is the second opinion. A file of the neutral form has answers of machines too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fencepost_check::Budget;
use fencepost_check::compare::Side;
use fencepost_check::expect::conform::{self, Agreement, Expected, Property, Row};
use fencepost_check::model::purpose::Purpose;
use fencepost_check::model::readings::Settings;
use fencepost_check::operational::{self, Exploring};
use fencepost_check::options::{CrossCheck, Deepening, Options, Outcomes, Wanted};
use fencepost_check::test::neutral::{self, By, Neutral};
use fencepost_check::{LoadedModel, Models, Test};
use fencepost_machine::lostpop::rules::Rules;
use fencepost_machine::model::Model;
use fencepost_machine::setup::Setup;
use fencepost_syntax::Source;
use fencepost_tell::output::{self, Status};

use super::check::engine;
use super::compare::side;
use super::library::Library;
use crate::cli;
use crate::diagnostics;
use crate::exit::Exit;
use crate::inputs::{self, Input, read_regular, shown};
use crate::pool;
use crate::signals::{CANCELLED, cancel_on_interrupt};
use crate::terminal;
use crate::visible;

/// What there is to compare.
enum Work {
    File(Job),
    Neutral(Box<Neutral>, Vec<Arc<LoadedModel>>),
}

/// The rows of one file: it is read once for all of them.
struct Job {
    input: Input,
    /// As the table calls it.
    name: String,
    rows: Vec<(Side, Property, Option<Expected>)>,
}

#[derive(Default)]
struct Tally {
    agree: u64,
    total: u64,
    lines: String,
    messages: String,
    bad_input: bool,
    disagree: bool,
    undecided: bool,
}

impl Tally {
    /// One published answer. The steps lead to what was not seen.
    fn add(&mut self, title: impl FnOnce() -> String, agreement: &Agreement, steps: &[String]) {
        self.total += 1;
        if *agreement != Agreement::Agrees {
            self.lines.push_str(&output::conform::line(&title(), agreement, steps));
        }
        match agreement {
            Agreement::Agrees | Agreement::Unseen => self.agree += 1,
            Agreement::Differs(_) => self.disagree = true,
            Agreement::Undecided(_) => self.undecided = true,
        }
    }
}

pub(crate) fn run(options: &cli::Conform) -> Exit {
    let mut exit = Exit::default();
    let library = Library::default();
    let Some(jobs) = work(&options.folder, &library, &mut exit) else { return Exit::BAD_INPUT };
    cancel_on_interrupt();
    let checking = Options {
        persist_granularity: None,
        engine: engine(options.engine),
        bound: options.bound,
        deepening: Deepening::Off,
        budget: Budget::of_time(options.time_limit).cancelled_by(CANCELLED.clone()),
        outcomes: Outcomes::Skip,
        most_outcomes: usize::MAX,
        classes: Wanted::No,
        races: Wanted::No,
        termination: Wanted::No,
        questions: Wanted::Yes,
        advice: Wanted::No,
        fingerprint: Wanted::No,
        cross_check: CrossCheck::Off,
        readings: Settings::default(),
    };
    let (mut agree, mut total) = (0, 0);
    pool::in_order(
        &jobs,
        options.jobs,
        pool::Start::FirstToLast,
        |work| match work {
            Work::File(job) => check(job, &checking),
            Work::Neutral(neutral, models) => check_neutral(neutral, models, &checking),
        },
        |_, tally| {
            terminal::err(&tally.messages);
            terminal::out(&tally.lines);
            agree += tally.agree;
            total += tally.total;
            if tally.bad_input {
                exit.bad_input();
            }
            if tally.disagree {
                exit.status(Status::Bad);
            }
            if tally.undecided {
                exit.status(Status::Unknown);
            }
        },
    );
    terminal::out(&output::conform::total(agree, total));
    // Nothing that agrees is no agreement.
    if total == 0 {
        let what = "no row of `expected.csv`, and no verdict of a test";
        terminal::complain(&format!("`{}` has nothing to compare with: {what}", shown(&options.folder)));
        exit.bad_input();
    }
    exit
}

/// What there is to compare: a file of the neutral form, or a folder with `expected.csv`, else `tests.json`, else `.test`
/// files.
fn work(path: &Path, library: &Library, exit: &mut Exit) -> Option<Vec<Work>> {
    let file = if path.is_dir() { path.join("tests.json") } else { path.to_owned() };
    let is_neutral = neutral::is_neutral(&file.display().to_string()) && file.is_file();
    if is_neutral && !path.join("expected.csv").is_file() {
        return neutral_tests(file, library, exit);
    }
    let jobs = jobs(path, library, exit)?;
    Some(jobs.into_iter().map(Work::File).collect())
}

fn neutral_tests(file: PathBuf, library: &Library, exit: &mut Exit) -> Option<Vec<Work>> {
    let source = match Input::File(file).read() {
        Ok(source) => source,
        Err(problem) => {
            terminal::complain(&problem.0);
            return None;
        }
    };
    let (tests, diagnostics) = neutral::load(&source);
    terminal::err(&diagnostics::render(&source, &diagnostics, terminal::stderr_colour()));
    if diagnostics.iter().any(|diagnostic| diagnostic.is_error()) {
        exit.bad_input();
    }
    let with_models = |test: Neutral| {
        let names = test.rows.iter().filter_map(|row| match row.by {
            By::Axioms(name) => Some(name),
            By::LostPop => None,
        });
        // Only shipped models are named there.
        let models = names.filter_map(|name| library.get(name).ok()).collect();
        Work::Neutral(Box::new(test), models)
    };
    Some(tests.into_iter().map(with_models).collect())
}

/// What there is to compare in a folder: `expected.csv`, else every `.test` file.
fn jobs(folder: &Path, library: &Library, exit: &mut Exit) -> Option<Vec<Job>> {
    let table = folder.join("expected.csv");
    if !folder.is_dir() {
        terminal::complain(&format!("`{}` is neither a folder nor a .json file", shown(folder)));
        return None;
    }
    match read_regular(&table).map(visible::text) {
        Ok(text) => {
            let (rows, diagnostics) = conform::parse(&text);
            if !diagnostics.is_empty() {
                let source = Source::new(shown(&table), text);
                terminal::err(&diagnostics::render(&source, &diagnostics, terminal::stderr_colour()));
                exit.bad_input();
            }
            Some(grouped(folder, rows, library, exit))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => templates(folder, library),
        Err(error) => {
            terminal::complain(&format!("cannot read `{}`: {}", shown(&table), inputs::reason(&error)));
            None
        }
    }
}

fn grouped(folder: &Path, rows: Vec<Row>, library: &Library, exit: &mut Exit) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    // Most rows have the model of the row before.
    let mut last: (&str, Option<Side>) = ("", None);
    for row in &rows {
        if last.0 != row.model || last.1.is_none() {
            last = (&row.model, side(&row.model, library));
        }
        let Some(side) = last.1.clone() else {
            exit.bad_input();
            continue;
        };
        let at = *known.entry(&row.file).or_insert(jobs.len());
        if at == jobs.len() {
            let mut path = PathBuf::with_capacity(folder.as_os_str().len() + 1 + row.file.len());
            path.push(folder);
            path.push(&row.file);
            let input = Input::File(path);
            jobs.push(Job { input, name: row.file.clone(), rows: Vec::with_capacity(1) });
        }
        jobs[at].rows.push((side, row.property, Some(row.expected)));
    }
    jobs
}

/// Every `.test` file: its own rows say what is expected.
fn templates(folder: &Path, library: &Library) -> Option<Vec<Job>> {
    let found = inputs::collect(&[folder.to_owned()]);
    found.notes.iter().for_each(|note| terminal::note(&note.0));
    // That there is no test at all is said below, with what a folder may hold.
    if !found.inputs.is_empty() {
        found.problems.iter().for_each(|problem| terminal::complain(&problem.0));
    }
    let model = match library.get(Models::default_for(Purpose::Ptx)) {
        Ok(model) => model,
        Err(refused) => {
            terminal::err(&refused.0);
            return None;
        }
    };
    let rows = vec![(Side::Axioms(model, Settings::default()), Property::Condition, None)];
    let is_template =
        |input: &Input| matches!(input, Input::File(path) if path.extension().is_some_and(|end| end == "test"));
    let jobs: Vec<Job> = found
        .inputs
        .into_iter()
        .filter(is_template)
        .map(|input| Job { name: input.name(), input, rows: rows.clone() })
        .collect();
    if jobs.is_empty() {
        terminal::complain(&format!("`{}` holds neither expected.csv nor tests.json nor a .test file", shown(folder)));
        return None;
    }
    Some(jobs)
}

fn check(job: &Job, options: &Options) -> Tally {
    let mut tally = Tally::default();
    let source = match job.input.read() {
        Ok(source) => source,
        Err(problem) => {
            tally.messages = format!("{}: {}\n", terminal::stderr_colour().paint("1;31", "error"), problem.0);
            tally.bad_input = true;
            tally.total = job.rows.len() as u64;
            return tally;
        }
    };
    let (tests, diagnostics) = fencepost_check::load(&source);
    if diagnostics.iter().any(|diagnostic| diagnostic.is_error()) {
        tally.messages = diagnostics::render(&source, &diagnostics, terminal::stderr_colour());
        tally.bad_input = true;
    }
    if tests.is_empty() {
        tally.total = job.rows.len() as u64;
        return tally;
    }
    for test in &tests {
        for (side, property, expected) in &job.rows {
            let title = || {
                let row = test.row.map_or(String::new(), |row| format!(" row {row}"));
                [&job.name, &row, ",", &side.name(), ",", property.name()].concat()
            };
            // A row of a template expects its own words to hold.
            let (agreement, trace) = judge(test, side, *property, expected.unwrap_or(Expected::Pass), options);
            tally.add(title, &agreement, &trace);
        }
    }
    tally
}

/// How an answer compares, and, where a machine allows what was not seen, the way there.
fn judge(
    test: &Test,
    side: &Side,
    property: Property,
    expected: Expected,
    options: &Options,
) -> (Agreement, Vec<String>) {
    match side {
        Side::Axioms(model, readings) => {
            let mut options = Options { readings: readings.clone(), ..options.clone() };
            if property == Property::Termination {
                (options.questions, options.termination) = (Wanted::No, Wanted::Yes);
            }
            let judged = fencepost_check::judge(test, model, &options);
            (conform::agreement(property, expected, &judged), Vec::new())
        }
        Side::Machine(setup) => {
            let trace = match property {
                Property::Seen => operational::Trace::Shortest,
                Property::Condition | Property::Termination => operational::Trace::None,
            };
            let report = operational::run(test, setup, &operational::Options { trace, ..machine_options(options) });
            let agreement = conform::of_verdict(property, expected, &report.verdict, report.why.as_ref());
            (agreement, report.questions.into_iter().next().and_then(|answer| answer.trace).unwrap_or_default())
        }
    }
}

/// A test of the neutral form: each verdict under the model it is of. The form asks what is reachable.
fn check_neutral(neutral: &Neutral, models: &[Arc<LoadedModel>], options: &Options) -> Tally {
    let mut tally = Tally::default();
    let test = &neutral.test;
    for row in &neutral.rows {
        let (name, verdict, why) = match row.by {
            By::Axioms(name) => {
                let Some(model) = models.iter().find(|model| model.name == name) else { continue };
                let judged = fencepost_check::judge(test, model, options);
                (name.to_owned(), judged.verdict, judged.why)
            }
            By::LostPop => {
                let report = operational::run(test, &lost_pop(), &machine_options(options));
                (report.machine, report.verdict, report.why)
            }
        };
        let agreement = conform::of_reachable(test, row.expected, &verdict, why.as_ref());
        tally.add(|| format!("{},{name}", test.name()), &agreement, &[]);
    }
    tally
}

fn lost_pop() -> Setup {
    Setup::new(Model::LostPop(Rules::default()))
}

fn machine_options(options: &Options) -> operational::Options {
    operational::Options {
        outcomes: operational::Outcomes::Skip,
        trace: operational::Trace::None,
        bound: options.bound,
        budget: options.budget.clone(),
        exploring: Exploring::default(),
    }
}
