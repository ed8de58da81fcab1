//! What a lane knows: base causality order and its variants for proxies, tensor memory, launches (PTX ISA 8.9.5).
//!
//! [`Known`] travels from thread to thread with synchronisation; [`Views`] adds what is the lane's own. A lane always
//! knows its own past, so no clock here says so: what a lane sends has its own time added ([`Views::sent`]).

use std::rc::Rc;

use super::clock::{Clock, Time, View, Warp, join};
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

/// The same knowledge for accesses of threads, and for asynchronous operations that they start: `bar.warp.sync` may be
/// about the former only (reading warp-sync-async).
#[derive(Clone, Debug, Default)]
pub struct Pair {
    pub threads: View,
    pub issue: View,
}

impl Pair {
    /// Synchronisation between threads hands everything over.
    fn receive(&mut self, from: &Pair) {
        join(&mut self.threads, &from.threads);
        join(&mut self.issue, &from.threads);
    }

    fn receive_from_warp(&mut self, from: &Pair, also_issue: bool) {
        join(&mut self.threads, &from.threads);
        if also_issue {
            join(&mut self.issue, &from.threads);
        }
    }

    fn raise(&mut self, warp: Warp, lanes: u32, time: Time) {
        for view in [&mut self.threads, &mut self.issue] {
            if time > 0 && !view.knows_all(warp, lanes, time) {
                Rc::make_mut(view).raise(warp, lanes, time);
            }
        }
    }

    fn include(&mut self, view: &Pair) {
        join(&mut self.threads, &view.threads);
        join(&mut self.issue, &view.issue);
    }

    fn same(&self, other: &Pair) -> bool {
        Rc::ptr_eq(&self.threads, &other.threads) && Rc::ptr_eq(&self.issue, &other.issue)
    }
}

/// What travels.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Base causality order.
    pub base: Pair,
    /// Base causality order from a wait for an asynchronous operation: without what a lane has waited for itself and only
    /// `bar.warp.sync` hands on (reading warp-sync-async).
    pub waited: View,
    /// Execution order: relaxed synchronisation counts too (9.7.18.6.3).
    pub execution: View,
    /// Generic accesses with a proxy fence by their own thread behind them, by what the fence is about.
    pub fenced_by_thread: Vec<(Domain, Pair)>,
    /// Everything that was known at a proxy fence in this CTA.
    pub fenced_in_cta: Vec<((Domain, Cta), Pair)>,
    /// Initialisations of mbarriers behind which `fence.mbarrier_init` stands.
    pub initialised: Pair,
    /// tcgen05 operations behind which `tcgen05.fence::before_thread_sync` or a commit stands.
    pub tensor_out: View,
    /// Writes behind which a release fence of the tensormap proxy stands.
    pub maps_released: View,
    /// The same, acquired in this CTA for the map at this address.
    pub maps_acquired: Vec<((Cta, u64), Pair)>,
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

impl Known {
    pub fn by_thread(&self, domain: Domain) -> Option<&Pair> {
        self.fenced_by_thread.iter().find(|(own, _)| *own == domain).map(|(_, pair)| pair)
    }

    pub fn in_cta(&self, domain: Domain, cta: Cta) -> Option<&Pair> {
        self.fenced_in_cta.iter().find(|(own, _)| *own == (domain, cta)).map(|(_, pair)| pair)
    }

    pub fn acquired(&self, cta: Cta, map: u64) -> Option<&Pair> {
        self.maps_acquired.iter().find(|(own, _)| *own == (cta, map)).map(|(_, pair)| pair)
    }

    /// Synchronisation that orders memory (8.9.4).
    pub fn receive(&mut self, from: &Known) {
        self.base.receive(&from.base);
        join(&mut self.waited, &from.waited);
        self.receive_execution(from);
        self.initialised.receive(&from.initialised);
        for (domain, pair) in &from.fenced_by_thread {
            entry(&mut self.fenced_by_thread, *domain).receive(pair);
        }
        for (key, pair) in &from.fenced_in_cta {
            entry(&mut self.fenced_in_cta, *key).receive(pair);
        }
        for (key, pair) in &from.maps_acquired {
            entry(&mut self.maps_acquired, *key).receive(pair);
        }
    }

    /// Relaxed synchronisation: threads ran in this order.
    pub fn receive_execution(&mut self, from: &Known) {
        join(&mut self.execution, &from.execution);
        join(&mut self.tensor_out, &from.tensor_out);
        join(&mut self.maps_released, &from.maps_released);
    }

    /// A relaxed cluster barrier hands over initialisations that are fenced.
    pub fn receive_initialised(&mut self, from: &Known) {
        self.initialised.receive(&from.initialised);
    }

