//! Tensor copies against a walk over single elements, with the swizzle read off the tables of 5.5.7 of PTX ISA 9.1.

use std::collections::BTreeMap;

use fencepost_kernel::footprint::Bytes;
use fencepost_kernel::footprint::swizzle::{Atomicity, Swizzle};
use fencepost_kernel::footprint::tensor_copy::{Direction, Global, Shape, TensorCopy};
use fencepost_kernel::footprint::tensor_map::{Corners, ELEMENTS, Element, Field, Fill, Interleave, Mode, TensorMap};

/// The tables of 5.5.7 of PTX ISA 9.1: line by line, which 16-byte cell lies at which place of the line.
fn table(swizzle: Swizzle, atomicity: Atomicity) -> Vec<[u64; 8]> {
    let b128 = vec![
        [0, 1, 2, 3, 4, 5, 6, 7],
        [1, 0, 3, 2, 5, 4, 7, 6],
        [2, 3, 0, 1, 6, 7, 4, 5],
        [3, 2, 1, 0, 7, 6, 5, 4],
        [4, 5, 6, 7, 0, 1, 2, 3],
        [5, 4, 7, 6, 1, 0, 3, 2],
        [6, 7, 4, 5, 2, 3, 0, 1],
        [7, 6, 5, 4, 3, 2, 1, 0],
    ];
    let b32 =
        vec![[0, 1, 2, 3, 4, 5, 6, 7], [2, 3, 0, 1, 6, 7, 4, 5], [4, 5, 6, 7, 0, 1, 2, 3], [6, 7, 4, 5, 2, 3, 0, 1]];
    match (swizzle, atomicity) {
        (Swizzle::None, _) => vec![[0, 1, 2, 3, 4, 5, 6, 7]],
        (Swizzle::B32 | Swizzle::B96, _) => b128[..2].to_vec(),
        (Swizzle::B64, _) => b128[..4].to_vec(),
        (Swizzle::B128, Atomicity::B16) => b128,
        (Swizzle::B128, Atomicity::B32 | Atomicity::B32Flip8) => b32,
        (Swizzle::B128, Atomicity::B64) => vec![[0, 1, 2, 3, 4, 5, 6, 7], [4, 5, 6, 7, 0, 1, 2, 3]],
    }
}

/// Where the byte goes that lies at `address` without a swizzle.
fn place(swizzle: Swizzle, atomicity: Atomicity, address: u64) -> u64 {
    let table = table(swizzle, atomicity);
    let line = address / 128;
    let row = table[(line % table.len() as u64) as usize];
    let cell = row.iter().position(|cell| *cell == address % 128 / 16).unwrap() as u64;
    let flip = atomicity == Atomicity::B32Flip8 && swizzle == Swizzle::B128 && line % 2 == 1;
    let byte = if flip { (address % 16 + 8) % 16 } else { address % 16 };
    line * 128 + cell * 16 + byte
}

/// Shared byte to global byte, or to nothing where the element is outside. Whole-byte types only.
type Plan = BTreeMap<u64, Option<u64>>;

/// The element with these coordinates, `linear` bytes into the box.
fn put(plan: &mut Plan, map: &TensorMap, coordinates: &[i128], linear: u64, shared: u64) {
    let size = map.element.bits() / 8;
    let inside = coordinates.iter().zip(map.dims).all(|(at, dim)| *at >= 0 && *at < i128::from(dim));
    for byte in 0..size {
        let mut global = i128::from(map.address) + coordinates[0] * i128::from(size) + i128::from(byte);
        for (at, stride) in coordinates.iter().zip(map.strides).skip(1) {
            global += at * i128::from(stride);
        }
        let target = place(map.swizzle, map.atomicity, shared + linear + byte);
        assert!(plan.insert(target, inside.then_some(global as u64)).is_none());
    }
}

