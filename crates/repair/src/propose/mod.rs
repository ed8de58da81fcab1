//! What may be missing, one proposer for each mechanism of the ISA: each looks at the example of a race and at the text, and
//! offers edits. None of them is believed before `verify` has checked it.

pub(crate) mod adjust;
pub(crate) mod barrier;
pub(crate) mod catalogue;
pub(crate) mod combined;
pub(crate) mod flag;
pub(crate) mod kernel_line;
pub(crate) mod lifetime;
pub(crate) mod phase;
pub(crate) mod proxy_fence;
pub(crate) mod same_text;
pub(crate) mod tcgen05;
pub(crate) mod wait;
pub(crate) mod warp;
pub(crate) mod way;
pub(crate) mod wgmma;
