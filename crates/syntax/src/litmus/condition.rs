//! Conditions over final registers and memory: herd's `/\ \/ ~`, C's `&& || !`, and six comparisons.
//!
//! `~` binds tightest, then herd's `=>`, which is read as a disjunction, then `/\`, then `\/`. Parentheses leave no trace except where they
//! change the grouping. Most people expect `=>` to bind least, so beside `/\` or `\/` it is warned of.

use std::borrow::Cow;
use std::sync::Arc;

use super::parser::Parser;
use super::tree::{Arch, Comparison, Condition, Term};
use crate::assembly::{instance, is_numbered_register, ptx::bad_number, x86};
use crate::diagnostic::Diagnostic;
use crate::span::{Span, Spanned};
use crate::text::{DEPTH_LIMIT, Kind, LeadingZero, float_bits, integer, nearest};

type Parsed = Option<Spanned<Condition>>;

impl<'a> Parser<'a> {
    pub(super) fn condition(&mut self) -> Parsed {
        self.disjunction(0)
    }

    /// `a => b => c` is `~a \/ (~b \/ c)`, in one disjunction.
    fn implication(&mut self, depth: u32) -> Parsed {
        match self.unary(depth) {
            Some(first) if self.at_implies() => self.implied(first, depth),
            first => first,
        }
    }

    /// What follows the first condition of an implication. Apart, because conditions nest: what is rare takes no room on the
    /// stack of what is not.
    fn implied(&mut self, first: Spanned<Condition>, depth: u32) -> Parsed {
        let mut items = vec![first];
        while self.at_implies() {
            let sign = self.cursor.here();
            self.cursor.bump();
            let sign = sign.to(self.cursor.here());
            self.cursor.bump();
            items.push(self.unary(depth)?);
            self.bare_implication = Some(sign);
        }
        let last = items.len() - 1;
        let negated = |(index, item): (usize, Spanned<Condition>)| match index == last {
            true => item,
            false => Spanned::new(Condition::Not(Box::new(item.clone())), item.span),
        };
        Some(grouped(items.into_iter().enumerate().map(negated).collect(), Condition::Or))
    }

    fn at_implies(&self) -> bool {
        self.cursor.at("=") && self.cursor.is(1, ">") && !self.cursor.ahead(1).spaced
    }

    fn disjunction(&mut self, depth: u32) -> Parsed {
        match self.conjunction(depth) {
            Some(first) if self.eat_or() => self.disjoined(first, depth),
            first => first,
        }
    }

    fn disjoined(&mut self, first: Spanned<Condition>, depth: u32) -> Parsed {
        let mut items = Vec::with_capacity(2);
        items.push(first);
        items.push(self.conjunction(depth)?);
        while self.eat_or() {
            items.push(self.conjunction(depth)?);
        }
        self.warn_of_implication();
        Some(grouped(items, Condition::Or))
    }

    /// Where several conditions are joined.
    fn warn_of_implication(&mut self) {
        if let Some(sign) = self.bare_implication.take() {
            let warning = Diagnostic::warning(sign, "`=>` binds tighter than `/\\` and `\\/`, as in herd");
            self.cursor
                .report(warning.label("only its neighbours belong to it").help("put parentheses to say what is meant"));
        }
    }

    /// `\/` or `||`; the lexer leaves `|` single because columns use it.
    fn eat_or(&mut self) -> bool {
        let double = self.cursor.at("|") && self.cursor.is(1, "|") && !self.cursor.ahead(1).spaced;
        if double {
            self.cursor.bump();
            self.cursor.bump();
        }
        double || self.cursor.eat("\\/").is_some()
    }

    fn conjunction(&mut self, depth: u32) -> Parsed {
        match self.implication(depth) {
            Some(first) if self.eat_and() => self.conjoined(first, depth),
            first => first,
        }
    }

    fn conjoined(&mut self, first: Spanned<Condition>, depth: u32) -> Parsed {
        let mut items = Vec::with_capacity(2);
        items.push(first);
        items.push(self.implication(depth)?);
        while self.eat_and() {
            items.push(self.implication(depth)?);
        }
        self.warn_of_implication();
        Some(grouped(items, Condition::And))
    }

    fn eat_and(&mut self) -> bool {
        self.cursor.eat("/\\").or_else(|| self.cursor.eat("&&")).is_some()
    }

