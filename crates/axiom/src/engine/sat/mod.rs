//! The lazy SAT engine.
