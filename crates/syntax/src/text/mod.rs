//! What every hand-written parser of this crate shares: tokens, a cursor over them, numbers, and near misses.
//!
//! Tokens are small (a kind and two offsets) because a parser must survive ten megabytes of noise in linear time and memory.

mod cursor;
mod lexer;
mod map;
mod number;

pub(crate) use crate::suggest::nearest;
pub(crate) use cursor::{Cursor, finish};
pub(crate) use lexer::{Comments, Kind, Token, give_back, lex};
pub(crate) use map::{Piece, SpanMap, View};
pub(crate) use number::{LeadingZero, float_bits, integer, is_float};

/// No parser reports more than this many errors of one text: what follows them is noise.
pub(crate) const DIAGNOSTIC_LIMIT: usize = 50;

/// How deep brackets, operands and conditions may nest. People write at most a dozen levels; the stack bears thousands.
pub(crate) const DEPTH_LIMIT: u32 = 200;
