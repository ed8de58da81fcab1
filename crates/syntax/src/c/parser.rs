//! C statements from text, with recovery at the end of a statement.

use super::{Binary, Expression, Parameter, Statement, Unary};
use crate::diagnostic::Diagnostic;
use crate::span::{Span, Spanned};
use crate::text::{Cursor, Kind, LeadingZero, integer, nearest};

/// Blocks and expressions nest no deeper: each level is a call.
const DEEPEST: u32 = 64;

/// `a + b + c` is a tree as deep as it is long, and whoever walks over it calls itself once per operator.
const LONGEST: u32 = 1000;

/// What may stand before the name of a variable. The sizes are those of every compiler for these machines.
pub(crate) const TYPES: &[&str] = &[
    "int",
    "unsigned",
    "long",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
    "atomic_int",
    "atomic_uint",
    "atomic_long",
    "atomic_ulong",
    "bool",
    "atomic_bool",
];

/// Marks that are operators of C and not of this language.
const UNREAD: &[&str] = &["/", "%", "?"];

pub(crate) struct CReader<'r, 'a> {
    pub(crate) cursor: &'r mut Cursor<'a>,
    depth: u32,
}

type Block = Vec<Spanned<Statement>>;

impl<'r, 'a> CReader<'r, 'a> {
    pub(crate) fn new(cursor: &'r mut Cursor<'a>) -> CReader<'r, 'a> {
        CReader { cursor, depth: 0 }
    }

    /// `(atomic_int* x, int* y)`, if there.
    pub(crate) fn parameters(&mut self) -> Option<Vec<Parameter>> {
        let mut parameters = Vec::new();
        if self.cursor.eat("(").is_none() {
            return Some(parameters);
        }
        while self.cursor.eat(")").is_none() {
            if self.cursor.at_end() || self.cursor.at("{") {
                self.cursor.unexpected("`)` after the parameters");
                return Some(parameters);
            }
            let read = self.parameter(&mut parameters);
            if read.is_some() && (self.cursor.eat(",").is_some() || self.cursor.at(")")) {
                continue;
            }
            if read.is_some() {
                self.cursor.unexpected("`,` or `)` after a parameter");
            }
            self.skip_parameter();
        }
        Some(parameters)
    }

    /// One that cannot be read is reported, and stands among them as well as it is known: its uses are no errors.
    fn parameter(&mut self, parameters: &mut Vec<Parameter>) -> Option<()> {
        self.volatile();
        let start = self.cursor.here();
        let ty = self.ty();
        self.volatile();
        if ty.is_some() && self.cursor.eat("*").is_none() {
            self.cursor.expect("*", "a thread takes pointers to locations");
            if self.cursor.at_kind(Kind::Word) {
                let name = self.cursor.word("the name of a location")?;
                parameters.push(Parameter { ty: ty?, name });
            }
            return None;
        }
        if ty.is_none() {
            self.cursor.eat("*");
        }
        self.volatile();
        let is_named = self.cursor.at_kind(Kind::Word);
        let name = if ty.is_some() || is_named { self.cursor.word("the name of a location")? } else { return None };
        let known = ty.is_some();
        let ty = ty.unwrap_or_else(|| Spanned::new("int".to_owned(), start));
        parameters.push(Parameter { ty, name });
        known.then_some(())
    }

    /// To the next parameter, or to the `)` behind the last.
    fn skip_parameter(&mut self) {
        while !(self.cursor.at_end() || self.cursor.at(")") || self.cursor.at("{")) {
            if self.cursor.eat(",").is_some() {
                return;
            }
            self.cursor.bump();
        }
    }

    /// `volatile` makes no access atomic (C11 5.1.2.4): it is said that it is read over.
    fn volatile(&mut self) {
        while let Some(span) = self.cursor.eat("volatile") {
            let warning = Diagnostic::warning(span, "`volatile` changes nothing here: the accesses stay what they are");
            let help =
                "in C a volatile access is no atomic one, and may race; write `atomic_int` and memory_order_relaxed";
            self.cursor.report(warning.label("no effect").help(help));
        }
    }

    fn ty(&mut self) -> Option<Spanned<String>> {
        let word = self.cursor.word("a type, such as `int` or `atomic_int`")?;
        if TYPES.contains(&word.node.as_str()) {
            return Some(word);
        }
        let message = format!("`{}` is not a type that is known here", word.node);
        let help = match nearest(&word.node, TYPES) {
            _ if word.node.contains("::atomic") => "write `atomic_int` for an atomic of C++ or CUDA".to_owned(),
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("types are {}", TYPES.join(", ")),
        };
        self.cursor.report(Diagnostic::error(word.span, message).help(help));
        None
    }

