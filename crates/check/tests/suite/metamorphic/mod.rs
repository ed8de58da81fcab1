//! Monotonicity of the model `ptx`, mechanically: a program with one strengthening more (a fence, a wider scope, stronger
//! semantics, a barrier that all its participants pass, a wait) has no outcome, no race and no broken rule that it did not
//! have without. Where one has, either the model forgets an order that a stronger program should keep, or the
//! strengthening is none; both are worth a look.
//!
//! A difference is made smaller: statements are left out of both programs for as long as it is there.

// Used by a test and by an example, each of which leaves some of it out.
#![allow(dead_code, unreachable_pub)]

pub mod edits;
pub mod programs;

use std::collections::BTreeSet;
use std::time::Duration;

use fencepost_check::model::readings::{Settings, Standing};
use fencepost_check::options::{CrossCheck, Outcomes};
use fencepost_check::{LoadedModel, Options, Test, check};
use fencepost_program::lower::lower;
use fencepost_program::program::{LocationRole, Program, Term};
use fencepost_program::{LocationId, RegisterId, ThreadId};
use fencepost_report::{Access, ProtocolAnswer, Race, RaceAnswer, Report, TerminationAnswer};
use fencepost_syntax::Diagnostic;
use fencepost_syntax::litmus::{Litmus, Statement, print};

use edits::{Edit, Kind};

/// Programs with more registers and locations than this are compared by what they ask for.
const MOST_TERMS: usize = 16;

/// A generator of numbers, the same on every machine (xorshift*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(number).unwrap_or(0) % limit.max(1)
    }

    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        if all.is_empty() { None } else { Some(&all[self.below(all.len())]) }
    }

    pub fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

/// Which of the contested readings are taken.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Readings {
    Weakest,
    Strongest,
}

impl Readings {
    pub fn of(self, model: &LoadedModel) -> Settings {
        let contested = model.points.iter().filter(|point| point.standing == Standing::Contested);
        contested.fold(Settings::default(), |all, point| match self {
            Readings::Weakest => all.with(&point.name, point.weakest()),
            Readings::Strongest => all.with(&point.name, point.strongest()),
        })
    }
}

/// What a program does, as far as it was seen.
pub struct Facts {
    outcomes: Option<BTreeSet<String>>,
    races: Option<BTreeSet<String>>,
    rules: Option<BTreeSet<String>>,
    may_hang: Option<bool>,
    /// What was seen whether or not it is all.
    seen: (BTreeSet<String>, BTreeSet<String>, BTreeSet<String>),
}

pub struct Subject<'m> {
    pub model: &'m LoadedModel,
    pub readings: Settings,
    pub time_limit: Duration,
}

/// The names by which two programs are compared.
type Shown = Option<BTreeSet<String>>;

impl Subject<'_> {
    /// The program of a tree; None if it has something without a meaning.
    pub fn program(&self, litmus: &Litmus) -> Option<Program> {
        let (program, diagnostics) = lower(litmus);
        let sound = !diagnostics.iter().any(Diagnostic::is_error);
        program.filter(|program| sound && program.unsupported.is_empty())
    }

    pub fn facts(&self, test: &Test, litmus: &Litmus, shown: &Shown) -> Option<Facts> {
        let mut program = self.program(litmus)?;
        if let Some(names) = shown {
            program.shown =
                named(&program).into_iter().filter(|(name, _)| names.contains(name)).map(|(_, t)| t).collect();
        }
        let mut test = test.clone();
        (test.litmus, test.program) = (litmus.clone(), program);
        let options = Options {
            readings: self.readings.clone(),
            budget: fencepost_check::Budget::of_time(self.time_limit),
            outcomes: Outcomes::Capped,
            cross_check: CrossCheck::Off,
            ..Options::default()
        };
        Some(Facts::of(&check(&test, self.model, &options).report))
    }
}

/// Registers and data by name.
fn named(program: &Program) -> Vec<(String, Term)> {
    let mut all = Vec::new();
    for (at, thread) in program.threads.iter().enumerate() {
        for (register, info) in thread.registers.iter().enumerate().filter(|(_, info)| !info.name.starts_with("#")) {
            let term = Term::Register(ThreadId(at as u32), RegisterId::new(register));
            all.push((format!("{}:{}", thread.name, info.name), term));
        }
    }
    for (at, location) in program.locations.iter().enumerate() {
        if location.role == LocationRole::Data {
            all.push((location.name.to_string(), Term::Memory(LocationId::new(at))));
        }
    }
    all
}

impl Facts {
    fn of(report: &Report) -> Facts {
        let outcomes: BTreeSet<String> = report.outcomes.iter().map(|outcome| outcome.values.to_string()).collect();
        let place = |access: &Access| format!("{} {}:{}", access.thread, access.line, access.column);
        let races = &report.races;
        let pair = |race: &Race| {
            // Which instruction is the last before an exit is no matter.
            let both = [&race.first, &race.second].into_iter().filter(|access| !access.text.starts_with("exit"));
            format!("{} {}", race.flag, both.map(place).collect::<Vec<String>>().join(" "))
        };
        let pairs = races.pairs.iter().map(pair);
        let pairs: BTreeSet<String> = pairs.collect();
        let rules: BTreeSet<String> = report.protocol.errors.iter().map(|error| error.kind.clone()).collect();
        let is_complete = report.executions.is_some_and(|count| count.complete);
        let knows_races =
            matches!(races.answer, RaceAnswer::None | RaceAnswer::Found) && races.rest.is_none() && !races.more;
        let knows_rules = !matches!(report.protocol.answer, ProtocolAnswer::Unknown | ProtocolAnswer::Depends);
        Facts {
            outcomes: is_complete.then(|| outcomes.clone()),
            races: knows_races.then(|| pairs.clone()),
            rules: (knows_rules && knows_races).then(|| rules.clone()),
            may_hang: match report.termination.answer {
                TerminationAnswer::Terminates => Some(false),
                TerminationAnswer::MayHang => Some(true),
                _ => None,
            },
            seen: (outcomes, pairs, rules),
        }
    }

