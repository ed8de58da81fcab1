//! The states that a crash may leave, execution by execution ([`fencepost_axiom::crash`]).

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fencepost_axiom::base::Candidate;
use fencepost_axiom::bits::{kernel, ones};
use fencepost_axiom::crash::literal::{Crash, Pairs};
use fencepost_axiom::crash::{Cell, Crashes, Left, Relations, Role};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::{Model, NodeId};
use fencepost_axiom::watch::Watch;
use fencepost_program::EventId;
use fencepost_program::program::{Condition, Program, Term};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{EventKind, Trace, TraceEnd, Unfolding};
use fencepost_program::value::Value;
use fencepost_program::value::expression::Leaf;
use fencepost_syntax::sorted::SortedSet;

use crate::look::outcome::Reader;
use crate::look::relations::RelationEvaluator;

/// By term: its value. A register that was not computed yet has none.
pub type CrashState = Vec<Option<Value>>;

/// The relations of a model that crashes look at.
#[derive(Clone, Debug)]
pub struct CrashModel {
    model: Model,
    /// In the order of [`Role::ALL`].
    nodes: [NodeId; 3],
}

impl CrashModel {
    /// None if the model does not show all of them.
    pub fn new(model: &Model) -> Option<CrashModel> {
        let node = |role: Role| model.shown.iter().find(|(name, _)| name == role.name()).map(|(_, node)| *node);
        let [prefix, persists, durable] = Role::ALL.map(node);
        Some(CrashModel { model: model.unchecked(), nodes: [prefix?, persists?, durable?] })
    }

    /// Gives up when the watch says so.
    pub fn evaluator<'m>(&'m self, watch: &Watch<'m>) -> CrashEvaluator<'m> {
        let evaluator = RelationEvaluator::new(&self.model, &self.nodes).watched(watch.clone());
        CrashEvaluator { evaluator, watch: watch.clone(), nodes: self.nodes }
    }
}

/// What a crash state is told by: all persistent memory, and the registers that questions about crashes ask for.
pub fn terms(program: &Program) -> Vec<Term> {
    let asked = program.crash.questions.iter().flat_map(|question| question.condition.terms());
    let registers: SortedSet<Term> = asked.filter(|term| matches!(term, Term::Register(..))).collect();
    program.persistent().map(Term::Memory).chain(registers).collect()
}

/// Whether a condition holds in a crash state. What compares with a register without a value is false.
pub fn holds(condition: &Condition, terms: &[Term], state: &[Option<Value>]) -> bool {
    condition.holds_of_defined(&mut |term| terms.iter().position(|own| own == term).and_then(|at| *state.get(at)?))
}

/// A term of a crash state in one execution: what decides its value.
enum Told {
    /// The persists of a location, with what each leaves, and its initial value.
    Memory { persists: Vec<EventId>, initial: Value },
    /// The events that must have happened, and the value then.
    Register { events: Vec<EventId>, value: Value },
    /// A register that the thread never gets to.
    Unset,
}

/// The terms of an execution.
struct Terms {
    told: Vec<Told>,
}

impl Terms {
    /// None if a term has no value, which is a defect of the execution.
    fn new(unfolding: &Unfolding, execution: &Execution, terms: &[Term]) -> Option<Terms> {
        let reader = Reader::new(unfolding, execution);
        let is_beginning = is_beginning(unfolding, execution);
        let told = terms.iter().map(|term| match term {
            Term::Constant(_) => None,
            Term::Memory(location) => {
                let is_own = |event: &&EventId| match unfolding.events.get(event.index()).map(|event| &event.kind) {
                    Some(EventKind::Write { location: own, .. }) => own == location,
                    _ => false,
                };
                let is_persist = |event: &&EventId| is_persist(unfolding, **event);
                let persists = execution.events.iter().filter(is_own).filter(is_persist).copied().collect();
                let initial = reader.value(unfolding.locations.get(location.index())?.init)?;
                Some(Told::Memory { persists, initial })
            }
            Term::Register(thread, register) => {
                let trace = execution.traces.get(thread.index())?;
                let trace = unfolding.traces.get(trace.index())?;
                // What it holds in the end is not known.
                if is_beginning && !has_ended(trace) {
                    return Some(Told::Unset);
                }
                let expression = trace.registers.get(register.index())?;
                let mut leaves = Vec::new();
                expression.leaves(&mut leaves);
                let reads = leaves.iter().map(|leaf| match leaf {
                    Leaf::Read(event) | Leaf::BarrierResult(event) => *event,
                });
                let mut events: Vec<EventId> = reads.collect();
                // What no read gives is there when the thread has done all it does. One that waits for good never has.
                if events.is_empty() {
                    if trace.end != TraceEnd::Exit {
                        return Some(Told::Unset);
                    }
                    events.clone_from(&trace.events);
                }
                Some(Told::Register { events, value: reader.evaluate(expression)? })
            }
        });
        Some(Terms { told: told.collect::<Option<Vec<Told>>>()? })
    }

