//! The memory model for one run of a kernel: what each lane knows, and which accesses are not ordered.
//!
//! The rules are those of `models/ptx.cat`, as clocks: see docs/kernels.md. Nothing here executes instructions.

mod behind;
pub mod clock;
mod ended;
mod observed;
mod ordered;
mod over;
pub mod policy;
pub mod record;
mod shadow;
mod views;

use std::collections::BTreeMap;
use std::rc::Rc;

use fencepost_syntax::sorted::SortedSet;

use behind::Behind;
use clock::{Lane, Object, Time, Warp};
use observed::Observed;
use observed::Sight;
pub use observed::{Cap, Write, links};

use ordered::{Facts, Later};
pub use over::Certainty;
use policy::Policy;
use record::{Commutes, Handle, Kind, Path, Record, RecordId, Strand, StrandId, StrandKind};
pub use shadow::Region;
use shadow::{Entry, Shadow, StandsFor};
pub use views::{Cta, Domain, Known, Message, Snapshot, Views, sent};

use crate::code::op::{Pc, Scope};

/// Lanes of a warp that know the same.
struct Lanes {
    cta: Cta,
    time: Time,
    groups: Vec<(u32, Rc<Views>)>,
}

/// Two accesses that may happen in either order.
#[derive(Clone, Debug)]
pub struct Race {
    pub first: Record,
    pub first_lane: Lane,
    pub second: Record,
    pub second_lane: Lane,
    pub region: Region,
    /// A byte of the overlap, or a cell of tensor memory.
    pub at: u64,
    /// How many cells and lanes raced in the same way.
    pub times: u64,
    pub why: Why,
}

/// What is missing between two accesses.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// No synchronisation leads from the first to the second.
    NotOrdered,
    /// Both are strong, and their scopes do not include each other.
    Scope,
    /// They are strong and of different sizes, or overlap in part.
    Sizes,
    /// Nobody between them knows that the asynchronous operation is complete.
    NotComplete,
    /// They are ordered, and no proxy fence stands between.
    ProxyFence,
    /// They are ordered, and no `tcgen05.fence` stands between.
    TensorFence,
    /// The tensor map was written, and not released or not acquired.
    Map,
    /// What the read-only path reads must not be written by the kernel.
    ReadOnly,
}

/// The instructions and ways of two racing accesses.
pub type RaceKey = (Pc, Pc, Kind, Kind, &'static str, &'static str);

pub struct Order {
    pub policy: Policy,
    warps: Vec<Lanes>,
    ctas_per_cluster: u32,
    objects: Object,
    records: Vec<Record>,
    strands: Vec<Strand>,
    shadow: Shadow,
    observed: Observed,
    behind: Behind,
    memo: Memo,
    pub races: BTreeMap<RaceKey, Race>,
    /// Races if a compare-and-swap swaps that has failed in this run.
    pub swap_races: SortedSet<SwapRace>,
    /// Two accesses of which it is not known whether an observation orders them: more of those than are kept.
    pub capped: SortedSet<(Pc, Pc, Cap)>,
    /// More accesses than are kept: some were forgotten that a later one might race with.
    pub crowded: bool,
    /// Regions that are accessed through other proxies than the generic one; of the others less is kept.
    mixed: [bool; 2],
    pub cells_checked: u64,
    /// A write of the value that was there was let pass.
    pub repeated: bool,
    /// Operations of `tcgen05` read shared memory, in clusters.
    pub pairs_read: bool,
    /// Warps that only end were taken to have their parts of a `wgmma`.
    pub idle: bool,
}

/// A compare-and-swap that has failed, by its warp and instruction, and the instruction that it would race with.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SwapRace {
    pub swap: (Warp, Pc),
    pub with: Pc,
}

/// One access to be checked.
pub struct Touch<'a> {
    pub record: RecordId,
    pub views: &'a Rc<Views>,
    pub region: Region,
    pub lane: Lane,
    pub start: u64,
    pub len: u64,
    pub map: u64,
    /// The write leaves memory as it is: it does not race with another write of the same.
    pub same_value: bool,
}

/// Swaps that are told apart by their warps.
const MOST_SWAP_RACES: usize = 1 << 14;

/// Accesses of one kind to one cell that are kept: each further one is compared with all of them.
const CROWD: usize = 512;

impl Order {
    pub fn new(policy: Policy, ctas: u32, warps_per_cta: u32, ctas_per_cluster: u32, mixed: [bool; 2]) -> Order {
        let start = Rc::new(Views::default());
        let warps = (0..ctas * warps_per_cta)
            .map(|warp| Lanes { cta: warp / warps_per_cta, time: 0, groups: vec![(u32::MAX, Rc::clone(&start))] })
            .collect();
        Order {
            policy,
            warps,
            ctas_per_cluster: ctas_per_cluster.max(1),
            objects: 0,
            records: Vec::new(),
            strands: Vec::new(),
            shadow: Shadow::default(),
            observed: Observed::new(ctas_per_cluster),
            behind: Behind::default(),
            memo: Memo::new(),
            races: BTreeMap::new(),
            swap_races: SortedSet::new(),
            capped: SortedSet::new(),
            crowded: false,
            mixed,
            cells_checked: 0,
            repeated: false,
            pairs_read: false,
            idle: false,
        }
    }

