//! The tensor-map object: what `cuTensorMapEncode*` makes and `tensormap.replace` edits (PTX ISA 5.5.8 of PTX ISA 9.1, 9.7.9.28 of PTX ISA 9.1).
//!
//! The limits of [`TensorMap::validate`] are those of the driver API (section 6.30) and of the tensor copies
//! (PTX ISA 9.7.9.27.1.1 of PTX ISA 9.1). NVIDIA does not publish the 128 bytes of the object, so [`TensorMap::to_bytes`] has an
//! encoding of our own: it stands for the opaque object in simulated memory and means nothing to a GPU.

use super::swizzle::{Atomicity, Pattern, Swizzle};

/// Element types in the order of `tensormap.replace.elemtype` (9.7.9.28 of PTX ISA 9.1, table 33); not the order of the driver's enum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Element {
    #[default]
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F32Ftz,
    F64,
    Bf16,
    Tf32,
    Tf32Ftz,
    /// Sixteen 4-bit values in 8 bytes, in both memories.
    B4x16,
    /// Sixteen 4-bit values: 8 bytes of global memory, 16 bytes of shared memory of which the last 8 are padding.
    B4x16P64,
    /// Sixteen 6-bit values: 12 bytes of global memory. In shared memory 12 bytes and 4 of padding when loaded
    /// (`.b6x16_p32`), or sixteen bytes of 6 bits each when stored (`.b6p2x16`).
    B6x16,
}

pub const ELEMENTS: [Element; 16] = [
    Element::U8,
    Element::U16,
    Element::U32,
    Element::S32,
    Element::U64,
    Element::S64,
    Element::F16,
    Element::F32,
    Element::F32Ftz,
    Element::F64,
    Element::Bf16,
    Element::Tf32,
    Element::Tf32Ftz,
    Element::B4x16,
    Element::B4x16P64,
    Element::B6x16,
];

impl Element {
    /// Bits of one element in global memory.
    pub fn bits(self) -> u64 {
        match self {
            Element::U8 => 8,
            Element::U16 | Element::F16 | Element::Bf16 => 16,
            Element::U32 | Element::S32 | Element::F32 | Element::F32Ftz | Element::Tf32 | Element::Tf32Ftz => 32,
            Element::U64 | Element::S64 | Element::F64 => 64,
            Element::B4x16 | Element::B4x16P64 => 4,
            Element::B6x16 => 6,
        }
    }

    /// Bits that one element takes in shared memory, its share of the padding included (5.5.1.1.1 of PTX ISA 9.1).
    pub fn shared_bits(self) -> u64 {
        match self {
            Element::B4x16P64 | Element::B6x16 => 8,
            other => other.bits(),
        }
    }

    /// Whether shared memory holds padding that global memory does not.
    pub fn is_padded(self) -> bool {
        self.bits() != self.shared_bits()
    }

    fn is_float(self) -> bool {
        use Element::*;
        matches!(self, F16 | F32 | F32Ftz | F64 | Bf16 | Tf32 | Tf32Ftz)
    }
}

/// Interleaved layouts: channels in slices of 16 or 32 bytes (5.5.6 of PTX ISA 9.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interleave {
    #[default]
    None,
    B16,
    B32,
}

/// What stands in for elements outside the tensor (5.5.3.3 of PTX ISA 9.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    #[default]
    Zero,
    Nan,
}

/// How a box is laid over the tensor (5.5.2 of PTX ISA 9.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Tile,
    Im2col(Corners),
    /// `im2col::w` and `im2col::w::128` (5.5.5 of PTX ISA 9.1).
    Im2colWide(Corners),
}

