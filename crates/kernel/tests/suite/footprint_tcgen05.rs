//! tcgen05: descriptors against the canonical layouts, tensor memory against walks over single elements.

use std::collections::BTreeSet;

use fencepost_kernel::footprint::matrix::{Major, Tile};
use fencepost_kernel::footprint::tcgen05::{CtaGroup, Kind, Mma, Stationary, shared_descriptor};
use fencepost_kernel::footprint::tensor_memory::{Cells, CopyShape, MoveShape, Packing, TensorAddress, moved, shifted};
use fencepost_kernel::footprint::{Bytes, join};

const KINDS: [Kind; 7] = [Kind::Tf32, Kind::F16, Kind::F8f6f4, Kind::I8, Kind::Mxf8f6f4, Kind::Mxf4, Kind::Mxf4nvf4];

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 8
}

fn instruction(kind: Kind, m: u32, n: u32, sparse: u32, trans_a: u32, trans_b: u32) -> u32 {
    let shape = match kind {
        Kind::Mxf8f6f4 | Kind::Mxf4 | Kind::Mxf4nvf4 => m >> 7 << 27,
        _ => m >> 4 << 24,
    };
    shape | n >> 3 << 17 | sparse << 2 | trans_a << 15 | trans_b << 16
}

fn descriptor(start: u64, lbo: u64, sbo: u64, swizzle: u64) -> u64 {
    start >> 4 | lbo >> 4 << 16 | sbo >> 4 << 32 | 1 << 46 | swizzle << 61
}

/// Every instruction that table 39 of 9.7.16.2.1 of PTX ISA 9.1 lists, N in a few steps.
fn instructions() -> Vec<Mma> {
    let mut found = Vec::new();
    for kind in KINDS {
        for group in [CtaGroup::One, CtaGroup::Two] {
            for stationary in [Stationary::No, Stationary::Weights] {
                for m in [16, 32, 64, 96, 128, 192, 256] {
                    for n in [8, 16, 24, 32, 48, 64, 128, 160, 256] {
                        for flags in 0..8 {
                            let bits = instruction(kind, m, n, flags & 1, flags >> 1 & 1, flags >> 2);
                            found.extend(Mma::new(kind, group, stationary, bits).ok());
                        }
                    }
                }
            }
        }
    }
    found
}

#[test]
fn instruction_descriptors_follow_the_table_of_shapes() {
    let shape = |kind, group, stationary, m, n, sparse| {
        Mma::new(kind, group, stationary, instruction(kind, m, n, sparse, 0, 0)).map(|mma| (mma.m, mma.n, mma.k))
    };
    use CtaGroup::{One, Two};
    use Stationary::{No, Weights};
    assert_eq!(shape(Kind::F16, One, No, 128, 256, 0), Ok((128, 256, 16)));
    assert_eq!(shape(Kind::F16, One, No, 64, 8, 1), Ok((64, 8, 32)));
    assert_eq!(shape(Kind::Tf32, Two, No, 256, 16, 0), Ok((256, 16, 8)));
    assert_eq!(shape(Kind::I8, One, No, 128, 24, 0), Ok((128, 24, 32)));
    assert_eq!(shape(Kind::F8f6f4, One, Weights, 32, 64, 1), Ok((32, 64, 64)));
    assert_eq!(shape(Kind::Mxf4, One, No, 128, 8, 0), Ok((128, 8, 64)));
    assert_eq!(shape(Kind::Mxf4nvf4, Two, No, 256, 256, 1), Ok((256, 256, 128)));
    let wrong = [
        (Kind::F16, One, No, 256, 64, 0, "M of"),
        (Kind::F16, One, No, 32, 64, 0, "M of"),
        (Kind::F16, Two, No, 64, 64, 0, "M of"),
        (Kind::F16, Two, No, 128, 24, 0, "N of"),
        (Kind::F16, One, Weights, 64, 32, 0, "N of"),
        (Kind::F16, One, Weights, 64, 256, 1, "N of"),
        (Kind::F16, Two, Weights, 128, 64, 0, "cta_group"),
        (Kind::I8, One, No, 128, 40, 0, "N of"),
        (Kind::I8, Two, No, 128, 16, 0, "N of"),
        (Kind::Mxf8f6f4, One, Weights, 128, 64, 0, "block scaling"),
        (Kind::Mxf8f6f4, Two, No, 128, 64, 1, "M of"),
        (Kind::F16, One, No, 128, 0, 0, "N of"),
    ];
    for (kind, group, stationary, m, n, sparse, words) in wrong {
        let error = shape(kind, group, stationary, m, n, sparse).unwrap_err();
        assert!(error.contains(words), "{words}: {error}");
    }
    let bits = instruction(Kind::F8f6f4, 128, 24, 0, 0, 1);
    assert!(Mma::new(Kind::F8f6f4, One, No, bits).unwrap_err().contains("multiple of 16"));
    let wide = instruction(Kind::Mxf4, 256, 64, 0, 0, 0) | 1 << 31;
    assert_eq!(Mma::new(Kind::Mxf4, Two, No, wide).unwrap().k, 96);
    assert!(Mma::new(Kind::Mxf4, One, No, instruction(Kind::Mxf4, 128, 64, 0, 0, 0) | 1 << 31).is_err());
}

