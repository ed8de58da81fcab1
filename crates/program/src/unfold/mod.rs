//! Program to unfolding: symbolic execution of each thread, forking where a value decides.
//!
//! Forks: a branch or guard on a value that is not constant, the outcome of a compare-and-swap, an address held in a
//! register, and at each waiting barrier the run that waits there for good. Everything else folds, so that a straight-line
//! thread has exactly one trace. Loops: see [`loops::spin`].
//!
//! [`run`] executes a thread step by step, with [`memory`] for accesses and [`strand`] for what goes on beside it;
//! [`control`] knows branches and loops of the code, and [`loops`] which iterations change nothing. [`omission`] adds the
//! writes that a trace leaves out. What makes an unfolding smaller is in [`crate::reduce`].

pub(crate) mod control;
mod error;
pub(crate) mod loops;
mod memory;
mod omission;
mod opaque;
pub(crate) mod options;
pub(crate) mod run;
mod strand;
mod touched;

use std::cell::Cell;

use fencepost_syntax::Span;
use fencepost_syntax::few::Few;
use fencepost_syntax::limits;
use fencepost_syntax::sorted::SortedMap;

use crate::ids::{AddressId, EventId, LocationId, ThreadId};
use crate::program::Program;
use crate::reduce::constant_memory::Constants;
use crate::reduce::private_memory::Alone;
use crate::reduce::{alike_elements, compact, joint_rounds, silent_updates};
use crate::tag::{Tag, Tags};
use crate::unfold::memory::objects;
use crate::unfold::run::kernel_ends::Staying;
use crate::unfold::run::mbarrier_makers::mbarrier_stores;
use crate::unfold::run::runner;
use crate::unfold::strand::allocation::Life;
use crate::unfold::strand::tile_start::Starts;
use crate::unfold::strand::{cta_pair, hazard, tile_start};
use crate::unfolding::placement;
use crate::unfolding::{Event, EventKind, LocationInfo, ThreadUnfolding, Unfolding};
use crate::value::expression::Expression;

pub use error::UnfoldError;
pub(crate) use options::Failing;
pub use options::{ConstantMemory, Dependencies, Elements, Joint, Rewriting, UnfoldOptions, Unmodelled};

/// The executions of the program, for what they end in.
pub fn unfold(program: &Program, options: &UnfoldOptions) -> Result<Unfolding, UnfoldError> {
    unfold_with(program, options, Failing::LeftOut)
}

/// The executions of the program, for the accesses in them: a thread may go through one failing iteration of a spin loop.
pub fn unfold_accesses(program: &Program, options: &UnfoldOptions) -> Result<Unfolding, UnfoldError> {
    unfold_with(program, options, Failing::OneKept)
}

/// What is marked once all threads have run, in this order.
const MARKS: &[fn(&Program, &mut Unfolding, &[Life])] =
    &[hazard::whole_program, cta_pair::unpaired, |program, unfolding, _| placement::mark(program, unfolding)];

fn unfold_with(program: &Program, options: &UnfoldOptions, failing: Failing) -> Result<Unfolding, UnfoldError> {
    let alone = |index: usize| Alone::new(program, ThreadId::new(index), options);
    let alone: Vec<Alone> = (0..program.threads.len()).map(alone).collect();
    let rewriting = if silent_updates::occurs(program) { options.rewriting } else { Rewriting::Unrolled };
    let options = &UnfoldOptions { rewriting, ..*options };
    let mut constants = match options.constants {
        ConstantMemory::Known => Constants::new(program),
        ConstantMemory::Read => Constants::default(),
    };
    loop {
        let unfolding = unfold_given(program, options, (failing, &constants, &alone));
        // An error may come of what was assumed.
        if let Some(ended) = limits::ended() {
            return Err(UnfoldError::Limit(ended));
        }
        if !constants.give_up(unfolding.as_ref().ok()) {
            return unfolding;
        }
    }
}

/// What is known of the program before it is unfolded: which locations are constant, and what each thread has for itself.
type Given<'a> = (Failing, &'a Constants, &'a [Alone]);

fn unfold_given(program: &Program, options: &UnfoldOptions, given: Given<'_>) -> Result<Unfolding, UnfoldError> {
    let (none, mut met) = (Starts::new(), Starts::new());
    let unfolding = unfold_tiled(program, options, given, (&none, &mut met));
    if !tile_start::matter(&met) {
        return unfolding;
    }
    let starts = std::mem::take(&mut met);
    unfold_tiled(program, options, given, (&starts, &mut met))
}

