//! Traces to trees: what is common to several traces of a thread is there once, and each fork has its guards.

use fencepost_program::expression::{Expression, Leaf};
use fencepost_program::unfolding::{Trace, Unfolding};
use fencepost_program::{EventId, ThreadId, TraceId};

use crate::requests::{Branch, Fork, Request};

/// Hangs the traces of a thread into its requests, and gives the root.
///
/// The guard of a branch is what all traces through it demand, and not all traces through the fork: the constraint that
/// was added where the run forked. Constraints over later reads belong to later forks.
pub(super) fn grow(unfolding: &Unfolding, thread: ThreadId, requests: &mut [Request]) -> Fork {
    let traces = &unfolding.threads[thread.index()].traces;
    let mut root = Fork::default();
    // (where the fork hangs, its depth, the traces through it)
    let mut open: Vec<(Option<EventId>, usize, Vec<TraceId>)> = vec![(None, 0, traces.to_vec())];
    while let Some((at, depth, through)) = open.pop() {
        let trace = |id: &TraceId| &unfolding.traces[id.index()];
        let here = common(&through, trace);
        let mut fork = Fork::default();
        let mut children: Vec<(EventId, Vec<TraceId>)> = Vec::new();
        for id in &through {
            let Some(&event) = trace(id).events.get(depth) else {
                fork.ends.push(*id);
                continue;
            };
            match children.iter_mut().find(|child| child.0 == event) {
                Some(child) => child.1.push(*id),
                None => children.push((event, vec![*id])),
            }
        }
        for (event, group) in children {
            let before = &trace(&group[0]).events[..depth];
            let is_new = |constraint: &Expression| !here.contains(constraint) && is_over(constraint, before);
            let guard = common(&group, trace).into_iter().filter(is_new).collect();
            fork.branches.push(Branch { to: event, guard });
            open.push((Some(event), depth + 1, group));
        }
        match at {
            Some(event) => requests[event.index()].next = fork,
            None => root = fork,
        }
    }
    root
}

/// The constraints that all of these traces have.
fn common<'a>(traces: &[TraceId], trace: impl Fn(&TraceId) -> &'a Trace) -> Vec<Expression> {
    let Some((first, rest)) = traces.split_first() else { return Vec::new() };
    let everywhere = |constraint: &&Expression| rest.iter().all(|other| trace(other).constraints.contains(constraint));
    trace(first).constraints.iter().filter(everywhere).cloned().collect()
}

fn is_over(constraint: &Expression, events: &[EventId]) -> bool {
    let mut leaves = Vec::new();
    constraint.leaves(&mut leaves);
    leaves.iter().all(|leaf| matches!(leaf, Leaf::Read(read) if events.contains(read)))
}