    /// `and` and `or` are what people say; the signs are what is read.
    pub(super) fn word_for_a_sign(&mut self) -> Option<()> {
        let signs = [("and", "/\\"), ("AND", "/\\"), ("&", "/\\"), ("or", "\\/"), ("OR", "\\/"), ("|", "\\/")];
        let Some((word, sign)) = signs.into_iter().find(|(word, _)| self.cursor.at(word)) else { return Some(()) };
        let error = Diagnostic::error(self.cursor.here(), format!("`{word}` does not join conditions"));
        self.cursor.report(error.label("no sign of a condition").help(format!("write `{sign}`")));
        None
    }

    fn unary(&mut self, depth: u32) -> Parsed {
        // Most are comparisons.
        let is_comparison = !matches!(self.cursor.peek().first, b'~' | b'!' | b'n' | b'(' | b't' | b'f');
        if is_comparison && depth < DEPTH_LIMIT {
            return self.comparison();
        }
        let start = self.cursor.here();
        if depth >= DEPTH_LIMIT {
            let message = format!("the condition nests deeper than {DEPTH_LIMIT} levels");
            self.cursor.report(Diagnostic::error(start, message).help("flatten it"));
            self.cursor.give_up();
            return None;
        }
        if self.cursor.eat("~").or_else(|| self.cursor.eat("!")).or_else(|| self.cursor.eat("not")).is_some() {
            let inner = self.unary(depth + 1)?;
            let span = start.to(inner.span);
            return Some(Spanned::new(Condition::Not(Box::new(inner)), span));
        }
        if self.cursor.eat("(").is_some() {
            let inner = self.disjunction(depth + 1)?;
            self.bare_implication = None;
            if let Some(end) = self.cursor.eat(")") {
                return Some(Spanned::new(inner.node, start.to(end)));
            }
            self.word_for_a_sign()?;
            self.cursor.expect(")", "to close the parenthesis")?;
            return None;
        }
        if let Some(span) = self.cursor.eat("true") {
            return Some(Spanned::new(Condition::True, span));
        }
        if let Some(span) = self.cursor.eat("false") {
            return Some(Spanned::new(Condition::False, span));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Parsed {
        let left = self.term()?;
        let token = self.cursor.peek();
        // herd's other sign for `!=`.
        let is_angled = self.cursor.at("<") && self.cursor.is(1, ">") && !self.cursor.ahead(1).spaced;
        if is_angled {
            self.cursor.bump();
        }
        let op = match self.cursor.str(token) {
            _ if is_angled => Comparison::NotEqual,
            "=" | "==" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterEqual,
            _ => {
                let expected = "a comparison (`=`, `!=`, `<`, `<=`, `>` or `>=`)";
                self.cursor.unexpected(expected);
                return None;
            }
        };
        self.cursor.bump();
        if let (Term::Location { name, index: None }, Comparison::Equal | Comparison::NotEqual, true) =
            (&left.node, op, self.cursor.at("{"))
        {
            let name = Arc::clone(name);
            let equal = self.elements(&name, left.span)?;
            let span = equal.span;
            let negated = || Spanned::new(Condition::Not(Box::new(equal.clone())), span);
            return Some(if op == Comparison::Equal { equal } else { negated() });
        }
        let right = self.term()?;
        let span = left.span.to(right.span);
        Some(Spanned::new(Condition::Compare { op, left, right }, span))
    }

    /// `0:EAX=0; x=1; and 0:EAX=1;`: final states, one of which is meant.
    pub(super) fn observed(&mut self) -> Parsed {
        let mut states = Vec::new();
        loop {
            let mut state = vec![self.comparison()?];
            while self.cursor.eat(";").is_some() && !self.cursor.at("and") && !self.cursor.at_end() {
                state.push(self.comparison()?);
            }
            states.push(grouped(state, Condition::And));
            if self.cursor.eat("and").is_none() {
                return Some(grouped(states, Condition::Or));
            }
        }
    }

    /// `t = {1, 2}`: every element of an array.
    fn elements(&mut self, name: &Arc<str>, start: Span) -> Parsed {
        let values = self.braced_integers()?;
        let compare = |(index, value): (u32, &Spanned<i128>)| {
            let left = Term::Location { name: Arc::clone(name), index: Some(index) };
            let (left, right) = (Spanned::new(left, start), Spanned::new(Term::Integer(value.node), value.span));
            Spanned::new(Condition::Compare { op: Comparison::Equal, left, right }, start.to(value.span))
        };
        Some(grouped((0..).zip(&values).map(compare).collect(), Condition::And))
    }

    /// `{1, -1}`, at least one.
    pub(super) fn braced_integers(&mut self) -> Option<Vec<Spanned<i128>>> {
        self.cursor.expect("{", "to open the list")?;
        let mut values = vec![self.integer()?];
        while self.cursor.eat(",").is_some() && !self.cursor.at("}") {
            values.push(self.integer()?);
        }
        self.cursor.expect("}", "to close the list")?;
        Some(values)
    }

    /// `P0:r1`, `0:%r1`, `x`, `x[2]`, `[x]`, `*x`, `17`, `-1`.
    pub(super) fn term(&mut self) -> Option<Spanned<Term>> {
        let start = self.cursor.here();
        if self.at_thread_prefix() {
            let thread = self.thread_prefix()?;
            let (name, end) = self.register_text()?;
            let name = self.shared.name(name);
            return Some(Spanned::new(Term::Register { thread: Some(thread), name }, start.to(end)));
        }
        if self.cursor.at_kind(Kind::Number) || self.cursor.at("-") {
            let value = self.integer()?;
            return Some(Spanned::new(Term::Integer(value.node), value.span));
        }
        if self.cursor.eat("*").is_some() {
            return self.location(start);
        }
        if self.cursor.eat("[").is_some() {
            let (name, _) = self.instance_text()?;
            let end = self.cursor.expect("]", "to close the location")?;
            let name = self.shared.name(name);
            return Some(Spanned::new(Term::Location { name, index: None }, start.to(end)));
        }
        if !self.cursor.at_kind(Kind::Word) {
            self.cursor.unexpected("a register, a location or a number");
            return None;
        }
        self.bare_name()
    }

    fn bare_name(&mut self) -> Option<Spanned<Term>> {
        let token = self.cursor.peek();
        let (text, span) = (self.cursor.str(token), self.cursor.span(token));
        let register = match self.arch {
            Arch::Ptx => text.starts_with('%') || is_numbered_register(text),
            Arch::C => false,
            Arch::X86 | Arch::X86_64 => text.starts_with('%') || x86::is_register(text),
        };
        if register && self.registers_are_unique {
            self.cursor.bump();
            let name = self.shared.name(text.into());
            return Some(Spanned::new(Term::Register { thread: None, name }, span));
        }
        if register {
            let help = format!("write `P0:{text}` for thread 0, or `[{text}]` for a location of that name");
            let diagnostic = Diagnostic::error(span, format!("the register `{text}` needs its thread")).label("whose?");
            self.cursor.report(diagnostic.help(help));
            return None;
        }
        if self.cursor.is(1, "(")
            && let Some(near) = nearest(text, &["exists", "forall"])
        {
            let message = format!("`{near}` cannot stand inside a condition");
            self.cursor.report(Diagnostic::error(span, message).help("a test has one quantifier, in front"));
            return None;
        }
        self.location(span)
    }

    fn location(&mut self, start: Span) -> Option<Spanned<Term>> {
        let (name, own) = self.instance_text()?;
        let mut span = start.to(own);
        let mut index = None;
        if self.cursor.eat("[").is_some() {
            let value = self.integer()?;
            index = Some(self.small(&value)?);
            if matches!(&*name, "true" | "false" | "not") || is_numbered_register(&name) {
                self.cursor.error(own, format!("`{name}` cannot be an array"));
                return None;
            }
            span = span.to(self.cursor.expect("]", "to close the index")?);
        }
        let name = self.shared.name(name);
        Some(Spanned::new(Term::Location { name, index }, span))
    }

    /// `s`, or `s@1`: the instance of CTA 1.
    pub(super) fn instance_name(&mut self) -> Option<Spanned<String>> {
        self.instance_text().map(|(name, span)| Spanned::new(name.into_owned(), span))
    }

    fn instance_text(&mut self) -> Option<(Cow<'a, str>, Span)> {
        let (name, span) = self.location_text()?;
        Some(match instance(&mut self.cursor) {
            Some((cta, end)) => (Cow::Owned(format!("{name}@{cta}")), span.to(end)),
            None => (Cow::Borrowed(name), span),
        })
    }

    /// A name that can be a location's: no register.
    pub(super) fn location_name(&mut self) -> Option<Spanned<String>> {
        self.location_text().map(|(name, span)| Spanned::new(name.to_owned(), span))
    }

    fn location_text(&mut self) -> Option<(&'a str, Span)> {
        let token = self.cursor.word_token("the name of a location")?;
        let (name, span) = (self.cursor.str(token), self.cursor.span(token));
        if name.starts_with('%') {
            let message = format!("`{name}` is a register, not a location");
            self.cursor.report(Diagnostic::error(span, message).label("expected a location"));
            return None;
        }
        Some((name, span))
    }

    /// `0:` or `P0:`.
    pub(super) fn at_thread_prefix(&self) -> bool {
        let token = self.cursor.peek();
        let head = match token.kind {
            Kind::Number => true,
            Kind::Word => token.first == b'P',
            _ => false,
        };
        let is_thread = || token.kind == Kind::Number || thread_digits(self.cursor.str(token)).is_some();
        head && self.cursor.is(1, ":") && is_thread()
    }

    pub(super) fn thread_prefix(&mut self) -> Option<u32> {
        let token = self.cursor.bump();
        self.cursor.bump();
        if let Some(digit) = token.digit() {
            return Some(digit);
        }
        let text = self.cursor.str(token);
        let number = thread_digits(text).unwrap_or(text).parse::<u32>();
        if number.is_err() {
            let span = self.cursor.span(token);
            self.cursor
                .report(Diagnostic::error(span, format!("`{text}` is not a thread")).label("expected P0, P1, …"));
        }
        number.ok()
    }

    /// A register after `P0:`. x86 names are upper case in the tree; PTX's special registers have a part (`%tid.x`).
    pub(super) fn register_name(&mut self) -> Option<Spanned<String>> {
        self.register_text().map(|(name, span)| Spanned::new(name.into_owned(), span))
    }

    fn register_text(&mut self) -> Option<(Cow<'a, str>, Span)> {
        let token = self.cursor.word_token("a register")?;
        let (name, span) = (self.cursor.str(token), self.cursor.span(token));
        if matches!(self.arch, Arch::X86 | Arch::X86_64) {
            let plain = name.trim_start_matches('%');
            // herd's symbolic registers stay as they are written.
            let is_symbolic = plain.len() < name.len() && !x86::is_register(plain);
            return Some((if is_symbolic { Cow::Borrowed(name) } else { upper_case(plain) }, span));
        }
        let part = self.cursor.ahead(1);
        if name.starts_with('%') && self.cursor.at(".") && part.kind == Kind::Word && !part.spaced {
            self.cursor.bump();
            self.cursor.bump();
            let whole = format!("{name}.{}", self.cursor.str(part));
            return Some((Cow::Owned(whole), span.to(self.cursor.span(part))));
        }
        Some((Cow::Borrowed(name), span))
    }

    pub(super) fn integer(&mut self) -> Option<Spanned<i128>> {
        let token = self.cursor.peek();
        if let Some(digit) = token.digit() {
            self.cursor.bump();
            return Some(Spanned::new(digit.into(), self.cursor.span(token)));
        }
        let start = self.cursor.here();
        let minus = self.cursor.eat("-").is_some();
        if !self.cursor.at_kind(Kind::Number) {
            self.cursor.unexpected("an integer");
            return None;
        }
        let token = self.cursor.bump();
        let span = start.to(self.cursor.span(token));
        let text = self.cursor.str(token);
        let value = integer(text, LeadingZero::Decimal).or_else(|| float_bits(text).filter(|_| !minus));
        let leads = matches!(text.as_bytes(), [b'0', b'0'..=b'9', ..]) && self.arch == Arch::Ptx;
        if let (true, Some(value)) = (leads && integer(text, LeadingZero::Octal) != value, value) {
            let message = format!("`{text}` is {value} here, as herd reads it, and would be octal in PTX code");
            let warning = Diagnostic::warning(span, message).label("a leading zero");
            self.cursor.report(warning.help("write the number without it, or `0o…` for octal"));
        }
        if value.is_none() {
            self.cursor.report(bad_number(self.cursor.str(token), span));
        }
        value.map(|value| Spanned::new(if minus { -value } else { value }, span))
    }

    /// An integer that counts something.
    pub(super) fn small(&mut self, value: &Spanned<i128>) -> Option<u32> {
        let small = u32::try_from(value.node);
        if small.is_err() {
            self.cursor.error(value.span, format!("{} is out of range", value.node));
        }
        small.ok()
    }
}

fn upper_case(name: &str) -> Cow<'_, str> {
    match name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        true => Cow::Owned(name.to_ascii_uppercase()),
        false => Cow::Borrowed(name),
    }
}

/// The digits of `P12`.
pub(super) fn thread_digits(word: &str) -> Option<&str> {
    word.strip_prefix('P').filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn grouped(mut items: Vec<Spanned<Condition>>, group: fn(Vec<Spanned<Condition>>) -> Condition) -> Spanned<Condition> {
    if items.len() == 1 {
        return items.remove(0);
    }
    let span = items.iter().fold(items[0].span, |span, item| span.to(item.span));
    Spanned::new(group(items), span)
}
