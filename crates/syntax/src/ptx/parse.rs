//! The parser of PTX modules (ISA, "PTX Module Structure" and "Syntax").
//!
//! Directives and function headers are kept as written, from their first to their last token. Some directives end with
//! their line and the others with `;`, which is a property of the directive's name: see [`ends_with_line`].

use super::tree::{FunctionKind, Item, Module};
use crate::assembly::{Ends, Marks, Names, ptx::PtxReader, skip_instruction};
use crate::diagnostic::Diagnostic;
use crate::span::{Span, Spanned};
use crate::text::{Comments, Cursor, DEPTH_LIMIT, Kind, Token, finish, nearest};

/// A module and what is wrong with its text. With an error among the diagnostics the module is partial.
pub fn parse(text: &str) -> (Module, Vec<Diagnostic>) {
    let mut parser = Parser { cursor: Cursor::new(text, 0, Comments::C), marks: Marks::default() };
    let items = parser.items(0);
    (Module { items }, finish(parser.cursor.into_diagnostics()))
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    marks: Marks,
}

/// Directives that stand on a line of their own, without `;`.
pub(super) fn ends_with_line(name: &str) -> bool {
    matches!(name, "version" | "target" | "address_size" | "file" | "loc" | "section")
}

const LINKING: [&str; 4] = ["visible", "extern", "weak", "common"];

/// Every directive that may start a statement (ISA, "Directive Statements"); tuning directives may also stand alone.
const DIRECTIVES: [&str; 40] = [
    "version",
    "target",
    "address_size",
    "entry",
    "func",
    "alias",
    "branchtargets",
    "calltargets",
    "callprototype",
    "maxnreg",
    "maxntid",
    "reqntid",
    "minnctapersm",
    "maxnctapersm",
    "noreturn",
    "pragma",
    "abi_preserve",
    "abi_preserve_control",
    "section",
    "file",
    "loc",
    "visible",
    "extern",
    "weak",
    "common",
    "reg",
    "sreg",
    "const",
    "global",
    "local",
    "param",
    "shared",
    "tex",
    "texref",
    "surfref",
    "samplerref",
    "align",
    "attribute",
    "explicitcluster",
    "reqnctapercluster",
];