fn pitch(map: &TensorMap, elements: u64) -> u64 {
    let span = [0, 32, 64, 96, 128][match map.swizzle {
        Swizzle::None => 0,
        Swizzle::B32 => 1,
        Swizzle::B64 => 2,
        Swizzle::B96 => 3,
        Swizzle::B128 => 4,
    }];
    span.max(elements * map.element.bits() / 8)
}

fn brute_tile(map: &TensorMap, coordinates: &[i32], shared: u64) -> Plan {
    let mut plan = Plan::new();
    let rank = usize::from(map.rank);
    let mut rows: Vec<Vec<i128>> = vec![vec![]];
    for dimension in (1..rank).rev() {
        let mut longer = Vec::new();
        for row in &rows {
            let mut step = 0;
            while step < map.box_dims[dimension] {
                let mut next = vec![i128::from(coordinates[dimension]) + i128::from(step)];
                next.extend(row);
                longer.push(next);
                step += map.element_strides[dimension];
            }
        }
        rows = longer;
    }
    for (number, row) in rows.iter().enumerate() {
        for column in 0..map.box_dims[0] {
            let mut at = vec![i128::from(coordinates[0]) + i128::from(column)];
            at.extend(row);
            let linear =
                number as u64 * pitch(map, map.box_dims[0].into()) + u64::from(column) * map.element.bits() / 8;
            put(&mut plan, map, &at, linear, shared);
        }
    }
    plan
}

/// Expands a copy's pieces and checks what every caller relies on.
fn expand(copy: &TensorCopy) -> Plan {
    let mut plan = Plan::new();
    copy.visit(&mut |piece| {
        assert!(piece.shared.len > 0 && piece.shared.len <= 16);
        for byte in 0..piece.shared.len {
            let global = match piece.global {
                Global::Bytes(bytes) => {
                    assert_eq!(bytes.len, piece.shared.len);
                    Some(bytes.start + byte)
                }
                _ => None,
            };
            assert!(plan.insert(piece.shared.start + byte, global).is_none(), "a byte is visited twice");
        }
    })
    .unwrap();
    plan
}

fn cover(ranges: &[Bytes]) -> Vec<u64> {
    ranges.windows(2).for_each(|pair| assert!(pair[0].end() < pair[1].start, "ranges touch"));
    ranges.iter().flat_map(|range| range.start..range.end()).collect()
}

fn compare(copy: &TensorCopy, plan: &Plan) {
    assert_eq!(&expand(copy), plan, "{copy:?}");
    assert_eq!(cover(&copy.shared().unwrap()), plan.keys().copied().collect::<Vec<_>>());
    let mut global: Vec<u64> = plan.values().flatten().copied().collect();
    global.sort_unstable();
    global.dedup();
    assert_eq!(cover(&copy.global().unwrap()), global);
    assert_eq!(copy.transaction().unwrap(), plan.len() as u64);
}

struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.next(from.len() as u64) as usize]
    }
}

fn random_map(random: &mut Random) -> TensorMap {
    let element = random.pick(&ELEMENTS[..13]);
    let size = element.bits() / 8;
    let swizzle = random.pick(&[Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B96, Swizzle::B128]);
    let atoms = [Atomicity::B16, Atomicity::B32, Atomicity::B32Flip8, Atomicity::B64];
    let atomicity = if swizzle == Swizzle::B128 { random.pick(&atoms) } else { Atomicity::B16 };
    let span = if swizzle.span() == 0 { 128 } else { swizzle.span() };
    let inner = 16 * (1 + random.next(span / 16)) / size;
    let mut map = TensorMap {
        address: 0x10_0000,
        rank: 1 + random.next(5) as u8,
        element,
        swizzle,
        atomicity,
        strides: [size, 0, 0, 0, 0],
        dims: [1 + random.next(40), 0, 0, 0, 0],
        box_dims: [inner as u32, 0, 0, 0, 0],
        element_strides: [1; 5],
        ..TensorMap::default()
    };
    map.strides[1] = (map.dims[0] * size).next_multiple_of(16) + 16 * random.next(3);
    for at in 1..5 {
        map.dims[at] = 1 + random.next(9);
        map.box_dims[at] = 1 + random.next(6) as u32;
        map.element_strides[at] = 1 + random.next(3) as u32;
        if at < 4 {
            map.strides[at + 1] = map.strides[at] * (map.dims[at] + random.next(2));
        }
    }
    map
}

