//! Recovery on random programs against a fixpoint by the letter: the recovery program is written as a test of its own for every
//! image that a crash may leave, with the image as its initial values, and checked as any test is; the images that crashes of it
//! leave come next, until there is none that is new.

#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeSet;

use fencepost_check::options::Wanted;
use fencepost_check::{Options, check};
use fencepost_report::TerminationAnswer;
use fencepost_report::crash::Recovery;

use super::crash_compare::{Subject, images, loaded, options};
use super::crash_literal::State;
use super::crash_programs::{Asked, Claim, NAMES, Operation, Program, Random, Term, Thread, Update, program};
use super::crash_shrink::smaller;

/// A program, and what runs after a crash of it. The question of the recovery is about where it ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recovered {
    pub program: Program,
    pub recovery: Program,
}

impl Recovered {
    /// Of a number: both as random programs are, and shorter.
    pub fn new(number: u64) -> Recovered {
        let mut random = Random::new(number);
        let mut part = |threads: usize, steps: usize| {
            let mut drawn = program(random.below(1 << 40) as u64);
            drawn.threads.truncate(threads);
            drawn.threads.iter_mut().for_each(|thread: &mut Thread| thread.steps.truncate(steps));
            drawn
        };
        let program = Program { claims: Vec::new(), ..part(2, 4) };
        let recovery = part(1 + number as usize % 2, 3);
        let mut recovery = Program { is_persistent: program.is_persistent, ..recovery };
        for step in recovery.threads.iter_mut().flat_map(|thread| &mut thread.steps) {
            match &mut step.operation {
                // A recovery that counts leaves ever new images.
                Operation::Atomic { update, .. } => *update = Update::Exchange,
                // Nobody is left who could be waited for, but another thread of the recovery.
                Operation::Wait { from, order, .. } if random.percent(80) => {
                    step.operation = Operation::Load { from: *from, order: *order };
                }
                _ => {}
            }
        }
        let mut recovered = Recovered { program, recovery };
        recovered.recovery.claims.clear();
        recovered.ask(&mut random);
        recovered
    }

    fn ask(&mut self, random: &mut Random) {
        self.recovery.asked = random.pick(&[Asked::Exists, Asked::NotExists, Asked::ForAll]);
        let reading: Vec<Term> = self
            .recovery
            .steps()
            .filter(|(_, step)| step.operation.reads().is_some())
            .map(|(thread, step)| Term::Register(thread, step.number))
            .collect();
        let memory = random.below(3);
        self.recovery.claims.push(Claim { term: Term::Memory(memory), value: random.below(3) as u8 });
        if !reading.is_empty() && random.percent(50) {
            self.recovery.claims.push(Claim { term: random.pick(&reading), value: random.below(3) as u8 });
        }
    }

    pub fn text(&self) -> String {
        let (asked, condition) = (self.recovery.asked.words(), self.recovery.condition());
        format!("{}recover {{\n{}}}\nrecover {asked} ({condition})\n", self.program.body(), self.recovery.blocks())
    }
}

/// What is answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answers {
    pub question: bool,
    pub ends: bool,
    /// From how many images recovery was run; None where that need not be all, because nothing is left to be answered.
    pub states: Option<u64>,
}

/// What the report says; None if something is not known.
fn reported(recovered: &Recovered, subject: &Subject) -> Option<Answers> {
    let options = Options { termination: Wanted::Yes, ..options(subject) };
    let report = check(&loaded(&recovered.text()), subject.model(), &options).report;
    let recovery: Recovery = report.crashes?.recovery?;
    let word = |word: &str| match word {
        "Holds" => Some(true),
        "Violated" => Some(false),
        _ => None,
    };
    let answer = recovery.questions.first()?;
    let (question, ends) = (word(answer.verdict.word())?, word(recovery.ending.verdict.word())?);
    let is_found = answer.witness.is_some() && !ends;
    Some(Answers { question, ends, states: (!is_found).then_some(recovery.states) })
}

