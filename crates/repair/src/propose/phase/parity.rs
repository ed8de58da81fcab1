//! A wait of every round that asks with the wrong parity: one that never changes, one that starts with the other phase, one
//! that changes with the round where it should with the use of a stage (PTX ISA 9.7.15.16).

use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::reason::Parity;
use fencepost_report::site::Site;
use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Declaration, InitialValue};
use fencepost_syntax::sorted::SharedSort as _;

use crate::edit::{Alternate, Placed};
use crate::edit::{Change, Edit};
use crate::propose::adjust;
use crate::propose::phase::missing_wait::{Wanted, divided, sources};
use crate::scene::anchor::{Anchor, Side, instruction};
use crate::scene::loops::{self, Loop, computed, flips, innermost, inside, is, is_turned};
use crate::scene::mbarrier_uses::{Kind, Uses};
use crate::scene::site::number;
use crate::scene::{Scene, statement};

const SECTION: &str = sections::MBARRIER;
const COST: u32 = 0;

/// A wait of a loop.
struct Wait<'a> {
    own: Loop,
    at: usize,
    instruction: &'a Instruction,
    stages: usize,
    name: &'a str,
}

pub(crate) fn mistaken(scene: &Scene<'_>, loops: &[Loop], uses: &Uses) -> Vec<Edit> {
    let litmus = &scene.test.litmus;
    let mut found = Vec::new();
    for own in uses.all.iter().filter(|own| own.kind == Kind::Wait) {
        let body = litmus.threads.get(own.thread.index()).map(|thread| &thread.body);
        let statement = body.and_then(|body| body.get(own.at)).and_then(instruction);
        let (Some(within), Some(instruction)) = (innermost(loops, own.thread, own.at), statement) else { continue };
        let by_parity =
            instruction.modifiers.iter().any(|word| word.node == "parity") && instruction.operands.len() == 3;
        if instruction.guard.is_some() || !by_parity {
            continue;
        }
        let stages = uses.stages(&own.name);
        let wait = Wait { own: within, at: own.at, instruction, stages, name: &own.name };
        match wait.instruction.operands.get(2).map(|operand| &operand.node) {
            Some(Operand::Integer(_)) => found.extend(constant(scene, loops, &wait)),
            Some(Operand::Register(register)) => found.extend(of_register(scene, loops, &wait, register)),
            _ => {}
        }
    }
    found.shared_sort_by_key(Edit::size);
    found
}

/// Waits outside of loops that ask with the other parity than that which is meant.
pub(crate) fn constants(scene: &Scene<'_>, loops: &[Loop], uses: &Uses) -> Vec<Edit> {
    let straight = |here: &statement::Here<'_>| {
        let mut own = uses.of_kind(Kind::Wait).filter(|own| own.thread == here.thread && own.at == here.at);
        own.any(|own| innermost(loops, own.thread, own.at).is_none())
    };
    let asks = |here: statement::Here<'_>| {
        let wait = here.site(scene);
        let reason = match is_first(scene, here) {
            true => Parity::FreshPhase { wait },
            false => Parity::PhaseNeverComes { wait },
        };
        adjust::parity(scene, here).map(|edit| Edit { reason: Some(reason.into()), ..edit })
    };
    statement::instructions(scene).into_iter().filter(straight).filter_map(asks).collect()
}

/// Whether the wait asks with parity 0 and finds the mbarrier as it was initialised.
fn is_first(scene: &Scene<'_>, here: statement::Here<'_>) -> bool {
    let zero = matches!(here.instruction.operands.last().map(|it| &it.node), Some(Operand::Integer(0)));
    let own = scene.main_events(here.thread).into_iter().filter(|id| scene.event(*id).span == here.span());
    let fresh = |id: EventId| {
        let mut from = scene.execution.rf.iter().filter(|(_, read)| *read == id).map(|(write, _)| *write);
        from.any(|write| scene.event(write).is_init() || scene.has(write, Tag::MbarrierInit))
    };
    zero && own.into_iter().any(fresh)
}

fn edit(change: Change, reason: Parity) -> Edit {
    Edit::new(change, reason, SECTION, COST)
}

/// Where the wait stands, and on what it waits.
fn named(scene: &Scene<'_>, wait: &Wait<'_>) -> (Site, String) {
    (scene.site_at(wait.own.thread, wait.instruction.span()), wait.name.to_owned())
}

