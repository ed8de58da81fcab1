//! Mbarriers (9.7.15.16): counts, bytes, phases, and whether their matching is the same in every run.

use std::rc::Rc;

use fencepost_syntax::sorted::SharedSort as _;

use crate::code::op::{Order, Pc, Place, Register, Scope, Source};
use crate::order::clock::{Clock, Object, View, waiter};
use crate::order::record::{Handle, Kind, Path, RecordId, StrandId};
use crate::order::{Certainty, Cta, Known, Message, Region};
use crate::report::{Doubt, Finding, Protocol, Rule, Waiting};
use crate::run::Run;
use crate::run::taint::TOKEN;
use crate::run::warp::{Asked, Block, Question, lanes};
use crate::run::watch::{End, Mark};

const MOST_COUNT: u64 = (1 << 20) - 1;
/// The version of the ISA whose waits take the parity of their operand, times ten (9.7.15.16.19).
const TAKES_PARITY: u32 = 94;

pub(in crate::run) struct Mbarrier {
    object: Object,
    at: u64,
    count: u32,
    pending: i64,
    bytes: i64,
    /// The phase that is not complete.
    phase: u32,
    /// What arrivals have published in all phases so far.
    published: Vec<Published>,
    /// What relaxed arrivals have published.
    executed: Option<Known>,
    /// What operations come after (`over-step`): each computes from the state before it, so that whoever reads the state comes
    /// after all that came before the operation.
    over: Known,
    finished: Vec<Rc<Finished>>,
    this: PhaseFacts,
    last: PhaseFacts,
    next_count: u32,
}

/// What a release pattern that ends in an arrival publishes (8.8).
#[derive(Clone)]
struct Published {
    cta: Cta,
    /// Of the arrival, which the wait has to see.
    seen: Scope,
    /// Of the release: of the arrival, or of a fence before it.
    released: Scope,
    known: Known,
}

/// What a wait for a phase receives.
pub(in crate::run) struct Finished {
    published: Vec<Published>,
    executed: Option<Known>,
    over: Known,
}

/// What is asked of a phase before one run stands for all (H3).
#[derive(Default)]
struct PhaseFacts {
    /// Operations by threads: warp, lanes, time, and what they know, themselves included.
    operations: Vec<(u32, u32, u32, View)>,
    /// There are operations by strands: nobody knows of them but through the phase.
    by_strands: bool,
    /// Separate expect_tx: warp, lane, time.
    expects: Vec<(u32, u32, u32, Pc)>,
    /// What each arrival knows, itself included.
    arrivals: Vec<View>,
    /// What those who operate on this phase know together.
    known: Option<Known>,
    /// True waits for the phase before, during this one.
    waits: Vec<(u32, u32, u32, Pc)>,
    no_complete: Vec<(u32, u32, u32, Pc)>,
    /// The last operation.
    pc: Pc,
}

/// An arrival of some lanes.
pub(in crate::run) struct Arrival {
    pub(in crate::run) place: Place,
    pub(in crate::run) count: Source,
    pub(in crate::run) expect: Option<Source>,
    pub(in crate::run) drop: bool,
    pub(in crate::run) no_complete: bool,
    pub(in crate::run) order: Order,
    pub(in crate::run) scope: Scope,
    pub(in crate::run) token: Option<Register>,
}

