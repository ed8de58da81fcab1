//! Shared-memory matrices behind 64-bit descriptors, as `wgmma.mma_async` reads them (PTX ISA 9.7.15.5.1.2 of PTX ISA 9.1).
//!
//! A tile is `rows` (M or N) by `columns` (K). The canonical layouts of 9.7.15.5.1.2.1.3 of PTX ISA 9.1 place it in units of 16 bytes;
//! then the swizzle permutes the address. [`super::tcgen05`] uses the same layouts behind its own descriptor.

use super::swizzle::{Atomicity, Pattern, Swizzle};
use super::{Bytes, join};

/// Which index runs fastest in memory: K (not transposed) or M/N (transposed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Major {
    K,
    Mn,
}

impl Major {
    /// The meaning of `imm-trans-a` and `imm-trans-b`.
    pub fn from_transpose(bit: u64) -> Major {
        if bit & 1 == 0 { Major::K } else { Major::Mn }
    }
}

/// What is read: `rows` along M or N, `columns` along K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    pub rows: u32,
    pub columns: u32,
    pub element_bits: u32,
    pub major: Major,
}

/// A descriptor, decoded: addresses and offsets in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    pub start: u64,
    pub leading: u64,
    pub stride: u64,
    /// The 128-byte line, modulo 8, at which the repeating pattern of the swizzle starts.
    pub base_offset: u64,
    pub pattern: Pattern,
}

/// A field of a descriptor that counts in units of 16 bytes.
pub(super) fn field(bits: u64, shift: u32) -> u64 {
    (bits >> shift & 0x3fff) << 4
}

impl Descriptor {
    /// The descriptor of `wgmma` (9.7.15.5.1.2.2 of PTX ISA 9.1). Every bit pattern is one: bits that the ISA leaves out are ignored.
    pub fn from_bits(bits: u64) -> Descriptor {
        let swizzle = match bits >> 62 {
            0 => Swizzle::None,
            1 => Swizzle::B128,
            2 => Swizzle::B64,
            _ => Swizzle::B32,
        };
        Descriptor {
            start: field(bits, 0),
            leading: field(bits, 16),
            stride: field(bits, 32),
            // "Valid for all swizzling modes except no-swizzle": without a swizzle it has no effect anyway.
            base_offset: bits >> 49 & 7,
            pattern: swizzle.into(),
        }
    }

    /// The bytes of a tile.
    pub fn bytes(&self, tile: &Tile) -> Result<Vec<Bytes>, String> {
        let mut ranges = Vec::new();
        self.visit(tile, &mut |_, _, bytes| ranges.push(bytes))?;
        Ok(join(ranges))
    }

    /// Calls `each` with the first row and column, and the place, of every 16 bytes of a tile: a group of neighbours
    /// along the major index.
    pub fn visit(&self, tile: &Tile, each: &mut dyn FnMut(u32, u32, Bytes)) -> Result<(), String> {
        tile.check(self.pattern)?;
        let per_unit = tile.per_unit();
        let (row_step, column_step) = match tile.major {
            Major::K => (1, per_unit),
            Major::Mn => (per_unit, 1),
        };
        for row in (0..tile.rows).step_by(row_step as usize) {
            for column in (0..tile.columns).step_by(column_step as usize) {
                each(row, column, Bytes::new(self.unit(tile, row, column), 16));
            }
        }
        Ok(())
    }

    /// Where the 16 bytes with this element start. Addresses wrap where shared addresses of descriptors end, at 2^18.
    fn unit(&self, tile: &Tile, row: u32, column: u32) -> u64 {
        let offset = match tile.major {
            Major::K => self.offset_k_major(row.into(), (column / tile.per_unit()).into()),
            Major::Mn => self.offset_mn_major((row / tile.per_unit()).into(), column.into()),
        };
        let linear = self.start.wrapping_add(offset) & 0x3_ffff;
        self.pattern.apply_from(linear, self.base_offset)
    }

    /// `((8,m),(T,2k))` with strides `((1T,SBO),(1,LBO))`, or `((span,SBO),(1,T))` under a swizzle; `unit` counts 16 bytes
    /// along K. Under a swizzle the leading offset is not used.
    fn offset_k_major(&self, row: u64, unit: u64) -> u64 {
        let group = (row / 8).wrapping_mul(self.stride);
        match self.pattern.swizzle.span() {
            0 => row % 8 * 16 + group + unit.wrapping_mul(self.leading),
            span => row % 8 * span + group + unit * 16,
        }
    }

    /// Columns of an MN-major swizzle atom: 8, and 4 where 32 bytes stay together (9.7.16.10.6 of PTX ISA 9.1, table 53: 8x4).
    fn columns_in_atom(&self) -> u64 {
        if self.pattern.atomicity == Atomicity::B16 { 8 } else { 4 }
    }

    /// `((T,1,m),(8,k))` with strides `((1,T,SBO),(1T,LBO))`, or `((T,span,m),(8,k))` with `((1,T,LBO),(span,SBO))` under a
    /// swizzle: the two offsets change places. `unit` counts 16 bytes along M or N.
    fn offset_mn_major(&self, unit: u64, column: u64) -> u64 {
        match self.pattern.swizzle.span() {
            0 => unit.wrapping_mul(self.stride) + column % 8 * 16 + (column / 8).wrapping_mul(self.leading),
            span => {
                let units = span / 16;
                let row = unit % units * 16 + (unit / units).wrapping_mul(self.leading);
                let group = self.columns_in_atom();
                row + column % group * span + (column / group).wrapping_mul(self.stride)
            }
        }
    }
}

