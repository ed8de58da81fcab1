//! Memory cut into locations. A variable is a run of bytes; its locations (*atoms*) are the coarsest cut of which every
//! access is a union (PTX ISA 8.2.1: memory operations overlap completely, partially or not at all). Where all accesses
//! agree, that is one location per declared element.
//!
//! The types: a location that is a declared element has its type, another that of the first access that is exactly it.
//! The other notations have no accesses of several sizes: there one is refused. In x86 the accesses may all be to the same
//! parts of a location; an access to several parts is one store-buffer entry (SDM vol. 3, 9.2.3.5), for which the models
//! have no event.

pub(crate) mod atoms;
pub(crate) mod definitions;
pub(crate) mod growing_set;
pub(crate) mod reach;
pub(crate) mod touch;
pub(crate) mod uses;

use fencepost_syntax::litmus::Dialect;
use fencepost_syntax::sorted::{SortedMap, SortedSet};
use fencepost_syntax::{Span, limits};

use crate::lower::builder::ThreadBuilder;
use crate::lower::cut::reach::{At, Reach, Reaches};
use crate::lower::cut::touch::{Portion, Touch, Touches, touches};
use crate::lower::cut::uses::{Cut, Made, Scalar, Uses, bytes, element_name, element_type};
use crate::lower::findings::{Findings, misfit};
use crate::lower::names::{LISTED_ARRAY, Name, NameId, Names, VariableId};
use crate::program::{AddressOperand, Feature, Instruction, LocationRole, Operation, Space, Unsupported};
use crate::tag::Tag;
use crate::value::{Type, Value};

/// A short array has a location per element, however little of it is told apart: sums over its elements stay what the
/// author counts.
const SHORT_ARRAY: u32 = 16;

/// A variable that may be accessed anywhere is not cut into more parts than this.
const MOST_PARTS: i128 = 1 << 14;

/// Of an x86 name that is accessed in the same parts of its declared elements throughout: where they begin and end.
fn fixed_parts(names: &Names, entry: &Name, uses: &Uses) -> Option<SortedSet<(i128, i128)>> {
    if names.dialect != Dialect::X86 || entry.ty.is_none() || entry.role != LocationRole::Data || entry.step <= 0 {
        return None;
    }
    let is_element = |scalar: &Scalar| scalar.offset == Some(0) && scalar.bytes() == entry.step;
    if uses.scalars.iter().all(is_element) {
        return Some(SortedSet::new());
    }
    let parts: SortedSet<(i128, i128)> = uses.scalars.iter().map(Scalar::ends).collect::<Option<_>>()?;
    let mut last = 0;
    for (start, end) in &parts {
        if *start < last || end <= start || start / entry.step != (end - 1) / entry.step {
            return None;
        }
        last = *end;
    }
    Some(parts)
}

/// A copy between two names: bytes from one offset on to another. None: from any multiple of its size.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Link {
    from: Place,
    to: Place,
    bytes: Option<i128>,
}

/// What a condition looks at: a variable, and an element of it or its start.
pub(crate) struct Asked {
    pub(crate) variable: VariableId,
    pub(crate) element: Option<u32>,
    pub(crate) span: Span,
}

