//! Values without a model: the results of floating-point arithmetic and reductions, of products that leave lanes out, of `discard`. That
//! they are written is modelled, and so is every order and race about them; what they are is not. So nothing that happens may
//! rest on one: a branch, an address, a barrier. A question that does is not answered; what races, hangs or breaks a rule is
//! the same whatever the values are. Locations are followed, not executions: a location that may hold such a value is taken
//! to hold one.

use fencepost_syntax::Span;
use fencepost_syntax::sorted::SortedSet;

use crate::ids::LocationId;
use crate::program::{Instruction, LocalValue, MultimemAction, Operation, Program, Term, Update};
use crate::tag::Tag;
use crate::unfold::{UnfoldError, Unmodelled};
use crate::unfolding::{Event, EventKind, Unfolding, UnmodelledTerms};
use crate::value::expression::{BinaryOperator, Expression, Leaf};

/// The terms of questions and lists that rest on one. An error where what happens rests on one, or what is looked at at all;
/// and where a question does, if that is not to be noted only.
pub(crate) fn check(
    program: &Program,
    unfolding: &Unfolding,
    wanted: Unmodelled,
) -> Result<Option<UnmodelledTerms>, UnfoldError> {
    let is_source = |event: &&Event| event.has(Tag::Opaque) && event.is_write();
    let first = unfolding.events.iter().find(is_source).map(|event| event.span);
    let Some(span) = first.or_else(|| computed(program)) else { return Ok(None) };
    let tainted = Tainted::new(unfolding);
    let mut decides = unfolding.traces.iter().flat_map(|trace| trace.constraints.iter().chain(&trace.assumptions));
    let mut met = unfolding.events.iter().flat_map(|event| match &event.kind {
        EventKind::Barrier(barrier) => {
            let operands = [&barrier.instance, &barrier.id, &barrier.count].into_iter().flatten();
            operands.chain(barrier.reduction.as_ref().map(|(_, value)| value)).collect()
        }
        _ => Vec::new(),
    });
    let filter = program.filter.iter().flat_map(|filter| filter.node.terms());
    if decides.any(|value| tainted.reaches(value))
        || met.any(|value| tainted.reaches(value))
        || filter.into_iter().any(|term| tainted.holds(&term))
    {
        return Err(UnfoldError::Opaque { span });
    }
    let asked =
        program.questions.iter().chain(&program.crash.questions).flat_map(|question| question.condition.terms());
    let shown = program.shown.iter().cloned();
    let terms: SortedSet<Term> = asked.chain(shown).filter(|term| tainted.holds(term)).collect();
    if !terms.is_empty() && wanted == Unmodelled::Refused {
        return Err(UnfoldError::Opaque { span });
    }
    let terms: Vec<Term> = terms.into_iter().collect();
    Ok((!terms.is_empty()).then_some(UnmodelledTerms { span, terms }))
}

/// Where a thread first computes such a value.
fn computed(program: &Program) -> Option<Span> {
    use BinaryOperator::Opaque;
    let is_source = |code: &&Instruction| match &code.operation {
        Operation::Local { value: LocalValue::Binary(operator, ..), .. }
        | Operation::ReadModifyWrite { update: Update::Apply(operator, _), .. } => *operator == Opaque,
        Operation::VectorUpdate(update) => update.operator == Opaque,
        Operation::Multimem(multimem) => match &multimem.action {
            MultimemAction::LoadReduce { operator, .. } | MultimemAction::Reduce { operator, .. } => {
                *operator == Opaque
            }
            MultimemAction::Store { .. } => false,
        },
        _ => false,
    };
    program.threads.iter().flat_map(|thread| &thread.code).find(is_source).map(|code| code.span)
}

struct Tainted<'u> {
    unfolding: &'u Unfolding,
    locations: SortedSet<LocationId>,
}

impl<'u> Tainted<'u> {
    fn new(unfolding: &'u Unfolding) -> Tainted<'u> {
        let mut tainted = Tainted { unfolding, locations: SortedSet::new() };
        loop {
            let before = tainted.locations.len();
            for event in &unfolding.events {
                let EventKind::Write { location, value, .. } = &event.kind else { continue };
                if event.has(Tag::Opaque) || tainted.reaches(value) {
                    tainted.locations.insert(*location);
                }
            }
            if tainted.locations.len() == before {
                return tainted;
            }
        }
    }

    /// Whether a term may have such a value in the end.
    fn holds(&self, term: &Term) -> bool {
        match term {
            Term::Constant(_) => false,
            Term::Memory(location) => self.locations.contains(location),
            Term::Register(thread, register) => {
                let own = self.unfolding.traces.iter().filter(|trace| trace.thread == *thread);
                own.filter_map(|trace| trace.registers.get(register.index())).any(|value| self.reaches(value))
            }
        }
    }

    /// Whether a value may come from one without a model.
    fn reaches(&self, value: &Expression) -> bool {
        let mut leaves = Vec::new();
        value.leaves(&mut leaves);
        value.is_opaque()
            || leaves.iter().any(|leaf| match leaf {
                Leaf::Read(read) | Leaf::BarrierResult(read) => {
                    let location = self.unfolding.events[read.index()].location();
                    location.is_some_and(|location| self.locations.contains(&location))
                }
            })
    }
}
