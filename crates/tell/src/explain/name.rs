//! How events are called in sentences: "P0's `st.release.gpu flag, 1`", "the initial value of x".

use fencepost_axiom::execution::Execution;
use fencepost_check::look::proxy::proxy_of;
use fencepost_check::model::vocabulary::Assumption;
use fencepost_program::program::Scope;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind};
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId};
use fencepost_syntax::litmus::Arch;

use super::{Context, Line};
use crate::explain::vocabulary::{self, Entry, Family, Telling, Words};

impl<'a> Context<'a> {
    pub(crate) fn event(&self, id: EventId) -> Option<&'a Event> {
        self.unfolding.events.get(id.index())
    }

    /// Whether the model's names are those of its specification.
    pub(crate) fn is_specified(&self) -> bool {
        self.vocabulary.assumptions.contains(&Assumption::SpecifiedNames)
    }

    pub(crate) fn family(&self) -> Family {
        match self.program.arch {
            Arch::C => Family::C,
            _ if self.model.features.iter().any(|feature| feature == "mixed") => Family::Compound,
            Arch::Ptx => Family::Ptx,
            Arch::X86 | Arch::X86_64 => Family::X86,
        }
    }

    /// Whether a thread of x86 does it.
    pub(crate) fn is_x86(&self, id: EventId) -> bool {
        let thread = self.event(id).and_then(|event| self.program.threads.get(event.thread?.index()));
        thread.is_some_and(|thread| matches!(thread.arch, Arch::X86 | Arch::X86_64))
    }

    pub(crate) fn thread(&self, id: EventId) -> Option<&'a str> {
        let thread = self.event(id)?.thread?;
        Some(self.unfolding.threads.get(thread.index())?.name.as_str())
    }

    pub(crate) fn line_number(&self, id: EventId) -> Option<u32> {
        let event = self.event(id)?;
        event.thread.map(|_| self.source.position(event.span.start).line)
    }

    pub(crate) fn location_of(&self, id: EventId) -> Option<LocationId> {
        match self.event(id)?.kind {
            EventKind::Read { location, .. } | EventKind::Write { location, .. } => Some(location),
            _ => None,
        }
    }

    pub(crate) fn location_name(&self, id: EventId) -> &'a str {
        let location = self.location_of(id).and_then(|location| self.unfolding.locations.get(location.index()));
        location.map_or("memory", |location| location.name.as_str())
    }

    pub(crate) fn is_init(&self, id: EventId) -> bool {
        self.event(id).is_some_and(|event| event.thread.is_none())
    }

    pub(crate) fn is_read(&self, id: EventId) -> bool {
        self.event(id).is_some_and(|event| matches!(event.kind, EventKind::Read { .. }))
    }

    pub(crate) fn is_write(&self, id: EventId) -> bool {
        self.event(id).is_some_and(|event| matches!(event.kind, EventKind::Write { .. }))
    }

    pub(crate) fn is_fence(&self, id: EventId) -> bool {
        self.event(id).is_some_and(|event| matches!(event.kind, EventKind::Fence))
    }

    /// An `ofence` or a `dfence`.
    pub(crate) fn orders_persists(&self, id: EventId) -> bool {
        let event = self.event(id);
        event.is_some_and(|event| event.has(Tag::OrderFence) || event.has(Tag::DurabilityFence))
    }

    pub(crate) fn is_proxy_fence(&self, id: EventId) -> bool {
        self.event(id).is_some_and(|event| event.tags.has(Tag::ProxyFence))
    }

    /// `st.release.gpu flag, 1`.
    pub(crate) fn instruction(&self, id: EventId) -> String {
        let Some(event) = self.event(id) else { return String::new() };
        (self.text)(event.span).trim_end_matches(';').trim().to_owned()
    }

    /// "P0's `st.release.gpu flag, 1`", in a loop with the iteration.
    pub(crate) fn called(&self, id: EventId) -> String {
        let name = self.called_plain(id);
        self.rounds.name(id).map_or(name.clone(), |iteration| format!("{name} ({iteration})"))
    }

    /// Without the iteration.
    pub(crate) fn called_plain(&self, id: EventId) -> String {
        match self.thread(id) {
            Some(_) if self.issue(id).is_some() => self.called_strand(id),
            Some(thread) => {
                let half = match self.event(id).map(|event| (&event.kind, event.rmw_partner)) {
                    Some((EventKind::Read { .. }, Some(_))) => "the read of ",
                    Some((EventKind::Write { .. }, Some(_))) => "the write of ",
                    _ => "",
                };
                format!("{half}{thread}'s `{}`", self.instruction(id))
            }
            None => format!("the initial write of {}", self.location_name(id)),
        }
    }

    /// With its line, and its proxy where that is not the other's: "P0's `st.shared.u64 [s], 1` (line 4, generic proxy)".
    pub(crate) fn placed(&self, id: EventId, other: EventId) -> String {
        let line = self.line_number(id).filter(|_| self.issue(id).is_none()).map(|line| format!("line {line}"));
        let proxy = |id: EventId| self.event(id).map(|event| proxy_of(event).name());
        let through = proxy(id).filter(|own| Some(*own) != proxy(other)).map(str::to_owned);
        let places: Vec<String> = [line, self.rounds.name(id), through].into_iter().flatten().collect();
        let name = self.called_plain(id);
        if places.is_empty() { name } else { format!("{name} ({})", places.join(", ")) }
    }

    pub(crate) fn line(&self, id: EventId, text: String) -> Line {
        Line {
            text,
            thread: self.thread(id).map(str::to_owned),
            line: self.line_number(id),
            section: None,
            events: vec![id.0],
        }
    }

    /// A section of the PTX ISA, for programs it is about and models that follow it.
    pub(crate) fn section(&self, section: &str) -> Option<String> {
        let cites = self.family() == Family::Ptx && self.is_specified();
        (cites && !section.is_empty()).then(|| section.to_owned())
    }

    /// The same for a sentence about these events: beside threads of the host, the ISA speaks of those of the device only.
    pub(crate) fn section_about(&self, events: &[EventId], section: &str) -> Option<String> {
        let is_device = self.program.arch == Arch::Ptx && events.iter().all(|event| !self.is_x86(*event));
        match self.family() {
            Family::Compound if is_device && self.is_specified() && !section.is_empty() => {
                Some(format!("PTX ISA {section}"))
            }
            _ => self.section(section),
        }
    }

    /// How a relation with this name is told, if its name or its role says so.
    pub(crate) fn relation(&self, name: &str) -> Option<Entry> {
        vocabulary::relation(self.vocabulary, name)
    }

    pub(crate) fn telling(&self, name: &str) -> Option<Telling> {
        self.relation(name).map(|entry| entry.telling)
    }

    /// The words for an axiom with this name.
    pub(crate) fn axiom(&self, name: &str) -> Option<&'static Words> {
        vocabulary::words(self.vocabulary.axioms.of(name)?, self.family())
    }

    /// An axiom of somebody's own model may share its name with one of the specification and mean something else.
    pub(crate) fn axiom_title(&self, name: &str) -> String {
        let known = self.axiom(name).filter(|_| self.is_specified());
        known.map_or_else(|| format!("`{name}`"), |words| words.title.to_owned())
    }

    pub(crate) fn axiom_section(&self, name: &str) -> Option<String> {
        self.section(self.axiom(name)?.section?)
    }
}

pub(crate) fn value(execution: &Execution, id: EventId) -> Option<Value> {
    let at = execution.events.binary_search(&id).ok()?;
    execution.values.get(at).copied().flatten()
}

pub(crate) fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => ".cta",
        Scope::Cluster => ".cluster",
        Scope::Gpu => ".gpu",
        Scope::Sys => ".sys",
    }
}

pub(crate) fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        // A thread's name stays as the author wrote it.
        Some(first) if text.starts_with("the ") => first.to_uppercase().chain(characters).collect(),
        _ => text.to_owned(),
    }
}
