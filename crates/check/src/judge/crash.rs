//! Questions about crashes. Every consistent execution is looked at, those that end and those that never do: a crash may come
//! at any point of either, and a run that has come so far goes on to be one of them. A crash that is shown is tested against the
//! definition by the independent evaluator; where nothing is found in a small test, the executions of the other engine
//! are gone through by the definition.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use fencepost_axiom::crash::literal::{self, Crash};
use fencepost_axiom::engine::{Ends, Exploration, Goal, Multiplicity, Observed, Stop};
use fencepost_axiom::execution::Execution;
use fencepost_program::EventId;
use fencepost_program::program::{Condition, Program, Term};
use fencepost_program::unfolding::Unfolding;
use fencepost_report::Count;
use fencepost_report::answer::Answer;
use fencepost_report::why::Why;

use crate::judge::found::{CrashAnswers, Crashed, Shown};
use crate::judge::question::looked_for_in_crash;
use crate::look::crash::{self, CrashState, holds, is_persist, left_by};
use crate::look::executions::EngineName;
use crate::look::race_search;
use crate::look::replayer::Replayer;
use crate::look::search::{Searcher, why_open};
use crate::model::load::LoadedModel;
use crate::options::{CROSS_CHECK_BITS, CrossCheck, Outcomes};
use crate::session::Session;

/// How many prefixes and durable sets are gone through by the definition, in all executions of a test.
const MOST_LITERAL: u64 = 20_000;

/// Whether anything about crashes is to be answered.
pub fn is_asked(program: &Program) -> bool {
    let asks = !program.crash.questions.is_empty() || program.crash.recovery.is_some();
    asks || program.questions.is_empty() && program.persistent().next().is_some()
}

/// The answers about crashes, if something is asked.
pub fn answers(session: &Session<'_>, unfolding: &Arc<Unfolding>) -> Option<CrashAnswers> {
    let program = session.program;
    if !is_asked(program) || !session.options.questions.is_yes() {
        return None;
    }
    let terms = crash::terms(program);
    let conditions: Vec<Condition> = program.crash.questions.iter().map(looked_for_in_crash).collect();
    let search = Search::new(session, unfolding, &terms, &conditions);
    let answers = search.run();
    Some(CrashAnswers { terms, ..answers })
}

/// The execution is one, and the crash is one of it that leaves this state, by another evaluator and the definition.
pub fn confirm(model: &LoadedModel, terms: &[Term], crashed: &Crashed) -> Result<(), String> {
    let Crashed { shown: Shown { execution, of }, crash, state } = crashed;
    let replayer = Replayer::new(model, of).map_err(|error| error.to_string())?;
    let judged = replayer.judge(execution, &Search::goal(race_search::ends(of, execution)));
    let judged = judged.map_err(|error| format!("a witness cannot be replayed: {error}"))?;
    if !judged.violated.is_empty() {
        return Err(format!("a witness violates {} when replayed", judged.violated.join(", ")));
    }
    let pairs = replayer.crash(execution).map_err(|error| error.to_string())?;
    let pairs = pairs.ok_or("the model does not say what a crash leaves")?;
    let persists = execution.events.iter().copied().filter(|event| is_persist(of, *event)).collect();
    if !pairs.allow(crash, &persists) {
        return Err("a crash is none of its execution".to_owned());
    }
    let left = left_by(of, execution, terms, &pairs, crash);
    match left.is_some_and(|left| left.contains(state)) {
        true => Ok(()),
        false => Err("a crash does not leave the state that it is shown for".to_owned()),
    }
}

pub struct Search<'a> {
    session: &'a Session<'a>,
    unfolding: &'a Arc<Unfolding>,
    terms: &'a [Term],
    conditions: &'a [Condition],
    searcher: Searcher<'a>,
}

/// What persistent memory may hold after a crash, with a crash that leaves it.
pub type Images = BTreeMap<CrashState, Crashed>;

/// What a search has gathered.
#[derive(Default)]
struct Totals {
    states: BTreeMap<CrashState, u64>,
    executions: u64,
    found: Vec<Option<(Execution, Crash, CrashState)>>,
    /// By what persistent memory holds.
    images: Images,
    /// An execution or a limit ended it.
    ended: Option<Why>,
}

