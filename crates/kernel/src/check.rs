//! The question: is this launch free of races, hangs and errors? One run, or several.

use crate::code::op::Op;
use crate::code::{Entry, Module};
use crate::launch::Launch;
use crate::order::policy::Policy;
use crate::report::{Doubt, Finding, Report};
use crate::run::{Credit, Options, Outcome, Run};

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

pub fn check(module: &Module, entry: &Entry, launch: &Launch, limits: &Limits) -> Report {
    let run = |policy: Policy, credit: Credit, seed: u64| -> Outcome {
        Run::new(module, entry, launch, Options { policy, credit, seed, steps: limits.steps }).run()
    };
    let first = run(Policy::WEAKEST, Credit::Determined, 0);
    // What threads tell each other through memory matters only where the rest does not do.
    let clean = first.findings.is_empty() && first.doubts.is_empty();
    if clean || first.flags.is_empty() {
        let mut report = report_of(first, entry);
        settle_readings(&mut report, &points(entry, launch), &|policy| run(policy, Credit::Determined, 0));
        return report;
    }
    // Threads synchronise through memory: what one run has seen of it, another need not see.
    let mut report = report_of(run(Policy::WEAKEST, Credit::Observed, 0), entry);
    let flags: Vec<Doubt> = first.flags.iter().map(|pc| Doubt::Flags { pc: *pc }).collect();
    for seed in 1..u64::from(limits.schedules) {
        if !report.findings.is_empty() {
            break;
        }
        report.schedules += 1;
        let next = report_of(run(Policy::WEAKEST, Credit::Observed, seed * 0x9e37_79b9), entry);
        report.findings = next.findings;
        report
            .doubts
            .extend(next.doubts.into_iter().filter(|doubt| !report.doubts.contains(doubt)).collect::<Vec<_>>());
    }
    report.doubts.extend(flags);
    settle_readings(&mut report, &points(entry, launch), &|policy| run(policy, Credit::Observed, 0));
    report
}

fn report_of(outcome: Outcome, entry: &Entry) -> Report {
    let mut assumptions = unchecked(entry, outcome.covered.strands > 0);
    // Only through memory does a CTA wait for one outside its cluster.
    if outcome.covered.ctas > 1 && !outcome.flags.is_empty() {
        assumptions.push("CTAs that wait for each other are on the GPU at the same time");
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

/// Rules that a run does not look at, and that this entry could break (docs/kernels.md, "What is not there yet").
fn unchecked(entry: &Entry, asynchronous: bool) -> Vec<&'static str> {
    let has = |is: fn(&Op) -> bool| entry.code.iter().any(|instruction| is(&instruction.op));
    let mut rules = Vec::new();
    if asynchronous && has(|op| matches!(op, Op::SyncWarp { .. })) {
        rules.push("what a lane knows by bar.warp.sync counts for what it starts behind another barrier");
    }
    if has(|op| matches!(op, Op::Wgmma { .. })) {
        rules.push("wgmma.fence stands wherever registers of a wgmma were written");
    }
    if has(|op| matches!(op, Op::Tcgen05Load { .. })) {
        rules.push("registers of tcgen05.ld are used behind tcgen05.wait::ld");
    }
    if has(|op| matches!(op, Op::GridWait | Op::GridLaunchDependents)) {
        rules.push(ALONE);
    }
    if skips_a_fence(entry) {
        rules.push("a branch on a loaded value counts as a dependency of the fences behind it (H6)");
    }
    rules
}

/// Whether a branch forwards may leave out a fence or a commit.
fn skips_a_fence(entry: &Entry) -> bool {
    let is_fence = |op: &Op| {
        matches!(op, Op::Fence { .. } | Op::FenceProxyAsync(_) | Op::CopyAsyncCommit | Op::BulkCommit | Op::WgmmaCommit)
    };
    entry.code.iter().enumerate().any(|(pc, own)| match own.op {
        Op::Branch { to } if own.guard.is_some() && to as usize > pc => {
            entry.code[pc + 1..to as usize].iter().any(|skipped| is_fence(&skipped.op))
        }
        _ => false,
    })
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
