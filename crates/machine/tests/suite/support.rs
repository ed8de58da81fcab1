//! What the tests share: where the public corpora are, importing their neutral form, and asking a machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fencepost_machine::explore::{Aim, Extent, Limits};
use fencepost_machine::lostpop::rules::Rules;
use fencepost_machine::model::{Model, Wanted};
use fencepost_machine::requests::{Architecture, Instruction, Requests, Semantics, Straight};
use fencepost_program::lower::lower;
use fencepost_program::program::{Condition, Place, Program, Scope, Term};
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_program::unfolding::{FinalState, Unfolding};
use fencepost_program::value::Value;
use fencepost_program::{LocationId, RegisterId, ThreadId};
use fencepost_syntax::litmus::Comparison;
use serde_json::Value as Json;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels below the root").to_path_buf()
}

/// A file of the public corpora, if they are there.
pub(crate) fn corpus(path: &str) -> Option<PathBuf> {
    let base = std::env::var_os("FENCEPOST_CORPORA").map_or_else(|| root().join("../shared/corpora"), PathBuf::from);
    let path = base.join(path);
    if !path.exists() {
        println!("note: {} is not there; nothing is compared", path.display());
        return None;
    }
    Some(path)
}

pub(crate) fn json(path: &Path) -> Json {
    serde_json::from_str(&std::fs::read_to_string(path).expect("readable")).expect("JSON")
}

/// A test of the neutral form: the program, and what is asked.
pub(crate) struct Imported {
    pub(crate) id: String,
    pub(crate) program: Straight,
    pub(crate) condition: Condition,
    pub(crate) operational: Verdict,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Allowed,
    Forbidden,
}

impl Verdict {
    pub(crate) fn of(text: &str) -> Verdict {
        match text {
            "allowed" => Verdict::Allowed,
            "forbidden" => Verdict::Forbidden,
            other => panic!("{other} is not a verdict"),
        }
    }
}

fn text<'a>(value: &'a Json, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value}"))
}

fn semantics(text: &str) -> Semantics {
    match text {
        "weak" => Semantics::Weak,
        "rlx" | "plain" => Semantics::Relaxed,
        "acq" => Semantics::Acquire,
        "rel" => Semantics::Release,
        "acqrel" => Semantics::AcqRel,
        "sc" | "mfence" | "dmb" => Semantics::Sc,
        other => panic!("{other} is no strength"),
    }
}

fn scope(text: &str) -> Scope {
    match text {
        "cta" => Scope::Cta,
        "gpu" => Scope::Gpu,
        "sys" => Scope::Sys,
        other => panic!("{other} is no scope"),
    }
}

pub(crate) fn architecture(text: &str) -> Architecture {
    match text {
        "SC" => Architecture::Sc,
        "x86" => Architecture::X86,
        "PTX" => Architecture::Ptx,
        "XC" => Architecture::Xc,
        "ARM" => Architecture::Arm,
        other => panic!("{other} is no architecture"),
    }
}

pub(crate) fn register(thread: usize, index: usize, value: i128) -> Condition {
    Condition::Compare {
        op: Comparison::Equal,
        left: Term::Register(ThreadId::new(thread), RegisterId::new(index)),
        right: Term::Constant(Value(value)),
    }
}

pub(crate) fn import(test: &Json) -> Imported {
    let init = test["init"].as_object().expect("locations");
    let locations: Vec<(String, i128)> =
        init.iter().map(|(name, value)| (name.clone(), i128::from(value.as_i64().expect("a number")))).collect();
    let location = |name: &str| locations.iter().position(|it| it.0 == name).expect("a location") as u32;
    let mut asked = Vec::new();
    let mut threads = Vec::new();
    for (index, thread) in test["threads"].as_array().expect("threads").iter().enumerate() {
        let mut code = Vec::new();
        // Registers count `Dependency` entries too.
        let mut at_of: Vec<u32> = Vec::new();
        for instruction in thread["instrs"].as_array().expect("instructions") {
            if let Some(from) = instruction["dep_from"].as_u64() {
                code.push(Instruction::Dependency { from: at_of[from as usize] });
            }
            let (semantics, scope) = (semantics(text(instruction, "sem")), scope(text(instruction, "scope")));
            at_of.push(code.len() as u32);
            match text(instruction, "op") {
                "R" => {
                    if let Some(value) = instruction["asked_value"].as_i64() {
                        asked.push(register(index, code.len(), i128::from(value)));
                    }
                    code.push(Instruction::Read { location: location(text(instruction, "addr")), semantics, scope });
                }
                "W" => {
                    let value = i128::from(instruction["value"].as_i64().expect("a value"));
                    let location = location(text(instruction, "addr"));
                    code.push(Instruction::Write { location, value, semantics, scope });
                }
                "F" => code.push(Instruction::Fence { semantics, scope }),
                other => panic!("{other} is no operation"),
            }
        }
        let architecture = architecture(text(thread, "arch"));
        let cta = thread["cta"].as_u64().expect("a number") as u32;
        let place = match text(thread, "device") {
            "cpu" if architecture != Architecture::Ptx && architecture != Architecture::Xc => Place::Host,
            _ => Place::Gpu { gpu: 0, cluster: 0, cta },
        };
        threads.push((architecture, place, code));
    }
    Imported {
        id: text(test, "id").to_owned(),
        program: Straight { locations, threads },
        condition: Condition::And(asked.into()),
        operational: Verdict::of(text(&test["expected"], "operational")),
    }
}

