//! One test under one model, with the readings of the specification that matter to it.
//!
//! Every contested point that the program touches and nobody decided is read at its weakest, then all of them at their
//! strongest. If every execution that was found there is judged to stand, nothing is searched again: what was not found is not
//! there either. Where both give the same answer, the points do not matter to it: what lies between the ends promises no less
//! than the one and no more than the other, though two values between them need not be comparable. Where they do not, the
//! answer is `Depends`, and the smallest set of points that changes it is looked for: with the others at their weakest and
//! the members at their strongest, sets of one point first. The answer is then told under each combination of all values.
//! Questions, races, termination and protocols are told apart, because they depend on different points.

use std::sync::Arc;

use fencepost_axiom::engine::Goal;
use fencepost_axiom::replay::Judgement;
use fencepost_axiom::watch::Watch;
use fencepost_program::program::Term;
use fencepost_program::unfold;
use fencepost_program::unfolding::Unfolding;
use fencepost_report::answer::Answer;
use fencepost_report::verdict::{Case, Dependence, Verdict};
use fencepost_report::why::{Undecided, Why};
use fencepost_report::{Race, UsedReading};
use fencepost_syntax::limits;
use fencepost_syntax::litmus::QuestionKind;
use fencepost_syntax::sorted::{SharedSort as _, SortedMap, SortedSet};

use crate::budget::Budget;
use crate::judge::found::{Answers, Aspect, Broken, Checked, Crashed, RacePlace, Raced, Recovered, Shown};
use crate::judge::layers::answers_as_read;
use crate::judge::refusal::refused;
use crate::judge::{crash, deepen, recovery, verdict};
use crate::look::replayer::Replayer;
use crate::look::{outcome, race_search};
use crate::model::load::LoadedModel;
use crate::model::readings::{Point, Settings};
use crate::options::Options;
use crate::test::{Test, persist_granularity};
use crate::write;
use crate::write::race_order;
use crate::write::report::Judged;

/// Every answer of a test is unknown, for the reason that it was not looked at or not to the end.
pub fn undecided(test: &Test, model: &LoadedModel, options: &Options, why: Why) -> Checked {
    write::report::checked(test, model, options, refused(test, model, options, why))
}

/// Answers one test under one model.
pub fn check(test: &Test, model: &LoadedModel, options: &Options) -> Checked {
    let options = &options.begun();
    let _entered = enter(options);
    let cut = persist_granularity::cut(test, options.persist_granularity);
    let test = cut.as_ref().unwrap_or(test);
    let shown = outcome::showing_registers(test);
    let test = shown.as_ref().unwrap_or(test);
    let (mut checked, _) = answer(test, model, options);
    if let Some(cut) = &cut {
        checked.test.get_or_insert_with(|| Arc::new(cut.clone()));
    }
    race_order::leave_out_told(&mut checked);
    race_order::put_causes_first(test, &mut checked);
    checked.report.list_outcomes(options.most_outcomes);
    checked
}

/// The verdicts of one test under one model, without a report: what is compared with others' verdicts.
pub fn judge(test: &Test, model: &LoadedModel, options: &Options) -> Judged {
    let options = &options.begun();
    let _entered = enter(options);
    let cut = persist_granularity::cut(test, options.persist_granularity);
    let test = cut.as_ref().unwrap_or(test);
    let shown = outcome::showing_registers(test);
    let test = shown.as_ref().unwrap_or(test);
    let mut answers = answers(test, model, options);
    let judged = write::report::judged(test, &answers);
    if let Some(unfolding) = answers.unfolding.take().and_then(Arc::into_inner) {
        unfold::give_back(unfolding);
    }
    judged
}

/// Enters the limits of a check, for what asks them by itself.
pub fn enter(options: &Options) -> limits::Entered {
    limits::enter(options.budget.hard_end(), None)
}

/// The answers across all readings, without a report.
pub fn answers(test: &Test, model: &LoadedModel, options: &Options) -> Answers {
    deepen::check(test, options, |options| check_readings(test, model, options)).0
}

/// The answers, races in the order of the text, and how often loops were unrolled for them.
pub fn answer(test: &Test, model: &LoadedModel, options: &Options) -> (Checked, u32) {
    let (answers, bound) = deepen::check(test, options, |options| check_readings(test, model, options));
    (write::report::checked(test, model, options, answers), bound)
}

