//! Steps and states in words.

use fencepost_program::{EventId, ThreadId};

use super::super::buffer::Kind;
use super::super::warps::Warps;
use super::super::{Line, Point, Scope};
use super::state::{State, Store};
use super::{Multiprocessors, Step};
use crate::requests::Sources;

fn point_name(point: Point) -> &'static str {
    match point {
        Point::OFence => "ofence",
        Point::DFence => "dfence",
        Point::Acquire(Scope::Block) => "pacq.cta",
        Point::Acquire(Scope::Device) => "pacq.gpu",
        Point::Release(Scope::Block) => "prel.cta",
        Point::Release(Scope::Device) => "prel.gpu",
    }
}

impl Multiprocessors<'_> {
    pub(super) fn step_in_words(&self, state: &State, step: Step) -> String {
        match step {
            Step::Execute(event) => self.execution_in_words(state, event),
            Step::Drain(sm) => match state.buffers[sm as usize].entries().next().map(|entry| (entry.kind, entry.warps))
            {
                Some((Kind::Persist(line, data), _)) => {
                    format!("the buffer of SM {sm} flushes {}", self.line_in_words(state, line, data))
                }
                Some((Kind::Point(point), warps)) => {
                    let names = self.names(sm as usize, warps).join(" and ");
                    format!("the {} of {names} leaves the buffer of SM {sm}", point_name(point))
                }
                None => format!("the buffer of SM {sm} is empty"),
            },
            Step::Evict(sm, line) => {
                let data = self.buffered(state, sm as usize, line);
                format!("SM {sm} evicts {} out of its turn", self.line_in_words(state, line, data))
            }
            Step::Acknowledge(sm, line) => {
                let flight = state.buffers[sm as usize].in_flight().iter().find(|flight| flight.line == line);
                let data = flight.and_then(|flight| flight.data);
                format!("{} from SM {sm} becomes durable", self.line_in_words(state, line, data))
            }
        }
    }

    fn execution_in_words(&self, state: &State, event: EventId) -> String {
        let owner = self.requests.owner(event);
        let (thread, id) = (&self.requests.threads[owner].name, ThreadId::new(owner));
        let mut after = state.clone();
        self.execute(&mut after, owner, event);
        let waits = if self.waits(&after, owner) { " and waits" } else { "" };
        if after.progress.last(id) != state.progress.last(id) {
            format!("{thread} executes {}{waits}", self.walk(&after).executed(event))
        } else if after.pending[owner] && !state.pending[owner] {
            format!("{thread} issues {}{waits}", self.walk(state).text(event))
        } else {
            format!(
                "{thread} waits with {}, because its line is in the buffer ahead of an ordering point of {thread}",
                self.walk(state).text(event)
            )
        }
    }

    fn line_in_words(&self, state: &State, line: Line, data: Store) -> String {
        let name = &self.requests.locations[line.0 as usize].name;
        match data.and_then(|store| self.walk(state).written(store)) {
            Some(value) => format!("{name}={value}"),
            None => name.clone(),
        }
    }

    pub(super) fn state_in_words(&self, state: &State) -> Vec<String> {
        let mut lines = Vec::new();
        for (sm, buffer) in state.buffers.iter().enumerate() {
            let names = |warps: Warps| self.names(sm, warps).join(", ");
            let entry = |kind: &Kind<Store>, warps: Warps| match kind {
                Kind::Persist(line, data) => format!("{} ({})", self.line_in_words(state, *line, *data), names(warps)),
                Kind::Point(point) => format!("{} ({})", point_name(*point), names(warps)),
            };
            let entries: Vec<String> = buffer.entries().map(|it| entry(&it.kind, it.warps)).collect();
            let flying = buffer.in_flight().iter().map(|flight| self.line_in_words(state, flight.line, flight.data));
            let flying: Vec<String> = flying.collect();
            if !entries.is_empty() {
                lines.push(format!("the buffer of SM {sm}, head first: {}", entries.join("; ")));
            }
            if !flying.is_empty() {
                lines.push(format!("in flight from SM {sm}: {}", flying.join(", ")));
            }
            for (mask, warps) in
                ["order delay (ODM)", "eviction delay (EDM)", "flush status (FSM)"].iter().zip(buffer.masks())
            {
                if !warps.is_empty() {
                    lines.push(format!("{mask} of SM {sm}: {}", names(warps)));
                }
            }
        }
        let value = |write: EventId| self.walk(state).written(write).map_or("?".to_owned(), |value| value.to_string());
        for (index, location) in self.requests.locations.iter().enumerate() {
            let durable = match location.is_persistent {
                true => format!(", durable {}", value(state.durable[index])),
                false => String::new(),
            };
            lines.push(format!("{} = {}{durable}", location.name, value(state.memory[index])));
        }
        lines
    }
}
