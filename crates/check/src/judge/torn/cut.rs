//! A test with some of its locations cut, and its answers told of the test as it was.
//!
//! The text is lowered again with the cuts, so that every rule about accesses to several locations is that of accesses of
//! different sizes (`lower::cut`). What is asked is translated: it need not be what the text asks.

use std::sync::Arc;

use fencepost_program::LocationId;
use fencepost_program::initial::unknowns;
use fencepost_program::lower::{lower, lower_cut};
use fencepost_program::program::{Address, Condition, Location, Program, Question, Space, Term, Unsupported};
use fencepost_program::unfolding::Unfolding;
use fencepost_program::value::{Type, Value};
use fencepost_report::warning::NotCut;
use fencepost_syntax::litmus::{Comparison, Dialect};
use fencepost_syntax::sorted::SortedSet;
use fencepost_syntax::{Span, Spanned};

use super::Varying;
use crate::judge::whole::{Part, Whole, WholeTerm};
use crate::look::outcome;
use crate::phrase::{self, Notation};
use crate::test::Test;

/// The test after a cut.
pub(super) struct Cut {
    pub(super) test: Test,
    /// Of each location as it was: what it is now, lowest bytes first.
    parts: Vec<Vec<LocationId>>,
}

/// The addresses at which a location is to be cut, given what it may hold and which bytes of that vary: before each but the
/// first. Where it cannot be cut, why.
pub(super) fn edges(test: &Test, unfolding: &Unfolding, torn: &Varying) -> Result<Vec<Value>, NotCut> {
    let program = &test.program;
    let id = torn.location;
    let location = &program.locations[id.index()];
    let name = || location.name.clone();
    if test.litmus.dialect != Dialect::Ptx || u32::from(location.ty.bits) != 8 * location.bytes {
        return Err(NotCut::NoBytes { location: name().to_string() });
    }
    if location.space == Some(Space::TensorMemory) {
        return Err(NotCut::TensorMemory { location: name().to_string() });
    }
    if !unknowns(program).is_empty() {
        return Err(NotCut::UnknownInitialValues);
    }
    // Which bytes of an address vary is for the machine to say, and not for the numbers that stand for them here.
    if program.addresses.iter().any(|address| torn.values.contains(&address.value)) {
        return Err(NotCut::HoldsAddress { location: name().to_string() });
    }
    // What size the accesses of an asynchronous operation have is not said.
    if unfolding.events.iter().any(|event| event.location() == Some(id) && !event.is_main()) {
        return Err(NotCut::Asynchronous { location: name().to_string() });
    }
    let Some(varying) = &torn.varying else {
        return Err(NotCut::ValuesUnknown { location: name().to_string() });
    };
    let address = program.addresses.iter().find(|address| address.location == id);
    let address = address.ok_or_else(|| NotCut::NoAddress { location: name().to_string() })?;
    let start = address.value.0 - address.within;
    Ok(varying.iter().skip(1).map(|byte| Value(start + i128::from(*byte))).collect())
}

impl Cut {
    pub(super) fn new(test: &Test, cuts: &SortedSet<Value>) -> Result<Cut, NotCut> {
        let own = lower(&test.litmus).0;
        let is_own = own.is_some_and(|own| shape(&own) == shape(&test.program));
        let program = lower_cut(&test.litmus, cuts).0.filter(|_| is_own);
        let mut program = program.ok_or(NotCut::NotOfText)?;
        program.unsupported.retain(|found| !is_in_a_condition(test, found));
        if let Some(found) = program.unsupported.first() {
            return Err(NotCut::Unsupported { what: found.what.clone() });
        }
        let parts = parts(&test.program.locations, &program.locations).ok_or(NotCut::PartsDiffer)?;
        let translator = Translator { whole: &test.program, cut: &program, parts: &parts };
        let question = |question: &Question| {
            let condition = translator.condition(&question.condition)?;
            Ok::<_, NotCut>(Question { condition, ..question.clone() })
        };
        let questions = test.program.questions.iter().map(question).collect::<Result<_, _>>()?;
        let filter = test.program.filter.as_ref().map(|filter| {
            let condition = translator.condition(&filter.node)?;
            Ok::<_, NotCut>(Spanned::new(condition, filter.span))
        });
        let filter = filter.transpose()?;
        // All that is told of the whole must be known of the parts.
        let shown = outcome::terms(&test.program).iter().flat_map(|term| translator.terms(term)).collect();
        let program = Program { questions, filter, shown, ..program };
        Ok(Cut { test: test.with_program(program), parts })
    }

