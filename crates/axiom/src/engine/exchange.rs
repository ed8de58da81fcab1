//! Threads that can be exchanged: the same text but for constants that are nothing but data.
//!
//! Let `a` and `b` be two threads, each with one trace, whose events agree one by one but for the constants that they write.
//! Exchanging the events of the two, and with them each constant of `a` with that of `b` in its place, maps candidate
//! executions to candidate executions, and final states to final states:
//!
//! * Every relation and every set that the model starts from is mapped to itself. That is not concluded from the text here but
//!   looked at, for each choice of traces (`enumerate::classes`). What a model defines is built from these and from the chosen
//!   relations by operators that know no names, so an execution is consistent iff its image is.
//! * Values follow. Where the exchanged constants differ, values are only ever copied ([`Exchange::carries_data`]): no test, no
//!   arithmetic, no narrower type looks at a value that is exchanged, nobody else writes one, and an equation in a
//!   condition holds of two values iff it holds of their images. Where they do not differ, no value is changed.
//! * The conditions and the filter, renamed, are what they were up to the order of their parts, and what is observed of one
//!   thread is observed of the other. So an image satisfies a condition iff the execution does.
//!
//! Such exchanges compose, so the threads fall into kinds each of which can be permuted at will: a group, the product of the
//! symmetric groups of the kinds. Executions, and final states, that it maps to each other are *alike*; those of one class are as
//! many as the group has elements, divided by the number of those that leave one of them as it is. Alike final states are
//! the ends of equally many executions.

use std::collections::BTreeSet;

use fencepost_program::expression::{Expression, Leaf};
use fencepost_program::program::{Condition, Term};
use fencepost_program::unfolding::{Event, EventKind, Trace, TraceEnd, Unfolding};
use fencepost_program::value::{Type, Value};
use fencepost_program::{EventId, LocationId, ThreadId};
use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::sorted::{SharedSort as _, SortedMap};

use super::alike::{same_beside, same_kernel};
use super::canonical::{Drawing, Name};

/// The kinds of threads that can be permuted, and the data that goes with them.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Each ascending, at least two.
    kinds: Vec<Vec<ThreadId>>,
    /// By thread: its kind and its place there.
    places: SortedMap<ThreadId, (usize, usize)>,
    /// By constant that goes with a thread: the thread, and its place among the thread's own.
    owners: SortedMap<Value, (ThreadId, u32)>,
    /// The same the other way round.
    constants: SortedMap<(ThreadId, u32), Value>,
    order: u64,
}

/// What is looked at: the terms that are observed, ascending, and the conditions whose answers are.
#[derive(Copy, Clone, Debug)]
pub struct Looked<'a> {
    pub terms: &'a [Term],
    pub conditions: &'a [&'a Condition],
}

/// A final state of a class, and how many it has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutcomeClass {
    pub state: Vec<Value>,
    pub size: u64,
}

impl Exchange {
    /// None where no two threads can be exchanged, or there are more ways than a number can say.
    pub fn find(unfolding: &Unfolding, looked: Looked<'_>) -> Option<Exchange> {
        let normal = looked.conditions.iter().map(|condition| normal(condition, &|term| *term)).collect();
        let finder = Finder { unfolding, looked, normal };
        let mut kinds: Vec<Vec<ThreadId>> = Vec::new();
        for thread in (0..unfolding.threads.len()).map(ThreadId::new).filter(|thread| finder.is_plain(*thread)) {
            match kinds.iter_mut().find(|kind| finder.swap(kind[0], thread).is_some()) {
                Some(kind) => kind.push(thread),
                None => kinds.push(vec![thread]),
            }
        }
        kinds.retain(|kind| kind.len() > 1);
        let order = kinds.iter().flat_map(|kind| 2..=kind.len() as u64).try_fold(1u64, u64::checked_mul)?;
        if kinds.is_empty() {
            return None;
        }
        let mut found =
            Exchange { kinds, places: SortedMap::new(), owners: SortedMap::new(), constants: SortedMap::new(), order };
        found.number(&finder);
        Some(found)
    }

    /// How many ways there are to permute the threads.
    pub fn order(&self) -> u64 {
        self.order
    }

    /// The threads that can be permuted, kind by kind.
    pub fn kinds(&self) -> &[Vec<ThreadId>] {
        &self.kinds
    }

