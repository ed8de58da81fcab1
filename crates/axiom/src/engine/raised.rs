//! A search for executions that raise a flag of the model (`flag ~empty race as data-race`).
//!
//! What a flag tells of is mostly what nothing orders: conflicting pairs without causality between them. Such a relation
//! only shrinks as more is chosen, so that an engine can leave a part of the search as soon as everything in it is
//! ordered, and the absence of races is proved without listing all executions.

use fencepost_program::EventId;
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::cat::{CheckKind, CheckRole};

use super::bounds::Bounds;
use super::{Goal, Stop};
use crate::base::Candidate;
use crate::bits::Relation;
use crate::model::{CheckId, Model, NodeId, NodeKind, Operator, Polarity};

/// Which flag must be raised, see [`Goal::raised`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Raised<'a> {
    /// A `flag ~empty r` or `undefined_unless empty r` of the model, where `r` is a relation.
    pub flag: CheckId,
    /// By a pair that is none of these: what was found before. To find every pair that can raise the flag, search for
    /// one execution again and again, with the pairs of all executions found so far.
    pub beyond: &'a [(EventId, EventId)],
}

impl Raised<'_> {
    /// Whether one of these pairs counts.
    pub fn is_by(&self, pairs: &[(EventId, EventId)]) -> bool {
        let beyond = if pairs.is_empty() { Pairs::default() } else { Pairs::new(self.beyond) };
        pairs.iter().any(|(from, to)| !beyond.has(from.index(), to.index()))
    }
}

/// The goal as an engine needs it.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) node: NodeId,
    /// A larger choice can only take pairs away.
    pub(super) shrinks: bool,
    /// Whether a pair of the unfolding could raise it at all.
    pub(super) is_possible: bool,
    beyond: Pairs,
}

/// Pairs of events: for each first one the second ones, as bits.
#[derive(Clone, Debug, Default)]
struct Pairs(Vec<Vec<u64>>);

impl Pairs {
    fn new(pairs: &[(EventId, EventId)]) -> Pairs {
        let mut rows: Vec<Vec<u64>> = Vec::new();
        for (from, to) in pairs {
            let (from, word) = (from.index(), to.index() / 64);
            if rows.len() <= from {
                rows.resize(from + 1, Vec::new());
            }
            if rows[from].len() <= word {
                rows[from].resize(word + 1, 0);
            }
            rows[from][word] |= 1 << (to.index() % 64);
        }
        Pairs(rows)
    }

    fn row(&self, from: usize) -> &[u64] {
        self.0.get(from).map_or(&[], Vec::as_slice)
    }

    fn has(&self, from: usize, to: usize) -> bool {
        holds(self.row(from), to)
    }
}

fn holds(row: &[u64], index: usize) -> bool {
    row.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
}

impl Wanted {
    /// What the goal asks for, if it asks for a flag.
    pub(super) fn new(model: &Model, unfolding: &Unfolding, goal: &Goal<'_>) -> Result<Option<Wanted>, Stop> {
        let Some(raised) = goal.raised else { return Ok(None) };
        let node = flagged(model, raised.flag)?;
        let bounds = Bounds::new(model, unfolding, node);
        let beyond = if bounds.is_empty() { Pairs::default() } else { Pairs::new(raised.beyond) };
        if !bounds.any(|from, to| !beyond.has(from, to)) {
            return Ok(Some(Wanted { node, shrinks: false, is_possible: false, beyond }));
        }
        Ok(Some(Wanted { node, shrinks: shrinks(model, raised.flag), is_possible: true, beyond }))
    }

    /// The pairs that do not count, by local number.
    pub(super) fn mask(&self, candidate: &Candidate) -> Relation {
        let events = &candidate.events;
        let pairs = events.iter().enumerate().flat_map(|(from, first)| {
            let row = self.beyond.row(first.index());
            let seconds = events.iter().enumerate().filter(|(_, second)| holds(row, second.index()));
            seconds.map(move |(to, _)| (from, to))
        });
        Relation::from_pairs(candidate.shape, pairs)
    }

    pub(super) fn counts(&self, pair: (EventId, EventId)) -> bool {
        !self.beyond.has(pair.0.index(), pair.1.index())
    }
}

/// Whether a relation has a pair outside the mask.
pub(super) fn exceeds(relation: &[u64], mask: &Relation) -> bool {
    relation.iter().zip(mask.bits()).any(|(word, left_out)| word & !left_out != 0)
}

/// Whether every pair that raises a flag raises the other too, by the way it is written: its relation is that of the other
/// with pairs taken away.
pub fn is_raised_within(model: &Model, flag: CheckId, other: CheckId) -> bool {
    let (Ok(mut node), Ok(whole)) = (flagged(model, flag), flagged(model, other)) else { return false };
    loop {
        if node == whole {
            return true;
        }
        match model.nodes[node.index()].operator {
            Operator::Difference(left, _) => node = left,
            _ => return false,
        }
    }
}

/// Whether a larger choice can only take pairs of the flagged relation away.
pub(super) fn shrinks(model: &Model, flag: CheckId) -> bool {
    let Polarity { rf, co, sync_fence, syncbar } = polarity_of_relation(model, flag);
    [rf, co, sync_fence, syncbar].iter().all(|occurrence| !occurrence.positive)
}

pub(super) fn flagged(model: &Model, flag: CheckId) -> Result<NodeId, Stop> {
    let check = model.checks.get(flag.index());
    let fits = check.filter(|check| {
        let raised_by_pairs = match check.role {
            CheckRole::Flag => check.negated,
            CheckRole::UndefinedUnless => !check.negated,
            CheckRole::Axiom | CheckRole::Assert => false,
        };
        let is_relation = model.nodes[check.node.index()].kind == NodeKind::Relation;
        raised_by_pairs && check.kind == CheckKind::Empty && is_relation
    });
    match fits {
        Some(check) => Ok(check.node),
        None => {
            let span = check.map(|check| check.span).unwrap_or_default();
            Err(Stop::Unsupported { span, what: "a search for a flag that no pair of events raises".to_owned() })
        }
    }
}

/// How the flagged relation uses what is chosen, whatever stands before it.
fn polarity_of_relation(model: &Model, flag: CheckId) -> Polarity {
    let used = model.polarity(flag);
    match model.checks.get(flag.index()) {
        Some(check) if check.negated => used.flipped(),
        _ => used,
    }
}
