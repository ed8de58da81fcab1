//! Matrix fragments that a warp loads and stores: `ldmatrix`, `stmatrix` and `wmma` (PTX ISA 9.7.14 of PTX ISA 9.1).

use super::{Bytes, join};

/// How the lanes of a warp name the rows of an `ldmatrix` or `stmatrix` (9.7.14.5.15 of PTX ISA 9.1 and .16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Lanes 0 up to this one hold the address of a row each; the others' addresses are ignored.
    pub lanes: u32,
    /// Rows of one matrix: lane `l` names row `l % per_matrix` of matrix `l / per_matrix`.
    pub per_matrix: u32,
}

/// A row is 16 bytes in every shape: 8 elements of 16 bits, 16 of 8 bits, or 16 of 4 or 6 bits with their padding.
/// `.trans` changes which register gets an element and not what is touched.
pub const ROW: u64 = 16;

impl Rows {
    /// The rows of an `ldmatrix` from its modifiers: `.m8n8`, `.m8n16` (`.x1`, `.x2`, `.x4`) or `.m16n16` (`.x1`, `.x2`).
    pub fn of_load(modifiers: &[&str]) -> Result<Rows, String> {
        let shapes = [("m8n8", 8, 4), ("m8n16", 8, 4), ("m16n16", 16, 2)];
        Rows::of("ldmatrix", modifiers, &shapes)
    }

    /// The rows of an `stmatrix`: `.m8n8` or `.m16n8`, whose 16-byte rows are its columns, since it must have `.trans`.
    pub fn of_store(modifiers: &[&str]) -> Result<Rows, String> {
        Rows::of("stmatrix", modifiers, &[("m8n8", 8, 4), ("m16n8", 8, 4)])
    }

    fn of(name: &str, modifiers: &[&str], shapes: &[(&str, u32, u32)]) -> Result<Rows, String> {
        let has = |wanted: &str| modifiers.iter().any(|text| text.strip_prefix('.').unwrap_or(text) == wanted);
        let shape = shapes.iter().find(|(shape, ..)| has(shape));
        let Some((_, per_matrix, most)) = shape else {
            let known: Vec<&str> = shapes.iter().map(|(shape, ..)| *shape).collect();
            return Err(format!("{name} has no known shape; it must be one of {known:?}"));
        };
        let count = [("x1", 1), ("x2", 2), ("x4", 4)].iter().find(|(text, _)| has(text)).map(|(_, count)| *count);
        match count {
            Some(count) if count <= *most => Ok(Rows { lanes: count * per_matrix, per_matrix: *per_matrix }),
            _ => Err(format!("{name} has no count that fits its shape; it must be at most .x{most}")),
        }
    }

    /// The row that a lane names: its bytes, or nothing if its address is ignored.
    pub fn row(&self, lane: u32, address: u64) -> Result<Option<Bytes>, String> {
        if lane >= self.lanes {
            return Ok(None);
        }
        if !address.is_multiple_of(ROW) {
            return Err(format!("the row of lane {lane} is at {address:#x}; it must be a multiple of {ROW}"));
        }
        Ok(Some(Bytes::new(address, ROW)))
    }

    /// All rows, from the addresses of all lanes.
    pub fn bytes(&self, addresses: &[u64; 32]) -> Result<Vec<Bytes>, String> {
        let mut rows = Vec::new();
        for (lane, address) in (0u32..).zip(addresses) {
            rows.extend(self.row(lane, *address)?);
        }
        Ok(join(rows))
    }
}

/// A matrix of `wmma`: which one, its shape, and how it lies in memory (9.7.14.3 of PTX ISA 9.1, 9.7.14.4 of PTX ISA 9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wmma {
    /// Lines that lie apart by the stride.
    pub lines: u32,
    /// Neighbours along a line.
    pub elements: u32,
    pub element_bits: u32,
}

