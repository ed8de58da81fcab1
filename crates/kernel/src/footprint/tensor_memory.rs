//! Cells of tensor memory that `tcgen05.ld`, `.st`, `.cp` and `.shift` touch (PTX ISA 9.7.16.1 of PTX ISA 9.1, .2.3, .8, .9).
//!
//! Tensor memory has 128 lanes of 512 columns; a cell has 32 bits. An address has the lane in its upper and the column in
//! its lower half. Footprints are rectangles of whole cells: a 16-bit or 8-bit part of a cell counts as the cell.

use super::matrix::{Major, Tile};

pub const LANES: u32 = 128;
pub const COLUMNS: u32 = 512;

/// An address of tensor memory (9.7.16.1.1 of PTX ISA 9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorAddress {
    pub lane: u32,
    pub column: u32,
}

impl TensorAddress {
    pub fn from_bits(bits: u32) -> TensorAddress {
        TensorAddress { lane: bits >> 16, column: bits & 0xffff }
    }
}

/// A rectangle of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cells {
    pub lane: u32,
    pub lanes: u32,
    pub column: u32,
    pub columns: u32,
}

impl Cells {
    /// A rectangle that lies in tensor memory as a whole.
    pub fn new(lane: u32, lanes: u32, column: u32, columns: u32) -> Result<Cells, String> {
        if lane.saturating_add(lanes) > LANES {
            return Err(format!("the access covers {lanes} lanes from lane {lane}; tensor memory has {LANES}"));
        }
        if column.saturating_add(columns) > COLUMNS {
            return Err(format!(
                "the access covers {columns} columns from column {column}; tensor memory has {COLUMNS}"
            ));
        }
        Ok(Cells { lane, lanes, column, columns })
    }

    pub fn contains(&self, lane: u32, column: u32) -> bool {
        lane.wrapping_sub(self.lane) < self.lanes && column.wrapping_sub(self.column) < self.columns
    }

    pub fn overlaps(&self, other: &Cells) -> bool {
        let apart = |a: u32, na: u32, b: u32, nb: u32| a + na <= b || b + nb <= a;
        !apart(self.lane, self.lanes, other.lane, other.lanes)
            && !apart(self.column, self.columns, other.column, other.columns)
    }

    /// One range per lane, in units of cells: `lane * 512 + column`.
    pub fn ranges(&self) -> impl Iterator<Item = std::ops::Range<u32>> + use<> {
        let Cells { lane, lanes, column, columns } = *self;
        (lane..lane + lanes).map(move |lane| lane * COLUMNS + column..lane * COLUMNS + column + columns)
    }
}

/// The shapes of `tcgen05.ld` and `tcgen05.st`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveShape {
    L32x32b,
    L16x64b,
    L16x128b,
    L16x256b,
    /// Two halves of the warp: the second one `split` columns further on (`immHalfSplitoff`).
    L16x32bx2 {
        split: u32,
    },
}

impl MoveShape {
    /// The shape that a modifier names. `split` is the immediate of `.16x32bx2` and otherwise ignored.
    pub fn from_modifier(text: &str, split: u32) -> Option<MoveShape> {
        Some(match text.strip_prefix('.').unwrap_or(text) {
            "32x32b" => MoveShape::L32x32b,
            "16x64b" => MoveShape::L16x64b,
            "16x128b" => MoveShape::L16x128b,
            "16x256b" => MoveShape::L16x256b,
            "16x32bx2" => MoveShape::L16x32bx2 { split },
            _ => return None,
        })
    }

    fn lanes(self) -> u32 {
        if self == MoveShape::L32x32b { 32 } else { 16 }
    }

    /// Columns of `.x1`: the bits of the name over 32.
    fn columns(self) -> u32 {
        match self {
            MoveShape::L32x32b | MoveShape::L16x32bx2 { .. } => 1,
            MoveShape::L16x64b => 2,
            MoveShape::L16x128b => 4,
            MoveShape::L16x256b => 8,
        }
    }

    /// The largest `.num`: 128 registers per lane (9.7.16.8.3 of PTX ISA 9.1, table 47).
    fn most(self) -> u32 {
        match self {
            MoveShape::L16x128b => 64,
            MoveShape::L16x256b => 32,
            _ => 128,
        }
    }
}

