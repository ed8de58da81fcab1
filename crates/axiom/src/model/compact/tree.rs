//! The tree of a cat text as bytes; see [`super`]. What the shipped models do not use is not written: a model that has it
//! is parsed.

use std::sync::Arc;

use fencepost_syntax::cat::{
    BinaryOperator, Binding, BindingPattern, CatInstruction, Check, CheckKind, CheckRole, ConditionExpression,
    Expression, Late, Model, Pattern, Show, Stored, UnaryOperator, VariantCondition,
};
use fencepost_syntax::{Span, Spanned};

use super::bytes::{Reader, Words, Writer};

const UNARY: [UnaryOperator; 5] = [
    UnaryOperator::Complement,
    UnaryOperator::Inverse,
    UnaryOperator::Plus,
    UnaryOperator::Star,
    UnaryOperator::Optional,
];
const BINARY: [BinaryOperator; 6] = [
    BinaryOperator::Union,
    BinaryOperator::Intersection,
    BinaryOperator::Difference,
    BinaryOperator::Sequence,
    BinaryOperator::Product,
    BinaryOperator::Insert,
];
pub(super) const ROLES: [CheckRole; 4] =
    [CheckRole::Axiom, CheckRole::Flag, CheckRole::UndefinedUnless, CheckRole::Assert];
pub(super) const KINDS: [CheckKind; 3] = [CheckKind::Acyclic, CheckKind::Irreflexive, CheckKind::Empty];

/// Levels of expressions; the parser's limit is higher, the shipped models stay far below.
const DEEPEST: u32 = 200;

/// Writes a tree for [`decode`]; None if it has something that is not written.
pub fn encode(writer: &mut Writer, model: &Model) -> Option<()> {
    writer.with_words(|writer| {
        words(writer, &model.header);
        instructions(writer, &model.instructions)
    })
}

/// The tree of these bytes. Definitions are read when they are first asked for.
pub fn decode(reader: &mut Reader<'_>) -> Option<Model> {
    let words = reader.words()?;
    let tree = Arc::new(Tree { bytes: reader.rest().into(), words });
    let mut reader = Reader::new(&tree.bytes).with_words(&tree.words);
    let header = reader.list(read_word)?;
    Some(Model { header, instructions: reader.list(|reader| read_instruction(reader, &tree, DEEPEST))? })
}

/// The bytes of a tree, for its definitions.
struct Tree {
    bytes: Box<[u8]>,
    words: Words,
}

impl Tree {
    fn expression(&self, at: usize) -> Option<Spanned<Expression>> {
        let bytes = self.bytes.get(at..)?;
        read_expression(&mut Reader::new(bytes).with_words(&self.words), DEEPEST)
    }
}

impl Stored<Spanned<Expression>> for Tree {
    /// Damaged bytes are a name that nothing has: whoever evaluates it says so.
    fn read(&self, at: usize) -> Spanned<Expression> {
        let damaged = || Spanned::new(Expression::Name(Arc::from("a damaged model")), Span::default());
        self.expression(at).unwrap_or_else(damaged)
    }
}

fn each<T>(writer: &mut Writer, items: &[T], mut item: impl FnMut(&mut Writer, &T) -> Option<()>) -> Option<()> {
    let mut all = Some(());
    writer.list(items, |writer, one| all = all.and_then(|()| item(writer, one)));
    all
}

/// Spans follow each other closely, but not always forwards.
fn span(writer: &mut Writer, span: Span) {
    writer.place(span.start);
    writer.number(span.end.wrapping_sub(span.start));
}

fn read_span(reader: &mut Reader<'_>) -> Option<Span> {
    let start = reader.place()?;
    Some(Span::new(start, start.wrapping_add(reader.number()?)))
}

fn word(writer: &mut Writer, word: &Spanned<String>) {
    span(writer, word.span);
    writer.word(&word.node);
}

fn words(writer: &mut Writer, words: &[Spanned<String>]) {
    writer.list(words, word);
}

fn read_word(reader: &mut Reader<'_>) -> Option<Spanned<String>> {
    let span = read_span(reader)?;
    Some(Spanned::new(reader.word_text()?.to_owned(), span))
}

