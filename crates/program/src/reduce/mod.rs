//! Reductions: what an unfolding may leave out without changing any answer.
//!
//! Two kinds. Passes turn a finished unfolding into a smaller one: [`alike_elements`], [`compact`]. The others act while
//! threads run, on an assumption that is looked at when all have run; if it does not hold, the program is unfolded again
//! without: [`silent_updates`], [`joint_rounds`], [`constant_memory`], and [`private_memory`], whose assumption the text of
//! the program decides. The head of each file argues why it is sound. Each can be turned off ([`UnfoldOptions`]; private memory
//! goes with silent updates), but for `compact`, which drops only what no trace has. The tests compare answers with and
//! without (`crates/axiom/tests/suite/reductions.rs`).
//!
//! [`UnfoldOptions`]: crate::unfold::options::UnfoldOptions

pub(crate) mod alike_elements;
pub(crate) mod compact;
pub(crate) mod constant_memory;
pub(crate) mod joint_rounds;
pub(crate) mod private_access;
pub(crate) mod private_memory;
pub(crate) mod silent_updates;
