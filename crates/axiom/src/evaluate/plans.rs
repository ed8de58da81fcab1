//! The plans of one model, each made once: a plan depends on the model and on the nodes that are asked for, not on the
//! program, and a check of one test evaluates the same model in several searches (the diagnosis of a race in dozens).

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::plan::Plan;
use super::polarity::Analysis;
use super::reduced::Reductions;
use super::unions;
use crate::model::{Model, NodeId};

/// A cache, no part of the model: a copy of the model, which may be changed, begins with none.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    /// By what is asked for besides the axioms.
    made: Mutex<Vec<(Vec<NodeId>, Planned)>>,
    /// Of the nodes alone.
    analysis: Arc<OnceLock<Arc<Analysis>>>,
}

/// A plan, and what was selected of it for candidates so far.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) plan: Arc<Plan>,
    pub(super) reductions: Arc<Reductions>,
}

impl Clone for Plans {
    fn clone(&self) -> Plans {
        Plans::default()
    }
}

/// More than there are flags in a model; beyond, plans are not kept.
const MOST: usize = 64;

impl Plans {
    /// For a model with the same nodes and other checks.
    pub(crate) fn of_same_nodes(&self) -> Plans {
        Plans { analysis: Arc::clone(&self.analysis), ..Plans::default() }
    }

    /// The plan of the model that these belong to.
    pub(super) fn get(&self, model: &Model, roots: &[NodeId]) -> Planned {
        let mut plans = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, planned)) = plans.iter().find(|(of, _)| of == roots) {
            return planned.clone();
        }
        let analysis = self.analysis.get_or_init(|| Arc::new(Analysis::new(model)));
        let mut plan = Plan::new(model, roots, Arc::clone(analysis));
        unions::join(&mut plan, model);
        let planned = Planned { plan: Arc::new(plan), reductions: Arc::default() };
        if plans.len() < MOST {
            plans.push((roots.to_vec(), planned.clone()));
        }
        planned
    }
}
