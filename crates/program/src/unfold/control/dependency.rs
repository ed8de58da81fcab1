//! Which branches an event depends on, and which an exit.
//!
//! An instruction under a guard is one behind a branch around it. Syntactically an event depends on all branches before it.
//! An implementation may remove a dependency in name only (PTX ISA 8.10.4): what is done on either way does not depend on
//! the branch. Where a model asks for real dependencies, a branch whose ways meet again ([`Join`]) is decided only for what
//! lies between: from there on what depends on it are the registers that one of the ways sets. And what both ways do alike
//! (the same instructions at their beginnings, or at their ends and with registers that neither set before) depends on it no
//! more than what is behind. All ways out of a thread meet at its end.
//!
//! A write that is on the other way and was not made is an event of its own kind where it would have come (see `omission`);
//! who depends on that is the model's to say.
//!
//! A way that need not come to the meeting point leaves everything behind to the branch: a jump back, a wait, and an access
//! through a register of unknown value, which may be one to nowhere, unless both ways have it. So a loop decides what
//! follows it. And so does a fence of any kind, an acquire, or a commit: what follows must not overtake it, and has to wait until it is
//! known whether it is there (docs/models/omission.md).
//!
//! An exit depends, in every model, on the branches that decide whether the thread gets there and which barriers it takes
//! part in before ([`leaves`]): all else that a way does happens or not beside an exit that comes in any case.

use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::ids::{RegisterId, ThreadId};
use crate::program::def_use::{defined, used};
use crate::program::{AddressOperand, Instruction, Operation, Program};
use crate::tag::{Tag, Tags};
use crate::unfold::Dependencies;
use crate::unfold::control::branch::Ways;
use crate::unfold::control::if_conversion::{self, Run};
use crate::unfold::run::dependency::Reads;

/// Where the ways of a branch meet.
#[derive(Clone, Default, Debug)]
pub(crate) struct Join {
    at: usize,
    /// Registers whose value there depends on the way.
    pub(crate) registers: SortedSet<RegisterId>,
    /// Instructions on the ways that both have.
    alike: SortedSet<usize>,
    /// By way, the others.
    pub(crate) apart: [SortedSet<usize>; 2],
    /// The ways are under guards (see `if_conversion`).
    is_converted: bool,
}

/// The joins of a thread, by branch.
#[derive(Clone, Debug)]
pub(crate) struct Joins {
    /// None where every branch decides all that follows.
    pub(crate) events: SortedMap<usize, Join>,
    /// Of the branches that do not decide whether or how the thread exits: where their ways meet.
    exits: SortedMap<usize, usize>,
    /// Where the predicate of a branch that was turned into guards is looked at again, for events and for the exit: that branch.
    parts: SortedMap<usize, usize>,
    exit_parts: SortedMap<usize, usize>,
    /// Where the thread ends.
    pub(crate) end: usize,
}

/// The reads that decided a branch so far.
#[derive(Clone, Default)]
pub(crate) struct Control {
    /// For whatever follows.
    lasting: Reads,
    /// Of branches whose ways have not met yet.
    pending: Vec<Pending>,
    /// For the exit: lasting, and of branches whose ways have not met yet.
    exit: Reads,
    before_exit: Vec<(usize, Reads)>,
}

#[derive(Clone)]
struct Pending {
    branch: usize,
    reads: Reads,
}

/// Whether the accesses on the ways of a branch, where it is decided, are known to be to memory of the program.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Accesses {
    Known,
    Anywhere,
}

impl Control {
    /// The reads that this instruction depends on.
    pub(crate) fn of(&self, at: usize, joins: &Joins) -> Reads {
        let is_alike = |branch: &usize| joins.events.get(branch).is_some_and(|join| join.alike.contains(&at));
        let pending = self.pending.iter().filter(|pending| !is_alike(&pending.branch));
        self.lasting.iter().chain(pending.flat_map(|pending| &pending.reads)).copied().collect()
    }

    /// Those that decided where the thread is, whatever the instruction.
    pub(crate) fn all(&self) -> Reads {
        self.lasting.iter().chain(self.pending.iter().flat_map(|pending| &pending.reads)).copied().collect()
    }

    /// Those that decided that the thread, which is at its end, has exited as it did.
    pub(crate) fn of_exit(&self) -> Reads {
        self.exit.iter().chain(self.before_exit.iter().flat_map(|(_, reads)| reads)).copied().collect()
    }

