//! Conditions with their names resolved. On the left of a comparison a location is its final value; on the right it is
//! its address, as in herd and Dartagnan (`P0:r1 = x`), unless a number stands on the left (`1 = x` is `x = 1`) or the
//! comparison is an order (`x < y` is one of values).

use std::sync::Arc;

use fencepost_syntax::litmus::{
    Comparison, Condition as Tree, Dialect, Litmus, Moment, Question as QuestionTree, Term as TermTree,
};
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::ids::{RegisterId, ThreadId};
use crate::lower::builder::ThreadBuilder;
use crate::lower::cut::Asked;
use crate::lower::findings::{Findings, Refusal, misfit};
use crate::lower::names::{Atom, Instance, Names, VariableId, stem};
use crate::lower::threads_there;
use crate::program::{Condition, Question, Space, Term};
use crate::value::{Type, Value};

/// One side of a comparison, as written and resolved.
struct Side<'t>(&'t Spanned<TermTree>, Term);

/// What stands on the left of a comparison.
enum Left {
    Term(Term),
    /// The value of memory that accesses cut into several locations, lowest first.
    Parts(Vec<Atom>),
}

/// The memory that conditions look at: known before it is cut. What cannot be found is reported when conditions are.
pub(crate) fn asked(terms: &Terms<'_>, names: &mut Names, threads: &[Box<ThreadBuilder>]) -> Vec<Asked> {
    let mut found = Vec::new();
    for term in terms {
        let (name, which, element) = match &term.node {
            TermTree::Location { name, index } => (stem(name), names.asked(name, term.span), *index),
            TermTree::Register { thread: Some(thread), name } => match local(names, threads, *thread, name) {
                Some(which) => (&**name, Ok(which), None),
                None => continue,
            },
            _ => continue,
        };
        let made = which.and_then(|which| names.instance(name, which, term.span));
        found.extend(made.ok().map(|variable| Asked { variable, element, span: term.span }));
    }
    found
}

/// Most tests ask for no more terms.
const FEW: usize = 8;

pub(crate) type Terms<'t> = Vec<&'t Spanned<TermTree>>;

/// Every register and location of the questions and of what is shown, where it stands first.
pub(crate) fn terms(litmus: &Litmus) -> Terms<'_> {
    let mut terms: Vec<&Spanned<TermTree>> = Vec::with_capacity(litmus.locations.len() + FEW);
    terms.extend(&litmus.locations);
    // Those about the recovery program are its own.
    let own = litmus.questions.iter().filter(|question| question.moment != Moment::Recovered);
    own.map(|question| &question.condition)
        .chain(&litmus.filter)
        .for_each(|condition| collect(&condition.node, &mut terms, &mut Places::default()));
    terms
}

/// Tells threads of x86 what conditions call their registers, before they are lowered: `rax` and `eax` are two values.
pub(crate) fn ask_registers(terms: &Terms<'_>, threads: &mut [Box<ThreadBuilder>]) {
    for term in terms {
        let TermTree::Register { thread: Some(thread), name } = &term.node else { continue };
        let builder = threads.get_mut(*thread as usize).filter(|builder| builder.dialect == Dialect::X86);
        if let Some(builder) = builder
            && !builder.scan.asked.contains(&**name)
        {
            builder.scan.asked.insert(Arc::clone(name));
        }
    }
}

/// Registers of x86 that a condition asks for and the thread never names: every thread has them, and they are 0 as herd
/// has them. Said all the same, because it is mostly a misspelling.
pub(crate) fn touch_registers(terms: &Terms<'_>, threads: &mut [Box<ThreadBuilder>], findings: &mut Findings) {
    for term in terms {
        let TermTree::Register { thread: Some(thread), name } = &term.node else { continue };
        let Some(builder) = threads.get_mut(*thread as usize).filter(|builder| builder.dialect == Dialect::X86) else {
            continue;
        };
        if find(builder, name).is_none() && crate::table::x86::place::touch_register(builder, name) {
            let message = format!("P{thread} does not use the register `{name}`: it is 0");
            findings.diagnostics.push(Diagnostic::warning(term.span, message).label("never used"));
        }
    }
}