/// The bounding box of im2col (5.5.4.1 of PTX ISA 9.1). Corners are in the order W, H, D, innermost first as everywhere else here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Corners {
    pub lower: [i16; 3],
    pub upper: [i16; 3],
    pub channels: u32,
    pub pixels: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TensorMap {
    pub address: u64,
    pub rank: u8,
    pub element: Element,
    /// Elements along each dimension, innermost first.
    pub dims: [u64; 5],
    /// Bytes between neighbours along each dimension. `strides[0]` is the element's size and is never read: the element
    /// type has it, in bits.
    pub strides: [u64; 5],
    pub box_dims: [u32; 5],
    pub element_strides: [u32; 5],
    pub interleave: Interleave,
    pub swizzle: Swizzle,
    pub atomicity: Atomicity,
    pub fill: Fill,
    pub mode: Mode,
}

/// A field of `tensormap.replace` (9.7.9.28 of PTX ISA 9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    GlobalAddress,
    Rank,
    BoxDim,
    GlobalDim,
    GlobalStride,
    ElementStride,
    ElemType,
    InterleaveLayout,
    SwizzleMode,
    SwizzleAtomicity,
    FillMode,
}

const FIELDS: [(&str, Field); 11] = [
    ("global_address", Field::GlobalAddress),
    ("rank", Field::Rank),
    ("box_dim", Field::BoxDim),
    ("global_dim", Field::GlobalDim),
    ("global_stride", Field::GlobalStride),
    ("element_stride", Field::ElementStride),
    ("elemtype", Field::ElemType),
    ("interleave_layout", Field::InterleaveLayout),
    ("swizzle_mode", Field::SwizzleMode),
    ("swizzle_atomicity", Field::SwizzleAtomicity),
    ("fill_mode", Field::FillMode),
];

impl Field {
    /// The field that a modifier names, with or without its dot.
    pub fn from_modifier(text: &str) -> Option<Field> {
        let name = text.strip_prefix('.').unwrap_or(text);
        FIELDS.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }

    fn name(self) -> &'static str {
        FIELDS.iter().find(|(_, field)| *field == self).map_or("", |(name, _)| name)
    }

    /// Whether the instruction takes an ordinal for this field.
    pub fn has_ordinal(self) -> bool {
        matches!(self, Field::BoxDim | Field::GlobalDim | Field::GlobalStride | Field::ElementStride)
    }
}

const INTERLEAVES: [Interleave; 3] = [Interleave::None, Interleave::B16, Interleave::B32];
const SWIZZLES: [Swizzle; 5] = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128, Swizzle::B96];
const ATOMICITIES: [Atomicity; 4] = [Atomicity::B16, Atomicity::B32, Atomicity::B32Flip8, Atomicity::B64];
const FILLS: [Fill; 2] = [Fill::Zero, Fill::Nan];

/// The entry of a table of `tensormap.replace` values.
fn choose<T: Copy>(field: Field, table: &[T], value: u64) -> Result<T, String> {
    let entry = usize::try_from(value).ok().and_then(|index| table.get(index).copied());
    entry.ok_or_else(|| format!(".{} is {value}; it must be 0 to {}", field.name(), table.len() - 1))
}

/// Where a value of an enum stands in its table.
fn code<T: PartialEq>(table: &[T], value: T) -> u8 {
    table.iter().position(|entry| *entry == value).and_then(|index| u8::try_from(index).ok()).unwrap_or(u8::MAX)
}

impl TensorMap {
    /// The whole swizzle: span and atomicity.
    pub fn pattern(&self) -> Pattern {
        Pattern { swizzle: self.swizzle, atomicity: self.atomicity }
    }

