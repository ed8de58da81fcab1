//! Engines against the oracle and against each other: the same executions, the same outcomes, the same answers to
//! questions, and every execution well formed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use fencepost_axiom::engine::brute::Brute;
use fencepost_axiom::engine::enumerate::{Enumerate, EnumerateNarrowing};
use fencepost_axiom::engine::sat::Sat;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity, Observed, Raised, Stop};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::compile::{Options, compile, compile_text};
use fencepost_axiom::model::{self, CheckId, Coherence, Model};
use fencepost_axiom::replay::{Includes, Replay, check_execution, final_states};
use fencepost_program::program::{Condition, Feature, Program, Term};
use fencepost_program::unfold::{UnfoldError, UnfoldOptions};
use fencepost_program::unfolding::{BarrierMatching, FinalState, Trace, TraceEnd, Unfolding};
use fencepost_program::value::Value;
use fencepost_program::{EventId, TraceId};
use fencepost_syntax::litmus::Arch;
use fencepost_syntax::{Source, cat, litmus};

use super::program::Test;

/// How many candidates the oracle may look at per question.
const CANDIDATES: u64 = 6_000;
/// How many executions two models are compared on.
const MOST_EXECUTIONS: usize = 400;
const NO_LIMITS: Limits<'static> = Limits { deadline: None, memory: None, cancelled: None, work: None };

type Pairs = Vec<(EventId, EventId)>;
/// What makes two executions the same.
type Key = (Vec<TraceId>, Pairs, Pairs, Pairs, BarrierMatching);

/// A model in both forms.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    cat: cat::Model,
    includes: Includes,
    variants: BTreeSet<String>,
    model: Model,
}

impl Subject {
    pub(crate) fn shipped(name: &'static str) -> Subject {
        let text = model::shipped(name).expect("a shipped model");
        let (cat, diagnostics) = cat::parse(text);
        assert!(diagnostics.iter().all(|found| !found.is_error()), "{name}: {diagnostics:?}");
        let compilation = compile_text(name, text);
        let model = compilation.model.expect("a shipped model compiles");
        Subject { name, cat, includes: Includes::new(), variants: BTreeSet::new(), model }
    }

    /// A model whose two forms differ: what the comparison must find.
    pub(crate) fn mixed(name: &'static str, compiled_as: &'static str) -> Subject {
        Subject { model: Subject::shipped(compiled_as).model, ..Subject::shipped(name) }
    }

    /// A model that is not shipped.
    pub(crate) fn of_text(name: &'static str, text: &str) -> Subject {
        let (cat, diagnostics) = cat::parse(text);
        assert!(diagnostics.iter().all(|found| !found.is_error()), "{name}: {diagnostics:?}");
        let model = compile_text(name, text).model.expect("a model that compiles");
        Subject { name, cat, includes: Includes::new(), variants: BTreeSet::new(), model }
    }

    /// The model `ptx` for programs of the newest version. Tests take its text from [`model::shipped`], which has the parts of
    /// the model in one piece.
    pub(crate) fn ptx() -> Subject {
        Subject::with_variants("ptx", model::shipped("ptx").expect("a shipped model"), &["9.4"])
    }

    /// With these variants on.
    pub(crate) fn with_variants(name: &'static str, text: &str, variants: &[&str]) -> Subject {
        let variants: BTreeSet<String> = variants.iter().map(|variant| (*variant).to_owned()).collect();
        let options = Options { variants: variants.clone(), ..Options::default() };
        let compilation = compile(Source::new(name, text), &options, &mut |_| None);
        let model = compilation.model.expect("a model that compiles");
        Subject { name, cat: cat::parse(text).0, includes: Includes::new(), variants, model }
    }

    /// The one's text with the other's compiled form: what the comparison must find.
    pub(crate) fn compiled_as(self, other: Subject) -> Subject {
        Subject { model: other.model, ..self }
    }

    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    fn takes(&self, program: &Program) -> bool {
        let proxies = program.features.iter().any(|feature| feature.node == Feature::Proxy);
        let x86 = program.arch != Arch::Ptx;
        match self.name {
            "x86-tso" => x86,
            "ptx-6.0" => !x86 && !proxies,
            "ptx-7.5" | "ptx" => !x86,
            _ => !proxies,
        }
    }
}

/// Which part failed: shrinking must not turn one failure into another.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    FrontEnd,
    Engines,
}

#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) stage: Stage,
    pub(crate) message: String,
}

