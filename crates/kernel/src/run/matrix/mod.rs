//! Products of matrices: `wgmma` and its registers, `tcgen05`, tensor memory and its allocation.

pub(in crate::run) mod allocation;
pub(in crate::run) mod registers;
pub(in crate::run) mod tensor;
pub(in crate::run) mod wgmma;
