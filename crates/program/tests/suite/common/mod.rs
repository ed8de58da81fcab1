//! What the tests share: text to programs, and where the public corpora are.
#![allow(
    dead_code,
    unused_imports,
    clippy::panic,
    clippy::print_stdout,
    reason = "each test file uses a part; a test may print and panic"
)]

use std::path::{Path, PathBuf};

use fencepost_program::barrier::Matchings;
use fencepost_program::expression::Expression;
use fencepost_program::lower::lower;
use fencepost_program::program::{Operation, Program};
use fencepost_program::tag::Tag;
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_program::unfolding::{BarrierMatching, GenerationOrder, Unfolding};
use fencepost_program::{TraceId, access};
use fencepost_syntax::Diagnostic;

/// The program of a text that must be without fault.
pub(crate) fn program(text: &str) -> Program {
    let (program, diagnostics) = attempt(text);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}\n{text}");
    program.expect("a program")
}

pub(crate) fn attempt(text: &str) -> (Option<Program>, Vec<Diagnostic>) {
    let (litmus, diagnostics) = fencepost_syntax::litmus::parse(text);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}\n{text}");
    lower(&litmus.expect("a tree"))
}

/// One PTX thread with these instructions, in Dartagnan's dialect.
pub(crate) fn dartagnan(code: &[&str]) -> String {
    columns("PTX t\n{ x = 0; y = 0; }\n P0@cta 0,gpu 0 ;\n", code)
}

/// One PTX thread in real PTX.
pub(crate) fn ptx(declarations: &str, code: &[&str]) -> String {
    format!("PTX t\n{{ {declarations} }}\nP0@cta 0, gpu 0 {{\n{}\n}}\n", code.join("\n"))
}

pub(crate) fn x86(code: &[&str]) -> String {
    columns("X86 t\n{ }\n P0 ;\n", code)
}

fn columns(head: &str, code: &[&str]) -> String {
    let rows: String = code.iter().map(|row| format!(" {row} ;\n")).collect();
    format!("{head}{rows}")
}

pub(crate) fn unfolded(text: &str, bound: u32) -> Unfolding {
    unfold(&program(text), &UnfoldOptions { bound, max_events: 10_000, ..UnfoldOptions::default() })
        .expect("an unfolding")
}

/// The operations of the first thread.
pub(crate) fn operations(program: &Program) -> Vec<&Operation> {
    program.threads[0].code.iter().map(|instruction| &instruction.operation).collect()
}

/// Every choice of one trace per thread.
pub(crate) fn choices(unfolding: &Unfolding) -> Vec<Vec<TraceId>> {
    let mut found = vec![Vec::new()];
    for thread in &unfolding.threads {
        let extend = |chosen: &Vec<TraceId>| {
            let chosen = chosen.clone();
            thread.traces.iter().map(move |trace| [chosen.clone(), vec![*trace]].concat()).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(extend).collect();
    }
    found
}

/// The matchings of a choice, operands being constants, sorted.
pub(crate) fn matchings(unfolding: &Unfolding, traces: &[TraceId]) -> Vec<BarrierMatching> {
    let mut value = |expression: &Expression| expression.evaluate(&mut |_| None);
    let mut found: Vec<_> = Matchings::new(unfolding, traces, GenerationOrder::Unordered, &mut value).collect();
    found.sort();
    found
}

pub(crate) fn tags_of(unfolding: &Unfolding) -> Vec<String> {
    // The ends of threads are there whatever they do.
    let events = unfolding.events.iter().filter(|event| !event.is_init() && !event.has(Tag::Exit));
    events.map(|event| tag_names(event.tags)).collect()
}

pub(crate) fn tag_names(tags: fencepost_program::tag::Tags) -> String {
    let all = fencepost_program::tag::Tag::ALL.iter();
    all.filter(|tag| tags.has(**tag)).map(|tag| tag.cat_name()).collect::<Vec<_>>().join(" ")
}

/// The public corpora, where they are.
pub(crate) fn corpora(folder: &str) -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = std::env::var_os("FENCEPOST_CORPORA").map_or(workspace.join("../shared/corpora"), PathBuf::from);
    let found = root.join(folder);
    if found.is_dir() {
        return Some(found);
    }
    println!("no corpus at {}: nothing checked", found.display());
    None
}

