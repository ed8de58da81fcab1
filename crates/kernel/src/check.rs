//! The question: is this launch free of races, hangs and errors? One run, or several.

use std::rc::Rc;

use fencepost_syntax::sorted::SortedSet;

use crate::code::op::{Op, Pc};
use crate::code::{Entry, Module};
use crate::dependence::loads_decide_fences;
use crate::dependence::placement::placement_decides;
use crate::launch::Launch;
use crate::order::policy::Policy;
use crate::order::record::{Path, Record};
use crate::report::{Cause, Doubt, Finding, Protocol, Report, Rule, Sliced};
use crate::run::{Credit, Elect, Last, Late, Options, Outcome, Place, Run};
use crate::slice::orders::{Found, in_every_order};

/// Assumed of a launch that is checked without those around it.
pub const ALONE: &str = "no other kernel runs at the same time (griddepcontrol does nothing)";

const ELECTED_FIRST: &str = "elect.sync elects the first lane of its mask";
const ELECTED_LAST: &str = "elect.sync elects the first lane of its mask or the last, each of which was run";

/// How much is tried.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Warp instructions per run.
    pub steps: u64,
    /// Schedules that are tried where one does not decide.
    pub schedules: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 200_000_000, schedules: 8 }
    }
}

/// How often places are looked for that decide something.
const PASSES: u32 = 4;

/// A run that credits waits for flags and counters in memory (H5): which places they are, the run before has found. It
/// tells something only if it is clean.
pub fn with_flags(
    module: &Module,
    entry: &Entry,
    launch: &Launch,
    first: &Outcome,
    options: &Options,
) -> Option<Outcome> {
    let mut places = first.places.clone();
    let mut last = None;
    for _ in 0..PASSES {
        if places.is_empty() || fencepost_syntax::limits::is_over() {
            return last;
        }
        let options = Options { credit: Credit::Flags, places: Rc::new(places.clone()), ..options.clone() };
        let outcome = Run::new(module, entry, launch, options).run();
        if outcome.is_clean() {
            return Some(outcome);
        }
        let before = places.len();
        places = places.union(&outcome.places).copied().collect();
        last = Some(outcome);
        if places.len() == before {
            break;
        }
    }
    by_cases(module, entry, launch, &places, last.as_ref()?, options).or(last)
}

/// Cases in which the last tickets are taken by certain lanes.
const MOST_CASES: usize = 64;

/// Somebody takes the last ticket: a run for each who may. In each the others come before, and are known to.
fn by_cases(
    module: &Module,
    entry: &Entry,
    launch: &Launch,
    places: &SortedSet<Place>,
    found: &Outcome,
    options: &Options,
) -> Option<Outcome> {
    let mut cases: Vec<Last> = vec![Last::new()];
    for (place, takers) in &found.tickets {
        if takers.len() < 2 || cases.len() * takers.len() > MOST_CASES {
            return None;
        }
        let with = |case: &Last, taker: &(u32, u32)| {
            let mut case = case.clone();
            case.insert(*place, *taker);
            case
        };
        cases = cases.iter().flat_map(|case| takers.iter().map(move |taker| with(case, taker))).collect();
    }
    if found.tickets.is_empty() {
        return None;
    }
    let mut proof = None;
    for case in cases {
        let (places, last) = (Rc::new(places.clone()), Rc::new(case));
        let options = Options { credit: Credit::Flags, places, last, ..options.clone() };
        let outcome = Run::new(module, entry, launch, options).run();
        if !outcome.is_clean() || fencepost_syntax::limits::is_over() {
            return None;
        }
        proof = Some(outcome);
    }
    proof
}

