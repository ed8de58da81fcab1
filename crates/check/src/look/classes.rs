//! Outcomes that are alike, counted together ([`fencepost_axiom::engine::exchange`]).

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use fencepost_axiom::engine::exchange::Exchange;
use fencepost_axiom::engine::{Exploration, Goal};
use fencepost_axiom::execution::Execution;
use fencepost_program::ThreadId;
use fencepost_program::program::{Condition, Term};
use fencepost_program::unfolding::Unfolding;
use fencepost_program::value::Value;

use crate::look::histogram::Histogram;
use crate::look::outcome::{Reader, Scratch, State, holds};
use crate::look::search::Searcher;
use crate::options::CLASS_WORK;

/// All outcomes, class by class.
#[derive(Clone, Debug)]
pub struct Classes {
    /// The threads that can be exchanged, kind by kind.
    pub threads: Vec<Vec<ThreadId>>,
    /// By a state that stands for it, ascending.
    pub classes: Vec<(State, Class)>,
    pub all_executions: u64,
    pub all_outcomes: u64,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Class {
    /// How many there are.
    pub outcomes: u64,
    /// How many executions end in each.
    pub executions: u64,
}

impl Classes {
    /// The state that stands for each class, and how many executions end in one of it.
    pub fn executions(&self) -> impl Iterator<Item = (&[Value], u64)> {
        self.classes.iter().map(|(state, class)| (state.as_slice(), class.outcomes.saturating_mul(class.executions)))
    }
}

impl Classes {
    /// Every outcome by itself: what listing them would have found.
    pub fn listed(&self, exchange: &Exchange, terms: &[Term]) -> Option<Histogram> {
        let mut outcomes = Histogram::default();
        for (state, class) in &self.classes {
            let alike = exchange.all_like(terms, state)?;
            if alike.len() as u64 != class.outcomes {
                return None;
            }
            for state in &alike {
                outcomes.add(state, class.executions);
            }
        }
        Some(outcomes)
    }
}

/// Reads final states.
pub struct Reading<'a> {
    pub unfolding: &'a Unfolding,
    pub terms: &'a [Term],
    pub filter: Option<&'a Condition>,
}

impl Reading<'_> {
    /// None where not every execution was seen, or a number is too large.
    pub fn classes(&self, searcher: &Searcher<'_>, goal: &Goal<'_>, exchange: &Exchange) -> Option<Classes> {
        let mut met = Met::default();
        let exploration = searcher.run_classes(goal, exchange, CLASS_WORK, |execution| {
            match self.add(&mut met, execution, exchange) {
                Some(()) => ControlFlow::Continue(()),
                None => ControlFlow::Break(()),
            }
        });
        if exploration != Exploration::Complete {
            return None;
        }
        let mut classes = Vec::new();
        let mut all_outcomes = 0u64;
        for (state, (outcomes, executions)) in met.classes {
            // Alike states are the ends of equally many executions.
            if executions % outcomes != 0 {
                return None;
            }
            all_outcomes = all_outcomes.checked_add(outcomes)?;
            classes.push((state, Class { outcomes, executions: executions / outcomes }));
        }
        Some(Classes { threads: exchange.kinds().to_vec(), classes, all_executions: met.executions, all_outcomes })
    }

    fn add(&self, met: &mut Met, execution: &Execution, exchange: &Exchange) -> Option<()> {
        let mut found = Some(false);
        let Met { classes, scratch, .. } = met;
        Reader::new(self.unfolding, execution).each_state(self.terms, scratch, |state| {
            if found.is_none() || self.filter.is_some_and(|filter| !holds(filter, self.terms, state)) {
                return;
            }
            found = exchange.class_of(self.terms, state).and_then(|class| {
                let (_, executions) = classes.entry(class.state).or_insert((class.size, 0));
                *executions = executions.checked_add(execution.weight)?;
                Some(true)
            });
        });
        met.executions = met.executions.checked_add(execution.weight)?;
        // One without a final state is a defect.
        found.filter(|found| *found).map(|_| ())
    }
}

#[derive(Default)]
struct Met {
    /// By state: how many are alike, and how many executions end in one of them.
    classes: BTreeMap<State, (u64, u64)>,
    executions: u64,
    scratch: Scratch,
}