/// Cuts memory as accesses and conditions do, and at these addresses besides. Returns where registers may point.
pub(crate) fn settle(
    names: &mut Names,
    threads: &[Box<ThreadBuilder>],
    asked: &[Asked],
    further: &SortedSet<Value>,
    findings: &mut Findings,
) -> Reaches {
    names.complete(findings);
    let instructions = || {
        threads.iter().enumerate().flat_map(|(thread, own)| {
            own.code.iter().enumerate().map(move |(code, instruction)| (At { thread, code }, instruction))
        })
    };
    // Most litmus tests name every place, and nobody asks what a register holds.
    let is_asked = instructions().any(|(_, code)| match &code.operation {
        // Of one value: nothing but its address may rest on a register.
        Operation::Load { address, .. } | Operation::Store { address, .. } => {
            matches!(address, AddressOperand::Register(_))
        }
        other => touches(other).all.iter().any(asks_registers),
    });
    let reaches = if is_asked { Reaches::new(names, threads) } else { Reaches::of_none() };
    let uses = (0..names.name_count()).map(|_| None).collect();
    let mut gathered = Gathered { names, reaches: &reaches, threads, uses, links: Vec::new(), fallback: None };
    for (at, code) in instructions() {
        if limits::tick() {
            return Reaches::of_none();
        }
        gathered.operation(at, &touches(&code.operation), code.span);
        gathered.made(at, code);
    }
    gathered.settle_objects();
    let Gathered { uses, links, fallback, .. } = gathered;
    let mut cut = Cut { uses, edges: vec![SortedSet::new(); names.name_count()], fallback };
    if names.dialect != Dialect::Ptx {
        refuse_mixed(names, &cut, findings);
    }
    for (_, id, entry) in names.all() {
        cut.edges[id.index()] = edges(names, (id, entry), &cut, asked);
    }
    cut_further(names, further, &mut cut.edges);
    mirror(&mut cut.edges, &links);
    check(names, threads, &cut, findings);
    let mut unknown = std::mem::take(&mut names.unknown);
    let uses = |name: &str| names.id(name).and_then(|id| cut.uses(id));
    unknown.retain(|name| uses(name).is_none_or(|uses| uses.objects.is_empty()));
    names.unknown = unknown;
    atoms::make(names, &cut);
    reaches
}

/// Whether where it lies, or how much it is, may rest on a register.
fn asks_registers(touch: &Touch<'_>) -> bool {
    matches!(touch.address, AddressOperand::Register(_)) || matches!(touch.portion, Portion::Bytes(_))
}

struct Gathered<'a> {
    names: &'a Names,
    reaches: &'a Reaches,
    threads: &'a [Box<ThreadBuilder>],
    /// By name.
    uses: Vec<Option<Uses>>,
    links: Vec<Link>,
    fallback: Option<Type>,
}

/// A name and how far into it, where that is known.
type Place = (NameId, Option<i128>);

