//! Why a pair is in a derived relation: derivations of minimal length down to base edges.
