//! The models of the `models` folder, as text in the program.
//!
//! A large model is a file with includes and a folder of parts. The program has one text of it, with each part in the
//! place of the line that includes it: so the places in it, what `fencepost models show` prints and the compiled form are
//! about one file, and no caller of [`shipped`] resolves includes. A copy of the folder loads in parts, as any model with
//! includes does; a test compiles both ways and compares.

/// Every shipped model: its name, and the text of its file.
pub const FILES: &[(&str, &str)] = &[
    ("cmm", include_str!("../../../../models/cmm.cat")),
    ("epoch", include_str!("../../../../models/epoch.cat")),
    ("epoch-buffered", include_str!("../../../../models/epoch-buffered.cat")),
    ("gpm", include_str!("../../../../models/gpm.cat")),
    ("ptx", include_str!("../../../../models/ptx.cat")),
    ("ptx-6.0", include_str!("../../../../models/ptx-6.0.cat")),
    ("ptx-7.5", include_str!("../../../../models/ptx-7.5.cat")),
    ("rc11-scoped", include_str!("../../../../models/rc11-scoped.cat")),
    ("sbrp", include_str!("../../../../models/sbrp.cat")),
    ("sc", include_str!("../../../../models/sc.cat")),
    ("strict", include_str!("../../../../models/strict.cat")),
    ("x86-tso", include_str!("../../../../models/x86-tso.cat")),
];

/// The text of a model, by its number, with its parts in the place of the lines that include them.
macro_rules! whole {
    ($number:literal) => {{
        const TEXT: &str = FILES[$number].1;
        const BYTES: [u8; joined_length(TEXT)] = joined(TEXT);
        let text = match str::from_utf8(&BYTES) {
            Ok(text) => Some(text),
            Err(_) => None,
        };
        text.expect("invariant: texts with texts between them are text")
    }};
}

/// The parts of models, by the name under which the model includes them. A part includes nothing.
const PARTS: &[(&str, &str)] = &[
    ("persistency/epoch-buffered-crash.cat", include_str!("../../../../models/persistency/epoch-buffered-crash.cat")),
    ("persistency/epoch-crash.cat", include_str!("../../../../models/persistency/epoch-crash.cat")),
    ("persistency/epoch-order.cat", include_str!("../../../../models/persistency/epoch-order.cat")),
    ("persistency/gpm-fences.cat", include_str!("../../../../models/persistency/gpm-fences.cat")),
    ("persistency/persists.cat", include_str!("../../../../models/persistency/persists.cat")),
    ("persistency/reflection.cat", include_str!("../../../../models/persistency/reflection.cat")),
    ("persistency/sbrp-crash.cat", include_str!("../../../../models/persistency/sbrp-crash.cat")),
    ("persistency/sbrp-order.cat", include_str!("../../../../models/persistency/sbrp-order.cat")),
    ("ptx/axioms.cat", include_str!("../../../../models/ptx/axioms.cat")),
    ("ptx/base-causality.cat", include_str!("../../../../models/ptx/base-causality.cat")),
    ("ptx/causality.cat", include_str!("../../../../models/ptx/causality.cat")),
    ("ptx/operations.cat", include_str!("../../../../models/ptx/operations.cat")),
    ("ptx/proxies.cat", include_str!("../../../../models/ptx/proxies.cat")),
    ("ptx/restricted.cat", include_str!("../../../../models/ptx/restricted.cat")),
    ("ptx/synchronisation.cat", include_str!("../../../../models/ptx/synchronisation.cat")),
    ("ptx/tensor.cat", include_str!("../../../../models/ptx/tensor.cat")),
    ("ptx/undefined.cat", include_str!("../../../../models/ptx/undefined.cat")),
];

/// The text of each of [`FILES`] in one piece. Joined when this is compiled: every check reads a model, and to join the parts
/// takes longer than a small test.
const WHOLE: [&str; FILES.len()] = [
    whole!(0),
    whole!(1),
    whole!(2),
    whole!(3),
    whole!(4),
    whole!(5),
    whole!(6),
    whole!(7),
    whole!(8),
    whole!(9),
    whole!(10),
    whole!(11),
];

/// The text of a shipped model in one piece, by its name with or without `.cat`.
pub fn shipped(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".cat").unwrap_or(name);
    let at = FILES.iter().position(|(shipped, _)| *shipped == name)?;
    WHOLE.get(at).copied()
}

