//! One thread: its registers, labels and code while it is lowered.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_syntax::c::Parameter;
use fencepost_syntax::instruction::{Instruction as Tree, Operand as TreeOperand};
use fencepost_syntax::litmus::{Arch, Dialect, Litmus, Placement, Side, Statement};
use fencepost_syntax::{Diagnostic, Span, Spanned, limits};

use crate::expression::BinaryOperator;
use crate::ids::{AddressId, KernelId, RegisterId, ThreadId};
use crate::lower::blocks::Blocks;
use crate::lower::names::Viewer;
use crate::lower::spaces::Qualified;
use crate::lower::special::{self, Position, is_special};
use crate::lower::{Context, Findings, Refusal, misfit, unwritten};
use crate::program::{
    AddressOperand, CodeIndex, Feature, Initial, Instruction, LocalValue, Operand, Operation, Place, Polarity,
    Register, Space, Thread, Wording,
};
use crate::table;
use crate::unfold::defined;
use crate::value::{Type, Value};

pub(crate) struct ThreadBuilder {
    name: String,
    /// What the thread is written in.
    pub(super) dialect: Dialect,
    arch: Arch,
    pub(crate) place: Place,
    pub(super) id: ThreadId,
    position: Position,
    registers: Vec<Register>,
    pub(super) by_name: BTreeMap<String, RegisterId>,
    pub(super) blocks: Blocks,
    families: Vec<(String, Type)>,
    pub(super) code: Vec<Instruction>,
    labels: BTreeMap<String, CodeIndex>,
    jumps: Vec<(usize, Spanned<String>)>,
    span: Span,
    guard: Option<(RegisterId, Polarity)>,
    temporaries: u32,
    /// What the parameters of a thread in C point to.
    parameters: BTreeMap<String, String>,
    /// Variables of C that hold 0 or 1 only.
    booleans: BTreeSet<RegisterId>,
    /// Registers the declarations give a value, and where.
    initialised: BTreeMap<RegisterId, Span>,
    /// Accesses through a register that say their state space.
    pub(super) qualified: Vec<Qualified>,
    /// Whether code asks in which state space an address lies, so that an access may be one that is never made.
    pub(crate) asks_spaces: bool,
    wordings: BTreeMap<Span, Wording>,
    /// Of a thread in x86: what its text shows.
    pub(crate) scan: table::x86_place::Scan,
    /// Registers of instructions that were refused: what is in them is not known.
    pub(super) excused: BTreeSet<RegisterId>,
}

