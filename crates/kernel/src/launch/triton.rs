//! What Triton writes beside a kernel into its cache: `NAME.json`, with warps, shared memory and tensor descriptors.

use serde_json::Value;

use super::template::{Facts, MapFacts};

/// What the file says, and of which entry.
#[derive(Clone, PartialEq, Debug)]
pub struct Metadata {
    pub name: Option<String>,
    pub facts: Facts,
}

/// Reads the metadata of a kernel; why it is none, if so.
pub fn metadata(text: &str) -> Result<Metadata, String> {
    let found: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    let Some(warps) = found["num_warps"].as_u64() else {
        return Err("it has no `num_warps`".to_owned());
    };
    if warps == 0 || warps > 32 {
        return Err(format!("`num_warps` is {warps}; it may be 1 to 32"));
    }
    let shared = found["shared"].as_u64().and_then(|shared| u32::try_from(shared).ok());
    let maps = found["tensordesc_meta"].as_array().map(Vec::as_slice).unwrap_or_default();
    let facts = Facts {
        grid: None,
        given: Vec::new(),
        block: Some([warps as u32 * 32, 1, 1]),
        cluster: cluster(&found),
        shared,
        cooperative: found["launch_cooperative_grid"].as_bool().unwrap_or(false),
        maps: maps.iter().filter_map(map).collect(),
    };
    Ok(Metadata { name: found["name"].as_str().map(str::to_owned), facts })
}

/// `cluster_dims`, or `num_ctas` in a row.
fn cluster(found: &Value) -> Option<[u32; 3]> {
    let number = |value: &Value| value.as_u64().and_then(|value| u32::try_from(value).ok()).filter(|value| *value > 0);
    if let Some([x, y, z]) = found["cluster_dims"].as_array().map(Vec::as_slice) {
        return Some([number(x)?, number(y)?, number(z)?]);
    }
    Some([number(&found["num_ctas"])?, 1, 1])
}

/// A tensor descriptor of the host. Triton names element types and swizzles by the numbers of `CUtensorMapDataType` and
/// `CUtensorMapSwizzle`, and dimensions outermost first.
fn map(found: &Value) -> Option<MapFacts> {
    const ELEMENTS: [&str; 13] =
        ["u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32ftz", "tf32", "tf32ftz"];
    let element = ELEMENTS.get(usize::try_from(found["elem_type"].as_u64()?).ok()?)?;
    let swizzle = [0, 32, 64, 128].get(usize::try_from(found["swizzle"].as_u64()?).ok()?)?;
    let boxes: Option<Vec<u64>> = found["block_size"].as_array()?.iter().rev().map(Value::as_u64).collect();
    let boxes = boxes.filter(|boxes| !boxes.is_empty() && boxes.len() <= 5)?;
    Some(MapFacts { element, boxes, swizzle: *swizzle })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_triton_3_9_writes() {
        let text = r#"{"name": "tma", "num_warps": 4, "num_ctas": 1, "shared": 49176, "launch_cooperative_grid": false,
            "tensordesc_meta": [{"swizzle": 3, "elem_size": 2, "elem_type": 6, "block_size": [64, 32], "fp4_padded": false}]}"#;
        let found = metadata(text).expect("metadata");
        assert_eq!(found.name.as_deref(), Some("tma"));
        assert_eq!((found.facts.block, found.facts.shared), (Some([128, 1, 1]), Some(49176)));
        let map = MapFacts { element: "f16", boxes: vec![32, 64], swizzle: 128 };
        assert_eq!(found.facts.maps, [map]);
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in
            ["", "[]", "{}", "{\"num_warps\": 0}", "{\"num_warps\": 99999999999}", "{\"num_warps\": \"4\"}", "nul"]
        {
            assert!(metadata(text).is_err(), "{text}");
        }
        let odd = r#"{"num_warps": 4, "cluster_dims": [2], "tensordesc_meta": [1, {"elem_type": 99}], "shared": -1}"#;
        let found = metadata(odd).expect("metadata");
        assert!(found.facts.maps.is_empty() && found.facts.shared.is_none());
    }
}
