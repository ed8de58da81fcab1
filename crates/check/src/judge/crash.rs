//! Questions about crashes. Every consistent execution is looked at, those that end and those that never do: a crash may come
//! at any point of either, and a run that has come so far goes on to be one of them. A crash that is shown is tested against the
//! definition by the independent evaluator, when it is found, so that no limit that comes later takes it back; where nothing is
//! found in a small test, the executions of the other engine are gone through by the definition.
//!
//! # Beginnings
//!
//! What is not found may lie in runs that the unrolling bound cuts. Of those the engine knows consistent *beginnings*
//! ([`Ends::Cut`]), and a crash of a beginning is one of an execution of the program if the beginning is the beginning of one.
//! It is: run the threads on from there in turn, each event last. A write comes after all others in coherence order, a fence after
//! all others in Fence-SC order, and a read reads a write that nothing comes after. No edge leads from such an event to an earlier
//! one. So it closes no cycle in the axioms of a model in which relations occur positively (`Model::is_prefix_closed`), it is before
//! no event of the crash in `crash-prefix`, `persists-before` or `durable-at`, and it changes nothing between earlier events. Threads
//! may run on without end; cycles are finite, so that the limit is consistent too. Which writes a trace leaves out is told by the
//! traces that were unrolled, as in every other execution.
//!
//! The argument does not cover what other threads wait for and what may never come: barriers, the ends of kernels and of asynchronous
//! operations, and assumptions about values behind the cut. Programs with those are not looked at in this way, and neither are runs
//! that were cut at an access outside every location: they do not go on. The value of a register in the end is not known of a thread
//! that goes on, so conditions about it are not judged. That something was not found in beginnings says nothing: it stays open.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use fencepost_axiom::crash::literal::{self, Crash, Pairs};
use fencepost_axiom::engine::{Ends, Exploration, Goal, Multiplicity, Observed};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::watch::Watch;
use fencepost_program::EventId;
use fencepost_program::program::{Condition, Term};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind, TraceEnd, Unfolding};
use fencepost_report::Count;
use fencepost_report::answer::Answer;
use fencepost_report::why::Why;

use crate::budget::Budget;
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

/// How many beginnings of runs that the bound cut are looked at.
const MOST_BEGINNINGS: u32 = 2_000;

/// Whether a program has only threads that can always take their next step, so that a beginning of a run is one of an execution.
fn goes_on(unfolding: &Unfolding) -> bool {
    let is_plain = |event: &Event| {
        let is_access = matches!(event.kind, EventKind::Read { .. } | EventKind::Write { .. });
        let waits_for_none = is_access || matches!(event.kind, EventKind::Fence | EventKind::Omitted(_));
        waits_for_none && event.is_main() && event.call.is_none() && !event.has(Tag::Mbarrier)
    };
    let has_launches = !unfolding.kernel_order.is_empty() || !unfolding.dependent_launches.is_empty();
    !has_launches && !race_search::is_assuming(unfolding, None) && unfolding.events.iter().all(is_plain)
}

/// The answers about crashes, if something is asked.
pub fn answers(session: &Session<'_>, unfolding: &Arc<Unfolding>) -> Option<CrashAnswers> {
    let program = session.program;
    if !program.asks_of_crashes() || !session.options.questions.is_yes() {
        return None;
    }
    let terms = crash::terms(program);
    let conditions: Vec<Condition> = program.crash.questions.iter().map(looked_for_in_crash).collect();
    let search = Search::new(session, unfolding, &terms, &conditions);
    let answers = search.run();
    Some(CrashAnswers { terms, ..answers })
}

/// The execution is one, and the crash is one of it that leaves this state, by another evaluator and the definition. As every
/// witness it is judged a little longer than is searched, and if a limit ends that too, the limit is the reason.
pub fn confirm(model: &LoadedModel, terms: &[Term], crashed: &Crashed, budget: &Budget) -> Result<(), Why> {
    judge(model, terms, crashed, budget, |_, crash| crash.clone())
}

/// Whether a crash of the execution leaves this state under another model too. Where more has to be durable there, it is.
pub fn stands(model: &LoadedModel, terms: &[Term], crashed: &Crashed, budget: &Budget) -> bool {
    judge(model, terms, crashed, budget, Pairs::completed).is_ok()
}

