//! Whether an access to the shared memory of another CTA is over before that CTA ends: "The life of a CTA's memory" in
//! models/ptx/undefined.cat, from what threads know ([`crate::order`]) and what values depend on ([`super::dependency`]).
//!
//! A load or a store is over where another CTA observes it, where its value is used, or behind a release that reaches out of
//! its CTA and is observed (`is-over`). Of the first two the places are kept, access by access: the access is over for
//! whoever comes behind one of them. A release is part of what threads know.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use fencepost_syntax::sorted::{SharedSort as _, SortedMap};

use super::register_reads::{AccessId, Dependency, Sets};
use super::{Credit, Run};
use crate::code::Instruction;
use crate::code::op::{Op, Order, Pc, Scope, Source, Space};
use crate::order::clock::{Lane, Time, Warp};
use crate::order::record::{Kind, Path, Record, RecordId};
use crate::order::{Certainty, Cta, Known, Message, Region, in_scope, links};
use crate::report::{Doubt, Finding, Protocol, Rule};

/// An instruction of a lane.
type Point = (Warp, Lane, Time);

/// An access to another CTA's shared memory.
struct Access {
    owner: Cta,
    record: RecordId,
    lane: Lane,
    /// It is made again before anything else is done.
    repeated: bool,
    /// Where it was observed by another CTA, or its value used: it is over for whoever comes behind.
    over: SortedMap<(Warp, Lane), Time>,
    /// The same in this run only.
    seen: SortedMap<(Warp, Lane), Time>,
}

/// What whoever observes a write comes after.
pub(super) struct Carry {
    cta: Cta,
    write: Option<AccessId>,
    /// Loads from other CTAs' memory that it depends on.
    reads: Vec<AccessId>,
    /// The last read that it depends on, and what was known there.
    read: Option<(Point, Rc<Known>)>,
    messages: Vec<Rc<Message>>,
    unclear: bool,
}

/// The last write to a place, and those that its value was made of (8.9.2).
struct Chain {
    last: (Record, Lane),
    carries: Vec<Rc<Carry>>,
}

#[derive(Default)]
pub(super) struct Overs {
    /// CTAs access each other's shared memory with loads and stores, or tell each other through memory.
    pub(super) on: bool,
    pub(super) sets: Sets,
    /// Lanes whose guard depends on reads, for the instruction under way.
    pub(super) guarded: u32,
    /// Whether branches are those of loops.
    pub(super) loops: HashMap<Pc, bool>,
    accesses: Vec<Access>,
    index: HashMap<(Warp, Lane, Time, u64), AccessId>,
    chains: BTreeMap<(Region, u64), Chain>,
    /// Operations on mbarriers, and asynchronous ones: of which CTA, the record, the lane.
    others: BTreeSet<(Cta, RecordId, Lane)>,
    /// Accesses before the round that is tried.
    before_round: usize,
    /// A list was full.
    full: bool,
}

/// Writes in one chain, and lanes that observe or use one access, that are kept.
const MOST: usize = 1 << 12;

/// Bytes of the widest element.
const WIDEST: u64 = 16;

/// Whether loads and stores may go to other CTAs' shared memory, or tell them something.
pub(super) fn matters(code: &[Instruction]) -> bool {
    let is_wide = |space: Space| matches!(space, Space::SharedCluster | Space::Generic);
    code.iter().any(|own| match &own.op {
        Op::Load(access, _) => is_wide(access.place.space),
        Op::Store(access, _) | Op::Atomic { access, .. } | Op::AtomicVector { access, .. } => {
            is_wide(access.place.space) || access.order != Order::Weak
        }
        Op::StoreBulk { to, .. } => is_wide(to.space),
        _ => false,
    })
}