/// What was compared, so that a run that compares nothing cannot pass.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tally {
    pub(crate) programs: u64,
    /// Programs the front end has no meaning for.
    pub(crate) refused: u64,
    pub(crate) models: BTreeMap<&'static str, Counts>,
}

#[derive(Copy, Clone, Default, Debug)]
pub(crate) struct Counts {
    /// Searches in which both engines were compared with the oracle: terminating and stuck executions of each program.
    pub(crate) compared: u64,
    pub(crate) executions: u64,
    pub(crate) stuck: u64,
    pub(crate) reachable: u64,
    /// Pairs of events that raise a flag, found by searching for it.
    pub(crate) races: u64,
    /// Searches the oracle gave up: too many candidates.
    pub(crate) too_large: u64,
    /// Searches that end without an answer by right: cut at the unrolling bound, or out of thin air.
    pub(crate) cut: u64,
    /// Searches that one of the engines says it cannot do.
    pub(crate) declined: u64,
}

impl Tally {
    /// One line per model.
    pub(crate) fn summary(&self) -> String {
        let mut text = format!("{} programs ({} refused)", self.programs, self.refused);
        for (name, counts) in &self.models {
            let Counts { compared, executions, stuck, reachable, races, too_large, cut, declined } = counts;
            let rate = 100.0 * *too_large as f64 / (compared + too_large + cut).max(1) as f64;
            text.push_str(&format!(
                "\n{name}: {compared} searches compared, {executions} executions, {stuck} with stuck ones, \
                 {reachable} reachable questions, {races} racy pairs, {too_large} given up ({rate:.1} %), {cut} cut, {declined} declined by one engine"
            ));
        }
        text
    }
}

/// None if the front end has no meaning for part of it.
pub(crate) fn front_end(text: &str, bound: u32) -> Result<Option<(Program, Unfolding)>, String> {
    let (tree, diagnostics) = litmus::parse(text);
    if let Some(wrong) = diagnostics.iter().find(|found| found.is_error()) {
        return Err(format!("does not parse: {} at {:?}", wrong.message, wrong.span));
    }
    let Some(tree) = tree else {
        return Err("does not parse".to_string());
    };
    let (program, diagnostics) = fencepost_program::lower::lower(&tree);
    let Some(program) = program else {
        return Err(format!("does not lower: {diagnostics:?}"));
    };
    if !program.unsupported.is_empty() {
        return Ok(None);
    }
    let options = UnfoldOptions { bound, ..UnfoldOptions::default() };
    match fencepost_program::unfold::unfold(&program, &options) {
        Ok(unfolding) => Ok(Some((program, unfolding))),
        Err(UnfoldError::BarrierOperand { .. } | UnfoldError::MixedSize { .. }) => Ok(None),
        Err(stop) => Err(format!("does not unfold: {stop:?}")),
    }
}

/// Compares everything about one program; the error says what differs.
pub(crate) fn compare(test: &Test, subjects: &[Subject], tally: &mut Tally) -> Result<(), Failure> {
    compare_text(&test.text(), subjects, tally)
}

pub(crate) fn compare_text(text: &str, subjects: &[Subject], tally: &mut Tally) -> Result<(), Failure> {
    tally.programs += 1;
    let found = front_end(text, 2).map_err(|message| Failure { stage: Stage::FrontEnd, message })?;
    let Some((program, unfolding)) = found else {
        tally.refused += 1;
        return Ok(());
    };
    let condition = program.questions.first().map(|question| question.condition.clone());
    let condition = condition.unwrap_or(Condition::True);
    let filter = program.filter.as_ref().map(|filter| &filter.node);
    for subject in subjects.iter().filter(|subject| subject.takes(&program)) {
        let counts = tally.models.entry(subject.name).or_default();
        for ends in [Ends::Terminating, Ends::Stuck, Ends::Cut] {
            let run = Run { subject, unfolding: &unfolding, ends, filter };
            let message = |why: String| format!("{}, {ends:?}: {why}", subject.name);
            run.compare(&condition, counts).map_err(|why| Failure { stage: Stage::Engines, message: message(why) })?;
        }
    }
    Ok(())
}

/// What two models agree on.
pub(crate) struct Same {
    pub(crate) executions: u64,
    pub(crate) races: u64,
}

