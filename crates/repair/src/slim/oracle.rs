//! Whether a weakened test still has every answer of the test: of its questions, of those about crashes and recovery, whether
//! it races, breaks a rule of mbarriers or may hang, under every contested reading.
//!
//! A test without an answer that depends on a reading is looked at with the contested points at their weakest: what no
//! execution does there none does under a stronger reading. What stays is then confirmed under all of them.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;

use fencepost_check::judge::deepen;
use fencepost_check::judge::found::{Answers, Aspect};
use fencepost_check::judge::readings::{self, Runs};
use fencepost_check::look::executions::EngineName;
use fencepost_check::look::race::RaceKey;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::options::{CrossCheck, EngineChoice, Options, Outcomes, Wanted};
use fencepost_check::test::Test;
use fencepost_program::RegisterId;
use fencepost_program::program::{Program, Term};
use fencepost_report::answer::Answer;
use fencepost_report::why::{Undecided, Why};
use fencepost_syntax::limits;
use fencepost_syntax::sorted::{SharedSort as _, SortedSet};

use super::space::{Choices, Space};
use super::waits;
use crate::fix::space::changed_program;
use crate::fix::states::Kept;

/// What a weakened test is.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Judged {
    Same,
    /// Something is possible that was not.
    Changed(Difference),
    /// Something is not possible any more, or the change has no meaning.
    Lost,
    Open(Why),
}

/// An answer that is another one.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Difference {
    /// None: no answer, but the final states of interleavings.
    pub(super) aspect: Option<Aspect>,
    /// What is flagged now and was not.
    pub(super) flags: Vec<RaceKey>,
}

/// The answers of one check, and what it flagged.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) answers: Vec<(Aspect, Answer)>,
    pub(super) flags: SortedSet<RaceKey>,
    /// How often loops were unrolled, if more often than was asked for.
    deepened: Option<u32>,
    /// One run decides for all executions.
    is_one_run: bool,
}

impl Known {
    fn new(found: &Answers) -> Known {
        let answers = found.aspects().map(|aspect| (aspect, found.answer(aspect))).collect();
        let is_one_run = found.engine == Some(EngineName::OneRun);
        Known { answers, flags: found.flagged().cloned().collect(), deepened: found.deepened, is_one_run }
    }

    /// Why something is not known, if something is not.
    pub(super) fn why(&self) -> Option<&Why> {
        self.answers.iter().find_map(|(_, answer)| answer.why())
    }

    fn depends(&self) -> bool {
        self.answers.iter().any(|(_, answer)| matches!(answer, Answer::Depends(_)))
    }
}

/// How a check is repeated: by which engine, and with how many rounds of loops more than the answers of the test needed.
pub(super) type Way = (EngineChoice, u32);

/// Work for an engine alone that takes turns with the other otherwise.
const ALONE: u64 = 2_500_000;

pub(super) struct Oracle<'o> {
    pub(super) test: &'o Test,
    pub(super) model: &'o LoadedModel,
    pub(super) options: &'o Options,
    pub(super) original: Known,
    /// What is looked at first: what changed last.
    first: Cell<Stage>,
    judged: RefCell<BTreeMap<Choices, Judged>>,
    repeated: RefCell<Vec<(Way, Result<Known, Why>)>>,
    computes: OnceCell<Option<Kept>>,
    /// How many changed tests were looked at.
    pub(super) asked: Cell<u64>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Stage {
    Questions,
    Races,
    Ends,
    /// Under every reading.
    All,
}

