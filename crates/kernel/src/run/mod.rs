//! One run of a launch: every lane of every warp, scheduled from a seed; reads return the last write, asynchronous
//! operations perform when they are issued.
//!
//! The run is one execution that the model allows. What it tells about all others is docs/kernels.md.

mod access;
mod asynchronous;
mod cancel;
mod collective;
mod compute;
mod dependency;
mod execute;
mod flag;
mod matrix;
mod over;
mod register_limit;
mod register_reads;
mod swaps;
mod synchronise;
pub mod taint;
mod turns;
mod warp;
pub mod watch;

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::code::op::{Op, Pc, Register, Space};
use crate::code::{Entry, Instruction, Module, SPECIALS, Skip};
use crate::launch::{Contents, Launch};
use crate::memory::{Memory, Taint, left};
use crate::order::policy::Policy;
use crate::order::record::{Kind, Path, Record, RecordId, StrandId, StrandKind};
use crate::order::{Cta, Known, Message, Order, Region};
use crate::report::{Covered, Doubt, Finding, Stuck};
pub use flag::turn::{Section, Taken, Turn, Turns};
pub use flag::{Last, Place};
pub use synchronise::election::Elected;
use taint::Taints;
pub use turns::Late;
use warp::Warp;

/// Which synchronisation through memory counts.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Credit {
    /// Only what every run has.
    Determined,
    /// Only what every run has, waits for flags in memory included.
    Flags,
    /// What this run has seen.
    Observed,
}

/// The lane of its mask that `elect.sync` elects: any, and the same for the same mask (9.7.15.15).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Elect {
    First,
    Last,
    /// This one, where the mask has it.
    Lane(u32),
}

#[derive(Clone, Debug)]
pub struct Options {
    pub policy: Policy,
    pub credit: Credit,
    pub seed: u64,
    /// Warp instructions in all.
    pub steps: u64,
    /// For [`Credit::Flags`]: where strong reads ask that decide something, as an earlier run has found.
    pub places: Rc<SortedSet<Place>>,
    /// For [`Credit::Flags`]: the case that is looked at.
    pub last: Rc<Last>,
    /// For [`Credit::Flags`]: where threads take turns, and who is first.
    pub turns: Rc<Turns>,
    /// A wait that comes late.
    pub hold: Option<Late>,
    /// Whom `elect.sync` elects.
    pub elect: Elect,
}

impl Options {
    /// One run from the start, nothing held back.
    pub fn plain(policy: Policy, credit: Credit, seed: u64, steps: u64) -> Options {
        let (places, last, turns) = (Rc::default(), Rc::default(), Rc::default());
        Options { policy, credit, seed, steps, places, last, turns, hold: None, elect: Elect::First }
    }
}