fn check_readings(test: &Test, model: &LoadedModel, options: &Options) -> Answers {
    let mut runs = Runs::new(test, model, options);
    let mut answers = runs.answers(&options.readings);
    let touched = |point: &&Point| {
        point.is_contested()
            && options.readings.get(&point.name).is_none()
            && answers.unfolding.as_ref().is_some_and(|unfolding| point.is_touched(unfolding))
    };
    let points: Vec<&Point> = model.points.iter().filter(touched).collect();
    answers.readings = used(model, &options.readings, &points);
    if points.is_empty() {
        return answers;
    }
    let weakest = Outline::new(test, &answers);
    if weakest.is_clean() && points.iter().all(|point| point.id.is_some()) {
        return answers;
    }
    runs.done.insert(options.readings.clone(), weakest.clone());
    runs.known = Some(Known::new(test, &answers));
    let is_ordered = points.iter().all(|point| point.id.is_some());
    if is_ordered && runs.stands_whole(&answers, &set(&options.readings, &points)) {
        answers.agreed = (!weakest.more).then_some(weakest.pairs);
        return answers;
    }
    let strongest = runs.outline(&set(&options.readings, &points));
    // Races that the strongest readings do not have are contested.
    let is_decided = strongest.word(Aspect::Races).is_some_and(|answer| !is_unknown(answer)) && !strongest.more;
    answers.agreed = is_decided.then(|| strongest.pairs.clone());
    for (aspect, &answer) in &weakest.answers {
        let other = strongest.word(*aspect);
        if other == Some(&answer) {
            continue;
        }
        let is_open = other.is_none_or(|other| is_unknown(other));
        if !is_unknown(answer) && is_open && runs.stands(*aspect, &set(&options.readings, &points)) {
            continue;
        }
        let across = if is_unknown(answer) || is_open {
            // One end gave no answer, so there is none.
            let why = answers.answer(*aspect).why().cloned().or_else(|| strongest.why.clone());
            Answer::Unknown(Why::Size(Undecided::Readings(why.map(Box::new))))
        } else {
            Answer::Depends(runs.dependence(*aspect, answer, &points))
        };
        answers.across.insert(*aspect, across);
    }
    answers
}

/// What a run answered, in words.
#[derive(Clone, Debug)]
struct Outline {
    answers: SortedMap<Aspect, &'static str>,
    /// Of races.
    pairs: SortedSet<RacePlace>,
    /// Those are not all.
    more: bool,
    /// No question has a witness, nothing races, no rule is broken, everything ends.
    is_absent: bool,
    /// Why something is not known, if something is not.
    why: Option<Why>,
}

impl Outline {
    fn new(test: &Test, answers: &Answers) -> Outline {
        let word = |aspect| (aspect, word(test, aspect, &answers.answer(aspect)));
        let open = |verdict| match verdict {
            Verdict::Unknown(why) => Some(why),
            _ => None,
        };
        let why = answers.findings.iter().find_map(Answer::why).cloned();
        let why = why.or_else(|| open(verdict::of_test(test, answers)));
        let is_absent = (0..answers.findings.len()).all(|at| answers.witness(at).is_none())
            && answers.crash.as_ref().is_none_or(|crash| !crash.shows_any())
            && !answers.race.is_yes()
            && !answers.protocol.is_yes()
            && !answers.hang.is_yes();
        Outline {
            answers: answers.aspects().map(word).collect(),
            pairs: answers.race_places().collect(),
            more: answers.has_more_races(),
            is_absent,
            why: why.or_else(|| answers.hang.why().cloned()),
        }
    }

    fn word(&self, aspect: Aspect) -> Option<&&'static str> {
        self.answers.get(&aspect)
    }

    /// Nothing was found, and everything was looked at. A stronger reading of the ISA takes executions and races away and
    /// never adds any: that is what makes it stronger. Of somebody's own readings that is not known.
    fn is_clean(&self) -> bool {
        self.is_absent && self.answers.values().all(|answer| !is_unknown(answer))
    }
}

