//! What would remove a race: an instruction put into the text of the module, and checked by running the changed kernel.
//!
//! How many changed kernels are run is a matter of what they cost, counted in instructions and cells. With a clock the
//! answer depended on what else the machine did.

use std::collections::{HashMap, HashSet};

use fencepost_syntax::sorted::SortedSet;

use crate::check::seed_of;
use crate::code::op::{Completion, Op, Pc};
use crate::code::{self, Entry, Instruction};
use crate::launch::Launch;
use crate::order::policy::Policy;
use crate::order::record::Record;
use crate::order::{Domain, Race, Why};
use crate::report::{Doubt, Finding, Report};
use crate::run::{Credit, Options, Run};

/// A line to be put in before the instruction at this place of the text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Insertion {
    /// Byte offset of the start of a line.
    pub at: usize,
    /// Before this instruction.
    pub pc: Pc,
    pub text: String,
    /// Those in which the changed kernel was run; one decides where one run stands for all.
    pub schedules: u32,
}

/// Looks for insertions with which races of a kernel are gone.
pub struct Mender<'a> {
    text: &'a str,
    entry: &'a Entry,
    launch: &'a Launch,
    options: Options,
    before: Wrong,
    tried: HashMap<Insertion, Option<Wrong>>,
    /// What changed kernels may still cost (`Covered::cost`).
    left: u64,
    /// In which changed kernels are run: that in which something was found, and others where one does not stand for all.
    schedules: Vec<u32>,
    landmarks: Landmarks,
}

/// Instructions that candidates are placed by, ascending: found once, as a large module may have a race for each line.
struct Landmarks {
    /// To which branches lead.
    targets: Vec<Pc>,
    barriers: Vec<Pc>,
    /// Barriers and arrivals.
    releases: Vec<Pc>,
}

/// What is wrong with a run, by the numbers of the instructions in the unchanged kernel.
#[derive(Clone, Default)]
struct Wrong {
    races: SortedSet<(Pc, Pc)>,
    hangs: bool,
    errors: SortedSet<Pc>,
    doubts: usize,
    /// Races and hangs in other schedules, where the unchanged kernel may have them as well.
    elsewhere: SortedSet<(Pc, Pc)>,
    hangs_elsewhere: bool,
}

/// Changed kernels that are run, measured in runs of the kernel itself.
const RUNS: u64 = 16;
/// What they may cost together: a few runs of a large kernel, which takes no longer than to compare readings,
const LARGE_RUNS: u64 = 4;
/// and of a small one this, some seconds.
const SMALL_COST: u64 = 20_000_000;
/// Schedules in which a changed kernel is run where one does not stand for all.
const SCHEDULES: u32 = 4;

