//! What a lane knows: base causality order and its variants for proxies, tensor memory, launches (PTX ISA 8.9.5).
//!
//! [`Known`] travels from thread to thread with synchronisation; [`Views`] adds what is the lane's own. A lane always
//! knows its own past, so no clock here says so: what a lane sends has its own time added ([`Views::sent`]).

use std::rc::Rc;

use super::clock::{Clock, Lane, Object, Time, View, Waiter, Warp, join, waiting_lane};
use super::over::{self, Certainty, OverView};
use crate::code::op::Scope;

pub type Cta = u32;

/// Which objects a proxy fence is about: global memory, or the shared memory of a CTA.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Domain {
    Global,
    Shared(Cta),
    /// What other CTAs do to it, through a mapped address (reading async-fence-remote).
    Mapped(Cta),
}

impl Domain {
    /// Whose shared memory it is about.
    fn home(self) -> Option<Cta> {
        match self {
            Domain::Global => None,
            Domain::Shared(home) | Domain::Mapped(home) => Some(home),
        }
    }
}

/// The same knowledge for accesses of threads, and for asynchronous operations that they start: `bar.warp.sync` may be
/// about the former only (reading warp-sync-async).
///
/// In a lane's own knowledge, `issue` is what counts for what this lane starts. In knowledge that travels, it is what
/// counts for whoever receives it; see [`Known::apart`].
#[derive(Clone, Debug, Default)]
pub struct Pair {
    pub threads: View,
    pub issue: View,
}

impl Pair {
    fn raise(&mut self, warp: Warp, lanes: u32, time: Time) {
        raise(&mut self.threads, warp, lanes, time);
        raise(&mut self.issue, warp, lanes, time);
    }

    pub(super) fn include(&mut self, view: &Pair) {
        join(&mut self.threads, &view.threads);
        join(&mut self.issue, &view.issue);
    }

    /// Over `bar.warp.sync`.
    fn include_threads(&mut self, from: &Pair) {
        join(&mut self.threads, &from.threads);
    }

    /// From another thread, for what the receiver starts.
    fn include_issue(&mut self, from: &Pair) {
        join(&mut self.issue, &from.threads);
    }

    fn same(&self, other: &Pair) -> bool {
        Rc::ptr_eq(&self.threads, &other.threads) && Rc::ptr_eq(&self.issue, &other.issue)
    }

    /// Whether accesses come after more than what is started does.
    fn differs(&self) -> bool {
        !Rc::ptr_eq(&self.threads, &self.issue) && !self.issue.covers(&self.threads)
    }
}

/// Everything that was known at proxy fences: of accesses by threads, and of asynchronous operations that are over.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    pub base: Pair,
    pub handed: Pair,
}

/// What travels.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Base causality order.
    pub base: Pair,
    /// Base causality order from a wait for an asynchronous operation (`base-from-strands`): synchronisation with another
    /// thread comes before the first `bar.warp.sync` (reading warp-sync-async). A phase of an mbarrier has been handed over
    /// when a thread that did not start the operation has waited for it; so steps carry who waited.
    pub handed: Pair,
    /// Execution order: relaxed synchronisation counts too (9.7.18.6.3).
    pub execution: View,
    /// Which accesses to shared memory of other CTAs are over.
    pub over: OverView,
    /// Generic accesses with a proxy fence by their own thread behind them, by what the fence is about.
    pub fenced_by_thread: Vec<(Domain, Pair)>,
    /// Everything that was known at a proxy fence in this CTA.
    pub fenced_in_cta: Vec<((Domain, Cta), Gate)>,
    /// What was known at a proxy fence in the first CTA, at a proxy fence in the second behind it: what each is about, and the CTAs.
    pub fenced_twice: Vec<([(Domain, Cta); 2], Pair)>,
    /// Initialisations of mbarriers behind which `fence.mbarrier_init` stands.
    pub initialised: Pair,
    /// tcgen05 operations behind which `tcgen05.fence::before_thread_sync` or a commit stands.
    pub tensor_out: View,
    /// Writes behind which a release fence of the tensormap proxy stands, by the fence's CTA and scope.
    pub maps_released: Vec<((Cta, Scope), Pair)>,
    /// The same, acquired in this CTA for the map at this address.
    pub maps_acquired: Vec<((Cta, u64), Pair)>,
    /// Only while it travels: lanes that know by `bar.warp.sync` more than counts for what they start themselves. It counts
    /// for whoever else receives it, and not for the lane: its own contribution to a barrier or an mbarrier is no
    /// synchronisation with another thread (`handed-over` in base-causality.cat).
    pub apart: Vec<((Warp, Lane), Rc<Known>)>,
    /// Only while it travels: what the senders have waited for themselves. They have handed it over to whoever else receives it.
    pub waits: Vec<Waits>,
}

