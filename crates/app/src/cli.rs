//! The command line's grammar and its help, which teaches by example.

mod deferred;
pub(crate) mod kernel;
pub(crate) mod map;
pub(crate) mod plain;

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fencepost_tell::render;

use deferred::Deferred;

/// Decides what GPU and CPU programs may do to memory.
#[derive(Parser, Debug)]
#[command(version, about, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  as expected; without an expectation file: the condition holds
  1  violated, dependent on a reading, or not as expected
  2  bad input
  3  unknown
With several files the exit code is the first of 2, 1, 3 that occurs.

Examples:
  fencepost check examples/tma-ring.litmus           check one test
  fencepost check mp.litmus --explain                explain the answer step by step
  fencepost check corpus                             check every test below a folder
  fencepost COMMAND --help                           more examples";

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Check litmus tests: files, folders, or `-` for standard input
    Check(Deferred<Check>),
    /// Compare two models, axiomatic or operational, by the outcomes they allow
    Compare(Deferred<Compare>),
    /// Compare with published answers: DIR/expected.csv, the rows of .test files, tests in JSON
    Conform(Deferred<Conform>),
    /// Show or refresh the expectation files beside tests
    Expect(Deferred<Expect>),
    /// Repair tests: the cheapest change with which nothing is wrong, and a proof that nothing cheaper is one
    Fix(Deferred<Fix>),
    /// Check a whole PTX kernel under a launch: races across proxies, hangs, protocol errors, or a proof
    Kernel(Deferred<kernel::Kernel>),
    /// Run tests on an operational model: every reachable state, or step by step
    Machine(Deferred<Machine>),
    /// Check a compiler mapping from scoped C/C++, for given tests or for all race-free programs up to a bound
    Map(Deferred<map::Map>),
    /// List the shipped memory models, or show one
    Models(Deferred<Models>),
    /// Parse tests and print them in their canonical form
    Print(Deferred<Print>),
    /// List the points that specifications leave open, with the possible readings of each
    Readings(Deferred<Readings>),
    /// Find what can be weakened or left out with every answer unchanged: fences, semantics, scopes, waits, barriers
    Slim(Deferred<Slim>),
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  fencepost check corpus                       every test below a folder: surprises, and counts per folder
  fencepost check corpus --list                the same with a row for every check
  fencepost check mp.litmus                    one test, under the default model of its architecture
  fencepost check mp.litmus --models           one test, all models
  fencepost check mp.litmus --all              every outcome with the number of its executions
  fencepost check mp.litmus --explain          the execution step by step, or why there is none
  fencepost check mp.litmus --graph mp.svg     a picture of the execution (.svg or .dot)
  fencepost check a.litmus b.litmus --graph out.svg   one picture per check: out-A-1.svg, out-B-2.svg
  fencepost check mp.litmus --model my.cat     a memory model of your own
  fencepost check tma.litmus --reading async-fence=on-path
                                               choose a reading of an open point (`fencepost readings`)
  fencepost check - --json < mp.litmus         one JSON object per test
  fencepost check corpus --junit results.xml   for continuous integration
  fencepost check kernel.litmus --require race-free,terminates
                                               fail on a race or a hang, whatever the condition says

