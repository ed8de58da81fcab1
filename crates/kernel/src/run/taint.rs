//! What a value depends on beyond the launch: sets of sources, interned.

use std::collections::HashMap;

use crate::code::op::Pc;
use crate::memory::Taint;

/// Values that the launch does not determine, or that are not computed here.
pub type Class = u16;
pub const FLOAT: Class = 1;
pub const ENVIRONMENT: Class = 2;
pub const ATOMIC: Class = 4;
pub const CLOCK: Class = 8;
pub const STUB: Class = 16;
pub const WAIT: Class = 32;
pub const UNKNOWN_DATA: Class = 64;
/// More strong reads than are kept apart.
pub const MANY: Class = 128;
/// A register that was never written: any value, and another at each look.
pub const UNDEFINED: Class = 256;
/// The state that an arrival at an mbarrier returns, which is opaque (9.7.15.16).
pub const TOKEN: Class = 512;
/// Which columns `tcgen05.alloc` gives: an address of tensor memory, and nothing else.
pub const COLUMNS: Class = 1024;

/// The value itself is made up: a branch on it goes anywhere.
pub const MADE_UP: Class = FLOAT | ENVIRONMENT | CLOCK | STUB | UNKNOWN_DATA | UNDEFINED | TOKEN | COLUMNS;

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
struct Set {
    classes: Class,
    reads: Vec<u32>,
}

/// A strong read: harmless unless a write is not ordered with it and its value decides something.
#[derive(Copy, Clone, Debug)]
pub struct Read {
    pub pc: Pc,
    /// Elements of a vector.
    pub parts: usize,
    pub racy: bool,
    pub decides: Option<Pc>,
}

#[derive(Default)]
pub struct Taints {
    sets: Vec<Set>,
    index: HashMap<Set, Taint>,
    unions: HashMap<(Taint, Taint), Taint>,
    pub reads: Vec<Read>,
}

const MOST_READS: usize = 12;

impl Taints {
    pub fn new() -> Taints {
        let mut taints = Taints::default();
        taints.sets.push(Set::default());
        taints.index.insert(Set::default(), 0);
        taints
    }

    fn intern(&mut self, set: Set) -> Taint {
        if let Some(found) = self.index.get(&set) {
            return *found;
        }
        let id = self.sets.len() as Taint;
        self.index.insert(set.clone(), id);
        self.sets.push(set);
        id
    }

    pub fn class(&mut self, class: Class) -> Taint {
        self.intern(Set { classes: class, reads: Vec::new() })
    }

    pub fn read(&mut self, read: Read) -> Taint {
        self.reads.push(read);
        let id = (self.reads.len() - 1) as u32;
        self.intern(Set { classes: 0, reads: vec![id] })
    }

    #[inline]
    pub fn union(&mut self, a: Taint, b: Taint) -> Taint {
        if a == b || b == 0 {
            return a;
        }
        if a == 0 {
            return b;
        }
        let key = (a.min(b), a.max(b));
        if let Some(found) = self.unions.get(&key) {
            return *found;
        }
        let mut set = self.sets[a as usize].clone();
        let other = &self.sets[b as usize];
        set.classes |= other.classes;
        set.reads.extend_from_slice(&other.reads);
        set.reads.sort_unstable();
        set.reads.dedup();
        if set.reads.len() > MOST_READS {
            set.reads.clear();
            set.classes |= MANY;
        }
        let id = self.intern(set);
        self.unions.insert(key, id);
        id
    }

    pub fn has_reads(&self, taint: Taint) -> bool {
        !self.sets[taint as usize].reads.is_empty() || self.sets[taint as usize].classes & MANY != 0
    }

    pub fn classes(&self, taint: Taint) -> Class {
        self.sets[taint as usize].classes
    }

    /// Whether the value depends on nothing but the launch, though it may not be computed.
    pub fn is_token(&self, taint: Taint) -> bool {
        let set = &self.sets[taint as usize];
        set.classes & !(FLOAT | COLUMNS) == 0 && set.reads.is_empty()
    }

    /// Whether it is the same in every run, as far as reads go that are known to be racy.
    pub fn is_determined(&self, taint: Taint) -> bool {
        let set = &self.sets[taint as usize];
        set.classes == 0 && set.reads.iter().all(|read| !self.reads[*read as usize].racy)
    }

    /// Strong reads whose values decide what happens at this instruction.
    pub fn decide(&mut self, taint: Taint, at: Pc) {
        for index in 0..self.sets[taint as usize].reads.len() {
            let read = self.sets[taint as usize].reads[index];
            self.reads[read as usize].decides.get_or_insert(at);
        }
    }
}
