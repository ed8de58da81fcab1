//! Operations that go on beside the thread that issues them (PTX ISA 8.9.1.1): copies, stores, reductions, and the tensor maps
//! that tensor copies go through.

pub(crate) mod copy;
pub(crate) mod reduction;
pub(crate) mod store;
pub(crate) mod tensor_copy;
pub(crate) mod tensormap;