/// What some lanes have waited for: their groups up to a time, and steps of mbarriers, each by a lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waits {
    pub warp: Warp,
    pub lanes: u32,
    time: Time,
    steps: Vec<(Object, u32, Waiter)>,
}

fn entry<K: Copy + PartialEq, V: Default>(list: &mut Vec<(K, V)>, key: K) -> &mut V {
    let index = match list.iter().position(|(own, _)| *own == key) {
        Some(index) => index,
        None => {
            list.push((key, V::default()));
            list.len() - 1
        }
    };
    &mut list[index].1
}

impl Waits {
    fn join(&mut self, other: &Waits) {
        self.time = self.time.max(other.time);
        for (object, steps, by) in &other.steps {
            match self.steps.iter_mut().find(|(own, _, lane)| (own, lane) == (object, by)) {
                Some((_, own, _)) => *own = (*own).max(*steps),
                None => self.steps.push((*object, *steps, *by)),
            }
        }
    }
}

impl Known {
    pub fn by_thread(&self, domain: Domain) -> Option<&Pair> {
        self.fenced_by_thread.iter().find(|(own, _)| *own == domain).map(|(_, pair)| pair)
    }

    pub fn acquired(&self, cta: Cta, map: u64) -> Option<&Pair> {
        self.maps_acquired.iter().find(|(own, _)| *own == (cta, map)).map(|(_, pair)| pair)
    }

    /// Does something to each pair, with the same pair of another.
    fn with_pairs(&mut self, from: &Known, with: impl Fn(&mut Pair, &Pair)) {
        with(&mut self.base, &from.base);
        with(&mut self.handed, &from.handed);
        with(&mut self.initialised, &from.initialised);
        for (key, pair) in &from.maps_released {
            with(entry(&mut self.maps_released, *key), pair);
        }
        for (key, pair) in &from.fenced_twice {
            with(entry(&mut self.fenced_twice, *key), pair);
        }
        for (domain, pair) in &from.fenced_by_thread {
            with(entry(&mut self.fenced_by_thread, *domain), pair);
        }
        for (key, gate) in &from.fenced_in_cta {
            let own = entry(&mut self.fenced_in_cta, *key);
            with(&mut own.base, &gate.base);
            with(&mut own.handed, &gate.handed);
        }
        for (key, pair) in &from.maps_acquired {
            with(entry(&mut self.maps_acquired, *key), pair);
        }
    }

    fn pairs(&self) -> impl Iterator<Item = &Pair> {
        let single = [&self.base, &self.handed, &self.initialised];
        let gates = self.fenced_in_cta.iter().flat_map(|(_, gate)| [&gate.base, &gate.handed]);
        let lists = self.fenced_by_thread.iter().map(|(_, pair)| pair);
        let lists = lists.chain(self.maps_released.iter().map(|(_, pair)| pair));
        let lists = lists.chain(self.fenced_twice.iter().map(|(_, pair)| pair));
        single.into_iter().chain(lists).chain(gates).chain(self.maps_acquired.iter().map(|(_, pair)| pair))
    }