    /// What the parts were before the cut.
    pub(super) fn whole(self, test: &Test) -> Whole {
        let terms = outcome::terms(&test.program).iter().map(|term| self.term(test, term)).collect();
        let own = &self.test.program.addresses;
        let addresses = own.iter().filter_map(|address| Some((address.name.to_string(), whole_name(test, address)?)));
        Whole { terms, addresses: addresses.collect(), cut: Arc::new(self.test) }
    }

    /// A term of the whole test.
    fn term(&self, test: &Test, term: &Term) -> WholeTerm {
        let named =
            |program: &Program, term: &Term| -> Arc<str> { phrase::term(program, term, Notation::Named).into() };
        let name = named(&test.program, term);
        match term {
            Term::Memory(location) => {
                let part = |id: &LocationId| Part {
                    name: named(&self.test.program, &Term::Memory(*id)),
                    bits: u32::from(self.test.program.locations[id.index()].ty.bits),
                };
                let ty = test.program.locations[location.index()].ty;
                WholeTerm { name, parts: self.parts[location.index()].iter().map(part).collect(), ty }
            }
            _ => WholeTerm { name: Arc::clone(&name), parts: vec![Part { name, bits: 0 }], ty: Type::UNTYPED },
        }
    }
}

/// What an address of a part is called in the whole test.
fn whole_name(test: &Test, part: &Address) -> Option<String> {
    let holds = |at: &&Address| {
        let start = at.value.0 - at.within;
        let bytes = test.program.locations[at.location.index()].bytes;
        (start..start + i128::from(bytes)).contains(&part.value.0)
    };
    test.program.addresses.iter().find(holds).map(|address| address.name.to_string())
}

/// What the text decides of a program.
fn shape(program: &Program) -> String {
    format!("{:?}{:?}{:?}", program.threads, program.locations, program.addresses)
}

/// Conditions are translated, and not taken from the text.
fn is_in_a_condition(test: &Test, found: &Unsupported) -> bool {
    let holds = |span: Span| span.start <= found.span.start && found.span.end <= span.end;
    let conditions = test.litmus.questions.iter().map(|question| &question.condition).chain(&test.litmus.filter);
    conditions.map(|condition| condition.span).chain(test.litmus.locations.iter().map(|term| term.span)).any(holds)
}

/// A location that is not cut is the next one; one that is cut, so many of the next as have its bytes.
fn parts(whole: &[Location], cut: &[Location]) -> Option<Vec<Vec<LocationId>>> {
    let mut next = cut.iter().enumerate();
    let mut all = Vec::with_capacity(whole.len());
    for location in whole {
        let mut own = Vec::new();
        let mut bytes = 0;
        while own.is_empty() || bytes < location.bytes {
            let (at, part) = next.next()?;
            own.push(LocationId::new(at));
            bytes += part.bytes;
        }
        let [only] = own[..] else {
            if bytes != location.bytes {
                return None;
            }
            all.push(own);
            continue;
        };
        if cut[only.index()].name != location.name {
            return None;
        }
        all.push(own);
    }
    next.next().is_none().then_some(all)
}

struct Translator<'a> {
    whole: &'a Program,
    cut: &'a Program,
    parts: &'a [Vec<LocationId>],
}