    pub fn cluster_of(&self, cta: Cta) -> u32 {
        cta / self.ctas_per_cluster
    }

    pub fn new_object(&mut self) -> Object {
        self.objects += 1;
        self.objects - 1
    }

    /// A warp executes its next instruction.
    #[inline]
    pub fn tick(&mut self, warp: Warp) -> Time {
        let lanes = &mut self.warps[warp as usize];
        lanes.time += 1;
        lanes.time
    }

    pub fn time(&self, warp: Warp) -> Time {
        self.warps[warp as usize].time
    }

    pub fn views(&self, warp: Warp, lane: Lane) -> &Rc<Views> {
        let groups = &self.warps[warp as usize].groups;
        let found = groups.iter().find(|(mask, _)| mask & (1 << lane) != 0);
        &found.unwrap_or(&groups[0]).1
    }

    /// The lanes of the mask in groups that know the same.
    pub fn groups(&self, warp: Warp, mask: u32) -> Vec<(u32, Rc<Views>)> {
        let groups = &self.warps[warp as usize].groups;
        groups.iter().filter(|(own, _)| own & mask != 0).map(|(own, views)| (own & mask, Rc::clone(views))).collect()
    }

    /// What all lanes of a warp know, to be put back.
    pub fn all_groups(&self, warp: Warp) -> Vec<(u32, Rc<Views>)> {
        self.warps[warp as usize].groups.clone()
    }

    pub fn set_groups(&mut self, warp: Warp, groups: Vec<(u32, Rc<Views>)>) {
        self.warps[warp as usize].groups = groups;
    }

    /// Who has accessed these bytes, to be put back.
    pub fn save_cells(&mut self, region: Region, start: u64, len: u64) -> Vec<(u64, SavedCell)> {
        let mut cells = Vec::new();
        if len > 0 {
            let last = (start + len - 1) / 4;
            self.shadow.cells(region, start / 4, last, |number, cell| cells.push((number, SavedCell(cell.clone()))));
        }
        cells
    }

    pub fn restore_cells(&mut self, region: Region, cells: Vec<(u64, SavedCell)>) {
        for (number, SavedCell(saved)) in cells {
            self.shadow.cells(region, number, number, |_, cell| *cell = saved.clone());
        }
    }

    /// Changes what these lanes know; lanes that know the same afterwards are one group again.
    pub fn change(&mut self, warp: Warp, mask: u32, mut change: impl FnMut(&mut Views, u32)) {
        let lanes = &mut self.warps[warp as usize];
        let mut groups: Vec<(u32, Rc<Views>)> = Vec::with_capacity(lanes.groups.len() + 1);
        for (own, mut views) in lanes.groups.drain(..) {
            let (inside, outside) = (own & mask, own & !mask);
            if inside == 0 {
                add(&mut groups, own, views);
                continue;
            }
            if outside != 0 {
                add(&mut groups, outside, Rc::clone(&views));
            }
            #[cfg(debug_assertions)]
            let before = Rc::clone(&views.known);
            change(Rc::make_mut(&mut views), inside);
            #[cfg(debug_assertions)]
            {
                views.known.assert_consistent();
                views.known.assert_grown_from(&before);
            }
            add(&mut groups, inside, views);
        }
        lanes.groups = groups;
    }

    /// What these lanes together hand over now.
    pub fn sent(&self, warp: Warp, mask: u32) -> Known {
        let lanes = &self.warps[warp as usize];
        let mut known: Option<Known> = None;
        for (own, views) in &lanes.groups {
            if own & mask != 0 {
                let part = views.sent(lanes.cta, warp, own & mask, lanes.time);
                match &mut known {
                    None => known = Some(part),
                    Some(known) => known.collect(&part),
                }
            }
        }
        known.unwrap_or_default()
    }

    /// What these lanes know together, their own past included.
    fn together(&self, warp: Warp, mask: u32) -> Known {
        let lanes = &self.warps[warp as usize];
        let mut known: Option<Known> = None;
        for (own, views) in lanes.groups.iter().filter(|(own, _)| own & mask != 0) {
            let part = views::with_own(&views.known, &views.times, lanes.cta, warp, own & mask, lanes.time);
            match &mut known {
                None => known = Some(part),
                Some(known) => known.include(&part),
            }
        }
        known.unwrap_or_default()
    }

    pub fn receive(&mut self, warp: Warp, mask: u32, from: &Known) {
        self.receive_by(warp, mask, from, |views, lanes| views.receive(from, warp, lanes));
    }

