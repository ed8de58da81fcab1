//! Reads that the values of a warp's registers depend on, as sets that are kept once. How they come there is
//! [`super::dependency`].

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use crate::code::op::Register;
use crate::order::Known;
use crate::order::clock::Time;

/// A load, a store or an atomic operation of one lane on another CTA's shared memory: an element of it.
pub(super) type AccessId = u32;

/// What one value depends on.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Dependency {
    /// When the last of its reads was made; 0: it depends on none.
    pub(super) latest: Time,
    /// Those of other CTAs' shared memory.
    pub(super) reads: SetId,
    /// Also on something that is not followed.
    pub(super) unclear: bool,
}

impl Dependency {
    pub(super) fn is_none(self) -> bool {
        self == Dependency::default()
    }
}

pub(super) type SetId = u32;

/// Reads of one value that are kept apart.
const MOST_READS: usize = 24;

/// Sets of reads, each once.
#[derive(Default)]
pub(super) struct Sets {
    sets: Vec<Vec<AccessId>>,
    index: HashMap<Vec<AccessId>, SetId>,
}

impl Sets {
    pub(super) fn reads(&self, set: SetId) -> &[AccessId] {
        set.checked_sub(1).map_or(&[], |at| &self.sets[at as usize])
    }

    pub(super) fn one(&mut self, read: AccessId) -> SetId {
        self.intern(vec![read])
    }

    fn intern(&mut self, set: Vec<AccessId>) -> SetId {
        if let Some(found) = self.index.get(&set) {
            return *found;
        }
        self.sets.push(set.clone());
        let id = self.sets.len() as SetId;
        self.index.insert(set, id);
        id
    }

    /// None: too many.
    pub(super) fn union(&mut self, a: SetId, b: SetId) -> Option<SetId> {
        if a == b || b == 0 {
            return Some(a);
        }
        if a == 0 {
            return Some(b);
        }
        let mut set = [self.reads(a), self.reads(b)].concat();
        set.sort_unstable();
        set.dedup();
        (set.len() <= MOST_READS).then(|| self.intern(set))
    }
}

/// Times at which what a lane knows is kept.
pub(super) const MOST_KEPT: usize = 64;

/// What lanes of a warp know at their reads, and what registers depend on.
#[derive(Clone)]
pub(super) struct Dependencies {
    registers: Vec<Option<Rc<[Dependency; 32]>>>,
    /// Of whatever follows, by branches that lead back.
    pub(super) control: [Dependency; 32],
    /// Lanes that have put something into local memory that depends on reads.
    pub(super) local: u32,
    /// What a lane knew at its reads, where that had changed.
    pub(super) known: Vec<VecDeque<(Time, Rc<Known>)>>,
}

impl Dependencies {
    pub(super) fn new(registers: u32) -> Dependencies {
        Dependencies {
            registers: vec![None; registers as usize],
            control: [Dependency::default(); 32],
            local: 0,
            known: vec![VecDeque::new(); 32],
        }
    }

    pub(super) fn of(&self, register: Register, lane: u32) -> Dependency {
        self.registers[register as usize].as_ref().map_or_else(Dependency::default, |lanes| lanes[lane as usize])
    }

    pub(super) fn set(&mut self, register: Register, lane: u32, to: Dependency) {
        let own = &mut self.registers[register as usize];
        if own.is_none() && to.is_none() {
            return;
        }
        let lanes = own.get_or_insert_with(|| Rc::new([Dependency::default(); 32]));
        if lanes[lane as usize] != to {
            Rc::make_mut(lanes)[lane as usize] = to;
        }
    }
}
