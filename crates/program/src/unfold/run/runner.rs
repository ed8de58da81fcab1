//! The state of the runs of one thread: what is known before, the states that are still to be run, what was found.

use fencepost_syntax::sorted::SortedSet;

use crate::ids::{LocationId, ThreadId};
use crate::program::{Place, Program, Thread};
use crate::reduce::constant_memory::Constants;
use crate::reduce::private_memory::Alone;
use crate::unfold::control::flow::Flow;
use crate::unfold::loops::joint::{Together, Walk};
use crate::unfold::omission::way::Noted;
use crate::unfold::run::kernel_ends::Staying;
use crate::unfold::run::mbarrier_makers::{Makers, MbarrierStore};
use crate::unfold::run::state::Boxed;
use crate::unfold::strand::allocation::Life;
use crate::unfold::strand::tile_start::Starts;
use crate::unfold::{Failing, UnfoldOptions};
use crate::unfolding::Unfolding;

pub(crate) struct Runner<'a> {
    pub(crate) program: &'a Program,
    pub(crate) thread: &'a Thread,
    pub(crate) id: ThreadId,
    pub(crate) options: &'a UnfoldOptions,
    pub(crate) failing: Failing,
    pub(crate) staying: &'a Staying,
    pub(crate) constants: &'a Constants,
    pub(crate) alone: Alone,
    pub(crate) unfolding: &'a mut Unfolding,
    pub(crate) flow: Flow,
    pub(crate) stack: Vec<Boxed>,
    pub(crate) makers: Makers,
    /// Locations whose address is a value of the program.
    pub(crate) named: &'a SortedSet<LocationId>,
    /// CTAs of which the initial state says that they have started.
    pub(crate) prepared: SortedSet<Place>,
    /// Where tiles begin, as far as known before, and as met on this run.
    pub(crate) starts: &'a Starts,
    pub(crate) met: &'a mut Starts,
    pub(crate) steps: u64,
    pub(crate) lives: Vec<Life>,
    pub(crate) together: Together,
    pub(crate) walks: Vec<Walk>,
    pub(crate) noted: Noted,
}

/// What is known of the traces of the threads so far, beside what is in the unfolding.
#[derive(Default)]
pub(crate) struct Ran {
    pub(crate) lives: Vec<Life>,
    pub(crate) walks: Vec<Walk>,
    pub(crate) noted: Noted,
}

/// What is known before a run.
pub(crate) struct Given<'a> {
    pub(crate) failing: Failing,
    pub(crate) staying: &'a Staying,
    pub(crate) constants: &'a Constants,
    pub(crate) alone: Alone,
    pub(crate) named: &'a SortedSet<LocationId>,
    pub(crate) stores: &'a [MbarrierStore],
    /// Of the threads before.
    pub(crate) ran: Ran,
}
