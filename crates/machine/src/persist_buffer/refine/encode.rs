//! States as words, with canonical names: of all ways to name the warps of an SM, the one with the smallest words.
//!
//! Persists are numbered by their place in the buffers, lines by their first appearance. The lines of different SMs have
//! nothing to do with each other: two persists to one line from two SMs are ordered by arrival, and neither the buffers nor the
//! monitor compare them.

use fencepost_syntax::sorted::SharedSort as _;

use super::monitor::{Persist, Persists};
use super::state::{Sm, State};
use super::{OPERATIONS, PERSISTS, Question, Search, Sms, WARPS};
use crate::pack::{Reader, Writer, words_for};
use crate::persist_buffer::buffer::{Entry, Flight, Kind, Line, Point, Scope};
use crate::persist_buffer::warps::Warps;

/// The most words of a state.
const WORDS: usize = 6;

const POINTS: [Point; 6] = [
    Point::OFence,
    Point::DFence,
    Point::Acquire(Scope::Block),
    Point::Acquire(Scope::Device),
    Point::Release(Scope::Block),
    Point::Release(Scope::Device),
];

const COUNT_BITS: u32 = 4;
const KIND_BITS: u32 = 3;
const LINE_BITS: u32 = 3;
const MASK_BITS: u32 = WARPS as u32;

/// The line of what is in flight in the reduced search, which forgets it.
const NO_LINE: Line = Line(31);

/// How many words a state has.
pub(super) fn words(question: &Question) -> u32 {
    let operations = u32::from(question.operations);
    let sms = if question.sms == Sms::One { 1 } else { 2 };
    let persists = match question.search {
        Search::Full => operations,
        Search::Reduced => operations.min(sms * (u32::from(question.lines) + 1)),
    };
    let lines = if question.search == Search::Full { persists * LINE_BITS } else { 0 };
    let queues = sms * 2 * COUNT_BITS + operations * (KIND_BITS + MASK_BITS) + lines;
    let warp = 3 + KIND_BITS + 2 * persists + sms * (1 + persists);
    words_for(u64::from(queues + persists * persists + WARPS as u32 * warp + COUNT_BITS + 1))
}

/// New names.
#[derive(Copy, Clone)]
pub(super) struct Names {
    /// Per new name of a warp the old one.
    old_warps: [u8; WARPS],
    /// Per persist its new number, and how many there are.
    numbers: [u8; PERSISTS],
    persists: u32,
    /// Per SM, per new name of a line the old one, and how many there are.
    old_lines: [[Line; PERSISTS]; 2],
    lines: [usize; 2],
}

impl Names {
    fn new(old_warps: [u8; WARPS]) -> Names {
        Names { old_warps, numbers: [0; PERSISTS], persists: 0, old_lines: [[NO_LINE; PERSISTS]; 2], lines: [0; 2] }
    }

    /// Per new name of a warp the old one.
    pub(super) fn old_warps(&self) -> [u8; WARPS] {
        self.old_warps
    }

    /// The same of the lines of an SM.
    pub(super) fn old_lines(&self, sm: Sm) -> &[Line] {
        let at = usize::from(sm.0);
        &self.old_lines[at][..self.lines[at]]
    }

    fn mask(&self, warps: Warps) -> u64 {
        let new = self.old_warps.iter().enumerate().map(|(new, old)| u64::from(warps.0 >> old & 1) << new);
        new.fold(0, |mask, bit| mask | bit)
    }

    fn set(&self, persists: Persists) -> u64 {
        persists.iter().fold(0, |set, persist| set | 1 << self.numbers[usize::from(persist.0)])
    }

    fn number(&mut self, persist: Persist) {
        self.numbers[usize::from(persist.0)] = self.persists as u8;
        self.persists += 1;
    }

    fn line(&mut self, sm: Sm, line: Line) -> u64 {
        let at = usize::from(sm.0);
        let known = self.lines[at];
        let place = self.old_lines[at][..known].iter().position(|it| *it == line).unwrap_or_else(|| {
            self.old_lines[at][known] = line;
            self.lines[at] += 1;
            known
        });
        place as u64
    }
}

/// The ways to name the warps such that each stays in its SM.
fn renamings(question: &Question) -> &'static [[u8; WARPS]] {
    const ALL: [[u8; WARPS]; 6] = [[0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1]];
    match alike(question) {
        0 | 1 => &ALL[..1],
        2 => &ALL[..2],
        _ => &ALL,
    }
}