    fn pairs_mut(&mut self) -> impl Iterator<Item = &mut Pair> {
        let single = [&mut self.base, &mut self.handed, &mut self.initialised];
        let gates = self.fenced_in_cta.iter_mut().flat_map(|(_, gate)| [&mut gate.base, &mut gate.handed]);
        let lists = self.fenced_by_thread.iter_mut().map(|(_, pair)| pair);
        let lists = lists.chain(self.maps_released.iter_mut().map(|(_, pair)| pair));
        let lists = lists.chain(self.fenced_twice.iter_mut().map(|(_, pair)| pair));
        single.into_iter().chain(lists).chain(gates).chain(self.maps_acquired.iter_mut().map(|(_, pair)| pair))
    }

    /// What several lanes know together.
    pub fn include(&mut self, from: &Known) {
        self.with_pairs(from, Pair::include);
        over::include(&mut self.over, &from.over);
        join(&mut self.execution, &from.execution);
        join(&mut self.tensor_out, &from.tensor_out);
    }

    /// Puts what travels to one place together, for whoever receives it there.
    pub fn collect(&mut self, from: &Known) {
        self.include(from);
        for (lane, known) in &from.apart {
            // Two lanes that know the same hand it over to each other.
            if self.apart.iter().any(|(own, other)| own != lane && Rc::ptr_eq(other, known)) {
                self.with_pairs(known, Pair::include_issue);
                continue;
            }
            match self.apart.iter_mut().find(|(own, _)| own == lane) {
                Some((_, own)) if Rc::ptr_eq(own, known) => {}
                Some((_, own)) => Rc::make_mut(own).include(known),
                None => self.apart.push((*lane, Rc::clone(known))),
            }
        }
        for waits in &from.waits {
            match self.waits.iter_mut().find(|own| (own.warp, own.lanes) == (waits.warp, waits.lanes)) {
                Some(own) => own.join(waits),
                None => self.waits.push(waits.clone()),
            }
        }
    }

    /// What others than these lanes have waited for.
    fn include_waits(&mut self, waits: &Waits, warp: Warp, lanes: u32) {
        let others = if waits.warp == warp { waits.lanes & !lanes } else { waits.lanes };
        if others == 0 {
            return;
        }
        self.handed.raise(waits.warp, others, waits.time);
        for (object, steps, by) in &waits.steps {
            let (of, lane) = waiting_lane(*by);
            if of == warp && lanes & (1 << lane) != 0 {
                continue;
            }
            for view in [&mut self.handed.threads, &mut self.handed.issue] {
                if view.learns(*object, *steps) {
                    Rc::make_mut(view).complete(*object, *steps);
                }
            }
        }
    }

    /// Everybody who receives this receives it from another thread.
    pub fn hand_over_all(&mut self) {
        for (_, known) in std::mem::take(&mut self.apart) {
            self.with_pairs(&known, Pair::include_issue);
        }
        for waits in std::mem::take(&mut self.waits) {
            self.include_waits(&waits, waits.warp, 0);
        }
    }

    /// Relaxed synchronisation: threads ran in this order.
    pub fn include_execution(&mut self, from: &Known) {
        join(&mut self.execution, &from.execution);
        join(&mut self.tensor_out, &from.tensor_out);
        for (key, pair) in &from.maps_released {
            entry(&mut self.maps_released, *key).include(pair);
        }
    }

    /// An asynchronous operation comes after its issue, and that after all that this depends on: in execution order.
    pub fn include_issue_order(&mut self, from: &Known) {
        join(&mut self.execution, &from.execution);
    }

    /// `bar.warp.sync`.
    pub fn include_warp(&mut self, from: &Known, also_issue: bool) {
        self.with_pairs(from, Pair::include_threads);
        if also_issue {
            self.with_pairs(from, Pair::include_issue);
        }
        over::include(&mut self.over, &from.over);
        join(&mut self.execution, &from.execution);
        join(&mut self.tensor_out, &from.tensor_out);
    }

    /// A step of an object is complete: whoever receives this knows it, by a wait of this lane.
    pub fn complete(&mut self, object: u32, steps: u32, by: Waiter) {
        for view in [&mut self.base.threads, &mut self.base.issue, &mut self.execution] {
            if view.steps(object) < steps {
                Rc::make_mut(view).complete(object, steps);
            }
        }
        for view in [&mut self.handed.threads, &mut self.handed.issue] {
            if view.learns(object, steps) {
                Rc::make_mut(view).complete_by(object, steps, by);
            }
        }
    }

