//! Operands of `tcgen05.mma`: descriptors, and what they make the instruction touch (PTX ISA 9.7.16.4 of PTX ISA 9.1, 9.7.16.10 of PTX ISA 9.1).
//!
//! Footprints are those of one CTA. With `.cta_group::2` both CTAs of a pair have the same footprint, each in its own
//! memory: half of the rows of A and D, and half of the rows of B (reading; the ISA draws it, CUTLASS allocates it so).
//! `disable-output-lane`, zero-column masks and `enable-input-d` are not looked at: they only make footprints smaller.

use super::matrix::{Descriptor, Major, Tile, field};
use super::swizzle::{Atomicity, Pattern, Swizzle};
use super::tensor_memory::{Cells, LANES, TensorAddress};

/// The shared-memory descriptor (9.7.16.4.1 of PTX ISA 9.1, table 40).
pub fn shared_descriptor(bits: u64) -> Result<Descriptor, String> {
    if bits >> 46 & 7 != 1 {
        return Err(format!("bits 46 to 48 of the descriptor are {}; they must be 1", bits >> 46 & 7));
    }
    if bits >> 53 & 0xff != 0 {
        return Err(format!("bits 53 to 60 of the descriptor are {:#x}; they must be 0", bits >> 53 & 0xff));
    }
    if bits >> 52 & 1 != 0 {
        // An absolute address is for rows of 48 bytes that wrap around the span (K = 96, sm_103).
        return Err("the leading dimension of the descriptor is an absolute address; only offsets are supported".into());
    }
    let pattern = match bits >> 61 {
        0 => Swizzle::None.into(),
        1 => Pattern { swizzle: Swizzle::B128, atomicity: Atomicity::B32 },
        2 => Swizzle::B128.into(),
        4 => Swizzle::B64.into(),
        6 => Swizzle::B32.into(),
        other => return Err(format!("the swizzle of the descriptor is {other}; it must be 0, 1, 2, 4 or 6")),
    };
    let (start, leading, stride) = (field(bits, 0), field(bits, 16), field(bits, 32));
    Ok(Descriptor { start, leading, stride, base_offset: bits >> 49 & 7, pattern })
}

/// The kind of an MMA: which element types, and so how the instruction descriptor is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tf32,
    F16,
    F8f6f4,
    I8,
    Mxf8f6f4,
    Mxf4,
    Mxf4nvf4,
}

impl Kind {
    pub fn from_modifier(text: &str) -> Option<Kind> {
        Some(match text.strip_prefix('.').unwrap_or(text) {
            "kind::tf32" => Kind::Tf32,
            "kind::f16" => Kind::F16,
            "kind::f8f6f4" => Kind::F8f6f4,
            "kind::i8" => Kind::I8,
            "kind::mxf8f6f4" => Kind::Mxf8f6f4,
            "kind::mxf4" => Kind::Mxf4,
            "kind::mxf4nvf4" => Kind::Mxf4nvf4,
            _ => return None,
        })
    }

    /// Bits that an element takes in shared memory and, for A, in tensor memory: 4- and 6-bit types have 8-bit places
    /// except in the two kinds that only have 4-bit types (9.7.16.10.4 of PTX ISA 9.1).
    fn element_bits(self) -> u32 {
        match self {
            Kind::Tf32 => 32,
            Kind::F16 => 16,
            Kind::F8f6f4 | Kind::I8 | Kind::Mxf8f6f4 => 8,
            Kind::Mxf4 | Kind::Mxf4nvf4 => 4,
        }
    }

    fn is_scaled(self) -> bool {
        matches!(self, Kind::Mxf8f6f4 | Kind::Mxf4 | Kind::Mxf4nvf4)
    }
}

/// `.cta_group`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CtaGroup {
    One,
    Two,
}

impl CtaGroup {
    pub fn from_modifier(text: &str) -> Option<CtaGroup> {
        match text.strip_prefix('.').unwrap_or(text) {
            "cta_group::1" => Some(CtaGroup::One),
            "cta_group::2" => Some(CtaGroup::Two),
            _ => None,
        }
    }

    fn ctas(self) -> u32 {
        match self {
            CtaGroup::One => 1,
            CtaGroup::Two => 2,
        }
    }
}

/// `tcgen05.mma` or `tcgen05.mma.ws`: the second spreads the columns of a small D over all lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stationary {
    No,
    Weights,
}

/// `tcgen05.mma` as its modifiers and its instruction descriptor give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mma {
    pub kind: Kind,
    pub group: CtaGroup,
    pub stationary: Stationary,
    pub m: u32,
    pub n: u32,
    pub k: u32,
    pub sparse: bool,
    pub a_major: Major,
    pub b_major: Major,
}