impl Tile {
    /// Elements per 16 bytes: T of the canonical layouts.
    fn per_unit(&self) -> u32 {
        128 / self.element_bits.clamp(1, 128)
    }

    fn check(&self, pattern: Pattern) -> Result<(), String> {
        if ![1, 4, 8, 16, 32].contains(&self.element_bits) {
            return Err(format!("elements are {} bits; they must be 1, 4, 8, 16 or 32", self.element_bits));
        }
        if self.rows == 0 || self.rows > 256 || !self.rows.is_multiple_of(4) {
            return Err(format!("the tile has {} rows; it must have a multiple of 4, at most 256", self.rows));
        }
        // 128 bytes are the widest K of any instruction (sparse 8-bit tcgen05.mma reads 64).
        let wide = u64::from(self.columns) * u64::from(self.element_bits);
        if wide == 0 || wide > 1024 || wide % 128 != 0 {
            return Err(format!("K is {wide} bits; it must be a multiple of 128, at most 1024"));
        }
        let span = pattern.swizzle.span();
        match self.major {
            // The formula of 9.7.15.5.1.2.1.3 of PTX ISA 9.1 would run into the next row, and the leading offset has no meaning there.
            Major::K if span != 0 && wide / 8 > span => {
                Err(format!("K is {} bytes and the swizzle spans {span}; a K-major tile must fit the span", wide / 8))
            }
            Major::K if pattern.atomicity != Atomicity::B16 => {
                Err("the swizzle keeps 32 bytes together and the tile is K-major; its atom is not documented".into())
            }
            Major::Mn if !self.rows.is_multiple_of(self.per_unit()) => {
                Err(format!("an MN-major tile has {} rows; they must fill units of 16 bytes", self.rows))
            }
            _ => Ok(()),
        }
    }
}

/// The shape of a `wgmma.mma_async` and its operand types, from the modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WgmmaShape {
    pub n: u32,
    pub k: u32,
    pub element_bits: u32,
    pub sparse: bool,
}

impl WgmmaShape {
    /// Reads the shape out of an opcode's modifiers, `["mma_async", "sp", "sync", "aligned", "m64n128k16", "f32", ...]`,
    /// and checks it against table 36 (9.7.15.2 of PTX ISA 9.1): N is a multiple of 8 up to 256, and of 16 above 32 for integer types.
    pub fn from_modifiers(modifiers: &[&str]) -> Result<WgmmaShape, String> {
        let names: Vec<&str> = modifiers.iter().map(|text| text.strip_prefix('.').unwrap_or(text)).collect();
        let shape =
            names.iter().find(|name| name.starts_with("m64n")).ok_or("wgmma has no shape; it must be .m64nNkK")?;
        let bad = || format!("the shape of wgmma is {shape}; it must be m64nNkK");
        let (n, k) = shape.strip_prefix("m64n").and_then(|rest| rest.split_once('k')).ok_or_else(bad)?;
        let (n, k): (u32, u32) = (n.parse().map_err(|_| bad())?, k.parse().map_err(|_| bad())?);
        let sparse = names.contains(&"sp");
        // The accumulator's type comes first and the operands' last.
        let types: Vec<&str> = names.iter().filter_map(|name| operand_bits(name).map(|_| *name)).collect();
        let element = types
            .last()
            .copied()
            .ok_or("wgmma has no operand type; it must be f16, bf16, tf32, e4m3, e5m2, s8, u8 or b1")?;
        let element_bits = operand_bits(element).unwrap_or(0);
        let dense = if sparse { k / 2 } else { k };
        if k == 0 || dense.checked_mul(element_bits) != Some(256) {
            return Err(format!("K of wgmma is {k} for {element}; its operands must be 32 bytes wide, 64 if sparse"));
        }
        let step = if matches!(element, "s8" | "u8" | "b1") && n > 32 { 16 } else { 8 };
        if n == 0 || n > 256 || n % step != 0 {
            return Err(format!("N of wgmma is {n}; it must be a multiple of {step} up to 256"));
        }
        Ok(WgmmaShape { n, k, element_bits, sparse })
    }

    /// The tile of A in shared memory: 64 rows. A sparse A holds half of K (9.7.15.6.1 of PTX ISA 9.1).
    pub fn a(&self, major: Major) -> Tile {
        let columns = if self.sparse { self.k / 2 } else { self.k };
        Tile { rows: 64, columns, element_bits: self.element_bits, major }
    }

    /// The tile of B: N rows.
    pub fn b(&self, major: Major) -> Tile {
        Tile { rows: self.n, columns: self.k, element_bits: self.element_bits, major }
    }
}

fn operand_bits(name: &str) -> Option<u32> {
    Some(match name {
        "f16" | "bf16" => 16,
        "tf32" => 32,
        "e4m3" | "e5m2" | "s8" | "u8" => 8,
        "b1" => 1,
        _ => return None,
    })
}
