//! Conditions with their names resolved. On the left of a comparison a location is its final value; on the right it is
//! its address, as in herd and Dartagnan (`P0:r1 = x`), unless a number stands on the left: `1 = x` is `x = 1`.

use fencepost_syntax::litmus::{Comparison, Condition as Tree, Question as QuestionTree, Term as TermTree};
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::ids::{RegisterId, ThreadId};
use crate::lower::{Findings, Names, Refusal, ThreadBuilder, misfit};
use crate::program::{Condition, Question, Term};
use crate::value::{Type, Value};

/// One side of a comparison, as written and resolved.
struct Side<'t>(&'t Spanned<TermTree>, Term);

pub(crate) struct Resolver<'a> {
    pub(crate) names: &'a Names,
    pub(crate) threads: &'a [ThreadBuilder],
    pub(crate) findings: &'a mut Findings,
}

impl Resolver<'_> {
    pub(crate) fn question(&mut self, tree: &QuestionTree) -> Question {
        Question {
            kind: tree.kind,
            name: tree.name.as_ref().map(|name| name.node.clone()),
            condition: self.condition(&tree.condition.node),
            span: tree.span.span.to(tree.condition.span),
        }
    }

    pub(crate) fn spanned(&mut self, tree: &Spanned<Tree>) -> Spanned<Condition> {
        Spanned::new(self.condition(&tree.node), tree.span)
    }

    pub(crate) fn shown(&mut self, tree: &Spanned<TermTree>) -> Option<Term> {
        match self.left(tree) {
            Ok(Term::Constant(_)) => None,
            Ok(term) => Some(term),
            Err(refusal) => {
                self.findings.refuse(refusal);
                None
            }
        }
    }

    /// The parser limits the depth of conditions, so that this recursion is bounded.
    fn condition(&mut self, tree: &Tree) -> Condition {
        match tree {
            Tree::True => Condition::True,
            Tree::False => Condition::False,
            Tree::Not(inner) => Condition::Not(Box::new(self.condition(&inner.node))),
            Tree::And(parts) => Condition::And(parts.iter().map(|part| self.condition(&part.node)).collect()),
            Tree::Or(parts) => Condition::Or(parts.iter().map(|part| self.condition(&part.node)).collect()),
            Tree::Compare { op, left, right } => match (self.left(left), self.right(left, right)) {
                (Ok(left_term), Ok(right_term)) => {
                    let (left, right) = (Side(left, left_term), Side(right, right_term));
                    match (self.constant(*op, &left, &right), self.constant(*op, &right, &left)) {
                        (Ok(left), Ok(right)) => Condition::Compare { op: *op, left, right },
                        (Err(refusal), _) | (_, Err(refusal)) => {
                            self.findings.refuse(refusal);
                            Condition::False
                        }
                    }
                }
                (left, right) => {
                    for refusal in [left.err(), right.err()].into_iter().flatten() {
                        self.findings.refuse(refusal);
                    }
                    Condition::False
                }
            },
        }
    }

    fn left(&self, term: &Spanned<TermTree>) -> Result<Term, Refusal> {
        match &term.node {
            TermTree::Integer(integer) => Ok(Term::Constant(Value(*integer))),
            TermTree::Register { thread, name } => self.register(*thread, name, term.span),
            TermTree::Location { name, index } => {
                let address = self.element(name, *index, term.span)?;
                Ok(Term::Memory(self.names.addresses[address].location))
            }
        }
    }

    fn right(&self, left: &Spanned<TermTree>, term: &Spanned<TermTree>) -> Result<Term, Refusal> {
        match &term.node {
            TermTree::Location { name, index } if !matches!(left.node, TermTree::Integer(_)) => {
                let address = self.element(name, *index, term.span)?;
                Ok(Term::Constant(self.names.addresses[address].value))
            }
            _ => self.left(term),
        }
    }

    fn element(&self, name: &str, index: Option<u32>, span: Span) -> Result<usize, Refusal> {
        let entry = self.names.get(name).ok_or_else(|| self.names.unknown(name, span))?;
        match (index, entry.length) {
            (None | Some(0), _) => Ok(entry.first.index()),
            (Some(index), Some(length)) if index < length => Ok(entry.first.index() + index as usize),
            (Some(index), _) => Err(Refusal::error(span, format!("`{name}` has no element {index}"))),
        }
    }

    fn register(&self, thread: Option<u32>, name: &str, span: Span) -> Result<Term, Refusal> {
        let Some(index) = thread else {
            return self.register_anywhere(name, span);
        };
        let Some(builder) = self.threads.get(index as usize) else {
            let help = format!("the test has {} threads, numbered from 0", self.threads.len());
            return Err(Refusal::Error(Diagnostic::error(span, format!("there is no thread P{index}")).help(help)));
        };
        match find(builder, name) {
            Some(register) => Ok(Term::Register(ThreadId(index), register)),
            None => {
                let help = match builder.known() {
                    known if known.is_empty() => format!("P{index} uses no registers"),
                    known => format!("P{index} uses {}", known.join(", ")),
                };
                let message = format!("P{index} has no register `{name}`");
                Err(Refusal::Error(Diagnostic::error(span, message).label("never used").help(help)))
            }
        }
    }

    /// NVLitmus: registers are unique in the file.
    fn register_anywhere(&self, name: &str, span: Span) -> Result<Term, Refusal> {
        let mut found = (0..).zip(self.threads).filter_map(|(thread, builder)| Some((thread, find(builder, name)?)));
        match (found.next(), found.next()) {
            (Some((thread, register)), None) => Ok(Term::Register(ThreadId(thread), register)),
            (Some(_), Some(_)) => {
                let message = format!("several threads have a register `{name}`");
                Err(Refusal::Error(Diagnostic::error(span, message).help("use a name that only one thread has")))
            }
            _ => {
                let known: Vec<&str> = self.threads.iter().flat_map(ThreadBuilder::known).collect();
                let help = format!("known are {}", known.join(", "));
                Err(Refusal::Error(Diagnostic::error(span, format!("no thread has a register `{name}`")).help(help)))
            }
        }
    }

    /// A side of a comparison. A constant is one of the other side's type: for `=` and `!=` in either reading of its bits
    /// (`-1` is 2^32-1 beside a `.u32`), while an order compares the integers as they are written.
    fn constant(&self, op: Comparison, side: &Side<'_>, other: &Side<'_>) -> Result<Term, Refusal> {
        let (Term::Constant(value), Some(ty)) = (&side.1, self.type_of(&other.1)) else { return Ok(side.1.clone()) };
        if !ty.fits(*value) {
            let what = match &side.0.node {
                TermTree::Location { name, .. } => format!("the address of `{name}`"),
                _ => value.to_string(),
            };
            return Err(Refusal::Error(misfit(&what, ty, &self.spelled(&other.1), side.0.span)));
        }
        let is_order = !matches!(op, Comparison::Equal | Comparison::NotEqual);
        Ok(Term::Constant(if is_order { *value } else { ty.wrap(*value) }))
    }

    fn spelled(&self, term: &Term) -> String {
        match term {
            Term::Constant(value) => value.to_string(),
            Term::Register(thread, register) => {
                let builder = &self.threads[thread.index()];
                format!("{}:{}", builder.name(), builder.register_name(*register))
            }
            Term::Memory(location) => self.names.locations[location.index()].name.clone(),
        }
    }

    fn type_of(&self, term: &Term) -> Option<Type> {
        match term {
            Term::Constant(_) => None,
            Term::Register(thread, register) => Some(self.threads[thread.index()].register_type(*register)),
            Term::Memory(location) => Some(self.names.locations[location.index()].ty),
        }
    }
}

/// Conditions may leave PTX's `%` out.
fn find(builder: &ThreadBuilder, name: &str) -> Option<RegisterId> {
    builder
        .find(name)
        .or_else(|| builder.find(&format!("%{name}")))
        .or_else(|| crate::table::x86::find_register(builder, name))
}
