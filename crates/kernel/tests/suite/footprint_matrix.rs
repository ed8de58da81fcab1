//! wgmma descriptors against the canonical layouts of 9.7.15.5.1.2.1.3 of PTX ISA 9.1, element by element.

use std::collections::BTreeSet;

use fencepost_kernel::footprint::matrix::{Descriptor, Major, Tile, WgmmaShape};
use fencepost_kernel::footprint::{Bytes, join};

/// A coordinate of a CuTe mode: `shape` and `stride` innermost first, the last shape open-ended.
fn mode(mut coordinate: u64, shape: &[u64], stride: &[u64]) -> u64 {
    let mut offset = 0;
    for (at, step) in stride.iter().enumerate() {
        let size = shape.get(at).copied().unwrap_or(u64::MAX);
        offset += coordinate % size * step;
        coordinate /= size;
    }
    offset
}

/// `Swizzle<bits, 4, 3>` of CuTe on a byte address.
fn cute_swizzle(bits: u32, address: u64) -> u64 {
    let source = address & (((1 << bits) - 1) << 7);
    address ^ source >> 3
}

/// The bytes of element (row, column), from the table of canonical layouts. Strides in elements, T elements in 16 bytes.
fn element(descriptor: u64, tile: &Tile, row: u64, column: u64) -> u64 {
    let size = u64::from(tile.element_bits);
    let t = 128 / size;
    let start = (descriptor & 0x3fff) * 16;
    let (lbo, sbo) = ((descriptor >> 16 & 0x3fff) * t, (descriptor >> 32 & 0x3fff) * t);
    let (bits, wide) = match descriptor >> 62 {
        0 => (0, 1),
        3 => (1, 2),
        2 => (2, 4),
        _ => (3, 8),
    };
    let offset = match (tile.major, bits) {
        (Major::Mn, 0) => mode(row, &[t], &[1, sbo]) + mode(column, &[8], &[t, lbo]),
        (Major::Mn, _) => mode(row, &[t, wide], &[1, t, lbo]) + mode(column, &[8], &[wide * t, sbo]),
        (Major::K, 0) => mode(row, &[8], &[t, sbo]) + mode(column, &[t], &[1, lbo]),
        (Major::K, _) => mode(row, &[8], &[wide * t, sbo]) + mode(column, &[t], &[1, t]),
    };
    cute_swizzle(bits, (start + offset * size / 8) & 0x3_ffff)
}

