//! A launch file to begin with, from the entry and from what its compiler says about it.

use std::fmt::Write;

use fencepost_syntax::sorted::SortedMap;

use crate::code::op::{Access, Op, Order, Scope, Source, Space};
use crate::code::ty::Kind;
use crate::code::{Entry, Parameter, SHARED_START, SPECIALS};

/// What a compiler says about the launch besides the entry itself.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Facts {
    pub grid: Option<[u32; 3]>,
    pub block: Option<[u32; 3]>,
    pub cluster: Option<[u32; 3]>,
    pub shared: Option<u32>,
    pub cooperative: bool,
    /// Parameters whose values are given, by their index.
    pub given: Vec<usize>,
    /// Tensor maps of the host, in the order of the parameters that hold them.
    pub maps: Vec<MapFacts>,
}

/// A tensor map as far as the compiler fixes it: the tensor is the host's.
#[derive(Clone, PartialEq, Debug)]
pub struct MapFacts {
    pub element: &'static str,
    /// Innermost first.
    pub boxes: Vec<u64>,
    pub swizzle: u32,
}

/// A launch file, and what in it is a guess.
#[derive(Clone, PartialEq, Debug)]
pub struct Template {
    pub text: String,
    pub guessed: Vec<String>,
}

/// Sizes of tensors and matrices where nobody says them: long enough for loops to go round several times.
const EXTENT: u64 = 512;
const BUFFER: u64 = 1 << 20;

/// The text of a launch file for an entry of which nothing else is known.
pub fn template(entry: &Entry) -> String {
    from_facts(entry, &Facts::default()).text
}

/// One or two CTAs or clusters, a buffer per pointer.
pub fn from_facts(entry: &Entry, facts: &Facts) -> Template {
    let mut writer = Writer { text: String::new(), guessed: Vec::new(), maps: 0, tensors: SortedMap::new() };
    writer.sizes(entry, facts);
    for (index, parameter) in entry.parameters.iter().enumerate() {
        if is_pointer(entry, parameter) || is_map(parameter) {
            writer.line("");
            writer.line("[[buffer]]");
            writer.line(&format!("name = \"b{index}\""));
            writer.line(&format!("bytes = {BUFFER}"));
            writer.line("contents = \"zero\" # or iota, seed 7, file PATH, unknown");
        }
    }
    for (index, parameter) in entry.parameters.iter().enumerate() {
        writer.line("");
        writer.line("[[parameter]]");
        writer.line(&format!("name = \"{}\"", parameter.name));
        writer.parameter(entry, index, facts);
    }
    writer.summary(entry, facts);
    Template { text: writer.text, guessed: writer.guessed }
}

/// Whether a kernel is meant for several CTAs: it asks which one it is, or synchronises with others through memory.
fn expects_others(entry: &Entry) -> bool {
    const PLACES: [&str; 4] = ["%ctaid.", "%nctaid.", "%clusterid.", "%nclusterid."];
    let is_place = |name: &str| PLACES.iter().any(|own| name.starts_with(own));
    let names = |source: &Source| match source {
        Source::Register(register) => SPECIALS.get(*register as usize).is_some_and(|name| is_place(name)),
        Source::Constant(_) | Source::Shared(_) => false,
    };
    let is_wide = |scope: Scope| matches!(scope, Scope::Gpu | Scope::Sys);
    let is_strong = |access: &Access| access.order != Order::Weak && is_wide(access.scope);
    entry.code.iter().any(|own| match &own.op {
        Op::Compute { from, .. } => from.iter().any(names),
        Op::Fence { scope, .. } => is_wide(*scope),
        Op::Atomic { access, .. } => is_wide(access.scope) && access.place.space != Space::Shared,
        Op::Load(access, _) => is_strong(access),
        Op::Store(access, _) => is_strong(access),
        _ => false,
    })
}

/// Compilers that mark pointers (`.ptr`, 7.1.2) mark all; else every 8 bytes may be one.
fn is_pointer(entry: &Entry, parameter: &Parameter) -> bool {
    let marks = entry.parameters.iter().any(|other| other.is_pointer);
    !parameter.is_array && parameter.bytes == 8 && (parameter.is_pointer || !marks)
}

fn is_map(parameter: &Parameter) -> bool {
    parameter.is_array && parameter.bytes == 128
}

struct Writer {
    text: String,
    guessed: Vec<String>,
    maps: usize,
    /// How many tensor maps are of which tensor.
    tensors: SortedMap<String, usize>,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn guess(&mut self, guess: String) {
        self.guessed.push(guess);
    }