/// An answer as a dependence tells it.
fn word(test: &Test, aspect: Aspect, answer: &Answer) -> &'static str {
    let (yes, no) = match aspect {
        Aspect::Question(at) => {
            let kind = test.program.questions.get(at).map_or(QuestionKind::Check, |question| question.kind);
            return verdict::of_question(kind, answer).word();
        }
        Aspect::Crash(at) => {
            let kind = test.program.crash.questions.get(at).map_or(QuestionKind::Check, |question| question.kind);
            return verdict::of_question(kind, answer).word();
        }
        Aspect::Recovery(at) => {
            let asked = test.program.crash.recovery.as_ref().and_then(|recovery| recovery.program.questions.get(at));
            let kind = asked.map_or(QuestionKind::Check, |question| question.kind);
            return verdict::of_question(kind, answer).word();
        }
        Aspect::Races => ("race", "none"),
        Aspect::Protocol => ("broken", "kept"),
        Aspect::Termination => ("may hang", "terminates"),
    };
    match answer {
        Answer::Yes(()) => yes,
        Answer::No => no,
        Answer::Depends(_) => "depends",
        Answer::Unknown(_) => "unknown",
        Answer::NotDefined => "not defined",
        Answer::NotAsked => "not asked",
    }
}

fn is_unknown(answer: &str) -> bool {
    answer.eq_ignore_ascii_case("unknown")
}

/// A race by what is the same under all readings: its flag, and the lines and columns of its accesses.
pub type Places = (String, u32, u32, u32, u32);

pub fn places(race: &Race) -> Places {
    (race.flag.clone(), race.first.line, race.first.column, race.second.line, race.second.column)
}

/// The settings with these points at their strongest.
fn set(settings: &Settings, points: &[&Point]) -> Settings {
    points.iter().fold(settings.clone(), |settings, point| settings.with(&point.name, point.strongest()))
}

fn used(model: &LoadedModel, chosen: &Settings, touched: &[&Point]) -> Vec<UsedReading> {
    let used = |point: &Point| {
        let value = chosen.get(&point.name);
        let matters = value.is_some() || touched.iter().any(|touched| touched.name == point.name);
        matters.then(|| UsedReading {
            name: point.name.clone(),
            value: value.unwrap_or(&point.default).to_owned(),
            chosen: value.is_some(),
        })
    };
    model.points.iter().filter_map(used).collect()
}

/// Checks of one test under several readings, each done once.
pub struct Runs<'a> {
    pub test: &'a Test,
    pub model: &'a LoadedModel,
    pub options: &'a Options,
    done: SortedMap<Settings, Outline>,
    known: Option<Known>,
}

/// The executions behind the first answers.
struct Known {
    /// Per question.
    witnesses: Vec<Option<Shown>>,
    /// Each with its flag.
    races: Vec<(String, Shown)>,
    /// In which rules about mbarriers are broken.
    broken: Vec<Shown>,
    hang: Option<Shown>,
    /// What the states of crashes are told by.
    terms: Vec<Term>,
    /// Per question about crashes.
    crashes: Vec<Option<Crashed>>,
    /// Per question about recovery.
    recoveries: Vec<Option<Recovered>>,
}

impl Known {
    fn new(test: &Test, answers: &Answers) -> Known {
        // Whether a witness passes the filter under other readings is not asked. A filter does not apply to crashes.
        let is_filtered = test.program.filter.is_some();
        let questions = if is_filtered { 0 } else { answers.findings.len() };
        let witnesses = (0..questions).map(|at| answers.witness(at).cloned()).collect();
        let races = answers.races.iter().filter(|_| !is_filtered).flat_map(|Raced { set, of }| {
            let pairs = set.races.iter().filter(|(key, _)| key.is_pair());
            pairs.map(|(key, example)| {
                (key.flag.clone(), Shown { execution: Arc::clone(&example.execution), of: Arc::clone(of) })
            })
        });
        let broken = answers.broken.iter().flat_map(|Broken { set, of }| {
            let errors = set.errors.iter().filter(|(key, _)| key.kind.is_error());
            errors.map(|(_, error)| Shown { execution: Arc::new(error.execution.clone()), of: Arc::clone(of) })
        });
        let crash = answers.crash.as_ref();
        let crashes = crash.map_or(Vec::new(), |crash| shown(&crash.findings));
        let recovery = crash.and_then(|crash| crash.recovery.as_ref());
        Known {
            witnesses,
            races: races.collect(),
            broken: broken.take(1).collect(),
            hang: answers.hang.yes().cloned(),
            terms: crash.map_or(Vec::new(), |crash| crash.terms.clone()),
            crashes,
            recoveries: recovery.map_or(Vec::new(), |recovery| shown(&recovery.findings)),
        }
    }
}

