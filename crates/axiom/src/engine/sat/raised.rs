//! The flag that must be raised, as part of the problem: a literal per pair that could raise it, one of them true.
//!
//! Which pairs could, the model says of the traces with nothing else chosen: the relation of the flag only shrinks. When
//! the solver's choice orders a pair it wants unordered, the choices that order it exclude the pair's literal: a pair
//! that every way of reading orders drops out after few rounds, and with the last one the search is over.

use std::collections::BTreeMap;

use fencepost_program::TraceId;

use crate::base::Candidate;
use crate::engine::raised::Wanted;
use crate::model::Model;
use crate::reason::{Chosen, Explainer, Fact, Matrices, Valuation as _};

use super::clause::clause;
use super::encode::Encoding;
use super::solver::Lit;

/// Pairs explained in one round beside those the solver wants.
const OTHERS: usize = 16;

/// A pair by local number, and the literal that says that it raises the flag.
type Hope = ((usize, usize), Lit);

#[derive(Debug)]
pub(super) struct Raising {
    wanted: Wanted,
    hopes: BTreeMap<Vec<TraceId>, Vec<Hope>>,
}

/// Whether a consistent candidate raises the flag.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Raised,
    /// Clauses were added that exclude it.
    Refuted,
    /// It does not, and nothing general is known.
    NotRaised,
}

impl Raising {
    pub(super) fn new(wanted: Wanted) -> Raising {
        Raising { wanted, hopes: BTreeMap::new() }
    }

    /// Forgets the literals of a problem that is done.
    pub(super) fn start(&mut self) {
        self.hopes.clear();
    }

    /// Judges the candidate whose values the matrices hold. `chosen` is what is chosen in it.
    pub(super) fn judge<'m>(
        &mut self,
        encoding: &mut Encoding<'_>,
        model: &'m Model,
        matrices: &mut Matrices<'m>,
        candidate: &Candidate,
        chosen: &Chosen,
    ) -> Verdict {
        let node = self.wanted.node;
        let events = &candidate.events;
        let raises = |matrices: &Matrices<'m>, from: usize| -> Vec<(usize, usize)> {
            let row = matrices.row(node, from).into_iter();
            row.filter(|&to| self.wanted.counts((events[from], events[to]))).map(|to| (from, to)).collect()
        };
        if (0..events.len()).any(|from| !raises(matrices, from).is_empty()) {
            return Verdict::Raised;
        }
        if !self.wanted.shrinks {
            return Verdict::NotRaised;
        }
        let Some(hopes) = self.hopes.get(&candidate.traces) else {
            // What meets at barriers is fixed for the whole problem.
            let (syncbar, exitbar) = (chosen.syncbar.clone(), chosen.exitbar.clone());
            let generations = chosen.generations.clone();
            matrices.choose(&Chosen { syncbar, exitbar, generations, ..Chosen::empty(candidate.shape) });
            let pairs: Vec<(usize, usize)> = (0..events.len()).flat_map(|from| raises(matrices, from)).collect();
            let hopes: Vec<Hope> = pairs.into_iter().map(|pair| (pair, encoding.solver.fresh())).collect();
            let mut some: Vec<Lit> = candidate.traces.iter().map(|trace| !encoding.taken[trace.index()]).collect();
            some.extend(hopes.iter().map(|(_, literal)| *literal));
            encoding.solver.clause(&some);
            self.hopes.insert(candidate.traces.clone(), hopes);
            return Verdict::Refuted;
        };
        let (wanted, others): (Vec<Hope>, Vec<Hope>) =
            hopes.iter().partition(|(_, literal)| encoding.solver.is_true(*literal));
        let mut explainer = Explainer::new(model, matrices).watched(matrices.watch().clone());
        for ((from, to), literal) in wanted.into_iter().chain(others.into_iter().take(OTHERS)) {
            let reason = explainer.reason(&[Fact::absent(node, from, to)], events);
            let mut excluded = clause(encoding, candidate, &reason);
            excluded.push(!literal);
            encoding.solver.clause(&excluded);
        }
        Verdict::Refuted
    }
}
