//! x86-TSO as its inventors drew it: one memory, and per thread a first-in-first-out buffer of stores.
//!
//! Source: Owens, Sarkar, Sewell, "A better x86 memory model: x86-TSO" (2009), the abstract machine of section 3. A load
//! takes its value from the newest buffered store of its own thread to the address, else from memory. A buffered store
//! goes to memory at any time, oldest first. MFENCE waits until the buffer is empty. A locked instruction waits for that
//! too, and then reads and writes memory in one step; nobody else can take the lock in between, because there is no
//! in-between. SFENCE and LFENCE do nothing for ordinary memory.
//!
//! Written apart from LOST-POP on purpose: it shares the walk over the program and nothing of the semantics, and the two
//! are compared.

use fencepost_program::program::{Term, Unsupported};
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId, ThreadId};

use crate::machine::{Ending, Machine, Stuck};
use crate::pack::{Reader, Writer, bits_for, words_for};
use crate::progress::{Progress, Threads};
use crate::requests::{Architecture, RequestKind, Requests, Semantics, Walk};

pub struct StoreBuffers<'a> {
    threads: Threads<'a>,
    requests: &'a Requests,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    progress: Progress,
    /// Per thread: how many of its stores have reached memory. The buffer holds the others.
    flushed: Vec<u32>,
    /// Per location: the write memory holds.
    memory: Vec<EventId>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Step {
    Execute(EventId),
    /// The oldest store in the thread's buffer goes to memory.
    Flush(u32),
}

impl<'a> StoreBuffers<'a> {
    pub fn new(requests: &'a Requests) -> Result<StoreBuffers<'a>, Unsupported> {
        let threads = Threads::new(requests);
        threads.only(&[Architecture::X86], "the store-buffer machine")?;
        Ok(StoreBuffers { threads, requests })
    }

    fn buffer(&self, state: &State, thread: usize) -> Vec<EventId> {
        self.threads.stores(&state.progress, thread).split_off(state.flushed[thread] as usize)
    }

    fn can_execute(&self, state: &State, event: EventId) -> bool {
        let request = self.requests.request(event);
        let needs_empty = request.atomic.is_some() || (request.is_fence() && request.semantics == Semantics::Sc);
        !needs_empty || self.buffer(state, self.requests.owner(event)).is_empty()
    }

    fn execute(&self, state: &mut State, event: EventId) {
        let request = self.requests.request(event);
        match request.kind {
            RequestKind::Read { location } => {
                let is_here = |store: &EventId| self.requests.request(*store).location() == Some(location);
                let buffered = self.buffer(state, self.requests.owner(event)).into_iter().rev().find(is_here);
                let source = buffered.unwrap_or(state.memory[location.index()]);
                self.threads.read(&mut state.progress, event, source);
                if request.atomic.is_some()
                    && let Some(write) = self.threads.atomic_write(&state.progress, event)
                {
                    state.memory[location.index()] = write;
                    self.threads.advance(&mut state.progress, write);
                }
            }
            RequestKind::Write { .. } | RequestKind::Fence => self.threads.advance(&mut state.progress, event),
        }
    }

    fn walk<'s>(&'s self, state: &'s State) -> Walk<'s, Progress> {
        Walk::new(self.requests, &state.progress)
    }
}

impl Machine for StoreBuffers<'_> {
    type State = State;
    type Step = Step;

    fn initial(&self) -> State {
        State {
            progress: self.threads.start(),
            flushed: vec![0; self.requests.threads.len()],
            memory: (0..self.requests.locations.len()).map(EventId::new).collect(),
        }
    }

    fn words(&self) -> u32 {
        let flushed: u32 =
            (0..self.requests.threads.len()).map(|it| bits_for(self.threads.most_stores(it).into())).sum();
        let memory = self.requests.locations.len() as u32 * self.threads.event_bits();
        words_for(u64::from(self.threads.bits() + flushed + memory))
    }

    fn pack(&self, state: &State, words: &mut [u64]) {
        let mut writer = Writer::new(words);
        self.threads.pack(&state.progress, &mut writer);
        for (thread, flushed) in state.flushed.iter().enumerate() {
            writer.put((*flushed).into(), bits_for(self.threads.most_stores(thread).into()));
        }
        state.memory.iter().for_each(|write| writer.put(write.0.into(), self.threads.event_bits()));
    }

    fn unpack(&self, words: &[u64], state: &mut State) {
        let mut reader = Reader::new(words);
        self.threads.unpack(&mut reader, &mut state.progress);
        for (thread, flushed) in state.flushed.iter_mut().enumerate() {
            *flushed = reader.take(bits_for(self.threads.most_stores(thread).into())) as u32;
        }
        state.memory.iter_mut().for_each(|write| *write = EventId(reader.take(self.threads.event_bits()) as u32));
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        for thread in 0..self.requests.threads.len() {
            let next = self.threads.next(&state.progress, thread).into_iter();
            steps.extend(next.filter(|event| self.can_execute(state, *event)).map(Step::Execute));
            if !self.buffer(state, thread).is_empty() {
                steps.push(Step::Flush(thread as u32));
            }
        }
    }

    fn take(&self, state: &mut State, step: Step) {
        match step {
            Step::Execute(event) => self.execute(state, event),
            Step::Flush(thread) => {
                let oldest = self.buffer(state, thread as usize).first().copied();
                if let Some(store) = oldest
                    && let Some(location) = self.requests.request(store).location()
                {
                    state.memory[location.index()] = store;
                    state.flushed[thread as usize] += 1;
                }
            }
        }
    }

    fn ending(&self, state: &State, steps: &[Step]) -> Ending {
        if !steps.is_empty() {
            return Ending::Running;
        }
        let walk = self.walk(state);
        if (0..self.requests.threads.len()).any(|thread| walk.ended(ThreadId::new(thread)).is_none()) {
            return Ending::Stuck(Stuck::Deadlock);
        }
        walk.ending(|location: LocationId| walk.written(state.memory[location.index()]))
    }

    fn known(&self, state: &State, term: &Term) -> Option<Value> {
        self.walk(state).known(term)
    }

    fn reveals(&self, step: Step) -> bool {
        matches!(step, Step::Execute(_))
    }

    fn describe(&self, state: &State, step: Step) -> String {
        match step {
            Step::Execute(event) => {
                let thread = &self.requests.threads[self.requests.owner(event)].name;
                let mut after = state.clone();
                self.execute(&mut after, event);
                format!("{thread} executes {}", self.walk(&after).executed(event))
            }
            Step::Flush(thread) => {
                let name = &self.requests.threads[thread as usize].name;
                let oldest = self.buffer(state, thread as usize).first().copied();
                let text = oldest.map_or(String::new(), |store| self.walk(state).text(store));
                format!("{text} leaves {name}'s buffer for memory")
            }
        }
    }

    fn show(&self, state: &State) -> Vec<String> {
        let text = |event: &EventId| self.walk(state).text(*event);
        let mut lines = Vec::new();
        for (index, thread) in self.requests.threads.iter().enumerate() {
            let buffer: Vec<String> = self.buffer(state, index).iter().map(text).collect();
            if !buffer.is_empty() {
                lines.push(format!("{}'s buffer: {}", thread.name, buffer.join(", ")));
            }
        }
        for (location, write) in self.requests.locations.iter().zip(&state.memory) {
            let value = self.walk(state).written(*write);
            lines.push(format!("{} = {}", location.name, value.map_or("?".to_owned(), |value| value.to_string())));
        }
        lines
    }
}