    /// Statements up to the `}` that closes the thread, which is eaten.
    pub(crate) fn body(&mut self, body: &mut Block) {
        loop {
            if self.cursor.eat("}").is_some() {
                return;
            }
            if self.cursor.at_end() {
                self.cursor.unexpected("`}` to close the thread");
                return;
            }
            if self.cursor.eat(";").is_some() {
                continue;
            }
            let before = self.cursor.position();
            match self.statement() {
                Some(statement) => body.push(statement),
                None => self.recover(before),
            }
        }
    }

    /// To the end of the statement: behind its `;`, or before the `}` of its block.
    fn recover(&mut self, before: usize) {
        while !(self.cursor.at_end() || self.cursor.at("}") || self.cursor.at(";")) {
            self.cursor.bump();
        }
        self.cursor.eat(";");
        if self.cursor.position() == before {
            self.cursor.bump();
        }
    }

    fn statement(&mut self) -> Option<Spanned<Statement>> {
        self.deeper()?;
        let start = self.cursor.here();
        let statement = self.any_statement();
        self.depth -= 1;
        let end = self.cursor.span(self.cursor.previous());
        Some(Spanned::new(statement?, start.to(end)))
    }

    fn any_statement(&mut self) -> Option<Statement> {
        if self.cursor.eat("if").is_some() {
            let condition = self.parenthesised()?;
            let then = self.block()?;
            let otherwise = if self.cursor.eat("else").is_some() { self.block()? } else { Vec::new() };
            return Some(Statement::If { condition, then, otherwise });
        }
        if self.cursor.eat("while").is_some() {
            let condition = self.parenthesised()?;
            let body = self.block()?;
            return Some(Statement::While { condition, body });
        }
        if self.cursor.eat("do").is_some() {
            let body = self.block()?;
            self.cursor.expect("while", "after the body of `do`")?;
            let condition = self.parenthesised()?;
            self.end()?;
            return Some(Statement::DoWhile { body, condition });
        }
        if self.cursor.at("for") && self.cursor.is(1, "(") {
            return self.for_loop();
        }
        self.volatile();
        let statement = self.declared_or_simple()?;
        self.end()?;
        Some(statement)
    }

    fn end(&mut self) -> Option<Span> {
        if let Some(mark) = UNREAD.iter().find(|mark| self.cursor.at(mark)) {
            let operators: Vec<&str> = Binary::TABLE.iter().map(|(mark, ..)| *mark).collect();
            let help = format!("operators are {}, !, ~ and unary -", operators.join(", "));
            let error = Diagnostic::error(self.cursor.here(), format!("the operator `{mark}` is not read here"));
            self.cursor.report(error.help(help));
            return None;
        }
        self.cursor.expect(";", "to end the statement")
    }

    /// `for (int i = 0; i < 2; i++) { … }`.
    fn for_loop(&mut self) -> Option<Statement> {
        self.cursor.bump();
        self.cursor.expect("(", "before the head of the loop")?;
        let first = if self.cursor.at(";") { None } else { Some(Box::new(self.part()?)) };
        self.cursor.expect(";", "after the first part of the head")?;
        let condition = if self.cursor.at(";") { None } else { Some(self.expression(0)?) };
        self.cursor.expect(";", "after the condition")?;
        let step = if self.cursor.at(")") { None } else { Some(Box::new(self.part()?)) };
        self.cursor.expect(")", "after the head of the loop")?;
        let body = self.block()?;
        Some(Statement::For { first, condition, step, body })
    }

    /// A declaration or a simple statement, without its `;`.
    fn part(&mut self) -> Option<Spanned<Statement>> {
        let start = self.cursor.here();
        let statement = self.declared_or_simple()?;
        let end = self.cursor.span(self.cursor.previous());
        Some(Spanned::new(statement, start.to(end)))
    }

    fn declared_or_simple(&mut self) -> Option<Statement> {
        // Two words in a row can only be a declaration, if of a type that is not known.
        let is_type = self.cursor.at_kind(Kind::Word) && self.cursor.ahead(1).kind == Kind::Word;
        if is_type { self.declaration() } else { self.simple() }
    }

