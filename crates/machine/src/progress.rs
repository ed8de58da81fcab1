//! How far threads have come, for machines that execute instructions in order: the last one of each thread, and which
//! write each read has seen.

use fencepost_program::program::Unsupported;
use fencepost_program::{EventId, ThreadId};
use fencepost_syntax::sorted::SharedSort as _;

use crate::pack::{Reader, Writer, bits_for};
use crate::requests::{Architecture, AtomicHalf, Requests, Sources, Walk};

/// The static part.
pub(crate) struct Threads<'a> {
    pub(crate) requests: &'a Requests,
    parent: Vec<Option<EventId>>,
    /// Bits for an event id plus one.
    event: u32,
    /// Slots that may hold a read.
    reads: Vec<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Progress {
    last: Vec<Option<EventId>>,
    /// Per slot.
    source: Vec<Option<EventId>>,
    /// Per event, its slot: shared by all states.
    slots: std::sync::Arc<[u8]>,
}

impl Sources for Progress {
    /// Asked only for reads of the branch that was taken, so that the slot is the read's own.
    fn source(&self, read: EventId) -> Option<EventId> {
        self.source[usize::from(self.slots[read.index()])]
    }

    fn last(&self, thread: ThreadId) -> Option<EventId> {
        self.last[thread.index()]
    }
}

impl<'a> Threads<'a> {
    pub(crate) fn new(requests: &'a Requests) -> Threads<'a> {
        let parent = requests.parents();
        let mut reads: Vec<u32> =
            requests.requests.iter().filter(|it| it.is_read()).map(|it| it.slot.0.into()).collect();
        reads.shared_sort();
        reads.dedup();
        Threads { requests, parent, event: bits_for(requests.requests.len() as u64), reads }
    }

    pub(crate) fn start(&self) -> Progress {
        Progress {
            last: vec![None; self.requests.threads.len()],
            source: vec![None; self.requests.slots as usize],
            slots: self.requests.requests.iter().map(|request| request.slot.0).collect(),
        }
    }

    pub(crate) fn bits(&self) -> u32 {
        (self.requests.threads.len() + self.reads.len()) as u32 * self.event
    }

    /// Bits for an event or none.
    pub(crate) fn event_bits(&self) -> u32 {
        self.event
    }

    pub(crate) fn pack(&self, progress: &Progress, writer: &mut Writer<'_>) {
        progress.last.iter().for_each(|last| writer.put(number(*last), self.event));
        self.reads.iter().for_each(|slot| writer.put(number(progress.source[*slot as usize]), self.event));
    }

    pub(crate) fn unpack(&self, reader: &mut Reader<'_>, progress: &mut Progress) {
        progress.last.iter_mut().for_each(|last| *last = event(reader.take(self.event)));
        self.reads.iter().for_each(|slot| progress.source[*slot as usize] = event(reader.take(self.event)));
    }

    /// What a thread does next; at most one thing, or several if the program forks without a reason.
    pub(crate) fn next(&self, progress: &Progress, thread: usize) -> Vec<EventId> {
        Walk::new(self.requests, progress).next(ThreadId::new(thread)).collect()
    }

    pub(crate) fn read(&self, progress: &mut Progress, read: EventId, write: EventId) {
        progress.source[self.requests.request(read).slot.index()] = Some(write);
        self.advance(progress, read);
    }

    pub(crate) fn advance(&self, progress: &mut Progress, event: EventId) {
        if let Some(thread) = self.requests.request(event).thread {
            progress.last[thread.index()] = Some(event);
        }
    }

    /// The write of the read-modify-write that the thread has just read for, if it writes.
    pub(crate) fn atomic_write(&self, progress: &Progress, read: EventId) -> Option<EventId> {
        let thread = self.requests.request(read).thread?;
        let is_half = |event: &EventId| self.requests.request(*event).atomic == Some(AtomicHalf::Write(read));
        self.next(progress, thread.index()).into_iter().find(is_half)
    }

    /// The ordinary writes a thread has executed, in order: what went through its store buffer.
    pub(crate) fn stores(&self, progress: &Progress, thread: usize) -> Vec<EventId> {
        let back = std::iter::successors(progress.last[thread], |event| self.parent[event.index()]);
        let is_store = |event: &EventId| {
            let request = self.requests.request(*event);
            request.is_write() && request.atomic.is_none()
        };
        let mut stores: Vec<EventId> = back.filter(is_store).collect();
        stores.reverse();
        stores
    }

    /// The most ordinary writes a thread can execute.
    pub(crate) fn most_stores(&self, thread: usize) -> u32 {
        self.requests.threads[thread].length
    }

    /// Refuses threads of other architectures than these.
    pub(crate) fn only(&self, architectures: &[Architecture], machine: &str) -> Result<(), Unsupported> {
        let stranger = |architecture: &Architecture| !architectures.contains(architecture);
        let architectures = self.requests.threads.iter().map(|thread| thread.architecture);
        match architectures.enumerate().find(|(_, architecture)| stranger(architecture)) {
            None => Ok(()),
            Some((thread, architecture)) => {
                let what = format!("{} threads on {machine}", architecture.name());
                Err(Unsupported { span: self.requests.start(ThreadId::new(thread)), what })
            }
        }
    }
}

fn number(event: Option<EventId>) -> u64 {
    event.map_or(0, |event| u64::from(event.0) + 1)
}

fn event(number: u64) -> Option<EventId> {
    number.checked_sub(1).map(|event| EventId(event as u32))
}
