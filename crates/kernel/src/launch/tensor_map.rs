//! Tensor maps of a launch (5.5.8): what `cuTensorMapEncodeTiled`, `Im2col` and `Im2colWide` are given.

use super::table::{Wrong, number, numbers, wrong};
use super::toml::{Table, Value};
use crate::footprint::swizzle::{Atomicity, Swizzle};
use crate::footprint::tensor_map::{Corners, ELEMENTS, Element, Interleave, Mode, TensorMap};

const KEYS: [&str; 11] = [
    "element",
    "dims",
    "box",
    "strides",
    "element_strides",
    "swizzle",
    "swizzle_atom",
    "interleave",
    "offset",
    "im2col",
    "im2col_wide",
];
const CORNER_KEYS: [&str; 4] = ["lower", "upper", "channels", "pixels"];

pub(super) fn tensor_map(table: &Table) -> Result<TensorMap, Wrong> {
    only(table, "a map", &KEYS)?;
    let Some(dims) = numbers(table, "dims")? else { return wrong("a map has `dims`, innermost first") };
    let element = match table.get("element") {
        Some(Value::Text(name)) => element(name)?,
        _ => return wrong("a map has an `element` such as \"f16\""),
    };
    let rank = dims.len();
    let mode = mode(table, rank)?;
    let boxes = match (numbers(table, "box")?, mode) {
        (Some(boxes), Mode::Tile) => boxes,
        (None, Mode::Tile) => return wrong("a map has a `box`, innermost first"),
        (None, _) => vec![1; rank],
        (Some(_), _) => {
            return wrong("a map for im2col has no `box`: its corners, channels and pixels say what is copied");
        }
    };
    if rank == 0 || rank > 5 || boxes.len() != rank {
        return wrong("`dims` and `box` have one to five numbers each, as many as the other");
    }
    let strides = numbers(table, "strides")?.unwrap_or_default();
    let steps = numbers(table, "element_strides")?.unwrap_or_default();
    let fits = |value: &i128| (0..1i128 << 40).contains(value);
    if let Some(bad) = [&dims, &boxes, &strides, &steps].into_iter().flatten().find(|value| !fits(value)) {
        return wrong(format!("a map has a size or stride of {bad}"));
    }
    let mut map = TensorMap { rank: rank as u8, element, mode, ..TensorMap::default() };
    map.strides[0] = element.bits() / 8;
    for axis in 0..rank {
        map.dims[axis] = dims[axis] as u64;
        map.box_dims[axis] = u32::try_from(boxes[axis]).unwrap_or(u32::MAX);
        map.element_strides[axis] = steps.get(axis).map_or(1, |step| u32::try_from(*step).unwrap_or(u32::MAX));
        if axis > 0 {
            let packed = map.dims[axis - 1].saturating_mul(map.strides[axis - 1]);
            map.strides[axis] = strides.get(axis - 1).map_or(packed, |stride| *stride as u64);
        }
    }
    map.address = match u64::try_from(number(table, "offset")?.unwrap_or(0)) {
        Ok(offset) if offset < 1 << 40 => offset,
        _ => return wrong("the `offset` of a map is out of range"),
    };
    map.swizzle = match number(table, "swizzle")?.unwrap_or(0) {
        0 => Swizzle::None,
        32 => Swizzle::B32,
        64 => Swizzle::B64,
        96 => Swizzle::B96,
        128 => Swizzle::B128,
        other => return wrong(format!("the swizzle is {other}; it may be 0, 32, 64, 96 or 128")),
    };
    map.atomicity = atomicity(table)?;
    map.interleave = match number(table, "interleave")?.unwrap_or(0) {
        0 => Interleave::None,
        16 => Interleave::B16,
        32 => Interleave::B32,
        other => return wrong(format!("the interleave is {other}; it may be 0, 16 or 32")),
    };
    Ok(map)
}

fn only(table: &Table, what: &str, keys: &[&str]) -> Result<(), Wrong> {
    match table.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => wrong(format!("`{key}` is not known; {what} has {}", keys.join(", "))),
        None => Ok(()),
    }
}

/// Bytes that a swizzle of 128 bytes keeps together.
fn atomicity(table: &Table) -> Result<Atomicity, Wrong> {
    match table.get("swizzle_atom") {
        None | Some(Value::Integer(16)) => Ok(Atomicity::B16),
        Some(Value::Integer(32)) => Ok(Atomicity::B32),
        Some(Value::Integer(64)) => Ok(Atomicity::B64),
        Some(Value::Text(word)) if word == "32-flip-8" => Ok(Atomicity::B32Flip8),
        Some(_) => wrong("`swizzle_atom` is 16, 32, \"32-flip-8\" or 64"),
    }
}

fn mode(table: &Table, rank: usize) -> Result<Mode, Wrong> {
    let corners = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(Value::Table(own)) => corners(own, key, rank).map(Some),
        Some(_) => wrong(format!("`{key}` is a table: lower, upper, channels and pixels")),
    };
    match (corners("im2col")?, corners("im2col_wide")?) {
        (None, None) => Ok(Mode::Tile),
        (Some(corners), None) => Ok(Mode::Im2col(corners)),
        (None, Some(corners)) => Ok(Mode::Im2colWide(corners)),
        (Some(_), Some(_)) => wrong("a map has `im2col` or `im2col_wide`"),
    }
}

/// Corners of the bounding box, one number for each dimension between channels and images; of `im2col_wide` that of W alone.
fn corners(table: &Table, key: &str, rank: usize) -> Result<Corners, Wrong> {
    only(table, &format!("`{key}`"), &CORNER_KEYS)?;
    let axes = if key == "im2col_wide" { 1 } else { rank.saturating_sub(2) };
    let side = |side: &str| -> Result<[i16; 3], Wrong> {
        let Some(given) = numbers(table, side)? else { return wrong(format!("`{key}` has a `{side}` corner")) };
        if given.len() != axes || axes > 3 {
            return wrong(format!("the `{side}` corner of `{key}` has {} numbers; it has {axes} here", given.len()));
        }
        let mut found = [0; 3];
        for (own, value) in found.iter_mut().zip(given) {
            *own = i16::try_from(value).or_else(|_| wrong(format!("a corner of `{key}` is {value}")))?;
        }
        Ok(found)
    };
    let count = |name: &str| match number(table, name)?.map(u32::try_from) {
        Some(Ok(count)) => Ok(count),
        _ => wrong(format!("`{key}` has a number of `{name}`")),
    };
    Ok(Corners { lower: side("lower")?, upper: side("upper")?, channels: count("channels")?, pixels: count("pixels")? })
}

fn element(name: &str) -> Result<Element, Wrong> {
    let found = ELEMENTS.iter().find(|element| format!("{element:?}").eq_ignore_ascii_case(name));
    found.copied().ok_or_else(|| Wrong { line: None, message: format!("the element type `{name}` is not known") })
}
