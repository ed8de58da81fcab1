//! Asynchronous operations as data (PTX ISA 8.9.1.1, 9.7.10.28, 9.7.17, 9.7.18): what is accessed, through which proxy and
//! how strongly, and how the end is told. The instruction tables fill it in; `unfold::strand` turns it into an issue event
//! and a strand. Nothing here knows an opcode.

use crate::ids::{LocationId, RegisterId};
use crate::program::{AddressOperand, Operand, Scope, Space};
use crate::tag::{Tag, Tags};
use crate::value::{Type, Value};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Async {
    pub family: Family,
    pub action: Action,
}

/// Which instructions wait for each other: groups are counted per family.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Family {
    CpAsync,
    Bulk,
    Wgmma,
    Tcgen05,
}

impl Family {
    pub fn tag(self) -> Tag {
        match self {
            Family::CpAsync => Tag::CpAsync,
            Family::Bulk => Tag::Bulk,
            Family::Wgmma => Tag::Wgmma,
            Family::Tcgen05 => Tag::Tcgen05,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    Start(Box<Start>),
    /// `commit_group`: what was started since the last one is a group.
    Commit,
    /// `wait_group`: all groups but the newest are complete.
    WaitGroup {
        newest: u32,
        covered: Covered,
    },
    /// `cp.async.wait_all`: everything started so far is complete, in a group or not.
    WaitAll,
    /// `tcgen05.wait::ld` or `::st`.
    WaitTensor(TensorKind),
    /// An arrive on an mbarrier once what the thread started before is complete.
    Arrive(Arrive),
    /// `wgmma.fence`: orders register accesses before later products.
    RegisterFence,
    /// `tcgen05.alloc`: the address of the columns goes to shared memory.
    Allocate {
        destination: AddressOperand,
        /// How many columns, where the text says so.
        count: Option<u32>,
        group: u8,
        /// The locations that the destination may be, settled when memory is cut: what is read there is an address.
        slots: Vec<LocationId>,
    },
    Deallocate {
        address: AddressOperand,
        /// How many columns.
        count: Operand,
        group: u8,
    },
    /// `tcgen05.relinquish_alloc_permit`.
    Relinquish {
        group: u8,
    },
}

/// Of the groups a wait covers: everything, or what they read (`wait_group.read`).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Covered {
    Everything,
    Reads,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrive {
    pub mbarrier: AddressOperand,
    pub replicas: Replicas,
    pub counting: Counting,
    /// The N of `.cta_group::N`; 0 where the instruction has none.
    pub group: u8,
    pub told: Told,
}

/// What an arrive of `tcgen05.commit` comes after, and tells of.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Told {
    /// Everything the thread started before.
    Everything,
    /// That the products have read their left factors in shared memory, and nothing more (PTX ISA 9.7.18.12.1).
    LeftFactorsRead,
}

/// Whether the arrival is part of the count the mbarrier was made with.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Counting {
    Included,
    /// The pending count is raised when the instruction is issued (`cp.async.mbarrier.arrive` without `.noinc`).
    Added,
}

/// One asynchronous operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    /// The memory it is about. A region may refer to those before it.
    pub regions: Vec<Region>,
    pub effect: Effect,
    pub completion: Completion,
    /// Of `tcgen05` operations.
    pub tensor: Option<Tensor>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    pub kind: TensorKind,
    pub group: u8,
    /// Equal for equal words of shape and kind.
    pub shape: u64,
    /// The instruction descriptor, which holds the rest of the shape.
    pub descriptor: Option<Operand>,
    pub lanes: Lanes,
}

/// Which lanes of tensor memory an operation accesses (PTX ISA 9.7.18.2.3).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Lanes {
    All,
    /// The 32 of a warp.
    Quarter,
    /// 16 of those, from the address on.
    Half,
}

/// An index into [`Start::regions`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct RegionId(pub usize);

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    pub base: Base,
    pub size: Size,
    pub replicas: Replicas,
    /// The state space it lies in, where the instruction says so: an address held in a register is one of that space.
    pub space: Option<Space>,
    /// Proxy, strength and scope of its accesses.
    pub tags: Tags,
    pub scope: Option<Scope>,
}