    /// `i++`, `--i`, `i += e` of a variable: `i = i + e`.
    fn shorthand(&mut self) -> Option<Result<Statement, ()>> {
        let unspaced = |at: usize| !self.cursor.ahead(at).spaced;
        let twice =
            |at: usize| ["+", "-"].into_iter().find(|mark| self.cursor.is(at, mark) && self.cursor.is(at + 1, mark));
        if let Some(mark) = twice(0).filter(|_| unspaced(1) && self.cursor.ahead(2).kind == Kind::Word) {
            self.cursor.bump();
            self.cursor.bump();
            let name = self.cursor.word("the name of a variable");
            return Some(name.map(|name| stepped(name, mark, None)).ok_or(()));
        }
        if !self.cursor.at_kind(Kind::Word) {
            return None;
        }
        if let Some(mark) = twice(1).filter(|_| unspaced(2)) {
            let name = self.cursor.word("the name of a variable");
            self.cursor.bump();
            self.cursor.bump();
            return Some(name.map(|name| stepped(name, mark, None)).ok_or(()));
        }
        // `<<=` is `<` and `<=` for the lexer.
        let shifts = [("<", "<=", "<<"), (">", ">=", ">>")];
        let shift = shifts.into_iter().find(|(first, second, _)| self.cursor.is(1, first) && self.cursor.is(2, second));
        let plain =
            ["+", "-", "*", "&", "|", "^"].into_iter().find(|mark| self.cursor.is(1, mark) && self.cursor.is(2, "="));
        let mark = shift.map(|(.., mark)| mark).or(plain).filter(|_| unspaced(2))?;
        let name = self.cursor.word("the name of a variable");
        self.cursor.bump();
        self.cursor.bump();
        let value = self.expression(0);
        Some(name.zip(value).map(|(name, value)| stepped(name, mark, Some(value))).ok_or(()))
    }

    fn declaration(&mut self) -> Option<Statement> {
        let ty = self.ty()?;
        let name = self.cursor.word("the name of a variable")?;
        let value = if self.cursor.eat("=").is_some() { Some(self.expression(0)?) } else { None };
        Some(Statement::Declare { ty, name, value })
    }

    fn simple(&mut self) -> Option<Statement> {
        if let Some(statement) = self.shorthand() {
            return statement.ok();
        }
        let first = self.expression(0)?;
        if self.cursor.eat("=").is_some() {
            let value = self.expression(0)?;
            if matches!(first.node, Expression::Name(_) | Expression::Dereference(_) | Expression::Index(..)) {
                return Some(Statement::Assign { target: first, value });
            }
            self.cursor.error(first.span, "this cannot be assigned to");
            return None;
        }
        if matches!(first.node, Expression::Call { .. }) {
            return Some(Statement::Call(first));
        }
        let diagnostic = Diagnostic::error(first.span, "this statement has no effect");
        self.cursor.report(diagnostic.help("assign the value to a variable, or drop it"));
        None
    }

    /// `{ … }` or one statement.
    fn block(&mut self) -> Option<Block> {
        let mut body = Vec::new();
        if self.cursor.eat("{").is_some() {
            self.deeper()?;
            self.body(&mut body);
            self.depth -= 1;
        } else if self.cursor.eat(";").is_none() {
            body.push(self.statement()?);
        }
        Some(body)
    }

    fn parenthesised(&mut self) -> Option<Spanned<Expression>> {
        self.cursor.expect("(", "before the condition")?;
        let condition = self.expression(0)?;
        self.cursor.expect(")", "after the condition")?;
        Some(condition)
    }

    fn deeper(&mut self) -> Option<()> {
        if self.depth >= DEEPEST {
            self.cursor.error(self.cursor.here(), format!("nested deeper than {DEEPEST} levels"));
            self.cursor.give_up();
            return None;
        }
        self.depth += 1;
        Some(())
    }

    /// Precedence climbing: operators that bind at least as tightly as `least`.
    fn expression(&mut self, least: u8) -> Option<Spanned<Expression>> {
        self.deeper()?;
        let expression = self.operators(least);
        self.depth -= 1;
        expression
    }

    fn operators(&mut self, least: u8) -> Option<Spanned<Expression>> {
        let mut left = self.prefix()?;
        let mut chained = 0;
        while let Some((operator, binds, tokens)) = self.operator().filter(|(_, binds, _)| *binds >= least) {
            self.refuse_shorthand(&left.node, operator)?;
            for _ in 0..tokens {
                self.cursor.bump();
            }
            let right = self.expression(binds + 1)?;
            chained += 1;
            if chained > LONGEST {
                let message = format!("this expression chains more than {LONGEST} operators");
                let help = "assign parts of it to variables of their own";
                self.cursor.report(Diagnostic::error(left.span.to(right.span), message).help(help));
                self.cursor.give_up();
                return None;
            }
            let span = left.span.to(right.span);
            left = Spanned::new(Expression::Binary(operator, Box::new(left), Box::new(right)), span);
        }
        Some(left)
    }

