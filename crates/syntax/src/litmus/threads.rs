//! Threads in herd's columns and in blocks.
//!
//! Columns: `P0@cta 0, gpu 0 | P1 ;`, then rows `cell | cell ;`. Real PTX ends instructions with `;` too: a `;` directly
//! before `|` or before the row's own `;`, on the same line, belongs to its cell. Rows are positional.

use super::condition::thread_digits;
use super::parser::Parser;
use super::scopes::{self, DEEPEST, Scopes};
use super::tree::{Arch, Declaration, Layout, Placement, Side, Statement, Thread};
use crate::assembly::{Ends, Names, at_end_of_instruction, ptx::PtxReader, skip_instruction, x86::X86Reader};
use crate::c::CReader;
use crate::diagnostic::Diagnostic;
use crate::instruction::{Instruction, Operand};
use crate::span::{Span, Spanned};
use crate::text::{Cursor, Kind, nearest};

type Declarations = Vec<Spanned<Declaration>>;

impl Parser<'_> {
    pub(super) fn threads(&mut self, declarations: &mut Declarations) -> (Layout, Vec<Thread>) {
        if self.cursor.at_end() || self.at_section() {
            let diagnostic = self.cursor.unexpected_diagnostic("the threads");
            self.cursor
                .report(diagnostic.help("write `P0 | P1 ;` and one row per line below it, or `P0 { … }` blocks"));
            return (Layout::Columns, Vec::new());
        }
        let layout = self.layout();
        let threads = if layout == Layout::Blocks { self.blocks(declarations) } else { self.columns() };
        (layout, threads)
    }

    fn columns(&mut self) -> Vec<Thread> {
        let mut threads = Vec::new();
        loop {
            match self.thread_header(threads.len()) {
                Some(thread) => threads.push(thread),
                None => self.skip_cell(),
            }
            if self.cursor.eat("|").is_some() {
                continue;
            }
            if self.cursor.eat(";").is_none() {
                self.cursor.unexpected("`|` or `;` after a thread");
                self.skip_cell();
                if self.cursor.eat("|").is_some() {
                    continue;
                }
                self.cursor.eat(";");
            }
            break;
        }
        while !self.cursor.at_end() && !self.at_section() {
            self.row(&mut threads);
        }
        threads
    }

    /// `P0@cta 0, gpu 0`.
    fn thread_header(&mut self, index: usize) -> Option<Thread> {
        let name = self.cursor.word("a thread, such as `P0`")?;
        let number = thread_digits(&name.node).and_then(|digits| digits.parse::<usize>().ok());
        if number != Some(index) {
            let message = match number {
                None => format!("`{}` is not a thread", name.node),
                Some(number) if number < index => format!("thread `{}` stands here a second time", name.node),
                Some(_) => format!("thread `{}` is out of order", name.node),
            };
            let help = format!("threads are called P0, P1, … in this order: this one is `P{index}`");
            self.cursor.report(Diagnostic::error(name.span, message).label("unexpected thread").help(help));
        }
        let (mut arch, mut placement) = (self.arch, Placement::default());
        if self.cursor.eat("@").is_some() || self.at_bare_placement(&name) {
            let host = Placement { side: Side::Host, ..placement };
            if self.arch == Arch::Ptx && self.cursor.eat("host").is_some() {
                placement = host;
            } else if self.arch == Arch::Ptx && self.cursor.eat("x86").is_some() {
                (arch, placement) = (Arch::X86, host);
            } else {
                if self.arch == Arch::Ptx && self.cursor.eat("c11").is_some() {
                    arch = Arch::C;
                }
                let is_placed = arch == self.arch || self.cursor.at_kind(Kind::Word);
                placement = if is_placed { self.placement()? } else { placement };
            }
            if placement == host
                && let Some(comma) = self.cursor.eat(",")
            {
                self.host_on_a_gpu(comma);
                // What was meant to place it is read, and decides nothing.
                self.placement()?;
            }
        }
        let parameters = if arch == Arch::C { CReader::new(&mut self.cursor).parameters()? } else { Vec::new() };
        Some(Thread { name, arch, placement, parameters, body: Vec::new() })
    }

    /// `P1 cta 1`, without the `@`, which is told.
    fn at_bare_placement(&mut self, name: &Spanned<String>) -> bool {
        if !self.cursor.at_kind(Kind::Word) || !LEVELS.iter().any(|level| self.cursor.at(level)) {
            return false;
        }
        let level = self.cursor.str(self.cursor.peek());
        let error =
            Diagnostic::error(self.cursor.here(), format!("`@` is missing between `{}` and `{level}`", name.node));
        self.cursor.report(error.label("no `@`").help(format!("write `{}@{level}`", name.node)));
        true
    }

    fn placement(&mut self) -> Option<Placement> {
        let mut placement = Placement::default();
        loop {
            let word = self.cursor.word("`cta`, `cluster`, `gpu` or `kernel`")?;
            let slot = match word.node.as_str() {
                "cta" => &mut placement.cta,
                "cluster" => &mut placement.cluster,
                "gpu" => &mut placement.gpu,
                "kernel" => &mut placement.kernel,
                other => {
                    self.unknown_level(other, word.span);
                    return None;
                }
            };
            if slot.is_some() {
                let message = format!("`{}` is given twice", word.node);
                self.cursor.report(Diagnostic::error(word.span, message));
                return None;
            }
            let value = self.integer()?;
            let number = self.small(&value)?;
            match word.node.as_str() {
                "cta" => placement.cta = Some(number),
                "cluster" => placement.cluster = Some(number),
                "gpu" => placement.gpu = Some(number),
                _ => placement.kernel = Some(number),
            }
            if self.cursor.eat(",").is_none() {
                return Some(placement);
            }
        }
    }

    fn host_on_a_gpu(&mut self, span: Span) {
        let help =
            "`x86` and `host` say all: such a thread has no cta, cluster, gpu or kernel, and its scope is `.sys`";
        let diagnostic = Diagnostic::error(span, "a host thread lies outside every GPU");
        self.cursor.report(diagnostic.label("nothing more places it").help(help));
    }

    fn unknown_level(&mut self, word: &str, span: Span) {
        if matches!(word, "x86" | "host") {
            return self.host_on_a_gpu(span);
        }
        let help = match nearest(word, &LEVELS) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "a thread is placed by `cta`, `cluster`, `gpu` and `kernel`, or is `host` or `x86`".to_owned(),
        };
        let message = format!("`{word}` places no thread");
        self.cursor.report(Diagnostic::error(span, message).label("unknown level").help(help));
    }

    fn row(&mut self, threads: &mut [Thread]) {
        let start = self.cursor.here();
        let before = self.cursor.position();
        let errors = self.cursor.errors();
        let width = threads.len();
        let mut cells = 0;
        let mut spare = Vec::new();
        loop {
            let (arch, body) =
                threads.get_mut(cells).map_or((self.arch, &mut spare), |thread| (thread.arch, &mut thread.body));
            let closed = self.cell(arch, body, cells + 1 >= width);
            cells += 1;
            if closed == After::Row {
                break;
            }
        }
        if self.cursor.position() == before {
            self.cursor.bump();
        }
        let span = start.to(self.cursor.span(self.cursor.previous()));
        // A row that is broken otherwise has been reported, and its cells may be miscounted.
        if cells != width && self.cursor.errors() == errors {
            let message = format!("this row has {}, but the test has {}", count(cells, "cell"), count(width, "thread"));
            let help = "write one cell per thread, empty where a thread does nothing, with `|` between them";
            self.cursor.report(Diagnostic::error(span, message).label(count(cells, "cell")).help(help));
        }
    }

    /// The statements of one cell, and whether the row ends after it.
    fn cell(&mut self, arch: Arch, body: &mut Vec<Statement>, last: bool) -> After {
        loop {
            if self.cursor.eat("|").is_some() {
                return After::Cell;
            }
            if self.cursor.at(";") {
                let next = self.cursor.ahead(1);
                let own = !next.newline && (self.cursor.is(1, ";") || (self.cursor.is(1, "|") && !last));
                self.cursor.bump();
                if own {
                    continue;
                }
                return After::Row;
            }
            if self.cursor.at_end() || (self.cursor.peek().newline && self.at_section()) {
                let diagnostic = self.cursor.unexpected_diagnostic("`;` at the end of the row");
                self.cursor.report(diagnostic);
                return After::Row;
            }
            if self.statement(arch, body, Ends::Cell).is_none() {
                self.skip_cell();
            } else if !at_end_of_instruction(&self.cursor, Ends::Cell)
                && !matches!(body.last(), Some(Statement::Label(_)))
            {
                if self.cursor.peek().newline {
                    self.missing_row_end();
                    return After::Row;
                }
                self.cursor.unexpected("`,`, `|` or `;` after the operand");
                self.skip_cell();
            }
        }
    }

    fn missing_row_end(&mut self) {
        let end = self.cursor.span(self.cursor.previous()).end;
        let span = Span::new(end.saturating_sub(1), end);
        let diagnostic = Diagnostic::error(span, "the row is not closed").label("`;` is missing after this");
        self.cursor.report(diagnostic.help("close each row with `;`"));
    }

    /// After an error: to the end of the cell, or to a condition.
    fn skip_cell(&mut self) {
        while !(at_end_of_instruction(&self.cursor, Ends::Cell) || (self.cursor.peek().newline && self.at_section())) {
            self.cursor.bump();
        }
    }

    /// A label or an instruction. None after a report.
    pub(super) fn statement(&mut self, arch: Arch, body: &mut Vec<Statement>, ends: Ends) -> Option<()> {
        if self.cursor.at_kind(Kind::Word) && self.cursor.is(1, ":") {
            let token = self.cursor.bump();
            self.cursor.bump();
            body.push(Statement::Label(self.cursor.spanned(token)));
            return Some(());
        }
        if self.at_section() {
            let diagnostic = Diagnostic::error(self.cursor.here(), "a condition cannot stand among instructions");
            self.cursor.report(diagnostic.label("condition").help("it follows the last thread, on its own line"));
            return None;
        }
        let instruction = self.instruction(arch, ends)?;
        body.push(Statement::Instruction { instruction, assume: None });
        Some(())
    }

    fn instruction(&mut self, arch: Arch, ends: Ends) -> Option<Instruction> {
        let cursor = &mut self.cursor;
        let instruction = match arch {
            Arch::Ptx => PtxReader { cursor, marks: &mut self.marks, ends, names: Names::Litmus }.instruction(),
            Arch::X86 | Arch::X86_64 => X86Reader { cursor, marks: &mut self.x86_marks, ends }.instruction(),
            Arch::C => {
                let help = "write the threads as `P0 (atomic_int* x) { … }`";
                cursor.report(Diagnostic::error(cursor.here(), "C stands in blocks, not in columns").help(help));
                None
            }
        }?;
        let first = instruction.operands.first().map(|operand| &operand.node);
        let negated = instruction.opcode.node == "not" && first == Some(&Operand::Symbol("exists".into()));
        if negated || Self::is_section_opcode(&instruction.opcode.node) {
            let message = format!("`{}` is not an instruction", instruction.opcode.node);
            self.cursor.report(Diagnostic::error(instruction.opcode.span, message).label("reserved for conditions"));
            return None;
        }
        Some(instruction)
    }

    /// The threads of a recovery program, in blocks, behind what it declares of its registers (`P0:%r1 = 1;`).
    pub(super) fn recovery_threads(&mut self, declarations: &mut Declarations) -> Vec<Thread> {
        while self.at_thread_prefix() && self.declaration(declarations).is_some() {
            self.cursor.eat(";");
        }
        self.blocks_until(declarations, |parser| parser.cursor.at("}"))
    }

    fn blocks(&mut self, declarations: &mut Declarations) -> Vec<Thread> {
        self.blocks_until(declarations, |_| false)
    }

    fn blocks_until(&mut self, declarations: &mut Declarations, ends: impl Fn(&Self) -> bool) -> Vec<Thread> {
        let mut threads = Vec::new();
        // Threads whose header has a mistake are counted: the next one is in its place.
        let mut broken = 0;
        while !self.cursor.at_end() && !self.at_section() && !ends(self) {
            let before = self.cursor.position();
            let is_thread = self.at_thread(["@", "{", "("]);
            let Some(mut thread) = self.thread_header(threads.len() + broken) else {
                broken += usize::from(is_thread);
                self.skip_block(before);
                continue;
            };
            if self.cursor.expect("{", "to open the thread").is_none() {
                broken += 1;
                self.skip_block(before);
                continue;
            }
            if thread.arch == Arch::C {
                let mut body = Vec::new();
                CReader::new(&mut self.cursor).body(&mut body);
                thread.body = body.into_iter().map(Statement::C).collect();
            } else {
                self.block(&mut thread, threads.len(), declarations);
            }
            threads.push(thread);
        }
        threads
    }

    /// `P1@` and its like, where one of these follows the name.
    fn at_thread<const N: usize>(&self, followed: [&str; N]) -> bool {
        let word = self.cursor.str(self.cursor.ahead(0));
        thread_digits(word).is_some() && followed.iter().any(|mark| self.cursor.is(1, mark))
    }

    /// `.loc` and `.pragma`, which compilers write between instructions, say nothing about what the program does.
    fn at_debugging(&self) -> bool {
        self.cursor.at(".") && (self.cursor.is(1, "loc") || self.cursor.is(1, "pragma"))
    }

    fn block(&mut self, thread: &mut Thread, index: usize, declarations: &mut Declarations) {
        let mut scopes = Scopes::default();
        let mut separators = Separators::default();
        loop {
            if self.cursor.eat("}").is_some() {
                if scopes.leave(thread.body.len()) {
                    continue;
                }
                break;
            }
            if self.cursor.at_end() {
                let what = if scopes.depth() > 0 { "a block in" } else { "thread" };
                self.cursor.unexpected(&format!("`}}` to close {what} `{}`", thread.name.node));
                break;
            }
            if self.at_thread(["@", "{"]) {
                let next = self.cursor.str(self.cursor.ahead(0)).to_owned();
                let message = format!("thread `{}` is not closed before `{next}`", thread.name.node);
                let error = Diagnostic::error(self.cursor.here(), message).label("another thread begins");
                self.cursor.report(error.help(format!("write `}}` in front of `{next}`")));
                break;
            }
            if self.arch == Arch::Ptx && self.cursor.at("{") {
                self.enter(&mut scopes, thread.body.len());
                continue;
            }
            if self.cursor.eat(";").is_some() {
                continue;
            }
            if self.arch == Arch::Ptx && self.at_debugging() {
                self.cursor.bump();
                self.cursor.bump();
                skip_instruction(&mut self.cursor, Ends::Line);
                continue;
            }
            let before = self.cursor.position();
            // A `.reg` line pasted with the code declares registers of this thread.
            let parsed = if self.cursor.at(".") {
                let from = declarations.len();
                let parsed = self.declaration(declarations);
                own_registers(&mut declarations[from..], index);
                scopes.declare(from..declarations.len());
                parsed
            } else {
                self.statement(thread.arch, &mut thread.body, Ends::Line)
            };
            let label = parsed.is_some() && matches!(thread.body.last(), Some(Statement::Label(_)));
            if parsed.is_some() && !label {
                separators.note(&self.cursor);
            }
            if parsed.is_some() && !label && !at_end_of_instruction(&self.cursor, Ends::Line) {
                self.unended(&separators);
            }
            if !label {
                // An error at the start of a line has not moved the cursor yet.
                if self.cursor.position() == before && !self.cursor.at("}") {
                    self.cursor.bump();
                }
                skip_instruction(&mut self.cursor, Ends::Line);
            }
        }
        if thread.arch == Arch::Ptx {
            separators.report(&mut self.cursor);
        }
        scopes::settle(&scopes.closed, index, &mut thread.body, declarations);
    }

    /// Something else than the end of an instruction. A new line ends none where others end with `;`.
    fn unended(&mut self, separators: &Separators) {
        /// The instruction's own `;` is not farther than this.
        const FAR: usize = 64;
        let mut next = (0..FAR).map(|ahead| self.cursor.str(self.cursor.ahead(ahead)));
        let has_semicolons = separators.semicolons > 0 || next.find(|text| matches!(*text, ";" | "}")) == Some(";");
        if has_semicolons && self.cursor.at_kind(Kind::Word) {
            let end = self.cursor.span(self.cursor.previous()).end;
            self.cursor.report(missing_semicolon(Span::new(end.saturating_sub(1), end)));
        } else if has_semicolons {
            self.cursor.unexpected("`,` or `;` after the operand");
        } else {
            self.cursor.unexpected("`,`, `;` or a new line after the operand");
        }
    }

    /// `{` among the instructions: a block with names of its own. Only real PTX has them.
    fn enter(&mut self, scopes: &mut Scopes, at: usize) {
        let brace = self.cursor.bump();
        let span = self.cursor.span(brace);
        self.marks.bracket.get_or_insert(span);
        if scopes.depth() >= DEEPEST {
            self.cursor.error(span, format!("blocks nest deeper than {DEEPEST} levels"));
            self.cursor.give_up();
        }
        scopes.enter(at);
    }

    fn skip_block(&mut self, before: usize) {
        while !self.cursor.at_end() && !self.cursor.at("}") && !self.at_section() {
            self.cursor.bump();
        }
        self.cursor.eat("}");
        if self.cursor.position() == before {
            self.cursor.bump();
        }
    }
}