/// How many warps can change names: those of the first SM.
fn alike(question: &Question) -> usize {
    usize::from(question.warps - u8::from(question.sms == Sms::Two))
}

/// Something about a warp that does not depend on names: warps are named in its order, so that few namings are left to try.
fn fingerprint(state: &State, warp: usize) -> u64 {
    let monitor = &state.monitor;
    let buffer = &state.buffers[0];
    let size = |set: Persists| u64::from(set.0.count_ones());
    let status = buffer.masks().iter().fold(0, |bits, mask| bits << 1 | u64::from(mask.0 >> warp & 1));
    let mut key = status << 4 | state.waiting[warp].map_or(0, |point| 1 + code(point));
    key = key << 8 | size(monitor.before[warp]) << 4 | size(monitor.issued[warp]);
    // Persists between two ordering points are counted, because the reduced search does not know their order.
    let mut persists = 0;
    for entry in &buffer.entries {
        let bit = u64::from(entry.warps.0 >> warp & 1);
        if entry.line().is_some() {
            persists += bit;
        } else {
            key = key << 4 | persists << 1 | bit;
            persists = 0;
        }
    }
    key << 4 | persists
}

/// Packs the state under its canonical names, and tells them.
pub(super) fn pack(question: &Question, state: &State, words: &mut [u64]) -> Names {
    let alike = alike(question);
    let mut keys = [0; WARPS];
    (0..alike).for_each(|warp| keys[warp] = fingerprint(state, warp));
    let is_sorted = |old: &&[u8; WARPS]| old[..alike].is_sorted_by_key(|warp| keys[usize::from(*warp)]);
    let mut all = renamings(question).iter().filter(is_sorted);
    let first = all.next().copied().unwrap_or_default();
    let mut best = write(question, state, first, words);
    let mut scratch = [0u64; WORDS];
    let scratch = &mut scratch[..words.len()];
    for old_warps in all {
        let names = write(question, state, *old_warps, scratch);
        if *scratch < *words {
            words.copy_from_slice(scratch);
            best = names;
        }
    }
    best
}

fn write(question: &Question, state: &State, old_warps: [u8; WARPS], words: &mut [u64]) -> Names {
    let mut names = Names::new(old_warps);
    let mut out = Writer::new(words);
    for sm in question.all_sms() {
        write_queues(question, state, sm, &mut names, &mut out);
    }
    let mut by_number = [Persists::NONE; PERSISTS];
    for (old, new) in names.numbers.iter().enumerate() {
        by_number[usize::from(*new)].add(state.monitor.preceding[old]);
    }
    let count = names.persists;
    by_number[..count as usize].iter().for_each(|set| out.put(names.set(*set), count));
    for old in names.old_warps.map(usize::from) {
        let buffer = state.buffer(question.sm(crate::persist_buffer::Warp(old as u8)));
        for mask in buffer.masks() {
            out.put(u64::from(mask.0 >> old & 1), 1);
        }
        out.put(state.waiting[old].map_or(0, |point| 1 + code(point)), KIND_BITS);
        out.put(names.set(state.monitor.before[old]), count);
        out.put(names.set(state.monitor.issued[old]), count);
    }
    write_releases(question, state, &names, &mut out);
    out.put(state.written.into(), COUNT_BITS);
    out.put(state.is_released.into(), 1);
    names
}

fn code(point: Point) -> u64 {
    POINTS.iter().position(|it| *it == point).map_or(0, |at| at as u64)
}

/// Without names in the reduced search: a release is what it says and who may read it.
fn write_releases(question: &Question, state: &State, names: &Names, out: &mut Writer<'_>) {
    let count = names.persists;
    let mut put = |sets: &[Option<Persists>; WARPS]| {
        let mut sets = names.old_warps.map(|old| sets[usize::from(old)].map_or(0, |set| names.set(set) << 1 | 1));
        if question.search == Search::Reduced {
            sets[..alike(question)].shared_sort();
        }
        sets.iter().for_each(|set| out.put(*set, count + 1));
    };
    put(&state.monitor.released);
    if question.sms == Sms::Two {
        put(&state.monitor.released_to_device);
    }
}