    fn number(&mut self, finder: &Finder<'_>) {
        for (kind, members) in self.kinds.iter().enumerate() {
            for (at, &thread) in members.iter().enumerate() {
                self.places.insert(thread, (kind, at));
            }
            // What one exchange moves, all do: the constants of each other member are all others.
            let Some(swap) = finder.swap(members[0], members[1]) else { continue };
            for (place, constant) in finder.constants(members[0]).into_iter().enumerate() {
                if !swap.moves(constant) {
                    continue;
                }
                for &thread in members {
                    let own = finder.constants(thread)[place];
                    let (owner, first) = *self.owners.entry(own).or_insert((thread, place as u32));
                    if owner == thread {
                        self.constants.insert((thread, first), own);
                    }
                }
            }
        }
    }

    /// A thread's node in a drawing; None for one that stays where it is.
    pub(super) fn node(&self, thread: ThreadId) -> Option<usize> {
        let &(kind, at) = self.places.get(&thread)?;
        Some(self.kinds[..kind].iter().map(Vec::len).sum::<usize>() + at)
    }

    /// The thread of a node, or of its place in a canonical drawing.
    pub(super) fn thread(&self, node: usize) -> Option<ThreadId> {
        self.kinds.iter().flatten().nth(node).copied()
    }

    /// The threads as nodes, without marks or arrows.
    pub(super) fn drawing(&self) -> Drawing {
        Drawing::new(
            self.kinds.iter().enumerate().flat_map(|(kind, members)| members.iter().map(move |_| kind)).collect(),
        )
    }

    /// How many are alike, where so many renamings leave one as it is.
    pub(super) fn class_size(&self, same: u64) -> Option<u64> {
        self.order.checked_rem(same).filter(|rest| *rest == 0).map(|_| self.order / same)
    }

    /// The final state that stands for all that are like this one. None where that takes too long to find.
    pub fn class_of(&self, terms: &[Term], state: &[Value]) -> Option<OutcomeClass> {
        let mut drawing = self.drawing();
        for (at, (term, value)) in terms.iter().zip(state).enumerate() {
            let (node, name) = match term {
                Term::Register(thread, register) => match self.node(*thread) {
                    Some(node) => (Some(node), register.index() as u32),
                    None => (None, at as u32),
                },
                Term::Memory(_) | Term::Constant(_) => (None, at as u32),
            };
            let owner = self.owners.get(value).and_then(|(thread, place)| Some((self.node(*thread)?, *place)));
            match (node, owner) {
                (Some(node), Some((owner, place))) => drawing.arrows.push((node, name_of(0, name, place), owner)),
                (Some(node), None) => drawing.marks[node].push((1, name, value.0)),
                (None, Some((owner, place))) => drawing.marks[owner].push(name_of(2, name, place)),
                // The same in every state that is alike.
                (None, None) => {}
            }
        }
        let canonical = drawing.canonical()?;
        let renamed = |thread: ThreadId| match self.node(thread) {
            Some(node) => self.thread(canonical.place[node]),
            None => Some(thread),
        };
        let state = self.renamed(terms, state, &renamed)?;
        Some(OutcomeClass { state, size: self.class_size(canonical.same)? })
    }

    /// Every final state that is like this one, ascending: the ways to exchange two threads lead to all of them.
    pub fn all_like(&self, terms: &[Term], state: &[Value]) -> Option<BTreeSet<Vec<Value>>> {
        let mut found = BTreeSet::from([state.to_vec()]);
        let mut left = vec![state.to_vec()];
        while let Some(state) = left.pop() {
            for kind in &self.kinds {
                for &other in &kind[1..] {
                    let swap = Swap { threads: (kind[0], other), data: SortedMap::new() };
                    let next = self.renamed(terms, &state, &|thread| Some(swap.thread(thread)))?;
                    if found.insert(next.clone()) {
                        left.push(next);
                    }
                }
            }
        }
        Some(found)
    }

    /// The state with threads renamed, and with them the constants that go with them.
    fn renamed(
        &self,
        terms: &[Term],
        state: &[Value],
        rename: &dyn Fn(ThreadId) -> Option<ThreadId>,
    ) -> Option<Vec<Value>> {
        let mut moved = state.to_vec();
        for (term, value) in terms.iter().zip(state) {
            let term = match term {
                Term::Register(thread, register) => Term::Register(rename(*thread)?, *register),
                other => *other,
            };
            let value = match self.owners.get(value) {
                Some((thread, place)) => *self.constants.get(&(rename(*thread)?, *place))?,
                None => *value,
            };
            moved[terms.binary_search(&term).ok()?] = value;
        }
        Some(moved)
    }
}

