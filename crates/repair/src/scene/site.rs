//! The places of an example as reports name them.

use fencepost_check::look::proxy::{operation, proxy_of};
use fencepost_program::program;
use fencepost_program::tag::Tag;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::piece::Piece;
use fencepost_report::site::{AccessSite, Act, Memory, Proxy, Scope, Site, ThreadName};
use fencepost_report::{Missing, RacingAccess};
use fencepost_syntax::Span;

use crate::scene::Scene;

impl Scene<'_> {
    /// The instruction of an event, and its asynchronous operation where the event is part of one.
    pub(crate) fn site(&self, id: EventId) -> Site {
        let (event, text) = (self.event(id), self.text(id));
        let operation = event.strand.is_some().then(|| operation(event, &text));
        self.placed(ThreadName(self.name(id).to_owned()), event.span, text, operation)
    }

    /// An instruction of the text.
    pub(crate) fn site_at(&self, thread: ThreadId, span: Span) -> Site {
        let text = self.test.instruction_text(span).trim_end_matches(';').trim().to_owned();
        self.placed(self.thread_named(thread), span, text, None)
    }

    fn placed(
        &self,
        thread: ThreadName,
        span: Span,
        text: String,
        operation: Option<fencepost_report::site::Operation>,
    ) -> Site {
        let position = self.test.source.position(span.start);
        Site { thread, start: span.start, end: span.end, line: position.line, column: position.column, text, operation }
    }

    pub(crate) fn thread_named(&self, thread: ThreadId) -> ThreadName {
        ThreadName(self.thread_name(thread).to_owned())
    }

    /// The thread of an event.
    pub(crate) fn named(&self, id: EventId) -> ThreadName {
        ThreadName(self.name(id).to_owned())
    }

    pub(crate) fn access_site(&self, id: EventId) -> AccessSite {
        AccessSite { at: self.site(id), act: self.act(id) }
    }

    /// The memory that a proxy fence would have to be about.
    pub(crate) fn memory(&self, id: EventId) -> Memory {
        match self.space(id) {
            program::Space::Shared => Memory::Shared,
            _ => Memory::Global,
        }
    }

    pub(crate) fn proxy(&self, id: EventId) -> Proxy {
        proxy_of(self.event(id))
    }

    fn act(&self, id: EventId) -> Act {
        let event = self.event(id);
        let location = || self.variable(id);
        match () {
            () if event.tags.has(Tag::Exit) => Act::Exits,
            () if event.is_barrier() => Act::ClusterBarrier,
            () if event.tags.has(Tag::Cancel) => Act::AsksToCancel,
            () if event.tags.has(Tag::Issue) && event.tags.has(Tag::Stray) => Act::StartsAsynchronous,
            () if event.rmw_partner.is_some() => Act::Updates { location: location() },
            () if event.is_write() => Act::Writes { location: location() },
            () => Act::Reads { location: location() },
        }
    }

    /// A piece that belongs beside the instruction of an event.
    pub(crate) fn missing(&self, beside: EventId, what: Piece, section: &str) -> Missing {
        let (thread, line) = (self.name(beside).to_owned(), self.line(beside));
        Missing { text: String::new(), what, thread, line, section: section.to_owned(), edits: Vec::new() }
    }

    /// An access of a race, as the report has it.
    pub(crate) fn access(&self, id: EventId) -> Option<RacingAccess> {
        let event = self.unfolding.events.get(id.index())?;
        let is_none = event.tags.has(Tag::Exit) || event.is_barrier() || event.tags.has(Tag::Issue);
        Some(RacingAccess {
            what: String::new(),
            act: self.act(id),
            proxy: (!is_none).then(|| proxy_of(event)),
            asynchronous: event.strand.is_some(),
        })
    }
}

pub(crate) fn scope(scope: program::Scope) -> Scope {
    match scope {
        program::Scope::Cta => Scope::Cta,
        program::Scope::Cluster => Scope::Cluster,
        program::Scope::Gpu => Scope::Gpu,
        program::Scope::Sys => Scope::Sys,
    }
}

/// A whole number of a reason; those of PTX fit.
pub(crate) fn number(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
