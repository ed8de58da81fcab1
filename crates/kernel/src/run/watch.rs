//! What somebody outside wants to see of a run besides its answer: a timeline for the picture of a pipeline, and which
//! accesses a dependent launch makes before it has waited for the launch before it. Neither changes the run.

use fencepost_syntax::sorted::{SortedMap, SortedSet};

use super::Run;
use super::warp::lanes;
use crate::code::op::Pc;
use crate::order::clock::Object;
use crate::order::clock::waiter;
use crate::order::record::{Kind, Path, Record};
use crate::order::{Cta, Region, Views};

/// The shared memory of one CTA over time. Time is cut at what orders threads: ends of barriers and of phases.
#[derive(Debug, Default)]
pub struct Timeline {
    pub cta: Cta,
    /// Which accesses there were in which stretch of time.
    pub acts: SortedMap<(u32, Act, Pc), Deed>,
    /// Operations on mbarriers, by stretch, address and kind.
    pub marks: SortedMap<(u32, u64, Mark, Pc), u64>,
    /// Waits for groups of asynchronous operations.
    pub waits: SortedMap<(u32, Pc), u64>,
    /// What ended each stretch.
    pub ends: Vec<End>,
    /// There was more than is kept.
    pub cut: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Act {
    /// By an asynchronous operation.
    Fill,
    Write,
    /// By an asynchronous operation: `wgmma`, `tcgen05.mma`, a bulk store.
    ReadAsync,
    Read,
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mark {
    Initialise,
    Arrive,
    Wait,
}

/// The end of a stretch of time.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum End {
    Barrier { id: u32 },
    Phase { at: u64, phase: u32 },
}

/// Which bytes, in grains of [`GRAIN`], and which warps of the CTA.
#[derive(Clone, Debug, Default)]
pub struct Deed {
    grains: Vec<u64>,
    pub warps: u64,
}

pub const GRAIN: u64 = 16;
/// Stretches of time that are kept: a picture has no room for more.
const MOST: usize = 400;

impl Deed {
    fn add(&mut self, start: u64, len: u64) {
        for grain in start / GRAIN..=(start + len.max(1) - 1) / GRAIN {
            let word = (grain / 64) as usize;
            if self.grains.len() <= word {
                self.grains.resize(word + 1, 0);
            }
            self.grains[word] |= 1 << (grain % 64);
        }
    }

    pub fn has(&self, grain: u64) -> bool {
        self.grains.get((grain / 64) as usize).is_some_and(|word| word & (1 << (grain % 64)) != 0)
    }

    /// One more than the last grain.
    pub fn end(&self) -> u64 {
        self.grains.len() as u64 * 64
    }
}

impl Timeline {
    fn now(&self) -> u32 {
        self.ends.len() as u32
    }

    fn warp(&self, warp: u32, per_cta: u32) -> u64 {
        1 << (warp % per_cta.max(1)).min(63)
    }

    fn end(&mut self, end: End) {
        if self.ends.len() < MOST {
            self.ends.push(end);
        } else {
            self.cut = true;
        }
    }
}

/// What a dependent launch did to global memory before it knew that the launch before it is over.
#[derive(Debug, Default)]
pub struct Early {
    object: Object,
    /// CTAs of which some thread has waited, and those that let dependent launches start before they knew.
    waiting: SortedSet<Cta>,
    premature: SortedSet<Cta>,
    pub accesses: Vec<EarlyAccess>,
    /// There were more.
    pub cut: bool,
}

impl Early {
    /// Some thread has waited: so has the launch, when it ends.
    pub fn waited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A launch that depends on this one starts when the one before this has ended: dependent launches start when each CTA
    /// has said that they may, or has ended (9.7.15.14), and one CTA does so behind its wait only.
    pub fn holds_back(&self) -> bool {
        !self.waiting.is_subset(&self.premature)
    }
}

#[derive(Copy, Clone, Debug)]
pub struct EarlyAccess {
    pub record: Record,
    pub lane: u32,
    pub buffer: u32,
    pub start: u64,
    pub len: u64,
}

const MOST_EARLY: usize = 1 << 20;

impl Run<'_> {
    /// Keeps a timeline of the shared memory of this CTA.
    pub fn with_timeline(mut self, cta: Cta) -> Self {
        self.timeline = Some(Box::new(Timeline { cta, ..Timeline::default() }));
        self
    }

