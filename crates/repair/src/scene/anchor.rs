//! Where in the text an event stands: its statement in the tree, and what stands around it.

use fencepost_program::{EventId, ThreadId};
use fencepost_syntax::Span;
use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::litmus::{Litmus, Statement};

use crate::scene::Scene;

/// A place beside an instruction of a thread.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Anchor {
    pub(crate) thread: ThreadId,
    pub(crate) span: Span,
    pub(crate) side: Side,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Before,
    After,
}

impl Anchor {
    /// Whether the instructions on both sides are such: what is put in between them is put inside of what they are.
    pub(crate) fn is_inside(self, litmus: &Litmus, is_such: &dyn Fn(Span) -> bool) -> bool {
        let body = body(litmus, self.thread);
        let Some(at) = position(litmus, self.thread, self.span) else { return is_such(self.span) };
        let other = match self.side {
            Side::Before => body[..at].iter().rev().find_map(instruction),
            Side::After => body[at + 1..].iter().find_map(instruction),
        };
        is_such(self.span) && other.is_some_and(|other| is_such(other.span()))
    }
}

/// The statements of a thread.
pub(crate) fn body(litmus: &Litmus, thread: ThreadId) -> &[Statement] {
    litmus.threads.get(thread.index()).map_or(&[], |own| own.body.as_slice())
}

/// The one instruction of the thread that starts there, and its position.
pub(crate) fn instruction_at(litmus: &Litmus, thread: ThreadId, span: Span) -> Option<(usize, &Instruction)> {
    let at = position(litmus, thread, span)?;
    Some((at, instruction(body(litmus, thread).get(at)?)?))
}

/// The position of the one instruction of the thread that starts there; several may in rows of templates.
pub(crate) fn position(litmus: &Litmus, thread: ThreadId, span: Span) -> Option<usize> {
    let here = |statement: &Statement| instruction(statement).is_some_and(|found| found.span().start == span.start);
    let mut found = body(litmus, thread).iter().enumerate().filter(|(_, statement)| here(statement));
    let (at, _) = found.next()?;
    found.next().is_none().then_some(at)
}

pub(crate) fn instruction(statement: &Statement) -> Option<&Instruction> {
    match statement {
        Statement::Instruction { instruction, .. } => Some(instruction),
        Statement::Label(_) | Statement::C(_) => None,
    }
}

impl Scene<'_> {
    pub(crate) fn anchor(&self, id: EventId, side: Side) -> Option<Anchor> {
        let event = self.event(id);
        Some(Anchor { thread: event.thread?, span: event.span, side })
    }

    pub(crate) fn statement(&self, id: EventId) -> Option<&Instruction> {
        let event = self.event(id);
        instruction_at(&self.test.litmus, event.thread?, event.span).map(|(_, own)| own)
    }

    /// The instructions of a thread from one event to another, both left out; to the end without the second.
    pub(crate) fn between(&self, from: EventId, to: Option<EventId>) -> Vec<&Instruction> {
        let Some(thread) = self.thread(from) else { return Vec::new() };
        let litmus = &self.test.litmus;
        let body = body(litmus, thread);
        let Some(start) = position(litmus, thread, self.event(from).span) else { return Vec::new() };
        let end = to.and_then(|to| position(litmus, thread, self.event(to).span)).unwrap_or(body.len());
        body.iter().take(end).skip(start + 1).filter_map(instruction).collect()
    }
}
