//! A warp: registers of 32 lanes, and where each of them stands.

use std::collections::VecDeque;
use std::rc::Rc;

use super::matrix::registers::RegisterUse;
use super::register_reads::Dependencies;
use crate::code::op::{Order, Pc, Register, Scope, Source};
use crate::memory::Taint;
use crate::order::Cta;
use crate::order::clock::Object;
use crate::order::record::StrandId;

/// Lanes that stand at the same instruction.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    pub(super) pc: Pc,
    pub(super) mask: u32,
    pub(super) blocked: Option<Block>,
}

/// What a lane waits for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Block {
    Barrier {
        id: u32,
        generation: u32,
    },
    Cluster {
        phase: u32,
    },
    /// Other lanes of the warp, at this instruction.
    Lanes {
        mask: u32,
    },
    SyncWarp {
        mask: u32,
    },
    /// The rest of its warp, at this `.aligned` instruction.
    Aligned,
    Mbarrier {
        object: Object,
        phase: u32,
    },
    /// The parts of other warps in this many `wgmma`.
    Products {
        count: u32,
    },
    /// A warp of the other CTA of its pair, at this operation of the pair.
    Pair {
        index: u32,
    },
    /// So many free columns of tensor memory.
    Columns {
        count: u32,
    },
    /// A change of memory.
    Memory {
        version: u64,
    },
    /// The same: its loop would go on for ever.
    Loop {
        version: u64,
    },
    /// Nothing: it is held back until nobody else can go on.
    Held,
    /// All others that take a ticket: until nobody else can go on.
    Ticket,
    /// Those who go first at a lock or a queue: until nobody else can go on.
    Turn,
    /// An answer: a strong read whose value decides what happens, until nobody else can go on.
    Question,
}

/// The last unsuccessful question of a lane, to know a retry from a peek.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Asked {
    pub(super) pc: Pc,
    pub(super) address: u64,
    pub(super) state: u64,
    pub(super) effects: u32,
    pub(super) times: u32,
    /// Of an mbarrier.
    pub(super) question: Option<Question>,
}

#[derive(Clone)]
pub(super) struct Warp {
    pub(super) cta: Cta,
    /// The first thread of the warp, in the grid.
    pub(super) thread: u32,
    /// Where the shared memory of its CTA starts in that of the cluster.
    pub(super) shared_base: u64,
    pub(super) registers: Vec<[u64; 32]>,
    pub(super) taint: Vec<(u32, Taint)>,
    /// Of each register, the lanes that have not written it, or have computed it from such.
    pub(super) undefined: Vec<u32>,
    /// What registers depend on, where that matters.
    pub(super) dependencies: Option<Box<Dependencies>>,
    pub(super) carry: [u64; 32],
    /// What the carry depends on, and in which lanes it is not defined.
    pub(super) carry_taint: (u32, Taint),
    pub(super) carry_undefined: u32,
    pub(super) fragments: Vec<Fragment>,
    pub(super) exited: u32,
    /// The lanes that there are.
    pub(super) launched: u32,
    /// When each lane last did something that others see while it was apart from the rest of its warp.
    pub(super) apart: [u32; 32],
    pub(super) asked: Box<[Asked; 32]>,
    /// How many instructions with an effect each lane has executed.
    pub(super) effects: [u32; 32],
    /// An answer that a lane branched on, with what it must wait for before it does anything else.
    pub(super) owes: [Option<(u64, u64)>; 32],
    /// Lanes between a refusal and the same question again, and what they have changed meanwhile: the value before.
    pub(super) asking: u32,
    pub(super) changed: Vec<(Register, u32, u64)>,
    /// How much of that there was at the first question of a lane and at its last.
    pub(super) rounds: [(usize, usize); 32],
    pub(super) steps: u64,
    /// After how many of them it last did more than compute and read.
    pub(super) loud: u64,
    /// How often a fragment was chosen.
    pub(super) turns: u64,
    pub(super) lane_steps: u64,
    pub(super) groups: Groups,
    /// Each `setmaxnreg` of the warp: the instruction, and when.
    pub(super) limits: Vec<(Pc, u32)>,
    /// Lanes that arrived at the cluster barrier, and their phase.
    pub(super) cluster_arrived: u32,
    pub(super) cluster_phase: [u32; 32],
    /// Lanes whose next strong read need not wait.
    pub(super) admitted: u32,
    /// The operation of the pair of CTAs that the warp has come to, and the columns that it gets.
    pub(super) meeting: Option<u32>,
    pub(super) allocating: u32,
    /// What each lane's first question for the phase that it waits for would have told.
    pub(super) peeked: [Option<Question>; 32],
    /// Lanes that have asked for two phases and not waited.
    pub(super) several: u32,
    /// Lanes that have branched on an answer, and have not come to where the other answer leads.
    pub(super) joining: u32,
    pub(super) peeks: Vec<Peek>,
    /// Lanes that ask again after a while, and the registers that they may write meanwhile.
    pub(super) backed_off: Vec<(u32, Rc<[Register]>)>,
    /// Branches over computation whose two ways have not met yet.
    pub(super) parted: Vec<Parted>,
}

