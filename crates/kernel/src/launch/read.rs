//! A launch from its file, checked against the entry.

use std::path::Path;

use super::argument::{Places, argument};
use super::program::{self, Step};
use super::table::{number, numbers, tables, wrong};
use super::toml::{Table, Value};
use super::{BufferSpec, Contents, Launch};
use crate::code::{Entry, Module};

pub use super::argument::of_text;
pub use super::table::Wrong;

/// Reads other files that a launch names: contents of buffers.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> Result<Vec<u8>, String>;

/// The launch of a file that has one.
pub fn read(text: &str, module: &Module, entry: &Entry, file: ReadFile) -> Result<Launch, Wrong> {
    match program::parse(text)?.steps.as_slice() {
        [step] => launch(step, module, entry, file),
        steps => wrong(format!("the file has {} launches; one is expected", steps.len())),
    }
}

/// One launch of a file.
pub fn launch(step: &Step, module: &Module, entry: &Entry, file: ReadFile) -> Result<Launch, Wrong> {
    let launch = unchecked(step, module, entry, file)?;
    validate(&launch, module, entry)?;
    Ok(launch)
}

/// The same, not yet compared with what the entry and the hardware allow: flags may change it.
pub fn unchecked(step: &Step, module: &Module, entry: &Entry, file: ReadFile) -> Result<Launch, Wrong> {
    let table = &step.table;
    let mut buffers = Vec::new();
    for item in tables(table, "buffer")? {
        let buffer = buffer(item, file)?;
        if buffers.iter().any(|other: &BufferSpec| other.name == buffer.name) {
            return wrong(format!("there are two buffers `{}`", buffer.name));
        }
        buffers.push(buffer);
    }
    let given = tables(table, "parameter")?;
    let unknown = |item: &&&Table| match item.get("name") {
        Some(Value::Text(name)) => !entry.parameters.iter().any(|own| own.name == *name),
        _ => item.contains_key("name"),
    };
    if let Some(item) = given.iter().find(unknown) {
        return wrong(format!("`{}` has no parameter {}", entry.name, item["name"].shown()));
    }
    let mut arguments = Vec::new();
    for (index, parameter) in entry.parameters.iter().enumerate() {
        let named = given.iter().find(|item| item.get("name") == Some(&Value::Text(parameter.name.clone())));
        let unnamed = given.get(index).filter(|item| !item.contains_key("name"));
        let Some(item) = named.or(unnamed) else {
            let name = &parameter.name;
            return wrong(format!(
                "parameter {index} (`{name}`) has no value: give it a table [[parameter]] (--template writes one)"
            ));
        };
        arguments.push(argument(item, parameter, Places { module, buffers: &buffers })?);
    }
    if given.len() > entry.parameters.len() {
        return wrong(format!(
            "{} parameters are given and `{}` has {}",
            given.len(),
            entry.name,
            entry.parameters.len()
        ));
    }
    let shared = number(table, "shared")?.unwrap_or(0);
    let Ok(shared) = u32::try_from(shared) else { return wrong(format!("`shared` is {shared}")) };
    Ok(Launch {
        entry: entry.name.clone(),
        grid: triple(table, "grid", [1, 1, 1])?,
        block: triple(table, "block", entry.required_threads.unwrap_or([128, 1, 1]))?,
        cluster: triple(table, "cluster", entry.cluster.unwrap_or([1, 1, 1]))?,
        shared,
        arguments,
        buffers,
        cooperative: table.get("cooperative") == Some(&Value::Boolean(true)),
    })
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
    let all = launch.grid.iter().fold(threads, |all, d| all.saturating_mul(u64::from(*d)));
    if all > 1 << 20 {
        return wrong(format!("{all} threads are launched; up to {} are run here", 1 << 20));
    }
    let end = entry.shared.iter().map(|(_, start, bytes)| start + bytes).max().unwrap_or(crate::code::SHARED_START);
    let shared = u64::from(end - crate::code::SHARED_START) + u64::from(launch.shared);
    if shared > 227 * 1024 {
        return wrong(format!("a CTA has {shared} bytes of shared memory; it may have {}", 227 * 1024));
    }
    if entry.uses_dynamic_shared && launch.shared == 0 {
        return wrong(format!("`{}` uses dynamic shared memory and the launch gives none: set `shared`", entry.name));
    }
    Ok(())
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
    if let Some(key) = table.keys().find(|key| !["name", "bytes", "contents"].contains(&key.as_str())) {
        return wrong(format!("buffer `{name}`: `{key}` is not known; a buffer has name, bytes, contents"));
    }
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
