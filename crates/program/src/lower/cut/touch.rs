//! Which memory an operation touches and in what portions, as far as its own words say it.

use crate::few::Few;
use crate::program::asynchronous::{Action, Base, Completion, Effect, RegionId, Size, Start};
use crate::program::{AddressOperand, Operand, Operation, Space};
use crate::tag::{Tag, Tags};
use crate::value::{Type, Value};

/// Memory an operation touches, from an address on.
pub(crate) struct Touch<'p> {
    pub(crate) address: &'p AddressOperand,
    pub(crate) portion: Portion,
    /// The tags of the access; none for those of asynchronous operations, which differ by region.
    pub(crate) tags: Tags,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Portion {
    /// So many values of a type, each a scalar operation.
    Scalars(Type, u32),
    /// A run of bytes.
    Bytes(Operand),
    /// As much as another touch of the operation.
    Like(usize),
    /// To the end of the tile.
    Rest,
    /// The same, and what says it may be a matrix descriptor.
    Described,
    /// An mbarrier.
    Object,
    /// The tensor that the map at the address describes: as much as another touch.
    Behind(usize),
    /// The address only.
    Nothing,
}

/// What one operation touches. Of a copy, which touch goes to which.
#[derive(Default)]
pub(crate) struct Touches<'p> {
    pub(crate) all: Few<Touch<'p>>,
    pub(crate) copies: Vec<(usize, usize)>,
}

pub(crate) fn touches(operation: &Operation) -> Touches<'_> {
    let scalars = |address, ty, count, tags: Tags| {
        let portion = if tags.has(Tag::Mbarrier) { Portion::Object } else { Portion::Scalars(ty, count) };
        Touches { all: Few::one(Touch { address, portion, tags }), copies: Vec::new() }
    };
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    match operation {
        Operation::Load { address, ty, tags, .. } | Operation::Store { address, ty, tags, .. } => {
            scalars(address, *ty, 1, *tags)
        }
        Operation::ReadModifyWrite { address, ty, read_tags, .. } => scalars(address, *ty, 1, *read_tags),
        Operation::VectorLoad { address, ty, destinations, tags, .. } => {
            scalars(address, *ty, count(destinations.len()), *tags)
        }
        Operation::VectorStore { address, ty, values, tags, .. } => scalars(address, *ty, count(values.len()), *tags),
        Operation::VectorUpdate(update) => {
            scalars(&update.address, update.ty, count(update.values.len()), update.read_tags)
        }
        Operation::MbarrierWait(wait) => {
            let touch = Touch { address: &wait.address, portion: Portion::Object, tags: Tags::NONE };
            Touches { all: Few::one(touch), copies: Vec::new() }
        }
        Operation::Fill { address, bytes, .. } => {
            let touch = Touch { address, portion: Portion::Bytes(*bytes), tags: Tags::NONE };
            Touches { all: Few::one(touch), copies: Vec::new() }
        }
        Operation::Async(operation) => asynchronous(&operation.action),
        Operation::Multimem(operation) => {
            let elements = count(operation.elements());
            let portion = Portion::Scalars(operation.ty, elements);
            let touch = |address| Touch { address, portion, tags: Tags::NONE };
            Touches { all: operation.replicas.iter().map(touch).collect::<Vec<_>>().into(), copies: Vec::new() }
        }
        _ => Touches::default(),
    }
}

fn asynchronous(action: &Action) -> Touches<'_> {
    let tags = Tags::NONE;
    let one = |address, portion| Touches { all: Few::one(Touch { address, portion, tags }), copies: Vec::new() };
    match action {
        Action::Start(start) => started(start),
        Action::Arrive(arrive) => one(&arrive.mbarrier, Portion::Object),
        Action::Allocate { destination, .. } => one(destination, Portion::Scalars(Type::U32, 1)),
        Action::Deallocate { address, .. } => one(address, Portion::Nothing),
        _ => Touches::default(),
    }
}

fn started(start: &Start) -> Touches<'_> {
    let (mut all, tags): (Vec<Touch<'_>>, Tags) = (Vec::new(), Tags::NONE);
    for (index, region) in start.regions.iter().enumerate() {
        let portion = match region.size {
            // A column of tensor memory is a location, whatever is accessed with it.
            _ if region.space == Some(Space::TensorMemory) => Portion::Nothing,
            // The registers of a store are scalar operations, and not a run.
            Size::Bytes(bytes) => match (scalar_type(start, index), bytes) {
                (Some(ty), Operand::Constant(Value(bytes))) if ty.bits >= 8 => {
                    Portion::Scalars(ty, u32::try_from(bytes * 8 / i128::from(ty.bits)).unwrap_or(u32::MAX))
                }
                _ => Portion::Bytes(bytes),
            },
            Size::Tile if matches!(region.base, Base::Descriptor(_)) => Portion::Described,
            Size::Tile => Portion::Rest,
            Size::Elements(_) => Portion::Nothing,
            Size::Like(RegionId(other)) => Portion::Like(other),
            Size::Locations(count) => match scalar_type(start, index) {
                Some(ty) => Portion::Scalars(ty, count),
                None => Portion::Nothing,
            },
        };
        match &region.base {
            Base::Address(address) | Base::Descriptor(address) => all.push(Touch { address, portion, tags }),
            Base::Tensor { map: RegionId(map), .. } => {
                let other = if let Size::Like(RegionId(other)) = region.size { other } else { *map };
                if let Some(Base::Address(address)) = start.regions.get(*map).map(|region| &region.base) {
                    all.push(Touch { address, portion: Portion::Behind(other), tags });
                }
            }
        }
    }
    let has_columns = start.regions.iter().any(|region| region.space == Some(Space::TensorMemory));
    let is_whole = all.len() == start.regions.len() && !has_columns;
    let copies = match &start.effect {
        Effect::Copy { source, destination, .. } if is_whole => vec![(source.0, destination.0)],
        _ => Vec::new(),
    };
    if let Completion::Transaction { mbarrier, .. } = &start.completion {
        all.push(Touch { address: mbarrier, portion: Portion::Object, tags });
    }
    Touches { all: all.into(), copies }
}

/// The type of the registers that go to or come from a region.
fn scalar_type(start: &Start, region: usize) -> Option<Type> {
    match &start.effect {
        Effect::Store { destination: RegionId(at), ty, .. } | Effect::Load { source: RegionId(at), ty, .. }
            if *at == region =>
        {
            Some(*ty)
        }
        _ => None,
    }
}
