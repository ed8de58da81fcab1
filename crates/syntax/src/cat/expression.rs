//! Expressions. Low to high: `|`, `++`, `;`, `\` (left), `&`, then `~` and the postfix operators, then application;
//! all but `\` group to the right.
//!
//! * `f po+` is `(f po)+`: application binds tightest (herd; its manual says otherwise, the tool does this).
//! * `x * y` is a product if an operand follows the star, else a closure. Before a `~` herd refuses both readings;
//!   Dartagnan's `R * ~W` is a product, unless the `~` begins the next check (`r*` and then `~empty …`).
//! * A product binds tighter than what follows it: `A * B+` is `(A * B)+` and `~A * B` is `~(A * B)`, as in Dartagnan.
//!   herd refuses both, except `A * B^-1`, which it reads as the inverse of a set, an error of type in every model.

use super::lexer::Kind;
use super::parser::{Failed, Parse, Parser, Tree};
use super::tree::{
    BinaryOperator, ConditionExpression, Expression, ExpressionClause, Pattern, SetClauses, UnaryOperator,
};
use crate::diagnostic::Diagnostic;
use crate::span::{Span, Spanned};

fn binary_operator(kind: Kind<'_>) -> Option<BinaryOperator> {
    match kind {
        Kind::Symbol("|") => Some(BinaryOperator::Union),
        Kind::Symbol("++") => Some(BinaryOperator::Insert),
        Kind::Symbol(";") => Some(BinaryOperator::Sequence),
        Kind::Symbol("\\") => Some(BinaryOperator::Difference),
        Kind::Symbol("&") => Some(BinaryOperator::Intersection),
        _ => None,
    }
}

/// How tightly an operator binds; the product is no part of this ladder, see [`Parser::postfix`].
pub(super) fn level(operator: BinaryOperator) -> u32 {
    match operator {
        BinaryOperator::Union => 1,
        BinaryOperator::Insert => 2,
        BinaryOperator::Sequence => 3,
        BinaryOperator::Difference => 4,
        BinaryOperator::Intersection => 5,
        BinaryOperator::Product => 6,
    }
}

pub(super) fn groups_left(operator: BinaryOperator) -> bool {
    matches!(operator, BinaryOperator::Difference | BinaryOperator::Product)
}

fn unary(operator: UnaryOperator, operand: Tree, span: Span) -> Tree {
    Spanned::new(Expression::Unary(operator, Box::new(operand)), span)
}

fn binary(operator: BinaryOperator, left: Tree, right: Tree) -> Tree {
    let span = left.span.to(right.span);
    Spanned::new(Expression::Binary(operator, Box::new([left, right])), span)
}