/// Real PTX: Triton's `tcgen05.mma.kind::f16` passes 136314896, 128 x 128 with f16 operands and an f32 accumulator.
#[test]
fn a_descriptor_that_triton_emits_decodes() {
    let mma = Mma::new(Kind::F16, CtaGroup::One, Stationary::No, 136_314_896).unwrap();
    assert_eq!((mma.m, mma.n, mma.k, mma.sparse), (128, 128, 16, false));
    assert_eq!((mma.a_major, mma.b_major), (Major::K, Major::K));
}

/// One element of a canonical layout, in bytes, with strides as 9.7.16.3.3 of PTX ISA 9.1 and CUTLASS print them (in 16-byte units).
fn element(bits: u64, tile: &Tile, row: u64, column: u64) -> u64 {
    let size = u64::from(tile.element_bits);
    let per = 128 / size;
    let (lbo, sbo) = (bits >> 16 & 0x3fff, bits >> 32 & 0x3fff);
    let (wide, columns) = match bits >> 61 {
        0 => (1, 8),
        1 => (8, 4),
        2 => (8, 8),
        4 => (4, 8),
        _ => (2, 8),
    };
    let (units, inside) = match tile.major {
        Major::K if wide == 1 => (row % 8 + row / 8 * sbo + column / per * lbo, column % per),
        Major::K => (row % 8 * wide + row / 8 * sbo + column / per, column % per),
        Major::Mn => {
            let unit = row / per;
            let place = match wide {
                1 => unit * sbo + column % 8 + column / 8 * lbo,
                _ => unit % wide + unit / wide * lbo + column % columns * wide + column / columns * sbo,
            };
            (place, row % per)
        }
    };
    let linear = ((bits & 0x3fff) + units) * 16 % (1 << 18) + inside * size / 8;
    let line = linear / 128;
    match bits >> 61 {
        0 => linear,
        1 => linear ^ (line % 4 * 32),
        2 => linear ^ (line % 8 * 16),
        4 => linear ^ (line % 4 * 16),
        _ => linear ^ (line % 2 * 16),
    }
}

fn brute(bits: u64, tile: &Tile) -> Vec<Bytes> {
    let mut bytes = BTreeSet::new();
    for row in 0..u64::from(tile.rows) {
        for column in 0..u64::from(tile.columns) {
            let address = element(bits, tile, row, column);
            bytes.extend(address..address + u64::from(tile.element_bits).div_ceil(8));
        }
    }
    join(bytes.into_iter().map(|byte| Bytes::new(byte, 1)).collect())
}