    /// The same for one who has only seen it, without an acquire.
    pub fn complete_execution(&mut self, object: u32, steps: u32) {
        if self.execution.steps(object) < steps {
            Rc::make_mut(&mut self.execution).complete(object, steps);
        }
    }

    /// Whether whoever receives this has nothing to gain from the other.
    pub fn includes(&self, other: &Known) -> bool {
        let mut joined = self.clone();
        joined.collect(other);
        let same_apart = joined.apart.len() == self.apart.len()
            && joined.apart.iter().zip(&self.apart).all(|((a, one), (b, two))| a == b && Rc::ptr_eq(one, two));
        joined.same(self) && same_apart && joined.waits == self.waits
    }

    fn same(&self, other: &Known) -> bool {
        let keys = self.fenced_by_thread.len() == other.fenced_by_thread.len()
            && self.fenced_in_cta.len() == other.fenced_in_cta.len()
            && self.maps_acquired.len() == other.maps_acquired.len()
            && self.maps_released.len() == other.maps_released.len()
            && self.fenced_twice.len() == other.fenced_twice.len()
            && self.maps_released.iter().zip(&other.maps_released).all(|((a, _), (b, _))| a == b)
            && self.fenced_twice.iter().zip(&other.fenced_twice).all(|((a, _), (b, _))| a == b)
            && self.fenced_by_thread.iter().zip(&other.fenced_by_thread).all(|((a, _), (b, _))| a == b)
            && self.fenced_in_cta.iter().zip(&other.fenced_in_cta).all(|((a, _), (b, _))| a == b)
            && self.maps_acquired.iter().zip(&other.maps_acquired).all(|((a, _), (b, _))| a == b);
        keys && Rc::ptr_eq(&self.execution, &other.execution)
            && over::same(&self.over, &other.over)
            && Rc::ptr_eq(&self.tensor_out, &other.tensor_out)
            && self.pairs().zip(other.pairs()).all(|(a, b)| a.same(b))
    }

    /// What must hold of a lane's knowledge whatever it has met (kernels.md, invariants).
    #[cfg(debug_assertions)]
    pub(super) fn assert_consistent(&self) {
        let within = |inner: &Clock, outer: &Clock| outer.covers_counts(inner);
        let base = &self.base;
        assert!(self.apart.is_empty() && self.waits.is_empty(), "a lane keeps what travels");
        assert!(within(&base.issue, &base.threads), "issue knows more than threads");
        assert!(within(&base.threads, &self.execution), "base knows more than execution");
        assert!(within(&self.handed.threads, &base.threads), "handed knows more than base");
        assert!(within(&self.handed.issue, &self.handed.threads), "handed: issue knows more than threads");
        assert!(within(&self.handed.issue, &base.issue), "handed knows more than base at issue");
        assert!(within(&self.tensor_out, &self.execution), "tensor_out knows more than execution");
        for (_, pair) in &self.maps_released {
            assert!(within(&pair.threads, &self.execution), "maps_released knows more than execution");
        }
        assert!(within(&self.initialised.threads, &self.execution), "initialised knows more than execution");
        for (_, pair) in &self.fenced_by_thread {
            assert!(within(&pair.threads, &base.threads) && within(&pair.issue, &base.issue), "fenced, and not known");
        }
        for (_, gate) in &self.fenced_in_cta {
            assert!(within(&gate.base.threads, &base.threads), "a gate knows more than base");
            assert!(within(&gate.handed.threads, &base.threads), "a gate knows of ends that base does not");
        }
    }

    /// Knowledge is never lost.
    #[cfg(debug_assertions)]
    pub(super) fn assert_grown_from(&self, before: &Known) {
        assert!(self.execution.covers(&before.execution) && self.tensor_out.covers(&before.tensor_out));
        let mut joined = self.clone();
        joined.include(before);
        for (own, both) in self.pairs().zip(joined.pairs()) {
            assert!(own.threads.covers(&both.threads) && own.issue.covers(&both.issue), "a clock went back");
        }
    }
}

