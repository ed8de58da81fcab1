//! Memory that is used before it is there or after it is gone: the shared memory of a CTA, tensor memory.

pub(crate) mod cta;
pub(crate) mod tensor_memory;
