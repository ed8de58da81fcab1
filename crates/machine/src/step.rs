//! Stepping by hand: what is enabled, take one, take it back. No input or output: a front end asks and prints.

use crate::machine::{Ending, Machine};

/// A run in progress.
pub struct Stepper<'m, M: Machine> {
    machine: &'m M,
    state: M::State,
    enabled: Vec<M::Step>,
    past: Vec<(M::State, M::Step)>,
}

/// The number a transition has in the list of those enabled, from 0.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Choice(pub u32);

/// Why nothing was done.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There are only this many transitions.
    NoSuchTransition { enabled: u32 },
    /// Nothing was taken yet.
    AtTheStart,
}

/// What a front end needs of a run, whatever the machine.
pub trait Stepping {
    /// The enabled transitions in words, in the order of their numbers.
    fn enabled(&self) -> Vec<String>;

    /// Takes one, and says in words which.
    fn take(&mut self, choice: Choice) -> Result<String, Refused>;

    /// Takes the last one back, and says in words which.
    fn undo(&mut self) -> Result<String, Refused>;

    /// The transitions taken so far, in words.
    fn history(&self) -> Vec<String>;

    /// The state in words.
    fn show(&self) -> Vec<String>;

    fn ending(&self) -> Ending;
}

impl<'m, M: Machine> Stepper<'m, M> {
    pub fn new(machine: &'m M) -> Stepper<'m, M> {
        let mut stepper = Stepper { machine, state: machine.initial(), enabled: Vec::new(), past: Vec::new() };
        stepper.look();
        stepper
    }

    pub fn state(&self) -> &M::State {
        &self.state
    }

    fn look(&mut self) {
        self.enabled.clear();
        self.machine.steps(&self.state, &mut self.enabled);
    }
}

impl<M: Machine> Stepping for Stepper<'_, M> {
    fn enabled(&self) -> Vec<String> {
        self.enabled.iter().map(|step| self.machine.describe(&self.state, *step)).collect()
    }

    fn take(&mut self, choice: Choice) -> Result<String, Refused> {
        let Some(&step) = self.enabled.get(choice.0 as usize) else {
            return Err(Refused::NoSuchTransition { enabled: self.enabled.len() as u32 });
        };
        let words = self.machine.describe(&self.state, step);
        self.past.push((self.state.clone(), step));
        self.machine.take(&mut self.state, step);
        self.look();
        Ok(words)
    }

    fn undo(&mut self) -> Result<String, Refused> {
        let (state, step) = self.past.pop().ok_or(Refused::AtTheStart)?;
        self.state = state;
        self.look();
        Ok(self.machine.describe(&self.state, step))
    }

    fn history(&self) -> Vec<String> {
        self.past.iter().map(|(state, step)| self.machine.describe(state, *step)).collect()
    }

    fn show(&self) -> Vec<String> {
        self.machine.show(&self.state)
    }

    fn ending(&self) -> Ending {
        self.machine.ending(&self.state, &self.enabled)
    }
}
