//! The enumeration engine: depth-first over reads-from, then over the orders the model demands.