/// `P0:l` of a `.local` name.
fn local(names: &Names, threads: &[Box<ThreadBuilder>], thread: u32, name: &str) -> Option<Instance> {
    let builder = threads.get(thread as usize)?;
    let is_local = matches!(names.get(name)?.space, Some((Space::Local, _)));
    (is_local && find(builder, name).is_none()).then_some(Instance::Thread(ThreadId(thread)))
}

/// The places of the terms that were met last on the left and on the right of a comparison. Conditions name the same terms over
/// and over: on either side the one that stood there before, or the one behind it.
#[derive(Default)]
struct Places([usize; 2]);

const LEFT: usize = 0;
const RIGHT: usize = 1;

impl Places {
    /// The place of a term among so many, as far as that is soon found.
    fn find(&mut self, side: usize, count: usize, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        const FEW: usize = 16;
        let last = self.0[side];
        let at = if last < count && is_it(last) {
            last
        } else if last + 1 < count && is_it(last + 1) {
            last + 1
        } else {
            (0..count.min(FEW)).find(|at| is_it(*at))?
        };
        self.0[side] = at;
        Some(at)
    }
}

fn collect<'t>(tree: &'t Tree, found: &mut Vec<&'t Spanned<TermTree>>, places: &mut Places) {
    match tree {
        Tree::True | Tree::False => {}
        Tree::Compare { left, right, .. } => {
            for (side, term) in [left, right].into_iter().enumerate() {
                let is_integer = matches!(term.node, TermTree::Integer(_));
                if !is_integer && places.find(side, found.len(), |at| found[at].node == term.node).is_none() {
                    places.0[side] = found.len();
                    found.push(term);
                }
            }
        }
        Tree::Not(inner) => collect(&inner.node, found, places),
        Tree::And(parts) | Tree::Or(parts) => parts.iter().for_each(|part| collect(&part.node, found, places)),
    }
}

pub(crate) struct Resolver<'a> {
    names: &'a Names,
    threads: &'a [Box<ThreadBuilder>],
    findings: &'a mut Findings,
    /// Terms that were resolved.
    known: Vec<(&'a TermTree, Term)>,
    places: Places,
}

/// So many terms are kept.
const MOST_KNOWN: usize = 1024;

