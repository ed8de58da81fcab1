//! ldmatrix, stmatrix and wmma against walks over single elements.

use std::collections::BTreeSet;

use fencepost_kernel::footprint::fragments::{Rows, Wmma};
use fencepost_kernel::footprint::{Bytes, join};

fn words(text: &str) -> Vec<&str> {
    text.split('.').collect()
}

fn joined(bytes: BTreeSet<u64>) -> Vec<Bytes> {
    join(bytes.into_iter().map(|byte| Bytes::new(byte, 1)).collect())
}

#[test]
fn each_lane_names_one_row_of_one_matrix() {
    let cases = [
        ("sync.aligned.m8n8.x1.shared.b16", 1, 8, 8, 16),
        ("sync.aligned.m8n8.x2.trans.shared.b16", 2, 8, 8, 16),
        ("sync.aligned.m8n8.x4.shared.b16", 4, 8, 8, 16),
        ("sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32", 4, 8, 16, 8),
        ("sync.aligned.m16n16.x1.trans.shared.b8", 1, 16, 16, 8),
        ("sync.aligned.m16n16.x2.trans.shared.b8", 2, 16, 16, 8),
    ];
    for (text, matrices, rows, columns, bits) in cases {
        let found = Rows::of_load(&words(text)).unwrap();
        let addresses: [u64; 32] = std::array::from_fn(|lane| 0x1000 + 48 * (31 - lane as u64));
        let mut bytes = BTreeSet::new();
        for matrix in 0..matrices {
            for row in 0..rows {
                for column in 0..columns {
                    let start = addresses[matrix * rows + row] + column as u64 * bits / 8;
                    bytes.extend(start..start + bits / 8);
                }
            }
        }
        assert_eq!(found.bytes(&addresses).unwrap(), joined(bytes), "{text}");
        assert_eq!((found.lanes as usize, found.per_matrix as usize), (matrices * rows, rows));
    }
}

#[test]
fn stores_and_errors() {
    let store = Rows::of_store(&words("sync.aligned.m16n8.x2.trans.shared.b8")).unwrap();
    assert_eq!((store.lanes, store.row(16, 1).unwrap()), (16, None));
    assert!(store.row(3, 0x1008).unwrap_err().contains("lane 3"));
    assert_eq!(store.row(3, 0x1010).unwrap(), Some(Bytes::new(0x1010, 16)));
    for wrong in ["m16n16.x4.trans.shared.b8", "m8n8.shared.b16", "m8n4.x1", "x1"] {
        assert!(Rows::of_load(&words(wrong)).is_err(), "{wrong}");
    }
    assert!(Rows::of_store(&words("m16n16.x1.b8")).is_err());
}

#[test]
fn wmma_agrees_with_a_walk_over_elements() {
    let shapes = [
        ("m16n16k16", 16, 16, 16, &["f16", "bf16", "s8", "u8"][..], &["f16", "f32", "s32"][..]),
        ("m8n32k16", 8, 32, 16, &["f16", "bf16", "s8", "u8"], &["f16", "f32", "s32"]),
        ("m32n8k16", 32, 8, 16, &["f16", "bf16", "s8", "u8"], &["f16", "f32", "s32"]),
        ("m16n16k8", 16, 16, 8, &["tf32"], &["f32"]),
        ("m8n8k4", 8, 8, 4, &["f64"], &["f64"]),
        ("m8n8k32", 8, 8, 32, &["s4", "u4"], &["s32"]),
        ("m8n8k128", 8, 8, 128, &["b1"], &["s32"]),
    ];
    let size = |name: &str| -> u64 {
        match name {
            "f64" => 64,
            "f32" | "s32" | "tf32" => 32,
            "f16" | "bf16" => 16,
            "s8" | "u8" => 8,
            "s4" | "u4" => 4,
            _ => 1,
        }
    };
    let mut compared = 0;
    for (shape, m, n, k, operands, accumulators) in shapes {
        for (matrix, rows, columns) in [("load.a", m, k), ("load.b", k, n), ("load.c", m, n), ("store.d", m, n)] {
            let types = if matrix == "load.a" || matrix == "load.b" { operands } else { accumulators };
            for element in types {
                for layout in ["row", "col"] {
                    let text = format!("{matrix}.sync.aligned.{layout}.{shape}.shared.{element}");
                    let found = Wmma::from_modifiers(&words(&text)).unwrap();
                    let line = if layout == "row" { columns } else { rows };
                    for stride in [None, Some(line + 128), Some(line)] {
                        let mut bytes = BTreeSet::new();
                        for row in 0..rows {
                            for column in 0..columns {
                                let step = stride.unwrap_or(line);
                                let index = if layout == "row" { row * step + column } else { column * step + row };
                                let bit = index * size(element);
                                bytes.extend(0x100 + bit / 8..0x100 + (bit + size(element)).div_ceil(8));
                            }
                        }
                        assert_eq!(found.bytes(0x100, stride).unwrap(), joined(bytes), "{text} {stride:?}");
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn wmma_errors_name_what_is_wrong() {
    for (text, words_in) in [
        ("load.a.sync.aligned.row.m16n16k8.shared.f16", "shape"),
        ("load.a.sync.aligned.m16n16k16.shared.f16", "layout"),
        ("load.a.sync.aligned.row.shared.f16", "shape"),
        ("load.sync.aligned.row.m16n16k16.shared.f16", "matrix"),
        ("load.a.sync.aligned.row.m16n16k16.shared", "type"),
    ] {
        let error = Wmma::from_modifiers(&words(text)).unwrap_err();
        assert!(error.contains(words_in), "{words_in}: {error}");
    }
    let matrix = Wmma::from_modifiers(&words("load.a.sync.aligned.row.m16n16k16.shared.f16")).unwrap();
    assert!(matrix.bytes(0, Some(15)).is_err());
    for stride in [1 << 60, 1 << 63, u64::MAX] {
        assert!(matrix.bytes(0, Some(stride)).is_err());
    }
    assert!(matrix.bytes(u64::MAX - 3, None).is_err());
}