impl Start {
    /// What the address of a region must be a multiple of, in an operation of this family: bulk copies want 16, tensor copies
    /// 128 for what lies in shared memory (PTX ISA 9.7.10.28), `cp.async` its size (9.7.10.28.3.1).
    pub fn alignment(&self, family: Family, region: &Region) -> Option<i128> {
        let is_place = matches!(region.base, Base::Address(_));
        match (family, region.size) {
            (Family::CpAsync, Size::Bytes(Operand::Constant(Value(bytes)))) => Some(bytes).filter(|bytes| *bytes > 0),
            (Family::Bulk, _) if region.tags.has(Tag::Async) => {
                let is_tensor = self.regions.iter().any(|region| matches!(region.base, Base::Tensor { .. }));
                Some(if is_tensor && region.space == Some(Space::Shared) { 128 } else { 16 })
            }
            _ => None,
        }
        .filter(|_| is_place)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Base {
    Address(AddressOperand),
    /// A matrix descriptor, or the address itself.
    Descriptor(AddressOperand),
    /// The tensor that the map in another region describes, from the element that the coordinates say. The lengths of its
    /// dimensions are those the test declares.
    Tensor {
        map: RegionId,
        coordinates: Vec<Operand>,
        mode: Mode,
    },
}

impl Base {
    pub fn address(&self) -> Option<&AddressOperand> {
        match self {
            Base::Address(address) | Base::Descriptor(address) => Some(address),
            Base::Tensor { .. } => None,
        }
    }
}

/// How a tensor copy walks its tensor (PTX ISA 5.5).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    /// One box from the coordinates on.
    Tile,
    /// Four rows of a matrix, a column and four rows for coordinates (`tile::gather4`, `tile::scatter4`).
    FourRows,
    /// A box from the coordinates on, displaced by offsets along the dimensions after the first.
    Displaced(Vec<Operand>),
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Size {
    /// As many bytes as the operand says.
    Bytes(Operand),
    /// So many locations: columns of tensor memory, elements of a vector.
    Locations(u32),
    /// From the address to the end of the tile: of an array of several dimensions, what one index of the first selects;
    /// of any other variable, its end.
    Tile,
    /// As many locations as another region has, or up to the end of the tile: elements that become columns.
    Elements(RegionId),
    /// As many bytes as another region, or up to the end of the variable if that is less.
    Like(RegionId),
}

/// In which CTAs of the cluster the same offset is meant.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Replicas {
    /// The one the address says.
    One,
    /// Those whose bit is set in the mask (`.multicast::cluster`).
    Mask(Operand),
    /// As `Mask`; of each pair of CTAs the one of the same parity as the address says (`.cta_group::2` with multicast).
    MaskOfPairs(Operand),
    /// All of the cluster (`.multicast::cluster::all`).
    All,
    /// The pair of CTAs that works together (`.cta_group::2`).
    Pair,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Each location of the source is read and written to the destination, or combined with what is there.
    Copy {
        source: RegionId,
        destination: RegionId,
        combine: Option<Combine>,
        valid: Valid,
    },
    /// Registers to memory.
    Store {
        destination: RegionId,
        values: Vec<Operand>,
        ty: Type,
        combine: Option<Combine>,
    },
    /// Memory to registers; None for `_`. Where `reduced` is, it gets the least or the greatest of them.
    Load {
        source: RegionId,
        destinations: Vec<Option<RegisterId>>,
        ty: Type,
        reduced: Option<Reduced>,
    },
    /// The locations are read for their own sake (a prefetch of what a tensor map describes).
    Look {
        region: RegionId,
    },
    Product(Product),
    /// Each location is read and written back (`tcgen05.shift` moves rows within a column).
    Rewrite {
        region: RegionId,
    },
    /// The answer to a request that may succeed or fail (`clusterlaunchcontrol.try_cancel`).
    Answer {
        destination: RegionId,
    },
}

/// How much of a copy's source counts; the rest of the destination is filled with zeros.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Valid {
    All,
    /// So many bytes.
    Bytes(Operand),
    /// Nothing if the predicate holds.
    Unless(Operand),
    /// Of every 16 bytes those whose bit is set; the rest of the destination stays (`.cp_mask`).
    Mask(Operand),
}

