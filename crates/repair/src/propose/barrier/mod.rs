//! Barriers of a CTA and of a cluster (PTX ISA 9.7.15.1, 9.7.15.3): one that a thread leaves out, and who passes one that is put in.

pub(crate) mod left_out;
pub(crate) mod participants;
