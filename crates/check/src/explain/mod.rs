//! Explanations in words.