/// One builder per thread. A PTX thread without any placement runs in CTA 0 of GPU 0, as Dartagnan's missing parts are 0;
/// a CTA without a cluster is a cluster of its own.
pub(crate) fn builders(litmus: &Litmus, findings: &mut Findings) -> Vec<ThreadBuilder> {
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
        ThreadBuilder { arch: thread.arch, parameters, ..ThreadBuilder::new(thread.name.node.clone(), dialect, place) }
    };
    let mut builders: Vec<ThreadBuilder> = litmus.threads.iter().map(build).collect();
    let places: Vec<Place> = builders.iter().map(|builder| builder.place).collect();
    for (index, (builder, position)) in builders.iter_mut().zip(special::positions(&places)).enumerate() {
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

fn place(dialect: Dialect, placement: Placement) -> Place {
    let is_unplaced_c = dialect == Dialect::C && placement.cta.is_none() && placement.gpu.is_none();
    if dialect == Dialect::X86 || placement.side == Side::Host || is_unplaced_c {
        return Place::Host;
    }
    let cta = placement.cta.unwrap_or(0);
    Place::Gpu { gpu: placement.gpu.unwrap_or(0), cluster: placement.cluster.unwrap_or(cta), cta }
}

impl ThreadBuilder {
    pub(crate) fn new(name: String, dialect: Dialect, place: Place) -> ThreadBuilder {
        ThreadBuilder {
            name,
            dialect,
            arch: Arch::Ptx,
            place,
            id: ThreadId(0),
            position: Position::default(),
            registers: Vec::new(),
            by_name: BTreeMap::new(),
            blocks: Blocks::new(),
            families: Vec::new(),
            code: Vec::new(),
            labels: BTreeMap::new(),
            jumps: Vec::new(),
            span: Span::default(),
            guard: None,
            temporaries: 0,
            parameters: BTreeMap::new(),
            booleans: BTreeSet::new(),
            initialised: BTreeMap::new(),
            qualified: Vec::new(),
            asks_spaces: false,
            wordings: BTreeMap::new(),
            scan: table::x86_place::Scan::default(),
            excused: BTreeSet::new(),
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
    pub(super) fn spelling(&self, span: Span) -> Option<&str> {
        self.wordings.get(&span).map(|wording| wording.spelling.as_str())
    }

    /// Notes that the instruction says in which state space the address in this register lies.
    pub(super) fn say_space(&mut self, register: RegisterId, space: Space) {
        self.wordings.entry(self.span).or_default().spaces.push((register, space));
    }

    /// The register of that name, made (at 0, of that type) if new.
    pub(crate) fn register(&mut self, name: &str, ty: Type) -> RegisterId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let declared = self.families.iter().find(|(stem, _)| is_member(name, stem)).map(|(_, ty)| *ty);
        let id = RegisterId::new(self.registers.len());
        self.registers.push(Register {
            name: name.to_string(),
            ty: declared.unwrap_or(ty),
            initial: Initial::Value(Value(0)),
        });
        self.by_name.insert(name.to_string(), id);
        id
    }

    pub(crate) fn register_count(&self) -> usize {
        self.registers.len()
    }

    pub(crate) fn viewer(&self) -> Viewer {
        Viewer { thread: self.id, place: self.place }
    }

    pub(crate) fn find(&self, name: &str) -> Option<RegisterId> {
        self.by_name.get(name).copied()
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
        self.registers[id.index()].name = name;
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
        self.by_name.keys().map(String::as_str).filter(|name| !name.starts_with('#')).collect()
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
    pub(super) fn fixed_address(&self, id: RegisterId) -> Option<AddressId> {
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
    fn check_initials(&mut self, findings: &mut Findings) {
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
    fn given_values(&self) -> BTreeMap<String, Value> {
        let values = self.initialised.keys().map(|id| &self.registers[id.index()]);
        let number = |register: &Register| match register.initial {
            Initial::Value(value) => Some((register.name.clone(), value)),
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
    pub(crate) fn emit_jump(&mut self, operation: Operation, label: Spanned<String>) {
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
    fn check_pointers(&self, findings: &mut Findings) {
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

    fn resolve_jumps(&mut self, findings: &mut Findings) {
        for (at, label) in std::mem::take(&mut self.jumps) {
            let Some(found) = self.labels.get(&label.node).copied() else {
                // One of our own is missing only where the statement was refused.
                if label.node.starts_with('#') {
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
fn is_member(name: &str, stem: &str) -> bool {
    name.strip_prefix(stem).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Context<'_> {
    pub(crate) fn lower_body(&mut self, body: &[Statement]) {
        let mut is_refused = false;
        if self.dialect == Dialect::X86 {
            let asked = std::mem::take(&mut self.thread.scan.asked);
            self.thread.scan = table::x86_place::scan(body, &self.thread.given_values(), asked);
        }
        for statement in body {
            if limits::tick() {
                return;
            }
            match statement {
                Statement::Label(label) => self.label(label),
                Statement::Instruction { instruction, assume } => {
                    let assume = assume.as_ref().map(|assume| Value(assume.node));
                    let lowered = self.lower_guard(instruction).and_then(|()| table::lower(self, instruction, assume));
                    if let Err(refusal) = lowered {
                        self.findings.refuse(refusal);
                        self.declare_registers(instruction);
                    }
                }
                Statement::C(statement) => {
                    if let Err(refusal) = table::c::lower(self, statement) {
                        self.findings.refuse(refusal);
                        is_refused = true;
                    }
                }
            }
        }
        self.thread.settle_blocks();
        self.thread.resolve_jumps(self.findings);
        table::x86_place::view_parts(self.thread);
        self.thread.check_pointers(self.findings);
        self.thread.check_initials(self.findings);
        // A statement of C that was refused may be what writes the variable.
        if self.dialect == Dialect::Ptx || self.dialect == Dialect::C && !is_refused {
            unwritten::warn(self.thread, self.findings);
        }
    }

    /// An instruction that was refused still names its registers: a condition about them is no second mistake.
    fn declare_registers(&mut self, instruction: &Tree) {
        for operand in instruction.operands.iter().flat_map(parts) {
            if let TreeOperand::Register(name) = &operand.node {
                let register = self.thread.register(name, Type::UNTYPED);
                self.thread.excused.insert(register);
            }
        }
    }

    /// PTX brings an immediate to the size of the instruction's type (PTX ISA 4.5.1): more bits than that are lost.
    pub(crate) fn immediates(&mut self, tree: &Tree, ty: Type) {
        tree.operands.iter().for_each(|operand| self.immediate(tree, operand, ty));
    }

    pub(crate) fn immediate(&mut self, tree: &Tree, operand: &Spanned<TreeOperand>, ty: Type) {
        if let TreeOperand::Integer(integer) = operand.node
            && !ty.fits(Value(integer))
        {
            let name = table::modifier::spelled(tree);
            let kept = ty.wrap(Value(integer));
            let message = format!("{integer} does not fit the {} bits of {name}: its low bits are {kept}", ty.bits);
            let warning = Diagnostic::warning(operand.span, message).label("cut off");
            self.findings.diagnostics.push(warning.help(format!("write {kept} if that is meant")));
        }
        // PTX rounds a number of the other precision (4.5.2); nothing here does.
        if let TreeOperand::Float(text) = &operand.node {
            let bits = match text.trim_start_matches('-').as_bytes() {
                [b'0', b'f' | b'F', ..] => 32,
                [b'0', b'd' | b'D', ..] => 64,
                _ => return,
            };
            if ty.bits > 0 && bits != ty.bits {
                let what = format!("`{text}`, a number of {bits} bits, in an instruction of {}", ty.bits);
                self.findings.refuse(Refusal::Unsupported(operand.span, what));
            }
        }
    }

    fn label(&mut self, label: &Spanned<String>) {
        let here = CodeIndex(u32::try_from(self.thread.code.len()).expect("invariant: fewer than 2^32 instructions"));
        if self.thread.labels.insert(label.node.clone(), here).is_some() {
            let message = format!("the label `{}` stands twice in {}", label.node, self.thread.name);
            self.findings.diagnostics.push(Diagnostic::error(label.span, message).help("rename one of them"));
        }
    }

    /// A label of our own.
    pub(crate) fn place(&mut self, label: &str, span: Span) {
        self.label(&Spanned::new(label.to_owned(), span));
    }

    pub(crate) fn lower_guard(&mut self, instruction: &Tree) -> Result<(), Refusal> {
        self.thread.span = instruction.span();
        let spelling = table::modifier::spelled(instruction);
        self.thread.wordings.entry(instruction.span()).or_default().spelling = spelling;
        self.thread.guard = match &instruction.guard {
            None => None,
            Some(guard) => {
                let register = self.thread.register(&guard.register.node, Type::PREDICATE);
                Some((register, if guard.negated { Polarity::Zero } else { Polarity::NonZero }))
            }
        };
        Ok(())
    }

    /// A register, an immediate, or the address of a name.
    pub(crate) fn value(&mut self, operand: &Spanned<TreeOperand>) -> Result<Operand, Refusal> {
        match &operand.node {
            TreeOperand::Register(name) => Ok(Operand::Register(self.readable(name, operand.span)?)),
            TreeOperand::Integer(integer) => Ok(Operand::Constant(Value(*integer))),
            TreeOperand::Float(text) => match table::float_bits(text) {
                Some(bits) => Ok(Operand::Constant(bits)),
                None => Err(Refusal::Unsupported(operand.span, format!("the floating-point number `{text}`"))),
            },
            TreeOperand::Symbol(name) => match self.thread.find(name) {
                Some(register) => Ok(Operand::Register(register)),
                // The one name that PTX gives a value (PTX ISA 4.5.4).
                None if name == "WARP_SZ" && self.names.get(name).is_none() => Ok(Operand::Constant(Value(32))),
                None => Ok(Operand::Address(self.named(name, 0, operand.span)?)),
            },
            TreeOperand::Offset(base, offset) => match &base.node {
                TreeOperand::Symbol(name) if self.thread.find(name).is_none() => {
                    Ok(Operand::Address(self.named(name, *offset, operand.span)?))
                }
                _ => Err(unmodelled(operand.span)),
            },
            TreeOperand::Address(_) if self.dialect == Dialect::Ptx => {
                let error = Diagnostic::error(operand.span, "an address stands where a value belongs");
                Err(Refusal::Error(error.label("no value").help("load it into a register first")))
            }
            _ => Err(unmodelled(operand.span)),
        }
    }

    /// The address of a name, as this thread sees it.
    pub(crate) fn named(&mut self, name: &str, offset: i128, span: Span) -> Result<AddressId, Refusal> {
        self.names.address(name, offset, self.thread.viewer(), span)
    }

    /// A register that is read: special registers (`%tid.x`) have the value that the placement or the test gives them.
    fn readable(&mut self, name: &str, span: Span) -> Result<RegisterId, Refusal> {
        if self.thread.find(name).is_some() || !is_special(name) {
            return Ok(self.thread.register(name, Type::UNTYPED));
        }
        let Some(value) = self.thread.position.value(name) else {
            return Err(Refusal::Unsupported(span, format!("the special register `{name}`")));
        };
        let register = self.thread.register(name, Type::U32);
        self.thread.set_initial(register, Initial::Value(Value(value)), span);
        Ok(register)
    }

    /// A destination register of the given type; `_` is none.
    pub(crate) fn destination(
        &mut self,
        operand: &Spanned<TreeOperand>,
        ty: Type,
    ) -> Result<Option<RegisterId>, Refusal> {
        match &operand.node {
            TreeOperand::Register(name) => {
                let id = self.thread.register(name, ty);
                self.thread.refine(id, ty);
                Ok(Some(id))
            }
            // Real PTX may declare registers under any name (`.reg .b32 tmp;`).
            TreeOperand::Symbol(name) if self.dialect == Dialect::Ptx && self.names.get(name).is_none() => {
                Ok(Some(self.thread.register(name, ty)))
            }
            TreeOperand::Sink => Ok(None),
            TreeOperand::Vector(_) | TreeOperand::Pair(..) => Err(unmodelled(operand.span)),
            _ => Err(Refusal::Error(
                Diagnostic::error(operand.span, "the destination must be a register").label("no register"),
            )),
        }
    }

    /// `x`, `[x]`, `[x+8]`, `[%rd1]`.
    pub(crate) fn address(&mut self, operand: &Spanned<TreeOperand>) -> Result<AddressOperand, Refusal> {
        let (base, offset) = match &operand.node {
            TreeOperand::Address(address) if address.rest.is_empty() => (&*address.base, address.offset),
            TreeOperand::Address(_) => return Err(unmodelled(operand.span)),
            TreeOperand::Offset(base, offset) => (&**base, *offset),
            _ => (operand, 0),
        };
        match &base.node {
            TreeOperand::Symbol(name) => match self.thread.find(name) {
                Some(register) => Ok(AddressOperand::Register(self.with_offset(register, offset))),
                None => Ok(AddressOperand::Static(self.named(name, offset, operand.span)?)),
            },
            TreeOperand::Register(name) => {
                let register = self.readable(name, base.span)?;
                Ok(AddressOperand::Register(self.with_offset(register, offset)))
            }
            TreeOperand::Integer(_) => Err(Refusal::Unsupported(operand.span, "an absolute address".to_string())),
            _ => Err(Refusal::Error(
                Diagnostic::error(operand.span, "this is no address")
                    .help("write a location, `[x]`, or a register, `[%rd1]`"),
            )),
        }
    }

    fn with_offset(&mut self, base: RegisterId, offset: i128) -> RegisterId {
        if offset == 0 {
            return base;
        }
        let sum = self.thread.temporary(Type::U64);
        let value = LocalValue::Binary(BinaryOperator::Add, Operand::Register(base), Operand::Constant(Value(offset)));
        self.thread.emit(Operation::Local { destination: sum, ty: Type::U64, value });
        sum
    }

    /// The operands, if there are as many as the form takes.
    pub(crate) fn operands<'t, const N: usize>(
        &self,
        tree: &'t Tree,
    ) -> Result<&'t [Spanned<TreeOperand>; N], Refusal> {
        tree.operands.as_slice().try_into().map_err(|_| {
            let message = format!("`{}` takes {N} operands, not {}", tree.opcode.node, tree.operands.len());
            Refusal::Error(Diagnostic::error(tree.span(), message).label("wrong number of operands"))
        })
    }
}

/// The elements of a vector, or the operand itself.
fn parts(operand: &Spanned<TreeOperand>) -> Vec<&Spanned<TreeOperand>> {
    match &operand.node {
        TreeOperand::Vector(elements) => elements.iter().collect(),
        TreeOperand::Pair(first, second) => vec![&**first, &**second],
        _ => vec![operand],
    }
}

fn unmodelled(span: Span) -> Refusal {
    Refusal::Unsupported(span, "this form of operand".to_string())
}