/// Up to which of its own instructions a lane has fenced what it did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Times {
    pub fenced: Vec<(Domain, Time)>,
    pub initialised: Time,
    pub tensor_out: Time,
    pub maps_released: Vec<(Scope, Time)>,
    pub maps_acquired: Vec<(u64, Time)>,
    /// The last wait for a group of asynchronous operations.
    pub waited: Time,
    /// The lane has started an operation that an mbarrier tells of.
    pub starts: bool,
}

impl Times {
    pub fn fenced(&self, domain: Domain) -> Time {
        self.fenced.iter().find(|(own, _)| *own == domain).map_or(0, |(_, time)| *time)
    }
}

/// The views at a release fence, for the strong writes behind it (8.8).
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub known: Rc<Known>,
    pub times: Times,
    pub time: Time,
}

/// What a strong write publishes to whoever acquires it.
#[derive(Debug)]
pub struct Message {
    pub known: Known,
    pub scope: Scope,
    pub cta: Cta,
}

/// What one lane knows, or several that know the same.
#[derive(Clone, Debug, Default)]
pub struct Views {
    pub known: Rc<Known>,
    pub times: Times,
    /// What was known at the lane's own proxy fences.
    pub gates: Vec<(Domain, View)>,
    /// What `tcgen05.fence::after_thread_sync` let in: lanes by their fences before, objects by execution order.
    pub tensor_in: View,
    /// At the last release fence of each scope.
    pub released: [Option<Rc<Snapshot>>; 4],
    /// What relaxed reads have seen; an acquire fence takes it.
    pub heard: Vec<Rc<Message>>,
    /// In a cluster: what these lanes knew behind the last mbarrier that they have waited for. What they issue depends on it.
    pub passed: Option<Rc<Known>>,
}

impl Views {
    pub fn gate(&self, domain: Domain) -> Option<&View> {
        self.gates.iter().find(|(own, _)| *own == domain).map(|(_, view)| view)
    }

    /// What these lanes of a warp hand over now.
    pub fn sent(&self, cta: Cta, warp: Warp, lanes: u32, time: Time) -> Known {
        sent(&self.known, &self.times, cta, warp, lanes, time)
    }

    pub fn snapshot(&self, time: Time) -> Rc<Snapshot> {
        Rc::new(Snapshot { known: Rc::clone(&self.known), times: self.times.clone(), time })
    }

    /// Synchronisation that orders memory (8.9.4), for these lanes: what one of them has contributed itself counts for its
    /// accesses only.
    pub fn receive(&mut self, from: &Known, warp: Warp, lanes: u32) {
        let known = Rc::make_mut(&mut self.known);
        known.include(from);
        for (_, other) in from.apart.iter().filter(|((of, lane), _)| *of != warp || lanes & (1 << lane) == 0) {
            known.with_pairs(other, Pair::include_issue);
        }
        from.waits.iter().for_each(|waits| known.include_waits(waits, warp, lanes));
    }

    /// These threads have come that far; nothing is handed over.
    pub fn come_after(&mut self, from: &Known) {
        join(&mut Rc::make_mut(&mut self.known).execution, &from.execution);
    }

    /// Relaxed synchronisation of a cluster: threads ran in this order, and initialisations that are fenced are handed over.
    pub fn receive_relaxed(&mut self, from: &Known, warp: Warp, lanes: u32) {
        let known = Rc::make_mut(&mut self.known);
        known.include_execution(from);
        known.step_from(from, Certainty::Certain);
        known.initialised.include(&from.initialised);
        for (_, other) in from.apart.iter().filter(|((of, lane), _)| *of != warp || lanes & (1 << lane) == 0) {
            known.initialised.include_issue(&other.initialised);
            for (key, pair) in &other.maps_released {
                entry(&mut known.maps_released, *key).include_issue(pair);
            }
        }
    }

