//! The threads while they are lowered: registers, labels and code.

use std::collections::BTreeMap;
use std::sync::Arc;

use fencepost_syntax::c::Parameter;
use fencepost_syntax::litmus::{Arch, Dialect, Litmus, Placement, Side};
use fencepost_syntax::short::ShortText;
use fencepost_syntax::sorted::{SortedMap, SortedSet};
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::ids::{AddressId, KernelId, RegisterId, ThreadId};
use crate::lower::findings::{Findings, misfit};
use crate::lower::names::Viewer;
use crate::lower::special_registers::{self, Position};
use crate::program::def_use::defined;
use crate::program::{
    AddressOperand, CodeIndex, Feature, Initial, Instruction, LocalValue, Operand, Operation, Place, Polarity,
    Register, Space, Thread, Wording,
};
use crate::value::expression::BinaryOperator;
use crate::value::{Type, Value};

/// The blocks of a thread in C; see `c_blocks`.
pub(crate) struct Blocks {
    /// Of each open block, outermost first: what its names meant outside.
    pub(crate) open: Vec<SortedMap<String, Option<RegisterId>>>,
    /// How often a name was declared.
    pub(crate) times: SortedMap<String, u32>,
    /// The variables whose block has ended.
    pub(crate) ended: SortedMap<String, Vec<RegisterId>>,
    /// Names that several ended blocks declare and the outermost does not.
    pub(crate) ambiguous: SortedSet<String>,
}

impl Blocks {
    pub(crate) fn new(dialect: Dialect) -> Blocks {
        let (times, ended, ambiguous) = (SortedMap::new(), SortedMap::new(), SortedSet::new());
        let open = if dialect == Dialect::C { vec![SortedMap::new()] } else { Vec::new() };
        Blocks { open, times, ended, ambiguous }
    }
}

/// `.shared` of an access, and who says so.
#[derive(Clone, Debug)]
pub(crate) struct Qualifier {
    pub(crate) space: Spanned<ShortText>,
    /// "P0's `st.shared.u32`".
    pub(crate) by: String,
}

/// An access through a register that says its state space.
#[derive(Clone, Debug)]
pub(crate) struct Qualified {
    pub(crate) register: RegisterId,
    /// Where in the code.
    pub(crate) code: usize,
    pub(crate) qualifier: Qualifier,
}

/// What the text of a thread shows before any of it is lowered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scan {
    /// Registers that conditions name, as they do.
    pub(crate) asked: SortedSet<Arc<str>>,
    /// Registers of several widths.
    pub(crate) mixed: SortedSet<String>,
    /// Of those: the ones whose upper half may be other than 0.
    pub(crate) long: SortedSet<String>,
    /// Whether something asks for the sign of a result.
    pub(crate) asks_sign: bool,
    /// How many bits all flags are made of, where the text shows that it is one number.
    pub(crate) flags: Option<u8>,
}

/// Kept in boxes: a vector of several would be one large piece of memory, which the allocator is slow to find.
pub(crate) struct ThreadBuilder {
    pub(crate) name: ShortText,
    /// What the thread is written in.
    pub(crate) dialect: Dialect,
    arch: Arch,
    pub(crate) place: Place,
    pub(crate) id: ThreadId,
    pub(crate) position: Position,
    registers: Vec<Register>,
    pub(crate) by_name: BTreeMap<ShortText, RegisterId>,
    pub(crate) blocks: Blocks,
    families: Vec<(String, Type)>,
    pub(crate) code: Vec<Instruction>,
    pub(crate) labels: BTreeMap<String, CodeIndex>,
    jumps: Vec<(usize, Spanned<ShortText>)>,
    pub(crate) span: Span,
    pub(crate) guard: Option<(RegisterId, Polarity)>,
    temporaries: u32,
    /// What the parameters of a thread in C point to.
    parameters: SortedMap<String, String>,
    /// Variables of C that hold 0 or 1 only.
    booleans: SortedSet<RegisterId>,
    /// Registers the declarations give a value, and where.
    initialised: SortedMap<RegisterId, Span>,
    /// Accesses through a register that say their state space.
    pub(crate) qualified: Vec<Qualified>,
    /// Whether code asks in which state space an address lies, so that an access may be one that is never made.
    pub(crate) asks_spaces: bool,
    pub(crate) wordings: SortedMap<Span, Wording>,
    /// Of a thread in x86: what its text shows.
    pub(crate) scan: Scan,
    /// Registers of instructions that were refused: what is in them is not known.
    pub(crate) excused: SortedSet<RegisterId>,
}