impl Gathered<'_> {
    fn operation(&mut self, at: At, touches: &Touches<'_>, span: Span) {
        // Most do no more than that.
        if let ([Touch { address, portion: portion @ Portion::Scalars(ty, count), .. }], []) =
            (&*touches.all, touches.copies.as_slice())
            && let Some(place) = self.named_place(address)
        {
            let bytes = i128::from(ty.bits / 8) * i128::from(*count);
            return self.place(&place, *portion, Some(bytes), (span, true));
        }
        let places = touches.all.iter().map(|touch| match touch.portion {
            Portion::Described => self.described(at, touch.address),
            _ => self.places(at, touch.address),
        });
        let places: Vec<Vec<Place>> = places.collect();
        let mut reached: Vec<(Vec<Place>, Option<i128>)> = Vec::new();
        for (touch, places) in touches.all.iter().zip(places) {
            let like = |other: usize| reached.get(other).and_then(|(_, bytes): &(_, Option<i128>)| *bytes);
            let (places, bytes) = match touch.portion {
                Portion::Scalars(ty, count) => (places, Some(i128::from(ty.bits / 8) * i128::from(count))),
                Portion::Bytes(bytes) => (places, self.constant(at, bytes)),
                Portion::Like(other) => (places, like(other)),
                Portion::Object => (places, Some(8)),
                Portion::Rest | Portion::Described | Portion::Nothing => (places, None),
                Portion::Behind(other) => (self.behind(&places), like(other)),
            };
            let is_named = matches!(touch.address, AddressOperand::Static(_));
            if let Portion::Scalars(ty, _) = touch.portion
                && !is_named
            {
                self.fallback = self.fallback.or(Some(ty));
            }
            let places = if is_named { places } else { self.likely(places, touch.portion) };
            for place in &places {
                self.place(place, touch.portion, bytes, (span, is_named));
            }
            reached.push((places, bytes));
        }
        for (from, to) in &touches.copies {
            let (Some((sources, bytes)), Some((targets, others))) = (reached.get(*from), reached.get(*to)) else {
                continue;
            };
            for from in sources {
                let link = |to: &Place| Link { from: *from, to: *to, bytes: bytes.or(*others) };
                self.links.extend(targets.iter().map(link));
            }
        }
    }

    /// Notes where an mbarrier is made.
    fn made(&mut self, at: At, code: &Instruction) {
        let Operation::Store { address, tags, .. } = &code.operation else { return };
        if !tags.has(Tag::MbarrierInit) {
            return;
        }
        for (name, offset) in self.places(at, address) {
            self.uses[name.index()].get_or_insert_default().made.add(offset);
        }
    }

    /// Where every initialisation says its place, there are the mbarriers: a pointer that runs over them in a loop may go on,
    /// for all that is known of it here, and meets none there.
    fn settle_objects(&mut self) {
        for uses in self.uses.iter_mut().flatten() {
            if let Made::At(places) = &uses.made {
                uses.objects = places.union(&uses.named).copied().collect();
            }
        }
    }

    /// Of what a register may hold somewhere, what it can hold here: a register that is reused points to an mbarrier at
    /// one place and to data at another.
    fn likely(&self, places: Vec<Place>, portion: Portion) -> Vec<Place> {
        let wanted = match portion {
            Portion::Object => LocationRole::Mbarrier,
            Portion::Scalars(..) => LocationRole::Data,
            _ => return places,
        };
        let is_declared = |place: &&Place| self.names.name(place.0).role == wanted;
        let likely: Vec<Place> = places.iter().filter(is_declared).copied().collect();
        if likely.is_empty() { places } else { likely }
    }

    fn place(
        &mut self,
        &(name, offset): &Place,
        portion: Portion,
        bytes: Option<i128>,
        (span, is_named): (Span, bool),
    ) {
        let uses = self.uses[name.index()].get_or_insert_default();
        uses.touched.get_or_insert(span);
        match portion {
            Portion::Scalars(ty, count) => {
                let at = |index: u32| offset.map(|offset| offset + i128::from(index) * i128::from(ty.bits / 8));
                let scalar = |index| Scalar { offset: at(index), ty, span, is_named };
                (0..count.max(1)).for_each(|index| uses.scalars.push(scalar(index)));
            }
            Portion::Object => {
                // A register that is moved step by step is followed without the order of its steps: where no mbarrier can be
                // it is on its way.
                uses.objects.extend(offset.filter(|offset| is_named || offset % 8 == 0));
                uses.named.extend(offset.filter(|_| is_named));
                if offset.is_none() {
                    let entry = self.names.name(name);
                    let bytes = entry.declared_bytes().unwrap_or(8);
                    uses.objects.extend((0..bytes / 8).map(|index| index * 8));
                }
            }
            Portion::Bytes(_) | Portion::Like(_) | Portion::Behind(_) | Portion::Rest | Portion::Described => {
                uses.is_tensor |= matches!(portion, Portion::Behind(_));
                if let Some(offset) = offset {
                    uses.runs.extend([Some(offset), bytes.map(|bytes| offset + bytes)].into_iter().flatten());
                }
            }
            Portion::Nothing => {}
        }
    }

    /// Where an address is that the text names.
    fn named_place(&self, address: &AddressOperand) -> Option<Place> {
        let AddressOperand::Static(address) = address else { return None };
        let (variable, offset) = self.names.taken[address.index()];
        self.names.is_inside(variable, offset).then(|| (self.own(variable), Some(offset)))
    }

    /// Where an address may be: names (not their instances) and offsets.
    fn places(&self, at: At, address: &AddressOperand) -> Vec<Place> {
        if let Some(place) = self.named_place(address) {
            return vec![place];
        }
        let mut found = SortedSet::new();
        match self.reaches.address(self.names, at, address) {
            Reach::Values(values) => {
                let reached = values.into_iter().filter_map(|value| self.names.at(value));
                found.extend(reached.map(|(variable, offset)| (self.own(variable), Some(offset))));
            }
            Reach::Within(variables) => found.extend(variables.into_iter().map(|id| (self.own(id), None))),
        }
        found.into_iter().collect()
    }

    /// As `places`, of an operand that may also be a matrix descriptor.
    fn described(&self, at: At, address: &AddressOperand) -> Vec<Place> {
        let mut found: SortedSet<Place> = self.places(at, address).into_iter().collect();
        if let Reach::Values(values) = self.reaches.address(self.names, at, address) {
            let owner = self.threads.get(at.thread).map(|thread| thread.place).unwrap_or_default();
            let decoded = values.into_iter().filter(|value| self.names.at(*value).is_none());
            let decoded = decoded.filter_map(|value| self.names.layout.described(owner, value));
            let reached = decoded.filter_map(|value| self.names.at(value));
            found.extend(reached.map(|(variable, offset)| (self.own(variable), Some(offset))));
        }
        found.into_iter().collect()
    }

    fn own(&self, variable: VariableId) -> NameId {
        own(self.names, variable)
    }

    fn behind(&self, maps: &[Place]) -> Vec<Place> {
        let described = |(map, _): &Place| {
            let entry = self.names.name(*map);
            let (variable, offset) =
                self.names.at(entry.initial.0).filter(|_| entry.role == LocationRole::TensorMap)?;
            Some((self.own(variable), Some(offset)))
        };
        maps.iter().filter_map(described).collect()
    }

    fn constant(&self, at: At, operand: crate::program::Operand) -> Option<i128> {
        match self.reaches.operand(self.names, at, operand) {
            Reach::Values(values) if values.len() == 1 => values.first().copied(),
            _ => None,
        }
    }
}