fn brute(descriptor: u64, tile: &Tile) -> Vec<Bytes> {
    let size = u64::from(tile.element_bits);
    let mut bytes = BTreeSet::new();
    for row in 0..u64::from(tile.rows) {
        for column in 0..u64::from(tile.columns) {
            let address = element(descriptor, tile, row, column);
            bytes.extend(address..address + size.div_ceil(8));
        }
    }
    join(bytes.into_iter().map(|byte| Bytes::new(byte, 1)).collect())
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn pack(start: u64, lbo: u64, sbo: u64, swizzle: u64) -> u64 {
    start >> 4 | lbo >> 4 << 16 | sbo >> 4 << 32 | swizzle << 62
}

fn tiles() -> Vec<Tile> {
    let mut tiles = Vec::new();
    for (element_bits, columns) in [(32, 8), (16, 16), (8, 32), (1, 256), (16, 8), (8, 16)] {
        for rows in [8, 16, 24, 64, 72, 128, 136, 192, 256] {
            for major in [Major::K, Major::Mn] {
                if major == Major::K || (element_bits > 1 && rows % (128 / element_bits) == 0) {
                    tiles.push(Tile { rows, columns, element_bits, major });
                }
            }
        }
    }
    tiles
}

#[test]
fn every_shape_swizzle_and_major_agrees_with_the_canonical_layouts() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut compared = 0;
    for tile in tiles() {
        for swizzle in 0..4 {
            let natural = pack(0x2000, 0x800, 0x400, swizzle);
            let shifted = pack(0x2020, 0x1000, 0x400, swizzle);
            let wild = random(&mut state) & 0x0001_ffff_ffff_ffff | swizzle << 62;
            for bits in [natural, shifted, wild] {
                let found = Descriptor::from_bits(bits).bytes(&tile).unwrap();
                assert_eq!(found, brute(bits, &tile), "{bits:#x} {tile:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 700, "{compared}");
}

#[test]
fn visited_units_hold_the_elements_they_name() {
    for tile in tiles().into_iter().filter(|tile| tile.element_bits >= 8) {
        for swizzle in 0..4 {
            let bits = pack(0x1000, 0x840, 0x420, swizzle);
            let mut units = 0;
            let visit = &mut |row: u32, column: u32, bytes: Bytes| {
                assert_eq!(bytes.start, element(bits, &tile, row.into(), column.into()));
                units += 1;
            };
            Descriptor::from_bits(bits).visit(&tile, visit).unwrap();
            assert_eq!(units, tile.rows * tile.columns * tile.element_bits / 128);
        }
    }
}

/// The four examples that 9.7.15.5.1.2.1.3 of PTX ISA 9.1 works out, as exact layouts in elements.
#[test]
fn the_examples_of_the_isa_come_out() {
    let exact =
        |bits: u64, tile: Tile, (rows, row_strides): (&[u64], &[u64]), (columns, column_strides): (&[u64], &[u64])| {
            for row in 0..u64::from(tile.rows) {
                for column in 0..u64::from(tile.columns) {
                    let elements = mode(row, rows, row_strides) + mode(column, columns, column_strides);
                    let plain = elements * u64::from(tile.element_bits) / 8;
                    let swizzled = cute_swizzle([0, 3, 2, 1][(bits >> 62) as usize], plain);
                    let mut found = None;
                    let visit = &mut |r: u32, c: u32, bytes: Bytes| {
                        let per = u64::from(128 / tile.element_bits);
                        let (dr, dc) = (row.wrapping_sub(r.into()), column.wrapping_sub(c.into()));
                        let inside = if tile.major == Major::K { dr == 0 && dc < per } else { dc == 0 && dr < per };
                        if inside {
                            found = Some(bytes.start + (dr + dc) * u64::from(tile.element_bits) / 8);
                        }
                    };
                    Descriptor::from_bits(bits).visit(&tile, visit).unwrap();
                    assert_eq!(found, Some(swizzled), "{row} {column}");
                }
            }
        };
    let tf32 = |major| Tile { rows: 16, columns: 8, element_bits: 32, major };
    let bf16 = |rows| Tile { rows, columns: 16, element_bits: 16, major: Major::Mn };
    exact(pack(0, 256, 128, 0), tf32(Major::K), (&[8], &[4, 32]), (&[4], &[1, 64]));
    exact(pack(0, 16, 256, 3), tf32(Major::K), (&[8], &[8, 64]), (&[4], &[1, 4]));
    exact(pack(0, 256, 128, 0), bf16(16), (&[8, 1], &[1, 8, 64]), (&[8], &[8, 128]));
    exact(pack(0, 256, 512, 3), bf16(32), (&[8, 2], &[1, 8, 128]), (&[8], &[16, 256]));
    exact(pack(0, 512, 1024, 2), bf16(64), (&[8, 4], &[1, 8, 256]), (&[8], &[32, 512]));
}

/// A base offset of 1 moves the pattern by one line: with the tile one line further on, the rows are permuted as at line 0.
#[test]
fn a_base_offset_counts_lines_from_the_start_of_the_pattern() {
    let tile = Tile { rows: 64, columns: 16, element_bits: 16, major: Major::K };
    let aligned = Descriptor::from_bits(pack(0x1000, 0, 0x400, 1)).bytes(&tile).unwrap();
    let moved = Descriptor::from_bits(pack(0x1080, 0, 0x400, 1) | 1 << 49).bytes(&tile).unwrap();
    let back: Vec<Bytes> = moved.iter().map(|bytes| Bytes::new(bytes.start - 0x80, bytes.len)).collect();
    assert_eq!(aligned, back);
    let unmarked = Descriptor::from_bits(pack(0x1080, 0, 0x400, 1)).bytes(&tile).unwrap();
    assert_ne!(moved, unmarked);
}

#[test]
fn no_descriptor_or_tile_panics() {
    let mut state = 42;
    for _ in 0..20_000 {
        let bits = random(&mut state);
        let pick = random(&mut state);
        let tile = Tile {
            rows: (pick & 0x1ff) as u32,
            columns: (pick >> 9 & 0x3ff) as u32,
            element_bits: [0, 1, 4, 6, 8, 16, 32, u32::MAX][(pick >> 20 & 7) as usize],
            major: Major::from_transpose(pick >> 30),
        };
        let _ = Descriptor::from_bits(bits).bytes(&tile);
    }
}

#[test]
fn shapes_come_from_modifiers() {
    let shape = |text: &str| WgmmaShape::from_modifiers(&text.split('.').collect::<Vec<_>>());
    let plain = shape("mma_async.sync.aligned.m64n128k16.f32.f16.f16").unwrap();
    assert_eq!(plain, WgmmaShape { n: 128, k: 16, element_bits: 16, sparse: false });
    assert_eq!(plain.a(Major::K).rows, 64);
    assert_eq!(plain.b(Major::Mn).rows, 128);
    let sparse = shape("mma_async.sp.sync.aligned.m64n8k64.s32.s8.u8").unwrap();
    assert_eq!((sparse.a(Major::K).columns, sparse.b(Major::K).columns), (32, 64));
    assert_eq!(shape("mma_async.sync.aligned.m64n16k8.f32.tf32.tf32").unwrap().element_bits, 32);
    assert_eq!(shape("mma_async.sync.aligned.m64n16k256.s32.b1.b1.and.popc").unwrap().element_bits, 1);
    assert_eq!(shape("mma_async.sync.aligned.m64n16k32.f16.e4m3.e5m2").unwrap().element_bits, 8);
    assert!(shape("mma_async.sync.aligned.m64n24k32.s32.s8.s8").is_ok());
    for wrong in
        ["m64n12k16.f32.f16.f16", "m64n16k8.f32.f16.f16", "m64n40k32.s32.s8.s8", "m64nxk16.f32.f16.f16", "m64n8k16"]
    {
        assert!(shape(wrong).is_err(), "{wrong}");
    }
}
