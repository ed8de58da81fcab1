//! What is observed of an execution: which write each read reads, and which write each location ends with.
//!
//! Values are all different, so that this is what the final values of registers and memory tell.

use crate::bounded::shape::{Automorphism, Shape};

/// By operation and by location; operations are numbered as in the shape.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Behaviour {
    /// Of each operation that reads: the operation whose write it reads, None for the initial value. None for others too.
    pub source: Vec<Option<usize>>,
    /// The last write of each location; None where nobody writes.
    pub last: Vec<Option<usize>>,
}

/// Every choice.
pub fn behaviours(shape: &Shape) -> Vec<Behaviour> {
    let operations: Vec<_> = shape.operations().copied().collect();
    let writes_to = |location: usize| -> Vec<usize> {
        let is_write = |at: &usize| operations[*at].kind.writes() && operations[*at].location == Some(location);
        (0..operations.len()).filter(is_write).collect()
    };
    let mut choices: Vec<Vec<Option<usize>>> = Vec::new();
    for (at, operation) in operations.iter().enumerate() {
        let sources = match operation.location {
            Some(location) if operation.kind.reads() => {
                let others = writes_to(location).into_iter().filter(|write| *write != at).map(Some);
                std::iter::once(None).chain(others).collect()
            }
            _ => vec![None],
        };
        choices.push(sources);
    }
    for location in 0..shape.locations {
        let writes = writes_to(location);
        choices.push(if writes.is_empty() { vec![None] } else { writes.into_iter().map(Some).collect() });
    }
    let mut found = vec![Vec::new()];
    for choice in &choices {
        let extended = found.iter().flat_map(|chosen: &Vec<Option<usize>>| {
            choice.iter().map(move |next| [chosen.as_slice(), &[*next]].concat())
        });
        found = extended.collect();
    }
    let split = |chosen: Vec<Option<usize>>| {
        let (source, last) = chosen.split_at(operations.len());
        Behaviour { source: source.to_vec(), last: last.to_vec() }
    };
    found.into_iter().map(split).collect()
}

impl Behaviour {
    /// The same behaviour after renaming threads and locations.
    pub fn renamed(&self, by: &Automorphism) -> Behaviour {
        let mut image = Behaviour { source: vec![None; self.source.len()], last: vec![None; self.last.len()] };
        for (at, source) in self.source.iter().enumerate() {
            image.source[by.operations[at]] = source.map(|write| by.operations[write]);
        }
        for (location, last) in self.last.iter().enumerate() {
            image.last[by.locations[location]] = last.map(|write| by.operations[write]);
        }
        image
    }

    /// Whether it stands for those that differ from it by a renaming.
    pub fn is_representative(&self, automorphisms: &[Automorphism]) -> bool {
        automorphisms.iter().all(|by| *self <= self.renamed(by))
    }

    /// Whether program order and reads-from have a cycle: values out of thin air, or load buffering.
    pub fn is_cyclic(&self, shape: &Shape) -> bool {
        let count = shape.count();
        let mut before = vec![0u64; count];
        for (thread, operations) in shape.threads.iter().enumerate() {
            let first = shape.first(thread);
            for offset in 1..operations.len() {
                before[first + offset] |= 1 << (first + offset - 1);
            }
        }
        for (read, source) in self.source.iter().enumerate() {
            if let Some(write) = source {
                before[read] |= 1 << write;
            }
        }
        let mut left: u64 = (1 << count) - 1;
        loop {
            let free: u64 =
                (0..count).filter(|at| left >> at & 1 == 1 && before[*at] & left == 0).map(|at| 1 << at).sum();
            if free == 0 {
                return left != 0;
            }
            left &= !free;
        }
    }
}
