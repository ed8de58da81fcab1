//! Threads that wait for flags and counters in memory (H5 of docs/kernels.md).
//!
//! A first run tells which strong reads decide anything; of the places that they read, this one keeps every write, and asks
//! of every such read which values it may return in any execution: those of the prefixes of coherence order that K allows
//! ([`reach`]). A read that decides what happens must decide the same for all of them, but for those with which its thread
//! comes back to the same read in the same state ([`ghost`]): then it waits, and is told only what every value that
//! ends the wait tells.

pub(super) mod ghost;
pub(super) mod liveness;
mod reach;
pub(super) mod symbol;
pub(super) mod turn;

use std::cell::RefCell;
use std::rc::Rc;

use std::collections::BTreeMap;

use fencepost_syntax::limits;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use super::Run;
use super::over::Carry;
use super::warp::{Block, lanes};
use crate::code::op::{Access, Atomic, Pc, Register, Scope, Source};
use crate::code::ty::{self, Ty};
use crate::memory::At;
use crate::order::clock::{Clock, View};
use crate::order::record::RecordId;
use crate::order::{Certainty, Cta, Message, Region, Views, Write, in_scope};
use crate::report::{Cause, Doubt};
use ghost::{Ghost, Stuck};
use liveness::Liveness;
use reach::{Change, Element, Reach, reach};
use symbol::{Node, NodeId, Operand, QuestionId, Symbols};
use turn::{Turn, Uses, Written};

/// A place in memory that strong reads ask for, and its size.
pub type Place = (Region, u64, u8);

/// Of each place whose tickets decide, the warp and lane that takes the last one.
pub type Last = SortedMap<Place, (u32, u32)>;

/// A write: its place, and its number there.
type WriteId = ((Region, u64), usize);

/// One lane's write of such a place.
struct Wrote {
    warp: u32,
    lane: u32,
    time: u32,
    cta: Cta,
    change: Change,
    /// What the writer knew.
    known: View,
    /// Writes of the place that a read before it has observed: causality order has those too (8.9.5).
    observed: SortedSet<usize>,
    scope: Option<Scope>,
    messages: Vec<Rc<Message>>,
    /// What whoever observes it comes after.
    carry: Option<Rc<Carry>>,
    /// The value behind it, in this run.
    after: u64,
    /// So many of the first writes come before it.
    prefix: usize,
}

#[derive(Default)]
struct Log {
    start: u64,
    /// Nobody knows what is there at the start.
    unknown: bool,
    writes: Vec<Wrote>,
    /// Reads that were told of writes: warp, lane, time, and the writes.
    told: Vec<((u32, u32, u32), Vec<usize>)>,
    /// Something wrote here that is not understood.
    broken: bool,
    /// The case that is looked at: this lane's atomic operation is the last of all.
    last: Option<(u32, u32)>,
    uses: Uses,
    /// Whether the value behind so many first writes is the same in every order, where somebody has asked.
    settled: RefCell<SortedMap<usize, bool>>,
}

/// A strong read of one lane.
struct Question {
    pc: Pc,
    place: Place,
    warp: u32,
    lane: u32,
    time: u32,
    cta: Cta,
    scope: Scope,
    known: View,
    observed: SortedSet<usize>,
    value: u64,
    /// Values with which the lane comes back and asks again.
    again: SortedSet<u64>,
    /// It is an atomic operation.
    atomic: bool,
    /// What the lane was told.
    told: Told,
    /// In a ghost: the values that it is given, one after the other.
    forced: Option<SortedSet<u64>>,
}

/// A branch, an address or an operand of a synchronisation that depends on strong reads.
struct Decision {
    pc: Pc,
    node: NodeId,
    value: u64,
}

/// A `fence.sc` of lanes that knew the same.
struct Fence {
    warp: u32,
    lanes: u32,
    time: u32,
    cta: Cta,
    scope: Scope,
    views: Rc<Views>,
}

#[derive(Default)]
pub(super) struct Flags {
    /// Off in runs that credit nothing, or all that they see.
    on: bool,
    logs: SortedMap<(Region, u64), (u8, Log)>,
    questions: Vec<Question>,
    decisions: Vec<Decision>,
    pub(super) symbols: Symbols,
    fences: Vec<Fence>,
    /// By warp and lane.
    askers: BTreeMap<(u32, u32), Asker>,
    pub(super) ghost: Option<Ghost>,
    pub(super) turns: turn::State,
    liveness: Option<Rc<Liveness>>,
    /// How many instructions each warp has executed, rounds of ghosts not counted.
    moves: Vec<u64>,
    /// A store or an atomic of a thread is under way: writes of anything else are not understood.
    writing: bool,
}

/// A lane that asks.
#[derive(Default)]
struct Asker {
    /// Writes that it was told of.
    told: Vec<WriteId>,
    /// It waits, with what it asks for.
    pending: Option<Asked>,
    /// It is stuck with some value, or was.
    halted: Option<Halted>,
    /// Of the question that it is about to ask: values that lead back to it.
    again: SortedSet<u64>,
}

/// A question before it is asked: the instruction, the place, and how many writes that has.
type Asked = (Pc, Place, usize);

