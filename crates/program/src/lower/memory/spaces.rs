//! State spaces (PTX ISA 5.1, and tensor memory). A name has one: its declaration's, else that of the first access that
//! says it. `.shared` and `.tmem` names are one variable per CTA, `.local` ones one per thread.

use std::collections::BTreeMap;

use fencepost_syntax::instruction::{Instruction as Tree, Operand as TreeOperand};
use fencepost_syntax::litmus::{Arch, Litmus, Statement};
use fencepost_syntax::short::ShortText;
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::ids::AddressId;
use crate::lower::builder::{Qualified, Qualifier, ThreadBuilder};
use crate::lower::context::Context;
use crate::lower::cut::reach::{At, Reaches};
use crate::lower::findings::{Findings, Refusal};
use crate::lower::names::stem;
use crate::lower::names::{Names, VariableId};
use crate::program::{AddressOperand, Operation, Place, Space};
use crate::table::modifier::{spelled, spelling};
use crate::table::operands;
use crate::tag::{Tag, Tags};

const SPACES: &[(&str, Space)] = &[
    ("global", Space::Global),
    ("shared", Space::Shared),
    ("local", Space::Local),
    ("const", Space::Const),
    ("param", Space::Param),
    ("tmem", Space::TensorMemory),
];

/// `shared::cta` and `shared::cluster` are windows of one space, as are those of `param`.
pub(crate) fn space(word: &str) -> Option<Space> {
    let stem = word.split("::").next().unwrap_or(word);
    SPACES.iter().find(|(name, _)| *name == stem).map(|(_, space)| *space)
}

/// The tags of an access that says its state space so: `.shared` is `.shared::cta` (PTX ISA 9.7.10.8), and no address of
/// another CTA lies in that window (5.1.7).
pub(crate) fn window(space: Option<&Spanned<ShortText>>, tags: Tags) -> Tags {
    match space.map(|space| space.node.as_str()) {
        Some("shared" | "shared::cta") => tags.with(Tag::OwnWindow),
        _ => tags,
    }
}

fn word(space: Space) -> &'static str {
    SPACES.iter().find(|(_, other)| *other == space).map_or("", |(name, _)| name)
}

/// The names that nothing declares a space for and code reaches as `.shared` first: which CTA's they are must be known
/// before any code is lowered.
pub(crate) fn shared_by_use(litmus: &Litmus) -> BTreeMap<String, String> {
    let mut said: BTreeMap<String, (Space, String)> = BTreeMap::new();
    for thread in litmus.threads.iter().filter(|thread| thread.arch == Arch::Ptx) {
        for statement in &thread.body {
            let Statement::Instruction { instruction, .. } = statement else { continue };
            let Some(space) = says(instruction) else { continue };
            for name in instruction.operands.iter().filter_map(|operand| reached(&operand.node)) {
                let by = || format!("{}'s {}", thread.name.node, spelled(instruction));
                said.entry(stem(name).to_string()).or_insert_with(|| (space, by()));
            }
        }
    }
    said.into_iter().filter(|(_, (space, _))| *space == Space::Shared).map(|(name, (_, by))| (name, by)).collect()
}

/// The space of the one address an instruction has.
fn says(instruction: &Tree) -> Option<Space> {
    match instruction.opcode.node.as_str() {
        "ld" | "st" | "atom" | "red" => instruction.modifiers.iter().find_map(|modifier| space(&modifier.node)),
        "mbarrier" => Some(Space::Shared),
        _ => None,
    }
}