/// The evidence, where there is some.
fn shown<E: Clone>(findings: &[Answer<E>]) -> Vec<Option<E>> {
    findings.iter().map(|finding| finding.yes().cloned()).collect()
}

impl<'a> Runs<'a> {
    pub fn new(test: &'a Test, model: &'a LoadedModel, options: &'a Options) -> Runs<'a> {
        Runs { test, model, options, done: SortedMap::new(), known: None }
    }

    pub fn check(&self, settings: &Settings) -> Checked {
        write::report::checked(self.test, self.model, self.options, self.answers(settings))
    }

    /// With every contested point that nobody decided at its weakest.
    pub fn at_weakest(&self) -> Answers {
        self.answers(&self.options.readings)
    }

    fn answers(&self, settings: &Settings) -> Answers {
        let options = self.options;
        match self.model.under(settings, self.test.program.version) {
            Ok(None) => answers_as_read(self.test, self.model, options),
            Ok(Some(model)) => {
                let answers = answers_as_read(self.test, &model, options);
                Answers { model: Some(model), ..answers }
            }
            Err(error) => refused(self.test, self.model, options, Why::Internal(error.to_string())),
        }
    }

    fn outline(&mut self, settings: &Settings) -> Outline {
        if let Some(outline) = self.done.get(settings) {
            return outline.clone();
        }
        let outline = Outline::new(self.test, &self.answers(settings));
        self.done.insert(settings.clone(), outline.clone());
        outline
    }

    fn answer(&mut self, aspect: Aspect, settings: &Settings) -> &'static str {
        if aspect == Aspect::Races && !self.done.contains_key(settings) && self.still_races(settings) {
            return word(self.test, aspect, &Answer::Yes(()));
        }
        let unknown = Answer::Unknown(Why::Size(Undecided::Races));
        self.outline(settings).word(aspect).copied().unwrap_or_else(|| word(self.test, aspect, &unknown))
    }

    /// Whether what was found is there under these readings too, though a search was cut short.
    fn stands(&self, aspect: Aspect, settings: &Settings) -> bool {
        match aspect {
            Aspect::Races => self.still_races(settings),
            Aspect::Question(at) => self.still_shows(at, settings),
            Aspect::Crash(at) => self.still_crashes(at, settings),
            Aspect::Recovery(at) => self.still_recovers(at, settings),
            Aspect::Protocol | Aspect::Termination => false,
        }
    }

    /// Whether the crash that answers a question is one under these readings too.
    fn still_crashes(&self, question: usize, settings: &Settings) -> bool {
        let Some(known) = &self.known else { return false };
        let Some(Some(crashed)) = known.crashes.get(question) else { return false };
        let Ok(model) = self.model.under(settings, self.test.program.version) else { return false };
        crash::stands(model.as_deref().unwrap_or(self.model), &known.terms, crashed, &self.options.budget)
    }

    /// Whether the crashes and the run after them that answer a question are possible under these readings too.
    fn still_recovers(&self, question: usize, settings: &Settings) -> bool {
        let Some(known) = &self.known else { return false };
        let Some(Some(recovered)) = known.recoveries.get(question) else { return false };
        let Ok(model) = self.model.under(settings, self.test.program.version) else { return false };
        let model = model.as_deref().unwrap_or(self.model);
        recovery::confirm(self.test, model, &known.terms, recovered, &self.options.budget)
    }

    /// Whether the witness of a question is consistent under these readings: then it answers the question there too.
    fn still_shows(&self, question: usize, settings: &Settings) -> bool {
        let Some(known) = &self.known else { return false };
        let Some(Some(shown)) = known.witnesses.get(question) else { return false };
        let Ok(read) = self.model.under(settings, self.test.program.version) else { return false };
        self.judge(read.as_deref()).stands(shown, |_| true)
    }

    /// Whether a race that is known is one under these readings too: its execution is judged again, which is much less
    /// than a search.
    fn still_races(&self, settings: &Settings) -> bool {
        let Some(known) = &self.known else { return false };
        let Ok(read) = self.model.under(settings, self.test.program.version) else { return false };
        let mut judge = self.judge(read.as_deref());
        let flags = judge.model.flags();
        let races = |judged: &Judgement| judged.flags.iter().any(|(flag, _)| flags.is_race(flag));
        known.races.iter().any(|(_, shown)| judge.stands(shown, races))
    }