/// A lane that is stuck with some value of its question, and [`Run::moved`] then.
struct Halted {
    asked: Asked,
    stuck: Stuck,
    moved: (u64, u64),
}

/// Prefixes times reads that one decision is looked at for.
const MOST_CASES: usize = 4096;
const MOST_FENCES: usize = 100_000;
/// Writes of one place that are kept.
const MOST_WRITES: usize = 4096;

impl Flags {
    pub(super) fn new(places: &SortedSet<Place>, last: &Last, on: bool) -> Flags {
        let log = |place: &Place| Log { last: last.get(place).copied(), ..Log::default() };
        let logs = places.iter().map(|place| ((place.0, place.1), (place.2, log(place)))).collect();
        Flags { on, logs, ..Flags::default() }
    }

    /// Places that overlap these bytes.
    fn over(&self, region: Region, start: u64, len: u64) -> Vec<(Region, u64)> {
        let from = (region, start.saturating_sub(7));
        let found = self.logs.range(from..(region, start + len));
        found.filter(|((_, at), (size, _))| at + u64::from(*size) > start).map(|(key, _)| *key).collect()
    }
}

fn knows(view: &Clock, own: (u32, u32, u32), other: (u32, u32, u32)) -> bool {
    let (warp, lane, time) = other;
    if (own.0, own.1) == (warp, lane) { own.2 > time } else { view.knows(warp, lane, time) }
}

impl Wrote {
    fn place(&self) -> (u32, u32, u32) {
        (self.warp, self.lane, self.time)
    }
}

impl Question {
    fn place_of(&self) -> (u32, u32, u32) {
        (self.warp, self.lane, self.time)
    }

    fn before(&self, write: &Wrote) -> bool {
        let own = self.place_of();
        (own.0, own.1) == (write.warp, write.lane) && write.time >= own.2 || knows(&write.known, write.place(), own)
    }
}

impl Log {
    /// Writes that reads before this have observed.
    fn observed(&self, known: &Clock, place: (u32, u32, u32)) -> SortedSet<usize> {
        let before = self.told.iter().filter(|(read, _)| knows(known, place, *read));
        before.flat_map(|(_, writes)| writes.iter().copied()).collect()
    }

    /// Whether the second write comes after the first, in causality order.
    fn in_order(&self, first: usize, second: usize) -> bool {
        let (first_write, second) = (&self.writes[first], &self.writes[second]);
        knows(&second.known, second.place(), first_write.place())
            || second.observed.contains(&first)
            || (self.is_last(second) && self.is_early(first_write))
    }

    fn is_last(&self, write: &Wrote) -> bool {
        matches!(write.change, Change::Modify { .. }) && self.last == Some((write.warp, write.lane))
    }

    /// An atomic operation that comes before the last one, in the case that is looked at.
    fn is_early(&self, write: &Wrote) -> bool {
        let own = (write.warp, write.lane);
        matches!(write.change, Change::Modify { .. }) && self.last.is_some_and(|last| last != own)
    }

    /// Whether the read comes before the write.
    fn is_before(&self, question: &Question, write: &Wrote) -> bool {
        let early = question.atomic && self.last.is_some_and(|last| last != (question.warp, question.lane));
        question.before(write) || (early && self.is_last(write))
    }

    /// Whether the read comes after the write.
    fn is_behind(&self, question: &Question, write: usize) -> bool {
        let is_last = question.atomic && self.last == Some((question.warp, question.lane));
        self.is_known(question, write) || (is_last && self.is_early(&self.writes[write]))
    }

    /// The same without the case that is looked at.
    fn is_known(&self, question: &Question, write: usize) -> bool {
        knows(&question.known, question.place_of(), self.writes[write].place()) || question.observed.contains(&write)
    }

    /// The lanes of which one takes the last ticket: each takes one.
    fn takers(&self) -> SortedSet<(u32, u32)> {
        let all = self.writes.iter().filter(|write| matches!(write.change, Change::Modify { .. }));
        let takers: SortedSet<(u32, u32)> = all.clone().map(|write| (write.warp, write.lane)).collect();
        if takers.len() == all.count() { takers } else { SortedSet::new() }
    }

    /// The largest number of first writes, at most `most`, that come before all others.
    fn cut(&self, most: usize) -> usize {
        let mut best = 0;
        let mut least = usize::MAX;
        for index in (0..=self.writes.len()).rev() {
            if index < self.writes.len() {
                least = least.min(self.writes[index].prefix);
            }
            if index <= most && least >= index {
                best = index;
                break;
            }
        }
        best
    }

    fn value_at(&self, cut: usize) -> u64 {
        if cut == 0 { self.start } else { self.writes[cut - 1].after }
    }

    /// Whether the value behind the first writes is the same in every order. Writes are only added, so that an answer stays.
    fn settled(&self, cut: usize) -> bool {
        let (mut to, mut passed, mut settled) = (cut, Vec::new(), true);
        while to > 0 && settled {
            if let Some(known) = self.settled.borrow().get(&to) {
                settled = *known;
                break;
            }
            // The next smaller cut of the first writes alone.
            let from = (0..to).rev().find(|at| (*at..to).all(|write| self.writes[write].prefix >= *at)).unwrap_or(0);
            settled = self.commutes(from, to);
            passed.push(to);
            to = from;
        }
        // The smallest first: those before it are there already.
        self.settled.borrow_mut().extend(passed.into_iter().rev().map(|to| (to, settled)));
        settled
    }