fn judge(
    model: &LoadedModel,
    terms: &[Term],
    crashed: &Crashed,
    budget: &Budget,
    crash: impl FnOnce(&Pairs, &Crash) -> Crash,
) -> Result<(), Why> {
    let wrong = |message: &str| Err(Why::Internal(message.to_owned()));
    let Crashed { shown: Shown { execution, of }, crash: shown, state } = crashed;
    let replayer = Replayer::new(model, of).map_err(|error| error.why())?.watched(|| Watch::new(&budget.judging()));
    let judged = replayer.judge(execution, &Search::goal(race_search::ends(of, execution)));
    let judged = judged.map_err(|error| error.why())?;
    if !judged.violated.is_empty() {
        return wrong(&format!("a witness violates {} when replayed", judged.violated.join(", ")));
    }
    let Some(pairs) = replayer.crash(execution).map_err(|error| error.why())? else {
        return wrong("the model does not say what a crash leaves");
    };
    let crash = crash(&pairs, shown);
    let persists = execution.events.iter().copied().filter(|event| is_persist(of, *event)).collect();
    if !pairs.allow(&crash, &persists) {
        return wrong("a crash is none of its execution");
    }
    let left = left_by(of, execution, terms, &pairs, &crash);
    match left.is_some_and(|left| left.contains(state)) {
        true => Ok(()),
        false => wrong("a crash does not leave the state that it is shown for"),
    }
}

pub struct Search<'a> {
    session: &'a Session<'a>,
    unfolding: &'a Arc<Unfolding>,
    terms: &'a [Term],
    conditions: &'a [Condition],
    searcher: Searcher<'a>,
    /// Of all that is looked at here.
    watch: Watch<'a>,
}

/// What persistent memory may hold after a crash, with a crash that leaves it.
pub type Images = BTreeMap<CrashState, Crashed>;

