//! How a program uses its mbarriers (PTX ISA 9.7.15.16), execution by execution.
//!
//! The state of an mbarrier is the value of its location, and what the ISA leaves undefined is a sticky mark in it
//! ([`fencepost_program::mbarrier`]): such errors are read off the values. Others need the execution around them: a wait
//! whose parity means another phase than its thread is in, an arrival in a phase before anybody waited for the last one,
//! a wait that lacks arrivals or bytes for good, bytes that nothing expects or that never come, uses after `mbarrier.inval`,
//! other uses of the memory of a live object.

mod leftover;

use fencepost_axiom::execution::Execution;
use fencepost_program::expression::{BinaryOperator, Expression};
use fencepost_program::mbarrier::{self, Operator, State};
use fencepost_program::program::{LocationRole, Version};
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind, TraceEnd, Unfolding};
use fencepost_program::{EventId, LocationId};
use fencepost_report::misuse::Misuse;
use fencepost_syntax::Span;
use fencepost_syntax::sorted::{SharedSort as _, SortedMap};

use crate::look::outcome::Reader;

/// The version of the ISA whose waits take the parity of their operand.
const TAKES_PARITY: Version = Version { major: 9, minor: 4 };

/// What is wrong.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    State(mbarrier::ProtocolError),
    /// Any operation after `mbarrier.inval`.
    UsedAfterInval,
    /// A parity that is neither 0 nor 1, before version 9.4.
    ParityRange,
    ParityAliasing,
    MissingWait,
    /// Expected and never brought.
    MissingBytes,
    /// Brought and never expected.
    ExcessBytes,
    /// The same in a phase that nobody uses; no error, but worth a word.
    UnexpectedBytes,
    MissingArrivals,
    UsedAsData,
}

impl Kind {
    /// The name in reports; stable.
    pub fn name(self) -> &'static str {
        match self {
            Kind::State(mbarrier::ProtocolError::Uninitialised) => "uninitialised",
            Kind::State(mbarrier::ProtocolError::InitOfLive) => "init-of-live",
            Kind::State(mbarrier::ProtocolError::CountRange) => "count-range",
            Kind::State(mbarrier::ProtocolError::TooManyArrivals) => "too-many-arrivals",
            Kind::State(mbarrier::ProtocolError::TxRange) => "tx-range",
            Kind::State(mbarrier::ProtocolError::DropToZero) => "drop-to-zero",
            Kind::State(mbarrier::ProtocolError::NoCompleteCompleted) => "no-complete-completed",
            Kind::UsedAfterInval => "used-after-inval",
            Kind::ParityRange => "parity-range",
            Kind::ParityAliasing => "parity-aliasing",
            Kind::MissingWait => "missing-wait",
            Kind::MissingBytes => "missing-bytes",
            Kind::ExcessBytes => "excess-bytes",
            Kind::UnexpectedBytes => "unexpected-bytes",
            Kind::MissingArrivals => "missing-arrivals",
            Kind::UsedAsData => "used-as-data",
        }
    }

    /// Whether it is about what all operations on the object add up to, and not about one of them.
    pub fn is_of_the_whole_life(self) -> bool {
        matches!(self, Kind::MissingBytes | Kind::ExcessBytes | Kind::UnexpectedBytes)
    }

    /// Whether a rule is broken. What is none is only warned of.
    pub fn is_error(self) -> bool {
        self != Kind::UnexpectedBytes
    }

    /// Of the PTX ISA.
    pub fn section(self) -> &'static str {
        match self {
            Kind::MissingWait => sections::MBARRIER_ARRIVE_ON,
            _ => sections::MBARRIER,
        }
    }
}

/// An error without its executions.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    pub location: LocationId,
    pub span: Span,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub struct Example {
    pub event: EventId,
    pub misuse: Misuse,
    pub execution: Execution,
}

#[derive(Clone, Default, Debug)]
pub struct ProtocolSet {
    pub errors: SortedMap<Key, Example>,
}

impl ProtocolSet {
    pub fn has_error(&self) -> bool {
        self.errors.keys().any(|key| key.kind.is_error())
    }

    pub fn extend(&mut self, other: ProtocolSet) {
        for (key, example) in other.errors {
            self.errors.entry(key).or_insert(example);
        }
    }
}

