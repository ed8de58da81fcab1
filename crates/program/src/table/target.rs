//! Which hardware an instruction needs (the target notes of its section of the PTX ISA), as data: the words it starts with or
//! carries, and the architectures. A feature of `sm_90a` is one of that architecture alone, or of a family (`sm_100f`): a
//! target without such a suffix has none of them, and a newer one need not have them either.
//!
//! The table leaves out what it is not sure of: a floor that is too high would warn of kernels that compile.

use fencepost_syntax::instruction::Instruction;

/// A target as `.target` names it: `sm_90`, `sm_90a`, `sm_100f`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Target {
    number: u16,
    features: Features,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Features {
    Common,
    /// Those of one architecture or family too.
    Specific,
}

impl Target {
    /// None for words that are no architecture (`debug`, `texmode_unified`).
    pub fn parse(name: &str) -> Option<Target> {
        let digits = name.strip_prefix("sm_")?;
        let plain = digits.trim_end_matches(['a', 'f']);
        let features = if plain.len() < digits.len() { Features::Specific } else { Features::Common };
        Some(Target { number: plain.parse().ok()?, features })
    }
}

/// The architectures that have an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Need {
    /// Of this number or a higher one.
    Least(u16),
    /// Of these numbers (the last is the first without), as a feature of the architecture or family.
    Specific(u16, u16),
}

impl Need {
    fn is_met(self, target: Target) -> bool {
        match self {
            Need::Least(least) => target.number >= least,
            Need::Specific(least, end) => {
                (least..end).contains(&target.number) && target.features == Features::Specific
            }
        }
    }

    fn words(self) -> String {
        match self {
            Need::Least(least) => format!("`sm_{least}` or newer"),
            Need::Specific(least, end) if end == least + 1 => format!("`sm_{least}a`"),
            Need::Specific(least, u16::MAX) => format!("`sm_{least}a`, or a newer target with `a` or `f`"),
            Need::Specific(least, end) => format!("`sm_{least}a` or another target with `a` or `f` below `sm_{end}`"),
        }
    }
}

/// What an instruction starts with, a word it carries besides ("" for none), what it then needs, and the section.
type Row = (&'static [&'static str], &'static str, Need, &'static str);

