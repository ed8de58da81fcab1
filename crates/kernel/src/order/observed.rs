//! Reads that have observed writes: what is observed comes before whatever the read comes before in base causality order
//! (8.9.2, 8.9.5).
//!
//! An atomic operation is one operation: who observes what it wrote comes after all of it. Who observes a write does not by
//! that come after what the write comes after: of a write that may be observed it is kept which accesses it stands for.

use std::collections::BTreeMap;
use std::ops::Range;

use super::clock::{Lane, Time, Warp};
use super::in_scope;
use super::record::{Kind, Path, Record, RecordId};
use super::shadow::{Entry, Region, StandsFor};

/// The write of a lane to a place. Elements of a vector are writes of their own (8.2.4), to places of their own.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Write {
    pub warp: Warp,
    pub lane: Lane,
    pub time: Time,
    pub size: u8,
}

impl Write {
    /// Whether it is that access, of which these bytes are meant.
    fn is_of(self, record: &Record, lane: Lane, at: u64, bytes: &Range<u64>) -> bool {
        (self.warp, self.lane, self.time) == (record.warp, lane, record.time)
            && at <= bytes.start
            && bytes.end <= at + u64::from(self.size)
    }
}

/// What a read has observed.
enum Seen {
    /// These in the history of the place.
    Chain(Range<usize>),
    /// These in every execution.
    Told(Vec<Write>),
}

struct Observation {
    reader: Record,
    lane: Lane,
    seen: Seen,
}

/// What is kept only up to a number, or not at all.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cap {
    /// Strong writes of one place, and reads that have observed them.
    Observations(usize),
    /// Accesses that came before one write, and for which it stands.
    StandsFor(usize),
    /// Which operations on an mbarrier a relaxed wait has observed is not kept at all.
    Mbarrier,
}

/// Whether an access comes before another by observation.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Sight {
    Before,
    None,
    /// More was to be kept than is.
    Unknown(Cap),
}

impl Sight {
    /// Both come before.
    pub(super) fn and(self, other: Sight) -> Sight {
        match (self, other) {
            (Sight::None, _) | (_, Sight::None) => Sight::None,
            (Sight::Before, other) => other,
            (unknown, _) => unknown,
        }
    }
}

/// One place in memory.
#[derive(Default)]
struct Place {
    /// Strong writes as they came.
    writes: Vec<Write>,
    /// Who reads now observes the writes from here on: a store, or what a read-modify-write is no longer morally strong
    /// with, ends the chain (8.9.2).
    chain: usize,
    last: Option<Record>,
    observations: Vec<Observation>,
    /// There were more writes or observations than are kept.
    cut: bool,
}

/// Writes and observations of one place that are kept. Whether more would order anything is not known.
const MOST: usize = 1 << 14;

/// Bytes of the widest element that is written strongly.
const WIDEST: u64 = 16;

/// An access that is not kept: its record, lanes, and bytes of the cell.
pub(super) type Forgotten = (RecordId, u32, u8);

/// Accesses for which one write is let stand, so that it may still be observed.
const MOST_FORGOTTEN: usize = 256;

pub(super) struct Observed {
    /// In this run reads observe writes.
    pub(super) on: bool,
    /// It tells of itself only. Else a compare-and-swap also stands for attempts of its thread that fail in other executions, and
    /// that nobody observes.
    pub(super) of_this_run: bool,
    places: BTreeMap<(Region, u64), Place>,
    forgotten: Vec<Vec<Forgotten>>,
    ctas_per_cluster: u32,
    most: usize,
    most_forgotten: usize,
}

impl Observed {
    pub(super) fn new(ctas_per_cluster: u32) -> Observed {
        Observed {
            on: false,
            of_this_run: false,
            places: BTreeMap::new(),
            forgotten: Vec::new(),
            ctas_per_cluster,
            most: MOST,
            most_forgotten: MOST_FORGOTTEN,
        }
    }

    pub(super) fn most_forgotten(&self) -> Cap {
        Cap::StandsFor(self.most_forgotten)
    }

    /// These are forgotten behind a strong write.
    pub(super) fn forget(&mut self, entries: &[Entry]) -> StandsFor {
        let mut list: Vec<Forgotten> = Vec::new();
        for entry in entries {
            let Some(others) = self.forgotten(entry.stands_for) else { return StandsFor::Many };
            list.push((entry.record, entry.lanes, entry.bytes));
            list.extend_from_slice(others);
            if list.len() > self.most_forgotten {
                return StandsFor::Many;
            }
        }
        if list.is_empty() {
            return StandsFor::None;
        }
        self.forgotten.push(list);
        StandsFor::List((self.forgotten.len() - 1) as u32)
    }

