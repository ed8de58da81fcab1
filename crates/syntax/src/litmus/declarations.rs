//! The `{ … }` block: initial values, typed registers, state spaces and aliases.
//!
//! herd's and Dartagnan's entries (`x = 1`, `int x`, `P0:r1 = x`, `t @ texture aliases x`), PTX's (`.global .u32 x = 1`,
//! `.reg .pred %p<4>`) and NVLitmus's (`.texref t virtually aliases x`) may stand side by side.

use super::parser::Parser;
use super::tree::{AliasKind, Arch, Declaration, InitialAddress, InitialValue, LocationType};
use crate::diagnostic::Diagnostic;
use crate::span::{Span, Spanned};
use crate::text::{Kind, nearest};

pub(super) type Declarations = Vec<Spanned<Declaration>>;

const SPACES: [&str; 6] = ["global", "shared", "const", "local", "param", "tmem"];
/// The shared memory a CTA can have (CUDA, compute capability 9.0 and 10.0).
const DYNAMIC_BYTES: u32 = 227 * 1024;
/// The word for memory that survives a crash.
pub(super) const NVM: &str = "nvm";
const PROXIES: [&str; 5] = ["generic", "constant", "texture", "surface", "multimem"];
const DIRECTIVES: [&str; 15] = [
    "global", "shared", "const", "local", "param", "tmem", "reg", "texref", "surfref", "conref", "version", "target",
    "launch", "stream", "event",
];

