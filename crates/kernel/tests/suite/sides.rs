//! The two answers about one program: of the run with clocks, and of the axioms.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fencepost_check::look::proxy::proxy_of;
use fencepost_check::model::readings::Settings;
use fencepost_check::options::{CrossCheck, Wanted};
use fencepost_check::{Budget, Models, Options, Test, check, load};
use fencepost_kernel::check::{may_be_observed, may_end_early, with_flags};
use fencepost_kernel::code::{Module, decode};
use fencepost_kernel::footprint::tensor_map::{Element, TensorMap};
use fencepost_kernel::launch::{Argument, BufferSpec, Contents, Launch};
use fencepost_kernel::order::policy::Policy;
use fencepost_kernel::order::record::Path;
use fencepost_kernel::report::{Cause, Doubt, Finding, Protocol};
use fencepost_kernel::run::{self, Credit, Outcome, Run};
use fencepost_kernel::slice::orders::{Found, in_every_order};
use fencepost_report::{Access, ProtocolAnswer, RaceAnswer, TerminationAnswer};
use fencepost_syntax::{Source, ptx};

use crate::program::{Layout, Program, Text};

/// Two items, the lower number first.
pub(crate) type Pair = (u32, u32);

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Readings {
    Weakest,
    Strongest,
}

impl Readings {
    pub(crate) fn policy(self) -> Policy {
        match self {
            Readings::Weakest => Policy::WEAKEST,
            Readings::Strongest => Policy::STRONGEST,
        }
    }

    fn settings(self) -> Settings {
        let values = match self {
            Readings::Weakest => ["both", "issuing", "no", "needs-fences", "not-covered", "none"],
            Readings::Strongest => ["on-path", "any-in-cluster", "yes", "acq-rel-suffices", "covered", "orders"],
        };
        let points = Policy::points().iter().zip(values);
        points.fold(Settings::default(), |settings, (name, value)| settings.with(name, value))
    }
}

fn pair(a: u32, b: u32) -> Pair {
    (a.min(b), a.max(b))
}

/// What the run with clocks says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kernel {
    pub(crate) races: BTreeSet<Pair>,
    /// The proxies of the racing accesses.
    pub(crate) proxies: BTreeMap<Pair, BTreeSet<(&'static str, &'static str)>>,
    pub(crate) hang: bool,
    pub(crate) protocol: Vec<String>,
    pub(crate) other: Vec<String>,
    pub(crate) doubts: Vec<String>,
    /// Threads synchronise through memory.
    pub(crate) flags: bool,
    /// What one order of the turns shows: others may show more.
    pub(crate) one_order: bool,
    /// It hangs if a doubted wait comes late.
    pub(crate) hangs_late: bool,
    /// An instruction without a model.
    pub(crate) unmodelled: Option<String>,
}

impl Kernel {
    /// A CTA ends while another accesses its shared memory.
    pub(crate) fn ends_early(&self) -> bool {
        self.protocol.iter().any(|what| what.starts_with("ExitBeforeAccess"))
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.races.is_empty() && !self.hang && self.protocol.is_empty() && self.other.is_empty()
    }

    pub(crate) fn is_sure(&self) -> bool {
        self.doubts.is_empty() && !self.flags
    }

    pub(crate) fn is_proved(&self) -> bool {
        self.is_clean() && self.is_sure()
    }
}

/// What the axioms say; None where the search was not finished.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) races: BTreeSet<Pair>,
    /// The proxies of one example each.
    pub(crate) proxies: BTreeMap<Pair, (&'static str, &'static str)>,
    /// Findings that are no data races.
    pub(crate) undefined: BTreeSet<String>,
    pub(crate) race_free: Option<bool>,
    pub(crate) ends: Option<bool>,
    pub(crate) protocol: Vec<String>,
    pub(crate) protocol_kept: Option<bool>,
    pub(crate) outcomes: Option<u64>,
    pub(crate) executions: Option<u128>,
    pub(crate) all_pairs: bool,
    /// Of an address that no hardware takes.
    pub(crate) warned: bool,
    pub(crate) why: String,
}

impl Model {
    pub(crate) fn is_decided(&self) -> bool {
        self.race_free.is_some() && self.ends.is_some() && self.protocol_kept.is_some()
    }

    pub(crate) fn ends_early(&self) -> bool {
        self.undefined.contains("exit-before-access")
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.race_free == Some(true)
            && self.ends == Some(true)
            && self.protocol_kept == Some(true)
            && self.undefined.is_empty()
    }
}

