//! Waits on mbarriers (PTX ISA 9.7.15.16): the run in which the answer is yes, and the one in which it is no. They are two
//! events, because only a wait that returned true acquires.
//!
//! `try_wait` may also answer no because its time is up. In a loop that asks until the answer is yes, and does nothing else,
//! that makes no difference: an execution without the failed question is one too. There a no means that the phase is not
//! over, so that a run that stays in the loop for good says what it should: the phase never completes. Elsewhere a no may come
//! of the time too, but not again and again: of a run that stays in a loop for good each no is one of the object.

use crate::ids::{AddressId, EventId};
use crate::program::def_use::target;
use crate::program::{Instruction, MbarrierWait, Operation, Patience};
use crate::tag::Tag;
use crate::unfold::UnfoldError;
use crate::unfold::loops::poll::no_asks_again;
use crate::unfold::memory::access::Half;
use crate::unfold::run::dependency::{Deps, Reads};
use crate::unfold::run::fold;
use crate::unfold::run::mbarrier_makers::Makers;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::{Slot, State};
use crate::value::Type;
use crate::value::expression::{BinaryOperator, Expression};

#[derive(Copy, Clone, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
}

impl Runner<'_> {
    pub(crate) fn wait(&mut self, state: Box<State>, wait: &MbarrierWait, guard: Reads) -> Result<(), UnfoldError> {
        let (alternatives, address) = self.targets(state, &wait.address)?;
        for (state, target) in alternatives {
            let deps = || Deps { address: address.clone(), data: Reads::new(), guard: guard.clone() };
            self.answered(state.clone(), wait, target, deps(), Answer::Yes)?;
            self.answered(state, wait, target, deps(), Answer::No)?;
        }
        Ok(())
    }

    fn answered(
        &mut self,
        mut state: Box<State>,
        wait: &MbarrierWait,
        target: AddressId,
        deps: Deps,
        answer: Answer,
    ) -> Result<(), UnfoldError> {
        let (question, operand) = wait.question;
        let operand = self.operand(&state, operand);
        let mut reads = operand.reads;
        reads.extend(&deps.guard);
        let tags = if answer == Answer::Yes { wait.answered_yes } else { wait.answered_no };
        let half = Half { ty: Type::UNTYPED, tags, scope: wait.scope };
        let (event, value) = self.read_event(&mut state, target, half, deps)?;
        reads.insert(event);
        let asked = fold::binary(BinaryOperator::Mbarrier(question), Type::UNTYPED, value, operand.value);
        match answer {
            // Not a fork that a loop around it could hang on: the other run never comes back to the head of that loop, or
            // asks again. See `State::forks`.
            Answer::Yes => state.constraints.push(fold::is_true(asked)),
            Answer::No if wait.patience == Patience::TimeLimit && !self.is_polled(state.at, wait) => {
                state.forks += 1;
                state.timed.push((event, fold::is_false(asked)));
            }
            Answer::No => self.constrain(&mut state, fold::is_false(asked)),
        }
        if let Some(destination) = wait.destination {
            let value = Expression::constant(i128::from(answer == Answer::Yes));
            self.set(&mut state, destination, Slot { value, reads })?;
        }
        self.proceed(state);
        Ok(())
    }

    /// Whether a loop without effects is around this instruction, which asks until the answer is yes.
    fn is_polled(&self, at: usize, wait: &MbarrierWait) -> bool {
        let has_effect = |instruction: &Instruction| {
            !matches!(
                instruction.operation,
                Operation::Load { .. }
                    | Operation::MbarrierWait(_)
                    | Operation::Fence { .. }
                    | Operation::Local { .. }
                    | Operation::Branch { .. }
                    | Operation::BranchIf { .. }
                    | Operation::Exit
                    | Operation::Nothing
            )
        };
        // Each jump back is a loop of its own: an inner one may share its head with one around it.
        let code = &self.thread.code;
        let jumps = code.iter().enumerate().skip(at).filter_map(|(last, jump)| Some((target(&jump.operation)?, last)));
        jumps.into_iter().any(|(head, last)| {
            head <= at
                && !code[head..=last].iter().any(has_effect)
                && no_asks_again(code, &(head..=last), at, wait.destination)
        })
    }

    /// Whether races need no failing iteration of this loop: all it accesses are mbarriers it waits on. Operations on an
    /// mbarrier are strong, but for `init` and `inval`: a wait that comes too early or too late conflicts with those of
    /// another thread. If they only initialise (each object once), the first access of this thread to the object is the
    /// one to look at: an initialisation that is ordered before it is ordered before the later ones too. (If it is not, that
    /// race is found; with which of the later waits it races too, and where the object is then found broken, is not asked.)
    pub(crate) fn only_waits(&self, path: &[EventId], since: usize) -> bool {
        let event = |id: &EventId| &self.unfolding.events[id.index()];
        let (before, iteration) = path.split_at(since);
        let mut accesses = iteration.iter().map(event).filter(|event| event.location().is_some());
        accesses.all(|access| {
            let is_first = || !before.iter().map(event).any(|other| other.location() == access.location());
            access.has(Tag::Mbarrier)
                && access.is_read()
                && match self.makers {
                    Makers::None => true,
                    Makers::Initialise => !is_first(),
                    Makers::Any => false,
                }
        })
    }
}