    fn sizes(&mut self, entry: &Entry, facts: &Facts) {
        let cluster = entry.cluster.or(facts.cluster).unwrap_or([1, 1, 1]);
        let known = entry.required_threads.or(facts.block);
        let block = known.or(entry.most_threads).unwrap_or([128, 1, 1]);
        self.line(&format!("entry = \"{}\"", entry.name));
        // What goes wrong between CTAs takes two of them.
        let several = expects_others(entry);
        let grid = facts.grid.unwrap_or([cluster[0] * if several { 2 } else { 1 }, cluster[1], cluster[2]]);
        self.line(&format!("grid = {grid:?}"));
        self.line(&format!("block = {block:?}"));
        if cluster != [1, 1, 1] {
            self.line(&format!("cluster = {cluster:?}"));
        }
        if facts.grid.is_none() {
            let size = match (cluster, several) {
                ([1, 1, 1], true) => "two CTAs".to_owned(),
                ([1, 1, 1], false) => "one CTA".to_owned(),
                (_, true) => format!("two clusters of {cluster:?}"),
                (_, false) => format!("one cluster of {cluster:?}"),
            };
            self.guess(format!("the grid is {size}"));
        }
        if known.is_none() {
            self.guess(format!("the block is {block:?}"));
        }
        if facts.cooperative {
            self.line("cooperative = true");
        }
        match facts.shared {
            Some(shared) if shared > 0 || entry.uses_dynamic_shared => {
                self.line(&format!("shared = {}", shared.max(1)))
            }
            None if entry.uses_dynamic_shared => {
                let shared = 64 * 1024 - (entry.dynamic_shared - SHARED_START).min(32 * 1024);
                self.line("# Bytes of dynamic shared memory, as the launch gives them.");
                self.line(&format!("shared = {shared}"));
                self.guess(format!("dynamic shared memory has {shared} bytes"));
            }
            _ => {}
        }
    }

    fn parameter(&mut self, entry: &Entry, index: usize, facts: &Facts) {
        let parameter = &entry.parameters[index];
        match () {
            () if is_map(parameter) => {
                self.line(&format!("buffer = \"b{index}\""));
                let map = facts.maps.get(self.maps);
                self.maps += 1;
                self.map(map);
            }
            () if is_pointer(entry, parameter) => {
                self.line(&format!("buffer = \"b{index}\" # a pointer; of a number: value = 1"));
            }
            () if parameter.is_array => {
                self.line("# A struct; fields = [{ offset = 0, buffer = \"b0\" }, { offset = 8, value = 3 }] names its parts.");
                self.line(&format!("value = {:?}", vec![0; parameter.bytes as usize]));
                self.guess(format!("parameter {index}, a struct of {} bytes, is zero", parameter.bytes));
            }
            () if parameter.ty.kind == Kind::Float => self.line("value = 1.0"),
            () if parameter.bytes < 4 => self.line("value = 1"),
            () => self.line(&format!("value = {EXTENT}")),
        }
    }

    fn map(&mut self, map: Option<&MapFacts>) {
        match map {
            Some(map) => {
                let dims = vec![EXTENT; map.boxes.len()];
                let (element, boxes, swizzle) = (map.element, &map.boxes, map.swizzle);
                self.line(&format!(
                    "map = {{ element = \"{element}\", dims = {dims:?}, box = {boxes:?}, swizzle = {swizzle} }}"
                ));
                *self.tensors.entry(format!("{dims:?}")).or_default() += 1;
            }
            None => {
                self.line("map = { element = \"f16\", dims = [64, 128], box = [64, 128], swizzle = 128 }");
                *self
                    .tensors
                    .entry("[64, 128] with f16 elements and boxes of the same size".to_owned())
                    .or_default() += 1;
            }
        }
    }

    /// The guesses that many parameters share.
    fn summary(&mut self, entry: &Entry, facts: &Facts) {
        let guessed = || entry.parameters.iter().enumerate().filter(|(index, _)| !facts.given.contains(index));
        let count = |is: &dyn Fn(&Parameter) -> bool| guessed().filter(|(_, own)| is(own)).count();
        let buffers = count(&|own| is_pointer(entry, own) || is_map(own));
        let numbers = count(&|own| !own.is_array && !is_pointer(entry, own) && own.ty.kind != Kind::Float);
        let floats = count(&|own| !own.is_array && own.ty.kind == Kind::Float);
        let several =
            |count: usize, name: &str| if count == 1 { format!("1 {name}") } else { format!("{count} {name}s") };
        let each = |count: usize| if count == 1 { "" } else { " each" };
        if buffers > 0 {
            self.guess(format!("{}: a buffer of {BUFFER} zeros{}", several(buffers, "pointer"), each(buffers)));
        }
        for (tensor, count) in std::mem::take(&mut self.tensors) {
            self.guess(format!("{}: of a tensor of {tensor}{}", several(count, "tensor map"), each(count)));
        }
        if numbers > 0 {
            self.guess(format!("{}: {EXTENT}{}", several(numbers, "number"), each(numbers)));
        }
        if floats > 0 {
            self.guess(format!("{}: 1.0{}", several(floats, "float"), each(floats)));
        }
    }
}
