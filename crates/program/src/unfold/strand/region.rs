//! Which locations an asynchronous operation reaches: ranges, tensors behind their maps, the same offset in other CTAs.

use fencepost_syntax::sorted::SortedSet;

use crate::ids::{AddressId, LocationId};
use crate::lower::memory::lanes::by_one_warp;
use crate::lower::memory::layout::described_offset;
use crate::program::asynchronous::{Base, Family, Region, RegionId, Replicas, Size, Start};
use crate::program::{AddressOperand, LocationRole, Operand, Place, Space};
use crate::tag::Tag;
use crate::unfold::UnfoldError;
use crate::unfold::run::dependency::Reads;
use crate::unfold::run::fold;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::{Forks, State};
use crate::unfold::strand::tensor_memory::{Aimed, Origin};
use crate::unfold::strand::tile_start::{Role, role};
use crate::unfolding::HazardKind;
use crate::value::Value;
use crate::value::expression::Expression;

/// Where one run of an operation goes.
#[derive(Clone, Default)]
pub(crate) struct Located {
    /// Per region, per CTA, and in tensor memory per part of the lanes: its locations, ascending. Empty for a tensor whose map is still to be read.
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
    pub(crate) fn locate(
        &mut self,
        state: Box<State>,
        (family, start): (Family, &Start),
    ) -> Result<Vec<(Box<State>, Located)>, UnfoldError> {
        let located = Located { regions: vec![Vec::new(); start.regions.len()], ..Located::default() };
        let mut runs = vec![(state, located)];
        for (index, region) in start.regions.iter().enumerate() {
            let Some(address) = region.base.address() else { continue };
            let mut next = Vec::new();
            for (state, located) in runs {
                let (alternatives, reads) = self.aim(state, address, region)?;
                for Aimed { mut state, target, origin, lane } in alternatives {
                    if matches!(address, AddressOperand::Register(_)) {
                        self.note_alignment(&mut state, target, start.alignment(family, region));
                    }
                    let mut located = located.clone();
                    located.reads.extend(&reads);
                    let own = start.tensor.filter(|_| by_one_warp(start));
                    let range = match origin {
                        Origin::Given => {
                            let role = role(start, index);
                            self.extent(&state, &located, target, (region.size, role))?
                        }
                        Origin::Stray => {
                            located.origin = origin;
                            self.stray_extent(target, region.size)
                        }
                    };
                    let mut copies = self.replicate(&state, &range, region.replicas)?;
                    if region.space == Some(Space::TensorMemory) {
                        let parts = |copy: &Vec<AddressId>| match own {
                            Some(tensor) => self.own_lanes(copy, tensor.lanes, lane),
                            None => self.all_lanes(copy),
                        };
                        copies = copies.iter().flat_map(parts).collect();
                    }
                    located.regions[index] = copies;
                    next.push((state, located));
                }
            }
            runs = next;
        }
        Ok(runs)
    }

    fn note_alignment(&self, state: &mut State, address: AddressId, wanted: Option<i128>) {
        let value = self.program.addresses[address.index()].value.0;
        if let Some(wanted) = wanted.filter(|wanted| value % wanted != 0) {
            let (span, wanted) = (self.span_at(state.at), u32::try_from(wanted).unwrap_or(u32::MAX));
            state.outstanding.hazards.push((HazardKind::Misaligned { address, wanted }, span, span));
        }
    }

    fn aim(
        &mut self,
        state: Box<State>,
        address: &AddressOperand,
        region: &Region,
    ) -> Result<(Vec<Aimed>, Reads), UnfoldError> {
        if region.space == Some(Space::TensorMemory) {
            return self.tensor_targets(state, address);
        }
        if let (Base::Descriptor(_), AddressOperand::Register(register)) = (&region.base, address) {
            let slot = state.registers[register.index()].clone();
            if let Expression::Constant(Value(value)) = fold::substitute(&slot.value, &state.known)
                && let Some(target) = self.described(value)
            {
                return Ok((vec![Aimed { state, target, origin: Origin::Given, lane: 0 }], slot.reads));
            }
        }
        let (alternatives, reads) =
            self.targets_where(state, address, region.space, |runner, target| runner.suits(target, region))?;
        let given = |(state, target)| Aimed { state, target, origin: Origin::Given, lane: 0 };
        Ok((alternatives.into_iter().map(given).collect(), reads))
    }

    /// The shared memory that a matrix descriptor describes, if it is no address itself.
    fn described(&self, value: i128) -> Option<AddressId> {
        let is_address = self.program.addresses.iter().any(|address| address.value.0 == value);
        let offset = described_offset(value);
        let is_there = |index: &usize| {
            let address = &self.program.addresses[*index];
            let location = &self.program.locations[address.location.index()];
            location.space == Some(Space::Shared)
                && location.owner == Some(self.thread.place)
                && address.canonical.index() == *index
                && address.value.0 & 0x3_ffff == offset
        };
        (0..self.program.addresses.len()).find(is_there).filter(|_| !is_address).map(AddressId::new)
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
        state: Box<State>,
        address: &AddressOperand,
    ) -> Result<(Forks, Reads), UnfoldError> {
        self.targets_where(state, address, Some(Space::Shared), |runner, target| {
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
        &mut self,
        state: &State,
        located: &Located,
        base: AddressId,
        (size, role): (Size, Role),
    ) -> Result<Vec<AddressId>, UnfoldError> {
        let bytes = match size {
            Size::Locations(count) => {
                let range: Vec<AddressId> = self.variable(base).into_iter().take(count as usize).collect();
                return if range.len() == count as usize { Ok(range) } else { Err(self.short(state, base)) };
            }
            Size::Tile => return Ok(self.tile(base, role)),
            Size::Elements(other) => {
                let count = located.first(other).len();
                return Ok(self.tile(base, role).into_iter().take(count).collect());
            }
            Size::Bytes(bytes) => self.constant(state, bytes)?,
            Size::Like(other) => self.bytes(located.first(other)),
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
        if reached < bytes {
            let location = self.program.addresses[base.index()].name.clone();
            return Err(UnfoldError::Overrun {
                span: self.span_at(state.at),
                location: location.to_string(),
                bytes,
                room: reached,
            });
        }
        if reached > bytes {
            return Err(self.short(state, base));
        }
        Ok(range)
    }

    pub(crate) fn short(&self, state: &State, base: AddressId) -> UnfoldError {
        let location = self.program.addresses[base.index()].name.clone();
        UnfoldError::Extent { span: self.span_at(state.at), location: location.to_string() }
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
        let is_near = |place: &Place| crate::unfolding::access::includes(crate::program::Scope::Cluster, of, *place);
        let found: SortedSet<Place> = places.chain(owners).filter(is_near).collect();
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