/// `mbarrier.try_wait.parity… %p, [full], 0` in a loop.
fn constant(scene: &Scene<'_>, loops: &[Loop], wait: &Wait<'_>) -> Vec<Edit> {
    let (at, mbarrier) = named(scene, wait);
    instead(scene, loops, wait, &Parity::OneParity { wait: at, mbarrier })
}

/// The wait with a parity that alternates with the phases.
fn instead(scene: &Scene<'_>, loops: &[Loop], wait: &Wait<'_>, reason: &Parity) -> Vec<Edit> {
    let span = wait.instruction.span();
    let text = scene.test.instruction_text(span);
    let Some((head, _)) = text.trim_end_matches(';').rsplit_once(',') else { return Vec::new() };
    let thread = wait.own.thread;
    let place = Anchor { thread, span, side: Side::Before };
    let fills = matches!(wait.instruction.operands.last().map(|it| &it.node), Some(Operand::Integer(1)));
    let wanted = Wanted { stages: wait.stages, before: place, fills };
    let all = sources(scene, loops, wait.own, &wanted).into_iter();
    let changed = all.map(|source| {
        let placed = Placed::Instead { at: place, before: source.before, by: format!("{head}, {}", source.operand) };
        edit(Change::Alternate(Alternate { place: placed, own: source.own }), reason.clone())
    });
    changed.collect()
}

fn of_register(scene: &Scene<'_>, loops: &[Loop], wait: &Wait<'_>, register: &str) -> Vec<Edit> {
    let litmus = &scene.test.litmus;
    let all = inside(litmus, wait.own.thread, Some(wait.own));
    let written: Vec<(usize, &Instruction)> =
        all.into_iter().filter(|(_, instruction)| computed(instruction) == Some(register)).collect();
    let turns = |(_, instruction): &(usize, &Instruction)| is_turned(instruction, register);
    match () {
        () if written.is_empty() => {
            let mut found = never_changed(scene, loops, wait, register);
            found.extend(started(scene, wait, register));
            found
        }
        () if written.iter().all(turns) => started(scene, wait, register).into_iter().collect(),
        () => computed_wrongly(scene, wait, register, &written),
    }
}

fn never_changed(scene: &Scene<'_>, loops: &[Loop], wait: &Wait<'_>, register: &str) -> Vec<Edit> {
    let (at, mbarrier) = named(scene, wait);
    let reason = Parity::ParityNeverChanges { wait: at, mbarrier, register: register.to_owned() };
    let put = |anchor: Anchor, text: &str| Edit::insert(anchor, text, reason.clone(), SECTION, COST);
    let turned = format!("xor.b32 {register}, {register}, 1");
    let mut found = Vec::new();
    if wait.stages > 1 {
        // With the stages, not with the rounds: where the number of the stage starts anew.
        let all = inside(&scene.test.litmus, wait.own.thread, Some(wait.own));
        let last = |it: &Instruction| matches!(it.operands.get(2).map(|it| &it.node), Some(Operand::Integer(count)) if *count == wait.stages as i128);
        let wraps = |it: &Instruction| {
            it.opcode.node == "setp" && it.modifiers.first().is_some_and(|word| word.node == "eq") && last(it)
        };
        for (_, it) in all.iter().filter(|(_, it)| wraps(it)) {
            let Some(Operand::Register(predicate)) = it.operands.first().map(|it| &it.node) else { continue };
            let behind = Anchor { thread: wait.own.thread, span: it.span(), side: Side::After };
            found.push(put(behind, &format!("@{predicate} {turned}")));
        }
        // Of two stages the number of the stage says when.
        let tail = loops::tail(&scene.test.litmus, wait.own.thread, Some(wait.own));
        for stage in loops::parities(&scene.test.litmus, wait.own).into_iter().filter(|_| wait.stages == 2) {
            let text = format!("xor.b32 {register}, {register}, {}", stage.register);
            found.extend(tail.map(|tail| put(tail, &text)));
        }
        found.extend(instead(scene, loops, wait, &reason));
    }
    found.extend(loops::tail(&scene.test.litmus, wait.own.thread, Some(wait.own)).map(|tail| put(tail, &turned)));
    found
}

