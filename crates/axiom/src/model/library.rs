//! The library every model can rely on, in cat: what herd's users find in `stdlib.cat` (implicit) and in the files
//! they include, and what Dartagnan predefines. The definitions are ours; only the names and their meaning are shared.
//!
//! A file that the caller's own resolver finds comes before one of these.

/// Read before every model. `co` is a base relation here, so `fr` needs no include. herd's `sm` relates the pieces
/// of one memory access, each to itself where accesses of different sizes do not cut them, and `si` the accesses of one
/// instruction: those and the halves of a read-modify-write, which is how herd's `x86tso-mixed.cat` keeps them together.
pub(super) const PRELUDE_NAME: &str = "<library>";

pub(super) const PRELUDE: &str = r#"
let emptyset = domain 0
let NExp = emptyset
let SPEC = emptyset
let UB = emptyset
let po-loc = po & loc
let rfe = rf & ext
let rfi = rf & int
let fr = rf^-1; co
let coe = co & ext
let coi = co & int
let fre = fr & ext
let fri = fr & int
let ca = co | fr
let co0 = loc & ((IW * (W \ IW)) | ((W \ FW) * FW))
let lxsx = rmw \ amo
let sm = [M] | sameop
let si = sm | rmw | rmw^-1
let sync_barrier = syncbar & scta
let toid (s) = [s]
let fencerel (s) = po; [s]; po
let ctrlcfence (s) = ctrl; [s]; po
let imply (a, b) = ~a | b
let nodetour (direct, first, second) = direct \ (first; second)
let singlestep (r) = r \ (r; r)
let map f =
  let rec over s = match s with
  || {} -> {}
  || x ++ xs -> f x ++ over xs
  end in over
procedure subseteq (a, b) = empty a \ b end
procedure inclusion (a, b) = empty a \ b end
procedure total (r, s) = empty (s * s) \ (r | r^-1) end
"#;

/// A file that models of the field include, by its usual name.
pub(super) fn file(name: &str) -> Option<&'static str> {
    match name {
        "stdlib.cat" => Some(""),
        "cross.cat" => Some(CROSS),
        "cos.cat" | "cos-opt.cat" | "cos-no-opt.cat" => Some(COS),
        "filters.cat" => Some(FILTERS),
        "x86fences.cat" | "fences.cat" => Some(X86_FENCES),
        _ => None,
    }
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
