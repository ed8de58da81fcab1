//! Waits that may go as a whole: a loop that polls an mbarrier or a flag, a barrier in all of its threads at once.
//!
//! A wait with nothing behind it is left alone, here and in `space`. Tests are cut out of larger programs, and what such a wait is for was cut off.

use fencepost_check::test::Test;
use fencepost_program::ThreadId;
use fencepost_program::program::Place as Home;
use fencepost_syntax::Span;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Arch, Statement};
use fencepost_syntax::sorted::{SharedSort as _, SortedMap, SortedSet};

use super::place::{Effect, Level, Place, Weaker};
use crate::edit::{Change, Edit, scope_word};
use crate::fix::costs::Costs;
use crate::fix::space::{computes, plain};
use crate::fix::strength::Strength;
use crate::scene::anchor::instruction;
use crate::scene::slots::{Unit, UnitKind, units};
use crate::scene::statement::named;

/// Loops that wait and do nothing else, and waits for earlier grids.
pub(super) fn loops(test: &Test, costs: &Costs) -> Vec<Place> {
    let mut found = Vec::new();
    for (at, thread) in test.litmus.threads.iter().enumerate().filter(|(_, thread)| thread.arch == Arch::Ptx) {
        let (id, body) = (ThreadId(at as u32), &thread.body);
        let units = units(body);
        for unit in units.iter().filter(|unit| has_more(body, unit)) {
            if let Some(cost) = cost(body, unit, costs).filter(|_| is_free(body, &units, unit)) {
                found.push(removal(id, &body[unit.first..=unit.last], cost));
            }
        }
    }
    found
}

/// The registers that such loops write: what they hold is no result of the program.
pub(super) fn written(test: &Test) -> SortedSet<(ThreadId, String)> {
    let mut names = SortedSet::new();
    for (at, thread) in test.litmus.threads.iter().enumerate() {
        for unit in units(&thread.body).iter().filter(|unit| unit.kind == UnitKind::Loop) {
            let inside = thread.body[unit.first..=unit.last].iter().filter_map(instruction);
            names.extend(inside.flat_map(writes).map(|name| (ThreadId(at as u32), name)));
        }
    }
    names
}

/// Whether something behind it touches memory or orders it.
fn has_more(body: &[Statement], unit: &Unit) -> bool {
    touches(&body[unit.last + 1..])
}

/// Whether something among these statements touches memory or orders it.
pub(super) fn touches(statements: &[Statement]) -> bool {
    statements.iter().filter_map(instruction).any(|it| !computes(it))
}

/// Whether an instruction waits: for a phase, for copies, for products.
pub(super) fn is_wait(found: &Instruction) -> bool {
    let waits =
        |word: &str| matches!(word, "try_wait" | "test_wait" | "wait_group" | "wait_all") || word.starts_with("wait::");
    found.modifiers.iter().any(|word| waits(&word.node))
}

/// What a wait costs; None for what does anything but wait.
fn cost(body: &[Statement], unit: &Unit, costs: &Costs) -> Option<u32> {
    let inside = || body[unit.first..=unit.last].iter().filter_map(instruction);
    let has = |it: &Instruction, word: &str| it.modifiers.iter().any(|own| own.node == word);
    if unit.kind != UnitKind::Loop {
        let alone = inside().next()?;
        let waits = alone.opcode.node == "griddepcontrol" && has(alone, "wait");
        return waits.then(|| costs.of("griddepcontrol.wait", "-"));
    }
    let polls = |it: &Instruction| match it.opcode.node.as_str() {
        "mbarrier" => has(it, "try_wait") || has(it, "test_wait"),
        opcode => opcode == "ld",
    };
    let polled = inside().filter(|it| !computes(it)).collect::<Vec<_>>();
    if polled.is_empty() || !polled.iter().all(|it| polls(it)) {
        return None;
    }
    let words =
        |it: &&Instruction| Strength::of(it).map_or(0, |own| costs.of(own.row(), own.scope.map_or("-", scope_word)));
    Some(costs.of("mbarrier.wait", "-") + polled.iter().map(words).sum::<u32>())
}

/// Whether nothing outside uses a register that it writes: every other use has a write of its own before it, in the same
/// stretch without branches.
fn is_free(body: &[Statement], units: &[Unit], wait: &Unit) -> bool {
    let own: SortedSet<String> = body[wait.first..=wait.last].iter().filter_map(instruction).flat_map(writes).collect();
    let mut fresh: SortedSet<String> = SortedSet::new();
    for unit in units.iter().filter(|unit| *unit != wait) {
        if unit.kind != UnitKind::Instruction {
            fresh.clear();
        }
        for found in body[unit.first..=unit.last].iter().filter_map(instruction) {
            if reads(found).iter().any(|name| own.contains(name) && !fresh.contains(name)) {
                return false;
            }
            if found.guard.is_none() {
                fresh.extend(writes(found));
            }
        }
    }
    true
}