    /// `*x += 1`, `x->load()` and `a <<= b` start like operators that are read.
    fn refuse_shorthand(&mut self, left: &Expression, operator: Binary) -> Option<()> {
        let mark = operator.row().0;
        let next = self.cursor.ahead(1);
        let (follows, span) = (self.cursor.str(next).to_owned(), self.cursor.here().to(self.cursor.span(next)));
        let help = match (mark, follows.as_str()) {
            _ if next.spaced => return Some(()),
            ("-", ">") => return self.refuse_method(),
            ("+", "+") | ("-", "-") => in_full(left, operator, "1"),
            ("+" | "-" | "*" | "&" | "|" | "^", "=") => in_full(left, operator, "…"),
            ("<", "<=") => in_full(left, Binary::ShiftLeft, "…"),
            (">", ">=") => in_full(left, Binary::ShiftRight, "…"),
            _ => return Some(()),
        };
        self.cursor.report(Diagnostic::error(span, format!("`{mark}{follows}` is not read here")).help(help));
        None
    }

    /// `x.store(1)`, `x->load()`, at the mark behind the name.
    fn refuse_method(&mut self) -> Option<()> {
        let dots = if self.cursor.at(".") { 1 } else { 2 };
        let method = self.cursor.str(self.cursor.ahead(dots)).to_owned();
        let span = self.cursor.here().to(self.cursor.span(self.cursor.ahead(dots)));
        let call = match method.as_str() {
            "load" => "atomic_load(x)".to_owned(),
            "store" | "exchange" | "fetch_add" | "fetch_sub" | "fetch_and" | "fetch_or" | "fetch_xor" | "fetch_min"
            | "fetch_max" => format!("atomic_{method}(x, 1)"),
            "compare_exchange_strong" | "compare_exchange_weak" => format!("atomic_{method}(x, &e, 1)"),
            _ => "atomic_load(x)".to_owned(),
        };
        let help = format!(
            "this is C: write `{call}`, or with an order `{}`",
            call.replacen('(', "_explicit(", 1).replacen(')', ", memory_order_relaxed)", 1)
        );
        self.cursor.report(Diagnostic::error(span, "a method of C++ is not read here").help(help));
        None
    }

    /// The operator here, how tightly it binds, and how many tokens it is (`||` is two for the lexer).
    fn operator(&self) -> Option<(Binary, u8, usize)> {
        if self.cursor.at("|") && self.cursor.is(1, "|") && !self.cursor.ahead(1).spaced {
            return Some((Binary::Or, Binary::Or.row().1, 2));
        }
        let shifts = [("<", Binary::ShiftLeft), (">", Binary::ShiftRight)];
        let is_shift = |mark: &str| self.cursor.at(mark) && self.cursor.is(1, mark) && !self.cursor.ahead(1).spaced;
        if let Some((_, shift)) = shifts.into_iter().find(|(mark, _)| is_shift(mark)) {
            return Some((shift, shift.row().1, 2));
        }
        let row = Binary::TABLE.iter().find(|(mark, _, _)| self.cursor.at(mark))?;
        Some((row.1, row.2, 1))
    }

    fn prefix(&mut self) -> Option<Spanned<Expression>> {
        let start = self.cursor.here();
        let unary = [("!", Unary::IsZero), ("-", Unary::Negate), ("~", Unary::Not)];
        for (mark, operator) in unary {
            if self.cursor.eat(mark).is_some() {
                let is_number = self.cursor.at_kind(Kind::Number);
                let inner = self.nested_prefix()?;
                let span = start.to(inner.span);
                // `-1` is a number, so that numbers print and parse to themselves.
                if let (Unary::Negate, Expression::Integer(value)) = (operator, &inner.node)
                    && is_number
                {
                    return Some(Spanned::new(Expression::Integer(-value), span));
                }
                return Some(Spanned::new(Expression::Unary(operator, Box::new(inner)), span));
            }
        }
        if self.cursor.eat("*").is_some() {
            let inner = self.nested_prefix()?;
            let span = start.to(inner.span);
            return Some(Spanned::new(Expression::Dereference(Box::new(inner)), span));
        }
        if self.cursor.eat("&").is_some() {
            let inner = self.nested_prefix()?;
            let span = start.to(inner.span);
            return Some(Spanned::new(Expression::AddressOf(Box::new(inner)), span));
        }
        self.primary()
    }