    /// Whether every answer that rests on an execution does so under these stronger readings too. The others are the same
    /// then: a stronger reading of the ISA takes executions and races away and never adds any.
    fn stands_whole(&self, answers: &Answers, settings: &Settings) -> bool {
        let Some(known) = &self.known else { return false };
        let races = answers.race_places().count();
        if known.races.len() < races || self.test.program.filter.is_some() {
            return false;
        }
        let found = |aspect: &Aspect| answers.answer(*aspect).is_yes();
        let is_shown = |aspect: &Aspect| match aspect {
            Aspect::Races => !known.races.is_empty(),
            Aspect::Protocol => !known.broken.is_empty(),
            Aspect::Question(at) => known.witnesses.get(*at).is_some_and(Option::is_some),
            Aspect::Crash(_) | Aspect::Recovery(_) => self.stands(*aspect, settings),
            Aspect::Termination => true,
        };
        let recovers = answers.crash.as_ref().and_then(|crash| crash.recovery.as_ref());
        if recovers.is_some_and(|recovery| recovery.hang.is_yes())
            || !answers.aspects().filter(found).all(|it| is_shown(&it))
        {
            return false;
        }
        let Ok(read) = self.model.under(settings, self.test.program.version) else { return false };
        let mut judge = self.judge(read.as_deref());
        let mut plain = known.witnesses.iter().flatten().chain(&known.broken).chain(&known.hang);
        plain.all(|shown| judge.stands(shown, |_| true))
            && known.races.iter().all(|(flag, shown)| {
                judge.stands(shown, |judged| judged.flags.iter().any(|(raised, _)| raised == flag))
            })
    }

    fn judge<'j>(&'j self, read: Option<&'j LoadedModel>) -> Judge<'j> {
        Judge { model: read.unwrap_or(self.model), budget: &self.options.budget, last: None }
    }

    /// The smallest set of points that changes this answer. That all of them together do is known.
    fn dependence(&mut self, aspect: Aspect, weakest: &'static str, points: &[&Point]) -> Dependence {
        let mut sets: Vec<u32> = (1..1u32 << points.len().min(16)).collect();
        sets.shared_sort_by_key(|set| (set.count_ones(), *set));
        let mut smallest = points.to_vec();
        for bits in sets {
            let chosen: Vec<&Point> = members(points, bits);
            let answer = self.answer(aspect, &set(&self.options.readings, &chosen));
            if answer != weakest && !is_unknown(answer) {
                smallest = chosen;
                break;
            }
        }
        let mut combinations: Vec<(Vec<String>, Settings)> = vec![(Vec::new(), self.options.readings.clone())];
        for point in &smallest {
            let grow = |(values, settings): &(Vec<String>, Settings)| {
                let one = |value: &String| {
                    let mut values = values.clone();
                    values.push(value.clone());
                    (values, settings.with(&point.name, value))
                };
                point.values.iter().map(one).collect::<Vec<_>>()
            };
            combinations = combinations.iter().flat_map(grow).collect();
        }
        // Each point at its weakest is what was asked first, whatever time is left.
        let is_weakest = |values: &[String]| values.iter().zip(&smallest).all(|(value, point)| *value == point.default);
        let mut case = |(values, settings): (Vec<String>, Settings)| {
            let answer = if is_weakest(&values) { weakest } else { self.answer(aspect, &settings) };
            Case { values, answer: answer.to_owned() }
        };
        let cases = combinations.into_iter().map(&mut case).collect();
        Dependence { readings: smallest.iter().map(|point| point.name.clone()).collect(), cases }
    }
}

/// Judges executions by the evaluator that shares no code with the engines. Mostly they are all of one unfolding.
struct Judge<'a> {
    model: &'a LoadedModel,
    budget: &'a Budget,
    last: Option<(&'a Arc<Unfolding>, Replayer<'a>)>,
}

impl<'a> Judge<'a> {
    /// Whether an execution is one of the model, and what the model says of it is this.
    fn stands(&mut self, shown: &'a Shown, says: impl FnOnce(&Judgement) -> bool) -> bool {
        let Shown { execution, of } = shown;
        if self.last.as_ref().is_none_or(|(last, _)| !Arc::ptr_eq(last, of)) {
            let Ok(replayer) = Replayer::new(self.model, of) else { return false };
            self.last = Some((of, replayer.watched(|| Watch::new(&self.budget.judging()))));
        }
        let Some((_, replayer)) = &self.last else { return false };
        let judged = replayer.judge(execution, &Goal::new(race_search::ends(of, execution)));
        judged.is_ok_and(|judged| judged.violated.is_empty() && says(&judged))
    }
}