    /// A branch is taken or not, or an instruction under a guard done or not.
    pub(crate) fn decide(&mut self, branch: usize, reads: &Reads, joins: &Joins, accesses: Accesses) {
        if reads.is_empty() {
            return;
        }
        if self.is_part(branch, joins) {
            // Decided with the first.
        } else if joins.events.contains_key(&branch) && accesses == Accesses::Known {
            self.pending.push(Pending { branch, reads: reads.clone() });
        } else {
            self.lasting.extend(reads);
        }
        let is_of = |first: &usize| self.before_exit.iter().any(|(branch, _)| branch == first);
        if joins.exit_parts.get(&branch).is_some_and(is_of) {
            // So is this.
        } else if joins.exits.contains_key(&branch) {
            self.before_exit.push((branch, reads.clone()));
        } else {
            self.exit.extend(reads);
        }
    }

    /// Ends the branches whose ways meet there: for each, where that is and the reads that decided it.
    pub(crate) fn meet<'j>(&mut self, at: usize, joins: &'j Joins) -> Vec<(&'j Join, Reads)> {
        self.before_exit.retain(|(branch, _)| joins.exits.get(branch) != Some(&at));
        let mut met = Vec::new();
        for pending in std::mem::take(&mut self.pending) {
            match joins.events.get(&pending.branch).filter(|join| join.at == at) {
                Some(join) => met.push((join, pending.reads)),
                None => self.pending.push(pending),
            }
        }
        met
    }

    /// Whether this is part of a branch that was decided before and whose ways have not met yet.
    fn is_part(&self, at: usize, joins: &Joins) -> bool {
        let first = joins.parts.get(&at);
        first.is_some_and(|first| self.pending.iter().any(|pending| pending.branch == *first))
    }

    /// Whether what stands under the guard here stands on a way of such a branch, so that the guard adds nothing.
    pub(crate) fn is_converted(&self, at: usize, joins: &Joins) -> bool {
        let is_first = || joins.events.get(&at).is_some_and(|join| join.is_converted);
        self.is_part(at, joins) || (is_first() && self.pending.last().is_some_and(|pending| pending.branch == at))
    }
}

/// Where the ways of each branch of a thread meet, of those where they must.
pub(crate) fn joins(program: &Program, id: ThreadId, dependencies: Dependencies) -> Joins {
    let code = &program.threads[id.index()].code;
    let end = code.len();
    // Most threads of litmus tests run straight through.
    if (0..end).all(|at| code[at].guard.is_none() && ways(&code[at], at, end).is_none()) {
        let (events, exits) = (SortedMap::new(), SortedMap::new());
        return Joins { events, exits, parts: SortedMap::new(), exit_parts: SortedMap::new(), end };
    }
    let branches: Vec<(usize, Ways)> =
        (0..end).filter_map(|at| Some((at, Ways::new(code, at, ways(&code[at], at, end)?)?))).collect();
    let joined = |surely| branches.iter().filter_map(move |(at, ways)| Some((*at, join(code, ways, surely)?)));
    let events = match dependencies {
        Dependencies::Syntactic => SortedMap::new(),
        Dependencies::Real => joined(goes_on as Surely).collect(),
    };
    let exits = joined(leaves).map(|(at, join)| (at, join.at)).collect();
    let mut joins = Joins { events, exits, parts: SortedMap::new(), exit_parts: SortedMap::new(), end };
    for Run { heads, ways } in if_conversion::runs(code) {
        let Some((&first, others)) = heads.split_first() else { continue };
        let parts = || others.iter().map(|at| (*at, first));
        if let Some(join) = join(code, &ways, goes_on).filter(|_| dependencies == Dependencies::Real) {
            joins.events.insert(first, join);
            joins.parts.extend(parts());
        }
        if let Some(join) = join(code, &ways, leaves) {
            joins.exits.insert(first, join.at);
            joins.exit_parts.extend(parts());
        }
    }
    joins
}

/// Where it goes on if the condition fails and if it holds. The way through what is under a guard begins with itself.
fn ways(instruction: &Instruction, at: usize, end: usize) -> Option<(usize, usize)> {
    match (&instruction.operation, instruction.guard) {
        (Operation::BranchIf { target, .. }, None) | (Operation::Branch { target }, Some(_)) => {
            Some((at + 1, target.0 as usize))
        }
        (Operation::Exit, Some(_)) => Some((at + 1, end)),
        (Operation::BranchIf { .. }, Some(_)) | (_, None) => None,
        (_, Some(_)) => Some((at + 1, at)),
    }
}

/// Whether a thread goes on from an instruction, where these registers hold what was loaded on the way.
type Surely = fn(&Operation, &SortedSet<RegisterId>) -> bool;