/// A builder is some hundred bytes long, and is handed on.
pub(crate) type BoxedBuilder = Box<ThreadBuilder>;

/// One builder per thread. A PTX thread without any placement runs in CTA 0 of GPU 0, as Dartagnan's missing parts are 0;
/// a CTA without a cluster is a cluster of its own.
pub(crate) fn builders(litmus: &Litmus, findings: &mut Findings) -> Vec<BoxedBuilder> {
    let is_placed = litmus.arch == Arch::Ptx && litmus.threads.iter().any(|thread| thread.placement.cta.is_some());
    let build = |thread: &fencepost_syntax::litmus::Thread| {
        if thread.arch != litmus.arch {
            findings.feature(Feature::Mixed, thread.name.span);
        }
        if thread.placement.cluster.is_some() {
            findings.feature(Feature::Cluster, thread.name.span);
        }
        if is_placed && thread.placement.cta.is_none() && thread.placement.side == Side::Device {
            findings.diagnostics.push(unplaced(&thread.name));
        }
        let dialect = litmus.dialect_of(thread);
        let place = place(dialect, thread.placement);
        let taken = |taken: &Parameter| (taken.name.node.clone(), taken.ty.node.clone());
        let parameters = thread.parameters.iter().map(taken).collect();
        let mut builder = Box::new(ThreadBuilder::new(&thread.name.node, dialect, place));
        (builder.arch, builder.parameters) = (thread.arch, parameters);
        builder
    };
    let mut builders: Vec<BoxedBuilder> = litmus.threads.iter().map(build).collect();
    let places: Vec<Place> = builders.iter().map(|builder| builder.place).collect();
    for (index, (builder, position)) in builders.iter_mut().zip(special_registers::positions(&places)).enumerate() {
        builder.id = ThreadId::new(index);
        builder.position = position;
    }
    builders
}

fn unplaced(name: &Spanned<String>) -> Diagnostic {
    let message = format!("{} does not say its CTA, as other threads do: taken as CTA 0", name.node);
    Diagnostic::warning(name.span, message)
        .label("no CTA")
        .help(format!("write `{}@cta 0, gpu 0` if that is meant", name.node))
}

pub(crate) fn place(dialect: Dialect, placement: Placement) -> Place {
    let is_unplaced_c = dialect == Dialect::C && placement.cta.is_none() && placement.gpu.is_none();
    if dialect == Dialect::X86 || placement.side == Side::Host || is_unplaced_c {
        return Place::Host;
    }
    let cta = placement.cta.unwrap_or(0);
    Place::Gpu { gpu: placement.gpu.unwrap_or(0), cluster: placement.cluster.unwrap_or(cta), cta }
}

impl ThreadBuilder {
    pub(crate) fn new(name: &str, dialect: Dialect, place: Place) -> ThreadBuilder {
        ThreadBuilder {
            name: name.into(),
            dialect,
            arch: Arch::Ptx,
            place,
            id: ThreadId(0),
            position: Position::default(),
            registers: Vec::new(),
            by_name: BTreeMap::new(),
            blocks: Blocks::new(dialect),
            families: Vec::new(),
            code: Vec::new(),
            labels: BTreeMap::new(),
            jumps: Vec::new(),
            span: Span::default(),
            guard: None,
            temporaries: 0,
            parameters: SortedMap::new(),
            booleans: SortedSet::new(),
            initialised: SortedMap::new(),
            qualified: Vec::new(),
            asks_spaces: false,
            wordings: SortedMap::new(),
            scan: Scan::default(),
            excused: SortedSet::new(),
        }
    }

    pub(crate) fn finish(self, kernel: Option<KernelId>) -> Thread {
        Thread {
            name: self.name,
            arch: self.arch,
            place: self.place,
            kernel,
            registers: self.registers,
            code: self.code,
            wordings: self.wordings,
        }
    }

    /// The instruction there as the text spells it.
    pub(crate) fn spelling(&self, span: Span) -> Option<&str> {
        self.wordings.get(&span).map(|wording| wording.spelling.as_str())
    }

