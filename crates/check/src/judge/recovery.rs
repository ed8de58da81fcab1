//! Recovery: the recovery program is run from everything that persistent memory may hold after a crash, and from everything that it
//! may hold after a crash of a recovery, until there is nothing new.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use fencepost_axiom::engine::{Ends, Goal};
use fencepost_axiom::watch::Watch;
use fencepost_program::program::{Program, Recovery, Term};
use fencepost_report::answer::Answer;
use fencepost_report::why::{Undecided, Why};
use fencepost_syntax::litmus::QuestionKind;

use crate::budget::Budget;
use crate::judge::crash::{Search, confirm as is_crash, stands};
use crate::judge::found::{Answers, Ask, CrashAnswers, Crashed, Reached, Recovered, RecoveryAnswers, Shown};
use crate::look::crash::{self, CrashState};
use crate::look::race_search;
use crate::look::replayer::Replayer;
use crate::model::load::LoadedModel;
use crate::options::{CrossCheck, Options, Outcomes, Wanted};
use crate::session::Session;
use crate::test::Test;

/// Recovery is run from no more states than this: one that changes memory by itself may leave new ones for ever.
const MOST_STATES: u64 = 5_000;
/// From so many states on, recoveries are looked at by one engine only.
const MOST_CROSS_CHECKED: u64 = 32;

/// What the recovery program makes of the images that crashes of the program leave.
pub fn answers(
    test: &Test,
    session: &Session<'_>,
    crashes: &mut CrashAnswers,
    recovery: &Recovery,
    ask: Ask<'_>,
) -> RecoveryAnswers {
    let options = Options { outcomes: Outcomes::Skip, races: Wanted::No, ..session.options.clone() };
    let memory: Vec<Term> = recovery.program.persistent().map(Term::Memory).collect();
    let (terms, origins) = (crash::terms(session.program), BTreeMap::new());
    let mut runs = Runs { test, session, options: &options, recovery, ask, terms, memory, origins };
    let mut waiting = VecDeque::new();
    for (image, crashed) in std::mem::take(&mut crashes.images) {
        waiting.push_back(image.clone());
        runs.origins.insert(image, Origin { before: None, crashed });
    }
    let findings = recovery.program.questions.iter().map(|_| Answer::No).collect();
    let mut answers = RecoveryAnswers { findings, hang: Answer::No, states: 0 };
    let mut why = crashes.stopped.clone();
    while let Some(image) = waiting.pop_front() {
        if options.budget.is_over() {
            why.get_or_insert(Why::Time);
            break;
        }
        if answers.states >= MOST_STATES {
            why.get_or_insert(Why::Size(Undecided::Recoveries(MOST_STATES)));
            break;
        }
        answers.states += 1;
        match runs.run(&image, &mut answers) {
            Ok(images) => waiting.extend(images),
            Err(stopped) => {
                why.get_or_insert(stopped);
            }
        }
        // Who wants no states wants to know only whether every promise is kept.
        let is_enough = session.options.outcomes == Outcomes::Skip && !answers.findings.is_empty();
        if (answers.hang.is_yes() || is_enough) && answers.findings.iter().all(Answer::is_yes) {
            answers.hang.leave_open(&Why::Size(Undecided::Search));
            break;
        }
    }
    if let Some(why) = why {
        answers.findings.iter_mut().for_each(|finding| finding.leave_open(&why));
        answers.hang.leave_open(&why);
    }
    runs.count_hang(&mut answers);
    answers
}

/// Whether the crashes and the run after them are possible under this model, by another evaluator and the definition. A run
/// that never ends is none here: what made it fair is not asked again.
pub fn confirm(test: &Test, model: &LoadedModel, terms: &[Term], recovered: &Recovered, budget: &Budget) -> bool {
    let Some(recovery) = &test.program.crash.recovery else { return false };
    let memory: Vec<Term> = recovery.program.persistent().map(Term::Memory).collect();
    let mut crashes = recovered.crashes.iter().enumerate();
    let Recovered { run: Shown { execution, of }, .. } = recovered;
    let Ok(replayer) = Replayer::new(model, of) else { return false };
    let replayer = replayer.watched(|| Watch::new(&budget.judging()));
    crashes.all(|(at, crashed)| stands(model, if at == 0 { terms } else { &memory }, crashed, budget))
        && race_search::ends(of, execution) == Ends::Terminating
        && replayer.judge(execution, &Goal::new(Ends::Terminating)).is_ok_and(|judged| judged.violated.is_empty())
}