/// Where a lane would have gone with the other answer.
#[derive(Clone)]
pub(super) struct Peek {
    /// The branch, and the question whose answer decides it.
    pub(super) pc: Pc,
    pub(super) asked_by: Pc,
    pub(super) mask: u32,
    /// How much of what its lanes change was noted before the branch.
    pub(super) start: usize,
    /// Instructions on the other way, each with how many registers are written before it.
    pub(super) places: Rc<[(Pc, usize)]>,
    pub(super) written: Rc<[Register]>,
}

/// What a question would have told.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Question {
    pub(super) order: Order,
    pub(super) scope: Scope,
    /// With a parity: how many phases were known to be complete. The answer may be about another phase if it is not the one
    /// after those.
    pub(super) known: Option<u32>,
}

/// Lanes between a branch that is not determined and the place where both ways meet: what is written on either depends on it.
#[derive(Clone)]
pub(super) struct Parted {
    pub(super) meet: Pc,
    pub(super) mask: u32,
    pub(super) written: Rc<[Register]>,
    pub(super) taint: Taint,
    pub(super) undefined: u32,
}

/// One warp's part of a `wgmma`.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) struct Product {
    pub(super) pc: Pc,
    pub(super) strand: StrandId,
    /// The descriptors of A, if it has one, and B.
    pub(super) descriptors: [u64; 2],
}

/// Groups of asynchronous operations that nobody has waited for: of `cp.async` and bulk copies per lane, of `wgmma` and
/// `tcgen05` per warp.
#[derive(Clone, Default)]
pub(super) struct Groups {
    pub(super) open_copies: [Vec<StrandId>; 32],
    pub(super) copies: [VecDeque<Vec<StrandId>>; 32],
    pub(super) open_bulk: [Vec<StrandId>; 32],
    pub(super) bulk: [VecDeque<Vec<StrandId>>; 32],
    pub(super) wgmma_open: Vec<StrandId>,
    /// Every `wgmma` of the warp, how many of them are known to be complete, and whether others did not start their parts.
    pub(super) products: Vec<Product>,
    pub(super) products_done: usize,
    pub(super) parts_missing: bool,
    pub(super) registers: RegisterUse,
    pub(super) wgmma: Vec<Vec<StrandId>>,
    pub(super) tensor_loads: Vec<StrandId>,
    pub(super) tensor_stores: Vec<StrandId>,
    /// tcgen05 operations that a commit makes an arrival of, with their lane.
    pub(super) tensor: Vec<(StrandId, u32)>,
}