    pub fn receive_relaxed(&mut self, warp: Warp, mask: u32, from: &Known) {
        self.receive_by(warp, mask, from, |views, lanes| views.receive_relaxed(from, warp, lanes));
    }

    /// Lanes that have contributed apart from others receive apart from others.
    fn receive_by(&mut self, warp: Warp, mask: u32, from: &Known, mut receive: impl FnMut(&mut Views, u32)) {
        let alone = from.apart.iter().filter(|((of, lane), _)| *of == warp && mask & (1 << lane) != 0);
        let alone: u32 = alone.fold(0, |lanes, ((_, lane), _)| lanes | 1 << lane);
        let waited = from.waits.iter().filter(|waits| waits.warp == warp).fold(0, |lanes, waits| lanes | waits.lanes);
        let alone = alone | (waited & mask);
        for lane in (0..32).filter(|lane| alone & (1 << lane) != 0) {
            self.change(warp, 1 << lane, &mut receive);
        }
        if mask & !alone != 0 {
            self.change(warp, mask & !alone, receive);
        }
    }

    /// `bar.warp.sync` over these lanes.
    pub fn sync_warp(&mut self, warp: Warp, mask: u32) {
        let also_issue = self.policy.warp_sync_async;
        let mut from = if also_issue { self.sent(warp, mask) } else { self.together(warp, mask) };
        if also_issue {
            from.hand_over_all();
        } else {
            // What a lane has waited for itself, it does not hand over so.
            let mut groups = self.groups(warp, mask).into_iter();
            let mut handed = groups.next().map(|(_, views)| views.known.handed.clone()).unwrap_or_default();
            groups.for_each(|(_, views)| handed.include(&views.known.handed));
            from.handed = handed;
        }
        self.change(warp, mask, |views, _| Rc::make_mut(&mut views.known).include_warp(&from, also_issue));
    }

    pub fn record(&mut self, record: Record) -> RecordId {
        self.records.push(record);
        (self.records.len() - 1) as RecordId
    }

    /// Every access that is still remembered: where, by whom, which lanes, which bytes of the cell.
    pub fn visit(&self, mut see: impl FnMut(Region, u64, &Record, u32, u8)) {
        self.shadow.visit(|region, number, entry| {
            see(region, number, &self.records[entry.record as usize], entry.lanes, entry.bytes);
        });
    }

    /// Of an atomic operation: whether its order matters to others of its kind, and whether somebody gets its result.
    pub fn set_atomic(&mut self, id: RecordId, commutes: Option<Commutes>, returns: bool) {
        let record = &mut self.records[id as usize];
        (record.commutes, record.returns) = (commutes, returns);
    }

    pub fn record_at(&self, id: RecordId) -> &Record {
        &self.records[id as usize]
    }

    /// In this run, reads observe writes; `of_this_run`: it tells of itself only.
    pub fn set_observing(&mut self, of_this_run: bool) {
        self.observed.on = true;
        self.observed.of_this_run = of_this_run;
    }

    /// A lane has written to a place that strong reads may observe.
    pub fn wrote(&mut self, at: (Region, u64), record: RecordId, lane: Lane) {
        self.observed.write(at, &self.records[record as usize], lane);
    }

    /// A strong read of a lane has observed what was written there last.
    pub fn observe(&mut self, at: (Region, u64), record: RecordId, lane: Lane) {
        self.observed.read(at, &self.records[record as usize], lane);
    }

    /// A strong read of a lane observes these writes in every execution.
    pub fn observe_told(&mut self, at: (Region, u64), record: RecordId, lane: Lane, writes: Vec<Write>) {
        self.observed.told(at, &self.records[record as usize], lane, writes);
    }

    pub fn strand(&mut self, kind: StrandKind, warp: Warp, lanes: u32, collective: bool) -> StrandId {
        let views = if collective {
            let mut views = (**self.views(warp, lanes.trailing_zeros().min(31))).clone();
            views.known = Rc::new(self.together(warp, lanes));
            Rc::new(views)
        } else {
            Rc::clone(self.views(warp, lanes.trailing_zeros().min(31)))
        };
        let own = &self.warps[warp as usize];
        let (cta, time) = (own.cta, own.time);
        let (done, reads_done) = (Vec::new(), Vec::new());
        self.strands.push(Strand { kind, cta, warp, lanes, time, views, collective, done, reads_done });
        (self.strands.len() - 1) as StrandId
    }

    pub fn strand_views(&self, strand: StrandId) -> Rc<Views> {
        Rc::clone(&self.strands[strand as usize].views)
    }

    pub fn strand_count(&self) -> StrandId {
        self.strands.len() as StrandId
    }

    pub fn strand_at(&self, strand: StrandId) -> &Strand {
        &self.strands[strand as usize]
    }

