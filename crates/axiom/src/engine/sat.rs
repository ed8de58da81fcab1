//! The SAT engine: choices are literals, the model is a theory whose conflicts become clauses.
