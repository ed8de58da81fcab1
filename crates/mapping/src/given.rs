//! One C test: compiled, and every outcome of the compiled test looked for among those of the source.
//!
//! Outcomes are the final values of all variables and locations. The source is judged with all its axioms; if an outcome is
//! missing, again without the one against thin air, which no mapping promises to keep. A source with a race may do
//! anything.

use std::sync::Arc;

use fencepost_check::compare::{asking, unseen};
use fencepost_check::model::load::LoadedModel;
use fencepost_check::options::{Options, Outcomes, Wanted};
use fencepost_check::test::{Test, load};
use fencepost_program::program::{Condition, Place, Program, Register, Term};
use fencepost_program::value::{Type, Value};
use fencepost_program::{LocationId, RegisterId, ThreadId};
use fencepost_report::verdict::Why;
use fencepost_report::{Number, RaceAnswer};
use fencepost_syntax::Source;
use fencepost_syntax::litmus::{Arch, Comparison, QuestionKind};
use fencepost_syntax::sorted::SortedSet;
use fencepost_tell::explain;

use crate::bounded::Counterexample;
use crate::compile::{Assignment, Compiled, compile};
use crate::scheme::Device;
use crate::task::{Target, Task};

/// What is said of one test, compiled in one way.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Judged {
    pub test: String,
    pub file: String,
    /// How each thread was compiled: `P0 x86, trailing fences`.
    pub threads: Vec<String>,
    #[serde(flatten)]
    pub answer: Answer,
    /// The compiled test.
    pub compiled: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Answer {
    /// Every outcome is one of the source.
    Kept {
        outcomes: usize,
    },
    /// Only the axiom against thin air forbids some outcomes.
    KeptButThinAir {
        outcome: String,
    },
    Broken {
        outcome: String,
        /// How the compiled test gets there.
        witness: String,
        /// Why the source does not.
        forbidden: String,
    },
    /// The source has a race: its behaviour is undefined.
    Racy,
    Unknown {
        why: String,
    },
}

impl Answer {
    pub fn word(&self) -> &'static str {
        match self {
            Answer::Kept { .. } => "kept",
            Answer::KeptButThinAir { .. } => "kept but for thin air",
            Answer::Broken { .. } => "broken",
            Answer::Racy => "racy",
            Answer::Unknown { .. } => "unknown",
        }
    }
}

/// How a thread is compiled, and where its source is said to run.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Way {
    profile: usize,
    place: Place,
    source_place: Place,
}

/// Every way to compile a test: the one its placements give, or all.
pub fn judge(test: &Test, task: &Task, options: &Options) -> Vec<Judged> {
    if test.program.arch != Arch::C {
        return vec![refused(test, "only tests in C are compiled".to_owned())];
    }
    // A statement without a meaning would be missing from the compiled test.
    if let Some(unsupported) = test.program.unsupported.first() {
        return vec![refused(test, format!("unsupported: {}", unsupported.what))];
    }
    if let Some(element) = test.program.locations.iter().find(|location| location.name.contains('[')) {
        return vec![refused(test, format!("unsupported: an array (`{}`)", element.name))];
    }
    if test.program.filter.is_some() {
        return vec![refused(test, "unsupported: a filter".to_owned())];
    }
    let ways = ways(&test.program, task);
    let count: usize = ways.iter().map(Vec::len).product();
    (0..count)
        .map(|code| {
            let mut left = code;
            let chosen: Vec<Way> = (ways.iter())
                .map(|ways| {
                    let way = ways[left % ways.len()];
                    left /= ways.len();
                    way
                })
                .collect();
            judge_as(test, task, &chosen, options)
        })
        .collect()
}

