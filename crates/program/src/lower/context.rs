//! What an instruction table may touch while it lowers one thread.

use fencepost_syntax::litmus::Dialect;

use crate::lower::builder::ThreadBuilder;
use crate::lower::findings::Findings;
use crate::lower::launch::Declared;
use crate::lower::names::Names;
use crate::program::Version;

/// Everything an instruction table may touch while it lowers one thread.
pub(crate) struct Context<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) names: &'a mut Names,
    pub(crate) findings: &'a mut Findings,
    pub(crate) thread: &'a mut ThreadBuilder,
    /// Streams, events and kernels, for what a host thread calls.
    pub(crate) launched: &'a Declared,
    /// The version of the ISA: some defaults changed.
    pub(crate) version: Version,
}