const NEEDS: &[Row] = &[
    (&["fence"], "", Need::Least(70), "9.7.15.4"),
    (&["fence"], "acquire", Need::Least(90), "9.7.15.4"),
    (&["fence"], "release", Need::Least(90), "9.7.15.4"),
    (&["fence"], "cluster", Need::Least(90), "9.7.15.4"),
    (&["fence", "proxy", "async"], "", Need::Least(90), "9.7.15.4"),
    (&["ld"], "acquire", Need::Least(70), "9.7.10.8"),
    (&["ld"], "relaxed", Need::Least(70), "9.7.10.8"),
    (&["st"], "release", Need::Least(70), "9.7.10.11"),
    (&["st"], "relaxed", Need::Least(70), "9.7.10.11"),
    (&["atom"], "acquire", Need::Least(70), "9.7.15.6"),
    (&["atom"], "release", Need::Least(70), "9.7.15.6"),
    (&["atom"], "acq_rel", Need::Least(70), "9.7.15.6"),
    (&["red"], "release", Need::Least(70), "9.7.15.7"),
    (&["ld"], "cluster", Need::Least(90), "8.5"),
    (&["st"], "cluster", Need::Least(90), "8.5"),
    (&["atom"], "cluster", Need::Least(90), "8.5"),
    (&["red"], "cluster", Need::Least(90), "8.5"),
    (&["ld"], "shared::cluster", Need::Least(90), "5.1.7"),
    (&["st"], "shared::cluster", Need::Least(90), "5.1.7"),
    (&["atom"], "shared::cluster", Need::Least(90), "5.1.7"),
    (&["red"], "shared::cluster", Need::Least(90), "5.1.7"),
    (&["st", "async"], "", Need::Least(90), "9.7.10.13"),
    (&["st", "async"], "release", Need::Least(100), "9.7.10.13"),
    (&["red", "async"], "", Need::Least(90), "9.7.15.8"),
    (&["red", "async"], "release", Need::Least(100), "9.7.15.8"),
    (&["atom"], "b128", Need::Least(90), "9.7.15.6"),
    (&["ld"], "v8", Need::Least(100), "9.7.10.8"),
    (&["st"], "v8", Need::Least(100), "9.7.10.11"),
    (&["st", "bulk"], "", Need::Least(100), "9.7.10.14"),
    (&["multimem"], "", Need::Least(90), "8.2.3"),
    (&["mapa"], "", Need::Least(90), "9.7.10.24"),
    (&["getctarank"], "", Need::Least(90), "9.7.10.25"),
    (&["barrier", "cluster"], "", Need::Least(90), "9.7.15.3"),
    (&["griddepcontrol"], "", Need::Least(90), "9.7.15.14"),
    (&["elect"], "", Need::Least(90), "9.7.15.15"),
    (&["match"], "", Need::Least(70), "9.7.15.10"),
    (&["redux"], "", Need::Least(80), "9.7.15.12"),
    (&["cp", "async"], "", Need::Least(80), "9.7.10.28.3"),
    (&["cp", "async", "bulk"], "", Need::Least(90), "9.7.10.28.5"),
    (&["cp", "async", "bulk"], "tile::gather4", Need::Least(100), "9.7.10.28.5"),
    (&["cp", "async", "bulk"], "tile::scatter4", Need::Least(100), "9.7.10.28.5"),
    (&["cp", "async", "bulk"], "cta_group::1", Need::Least(100), "9.7.10.28.5"),
    (&["cp", "async", "bulk"], "cta_group::2", Need::Least(100), "9.7.10.28.5"),
    (&["cp", "async", "bulk"], "cp_mask", Need::Least(100), "9.7.10.28.5"),
    (&["cp", "async", "bulk"], "b128", Need::Specific(90, u16::MAX), "9.7.10.28.4.1"),
    (&["cp", "reduce"], "", Need::Least(90), "9.7.10.28.5"),
    (&["mbarrier"], "", Need::Least(80), "9.7.15.16"),
    (&["mbarrier", "try_wait"], "", Need::Least(90), "9.7.15.16"),
    (&["mbarrier"], "expect_tx", Need::Least(90), "9.7.15.16"),
    (&["mbarrier"], "complete_tx", Need::Least(90), "9.7.15.16"),
    (&["mbarrier"], "cluster", Need::Least(90), "9.7.15.16"),
    (&["mbarrier"], "shared::cluster", Need::Least(90), "9.7.15.16"),
    (&["tensormap", "replace"], "", Need::Specific(90, u16::MAX), "9.7.10.29"),
    (&["tensormap", "cp_fenceproxy"], "", Need::Least(90), "9.7.15.17"),
    (&["clusterlaunchcontrol"], "", Need::Least(100), "9.7.15.18"),
    (&["setmaxnreg"], "", Need::Specific(90, u16::MAX), "9.7.22.5"),
    (&["stmatrix"], "", Need::Least(90), "9.7.16"),
    (&["wgmma"], "", Need::Specific(90, 91), "9.7.17"),
    (&["tcgen05"], "", Need::Specific(100, 120), "9.7.18"),
];

/// What an instruction needs that the target has not, in words, and the section that says so.
pub fn lacks(tree: &Instruction, target: Target) -> Option<(String, &'static str)> {
    let words = || std::iter::once(&tree.opcode).chain(&tree.modifiers).map(|word| word.node.as_str());
    let applies = |(head, word, ..): &&Row| {
        let starts = head.len() <= words().count() && words().zip(*head).all(|(found, head)| found == *head);
        starts && (word.is_empty() || tree.modifiers.iter().any(|found| found.node == **word))
    };
    let mut unmet = NEEDS.iter().filter(applies).filter(|(_, _, need, _)| !need.is_met(target));
    // The most demanding one, which is the most special.
    let (_, _, need, section) = unmet.next_back()?;
    Some((need.words(), section))
}
