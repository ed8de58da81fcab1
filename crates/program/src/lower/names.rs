//! Names of memory: what a declaration or a first use makes, one instance of it per CTA for `.shared` and `.tmem`, per
//! thread for `.local`, and the addresses that code takes of it.
//!
//! An address is also a number, because pointers are computed with (see [`Layout`]). Which locations a variable is made of
//! is settled when all code is known (see [`crate::lower::cut`]); until then an address is an offset into a variable.

use std::collections::BTreeMap;

use fencepost_syntax::litmus::{Declaration, Dialect, Litmus};
use fencepost_syntax::short::ShortText;
use fencepost_syntax::sorted::{SortedMap, SortedSet};
use fencepost_syntax::suggest::nearest;
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::ids::{AddressId, LocationId, ThreadId};
use crate::lower::findings::{Findings, Refusal};
use crate::lower::memory::layout::{ALIGNMENT, LANES, Layout};
use crate::program::{Address, Content, Location, LocationRole, Place, Scope, Space};
use crate::tag::Tag;
use crate::unfolding::access::includes;
use crate::value::{Type, Value};

/// Arrays of up to so many elements get an address per element at once.
pub(crate) const LISTED_ARRAY: u32 = 256;
/// Longer arrays are refused.
pub(crate) const LONGEST_ARRAY: u32 = 1 << 20;

/// The thread that names something: `s` is that of its own CTA.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Viewer {
    pub(crate) thread: ThreadId,
    pub(crate) place: Place,
}

/// An index into [`Names::variables`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct VariableId(pub(crate) usize);

/// An index into the names of a test, in the order in which they are met.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct NameId(usize);

impl NameId {
    pub(crate) fn index(self) -> usize {
        self.0
    }
}

/// Which instance of a name.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Instance {
    Only,
    Cta(Place),
    Thread(ThreadId),
}

/// One name of the source.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    /// The element type, where the text declares it.
    pub(crate) ty: Option<Type>,
    pub(crate) content: Content,
    /// How many elements in all; None for a scalar.
    pub(crate) length: Option<u32>,
    /// The lengths of the dimensions after the first: what one index of the first selects is a tile.
    pub(crate) inner: Vec<u32>,
    /// How far apart elements are: bytes, or columns of tensor memory.
    pub(crate) step: i128,
    /// Its space, and what says so.
    pub(crate) space: Option<(Space, String)>,
    pub(crate) role: LocationRole,
    pub(crate) initial: Value,
    /// The values of an array's elements, where a list gives them; those after its end are 0.
    pub(crate) elements: Vec<Value>,
    /// Whether its initial value is the address of a name.
    pub(crate) is_pointer: bool,
    /// Where the initial value stands.
    pub(crate) given: Option<Span>,
    pub(crate) instances: SortedMap<Instance, VariableId>,
    /// Where it lies in each window, for spaces that have windows.
    offset: Option<i128>,
    /// Its place among the names, which is the order of locations.
    order: usize,
    alias_of: Option<(VariableId, Sharing)>,
    /// The proxy that it is a name of (`c @ constant aliases s`); None for names of the generic one.
    pub(crate) proxy: Option<Tag>,
}

impl Name {
    /// How many bytes (or columns) a tile of it has; None for an array of one dimension.
    pub(crate) fn tile(&self) -> Option<i128> {
        (!self.inner.is_empty())
            .then(|| self.inner.iter().map(|length| i128::from(*length)).product::<i128>() * self.step)
    }

    /// The initial value of an element.
    pub(crate) fn initial_at(&self, element: i128) -> Value {
        if self.elements.is_empty() {
            return self.initial;
        }
        usize::try_from(element).ok().and_then(|element| self.elements.get(element)).copied().unwrap_or_default()
    }

    /// How many bytes (or columns) the text declares; None where it declares no type.
    pub(crate) fn declared_bytes(&self) -> Option<i128> {
        self.ty.map(|_| self.step * i128::from(self.length.unwrap_or(1)))
    }
}

/// A name is some hundred bytes long, and a vector has room for four at once.
type BoxedName = Box<Name>;

