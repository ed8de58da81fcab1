//! PTX instructions of a compiled C test.

use fencepost_program::expression::{BinaryOperator, UnaryOperator};
use fencepost_program::program::{LocalValue, Operand, Operation, Program, Scope, Thread, Update};
use fencepost_program::value::Type;
use fencepost_program::{RegisterId, program::Register};
use fencepost_syntax::litmus::Comparison;

use crate::compile::writer::{Writer, address, compared, label, type_name};
use crate::label::Order;

pub(crate) struct Emitter<'p> {
    program: &'p Program,
    thread: &'p Thread,
    pub(crate) lines: Vec<String>,
    pub(crate) names: Vec<(String, String)>,
    predicates: usize,
    scratch: usize,
}

fn name(register: &Register) -> String {
    // Temporaries are called `#1` and the second `a` of a thread `a.2`, which no text can say. No name in C has a `$`.
    match register.name.strip_prefix('#') {
        Some(number) => format!("%t{number}$"),
        None => format!("%{}", register.name.replace('.', "$")),
    }
}

fn words(order: Order) -> &'static str {
    match order {
        Order::NonAtomic => "weak",
        Order::Relaxed => "relaxed",
        Order::Acquire => "acquire",
        Order::Release => "release",
        Order::AcqRel => "acq_rel",
        Order::SeqCst => "sc",
    }
}

fn scope_word(scope: Option<Scope>) -> &'static str {
    match scope {
        Some(Scope::Cta) => ".cta",
        Some(Scope::Cluster) => ".cluster",
        Some(Scope::Gpu) => ".gpu",
        Some(Scope::Sys) | None => ".sys",
    }
}

fn comparison(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "eq",
        Comparison::NotEqual => "ne",
        Comparison::Less => "lt",
        Comparison::LessEqual => "le",
        Comparison::Greater => "gt",
        Comparison::GreaterEqual => "ge",
    }
}

impl<'p> Emitter<'p> {
    pub(crate) fn new(program: &'p Program, thread: &'p Thread) -> Emitter<'p> {
        let is_named = |register: &&Register| !register.name.starts_with("#");
        let names =
            thread.registers.iter().filter(is_named).map(|register| (register.name.to_string(), name(register)));
        Emitter { program, thread, lines: Vec::new(), names: names.collect(), predicates: 0, scratch: 0 }
    }

    pub(crate) fn declarations(&self, number: usize) -> Vec<String> {
        let declare = |ty: String, name: String| format!("P{number}: .reg .{ty} {name};");
        let registers = self.thread.registers.iter().map(|register| declare(type_name(register.ty), name(register)));
        let predicates = (0..self.predicates).map(|at| declare("pred".to_owned(), format!("%p{at}")));
        let scratch = (0..self.scratch).map(|at| declare("s64".to_owned(), format!("%n{at}")));
        registers.chain(predicates).chain(scratch).collect()
    }

    fn say(&mut self, line: String) {
        self.lines.push(format!("    {line};"));
    }

    fn register(&self, register: RegisterId) -> String {
        name(&self.thread.registers[register.index()])
    }

    fn operand(&self, operand: Operand) -> Result<String, String> {
        match operand {
            Operand::Register(register) => Ok(self.register(register)),
            Operand::Constant(value) => Ok(value.0.to_string()),
            Operand::Address(_) => Err("an address as a value".to_owned()),
        }
    }

    fn predicate(&mut self, how: Comparison, ty: Type, left: Operand, right: Operand) -> Result<String, String> {
        let predicate = format!("%p{}", self.predicates);
        self.predicates += 1;
        // Registers of 32 bits are compared as such; the common type of the program is 64 bits where it does not matter.
        let ty = self.narrowest(ty, left, right);
        let (left, right) = (self.operand(left)?, self.operand(right)?);
        self.say(format!("setp.{}.{} {predicate}, {left}, {right}", comparison(how), type_name(ty)));
        Ok(predicate)
    }

    fn narrowest(&self, ty: Type, left: Operand, right: Operand) -> Type {
        let own = |operand: Operand| match operand {
            Operand::Register(register) => Some(self.thread.registers[register.index()].ty),
            _ => None,
        };
        match (own(left), own(right)) {
            (Some(one), Some(other)) if one == other && one.bits < ty.bits => one,
            (Some(one), None) | (None, Some(one)) if one.bits < ty.bits => one,
            _ => ty,
        }
    }

    fn binary(
        &mut self,
        destination: String,
        ty: Type,
        operator: BinaryOperator,
        sides: (Operand, Operand),
    ) -> Result<(), String> {
        let name = type_name(ty);
        if let Some(how) = compared(operator) {
            let predicate = self.predicate(how, ty, sides.0, sides.1)?;
            self.say(format!("selp.{name} {destination}, 1, 0, {predicate}"));
            return Ok(());
        }
        let (left, right) = (self.operand(sides.0)?, self.operand(sides.1)?);
        let bits = if ty.bits == 64 { "b64" } else { "b32" };
        let opcode = match operator {
            BinaryOperator::Add => format!("add.{name}"),
            BinaryOperator::Subtract => format!("sub.{name}"),
            BinaryOperator::Multiply => format!("mul.lo.{name}"),
            BinaryOperator::Minimum => format!("min.{name}"),
            BinaryOperator::Maximum => format!("max.{name}"),
            BinaryOperator::And => format!("and.{bits}"),
            BinaryOperator::Or => format!("or.{bits}"),
            BinaryOperator::Xor => format!("xor.{bits}"),
            _ => return Err(format!("the operator {operator:?}")),
        };
        self.say(format!("{opcode} {destination}, {left}, {right}"));
        Ok(())
    }

    fn modify(
        &mut self,
        destination: Option<RegisterId>,
        place: &str,
        update: &Update,
        ty: Type,
        head: &str,
    ) -> Result<(), String> {
        let destination = match destination {
            Some(register) => self.register(register),
            None => return Err("a read-modify-write without a result".to_owned()),
        };
        let name = type_name(ty);
        let bits = if ty.bits == 64 { "b64" } else { "b32" };
        let line = match update {
            Update::Exchange(value) => {
                format!("{head}.exch.{bits} {destination}, [{place}], {}", self.operand(*value)?)
            }
            Update::CompareAndSwap { expected, new, .. } => {
                let (expected, new) = (self.operand(*expected)?, self.operand(*new)?);
                format!("{head}.cas.{bits} {destination}, [{place}], {expected}, {new}")
            }
            Update::Apply(BinaryOperator::Subtract, Operand::Constant(value)) => {
                format!("{head}.add.{name} {destination}, [{place}], {}", -value.0)
            }
            Update::Apply(operator, value) => {
                let value = self.operand(*value)?;
                let word = match operator {
                    // In 64 bits PTX adds unsigned numbers only; two's complement makes no difference.
                    BinaryOperator::Add if ty.bits == 64 => "add.u64".to_owned(),
                    BinaryOperator::Add => format!("add.{name}"),
                    BinaryOperator::And => format!("and.{bits}"),
                    BinaryOperator::Or => format!("or.{bits}"),
                    BinaryOperator::Xor => format!("xor.{bits}"),
                    BinaryOperator::Minimum => format!("min.{name}"),
                    BinaryOperator::Maximum => format!("max.{name}"),
                    _ => return Err(format!("an atomic {operator:?}")),
                };
                format!("{head}.{word} {destination}, [{place}], {value}")
            }
            Update::Increment(_) | Update::Decrement(_) => return Err("a wrapping increment".to_owned()),
        };
        self.say(line);
        Ok(())
    }
}