    /// Notes that the instruction says in which state space the address in this register lies.
    pub(crate) fn say_space(&mut self, register: RegisterId, space: Space) {
        self.wordings.entry(self.span).or_default().spaces.push((register, space));
    }

    /// The register of that name, made (at 0, of that type) if new.
    pub(crate) fn register(&mut self, name: &str, ty: Type) -> RegisterId {
        if let Some(id) = self.by_name.get(name.as_bytes()) {
            return *id;
        }
        let declared = self.families.iter().find(|(stem, _)| is_member(name, stem)).map(|(_, ty)| *ty);
        let id = RegisterId::new(self.registers.len());
        self.registers.push(Register {
            name: name.into(),
            ty: declared.unwrap_or(ty),
            initial: Initial::Value(Value(0)),
        });
        self.by_name.insert(name.into(), id);
        id
    }

    pub(crate) fn register_count(&self) -> usize {
        self.registers.len()
    }

    pub(crate) fn viewer(&self) -> Viewer {
        Viewer { thread: self.id, place: self.place }
    }

    pub(crate) fn find(&self, name: &str) -> Option<RegisterId> {
        self.by_name.get(name.as_bytes()).copied()
    }

    pub(crate) fn make_boolean(&mut self, id: RegisterId) {
        self.booleans.insert(id);
    }