/// How an image came about: from what the recovery before started with, if one did, and by which crash.
struct Origin {
    before: Option<CrashState>,
    crashed: Crashed,
}

struct Runs<'a> {
    test: &'a Test,
    session: &'a Session<'a>,
    options: &'a Options,
    recovery: &'a Recovery,
    ask: Ask<'a>,
    /// What the states of the program's own crashes are told by, and those of recoveries.
    terms: Vec<Term>,
    memory: Vec<Term>,
    origins: BTreeMap<CrashState, Origin>,
}

impl Runs<'_> {
    /// Runs from an image, and gives those that crashes of this recovery leave and that are new.
    fn run(&mut self, image: &CrashState, answers: &mut RecoveryAnswers) -> Result<Vec<CrashState>, Why> {
        let test = self.test.with_program(self.starting_from(image));
        // Each is small; it is their number that a second opinion costs.
        let is_few = answers.states <= MOST_CROSS_CHECKED;
        let cross_check = if is_few { self.options.cross_check } else { CrossCheck::Off };
        let options = Options { cross_check, ..self.options.clone() };
        let found = (self.ask)(&test, self.session.model, &options);
        let unfolding = found.unfolding.clone();
        let refused = found.refused.clone();
        self.note(image, found, answers);
        let Some(unfolding) = unfolding else { return Err(refused.unwrap_or(Why::Size(Undecided::Search))) };
        let session = Session::new(&test.program, self.session.model, &options);
        let crashes = Search::new(&session, &unfolding, &self.memory, &[]).run();
        let mut new = Vec::new();
        for (left, crashed) in crashes.images {
            if let Entry::Vacant(place) = self.origins.entry(left) {
                new.push(place.key().clone());
                place.insert(Origin { before: Some(image.clone()), crashed });
            }
        }
        match crashes.stopped {
            Some(why) => Err(why),
            None => Ok(new),
        }
    }

    /// The recovery program with persistent memory as a crash left it.
    fn starting_from(&self, image: &CrashState) -> Program {
        let mut program = (*self.recovery.program).clone();
        let persistent: Vec<_> = program.persistent().collect();
        for (location, value) in persistent.iter().zip(image) {
            if let Some(value) = value {
                program.locations[location.index()].initial = *value;
            }
        }
        program
    }

    fn note(&self, image: &CrashState, found: Answers, answers: &mut RecoveryAnswers) {
        for (finding, own) in found.findings.into_iter().zip(&mut answers.findings) {
            let finding = match finding {
                Answer::Yes(Reached::Shown(run)) => self.recovered(image, run),
                Answer::Yes(Reached::Undefined) => Answer::Unknown(Why::Undefined),
                Answer::No => Answer::No,
                Answer::Unknown(why) => Answer::Unknown(why),
                Answer::Depends(on) => Answer::Depends(on),
                Answer::NotAsked | Answer::NotDefined => Answer::NotAsked,
            };
            *own = std::mem::take(own).join(finding);
        }
        let hang = match found.hang {
            Answer::Yes(run) => self.recovered(image, run),
            Answer::Unknown(why) => Answer::Unknown(why),
            _ => Answer::No,
        };
        answers.hang = std::mem::take(&mut answers.hang).join(hang);
    }

    /// A run from an image, and how that came about, each crash tested against the definition.
    fn recovered(&self, image: &CrashState, run: Shown) -> Answer<Recovered> {
        let mut crashes = Vec::new();
        let mut at = Some(image);
        while let Some(origin) = at.and_then(|image| self.origins.get(image)) {
            let terms = if origin.before.is_some() { &self.memory } else { &self.terms };
            if let Err(why) = is_crash(self.session.model, terms, &origin.crashed, &self.options.budget) {
                return Answer::Unknown(why);
            }
            crashes.push(origin.crashed.clone());
            at = origin.before.as_ref();
        }
        crashes.reverse();
        Answer::Yes(Recovered { crashes, image: image.clone(), run })
    }

    /// What must hold when recovery has ended does not where it never ends.
    fn count_hang(&self, answers: &mut RecoveryAnswers) {
        let Answer::Yes(hang) = &answers.hang else { return };
        for (finding, question) in answers.findings.iter_mut().zip(&self.recovery.program.questions) {
            let is_promise =
                matches!(question.kind, QuestionKind::Forall | QuestionKind::Assert | QuestionKind::NotExists);
            if is_promise && !finding.is_yes() {
                *finding = Answer::Yes(hang.clone());
            }
        }
    }
}
