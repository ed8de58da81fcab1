//! A search for executions that raise a flag of the model (`flag ~empty race as data-race`).
//!
//! What a flag tells of is mostly what nothing orders: conflicting pairs without causality between them. Such a relation
//! only shrinks as more is chosen, so that an engine can leave a part of the search as soon as everything in it is
//! ordered, and the absence of races is proved without listing all executions.

use std::collections::BTreeSet;

use fencepost_program::EventId;
use fencepost_syntax::cat::{CheckKind, CheckRole};

use super::{Goal, Stop};
use crate::base::Candidate;
use crate::bits::{Relation, kernel};
use crate::model::{CheckId, Model, NodeId, NodeKind, Polarity};

/// Which flag must be raised, see [`Goal::raised`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Raised<'a> {
    /// A `flag ~empty r` or `undefined_unless empty r` of the model, where `r` is a relation.
    pub flag: CheckId,
    /// By a pair that is none of these: what was found before. To find every pair that can raise the flag, search for
    /// one execution again and again, with the pairs of all executions found so far.
    pub beyond: &'a [(EventId, EventId)],
}

/// The goal as an engine needs it.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) node: NodeId,
    /// A larger choice can only take pairs away.
    pub(super) shrinks: bool,
    beyond: BTreeSet<(EventId, EventId)>,
}

impl Wanted {
    /// What the goal asks for, if it asks for a flag.
    pub(super) fn new(model: &Model, goal: &Goal<'_>) -> Result<Option<Wanted>, Stop> {
        let Some(raised) = goal.raised else { return Ok(None) };
        let node = flagged(model, raised.flag)?;
        let Polarity { rf, co, sync_fence, syncbar } = polarity_of_relation(model, raised.flag);
        let shrinks = [rf, co, sync_fence, syncbar].iter().all(|occurrence| !occurrence.positive);
        Ok(Some(Wanted { node, shrinks, beyond: raised.beyond.iter().copied().collect() }))
    }

    /// The pairs that do not count, by local number.
    pub(super) fn mask(&self, candidate: &Candidate) -> Relation {
        let local = |event: &EventId| candidate.local(*event);
        let pairs = self.beyond.iter().filter_map(|(from, to)| Some((local(from)?, local(to)?)));
        Relation::from_pairs(candidate.shape, pairs)
    }

    pub(super) fn counts(&self, pair: (EventId, EventId)) -> bool {
        !self.beyond.contains(&pair)
    }
}

/// Whether a relation has a pair outside the mask.
pub(super) fn exceeds(relation: &[u64], mask: &Relation) -> bool {
    let mut rest = vec![0; relation.len()];
    kernel::difference(&mut rest, relation, mask.bits());
    !kernel::is_empty(&rest)
}

fn flagged(model: &Model, flag: CheckId) -> Result<NodeId, Stop> {
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
