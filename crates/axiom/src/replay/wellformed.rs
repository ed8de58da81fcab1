//! Whether an execution is one of the program: traces, reads-from, values, orders and final state, each checked against
//! its definition. What a model says about it is `judge`'s part.

use std::fmt;

use fencepost_program::barrier::Matchings;
use fencepost_program::program::{Condition, Term};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{FinalState, GenerationOrder, Trace, TraceEnd, Unfolding};
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId, ThreadId, launch};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::SortedSet;

use super::base::{fence_sc_pairs, is_acyclic, occurring};
use super::event::{has, location};
use super::valuation::Valuation;
use crate::engine::{Ends, Goal};
use crate::execution::Execution;
use crate::model::{Coherence, FenceOrder};

/// What keeps an execution from being one of the program that meets the goal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// Not one trace of each thread, in thread order.
    Traces,
    /// Not the init writes and the events of the traces, ascending.
    Events,
    /// Not exactly one write to its location per read, ascending by read.
    ReadsFrom(EventId),
    /// Values that depend on themselves.
    ThinAir,
    /// The value of this event does not follow from reads-from.
    Value(EventId),
    /// The values take another way through this thread than its trace does.
    Constraint(ThreadId),
    /// Coherence relates something else than two writes to one location, or is reflexive, not transitive, not ascending.
    Coherence(EventId, EventId),
    /// An init write is not coherence-before this write.
    InitFirst(EventId),
    /// The model orders all writes to a location, and these two are unrelated.
    Unrelated(EventId, EventId),
    /// Fence-SC order does not orient exactly the pairs with mutual scopes, acyclically; or it does, and the model does
    /// not look at it.
    SyncFence,
    /// The barrier operations cannot meet like this.
    Barriers,
    /// Launches do not let these traces go together.
    Launches,
    /// The thread does not end as the goal says.
    End(ThreadId),
    /// No final state satisfies the filter and the condition.
    Condition,
    /// A weight of zero.
    Weight,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not an execution of the program: {self:?}")
    }
}

impl std::error::Error for Mismatch {}

/// Ok iff the execution is one of the unfolding and meets the goal. Whether partial coherence is the *smallest* one is
/// not decided here: that needs the model.
pub fn check_execution(
    unfolding: &Unfolding,
    execution: &Execution,
    goal: &Goal<'_>,
    coherence: &Coherence,
    fences: FenceOrder,
) -> Result<(), Mismatch> {
    check_events(unfolding, execution)?;
    check_reads_from(unfolding, execution)?;
    check_barriers(unfolding, execution)?;
    check_values(unfolding, execution)?;
    check_coherence(unfolding, execution, coherence)?;
    check_sync_fence(unfolding, execution, fences)?;
    check_ends(unfolding, execution, goal.ends)?;
    if !launch::admits(unfolding, &execution.traces) {
        return Err(Mismatch::Launches);
    }
    if !meets(unfolding, execution, goal) {
        return Err(Mismatch::Condition);
    }
    if execution.weight == 0 { Err(Mismatch::Weight) } else { Ok(()) }
}

fn check_events(unfolding: &Unfolding, execution: &Execution) -> Result<(), Mismatch> {
    if execution.traces.len() != unfolding.threads.len() {
        return Err(Mismatch::Traces);
    }
    for (thread, trace) in unfolding.threads.iter().zip(&execution.traces) {
        if !thread.traces.contains(trace) {
            return Err(Mismatch::Traces);
        }
    }
    if execution.events != occurring(unfolding, &execution.traces) { Err(Mismatch::Events) } else { Ok(()) }
}

fn check_reads_from(unfolding: &Unfolding, execution: &Execution) -> Result<(), Mismatch> {
    let event = |id: EventId| &unfolding.events[id.index()];
    let occurs = |id: &EventId| execution.events.binary_search(id).is_ok();
    for &(write, read) in &execution.rf {
        let fits = occurs(&write)
            && occurs(&read)
            && has(event(write), Tag::Write)
            && has(event(read), Tag::Read)
            && location(event(write)) == location(event(read));
        if !fits {
            return Err(Mismatch::ReadsFrom(read));
        }
    }
    let mut read: Vec<EventId> = execution.events.clone();
    read.retain(|id| has(event(*id), Tag::Read));
    let reading: Vec<EventId> = execution.rf.iter().map(|(_, read)| *read).collect();
    match reading.iter().zip(&read).find(|(got, want)| got != want) {
        Some((got, _)) => Err(Mismatch::ReadsFrom(*got)),
        None if reading.len() != read.len() => {
            let longer = if reading.len() > read.len() { &reading } else { &read };
            Err(Mismatch::ReadsFrom(longer[reading.len().min(read.len())]))
        }
        None => Ok(()),
    }
}