    /// Whether these writes leave the same value in every order.
    fn commutes(&self, from: usize, to: usize) -> bool {
        let elements: Vec<Element> =
            (from..to).map(|write| Element { change: self.writes[write].change, must: true }).collect();
        let before = |a: usize, b: usize| self.in_order(from + a, from + b);
        let Some(found) = reach(self.value_at(from), &elements, &before) else { return false };
        found.states.iter().all(|state| state.value == self.value_at(to))
    }

    /// The prefixes that a question may see, and the number of the write of each element.
    fn possible(&self, question: &Question) -> Option<(Reach, Vec<usize>)> {
        if self.broken {
            return None;
        }
        let prefix = (0..self.writes.len()).take_while(|write| self.is_known(question, *write)).count();
        let cut = self.cut(prefix);
        // A first value that nobody knows is overwritten before anybody looks.
        let begun = |first: &Wrote| cut > 0 && matches!(first.change, Change::Store(_));
        let first_alone = self.writes.iter().skip(1).all(|write| write.prefix > 0);
        if self.unknown && !(first_alone && self.writes.first().is_some_and(begun)) {
            return None;
        }
        if !self.settled(cut) {
            return None;
        }
        let free: Vec<usize> =
            (cut..self.writes.len()).filter(|at| !self.is_before(question, &self.writes[*at])).collect();
        let elements: Vec<Element> = free
            .iter()
            .map(|at| Element { change: self.writes[*at].change, must: self.is_behind(question, *at) })
            .collect();
        let before = |a: usize, b: usize| self.in_order(free[a], free[b]);
        Some((reach(self.value_at(cut), &elements, &before)?, free))
    }

    /// What is told with every value but those that are asked for again. Empty where scopes do not include each other: a
    /// chain of read-modify-writes is one if each is morally strong with the next (8.9.2).
    fn told_by_all(&self, question: &Question, (found, free): &(Reach, Vec<usize>), per_cluster: u32) -> Told {
        let includes =
            |scope: Option<Scope>, a: Cta, b: Cta| scope.is_some_and(|scope| in_scope(scope, a, b, per_cluster));
        let all = || free.iter().map(|at| &self.writes[*at]);
        let mutual = all().all(|write| {
            includes(write.scope, write.cta, question.cta)
                && includes(Some(question.scope), write.cta, question.cta)
                && all().all(|other| includes(write.scope, write.cta, other.cta))
        });
        // Of each prefix that ends the wait, the writes that are observed for certain.
        let ends = found.states.iter().filter(|state| !question.again.contains(&state.value));
        let chains: SortedSet<Vec<usize>> = ends
            .map(|state| (0..free.len()).filter(|at| state.seen[found.class_of[*at]]).map(|at| free[at]).collect())
            .collect();
        let mut told = Told::default();
        if !mutual || chains.is_empty() {
            return told;
        }
        let in_base = |at: usize| knows(&question.known, question.place_of(), self.writes[at].place());
        let observed = |at: &usize| !in_base(*at) && chains.iter().all(|chain| chain.contains(at));
        told.observed.extend(free.iter().copied().filter(observed));
        for at in free.iter().copied().filter(|at| !self.is_known(question, *at)) {
            let write = &self.writes[at];
            let reached = |other: &usize| *other == at || self.in_order(at, *other);
            if chains.iter().all(|chain| chain.iter().any(reached)) {
                told.writes.push(at);
            }
            for (index, message) in write.messages.iter().enumerate() {
                let tells = |other: &usize| {
                    *other == at || self.writes[*other].messages.iter().any(|other| covers(other, message))
                };
                if chains.iter().all(|chain| chain.iter().any(tells)) {
                    told.messages.push((at, index));
                }
            }
        }
        told
    }
}

/// Whether whoever hears the one has nothing to gain from the other.
fn covers(message: &Message, other: &Message) -> bool {
    message.cta == other.cta && message.scope >= other.scope && message.known.includes(&other.known)
}

/// What an answer tells in every execution.
#[derive(Clone, Default)]
struct Told {
    /// Writes that are observed, or that come before one that is.
    writes: Vec<usize>,
    /// Those that are observed.
    observed: Vec<usize>,
    /// Messages by the number of the write and their own.
    messages: Vec<(usize, usize)>,
}

impl Told {
    fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.observed.is_empty() && self.messages.is_empty()
    }

    fn includes(&self, other: &Told) -> bool {
        other.writes.iter().all(|write| self.writes.contains(write))
            && other.observed.iter().all(|write| self.observed.contains(write))
            && other.messages.iter().all(|message| self.messages.contains(message))
    }
}