impl Run<'_> {
    pub(in crate::run) fn mbarrier_init(&mut self, warp: usize, pc: Pc, active: u32, place: Place, count: Source) {
        for lane in lanes(active) {
            let Some((cta, at)) = self.own_mbarrier_at(warp, pc, lane, place) else { continue };
            self.decide(warp, pc, 1 << lane, count);
            let count = self.warps[warp].get(count, lane);
            let thread = self.thread(warp, lane);
            if count == 0 || count > MOST_COUNT {
                self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::CountOutOfRange(count) });
                continue;
            }
            self.mbarrier_touch(warp, pc, lane, cta, at, Kind::Initialise);
            if !at.is_multiple_of(8) {
                self.find(2, pc, Finding::Misaligned { pc, thread, address: at, bytes: 8 });
                continue;
            }
            let (first, last) = &mut self.mbarrier_span[cta as usize];
            (*first, *last) = ((*first).min(at), (*last).max(at + 8));
            if self.mbarriers.remove(&(cta, at)).is_some() {
                self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::InitialisedTwice });
            }
            let object = self.order.new_object();
            self.mbarriers.insert(
                (cta, at),
                Mbarrier {
                    object,
                    at,
                    count: count as u32,
                    next_count: count as u32,
                    pending: count as i64,
                    bytes: 0,
                    phase: 0,
                    published: Vec::new(),
                    executed: None,
                    over: Known::default(),
                    finished: Vec::new(),
                    this: PhaseFacts::default(),
                    last: PhaseFacts::default(),
                },
            );
            self.watch_mark(warp, pc, (cta, at), Mark::Initialise);
            self.memory.version += 1;
        }
        self.effect(warp, pc, active);
    }

    pub(in crate::run) fn mbarrier_invalidate(&mut self, warp: usize, pc: Pc, active: u32, place: Place) {
        self.effect(warp, pc, active);
        for lane in lanes(active) {
            let Some((cta, at)) = self.own_mbarrier_at(warp, pc, lane, place) else { continue };
            match self.mbarriers.remove(&(cta, at)) {
                Some(mbarrier) if mbarrier.bytes > 0 => {
                    let (thread, bytes) = (self.thread(warp, lane), mbarrier.bytes);
                    self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::MissingBytes { at, bytes } });
                }
                Some(_) => {}
                None => self.not_an_mbarrier(warp, pc, lane),
            }
            self.mbarrier_touch(warp, pc, lane, cta, at, Kind::Initialise);
        }
    }

    fn not_an_mbarrier(&mut self, warp: usize, pc: Pc, lane: u32) {
        let thread = self.thread(warp, lane);
        self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::NotAnMbarrier });
    }

    /// The CTA and offset of an mbarrier.
    pub(in crate::run) fn mbarrier_at(&mut self, warp: usize, pc: Pc, lane: u32, place: Place) -> Option<(Cta, u64)> {
        match self.region_at(warp, pc, lane, place, 8)? {
            (Region::Shared(cta), at) => Some((cta, at)),
            _ => {
                self.not_an_mbarrier(warp, pc, lane);
                None
            }
        }
    }

    /// Only arrivals without a state, `expect_tx`, `complete_tx` and asynchronous operations may name the mbarrier of another CTA,
    /// by a generic address too (9.7.15.16).
    fn own_mbarrier_at(&mut self, warp: usize, pc: Pc, lane: u32, place: Place) -> Option<(Cta, u64)> {
        let (cta, at) = self.mbarrier_at(warp, pc, lane, place)?;
        self.check_own(warp, pc, lane, cta);
        Some((cta, at))
    }

    pub(in crate::run) fn check_own(&mut self, warp: usize, pc: Pc, lane: u32, cta: Cta) {
        if cta != self.warps[warp].cta {
            self.misplaced(
                warp,
                pc,
                lane,
                "the address is not in the shared memory of the own CTA, as it must be here",
            );
        }
    }

    fn mbarrier_touch(&mut self, warp: usize, pc: Pc, lane: u32, cta: Cta, at: u64, kind: Kind) {
        let record = self.record(warp, pc, kind, Path::Generic);
        self.touch_lane(warp, record, lane, Region::Shared(cta), at, 8);
    }

    pub(in crate::run) fn arrive(&mut self, warp: usize, pc: Pc, active: u32, arrival: &Arrival) {
        self.effect(warp, pc, active);
        for lane in lanes(active) {
            let Some((cta, at)) = self.mbarrier_at(warp, pc, lane, arrival.place) else { continue };
            if arrival.token.is_some() {
                self.check_own(warp, pc, lane, cta);
            }
            self.mbarrier_touch(warp, pc, lane, cta, at, Kind::Mbarrier);
            for operand in [Some(arrival.count), arrival.expect].into_iter().flatten() {
                self.decide(warp, pc, 1 << lane, operand);
            }
            self.use_operands(warp, lane, &[arrival.place.base, arrival.count]);
            let count = self.warps[warp].get(arrival.count, lane) as u32;
            let expect = arrival.expect.map(|source| self.warps[warp].get(source, lane) as u32);
            let views = Rc::clone(self.order.views(warp as u32, lane));
            let (own, time) = (self.warps[warp].cta, self.order.time(warp as u32));
            let sent = views.sent(own, warp as u32, 1 << lane, time);
            let mut published = self.released_by_fences(warp, lane);
            if arrival.order.releases() {
                published.push((arrival.scope, sent.clone()));
            }
            let thread = self.thread(warp, lane);
            let Some(mbarrier) = self.mbarriers.get_mut(&(cta, at)) else {
                self.not_an_mbarrier(warp, pc, lane);
                continue;
            };
            for (released, known) in published {
                publish(&mut mbarrier.published, Published { cta: own, seen: arrival.scope, released, known });
            }
            mbarrier.executed.get_or_insert_default().include_execution(&sent);
            self.watch_mark(warp, pc, (cta, at), Mark::Arrive);
            let Some(mbarrier) = self.mbarriers.get_mut(&(cta, at)) else { continue };
            let operation = (warp as u32, 1 << lane, time);
            if let Some(expect) = expect {
                mbarrier.bytes += i64::from(expect);
            }
            let token = token_of(mbarrier.object, mbarrier.phase);
            if arrival.drop {
                mbarrier.next_count = mbarrier.next_count.saturating_sub(count);
            }
            // The expected count is at least 1 (9.7.15.16).
            let drops_all = arrival.drop && count > 0 && mbarrier.next_count == 0;
            let over = i64::from(count) > mbarrier.pending || count == 0;
            mbarrier.pending -= i64::from(count);
            if arrival.no_complete {
                mbarrier.this.no_complete.push((warp as u32, lane, time, pc));
            }
            let completes = mbarrier.pending == 0 && mbarrier.bytes == 0;
            if over {
                self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::TooManyArrivals });
            } else if drops_all {
                self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::DropToZero });
            } else if completes && arrival.no_complete {
                self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::Completed });
            }
            self.check_waited(warp, pc, lane, (cta, at), &sent);
            self.operate(cta, at, pc, Some(operation), &sent, true);
            if let Some(to) = arrival.token {
                let class = self.taints.class(TOKEN);
                self.read_into(warp, lane, to, None);
                self.warps[warp].set(to, lane, token);
                self.set_taint(warp, to, 1 << lane, class);
            }
        }
        self.memory.version += 1;
    }

    pub(in crate::run) fn expect(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        (place, bytes): (Place, Source),
        scope: Scope,
        complete: bool,
    ) {
        self.effect(warp, pc, active);
        for lane in lanes(active) {
            let Some((cta, at)) = self.mbarrier_at(warp, pc, lane, place) else { continue };
            self.mbarrier_touch(warp, pc, lane, cta, at, Kind::Mbarrier);
            self.decide(warp, pc, 1 << lane, bytes);
            let bytes = self.warps[warp].get(bytes, lane) as i64;
            let (own, time) = (self.warps[warp].cta, self.order.time(warp as u32));
            let sent = Rc::clone(self.order.views(warp as u32, lane)).sent(own, warp as u32, 1 << lane, time);
            let published = self.released_by_fences(warp, lane);
            let Some(mbarrier) = self.mbarriers.get_mut(&(cta, at)) else {
                self.not_an_mbarrier(warp, pc, lane);
                continue;
            };
            // A fence and this are a release pattern (8.8). Without bytes the phase does not need it, and may be over before.
            for (released, known) in published.into_iter().filter(|_| bytes != 0) {
                publish(&mut mbarrier.published, Published { cta: own, seen: scope, released, known });
            }
            if complete {
                if bytes != 0 {
                    // The phase is not over before: who waits for it has waited for what comes before this.
                    mbarrier.executed.get_or_insert_default().include_execution(&sent);
                }
                mbarrier.bytes -= bytes;
            } else {
                mbarrier.bytes += bytes;
                mbarrier.this.expects.push((warp as u32, lane, time, pc));
            }
            self.operate(cta, at, pc, Some((warp as u32, 1 << lane, time)), &sent, false);
        }
        self.memory.version += 1;
    }

    /// Bytes that an asynchronous operation has brought, or its arrival.
    pub(in crate::run) fn complete_by_strand(
        &mut self,
        warp: usize,
        pc: Pc,
        at: (Cta, u64),
        strand: StrandId,
        bytes: i64,
        arrivals: u32,
    ) {
        let views = self.order.strand_views(strand);
        let own = self.order.strand_at(strand);
        let (cta, time, mask) = (own.cta, own.time, own.lanes);
        let sent = views.sent(cta, warp as u32, mask, time);
        let lane = mask.trailing_zeros().min(31);
        // The count changes whatever proxy the bytes took; the issue comes after the initialisation, and what ends the
        // mbarrier's life after the phase.
        let record = self.record(warp, pc, Kind::Mbarrier, Path::GenericStrand(strand));
        self.touch_views(record, &views, lane, Region::Shared(at.0), at.1, 8, 0);
        if !views.times.starts {
            self.order.change(warp as u32, mask, |views, _| views.times.starts = true);
        }
        let Some(mbarrier) = self.mbarriers.get_mut(&at) else {
            self.not_an_mbarrier(warp, pc, lane);
            return;
        };
        // Its issue depends on what the thread has waited for (`dependency; observation` in `over-step`, undefined.cat).
        if let Some(passed) = &views.passed {
            mbarrier.over.step_from(passed, Certainty::Certain);
        }
        mbarrier.bytes -= bytes;
        let over = i64::from(arrivals) > mbarrier.pending;
        mbarrier.pending -= i64::from(arrivals);
        mbarrier.this.by_strands = true;
        // Whoever waits for it has waited for what its issue depends on, too (`issue` in No-Thin-Air, 8.10.4).
        mbarrier.executed.get_or_insert_default().include_issue_order(&sent);
        let handle = Handle::Phase { object: mbarrier.object, phase: mbarrier.phase, lanes: mask };
        self.order.complete(strand, handle);
        self.watch_mark(warp, pc, at, Mark::Arrive);
        if over {
            let thread = self.thread(warp, lane);
            self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::TooManyArrivals });
        }
        if arrivals > 0 {
            self.check_waited(warp, pc, lane, at, &sent);
        }
        self.operate(at.0, at.1, pc, None, &sent, false);
        self.memory.version += 1;
    }

    /// What a commit hands over besides its arrival.
    pub(in crate::run) fn hand_over_execution(&mut self, at: (Cta, u64), sent: &Known) {
        if let Some(mbarrier) = self.mbarriers.get_mut(&at) {
            mbarrier.executed.get_or_insert_default().include_execution(sent);
        }
    }

    /// Somebody has waited for the phase before, before anybody arrives in the next one (9.7.15.16.5.1). Where it need not even be
    /// known that the phase is over, the arrival may belong to another one, and is doubted for that.
    fn check_waited(&mut self, warp: usize, pc: Pc, lane: u32, at: (Cta, u64), sent: &Known) {
        let Some(mbarrier) = self.mbarriers.get(&at) else { return };
        let waited = sent.execution.steps(mbarrier.object) >= mbarrier.phase;
        if !waited && mbarrier.last.is_known(&sent.base.threads) {
            let thread = self.thread(warp, lane);
            self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::MissingWait });
        }
    }

    /// After a change of the counts: whether the operation belongs to this phase in every run, and whether it is over.
    fn operate(&mut self, cta: Cta, at: u64, pc: Pc, by: Option<(u32, u32, u32)>, sent: &Known, arrival: bool) {
        let clustered = self.launch.ctas_per_cluster() > 1;
        let Some(mbarrier) = self.mbarriers.get_mut(&(cta, at)) else { return };
        let mut doubts = Vec::new();
        // D1: whoever operates on a phase knows that the one before is over. Behind a wait for it, in execution order, that is
        // so: all that comes behind a wait depends on it. Behind its operations it is so in base causality order only.
        if mbarrier.phase > 0 {
            let waited = sent.execution.steps(mbarrier.object) >= mbarrier.phase;
            if !waited && !mbarrier.last.is_known(&sent.base.threads) {
                doubts.push(Doubt::Matching { pc, rule: Rule::PhaseUnknown });
            }
        }
        if let Some((warp, lanes, time)) = by {
            if clustered {
                mbarrier.over.step_from(sent, Certainty::Certain);
            }
            let knows = &sent.base.threads;
            mbarrier.this.operations.push((warp, lanes, time, Rc::clone(knows)));
            if arrival {
                mbarrier.this.arrivals.push(Rc::clone(knows));
            }
        }
        mbarrier.this.known.get_or_insert_default().include_execution(sent);
        mbarrier.this.pc = pc;
        let range = 1i64 << 20;
        let bad = mbarrier.bytes.abs() >= range;
        if mbarrier.pending <= 0 && mbarrier.bytes == 0 {
            let phase = mbarrier.phase;
            let late = mbarrier.complete(&mut doubts);
            self.covered.phases += 1;
            self.note_late(&late);
            self.watch_end(cta, End::Phase { at, phase });
        }
        if bad {
            self.find(3, pc, Finding::Protocol { pc, thread: 0, what: Protocol::TooManyBytes });
        }
        doubts.into_iter().for_each(|doubt| self.doubt(doubt));
    }

    /// What a phase leaves open at the end of the run.
    pub(in crate::run) fn check_open_phases(&mut self) {
        let mut doubts = Vec::new();
        let mut open: Vec<&Mbarrier> = self.mbarriers.values().collect();
        open.shared_sort_by_key(|mbarrier| mbarrier.object);
        open.iter().for_each(|mbarrier| mbarrier.may_be_over(&mut doubts));
        // Bytes in a phase that nobody uses break no rule: the tx-count may be negative.
        let is_wrong = |own: &&&Mbarrier| own.bytes > 0 || (own.bytes < 0 && !own.this.operations.is_empty());
        let wrong: Vec<(Pc, u64, i64)> =
            open.iter().filter(is_wrong).map(|own| (own.this.pc, own.at, own.bytes)).collect();
        doubts.into_iter().for_each(|doubt| self.doubt(doubt));
        // A run that hangs says so already.
        if self.stopped || self.warps.iter().any(|warp| !warp.is_done()) {
            return;
        }
        for (pc, at, bytes) in wrong {
            let missing = Protocol::MissingBytes { at, bytes };
            let what = if bytes > 0 { missing } else { Protocol::ExcessBytes { at, bytes: -bytes } };
            self.find(3, pc, Finding::Protocol { pc, thread: 0, what });
        }
    }

    /// Memory of an mbarrier is accessed by its own operations only, until it is invalidated (9.7.15.16).
    pub(in crate::run) fn check_live(&mut self, record: RecordId, lane: u32, owner: Cta, start: u64, end: u64) {
        let is_data = |kind: Kind| matches!(kind, Kind::Read | Kind::Write | Kind::Atomic | Kind::Attempt);
        let (first, last) = self.mbarrier_span[owner as usize];
        let access = *self.order.record_at(record);
        if start >= last || end <= first || !is_data(access.kind) {
            return;
        }
        let mut places = (start.max(first) / 8 * 8..end.min(last)).step_by(8);
        if places.any(|at| self.mbarriers.contains_key(&(owner, at))) {
            let thread = self.thread(access.warp as usize, lane);
            self.find(3, access.pc, Finding::Protocol { pc: access.pc, thread, what: Protocol::AccessedAsData });
        }
    }

    pub(in crate::run) fn phase_is_complete(&self, object: Object, phase: u32) -> bool {
        match self.mbarriers.values().find(|mbarrier| mbarrier.object == object) {
            Some(mbarrier) => mbarrier.phase > phase,
            None => true,
        }
    }

    pub(in crate::run) fn waiting_for_phase(&self, object: Object, phase: u32) -> Waiting {
        match self.mbarriers.iter().find(|(_, mbarrier)| mbarrier.object == object) {
            Some(((cta, _), own)) => {
                Waiting::Mbarrier { cta: *cta, at: own.at, phase, pending: own.pending, bytes: own.bytes }
            }
            None => Waiting::Memory,
        }
    }

    /// `test_wait` and `try_wait`: the first answer is no, whatever the mbarrier says, since it may be; whoever asks again
    /// without having done anything waits.
    #[allow(clippy::too_many_arguments)]
    pub(in crate::run) fn mbarrier_wait(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        place: Place,
        to: Register,
        state: Source,
        parity: bool,
        order: Order,
        scope: Scope,
    ) {
        if self.is_held(warp, pc) {
            self.blocking = Some((active, Block::Held));
            return;
        }
        let (mut refused, mut passed) = (0u32, 0u32);
        let mut blocked: Option<(u32, Block)> = None;
        self.decide_state(warp, pc, active, state, parity);
        let wait_taint = self.taints.class(crate::run::taint::WAIT);
        // One for all lanes: in shadow memory they are one entry.
        let record = self.record(warp, pc, Kind::Mbarrier, Path::Generic);
        for lane in lanes(active) {
            let Some((cta, at)) = self.own_mbarrier_at(warp, pc, lane, place) else { continue };
            let Some(mbarrier) = self.mbarriers.get(&(cta, at)) else {
                self.not_an_mbarrier(warp, pc, lane);
                continue;
            };
            let state = self.warps[warp].get(state, lane);
            let is_no_parity = parity && self.version < TAKES_PARITY && state > 1;
            let (complete, phase) = if parity {
                // The phase with this parity is complete, and the one after it is not.
                let over = u64::from(mbarrier.phase & 1) != state & 1;
                (over, if over { i64::from(mbarrier.phase) - 1 } else { i64::from(mbarrier.phase) })
            } else {
                // The state of an arrival in this phase or the one before (9.7.15.16.19).
                let now = mbarrier.phase;
                let of = [Some(now), now.checked_sub(1)].into_iter().flatten();
                let Some(of) = of.into_iter().find(|phase| token_of(mbarrier.object, *phase) == state) else {
                    let thread = self.thread(warp, lane);
                    self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::NotAState });
                    // It would ask for ever.
                    passed |= 1 << lane;
                    continue;
                };
                (now > of, i64::from(of))
            };
            let object = mbarrier.object;
            if is_no_parity {
                let thread = self.thread(warp, lane);
                self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::NoParity(state) });
            }
            let asked = self.warps[warp].asked[lane as usize];
            let effects = self.warps[warp].effects[lane as usize];
            let again = asked.pc == pc && asked.address == at && asked.state == state && asked.times > 0;
            let retry = again && asked.effects == effects;
            // How many rounds there are is a matter of time: what a round changes may decide nothing. A second round shows
            // what each changes, and a third what that decides.
            let counts = again && self.count_rounds(warp, lane, to, asked.times);
            let retry = retry && asked.times > 1 && !(counts && asked.times == 2);
            let polled = again && asked.times >= 8;
            if retry || polled {
                if complete {
                    passed |= 1 << lane;
                    self.touch_lane(warp, record, lane, Region::Shared(cta), at, 8);
                    self.pass(warp, pc, lane, (cta, at), phase, order, scope);
                    self.watch_mark(warp, pc, (cta, at), Mark::Wait);
                    self.warps[warp].asked[lane as usize].times = 0;
                    let mut changed = self.warps[warp].end_rounds(lane);
                    changed.extend(self.end_backing_off(warp, lane));
                    self.depend_on_time(warp, lane, to, &changed);
                    if self.warps[warp].owes[lane as usize] == Some((at, state)) {
                        self.warps[warp].owes[lane as usize] = None;
                        self.has_waited(warp, pc, lane, phase, order, scope);
                    }
                    self.warps[warp].several &= !(1 << lane);
                    continue;
                }
                if retry {
                    let block = Block::Mbarrier { object, phase: phase as u32 };
                    if blocked.is_none_or(|(_, other)| other == block) {
                        blocked = Some((blocked.map_or(0, |(mask, _)| mask) | 1 << lane, block));
                        continue;
                    }
                }
            }
            refused |= 1 << lane;
            // An answer may also be no: what it reads comes before anything that the phase publishes.
            self.touch_lane(warp, record, lane, Region::Shared(cta), at, 8);
            let times = if again { asked.times + 1 } else { 1 };
            let known = self.order.views(warp as u32, lane).known.execution.steps(object);
            let question = Some(Question { order, scope, known: parity.then_some(known) });
            let own = &mut self.warps[warp];
            let same = asked.address == at && asked.state == state;
            if asked.times > 0 && asked.question.is_some() && !same {
                own.several |= 1 << lane;
            }
            if asked.times == 0 || !same {
                own.peeked[lane as usize] = question;
            }
            own.asked[lane as usize] = Asked { pc, address: at, state, effects, times, question };
        }
        for lane in lanes(refused) {
            self.warps[warp].set(to, lane, 0);
            if self.warps[warp].asked[lane as usize].times == 1 {
                self.warps[warp].begin_rounds(lane);
            }
        }
        for lane in lanes(passed) {
            self.warps[warp].set(to, lane, 1);
        }
        lanes(passed | refused).for_each(|lane| self.read_into(warp, lane, to, None));
        self.set_taint(warp, to, passed, 0);
        self.set_taint(warp, to, refused, wait_taint);
        if let Some((mask, block)) = blocked {
            // Who has an answer goes on.
            self.blocking = Some((mask, block));
        }
    }

    /// What a wait asks for is determined. An arrival's state is nothing but that: it says which phase the wait is for.
    fn decide_state(&mut self, warp: usize, pc: Pc, active: u32, state: Source, parity: bool) {
        let taint = self.taint_of_all(warp, &[state], active);
        if parity || self.taints.classes(taint) != TOKEN || self.taints.has_reads(taint) {
            self.decide(warp, pc, active, state);
        }
    }

    /// Whether a round between two questions has changed a register besides the answer.
    fn count_rounds(&mut self, warp: usize, lane: u32, answer: Register, times: u32) -> bool {
        let changed = self.warps[warp].end_round(lane);
        times > 1 && self.depend_on_time(warp, lane, answer, &changed)
    }

    fn depend_on_time(&mut self, warp: usize, lane: u32, answer: Register, changed: &[Register]) -> bool {
        let time = self.taints.class(crate::run::taint::CLOCK);
        let mut any = false;
        for register in changed.iter().filter(|register| **register != answer) {
            self.add_taint(warp, *register, 1 << lane, time);
            any = true;
        }
        any
    }

    /// A wait is over: what its phase published.
    #[allow(clippy::too_many_arguments)]
    fn pass(&mut self, warp: usize, pc: Pc, lane: u32, at: (Cta, u64), phase: i64, order: Order, scope: Scope) {
        let own = self.warps[warp].cta;
        let time = self.order.time(warp as u32);
        let per_cluster = self.launch.ctas_per_cluster();
        let views = Rc::clone(self.order.views(warp as u32, lane));
        let Some(mbarrier) = self.mbarriers.get_mut(&at) else { return };
        let object = mbarrier.object;
        let base = &views.known.execution;
        // D2, early: the phase before is known to be over.
        let early = phase <= 0 || i64::from(base.steps(object)) >= phase;
        mbarrier.this.waits.push((warp as u32, lane, time, pc));
        self.passes.entry((warp as u32, pc)).or_default().push(time);
        let finished = usize::try_from(phase).ok().and_then(|phase| mbarrier.finished.get(phase).cloned());
        if !early {
            self.doubt(Doubt::Matching { pc, rule: Rule::PhaseUnknown });
        }
        let Some(finished) = finished else { return };
        let steps = phase as u32 + 1;
        // Only of what a lane has started itself does it matter that it has waited itself (reading warp-sync-async).
        let own_copies = views.times.starts && !self.options.policy.warp_sync_async;
        let by = if own_copies { waiter(warp as u32, lane) } else { 0 };
        self.order.change(warp as u32, 1 << lane, |views, lanes| {
            if let Some(executed) = &finished.executed {
                Rc::make_mut(&mut views.known).include_execution(executed);
            }
            let includes = |scope: Scope, cta: Cta| crate::order::in_scope(scope, cta, own, per_cluster);
            let mut messages = Vec::new();
            if per_cluster > 1 {
                let known = Rc::make_mut(&mut views.known);
                known.step_from(&finished.over, Certainty::Certain);
                known.has_passed(object, steps);
                // The state counts whatever the scopes of its operations say (9.7.15.16): those of the release do.
                for part in finished.published.iter().filter(|part| part.cta != own) {
                    if includes(scope, part.cta) && includes(part.released, part.cta) {
                        known.released_elsewhere(&part.known.base.threads, Certainty::Certain);
                    }
                }
            }
            for part in &finished.published {
                if !includes(part.seen, part.cta) || !includes(scope, part.cta) || !includes(part.released, part.cta) {
                    continue;
                }
                if order.acquires() {
                    views.receive(&part.known, warp as u32, lanes);
                } else {
                    messages.push(Message { known: part.known.clone(), scope: part.released, cta: part.cta });
                }
            }
            // Bytes are shown to a wait of any scope, or to a fence behind it (reading complete-tx-scope).
            let known = Rc::make_mut(&mut views.known);
            if order.acquires() {
                known.complete(object, steps, by);
            } else {
                known.complete_execution(object, steps);
                let mut bytes = Known::default();
                bytes.complete(object, steps, by);
                messages.push(Message { known: bytes, scope: Scope::Sys, cta: own });
            }
            views.heard.extend(messages.into_iter().map(Rc::new));
            if per_cluster > 1 {
                views.passed = Some(Rc::new(views.sent(own, warp as u32, lanes, time)));
            }
        });
    }
}