    /// Whether one who knows this knows that the operation of a lane is over.
    pub fn is_over(&self, strand: StrandId, lane: Lane, known: &clock::Clock) -> bool {
        self.strands[strand as usize].done.iter().any(|handle| match *handle {
            Handle::Phase { object, phase, lanes } => lanes & (1 << lane) != 0 && known.steps(object) > phase,
            Handle::Lanes { warp, lanes, time, each } => {
                known.knows_any_of(warp, if each { lanes & (1 << lane) } else { lanes }, time)
            }
        })
    }

    pub fn complete(&mut self, strand: StrandId, handle: Handle) {
        self.strands[strand as usize].done.push(handle);
    }

    pub fn complete_reads(&mut self, strand: StrandId, handle: Handle) {
        self.strands[strand as usize].reads_done.push(handle);
    }

    /// Checks one lane's access to some bytes against those before it. True if all of them are ordered before it or
    /// compete with it as strong operations may.
    pub fn touch(&mut self, touch: &Touch) -> Touched {
        let record = self.records[touch.record as usize];
        let cluster = self.ctas_per_cluster;
        let cluster_of = |cta: Cta| cta / cluster;
        let facts = Facts { policy: &self.policy, strands: &self.strands, cluster_of: &cluster_of };
        let strand = record.path.strand().map(|id| &self.strands[id as usize]);
        let later = Later { record: &record, views: touch.views, strand, region: touch.region, map: touch.map };
        let (first, last) = match touch.region {
            Region::Tensor(_) => (touch.start, touch.start + touch.len - 1),
            _ => (touch.start / 4, (touch.start + touch.len - 1) / 4),
        };
        let mixed = self.mixed[usize::from(!matches!(touch.region, Region::Global(_)))];
        let mut check = Check {
            facts: &facts,
            records: &self.records,
            observed: &mut self.observed,
            behind: &mut self.behind,
            later,
            id: touch.record,
            lane: touch.lane,
            mixed,
            memo: self.memo.about((touch.record, touch.lane, touch.region, touch.map)),
            through: Vec::new(),
            leaves_as_is: touch.same_value,
            same_value: false,
            repeats: false,
            any_repeats: false,
            races: Vec::new(),
            swap_races: Vec::new(),
            capped: Vec::new(),
            outcome: Touched::default(),
            crowded: false,
        };
        let region = touch.region;
        self.shadow.cells(region, first, last, |number, cell| {
            let bytes = bytes_in(region, number, touch.start, touch.len);
            check.cell(number, cell, bytes);
        });
        self.cells_checked += last - first + 1;
        self.crowded |= check.crowded;
        self.repeated |= check.any_repeats;
        let (races, swap_races, capped, mut touched) = (check.races, check.swap_races, check.capped, check.outcome);
        if record.kind.writes() {
            self.observed.overwrite(region, touch.start, touch.len, record.kind);
        }
        touched.raced = !races.is_empty();
        for (entry, lane, number) in races {
            self.race(entry, lane, touch, &record, number);
        }
        for (entry, cap) in capped {
            self.capped.insert((self.records[entry as usize].pc, record.pc, cap));
        }
        swap_races.into_iter().for_each(|entry| self.swap_race(entry, &record));
        touched
    }

    /// Neither of the two writes in this run.
    fn swap_race(&mut self, entry: RecordId, later: &Record) {
        let earlier = self.records[entry as usize];
        for (own, other) in [(&earlier, later), (later, &earlier)] {
            if own.kind == Kind::Attempt && self.swap_races.len() < MOST_SWAP_RACES {
                self.swap_races.insert(SwapRace { swap: (own.warp, own.pc), with: other.pc });
            } else if own.kind == Kind::Attempt {
                // Of a warp that there is not, nothing is known.
                self.swap_races.insert(SwapRace { swap: (Warp::MAX, own.pc), with: other.pc });
            }
        }
    }

    fn race(&mut self, entry: RecordId, lane: Lane, touch: &Touch, record: &Record, number: u64) {
        let earlier = self.records[entry as usize];
        let key = (earlier.pc, record.pc, earlier.kind, record.kind, earlier.path.proxy(), record.path.proxy());
        let at = match touch.region {
            Region::Tensor(_) => number,
            _ => (number * 4).max(touch.start),
        };
        let why = self.why(&earlier, lane, touch, record);
        let race = self.races.entry(key).or_insert_with(|| Race {
            first: earlier,
            first_lane: lane,
            second: *record,
            second_lane: touch.lane,
            region: touch.region,
            at,
            times: 0,
            why,
        });
        race.times += 1;
    }
}