A file NAME.expect beside NAME.litmus says what is expected; `--refresh` (re)writes it.")]
pub(crate) struct Check {
    /// Test files, folders (searched for .litmus and .test files), or `-`
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// A shipped model (see `fencepost models`) or a .cat file; may be repeated [default: those of the expectations
    /// beside the test, else by architecture: x86-tso for x86,
    /// rc11-scoped for C, cmm for host and device, sbrp for PTX with persistent memory, ptx for PTX with clusters,
    /// asynchronous operations or declared state spaces, ptx-7.5 for other PTX]
    #[arg(short, long = "model", value_name = "NAME|FILE.cat")]
    pub(crate) model: Vec<String>,
    /// Check under every shipped model for the test's architecture
    #[arg(long, conflicts_with = "model")]
    pub(crate) models: bool,
    /// Choose a reading of a point that the specification leaves open (see `fencepost readings`); may be repeated
    /// [default: try the weakest and the strongest reading of each contested point that matters]
    #[arg(long = "reading", value_name = "NAME=VALUE")]
    pub(crate) reading: Vec<String>,
    /// Require this of every test besides its condition: a race, a hang or a misused mbarrier gives exit code 1, an
    /// undecided property 3; separate several with commas
    #[arg(long, value_name = "PROPERTY", value_delimiter = ',')]
    pub(crate) require: Vec<Property>,
    /// Print one JSON object per check (docs/schema/report.schema.json)
    #[arg(long, group = "format")]
    pub(crate) json: bool,
    /// Print herd's log format
    #[arg(long, group = "format")]
    pub(crate) herd: bool,
    /// Also write a JUnit XML file (`-`: print it instead of the table)
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Explain each answer: the execution step by step, or the axiom and the cycle that forbid it
    #[arg(long)]
    pub(crate) explain: bool,
    /// Draw the execution behind the answer into this file (.svg or .dot). Several checks get a file each, named after
    /// the test and the number of the check: out-MP-1.svg, out-MP-2.svg
    #[arg(long, value_name = "FILE", value_parser = picture)]
    pub(crate) graph: Option<Picture>,
    /// Print a row for every check of a folder [default: checks that are as expected are only counted]
    #[arg(long)]
    pub(crate) list: bool,
    /// List every outcome with the number of its executions, as far as the limits allow
    #[arg(long)]
    pub(crate) all: bool,
    /// The most outcomes that --all and --json list; all are counted [default: 100000]
    #[arg(long, value_name = "N")]
    pub(crate) outcomes: Option<usize>,
    /// Write the answers into the expectation files beside the tests
    #[arg(long)]
    pub(crate) refresh: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Args, Debug)]
pub(crate) struct Limits {
    /// Time for each check, in seconds (or 500ms, 2m); after it the answer is Unknown
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) time_limit: Option<Duration>,
    /// Memory that the process may hold (500M, 2G); beyond it answers are Unknown [default: half of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory_limit: Option<u64>,
    /// How many checks run at once [default: the number of cores]
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Shuffle the order in which checks start by this seed, to balance the load; the output stays the same
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// How often a loop is unrolled; spin loops need no unrolling [default: 2, and more if that leaves the answer open]
    #[arg(long, value_name = "N")]
    pub(crate) bound: Option<u32>,
    /// The search engine; all give the same answers
    #[arg(long, value_enum, default_value_t)]
    pub(crate) engine: Engine,
    /// The most bytes of a write to persistent memory that a crash keeps or loses together, a power of two [default: all of an
    /// access, or the parts into which accesses that overlap it cut it]
    #[arg(long, value_name = "BYTES", value_parser = granularity)]
    pub(crate) persist_granularity: Option<NonZeroU32>,
}

/// What `--require` can ask for.
#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Property {
    /// No race of any kind, no undefined behaviour
    RaceFree,
    /// Every fair execution ends
    Terminates,
    /// No rule of mbarriers is broken
    Protocol,
    /// All of these
    All,
}

#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Engine {
    /// Chosen by the size of the test, with the other as a fallback
    #[default]
    Auto,
    /// Every execution, one by one
    Enumerate,
    /// A SAT solver that learns from the model
    Sat,
}

#[derive(Args, Debug)]
#[command(after_help = "\
A and B are shipped models, .cat files or machines. Readings and options follow the name: cmm:chain=closed,
coherence:swmr=off. An outcome is a value of every register and every location; --observe changes that.

Examples:
  fencepost compare store-buffer x86-tso corpus/x86
  fencepost compare lost-pop cmm corpus/compound --explain
  fencepost compare ptx-6.0 ptx-7.5 corpus/mp corpus/sb

