//! The names that herd's stdlib.cat and cos.cat and Dartagnan's predefined relations give a model without being asked.
//!
//! Each is parsed when a model first uses it: few use more than a handful. A definition sees the predefined names and
//! other ones of these, never those of the model.

use std::sync::OnceLock;

use fencepost_syntax::cat::{self, Binding, CatInstruction, Model};

/// By name.
const TEXTS: [(&str, &str); 31] = [
    ("emptyset", "let emptyset = domain(0)"),
    ("Exp", "let Exp = _"),
    ("EXEC", "let EXEC = _"),
    ("NExp", "let NExp = emptyset"),
    ("SPEC", "let SPEC = emptyset"),
    ("UB", "let UB = emptyset"),
    ("X", "let X = A"),
    ("mfence", "let mfence = MFENCE"),
    ("po-loc", "let po-loc = po & loc"),
    ("rfe", "let rfe = rf & ext"),
    ("rfi", "let rfi = rf & int"),
    ("coe", "let coe = co & ext"),
    ("coi", "let coi = co & int"),
    ("fr", "let fr = rf^-1 ; co"),
    ("fre", "let fre = fr & ext"),
    ("fri", "let fri = fr & int"),
    ("ca", "let ca = co | fr"),
    ("co0", "let co0 = loc & ((IW * (W \\ IW)) | ((W \\ FW) * FW))"),
    ("lxsx", "let lxsx = rmw \\ amo"),
    ("sm", "let sm = [M] | sameop"),
    ("si", "let si = sm | rmw | rmw^-1"),
    ("sync_barrier", "let sync_barrier = syncbar & scta"),
    ("toid", "let toid(s) = [s]"),
    ("fencerel", "let fencerel(s) = (po & (_ * s)) ; po"),
    ("ctrlcfence", "let ctrlcfence(s) = (ctrl & (_ * s)) ; po"),
    ("imply", "let imply(a, b) = ~a | b"),
    ("nodetour", "let nodetour(r, s, t) = r \\ (s ; t)"),
    ("singlestep", "let singlestep(r) = r \\ (r ; r)"),
    ("subseteq", "procedure subseteq(a, b) = empty a \\ b end"),
    ("inclusion", "procedure inclusion(a, b) = empty a \\ b end"),
    ("total", "procedure total(r, s) = empty (s * s) \\ (r | r^-1) end"),
];

static TREES: [OnceLock<Model>; TEXTS.len()] = [const { OnceLock::new() }; TEXTS.len()];

fn instruction(name: &str) -> Option<&'static CatInstruction> {
    let at = TEXTS.iter().position(|(known, _)| *known == name)?;
    let tree = TREES[at].get_or_init(|| cat::parse(TEXTS[at].1).0);
    tree.instructions.first().map(|instruction| &instruction.node)
}

/// The `let` that defines a name.
pub(super) fn bindings(name: &str) -> Option<&'static [Binding]> {
    match instruction(name)? {
        CatInstruction::Let { bindings, .. } => Some(bindings),
        _ => None,
    }
}

/// The procedure of a name.
pub(super) fn procedure(name: &str) -> Option<&'static CatInstruction> {
    instruction(name).filter(|instruction| matches!(instruction, CatInstruction::Procedure { .. }))
}

#[cfg(test)]
mod tests {
    use fencepost_syntax::cat::BindingPattern;

    use super::*;

    #[test]
    fn each_text_defines_its_name() {
        for (name, text) in TEXTS {
            assert!(cat::parse(text).1.is_empty(), "{text}");
            let defined = match instruction(name) {
                Some(CatInstruction::Let { bindings, .. }) => match &bindings[..] {
                    [Binding { pattern: BindingPattern::Name(name), .. }] => &name.node,
                    [Binding { pattern: BindingPattern::Function { name, .. }, .. }] => &name.node,
                    _ => "several",
                },
                Some(CatInstruction::Procedure { name, .. }) => &name.node,
                _ => "nothing",
            };
            assert_eq!(defined, name);
        }
    }
}
