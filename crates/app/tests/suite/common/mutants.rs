//! Mutants of every notation: texts of the corpus, the models and the examples with bytes, words and lines changed at
//! random. Each goes through its parser here (no panic, spans inside the text, what parses prints back to the same tree)
//! and, as a file, through the whole program under tiny limits (an exit code that is documented, in bounded time, nothing
//! on the terminal that moves the cursor). `examples/mutants.rs` makes as many as wanted, a test a few.

#![allow(dead_code, reason = "the test and the example use their parts")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fencepost_check::test::neutral;
use fencepost_syntax::{Diagnostic, Source, cat, litmus, ptx};

/// SplitMix64: the same mutants on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Notation {
    Columns,
    Cells,
    Blocks,
    NvLitmus,
    X86,
    C,
    Neutral,
    Module,
    Model,
}

impl Notation {
    pub(crate) const ALL: [Notation; 9] = [
        Notation::Columns,
        Notation::Cells,
        Notation::Blocks,
        Notation::NvLitmus,
        Notation::X86,
        Notation::C,
        Notation::Neutral,
        Notation::Module,
        Notation::Model,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Notation::Columns => "columns",
            Notation::Cells => "cells",
            Notation::Blocks => "blocks",
            Notation::NvLitmus => "nvlitmus",
            Notation::X86 => "x86",
            Notation::C => "c",
            Notation::Neutral => "json",
            Notation::Module => "ptx",
            Notation::Model => "cat",
        }
    }

    /// Folders and files of the repository whose texts are changed.
    fn sources(self) -> &'static [&'static str] {
        match self {
            Notation::Columns => {
                &["corpus/mp", "corpus/iriw", "corpus/termination", "corpus/proxies", "corpus/barriers"]
            }
            Notation::Cells => &["examples", "corpus/initial", "corpus/atomicity", "corpus/races", "corpus/lints"],
            Notation::Blocks => &["corpus/blocks", "corpus/async", "corpus/tcgen05", "corpus/wild", "corpus/launch"],
            Notation::NvLitmus => &["corpus/nvlitmus"],
            Notation::X86 => &["corpus/x86"],
            Notation::C => &["corpus/c11"],
            Notation::Neutral => &["corpus/neutral"],
            Notation::Module => &[],
            Notation::Model => &["models"],
        }
    }

    fn endings(self) -> &'static [&'static str] {
        match self {
            Notation::NvLitmus => &["test"],
            Notation::Neutral => &["json"],
            Notation::Model => &["cat"],
            _ => &["litmus"],
        }
    }

    fn file(self) -> &'static str {
        match self {
            Notation::NvLitmus => "mutant.test",
            Notation::Neutral => "mutant.json",
            Notation::Module => "mutant.ptx",
            Notation::Model => "mutant.cat",
            _ => "mutant.litmus",
        }
    }
}

/// A module as compilers write it; the repository has none as a file.
const MODULE: &str = ".version 8.7\n.target sm_90a // why\n.address_size 64\n.extern .shared .align 16 .b8 smem[];\n\
     .global .u32 t[2] = {1, 2};\n.extern .func (.param .b32 r) g (.param .b32 a);\n.visible .entry k(\n .param .u64 p\n)\n\
     .reqntid 128\n{\n .reg .b32 %r<5>;\n .reg .pred %p<2>;\n .loc 1 2 3\n {\n  @!%p1 ld.global.b32 %r1, [p+-8];\n }\n$L1:\n\
     wgmma.m64n8k16.f32 {%f1, %f2}, 0x10, 1, -1;\n mov.u32 %r1, %tid.x;\n st.release.gpu.b32 [smem], %r1;\n\
     call.uni (r), g, (%r1);\n @%p1 bra $L1;\n bar.sync 0;\n ret;\n}\n.section .debug_info\n{\n.b8 1\n.b32 .debug_abbrev\n}\n\
     .file 1 \"a.py\"\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The texts that are changed, by notation.
pub(crate) struct Seeds(BTreeMap<Notation, Vec<String>>);

impl Seeds {
    pub(crate) fn new() -> Seeds {
        let of = |notation: Notation| {
            let mut texts = Vec::new();
            for source in notation.sources() {
                let mut paths = files(&root().join(source));
                paths.retain(|path| {
                    path.extension().is_some_and(|ending| notation.endings().iter().any(|known| ending == *known))
                });
                texts.extend(paths.iter().filter_map(|path| fs::read_to_string(path).ok()));
            }
            match notation {
                Notation::Neutral => texts = texts.iter().flat_map(|text| single_tests(text)).collect(),
                Notation::Module => texts.push(MODULE.to_owned()),
                _ => {}
            }
            assert!(!texts.is_empty(), "{} has no texts", notation.name());
            (notation, texts)
        };
        Seeds(Notation::ALL.into_iter().map(of).collect())
    }
}