    /// Which they were, if that is kept.
    pub(super) fn forgotten(&self, stands_for: StandsFor) -> Option<&[Forgotten]> {
        match stands_for {
            StandsFor::None => Some(&[]),
            StandsFor::List(number) => Some(&self.forgotten[number as usize]),
            StandsFor::Many => None,
        }
    }

    /// Bytes are written: what was there is observed no more, unless by an atomic operation that reads it.
    pub(super) fn overwrite(&mut self, region: Region, start: u64, len: u64, kind: Kind) {
        if self.places.is_empty() {
            return;
        }
        let from = start.saturating_sub(WIDEST - 1);
        for ((_, at), place) in self.places.range_mut((region, from)..(region, start.saturating_add(len))) {
            let size = place.last.map_or(0, |last| u64::from(last.size));
            if at + size > start && (*at != start || kind != Kind::Atomic) {
                place.end_chain();
            }
        }
    }

    /// A lane has written there strongly: a store, or an atomic operation that read what was there.
    pub(super) fn write(&mut self, at: (Region, u64), record: &Record, lane: Lane) {
        let (per, most) = (self.ctas_per_cluster, self.most);
        let place = self.places.entry(at).or_default();
        let goes_on = record.kind == Kind::Atomic && place.last.is_some_and(|last| links(&last, record, per));
        place.cut |= place.writes.len() >= most;
        if !goes_on || place.cut {
            place.end_chain();
        }
        if !place.cut {
            place.last = Some(*record);
            place.writes.push(Write { warp: record.warp, lane, time: record.time, size: record.size });
        }
    }

    /// A strong read of a lane returns what was written there last.
    pub(super) fn read(&mut self, at: (Region, u64), reader: &Record, lane: Lane) {
        let (per, most) = (self.ctas_per_cluster, self.most);
        let Some(place) = self.places.get_mut(&at) else { return };
        let seen = place.chain..place.writes.len();
        if !seen.is_empty() && place.last.is_some_and(|last| links(&last, reader, per)) {
            place.add(Observation { reader: *reader, lane, seen: Seen::Chain(seen) }, most);
        }
    }

    /// A strong read of a lane returns, in every execution, what these wrote or was made of it.
    pub(super) fn told(&mut self, at: (Region, u64), reader: &Record, lane: Lane, writes: Vec<Write>) {
        if !writes.is_empty() {
            let observation = Observation { reader: *reader, lane, seen: Seen::Told(writes) };
            self.places.entry(at).or_default().add(observation, self.most);
        }
    }

    /// Whether a lane's access to these bytes was observed by a read of which `comes_before` says that it comes before.
    pub(super) fn comes_before(
        &self,
        (region, bytes): (Region, &Range<u64>),
        earlier: &Record,
        lane: Lane,
        comes_before: impl Fn(&Record, Lane) -> bool,
    ) -> Sight {
        // The read of an atomic operation is one operation with its write (8.9.5).
        let may_be_observed = match earlier.kind {
            Kind::Write | Kind::Atomic => true,
            Kind::Read => self.of_this_run,
            _ => false,
        };
        if self.places.is_empty() || earlier.strong.is_none() || !may_be_observed {
            return Sight::None;
        }
        let from = bytes.start.saturating_sub(WIDEST - 1);
        let places = || self.places.range((region, from)..(region, bytes.end));
        if places().any(|((_, at), place)| place.has_observed((*at, bytes), earlier, lane, &comes_before)) {
            return Sight::Before;
        }
        if places().any(|(_, place)| place.cut) { Sight::Unknown(Cap::Observations(self.most)) } else { Sight::None }
    }
}

impl Place {
    fn end_chain(&mut self) {
        self.chain = self.writes.len();
        self.last = None;
    }

    fn add(&mut self, observation: Observation, most: usize) {
        // A read that sees no more than one before it in the same thread adds nothing.
        let adds = |own: &Observation| match (&own.seen, &observation.seen) {
            (Seen::Chain(own), Seen::Chain(new)) => own.start > new.start || own.end < new.end,
            (Seen::Told(own), Seen::Told(new)) => !new.iter().all(|write| own.contains(write)),
            _ => true,
        };
        let of_lane = |own: &&Observation| (own.reader.warp, own.lane) == (observation.reader.warp, observation.lane);
        let is_new = self.observations.iter().rev().find(of_lane).is_none_or(adds);
        self.cut |= is_new && self.observations.len() >= most;
        if is_new && self.observations.len() < most {
            self.observations.push(observation);
        }
    }

