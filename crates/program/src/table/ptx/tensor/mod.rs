//! Products of matrices: `wgmma` on registers, `tcgen05` in tensor memory.

pub(crate) mod tcgen05;
pub(crate) mod tcgen05_mma;
pub(crate) mod wgmma;
