//! Caches, buffers, directory: the state of the protocol.

use fencepost_program::{EventId, LocationId};

use crate::coherence::{Coherence, Seat};
use crate::pack::{Reader, Writer, bits_for, words_for};
use crate::progress::Progress;

/// A line of a coherent cache, with the write it holds.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Line {
    Invalid,
    Shared(EventId),
    Modified(EventId),
}

impl Line {
    pub(super) fn write(self) -> Option<EventId> {
        match self {
            Line::Invalid => None,
            Line::Shared(write) | Line::Modified(write) => Some(write),
        }
    }
}

/// A line of an L1.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum L1Line {
    Absent,
    Clean(EventId),
    Dirty(EventId),
}

impl L1Line {
    pub(super) fn write(self) -> Option<EventId> {
        match self {
            L1Line::Absent => None,
            L1Line::Clean(write) | L1Line::Dirty(write) => Some(write),
        }
    }

    pub(super) fn is_dirty(self) -> bool {
        matches!(self, L1Line::Dirty(_))
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    pub(super) progress: Progress,
    /// Per thread on a core: how many of its stores have left its buffer.
    pub(super) drained: Vec<u32>,
    /// Per agent and location.
    lines: Vec<Line>,
    /// Per multiprocessor and location.
    l1s: Vec<L1Line>,
    /// Per location: what memory holds, unless an agent has modified it.
    pub(super) memory: Vec<EventId>,
    /// Per location: the agent that asks for ownership.
    pub(super) asking: Vec<Option<u32>>,
    /// Per location: agents with an invalidation under way.
    pub(super) pending: Vec<u64>,
}

impl State {
    pub(super) fn initial(machine: &Coherence<'_>) -> State {
        let locations = machine.requests.locations.len();
        State {
            progress: machine.threads.start(),
            drained: vec![0; machine.requests.threads.len()],
            lines: vec![Line::Invalid; machine.agents.len() * locations],
            l1s: vec![L1Line::Absent; machine.multiprocessors.len() * locations],
            memory: (0..locations).map(EventId::new).collect(),
            asking: vec![None; locations],
            pending: vec![0; locations],
        }
    }

    pub(super) fn line(&self, agent: usize, location: LocationId) -> Line {
        self.lines[agent * self.memory.len() + location.index()]
    }

    pub(super) fn set_line(&mut self, agent: usize, location: LocationId, line: Line) {
        let at = agent * self.memory.len() + location.index();
        self.lines[at] = line;
    }

    pub(super) fn l1(&self, multiprocessor: usize, location: LocationId) -> L1Line {
        self.l1s[multiprocessor * self.memory.len() + location.index()]
    }

    pub(super) fn set_l1(&mut self, multiprocessor: usize, location: LocationId, line: L1Line) {
        let at = multiprocessor * self.memory.len() + location.index();
        self.l1s[at] = line;
    }

    pub(super) fn is_pending(&self, agent: usize, location: LocationId) -> bool {
        self.pending[location.index()] >> agent & 1 == 1
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) words: u32,
    agents: u32,
    asking: u32,
    event: u32,
    /// Per thread: bits for the number of drained stores, 0 off the cores.
    drained: Vec<u32>,
}

impl Layout {
    pub(super) fn new(machine: &Coherence<'_>) -> Layout {
        let drained = |(thread, seat): (usize, &Seat)| match seat {
            Seat::Core(_) => bits_for(machine.threads.most_stores(thread).into()),
            Seat::Multiprocessor(_) => 0,
        };
        let agents = machine.agents.len() as u32;
        let mut layout = Layout {
            words: 0,
            agents,
            asking: bits_for(agents.into()),
            event: machine.threads.event_bits(),
            drained: machine.seats.iter().enumerate().map(drained).collect(),
        };
        let locations = machine.requests.locations.len() as u32;
        let caches = agents + machine.multiprocessors.len() as u32;
        let bits = machine.threads.bits()
            + layout.drained.iter().sum::<u32>()
            + locations * (caches * (2 + layout.event) + layout.event + layout.asking + agents);
        layout.words = words_for(bits.into());
        layout
    }
}

impl Coherence<'_> {
    pub(super) fn pack_state(&self, state: &State, words: &mut [u64]) {
        let layout = &self.layout;
        let mut writer = Writer::new(words);
        self.threads.pack(&state.progress, &mut writer);
        state.drained.iter().zip(&layout.drained).for_each(|(drained, bits)| writer.put((*drained).into(), *bits));
        for line in &state.lines {
            let (kind, write) = match line {
                Line::Invalid => (0, 0),
                Line::Shared(write) => (1, write.0),
                Line::Modified(write) => (2, write.0),
            };
            writer.put(kind, 2);
            writer.put(write.into(), layout.event);
        }
        for line in &state.l1s {
            let (kind, write) = match line {
                L1Line::Absent => (0, 0),
                L1Line::Clean(write) => (1, write.0),
                L1Line::Dirty(write) => (2, write.0),
            };
            writer.put(kind, 2);
            writer.put(write.into(), layout.event);
        }
        for (at, write) in state.memory.iter().enumerate() {
            writer.put(write.0.into(), layout.event);
            writer.put(state.asking[at].map_or(0, |agent| u64::from(agent) + 1), layout.asking);
            writer.put(state.pending[at], layout.agents);
        }
    }

    pub(super) fn unpack_state(&self, words: &[u64], state: &mut State) {
        let layout = &self.layout;
        let mut reader = Reader::new(words);
        self.threads.unpack(&mut reader, &mut state.progress);
        state.drained.iter_mut().zip(&layout.drained).for_each(|(it, bits)| *it = reader.take(*bits) as u32);
        for line in &mut state.lines {
            let kind = reader.take(2);
            let write = EventId(reader.take(layout.event) as u32);
            *line = match kind {
                0 => Line::Invalid,
                1 => Line::Shared(write),
                _ => Line::Modified(write),
            };
        }
        for line in &mut state.l1s {
            let kind = reader.take(2);
            let write = EventId(reader.take(layout.event) as u32);
            *line = match kind {
                0 => L1Line::Absent,
                1 => L1Line::Clean(write),
                _ => L1Line::Dirty(write),
            };
        }
        for at in 0..state.memory.len() {
            state.memory[at] = EventId(reader.take(layout.event) as u32);
            state.asking[at] = (reader.take(layout.asking) as u32).checked_sub(1);
            state.pending[at] = reader.take(layout.agents);
        }
    }
}
