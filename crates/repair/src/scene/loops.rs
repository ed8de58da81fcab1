//! The loops of a text that do more than to wait, and what their registers are.

use fencepost_program::ThreadId;
use fencepost_program::program::{self, Operation, Program};
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Litmus, Statement};

use crate::scene::anchor::{Anchor, Side, instruction};

/// From a label to the last branch back to it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Loop {
    pub(crate) thread: ThreadId,
    /// Of the thread's statements.
    pub(crate) first: usize,
    pub(crate) last: usize,
}

impl Loop {
    pub(crate) fn contains(&self, thread: ThreadId, at: usize) -> bool {
        self.thread == thread && (self.first..=self.last).contains(&at)
    }

    fn size(&self) -> usize {
        self.last - self.first
    }
}

/// Instructions that only compute, or decide where to go on.
const QUIET: &[&str] = &[
    "add",
    "and",
    "bfe",
    "bra",
    "cvt",
    "div",
    "lop3",
    "mad",
    "mov",
    "mul",
    "nanosleep",
    "not",
    "or",
    "rem",
    "selp",
    "setp",
    "shl",
    "shr",
    "sub",
    "xor",
];

pub(crate) fn loops_of(litmus: &Litmus) -> Vec<Loop> {
    let mut found = Vec::new();
    for (thread, own) in litmus.threads.iter().enumerate() {
        for (first, statement) in own.body.iter().enumerate() {
            let Statement::Label(label) = statement else { continue };
            let back = |at: &usize| own.body.get(*at).and_then(instruction).is_some_and(|it| goes_to(it, &label.node));
            let Some(last) = (first + 1..own.body.len()).rev().find(back) else { continue };
            if own.body.get(first..=last).unwrap_or_default().iter().filter_map(instruction).any(works) {
                found.push(Loop { thread: ThreadId(thread as u32), first, last });
            }
        }
    }
    found
}

/// Whether a thread may come to an instruction again, if only to wait.
pub(crate) fn goes_back(program: &Program) -> bool {
    let is_back = |(at, instruction): (usize, &program::Instruction)| match instruction.operation {
        Operation::Branch { target } | Operation::BranchIf { target, .. } => target.0 as usize <= at,
        _ => false,
    };
    program.threads.iter().any(|thread| thread.code.iter().enumerate().any(is_back))
}

pub(crate) fn innermost(loops: &[Loop], thread: ThreadId, at: usize) -> Option<Loop> {
    loops.iter().filter(|own| own.contains(thread, at)).min_by_key(|own| own.size()).copied()
}

fn goes_to(instruction: &Instruction, label: &str) -> bool {
    let is_label = |operand: &Operand| matches!(operand, Operand::Symbol(to) if to == label);
    instruction.opcode.node == "bra" && instruction.operands.iter().any(|operand| is_label(&operand.node))
}

/// Whether it is more than part of a wait.
fn works(instruction: &Instruction) -> bool {
    let has = |word: &str| instruction.modifiers.iter().any(|found| found.node == word);
    let asks = match instruction.opcode.node.as_str() {
        "mbarrier" => has("try_wait") || has("test_wait"),
        "ld" => ["acquire", "relaxed", "volatile"].into_iter().any(has),
        _ => false,
    };
    !asks && !is_quiet(instruction)
}

pub(crate) fn is_quiet(instruction: &Instruction) -> bool {
    QUIET.contains(&instruction.opcode.node.as_str())
}

/// The register that an instruction computes.
pub(crate) fn computed(instruction: &Instruction) -> Option<&str> {
    match &instruction.operands.first()?.node {
        Operand::Register(name) if is_quiet(instruction) && instruction.opcode.node != "bra" => Some(name),
        _ => None,
    }
}

/// The instructions of a loop, or of a whole thread.
pub(crate) fn inside(litmus: &Litmus, thread: ThreadId, within: Option<Loop>) -> Vec<(usize, &Instruction)> {
    let Some(own) = litmus.threads.get(thread.index()) else { return Vec::new() };
    let (first, last) = within.map_or((0, own.body.len()), |own| (own.first, own.last));
    let all = own.body.iter().enumerate().filter(|(at, _)| (first..=last).contains(at));
    all.filter_map(|(at, statement)| Some((at, instruction(statement)?))).collect()
}

/// `xor R, R, 1`, in any type.
pub(crate) fn flips(instruction: &Instruction, register: &str) -> bool {
    let is_register = |at: usize| is(instruction, at, register);
    let one = matches!(instruction.operands.get(2).map(|it| &it.node), Some(Operand::Integer(1)));
    instruction.opcode.node == "xor" && is_register(0) && is_register(1) && one
}

/// The same by anything: `xor R, R, S` with the stage in S turns over in every second round.
pub(crate) fn is_turned(instruction: &Instruction, register: &str) -> bool {
    instruction.opcode.node == "xor" && is(instruction, 0, register) && is(instruction, 1, register)
}

pub(crate) fn is(instruction: &Instruction, at: usize, register: &str) -> bool {
    matches!(instruction.operands.get(at).map(|it| &it.node), Some(Operand::Register(name)) if name == register)
}

/// A register that has a parity, and from which statement of the loop on it has that of this round.
pub(crate) struct Parity {
    pub(crate) register: String,
    pub(crate) from: usize,
}

/// Registers that are turned over in each round, and those that are the lowest bit of something.
pub(crate) fn parities(litmus: &Litmus, own: Loop) -> Vec<Parity> {
    let mut found: Vec<Parity> = Vec::new();
    for (at, instruction) in inside(litmus, own.thread, Some(own)) {
        let Some(register) = computed(instruction) else { continue };
        let masks = matches!(instruction.operands.last().map(|it| &it.node), Some(Operand::Integer(1)));
        let turned = flips(instruction, register);
        if !(turned || instruction.opcode.node == "and" && masks) {
            continue;
        }
        match found.iter_mut().find(|parity| parity.register == register) {
            // Turned over behind its computation.
            Some(known) => known.from = at,
            None => found.push(Parity { register: register.to_owned(), from: if turned { own.first } else { at } }),
        }
    }
    found
}

/// The register that counts the rounds.
pub(crate) fn counter(litmus: &Litmus, own: Loop) -> Option<String> {
    let counts = |instruction: &Instruction| {
        let register = computed(instruction)?;
        let one = matches!(instruction.operands.get(2).map(|it| &it.node), Some(Operand::Integer(1)));
        (instruction.opcode.node == "add" && is(instruction, 1, register) && one).then(|| register.to_owned())
    };
    inside(litmus, own.thread, Some(own)).into_iter().find_map(|(_, instruction)| counts(instruction))
}

/// Behind the last instruction of a round that does more than to compute.
pub(crate) fn tail(litmus: &Litmus, thread: ThreadId, own: Option<Loop>) -> Option<Anchor> {
    let all = inside(litmus, thread, own);
    let last = all.iter().rev().find(|(_, instruction)| !is_quiet(instruction)).or(all.last())?;
    Some(Anchor { thread, span: last.1.span(), side: Side::After })
}

/// The statement before which all rounds are to come: an outer loop does not start the phases anew.
pub(crate) fn head(loops: &[Loop], own: Loop) -> usize {
    let around = loops.iter().filter(|outer| outer.contains(own.thread, own.first));
    around.map(|outer| outer.first).min().unwrap_or(own.first)
}
