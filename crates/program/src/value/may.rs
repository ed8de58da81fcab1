//! Sets of values that a read may return or an expression have, before any execution is searched for: short lists, or
//! anything.

use fencepost_syntax::few::Few;
use fencepost_syntax::sorted::SharedSort as _;

use crate::ids::EventId;
use crate::value::Value;
use crate::value::expression::{Expression, Leaf};

/// Beyond this many values nothing is known.
const MANY: usize = 64;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum May {
    Any,
    /// Ascending.
    Values(Few<Value, 3>),
}

impl May {
    pub fn none() -> May {
        May::Values(Few::new())
    }

    pub fn only(value: Value) -> May {
        let mut may = May::none();
        may.insert(value);
        may
    }

    pub fn insert(&mut self, value: Value) {
        if let May::Values(values) = self
            && let Err(at) = values.binary_search(&value)
        {
            values.insert(at, value);
            if values.len() > MANY {
                *self = May::Any;
            }
        }
    }

    /// Whether it holds of some value.
    pub fn any(&self, mut holds: impl FnMut(Value) -> bool) -> bool {
        match self {
            May::Any => true,
            May::Values(values) => values.iter().any(|value| holds(*value)),
        }
    }
}

/// Ascending, each once.
pub fn leaves_of(expression: &Expression) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    expression.leaves(&mut leaves);
    leaves.shared_sort();
    leaves.dedup();
    leaves
}

/// Every value the expression can have, where each read has those that `of` says.
pub fn image<'a>(expression: &Expression, of: &dyn Fn(EventId) -> &'a May) -> May {
    image_over(expression, &leaves_of(expression), of)
}

/// The same of an expression with these leaves.
pub fn image_over<'a>(expression: &Expression, leaves: &[Leaf], of: &dyn Fn(EventId) -> &'a May) -> May {
    if let Expression::Constant(value) = expression {
        return May::only(*value);
    }
    let mut domains: Vec<&[Value]> = Vec::with_capacity(leaves.len());
    for leaf in leaves {
        match leaf {
            Leaf::Read(event) => match of(*event) {
                May::Values(values) => domains.push(values),
                May::Any => return May::Any,
            },
            Leaf::BarrierResult(_) => return May::Any,
        }
    }
    let combinations = domains.iter().try_fold(1usize, |product, values| product.checked_mul(values.len()));
    if combinations.is_none_or(|count| count > MANY * 4) {
        return May::Any;
    }
    let mut image = May::none();
    let mut chosen = Vec::with_capacity(domains.len());
    for mut number in 0..combinations.unwrap_or(0) {
        chosen.clear();
        for values in &domains {
            chosen.push(values[number % values.len()]);
            number /= values.len();
        }
        let value = expression.evaluate(&mut |leaf| {
            let at = leaves.binary_search(&leaf).ok()?;
            chosen.get(at).copied()
        });
        match value {
            Some(value) => image.insert(value),
            None => return May::Any,
        }
    }
    image
}
