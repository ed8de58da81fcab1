//! A text that is short nearly always, as names are: its first bytes lie in it, and only a longer one is allocated.
//!
//! A small test has a dozen names, and each stands in the tree, in the program, in its unfolding and in tables of names.
//! To look at the text it is checked to be UTF-8 again, which takes less than an allocation; comparisons are of bytes.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// Longer texts are allocated. With the length a text takes four words.
const HERE: usize = 30;

/// Up to 30 bytes without an allocation.
#[derive(Clone)]
pub struct ShortText(Inner);

#[derive(Clone)]
enum Inner {
    Here { length: u8, bytes: [u8; HERE] },
    Allocated(Box<str>),
}

impl ShortText {
    pub const fn new() -> ShortText {
        ShortText(Inner::Here { length: 0, bytes: [0; HERE] })
    }

    /// These texts, one behind the other.
    pub fn joined(parts: &[&str]) -> ShortText {
        let mut here = [0; HERE];
        let mut length = 0;
        for part in parts {
            let Some(room) = here.get_mut(length..length + part.len()) else {
                return ShortText(Inner::Allocated(parts.concat().into()));
            };
            room.copy_from_slice(part.as_bytes());
            length += part.len();
        }
        ShortText(Inner::Here { length: length as u8, bytes: here })
    }

    /// In upper case, as far as it is ASCII.
    pub fn uppercase(text: &str) -> ShortText {
        let mut short = ShortText::from(text);
        match &mut short.0 {
            Inner::Here { length, bytes } => bytes[..usize::from(*length)].make_ascii_uppercase(),
            Inner::Allocated(text) => text.make_ascii_uppercase(),
        }
        short
    }

    /// In lower case, as far as it is ASCII.
    pub fn lowercase(text: &str) -> ShortText {
        let mut short = ShortText::from(text);
        match &mut short.0 {
            Inner::Here { length, bytes } => bytes[..usize::from(*length)].make_ascii_lowercase(),
            Inner::Allocated(text) => text.make_ascii_lowercase(),
        }
        short
    }

    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Inner::Here { .. } => std::str::from_utf8(self.as_bytes()).expect("invariant: it was made from texts"),
            Inner::Allocated(text) => text,
        }
    }

    /// Compares bytes, so that the text need not be checked.
    #[inline]
    pub fn starts_with(&self, start: &str) -> bool {
        self.as_bytes().starts_with(start.as_bytes())
    }

    /// Those of the text, which need no check.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Inner::Here { length, bytes } => &bytes[..usize::from(*length)],
            Inner::Allocated(text) => text.as_bytes(),
        }
    }
}

impl Default for ShortText {
    fn default() -> ShortText {
        ShortText::new()
    }
}

impl From<&str> for ShortText {
    fn from(text: &str) -> ShortText {
        ShortText::joined(&[text])
    }
}

impl From<&String> for ShortText {
    fn from(text: &String) -> ShortText {
        ShortText::from(text.as_str())
    }
}

impl From<String> for ShortText {
    fn from(text: String) -> ShortText {
        if text.len() > HERE { ShortText(Inner::Allocated(text.into())) } else { ShortText::from(text.as_str()) }
    }
}

impl From<ShortText> for String {
    fn from(text: ShortText) -> String {
        text.as_str().to_owned()
    }
}

impl Deref for ShortText {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for ShortText {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

/// Maps are asked with the bytes of a text, which are not checked again.
impl Borrow<[u8]> for ShortText {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for ShortText {
    #[inline]
    fn eq(&self, other: &ShortText) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for ShortText {}

impl PartialEq<str> for ShortText {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for ShortText {
    #[inline]
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<ShortText> for &str {
    #[inline]
    fn eq(&self, other: &ShortText) -> bool {
        other == self
    }
}

impl PartialEq<String> for ShortText {
    #[inline]
    fn eq(&self, other: &String) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialOrd for ShortText {
    fn partial_cmp(&self, other: &ShortText) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ShortText {
    fn cmp(&self, other: &ShortText) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for ShortText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Display for ShortText {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), to)
    }
}

impl fmt::Debug for ShortText {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), to)
    }
}

#[cfg(test)]
mod tests {
    use super::{HERE, ShortText};

    #[test]
    fn a_short_text_is_like_its_text_whatever_its_length() {
        let texts: Vec<String> = (0..2 * HERE).map(|length| "xyé".chars().cycle().take(length).collect()).collect();
        for one in &texts {
            let short = ShortText::from(one.as_str());
            assert_eq!((short.as_str(), short.to_string()), (one.as_str(), one.clone()));
            assert_eq!(ShortText::uppercase(one), one.to_ascii_uppercase());
            assert_eq!(ShortText::lowercase(&one.to_ascii_uppercase()), *one);
            assert_eq!(short, ShortText::from(one.clone()));
            for other in &texts {
                assert_eq!(short.cmp(&ShortText::from(other)), one.cmp(other));
                assert_eq!(short == *other, one == other);
                assert_eq!(ShortText::joined(&[one, other, "z"]), format!("{one}{other}z"));
            }
        }
    }
}
