//! Loops that all threads of a CTA go round together: whether they leave them together.
//!
//! An iteration that every thread of a CTA goes through, and that changes nothing, is left out of executions like that of
//! a spin loop ([`Joint::Spins`]) if the threads leave in the same round. So an execution is searched for in which some
//! thread has left, or stays elsewhere, and another is at the end of such a round: the beginning of one
//! ([`fencepost_axiom::engine::Ends::Cut`]), whatever comes of it. The first round in which threads part is enough: those
//! before it can be left out. If there is one, or it cannot be told, the loops are unrolled as others are.

#[cfg(test)]
mod compare;

use fencepost_axiom::engine::Reach;
use fencepost_program::program::Program;
use fencepost_program::unfold::{Joint, UnfoldError, UnfoldOptions, Unmodelled};
use fencepost_program::unfolding::{Trace, TraceEnd, Unfolding};
use fencepost_program::{ThreadId, TraceId};
use fencepost_syntax::sorted::SortedSet;

use crate::look::search::Searcher;
use crate::model::load::LoadedModel;
use crate::options::Options;

/// The executions of a program, and how they were unrolled.
pub fn unfold(
    program: &Program,
    model: &LoadedModel,
    options: &Options,
) -> Result<(Unfolding, UnfoldOptions), UnfoldError> {
    let limits = UnfoldOptions { unmodelled: Unmodelled::Noted, ..model.unfolding(options.bound) };
    let unfolding = fencepost_program::unfold::unfold(program, &limits)?;
    if may_part(&unfolding, model, options) {
        let limits = UnfoldOptions { joint: Joint::Unrolled, ..limits };
        return Ok((fencepost_program::unfold::unfold(program, &limits)?, limits));
    }
    Ok((unfolding, limits))
}

fn may_part(unfolding: &Unfolding, model: &LoadedModel, options: &Options) -> bool {
    let thread = |trace: &TraceId| unfolding.traces[trace.index()].thread;
    let place = |thread: &ThreadId| unfolding.threads[thread.index()].place;
    let threads: SortedSet<ThreadId> = unfolding.joint.iter().map(thread).collect();
    let pairs = threads.iter().flat_map(|left| threads.iter().map(move |stays| (left, stays)));
    pairs.filter(|(left, stays)| left != stays && place(left) == place(stays)).any(|(left, stays)| {
        let parting = parting(unfolding, *left, *stays);
        Searcher::new(&parting, model, options).reach() != Reach::Never
    })
}

/// The beginnings in which one thread does not go through a joint round and the other is at the end of one.
fn parting(unfolding: &Unfolding, left: ThreadId, stays: ThreadId) -> Unfolding {
    let mut parting = unfolding.clone();
    let is_joint = |trace: &TraceId| unfolding.joint.contains(trace);
    parting.threads[left.index()].traces.retain(|trace| !is_joint(trace));
    parting.threads[stays.index()].traces.retain(is_joint);
    for trace in &unfolding.threads[stays.index()].traces {
        cut(&mut parting.traces[trace.index()]);
    }
    parting
}

fn cut(trace: &mut Trace) {
    if let TraceEnd::Spin { span, .. } = trace.end {
        // Nothing is concluded from values: a round that goes on may depend on all that was read.
        trace.end = TraceEnd::Bound { span, rests_on: Vec::new() };
    }
}