Exit codes: 0 no difference, 1 some test differs, 2 bad input, 3 a limit was reached, or nothing could be compared.")]
pub(crate) struct Compare {
    /// The one model: shipped, a .cat file, or a machine
    #[arg(value_name = "A")]
    pub(crate) left: String,
    /// The other one
    #[arg(value_name = "B")]
    pub(crate) right: String,
    /// Test files, folders (searched for .litmus and .test files), or `-`
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Which part of a final state is compared
    #[arg(long, value_enum, default_value_t)]
    pub(crate) observe: Observe,
    /// For each difference show how one model reaches the outcome: a trace, or an execution
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print one JSON object per test, and one for all (docs/schema/compare.schema.json)
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limits: MachineLimits,
}

#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Observe {
    /// Every register and every location
    #[default]
    Everything,
    /// Every register
    Registers,
    /// What the condition of the test mentions; everything, if that is nothing
    Test,
    /// What persistent memory may hold after a crash
    Crash,
}

#[derive(Args, Debug)]
#[command(after_help = "\
A test is right if every `forall` and `~exists` holds, every `exists` has the answer that the expectation beside it gives
(without one: that of sequential consistency), and nothing races, hangs or breaks a rule of mbarriers, under every
contested reading. Changes are stronger semantics, wider scopes, fences and waits; docs/fix.md has what each costs and why.

Examples:
  fencepost fix mp.litmus                      the cheapest repair
  fencepost fix mp.litmus --diff               the same as a unified diff
  fencepost fix mp.litmus --write              change the file
  fencepost fix mp.litmus --forbid             the outcome that `exists` asks for is to be impossible
  fencepost fix mp.litmus --keep-lines 8-12    leave these lines as they are
  fencepost fix mp.litmus --costs ours.tsv     with costs of your own

Exit codes: 0 repaired, or nothing was wrong; 1 no repair among the changes, or only in part; 2 bad input;
3 undecided, or not written.")]
pub(crate) struct Fix {
    /// Test files, folders (searched for .litmus and .test files), or `-`
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// A shipped model (see `fencepost models`) or a .cat file [default: by architecture, as for `check`]
    #[arg(short, long, value_name = "NAME|FILE.cat")]
    pub(crate) model: Option<String>,
    /// Choose a reading of a point that the specification leaves open; may be repeated [default: every reading]
    #[arg(long = "reading", value_name = "NAME=VALUE")]
    pub(crate) reading: Vec<String>,
    /// What `exists` asks for is to be impossible
    #[arg(long, conflicts_with = "keep")]
    pub(crate) forbid: bool,
    /// What `exists` asks for is to stay possible
    #[arg(long)]
    pub(crate) keep: bool,
    /// Lines that may not be changed: 7, 8-12 or 7,8-12; may be repeated
    #[arg(long, value_name = "LINES", value_delimiter = ',', value_parser = lines)]
    pub(crate) keep_lines: Vec<(u32, u32)>,
    /// A file with costs of your own, in the form of the shipped table (docs/fix.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) costs: Option<PathBuf>,
    /// Print the repair as a unified diff
    #[arg(long, group = "form")]
    pub(crate) diff: bool,
    /// Print one JSON object per test (docs/schema/fix.schema.json)
    #[arg(long, group = "form")]
    pub(crate) json: bool,
    /// Write the repair into the file, if it is confirmed; comments and layout of the rest stay
    #[arg(long)]
    pub(crate) write: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Args, Debug)]
#[command(after_help = "\
A change is offered if every question, the races, the rules of mbarriers and the end of the program have the answer that they
have now, under every contested reading, and if interleavings still end in the same states where a wait goes. Each change is
told alone; then the set that saves most, which is checked again by the other engine and with two more rounds of loops; then
what every other instruction is needed for. Costs are those of `fix`; docs/slim.md has the rest.

Examples:
  fencepost slim mp.litmus                     what can be saved, and what is needed for what
  fencepost slim mp.litmus --diff              the set that saves most as a unified diff
  fencepost slim mp.litmus --write             change the file
  fencepost slim mp.litmus --keep-lines 8-12   leave these lines as they are
  fencepost slim mp.litmus --reading async-fence=on-path   under a reading that you chose
  fencepost slim mp.litmus --costs ours.tsv    with costs of your own