impl Parser<'_> {
    pub(super) fn declarations(&mut self) -> Declarations {
        let mut declarations = Vec::new();
        if self.cursor.eat("{").is_none() {
            let diagnostic = self.cursor.unexpected_diagnostic("the declarations `{ … }`");
            self.cursor.report(diagnostic.help("write `{ }` after the header if there is nothing to declare"));
            return declarations;
        }
        loop {
            if self.cursor.eat("}").is_some() {
                self.cursor.eat(";");
                return declarations;
            }
            if self.cursor.at_end() {
                self.cursor.unexpected("`}` to close the declarations");
                return declarations;
            }
            if self.cursor.eat(";").is_some() {
                continue;
            }
            let before = self.cursor.position();
            let parsed = self.declaration(&mut declarations);
            if parsed.is_some() && !self.cursor.at(";") && !self.cursor.at("}") {
                self.cursor.unexpected("`;` after the declaration");
            }
            if parsed.is_none() || !self.cursor.at(";") {
                self.skip_declaration(before);
            }
        }
    }

    fn skip_declaration(&mut self, before: usize) {
        while !self.cursor.at_end() && !self.cursor.at(";") && !self.cursor.at("}") {
            self.cursor.bump();
        }
        if self.cursor.position() == before && !self.cursor.at("}") {
            self.cursor.bump();
        }
    }

    /// One entry; a `.reg` list and a typed register with a value give several declarations.
    pub(super) fn declaration(&mut self, declarations: &mut Declarations) -> Option<()> {
        let start = self.cursor.here();
        if self.at_persistent() {
            return self.persistent(declarations);
        }
        if self.at_thread_prefix() {
            let thread = self.thread_prefix()?;
            if self.cursor.at(".") {
                return self.directive(start, Some(thread), declarations);
            }
            return self.register(start, thread, None, declarations);
        }
        if self.cursor.at(".") {
            return self.directive(start, None, declarations);
        }
        if self.cursor.eat("[").is_some() {
            let name = self.location_name()?;
            self.cursor.expect("]", "to close the location")?;
            return self.location_entry(start, name, None, None, declarations);
        }
        if self.cursor.eat("*").is_some() {
            let name = self.location_name()?;
            return self.location_entry(start, name, None, None, declarations);
        }
        let mut name = self.location_name()?;
        if self.cursor.at("*") && self.cursor.ahead(1).kind == Kind::Word {
            // `uint64_t* p = x`: a pointer.
            self.cursor.bump();
            name.node.push('*');
        }
        if self.cursor.at_kind(Kind::Word) {
            let ty = name;
            let name = self.location_name_after_type(start, &ty, declarations)?;
            return match name {
                Some(name) => self.location_entry(start, name, None, Some(ty), declarations),
                None => Some(()),
            };
        }
        if self.cursor.at_kind(Kind::Number) && self.at_thread_prefix() {
            let thread = self.thread_prefix()?;
            return self.register(start, thread, Some(name), declarations);
        }
        if self.cursor.eat("@").is_some() {
            if self.cursor.at("multimem") {
                return self.multimem(start, name, declarations);
            }
            let kind = self.proxy()?;
            self.cursor.expect("aliases", "after the proxy")?;
            return self.alias(start, name, kind, declarations);
        }
        self.location_entry(start, name, None, None, declarations)
    }

    /// `nvm` before a declaration, and not a location of that name.
    fn at_persistent(&self) -> bool {
        let is_ptx = self.arch == Arch::Ptx;
        let begins = self.cursor.ahead(1).kind == Kind::Word
            || is_ptx && [".", "[", "*"].iter().any(|mark| self.cursor.is(1, mark));
        self.cursor.at(NVM) && begins
    }

    /// `nvm x = 0`, `nvm .global .u32 x = 0`: the location that is declared behind the word survives a crash.
    fn persistent(&mut self, declarations: &mut Declarations) -> Option<()> {
        let word = self.cursor.here();
        self.cursor.bump();
        if self.arch != Arch::Ptx {
            let error = Diagnostic::error(word, format!("`{NVM}` stands in a test that is not PTX"));
            let help = "no model here says what a crash leaves of other programs: write the threads in PTX";
            self.cursor.report(error.label("persistent memory").help(help));
        }
        let before = declarations.len();
        self.declaration(declarations)?;
        for declaration in declarations.iter_mut().skip(before) {
            declaration.span = word.to(declaration.span);
            match &mut declaration.node {
                Declaration::Location { is_persistent, .. } if !*is_persistent => *is_persistent = true,
                _ => {
                    let error = Diagnostic::error(word, format!("`{NVM}` declares a location as persistent"));
                    self.cursor.report(error.label("no location follows").help(format!("write `{NVM} x = 0`")));
                }
            }
        }
        Some(())
    }

    /// `multimem aliases x, y`, after the name and `@`.
    fn multimem(&mut self, start: Span, name: Spanned<String>, declarations: &mut Declarations) -> Option<()> {
        self.cursor.bump();
        self.cursor.expect("aliases", "after `multimem`")?;
        let mut replicas = vec![self.location_name()?];
        while self.cursor.eat(",").is_some() {
            replicas.push(self.location_name()?);
        }
        let span = replicas.iter().fold(start, |span, replica| span.to(replica.span));
        declarations.push(Spanned::new(Declaration::Multimem { name, replicas }, span));
        Some(())
    }

    /// After `int`: the name of a location, or None when `P0:r1` made a register of it.
    #[allow(clippy::option_option)] // outer: was there an error; inner: was it a location
    fn location_name_after_type(
        &mut self,
        start: Span,
        ty: &Spanned<String>,
        declarations: &mut Declarations,
    ) -> Option<Option<Spanned<String>>> {
        if self.at_thread_prefix() {
            let thread = self.thread_prefix()?;
            self.register(start, thread, Some(ty.clone()), declarations)?;
            return Some(None);
        }
        self.location_name().map(Some)
    }

    fn register(
        &mut self,
        start: Span,
        thread: u32,
        ty: Option<Spanned<String>>,
        out: &mut Declarations,
    ) -> Option<()> {
        let register = self.register_name()?;
        if ty.is_none() || self.cursor.at("=") {
            self.cursor.expect("=", "and the register's initial value")?;
            let value = self.initial_value()?;
            let span = start.to(value.span);
            if let Some(ty) = ty {
                let register = register.clone();
                out.push(Spanned::new(Declaration::TypedRegister { thread: Some(thread), register, ty }, span));
            }
            out.push(Spanned::new(Declaration::Register { thread, register, value }, span));
            return Some(());
        }
        let ty = ty.unwrap_or_else(|| register.clone());
        let span = start.to(register.span);
        out.push(Spanned::new(Declaration::TypedRegister { thread: Some(thread), register, ty }, span));
        Some(())
    }

    /// `x`, `x = 1`, `x[4]`, `x[2][4]`, after its type and state space.
    fn location_entry(
        &mut self,
        start: Span,
        name: Spanned<String>,
        space: Option<String>,
        ty: Option<Spanned<String>>,
        declarations: &mut Declarations,
    ) -> Option<()> {
        let mut span = start.to(name.span);
        let (mut length, mut inner) = (None, Vec::new());
        if let Some(open) = self.cursor.eat("[") {
            // Of dynamic shared memory the launch says the size: as much as there is.
            let is_dynamic = space.as_deref() == Some("shared") && self.cursor.at("]");
            length = match (is_dynamic, &ty) {
                (true, Some(ty)) => Some(self.dynamic_length(&name, &ty.node, declarations)),
                _ => {
                    let value = self.integer()?;
                    Some(self.small(&value)?)
                }
            };
            let end = self.cursor.expect("]", "to close the length")?;
            while self.cursor.eat("[").is_some() {
                let value = self.integer()?;
                inner.push(self.small(&value)?);
                self.cursor.expect("]", "to close the length")?;
            }
            if ty.is_none() {
                let diagnostic = Diagnostic::error(open.to(end), "an array needs the type of its elements");
                self.cursor.report(diagnostic.help("write `.global .u32 x[4]` or `int x[4]`"));
                return None;
            }
        }
        let mut value = None;
        if self.cursor.eat("=").is_some() {
            let parsed = self.initial_value()?;
            span = span.to(parsed.span);
            value = Some(parsed);
        }
        let ty = ty.map(|ty| Spanned::new(LocationType { name: ty.node, length, inner, align: None }, ty.span));
        declarations.push(Spanned::new(Declaration::Location { name, is_persistent: false, space, ty, value }, span));
        Some(())
    }

    /// All names of dynamic shared memory start at the same byte (PTX ISA 5.4.4): there is one.
    fn dynamic_length(&mut self, name: &Spanned<String>, ty: &str, declarations: &Declarations) -> u32 {
        let is_other = |other: &Declaration| match other {
            Declaration::Location { name: other, ty: Some(ty), .. } => {
                let is_dynamic = ty.node.length == Some(DYNAMIC_BYTES / element_bytes(&ty.node.name));
                is_dynamic && other.node != name.node
            }
            _ => false,
        };
        if declarations.iter().any(|declaration| is_other(&declaration.node)) {
            let message = format!("`{}` would be the same bytes as the dynamic shared memory before it", name.node);
            let help = "declare one, and add the offset to its address";
            self.cursor.report(Diagnostic::error(name.span, message).label("a second name").help(help));
        }
        DYNAMIC_BYTES / element_bytes(ty)
    }

    fn initial_value(&mut self) -> Option<Spanned<InitialValue>> {
        if self.cursor.at("{") {
            let start = self.cursor.here();
            let Some(values) = self.initial_list() else {
                self.skip_list();
                return None;
            };
            let span = start.to(self.cursor.span(self.cursor.previous()));
            return Some(Spanned::new(InitialValue::List(values), span));
        }
        if self.cursor.at_kind(Kind::Number) || self.cursor.at("-") {
            let value = self.integer()?;
            return Some(Spanned::new(InitialValue::Integer(value.node), value.span));
        }
        if let Some(span) = self.cursor.eat("?") {
            return Some(Spanned::new(InitialValue::Unknown, span));
        }
        if self.cursor.at("&") {
            return self.initial_address();
        }
        if !self.cursor.at_kind(Kind::Word) {
            self.cursor.unexpected("an integer, the name of a location, or `?`");
            return None;
        }
        let name = self.instance_name()?;
        Some(Spanned::new(InitialValue::Name(name.node), name.span))
    }

    /// `{1, &x}`, at least one.
    fn initial_list(&mut self) -> Option<Vec<Spanned<InitialValue>>> {
        self.cursor.expect("{", "to open the list")?;
        let mut values = vec![self.initial_element()?];
        while self.cursor.eat(",").is_some() && !self.cursor.at("}") {
            values.push(self.initial_element()?);
        }
        self.cursor.expect("}", "to close the list")?;
        Some(values)
    }

    fn initial_element(&mut self) -> Option<Spanned<InitialValue>> {
        if self.cursor.at("&") {
            return self.initial_address();
        }
        let value = self.integer()?;
        Some(Spanned::new(InitialValue::Integer(value.node), value.span))
    }

    /// `&x`, `&x[2]`, `&x+8`.
    fn initial_address(&mut self) -> Option<Spanned<InitialValue>> {
        let start = self.cursor.here();
        self.cursor.bump();
        let name = self.instance_name()?;
        let mut span = start.to(name.span);
        let mut element = None;
        if self.cursor.eat("[").is_some() {
            let index = self.integer()?;
            element = Some(self.small(&index)?);
            span = span.to(self.cursor.expect("]", "to close the index")?);
        }
        let mut offset = 0;
        if let Some(sign) = ["+", "-"].into_iter().find(|sign| self.cursor.at(sign)) {
            self.cursor.bump();
            let value = self.integer()?;
            offset = if sign == "-" { value.node.saturating_neg() } else { value.node };
            span = span.to(value.span);
        }
        let address = InitialAddress { name: name.node, element, offset };
        Some(Spanned::new(InitialValue::Address(address), span))
    }

    /// After an error in a list: behind the brace that closes it.
    fn skip_list(&mut self) {
        let mut depth = 1u32;
        while depth > 0 && !self.cursor.at_end() && !self.cursor.at(";") {
            depth = match self.cursor.str(self.cursor.peek()) {
                "{" => depth.saturating_add(1),
                "}" => depth - 1,
                _ => depth,
            };
            self.cursor.bump();
        }
    }

    fn proxy(&mut self) -> Option<AliasKind> {
        let word = self.cursor.word("a proxy")?;
        let kind = match word.node.as_str() {
            "generic" => AliasKind::Generic,
            "constant" => AliasKind::Constant,
            "texture" => AliasKind::Texture,
            "surface" => AliasKind::Surface,
            other => {
                let diagnostic = Diagnostic::error(word.span, format!("`{other}` is not a proxy")).label("not a proxy");
                self.cursor.report(diagnostic.help(match nearest(other, &PROXIES) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the proxies are {}", PROXIES.join(", ")),
                }));
                return None;
            }
        };
        Some(kind)
    }

    fn alias(&mut self, start: Span, name: Spanned<String>, kind: AliasKind, out: &mut Declarations) -> Option<()> {
        let target = self.location_name()?;
        let span = start.to(target.span);
        out.push(Spanned::new(Declaration::Alias { name, kind, target }, span));
        Some(())
    }

    /// `.global …`, `.reg …`, `.texref …`.
    fn directive(&mut self, start: Span, thread: Option<u32>, declarations: &mut Declarations) -> Option<()> {
        let (word, span) = self.dotted("a directive")?;
        if word == "reg" && self.arch == Arch::Ptx {
            return self.typed_registers(start, thread, declarations);
        }
        if thread.is_some() {
            let message = format!("`.{word}` declares no register");
            self.cursor
                .report(Diagnostic::error(span, message).help("only `.reg` and initial values belong to a thread"));
            return None;
        }
        if self.arch == Arch::Ptx {
            match word.as_str() {
                "launch" => return self.launches(start, declarations),
                "stream" => return self.stream(start, declarations),
                "event" => return self.event(start, declarations),
                _ => {}
            }
        }
        if matches!(word.as_str(), "version" | "target") {
            return self.module_directive(start, &word, declarations);
        }
        let kind = match word.as_str() {
            "texref" => Some(AliasKind::Texture),
            "surfref" => Some(AliasKind::Surface),
            "conref" | "constref" => Some(AliasKind::Constant),
            _ => None,
        };
        if let Some(kind) = kind {
            let name = self.location_name()?;
            self.cursor.expect("virtually", "after the reference")?;
            self.cursor.expect("aliases", "after `virtually`")?;
            return self.alias(start, name, kind, declarations);
        }
        // What other modules see of a name changes nothing here.
        let (word, span) = match word.as_str() {
            "extern" | "visible" | "weak" if self.cursor.at(".") => self.dotted("a state space")?,
            _ => (word, span),
        };
        if !SPACES.contains(&word.as_str()) {
            self.unknown_directive(&word, span);
            return None;
        }
        let (ty, align) = self.location_type()?;
        let name = self.location_name()?;
        if self.cursor.eat("physically").is_some() {
            self.cursor.expect("aliases", "after `physically`")?;
            return self.alias(start, name, AliasKind::Generic, declarations);
        }
        self.location_entry(start, name, Some(word), ty, declarations)?;
        if let Some(Declaration::Location { ty: Some(ty), .. }) = declarations.last_mut().map(|last| &mut last.node) {
            ty.node.align = align;
        }
        Some(())
    }

    /// `.version 8.6` and `.target sm_90a, debug`, after their word.
    fn module_directive(&mut self, start: Span, word: &str, declarations: &mut Declarations) -> Option<()> {
        if word == "version" {
            let token = self.cursor.bump();
            let mut text = self.cursor.str(token).to_owned();
            let mut span = self.cursor.span(token);
            // The number may come as one token or as three.
            while self.cursor.at(".") || (text.ends_with('.') && self.cursor.at_kind(Kind::Number)) {
                let token = self.cursor.bump();
                text.push_str(self.cursor.str(token));
                span = span.to(self.cursor.span(token));
            }
            let number =
                text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
            let Some((major, minor)) = number else {
                let diagnostic = Diagnostic::error(span, format!("`{text}` is no version of the PTX ISA"));
                self.cursor.report(diagnostic.label("not a version").help("write `.version 8.6`"));
                return None;
            };
            declarations.push(Spanned::new(Declaration::Version { major, minor }, start.to(span)));
            return Some(());
        }
        let mut targets = vec![self.cursor.word("a target such as `sm_90a`")?];
        while self.cursor.eat(",").is_some() {
            targets.push(self.cursor.word("a target such as `sm_90a`")?);
        }
        let span = targets.iter().fold(start, |span, target| span.to(target.span));
        declarations.push(Spanned::new(Declaration::Target { targets }, span));
        Some(())
    }

    fn unknown_directive(&mut self, word: &str, span: Span) {
        let diagnostic = Diagnostic::error(span, format!("`.{word}` declares nothing")).label("unknown directive");
        if matches!(word, "entry" | "func" | "maxntid" | "minnctapersm" | "reqntid" | "reqnctapercluster") {
            let help = "a thread of a test is the body of a kernel: `P0@cta 0, gpu 0 { … }`, without its head";
            self.cursor.report(diagnostic.help(help));
            return;
        }
        self.cursor.report(diagnostic.help(match nearest(word, &DIRECTIVES) {
            Some(near) => format!("did you mean `.{near}`?"),
            None => format!("known here: .{}", DIRECTIVES.join(", .")),
        }));
    }

    /// `.align 8 .b32`: the type and the alignment, each if there is one. None after a report.
    fn location_type(&mut self) -> Option<(Option<Spanned<String>>, Option<u32>)> {
        let (mut ty, mut align) = (None, None);
        while self.cursor.at(".") {
            let (word, span) = self.dotted("a type")?;
            if word == "align" {
                let bytes = self.integer()?;
                align = Some(self.small(&bytes)?);
            } else if ty.replace(Spanned::new(word, span)).is_some() {
                self.cursor.error(span, "a second type");
                return None;
            }
        }
        Some((ty, align))
    }

    /// The word after a dot, and the span of both.
    fn dotted(&mut self, what: &str) -> Option<(String, Span)> {
        let dot = self.cursor.here();
        self.cursor.bump();
        if self.cursor.peek().spaced || !self.cursor.at_kind(Kind::Word) {
            self.cursor.unexpected(&format!("{what} directly after `.`"));
            return None;
        }
        let word = self.cursor.word(what)?;
        Some((word.node, dot.to(word.span)))
    }

    /// `.reg .u32 %r<4>, %x;`, after `.reg`.
    fn typed_registers(&mut self, start: Span, thread: Option<u32>, declarations: &mut Declarations) -> Option<()> {
        if !self.cursor.at(".") {
            self.cursor.unexpected("the type of the registers, such as `.u32`");
            return None;
        }
        let (ty, span) = self.dotted("a type")?;
        let ty = Spanned::new(ty, span);
        loop {
            let mut register = self.cursor.word("a register")?;
            if self.cursor.eat("<").is_some() {
                let count = self.integer()?;
                let count = Spanned::new(self.small(&count)?, count.span);
                let close = self.cursor.expect(">", "to close the number of registers")?;
                register = Spanned::new(format!("{}<{}>", register.node, count.node), register.span.to(close));
            }
            let span = start.to(register.span);
            declarations.push(Spanned::new(Declaration::TypedRegister { thread, register, ty: ty.clone() }, span));
            if self.cursor.eat(",").is_none() {
                return Some(());
            }
        }
    }
}

/// `b8`, `u32`, `f64`: as many bytes as the number of bits at the end says.
fn element_bytes(ty: &str) -> u32 {
    let bits = ty.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse::<u32>();
    bits.map_or(1, |bits| bits / 8).max(1)
}