fn instructions(writer: &mut Writer, body: &[Spanned<CatInstruction>]) -> Option<()> {
    each(writer, body, |writer, instruction| {
        span(writer, instruction.span);
        match &instruction.node {
            CatInstruction::Let { recursive, bindings, when: None } => {
                writer.number(u32::from(*recursive));
                each(writer, bindings, write_binding)
            }
            CatInstruction::Check(check) => {
                writer.number(2);
                write_check(writer, check)
            }
            CatInstruction::Show { items } => {
                writer.number(3);
                each(writer, items, |writer, item| {
                    word(writer, &item.name);
                    write_expression(writer, &item.expression)
                })
            }
            CatInstruction::If { condition, then, otherwise } => {
                writer.number(4);
                span(writer, condition.span);
                write_condition(writer, &condition.node);
                instructions(writer, then)?;
                instructions(writer, otherwise)
            }
            _ => None,
        }
    })
}

fn read_instruction(reader: &mut Reader<'_>, tree: &Arc<Tree>, left: u32) -> Option<Spanned<CatInstruction>> {
    let left = left.checked_sub(1)?;
    let span = read_span(reader)?;
    let node = match reader.number()? {
        recursive @ (0 | 1) => {
            let bindings = reader.list(|reader| read_binding(reader, tree))?;
            CatInstruction::Let { recursive: recursive == 1, bindings, when: None }
        }
        2 => CatInstruction::Check(read_check(reader)?),
        3 => {
            let item = |reader: &mut Reader<'_>| {
                let name = read_word(reader)?;
                Some(Show { expression: read_expression(reader, DEEPEST)?, name })
            };
            CatInstruction::Show { items: reader.list(item)? }
        }
        4 => {
            let at = read_span(reader)?;
            let condition = Spanned::new(read_condition(reader, DEEPEST)?, at);
            let then = reader.list(|reader| read_instruction(reader, tree, left))?;
            let otherwise = reader.list(|reader| read_instruction(reader, tree, left))?;
            CatInstruction::If { condition, then, otherwise }
        }
        _ => return None,
    };
    Some(Spanned::new(node, span))
}

fn write_binding(writer: &mut Writer, binding: &Binding) -> Option<()> {
    match &binding.pattern {
        BindingPattern::Name(name) => {
            writer.number(0);
            word(writer, name);
        }
        BindingPattern::Function { name, parameters } => {
            writer.number(1);
            word(writer, name);
            each(writer, parameters, |writer, parameter| match parameter {
                Pattern::Name(name) => {
                    word(writer, name);
                    Some(())
                }
                Pattern::Ignore => None,
            })?;
        }
        BindingPattern::Tuple(_) => return None,
    }
    writer.with_length(|writer| write_expression(writer, &binding.value))
}

fn read_binding(reader: &mut Reader<'_>, tree: &Arc<Tree>) -> Option<Binding> {
    let pattern = match reader.number()? {
        0 => BindingPattern::Name(read_word(reader)?),
        1 => {
            let name = read_word(reader)?;
            BindingPattern::Function { name, parameters: reader.list(|reader| read_word(reader).map(Pattern::Name))? }
        }
        _ => return None,
    };
    let length = reader.number()? as usize;
    let at = tree.bytes.len().checked_sub(reader.rest().len())?;
    reader.skip(length)?;
    Some(Binding { pattern, value: Late::stored(at, Arc::clone(tree) as Arc<dyn Stored<Spanned<Expression>>>) })
}

fn write_check(writer: &mut Writer, check: &Check) -> Option<()> {
    writer.number(ROLES.iter().position(|role| *role == check.role)? as u32);
    writer.number(KINDS.iter().position(|kind| *kind == check.kind)? as u32);
    writer.number(u32::from(check.negated));
    words(writer, check.name.as_slice());
    write_expression(writer, &check.expression)
}

fn read_check(reader: &mut Reader<'_>) -> Option<Check> {
    let role = *ROLES.get(reader.number()? as usize)?;
    let kind = *KINDS.get(reader.number()? as usize)?;
    let negated = reader.number()? == 1;
    let name = reader.list(read_word)?.pop();
    Some(Check { role, negated, kind, expression: read_expression(reader, DEEPEST)?, name })
}