impl<'a> Resolver<'a> {
    pub(crate) fn new(names: &'a Names, threads: &'a [Box<ThreadBuilder>], findings: &'a mut Findings) -> Resolver<'a> {
        Resolver { names, threads, findings, known: Vec::with_capacity(FEW), places: Places::default() }
    }

    pub(crate) fn question(&mut self, tree: &'a QuestionTree) -> Question {
        Question {
            kind: tree.kind,
            name: tree.name.as_ref().map(|name| name.node.clone()),
            condition: self.condition(&tree.condition.node),
            span: tree.span.span.to(tree.condition.span),
        }
    }

    pub(crate) fn spanned(&mut self, tree: &'a Spanned<Tree>) -> Spanned<Condition> {
        Spanned::new(self.condition(&tree.node), tree.span)
    }

    pub(crate) fn shown(&mut self, tree: &Spanned<TermTree>) -> Vec<Term> {
        match self.left(tree) {
            Ok(Left::Term(Term::Constant(_))) => Vec::new(),
            Ok(Left::Term(term)) => vec![term],
            Ok(Left::Parts(parts)) => parts.iter().map(|part| Term::Memory(part.location)).collect(),
            Err(refusal) => {
                self.findings.refuse(refusal);
                Vec::new()
            }
        }
    }

    /// The parser limits the depth of conditions, so that this recursion is bounded.
    fn condition(&mut self, tree: &'a Tree) -> Condition {
        match tree {
            Tree::True => Condition::True,
            Tree::False => Condition::False,
            Tree::Not(inner) => Condition::Not(Box::new(self.condition(&inner.node))),
            Tree::And(parts) => Condition::And(parts.iter().map(|part| self.condition(&part.node)).collect()),
            Tree::Or(parts) => Condition::Or(parts.iter().map(|part| self.condition(&part.node)).collect()),
            Tree::Compare { op, left, right } => {
                if let Some(condition) = self.repeated(*op, &left.node, &right.node) {
                    return condition;
                }
                let refusals = match (self.side(LEFT, left), self.right(*op, left, right)) {
                    (Ok(one), Ok(other)) => match self.comparison(*op, (left, one), (right, other)) {
                        Ok(condition) => return condition,
                        Err(refusal) => vec![refusal],
                    },
                    (left, right) => [left.err(), right.err()].into_iter().flatten().collect(),
                };
                refusals.into_iter().for_each(|refusal| self.findings.refuse(refusal));
                Condition::False
            }
        }
    }

    /// A comparison of what was asked for before with a number, which is most of them.
    fn repeated(&mut self, op: Comparison, left: &TermTree, right: &TermTree) -> Option<Condition> {
        let TermTree::Integer(integer) = right else { return None };
        let left = self.known(LEFT, left)?;
        let ty = self.type_of(&left).filter(|ty| ty.fits(Value(*integer)))?;
        Some(Condition::Compare { op, left, right: Term::Constant(as_compared(op, ty, Value(*integer))) })
    }

    /// What was resolved before, if it is found.
    fn known(&mut self, side: usize, term: &TermTree) -> Option<Term> {
        let at = self.places.find(side, self.known.len(), |at| self.known[at].0 == term)?;
        Some(self.known[at].1)
    }

    fn comparison(
        &self,
        op: Comparison,
        (left, one): (&Spanned<TermTree>, Left),
        (right, other): (&Spanned<TermTree>, Left),
    ) -> Result<Condition, Refusal> {
        match (one, other) {
            (Left::Term(one), Left::Term(other)) => {
                self.refuse_signs((left, &one), (right, &other))?;
                let (left, right) = (Side(left, one), Side(right, other));
                let (one, other) = (self.constant(op, &left, &right)?, self.constant(op, &right, &left)?);
                Ok(Condition::Compare { op, left: one, right: other })
            }
            (Left::Parts(parts), Left::Term(Term::Constant(value))) => self.parts(op, &parts, value, right.span),
            (Left::Term(Term::Constant(value)), Left::Parts(parts)) => {
                self.parts(op.mirrored(), &parts, value, left.span)
            }
            _ => {
                let what = "a comparison of memory that accesses of several sizes part, with no constant";
                Err(Refusal::Unsupported(left.span.to(right.span), what.to_string()))
            }
        }
    }

    /// Values are compared as numbers: of the same bits, a signed and an unsigned one may be two.
    fn refuse_signs(
        &self,
        (left, one): (&Spanned<TermTree>, &Term),
        (right, other): (&Spanned<TermTree>, &Term),
    ) -> Result<(), Refusal> {
        let (Some(first), Some(second)) = (self.type_of(one), self.type_of(other)) else { return Ok(()) };
        if first.bits == 0 || second.bits == 0 || first.signed == second.signed {
            return Ok(());
        }
        let sign = |ty: Type| if ty.signed { "signed" } else { "unsigned" };
        let what = format!(
            "a comparison of `{}`, which is {}, with `{}`, which is {}",
            self.spelled(one),
            sign(first),
            self.spelled(other),
            sign(second)
        );
        Err(Refusal::Unsupported(left.span.to(right.span), what))
    }

    /// A comparison of the whole with a constant, part by part: unsigned, as the bytes lie.
    fn parts(&self, op: Comparison, parts: &[Atom], value: Value, span: Span) -> Result<Condition, Refusal> {
        let bits = parts.iter().map(|part| part.bytes * 8).sum::<i128>();
        let whole = Type { bits: u8::try_from(bits).unwrap_or(128), signed: false };
        if !whole.fits(value) {
            let name = self.names.locations[parts[0].location.index()].name.clone();
            return Err(Refusal::Error(misfit(&value.to_string(), whole, &name, span)));
        }
        let value = whole.wrap(value).0;
        let mut at = 0;
        // Of each part, lowest first: its term, and what it must be.
        let mut wanted = Vec::new();
        for part in parts {
            let ty = self.names.locations[part.location.index()].ty;
            let unsigned = Type { bits: ty.bits, signed: false }.wrap(Value(value >> at));
            wanted.push((Term::Memory(part.location), ty.wrap(unsigned), ty));
            at += part.bytes * 8;
        }
        let compare = |op, (term, value, _): &(Term, Value, Type)| Condition::Compare {
            op,
            left: *term,
            right: Term::Constant(*value),
        };
        let equal = Condition::And(wanted.iter().map(|part| compare(Comparison::Equal, part)).collect());
        match op {
            Comparison::Equal => Ok(equal),
            Comparison::NotEqual => Ok(Condition::Not(Box::new(equal))),
            _ if wanted.iter().any(|(_, _, ty)| ty.signed) => {
                let what = "an order on memory that accesses of several sizes part".to_string();
                Err(Refusal::Unsupported(span, what))
            }
            order => {
                let strict = match order {
                    Comparison::Less | Comparison::LessEqual => Comparison::Less,
                    _ => Comparison::Greater,
                };
                // The highest part that differs decides.
                let mut cases: Vec<Condition> = Vec::new();
                for (index, part) in wanted.iter().enumerate() {
                    let above = wanted[index + 1..].iter().map(|part| compare(Comparison::Equal, part));
                    cases.push(Condition::And(above.chain([compare(strict, part)]).collect()));
                }
                if matches!(order, Comparison::LessEqual | Comparison::GreaterEqual) {
                    cases.push(equal);
                }
                Ok(Condition::Or(cases.into()))
            }
        }
    }

    /// The same as [`Resolver::left`], of what was asked for before at once.
    fn side(&mut self, side: usize, term: &'a Spanned<TermTree>) -> Result<Left, Refusal> {
        if let TermTree::Integer(integer) = term.node {
            return Ok(Left::Term(Term::Constant(Value(integer))));
        }
        if let Some(known) = self.known(side, &term.node) {
            return Ok(Left::Term(known));
        }
        let found = self.left(term);
        if let Ok(Left::Term(resolved)) = found
            && self.known.len() < MOST_KNOWN
        {
            self.places.0[side] = self.known.len();
            self.known.push((&term.node, resolved));
        }
        found
    }

    fn left(&self, term: &Spanned<TermTree>) -> Result<Left, Refusal> {
        match &term.node {
            TermTree::Integer(integer) => Ok(Left::Term(Term::Constant(Value(*integer)))),
            TermTree::Register { thread, name } => {
                let local = thread.and_then(|thread| local(self.names, self.threads, thread, name));
                match local.and_then(|which| self.names.get(name)?.instances.get(&which)) {
                    Some(variable) => Ok(self.memory(*variable, 0)),
                    None => self.register(*thread, name, term.span).map(Left::Term),
                }
            }
            TermTree::Location { name, index } => {
                let (variable, offset) = self.element(name, *index, term.span)?;
                Ok(self.memory(variable, offset))
            }
        }
    }

    /// The element at that offset.
    fn memory(&self, variable: VariableId, offset: i128) -> Left {
        let entry = self.names.name_of(variable);
        let atoms = &self.names.variables[variable.0].atoms;
        let end = if entry.length.is_some() { offset + entry.step } else { i128::MAX };
        let holds = |atom: &&Atom| atom.offset + atom.bytes.max(1) > offset && atom.offset < end;
        let mut parts = atoms.iter().filter(holds);
        match (parts.next(), parts.next()) {
            (Some(one), None) => Left::Term(Term::Memory(one.location)),
            _ => Left::Parts(atoms.iter().filter(holds).copied().collect()),
        }
    }

    /// An order of addresses would say nothing: there a location is its value on both sides.
    fn right(
        &mut self,
        op: Comparison,
        left: &Spanned<TermTree>,
        term: &'a Spanned<TermTree>,
    ) -> Result<Left, Refusal> {
        let is_address = matches!(op, Comparison::Equal | Comparison::NotEqual);
        match &term.node {
            TermTree::Location { name, index } if is_address && !matches!(left.node, TermTree::Integer(_)) => {
                let (variable, offset) = self.element(name, *index, term.span)?;
                Ok(Left::Term(Term::Constant(Value(self.names.variables[variable.0].base + offset))))
            }
            _ => self.side(RIGHT, term),
        }
    }

    fn element(&self, name: &str, index: Option<u32>, span: Span) -> Result<(VariableId, i128), Refusal> {
        let which = self.names.asked(name, span)?;
        let unknown = || self.names.unknown(stem(name), span);
        let entry = self.names.get(name).ok_or_else(unknown)?;
        let variable = *entry.instances.get(&which).ok_or_else(unknown)?;
        match (index, entry.length) {
            (None | Some(0), _) => Ok((variable, 0)),
            (Some(index), Some(length)) if index < length => Ok((variable, i128::from(index) * entry.step)),
            (Some(index), _) => Err(Refusal::error(span, format!("`{name}` has no element {index}"))),
        }
    }

    fn register(&self, thread: Option<u32>, name: &str, span: Span) -> Result<Term, Refusal> {
        let Some(index) = thread else {
            return self.register_anywhere(name, span);
        };
        let Some(builder) = self.threads.get(index as usize) else {
            let help = threads_there(self.threads.len());
            return Err(Refusal::Error(Diagnostic::error(span, format!("there is no thread P{index}")).help(help)));
        };
        match find(builder, name) {
            Some(register) => Ok(Term::Register(ThreadId(index), register)),
            None if builder.is_ambiguous(name) => {
                let message = format!("several blocks of P{index} declare `{name}`");
                Err(Refusal::Error(
                    Diagnostic::error(span, message).help("rename one, or declare it before the blocks"),
                ))
            }
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
                let known: Vec<&str> = self.threads.iter().flat_map(|thread| thread.known()).collect();
                let help = format!("known are {}", known.join(", "));
                Err(Refusal::Error(Diagnostic::error(span, format!("no thread has a register `{name}`")).help(help)))
            }
        }
    }