Exit codes: 0 something can be saved, or nothing; 1 the test is not right yet (`fencepost fix`); 2 bad input; 3 undecided.")]
pub(crate) struct Slim {
    /// Test files, folders (searched for .litmus and .test files), or `-`
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// A shipped model (see `fencepost models`) or a .cat file [default: by architecture, as for `check`]
    #[arg(short, long, value_name = "NAME|FILE.cat")]
    pub(crate) model: Option<String>,
    /// Choose a reading of a point that the specification leaves open; may be repeated [default: every reading]
    #[arg(long = "reading", value_name = "NAME=VALUE")]
    pub(crate) reading: Vec<String>,
    /// Lines that may not be changed: 7, 8-12 or 7,8-12; may be repeated
    #[arg(long, value_name = "LINES", value_delimiter = ',', value_parser = lines)]
    pub(crate) keep_lines: Vec<(u32, u32)>,
    /// A file with costs of your own, in the form of the shipped table (docs/fix.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) costs: Option<PathBuf>,
    /// Print the set that saves most as a unified diff
    #[arg(long, group = "form")]
    pub(crate) diff: bool,
    /// Print one JSON object per test (docs/schema/slim.schema.json)
    #[arg(long, group = "form")]
    pub(crate) json: bool,
    /// Write the set that saves most into the file, if it is confirmed; comments and layout of the rest stay
    #[arg(long)]
    pub(crate) write: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

/// `7` or `8-12`.
fn lines(text: &str) -> Result<(u32, u32), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
        _ => Err("a line or a range of lines: 7, 8-12".to_owned()),
    }
}

#[derive(Args, Debug)]
#[command(after_help = "\
The published answers come from one of these:
  DIR/expected.csv            rows `file,model,property,pass`. The model is written as in `compare`; pass is 1 or 0; the
                              property is `condition`, `termination` or `seen` (by hardware or a simulator: a model may
                              allow more, and the output says so)
  a .json file, DIR/tests.json   tests in the neutral form, with verdicts of axiomatic models and of LOST-POP
  .test files below DIR       their permit and assert rows, checked under ptx-7.5
Prints each disagreement and, last, `N of M agree`. Exit code 1 if there is a disagreement.

Examples:
  fencepost conform corpus/neutral/tests.json
  fencepost conform corpus/gem5                tables 1 and 2 of \"Compound Memory Models\"")]
pub(crate) struct Conform {
    /// The folder with the tests and, if there is one, expected.csv; or a file of tests in the neutral JSON form
    #[arg(value_name = "DIR|FILE.json")]
    pub(crate) folder: PathBuf,
    /// How many checks run at once
    #[arg(short, long, value_name = "N", default_value = "1")]
    pub(crate) jobs: NonZeroUsize,
    /// How often a loop is unrolled
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) bound: u32,
    /// Time for each row, in seconds
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10")]
    pub(crate) time_limit: Duration,
    /// Which engine searches
    #[arg(long, value_enum, default_value_t)]
    pub(crate) engine: Engine,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  fencepost expect corpus                      print what would change in the .expect files
  fencepost expect --refresh corpus            rewrite the .expect files
  fencepost expect --refresh new.litmus --model ptx-6.0 --model ptx-7.5")]
