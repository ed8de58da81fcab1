//! Re-checks a witness with an evaluator that shares no code with the engines: ordered sets of pairs, straight from the cat tree.