fn reached(operand: &TreeOperand) -> Option<&str> {
    match operand {
        TreeOperand::Address(address) => match &address.base.node {
            TreeOperand::Symbol(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

impl Names {
    /// The space of the name an address is of.
    pub(crate) fn space(&self, address: AddressId) -> Option<Space> {
        let (variable, _) = self.taken[address.index()];
        self.name_of(variable).space.as_ref().map(|(space, _)| *space)
    }

    fn qualify(&mut self, address: AddressId, qualifier: &Qualifier) -> Result<(), Contradiction> {
        let Some(said) = space(&qualifier.space.node) else { return Ok(()) };
        let (variable, _) = self.taken[address.index()];
        // A name of the constant proxy lies in the constant bank, wherever the location is declared.
        if said == Space::Const && self.name_of(variable).proxy == Some(Tag::Constant) {
            return Ok(());
        }
        let space = &mut self.name_of_mut(variable).space;
        space.get_or_insert_with(|| (said, qualifier.by.clone()));
        self.contradiction(variable, qualifier).map_or(Ok(()), Err)
    }

    /// What is wrong with an access that says another state space than the variable's.
    fn contradiction(&self, variable: VariableId, qualifier: &Qualifier) -> Option<Contradiction> {
        let said = space(&qualifier.space.node)?;
        let (entry, name) = (self.name_of(variable), &self.variables[variable.0].name);
        let is_bank = said == Space::Const && entry.proxy == Some(Tag::Constant);
        let (own, by) = entry.space.as_ref().filter(|(space, _)| *space != said && !is_bank)?;
        let (name, by, whose) = (name.to_string(), by.clone(), qualifier.by.clone());
        Some(Contradiction { said, own: *own, name, by, whose, at: qualifier.space.span })
    }
}

/// An access that says another state space than its variable has.
struct Contradiction {
    said: Space,
    own: Space,
    name: String,
    /// Why the variable has its space: "its declaration".
    by: String,
    /// "P0's `st.shared.u32`".
    whose: String,
    at: Span,
}

impl Contradiction {
    /// For an instruction that is spelled so.
    fn error(&self, spelling: &str) -> Diagnostic {
        let (name, own) = (&self.name, word(self.own));
        let said = word(self.said);
        let message = format!("{} reaches `{name}` as `.{said}`, but it is `.{own}` by {}", self.whose, self.by);
        let (opcode, _) = spelling.split_once('.').unwrap_or((spelling, ""));
        let help = match opcode {
            // Its state spaces are part of the form.
            "mbarrier" => format!("an mbarrier lies in shared memory: declare it, `.shared .mbarrier {name} = 1;`"),
            "cp" | "tcgen05" | "wgmma" | "multimem" => {
                operands::usage(spelling).unwrap_or_else(|| format!("give it the address of a location in `.{said}`"))
            }
            _ => format!("write `.{own}`, or leave the state space out"),
        };
        Diagnostic::error(self.at, message).label("another state space").help(help)
    }

    /// If two operands of one instruction say each the space that the other has.
    fn swapped(&self, other: &Contradiction, spelling: &str) -> Option<Diagnostic> {
        if (self.said, self.own) != (other.own, other.said) {
            return None;
        }
        let (said, own, whose) = (word(self.said), word(self.own), &self.whose);
        let (first, second) = (&self.name, &other.name);
        let message = format!(
            "{whose} reaches `{first}` as `.{said}` and `{second}` as `.{own}`, but `{first}` is `.{own}` and \
             `{second}` is `.{said}`"
        );
        let error = Diagnostic::error(self.at.to(other.at), message).label("operands swapped?");
        Some(error.help(operands::usage(spelling)?))
    }
}

/// Tells what contradicts in a thread, each with the span of its instruction.
fn tell(found: &[(Span, Contradiction)], thread: &ThreadBuilder, findings: &mut Findings) {
    let mut rest = found;
    while let [(span, first), others @ ..] = rest {
        let spelling = thread.spelling(*span).unwrap_or_default();
        let second = others.first().filter(|(other, _)| other == span);
        let swapped = second.and_then(|(_, second)| first.swapped(second, spelling));
        rest = if swapped.is_some() { &others[1..] } else { others };
        findings.diagnostics.push(swapped.unwrap_or_else(|| first.error(spelling)));
    }
}

/// The instruction that an access belongs to.
fn instruction(thread: &ThreadBuilder, access: &Qualified) -> Span {
    thread.code.get(access.code).map_or(access.qualifier.space.span, |code| code.span)
}

impl Context<'_> {
    /// Notes or compares the state space an access says. A register may get its address from anywhere: what it holds is
    /// looked at when the thread is complete.
    pub(crate) fn qualify(
        &mut self,
        tree: &Tree,
        space: Option<&Spanned<ShortText>>,
        address: &AddressOperand,
    ) -> Result<(), Refusal> {
        let Some(space) = space else { return Ok(()) };
        let qualifier = Qualifier { space: space.clone(), by: format!("{}'s {}", self.thread.name(), spelled(tree)) };
        match address {
            AddressOperand::Static(address) => {
                let qualified = self.names.qualify(*address, &qualifier);
                qualified.map_err(|wrong| Refusal::Error(wrong.error(&spelling(tree))))
            }
            AddressOperand::Register(register) => {
                self.imply(self::space(&space.node), address);
                let code = self.thread.code.len();
                self.thread.qualified.push(Qualified { register: *register, code, qualifier });
                Ok(())
            }
        }
    }

    /// Notes the state space in which an instruction has this address, whether it says so or not.
    pub(crate) fn imply(&mut self, space: Option<Space>, address: &AddressOperand) {
        if let (Some(space), AddressOperand::Register(register)) = (space, address) {
            self.thread.say_space(*register, space);
        }
    }
}

pub(crate) fn settle(names: &mut Names, threads: &[Box<ThreadBuilder>], findings: &mut Findings) {
    for thread in threads {
        if !thread.qualified.is_empty() {
            fixed(names, thread, findings);
        }
        // A host writes it before the launch.
        if thread.place != Place::Host {
            read_only(names, thread, findings);
        }
    }
}

/// Accesses through registers that hold one address.
fn fixed(names: &mut Names, thread: &ThreadBuilder, findings: &mut Findings) {
    let mut found = Vec::new();
    for access in &thread.qualified {
        let address = thread.fixed_address(access.register);
        if let Some(Err(wrong)) = address.map(|address| names.qualify(address, &access.qualifier)) {
            found.push((instruction(thread, access), wrong));
        }
    }
    tell(&found, thread, findings);
}

/// Accesses through registers that are computed: wrong if all that the register may point to lies in other spaces. Where it
/// may also point to something else, the unfolding looks at what it does point to.
pub(crate) fn settle_computed(
    names: &Names,
    threads: &[Box<ThreadBuilder>],
    reaches: &Reaches,
    findings: &mut Findings,
) {
    for (thread, own) in threads.iter().enumerate().filter(|(_, own)| !own.asks_spaces && !own.qualified.is_empty()) {
        let mut found = Vec::new();
        for access in own.qualified.iter().filter(|access| own.fixed_address(access.register).is_none()) {
            let at = At { thread, code: access.code };
            let wrong = reaches.pointed_to(at, access.register);
            let wrong: Option<Vec<Contradiction>> =
                wrong.iter().map(|variable| names.contradiction(*variable, &access.qualifier)).collect();
            if let Some(wrong) = wrong.and_then(|wrong| wrong.into_iter().next()) {
                found.push((instruction(own, access), wrong));
            }
        }
        tell(&found, own, findings);
    }
}

/// `.const` and `.param` memory is written before the kernel starts (PTX ISA 5.1.3, 5.1.6).
fn read_only(names: &Names, thread: &ThreadBuilder, findings: &mut Findings) {
    for code in &thread.code {
        let address = match &code.operation {
            Operation::Store { address, .. }
            | Operation::VectorStore { address, .. }
            | Operation::ReadModifyWrite { address, .. } => address,
            Operation::VectorUpdate(update) => &update.address,
            _ => continue,
        };
        let address = match address {
            AddressOperand::Static(address) => Some(*address),
            AddressOperand::Register(register) => thread.fixed_address(*register),
        };
        let space = address.and_then(|address| names.space(address));
        if let (Some(address), Some(space @ (Space::Const | Space::Param))) = (address, space) {
            let name = &names.variables[names.taken[address.index()].0.0].shown;
            let message = format!("`{name}` is `.{}` memory, which no kernel writes", word(space));
            findings.diagnostics.push(Diagnostic::error(code.span, message).label("read-only"));
        }
    }
}
