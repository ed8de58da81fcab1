//! Why two accesses are not ordered, or not morally strong, in the ISA's terms: what is missing for the synchronisation
//! that almost was. Each reason is a condition that the path in question needs and that the model's relations say it
//! does not meet; where the model has no such relation, or the path meets them all, this is silent.

use fencepost_axiom::base::{mutually_in_scope, narrowest_common};
use fencepost_axiom::execution::Execution;
use fencepost_check::model::facts::Facts;
use fencepost_check::model::role::Relation;
use fencepost_program::EventId;
use fencepost_program::program::Scope;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind};

use crate::explain::Context;
use crate::explain::name::scope_name;

/// A reason with the section of the ISA it rests on.
pub(crate) struct Because {
    pub(crate) text: String,
    pub(crate) section: &'static str,
}

fn because(text: String, section: &'static str) -> Option<Because> {
    Some(Because { text, section })
}

/// What a diagnosis looks at.
pub(crate) struct Apart<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) facts: &'a Facts<'a>,
    pub(crate) execution: &'a Execution,
}

impl Apart<'_> {
    /// Why causality order does not lead from `first` to `second`.
    pub(crate) fn not_ordered(&self, first: EventId, second: EventId) -> Option<Because> {
        if self.facts.holds(self.cause(), first, second)? {
            return self.not_preserved(first, second).or_else(|| self.no_gate(first, second));
        }
        if let Some(because) = self.only_started(first, second) {
            return Some(because);
        }
        if let Some(because) = self.no_tensor_fence(first, second) {
            return Some(because);
        }
        let thread = |id: EventId| self.context.event(id).and_then(|event| event.thread);
        // Events of a thread ascend in program order.
        let messages = self.execution.rf.iter().filter(|(sent, received)| {
            thread(*sent) == thread(first)
                && thread(*received) == thread(second)
                && thread(*sent) != thread(*received)
                && *sent >= first
                && *received < second
        });
        messages.into_iter().find_map(|(sent, received)| self.broken_message(first, *sent, *received, second))
    }

    /// What orders accesses before proxies are looked at: of a model of host and device its compound order, which the host's
    /// accesses are in too.
    fn cause(&self) -> Relation {
        if self.facts.has(Relation::CompoundOrder) { Relation::CompoundOrder } else { Relation::BaseCausality }
    }

    /// Accesses to tensor memory by two threads: synchronisation of any strength hands them over, but only between the two
    /// fences of `tcgen05` (9.7.18.6.4). Silent where both are there.
    fn no_tensor_fence(&self, first: EventId, second: EventId) -> Option<Because> {
        let context = self.context;
        let (one, other) = (context.event(first)?, context.event(second)?);
        let both = [one, other].iter().all(|event| event.tags.has(Tag::TensorMemory) && event.strand.is_some());
        if !both || one.thread == other.thread {
            return None;
        }
        let issue = |event: &Event| event.strand.as_ref().map(|strand| strand.issue);
        let (from, to) = (issue(one)?, issue(other)?);
        let main = |id: &EventId, thread| context.event(*id).is_some_and(|event| event.thread == thread);
        let has = |id: &EventId, tag: Tag| context.event(*id).is_some_and(|event| event.tags.has(tag));
        let events = || self.execution.events.iter().filter(|id| context.event(**id).is_some_and(Event::is_main));
        let before = events().any(|id| main(id, one.thread) && *id > from && has(id, Tag::BeforeThreadSync));
        let commits =
            events().any(|id| main(id, one.thread) && *id > from && context.instruction(*id).contains("commit"));
        let after = events().any(|id| main(id, other.thread) && *id < to && has(id, Tag::AfterThreadSync));
        let (which, whose) = match (before || commits, after) {
            (_, false) => ("`tcgen05.fence::after_thread_sync` stands before", second),
            (false, true) => ("`tcgen05.fence::before_thread_sync` stands after", first),
            (true, true) => return None,
        };
        because(format!("no {which} `{}`", context.instruction(whose)), sections::TCGEN05_PATTERNS)
    }

    /// `first … sent —rf→ received … second`: which end is no pattern, or what is not morally strong (8.8, 8.9.4).
    fn broken_message(&self, first: EventId, sent: EventId, received: EventId, second: EventId) -> Option<Because> {
        let starts = self.facts.before(Relation::ReleasePattern, sent)?;
        let starts: Vec<EventId> = starts.into_iter().filter(|start| *start >= first).collect();
        let ends = self.facts.after(Relation::AcquirePattern, received)?;
        let ends: Vec<EventId> = ends.into_iter().filter(|end| *end <= second).collect();
        // A write that is itself read is ordered by observation alone.
        if starts.is_empty() && sent != first {
            return self.no_release(first, sent);
        }
        if ends.is_empty() && sent != first {
            return self.no_acquire(received, second);
        }
        if !self.facts.holds(Relation::Observation, sent, received)? {
            return self.not_morally_strong(sent, received);
        }
        let (start, end) = (*starts.last()?, *ends.first()?);
        let pairs = starts.iter().flat_map(|start| ends.iter().map(move |end| (*start, *end)));
        let mut strong = pairs.map(|(start, end)| self.facts.holds(Relation::MorallyStrong, start, end) == Some(true));
        if strong.any(|strong| strong) { None } else { self.not_morally_strong(start, end) }
    }

    fn no_release(&self, first: EventId, sent: EventId) -> Option<Because> {
        let context = self.context;
        let why = match strength(context.event(sent)?)? {
            "weak" => "it is weak".to_owned(),
            strength => {
                format!("it is {strength}, and no release fence lies between `{}` and it", context.instruction(first))
            }
        };
        because(format!("{} ends no release pattern: {why}", context.called(sent)), sections::PATTERNS)
    }

    fn no_acquire(&self, received: EventId, second: EventId) -> Option<Because> {
        let context = self.context;
        let event = context.event(received)?;
        let why = if event.tags.has(Tag::NoReturn) {
            "it returns no value, so it is no read operation (Table 20)".to_owned()
        } else {
            match strength(event)? {
                "weak" => "it is weak".to_owned(),
                strength => format!(
                    "it is {strength}, and no acquire fence lies between it and `{}`",
                    context.instruction(second)
                ),
            }
        };
        because(format!("{} starts no acquire pattern: {why}", context.called(received)), sections::PATTERNS)
    }

    /// Base causality order leads from `a` to `b`, but not one that proxies preserve (8.9.5).
    fn not_preserved(&self, a: EventId, b: EventId) -> Option<Because> {
        let (context, facts) = (self.context, self.facts);
        let (first, second) = (context.event(a)?, context.event(b)?);
        let leads = |from: EventId, to: EventId| facts.holds(Relation::BaseCausality, from, to) == Some(true);
        let leaves: Vec<EventId> =
            facts.after(Relation::LeavesProxy, a)?.into_iter().filter(|at| leads(*at, b)).collect();
        let enters: Vec<EventId> =
            facts.before(Relation::EntersProxy, b)?.into_iter().filter(|at| leads(a, *at)).collect();
        let way = if first.thread == second.thread { "program order" } else { "synchronisation" };
        let but = |what: String| {
            because(
                format!("{way} leads from {} to {}, but {what}", context.called(a), context.called(b)),
                sections::CAUSALITY_ORDER,
            )
        };
        let missing = |kind: &str, id: EventId| {
            but(format!("no `fence.proxy.{kind}` in the thread block of `{}` lies between", context.instruction(id)))
        };
        if leaves.is_empty() {
            return missing(proxy(first), a);
        }
        if enters.is_empty() {
            return missing(proxy(second), b);
        }
        if generic(first) == generic(second) {
            let joined = leaves.iter().any(|from| enters.iter().any(|to| leads(*from, *to)));
            return if joined {
                None
            } else {
                but("the proxy fences between are not in the order that joins them".to_owned())
            };
        }
        let alias = self.execution.events.iter().copied().filter(|id| {
            let is_alias = context.event(*id).is_some_and(|event| event.tags.has(Tag::Alias));
            is_alias && leads(a, *id) && leads(*id, b)
        });
        let alias: Vec<EventId> = alias.collect();
        if alias.is_empty() {
            return but("no `fence.proxy.alias` lies between".to_owned());
        }
        let joins = |id: &EventId| leaves.iter().any(|at| leads(*at, *id)) && enters.iter().any(|at| leads(*id, *at));
        if alias.iter().any(joins) {
            None
        } else {
            but("the proxy fences between are not in the order that joins them".to_owned())
        }
    }

    /// Why two operations are not morally strong (8.7); None if they are.
    pub(crate) fn not_morally_strong(&self, a: EventId, b: EventId) -> Option<Because> {
        let context = self.context;
        if self.facts.holds(Relation::MorallyStrong, a, b)? {
            return None;
        }
        let (first, second) = (context.event(a)?, context.event(b)?);
        let (x, y) = (proxy(first), proxy(second));
        if x != y {
            let text = format!(
                "{} goes through the {x} proxy and {} through the {y} proxy",
                context.called(a),
                context.called(b)
            );
            return because(text, "8.6, 8.7");
        }
        if let (Some(x), Some(y)) = (generic(first), generic(second))
            && x != y
        {
            let text = format!(
                "{} and {} use different virtual addresses of one location",
                context.called(a),
                context.called(b)
            );
            return because(text, "8.6, 8.7");
        }
        // Program order is enough for operations of one thread.
        if first.thread == second.thread {
            return None;
        }
        for (id, event) in [(a, first), (b, second)] {
            if event.thread.is_none() || event.tags.has(Tag::Weak) {
                let how = if event.thread.is_none() { "not strong" } else { "weak" };
                return because(format!("{} is {how}", context.called(id)), sections::MORALLY_STRONG);
            }
        }
        if mutually_in_scope(context.unfolding, first, second) {
            return None;
        }
        let threads = &context.unfolding.threads;
        let place = |event: &Event| event.thread.and_then(|thread| threads.get(thread.index())).map(|t| t.place);
        let needed = narrowest_common(place(first)?, place(second)?);
        let (id, event) = if first.scope.is_none_or(|scope| scope < needed) { (a, first) } else { (b, second) };
        let own = event.scope.map_or("no scope", scope_name);
        let text = format!(
            "the scope of {} is too narrow: {own}, but the threads share only {}",
            context.called(id),
            shared(needed)
        );
        because(text, "8.5, 8.7")
    }
}