#[test]
fn tiles_agree_with_a_walk_over_elements() {
    let mut random = Random(7);
    for _ in 0..600 {
        let map = random_map(&mut random);
        let coordinates: Vec<i32> = (0..map.rank).map(|_| random.next(16) as i32 - 6).collect();
        let shared = 128 * random.next(9);
        let (shape, direction) = (Shape::Tile, Direction::Load);
        let copy = TensorCopy { map: &map, shape, direction, coordinates: &coordinates, offsets: &[], shared };
        compare(&copy, &brute_tile(&map, &coordinates, shared));
    }
}

#[test]
fn four_rows_are_four_boxes_one_after_the_other() {
    let mut random = Random(11);
    for _ in 0..200 {
        let map = TensorMap { rank: 2, box_dims: [0; 5], ..random_map(&mut random) };
        let inner = 16 * 8 / map.element.bits() as u32;
        let map = TensorMap { box_dims: [inner, 1, 0, 0, 0], ..map };
        let coordinates: Vec<i32> = (0..5).map(|_| random.next(16) as i32 - 4).collect();
        let shared = 128 * random.next(9);
        let mut plan = Plan::new();
        for row in 0..4 {
            for column in 0..inner {
                let at = [i128::from(coordinates[0]) + i128::from(column), i128::from(coordinates[1 + row])];
                let linear = row as u64 * pitch(&map, inner.into()) + u64::from(column) * map.element.bits() / 8;
                put(&mut plan, &map, &at, linear, shared);
            }
        }
        let (shape, direction) = (Shape::FourRows, Direction::Load);
        let copy = TensorCopy { map: &map, shape, direction, coordinates: &coordinates, offsets: &[], shared };
        compare(&copy, &plan);
    }
}

/// The base of the filter as one number that counts stops: divide it out instead of stepping.
fn brute_im2col(map: &TensorMap, corners: &Corners, coordinates: &[i32], offsets: &[u16], shared: u64) -> Plan {
    let spatial = usize::from(map.rank) - 2;
    let mut stops = Vec::new();
    let mut first = 0i128;
    let mut weight = 1i128;
    for at in 0..spatial {
        let stride = i128::from(map.element_strides[at + 1]);
        let low = i128::from(corners.lower[at]);
        let high = i128::from(map.dims[at + 1]) - 1 + i128::from(corners.upper[at]);
        let count = (high - low) / stride + 1;
        first += (i128::from(coordinates[at + 1]) - low) / stride * weight;
        weight *= count;
        stops.push((low, stride, count));
    }
    let mut plan = Plan::new();
    for pixel in 0..corners.pixels {
        let mut number = first + i128::from(pixel);
        let mut pixel_at = Vec::new();
        for (at, (low, stride, count)) in stops.iter().enumerate() {
            let offset = offsets.get(at).copied().unwrap_or(0);
            pixel_at.push(low + number % count * stride + i128::from(offset));
            number /= count;
        }
        pixel_at.push(i128::from(coordinates[spatial + 1]) + number);
        for channel in 0..corners.channels {
            let mut at = vec![i128::from(coordinates[0]) + i128::from(channel)];
            at.extend(&pixel_at);
            let row = u64::from(pixel) * pitch(map, corners.channels.into());
            put(&mut plan, map, &at, row + u64::from(channel) * map.element.bits() / 8, shared);
        }
    }
    plan
}

