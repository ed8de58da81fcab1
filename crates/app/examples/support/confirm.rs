//! Whether a changed text is right, asked of `fencepost check` alone: nothing that found the change is believed.
//!
//! Each engine is asked by itself. Loops are unrolled twice more than the answers needed; and where the text counts the rounds
//! of its loops, it is also asked about two rounds more, if a text that is known to be right is still right with them.

use std::path::PathBuf;
use std::process::Command;

use fencepost_report::fix::FixWant;
use fencepost_report::verdict::Verdict;
use fencepost_report::{ProtocolAnswer, QuestionAnswer, RaceAnswer, Report, TerminationAnswer};
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Litmus, Statement, print};

/// How often loops are unrolled by default, and how much more a change must be right with.
const BOUND: u32 = 2;
const MORE: u32 = 2;

/// What nothing was found wrong with, or why that is not so.
pub(crate) type Confirmed = Result<(), String>;

/// What came of more of the rounds that a text counts.
pub(crate) enum Counted {
    Asked(Confirmed),
    /// The text that is right is not, with more.
    WrongTwin,
}

/// A text is asked about in a folder of its own, where no expectation stands beside it.
pub(crate) struct Confirming {
    pub(crate) program: PathBuf,
    pub(crate) folder: PathBuf,
    /// For each check.
    pub(crate) seconds: String,
}

/// What is wanted of a text: nothing but that the questions are answered so, and nothing goes wrong.
pub(crate) struct Asked<'a> {
    pub(crate) model: &'a str,
    pub(crate) wants: &'a [FixWant],
}

/// What was asked about a change.
pub(crate) struct Answered {
    pub(crate) enumerate: Confirmed,
    pub(crate) sat: Confirmed,
    /// None where there is no loop.
    pub(crate) unrolled: Option<Confirmed>,
}

impl Confirming {
    pub(crate) fn new(program: PathBuf, seconds: String) -> std::io::Result<Confirming> {
        let folder = std::env::temp_dir().join(format!("fencepost-pairs-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Confirming { program, folder, seconds })
    }

    pub(crate) fn confirm(&self, text: &str, litmus: &Litmus, asked: &Asked<'_>) -> Answered {
        let (enumerate, one) = self.by(text, asked, &["--engine", "enumerate"]);
        let (sat, other) = self.by(text, asked, &["--engine", "sat"]);
        let bound = one.max(other) + MORE;
        let unrolled = has_loops(litmus).then(|| self.by(text, asked, &["--bound", &bound.to_string()]).0);
        Answered { enumerate, sat, unrolled }
    }

    /// Whether it is right with more of the rounds that its text counts, if the other text is. None where it counts none.
    pub(crate) fn counted(&self, (ours, right): (&Litmus, &Litmus), asked: &Asked<'_>) -> Option<Counted> {
        let right = print(&longer(right)?);
        let ours = print(&longer(ours)?);
        // An outcome may speak of the number of rounds.
        let unasked = Asked { wants: &[], ..*asked };
        let asked = [asked, &unasked].into_iter().find(|asked| self.by(&right, asked, &[]).0.is_ok());
        Some(asked.map_or(Counted::WrongTwin, |asked| Counted::Asked(self.by(&ours, asked, &[]).0)))
    }

    /// Whether nothing is wrong, and how often loops were unrolled for that.
    pub(crate) fn by(&self, text: &str, asked: &Asked<'_>, options: &[&str]) -> (Confirmed, u32) {
        match self.report(text, asked.model, options) {
            Ok(report) => (right(&report, asked), report.deepened.unwrap_or(BOUND)),
            Err(why) => (Err(why), BOUND),
        }
    }

    pub(crate) fn report(&self, text: &str, model: &str, options: &[&str]) -> Result<Report, String> {
        let file = self.folder.join("changed.litmus");
        std::fs::write(&file, text).map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.program);
        command.arg("check").arg(&file).args(["--json", "--jobs", "1", "--model", model]);
        let ran = command.args(["--time-limit", &self.seconds]).args(options).output();
        let ran = ran.map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&ran.stdout);
        serde_json::from_str(said.trim()).map_err(|_| String::from_utf8_lossy(&ran.stderr).trim().to_owned())
    }
}

