//! A launch from its file, checked against the entry.

use std::path::Path;

use super::toml::{self, Table, Value};
use super::{Argument, BufferSpec, Contents, Launch};
use crate::code::{Entry, Module, Parameter};
use crate::footprint::swizzle::{Atomicity, Swizzle};
use crate::footprint::tensor_map::{ELEMENTS, Element, Fill, Interleave, Mode, TensorMap};

/// Reads other files that a launch names: contents of buffers.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> Result<Vec<u8>, String>;

/// What is wrong with a launch: a line of its file if one is to blame, and a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    pub line: Option<usize>,
    pub message: String,
}

fn wrong<T>(message: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { line: None, message: message.into() })
}

/// The name of the entry that a launch file is for, if it says one.
pub fn entry_name(text: &str) -> Option<String> {
    match toml::parse(text).ok()?.get("entry") {
        Some(Value::Text(name)) => Some(name.clone()),
        _ => None,
    }
}

const KEYS: [&str; 9] = ["entry", "grid", "block", "cluster", "shared", "cooperative", "buffer", "parameter", "seed"];

pub fn read(text: &str, module: &Module, entry: &Entry, file: ReadFile) -> Result<Launch, Wrong> {
    let table = toml::parse(text).map_err(|bad| Wrong { line: Some(bad.line), message: bad.message })?;
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return wrong(format!("`{key}` is not known; a launch has {}", KEYS.join(", ")));
    }
    let mut buffers = Vec::new();
    for item in tables(&table, "buffer")? {
        buffers.push(buffer(item, file)?);
    }
    let given = tables(&table, "parameter")?;
    let mut arguments = Vec::new();
    for (index, parameter) in entry.parameters.iter().enumerate() {
        let named = given.iter().find(|item| item.get("name") == Some(&Value::Text(parameter.name.clone())));
        let unnamed = given.get(index).filter(|item| !item.contains_key("name"));
        let Some(item) = named.or(unnamed) else {
            return wrong(format!("parameter {index} (`{}`) has no value", parameter.name));
        };
        arguments.push(argument(item, parameter, &buffers)?);
    }
    if given.len() > entry.parameters.len() {
        return wrong(format!(
            "{} parameters are given and `{}` has {}",
            given.len(),
            entry.name,
            entry.parameters.len()
        ));
    }
    let launch = Launch {
        entry: entry.name.clone(),
        grid: triple(&table, "grid", [1, 1, 1])?,
        block: triple(&table, "block", entry.required_threads.unwrap_or([128, 1, 1]))?,
        cluster: triple(&table, "cluster", entry.cluster.unwrap_or([1, 1, 1]))?,
        shared: number(&table, "shared")?.unwrap_or(0) as u32,
        arguments,
        buffers,
        cooperative: table.get("cooperative") == Some(&Value::Boolean(true)),
    };
    validate(&launch, module, entry)?;
    Ok(launch)
}

/// What the hardware and the entry allow.
pub fn validate(launch: &Launch, _module: &Module, entry: &Entry) -> Result<(), Wrong> {
    let threads: u64 = launch.block.iter().map(|d| u64::from(*d)).product();
    if threads == 0 || threads > 1024 {
        return wrong(format!("a block has {threads} threads; it may have 1 to 1024"));
    }
    if let Some(required) = entry.required_threads
        && required != launch.block
    {
        return wrong(format!("the block is {:?} and `{}` requires {required:?} (.reqntid)", launch.block, entry.name));
    }
    if let Some(most) = entry.most_threads
        && threads > most.iter().map(|d| u64::from(*d)).product()
    {
        return wrong(format!("a block has {threads} threads and `{}` allows {most:?} (.maxntid)", entry.name));
    }
    let cluster: u64 = launch.cluster.iter().map(|d| u64::from(*d)).product();
    if cluster == 0 || cluster > 16 {
        return wrong(format!("a cluster has {cluster} CTAs; it may have 1 to 16"));
    }
    if let Some(required) = entry.cluster
        && required != launch.cluster
    {
        return wrong(format!("the cluster is {:?} and `{}` requires {required:?}", launch.cluster, entry.name));
    }
    for axis in 0..3 {
        if launch.grid[axis] == 0 || !launch.grid[axis].is_multiple_of(launch.cluster[axis]) {
            let (grid, cluster) = (launch.grid, launch.cluster);
            return wrong(format!("the grid {grid:?} is no multiple of the cluster {cluster:?}"));
        }
    }
    let ctas: u64 = launch.grid.iter().map(|d| u64::from(*d)).product();
    if ctas * threads > 1 << 20 {
        return wrong(format!("{} threads are launched; up to {} are run here", ctas * threads, 1 << 20));
    }
    let shared = entry.dynamic_shared - crate::code::SHARED_START + launch.shared;
    if shared > 227 * 1024 {
        return wrong(format!("a CTA has {shared} bytes of shared memory; it may have {}", 227 * 1024));
    }
    if entry.uses_dynamic_shared && launch.shared == 0 {
        return wrong(format!("`{}` uses dynamic shared memory and the launch gives none: set `shared`", entry.name));
    }
    Ok(())
}