/// The name whose memory a variable is: of an alias, its target's.
fn own(names: &Names, variable: VariableId) -> NameId {
    let mut variable = &names.variables[variable.0];
    while let Some((target, _)) = variable.target {
        variable = &names.variables[target.0];
    }
    variable.name_id
}

/// All instances of a name are cut alike.
fn cut_further(names: &Names, further: &SortedSet<Value>, edges: &mut [SortedSet<i128>]) {
    for (variable, offset) in further.iter().filter_map(|value| names.at(value.0)) {
        let edges = &mut edges[own(names, variable).index()];
        let is_inside = edges.last().is_some_and(|end| (0..*end).contains(&offset));
        edges.extend(is_inside.then_some(offset));
    }
}

fn edges(names: &Names, (name, entry): (NameId, &Name), cut: &Cut, asked: &[Asked]) -> SortedSet<i128> {
    let unused = Uses::default();
    let uses = cut.uses(name).unwrap_or(&unused);
    let Some(bytes) = bytes(entry, Some(uses), cut.fallback) else { return SortedSet::new() };
    let length = entry.length.unwrap_or(1);
    let mut edges = SortedSet::from([0, bytes]);
    if let Some(tile) = entry.tile().filter(|tile| *tile > 0) {
        edges.extend((0..bytes / tile).map(|index| index * tile));
    }
    let elements = (0..length).map(|index| i128::from(index) * entry.step);
    let is_tensor_memory = matches!(entry.space, Some((Space::TensorMemory, _)));
    if names.dialect != Dialect::Ptx || is_tensor_memory || entry.role != LocationRole::Data {
        edges.extend(elements);
        let parts = fixed_parts(names, entry, uses).unwrap_or_default();
        edges.extend(parts.into_iter().flat_map(|(start, end)| [start, end]));
        return edges;
    }
    let is_element = |scalar: &Scalar| scalar.bytes() == entry.step && scalar.offset.unwrap_or(0) % entry.step == 0;
    let fits = uses.scalars.iter().all(is_element) && uses.objects.is_empty();
    let is_told_apart = entry.step >= 4 || uses.scalars.iter().any(is_element);
    let is_plain = fits && uses.runs.is_empty() && length <= LISTED_ARRAY;
    let is_short = fits && is_told_apart && (length <= SHORT_ARRAY || (uses.is_tensor && length <= LISTED_ARRAY));
    if is_plain || is_short {
        edges.extend(elements);
    }
    edges.extend(uses.scalars.iter().flat_map(|scalar| scalar_edges(scalar, &uses.objects, bytes)));
    edges.extend(uses.objects.iter().flat_map(|offset| [*offset, offset + 8]));
    edges.extend(&uses.runs);
    for asked in asked.iter().filter(|asked| names.variables[asked.variable.0].name_id == name) {
        let index = asked.element.unwrap_or(0);
        if entry.length.is_some() {
            edges.extend([i128::from(index) * entry.step, i128::from(index + 1) * entry.step]);
        }
    }
    edges.retain(|edge| (0..=bytes).contains(edge));
    edges
}