/// One instance of a name: a run of addresses.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    /// As shown: `x`, `s@1`, `P0:l`.
    pub(crate) shown: ShortText,
    pub(crate) name: ShortText,
    pub(crate) name_id: NameId,
    pub(crate) base: i128,
    pub(crate) first: AddressId,
    pub(crate) owner: Option<Place>,
    pub(crate) target: Option<(VariableId, Sharing)>,
    pub(crate) order: (usize, Instance),
    /// The locations it is made of, ascending; empty until settled.
    pub(crate) atoms: Vec<Atom>,
}

/// A run of bytes that no access parts.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Atom {
    pub(crate) offset: i128,
    pub(crate) bytes: i128,
    pub(crate) location: LocationId,
}

pub(crate) struct Names {
    pub(crate) dialect: Dialect,
    pub(crate) layout: Layout,
    /// Filled when settled.
    pub(crate) locations: Vec<Location>,
    pub(crate) addresses: Vec<Address>,
    pub(crate) variables: Vec<Variable>,
    /// What each address is, from the start.
    pub(crate) taken: Vec<(VariableId, i128)>,
    by_offset: SortedMap<(VariableId, i128), AddressId>,
    by_name: BTreeMap<ShortText, NameId>,
    names: Vec<BoxedName>,
    /// Names of memory that survives a crash, and where the test says so.
    pub(crate) persistent: SortedMap<String, Span>,
    /// Names without a declaration that code reaches as `.shared`, and what does.
    pub(crate) shared_by_use: BTreeMap<String, String>,
    /// Multimem addresses, and the name of each replica's address.
    pub(crate) multimem: SortedMap<String, Vec<String>>,
    /// Names whose initial value is not known.
    pub(crate) unknown: SortedSet<String>,
    /// Of these, the names that have the value of another.
    pub(crate) copies: SortedMap<String, Spanned<String>>,
    /// Locations that code uses and nothing declares, where that is first.
    undeclared: Vec<Spanned<ShortText>>,
}

impl Names {
    pub(crate) fn new(dialect: Dialect, places: &[Place]) -> Names {
        Names {
            dialect,
            layout: Layout::new(places),
            locations: Vec::new(),
            addresses: Vec::new(),
            variables: Vec::new(),
            taken: Vec::new(),
            by_offset: SortedMap::new(),
            by_name: BTreeMap::new(),
            names: Vec::new(),
            persistent: SortedMap::new(),
            shared_by_use: BTreeMap::new(),
            multimem: SortedMap::new(),
            unknown: SortedSet::new(),
            copies: SortedMap::new(),
            undeclared: Vec::new(),
        }
    }

    /// What is known of a name; `s@1` is an instance of `s`.
    pub(crate) fn get(&self, name: &str) -> Option<&Name> {
        self.id(stem(name)).map(|id| self.name(id))
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Name> {
        self.id(name).map(|id| &mut *self.names[id.0])
    }

    pub(crate) fn id(&self, name: &str) -> Option<NameId> {
        self.by_name.get(name.as_bytes()).copied()
    }

    pub(crate) fn name(&self, id: NameId) -> &Name {
        &self.names[id.0]
    }

    pub(crate) fn name_count(&self) -> usize {
        self.names.len()
    }

    /// All names, ascending.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&ShortText, NameId, &Name)> {
        self.by_name.iter().map(|(name, id)| (name, *id, self.name(*id)))
    }

    /// Adds a name, or puts it in the place of the one that has this name.
    fn add(&mut self, name: &str, entry: Name) -> NameId {
        let entry = Box::new(entry);
        let id = *self.by_name.entry(name.into()).or_insert(NameId(self.names.len()));
        match self.names.get_mut(id.0) {
            Some(place) => *place = entry,
            None => self.names.push(entry),
        }
        id
    }

    /// Whether the test declares a name of this proxy.
    pub(crate) fn has_proxy(&self, proxy: Tag) -> bool {
        self.names.iter().any(|entry| entry.proxy == Some(proxy))
    }

    pub(crate) fn known(&self) -> Vec<&str> {
        self.by_name.keys().map(|name| &**name).collect()
    }

    pub(crate) fn name_of(&self, variable: VariableId) -> &Name {
        self.name(self.variables[variable.0].name_id)
    }

    pub(crate) fn name_of_mut(&mut self, variable: VariableId) -> &mut Name {
        &mut self.names[self.variables[variable.0].name_id.0]
    }