    /// What the stronger program does and this one does not.
    fn gained(&self, stronger: &Facts, kind: Kind) -> Option<String> {
        let news = |known: &Option<BTreeSet<String>>, seen: &BTreeSet<String>| {
            let known = known.as_ref()?;
            seen.iter().find(|found| !known.contains(*found)).cloned()
        };
        if let Some(outcome) = news(&self.outcomes, &stronger.seen.0) {
            return Some(format!("the outcome `{outcome}`"));
        }
        if let Some(race) = news(&self.races, &stronger.seen.1) {
            return Some(format!("the finding `{race}`"));
        }
        // Who waits for others may wait for good, and leave others waiting.
        let is_hang = |rule: &str| ["missing-arrivals", "missing-bytes"].contains(&rule);
        if let Some(rule) = news(&self.rules, &stronger.seen.2).filter(|rule| !kind.waits() || !is_hang(rule)) {
            return Some(format!("the broken rule `{rule}`"));
        }
        let hangs = !kind.waits() && self.may_hang == Some(false) && stronger.may_hang == Some(true);
        hangs.then(|| "an execution that never ends".to_owned())
    }
}

/// What came of one comparison.
pub enum Compared {
    /// Nothing could be put in, or one of the programs could not be seen as a whole.
    Skipped,
    Same,
    Different(String),
}

/// One strengthening of a test.
pub fn compare(subject: &Subject<'_>, test: &Test, random: &mut Random) -> (Kind, Compared) {
    let (kind, edit) = edits::choose(&test.litmus, random);
    let Some(edit) = edit else { return (kind, Compared::Skipped) };
    let compared = match difference(subject, test, &test.litmus, &edit) {
        Difference::Unknown => Compared::Skipped,
        Difference::None => Compared::Same,
        Difference::Found(_) => Compared::Different(shrunk(subject, test, &edit)),
    };
    (kind, compared)
}

enum Difference {
    Unknown,
    None,
    Found(String),
}

fn difference(subject: &Subject<'_>, test: &Test, litmus: &Litmus, edit: &Edit) -> Difference {
    let Some(stronger) = edit.apply(litmus) else { return Difference::Unknown };
    let (Some(program), Some(_)) = (subject.program(litmus), subject.program(&stronger)) else {
        return Difference::Unknown;
    };
    let names = named(&program);
    let shown = (names.len() <= MOST_TERMS).then(|| names.into_iter().map(|(name, _)| name).collect());
    let facts = |litmus: &Litmus| subject.facts(test, litmus, &shown);
    let (Some(before), Some(after)) = (facts(litmus), facts(&stronger)) else { return Difference::Unknown };
    if before.outcomes.is_none() && before.races.is_none() {
        return Difference::Unknown;
    }
    before.gained(&after, edit.kind).map_or(Difference::None, Difference::Found)
}

/// The same difference in as few statements as leaving out one after the other leads to.
fn shrunk(subject: &Subject<'_>, test: &Test, edit: &Edit) -> String {
    let mut litmus = test.litmus.clone();
    // What sort of difference: a smaller program may have another.
    let sort = |found: &str| found.split([' ', ';']).take(3).collect::<Vec<&str>>().join(" ");
    let Difference::Found(first) = difference(subject, test, &litmus, edit) else { return String::new() };
    loop {
        let smaller = (0..litmus.threads.len())
            .flat_map(|thread| (0..litmus.threads[thread].body.len()).map(move |at| (thread, at)))
            .filter_map(|(thread, at)| {
                let mut smaller = litmus.clone();
                let kept = edit.keeps(&smaller.threads[thread].body[at]);
                smaller.threads[thread].body.remove(at);
                (!kept).then_some(smaller)
            })
            .find(|smaller| match difference(subject, test, smaller, edit) {
                Difference::Found(found) => sort(&found) == sort(&first),
                Difference::Unknown | Difference::None => false,
            });
        match smaller {
            Some(found) => litmus = found,
            None => break,
        }
    }
    let gained = match difference(subject, test, &litmus, edit) {
        Difference::Found(gained) => gained,
        Difference::Unknown | Difference::None => "what is no longer found".to_owned(),
    };
    let stronger = edit.apply(&litmus).map_or(String::new(), |stronger| print(&stronger));
    format!("{}: {} adds {gained}\n{}\nwith it:\n{stronger}", test.source.name, edit.words, print(&litmus))
}

/// Whether a statement is an instruction without a guard that goes on to the next.
pub fn is_straight(statement: &Statement) -> bool {
    match statement {
        Statement::Instruction { instruction, .. } => {
            let leaves =
                ["bra", "brx", "ret", "exit", "trap", "call", "goto", "beq", "bne", "blt", "ble", "bgt", "bge"];
            instruction.guard.is_none() && !leaves.contains(&instruction.opcode.node.as_str())
        }
        Statement::Label(_) | Statement::C(_) => false,
    }
}