/// The other phase in the first round.
fn started(scene: &Scene<'_>, wait: &Wait<'_>, register: &str) -> Option<Edit> {
    let thread = wait.own.thread;
    let (at, mbarrier) = named(scene, wait);
    let reason = Parity::WrongFirstParity { wait: at, mbarrier, register: register.to_owned() };
    let sets =
        |(at, instruction): &(usize, &Instruction)| *at < wait.own.first && computed(instruction) == Some(register);
    if let Some((_, set)) = inside(&scene.test.litmus, thread, None).into_iter().rfind(sets) {
        let Operand::Integer(first) = set.operands.get(1)?.node else { return None };
        if set.opcode.node != "mov" || set.guard.is_some() {
            return None;
        }
        let text = scene.test.instruction_text(set.span());
        let (head, _) = text.trim_end_matches(';').rsplit_once(',')?;
        let by = format!("{head}, {};", (1 - first).rem_euclid(2));
        return Some(edit(Change::Replace { thread, span: set.span(), by }, reason));
    }
    let value = declared(scene, thread, register)?;
    let (register, value) = (register.to_owned(), (1 - value).rem_euclid(2));
    Some(edit(Change::Start { thread, register, value }, reason))
}

/// The value that a register of the test starts with.
fn declared(scene: &Scene<'_>, thread: ThreadId, register: &str) -> Option<i128> {
    let is_own = |declaration: &Spanned<Declaration>| match &declaration.node {
        Declaration::Register { thread: own, register: name, value } if name.node == register => match value.node {
            InitialValue::Integer(value) => Some((*own, value)),
            _ => None,
        },
        _ => None,
    };
    let mut found = scene.test.litmus.declarations.iter().filter_map(is_own);
    found.find(|(own, _)| *own as usize == thread.index()).map(|(_, value)| value)
}

/// A parity that is computed anew in each round.
fn computed_wrongly(
    scene: &Scene<'_>,
    wait: &Wait<'_>,
    register: &str,
    written: &[(usize, &Instruction)],
) -> Vec<Edit> {
    let thread = wait.own.thread;
    let (at, mbarrier) = named(scene, wait);
    let mut found = Vec::new();
    // By the stage and not by the round.
    for (_, masks) in written.iter().filter(|(_, it)| it.opcode.node == "and" && it.guard.is_none() && wait.stages > 1)
    {
        let (Some(Operand::Register(counter)), Some(Operand::Integer(1))) =
            (masks.operands.get(1).map(|it| &it.node), masks.operands.get(2).map(|it| &it.node))
        else {
            continue;
        };
        let lines = divided(register, counter, wait.stages);
        let by = format!("{lines}and.b32 {register}, {register}, 1;");
        let (wait_at, mbarrier) = (at.clone(), mbarrier.clone());
        let reason = Parity::ParityOfRound { wait: wait_at, mbarrier, stages: wait.stages as i64 };
        found.extend(
            (!is(masks, 1, register)).then(|| edit(Change::Replace { thread, span: masks.span(), by }, reason)),
        );
    }
    found.extend(written.iter().filter_map(|(_, it)| divides_wrongly(scene, wait, register, it)));
    let reason = Parity::AsksForRoundBefore { wait: at, mbarrier };
    for (_, turned) in written.iter().filter(|(own, it)| *own < wait.at && flips(it, register)) {
        found.push(edit(Change::Remove { thread, span: turned.span() }, reason.clone()));
    }
    let place = Anchor { thread, span: wait.instruction.span(), side: Side::Before };
    found.push(Edit::insert(place, &format!("xor.b32 {register}, {register}, 1"), reason, SECTION, COST));
    found
}

/// `shr %ph, %i, 1` where a stage is used in every round: by another number of rounds than there are stages.
fn divides_wrongly(scene: &Scene<'_>, wait: &Wait<'_>, register: &str, it: &Instruction) -> Option<Edit> {
    let (Some(Operand::Register(counter)), Some(Operand::Integer(by))) =
        (it.operands.get(1).map(|it| &it.node), it.operands.get(2).map(|it| &it.node))
    else {
        return None;
    };
    let rounds = match it.opcode.node.as_str() {
        "shr" => 1i128.checked_shl(u32::try_from(*by).ok()?)?,
        "div" => *by,
        _ => return None,
    };
    if it.guard.is_some() || counter == register || rounds == wait.stages as i128 {
        return None;
    }
    let by = match wait.stages {
        1 => format!("and.b32 {register}, {counter}, 1;"),
        stages => divided(register, counter, stages).trim_end().to_owned(),
    };
    let (at, mbarrier) = named(scene, wait);
    let (changes, used) = (number(rounds), wait.stages as i64);
    let reason = Parity::ParityOfOtherRounds { wait: at, mbarrier, changes, used };
    Some(edit(Change::Replace { thread: wait.own.thread, span: it.span(), by }, reason))
}