pub fn check(module: &Module, entry: &Entry, launch: &Launch, limits: &Limits) -> Report {
    let question = Question { module, entry, launch, limits };
    let first = question.run(question.plain(Credit::Determined, 0));
    if let Some(hang) =
        late_hang(&first, &|hold| question.run(Options { hold, ..question.plain(Credit::Determined, 0) }))
    {
        return report_of(hang, entry, launch);
    }
    // What threads tell each other through memory matters only where the rest does not do.
    let by_reads = |doubt: &Doubt| {
        matches!(doubt, Doubt::Decided { by: Cause::Read, .. } | Doubt::Torn { .. }) || may_end_early(doubt)
    };
    if first.is_clean()
        && let Some(report) = question.with_other_lanes(&first)
    {
        return report;
    }
    // A swap that has failed may succeed in another schedule.
    let may_swap = first.doubts.iter().any(|doubt| matches!(doubt, Doubt::MaySwap { .. }));
    if first.is_clean() || (first.flags.is_empty() && !first.doubts.iter().any(by_reads) && !may_swap) {
        return question.settled(&question.plain(Credit::Determined, 0), first);
    }
    // Who waits for ever, or was not followed to the end, needs no proof.
    let answer = if hangs(&first.findings) || first.doubts.iter().any(is_cut) {
        Answer::Open
    } else {
        question.through_memory(&first)
    };
    if let Answer::Proved(report) = answer {
        return *report;
    }
    // Else, what one run has seen of it, another need not see.
    let observes = first.findings.iter().any(may_be_observed) || first.doubts.iter().any(may_end_early);
    let mut report = if first.flags.is_empty() && !observes && !may_swap {
        question.settled(&question.plain(Credit::Determined, 0), first)
    } else {
        question.some_schedules(&first)
    };
    match answer {
        Answer::Found(findings) => add_findings(&mut report, findings),
        Answer::Sliced(sliced) if report.findings.is_empty() => report.sliced = Some(sliced),
        _ => {}
    }
    report
}

/// A race with a strong write: whoever observes it comes after it (8.9.5).
pub fn may_be_observed(finding: &Finding) -> bool {
    matches!(finding, Finding::Race { race, .. } if race.first.strong.is_some() && race.first.kind.writes())
}

/// An access to the memory of another CTA that was over before that ended, and need not be in another run.
pub fn may_end_early(doubt: &Doubt) -> bool {
    matches!(doubt, Doubt::Matching { rule: Rule::OwnerEnds, .. })
}

fn hangs(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| matches!(finding, Finding::Hang { .. }))
}

/// Whether a run with this doubt was not followed to its end.
fn is_cut(doubt: &Doubt) -> bool {
    doubt.ends_a_run() || matches!(doubt, Doubt::Polls { .. })
}

/// The same because of something outside the launch: another run may come further.
fn is_limit(doubt: &Doubt) -> bool {
    matches!(doubt, Doubt::Time | Doubt::Memory | Doubt::Cancelled)
}

/// What runs may cost that elect one lane after the other.
const MOST_OF_LANES: u64 = 200_000_000;

/// The lanes between the first and the last that must be elected in turn; None if that does not do, or is too much.
fn lanes_between(first: &Outcome, last: &Outcome) -> Option<Vec<u32>> {
    let (one, other) = (&first.elected, &last.elected);
    let matters = one.matters || other.matters;
    if !matters && one.alike && other.alike {
        return Some(Vec::new());
    }
    // Of two masks, any lane may be elected with any.
    let (1, Some(mask)) = (one.masks.len(), one.masks.first()) else { return None };
    let lanes = if matters { *mask } else { (one.stand | other.stand) & mask };
    let (lowest, highest) = (mask.trailing_zeros(), 31 - mask.leading_zeros().min(31));
    let between: Vec<u32> = (lowest + 1..highest).filter(|lane| lanes & (1 << lane) != 0).collect();
    (first.covered.cost().saturating_mul(between.len() as u64) <= MOST_OF_LANES).then_some(between)
}

