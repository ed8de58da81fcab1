//! The models of the `models` folder, as text in the program.
//!
//! A large model is a file with includes and a folder of parts. The program has one text of it, with each part in the
//! place of the line that includes it: so the places in it, what `fencepost models show` prints and the compiled form are
//! about one file, and no caller of [`shipped`] resolves includes. A copy of the folder loads in parts, as any model with
//! includes does; a test compiles both ways and compares.

use std::sync::OnceLock;

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

/// Those of [`FILES`] that have parts, in one piece. A check needs one model or two, so each is joined when it is asked for.
static JOINED: [OnceLock<String>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

/// The text of a shipped model in one piece, by its name with or without `.cat`.
pub fn shipped(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".cat").unwrap_or(name);
    let (at, (_, text)) = FILES.iter().enumerate().find(|(_, (shipped, _))| *shipped == name)?;
    let has_parts = text.lines().any(|line| included(line).is_some());
    Some(if has_parts { JOINED.get(at)?.get_or_init(|| joined(text)) } else { text })
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

/// The part that a line includes.
fn included(line: &str) -> Option<(&'static str, &'static str)> {
    let path = line.trim_end().strip_prefix("include \"")?.strip_suffix('"')?;
    PARTS.iter().copied().find(|(part, _)| *part == path)
}

/// A text with its parts in the place of the lines that include them. A line that includes anything else stays.
fn joined(text: &str) -> String {
    let pieces = || {
        text.split_inclusive('\n').flat_map(|line| match included(line) {
            Some((path, part)) => ["(* ==== ", path, " ==== *)\n", part, "\n"],
            None => [line, "", "", "", ""],
        })
    };
    // A model is as long as its parts: it is copied once, into a place that is long enough.
    let mut whole = String::with_capacity(pieces().map(str::len).sum());
    whole.extend(pieces());
    whole
}
