//! Iterations of loops that change nothing: of one thread, of one that polls, of all threads of a CTA together.

pub(crate) mod joint;
pub(crate) mod poll;
pub(crate) mod spin;