impl Parser<'_> {
    /// Items up to a `}` that the caller opened, or the end.
    fn items(&mut self, depth: u32) -> Vec<Spanned<Item>> {
        let mut items = Vec::new();
        loop {
            if self.cursor.at_end() || (depth > 0 && self.cursor.at("}")) {
                return items;
            }
            if self.cursor.eat(";").is_some() {
                continue;
            }
            let before = self.cursor.position();
            let start = self.cursor.peek();
            match self.item(depth) {
                Some(item) => {
                    let span = self.cursor.span(start).to(self.cursor.span(self.cursor.previous()));
                    items.push(Spanned::new(item, span));
                }
                None => {
                    skip_instruction(&mut self.cursor, Ends::Semicolon);
                    if self.cursor.position() == before {
                        self.cursor.bump();
                    }
                }
            }
        }
    }

    fn item(&mut self, depth: u32) -> Option<Item> {
        if self.cursor.at("{") {
            let open = self.cursor.here();
            self.cursor.bump();
            return self.body(open, depth).map(Item::Block);
        }
        if self.cursor.at(".") {
            return self.directive(depth);
        }
        if self.cursor.at_kind(Kind::Word) && self.cursor.is(1, ":") {
            let token = self.cursor.bump();
            self.cursor.bump();
            return Some(Item::Label(self.cursor.str(token).to_owned()));
        }
        if self.cursor.at("}") {
            let diagnostic = Diagnostic::error(self.cursor.here(), "this `}` closes nothing").label("no `{` before it");
            self.cursor.report(diagnostic);
            return None;
        }
        self.instruction()
    }

    fn instruction(&mut self) -> Option<Item> {
        let (cursor, marks) = (&mut self.cursor, &mut self.marks);
        let reader = PtxReader { cursor, marks, ends: Ends::Semicolon, names: Names::Module }.instruction();
        let instruction = reader?;
        self.semicolon("after the instruction")?;
        Some(Item::Instruction(instruction))
    }

    /// The `;` of a statement. Where the line ends without it, what comes next is a statement of its own.
    fn semicolon(&mut self, why: &str) -> Option<()> {
        let last = self.cursor.span(self.cursor.previous());
        if self.cursor.at(";") || !self.cursor.peek().newline {
            return self.cursor.expect(";", why).map(|_| ());
        }
        let missing = Diagnostic::error(Span::new(last.end.saturating_sub(1), last.end), format!("expected `;` {why}"));
        self.cursor.report(missing.label("`;` is missing after this"));
        Some(())
    }

    /// After `{`.
    fn body(&mut self, open: Span, depth: u32) -> Option<Vec<Spanned<Item>>> {
        if depth >= DEPTH_LIMIT {
            self.cursor.error(open, format!("blocks nest deeper than {DEPTH_LIMIT} levels"));
            self.cursor.give_up();
            return None;
        }
        let items = self.items(depth + 1);
        if self.cursor.eat("}").is_none() {
            let diagnostic = Diagnostic::error(open, "this `{` is never closed").label("opened here");
            self.cursor.report(diagnostic.help("close it with `}`"));
        }
        Some(items)
    }

    fn directive(&mut self, depth: u32) -> Option<Item> {
        let start = self.cursor.bump();
        let token = self.cursor.peek();
        if token.kind != Kind::Word || token.spaced {
            self.cursor.unexpected("a directive directly after `.`");
            return None;
        }
        self.cursor.bump();
        let name = self.cursor.str(token).to_owned();
        let span = self.cursor.span(start).to(self.cursor.span(token));
        let name = self.known(name, span)?;
        if let Some(kind) = self.function_kind(&name) {
            return self.function(start, kind, &name, depth);
        }
        let text = if name == "section" { self.section_text()? } else { self.directive_text(&name)? };
        Some(Item::Directive { name, text })
    }

    /// The name if it is a directive's; after a report, the one that was probably meant, so that its body is not noise.
    fn known(&mut self, name: String, span: Span) -> Option<String> {
        if DIRECTIVES.contains(&name.as_str()) {
            return Some(name);
        }
        let diagnostic = Diagnostic::error(span, format!("unknown directive `.{name}`")).label("not a directive");
        let near = nearest(&name, &DIRECTIVES);
        self.cursor.report(match near {
            Some(near) => diagnostic.help(format!("did you mean `.{near}`?")),
            None => diagnostic,
        });
        near.map(str::to_owned)
    }

    /// Whether the directive under way is (or, after linking directives, leads to) `.entry` or `.func`.
    fn function_kind(&self, name: &str) -> Option<FunctionKind> {
        let mut name = name;
        let mut ahead = 0;
        loop {
            match name {
                "entry" => return Some(FunctionKind::Entry),
                "func" => return Some(FunctionKind::Function),
                _ if !LINKING.contains(&name) || !self.cursor.is(ahead, ".") => return None,
                _ => name = self.cursor.str(self.cursor.ahead(ahead + 1)),
            }
            ahead += 2;
        }
    }

    /// The rest of a directive as written, without its `;`.
    fn directive_text(&mut self, name: &str) -> Option<String> {
        let line = ends_with_line(name);
        let first = self.cursor.peek();
        let ended = |cursor: &Cursor| cursor.at_end() || cursor.at(";") || (line && cursor.peek().newline);
        let mut braces = 0usize;
        while !ended(&self.cursor) {
            // `.global .u32 x[2] = {1, 2};` has braces of its own; a stray one means that `;` was forgotten.
            if self.cursor.at("{") {
                braces += 1;
            } else if self.cursor.at("}") {
                if braces == 0 {
                    break;
                }
                braces -= 1;
            }
            self.cursor.bump();
        }
        let text = self.text_from(first);
        if !line {
            self.semicolon(&format!("after `.{name}`"))?;
        } else if self.cursor.at(";") {
            self.cursor.bump();
        }
        Some(text)
    }

    /// `.debug_info { … }`, with its data lines.
    fn section_text(&mut self) -> Option<String> {
        let first = self.cursor.peek();
        while !self.cursor.at_end() && !self.cursor.at("{") && !self.cursor.at("}") && !self.cursor.at(";") {
            self.cursor.bump();
        }
        let open = self.cursor.expect("{", "to open the section")?;
        let mut depth = 1usize;
        while depth > 0 {
            if self.cursor.at_end() {
                self.cursor.report(Diagnostic::error(open, "this section is never closed").help("close it with `}`"));
                return None;
            }
            depth = match () {
                () if self.cursor.at("{") => depth + 1,
                () if self.cursor.at("}") => depth - 1,
                () => depth,
            };
            self.cursor.bump();
        }
        Some(self.text_from(first))
    }

    /// The source from `first` to the token before the cursor.
    fn text_from(&self, first: Token) -> String {
        let end = self.cursor.previous().end;
        self.cursor.raw(first.start.min(end), end).to_owned()
    }

    /// A definition; a prototype (`;` instead of a body) is a directive.
    fn function(&mut self, start: Token, kind: FunctionKind, first: &str, depth: u32) -> Option<Item> {
        let rest = self.cursor.peek();
        while !self.cursor.at_end() && self.cursor.str(self.cursor.previous()) != keyword(kind) {
            self.cursor.bump();
        }
        if self.cursor.at("(") {
            self.skip_parentheses();
        }
        let name = self.cursor.word("the name of the function")?;
        while !self.cursor.at_end() && !self.cursor.at("{") && !self.cursor.at("}") && !self.cursor.at(";") {
            self.cursor.bump();
        }
        let header = self.text_from(start);
        let text = self.text_from(rest);
        if self.cursor.eat(";").is_some() {
            return Some(Item::Directive { name: first.to_owned(), text });
        }
        let open = self.cursor.expect("{", "to open the function")?;
        let body = self.body(open, depth)?;
        Some(Item::Function { kind, name, header, body })
    }

    fn skip_parentheses(&mut self) {
        let mut depth = 0usize;
        while !self.cursor.at_end() {
            if self.cursor.at("(") {
                depth += 1;
            } else if self.cursor.at(")") {
                depth -= 1;
            }
            self.cursor.bump();
            if depth == 0 {
                return;
            }
        }
    }
}

fn keyword(kind: FunctionKind) -> &'static str {
    match kind {
        FunctionKind::Entry => "entry",
        FunctionKind::Function => "func",
    }
}
