//! What `map` says, as data: the objects of `--json` (`docs/schema/map.schema.json`), and the lines on a terminal.

use std::fmt::Write;

use fencepost_check::options::Options;
use fencepost_tell::words::mapping;
use serde::Serialize;

use crate::bounded::state::{Conclusion, State};
use crate::bounded::{Counterexample, Counts, Lost, ScScopes};
use crate::given::{self, Judged};
use crate::task::{Target, Task};

/// The version of the objects; fields are only ever added within one.
const SCHEMA: u32 = 1;

/// What was compiled how.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Mapping {
    /// The model of the source, and what the target is called.
    pub from: String,
    pub to: String,
    /// The schemes of threads on the device; none if the target has no such threads.
    pub device: Vec<&'static str>,
    /// Of threads on x86.
    pub host: Vec<&'static str>,
}

impl Mapping {
    pub fn of(task: &Task) -> Mapping {
        let names = |schemes: &[crate::scheme::Scheme]| schemes.iter().map(|scheme| scheme.name()).collect();
        let (device, host) = (names(&task.schemes.device), names(&task.schemes.host));
        let (device, host) = match task.target {
            Target::Ptx => (device, Vec::new()),
            Target::X86 => (Vec::new(), host),
            Target::Both => (device, host),
        };
        Mapping { from: task.source_model.name.clone(), to: task.to.clone(), device, host }
    }
}

#[derive(Serialize)]
struct GivenLine<'l> {
    schema: u32,
    kind: &'static str,
    mapping: Mapping,
    #[serde(flatten)]
    judged: &'l Judged,
}

/// A test that was compiled, in one line.
pub fn given_line(task: &Task, judged: &Judged) -> String {
    line(&GivenLine { schema: SCHEMA, kind: "test", mapping: Mapping::of(task), judged })
}

fn line<T: Serialize>(object: &T) -> String {
    serde_json::to_string(object).expect("invariant: objects of map have string keys only")
}

/// A bounded check, as far as it has come.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Bounded {
    pub schema: u32,
    pub kind: &'static str,
    pub mapping: Mapping,
    /// Only programs whose SC operations have system scope.
    pub sc_system_only: bool,
    pub bound: usize,
    pub conclusion: Conclusion,
    /// The last line of the text.
    pub verdict: String,
    /// How many parts are done, of how many.
    pub done: usize,
    pub parts: usize,
    pub counts: Counts,
    /// How many behaviours are not kept.
    pub promised: usize,
    pub thin_air: usize,
    /// The smallest number of events at which something that is promised is not kept.
    pub first: Option<usize>,
    /// Those that contain no smaller one.
    pub counterexamples: Vec<Smallest>,
}

/// A counterexample, as text too.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Smallest {
    pub lost: Lost,
    pub events: usize,
    /// `P0: W.sc x=1 | P1: …`.
    pub program: String,
    /// How each thread is compiled.
    pub threads: Vec<String>,
    /// The program as a C test, and what it becomes.
    pub source: String,
    pub compiled: Option<String>,
    /// What the ordinary check of that test says.
    pub answer: &'static str,
    /// Whether that is what was found on the event graph. If not, this tool has a defect.
    pub confirmed: bool,
}

impl Bounded {
    /// Sends every smallest counterexample through text: two engines, a replayed witness.
    pub fn new(task: &Task, state: &State, bound: usize, parts: usize, options: &Options) -> Bounded {
        let minimal = state.minimal();
        let counterexamples = minimal.iter().enumerate().map(|(at, found)| smallest(task, found, at + 1, options));
        Bounded {
            schema: SCHEMA,
            kind: "bound",
            mapping: Mapping::of(task),
            sc_system_only: task.sc_scopes == ScScopes::System,
            bound,
            conclusion: state.conclusion(parts),
            verdict: state.verdict(task, bound, parts),
            done: state.done.min(parts),
            parts,
            counts: state.counts,
            promised: state.lost(Lost::Promised),
            thin_air: state.lost(Lost::ThinAir),
            first: state.first(),
            counterexamples: counterexamples.collect(),
        }
    }

    /// One line.
    pub fn json(&self) -> String {
        line(self)
    }

    /// What is printed, without the counterexamples' tests.
    pub fn text(&self) -> String {
        let Counts { shapes, behaviours, source, target, races, .. } = self.counts;
        let (done, parts) = (self.done, self.parts);
        let mut text = mapping::counted(mapping::Counted { done, parts, shapes, behaviours, source, target, races });
        for (lost, count, what) in [
            (Lost::ThinAir, self.thin_air, mapping::NotKept::ThinAir),
            (Lost::Promised, self.promised, mapping::NotKept::Promised),
        ] {
            if count > 0 {
                text += &mapping::not_kept(what, count);
                for found in self.counterexamples.iter().filter(|found| found.lost == lost) {
                    let _ = writeln!(text, "  {}", found.program);
                }
            }
        }
        let all = self.counterexamples.len();
        if all > 0 {
            let confirmed = self.counterexamples.iter().filter(|found| found.confirmed).count();
            text += &mapping::confirmed(confirmed, all);
        }
        let _ = writeln!(text, "{}", self.verdict);
        text
    }
}

fn smallest(task: &Task, found: &Counterexample, number: usize, options: &Options) -> Smallest {
    let name = format!("map-{}-{number}", task.title());
    let judged = given::confirm(found, &name, task, options);
    let expected = match found.lost {
        Lost::Promised => "broken",
        Lost::ThinAir => "kept but for thin air",
    };
    let answer = judged.as_ref().map_or("unknown", |judged| judged.answer.word());
    let (threads, compiled) = judged.map(|judged| (judged.threads, judged.compiled)).unwrap_or_default();
    Smallest {
        lost: found.lost,
        events: found.events(),
        program: found.line(),
        threads,
        source: found.c_text(&name),
        compiled,
        answer,
        confirmed: answer == expected,
    }
}
