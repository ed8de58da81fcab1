//! The question: is this launch free of races, hangs and errors? One run, or several.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::code::op::Op;
use crate::code::{Entry, Module};
use crate::dependence::loads_decide_fences;
use crate::launch::Launch;
use crate::order::policy::Policy;
use crate::report::{Doubt, Finding, Report};
use crate::run::{Credit, Last, Late, Options, Outcome, Place, Run};

/// Assumed of a launch that is checked without those around it.
pub const ALONE: &str = "no other kernel runs at the same time (griddepcontrol does nothing)";

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
        places.extend(outcome.places.iter().copied());
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
    places: &BTreeSet<Place>,
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
    let options = |policy: Policy, credit: Credit, seed: u64| Options::plain(policy, credit, seed, limits.steps);
    let run = |policy: Policy, credit: Credit, seed: u64| -> Outcome {
        Run::new(module, entry, launch, options(policy, credit, seed)).run()
    };
    let first = run(Policy::WEAKEST, Credit::Determined, 0);
    let held = |hold: Option<Late>| {
        let options = Options { hold, ..options(Policy::WEAKEST, Credit::Determined, 0) };
        Run::new(module, entry, launch, options).run()
    };
    if let Some(hang) = late_hang(&first, &held) {
        return report_of(hang, entry, launch);
    }
    // What threads tell each other through memory matters only where the rest does not do.
    if first.is_clean() || first.flags.is_empty() {
        let mut report = report_of(first, entry, launch);
        settle_readings(&mut report, &points(entry, launch), &|policy| run(policy, Credit::Determined, 0));
        return report;
    }
    // Threads synchronise through memory. Where they wait for what every run has, one run decides.
    let flags = with_flags(module, entry, launch, &first, &options(Policy::WEAKEST, Credit::Flags, 0));
    if let Some(outcome) = flags.filter(Outcome::is_clean) {
        return report_of(outcome, entry, launch);
    }
    // Else, what one run has seen of it, another need not see.
    let mut report = report_of(run(Policy::WEAKEST, Credit::Observed, 0), entry, launch);
    let flags: Vec<Doubt> = first.flags.iter().map(|pc| Doubt::Flags { pc: *pc }).collect();
    for seed in 1..u64::from(limits.schedules) {
        if !report.findings.is_empty() {
            break;
        }
        report.schedules += 1;
        let next = report_of(run(Policy::WEAKEST, Credit::Observed, seed * 0x9e37_79b9), entry, launch);
        report.findings = next.findings;
        report
            .doubts
            .extend(next.doubts.into_iter().filter(|doubt| !report.doubts.contains(doubt)).collect::<Vec<_>>());
    }
    report.doubts.extend(flags);
    settle_readings(&mut report, &points(entry, launch), &|policy| run(policy, Credit::Observed, 0));
    report
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
    Report {
        findings: outcome.findings,
        doubts: outcome.doubts.into_iter().collect(),
        assumptions,
        covered: outcome.covered,
        schedules: 1,
    }
}

/// Runs in which a doubted wait comes late.
const LATE_RUNS: usize = 8;

/// A run that hangs because a wait comes when its phase is gone. It is an execution like any other.
fn late_hang(first: &Outcome, run: &dyn Fn(Option<Late>) -> Outcome) -> Option<Outcome> {
    let late = first.late.iter().take(LATE_RUNS).filter(|_| first.findings.is_empty() && first.flags.is_empty());
    let hangs = |outcome: &Outcome| outcome.findings.iter().any(|finding| matches!(finding, Finding::Hang { .. }));
    late.map(|late| run(Some(*late))).find(hangs)
}

/// Rules that a run does not look at, and that this entry could break (docs/kernels.md, "What is not there yet").
fn unchecked(entry: &Entry) -> Vec<&'static str> {
    let has = |is: fn(&Op) -> bool| entry.code.iter().any(|instruction| is(&instruction.op));
    let mut rules = Vec::new();
    if has(|op| matches!(op, Op::ActiveMask { .. })) {
        rules.push("all lanes of a warp that are not at their end are together where activemask finds them so");
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
    let strongest = keys(&run(Policy::STRONGEST));
    let depends = |finding: &Finding| key(finding).is_some_and(|key| !strongest.contains(&key));
    if !report.findings.iter().any(depends) {
        return;
    }
    for point in points {
        let with = keys(&run(Policy::WEAKEST.with(point, &Policy::STRONGEST)));
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
