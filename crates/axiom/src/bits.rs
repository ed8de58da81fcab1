//! Sets and relations over the events of one candidate, as bit matrices: the hot loop of the enumeration engine.
