//! What follows the threads: `locations [...]`, `filter …`, and one of `exists`, `~exists`, `forall`, `final`, `observed`.
//! Programs with persistent memory also have questions about crashes, `crash exists …`, a recovery program, `recover { … }`,
//! and questions about what that leaves, `recover forall …`.
//!
//! `final` is what herd's ancestor called an unquantified condition; the peer tools decide it like `exists`, and herd reads a
//! condition in parentheses alone so too. `observed` lists final states, one of which is asked for. A `with`
//! list after it (`tso: ~exists;`) records what other models were expected to say, and is read and dropped.

use super::parser::Parser;
use super::tree::{Arch, Condition, Moment, Question, QuestionKind, Recovery, Term};
use crate::diagnostic::Diagnostic;
use crate::short::ShortText;
use crate::span::{Span, Spanned};
use crate::text::{Kind, nearest};

/// The words before a question, and when they say that it is judged.
const MOMENTS: [(&str, Moment); 2] = [("crash", Moment::Crash), ("recover", Moment::Recovered)];
const KEYWORDS: [&str; 6] = ["exists", "forall", "filter", "final", "observed", "locations"];

/// What these begin with, and `~`, `not` and a bare condition.
const BEGINNINGS: [u8; 9] = *b"~(ncreflo";

#[derive(Default)]
pub(super) struct Sections {
    pub(super) locations: Vec<Spanned<Term>>,
    pub(super) filter: Option<Spanned<Condition>>,
    pub(super) recovery: Option<Recovery>,
    pub(super) questions: Vec<Question>,
}