impl Overs {
    /// A lane accesses another CTA's shared memory.
    pub(super) fn access(&mut self, owner: Cta, record: (RecordId, &Record), lane: Lane, start: u64, len: u64) {
        let (id, record) = record;
        if record.path.strand().is_some() || record.kind == Kind::Mbarrier {
            self.others.insert((owner, id, lane));
            return;
        }
        // Elements of a vector are accesses of their own (8.2.4).
        let size = if record.size == 0 { len } else { u64::from(record.size) };
        for at in (start..start + len).step_by(size.max(1) as usize) {
            let next = self.accesses.len() as AccessId;
            // The two halves of an atomic operation are one.
            if *self.index.entry((record.warp, lane, record.time, at)).or_insert(next) == next {
                let (over, seen) = (SortedMap::new(), SortedMap::new());
                self.accesses.push(Access { owner, record: id, lane, repeated: false, over, seen });
            }
        }
    }

    fn id_of(&self, record: &Record, lane: Lane, at: u64) -> Option<AccessId> {
        self.index.get(&(record.warp, lane, record.time, at)).copied()
    }

    /// A round of a wait is tried that other runs do not have: only its own accesses are used in it.
    pub(super) fn begin_round(&mut self) {
        self.before_round = self.accesses.len();
    }

    fn is_over_at(&mut self, access: AccessId, point: Point, certainty: Certainty) {
        let (warp, lane, time) = point;
        let own = &mut self.accesses[access as usize];
        if own.over.len() + own.seen.len() >= MOST {
            self.full = true;
            return;
        }
        let places = if certainty == Certainty::Certain { &mut own.over } else { &mut own.seen };
        places.entry((warp, lane)).or_insert(time);
    }

    /// Bytes are written: what was there is observed no more, unless by an atomic operation that reads it.
    pub(super) fn overwrite(&mut self, region: Region, start: u64, len: u64, kind: Kind) {
        if self.chains.is_empty() {
            return;
        }
        let from = (region, start.saturating_sub(WIDEST - 1));
        let over = self.chains.range(from..(region, start.saturating_add(len)));
        let ends = |((_, at), chain): &(&(Region, u64), &Chain)| {
            at + u64::from(chain.last.0.size) > start && (*at != start || kind != Kind::Atomic)
        };
        let ended: Vec<(Region, u64)> = over.filter(ends).map(|(key, _)| *key).collect();
        ended.iter().for_each(|key| drop(self.chains.remove(key)));
    }

    /// The last write to a place, for those who observe it.
    pub(super) fn last_carry(&self, at: (Region, u64)) -> Option<Rc<Carry>> {
        self.chains.get(&at).and_then(|chain| chain.carries.last().cloned())
    }
}

/// Whether a read of what was written observes it (8.9.2): one thread is always morally strong with itself (8.7).
fn observes(write: &(Record, Lane), read: &(Record, Lane), per_cluster: u32) -> bool {
    let same_thread = (write.0.warp, write.1) == (read.0.warp, read.1);
    let plain = write.0.size == read.0.size && (write.0.path, read.0.path) == (Path::Generic, Path::Generic);
    if same_thread { plain } else { links(&write.0, &read.0, per_cluster) }
}