    /// A new name. What all share exists at once, what is a CTA's or a thread's own when it is first named; where there is
    /// one CTA only, at once too.
    pub(crate) fn declare(&mut self, name: &str, made: Made) -> Result<NameId, Refusal> {
        let step = match (made.space.as_ref().map(|(space, _)| *space), made.role) {
            (Some(Space::TensorMemory), _) => 1,
            (_, LocationRole::TensorMap) => 128,
            (_, LocationRole::Mbarrier) => 8,
            _ => made.ty.map_or(8, |ty| i128::from(ty.bits.max(8) / 8)),
        };
        let bytes = step * i128::from(made.length.unwrap_or(1));
        let space = made.space.as_ref().map(|(space, _)| *space);
        let offset = space.and_then(|space| self.layout.reserve_in_window(space, bytes));
        let entry = Name {
            ty: made.ty,
            content: made.content,
            length: made.length,
            inner: made.inner,
            step,
            space: made.space,
            role: made.role,
            initial: made.initial,
            elements: made.elements,
            is_pointer: made.is_pointer,
            given: made.given,
            instances: SortedMap::new(),
            offset,
            order: self.by_name.len(),
            alias_of: None,
            proxy: None,
        };
        let id = self.add(name, entry);
        let which = match (space, self.layout.only_cta()) {
            (Some(Space::Shared | Space::TensorMemory), Some(cta)) => Instance::Cta(cta),
            (Some(Space::Shared | Space::TensorMemory | Space::Local), _) => return Ok(id),
            _ => Instance::Only,
        };
        self.instance_of((id, name), which, made.span)?;
        Ok(id)
    }

    /// Another name of the target's location: a virtual address of its own, or, as a name of another proxy, the target's.
    pub(crate) fn alias(&mut self, name: &str, target: &Spanned<String>, proxy: Option<Tag>) -> Result<(), Refusal> {
        let sharing = if proxy.is_some() { Sharing::VirtualAddress } else { Sharing::LocationOnly };
        let entry = self.get(&target.node).ok_or_else(|| self.unknown(&target.node, target.span))?.clone();
        let Some((_, variable)) = entry.instances.first_key_value().filter(|_| entry.instances.len() == 1) else {
            let what = format!("an alias of `{}`, of which each CTA has its own", target.node);
            return Err(Refusal::Unsupported(target.span, what));
        };
        // Of an alias that shares its target's virtual address, or for the location only, the target will do.
        let alias_of = match self.variables[variable.0].target {
            Some((target, through)) if through == Sharing::VirtualAddress || sharing == Sharing::LocationOnly => {
                Some((target, sharing))
            }
            _ => Some((*variable, sharing)),
        };
        let order = self.by_name.len();
        let (instances, initial) = (SortedMap::new(), Value(0));
        let alias = Name { instances, offset: None, order, alias_of, proxy, initial, given: None, ..entry };
        let id = self.add(name, alias);
        self.instance_of((id, name), Instance::Only, target.span).map(|_| ())
    }

    /// The variable that is this instance of the name, made if new.
    pub(crate) fn instance(&mut self, name: &str, which: Instance, span: Span) -> Result<VariableId, Refusal> {
        let id = self.id(name).expect("invariant: the name is declared");
        self.instance_of((id, name), which, span)
    }

    fn instance_of(
        &mut self,
        (name_id, name): (NameId, &str),
        which: Instance,
        span: Span,
    ) -> Result<VariableId, Refusal> {
        let entry = &self.names[name_id.0];
        if let Some(found) = entry.instances.get(&which) {
            return Ok(*found);
        }
        let bytes = entry.step * i128::from(entry.length.unwrap_or(1));
        let base = match (which, entry.offset, entry.space.as_ref().map(|(space, _)| *space)) {
            (Instance::Cta(place), Some(offset), Some(space)) => {
                let window = self.layout.window(space, place);
                window.ok_or_else(|| Refusal::Unsupported(span, "shared memory of so many CTAs".to_string()))? + offset
            }
            _ => self.layout.reserve(bytes),
        };
        let shown = match which {
            Instance::Only => name.into(),
            Instance::Cta(_) if self.layout.only_cta().is_some() => name.into(),
            Instance::Cta(place) => format!("{name}@{}", number(place)).into(),
            Instance::Thread(thread) => format!("P{}:{name}", thread.0).into(),
        };
        let id = VariableId(self.variables.len());
        let owner = if let Instance::Cta(place) = which { Some(place) } else { None };
        let (order, target) = ((entry.order, which), entry.alias_of);
        let (step, length) = (entry.step, entry.length.unwrap_or(1));
        let first = AddressId::new(self.taken.len());
        let (name, atoms) = (name.into(), Vec::new());
        self.variables.push(Variable { shown, name, name_id, base, first, owner, target, order, atoms });
        let listed = if length <= LISTED_ARRAY { length } else { 1 };
        (0..listed).for_each(|element| {
            self.take(id, i128::from(element) * step);
        });
        self.names[name_id.0].instances.insert(which, id);
        Ok(id)
    }

