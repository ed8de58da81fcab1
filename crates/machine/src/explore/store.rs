//! The set of states seen, with the way to each: open addressing over packed states, in shards.
//!
//! States are kept in full. A table of fingerprints alone would take a fifth of the memory and could lose a state to a
//! collision, after which "unreachable" would be a guess.
//!
//! The shard of a state depends on its words only and the order of insertion is fixed by the caller, so ids do not depend
//! on how many threads insert.

/// How many shards; a power of two, independent of the number of threads.
pub(crate) const SHARDS: usize = 16;

/// A state that was seen.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StateId(u64);

impl StateId {
    fn new(shard: usize, local: usize) -> StateId {
        StateId((local * SHARDS + shard) as u64)
    }

    fn shard(self) -> usize {
        self.0 as usize % SHARDS
    }

    fn local(self) -> usize {
        self.0 as usize / SHARDS
    }
}

/// How a state was first reached: the state before it and the number of the transition among those enabled there.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Origin {
    pub(crate) parent: StateId,
    pub(crate) step: u32,
}

/// A state on its way into a shard.
#[derive(Clone, Default)]
pub(crate) struct Arrivals {
    pub(crate) words: Vec<u64>,
    pub(crate) hashes: Vec<u64>,
    pub(crate) origins: Vec<(u64, u32)>,
}

impl Arrivals {
    pub(crate) fn push(&mut self, words: &[u64], hash: u64, parent: StateId, step: u32) {
        self.words.extend_from_slice(words);
        self.hashes.push(hash);
        self.origins.push((parent.0, step));
    }

    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.hashes.clear();
        self.origins.clear();
    }
}

pub(crate) struct Shard {
    number: usize,
    width: usize,
    words: Vec<u64>,
    /// Parents are ids plus one; 0 for the initial state.
    parents: Vec<u64>,
    steps: Vec<u32>,
    /// Local numbers plus one; 0 is empty. A power of two long.
    table: Vec<u32>,
}

impl Shard {
    fn new(number: usize, width: usize) -> Shard {
        Shard { number, width, words: Vec::new(), parents: Vec::new(), steps: Vec::new(), table: vec![0; 64] }
    }

    fn len(&self) -> usize {
        self.steps.len()
    }

    fn bytes(&self) -> u64 {
        let words = self.words.capacity() + self.parents.capacity();
        (words * 8 + (self.steps.capacity() + self.table.capacity()) * 4) as u64
    }

    fn state(&self, local: usize) -> &[u64] {
        &self.words[local * self.width..(local + 1) * self.width]
    }

    fn insert(&mut self, words: &[u64], hash: u64, parent: u64, step: u32) -> Option<StateId> {
        if (self.len() + 1) * 2 > self.table.len() {
            self.grow();
        }
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        while self.table[at] != 0 {
            if self.state(self.table[at] as usize - 1) == words {
                return None;
            }
            at = (at + 1) & mask;
        }
        let local = self.len();
        self.table[at] = u32::try_from(local + 1).expect("invariant: limits keep a shard below 2^32 states");
        self.words.extend_from_slice(words);
        self.parents.push(parent);
        self.steps.push(step);
        Some(StateId::new(self.number, local))
    }

    fn grow(&mut self) {
        let mask = self.table.len() * 2 - 1;
        let mut table = vec![0; mask + 1];
        for local in 0..self.len() {
            let mut at = hash(self.state(local)) as usize & mask;
            while table[at] != 0 {
                at = (at + 1) & mask;
            }
            table[at] = u32::try_from(local + 1).expect("invariant: it was in the table before");
        }
        self.table = table;
    }

    /// Inserts what is new, in order, and names it.
    pub(crate) fn absorb(&mut self, arrivals: &Arrivals, fresh: &mut Vec<StateId>) {
        for (at, hash) in arrivals.hashes.iter().enumerate() {
            let words = &arrivals.words[at * self.width..(at + 1) * self.width];
            let (parent, step) = arrivals.origins[at];
            fresh.extend(self.insert(words, *hash, parent + 1, step));
        }
    }
}

pub(crate) struct Store {
    pub(crate) shards: Vec<Shard>,
}

impl Store {
    pub(crate) fn new(width: usize) -> Store {
        Store { shards: (0..SHARDS).map(|number| Shard::new(number, width)).collect() }
    }

    pub(crate) fn insert_initial(&mut self, words: &[u64]) -> StateId {
        let hash = hash(words);
        let shard = &mut self.shards[shard_of(hash)];
        shard.insert(words, hash, 0, 0).expect("invariant: the store is empty")
    }

    pub(crate) fn state(&self, id: StateId) -> &[u64] {
        self.shards[id.shard()].state(id.local())
    }

    pub(crate) fn origin(&self, id: StateId) -> Option<Origin> {
        let shard = &self.shards[id.shard()];
        let parent = shard.parents[id.local()].checked_sub(1)?;
        Some(Origin { parent: StateId(parent), step: shard.steps[id.local()] })
    }

    pub(crate) fn len(&self) -> u64 {
        self.shards.iter().map(|shard| shard.len() as u64).sum()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.shards.iter().map(Shard::bytes).sum()
    }
}

pub(crate) fn shard_of(hash: u64) -> usize {
    (hash >> 60) as usize % SHARDS
}

/// A multiplicative hash over the words, mixed at the end so that both the shard (top bits) and the table (low bits) get
/// good ones.
pub(crate) fn hash(words: &[u64]) -> u64 {
    let mut hash = 0x9E37_79B9_7F4A_7C15u64;
    for word in words {
        hash = (hash.rotate_left(25) ^ word).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use super::{Arrivals, Store, hash, shard_of};

    #[test]
    fn a_state_is_stored_once_and_found_again() {
        let mut store = Store::new(2);
        let root = store.insert_initial(&[0, 0]);
        assert!(store.origin(root).is_none());
        let mut fresh = Vec::new();
        for _ in 0..2 {
            for number in 1..2000u64 {
                let words = [number, number * 3];
                let hash = hash(&words);
                let mut arrivals = Arrivals::default();
                arrivals.push(&words, hash, root, 7);
                store.shards[shard_of(hash)].absorb(&arrivals, &mut fresh);
            }
        }
        assert_eq!((store.len(), fresh.len()), (2000, 1999));
        let words: std::collections::BTreeSet<_> = fresh.iter().map(|id| store.state(*id)[0]).collect();
        assert_eq!(words.len(), 1999);
        assert!(fresh.iter().all(|id| store.origin(*id).is_some_and(|it| it.parent == root && it.step == 7)));
    }
}