/// Each test of a file by itself: a whole file has dozens.
fn single_tests(text: &str) -> Vec<String> {
    let whole: serde_json::Value = serde_json::from_str(text).expect("the corpus is JSON");
    let tests = whole["tests"].as_array().expect("a list of tests").iter();
    tests.map(|test| serde_json::json!({ "tests": [test] })).map(|one| format!("{one:#}")).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).expect("a folder of the repository");
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() { found.extend(files(&entry)) } else { found.push(entry) }
    }
    found
}

/// One mutant.
pub(crate) struct Mutant {
    pub(crate) notation: Notation,
    pub(crate) bytes: Vec<u8>,
}

impl Mutant {
    /// The mutant of a number: the same for the same number.
    pub(crate) fn new(seeds: &Seeds, number: u64) -> Mutant {
        let mut random = Random(number.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let notation = Notation::ALL[(number % Notation::ALL.len() as u64) as usize];
        let texts = &seeds.0[&notation];
        let mut bytes = texts[random.below(texts.len())].clone().into_bytes();
        // Most of them change one thing, so that many are still tests.
        for _ in 0..[1, 1, 1, 2, 4][random.below(5)] {
            let other = texts[random.below(texts.len())].as_bytes();
            bytes = change(bytes, other, &mut random);
        }
        Mutant { notation, bytes }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

const WORDS: [&str; 40] = [
    ";",
    "|",
    ",",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "\n",
    ":",
    "@",
    "~",
    "=",
    "$",
    "%r1",
    "-1",
    "0",
    "4294967296",
    "18446744073709551616",
    "0x",
    "1e9",
    ".",
    "exists",
    "forall",
    "not",
    "x",
    "P0",
    "/\\",
    "(*",
    "//",
    "\"",
    "\0",
    "\u{1b}[2J",
    "é",
    "\u{202e}",
    "let rec",
    "let",
    "empty",
    "null",
];

fn change(mut bytes: Vec<u8>, other: &[u8], random: &mut Random) -> Vec<u8> {
    match random.below(8) {
        0 => {
            let at = random.below(bytes.len() + 1);
            let byte = (random.next() & 0xff) as u8;
            match random.below(3) {
                0 => bytes.insert(at, byte),
                1 if at < bytes.len() => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(bytes.len() / 2)),
            }
            bytes
        }
        1..=5 => parts(bytes, other, random, |byte| byte.is_ascii_alphanumeric() || byte == b'_'),
        _ => parts(bytes, other, random, |byte| byte != b'\n'),
    }
}

/// Words or lines: runs of bytes of a kind, and what is between them.
fn parts(bytes: Vec<u8>, other: &[u8], random: &mut Random, is_inside: fn(u8) -> bool) -> Vec<u8> {
    let split = |bytes: &[u8]| -> Vec<Vec<u8>> {
        bytes.chunk_by(|a, b| is_inside(*a) == is_inside(*b)).map(<[u8]>::to_vec).collect()
    };
    let (mut mine, theirs) = (split(&bytes), split(other));
    if mine.is_empty() || theirs.is_empty() {
        return bytes;
    }
    let (at, to) = (random.below(mine.len()), random.below(mine.len()));
    let is_alike = |part: &&Vec<u8>| part.first().map(|it| is_inside(*it)) == mine[at].first().map(|it| is_inside(*it));
    let alike: Vec<&Vec<u8>> = theirs.iter().filter(is_alike).collect();
    match random.below(12) {
        7.. if !alike.is_empty() => mine[at] = alike[random.below(alike.len())].clone(),
        0 => drop(mine.remove(at)),
        1 => mine.insert(at, mine[to].clone()),
        2 => mine.swap(at, to),
        3 => mine[at] = theirs[random.below(theirs.len())].clone(),
        4 => mine[at] = WORDS[random.below(WORDS.len())].as_bytes().to_vec(),
        5 => mine.insert(at, WORDS[random.below(WORDS.len())].as_bytes().to_vec()),
        _ => mine[at] = mine[at].repeat(1 + random.below(40)),
    }
    mine.concat()
}

/// Reads the mutant as the library does. What is wrong, in words.
pub(crate) fn read(mutant: &Mutant) -> Result<(), String> {
    let text = mutant.text();
    let inside = |diagnostics: &[Diagnostic]| {
        let is_outside = |found: &&Diagnostic| text.get(found.span.start as usize..found.span.end as usize).is_none();
        diagnostics.iter().find(is_outside).map_or(Ok(()), |found| Err(format!("a span outside the text: {found:?}")))
    };
    let has_error = |diagnostics: &[Diagnostic]| diagnostics.iter().any(Diagnostic::is_error);
    match mutant.notation {
        Notation::Module => {
            let (module, diagnostics) = ptx::parse(&text);
            inside(&diagnostics)?;
            if !has_error(&diagnostics) && ptx::parse(&ptx::print(&module)).0 != module {
                return Err("a module that prints to another".to_owned());
            }
        }
        Notation::Model => {
            let (model, diagnostics) = cat::parse(&text);
            inside(&diagnostics)?;
            if !has_error(&diagnostics) && cat::parse(&cat::print(&model)).0 != model {
                return Err("a model that prints to another".to_owned());
            }
        }
        Notation::Neutral => inside(&neutral::load(&Source::new(mutant.notation.file(), text.as_str())).1)?,
        _ => {
            let (tests, diagnostics) = litmus::parse_named(mutant.notation.file(), &text);
            inside(&diagnostics)?;
            if tests.is_empty() && diagnostics.is_empty() {
                return Err("neither a test nor a reason".to_owned());
            }
            for test in tests {
                let name = mutant.notation.file().replace("mutant", &test.name.node);
                if litmus::parse_named(&name, &litmus::print(&test)).0 != [test] {
                    return Err("a test that prints to another".to_owned());
                }
            }
        }
    }
    Ok(())
}

/// How a mutant is run.
pub(crate) struct Runner {
    pub(crate) binary: PathBuf,
    pub(crate) folder: PathBuf,
    /// Longer is too long: the limit is a fraction of it.
    pub(crate) patience: Duration,
}

/// The formats of a run, in turn.
const FORMATS: [&[&str]; 5] = [&[], &["--json"], &["--explain"], &["--herd"], &["--junit", "-"]];

impl Runner {
    /// Runs the program on the mutant; its exit code, or what is wrong.
    pub(crate) fn run(&self, mutant: &Mutant, number: u64) -> Result<i32, String> {
        let file = mutant.notation.file();
        fs::write(self.folder.join(file), &mutant.bytes).map_err(|error| error.to_string())?;
        fs::write(self.folder.join("sb.litmus"), SUBJECT).map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.binary);
        command.current_dir(&self.folder).args(["check", "--time-limit", "0.2", "--memory-limit", "300M", "-j", "1"]);
        match mutant.notation {
            Notation::Model => command.args(["sb.litmus", "--model", file]),
            _ => command.arg(file),
        };
        command.args(FORMATS[(number / Notation::ALL.len() as u64) as usize % FORMATS.len()]);
        let (out, err) = (self.folder.join("out"), self.folder.join("err"));
        let create = |path: &Path| fs::File::create(path).map_err(|error| error.to_string());
        command.stdin(Stdio::null()).stdout(create(&out)?).stderr(create(&err)?);
        let start = Instant::now();
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let status = loop {
            match child.try_wait().map_err(|error| error.to_string())? {
                Some(status) => break status,
                None if start.elapsed() > self.patience => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!("no end after {:?}", self.patience));
                }
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        let printed = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let (out, err) = (printed(&out).unwrap_or_default(), printed(&err).unwrap_or_default());
        let Some(code @ 0..=3) = status.code() else { return Err(format!("{status}: {err}")) };
        if err.contains("panicked") || out.contains("internal check failed") {
            return Err(format!("{out}{err}"));
        }
        let moves = |it: char| it.is_control() && !matches!(it, '\n' | '\t') || ('\u{202a}'..='\u{202e}').contains(&it);
        match out.chars().chain(err.chars()).find(|it| moves(*it)) {
            Some(found) => Err(format!("{found:?} is printed: {out:?} {err:?}")),
            None => Ok(code),
        }
    }
}

/// What mutants of models are asked about.
const SUBJECT: &str = "PTX SB\n{ x = 0; y = 0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.relaxed.gpu x, 1 | st.relaxed.gpu y, 1 ;\n \
     fence.sc.gpu | fence.sc.gpu ;\n ld.relaxed.gpu r0, y | ld.relaxed.gpu r1, x ;\nexists (P0:r0 == 0 /\\ P1:r1 == 0)\n";