fn unfold_tiled(
    program: &Program,
    options: &UnfoldOptions,
    (failing, constants, alone): Given<'_>,
    (starts, met): (&Starts, &mut Starts),
) -> Result<Unfolding, UnfoldError> {
    let mut unfolding = beginning(program);
    let mut ran = runner::Ran::default();
    let staying = Staying::new(program);
    let named = objects::named(program);
    let stores = mbarrier_stores(program);
    for (index, thread) in program.threads.iter().enumerate() {
        if limits::tick() {
            break;
        }
        let id = ThreadId::new(index);
        let name = thread.name.clone();
        unfolding.threads.push(ThreadUnfolding {
            name,
            place: thread.place,
            kernel: thread.kernel,
            traces: Few::new(),
        });
        let alone = alone[index].clone();
        let given = runner::Given { failing, staying: &staying, constants, alone, named: &named, stores: &stores, ran };
        ran = runner::Runner::new(program, id, options, given, &mut unfolding, (starts, met)).run()?;
        if limits::ended().is_some() {
            break;
        }
        staying.unstarted(program, id, &mut unfolding);
    }
    if let Some(ended) = limits::ended() {
        return Err(UnfoldError::Limit(ended));
    }
    let runner::Ran { lives, walks, noted } = ran;
    if options.rewriting == Rewriting::Spins && !silent_updates::is_sound(program, &unfolding) {
        let unrolled = UnfoldOptions { rewriting: Rewriting::Unrolled, ..*options };
        return unfold_tiled(program, &unrolled, (failing, constants, alone), (starts, met));
    }
    if !joint_rounds::settle(program, &mut unfolding, &walks) {
        let unrolled = UnfoldOptions { joint: Joint::Unrolled, ..*options };
        return unfold_tiled(program, &unrolled, (failing, constants, alone), (starts, met));
    }
    omission::settle(&mut unfolding, &noted, options.dependencies);
    for step in MARKS {
        step(program, &mut unfolding, &lives);
    }
    if options.elements == Elements::OneOfAlike {
        alike_elements::leave_out(program, &mut unfolding);
    }
    compact::compact(&mut unfolding);
    touched::mark(program, &mut unfolding);
    objects::check(program, &unfolding)?;
    unfolding.unmodelled = opaque::check(program, &unfolding, options.unmodelled)?;
    Ok(unfolding)
}

/// What is there before any thread has run.
fn beginning(program: &Program) -> Unfolding {
    let locations = (program.locations.iter().enumerate())
        .map(|(index, location)| LocationInfo {
            name: location.name.clone(),
            initial: location.initial,
            ty: location.ty,
            init: EventId::new(index),
            space: location.space,
            owner: location.owner,
            thread: location.thread,
            role: location.role,
            is_untouched: false,
        })
        .collect();
    Unfolding {
        barrier_rule: program.barrier_rule,
        version: program.version,
        events: init_writes(program),
        threads: Vec::with_capacity(program.threads.len()),
        traces: Vec::with_capacity(program.threads.len()),
        locations,
        kernel_order: program.kernel_order.clone(),
        hazards: Vec::new(),
        failing: Vec::new(),
        exits: Vec::with_capacity(program.threads.len()),
        joint: Vec::new(),
        dependent_launches: program.dependent_launches.clone(),
        unmodelled: None,
    }
}

/// Events for which room is made in advance, at least and at most: where one test after the other needs a little more, each
/// large piece of memory that is asked for has the allocator tidy up all small ones.
const LEAST_AT_ONCE: usize = 1 << 6;
const MOST_AT_ONCE: usize = 1 << 10;

thread_local! {
    /// The room for the events of an unfolding that is no longer needed, empty: the allocator is slow to find so much at once.
    static SPARE: Cell<Vec<Event>> = const { Cell::new(Vec::new()) };
}

/// Keeps the room of an unfolding that is no longer needed for the next one: tests of a folder are unfolded one after the other.
pub fn give_back(unfolding: Unfolding) {
    let mut events = unfolding.events;
    events.clear();
    if events.capacity() <= MOST_AT_ONCE {
        SPARE.set(events);
    }
}

/// One write per location before every thread (PTX ISA 8.2.6). It carries no proxy and no scope.
fn init_writes(program: &Program) -> Vec<Event> {
    let canonical = program.addresses.iter().enumerate().filter(|(own, address)| address.canonical.index() == *own);
    let mut addresses = SortedMap::new();
    for (own, address) in canonical {
        addresses.entry(address.location).or_insert(AddressId::new(own));
    }
    let write = |(index, location): (usize, &crate::program::Location)| {
        let id = LocationId::new(index);
        let address = *addresses.get(&id).expect("invariant: every location has an address");
        Event {
            thread: None,
            kind: EventKind::Write {
                address,
                generic: program.addresses[address.index()].generic,
                location: id,
                value: Expression::Constant(location.initial),
                ty: location.ty,
            },
            tags: match location.is_persistent {
                true => Tags::from_iter([Tag::Write, Tag::Init, Tag::Persistent]),
                false => Tags::from_iter([Tag::Write, Tag::Init]),
            },
            scope: None,
            parent: None,
            rmw_partner: None,
            address_deps: Vec::new(),
            data_deps: Vec::new(),
            control_deps: Vec::new(),
            span: Span::default(),
            iteration: 0,
            ..Event::default()
        }
    };
    // Most instructions are one event.
    let room = program.threads.iter().map(|thread| thread.code.len()).sum::<usize>() + program.locations.len();
    let mut events = SPARE.take();
    events.reserve(room.clamp(LEAST_AT_ONCE, MOST_AT_ONCE));
    events.extend(program.locations.iter().enumerate().map(write));
    events
}
