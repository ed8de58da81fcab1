//! What the writers of both architectures share: the interface, what they refuse, and how labels, addresses, operands and
//! types are written or found in a lowered program.

use fencepost_program::LocationId;
use fencepost_program::expression::BinaryOperator;
use fencepost_program::program::{AddressOperand, Operand, Operation, Program, Scope, Update};
use fencepost_syntax::Span;
use fencepost_syntax::litmus::Comparison;

use crate::label::Order;

/// What has no instruction on the target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotCompiled {
    pub span: Span,
    pub what: String,
}

impl std::fmt::Display for NotCompiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no instruction for {}", self.what)
    }
}

impl std::error::Error for NotCompiled {}

/// Writes the instructions of one architecture.
pub(crate) trait Writer {
    /// A label that stands before the next instruction.
    fn label(&mut self, name: &str);
    fn fence(&mut self, order: Order, scope: Option<Scope>);
    /// A load, store or read-modify-write with this order; the operation has the operands.
    fn access(&mut self, operation: &Operation, order: Order, scope: Option<Scope>) -> Result<(), String>;
    /// Arithmetic and jumps.
    fn local(&mut self, operation: &Operation) -> Result<(), String>;
}

pub(crate) fn label(at: usize) -> String {
    format!("L{at}")
}

/// How an operator compares, if it does.
pub(crate) fn compared(operator: BinaryOperator) -> Option<Comparison> {
    match operator {
        BinaryOperator::Equal => Some(Comparison::Equal),
        BinaryOperator::NotEqual => Some(Comparison::NotEqual),
        BinaryOperator::Less => Some(Comparison::Less),
        BinaryOperator::LessEqual => Some(Comparison::LessEqual),
        BinaryOperator::Greater => Some(Comparison::Greater),
        BinaryOperator::GreaterEqual => Some(Comparison::GreaterEqual),
        _ => None,
    }
}

/// The name of a location that an access names.
pub(crate) fn address(program: &Program, address: &AddressOperand) -> Result<String, String> {
    match address {
        AddressOperand::Static(id) => {
            let location: LocationId = program.addresses[id.index()].location;
            Ok(program.locations[location.index()].name.to_string())
        }
        AddressOperand::Register(_) => Err("an address in a register".to_owned()),
    }
}

/// The operands that an operation reads.
pub(crate) fn operands(operation: &Operation) -> Vec<Operand> {
    use fencepost_program::program::LocalValue;
    match operation {
        Operation::Store { value, .. } => vec![*value],
        Operation::ReadModifyWrite { update, .. } => match update {
            Update::Exchange(value) | Update::Apply(_, value) | Update::Increment(value) | Update::Decrement(value) => {
                vec![*value]
            }
            Update::CompareAndSwap { expected, new, .. } => vec![*expected, *new],
        },
        Operation::Local { value, .. } => match value {
            LocalValue::Operand(value) | LocalValue::Unary(_, value) => vec![*value],
            LocalValue::Binary(_, left, right) => vec![*left, *right],
            LocalValue::Select { condition, then, otherwise } => vec![*condition, *then, *otherwise],
        },
        Operation::BranchIf { left, right, .. } => vec![*left, *right],
        _ => Vec::new(),
    }
}

pub(crate) fn type_name(ty: fencepost_program::value::Type) -> String {
    let bits = if ty.bits == 64 { 64 } else { 32 };
    format!("{}{bits}", if ty.signed { 's' } else { 'u' })
}
