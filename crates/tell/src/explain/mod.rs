//! Explanations in words: an execution told as a story, what rules every candidate for an outcome out, why two accesses
//! race, why a thread never ends.
//!
//! `story` tells an allowed execution, in an `order` that what has happened before what allows; `forbidden` looks for
//! candidates under a weakened model and says what the whole model has against them; `derivation` turns a reason of the
//! model into sentences; `vocabulary` is the one table of what the names of a model mean and which section of the ISA
//! defines them; `asynchronous` tells of asynchronous operations and mbarriers.
//!
//! Everything is data first ([`Explanation`]); the text is one way to print it. An explanation is never the verdict: it
//! is found after the engines have answered, and says so where it had to stop looking.

mod asynchronous;
mod crash;
mod derivation;
mod forbidden;
mod name;
mod order;
mod race;
mod report;
mod story;
mod stuck;
mod vocabulary;

use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::Model;
use fencepost_check::model::vocabulary::Vocabulary;
use fencepost_program::program::Program;
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::{Source, Span};

use crate::render::HighlightedEdge;

pub use crate::rounds::Rounds;
pub use forbidden::{Search, Subject, forbidden};
pub use race::{Example, race};
pub use report::{About, Part, explain, explain_parts};
pub use story::allowed;
pub use stuck::stuck;

pub(crate) use report::{closest, told_under};

/// What every explanation is about.
#[derive(Copy, Clone)]
pub struct Context<'a> {
    pub unfolding: &'a Unfolding,
    pub program: &'a Program,
    pub model: &'a Model,
    pub source: &'a Source,
    /// What the model's header says of its names.
    pub vocabulary: &'a Vocabulary,
    /// The text of the instruction at a span, on one line.
    pub text: &'a dyn Fn(Span) -> String,
    /// The iterations of the execution's loops.
    pub rounds: &'a Rounds,
}

#[derive(Clone, Debug, serde::Serialize)]
pub struct Explanation {
    /// One sentence: what is explained.
    pub summary: String,
    pub lines: Vec<Line>,
    /// The candidates that were ruled out, the reason that tells most of the outcome first, of those the shortest; empty for other explanations.
    pub rejected: Vec<Rejected>,
    /// What was not looked at or not shown, if anything.
    pub remark: Option<String>,
}

/// One sentence, and what it is about.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Line {
    pub text: String,
    /// The thread it is about.
    pub thread: Option<String>,
    /// Its line in the source, counted from 1.
    pub line: Option<u32>,
    /// The section of the PTX ISA, `8.9.4`.
    pub section: Option<String>,
    /// Numbers of the events it is about.
    pub events: Vec<u32>,
}

/// Candidates that are ruled out for one reason.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Rejected {
    /// The violated axiom, as the model names it.
    pub axiom: String,
    /// The specification's name for it, or the model's own in backquotes.
    pub called: String,
    pub section: Option<String>,
    /// The chain, then the contradiction.
    pub lines: Vec<Line>,
    /// The contradiction as a sentence of its own.
    #[serde(skip)]
    pub conclusion: String,
    /// How many candidates have this reason.
    pub candidates: u64,
    /// An example, for the picture.
    #[serde(skip)]
    pub execution: Execution,
    /// The cycle in it.
    #[serde(skip)]
    pub highlight: Vec<HighlightedEdge>,
    #[serde(skip)]
    pub(crate) relevance: derivation::relevance::Relevance,
}

impl Rejected {
    /// "Causality (PTX ISA 8.10.6)".
    pub fn title(&self) -> String {
        let section = self.section.as_ref().map_or(String::new(), |section| format!(" (PTX ISA {section})"));
        format!("{}{section}", self.called)
    }
}

impl Explanation {
    /// Says under which model and readings it is told.
    pub(crate) fn under(mut self, label: &str) -> Explanation {
        let verdicts = [
            "is allowed",
            "is forbidden",
            "is impossible",
            "has a data race",
            "execution never ends",
            "execution ends",
            "A crash may leave",
            "No crash leaves this state",
        ];
        if let Some(verdict) = verdicts.into_iter().find(|verdict| self.summary.contains(verdict)) {
            self.summary = self.summary.replacen(verdict, &format!("{verdict} under {label}"), 1);
        }
        self
    }

    /// For a terminal: the summary, then a line per sentence.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n", self.summary);
        push_lines(&mut text, &self.lines, "  ");
        for rejected in &self.rejected {
            let count = fencepost_check::phrase::count(rejected.candidates, "candidate");
            let verb = if rejected.candidates == 1 { "violates" } else { "violate" };
            text.push_str(&format!("  {count} {verb} {}:\n", rejected.title()));
            push_lines(&mut text, &rejected.lines, "    ");
        }
        if let Some(remark) = &self.remark {
            text.push_str(&format!("  {remark}\n"));
        }
        text
    }
}

fn push_lines(text: &mut String, lines: &[Line], indent: &str) {
    let width = lines.iter().filter_map(|line| Some(line.thread.as_ref()?.chars().count())).max().unwrap_or(0);
    let digits = lines.iter().filter_map(|line| line.line).max().map_or(0, |line| line.to_string().len());
    for line in lines {
        text.push_str(indent);
        if width > 0 {
            text.push_str(&format!("{:width$}  ", line.thread.as_deref().unwrap_or("")));
            match line.line {
                Some(number) => text.push_str(&format!("{number:>digits$}  ")),
                None => text.push_str(&format!("{:digits$}  ", "")),
            }
        }
        text.push_str(&line.text);
        if let Some(section) = &line.section {
            text.push_str(&format!(" ({section})"));
        }
        text.push('\n');
    }
}
