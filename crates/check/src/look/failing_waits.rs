//! Failing iterations of spin loops that nothing but a race of their own needs: those that only ask mbarriers.
//!
//! Races are looked for in an unfolding in which a thread may go through one failing iteration of a spin loop
//! ([`crate::look::race_search`]). With k such iterations in each of n threads that is (k + 1)^n choices of traces, and each failing
//! wait may read several states: a pipeline with a few stages and consumers has thousands of executions for every one that
//! matters.
//!
//! An iteration is *quiet* if all its events are waits on mbarriers that answer no: relaxed reads. It adds no order but what
//! the wait that follows adds too: an mbarrier is changed by read-modify-writes only (what initialises or ends it aside,
//! which would race with the wait), so a later wait of the thread observes whatever an earlier one does. Leaving it out of an execution gives one with the
//! same order among the rest. So
//!
//! * what is flagged in an execution with quiet iterations, and touches none of them, is flagged in the execution without;
//! * what touches one is flagged in an execution in which the other threads have none: two waits do not conflict;
//! * a broken rule of mbarriers that a wait which answers no shows is shown by the wait that follows as well (the same
//!   instruction with the same operand sees the same phase or a later one), unless the object was not initialised yet, or
//!   not any more: then something initialises it later that the wait is not ordered with, and both race. Where operations on
//!   the object race with each other they are not atomic, and none of this is known: every thread is looked at then.
//!
//! So the executions without quiet iterations are looked at one by one, and then, thread by thread, one is searched for in
//! which a quiet iteration of that thread is flagged. Mostly there is none, and that is known as soon as the
//! initialisation of the mbarrier is ordered before the wait. If there is one, the executions of that thread are
//! looked at one by one too. That this loses nothing is compared with all executions at once, and with loops unrolled in
//! the text, on random programs (`quiet/compare.rs`).

#[cfg(test)]
mod compare;
#[cfg(test)]
pub mod draft;

use std::borrow::Cow;

use fencepost_axiom::engine::is_raised_within;
use fencepost_axiom::model::Model;
use fencepost_program::EventId;
use fencepost_program::TraceId;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, FailingIteration, Traces, Unfolding};
use fencepost_syntax::sorted::SortedSet;

use crate::look::race::{Flag, Flags};

/// Some choices of traces of an unfolding, with the same events.
pub struct Part<'a> {
    pub unfolding: Cow<'a, Unfolding>,
    /// The events of quiet iterations that it is about: what does not touch one of them is looked at elsewhere. Empty for
    /// the part without quiet iterations, which is about everything.
    pub about: SortedSet<EventId>,
}

impl Part<'_> {
    /// The pairs of events that this part is not about.
    pub fn left_out(&self) -> Vec<(EventId, EventId)> {
        if self.about.is_empty() {
            return Vec::new();
        }
        let traces = self.unfolding.threads.iter().flat_map(|thread| &thread.traces);
        let events =
            traces.filter_map(|trace| self.unfolding.traces.get(trace.index())).flat_map(|trace| &trace.events);
        let rest: SortedSet<EventId> = events.copied().filter(|event| !self.about.contains(event)).collect();
        rest.iter().flat_map(|first| rest.iter().map(|second| (*first, *second))).collect()
    }
}

/// The flags that are asked of a wait which answers no. What is only warned of is no matter of it, and one that nothing raises
/// but what raises another is known with that.
pub fn asked<'f>(flags: &'f Flags, model: &Model) -> Vec<&'f Flag> {
    let all: Vec<&Flag> = flags.each().filter(|flag| flag.is_race() || flag.kind.is_of_lifetime()).collect();
    let is_known = |flag: &Flag| {
        let others = all.iter().take_while(|other| other.check != flag.check);
        others.into_iter().any(|other| is_raised_within(model, flag.check, other.check))
    };
    all.iter().copied().filter(|flag| !is_known(flag)).collect()
}

/// A wait on an mbarrier that answers no.
fn is_quiet(event: &Event) -> bool {
    let is_wait = event.has(Tag::Mbarrier) && event.is_read() && event.rmw_partner.is_none();
    is_wait && !event.has(Tag::MbarrierWait) && !event.has(Tag::Acquire)
}

/// The parts to look at: the one without quiet iterations first.
pub fn parts(unfolding: &Unfolding) -> Vec<Part<'_>> {
    parts_by(unfolding, is_quiet)
}

