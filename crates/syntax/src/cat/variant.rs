//! Conditions on herd's variants: strings joined by `not`, `&&` and `||`, in brackets where needed.

use super::lexer::Kind;
use super::parser::{Parse, Parser};
use super::tree::VariantCondition;

const HELP: &str = "a variant is a string, as in `if \"memtag\"`; join them with `not`, `&&` and `||`";

impl Parser<'_> {
    /// Whether brackets and `not`s lead to a string here; else it is a comparison of expressions.
    pub(super) fn variant_follows(&self) -> bool {
        let mut ahead = 0;
        while matches!(self.kind_after(ahead), Kind::Symbol("(" | "~") | Kind::Name("not" | "variant")) {
            ahead += 1;
        }
        matches!(self.kind_after(ahead), Kind::Text(_))
    }

    pub(super) fn variant(&mut self) -> Parse<VariantCondition> {
        self.nested(|parser| {
            let left = parser.variant_conjunction()?;
            if parser.take(Kind::Symbol("||")).is_none() {
                return Ok(left);
            }
            Ok(VariantCondition::Or(Box::new(left), Box::new(parser.variant()?)))
        })
    }

    fn variant_conjunction(&mut self) -> Parse<VariantCondition> {
        self.nested(|parser| {
            let left = parser.variant_atom()?;
            if parser.take(Kind::Symbol("&&")).is_none() {
                return Ok(left);
            }
            Ok(VariantCondition::And(Box::new(left), Box::new(parser.variant_conjunction()?)))
        })
    }

    fn variant_atom(&mut self) -> Parse<VariantCondition> {
        if self.kind() == Kind::Name("variant") {
            self.advance();
        }
        match self.kind() {
            Kind::Text(name) => {
                self.advance();
                Ok(VariantCondition::Name(name.to_string()))
            }
            Kind::Name("not") | Kind::Symbol("~") => {
                self.advance();
                let inner = self.nested(Parser::variant_atom)?;
                Ok(VariantCondition::Not(Box::new(inner)))
            }
            Kind::Symbol("(") => {
                self.advance();
                let inner = self.variant()?;
                self.expect(Kind::Symbol(")"), "to close the bracket", HELP)?;
                Ok(inner)
            }
            _ => Err(self.unexpected("a variant", HELP)),
        }
    }
}
