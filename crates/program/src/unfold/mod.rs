//! Program to unfolding: symbolic execution of each thread, forking where a value decides.
//!
//! Forks: a branch or guard on a value that is not constant, the outcome of a compare-and-swap, an address held in a
//! register, and at each waiting barrier the run that waits there for good. Everything else folds, so that a straight-line
//! thread has exactly one trace. Loops: see [`visit`].

mod access;
mod alike;
mod alone;
mod compact;
mod constant;
mod control;
mod converted;
mod dependency;
mod fence;
mod flow;
mod fold;
pub(crate) mod instruction;
mod joint_loop;
mod launch;
mod mbarrier_makers;
mod multimem;
mod objects;
mod omission;
mod opaque;
mod outside;
mod poll;
mod private_memory;
mod rewrite;
mod run;
mod runner;
mod span;
mod state;
mod staying;
mod strand;
mod strand_effect;
mod strand_group;
mod strand_hazard;
mod strand_life;
mod strand_map;
mod strand_pair;
mod strand_region;
mod strand_register;
mod strand_tensor;
mod strand_tile;
mod tile_start;
mod together;
mod visit;
mod wait;
mod ways;

use std::collections::BTreeMap;
use std::fmt;

use fencepost_syntax::Span;
use fencepost_syntax::limits::{self, Ended};

use crate::expression::Expression;
use crate::ids::{AddressId, EventId, LocationId, ThreadId};
use crate::program::Program;
use crate::tag::{Tag, Tags};
use crate::unfold::constant::Constants;
use crate::unfold::tile_start::Starts;
use crate::unfolding::{Event, EventKind, LocationInfo, ThreadUnfolding, Unfolding};

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct UnfoldOptions {
    /// Iterations per loop, for loops that are no spin loops; at least one is run.
    pub bound: u32,
    /// The most events (and traces) an unfolding may have.
    pub max_events: u32,
    pub rewriting: Rewriting,
    pub joint: Joint,
    pub elements: Elements,
    pub dependencies: Dependencies,
    pub unmodelled: Unmodelled,
}

/// What becomes of a program with a question that rests on a value without a model (see [`opaque`]).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Unmodelled {
    #[default]
    Refused,
    /// It is unfolded all the same, and the terms are noted ([`Unfolding::unmodelled`]): what races, hangs or breaks a rule
    /// does not rest on them.
    Noted,
}

/// Which operands of an instruction its result depends on.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Dependencies {
    /// All.
    #[default]
    Syntactic,
    /// Those that can matter: `xor r, r` is the same whatever `r` is. And what comes behind a branch depends on it only
    /// where its ways differ.
    Real,
}

/// What becomes of an iteration of a loop whose read-modify-writes write what they read (see [`rewrite`]).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Rewriting {
    /// It is an iteration like others.
    #[default]
    Unrolled,
    /// It is a spin where that is sound, in a model in which nothing comes between the halves of a read-modify-write.
    Spins,
}

/// What becomes of an iteration that all threads of a CTA go through together and that changes nothing (see [`together`]).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Joint {
    /// It is an iteration like others.
    #[default]
    Unrolled,
    /// It is a spin of each of them, in a model in which barriers order memory. Holds only if no thread can leave in the round
    /// after which another goes on ([`Unfolding::joint`]).
    Spins,
}

/// Which elements of tiles have events (see [`alike`]).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Elements {
    #[default]
    All,
    /// One of those that nothing tells apart and whose values nobody looks at.
    OneOfAlike,
}

impl Default for UnfoldOptions {
    fn default() -> UnfoldOptions {
        UnfoldOptions {
            bound: 2,
            max_events: 20_000,
            rewriting: Rewriting::Unrolled,
            joint: Joint::Unrolled,
            elements: Elements::All,
            dependencies: Dependencies::Syntactic,
            unmodelled: Unmodelled::Refused,
        }
    }
}