/// The same by the letter, and whether crashes of recoveries leave images that those of the program do not.
fn expected(recovered: &Recovered, subject: &Subject) -> Option<(Answers, bool)> {
    let mut waiting: Vec<State> = images(&recovered.program, subject)?.into_iter().collect();
    let mut known: BTreeSet<State> = waiting.iter().cloned().collect();
    let first = known.len();
    let (mut is_met, mut is_always, mut ends) = (false, true, true);
    while let Some(image) = waiting.pop() {
        let value = |place: usize| image.get(NAMES[place]).map_or(0, |value| *value as u8);
        let initial = std::array::from_fn(value);
        let run = Program { initial, ..recovered.recovery.clone() };
        ends &= ends_always(&run, subject)?;
        is_met |= is_reached(&run, "exists", subject)?;
        is_always &= is_reached(&run, "forall", subject)?;
        for left in images(&run, subject)? {
            if known.insert(left.clone()) {
                waiting.push(left);
            }
        }
    }
    let question = match recovered.recovery.asked {
        Asked::Exists => is_met,
        // A promise about the end is not kept by a run that has none.
        Asked::NotExists => !is_met && ends,
        Asked::ForAll => is_always && ends,
    };
    Some((Answers { question, ends, states: Some(known.len() as u64) }, known.len() > first))
}

/// Whether an ordinary question about the recovery holds.
fn is_reached(run: &Program, word: &str, subject: &Subject) -> Option<bool> {
    let text = format!("{}{word} ({})\n", run.body(), run.condition());
    let report = check(&loaded(&text), subject.model(), &options(subject)).report;
    match report.questions.first()?.verdict.word() {
        "Holds" => Some(true),
        "Violated" => Some(false),
        _ => None,
    }
}

fn ends_always(run: &Program, subject: &Subject) -> Option<bool> {
    let options = Options { termination: Wanted::Yes, ..options(subject) };
    let text = format!("{}exists (true)\n", run.body());
    match check(&loaded(&text), subject.model(), &options).report.termination.answer {
        TerminationAnswer::Terminates => Some(true),
        TerminationAnswer::MayHang => Some(false),
        _ => None,
    }
}

/// What was compared.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    pub compared: u64,
    pub images: u64,
    pub holds: u64,
    pub hangs: u64,
    /// Recoveries that must run from images of recoveries too.
    pub nested: u64,
    pub open: u64,
}

/// The answers that differ: reported, and by the letter.
pub fn difference(recovered: &Recovered, subject: &Subject, tally: &mut Tally) -> Option<(Answers, Answers)> {
    let (Some(reported), Some((expected, is_nested))) = (reported(recovered, subject), expected(recovered, subject))
    else {
        tally.open += 1;
        return None;
    };
    tally.compared += 1;
    tally.images += expected.states.unwrap_or(0);
    tally.holds += u64::from(expected.question);
    tally.hangs += u64::from(!expected.ends);
    tally.nested += u64::from(is_nested);
    let same_states = reported.states.is_none() || reported.states == expected.states;
    let is_same = (reported.question, reported.ends) == (expected.question, expected.ends) && same_states;
    (!is_same).then_some((reported, expected))
}

/// Compares one pair of programs; the error is the smallest pair that differs.
pub fn compare(recovered: &Recovered, subject: &Subject, tally: &mut Tally) -> Result<(), String> {
    if difference(recovered, subject, tally).is_none() {
        return Ok(());
    }
    let mut small = recovered.clone();
    loop {
        let with_program = smaller(&small.program).into_iter().map(|program| Recovered { program, ..small.clone() });
        let with_recovery =
            smaller(&small.recovery).into_iter().map(|recovery| Recovered { recovery, ..small.clone() });
        let all = with_program.chain(with_recovery).map(|mut next| {
            next.recovery.is_persistent = next.program.is_persistent;
            next
        });
        let Some(next) = { all }.find(|next| difference(next, subject, &mut Tally::default()).is_some()) else { break };
        small = next;
    }
    let found = difference(&small, subject, &mut Tally::default());
    Err(format!("under {}\n{}(reported, by the letter): {found:?}", subject.words(), small.text()))
}
