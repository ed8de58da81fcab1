//! Computes a compiled model over one candidate.