fn check_barriers(unfolding: &Unfolding, execution: &Execution) -> Result<(), Mismatch> {
    // Operands may be reductions of earlier barriers: known once all is matched.
    let values = Valuation::new(unfolding, &execution.events, &execution.rf, Some(&execution.barriers));
    // Whether the order of generations is part of it is the model's.
    let order =
        if execution.barriers.generations.is_empty() { GenerationOrder::Unordered } else { GenerationOrder::Ordered };
    let matchings = Matchings::new(unfolding, &execution.traces, order, &mut |operand| values.evaluate(operand));
    let is_possible = matchings.has(&execution.barriers, &mut |_| true);
    if is_possible { Ok(()) } else { Err(Mismatch::Barriers) }
}

fn check_values(unfolding: &Unfolding, execution: &Execution) -> Result<(), Mismatch> {
    let values = Valuation::new(unfolding, &execution.events, &execution.rf, Some(&execution.barriers));
    if !values.is_complete(unfolding, &execution.events) {
        return Err(Mismatch::ThinAir);
    }
    for (index, &event) in execution.events.iter().enumerate() {
        if execution.values.get(index) != Some(&values.of(event)) {
            return Err(Mismatch::Value(event));
        }
    }
    for trace in &execution.traces {
        let trace = &unfolding.traces[trace.index()];
        if decided(trace, &values) != Some(true) {
            return Err(Mismatch::Constraint(trace.thread));
        }
    }
    Ok(())
}

/// Whether this is the trace taken and its assumptions hold; None while a value is unknown.
pub(crate) fn decided(trace: &Trace, values: &Valuation) -> Option<bool> {
    let mut unknown = false;
    for constraint in trace.constraints.iter().chain(&trace.assumptions) {
        match values.evaluate(constraint) {
            Some(Value(0)) => return Some(false),
            Some(_) => {}
            None => unknown = true,
        }
    }
    if unknown { None } else { Some(true) }
}

fn check_coherence(unfolding: &Unfolding, execution: &Execution, coherence: &Coherence) -> Result<(), Mismatch> {
    if let Some(pair) = execution.co.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(Mismatch::Coherence(pair[1].0, pair[1].1));
    }
    let mut writes = Writes::of(unfolding, &execution.events);
    execution.co.iter().for_each(|(x, y)| writes.order(*x, *y));
    if let Some(&(x, y)) = execution.co.iter().find(|(x, y)| !writes.leads_on(*x, *y)) {
        return Err(Mismatch::Coherence(x, y));
    }
    for (at, &(own, x)) in writes.all.iter().enumerate() {
        let is_init = has(&unfolding.events[x.index()], Tag::Init);
        if !is_init && *coherence == Coherence::Partial {
            continue;
        }
        let later = writes.all.iter().enumerate().skip(at + 1).take_while(|(_, (location, _))| *location == own);
        for (other, &(_, y)) in later {
            let forward = writes.is_before(at, other);
            if is_init && !forward {
                return Err(Mismatch::InitFirst(y));
            }
            if *coherence == Coherence::Total && !forward && !writes.is_before(other, at) {
                return Err(Mismatch::Unrelated(x, y));
            }
        }
    }
    Ok(())
}

/// The writes of an execution, and where coherence leads to from each: a row of bits over the writes to its location.
struct Writes {
    /// By location, then ascending.
    all: Vec<(LocationId, EventId)>,
    /// By event: its place in `all`, if it has one.
    places: Vec<Option<u32>>,
    rows: Vec<WriteRow>,
    bits: Vec<u64>,
}

