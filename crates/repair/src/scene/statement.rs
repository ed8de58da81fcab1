//! The statements of a test that order something, and what they are for.

use fencepost_program::ThreadId;
use fencepost_program::sections;
use fencepost_report::site::Site;
use fencepost_syntax::Span;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::Statement;

use crate::scene::Scene;
use crate::scene::anchor::{instruction, instruction_at, position};

/// What an instruction of synchronisation does, as far as the words for it differ.
/// In the order in which an author would move them.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Role {
    /// It is about what comes before it: a fence, a commit, a wait.
    Covers,
    /// It tells others: an arrive, a flag.
    Tells,
    /// It announces bytes.
    Announces,
    Meets,
}

/// An instruction of a thread.
#[derive(Copy, Clone)]
pub(crate) struct Here<'t> {
    pub(crate) thread: ThreadId,
    pub(crate) at: usize,
    pub(crate) instruction: &'t Instruction,
}

impl Here<'_> {
    pub(crate) fn has(&self, word: &str) -> bool {
        has(self.instruction, word)
    }

    pub(crate) fn opcode(&self) -> &str {
        &self.instruction.opcode.node
    }

    pub(crate) fn span(&self) -> Span {
        self.instruction.span()
    }

    pub(crate) fn site(&self, scene: &Scene<'_>) -> Site {
        scene.site_at(self.thread, self.span())
    }
}

/// Whether a word stands behind the opcode.
pub(crate) fn has(instruction: &Instruction, word: &str) -> bool {
    instruction.modifiers.iter().any(|found| found.node == word)
}

pub(crate) fn instructions<'s>(scene: &'s Scene<'_>) -> Vec<Here<'s>> {
    let threads = scene.test.litmus.threads.iter().enumerate();
    let body = |(thread, body): (usize, &'s [Statement])| {
        let thread = ThreadId(thread as u32);
        let found = body.iter().enumerate().filter_map(|(at, statement)| Some((at, instruction(statement)?)));
        let one = |(at, _): &(usize, &Instruction)| position_is(scene, thread, body, *at);
        found.filter(one).map(move |(at, instruction)| Here { thread, at, instruction }).collect::<Vec<_>>()
    };
    threads.flat_map(|(at, thread)| body((at, &thread.body))).collect()
}

/// The one instruction of a thread that starts there.
pub(crate) fn starting_at<'s>(scene: &'s Scene<'_>, thread: ThreadId, span: Span) -> Option<Here<'s>> {
    let (at, instruction) = instruction_at(&scene.test.litmus, thread, span)?;
    Some(Here { thread, at, instruction })
}

/// Whether the test has an instruction with one of these opcodes.
pub(crate) fn has_opcode(scene: &Scene<'_>, opcodes: &[&str]) -> bool {
    let mut statements = scene.test.litmus.threads.iter().flat_map(|thread| &thread.body);
    statements.any(|own| instruction(own).is_some_and(|own| opcodes.contains(&own.opcode.node.as_str())))
}

/// Rows of a template share their text: what is none's own cannot be changed.
fn position_is(scene: &Scene<'_>, thread: ThreadId, body: &[Statement], at: usize) -> bool {
    let span = body.get(at).and_then(instruction).map(Instruction::span);
    span.is_some_and(|span| position(&scene.test.litmus, thread, span) == Some(at))
}

pub(crate) fn role(instruction: &Instruction) -> Option<Role> {
    let has = |word: &str| has(instruction, word);
    match instruction.opcode.node.as_str() {
        "fence" | "membar" | "griddepcontrol" => Some(Role::Covers),
        "mbarrier" if has("arrive") || has("arrive_drop") => Some(Role::Tells),
        "mbarrier" if has("expect_tx") => Some(Role::Announces),
        "cp" if has("commit_group") || has("wait_group") || has("wait_all") => Some(Role::Covers),
        "cp" if has("mbarrier") && has("arrive") => Some(Role::Tells),
        "tcgen05" if has("commit") => Some(Role::Tells),
        "tcgen05" if ["wait::ld", "wait::st"].into_iter().any(has) => Some(Role::Covers),
        "tcgen05" if instruction.modifiers.iter().any(|word| word.node.starts_with("fence::")) => Some(Role::Covers),
        "wgmma" if has("commit_group") || has("wait_group") || has("fence") => Some(Role::Covers),
        "bar" | "barrier" => Some(Role::Meets),
        "st" | "red" | "atom" if has("release") || has("acq_rel") => Some(Role::Tells),
        _ => None,
    }
}

/// A fence, a commit or a wait.
pub(crate) fn is_cover(instruction: &Instruction) -> bool {
    role(instruction) == Some(Role::Covers)
}

pub(crate) fn spelled(scene: &Scene<'_>, here: Here<'_>) -> String {
    scene.test.instruction_text(here.span()).trim_end_matches(';').trim().to_owned()
}

pub(crate) fn section(instruction: &Instruction) -> &'static str {
    let has = |word: &str| has(instruction, word);
    match instruction.opcode.node.as_str() {
        "fence" | "membar" if has("proxy") => "9.7.15.4, 8.9.5",
        "fence" | "membar" => "8.8, 9.7.15.4",
        "mbarrier" => sections::MBARRIER,
        "cp" if has("bulk") => sections::CP_ASYNC_BULK_WAIT_GROUP,
        "cp" if has("mbarrier") => sections::MBARRIER,
        "cp" => sections::CP_ASYNC_WAIT_GROUP,
        "tcgen05" => sections::TCGEN05_PATTERNS,
        "wgmma" => sections::WGMMA_SYNCHRONIZATION,
        "bar" => sections::BAR,
        "barrier" => sections::BARRIER_CLUSTER,
        "griddepcontrol" => sections::GRIDDEPCONTROL,
        _ => sections::PATTERNS,
    }
}

/// The registers of an operand. Those of an address count too: it may be computed between.
pub(crate) fn named(operand: &Operand, all: &mut Vec<String>) {
    match operand {
        Operand::Register(name) => all.push(name.to_string()),
        Operand::Address(address) => {
            named(&address.base.node, all);
            address.rest.iter().for_each(|part| named(&part.node, all));
        }
        Operand::Offset(inner, _) | Operand::Negated(inner) => named(&inner.node, all),
        Operand::Pair(one, other) => [one, other].iter().for_each(|part| named(&part.node, all)),
        Operand::Vector(parts) | Operand::List(parts) => parts.iter().for_each(|part| named(&part.node, all)),
        Operand::Symbol(_) | Operand::Integer(_) | Operand::Float(_) | Operand::Sink | Operand::Text(_) => {}
    }
}