#[test]
fn im2col_agrees_with_counting_the_stops_of_the_filter() {
    let mut random = Random(23);
    let mut compared = 0;
    while compared < 300 {
        let mut map = random_map(&mut random);
        map.rank = 3 + random.next(3) as u8;
        let mut corners =
            Corners { channels: map.box_dims[0], pixels: 1 + random.next(40) as u32, ..Corners::default() };
        let spatial = usize::from(map.rank) - 2;
        let mut coordinates = vec![random.next(12) as i32 - 4];
        let mut offsets = Vec::new();
        for at in 0..spatial {
            corners.lower[at] = random.next(5) as i16 - 3;
            corners.upper[at] = random.next(5) as i16 - 3;
            let high = map.dims[at + 1] as i32 - 1 + i32::from(corners.upper[at]);
            let stops = (high - i32::from(corners.lower[at])).max(0) as u32 / map.element_strides[at + 1] + 1;
            let stop = random.next(stops.into()) as i32 * map.element_strides[at + 1] as i32;
            coordinates.push(i32::from(corners.lower[at]) + stop);
            offsets.push(random.next(4) as u16);
        }
        coordinates.push(random.next(8) as i32 - 1);
        map.mode = Mode::Im2col(corners);
        let shared = 128 * random.next(9);
        if map.validate().is_err() {
            continue;
        }
        let (shape, direction) = (Shape::Im2col, Direction::Load);
        let copy = TensorCopy { map: &map, shape, direction, coordinates: &coordinates, offsets: &offsets, shared };
        compare(&copy, &brute_im2col(&map, &corners, &coordinates, &offsets, shared));
        compared += 1;
    }
}

fn packed(element: Element) -> TensorMap {
    TensorMap {
        address: 0x1000,
        rank: 2,
        element,
        dims: [256, 8, 0, 0, 0],
        strides: [0, 256, 0, 0, 0],
        box_dims: [128, 2, 0, 0, 0],
        element_strides: [1; 5],
        swizzle: Swizzle::B128,
        ..TensorMap::default()
    }
}

/// 5.5.1.1.1 of PTX ISA 9.1: sixteen values take 8 or 12 bytes of global memory and 16 of shared memory.
#[test]
fn sub_byte_types_are_padded_in_shared_memory() {
    for (element, size) in [(Element::B4x16P64, 8), (Element::B6x16, 12)] {
        let map = packed(element);
        let coordinates = &[128, 7];
        let (shape, direction) = (Shape::Tile, Direction::Load);
        let copy = TensorCopy { map: &map, shape, direction, coordinates, offsets: &[], shared: 0 };
        let mut pieces = Vec::new();
        copy.visit(&mut |piece| pieces.push(piece)).unwrap();
        assert_eq!(pieces.len(), 32);
        for group in 0..8u64 {
            let data = pieces[2 * group as usize];
            assert_eq!(data.shared, Bytes::new(16 * group, size));
            assert_eq!(data.global, Global::Bytes(Bytes::new(0x1000 + 7 * 256 + 8 * size + group * size, size)));
            let padding = pieces[2 * group as usize + 1];
            assert_eq!((padding.shared, padding.global), (Bytes::new(16 * group + size, 16 - size), Global::Padding));
            let outside = pieces[16 + 2 * group as usize];
            assert_eq!((outside.shared, outside.global), (Bytes::new(128 + 16 * (group ^ 1), size), Global::Fill));
        }
        assert_eq!(copy.shared().unwrap(), [Bytes::new(0, 256)]);
        assert_eq!(copy.global().unwrap(), [Bytes::new(0x1000 + 7 * 256 + 8 * size, 8 * size)]);
        assert_eq!(copy.transaction().unwrap(), 16 * size);
    }
}

