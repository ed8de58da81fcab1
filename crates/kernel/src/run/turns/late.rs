//! Waits that come late: a run in which a wait is held back until nobody else can go on shows whether the phase that it
//! waits for may be gone by then.

use crate::code::op::Pc;
use crate::run::Run;

/// One wait of a warp: the instruction, and how many waits the warp has passed there before.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Late {
    pub warp: u32,
    pub pc: Pc,
    pub passed: u32,
}

/// So many are kept.
const MOST: usize = 64;

impl Run<'_> {
    /// Whether this is the wait that is held back.
    pub(in crate::run) fn is_held(&self, warp: usize, pc: Pc) -> bool {
        self.options.hold.is_some_and(|late| {
            let key = (warp as u32, pc);
            let mut times = self.passes.get(&key).cloned().unwrap_or_default();
            // Lanes of one instruction pass together.
            times.dedup();
            !self.released && (late.warp, late.pc) == key && late.passed == times.len() as u32
        })
    }

    /// Nobody else can go on.
    pub(in crate::run) fn release_held(&mut self) -> bool {
        let was_held = self.options.hold.is_some() && !self.released;
        self.released = true;
        was_held
    }

    /// Waits that the next phase may overtake: warp, time, instruction.
    pub(in crate::run) fn note_late(&mut self, waits: &[(u32, u32, Pc)]) {
        for (warp, time, pc) in waits {
            let mut times = self.passes.get(&(*warp, *pc)).cloned().unwrap_or_default();
            times.dedup();
            if let Some(passed) = times.iter().position(|own| own == time)
                && self.late.len() < MOST
            {
                self.late.insert(Late { warp: *warp, pc: *pc, passed: passed as u32 });
            }
        }
    }
}