/// Looks at the executions of one unfolding.
pub struct Examiner<'a> {
    unfolding: &'a Unfolding,
    mbarriers: Vec<LocationId>,
    /// What each wait asks, where its answer decides something.
    questions: SortedMap<EventId, (Operator, Expression)>,
}

impl<'a> Examiner<'a> {
    pub fn new(unfolding: &'a Unfolding) -> Examiner<'a> {
        let is_mbarrier = |(_, location): &(usize, &fencepost_program::unfolding::LocationInfo)| {
            location.role == LocationRole::Mbarrier
        };
        let locations = unfolding.locations.iter().enumerate().filter(is_mbarrier);
        let mbarriers: Vec<LocationId> = locations.map(|(at, _)| LocationId(at as u32)).collect();
        let mut questions = SortedMap::new();
        if !mbarriers.is_empty() {
            let constraints = unfolding.traces.iter().flat_map(|trace| &trace.constraints);
            constraints.for_each(|constraint| find_questions(constraint, &mut questions));
        }
        Examiner { unfolding, mbarriers, questions }
    }

    /// Whether there is anything to look at.
    pub fn is_idle(&self) -> bool {
        self.mbarriers.is_empty()
    }

    /// Adds the errors of this execution that are new.
    pub fn add(&self, execution: &Execution, set: &mut ProtocolSet) {
        if self.is_idle() {
            return;
        }
        let one = One {
            examiner: self,
            unfolding: self.unfolding,
            execution,
            reader: Reader::new(self.unfolding, execution),
        };
        for &location in &self.mbarriers {
            let history = one.history(location);
            one.writes(location, &history, set);
            one.reads(location, set);
            one.arrivals(location, &history, set);
            one.leftover(location, &history, set);
        }
        one.stuck(set);
    }
}

/// Finds `IsComplete(state read by a wait, operand)` in a constraint. Recursion depth is the constraint's, which is small.
fn find_questions(expression: &Expression, found: &mut SortedMap<EventId, (Operator, Expression)>) {
    match expression {
        Expression::Binary(BinaryOperator::Mbarrier(operator), _, state, operand) if operator.is_question() => {
            if let Expression::Read(event) = **state {
                found.insert(event, (*operator, (**operand).clone()));
            }
        }
        Expression::Unary(_, _, operand) => find_questions(operand, found),
        Expression::Binary(_, _, left, right) => {
            find_questions(left, found);
            find_questions(right, found);
        }
        Expression::Select(condition, then, otherwise) => {
            [condition, then, otherwise].into_iter().for_each(|part| find_questions(part, found));
        }
        Expression::Constant(_) | Expression::Read(_) | Expression::BarrierResult(_) => {}
    }
}

/// The writes to an mbarrier in coherence order, with the state each leaves.
pub type History = Vec<(EventId, State)>;

/// Those of an execution. Writes that coherence leaves unordered are in the order of the program text.
pub fn history(unfolding: &Unfolding, execution: &Execution, location: LocationId) -> History {
    let reader = Reader::new(unfolding, execution);
    let is_write = |event: &EventId| {
        unfolding.events.get(event.index()).is_some_and(|event| event.is_write() && event.location() == Some(location))
    };
    // Coherence is transitively closed: more writes before it is later.
    let before = |event: &EventId| execution.co.iter().filter(|(from, to)| to == event && is_write(from)).count();
    let writes = execution.events.iter().filter(|event| is_write(event));
    let mut writes: Vec<(usize, EventId)> = writes.map(|event| (before(event), *event)).collect();
    writes.shared_sort();
    let state = |(_, event): (usize, EventId)| Some((event, State::unpack(reader.value(event)?)));
    writes.into_iter().filter_map(state).collect()
}

struct One<'a> {
    examiner: &'a Examiner<'a>,
    unfolding: &'a Unfolding,
    execution: &'a Execution,
    reader: Reader<'a>,
}

