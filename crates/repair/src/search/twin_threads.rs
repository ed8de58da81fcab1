//! The same mistake in threads with the same text: what was told of one is what is tried first of the other, in its lines.

use fencepost_program::{EventId, ThreadId};
use fencepost_report::site::{Located, Relocate, Site, ThreadName};
use fencepost_syntax::Span;
use fencepost_syntax::litmus::Statement;

use crate::edit::{Change, Edit};
use crate::propose::same_text;
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, instruction, position};

/// A cure, and the threads of the accesses that it is for.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) edits: Vec<Edit>,
    pub(crate) threads: (ThreadId, ThreadId),
}

/// What was found for the accesses of threads that differ from these in one that has the same text.
pub(crate) fn all(scene: &Scene<'_>, pair: (EventId, EventId), known: &[Known]) -> Vec<Vec<Edit>> {
    let (Some(one), Some(other)) = (scene.thread(pair.0), scene.thread(pair.1)) else { return Vec::new() };
    let mut found: Vec<Vec<Edit>> = Vec::new();
    for cure in known {
        let (first, second) = cure.threads;
        let twin = match () {
            () if (first, second) == (one, other) || (second, first) == (one, other) => None,
            () if first == second && one == other => Some((first, one)),
            () if first == one => Some((second, other)),
            () if first == other => Some((second, one)),
            () if second == one => Some((first, other)),
            () if second == other => Some((first, one)),
            () => None,
        };
        let twin = twin.filter(|(of, own)| same_text::is_alike(scene, *of, *own));
        let edits = twin.and_then(|twin| cure.edits.iter().map(|edit| mirrored(scene, edit, twin)).collect());
        found.extend(edits.filter(|edits| !found.contains(edits)));
    }
    found
}

fn body<'s>(scene: &'s Scene<'_>, thread: ThreadId) -> &'s [Statement] {
    scene.test.litmus.threads.get(thread.index()).map_or(&[], |own| own.body.as_slice())
}

/// The change in the other thread; None where it has no place there.
fn mirrored(scene: &Scene<'_>, edit: &Edit, (of, own): (ThreadId, ThreadId)) -> Option<Edit> {
    // What both take part in stays so: they change places.
    let span = |thread: ThreadId, span: Span| {
        let twin = match () {
            () if thread == of => own,
            () if thread == own => of,
            () => return Some((thread, span)),
        };
        let at = position(&scene.test.litmus, thread, span)?;
        Some((twin, instruction(body(scene, twin).get(at)?)?.span()))
    };
    let place = |anchor: &Anchor| {
        let (thread, span) = span(anchor.thread, anchor.span)?;
        Some(Anchor { thread, span, side: anchor.side })
    };
    let mut change = edit.change.clone();
    match &mut change {
        Change::Insert { at } => {
            for (anchor, _) in at.iter_mut() {
                *anchor = place(anchor)?;
            }
            if at.len() > 2 {
                at.sort_by_key(|(anchor, _)| anchor.thread);
            }
        }
        Change::Poll { at, .. } => *at = place(at)?,
        Change::Strengthen { thread, span: its, .. }
        | Change::Wait { thread, span: its, .. }
        | Change::Replace { thread, span: its, .. }
        | Change::Return { thread, span: its }
        | Change::Remove { thread, span: its } => (*thread, *its) = span(*thread, *its)?,
        Change::Move { span: its, to, .. } => {
            *its = span(to.thread, *its)?.1;
            *to = place(to)?;
        }
        // What is no thread's own is the same for both.
        Change::Count { .. } | Change::Declare { .. } => {}
        _ => return None,
    }
    let mut reason = edit.reason.clone();
    reason.relocate(&mut Twins { scene, threads: [(of, own), (own, of)] });
    Some(Edit { change, reason, ..edit.clone() })
}

/// The places of one thread as those of the other: the two change places.
struct Twins<'s, 'a> {
    scene: &'s Scene<'a>,
    threads: [(ThreadId, ThreadId); 2],
}

impl Twins<'_, '_> {
    fn twin(&self, name: &ThreadName) -> Option<(ThreadId, ThreadId)> {
        self.threads.into_iter().find(|(of, _)| self.scene.thread_name(*of) == name.0)
    }
}

impl Relocate for Twins<'_, '_> {
    fn site(&mut self, site: &mut Site) {
        let Some((of, own)) = self.twin(&site.thread) else { return };
        let at = position(&self.scene.test.litmus, of, Span::new(site.start, site.end));
        let twin = at.and_then(|at| body(self.scene, own).get(at)).and_then(instruction);
        match twin {
            Some(twin) => {
                *site = Site { operation: site.operation, ..self.scene.site_at(own, twin.span()) };
            }
            None => site.thread = self.scene.thread_named(own),
        }
    }

    fn thread(&mut self, thread: &mut ThreadName) {
        if let Some((_, own)) = self.twin(thread) {
            *thread = self.scene.thread_named(own);
        }
    }
}
