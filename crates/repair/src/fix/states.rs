//! What a program computes: the final states that interleavings reach without a race. A change after which one of them is out of
//! reach is no repair but another program. Asynchronous operations have no interleavings: of those programs the executions of
//! their own model count that neither race nor do what must not be.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fencepost_axiom::engine::{Ends, Exploration, Goal};
use fencepost_axiom::execution::Execution;
use fencepost_check::judge::found::Aspect;
use fencepost_check::judge::question::looked_for;
use fencepost_check::judge::refusal::refusal;
use fencepost_check::look::outcome::{self, Reader};
use fencepost_check::look::race::{RaceKey, RaceSet};
use fencepost_check::model::load::{LoadedModel, Models};
use fencepost_check::options::Options;
use fencepost_check::session::Session;
use fencepost_check::test::Test;
use fencepost_program::program::{Condition, LocationRole, Program, Term};
use fencepost_program::value::Value;
use fencepost_program::{LocationId, RegisterId, ThreadId};

use super::want::Want;

/// Work for the interleavings of one program, in the engine's units.
const WORK: u64 = 400_000;

type States = BTreeSet<Vec<Value>>;

/// The states of a test that its repairs must reach too.
pub(crate) struct Kept {
    /// None for the model of the test itself.
    interleaving: Option<LoadedModel>,
    /// By thread and name, or by name alone.
    observed: Vec<(Option<ThreadId>, String)>,
    states: States,
}

impl Kept {
    /// None where there are too many to be known, or interleavings have no meaning for the test.
    pub(crate) fn new(test: &Test, model: &LoadedModel, options: &Options, wants: &[Want]) -> Option<Kept> {
        let interleaving = Models::shipped("sc").filter(|sc| refusal(test, sc).is_none());
        let bad = wants.iter().filter(|want| !want.possible).filter_map(|want| match want.aspect {
            Aspect::Question(at) => test.program.questions.get(at),
            _ => None,
        });
        let bad: Vec<Condition> = match &interleaving {
            Some(_) => Vec::new(),
            None => bad.map(|question| looked_for(&test.program, question).into_owned()).collect(),
        };
        let program = &test.program;
        let is_data = |at: &usize| program.locations[*at].role == LocationRole::Data;
        let memory = (0..program.locations.len()).filter(is_data).map(|at| Term::Memory(LocationId::new(at)));
        let mut terms = outcome::terms(program);
        terms.retain(|term| matches!(term, Term::Register(..)));
        terms.extend(memory);
        let name = |term: &Term| match term {
            Term::Register(thread, register) => {
                let register = program.threads.get(thread.index())?.registers.get(register.index())?;
                Some((Some(*thread), register.name.to_string()))
            }
            Term::Memory(location) => Some((None, program.locations.get(location.index())?.name.to_string())),
            Term::Constant(_) => None,
        };
        let observed = terms.iter().filter_map(name).collect();
        let under = interleaving.as_ref().unwrap_or(model);
        let states = states(program, (under, Some((model, &bad))), &terms, options)?;
        Some(Kept { interleaving, observed, states })
    }

    /// Whether a changed program reaches them; None where that is too much to say.
    pub(super) fn are_in(&self, program: &Program, model: &LoadedModel, options: &Options) -> Option<bool> {
        if self.states.is_empty() {
            return Some(true);
        }
        let Some(terms) = self.terms(program) else { return Some(false) };
        Some(self.states.is_subset(&self.reached(program, model, &terms, options)?))
    }

    /// Whether it reaches them and no others.
    pub(crate) fn are_all_of(&self, program: &Program, model: &LoadedModel, options: &Options) -> Option<bool> {
        let Some(terms) = self.terms(program) else { return Some(false) };
        Some(self.states == self.reached(program, model, &terms, options)?)
    }

    fn reached(&self, program: &Program, model: &LoadedModel, terms: &[Term], options: &Options) -> Option<States> {
        states(program, (self.interleaving.as_ref().unwrap_or(model), None), terms, options)
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

/// The final states under a model; without those that race under another or do what must not be, if that is given.
fn states(
    program: &Program,
    (interleaving, unwanted): (&LoadedModel, Option<(&LoadedModel, &[Condition])>),
    terms: &[Term],
    options: &Options,
) -> Option<States> {
    let session = Session::new(program, interleaving, options);
    let unfolding = session.unfolding().ok()?;
    let mut flags = unwanted.map(|(model, _)| model.flags().evaluator());
    let bad = unwanted.map_or(&[] as &[Condition], |(_, bad)| bad);
    let visit = |states: &mut States, execution: &Execution| {
        let mut races = RaceSet::default();
        if let Some(flags) = &mut flags {
            flags.add(unfolding, execution, &mut races);
        }
        let is_bad = || bad.iter().any(|condition| outcome::satisfies(unfolding, execution, condition));
        if !races.races.keys().any(RaceKey::is_pair) && !is_bad() {
            states.extend(Reader::new(unfolding, execution).states(terms));
        }
        ControlFlow::Continue(())
    };
    let searcher = session.searcher().ok()?;
    let found = searcher.run_bounded(&Goal::new(Ends::Terminating), WORK, States::new, visit);
    (found.exploration == Exploration::Complete).then_some(found.results)
}
