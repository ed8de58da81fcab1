//! The scope tree: sets of threads, nested, the whole system at the top.
//!
//! The sets that contain a thread form a chain, so a set can be named by a thread in it and a [`Level`] of that thread's
//! chain. LOST-POP's order constraints use this: an edge `a → b` holds at a set and everything inside it, every set at
//! which an architecture adds it contains `a`'s thread, so the largest level of `a`'s thread says it all, and one matrix
//! per level replaces one per set. (The Lean implementation keeps one per set.)

use fencepost_program::access::includes;
use fencepost_program::program::{Place, Scope};
use fencepost_syntax::sorted::SharedSort as _;

/// A set of threads, by bit.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ThreadSet(pub u64);

impl ThreadSet {
    pub fn all(threads: u32) -> ThreadSet {
        ThreadSet(if threads >= 64 { u64::MAX } else { (1 << threads) - 1 })
    }

    pub fn has(self, thread: u32) -> bool {
        self.0 >> thread & 1 == 1
    }

    pub fn is_in(self, other: ThreadSet) -> bool {
        self.0 & !other.0 == 0
    }
}

/// A rung of a thread's chain of sets, from the innermost.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Level(pub u8);

impl Level {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScopeTree {
    /// Per thread, from the innermost set to the system; all chains are equally long, so a set may occur twice in one.
    chains: Vec<Vec<ThreadSet>>,
    /// Per thread and scope of [`SCOPES`].
    named: Vec<[ThreadSet; 4]>,
    /// `least[from][to][level]`: the least level of `from`'s chain whose set contains the set of `to` at `level`.
    least: Vec<Vec<Vec<Level>>>,
}

const SCOPES: [Scope; 4] = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys];

fn position(scope: Scope) -> usize {
    match scope {
        Scope::Cta => 0,
        Scope::Cluster => 1,
        Scope::Gpu => 2,
        Scope::Sys => 3,
    }
}

/// Which sets the scopes of a program name.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum GpuScope {
    /// `.gpu` is the threads of the same device.
    #[default]
    Device,
    /// `.gpu` is the second smallest of the sets around the thread, as in the Lean implementation.
    SecondSmallest,
}

/// Whether each thread is a set of its own, innermost.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum ThreadScope {
    #[default]
    None,
    Own,
}

impl ScopeTree {
    /// The tree of some placed threads. A host thread's narrower scopes are the thread alone: only `.sys` includes or is
    /// included by the host.
    pub fn new(places: &[Place], gpu: GpuScope, own: ThreadScope) -> ScopeTree {
        let count = places.len();
        let system = ThreadSet::all(count as u32);
        let around = |thread: usize, scope: Scope| {
            let inside = |other: &usize| *other == thread || includes(scope, places[thread], places[*other]);
            ThreadSet((0..count).filter(inside).fold(0, |set, other| set | 1 << other))
        };
        let mut named: Vec<[ThreadSet; 4]> =
            (0..count).map(|thread| SCOPES.map(|scope| around(thread, scope))).collect();
        let host = ThreadSet((0..count).filter(|it| places[*it] == Place::Host).fold(0, |set, it| set | 1 << it));
        let mut chains: Vec<Vec<ThreadSet>> = (0..count)
            .map(|thread| {
                let mut chain = if places[thread] == Place::Host { vec![host] } else { named[thread].to_vec() };
                chain.push(system);
                if own == ThreadScope::Own {
                    chain.insert(0, ThreadSet(1 << thread));
                }
                chain.shared_sort_by_key(|set| set.0.count_ones());
                chain.dedup();
                chain
            })
            .collect();
        if gpu == GpuScope::SecondSmallest {
            for (named, chain) in named.iter_mut().zip(&chains) {
                named[position(Scope::Gpu)] = chain.get(1).copied().unwrap_or(system);
            }
        }
        let longest = chains.iter().map(Vec::len).max().unwrap_or(1);
        for chain in &mut chains {
            while chain.len() < longest {
                chain.push(system);
            }
        }
        let mut tree = ScopeTree { chains, named, least: Vec::new() };
        tree.least = tree.least_levels();
        tree
    }

