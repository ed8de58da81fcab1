//! The blocks of C (C11 6.2.1): a variable is known from its declaration to the end of its block, and hides one of the
//! same name further out. Each declaration is a register of its own.
//!
//! A condition speaks of the end of a thread, where only the outermost block is open. It may also name a variable of an
//! inner block, if no other has that name.

use fencepost_syntax::sorted::SortedMap;

use crate::ids::RegisterId;
use crate::lower::builder::ThreadBuilder;
use crate::value::Type;

impl ThreadBuilder {
    pub(crate) fn enter_block(&mut self) {
        self.blocks.open.push(SortedMap::new());
    }

    pub(crate) fn leave_block(&mut self) {
        for (name, outside) in self.blocks.open.pop().unwrap_or_default() {
            let inside = match outside {
                Some(outside) => self.by_name.insert(name.as_str().into(), outside),
                None => self.by_name.remove(name.as_bytes()),
            };
            self.blocks.ended.entry(name).or_default().extend(inside);
        }
    }

    /// A new variable of the innermost block; None if the block has one of that name.
    pub(crate) fn declare(&mut self, name: &str, ty: Type) -> Option<RegisterId> {
        if self.blocks.open.last().is_some_and(|block| block.contains_key(name)) {
            return None;
        }
        let times = self.blocks.times.entry(name.to_owned()).or_default();
        *times += 1;
        let (times, is_first) = (*times, *times == 1);
        // The first takes the initial value that the test may give to a register of that name.
        let outside = if is_first { None } else { self.by_name.remove(name.as_bytes()) };
        let id = self.register(name, ty);
        self.refine(id, ty);
        if !is_first {
            self.rename(id, format!("{name}.{times}"));
        }
        if let Some(block) = self.blocks.open.last_mut() {
            block.insert(name.to_owned(), outside);
        }
        Some(id)
    }

    /// Whether a block that has ended had a variable of that name.
    pub(crate) fn had(&self, name: &str) -> bool {
        self.blocks.ended.contains_key(name)
    }

    /// Whether conditions cannot tell which variable the name means.
    pub(crate) fn is_ambiguous(&self, name: &str) -> bool {
        self.blocks.ambiguous.contains(name)
    }

    /// Names for conditions, once the code is lowered.
    pub(crate) fn settle_blocks(&mut self) {
        for (name, variables) in &self.blocks.ended {
            match variables.as_slice() {
                _ if self.by_name.contains_key(name.as_bytes()) => {}
                [one] => {
                    self.by_name.insert(name.as_str().into(), *one);
                }
                _ => {
                    self.blocks.ambiguous.insert(name.clone());
                }
            }
        }
    }
}
