//! Re-checks a witness with an evaluator that shares no code with the engines: sets of pairs, straight from the
//! cat tree, base relations straight from their definitions.
//!
//! [`judge`] answers which axioms an execution violates, [`check_execution`] whether it is one of the program at all.
//! The two together are what a certificate means; `engine::brute` enumerates candidates and asks them. Nothing here is
//! fast on purpose, except that a value is kept as long as nothing it was computed from changes (see [`interpret`]):
//! the oracle asks about thousands of candidates that differ in one edge.

mod base;
mod blocks;
mod event;
mod instructions;
mod interpret;
mod library;
mod operators;
mod prelude;
mod strand_relations;
mod valuation;
mod variants;
mod wellformed;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

use fencepost_program::EventId;
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::{Span, cat};

use crate::crash::{Role, literal};
use crate::engine::Stop;
use crate::execution::Execution;
use crate::model::FenceOrder;
use crate::watch::Watch;

pub use wellformed::{Mismatch, check_execution, final_states};

pub(crate) use base::{Candidate, Depends, fence_sc_pairs, is_acyclic, occurring};
pub(crate) use event::{has, location};
pub(crate) use instructions::Judge;
pub(crate) use interpret::Kept;
pub(crate) use valuation::Valuation;
pub(crate) use wellformed::{decided, meets_goal};

/// The files an `include` may name; see [`cat::include_names`].
pub type Includes = BTreeMap<String, cat::Model>;

/// What a model says about one execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Judgement {
    /// The violated axioms, in the order of the text; none means consistent.
    pub violated: Vec<String>,
    /// The flags that are raised, each with the pairs that raise it (empty for a flag on a set).
    pub flags: Vec<(String, Vec<(u32, u32)>)>,
    /// Whether a check looked at `sync_fence`.
    pub fences: FenceOrder,
}

/// Why the model could not be evaluated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplayError {
    pub kind: ReplayErrorKind,
    pub span: Span,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReplayErrorKind {
    Unbound(String),
    /// What was expected at the span.
    Type(&'static str),
    /// A construct of cat that this evaluator does not interpret, in words.
    Unsupported(String),
    MissingFile(String),
    /// A recursive definition whose iteration does not settle.
    NoFixpoint,
    /// Functions call each other too deeply.
    Depth,
    /// `assert` failed: an error of the model.
    Assertion(String),
    /// The execution is too large to be judged in the time or memory there is.
    Limit(Stop),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ReplayErrorKind::Unbound(name) => write!(f, "`{name}` is not defined"),
            ReplayErrorKind::Type(expected) => write!(f, "expected {expected}"),
            ReplayErrorKind::Unsupported(what) => write!(f, "{what} is not supported"),
            ReplayErrorKind::MissingFile(name) => write!(f, "no file `{name}` to include"),
            ReplayErrorKind::NoFixpoint => write!(f, "the recursive definition does not settle"),
            ReplayErrorKind::Depth => write!(f, "functions call each other too deeply"),
            ReplayErrorKind::Limit(_) => write!(f, "a limit was reached"),
            ReplayErrorKind::Assertion(name) => write!(f, "the model's assertion `{name}` fails"),
        }
    }
}

impl std::error::Error for ReplayError {}

/// Evaluates the model's checks over one execution. The execution is taken as it is; see [`check_execution`].
pub fn judge(
    model: &cat::Model,
    includes: &Includes,
    unfolding: &Unfolding,
    execution: &Execution,
) -> Result<Judgement, ReplayError> {
    Replay::new(model, includes, unfolding)?.judge(execution)
}

/// Whether the model looks at `sync_fence`, so that Fence-SC order is part of its executions.
pub fn fence_order(model: &cat::Model, includes: &Includes, unfolding: &Unfolding) -> Result<FenceOrder, ReplayError> {
    Ok(Judge::new(model, includes, &BTreeSet::new(), unfolding, Kept::Names)?.fence_order())
}

/// A model made ready to judge several executions of one unfolding: what they share is computed once.
pub struct Replay<'t>(Judge<'t>);

impl<'t> Replay<'t> {
    pub fn new(
        model: &'t cat::Model,
        includes: &'t Includes,
        unfolding: &'t Unfolding,
    ) -> Result<Replay<'t>, ReplayError> {
        Replay::with_variants(model, includes, &BTreeSet::new(), unfolding)
    }

    /// With these variants on; those the model was compiled with ([`crate::model::compile::Options::variants`]).
    pub fn with_variants(
        model: &'t cat::Model,
        includes: &'t Includes,
        variants: &BTreeSet<String>,
        unfolding: &'t Unfolding,
    ) -> Result<Replay<'t>, ReplayError> {
        Judge::new(model, includes, variants, unfolding, Kept::Names).map(Replay)
    }

    /// Gives up when the watch says so.
    pub fn watched(mut self, watch: Watch<'t>) -> Replay<'t> {
        self.0.watch(watch);
        self
    }

    /// What a crash looks at in an execution; None if the model does not show all of it.
    pub fn crash(&self, execution: &Execution) -> Result<Option<literal::Pairs>, ReplayError> {
        self.0.check_size(execution.events.len() as u64)?;
        self.0.set_execution(execution);
        let shown = |role: Role| {
            let pairs = self.0.shown(role.name())?;
            let events = |pairs: Rc<operators::Pairs>| pairs.iter().map(|(a, b)| (EventId(a), EventId(b))).collect();
            Ok(pairs.map(events))
        };
        let [prefix, persists, durable] = [shown(Role::Prefix)?, shown(Role::Persists)?, shown(Role::Durable)?];
        let (Some(prefix), Some(persists), Some(durable)) = (prefix, persists, durable) else { return Ok(None) };
        let co = execution.co.iter().copied().collect();
        Ok(Some(literal::Pairs { prefix, persists, durable, co }))
    }

    /// As [`judge`].
    pub fn judge(&self, execution: &Execution) -> Result<Judgement, ReplayError> {
        self.0.check_size(execution.events.len() as u64)?;
        self.0.set_execution(execution);
        self.0.judgement()
    }
}