/// Where the ways of a branch meet, if both surely get there but for what both have.
fn join(code: &[Instruction], ways: &Ways, surely: Surely) -> Option<Join> {
    let all = || ways.between.iter().flatten();
    let set: SortedSet<RegisterId> = all().flat_map(|at| defined(&code[*at].operation)).collect();
    let mut join = Join { at: ways.at, registers: set.clone(), is_converted: ways.is_converted, ..Join::default() };
    if let Some([one, other]) = &ways.straight {
        alike(code, one, other, &mut join);
    }
    let is_apart = |at: &usize| !join.alike.contains(at);
    join.apart = [0, 1].map(|way| ways.between[way].iter().copied().filter(is_apart).collect());
    let loaded = loaded(all().map(|at| &code[*at]));
    let goes_on = |at: &usize| join.alike.contains(at) || surely(&code[*at].operation, &loaded);
    all().all(goes_on).then_some(join)
}

/// The registers that these instructions set to what memory held, or to what they compute from that.
fn loaded<'c>(instructions: impl Iterator<Item = &'c Instruction> + Clone) -> SortedSet<RegisterId> {
    let is_local = |instruction: &Instruction| matches!(instruction.operation, Operation::Local { .. });
    let mut found = SortedSet::new();
    loop {
        let before = found.len();
        for instruction in instructions.clone() {
            if !is_local(instruction) || used(instruction).iter().any(|register| found.contains(register)) {
                found.extend(defined(&instruction.operation));
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Finds what both ways have.
fn alike(code: &[Instruction], one: &[usize], other: &[usize], join: &mut Join) {
    let is_converted = join.is_converted;
    let is_same = |(one, other): &(&usize, &usize)| {
        let (one, other) = (&code[**one], &code[**other]);
        (is_converted || one.guard == other.guard) && one.operation == other.operation
    };
    let begin = one.iter().zip(other).take_while(is_same).count();
    let rest = one.len().min(other.len()) - begin;
    let end = one.iter().rev().zip(other.iter().rev()).take(rest).take_while(is_same).count();
    join.alike.extend(one[..begin].iter().chain(&other[..begin]));
    join.registers.clear();
    for way in [one, other] {
        let between = &way[begin..way.len() - end];
        join.registers.extend(between.iter().flat_map(|at| defined(&code[*at].operation)));
    }
    for (one, other) in one[one.len() - end..].iter().zip(&other[other.len() - end..]) {
        let instruction = &code[*one];
        let is_apart = used(instruction).iter().any(|register| join.registers.contains(register));
        for register in defined(&instruction.operation) {
            if is_apart {
                join.registers.insert(register);
            } else if is_converted || instruction.guard.is_none() {
                join.registers.remove(&register);
            }
        }
        if !is_apart {
            join.alike.extend([*one, *other]);
        }
    }
}

/// Whatever is not known to leave memory alone may write it.
pub(crate) fn may_write(operation: &Operation) -> bool {
    let is_jump =
        matches!(operation, Operation::Branch { .. } | Operation::BranchIf { .. } | Operation::Exit | Operation::Trap);
    let is_local = matches!(operation, Operation::Barrier(_) | Operation::Local { .. } | Operation::Nothing);
    let is_read = matches!(operation, Operation::Load { .. } | Operation::VectorLoad { .. });
    !is_jump && !is_local && !is_read && !matches!(operation, Operation::Fence { .. })
}

/// Whether a thread surely goes on from it, if the address of an access is one, and what follows need not wait for it as it
/// must for a fence or an acquire.
fn goes_on(operation: &Operation, loaded: &SortedSet<RegisterId>) -> bool {
    let is_fixed = |address: &AddressOperand| match address {
        AddressOperand::Static(_) => true,
        AddressOperand::Register(register) => !loaded.contains(register),
    };
    let is_free = |address, tags: &Tags| is_fixed(address) && !tags.has(Tag::Acquire);
    match operation {
        Operation::Load { address, tags, assume: None, .. } | Operation::VectorLoad { address, tags, .. } => {
            is_free(address, tags)
        }
        Operation::ReadModifyWrite { address, read_tags, assume: None, .. } => is_free(address, read_tags),
        Operation::Store { address, .. } | Operation::VectorStore { address, .. } => is_fixed(address),
        Operation::VectorUpdate(update) => is_free(&update.address, &update.read_tags),
        Operation::Local { .. } | Operation::Nothing => true,
        Operation::Branch { .. } | Operation::BranchIf { .. } | Operation::Exit => true,
        _ => false,
    }
}

/// Whether it neither keeps a thread from its end nor lets it take part in a barrier. An access to nowhere ends the whole
/// program.
fn leaves(operation: &Operation, _: &SortedSet<RegisterId>) -> bool {
    match operation {
        Operation::Load { assume, .. } | Operation::ReadModifyWrite { assume, .. } => assume.is_none(),
        Operation::Barrier(_) | Operation::MbarrierWait(_) | Operation::Mark { .. } | Operation::Trap => false,
        _ => true,
    }
}