fn write_queues(question: &Question, state: &State, sm: Sm, names: &mut Names, out: &mut Writer<'_>) {
    let buffer = state.buffer(sm);
    let mut order = [0u8; 2 * OPERATIONS];
    let order = &mut order[..buffer.entries.len()];
    order.iter_mut().enumerate().for_each(|(at, place)| *place = at as u8);
    let is_reduced = question.search == Search::Reduced;
    if is_reduced {
        sort_segments(state, sm, names, order);
    }
    out.put(order.len() as u64, COUNT_BITS);
    for at in order.iter() {
        let entry = &buffer.entries[usize::from(*at)];
        match entry.kind {
            Kind::Persist(line, persist) => {
                names.number(persist);
                out.put(0, KIND_BITS);
                let line = names.line(sm, line);
                if !is_reduced {
                    out.put(line, LINE_BITS);
                }
            }
            Kind::Point(point) => out.put(1 + code(point), KIND_BITS),
        }
        out.put(names.mask(entry.warps), MASK_BITS);
    }
    if is_reduced {
        out.put(u64::from(!buffer.in_flight.is_empty()), COUNT_BITS);
        buffer.in_flight.first().into_iter().for_each(|flight| names.number(flight.data));
        return;
    }
    out.put(buffer.in_flight.len() as u64, COUNT_BITS);
    let mut flights = [0u8; OPERATIONS];
    let flights = &mut flights[..buffer.in_flight.len()];
    sort_flights(state, sm, names, flights);
    for flight in flights.iter().map(|at| &buffer.in_flight[usize::from(*at)]) {
        names.number(flight.data);
        out.put(names.line(sm, flight.line), LINE_BITS);
    }
}

/// Sorts what is in flight: line by line, the flights of a line by age.
fn sort_flights(state: &State, sm: Sm, names: &Names, order: &mut [u8]) {
    let flights = &state.buffer(sm).in_flight;
    let entries = &state.buffer(sm).entries;
    let key = |at: u8| {
        let line = flights[usize::from(at)].line;
        let own = |other: &usize| flights[*other].line == line;
        let first = (0..flights.len()).find(own).unwrap_or_default();
        let last = (0..flights.len()).rfind(own).unwrap_or_default();
        let known = [first, last].map(|other| columns(state, names, flights[other].data));
        let count = (0..flights.len()).filter(own).count();
        (entries.iter().position(|entry| entry.line() == Some(line)), count, known, first, at)
    };
    order.iter_mut().enumerate().for_each(|(at, place)| *place = at as u8);
    if order.len() > 1 {
        order.shared_sort_by_key(|at| key(*at));
    }
}

/// What is known of a persist whatever the numbers of persists: which sets have it, and what it comes after.
fn columns(state: &State, names: &Names, persist: Persist) -> (u64, u64) {
    let monitor = &state.monitor;
    let is_in = |set: &Persists| u64::from(set.contains(persist));
    let warps = names.old_warps.iter().map(|old| usize::from(*old));
    let known = warps.fold(0, |key, old| key << 2 | is_in(&monitor.before[old]) << 1 | is_in(&monitor.issued[old]));
    let released = monitor.released.iter().chain(&monitor.released_to_device).flatten();
    let counts = monitor.preceding.iter().map(is_in).sum::<u64>() << 16
        | released.map(is_in).sum::<u64>() << 8
        | u64::from(monitor.preceding[usize::from(persist.0)].0.count_ones());
    (known, counts)
}

/// Sorts the persists between two ordering points by what is known of them whatever their numbers.
fn sort_segments(state: &State, sm: Sm, names: &Names, order: &mut [u8]) {
    let entries = &state.buffer(sm).entries;
    let key = |at: &u8| {
        let entry = &entries[usize::from(*at)];
        match entry.kind {
            Kind::Point(_) => (0, (0, 0)),
            Kind::Persist(_, persist) => (names.mask(entry.warps), columns(state, names, persist)),
        }
    };
    let mut first = 0;
    while first < order.len() {
        let is_persist = |at: &u8| entries[usize::from(*at)].line().is_some();
        let length = order[first..].iter().take_while(|at| is_persist(at)).count();
        if length > 1 {
            order[first..first + length].shared_sort_by_key(key);
        }
        first += length + 1;
    }
}