impl Warp {
    pub(super) fn new(cta: Cta, thread: u32, lanes: u32, registers: u32) -> Warp {
        Warp {
            cta,
            thread,
            shared_base: 0,
            registers: vec![[0; 32]; registers as usize],
            taint: vec![(0, 0); registers as usize],
            undefined: vec![u32::MAX; registers as usize],
            dependencies: None,
            carry: [0; 32],
            carry_taint: (0, 0),
            carry_undefined: u32::MAX,
            fragments: vec![Fragment { pc: 0, mask: lanes, blocked: None }],
            exited: !lanes,
            launched: lanes,
            apart: [0; 32],
            limits: Vec::new(),
            asked: Box::new([Asked::default(); 32]),
            effects: [0; 32],
            owes: [None; 32],
            asking: 0,
            changed: Vec::new(),
            rounds: [(0, 0); 32],
            steps: 0,
            loud: 0,
            turns: 0,
            lane_steps: 0,
            groups: Groups::default(),
            cluster_arrived: 0,
            cluster_phase: [0; 32],
            admitted: 0,
            meeting: None,
            allocating: 0,
            peeked: [None; 32],
            several: 0,
            joining: 0,
            peeks: Vec::new(),
            backed_off: Vec::new(),
            parted: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn get(&self, source: Source, lane: u32) -> u64 {
        match source {
            Source::Register(register) => self.registers[register as usize][lane as usize],
            Source::Constant(value) => value,
            Source::Shared(address) => self.shared_base | u64::from(address),
        }
    }

    #[inline]
    pub(super) fn set(&mut self, register: Register, lane: u32, value: u64) {
        let place = &mut self.registers[register as usize][lane as usize];
        if (self.asking | self.joining) & (1 << lane) != 0 && *place != value {
            self.changed.push((register, lane, *place));
        }
        *place = value;
    }

    /// From now on a lane's registers are watched until its wait is over: rounds may differ in number.
    pub(super) fn begin_rounds(&mut self, lane: u32) {
        self.asking |= 1 << lane;
        self.rounds[lane as usize] = (self.changed.len(), self.changed.len());
    }

    /// The registers that are others than at the last question.
    pub(super) fn end_round(&mut self, lane: u32) -> Vec<Register> {
        let (first, last) = self.rounds[lane as usize];
        self.rounds[lane as usize] = (first, self.changed.len());
        self.differing(lane, last)
    }

    /// The registers that are others than at the first question.
    pub(super) fn end_rounds(&mut self, lane: u32) -> Vec<Register> {
        if self.asking & (1 << lane) == 0 {
            return Vec::new();
        }
        let found = self.differing(lane, self.rounds[lane as usize].0);
        self.forget_rounds(1 << lane);
        found
    }

    pub(super) fn forget_rounds(&mut self, lanes: u32) {
        self.asking &= !lanes;
        self.forget_changes();
    }

    pub(super) fn forget_changes(&mut self) {
        if self.asking | self.joining == 0 {
            self.changed.clear();
        }
    }

    /// The registers of a lane that are others than when so many changes were noted.
    pub(super) fn differing(&self, lane: u32, since: usize) -> Vec<Register> {
        let mut seen: Vec<(Register, u64)> = Vec::new();
        for (register, _, old) in self.changed.get(since..).unwrap_or(&[]).iter().filter(|(_, own, _)| *own == lane) {
            if seen.iter().all(|(own, _)| own != register) {
                seen.push((*register, *old));
            }
        }
        let differs = |(register, old): &(Register, u64)| self.registers[*register as usize][lane as usize] != *old;
        seen.into_iter().filter(differs).map(|(register, _)| register).collect()
    }

    /// The lanes whose value depends on something beyond the launch.
    pub(super) fn tainted_lanes(&self, source: Source) -> u32 {
        match source {
            Source::Register(register) => self.taint[register as usize].0,
            Source::Constant(_) | Source::Shared(_) => 0,
        }
    }

    /// The lanes whose value is any: it was never written.
    #[inline]
    pub(super) fn undefined_lanes(&self, source: Source) -> u32 {
        match source {
            Source::Register(register) => self.undefined[register as usize],
            Source::Constant(_) | Source::Shared(_) => 0,
        }
    }

    /// What the value depends on, for any of these lanes, but for what [`Warp::undefined_lanes`] says.
    #[inline]
    pub(super) fn taint_of(&self, source: Source, lanes: u32) -> Taint {
        match source {
            Source::Register(register) => {
                let (mask, taint) = self.taint[register as usize];
                if mask & lanes != 0 { taint } else { 0 }
            }
            Source::Constant(_) | Source::Shared(_) => 0,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.fragments.is_empty()
    }

    /// Lanes that are not at their end.
    pub(super) fn alive(&self) -> u32 {
        !self.exited
    }
}

/// The lanes of a mask, one by one.
#[inline]
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = u32> {
    let mut left = mask;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let lane = left.trailing_zeros();
        left &= left - 1;
        Some(lane)
    })
}