pub(crate) fn module(text: &str) -> Module {
    decoded(text).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

pub(crate) fn decoded(text: &str) -> Result<Module, String> {
    let (tree, read) = ptx::parse(text);
    let (module, understood) = decode(&tree);
    match read.into_iter().chain(understood).next() {
        Some(diagnostic) => Err(diagnostic.message),
        None if module.entries.is_empty() => Err("no entry".to_owned()),
        None => Ok(module),
    }
}

pub(crate) fn launch(program: &Program, layout: Layout) -> Launch {
    let warps = if layout != Layout::Warps { 1 } else { program.warps() * program.spacing() };
    let (arguments, buffers) = if program.has_tensors() { map_of_a_buffer() } else { (Vec::new(), Vec::new()) };
    Launch {
        entry: "k".to_owned(),
        grid: [program.ctas(), 1, 1],
        block: [warps * 32, 1, 1],
        cluster: [if program.is_clustered() { program.ctas() } else { 1 }, 1, 1],
        shared: 0,
        arguments,
        buffers,
        cooperative: false,
    }
}

/// Two numbers of 64 bits, and a map with one box over them.
fn map_of_a_buffer() -> (Vec<Argument>, Vec<BufferSpec>) {
    let buffer = BufferSpec { name: "ga".to_owned(), bytes: 16, contents: Contents::Zero };
    let map = TensorMap {
        element: Element::U64,
        rank: 1,
        dims: [2, 1, 1, 1, 1],
        box_dims: [2, 1, 1, 1, 1],
        element_strides: [1; 5],
        ..TensorMap::default()
    };
    (vec![Argument::Pointer { buffer: 0, offset: 0 }, Argument::Map { map, buffer: 0 }], vec![buffer])
}

/// One run under these readings; if threads synchronise through memory, what this run saw counts.
pub(crate) fn kernel(program: &Program, layout: Layout, readings: Readings, seed: u64) -> Kernel {
    let text = program.kernel(layout);
    let module = module(&text.text);
    let kernel = kernel_of(&text, &module, &launch(program, layout), readings, seed);
    assert!(kernel.unmodelled.is_none(), "no model for {:?}", kernel.unmodelled);
    kernel
}

/// The same of a module with one entry.
pub(crate) fn kernel_of(text: &Text, module: &Module, launch: &Launch, readings: Readings, seed: u64) -> Kernel {
    let entry = &module.entries[0];
    let options = |credit: Credit| run::Options {
        policy: readings.policy(),
        credit,
        seed,
        steps: 100_000,
        places: Default::default(),
        last: Default::default(),
        turns: Default::default(),
        hold: None,
        elect: run::Elect::First,
    };
    let once = |credit: Credit| Run::new(module, entry, launch, options(credit)).run();
    let first = once(Credit::Determined);
    let by_reads = |doubt: &Doubt| matches!(doubt, Doubt::Decided { by: Cause::Read, .. }) || may_end_early(doubt);
    let through_memory = !first.is_clean() && (!first.flags.is_empty() || first.doubts.iter().any(by_reads));
    // Waits for flags that are the same in every run, and turns that threads take.
    let flags = through_memory.then(|| with_flags(module, entry, launch, &first, &options(Credit::Flags))).flatten();
    if std::env::var("FENCEPOST_KERNELS_UNPROVED").is_ok()
        && let Some(outcome) = &flags
    {
        eprintln!("with flags: {:?} {:?} {:?}", outcome.doubts, outcome.findings, outcome.kinds);
    }
    let decided = flags.and_then(|outcome| {
        if outcome.is_clean() {
            return Some(outcome);
        }
        match in_every_order(module, entry, launch, &outcome, &options(Credit::Flags)) {
            Found::Every { outcome, .. } | Found::Hang(outcome) => Some(*outcome),
            Found::Bad(options) => Some(Run::new(module, entry, launch, options).run()),
            Found::Open => None,
        }
    });
    if let Some(outcome) = decided {
        let mut kernel = of_outcome(text, module, outcome);
        kernel.flags = false;
        kernel.one_order = !kernel.is_clean();
        return kernel;
    }
    if first.is_clean() {
        let mut kernel = of_outcome(text, module, first);
        kernel.flags = false;
        return kernel;
    }
    let may_swap = first.doubts.iter().any(|doubt| matches!(doubt, Doubt::MaySwap { .. }));
    let observes = first.findings.iter().any(may_be_observed) || first.doubts.iter().any(may_end_early);
    if first.flags.is_empty() && !observes && !may_swap {
        let hold = first.late.iter().next().copied().filter(|_| first.findings.is_empty());
        let mut kernel = of_outcome(text, module, first);
        if hold.is_some() {
            let held = Run::new(module, entry, launch, run::Options { hold, ..options(Credit::Determined) }).run();
            kernel.hangs_late = held.findings.iter().any(|finding| matches!(finding, Finding::Hang { .. }));
        }
        return kernel;
    }
    let mut kernel = of_outcome(text, module, once(Credit::Observed));
    kernel.flags = true;
    kernel
}

fn proxy_name(path: Path) -> &'static str {
    match path.proxy() {
        "generic" => "generic proxy",
        "async" => "async proxy",
        "tensormap" => "tensormap proxy",
        // `ld.global.nc` may use it (9.7.10.9).
        "read-only" => "texture proxy",
        own => own,
    }
}

