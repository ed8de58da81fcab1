//! Which locations an asynchronous operation reaches: ranges, tensors behind their maps, the same offset in other CTAs.

use std::collections::BTreeSet;

use crate::asynchronous::{Base, Region, RegionId, Replicas, Size, Start};
use crate::expression::{BinaryOperator, Expression};
use crate::ids::{AddressId, LocationId};
use crate::program::{AddressOperand, Initial, LocalValue, LocationRole, Operand, Operation, Place, Space};
use crate::tag::Tag;
use crate::unfold::run::Runner;
use crate::unfold::state::{Decision, Reads, State};
use crate::unfold::strand_tensor::{Aimed, Origin};
use crate::unfold::{UnfoldError, fold};
use crate::unfolding::TraceEnd;
use crate::value::{Type, Value};

/// Where one run of an operation goes.
#[derive(Clone, Default)]
pub(crate) struct Located {
    /// Per region, per CTA: its locations, ascending. Empty for a tensor whose map is still to be read.
    pub(crate) regions: Vec<Vec<Vec<AddressId>>>,
    /// The mbarriers that are told.
    pub(crate) signals: Vec<AddressId>,
    /// The reads the addresses depend on.
    pub(crate) reads: Reads,
    /// How the operation's own choice fell: what the accumulator held counts; the request succeeded; nothing is copied.
    pub(crate) chosen: bool,
    /// Of the addresses in tensor memory.
    pub(crate) origin: Origin,
}

/// What becomes of a range that is as long as another and reaches beyond the variable.
#[derive(Copy, Clone, PartialEq, Eq)]
enum End {
    /// It is an error.
    Exact,
    /// It is cut off.
    Cut,
}

impl Located {
    pub(crate) fn region(&self, id: RegionId) -> &[Vec<AddressId>] {
        self.regions.get(id.0).map_or(&[], Vec::as_slice)
    }

    /// The first copy.
    pub(crate) fn first(&self, id: RegionId) -> &[AddressId] {
        self.region(id).first().map_or(&[], Vec::as_slice)
    }
}

