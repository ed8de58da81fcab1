//! The plain data of reports. They are tested here and not in `src`: the crate is compiled once for its tests.

mod answer;
mod count;
mod finding;
mod verdict;
