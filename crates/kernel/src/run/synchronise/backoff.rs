//! Loops that ask an mbarrier again, sooner or later: how often they have asked, or how long, decides whether they sleep.
//!
//! A branch that depends on time matters only if its ways differ in what they do. If all of them lead back to the question that
//! the lane has just asked, after nothing but computation, clocks and sleep, and none changes what is asked, then the lane waits
//! either way. Which registers were written on the way depends on time.

use std::rc::Rc;

use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::code::Instruction;
use crate::code::op::{Op, Pc, Register};
use crate::run::Run;
use crate::run::warp::lanes;

/// Ways are followed over so many instructions.
const LONGEST: usize = 256;

impl Run<'_> {
    /// Whether whatever this branch decides, these lanes do nothing but ask again what they have asked.
    pub(in crate::run) fn only_asks_again(&mut self, warp: usize, pc: Pc, mask: u32) -> bool {
        let own = &self.warps[warp];
        let asks = |lane: u32| {
            let asked = &own.asked[lane as usize];
            let open = asked.times > 0 && asked.question.is_some() && asked.effects == own.effects[lane as usize];
            open.then_some(asked.pc)
        };
        let mut questions = lanes(mask).map(asks);
        let Some(Some(question)) = questions.next() else { return false };
        if !questions.all(|other| other == Some(question)) {
            return false;
        }
        let Some(written) = self.ways_back(pc, question) else { return false };
        self.warps[warp].backed_off.push((mask, written));
        true
    }

    /// The registers that are written on the ways from this branch to the question; None if one leads elsewhere.
    fn ways_back(&mut self, branch: Pc, question: Pc) -> Option<Rc<[Register]>> {
        let code = Rc::clone(&self.code);
        let find = || ways_back(&code, branch, question).map(Rc::from);
        self.ways_back.entry((branch, question)).or_insert_with(find).clone()
    }

    /// The wait of a lane is over: which of these registers it has written is a matter of time.
    pub(in crate::run) fn end_backing_off(&mut self, warp: usize, lane: u32) -> Vec<Register> {
        let own = &mut self.warps[warp].backed_off;
        let mut found = Vec::new();
        for (mask, written) in own.iter_mut().filter(|(mask, _)| mask & (1 << lane) != 0) {
            *mask &= !(1 << lane);
            found.extend(written.iter().copied());
        }
        own.retain(|(mask, _)| *mask != 0);
        found
    }
}

fn ways_back(code: &[Instruction], branch: Pc, question: Pc) -> Option<Vec<Register>> {
    let asked = &code[question as usize].registers;
    let (mut ways, mut open, mut written) = (SortedMap::new(), vec![branch], Vec::new());
    while let Some(pc) = open.pop() {
        if pc == question || ways.contains_key(&pc) {
            continue;
        }
        let instruction = code.get(pc as usize).filter(|_| ways.len() < LONGEST)?;
        let mut next = vec![pc + 1];
        match (&instruction.op, instruction.op.computed()) {
            (Op::Branch { to }, _) if instruction.guard.is_some() => next.push(*to),
            (Op::Branch { to }, _) => next = vec![*to],
            (Op::Nothing, _) => {}
            (Op::Clock { to }, _) => written.push(*to),
            (_, Some(registers)) => written.extend(registers),
            _ => return None,
        }
        open.extend(&next);
        ways.insert(pc, next);
    }
    // No loop is among them that may go round for ever.
    while let Some(pc) = ways.iter().find(|(_, next)| next.iter().all(|to| !ways.contains_key(to))).map(|(pc, _)| *pc) {
        ways.remove(&pc);
    }
    if !ways.is_empty() {
        return None;
    }
    // What is asked, and whether, stays as it is.
    let guard = code[question as usize].guard.map(|guard| guard.register);
    let changes = |register: &Register| asked.contains(register) || guard == Some(*register);
    (!written.iter().any(changes)).then_some(written)
}

/// Whether one way from the branch leads to the question, after nothing but computation, clocks and sleep.
pub(in crate::run) fn may_lead_back(code: &[Instruction], branch: Pc, question: Pc) -> bool {
    let (mut seen, mut open) = (SortedSet::new(), vec![branch]);
    while let Some(pc) = open.pop() {
        if pc == question {
            return true;
        }
        let Some(instruction) = code.get(pc as usize).filter(|_| seen.len() < LONGEST && seen.insert(pc)) else {
            continue;
        };
        match (&instruction.op, instruction.op.computed()) {
            (Op::Branch { to }, _) if instruction.guard.is_some() => open.extend([pc + 1, *to]),
            (Op::Branch { to }, _) => open.push(*to),
            (Op::Nothing | Op::Clock { .. }, _) | (_, Some(_)) => open.push(pc + 1),
            _ => {}
        }
    }
    false
}