    /// One `tensormap.replace`. `index` is the instruction's ordinal, which only some fields have.
    ///
    /// `.rank` takes one less than the rank (9.7.9.28 of PTX ISA 9.1). `.global_stride` counts from the second dimension, since the first
    /// has no stride of its own, and is in bytes (what compilers pass since PTX ISA 8.5; the ISA names no unit).
    pub fn replace(&mut self, field: Field, index: u32, value: u64) -> Result<(), String> {
        let word = || u32::try_from(value).map_err(|_| format!(".{} is {value}; it must fit 32 bits", field.name()));
        let last = if field == Field::GlobalStride { 3 } else { 4 };
        if field.has_ordinal() && index > last {
            return Err(format!("the ordinal of .{} is {index}; it must be 0 to {last}", field.name()));
        }
        let at = if field.has_ordinal() { index as usize } else { 0 };
        match field {
            Field::GlobalAddress => self.address = value,
            Field::Rank => match value {
                0..=4 => self.rank = value as u8 + 1,
                _ => return Err(format!(".rank is {value}; it must be 0 to 4, one less than the rank")),
            },
            Field::BoxDim => self.box_dims[at] = within(field, word()?, 256)?,
            Field::GlobalDim => self.dims[at] = u64::from(word()?),
            Field::GlobalStride => self.strides[at + 1] = value,
            Field::ElementStride => self.element_strides[at] = within(field, word()?, 8)?,
            Field::ElemType => {
                self.element = choose(field, &ELEMENTS, value)?;
                self.strides[0] = self.element.bits() / 8;
            }
            Field::InterleaveLayout => self.interleave = choose(field, &INTERLEAVES, value)?,
            Field::SwizzleMode => self.swizzle = choose(field, &SWIZZLES, value)?,
            Field::SwizzleAtomicity => self.atomicity = choose(field, &ATOMICITIES, value)?,
            Field::FillMode => self.fill = choose(field, &FILLS, value)?,
        }
        Ok(())
    }

    /// Whether the driver and the tensor copies would take this map; otherwise the first field that is wrong.
    pub fn validate(&self) -> Result<(), String> {
        self.validate_tensor()?;
        match self.mode {
            Mode::Tile => self.validate_box()?,
            Mode::Im2col(corners) | Mode::Im2colWide(corners) => self.validate_corners(&corners)?,
        }
        self.validate_swizzle()?;
        if self.fill == Fill::Nan && !self.element.is_float() {
            return Err(format!("the fill mode is NaN and the element type is {:?}; it must be a float", self.element));
        }
        Ok(())
    }

    fn validate_tensor(&self) -> Result<(), String> {
        let smallest = if self.interleave == Interleave::None && self.mode == Mode::Tile { 1 } else { 3 };
        if self.rank < smallest || self.rank > 5 {
            return Err(format!("the rank is {}; it must be {smallest} to 5", self.rank));
        }
        let align = if self.element.is_padded() || self.interleave == Interleave::B32 { 32 } else { 16 };
        if !self.address.is_multiple_of(align) {
            return Err(format!("the global address is {:#x}; it must be a multiple of {align}", self.address));
        }
        for (at, dim) in self.dims[..usize::from(self.rank)].iter().enumerate() {
            if *dim == 0 || *dim > 1 << 32 {
                return Err(format!("dimension {at} of the tensor is {dim}; it must be 1 to 2^32"));
            }
        }
        let multiple = if self.element.is_padded() {
            128
        } else if self.element == Element::B4x16 {
            2
        } else {
            1
        };
        if !self.dims[0].is_multiple_of(multiple) {
            return Err(format!("dimension 0 of the tensor is {}; it must be a multiple of {multiple}", self.dims[0]));
        }
        for (at, stride) in self.strides[..usize::from(self.rank)].iter().enumerate().skip(1) {
            if stride % align != 0 || *stride >= 1 << 40 {
                return Err(format!("stride {at} is {stride}; it must be a multiple of {align} below 2^40"));
            }
        }
        for (at, stride) in self.element_strides[..usize::from(self.rank)].iter().enumerate() {
            if *stride == 0 || *stride > 8 {
                return Err(format!("element stride {at} is {stride}; it must be 1 to 8"));
            }
        }
        Ok(())
    }

    fn validate_box(&self) -> Result<(), String> {
        for (at, dim) in self.box_dims[..usize::from(self.rank)].iter().enumerate() {
            if *dim == 0 || *dim > 256 {
                return Err(format!("dimension {at} of the box is {dim}; it must be 1 to 256"));
            }
        }
        self.validate_row(u64::from(self.box_dims[0]), "dimension 0 of the box")
    }

