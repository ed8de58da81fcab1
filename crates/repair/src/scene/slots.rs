//! The places of a thread where an instruction may be put or moved to without entering or leaving a loop or a branch: a
//! loop that waits is passed as a whole, any other label or branch is not passed.

use fencepost_program::ThreadId;
use fencepost_report::piece::{self, Gap, Spot};
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Litmus, Statement};
use fencepost_syntax::sorted::SharedSort as _;

use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, instruction};

/// Statements that stay together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Unit {
    /// Of its statements.
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) kind: UnitKind,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum UnitKind {
    Instruction,
    /// A label, what it waits for, and the branch back.
    Loop,
    /// Nothing is moved over it.
    Wall,
}

/// Statements of a loop that only waits.
const SHORT: usize = 5;

pub(crate) fn units(body: &[Statement]) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut at = 0;
    while let Some(statement) = body.get(at) {
        let (last, kind) = match statement {
            Statement::Label(label) => match loop_end(body, at, &label.node) {
                Some(last) => (last, UnitKind::Loop),
                None if body.iter().filter_map(instruction).any(|found| goes_to(found, &label.node)) => {
                    (at, UnitKind::Wall)
                }
                // Nothing comes from elsewhere.
                None => (at, UnitKind::Instruction),
            },
            Statement::Instruction { instruction, .. } if !leaves(instruction) => (at, UnitKind::Instruction),
            Statement::Instruction { .. } | Statement::C(_) => (at, UnitKind::Wall),
        };
        units.push(Unit { first: at, last, kind });
        at = last + 1;
    }
    units
}

/// Where something beside this anchor is put: the statement and the side. What belongs before or behind a loop that waits
/// does not belong into it.
pub(crate) fn settled(litmus: &Litmus, anchor: &Anchor) -> Option<(usize, Side)> {
    let at = crate::scene::anchor::position(litmus, anchor.thread, anchor.span)?;
    let body = &litmus.threads.get(anchor.thread.index())?.body;
    let waits = |unit: &&Unit| unit.kind == UnitKind::Loop && (unit.first..=unit.last).contains(&at);
    let at = units(body).iter().find(waits).map_or(at, |unit| match anchor.side {
        Side::Before => unit.first,
        Side::After => unit.last,
    });
    Some((at, anchor.side))
}

/// Before the fences that stand right before this place; None where there are none.
pub(crate) fn before_fences(litmus: &Litmus, anchor: &Anchor) -> Option<Anchor> {
    let (at, side) = settled(litmus, anchor)?;
    let body = &litmus.threads.get(anchor.thread.index())?.body;
    let end = if side == Side::After { at + 1 } else { at };
    let is_fence = |it: &&Instruction| {
        let fences = it.modifiers.iter().any(|word| word.node.starts_with("fence::"));
        it.opcode.node == "fence" || it.opcode.node == "tcgen05" && fences
    };
    let before = body.get(..end)?.iter().rev().map_while(|statement| instruction(statement).filter(is_fence));
    before.last().map(|it| Anchor { thread: anchor.thread, span: it.span(), side: Side::Before })
}

/// Where the short loop ends that starts with this label.
pub(crate) fn loop_end(body: &[Statement], label_at: usize, label: &str) -> Option<usize> {
    for (at, statement) in body.iter().enumerate().skip(label_at + 1).take(SHORT) {
        let found = instruction(statement)?;
        if has_effect(found) {
            return None;
        }
        if leaves(found) {
            return goes_to(found, label).then_some(at);
        }
    }
    None
}

/// Whether a loop with it does more than to wait, or to try again.
fn has_effect(instruction: &Instruction) -> bool {
    let arrives = |word: &str| matches!(word, "arrive" | "arrive_drop" | "expect_tx" | "complete_tx");
    // Of x86, what writes to memory names that first.
    let is_address_first = matches!(instruction.operands.first(), Some(it) if matches!(it.node, Operand::Address(_)));
    match instruction.opcode.node.to_ascii_lowercase().as_str() {
        "cmp" | "test" => false,
        _ if is_address_first => true,
        "bar" | "barrier" | "cp" | "red" | "st" | "tcgen05" | "wgmma" => true,
        "mbarrier" => instruction.modifiers.iter().any(|word| arrives(&word.node)),
        _ => false,
    }
}

fn goes_to(instruction: &Instruction, label: &str) -> bool {
    let is_label = |operand: &Operand| matches!(operand, Operand::Symbol(to) if to == label);
    leaves(instruction) && instruction.operands.iter().any(|operand| is_label(&operand.node))
}

/// Whether a thread may go elsewhere here: the jumps of PTX, of Dartagnan's dialect and of x86.
pub(crate) fn leaves(instruction: &Instruction) -> bool {
    match instruction.opcode.node.to_ascii_lowercase().as_str() {
        "bra" | "brx" | "ret" | "exit" | "call" | "trap" | "goto" | "beq" | "bne" => true,
        other => other.starts_with('j'),
    }
}