/// How an operation that makes no pattern is ordered; None if its tags would make one.
fn strength(event: &Event) -> Option<&'static str> {
    let has = |tag| event.tags.has(tag);
    let writes = matches!(event.kind, EventKind::Write { .. });
    match () {
        () if has(Tag::Weak) => Some("weak"),
        () if has(Tag::AcqRel) => None,
        () if has(Tag::Acquire) => writes.then_some("only an acquire"),
        () if has(Tag::Release) => (!writes).then_some("only a release"),
        () if has(Tag::Volatile) => Some("volatile"),
        () if has(Tag::Relaxed) => Some("relaxed"),
        () => None,
    }
}

fn shared(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "a CTA (.cta)",
        Scope::Cluster => "a cluster (.cluster)",
        Scope::Gpu => "a GPU (.gpu)",
        Scope::Sys => "the system (.sys)",
    }
}

fn generic(event: &Event) -> Option<fencepost_program::AddressId> {
    match event.kind {
        EventKind::Read { generic, .. } | EventKind::Write { generic, .. } => Some(generic),
        _ => None,
    }
}

/// The kind of the proxy an access goes through.
fn proxy(event: &Event) -> &'static str {
    let known = [(Tag::Surface, "surface"), (Tag::Texture, "texture"), (Tag::Constant, "constant")];
    known.into_iter().find(|(tag, _)| event.tags.has(*tag)).map_or("generic", |(_, name)| name)
}