impl Mma {
    /// Decodes an instruction descriptor (9.7.16.4.2 of PTX ISA 9.1, tables 42 to 44) and checks the shape (9.7.16.2.1 of PTX ISA 9.1, table 39).
    pub fn new(kind: Kind, group: CtaGroup, stationary: Stationary, descriptor: u32) -> Result<Mma, String> {
        let sparse = descriptor >> 2 & 1 == 1;
        let m = if kind.is_scaled() { (descriptor >> 27 & 3) << 7 } else { (descriptor >> 24 & 0x1f) << 4 };
        let dense = 256 / kind.element_bits();
        let mut k = if sparse { 2 * dense } else { dense };
        if matches!(kind, Kind::Mxf4 | Kind::Mxf4nvf4) && descriptor >> 31 == 1 {
            k = 96;
        }
        let mma = Mma {
            kind,
            group,
            stationary,
            m,
            n: (descriptor >> 17 & 0x3f) << 3,
            k,
            sparse,
            a_major: Major::from_transpose(u64::from(descriptor >> 15)),
            b_major: Major::from_transpose(u64::from(descriptor >> 16)),
        };
        mma.check_m()?;
        mma.check_n()?;
        mma.check_k()?;
        Ok(mma)
    }

    fn check_m(&self) -> Result<(), String> {
        let allowed: &[u32] = match (self.group, self.stationary) {
            (CtaGroup::Two, Stationary::Weights) => {
                return Err("tcgen05.mma.ws has cta_group::2; it must have ::1".into());
            }
            (_, Stationary::Weights) if self.kind.is_scaled() => {
                return Err(format!("tcgen05.mma.ws has kind {:?}; it must not have block scaling", self.kind));
            }
            (CtaGroup::One, Stationary::Weights) => &[32, 64, 128],
            (CtaGroup::One, Stationary::No) if self.kind.is_scaled() => &[128],
            (CtaGroup::One, Stationary::No) => &[64, 128],
            (CtaGroup::Two, _) if self.kind.is_scaled() && (self.sparse || self.k == 96) => &[256],
            (CtaGroup::Two, _) => &[128, 256],
        };
        if allowed.contains(&self.m) {
            return Ok(());
        }
        Err(format!("M of tcgen05.mma is {}; it must be one of {allowed:?}", self.m))
    }

    fn check_n(&self) -> Result<(), String> {
        if self.stationary == Stationary::Weights {
            let allowed: &[u32] = if self.sparse { &[64, 128] } else { &[64, 128, 256] };
            if allowed.contains(&self.n) {
                return Ok(());
            }
            return Err(format!("N of tcgen05.mma.ws is {}; it must be one of {allowed:?}", self.n));
        }
        let narrow = self.kind == Kind::I8 && (self.group == CtaGroup::Two || self.n > 32);
        // A transposed B of 8-bit elements fills whole units of 16 (9.7.16.10.1 of PTX ISA 9.1, table 50).
        let units = self.kind.element_bits() == 8 && self.b_major == Major::Mn;
        let step = self.group.ctas() * if narrow || units { 16 } else { 8 };
        if self.n == 0 || self.n > 256 || !self.n.is_multiple_of(step) {
            return Err(format!("N of tcgen05.mma is {}; it must be a multiple of {step} up to 256", self.n));
        }
        Ok(())
    }

    fn check_k(&self) -> Result<(), String> {
        if self.kind.element_bits() == 4 && (self.a_major == Major::Mn || self.b_major == Major::Mn) {
            return Err(format!("a matrix of kind {:?} is transposed; it must not be", self.kind));
        }
        if self.k == 96 && (self.sparse || self.group == CtaGroup::One) {
            return Err("K is 96; the MMA must be dense and have cta_group::2".into());
        }
        Ok(())
    }

    /// A in the shared memory of each CTA. A sparse A holds half of K (9.7.16.10.8 of PTX ISA 9.1).
    pub fn a(&self) -> Tile {
        let columns = if self.sparse { self.k / 2 } else { self.k };
        Tile { rows: self.m / self.group.ctas(), columns, element_bits: self.kind.element_bits(), major: self.a_major }
    }

    /// B in the shared memory of each CTA.
    pub fn b(&self) -> Tile {
        let rows = self.n / self.group.ctas();
        Tile { rows, columns: self.k, element_bits: self.kind.element_bits(), major: self.b_major }
    }