impl Parser<'_> {
    /// Any expression, tuples without brackets included.
    pub(super) fn expression(&mut self) -> Parse<Tree> {
        self.nested(|parser| {
            let start = parser.span();
            let node = match parser.kind() {
                Kind::Word("let") => parser.let_expression()?,
                Kind::Word("fun") => parser.function()?,
                Kind::Word("try") => parser.try_expression()?,
                Kind::Word("if") => parser.if_expression()?,
                Kind::Word("match") => parser.match_expression()?,
                _ => return parser.base_or_tuple(),
            };
            Ok(Spanned::new(node, start.to(parser.last_span())))
        })
    }

    fn base_or_tuple(&mut self) -> Parse<Tree> {
        let first = self.base()?;
        if self.kind() != Kind::Symbol(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.take(Kind::Symbol(",")).is_some() {
            items.push(self.base()?);
        }
        let span = items.first().map_or(Span::default(), |item| item.span).to(self.last_span());
        Ok(Spanned::new(Expression::Tuple(items), span))
    }

    /// An expression without a bare tuple, `let`, `fun`, `try`, `if` or `match`. An operator stack, not recursion: a
    /// long union costs no stack.
    pub(super) fn base(&mut self) -> Parse<Tree> {
        let outside = std::mem::take(&mut self.tallest);
        let first = self.prefix()?;
        let whole = if binary_operator(self.kind()).is_some() {
            let bottom = self.stack.len();
            let whole = self.operations(first, bottom);
            self.stack.truncate(bottom);
            whole?
        } else {
            first
        };
        self.tallest = self.tallest.max(outside);
        Ok(whole)
    }

    /// What follows an operand; the stack holds, above `bottom`, left sides that wait for their right one.
    fn operations(&mut self, mut last: Tree, bottom: usize) -> Parse<Tree> {
        while let Some(operator) = binary_operator(self.kind()) {
            self.link(self.span())?;
            self.advance();
            let binds = |before: BinaryOperator| {
                level(before) > level(operator) || (before == operator && groups_left(operator))
            };
            while self.stack.len() > bottom
                && let Some((left, before)) = self.stack.pop_if(|(_, before)| binds(*before))
            {
                last = binary(before, left, last);
            }
            let right = self.prefix()?;
            self.stack.push((std::mem::replace(&mut last, right), operator));
        }
        while self.stack.len() > bottom
            && let Some((left, operator)) = self.stack.pop()
        {
            last = binary(operator, left, last);
        }
        Ok(last)
    }

    fn prefix(&mut self) -> Parse<Tree> {
        let mut complements = Vec::new();
        while self.kind() == Kind::Symbol("~") && !self.negated_check(0) {
            complements.push(self.advance().span);
            self.link(self.last_span())?;
        }
        let mut operand = self.postfix()?;
        // A product in brackets begins before its left operand.
        let bare = match &operand.node {
            Expression::Binary(BinaryOperator::Product, operands) => operands[0].span.start == operand.span.start,
            _ => false,
        };
        if let Some(&span) = complements.last()
            && bare
        {
            self.warn(
                span.to(operand.span),
                "this is the complement of the whole product, as in Dartagnan; herd refuses it",
                "write `~(A * B)` for this meaning, or `(~A) * B` for the other",
            );
        }
        for span in complements.into_iter().rev() {
            let whole = span.to(operand.span);
            operand = unary(UnaryOperator::Complement, operand, whole);
        }
        Ok(operand)
    }

    /// Applications with their postfix operators, and products, left to right.
    fn postfix(&mut self) -> Parse<Tree> {
        let outside = std::mem::take(&mut self.tallest);
        let mut left = self.application()?;
        loop {
            let power = self.kind() == Kind::Symbol("^");
            let operator = match if power { self.kind_after(1) } else { self.kind() } {
                Kind::Symbol("*") if !power && self.operand_after(1) => {
                    self.link(self.span())?;
                    self.advance();
                    // Recursion only here: `A * ~B` has no bracket to count.
                    let right = if self.kind() == Kind::Symbol("~") {
                        self.nested(Parser::prefix)?
                    } else {
                        self.application()?
                    };
                    left = binary(BinaryOperator::Product, left, right);
                    continue;
                }
                Kind::Symbol("*") => UnaryOperator::Star,
                Kind::Symbol("+") => UnaryOperator::Plus,
                Kind::Symbol("-1") => UnaryOperator::Inverse,
                Kind::Symbol("?") if !power => UnaryOperator::Optional,
                _ if power => {
                    self.advance();
                    return Err(self.unexpected("`-1`, `+` or `*` after `^`", "the inverse of `r` is `r^-1`"));
                }
                _ => break,
            };
            self.link(self.span())?;
            self.at += usize::from(power);
            self.advance();
            let span = left.span.to(self.last_span());
            left = unary(operator, left, span);
        }
        self.tallest = self.tallest.max(outside);
        Ok(left)
    }

    /// Whether an operand begins `distance` words ahead.
    fn operand_after(&self, distance: usize) -> bool {
        match self.kind_after(distance) {
            Kind::Name(_) => !self.bell_or_cut_after(distance),
            Kind::Tag(_) | Kind::Zero | Kind::Word("begin") | Kind::Symbol("(" | "[" | "{" | "_") => true,
            Kind::Symbol("~") => !self.negated_check(distance),
            _ => false,
        }
    }

    /// `f a b` is `(f a) b`. Only a name can be applied, so `[R] po` is a missing operator and not an application.
    fn application(&mut self) -> Parse<Tree> {
        let mut function = self.atom()?;
        if !matches!(function.node, Expression::Name(_)) || self.last_span() != function.span {
            return Ok(function);
        }
        while self.argument_follows() {
            self.link(self.span())?;
            self.suspect_argument();
            let argument = self.atom()?;
            let span = function.span.to(argument.span);
            function =
                Spanned::new(Expression::Apply { function: Box::new(function), argument: Box::new(argument) }, span);
        }
        Ok(function)
    }

    fn argument_follows(&self) -> bool {
        match self.kind() {
            Kind::Name(_) => !self.bell_or_cut_after(0),
            Kind::Tag(_) | Kind::Zero | Kind::Word("begin") | Kind::Symbol("(" | "[" | "{" | "_") => true,
            _ => false,
        }
    }

    /// One operand without operators: what stands after a function or a `call`.
    pub(super) fn atom(&mut self) -> Parse<Tree> {
        let token = self.token();
        let node = match token.kind {
            Kind::Name(name) => Expression::Name(name.into()),
            Kind::Tag(tag) => Expression::Tag(tag.to_string()),
            Kind::Zero => Expression::Empty,
            Kind::Symbol("_") => Expression::Universe,
            Kind::Symbol("(") => return self.bracketed(Kind::Symbol(")"), token.span),
            Kind::Word("begin") => return self.bracketed(Kind::Word("end"), token.span),
            Kind::Symbol("{") => return self.explicit_set(token.span),
            Kind::Symbol("[") => {
                self.advance();
                let set = self.expression()?;
                let end = self.expect(Kind::Symbol("]"), "to close the `[`", "`[S]` is the identity on the set S")?;
                return Ok(Spanned::new(Expression::Identity(Box::new(set)), token.span.to(end)));
            }
            _ => return Err(self.unexpected("an expression", expression_help(token.kind))),
        };
        self.advance();
        Ok(Spanned::new(node, token.span))
    }

    fn bracketed(&mut self, close: Kind<'_>, start: Span) -> Parse<Tree> {
        self.advance();
        if close == Kind::Symbol(")")
            && let Some(end) = self.take(close)
        {
            return Ok(Spanned::new(Expression::Tuple(Vec::new()), start.to(end)));
        }
        let inner = self.expression()?;
        let end = self.expect(close, "to close the bracket", "an operator or the closing bracket is missing here")?;
        Ok(Spanned::new(inner.node, start.to(end)))
    }

    fn explicit_set(&mut self, start: Span) -> Parse<Tree> {
        self.advance();
        if let Some(end) = self.take(Kind::Symbol("}")) {
            return Ok(Spanned::new(Expression::Empty, start.to(end)));
        }
        let mut items = vec![self.nested(Parser::base)?];
        while self.take(Kind::Symbol(",")).is_some() {
            items.push(self.nested(Parser::base)?);
        }
        let end = self.expect(Kind::Symbol("}"), "to close the set", "a set is `{a, b}`")?;
        Ok(Spanned::new(Expression::Set(items), start.to(end)))
    }

    fn let_expression(&mut self) -> Parse<Expression> {
        let token = self.token();
        let start = self.at;
        let starts_line = token.first && token.column <= self.column && self.at > 0;
        self.advance();
        let recursive = self.take(Kind::Word("rec")).is_some();
        let bindings = self.bindings()?;
        if self.take(Kind::Word("in")).is_none() {
            // `let a =` and nothing, then the next definition: the mistake is before this `let`.
            if starts_line {
                self.at = start;
                let help = "write the value after the `=` on the line before";
                return Err(self.unexpected("an expression", help));
            }
            return Err(
                self.unexpected("`in` after this `let`", "inside an expression write `let name = value in result`")
            );
        }
        let body = Box::new(self.expression()?);
        Ok(Expression::Let { recursive, bindings, body })
    }

    fn function(&mut self) -> Parse<Expression> {
        self.advance();
        let parameters = self.parameters("a parameter after `fun`")?;
        self.expect(Kind::Symbol("->"), "after the parameters", "a function is `fun x -> expression`")?;
        let body = Box::new(self.expression()?);
        Ok(Expression::Function { parameters, body })
    }

    fn try_expression(&mut self) -> Parse<Expression> {
        self.advance();
        let body = Box::new(self.expression()?);
        self.expect(Kind::Word("with"), "after the expression to try", "write `try expression with fallback`")?;
        let fallback = Box::new(self.expression()?);
        Ok(Expression::Try { body, fallback })
    }

    fn if_expression(&mut self) -> Parse<Expression> {
        const HELP: &str = "write `if condition then expression else expression`";
        self.advance();
        let start = self.span();
        let condition = self.condition()?;
        let condition = Box::new(Spanned::new(condition, start.to(self.last_span())));
        self.expect(Kind::Word("then"), "after the condition", HELP)?;
        let then = Box::new(self.expression()?);
        self.expect(Kind::Word("else"), "after the first branch", HELP)?;
        let otherwise = Box::new(self.expression()?);
        Ok(Expression::If { condition, then, otherwise })
    }

    fn condition(&mut self) -> Parse<ConditionExpression> {
        if self.variant_follows() {
            return Ok(ConditionExpression::Variant(self.variant()?));
        }
        let left = self.expression()?;
        let comparison = self.kind();
        if !matches!(comparison, Kind::Symbol("=") | Kind::Word("subset" | "in")) {
            return Err(
                self.unexpected("`=`, `subset` or `in`", "a condition compares two expressions, or is a \"variant\"")
            );
        }
        self.advance();
        let right = self.expression()?;
        Ok(match comparison {
            Kind::Symbol(_) => ConditionExpression::Equal(left, right),
            Kind::Word("subset") => ConditionExpression::Subset(left, right),
            _ => ConditionExpression::In(left, right),
        })
    }

    fn match_expression(&mut self) -> Parse<Expression> {
        self.advance();
        let scrutinee = Box::new(self.expression()?);
        self.expect(Kind::Word("with"), "after the matched expression", "write `match e with || 'tag -> e end`")?;
        let _ = self.take(Kind::Symbol("||"));
        let matches_set = match self.kind() {
            Kind::Symbol("{") | Kind::Name(_) => true,
            Kind::Symbol("_") => self.kind_after(1) != Kind::Symbol("->"),
            _ => false,
        };
        if matches_set { self.match_set(scrutinee) } else { self.match_tags(scrutinee) }
    }

    fn match_tags(&mut self, scrutinee: Box<Tree>) -> Parse<Expression> {
        let mut clauses = Vec::new();
        loop {
            let tag = self.clause_tag()?;
            let last = tag.is_none();
            let value = self.expression()?;
            clauses.push(ExpressionClause { tag, value });
            if last || self.take(Kind::Symbol("||")).is_none() {
                break;
            }
        }
        self.end_match()?;
        Ok(Expression::MatchTags { scrutinee, clauses })
    }

    /// `'tag ->` or `_ ->`.
    pub(super) fn clause_tag(&mut self) -> Parse<Option<Spanned<String>>> {
        let token = self.token();
        let tag = match token.kind {
            Kind::Tag(tag) => Some(Spanned::new(tag.to_string(), token.span)),
            Kind::Symbol("_") => None,
            _ => return Err(self.unexpected("a tag or `_`", "a clause is `'tag -> …`, the last may be `_ -> …`")),
        };
        self.advance();
        self.expect(Kind::Symbol("->"), "after the tag", "a clause is `'tag -> …`")?;
        Ok(tag)
    }

    pub(super) fn end_match(&mut self) -> Parse<Span> {
        self.expect(Kind::Word("end"), "to close the `match`", "clauses are separated by `||`; `_` comes last")
    }

    fn match_set(&mut self, scrutinee: Box<Tree>) -> Parse<Expression> {
        const HELP: &str = "a match on a set has two clauses, `{} -> e` and `x ++ rest -> e`";
        let mut empty = None;
        let mut step = None;
        for clause in 0..2 {
            if clause == 1 {
                self.expect(Kind::Symbol("||"), "before the second clause", HELP)?;
            }
            let start = self.span();
            if self.take(Kind::Symbol("{")).is_some() {
                self.expect(Kind::Symbol("}"), "after `{`", HELP)?;
                self.expect(Kind::Symbol("->"), "after `{}`", HELP)?;
                empty = Some(self.expression()?);
            } else {
                step = Some(self.element_clause(HELP)?);
            }
            if clause == 1 && (empty.is_none() || step.is_none()) {
                let message = "both clauses of this match are of the same kind";
                return Err(self.fail(Diagnostic::error(start, message).help(HELP)));
            }
        }
        self.end_match()?;
        let (Some(empty), Some((before, element, rest, step))) = (empty, step) else { return Err(Failed) };
        Ok(Expression::MatchSet { scrutinee, clauses: Box::new(SetClauses { empty, before, element, rest, step }) })
    }

    /// `x ++ rest -> e` or `before | x ++ rest -> e`.
    fn element_clause(&mut self, help: &str) -> Parse<(Option<Pattern>, Pattern, Pattern, Tree)> {
        let first = self.pattern("the name of the element")?;
        let (before, element) = match self.take(Kind::Symbol("|")) {
            Some(_) => (Some(first), self.pattern("the name of the element")?),
            None => (None, first),
        };
        self.expect(Kind::Symbol("++"), "after the element", help)?;
        let rest = self.pattern("the name of the rest")?;
        self.expect(Kind::Symbol("->"), "after the pattern", help)?;
        Ok((before, element, rest, self.expression()?))
    }
}

fn expression_help(found: Kind<'_>) -> &'static str {
    match found {
        Kind::Word("let" | "fun" | "try" | "if" | "match") => "put brackets around it to use it as an operand",
        Kind::Word(_) | Kind::End => "the expression before this is not finished",
        Kind::Symbol("||") => "union is a single `|`",
        Kind::Symbol("&&") => "intersection is a single `&`",
        Kind::Symbol("|" | "&" | ";" | "\\" | "++" | "*" | "+" | "?" | "^") => {
            "an operand is missing before this operator"
        }
        Kind::Symbol(")" | "]" | "}") => "an operand is missing, or this bracket has no partner",
        Kind::Number(_) => "only `0`, the empty set or relation, is written as a number",
        Kind::Text(_) => "a string stands only after `include` and in `if \"variant\"`",
        _ => "an operand is a name, `0`, `_`, `'tag`, `{…}`, `[…]` or `(…)`",
    }
}
