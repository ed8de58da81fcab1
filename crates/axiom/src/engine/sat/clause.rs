//! The clause that a reason is for the solver: not all of these choices together.

use super::encode::Encoding;
use super::solver::Lit;
use crate::base::Candidate;
use crate::reason::{Choice, Reason};

/// Not all of these choices together.
pub(super) fn clause(encoding: &Encoding<'_>, candidate: &Candidate, reason: &Reason) -> Vec<Lit> {
    let mut clause = Vec::new();
    for choice in &reason.present {
        match *choice {
            Choice::Executed(event) => clause.push(!encoding.executed[event.index()]),
            Choice::Rf(write, read) => clause.push(!encoding.rf(write, read)),
            Choice::Co(a, b) => clause.push(!encoding.co(a, b)),
            Choice::SyncFence(a, b) => clause.push(!encoding.fence_edge(a, b)),
            Choice::Traces => clause.extend(candidate.traces.iter().map(|trace| !encoding.taken[trace.index()])),
            // Fixed for the whole space; models with FW are refused beforehand.
            Choice::Syncbar(..) | Choice::Final(_) => {}
        }
    }
    for choice in &reason.absent {
        match *choice {
            Choice::Rf(write, read) => clause.push(encoding.rf(write, read)),
            Choice::Co(a, b) => clause.push(encoding.co(a, b)),
            Choice::SyncFence(a, b) => clause.push(encoding.fence_edge(a, b)),
            Choice::Executed(_) | Choice::Syncbar(..) | Choice::Final(_) | Choice::Traces => {}
        }
    }
    clause.sort_unstable();
    clause.dedup();
    clause
}