impl Parser<'_> {
    /// Whether the threads end here.
    pub(super) fn at_section(&self) -> bool {
        // Most instructions begin otherwise, and few of their first operands so that a word before could be a misspelt one.
        let (first, next) = (self.cursor.peek().first, self.cursor.ahead(1));
        if !BEGINNINGS.contains(&first) && next.first != b'(' && next.kind != Kind::Number {
            return false;
        }
        if self.at_moment().is_some() {
            return true;
        }
        let tilde = self.cursor.at("~") && KEYWORDS.iter().any(|keyword| self.cursor.is(1, keyword));
        let negated = tilde || (self.cursor.at("not") && self.cursor.is(1, "exists") && !self.cursor.is(2, ":"));
        // `exists:` would be a label.
        let keyword = KEYWORDS.iter().any(|keyword| self.cursor.at(keyword)) && !self.cursor.is(1, ":");
        negated || keyword || self.at_bare_condition() || self.misspelt_section().is_some() || self.at_for_all()
    }

    /// `crash` or `recover` before a question, and `recover` before the recovery program.
    fn at_moment(&self) -> Option<Moment> {
        let (word, moment) = MOMENTS.into_iter().find(|(word, _)| self.cursor.at(word))?;
        let is_question = ["exists", "~", "not", "forall"].iter().any(|next| self.cursor.is(1, next));
        let is_program = moment == Moment::Recovered && self.cursor.is(1, "{");
        (word == self.cursor.str(self.cursor.peek()) && (is_question || is_program)).then_some(moment)
    }

    /// `(x=1)` on a line of its own, as herd reads it: no instruction of x86 begins so.
    fn at_bare_condition(&self) -> bool {
        matches!(self.arch, Arch::X86 | Arch::X86_64) && self.cursor.at("(") && self.cursor.peek().newline
    }

    /// An instruction that would read as the start of a condition elsewhere on the page.
    pub(super) fn is_section_opcode(opcode: &ShortText) -> bool {
        KEYWORDS.iter().any(|keyword| keyword == opcode)
    }

    /// `for all (`.
    fn at_for_all(&self) -> bool {
        self.cursor.at("for") && self.cursor.is(1, "all") && self.cursor.is(2, "(")
    }

    /// `exist (`: close to a keyword, and followed by what no instruction starts its operands with.
    fn misspelt_section(&self) -> Option<&'static str> {
        let negation = usize::from(self.cursor.at("~"));
        let token = self.cursor.ahead(negation);
        let next = self.cursor.ahead(negation + 1);
        let condition =
            self.cursor.is(negation + 1, "(") || next.kind == Kind::Number && self.cursor.is(negation + 2, ":");
        if token.kind != Kind::Word || !condition || KEYWORDS.contains(&self.cursor.str(token)) {
            return None;
        }
        nearest(self.cursor.str(token), &KEYWORDS)
    }

    pub(super) fn sections(&mut self) -> Sections {
        let mut sections = Sections::default();
        while !self.cursor.at_end() {
            let start = self.cursor.here();
            if self.cursor.eat(";").is_some() {
                continue;
            }
            let moment = self.at_moment();
            if moment.is_some() {
                self.cursor.bump();
            }
            if moment == Some(Moment::Recovered) && self.cursor.at("{") {
                self.recovery(start, &mut sections);
                continue;
            }
            let moment = moment.unwrap_or_default();
            let negated =
                self.cursor.eat("~").is_some() || (self.cursor.is(1, "exists") && self.cursor.eat("not").is_some());
            let Some(keyword) = self.section_keyword() else {
                if self.word_for_a_sign().is_none() {
                    self.cursor.give_up();
                    return sections;
                }
                let diagnostic = self.cursor.unexpected_diagnostic("a condition or the end of the file");
                self.cursor
                    .report(diagnostic.help("`exists`, `~exists`, `forall`, `filter` and `locations` can stand here"));
                self.cursor.give_up();
                return sections;
            };
            let span = start.to(self.cursor.span(self.cursor.previous()));
            if self.section(keyword, (negated, moment), span, &mut sections).is_none() {
                self.skip_section();
            }
        }
        sections
    }

    fn section_keyword(&mut self) -> Option<&'static str> {
        if self.at_bare_condition() {
            return Some("final");
        }
        let exact = KEYWORDS.into_iter().find(|keyword| self.cursor.at(keyword));
        if exact.is_none() && self.at_for_all() {
            let start = self.cursor.here();
            self.cursor.bump();
            let error = Diagnostic::error(start.to(self.cursor.here()), "unknown keyword `for all`");
            self.cursor.report(error.label("not a keyword").help("did you mean `forall`?"));
            self.cursor.bump();
            return Some("forall");
        }
        if exact.is_none() {
            let near = self.misspelt_section()?;
            let message = format!("unknown keyword {}", self.cursor.found());
            let diagnostic = Diagnostic::error(self.cursor.here(), message).label("not a keyword");
            self.cursor.report(diagnostic.help(format!("did you mean `{near}`?")));
            self.cursor.bump();
            return Some(near);
        }
        self.cursor.bump();
        exact
    }

    /// `{ P0 { … } }`, after `recover`: registers and threads are its own.
    fn recovery(&mut self, start: Span, sections: &mut Sections) {
        self.cursor.bump();
        let mut declarations = Vec::new();
        let threads = self.recovery_threads(&mut declarations);
        if self.cursor.eat("}").is_none() {
            self.cursor.unexpected("`}` to close the recovery program");
        }
        if threads.is_empty() {
            let error = Diagnostic::error(start, "the recovery program has no threads");
            self.cursor.report(error.help("write `recover { P0@cta 0 { … } }`"));
        }
        let recovery = Recovery { declarations, threads, span: Spanned::new((), start) };
        if sections.recovery.replace(recovery).is_some() {
            let error = Diagnostic::error(start, "a second recovery program").label("the test already has one");
            self.cursor.report(error.help("its threads stand in one `recover { … }`"));
        }
    }

    fn section(
        &mut self,
        keyword: &str,
        (negated, moment): (bool, Moment),
        span: Span,
        sections: &mut Sections,
    ) -> Option<()> {
        if negated && keyword != "exists" {
            let message = format!("`{keyword}` cannot be negated");
            self.cursor.report(Diagnostic::error(span, message).help("only `~exists` and `not exists` have a meaning"));
        }
        match keyword {
            "locations" => self.locations(&mut sections.locations),
            "filter" => {
                let condition = self.condition()?;
                if sections.filter.replace(condition).is_some() {
                    self.twice(span, "filter");
                }
                Some(())
            }
            _ => {
                let kind = match keyword {
                    "forall" => QuestionKind::Forall,
                    _ if negated => QuestionKind::NotExists,
                    _ => QuestionKind::Exists,
                };
                let condition = if keyword == "observed" { self.observed()? } else { self.condition()? };
                if moment == Moment::End && sections.questions.iter().any(|question| question.moment == Moment::End) {
                    self.twice(span, "condition");
                }
                let span = Spanned::new((), span);
                sections.questions.push(Question { kind, name: None, condition, moment, span });
                self.cursor.eat(";");
                self.expectations()
            }
        }
    }

    fn twice(&mut self, span: Span, what: &str) {
        let diagnostic = Diagnostic::error(span, format!("a second {what}")).label("the test already has one");
        self.cursor.report(diagnostic.help("join them with `/\\` or `\\/`"));
    }

    fn locations(&mut self, locations: &mut Vec<Spanned<Term>>) -> Option<()> {
        self.cursor.expect("[", "after `locations`")?;
        while self.cursor.eat("]").is_none() {
            locations.push(self.term()?);
            // herd's types of what it prints: `x int`, `p int*`, `p *`.
            if is_type(self.cursor.str(self.cursor.peek())) {
                self.cursor.bump();
            }
            self.cursor.eat("*");
            if self.cursor.eat(";").is_none() && !self.cursor.at("]") {
                self.cursor.unexpected("`;` or `]` after a location");
                return None;
            }
        }
        Some(())
    }

    /// `with tso: ~exists; default: exists;`
    fn expectations(&mut self) -> Option<()> {
        if self.cursor.eat("with").is_none() {
            return Some(());
        }
        while self.cursor.at_kind(Kind::Word) && self.cursor.is(1, ":") {
            self.cursor.bump();
            self.cursor.bump();
            self.cursor.eat("~");
            if self.cursor.eat("exists").or_else(|| self.cursor.eat("forall")).is_none() {
                self.cursor.unexpected("`exists`, `~exists` or `forall`");
                return None;
            }
            self.cursor.eat(";");
        }
        Some(())
    }

    /// After an error: to the next keyword.
    fn skip_section(&mut self) {
        while !(self.cursor.at_end() || (self.cursor.peek().newline && self.at_section())) {
            self.cursor.bump();
        }
    }
}

fn is_type(word: &str) -> bool {
    word.ends_with("_t") || matches!(word, "int" | "long" | "short" | "char" | "unsigned" | "float" | "double")
}

#[cfg(test)]
mod tests {
    use super::{BEGINNINGS, KEYWORDS, MOMENTS};

    #[test]
    fn whatever_begins_a_section_is_looked_for() {
        let words = KEYWORDS.into_iter().chain(MOMENTS.map(|(word, _)| word)).chain(["~", "not", "("]);
        for word in words {
            assert!(BEGINNINGS.contains(&word.as_bytes()[0]), "{word}");
        }
    }
}