    fn cells(&self, candidate: &Candidate) -> Option<Vec<Cell>> {
        let places =
            |events: &[EventId]| events.iter().map(|event| candidate.local(*event)).collect::<Option<Vec<_>>>();
        let cell = |told: &Told| match told {
            Told::Memory { persists, .. } => Some(Cell::Memory { persists: places(persists)? }),
            Told::Register { events, .. } => Some(Cell::Register { events: places(events)? }),
            // Nothing to choose from.
            Told::Unset => Some(Cell::Memory { persists: Vec::new() }),
        };
        self.told.iter().map(cell).collect()
    }

    /// The value of a term that takes it from this event, or has it; None: from none, or not.
    fn value(&self, reader: &Reader<'_>, at: usize, picked: Option<EventId>) -> Option<Value> {
        match (&self.told[at], picked) {
            (Told::Memory { initial, .. }, None) => Some(*initial),
            (Told::Memory { .. }, Some(persist)) => reader.value(persist),
            (Told::Register { value, .. }, Some(_)) => Some(*value),
            (Told::Register { .. }, None) | (Told::Unset, _) => None,
        }
    }
}

/// Whether an execution is only the beginning of one: a bound cut a thread.
pub fn is_beginning(unfolding: &Unfolding, execution: &Execution) -> bool {
    let mut traces = execution.traces.iter().filter_map(|trace| unfolding.traces.get(trace.index()));
    traces.any(|trace| trace.end.is_cut())
}

fn has_ended(trace: &Trace) -> bool {
    matches!(trace.end, TraceEnd::Exit | TraceEnd::NotStarted)
}

/// Whether a term has its value in a crash of an execution, or none, however the threads go on that were cut or wait. The others
/// may have another value in the end than they have where a beginning ends.
pub fn is_settled(unfolding: &Unfolding, execution: &Execution, term: &Term) -> bool {
    let Term::Register(thread, _) = term else { return true };
    let trace = execution.traces.get(thread.index()).and_then(|trace| unfolding.traces.get(trace.index()));
    !is_beginning(unfolding, execution) || trace.is_some_and(has_ended)
}

pub fn is_persist(unfolding: &Unfolding, event: EventId) -> bool {
    let event = unfolding.events.get(event.index());
    event.is_some_and(|event| event.is_write() && event.has(Tag::Persistent) && !event.has(Tag::Init))
}

/// Gets a state, and how a crash leaves it.
pub type Visit<'v> = dyn FnMut(&CrashState, &dyn Fn() -> Crash) -> ControlFlow<()> + 'v;

pub struct CrashEvaluator<'m> {
    evaluator: RelationEvaluator<'m>,
    watch: Watch<'m>,
    nodes: [NodeId; 3],
}