impl<'o> Oracle<'o> {
    /// Or why the test itself has no answer.
    pub(super) fn new(test: &'o Test, model: &'o LoadedModel, options: &'o Options) -> Result<Oracle<'o>, Why> {
        let original = answers(test, model, options, options.engine)?;
        Ok(Oracle {
            test,
            model,
            options,
            original,
            first: Cell::new(Stage::Questions),
            judged: RefCell::default(),
            repeated: RefCell::default(),
            computes: OnceCell::new(),
            asked: Cell::new(0),
        })
    }

    pub(super) fn judge(&self, space: &Space, choices: &Choices) -> Judged {
        if choices.iter().all(|choice| *choice == 0) {
            return Judged::Same;
        }
        if let Some(known) = self.judged.borrow().get(choices) {
            return known.clone();
        }
        let judged = self.look(space, choices);
        if !matches!(judged, Judged::Open(_)) {
            self.judged.borrow_mut().insert(choices.clone(), judged.clone());
        }
        judged
    }

    fn look(&self, space: &Space, choices: &Choices) -> Judged {
        let Some((_, program)) = changed_program(&self.test.litmus, &space.edits(choices)) else { return Judged::Lost };
        self.asked.set(self.asked.get() + 1);
        let test = self.test.with_program(program);
        let judged = self.in_stages(&test);
        let changes_paths = |(place, choice): (usize, &usize)| *choice > 0 && space.changes_paths(place);
        if judged != Judged::Same || !choices.iter().enumerate().any(changes_paths) {
            return judged;
        }
        match self.computes_the_same(&test.program) {
            Some(true) => Judged::Same,
            Some(false) => Judged::Changed(Difference { aspect: None, flags: Vec::new() }),
            None => Judged::Open(Why::Size(Undecided::Search)),
        }
    }

    fn in_stages(&self, test: &Test) -> Judged {
        let mut stages = vec![Stage::Questions, Stage::Races, Stage::Ends];
        if self.original.depends() {
            stages = vec![Stage::All];
        }
        stages.shared_sort_by_key(|stage| *stage != self.first.get());
        let mut open = None;
        for stage in stages {
            if self.options.budget.is_over() {
                return Judged::Open(Why::Time);
            }
            match self.stage(test, stage) {
                Judged::Same => {}
                // What the questions leave open the search for races answers, with more effort.
                Judged::Open(_) if stage == Stage::Questions => {}
                Judged::Open(why) => {
                    open.get_or_insert(why);
                }
                other => {
                    self.first.set(stage);
                    return other;
                }
            }
        }
        open.map_or(Judged::Same, Judged::Open)
    }

    fn stage(&self, test: &Test, stage: Stage) -> Judged {
        if stage == Stage::All {
            return match answers(test, self.model, self.options, self.options.engine) {
                Ok(known) => compared(&self.original, &known),
                Err(why) => Judged::Open(why),
            };
        }
        let wanted = |is: bool| if is { Wanted::Yes } else { Wanted::No };
        let options = Options {
            // Without questions nothing says that an answer is open, so nothing unrolls further.
            bound: self.unrolled(0),
            // Races are looked for in what is counted.
            outcomes: if stage == Stage::Races { Outcomes::Capped } else { Outcomes::Skip },
            questions: wanted(stage != Stage::Ends),
            races: wanted(stage == Stage::Races),
            termination: wanted(stage == Stage::Ends),
            cross_check: CrossCheck::Off,
            advice: Wanted::No,
            fingerprint: Wanted::No,
            ..self.options.clone()
        };
        let run = |options: &Options| Runs::new(test, self.model, options).at_weakest();
        let (answers, _) = deepen::check(test, &options, run);
        match &answers.refused {
            Some(why) => Judged::Open(why.clone()),
            None => compared(&self.original, &Known::new(&answers)),
        }
    }

    /// Whether interleavings end in the same states; None where that is too much to say.
    pub(super) fn computes_the_same(&self, program: &Program) -> Option<bool> {
        let kept = self.computes.get_or_init(|| {
            let mut program = self.test.program.clone();
            let waiting = waits::written(self.test);
            let threads = (0..).map(fencepost_program::ThreadId).zip(&self.test.program.threads);
            for (thread, found) in threads {
                let registers = found.registers.iter().enumerate();
                let results = registers.filter(|(_, it)| !waiting.contains(&(thread, it.name.to_string())));
                program.shown.extend(results.map(|(at, _)| Term::Register(thread, RegisterId::new(at))));
            }
            Kept::new(&self.test.with_program(program), self.model, self.options, &[])
        });
        kept.as_ref()?.are_all_of(program, self.model, self.options)
    }

    /// Whether another way to check finds the answers that it finds for the test.
    pub(super) fn confirm(&self, space: &Space, choices: &Choices, way: Way) -> Judged {
        let Some((_, program)) = changed_program(&self.test.litmus, &space.edits(choices)) else { return Judged::Lost };
        let original = match self.original_by(way) {
            Ok(known) => known,
            Err(why) => return Judged::Open(why),
        };
        match self.answers_by(&self.test.with_program(program), way) {
            Ok(known) => compared(&original, &known),
            Err(why) => Judged::Open(why),
        }
    }

    /// Whether the answers of the test are those of one run, which neither engine looked for.
    pub(super) fn is_one_run(&self) -> bool {
        self.original_by((EngineChoice::Auto, 0)).is_ok_and(|known| known.is_one_run)
    }

    /// How often loops are unrolled with so many rounds more.
    pub(super) fn unrolled(&self, rounds: u32) -> u32 {
        self.original.deepened.unwrap_or(self.options.bound) + rounds
    }

    fn answers_by(&self, test: &Test, (engine, rounds): Way) -> Result<Known, Why> {
        let bound = if rounds == 0 { self.options.bound } else { self.unrolled(rounds) };
        let _entered = (engine == EngineChoice::Enumerate).then(|| limits::enter_work(ALONE));
        let known = answers(test, self.model, &Options { bound, ..self.options.clone() }, engine)?;
        match limits::ended().filter(|_| engine == EngineChoice::Enumerate) {
            Some(ended) => Err(ended.into()),
            None => Ok(known),
        }
    }

    fn original_by(&self, way: Way) -> Result<Known, Why> {
        if way == (self.options.engine, 0) {
            return Ok(self.original.clone());
        }
        let known = self.repeated.borrow().iter().find(|(own, _)| *own == way).map(|(_, known)| known.clone());
        known.unwrap_or_else(|| {
            let known = self.answers_by(self.test, way);
            self.repeated.borrow_mut().push((way, known.clone()));
            known
        })
    }
}

/// The answers under every reading; why there are none, where one is not known.
fn answers(test: &Test, model: &LoadedModel, options: &Options, engine: EngineChoice) -> Result<Known, Why> {
    let options =
        Options { engine, outcomes: Outcomes::Capped, advice: Wanted::No, fingerprint: Wanted::No, ..options.clone() };
    let answers = readings::answers(test, model, &options);
    if let Some(why) = &answers.refused {
        return Err(why.clone());
    }
    let known = Known::new(&answers);
    match known.why() {
        Some(why) => Err(why.clone()),
        None => Ok(known),
    }
}

/// What was not asked is not compared.
fn compared(original: &Known, now: &Known) -> Judged {
    let mut judged = Judged::Same;
    for ((aspect, was), (_, is)) in original.answers.iter().zip(&now.answers) {
        let flags = || match aspect {
            Aspect::Races => now.flags.difference(&original.flags).cloned().collect(),
            _ => Vec::new(),
        };
        match (was, is) {
            (_, Answer::NotAsked) => {}
            (was, is) if was == is => {}
            // A model that has no notion of it, or a stage that does not look.
            (Answer::NotAsked | Answer::NotDefined | Answer::No, Answer::NotDefined | Answer::No) => {}
            (_, Answer::Unknown(why)) if judged == Judged::Same => judged = Judged::Open(why.clone()),
            (_, Answer::Unknown(_)) => {}
            (Answer::Yes(()), _) | (Answer::Depends(_), Answer::No) => judged = Judged::Lost,
            (_, Answer::Yes(()) | Answer::Depends(_)) => {
                return Judged::Changed(Difference { aspect: Some(*aspect), flags: flags() });
            }
            _ => judged = Judged::Lost,
        }
    }
    // A flag that is no race is something that the report says too.
    let new: Vec<RaceKey> = now.flags.difference(&original.flags).cloned().collect();
    match new.is_empty() {
        true => judged,
        false => Judged::Changed(Difference { aspect: Some(Aspect::Races), flags: new }),
    }
}
