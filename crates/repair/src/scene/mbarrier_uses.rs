//! Who does what with which mbarrier, by the instructions of the text.

use fencepost_program::program::LocationRole;
use fencepost_program::tag::Tag;
use fencepost_program::{EventId, ThreadId};
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::scene::Scene;
use crate::scene::anchor::position;
use crate::scene::loops::{Loop, computed, inside};

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Wait,
    /// In program order.
    Arrive,
    /// By an asynchronous operation.
    Complete,
}

/// An instruction that uses an mbarrier.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    pub(crate) thread: ThreadId,
    /// Of the thread's statements.
    pub(crate) at: usize,
    /// The mbarrier, or the array it is in.
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

#[derive(Default)]
pub(crate) struct Uses {
    pub(crate) all: Vec<Use>,
    /// How many mbarriers each name stands for.
    stages: SortedMap<String, usize>,
}

/// The variable of a location's name: `full` of `full[1]@0`.
fn variable(name: &str) -> &str {
    name.split(['[', '@', '+']).next().unwrap_or(name)
}

/// The variable of the mbarrier that an event is about.
pub(crate) fn name_of<'s>(scene: &Scene<'s>, id: EventId) -> Option<&'s str> {
    scene.location(id).map(|location| variable(&location.name))
}

/// A wait, whatever it answered.
pub(crate) fn is_wait(scene: &Scene<'_>, id: EventId) -> bool {
    let event = scene.event(id);
    event.tags.has(Tag::Mbarrier) && event.is_read() && event.rmw_partner.is_none() && event.strand.is_none()
}

impl Uses {
    pub(crate) fn new(scene: &Scene<'_>) -> Uses {
        let mut uses = Uses::default();
        let mut seen = SortedSet::new();
        // Of all traces: an execution that is stuck has not come to everything.
        for (index, event) in scene.unfolding.events.iter().enumerate() {
            let id = EventId(index as u32);
            let is_use = event.tags.has(Tag::Mbarrier) && !event.tags.has(Tag::MbarrierInit);
            let (Some(thread), Some(name), true) = (event.thread, name_of(scene, id), is_use) else { continue };
            let kind = match () {
                () if is_wait(scene, id) => Kind::Wait,
                () if event.strand.is_some() => Kind::Complete,
                () => Kind::Arrive,
            };
            if seen.insert((thread, event.span.start, name.to_owned()))
                && let Some(at) = position(&scene.test.litmus, thread, event.span)
            {
                uses.all.push(Use { thread, at, name: name.to_owned(), kind });
            }
        }
        for location in scene.unfolding.locations.iter().filter(|it| it.role == LocationRole::Mbarrier) {
            // Each CTA has its own.
            let own = location.name.split('@').nth(1).is_none_or(|cta| cta == "0");
            *uses.stages.entry(variable(&location.name).to_owned()).or_default() += usize::from(own);
        }
        uses
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn names(&self) -> SortedSet<&str> {
        self.all.iter().map(|own| own.name.as_str()).collect()
    }

    pub(crate) fn stages(&self, name: &str) -> usize {
        self.stages.get(name).copied().unwrap_or(1).max(1)
    }

    pub(crate) fn most_stages(&self) -> usize {
        self.names().into_iter().map(|name| self.stages(name)).max().unwrap_or(1)
    }

    pub(crate) fn of(&self, name: &str, kind: Kind) -> impl Iterator<Item = &Use> {
        self.all.iter().filter(move |own| own.name == name && own.kind == kind)
    }

    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Use> {
        self.all.iter().filter(move |own| own.kind == kind)
    }

    pub(crate) fn has(&self, name: &str, kind: Kind, thread: ThreadId, within: Option<Loop>) -> bool {
        let inside = |own: &Use| within.is_none_or(|within| within.contains(thread, own.at));
        self.of(name, kind).any(|own| own.thread == thread && inside(own))
    }

    /// How a thread would write the mbarrier of a round: as it does, by the name if there is one only, or by the register that
    /// was made from it.
    pub(crate) fn operand(
        &self,
        scene: &Scene<'_>,
        name: &str,
        thread: ThreadId,
        within: Option<Loop>,
    ) -> Option<String> {
        let litmus = &scene.test.litmus;
        let all = inside(litmus, thread, within);
        let written = |own: &&Use| own.thread == thread && own.name == name && all.iter().any(|(at, _)| *at == own.at);
        for own in self.all.iter().filter(written) {
            let instruction = all.iter().find(|(at, _)| *at == own.at).map(|(_, it)| *it);
            if let Some(text) = instruction.and_then(|it| address(scene, it)) {
                return Some(text);
            }
        }
        if self.stages(name) == 1 {
            return Some(name.to_owned());
        }
        let made = |instruction: &&Instruction| {
            let from = |operand: &Operand| matches!(operand, Operand::Symbol(symbol) if symbol == name);
            instruction.operands.iter().skip(1).any(|operand| from(&operand.node))
        };
        all.into_iter().map(|(_, it)| it).find(made).and_then(computed).map(str::to_owned)
    }
}

/// What stands between the brackets of an mbarrier operand: the last address of the instruction.
pub(crate) fn address(scene: &Scene<'_>, instruction: &Instruction) -> Option<String> {
    let is_address = |operand: &&fencepost_syntax::Spanned<Operand>| matches!(operand.node, Operand::Address(_));
    let operand = instruction.operands.iter().rev().find(is_address)?;
    let text = scene.test.source.slice(operand.span).trim();
    Some(text.strip_prefix('[')?.strip_suffix(']')?.trim().to_owned())
}