impl Runner<'_> {
    /// Every way the address operands of the regions may fall.
    pub(crate) fn locate(&mut self, state: State, start: &Start) -> Result<Vec<(State, Located)>, UnfoldError> {
        let located = Located { regions: vec![Vec::new(); start.regions.len()], ..Located::default() };
        let mut runs = vec![(state, located)];
        for (index, region) in start.regions.iter().enumerate() {
            let Base::Address(address) = &region.base else { continue };
            let mut next = Vec::new();
            for (state, located) in runs {
                let (alternatives, reads) = self.aim(state, address, region)?;
                for Aimed { state, target: base, origin } in alternatives {
                    let mut located = located.clone();
                    located.reads.extend(&reads);
                    let range = match origin {
                        Origin::Given => self.extent(&state, &located, base, (region.size, End::Exact))?,
                        Origin::Stray => {
                            located.origin = origin;
                            self.stray_extent(base, region.size)
                        }
                    };
                    located.regions[index] = self.replicate(&state, &range, region.replicas)?;
                    next.push((state, located));
                }
            }
            runs = next;
        }
        Ok(runs)
    }

    fn aim(
        &mut self,
        state: State,
        address: &AddressOperand,
        region: &Region,
    ) -> Result<(Vec<Aimed>, Reads), UnfoldError> {
        if region.space == Some(Space::TensorMemory) {
            return self.tensor_targets(state, address);
        }
        let (alternatives, reads) =
            self.targets_where(state, address, |runner, target| runner.suits(target, region))?;
        let given = |(state, target)| Aimed { state, target, origin: Origin::Given };
        Ok((alternatives.into_iter().map(given).collect(), reads))
    }

    /// Whether an address that a register may hold is one the region can be at.
    fn suits(&self, target: AddressId, region: &Region) -> bool {
        let location = &self.program.locations[self.location_of(target).index()];
        let wanted = if region.tags.has(Tag::TensorMap) { LocationRole::TensorMap } else { LocationRole::Data };
        // Where nothing says the space of a location it is global.
        let space = location.space.unwrap_or(Space::Global);
        location.role == wanted && region.space.is_none_or(|own| own == space)
    }

    /// The ways an mbarrier operand may fall.
    pub(crate) fn mbarrier_targets(
        &mut self,
        state: State,
        address: &AddressOperand,
    ) -> Result<(Vec<(State, AddressId)>, Reads), UnfoldError> {
        self.targets_where(state, address, |runner, target| {
            runner.program.locations[runner.location_of(target).index()].role == LocationRole::Mbarrier
        })
    }

    /// The value of an operand that must not depend on memory: a size, a mask, a coordinate.
    pub(crate) fn constant(&self, state: &State, operand: Operand) -> Result<i128, UnfoldError> {
        match fold::substitute(&self.operand(state, operand).value, &state.known) {
            Expression::Constant(Value(value)) => Ok(value),
            _ => Err(UnfoldError::AsyncOperand { span: self.span_at(state.at) }),
        }
    }

    /// The locations from `base` on.
    fn extent(
        &self,
        state: &State,
        located: &Located,
        base: AddressId,
        (size, end): (Size, End),
    ) -> Result<Vec<AddressId>, UnfoldError> {
        let (bytes, is_exact) = match size {
            Size::Locations(count) => {
                let range: Vec<AddressId> = self.variable(base).into_iter().take(count as usize).collect();
                return if range.len() == count as usize { Ok(range) } else { Err(self.short(state, base)) };
            }
            Size::Variable => return Ok(self.variable(base)),
            Size::Bytes(bytes) => (self.constant(state, bytes)?, true),
            Size::Like(other) => (self.bytes(located.first(other)), end == End::Exact),
        };
        let mut range = Vec::new();
        let mut reached = 0;
        for address in self.variable(base) {
            if reached >= bytes {
                break;
            }
            reached += self.width(address);
            range.push(address);
        }
        if reached > bytes || (is_exact && reached < bytes) {
            return Err(self.short(state, base));
        }
        Ok(range)
    }

    fn short(&self, state: &State, base: AddressId) -> UnfoldError {
        let location = self.program.addresses[base.index()].name.clone();
        UnfoldError::Extent { span: self.span_at(state.at), location }
    }

    pub(crate) fn bytes(&self, range: &[AddressId]) -> i128 {
        range.iter().map(|address| self.width(*address)).sum()
    }

    /// How many bytes the location at this address has.
    pub(crate) fn width(&self, address: AddressId) -> i128 {
        let location = &self.program.locations[self.program.addresses[address.index()].location.index()];
        // A location without a size is one of eight bytes.
        if location.bytes == 0 { 8 } else { i128::from(location.bytes) }
    }

    /// The locations from this one to the end of its variable.
    pub(crate) fn variable(&self, base: AddressId) -> Vec<AddressId> {
        let from = std::iter::successors(Some(base), |address| {
            let own = &self.program.addresses[address.index()];
            let next = self.program.addresses.get(address.index() + 1)?;
            let (here, there) =
                (&self.program.locations[own.location.index()], &self.program.locations[next.location.index()]);
            // Columns of tensor memory are numbered, not addressed by bytes.
            let step = next.value.0 - own.value.0;
            let is_next = step == self.width(*address) || (here.space == Some(Space::TensorMemory) && step == 1);
            let is_next = is_next && next.canonical.index() == address.index() + 1;
            (is_next && here.owner == there.owner).then(|| AddressId::new(address.index() + 1))
        });
        from.collect()
    }

    /// The ranges at the same offset in the CTAs meant.
    pub(crate) fn replicate(
        &self,
        state: &State,
        range: &[AddressId],
        replicas: Replicas,
    ) -> Result<Vec<Vec<AddressId>>, UnfoldError> {
        if replicas == Replicas::One {
            return Ok(vec![range.to_vec()]);
        }
        let Some(owner) = range.first().and_then(|first| self.owner(*first)) else { return Ok(vec![range.to_vec()]) };
        let ctas = self.cluster_ctas(owner);
        let chosen: Vec<Place> = match replicas {
            Replicas::One => vec![owner],
            Replicas::All => ctas,
            Replicas::Pair => ranked(&ctas, owner).into_iter().flat_map(|rank| pair(&ctas, rank)).collect(),
            Replicas::Mask(mask) => self.masked(state, &ctas, mask)?,
            Replicas::MaskOfPairs(mask) => {
                let parity = ranked(&ctas, owner).unwrap_or(0) & 1;
                let own = self.masked(state, &ctas, mask)?;
                let ranks: Vec<usize> = own.into_iter().filter_map(|cta| ranked(&ctas, cta)).collect();
                ranks.into_iter().filter_map(|rank| ctas.get(rank & !1 | parity).copied()).collect()
            }
        };
        let instance = |cta: Place| {
            let found = range.iter().map(|address| self.instance(*address, cta));
            found.collect::<Option<Vec<_>>>().ok_or_else(|| self.short(state, range[0]))
        };
        chosen.into_iter().map(instance).collect()
    }

    fn masked(&self, state: &State, ctas: &[Place], mask: Operand) -> Result<Vec<Place>, UnfoldError> {
        let mask = self.constant(state, mask)?;
        let is_chosen = |rank: &usize| u32::try_from(*rank).is_ok_and(|rank| rank < 127 && mask >> rank & 1 == 1);
        let ranks = (0..ctas.len()).filter(is_chosen);
        let chosen: Vec<Place> = ranks.filter_map(|rank| ctas.get(rank).copied()).collect();
        let fits = mask >= 0 && mask.count_ones() as usize == chosen.len();
        if fits { Ok(chosen) } else { Err(UnfoldError::AsyncOperand { span: self.span_at(state.at) }) }
    }

    fn owner(&self, address: AddressId) -> Option<Place> {
        self.program.locations[self.program.addresses[address.index()].location.index()].owner
    }

    /// The CTAs of a cluster, by rank.
    fn cluster_ctas(&self, of: Place) -> Vec<Place> {
        let places = self.program.threads.iter().map(|thread| thread.place);
        let owners = self.program.locations.iter().filter_map(|location| location.owner);
        let is_near = |place: &Place| crate::access::includes(crate::program::Scope::Cluster, of, *place);
        let found: BTreeSet<Place> = places.chain(owners).filter(is_near).collect();
        found.into_iter().collect()
    }

    /// The location of another CTA's shared or tensor memory at the same offset.
    fn instance(&self, address: AddressId, cta: Place) -> Option<AddressId> {
        if self.owner(address) == Some(cta) {
            return Some(address);
        }
        let name = plain(&self.program.addresses[address.index()].name);
        let is_same = |index: &usize| {
            let id = AddressId::new(*index);
            self.owner(id) == Some(cta) && plain(&self.program.addresses[*index].name) == name
        };
        (0..self.program.addresses.len()).find(is_same).map(AddressId::new)
    }

    /// Every tensor a map's value may describe, with the locations from the first coordinate on and the bytes it has. A value that is no
    /// address ends the run, as any wild access does.
    pub(crate) fn tensor(
        &mut self,
        state: State,
        located: &Located,
        value: &Expression,
        wanted: (&[Operand], Size),
    ) -> Result<Vec<(State, Vec<AddressId>, i128)>, UnfoldError> {
        let (coordinates, size) = wanted;
        let span = self.span_at(state.at);
        let mut element = 0;
        for (index, coordinate) in coordinates.iter().enumerate() {
            let value = usize::try_from(self.constant(&state, *coordinate)?).ok();
            match value.filter(|value| index == 0 || *value == 0) {
                Some(value) => element += value,
                None => return Err(UnfoldError::AsyncOperand { span }),
            }
        }
        let (alternatives, wild) = self.addresses(state, value);
        if let Some(wild) = wild {
            let mut rests_on: Reads = wild.control.clone();
            collect_reads(value, &mut rests_on);
            let rests_on = rests_on.into_iter().collect();
            self.finish(wild, TraceEnd::Wild { span, rests_on })?;
        }
        let mut found = Vec::new();
        for (state, base) in alternatives {
            // Beyond its end a tensor reads as zeros, and writes there are lost.
            let range = match self.variable(base).get(element).copied() {
                Some(first) => self.extent(&state, located, first, (size, End::Cut))?,
                None => Vec::new(),
            };
            let bytes = self.bytes(&self.variable(base));
            found.push((state, range, bytes));
        }
        Ok(found)
    }

    /// A box is no larger than the tensor of its map.
    pub(crate) fn boxed(&self, copies: &mut [Vec<AddressId>], tensor: i128) {
        for copy in copies {
            let mut reached = 0;
            copy.retain(|address| {
                reached += self.width(*address);
                reached <= tensor
            });
        }
    }

    /// The tensors a value may be the address of, and the run in which it is none of them.
    fn addresses(&self, state: State, value: &Expression) -> (Vec<(State, AddressId)>, Option<State>) {
        let value = fold::substitute(value, &state.known);
        let mut alternatives = Vec::new();
        let mut rest = Some(state);
        for candidate in self.tensors() {
            let Some(open) = rest.as_mut() else { break };
            let here = Expression::Constant(self.program.addresses[candidate.index()].value);
            let condition = fold::binary(BinaryOperator::Equal, Type::UNTYPED, value.clone(), here);
            match open.decide(&condition) {
                Decision::Never => {}
                Decision::Always => alternatives.extend(rest.take().map(|state| (state, candidate))),
                Decision::Open(yes, no) => {
                    let mut chosen = open.clone();
                    self.constrain(&mut chosen, yes);
                    alternatives.push((chosen, candidate));
                    self.constrain(open, no);
                }
            }
        }
        (alternatives, rest)
    }

    /// Global memory whose address some map, register or instruction has: what a map may describe. An address computed
    /// otherwise is not among them and leads to the wild run, from which nothing is concluded.
    fn tensors(&self) -> BTreeSet<AddressId> {
        let maps = self.program.locations.iter().filter(|location| location.role == LocationRole::TensorMap);
        let initial: BTreeSet<Value> = maps.map(|map| map.initial).collect();
        let named = self.program.threads.iter().flat_map(|thread| {
            let registers = thread.registers.iter().filter_map(|register| match register.initial {
                Initial::Address(address) => Some(address),
                Initial::Value(_) => None,
            });
            registers.chain(thread.code.iter().flat_map(|code| named(&code.operation)))
        });
        let described = (0..self.program.addresses.len()).map(AddressId::new);
        let described = described.filter(|id| initial.contains(&self.program.addresses[id.index()].value));
        let is_global = |id: &AddressId| {
            let location = &self.program.locations[self.location_of(*id).index()];
            location.role == LocationRole::Data && matches!(location.space, None | Some(Space::Global))
        };
        named.chain(described).filter(is_global).collect()
    }

    pub(crate) fn location_of(&self, address: AddressId) -> LocationId {
        self.program.addresses[address.index()].location
    }
}

