//! Rows of a copy in im2col mode: one row per pixel, with the channels of the pixel (PTX ISA 5.5.4 of PTX ISA 9.1).
//!
//! The base of the convolution filter walks through a bounding box of D, H and W, W fastest, and on to the next image when
//! the box is done. Each stop of the base, plus the offsets of the instruction, is a pixel.
//!
//! The ISA draws the walk and does not write it down. Reading: it starts at the coordinates of the instruction, steps by
//! the traversal stride, and a dimension that passes the upper corner starts again at the lower one. Images step by one.

use super::Row;
use super::tensor_map::{Corners, Mode, TensorMap};
use super::tile::advance;

pub(super) fn rows(
    map: &TensorMap,
    coordinates: &[i32],
    offsets: &[u16],
    each: &mut dyn FnMut(Row),
) -> Result<(), String> {
    let Mode::Im2col(corners) = map.mode else {
        return Err(format!("the map is for {:?}; an im2col copy needs one for im2col", map.mode));
    };
    let spatial = usize::from(map.rank) - 2;
    check_offsets(map, offsets, spatial)?;
    let mut base: Vec<i64> = coordinates[1..].iter().map(|coordinate| i64::from(*coordinate)).collect();
    for (at, coordinate) in base.iter().enumerate().take(spatial) {
        let (low, high) = limits(map, &corners, at);
        if !(low..=high).contains(coordinate) {
            return Err(format!("coordinate {} is {coordinate}; the bounding box goes from {low} to {high}", at + 1));
        }
    }
    for _ in 0..corners.pixels {
        let mut row = Some(map.address);
        for (at, coordinate) in base.iter().enumerate() {
            let offset = offsets.get(at).map_or(0, |offset| i64::from(*offset));
            row = advance(map, row, at + 1, coordinate + offset)?;
        }
        each(row);
        step(map, &corners, &mut base);
    }
    Ok(())
}

/// Moves the filter base to its next stop.
fn step(map: &TensorMap, corners: &Corners, base: &mut [i64]) {
    let spatial = base.len() - 1;
    for (at, coordinate) in base.iter_mut().enumerate().take(spatial) {
        let (low, high) = limits(map, corners, at);
        *coordinate += i64::from(map.element_strides[at + 1]);
        if *coordinate <= high {
            return;
        }
        *coordinate = low;
    }
    base[spatial] += 1;
}

/// The first and last place of the filter base. The upper corner counts from the last element (5.5.4.1 of PTX ISA 9.1, example 1: corners
/// of -1 and -1 give as many places as the dimension has elements, a 3-wide filter with a padding of 1).
fn limits(map: &TensorMap, corners: &Corners, at: usize) -> (i64, i64) {
    (i64::from(corners.lower[at]), map.dims[at + 1] as i64 - 1 + i64::from(corners.upper[at]))
}

/// A load has one offset per spatial dimension, of few bits each; a store has none (5.5.4.1 of PTX ISA 9.1).
fn check_offsets(map: &TensorMap, offsets: &[u16], spatial: usize) -> Result<(), String> {
    if !offsets.is_empty() && offsets.len() != spatial {
        return Err(format!("the copy has {} im2col offsets; it must have {spatial}", offsets.len()));
    }
    let most = match map.rank {
        3 => u16::MAX,
        4 => 255,
        _ => 31,
    };
    match offsets.iter().position(|offset| *offset > most) {
        Some(at) => Err(format!("im2col offset {at} is {}; it must be 0 to {most}", offsets[at])),
        None => Ok(()),
    }
}

/// `im2col::w` keeps H and D and still goes on to further images; where halo pixels then come from is only in figures.
pub(super) fn rows_along_width() -> Result<(), String> {
    Err("im2col::w and im2col::w::128 are not supported: PTX ISA 5.5.5 of PTX ISA 9.1 draws their order and does not define it".into())
}