/// What a warp moves with `tcgen05.ld` or `tcgen05.st` (9.7.16.2.3.1 of PTX ISA 9.1). `warp` is the warp's number in the CTA, `packed` says
/// that `.pack::16b` or `.unpack::16b` is there: two neighbouring columns for each register.
///
/// A warp reaches the lanes of its quarter only, 32 times its number modulo 4 (9.7.16.8.1 of PTX ISA 9.1).
pub fn moved(
    address: TensorAddress,
    shape: MoveShape,
    count: u32,
    packed: Packing,
    warp: u32,
) -> Result<Vec<Cells>, String> {
    if !count.is_power_of_two() || count > shape.most() {
        return Err(format!("the repeat is .x{count}; it must be a power of two up to .x{}", shape.most()));
    }
    let quarter = warp % 4 * 32;
    let lanes = shape.lanes();
    if address.lane < quarter || address.lane + lanes > quarter + 32 {
        let last = quarter + 32 - lanes;
        return Err(format!("the lane is {}; warp {warp} may use {quarter} to {last} here", address.lane));
    }
    if lanes == 32 && address.lane != quarter || !address.lane.is_multiple_of(16) {
        return Err(format!("the lane is {}; it must be a multiple of {lanes}", address.lane));
    }
    let columns = shape.columns() * count * if packed == Packing::Halves { 2 } else { 1 };
    let first = Cells::new(address.lane, lanes, address.column, columns)?;
    match shape {
        // Reading: the ISA shows the split in a figure; the offset counts columns, as every tensor-memory offset does.
        MoveShape::L16x32bx2 { split } => {
            let second = Cells::new(address.lane, lanes, address.column.saturating_add(split), columns)?;
            Ok(if second == first { vec![first] } else { vec![first, second] })
        }
        _ => Ok(vec![first]),
    }
}

/// Whether a register of `tcgen05.ld` or `.st` holds one cell or the lower halves of two (9.7.16.8.2 of PTX ISA 9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Cells,
    Halves,
}

/// The shapes of `tcgen05.cp`, with the multicast that they need (9.7.16.9.2 of PTX ISA 9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyShape {
    L128x256b,
    L4x256b,
    L128x128b,
    /// `.warpx2::02_13` and `.warpx2::01_23`, which differ in who gets which half and not in what is touched.
    L64x128b,
    /// `.warpx4`.
    L32x128b,
}

impl CopyShape {
    /// The shape that the modifiers of an opcode name, its multicast checked.
    pub fn from_modifiers(modifiers: &[&str]) -> Result<CopyShape, String> {
        let has = |name: &str| modifiers.iter().any(|text| text.strip_prefix('.').unwrap_or(text) == name);
        let pair = has("warpx2::02_13") || has("warpx2::01_23");
        let shapes = [
            ("128x256b", CopyShape::L128x256b),
            ("4x256b", CopyShape::L4x256b),
            ("128x128b", CopyShape::L128x128b),
            ("64x128b", CopyShape::L64x128b),
            ("32x128b", CopyShape::L32x128b),
        ];
        let found = shapes.iter().find(|(name, _)| has(name));
        let (name, shape) =
            found.ok_or("tcgen05.cp has no shape; it must be 128x256b, 4x256b, 128x128b, 64x128b or 32x128b")?;
        let fits = match shape {
            CopyShape::L64x128b => pair && !has("warpx4"),
            CopyShape::L32x128b => !pair && has("warpx4"),
            _ => !pair && !has("warpx4"),
        };
        if fits {
            Ok(*shape)
        } else {
            Err(format!("the multicast of tcgen05.cp.{name} is wrong: 64x128b needs .warpx2, 32x128b .warpx4"))
        }
    }

    /// The source: rows of 16 or 32 bytes behind a shared-memory descriptor, K-major.
    ///
    /// Sixteen 4- or 6-bit values with their padding take 16 bytes, as many as they fill in tensor memory (5.5.1.1.1 of PTX ISA 9.1), so a
    /// copy that decompresses has the same footprint.
    pub fn source(self) -> Tile {
        let (rows, columns) = match self {
            CopyShape::L128x256b => (128, 32),
            CopyShape::L4x256b => (4, 32),
            CopyShape::L128x128b => (128, 16),
            CopyShape::L64x128b => (64, 16),
            CopyShape::L32x128b => (32, 16),
        };
        Tile { rows, columns, element_bits: 8, major: Major::K }
    }

    /// The destination in each CTA that takes part: one with `.cta_group::1`, both of a pair with `::2`.
    pub fn destination(self, address: TensorAddress) -> Result<Cells, String> {
        if self == CopyShape::L4x256b {
            // The ISA names the shape and not its lanes.
            return Err("the lanes that tcgen05.cp.4x256b fills are not documented".into());
        }
        if address.lane != 0 {
            return Err(format!(
                "the lane of tcgen05.cp is {}; a copy to all lanes must start at lane 0",
                address.lane
            ));
        }
        Cells::new(0, LANES, address.column, if self == CopyShape::L128x256b { 8 } else { 4 })
    }
}

/// What `tcgen05.shift.down` touches: 32 bytes in each of 32 lanes (9.7.16.9.3 of PTX ISA 9.1). It reads and writes within the rectangle.
///
/// Reading: the shape is `.31x256b`, all rows but one are moved by one row. Which row stays is not said, so the rectangle
/// has all 32, both as read and as written.
pub fn shifted(address: TensorAddress) -> Result<Cells, String> {
    if !address.lane.is_multiple_of(32) {
        return Err(format!("the lane of tcgen05.shift is {}; it must be a multiple of 32", address.lane));
    }
    Cells::new(address.lane, 32, address.column, 8)
}