impl Translator<'_> {
    fn terms(&self, term: &Term) -> Vec<Term> {
        match term {
            Term::Memory(location) => self.parts[location.index()].iter().map(|part| Term::Memory(*part)).collect(),
            other => vec![*other],
        }
    }

    /// Conditions are as deep as the parser lets them be.
    fn condition(&self, condition: &Condition) -> Result<Condition, NotCut> {
        let all = |parts: &[Condition]| parts.iter().map(|part| self.condition(part)).collect::<Result<_, _>>();
        Ok(match condition {
            Condition::True => Condition::True,
            Condition::False => Condition::False,
            Condition::Not(inner) => Condition::Not(Box::new(self.condition(inner)?)),
            Condition::And(parts) => Condition::And(all(parts)?),
            Condition::Or(parts) => Condition::Or(all(parts)?),
            Condition::Compare { op, left, right } => {
                match (self.terms(left).as_slice(), self.terms(right).as_slice(), left, right) {
                    ([left], [right], ..) => Condition::Compare { op: *op, left: *left, right: *right },
                    (_, [Term::Constant(value)], Term::Memory(location), _) => self.parted(*op, *location, *value)?,
                    ([Term::Constant(value)], _, _, Term::Memory(location)) => {
                        self.parted(op.mirrored(), *location, *value)?
                    }
                    _ => {
                        let condition = phrase::condition(self.whole, condition, Notation::Named);
                        return Err(NotCut::NotConstant { condition });
                    }
                }
            }
        })
    }

    /// A comparison of a location with a constant, of its parts.
    fn parted(&self, op: Comparison, location: LocationId, value: Value) -> Result<Condition, NotCut> {
        let ty = self.whole.locations[location.index()].ty;
        let parts = Parts { ids: &self.parts[location.index()], cut: self.cut };
        let equal = || parts.compare(Comparison::Equal, ty.wrap(value));
        let is_order = !matches!(op, Comparison::Equal | Comparison::NotEqual);
        if is_order && parts.ids.iter().any(|id| self.cut.locations[id.index()].ty.signed) {
            return Err(NotCut::SignedOrder);
        }
        Ok(match op {
            Comparison::Equal => equal(),
            Comparison::NotEqual => Condition::Not(Box::new(equal())),
            Comparison::Less | Comparison::Greater => parts.order(op, ty, value),
            Comparison::LessEqual => Condition::Not(Box::new(parts.order(Comparison::Greater, ty, value))),
            Comparison::GreaterEqual => Condition::Not(Box::new(parts.order(Comparison::Less, ty, value))),
        })
    }
}

/// The parts of one location, lowest first.
struct Parts<'a> {
    ids: &'a [LocationId],
    cut: &'a Program,
}

impl Parts<'_> {
    /// Of each part: its term, and what it holds of the value.
    fn of(&self, value: Value) -> Vec<(Term, Value)> {
        let mut at = 0;
        let part = |id: &LocationId| {
            let ty = self.cut.locations[id.index()].ty;
            let own = ty.wrap(Value(value.0 >> at));
            at += u32::from(ty.bits);
            (Term::Memory(*id), own)
        };
        self.ids.iter().map(part).collect()
    }

    /// `Equal`, or an order of the bits as they lie: the highest part that differs decides.
    fn compare(&self, op: Comparison, value: Value) -> Condition {
        let parts = self.of(value);
        let one =
            |op, (term, value): &(Term, Value)| Condition::Compare { op, left: *term, right: Term::Constant(*value) };
        if op == Comparison::Equal {
            return Condition::And(parts.iter().map(|part| one(op, part)).collect());
        }
        let case = |(at, part): (usize, &(Term, Value))| {
            let above = parts[at + 1..].iter().map(|part| one(Comparison::Equal, part));
            Condition::And(above.chain([one(op, part)]).collect())
        };
        Condition::Or(parts.iter().enumerate().map(case).collect())
    }

    /// `Less` or `Greater`, as integers of the type. The parts are unsigned: the sign is the highest bit of the last.
    fn order(&self, op: Comparison, ty: Type, value: Value) -> Condition {
        let is_less = op == Comparison::Less;
        let end = 1i128.checked_shl(u32::from(ty.bits)).filter(|end| *end > 0).unwrap_or(i128::MAX);
        let (least, greatest) = if ty.signed { (-(end / 2), end / 2 - 1) } else { (0, end - 1) };
        if value.0 < least || value.0 > greatest {
            return if is_less == (value.0 > greatest) { Condition::True } else { Condition::False };
        }
        let bits = self.compare(op, value);
        let Some(last) = self.ids.last().filter(|_| ty.signed) else { return bits };
        let half = 1i128 << (u32::from(self.cut.locations[last.index()].ty.bits) - 1);
        let sign =
            |op, value| Condition::Compare { op, left: Term::Memory(*last), right: Term::Constant(Value(value)) };
        // Where the signs differ they decide.
        let other = if is_less { sign(Comparison::GreaterEqual, half) } else { sign(Comparison::Less, half) };
        let same = if value.0 < 0 { sign(Comparison::GreaterEqual, half) } else { sign(Comparison::Less, half) };
        let both = Condition::And([same, bits].into());
        if is_less == (value.0 >= 0) { Condition::Or([other, both].into()) } else { both }
    }
}