fn members<'p>(points: &[&'p Point], bits: u32) -> Vec<&'p Point> {
    points.iter().enumerate().filter(|(at, _)| bits & 1 << at != 0).map(|(_, point)| *point).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fencepost_syntax::Source;

    use super::*;
    use crate::{Models, load};

    /// A crash that was found is judged again where the search under other readings gave no answer.
    #[test]
    fn a_crash_that_was_found_stands_under_the_readings_that_allow_it() {
        let text = "PTX t\n{ nvm x = 0; nvm z = 0; }\nP0@cta 0 { st.relaxed.gpu.u32 [z], 1; ofence; st.relaxed.gpu.u32 [x], 1; }\n\
                    P1@cta 1 { st.relaxed.gpu.u32 [x], 2; }\n\
                    recover { P0@cta 0 { ld.relaxed.gpu.u32 %r1, [x]; } }\n\
                    crash exists (x = 1)\nrecover exists (P0:%r1 = 1)\n";
        let test = load(&Source::new("t.litmus", text)).0.remove(0);
        let model = Models::shipped("sbrp").expect("shipped");
        let options = Options::default();
        let mut runs = Runs::new(&test, &model, &options);
        runs.known = Some(Known::new(&test, &runs.answers(&options.readings)));
        let ordered = options.readings.with("same-address", "ordered");
        assert!(runs.stands(Aspect::Crash(0), &ordered) && runs.stands(Aspect::Recovery(0), &ordered));
        // A crash that leaves this loses a write that is coherence-before the one that is kept.
        let text = text.replace("crash exists (x = 1)", "crash exists (x = 2 /\\ z = 0)");
        let text = text
            .replace("P1@cta 1 {", "P1@cta 1 { L: ld.relaxed.gpu.u32 %r1, [x]; setp.ne.u32 %p1, %r1, 1; @%p1 bra L; ");
        let test = load(&Source::new("t.litmus", text)).0.remove(0);
        let mut runs = Runs::new(&test, &model, &options);
        runs.known = Some(Known::new(&test, &runs.answers(&options.readings)));
        assert!(runs.known.as_ref().is_some_and(|known| known.crashes[0].is_some()));
        assert!(!runs.stands(Aspect::Crash(0), &ordered));
    }

    /// Where every execution that was found stands under the strongest readings, a whole search there answers the same.
    #[test]
    fn what_stands_is_what_a_search_finds() {
        let options = Options::default();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
        let model = Models::shipped("ptx").expect("shipped");
        let (mut standing, mut falling) = (0, 0);
        for group in ["async", "atomicity", "omission", "races", "wild"] {
            let files = std::fs::read_dir(folder.join(group)).expect("the corpus has it");
            let mut files: Vec<_> = files.map(|file| file.expect("readable").path()).collect();
            files.retain(|file| file.extension().is_some_and(|extension| extension == "litmus"));
            files.sort();
            for file in &files {
                let text = std::fs::read_to_string(file).expect("readable");
                for test in load(&Source::new("t.litmus", text)).0 {
                    let mut runs = Runs::new(&test, &model, &options);
                    let answers = runs.answers(&options.readings);
                    let Some(unfolding) = &answers.unfolding else { continue };
                    let touched = |point: &&Point| point.is_contested() && point.is_touched(unfolding);
                    let points: Vec<&Point> = model.points.iter().filter(touched).collect();
                    let weakest = Outline::new(&test, &answers);
                    if points.is_empty() || weakest.is_clean() {
                        continue;
                    }
                    let settings = set(&options.readings, &points);
                    runs.known = Some(Known::new(&test, &answers));
                    if !runs.stands_whole(&answers, &settings) {
                        falling += 1;
                        continue;
                    }
                    standing += 1;
                    let strongest = runs.outline(&settings);
                    assert_eq!(strongest.answers, weakest.answers, "{}", file.display());
                    assert_eq!(strongest.pairs, weakest.pairs, "{}", file.display());
                }
            }
        }
        assert!(standing > 10 && falling > 2, "{standing} stand and {falling} do not");
    }
}