impl Order {
    /// What a race lacks, for the message.
    fn why(&self, earlier: &Record, lane: Lane, touch: &Touch, later: &Record) -> Why {
        let base =
            if later.path.strand().is_some() { &touch.views.known.base.issue } else { &touch.views.known.base.threads };
        let known = match earlier.path.strand() {
            None => base.knows(earlier.warp, lane, earlier.time) || (earlier.warp == later.warp && lane == touch.lane),
            Some(strand) => self.strands[strand as usize].done.iter().any(|handle| match *handle {
                Handle::Phase { object, phase, lanes } => lanes & (1 << lane) != 0 && base.steps(object) > phase,
                Handle::Lanes { warp, lanes, time, each } => {
                    let waiters = if each { lanes & (1 << lane) } else { lanes };
                    (warp == later.warp && waiters & (1 << touch.lane) != 0)
                        || (0..32).any(|lane| waiters & (1 << lane) != 0 && base.knows(warp, lane, time))
                }
            }),
        };
        match (earlier.path, later.path) {
            (Path::ReadOnly, _) | (_, Path::ReadOnly) => Why::ReadOnly,
            (_, Path::Tensormap(_)) if known => Why::Map,
            (Path::TensorMemory(_) | Path::TensorThread, _) if known => Why::TensorFence,
            _ if known => Why::ProxyFence,
            _ if earlier.path.strand().is_some() => Why::NotComplete,
            _ if earlier.strong.is_some() && later.strong.is_some() && earlier.size == later.size => Why::Scope,
            _ if earlier.strong.is_some() && later.strong.is_some() => Why::Sizes,
            _ => Why::NotOrdered,
        }
    }
}

/// Who has accessed a cell.
pub struct SavedCell(shadow::Cell);

/// What came out of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Touched {
    pub raced: bool,
    /// A write is not ordered before this read, though it may compete with it: what is read is not determined.
    pub unordered_writer: bool,
    /// Strong reads before this write that are not ordered with it.
    pub disturbed: Vec<RecordId>,
    /// A strong write before this one is not ordered with it: what the two leave depends on their order.
    pub undetermined: bool,
    /// Compare-and-swaps before this that have failed, and are not ordered with it: each might have written.
    pub attempts: Vec<RecordId>,
}

fn add(groups: &mut Vec<(u32, Rc<Views>)>, mask: u32, views: Rc<Views>) {
    for (own, known) in groups.iter_mut() {
        if Rc::ptr_eq(known, &views) || known.same(&views) {
            *own |= mask;
            return;
        }
    }
    groups.push((mask, views));
}

/// Which of a cell's four bytes lie in the range.
fn bytes_in(region: Region, number: u64, start: u64, len: u64) -> u8 {
    if let Region::Tensor(_) = region {
        return 15;
    }
    let from = start.saturating_sub(number * 4).min(4);
    let to = (start + len - number * 4).min(4);
    (((1u32 << to) - 1) & !((1u32 << from) - 1)) as u8
}

/// The last answers about one access of a lane: neighbouring cells have the same history.
struct Memo {
    access: Option<(RecordId, Lane, Region, u64)>,
    /// Answers about other accesses have other numbers.
    number: u64,
    answers: [(u64, Question, bool); Memo::ANSWERS],
}

/// Whether this access of a lane comes before that one; none: the one that the memo is about.
type Question = (RecordId, Lane, Option<(RecordId, Lane)>);

impl Memo {
    const ANSWERS: usize = 64;

    fn new() -> Memo {
        Memo { access: None, number: 0, answers: [(0, (0, 0, None), false); Memo::ANSWERS] }
    }

    fn about(&mut self, access: (RecordId, Lane, Region, u64)) -> &mut Memo {
        if self.access != Some(access) {
            self.access = Some(access);
            self.number += 1;
        }
        self
    }

    fn answer(&mut self, question: Question, find: impl FnOnce() -> bool) -> bool {
        let (id, lane, before) = question;
        let slot = (id ^ lane ^ before.map_or(0, |(id, lane)| (id << 3) ^ lane)) as usize % Memo::ANSWERS;
        let (number, known, answer) = self.answers[slot];
        if number == self.number && known == question {
            return answer;
        }
        let answer = find();
        self.answers[slot] = (self.number, question, answer);
        answer
    }
}

struct Check<'a> {
    facts: &'a Facts<'a>,
    records: &'a [Record],
    observed: &'a mut Observed,
    behind: &'a mut Behind,
    later: Later<'a>,
    id: RecordId,
    lane: Lane,
    mixed: bool,
    leaves_as_is: bool,
    same_value: bool,
    repeats: bool,
    any_repeats: bool,
    memo: &'a mut Memo,
    /// Accesses to the cell under way that come before through a strand, lane by lane.
    through: Vec<(RecordId, Lane)>,
    races: Vec<(RecordId, Lane, u64)>,
    swap_races: Vec<RecordId>,
    capped: Vec<(RecordId, Cap)>,
    outcome: Touched,
    crowded: bool,
}