fn name_of(what: u32, name: u32, place: u32) -> Name {
    (what, name, i128::from(place))
}

/// Two threads exchanged.
struct Swap {
    threads: (ThreadId, ThreadId),
    /// Constants of the one and what is there in the other, both ways.
    data: SortedMap<Value, Value>,
}

impl Swap {
    fn thread(&self, thread: ThreadId) -> ThreadId {
        match self.threads {
            (a, b) if thread == a => b,
            (a, b) if thread == b => a,
            _ => thread,
        }
    }

    fn data(&self, value: Value) -> Value {
        self.data.get(&value).copied().unwrap_or(value)
    }

    /// Records that two constants go with the two threads; false if one of them goes with another already.
    fn pair(&mut self, a: Value, b: Value) -> bool {
        let mut leads_to = |from: Value, to: Value| *self.data.entry(from).or_insert(to) == to;
        leads_to(a, b) && leads_to(b, a)
    }

    /// Whether a value is another after the exchange.
    fn moves(&self, value: Value) -> bool {
        self.data(value) != value
    }

    fn term(&self, term: &Term) -> Term {
        match term {
            Term::Constant(value) => Term::Constant(self.data(*value)),
            Term::Register(thread, register) => Term::Register(self.thread(*thread), *register),
            Term::Memory(location) => Term::Memory(*location),
        }
    }
}

struct Finder<'a> {
    unfolding: &'a Unfolding,
    looked: Looked<'a>,
    /// The conditions, in an order that names do not matter to.
    normal: Vec<Normal>,
}