impl Wmma {
    /// The matrix of `wmma.load.{a,b,c}` or `wmma.store.d` from its modifiers, such as
    /// `["load", "a", "sync", "aligned", "row", "m16n16k16", "shared", "f16"]`.
    pub fn from_modifiers(modifiers: &[&str]) -> Result<Wmma, String> {
        let names: Vec<&str> = modifiers.iter().map(|text| text.strip_prefix('.').unwrap_or(text)).collect();
        let (shape, (m, n, k)) =
            names.iter().find_map(|name| Some((*name, dimensions(name)?))).ok_or("wmma has no shape")?;
        let matrix = names.iter().find(|name| ["a", "b", "c", "d"].contains(name)).ok_or("wmma names no matrix")?;
        let bits = names.last().and_then(|name| element_bits(name)).ok_or("wmma has no element type")?;
        check_shape(shape, matrix, names.last().copied().unwrap_or_default())?;
        let (rows, columns) = match *matrix {
            "a" => (m, k),
            "b" => (k, n),
            _ => (m, n),
        };
        if names.contains(&"row") {
            Ok(Wmma { lines: rows, elements: columns, element_bits: bits })
        } else if names.contains(&"col") {
            Ok(Wmma { lines: columns, elements: rows, element_bits: bits })
        } else {
            Err("wmma has no layout; it must be .row or .col".into())
        }
    }

    /// The bytes of the matrix at `address`. The stride counts elements; without one the lines are packed.
    pub fn bytes(&self, address: u64, stride: Option<u64>) -> Result<Vec<Bytes>, String> {
        let stride = stride.unwrap_or(self.elements.into());
        if stride < self.elements.into() {
            return Err(format!("the stride of wmma is {stride}; it must be at least {}", self.elements));
        }
        let bits = stride.checked_mul(self.element_bits.into());
        let Some(pitch) = bits.filter(|bits| bits.is_multiple_of(8)).map(|bits| bits / 8) else {
            return Err(format!(
                "the stride of wmma is {stride} elements of {} bits; it must be whole bytes",
                self.element_bits
            ));
        };
        let length = u64::from(self.elements) * u64::from(self.element_bits) / 8;
        let mut lines = Vec::new();
        for line in 0..u64::from(self.lines) {
            let start = line.checked_mul(pitch).and_then(|offset| address.checked_add(offset));
            let start = start.filter(|start| start.checked_add(length).is_some());
            let start =
                start.ok_or_else(|| format!("the stride of wmma is {stride}; the matrix leaves the address space"))?;
            lines.push(Bytes::new(start, length));
        }
        Ok(join(lines))
    }
}

/// `m16n16k16` as three numbers.
fn dimensions(text: &str) -> Option<(u32, u32, u32)> {
    let (m, rest) = text.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some((m.parse().ok()?, n.parse().ok()?, k.parse().ok()?))
}

fn element_bits(name: &str) -> Option<u32> {
    Some(match name {
        "f64" => 64,
        "f32" | "s32" | "tf32" => 32,
        "f16" | "bf16" => 16,
        "s8" | "u8" => 8,
        "s4" | "u4" => 4,
        "b1" => 1,
        _ => return None,
    })
}

/// The shapes that each type has (9.7.14.1 of PTX ISA 9.1). Accumulators go with several, so for C and D any shape will do that their
/// type occurs in.
fn check_shape(shape: &str, matrix: &str, element: &str) -> Result<(), String> {
    const WHOLE: &[&str] = &["m16n16k16", "m8n32k16", "m32n8k16"];
    let allowed: &[&str] = match (matrix, element) {
        ("a" | "b", "f16" | "bf16" | "s8" | "u8") | ("c" | "d", "f16") => WHOLE,
        ("a" | "b", "tf32") => &["m16n16k8"],
        (_, "f64") => &["m8n8k4"],
        ("a" | "b", "s4" | "u4") => &["m8n8k32"],
        ("a" | "b", "b1") => &["m8n8k128"],
        ("c" | "d", "f32") => &["m16n16k16", "m8n32k16", "m32n8k16", "m16n16k8"],
        ("c" | "d", "s32") => &["m16n16k16", "m8n32k16", "m32n8k16", "m8n8k32", "m8n8k128"],
        _ => &[],
    };
    if allowed.contains(&shape) {
        return Ok(());
    }
    Err(format!("matrix {matrix} of wmma is {element} of shape {shape}; its shape must be one of {allowed:?}"))
}