/// Whether two models allow the same executions of one program and see the same races in them. None if the program has no
/// meaning, or more executions than are looked at.
pub(crate) fn same_under(text: &str, one: &Subject, other: &Subject) -> Result<Option<Same>, Failure> {
    let found = front_end(text, 2).map_err(|message| Failure { stage: Stage::FrontEnd, message })?;
    let Some((program, unfolding)) = found else { return Ok(None) };
    let filter = program.filter.as_ref().map(|filter| &filter.node);
    let engines = |message: String| Failure { stage: Stage::Engines, message };
    let run = |subject| Run { subject, unfolding: &unfolding, ends: Ends::Terminating, filter };
    let (ours, theirs) = (run(one), run(other));
    let (found, end) = ours.collect(&Enumerate, &ours.goal());
    if end != Exploration::Complete || found.len() > MOST_EXECUTIONS {
        return Ok(None);
    }
    theirs.same_executions(other.name, &Enumerate, &theirs.goal(), &found).map_err(engines)?;
    let mut races = 0;
    for execution in &found {
        let pairs = ours.raised(execution, "data-race").map_err(engines)?;
        let others = theirs.raised(execution, "data-race").map_err(engines)?;
        if pairs != others {
            return Err(engines(format!("{} races at {pairs:?}, {} at {others:?}", one.name, other.name)));
        }
        races += pairs.len() as u64;
    }
    Ok(Some(Same { executions: found.len() as u64, races }))
}

/// Compares everything about the executions that end of an unfolding made otherwise.
pub(crate) fn compare_unfolding(
    unfolding: &Unfolding,
    condition: &Condition,
    subject: &Subject,
    tally: &mut Tally,
) -> Result<(), Failure> {
    tally.programs += 1;
    let counts = tally.models.entry(subject.name).or_default();
    let run = Run { subject, unfolding, ends: Ends::Terminating, filter: None };
    run.compare(condition, counts).map_err(|message| Failure { stage: Stage::Engines, message })
}

struct Run<'r> {
    subject: &'r Subject,
    unfolding: &'r Unfolding,
    ends: Ends,
    filter: Option<&'r Condition>,
}

impl<'r> Run<'r> {
    fn goal(&self) -> Goal<'r> {
        Goal { filter: self.filter, ..Goal::new(self.ends) }
    }
}

