//! Read-modify-writes that write what they read, in loops: `atom.exch` on a lock that is taken, `atom.add 0` to poll.
//!
//! An iteration that makes no other change is a spin (see `loops::spin`): leaving it out ends in the same state. Who read from
//! its write reads the same value from the write that it read. That must take order away and add none, and the final
//! value must stay; both hold where each access to the location is in the scope of all others, so that the models'
//! atomicity keeps every other write from coming between the two halves, and whoever synchronises through the chain of
//! read-modify-writes does so without this link too. A weak read of the location synchronises with nobody. Anything else
//! (a weak write, a scope that leaves a thread out, another proxy, another size) and the loop is unrolled as others are
//! ([`is_sound`]). On x86 there are no scopes, and `xchg` on a lock that is taken is such an iteration always. Where a model lets writes come between the halves it is not for this ([`Rewriting`]).
//!
//! Whether a value is written back is found by following both cases apart, a few times per run: the run that changes the
//! value goes on as ever. As for a failing compare-and-swap that writes back, one more run leaves the write out, and stands
//! for the thread that spins for good.

use fencepost_syntax::litmus::Arch;
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::SortedMap;

use crate::ids::{AddressId, ThreadId};
use crate::program::{Instruction, Operand, Operation, Program, Update};
use crate::tag::Tag;
use crate::unfold::options::Rewriting;
use crate::unfold::run::fold;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::{Decision, State};
use crate::unfolding::access::includes;
use crate::unfolding::{Event, EventKind, Unfolding};
use crate::value::expression::{BinaryOperator, Expression};
use crate::value::{Type, Value};

/// A run is split so often; counted loops would otherwise have runs without number.
const MOST_REWRITES: u32 = 4;

/// What a read-modify-write does to the value.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    Same(Write),
    Another,
}

/// What becomes of a write that changes nothing.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Write {
    Kept,
    LeftOut,
}

/// Whether the update can leave a value as it is, for all that can be seen at once.
pub(crate) fn may_rewrite(update: &Update) -> bool {
    match update {
        Update::Exchange(_) | Update::CompareAndSwap { .. } => true,
        Update::Apply(BinaryOperator::Add | BinaryOperator::Subtract, operand) => {
            *operand == Operand::Constant(Value(0))
        }
        // An arrival changes the object, unless that is broken already: then nobody spins for a change of it.
        Update::Apply(BinaryOperator::Mbarrier(_), _) => false,
        Update::Apply(..) => true,
        Update::Increment(_) | Update::Decrement(_) => false,
    }
}

/// Whether there is anything to follow.
pub(crate) fn occurs(program: &Program) -> bool {
    let rewrites = |instruction: &Instruction| match &instruction.operation {
        Operation::ReadModifyWrite { update, .. } => may_rewrite(update),
        _ => false,
    };
    let arch = program.threads.first().map(|thread| thread.arch);
    program.threads.iter().all(|thread| Some(thread.arch) == arch)
        && matches!(arch, Some(Arch::Ptx | Arch::X86 | Arch::X86_64))
        && program.threads.iter().any(|thread| thread.code.iter().any(rewrites))
}

/// Whether each location of a read-modify-write is one whose iterations may be left out. Asked with the events of every run,
/// those that were dropped included.
pub(crate) fn is_sound(program: &Program, unfolding: &Unfolding) -> bool {
    let changed = |event: &Event| event.rmw_partner.is_some().then(|| event.location()).flatten();
    let mut locations: Vec<_> = unfolding.events.iter().filter_map(changed).collect();
    locations.shared_sort();
    locations.dedup();
    let mut names = SortedMap::new();
    let accesses = || unfolding.events.iter().filter(|event| !event.has(Tag::Init));
    let mut users: SortedMap<_, Vec<_>> = SortedMap::new();
    for event in accesses() {
        if let (Some(location), Some(thread)) = (event.location(), event.thread) {
            users.entry(location).or_default().push(thread);
        }
    }
    accesses()
        .filter_map(|event| Some((event, event.location().filter(|own| locations.binary_search(own).is_ok())?)))
        .all(|(event, location)| {
            // Two names of one location are two virtual addresses.
            let name = generic(event);
            let users = users.get(&location).map_or(&[][..], Vec::as_slice);
            reaches_all(program, event, users) && *names.entry(location).or_insert(name) == name
        })
}

fn generic(event: &Event) -> Option<AddressId> {
    match event.kind {
        EventKind::Read { generic, .. } | EventKind::Write { generic, .. } => Some(generic),
        _ => None,
    }
}

/// A strong access in the scope of every thread that accesses the location, of it and nothing else; or a weak read.
fn reaches_all(program: &Program, event: &Event, users: &[ThreadId]) -> bool {
    let Some(thread) = event.thread.map(|thread| &program.threads[thread.index()]) else { return false };
    if !event.is_main() || event.group.is_some() || event.extent.is_some() {
        return false;
    }
    // Every access of x86 reaches all threads, and coherence order is part of what all agree on: who read from the write that
    // is left out came after the one before it already, and nothing comes between the halves of a locked operation.
    if thread.arch != Arch::Ptx {
        return true;
    }
    match event.scope {
        Some(scope) => {
            let place = |user: &ThreadId| program.threads[user.index()].place;
            event.has(Tag::Generic) && users.iter().all(|user| includes(scope, thread.place, place(user)))
        }
        None => event.has(Tag::Generic) && matches!(event.kind, EventKind::Read { .. }),
    }
}

impl Runner<'_> {
    pub(crate) fn is_in_loop(&self, state: &State) -> bool {
        self.flow.heads.iter().any(|(&head, &last)| (head..=last).contains(&state.at))
    }

    pub(crate) fn follows_rewrites(&self, state: &State, targets: &[AddressId]) -> bool {
        self.options.rewriting == Rewriting::Spins
            && targets.len() == 1
            && state.rewrites < MOST_REWRITES
            && self.is_in_loop(state)
    }

    /// The run in which the write of the next event is left out.
    pub(crate) fn without_write(&self, state: &State) -> Box<State> {
        let mut silent = Box::new(state.clone());
        silent.silent = silent.silent.or(Some(silent.path.len()));
        silent
    }

    /// Goes on with the effect, if it can be. It is no decision of the program: a counted loop stays one.
    pub(crate) fn has_effect(
        &self,
        state: &mut State,
        ty: Type,
        (old, new): (&Expression, &Expression),
        effect: Effect,
    ) -> bool {
        state.rewrites += 1;
        let equal = fold::binary(BinaryOperator::Equal, ty, old.clone(), new.clone());
        let forks = state.forks;
        let possible = match (state.decide(&equal), effect) {
            (Decision::Always, Effect::Same(_)) | (Decision::Never, Effect::Another) => true,
            (Decision::Always, Effect::Another) | (Decision::Never, Effect::Same(_)) => false,
            (Decision::Open(yes, _), Effect::Same(_)) => {
                self.constrain(state, yes);
                true
            }
            (Decision::Open(_, no), Effect::Another) => {
                self.constrain(state, no);
                true
            }
        };
        state.forks = forks;
        possible
    }
}
