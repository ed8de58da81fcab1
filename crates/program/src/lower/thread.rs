//! One thread lowered: its statements in order, guards, operands and addresses.

use fencepost_syntax::instruction::{Instruction as Tree, Operand as TreeOperand};
use fencepost_syntax::litmus::{Dialect, Statement};
use fencepost_syntax::{Diagnostic, Span, Spanned, limits};

use crate::ids::{AddressId, RegisterId};
use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::lower::lints::unwritten;
use crate::lower::special_registers::is_special;
use crate::program::{AddressOperand, CodeIndex, Initial, LocalValue, Operand, Operation, Polarity};
use crate::table;
use crate::value::expression::BinaryOperator;
use crate::value::{Type, Value};

impl Context<'_> {
    pub(crate) fn lower_body(&mut self, body: &[Statement]) {
        let mut is_refused = false;
        if self.dialect == Dialect::X86 {
            let asked = std::mem::take(&mut self.thread.scan.asked);
            self.thread.scan = table::x86::place::scan(body, &self.thread.given_values(), asked);
        }
        self.thread.code.reserve(body.len());
        self.thread.wordings.reserve(body.len());
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
                        let refusal = self.meant_as_label(instruction, body).unwrap_or(refusal);
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
        table::x86::place::view_parts(self.thread);
        self.thread.check_pointers(self.findings);
        self.thread.check_initials(self.findings);
        // A statement of C that was refused may be what writes the variable.
        if self.dialect == Dialect::Ptx || self.dialect == Dialect::C && !is_refused {
            unwritten::warn(self.thread, self.findings);
        }
    }

    /// `L;` for `L:`, where something branches to `L`. It is a label from here on, so that nobody misses it.
    fn meant_as_label(&mut self, instruction: &Tree, body: &[Statement]) -> Option<Refusal> {
        let is_bare =
            instruction.guard.is_none() && instruction.modifiers.is_empty() && instruction.operands.is_empty();
        if self.dialect != Dialect::Ptx || !is_bare {
            return None;
        }
        let opcode = &instruction.opcode;
        let target = |statement: &Statement| {
            let Statement::Instruction { instruction, .. } = statement else { return None };
            match instruction.operands.first().map(|operand| &operand.node) {
                // Opcodes are in lower case.
                Some(TreeOperand::Symbol(label)) if instruction.opcode.node == "bra" => {
                    label.eq_ignore_ascii_case(&opcode.node).then(|| label.to_string())
                }
                _ => None,
            }
        };
        let label = body.iter().find_map(target).filter(|label| !self.thread.labels.contains_key(label))?;
        self.place(&label, opcode.span);
        let error = Diagnostic::error(opcode.span, format!("`{label}` is not a PTX instruction")).label("not PTX");
        Some(Refusal::Error(error.help(format!("did you mean `{label}:`?"))))
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
        let spelling = table::modifier::spelling(instruction);
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
            TreeOperand::Symbol(name) => {
                let name = name.as_str();
                match self.thread.find(name) {
                    Some(register) => Ok(AddressOperand::Register(self.with_offset(register, offset))),
                    None => Ok(AddressOperand::Static(self.named(name, offset, operand.span)?)),
                }
            }
            TreeOperand::Register(name) => {
                let register = self.readable(name, base.span)?;
                Ok(AddressOperand::Register(self.with_offset(register, offset)))
            }
            TreeOperand::Integer(_) => Err(Refusal::Unsupported(operand.span, "an absolute address".to_string())),
            _ => Err(Refusal::Error(
                Diagnostic::error(operand.span, "this is not an address")
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
            table::operands::wrong_number(tree, message)
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
