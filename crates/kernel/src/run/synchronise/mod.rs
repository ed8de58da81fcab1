//! Fences, and what strong accesses publish and hear (8.8, 8.9.4).

pub(in crate::run) mod backoff;
pub(in crate::run) mod barrier;
pub(in crate::run) mod election;
pub(in crate::run) mod mbarrier;
pub(in crate::run) mod peek;

use std::rc::Rc;

use crate::code::op::{Cover, Op, Order, Pc, Scope};
use crate::order::record::RecordId;
use crate::order::{Certainty, Domain, Known, Message, Region, Snapshot, in_scope, sent};
use crate::run::warp::lanes;
use crate::run::{Credit, Run};

const SCOPES: [Scope; 4] = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys];

impl Run<'_> {
    pub(in crate::run) fn fence(&mut self, warp: usize, pc: Pc, active: u32, op: &Op) {
        let cta = self.warps[warp].cta;
        let time = self.order.time(warp as u32);
        match op {
            Op::Fence { order, scope } => {
                if order.acquires() {
                    self.acquire_heard(warp, active, *scope);
                }
                if *order == Order::SequentiallyConsistent {
                    self.fence_sc(warp, pc, active, *scope);
                    self.fence_behind_flags(warp, active, *scope);
                }
                if order.releases() {
                    let slot = SCOPES.iter().position(|own| own == scope).unwrap_or(0);
                    self.order.change(warp as u32, active, |views, _| {
                        views.released[slot] = Some(views.snapshot(time));
                    });
                }
            }
            Op::FenceProxyAsync(cover) => {
                let domains = self.covered_by(*cover, cta);
                let behind = self.order.pairs_read;
                self.order.change(warp as u32, active, |views, lanes| {
                    if behind {
                        views.fence_behind_others(&domains, cta);
                    }
                    views.fence_async(&domains, cta, (warp as u32, lanes, time));
                });
            }
            Op::FenceProxyTensormapRelease { scope } => {
                self.order.change(warp as u32, active, |views, _| views.release_maps(cta, *scope, time));
            }
            Op::FenceProxyTensormapAcquire { map, scope } => {
                let per = self.launch.ctas_per_cluster();
                let includes =
                    |by: u32, released: Scope| in_scope(released, by, cta, per) && in_scope(*scope, by, cta, per);
                for lane in lanes(active) {
                    let address = self.address_of(warp, pc, lane, *map);
                    self.order.change(warp as u32, 1 << lane, |views, _| views.acquire_map(cta, address, includes));
                }
            }
            Op::FenceMbarrierInit => {
                self.order.change(warp as u32, active, |views, _| views.times.initialised = time);
            }
            _ => {}
        }
    }

    /// Fences of `fence.sc` synchronise in the order in which they come (8.9.3). That order is the schedule's: it counts only
    /// for what this run has seen.
    fn fence_sc(&mut self, warp: usize, pc: Pc, active: u32, scope: Scope) {
        let cta = self.warps[warp].cta;
        let per = self.launch.ctas_per_cluster();
        let mutual = |message: &Message| {
            in_scope(message.scope, message.cta, cta, per) && in_scope(scope, message.cta, cta, per)
        };
        let before: Vec<Rc<Message>> = self.sc_fences.iter().filter(|own| mutual(own)).cloned().collect();
        if !before.is_empty() {
            self.flags.insert(pc);
        }
        if self.options.credit == Credit::Observed {
            self.order.change(warp as u32, active, |views, lanes| {
                for message in &before {
                    views.receive(&message.known, warp as u32, lanes);
                    if message.cta != cta {
                        let known = Rc::make_mut(&mut views.known);
                        known.released_elsewhere(&message.known.base.threads, Certainty::Certain);
                    }
                }
            });
        }
        let known = self.order.sent(warp as u32, active);
        match self.sc_fences.iter_mut().find(|own| own.cta == cta && own.scope == scope) {
            Some(own) => {
                let mut joined = own.known.clone();
                joined.collect(&known);
                *own = Rc::new(Message { known: joined, scope, cta });
            }
            None => self.sc_fences.push(Rc::new(Message { known, scope, cta })),
        }
    }

    /// The objects that a proxy fence of a thread in this CTA is about.
    fn covered_by(&self, cover: Cover, cta: u32) -> Vec<Domain> {
        let per = self.launch.ctas_per_cluster().max(1);
        let first = cta / per * per;
        let shared = (first..first + per).map(Domain::Shared);
        let mapped = (first..first + per).map(Domain::Mapped);
        match cover {
            Cover::Everything => shared.chain([Domain::Global]).collect(),
            Cover::Global => vec![Domain::Global],
            Cover::SharedCta if self.options.policy.remote_covered => mapped.chain([Domain::Shared(cta)]).collect(),
            Cover::SharedCta => vec![Domain::Shared(cta)],
            Cover::SharedCluster => shared.collect(),
        }
    }

    /// What release fences before have made ready for a strong write of these lanes.
    pub(in crate::run) fn released_known(&self, warp: usize, active: u32, least: Scope) -> Option<Known> {
        let cta = self.warps[warp].cta;
        let mut known: Option<Known> = None;
        for (mask, views) in self.order.groups(warp as u32, active) {
            for (scope, snapshot) in SCOPES.iter().zip(&views.released) {
                if let (true, Some(snapshot)) = (*scope >= least, snapshot) {
                    let part = sent(&snapshot.known, &snapshot.times, cta, warp as u32, mask, snapshot.time);
                    known.get_or_insert_default().collect(&part);
                }
            }
        }
        known
    }

    /// The same of one lane, fence by fence: each with its own scope.
    pub(in crate::run) fn released_by_fences(&self, warp: usize, lane: u32) -> Vec<(Scope, Known)> {
        let cta = self.warps[warp].cta;
        let views = self.order.views(warp as u32, lane);
        let fences = SCOPES.iter().zip(&views.released);
        let known = |(scope, snapshot): (&Scope, &Option<Rc<Snapshot>>)| {
            let snapshot = snapshot.as_ref()?;
            Some((*scope, sent(&snapshot.known, &snapshot.times, cta, warp as u32, 1 << lane, snapshot.time)))
        };
        fences.filter_map(known).collect()
    }

    /// The messages of a strong write by one lane: its own release, that of an earlier one of the thread to the same place, and of
    /// fences before it (8.8). An element of a vector, which is not alone, does not publish the other ones (8.2.4).
    pub(in crate::run) fn messages_of(
        &mut self,
        (warp, lane, alone): (usize, u32, bool),
        at: (Region, u64),
        releases: bool,
        scope: Scope,
    ) -> Vec<Rc<Message>> {
        let (cta, thread) = (self.warps[warp].cta, self.thread(warp, lane));
        let views = self.order.views(warp as u32, lane);
        let now = self.order.time(warp as u32);
        let time = if alone { now } else { now - 1 };
        let mut messages = Vec::new();
        if releases {
            let known = views.sent(cta, warp as u32, 1 << lane, time);
            messages.push(Rc::new(Message { known, scope, cta }));
            self.released_at.insert((thread, at.0, at.1), messages.clone());
        } else if let Some(before) = self.released_at.get(&(thread, at.0, at.1)) {
            messages.clone_from(before);
        }
        let fences = self.released_by_fences(warp, lane).into_iter();
        messages.extend(fences.map(|(scope, known)| Rc::new(Message { known, scope, cta })));
        messages
    }

    /// Whether a read there observes what this run has written last: if it tells of itself only, or threads take turns.
    pub(in crate::run) fn observes(&self, at: (Region, u64)) -> bool {
        self.options.credit == Credit::Observed || self.in_turn(at)
    }

    /// A strong write of one lane, for those who observe it.
    pub(in crate::run) fn publish(&mut self, at: (Region, u64), record: RecordId, lane: u32) {
        if self.observes(at) {
            self.order.wrote(at, record, lane);
        }
    }

    /// A strong read of one lane sees what was published there.
    pub(in crate::run) fn hear(
        &mut self,
        warp: usize,
        record: RecordId,
        lane: u32,
        at: (Region, u64),
        acquires: bool,
        scope: Scope,
    ) {
        let pc = self.order.record_at(record).pc;
        // Where threads take turns, the order is that of the atomic operations: a load may see an older one.
        let is_atomic = matches!(self.code[pc as usize].op, Op::Atomic { .. });
        let observes = self.options.credit == Credit::Observed || (is_atomic && self.in_turn(at));
        if observes {
            self.order.observe(at, record, lane);
        }
        let certainty = if observes { Certainty::Certain } else { Certainty::Seen };
        self.observe_carried(at, (record, lane), scope, certainty);
        let Some(messages) = self.messages.get(&at).cloned() else { return };
        let cta = self.warps[warp].cta;
        let per = self.launch.ctas_per_cluster();
        let heard: Vec<Rc<Message>> =
            messages.into_iter().filter(|message| in_scope(message.scope, message.cta, cta, per)).collect();
        if heard.is_empty() {
            return;
        }
        self.flags.insert(pc);
        if observes {
            self.take_messages(warp, lane, &heard, acquires, scope);
        }
    }

    /// What was published is known at once to one who acquires, else behind a fence.
    pub(in crate::run) fn take_messages(
        &mut self,
        warp: usize,
        lane: u32,
        messages: &[Rc<Message>],
        acquires: bool,
        scope: Scope,
    ) {
        let cta = self.warps[warp].cta;
        let per = self.launch.ctas_per_cluster();
        let heard = messages.iter().filter(|message| in_scope(message.scope, message.cta, cta, per));
        let heard: Vec<Rc<Message>> = heard.cloned().collect();
        self.order.change(warp as u32, 1 << lane, |views, _| {
            for message in &heard {
                if acquires && in_scope(scope, message.cta, cta, per) {
                    views.receive(&message.known, warp as u32, 1 << lane);
                }
                join_message(&mut views.heard, message);
            }
        });
    }

    /// An acquire fence takes what relaxed reads before it have seen.
    fn acquire_heard(&mut self, warp: usize, active: u32, scope: Scope) {
        let cta = self.warps[warp].cta;
        let per = self.launch.ctas_per_cluster();
        self.order.change(warp as u32, active, |views, lanes| {
            let heard = std::mem::take(&mut views.heard);
            for message in heard {
                if in_scope(scope, message.cta, cta, per) {
                    views.receive(&message.known, warp as u32, lanes);
                } else {
                    views.heard.push(message);
                }
            }
        });
    }
}

/// Adds what a message tells. Who hears it depends on its CTA and scope only, so that of each pair there is one: none is left
/// out, however many threads publish.
pub(in crate::run) fn join_message(messages: &mut Vec<Rc<Message>>, message: &Rc<Message>) {
    let alike = |own: &&mut Rc<Message>| own.cta == message.cta && own.scope == message.scope;
    match messages.iter_mut().find(alike) {
        Some(own) if Rc::ptr_eq(own, message) => {}
        Some(own) => {
            let mut known = own.known.clone();
            known.collect(&message.known);
            *own = Rc::new(Message { known, scope: message.scope, cta: message.cta });
        }
        None => messages.push(Rc::clone(message)),
    }
}
