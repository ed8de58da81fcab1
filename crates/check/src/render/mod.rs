//! Pictures of executions.