    /// D in the tensor memory of each CTA: one column per element, whatever its size (9.7.16.10.4.1 of PTX ISA 9.1).
    pub fn d(&self, address: TensorAddress) -> Result<Vec<Cells>, String> {
        let columns = match self.layout() {
            Layout::All | Layout::Half => self.n,
            Layout::Folded(parts) => self.n / parts,
        };
        self.lanes(address, columns)
    }

    /// A in the tensor memory of each CTA: rows in lanes as those of D, elements packed into cells (9.7.16.10.4 of PTX ISA 9.1).
    pub fn a_in_tensor_memory(&self, address: TensorAddress) -> Result<Vec<Cells>, String> {
        if self.a_major == Major::Mn {
            return Err("A is in tensor memory and transposed; it must not be".into());
        }
        if self.stationary == Stationary::Weights && self.m < 128 {
            // Layouts E and G fold the columns of D; nothing says how A lies under them.
            return Err(format!(
                "A of tcgen05.mma.ws is in tensor memory and M is {}; its lanes are not documented",
                self.m
            ));
        }
        let tile = self.a();
        // Layout B: 64 rows, in the lower and again in the upper lanes (reading; CUTLASS calls it duplicated).
        self.lanes(address, (tile.columns * tile.element_bits).div_ceil(32))
    }

    /// Scale factors of A: one row of A per lane, 32 lanes and then the next column, the same in all four quarters
    /// (9.7.16.10.7 of PTX ISA 9.1). A cell holds four 8-bit factors of a row, of which an MMA uses one, two or four.
    pub fn scale_a(&self, address: TensorAddress) -> Result<Cells, String> {
        let rows = self.m / self.group.ctas();
        if rows != 128 {
            return Err(format!(
                "scale factors of {rows} rows of A in a CTA are not documented; only those of 128 are"
            ));
        }
        self.scale(address, rows)
    }

    /// Scale factors of B: those of all N rows in each CTA (reading for `.cta_group::2`: each CTA computes all columns).
    pub fn scale_b(&self, address: TensorAddress) -> Result<Cells, String> {
        self.scale(address, self.n)
    }

    fn scale(&self, address: TensorAddress, rows: u32) -> Result<Cells, String> {
        if !self.kind.is_scaled() {
            return Err(format!("kind {:?} has no scale factors", self.kind));
        }
        if self.k == 96 {
            return Err("scale factors for K = 96 are not documented in words".into());
        }
        // Reading: CUTLASS keeps the number of the sub-column in the two upper bits of the address.
        let lane = address.lane & 0x3fff;
        if lane != 0 {
            return Err(format!("the lane of the scale factors is {lane}; it must be 0"));
        }
        Cells::new(0, LANES, address.column, rows.div_ceil(32))
    }

    /// Sparsity metadata of A in tensor memory.
    pub fn metadata(&self, _address: TensorAddress) -> Result<Cells, String> {
        Err("the cells of sparsity metadata are not supported: PTX ISA 9.7.16.10.8 of PTX ISA 9.1 gives them in figures only".into())
    }

    /// Table 53 of 9.7.16.10.5 of PTX ISA 9.1: how rows and columns of D lie in tensor memory.
    fn layout(&self) -> Layout {
        match (self.group, self.stationary, self.m) {
            (CtaGroup::One, Stationary::Weights, 32) => Layout::Folded(4), // G: 1x4
            (CtaGroup::One, Stationary::Weights, 64) => Layout::Folded(2), // E: columns in two halves
            (CtaGroup::One, Stationary::No, 64) => Layout::Half,           // F: half of the lanes
            (CtaGroup::Two, _, 128) if self.sparse => Layout::Half,        // C
            (CtaGroup::Two, _, 128) => Layout::Folded(2),                  // B: 2x2
            _ => Layout::All,                                              // A and D
        }
    }

    fn lanes(&self, address: TensorAddress, columns: u32) -> Result<Vec<Cells>, String> {
        let half = self.layout() == Layout::Half;
        if address.lane != 0 && !(half && address.lane == 16) {
            let allowed = if half { "0 or 16" } else { "0" };
            return Err(format!("the lane of a matrix of tcgen05.mma is {}; it must be {allowed}", address.lane));
        }
        if !half {
            return Ok(vec![Cells::new(0, LANES, address.column, columns)?]);
        }
        // Sixteen lanes of every quarter: rows 0 to 15 in the first, 16 to 31 in the second, and so on.
        (0..4).map(|quarter| Cells::new(32 * quarter + address.lane, 16, address.column, columns)).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    All,
    /// Sixteen lanes of each quarter.
    Half,
    /// The columns in this many parts, one above the other.
    Folded(u32),
}