    fn nested_prefix(&mut self) -> Option<Spanned<Expression>> {
        self.deeper()?;
        let inner = self.prefix();
        self.depth -= 1;
        inner
    }

    fn primary(&mut self) -> Option<Spanned<Expression>> {
        let start = self.cursor.here();
        if self.cursor.eat("(").is_some() {
            let inner = self.expression(0)?;
            let end = self.cursor.expect(")", "to close the parenthesis")?;
            return Some(Spanned::new(inner.node, start.to(end)));
        }
        if self.cursor.at_kind(Kind::Number) {
            let token = self.cursor.bump();
            let value = integer(self.cursor.str(token), LeadingZero::Octal);
            if value.is_none() {
                self.cursor.error(start, format!("`{}` is not an integer", self.cursor.str(token)));
            }
            return value.map(|value| Spanned::new(Expression::Integer(value), start));
        }
        let name = self.cursor.word("an expression")?;
        if self.cursor.at("(") {
            return self.call(name);
        }
        if self.cursor.at(".") {
            self.refuse_method()?;
        }
        let name = Spanned::new(Expression::Name(name.node), name.span);
        if self.cursor.eat("[").is_none() {
            return Some(name);
        }
        let index = self.expression(0)?;
        let end = self.cursor.expect("]", "to close the index")?;
        let span = name.span.to(end);
        Some(Spanned::new(Expression::Index(Box::new(name), Box::new(index)), span))
    }

    fn call(&mut self, function: Spanned<String>) -> Option<Spanned<Expression>> {
        self.cursor.bump();
        let mut arguments = Vec::new();
        loop {
            if let Some(end) = self.cursor.eat(")") {
                let span = function.span.to(end);
                return Some(Spanned::new(Expression::Call { function, arguments }, span));
            }
            arguments.push(self.expression(0)?);
            if self.cursor.eat(",").is_none() && !self.cursor.at(")") {
                self.cursor.unexpected("`,` or `)` after an argument");
                return None;
            }
        }
    }
}

/// `i = i + e`, where `e` may be 1.
fn stepped(name: Spanned<String>, mark: &str, by: Option<Spanned<Expression>>) -> Statement {
    let span = name.span;
    let target = Spanned::new(Expression::Name(name.node), span);
    let operator =
        Binary::TABLE.iter().find(|(known, ..)| *known == mark).map_or(Binary::Add, |(_, operator, _)| *operator);
    let by = by.unwrap_or_else(|| Spanned::new(Expression::Integer(1), span));
    let whole = span.to(by.span);
    let value = Expression::Binary(operator, Box::new(target.clone()), Box::new(by));
    Statement::Assign { target, value: Spanned::new(value, whole) }
}

/// What to write for `*x += 1`. Of an atomic object it is one read-modify-write (C11 6.5.16.2, paragraph 3), which a load
/// and a store are not.
fn in_full(left: &Expression, operator: Binary, by: &str) -> String {
    let mark = operator.row().0;
    let named = |pointer: &Expression| match pointer {
        Expression::Name(name) => name.clone(),
        _ => "x".to_owned(),
    };
    let (place, whole) = match left {
        Expression::Dereference(pointer) => (named(&pointer.node), format!("*{}", named(&pointer.node))),
        Expression::Index(array, _) => {
            let element = format!("{}[…]", named(&array.node));
            (format!("&{element}"), element)
        }
        Expression::Name(name) => return format!("write `{name} = {name} {mark} {by}`"),
        _ => return format!("write `i = i {mark} {by}`"),
    };
    let atomic = match operator {
        Binary::Add => format!("`atomic_fetch_add({place}, {by})`"),
        Binary::Subtract => format!("`atomic_fetch_sub({place}, {by})`"),
        Binary::BitAnd => format!("`atomic_fetch_and({place}, {by})`"),
        Binary::BitOr => format!("`atomic_fetch_or({place}, {by})`"),
        Binary::BitXor => format!("`atomic_fetch_xor({place}, {by})`"),
        _ => "a loop with atomic_compare_exchange_strong".to_owned(),
    };
    let name = place.trim_start_matches('&').trim_end_matches("[…]");
    format!("write {atomic} if `{name}` is atomic, else `{whole} = {whole} {mark} {by}`")
}
