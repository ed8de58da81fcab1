//! A state of the SMs, and its words.

use fencepost_program::EventId;

use super::super::buffer::{Entry, Flight, Kind};
use super::super::warps::{Warp, Warps};
use super::super::{Line, PersistBuffer, Point, Scope};
use super::Multiprocessors;
use crate::pack::{Reader, Writer, bits_for, words_for};
use crate::progress::Progress;

/// The last store to a line, by its event.
pub(super) type Store = Option<EventId>;

/// A line on its way from an SM.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Departed {
    pub(super) sm: usize,
    pub(super) line: Line,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    pub(super) progress: Progress,
    /// Per location: what memory holds for all to see.
    pub(super) memory: Vec<EventId>,
    /// Per location: what a crash leaves.
    pub(super) durable: Vec<EventId>,
    pub(super) buffers: Vec<PersistBuffer<Store>>,
    /// The lines in flight by line, and those of one line oldest first. The buffers have the same order: which of two lines left
    /// first makes no difference.
    pub(super) flights: Vec<Departed>,
    /// Per thread: the ordering point of its next request is in the buffer, and the request has not taken effect.
    pub(super) pending: Vec<bool>,
}

impl State {
    pub(super) fn initial(machine: &Multiprocessors<'_>) -> State {
        let inits: Vec<EventId> = (0..machine.requests.locations.len()).map(EventId::new).collect();
        State {
            progress: machine.threads.start(),
            memory: inits.clone(),
            durable: inits,
            buffers: (0..machine.sms()).map(|_| PersistBuffer::new(machine.hardware.rules)).collect(),
            flights: Vec::new(),
            pending: vec![false; machine.seats.len()],
        }
    }
}

/// How many bits each field has.
#[derive(Default)]
pub(super) struct Layout {
    pub(super) words: u32,
    sms: Vec<BufferLayout>,
    /// A line or an ordering point.
    kind: u32,
    sm: u32,
    /// The most lines in flight.
    flights: u32,
}

#[derive(Copy, Clone, Default)]
struct BufferLayout {
    warps: u32,
    /// The most entries.
    entries: u32,
}

const POINTS: [Point; 6] = [
    Point::OFence,
    Point::DFence,
    Point::Acquire(Scope::Block),
    Point::Acquire(Scope::Device),
    Point::Release(Scope::Block),
    Point::Release(Scope::Device),
];

impl Layout {
    pub(super) fn new(machine: &Multiprocessors<'_>) -> Layout {
        let locations = machine.requests.locations.len() as u32;
        let persists = |event: EventId| u32::from(machine.is_persist(event));
        let points = |event: EventId| {
            let behind = machine.requests.request(event).persist == Some(crate::requests::PersistOperation::Acquire);
            u32::from(machine.ahead[event.index()].is_some()) + u32::from(behind)
        };
        let mut sms = vec![BufferLayout::default(); machine.sms()];
        let mut flights = 0;
        for (thread, seat) in machine.requests.threads.iter().zip(&machine.seats) {
            let sm = &mut sms[seat.sm];
            sm.warps += 1;
            sm.entries += machine.most(&thread.root, &|event| persists(event) + points(event));
            flights += machine.most(&thread.root, &persists);
        }
        let kind = bits_for(u64::from(locations) + POINTS.len() as u64 - 1);
        let mut layout = Layout { words: 0, sm: bits_for(sms.len() as u64), sms, kind, flights };
        let event = machine.threads.event_bits();
        let of_buffer = |sm: &BufferLayout| {
            3 * sm.warps + bits_for(sm.entries.into()) + sm.entries * (layout.kind + event + sm.warps)
        };
        let buffers: u32 = layout.sms.iter().map(of_buffer).sum();
        let in_flight = bits_for(flights.into()) + flights * (layout.sm + layout.kind + event);
        let rest = machine.threads.bits() + 2 * locations * event + machine.seats.len() as u32;
        layout.words = words_for(u64::from(rest + buffers + in_flight));
        layout
    }
}

fn number(store: Store) -> u64 {
    store.map_or(0, |event| u64::from(event.0) + 1)
}