/// A place on the way, and the statements that are passed to get there.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    pub(crate) anchor: Anchor,
    pub(crate) passed: Vec<usize>,
}

/// Where the instruction at this position may go, at most so many units away, the nearest first.
pub(crate) fn course(litmus: &Litmus, thread: ThreadId, statement: usize, most: usize) -> Option<Vec<Stop>> {
    let body = &litmus.threads.get(thread.index())?.body;
    let units = units(body);
    let own = units.iter().position(|unit| unit.first == statement)?;
    let mut to = Vec::new();
    for side in [Side::After, Side::Before] {
        let way: Vec<&Unit> = match side {
            Side::After => units.iter().skip(own + 1).collect(),
            Side::Before => units.iter().take(own).rev().collect(),
        };
        let mut passed = Vec::new();
        for unit in way.into_iter().take(most).take_while(|unit| unit.kind != UnitKind::Wall) {
            passed.extend(unit.first..=unit.last);
            to.extend(anchor(body, thread, unit, side).map(|anchor| Stop { anchor, passed: passed.clone() }));
        }
    }
    to.shared_sort_by_key(|stop| stop.passed.len());
    Some(to)
}

fn anchor(body: &[Statement], thread: ThreadId, unit: &Unit, side: Side) -> Option<Anchor> {
    let mut inside = body.get(unit.first..=unit.last)?.iter().filter_map(instruction);
    let beside = match side {
        Side::Before => inside.next(),
        Side::After => inside.next_back(),
    };
    Some(Anchor { thread, span: beside?.span(), side })
}

/// Places near another one, itself left out: the nearest first.
pub(crate) fn near(litmus: &Litmus, from: &Anchor, most: usize) -> Vec<Anchor> {
    let Some(at) = crate::scene::anchor::position(litmus, from.thread, from.span) else { return Vec::new() };
    let Some(body) = litmus.threads.get(from.thread.index()).map(|thread| &thread.body) else { return Vec::new() };
    let units = units(body);
    let Some(own) = units.iter().position(|unit| unit.first <= at && at <= unit.last) else { return Vec::new() };
    // Behind so many of the units.
    let here = if from.side == Side::After { own + 1 } else { own };
    let mut found: Vec<(usize, Anchor)> = Vec::new();
    for place in 0..=units.len() {
        let distance = place.abs_diff(here);
        let between = units.get(place.min(here)..place.max(here)).unwrap_or_default();
        let walled = between.iter().any(|unit| unit.kind == UnitKind::Wall);
        if distance == 0 || distance > most || walled {
            continue;
        }
        let beside = match place.checked_sub(1).and_then(|before| units.get(before)) {
            Some(unit) if unit.kind != UnitKind::Wall => anchor(body, from.thread, unit, Side::After),
            _ => units.get(place).and_then(|unit| anchor(body, from.thread, unit, Side::Before)),
        };
        found.extend(beside.map(|anchor| (distance, anchor)));
    }
    found.shared_sort_by_key(|(distance, _)| *distance);
    found.into_iter().map(|(_, anchor)| anchor).collect()
}

impl Scene<'_> {
    /// Between which lines of a thread a place lies.
    pub(crate) fn spot(&self, anchor: &Anchor) -> Spot {
        let litmus = &self.test.litmus;
        let own = self.test.source.position(anchor.span.start).line;
        let side = if anchor.side == Side::Before { piece::Side::Before } else { piece::Side::Behind };
        let body = litmus.threads.get(anchor.thread.index()).map(|thread| &thread.body);
        let spot = |at: Gap| Spot { thread: self.thread_name(anchor.thread).to_owned(), at };
        let (Some(body), Some((at, settled))) = (body, settled(litmus, anchor)) else {
            return spot(Gap::Line { side, line: own });
        };
        let gap = at + usize::from(settled == Side::After);
        let (before, after) = (gap.checked_sub(1).and_then(|at| body.get(at)), body.get(gap));
        spot(match (before.map(|it| self.line_of(it)), after.map(|it| self.line_of(it))) {
            (Some(above), Some(below)) if above != below => Gap::Between { above, below },
            (Some(line), Some(_)) => match before {
                Some(Statement::Label(label)) => Gap::BehindLabel { label: label.node.clone(), line },
                _ => Gap::Beside { side, text: self.test.instruction_text(anchor.span), line: own },
            },
            (None, Some(line)) => Gap::Line { side: piece::Side::Before, line },
            (Some(line), None) => Gap::Line { side: piece::Side::Behind, line },
            (None, None) => Gap::Anywhere,
        })
    }

    pub(crate) fn line_of(&self, statement: &Statement) -> u32 {
        let span = match statement {
            Statement::Label(label) => label.span,
            Statement::Instruction { instruction, .. } => instruction.span(),
            Statement::C(statement) => statement.span,
        };
        self.test.source.position(span.start).line
    }
}
