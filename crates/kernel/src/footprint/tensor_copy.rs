//! What a tensor copy touches: `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor` (PTX ISA 5.5, 9.7.9.27.1 of PTX ISA 9.1).
//!
//! A box is a sequence of rows of dimension 0. [`super::tile`] and [`super::im2col`] say where each row lies in global
//! memory; this file lays the rows out in shared memory and cuts them into pieces that the swizzle keeps whole.

use super::im2col;
use super::swizzle::{Atomicity, Swizzle};
use super::tensor_map::{Element, Interleave, Mode, TensorMap};
use super::tile;
use super::{Bytes, Row, join};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Global to shared memory.
    Load,
    /// Shared to global memory, reductions included.
    Store,
}

/// The load modes of the instruction (9.7.9.27.1.2 of PTX ISA 9.1). A store has the same names for the same shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Tile,
    /// `.tile::gather4` of a load, `.tile::scatter4` of a store: four rows of a 2D tensor.
    FourRows,
    /// `.im2col` of a load, `.im2col_no_offs` of a store.
    Im2col,
    Im2colW,
    Im2colW128,
}

impl Shape {
    /// The shape that a modifier names, with or without its dot.
    pub fn from_modifier(text: &str) -> Option<Shape> {
        Some(match text.strip_prefix('.').unwrap_or(text) {
            "tile" => Shape::Tile,
            "tile::gather4" | "tile::scatter4" => Shape::FourRows,
            "im2col" | "im2col_no_offs" => Shape::Im2col,
            "im2col::w" => Shape::Im2colW,
            "im2col::w::128" => Shape::Im2colW128,
            _ => return None,
        })
    }
}

/// One tensor copy: a map, the operands, and where its box starts in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct TensorCopy<'a> {
    pub map: &'a TensorMap,
    pub shape: Shape,
    pub direction: Direction,
    /// `tensorCoords`, innermost first; for four rows the column and then four rows.
    pub coordinates: &'a [i32],
    /// `im2colInfo` of a load in im2col mode: W, H, D; empty otherwise.
    pub offsets: &'a [u16],
    /// Address of the box in shared memory. Its bits 7 to 9 choose the phase of the swizzle.
    pub shared: u64,
}

/// What a piece of the box in shared memory corresponds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Global {
    /// These bytes. As many as in shared memory, except that a store of 6-bit values packs 16 bytes into 12.
    Bytes(Bytes),
    /// Outside the tensor: a load fills the piece, a store drops it.
    Fill,
    /// Padding of a sub-byte type: a load leaves it with an undefined value (5.5.1.1.1 of PTX ISA 9.1).
    Padding,
}

/// A piece of a box, at most 16 bytes of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub shared: Bytes,
    pub global: Global,
}

/// No CTA has more shared memory than this on any target (227 KiB).
const SHARED_MEMORY: u64 = 227 * 1024;

