//! How far a bounded check has come: what is written to a file and read from one, and what is said at the end.
//!
//! Parts are checked in a fixed order, small programs first, so that a number says which are done; those of a smaller
//! bound come before those of a larger one.

use fencepost_check::test::hash::fingerprint;
use fencepost_syntax::sorted::SortedSet;
use fencepost_tell::words::mapping;

use crate::bounded::shape::Shape;
use crate::bounded::{Counterexample, Counts, Lost, ScScopes};
use crate::scheme::Profile;
use crate::task::Task;

/// The version of the format.
const SCHEMA: u32 = 2;

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct State {
    schema: u32,
    /// Which mapping and which models: the state of another check says nothing.
    key: String,
    /// How many parts are done.
    pub done: usize,
    pub counts: Counts,
    pub counterexamples: Vec<Counterexample>,
}

/// Why a state cannot be resumed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum NotResumed {
    /// It is no state, or one of another version.
    Unreadable,
    /// Another mapping, or models or tables that have changed since.
    Other,
}

impl std::fmt::Display for NotResumed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NotResumed::Unreadable => "it is no state of a bounded check",
            NotResumed::Other => "it is the state of another mapping, or of models that have changed since",
        })
    }
}

impl std::error::Error for NotResumed {}

impl State {
    pub fn new(task: &Task) -> State {
        State { schema: SCHEMA, key: key(task), done: 0, counts: Counts::default(), counterexamples: Vec::new() }
    }

    pub fn resume(text: &str, task: &Task) -> Result<State, NotResumed> {
        let state: State = serde_json::from_str(text).map_err(|_| NotResumed::Unreadable)?;
        if state.schema != SCHEMA {
            return Err(NotResumed::Unreadable);
        }
        if state.key != key(task) {
            return Err(NotResumed::Other);
        }
        Ok(state)
    }

    pub fn print(&self) -> String {
        serde_json::to_string(self).expect("invariant: a state has only numbers and lists")
    }

    /// One more part is done.
    pub fn add(&mut self, counts: &Counts, found: Vec<Counterexample>) {
        self.done += 1;
        self.counts.add(counts);
        self.counterexamples.extend(found);
    }

    /// The counterexamples that do not contain a smaller one.
    pub fn minimal(&self) -> Vec<&Counterexample> {
        let known: SortedSet<(Shape, Vec<Option<usize>>)> =
            self.counterexamples.iter().map(|found| canonical(&found.shape, &found.behaviour.source)).collect();
        let is_minimal = |found: &&Counterexample| {
            (0..found.shape.count()).all(|at| {
                without(&found.shape, &found.behaviour.source, at)
                    .is_none_or(|(shape, source)| !known.contains(&canonical(&shape, &source)))
            })
        };
        self.counterexamples.iter().filter(is_minimal).collect()
    }

    pub fn lost(&self, lost: Lost) -> usize {
        self.counterexamples.iter().filter(|found| found.lost == lost).count()
    }
}

fn key(task: &Task) -> String {
    let tables: String = task.profiles.iter().map(Profile::print).collect();
    let models = [&task.source_model.source.text, &task.target_model.source.text].map(|text| fingerprint(text));
    format!("{} {:?} {} {}", task.to, task.sc_scopes, models.join(" "), fingerprint(&tables))
}

/// A shape and what its reads read, without one operation; None if somebody reads what it writes.
fn without(shape: &Shape, source: &[Option<usize>], gone: usize) -> Option<(Shape, Vec<Option<usize>>)> {
    if source.contains(&Some(gone)) {
        return None;
    }
    let thread = shape.thread_of(gone);
    let mut threads = shape.threads.clone();
    threads[thread].remove(gone - shape.first(thread));
    let rest = (0..source.len()).filter(|at| *at != gone);
    let renumber = |at: usize| if at > gone { at - 1 } else { at };
    let source = rest.map(|at| source[at].map(renumber)).collect();
    threads.retain(|operations| !operations.is_empty());
    Some((Shape { threads, locations: shape.locations }, source))
}

/// One for all names of threads and locations.
fn canonical(shape: &Shape, source: &[Option<usize>]) -> (Shape, Vec<Option<usize>>) {
    shape.renamings(source).into_iter().min().unwrap_or_else(|| (shape.clone(), source.to_vec()))
}

/// What the check says about the mapping.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// Nothing found, and everything looked at.
    Kept,
    Broken,
    /// Nothing found yet.
    Unknown,
}

impl State {
    pub fn conclusion(&self, parts: usize) -> Conclusion {
        match (self.lost(Lost::Promised), self.done >= parts) {
            (0, true) => Conclusion::Kept,
            (0, false) => Conclusion::Unknown,
            _ => Conclusion::Broken,
        }
    }

    /// The smallest number of events at which something that is promised is not kept.
    pub fn first(&self) -> Option<usize> {
        let promised = self.counterexamples.iter().filter(|found| found.lost == Lost::Promised);
        promised.map(Counterexample::events).min()
    }

    /// The last line of the command.
    pub fn verdict(&self, task: &Task, bound: usize, parts: usize) -> String {
        let checked = mapping::Checked {
            from: &task.source_model.name,
            to: &task.to,
            schemes: &task.schemes.name(task.target),
            sc_system_only: task.sc_scopes == ScScopes::System,
            claim: task.claimed_by(),
            bound,
        };
        let conclusion = match self.conclusion(parts) {
            Conclusion::Kept => mapping::Conclusion::Kept,
            Conclusion::Broken => mapping::Conclusion::Broken { first: self.first().unwrap_or(0) },
            Conclusion::Unknown => mapping::Conclusion::Unknown { done: self.done, parts },
        };
        mapping::verdict(&checked, conclusion)
    }
}
