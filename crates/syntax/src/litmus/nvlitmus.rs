//! NVIDIA's NVLitmus notation: address lines, `d0.b0.t0 { … }` threads, then `permit`, `assert` and `check` commands.
//!
//! `ld r0, [x] == 1` assumes the loaded value; registers are unique in the file, so conditions do not name threads.

use super::parser::Parser;
use super::template::Instance;
use super::tree::{Arch, Dialect, Layout, Litmus, Moment, Placement, Question, QuestionKind, Statement, Thread};
use crate::assembly::Ends;
use crate::diagnostic::Diagnostic;
use crate::span::{Span, Spanned};
use crate::text::{Comments, Cursor, Kind, View, finish, nearest};

const COMMANDS: [&str; 3] = ["permit", "assert", "check"];

pub(super) fn parse_instance(stem: &str, instance: &Instance) -> (Option<Litmus>, Vec<Diagnostic>) {
    let (litmus, diagnostics) = parse_with(stem, instance, View::Template);
    if diagnostics.is_empty() {
        return (Some(litmus), diagnostics);
    }
    // What a person must mend is the row, not the `$n` it went into.
    let (_, diagnostics) = parse_with(stem, instance, View::Row);
    let usable = !diagnostics.iter().any(Diagnostic::is_error);
    (Some(litmus).filter(|_| usable), diagnostics)
}

fn parse_with(stem: &str, instance: &Instance, view: View) -> (Litmus, Vec<Diagnostic>) {
    let cursor = Cursor::mapped(&instance.text, Comments::Litmus, &instance.map, view);
    let mut parser = Parser { registers_are_unique: true, ..Parser::new(cursor, Arch::Ptx) };
    let name = match instance.row {
        Some(row) => format!("{stem}#{row}"),
        None => stem.to_owned(),
    };
    let litmus = parser.instance(Spanned::new(name, instance.span));
    (litmus, finish(parser.cursor.into_diagnostics()))
}

