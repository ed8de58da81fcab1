//! One file per subcommand, and what they share: the models on disk, and the checking of files.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod conform;
pub(crate) mod expect;
mod file;
pub(crate) mod fix;
pub(crate) mod kernel;
mod library;
pub(crate) mod machine;
pub(crate) mod map;
mod map_emit;
pub(crate) mod models;
pub(crate) mod print;
pub(crate) mod readings;
mod refresh;
mod results;
pub(crate) mod slim;
mod step;