/// How `cp.reduce`, `red.async` combine (PTX ISA 9.7.10.28.5.3).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Combine {
    pub how: How,
    /// Of one element; [`Type::UNTYPED`] is the location's own.
    pub ty: Type,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum How {
    Apply(crate::value::expression::BinaryOperator),
    Increment,
    Decrement,
    /// In floating point: that it happens is modelled, the result is not.
    Float,
}

/// `tcgen05.ld.red`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Reduced {
    pub destination: RegisterId,
    /// `Minimum` or `Maximum`.
    pub operator: crate::value::expression::BinaryOperator,
    pub order: Order,
}

/// How the values of registers compare.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Order {
    Integer(Type),
    /// As 32-bit floating-point numbers, NaN aside.
    Float,
    /// The same, of their magnitudes.
    Magnitude,
}

/// An abstract matrix product: every element of the result is what it was (or 0), plus the sum of the elements of one
/// factor times that of the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Product {
    pub left: Factor,
    pub right: RegionId,
    /// Further memory that is read: scales, sparsity metadata.
    pub others: Vec<RegionId>,
    pub accumulator: Accumulator,
    /// Whether what the accumulator held counts.
    pub accumulate: Operand,
    /// Equal for equal shapes.
    pub shape: u64,
    /// Whether all of the accumulator is written (no `disable-output-lane`).
    pub coverage: Coverage,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Coverage {
    Whole,
    /// All lanes but those that these masks name (`disable-output-lane`). Where one is not 0, some lanes of each column keep
    /// what they held: a column has no one value then.
    Masked(Vec<Operand>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Factor {
    Memory(RegionId),
    Registers(Vec<RegisterId>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Accumulator {
    Memory(RegionId),
    Registers(Vec<RegisterId>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Completion {
    /// A group of the family, which `commit_group` closes.
    Group,
    /// The bytes written are completed on an mbarrier.
    Transaction {
        mbarrier: AddressOperand,
        replicas: Replicas,
        /// Where the ISA wants the destination and the mbarrier to lie, if it says so.
        placement: Option<Placement>,
    },
    /// Tracked per thread by kind of operation (`tcgen05`).
    Tracked,
    /// Nothing tells of it.
    None,
}

impl Async {
    /// The registers it reads.
    pub fn used(&self) -> Vec<RegisterId> {
        let mut found = Vec::new();
        match &self.action {
            Action::Start(start) => start.used(&mut found),
            Action::Arrive(arrive) => {
                address(&arrive.mbarrier, &mut found);
                replicas(arrive.replicas, &mut found);
            }
            Action::Allocate { destination, .. } => address(destination, &mut found),
            Action::Deallocate { address: at, count, .. } => {
                address(at, &mut found);
                operand(*count, &mut found);
            }
            Action::Commit
            | Action::WaitGroup { .. }
            | Action::WaitAll
            | Action::WaitTensor(_)
            | Action::RegisterFence
            | Action::Relinquish { .. } => {}
        }
        found
    }

    /// The registers it writes.
    pub fn defined(&self) -> Vec<RegisterId> {
        let Action::Start(start) = &self.action else { return Vec::new() };
        match &start.effect {
            Effect::Load { destinations, reduced, .. } => {
                let loaded = destinations.iter().flatten().copied();
                loaded.chain(reduced.iter().map(|reduced| reduced.destination)).collect()
            }
            Effect::Product(Product { accumulator: Accumulator::Registers(registers), .. }) => registers.clone(),
            _ => Vec::new(),
        }
    }

    /// The addresses it accesses.
    pub fn addresses(&self) -> Vec<&AddressOperand> {
        match &self.action {
            Action::Start(start) => {
                let regions = start.regions.iter().filter_map(|region| region.base.address());
                let signal = match &start.completion {
                    Completion::Transaction { mbarrier, .. } => Some(mbarrier),
                    _ => None,
                };
                regions.chain(signal).collect()
            }
            Action::Arrive(arrive) => vec![&arrive.mbarrier],
            Action::Allocate { destination: address, .. } | Action::Deallocate { address, .. } => vec![address],
            _ => Vec::new(),
        }
    }
}

impl Start {
    fn used(&self, found: &mut Vec<RegisterId>) {
        for region in &self.regions {
            match &region.base {
                Base::Address(base) | Base::Descriptor(base) => address(base, found),
                Base::Tensor { coordinates, mode, .. } => {
                    coordinates.iter().for_each(|other| operand(*other, found));
                    if let Mode::Displaced(offsets) = mode {
                        offsets.iter().for_each(|other| operand(*other, found));
                    }
                }
            }
            if let Size::Bytes(bytes) = region.size {
                operand(bytes, found);
            }
            replicas(region.replicas, found);
        }
        if let Completion::Transaction { mbarrier, replicas: signalled, .. } = &self.completion {
            address(mbarrier, found);
            replicas(*signalled, found);
        }
        if let Some(descriptor) = self.tensor.and_then(|tensor| tensor.descriptor) {
            operand(descriptor, found);
        }
        match &self.effect {
            Effect::Copy { valid: Valid::Bytes(limit) | Valid::Unless(limit) | Valid::Mask(limit), .. } => {
                operand(*limit, found);
            }
            Effect::Store { values, .. } => values.iter().for_each(|value| operand(*value, found)),
            Effect::Product(product) => {
                if let Factor::Registers(registers) = &product.left {
                    found.extend(registers);
                }
                // A product that starts from 0 does not read what its accumulator holds.
                if let Accumulator::Registers(registers) = &product.accumulator
                    && product.accumulate != Operand::Constant(Value(0))
                {
                    found.extend(registers);
                }
                operand(product.accumulate, found);
                if let Coverage::Masked(masks) = &product.coverage {
                    masks.iter().for_each(|mask| operand(*mask, found));
                }
            }
            Effect::Copy { .. }
            | Effect::Load { .. }
            | Effect::Look { .. }
            | Effect::Rewrite { .. }
            | Effect::Answer { .. } => {}
        }
    }
}

fn operand(operand: Operand, found: &mut Vec<RegisterId>) {
    if let Operand::Register(register) = operand {
        found.push(register);
    }
}

fn address(address: &AddressOperand, found: &mut Vec<RegisterId>) {
    if let AddressOperand::Register(register) = address {
        found.push(*register);
    }
}

fn replicas(replicas: Replicas, found: &mut Vec<RegisterId>) {
    if let Replicas::Mask(mask) | Replicas::MaskOfPairs(mask) = replicas {
        operand(mask, found);
    }
}

/// What an instruction demands.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    pub destination: Home,
    pub mbarrier: Beside,
    /// Of the PTX ISA.
    pub section: &'static str,
}

/// The CTA of the destination.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Home {
    /// Any of the cluster.
    Any,
    /// Any of a cluster that has more than one (`st.async`).
    OfSeveral,
    /// That of the thread (`.shared::cta`).
    Own,
    /// Another than that of the thread (`red.async`, copies from `.shared::cta` to `.shared::cluster`).
    Other,
}

/// The CTA of the mbarrier.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Beside {
    /// That of the destination.
    Same,
    /// That of the destination or its peer (`.cta_group::2`).
    Pair,
    /// Nothing is said of this instruction, and of those like it that it is the destination's.
    Unsaid,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TensorKind {
    Mma,
    /// `tcgen05.cp`, of the shape `.4x256b` or another. PTX ISA 9.4 pipelines it behind an `mma` of the same warp too:
    /// kernels copy the scales of the next product over those of the last.
    Cp {
        is_4x256b: bool,
        follows_mma: bool,
    },
    Shift,
    Ld,
    St,
}
