//! A test: text that became a program with questions. An NVLitmus template is as many tests as it has rows, and a file of
//! the neutral form as many as it lists.

pub mod hash;
pub mod neutral;
pub mod persist_granularity;

use std::sync::OnceLock;

use fencepost_machine::requests::Architecture;
use fencepost_program::lower::lower;
use fencepost_program::program::Program;
use fencepost_syntax::litmus::{self, Layout, Litmus, Statement};
use fencepost_syntax::sorted::SortedMap;
use fencepost_syntax::{Diagnostic, Source, Span};

use crate::test::hash::fingerprint;

#[derive(Clone, Debug)]
pub struct Test {
    /// The whole file, also for a row of a template.
    pub source: Source,
    /// Which row of a template, counted from 1.
    pub row: Option<u32>,
    pub litmus: Litmus,
    pub program: Program,
    /// Whose instructions the threads have (of XC: those of a GPU), where the text stands for another architecture's than it
    /// is written in.
    pub architecture: Option<Architecture>,
    /// Instructions of a template's row, whose text stands nowhere in the file.
    texts: SortedMap<Span, String>,
    /// Computed when first asked for.
    hash: OnceLock<String>,
}

/// The tests of a text, and what is wrong with it. A test with an error is left out; warnings leave it in.
pub fn load(source: &Source) -> (Vec<Test>, Vec<Diagnostic>) {
    if neutral::holds_neutral(source) {
        let (tests, diagnostics) = neutral::load(source);
        return (tests.into_iter().map(|neutral| neutral.test).collect(), diagnostics);
    }
    load_litmus(source)
}

/// The same of litmus text, whatever its file is called.
pub fn load_litmus(source: &Source) -> (Vec<Test>, Vec<Diagnostic>) {
    let (trees, mut diagnostics) = litmus::parse_named(&source.name, &source.text);
    let is_template = trees.first().is_some_and(|tree| tree.layout == Layout::NvLitmus);
    let instances = if is_template { litmus::expand(&source.text).0 } else { Vec::new() };
    let mut tests = Vec::with_capacity(trees.len());
    for litmus in trees {
        let (program, more) = lower(&litmus);
        diagnostics.extend(more);
        let Some(program) = program else { continue };
        // A tree does not know its row; its name stands where the row does.
        let instance = instances.iter().find(|instance| instance.span == litmus.name.span);
        let row = instance.and_then(|instance| instance.row);
        let texts = if row.is_some() { instruction_texts(&litmus) } else { SortedMap::new() };
        let (source, architecture, hash) = (source.clone(), None, OnceLock::new());
        tests.push(Test { source, row, litmus, program, architecture, texts, hash });
    }
    (tests, diagnostics)
}

impl Test {
    /// The test with another program: one of several that its text stands for.
    pub fn with_program(&self, program: Program) -> Test {
        Test {
            source: self.source.clone(),
            row: self.row,
            litmus: self.litmus.clone(),
            program,
            architecture: self.architecture,
            texts: self.texts.clone(),
            hash: self.hash.clone(),
        }
    }

    /// The same program with another question: whether a final state satisfies this condition, in the notation of the
    /// test. The diagnostics are about the text that is returned with them.
    pub fn asking(&self, condition: &str) -> Result<Test, (Source, Vec<Diagnostic>)> {
        let mut unasked = self.litmus.clone();
        unasked.questions.clear();
        unasked.recovery = None;
        let asked = match condition.trim_start().strip_prefix("crash ").map(str::trim_start) {
            // A location may have that name.
            Some(left) if !left.starts_with(['=', '!', '<', '>']) => format!("crash exists ({left})"),
            _ => format!("exists ({condition})"),
        };
        let text = format!("{}{asked}\n", litmus::print(&unasked));
        let source = Source::new(self.source.name.clone(), text);
        let (mut tests, diagnostics) = load_litmus(&source);
        match tests.pop() {
            Some(test) if !diagnostics.iter().any(Diagnostic::is_error) => {
                Ok(Test { architecture: self.architecture, row: self.row, ..test })
            }
            _ => Err((source, diagnostics)),
        }
    }

    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// The fingerprint of the test without its name and comments; see [`crate::test::hash`].
    pub fn hash(&self) -> &str {
        self.hash.get_or_init(|| fingerprint(&litmus::print_as(&self.litmus, "test", "")))
    }

    /// An instruction on one line, as the author wrote it.
    pub fn instruction_text(&self, span: Span) -> String {
        match self.texts.get(&span) {
            Some(text) => text.clone(),
            None => self.source.slice(self.with_guard(span)).split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }

    /// The span of a guarded instruction begins with its register: `@` and `@!` stand before that.
    fn with_guard(&self, span: Span) -> Span {
        let before = self.source.slice(Span { start: 0, end: span.start }).trim_end();
        let before = before.strip_suffix('!').map_or(before, str::trim_end);
        match before.strip_suffix('@') {
            Some(outside) => Span { start: outside.len() as u32, ..span },
            None => span,
        }
    }
}

/// The printer writes one instruction per line within a thread's braces. Several instructions may come from one field
/// of the row and then share a span: they are shown together.
fn instruction_texts(litmus: &Litmus) -> SortedMap<Span, String> {
    let printed = litmus::print(litmus);
    let inside = |line: &&str| line.starts_with([' ', '\t']) && !line.trim().is_empty();
    let lines = printed.lines().filter(inside).map(|line| line.trim().trim_end_matches(';'));
    let statements = litmus.threads.iter().flat_map(|thread| &thread.body);
    let mut texts: SortedMap<Span, String> = SortedMap::new();
    for (statement, line) in statements.zip(lines) {
        if let Statement::Instruction { instruction, .. } = statement {
            let text = texts.entry(instruction.span()).or_default();
            if !text.is_empty() {
                text.push_str("; ");
            }
            text.push_str(line);
        }
    }
    texts
}
