//! The variants and readings that are switched on, for `if "name=value"`. All others are off.

use std::collections::BTreeSet;

use fencepost_syntax::cat::VariantCondition;

#[derive(Clone, Debug, Default)]
pub(super) struct Variants(BTreeSet<String>);

impl Variants {
    pub(super) fn new(on: &BTreeSet<String>) -> Variants {
        Variants(on.clone())
    }

    pub(super) fn holds(&self, condition: &VariantCondition) -> bool {
        match condition {
            VariantCondition::Name(name) => self.0.contains(name),
            VariantCondition::Not(inner) => !self.holds(inner),
            VariantCondition::And(left, right) => self.holds(left) && self.holds(right),
            VariantCondition::Or(left, right) => self.holds(left) || self.holds(right),
        }
    }
}