impl<'a> Finder<'a> {
    fn trace(&self, thread: ThreadId) -> Option<&'a Trace> {
        match &*self.unfolding.threads[thread.index()].traces {
            [only] => Some(&self.unfolding.traces[only.index()]),
            _ => None,
        }
    }

    fn event(&self, event: EventId) -> &'a Event {
        &self.unfolding.events[event.index()]
    }

    /// Whether a thread has one way to go, to its end, and only reads, writes and fences on it.
    fn is_plain(&self, thread: ThreadId) -> bool {
        let simple = |event: &EventId| {
            let event = self.event(*event);
            matches!(event.kind, EventKind::Read { .. } | EventKind::Write { .. } | EventKind::Fence)
                && event.is_main()
                && event.call.is_none()
                && event.completes.is_empty()
        };
        self.trace(thread).is_some_and(|trace| trace.end == TraceEnd::Exit && trace.events.iter().all(simple))
    }

    /// The constants that may go with a thread, in an order that is the same for all threads of a kind: those that it writes, and
    /// those that its observed registers end with.
    fn constants(&self, thread: ThreadId) -> Vec<Value> {
        let Some(trace) = self.trace(thread) else { return Vec::new() };
        let written = trace.events.iter().filter_map(|event| match &self.event(*event).kind {
            EventKind::Write { value: Expression::Constant(value), ty, .. } => Some(ty.wrap(*value)),
            _ => None,
        });
        let observed = self.looked.terms.iter().filter_map(|term| match term {
            Term::Register(own, register) if *own == thread => match trace.registers.get(register.index())? {
                Expression::Constant(value) => Some(*value),
                _ => None,
            },
            _ => None,
        });
        written.chain(observed).collect()
    }

    /// The exchange of two threads, if it is one (see the head of this file).
    fn swap(&self, a: ThreadId, b: ThreadId) -> Option<Swap> {
        let (first, second) = (self.trace(a)?, self.trace(b)?);
        let mut swap = Swap { threads: (a, b), data: SortedMap::new() };
        let is_one = same_kernel(self.unfolding, a, b)
            && first.events.len() == second.events.len()
            && first.events.iter().zip(&second.events).all(|(x, y)| self.same_event((first, second), (*x, *y)))
            && self.same_expressions((first, second), &first.constraints, &second.constraints)
            && self.same_expressions((first, second), &first.assumptions, &second.assumptions)
            && self.same_observed((first, second), &swap)
            && self.constants(a).into_iter().zip(self.constants(b)).all(|(x, y)| swap.pair(x, y))
            && (!swap.data.keys().any(|value| swap.moves(*value)) || self.carries_data(&swap))
            && self.same_conditions(&swap);
        is_one.then_some(swap)
    }

    fn same_event(&self, traces: (&Trace, &Trace), (x, y): (EventId, EventId)) -> bool {
        let (x, y) = (self.event(x), self.event(y));
        let kind = match (&x.kind, &y.kind) {
            (EventKind::Fence, EventKind::Fence) => true,
            (
                EventKind::Read { address, generic, location, ty },
                EventKind::Read { address: address_y, generic: generic_y, location: location_y, ty: ty_y },
            ) => (address, generic, location, ty) == (address_y, generic_y, location_y, ty_y),
            (
                EventKind::Write { address, generic, location, ty, value },
                EventKind::Write {
                    address: address_y,
                    generic: generic_y,
                    location: location_y,
                    ty: ty_y,
                    value: value_y,
                },
            ) => {
                (address, generic, location, ty) == (address_y, generic_y, location_y, ty_y)
                    && match (value, value_y) {
                        (Expression::Constant(_), Expression::Constant(_)) => true,
                        _ => same_expression(traces, value, value_y),
                    }
            }
            _ => false,
        };
        let partner = |event: &Event, trace: &Trace| {
            event.rmw_partner.map(|partner| trace.events.iter().position(|event| *event == partner))
        };
        let rename = |event: EventId| {
            let at = traces.0.events.iter().position(|other| *other == event)?;
            traces.1.events.get(at).copied()
        };
        kind && x.tags == y.tags
            && x.scope == y.scope
            && partner(x, traces.0) == partner(y, traces.1)
            && same_beside(self.unfolding, x, y, &rename)
    }

    fn same_expressions(&self, traces: (&Trace, &Trace), a: &[Expression], b: &[Expression]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_expression(traces, a, b))
    }

    /// Whether the same is observed of both, and is the same to compute but for constants.
    fn same_observed(&self, (first, second): (&Trace, &Trace), swap: &Swap) -> bool {
        self.looked.terms.iter().all(|term| {
            let Term::Register(thread, register) = term else { return true };
            if *thread != swap.threads.0 && *thread != swap.threads.1 {
                return true;
            }
            let ends = (first.registers.get(register.index()), second.registers.get(register.index()));
            self.looked.terms.binary_search(&swap.term(term)).is_ok()
                && match ends {
                    (Some(Expression::Constant(_)), Some(Expression::Constant(_))) => true,
                    (Some(a), Some(b)) => same_expression((first, second), a, b),
                    _ => false,
                }
        })
    }

    /// Whether exchanged values are only ever copied, and nobody else has one.
    fn carries_data(&self, swap: &Swap) -> bool {
        let mut carrying: Vec<LocationId> = Vec::new();
        let mut constants: Vec<Value> = Vec::new();
        let mut types: Vec<Type> = Vec::new();
        for event in &self.unfolding.events {
            match &event.kind {
                EventKind::Write { location, value, ty, .. } => {
                    types.push(*ty);
                    match value {
                        Expression::Constant(value) => {
                            let value = ty.wrap(*value);
                            constants.push(value);
                            if swap.moves(value) {
                                carrying.push(*location);
                                if event.thread.is_none_or(|thread| swap.thread(thread) == thread) {
                                    return false;
                                }
                            }
                        }
                        Expression::Read(_) => carrying.push(*location),
                        _ => return false,
                    }
                }
                EventKind::Read { ty, .. } => types.push(*ty),
                EventKind::Fence | EventKind::Issue | EventKind::Omitted(_) => {}
                EventKind::Barrier(_) => return false,
            }
        }
        constants.shared_sort();
        constants.dedup();
        types.shared_sort_by_key(|ty| format!("{ty:?}"));
        types.dedup();
        let is_whole = |ty: &Type| constants.iter().all(|value| ty.wrap(*value) == *value);
        types.iter().all(is_whole)
            && !self.unfolding.locations.iter().any(|location| swap.moves(location.initial))
            && self.unfolding.traces.iter().all(|trace| self.tests_none_of(trace, &carrying))
            && self.looked.terms.iter().all(|term| self.shows_data(term, swap))
            && self.looked.conditions.iter().all(|condition| compares_for_equality(condition))
    }

    /// Whether what decides a trace reads nothing of these locations.
    fn tests_none_of(&self, trace: &Trace, carrying: &[LocationId]) -> bool {
        let mut leaves = Vec::new();
        trace.constraints.iter().chain(&trace.assumptions).for_each(|expression| expression.leaves(&mut leaves));
        leaves.iter().all(|leaf| match leaf {
            Leaf::Read(event) => match &self.event(*event).kind {
                EventKind::Read { location, .. } => !carrying.contains(location),
                _ => false,
            },
            Leaf::BarrierResult(_) => false,
        })
    }

    /// Whether a term is what a thread read, or a constant that is its own or nobody's.
    fn shows_data(&self, term: &Term, swap: &Swap) -> bool {
        let Term::Register(thread, register) = term else { return true };
        let traces = &self.unfolding.threads[thread.index()].traces;
        traces.iter().all(|trace| match self.unfolding.traces[trace.index()].registers.get(register.index()) {
            Some(Expression::Read(_)) => true,
            Some(Expression::Constant(value)) => swap.thread(*thread) != *thread || !swap.moves(*value),
            _ => false,
        })
    }

    fn same_conditions(&self, swap: &Swap) -> bool {
        let renamed = self.looked.conditions.iter().map(|condition| normal(condition, &|term| swap.term(term)));
        renamed.zip(&self.normal).all(|(renamed, own)| renamed == *own)
    }
}