pub(crate) fn imported() -> Vec<Imported> {
    let Some(path) = corpus("lostpop/tests.json") else { return Vec::new() };
    json(&path)["tests"].as_array().expect("tests").iter().map(import).collect()
}

/// Whether some run satisfies the condition, and how many states that took.
pub(crate) fn ask(model: Model, requests: &Requests, condition: &Condition) -> (Verdict, u64) {
    let asked = model.explore(requests, &Aim::Decide(condition), Wanted::Nothing, &Limits::default());
    let asked = asked.expect("the machine runs it");
    let verdict = match asked.extent {
        Extent::Found => Verdict::Allowed,
        Extent::Complete => Verdict::Forbidden,
        Extent::Incomplete(stop) => panic!("not explored: {stop:?}"),
    };
    (verdict, asked.states)
}

pub(crate) fn lostpop(program: &(Straight, Condition), rules: Rules) -> Verdict {
    ask(Model::LostPop(rules), &program.0.requests().expect("small"), &program.1).0
}

/// All outcomes, unless there are more states than a test has time for.
pub(crate) fn within(model: Model, requests: &Requests, states: u64) -> Option<BTreeSet<FinalState>> {
    let limits = Limits { states, ..Limits::default() };
    let explored = model.explore(requests, &Aim::Everything, Wanted::Nothing, &limits).expect("the machine runs it");
    (explored.extent == Extent::Complete).then(|| explored.outcomes.into_keys().collect())
}

pub(crate) fn outcomes(model: Model, requests: &Requests) -> BTreeSet<FinalState> {
    within(model, requests, 5_000_000).expect("small enough")
}

/// Reads `ARCH[@CTA]: W x=1; R.acq.gpu y // 1; F.sc.sys; dep; U x+1 || …`: threads with their architecture and CTA (of
/// GPU 0; x86, SC and ARM threads run on the host), and the values that are asked for. `dep` makes the next instruction
/// wait for the read before it. `U x+1` adds atomically, `X x=1` exchanges.
pub(crate) fn parse(text: &str) -> (Straight, Condition) {
    let mut locations: Vec<(String, i128)> = Vec::new();
    let (mut threads, mut asked) = (Vec::new(), Vec::new());
    for (index, thread) in text.split("||").enumerate() {
        let (head, body) = thread.split_once(':').expect("a thread starts with its architecture");
        let (name, cta) = head.trim().split_once('@').unwrap_or((head.trim(), "0"));
        let architecture = architecture(name);
        let place = match architecture {
            Architecture::Ptx | Architecture::Xc => {
                Place::Gpu { gpu: 0, cluster: 0, cta: cta.parse().expect("a number") }
            }
            _ => Place::Host,
        };
        let mut code = Vec::new();
        for instruction in body.split(';').map(str::trim).filter(|it| !it.is_empty()) {
            let (instruction, value) = match instruction.split_once("//") {
                Some((before, value)) => (before.trim(), Some(value.trim().parse().expect("a value"))),
                None => (instruction, None),
            };
            asked.extend(value.map(|value| register(index, code.len(), value)));
            code.push(parse_instruction(instruction, code.len(), &mut locations));
        }
        threads.push((architecture, place, code));
    }
    (Straight { locations, threads }, Condition::And(asked.into()))
}

fn parse_instruction(text: &str, at: usize, locations: &mut Vec<(String, i128)>) -> Instruction {
    if text == "dep" {
        return Instruction::Dependency { from: at as u32 - 1 };
    }
    let (head, operand) = text.split_once(' ').unwrap_or((text, ""));
    let mut marks = head.split('.');
    let operation = marks.next().unwrap_or_default();
    let mut semantics = if matches!(operation, "F" | "MFENCE") { Semantics::Sc } else { Semantics::Relaxed };
    let mut scope_of = Scope::Sys;
    for mark in marks {
        match mark {
            "cta" | "gpu" | "sys" => scope_of = scope(mark),
            other => semantics = self::semantics(other),
        }
    }
    let (name, value) = match operand.split_once(['=', '+']) {
        Some((name, value)) => (name.trim(), value.trim().parse().expect("a value")),
        None => (operand.trim(), 0),
    };
    let mut location = || {
        let known = locations.iter().position(|it| it.0 == name);
        known.unwrap_or_else(|| {
            locations.push((name.to_owned(), 0));
            locations.len() - 1
        }) as u32
    };
    let scope = scope_of;
    match operation {
        "R" => Instruction::Read { location: location(), semantics, scope },
        "W" => Instruction::Write { location: location(), value, semantics, scope },
        "U" => Instruction::FetchAdd { location: location(), add: value, semantics, scope },
        "X" => Instruction::Exchange { location: location(), value, semantics, scope },
        "F" | "MFENCE" => Instruction::Fence { semantics, scope },
        other => panic!("{other} is no operation"),
    }
}

/// `x=1` for the final value of a location, besides what was asked.
pub(crate) fn finally(program: (Straight, Condition), name: &str, value: i128) -> (Straight, Condition) {
    let location = program.0.locations.iter().position(|it| it.0 == name).expect("a location");
    let memory = Condition::Compare {
        op: Comparison::Equal,
        left: Term::Memory(LocationId::new(location)),
        right: Term::Constant(Value(value)),
    };
    (program.0, Condition::And([program.1, memory].into()))
}

/// A litmus test of our own format.
pub(crate) fn program(text: &str) -> Option<Program> {
    let (litmus, _) = fencepost_syntax::litmus::parse(text);
    lower(&litmus?).0
}

pub(crate) fn unfolded(program: &Program) -> Option<Unfolding> {
    unfold(program, &UnfoldOptions::default()).ok()
}