    /// The address so far into a variable.
    pub(crate) fn take(&mut self, variable: VariableId, offset: i128) -> AddressId {
        let next = AddressId::new(self.taken.len());
        let id = *self.by_offset.entry((variable, offset)).or_insert(next);
        if id == next {
            self.taken.push((variable, offset));
        }
        id
    }

    /// The number a register holds when it holds this address.
    pub(crate) fn value(&self, address: AddressId) -> i128 {
        let (variable, offset) = self.taken[address.index()];
        self.variables[variable.0].base + offset
    }

    /// The type the text declares for the name that address is of.
    pub(crate) fn declared_type(&self, address: AddressId) -> Option<Type> {
        self.name_of(self.taken[address.index()].0).ty
    }

    /// Whether so far into a variable is inside it.
    pub(crate) fn is_inside(&self, variable: VariableId, offset: i128) -> bool {
        (0..self.name_of(variable).declared_bytes().unwrap_or(ALIGNMENT)).contains(&offset)
    }

    /// The variable with this address, and how far into it that is.
    pub(crate) fn at(&self, value: i128) -> Option<(VariableId, i128)> {
        let found = self.areas().position(|(start, end)| (start..end).contains(&value))?;
        Some((VariableId(found), value - self.variables[found].base))
    }

    /// Where each variable begins and ends.
    pub(crate) fn areas(&self) -> impl Iterator<Item = (i128, i128)> {
        self.variables.iter().map(|variable| {
            let bytes = self.name(variable.name_id).declared_bytes().unwrap_or(ALIGNMENT);
            (variable.base, variable.base + bytes)
        })
    }

    /// The variable a name stands for, for this thread. Undeclared locations start at 0 (Dartagnan and herd); NVLitmus
    /// declares all.
    pub(crate) fn variable(&mut self, name: &str, viewer: Viewer, span: Span) -> Result<VariableId, Refusal> {
        // Most are one for all threads, and were met before.
        if let Some(entry) = self.id(name).map(|id| self.name(id))
            && matches!(entry.space, None | Some((Space::Global, _)))
            && let Some(found) = entry.instances.get(&Instance::Only)
            && !self.multimem.contains_key(name)
        {
            return Ok(*found);
        }
        let plain = stem(name);
        if self.multimem.contains_key(plain) {
            let message = format!("`{plain}` is a multimem address: other operations on it have no meaning");
            let error = Diagnostic::error(span, message).label("not by this");
            return Err(Refusal::Error(error.help("use `multimem.*`, or a replica's own name")));
        }
        let id = match self.id(plain) {
            Some(id) => id,
            None if self.dialect == Dialect::NvLitmus => return Err(self.unknown(plain, span)),
            None => {
                self.undeclared.push(Spanned::new(plain.into(), span));
                let space = self.shared_by_use.get(plain).map(|by| (Space::Shared, by.clone()));
                self.declare(plain, Made { span, space, ..Made::default() })?
            }
        };
        let entry = self.name(id);
        let per_cta = matches!(entry.space, Some((Space::Shared | Space::TensorMemory, _)));
        let which = match (name.split_once('@'), &entry.space) {
            (Some((_, cta)), _) if per_cta => {
                let place = self.cta(cta, span)?;
                if !includes(Scope::Cluster, viewer.place, place) || viewer.place == Place::Host {
                    return Err(out_of_reach(name, viewer.place, span));
                }
                Instance::Cta(place)
            }
            (Some(_), _) => return Err(self.not_per_cta(plain, span)),
            (None, Some((Space::Local, _))) => Instance::Thread(viewer.thread),
            (None, _) if per_cta && viewer.place == Place::Host => {
                return Err(Refusal::error(span, format!("a host thread cannot name `{plain}`, which is in a CTA")));
            }
            (None, _) if per_cta => Instance::Cta(viewer.place),
            _ => Instance::Only,
        };
        self.instance_of((id, plain), which, span)
    }

