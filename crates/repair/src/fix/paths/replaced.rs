//! A fence or a wait in place of another, which was of the wrong kind or about something else.

use fencepost_program::ThreadId;
use fencepost_syntax::instruction::Instruction;

use super::{Maker, Path};
use crate::edit::{Change, Edit};
use crate::fix::difference;
use crate::fix::space::{Space, plain};

impl Maker<'_> {
    pub(super) fn replacements(&self, thread: ThreadId, own: &Instruction, space: &Space, found: &mut Vec<Path>) {
        let starts = |word: &str| own.modifiers.iter().any(|it| it.node.starts_with(word));
        // The half of a barrier is no wait by itself.
        let is_fence = match own.opcode.node.as_str() {
            "fence" => true,
            "cp" | "wgmma" | "tcgen05" => starts("fence") || starts("wait"),
            _ => false,
        };
        if !is_fence || own.guard.is_some() {
            return;
        }
        let text = self.test.instruction_text(own.span());
        let halves = [("release", "acquire"), ("acquire", "release")].map(|(half, other)| text.replace(half, other));
        let pieces = space.texts(thread).into_iter().map(|text| text.trim_end_matches(';').to_owned());
        for by in pieces.chain(halves).filter(|by| *by != text) {
            found.extend(self.replaced(thread, own, by));
        }
    }

    /// Another instruction in the place of one, at the price of what it is more.
    pub(super) fn replaced(&self, thread: ThreadId, own: &Instruction, by: String) -> Option<Path> {
        let edit = plain(Change::Replace { thread, span: own.span(), by: format!("{by};") });
        let changed = Edit::apply_all(&[&edit], &self.test.litmus)?;
        let cost = difference::cost(&self.test.litmus, &changed, self.costs)?;
        Some(Path::new(vec![(edit, cost.max(1))]))
    }
}