pub(super) fn unpack(question: &Question, words: &[u64], state: &mut State) {
    let mut from = Reader::new(words);
    let mut persists = 0u8;
    for sm in question.all_sms() {
        read_queues(question, state, sm, &mut persists, &mut from);
    }
    let count = u32::from(persists);
    let set = |from: &mut Reader<'_>| Persists(from.take(count) as u16);
    state.monitor.preceding = [Persists::NONE; PERSISTS];
    state.monitor.preceding[..usize::from(persists)].iter_mut().for_each(|preceding| *preceding = set(&mut from));
    for sm in question.all_sms() {
        let buffer = state.buffer_mut(sm);
        [buffer.order_delay, buffer.eviction_delay, buffer.flush_status] = [Warps::NONE; 3];
    }
    for warp in 0..WARPS {
        let masks: [u64; 3] = std::array::from_fn(|_| from.take(1));
        let sm = question.sm(crate::persist_buffer::Warp(warp as u8));
        let buffer = state.buffer_mut(sm);
        buffer.order_delay.0 |= (masks[0] as u32) << warp;
        buffer.eviction_delay.0 |= (masks[1] as u32) << warp;
        buffer.flush_status.0 |= (masks[2] as u32) << warp;
        state.waiting[warp] = from.take(KIND_BITS).checked_sub(1).map(|code| POINTS[code as usize]);
        state.monitor.before[warp] = set(&mut from);
        state.monitor.issued[warp] = set(&mut from);
    }
    let mut release = || {
        let is_there = from.take(1) == 1;
        Some(Persists(from.take(count) as u16)).filter(|_| is_there)
    };
    state.monitor.released.iter_mut().for_each(|it| *it = release());
    if question.sms == Sms::Two {
        state.monitor.released_to_device.iter_mut().for_each(|it| *it = release());
    }
    state.written = from.take(COUNT_BITS) as u8;
    state.is_released = from.take(1) == 1;
}

fn read_queues(question: &Question, state: &mut State, sm: Sm, persists: &mut u8, from: &mut Reader<'_>) {
    let is_reduced = question.search == Search::Reduced;
    let buffer = state.buffer_mut(sm);
    let mut next = || {
        *persists += 1;
        Persist(*persists - 1)
    };
    buffer.entries.clear();
    let mut lines = 0;
    for _ in 0..from.take(COUNT_BITS) {
        let kind = match from.take(KIND_BITS) {
            0 => {
                let line = if is_reduced { lines } else { from.take(LINE_BITS) as u32 };
                lines += 1;
                Kind::Persist(Line(line), next())
            }
            code => Kind::Point(POINTS[code as usize - 1]),
        };
        buffer.entries.push_back(Entry { kind, warps: Warps(from.take(MASK_BITS) as u32) });
    }
    buffer.in_flight.clear();
    for _ in 0..from.take(COUNT_BITS) {
        let line = if is_reduced { NO_LINE } else { Line(from.take(LINE_BITS) as u32) };
        buffer.in_flight.push(Flight { line, data: next() });
    }
}

#[cfg(test)]
mod tests {
    use super::{pack, unpack, words};
    use crate::persist_buffer::refine::random::Random;
    use crate::persist_buffer::refine::state::{State, Step};
    use crate::persist_buffer::refine::{Question, Scopes, Search, Sms};
    use crate::persist_buffer::rules::Merge;

    fn packed(question: &Question, state: &State) -> Vec<u64> {
        let mut packed = vec![0; words(question) as usize];
        pack(question, state, &mut packed);
        packed
    }

    fn successors(question: &Question, state: &State) -> Vec<Option<Vec<u64>>> {
        let mut steps = Vec::new();
        question.hardware_steps(state, &mut steps);
        question.operations(state, &mut steps);
        let after = |step: Step| {
            let mut after = state.clone();
            question.take(&mut after, step).ok().map(|()| packed(question, &after))
        };
        let mut all: Vec<_> = steps.into_iter().map(after).collect();
        all.sort();
        all
    }

    /// A state that is packed and unpacked again can do the same, up to names.
    #[test]
    fn a_packed_state_does_what_the_state_does() {
        let mut random = Random(11);
        let block = Question::new(Merge::Paper, 8);
        let device = Question { sms: Sms::Two, scopes: Scopes::BlockAndDevice, ..block };
        for run in 0..1000 {
            let mut question = if run % 2 == 0 { block } else { device };
            question.search = if run % 4 < 2 { Search::Full } else { Search::Reduced };
            let mut state = question.initial();
            let mut operations = 0;
            while operations < 7 {
                let mut steps = Vec::new();
                question.hardware_steps(&state, &mut steps);
                if steps.is_empty() || random.below(3) > 0 {
                    let hardware = steps.len();
                    question.operations(&state, &mut steps);
                    steps.drain(..if steps.len() > hardware { hardware } else { 0 });
                    operations += 1;
                }
                let step = steps[random.below(steps.len())];
                question.take(&mut state, step).expect("the paper's buffer breaks nothing");
                let mut again = question.initial();
                unpack(&question, &packed(&question, &state), &mut again);
                assert_eq!(successors(&question, &again), successors(&question, &state), "{state:?}");
            }
        }
    }
}