impl CrashEvaluator<'_> {
    /// The states that crashes leave of an execution, each once and with a crash that leaves it, until the visitor has seen
    /// enough or the watch ends it: it remembers that then. None if a term has no value.
    pub fn each_state(
        &mut self,
        unfolding: &Unfolding,
        execution: &Execution,
        terms: &[Term],
        visit: &mut Visit<'_>,
    ) -> Option<ControlFlow<()>> {
        const SELDOM: u32 = 1024;
        self.evaluator.evaluate(unfolding, execution);
        if self.watch.ended().is_some() {
            return Some(ControlFlow::Break(()));
        }
        let candidate = self.evaluator.candidate();
        let mut co = vec![0; candidate.shape.matrix()];
        for &(from, to) in &execution.co {
            if let (Some(from), Some(to)) = (candidate.local(from), candidate.local(to)) {
                kernel::relate(candidate.shape, &mut co, from, to);
            }
        }
        let [prefix, persists, durable] = self.nodes.map(|node| self.evaluator.relation(node));
        let crashes = Crashes::new(&Relations { shape: candidate.shape, prefix, persists, durable, co: &co });
        let told = Terms::new(unfolding, execution, terms)?;
        let (cells, reader) = (told.cells(candidate)?, Reader::new(unfolding, execution));
        let event = |place: usize| candidate.events.get(place).copied();
        let events = |bits: &[u64]| ones(bits).filter_map(event).collect::<SortedSet<EventId>>();
        let mut seen = BTreeSet::new();
        let (mut steps, mut held) = (0u32, 0u64);
        Some(crashes.each(&cells, &mut |left: &Left<'_>| {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(SELDOM) && self.watch.is_over() {
                return ControlFlow::Break(());
            }
            let picked = left.picked.iter().enumerate();
            let state: CrashState =
                picked.map(|(at, picked)| told.value(&reader, at, picked.and_then(event))).collect();
            if seen.contains(&state) {
                return ControlFlow::Continue(());
            }
            visit(&state, &|| Crash { happened: events(left.happened), durable: events(left.durable) })?;
            held += bytes(&state);
            seen.insert(state);
            if self.watch.is_too_much(held) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }))
    }
}

/// What a state takes to keep, roughly.
pub fn bytes(state: &CrashState) -> u64 {
    (state.len() * size_of::<Option<Value>>()) as u64 + 64
}

/// The states that one crash may leave, by its definition: one unless a location has several last writes.
pub fn left_by(
    unfolding: &Unfolding,
    execution: &Execution,
    terms: &[Term],
    pairs: &Pairs,
    crash: &Crash,
) -> Option<Vec<CrashState>> {
    let (told, reader) = (Terms::new(unfolding, execution, terms)?, Reader::new(unfolding, execution));
    let mut states: Vec<CrashState> = vec![Vec::new()];
    for (at, term) in told.told.iter().enumerate() {
        let picked: Vec<Option<EventId>> = match term {
            Told::Memory { persists, .. } => pairs.last(crash, persists),
            Told::Register { events, .. } => {
                let has_happened = events.iter().all(|event| crash.happened.contains(event));
                // Which event does not matter.
                vec![has_happened.then_some(EventId(0))]
            }
            Told::Unset => vec![None],
        };
        let grow = |state: &CrashState| {
            let value = |picked: &Option<EventId>| told.value(&reader, at, *picked);
            let grown =
                picked.iter().map(|picked| state.iter().copied().chain([value(picked)]).collect::<CrashState>());
            grown.collect::<Vec<_>>()
        };
        states = states.iter().flat_map(grow).collect();
    }
    Some(states)
}

#[cfg(test)]
mod tests {
    use fencepost_syntax::Source;

    use crate::{Models, Options, check, load};

    /// The register once had the value it begins with, 0, as if the load had returned it.
    #[test]
    fn a_register_that_a_waiting_thread_never_sets_has_no_value() {
        let text = "PTX t\n{ nvm x = 7; f = 0; }\nP0@cta 0 {\nL: ld.relaxed.gpu.u32 %r1, [f]; setp.ne.u32 %p1, %r1, 1; \
                    @%p1 bra L;\nld.relaxed.gpu.u32 %r2, [x];\n}\ncrash exists (P0:%r2 = 0)\n";
        let test = load(&Source::new("t.litmus", text)).0.remove(0);
        let report = check(&test, &Models::shipped("sbrp").expect("shipped"), &Options::default()).report;
        let crashes = report.crashes.expect("an answer about crashes");
        assert_eq!(crashes.questions[0].verdict.word(), "Violated");
        assert!(crashes.states.iter().all(|left| left.values.to_string() == "x=7"), "{:?}", crashes.states);
    }
}