    fn least_levels(&self) -> Vec<Vec<Vec<Level>>> {
        let least = |from: &[ThreadSet], set: ThreadSet| {
            let at = from.iter().position(|candidate| set.is_in(*candidate));
            Level(at.map_or_else(|| self.top().0, |at| at as u8))
        };
        let to = |from: &Vec<ThreadSet>| {
            self.chains.iter().map(|chain| chain.iter().map(|set| least(from, *set)).collect()).collect()
        };
        self.chains.iter().map(to).collect()
    }

    /// How many levels there are.
    pub fn levels(&self) -> u32 {
        self.chains.first().map_or(1, Vec::len) as u32
    }

    /// The level of the whole system.
    pub fn top(&self) -> Level {
        Level((self.levels() - 1) as u8)
    }

    pub fn system(&self) -> ThreadSet {
        ThreadSet::all(self.chains.len() as u32)
    }

    /// The set a thread's scope names.
    pub fn named(&self, thread: usize, scope: Scope) -> ThreadSet {
        self.named.get(thread).map_or(ThreadSet::default(), |named| named[position(scope)])
    }

    pub(crate) fn set(&self, thread: usize, level: Level) -> ThreadSet {
        self.chains[thread][level.index()]
    }

    /// The highest level of the thread's chain whose set is this one or inside it; None if even the innermost is not.
    pub(crate) fn level(&self, thread: usize, set: ThreadSet) -> Option<Level> {
        let at = self.chains[thread].iter().rposition(|candidate| candidate.is_in(set))?;
        Some(Level(at as u8))
    }

    /// The least level of the thread's chain whose set contains this one.
    pub(crate) fn containing(&self, thread: usize, set: ThreadSet) -> Level {
        let at = self.chains[thread].iter().position(|candidate| set.is_in(*candidate));
        at.map_or_else(|| self.top(), |at| Level(at as u8))
    }

    /// The least level of `from`'s chain whose set contains the innermost set around `of`.
    pub(crate) fn around_leaf(&self, from: usize, of: usize) -> Level {
        self.least[from][of][0]
    }

    /// The least level of `from`'s chain whose set contains the smallest set that contains both `a` and `b`.
    pub(crate) fn around_joint(&self, from: usize, a: usize, b: usize) -> Level {
        // In a tree, a set with `b` in it contains `b`'s innermost set.
        let joint = self.least[a][b][0];
        self.least[from][a][joint.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::{GpuScope, Level, ScopeTree, ThreadScope, ThreadSet};
    use fencepost_program::program::{Place, Scope};

    fn gpu(gpu: u32, cta: u32) -> Place {
        Place::Gpu { gpu, cluster: 0, cta }
    }

    #[test]
    fn sets_are_those_of_the_places() {
        let places = [gpu(0, 0), gpu(0, 0), gpu(0, 1), gpu(1, 0), Place::Host];
        let tree = ScopeTree::new(&places, GpuScope::Device, ThreadScope::None);
        assert_eq!(tree.named(0, Scope::Cta), ThreadSet(0b00011));
        assert_eq!(tree.named(0, Scope::Gpu), ThreadSet(0b00111));
        assert_eq!(tree.named(3, Scope::Cluster), ThreadSet(0b01000));
        assert_eq!(tree.named(4, Scope::Gpu), ThreadSet(0b10000));
        assert_eq!(tree.named(4, Scope::Sys), ThreadSet(0b11111));
        let joint = |a, b| tree.set(a, tree.around_joint(a, a, b));
        assert_eq!(joint(0, 1), ThreadSet(0b00011));
        assert_eq!(joint(0, 2), ThreadSet(0b00111));
        assert_eq!(joint(2, 4), ThreadSet(0b11111));
    }

    #[test]
    fn one_set_is_one_level() {
        let tree = ScopeTree::new(&[gpu(0, 0), gpu(0, 0)], GpuScope::Device, ThreadScope::None);
        assert_eq!(tree.levels(), 1);
        assert_eq!(tree.level(0, tree.named(0, Scope::Cta)), Some(Level(0)));
        assert_eq!(tree.around_joint(0, 0, 1), tree.top());
    }

    #[test]
    fn lean_takes_the_second_smallest_set_for_gpu() {
        let places = [gpu(0, 0), Place::Host];
        let named = |gpu| ScopeTree::new(&places, gpu, ThreadScope::None).named(0, Scope::Gpu);
        assert_eq!(named(GpuScope::Device), ThreadSet(0b01));
        assert_eq!(named(GpuScope::SecondSmallest), ThreadSet(0b11));
    }
}
