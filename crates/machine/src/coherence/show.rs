//! The protocol in words.

use fencepost_program::{EventId, LocationId};

use crate::coherence::state::{L1Line, Line, State};
use crate::coherence::{Coherence, Step};

impl Coherence<'_> {
    fn value(&self, state: &State, write: EventId) -> String {
        self.walk(state).written(write).map_or("?".to_owned(), |value| value.to_string())
    }

    pub(super) fn describe_step(&self, state: &State, step: Step) -> String {
        let location = |location: LocationId| self.requests.locations[location.index()].name.as_str();
        let agent = |agent: u32| self.agents[agent as usize].name.as_str();
        let sm = |at: u32| self.multiprocessors[at as usize].name.as_str();
        match step {
            Step::Execute(event) => {
                let mut after = state.clone();
                self.take_step(&mut after, step);
                let thread = &self.requests.threads[self.requests.owner(event)].name;
                format!("{thread} executes {}", self.walk(&after).executed(event))
            }
            Step::Drain(core) => {
                let thread = self.agents[core as usize].thread;
                let store = thread.and_then(|thread| self.buffer(state, thread).first().copied());
                let text = store.map_or(String::new(), |store| self.walk(state).text(store));
                format!("{} writes {text} from its store buffer into its cache", agent(core))
            }
            Step::Fetch { agent: who, location: line } => {
                format!("{} fetches {} to share it", agent(who), location(line))
            }
            Step::Ask { agent: who, location: line } => {
                format!("{} asks the directory for ownership of {}", agent(who), location(line))
            }
            Step::Invalidate { agent: who, location: line } => {
                format!("the invalidation of {} arrives at {}", location(line), agent(who))
            }
            Step::Grant { location: line } => {
                let who = state.asking[line.index()].map_or("nobody", agent);
                let early = state.pending[line.index()] != 0;
                let early = if early { ", with invalidations still under way" } else { "" };
                format!("the directory grants {} to {who}{early}", location(line))
            }
            Step::Fill { multiprocessor, location: line } => {
                format!("the L1 of {} is filled with {} from the L2", sm(multiprocessor), location(line))
            }
            Step::Evict { multiprocessor, location: line } => {
                format!("the L1 of {} drops {}", sm(multiprocessor), location(line))
            }
            Step::WriteBack { multiprocessor, location: line } => {
                format!("the L1 of {} writes {} back to the L2", sm(multiprocessor), location(line))
            }
        }
    }

    pub(super) fn show_state(&self, state: &State) -> Vec<String> {
        let mut lines = Vec::new();
        for (index, agent) in self.agents.iter().enumerate() {
            let mut parts = Vec::new();
            for (location, named) in self.locations().zip(&self.requests.locations) {
                let (kind, write) = match state.line(index, location) {
                    Line::Invalid => continue,
                    Line::Shared(write) => ("shared", write),
                    Line::Modified(write) => ("modified", write),
                };
                let pending = if state.is_pending(index, location) { ", invalidation under way" } else { "" };
                parts.push(format!("{}={} ({kind}{pending})", named.name, self.value(state, write)));
            }
            let buffer = agent.thread.map_or(Vec::new(), |thread| self.buffer(state, thread));
            let buffer: Vec<String> = buffer.iter().map(|store| self.walk(state).text(*store)).collect();
            if !buffer.is_empty() {
                parts.push(format!("store buffer: {}", buffer.join(", ")));
            }
            lines.push(format!(
                "{}: {}",
                agent.name,
                if parts.is_empty() { "empty".to_owned() } else { parts.join(", ") }
            ));
        }
        for (at, multiprocessor) in self.multiprocessors.iter().enumerate() {
            let mut parts = Vec::new();
            for (location, named) in self.locations().zip(&self.requests.locations) {
                let (kind, write) = match state.l1(at, location) {
                    L1Line::Absent => continue,
                    L1Line::Clean(write) => ("clean", write),
                    L1Line::Dirty(write) => ("dirty", write),
                };
                parts.push(format!("{}={} ({kind})", named.name, self.value(state, write)));
            }
            let parts = if parts.is_empty() { "empty".to_owned() } else { parts.join(", ") };
            lines.push(format!("the L1 of {}: {parts}", multiprocessor.name));
        }
        for (location, named) in self.locations().zip(&self.requests.locations) {
            lines.push(format!("memory: {}={}", named.name, self.value(state, state.memory[location.index()])));
        }
        lines
    }
}
