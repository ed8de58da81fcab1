//! x86 instructions of a compiled C test. Registers are given to temporaries by the span of code they are used in:
//! temporaries belong to one statement, so that no jump backwards carries one.

use fencepost_program::RegisterId;
use fencepost_program::expression::{BinaryOperator, UnaryOperator};
use fencepost_program::program::{LocalValue, Operand, Operation, Program, Scope, Thread, Update};
use fencepost_program::value::Value;
use fencepost_syntax::Span;
use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::sorted::SharedSort as _;

use crate::compile::writer::{NotCompiled, Writer, address, compared, label, operands};
use crate::label::Order;

/// EAX is for what instructions need.
const NARROW: [&str; 14] =
    ["EBX", "ECX", "EDX", "ESI", "EDI", "EBP", "R8D", "R9D", "R10D", "R11D", "R12D", "R13D", "R14D", "R15D"];
const WIDE: [&str; 14] =
    ["RBX", "RCX", "RDX", "RSI", "RDI", "RBP", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15"];

pub(crate) struct Emitter<'p> {
    program: &'p Program,
    thread: &'p Thread,
    /// By register of the program.
    given: Vec<Option<usize>>,
    pub(crate) lines: Vec<String>,
    pub(crate) names: Vec<(String, String)>,
    labels: usize,
}

impl<'p> Emitter<'p> {
    pub(crate) fn new(program: &'p Program, thread: &'p Thread) -> Result<Emitter<'p>, NotCompiled> {
        let mut spans: Vec<Option<(usize, usize)>> = vec![None; thread.registers.len()];
        let mut touch = |register: RegisterId, at: usize| {
            let span = spans[register.index()].get_or_insert((at, at));
            span.1 = at;
        };
        for (at, instruction) in thread.code.iter().enumerate() {
            for operand in operands(&instruction.operation) {
                if let Operand::Register(register) = operand {
                    touch(register, at);
                }
            }
            match &instruction.operation {
                Operation::Load { destination: Some(register), .. }
                | Operation::ReadModifyWrite { destination: Some(register), .. }
                | Operation::Local { destination: register, .. } => touch(*register, at),
                _ => {}
            }
        }
        for (register, span) in thread.registers.iter().zip(&mut spans) {
            if !register.name.starts_with("#") {
                *span = Some((0, usize::MAX));
            }
        }
        let given = allocate(&spans).ok_or_else(|| NotCompiled {
            span: thread.code.first().map_or(Span::default(), |instruction| instruction.span),
            what: "more variables than x86 has registers".to_owned(),
        })?;
        let mut emitter = Emitter { program, thread, given, lines: Vec::new(), names: Vec::new(), labels: 0 };
        for (at, register) in thread.registers.iter().enumerate() {
            if !register.name.starts_with("#") {
                emitter.names.push((register.name.to_string(), emitter.register(RegisterId::new(at))));
            }
        }
        Ok(emitter)
    }

    fn say(&mut self, line: String) {
        self.lines.push(format!("    {line}"));
    }

    fn is_wide(&self, register: RegisterId) -> bool {
        self.thread.registers[register.index()].ty.bits == 64
    }

    fn register(&self, register: RegisterId) -> String {
        let names = if self.is_wide(register) { WIDE } else { NARROW };
        self.given[register.index()].and_then(|at| names.get(at)).copied().unwrap_or("EAX").to_owned()
    }

    fn operand(&self, operand: Operand) -> Result<String, String> {
        match operand {
            Operand::Register(register) => Ok(self.register(register)),
            Operand::Constant(Value(value)) => Ok(format!("${value}")),
            Operand::Address(_) => Err("an address as a value".to_owned()),
        }
    }

    /// Compares, with a register on the left.
    fn compare(&mut self, left: Operand, right: Operand) -> Result<(), String> {
        let right = self.operand(right)?;
        let left = match left {
            Operand::Register(register) => self.register(register),
            other => {
                let other = self.operand(other)?;
                self.say(format!("mov EAX, {other}"));
                "EAX".to_owned()
            }
        };
        self.say(format!("cmp {left}, {right}"));
        Ok(())
    }

    fn jump(comparison: Comparison, signed: bool) -> &'static str {
        match (comparison, signed) {
            (Comparison::Equal, _) => "je",
            (Comparison::NotEqual, _) => "jne",
            (Comparison::Less, true) => "jl",
            (Comparison::LessEqual, true) => "jle",
            (Comparison::Greater, true) => "jg",
            (Comparison::GreaterEqual, true) => "jge",
            (Comparison::Less, false) => "jb",
            (Comparison::LessEqual, false) => "jbe",
            (Comparison::Greater, false) => "ja",
            (Comparison::GreaterEqual, false) => "jae",
        }
    }

    fn binary(
        &mut self,
        destination: RegisterId,
        signed: bool,
        operator: BinaryOperator,
        sides: (Operand, Operand),
    ) -> Result<(), String> {
        let target = self.register(destination);
        if let Some(how) = compared(operator) {
            self.compare(sides.0, sides.1)?;
            // `mov` keeps the flags.
            let end = format!("M{}", self.labels);
            self.labels += 1;
            self.say(format!("mov {target}, $1"));
            self.say(format!("{} {end}", Emitter::jump(how, signed)));
            self.say(format!("mov {target}, $0"));
            self.label(&end);
            return Ok(());
        }
        let word = match operator {
            BinaryOperator::Add => "add",
            BinaryOperator::Subtract => "sub",
            BinaryOperator::And => "and",
            BinaryOperator::Or => "or",
            BinaryOperator::Xor => "xor",
            _ => return Err(format!("the operator {operator:?}")),
        };
        let (left, right) = (self.operand(sides.0)?, self.operand(sides.1)?);
        let accumulator = if self.is_wide(destination) { "RAX" } else { "EAX" };
        self.say(format!("mov {accumulator}, {left}"));
        self.say(format!("{word} {accumulator}, {right}"));
        self.say(format!("mov {target}, {accumulator}"));
        Ok(())
    }

    fn modify(&mut self, destination: RegisterId, place: &str, update: &Update) -> Result<(), String> {
        let target = self.register(destination);
        match update {
            Update::Exchange(value) => {
                let value = self.operand(*value)?;
                self.say(format!("mov {target}, {value}"));
                self.say(format!("xchg [{place}], {target}"));
            }
            Update::Apply(BinaryOperator::Add, value) => {
                let value = self.operand(*value)?;
                self.say(format!("mov {target}, {value}"));
                self.say(format!("lock xadd [{place}], {target}"));
            }
            Update::Apply(BinaryOperator::Subtract, Operand::Constant(Value(value))) => {
                self.say(format!("mov {target}, ${}", -value));
                self.say(format!("lock xadd [{place}], {target}"));
            }
            Update::CompareAndSwap { expected, new, .. } => {
                let accumulator = if self.is_wide(destination) { "RAX" } else { "EAX" };
                let (expected, new) = (self.operand(*expected)?, self.operand(*new)?);
                self.say(format!("mov {accumulator}, {expected}"));
                self.say(format!("mov {target}, {new}"));
                self.say(format!("lock cmpxchg [{place}], {target}"));
                self.say(format!("mov {target}, {accumulator}"));
            }
            Update::Apply(operator, _) => return Err(format!("an atomic {operator:?} that returns the old value")),
            Update::Increment(_) | Update::Decrement(_) => return Err("a wrapping increment".to_owned()),
        }
        Ok(())
    }
}