impl<'a> Search<'a> {
    /// States are told by these terms, and one is looked for that satisfies each condition.
    pub fn new(
        session: &'a Session<'a>,
        unfolding: &'a Arc<Unfolding>,
        terms: &'a [Term],
        conditions: &'a [Condition],
    ) -> Search<'a> {
        let searcher = Searcher::new(unfolding, session.model, session.options);
        Search { session, unfolding, terms, conditions, searcher }
    }

    /// How executions may end that a crash can come in.
    fn ends(&self) -> &'static [Ends] {
        let may_wait = race_search::can_wait(self.unfolding);
        if may_wait { &[Ends::Terminating, Ends::Stuck] } else { &[Ends::Terminating] }
    }

    pub fn run(&self) -> CrashAnswers {
        let Some(model) = self.session.model.crash() else {
            let span = self.session.program.crash.questions.first().map_or_else(Default::default, |first| first.span);
            let what = format!("the model {} does not say what a crash leaves", self.session.model.name);
            return self.open(&Why::Unsupported { span, what });
        };
        let mut evaluator = model.evaluator();
        let mut totals = Totals { found: vec![None; self.conditions.len()], ..Totals::default() };
        let (mut why, mut engine) = (None, None);
        for ends in self.ends() {
            let mut visit = |execution: &Execution| self.add(&mut evaluator, execution, &mut totals);
            let (explored, by) = self.each(*ends, &mut visit);
            engine.get_or_insert(by);
            match explored {
                Exploration::Complete | Exploration::Stopped => {}
                Exploration::Incomplete(stop) => why = why.or(Some(why_open(stop))),
            }
        }
        let why = totals.ended.take().or(why);
        let counted = Count { count: totals.executions, complete: why.is_none() && !self.is_enough(&totals) };
        let mut answers = CrashAnswers { executions: Some(counted), ..CrashAnswers::default() };
        answers.states = std::mem::take(&mut totals.states);
        answers.images = std::mem::take(&mut totals.images);
        answers.stopped.clone_from(&why);
        let finding = |found| match (found, &why) {
            (Some(found), _) => self.confirmed(found),
            (None, None) => Answer::No,
            (None, Some(why)) => Answer::Unknown(why.clone()),
        };
        answers.findings = totals.found.into_iter().map(finding).collect();
        self.cross_check(engine, &mut answers);
        answers
    }

    /// Every answer is open.
    fn open(&self, why: &Why) -> CrashAnswers {
        let findings = self.conditions.iter().map(|_| Answer::Unknown(why.clone())).collect();
        CrashAnswers { findings, ..CrashAnswers::default() }
    }

    fn goal(ends: Ends) -> Goal<'static> {
        Goal { multiplicity: Multiplicity::All, observed: Observed::Everything, ..Goal::new(ends) }
    }

    fn each(&self, ends: Ends, visit: &mut dyn FnMut(&Execution) -> ControlFlow<()>) -> (Exploration, EngineName) {
        let found = self.searcher.run(&Search::goal(ends), || (), |(), execution| visit(execution));
        (found.exploration, found.engine)
    }

    /// Nobody wants the states, and every question has its witness.
    fn is_enough(&self, totals: &Totals) -> bool {
        let wants_states = self.session.options.outcomes != Outcomes::Skip || self.keeps_images();
        !wants_states && totals.found.iter().all(Option::is_some)
    }

    /// A recovery program runs from every image: of the program, and of a recovery that crashes itself.
    fn keeps_images(&self) -> bool {
        self.session.program.crash.recovery.is_some() || self.conditions.is_empty()
    }

    fn add(
        &self,
        evaluator: &mut crash::CrashEvaluator<'_>,
        execution: &Execution,
        totals: &mut Totals,
    ) -> ControlFlow<()> {
        let budget = &self.session.options.budget;
        let mut steps = 0u32;
        let mut go_on = || {
            steps += 1;
            !steps.is_multiple_of(1024) || !budget.is_over()
        };
        let Some(states) = evaluator.states(self.unfolding, execution, self.terms, &mut go_on) else {
            totals.ended = Some(Why::Internal("an execution has no state to crash in".to_owned()));
            return ControlFlow::Break(());
        };
        if !go_on() || budget.is_over() {
            totals.ended = Some(why_open(Stop::Time));
            return ControlFlow::Break(());
        }
        totals.executions = totals.executions.saturating_add(execution.weight);
        for (state, crash) in states {
            let count = totals.states.entry(state.clone()).or_default();
            let is_new = *count == 0;
            *count = count.saturating_add(execution.weight);
            if !is_new {
                continue;
            }
            if self.keeps_images() {
                self.keep(execution, &crash, &state, &mut totals.images);
            }
            for (condition, found) in self.conditions.iter().zip(&mut totals.found) {
                if found.is_none() && holds(condition, self.terms, &state) {
                    *found = Some((execution.clone(), crash.clone(), state.clone()));
                }
            }
        }
        if self.is_enough(totals) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn keep(&self, execution: &Execution, crash: &Crash, state: &CrashState, images: &mut Images) {
        let memory = self.terms.iter().zip(state).filter(|(term, _)| matches!(term, Term::Memory(_)));
        let image = memory.map(|(_, value)| *value).collect();
        images.entry(image).or_insert_with(|| {
            let shown = Shown { execution: Arc::new(execution.clone()), of: Arc::clone(self.unfolding) };
            Crashed { shown, crash: crash.clone(), state: state.clone() }
        });
    }

    fn confirmed(&self, (execution, crash, state): (Execution, Crash, CrashState)) -> Answer<Crashed> {
        let shown = Shown { execution: Arc::new(execution), of: Arc::clone(self.unfolding) };
        let crashed = Crashed { shown, crash, state };
        match confirm(self.session.model, self.terms, &crashed) {
            Ok(()) => Answer::Yes(crashed),
            Err(message) => Answer::Unknown(Why::Internal(message)),
        }
    }

    /// Goes through the executions of the other engine by the definition, where that is cheap.
    fn cross_check(&self, engine: Option<EngineName>, answers: &mut CrashAnswers) {
        let is_asked = self.session.options.cross_check == CrossCheck::WhenSmall
            && self.searcher.estimate.bits <= CROSS_CHECK_BITS
            && answers.executions.is_some_and(|executions| executions.complete);
        let (Some(engine), true) = (engine, is_asked) else { return };
        let Ok(replayer) = Replayer::new(self.session.model, self.unfolding) else { return };
        let (mut left, mut unknown, mut complete) = (MOST_LITERAL, None, true);
        for ends in self.ends() {
            let explored = self.searcher.cross_check(engine, &Search::goal(*ends), |execution| {
                match self.literal(&replayer, execution, &mut left) {
                    Some(states) => {
                        unknown = states.into_iter().find(|state| !answers.states.contains_key(state));
                        if unknown.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                    }
                    None => {
                        complete = false;
                        ControlFlow::Break(())
                    }
                }
            });
            complete &= explored == Exploration::Complete;
            if unknown.is_some() {
                let message = "crashes by their definition leave a state that was not found".to_owned();
                answers.leave_open(&Why::Internal(message));
                return;
            }
        }
        answers.cross_checked = complete;
    }

    fn literal(&self, replayer: &Replayer<'_>, execution: &Execution, left: &mut u64) -> Option<Vec<CrashState>> {
        let pairs = replayer.crash(execution).ok()??;
        let events: Vec<EventId> = execution.events.clone();
        let persists = events.iter().copied().filter(|event| is_persist(self.unfolding, *event)).collect();
        // Initial writes have happened before everything.
        let own: Vec<EventId> =
            events.into_iter().filter(|event| self.unfolding.events[event.index()].thread.is_some()).collect();
        let crashes = literal::crashes(&pairs, &own, &persists, *left)?;
        *left = left.saturating_sub(crashes.len() as u64);
        let states = crashes.iter().map(|crash| left_by(self.unfolding, execution, self.terms, &pairs, crash));
        Some(states.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
    }
}
