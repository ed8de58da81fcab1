//! Products of matrices: `wgmma` and its registers, `tcgen05` and tensor memory.

pub(in crate::run) mod registers;
pub(in crate::run) mod tensor;
mod wgmma;