pub struct Run<'a> {
    entry: &'a Entry,
    /// `.version` times ten.
    version: u32,
    launch: &'a Launch,
    options: Options,
    code: Rc<[Instruction]>,
    skips: Rc<[Option<Skip>]>,
    pub order: Order,
    memory: Memory,
    warps: Vec<Warp>,
    warps_per_cta: u32,
    barriers: HashMap<(Cta, u32), synchronise::barrier::Named>,
    clusters: Vec<synchronise::barrier::Cluster>,
    /// The first place of an mbarrier in each CTA, and behind the last.
    mbarrier_span: Vec<(u64, u64)>,
    mbarriers: HashMap<(Cta, u64), synchronise::mbarrier::Mbarrier>,
    /// From a branch back to a question: the registers that are written on the way, if all ways lead there.
    ways_back: HashMap<(Pc, Pc), Option<Rc<[Register]>>>,
    tensor: Vec<matrix::allocation::Memory>,
    /// The `.cta_group` of the first `tcgen05` instruction that has one.
    tensor_group: Option<u8>,
    taints: Taints,
    /// Strong reads by their records.
    reads: HashMap<RecordId, u32>,
    swaps: swaps::Swaps,
    messages: HashMap<(Region, u64), Vec<Rc<Message>>>,
    /// What each thread's last release at a place has published.
    released_at: HashMap<(u32, Region, u64), Vec<Rc<Message>>>,
    /// What `fence.sc` has published so far, by CTA and scope.
    sc_fences: Vec<Rc<Message>>,
    findings: SortedMap<(u8, Pc, u32), Finding>,
    doubts: SortedSet<Doubt>,
    /// What this run takes for granted.
    assumed: SortedSet<&'static str>,
    covered: Covered,
    stopped: bool,
    /// How many instructions there were before an access out of bounds.
    faulted: Option<u64>,
    /// Instructions that are more than computation, reading and barriers.
    loud: u64,
    /// What warps are compared with that may be in an endless loop.
    seen: HashMap<usize, turns::repeat::Seen>,
    /// Clusters that have not started, in a kernel that asks for their work; CTAs that have looked at a refusal.
    not_started: VecDeque<u32>,
    refused: SortedSet<Cta>,
    /// Registers of `wgmma`; empty where there is none.
    of_products: Vec<bool>,
    /// The instruction under way is one of some lanes of the warp only.
    apart: bool,
    /// Lanes of the instruction under way that cannot go on.
    blocking: Option<(u32, warp::Block)>,
    /// What the threads of each CTA know together when they end.
    exits: Vec<Known>,
    /// Accesses to the shared memory of other CTAs.
    overs: over::Overs,
    /// Instructions of which several lanes synchronise through memory, credited or not.
    flags: SortedSet<Pc>,
    flags_of: flag::Flags,
    /// Where each strong read has read, by its number among the sources of taint.
    asked: Vec<(u32, Place)>,
    /// When each warp passed a wait for an mbarrier, by instruction.
    passes: HashMap<(u32, Pc), Vec<u32>>,
    late: SortedSet<Late>,
    /// The wait that was held back may go on.
    released: bool,
    timeline: Option<Box<watch::Timeline>>,
    early: Option<watch::Early>,
    /// None: nobody elects, or nothing is to be proved.
    elections: Option<synchronise::election::Elections>,
}

/// What came out of a run.
pub struct Outcome {
    pub findings: Vec<Finding>,
    pub doubts: SortedSet<Doubt>,
    /// Where the warps stood when a limit ended the run.
    pub stopped_at: Vec<Stuck>,
    pub assumed: SortedSet<&'static str>,
    pub covered: Covered,
    pub order: Order,
    /// Threads synchronised through memory.
    pub flags: SortedSet<Pc>,
    /// What strong reads have read that decided something.
    pub places: SortedSet<Place>,
    /// Places whose tickets decide something, with the lanes that take them.
    pub tickets: SortedMap<Place, SortedSet<(u32, u32)>>,
    /// Places that were looked after ([`Options::places`]), and how threads take turns at them.
    pub looked_after: Rc<SortedSet<Place>>,
    pub kinds: SortedMap<Place, Turn>,
    pub taken: Taken,
    /// Waits that the next phase may overtake.
    pub late: SortedSet<Late>,
    /// What lies in the buffers at the end, and in the variables of the module behind them.
    pub memory: Vec<Contents>,
    pub timeline: Option<Box<watch::Timeline>>,
    pub early: Option<watch::Early>,
    pub elected: Elected,
}

impl Outcome {
    /// Nothing was found, and nothing is doubted.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.doubts.is_empty()
    }
}

