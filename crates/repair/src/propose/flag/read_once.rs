//! A flag that is looked at once, or a lock that is tried once: release and acquire are there, and the acquire need not observe
//! the release (PTX ISA 8.8). What is missing is the branch back to it, and where nothing looks at what was read, the comparison.

use fencepost_check::look::outcome;
use fencepost_program::program::Term;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::piece::Piece;
use fencepost_report::reason::{Meeting, Strength};
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::Statement;
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::{Span, Spanned};

use crate::edit::apply::{Work, parsed};
use crate::edit::{Again, Change, Edit, Semantics};
use crate::propose::flag::unread;
use crate::propose::wait::value;
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, instruction, position};
use crate::scene::statement::{Here, instructions};

const COST: u32 = 0;
/// How far behind the access its result is compared.
const NEAR: usize = 3;
/// Changes that are tried for one race.
const MOST: usize = 8;
const LABEL: &str = "AGAIN";

impl Again {
    pub(crate) fn place(&self) -> (ThreadId, Span) {
        (self.thread, self.access)
    }

    fn anchor(&self) -> Anchor {
        Anchor { thread: self.thread, span: self.compared, side: Side::After }
    }

    pub(crate) fn apply(&self, work: &mut Work) -> Option<()> {
        let at = position(&work.litmus, self.thread, self.access)?;
        let label = label(&work.litmus.threads.get(self.thread.index())?.body, at);
        let own = label.clone().unwrap_or_else(|| format!("{LABEL}{at}"));
        if label.is_none() {
            work.put_before(self.thread, at, vec![Statement::Label(Spanned::new(own.clone(), Span::default()))])?;
        }
        let compares = self.compares.as_ref().map_or(String::new(), |compares| format!("{compares};\n"));
        work.put(&self.anchor(), parsed(&format!("{compares}{} bra {own};", self.guard))?)
    }

    pub(crate) fn piece(&self, scene: &Scene<'_>) -> Piece {
        let body = scene.body(self.thread);
        let at = position(&scene.test.litmus, self.thread, self.access).unwrap_or_default();
        let compares = self.compares.as_ref().map_or(String::new(), |compares| format!("{compares}; "));
        Piece::Repeated {
            access: scene.site_at(self.thread, self.access),
            branch: format!("{compares}{} bra", self.guard),
            label: label(body, at),
            place: scene.spot(&self.anchor()),
        }
    }
}

/// The label right before a statement.
fn label(body: &[Statement], at: usize) -> Option<String> {
    match body.get(at.checked_sub(1)?)? {
        Statement::Label(label) => Some(label.node.clone()),
        Statement::Instruction { .. } | Statement::C(_) => None,
    }
}

/// Each with both ways to decide whether to try again, the likelier first; those of the two threads before others.
pub(crate) fn likely(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Edit> {
    let mut found: Vec<(bool, Edit)> = Vec::new();
    for (here, compared, predicate) in undecided(scene) {
        let of_pair = [pair.0, pair.1].iter().any(|id| scene.thread(*id) == Some(here.thread));
        for guard in guards(compared, &predicate) {
            found.push((!of_pair, edit(scene, here, compared, guard)));
        }
    }
    found.shared_sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, edit)| edit).take(MOST).collect()
}

/// All of them: a lock that nobody tries again. What is not needed is left out again.
pub(crate) fn together(scene: &Scene<'_>) -> Vec<Edit> {
    let one = |(here, compared, predicate): (Here<'_>, &Instruction, String)| {
        let guard = guards(compared, &predicate).into_iter().next()?;
        Some(edit(scene, here, compared, guard))
    };
    let found: Vec<Edit> = undecided(scene).into_iter().filter_map(one).collect();
    if (2..=MOST).contains(&found.len()) { found } else { Vec::new() }
}

/// Most compare for what they wait for not to be there yet.
fn guards(compared: &Instruction, predicate: &str) -> [String; 2] {
    let (plain, negated) = (format!("@{predicate}"), format!("@!{predicate}"));
    let is_reached = compared.modifiers.first().is_some_and(|word| matches!(word.node.as_str(), "eq" | "ge"));
    if is_reached { [negated, plain] } else { [plain, negated] }
}

fn edit(scene: &Scene<'_>, here: Here<'_>, compared: &Instruction, guard: String) -> Edit {
    let at = here.site(scene);
    let reason = match here.opcode() {
        "ld" => Meeting::FlagReadOnce { read: at },
        _ => Meeting::LockTriedOnce { attempt: at },
    };
    let (thread, access, compared) = (here.thread, here.span(), compared.span());
    let again = Again { thread, access, compared, compares: None, guard };
    Edit::new(Change::Again(again), reason, sections::PATTERNS, COST)
}

/// Flags that are read once, and nothing looks at what was read. A read that is no acquire is to become one too: what stands
/// behind it may do that, and then it is left out again.
pub(crate) fn unlooked(scene: &Scene<'_>) -> Vec<Vec<Edit>> {
    let loads =
        instructions(scene).into_iter().filter(|here| here.opcode() == "ld" && here.instruction.guard.is_none());
    loads.filter_map(|here| unseen(scene, here)).take(MOST).collect()
}