fn write_condition(writer: &mut Writer, condition: &VariantCondition) {
    match condition {
        VariantCondition::Name(name) => {
            writer.number(0);
            writer.word(name);
        }
        VariantCondition::Not(inner) => {
            writer.number(1);
            write_condition(writer, inner);
        }
        VariantCondition::And(left, right) | VariantCondition::Or(left, right) => {
            writer.number(if matches!(condition, VariantCondition::And(..)) { 2 } else { 3 });
            write_condition(writer, left);
            write_condition(writer, right);
        }
    }
}

fn read_condition(reader: &mut Reader<'_>, left: u32) -> Option<VariantCondition> {
    let left = left.checked_sub(1)?;
    let inner = |reader: &mut Reader<'_>| read_condition(reader, left).map(Box::new);
    Some(match reader.number()? {
        0 => VariantCondition::Name(reader.word_text()?.to_owned()),
        1 => VariantCondition::Not(inner(reader)?),
        2 => VariantCondition::And(inner(reader)?, inner(reader)?),
        3 => VariantCondition::Or(inner(reader)?, inner(reader)?),
        _ => return None,
    })
}

/// The numbers of expressions; those of operators come after.
const NAME: u32 = 0;
const EMPTY: u32 = 1;
const UNIVERSE: u32 = 2;
const IDENTITY: u32 = 3;
const APPLY: u32 = 4;
const TUPLE: u32 = 5;
const IF: u32 = 6;
const OPERATORS: u32 = 7;

fn write_expression(writer: &mut Writer, tree: &Spanned<Expression>) -> Option<()> {
    span(writer, tree.span);
    match &tree.node {
        Expression::Name(name) => {
            writer.number(NAME);
            writer.word(name);
        }
        Expression::Empty => writer.number(EMPTY),
        Expression::Universe => writer.number(UNIVERSE),
        Expression::Identity(inner) => {
            writer.number(IDENTITY);
            write_expression(writer, inner)?;
        }
        Expression::Apply { function, argument } => {
            writer.number(APPLY);
            write_expression(writer, function)?;
            write_expression(writer, argument)?;
        }
        Expression::Tuple(items) => {
            writer.number(TUPLE);
            each(writer, items, write_expression)?;
        }
        Expression::If { condition, then, otherwise } => {
            let ConditionExpression::Variant(variant) = &condition.node else { return None };
            writer.number(IF);
            span(writer, condition.span);
            write_condition(writer, variant);
            write_expression(writer, then)?;
            write_expression(writer, otherwise)?;
        }
        Expression::Unary(operator, inner) => {
            writer.number(OPERATORS + UNARY.iter().position(|known| known == operator)? as u32);
            write_expression(writer, inner)?;
        }
        Expression::Binary(operator, operands) => {
            let number = UNARY.len() + BINARY.iter().position(|known| known == operator)?;
            writer.number(OPERATORS + number as u32);
            operands.iter().try_for_each(|operand| write_expression(writer, operand))?;
        }
        _ => return None,
    }
    Some(())
}

fn read_expression(reader: &mut Reader<'_>, left: u32) -> Option<Spanned<Expression>> {
    let left = left.checked_sub(1)?;
    let span = read_span(reader)?;
    let inner = |reader: &mut Reader<'_>| read_expression(reader, left).map(Box::new);
    let node = match reader.number()? {
        NAME => Expression::Name(Arc::clone(reader.word()?)),
        EMPTY => Expression::Empty,
        UNIVERSE => Expression::Universe,
        IDENTITY => Expression::Identity(inner(reader)?),
        APPLY => Expression::Apply { function: inner(reader)?, argument: inner(reader)? },
        TUPLE => Expression::Tuple(reader.list(|reader| read_expression(reader, left))?),
        IF => {
            let at = read_span(reader)?;
            let condition = ConditionExpression::Variant(read_condition(reader, DEEPEST)?);
            let condition = Box::new(Spanned::new(condition, at));
            Expression::If { condition, then: inner(reader)?, otherwise: inner(reader)? }
        }
        number => {
            let number = number.checked_sub(OPERATORS)? as usize;
            match UNARY.get(number) {
                Some(operator) => Expression::Unary(*operator, inner(reader)?),
                None => {
                    let operator = *BINARY.get(number - UNARY.len())?;
                    Expression::Binary(
                        operator,
                        Box::new([read_expression(reader, left)?, read_expression(reader, left)?]),
                    )
                }
            }
        }
    };
    Some(Spanned::new(node, span))
}
