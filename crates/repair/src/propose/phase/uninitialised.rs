//! What a wait needs to be there before it: the token of the thread's own arrival, and an mbarrier that was initialised
//! (PTX ISA 9.7.15.16).

use fencepost_program::mbarrier::State;
use fencepost_program::sections;
use fencepost_program::unfolding::TraceEnd;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::reason::Arriving;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::sorted::SortedSet;

use crate::edit::Edit;
use crate::propose::wait;
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, instruction};
use crate::scene::loops::{inside, is};
use crate::scene::mbarrier_uses::{Kind, Uses, address, is_wait, name_of};

const SECTION: &str = sections::MBARRIER;
const COST: u32 = 0;

/// Waits with a token that nothing of the thread returns: its own arrival is missing.
pub(crate) fn tokens(scene: &Scene<'_>, uses: &Uses) -> Vec<Edit> {
    let mut found = Vec::new();
    for own in uses.of_kind(Kind::Wait) {
        let all = inside(&scene.test.litmus, own.thread, None);
        let Some((_, wait)) = all.iter().find(|(at, _)| *at == own.at) else { continue };
        let by_parity = wait.modifiers.iter().any(|word| word.node == "parity");
        let Some(Operand::Register(token)) = wait.operands.get(2).map(|it| &it.node).filter(|_| !by_parity) else {
            continue;
        };
        let returns = |it: &Instruction| is(it, 0, token);
        let Some(operand) = address(scene, wait).filter(|_| !all.iter().any(|(_, it)| returns(it))) else { continue };
        let at = scene.site_at(own.thread, wait.span());
        let reason = Arriving::TokenWithoutArrival { wait: at, token: token.to_string() };
        let before = Anchor { thread: own.thread, span: wait.span(), side: Side::Before };
        let text = format!("mbarrier.arrive.shared::cta.b64 {token}, [{operand}]");
        found.push(Edit::insert(before, &text, reason, SECTION, COST));
    }
    found
}

/// The mbarriers that threads are stuck at and nobody has initialised: at the start of each thread, for as many as arrive.
pub(crate) fn objects(scene: &Scene<'_>, uses: &Uses) -> Vec<Edit> {
    let mut found = Vec::new();
    for (read, name) in dead(scene) {
        let arriving: SortedSet<ThreadId> =
            uses.all.iter().filter(|own| own.name == name && own.kind != Kind::Wait).map(|own| own.thread).collect();
        let reason = Arriving::NeverInitialised { waiter: scene.named(read), mbarrier: name.to_owned() };
        for (thread, own) in scene.test.litmus.threads.iter().enumerate() {
            let thread = ThreadId::new(thread);
            let near = scene.unfolding.threads.get(thread.index()).is_some_and(|it| it.place == scene.place(read));
            let Some(first) = own.body.iter().find_map(instruction).filter(|_| near) else { continue };
            let before = Anchor { thread, span: first.span(), side: Side::Before };
            let text = format!("mbarrier.init.shared::cta.b64 [{name}], {}", arriving.len().max(1));
            found.push(Edit::insert(before, &text, reason.clone(), SECTION, COST));
        }
    }
    found
}

fn dead<'s>(scene: &Scene<'s>) -> Vec<(EventId, &'s str)> {
    let mut found: Vec<(EventId, &str)> = Vec::new();
    for trace in scene.execution.traces.iter().filter_map(|it| scene.unfolding.traces.get(it.index())) {
        let TraceEnd::Spin { reads, .. } = &trace.end else { continue };
        for read in reads.iter().copied().filter(|read| is_wait(scene, *read)) {
            let is_dead = wait::value(scene, read).is_some_and(|value| !State::unpack(value).is_live());
            let name = name_of(scene, read).filter(|name| is_dead && found.iter().all(|(_, known)| known != name));
            found.extend(name.map(|name| (read, name)));
        }
    }
    found
}
