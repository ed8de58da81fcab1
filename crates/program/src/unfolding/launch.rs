//! Which threads of launched kernels get to run (PTX ISA 8.9.4, 9.7.15.14; CUDA's streams, events and graphs).
//!
//! A kernel starts once those before it in stream order have ended, and behind a programmatic dependent launch once every
//! CTA of the other has issued `griddepcontrol.launch_dependents` or exited. Nothing promises that it starts before the
//! other has ended. A kernel that never ends keeps the later ones from starting: their threads then have a trace without
//! events, [`TraceEnd::NotStarted`], and who waits for such a kernel is [`TraceEnd::Blocked`]. Which traces go together is a
//! matter of how they end alone, so it is decided once per choice of traces, before anything is read.

use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::ids::{EventId, KernelId, TraceId};
use crate::program::{HostCall, Place};
use crate::tag::Tag;
use crate::unfolding::{Trace, TraceEnd, Unfolding};

/// Whether one trace per thread, in thread order, can be an execution as far as launches go.
pub fn admits(unfolding: &Unfolding, traces: &[TraceId]) -> bool {
    if unfolding.threads.iter().all(|thread| thread.kernel.is_none()) {
        return true;
    }
    let run = Run::new(unfolding, traces);
    run.kernels_agree() && run.traces().all(|(_, trace)| run.waits_agree(trace)) && run.triggers_agree()
}

/// Whether the second kernel starts only after the first has started.
pub fn starts_after(unfolding: &Unfolding, first: KernelId, second: KernelId) -> bool {
    let mut reached = SortedSet::from([first]);
    loop {
        let edges = unfolding.kernel_order.iter().chain(&unfolding.dependent_launches);
        let next: Vec<KernelId> =
            edges.filter(|(from, to)| reached.contains(from) && !reached.contains(to)).map(|(_, to)| *to).collect();
        if next.is_empty() {
            return first != second && reached.contains(&second);
        }
        reached.extend(next);
    }
}

struct Run<'u> {
    unfolding: &'u Unfolding,
    traces: &'u [TraceId],
    /// All threads of the kernel exit.
    ended: SortedMap<KernelId, bool>,
    /// None if its threads do not agree.
    started: SortedMap<KernelId, Option<bool>>,
}

impl<'u> Run<'u> {
    fn new(unfolding: &'u Unfolding, traces: &'u [TraceId]) -> Run<'u> {
        let mut run = Run { unfolding, traces, ended: SortedMap::new(), started: SortedMap::new() };
        let (mut ended, mut started) = (SortedMap::new(), SortedMap::new());
        for (kernel, trace) in run.traces().filter_map(|(index, trace)| Some((run.kernel(index)?, trace))) {
            *ended.entry(kernel).or_insert(true) &= trace.end == TraceEnd::Exit;
            let own = trace.end != TraceEnd::NotStarted;
            let seen = started.entry(kernel).or_insert(Some(own));
            *seen = seen.filter(|seen| *seen == own);
        }
        (run.ended, run.started) = (ended, started);
        run
    }

    fn traces(&self) -> impl Iterator<Item = (usize, &'u Trace)> + use<'u> {
        let unfolding = self.unfolding;
        self.traces.iter().enumerate().map(move |(index, trace)| (index, &unfolding.traces[trace.index()]))
    }

    fn kernel(&self, thread: usize) -> Option<KernelId> {
        self.unfolding.threads.get(thread)?.kernel
    }

    fn has_ended(&self, kernel: KernelId) -> bool {
        self.ended.get(&kernel) == Some(&true)
    }

    /// Without a host that launches it, a kernel is there from the start.
    fn is_launched(&self, kernel: KernelId) -> bool {
        let launches = |event: &EventId| self.unfolding.event(*event).call == Some(HostCall::Launch(kernel));
        let by_host = (0..self.unfolding.events.len()).map(EventId::new).any(|event| launches(&event));
        !by_host || self.traces().any(|(_, trace)| trace.events.iter().any(launches))
    }

    /// Whether a wait of the trace's thread for the kernel may come before its launch.
    fn may_miss(&self, trace: &Trace, kernel: KernelId) -> bool {
        let events = self.unfolding.events.iter().filter(|event| event.thread == Some(trace.thread));
        events.into_iter().any(|event| event.call == Some(HostCall::Missed(kernel)))
    }

    fn kernels_agree(&self) -> bool {
        self.started.iter().all(|(&kernel, started)| {
            let before = |pairs: &[(KernelId, KernelId)]| -> Vec<KernelId> {
                pairs.iter().filter(|(_, to)| *to == kernel).map(|(from, _)| *from).collect()
            };
            let (order, dependent) = (before(&self.unfolding.kernel_order), before(&self.unfolding.dependent_launches));
            let may = self.is_launched(kernel) && order.iter().all(|kernel| self.has_ended(*kernel));
            match started {
                None => false,
                Some(true) => may && dependent.iter().all(|kernel| self.has_triggered(*kernel)),
                Some(false) => !(may && dependent.iter().all(|kernel| self.has_ended(*kernel))),
            }
        })
    }

    /// Every CTA has issued `griddepcontrol.launch_dependents` or exited.
    fn has_triggered(&self, kernel: KernelId) -> bool {
        let mut by_cta = SortedMap::<Place, (bool, bool)>::new();
        for (index, trace) in self.traces().filter(|(index, _)| self.kernel(*index) == Some(kernel)) {
            let (issued, exited) = by_cta.entry(self.unfolding.threads[index].place).or_insert((false, true));
            *issued |= trace.events.iter().any(|event| self.unfolding.event(*event).has(Tag::Trigger));
            *exited &= trace.end == TraceEnd::Exit;
        }
        by_cta.values().all(|(issued, exited)| *issued || *exited)
    }

    /// A wait for kernels is passed if they have ended, and is the end of the trace if they have not.
    fn waits_agree(&self, trace: &Trace) -> bool {
        trace.events.iter().all(|&id| {
            let is_over = match (self.unfolding.event(id).call, self.unfolding.event(id).has(Tag::GridWait)) {
                (Some(HostCall::Sync(kernel)), _) if self.is_launched(kernel) => self.has_ended(kernel),
                // Where another host thread may launch it later, the trace that missed it stands for this.
                (Some(HostCall::Sync(kernel)), _) if self.may_miss(trace, kernel) => return false,
                (Some(HostCall::Sync(_)), _) => true,
                (_, true) => {
                    let own = self.kernel(trace.thread.index());
                    let awaited = self.unfolding.dependent_launches.iter().filter(|(_, to)| Some(*to) == own);
                    awaited.into_iter().all(|(kernel, _)| self.has_ended(*kernel))
                }
                _ => return true,
            };
            is_over != (trace.end == TraceEnd::Blocked { barrier: id })
        })
    }

    /// Of the threads of a CTA that issue `griddepcontrol.launch_dependents` one does so first.
    fn triggers_agree(&self) -> bool {
        let mut by_cta = SortedMap::<Place, (usize, usize)>::new();
        for (index, trace) in self.traces() {
            let has = |tag| trace.events.iter().any(|event| self.unfolding.event(*event).has(tag));
            let (issuing, first) = by_cta.entry(self.unfolding.threads[index].place).or_default();
            *issuing += usize::from(has(Tag::LaunchDependents));
            *first += usize::from(has(Tag::Trigger));
        }
        by_cta.values().all(|(issuing, first)| *first == (*issuing).min(1))
    }
}