impl Run<'_> {
    fn compare(&self, condition: &Condition, counts: &mut Counts) -> Result<(), String> {
        let Subject { cat, includes, variants, .. } = self.subject;
        let brute = Brute { cat, includes, variants, candidates: CANDIDATES };
        let everything = self.goal();
        let (truth, end) = self.collect(&brute, &everything);
        if end != Exploration::Complete {
            return self.bystander(&end, counts);
        }
        counts.compared += 1;
        counts.executions += truth.len() as u64;
        counts.stuck += u64::from(self.ends == Ends::Stuck && !truth.is_empty());
        for engine in engines() {
            if self.declines(&*engine) {
                counts.declined += 1;
                continue;
            }
            self.same_executions(engine.name(), &*engine, &everything, &truth)?;
            for asked in [condition.clone(), Condition::Not(Box::new(condition.clone()))] {
                let expected = truth.iter().any(|one| self.satisfies(one, &asked));
                counts.reachable += u64::from(expected);
                self.same_answer(&*engine, &asked, expected)?;
            }
            if engine.name() != Sat.name() {
                self.same_weights(&*engine, condition, &truth)?;
            }
            // One search per racy pair: a part of the programs is enough.
            if counts.compared.is_multiple_of(4) || self.subject.name == "ptx" {
                counts.races += self.same_races(&*engine, &truth)?;
            }
        }
        Ok(())
    }

    /// Whether the engine says that it cannot answer: a form it does not take, or a run cut at the unrolling bound whose
    /// impossibility it does not see. Both are honest, and counted.
    fn declines(&self, engine: &dyn Engine) -> bool {
        let is_cut = |trace: &Trace| matches!(trace.end, TraceEnd::Bound { .. });
        match self.collect(engine, &self.goal()).1 {
            Exploration::Incomplete(Stop::Unsupported { .. }) => true,
            Exploration::Incomplete(Stop::Bound(_)) => self.unfolding.traces.iter().any(is_cut),
            _ => false,
        }
    }

    /// The oracle gave up: only its reasons that the engines share can be compared.
    fn bystander(&self, end: &Exploration, counts: &mut Counts) -> Result<(), String> {
        let Exploration::Incomplete(Stop::Bound(_) | Stop::ThinAir) = end else {
            counts.too_large += 1;
            return Ok(());
        };
        counts.cut += 1;
        for engine in engines() {
            let (_, found) = self.collect(&*engine, &self.goal());
            if !matches!(found, Exploration::Incomplete(_)) {
                return Err(format!("{} says {found:?}, the oracle {end:?}", engine.name()));
            }
        }
        Ok(())
    }

    fn collect(&self, engine: &dyn Engine, goal: &Goal<'_>) -> (Vec<Execution>, Exploration) {
        let mut found = Vec::new();
        let end = engine.explore(self.unfolding, &self.subject.model, goal, &NO_LIMITS, &mut |execution| {
            found.push(execution.clone());
            ControlFlow::Continue(())
        });
        (found, end)
    }

    fn check(&self, engine: &str, execution: &Execution, goal: &Goal<'_>) -> Result<(), String> {
        let coherence: &Coherence = &self.subject.model.coherence;
        check_execution(self.unfolding, execution, goal, coherence, self.subject.model.fence_order())
            .map_err(|mismatch| format!("{engine} reports an execution that is none: {mismatch}\n{execution:?}"))
    }

    fn same_executions(
        &self,
        name: &str,
        engine: &dyn Engine,
        goal: &Goal<'_>,
        truth: &[Execution],
    ) -> Result<(), String> {
        let (found, end) = self.collect(engine, goal);
        if end != Exploration::Complete {
            return Err(format!("{name} ends with {end:?}, the oracle is complete"));
        }
        for execution in &found {
            self.check(name, execution, goal)?;
            if execution.weight != 1 {
                return Err(format!("{name} gives weight {} with everything observed", execution.weight));
            }
        }
        let (ours, theirs) = (keys(truth), keys(&found));
        if ours == theirs {
            return Ok(());
        }
        let missing = truth.iter().find(|one| theirs.get(&key(one)) < ours.get(&key(one)));
        let extra = found.iter().find(|one| ours.get(&key(one)) < theirs.get(&key(one)));
        Err(format!(
            "{name} finds {} executions, the oracle {}\nmissing: {missing:?}\nextra: {extra:?}",
            found.len(),
            truth.len()
        ))
    }

    /// With only the terms of the condition observed, symmetric executions may be merged but not lost.
    fn same_weights(&self, engine: &dyn Engine, condition: &Condition, truth: &[Execution]) -> Result<(), String> {
        let terms = condition.terms();
        let goal = Goal { observed: Observed::Terms(&terms), ..self.goal() };
        let (found, end) = self.collect(engine, &goal);
        let weight: u64 = found.iter().map(|one| one.weight).sum();
        if end != Exploration::Complete || weight != truth.len() as u64 {
            return Err(format!("weights add up to {weight}, the oracle finds {} ({end:?})", truth.len()));
        }
        let (ours, theirs) = (self.histogram(truth, &terms), self.histogram(&found, &terms));
        if ours != theirs {
            return Err(format!("outcomes differ: the oracle has {ours:?}, the engine {theirs:?}"));
        }
        Ok(())
    }

    /// Searching for a flag, again and again beyond the pairs found, finds every pair that raises it in some execution.
    fn same_races(&self, engine: &dyn Engine, truth: &[Execution]) -> Result<u64, String> {
        let mut total = 0;
        for (index, check) in self.subject.model.checks.iter().enumerate() {
            if check.role != cat::CheckRole::Flag {
                continue;
            }
            let flag = CheckId(index as u32);
            let mut expected = BTreeSet::new();
            for execution in truth {
                expected.extend(self.raised(execution, &check.name)?);
            }
            let mut found: BTreeSet<(EventId, EventId)> = BTreeSet::new();
            loop {
                let beyond: Vec<(EventId, EventId)> = found.iter().copied().collect();
                let raised = Some(Raised { flag, beyond: &beyond });
                let goal = Goal { raised, multiplicity: Multiplicity::First, ..self.goal() };
                let mut witness = None;
                let end = engine.explore(self.unfolding, &self.subject.model, &goal, &NO_LIMITS, &mut |execution| {
                    witness = Some(execution.clone());
                    ControlFlow::Break(())
                });
                let Some(witness) = witness else {
                    if end != Exploration::Complete {
                        return Err(format!("{} looks for `{}` and ends with {end:?}", engine.name(), check.name));
                    }
                    break;
                };
                self.check(engine.name(), &witness, &goal)?;
                let before = found.len();
                found.extend(self.raised(&witness, &check.name)?);
                if found.len() == before {
                    return Err(format!(
                        "{} finds `{}` where it is not raised: {witness:?}",
                        engine.name(),
                        check.name
                    ));
                }
            }
            if found != expected {
                let name = engine.name();
                return Err(format!("{name} finds `{}` at {found:?}, the oracle at {expected:?}", check.name));
            }
            total += found.len() as u64;
        }
        Ok(total)
    }

    /// The pairs that raise a flag in an execution; an error if the model refuses it.
    fn raised(&self, execution: &Execution, flag: &str) -> Result<BTreeSet<(EventId, EventId)>, String> {
        let Subject { cat, includes, variants, .. } = self.subject;
        let replay = Replay::with_variants(cat, includes, variants, self.unfolding);
        let judged = replay.and_then(|replay| replay.judge(execution));
        let judgement = judged.ok().filter(|judgement| judgement.violated.is_empty());
        let judgement = judgement.ok_or_else(|| format!("replay refuses {execution:?}"))?;
        let pairs = judgement.flags.iter().filter(|(name, _)| name == flag).flat_map(|(_, pairs)| pairs);
        Ok(pairs.map(|&(from, to)| (EventId(from), EventId(to))).collect())
    }

    /// How many executions allow each outcome of the terms.
    fn histogram(&self, executions: &[Execution], terms: &[Term]) -> BTreeMap<Vec<Value>, u64> {
        let mut histogram = BTreeMap::new();
        for execution in executions {
            let states = final_states(self.unfolding, execution);
            let kept = |state: &&FinalState| {
                let holds = |filter: &Condition| filter.evaluate(&mut |term| Some(value(state, term))) == Some(true);
                self.filter.is_none_or(holds)
            };
            let outcomes: BTreeSet<Vec<Value>> =
                states.iter().filter(kept).map(|state| terms.iter().map(|term| value(state, term)).collect()).collect();
            for outcome in outcomes {
                *histogram.entry(outcome).or_default() += execution.weight;
            }
        }
        histogram
    }

    fn satisfies(&self, execution: &Execution, condition: &Condition) -> bool {
        let states = final_states(self.unfolding, execution);
        let holds = |state: &FinalState, condition: &Condition| {
            condition.evaluate(&mut |term| Some(value(state, term))) == Some(true)
        };
        states.iter().any(|state| holds(state, condition) && self.filter.is_none_or(|filter| holds(state, filter)))
    }

    fn same_answer(&self, engine: &dyn Engine, condition: &Condition, expected: bool) -> Result<(), String> {
        let goal = Goal { condition: Some(condition), multiplicity: Multiplicity::First, ..self.goal() };
        let mut witness = None;
        let end = engine.explore(self.unfolding, &self.subject.model, &goal, &NO_LIMITS, &mut |execution| {
            witness = Some(execution.clone());
            ControlFlow::Break(())
        });
        let name = engine.name();
        let fits = match &witness {
            Some(_) => end == Exploration::Stopped,
            None => end == Exploration::Complete,
        };
        if !fits || witness.is_some() != expected {
            let answer = if witness.is_some() { "reachable" } else { "unreachable" };
            return Err(format!(
                "{name} says {answer} ({end:?}), the oracle expects reachable={expected}: {condition:?}"
            ));
        }
        let Some(witness) = witness else { return Ok(()) };
        self.check(name, &witness, &goal)?;
        let Subject { cat, includes, variants, .. } = self.subject;
        let judged = Replay::with_variants(cat, includes, variants, self.unfolding);
        match judged.and_then(|replay| replay.judge(&witness)) {
            Ok(judgement) if judgement.violated.is_empty() => Ok(()),
            other => Err(format!("{name} reports a witness that replay refuses: {other:?}\n{witness:?}")),
        }
    }
}

/// The engines that answer questions.
fn engines() -> Vec<Box<dyn Engine>> {
    vec![Box::new(Enumerate), Box::new(EnumerateNarrowing), Box::new(Sat)]
}

fn key(execution: &Execution) -> Key {
    let Execution { traces, rf, co, sync_fence, barriers, .. } = execution.clone();
    (traces, rf, co, sync_fence, barriers)
}

fn keys(executions: &[Execution]) -> BTreeMap<Key, u64> {
    let mut counted = BTreeMap::new();
    for execution in executions {
        *counted.entry(key(execution)).or_default() += 1;
    }
    counted
}

fn value(state: &FinalState, term: &Term) -> Value {
    match term {
        Term::Constant(value) => *value,
        Term::Register(thread, register) => state.registers[thread.index()][register.index()],
        Term::Memory(location) => state.memory[location.index()],
    }
}
