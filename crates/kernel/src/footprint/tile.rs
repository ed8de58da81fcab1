//! Rows of a box in tiled mode, and of the four boxes of gather4 and scatter4 (PTX ISA 5.5.3 of PTX ISA 9.1).

use super::Row;
use super::tensor_map::TensorMap;

/// Elements that a box has along dimensions 1 and up. With a traversal stride a box visits every stride-th element of its
/// extent, so it has `ceil(box / stride)` (driver API, `elementStrides`).
pub(super) fn counts(map: &TensorMap) -> Vec<u64> {
    let outer = 1..usize::from(map.rank.min(5));
    outer.map(|at| u64::from(map.box_dims[at].div_ceil(map.element_strides[at].max(1)))).collect()
}

/// The rows of a box, dimension 1 fastest. Dimension 0 has no traversal stride without an interleave (5.5.3.2 of PTX ISA 9.1).
pub(super) fn rows(map: &TensorMap, coordinates: &[i32], each: &mut dyn FnMut(Row)) -> Result<(), String> {
    let counts = counts(map);
    let mut index = vec![0u64; counts.len()];
    loop {
        let mut row = Some(map.address);
        for (at, step) in index.iter().enumerate() {
            let dimension = at + 1;
            let stride = i64::from(map.element_strides[dimension]);
            let coordinate = i64::from(coordinates[dimension]) + *step as i64 * stride;
            row = advance(map, row, dimension, coordinate)?;
        }
        each(row);
        let Some(at) = (0..counts.len()).find(|at| index[*at] + 1 < counts[*at]) else { return Ok(()) };
        index[at] += 1;
        index[..at].fill(0);
    }
}

/// The four rows of `tile::gather4`: one column and four row coordinates of a 2D tensor, whose box is one row (5.5.3.4 of PTX ISA 9.1).
pub(super) fn four_rows(map: &TensorMap, coordinates: &[i32], each: &mut dyn FnMut(Row)) -> Result<(), String> {
    if map.rank != 2 {
        return Err(format!("the rank is {}; four-row copies need rank 2", map.rank));
    }
    if map.box_dims[1] != 1 {
        return Err(format!("dimension 1 of the box is {}; four-row copies need 1", map.box_dims[1]));
    }
    for coordinate in &coordinates[1..] {
        each(advance(map, Some(map.address), 1, i64::from(*coordinate))?);
    }
    Ok(())
}

/// Moves a row's address along one dimension; nothing once a coordinate is outside the tensor.
pub(super) fn advance(map: &TensorMap, row: Row, dimension: usize, coordinate: i64) -> Result<Row, String> {
    let inside = u64::try_from(coordinate).ok().filter(|coordinate| *coordinate < map.dims[dimension]);
    let (Some(base), Some(coordinate)) = (row, inside) else { return Ok(None) };
    let moved = coordinate.checked_mul(map.strides[dimension]).and_then(|offset| base.checked_add(offset));
    match moved {
        Some(address) => Ok(Some(address)),
        None => Err(format!("stride {dimension} is {}; the tensor leaves the address space", map.strides[dimension])),
    }
}