impl Drop for Confirming {
    fn drop(&mut self) {
        // What is left of it harms nobody.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Whether every question has the answer that is wanted, and nothing races, hangs or breaks a rule of mbarriers.
fn right(report: &Report, asked: &Asked<'_>) -> Confirmed {
    for want in asked.wants {
        let is_meant = |it: &&QuestionAnswer| want.question == format!("{} ({})", it.kind, it.condition);
        let found = report.questions.iter().find(is_meant);
        let found = found.ok_or_else(|| format!("`{}` is not asked any more", want.question))?;
        let is_promise = !matches!(found.kind.as_str(), "exists" | "permit");
        let is_as_wanted = match found.verdict {
            Verdict::Holds => is_promise || want.possible,
            Verdict::Violated => !is_promise && !want.possible,
            _ => false,
        };
        if !is_as_wanted {
            let why = found.why.as_ref().map(|why| format!(": {}", why.message)).unwrap_or_default();
            return Err(format!("`{}` is {}{why}", want.question, found.verdict.word()));
        }
    }
    let races = matches!(report.races.answer, RaceAnswer::None | RaceAnswer::NotDefined);
    let protocol = matches!(report.protocol.answer, ProtocolAnswer::None | ProtocolAnswer::NotAsked);
    let ends = report.termination.answer == TerminationAnswer::Terminates;
    let why = |what: &str, answer: String| {
        let why = report.why.as_ref().or(report.termination.why.as_ref());
        let why = why.map(|why| format!(": {}", why.message)).unwrap_or_default();
        Err(format!("{what} {}{why}", answer.to_lowercase()))
    };
    match (races, protocol, ends) {
        (false, ..) => why("races", format!("{:?}", report.races.answer)),
        (_, false, _) => why("rules of mbarriers", format!("{:?}", report.protocol.answer)),
        (.., false) => why("the end", format!("{:?}", report.termination.answer)),
        _ => Ok(()),
    }
}

/// From a label to a branch back to it.
fn loops(body: &[Statement]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (first, statement) in body.iter().enumerate() {
        let Statement::Label(label) = statement else { continue };
        let goes_back = |statement: &Statement| {
            let to = |operand: &Operand| matches!(operand, Operand::Symbol(to) if *to == label.node);
            instruction(statement).is_some_and(|it| {
                matches!(it.opcode.node.as_str(), "bra" | "jmp" | "jne" | "je")
                    && it.operands.iter().any(|operand| to(&operand.node))
            })
        };
        let last = (first + 1..body.len()).rev().find(|at| body.get(*at).is_some_and(goes_back));
        found.extend(last.map(|last| (first, last)));
    }
    found
}

fn instruction(statement: &Statement) -> Option<&Instruction> {
    match statement {
        Statement::Instruction { instruction, .. } => Some(instruction),
        _ => None,
    }
}

fn has_loops(litmus: &Litmus) -> bool {
    litmus.threads.iter().any(|thread| !loops(&thread.body).is_empty())
}

/// The same test with more of the rounds that its text counts: `add %i, %i, 1` and `setp.lt.u32 %p, %i, 4`.
fn longer(litmus: &Litmus) -> Option<Litmus> {
    let mut changed = litmus.clone();
    let mut is_longer = false;
    for thread in &mut changed.threads {
        let register = |it: &Instruction, at: usize| match it.operands.get(at).map(|it| &it.node) {
            Some(Operand::Register(name)) => Some(name.clone()),
            _ => None,
        };
        let integer = |it: &Instruction| matches!(it.operands.get(2).map(|it| &it.node), Some(Operand::Integer(_)));
        let mut ends = Vec::new();
        for (first, last) in loops(&thread.body) {
            let inside = thread.body.iter().enumerate().filter(|(at, _)| (first..=last).contains(at));
            let inside: Vec<(usize, &Instruction)> =
                inside.filter_map(|(at, statement)| Some((at, instruction(statement)?))).collect();
            let one = |it: &Instruction| matches!(it.operands.get(2).map(|it| &it.node), Some(Operand::Integer(1)));
            let counts = |it: &Instruction| it.opcode.node == "add" && one(it) && register(it, 0) == register(it, 1);
            let counters: Vec<_> =
                inside.iter().filter(|(_, it)| counts(it)).filter_map(|(_, it)| register(it, 0)).collect();
            let ends_it = |it: &Instruction| {
                it.opcode.node == "setp" && integer(it) && register(it, 1).is_some_and(|name| counters.contains(&name))
            };
            ends.extend(inside.iter().filter(|(_, it)| ends_it(it)).map(|(at, _)| *at));
        }
        ends.sort_unstable();
        ends.dedup();
        for at in ends {
            let Some(Statement::Instruction { instruction, .. }) = thread.body.get_mut(at) else { continue };
            let Some(Operand::Integer(number)) = instruction.operands.get_mut(2).map(|it| &mut it.node) else {
                continue;
            };
            *number += i128::from(MORE);
            is_longer = true;
        }
    }
    is_longer.then_some(changed)
}