impl<'a> Mender<'a> {
    /// For the kernel whose report this is.
    pub fn new(text: &'a str, entry: &'a Entry, launch: &'a Launch, steps: u64, report: &Report) -> Mender<'a> {
        // What threads have seen of each other counts where the report let it count.
        let credit = if report.observed { Credit::Observed } else { Credit::Determined };
        let own = report.covered.warp_instructions;
        let steps = steps.min(own.saturating_mul(4) + 100_000);
        let options = Options::plain(Policy::WEAKEST, credit, 0, steps);
        let not_flags = |doubt: &&Doubt| !matches!(doubt, Doubt::Flags { .. });
        let before = wrong(&report.findings, report.doubts.iter().filter(not_flags).count(), None);
        let found = report.schedules.saturating_sub(1);
        let others = (0..SCHEDULES).filter(|other| !report.doubts.is_empty() && *other != found);
        let schedules: Vec<u32> = std::iter::once(found).chain(others).collect();
        // To read a byte is about as much work as an instruction of a lane.
        let cost = report.covered.cost().saturating_add(text.len() as u64);
        let left = allowed(cost, schedules.len() as u64);
        let landmarks = Landmarks::of(&entry.code);
        Mender { text, entry, launch, options, before, tried: HashMap::new(), left, schedules, landmarks }
    }

    /// An insertion with which none of these races is left, and nothing is wrong that was not wrong before.
    pub fn mend(&mut self, races: &[&Race]) -> Option<Insertion> {
        let lines = races.iter().flat_map(|race| self.candidates(race));
        let mut seen = HashSet::new();
        let lines: Vec<(Pc, String)> = lines.filter(|line| seen.insert(line.clone())).collect();
        let candidates: Vec<Insertion> = lines.iter().filter_map(|(pc, line)| self.insertion(*pc, line)).collect();
        candidates.into_iter().find(|candidate| {
            let pairs = races.iter().map(|race| (race.first.pc, race.second.pc));
            // A wait that hangs, or passes too early, is what is wrong: a barrier beside it would hide that.
            let mends = |after: &Wrong| {
                let is_gone = |pair| !after.races.contains(&pair) && !after.elsewhere.contains(&pair);
                !after.hangs && !after.hangs_elsewhere && pairs.into_iter().all(is_gone)
            };
            self.after(candidate).is_some_and(mends)
        })
    }

    /// What is wrong with the changed kernel, if that is no more than before.
    fn after(&mut self, candidate: &Insertion) -> Option<&Wrong> {
        if !self.tried.contains_key(candidate) {
            let found = self.run(candidate).filter(|after| !after.is_new_to(&self.before));
            self.tried.insert(candidate.clone(), found);
        }
        self.tried.get(candidate)?.as_ref()
    }

    fn run(&mut self, candidate: &Insertion) -> Option<Wrong> {
        // To read the text again takes seconds of a large module.
        if self.left == 0 || fencepost_syntax::limits::is_over() {
            return None;
        }
        let mut changed = self.text.to_owned();
        changed.insert_str(candidate.at, &candidate.text);
        self.left = self.left.saturating_sub(changed.len() as u64);
        let (tree, diagnostics) = fencepost_syntax::ptx::parse(&changed);
        if !diagnostics.is_empty() {
            return None;
        }
        let (module, _) = code::decode(&tree);
        let mended = module.entries.iter().find(|own| own.name == self.entry.name)?;
        let mut after: Option<Wrong> = None;
        for schedule in &self.schedules {
            if self.left == 0 || fencepost_syntax::limits::is_over() {
                return None;
            }
            let options = Options { seed: seed_of(*schedule), ..self.options.clone() };
            let outcome = Run::new(&module, mended, self.launch, options).run();
            self.left = self.left.saturating_sub(outcome.covered.cost());
            let own = wrong(&outcome.findings, outcome.doubts.len(), Some(candidate.pc));
            match &mut after {
                Some(after) => {
                    after.elsewhere = after.elsewhere.union(&own.races).copied().collect();
                    after.hangs_elsewhere |= own.hangs;
                }
                None => after = Some(own),
            }
        }
        after
    }

    /// Lines that could order the pair, and before which instructions; the likeliest first.
    fn candidates(&self, race: &Race) -> Vec<(Pc, String)> {
        let (first, second) = (&race.first, &race.second);
        let same_cta = first.cta == second.cta;
        match race.why {
            Why::ProxyFence => self.handed_over(first, second, &fence_about(race)),
            Why::TensorFence => {
                let mut places = self.handed_over(first, second, "tcgen05.fence::before_thread_sync;");
                places.push((second.pc, "tcgen05.fence::after_thread_sync;".to_owned()));
                places
            }
            Why::NotOrdered if same_cta => {
                let same_warp = first.warp == second.warp;
                let lines = [same_warp.then_some("bar.warp.sync -1;"), Some("bar.sync 0;")];
                let places = self.between(first.pc, second.pc);
                let with = |line: &'static str| places.iter().map(move |pc| (*pc, line.to_owned()));
                lines.into_iter().flatten().flat_map(with).collect()
            }
            Why::NotComplete => {
                let Some(wait) = wait_for(&self.entry.code[first.pc as usize].op) else { return Vec::new() };
                let places = [
                    Some(second.pc),
                    self.landmarks.previous_barrier(second.pc),
                    self.landmarks.next_release(first.pc),
                ];
                places.into_iter().flatten().map(|pc| (pc, wait.to_owned())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Before the synchronisation that hands the access over; else right behind it, or before the other one.
    fn handed_over(&self, first: &Record, second: &Record, fence: &str) -> Vec<(Pc, String)> {
        let places = [self.landmarks.next_release(first.pc), Some(first.pc + 1), Some(second.pc)];
        places.into_iter().flatten().map(|pc| (pc, fence.to_owned())).collect()
    }

    /// Where a barrier may stand between two instructions: right before or behind one of them (which comes first, the
    /// schedule has decided), or where the ways of the threads may meet.
    fn between(&self, first: Pc, second: Pc) -> Vec<Pc> {
        const MOST: usize = 6;
        let targets = &self.landmarks.targets;
        let before = &targets[..targets.partition_point(|target| *target < first.max(second))];
        let mut places = vec![second, first + 1, first, second + 1];
        places.extend(before.iter().rev().take(MOST));
        places
    }

    /// At the start of the line of an instruction.
    fn insertion(&self, pc: Pc, line: &str) -> Option<Insertion> {
        let start = self.entry.code.get(pc as usize)?.span.start as usize;
        if pc as usize + 1 == self.entry.code.len() {
            return None;
        }
        let at = self.text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
        // A label or another instruction on the same line would come before it.
        let indent = self.text.get(at..start)?;
        let text = format!("{indent}{line}\n");
        indent.trim().is_empty().then_some(Insertion { at, pc, text, schedules: self.schedules.len() as u32 })
    }
}

impl Landmarks {
    fn of(code: &[Instruction]) -> Landmarks {
        let which = |is_one: fn(&Op) -> bool| -> Vec<Pc> {
            let found = code.iter().enumerate().filter(|(_, own)| is_one(&own.op));
            found.map(|(pc, _)| pc as Pc).collect()
        };
        let target = |own: &Instruction| if let Op::Branch { to } = own.op { Some(to) } else { None };
        let targets: SortedSet<Pc> = code.iter().filter_map(target).collect();
        let releases = which(|op| {
            matches!(
                op,
                Op::Barrier { .. } | Op::MbarrierArrive { .. } | Op::ClusterArrive { .. } | Op::SyncWarp { .. }
            )
        });
        let barriers = which(|op| matches!(op, Op::Barrier { .. }));
        Landmarks { targets: targets.into_iter().collect(), barriers, releases }
    }

    /// The next barrier or arrival in the text behind an instruction.
    fn next_release(&self, after: Pc) -> Option<Pc> {
        self.releases.get(self.releases.partition_point(|pc| *pc <= after)).copied()
    }

    /// The barrier in the text before an instruction.
    fn previous_barrier(&self, before: Pc) -> Option<Pc> {
        self.barriers[..self.barriers.partition_point(|pc| *pc < before)].last().copied()
    }
}

/// What changed kernels may cost, of a kernel that costs so much itself, if each is run in so many schedules.
fn allowed(own: u64, schedules: u64) -> u64 {
    let once = own.saturating_mul(schedules);
    once.saturating_mul(RUNS).min(SMALL_COST.max(once.saturating_mul(LARGE_RUNS)))
}

impl Wrong {
    fn is_new_to(&self, before: &Wrong) -> bool {
        (self.hangs && !before.hangs)
            || self.doubts > before.doubts
            || !self.races.is_subset(&before.races)
            || !self.errors.is_subset(&before.errors)
    }
}

/// With the numbers that the instructions have without the one that was put in.
fn wrong(findings: &[Finding], doubts: usize, inserted: Option<Pc>) -> Wrong {
    let own = |pc: Pc| if inserted.is_some_and(|inserted| pc > inserted) { pc - 1 } else { pc };
    let mut wrong = Wrong { doubts, ..Wrong::default() };
    for finding in findings {
        match finding {
            Finding::Race { race, .. } => {
                wrong.races.insert((own(race.first.pc), own(race.second.pc)));
            }
            Finding::Hang { .. } => wrong.hangs = true,
            Finding::OutOfBounds { pc, .. }
            | Finding::Misaligned { pc, .. }
            | Finding::Protocol { pc, .. }
            | Finding::Trap { pc, .. }
            | Finding::Assertion { pc, .. }
            | Finding::BadOperand { pc, .. } => {
                // What is wrong with the instruction that was put in is new.
                let pc = if inserted == Some(*pc) { Pc::MAX } else { own(*pc) };
                wrong.errors.insert(pc);
            }
        }
    }
    wrong
}

fn fence_about(race: &Race) -> String {
    let about = match race.region.domain() {
        Domain::Global => ".global",
        Domain::Shared(_) => ".shared::cta",
        Domain::Mapped(_) => ".shared::cluster",
    };
    format!("fence.proxy.async{about};")
}

/// The instruction that waits for an asynchronous one, unless that is an mbarrier's.
fn wait_for(op: &Op) -> Option<&'static str> {
    match op {
        Op::CopyAsync { .. } => Some("cp.async.wait_all;"),
        Op::TensorStore { .. } | Op::BulkStore { completion: Completion::BulkGroup, .. } => {
            Some("cp.async.bulk.wait_group 0;")
        }
        Op::Wgmma { .. } => Some("wgmma.wait_group.sync.aligned 0;"),
        Op::Tcgen05Load { .. } => Some("tcgen05.wait::ld.sync.aligned;"),
        Op::Tcgen05Store { .. } => Some("tcgen05.wait::st.sync.aligned;"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the machine does besides, the same repairs are tried.
    #[test]
    fn changed_kernels_are_limited_by_what_they_cost() {
        assert_eq!(allowed(1_000, 1), 16_000, "runs of the kernel itself");
        assert_eq!(allowed(1_000, 4), 64_000, "each in several schedules");
        assert_eq!(allowed(2_000_000, 1), SMALL_COST);
        assert_eq!(allowed(100_000_000, 1), 400_000_000, "some of a large kernel too");
        assert_eq!(allowed(100_000_000, 4), 1_600_000_000, "each in all schedules");
        assert_eq!(allowed(u64::MAX, 4), u64::MAX);
    }
}