/// A counterexample of the bounded check, by the ordinary way of text and engines.
pub fn confirm(found: &Counterexample, name: &str, task: &Task, options: &Options) -> Option<Judged> {
    let source = Source::new(format!("{name}.litmus"), found.c_text(name));
    let (tests, _) = load(&source);
    let test = tests.first()?;
    let ways: Vec<Way> = (found.profiles.iter().zip(&test.program.threads))
        .map(|(profile, thread)| Way { profile: *profile, place: thread.place, source_place: thread.place })
        .collect();
    Some(judge_as(test, task, &ways, options))
}

fn refused(test: &Test, why: String) -> Judged {
    Judged {
        test: test.name().to_owned(),
        file: test.source.name.clone(),
        threads: Vec::new(),
        answer: Answer::Unknown { why },
        compiled: None,
    }
}

fn ways(program: &Program, task: &Task) -> Vec<Vec<Way>> {
    let is_placed = program.threads.iter().any(|thread| thread.place != Place::Host);
    let used = program.threads.iter().filter_map(|thread| match thread.place {
        Place::Gpu { cta, .. } => Some(cta + 1),
        Place::Host => None,
    });
    let free = used.max().unwrap_or(0);
    let one = |(at, given): (usize, Place)| {
        let apart = Place::Gpu { gpu: 0, cluster: free + at as u32, cta: free + at as u32 };
        let mut found = Vec::new();
        for (profile, it) in task.profiles.iter().enumerate() {
            match (it.device, task.target, given) {
                // x86 has no scopes: the source keeps its own.
                (Device::X86, Target::X86, _) => found.push(Way { profile, place: Place::Host, source_place: given }),
                (Device::X86, _, Place::Host) => found.push(Way { profile, place: Place::Host, source_place: given }),
                (Device::X86, ..) => {}
                (Device::Ptx, _, Place::Gpu { .. }) => found.push(Way { profile, place: given, source_place: given }),
                (Device::Ptx, Target::Both, Place::Host) if is_placed => {}
                (Device::Ptx, _, Place::Host) => found.push(Way { profile, place: apart, source_place: apart }),
            }
        }
        found
    };
    program.threads.iter().map(|thread| thread.place).enumerate().map(one).collect()
}

fn judge_as(test: &Test, task: &Task, ways: &[Way], options: &Options) -> Judged {
    let assignments: Vec<Assignment<'_>> =
        (ways.iter()).map(|way| Assignment { profile: &task.profiles[way.profile], place: way.place }).collect();
    let threads = assignments.iter().enumerate().map(|(at, it)| format!("P{at} {}", it.profile.name)).collect();
    let name = (test.name().to_owned(), test.source.name.clone());
    let mut judged =
        Judged { test: name.0, file: name.1, threads, answer: Answer::Unknown { why: String::new() }, compiled: None };
    let compiled = match compile(&test.program, &assignments) {
        Ok(compiled) => compiled,
        Err(why) => {
            let line = test.source.position(why.span.start).line;
            judged.answer = Answer::Unknown { why: format!("line {line}: {why}") };
            return judged;
        }
    };
    let text = format!("{}{}", compiled.text, question(&test.program, &compiled));
    judged.compiled = Some(text.clone());
    let mut source_program = test.program.clone();
    for (thread, way) in source_program.threads.iter_mut().zip(ways) {
        thread.place = way.source_place;
    }
    let source = test.with_program(source_program);
    judged.answer = match load(&Source::new(format!("{} (compiled)", test.source.name), text)).0.first() {
        Some(target) => {
            compare(&source, target, &compiled, task, options).unwrap_or_else(|why| Answer::Unknown { why })
        }
        None => Answer::Unknown { why: "internal check failed: the compiled test cannot be read".to_owned() },
    };
    judged
}

