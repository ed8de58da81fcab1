//! Why a write that has happened before a read need not be seen by it: the two go through different proxies and no gate
//! stands between them (PTX ISA 8.6, 8.9.5, 9.7.15.4), or what happened before was only the start of a kernel (9.7.15.14).

use fencepost_check::look::proxy::proxy_of;
use fencepost_check::model::role::Relation;
use fencepost_program::EventId;
use fencepost_program::access::covers;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::EventKind;
use fencepost_report::site::Proxy;

use crate::explain::derivation::unordered::{Apart, Because};

impl Apart<'_> {
    /// Of `a`, which comes before `b` in base causality order, but not in one that proxies preserve. None where the model
    /// preserves it.
    pub(crate) fn no_gate(&self, a: EventId, b: EventId) -> Option<Because> {
        let (context, facts) = (self.context, self.facts);
        if !facts.holds(Relation::BaseCausality, a, b)? || facts.holds(Relation::Causality, a, b)? {
            return None;
        }
        let (first, second) = (context.event(a)?, context.event(b)?);
        let (from, to) = (proxy_of(first), proxy_of(second));
        let because = |text: String| Some(Because { text, section: "8.9.5, 9.7.15.4" });
        let (kind, tag) = match (from, to) {
            (_, Proxy::TensorMap) => return because(self.no_map_gate(a, b)),
            (Proxy::Generic, Proxy::Generic) => ("fence.proxy.alias", Tag::Alias),
            (Proxy::Generic | Proxy::Async, Proxy::Generic | Proxy::Async) => ("fence.proxy.async", Tag::Async),
            _ if from == to => return None,
            _ => return because(format!("no gate to the {} lies between", to.name())),
        };
        let gates = self.gates_between(a, b, tag);
        let generic = if from == Proxy::Generic { a } else { b };
        if tag == Tag::Async && from != to {
            let other = if generic == a { b } else { a };
            if let Some(text) = self.misplaced(&gates, generic, other) {
                return because(text);
            }
        }
        let own = gates.iter().find(|gate| context.thread(**gate) == context.thread(generic));
        let at = |gate: EventId| self.gate_name(gate);
        match (own, gates.first()) {
            (_, None) => because(format!("no `{kind}` lies between")),
            (Some(gate), _) | (None, Some(gate)) if !covers(context.unfolding, *gate, generic) => {
                because(format!("the {} between them is not about this memory", at(*gate)))
            }
            (Some(_), _)
                if tag == Tag::Async && self.gates_between(a, b, Tag::Alias).is_empty() && self.are_aliases(a, b) =>
            {
                because("they use different addresses, and no `fence.proxy.alias` lies between".to_owned())
            }
            (Some(gate), _) | (None, Some(gate)) => {
                because(format!("the {} between them does not join the two", at(*gate)))
            }
        }
    }

    /// Of fences between a generic and an async access of which none is where a reading of `async-fence` wants one: in the
    /// thread of the generic access, or in the CTA of the async one.
    fn misplaced(&self, gates: &[EventId], generic: EventId, other: EventId) -> Option<String> {
        let context = self.context;
        let first = *gates.first()?;
        let place = |id: EventId| {
            let thread = context.event(id)?.thread?;
            context.unfolding.threads.get(thread.index()).map(|thread| thread.place)
        };
        let own = gates.iter().any(|gate| context.thread(*gate) == context.thread(generic));
        let near = gates.iter().any(|gate| place(*gate) == place(other));
        let (whose, peer) = (context.thread(generic)?, context.thread(other)?);
        let wanted = match (own, near) {
            (true, true) => return None,
            (false, true) => format!("of {whose}"),
            (true, false) => format!("in the CTA of {peer}"),
            (false, false) => format!("of {whose} or in the CTA of {peer}"),
        };
        let by = context.thread(first)?;
        Some(format!("no `fence.proxy.async` {wanted} lies between: the {} is {by}'s", self.gate_name(first)))
    }

    /// A map is handed over by a release and an acquire of its own.
    fn no_map_gate(&self, a: EventId, b: EventId) -> String {
        let context = self.context;
        let gates = self.gates_between(a, b, Tag::TensorMap);
        let has = |gate: &&EventId, tag: Tag| context.event(**gate).is_some_and(|event| event.tags.has(tag));
        let half = |tag: Tag| gates.iter().find(|gate| has(gate, tag));
        // The instruction that copies a map releases it.
        let is_own = context.instruction(a).starts_with("tensormap.cp_fenceproxy");
        match (half(Tag::Release), half(Tag::Acquire)) {
            (_, None) => "no `fence.proxy.tensormap::generic.acquire` lies between".to_owned(),
            (None, Some(_)) if !is_own => "no `fence.proxy.tensormap::generic.release` lies between".to_owned(),
            (_, Some(gate)) if !covers(context.unfolding, *gate, b) => {
                format!("the {} between them is about another map", self.gate_name(*gate))
            }
            (_, Some(gate)) => format!("the {} does not meet a release in its scope before it", self.gate_name(*gate)),
        }
    }

    fn gates_between(&self, a: EventId, b: EventId, tag: Tag) -> Vec<EventId> {
        let leads = |from: EventId, to: EventId| self.facts.holds(Relation::BaseCausality, from, to) == Some(true);
        let is_gate = |id: &EventId| {
            let event = self.context.event(*id);
            event.is_some_and(|event| event.tags.has(Tag::ProxyFence) && event.tags.has(tag))
        };
        let events = self.execution.events.iter().copied();
        events.filter(|id| is_gate(id) && leads(a, *id) && leads(*id, b)).collect()
    }

    /// "`fence.proxy.async` of line 7".
    fn gate_name(&self, gate: EventId) -> String {
        let line = self.context.line_number(gate).unwrap_or_default();
        format!("`{}` of line {line}", self.context.instruction(gate))
    }

    fn are_aliases(&self, a: EventId, b: EventId) -> bool {
        let address = |id: EventId| match self.context.event(id)?.kind {
            EventKind::Read { generic, .. } | EventKind::Write { generic, .. } => Some(generic),
            _ => None,
        };
        address(a) != address(b)
    }

    /// Of events of two kernels, the second of which starts when the first lets it.
    pub(crate) fn only_started(&self, a: EventId, b: EventId) -> Option<Because> {
        let (context, facts) = (self.context, self.facts);
        let (first, second) = (context.event(a)?.thread?, context.event(b)?.thread?);
        let lets = self.execution.events.iter().copied().filter(|id| {
            let event = context.event(*id);
            event.is_some_and(|event| {
                event.thread == Some(first) && (event.tags.has(Tag::Trigger) || event.tags.has(Tag::Exit))
            })
        });
        let start = lets.into_iter().find(|id| *id > a && facts.holds(Relation::KernelOrder, *id, b) == Some(true))?;
        let (own, dependent) =
            (&context.unfolding.threads.get(first.index())?.name, &context.unfolding.threads.get(second.index())?.name);
        let when = if context.event(start)?.tags.has(Tag::Exit) { "has exited" } else { "lets it" };
        let text =
            format!("{dependent}'s kernel starts when {own}'s {when}, which orders no memory: only a wait for it does");
        Some(Because { text, section: sections::GRIDDEPCONTROL })
    }
}