impl Run<'_> {
    pub(super) fn tracks(&self) -> bool {
        self.flags_of.on
    }

    /// The value of each place before the first instruction.
    pub(super) fn start_flags(&mut self) {
        if !self.flags_of.on {
            return;
        }
        let keys: Vec<((Region, u64), u8)> = self.flags_of.logs.iter().map(|(key, (size, _))| (*key, *size)).collect();
        for ((region, at), size) in keys {
            let (value, taint) = self.read_memory(At::Memory(region, at), u32::from(size), 0);
            if let Some((_, log)) = self.flags_of.logs.get_mut(&(region, at)) {
                log.start = value;
                log.unknown = taint != 0;
            }
        }
        self.flags_of.moves = vec![0; self.warps.len()];
        self.flags_of.liveness = Some(Rc::new(Liveness::new(&self.code, self.entry.registers)));
    }

    /// Bytes are written. Anything but a store or an atomic of a thread is not understood.
    pub(super) fn written(&mut self, region: Region, start: u64, len: u64) {
        if !self.flags_of.on || self.flags_of.writing {
            return;
        }
        for key in self.flags_of.over(region, start, len) {
            if let Some((_, log)) = self.flags_of.logs.get_mut(&key) {
                log.broken = true;
                log.uses.spoil();
            }
            if self.options.turns.places.keys().any(|place| (place.0, place.1) == key) {
                self.doubt(Doubt::Flags { pc: self.flags_of.turns.pc });
            }
        }
    }

    pub(super) fn set_writing(&mut self, writing: bool) {
        self.flags_of.writing = writing;
    }

    /// One lane has written: what, if it was an atomic operation with determined operands.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn wrote(
        &mut self,
        warp: usize,
        lane: u32,
        access: &Access,
        (region, start, len): (Region, u64, u64),
        atomic: Option<(Atomic, [Source; 2], Option<Register>)>,
        determined: bool,
        known: &View,
    ) {
        if !self.flags_of.on || self.flags_of.ghost.is_some() {
            return;
        }
        for key in self.flags_of.over(region, start, len) {
            let Some((size, log)) = self.flags_of.logs.get(&key) else { continue };
            let size = *size;
            let covers = start <= key.1 && key.1 + u64::from(size) <= start + len;
            let whole = start == key.1 && u64::from(size) == len;
            let after = self.memory.read(At::Memory(region, key.1), u32::from(size), 0);
            let change = match atomic {
                None if covers => Some(Change::Store(after)),
                Some((operation, operands, _)) if whole => {
                    let operand = self.warps[warp].get(operands[0], lane);
                    let plain = operation != Atomic::CompareAndSwap && access.ty.kind != ty::Kind::Float;
                    plain.then_some(Change::Modify { operation, ty: access.ty, operand })
                }
                _ => None,
            };
            let full = log.writes.len() >= MOST_WRITES;
            let cta = self.warps[warp].cta;
            let scope = (access.order != crate::code::op::Order::Weak).then_some(access.scope);
            let messages = if scope.is_some() {
                let alone = len == u64::from(access.ty.bytes());
                self.messages_of((warp, lane, alone), (region, key.1), access.order.releases(), access.scope)
            } else {
                Vec::new()
            };
            let time = self.order.time(warp as u32);
            let operands = |from: [Source; 2]| from.map(|source| access.ty.cut(self.warps[warp].get(source, lane)));
            let atomic = atomic.map(|(operation, from, to)| (operation, operands(from), to.is_some()));
            let plain = whole && determined && access.ty.kind != ty::Kind::Float;
            let written = Written { warp: warp as u32, lane, time, cta, atomic, after, scope, plain };
            self.note_use(key, &written, known);
            let carry = self.overs.last_carry(key);
            let Some((_, log)) = self.flags_of.logs.get_mut(&key) else { continue };
            let (Some(change), true, false) = (change, determined, full) else {
                log.broken = true;
                continue;
            };
            // Whoever takes a second ticket is in no case that is looked at; a loop that takes them would take many.
            let takes = |own: &Wrote| {
                matches!(own.change, Change::Modify { .. }) && (own.warp, own.lane) == (warp as u32, lane)
            };
            if log.last.is_some() && matches!(change, Change::Modify { .. }) && log.writes.iter().any(takes) {
                log.broken = true;
                continue;
            }
            let write = Wrote {
                warp: warp as u32,
                lane,
                time,
                cta,
                change,
                known: Rc::clone(known),
                observed: log.observed(known, (warp as u32, lane, time)),
                scope,
                messages,
                carry,
                after,
                prefix: 0,
            };
            log.writes.push(write);
            let last = log.writes.len() - 1;
            log.writes[last].prefix = (0..last).take_while(|other| log.in_order(*other, last)).count();
        }
    }

    /// The place that a strong read of a lane asks for, if it is looked after.
    fn asked_place(&self, warp: usize, lane: u32, access: &Access) -> Option<Place> {
        let address = self.warps[warp].get(access.place.base, lane).wrapping_add(access.place.offset as u64);
        let (cta, thread) = (self.warps[warp].cta, self.thread(warp, lane));
        let size = access.ty.bytes();
        let Ok(At::Memory(region, at)) = self.memory.resolve(access.place.space, address, u64::from(size), cta, thread)
        else {
            return None;
        };
        let (own, _) = self.flags_of.logs.get(&(region, at))?;
        (u32::from(*own) == size).then_some((region, at, *own))
    }

    /// Lanes that must wait with their question until nobody else can go on.
    pub(super) fn must_wait(&self, warp: usize, active: u32, access: &Access, parts: usize) -> u32 {
        if !self.flags_of.on || parts != 1 {
            return 0;
        }
        let admitted = self.warps[warp].admitted;
        let asks = |lane: &u32| admitted & (1 << lane) == 0 && self.asked_place(warp, *lane, access).is_some();
        lanes(active).filter(asks).fold(0, |mask, lane| mask | 1 << lane)
    }

    fn new_question(&self, warp: usize, pc: Pc, lane: u32, access: &Access, place: Place, value: u64) -> Question {
        let known = Rc::clone(&self.order.views(warp as u32, lane).known.base.threads);
        let (time, cta) = (self.order.time(warp as u32), self.warps[warp].cta);
        let log = self.flags_of.logs.get(&(place.0, place.1));
        let observed = log.map_or_else(SortedSet::new, |(_, log)| log.observed(&known, (warp as u32, lane, time + 1)));
        Question {
            pc,
            place,
            warp: warp as u32,
            lane,
            time,
            cta,
            scope: access.scope,
            known,
            observed,
            value,
            again: SortedSet::new(),
            atomic: false,
            told: Told::default(),
            forced: None,
        }
    }

    /// A strong read of a place that is looked after: its number, and in a ghost the value that it is given.
    pub(super) fn question(
        &mut self,
        warp: usize,
        pc: Pc,
        lane: u32,
        access: &Access,
        value: u64,
    ) -> Option<(QuestionId, u64)> {
        if !self.flags_of.on {
            return None;
        }
        let place = self.asked_place(warp, lane, access)?;
        let mut question = self.new_question(warp, pc, lane, access, place, value);
        let given = self.flags_of.ghost.as_ref().and_then(|ghost| ghost.given(warp, lane));
        if let Some(given) = given {
            question.value = given;
            question.forced = Some(SortedSet::from([given]));
        } else {
            let asker = self.flags_of.askers.get_mut(&(warp as u32, lane));
            question.again = asker.map(|own| std::mem::take(&mut own.again)).unwrap_or_default();
        }
        let value = question.value;
        self.flags_of.questions.push(question);
        Some(((self.flags_of.questions.len() - 1) as QuestionId, value))
    }

    /// The answer of a load tells what all values that end its wait tell.
    pub(super) fn tell(&mut self, id: QuestionId, access: &Access, record: RecordId) {
        let per = self.launch.ctas_per_cluster();
        let question = &self.flags_of.questions[id as usize];
        if question.forced.is_some() {
            return;
        }
        let key = (question.place.0, question.place.1);
        let (warp, lane) = (question.warp, question.lane);
        let Some((_, log)) = self.flags_of.logs.get_mut(&key) else { return };
        // Who only looks need not look at what the last operation left.
        log.uses.not_queue = true;
        let Some(possible) = log.possible(question) else { return };
        let told = log.told_by_all(question, &possible, per);
        let message = |(at, index): &(usize, usize)| Rc::clone(&log.writes[*at].messages[*index]);
        let messages: Vec<Rc<Message>> = told.messages.iter().map(message).collect();
        let write = |at: &usize| {
            let (warp, lane, time) = log.writes[*at].place();
            Write { warp, lane, time, size: question.place.2 }
        };
        let observed: Vec<Write> = told.observed.iter().map(write).collect();
        let carries: Vec<Rc<Carry>> = told.observed.iter().filter_map(|at| log.writes[*at].carry.clone()).collect();
        self.order.observe_told(key, record, lane, observed);
        self.take_carried(warp as usize, lane, &carries, access.scope, Certainty::Certain);
        self.hear_ends(warp as usize, lane, &messages, access.scope, Certainty::Certain);
        self.take_messages(warp as usize, lane, &messages, access.order.acquires(), access.scope);
        let asker = self.flags_of.askers.entry((warp, lane)).or_default();
        asker.told.extend(told.writes.iter().map(|at| (key, *at)));
        let read = self.flags_of.questions[id as usize].place_of();
        if let Some((_, log)) = self.flags_of.logs.get_mut(&key)
            && !told.writes.is_empty()
        {
            log.told.push((read, told.writes.clone()));
        }
        self.flags_of.questions[id as usize].told = told;
    }

    /// `fence.sc` behind a read that was told of a write, and before that write another one: were they the other way round,
    /// the read would come before the write (8.9.3). So they are in this order in every execution.
    pub(super) fn fence_behind_flags(&mut self, warp: usize, active: u32, scope: Scope) {
        if !self.flags_of.on {
            return;
        }
        let (cta, per) = (self.warps[warp].cta, self.launch.ctas_per_cluster());
        for lane in lanes(active) {
            let Some(asker) = self.flags_of.askers.get(&(warp as u32, lane)) else { continue };
            let mut known = Vec::new();
            for (key, at) in &asker.told {
                let Some((_, log)) = self.flags_of.logs.get(key) else { continue };
                let write = &log.writes[*at];
                for fence in &self.flags_of.fences {
                    if !in_scope(scope, fence.cta, cta, per) || !in_scope(fence.scope, fence.cta, cta, per) {
                        continue;
                    }
                    let before = |own: &u32| knows(&write.known, write.place(), (fence.warp, *own, fence.time));
                    let mask = lanes(fence.lanes).filter(before).fold(0, |mask, lane| mask | 1 << lane);
                    if mask != 0 {
                        known.push((fence.cta, fence.views.sent(fence.cta, fence.warp, mask, fence.time)));
                    }
                }
            }
            for (from, known) in known {
                self.order.receive(warp as u32, 1 << lane, &known);
                if from != cta {
                    self.order.change(warp as u32, 1 << lane, |views, _| {
                        let own = Rc::make_mut(&mut views.known);
                        own.released_elsewhere(&known.base.threads, Certainty::Certain);
                    });
                }
            }
        }
        let (time, is_real) = (self.order.time(warp as u32), self.flags_of.ghost.is_none());
        if is_real && self.flags_of.fences.len() < MOST_FENCES {
            for (lanes, views) in self.order.groups(warp as u32, active) {
                self.flags_of.fences.push(Fence { warp: warp as u32, lanes, time, cta, scope, views });
            }
        }
    }

    /// The operand of an instruction: a number, or what it is a function of. None if that is not kept.
    pub(super) fn operand(&self, warp: usize, source: Source, lane: u32) -> Option<Operand> {
        let value = self.warps[warp].get(source, lane);
        let taint = self.warps[warp].taint_of(source, 1 << lane);
        match source {
            Source::Register(register) if taint != 0 && self.taints.has_reads(taint) => {
                self.flags_of.symbols.of(warp, register, lane).map(Operand::Node)
            }
            _ => Some(Operand::Constant(value)),
        }
    }

    /// The symbols of a result, lane by lane, before it is written.
    pub(super) fn symbols_of(
        &mut self,
        warp: usize,
        active: u32,
        from: &[Source],
        make: impl Fn(&[Operand]) -> Node,
    ) -> Vec<(u32, NodeId)> {
        let mut nodes = Vec::new();
        for lane in lanes(active) {
            let operands: Option<Vec<Operand>> = from.iter().map(|source| self.operand(warp, *source, lane)).collect();
            let Some(operands) = operands else { continue };
            if operands.iter().all(|operand| matches!(operand, Operand::Constant(_))) {
                continue;
            }
            if let Some(node) = self.flags_of.symbols.make(make(&operands)) {
                nodes.push((lane, node));
            }
        }
        nodes
    }

    pub(super) fn set_symbols(&mut self, warp: usize, to: u32, nodes: &[(u32, NodeId)]) {
        for (lane, node) in nodes {
            self.flags_of.symbols.set(warp, to, *lane, *node);
        }
    }

    /// What a load gives: what was stored there.
    pub(super) fn loaded_symbol(&mut self, at: At, ty: Ty) -> Option<NodeId> {
        let At::Memory(region, offset) = at else { return None };
        let (node, size) = self.memory.symbol_at(region, offset)?;
        if u32::from(size) != ty.bytes() {
            return None;
        }
        self.flags_of.symbols.make(Node::Loaded { ty, from: Operand::Node(node) })
    }

    /// A value that depends on strong reads decides something. False where it is not known how it depends on them.
    pub(super) fn decided_by_symbols(&mut self, warp: usize, pc: Pc, mask: u32, source: Source, bits: u64) -> bool {
        if !self.flags_of.on {
            return false;
        }
        let Source::Register(register) = source else { return true };
        let mut all = true;
        for lane in lanes(mask) {
            let taint = self.warps[warp].taint_of(source, 1 << lane);
            if taint == 0 || !self.taints.has_reads(taint) {
                continue;
            }
            let Some(node) = self.flags_of.symbols.of(warp, register, lane) else {
                all = false;
                continue;
            };
            let node = match bits {
                u64::MAX => Some(node),
                _ => self.flags_of.symbols.make(Node::Function {
                    function: crate::code::op::Function::And,
                    ty: Ty::U64,
                    from: [Operand::Node(node), Operand::Constant(bits), Operand::Constant(0)],
                }),
            };
            let Some(node) = node else {
                all = false;
                continue;
            };
            let value = self.warps[warp].get(source, lane) & bits;
            if let Some(ghost) = &mut self.flags_of.ghost {
                ghost.decide(node, value);
            }
            self.flags_of.decisions.push(Decision { pc, node, value });
        }
        all
    }

    /// Lanes whose atomic operation is to be the last one, and that wait until nobody else can go on.
    pub(super) fn must_be_last(&self, warp: usize, active: u32, access: &Access) -> u32 {
        if !self.flags_of.on || self.options.last.is_empty() {
            return 0;
        }
        let admitted = self.warps[warp].admitted;
        let waits = |lane: &u32| {
            let place = self.asked_place(warp, *lane, access);
            let last = place.and_then(|place| self.options.last.get(&place));
            admitted & (1 << lane) == 0 && last == Some(&(warp as u32, *lane))
        };
        lanes(active).filter(waits).fold(0, |mask, lane| mask | 1 << lane)
    }

    /// An atomic operation asks; the last one is told of all others.
    pub(super) fn atomic_question(&mut self, id: QuestionId, access: &Access, record: RecordId) {
        let question = &mut self.flags_of.questions[id as usize];
        question.atomic = true;
        let (key, own) = ((question.place.0, question.place.1), (question.warp, question.lane));
        if self.flags_of.logs.get(&key).is_some_and(|(_, log)| log.last == Some(own)) {
            self.tell(id, access, record);
        }
    }

    /// Whoever takes the last ticket does, now that nobody else can go on.
    pub(super) fn take_last_tickets(&mut self) -> bool {
        let mut any = false;
        for warp in &mut self.warps {
            for fragment in &mut warp.fragments {
                if fragment.blocked == Some(Block::Ticket) {
                    fragment.blocked = None;
                    warp.admitted |= fragment.mask;
                    any = true;
                }
            }
        }
        any
    }

    /// Places whose tickets decide something, with the lanes that take them.
    pub(super) fn tickets(&self) -> SortedMap<Place, SortedSet<(u32, u32)>> {
        let mut tickets = SortedMap::new();
        for decision in &self.flags_of.decisions {
            for read in self.flags_of.symbols.reads(decision.node) {
                let Some(question) = self.flags_of.questions.get(*read as usize) else { continue };
                let log = self.flags_of.logs.get(&(question.place.0, question.place.1));
                if let (true, Some((_, log))) = (question.atomic, log) {
                    tickets.entry(question.place).or_insert_with(|| log.takers());
                }
            }
        }
        tickets
    }

    /// How threads take turns at the places that are looked after, where they do nothing else there.
    pub(super) fn turn_kinds(&self) -> SortedMap<Place, Turn> {
        let logs = self.flags_of.logs.iter().filter(|(_, (_, log))| !log.unknown);
        logs.filter_map(|(key, (size, log))| Some(((key.0, key.1, *size), log.uses.kind(log.start)?))).collect()
    }

    /// Whether every decision is the same for all values that its reads may return, and every wait was told the truth.
    pub(super) fn check_flags(&mut self) {
        if !self.flags_of.on {
            return;
        }
        let decisions = self.flags_of.decisions.iter();
        let deciding: SortedSet<QuestionId> =
            decisions.flat_map(|decision| self.flags_of.symbols.reads(decision.node).iter().copied()).collect();
        let mut doubts = SortedSet::new();
        let mut values: Vec<Option<Vec<u64>>> = Vec::with_capacity(self.flags_of.questions.len());
        for (id, question) in self.flags_of.questions.iter().enumerate() {
            // Of a read that decided nothing, did not wait and was told nothing, any value will do.
            let matters =
                deciding.contains(&(id as QuestionId)) || !question.again.is_empty() || !question.told.is_empty();
            if limits::is_over() || !matters {
                values.push(None);
                continue;
            }
            let (possible, is_right) = self.checked_question(question);
            values.push(possible);
            if !is_right {
                doubts.insert(Doubt::Flags { pc: question.pc });
            }
        }
        if limits::is_over() {
            self.end_by_limit();
        }
        // In the case that is looked at, the others took their tickets before.
        for (key, (_, log)) in &self.flags_of.logs {
            let last = log.writes.iter().rposition(|write| log.is_last(write) || log.is_early(write));
            if log.last.is_some() && !last.is_some_and(|last| log.is_last(&log.writes[last])) {
                let asks = |own: &&Question| (own.place.0, own.place.1) == *key;
                let pc = self.flags_of.questions.iter().find(asks).map_or(0, |own| own.pc);
                doubts.insert(Doubt::Flags { pc });
            }
        }
        for decision in &self.flags_of.decisions {
            if !self.is_determined(decision, &values) {
                doubts.insert(Doubt::Decided { pc: decision.pc, by: Cause::Read });
            }
        }
        doubts.into_iter().for_each(|doubt| self.doubt(doubt));
        self.check_turns();
    }

    /// The values with which a read ends its wait, if they are known; and whether it ends, and was told the truth.
    fn checked_question(&self, question: &Question) -> (Option<Vec<u64>>, bool) {
        if let Some(given) = &question.forced {
            return (Some(given.iter().copied().collect()), true);
        }
        let found = self.flags_of.logs.get(&(question.place.0, question.place.1));
        let Some((log, possible)) = found.and_then(|(_, log)| Some((log, log.possible(question)?))) else {
            return (None, question.told.is_empty());
        };
        let states = &possible.0.states;
        // With what is left when everybody else is done, nobody waits.
        let waits = states.iter().any(|state| state.full && question.again.contains(&state.value));
        let told = log.told_by_all(question, &possible, self.launch.ctas_per_cluster());
        let ends = states.iter().map(|state| state.value).filter(|value| !question.again.contains(value));
        let ends: SortedSet<u64> = ends.collect();
        // What this run has read is one of them.
        let values = ends.contains(&question.value).then(|| ends.into_iter().collect());
        (values, !waits && told.includes(&question.told))
    }

    fn is_determined(&self, decision: &Decision, values: &[Option<Vec<u64>>]) -> bool {
        let reads = self.flags_of.symbols.reads(decision.node);
        let mut cases: Vec<Vec<u64>> = vec![Vec::new()];
        for read in reads {
            let Some(Some(possible)) = values.get(*read as usize) else { return false };
            if cases.len() * possible.len() > MOST_CASES {
                return false;
            }
            cases = (cases.iter())
                .flat_map(|case| possible.iter().map(move |value| [&case[..], &[*value]].concat()))
                .collect();
        }
        cases.iter().all(|case| {
            let read = |question: QuestionId| reads.iter().position(|own| *own == question).map_or(0, |at| case[at]);
            self.flags_of.symbols.value(decision.node, &read) == Some(decision.value)
        })
    }

    /// Nobody can go on: whether a lane that waits with a question may ask it.
    pub(super) fn answer_questions(&mut self) -> bool {
        if !self.flags_of.on {
            return false;
        }
        self.part_questions();
        let mut last_resort = None;
        for warp in 0..self.warps.len() {
            for index in 0..self.warps[warp].fragments.len() {
                let fragment = &self.warps[warp].fragments[index];
                if fragment.blocked != Some(Block::Question) {
                    continue;
                }
                if limits::is_over() {
                    self.end_by_limit();
                    return false;
                }
                match self.try_question(warp, index) {
                    Answer::Goes => return true,
                    Answer::Unclear => last_resort = last_resort.or(Some((warp, index))),
                    Answer::Waits => {}
                }
                if self.stopped {
                    return false;
                }
            }
        }
        match last_resort {
            // Whoever takes a turn first may make it clear.
            Some(_) if self.take_turn() => true,
            Some((warp, index)) => {
                if !self.options.turns.places.is_empty() {
                    self.doubt(Doubt::Flags { pc: self.warps[warp].fragments[index].pc });
                }
                self.admit(warp, index);
                true
            }
            None => false,
        }
    }

    /// Each lane asks for itself.
    fn part_questions(&mut self) {
        for warp in &mut self.warps {
            let mut parted = Vec::with_capacity(warp.fragments.len());
            for fragment in warp.fragments.drain(..) {
                if fragment.blocked == Some(Block::Question) && fragment.mask.count_ones() > 1 {
                    parted.extend(
                        lanes(fragment.mask).map(|lane| super::warp::Fragment { mask: 1 << lane, ..fragment.clone() }),
                    );
                } else {
                    parted.push(fragment);
                }
            }
            warp.fragments = parted;
        }
    }

    fn admit(&mut self, warp: usize, index: usize) {
        let fragment = &mut self.warps[warp].fragments[index];
        fragment.blocked = None;
        let mask = fragment.mask;
        self.warps[warp].admitted |= mask;
    }

    /// Whether the lane goes on with what memory holds. Every value that it might be given is tried in a ghost.
    fn try_question(&mut self, warp: usize, index: usize) -> Answer {
        let fragment = self.warps[warp].fragments[index].clone();
        let lane = fragment.mask.trailing_zeros();
        let code = Rc::clone(&self.code);
        let crate::code::op::Op::Load(access, _) = &code[fragment.pc as usize].op else { return Answer::Unclear };
        let Some(place) = self.asked_place(warp, lane, access) else { return Answer::Unclear };
        let Some((_, log)) = self.flags_of.logs.get(&(place.0, place.1)) else { return Answer::Unclear };
        let key = (warp as u32, lane);
        let count = log.writes.len();
        let pending = (fragment.pc, place, count);
        let asker = self.flags_of.askers.get(&key);
        if asker.is_some_and(|own| own.pending == Some(pending)) {
            return Answer::Waits;
        }
        // A ghost would come to the same end. (Each lane that goes on would have all others tried again.)
        if let Some(before) = asker.and_then(|own| own.halted.as_ref())
            && (before.asked, before.moved) == (pending, self.moved(warp, before.stuck))
        {
            return Answer::Unclear;
        }
        let now = self.memory.read(At::Memory(place.0, place.1), access.ty.bytes(), 0);
        let mut question = self.new_question(warp, fragment.pc, lane, access, place, now);
        // The instruction that asks has not been counted yet.
        question.time += 1;
        let Some((found, _)) = log.possible(&question) else { return Answer::Unclear };
        let mut values: SortedSet<u64> = found.states.iter().map(|state| state.value).collect();
        values.insert(now);
        let (again, stuck) = self.try_values(warp, index, lane, now, &values);
        let moved = self.moved(warp, stuck);
        let asker = self.flags_of.askers.entry(key).or_default();
        let waits = again.contains(&now);
        asker.pending = waits.then_some(pending);
        if waits {
            return Answer::Waits;
        }
        asker.again = again;
        if stuck != Stuck::Nowhere {
            asker.halted = Some(Halted { asked: pending, stuck, moved });
            return Answer::Unclear;
        }
        self.admit(warp, index);
        Answer::Goes
    }

    /// Changes when somebody has moved who may free the lanes of this warp, or written what they read.
    fn moved(&self, warp: usize, stuck: Stuck) -> (u64, u64) {
        let moves = &self.flags_of.moves;
        let moved = match stuck {
            Stuck::UntilCtaMoves => {
                let first = (self.warps[warp].cta * self.warps_per_cta) as usize;
                moves[first..first + self.warps_per_cta as usize].iter().sum()
            }
            _ => moves[warp],
        };
        (moved, self.memory.version)
    }
}

enum Answer {
    Goes,
    Waits,
    /// Others are not where a round would need them.
    Unclear,
}
