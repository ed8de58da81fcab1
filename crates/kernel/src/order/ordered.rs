//! Whether an earlier access comes before a later one in causality order, through the proxies of both (8.9.5).

use super::clock::{Clock, Lane, Time, View, Waiter, Warp, waiter};
use super::policy::{AsyncFence, Policy};
use super::record::{Handle, Kind, Path, Record, Strand, StrandKind, may_begin_pipeline, pipelined};
use super::shadow::Region;
use super::views::{Cta, Domain, Pair, Views};

/// The later access: its record, the lane, and what was known when it was made or issued.
#[derive(Copy, Clone)]
pub(super) struct Later<'a> {
    pub(super) record: &'a Record,
    pub(super) views: &'a Views,
    pub(super) strand: Option<&'a Strand>,
    pub(super) region: Region,
    /// Of a tensormap access: the address of the map.
    pub(super) map: u64,
}

/// Who asks whether a strand is over: what a lane has waited for itself lies before what it does.
#[derive(Copy, Clone)]
enum Asked {
    By(Warp, Lane, Time),
    /// At the lane's last fence: its waits in front of that are in the view.
    AtGate(Warp, Lane),
    Elsewhere,
}

impl Asked {
    fn by(record: &Record, lane: Lane) -> Asked {
        Asked::By(record.warp, lane, record.time)
    }

    fn waiter(self) -> Waiter {
        match self {
            Asked::By(warp, lane, _) | Asked::AtGate(warp, lane) => waiter(warp, lane),
            Asked::Elsewhere => 0,
        }
    }

    /// Whether it is one of the lanes that have waited, and asks behind that.
    fn has_waited(self, warp: Warp, lanes: u32, time: Time) -> bool {
        matches!(self, Asked::By(own, lane, now) if own == warp && lanes & (1 << lane) != 0 && time <= now)
    }
}

/// Where every strand is, and who shares a cluster.
pub(super) struct Facts<'a> {
    pub(super) policy: &'a Policy,
    pub(super) strands: &'a [Strand],
    pub(super) cluster_of: &'a dyn Fn(Cta) -> u32,
}

/// How far back an operation is looked for through which a pipeline goes on.
const LOOK_BACK: usize = 1024;

/// What a proxy fence must be about to be about an access of a thread of this CTA.
fn domains(region: Region, by: Cta) -> [Domain; 2] {
    let own = region.domain();
    match own {
        Domain::Shared(home) if home != by => [own, Domain::Mapped(home)],
        _ => [own, own],
    }
}