/// What another run has found and this one has not.
fn add_findings(report: &mut Report, findings: Vec<Finding>) {
    let races = |finding: &Finding, other: &Finding| match (finding, other) {
        (Finding::Race { race: own, .. }, Finding::Race { race: other, .. }) => {
            let sorted = |a: Pc, b: Pc| (a.min(b), a.max(b));
            sorted(own.first.pc, own.second.pc) == sorted(other.first.pc, other.second.pc)
        }
        _ => std::mem::discriminant(finding) == std::mem::discriminant(other),
    };
    for finding in findings {
        if !report.findings.iter().any(|own| races(own, &finding)) {
            report.findings.push(finding);
        }
    }
}

/// A launch, and how much is tried.
struct Question<'a> {
    module: &'a Module,
    entry: &'a Entry,
    launch: &'a Launch,
    limits: &'a Limits,
}

/// What runs say that look after places in memory.
enum Answer {
    Proved(Box<Report>),
    /// Proved if the slices are right.
    Sliced(Box<Sliced>),
    Found(Vec<Finding>),
    Open,
}

impl Question<'_> {
    fn plain(&self, credit: Credit, seed: u64) -> Options {
        Options::plain(Policy::WEAKEST, credit, seed, self.limits.steps)
    }

    fn run(&self, options: Options) -> Outcome {
        Run::new(self.module, self.entry, self.launch, options).run()
    }

    /// `elect.sync` may elect another lane than the first: what runs say in which it does. Some stand for the others where these
    /// would do the same; else each of them is tried. None if nobody elects.
    fn with_other_lanes(&self, first: &Outcome) -> Option<Report> {
        self.entry.code.iter().find(|own| matches!(own.op, Op::Elect { .. }))?;
        let options = |elect: Elect| Options { elect, ..self.plain(Credit::Determined, 0) };
        let last = self.run(options(Elect::Last));
        let others = if last.is_clean() { lanes_between(first, &last) } else { None };
        let mut settled = others.is_some();
        let mut report = self.settled(&options(Elect::Last), last);
        for lane in others.into_iter().flatten() {
            let outcome = self.run(options(Elect::Lane(lane)));
            if !outcome.is_clean() {
                report = self.settled(&options(Elect::Lane(lane)), outcome);
                settled = false;
                break;
            }
        }
        let is_assumed = report.assumptions.iter().position(|own| *own == ELECTED_FIRST);
        match is_assumed {
            Some(at) if settled => drop(report.assumptions.remove(at)),
            Some(at) => report.assumptions[at] = ELECTED_LAST,
            None => {}
        }
        Some(report)
    }

    /// The report of a run, with the readings that its races depend on.
    fn settled(&self, options: &Options, outcome: Outcome) -> Report {
        let mut report = report_of(outcome, self.entry, self.launch);
        let run = |policy: Policy| self.run(Options { policy, ..options.clone() });
        settle_readings(&mut report, &points(self.entry, self.launch), &run);
        report
    }

    /// Threads synchronise through memory. Where they wait for what every run has, one run decides; where they take turns,
    /// there is a run for each order of them.
    fn through_memory(&self, first: &Outcome) -> Answer {
        let (module, entry, launch) = (self.module, self.entry, self.launch);
        let options = self.plain(Credit::Flags, 0);
        let Some(flags) = with_flags(module, entry, launch, first, &options) else { return Answer::Open };
        if flags.is_clean() {
            return Answer::Proved(Box::new(report_of(flags, entry, launch)));
        }
        match in_every_order(module, entry, launch, &flags, &options) {
            Found::Every { outcome, slices, orders } => {
                let report = Report { orders, ..report_of(*outcome, entry, launch) };
                if slices.is_empty() {
                    return Answer::Proved(Box::new(report));
                }
                Answer::Sliced(Box::new(Sliced { slices, report }))
            }
            Found::Hang(outcome) => Answer::Found(outcome.findings),
            Found::Bad(options) => {
                let outcome = self.run(options.clone());
                Answer::Found(self.settled(&options, outcome).findings)
            }
            Found::Open => Answer::Open,
        }
    }

    /// Runs that count all that they see, until one of them finds something.
    fn some_schedules(&self, first: &Outcome) -> Report {
        let mut doubts: SortedSet<Doubt> = SortedSet::new();
        let mut report = Report::default();
        let schedules = self.limits.schedules.max(1);
        for schedule in 0..schedules {
            let options = self.plain(Credit::Observed, seed_of(schedule));
            let outcome = self.run(options.clone());
            report = self.settled(&options, outcome);
            (report.schedules, report.observed) = (schedule + 1, true);
            doubts.extend(std::mem::take(&mut report.doubts));
            if !report.findings.is_empty() || doubts.iter().any(is_cut) {
                break;
            }
        }
        let flags = first.flags.iter().map(|pc| Doubt::Flags { pc: *pc });
        doubts.extend(flags);
        // What one schedule has shown does not hold in all of them.
        doubts.extend(first.doubts.iter().filter(|doubt| may_end_early(doubt)).cloned());
        // What these runs have not seen is still what is missing for a proof.
        if report.findings.is_empty() {
            doubts.extend(first.doubts.iter().cloned());
        }
        report.doubts = doubts.into_iter().collect();
        report
    }
}

