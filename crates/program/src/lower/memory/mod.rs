//! Where names lie and who may use them: addresses, state spaces, proxies, tensor memory.

pub(crate) mod lanes;
pub(crate) mod layout;
pub(crate) mod pointers;
pub(crate) mod proxies;
pub(crate) mod spaces;
pub(crate) mod tensor;
