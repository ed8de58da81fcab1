//! A wait whose parity changes with the rounds of its loop, as a change of the text: a phase of an mbarrier is over when the
//! wait asks with that phase's parity, and phases alternate between 0 and 1 (PTX ISA 9.7.15.16).

use fencepost_program::ThreadId;
use fencepost_report::piece::{AlternatingWait, ParityRegister, Piece};
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
                work.put(at, parsed(&work.poll(at.thread, before, (wait, label))?)?)?;
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

    pub(crate) fn piece(&self, scene: &Scene<'_>) -> Piece {
        let (wait, before) = match &self.place {
            Placed::New { at, before, wait, .. } => {
                (AlternatingWait::New { wait: wait.clone(), place: scene.spot(at) }, before)
            }
            Placed::Instead { at, before, by } => {
                (AlternatingWait::Instead { at: scene.site_at(at.thread, at.span), by: by.clone() }, before)
            }
        };
        let lines: Vec<&str> = before.lines().collect();
        let before = (!lines.is_empty()).then(|| lines.join(" ").trim_end_matches(';').to_owned());
        let register = self.own.as_ref().map(|own| ParityRegister {
            set: own.set(),
            turn: own.turn(),
            line: scene.test.source.position(own.tail.span.start).line,
        });
        Piece::Alternating { wait, before, register }
    }
}