impl One<'_> {
    fn event(&self, id: EventId) -> Option<&Event> {
        self.unfolding.events.get(id.index())
    }

    fn history(&self, location: LocationId) -> History {
        history(self.unfolding, self.execution, location)
    }

    fn found(&self, location: LocationId, id: EventId, (kind, misuse): (Kind, Misuse), set: &mut ProtocolSet) {
        let Some(event) = self.event(id) else { return };
        let key = Key { location, span: event.span, kind };
        let example = || Example { event: id, misuse, execution: self.execution.clone() };
        set.errors.entry(key).or_insert_with(example);
    }

    /// Marks in the state, `init` of a live object, and stores that are none of an mbarrier's.
    fn writes(&self, location: LocationId, history: &History, set: &mut ProtocolSet) {
        let mut before = State::default();
        for &(id, state) in history {
            let Some(event) = self.event(id) else { continue };
            if event.is_init() {
                before = state;
                continue;
            }
            let mut add = |kind: Kind, misuse: Misuse| self.found(location, id, (kind, misuse), set);
            if !event.has(Tag::Mbarrier) {
                if before.is_live() {
                    add(Kind::UsedAsData, Misuse::WrittenAsData);
                }
                // Whatever the data is, it is no mbarrier.
                before = State::default();
                continue;
            }
            let is_init = event.has(Tag::MbarrierInit);
            if is_init && before.is_live() {
                let error = mbarrier::ProtocolError::InitOfLive;
                add(Kind::State(error), describe(error));
            }
            let read = event.rmw_partner.and_then(|read| self.reader.value(read));
            let earlier = if is_init { State::default() } else { read.map_or(before, State::unpack) };
            for error in state.errors.beyond(earlier.errors).iter() {
                let problem = self.problem(error, event.rmw_partner);
                add(problem.0, problem.1);
            }
            before = state;
        }
    }

    /// Waits on nothing, waits for another phase than they mean, and loads that are none of an mbarrier's.
    fn reads(&self, location: LocationId, set: &mut ProtocolSet) {
        for &id in &self.execution.events {
            let Some(event) = self.event(id) else { continue };
            if !event.is_read() || event.location() != Some(location) || event.rmw_partner.is_some() {
                continue;
            }
            let Some(state) = self.reader.value(id).map(State::unpack) else { continue };
            let problem = if !event.has(Tag::Mbarrier) {
                state.is_live().then_some((Kind::UsedAsData, Misuse::ReadAsData))
            } else if !state.is_live() {
                Some(self.problem(mbarrier::ProtocolError::Uninitialised, Some(id)))
            } else {
                self.no_parity(id).or_else(|| self.aliasing(location, id, state))
            };
            if let Some(problem) = problem {
                self.found(location, id, problem, set);
            }
        }
    }

    /// An error that the state remembers. `read` is what found the state.
    fn problem(&self, error: mbarrier::ProtocolError, read: Option<EventId>) -> (Kind, Misuse) {
        match error {
            mbarrier::ProtocolError::Uninitialised if read.is_some_and(|read| self.follows_inval(read)) => {
                (Kind::UsedAfterInval, Misuse::UsedAfterInval)
            }
            _ => (Kind::State(error), describe(error)),
        }
    }

    /// Whether memory that a read finds without an mbarrier was left so by `mbarrier.inval`. Operations on such memory
    /// leave it as it is.
    fn follows_inval(&self, mut read: EventId) -> bool {
        for _ in 0..self.execution.rf.len() {
            let source = self.execution.rf.iter().find(|(_, to)| *to == read).map(|(write, _)| *write);
            let Some((write, event)) = source.and_then(|write| Some((write, self.event(write)?))) else { break };
            match event.rmw_partner {
                Some(partner) if partner != write => read = partner,
                _ => return leftover::is_inval(event),
            }
        }
        false
    }

    /// Phases have parity 0 and 1, and up to 9.1 the ISA calls no other operand valid. That of 9.4 takes the operand's parity
    /// (9.7.15.16.19), so that a count of phases will do.
    fn no_parity(&self, id: EventId) -> Option<(Kind, Misuse)> {
        if self.unfolding.version >= TAKES_PARITY {
            return None;
        }
        let (operator, operand) = self.examiner.questions.get(&id)?;
        let operand = self.reader.evaluate(operand).filter(|_| *operator == Operator::IsComplete)?;
        let is_parity = matches!(operand.0, 0 | 1);
        let operand = i64::try_from(operand.0).unwrap_or(if operand.0 < 0 { i64::MIN } else { i64::MAX });
        (!is_parity).then_some((Kind::ParityRange, Misuse::NotAParity { operand }))
    }

    /// A wait can tell the current phase (no) from the one before it (yes), and no others (PTX ISA 9.7.15.16).
    fn aliasing(&self, location: LocationId, id: EventId, state: State) -> Option<(Kind, Misuse)> {
        let (operator, operand) = self.examiner.questions.get(&id)?;
        let operand = self.reader.evaluate(operand)?;
        let current = i64::from(state.phase);
        let meant = match operator {
            Operator::IsCompleteToken => i64::from(mbarrier::token_phase(operand)),
            _ => {
                let parity = i64::try_from(operand.0 & 1).ok()?;
                // The phase the thread is in, or the one before it.
                let means = |seen: u32| i64::from(seen) - ((i64::from(seen) & 1) ^ parity);
                // Where it comes back all the same, it may mean the phase that others have told it of.
                let meant = means(self.last_seen(location, id));
                let is_late = current > meant + 1;
                if is_late && !self.is_stuck(id) { means(self.last_told(location, id)) } else { meant }
            }
        };
        if current <= meant + 1 {
            return None;
        }
        let answered = self.event(id)?.has(Tag::MbarrierWait);
        let about = if answered { state.phase.saturating_sub(1) } else { state.phase };
        let misuse = Misuse::WaitTooLate { meant: u32::try_from(meant).ok(), returned: answered, about };
        Some((Kind::ParityAliasing, misuse))
    }

    /// The phase in which the thread last met the mbarrier before this event.
    fn last_seen(&self, location: LocationId, id: EventId) -> u32 {
        let mut earlier = std::iter::successors(self.parent(id), |before| self.parent(*before));
        earlier.find_map(|before| self.phase_met(location, before)).unwrap_or(0)
    }

    fn parent(&self, id: EventId) -> Option<EventId> {
        self.event(id)?.parent
    }

    /// Whether a thread waits there for good.
    fn is_stuck(&self, id: EventId) -> bool {
        let mut traces = self.execution.traces.iter().filter_map(|trace| self.unfolding.traces.get(trace.index()));
        traces.any(|trace| matches!(&trace.end, TraceEnd::Spin { reads, .. } if reads.contains(&id)))
    }

    /// The latest phase in which anything met this mbarrier that comes before the event: a barrier or a message behind it tells
    /// the thread which phases are over. What met an earlier mbarrier at this place tells nothing of this one.
    fn last_told(&self, location: LocationId, id: EventId) -> u32 {
        let history = self.history(location);
        let source = |read: EventId| self.execution.rf.iter().find(|(_, to)| *to == read).map(|(write, _)| *write);
        let place = |read: EventId| history.iter().position(|(write, _)| Some(*write) == source(read));
        let is_init = |at: &usize| self.event(history[*at].0).is_some_and(|event| event.has(Tag::MbarrierInit));
        let born = place(id).and_then(|at| (0..=at).rev().find(is_init)).unwrap_or(0);
        let before = self.all_before(self.parent(id));
        let met = before.into_iter().filter(|read| place(*read).is_some_and(|at| at >= born));
        met.filter_map(|read| self.phase_met(location, read)).max().unwrap_or(0)
    }

    /// The phase in which an arrival, or a wait that succeeded, found the mbarrier. A wait that failed tells a thread nothing
    /// about which phase it is.
    fn phase_met(&self, location: LocationId, id: EventId) -> Option<u32> {
        let event = self.event(id).filter(|event| event.is_read() && event.location() == Some(location))?;
        let tells = event.has(Tag::MbarrierWait) || event.has(Tag::Mbarrier) && event.rmw_partner.is_some();
        self.reader.value(id).filter(|_| tells).map(|value| State::unpack(value).phase)
    }

    /// Before anything arrives in a phase, some wait must have returned true for the phase before it.
    fn arrivals(&self, location: LocationId, history: &History, set: &mut ProtocolSet) {
        for &(id, _) in history {
            let Some(event) = self.event(id).filter(|event| is_arrival(event)) else { continue };
            let state = event.rmw_partner.and_then(|read| self.reader.value(read)).map(State::unpack);
            let Some(phase) = state.filter(|state| state.is_live()).map(|state| state.phase) else { continue };
            if phase > 0 && !self.was_waited_for(location, id, phase) {
                self.found(location, id, (Kind::MissingWait, Misuse::ArrivesUnawaited { phase }), set);
            }
        }
    }

    /// Whether a wait that saw this phase comes before the event, in any sense of the word.
    fn was_waited_for(&self, location: LocationId, arrival: EventId, phase: u32) -> bool {
        self.all_before(Some(arrival)).into_iter().any(|id| {
            let event = self.event(id).filter(|event| event.has(Tag::MbarrierWait));
            event.is_some_and(|event| event.location() == Some(location))
                && self.reader.value(id).map(State::unpack).is_some_and(|state| state.phase >= phase)
        })
    }

    /// An event and all that comes before it, in any sense of the word.
    fn all_before(&self, last: Option<EventId>) -> Vec<EventId> {
        let mut seen = vec![false; self.unfolding.events.len()];
        let (mut open, mut found) = (Vec::from_iter(last), Vec::new());
        while let Some(id) = open.pop() {
            match seen.get_mut(id.index()) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            let Some(event) = self.event(id) else { continue };
            found.push(id);
            open.extend(event.parent);
            open.extend(event.rmw_partner.filter(|_| event.is_write()));
            open.extend(event.strand.iter().flat_map(|strand| strand.after.iter().copied().chain([strand.issue])));
            open.extend(&event.completes);
            if event.is_read() {
                let writes = self.execution.rf.iter().filter(|(_, read)| *read == id);
                open.extend(writes.map(|(write, _)| *write));
            }
            if event.is_barrier() {
                let met = self.execution.barriers.synchronises.iter().filter(|(_, into)| *into == id);
                open.extend(met.map(|(from, _)| *from));
            }
        }
        found
    }

    /// Threads that wait for good, and what the mbarrier still waits for.
    fn stuck(&self, set: &mut ProtocolSet) {
        for trace in &self.execution.traces {
            let Some(trace) = self.unfolding.traces.get(trace.index()) else { continue };
            let TraceEnd::Spin { reads, .. } = &trace.end else { continue };
            for &id in reads {
                let Some(event) = self.event(id).filter(|event| event.has(Tag::Mbarrier)) else { continue };
                let Some(location) = event.location() else { continue };
                let Some(state) = self.reader.value(id).map(State::unpack).filter(|state| state.is_live()) else {
                    continue;
                };
                if self.aliasing(location, id, state).is_some() {
                    continue;
                }
                let State { phase, pending, expected, tx, .. } = state;
                if pending != 0 {
                    let misuse = Misuse::ArrivalsNeverCome { phase, pending, expected };
                    self.found(location, id, (Kind::MissingArrivals, misuse), set);
                }
                if tx != 0 {
                    let bytes = tx.unsigned_abs();
                    let problem = match tx {
                        1.. => (Kind::MissingBytes, Misuse::BytesNeverCome { phase, bytes }),
                        _ => (Kind::ExcessBytes, Misuse::BytesTooMany { phase, bytes }),
                    };
                    self.found(location, id, problem, set);
                }
            }
        }
    }
}

fn describe(error: mbarrier::ProtocolError) -> Misuse {
    match error {
        mbarrier::ProtocolError::Uninitialised => Misuse::UsedBeforeInit,
        mbarrier::ProtocolError::InitOfLive => Misuse::InitialisedLive,
        mbarrier::ProtocolError::CountRange => Misuse::CountOutOfRange,
        mbarrier::ProtocolError::TooManyArrivals => Misuse::TooManyArrivals,
        mbarrier::ProtocolError::TxRange => Misuse::TxOutOfRange,
        mbarrier::ProtocolError::DropToZero => Misuse::LastArrivalDropped,
        mbarrier::ProtocolError::NoCompleteCompleted => Misuse::NoCompleteCompleted,
    }
}

fn is_arrival(event: &Event) -> bool {
    let EventKind::Write { value: Expression::Binary(BinaryOperator::Mbarrier(operator), ..), .. } = &event.kind else {
        return false;
    };
    matches!(
        operator,
        Operator::Arrive(_) | Operator::ArriveExpectTx | Operator::ArriveDrop(_) | Operator::ArriveDropExpectTx
    )
}