impl Check<'_> {
    fn cell(&mut self, number: u64, cell: &mut shadow::Cell, bytes: u8) {
        let kind = self.later.record.kind;
        let mut entry = Entry { record: self.id, lanes: 1 << self.lane, bytes, stands_for: StandsFor::None };
        self.through.clear();
        self.repeats = false;
        self.same_value = self.leaves_as_is;
        for earlier in cell.writers.iter() {
            self.against(number, earlier, bytes, &cell.readers);
        }
        if kind == Kind::Read {
            let (warp, path, lane) = (self.later.record.warp, self.later.record.path, 1u32 << self.lane);
            let (records, later, id, behind) = (self.records, self.later.record, self.id, &mut *self.behind);
            // Of one lane and proxy the last read stands for those before it.
            if path.strand().is_none() {
                cell.readers.retain(|own| {
                    let record = &records[own.record as usize];
                    let stands = record.warp == warp && record.path == path && own.bytes & !bytes == 0;
                    if stands && own.lanes & lane != 0 && races_no_more(record, later, own.bytes == bytes) {
                        own.lanes &= !lane;
                        behind.forget(id, (own.record, lane), record);
                    }
                    own.lanes != 0
                });
            }
            cell.readers.push(entry);
            self.crowded |= cell.readers.keep_at_most(CROWD);
            return;
        }
        for earlier in cell.readers.iter() {
            self.against(number, earlier, bytes, &cell.readers);
        }
        if kind == Kind::Attempt {
            for entries in [&mut cell.writers, &mut cell.readers] {
                entries.retain(|own| {
                    self.forget(own, bytes);
                    own.lanes != 0
                });
            }
            cell.writers.push(entry);
            self.crowded |= cell.writers.keep_at_most(CROWD);
            return;
        }
        self.any_repeats |= self.repeats;
        if self.repeats {
            // A second write of the same value must come after all that the first came after.
            let before = std::mem::take(&mut cell.before);
            self.same_value = false;
            before.iter().for_each(|earlier| self.against(number, earlier, bytes, &cell.readers));
            cell.before = before;
        } else {
            cell.before.clear();
        }
        for entries in [&mut cell.writers, &mut cell.readers] {
            entries.retain(|own| {
                cell.before.extend(self.forget(own, bytes));
                own.lanes != 0
            });
        }
        if self.observed.on && self.later.record.strong.is_some() {
            entry.stands_for = self.observed.forget(&cell.before);
        }
        cell.writers.push(entry);
        self.crowded |= cell.writers.keep_at_most(CROWD);
    }

    fn against(&mut self, number: u64, earlier: &Entry, bytes: u8, readers: &shadow::Entries) {
        if earlier.bytes & bytes == 0 {
            return;
        }
        let record = self.records[earlier.record as usize];
        if record.kind == Kind::Mbarrier && self.later.record.kind == Kind::Mbarrier {
            return;
        }
        let mut lanes = earlier.lanes;
        // One instruction of one lane does not race with itself.
        if earlier.record == self.id {
            lanes &= !(1 << self.lane);
        }
        while lanes != 0 {
            let lane = lanes.trailing_zeros();
            lanes &= lanes - 1;
            if self.ordered(earlier.record, &record, lane) {
                continue;
            }
            if self.later.record.kind.may_write() && self.through_strand(earlier, bytes, &record, lane, readers) {
                self.through.push((earlier.record, lane));
                continue;
            }
            if self.morally_strong(&record) {
                self.compete(earlier, &record, bytes);
                continue;
            }
            let one_proxy = matches!(
                (record.path, self.later.record.path),
                (Path::Generic, Path::Generic) | (Path::Async(_), Path::Async(_))
            );
            if self.same_value && record.kind == Kind::Write && one_proxy && earlier.bytes == bytes {
                self.repeats = true;
                continue;
            }
            match self.sight(number, earlier, bytes, &record, lane) {
                Sight::Before => {}
                Sight::Unknown(cap) => self.capped.push((earlier.record, cap)),
                Sight::None if !record.kind.writes() && !self.later.record.kind.writes() => {
                    self.swap_races.push(earlier.record);
                }
                Sight::None if self.races.len() < 64 => self.races.push((earlier.record, lane, number)),
                Sight::None => {}
            }
        }
    }

    /// Two strong operations that may come in either order: what they read may depend on it, and what they leave.
    fn compete(&mut self, earlier: &Entry, record: &Record, bytes: u8) {
        let later = self.later.record;
        if record.kind == Kind::Attempt && self.outcome.attempts.last() != Some(&earlier.record) {
            self.outcome.attempts.push(earlier.record);
        }
        self.outcome.unordered_writer |= record.kind.writes() && later.kind != Kind::Write;
        if record.kind.writes() && later.kind.writes() {
            let stores = record.kind == Kind::Write && later.kind == Kind::Write && earlier.bytes == bytes;
            let commutes = record.commutes.is_some() && record.commutes == later.commutes;
            let alike = commutes || (self.same_value && stores);
            self.outcome.undetermined |= !alike;
        }
        if !later.kind.may_write() {
            return;
        }
        if record.kind != Kind::Write && self.outcome.disturbed.last() != Some(&earlier.record) {
            self.outcome.disturbed.push(earlier.record);
        }
        let (facts, records, last, own) = (self.facts, self.records, self.later, self.lane);
        let comes_before = |read: RecordId, lane: Lane| facts.ordered(&records[read as usize], lane, &last, own);
        let once = later.kind.writes();
        self.outcome.disturbed.extend(self.behind.unordered(earlier.record, once, comes_before));
    }

    fn ordered(&mut self, id: RecordId, record: &Record, lane: Lane) -> bool {
        let (facts, later, own) = (self.facts, self.later, self.lane);
        self.memo.answer((id, lane, None), || facts.ordered(record, lane, &later, own))
    }

    fn sight(&self, number: u64, entry: &Entry, bytes: u8, earlier: &Record, lane: Lane) -> Sight {
        let later = self.later.record;
        let execution = &self.later.views.known.execution;
        // Somebody has heard of the operation, relaxed: a wait that observed it may come before the end of the mbarrier (8.9.5).
        if (earlier.kind, later.kind) == (Kind::Mbarrier, Kind::Initialise)
            && execution.knows(earlier.warp, lane, earlier.time)
        {
            return Sight::Unknown(Cap::Mbarrier);
        }
        if self.observed.on { self.was_observed(number, entry, bytes, earlier, lane) } else { Sight::None }
    }

    /// A write comes before by observation, and all that it stands for by itself.
    fn was_observed(&self, number: u64, entry: &Entry, bytes: u8, earlier: &Record, lane: Lane) -> Sight {
        let sight = self.is_observed(number, entry.bytes & bytes, earlier, lane);
        if sight == Sight::None {
            return sight;
        }
        let Some(forgotten) = self.observed.forgotten(entry.stands_for) else {
            return Sight::Unknown(self.observed.most_forgotten());
        };
        let comes_before = |record: &Record, lane: Lane, common: u8| {
            let neither_writes = !record.kind.writes() && !self.later.record.kind.writes();
            if neither_writes || common == 0 || self.facts.ordered(record, lane, &self.later, self.lane) {
                return Sight::Before;
            }
            self.is_observed(number, common, record, lane)
        };
        forgotten.iter().fold(sight, |sight, (id, lanes, own)| {
            let record = &self.records[*id as usize];
            let lanes = (0..32).filter(|lane| lanes & (1 << lane) != 0);
            lanes.fold(sight, |sight, lane| sight.and(comes_before(record, lane, own & bytes)))
        })
    }

    /// Observed by a read that comes before the later access (8.9.5).
    fn is_observed(&self, number: u64, common: u8, earlier: &Record, lane: Lane) -> Sight {
        let (later, own) = (&self.later, self.lane);
        let is_itself = |reader: &Record, lane: Lane| {
            (reader.warp, lane, reader.time) == (later.record.warp, own, later.record.time)
        };
        let comes_before =
            |reader: &Record, lane: Lane| !is_itself(reader, lane) && self.facts.ordered(reader, lane, later, own);
        let start = number * 4;
        let bytes = start + u64::from(common.trailing_zeros())..start + 8 - u64::from(common.leading_zeros());
        self.observed.comes_before((later.region, &bytes), earlier, lane, comes_before)
    }

    /// On one location orders run through a strand: what comes before its access comes before a write after it
    /// (`preserved` in causality.cat). One location is every byte that the two have in common.
    fn through_strand(
        &mut self,
        entry: &Entry,
        bytes: u8,
        earlier: &Record,
        lane: Lane,
        readers: &shadow::Entries,
    ) -> bool {
        let (id, common) = (entry.record, entry.bytes & bytes);
        readers.iter().filter(|between| common & !between.bytes == 0).any(|between| {
            let record = &self.records[between.record as usize];
            // What a warp does later does not come before.
            if record.warp == earlier.warp && record.time < earlier.time {
                return false;
            }
            let Some(strand) = record.path.strand().map(|id| &self.facts.strands[id as usize]) else { return false };
            let reader = between.lanes.trailing_zeros();
            let (facts, middle) =
                (self.facts, Later { record, views: &strand.views, strand: Some(strand), ..self.later });
            let question = (id, lane, Some((between.record, reader)));
            self.ordered(between.record, record, reader)
                && self.memo.answer(question, || facts.ordered(earlier, lane, &middle, reader))
        })
    }

    /// Two strong operations that include each other, through the same proxy, on exactly the same bytes (8.7): elements are
    /// aligned to their size, so that two of one size that have a byte in common have all of them; those of a vector are
    /// accesses of their own (8.2.4).
    fn morally_strong(&self, earlier: &Record) -> bool {
        let later = self.later.record;
        if earlier.kind == Kind::Mbarrier && later.kind == Kind::Mbarrier {
            return true;
        }
        let (Some(a), Some(b)) = (earlier.strong, later.strong) else { return false };
        let is_generic = |path: Path| matches!(path, Path::Generic | Path::GenericStrand(_));
        let generic = is_generic(earlier.path) && is_generic(later.path);
        let includes = |scope: Scope| match scope {
            Scope::Cta => earlier.cta == later.cta,
            Scope::Cluster => (self.facts.cluster_of)(earlier.cta) == (self.facts.cluster_of)(later.cta),
            Scope::Gpu | Scope::Sys => true,
        };
        // Two asynchronous reductions are atomic to each other.
        let alike = generic || matches!((earlier.path, later.path), (Path::Async(_), Path::Async(_)));
        alike && earlier.size == later.size && includes(a) && includes(b)
    }

    /// Takes away the lanes of an access for which this holds: whoever comes after the later write comes after them too, through
    /// whatever proxy.
    fn forget(&mut self, earlier: &mut Entry, bytes: u8) -> Option<Entry> {
        if earlier.bytes & !bytes != 0 || earlier.record == self.id {
            return None;
        }
        let record = self.records[earlier.record as usize];
        let later = self.later.record;
        if !races_no_more(&record, later, earlier.bytes == bytes) || !decides_no_more(&record, later) {
            return None;
        }
        let (mut lanes, mut gone) = (earlier.lanes, 0);
        while lanes != 0 {
            let lane = lanes.trailing_zeros();
            lanes &= lanes - 1;
            let before = self.through.contains(&(earlier.record, lane)) || self.ordered(earlier.record, &record, lane);
            if before && self.dominated(&record, lane) {
                gone |= 1 << lane;
            }
        }
        // Some lanes alone only where nothing else is to be known of them: what a strong write stands for is kept for all lanes
        // of it together, and what a second write of the same value must come after for all writes of that value.
        let for_all = self.leaves_as_is || (self.observed.on && later.strong.is_some());
        if gone == 0 || (gone != earlier.lanes && for_all) {
            return None;
        }
        earlier.lanes &= !gone;
        self.behind.forget(self.id, (earlier.record, gone), &record);
        Some(Entry { lanes: gone, ..*earlier })
    }

    fn dominated(&self, earlier: &Record, lane: Lane) -> bool {
        if self.later.strand.is_some() {
            return true;
        }
        let known = &self.later.views.known;
        match earlier.path {
            Path::Generic => {
                let same_lane = earlier.warp == self.later.record.warp && lane == self.lane;
                if same_lane || !self.mixed {
                    return true;
                }
                let knows = |pair: &views::Pair| pair.issue.knows(earlier.warp, lane, earlier.time);
                // What a thread has fenced, base causality order knows.
                known.by_thread(self.later.region.domain()).is_some_and(knows)
            }
            Path::GenericStrand(_) => {
                let counts = |kind: Kind| kind == Kind::Mbarrier;
                !self.mixed || (counts(earlier.kind) && counts(self.later.record.kind))
            }
            Path::Async(strand) => {
                let strand = &self.facts.strands[strand as usize];
                strand.fenced_at_completion(self.facts.policy.tcgen05_completion_fence)
            }
            Path::ReadOnly | Path::Tensormap(_) => true,
            Path::TensorMemory(_) | Path::TensorThread => true,
        }
    }
}