impl PhaseFacts {
    /// Whether one who knows this knows all operations of the phase.
    fn is_known(&self, known: &Clock) -> bool {
        let knows = |(warp, lanes, time, _): &(u32, u32, u32, View)| known.knows_all(*warp, *lanes, *time);
        !self.by_strands && self.operations.iter().all(knows)
    }

    /// C1, N: whether some of the operations complete the phase without the others, in another run.
    fn may_complete_early(&self, doubts: &mut Vec<Doubt>) {
        let facts = self;
        for (warp, lane, time, at) in &facts.expects {
            let arrives = facts.arrivals.iter().any(|arrival| arrival.knows(*warp, *lane, *time));
            if !arrives {
                doubts.push(Doubt::Matching { pc: *at, rule: Rule::PhaseBytes });
            }
        }
        for (warp, lane, time, at) in &facts.no_complete {
            let followed = facts.operations.iter().any(|(other, lanes, when, knows)| {
                (*other, *lanes, *when) != (*warp, 1 << lane, *time) && knows.knows(*warp, *lane, *time)
            });
            if !followed {
                doubts.push(Doubt::Matching { pc: *at, rule: Rule::NoComplete });
            }
        }
    }
}

impl Mbarrier {
    /// The same of a phase that is not over at the end: all have arrived, and bytes are missing or too many.
    fn may_be_over(&self, doubts: &mut Vec<Doubt>) {
        if self.pending > 0 {
            return;
        }
        if self.bytes < 0 {
            doubts.push(Doubt::Matching { pc: self.this.pc, rule: Rule::PhaseBytes });
        }
        self.this.may_complete_early(doubts);
    }