/// Whether a question of the test, or its filter, looks at the register: litmus tests read a flag once and ask what it was.
fn is_asked(scene: &Scene<'_>, thread: ThreadId, register: &str) -> bool {
    let program = &scene.test.program;
    let own = program.threads.get(thread.index()).map_or(&[][..], |own| own.registers.as_slice());
    outcome::terms(program).into_iter().any(|term| match term {
        Term::Register(of, id) => of == thread && own.get(id.index()).is_some_and(|own| own.name == register),
        Term::Constant(_) | Term::Memory(_) => false,
    })
}

fn unseen(scene: &Scene<'_>, here: Here<'_>) -> Option<Vec<Edit>> {
    let Operand::Register(result) = &here.instruction.operands.first()?.node else { return None };
    let body = scene.body(here.thread);
    let behind = body.iter().skip(here.at + 1).filter_map(instruction);
    let mut uses = behind.map_while(|it| (!computes(it, result)).then(|| reads(it, result)));
    if uses.any(|reads| reads) || is_asked(scene, here.thread, result) {
        return None;
    }
    let own = scene.main_events(here.thread);
    let read = own.into_iter().find(|id| scene.event(*id).span == here.span() && scene.has(*id, Tag::Read))?;
    let tells = |write: &EventId| {
        let elsewhere = scene.thread(*write).is_some_and(|thread| thread != here.thread);
        let same = scene.has(*write, Tag::Write) && scene.event(*write).location() == scene.event(read).location();
        elsewhere && same && unread::is_flag(scene, *write, read)
    };
    let write = scene.execution.events.iter().copied().find(tells)?;
    let awaited = value(scene, unread::awaited(scene, write, here.thread)?)?;
    let bits = here.instruction.modifiers.iter().rev().find_map(|word| unread::bits(&word.node))?;
    let (own, told) = (here.site(scene), scene.site(write));
    let reason = Meeting::ResultNotCompared { read: own.clone(), register: result.to_string(), write: told };
    let again = Again {
        thread: here.thread,
        access: here.span(),
        compared: here.span(),
        compares: Some(format!("setp.ne.u{bits} %again, {result}, {awaited}")),
        guard: "@%again".to_owned(),
    };
    let mut edits = vec![Edit::new(Change::Again(again), reason, sections::PATTERNS, COST)];
    if !here.has("acquire") {
        let (semantics, scope) = (Some(Semantics::Acquire), Some(scene.common(write, read)));
        let change = Change::Strengthen { thread: here.thread, span: here.span(), semantics, scope };
        let reason = if is_strong(&here) { Strength::Relaxed { at: own } } else { Strength::Weak { at: own } };
        edits.push(Edit::new(change, reason, sections::PATTERNS, COST));
    }
    Some(edits)
}

/// Strong reads whose result is compared, and nothing is made of the comparison.
fn undecided<'s>(scene: &'s Scene<'_>) -> Vec<(Here<'s>, &'s Instruction, String)> {
    let mut found = Vec::new();
    for here in instructions(scene).into_iter().filter(|here| here.instruction.guard.is_none() && is_strong(here)) {
        let Some(Operand::Register(result)) = here.instruction.operands.first().map(|it| &it.node) else { continue };
        let body = scene.body(here.thread);
        let Some(at) = position(&scene.test.litmus, here.thread, here.span()) else { continue };
        let near = body.iter().enumerate().skip(at + 1).take(NEAR);
        let compares = |(at, statement): (usize, &'s Statement)| {
            let it = instruction(statement)?;
            let uses = it.operands.iter().skip(1).any(|operand| operand.node == Operand::Register(result.clone()));
            (it.opcode.node == "setp" && uses && it.guard.is_none()).then_some((at, it))
        };
        let Some((at, compared)) = near.filter_map(compares).next() else { continue };
        let Some(Operand::Register(predicate)) = compared.operands.first().map(|it| &it.node) else { continue };
        let behind = body.iter().skip(at + 1).filter_map(instruction);
        // Until it is computed anew.
        let uses = behind.map_while(|it| (!computes(it, predicate)).then(|| reads(it, predicate)));
        if !uses.into_iter().any(|reads| reads) {
            found.push((here, compared, predicate.to_string()));
        }
    }
    found
}

fn is_strong(here: &Here<'_>) -> bool {
    match here.opcode() {
        "ld" => ["acquire", "relaxed", "volatile", "mmio"].into_iter().any(|word| here.has(word)),
        "atom" => true,
        _ => false,
    }
}

fn is(operand: &Operand, register: &str) -> bool {
    match operand {
        Operand::Register(name) => name == register,
        Operand::Negated(inner) => is(&inner.node, register),
        Operand::Pair(one, other) => is(&one.node, register) || is(&other.node, register),
        _ => false,
    }
}

/// Without reading it.
fn computes(instruction: &Instruction, register: &str) -> bool {
    instruction.operands.first().is_some_and(|it| is(&it.node, register)) && !reads(instruction, register)
}

fn reads(instruction: &Instruction, register: &str) -> bool {
    let guarded = instruction.guard.as_ref().is_some_and(|guard| guard.register.node == register);
    guarded || instruction.operands.iter().skip(1).any(|operand| is(&operand.node, register))
}
