//! Whether a changed test is right: every want, no race, nobody who waits for good, no broken rule of mbarriers.
//!
//! Contested points are read at their weakest: what no execution does there none does under a stronger reading. That what must
//! stay possible does under all readings is asked once, of the repair itself.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use fencepost_check::judge::deepen;
use fencepost_check::judge::found::{Answers, Aspect};
use fencepost_check::judge::readings::{self, Runs};
use fencepost_check::model::load::LoadedModel;
use fencepost_check::options::{CrossCheck, EngineChoice, Options, Outcomes, Wanted};
use fencepost_check::test::Test;
use fencepost_report::answer::Answer;
use fencepost_report::why::Why;

use super::space::changed_program;
use super::want::Want;
use crate::edit::Edit;

/// What is wrong with a changed test.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Judged {
    Right,
    /// Something that must not be is possible.
    Wrong,
    /// Something that must be possible is not, or the change has no meaning.
    Lost,
    Open(Why),
}

pub(super) struct Oracle<'o> {
    pub(super) test: &'o Test,
    pub(super) model: &'o LoadedModel,
    pub(super) options: &'o Options,
    pub(super) wants: &'o [Want],
    /// What is looked at first: what was wrong last.
    first: Cell<Stage>,
    known: RefCell<BTreeMap<Vec<usize>, Judged>>,
    /// How many changed tests were looked at.
    pub(super) asked: Cell<u64>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Stage {
    Questions,
    Races,
    Ends,
}

impl<'o> Oracle<'o> {
    pub(super) fn new(test: &'o Test, model: &'o LoadedModel, options: &'o Options, wants: &'o [Want]) -> Oracle<'o> {
        let (known, asked) = (RefCell::default(), Cell::new(0));
        Oracle { test, model, options, wants, first: Cell::new(Stage::Questions), known, asked }
    }

    /// The test with these changes, which are known by their numbers.
    pub(super) fn judge(&self, name: &[usize], edits: &[&Edit]) -> Judged {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        let judged = self.look(edits);
        if !matches!(judged, Judged::Open(_)) {
            self.known.borrow_mut().insert(name.to_vec(), judged.clone());
        }
        judged
    }

    fn look(&self, edits: &[&Edit]) -> Judged {
        let Some((_, program)) = changed_program(&self.test.litmus, edits) else { return Judged::Lost };
        self.asked.set(self.asked.get() + 1);
        let test = self.test.with_program(program);
        let mut stages = vec![Stage::Questions, Stage::Races, Stage::Ends];
        stages.sort_by_key(|stage| *stage != self.first.get());
        let mut open = None;
        for stage in stages {
            if self.options.budget.is_over() {
                return Judged::Open(Why::Time);
            }
            match self.stage(&test, stage) {
                // What is wrong with the questions the search for races sees too, and with more effort.
                Judged::Right | Judged::Open(_) if stage == Stage::Questions => {}
                Judged::Right => {}
                Judged::Open(why) => {
                    open.get_or_insert(why);
                }
                wrong => {
                    self.first.set(stage);
                    return wrong;
                }
            }
        }
        open.map_or(Judged::Right, Judged::Open)
    }

    fn stage(&self, test: &Test, stage: Stage) -> Judged {
        let wanted = |is: bool| if is { Wanted::Yes } else { Wanted::No };
        if stage == Stage::Questions && self.wants.is_empty() {
            return Judged::Right;
        }
        let options = Options {
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
        if let Some(why) = &answers.refused {
            return Judged::Open(why.clone());
        }
        let mut judged = self.of_wants(&answers, stage);
        for found in [&answers.race, &answers.protocol, &answers.hang.plain()] {
            judged = match found {
                Answer::Yes(()) => Judged::Wrong,
                Answer::Unknown(why) if judged == Judged::Right => Judged::Open(why.clone()),
                _ => judged,
            };
        }
        judged
    }

    fn of_wants(&self, answers: &Answers, stage: Stage) -> Judged {
        let mut judged = Judged::Right;
        for want in self.wants.iter().filter(|_| stage != Stage::Ends) {
            match (answers.answer(want.aspect), want.possible) {
                (Answer::Yes(()) | Answer::Depends(_), false) => return Judged::Wrong,
                (Answer::No | Answer::Depends(_), true) => judged = Judged::Lost,
                (Answer::Unknown(why), _) if judged == Judged::Right => judged = Judged::Open(why),
                _ => {}
            }
        }
        judged
    }

    /// The same for a repair: under every reading, with more rounds of its loops, and with this engine.
    pub(super) fn confirm(&self, edits: &[&Edit], engine: EngineChoice, rounds: u32) -> Judged {
        let Some((_, program)) = changed_program(&self.test.litmus, edits) else { return Judged::Lost };
        let test = self.test.with_program(program);
        let options = Options {
            engine,
            bound: self.options.bound + rounds,
            outcomes: Outcomes::Capped,
            advice: Wanted::No,
            fingerprint: Wanted::No,
            ..self.options.clone()
        };
        let answers = readings::answers(&test, self.model, &options);
        if let Some(why) = &answers.refused {
            return Judged::Open(why.clone());
        }
        let mut judged = self.of_wants(&answers, Stage::Questions);
        for aspect in [Aspect::Races, Aspect::Protocol, Aspect::Termination] {
            judged = match answers.answer(aspect) {
                Answer::Yes(()) | Answer::Depends(_) => Judged::Wrong,
                Answer::Unknown(why) if judged == Judged::Right => Judged::Open(why),
                _ => judged,
            };
        }
        judged
    }
}
