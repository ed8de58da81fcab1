//! The library every model can rely on, in cat: what herd's users find in `stdlib.cat` (implicit) and in the files
//! they include, and what Dartagnan predefines. The definitions are ours; only the names and their meaning are shared.
//!
//! A file that the caller's own resolver finds comes before one of these.
//!
//! herd's `sm` relates the pieces of one memory access, each to itself where accesses of different sizes do not cut them, and
//! `si` the accesses of one instruction: those and the halves of a read-modify-write, which is how herd's `x86tso-mixed.cat`
//! keeps them together.

use crate::model::shipped;

/// The name of [`PRELUDE`] in messages.
pub(crate) const PRELUDE_NAME: &str = "<library>";

/// A definition of the library.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    /// In cat.
    pub text: &'static str,
    /// What it means, in one sentence.
    pub meaning: &'static str,
}

impl Definition {
    /// The name that it defines.
    pub fn name(&self) -> &'static str {
        let mut words = self.text.split([' ', '(', '=']).filter(|word| !word.is_empty());
        words.find(|word| !matches!(*word, "let" | "rec" | "procedure")).unwrap_or("")
    }
}

/// Each definition with its meaning, as a text to compile and as a table for the page about cat.
macro_rules! prelude {
    ($($text:literal: $meaning:literal,)*) => {
        /// Read before every model. `co` is a base relation here, so `fr` needs no include.
        pub(crate) const PRELUDE: &str = concat!("\n", $($text, "\n",)*);

        /// The definitions of the prelude, in order.
        pub const DEFINITIONS: &[Definition] = &[$(Definition { text: $text, meaning: $meaning },)*];
    };
}

prelude! {
    "let emptyset = domain 0": "No event.",
    "let NExp = emptyset": "No event; herd's name for implicit ones, which there are none of here.",
    "let SPEC = emptyset": "No event; herd's name for speculated ones.",
    "let UB = emptyset": "No event; Dartagnan's name for those with undefined behaviour.",
    "let po-loc = po & loc": "Program order between accesses of one location.",
    "let rfe = rf & ext": "Reads-from between threads.",
    "let rfi = rf & int": "Reads-from within a thread.",
    "let fr = rf^-1; co": "From-read: a read to the writes that come after the one it returns.",
    "let coe = co & ext": "Coherence between threads.",
    "let coi = co & int": "Coherence within a thread.",
    "let fre = fr & ext": "From-read between threads.",
    "let fri = fr & int": "From-read within a thread.",
    "let ca = co | fr": "Communication that is not reads-from.",
    r"let co0 = loc & ((IW * (W \ IW)) | ((W \ FW) * FW))":
        "What herd knows of coherence beforehand: initial writes come first, final ones last.",
    r"let lxsx = rmw \ amo": "Read-modify-writes made of two instructions, of which there are none here.",
    "let sm = [M] | sameop":
        "The pieces of one memory access, each to itself where accesses of different sizes do not cut it.",
    "let si = sm | rmw | rmw^-1":
        "The accesses of one instruction: those pieces and the halves of a read-modify-write.",
    "let sync_barrier = syncbar & scta": "Dartagnan's name for barrier operations of one CTA that met.",
    "let toid (s) = [s]": "The identity on a set, `[S]`.",
    "let fencerel (s) = po; [s]; po": "Events with one of the set between them in program order.",
    "let ctrlcfence (s) = ctrl; [s]; po": "A read to what follows one of the set that depends on it.",
    "let imply (a, b) = ~a | b": "The pairs that are in `b` if they are in `a`.",
    r"let nodetour (direct, first, second) = direct \ (first; second)":
        "A relation without the pairs that a detour connects.",
    r"let singlestep (r) = r \ (r; r)": "The steps of a transitive relation with nothing between them.",
    "let map f =
  let rec over s = match s with
  || {} -> {}
  || x ++ xs -> f x ++ over xs
  end in over": "A function applied to each element of a set; for `with … from` only.",
    r"procedure subseteq (a, b) = empty a \ b end": "The axiom that one set or relation is in another.",
    r"procedure inclusion (a, b) = empty a \ b end": "The same as `subseteq`.",
    r"procedure total (r, s) = empty (s * s) \ (r | r^-1) end":
        "The axiom that a relation orders each pair of a set.",
}

/// A file that models of the field include.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct LibraryFile {
    pub names: &'static [&'static str],
    pub text: &'static str,
    /// What it is for, in one sentence.
    pub meaning: &'static str,
}

pub const FILES: &[LibraryFile] = &[
    LibraryFile { names: &["stdlib.cat"], text: "", meaning: "Nothing: its definitions are in every model." },
    LibraryFile {
        names: &["cross.cat"],
        text: CROSS,
        meaning: "The functions with which herd's models generate coherence orders.",
    },
    LibraryFile {
        names: &["cos.cat", "cos-opt.cat", "cos-no-opt.cat"],
        text: COS,
        meaning: "Makes coherence a total order per location, and defines `fr` and their parts.",
    },
    LibraryFile {
        names: &["filters.cat"],
        text: FILTERS,
        meaning: "Functions that keep the pairs of a relation between kinds of access.",
    },
    LibraryFile {
        names: &["x86fences.cat", "fences.cat"],
        text: X86_FENCES,
        meaning: "The events that each fence of x86 separates.",
    },
];

/// A file that models of the field include, by its usual name.
pub(crate) fn file(name: &str) -> Option<&'static str> {
    FILES.iter().find(|file| file.names.contains(&name)).map(|file| file.text)
}

/// The digest of the prelude, if this is that very text.
pub(crate) fn known_digest(text: &str) -> Option<u64> {
    const PRELUDE_DIGEST: u64 = shipped::digest(PRELUDE);
    std::ptr::eq(PRELUDE, text).then_some(PRELUDE_DIGEST)
}

const CROSS: &str = r#"
let cross orders =
  let rec choose (chosen, classes, found) = match classes with
  || {} -> chosen ++ found
  || class ++ classes ->
    let rec each (class, found) = match class with
    || {} -> found
    || order ++ class -> each (class, choose (order | chosen, classes, found))
    end in each (class, found)
  end in choose (0, orders, {})
let co_locs (before, classes) = map (fun class -> linearisations (class, before)) classes
let generate_orders (s, before) = cross (co_locs (before, classes-loc s))
let generate_cos (before) = generate_orders (W, before)
"#;

/// herd's models include this to obtain coherence; the base relation `co` is it.
const COS: &str = r#"
include "cross.cat"
let invrf = rf^-1
with co from generate_cos(co0)
let fr = rf^-1; co
let coe = co & ext
let coi = co & int
let fre = fr & ext
let fri = fr & int
let ca = co | fr
show co, fr
"#;

const FILTERS: &str = r#"
let A = X
let P = M \ A
let WW (r) = [W]; r; [W]
let WR (r) = [W]; r; [R]
let RW (r) = [R]; r; [W]
let RR (r) = [R]; r; [R]
let RM (r) = [R]; r; [M]
let MR (r) = [M]; r; [R]
let WM (r) = [W]; r; [M]
let MW (r) = [M]; r; [W]
let MM (r) = [M]; r; [M]
let AA (r) = [A]; r; [A]
let AP (r) = [A]; r; [P]
let PA (r) = [P]; r; [A]
let PP (r) = [P]; r; [P]
let AM (r) = [A]; r; [M]
let MA (r) = [M]; r; [A]
let noid (r) = r \ id
let atom = [A]
"#;

const X86_FENCES: &str = r#"
let mfence = fencerel MFENCE
let sfence = fencerel SFENCE
let lfence = fencerel LFENCE
"#;