fn tables<'t>(table: &'t Table, name: &str) -> Result<Vec<&'t Table>, Wrong> {
    match table.get(name) {
        None => Ok(Vec::new()),
        Some(Value::List(items)) => {
            let found: Option<Vec<&Table>> = items
                .iter()
                .map(|item| match item {
                    Value::Table(table) => Some(table),
                    _ => None,
                })
                .collect();
            found.ok_or_else(|| Wrong { line: None, message: format!("`{name}` is a list of tables: [[{name}]]") })
        }
        Some(_) => wrong(format!("`{name}` is a list of tables: [[{name}]]")),
    }
}

fn number(table: &Table, key: &str) -> Result<Option<i128>, Wrong> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::Integer(value)) => Ok(Some(*value)),
        Some(_) => wrong(format!("`{key}` is a number")),
    }
}

fn numbers(table: &Table, key: &str) -> Result<Option<Vec<i128>>, Wrong> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::Integer(value)) => Ok(Some(vec![*value])),
        Some(Value::List(items)) => {
            let found: Option<Vec<i128>> = items
                .iter()
                .map(|item| match item {
                    Value::Integer(value) => Some(*value),
                    _ => None,
                })
                .collect();
            found.map(Some).ok_or_else(|| Wrong { line: None, message: format!("`{key}` is a list of numbers") })
        }
        Some(_) => wrong(format!("`{key}` is a list of numbers")),
    }
}

fn triple(table: &Table, key: &str, default: [u32; 3]) -> Result<[u32; 3], Wrong> {
    let Some(found) = numbers(table, key)? else { return Ok(default) };
    if found.len() > 3 || found.iter().any(|value| !(1..=i128::from(i32::MAX)).contains(value)) {
        return wrong(format!("`{key}` has one to three numbers from 1"));
    }
    let mut triple = [1; 3];
    for (slot, value) in triple.iter_mut().zip(&found) {
        *slot = *value as u32;
    }
    Ok(triple)
}

fn buffer(table: &Table, file: ReadFile) -> Result<BufferSpec, Wrong> {
    let Some(Value::Text(name)) = table.get("name") else { return wrong("a buffer has a `name`") };
    let contents = match table.get("contents") {
        None => Contents::Zero,
        Some(Value::Text(text)) => match text.split_once(' ') {
            None if text == "zero" => Contents::Zero,
            None if text == "iota" => Contents::Iota,
            None if text == "unknown" => Contents::Unknown,
            Some(("seed", seed)) => match seed.trim().parse() {
                Ok(seed) => Contents::Seed(seed),
                Err(_) => return wrong(format!("buffer `{name}`: `seed` is followed by a number")),
            },
            Some(("file", path)) => match file(Path::new(path.trim())) {
                Ok(bytes) => Contents::File(bytes),
                Err(why) => return wrong(format!("buffer `{name}`: {why}")),
            },
            _ => return wrong(format!("buffer `{name}`: contents are zero, iota, seed N, file PATH or unknown")),
        },
        Some(_) => return wrong(format!("buffer `{name}`: contents are zero, iota, seed N, file PATH or unknown")),
    };
    let length = if let Contents::File(bytes) = &contents { Some(bytes.len() as i128) } else { None };
    let Some(bytes) = number(table, "bytes")?.or(length) else { return wrong(format!("buffer `{name}` has `bytes`")) };
    if !(1..=1 << 32).contains(&bytes) {
        return wrong(format!("buffer `{name}` has {bytes} bytes; it may have 1 to 4 GiB"));
    }
    Ok(BufferSpec { name: name.clone(), bytes: bytes as u64, contents })
}