impl Facts<'_> {
    fn strand(&self, record: &Record) -> Option<&Strand> {
        record.path.strand().map(|id| &self.strands[id as usize])
    }

    fn same_block(&self, a: Cta, b: Cta) -> bool {
        a == b || (self.policy.async_any_in_cluster && (self.cluster_of)(a) == (self.cluster_of)(b))
    }

    /// The earlier access of a lane, and the later one of a lane.
    pub(super) fn ordered(&self, earlier: &Record, lane: Lane, later: &Later, own: Lane) -> bool {
        use Path::{Async, Generic, GenericStrand, ReadOnly, TensorMemory, TensorThread, Tensormap};
        let same_lane = earlier.warp == later.record.warp && lane == own;
        match (earlier.path, later.record.path) {
            // Nothing that a kernel writes is seen through the read-only path, and what reads there is not waited for.
            (ReadOnly, _) => same_lane || later.views.known.base.threads.knows(earlier.warp, lane, earlier.time),
            (_, ReadOnly) => false,
            (Generic, Generic) => same_lane || self.known(earlier, lane, later, &later.views.known.base.threads),
            (Generic, GenericStrand(_)) => same_lane || self.known(earlier, lane, later, &later.views.known.base.issue),
            (GenericStrand(_), Generic) => self.complete(earlier, lane, later, own),
            (GenericStrand(_), GenericStrand(_)) => self.complete(earlier, lane, later, own),
            // Operations on one mbarrier need no proxy fence; what else comes to lie there does.
            (Generic, Async(_))
                if later.record.kind == Kind::Mbarrier && matches!(earlier.kind, Kind::Initialise | Kind::Mbarrier) =>
            {
                same_lane || self.known(earlier, lane, later, &later.views.known.base.issue)
            }
            (Generic, Async(_)) => self.generic_to_async(earlier, lane, later, own),
            (GenericStrand(_), Async(_)) => self.copied_to_async(earlier, lane, later, own),
            (Async(_), Generic | GenericStrand(_)) => self.async_to_generic(earlier, lane, later, own),
            (Async(_), Async(_)) => self.async_to_async(earlier, lane, later, own),
            (Tensormap(_), _) => {
                let strand = self.strand(earlier);
                strand.is_some_and(|strand| self.done_in_base(strand, lane, later, own, true))
            }
            (Generic | GenericStrand(_) | Async(_), Tensormap(_)) => self.to_map(earlier, lane, later, own),
            (TensorThread | TensorMemory(_), TensorThread | TensorMemory(_)) => self.tensor(earlier, lane, later, own),
            (TensorThread | TensorMemory(_), _) | (_, TensorThread | TensorMemory(_)) => true,
        }
    }

    fn known(&self, earlier: &Record, lane: Lane, later: &Later, view: &View) -> bool {
        if view.knows(earlier.warp, lane, earlier.time) {
            return true;
        }
        earlier.kind == Kind::Initialise && later.views.known.initialised.issue.knows(earlier.warp, lane, earlier.time)
    }

    /// Whether the strand's end is known in this view, or po-before the later access.
    fn done(&self, strand: &Strand, lane: Lane, view: &Clock, asked: Asked, reads: bool) -> bool {
        let told = |handle: &Handle| match *handle {
            Handle::Phase { object, phase, lanes } => {
                lanes & (1 << lane) != 0 && view.steps_told(object, waiter(strand.warp, lane), asked.waiter()) > phase
            }
            Handle::Lanes { warp, lanes, time, each } => {
                let waiters = if each { lanes & (1 << lane) } else { lanes };
                asked.has_waited(warp, waiters, time) || view.knows_any_of(warp, waiters, time)
            }
        };
        strand.done.iter().any(told) || (reads && strand.reads_done.iter().any(told))
    }

    fn complete(&self, earlier: &Record, lane: Lane, later: &Later, own: Lane) -> bool {
        let reads = earlier.kind == Kind::Read;
        self.strand(earlier).is_some_and(|strand| self.done_in_base(strand, lane, later, own, reads))
    }

    /// In base causality order, to the later access or its issue.
    fn done_in_base(&self, strand: &Strand, lane: Lane, later: &Later, own: Lane, reads: bool) -> bool {
        let handed = &later.views.known.handed;
        let view = if later.strand.is_some() { &handed.issue } else { &handed.threads };
        self.done(strand, lane, view, Asked::by(later.record, own), reads)
    }

    fn by_policy(&self, by_thread: impl Fn() -> bool, in_cta: impl Fn() -> bool) -> bool {
        match self.policy.async_fence {
            AsyncFence::Both => by_thread() && in_cta(),
            AsyncFence::PerThread => by_thread(),
            AsyncFence::NonGenericCta => in_cta(),
            AsyncFence::OnPath => by_thread() || in_cta(),
        }
    }

    fn knows(pair: Option<&Pair>, earlier: &Record, lane: Lane) -> bool {
        pair.is_some_and(|pair| pair.issue.knows(earlier.warp, lane, earlier.time))
    }

    /// A proxy fence about the object must stand between, by the thread of the generic access, or in the CTA of the
    /// async one (reading async-fence). An operation that all lanes start together is behind the fences of all of them.
    fn generic_to_async(&self, earlier: &Record, lane: Lane, later: &Later, own: Lane) -> bool {
        let about = domains(later.region, earlier.cta);
        let known = &later.views.known;
        let started_by =
            later.strand.map_or(1 << own, |strand| if strand.collective { strand.lanes } else { 1 << own });
        let own_fence = earlier.warp == later.record.warp
            && started_by & (1 << lane) != 0
            && about.iter().any(|domain| later.views.times.fenced(*domain) > earlier.time);
        self.by_policy(
            || own_fence || about.iter().any(|domain| Self::knows(known.by_thread(*domain), earlier, lane)),
            || {
                own_fence
                    || known.fenced_in_cta.iter().any(|((domain, cta), gate)| {
                        about.contains(domain)
                            && self.same_block(*cta, later.record.cta)
                            && Self::knows(Some(&gate.base), earlier, lane)
                    })
            },
        )
    }

    /// What `cp.async` has written, for the async proxy: it is complete, then the fence.
    fn copied_to_async(&self, earlier: &Record, lane: Lane, later: &Later, own: Lane) -> bool {
        let about = domains(later.region, earlier.cta);
        let Some(strand) = self.strand(earlier) else { return false };
        let known = &later.views.known;
        let fenced = about.iter().map(|domain| later.views.times.fenced(*domain)).max().unwrap_or(0);
        let by_itself = strand.done.iter().any(|handle| match *handle {
            Handle::Lanes { warp, time, .. } => warp == later.record.warp && lane == own && fenced > time,
            Handle::Phase { .. } => false,
        });
        let told = |view: &Clock| {
            strand.done.iter().any(|handle| match *handle {
                Handle::Lanes { warp, time, .. } => view.knows(warp, lane, time),
                Handle::Phase { .. } => false,
            })
        };
        let gate_of = |domain: &Domain| later.views.gate(*domain);
        let own_gate = Asked::AtGate(later.record.warp, own);
        let behind_own_gate =
            about.iter().filter_map(gate_of).any(|view| self.done(strand, lane, view, own_gate, false));
        self.by_policy(
            || by_itself || about.iter().any(|domain| known.by_thread(*domain).is_some_and(|pair| told(&pair.issue))),
            || {
                by_itself
                    || behind_own_gate
                    || known.fenced_in_cta.iter().any(|((domain, cta), gate)| {
                        about.contains(domain)
                            && self.same_block(*cta, later.record.cta)
                            && self.done(strand, lane, &gate.handed.issue, Asked::Elsewhere, false)
                    })
            },
        )
    }

    fn async_to_generic(&self, earlier: &Record, lane: Lane, later: &Later, own: Lane) -> bool {
        let Some(strand) = self.strand(earlier) else { return false };
        let reads = earlier.kind == Kind::Read;
        let known = &later.views.known;
        if !self.done_in_base(strand, lane, later, own, reads) {
            return false;
        }
        if strand.fenced_at_completion(self.policy.tcgen05_completion_fence) {
            return true;
        }
        let about = domains(later.region, later.record.cta);
        let asked = Asked::AtGate(later.record.warp, own);
        let own_gate = about.iter().filter_map(|domain| later.views.gate(*domain));
        let own_gate = own_gate.into_iter().any(|view| self.done(strand, lane, view, asked, reads));
        self.by_policy(
            || own_gate,
            || {
                known.fenced_in_cta.iter().any(|((domain, cta), gate)| {
                    about.contains(domain)
                        && self.same_block(*cta, earlier.cta)
                        && self.done(strand, lane, &gate.handed.threads, Asked::Elsewhere, reads)
                }) || (own_gate && self.same_block(later.record.cta, earlier.cta))
            },
        )
    }

    fn async_to_async(&self, earlier: &Record, lane: Lane, later: &Later, own: Lane) -> bool {
        let Some(strand) = self.strand(earlier) else { return false };
        let reads = earlier.kind == Kind::Read;
        let known = &later.views.known;
        if !self.done_in_base(strand, lane, later, own, reads) {
            return false;
        }
        if self.same_block(earlier.cta, later.record.cta) {
            return true;
        }
        // Between the async proxies of two CTAs: a fence in the later one, behind one in the earlier unless the
        // completion is that.
        let fenced_in = |at: Cta| {
            let about = domains(later.region, at);
            known.fenced_in_cta.iter().any(|((domain, cta), gate)| {
                about.contains(domain)
                    && self.same_block(*cta, at)
                    && self.done(strand, lane, &gate.handed.issue, Asked::Elsewhere, reads)
            })
        };
        if strand.fenced_at_completion(self.policy.tcgen05_completion_fence) {
            return fenced_in(later.record.cta);
        }
        let (from, to) = (domains(later.region, earlier.cta), domains(later.region, later.record.cta));
        known.fenced_twice.iter().any(|([(first, a), (second, b)], pair)| {
            from.contains(first)
                && to.contains(second)
                && (*a, *b) == (earlier.cta, later.record.cta)
                && self.done(strand, lane, &pair.issue, Asked::Elsewhere, reads)
        })
    }

    /// A tensor map is acquired by the CTA that uses it, after its writer released it.
    fn to_map(&self, earlier: &Record, lane: Lane, later: &Later, own: Lane) -> bool {
        let known = &later.views.known;
        let own_time =
            later.views.times.maps_acquired.iter().find(|(map, _)| *map == later.map).map_or(0, |(_, time)| *time);
        let same_lane = earlier.warp == later.record.warp && lane == own && own_time > earlier.time;
        let Some(pair) = known.acquired(later.record.cta, later.map) else { return same_lane };
        match earlier.path {
            Path::Generic => same_lane || pair.issue.knows(earlier.warp, lane, earlier.time),
            _ => self.strand(earlier).is_some_and(|strand| {
                self.done(strand, lane, &pair.issue, Asked::Elsewhere, false)
                    && self.done_in_base(strand, lane, later, own, false)
            }),
        }
    }

    /// Tensor memory (9.7.18.6): complete before the issue in the same thread, or handed over between two fences, or a
    /// pipeline.
    fn tensor(&self, earlier: &Record, lane: Lane, later: &Later, own: Lane) -> bool {
        let known = &later.views.known;
        match (earlier.path, later.record.path) {
            (Path::TensorThread, Path::TensorThread) => {
                (earlier.warp == later.record.warp && lane == own)
                    || known.execution.knows(earlier.warp, lane, earlier.time)
            }
            (Path::TensorThread, _) => {
                let issued_by_all = later.strand.is_some_and(|strand| strand.collective);
                (earlier.warp == later.record.warp && (lane == own || issued_by_all))
                    // An allocation is over when its instruction is: of a pair of CTAs, in both.
                    || known.execution.knows(earlier.warp, lane, earlier.time)
            }
            // A phase that was seen is enough; what a thread has waited for is handed over by a fence or by
            // synchronisation that orders memory (9.7.18.6.3).
            (_, Path::TensorThread) => self.strand(earlier).is_some_and(|strand| {
                let asked = Asked::by(later.record, own);
                let seen = |handle: &Handle| match *handle {
                    Handle::Phase { object, phase, .. } => known.execution.steps(object) > phase,
                    Handle::Lanes { .. } => false,
                };
                self.done_in_base(strand, lane, later, own, false)
                    || self.done(strand, lane, &known.tensor_out, asked, false)
                    || strand.done.iter().any(seen)
            }),
            _ => self.tensor_strands(earlier, lane, later, own),
        }
    }

    fn tensor_strands(&self, earlier: &Record, lane: Lane, later: &Later, own: Lane) -> bool {
        let (Some(from), Some(to)) = (earlier.path.strand(), later.record.path.strand()) else { return false };
        let (Some(first), Some(last)) = (self.strand(earlier), later.strand) else { return false };
        if self.tensor_complete(first, lane, later, own) || self.in_pipeline(first, last) {
            return true;
        }
        if !matches!(first.kind, StrandKind::Tcgen05(one) if may_begin_pipeline(one)) {
            return false;
        }
        // A third operation that waits for the first in a pipeline, and that the last one waits for.
        let start = (to as usize).saturating_sub(LOOK_BACK).max(from as usize + 1);
        let between = self.strands.get(start..to as usize).unwrap_or_default();
        between.iter().filter(|middle| self.in_pipeline(first, middle)).any(|middle| {
            let lane = middle.lanes.trailing_zeros().min(31);
            self.in_pipeline(middle, last) || self.tensor_complete(middle, lane, later, own)
        })
    }

    /// Complete before the issue: in the same thread, or handed over between two fences.
    fn tensor_complete(&self, strand: &Strand, lane: Lane, later: &Later, own: Lane) -> bool {
        let in_thread = strand.done.iter().any(|handle| match *handle {
            Handle::Lanes { warp, lanes, time, .. } => {
                let same = |last: &Strand| warp == last.warp && lanes & last.lanes != 0 && time <= last.time;
                later.strand.is_some_and(same)
            }
            Handle::Phase { .. } => false,
        });
        in_thread
            || self.done(strand, lane, &later.views.tensor_in, Asked::Elsewhere, false)
            || (self.policy.tcgen05_acq_rel && self.done_in_base(strand, lane, later, own, false))
    }

    /// Issued before, and in a pipeline (9.7.18.6.2).
    fn in_pipeline(&self, first: &Strand, last: &Strand) -> bool {
        let (StrandKind::Tcgen05(one), StrandKind::Tcgen05(other)) = (first.kind, last.kind) else { return false };
        let same_thread = first.warp == last.warp && first.lanes & last.lanes != 0;
        if !pipelined(one, other, same_thread) {
            return false;
        }
        let knows = |view: &Clock| view.knows_any_of(first.warp, first.lanes, first.time);
        (same_thread && first.time < last.time)
            || knows(&last.views.tensor_in)
            || (self.policy.tcgen05_acq_rel && knows(&last.views.known.base.issue))
    }
}