/// The seed of a schedule, by its number.
pub(crate) fn seed_of(schedule: u32) -> u64 {
    u64::from(schedule) * 0x9e37_79b9
}

fn report_of(outcome: Outcome, entry: &Entry, launch: &Launch) -> Report {
    let mut assumptions = unchecked(entry);
    // Only through memory does a CTA wait for one outside its cluster, and a cooperative launch has all of them on the GPU.
    let together = launch.cooperative || launch.ctas_per_cluster() >= outcome.covered.ctas;
    if !together && !outcome.flags.is_empty() {
        assumptions.push("CTAs that wait for each other are on the GPU at the same time");
    }
    if outcome.order.idle {
        assumptions.push("warps that only end have their parts of the wgmma of their warpgroup");
    }
    if outcome.order.repeated {
        assumptions.push("several threads may write one and the same value to one place");
    }
    assumptions.extend(&outcome.assumed);
    Report {
        findings: outcome.findings,
        doubts: outcome.doubts.into_iter().collect(),
        stopped_at: outcome.stopped_at,
        assumptions,
        covered: outcome.covered,
        schedules: 1,
        observed: false,
        sliced: None,
        orders: 0,
    }
}

/// Runs in which a doubted wait comes late.
const LATE_RUNS: usize = 8;

/// A run that hangs because a wait comes when its phase is gone. It is an execution like any other.
fn late_hang(first: &Outcome, run: &dyn Fn(Option<Late>) -> Outcome) -> Option<Outcome> {
    // A wait that nothing makes the others wait for is why a phase may be gone; the hang says what comes of it.
    let missing_wait = |finding: &Finding| matches!(finding, Finding::Protocol { what: Protocol::MissingWait, .. });
    let is_clean = first.findings.iter().all(missing_wait) && first.flags.is_empty();
    let late = first.late.iter().take(LATE_RUNS).filter(|_| is_clean);
    late.map(|late| run(Some(*late))).find(|outcome| hangs(&outcome.findings))
}

/// Rules that a run does not look at, and that this entry could break (docs/kernels.md, "What is not there yet").
fn unchecked(entry: &Entry) -> Vec<&'static str> {
    let has = |is: fn(&Op) -> bool| entry.code.iter().any(|instruction| is(&instruction.op));
    let mut rules = Vec::new();
    if has(|op| matches!(op, Op::ActiveMask { .. })) {
        rules.push("all lanes of a warp that are not at their end are together where activemask finds them so");
    }
    if has(|op| matches!(op, Op::Elect { .. })) {
        rules.push(ELECTED_FIRST);
    }
    if has(|op| matches!(op, Op::Tcgen05Alloc { .. })) {
        rules.push("tcgen05.alloc gives the first free columns");
    }
    if has(|op| matches!(op, Op::SetMaxRegisters { increases: true, .. })) {
        rules.push("the CTA has the registers that setmaxnreg.inc asks for");
    }
    if placement_decides(entry) {
        rules.push(
            "shared variables lie one after the other, behind 1024 bytes of the system (a branch depends on where)",
        );
    }
    if has(|op| matches!(op, Op::GridWait | Op::GridLaunchDependents)) {
        rules.push(ALONE);
    }
    if loads_decide_fences(entry) {
        rules.push("a branch on a loaded value counts as a dependency of the fences behind it (H6)");
    }
    rules
}

