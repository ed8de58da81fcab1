//! How the accesses of a test use each name, and where memory is cut for that. [`super`] finds it out, and
//! [`super::atoms`] makes locations of it.

use fencepost_syntax::Span;
use fencepost_syntax::short::ShortText;
use fencepost_syntax::sorted::SortedSet;

use crate::few::Few;
use crate::lower::names::{Name, NameId};
use crate::program::LocationRole;
use crate::value::Type;

/// A scalar operation on a variable. The offset is None where it may be any multiple of its size.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Scalar {
    pub(crate) offset: Option<i128>,
    pub(crate) ty: Type,
    pub(crate) span: Span,
    /// Whether the text names the place.
    pub(crate) is_named: bool,
}

impl Scalar {
    pub(crate) fn bytes(&self) -> i128 {
        i128::from(self.ty.bits / 8)
    }

    /// Where it begins and ends, if that is known.
    pub(crate) fn ends(&self) -> Option<(i128, i128)> {
        self.offset.map(|offset| (offset, offset + self.bytes()))
    }
}

/// How a name is used, by all of its instances: they are cut alike.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    pub(crate) scalars: Few<Scalar>,
    /// Offsets of mbarriers.
    pub(crate) objects: SortedSet<i128>,
    /// Those that the text names.
    pub(crate) named: SortedSet<i128>,
    /// Where `mbarrier.init` makes one.
    pub(crate) made: Made,
    /// Where runs of bytes begin and end.
    pub(crate) runs: SortedSet<i128>,
    /// A tensor map describes it.
    pub(crate) is_tensor: bool,
    /// Where code first touches it.
    pub(crate) touched: Option<Span>,
}

/// The places of mbarriers by their initialisation.
#[derive(Clone, Debug, Default)]
pub(crate) enum Made {
    #[default]
    Nowhere,
    At(SortedSet<i128>),
    /// Some place is not known.
    Somewhere,
}

impl Made {
    pub(crate) fn add(&mut self, offset: Option<i128>) {
        match (std::mem::take(self), offset) {
            (Made::Somewhere, _) | (_, None) => *self = Made::Somewhere,
            (Made::Nowhere, Some(offset)) => *self = Made::At(SortedSet::from([offset])),
            (Made::At(mut found), Some(offset)) => {
                found.insert(offset);
                *self = Made::At(found);
            }
        }
    }
}

/// How each name is cut.
pub(crate) struct Cut {
    /// By name; None of those that no access touches.
    pub(crate) uses: Vec<Option<Uses>>,
    /// By name: where atoms begin, and where the last ends. Empty for a name without a size.
    pub(crate) edges: Vec<SortedSet<i128>>,
    /// The type of names without accesses of their own.
    pub(crate) fallback: Option<Type>,
}

impl Cut {
    pub(crate) fn uses(&self, name: NameId) -> Option<&Uses> {
        self.uses[name.index()].as_ref()
    }

    pub(crate) fn edges(&self, name: NameId) -> &SortedSet<i128> {
        &self.edges[name.index()]
    }
}

/// How many bytes a name has: those declared, else as far as accesses reach. None for one without a size.
pub(crate) fn bytes(entry: &Name, uses: Option<&Uses>, fallback: Option<Type>) -> Option<i128> {
    if entry.ty.is_some() || entry.role != LocationRole::Data {
        return Some(entry.step * i128::from(entry.length.unwrap_or(1)));
    }
    let reached = uses.and_then(|uses| {
        let ends = uses.scalars.iter().map(|scalar| scalar.offset.unwrap_or(0) + scalar.bytes());
        ends.chain(uses.objects.iter().map(|offset| offset + 8)).chain(uses.runs.iter().copied()).max()
    });
    let fallback = fallback.map(|ty| i128::from(ty.bits / 8));
    reached.or(fallback).filter(|bytes| *bytes > 0)
}

/// `x`, or `x[2]` for an element of an array.
pub(crate) fn element_name(shown: &ShortText, entry: &Name, offset: i128) -> ShortText {
    match entry.length {
        Some(_) => format!("{shown}[{}]", offset / entry.step).into(),
        None => shown.clone(),
    }
}

/// The declared type, else that of the first access: one that names the place before one through a register.
pub(crate) fn element_type(entry: &Name, uses: Option<&Uses>, fallback: Option<Type>) -> Option<Type> {
    if entry.role != LocationRole::Data || entry.ty.is_some() {
        return entry.ty;
    }
    let scalars = || uses.into_iter().flat_map(|uses| uses.scalars.iter());
    let named = scalars().find(|scalar| scalar.is_named);
    named.or_else(|| scalars().next()).map(|scalar| scalar.ty).or(fallback)
}