    /// The address of a name used in code.
    pub(crate) fn address(
        &mut self,
        name: &str,
        offset: i128,
        viewer: Viewer,
        span: Span,
    ) -> Result<AddressId, Refusal> {
        let variable = self.variable(name, viewer, span)?;
        if offset == 0 {
            // It was taken when the variable was made.
            return Ok(self.variables[variable.0].first);
        }
        let entry = self.name_of(variable);
        // An address in tensor memory may count lanes beside columns.
        let lanes = if matches!(entry.space, Some((Space::TensorMemory, _))) { offset & LANES } else { 0 };
        let offset = offset - lanes;
        let inside = match self.dialect {
            Dialect::Ptx => entry.declared_bytes().is_some_and(|bytes| 0 < offset && offset < bytes),
            _ => {
                let index = offset / entry.step;
                offset % entry.step == 0 && 0 < index && index < i128::from(entry.length.unwrap_or(1))
            }
        };
        if offset == 0 || inside {
            return Ok(self.take(variable, offset + lanes));
        }
        let bound = match entry.declared_bytes() {
            Some(bytes) if !(0..bytes).contains(&offset) => format!("and `{name}` has {bytes} bytes"),
            _ => "which is no declared element".to_owned(),
        };
        Err(Refusal::Unsupported(span, format!("an access at `{name}{offset:+}`, {bound}")))
    }

    /// The CTA of that number.
    pub(crate) fn cta(&self, number: &str, span: Span) -> Result<Place, Refusal> {
        let mut found = self.layout.ctas().filter(|place| self::number(*place).to_string() == number);
        match (found.next(), found.next()) {
            (Some(place), None) => Ok(place),
            (Some(_), Some(_)) => {
                let message = format!("several CTAs have the number {number}");
                Err(Refusal::Error(Diagnostic::error(span, message).help("number the CTAs of the test differently")))
            }
            _ => {
                let known: Vec<String> = self.layout.ctas().map(|place| self::number(place).to_string()).collect();
                let message = format!("no thread runs in CTA {number}");
                let help = format!("CTAs with threads: {}", known.join(", "));
                Err(Refusal::Error(Diagnostic::error(span, message).label("no such CTA").help(help)))
            }
        }
    }

    /// The one instance a condition means, or the error that says how to spell one.
    pub(crate) fn asked(&self, name: &str, span: Span) -> Result<Instance, Refusal> {
        let plain = stem(name);
        let Some(entry) = self.get(plain) else { return Err(self.unknown(plain, span)) };
        let per_cta = matches!(entry.space, Some((Space::Shared | Space::TensorMemory, _)));
        match name.split_once('@') {
            Some((_, cta)) if per_cta => return Ok(Instance::Cta(self.cta(cta, span)?)),
            Some(_) => return Err(self.not_per_cta(plain, span)),
            None => {}
        }
        match (entry.instances.len(), entry.instances.first_key_value(), self.layout.only_cta()) {
            (1, Some((instance, _)), _) => Ok(*instance),
            (0, _, Some(cta)) if per_cta => Ok(Instance::Cta(cta)),
            (_, first, _) => {
                let example = match (first, &self.layout.ctas().next()) {
                    (Some((Instance::Thread(thread), _)), _) => format!("P{}:{plain}", thread.0),
                    (Some((Instance::Cta(place), _)), _) | (None, Some(place)) if per_cta => {
                        format!("{plain}@{}", number(*place))
                    }
                    _ => format!("P0:{plain}"),
                };
                let whose = if per_cta { "CTA" } else { "thread" };
                let message = format!("each {whose} has its own `{plain}`");
                let help = format!("write `{example}` for one of them");
                Err(Refusal::Error(Diagnostic::error(span, message).label("which?").help(help)))
            }
        }
    }

    fn not_per_cta(&self, name: &str, span: Span) -> Refusal {
        let message = format!("`{name}` is no `.shared` memory: there is one for all CTAs");
        Refusal::Error(Diagnostic::error(span, message).help(format!("write `{name}`")))
    }

