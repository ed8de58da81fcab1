//! Locations and virtual addresses by name.
//!
//! An address is also a number, because pointers are computed with: each name gets a place of its own in a small address
//! space that fits 32-bit registers, and the elements of an array lie next to each other.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_syntax::litmus::{Declaration, Dialect, Litmus};
use fencepost_syntax::suggest::nearest;
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::ids::{AddressId, LocationId};
use crate::lower::spaces::Spaces;
use crate::lower::{Findings, Refusal};
use crate::program::{Address, Location};
use crate::value::{Type, Value};

const FIRST_ADDRESS: i128 = 0x1000_0000;
const ALIGNMENT: i128 = 256;
/// Arrays beyond this are refused: each element is a location with its own init write.
pub(crate) const LONGEST_ARRAY: u32 = 256;

/// One name of the source.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Name {
    pub(crate) first: AddressId,
    /// None for a scalar.
    pub(crate) length: Option<u32>,
    pub(crate) element_bytes: i128,
}

pub(crate) struct Names {
    dialect: Dialect,
    pub(crate) locations: Vec<Location>,
    pub(crate) addresses: Vec<Address>,
    by_name: BTreeMap<String, Name>,
    next: i128,
    /// Locations whose type the text declares.
    pub(crate) typed: BTreeSet<LocationId>,
    /// Where the initial values stand.
    pub(crate) given: BTreeMap<LocationId, Span>,
    /// State spaces, where the text says them.
    pub(crate) spaces: Spaces,
    /// Locations that code uses and nothing declares, where that is first.
    undeclared: Vec<Spanned<String>>,
}

