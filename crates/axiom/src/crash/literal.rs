//! Crashes by the definition: every set of events that have happened, and every set of persists that are durable, each tested
//! against the conditions as they stand. Shares nothing with the rest of [`crate::crash`]: ordered sets of pairs, and no
//! smallest sets.

use fencepost_program::EventId;
use fencepost_syntax::sorted::SortedSet;

/// The relations of one execution that a crash looks at.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pairs {
    pub prefix: SortedSet<(EventId, EventId)>,
    pub persists: SortedSet<(EventId, EventId)>,
    pub durable: SortedSet<(EventId, EventId)>,
    pub co: SortedSet<(EventId, EventId)>,
}

/// A crash: what has happened, and which persists are durable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Crash {
    pub happened: SortedSet<EventId>,
    pub durable: SortedSet<EventId>,
}

impl Pairs {
    /// Whether the crash is one of the execution. `persists` are its persists.
    pub fn allow(&self, crash: &Crash, persists: &SortedSet<EventId>) -> bool {
        let Crash { happened, durable } = crash;
        let is_prefix = self.prefix.iter().all(|(a, b)| !happened.contains(b) || happened.contains(a));
        let is_closed = self.persists.iter().all(|(v, w)| !durable.contains(w) || durable.contains(v));
        let is_kept = self.durable.iter().all(|(w, e)| !happened.contains(e) || durable.contains(w));
        let are_persists = durable.iter().all(|w| persists.contains(w) && happened.contains(w));
        is_prefix && is_closed && is_kept && are_persists
    }

    /// The crash with all that must have happened and be durable besides.
    pub fn completed(&self, crash: &Crash) -> Crash {
        let Crash { mut happened, mut durable } = crash.clone();
        loop {
            let before = (happened.len(), durable.len());
            let earlier = self.prefix.iter().filter(|(_, b)| happened.contains(b)).map(|(a, _)| *a);
            let earlier: Vec<EventId> = earlier.chain(durable.iter().copied()).collect();
            happened.extend(earlier);
            let ordered = self.persists.iter().filter(|(_, w)| durable.contains(w)).map(|(v, _)| *v);
            let obliged = self.durable.iter().filter(|(_, e)| happened.contains(e)).map(|(w, _)| *w);
            let more: Vec<EventId> = ordered.chain(obliged).collect();
            durable.extend(more);
            if (happened.len(), durable.len()) == before {
                return Crash { happened, durable };
            }
        }
    }

    /// The persists of a location whose values it may hold: the last durable ones. None stands for the initial value.
    pub fn last(&self, crash: &Crash, of_location: &[EventId]) -> Vec<Option<EventId>> {
        let durable: Vec<EventId> = of_location.iter().copied().filter(|w| crash.durable.contains(w)).collect();
        let is_last = |w: &EventId| !durable.iter().any(|later| self.co.contains(&(*w, *later)));
        match durable.is_empty() {
            true => vec![None],
            false => durable.iter().copied().filter(is_last).map(Some).collect(),
        }
    }
}

/// Every crash of an execution of these events; None if there would be more than `most` to try.
pub fn crashes(pairs: &Pairs, events: &[EventId], persists: &SortedSet<EventId>, most: u64) -> Option<Vec<Crash>> {
    let mut left = most;
    let mut prefixes = Vec::new();
    prefixes_of(pairs, events, &mut left, &mut prefixes)?;
    let mut found = Vec::new();
    for happened in prefixes {
        let here: Vec<EventId> = persists.intersection(&happened).copied().collect();
        let sets = 1u64.checked_shl(u32::try_from(here.len()).ok()?).filter(|sets| *sets <= left)?;
        left -= sets;
        for bits in 0..sets {
            let chosen = here.iter().enumerate().filter(|(at, _)| bits >> at & 1 != 0);
            let crash = Crash { happened: happened.clone(), durable: chosen.map(|(_, w)| *w).collect() };
            if pairs.allow(&crash, persists) {
                found.push(crash);
            }
        }
    }
    Some(found)
}

/// Every set of the events that is closed, by growing smaller ones.
fn prefixes_of(pairs: &Pairs, events: &[EventId], left: &mut u64, found: &mut Vec<SortedSet<EventId>>) -> Option<()> {
    let mut seen = SortedSet::from([SortedSet::new()]);
    let mut waiting = vec![SortedSet::new()];
    while let Some(prefix) = waiting.pop() {
        *left = left.checked_sub(1)?;
        for event in events.iter().filter(|event| !prefix.contains(*event)) {
            let mut grown = prefix.clone();
            // Events in a cycle happen together.
            let mut adding = vec![*event];
            while let Some(event) = adding.pop() {
                if grown.insert(event) {
                    adding.extend(pairs.prefix.iter().filter(|(_, b)| *b == event).map(|(a, _)| *a));
                }
            }
            if seen.insert(grown.clone()) {
                waiting.push(grown);
            }
        }
        found.push(prefix);
    }
    Some(())
}
