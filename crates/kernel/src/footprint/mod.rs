//! Which bytes an instruction touches: boxes of tensor copies, matrices behind descriptors, columns of tensor memory.
//!
//! Pure functions from operands to bytes. Nothing here knows threads, order or time.
//!
//! Sections are cited by the numbers of PTX ISA 9.1, which goes deeper than what is known of later versions: in 9.4 these
//! chapters are 9.7.10, 9.7.17 and 9.7.18.
//!
//! ```
//! use fencepost_kernel::footprint::{Bytes, matrix::{Descriptor, Major, Tile}};
//! // A 64 x 16 tile of f16 behind a wgmma descriptor: start 0x400, 1024 bytes between groups of 8 rows, 128-byte swizzle.
//! let descriptor = Descriptor::from_bits(0x4000_0040_0000_0040);
//! let tile = Tile { rows: 64, columns: 16, element_bits: 16, major: Major::K };
//! assert_eq!(descriptor.bytes(&tile)?[0], Bytes { start: 0x400, len: 32 });
//! # Ok::<(), String>(())
//! ```

pub mod fragments;
mod im2col;
pub mod matrix;
pub mod swizzle;
pub mod tcgen05;
pub mod tensor_copy;
pub mod tensor_map;
pub mod tensor_memory;
mod tile;

/// A range of bytes of one memory. Which memory is the caller's to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes {
    pub start: u64,
    pub len: u64,
}

impl Bytes {
    pub fn new(start: u64, len: u64) -> Bytes {
        Bytes { start, len }
    }

    /// One past the last byte; a range that runs past the end of the address space stops there.
    pub fn end(self) -> u64 {
        self.start.saturating_add(self.len)
    }
}

/// Sorts ranges and joins those that touch or overlap. Empty ranges vanish.
pub fn join(mut ranges: Vec<Bytes>) -> Vec<Bytes> {
    ranges.retain(|range| range.len > 0);
    ranges.sort_unstable();
    let mut joined: Vec<Bytes> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end() => last.len = last.end().max(range.end()) - last.start,
            _ => joined.push(range),
        }
    }
    joined
}

/// A row of a box: the address of the tensor's element with coordinate 0 in dimension 0; nothing if the row is outside.
type Row = Option<u64>;
