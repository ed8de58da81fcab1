//! What only the unfolding shows where addresses are computed: memory that the thread cannot reach or write, names of
//! another proxy than the access's, and what reaches an mbarrier (PTX ISA 9.7.15.16): mbarrier operations, and accesses
//! to its eight bytes as data, which are errors while it is live.

use fencepost_syntax::sorted::SortedSet;

use crate::ids::{AddressId, LocationId, ThreadId};
use crate::program::{Address, Initial, LocationRole, Operand, Operation, Place, Program, Scope, Space, Update};
use crate::tag::Tag;
use crate::unfold::run::fold;
use crate::unfold::run::runner::Runner;
use crate::unfold::{Dependencies, UnfoldError};
use crate::unfolding::access::includes;
use crate::unfolding::{Event, EventKind, Unfolding};
use crate::value::Value;

/// Whether a thread can access shared memory of this CTA, or local memory of this thread, whichever it is.
pub(crate) fn reaches(thread: ThreadId, place: Place, (cta, owner): (Option<Place>, Option<ThreadId>)) -> bool {
    cta.is_none_or(|cta| includes(Scope::Cluster, place, cta)) && owner.is_none_or(|owner| owner == thread)
}

/// Memory that kernels cannot write (PTX ISA 5.1.3, 5.1.6).
fn is_read_only(place: Place, space: Option<Space>) -> bool {
    place != Place::Host && matches!(space, Some(Space::Const | Space::Param))
}

/// Locations whose address is a value somewhere: in a register, in memory, or in the text of the code. A pointer may be
/// one of these; that it is another one would take arithmetic.
pub(crate) fn named(program: &Program) -> SortedSet<LocationId> {
    let mut found = SortedSet::new();
    let mut name = |address: AddressId| {
        found.insert(program.addresses[address.index()].location);
    };
    for thread in &program.threads {
        let registers = thread.registers.iter().map(|register| register.initial);
        registers.for_each(|initial| {
            if let Initial::Address(address) = initial {
                name(address)
            }
        });
        let mut look_at = |operand: &Operand| {
            if let Operand::Address(address) = operand {
                name(*address)
            }
        };
        for instruction in &thread.code {
            match &instruction.operation {
                Operation::Local { value, .. } => {
                    fold::mattering(value, Dependencies::Syntactic).iter().for_each(&mut look_at);
                }
                Operation::Store { value, .. } => look_at(value),
                Operation::VectorStore { values, .. } => values.iter().for_each(&mut look_at),
                Operation::ReadModifyWrite { update, .. } => update_operands(update).iter().for_each(&mut look_at),
                _ => {}
            }
        }
    }
    let initial: SortedSet<Value> = program.locations.iter().map(|location| location.initial).collect();
    let holds = |address: &&Address| initial.contains(&address.value);
    found.extend(program.addresses.iter().filter(holds).map(|address| address.location));
    found
}

/// The CTAs in whose shared memory the initial state of the test has something: they have started.
pub(crate) fn prepared(program: &Program) -> SortedSet<Place> {
    let given = program.locations.iter().filter(|location| location.is_given && location.space == Some(Space::Shared));
    given.filter_map(|location| location.owner).collect()
}

fn update_operands(update: &Update) -> Vec<Operand> {
    match update {
        Update::Exchange(operand)
        | Update::Apply(_, operand)
        | Update::Increment(operand)
        | Update::Decrement(operand) => vec![*operand],
        Update::CompareAndSwap { expected, new, .. } => vec![*expected, *new],
    }
}

impl Runner<'_> {
    /// Whether a pointer that this instruction uses, and that comes from somewhere, may be this one: the thread can access
    /// what is there, or its address is a value of the program, so that it is worth an error.
    pub(crate) fn is_eligible(&self, target: AddressId, at: usize) -> bool {
        let id = self.program.addresses[target.index()].location;
        let location = &self.program.locations[id.index()];
        let place = self.thread.place;
        let owner = location.owner.filter(|_| location.space == Some(Space::Shared));
        let is_load = matches!(
            self.thread.code.get(at).map(|instruction| &instruction.operation),
            Some(Operation::Load { .. } | Operation::VectorLoad { .. })
        );
        let is_accessible =
            reaches(self.id, place, (owner, location.thread)) && (is_load || !is_read_only(place, location.space));
        is_accessible || self.named.contains(&id)
    }
}

/// The name of another proxy that an access goes through, if it does.
fn misnamed<'p>(program: &'p Program, event: &Event) -> Option<&'p str> {
    let (EventKind::Read { address, .. } | EventKind::Write { address, .. }) = &event.kind else { return None };
    let address = &program.addresses[address.index()];
    address.proxy.is_some_and(|proxy| !event.has(proxy)).then(|| &*address.name)
}

pub(crate) fn check(program: &Program, unfolding: &Unfolding) -> Result<(), UnfoldError> {
    let place_of = |thread: ThreadId| unfolding.threads[thread.index()].place;
    for event in unfolding.events.iter().filter(|event| !event.is_init()) {
        let (Some(location), Some(thread)) = (event.location(), event.thread) else { continue };
        let info = &unfolding.locations[location.index()];
        let span = event.span;
        let name = || info.name.to_string();
        if let Some(name) = misnamed(program, event) {
            return Err(UnfoldError::Misnamed { span, name: name.to_owned() });
        }
        let owners = (info.owner.filter(|_| info.space == Some(Space::Shared)), info.thread);
        if !reaches(thread, place_of(thread), owners) {
            return Err(UnfoldError::OutOfReach { span, location: name() });
        }
        if event.is_write() && is_read_only(place_of(thread), info.space) {
            return Err(UnfoldError::ReadOnly { span, location: name() });
        }
        let is_object = info.role == LocationRole::Mbarrier;
        if event.has(Tag::Mbarrier) && !is_object {
            return Err(UnfoldError::NoMbarrier { span, location: name() });
        }
        // A plain access to all of its bytes is one to data, if there is no mbarrier in them.
        if is_object && !event.has(Tag::Mbarrier) && event.extent.is_some() {
            return Err(UnfoldError::PlainAccess { span, location: name() });
        }
        let is_wait = event.has(Tag::Mbarrier) && event.is_read() && event.rmw_partner.is_none();
        let place = place_of(thread);
        if is_wait && info.owner.is_some_and(|owner| !includes(Scope::Cta, place, owner)) {
            return Err(UnfoldError::RemoteWait { span, location: name() });
        }
    }
    Ok(())
}
