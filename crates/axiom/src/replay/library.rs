//! The files that a model may include without having them: what they define, written again for this evaluator.
//!
//! Coherence is part of the execution, so what herd's files do to generate it comes down to nothing.

use std::sync::OnceLock;

use fencepost_syntax::cat::{self, Model};

const COS: &str = "let invrf = rf^-1
with co from 0
let fr = invrf ; co
let coi = co & int
let coe = co & ext
let fri = fr & int
let fre = fr & ext
let ca = fr | co";

const FILTERS: &str = "let A = X
let P = M \\ A
let WW(r) = r & (W * W)
let WR(r) = r & (W * R)
let RW(r) = r & (R * W)
let RR(r) = r & (R * R)
let RM(r) = r & (R * M)
let MR(r) = r & (M * R)
let WM(r) = r & (W * M)
let MW(r) = r & (M * W)
let MM(r) = r & (M * M)
let AA(r) = r & (A * A)
let AP(r) = r & (A * P)
let PA(r) = r & (P * A)
let PP(r) = r & (P * P)
let AM(r) = r & (A * M)
let MA(r) = r & (M * A)
let noid(r) = r \\ id
let atom = [A]";

const FENCES: &str = "let mfence = fencerel(MFENCE)
let sfence = fencerel(SFENCE)
let lfence = fencerel(LFENCE)";

pub(super) fn file(name: &str) -> Option<&'static Model> {
    static COS_TREE: OnceLock<Model> = OnceLock::new();
    static FILTERS_TREE: OnceLock<Model> = OnceLock::new();
    static FENCES_TREE: OnceLock<Model> = OnceLock::new();
    static NOTHING: OnceLock<Model> = OnceLock::new();
    let (tree, text) = match name {
        "stdlib.cat" | "cross.cat" => (&NOTHING, ""),
        "cos.cat" | "cos-opt.cat" | "cos-no-opt.cat" => (&COS_TREE, COS),
        "filters.cat" => (&FILTERS_TREE, FILTERS),
        "x86fences.cat" | "fences.cat" => (&FENCES_TREE, FENCES),
        _ => return None,
    };
    Some(tree.get_or_init(|| cat::parse(text).0))
}