/// Why there is no unfolding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnfoldError {
    /// Time, memory or the user ended it.
    Limit(Ended),
    TooManyEvents {
        limit: u32,
    },
    TooManyTraces {
        limit: u32,
    },
    TooManySteps {
        limit: u64,
    },
    /// A register's value is a tree of more nodes than this.
    ExpressionTooLarge {
        span: Span,
        limit: u32,
    },
    /// A computed address reaches a location with an access of another size than the location's.
    MixedSize {
        span: Span,
        location: String,
    },
    /// A barrier's operands depend on what a `bar.red` returned.
    BarrierOperand {
        span: Span,
    },
    /// A size, mask or coordinate of an asynchronous operation that is no constant, or out of range.
    AsyncOperand {
        span: Span,
    },
    /// A coordinate of a tensor copy in a dimension that the tensor is not declared with, or a negative one.
    Coordinate {
        span: Span,
    },
    /// The answer rests on a value that is not modelled (the result of floating-point arithmetic).
    Opaque {
        span: Span,
    },
    /// An asynchronous operation reaches beyond the end of a variable.
    Overrun {
        span: Span,
        location: String,
        bytes: i128,
        /// So many are there, from the location on.
        room: i128,
    },
    /// An asynchronous operation reaches beyond a variable, into part of a location, or for one that a CTA lacks.
    Extent {
        span: Span,
        location: String,
    },
    /// More `tcgen05.alloc`s than tensor memory is declared.
    Allocation {
        span: Span,
    },
    /// A column that a `tcgen05.alloc` gives, and for which the test declares nothing.
    Column {
        span: Span,
        column: i128,
        count: u32,
        location: String,
    },
    /// An mbarrier operation on a location that is none.
    NoMbarrier {
        span: Span,
        location: String,
    },
    /// Another access to an mbarrier.
    PlainAccess {
        span: Span,
        location: String,
    },
    /// Shared memory of another cluster, or local memory of another thread.
    OutOfReach {
        span: Span,
        location: String,
    },
    /// A write to `.const` or `.param` memory.
    ReadOnly {
        span: Span,
        location: String,
    },
    /// An access that begins in a variable and ends beyond it: in words.
    Beyond {
        span: Span,
        what: String,
    },
    /// An address that is no multiple of the access's size.
    Misaligned {
        span: Span,
        location: String,
    },
    /// An access through a name of another proxy than its own.
    Misnamed {
        span: Span,
        name: String,
    },
    /// A wait on the mbarrier of another CTA.
    RemoteWait {
        span: Span,
        location: String,
    },
}

impl fmt::Display for UnfoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnfoldError::Limit(_) => write!(f, "a limit was reached"),
            UnfoldError::TooManyEvents { limit } => write!(f, "the unrolled program has more than {limit} events"),
            UnfoldError::TooManyTraces { limit } => write!(f, "the threads have more than {limit} traces"),
            UnfoldError::TooManySteps { limit } => write!(f, "the threads run for more than {limit} instructions"),
            UnfoldError::ExpressionTooLarge { limit, .. } => {
                write!(f, "a register's value is an expression of more than {limit} operations")
            }
            UnfoldError::MixedSize { location, .. } => write!(f, "mixed-size accesses to `{location}`"),
            UnfoldError::AsyncOperand { .. } => {
                write!(f, "a size, mask or coordinate of an asynchronous operation that is not known in advance")
            }
            UnfoldError::Coordinate { .. } => {
                write!(f, "a coordinate in a dimension that the tensor is not declared with, or a negative one")
            }
            UnfoldError::Opaque { .. } => {
                write!(f, "a condition, a branch or an address that rests on a value without a model")
            }
            UnfoldError::Overrun { location, bytes, room, .. } => {
                write!(
                    f,
                    "an asynchronous operation on {bytes} bytes from `{location}` on, where there are only {room}"
                )
            }
            UnfoldError::Extent { location, .. } => {
                write!(f, "an asynchronous operation that does not fit `{location}`")
            }
            UnfoldError::Allocation { .. } => write!(f, "more `tcgen05.alloc`s at once than `.tmem` variables"),
            UnfoldError::Column { column, count, location, .. } => {
                write!(
                    f,
                    "column {column} of the {count} that `tcgen05.alloc` gives, of which `{location}` declares fewer"
                )
            }
            UnfoldError::BarrierOperand { .. } => write!(f, "a barrier operand depends on the result of a `bar.red`"),
            UnfoldError::NoMbarrier { location, .. } => {
                write!(f, "an mbarrier operation on `{location}`, which is no mbarrier")
            }
            UnfoldError::PlainAccess { location, .. } => write!(f, "an ordinary access to the mbarrier `{location}`"),
            UnfoldError::OutOfReach { location, .. } => {
                write!(f, "an access to `{location}`, in memory of another cluster or thread")
            }
            UnfoldError::ReadOnly { location, .. } => write!(f, "a write to `{location}`, which is read-only"),
            UnfoldError::Misaligned { location, .. } => {
                write!(f, "an access to `{location}` at an address that is no multiple of its size")
            }
            UnfoldError::Beyond { what, .. } => write!(f, "{what}"),
            UnfoldError::Misnamed { name, .. } => {
                write!(f, "an access through `{name}`, which is a name of another proxy")
            }
            UnfoldError::RemoteWait { location, .. } => {
                write!(f, "a wait on `{location}`, an mbarrier of another CTA")
            }
        }
    }
}

impl std::error::Error for UnfoldError {}