/// Whether whatever does not race with the later access, though nothing orders the two, does not race with the earlier one
/// either: a weak access is not forgotten behind a strong one, nor an initialisation behind an arrival.
fn races_no_more(earlier: &Record, later: &Record, same_bytes: bool) -> bool {
    if later.kind == Kind::Mbarrier {
        return earlier.kind == Kind::Mbarrier;
    }
    let Some(later_scope) = later.strong else { return true };
    let alike = earlier.cta == later.cta && earlier.size == later.size && same_bytes;
    let same_path = match (earlier.path, later.path) {
        (Path::Async(_), Path::Async(_)) => true,
        (a, b) => a == b,
    };
    alike && same_path && earlier.strong.is_some_and(|scope| scope >= later_scope)
}

/// Whether the later access stands for the earlier one in what a third reads or leaves. A compare-and-swap that fails writes
/// nothing: it stands for reads, and for itself in an earlier round. A read-modify-write keeps something of what was there
/// before: a third that commutes with it, and need not come after that, leaves another value.
fn decides_no_more(earlier: &Record, later: &Record) -> bool {
    if later.kind == Kind::Attempt {
        let again = earlier.kind == Kind::Attempt && (earlier.warp, earlier.pc) == (later.warp, later.pc);
        return again || earlier.kind == Kind::Read;
    }
    later.commutes.is_none() || !earlier.kind.may_write() || earlier.commutes == later.commutes
}

/// Whether two operations include each other in their scopes.
pub fn in_scope(scope: Scope, a: Cta, b: Cta, ctas_per_cluster: u32) -> bool {
    match scope {
        Scope::Cta => a == b,
        Scope::Cluster => a / ctas_per_cluster.max(1) == b / ctas_per_cluster.max(1),
        Scope::Gpu | Scope::Sys => true,
    }
}
