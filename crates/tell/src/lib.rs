//! Reports for people and programs: explanations in words, pictures, tables, JSON.
//!
//! [`mod@explain`] tells an execution as a story and says what rules an outcome out, [`render`] draws an execution, and
//! [`output`] turns reports into text. [`words`] makes the sentences of reports,
//! and [`stepping`] leads through a machine by hand.

pub mod explain;
pub mod output;
pub mod render;
mod rounds;
pub mod stepping;
pub mod words;