/// Where a scalar begins and ends. What a register may hold somewhere it need not hold here: one that would lie in an
/// mbarrier is of other memory (or is refused when it is executed), and so is one that is not aligned.
fn scalar_edges(scalar: &Scalar, objects: &SortedSet<i128>, bytes: i128) -> Vec<i128> {
    let size = scalar.bytes().max(1);
    let is_in_object = |from: i128, to: i128| objects.range(from - 7..to).next().is_some();
    match scalar.offset {
        // One that runs past the end is none of this memory.
        Some(offset) if offset + size > bytes => Vec::new(),
        Some(offset) if !scalar.is_named && !objects.is_empty() => {
            let is_meant = offset % size == 0 && !is_in_object(offset, offset + size);
            if is_meant { vec![offset, offset + size] } else { Vec::new() }
        }
        Some(offset) => vec![offset, offset + size],
        // More than an unfolding has room for: the access is refused where it is made.
        None if bytes / size > MOST_PARTS => Vec::new(),
        None => {
            let starts = (0..bytes / size).map(|index| index * size);
            starts.filter(|start| !is_in_object(*start, start + size)).flat_map(|start| [start, start + size]).collect()
        }
    }
}

/// What a copy takes apart on one side it takes apart on the other.
fn mirror(edges: &mut [SortedSet<i128>], links: &[Link]) {
    // The threads of one kernel make the same copies.
    let links: SortedSet<&Link> = links.iter().collect();
    let ways = links.iter().flat_map(|link| [(&link.from, &link.to, link.bytes), (&link.to, &link.from, link.bytes)]);
    // Each with the edges that its source had when it was gone last: edges are only added.
    let mut ways: Vec<_> = ways.map(|way| (way, 0)).collect();
    loop {
        let mut changed = false;
        for ((from, to, bytes), known) in &mut ways {
            let count = edges[from.0.index()].len();
            if count == *known {
                continue;
            }
            if limits::is_over() {
                return;
            }
            *known = count;
            changed |= carry(edges, (from, to), *bytes);
        }
        if !changed {
            return;
        }
    }
}

fn carry(edges: &mut [SortedSet<i128>], (from, to): (&Place, &Place), bytes: Option<i128>) -> bool {
    let (source, target) = (&edges[from.0.index()], &edges[to.0.index()]);
    let (Some(last), Some(end)) = (source.last().copied(), target.last().copied()) else { return false };
    let bytes = bytes.unwrap_or(last.min(end)).max(1);
    let starts = |offset: Option<i128>, end: i128| match offset {
        Some(offset) => vec![offset],
        None => (0..end / bytes).map(|index| index * bytes).collect(),
    };
    let mut inside = SortedSet::new();
    for from in starts(from.1, last) {
        inside.extend(source.range(from..=from + bytes).map(|edge| edge - from));
    }
    let mut found = SortedSet::new();
    for to in starts(to.1, end) {
        if limits::tick() {
            return false;
        }
        found.extend(inside.iter().map(|edge| to + edge).filter(|edge| (0..=end).contains(edge)));
    }
    let target = &mut edges[to.0.index()];
    let before = target.len();
    target.extend(found);
    target.len() > before
}

/// The notations whose locations are integers have no accesses to parts of them.
fn refuse_mixed(names: &Names, cut: &Cut, findings: &mut Findings) {
    for (name, id, entry) in names.all() {
        let Some(uses) = cut.uses(id) else { continue };
        let mut named = uses.scalars.iter().filter(|scalar| scalar.is_named);
        let bits = entry.ty.or_else(|| named.clone().next().map(|scalar| scalar.ty)).map(|ty| ty.bits);
        if named.all(|scalar| Some(scalar.ty.bits) == bits) || fixed_parts(names, entry, uses).is_some() {
            continue;
        }
        let mut types = SortedMap::new();
        let mut told = SortedSet::new();
        for scalar in uses.scalars.iter().filter(|scalar| scalar.is_named) {
            let offset = scalar.offset.unwrap_or(0);
            let first = *types.entry(offset).or_insert(entry.ty.unwrap_or(scalar.ty));
            if first.bits != scalar.ty.bits && told.insert(offset) {
                let shown = element_name(name, entry, offset);
                let what = format!("mixed-size accesses to `{shown}`");
                findings.unsupported.push(Unsupported { span: scalar.span, what });
            }
        }
    }
}

/// The instruction that names this place of a variable, and how it is spelled.
fn named_at(names: &Names, threads: &[Box<ThreadBuilder>], (entry, offset): (&Name, i128)) -> Option<(Span, String)> {
    let is_there = |touch: &Touch<'_>| match touch.address {
        AddressOperand::Static(address) => {
            let (variable, own) = names.taken[address.index()];
            own == offset && std::ptr::eq(names.name_of(variable), entry)
        }
        AddressOperand::Register(_) => false,
    };
    threads.iter().find_map(|thread| {
        let code = thread.code.iter().find(|code| touches(&code.operation).all.iter().any(is_there))?;
        Some((code.span, format!("`{}`", thread.spelling(code.span)?)))
    })
}