#[test]
fn shared_memory_of_every_instruction_agrees_with_the_canonical_layouts() {
    let mut state = 99;
    let mut tiles: Vec<Tile> = instructions().iter().flat_map(|mma| [mma.a(), mma.b()]).collect();
    tiles.sort_by_key(|tile| (tile.rows, tile.columns, tile.element_bits, tile.major == Major::K));
    tiles.dedup();
    assert!(tiles.len() > 60, "{}", tiles.len());
    let (mut compared, mut refused) = (0, 0);
    for tile in tiles {
        for swizzle in [0, 1, 2, 4, 6] {
            let natural = descriptor(0x400, 0x800, 0x400, swizzle);
            let wild = random(&mut state) & 0x3fff_3fff_3fff | 1 << 46 | swizzle << 61;
            for bits in [natural, wild] {
                match shared_descriptor(bits).unwrap().bytes(&tile) {
                    Ok(found) => {
                        assert_eq!(found, brute(bits, &tile), "{bits:#x} {tile:?}");
                        compared += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
        }
    }
    // Refused: K-major under 32-byte atoms, and K wider than the span (sparse B under a 32-byte swizzle).
    assert!(compared > 4 * refused / 2 && compared > 400, "{compared} {refused}");
}

#[test]
fn descriptors_that_are_not_supported_say_why() {
    let good = descriptor(0, 0, 0, 2);
    for (bits, words) in [
        (good & !(1 << 46), "46 to 48"),
        (good | 1 << 53, "53 to 60"),
        (good | 1 << 52, "absolute"),
        (descriptor(0, 0, 0, 3), "swizzle"),
        (descriptor(0, 0, 0, 7), "swizzle"),
    ] {
        assert!(shared_descriptor(bits).unwrap_err().contains(words), "{words}");
    }
}

fn set(cells: &[Cells]) -> BTreeSet<(u32, u32)> {
    let mut found = BTreeSet::new();
    for cell in cells.iter().flat_map(Cells::ranges).flatten() {
        assert!(found.insert((cell / 512, cell % 512)), "a cell is there twice");
    }
    found
}

/// Where element (row, column) of D lies in its CTA: the organizations of table 53 (9.7.16.10.5 of PTX ISA 9.1), row and column counted
/// within the CTA.
fn place(mma: &Mma, row: u32, column: u32, lane: u32) -> (u32, u32) {
    let halves = mma.n / 2;
    match (mma.group, mma.stationary, mma.m) {
        (CtaGroup::One, Stationary::Weights, 32) => (row + 32 * (column / (mma.n / 4)), column % (mma.n / 4)),
        (CtaGroup::One, Stationary::Weights, 64) => (row + 64 * (column / halves), column % halves),
        (CtaGroup::Two, _, 128) if !mma.sparse => (row + 64 * (column / halves), column % halves),
        (CtaGroup::One, _, 64) | (CtaGroup::Two, _, 128) => (row % 16 + 32 * (row / 16) + lane, column),
        _ => (row, column),
    }
}

#[test]
fn the_accumulator_of_every_instruction_agrees_with_a_walk_over_its_elements() {
    let mut half = 0;
    // The layout of D does not depend on the major-ness of A and B, and on the kind only through the shapes it allows.
    let plain = |mma: &Mma| mma.a_major == Major::K && mma.b_major == Major::K;
    let telling =
        |mma: &Mma| [Kind::F16, Kind::I8, Kind::Mxf4].contains(&mma.kind) && [8, 64, 160, 256].contains(&mma.n);
    for mma in instructions().into_iter().filter(|mma| plain(mma) && telling(mma)) {
        for (lane, column) in [(0, 0), (0, 33), (16, 8)] {
            let found = mma.d(TensorAddress { lane, column });
            let uses_half = mma.m == 64 && mma.stationary == Stationary::No
                || mma.m == 128 && mma.group == CtaGroup::Two && mma.sparse;
            if lane == 16 && !uses_half {
                assert!(found.unwrap_err().contains("it must be 0"));
                continue;
            }
            half += u32::from(uses_half);
            let rows = mma.m / if mma.group == CtaGroup::Two { 2 } else { 1 };
            let walk = (0..rows).flat_map(|row| (0..mma.n).map(move |c| (row, c)));
            let expected: BTreeSet<(u32, u32)> =
                walk.map(|(row, c)| place(&mma, row, c, lane)).map(|(l, c)| (l, c + column)).collect();
            assert_eq!(set(&found.unwrap()), expected, "{mma:?}");
        }
    }
    assert!(half > 0);
}

#[test]
fn a_in_tensor_memory_has_eight_columns_for_every_dense_kind() {
    for mma in instructions() {
        let found = mma.a_in_tensor_memory(TensorAddress { lane: 0, column: 100 });
        if mma.a_major == Major::Mn || mma.stationary == Stationary::Weights && mma.m < 128 {
            assert!(found.is_err());
            continue;
        }
        let cells = set(&found.unwrap());
        let bits = [32, 16, 8, 8, 8, 4, 4][KINDS.iter().position(|kind| *kind == mma.kind).unwrap()];
        let kept = if mma.sparse { mma.k / 2 } else { mma.k };
        let columns: BTreeSet<u32> = (0..kept).map(|k| 100 + k * bits / 32).collect();
        assert_eq!(cells.iter().map(|(_, column)| *column).collect::<BTreeSet<_>>(), columns);
        assert_eq!(columns.len(), 8);
    }
}

#[test]
fn scale_factors_lie_in_all_four_quarters() {
    for n in [8, 32, 128, 256] {
        let mma =
            Mma::new(Kind::Mxf4, CtaGroup::One, Stationary::No, instruction(Kind::Mxf4, 128, n, 0, 0, 0)).unwrap();
        let quarters = |rows: u32| -> BTreeSet<(u32, u32)> {
            (0..4).flat_map(|q| (0..rows.max(32)).map(move |row| (32 * q + row % 32, 7 + row / 32))).collect()
        };
        let address = TensorAddress::from_bits(7 | 2 << 30);
        assert_eq!(set(&[mma.scale_a(address).unwrap()]), quarters(128));
        assert_eq!(set(&[mma.scale_b(address).unwrap()]), quarters(n));
        assert!(mma.metadata(address).is_err());
    }
    let plain = Mma::new(Kind::F16, CtaGroup::One, Stationary::No, instruction(Kind::F16, 128, 64, 0, 0, 0)).unwrap();
    assert!(plain.scale_a(TensorAddress::from_bits(0)).unwrap_err().contains("no scale factors"));
}

/// Registers per lane and `.num` (9.7.16.8.3 of PTX ISA 9.1): as many cells as the warp has registers, twice as many when packed.
#[test]
fn loads_cover_as_many_cells_as_there_are_registers() {
    for (name, per, most) in
        [("32x32b", 1, 128), ("16x64b", 1, 128), ("16x128b", 2, 64), ("16x256b", 4, 32), ("16x32bx2", 1, 128)]
    {
        for warp in 0..8 {
            for power in 0..8 {
                let count = 1 << power;
                for packing in [Packing::Cells, Packing::Halves] {
                    let pieces = if packing == Packing::Halves { 2 } else { 1 };
                    let shape = MoveShape::from_modifier(name, count * pieces).unwrap();
                    let address = TensorAddress { lane: warp % 4 * 32, column: 0 };
                    let found = moved(address, shape, count, packing, warp);
                    if count > most {
                        assert!(found.is_err());
                        continue;
                    }
                    let cells = set(&found.unwrap());
                    assert_eq!(cells.len() as u32, 32 * per * count * pieces, "{name} x{count}");
                    let lanes: BTreeSet<u32> = cells.iter().map(|(lane, _)| *lane).collect();
                    let width = if name == "32x32b" { 32 } else { 16 };
                    assert_eq!(lanes, (warp % 4 * 32..warp % 4 * 32 + width).collect());
                }
            }
        }
    }
}

/// The fragment of `.16x256b` is that of an m16n8 accumulator, four registers per lane (figure 186).
#[test]
fn the_fragment_of_16x256b_fills_its_rectangle() {
    let mut fragment = BTreeSet::new();
    for lane in 0..32 {
        for register in 0..8 {
            let (repeat, register) = (register / 4, register % 4);
            fragment.insert((32 + lane / 4 + 8 * (register / 2), 5 + 8 * repeat + lane % 4 * 2 + register % 2));
        }
    }
    let address = TensorAddress { lane: 32, column: 5 };
    let found = moved(address, MoveShape::L16x256b, 2, Packing::Cells, 1).unwrap();
    assert_eq!(set(&found), fragment);
}

#[test]
fn a_warp_stays_in_its_quarter_and_in_tensor_memory() {
    let at = |lane, column| TensorAddress { lane, column };
    let load = |address, shape, count, warp| moved(address, shape, count, Packing::Cells, warp);
    assert!(load(at(32, 0), MoveShape::L32x32b, 1, 5).is_ok());
    assert!(load(at(32, 0), MoveShape::L32x32b, 1, 0).unwrap_err().contains("warp 0"));
    assert!(load(at(16, 0), MoveShape::L32x32b, 1, 0).is_err());
    assert!(load(at(16, 0), MoveShape::L16x64b, 1, 0).is_ok());
    assert!(load(at(8, 0), MoveShape::L16x64b, 1, 0).unwrap_err().contains("multiple of 16"));
    assert!(load(at(0, 512 - 64), MoveShape::L32x32b, 64, 0).is_ok());
    assert!(load(at(0, 512 - 63), MoveShape::L32x32b, 64, 0).unwrap_err().contains("columns"));
    assert!(load(at(0, 0), MoveShape::L32x32b, 3, 0).unwrap_err().contains("power of two"));
    let split = MoveShape::L16x32bx2 { split: 8 };
    assert_eq!(
        load(at(0, 4), split, 2, 0).unwrap(),
        [Cells::new(0, 16, 4, 2).unwrap(), Cells::new(0, 16, 12, 2).unwrap()]
    );
}

#[test]
fn copies_fill_as_many_bits_as_their_name_says() {
    let shape = |text: &str| CopyShape::from_modifiers(&text.split('.').collect::<Vec<_>>());
    let cases = [
        ("cp.cta_group::1.128x256b", 128, 256, 1),
        ("cp.cta_group::1.128x128b", 128, 128, 1),
        ("cp.cta_group::1.64x128b.warpx2::02_13", 64, 128, 2),
        ("cp.cta_group::1.64x128b.warpx2::01_23", 64, 128, 2),
        ("cp.cta_group::2.32x128b.warpx4", 32, 128, 4),
    ];
    for (text, lanes, bits, copies) in cases {
        let shape = shape(text).unwrap();
        let cells = set(&[shape.destination(TensorAddress { lane: 0, column: 16 }).unwrap()]);
        assert_eq!(cells.len() as u32 * 32, lanes * bits * copies);
        let source = shape.source();
        assert_eq!(source.rows * source.columns * 8, lanes * bits);
        let packed = shared_descriptor(descriptor(0, u64::from(lanes) * 16, 128, 0)).unwrap().bytes(&source).unwrap();
        assert_eq!(packed, [Bytes::new(0, u64::from(lanes * bits / 8))]);
        assert!(shape.destination(TensorAddress { lane: 32, column: 0 }).is_err());
    }
    let narrow = shape("cp.cta_group::1.4x256b").unwrap();
    assert!(narrow.destination(TensorAddress { lane: 0, column: 0 }).unwrap_err().contains("4x256b"));
    assert_eq!(shared_descriptor(descriptor(0, 0x80, 0, 0)).unwrap().bytes(&narrow.source()).unwrap().len(), 2);
    for wrong in ["cp.64x128b", "cp.32x128b.warpx2::02_13", "cp.128x128b.warpx4", "cp"] {
        assert!(shape(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_shift_stays_within_a_quarter() {
    assert_eq!(shifted(TensorAddress { lane: 64, column: 8 }).unwrap(), Cells::new(64, 32, 8, 8).unwrap());
    assert!(shifted(TensorAddress { lane: 16, column: 0 }).is_err());
    assert!(shifted(TensorAddress { lane: 128, column: 0 }).is_err());
}

#[test]
fn overlap_is_sharing_a_cell() {
    let mut state = 5;
    let mut cells = || {
        let part = |state: &mut u64, most: u64| (random(state) % most) as u32;
        Cells::new(part(&mut state, 8), part(&mut state, 8), part(&mut state, 8), part(&mut state, 8)).unwrap()
    };
    for _ in 0..2000 {
        let (a, b) = (cells(), cells());
        let shared = set(&[a]).intersection(&set(&[b])).next().is_some();
        // Empty rectangles share nothing, and no instruction has one.
        if [a.lanes, a.columns, b.lanes, b.columns].iter().all(|size| *size > 0) {
            assert_eq!(a.overlaps(&b), shared, "{a:?} {b:?}");
        }
        assert_eq!(set(&[a]).contains(&(3, 4)), a.contains(3, 4));
    }
}

#[test]
fn no_operand_panics() {
    let mut state = 77;
    for _ in 0..50_000 {
        let (bits, word, pick) =
            (random(&mut state) << 8 | random(&mut state) & 255, random(&mut state) as u32, random(&mut state));
        let address = TensorAddress::from_bits(random(&mut state) as u32);
        let kind = KINDS[(pick % 7) as usize];
        let group = if pick & 8 == 0 { CtaGroup::One } else { CtaGroup::Two };
        let stationary = if pick & 16 == 0 { Stationary::No } else { Stationary::Weights };
        let tile = Mma::new(kind, group, stationary, word).ok().map(|mma| {
            let _ = (mma.d(address), mma.a_in_tensor_memory(address), mma.scale_a(address), mma.scale_b(address));
            mma.b()
        });
        let fixed = bits & !(0xff << 53 | 7 << 46) | 1 << 46;
        if let (Ok(descriptor), Some(tile)) = (shared_descriptor(if pick & 32 == 0 { bits } else { fixed }), tile) {
            let _ = descriptor.bytes(&tile);
        }
        let shape = MoveShape::L16x32bx2 { split: word };
        let _ = (moved(address, shape, pick as u32 & 0xff, Packing::Halves, word), shifted(address));
        let _ = CopyShape::L128x256b.destination(address);
    }
}