    /// The waits for the phase before that this one may overtake: warp, time, instruction.
    fn complete(&mut self, doubts: &mut Vec<Doubt>) -> Vec<(u32, u32, Pc)> {
        let mut late = Vec::new();
        let facts = std::mem::take(&mut self.this);
        let known = facts.known.clone().unwrap_or_default();
        let base = &known.execution;
        // D2, late: waits for the phase before come before somebody's operation on this one.
        for (warp, lane, time, at) in &facts.waits {
            if !base.knows(*warp, *lane, *time) {
                doubts.push(Doubt::Matching { pc: *at, rule: Rule::PhaseOvertaken });
                late.push((*warp, *time, *at));
            }
        }
        // C1: as many bytes have come as were expected, or the phase were not over; each expectation before an arrival.
        facts.may_complete_early(doubts);
        self.last = facts;
        self.phase += 1;
        self.count = self.next_count;
        self.pending = i64::from(self.count);
        let published = self.published.clone();
        self.finished.push(Rc::new(Finished { published, executed: self.executed.clone(), over: self.over.clone() }));
        late
    }
}

/// The state that an arrival in this phase returns: another one for each mbarrier and phase.
fn token_of(object: Object, phase: u32) -> u64 {
    (((u64::from(object) + 1) << 32) + u64::from(phase)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn publish(list: &mut Vec<Published>, new: Published) {
    let same = |own: &&mut Published| (own.cta, own.seen, own.released) == (new.cta, new.seen, new.released);
    match list.iter_mut().find(same) {
        Some(own) => own.known.collect(&new.known),
        None => list.push(new),
    }
}