    /// `fence.proxy.async` about these objects. To the fence leads any order of threads; `bar.warp.sync` matters from there on.
    pub fn fence_async(&mut self, domains: &[Domain], cta: Cta, (warp, lanes, time): (Warp, u32, Time)) {
        let known = Rc::make_mut(&mut self.known);
        let (base, mut handed) = (Rc::clone(&known.base.threads), Rc::clone(&known.handed.threads));
        // What the thread has waited for itself comes before its fence.
        if lanes.is_power_of_two() && handed.is_told_by(warp, lanes) {
            Rc::make_mut(&mut handed).hand_over(warp, lanes);
        }
        for domain in domains {
            *entry(&mut self.times.fenced, *domain) = time;
            let gate = entry(&mut known.fenced_in_cta, (*domain, cta));
            for (pair, view) in [(&mut gate.base, &base), (&mut gate.handed, &handed)] {
                join(&mut pair.threads, view);
                join(&mut pair.issue, view);
            }
            *entry(&mut self.gates, *domain) = Rc::clone(&handed);
        }
    }

    /// The same, where operations of `tcgen05` read the shared memory of a pair of CTAs: what a fence in a CTA of the pair knew is
    /// fenced a second time, in this one.
    pub fn fence_behind_others(&mut self, domains: &[Domain], cta: Cta) {
        let known = Rc::make_mut(&mut self.known);
        let of_pair = |(domain, by): &(Domain, Cta)| domain.home().is_some_and(|home| by | 1 == home | 1) && *by != cta;
        let elsewhere = known.fenced_in_cta.iter().filter(|(key, _)| of_pair(key));
        let elsewhere: Vec<_> = elsewhere.map(|(key, gate)| (*key, Rc::clone(&gate.handed.threads))).collect();
        for (first, view) in &elsewhere {
            for domain in domains.iter().filter(|domain| domain.home() == first.0.home()) {
                let pair = entry(&mut known.fenced_twice, [*first, (*domain, cta)]);
                join(&mut pair.threads, view);
                join(&mut pair.issue, view);
            }
        }
    }

    pub fn release_maps(&mut self, cta: Cta, scope: Scope, time: Time) {
        *entry(&mut self.times.maps_released, scope) = time;
        let known = Rc::make_mut(&mut self.known);
        let base = Rc::clone(&known.base.threads);
        let pair = entry(&mut known.maps_released, (cta, scope));
        join(&mut pair.threads, &base);
        join(&mut pair.issue, &base);
    }

    /// An acquire takes what was released by fences with which it includes each other: `includes` says which (8.9.4).
    pub fn acquire_map(&mut self, cta: Cta, map: u64, includes: impl Fn(Cta, Scope) -> bool) {
        let released: Vec<View> = (self.known.maps_released.iter())
            .filter(|((by, scope), _)| includes(*by, *scope))
            .map(|(_, pair)| Rc::clone(&pair.issue))
            .collect();
        let own = self.times.maps_released.iter().map(|(_, time)| *time).max().unwrap_or(0);
        let known = Rc::make_mut(&mut self.known);
        let pair = entry(&mut known.maps_acquired, (cta, map));
        for view in &released {
            join(&mut pair.threads, view);
            join(&mut pair.issue, view);
        }
        *entry(&mut self.times.maps_acquired, map) = own;
    }

    /// `tcgen05.fence::after_thread_sync`.
    pub fn tensor_after(&mut self) {
        // Lanes by what they fenced before; phases by what was seen of them.
        let mut view: Clock = (*self.known.tensor_out).clone();
        view.join_steps(&self.known.execution);
        self.tensor_in = Rc::new(view);
    }

    /// Whether two groups of lanes may be one from now on.
    pub fn same(&self, other: &Views) -> bool {
        let released = self.released.iter().zip(&other.released).all(|(a, b)| match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            _ => false,
        });
        let gates = self.gates.len() == other.gates.len()
            && self.gates.iter().zip(&other.gates).all(|((d, a), (e, b))| d == e && Rc::ptr_eq(a, b));
        released
            && gates
            && self.times == other.times
            && self.heard.is_empty()
            && other.heard.is_empty()
            && match (&self.passed, &other.passed) {
                (None, None) => true,
                (Some(own), Some(other)) => Rc::ptr_eq(own, other) || own.same(other),
                _ => false,
            }
            && Rc::ptr_eq(&self.tensor_in, &other.tensor_in)
            && (Rc::ptr_eq(&self.known, &other.known) || self.known.same(&other.known))
    }
}