impl Parser<'_> {
    fn instance(&mut self, name: Spanned<String>) -> Litmus {
        let mut declarations = Vec::new();
        while self.cursor.at(".") {
            if self.declaration(&mut declarations).is_none() || self.cursor.expect(";", "after the address").is_none() {
                self.skip_to_semicolon();
            }
        }
        let mut threads: Vec<Thread> = Vec::new();
        while !self.cursor.at_end() && !self.at_command() {
            let before = self.cursor.position();
            if let Some(thread) = self.nv_thread() {
                match threads.iter_mut().find(|other| other.name.node == thread.name.node) {
                    // A thread that stands twice goes on where it stopped.
                    Some(begun) => begun.body.extend(thread.body),
                    None => threads.push(thread),
                }
            } else {
                self.skip_thread(before);
            }
        }
        if threads.is_empty() {
            self.cursor.unexpected("a thread, such as `d0.b0.t0 { … }`");
        }
        let questions = self.commands();
        super::registers::resolve(&declarations, &mut threads);
        Litmus {
            arch: Arch::Ptx,
            layout: Layout::NvLitmus,
            dialect: Dialect::NvLitmus,
            name,
            comments: String::new(),
            declarations,
            threads,
            locations: Vec::new(),
            filter: None,
            recovery: None,
            questions,
        }
    }

    fn skip_to_semicolon(&mut self) {
        while !self.cursor.at_end() && self.cursor.eat(";").is_none() {
            self.cursor.bump();
        }
    }

    fn skip_thread(&mut self, before: usize) {
        while !self.cursor.at_end() && !self.cursor.at("}") && !self.at_command() {
            self.cursor.bump();
        }
        self.cursor.eat("}");
        if self.cursor.position() == before {
            self.cursor.bump();
        }
    }

    /// `d0.b0.t1 { … }`: device, block (CTA) and thread.
    fn nv_thread(&mut self) -> Option<Thread> {
        let start = self.cursor.here();
        let gpu = self.nv_level('d')?;
        self.cursor.expect(".", "after the device")?;
        let cta = self.nv_level('b')?;
        self.cursor.expect(".", "after the block")?;
        let thread = self.nv_level('t')?;
        let span = start.to(self.cursor.span(self.cursor.previous()));
        let name = Spanned::new(format!("d{gpu}.b{cta}.t{thread}"), span);
        self.cursor.expect("{", "to open the thread")?;
        let body = self.nv_body(&name)?;
        Some(Thread {
            name,
            arch: Arch::Ptx,
            parameters: Vec::new(),
            placement: Placement { cta: Some(cta), gpu: Some(gpu), ..Placement::default() },
            body,
        })
    }

    fn nv_level(&mut self, letter: char) -> Option<u32> {
        let token = self.cursor.peek();
        let number = self.cursor.str(token).strip_prefix(letter).and_then(|digits| digits.parse::<u32>().ok());
        if token.kind != Kind::Word || number.is_none() {
            self.cursor.unexpected(&format!("`{letter}` and a number, as in `d0.b0.t0`"));
            return None;
        }
        self.cursor.bump();
        number
    }

    fn nv_body(&mut self, name: &Spanned<String>) -> Option<Vec<Statement>> {
        let mut body = Vec::new();
        loop {
            if self.cursor.eat("}").is_some() {
                return Some(body);
            }
            if self.cursor.at_end() {
                self.cursor.unexpected(&format!("`}}` to close thread `{}`", name.node));
                return None;
            }
            if self.cursor.eat(";").is_some() {
                continue;
            }
            if self.nv_statement(&mut body).is_none() {
                crate::assembly::skip_instruction(&mut self.cursor, Ends::Semicolon);
            }
        }
    }

    fn nv_statement(&mut self, body: &mut Vec<Statement>) -> Option<()> {
        self.statement(Arch::Ptx, body, Ends::Semicolon)?;
        match body.last_mut() {
            Some(Statement::Instruction { assume, .. }) => {
                if self.cursor.eat("==").is_some() {
                    *assume = Some(self.integer()?);
                }
                self.cursor.expect(";", "after the instruction").map(|_| ())
            }
            _ => Some(()),
        }
    }

    fn at_command(&self) -> bool {
        COMMANDS.iter().any(|command| self.cursor.at(command)) || self.misspelt_command().is_some()
    }

    fn misspelt_command(&self) -> Option<&'static str> {
        let token = self.cursor.peek();
        let candidate = token.kind == Kind::Word && self.cursor.is(1, "(");
        candidate.then(|| nearest(self.cursor.str(token), &COMMANDS)).flatten()
    }

    fn commands(&mut self) -> Vec<Question> {
        let mut questions = Vec::new();
        while !self.cursor.at_end() {
            if self.cursor.eat(";").is_some() {
                continue;
            }
            match self.command() {
                Some(question) => questions.push(question),
                None => self.skip_to_semicolon(),
            }
        }
        questions
    }

    fn command(&mut self) -> Option<Question> {
        let span = self.cursor.here();
        let kind = self.command_kind(span)?;
        self.cursor.expect("(", "before the condition")?;
        let condition = self.condition()?;
        self.cursor.expect(")", "after the condition")?;
        let name = match self.cursor.eat("as") {
            Some(_) => Some(self.cursor.word("the name of the command")?),
            None => None,
        };
        self.cursor.expect(";", "after the command")?;
        Some(Question { kind, name, condition, moment: Moment::End, span: Spanned::new((), span) })
    }

    fn command_kind(&mut self, span: Span) -> Option<QuestionKind> {
        let token = self.cursor.peek();
        let kind = match self.cursor.str(token) {
            "permit" => QuestionKind::Permit,
            "assert" => QuestionKind::Assert,
            "check" => QuestionKind::Check,
            other => {
                let diagnostic = self.cursor.unexpected_diagnostic("`permit`, `assert` or `check`");
                self.cursor.report(match nearest(other, &COMMANDS) {
                    Some(near) => Diagnostic::error(span, format!("unknown command `{other}`"))
                        .label("not a command")
                        .help(format!("did you mean `{near}`?")),
                    None => diagnostic,
                });
                return None;
            }
        };
        self.cursor.bump();
        Some(kind)
    }
}
