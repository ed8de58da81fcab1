//! The static part of a candidate: base sets and relations of one choice of traces, as bit matrices.