fn store(number: u64) -> Store {
    number.checked_sub(1).map(|event| EventId(event as u32))
}

impl Multiprocessors<'_> {
    pub(super) fn pack_state(&self, state: &State, words: &mut [u64]) {
        let (layout, event) = (&self.layout, self.threads.event_bits());
        let mut writer = Writer::new(words);
        self.threads.pack(&state.progress, &mut writer);
        state.memory.iter().chain(&state.durable).for_each(|write| writer.put(write.0.into(), event));
        state.pending.iter().for_each(|pending| writer.put((*pending).into(), 1));
        for (buffer, sm) in state.buffers.iter().zip(&layout.sms) {
            buffer.masks().iter().for_each(|mask| writer.put(mask.0.into(), sm.warps));
            writer.put(buffer.entries().count() as u64, bits_for(sm.entries.into()));
            for entry in buffer.entries() {
                let (kind, data) = match entry.kind {
                    Kind::Persist(line, data) => (line.0 as usize, data),
                    Kind::Point(point) => {
                        let at = POINTS.iter().position(|other| *other == point).unwrap_or(0);
                        (self.requests.locations.len() + at, None)
                    }
                };
                writer.put(kind as u64, layout.kind);
                writer.put(number(data), event);
                writer.put(entry.warps.0.into(), sm.warps);
            }
        }
        writer.put(state.flights.len() as u64, bits_for(layout.flights.into()));
        let mut next = vec![0; state.buffers.len()];
        for Departed { sm, line } in &state.flights {
            let data = state.buffers[*sm].in_flight().get(next[*sm]).and_then(|flight| flight.data);
            next[*sm] += 1;
            writer.put(*sm as u64, layout.sm);
            writer.put(line.0.into(), layout.kind);
            writer.put(number(data), event);
        }
    }

    pub(super) fn unpack_state(&self, words: &[u64], state: &mut State) {
        let (layout, event) = (&self.layout, self.threads.event_bits());
        let mut reader = Reader::new(words);
        self.threads.unpack(&mut reader, &mut state.progress);
        for write in state.memory.iter_mut().chain(&mut state.durable) {
            *write = EventId(reader.take(event) as u32);
        }
        state.pending.iter_mut().for_each(|pending| *pending = reader.take(1) == 1);
        for (buffer, sm) in state.buffers.iter_mut().zip(&layout.sms) {
            for mask in [&mut buffer.order_delay, &mut buffer.eviction_delay, &mut buffer.flush_status] {
                *mask = Warps(reader.take(sm.warps) as u32);
            }
            buffer.in_flight.clear();
            buffer.entries.clear();
            for _ in 0..reader.take(bits_for(sm.entries.into())) {
                let (kind, data) = (reader.take(layout.kind) as usize, store(reader.take(event)));
                let point = kind.checked_sub(self.requests.locations.len());
                let kind = match point.and_then(|at| POINTS.get(at)) {
                    Some(point) => Kind::Point(*point),
                    None => Kind::Persist(Line(kind as u32), data),
                };
                buffer.entries.push_back(Entry { kind, warps: Warps(reader.take(sm.warps) as u32) });
            }
        }
        state.flights.clear();
        for _ in 0..reader.take(bits_for(layout.flights.into())) {
            let (sm, line) = (reader.take(layout.sm) as usize, Line(reader.take(layout.kind) as u32));
            state.buffers[sm].in_flight.push(Flight { line, data: store(reader.take(event)) });
            state.flights.push(Departed { sm, line });
        }
    }

    /// Whether a thread waits for the buffer: for something to be durable, or with an ordering point in it.
    pub(super) fn waits(&self, state: &State, thread: usize) -> bool {
        let is_stalled = self.seats.get(thread).is_some_and(|seat| state.buffers[seat.sm].is_stalled(seat.warp));
        is_stalled || state.pending.get(thread).is_some_and(|pending| *pending)
    }

    pub(super) fn is_delayed(&self, state: &State, sm: usize, warp: Warp) -> bool {
        state.buffers[sm].eviction_delay.contains(warp)
    }
}