/// Named accesses past the end, parts of mbarriers, and operations that span several locations.
fn check(names: &Names, threads: &[Box<ThreadBuilder>], cut: &Cut, findings: &mut Findings) {
    for (name, id, entry) in names.all() {
        let (Some(uses), edges) = (cut.uses(id), cut.edges(id)) else { continue };
        let Some(end) = edges.last().copied() else { continue };
        // How far each access reaches that ends past the end: the elements of a vector are one.
        let mut reached: SortedMap<Span, i128> = SortedMap::new();
        for scalar in uses.scalars.iter().filter(|_| names.dialect == Dialect::Ptx) {
            let Some(offset) = scalar.offset else { continue };
            let past = offset + scalar.bytes() > end;
            if past && scalar.is_named && entry.role == LocationRole::Data {
                let reached = reached.entry(scalar.span).or_default();
                *reached = (*reached).max(offset + scalar.bytes());
            } else if !past && edges.range(offset + 1..offset + scalar.bytes().max(1)).next().is_some() {
                findings.feature(Feature::Span, scalar.span);
            }
        }
        for (span, reached) in reached {
            let spelling = threads.iter().find_map(|thread| thread.spelling(span));
            let spelling = spelling.map_or_else(|| "an access".to_owned(), |text| format!("`{text}`"));
            let what = format!("{spelling} reaches byte {reached} of `{name}`, which has {end}");
            findings.unsupported.push(Unsupported { span, what });
        }
        let is_within = |scalar: &&Scalar, object: i128| {
            let offset = scalar.offset.unwrap_or(-8);
            scalar.bytes() > 0 && offset < object + 8 && object < offset + scalar.bytes()
        };
        let declared: Vec<i128> = match entry.role {
            LocationRole::Mbarrier => (0..end / 8).map(|index| index * 8).collect(),
            _ => Vec::new(),
        };
        for object in uses.objects.iter().chain(&declared).collect::<SortedSet<_>>() {
            // An access to the whole object is one to its bytes, which may hold data before `init` and after `inval`. What a
            // register holds is known where it is used: the unfolding refuses an access to a part there.
            let is_part = |scalar: &&Scalar| {
                let is_whole = scalar.offset == Some(*object) && scalar.bytes() == 8;
                scalar.is_named && !is_whole && is_within(scalar, *object)
            };
            if let Some(scalar) = uses.scalars.iter().find(is_part) {
                let what = format!("an ordinary access to a part of the mbarrier `{name}`, or beyond it");
                findings.unsupported.push(Unsupported { span: scalar.span, what });
                break;
            } else if edges.range(object + 1..object + 8).next().is_some() {
                let here = uses.touched.unwrap_or_default();
                findings.unsupported.push(match object % 8 {
                    0 => Unsupported {
                        span: here,
                        what: format!("an access to a part of the mbarrier at `{name}{object:+}`"),
                    },
                    _ => {
                        let (span, spelling) = named_at(names, threads, (entry, *object))
                            .unwrap_or_else(|| (here, "an mbarrier operation".to_owned()));
                        let what = format!(
                            "{spelling} at `{name}`{object:+}, where no mbarrier begins: an mbarrier has 8 bytes and \
                             lies at a multiple of 8"
                        );
                        Unsupported { span, what }
                    }
                });
                break;
            }
        }
        // What is there before `init` is of no consequence if nobody reads it.
        if !uses.objects.is_empty() && !uses.scalars.is_empty() && names.unknown.contains(&**name) {
            let what = format!("an unknown initial value of the mbarrier `{name}`");
            findings.unsupported.push(Unsupported { span: entry.given.unwrap_or_default(), what });
        }
        if let Some(span) = entry.given
            && let Some(ty) = element_type(entry, Some(uses), cut.fallback)
            && let Some(value) = entry.elements.iter().chain([&entry.initial]).find(|value| !ty.fits(**value))
        {
            findings.diagnostics.push(misfit(&value.to_string(), ty, name, span));
        }
    }
}