/// The text of a file of the `models` folder, as it is there: `ptx.cat`, `ptx/tensor.cat`.
pub fn file(path: &str) -> Option<&'static str> {
    let part = PARTS.iter().find(|(part, _)| *part == path);
    let model = || FILES.iter().find(|(name, _)| path.strip_suffix(".cat") == Some(*name));
    part.or_else(model).map(|(_, text)| *text)
}

/// The shipped models, sorted: name, and the text of the file itself, without its parts.
pub fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().copied()
}

/// The names of the shipped models, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The digest of a shipped model's text ([`digest`]), if this is the very text that [`shipped`] gave.
pub(crate) fn known_digest(text: &str) -> Option<u64> {
    const DIGESTS: [u64; WHOLE.len()] = {
        let (mut digests, mut at) = ([0; WHOLE.len()], 0);
        while at < WHOLE.len() {
            digests[at] = digest(WHOLE[at]);
            at += 1;
        }
        digests
    };
    let at = WHOLE.iter().position(|whole| std::ptr::eq(*whole, text))?;
    DIGESTS.get(at).copied()
}

/// The part that the line from `from` to `to` includes. A line that includes anything else stays.
const fn included(text: &[u8], from: usize, mut to: usize) -> Option<usize> {
    while to > from && text[to - 1].is_ascii_whitespace() {
        to -= 1;
    }
    let mut at = 0;
    while at < PARTS.len() {
        let path = PARTS[at].0.as_bytes();
        let name = from + BEFORE.len();
        if to - from == BEFORE.len() + path.len() + 1
            && is_at(text, from, BEFORE)
            && is_at(text, name, path)
            && text[to - 1] == b'"'
        {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// What stands before the path of a part.
const BEFORE: &[u8] = b"include \"";

const fn is_at(text: &[u8], from: usize, piece: &[u8]) -> bool {
    let mut at = 0;
    while at < piece.len() {
        if text[from + at] != piece[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// The end of the line that begins there, behind its line feed.
const fn end_of_line(text: &[u8], from: usize) -> usize {
    let mut to = from;
    while to < text.len() {
        to += 1;
        if text[to - 1] == b'\n' {
            break;
        }
    }
    to
}

/// What stands in the place of a line that includes a part.
const fn pieces(part: usize) -> [&'static [u8]; 5] {
    let (path, text) = PARTS[part];
    [b"(* ==== ", path.as_bytes(), b" ==== *)\n", text.as_bytes(), b"\n"]
}

/// How long a text is with its parts in the place of the lines that include them.
const fn joined_length(text: &str) -> usize {
    let (text, mut length, mut from) = (text.as_bytes(), 0, 0);
    while from < text.len() {
        let to = end_of_line(text, from);
        match included(text, from, to) {
            Some(part) => {
                let (pieces, mut at) = (pieces(part), 0);
                while at < pieces.len() {
                    length += pieces[at].len();
                    at += 1;
                }
            }
            None => length += to - from,
        }
        from = to;
    }
    length
}

/// That text.
const fn joined<const LENGTH: usize>(text: &str) -> [u8; LENGTH] {
    let (text, mut whole, mut length, mut from) = (text.as_bytes(), [0; LENGTH], 0, 0);
    while from < text.len() {
        let to = end_of_line(text, from);
        match included(text, from, to) {
            Some(part) => {
                let (pieces, mut at) = (pieces(part), 0);
                while at < pieces.len() {
                    length = copied(&mut whole, length, pieces[at], 0, pieces[at].len());
                    at += 1;
                }
            }
            None => length = copied(&mut whole, length, text, from, to),
        }
        from = to;
    }
    whole
}

/// Writes a part of a text behind the first `length` bytes; how many there are then.
const fn copied(whole: &mut [u8], mut length: usize, text: &[u8], mut from: usize, to: usize) -> usize {
    while from < to {
        whole[length] = text[from];
        (length, from) = (length + 1, from + 1);
    }
    length
}

/// Changes with the text. Not against forgery: what is compared is part of the program.
pub(crate) const fn digest(text: &str) -> u64 {
    let text = text.as_bytes();
    let mut hash = mixed(0, text.len() as u64);
    let mut at = 0;
    while let Some((word, _)) = text.split_at(at).1.split_first_chunk::<8>() {
        hash = mixed(hash, u64::from_le_bytes(*word));
        at += 8;
    }
    while at < text.len() {
        hash = mixed(hash, text[at] as u64);
        at += 1;
    }
    hash
}

pub(crate) const fn mixed(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}