impl Run<'_> {
    fn follows_ends(&self) -> bool {
        self.overs.on && self.flags_of.ghost.is_none()
    }

    /// Who waits for a change makes the same access again: this one, whose value nobody looks at, is none.
    pub(super) fn will_repeat(&mut self, warp: usize) {
        let now = (warp as u32, self.order.time(warp as u32));
        for access in self.overs.accesses.iter_mut().rev() {
            let record = self.order.record_at(access.record);
            if (record.warp, record.time) != now {
                break;
            }
            access.repeated = true;
        }
    }

    /// The access of a lane, if it is one to another CTA's shared memory.
    pub(super) fn remote_access(&self, record: RecordId, lane: u32, at: u64) -> Option<AccessId> {
        self.overs.id_of(self.order.record_at(record), lane, at)
    }

    /// A lane uses the values of these loads now: they are over.
    pub(super) fn use_reads(&mut self, (warp, lane): (usize, u32), reads: u32, certainty: Certainty) {
        if reads == 0 {
            return;
        }
        let point = (warp as u32, lane, self.order.time(warp as u32));
        let first = if self.flags_of.ghost.is_some() { self.overs.before_round } else { 0 };
        for read in self.overs.sets.reads(reads).to_vec() {
            if read as usize >= first {
                self.overs.is_over_at(read, point, certainty);
            }
        }
    }

    /// An access of a lane uses what its address, its value and its place depend on.
    pub(super) fn use_all(&mut self, at: (usize, u32), dependency: Dependency) {
        let certainty = if self.overs.guarded & (1 << at.1) != 0 { Certainty::Seen } else { Certainty::Certain };
        self.use_reads(at, dependency.reads, certainty);
    }

    /// The same of the operands of an operation on an mbarrier.
    pub(super) fn use_operands(&mut self, warp: usize, lane: u32, operands: &[Source]) {
        if self.overs.on {
            let dependency = self.act_depends_on(warp, lane, operands);
            self.use_all((warp, lane), dependency);
        }
    }

    /// A lane has written to a place. An atomic operation that computes from what it has read depends on that.
    pub(super) fn carry(
        &mut self,
        at: (Region, u64),
        (record, lane): (RecordId, u32),
        messages: &[Rc<Message>],
        dependency: Dependency,
        modifies: bool,
    ) {
        if !self.follows_ends() {
            return;
        }
        let per = self.launch.ctas_per_cluster();
        let write = *self.order.record_at(record);
        let warp = write.warp as usize;
        let latest = if modifies { write.time } else { dependency.latest };
        let known = match latest {
            0 => None,
            _ if modifies => Some(Rc::clone(&self.order.views(write.warp, lane).known)),
            _ => self.known_at(warp, lane, latest),
        };
        let carry = Rc::new(Carry {
            cta: write.cta,
            write: self.overs.id_of(&write, lane, at.1),
            reads: self.overs.sets.reads(dependency.reads).to_vec(),
            unclear: dependency.unclear || (latest > 0 && known.is_none()),
            read: known.map(|known| ((write.warp, lane, latest), known)),
            messages: messages.to_vec(),
        });
        let last = (write, lane);
        match self.overs.chains.get_mut(&at) {
            Some(chain) if write.kind == Kind::Atomic && observes(&chain.last, &last, per) => {
                chain.last = last;
                if chain.carries.len() < MOST {
                    chain.carries.push(carry);
                } else {
                    self.overs.full = true;
                }
            }
            _ => drop(self.overs.chains.insert(at, Chain { last, carries: vec![carry] })),
        }
    }

    /// A strong read of a lane returns what was written there last.
    pub(super) fn observe_carried(
        &mut self,
        at: (Region, u64),
        (record, lane): (RecordId, u32),
        scope: Scope,
        certainty: Certainty,
    ) {
        if !self.follows_ends() {
            return;
        }
        let reader = *self.order.record_at(record);
        let Some(chain) = self.overs.chains.get(&at) else { return };
        if observes(&chain.last, &(reader, lane), self.launch.ctas_per_cluster()) {
            let carries = chain.carries.clone();
            self.take_carried(reader.warp as usize, lane, &carries, scope, certainty);
        }
    }

    /// What whoever observes these writes comes after (`over-step`, `is-over`).
    pub(super) fn take_carried(
        &mut self,
        warp: usize,
        lane: u32,
        carries: &[Rc<Carry>],
        scope: Scope,
        certainty: Certainty,
    ) {
        let cta = self.warps[warp].cta;
        let point = (warp as u32, lane, self.order.time(warp as u32));
        for carry in carries {
            let write = carry.write.filter(|_| carry.cta != cta);
            for access in carry.reads.iter().chain(&write) {
                self.overs.is_over_at(*access, point, certainty);
            }
        }
        let tells = |carry: &&Rc<Carry>| carry.read.is_some() || !carry.messages.is_empty() || carry.unclear;
        let telling: Vec<&Rc<Carry>> = carries.iter().filter(tells).collect();
        if telling.is_empty() {
            return;
        }
        self.order.change(warp as u32, 1 << lane, |views, _| {
            let known = Rc::make_mut(&mut views.known);
            for carry in &telling {
                if let Some((point, from)) = &carry.read {
                    known.step_from_lane(from, *point, certainty);
                }
                if carry.unclear {
                    known.is_unclear();
                }
            }
        });
        let messages: Vec<Rc<Message>> = telling.iter().flat_map(|carry| carry.messages.iter().cloned()).collect();
        self.hear_ends(warp, lane, &messages, scope, certainty);
    }

    /// A release pattern is observed, by a relaxed read too: a step in any case, and the end of what comes before it where the
    /// scopes include each other.
    pub(super) fn hear_ends(
        &mut self,
        warp: usize,
        lane: u32,
        messages: &[Rc<Message>],
        scope: Scope,
        certainty: Certainty,
    ) {
        if messages.is_empty() || self.launch.ctas_per_cluster() <= 1 {
            return;
        }
        let (cta, per) = (self.warps[warp].cta, self.launch.ctas_per_cluster());
        self.order.change(warp as u32, 1 << lane, |views, _| {
            let known = Rc::make_mut(&mut views.known);
            for message in messages {
                known.step_from(&message.known, certainty);
                let mutual = in_scope(message.scope, message.cta, cta, per) && in_scope(scope, message.cta, cta, per);
                if mutual && message.cta != cta {
                    known.released_elsewhere(&message.known.base.threads, certainty);
                }
            }
        });
    }

    /// The shared memory of a CTA is there until its last thread ends: one of them must end after each access from
    /// elsewhere in the cluster.
    pub(super) fn check_exits(&mut self) {
        if self.stopped || self.warps.iter().any(|warp| !warp.is_done()) {
            return;
        }
        let others = std::mem::take(&mut self.overs.others);
        let mut open: Vec<(Cta, RecordId, Lane, Certainty)> = Vec::new();
        for (owner, record, lane) in others {
            let is_over = |certainty: Certainty| self.is_known_over(owner, record, lane, certainty);
            open.extend(left_open(is_over).map(|certainty| (owner, record, lane, certainty)));
        }
        for access in self.overs.accesses.iter().filter(|access| !access.repeated) {
            let is_over = |certainty: Certainty| self.is_shown_over(access, certainty);
            open.extend(left_open(is_over).map(|certainty| (access.owner, access.record, access.lane, certainty)));
        }
        open.shared_sort();
        for (owner, record, lane, certainty) in open {
            let access = *self.order.record_at(record);
            // What a run looks after in memory it credits only if every execution has it: it tells of itself no more.
            if certainty == Certainty::Seen || self.options.credit == Credit::Flags {
                self.doubt(Doubt::Matching { pc: access.pc, rule: Rule::OwnerEnds });
                continue;
            }
            let thread = self.thread(access.warp as usize, lane);
            let what = Protocol::ExitBeforeAccess { owner };
            self.find(3, access.pc, Finding::Protocol { pc: access.pc, thread, what });
        }
    }

    /// An operation on an mbarrier or an asynchronous one: any step behind it, or behind the wait that observes it.
    fn is_known_over(&self, owner: Cta, record: RecordId, lane: Lane, certainty: Certainty) -> bool {
        let access = self.order.record_at(record);
        let known = &self.exits[owner as usize];
        if certainty == Certainty::Seen && known.may_know_anything() {
            return true;
        }
        match access.path.strand() {
            None => known.has_step((access.warp, lane, access.time), certainty),
            Some(strand) => known.steps(certainty).any(|view| self.order.is_over(strand, lane, view)),
        }
    }

    /// A load or a store: something shows that it is over, and steps lead from there to the end of the owner.
    fn is_shown_over(&self, access: &Access, certainty: Certainty) -> bool {
        let record = self.order.record_at(access.record);
        let known = &self.exits[access.owner as usize];
        if certainty == Certainty::Seen && (known.may_know_anything() || self.overs.full) {
            return true;
        }
        let behind = |((warp, lane), time): (&(Warp, Lane), &Time)| known.has_step((*warp, *lane, *time), certainty);
        let shown = access.over.iter().any(behind);
        shown
            || (certainty == Certainty::Seen && access.seen.iter().any(behind))
            || known.has_released((record.warp, access.lane, record.time), certainty)
    }
}

/// Seen: it was over in this run, and need not be in another. Certain: it was not.
fn left_open(is_over: impl Fn(Certainty) -> bool) -> Option<Certainty> {
    if is_over(Certainty::Certain) {
        return None;
    }
    Some(if is_over(Certainty::Seen) { Certainty::Seen } else { Certainty::Certain })
}