/// What a search has gathered.
#[derive(Default)]
struct Totals {
    states: BTreeMap<CrashState, u64>,
    /// Bytes that the states take, roughly.
    held: u64,
    executions: u64,
    /// Per condition: a crash that leaves what satisfies it, as soon as one is found, or why it was not confirmed.
    found: Vec<Option<Answer<Crashed>>>,
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
        let watch = Watch::new(&session.options.budget.limits());
        Search { session, unfolding, terms, conditions, searcher, watch }
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
        let mut evaluator = model.evaluator(&self.watch);
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
        if matches!(why, Some(Why::Bound(_))) && (self.keeps_images() || totals.found.iter().any(Option::is_none)) {
            self.look_in_beginnings(&mut evaluator, &mut totals);
        }
        let counted = Count { count: totals.executions, complete: why.is_none() && !self.is_enough(&totals) };
        let mut answers = CrashAnswers { executions: Some(counted), ..CrashAnswers::default() };
        answers.states = std::mem::take(&mut totals.states);
        answers.images = std::mem::take(&mut totals.images);
        answers.stopped.clone_from(&why);
        let finding = |found| match (found, &why) {
            (Some(found), _) => found,
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
        let seen = evaluator.each_state(self.unfolding, execution, self.terms, &mut |state, crash| {
            if let Some(count) = totals.states.get_mut(state) {
                *count = count.saturating_add(execution.weight);
                return ControlFlow::Continue(());
            }
            totals.states.insert(state.clone(), execution.weight);
            totals.held += crash::bytes(state);
            self.note(execution, &crash(), state, totals);
            if self.watch.is_too_much(totals.held) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if seen.is_none() {
            totals.ended = Some(Why::Internal("an execution has no state to crash in".to_owned()));
            return ControlFlow::Break(());
        }
        totals.executions = totals.executions.saturating_add(execution.weight);
        // What was found before a limit stands, though the execution may leave more.
        if self.watch.is_over() {
            totals.ended = self.watch.ended().map(why_open);
            return ControlFlow::Break(());
        }
        if self.is_enough(totals) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// What a crash leaves that was not met before.
    fn note(&self, execution: &Execution, crash: &Crash, state: &CrashState, totals: &mut Totals) {
        if self.keeps_images() {
            self.keep(execution, crash, state, &mut totals.images);
        }
        for (condition, found) in self.conditions.iter().zip(&mut totals.found) {
            let is_settled = || self.is_settled(execution, &condition.terms());
            if found.is_none() && holds(condition, self.terms, state) && is_settled() {
                *found = Some(self.confirmed(self.crashed(execution, crash, state)));
            }
        }
    }

    /// Looks for what was not found in beginnings of runs that the unrolling bound cut.
    fn look_in_beginnings(&self, evaluator: &mut crash::CrashEvaluator<'_>, totals: &mut Totals) {
        if !self.session.model.model.is_prefix_closed() || !goes_on(self.unfolding) {
            return;
        }
        let mut left = MOST_BEGINNINGS;
        let mut seen = BTreeSet::new();
        self.each(Ends::Cut, &mut |execution: &Execution| {
            left -= 1;
            if !self.is_outside(execution) {
                let is_settled = self.is_settled(execution, self.terms);
                // A term without a value, or a limit: nothing is found, and nothing is said.
                let _ = evaluator.each_state(self.unfolding, execution, self.terms, &mut |state, crash| {
                    // Which conditions are judged depends on the threads that were cut.
                    if seen.insert((execution.traces.clone(), state.clone())) {
                        totals.held += crash::bytes(state);
                        self.note(execution, &crash(), state, totals);
                    }
                    // Some execution begins so, and leaves it.
                    if is_settled {
                        totals.states.entry(state.clone()).or_insert(1);
                        totals.executions = totals.executions.max(1);
                    }
                    if self.watch.is_too_much(totals.held) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
            }
            let is_enough = !self.keeps_images() && totals.found.iter().all(Option::is_some);
            let is_over = left == 0 || self.watch.ended().is_some();
            if is_enough || is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }

    fn is_settled<'t>(&self, execution: &Execution, terms: impl IntoIterator<Item = &'t Term>) -> bool {
        terms.into_iter().all(|term| crash::is_settled(self.unfolding, execution, term))
    }

    /// Whether a thread has left every location, and does not go on.
    fn is_outside(&self, execution: &Execution) -> bool {
        let mut traces = execution.traces.iter().filter_map(|trace| self.unfolding.traces.get(trace.index()));
        traces.any(|trace| matches!(trace.end, TraceEnd::Wild { .. }))
    }

    fn crashed(&self, execution: &Execution, crash: &Crash, state: &CrashState) -> Crashed {
        let shown = Shown { execution: Arc::new(execution.clone()), of: Arc::clone(self.unfolding) };
        Crashed { shown, crash: crash.clone(), state: state.clone() }
    }

    fn keep(&self, execution: &Execution, crash: &Crash, state: &CrashState, images: &mut Images) {
        let memory = self.terms.iter().zip(state).filter(|(term, _)| matches!(term, Term::Memory(_)));
        let image = memory.map(|(_, value)| *value).collect();
        images.entry(image).or_insert_with(|| self.crashed(execution, crash, state));
    }

    fn confirmed(&self, crashed: Crashed) -> Answer<Crashed> {
        match confirm(self.session.model, self.terms, &crashed, &self.session.options.budget) {
            Ok(()) => Answer::Yes(crashed),
            Err(why) => Answer::Unknown(why),
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use fencepost_report::Report;
    use fencepost_syntax::{Source, limits};

    use super::*;
    use crate::{Models, Options, Test, check, load};

    fn test(text: &str) -> Test {
        load(&Source::new("t.litmus", text)).0.remove(0)
    }

    fn report(text: &str, options: &Options) -> Report {
        check(&test(text), &Models::shipped("sbrp").expect("shipped"), options).report
    }

    /// The verdicts about crashes, and the reasons of those that are open.
    fn verdicts(report: &Report) -> Vec<(&str, Option<&str>)> {
        let questions = &report.crashes.as_ref().expect("an answer about crashes").questions;
        questions.iter().map(|it| (it.verdict.word(), it.why.as_ref().map(|why| why.kind.as_str()))).collect()
    }

    const FOUND: (&str, Option<&str>) = ("Holds", None);
    const BROKEN: (&str, Option<&str>) = ("Violated", None);

    /// A thread that stores to so many locations in no order, and another that touches a contested reading.
    fn many(locations: usize, questions: &str) -> String {
        let names: Vec<String> = (0..locations).map(|at| format!("x{at}")).collect();
        let declared: String = names.iter().map(|name| format!("nvm {name} = 0; ")).collect();
        let stores: String = names.iter().map(|name| format!("st.relaxed.gpu.u32 [{name}], 1; ")).collect();
        format!(
            "PTX t\n{{ {declared}}}\nP0@cta 0 {{ {stores}}}\nP1@cta 1 {{ st.relaxed.gpu.u32 [x1], 2; }}\n{questions}\n"
        )
    }

    /// More states than the memory has room for: what was found stands under every reading, and the rest is open.
    #[test]
    fn a_crash_that_was_found_before_a_limit_stands() {
        let asked = "crash exists (x0 = 0)\ncrash ~exists (x15 = 1)\ncrash forall (x14 = 0)\ncrash exists (x0 = 1)\n\
                     crash ~exists (x0 = 2)\ncrash forall (x0 = 0)";
        let budget = Budget::new(None, Some(1 << 18));
        let report = report(&many(16, asked), &Options { budget, ..Options::default() });
        assert!(report.readings.iter().any(|reading| !reading.chosen), "a contested reading");
        assert_eq!(verdicts(&report)[..3], [FOUND, BROKEN, BROKEN]);
        assert_eq!(verdicts(&report)[3..], [("Unknown", Some("memory")); 3]);
        let crashes = report.crashes.expect("an answer about crashes");
        assert!(crashes.questions[..3].iter().all(|answer| answer.witness.is_some()));
        assert!(!crashes.states.is_empty() && crashes.executions.is_some_and(|count| !count.complete));
    }

    /// Under `same-address=ordered` no crash leaves this, but the memory ends before that is known: what was found is told.
    #[test]
    fn a_crash_that_was_found_under_one_reading_only_is_told() {
        let names: Vec<String> = (0..14).map(|at| format!("y{at}")).collect();
        let declared: String = names.iter().map(|name| format!("nvm {name} = 0; ")).collect();
        let stores: String = names.iter().map(|name| format!("st.relaxed.gpu.u32 [{name}], 1; ")).collect();
        let text = format!(
            "PTX t\n{{ {declared}nvm z = 0; nvm x = 0; }}\nP0@cta 0 {{ st.relaxed.gpu.u32 [z], 1; ofence; st.relaxed.gpu.u32 [x], 1; \
             {stores}}}\nP1@cta 1 {{ L: ld.relaxed.gpu.u32 %r1, [x]; setp.ne.u32 %p1, %r1, 1; @%p1 bra L; st.relaxed.gpu.u32 [x], \
             2; }}\ncrash exists (x = 2 /\\ z = 0)\n"
        );
        let budget = Budget::new(None, Some(1 << 18));
        let limited = report(&text, &Options { budget, ..Options::default() });
        assert_eq!(verdicts(&limited)[0].0, "Unknown");
        let crashes = limited.crashes.expect("an answer about crashes");
        assert!(crashes.questions[0].witness.is_some());
        let few = text.replace(&declared, "").replace(&stores, "");
        assert_eq!(verdicts(&report(&few, &Options::default()))[0].0, "Depends");
    }

    /// A limit that ends the judging of a crash is the reason, and not a defect of this tool.
    #[test]
    fn a_crash_that_is_judged_after_every_limit_is_open_for_that_limit() {
        let test = test(&many(2, "crash exists (x0 = 0)"));
        let (model, options) = (Models::shipped("sbrp").expect("shipped"), Options::default());
        let session = Session::new(&test.program, &model, &options);
        let unfolding = Arc::clone(session.unfolding().expect("it is small"));
        let found = answers(&session, &unfolding).expect("an answer about crashes");
        let crashed = found.findings[0].yes().expect("it is found");
        assert_eq!(confirm(&model, &found.terms, crashed, &options.budget), Ok(()));
        let over = limits::enter(Some(Instant::now()), None);
        assert_eq!(confirm(&model, &found.terms, crashed, &options.budget), Err(Why::Time));
        drop(over);
        let budget = Budget::of_time(Duration::ZERO);
        let report = check(&test, &model, &Options { budget, ..Options::default() }).report;
        assert!(verdicts(&report).iter().all(|(word, kind)| *word == "Unknown" && *kind != Some("internal")));
    }

    fn looping(body: &str, rest: &str) -> String {
        format!("PTX t\n{{ nvm x = 0; nvm y = 0; f = 0; }}\nP0@cta 0 {{\nL: {body}\n bra L;\n}}\n{rest}\n")
    }

    const ADD: &str = "atom.relaxed.gpu.global.add.u32 %r1, [x], 1;";

    /// The loop never ends, so that no execution is listed at all.
    #[test]
    fn a_crash_may_come_before_a_loop_is_cut() {
        let asked = "crash exists (x = 2)\ncrash ~exists (x = 1)\ncrash forall (x = 0)\ncrash exists (x = 1000)\ncrash ~exists (x = 1000)";
        let report = report(&looping(ADD, asked), &Options::default());
        let open = ("Unknown", Some("bound"));
        assert_eq!(verdicts(&report), [FOUND, BROKEN, BROKEN, open, open]);
        let crashes = report.crashes.expect("an answer about crashes");
        let witness = crashes.questions[0].witness.as_ref().expect("a crash");
        assert_eq!(witness.state.to_string(), "x=2; y=0");
        let states: Vec<String> = crashes.states.iter().map(|state| state.values.to_string()).collect();
        assert_eq!(states, ["x=0; y=0", "x=1; y=0", "x=2; y=0"]);
    }

    /// What comes before in the order of persists is durable also where the run is cut.
    #[test]
    fn a_beginning_keeps_the_order_of_persists() {
        let body = "st.relaxed.gpu.u32 [y], 1; ofence; st.relaxed.gpu.u32 [x], 1;";
        let report =
            report(&looping(body, "crash exists (x = 1)\ncrash exists (x = 1 /\\ y = 0)"), &Options::default());
        assert_eq!(verdicts(&report), [FOUND, ("Unknown", Some("bound"))]);
    }

    /// What a register holds in the end of a thread that goes on is not known, whichever way it is asked.
    #[test]
    fn a_register_of_a_thread_that_goes_on_is_not_asked() {
        let asked = "crash exists (P0:%r1 = 0)\ncrash exists (~(P0:%r1 = 0) /\\ x = 2)\ncrash exists (P1:%r1 = 1)";
        let other = "P1@cta 1 { ld.relaxed.gpu.u32 %r1, [x]; }\n";
        let report = report(&looping(ADD, &format!("{other}{asked}")), &Options::default());
        let open = ("Unknown", Some("bound"));
        assert_eq!(verdicts(&report), [open, open, FOUND]);
    }

    /// A thread that waits for what comes after the cut may wait for ever.
    #[test]
    fn a_beginning_in_which_threads_wait_for_each_other_shows_nothing() {
        let barrier = "P1@cta 0 { bar.sync 0; st.relaxed.gpu.u32 [y], 1; }\ncrash exists (y = 1)\ncrash exists (x = 1)";
        let text = looping(ADD, barrier).replace("bra L;\n", "bra L;\n bar.sync 0;\n");
        assert!(verdicts(&report(&text, &Options::default())).iter().all(|(word, _)| *word == "Unknown"));
        let text = "PTX t\n{ nvm x = 0; nvm y = 0; .launch 0 -> 1; }\nP0@cta 0, gpu 0, kernel 0 {\nL: \
                    atom.relaxed.gpu.global.add.u32 %r1, [x], 1;\n  bra L;\n}\nP1@cta 1, gpu 0, kernel 1 { \
                    st.relaxed.gpu.u32 [y], 1; }\ncrash exists (y = 1)\n";
        assert!(verdicts(&report(text, &Options::default())).iter().all(|(word, _)| *word == "Unknown"));
    }

    /// Each recovery adds what it finds to itself: from the image x = 2, which only a beginning leaves, it ends with 4.
    #[test]
    fn recovery_starts_from_what_beginnings_leave() {
        let recovery = "recover { P0@cta 0 { ld.relaxed.gpu.u32 %r1, [x]; add.u32 %r2, %r1, %r1; } }\n";
        let text = looping(ADD, &format!("{recovery}recover exists (P0:%r2 = 4)\nrecover forall (P0:%r2 = 0)"));
        let report = report(&text, &Options::default());
        let recovery = report.crashes.expect("an answer about crashes").recovery.expect("about recovery too");
        let words: Vec<&str> = recovery.questions.iter().map(|answer| answer.verdict.word()).collect();
        assert_eq!(words, ["Holds", "Violated"]);
    }
}