/// The same values on both sides: variables that the compiled test has, and all locations.
fn observables(source: &Test, target: &Test, compiled: &Compiled) -> Vec<(Term, Term, String, Type)> {
    let mut found = Vec::new();
    for (thread, names) in compiled.registers.iter().enumerate() {
        let position = |registers: &[Register], name: &str| {
            let plain = |name: &str| name.trim_start_matches('%').trim_end_matches('D').to_owned();
            registers.iter().position(|register| register.name == name || plain(&register.name) == plain(name))
        };
        for (variable, register) in names {
            let here = source.program.threads[thread].registers.iter().position(|it| it.name == *variable);
            let there = target.program.threads.get(thread).and_then(|it| position(&it.registers, register));
            if let (Some(here), Some(there)) = (here, there) {
                let term = |register: usize| Term::Register(ThreadId::new(thread), RegisterId::new(register));
                let ty = source.program.threads[thread].registers[here].ty;
                found.push((term(here), term(there), format!("P{thread}:{variable}"), ty));
            }
        }
    }
    for (location, it) in source.program.locations.iter().enumerate() {
        let there = target.program.locations.iter().position(|other| other.name == it.name);
        if let Some(there) = there {
            let term = |location: usize| Term::Memory(LocationId::new(location));
            found.push((term(location), term(there), it.name.to_string(), it.ty));
        }
    }
    found
}

type States = SortedSet<Vec<Number>>;

fn compare(
    source: &Test,
    target: &Test,
    compiled: &Compiled,
    task: &Task,
    options: &Options,
) -> Result<Answer, String> {
    let observables = observables(source, target, compiled);
    let sources: Vec<Term> = observables.iter().map(|(here, ..)| *here).collect();
    let targets: Vec<Term> = observables.iter().map(|(_, there, ..)| *there).collect();
    let Some(own) = outcomes(source, &task.source_model, &sources, options)? else { return Ok(Answer::Racy) };
    let shown = outcomes(target, &task.target_model, &targets, options)?.unwrap_or_default();
    // Registers of the target have their own signs.
    let read = |(value, (.., ty)): (&Number, &(Term, Term, String, Type))| match value {
        Number::Known(value) => Number::Known(ty.wrap(Value(*value)).0),
        unknown => unknown.clone(),
    };
    let shown: States = shown.iter().map(|state| state.iter().zip(&observables).map(read).collect()).collect();
    let own: States = own.iter().map(|state| state.iter().zip(&observables).map(read).collect()).collect();
    let Some(first) = shown.difference(&own).next() else { return Ok(Answer::Kept { outcomes: shown.len() }) };
    let claim = Options { readings: task.source_model.vocabulary.without_thin_air.clone(), ..options.clone() };
    let claimed = outcomes(source, &task.source_model, &sources, &claim)?.unwrap_or_default();
    let describe = |state: &[Number]| {
        let parts = observables.iter().zip(state).map(|((_, _, name, _), value)| format!("{name} = {value}"));
        parts.collect::<Vec<_>>().join(", ")
    };
    match shown.difference(&claimed).next() {
        None => Ok(Answer::KeptButThinAir { outcome: describe(first) }),
        Some(state) => Ok(Answer::Broken {
            outcome: describe(state),
            witness: explained(target, &task.target_model, &targets, state, options),
            forbidden: explained(source, &task.source_model, &sources, state, &claim),
        }),
    }
}

/// Every outcome, in the order of the terms; None if the program has a race that makes it undefined.
fn outcomes(test: &Test, model: &LoadedModel, terms: &[Term], options: &Options) -> Result<Option<States>, String> {
    let asked = asking(test, terms, &[Condition::True, Condition::False]);
    let options = Options { outcomes: Outcomes::All, races: Wanted::Yes, termination: Wanted::No, ..options.clone() };
    let report = fencepost_check::check(&asked, model, &options).report;
    if test.program.arch == Arch::C {
        match report.races.answer {
            RaceAnswer::Found => return Ok(None),
            RaceAnswer::None => {}
            _ => {
                let why = report.races.why.clone().or_else(|| unseen(&report));
                let why = why.map_or_else(String::new, |why| format!(": {}", cause(&why, test)));
                return Err(format!("whether the source has a race is not known{why}"));
            }
        }
    }
    if let Some(why) = unseen(&report) {
        let which = if test.program.arch == Arch::C { "the source" } else { "the compiled test" };
        return Err(format!("not every execution of {which} was seen: {}", cause(&why, test)));
    }
    let sorted = fencepost_check::look::outcome::terms(&asked.program);
    let places: Option<Vec<usize>> = terms.iter().map(|term| sorted.binary_search(term).ok()).collect();
    let places = places.ok_or("internal check failed: a term is not observed")?;
    let state = |values: &[(Arc<str>, Number)]| places.iter().map(|at| values[*at].1.clone()).collect();
    Ok(Some(report.outcomes.iter().map(|outcome| state(&outcome.values.0)).collect()))
}