/// Whether two expressions are the same where each is of its own trace.
fn same_expression(traces: (&Trace, &Trace), a: &Expression, b: &Expression) -> bool {
    let place = |trace: &Trace, event: &EventId| trace.events.iter().position(|other| other == event);
    match (a, b) {
        (Expression::Constant(a), Expression::Constant(b)) => a == b,
        (Expression::Read(a), Expression::Read(b)) => {
            let at = place(traces.0, a);
            at.is_some() && at == place(traces.1, b)
        }
        (Expression::Unary(operator, ty, a), Expression::Unary(other, ty_b, b)) => {
            (operator, ty) == (other, ty_b) && same_expression(traces, a, b)
        }
        (Expression::Binary(operator, ty, a, c), Expression::Binary(other, ty_b, b, d)) => {
            (operator, ty) == (other, ty_b) && same_expression(traces, a, b) && same_expression(traces, c, d)
        }
        (Expression::Select(a, c, e), Expression::Select(b, d, f)) => {
            same_expression(traces, a, b) && same_expression(traces, c, d) && same_expression(traces, e, f)
        }
        _ => false,
    }
}

fn compares_for_equality(condition: &Condition) -> bool {
    match condition {
        Condition::True | Condition::False => true,
        Condition::Compare { op, .. } => matches!(op, Comparison::Equal | Comparison::NotEqual),
        Condition::Not(inner) => compares_for_equality(inner),
        Condition::And(parts) | Condition::Or(parts) => parts.iter().all(compares_for_equality),
    }
}

/// A condition with its parts sorted, and the sides of an equation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Normal {
    Truth(bool),
    Compare(u8, Term, Term),
    Not(Box<Normal>),
    And(Vec<Normal>),
    Or(Vec<Normal>),
}

fn normal(condition: &Condition, rename: &dyn Fn(&Term) -> Term) -> Normal {
    let sorted = |parts: &[Condition]| {
        let mut parts: Vec<Normal> = parts.iter().map(|part| normal(part, rename)).collect();
        parts.shared_sort();
        parts.dedup();
        parts
    };
    match condition {
        Condition::True => Normal::Truth(true),
        Condition::False => Normal::Truth(false),
        Condition::Compare { op, left, right } => {
            let (left, right) = (rename(left), rename(right));
            let is_symmetric = matches!(op, Comparison::Equal | Comparison::NotEqual);
            let (left, right) = if is_symmetric && right < left { (right, left) } else { (left, right) };
            Normal::Compare(*op as u8, left, right)
        }
        Condition::Not(inner) => Normal::Not(Box::new(normal(inner, rename))),
        Condition::And(parts) => Normal::And(sorted(parts)),
        Condition::Or(parts) => Normal::Or(sorted(parts)),
    }
}
