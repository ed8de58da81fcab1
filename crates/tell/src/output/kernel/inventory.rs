//! What a module has: entries, what they use, and instructions without a model; for people and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use fencepost_check::phrase;
use fencepost_kernel::code::Parameter;
use fencepost_kernel::inventory::{Inventory, OfEntry};
use fencepost_syntax::Source;
use serde::Serialize;

/// What a module has, for people.
pub fn inventory_text(inventory: &Inventory, source: &Source) -> String {
    let version = inventory.module.version;
    let mut text = format!(
        "{}: PTX {}.{}, {}, {}\n",
        source.name,
        version / 10,
        version % 10,
        inventory.module.target,
        phrase::count(inventory.entries.len() as u64, "entry").replace("entrys", "entries"),
    );
    for own in &inventory.entries {
        let entry = own.entry;
        let _ = writeln!(text, "{} (line {})", entry.name, source.line(entry.span.start));
        let parameters: Vec<String> = entry
            .parameters
            .iter()
            .map(|parameter| match () {
                () if parameter.is_array => format!("{} bytes", parameter.bytes),
                () if parameter.is_pointer => "pointer".to_owned(),
                () => format!("{} bits", parameter.bytes * 8),
            })
            .collect();
        let _ = writeln!(
            text,
            "  parameters: {}",
            if parameters.is_empty() { "none".to_owned() } else { parameters.join(", ") }
        );
        let _ = writeln!(text, "  instructions: {}", entry.code.len() - 1);
        let features: Vec<String> = own.features.iter().map(|(name, count)| format!("{name} ({count})")).collect();
        let _ = writeln!(
            text,
            "  uses: {}",
            if features.is_empty() { "no synchronisation".to_owned() } else { features.join(", ") }
        );
        for (name, (count, pc)) in &own.unmodelled {
            let line = source.line(entry.code[*pc as usize].span.start);
            let _ = writeln!(text, "  no model: {name}, {} (line {line})", phrase::count(u64::from(*count), "time"));
        }
    }
    text
}

/// A module, as `docs/schema/kernel-inventory.schema.json` says.
#[derive(Serialize)]
struct Listed<'a> {
    version: u32,
    file: &'a str,
    ptx: String,
    target: &'a str,
    entries: Vec<ListedEntry<'a>>,
}

#[derive(Serialize)]
struct ListedEntry<'a> {
    name: &'a str,
    line: u32,
    parameters: Vec<ListedParameter<'a>>,
    instructions: usize,
    uses: &'a BTreeMap<&'static str, u32>,
    no_model: Vec<NoModel<'a>>,
}

#[derive(Serialize)]
struct ListedParameter<'a> {
    name: &'a str,
    bytes: u32,
    kind: &'static str,
}

#[derive(Serialize)]
struct NoModel<'a> {
    text: &'a str,
    times: u32,
    line: u32,
}

/// One line of JSON for a module.
pub fn inventory_json(inventory: &Inventory, source: &Source) -> String {
    let version = inventory.module.version;
    let listed = Listed {
        version: 1,
        file: &source.name,
        ptx: format!("{}.{}", version / 10, version % 10),
        target: &inventory.module.target,
        entries: inventory.entries.iter().map(|own| listed(own, source)).collect(),
    };
    serde_json::to_string(&listed).map_or_else(|error| format!("{{\"error\":\"{error}\"}}\n"), |line| line + "\n")
}

fn listed<'a>(own: &'a OfEntry, source: &Source) -> ListedEntry<'a> {
    let no_model = own.unmodelled.iter().map(|(text, (times, pc))| {
        let line = source.line(own.entry.code[*pc as usize].span.start);
        NoModel { text, times: *times, line }
    });
    let kind = |parameter: &Parameter| match () {
        () if parameter.is_array => "bytes",
        () if parameter.is_pointer => "pointer",
        () => "number",
    };
    let parameter = |own: &'a Parameter| ListedParameter { name: &own.name, bytes: own.bytes, kind: kind(own) };
    ListedEntry {
        name: &own.entry.name,
        line: source.line(own.entry.span.start),
        parameters: own.entry.parameters.iter().map(parameter).collect(),
        instructions: own.entry.code.len() - 1,
        uses: &own.features,
        no_model: no_model.collect(),
    }
}