    /// A side of a comparison. A constant is one of the other side's type: for `=` and `!=` in either reading of its bits
    /// (`-1` is 2^32-1 beside a `.u32`), while an order compares the integers as they are written.
    fn constant(&self, op: Comparison, side: &Side<'_>, other: &Side<'_>) -> Result<Term, Refusal> {
        let (Term::Constant(value), Some(ty)) = (&side.1, self.type_of(&other.1)) else { return Ok(side.1) };
        if !ty.fits(*value) {
            let what = match &side.0.node {
                TermTree::Location { name, .. } => format!("the address of `{name}`"),
                _ => value.to_string(),
            };
            return Err(Refusal::Error(misfit(&what, ty, &self.spelled(&other.1), side.0.span)));
        }
        Ok(Term::Constant(as_compared(op, ty, *value)))
    }

    fn spelled(&self, term: &Term) -> String {
        match term {
            Term::Constant(value) => value.to_string(),
            Term::Register(thread, register) => {
                let builder = &self.threads[thread.index()];
                format!("{}:{}", builder.name(), builder.register_name(*register))
            }
            Term::Memory(location) => self.names.locations[location.index()].name.to_string(),
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

/// A constant beside a value of this type: see [`Resolver::constant`].
fn as_compared(op: Comparison, ty: Type, value: Value) -> Value {
    let is_order = !matches!(op, Comparison::Equal | Comparison::NotEqual);
    if is_order { value } else { ty.wrap(value) }
}

/// Conditions may leave PTX's `%` out, and name any width of a register of x86.
fn find(builder: &ThreadBuilder, name: &str) -> Option<RegisterId> {
    let of_x86 = || crate::table::x86::place::find_register(builder, name);
    if builder.dialect == Dialect::X86 {
        return of_x86().or_else(|| builder.find(name)).or_else(|| builder.find(&format!("%{name}")));
    }
    builder.find(name).or_else(|| builder.find(&format!("%{name}"))).or_else(of_x86)
}