impl<'a> Run<'a> {
    pub fn new(module: &'a Module, entry: &'a Entry, launch: &'a Launch, options: Options) -> Run<'a> {
        let mut taints = Taints::new();
        let unknown = taints.class(taint::UNKNOWN_DATA);
        let memory = Memory::new(module, entry, launch, unknown);
        let (ctas, warps_per_cta) = (launch.ctas(), launch.warps());
        let per_cluster = launch.ctas_per_cluster().max(1);
        let order = Order::new(options.policy, ctas, warps_per_cta, per_cluster, mixed(&entry.code));
        let mut run = Run {
            entry,
            version: module.version,
            launch,
            code: Rc::clone(&entry.code),
            skips: Rc::clone(&entry.skips),
            order,
            memory,
            warps: Vec::new(),
            warps_per_cta,
            barriers: HashMap::new(),
            clusters: Vec::new(),
            mbarrier_span: vec![(u64::MAX, 0); ctas as usize],
            mbarriers: HashMap::new(),
            ways_back: HashMap::new(),
            tensor: (0..ctas).map(|_| matrix::allocation::Memory::default()).collect(),
            tensor_group: entry.code.iter().find_map(|own| matrix::allocation::group_of(&own.op)),
            taints,
            reads: HashMap::new(),
            swaps: swaps::Swaps::default(),
            messages: HashMap::new(),
            released_at: HashMap::new(),
            sc_fences: Vec::new(),
            findings: SortedMap::new(),
            doubts: SortedSet::new(),
            assumed: SortedSet::new(),
            covered: Covered::default(),
            stopped: false,
            faulted: None,
            loud: 0,
            seen: HashMap::new(),
            not_started: VecDeque::new(),
            refused: SortedSet::new(),
            of_products: matrix::registers::of_products(&entry.code, entry.registers),
            apart: false,
            blocking: None,
            exits: vec![Known::default(); ctas as usize],
            overs: over::Overs::default(),
            flags: SortedSet::new(),
            flags_of: flag::Flags::new(&options.places, &options.last, options.credit == Credit::Flags),
            asked: Vec::new(),
            passes: HashMap::new(),
            late: SortedSet::new(),
            released: false,
            timeline: None,
            early: None,
            elections: None,
            options,
        };
        if run.options.credit == Credit::Determined {
            run.elections = synchronise::election::Elections::new(entry, (ctas * warps_per_cta) as usize);
        }
        if run.options.credit != Credit::Determined {
            run.order.set_observing(run.options.credit == Credit::Observed);
        }
        let reads = |own: &Instruction| matches!(own.op, Op::Tcgen05Mma { .. } | Op::Tcgen05Copy { .. });
        run.order.pairs_read = per_cluster > 1 && entry.code.iter().any(reads);
        run.overs.on = per_cluster > 1 && over::matters(&entry.code);
        run.start();
        run.start_flags();
        run
    }

    fn start(&mut self) {
        let threads = self.launch.threads();
        let environment = self.taints.class(taint::ENVIRONMENT);
        for cluster in 0..self.launch.ctas().div_ceil(self.launch.ctas_per_cluster().max(1)) {
            let object = self.order.new_object();
            self.clusters.push(synchronise::barrier::Cluster::new(object, cluster));
        }
        for cta in 0..self.launch.ctas() {
            for index in 0..self.warps_per_cta {
                let left = threads - index * 32;
                let lanes = if left >= 32 { u32::MAX } else { (1 << left) - 1 };
                let mut warp = Warp::new(cta, cta * threads + index * 32, lanes, self.entry.registers);
                warp.dependencies =
                    self.overs.on.then(|| Box::new(register_reads::Dependencies::new(self.entry.registers)));
                warp.shared_base = self.memory.mapped(0, cta % self.launch.ctas_per_cluster().max(1));
                for lane in 0..32 {
                    self.specials(&mut warp, cta, index, lane, environment);
                }
                self.warps.push(warp);
            }
        }
    }

    fn specials(&self, warp: &mut Warp, cta: Cta, index: u32, lane: u32, environment: Taint) {
        let launch = self.launch;
        let thread = index * 32 + lane;
        let at =
            |number: u32, size: [u32; 3]| [number % size[0], number / size[0] % size[1], number / size[0] / size[1]];
        let tid = at(thread, launch.block);
        let (ctaid, rank) = self.place_of(cta);
        let clusters = [0, 1, 2].map(|d| launch.grid[d] / launch.cluster[d].max(1));
        let cluster_id = [0, 1, 2].map(|d| ctaid[d] / launch.cluster[d].max(1));
        let in_cluster = [0, 1, 2].map(|d| ctaid[d] % launch.cluster[d].max(1));
        let shared = self.entry.dynamic_shared + launch.shared - crate::code::SHARED_START;
        for (register, name) in SPECIALS.iter().enumerate() {
            let (base, part) = name.rsplit_once('.').unwrap_or((name, ""));
            let axis = match part {
                "y" => 1,
                "z" => 2,
                _ => 0,
            };
            let value = match base {
                "%tid" => tid[axis],
                "%ntid" => launch.block[axis],
                "%ctaid" => ctaid[axis],
                "%nctaid" => launch.grid[axis],
                "%laneid" => lane,
                "%warpid" => index,
                "%nwarpid" => 64,
                "%clusterid" => cluster_id[axis],
                "%nclusterid" => clusters[axis],
                "%cluster_ctaid" => in_cluster[axis],
                "%cluster_nctaid" => launch.cluster[axis],
                "%cluster_ctarank" => rank,
                "%cluster_nctarank" => launch.ctas_per_cluster(),
                "%lanemask_eq" => 1 << lane,
                "%lanemask_lt" => (1 << lane) - 1,
                "%lanemask_le" => ((1u64 << (lane + 1)) - 1) as u32,
                "%lanemask_gt" => !(((1u64 << (lane + 1)) - 1) as u32),
                "%lanemask_ge" => !((1 << lane) - 1),
                "%dynamic_smem_size" => launch.shared,
                "%total_smem_size" => shared,
                "%is_explicit_cluster" => u32::from(launch.ctas_per_cluster() > 1),
                // Where a cooperative launch has its workspace.
                "%envreg1" => (self.memory.workspace() >> 32) as u32,
                "%envreg2" => self.memory.workspace() as u32,
                "%smid" => cta,
                "%nsmid" => launch.ctas().max(132),
                "WARP_SZ" => 32,
                "%reserved_smem_offset_end" => crate::code::SHARED_START,
                _ => 0,
            };
            warp.registers[register][lane as usize] = u64::from(value);
            warp.undefined[register] = 0;
            // Where a thread runs is not the launch's choice, nor in which units shared memory is given out.
            if matches!(base, "%smid" | "%nsmid" | "%warpid" | "%nwarpid" | "%gridid")
                || matches!(base, "%total_smem_size" | "%reserved_smem_offset_begin" | "%reserved_smem_offset_end")
            {
                warp.taint[register] = (u32::MAX, environment);
            }
        }
    }

    /// Where a CTA is in the grid, and its rank in its cluster. CTAs are numbered so that those of a cluster follow each
    /// other.
    fn place_of(&self, cta: Cta) -> ([u32; 3], u32) {
        let launch = self.launch;
        let size = launch.cluster.map(|d| d.max(1));
        let per_cluster: u32 = size.iter().product();
        let clusters = [0, 1, 2].map(|d| (launch.grid[d] / size[d]).max(1));
        let (cluster, rank) = (cta / per_cluster, cta % per_cluster);
        let of_cluster =
            [cluster % clusters[0], cluster / clusters[0] % clusters[1], cluster / clusters[0] / clusters[1]];
        let inside = [rank % size[0], rank / size[0] % size[1], rank / size[0] / size[1]];
        ([0, 1, 2].map(|d| of_cluster[d] * size[d] + inside[d]), rank)
    }

    /// Runs to the end, a hang, or a limit.
    pub fn run(mut self) -> Outcome {
        self.hold_back();
        self.schedule();
        let is_cut = self.stopped && self.doubts.iter().any(Doubt::ends_a_run);
        let stopped_at = if is_cut { self.standing(None) } else { Vec::new() };
        self.at_end();
        let races = std::mem::take(&mut self.order.races);
        let mut findings: Vec<Finding> =
            races.into_values().map(|race| Finding::Race { race, only: Vec::new() }).collect();
        findings.extend(std::mem::take(&mut self.findings).into_values());
        if self.order.crowded {
            self.doubts.insert(Doubt::Crowded);
        }
        let mut covered = self.covered.clone();
        covered.ctas = self.launch.ctas();
        covered.warps = self.warps.len() as u32;
        covered.lanes = self.launch.ctas() * self.launch.threads();
        covered.warp_instructions = self.warps.iter().map(|warp| warp.steps).sum();
        covered.lane_instructions = self.warps.iter().map(|warp| warp.lane_steps).sum();
        covered.cells = self.order.cells_checked;
        let decides = |read: &u32| self.taints.reads[*read as usize].decides.is_some();
        let places = self.asked.iter().filter(|(read, _)| decides(read)).map(|(_, place)| *place).collect();
        let (tickets, kinds) = (self.tickets(), self.turn_kinds());
        let taken = std::mem::take(&mut self.flags_of.turns.taken);
        let (doubts, assumed, order, flags, late) = (self.doubts, self.assumed, self.order, self.flags, self.late);
        let (timeline, early) = (self.timeline, self.early);
        let memory = self.memory.buffers.into_iter().map(left).collect();
        Outcome {
            findings,
            doubts,
            stopped_at,
            assumed,
            covered,
            order,
            flags,
            places,
            tickets,
            looked_after: self.options.places,
            kinds,
            taken,
            late,
            memory,
            timeline,
            early,
            elected: self.elections.map(synchronise::election::Elections::done).unwrap_or_default(),
        }
    }

    fn at_end(&mut self) {
        self.check_open_phases();
        self.check_swaps();
        self.check_reads();
        self.check_flags();
        if !self.stopped && self.warps.iter().all(Warp::is_done) {
            self.check_products();
            self.check_registers();
            self.check_columns();
        }
        self.check_exits();
        self.check_copies();
    }

    /// Strong reads whose values decide something, and with which a write is not ordered.
    fn check_reads(&mut self) {
        for read in &self.taints.reads {
            match (read.racy, read.decides) {
                (true, Some(decides)) if read.parts > 1 => {
                    self.doubts.insert(Doubt::Torn { pc: read.pc, decides });
                }
                (true, Some(pc)) => {
                    self.doubts.insert(Doubt::Decided { pc, by: crate::report::Cause::Read });
                }
                _ => {}
            }
        }
    }

    /// Bulk copies may be under way when their CTA ends: shared memory stays until they are over (reading
    /// exit-with-bulk-stores).
    fn check_copies(&mut self) {
        let outlives = |strand: StrandId| {
            let own = self.order.strand_at(strand);
            let known = &self.exits[own.cta as usize].execution;
            let lane = own.lanes.trailing_zeros().min(31);
            own.kind == StrandKind::Bulk && !self.order.is_over(strand, lane, known) && own.reads_done.is_empty()
        };
        if !self.stopped && self.warps.iter().all(Warp::is_done) && (0..self.order.strand_count()).any(outlives) {
            self.assumed.insert(
                "shared memory of a CTA that has ended stays until bulk copies are over (exit-with-bulk-stores)",
            );
        }
    }

    fn find(&mut self, kind: u8, pc: Pc, finding: Finding) {
        self.findings.entry((kind, pc, 0)).or_insert(finding);
    }

    fn doubt(&mut self, doubt: Doubt) {
        if self.doubts.len() < 256 {
            self.doubts.insert(doubt);
        }
    }

    fn thread(&self, warp: usize, lane: u32) -> u32 {
        self.warps[warp].thread + lane
    }

    fn record(&mut self, warp: usize, pc: Pc, kind: Kind, path: Path) -> RecordId {
        let record = Record {
            pc,
            cta: self.warps[warp].cta,
            warp: warp as u32,
            time: self.order.time(warp as u32),
            kind,
            path,
            strong: None,
            size: 0,
            commutes: None,
            returns: false,
        };
        self.order.record(record)
    }

    fn union(&mut self, a: Taint, b: Taint) -> Taint {
        self.taints.union(a, b)
    }
}

/// Whether global and shared memory are accessed through other proxies than the generic one.
fn mixed(code: &[Instruction]) -> [bool; 2] {
    let mut mixed = [false; 2];
    for instruction in code {
        match &instruction.op {
            Op::BulkLoad { .. }
            | Op::BulkStore { .. }
            | Op::TensorLoad { .. }
            | Op::TensorPrefetch { .. }
            | Op::TensorStore { .. } => {
                mixed = [true, true];
            }
            Op::TryCancel { .. }
            | Op::StoreAsync { .. }
            | Op::Wgmma { .. }
            | Op::Tcgen05Mma { .. }
            | Op::Tcgen05Copy { .. } => mixed[1] = true,
            Op::TensormapCopyFence { .. } => mixed[0] = true,
            Op::Load(access, _) if access.read_only || access.place.space == Space::Const => mixed[0] = true,
            _ => {}
        }
    }
    mixed
}