#[test]
fn a_store_of_six_bit_values_packs_sixteen_bytes_into_twelve() {
    let map = packed(Element::B6x16);
    let (shape, direction) = (Shape::Tile, Direction::Store);
    let copy = TensorCopy { map: &map, shape, direction, coordinates: &[0, 0], offsets: &[], shared: 0 };
    let mut first = None;
    copy.visit(&mut |piece| first = first.or(Some(piece))).unwrap();
    let first = first.unwrap();
    assert_eq!((first.shared, first.global), (Bytes::new(0, 16), Global::Bytes(Bytes::new(0x1000, 12))));
    let b4 = packed(Element::B4x16P64);
    assert!(TensorCopy { map: &b4, ..copy }.global().unwrap_err().contains("b4x16_p64"));
}

#[test]
fn a_packed_four_bit_row_is_copied_byte_for_byte() {
    let map = TensorMap { swizzle: Swizzle::B64, box_dims: [128, 1, 0, 0, 0], ..packed(Element::B4x16) };
    let (shape, direction) = (Shape::Tile, Direction::Load);
    let copy = TensorCopy { map: &map, shape, direction, coordinates: &[-10, 0], offsets: &[], shared: 0 };
    assert_eq!(copy.global().unwrap(), [Bytes::new(0x1000, 59)]);
    assert_eq!(copy.transaction().unwrap(), 64);
    assert!(TensorCopy { coordinates: &[1, 0], ..copy }.global().unwrap_err().contains("multiple of 2"));
}

fn good() -> TensorMap {
    TensorMap {
        address: 0x1000,
        rank: 2,
        element: Element::F16,
        dims: [64, 64, 0, 0, 0],
        strides: [2, 128, 0, 0, 0],
        box_dims: [64, 64, 0, 0, 0],
        element_strides: [1; 5],
        swizzle: Swizzle::B128,
        ..TensorMap::default()
    }
}