    fn has_observed(
        &self,
        (at, bytes): (u64, &Range<u64>),
        earlier: &Record,
        lane: Lane,
        comes_before: impl Fn(&Record, Lane) -> bool,
    ) -> bool {
        let is_it = |write: &Write| write.is_of(earlier, lane, at, bytes);
        let index = self.writes.iter().position(is_it);
        let sees = |own: &&Observation| match &own.seen {
            Seen::Chain(range) => index.is_some_and(|index| range.contains(&index)),
            Seen::Told(writes) => writes.iter().any(is_it),
        };
        self.observations.iter().rev().filter(sees).any(|own| comes_before(&own.reader, own.lane))
    }
}

/// Whether a read of what was written observes it: the two are morally strong (8.7), on the same bytes.
pub fn links(write: &Record, read: &Record, ctas_per_cluster: u32) -> bool {
    let (Some(a), Some(b)) = (write.strong, read.strong) else { return false };
    let includes = |scope| in_scope(scope, write.cta, read.cta, ctas_per_cluster);
    write.size == read.size && write.path == Path::Generic && read.path == Path::Generic && includes(a) && includes(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::op::Scope;

    fn record(warp: Warp, time: Time, kind: Kind, strong: Option<Scope>) -> Record {
        Record {
            pc: 0,
            cta: warp,
            warp,
            time,
            kind,
            path: Path::Generic,
            strong,
            size: 4,
            commutes: None,
            returns: true,
        }
    }

    const AT: (Region, u64) = (Region::Global(0), 8);
    const BYTES: Range<u64> = 8..12;
    const GPU: Option<Scope> = Some(Scope::Gpu);

    fn happens(observed: &mut Observed, write: &Record) {
        observed.overwrite(AT.0, AT.1, 4, write.kind);
        if write.strong.is_some() {
            observed.write(AT, write, 0);
        }
    }

    fn is_before(
        observed: &Observed,
        place: (Region, &Range<u64>),
        earlier: &Record,
        lane: Lane,
        comes_before: impl Fn(&Record, Lane) -> bool,
    ) -> bool {
        observed.comes_before(place, earlier, lane, comes_before) == Sight::Before
    }

    /// Which of the writes a read now observes.
    fn observes(observed: &mut Observed, writes: &[Record]) -> Vec<bool> {
        observed.read(AT, &record(9, 1, Kind::Read, GPU), 0);
        writes.iter().map(|write| is_before(observed, (AT.0, &BYTES), write, 0, |_, _| true)).collect()
    }

    #[test]
    fn a_chain_of_read_modify_writes_is_observed_whole() {
        let mut observed = Observed::new(1);
        let writes = [record(0, 1, Kind::Write, GPU), record(1, 1, Kind::Atomic, GPU), record(2, 1, Kind::Atomic, GPU)];
        writes.iter().for_each(|write| happens(&mut observed, write));
        assert_eq!(observes(&mut observed, &writes), [true, true, true]);
        // Another lane, and another cell.
        assert!(!is_before(&observed, (AT.0, &BYTES), &writes[0], 1, |_, _| true));
        assert!(!is_before(&observed, (AT.0, &(32..36)), &writes[0], 0, |_, _| true));
        // The read does not come before.
        assert!(!is_before(&observed, (AT.0, &BYTES), &writes[0], 0, |reader, _| reader.warp != 9));
    }

    #[test]
    fn a_store_ends_the_chain() {
        let mut observed = Observed::new(1);
        let writes = [record(0, 1, Kind::Atomic, GPU), record(1, 1, Kind::Write, GPU), record(2, 1, Kind::Atomic, GPU)];
        writes.iter().for_each(|write| happens(&mut observed, write));
        assert_eq!(observes(&mut observed, &writes), [false, true, true]);
        // A weak one, one of a neighbour that reaches into it, and none that does not.
        for (start, len, kind, expected) in [
            (8, 4, Kind::Write, false),
            (4, 8, Kind::Atomic, false),
            (4, 4, Kind::Write, true),
            (12, 4, Kind::Write, true),
        ] {
            let mut observed = Observed::new(1);
            happens(&mut observed, &writes[0]);
            observed.overwrite(AT.0, start, len, kind);
            assert_eq!(observes(&mut observed, &writes[..1]), [expected], "{start} {len}");
        }
    }

    #[test]
    fn a_link_that_is_not_morally_strong_ends_the_chain() {
        let cta = Some(Scope::Cta);
        for (middle, expected) in [(cta, [false, false]), (GPU, [true, true])] {
            let mut observed = Observed::new(1);
            let writes = [record(0, 1, Kind::Atomic, GPU), record(1, 1, Kind::Atomic, middle)];
            writes.iter().for_each(|write| happens(&mut observed, write));
            assert_eq!(observes(&mut observed, &writes), expected, "{middle:?}");
        }
        // Behind it another one begins.
        let mut observed = Observed::new(1);
        let writes = [record(0, 1, Kind::Atomic, cta), record(1, 1, Kind::Atomic, GPU)];
        writes.iter().for_each(|write| happens(&mut observed, write));
        assert_eq!(observes(&mut observed, &writes), [false, true]);
    }

    #[test]
    fn what_is_told_counts_as_observed() {
        let mut observed = Observed::new(1);
        let (write, reader) = (record(0, 1, Kind::Write, GPU), record(9, 1, Kind::Read, GPU));
        observed.told(AT, &reader, 3, vec![Write { warp: 0, lane: 0, time: 1, size: 4 }]);
        assert!(is_before(&observed, (AT.0, &BYTES), &write, 0, |reader, lane| (reader.warp, lane) == (9, 3)));
        assert!(!is_before(&observed, (AT.0, &BYTES), &record(0, 2, Kind::Write, GPU), 0, |_, _| true));
        // The next element of a vector is another write.
        assert!(!is_before(&observed, (AT.0, &(12..16)), &write, 0, |_, _| true));
        assert!(!is_before(&observed, (AT.0, &(8..16)), &write, 0, |_, _| true));
        assert!(!is_before(&observed, (AT.0, &BYTES), &record(0, 1, Kind::Read, GPU), 0, |_, _| true));
    }

    /// Its read is one operation with its write, in a run that tells of itself only (8.9.5).
    #[test]
    fn an_atomic_operation_is_observed_as_one() {
        for of_this_run in [false, true] {
            let mut observed = Observed { of_this_run, ..Observed::new(1) };
            happens(&mut observed, &record(0, 1, Kind::Atomic, GPU));
            let reads = [record(0, 1, Kind::Read, GPU), record(0, 0, Kind::Read, GPU)];
            assert_eq!(observes(&mut observed, &reads), [of_this_run, false]);
        }
    }

    #[test]
    fn what_is_not_kept_is_not_known() {
        let writes: Vec<Record> = (0..4).map(|warp| record(warp, 1, Kind::Atomic, GPU)).collect();
        let sights = |most: usize| {
            let mut observed = Observed { most, ..Observed::new(1) };
            writes.iter().for_each(|write| happens(&mut observed, write));
            observed.read(AT, &record(9, 1, Kind::Read, GPU), 0);
            let sight = |write: &Record| observed.comes_before((AT.0, &BYTES), write, 0, |_, _| true);
            writes.iter().map(sight).collect::<Vec<Sight>>()
        };
        assert_eq!(sights(4), [Sight::Before; 4]);
        assert_eq!(sights(3), [Sight::Unknown(Cap::Observations(3)); 4]);
        // So is what a read sees that is not kept.
        let mut observed = Observed { most: 1, ..Observed::new(1) };
        happens(&mut observed, &writes[0]);
        (8..10).for_each(|warp| observed.read(AT, &record(warp, 1, Kind::Read, GPU), 0));
        let by = |reader: Warp| move |own: &Record, _: Lane| own.warp == reader;
        assert_eq!(observed.comes_before((AT.0, &BYTES), &writes[0], 0, by(8)), Sight::Before);
        assert_eq!(observed.comes_before((AT.0, &BYTES), &writes[0], 0, by(9)), Sight::Unknown(Cap::Observations(1)));
    }

    #[test]
    fn what_a_write_stands_for_is_kept_up_to_a_number() {
        let entry = |record| Entry { record, lanes: 1, bytes: 15, stands_for: StandsFor::None };
        let mut observed = Observed { most_forgotten: 2, ..Observed::new(1) };
        let two = observed.forget(&[entry(1), entry(2)]);
        assert_eq!(observed.forgotten(two).map(<[Forgotten]>::len), Some(2));
        let three = observed.forget(&[entry(3), Entry { stands_for: two, ..entry(4) }]);
        assert!(three == StandsFor::Many && observed.forgotten(three).is_none());
    }
}
