//! One forgotten or mistaken line of a kernel with loops. The example of a race shows one pair of rounds, and what orders those
//! need not order the next: so the guesses come from the text, and each is believed only if with it nothing is wrong any more,
//! in fewer and in more rounds too ([`crate::verify::Verifier::mends`]). The smallest come first, and the first that mends
//! everything is told: a wrong one is refuted by the first execution that shows something wrong, which costs little.

use fencepost_program::sections;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::reason::{Meeting, Position};
use fencepost_syntax::instruction::Instruction;

use crate::edit::{Change, Edit, Moved};
use crate::scene::anchor::{Anchor, Side, instruction, position};
use crate::scene::statement::{self, Role};
use crate::scene::{Scene, loops};

const COST: u32 = 0;
/// How many instructions that stand together are moved together.
const TOGETHER: usize = 3;

fn statements<'s>(scene: &'s Scene<'_>, access: EventId) -> Option<(usize, Vec<(usize, &'s Instruction)>)> {
    let thread = scene.thread(access)?;
    let litmus = &scene.test.litmus;
    let at = position(litmus, thread, scene.event(scene.at(access)).span)?;
    let body = litmus.threads.get(thread.index())?.body.iter().enumerate();
    Some((at, body.filter_map(|(at, statement)| Some((at, instruction(statement)?))).collect()))
}

/// The same word on the same instruction of several threads: those that take turns with a lock have the same text.
pub(crate) fn said_alike(scene: &Scene<'_>, words: &[Edit]) -> Vec<Vec<Edit>> {
    let mut found: Vec<(String, Vec<Edit>)> = Vec::new();
    for edit in words {
        let Change::Strengthen { span, semantics, scope, .. } = &edit.change else { continue };
        let said = format!("{:?} {:?} {}", semantics, scope, scene.test.instruction_text(*span));
        match found.iter_mut().find(|(known, _)| *known == said) {
            Some((_, alike)) => alike.push(edit.clone()),
            None => found.push((said, vec![edit.clone()])),
        }
    }
    found.into_iter().map(|(_, alike)| alike).filter(|alike| alike.len() > 1).collect()
}

/// A fence and what tells of it, both before the access.
pub(crate) fn together(scene: &Scene<'_>, pair: (EventId, EventId)) -> Vec<Vec<Edit>> {
    let mut found = Vec::new();
    for access in [pair.0, pair.1] {
        let (Some(thread), Some((at, body))) = (scene.thread(access), statements(scene, access)) else { continue };
        let to = Anchor { thread, span: scene.event(scene.at(access)).span, side: Side::After };
        let before: Vec<&Instruction> = body
            .iter()
            .rev()
            .skip_while(|(own, _)| *own >= at)
            .map(|(_, it)| *it)
            .take_while(|it| matches!(statement::role(it), Some(Role::Covers | Role::Tells)))
            .take(TOGETHER)
            .collect();
        let tells = before.iter().any(|it| statement::role(it) == Some(Role::Tells));
        if before.len() < 2 || !tells {
            continue;
        }
        let one = |it: &&Instruction| {
            let reason = Position::LineTooEarly { at: scene.site_at(thread, it.span()) };
            let change = Change::Move { span: it.span(), to, what: Moved::Synchronisation };
            Edit::new(change, reason, statement::section(it), COST)
        };
        found.push(before.iter().rev().map(one).collect());
    }
    found
}

/// A barrier at the end of each round of all threads of the CTA.
pub(crate) fn met(scene: &Scene<'_>, pair: (EventId, EventId)) -> Option<Edit> {
    let litmus = &scene.test.litmus;
    if scene.thread(pair.0) == scene.thread(pair.1) || scene.place(pair.0) != scene.place(pair.1) {
        return None;
    }
    let place = scene.place(pair.0);
    let threads = scene.unfolding.threads.iter().enumerate().filter(|(_, thread)| thread.place == place);
    let loops = loops::loops_of(litmus);
    let tail = |(at, _)| {
        let thread = ThreadId::new(at);
        let own = loops.iter().find(|own| own.thread == thread)?;
        loops::tail(litmus, thread, Some(*own)).map(|anchor| (anchor, "bar.sync 0;".to_owned()))
    };
    let at = threads.map(tail).collect::<Option<Vec<_>>>()?;
    let reason = Meeting::NotBeforeNextRound { thread: scene.named(pair.0), with: scene.named(pair.1) };
    Some(Edit::new(Change::Insert { at }, reason, sections::BAR, COST))
}