fn own_registers(declarations: &mut [Spanned<Declaration>], index: usize) {
    for declaration in declarations {
        if let Declaration::TypedRegister { thread, .. } = &mut declaration.node {
            *thread = u32::try_from(index).ok();
        }
    }
}

/// How the instructions of a block end. PTX wants `;`; a block may also have one instruction per line and no `;` at all. One
/// that has both has lost a `;`.
#[derive(Default)]
struct Separators {
    semicolons: usize,
    /// The last letter of each instruction that only a line end parts from the next.
    missing: Vec<Span>,
}

impl Separators {
    /// The cursor stands behind an instruction.
    fn note(&mut self, cursor: &Cursor) {
        if cursor.at(";") {
            self.semicolons += 1;
        } else if cursor.peek().newline && !cursor.at("}") && !cursor.at_end() {
            let end = cursor.span(cursor.previous()).end;
            self.missing.push(Span::new(end.saturating_sub(1), end));
        }
    }

    fn report(self, cursor: &mut Cursor) {
        for span in self.missing.into_iter().filter(|_| self.semicolons > 0) {
            cursor.report(missing_semicolon(span));
        }
    }
}

fn missing_semicolon(last: Span) -> Diagnostic {
    let error = Diagnostic::error(last, "`;` is missing between two instructions");
    error.label("`;` is missing after this").help("end every instruction of the thread with `;`")
}

/// What places a thread.
const LEVELS: [&str; 7] = ["cta", "cluster", "gpu", "kernel", "host", "x86", "c11"];

#[derive(Copy, Clone, PartialEq, Eq)]
enum After {
    Cell,
    Row,
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