fn ranked(ctas: &[Place], of: Place) -> Option<usize> {
    ctas.iter().position(|cta| *cta == of)
}

/// The two CTAs whose ranks differ in the last bit only.
fn pair(ctas: &[Place], rank: usize) -> Vec<Place> {
    let first = rank & !1;
    ctas.iter().skip(first).take(2).copied().collect()
}

/// `s@1[2]` and `s[2]` are instances of one variable.
fn plain(name: &str) -> String {
    match name.split_once('@') {
        None => name.to_string(),
        Some((stem, rest)) => {
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{stem}{rest}")
        }
    }
}

/// The addresses an operation has as values.
fn named(operation: &Operation) -> Vec<AddressId> {
    let operands = match operation {
        Operation::Store { value, .. } => vec![*value],
        Operation::Local { value, .. } => match *value {
            LocalValue::Operand(operand) | LocalValue::Unary(_, operand) => vec![operand],
            LocalValue::Binary(_, left, right) => vec![left, right],
            LocalValue::Select { then, otherwise, .. } => vec![then, otherwise],
        },
        _ => Vec::new(),
    };
    let address = |operand| if let Operand::Address(address) = operand { Some(address) } else { None };
    operands.into_iter().filter_map(address).collect()
}

fn collect_reads(value: &Expression, found: &mut Reads) {
    let mut leaves = Vec::new();
    value.leaves(&mut leaves);
    found.extend(leaves.into_iter().map(|leaf| match leaf {
        crate::expression::Leaf::Read(event) | crate::expression::Leaf::BarrierResult(event) => event,
    }));
}
