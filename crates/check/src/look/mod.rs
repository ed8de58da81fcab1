//! Looking for executions: searches, races, broken rules of mbarriers, outcomes.

pub mod classes;
pub(crate) mod collect;
pub mod crash;
pub mod estimate;
pub mod executions;
pub mod failing_waits;
pub mod histogram;
pub mod joint_rounds;
mod one_run;
pub mod outcome;
pub mod protocol;
pub mod proxy;
pub mod race;
pub mod race_search;
pub mod relations;
pub mod replayer;
pub mod search;
pub mod second_checks;