    /// Makes every instance that code of another CTA may reach: those of clusters of several CTAs.
    pub(crate) fn complete(&mut self, findings: &mut Findings) {
        let per_cta = |entry: &Name| matches!(entry.space, Some((Space::Shared | Space::TensorMemory, _)));
        let names: Vec<ShortText> =
            self.all().filter(|(_, _, entry)| per_cta(entry)).map(|(name, ..)| name.clone()).collect();
        for name in names {
            let is_reached = |place: &Place| self.layout.cluster(*place).nth(1).is_some();
            let places: Vec<Place> = self.layout.ctas().filter(is_reached).collect();
            for place in places {
                if let Err(refusal) = self.instance(&name, Instance::Cta(place), Span::default()) {
                    findings.refuse(refusal);
                }
            }
        }
    }

    /// Makes the tensor memory of a CTA: code reaches it through addresses that it is given, without naming it.
    pub(crate) fn tensor_memory(&mut self, place: Place, span: Span) -> Result<(), Refusal> {
        let is_tensor = |entry: &Name| matches!(entry.space, Some((Space::TensorMemory, _)));
        let names: Vec<ShortText> =
            self.all().filter(|(_, _, entry)| is_tensor(entry)).map(|(name, ..)| name.clone()).collect();
        names.iter().try_for_each(|name| self.instance(name, Instance::Cta(place), span).map(|_| ()))
    }

    /// In real PTX a test that declares some of its locations has probably misspelt the others. The other notations leave
    /// out what is 0 as a habit. What a location is used as is known once memory is cut.
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
                None if matches!(
                    self.get(&name.node).and_then(|entry| entry.space.as_ref()),
                    Some((Space::Param, _))
                ) =>
                {
                    format!("give the parameter its value: `.param .u64 {} = &x;`", name.node)
                }
                None if self.is_mbarrier(&name.node) => {
                    format!("if it is meant, declare it: `.shared .mbarrier {} = 1;`", name.node)
                }
                None => format!("if it is meant, declare it: `{} = 0;`", name.node),
            };
            findings.diagnostics.push(Diagnostic::warning(name.span, message).label("not declared").help(help));
        }
    }

    fn is_mbarrier(&self, name: &str) -> bool {
        let is_own = |own: &str| own.split(['[', '+', '@']).next() == Some(name);
        self.locations.iter().any(|own| own.role == LocationRole::Mbarrier && is_own(&own.name))
    }

    pub(crate) fn unknown(&self, name: &str, span: Span) -> Refusal {
        let help = format!("declared are: {}", self.known().join(", "));
        Refusal::Error(
            Diagnostic::error(span, format!("there is no location `{name}`")).label("not declared").help(help),
        )
    }
}

/// What a declaration says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Made {
    pub(crate) ty: Option<Type>,
    pub(crate) content: Content,
    pub(crate) length: Option<u32>,
    pub(crate) inner: Vec<u32>,
    pub(crate) space: Option<(Space, String)>,
    pub(crate) role: LocationRole,
    pub(crate) initial: Value,
    pub(crate) elements: Vec<Value>,
    pub(crate) is_pointer: bool,
    pub(crate) given: Option<Span>,
    pub(crate) span: Span,
}

/// What an alias shares with its target besides the location.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Sharing {
    /// The physical location only (`physically aliases`, `@ generic aliases`).
    LocationOnly,
    /// The virtual address too: the name is that of another proxy (`virtually aliases`).
    VirtualAddress,
}

/// `s` of `s@1`.
pub(crate) fn stem(name: &str) -> &str {
    // Names are short: a search as for long texts takes longer.
    name.bytes().position(|byte| byte == b'@').map_or(name, |at| &name[..at])
}

fn number(place: Place) -> u32 {
    match place {
        Place::Gpu { cta, .. } => cta,
        Place::Host => 0,
    }
}

/// Shared memory is reached from within its cluster (PTX ISA 5.1.7).
fn out_of_reach(name: &str, from: Place, span: Span) -> Refusal {
    let whose = if from == Place::Host { "a host thread is in no cluster" } else { "it belongs to another cluster" };
    let error = Diagnostic::error(span, format!("`{name}` cannot be reached from here: {whose}"));
    Refusal::Error(error.label("out of reach").help("place both CTAs in one cluster: `@cta 1, cluster 0`"))
}
