//! The same test with more rounds, or with fewer. A change that is right in as many rounds as the test has, and wrong in the
//! next, only puts the trouble off, as a wait with one parity does. Fewer rounds refute most guesses at little cost: the work
//! grows with the number of rounds by far more than they do.

use fencepost_program::sections;
use fencepost_report::reason::Parity;
use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Litmus, Statement};
use fencepost_syntax::short::ShortText;

use crate::edit::{Change, Edit};
use crate::scene::Scene;
use crate::scene::anchor::instruction;
use crate::scene::loops::{self, Loop, inside, is};
use crate::scene::mbarrier_uses::Uses;
use crate::scene::site::number;

/// How many mbarriers a ring of the test has.
pub(crate) fn stages(scene: &Scene<'_>) -> i128 {
    Uses::new(scene).most_stages() as i128
}

/// The same test with fewer rounds, if it has more than enough to use each stage again.
pub(crate) fn shorter(litmus: &Litmus, stages: i128) -> Option<Litmus> {
    let ends = ends(litmus)?;
    let enough = stages + 1;
    ends.iter().all(|end| end.number > enough).then(|| with(litmus, &ends, enough))?
}

/// The same test with more rounds, if it has too few to use each stage in both phases and the first in a third: with as many
/// a parity that does not follow the phases is wrong in some round.
pub(crate) fn longer(litmus: &Litmus, stages: i128) -> Option<Litmus> {
    let ends = ends(litmus)?;
    let enough = 2 * stages + 1;
    let number = ends.first().map(|end| end.number)?;
    (number < enough).then(|| with(litmus, &ends, enough.min(number + stages)))?
}

/// Loops of several threads that do not count to the same number: each to that of another.
pub(crate) fn apart(scene: &Scene<'_>) -> Vec<Edit> {
    let litmus = &scene.test.litmus;
    let ends: Vec<End> = outer(litmus).into_iter().filter_map(|own| end(litmus, own)).collect();
    let mut found = Vec::new();
    for end in &ends {
        let others = ends.iter().filter(|other| other.own.thread != end.own.thread && other.number != end.number);
        let thread = end.own.thread;
        let body = litmus.threads.get(thread.index()).map(|thread| &thread.body);
        let Some(compares) = body.and_then(|body| body.get(end.at)).and_then(instruction) else { continue };
        let text = scene.test.instruction_text(compares.span());
        let Some((head, _)) = text.rsplit_once(',') else { continue };
        for other in others {
            let reason = Parity::LoopsCountApart {
                counts: scene.site_at(thread, compares.span()),
                number: number(end.number),
                other: scene.thread_named(other.own.thread),
                its: number(other.number),
            };
            let by = format!("{head}, {};", other.number);
            let change = Change::Replace { thread, span: compares.span(), by };
            found.push(Edit::new(change, reason, sections::MBARRIER, 0));
        }
    }
    found
}

/// What ends a counted loop: the comparison, and the number.
struct End {
    own: Loop,
    at: usize,
    number: i128,
}

/// Of all loops. None where they do not count to the same number, or threads use mbarriers outside of loops too: more rounds of
/// some without others would be another program.
fn ends(litmus: &Litmus) -> Option<Vec<End>> {
    let outer = outer(litmus);
    let ends = outer.iter().map(|own| end(litmus, *own)).collect::<Option<Vec<End>>>()?;
    let number = ends.first().map(|end| end.number)?;
    (ends.iter().all(|end| end.number == number) && is_inside(litmus, &outer)).then_some(ends)
}

/// Loops that are in no other.
fn outer(litmus: &Litmus) -> Vec<Loop> {
    let loops = loops::loops_of(litmus);
    let is_outer = |own: &&Loop| !loops.iter().any(|other| *other != **own && other.contains(own.thread, own.first));
    loops.iter().filter(is_outer).copied().collect()
}

fn with(litmus: &Litmus, ends: &[End], number: i128) -> Option<Litmus> {
    let mut changed = litmus.clone();
    for end in ends {
        let body = &mut changed.threads.get_mut(end.own.thread.index())?.body;
        let Statement::Instruction { instruction, .. } = body.get_mut(end.at)? else { return None };
        instruction.operands.last_mut()?.node = Operand::Integer(number);
    }
    Some(changed)
}

fn end(litmus: &Litmus, own: Loop) -> Option<End> {
    let counter = loops::counter(litmus, own)?;
    let number = |instruction: &Instruction| match instruction.operands.last()?.node {
        Operand::Integer(number) if instruction.opcode.node == "setp" && is(instruction, 1, &counter) => Some(number),
        _ => None,
    };
    let mut all = inside(litmus, own.thread, Some(own)).into_iter();
    let found = all.find_map(|(at, instruction)| Some(End { own, at, number: number(instruction)? }));
    found.filter(|_| all.all(|(_, instruction)| number(instruction).is_none()))
}

/// Whether mbarriers are arrived on and waited for in loops only.
fn is_inside(litmus: &Litmus, outer: &[Loop]) -> bool {
    let uses = |found: &Instruction| {
        let word =
            |words: &[&str]| found.modifiers.iter().any(|it: &Spanned<ShortText>| words.contains(&it.node.as_str()));
        found.opcode.node == "mbarrier" && !word(&["init", "inval"])
    };
    litmus.threads.iter().enumerate().all(|(thread, own)| {
        own.body.iter().enumerate().all(|(at, statement)| {
            let outside = !outer.iter().any(|own| own.thread.index() == thread && own.contains(own.thread, at));
            !outside || !instruction(statement).is_some_and(uses)
        })
    })
}
