//! Instructions: definitions, checks, what to show, and the blocks of herd's larger models.

use super::keyword::{Certainty, nearest};
use super::lexer::Kind;
use super::parser::{Failed, Parse, Parser, describe};
use super::printer::print_expression;
use super::tree::{
    Binding, BindingPattern, CatInstruction, Check, CheckKind, CheckRole, Expression, InstructionClause, Pattern, Show,
};
use crate::diagnostic::Diagnostic;
use crate::span::Spanned;

type Body = Vec<Spanned<CatInstruction>>;

/// The end of the message about a word that looks like a misspelt instruction.
const SUSPECT: &str = " stands where an instruction begins, and is none";

impl Parser<'_> {
    /// One instruction; none where the text has no meaning for a checker (Dartagnan's `cut`).
    pub(super) fn instruction(&mut self) -> Parse<Option<CatInstruction>> {
        if self.bell_after(0) {
            return self.bell().map(Some);
        }
        if self.cut_after(0) {
            let start = self.advance().span;
            let span = start.to(self.advance().span);
            self.warn(
                span,
                "`cut` only tunes Dartagnan's solver and is left out",
                "remove it; no verdict depends on it",
            );
            return Ok(None);
        }
        let instruction = match self.kind() {
            Kind::Word("let") => self.let_instruction()?,
            Kind::Word("acyclic" | "irreflexive" | "empty" | "flag" | "undefined_unless" | "assert") => {
                self.checked()?
            }
            Kind::Symbol("~") if self.negated_check(0) => self.checked()?,
            Kind::Word("show") => self.show()?,
            Kind::Word("unshow") => self.unshow()?,
            Kind::Word("include") => self.include()?,
            Kind::Word("procedure") => self.nested(Parser::procedure)?,
            Kind::Word("call") => self.call()?,
            Kind::Word("forall") => self.nested(Parser::forall)?,
            Kind::Word("with") => self.with_from()?,
            Kind::Word("if") => self.nested(Parser::conditional)?,
            Kind::Word("match") => self.nested(Parser::match_instruction)?,
            Kind::Word("enum") => self.enumeration()?,
            Kind::Word("debug") => {
                self.advance();
                CatInstruction::Debug(self.expression()?)
            }
            _ => return Err(self.no_instruction()),
        };
        Ok(Some(instruction))
    }

    fn no_instruction(&mut self) -> Failed {
        let token = self.token();
        // Only a check has a label: the word that was taken for an argument was to begin it, and has been blamed.
        if token.kind == Kind::Word("as") && self.diagnostics.last().is_some_and(|last| last.message.ends_with(SUSPECT))
        {
            return Failed;
        }
        if let Kind::Name(word) = token.kind
            && let Some(meant) = nearest(word, Certainty::WordExpected)
        {
            let message = format!("`{word}` is not an instruction");
            return self.fail(Diagnostic::error(token.span, message).help(format!("did you mean `{meant}`?")));
        }
        let help = match token.kind {
            Kind::Name(_) if self.kind_after(1) == Kind::Symbol("=") => "write `let` before the name to define it",
            Kind::Name(_) | Kind::Symbol("[" | "(" | "{" | "_" | "~") | Kind::Zero | Kind::Tag(_) if !token.first => {
                "two expressions stand side by side; an operator such as `;`, `|` or `&` is missing between them"
            }
            Kind::Word("end" | "else") => "there is no open `procedure`, `if`, `match` or `forall` here; remove it",
            Kind::Word("and") => "`and` continues a `let`; it cannot follow anything else",
            Kind::Symbol(")" | "]" | "}") => "this bracket has no partner; remove it or open one before",
            Kind::Symbol("||" | "&&") => "union is a single `|`, intersection a single `&`",
            _ => "instructions begin with `let`, `acyclic`, `irreflexive`, `empty`, `flag`, `include`, `show`, …",
        };
        self.unexpected("an instruction", help)
    }

    /// `let a = b` and on the next line `acyclc a`: by the grammar one application. It is nearly never meant, and
    /// an axiom that silently is none would make the model weaker than its author believes.
    pub(super) fn suspect_argument(&mut self) {
        let token = self.token();
        if token.first
            && token.column <= self.column
            && let Kind::Name(word) = token.kind
            && let Some(meant) = nearest(word, Certainty::NamePossible)
        {
            let help = format!(
                "did you mean `{meant}`? If it is an argument of the line before, indent it or put it in brackets"
            );
            let _ = self.fail(Diagnostic::error(token.span, format!("`{word}`{SUSPECT}")).help(help));
        }
    }

    fn let_instruction(&mut self) -> Parse<CatInstruction> {
        self.advance();
        let recursive = self.take(Kind::Word("rec")).is_some();
        let bindings = self.bindings()?;
        let when = match self.take(Kind::Word("when")) {
            Some(_) => Some(self.check(CheckRole::Axiom)?),
            None => None,
        };
        let _ = self.take(Kind::Word("in"));
        Ok(CatInstruction::Let { recursive, bindings, when })
    }

    pub(super) fn bindings(&mut self) -> Parse<Vec<Binding>> {
        // `and` is rare.
        let mut bindings = Vec::with_capacity(1);
        loop {
            let pattern = self.binding_pattern()?;
            self.expect(Kind::Symbol("="), "after what is defined", "a definition is `let name = expression`")?;
            let value = self.expression()?;
            bindings.push(Binding { pattern, value: value.into() });
            if self.take(Kind::Word("and")).is_none() {
                return Ok(bindings);
            }
        }
    }

    fn binding_pattern(&mut self) -> Parse<BindingPattern> {
        if self.kind() == Kind::Symbol("(") {
            return Ok(tuple(self.parameters("a name")?));
        }
        let first = self.pattern("a name to define")?;
        match (self.kind(), first) {
            (Kind::Symbol(","), first) => {
                let mut items = vec![first];
                while self.take(Kind::Symbol(",")).is_some() {
                    items.push(self.pattern("a name")?);
                }
                Ok(BindingPattern::Tuple(items))
            }
            (Kind::Symbol("(" | "_") | Kind::Name(_), Pattern::Name(name)) => {
                let parameters = self.parameters("a parameter")?;
                Ok(BindingPattern::Function { name, parameters })
            }
            (_, first) => Ok(tuple(vec![first])),
        }
    }

    /// `x`, `_`, or `(x, y)`.
    pub(super) fn parameters(&mut self, what: &str) -> Parse<Vec<Pattern>> {
        if self.take(Kind::Symbol("(")).is_none() {
            return Ok(vec![self.pattern(what)?]);
        }
        let mut patterns = Vec::new();
        if self.take(Kind::Symbol(")")).is_some() {
            return Ok(patterns);
        }
        loop {
            patterns.push(self.pattern(what)?);
            if self.take(Kind::Symbol(",")).is_none() {
                break;
            }
        }
        self.expect(Kind::Symbol(")"), "after the parameters", "parameters are names, separated by `,`")?;
        Ok(patterns)
    }

    pub(super) fn pattern(&mut self, what: &str) -> Parse<Pattern> {
        match self.take(Kind::Symbol("_")) {
            Some(_) => Ok(Pattern::Ignore),
            None => Ok(Pattern::Name(self.name(what)?)),
        }
    }

    fn checked(&mut self) -> Parse<CatInstruction> {
        let role = match self.kind() {
            Kind::Word("flag") => CheckRole::Flag,
            Kind::Word("undefined_unless") => CheckRole::UndefinedUnless,
            Kind::Word("assert") => CheckRole::Assert,
            _ => return Ok(CatInstruction::Check(self.check(CheckRole::Axiom)?)),
        };
        self.advance();
        Ok(CatInstruction::Check(self.check(role)?))
    }

    fn check(&mut self, role: CheckRole) -> Parse<Check> {
        const HELP: &str = "a check is `acyclic e`, `irreflexive e` or `empty e`, after `~` for its negation";
        let negated = self.take(Kind::Symbol("~")).is_some();
        let kind = match self.kind() {
            Kind::Word("acyclic") => CheckKind::Acyclic,
            Kind::Word("irreflexive") => CheckKind::Irreflexive,
            Kind::Word("empty") => CheckKind::Empty,
            Kind::Name(word) if nearest(word, Certainty::WordExpected).is_some() => {
                let meant = nearest(word, Certainty::WordExpected).unwrap_or("empty");
                return Err(self.unexpected("a check", &format!("did you mean `{meant}`? {HELP}")));
            }
            _ => return Err(self.unexpected("`acyclic`, `irreflexive` or `empty`", HELP)),
        };
        self.advance();
        let expression = self.expression()?;
        let name = self.label()?;
        Ok(Check { role, negated, kind, expression, name })
    }

    /// `as name`.
    fn label(&mut self) -> Parse<Option<Spanned<String>>> {
        match self.take(Kind::Word("as")) {
            Some(_) => Ok(Some(self.name("a name after `as`")?)),
            None => Ok(None),
        }
    }

    fn show(&mut self) -> Parse<CatInstruction> {
        self.advance();
        let mut items = Vec::new();
        loop {
            let expression = self.nested(Parser::base)?;
            let name = match self.label()? {
                Some(name) => name,
                None => Spanned::new(print_expression(&expression.node), expression.span),
            };
            items.push(Show { expression, name });
            if self.take(Kind::Symbol(",")).is_none() {
                return Ok(CatInstruction::Show { items });
            }
        }
    }

    fn unshow(&mut self) -> Parse<CatInstruction> {
        self.advance();
        let mut names = vec![self.name("a name after `unshow`")?];
        while self.take(Kind::Symbol(",")).is_some() {
            names.push(self.name("a name after `,`")?);
        }
        Ok(CatInstruction::Unshow { names })
    }

    fn include(&mut self) -> Parse<CatInstruction> {
        self.advance();
        let token = self.token();
        let Kind::Text(file) = token.kind else {
            return Err(self.unexpected("a file name in quotes", "write `include \"file.cat\"`"));
        };
        self.advance();
        Ok(CatInstruction::Include { file: Spanned::new(file.to_string(), token.span) })
    }

    /// Instructions and what closes them.
    fn body(&mut self) -> Body {
        self.bodies += 1;
        let body = self.instructions();
        self.bodies -= 1;
        body
    }

    fn end(&mut self, what: &str) -> Parse<()> {
        self.expect(Kind::Word("end"), &format!("to close the `{what}`"), "add `end` after its last instruction")?;
        Ok(())
    }

    fn procedure(&mut self) -> Parse<CatInstruction> {
        self.advance();
        let recursive = self.take(Kind::Word("rec")).is_some();
        let name = self.name("the procedure's name")?;
        let parameters = self.parameters("a parameter")?;
        self.expect(Kind::Symbol("="), "after the parameters", "write `procedure name(x) = … end`")?;
        let body = self.body();
        self.end("procedure")?;
        Ok(CatInstruction::Procedure { recursive, name, parameters, body })
    }

    fn call(&mut self) -> Parse<CatInstruction> {
        self.advance();
        let name = self.name("the procedure's name")?;
        if let Kind::Word(_) | Kind::End = self.kind()
            && self.kind() != Kind::Word("begin")
        {
            let message = format!("the procedure's argument, as in `call {}(x)`", name.node);
            return Err(self.unexpected(&message, "a procedure without parameters is called with `()`"));
        }
        let argument = self.nested(Parser::atom)?;
        let arguments = match argument.node {
            Expression::Tuple(items) => items,
            node => vec![Spanned::new(node, argument.span)],
        };
        let label = self.label()?;
        Ok(CatInstruction::Call { name, arguments, label })
    }

    fn forall(&mut self) -> Parse<CatInstruction> {
        const HELP: &str = "write `forall x in set do … end`";
        self.advance();
        let name = self.name("a name after `forall`")?;
        self.expect(Kind::Word("in"), "after the name", HELP)?;
        let over = self.expression()?;
        self.expect(Kind::Word("do"), "after the set", HELP)?;
        let body = self.body();
        self.end("forall")?;
        Ok(CatInstruction::Forall { name, over, body })
    }

    fn with_from(&mut self) -> Parse<CatInstruction> {
        self.advance();
        let name = self.name("a name after `with`")?;
        self.expect(Kind::Word("from"), "after the name", "write `with name from set`")?;
        Ok(CatInstruction::WithFrom { name, from: self.expression()? })
    }

    fn conditional(&mut self) -> Parse<CatInstruction> {
        self.advance();
        let start = self.span();
        let condition = self.variant()?;
        let condition = Spanned::new(condition, start.to(self.last_span()));
        let _ = self.take(Kind::Word("then"));
        let then = self.body();
        let otherwise = if self.take(Kind::Word("else")).is_some() { self.body() } else { Vec::new() };
        self.end("if")?;
        Ok(CatInstruction::If { condition, then, otherwise })
    }

    fn match_instruction(&mut self) -> Parse<CatInstruction> {
        self.advance();
        let scrutinee = self.expression()?;
        self.expect(Kind::Word("with"), "after the matched expression", "write `match e with || 'tag -> … end`")?;
        let _ = self.take(Kind::Symbol("||"));
        let mut clauses = Vec::new();
        loop {
            let tag = self.clause_tag()?;
            let last = tag.is_none();
            let body = self.body();
            clauses.push(InstructionClause { tag, body });
            if last || self.take(Kind::Symbol("||")).is_none() {
                break;
            }
        }
        self.end_match()?;
        Ok(CatInstruction::Match { scrutinee, clauses })
    }

    fn enumeration(&mut self) -> Parse<CatInstruction> {
        const HELP: &str = "write `enum name = 'a || 'b`";
        let start = self.advance().span;
        if self.bodies > 0 {
            let message = "`enum` stands inside another instruction";
            return Err(self.fail(Diagnostic::error(start, message).help("move it to the top level of the file")));
        }
        let name = self.name("a name after `enum`")?;
        self.expect(Kind::Symbol("="), "after the name", HELP)?;
        let _ = self.take(Kind::Symbol("||"));
        let mut tags = Vec::new();
        loop {
            let token = self.token();
            let Kind::Tag(tag) = token.kind else {
                let found = describe(token.kind);
                let message = format!("expected a tag in `enum {}`, found {found}", name.node);
                return Err(self.fail(Diagnostic::error(token.span, message).help(HELP)));
            };
            self.advance();
            tags.push(Spanned::new(tag.to_string(), token.span));
            if self.take(Kind::Symbol("||")).is_none() {
                return Ok(CatInstruction::Enum { name, tags });
            }
        }
    }

    /// `instructions R[{'a, 'b}]`, kept as its text.
    fn bell(&mut self) -> Parse<CatInstruction> {
        let start = self.advance().span;
        self.advance();
        let mut open = 0_usize;
        loop {
            match self.kind() {
                Kind::Symbol("[") => open += 1,
                Kind::Symbol("]") => open = open.saturating_sub(1),
                Kind::End => return Err(self.unexpected("`]`", "a bell declaration is `instructions R[{'a, 'b}]`")),
                _ => {}
            }
            self.advance();
            if open == 0 {
                break;
            }
        }
        let span = start.to(self.last_span());
        let text = self.text.get(span.start as usize..span.end as usize).unwrap_or("").to_string();
        Ok(CatInstruction::Bell { text })
    }
}

/// One pattern in brackets is the pattern.
fn tuple(mut items: Vec<Pattern>) -> BindingPattern {
    match (items.len(), items.pop()) {
        (1, Some(Pattern::Name(name))) => BindingPattern::Name(name),
        (_, last) => {
            items.extend(last);
            BindingPattern::Tuple(items)
        }
    }
}