    /// The innermost extent of a box, in elements: whole multiples of 16 bytes, and 128 elements for padded types.
    fn validate_row(&self, elements: u64, name: &str) -> Result<(), String> {
        if self.element.is_padded() && elements != 128 {
            return Err(format!("{name} is {elements} elements of {:?}; it must be 128", self.element));
        }
        let bits = elements * self.element.bits();
        if self.interleave == Interleave::None && !bits.is_multiple_of(128) {
            return Err(format!("{name} is {bits} bits; it must be a multiple of 16 bytes"));
        }
        let inner = elements * self.element.shared_bits() / 8;
        let span = self.swizzle.span();
        if self.interleave == Interleave::None && span != 0 && inner > span {
            return Err(format!("{name} is {inner} bytes; it must be at most {span}, the span of the swizzle"));
        }
        Ok(())
    }

    fn validate_corners(&self, corners: &Corners) -> Result<(), String> {
        let limit = match self.rank {
            3 => 1 << 15,
            4 => 1 << 7,
            _ => 1 << 4,
        };
        for at in 0..usize::from(self.rank) - 2 {
            let (lower, upper) = (i64::from(corners.lower[at]), i64::from(corners.upper[at]));
            for corner in [lower, upper] {
                if corner < -limit || corner >= limit {
                    return Err(format!("corner {at} is {corner}; it must be -{limit} to {}", limit - 1));
                }
            }
            // Both fit: dims are at most 2^32.
            if lower > self.dims[at + 1] as i64 - 1 + upper {
                return Err(format!("corners {at} are {lower} and {upper}; the bounding box must not be empty"));
            }
        }
        if corners.channels == 0 || corners.channels > 256 {
            return Err(format!("channels per pixel are {}; they must be 1 to 256", corners.channels));
        }
        if corners.pixels == 0 || corners.pixels > 1024 {
            return Err(format!("pixels per column are {}; they must be 1 to 1024", corners.pixels));
        }
        self.validate_row(u64::from(corners.channels), "channels per pixel")
    }

    fn validate_swizzle(&self) -> Result<(), String> {
        use {Atomicity as A, Interleave as I, Swizzle as S};
        if self.swizzle != S::B128 && self.atomicity != A::B16 {
            return Err(format!(
                "the atomicity is {:?} and the swizzle {:?}; it must be 128B",
                self.atomicity, self.swizzle
            ));
        }
        match self.interleave {
            I::B32 if self.swizzle != S::B32 => {
                return Err(format!("the interleave is 32B and the swizzle {:?}; it must be 32B", self.swizzle));
            }
            I::B16 | I::B32 if self.swizzle == S::B96 => {
                return Err("the swizzle is 96B; it must not be combined with an interleave".into());
            }
            I::B16 | I::B32 if self.element == Element::B6x16 => {
                return Err("the element type is B6x16; it must not be combined with an interleave".into());
            }
            _ => {}
        }
        let wide = matches!(self.swizzle, S::None | S::B128) && self.atomicity != A::B32Flip8;
        if self.element.is_padded() && !wide {
            let (swizzle, atomicity) = (self.swizzle, self.atomicity);
            return Err(format!(
                "the swizzle is {swizzle:?} of {atomicity:?}; {:?} takes none, or 128B without the 8-byte flip",
                self.element
            ));
        }
        Ok(())
    }
}

/// A value of `tensormap.replace` that the object has few bits for. Reading: zero is kept, so that a map can be cleared.
fn within(field: Field, value: u32, most: u32) -> Result<u32, String> {
    if value <= most { Ok(value) } else { Err(format!(".{} is {value}; it must be at most {most}", field.name())) }
}

/// Marks our encoding, so that bytes from elsewhere are not mistaken for a map.
const MAGIC: [u8; 4] = *b"fpTM";

