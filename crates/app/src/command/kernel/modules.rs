//! The texts of PTX modules: files, the PTX parts of fat binaries, and what Triton wrote beside them.

use std::collections::HashSet;
use std::path::Path;

use fencepost_kernel::code::{self, Entry, Module};
use fencepost_kernel::container::{self, Container, Kind, Part, Payload};
use fencepost_kernel::launch::template::Facts;
use fencepost_kernel::launch::triton::{self, Metadata};
use fencepost_program::lower::{Support, ptx_support};
use fencepost_syntax::ptx::Item;
use fencepost_syntax::{Diagnostic, Severity, Source, Span, Spanned, ptx};

use crate::diagnostics;
use crate::exit::Exit;
use crate::inputs::{self, Input, read_regular};
use crate::terminal;
use crate::visible;

/// A module that is not parsed yet: trees cannot be handed from thread to thread.
pub(super) struct Text {
    pub(super) source: Source,
    triton: Option<Metadata>,
}

impl Text {
    /// The module, or its errors in words.
    pub(super) fn parse(&self) -> Result<Module, String> {
        let (tree, mut found) = ptx::parse(&self.source.text);
        let (module, more) = code::decode(&tree);
        found.extend(more);
        let unmodelled: HashSet<Span> = module.entries.iter().flat_map(Entry::unmodelled).collect();
        if !unmodelled.is_empty() {
            mistakes(&tree.items, &unmodelled, &mut found);
        }
        if found.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
            return Err(diagnostics::render(&self.source, &found, terminal::stderr_colour()));
        }
        Ok(module)
    }

    /// What its compiler says about the launch of an entry.
    pub(super) fn facts(&self, entry: &str) -> Option<&Facts> {
        let metadata = self.triton.as_ref()?;
        let is_same = metadata.name.as_deref().is_none_or(|name| name == entry);
        is_same.then_some(&metadata.facts)
    }
}

/// Instructions that the kernel engine has no model for and that the table of `program` holds to be mistakes: a launch says
/// nothing about a module that ptxas refuses.
fn mistakes(items: &[Spanned<Item>], unmodelled: &HashSet<Span>, found: &mut Vec<Diagnostic>) {
    for item in items {
        match &item.node {
            Item::Function { body, .. } | Item::Block(body) => mistakes(body, unmodelled, found),
            Item::Instruction(instruction) if unmodelled.contains(&item.span) => {
                if let Support::Wrong(mistake) = ptx_support(instruction) {
                    found.push(mistake);
                }
            }
            _ => {}
        }
    }
}

/// The entry of this name, or the only one with this in its name (compilers add to names), or all.
pub(super) fn entries<'m>(module: &'m Module, name: Option<&str>) -> Result<Vec<&'m Entry>, String> {
    let Some(name) = name else { return Ok(module.entries.iter().collect()) };
    if let Some(entry) = module.entries.iter().find(|entry| entry.name == name) {
        return Ok(vec![entry]);
    }
    let like: Vec<&Entry> = module.entries.iter().filter(|entry| entry.name.contains(name)).collect();
    match like.as_slice() {
        [one] => Ok(vec![one]),
        [] => {
            Err(format!("there is no entry `{name}`; there are {}", names(&module.entries.iter().collect::<Vec<_>>())))
        }
        several => Err(format!("several entries have `{name}` in their names: {}", names(several))),
    }
}

/// The names of entries, as many as one reads.
pub(super) fn names(entries: &[&Entry]) -> String {
    const MOST: usize = 8;
    let shown: Vec<&str> = entries.iter().take(MOST).map(|entry| entry.name.as_str()).collect();
    match entries.len().saturating_sub(MOST) {
        0 => shown.join(", "),
        more => format!("{} and {more} more (--inventory lists them)", shown.join(", ")),
    }
}

/// All modules that the paths lead to.
pub(super) fn read(paths: &[std::path::PathBuf], exit: &mut Exit) -> Vec<Text> {
    let found = inputs::collect_modules(paths);
    for problem in &found.problems {
        terminal::complain(&problem.0);
        exit.bad_input();
    }
    found.notes.iter().for_each(|note| terminal::note(&note.0));
    let mut texts = Vec::new();
    for input in &found.inputs {
        match input.bytes() {
            Ok(bytes) => one(input, bytes, &mut texts, exit),
            Err(problem) => {
                terminal::complain(&problem.0);
                exit.bad_input();
            }
        }
    }
    texts
}

fn one(input: &Input, bytes: Vec<u8>, texts: &mut Vec<Text>, exit: &mut Exit) {
    let name = input.name();
    let mut refuse = |why: &str| {
        terminal::complain(&format!("`{name}` {why}"));
        exit.bad_input();
    };
    match container::of(&bytes) {
        Container::Text if !has(&bytes, ".version") && has(&bytes, "__global__") => refuse(&format!(
            "is CUDA C++: compile it with `nvcc -ptx -lineinfo -arch=sm_90a {name}`, and check the .ptx"
        )),
        Container::Text if name.ends_with(".litmus") => refuse(&format!("is a litmus test: `fencepost check {name}`")),
        Container::Text if name.ends_with(".toml") => refuse(&format!(
            "is no PTX; name a launch file after the module: `fencepost kernel FILE.ptx --launch {name}`"
        )),
        Container::Text if !has(&bytes, ".version") && has(&bytes, "triton") => {
            refuse("is no PTX; if it is a Triton program, run it, and check ~/.triton/cache")
        }
        Container::Text => {
            let triton = if let Input::File(path) = input { beside(path) } else { None };
            texts.push(Text { source: Source::new(name, visible::text(bytes)), triton });
        }
        Container::Fat(parts) => fat(&name, parts, texts, &mut refuse),
        Container::Cubin => refuse(
            "is a cubin: machine code, which has no PTX any more. Keep the .ptx (`nvcc -ptx`), or compile with \
             `-gencode arch=compute_90,code=compute_90`, so that PTX is in the object",
        ),
        Container::Nothing => refuse("is a binary file without a fat binary, and so without PTX"),
    }
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// The PTX parts of fat binaries, each a module: `app.o#1`.
fn fat(name: &str, parts: Vec<Part>, texts: &mut Vec<Text>, refuse: &mut impl FnMut(&str)) {
    let machine: Vec<String> =
        parts.iter().filter(|part| part.kind != Kind::Ptx).map(|part| format!("sm_{}", part.arch)).collect();
    let mut number = 0;
    for part in parts.into_iter().filter(|part| part.kind == Kind::Ptx) {
        number += 1;
        match part.payload {
            Payload::Text(bytes) => {
                let source = Source::new(format!("{name}#{number}"), visible::text(bytes));
                texts.push(Text { source, triton: None });
            }
            Payload::Unreadable(why) => {
                refuse(&format!("has a PTX part for compute_{} that cannot be read: {why}", part.arch))
            }
            Payload::Skipped => {}
        }
    }
    if number == 0 {
        refuse(&format!(
            "has machine code for {} and no PTX: compile with `-gencode arch=compute_90,code=compute_90`",
            machine.join(", ")
        ));
    }
}

/// `NAME.json` beside `NAME.ptx`, if Triton wrote it.
fn beside(path: &Path) -> Option<Metadata> {
    let text = read_regular(&path.with_extension("json")).ok()?;
    triton::metadata(&String::from_utf8_lossy(&text)).ok()
}
