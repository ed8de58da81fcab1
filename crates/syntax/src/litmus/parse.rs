//! From a text to its litmus tests: which notation, which architecture, then the parts in order.

use super::header::{self, Header, Start};
use super::nvlitmus;
use super::parser::Parser;
use super::sections::Sections;
use super::template::{self, Template};
use super::tree::{Arch, Declaration, Dialect, Litmus, Recovery, Statement, Thread, locations_of};
use crate::assembly::x86;
use crate::diagnostic::Diagnostic;
use crate::instruction::{Instruction, Operand};
use crate::span::{Span, Spanned};
use crate::text::{Comments, Cursor, finish};

/// The litmus test in `text`: None if there is any error. A test whose text has no name (NVLitmus) is called `test`.
pub fn parse(text: &str) -> (Option<Litmus>, Vec<Diagnostic>) {
    match header::read(text) {
        Start::Header(Ok(header)) => with_header(text, header),
        Start::Header(Err(diagnostics)) => (None, finish(diagnostics)),
        Start::NvLitmus => {
            let (mut tests, mut diagnostics) = nvlitmus_tests("test", text);
            if tests.len() > 1 {
                let message = format!("this template stands for {} tests", tests.len());
                let span = tests.get(1).map_or(Span::default(), |test| test.name.span);
                diagnostics.push(Diagnostic::error(span, message).label("the second one").help("expand it first"));
                return (None, diagnostics);
            }
            (tests.pop(), diagnostics)
        }
    }
}

/// The litmus tests of a file: several for an NVLitmus template. `.test` files are NVLitmus whatever they start with.
/// Tests with errors are left out.
pub fn parse_named(file_name: &str, text: &str) -> (Vec<Litmus>, Vec<Diagnostic>) {
    let base = file_name.rsplit(['/', '\\']).next().unwrap_or(file_name);
    if let Some(diagnostic) = header::not_text(text) {
        return (Vec::new(), vec![diagnostic]);
    }
    if let Some(stem) = base.strip_suffix(".test") {
        return nvlitmus_tests(stem, text);
    }
    match header::read(text) {
        Start::NvLitmus => nvlitmus_tests(base.rsplit_once('.').map_or(base, |(stem, _)| stem), text),
        Start::Header(Ok(header)) => {
            let (test, diagnostics) = with_header(text, header);
            (test.into_iter().collect(), diagnostics)
        }
        Start::Header(Err(diagnostics)) => (Vec::new(), finish(diagnostics)),
    }
}

/// The template that a file is: None for a file that is its own only test.
pub fn template_of(file_name: &str, text: &str) -> Option<Template> {
    let nvlitmus = file_name.ends_with(".test") || matches!(header::read(text), Start::NvLitmus);
    Template::read(text).filter(|_| nvlitmus)
}

fn nvlitmus_tests(stem: &str, text: &str) -> (Vec<Litmus>, Vec<Diagnostic>) {
    let (instances, mut diagnostics) = template::expand(text);
    let mut tests = Vec::new();
    for instance in &instances {
        let (test, more) = nvlitmus::parse_instance(stem, instance);
        tests.extend(test);
        diagnostics.extend(more);
        if diagnostics.len() >= crate::text::DIAGNOSTIC_LIMIT {
            break;
        }
    }
    (tests, finish(diagnostics))
}

fn with_header(text: &str, header: Header) -> (Option<Litmus>, Vec<Diagnostic>) {
    // `(*x)` is no comment of C.
    let comments = if header.arch == Arch::C { Comments::C } else { Comments::Litmus };
    let cursor = Cursor::new(text, header.end, comments);
    let mut parser = Parser::new(cursor, header.arch);
    let litmus = parser.test(header);
    let diagnostics = finish(parser.cursor.into_diagnostics());
    let usable = !diagnostics.iter().any(Diagnostic::is_error);
    (Some(litmus).filter(|_| usable), diagnostics)
}

impl<'a> Parser<'a> {
    fn test(&mut self, header: Header) -> Litmus {
        let mut declarations = self.declarations();
        let (layout, mut threads) = self.threads(&mut declarations);
        let Sections { locations, filter, mut recovery, questions } = self.sections();
        let dialect = self.dialect(&declarations, &threads);
        super::registers::resolve(&declarations, &mut threads);
        if let Some(Recovery { declarations: own, threads, .. }) = &mut recovery {
            let all: Vec<Spanned<Declaration>> = locations_of(&declarations).chain(own.iter().cloned()).collect();
            super::registers::resolve(&all, threads);
        }
        let kind = if self.arch == Arch::X86 { x86::Header::X86 } else { x86::Header::Other };
        match x86::settle(&self.x86_marks, kind) {
            Ok(x86::Order::Intel) => {}
            Ok(x86::Order::AttReversed) => super::registers::reverse_operands(&mut threads),
            Err(diagnostic) => self.cursor.report(diagnostic),
        }
        for (name, span) in super::registers::undeclared_symbolic(&declarations, &threads) {
            let message = format!("x86 has no register `{name}`");
            let help = format!("a symbolic register needs a first value: `0:{name} = x;`");
            self.cursor.report(Diagnostic::error(span, message).label("not a register").help(help));
        }
        let Header { arch, name, comments, .. } = header;
        Litmus { arch, layout, dialect, name, comments, declarations, threads, locations, filter, recovery, questions }
    }

    /// Real PTX shows itself by addresses in brackets, `%` registers or guards, or by declarations as in a kernel; and where no
    /// register and no location is used, by instructions that the other dialect does not have.
    fn dialect(&self, declarations: &[Spanned<Declaration>], threads: &[Thread]) -> Dialect {
        match self.arch {
            Arch::X86 | Arch::X86_64 => Dialect::X86,
            Arch::C => Dialect::C,
            Arch::Ptx => {
                let real = self.marks.bracket.or(self.marks.percent).or(self.marks.guard);
                let is_kernels = |declaration: &Spanned<Declaration>| match &declaration.node {
                    Declaration::Location { space, .. } => space.is_some(),
                    Declaration::Version { .. } | Declaration::Target { .. } => true,
                    Declaration::Multimem { .. } | Declaration::Launch { .. } => true,
                    Declaration::Stream { .. } | Declaration::Event { .. } => true,
                    _ => false,
                };
                let real = real.is_some() || declarations.iter().any(is_kernels) || only_meets(threads);
                if real { Dialect::Ptx } else { Dialect::Dartagnan }
            }
        }
    }
}

/// Whether the PTX threads do nothing but meet at barriers and end, with instructions of real PTX among them.
fn only_meets(threads: &[Thread]) -> bool {
    let ptx = threads.iter().filter(|thread| thread.arch == Arch::Ptx).flat_map(|thread| &thread.body);
    let mut code = Vec::new();
    for statement in ptx {
        if let Statement::Instruction { instruction, .. } = statement {
            code.push(instruction);
        }
    }
    let is_plain =
        |tree: &&Instruction| tree.operands.iter().all(|operand| matches!(operand.node, Operand::Integer(_)));
    let is_real = |tree: &&Instruction| match (tree.opcode.node.as_str(), tree.modifiers.first()) {
        ("barrier" | "ret" | "exit" | "trap" | "nanosleep" | "griddepcontrol", _) => true,
        ("bar", Some(word)) => word.node != "cta",
        _ => false,
    };
    code.iter().all(is_plain) && code.iter().any(is_real)
}