/// The row of one write.
struct WriteRow {
    /// The place of the first write to its location.
    first: usize,
    /// Where the row begins.
    start: usize,
    words: usize,
    /// Coherence leads from it to something else than a write to its location.
    is_broken: bool,
}

impl Writes {
    fn of(unfolding: &Unfolding, events: &[EventId]) -> Writes {
        let write = |id: &EventId| {
            let event = &unfolding.events[id.index()];
            Some((location(event).filter(|_| has(event, Tag::Write))?, *id))
        };
        let mut all: Vec<(LocationId, EventId)> = events.iter().filter_map(write).collect();
        all.shared_sort();
        let mut places = vec![None; unfolding.events.len()];
        (0..).zip(&all).for_each(|(place, (_, id))| places[id.index()] = Some(place));
        let mut rows: Vec<WriteRow> = Vec::with_capacity(all.len());
        let mut start = 0;
        for own in all.chunk_by(|a, b| a.0 == b.0) {
            let (first, words) = (rows.len(), own.len().div_ceil(64));
            for _ in own {
                rows.push(WriteRow { first, start, words, is_broken: false });
                start += words;
            }
        }
        Writes { all, places, rows, bits: vec![0; start] }
    }

    fn place(&self, event: EventId) -> Option<usize> {
        self.places.get(event.index()).copied().flatten().map(|place| place as usize)
    }

    /// The places of writes to one location.
    fn pair(&self, x: EventId, y: EventId) -> Option<(usize, usize)> {
        let (x, y) = (self.place(x)?, self.place(y)?);
        (self.rows[x].first == self.rows[y].first).then_some((x, y))
    }

    /// Adds a pair of coherence.
    fn order(&mut self, x: EventId, y: EventId) {
        if let Some((from, to)) = self.pair(x, y) {
            let row = &self.rows[from];
            let at = to - row.first;
            self.bits[row.start + at / 64] |= 1 << (at % 64);
        } else if let Some(from) = self.place(x) {
            self.rows[from].is_broken = true;
        }
    }

    fn row(&self, place: usize) -> &[u64] {
        let row = &self.rows[place];
        &self.bits[row.start..row.start + row.words]
    }

    fn is_before(&self, from: usize, to: usize) -> bool {
        let at = to - self.rows[from].first;
        self.row(from)[at / 64] >> (at % 64) & 1 != 0
    }

    /// Whether these are two writes to one location, and the first leads to all that the second leads to.
    fn leads_on(&self, x: EventId, y: EventId) -> bool {
        self.pair(x, y).is_some_and(|(from, to)| {
            let is_subset = |few: &[u64], many: &[u64]| few.iter().zip(many).all(|(few, many)| few & !many == 0);
            from != to && !self.rows[to].is_broken && is_subset(self.row(to), self.row(from))
        })
    }
}

fn check_sync_fence(unfolding: &Unfolding, execution: &Execution, fences: FenceOrder) -> Result<(), Mismatch> {
    let normal = |&(x, y): &(EventId, EventId)| if x < y { (x, y) } else { (y, x) };
    let mut oriented: Vec<(EventId, EventId)> = execution.sync_fence.iter().map(normal).collect();
    oriented.shared_sort();
    let ascending = execution.sync_fence.windows(2).all(|pair| pair[0] < pair[1]);
    let exact = match fences {
        FenceOrder::Unordered => oriented.is_empty(),
        FenceOrder::Ordered => oriented == fence_sc_pairs(unfolding, &execution.events),
    };
    if ascending && exact && is_acyclic(&execution.sync_fence) { Ok(()) } else { Err(Mismatch::SyncFence) }
}