/// Every limit of the driver API, one step past it, with the words that name it.
#[test]
fn validate_names_the_field_that_is_wrong() {
    good().validate().unwrap();
    let corners = Corners { channels: 64, pixels: 8, ..Corners::default() };
    let im2col =
        TensorMap { rank: 3, dims: [64; 5], strides: [2, 128, 8192, 0, 0], mode: Mode::Im2col(corners), ..good() };
    im2col.validate().unwrap();
    let wrong = |corners| TensorMap { mode: Mode::Im2col(corners), ..im2col };
    let cases = [
        (TensorMap { rank: 0, ..good() }, "the rank is 0"),
        (TensorMap { rank: 6, ..good() }, "the rank is 6"),
        (TensorMap { address: 0x1008, ..good() }, "global address"),
        (TensorMap { dims: [0, 64, 0, 0, 0], ..good() }, "dimension 0 of the tensor"),
        (TensorMap { dims: [64, (1 << 32) + 1, 0, 0, 0], ..good() }, "dimension 1 of the tensor"),
        (TensorMap { strides: [2, 24, 0, 0, 0], ..good() }, "stride 1"),
        (TensorMap { strides: [2, 1 << 40, 0, 0, 0], ..good() }, "stride 1"),
        (TensorMap { box_dims: [64, 257, 0, 0, 0], ..good() }, "dimension 1 of the box"),
        (TensorMap { box_dims: [63, 64, 0, 0, 0], ..good() }, "multiple of 16 bytes"),
        (TensorMap { box_dims: [128, 64, 0, 0, 0], ..good() }, "the span of the swizzle"),
        (TensorMap { element_strides: [1, 9, 1, 1, 1], ..good() }, "element stride 1"),
        (TensorMap { element_strides: [0, 1, 1, 1, 1], ..good() }, "element stride 0"),
        (TensorMap { interleave: Interleave::B16, ..good() }, "the rank is 2"),
        (
            TensorMap { swizzle: Swizzle::B64, atomicity: Atomicity::B32, box_dims: [32, 1, 0, 0, 0], ..good() },
            "atomicity",
        ),
        (TensorMap { element: Element::U16, fill: Fill::Nan, ..good() }, "fill mode"),
        (TensorMap { box_dims: [64, 2, 0, 0, 0], ..packed(Element::B6x16) }, "must be 128"),
        (TensorMap { dims: [192, 2, 0, 0, 0], ..packed(Element::B6x16) }, "multiple of 128"),
        (TensorMap { address: 0x1010, ..packed(Element::B6x16) }, "multiple of 32"),
        (TensorMap { atomicity: Atomicity::B32Flip8, ..packed(Element::B6x16) }, "8-byte flip"),
        (TensorMap { interleave: Interleave::B32, ..im2col }, "must be 32B"),
        (TensorMap { rank: 2, ..im2col }, "the rank is 2"),
        (wrong(Corners { pixels: 1025, ..corners }), "pixels per column"),
        (wrong(Corners { channels: 257, ..corners }), "channels per pixel"),
        (wrong(Corners { lower: [64, 0, 0], ..corners }), "bounding box"),
        (
            TensorMap { rank: 5, strides: [2, 128, 128, 128, 128], ..wrong(Corners { lower: [0, -17, 0], ..corners }) },
            "corner 1",
        ),
    ];
    for (map, words) in cases {
        let error = map.validate().unwrap_err();
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn a_map_built_by_tensormap_replace_equals_one_built_whole() {
    let mut map = TensorMap::from_bytes(&[0; 128]).unwrap();
    let steps: [(&str, u32, u64); 14] = [
        (".global_address", 0, 0x1000),
        (".rank", 0, 1),
        (".box_dim", 0, 64),
        (".box_dim", 1, 64),
        (".global_dim", 0, 64),
        (".global_dim", 1, 64),
        (".global_stride", 0, 128),
        (".element_stride", 0, 1),
        (".element_stride", 1, 1),
        (".elemtype", 0, 6),
        (".interleave_layout", 0, 0),
        (".swizzle_mode", 0, 3),
        (".swizzle_atomicity", 0, 0),
        (".fill_mode", 0, 0),
    ];
    for (field, index, value) in steps {
        map.replace(Field::from_modifier(field).unwrap(), index, value).unwrap();
        map = TensorMap::from_bytes(&map.to_bytes()).unwrap();
    }
    assert_eq!(map, TensorMap { element_strides: [1, 1, 0, 0, 0], ..good() });
    for (field, index, value) in
        [(Field::Rank, 0, 5), (Field::BoxDim, 5, 1), (Field::GlobalStride, 4, 16), (Field::ElemType, 0, 16)]
    {
        assert!(map.replace(field, index, value).is_err());
    }
    for (field, value) in
        [(Field::SwizzleMode, 5), (Field::SwizzleAtomicity, 4), (Field::FillMode, 2), (Field::BoxDim, 1 << 32)]
    {
        assert!(map.replace(field, 0, value).is_err());
    }
    assert_eq!(Field::from_modifier("tile"), None);
}

#[test]
fn bytes_of_a_map_read_back_and_foreign_bytes_do_not() {
    let mut random = Random(3);
    for _ in 0..500 {
        let mut map = random_map(&mut random);
        if random.next(2) == 0 {
            let lower = [random.next(99) as i16 - 50, -1, 3];
            map.mode = Mode::Im2col(Corners { lower, upper: [-2, 0, 5], channels: 64, pixels: 1024 });
        }
        let bytes = map.to_bytes();
        assert_eq!(TensorMap::from_bytes(&bytes), Some(map));
        let mut broken = bytes;
        broken[126] ^= 1;
        assert_eq!(TensorMap::from_bytes(&broken), None);
    }
    assert_eq!(TensorMap::from_bytes(&[1; 128]), None);
    assert_eq!(TensorMap::from_bytes(&[0; 128]), Some(TensorMap::default()));
}

#[test]
fn no_map_or_coordinate_panics() {
    let mut random = Random(5);
    let wild = [0, 1, 2, 15, 16, 128, 255, 256, 1 << 31, u32::MAX as u64, 1 << 32, (1 << 40) - 16, u64::MAX];
    for _ in 0..60_000 {
        let mut map = random_map(&mut random);
        for _ in 0..random.next(3) {
            let value = random.pick(&wild);
            let at = random.next(5) as usize;
            match random.next(8) {
                0 => map.address = value,
                1 => map.rank = value as u8,
                2 => map.dims[at] = value,
                3 => map.strides[at] = value,
                4 => map.box_dims[at] = value as u32,
                5 => map.element_strides[at] = value as u32,
                6 => map.element = random.pick(&ELEMENTS),
                _ => {
                    map.mode = Mode::Im2col(Corners {
                        lower: [value as i16; 3],
                        channels: 16,
                        pixels: value as u32,
                        ..Corners::default()
                    })
                }
            }
        }
        let _ = TensorMap::from_bytes(&map.to_bytes());
        let coordinates: Vec<i32> =
            (0..random.next(7)).map(|_| random.pick(&[0, 1, -1, 7, i32::MIN, i32::MAX])).collect();
        let shape = random.pick(&[Shape::Tile, Shape::FourRows, Shape::Im2col, Shape::Im2colW, Shape::Im2colW128]);
        let direction = random.pick(&[Direction::Load, Direction::Store]);
        let offsets = &[0, 1, 2, 3][..random.next(5) as usize];
        let shared = random.pick(&[0, 128, 64, u64::MAX - 127, 1 << 17]);
        let copy = TensorCopy { map: &map, shape, direction, coordinates: &coordinates, offsets, shared };
        if copy.extent_is_small() {
            let _ = copy.global();
        }
    }
}

/// Keeps the wild test quick: large boxes are legal and only slow.
trait Small {
    fn extent_is_small(&self) -> bool;
}

impl Small for TensorCopy<'_> {
    fn extent_is_small(&self) -> bool {
        self.transaction().is_ok_and(|bytes| bytes < 1 << 14) || self.shared().is_err()
    }
}

/// Where an H200 put the first element of each of eight rows, and how many bytes completed its mbarrier: a tensor of 64
/// words per row, boxes narrower than the span of their swizzle.
#[test]
fn narrow_boxes_lie_as_on_an_h200() {
    let seen = [
        (4, Swizzle::B32, [0, 32, 64, 96, 144, 176, 208, 240], 128),
        (4, Swizzle::B128, [0, 144, 288, 432, 576, 720, 864, 1008], 128),
        (8, Swizzle::B128, [0, 144, 288, 432, 576, 720, 864, 1008], 256),
        (8, Swizzle::None, [0, 32, 64, 96, 128, 160, 192, 224], 256),
    ];
    for (width, swizzle, places, bytes) in seen {
        let mut map = TensorMap { rank: 2, element: Element::U32, swizzle, ..TensorMap::default() };
        (map.dims[0], map.dims[1]) = (64, 32);
        (map.strides[0], map.strides[1]) = (4, 256);
        (map.box_dims[0], map.box_dims[1]) = (width, 8);
        (map.element_strides[0], map.element_strides[1]) = (1, 1);
        let coordinates = [0, 0];
        let copy = TensorCopy {
            map: &map,
            shape: Shape::Tile,
            direction: Direction::Load,
            coordinates: &coordinates,
            offsets: &[],
            shared: 0,
        };
        assert_eq!(copy.transaction(), Ok(bytes));
        let mut found = [u64::MAX; 8];
        let visited = copy.visit(&mut |piece| {
            if let Global::Bytes(global) = piece.global
                && global.start.is_multiple_of(256)
            {
                found[(global.start / 256) as usize] = piece.shared.start;
            }
        });
        assert_eq!((visited, found), (Ok(()), places), "{width} words, {swizzle:?}");
    }
}
