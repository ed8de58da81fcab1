//! Breaking the symmetry of identical threads, for questions that one witness answers.
//!
//! If exchanging two threads maps the program, the filter and the condition to themselves, it maps consistent
//! executions to consistent executions. In a class of such threads whose k-th events are writes of one location that
//! every execution orders by coherence, some witness (if there is one) has them in thread order: the others need not be
//! searched. Without this, twelve equal atomic additions are 12! orders to refute.

use fencepost_program::expression::Expression;
use fencepost_program::program::{Condition, Term};
use fencepost_program::unfolding::{EventKind, Trace, Unfolding};
use fencepost_program::{EventId, ThreadId};
use fencepost_syntax::sorted::SharedSort as _;

use crate::base::{Candidate, narrowest_common};
use crate::engine::Goal;
use crate::engine::alike::{same_beside, same_kernel};
use crate::model::{Coherence, DemandedRelation, Direction, Dynamic, Model};
use crate::reason::{Matrices, Valuation as _};
use crate::watch::Watch;

use super::encode::{Encoding, Space};

/// Adds coherence in thread order to each class of interchangeable threads.
pub(super) fn break_symmetry<'a>(encoding: &mut Encoding<'_>, model: &'a Model, goal: &Goal<'_>, watch: &Watch<'a>) {
    let classes = classes(encoding.unfolding, encoding.space, goal, watch);
    if classes.iter().all(|class| class.len() < 2) {
        return;
    }
    let always = Always::new(encoding.unfolding, encoding.space, Matrices::new(model).watched(watch.clone()), model);
    for class in classes.iter().filter(|class| class.len() > 1) {
        let traces =
            class.iter().map(|thread| &encoding.unfolding.traces[encoding.space.traces[thread.index()][0].index()]);
        let columns: Vec<&[EventId]> = traces.map(|trace| trace.events.as_slice()).collect();
        for position in 0..columns[0].len() {
            let row: Vec<EventId> = columns.iter().map(|column| column[position]).collect();
            let ordered = row.windows(2).all(|pair| always.ordered(encoding.unfolding, pair[0], pair[1]));
            if ordered && matches!(encoding.unfolding.events[row[0].index()].kind, EventKind::Write { .. }) {
                for pair in row.windows(2) {
                    let literal = encoding.co(pair[0], pair[1]);
                    encoding.solver.clause(&[literal]);
                }
                break;
            }
        }
    }
}

/// Which pairs of writes every execution orders.
struct Always<'m> {
    model: &'m Model,
    candidate: Candidate,
    matrices: Matrices<'m>,
    /// Some thread has several traces: what is static may differ between them.
    forked: bool,
}

impl<'m> Always<'m> {
    /// With one trace per thread, what is static is the same in every execution.
    fn new(unfolding: &Unfolding, space: &Space, mut matrices: Matrices<'m>, model: &'m Model) -> Always<'m> {
        let mut candidate = Candidate::default();
        let traces: Vec<_> = space.traces.iter().filter_map(|of| of.first()).copied().collect();
        candidate.choose(unfolding, &traces);
        matrices.begin(unfolding, &candidate);
        let forked = space.traces.iter().any(|of| of.len() != 1);
        Always { model, candidate, matrices, forked }
    }

    fn ordered(&self, unfolding: &Unfolding, a: EventId, b: EventId) -> bool {
        let same = crate::base::location_of(&unfolding.events[a.index()]).is_some()
            && crate::base::location_of(&unfolding.events[a.index()])
                == crate::base::location_of(&unfolding.events[b.index()]);
        if !same || self.model.coherence == Coherence::Total {
            return same;
        }
        if self.forked {
            return false;
        }
        let (Some(from), Some(to)) = (self.candidate.local(a), self.candidate.local(b)) else { return false };
        self.model.demands.iter().any(|demand| {
            demand.relation == DemandedRelation::Co
                && demand.direction == Direction::EitherWay
                && self.model.nodes[demand.wanted.index()].depends == Dynamic::default()
                && (self.matrices.pair(demand.wanted, from, to) || self.matrices.pair(demand.wanted, to, from))
        })
    }
}

/// Threads that any exchange leaves the question unchanged for, each class ascending. Those that write nothing are left out:
/// nothing of them is ordered.
fn classes(unfolding: &Unfolding, space: &Space, goal: &Goal<'_>, watch: &Watch<'_>) -> Vec<Vec<ThreadId>> {
    let is_write = |event: &EventId| matches!(unfolding.events[event.index()].kind, EventKind::Write { .. });
    let writes = |thread: &ThreadId| {
        let mut traces = space.traces[thread.index()].iter();
        traces.any(|trace| unfolding.traces[trace.index()].events.iter().any(is_write))
    };
    let mut classes: Vec<Vec<ThreadId>> = Vec::new();
    for thread in (0..unfolding.threads.len()).map(ThreadId::new).filter(writes) {
        if watch.is_over() {
            return Vec::new();
        }
        let home = classes.iter().position(|class| {
            let last = class.last().expect("invariant: classes are not empty");
            interchangeable(unfolding, space, *last, thread)
                && goal.condition.is_none_or(|condition| unchanged(condition, *last, thread))
                && goal.filter.is_none_or(|filter| unchanged(filter, *last, thread))
        });
        match home {
            Some(home) => classes[home].push(thread),
            None => classes.push(vec![thread]),
        }
    }
    classes
}