/// How each thread ends, against the goal.
fn check_ends(unfolding: &Unfolding, execution: &Execution, ends: Ends) -> Result<(), Mismatch> {
    let (mut stuck, mut cut) = (0, 0);
    for trace in &execution.traces {
        let trace = &unfolding.traces[trace.index()];
        let fits = match &trace.end {
            // Whether its kernel may stay away is part of the launches.
            TraceEnd::Exit | TraceEnd::NotStarted => true,
            // That nothing completes the barrier is part of the matching.
            TraceEnd::Blocked { .. } => {
                stuck += 1;
                ends != Ends::Terminating
            }
            TraceEnd::Spin { reads, .. } => {
                stuck += 1;
                let newest = |read: &EventId| {
                    let source = execution.rf.iter().find(|(_, reader)| reader == read);
                    source.is_some_and(|(write, _)| !execution.co.iter().any(|(from, _)| from == write))
                };
                match ends {
                    Ends::Terminating => false,
                    Ends::Stuck => reads.iter().all(newest),
                    Ends::Cut => true,
                }
            }
            TraceEnd::Bound { .. } | TraceEnd::Wild { .. } => {
                cut += 1;
                ends == Ends::Cut
            }
        };
        if !fits {
            return Err(Mismatch::End(trace.thread));
        }
    }
    match ends {
        Ends::Stuck if stuck == 0 => Err(Mismatch::End(ThreadId(0))),
        Ends::Cut if cut == 0 => Err(Mismatch::End(ThreadId(0))),
        _ => Ok(()),
    }
}

/// Every final state of an execution: one per choice of a co-maximal write at each location.
pub fn final_states(unfolding: &Unfolding, execution: &Execution) -> Vec<FinalState> {
    states(unfolding, execution, |_| true)
}

/// The same, with one choice at each location that does not matter: there may be as many states as combinations.
fn states(unfolding: &Unfolding, execution: &Execution, matters: impl Fn(LocationId) -> bool) -> Vec<FinalState> {
    let values = Valuation::new(unfolding, &execution.events, &execution.rf, Some(&execution.barriers));
    let register = |expression| values.evaluate(expression).unwrap_or_default();
    let registers: Vec<Vec<Value>> = (execution.traces.iter())
        .map(|trace| unfolding.traces[trace.index()].registers.iter().map(register).collect())
        .collect();
    let followed: SortedSet<EventId> = execution.co.iter().map(|(from, _)| *from).collect();
    let mut memories: Vec<Vec<Value>> = vec![Vec::new()];
    for index in 0..unfolding.locations.len() {
        let last: SortedSet<Value> = (execution.events.iter())
            .filter(|id| {
                let event = &unfolding.events[id.index()];
                has(event, Tag::Write) && location(event) == Some(LocationId::new(index))
            })
            .filter(|id| !followed.contains(id))
            .map(|id| values.of(*id).unwrap_or_default())
            .chain(unfolding.locations.get(index).filter(|info| info.is_untouched).map(|info| info.initial))
            .collect();
        let choices = if matters(LocationId::new(index)) { last.len() } else { 1 };
        let last: Vec<Value> = last.into_iter().take(choices).collect();
        memories = (memories.iter())
            .flat_map(|memory| last.iter().map(move |value| memory.iter().copied().chain([*value]).collect()))
            .collect();
    }
    memories.into_iter().map(|memory| FinalState { registers: registers.clone(), memory }).collect()
}

/// Whether the threads end as the goal says and a final state satisfies its conditions.
pub(crate) fn meets_goal(unfolding: &Unfolding, execution: &Execution, goal: &Goal<'_>) -> bool {
    check_ends(unfolding, execution, goal.ends).is_ok() && meets(unfolding, execution, goal)
}

/// Whether one final state satisfies both the filter and the condition.
fn meets(unfolding: &Unfolding, execution: &Execution, goal: &Goal<'_>) -> bool {
    if goal.filter.is_none() && goal.condition.is_none() {
        return true;
    }
    let asked: SortedSet<Term> = goal.filter.into_iter().chain(goal.condition).flat_map(Condition::terms).collect();
    let matters = |location| asked.contains(&Term::Memory(location));
    states(unfolding, execution, matters).iter().any(|state| {
        let holds = |condition: &Condition| condition.evaluate(&mut |term| Some(value_of(state, term))) == Some(true);
        goal.filter.is_none_or(holds) && goal.condition.is_none_or(holds)
    })
}

fn value_of(state: &FinalState, term: &Term) -> Value {
    let found = match term {
        Term::Constant(value) => Some(*value),
        Term::Register(thread, register) => {
            state.registers.get(thread.index()).and_then(|registers| registers.get(register.index())).copied()
        }
        Term::Memory(location) => state.memory.get(location.index()).copied(),
    };
    found.unwrap_or_default()
}