pub(crate) struct Expect {
    /// Test files or folders
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Rewrite the expectation files
    #[arg(long)]
    pub(crate) refresh: bool,
    /// Models to write lines for [default: those the file has, else every shipped model of the architecture]
    #[arg(short, long = "model", value_name = "NAME|FILE.cat")]
    pub(crate) model: Vec<String>,
    /// Choose a reading of a point that the specification leaves open (see `fencepost readings`); may be repeated
    #[arg(long = "reading", value_name = "NAME=VALUE")]
    pub(crate) reading: Vec<String>,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  fencepost machine --list                                   the machines and their options
  fencepost machine lost-pop corpus/compound                 every test below a folder, as a table
  fencepost machine store-buffer sb.litmus --all             every reachable outcome
  fencepost machine lost-pop mp.litmus --trace               a shortest trace to the state the test asks for
  fencepost machine lost-pop mp.litmus --trace='x = 2'       a shortest trace to another outcome
  fencepost machine coherence --swmr off mp1.litmus          the gem5 study's protocol, without its invariant
  fencepost machine lost-pop --arch xc --option between=appendix mp.litmus
  fencepost machine persist-buffer log.litmus --all          what runs and crashes leave of memory that survives them
  fencepost machine persist-buffer:merge=artifact log.litmus --trace
  fencepost machine lost-pop mp.litmus --step                by hand: list, take, undo
  fencepost machine lost-pop mp.litmus --steps 1,3,u,2       the same from a script

Exit codes are those of `check`: 0 the condition holds, 1 violated, 2 bad input, 3 unknown.")]
pub(crate) struct Machine {
    /// lost-pop, store-buffer, coherence or persist-buffer, with or without options: coherence:swmr=off
    #[arg(value_name = "MACHINE", required_unless_present = "list")]
    pub(crate) machine: Option<String>,
    /// Test files, folders (searched for .litmus and .test files), or `-`
    #[arg(value_name = "PATH", required_unless_present = "list")]
    pub(crate) paths: Vec<PathBuf>,
    /// List the machines and their options
    #[arg(long)]
    pub(crate) list: bool,
    /// An option of the machine (see --list); may be repeated
    #[arg(long = "option", value_name = "NAME=VALUE")]
    pub(crate) option: Vec<String>,
    /// Run the threads as another architecture than they are written in: sc, xc (GPU threads only), arm
    #[arg(long, value_name = "ARCH")]
    pub(crate) arch: Option<String>,
    /// Coherence protocol only: keep the single-writer-multiple-reader invariant or not
    #[arg(long, value_name = "on|off")]
    pub(crate) swmr: Option<String>,
    /// List every reachable outcome with the number of its final states, and what crashes leave with the number of states
    #[arg(long)]
    pub(crate) all: bool,
    /// Print a shortest trace to the state or the crash the test asks for, or to another outcome
    #[arg(long, value_name = "CONDITION", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) trace: Option<String>,
    /// Step through one test by hand
    #[arg(long, conflicts_with_all = ["all", "trace", "json", "steps", "states", "time_limit", "memory_limit", "jobs"])]
    pub(crate) step: bool,
    /// Take these steps: numbers of transitions, u to undo, l to list, s to show the state, h for the steps so far
    #[arg(long, value_name = "STEPS", conflicts_with_all = ["all", "trace", "json", "states", "time_limit", "memory_limit", "jobs"])]
    pub(crate) steps: Option<String>,
    /// Print one JSON object per test (docs/schema/machine.schema.json)
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limits: MachineLimits,
}

#[derive(Args, Debug)]
pub(crate) struct MachineLimits {
    /// Time for each search, in seconds (or 500ms, 2m); after it the answer is Unknown
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) time_limit: Option<Duration>,
    /// Memory for the states of each search (500M, 2G); beyond it the answer is Unknown
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory_limit: Option<u64>,
    /// The most states a search may see; beyond it the answer is Unknown [default: 20000000]
    #[arg(long, value_name = "N")]
    pub(crate) states: Option<u64>,
    /// How many tests run at once; a single test is explored by this many threads [default: the number of cores]
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// How often a loop is unrolled; spin loops need no unrolling
    #[arg(long, value_name = "N", default_value_t = fencepost_check::options::DEFAULT_BOUND)]
    pub(crate) bound: u32,
}