fn interchangeable(unfolding: &Unfolding, space: &Space, a: ThreadId, b: ThreadId) -> bool {
    let ([first], [second]) = (&*space.traces[a.index()], &*space.traces[b.index()]) else {
        return false;
    };
    let place = |thread: usize| unfolding.threads[thread].place;
    let others = (0..unfolding.threads.len()).filter(|other| *other != a.index() && *other != b.index());
    let alike = |other: usize| {
        narrowest_common(place(a.index()), place(other)) == narrowest_common(place(b.index()), place(other))
    };
    let hosts = |thread: usize| matches!(place(thread), fencepost_program::program::Place::Host);
    hosts(a.index()) == hosts(b.index())
        && same_kernel(unfolding, a, b)
        && others.into_iter().all(alike)
        && same_code(unfolding, &unfolding.traces[first.index()], &unfolding.traces[second.index()])
}

/// The traces are equal up to the numbers of their events.
fn same_code(unfolding: &Unfolding, first: &Trace, second: &Trace) -> bool {
    let rename = |event: EventId| -> Option<EventId> {
        let at = first.events.iter().position(|own| *own == event)?;
        second.events.get(at).copied()
    };
    let all_equal = |left: &[EventId], right: &[EventId]| {
        left.len() == right.len() && left.iter().zip(right).all(|(a, b)| rename(*a) == Some(*b))
    };
    let equal = |left: &Expression, right: &Expression| renamed(left, &rename).as_ref() == Some(right);
    let pairwise = |left: &[Expression], right: &[Expression]| {
        left.len() == right.len() && left.iter().zip(right).all(|(a, b)| equal(a, b))
    };
    let events = first.events.iter().zip(&second.events).all(|(a, b)| {
        let (a, b) = (&unfolding.events[a.index()], &unfolding.events[b.index()]);
        a.tags == b.tags
            && a.scope == b.scope
            && a.rmw_partner.and_then(rename) == b.rmw_partner
            && all_equal(&a.address_deps, &b.address_deps)
            && all_equal(&a.data_deps, &b.data_deps)
            && all_equal(&a.control_deps, &b.control_deps)
            && same_kind(&a.kind, &b.kind, &equal)
            && same_beside(unfolding, a, b, &rename)
    });
    first.events.len() == second.events.len()
        && events
        && first.end == second.end
        && pairwise(&first.constraints, &second.constraints)
        && pairwise(&first.assumptions, &second.assumptions)
        && pairwise(&first.registers, &second.registers)
}

fn same_kind(a: &EventKind, b: &EventKind, equal: &dyn Fn(&Expression, &Expression) -> bool) -> bool {
    match (a, b) {
        (
            EventKind::Read { address, generic, location, ty },
            EventKind::Read { address: address_b, generic: generic_b, location: location_b, ty: ty_b },
        ) => (address, generic, location, ty) == (address_b, generic_b, location_b, ty_b),
        (
            EventKind::Write { address, generic, location, value, ty },
            EventKind::Write { address: address_b, generic: generic_b, location: location_b, value: value_b, ty: ty_b },
        ) => (address, generic, location, ty) == (address_b, generic_b, location_b, ty_b) && equal(value, value_b),
        (EventKind::Fence, EventKind::Fence) | (EventKind::Issue, EventKind::Issue) => true,
        // Barriers have their matching; a space with barriers is not broken up further.
        _ => false,
    }
}

/// The expression with its reads renamed; None where a read has no counterpart or a barrier result occurs.
fn renamed(expression: &Expression, rename: &dyn Fn(EventId) -> Option<EventId>) -> Option<Expression> {
    let boxed = |inner: &Expression| renamed(inner, rename).map(Box::new);
    Some(match expression {
        Expression::Constant(value) => Expression::Constant(*value),
        Expression::Read(event) => Expression::Read(rename(*event)?),
        Expression::BarrierResult(_) => return None,
        Expression::Unary(operator, ty, operand) => Expression::Unary(*operator, *ty, boxed(operand)?),
        Expression::Binary(operator, ty, left, right) => {
            Expression::Binary(*operator, *ty, boxed(left)?, boxed(right)?)
        }
        Expression::Select(condition, then, otherwise) => {
            Expression::Select(boxed(condition)?, boxed(then)?, boxed(otherwise)?)
        }
    })
}

/// Exchanging the threads gives the same condition, up to the order of conjuncts and disjuncts.
fn unchanged(condition: &Condition, a: ThreadId, b: ThreadId) -> bool {
    canonical(condition, &|thread| thread)
        == canonical(condition, &|thread| {
            if thread == a {
                b
            } else if thread == b {
                a
            } else {
                thread
            }
        })
}

fn canonical(condition: &Condition, rename: &dyn Fn(ThreadId) -> ThreadId) -> String {
    let list = |parts: &[Condition]| {
        let mut parts: Vec<String> = parts.iter().map(|part| canonical(part, rename)).collect();
        parts.shared_sort();
        parts.dedup();
        parts.join(" ")
    };
    let term = |term: &Term| match term {
        Term::Register(thread, register) => format!("{}:{}", rename(*thread).0, register.0),
        other => format!("{other:?}"),
    };
    match condition {
        Condition::True => "true".to_owned(),
        Condition::False => "false".to_owned(),
        Condition::Compare { op, left, right } => format!("({op:?} {} {})", term(left), term(right)),
        Condition::Not(inner) => format!("(not {})", canonical(inner, rename)),
        Condition::And(parts) => format!("(and {})", list(parts)),
        Condition::Or(parts) => format!("(or {})", list(parts)),
    }
}
