//! What a crash may leave of an execution.
//!
//! A model of persistent memory shows three relations ([`Role`]). A crash finds a *prefix* of the execution: events that have
//! happened, closed under `crash-prefix`. Of the persists among them a set is *durable*: closed under `persists-before`, and with
//! everything that a `durable-at` of the prefix asks for. Persistent memory then holds, at each location, the value of a last
//! durable write in coherence order, or the initial value.
//!
//! Prefixes and durable sets are many, and the states they leave are few. So a state is chosen, and the smallest prefix and the
//! smallest durable set that it needs are computed: both conditions only ask for more events, so that a state is possible if
//! and only if nothing in its smallest sets contradicts it. [`literal`] goes through all prefixes and sets by the definition, and
//! is what tests and small checks compare with.

pub mod literal;

use std::ops::ControlFlow;

use crate::bits::{Shape, kernel, ones};

/// The relations that a model shows of persistent memory.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// `(a, b)`: if `b` has happened, so has `a`.
    Prefix,
    /// `(v, w)`: if the persist `w` is durable, so is `v`.
    Persists,
    /// `(w, e)`: if `e` has happened, the persist `w` is durable.
    Durable,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Prefix, Role::Persists, Role::Durable];

    /// The name under which a model shows it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Prefix => "crash-prefix",
            Role::Persists => "persists-before",
            Role::Durable => "durable-at",
        }
    }
}

/// Bit matrices over the events of one execution.
#[derive(Copy, Clone, Debug)]
pub struct Relations<'a> {
    pub shape: Shape,
    pub prefix: &'a [u64],
    pub persists: &'a [u64],
    pub durable: &'a [u64],
    /// Transitively closed.
    pub co: &'a [u64],
}

/// What is asked of a state, by the events of the execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cell {
    /// A persistent location: its persists. It holds the value of one of them, or the initial one.
    Memory { persists: Vec<usize> },
    /// A register: the events that must have happened for it to have its value. It has that or none.
    Register { events: Vec<usize> },
}

/// What a crash leaves, and how.
#[derive(Copy, Clone, Debug)]
pub struct Left<'a> {
    /// By cell. Of memory the persist whose value it holds, None for the initial value; of a register `Some` if it has its
    /// value.
    pub picked: &'a [Option<usize>],
    /// The fewest persists that are durable then.
    pub durable: &'a [u64],
    /// The fewest events that have happened then.
    pub happened: &'a [u64],
}

/// The crashes of one execution.
pub struct Crashes {
    shape: Shape,
    /// By event, what has happened if it has, itself included.
    happened: Vec<u64>,
    /// By event, the persists that are durable if it has happened.
    if_happened: Vec<u64>,
    /// By persist, those that are durable if it is, itself included.
    if_durable: Vec<u64>,
    /// By event, the writes to its location that come later.
    later: Vec<u64>,
}

impl Crashes {
    pub fn new(relations: &Relations<'_>) -> Crashes {
        let shape = relations.shape;
        let mut happened = vec![0; shape.matrix()];
        kernel::inverse(shape, &mut happened, relations.prefix);
        kernel::close(shape, &mut happened);
        kernel::add_identity(shape, &mut happened);
        let mut obliged = vec![0; shape.matrix()];
        kernel::inverse(shape, &mut obliged, relations.durable);
        let mut at_event = vec![0; shape.matrix()];
        kernel::sequence(shape, &mut at_event, &happened, &obliged);
        let mut closed = vec![0; shape.matrix()];
        kernel::inverse(shape, &mut closed, relations.persists);
        kernel::add(&mut closed, &at_event);
        kernel::close(shape, &mut closed);
        kernel::add_identity(shape, &mut closed);
        let mut if_happened = vec![0; shape.matrix()];
        kernel::sequence(shape, &mut if_happened, &at_event, &closed);
        Crashes { shape, happened, if_happened, if_durable: closed, later: relations.co.to_vec() }
    }

    /// Every state that a crash may leave of the cells, until the visitor has seen enough. A state comes once for each choice of
    /// persists that leaves it.
    pub fn each(&self, cells: &[Cell], visit: &mut dyn FnMut(&Left<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        let mut picked = Vec::with_capacity(cells.len());
        let nothing = vec![0; self.shape.words()];
        self.choose(cells, &mut picked, (&nothing, &nothing), visit)
    }

    fn choose(
        &self,
        cells: &[Cell],
        picked: &mut Vec<Option<usize>>,
        (durable, happened): (&[u64], &[u64]),
        visit: &mut dyn FnMut(&Left<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(cell) = cells.get(picked.len()) else {
            return visit(&Left { picked, durable, happened });
        };
        picked.push(None);
        if self.agrees(cells, picked, (durable, happened)) {
            self.choose(cells, picked, (durable, happened), visit)?;
        }
        picked.pop();
        match cell {
            Cell::Memory { persists } => {
                for persist in persists {
                    self.pick(cells, picked, (*persist, &[*persist]), (durable, happened), visit)?;
                }
                ControlFlow::Continue(())
            }
            Cell::Register { events } => self.pick(cells, picked, (0, events), (durable, happened), visit),
        }
    }

    /// Goes on with the cell holding the value that these events give it.
    fn pick(
        &self,
        cells: &[Cell],
        picked: &mut Vec<Option<usize>>,
        (value, events): (usize, &[usize]),
        (durable, happened): (&[u64], &[u64]),
        visit: &mut dyn FnMut(&Left<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let is_memory = matches!(cells.get(picked.len()), Some(Cell::Memory { .. }));
        let required = if is_memory { &self.if_durable } else { &self.if_happened };
        let (mut durable, mut happened) = (durable.to_vec(), happened.to_vec());
        for &event in events {
            kernel::add(&mut durable, kernel::row(self.shape, required, event));
            kernel::add(&mut happened, kernel::row(self.shape, &self.happened, event));
        }
        for persist in ones(&durable.clone()) {
            kernel::add(&mut happened, kernel::row(self.shape, &self.happened, persist));
        }
        picked.push(Some(value));
        if self.agrees(cells, picked, (&durable, &happened)) {
            self.choose(cells, picked, (&durable, &happened), visit)?;
        }
        picked.pop();
        ControlFlow::Continue(())
    }

    /// Whether nothing that is durable or has happened contradicts what was picked.
    fn agrees(&self, cells: &[Cell], picked: &[Option<usize>], (durable, happened): (&[u64], &[u64])) -> bool {
        cells.iter().zip(picked).all(|(cell, picked)| match (cell, picked) {
            (Cell::Memory { persists }, None) => !persists.iter().any(|persist| kernel::has(durable, *persist)),
            (Cell::Memory { .. }, Some(persist)) => {
                let later = kernel::row(self.shape, &self.later, *persist);
                later.iter().zip(durable).all(|(later, durable)| later & durable == 0)
            }
            (Cell::Register { events }, None) => !events.iter().all(|event| kernel::has(happened, *event)),
            (Cell::Register { .. }, Some(_)) => true,
        })
    }
}