impl TensorMap {
    /// The object in simulated memory. Fields beyond what any valid map has (a box above 65535) are cut to the largest value.
    pub fn to_bytes(&self) -> [u8; 128] {
        let mut writer = Writer { bytes: [0; 128], at: 0 };
        writer.put(&self.address.to_le_bytes());
        self.dims.iter().for_each(|dim| writer.put(&dim.to_le_bytes()));
        self.strides[1..].iter().for_each(|stride| writer.put(&stride.to_le_bytes()));
        self.box_dims.iter().for_each(|dim| writer.put(&narrow(*dim).to_le_bytes()));
        self.element_strides.iter().for_each(|stride| writer.put(&[u8::try_from(*stride).unwrap_or(u8::MAX)]));
        writer.put(&[self.rank, code(&ELEMENTS, self.element), code(&INTERLEAVES, self.interleave)]);
        writer.put(&[code(&SWIZZLES, self.swizzle), code(&ATOMICITIES, self.atomicity), code(&FILLS, self.fill)]);
        let (tag, corners) = match self.mode {
            Mode::Tile => (0, Corners::default()),
            Mode::Im2col(corners) => (1, corners),
            Mode::Im2colWide(corners) => (2, corners),
        };
        writer.put(&[tag]);
        corners.lower.iter().chain(&corners.upper).for_each(|corner| writer.put(&corner.to_le_bytes()));
        writer.put(&narrow(corners.channels).to_le_bytes());
        writer.put(&narrow(corners.pixels).to_le_bytes());
        writer.at = 124;
        writer.put(&MAGIC);
        writer.bytes
    }

    /// Reads [`TensorMap::to_bytes`] back. An all-zero object is a map with every field zero, for `tensormap.replace` to
    /// fill; anything else without our mark is no map.
    pub fn from_bytes(bytes: &[u8; 128]) -> Option<TensorMap> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Some(TensorMap::default());
        }
        let mut reader = Reader { bytes, at: 0 };
        let mut map = TensorMap { address: reader.u64(), ..TensorMap::default() };
        map.dims.iter_mut().for_each(|dim| *dim = reader.u64());
        map.strides[1..].iter_mut().for_each(|stride| *stride = reader.u64());
        map.box_dims.iter_mut().for_each(|dim| *dim = u32::from(reader.u16()));
        map.element_strides.iter_mut().for_each(|stride| *stride = u32::from(reader.u8()));
        map.rank = reader.u8();
        map.element = *ELEMENTS.get(usize::from(reader.u8()))?;
        map.interleave = *INTERLEAVES.get(usize::from(reader.u8()))?;
        map.swizzle = *SWIZZLES.get(usize::from(reader.u8()))?;
        map.atomicity = *ATOMICITIES.get(usize::from(reader.u8()))?;
        map.fill = *FILLS.get(usize::from(reader.u8()))?;
        let tag = reader.u8();
        let mut corners = Corners::default();
        corners.lower.iter_mut().for_each(|corner| *corner = reader.u16() as i16);
        corners.upper.iter_mut().for_each(|corner| *corner = reader.u16() as i16);
        corners.channels = u32::from(reader.u16());
        corners.pixels = u32::from(reader.u16());
        map.mode = [Mode::Tile, Mode::Im2col(corners), Mode::Im2colWide(corners)].get(usize::from(tag)).copied()?;
        map.strides[0] = map.element.bits() / 8;
        let spare = &bytes[reader.at..124];
        (spare.iter().all(|byte| *byte == 0) && bytes[124..] == MAGIC).then_some(map)
    }
}

fn narrow(value: u32) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

struct Writer {
    bytes: [u8; 128],
    at: usize,
}

impl Writer {
    fn put(&mut self, part: &[u8]) {
        self.bytes[self.at..self.at + part.len()].copy_from_slice(part);
        self.at += part.len();
    }
}

struct Reader<'a> {
    bytes: &'a [u8; 128],
    at: usize,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut part = [0; N];
        part.copy_from_slice(&self.bytes[self.at..self.at + N]);
        self.at += N;
        part
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    fn u8(&mut self) -> u8 {
        self.take::<1>()[0]
    }
}