/// Why a search came to no end, in the words of this command: its `--bound` is another.
fn cause(why: &Why, test: &Test) -> String {
    match why {
        Why::Bound(span) => {
            let line = test.source.position(span.start).line;
            format!("a loop was cut (line {line}); --unroll N follows it further")
        }
        why => fencepost_tell::words::why(why),
    }
}

fn explained(test: &Test, model: &LoadedModel, terms: &[Term], state: &[Number], options: &Options) -> String {
    let equal = |(term, value): (&Term, &Number)| match value {
        Number::Known(value) => {
            Some(Condition::Compare { op: Comparison::Equal, left: *term, right: Term::Constant(Value(*value)) })
        }
        Number::Unknown(_) => None,
    };
    let condition = Condition::And(terms.iter().zip(state).filter_map(equal).collect());
    let asked = asking(test, &[], &[condition]);
    let options = Options { outcomes: Outcomes::Skip, termination: Wanted::No, ..options.clone() };
    let checked = fencepost_check::check(&asked, model, &options);
    let read = checked.model.clone();
    explain::explain(&asked, read.as_deref().unwrap_or(model), &checked)
}

/// The question of the source in the words of the compiled test.
fn question(program: &Program, compiled: &Compiled) -> String {
    let Some(question) = program.questions.first() else { return "exists (true)\n".to_owned() };
    let kind = match question.kind {
        QuestionKind::NotExists => "~exists",
        QuestionKind::Forall | QuestionKind::Assert => "forall",
        _ => "exists",
    };
    format!("{kind} ({})\n", condition(&question.condition, program, compiled))
}

fn condition(of: &Condition, program: &Program, compiled: &Compiled) -> String {
    let term = |term: &Term| match term {
        Term::Constant(value) => value.0.to_string(),
        Term::Memory(location) => program.locations[location.index()].name.to_string(),
        Term::Register(thread, register) => {
            let name = &program.threads[thread.index()].registers[register.index()].name;
            let given = compiled.registers[thread.index()].iter().find(|(variable, _)| name == variable);
            format!("P{}:{}", thread.index(), given.map_or(name.as_str(), |(_, given)| given))
        }
    };
    let all = |parts: &[Condition], word: &str| {
        let parts: Vec<String> = parts.iter().map(|part| format!("({})", condition(part, program, compiled))).collect();
        parts.join(word)
    };
    match of {
        Condition::True => "true".to_owned(),
        Condition::False => "false".to_owned(),
        Condition::Not(inner) => format!("~({})", condition(inner, program, compiled)),
        Condition::And(parts) if parts.is_empty() => "true".to_owned(),
        Condition::Or(parts) if parts.is_empty() => "false".to_owned(),
        Condition::And(parts) => all(parts, " /\\ "),
        Condition::Or(parts) => all(parts, " \\/ "),
        Condition::Compare { op, left, right } => {
            let sign = match op {
                Comparison::Equal => "=",
                Comparison::NotEqual => "!=",
                Comparison::Less => "<",
                Comparison::LessEqual => "<=",
                Comparison::Greater => ">",
                Comparison::GreaterEqual => ">=",
            };
            format!("{} {sign} {}", term(left), term(right))
        }
    }
}