/// A place for each register such that no two that are alive together share one; None if there are too few.
fn allocate(spans: &[Option<(usize, usize)>]) -> Option<Vec<Option<usize>>> {
    let mut given: Vec<Option<usize>> = vec![None; spans.len()];
    let mut order: Vec<usize> = (0..spans.len()).filter(|at| spans[*at].is_some()).collect();
    order.shared_sort_by_key(|at| (spans[*at], *at));
    for &at in &order {
        let overlaps = |other: usize| match (spans[at], spans[other]) {
            (Some(one), Some(two)) => one.0 <= two.1 && two.0 <= one.1,
            _ => false,
        };
        let taken: Vec<usize> =
            (0..spans.len()).filter(|other| overlaps(*other)).filter_map(|other| given[other]).collect();
        given[at] = Some((0..NARROW.len()).find(|place| !taken.contains(place))?);
    }
    Some(given)
}

impl Writer for Emitter<'_> {
    fn label(&mut self, name: &str) {
        self.lines.push(format!("{name}:"));
    }

    fn fence(&mut self, _: Order, _: Option<Scope>) {
        self.say("mfence".to_owned());
    }

    fn access(&mut self, operation: &Operation, _: Order, _: Option<Scope>) -> Result<(), String> {
        match operation {
            Operation::Load { destination, address: at, .. } => {
                let place = address(self.program, at)?;
                let target = destination.map(|register| self.register(register)).unwrap_or("EAX".to_owned());
                self.say(format!("mov {target}, [{place}]"));
            }
            Operation::Store { address: at, value, .. } => {
                let (place, value) = (address(self.program, at)?, self.operand(*value)?);
                self.say(format!("mov [{place}], {value}"));
            }
            Operation::ReadModifyWrite { destination: Some(destination), address: at, update, .. } => {
                let place = address(self.program, at)?;
                self.modify(*destination, &place, update)?;
            }
            _ => return Err("a read-modify-write without a result".to_owned()),
        }
        Ok(())
    }

    fn local(&mut self, operation: &Operation) -> Result<(), String> {
        match operation {
            Operation::Local { destination, ty, value } => {
                let target = self.register(*destination);
                match value {
                    LocalValue::Operand(value) => {
                        let value = self.operand(*value)?;
                        self.say(format!("mov {target}, {value}"));
                    }
                    LocalValue::Unary(operator @ (UnaryOperator::Negate | UnaryOperator::Not), value) => {
                        let value = self.operand(*value)?;
                        let word = if *operator == UnaryOperator::Not { "not" } else { "neg" };
                        self.say(format!("mov {target}, {value}"));
                        self.say(format!("{word} {target}"));
                    }
                    LocalValue::Unary(operator, _) => return Err(format!("the operator {operator:?}")),
                    LocalValue::Binary(operator, left, right) => {
                        self.binary(*destination, ty.signed, *operator, (*left, *right))?;
                    }
                    LocalValue::Select { .. } => return Err("a selection".to_owned()),
                }
            }
            Operation::Branch { target } => self.say(format!("jmp {}", label(target.0 as usize))),
            Operation::BranchIf { comparison, ty, left, right, target } => {
                self.compare(*left, *right)?;
                self.say(format!("{} {}", Emitter::jump(*comparison, ty.signed), label(target.0 as usize)));
            }
            Operation::Nothing => {}
            Operation::Exit => self.say("ret".to_owned()),
            _ => return Err("an operation that is not C's".to_owned()),
        }
        Ok(())
    }
}
