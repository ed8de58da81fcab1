//! Trees to programs: names resolved, each instruction looked up in its architecture's table.
