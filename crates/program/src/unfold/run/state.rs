//! A thread in the middle of a symbolic run.

use fencepost_syntax::few::Few;
use fencepost_syntax::sorted::SortedMap;

use crate::ids::{AddressId, EventId, LocationId};
use crate::program::{Initial, Program, Thread};
use crate::reduce::private_memory::Own;
use crate::unfold::control::dependency::{Control, Joins};
use crate::unfold::omission::way::{Omitted, Parted};
use crate::unfold::run::dependency::Reads;
use crate::unfold::run::fold;
use crate::unfold::strand::group::Outstanding;
use crate::value::Value;
use crate::value::expression::Expression;

#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) value: Expression,
    /// Syntactic dependencies, whatever the value folds to.
    pub(crate) reads: Reads,
}

/// A state goes from step to step by its box: it is some hundred bytes long.
pub(crate) type Boxed = Box<State>;
/// What a run becomes where an address has several values.
pub(crate) type Forks = Vec<(Boxed, AddressId)>;

/// Handed on in a box: it is large, and goes through several hands at each instruction.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) at: usize,
    pub(crate) registers: Vec<Slot>,
    /// Reads that decided a branch so far.
    pub(crate) control: Control,
    pub(crate) path: Vec<EventId>,
    pub(crate) constraints: Vec<Expression>,
    pub(crate) assumptions: Vec<Expression>,
    /// Reads whose value the constraints fix.
    pub(crate) known: SortedMap<EventId, Value>,
    /// Reads of words that receive the address of tensor memory, which returned none.
    pub(crate) stale: Reads,
    /// How often each instruction ran.
    pub(crate) runs: Few<u32, 16>,
    pub(crate) visits: SortedMap<usize, Visit>,
    /// Writes (other than those of failing compare-and-swaps) and barriers so far.
    pub(crate) effects: u32,
    /// Those of them that a joint round may have, and where those of its loop began (see `reduce::joint_rounds`).
    pub(crate) excused: u32,
    pub(crate) begun: Vec<Begun>,
    /// Decisions that forked, and conditional ones that folded.
    pub(crate) forks: u32,
    pub(crate) folded: u32,
    /// Set at a read-modify-write that writes what it read and whose write was left out, to its place on the path: the run
    /// counts only if it ends spinning in a loop that contains it.
    pub(crate) silent: Option<usize>,
    /// Where the path was when a weak compare-and-exchange last failed though the values were equal: no run fails so for
    /// good.
    pub(crate) spurious: Option<usize>,
    /// Waits on mbarriers whose time was up, perhaps, and the answer that the object gives for good where a run asks it again
    /// and again: that the phase is not over.
    pub(crate) timed: Vec<(EventId, Expression)>,
    /// How often a read-modify-write was followed by whether it writes what it read (see `reduce::silent_updates`).
    pub(crate) rewrites: u32,
    /// Asynchronous operations and what is known of their end.
    pub(crate) outstanding: Outstanding,
    /// The failing iteration of a spin loop that the run has (see `loops::spin`).
    pub(crate) kept_failing: Option<Vec<EventId>>,
    /// Where on the path it began.
    pub(crate) kept_from: Option<usize>,
    /// Memory that the thread has for itself (see `reduce::private_access`).
    pub(crate) own: Own,
    /// Writes left out so far.
    pub(crate) omitted: Vec<Omitted>,
    /// Branches whose ways need not meet.
    pub(crate) parted: Vec<Parted>,
}

/// The latest arrival at a loop head.
#[derive(Clone)]
pub(crate) struct Visit {
    pub(crate) live: Vec<Expression>,
    pub(crate) own: Vec<(LocationId, Expression)>,
    pub(crate) path: usize,
    pub(crate) effects: u32,
    pub(crate) excused: u32,
    pub(crate) forks: u32,
    pub(crate) folded: u32,
    /// Iterations begun that count towards the bound, and those of a counted loop.
    pub(crate) begun: u32,
    pub(crate) counted: u32,
}

/// A begun iteration of such a loop.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Begun {
    /// How many events the run had then.
    pub(crate) path: usize,
    /// It follows a failing one that was kept.
    pub(crate) again: bool,
}

/// What a condition comes to on this run.
pub(crate) enum Decision {
    Always,
    Never,
    /// Constraints for "yes" and "no".
    Open(Expression, Expression),
}

impl State {
    pub(crate) fn new(program: &Program, thread: &Thread) -> State {
        let initial = |initial: Initial| match initial {
            Initial::Value(value) => value,
            Initial::Address(address) => program.addresses[address.index()].value,
        };
        let registers = (thread.registers.iter())
            .map(|register| Slot {
                value: Expression::Constant(register.ty.wrap(initial(register.initial))),
                reads: Reads::new(),
            })
            .collect();
        State {
            at: 0,
            registers,
            control: Control::default(),
            path: Vec::with_capacity(thread.code.len()),
            constraints: Vec::new(),
            assumptions: Vec::new(),
            known: SortedMap::new(),
            stale: Reads::new(),
            runs: Few::filled(0, thread.code.len()),
            visits: SortedMap::new(),
            effects: 0,
            excused: 0,
            begun: Vec::new(),
            forks: 0,
            folded: 0,
            silent: None,
            spurious: None,
            timed: Vec::new(),
            rewrites: 0,
            outstanding: Outstanding::default(),
            kept_failing: None,
            kept_from: None,
            own: Own::default(),
            omitted: Vec::new(),
            parted: Vec::new(),
        }
    }

    pub(crate) fn decide(&self, condition: &Expression) -> Decision {
        let condition = fold::substitute(condition, &self.known);
        if let Expression::Constant(value) = condition {
            return if value == Value(0) { Decision::Never } else { Decision::Always };
        }
        let yes = fold::is_true(condition.clone());
        let no = fold::is_false(condition);
        if self.constraints.contains(&yes) {
            Decision::Always
        } else if self.constraints.contains(&no) {
            Decision::Never
        } else {
            Decision::Open(yes, no)
        }
    }

    /// Begins a round of a loop. It starts the loops inside it afresh.
    pub(crate) fn enter(&mut self, head: usize, last_jump: usize, visit: Visit) {
        self.visits.retain(|&other, _| other <= head || other > last_jump);
        self.visits.insert(head, visit);
    }

    /// Ends the branches whose ways meet at this place of the code.
    pub(crate) fn meet(&mut self, at: usize, joins: &Joins) {
        for (join, reads) in self.control.meet(at, joins) {
            for register in &join.registers {
                self.registers[register.index()].reads.extend(&reads);
            }
        }
    }

    /// Adds a constraint.
    pub(crate) fn constrain(&mut self, constraint: Expression) {
        self.forks += 1;
        self.constraints.push(constraint);
    }
}
