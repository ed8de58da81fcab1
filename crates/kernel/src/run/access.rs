//! Loads, stores, atomics and matrix fragments: values, and what the order says of them.

use std::rc::Rc;

use super::flag::symbol::{Node, Operand};
use super::register_reads::Dependency;
use super::synchronise::join_message;
use super::taint::{self, Read};
use super::warp::{Asked, Block, lanes};
use super::{Credit, Run};
use crate::code::op::{Access, Atomic, Op, Order as MemoryOrder, Pc, Place, Register, Source, Space};
use crate::code::ty;
use crate::footprint::fragments::{Rows, Wmma};
use crate::memory::{At, Taint};
use crate::order::record::{Commutes, Kind, Path, Record, RecordId};
use crate::order::{Certainty, Region, Touch, Touched, Views};
use crate::report::{Doubt, Finding, Protocol};

impl Run<'_> {
    pub(super) fn address_of(&mut self, warp: usize, pc: Pc, lane: u32, place: Place) -> u64 {
        self.decide(warp, pc, 1 << lane, place.base);
        self.warps[warp].get(place.base, lane).wrapping_add(place.offset as u64)
    }

    /// Where a lane's address leads; None after a finding.
    fn at(&mut self, warp: usize, pc: Pc, lane: u32, place: Place, bytes: u64, align: u32) -> Option<At> {
        let address = self.address_of(warp, pc, lane, place);
        let thread = self.thread(warp, lane);
        if !address.is_multiple_of(u64::from(align)) {
            self.find(2, pc, Finding::Misaligned { pc, thread, address, bytes: align });
            return None;
        }
        match self.memory.resolve(place.space, address, bytes, self.warps[warp].cta, thread) {
            Ok(at) => Some(at),
            Err(fault) => {
                self.find(2, pc, Finding::OutOfBounds { pc, thread, fault });
                None
            }
        }
    }

    /// The same for memory that threads share.
    pub(super) fn region_at(
        &mut self,
        warp: usize,
        pc: Pc,
        lane: u32,
        place: Place,
        bytes: u64,
    ) -> Option<(Region, u64)> {
        match self.at(warp, pc, lane, place, bytes, 1)? {
            At::Memory(region, offset) => Some((region, offset)),
            At::Local(_) | At::Param(_) => {
                let thread = self.thread(warp, lane);
                let why = "the address leads to local memory or to a parameter".to_owned();
                self.find(2, pc, Finding::BadOperand { pc, thread, why });
                None
            }
        }
    }

    pub(super) fn touch_lane(
        &mut self,
        warp: usize,
        record: RecordId,
        lane: u32,
        region: Region,
        start: u64,
        len: u64,
    ) -> Touched {
        let views = Rc::clone(self.order.views(warp as u32, lane));
        self.touch_views(record, &views, lane, region, start, len, 0)
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn touch_views(
        &mut self,
        record: RecordId,
        views: &Rc<Views>,
        lane: u32,
        region: Region,
        start: u64,
        len: u64,
        map: u64,
    ) -> Touched {
        if len == 0 {
            return Touched::default();
        }
        self.touch_with(record, views, lane, region, start, len, map, false)
    }

    /// Shared memory of another CTA is there once that CTA has started: something of it must be known.
    fn check_start(&mut self, record: RecordId, views: &Rc<Views>, lane: u32, owner: u32) {
        let first = owner * self.warps_per_cta;
        let started = (first..first + self.warps_per_cta).any(|warp| views.known.execution.knows_any(warp));
        if !started {
            let access = *self.order.record_at(record);
            let thread = self.thread(access.warp as usize, lane);
            let what = Protocol::AccessBeforeStart { owner };
            self.find(3, access.pc, Finding::Protocol { pc: access.pc, thread, what });
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn touch_with(
        &mut self,
        record: RecordId,
        views: &Rc<Views>,
        lane: u32,
        region: Region,
        start: u64,
        len: u64,
        map: u64,
        same_value: bool,
    ) -> Touched {
        if self.flags_of.ghost.as_ref().is_some_and(|ghost| ghost.dry) {
            return Touched::default();
        }
        if self.order.record_at(record).kind.may_write() {
            self.written(region, start, len);
        }
        if let Region::Shared(owner) = region {
            self.check_live(record, lane, owner, start, start + len);
        }
        if let Region::Shared(owner) = region
            && owner != self.order.record_at(record).cta
        {
            let access = *self.order.record_at(record);
            self.overs.access(owner, (record, &access), lane, start, len);
            self.check_start(record, views, lane, owner);
        }
        if self.timeline.is_some() || self.early.is_some() {
            let access = *self.order.record_at(record);
            self.watch_access(access, views, lane, region, start, len);
        }
        let kind = self.order.record_at(record).kind;
        if self.overs.on && kind.writes() {
            self.overs.overwrite(region, start, len, kind);
        }
        let touched = self.order.touch(&Touch { record, views, region, lane, start, len, map, same_value });
        self.disturb(record, &touched);
        touched
    }

    fn access_record(&mut self, warp: usize, pc: Pc, access: &Access, kind: Kind) -> RecordId {
        let path = if access.read_only { Path::ReadOnly } else { Path::Generic };
        let record = Record {
            pc,
            cta: self.warps[warp].cta,
            warp: warp as u32,
            time: self.order.time(warp as u32),
            kind,
            path,
            strong: (access.order != MemoryOrder::Weak).then_some(access.scope),
            size: access.ty.bytes() as u8,
            commutes: None,
            returns: kind != Kind::Write,
        };
        self.order.record(record)
    }

    /// The record of an atomic operation, with what its order does not matter to.
    fn atomic_record(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        access: &Access,
        (operation, operand, returns): (Atomic, Source, bool),
    ) -> RecordId {
        let operands = |lane: u32| access.ty.cut(self.warps[warp].get(operand, lane));
        let bound = operands(active.trailing_zeros().min(31));
        let wraps = matches!(operation, Atomic::Increment | Atomic::Decrement);
        let one_bound = !wraps || lanes(active).all(|lane| operands(lane) == bound);
        let overwrites = matches!(operation, Atomic::Exchange | Atomic::CompareAndSwap);
        let bound = if wraps { bound } else { 0 };
        let commutes = (one_bound && !overwrites).then_some(Commutes { operation, ty: access.ty, bound });
        let record = self.access_record(warp, pc, access, Kind::Atomic);
        self.order.set_atomic(record, commutes, returns);
        record
    }

    pub(super) fn load(&mut self, warp: usize, pc: Pc, active: u32, access: &Access, to: &[Option<Register>]) {
        let strong = access.order != MemoryOrder::Weak;
        let waiting = if strong { self.must_wait(warp, active, access, to.len()) } else { 0 };
        if waiting != active {
            self.load_now(warp, pc, active & !waiting, access, to);
        }
        if waiting != 0 {
            self.blocking = Some((waiting, Block::Question));
        }
    }

    fn load_now(&mut self, warp: usize, pc: Pc, active: u32, access: &Access, to: &[Option<Register>]) {
        let size = access.ty.bytes();
        let bytes = u64::from(size) * to.len() as u64;
        let strong = access.order != MemoryOrder::Weak;
        let shared = access.place.space != Space::Param && access.place.space != Space::Local;
        let record = shared.then(|| self.access_record(warp, pc, access, Kind::Read));
        let mut source = None;
        let mut same = strong;
        let mut answered = 0;
        for lane in lanes(active) {
            let Some(at) = self.at(warp, pc, lane, access.place, bytes, bytes as u32) else {
                // An error is enough: what it leaves in registers is none.
                to.iter().flatten().for_each(|to| self.set_taint(warp, *to, 1 << lane, 0));
                continue;
            };
            let mut taint = 0;
            let asked = strong && self.warps[warp].admitted & (1 << lane) != 0;
            self.warps[warp].admitted &= !(1 << lane);
            if (strong && !asked && self.flags_of.ghost.is_some())
                || !self.in_round((warp, lane), at, bytes, false, asked)
            {
                self.escape();
                continue;
            }
            if self.overs.on {
                let used = self.act_depends_on(warp, lane, &[access.place.base]);
                self.use_all((warp, lane), used);
            }
            if let (At::Memory(region, offset), Some(record)) = (at, record) {
                let touched = self.touch_lane(warp, record, lane, region, offset, bytes);
                if strong {
                    taint = self.strong_read((pc, to.len()), record, &touched, &mut source);
                    self.asked_at(taint, record, (region, offset, size as u8));
                    for index in 0..to.len() as u64 {
                        let element = (region, offset + index * u64::from(size));
                        self.hear(warp, record, lane, element, access.order.acquires(), access.scope);
                    }
                }
            }
            let thread = self.thread(warp, lane);
            for (index, to) in to.iter().enumerate() {
                let part = shifted(at, index as u64 * u64::from(size));
                let (value, of_memory) = self.read_memory(part, size, thread);
                let question = if strong && bytes == u64::from(size) {
                    self.question(warp, pc, lane, access, value)
                } else {
                    None
                };
                let value = question.map_or(value, |(_, given)| given);
                if let (Some((id, _)), Some(record)) = (question, record) {
                    answered |= 1 << lane;
                    self.tell(id, access, record);
                }
                let Some(to) = to else { continue };
                let value = if access.ty.is_signed() { widened(access, value) } else { value };
                self.depend_on_load(warp, lane, *to, part, record);
                let taint = self.union(taint, of_memory);
                same &= self.warps[warp].get(Source::Register(*to), lane) == value;
                self.warps[warp].set(*to, lane, value);
                self.set_taint(warp, *to, 1 << lane, taint);
                if self.tracks() && taint != 0 {
                    self.load_symbol(warp, lane, *to, part, access, question.map(|(id, _)| id));
                }
            }
        }
        if strong && answered != active {
            self.poll(warp, pc, active, access.place, same);
        }
    }

    /// The value of a register is what was read there.
    fn depend_on_load(&mut self, warp: usize, lane: u32, to: Register, at: At, record: Option<RecordId>) {
        if !self.overs.on {
            return;
        }
        match (at, record) {
            (At::Memory(_, offset), Some(record)) => {
                let read = self.remote_access(record, lane, offset);
                self.read_into(warp, lane, to, read);
            }
            _ => self.load_local(warp, lane, to),
        }
    }

    /// A strong read is a source: its value may depend on the schedule.
    fn strong_read(
        &mut self,
        (pc, parts): (Pc, usize),
        record: RecordId,
        touched: &Touched,
        source: &mut Option<(u32, Taint)>,
    ) -> Taint {
        let (read, taint) = *source.get_or_insert_with(|| {
            let taint = self.taints.read(Read { pc, parts, racy: false, decides: None });
            ((self.taints.reads.len() - 1) as u32, taint)
        });
        self.reads.insert(record, read);
        self.taints.reads[read as usize].racy |= touched.unordered_writer;
        self.read_beside(read, touched);
        taint
    }

    /// What a load gives, as a function of strong reads: its own, or of those that what is there depends on.
    pub(super) fn load_symbol(
        &mut self,
        warp: usize,
        lane: u32,
        to: Register,
        at: At,
        access: &Access,
        question: Option<u32>,
    ) {
        let node = match question {
            Some(id) => {
                let read = self.flags_of.symbols.read(id);
                self.flags_of.symbols.make(Node::Loaded { ty: access.ty, from: Operand::Node(read) })
            }
            None if access.order == MemoryOrder::Weak => self.loaded_symbol(at, access.ty),
            None => None,
        };
        if let Some(node) = node {
            self.set_symbols(warp, to, &[(lane, node)]);
        }
    }

    /// Remembers where a strong read has read.
    fn asked_at(&mut self, _taint: Taint, record: RecordId, place: super::Place) {
        if let Some(read) = self.reads.get(&record)
            && self.asked.len() < 1 << 20
        {
            self.asked.push((*read, place));
        }
    }

    /// Whoever reads the same again, without having done anything, waits for a change.
    fn poll(&mut self, warp: usize, pc: Pc, active: u32, place: Place, same: bool) {
        let version = self.memory.version;
        let mut waits = same;
        for lane in lanes(active) {
            let address = self.warps[warp].get(place.base, lane).wrapping_add(place.offset as u64);
            let effects = self.warps[warp].effects[lane as usize];
            let asked = self.warps[warp].asked[lane as usize];
            let again = asked.pc == pc && asked.address == address && asked.effects == effects;
            waits &= again && asked.state == version;
            let times = if again { asked.times + 1 } else { 1 };
            waits &= times > 2;
            self.warps[warp].asked[lane as usize] =
                Asked { pc, address, state: version, effects, times, question: None };
        }
        if waits {
            self.blocking = Some((active, Block::Memory { version }));
            self.will_repeat(warp);
        }
    }

    pub(super) fn store(&mut self, warp: usize, pc: Pc, active: u32, access: &Access, from: &[Source]) {
        let size = access.ty.bytes();
        let bytes = u64::from(size) * from.len() as u64;
        let strong = access.order != MemoryOrder::Weak;
        let shared = access.place.space != Space::Param && access.place.space != Space::Local;
        let record = shared.then(|| self.access_record(warp, pc, access, Kind::Write));
        if shared {
            self.effect(warp, pc, active);
        }
        for lane in lanes(active) {
            let Some(at) = self.at(warp, pc, lane, access.place, bytes, bytes as u32) else {
                // It would have changed something.
                self.memory.version += 1;
                continue;
            };
            if !self.in_round((warp, lane), at, bytes, true, false) {
                continue;
            }
            let known = Rc::clone(&self.order.views(warp as u32, lane).known.base.threads);
            let mut touched = Touched::default();
            if self.overs.on && !matches!(at, At::Memory(..)) {
                self.store_local(warp, lane, from);
            }
            if let (At::Memory(region, offset), Some(record)) = (at, record) {
                let same = self.leaves_as_is(warp, lane, at, size, from);
                let views = Rc::clone(self.order.views(warp as u32, lane));
                self.set_writing(true);
                touched = self.touch_with(record, &views, lane, region, offset, bytes, 0, same);
                self.set_writing(false);
                for index in 0..from.len() as u64 {
                    let element = (region, offset + index * u64::from(size));
                    let messages = if strong {
                        self.publish(element, record, lane);
                        let how = (warp, lane, from.len() == 1);
                        self.messages_of(how, element, access.order.releases(), access.scope)
                    } else {
                        Vec::new()
                    };
                    if self.overs.on {
                        let sources = [access.place.base, from[index as usize]];
                        let dependency = self.act_depends_on(warp, lane, &sources);
                        self.use_all((warp, lane), dependency);
                        self.carry(element, (record, lane), &messages, dependency, false);
                    }
                    if !messages.is_empty() {
                        self.messages.insert(element, messages);
                    } else if !self.messages.is_empty() {
                        self.messages.remove(&element);
                    }
                }
            }
            let thread = self.thread(warp, lane);
            for (index, source) in from.iter().enumerate() {
                let part = shifted(at, index as u64 * u64::from(size));
                let (value, taint) =
                    (self.warps[warp].get(*source, lane), self.taint_of_all(warp, &[*source], 1 << lane));
                let (taint, left) = match part {
                    At::Memory(region, offset) => {
                        (self.told_others(taint), self.left_by_write(pc, (region, offset), &touched))
                    }
                    _ => (taint, 0),
                };
                let all = self.union(taint, left);
                self.memory.write(part, size, value, all, thread);
                if let (true, At::Memory(region, offset)) = (self.tracks() && taint != 0 && left == 0, part)
                    && let Some(Operand::Node(node)) = self.operand(warp, *source, lane)
                {
                    self.memory.set_symbol(region, offset, (node, size as u8));
                }
            }
            if let (true, At::Memory(region, offset)) = (self.tracks(), at) {
                let determined = self.taint_of_all(warp, from, 1 << lane) == 0;
                self.wrote(warp, lane, access, (region, offset, bytes), None, determined, &known);
            }
        }
    }

    /// What others read of an answer that a lane had is to them a matter of time.
    fn told_others(&mut self, taint: Taint) -> Taint {
        if self.taints.classes(taint) & taint::WAIT == 0 {
            return taint;
        }
        let time = self.taints.class(taint::CLOCK);
        self.union(taint, time)
    }

    /// Up to eight bytes and what they depend on.
    pub(super) fn read_memory(&mut self, at: At, bytes: u32, thread: u32) -> (u64, Taint) {
        (self.memory.read(at, bytes, thread), self.memory_taint(at, u64::from(bytes), thread))
    }

    pub(super) fn memory_taint(&mut self, at: At, bytes: u64, thread: u32) -> Taint {
        let mut taint = 0;
        self.memory.taints(at, bytes, thread, |own| taint = self.taints.union(taint, own));
        taint
    }

    /// Whether memory already holds what is stored, and the value is the same in every run: computed, or a token.
    fn leaves_as_is(&mut self, warp: usize, lane: u32, at: At, size: u32, from: &[Source]) -> bool {
        let thread = self.thread(warp, lane);
        from.iter().enumerate().all(|(index, source)| {
            let (old, of_memory) = self.read_memory(shifted(at, index as u64 * u64::from(size)), size, thread);
            let taint = self.taint_of_all(warp, &[*source], 1 << lane);
            let taint = self.union(taint, of_memory);
            let bits = if size >= 8 { u64::MAX } else { (1 << (8 * size)) - 1 };
            self.taints.is_token(taint) && old == self.warps[warp].get(*source, lane) & bits
        })
    }

    /// `st.bulk`: zeros over a range, weakly (9.7.10.14).
    pub(super) fn store_bulk(&mut self, warp: usize, pc: Pc, active: u32, to: Place, bytes: Source) {
        self.effect(warp, pc, active);
        let record = self.record(warp, pc, Kind::Write, Path::Generic);
        for lane in lanes(active) {
            self.decide(warp, pc, 1 << lane, bytes);
            let length = self.warps[warp].get(bytes, lane);
            let Some((region, offset)) = self.region_at(warp, pc, lane, to, length) else { continue };
            // Its size is a multiple of 8, as its address is (9.7.10.14).
            if !length.is_multiple_of(8) {
                let (thread, why) = (self.thread(warp, lane), format!("{length} bytes are no multiple of 8"));
                self.find(2, pc, Finding::BadOperand { pc, thread, why });
            }
            if self.is_misaligned(warp, pc, lane, offset, 8) {
                continue;
            }
            self.touch_lane(warp, record, lane, region, offset, length);
            self.memory.put(region, offset, &vec![0; length as usize], 0);
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn atomic(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        access: &Access,
        operation: Atomic,
        to: Option<Register>,
        from: [Source; 2],
    ) {
        let turn = self.must_take_turn(warp, active, access, operation, to, from);
        let waiting = if turn != 0 { turn } else { self.must_be_last(warp, active, access) };
        if waiting != active {
            self.atomic_now(warp, pc, active & !waiting, access, operation, to, from);
        }
        if waiting != 0 {
            self.blocking = Some((waiting, if turn != 0 { Block::Turn } else { Block::Ticket }));
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn atomic_now(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        access: &Access,
        operation: Atomic,
        to: Option<Register>,
        from: [Source; 2],
    ) {
        self.warps[warp].admitted &= !active;
        let size = access.ty.bytes();
        let done = self.atomic_record(warp, pc, active, access, (operation, from[0], to.is_some()));
        let swap = (operation == Atomic::CompareAndSwap).then(|| self.swap_records(warp, pc, access));
        let mut read = None;
        let mut changed = false;
        for lane in lanes(active) {
            let Some(at) = self.at(warp, pc, lane, access.place, u64::from(size), size) else { continue };
            let At::Memory(region, offset) = at else { continue };
            if self.flags_of.ghost.is_some() {
                self.failed_attempt(warp, pc, lane, access, to, at);
                continue;
            }
            // Whose turn it is, knows what those before have left.
            let in_turn = self.in_turn((region, offset));
            let known = Rc::clone(&self.order.views(warp as u32, lane).known.base.threads);
            let (record, touched) = match swap {
                Some(swap) => {
                    let fails = self.swap_fails(warp, lane, access, from[0], at);
                    self.touch_swap(warp, lane, access, (region, offset), &SwapRecords { done, ..swap }, fails, to)
                }
                None => {
                    self.set_writing(true);
                    let touched = self.touch_lane(warp, done, lane, region, offset, u64::from(size));
                    self.set_writing(false);
                    if to.is_some() {
                        self.hear(warp, done, lane, (region, offset), access.order.acquires(), access.scope);
                    }
                    (done, touched)
                }
            };
            let kind = self.order.record_at(record).kind;
            let failed = kind == Kind::Attempt;
            let dependency = if self.overs.on {
                // A swap that fails writes nothing: what it would write is used only where it may not fail.
                let sources = [access.place.base, from[0], from[1]];
                let dependency = self.act_depends_on(warp, lane, if failed { &sources[..2] } else { &sources });
                self.use_all((warp, lane), dependency);
                if failed {
                    let unwritten = self.depends_on(warp, lane, &from[1..]);
                    self.use_reads((warp, lane), unwritten.reads, Certainty::Seen);
                }
                // What nobody is told of is read as well.
                let certainty = if self.observes((region, offset)) { Certainty::Certain } else { Certainty::Seen };
                self.observe_carried((region, offset), (record, lane), access.scope, certainty);
                dependency
            } else {
                Dependency::default()
            };
            let thread = self.thread(warp, lane);
            let determined = self.taint_of_all(warp, &from, 1 << lane) == 0;
            let (old, of_memory) = self.read_memory(at, size, thread);
            let [a, b] = from.map(|source| self.warps[warp].get(source, lane));
            let new = super::compute::atomic(operation, access.ty, old, a, b);
            let taint = self.taint_of_all(warp, &from, 1 << lane);
            let mut taint = self.union(taint, of_memory);
            if new.is_none() || access.ty.kind == ty::Kind::Float {
                let class = self.taints.class(taint::FLOAT);
                taint = self.union(taint, class);
            }
            let source = match to {
                _ if in_turn => 0,
                None if !failed => 0,
                _ => self.strong_read((pc, 1), record, &touched, &mut read),
            };
            if let (true, Some((read, _))) = (failed && !in_turn, read) {
                self.swap_failed(record, read, taint);
            }
            let question = match to {
                Some(_) if !in_turn => {
                    self.asked_at(source, record, (region, offset, size as u8));
                    let question = self.question(warp, pc, lane, access, old);
                    if let Some((id, _)) = question {
                        self.atomic_question(id, access, record);
                    }
                    question
                }
                _ => None,
            };
            // A sum of integers in any order is the same; what each addend saw is not.
            let value = new.unwrap_or(old);
            changed |= value != old;
            let mut messages =
                self.messages_of((warp, lane, true), (region, offset), access.order.releases(), access.scope);
            if kind.writes() {
                self.publish((region, offset), record, lane);
                // An exchange writes what it was given.
                let modifies = operation != Atomic::Exchange;
                self.carry((region, offset), (record, lane), &messages, dependency, modifies);
                // A read-modify-write hands on what was published before it (8.9.2).
                if let Some(before) = self.messages.get(&(region, offset)) {
                    before.iter().for_each(|before| join_message(&mut messages, before));
                }
                if !messages.is_empty() {
                    self.messages.insert((region, offset), messages);
                }
                let taint = match operation {
                    Atomic::Exchange | Atomic::CompareAndSwap => self.union(taint, source),
                    _ => taint,
                };
                let left = if in_turn { 0 } else { self.left_by_write(pc, (region, offset), &touched) };
                let taint = self.union(taint, left);
                let version = self.memory.version;
                self.memory.write(at, size, value, taint, thread);
                // Nobody who waits for a change has to look again.
                if value == old {
                    self.memory.version = version;
                }
            } else if failed && !in_turn {
                let left = self.left_by_attempt(record, (region, offset));
                let (left, version) = (self.union(of_memory, left), self.memory.version);
                self.memory.write(at, size, old, left, thread);
                self.memory.version = version;
            }
            if self.tracks() {
                let part = (region, offset, u64::from(size));
                self.wrote(warp, lane, access, part, Some((operation, from, to)), determined, &known);
            }
            if let Some(to) = to {
                self.warps[warp].set(to, lane, old);
                if self.overs.on {
                    let read = self.remote_access(record, lane, offset);
                    self.read_into(warp, lane, to, read);
                }
                let taint = self.union(taint, source);
                self.set_taint(warp, to, 1 << lane, taint);
                if let Some((id, _)) = question {
                    self.load_symbol(warp, lane, to, at, access, Some(id));
                }
            }
        }
        if self.flags_of.ghost.is_some() {
            return;
        }
        let writes = changed || operation != Atomic::CompareAndSwap;
        if writes {
            self.effect(warp, pc, active);
        }
        if !changed {
            // A loop that leaves memory as it is only asks: `atom.add` of 0, `atom.exch` of what is there.
            if writes {
                lanes(active).for_each(|lane| self.warps[warp].effects[lane as usize] -= 1);
            }
            self.poll(warp, pc, active, access.place, true);
        }
    }

    fn swap_records(&mut self, warp: usize, pc: Pc, access: &Access) -> SwapRecords {
        let mut record = |kind: Kind| self.access_record(warp, pc, access, kind);
        SwapRecords { read: record(Kind::Read), failed: record(Kind::Attempt), done: 0 }
    }

    fn swap_fails(&self, warp: usize, lane: u32, access: &Access, expected: Source, at: At) -> bool {
        let expected = access.ty.cut(self.warps[warp].get(expected, lane));
        // Of what is not computed, nothing says that it differs.
        !access.ty.is_opaque()
            && access.ty.cut(self.memory.read(at, access.ty.bytes(), self.thread(warp, lane))) != expected
    }

    /// Attempts that fail hear nothing while another thread has the lock: they read, and an exchange writes too. An access
    /// before it hears stands for them. Where that one only reads, a swap comes behind what it hears.
    #[allow(clippy::too_many_arguments)]
    fn touch_swap(
        &mut self,
        warp: usize,
        lane: u32,
        access: &Access,
        (region, offset): (Region, u64),
        records: &SwapRecords,
        fails: bool,
        to: Option<Register>,
    ) -> (RecordId, Touched) {
        let bytes = u64::from(access.ty.bytes());
        let observes = self.options.credit == Credit::Observed;
        let mut touched = Touched::default();
        if observes || self.in_turn((region, offset)) {
            touched = self.touch_lane(warp, records.read, lane, region, offset, bytes);
        }
        if to.is_some() {
            self.hear(warp, records.read, lane, (region, offset), access.order.acquires(), access.scope);
        }
        // A run that tells of itself only has no other in which it might swap.
        if fails && observes {
            return (records.read, touched);
        }
        let record = if fails { records.failed } else { records.done };
        self.set_writing(true);
        touched = self.touch_lane(warp, record, lane, region, offset, bytes);
        self.set_writing(false);
        (record, touched)
    }

    /// `ldmatrix`, `stmatrix`, `wmma.load`, `wmma.store`: rows that lanes name, values that stay tokens.
    pub(super) fn fragment(&mut self, warp: usize, pc: Pc, active: u32, op: &Op) {
        match op {
            Op::LoadMatrix { at, shape, count, to, .. } => {
                let count = format!("x{count}");
                match Rows::of_load(&[shape, &count]) {
                    Ok(rows) => {
                        let taint = self.rows(warp, pc, active, *at, rows, Kind::Read, 0);
                        self.tokens(warp, active, to, taint);
                    }
                    Err(why) => self.doubt(Doubt::Footprint { pc, why }),
                }
            }
            Op::StoreMatrix { at, shape, count, from, .. } => {
                let count = format!("x{count}");
                match Rows::of_store(&[shape, &count]) {
                    Ok(rows) => {
                        let class = self.taints.class(taint::FLOAT);
                        let taint = self.taint_of_all(warp, from, active);
                        let taint = self.union(taint, class);
                        self.effect(warp, pc, active);
                        self.rows(warp, pc, active, *at, rows, Kind::Write, taint);
                    }
                    Err(why) => self.doubt(Doubt::Footprint { pc, why }),
                }
            }
            Op::WmmaLoad { at, stride, modifiers, to } => {
                self.wmma(warp, pc, active, *at, *stride, modifiers, Kind::Read);
                self.tokens(warp, active, to, 0);
            }
            Op::WmmaStore { at, stride, modifiers, .. } => {
                self.effect(warp, pc, active);
                self.wmma(warp, pc, active, *at, *stride, modifiers, Kind::Write);
            }
            _ => {}
        }
    }

    /// Values that stand for themselves, each different from all others.
    pub(super) fn tokens(&mut self, warp: usize, active: u32, to: &[Register], taint: Taint) {
        let class = self.taints.class(taint::FLOAT);
        let taint = self.union(taint, class);
        let time = u64::from(self.order.time(warp as u32));
        for to in to {
            for lane in lanes(active) {
                // Nobody else has this one.
                let thread = u64::from(self.thread(warp, lane));
                let token = thread.wrapping_mul(0x9e37_79b9).wrapping_add(time << 20).wrapping_add(u64::from(*to));
                self.warps[warp].set(*to, lane, token & 0x3fff_ffff);
            }
            self.set_taint(warp, *to, active, taint);
        }
    }

    /// Each row is accessed by the lane that names it. Which lane gets which element does not matter to a race: the
    /// instruction is one of the whole warp.
    #[allow(clippy::too_many_arguments)]
    fn rows(&mut self, warp: usize, pc: Pc, active: u32, at: Place, rows: Rows, kind: Kind, write: Taint) -> Taint {
        let record = self.record(warp, pc, kind, Path::Generic);
        let mut taint = 0;
        for lane in lanes(active).filter(|lane| *lane < rows.lanes) {
            let Some(At::Memory(region, offset)) = self.at(warp, pc, lane, at, 16, 16) else { continue };
            self.touch_lane(warp, record, lane, region, offset, 16);
            if kind == Kind::Write {
                self.memory.put(region, offset, &[0; 16], write);
            } else {
                let own = self.memory_taint(At::Memory(region, offset), 16, 0);
                taint = self.union(taint, own);
            }
        }
        taint
    }

    #[allow(clippy::too_many_arguments)]
    fn wmma(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        at: Place,
        stride: Option<Source>,
        modifiers: &[String],
        kind: Kind,
    ) {
        let words: Vec<&str> = modifiers.iter().map(String::as_str).collect();
        let first = active.trailing_zeros();
        let address = self.address_of(warp, pc, first, at);
        stride.iter().for_each(|source| self.decide(warp, pc, active, *source));
        let stride = stride.map(|source| self.warps[warp].get(source, first));
        let ranges = Wmma::from_modifiers(&words).and_then(|matrix| matrix.bytes(address, stride));
        let ranges = match ranges {
            Ok(ranges) => ranges,
            Err(why) => return self.doubt(Doubt::Footprint { pc, why }),
        };
        let record = self.record(warp, pc, kind, Path::Generic);
        let (cta, thread) = (self.warps[warp].cta, self.thread(warp, first));
        for range in ranges {
            match self.memory.resolve(at.space, range.start, range.len, cta, thread) {
                Ok(At::Memory(region, offset)) => {
                    self.touch_lane(warp, record, first, region, offset, range.len);
                    if kind == Kind::Write {
                        let class = self.taints.class(taint::FLOAT);
                        self.memory.put(region, offset, &vec![0; range.len as usize], class);
                    }
                }
                Ok(_) => {}
                Err(fault) => self.find(2, pc, Finding::OutOfBounds { pc, thread, fault }),
            }
        }
    }
}

/// The records of a compare-and-swap: it has only read, has failed and might swap, has swapped.
#[derive(Copy, Clone)]
struct SwapRecords {
    read: RecordId,
    failed: RecordId,
    done: RecordId,
}

fn shifted(at: At, by: u64) -> At {
    match at {
        At::Memory(region, offset) => At::Memory(region, offset + by),
        At::Local(offset) => At::Local(offset + by),
        At::Param(offset) => At::Param(offset + by),
    }
}

/// A load of a small signed number fills the register with its sign.
fn widened(access: &Access, value: u64) -> u64 {
    if access.ty.bits < 64 { access.ty.signed(value) as u64 } else { value }
}