impl UnfoldError {
    /// Where in the source, if at one place.
    pub fn span(&self) -> Option<Span> {
        match self {
            UnfoldError::ExpressionTooLarge { span, .. }
            | UnfoldError::MixedSize { span, .. }
            | UnfoldError::AsyncOperand { span }
            | UnfoldError::Coordinate { span }
            | UnfoldError::Opaque { span }
            | UnfoldError::Overrun { span, .. }
            | UnfoldError::Extent { span, .. }
            | UnfoldError::Allocation { span }
            | UnfoldError::Column { span, .. }
            | UnfoldError::NoMbarrier { span, .. }
            | UnfoldError::PlainAccess { span, .. }
            | UnfoldError::RemoteWait { span, .. }
            | UnfoldError::Misnamed { span, .. }
            | UnfoldError::OutOfReach { span, .. }
            | UnfoldError::ReadOnly { span, .. }
            | UnfoldError::Beyond { span, .. }
            | UnfoldError::Misaligned { span, .. }
            | UnfoldError::BarrierOperand { span } => Some(*span),
            _ => None,
        }
    }
}

/// What becomes of the failing iterations of a spin loop (see [`visit`]).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Failing {
    LeftOut,
    OneKept,
}

/// The executions of the program, for what they end in.
pub fn unfold(program: &Program, options: &UnfoldOptions) -> Result<Unfolding, UnfoldError> {
    unfold_with(program, options, Failing::LeftOut)
}

/// The executions of the program, for the accesses in them: a thread may go through one failing iteration of a spin loop.
pub fn unfold_accesses(program: &Program, options: &UnfoldOptions) -> Result<Unfolding, UnfoldError> {
    unfold_with(program, options, Failing::OneKept)
}

fn unfold_with(program: &Program, options: &UnfoldOptions, failing: Failing) -> Result<Unfolding, UnfoldError> {
    let alone = |index: usize| private_memory::Alone::new(program, ThreadId::new(index), options);
    let alone: Vec<private_memory::Alone> = (0..program.threads.len()).map(alone).collect();
    let rewriting = if rewrite::occurs(program) { options.rewriting } else { Rewriting::Unrolled };
    let options = &UnfoldOptions { rewriting, ..*options };
    let mut constants = Constants::new(program);
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
type Given<'a> = (Failing, &'a Constants, &'a [private_memory::Alone]);

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
    let (mut lives, mut walks, mut noted) = (Vec::new(), Vec::new(), omission::way::Noted::default());
    let staying = staying::Staying::new(program);
    let named = objects::named(program);
    let stores = mbarrier_makers::mbarrier_stores(program);
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
            traces: Vec::new(),
        });
        let alone = alone[index].clone();
        let given = runner::Given { failing, staying: &staying, constants, alone, named: &named, stores: &stores };
        let ran = runner::Runner::new(program, id, options, given, &mut unfolding, (starts, met)).run()?;
        if limits::ended().is_some() {
            break;
        }
        lives.extend(ran.lives);
        walks.extend(ran.walks);
        noted.parted.extend(ran.noted.parted);
        noted.omitted.extend(ran.noted.omitted);
        staying.unstarted(program, id, &mut unfolding);
    }
    if let Some(ended) = limits::ended() {
        return Err(UnfoldError::Limit(ended));
    }
    if options.rewriting == Rewriting::Spins && !rewrite::is_sound(program, &unfolding) {
        let unrolled = UnfoldOptions { rewriting: Rewriting::Unrolled, ..*options };
        return unfold_tiled(program, &unrolled, (failing, constants, alone), (starts, met));
    }
    if !together::settle(program, &mut unfolding, &walks) {
        let unrolled = UnfoldOptions { joint: Joint::Unrolled, ..*options };
        return unfold_tiled(program, &unrolled, (failing, constants, alone), (starts, met));
    }
    omission::settle(&mut unfolding, &noted, options.dependencies);
    strand_hazard::whole_program(program, &mut unfolding, &lives);
    strand_pair::unpaired(program, &mut unfolding, &lives);
    crate::placement::mark(program, &mut unfolding);
    if options.elements == Elements::OneOfAlike {
        alike::leave_out(program, &mut unfolding);
    }
    compact::compact(&mut unfolding);
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
        })
        .collect();
    Unfolding {
        barrier_rule: program.barrier_rule,
        version: program.version,
        events: init_writes(program),
        threads: Vec::new(),
        traces: Vec::new(),
        locations,
        kernel_order: program.kernel_order.clone(),
        hazards: Vec::new(),
        failing: Vec::new(),
        exits: Vec::new(),
        joint: Vec::new(),
        dependent_launches: program.dependent_launches.clone(),
        unmodelled: None,
    }
}

/// One write per location before every thread (PTX ISA 8.2.6). It carries no proxy and no scope.
fn init_writes(program: &Program) -> Vec<Event> {
    let canonical = program.addresses.iter().enumerate().filter(|(own, address)| address.canonical.index() == *own);
    let mut addresses = BTreeMap::new();
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
            tags: Tags::from_iter([Tag::Write, Tag::Init]),
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
    program.locations.iter().enumerate().map(write).collect()
}
