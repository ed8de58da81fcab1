//! Arithmetic on registers: integers and bits, which have values, and floating point, which has none here.

pub(crate) mod bits;
pub(crate) mod float;
pub(crate) mod integer;
