//! A wait whose parity changes with the rounds of its loop, as a change of the text: a phase of an mbarrier is over when the
//! wait asks with that phase's parity, and phases alternate between 0 and 1 (PTX ISA 9.7.15.16).

use fencepost_program::ThreadId;
use fencepost_syntax::Span;

use crate::edit::apply::{Work, parsed};
use crate::edit::{Alternate, Own, Placed};
use crate::scene::Scene;

impl Own {
    fn set(&self) -> String {
        format!("mov.u32 {}, {}", self.register, self.first)
    }

    fn turn(&self) -> String {
        format!("xor.b32 {0}, {0}, 1", self.register)
    }
}

impl Alternate {
    pub(crate) fn place(&self) -> (ThreadId, Span) {
        match &self.place {
            Placed::New { at, .. } | Placed::Instead { at, .. } => (at.thread, at.span),
        }
    }

    pub(crate) fn apply(&self, work: &mut Work) -> Option<()> {
        match &self.place {
            Placed::New { at, before, wait, label } => {
                work.put(at, parsed(&format!("{before}{label}: {wait};\n@!%waited bra {label};"))?)?;
            }
            Placed::Instead { at, before, by } => {
                if !before.is_empty() {
                    work.put(at, parsed(before)?)?;
                }
                work.replace(at.thread, at.span, &format!("{by};"))?;
            }
        }
        if let Some(own) = &self.own {
            work.put_before(own.tail.thread, own.head, parsed(&format!("{};", own.set()))?)?;
            work.put(&own.tail, parsed(&format!("{};", own.turn()))?)?;
        }
        Some(())
    }

    /// "a loop around `mbarrier.try_wait… [empty], %phase` in P0 between lines 6 and 7, `mov.u32 %phase, 1` before the loop
    /// and `xor.b32 %phase, %phase, 1` at its end, behind line 9".
    pub(crate) fn words(&self, scene: &Scene<'_>) -> String {
        let (text, before) = match &self.place {
            Placed::New { at, before, wait, .. } => {
                (format!("a loop around `{wait}` {}", scene.place_words(at)), before)
            }
            Placed::Instead { at, before, by } => {
                let line = scene.test.source.position(at.span.start).line;
                let old = scene.test.instruction_text(at.span);
                let old = old.trim_end_matches(';').trim();
                (format!("`{by}` in {} instead of `{old}` (line {line})", scene.thread_name(at.thread)), before)
            }
        };
        let lines: Vec<&str> = before.lines().collect();
        let text = match lines.is_empty() {
            true => text,
            false => format!("{text}, and before it `{}`", lines.join(" ").trim_end_matches(';')),
        };
        let Some(own) = &self.own else { return text };
        let line = scene.test.source.position(own.tail.span.start).line;
        format!("{text}, with `{}` before the loop and `{}` in each round behind line {line}", own.set(), own.turn())
    }
}