/// What these lanes, which know the same, hand over together.
pub fn sent(known: &Rc<Known>, times: &Times, cta: Cta, warp: Warp, lanes: u32, time: Time) -> Known {
    let mut sent = with_own(known, times, cta, warp, lanes, time);
    let steps = known.handed.threads.told_by(warp, lanes);
    if times.waited > 0 || !steps.is_empty() {
        sent.handed = known.handed.clone();
        sent.waits.push(Waits { warp, lanes, time: times.waited, steps });
    }
    if lanes.is_power_of_two() && known.pairs().any(Pair::differs) {
        sent.apart.push(((warp, lanes.trailing_zeros()), Rc::clone(known)));
    } else {
        sent.pairs_mut().for_each(|pair| pair.issue = Rc::clone(&pair.threads));
    }
    sent
}

/// What these lanes know, with what they did themselves.
pub(super) fn with_own(known: &Known, times: &Times, cta: Cta, warp: Warp, lanes: u32, time: Time) -> Known {
    let mut known = known.clone();
    known.base.raise(warp, lanes, time);
    known.handed.raise(warp, lanes, times.waited);
    let gates = known.fenced_in_cta.iter_mut().map(|(_, gate)| &mut gate.handed);
    for view in gates.chain([&mut known.handed]).flat_map(|pair| [&mut pair.threads, &mut pair.issue]) {
        if view.is_told_by(warp, lanes) {
            Rc::make_mut(view).hand_over(warp, lanes);
        }
    }
    raise(&mut known.execution, warp, lanes, time);
    for (domain, fenced) in &times.fenced {
        entry(&mut known.fenced_by_thread, *domain).raise(warp, lanes, *fenced);
        let gate = entry(&mut known.fenced_in_cta, (*domain, cta));
        gate.base.raise(warp, lanes, *fenced);
        gate.handed.raise(warp, lanes, (*fenced).min(times.waited));
    }
    known.initialised.raise(warp, lanes, times.initialised);
    raise(&mut known.tensor_out, warp, lanes, times.tensor_out);
    for (scope, released) in &times.maps_released {
        entry(&mut known.maps_released, (cta, *scope)).raise(warp, lanes, *released);
    }
    for (map, released) in &times.maps_acquired {
        entry(&mut known.maps_acquired, (cta, *map)).raise(warp, lanes, *released);
    }
    known
}

fn raise(view: &mut View, warp: Warp, lanes: u32, time: Time) {
    if time > 0 && !view.knows_all(warp, lanes, time) {
        Rc::make_mut(view).raise(warp, lanes, time);
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::waiter;
    use super::*;

    /// What one lane has waited for comes before its own fence, and not before one of several lanes.
    #[test]
    fn a_fence_hands_over_what_its_only_lane_has_waited_for() {
        let (issuer, asks) = (waiter(0, 0), waiter(0, 1));
        let steps_at_fence = |lanes: u32| {
            let mut views = Views::default();
            Rc::make_mut(&mut views.known).complete(3, 1, issuer);
            views.fence_async(&[Domain::Global], 0, (0, lanes, 5));
            views.gate(Domain::Global).map(|view| view.steps_told(3, issuer, asks))
        };
        assert_eq!(steps_at_fence(0b01), Some(1));
        assert_eq!(steps_at_fence(0b11), Some(0));
    }

    /// Lanes that sent together: what one of them has waited for is told to the other, and not to itself.
    #[test]
    fn a_lane_is_not_told_what_it_has_waited_for() {
        let (issuer, other) = (waiter(0, 0), waiter(0, 1));
        let waits = Waits { warp: 0, lanes: 0b11, time: 4, steps: vec![(3, 1, issuer)] };
        let told = |lane: Lane| {
            let mut known = Known::default();
            known.include_waits(&waits, 0, 1 << lane);
            (known.handed.issue.steps_told(3, issuer, other), known.handed.issue.knows(0, 1 - lane, 4))
        };
        assert_eq!(told(0), (0, true));
        assert_eq!(told(1), (1, true));
    }
}
