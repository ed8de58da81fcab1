//! Flags in memory (PTX ISA 8.8, 8.9.4): one that nobody looks at, one that is looked at only once, one that nobody sets.

pub(crate) mod never_set;
pub(crate) mod read_once;
pub(crate) mod unread;