    /// The launch may start before the one before it has ended: `griddepcontrol.wait` tells of its end (9.7.15.14).
    pub fn dependent(mut self) -> Self {
        let object = self.order.new_object();
        self.early = Some(Early { object, ..Early::default() });
        self
    }

    pub(super) fn watch_access(&mut self, record: Record, views: &Views, lane: u32, region: Region, at: u64, len: u64) {
        match region {
            Region::Global(buffer) => self.watch_early(record, views, lane, buffer, at, len),
            Region::Shared(cta) => {
                let Some(timeline) = self.timeline.as_mut().filter(|timeline| timeline.cta == cta) else { return };
                let is_asynchronous = !matches!(record.path, Path::Generic);
                let act = match record.kind {
                    Kind::Initialise | Kind::Mbarrier => return,
                    Kind::Read if is_asynchronous => Act::ReadAsync,
                    Kind::Read | Kind::Attempt => Act::Read,
                    _ if is_asynchronous => Act::Fill,
                    _ => Act::Write,
                };
                let (now, warp) = (timeline.now(), timeline.warp(record.warp, self.warps_per_cta));
                let deed = timeline.acts.entry((now, act, record.pc)).or_default();
                deed.add(at, len);
                deed.warps |= warp;
            }
            Region::Tensor(_) => {}
        }
    }

    fn watch_early(&mut self, record: Record, views: &Views, lane: u32, buffer: u32, start: u64, len: u64) {
        let Some(early) = &mut self.early else { return };
        let base = &views.known.base;
        let knows = if record.path.strand().is_some() { &base.issue } else { &base.threads };
        if knows.steps(early.object) > 0 {
            return;
        }
        if early.accesses.len() < MOST_EARLY {
            early.accesses.push(EarlyAccess { record, lane, buffer, start, len });
        } else {
            early.cut = true;
        }
    }

    pub(super) fn grid_wait(&mut self, warp: usize, active: u32) {
        let cta = self.warps[warp].cta;
        let Some(early) = &mut self.early else { return };
        early.waiting.insert(cta);
        let object = early.object;
        let by = waiter(warp as u32, active.trailing_zeros());
        self.order.change(warp as u32, active, |views, _| {
            std::rc::Rc::make_mut(&mut views.known).complete(object, 1, by);
        });
    }

    /// Dependent launches may start, as far as this CTA is concerned.
    pub(super) fn grid_launch(&mut self, warp: usize, active: u32) {
        let cta = self.warps[warp].cta;
        let Some(early) = &mut self.early else { return };
        let knows = |lane: u32| self.order.views(warp as u32, lane).known.base.threads.steps(early.object) > 0;
        if !lanes(active).all(knows) {
            early.premature.insert(cta);
        }
    }

    pub(super) fn watch_end(&mut self, cta: Cta, end: End) {
        if let Some(timeline) = self.timeline.as_mut().filter(|timeline| timeline.cta == cta) {
            timeline.end(end);
        }
    }

    pub(super) fn watch_mark(&mut self, warp: usize, pc: Pc, (cta, at): (Cta, u64), mark: Mark) {
        if let Some(timeline) = self.timeline.as_mut().filter(|timeline| timeline.cta == cta) {
            let (now, warp) = (timeline.now(), timeline.warp(warp as u32, self.warps_per_cta));
            *timeline.marks.entry((now, at, mark, pc)).or_default() |= warp;
        }
    }

    pub(super) fn watch_wait(&mut self, warp: usize, pc: Pc) {
        let cta = self.warps[warp].cta;
        if let Some(timeline) = self.timeline.as_mut().filter(|timeline| timeline.cta == cta) {
            let (now, warp) = (timeline.now(), timeline.warp(warp as u32, self.warps_per_cta));
            *timeline.waits.entry((now, pc)).or_default() |= warp;
        }
    }
}