fn of_outcome(text: &Text, module: &Module, outcome: Outcome) -> Kernel {
    let code = &module.entries[0].code;
    let line_of = |pc: u32| {
        let at = code.get(pc as usize).map_or(0, |instruction| instruction.span.start as usize);
        1 + text.text.as_bytes()[..at.min(text.text.len())].iter().filter(|byte| **byte == b'\n').count() as u32
    };
    let item = |pc: u32| text.items.get(&line_of(pc)).copied().unwrap_or(u32::MAX);
    let mut kernel = Kernel { flags: !outcome.flags.is_empty(), ..Kernel::default() };
    for finding in outcome.findings {
        match finding {
            Finding::Race { race, .. } => {
                let (a, b) = (item(race.first.pc), item(race.second.pc));
                let (p, q) = (proxy_name(race.first.path), proxy_name(race.second.path));
                kernel.races.insert(pair(a, b));
                kernel.proxies.entry(pair(a, b)).or_default().insert(if a <= b { (p, q) } else { (q, p) });
            }
            Finding::Hang { .. } => kernel.hang = true,
            // A thread of a litmus test is a lane whose warp has ended, and does not free what the kernel allocates for it.
            Finding::Protocol { what: Protocol::Ended { .. } | Protocol::ColumnsKept { .. }, .. } => {}
            Finding::Protocol { pc, what, .. } => kernel.protocol.push(format!("{what:?} at {}", item(pc))),
            other => kernel.other.push(format!("{other:?}")),
        }
    }
    kernel.unmodelled = outcome.doubts.iter().find_map(|doubt| match doubt {
        Doubt::Unmodelled { text, .. } => Some(text.to_string()),
        _ => None,
    });
    let doubt = |doubt: Doubt| match doubt {
        Doubt::Matching { pc, rule } => format!("{rule:?} at {}", item(pc)),
        Doubt::Decided { pc, by } => format!("decided by {by:?} at {}", item(pc)),
        other => format!("{other:?}"),
    };
    kernel.doubts = outcome.doubts.into_iter().map(doubt).collect();
    kernel
}

pub(crate) fn model(program: &Program, readings: Readings) -> Model {
    let text = program.litmus();
    let (tests, diagnostics) = load(&Source::new("t.litmus", text.text.clone()));
    assert!(tests.len() == 1, "{diagnostics:?}\n{}", text.text);
    let item = |access: &Access| text.items.get(&access.line).copied().unwrap_or(u32::MAX);
    model_of(&tests[0], readings, Duration::from_millis(1500), &item)
}

/// The same of a test; accesses become items.
pub(crate) fn model_of(test: &Test, readings: Readings, time: Duration, item: &dyn Fn(&Access) -> u32) -> Model {
    let options = Options {
        budget: Budget::of_time(time),
        advice: Wanted::No,
        fingerprint: Wanted::No,
        cross_check: CrossCheck::Off,
        readings: readings.settings(),
        ..Options::default()
    };
    let Some(ptx) = Models::shipped("ptx") else { panic!("there is a model") };
    let checked = check(test, &ptx, &options);
    let events = checked.evidence.accesses.as_ref().or(checked.evidence.unfolding.as_ref());
    let report = checked.report;
    let misplaced = [
        "misaligned",
        "mbarrier-elsewhere",
        "column-count",
        "growing-allocation",
        "deallocated-count",
        "unpaired-collective",
    ];
    let warned = report.warnings.iter().any(|warning| misplaced.contains(&warning.name.as_str()));
    let mut model = Model { warned, all_pairs: !report.races.more && report.races.rest.is_none(), ..Model::default() };
    for (at, race) in report.races.pairs.iter().enumerate() {
        if race.kind.is_race() {
            let (a, b) = (item(&race.first), item(&race.second));
            model.races.insert(pair(a, b));
            if let (Some(((first, second), _)), Some(events)) = (checked.evidence.races.get(at), events) {
                let (p, q) = (proxy_of(events.event(*first)), proxy_of(events.event(*second)));
                let (p, q) = if a <= b { (p, q) } else { (q, p) };
                model.proxies.insert(pair(a, b), (p.name(), q.name()));
            }
        } else if item(&race.second) != u32::MAX {
            model.undefined.insert(race.flag.clone());
        }
    }
    model.race_free = match report.races.answer {
        RaceAnswer::None => Some(true),
        RaceAnswer::Found => Some(false),
        _ => None,
    };
    model.protocol =
        report.protocol.errors.iter().map(|error| format!("{} at {}", error.kind, item(&error.access))).collect();
    model.protocol_kept = match report.protocol.answer {
        ProtocolAnswer::None | ProtocolAnswer::NotAsked => Some(true),
        ProtocolAnswer::Found => Some(false),
        _ => None,
    };
    model.ends = match report.termination.answer {
        TerminationAnswer::Terminates => Some(true),
        TerminationAnswer::MayHang => Some(false),
        _ => None,
    };
    model.outcomes = report.executions.as_ref().filter(|count| count.complete).map(|_| report.outcome_count());
    model.executions = report.executions.as_ref().filter(|count| count.complete).map(|all| all.count.into());
    model.why = report.why.as_ref().map_or(String::new(), |why| why.message.clone());
    model
}