/// The same with another idea of what is quiet.
fn parts_by(unfolding: &Unfolding, is_quiet: impl Fn(&Event) -> bool) -> Vec<Part<'_>> {
    let all_quiet = |iteration: &&FailingIteration| {
        let events = iteration.events.iter().map(|event| unfolding.events.get(event.index()));
        !iteration.events.is_empty() && events.into_iter().all(|event| event.is_some_and(&is_quiet))
    };
    let quiet: Vec<&FailingIteration> = unfolding.failing.iter().filter(all_quiet).collect();
    if quiet.is_empty() {
        return vec![Part { unfolding: Cow::Borrowed(unfolding), about: SortedSet::new() }];
    }
    let is_failing = |trace: &TraceId| quiet.iter().any(|iteration| iteration.trace == *trace);
    let mut base = unfolding.clone();
    base.threads.iter_mut().for_each(|thread| thread.traces.retain(|trace| !is_failing(trace)));
    let mut parts = Vec::new();
    for (at, thread) in unfolding.threads.iter().enumerate() {
        let own: Traces = thread.traces.iter().copied().filter(|trace| is_failing(trace)).collect();
        let iterations = quiet.iter().filter(|iteration| own.contains(&iteration.trace));
        let about: SortedSet<EventId> = iterations.flat_map(|iteration| iteration.events.iter().copied()).collect();
        if own.is_empty() {
            continue;
        }
        let mut part = base.clone();
        if let Some(thread) = part.threads.get_mut(at) {
            thread.traces = own;
        }
        parts.push(Part { unfolding: Cow::Owned(part), about });
    }
    parts.insert(0, Part { unfolding: Cow::Owned(base), about: SortedSet::new() });
    parts
}

#[cfg(test)]
mod tests {
    use fencepost_program::unfold::{UnfoldOptions, unfold_accesses};
    use fencepost_syntax::Source;

    use super::parts;
    use crate::load;

    /// How many traces each thread has, part by part.
    fn traces(poll: &str) -> Vec<Vec<usize>> {
        let init =
            "mbarrier.init.shared::cta.b64 [a], 1;\nmbarrier.init.shared::cta.b64 [b], 1;\nst.shared.u32 [f], 1;";
        let text = format!(
            "PTX t\n{{ .shared .b64 a; .shared .b64 b; .shared .u32 f = 0; }}\nP0@cta 0 {{\n{init}\nbar.sync 0;\n\
             mbarrier.arrive.shared::cta.b64 _, [a];\nmbarrier.arrive.shared::cta.b64 _, [b];\n}}\n\
             P1@cta 0 {{\nbar.sync 0;\n{poll}\n}}\nP2@cta 0 {{\nbar.sync 0;\n{poll}\n}}\nforall (true)\n"
        );
        let (tests, diagnostics) = load(&Source::new("t.litmus", text));
        assert!(tests.len() == 1, "{diagnostics:?}");
        let unfolding = unfold_accesses(&tests[0].program, &UnfoldOptions::default()).expect("an unfolding");
        let ending = |unfolding: &super::Unfolding| {
            let ends = |trace: &&super::TraceId| {
                unfolding.traces[trace.index()].end == fencepost_program::unfolding::TraceEnd::Exit
            };
            unfolding.threads.iter().map(|thread| thread.traces.iter().filter(ends).count()).collect()
        };
        parts(&unfolding).iter().map(|part| ending(&part.unfolding)).collect()
    }

    fn wait(label: &str, at: &str) -> String {
        format!("{label}: mbarrier.try_wait.parity.shared::cta.b64 %p, [{at}], 0;\n@!%p bra {label};\n")
    }

    /// Each of two threads may find either mbarrier not complete yet, once: nine choices in one, five in parts.
    #[test]
    fn one_thread_at_a_time_has_a_wait_that_answers_no() {
        let found = traces(&(wait("A", "a") + &wait("B", "b")));
        assert_eq!(found, [vec![1, 1, 1], vec![1, 2, 1], vec![1, 1, 2]]);
    }

    /// A loop that reads data, or acquires, may order something: all choices stay together.
    #[test]
    fn what_is_no_wait_on_an_mbarrier_is_not_taken_apart() {
        for load in ["ld.shared.u32", "ld.acquire.cta.shared.u32", "ld.relaxed.cta.shared.u32"] {
            let poll = format!("L: {load} %v, [f];\nsetp.eq.u32 %p, %v, 0;\n@%p bra L;");
            assert_eq!(traces(&poll), [vec![1, 2, 2]], "{load}");
        }
    }
}