    /// `bar.warp.sync`.
    pub fn receive_from_warp(&mut self, from: &Known, also_issue: bool) {
        self.base.receive_from_warp(&from.base, also_issue);
        join(&mut self.waited, &from.waited);
        self.receive_execution(from);
        self.initialised.receive_from_warp(&from.initialised, also_issue);
        for (domain, pair) in &from.fenced_by_thread {
            entry(&mut self.fenced_by_thread, *domain).receive_from_warp(pair, also_issue);
        }
        for (key, pair) in &from.fenced_in_cta {
            entry(&mut self.fenced_in_cta, *key).receive_from_warp(pair, also_issue);
        }
        for (key, pair) in &from.maps_acquired {
            entry(&mut self.maps_acquired, *key).receive_from_warp(pair, also_issue);
        }
    }

    /// A step of an object is complete: whoever receives this knows it.
    pub fn complete(&mut self, object: u32, steps: u32) {
        for view in [&mut self.base.threads, &mut self.base.issue, &mut self.execution] {
            if view.steps(object) < steps {
                Rc::make_mut(view).complete(object, steps);
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
        joined.receive(other);
        joined.same(self)
    }

    fn same(&self, other: &Known) -> bool {
        let list = |a: &[(Domain, Pair)], b: &[(Domain, Pair)]| {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && a.same(b))
        };
        let in_cta = self.fenced_in_cta.len() == other.fenced_in_cta.len()
            && self.fenced_in_cta.iter().zip(&other.fenced_in_cta).all(|((k, a), (l, b))| k == l && a.same(b));
        let maps = self.maps_acquired.len() == other.maps_acquired.len()
            && self.maps_acquired.iter().zip(&other.maps_acquired).all(|((k, a), (l, b))| k == l && a.same(b));
        self.base.same(&other.base)
            && Rc::ptr_eq(&self.waited, &other.waited)
            && Rc::ptr_eq(&self.execution, &other.execution)
            && self.initialised.same(&other.initialised)
            && Rc::ptr_eq(&self.tensor_out, &other.tensor_out)
            && Rc::ptr_eq(&self.maps_released, &other.maps_released)
            && list(&self.fenced_by_thread, &other.fenced_by_thread)
            && in_cta
            && maps
    }
}

/// Up to which of its own instructions a lane has fenced what it did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Times {
    pub fenced: Vec<(Domain, Time)>,
    pub initialised: Time,
    pub tensor_out: Time,
    pub maps_released: Time,
    pub maps_acquired: Vec<(u64, Time)>,
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

    /// `fence.proxy.async` about these objects.
    pub fn fence_async(&mut self, domains: &[Domain], cta: Cta, time: Time) {
        let base = self.known.base.clone();
        let known = Rc::make_mut(&mut self.known);
        for domain in domains {
            *entry(&mut self.times.fenced, *domain) = time;
            entry(&mut known.fenced_in_cta, (*domain, cta)).include(&base);
            *entry(&mut self.gates, *domain) = Rc::clone(&base.threads);
        }
    }

    pub fn release_maps(&mut self, time: Time) {
        self.times.maps_released = time;
        let base = Rc::clone(&self.known.base.threads);
        join(&mut Rc::make_mut(&mut self.known).maps_released, &base);
    }

    pub fn acquire_map(&mut self, cta: Cta, map: u64) {
        let released = Rc::clone(&self.known.maps_released);
        let own = self.times.maps_released;
        let known = Rc::make_mut(&mut self.known);
        let pair = entry(&mut known.maps_acquired, (cta, map));
        join(&mut pair.threads, &released);
        join(&mut pair.issue, &released);
        *entry(&mut self.times.maps_acquired, map) = own;
    }

    /// `tcgen05.fence::after_thread_sync`.
    pub fn tensor_after(&mut self, all_of_base: bool) {
        // Lanes by what they fenced before; phases by what was seen of them.
        let mut view: Clock = (*self.known.tensor_out).clone();
        view.join_steps(&self.known.execution);
        if all_of_base {
            view.join(&self.known.base.issue);
        }
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
            && Rc::ptr_eq(&self.tensor_in, &other.tensor_in)
            && (Rc::ptr_eq(&self.known, &other.known) || self.known.same(&other.known))
    }
}

pub fn sent(known: &Known, times: &Times, cta: Cta, warp: Warp, lanes: u32, time: Time) -> Known {
    let mut known = known.clone();
    known.base.raise(warp, lanes, time);
    raise(&mut known.waited, warp, lanes, time);
    raise(&mut known.execution, warp, lanes, time);
    for (domain, fenced) in &times.fenced {
        entry(&mut known.fenced_by_thread, *domain).raise(warp, lanes, *fenced);
        entry(&mut known.fenced_in_cta, (*domain, cta)).raise(warp, lanes, *fenced);
    }
    known.initialised.raise(warp, lanes, times.initialised);
    raise(&mut known.tensor_out, warp, lanes, times.tensor_out);
    raise(&mut known.maps_released, warp, lanes, times.maps_released);
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