impl Names {
    pub(crate) fn new(dialect: Dialect) -> Names {
        Names {
            dialect,
            locations: Vec::new(),
            addresses: Vec::new(),
            by_name: BTreeMap::new(),
            next: FIRST_ADDRESS,
            typed: BTreeSet::new(),
            given: BTreeMap::new(),
            spaces: Spaces::default(),
            undeclared: Vec::new(),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Name> {
        self.by_name.get(name).copied()
    }

    /// The initial value of the location it names (of an array: of the first element).
    pub(crate) fn initial(&self, name: Name) -> Value {
        self.locations[self.addresses[name.first.index()].location.index()].initial
    }

    pub(crate) fn known(&self) -> Vec<&str> {
        self.by_name.keys().map(String::as_str).collect()
    }

    /// A new scalar, or an array of `length` elements of `ty`.
    pub(crate) fn declare(&mut self, name: &str, ty: Option<Type>, length: Option<u32>) -> Name {
        let bytes = ty.map_or(8, |ty| i128::from(ty.bits.max(8) / 8));
        let first = AddressId::new(self.addresses.len());
        for element in 0..length.unwrap_or(1) {
            let name = if length.is_some() { format!("{name}[{element}]") } else { name.to_string() };
            let location = LocationId::new(self.locations.len());
            let own = ty.unwrap_or(Type::UNTYPED);
            self.locations.push(Location { name: name.clone(), ty: own, ..Location::default() });
            if ty.is_some() {
                self.typed.insert(location);
            }
            self.push_address(name, location, None, self.next + i128::from(element) * bytes);
        }
        self.reserve(bytes * i128::from(length.unwrap_or(1)));
        let entry = Name { first, length, element_bytes: bytes };
        self.by_name.insert(name.to_string(), entry);
        entry
    }

    /// Another name of the target's location: a virtual address of its own, or (`generic`) the target's.
    pub(crate) fn alias(&mut self, name: &str, target: Name, shares_generic: Sharing) {
        let target_address = self.addresses[target.first.index()].clone();
        let generic = (shares_generic == Sharing::VirtualAddress).then_some(target_address.generic);
        let first = AddressId::new(self.addresses.len());
        self.push_address(name.to_string(), target_address.location, generic, self.next);
        self.reserve(target.element_bytes);
        self.by_name.insert(name.to_string(), Name { first, length: None, element_bytes: target.element_bytes });
    }

    fn push_address(&mut self, name: String, location: LocationId, generic: Option<AddressId>, value: i128) {
        let own = AddressId::new(self.addresses.len());
        self.addresses.push(Address { name, location, generic: generic.unwrap_or(own), value: Value(value) });
    }

    fn reserve(&mut self, bytes: i128) {
        self.next += (bytes / ALIGNMENT + 1) * ALIGNMENT;
    }

    /// The address of a name used in code. Undeclared locations start at 0 (Dartagnan and herd); NVLitmus declares all.
    pub(crate) fn address(&mut self, name: &str, offset: i128, span: Span) -> Result<AddressId, Refusal> {
        let entry = match self.get(name) {
            Some(entry) => entry,
            None if self.dialect == Dialect::NvLitmus => return Err(self.unknown(name, span)),
            None => {
                self.undeclared.push(Spanned::new(name.to_string(), span));
                self.declare(name, None, None)
            }
        };
        if offset == 0 {
            return Ok(entry.first);
        }
        let inside = |index: i128| index > 0 && entry.length.is_some_and(|length| index < i128::from(length));
        let index = offset / entry.element_bytes;
        if offset % entry.element_bytes == 0 && inside(index) {
            let index = usize::try_from(index).expect("invariant: below the array's length");
            return Ok(AddressId::new(entry.first.index() + index));
        }
        Err(Refusal::Unsupported(span, format!("an access at `{name}{offset:+}`, which is no declared element")))
    }

    /// The type the text declares for the location at that address.
    pub(crate) fn declared_type(&self, address: AddressId) -> Option<Type> {
        let location = self.addresses[address.index()].location;
        self.typed.contains(&location).then(|| self.locations[location.index()].ty)
    }

    /// In real PTX a test that declares some of its locations has probably misspelt the others. The other notations leave
    /// out what is 0 as a habit.
    pub(crate) fn warn_of_undeclared(&self, litmus: &Litmus, findings: &mut Findings) {
        let declares = |found: &Spanned<Declaration>| {
            matches!(found.node, Declaration::Location { .. } | Declaration::Alias { .. })
        };
        if self.dialect != Dialect::Ptx || !litmus.declarations.iter().any(declares) {
            return;
        }
        let is_undeclared = |name: &str| self.undeclared.iter().any(|other| other.node == name);
        let declared: Vec<&str> = self.known().into_iter().filter(|name| !is_undeclared(name)).collect();
        for name in &self.undeclared {
            let message = format!("`{}` is not declared: taken as a location that is 0 at the start", name.node);
            // Names of one or two letters are a slip from too many others.
            let near = nearest(&name.node, &declared).filter(|_| name.node.len() > 2);
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("if it is meant, declare it: `{} = 0;`", name.node),
            };
            findings.diagnostics.push(Diagnostic::warning(name.span, message).label("not declared").help(help));
        }
    }

    /// All addresses of the name that this one belongs to: the elements of its array.
    pub(crate) fn siblings(&self, address: AddressId) -> std::ops::Range<usize> {
        let range = |entry: &Name| entry.first.index()..entry.first.index() + entry.length.unwrap_or(1) as usize;
        let found = self.by_name.values().map(range).find(|range| range.contains(&address.index()));
        found.unwrap_or(address.index()..address.index() + 1)
    }

    pub(crate) fn unknown(&self, name: &str, span: Span) -> Refusal {
        let help = format!("declared are: {}", self.known().join(", "));
        Refusal::Error(
            Diagnostic::error(span, format!("there is no location `{name}`")).label("not declared").help(help),
        )
    }
}

/// What an alias shares with its target besides the location.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Sharing {
    /// The physical location only (`physically aliases`, `@ generic aliases`).
    LocationOnly,
    /// The virtual address too: the name is that of another proxy (`virtually aliases`).
    VirtualAddress,
}
