//! The values of a test whose locations were cut, as the test has them that was asked about: whole values, put together of
//! their parts, under the names of the whole.

use std::sync::Arc;

use fencepost_program::value::{Type, Value};
use fencepost_report::{Assignment, Number};
use fencepost_syntax::sorted::SortedMap;

use crate::test::Test;

/// A cut test, and what its parts were before.
#[derive(Debug)]
pub struct Whole {
    pub(crate) cut: Arc<Test>,
    /// The terms of the whole test.
    pub(crate) terms: Vec<WholeTerm>,
    /// By what an address is called in the cut test: what it is called in the whole one.
    pub(crate) addresses: SortedMap<String, String>,
}

/// A term of the whole test: what it is called, and the parts it is now, lowest bytes first.
#[derive(Debug)]
pub struct WholeTerm {
    pub(crate) name: Arc<str>,
    pub(crate) parts: Vec<Part>,
    pub(crate) ty: Type,
}

/// What a part is called in reports, and how wide it is.
#[derive(Debug)]
pub struct Part {
    pub(crate) name: Arc<str>,
    pub(crate) bits: u32,
}

impl Whole {
    /// A state of the cut test in whole values.
    pub(crate) fn assemble(&self, state: &Assignment) -> Assignment {
        let value = |name: &str| state.0.iter().find(|(own, _)| **own == *name).map(|(_, value)| value.clone());
        let whole = |WholeTerm { name, parts, ty }: &WholeTerm| {
            if let [only] = parts.as_slice() {
                return Some((Arc::clone(name), value(&only.name)?));
            }
            let (mut bits, mut at) = (0i128, 0);
            for part in parts {
                let Number::Known(value) = value(&part.name)? else { return None };
                let unsigned = value & (1i128.checked_shl(part.bits).map_or(-1, |end| end.wrapping_sub(1)));
                bits |= unsigned.checked_shl(at).unwrap_or(0);
                at += part.bits;
            }
            Some((Arc::clone(name), Number::Known(ty.wrap(Value(bits)).0)))
        };
        Assignment(self.terms.iter().filter_map(whole).collect())
    }

    /// What an address of the cut test is called in the whole one.
    pub(crate) fn address(&self, name: String) -> String {
        self.addresses.get(&name).cloned().unwrap_or(name)
    }
}