impl TensorCopy<'_> {
    /// Calls `each` for every piece of the box, in the order of the box's rows.
    pub fn visit(&self, each: &mut dyn FnMut(Piece)) -> Result<(), String> {
        self.check()?;
        let pitch = self.pitch();
        let mut start = self.shared;
        self.rows(&mut |row| {
            self.row(row, start, each);
            start += pitch;
        })
    }

    /// Bytes of global memory that are read or written. Elements outside the tensor are not touched.
    pub fn global(&self) -> Result<Vec<Bytes>, String> {
        let mut ranges = Vec::new();
        self.visit(&mut |piece| {
            if let Global::Bytes(bytes) = piece.global {
                ranges.push(bytes);
            }
        })?;
        Ok(join(ranges))
    }

    /// Bytes of shared memory that are written or read: the whole box.
    ///
    /// Reading: the ISA says that a load fills elements outside the tensor, and not whether a store reads them. The source
    /// of a store is the box, so they count as read. Padding counts as written: its value is undefined afterwards.
    pub fn shared(&self) -> Result<Vec<Bytes>, String> {
        let mut ranges = Vec::new();
        self.visit(&mut |piece| ranges.push(piece.shared))?;
        Ok(join(ranges))
    }

    /// What `complete_tx` counts for a load: the whole box, elements outside the tensor included (5.5.3.3 of PTX ISA 9.1 fills them).
    ///
    /// Reading: padding of sub-byte types is not counted (CUTLASS expects the packed size).
    pub fn transaction(&self) -> Result<u64, String> {
        self.check()?;
        let (rows, elements) = self.extent();
        Ok(rows * (elements * self.map.element.bits() / 8))
    }

    /// Rows of the box and elements per row.
    fn extent(&self) -> (u64, u64) {
        match (self.shape, self.map.mode) {
            (Shape::FourRows, _) => (4, u64::from(self.map.box_dims[0])),
            (_, Mode::Im2col(corners) | Mode::Im2colWide(corners)) => {
                (u64::from(corners.pixels), u64::from(corners.channels))
            }
            (_, Mode::Tile) => (tile::counts(self.map).iter().product(), u64::from(self.map.box_dims[0])),
        }
    }

    fn rows(&self, each: &mut dyn FnMut(Row)) -> Result<(), String> {
        match self.shape {
            Shape::Tile => tile::rows(self.map, self.coordinates, each),
            Shape::FourRows => tile::four_rows(self.map, self.coordinates, each),
            Shape::Im2col => im2col::rows(self.map, self.coordinates, self.offsets, each),
            Shape::Im2colW | Shape::Im2colW128 => im2col::rows_along_width(),
        }
    }

    /// Bytes from one row of the box to the next in shared memory.
    ///
    /// Reading: a row narrower than the span of its swizzle takes the whole span, and its bytes alone are counted. The ISA
    /// does not say so; CUDA's guide asks for shared memory for the full width of the swizzle, and an H200 does it.
    fn pitch(&self) -> u64 {
        let (_, elements) = self.extent();
        let row = elements * self.map.element.shared_bits() / 8;
        row.max(self.map.swizzle.span())
    }

    fn check(&self) -> Result<(), String> {
        let map = self.map;
        map.validate()?;
        if map.interleave != Interleave::None {
            // The ISA names the layouts (5.5.6 of PTX ISA 9.1) and leaves the order of slices and their strides to figures.
            return Err(format!("the interleave layout is {:?}; only maps without one are supported", map.interleave));
        }
        let tiled = matches!(self.shape, Shape::Tile | Shape::FourRows);
        if tiled != (map.mode == Mode::Tile) {
            return Err(format!("the copy is {:?} and the map is for {:?}; they must agree", self.shape, map.mode));
        }
        let rank = if self.shape == Shape::FourRows { 5 } else { usize::from(map.rank) };
        if self.coordinates.len() != rank {
            return Err(format!("the copy has {} coordinates; it must have {rank}", self.coordinates.len()));
        }
        if !self.shared.is_multiple_of(128) {
            return Err(format!("the shared address is {:#x}; it must be a multiple of 128", self.shared));
        }
        self.check_first_coordinate()?;
        self.check_direction()?;
        let (rows, _) = self.extent();
        let size = rows * self.pitch();
        if size > SHARED_MEMORY || self.shared.checked_add(size).is_none() {
            return Err(format!("the box is {size} bytes; it must fit shared memory, at most {SHARED_MEMORY}"));
        }
        Ok(())
    }

    /// Sub-byte types start at whole groups (9.7.9.27.1.1 of PTX ISA 9.1, rule 7); a packed 4-bit one at a whole byte (reading).
    fn check_first_coordinate(&self) -> Result<(), String> {
        let multiple = match self.map.element {
            Element::B4x16 => 2,
            element if element.is_padded() => 128,
            _ => 1,
        };
        match self.coordinates.first() {
            Some(first) if first % multiple != 0 => Err(format!(
                "the first coordinate is {first}; for {:?} it must be a multiple of {multiple}",
                self.map.element
            )),
            _ => Ok(()),
        }
    }

    /// What only loads may do (9.7.9.27.1.1 of PTX ISA 9.1 and 5.5.7 of PTX ISA 9.1).
    fn check_direction(&self) -> Result<(), String> {
        if self.direction == Direction::Load {
            return Ok(());
        }
        if let Some(at) = self.coordinates.iter().position(|coordinate| *coordinate < 0) {
            return Err(format!("coordinate {at} of a store is {}; it must not be negative", self.coordinates[at]));
        }
        if self.map.element == Element::B4x16P64 {
            return Err("a store has elements of type b4x16_p64; only loads may".into());
        }
        if self.map.swizzle == Swizzle::B128 && self.map.atomicity == Atomicity::B32Flip8 {
            return Err("a store has the 8-byte flip in its swizzle; only loads may".into());
        }
        Ok(())
    }

    /// One row of the box, which an unswizzled layout would put at `start`.
    fn row(&self, row: Row, start: u64, each: &mut dyn FnMut(Piece)) {
        let (_, elements) = self.extent();
        let first = i64::from(self.coordinates.first().copied().unwrap_or(0));
        if self.map.element.is_padded() {
            return self.padded_row(row, first, elements, start, each);
        }
        let bits = self.map.element.bits() as i64;
        let length = elements as i64 * bits / 8;
        // The row's bytes that are inside the tensor. Dimensions are at most 2^32, so nothing here overflows.
        let low = (-first * bits / 8).clamp(0, length);
        let high = ((self.map.dims[0] as i64 - first) * bits / 8).clamp(low, length);
        let (low, high) = if row.is_some() { (low as u64, high as u64) } else { (0, 0) };
        let mut at = 0;
        while at < length as u64 {
            let piece = self.map.pattern().piece();
            let mut end = at - at % piece + piece;
            for bound in [low, high] {
                if at < bound && bound < end {
                    end = bound;
                }
            }
            let inside = (low..high).contains(&at);
            // Wraps to the right place: `first` is negative only where the row starts left of the tensor.
            let global = row.filter(|_| inside).map(|base| base.wrapping_add_signed(first * bits / 8).wrapping_add(at));
            let global = global.map_or(Global::Fill, |address| Global::Bytes(Bytes::new(address, end - at)));
            each(Piece { shared: self.place(start + at, end - at), global });
            at = end;
        }
    }

    /// A row of 4- or 6-bit values in groups of sixteen, 16 bytes of shared memory each. Such rows are inside the tensor or
    /// outside as a whole: coordinates and sizes are multiples of 128.
    fn padded_row(&self, row: Row, first: i64, elements: u64, start: u64, each: &mut dyn FnMut(Piece)) {
        let inside = first >= 0 && (first as u64) < self.map.dims[0];
        let packed = 2 * self.map.element.bits();
        for group in 0..elements / 16 {
            let offset = (first as u64 / 16).wrapping_add(group).wrapping_mul(packed);
            let global = row.filter(|_| inside).map(|base| Bytes::new(base.wrapping_add(offset), packed));
            let global = global.map_or(Global::Fill, Global::Bytes);
            let at = start + 16 * group;
            match self.direction {
                Direction::Store => each(Piece { shared: self.place(at, 16), global }),
                Direction::Load => {
                    each(Piece { shared: self.place(at, packed), global });
                    each(Piece { shared: self.place(at + packed, 16 - packed), global: Global::Padding });
                }
            }
        }
    }

    fn place(&self, linear: u64, len: u64) -> Bytes {
        Bytes::new(self.map.pattern().apply(linear), len)
    }
}
