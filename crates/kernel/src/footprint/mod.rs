//! Which bytes an instruction touches: boxes of tensor copies, matrices behind descriptors, columns of tensor memory.
//!
//! Pure functions from operands to bytes. Nothing here knows threads, order or time.
