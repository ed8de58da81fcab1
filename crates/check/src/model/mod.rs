//! Memory models: read from cat, kept compiled, and read under chosen readings.

pub mod compiled;
pub mod facts;
pub mod family;
pub mod load;
pub mod purpose;
pub mod readings;
pub mod role;
pub mod shipped;
pub(crate) mod variants;
pub mod vocabulary;