impl Writer for Emitter<'_> {
    fn label(&mut self, name: &str) {
        self.lines.push(format!("{name}:"));
    }

    fn fence(&mut self, order: Order, scope: Option<Scope>) {
        self.say(format!("fence.{}{}", words(order), scope_word(scope)));
    }

    fn access(&mut self, operation: &Operation, order: Order, scope: Option<Scope>) -> Result<(), String> {
        let head = match order {
            Order::NonAtomic => ".weak".to_owned(),
            order => format!(".{}{}", words(order), scope_word(scope)),
        };
        match operation {
            Operation::Load { destination, address: at, ty, .. } => {
                let destination = destination.map(|register| self.register(register)).unwrap_or("_".to_owned());
                let place = address(self.program, at)?;
                self.say(format!("ld{head}.{} {destination}, [{place}]", type_name(*ty)));
            }
            Operation::Store { address: at, value, ty, .. } => {
                let (place, value) = (address(self.program, at)?, self.operand(*value)?);
                self.say(format!("st{head}.{} [{place}], {value}", type_name(*ty)));
            }
            Operation::ReadModifyWrite { destination, address: at, update, ty, .. } => {
                let place = address(self.program, at)?;
                self.modify(*destination, &place, update, *ty, &format!("atom{head}"))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn local(&mut self, operation: &Operation) -> Result<(), String> {
        match operation {
            Operation::Local { destination, ty, value } => {
                let destination = self.register(*destination);
                let bits = if ty.bits == 64 { "b64" } else { "b32" };
                match value {
                    LocalValue::Operand(value) => {
                        let value = self.operand(*value)?;
                        self.say(format!("mov.{} {destination}, {value}", type_name(*ty)));
                    }
                    LocalValue::Unary(UnaryOperator::Negate, value) => {
                        let value = self.operand(*value)?;
                        self.say(format!("neg.s{} {destination}, {value}", if ty.bits == 64 { 64 } else { 32 }));
                    }
                    LocalValue::Unary(UnaryOperator::Not, value) => {
                        let value = self.operand(*value)?;
                        self.say(format!("not.{bits} {destination}, {value}"));
                    }
                    LocalValue::Unary(operator, _) => return Err(format!("the operator {operator:?}")),
                    LocalValue::Binary(operator, left, right) => {
                        self.binary(destination, *ty, *operator, (*left, *right))?;
                    }
                    LocalValue::Select { .. } => return Err("a selection".to_owned()),
                }
            }
            Operation::Branch { target } => self.say(format!("bra {}", label(target.0 as usize))),
            Operation::BranchIf { comparison, ty, left, right, target } => {
                let predicate = self.predicate(*comparison, *ty, *left, *right)?;
                self.say(format!("@{predicate} bra {}", label(target.0 as usize)));
            }
            Operation::Nothing => {}
            Operation::Exit => self.say("exit".to_owned()),
            _ => return Err("an operation that is not C's".to_owned()),
        }
        Ok(())
    }
}
