//! A thin layer over batsat: a constant literal, cardinality and gate clauses, and a solve that can be interrupted.

use std::cell::Cell;
use std::rc::Rc;

use batsat::{Callbacks, SolverInterface, lbool};
use fencepost_syntax::limits;

pub(super) use batsat::Lit;

use crate::watch::Watch;

/// Work that is left, if it is limited, of all that shares it. It is counted in decisions of the solver and in
/// evaluations of the model, never in time, so that the same search ends at the same place.
#[derive(Clone, Debug)]
pub(super) struct Work(Rc<Cell<Option<u64>>>);

impl Work {
    pub(super) fn new(work: Option<u64>) -> Work {
        Work(Rc::new(Cell::new(work)))
    }

    pub(super) fn spend(&self, work: u64) {
        limits::count(work);
        self.0.set(self.0.get().map(|left| left.saturating_sub(work)));
    }

    pub(super) fn is_done(&self) -> bool {
        self.0.get() == Some(0)
    }
}

/// What ends a long solve from outside.
struct Outside<'a> {
    watch: Watch<'a>,
    work: Work,
}

impl Callbacks for Outside<'_> {
    /// Asked before every decision.
    fn stop(&self) -> bool {
        self.work.spend(1);
        self.work.is_done() || self.watch.is_over()
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    Satisfiable,
    Unsatisfiable,
    Interrupted,
}

pub(super) struct Solver<'a> {
    core: batsat::Solver<Outside<'a>>,
    yes: Lit,
    watch: Watch<'a>,
    /// The clause that is being added: the solver takes its literals out of a list and leaves the list.
    adding: Vec<Lit>,
}

/// Up to this many literals, "at most one" is written pair by pair.
const PAIRWISE: usize = 6;

impl<'a> Solver<'a> {
    pub(super) fn new(watch: &Watch<'a>, work: &Work) -> Solver<'a> {
        let outside = Outside { watch: watch.clone(), work: work.clone() };
        let mut core = batsat::Solver::new(batsat::SolverOpts::default(), outside);
        let yes = Lit::new(core.new_var_default(), true);
        let mut adding = Vec::with_capacity(16);
        adding.push(yes);
        core.add_clause_reuse(&mut adding);
        Solver { core, yes, watch: watch.clone(), adding }
    }

    /// Whether to leave a problem half written: it is time to, or it grows too large beside so many bytes.
    pub(super) fn gives_up(&self, beside: u64) -> bool {
        self.watch.is_over() || self.watch.is_too_much(self.bytes() + beside)
    }

    pub(super) fn yes(&self) -> Lit {
        self.yes
    }

    pub(super) fn no(&self) -> Lit {
        !self.yes
    }

    /// A new variable; the solver tries false first, later the value it had last.
    pub(super) fn fresh(&mut self) -> Lit {
        Lit::new(self.core.new_var_default(), true)
    }

    pub(super) fn clause(&mut self, literals: &[Lit]) {
        if literals.contains(&self.yes) {
            return;
        }
        let no = self.no();
        self.adding.clear();
        self.adding.extend(literals.iter().copied().filter(|literal| *literal != no));
        self.core.add_clause_reuse(&mut self.adding);
    }

    /// The same of literals that are not in a list.
    pub(super) fn clause_of(&mut self, literals: impl Iterator<Item = Lit>) {
        self.adding.clear();
        let (yes, no) = (self.yes, self.no());
        for literal in literals {
            if literal == yes {
                return;
            }
            if literal != no {
                self.adding.push(literal);
            }
        }
        self.core.add_clause_reuse(&mut self.adding);
    }

    pub(super) fn implies(&mut self, premise: Lit, conclusion: Lit) {
        self.clause(&[!premise, conclusion]);
    }

    pub(super) fn at_most_one(&mut self, literals: &[Lit]) {
        if literals.len() <= PAIRWISE {
            for (index, first) in literals.iter().enumerate() {
                for second in &literals[index + 1..] {
                    self.clause(&[!*first, !*second]);
                }
            }
            return;
        }
        // A ladder of groups: at most one in each, and at most one group is used.
        let mut used = Vec::new();
        for group in literals.chunks(PAIRWISE - 1) {
            let any = self.fresh();
            group.iter().for_each(|literal| self.implies(*literal, any));
            self.at_most_one(group);
            used.push(any);
        }
        self.at_most_one(&used);
    }

    /// A literal that is true iff one of these is.
    pub(super) fn any(&mut self, literals: &[Lit]) -> Lit {
        self.any_of(literals.iter().copied())
    }

    /// A literal that is true iff all of these are.
    pub(super) fn all(&mut self, literals: &[Lit]) -> Lit {
        !self.any_of(literals.iter().map(|literal| !*literal))
    }

    fn any_of(&mut self, literals: impl Iterator<Item = Lit> + Clone) -> Lit {
        let (yes, no) = (self.yes, self.no());
        if literals.clone().any(|literal| literal == yes) {
            return yes;
        }
        let mut possible = literals.clone().filter(|literal| *literal != no);
        match (possible.next(), possible.next()) {
            (None, _) => no,
            (Some(only), None) => only,
            _ => {
                let any = self.fresh();
                literals.clone().for_each(|literal| self.implies(literal, any));
                self.clause_of(literals.chain([!any]));
                any
            }
        }
    }

    pub(super) fn solve(&mut self) -> Answer {
        let answer = self.core.solve_limited(&[]);
        if answer == lbool::TRUE {
            Answer::Satisfiable
        } else if answer == lbool::FALSE {
            Answer::Unsatisfiable
        } else {
            Answer::Interrupted
        }
    }

    /// The literal's value in the last model.
    pub(super) fn is_true(&self, literal: Lit) -> bool {
        self.core.value_lit(literal) == lbool::TRUE
    }

    /// Whether the clauses have no other model than the last: every literal follows from them without a decision.
    pub(super) fn is_determined(&self) -> bool {
        self.core.proved_at_lvl_0().len() == self.core.num_vars() as usize
    }

    pub(super) fn clauses(&self) -> u64 {
        self.core.num_clauses()
    }

    /// Rough size in bytes, for the memory limit.
    pub(super) fn bytes(&self) -> u64 {
        self.core.num_clauses() * 64 + u64::from(self.core.num_vars()) * 200
    }
}