fn buffer_of(table: &Table, buffers: &[BufferSpec], parameter: &Parameter) -> Result<Option<usize>, Wrong> {
    match table.get("buffer") {
        None => Ok(None),
        Some(Value::Text(name)) => match buffers.iter().position(|buffer| buffer.name == *name) {
            Some(index) => Ok(Some(index)),
            None => wrong(format!("parameter `{}`: there is no buffer `{name}`", parameter.name)),
        },
        Some(_) => wrong(format!("parameter `{}`: `buffer` is a name", parameter.name)),
    }
}

fn argument(table: &Table, parameter: &Parameter, buffers: &[BufferSpec]) -> Result<Argument, Wrong> {
    let buffer = buffer_of(table, buffers, parameter)?;
    if let Some(Value::Table(map)) = table.get("map") {
        let Some(buffer) = buffer else {
            return wrong(format!("parameter `{}`: a map is over a `buffer`", parameter.name));
        };
        let map = tensor_map(map)
            .map_err(|bad| Wrong { message: format!("parameter `{}`: {}", parameter.name, bad.message), ..bad })?;
        if let Err(why) = map.validate() {
            return wrong(format!("parameter `{}`: {why}", parameter.name));
        }
        return Ok(Argument::Map { map, buffer });
    }
    if let Some(buffer) = buffer {
        let offset = number(table, "offset")?.unwrap_or(0);
        return Ok(Argument::Pointer { buffer, offset: offset as u64 });
    }
    match table.get("value") {
        Some(Value::Integer(value)) if parameter.ty.kind == crate::code::ty::Kind::Float => {
            Ok(Argument::Float(*value as f64))
        }
        Some(Value::Integer(value)) => Ok(Argument::Integer(*value as u64)),
        Some(Value::Float(value)) => Ok(Argument::Float(*value)),
        Some(Value::List(items)) => {
            let mut bytes = Vec::new();
            for item in items {
                match item {
                    Value::Integer(value) if (0..256).contains(value) => bytes.push(*value as u8),
                    _ => return wrong(format!("parameter `{}`: a list holds bytes", parameter.name)),
                }
            }
            Ok(Argument::Bytes(bytes))
        }
        _ => wrong(format!("parameter `{}` has a `value`, a `buffer` or a `map`", parameter.name)),
    }
}

fn tensor_map(table: &Table) -> Result<TensorMap, Wrong> {
    let Some(dims) = numbers(table, "dims")? else { return wrong("a map has `dims`, innermost first") };
    let Some(boxes) = numbers(table, "box")? else { return wrong("a map has a `box`, innermost first") };
    let element = match table.get("element") {
        Some(Value::Text(name)) => element(name)?,
        _ => return wrong("a map has an `element` such as \"f16\""),
    };
    let rank = dims.len();
    if rank == 0 || rank > 5 || boxes.len() != rank {
        return wrong("`dims` and `box` have one to five numbers each, as many as the other");
    }
    let mut map = TensorMap {
        rank: rank as u8,
        element,
        interleave: Interleave::None,
        fill: Fill::Zero,
        mode: Mode::Tile,
        ..TensorMap::default()
    };
    map.atomicity = Atomicity::default();
    let strides = numbers(table, "strides")?.unwrap_or_default();
    let steps = numbers(table, "element_strides")?.unwrap_or_default();
    map.strides[0] = element.bits() / 8;
    for axis in 0..rank {
        map.dims[axis] = dims[axis] as u64;
        map.box_dims[axis] = boxes[axis] as u32;
        map.element_strides[axis] = steps.get(axis).map_or(1, |step| *step as u32);
        if axis > 0 {
            let packed = map.dims[axis - 1] * if axis == 1 { map.strides[0] } else { map.strides[axis - 1] };
            map.strides[axis] = strides.get(axis - 1).map_or(packed, |stride| *stride as u64);
        }
    }
    map.address = number(table, "offset")?.unwrap_or(0) as u64;
    map.swizzle = match number(table, "swizzle")?.unwrap_or(0) {
        0 => Swizzle::None,
        32 => Swizzle::B32,
        64 => Swizzle::B64,
        128 => Swizzle::B128,
        other => return wrong(format!("the swizzle is {other}; it may be 0, 32, 64 or 128")),
    };
    Ok(map)
}

fn element(name: &str) -> Result<Element, Wrong> {
    let found = ELEMENTS.iter().find(|element| format!("{element:?}").eq_ignore_ascii_case(name));
    found.copied().ok_or_else(|| Wrong { line: None, message: format!("the element type `{name}` is not known") })
}