/// The files below a folder with this extension, sorted.
pub(crate) fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a readable folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

pub(crate) use access::{same_cta, same_scope};

/// The events of the first trace that runs to its end, numbered from 0: strand events with the number of their issue and what they come after,
/// waits with what they complete.
pub(crate) fn strands(unfolding: &Unfolding) -> Vec<String> {
    use fencepost_program::tag::Tag;
    use fencepost_program::unfolding::EventKind;
    let is_whole =
        |trace: &&fencepost_program::unfolding::Trace| trace.end == fencepost_program::unfolding::TraceEnd::Exit;
    let events = &unfolding.traces.iter().find(is_whole).expect("a trace to the end").events;
    let number = |id: &fencepost_program::EventId| events.iter().position(|event| event == id).expect("on the trace");
    let list = |ids: &[fencepost_program::EventId]| ids.iter().map(|id| format!(" {}", number(id))).collect::<String>();
    let is_end = |id: &&fencepost_program::EventId| unfolding.event(**id).has(Tag::Exit);
    let line = |id: &fencepost_program::EventId| {
        let event = unfolding.event(*id);
        let strand = event.strand.as_ref().map(|strand| (number(&strand.issue), list(&strand.after)));
        let place = strand.as_ref().map_or("main".to_string(), |(issue, _)| format!("strand {issue}"));
        let location = event.location().map_or("", |location| &unfolding.locations[location.index()].name);
        let what = match event.kind {
            EventKind::Read { .. } => format!("read {location}"),
            EventKind::Write { .. } => format!("write {location}"),
            EventKind::Issue if event.has(Tag::Issue) => "issue".to_string(),
            EventKind::Issue => "wait".to_string(),
            EventKind::Omitted(_) => "omitted".to_string(),
            EventKind::Fence => "fence".to_string(),
            EventKind::Barrier(_) => "barrier".to_string(),
        };
        let tags = Tag::ALL.iter().filter(|tag| event.has(**tag) && !matches!(tag, Tag::Read | Tag::Write));
        let tags: String = tags.map(|tag| format!(" {}", tag.cat_name())).collect();
        let after =
            strand.filter(|(_, after)| !after.is_empty()).map_or(String::new(), |(_, after)| format!(" after{after}"));
        let completes =
            if event.completes.is_empty() { String::new() } else { format!(" completes{}", list(&event.completes)) };
        format!("{place} {what}{tags}{after}{completes}")
    };
    events.iter().filter(|id| !is_end(id)).map(line).collect()
}

/// One thread run alone, its first trace: what its registers and its locations hold at the end, by name.
pub(crate) fn alone(text: &str) -> std::collections::BTreeMap<String, i128> {
    use fencepost_program::expression::Leaf;
    use fencepost_program::unfolding::EventKind;
    let program = program(text);
    assert!(program.unsupported.is_empty(), "{:?}", program.unsupported);
    let unfolding = unfold(&program, &UnfoldOptions::default()).expect("an unfolding");
    let mut memory: Vec<_> = unfolding.locations.iter().map(|location| location.initial).collect();
    let mut values = std::collections::BTreeMap::new();
    let trace = &unfolding.traces[0];
    let known = |values: &std::collections::BTreeMap<_, _>, leaf| match leaf {
        Leaf::Read(event) => values.get(&event).copied(),
        Leaf::BarrierResult(_) => None,
    };
    for id in &trace.events {
        match &unfolding.event(*id).kind {
            EventKind::Read { location, .. } => {
                values.insert(*id, memory[location.index()]);
            }
            EventKind::Write { location, value, .. } => {
                memory[location.index()] = value.evaluate(&mut |leaf| known(&values, leaf)).expect("known");
            }
            _ => {}
        }
    }
    let names = program.threads[0].registers.iter().map(|register| register.name.to_string());
    let registers = trace.registers.iter().map(|value| value.evaluate(&mut |leaf| known(&values, leaf)));
    let locations = unfolding.locations.iter().map(|location| location.name.to_string()).zip(memory);
    let named = names.zip(registers).filter_map(|(name, value)| Some((name, value?)));
    named.chain(locations).map(|(name, value)| (name, value.0)).collect()
}
