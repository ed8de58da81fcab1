//! A launch file to begin with, from the entry.

use std::fmt::Write;

use crate::code::{Entry, SHARED_START};

/// The text of a launch file: one CTA or cluster, a buffer per pointer.
pub fn template(entry: &Entry) -> String {
    let mut text = String::new();
    let cluster = entry.cluster.unwrap_or([1, 1, 1]);
    let block = entry.required_threads.or(entry.most_threads).unwrap_or([128, 1, 1]);
    let mut line = |line: String| {
        let _ = writeln!(text, "{line}");
    };
    line(format!("entry = \"{}\"", entry.name));
    line(format!("grid = {cluster:?}"));
    line(format!("block = {block:?}"));
    if cluster != [1, 1, 1] {
        line(format!("cluster = {cluster:?}"));
    }
    if entry.uses_dynamic_shared {
        line("# Bytes of dynamic shared memory, as the launch gives them.".to_owned());
        line(format!("shared = {}", 64 * 1024 - (entry.dynamic_shared - SHARED_START).min(32 * 1024)));
    }
    let is_pointer = |index: usize| {
        let parameter = &entry.parameters[index];
        !parameter.is_array && parameter.bytes == 8
    };
    let is_map = |index: usize| entry.parameters[index].is_array && entry.parameters[index].bytes == 128;
    for index in (0..entry.parameters.len()).filter(|index| is_pointer(*index) || is_map(*index)) {
        line(String::new());
        line("[[buffer]]".to_owned());
        line(format!("name = \"b{index}\""));
        line("bytes = 1048576".to_owned());
        line("contents = \"zero\" # or iota, seed 7, file PATH, unknown".to_owned());
    }
    for (index, parameter) in entry.parameters.iter().enumerate() {
        line(String::new());
        line("[[parameter]]".to_owned());
        line(format!("name = \"{}\"", parameter.name));
        match () {
            () if is_map(index) => {
                line(format!("buffer = \"b{index}\""));
                line("map = { element = \"f16\", dims = [64, 128], box = [64, 128], swizzle = 128 }".to_owned());
            }
            () if is_pointer(index) => line(format!("buffer = \"b{index}\" # a pointer; of a number: value = 1")),
            () if parameter.is_array => line(format!("value = {:?}", vec![0; parameter.bytes as usize])),
            () if parameter.ty.kind == crate::code::ty::Kind::Float => line("value = 1.0".to_owned()),
            () => line("value = 128".to_owned()),
        }
    }
    text
}