/// The registers that an instruction may write: its first operand, unless that is where it stores.
fn writes(found: &Instruction) -> Vec<String> {
    let mut names = Vec::new();
    if let Some(first) = found.operands.first().filter(|it| !matches!(it.node, Operand::Address(_))) {
        named(&first.node, &mut names);
    }
    names
}

fn reads(found: &Instruction) -> Vec<String> {
    let mut names: Vec<String> = found.guard.iter().map(|guard| guard.register.node.to_string()).collect();
    let is_source = |(at, operand): &(usize, &Operand)| *at > 0 || matches!(operand, Operand::Address(_));
    let operands = found.operands.iter().map(|operand| &operand.node).enumerate().filter(is_source);
    operands.for_each(|(_, operand)| named(operand, &mut names));
    names
}

/// The statements of a thread go.
fn removal(thread: ThreadId, statements: &[Statement], cost: u32) -> Place {
    let mut spans: Vec<(ThreadId, Span)> =
        statements.iter().filter_map(instruction).map(|it| (thread, it.span())).collect();
    // What is polled names the loop, not the label or the comparison.
    let waits = |span: &Span| statements.iter().filter_map(instruction).any(|it| it.span() == *span && !computes(it));
    spans.shared_sort_by_key(|(_, span)| !waits(span));
    let edits = statements.iter().map(|statement| remove(thread, statement)).collect();
    let options = vec![Weaker { edits, level: Level::GONE, saves: cost.max(1) }];
    Place { at: spans, cost, options, effect: Effect::ChangesPaths }
}

fn remove(thread: ThreadId, statement: &Statement) -> Edit {
    let span = match statement {
        Statement::Label(label) => label.span,
        Statement::Instruction { instruction, .. } => instruction.span(),
        Statement::C(statement) => statement.span,
    };
    plain(Change::Remove { thread, span })
}

/// Which barrier: of a CTA or a cluster, and its name there.
type Barrier = (&'static str, (u32, u32, u32), String);

/// Barriers that may go: the first, second and so on that each of the threads executes, where all execute as many.
pub(super) fn barriers(test: &Test, costs: &Costs) -> Vec<Place> {
    let mut used: SortedMap<Barrier, SortedMap<ThreadId, Vec<Vec<Span>>>> = SortedMap::new();
    for (at, thread) in test.litmus.threads.iter().enumerate().filter(|(_, thread)| thread.arch == Arch::Ptx) {
        let id = ThreadId(at as u32);
        let Some(home) = test.program.threads.get(at).map(|thread| thread.place) else { continue };
        for found in thread.body.iter().filter_map(instruction) {
            let Some((barrier, part)) = barrier(found, home) else { continue };
            let own = used.entry(barrier).or_default().entry(id).or_default();
            match (part, own.last_mut()) {
                (Part::Wait, Some(last)) if last.len() == 1 => last.push(found.span()),
                _ => own.push(vec![found.span()]),
            }
        }
    }
    let mut found = Vec::new();
    for ((kind, _, _), threads) in used {
        let rounds = threads.values().map(Vec::len).max().unwrap_or(0);
        if threads.len() < 2 || threads.values().any(|own| own.len() != rounds) {
            continue;
        }
        for round in 0..rounds {
            let at: Vec<(ThreadId, Span)> =
                threads.iter().flat_map(|(id, own)| own[round].iter().map(|span| (*id, *span))).collect();
            let cost = costs.of(kind, "-") * threads.len() as u32;
            let edits =
                at.iter().map(|(thread, span)| plain(Change::Remove { thread: *thread, span: *span })).collect();
            let options = vec![Weaker { edits, level: Level::GONE, saves: cost.max(1) }];
            found.push(Place { at, cost, options, effect: Effect::ChangesPaths });
        }
    }
    found
}

/// A half of a barrier of a cluster, or all of one of a CTA.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Part {
    Begin,
    Wait,
}

fn barrier(found: &Instruction, home: Home) -> Option<(Barrier, Part)> {
    let has = |word: &str| found.modifiers.iter().any(|own| own.node == word);
    let Home::Gpu { gpu, cluster, cta } = home else { return None };
    if !matches!(found.opcode.node.as_str(), "bar" | "barrier") || found.guard.is_some() || has("red") || has("warp") {
        return None;
    }
    if found.opcode.node == "barrier" && has("cluster") {
        let part = if has("wait") { Part::Wait } else { Part::Begin };
        return Some((("barrier.cluster", (gpu, cluster, 0), String::new()), part));
    }
    // A number that a register holds may be another one each time.
    let Some(Operand::Integer(number)) = found.operands.first().map(|operand| &operand.node) else { return None };
    Some((("bar.sync", (gpu, cluster, cta), number.to_string()), Part::Begin))
}