/// The contested points that can matter to this entry.
fn points(entry: &Entry, launch: &Launch) -> Vec<&'static str> {
    let has = |is: fn(&Op) -> bool| entry.code.iter().any(|instruction| is(&instruction.op));
    let tensor = has(|op| matches!(op, Op::Tcgen05Mma { .. } | Op::Tcgen05Copy { .. } | Op::Tcgen05Alloc { .. }));
    let matters = |point: &&&str| match **point {
        "async-cta" | "async-fence-remote" => launch.ctas_per_cluster() > 1,
        "warp-sync-async" => has(|op| matches!(op, Op::SyncWarp { .. })),
        "tcgen05-completion-fence" | "tcgen05-acq-rel-sync" => tensor,
        _ => has(|op| matches!(op, Op::FenceProxyAsync(_))),
    };
    Policy::points().iter().filter(matters).copied().collect()
}

/// No reading is about two accesses of threads through the generic proxy; any other race may depend on all of them.
fn leave_open(report: &mut Report, points: &[&'static str]) {
    let is_plain = |record: &Record| matches!(record.path, Path::Generic | Path::ReadOnly);
    for finding in &mut report.findings {
        if let Finding::Race { race, only } = finding
            && !(is_plain(&race.first) && is_plain(&race.second))
        {
            *only = points.to_vec();
        }
    }
    report.doubts.push(Doubt::Readings);
}

/// Races that a contested reading of the ISA rules out depend on it: which ones.
fn settle_readings(report: &mut Report, points: &[&'static str], run: &dyn Fn(Policy) -> Outcome) {
    let races = |report: &Report| report.findings.iter().any(|finding| matches!(finding, Finding::Race { .. }));
    if !races(report) {
        return;
    }
    let key = |finding: &Finding| match finding {
        Finding::Race { race, .. } => Some((race.first.pc, race.second.pc, race.first.kind, race.second.kind)),
        _ => None,
    };
    let keys = |outcome: &Outcome| outcome.findings.iter().filter_map(key).collect::<Vec<_>>();
    let strongest = run(Policy::STRONGEST);
    // A run that was cut short tells nothing about the races that it lacks: those through two proxies may depend on a reading.
    if strongest.doubts.iter().any(is_limit) {
        return leave_open(report, points);
    }
    let strongest = keys(&strongest);
    let depends = |finding: &Finding| key(finding).is_some_and(|key| !strongest.contains(&key));
    if !report.findings.iter().any(depends) {
        return;
    }
    for point in points {
        let with = run(Policy::WEAKEST.with(point, &Policy::STRONGEST));
        if with.doubts.iter().any(is_limit) {
            return leave_open(report, points);
        }
        let with = keys(&with);
        for finding in &mut report.findings {
            let Some(key) = key(finding) else { continue };
            if let Finding::Race { only, .. } = finding
                && !strongest.contains(&key)
                && !with.contains(&key)
            {
                only.push(point);
            }
        }
    }
    // Where no single point does it, several together do.
    for finding in &mut report.findings {
        let Some(key) = key(finding) else { continue };
        if let Finding::Race { only, .. } = finding
            && !strongest.contains(&key)
            && only.is_empty()
        {
            *only = points.to_vec();
        }
    }
}
