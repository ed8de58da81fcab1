//! What a program computes: the final states that interleavings reach without a race. A change after which one of them is out of
//! reach is no repair but another program.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fencepost_axiom::engine::{Ends, Exploration, Goal};
use fencepost_axiom::execution::Execution;
use fencepost_check::look::outcome::{self, Reader};
use fencepost_check::look::race::{RaceKey, RaceSet};
use fencepost_check::model::load::{LoadedModel, Models};
use fencepost_check::options::Options;
use fencepost_check::session::Session;
use fencepost_check::test::Test;
use fencepost_program::program::{LocationRole, Program, Term};
use fencepost_program::value::Value;
use fencepost_program::{LocationId, RegisterId, ThreadId};

/// Work for the interleavings of one program, in the engine's units.
const WORK: u64 = 200_000;

type States = BTreeSet<Vec<Value>>;

/// The states of a test that its repairs must reach too.
pub(crate) struct Kept {
    interleaving: LoadedModel,
    /// By thread and name, or by name alone.
    observed: Vec<(Option<ThreadId>, String)>,
    states: States,
}

impl Kept {
    /// None where there are too many to be known, or interleavings have no meaning for the test.
    pub(crate) fn new(test: &Test, model: &LoadedModel, options: &Options) -> Option<Kept> {
        let interleaving = Models::shipped("sc")?;
        let program = &test.program;
        let is_data = |at: &usize| program.locations[*at].role == LocationRole::Data;
        let memory = (0..program.locations.len()).filter(is_data).map(|at| Term::Memory(LocationId::new(at)));
        let mut terms = outcome::terms(program);
        terms.retain(|term| matches!(term, Term::Register(..)));
        terms.extend(memory);
        let name = |term: &Term| match term {
            Term::Register(thread, register) => {
                let register = program.threads.get(thread.index())?.registers.get(register.index())?;
                Some((Some(*thread), register.name.clone()))
            }
            Term::Memory(location) => Some((None, program.locations.get(location.index())?.name.clone())),
            Term::Constant(_) => None,
        };
        let observed = terms.iter().filter_map(name).collect();
        let states = states(program, (&interleaving, Some(model)), &terms, options)?;
        Some(Kept { interleaving, observed, states })
    }

    /// Whether a changed program reaches them; None where that is too much to say.
    pub(super) fn are_in(&self, program: &Program, options: &Options) -> Option<bool> {
        let Some(terms) = self.terms(program) else { return Some(false) };
        let reached = states(program, (&self.interleaving, None), &terms, options)?;
        Some(self.states.is_subset(&reached))
    }

    /// Whether it reaches them and no others.
    pub(crate) fn are_all_of(&self, program: &Program, options: &Options) -> Option<bool> {
        let Some(terms) = self.terms(program) else { return Some(false) };
        let reached = states(program, (&self.interleaving, None), &terms, options)?;
        Some(self.states == reached)
    }

    /// What is observed, in a changed program; None where it is not there any more.
    fn terms(&self, program: &Program) -> Option<Vec<Term>> {
        let term = |(thread, name): &(Option<ThreadId>, String)| match thread {
            Some(thread) => {
                let registers = &program.threads.get(thread.index())?.registers;
                let at = registers.iter().position(|register| register.name == *name)?;
                Some(Term::Register(*thread, RegisterId::new(at)))
            }
            None => {
                let at = program.locations.iter().position(|location| location.name == *name)?;
                Some(Term::Memory(LocationId::new(at)))
            }
        };
        self.observed.iter().map(term).collect()
    }
}

/// The final states of interleavings; without those that race under a model, if one is given.
fn states(
    program: &Program,
    (interleaving, racing): (&LoadedModel, Option<&LoadedModel>),
    terms: &[Term],
    options: &Options,
) -> Option<States> {
    let session = Session::new(program, interleaving, options);
    let unfolding = session.unfolding().ok()?;
    let mut flags = racing.map(|model| model.flags().evaluator());
    let visit = |states: &mut States, execution: &Execution| {
        let mut races = RaceSet::default();
        if let Some(flags) = &mut flags {
            flags.add(unfolding, execution, &mut races);
        }
        if !races.races.keys().any(RaceKey::is_pair) {
            states.extend(Reader::new(unfolding, execution).states(terms));
        }
        ControlFlow::Continue(())
    };
    let searcher = session.searcher().ok()?;
    let found = searcher.run_bounded(&Goal::new(Ends::Terminating), WORK, States::new, visit);
    (found.exploration == Exploration::Complete).then_some(found.results)
}