#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  fencepost models                             the shipped models
  fencepost models ptx-7.5                     the cat text of one model
  fencepost models show ptx > mine.cat         a copy to change; use it with `check --model mine.cat`"
)]
pub(crate) struct Models {
    /// Print the cat text of this model
    #[arg(value_name = "NAME|FILE.cat")]
    pub(crate) name: Option<String>,
    #[command(subcommand)]
    pub(crate) action: Option<ModelsAction>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ModelsAction {
    /// Print the cat text of a model
    Show {
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Args, Debug)]
#[command(after_help = "\
For PTX the first value is the weakest reading: it promises least. For other models the first value is the default.
`check` tries the weakest and the strongest reading of each contested point that matters to a test; an answer that
changes is `Depends`. Settled points keep their default. `check --reading NAME=VALUE` chooses a reading.

Examples:
  fencepost readings                                          all points
  fencepost readings my.cat                                   those of one model
  fencepost check tma.litmus --reading async-fence=on-path    choose a reading")]
pub(crate) struct Readings {
    /// Only the readings of these models: shipped ones or .cat files
    #[arg(value_name = "MODEL")]
    pub(crate) models: Vec<String>,
    /// Print one JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  fencepost print mp.litmus                                              one test in its canonical form
  fencepost print corpus/neutral/tests.json --test host-mp > mp.litmus   one test of a JSON file, as litmus text")]
pub(crate) struct Print {
    /// Test files, folders, or `-`
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Only the test of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) test: Option<String>,
}

/// Why a quantity cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
struct BadQuantity(&'static str);

impl std::fmt::Display for BadQuantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for BadQuantity {}

/// Where a picture goes, and in which format: its name says so.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) path: PathBuf,
    pub(crate) format: render::Format,
}

fn picture(text: &str) -> Result<Picture, BadQuantity> {
    let path = PathBuf::from(text);
    let format = match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => render::Format::Svg,
        Some("dot" | "gv") => render::Format::Dot,
        _ => return Err(BadQuantity("a graph ends in .svg or .dot")),
    };
    Ok(Picture { path, format })
}

/// `10`, `0.5`, `500ms`, `2m`.
fn duration(text: &str) -> Result<Duration, BadQuantity> {
    let text = text.trim();
    let (number, unit) = match text {
        _ if text.ends_with("ms") => (&text[..text.len() - 2], 0.001),
        _ if text.ends_with('s') => (&text[..text.len() - 1], 1.0),
        _ if text.ends_with('m') => (&text[..text.len() - 1], 60.0),
        _ => (text, 1.0),
    };
    let seconds = number.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds * unit).ok())
        .ok_or(BadQuantity("write seconds, or a number with ms, s or m: 10, 0.5, 500ms, 2m"))
}

/// `1000000`, `500M`, `2G`.
fn bytes(text: &str) -> Result<u64, BadQuantity> {
    let text = text.trim().trim_end_matches(['B', 'b']).trim_end_matches('i');
    let (number, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1u64 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let number = number.trim().parse::<u64>().ok();
    number
        .and_then(|number| number.checked_mul(unit))
        .ok_or(BadQuantity("write bytes, or a number with K, M or G: 500M"))
}

/// Bytes that persist together: aligned groups of any other number would not line up with accesses.
fn granularity(text: &str) -> Result<NonZeroU32, BadQuantity> {
    let number = text.trim().parse::<NonZeroU32>().ok();
    number.filter(|number| number.is_power_of_two()).ok_or(BadQuantity("write a power of two: 1, 2, 4, 8, 16, 32 …"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_with_their_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert!(duration("-1").is_err() && duration("soon").is_err() && duration("1e300").is_err());
        assert_eq!(bytes("2GiB"), Ok(2 << 30));
        assert_eq!(bytes("12"), Ok(12));
        assert!(bytes("many").is_err() && bytes("99999999999999999999G").is_err());
        assert_eq!(granularity("32").map(NonZeroU32::get), Ok(32));
        assert!(granularity("3").is_err() && granularity("0").is_err() && granularity("some").is_err());
    }

    #[test]
    fn the_grammar_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
