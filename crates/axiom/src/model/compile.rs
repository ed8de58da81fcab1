//! Cat tree to compiled model: names, types, functions expanded, includes resolved.
