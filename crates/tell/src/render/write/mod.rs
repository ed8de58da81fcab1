//! The two languages that pictures are written in, and what their writers share.

pub(crate) mod dot;
mod escape;
mod markup;
mod shapes;
pub(crate) mod svg;