    pub(crate) fn is_boolean(&self, id: RegisterId) -> bool {
        self.booleans.contains(&id)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn register_name(&self, id: RegisterId) -> &str {
        &self.registers[id.index()].name
    }

    pub(crate) fn rename(&mut self, id: RegisterId, name: String) {
        self.registers[id.index()].name = name.into();
    }

    pub(crate) fn register_type(&self, id: RegisterId) -> Type {
        self.registers[id.index()].ty
    }

    /// Gives a type to a register that was only read so far.
    pub(crate) fn refine(&mut self, id: RegisterId, ty: Type) {
        let register = &mut self.registers[id.index()];
        if register.ty == Type::UNTYPED {
            register.ty = ty;
        }
    }

    /// The names a person wrote (not our temporaries).
    pub(crate) fn known(&self) -> Vec<&str> {
        self.by_name.keys().map(ShortText::as_str).filter(|name| !name.starts_with('#')).collect()
    }

    pub(crate) fn set_initial(&mut self, id: RegisterId, initial: Initial, span: Span) {
        self.registers[id.index()].initial = initial;
        self.initialised.insert(id, span);
    }

    pub(crate) fn is_initialised(&self, id: RegisterId) -> bool {
        self.initialised.contains_key(&id)
    }

    pub(crate) fn initial(&self, id: RegisterId) -> Initial {
        self.registers[id.index()].initial
    }

    /// The name that a register points to throughout: the one address the declarations or a single instruction give it,
    /// moved or with a constant added.
    pub(crate) fn fixed_address(&self, id: RegisterId) -> Option<AddressId> {
        const LONGEST_CHAIN: usize = 32;
        let mut id = id;
        for _ in 0..LONGEST_CHAIN {
            let mut writes = self.code.iter().filter(|code| defined(&code.operation).contains(&id));
            let value = match (self.registers[id.index()].initial, writes.next(), writes.next()) {
                (Initial::Address(address), None, _) => return Some(address),
                (Initial::Value(_), Some(code), None) => &code.operation,
                _ => return None,
            };
            let Operation::Local { value, .. } = value else { return None };
            id = match value {
                LocalValue::Operand(Operand::Address(address)) => return Some(*address),
                LocalValue::Operand(Operand::Register(base))
                | LocalValue::Binary(BinaryOperator::Add, Operand::Register(base), Operand::Constant(_)) => *base,
                _ => return None,
            };
        }
        None
    }

    /// Initial values as values of their register's type, which is known once the code is.
    pub(crate) fn check_initials(&mut self, findings: &mut Findings) {
        for (id, span) in &self.initialised {
            let register = &mut self.registers[id.index()];
            let Initial::Value(value) = register.initial else { continue };
            if register.ty.fits(value) {
                register.initial = Initial::Value(register.ty.wrap(value));
            } else {
                let whose = format!("{}:{}", self.name, register.name);
                findings.diagnostics.push(misfit(&value.to_string(), register.ty, &whose, *span));
            }
        }
    }

    /// The first values that the declarations give, by the names of their registers.
    pub(crate) fn given_values(&self) -> SortedMap<String, Value> {
        let values = self.initialised.keys().map(|id| &self.registers[id.index()]);
        let number = |register: &Register| match register.initial {
            Initial::Value(value) => Some((register.name.to_string(), value)),
            Initial::Address(_) => None,
        };
        values.filter_map(number).collect()
    }

    pub(crate) fn type_family(&mut self, stem: &str, ty: Type) {
        self.families.push((stem.to_string(), ty));
    }

    /// A label no text can name.
    pub(crate) fn fresh_label(&mut self) -> String {
        self.temporaries += 1;
        format!("#{}", self.temporaries)
    }

    /// Where the statement is that the next operations come from.
    pub(crate) fn at(&mut self, span: Span) {
        self.span = span;
        self.guard = None;
    }

    /// The declared type of what a parameter points to.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// A register no text can name.
    pub(crate) fn temporary(&mut self, ty: Type) -> RegisterId {
        self.temporaries += 1;
        let name = format!("#{}", self.temporaries);
        self.register(&name, ty)
    }

    pub(crate) fn emit(&mut self, operation: Operation) {
        self.code.push(Instruction { operation, span: self.span, guard: self.guard });
    }

    /// A jump whose target is filled in when the thread's labels are all known.
    pub(crate) fn emit_jump(&mut self, operation: Operation, label: Spanned<ShortText>) {
        self.jumps.push((self.code.len(), label));
        self.emit(operation);
    }

    /// What is emitted next is executed last: an early end of the thread leads here.
    pub(crate) fn end_here(&mut self) {
        let target = CodeIndex(u32::try_from(self.code.len()).expect("invariant: fewer than 2^32 instructions"));
        for code in &mut self.code {
            if matches!(code.operation, Operation::Exit) {
                code.operation = Operation::Branch { target };
            }
        }
    }

    /// A register that never gets an address cannot be one: better said here than found as a wild access.
    pub(crate) fn check_pointers(&self, findings: &mut Findings) {
        let by_register = |code: &Instruction| {
            matches!(
                code.operation,
                Operation::Load { address: AddressOperand::Register(_), .. }
                    | Operation::Store { address: AddressOperand::Register(_), .. }
                    | Operation::ReadModifyWrite { address: AddressOperand::Register(_), .. }
            )
        };
        if !self.code.iter().any(by_register) {
            return;
        }
        let defined: Vec<RegisterId> = self.code.iter().flat_map(|code| defined(&code.operation)).collect();
        for code in &self.code {
            let (Operation::Load { address: AddressOperand::Register(register), .. }
            | Operation::Store { address: AddressOperand::Register(register), .. }
            | Operation::ReadModifyWrite { address: AddressOperand::Register(register), .. }) = &code.operation
            else {
                continue;
            };
            let known = &self.registers[register.index()];
            let is_given = defined.contains(register) || self.excused.contains(register);
            if !is_given && matches!(known.initial, Initial::Value(_)) {
                let message = format!("`{}` is used as an address but never gets one", known.name);
                let help = format!("give it one in the declarations: `{}:{} = x;`", self.name, known.name);
                findings.diagnostics.push(Diagnostic::error(code.span, message).label("no address").help(help));
            }
        }
    }

    pub(crate) fn resolve_jumps(&mut self, findings: &mut Findings) {
        for (at, label) in std::mem::take(&mut self.jumps) {
            let Some(found) = self.labels.get(label.node.as_str()).copied() else {
                // One of our own is missing only where the statement was refused.
                if label.node.starts_with("#") {
                    continue;
                }
                let known: Vec<&str> = self.labels.keys().map(String::as_str).collect();
                let help = match known.as_slice() {
                    [] => format!("{} has no labels", self.name),
                    known => format!("labels of {}: {}", self.name, known.join(", ")),
                };
                let message = format!("there is no label `{}` in {}", label.node, self.name);
                findings.diagnostics.push(Diagnostic::error(label.span, message).label("not a label").help(help));
                continue;
            };
            match &mut self.code[at].operation {
                Operation::Branch { target } | Operation::BranchIf { target, .. } => *target = found,
                _ => {}
            }
        }
    }
}

/// Whether `%r12` is of the family `%r<…>`.
pub(crate) fn is_member(name: &str, stem: &str) -> bool {
    name.strip_prefix(stem).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}
